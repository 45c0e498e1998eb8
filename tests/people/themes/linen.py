"""Modules of flax linen: init and apply, train states, mutable collections, random keys."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, optax
import flax
import flax.linen as nn
from flax.training import train_state
x = jnp.linspace(-1, 1, 6).reshape(2, 3)
y = jnp.array([[1.0], [0.0]])
class MLP(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, v):
        v = nn.relu(nn.Dense(self.width)(v))
        return nn.Dense(1)(v)
model = MLP()
"""

CELLS = written(
    PRELUDE,
    r"""
### linen-init-in-cell
key = jax.random.key(0)
---
params = model.init(key, x)
out = model.apply(params, x)
out.shape, list(params["params"])
---
key = jax.random.key(3)

### linen-apply
params = model.init(jax.random.key(0), x)
---
out = model.apply(params, x)
loss = jnp.mean((out - y) ** 2)
loss
---
params = jax.tree.map(lambda p: p * 0.5, params)
---
x = x * 2

### linen-train-state
state = train_state.TrainState.create(apply_fn=model.apply, params=model.init(jax.random.key(0), x)["params"], tx=optax.adam(1e-2))
---
def loss_fn(p):
    return jnp.mean((state.apply_fn({"params": p}, x) - y) ** 2)
loss, grads = jax.value_and_grad(loss_fn)(state.params)
state = state.apply_gradients(grads=grads)
state.step, loss
---
y = 1 - y

### linen-jitted-train-step
state = train_state.TrainState.create(apply_fn=model.apply, params=model.init(jax.random.key(0), x)["params"], tx=optax.sgd(0.1))
@jax.jit
def train_step(state, x, y):
    def loss_fn(p):
        return jnp.mean((state.apply_fn({"params": p}, x) - y) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss
---
for i in range(3):
    state, loss = train_step(state, x, y)
print(int(state.step), f"{loss:.4f}")
---
x = x + 1

### linen-state-with-metrics
class State(train_state.TrainState):
    batch_stats: dict
class Net(nn.Module):
    @nn.compact
    def __call__(self, v, train=True):
        v = nn.Dense(4)(v)
        v = nn.BatchNorm(use_running_average=not train)(v)
        return nn.Dense(1)(v)
net = Net()
variables = net.init(jax.random.key(0), x)
state = State.create(apply_fn=net.apply, params=variables["params"], tx=optax.sgd(0.1), batch_stats=variables["batch_stats"])
---
def loss_fn(p):
    out, mut = state.apply_fn({"params": p, "batch_stats": state.batch_stats}, x, mutable=["batch_stats"])
    return jnp.mean((out - y) ** 2), mut
(loss, mut), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
state = state.apply_gradients(grads=grads).replace(batch_stats=mut["batch_stats"])
loss

### linen-dropout
drop = nn.Dropout(0.5)
---
out = drop.apply({}, x, deterministic=False, rngs={"dropout": jax.random.key(1)})
det = drop.apply({}, x, deterministic=True)
out.sum(), det.sum()
---
x = x * 3

### linen-setup-module
class Enc(nn.Module):
    def setup(self):
        self.a = nn.Dense(4)
        self.b = nn.Dense(2)
    def __call__(self, v):
        return self.b(jnp.tanh(self.a(v)))
    def half(self, v):
        return self.a(v)
enc = Enc()
params = enc.init(jax.random.key(0), x)
---
z = enc.apply(params, x)
h = enc.apply(params, x, method=enc.half)
h.shape, z.sum()
---
x = x - 1

### linen-module-changed-width
params = model.init(jax.random.key(0), x)
---
out = model.apply(params, x)
out.shape
---
model = MLP(width=6); params = model.init(jax.random.key(0), x)

### linen-sow
class S(nn.Module):
    @nn.compact
    def __call__(self, v):
        h = nn.Dense(2)(v)
        self.sow("intermediates", "h", h)
        return h.sum()
s = S()
params = s.init(jax.random.key(0), x)
---
out, inter = s.apply(params, x, mutable="intermediates")
h = inter["intermediates"]["h"][0]
h.shape, out
---
x = x * 2

### linen-bind
params = model.init(jax.random.key(0), x)
---
bound = model.bind(params)
out = bound(x)
out
---
x = x + 2

### linen-frozen-dict
params = flax.core.freeze(model.init(jax.random.key(0), x))
---
un = flax.core.unfreeze(params)
un["params"]["Dense_0"]["bias"] = un["params"]["Dense_0"]["bias"] + 1
params2 = flax.core.freeze(un)
out = model.apply(params2, x)
type(params2).__name__, out
---
x = x * 0.5

### linen-flatten-params
params = model.init(jax.random.key(0), x)["params"]
---
flat = flax.traverse_util.flatten_dict(params, sep="/")
decayed = {k: v * (0.9 if k.endswith("kernel") else 1.0) for k, v in flat.items()}
params = flax.traverse_util.unflatten_dict(decayed)
sorted(flat)

### linen-serialization
params = model.init(jax.random.key(0), x)
---
blob = flax.serialization.to_bytes(params)
back = flax.serialization.from_bytes(params, blob)
out = model.apply(back, x)
len(blob), out
---
params = jax.tree.map(lambda p: p + 1, params)

### linen-msgpack-file
params = model.init(jax.random.key(0), x)
---
params = jax.tree.map(lambda p: p * 0.9, params)
with open("p.msgpack.raw", "wb") as f:
    n = f.write(flax.serialization.msgpack_serialize(jax.tree.map(lambda p: np.asarray(p).round(3), params)))
n

### linen-scan-rnn
class RNN(nn.Module):
    @nn.compact
    def __call__(self, seq):
        cell = nn.scan(nn.SimpleCell, variable_broadcast="params", split_rngs={"params": False}, in_axes=0, out_axes=0)(4)
        carry = jnp.zeros(4)
        return cell(carry, seq)
rnn = RNN()
params = rnn.init(jax.random.key(0), x)
---
carry, hs = rnn.apply(params, x)
hs.shape, carry
---
x = jnp.concatenate([x, x])

### linen-broadcast-sentinel
V = nn.vmap(nn.Dense, in_axes=0, out_axes=0, variable_axes={"params": None}, split_rngs={"params": False})
dense = V(2)
params = dense.init(jax.random.key(0), x)
---
out = dense.apply(params, x)
tag = nn.broadcast
tag is nn.broadcast, out.shape
---
x = x * 2

### linen-tabulate-params-count
params = model.init(jax.random.key(0), x)
---
n = sum(p.size for p in jax.tree.leaves(params))
print(f"{n} parameters")
shapes = jax.tree.map(jnp.shape, params)
shapes["params"]["Dense_0"]

### linen-struct-dataclass
@flax.struct.dataclass
class Metrics:
    total: jax.Array
    count: int = flax.struct.field(pytree_node=False, default=0)
m = Metrics(jnp.float32(0))
---
m = m.replace(total=m.total + x.sum(), count=m.count + 1)
avg = m.total / m.count
avg
---
m = Metrics(jnp.float32(5), 3)

### linen-logits-accuracy
params = model.init(jax.random.key(0), x)
labels = jnp.array([0, 1])
---
logits = jnp.concatenate([model.apply(params, x), jnp.zeros((2, 1))], axis=1)
acc = (logits.argmax(-1) == labels).mean()
print(f"accuracy {acc:.1%}")
conf = jnp.zeros((2, 2), int).at[labels, logits.argmax(-1)].add(1)
conf
---
labels = 1 - labels

### linen-summary-repr
---
text = repr(model)
out = model.init_with_output(jax.random.key(0), x)[0]
print(text.split("(")[0])
out.shape
---
model = MLP(width=2)
""",
    needs=("flax", "optax"),
)
