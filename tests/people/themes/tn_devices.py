"""Meshes of eight devices: sharded training, shard_map, layouts, pmap, donated states, arrays that meet."""

from ..cell import written

PRELUDE = """
import dataclasses, functools, itertools, json, math, os, random, re, sys, time, warnings
from functools import partial
from typing import Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### tn-batch-sharded-mlp-step-with-named-mesh-and-replicated-state devices=8
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
NS, P = jax.sharding.NamedSharding, jax.P
params = {"w1": jax.device_put(jnp.ones((4, 8)) * 0.1, NS(mesh, P(None, "model"))), "w2": jax.device_put(jnp.ones((8, 2)) * 0.1, NS(mesh, P("model", None)))}
x = jax.device_put(jnp.arange(32.0).reshape(8, 4) / 32, NS(mesh, P("data")))
@jax.jit
def step(p, x):
    def loss(p): return jnp.mean((jnp.tanh(x @ p["w1"]) @ p["w2"] - 1) ** 2)
    l, g = jax.value_and_grad(loss)(p)
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), l
---
losses = []
for _ in range(3):
    params, l = step(params, x)
    losses.append(float(l))
print([round(v, 5) for v in losses], params["w1"].sharding.spec, params["w2"].sharding.spec)
params, l
---
x = x * 2
---
params = jax.tree.map(lambda v: jax.device_put(v, NS(mesh, P())), params)

### tn-shard-map-histogram-psum-and-all-gather-on-eight devices=8
mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
P = jax.P
@partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=(P(), P("i")))
def hist(x):
    h = jnp.zeros(4).at[(x * 4).astype(int)].add(1)
    total = lax.psum(h, "i")
    return total, h[None] / total
x = jnp.linspace(0, 0.99, 32)
---
total, part = hist(x)
ids = jax.shard_map(lambda: lax.axis_index("i")[None], mesh=mesh, in_specs=(), out_specs=P("i"))()
print(total.tolist(), part.shape, ids.tolist(), part.sharding.spec)
total, part.sum()
---
x = x ** 2
---
x = jnp.sort(x)[::-1]

### tn-device-list-round-robin-ensemble-and-results-moved-home devices=8
devs = jax.devices()
models = [jax.device_put(jnp.full(3, float(i)), devs[i % len(devs)]) for i in range(5)]
x = jnp.arange(3.0)
home = devs[0]
---
outs = {}
for i, m in enumerate(models):
    xi = jax.device_put(x, m.devices().pop())
    y = jnp.dot(m, xi)
    outs[i] = (y, y.device.id)
back = jnp.stack([jax.device_put(y, home) for y, _ in outs.values()])
print([d for _, d in outs.values()], back.committed, back.device == home)
back.mean()
---
home = devs[3]
---
models.reverse()

### tn-global-batch-made-from-callback-and-checked-by-shards devices=8
mesh = jax.make_mesh((8,), ("b",), axis_types=(jax.sharding.AxisType.Auto,))
s = jax.sharding.NamedSharding(mesh, jax.P("b"))
data = np.arange(48.0, dtype=np.float32).reshape(16, 3)
calls = []
def piece(idx):
    calls.append(idx[0].start)
    return data[idx]
---
calls.clear()
g = jax.make_array_from_callback(data.shape, s, piece)
norm = (g - g.mean(0)) / (g.std(0) + 1e-6)
rows = sorted((sh.index[0].start or 0, sh.data.shape[0]) for sh in norm.addressable_shards)
print(sorted(c or 0 for c in calls), rows[:2], norm.sharding.is_equivalent_to(s, 2))
norm.max(0)
---
data = data[::-1].copy()
---
data = np.ones((8, 2), np.float32)

### tn-fsdp-gather-before-use-and-reduce-scatter-by-hand devices=8
mesh = jax.make_mesh((8,), ("f",), axis_types=(jax.sharding.AxisType.Auto,))
P = jax.P
w = jax.device_put(jnp.linspace(-1, 1, 64).reshape(16, 4), jax.sharding.NamedSharding(mesh, P("f")))
x = jax.device_put(jnp.ones((8, 16)), jax.sharding.NamedSharding(mesh, P("f")))
lr = 0.1
@partial(jax.shard_map, mesh=mesh, in_specs=(P("f"), P("f"), P()), out_specs=(P("f"), P()))
def step(w, x, lr):
    full = lax.all_gather(w, "f", tiled=True)
    loss, g = jax.value_and_grad(lambda f: jnp.mean((x @ f) ** 2))(full)
    gs = lax.psum_scatter(g, "f", scatter_dimension=0, tiled=True) / 8
    return w - lr * gs, lax.pmean(loss, "f")
---
hist = []
for _ in range(2):
    w, l = step(w, x, jnp.float32(lr))
    hist.append(l)
print(w.sharding.spec, len(w.addressable_shards), f"{float(hist[-1]):.5f}")
jnp.stack(hist)
---
lr = 0.5
---
x = x * 0.5

### tn-constraint-in-jit-and-explicit-put-between-two-layouts devices=8
mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
NS, P = jax.sharding.NamedSharding, jax.P
a = jnp.arange(64.0).reshape(8, 8)
layouts = [P("x", "y"), P("y", "x"), P(None, ("x", "y")), P()]
@jax.jit
def mix(v): return lax.with_sharding_constraint(v @ v.T, NS(mesh, P("x")))
---
seen = []
for spec in layouts:
    v = jax.device_put(a, NS(mesh, spec))
    m = mix(v)
    seen.append((str(spec), str(m.sharding.spec), m.committed, v.is_fully_replicated))
same = all(bool(jnp.allclose(mix(jax.device_put(a, NS(mesh, s))), a @ a.T)) for s in layouts[:2])
for row in seen:
    print(*row)
m, same
---
layouts = layouts[2:]
---
a = a + 1

### tn-pmap-style-rng-per-device-and-mean-of-replicas devices=8
n = jax.local_device_count()
keys = jax.random.split(jax.random.key(0), n)
f = jax.pmap(lambda k, s: jax.random.normal(k, (3,)) * s, in_axes=(0, None))
scale = 2.0
---
draws = f(keys, scale)
avg = draws.mean(0)
spread = jnp.std(draws, axis=0)
print(draws.shape, len(draws.devices()), avg.shape, type(draws.sharding).__name__)
avg, spread
---
scale = 0.5
---
keys = keys[::-1]

### tn-sharded-embedding-lookup-uneven-vocab-padded devices=8
mesh = jax.make_mesh((8,), ("v",), axis_types=(jax.sharding.AxisType.Auto,))
s = jax.sharding.NamedSharding(mesh, jax.P("v"))
vocab = 13
table = jnp.arange(vocab * 2.0).reshape(vocab, 2)
ids = jnp.array([0, 12, 5, 5])
---
pad = -vocab % 8
emb = jax.device_put(jnp.pad(table, ((0, pad), (0, 0))), s)
out = emb[ids]
grad = jax.grad(lambda e: (e[ids] ** 2).sum())(emb)
print(emb.shape, emb.addressable_shards[0].data.shape, out.tolist(), grad.sharding.spec)
grad[:vocab].sum(0)
---
ids = jnp.array([1, 2])
---
table = table * 0.1

### tn-set-mesh-context-then-reshard-and-typeof devices=8
mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
x = np.arange(32, dtype=np.float32).reshape(8, 4)
---
with jax.set_mesh(mesh):
    v = jax.device_put(x, jax.P("a", "b"))
    w = jnp.tanh(v).T
    t = str(jax.typeof(w))
    r = jax.sharding.reshard(w, jax.P(None, None))
    tot = (r * 2).sum()
print(t, jax.typeof(r).sharding.spec, v.sharding.spec)
tot
---
x = x[:4]
---
x = x * 0.5

### tn-donated-sharded-state-loop-keeps-one-copy devices=8
mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
s = jax.sharding.NamedSharding(mesh, jax.P("d"))
state = jax.device_put(jnp.zeros(16), s)
bump = jax.jit(lambda st, k: st + k, donate_argnums=0, out_shardings=s)
n = 3
---
old = None
for i in range(n):
    old, state = state, bump(state, float(i))
print(old.is_deleted(), state.sharding == s)
state
---
n = 5
---
state = jax.device_put(jnp.ones(16), s)

### tn-arrays-on-two-devices-added-in-try-and-moved-after devices=8
d0, d1 = jax.devices()[:2]
a = jax.device_put(jnp.arange(3.0), d0)
b = jax.device_put(jnp.ones(3), d1)
---
try:
    c = a + b
    how = "straight"
except ValueError as e:
    how = type(e).__name__
    c = a + jax.device_put(b, a.device)
print(how, c.device.id, c.committed)
c * 2
---
b = jax.device_put(b, d0)
---
b = jnp.ones(3)

### tn-vmapped-ensemble-laid-over-the-mesh-by-spmd-axis devices=8 cold
mesh = jax.make_mesh((8,), ("e",), axis_types=(jax.sharding.AxisType.Auto,))
keys = jax.random.split(jax.random.key(1), 8)
xs = jnp.linspace(-1, 1, 10)
init = jax.vmap(lambda k: jax.random.normal(k, (3,)))
ws = jax.device_put(init(keys), jax.sharding.NamedSharding(mesh, jax.P("e")))
def loss(w, x): return jnp.mean((jnp.polyval(w, x) - jnp.sin(3 * x)) ** 2)
train = jax.jit(jax.vmap(lambda w, x: w - 0.1 * jax.grad(loss)(w, x), in_axes=(0, None), spmd_axis_name="e"))
---
for _ in range(3):
    ws = train(ws, xs)
ls = jax.vmap(loss, (0, None))(ws, xs)
best = int(jnp.argmin(ls))
print(best, ws.sharding.spec, ls.shape)
ws[best], ls.min()
---
xs = xs * 0.5
---
ws = ws * 0
""",
    theme="tn_devices",
)
