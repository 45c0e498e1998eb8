"""Training steps: by hand, with optax, flax and equinox."""

from people.cell import written

__all__ = ["CELLS"]

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np
x = jnp.linspace(-1.0, 1.0, 12).reshape(4, 3)
t = jnp.sin(x).sum(1)
"""

CELLS = written(
    PRELUDE,
    r"""
### sgd-by-hand
params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
lr = 0.1
def loss(p, x, t):
    return ((x @ p["w"] + p["b"] - t) ** 2).mean()
---
for _ in range(3):
    value, grads = jax.value_and_grad(loss)(params, x, t)
    params = jax.tree.map(lambda p, g: p - lr * g, params, grads)
value
---
lr = 0.2

### a-step-of-optax needs=optax
import optax
opt = optax.adam(1e-2)
params = {"w": jnp.ones(3), "b": jnp.zeros(())}
state = opt.init(params)
@jax.jit
def step(params, state, x, t):
    grads = jax.grad(lambda p: ((x @ p["w"] + p["b"] - t) ** 2).mean())(params)
    updates, state = opt.update(grads, state, params)
    return optax.apply_updates(params, updates), state
---
params, state = step(params, state, x, t)
int(state[0].count)
---
k = 0

### a-chain-of-optax needs=optax
import optax
schedule = optax.cosine_decay_schedule(0.1, 10)
opt = optax.chain(optax.clip_by_global_norm(1.0), optax.add_decayed_weights(1e-3), optax.sgd(schedule, 0.9))
w = jnp.ones(3); state = opt.init(w)
---
losses = []
for _ in range(2):
    l, g = jax.value_and_grad(lambda w: ((x @ w - t) ** 2).mean())(w)
    u, state = opt.update(g, state, w)
    w = optax.apply_updates(w, u)
    losses.append(l)
losses[-1] < losses[0]

### an-nnx-module-trained needs=flax,optax
from flax import nnx
import optax
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 4, rngs=rngs)
        self.b = nnx.Linear(4, 1, rngs=rngs)
    def __call__(self, v):
        return self.b(nnx.relu(self.a(v)))[:, 0]
net = Net(nnx.Rngs(0))
opt = nnx.Optimizer(net, optax.sgd(0.1), wrt=nnx.Param)
---
def loss(m):
    return ((m(x) - t) ** 2).mean()
value, grads = nnx.value_and_grad(loss)(net)
opt.update(net, grads)
after = net(x)
value
---
x = x * 2

### an-nnx-module-read-first-and-trained-then needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(3, 1, rngs=rngs)
    def __call__(self, v):
        return self.a(v)[:, 0]
net = Net(nnx.Rngs(1)); pair = {"net": net}; train = False
---
if train:
    pair["net"].a.bias[...] = pair["net"].a.bias[...] + 1.0
y = net(x)
y
---
train = True

### linen needs=flax
import flax.linen as nn
class MLP(nn.Module):
    n: int = 4
    @nn.compact
    def __call__(self, v):
        return nn.Dense(1)(nn.tanh(nn.Dense(self.n)(v)))[:, 0]
m = MLP()
params = m.init(jax.random.key(0), x)
---
g = jax.grad(lambda p: ((m.apply(p, x) - t) ** 2).mean())(params)
shapes = jax.tree.map(jnp.shape, g)
m.apply(params, x)
---
m = MLP(n=4)

### a-train-state-of-linen needs=flax,optax
import flax.linen as nn, optax
from flax.training.train_state import TrainState
class M(nn.Module):
    def setup(self):
        self.d = nn.Dense(1)
    def __call__(self, v):
        return self.d(v)[:, 0]
model = M()
state = TrainState.create(apply_fn=model.apply, params=model.init(jax.random.key(0), x), tx=optax.sgd(0.1))
---
@jax.jit
def step(state, x, t):
    loss = lambda p: ((state.apply_fn(p, x) - t) ** 2).mean()
    return state.apply_gradients(grads=jax.grad(loss)(state.params))
new = step(state, x, t)
w, count = new.params, int(new.step)
count

### an-equinox-module needs=equinox
import equinox as eqx
class Net(eqx.Module):
    w: jax.Array
    act: callable = eqx.field(static=True)
    def __init__(self, key):
        self.w = jax.random.normal(key, (3,))
        self.act = jnp.tanh
    def __call__(self, v):
        return self.act(v @ self.w)
net = Net(jax.random.key(0))
---
value, grads = eqx.filter_value_and_grad(lambda m: ((jax.vmap(m)(x) - t) ** 2).mean())(net)
net = eqx.apply_updates(net, jax.tree.map(lambda g: -0.1 * g, grads))
again = Net(jax.random.key(2))
value

### an-equinox-module-without-init needs=equinox
import equinox as eqx
class Scale(eqx.Module):
    k: jax.Array
    n: int = 2
    @eqx.filter_jit
    def __call__(self, v):
        return v * self.k ** self.n
s = Scale(jnp.ones(3) * 2)
---
y = s(x)
new = eqx.tree_at(lambda m: m.k, s, s.k + 1)
paths = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(new)]
try:
    new.n = 3
    told = "set"
except AttributeError:
    told = "frozen"
paths, told

### an-mlp-of-equinox needs=equinox,optax
import equinox as eqx, optax
mlp = eqx.nn.MLP(3, "scalar", 4, 1, key=jax.random.key(0))
opt = optax.sgd(0.1); state = opt.init(eqx.filter(mlp, eqx.is_array))
@eqx.filter_jit
def step(mlp, state, x, t):
    l, g = eqx.filter_value_and_grad(lambda m: ((jax.vmap(m)(x) - t) ** 2).mean())(mlp)
    u, state = opt.update(g, state)
    return eqx.apply_updates(mlp, u), state, l
---
mlp, state, l = step(mlp, state, x, t)
l

### batches-by-numpy
data = np.arange(24.0, dtype=np.float32).reshape(8, 3); w = jnp.ones(3)
---
rng = np.random.default_rng(1)
for epoch in range(2):
    order = rng.permutation(8)
    for i in range(0, 8, 4):
        b = data[order[i : i + 4]]
        w = w - 1e-3 * jax.grad(lambda w: ((b @ w) ** 2).mean())(w)
    print(epoch, f"{float(w.sum()):.4f}")
w
---
data[0] = 0

### dropout-by-keys
key = jax.random.key(0)
---
def drop(key, v, rate=0.5):
    keep = jax.random.bernoulli(key, 1 - rate, v.shape)
    return jnp.where(keep, v / (1 - rate), 0)
keys = jax.random.split(key, 3)
hs = [drop(k, x) for k in keys]
h = sum(hs)
h.mean()
""",
)
