"""Networks of haiku: transform, state, random keys, training steps."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, haiku as hk, optax
x = jnp.linspace(-1, 1, 6).reshape(2, 3)
y = jnp.array([1.0, 0.0])
key = jax.random.PRNGKey(0)
def net(v):
    return hk.nets.MLP([4, 1])(v)[:, 0]
"""

CELLS = written(
    PRELUDE,
    r"""
### hk-init-apply
f = hk.transform(net)
params = f.init(key, x)
---
out = f.apply(params, None, x)
out
---
x = x * 2

### hk-without-apply-rng
f = hk.without_apply_rng(hk.transform(net))
params = f.init(key, x)
---
out = f.apply(params, x)
out.sum()
---
params = f.init(jax.random.PRNGKey(4), x)

### hk-transform-in-cell
---
f = hk.without_apply_rng(hk.transform(net))
params = f.init(key, x)
out = f.apply(params, x)
sorted(params)
---
x = x + 1

### hk-train-step
f = hk.without_apply_rng(hk.transform(net))
params = f.init(key, x)
opt = optax.adam(1e-2)
state = opt.init(params)
def loss_fn(p, x, y):
    return jnp.mean((f.apply(p, x) - y) ** 2)
---
loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
updates, state = opt.update(grads, state)
params = optax.apply_updates(params, updates)
loss
---
y = 1 - y

### hk-train-loop-jit
f = hk.without_apply_rng(hk.transform(net))
params = f.init(key, x)
@jax.jit
def update(p, x, y):
    l, g = jax.value_and_grad(lambda p: jnp.mean((f.apply(p, x) - y) ** 2))(p)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), l
---
for i in range(3):
    params, l = update(params, x, y)
    print(i, f"{l:.4f}")
---
x = x * 2

### hk-dropout-rng
f = hk.transform(lambda v: hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(4)(v)))
params = f.init(key, x)
rng = hk.PRNGSequence(1)
---
out = f.apply(params, next(rng), x)
out.shape

### hk-state-ema
def avg(v):
    return hk.ExponentialMovingAverage(0.9)(v)
f = hk.transform_with_state(avg)
params, state = f.init(key, x)
---
out, state = f.apply(params, state, None, x)
out.sum()
---
x = x * 3

### hk-module-class
class Dense(hk.Module):
    def __init__(self, n, name=None):
        super().__init__(name=name)
        self.n = n
    def __call__(self, v):
        w = hk.get_parameter("w", [v.shape[-1], self.n], init=jnp.ones)
        return v @ w
f = hk.without_apply_rng(hk.transform(lambda v: Dense(2, name="d")(v)))
---
params = f.init(key, x)
params = jax.tree.map(lambda p: p * 0.5, params)
out = f.apply(params, x)
list(params)

### hk-count-params
f = hk.transform(net)
params = f.init(key, x)
---
n = sum(p.size for p in jax.tree.leaves(params))
shapes = jax.tree.map(lambda p: p.shape, params)
out = f.apply(params, key, x)
n, shapes

### hk-partition
f = hk.transform(net)
params = f.init(key, x)
---
w, b = hk.data_structures.partition(lambda m, n, v: n == "w", params)
w = jax.tree.map(lambda v: v * 2, w)
params = hk.data_structures.merge(w, b)
len(w), len(b)

### hk-lstm
def core(seq):
    lstm = hk.LSTM(4)
    outs, state = hk.dynamic_unroll(lstm, seq, lstm.initial_state(None))
    return outs
f = hk.without_apply_rng(hk.transform(core))
params = f.init(key, x)
---
outs = f.apply(params, x)
outs[-1].sum()
---
x = jnp.concatenate([x, x])

### hk-multi-transform
def f():
    lin = hk.Linear(2, name="l")
    def enc(v):
        return lin(v)
    def dec(z):
        return hk.Linear(3, name="m")(z)
    def init(v):
        return dec(enc(v))
    return init, (enc, dec)
m = hk.multi_transform(f)
params = m.init(key, x)
enc, dec = m.apply
---
z = enc(params, None, x)
r = dec(params, None, z)
jnp.mean((r - x) ** 2)
---
x = x * 2
""",
    needs=("haiku", "optax"),
)
