"""Modules of equinox: filtered transformations, where-surgery, state, serialisation."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, equinox as eqx, optax
x = jnp.linspace(-1, 1, 6).reshape(2, 3)
y = jnp.array([1.0, -1.0])
key = jax.random.key(0)
class Net(eqx.Module):
    layers: list
    scale: float = eqx.field(static=True, default=1.0)
    def __init__(self, key, scale=1.0):
        a, b = jax.random.split(key)
        self.layers = [eqx.nn.Linear(3, 4, key=a), eqx.nn.Linear(4, 1, key=b)]
        self.scale = scale
    def __call__(self, v):
        h = jax.nn.tanh(self.layers[0](v))
        return self.layers[1](h)[0] * self.scale
def loss_fn(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)
"""

CELLS = written(
    PRELUDE,
    r"""
### eqx-forward
net = Net(key)
---
out = jax.vmap(net)(x)
out
---
x = x * 2
---
net = Net(jax.random.key(3))

### eqx-filter-jit-in-cell
net = Net(key)
---
@eqx.filter_jit
def evaluate(m, x):
    return jax.vmap(m)(x).sum()
v = evaluate(net, x)
v
---
x = x + 1

### eqx-filter-jit-step
net = Net(key)
opt = optax.adam(1e-2)
state = opt.init(eqx.filter(net, eqx.is_inexact_array))
@eqx.filter_jit
def step(m, s, x, y):
    l, g = eqx.filter_value_and_grad(loss_fn)(m, x, y)
    u, s = opt.update(g, s, m)
    return eqx.apply_updates(m, u), s, l
---
for _ in range(3):
    net, state, l = step(net, state, x, y)
l
---
y = -y

### eqx-loop-prints
net = Net(key)
opt = optax.sgd(0.1)
state = opt.init(eqx.filter(net, eqx.is_array))
---
for i in range(3):
    l, g = eqx.filter_value_and_grad(loss_fn)(net, x, y)
    u, state = opt.update(g, state)
    net = eqx.apply_updates(net, u)
    print(i, f"{l:.4f}")
---
x = x * 0.5

### eqx-tree-at
net = Net(key)
---
net2 = eqx.tree_at(lambda m: m.layers[0].bias, net, jnp.zeros(4))
same = net2.layers[1].weight is net.layers[1].weight
out = net2(x[0])
same, out
---
net = Net(jax.random.key(9))

### eqx-partition-combine
net = Net(key)
---
params, static = eqx.partition(net, eqx.is_array)
params = jax.tree.map(lambda p: p * 0.9, params)
net = eqx.combine(params, static)
net(x[0])

### eqx-filter-jit-method
class Model(eqx.Module):
    w: jax.Array
    b: float
    @eqx.filter_jit
    def __call__(self, v):
        return v @ self.w + self.b
m = Model(jnp.ones(3), 0.5)
---
out = m(x)
out
---
m = Model(jnp.zeros(3), 0.25)

### eqx-filter-jit-bound-method
net = Net(key)
---
fast = eqx.filter_jit(net.__call__)
out = fast(x[0])
out
---
x = x - 1

### eqx-dropout-key
drop = eqx.nn.Dropout(0.5)
---
key, sub = jax.random.split(key)
out = drop(x, key=sub)
out
---
drop = eqx.nn.Dropout(0.1)

### eqx-inference-mode
drop = eqx.nn.Dropout(0.5)
---
off = eqx.nn.inference_mode(drop)
out = off(x)
out is x
---
x = x + 1

### eqx-batchnorm-state
class BN(eqx.Module):
    norm: eqx.nn.BatchNorm
    def __init__(self):
        self.norm = eqx.nn.BatchNorm(3, axis_name="b", mode="batch")
    def __call__(self, v, state):
        return self.norm(v, state)
model, state = eqx.nn.make_with_state(BN)()
---
out, state = jax.vmap(model, axis_name="b", in_axes=(0, None), out_axes=(0, None))(x, state)
out.mean()

### eqx-state-index
class Counter(eqx.Module):
    index: eqx.nn.StateIndex
    def __init__(self):
        self.index = eqx.nn.StateIndex(jnp.array(0))
    def __call__(self, v, state):
        n = state.get(self.index)
        return v * n, state.set(self.index, n + 1)
model, state = eqx.nn.make_with_state(Counter)()
---
out, state = model(x, state)
n = state.get(model.index)
n

### eqx-serialise
net = Net(key)
---
net = jax.tree.map(lambda v: v * 0.5 if eqx.is_array(v) else v, net)
eqx.tree_serialise_leaves("net.eqx", net)
back = eqx.tree_deserialise_leaves("net.eqx", net)
back(x[0]) == net(x[0])

### eqx-save-and-load-later
net = Net(key)
eqx.tree_serialise_leaves("model.eqx", net)
---
loaded = eqx.tree_deserialise_leaves("model.eqx", net)
out = jax.vmap(loaded)(x)
out
---
eqx.tree_serialise_leaves("model.eqx", Net(jax.random.key(4)))
""",
    needs=("equinox", "optax"),
)
