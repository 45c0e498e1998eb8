"""Meshes, shardings and placements as tutorials on several devices type them in."""

from ..cell import written

PRELUDE = """
import functools, itertools, math, os
from functools import partial
from typing import Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
"""

CELLS = written(
    PRELUDE,
    r"""
### ua-tensor-parallel-mlp-column-then-row-sharded-with-psum devices=4
mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("data", "model"))
put = lambda a, *s: jax.device_put(a, NamedSharding(mesh, P(*s)))
w1, w2 = put(jnp.arange(16.0).reshape(2, 8) / 10, None, "model"), put(jnp.ones((8, 2)) / 8, "model", None)
x = put(jnp.ones((4, 2)), "data", None)
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P("data", None), P(None, "model"), P("model", None)), out_specs=P("data", None))
def mlp(x, a, b): return lax.psum(jnp.tanh(x @ a) @ b, "model")
---
y = mlp(x, w1, w2)
ref = jnp.tanh(x @ w1) @ w2
h = x @ w1
print(y.sharding.spec, h.sharding.spec, bool(jnp.allclose(y, ref, atol=1e-5)), len(y.addressable_shards))
y - ref
---
w1 = w1 * 2

### ua-pipeline-stages-on-own-devices-with-microbatches devices=4
devs = jax.devices()[:4]
stages = [jax.device_put(jnp.eye(3) * (i + 1), d) for i, d in enumerate(devs)]
def stage(w, x): return jnp.tanh(x @ w)
x = jnp.arange(12.0).reshape(4, 3) / 10
---
outs = []
for mb in jnp.split(x, 2):
    for w, d in zip(stages, devs):
        mb = stage(w, jax.device_put(mb, d))
    outs.append(mb)
where = [next(iter(o.devices())).id for o in outs]
y = jnp.concatenate(outs)
print(where, next(iter(y.devices())) == devs[-1], y.committed)
y
---
x = x * 3
---
stages.reverse(); stages = [jax.device_put(w, d) for w, d in zip(stages, devs)]

### ua-sharded-data-loader-yields-global-arrays-and-mean-per-step devices=4
mesh = jax.make_mesh((4,), ("b",), axis_types=(jax.sharding.AxisType.Auto,))
sh = NamedSharding(mesh, P("b"))
data = np.arange(24, dtype=np.float32).reshape(12, 2)
def loader(bs):
    for i in range(0, len(data), bs):
        part = data[i:i + bs]
        if len(part) % mesh.size: return
        yield i, jax.make_array_from_callback(part.shape, sh, lambda ix: part[ix])
w = jax.device_put(jnp.zeros(2), NamedSharding(mesh, P()))
---
seen = []
for i, b in loader(4):
    g = jax.grad(lambda w: jnp.mean((b @ w - b.sum(1)) ** 2))(w)
    w = w - 1e-3 * g
    seen.append((i, b.sharding.is_equivalent_to(sh, 2), w.sharding.is_fully_replicated))
print(seen)
w
---
data = data[:10]
---
w = jax.device_put(jnp.ones(2), NamedSharding(mesh, P()))

### ua-layout-table-of-specs-for-one-array-and-bytes-per-device devices=8
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
x = jnp.arange(64.0).reshape(8, 8)
specs = [P("a", "b"), P(("a", "b"), None), P(None, "b"), P("b", "a"), P()]
---
rows = []
for s in specs:
    y = jax.device_put(x, NamedSharding(mesh, s))
    z = (y * 2).T
    rows.append((str(s), y.sharding.shard_shape(x.shape), str(z.sharding.spec), y.addressable_shards[3].index))
for r in rows: print(*r[:3])
sums = [jax.device_put(x, NamedSharding(mesh, s)).sum(0) for s in specs]
[str(s.sharding.spec) for s in sums]
---
specs.append(P("a"))

### ua-moe-all-to-all-dispatch-and-combine devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("e",))
experts = jax.device_put(jnp.arange(1.0, 5.0).reshape(4, 1), NamedSharding(mesh, P("e")))
x = jax.device_put(jnp.arange(32.0).reshape(16, 2), NamedSharding(mesh, P("e")))
@partial(jax.shard_map, mesh=mesh, in_specs=(P("e"), P("e")), out_specs=(P("e"), P()))
def moe(x, w):
    parts = x.reshape(4, -1, 2)
    there = lax.all_to_all(parts, "e", 0, 0)
    back = lax.all_to_all(there * w, "e", 0, 0).reshape(x.shape)
    return back, lax.psum(jnp.sum(there), "e")
---
y, total = moe(x, experts)
load = jnp.abs(y).sum(1).reshape(4, 4).sum(1)
print(y.sharding.spec, total.sharding.is_fully_replicated, load.tolist())
y[::5]
---
experts = experts * -1

### ua-class-trainer-places-params-by-regex-rules devices=4
import re
class Placer:
    rules = [(r"kernel$", P(None, "m")), (r"emb", P("m", None)), (r".*", P())]
    def __init__(self, mesh): self.mesh, self.log = mesh, {}
    def spec(self, path): return next(s for pat, s in self.rules if re.search(pat, path))
    def __call__(self, tree):
        def put(kp, v):
            path = jax.tree_util.keystr(kp, simple=True, separator="/")
            self.log[path] = str(self.spec(path))
            return jax.device_put(v, NamedSharding(self.mesh, self.spec(path)))
        return jax.tree_util.tree_map_with_path(put, tree)
mesh = Mesh(np.array(jax.devices()[:4]), ("m",))
params = {"emb": jnp.ones((8, 4)), "dense": {"kernel": jnp.eye(4), "bias": jnp.zeros(4)}}
ids = jnp.array([0, 3, 5])
---
pl = Placer(mesh)
ps = pl(params)
def f(p): return jnp.sum((p["emb"][ids] @ p["dense"]["kernel"] + p["dense"]["bias"]) ** 2)
l, g = jax.value_and_grad(f)(ps)
new = jax.tree.map(lambda p, g: p - 0.1 * g, ps, g)
print(pl.log, jax.tree.map(lambda a: str(a.sharding.spec), new))
l
---
ids = jnp.array([1, 1])
---
Placer.rules = [(r".*", P())]

### ua-jit-out-shardings-donated-and-constraint-loop devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("x",))
rows, cols = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P(None, "x"))
step = jax.jit(lambda a: lax.with_sharding_constraint(a * 0.5 + 1, cols) @ jnp.eye(4), out_shardings=rows)
a = jax.device_put(jnp.arange(16.0).reshape(4, 4), rows)
---
hist = [a]
for _ in range(3):
    a = step(a)
    hist.append(a)
norms = jnp.stack([jnp.linalg.norm(h) for h in hist])
both = a + jax.device_put(a, cols)
print(a.sharding == rows, str(both.sharding.spec), [h.sharding.spec for h in hist][-1], norms.sharding.is_fully_replicated)
norms
---
a = a * 3

### ua-uncommitted-default-device-mixes-and-error-for-two-commits devices=4
d0, d1 = jax.devices()[:2]
x, y = jnp.ones(2), jax.device_put(jnp.ones(2), d1)
z = jax.device_put(jnp.ones(2), d0)
---
a = x + y
try:
    b = y + z
except ValueError as e:
    b = None
    print("incompatible" in str(e))
c = jax.device_put(a, d0) + z
d = jnp.zeros(2, device=d1) + x
print([next(iter(v.devices())).id for v in (a, c, d)], [v.committed for v in (a, c, d, x * 2)])
a, c, d
---
x = jax.device_put(x, d1)
""",
)
