"""Cells of somebody who tries out eight devices: meshes, specs, collectives, placements, and what is where."""

from ..cell import written

PRELUDE = """
import collections, contextlib, functools, io, itertools, math, operator, time
from collections import Counter, defaultdict, namedtuple
from dataclasses import dataclass, replace
from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-mesh-shards-table-index-and-replica-ids
mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("data", "model"))
specs = {"w": P("model", None), "x": P("data", None), "rep": P(), "both": P("data", "model"), "fold": P(("data", "model"))}
shape = (8, 8)
---
arrs = {k: jax.device_put(jnp.arange(64.0).reshape(shape), NamedSharding(mesh, s)) for k, s in specs.items()}
for k, a in arrs.items():
    sh = a.addressable_shards
    print(f"{k:5}", a.sharding.spec, sh[0].data.shape, len({s.replica_id for s in sh}), sh[3].index, a.sharding.shard_shape(a.shape))
y = arrs["x"] @ arrs["w"].T
print(y.sharding.is_fully_replicated, y.shape, len(y.devices()))
tot = {k: sum(float(s.data.sum()) for s in a.addressable_shards if s.replica_id == 0) for k, a in arrs.items()}
print(tot)
y.sharding.spec, arrs["both"] + arrs["rep"]
---
shape = (8, 8); specs["w"] = P(None, "model")
---
specs.pop("fold"); mesh = Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("data", "model"))

### sn-shardmap-ring-allreduce-vs-psum
mesh = jax.make_mesh((8,), ("i",))
x = jnp.arange(16.0)
def ring(v):
    n = lax.axis_size("i") if hasattr(lax, "axis_size") else lax.psum(1, "i")
    acc, cur = v, v
    for _ in range(n - 1):
        cur = lax.ppermute(cur, "i", [(j, (j + 1) % n) for j in range(n)])
        acc = acc + cur
    return acc
---
xs = jax.device_put(x, NamedSharding(mesh, P("i")))
a = jax.shard_map(ring, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(xs)
b = jax.shard_map(lambda v: lax.psum(v, "i"), mesh=mesh, in_specs=P("i"), out_specs=P())(xs)
idx = jax.shard_map(lambda v: v * 0 + lax.axis_index("i"), mesh=mesh, in_specs=P("i"), out_specs=P("i"))(xs)
print(a.sharding.spec, b.sharding.spec, a.shape, b.shape)
assert jnp.allclose(a.reshape(8, 2)[0], b)
[s.data.tolist() for s in idx.addressable_shards][::3], a, b
---
x = x[::-1]
---
x = jnp.ones(8)

### sn-data-parallel-step-batch-sharded-params-replicated
mesh = jax.make_mesh((8,), ("batch",))
shard, rep = NamedSharding(mesh, P("batch")), NamedSharding(mesh, P())
params = jax.device_put({"w": jnp.zeros((3, 1)), "b": jnp.zeros(1)}, rep)
rng = np.random.default_rng(0)
bs, lr = 16, 0.1
def loss(p, x, y): return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
---
for it in range(3):
    X = rng.normal(size=(bs, 3)).astype(np.float32)
    Y = X.sum(1, keepdims=True)
    xb, yb = jax.device_put((X, Y), shard)
    l, g = jax.value_and_grad(loss)(params, xb, yb)
    params = jax.tree.map(lambda p, d: p - lr * d, params, g)
    print(it, xb.sharding.spec, l.sharding.is_fully_replicated, f"{l:.3f}")
print({k: v.sharding.is_equivalent_to(rep, v.ndim) for k, v in params.items()})
params
---
bs = 8
---
lr = 0.5; params = jax.device_put(params, jax.devices()[3])

### sn-which-device-is-it-on-mixed-placements-error
d = jax.devices()
a, b = jax.device_put(jnp.ones(2), d[1]), jax.device_put(jnp.ones(2), d[2])
free = jnp.full(2, 3.0)
---
c = a + free
try:
    bad = a + b
except ValueError as e:
    print("nope:", "incompatible devices" in str(e))
    bad = a + jax.device_put(b, a.device)
with jax.default_device(d[5]):
    e = jnp.zeros(2)
    f = e + 1
print(c.device, bad.device, e.device, f.committed, f.device.id, free.committed)
g = jax.device_get([c, f])
back = jax.device_put(g[0] * 2, d[7])
print(type(g[0]).__name__, back.device.id, sorted(x.id for x in back.devices()))
back, f
---
b = jax.device_put(b, d[1])
---
free = jax.device_put(free, d[4]); a = jax.device_put(a, d[4])

### sn-with-sharding-constraint-inside-and-outside-jit
mesh = jax.make_mesh((2, 4), ("x", "y"))
def con(v, *s): return lax.with_sharding_constraint(v, NamedSharding(mesh, P(*s)))
A, axis = jnp.arange(32.0).reshape(4, 8), "y"
---
B = con(A, "x", axis)
@jax.jit
def f(v):
    v = con(jnp.sin(v), None, axis)
    return con(v.T @ v, axis, None), v.sum(0)
C, s = f(B)
D = con(C * 2, None, None)
for n, v in dict(B=B, C=C, s=s, D=D).items():
    print(n, v.sharding.spec, v.sharding.num_devices, v.shape)
try:
    con(A[:3], "x")
except ValueError as e:
    print("uneven:", "divisible" in str(e))
D[0, 0], s
---
axis = None
---
A = A * 2

### sn-fsdp-tree-of-specs-by-rule-and-gather
mesh = jax.make_mesh((8,), ("fsdp",))
tree = {"emb": jnp.ones((16, 4)), "layers": [{"k": jnp.ones((4, 8)), "b": jnp.zeros(8)} for _ in range(2)], "scale": jnp.float32(2)}
def rule(path, v):
    name = jtu.keystr(path)
    if v.ndim == 0: return P()
    big = int(np.argmax(v.shape))
    return P(*["fsdp" if i == big and s % 8 == 0 else None for i, s in enumerate(v.shape)])
skip = "b"
---
specs = jtu.tree_map_with_path(rule, tree)
sharded = jax.tree.map(lambda v, s: jax.device_put(v, NamedSharding(mesh, s)), tree, specs)
per_dev = Counter()
for leaf in jax.tree.leaves(sharded):
    for s in leaf.addressable_shards:
        per_dev[s.device.id] += s.data.nbytes
print(per_dev[0], len(set(per_dev.values())), sum(v.nbytes for v in jax.tree.leaves(tree)))
full = jax.tree.map(lambda v: jax.device_put(v, NamedSharding(mesh, P())), sharded["layers"])
out = sharded["emb"]
for l in sharded["layers"][:1]:
    out = jnp.tanh(out @ l["k"] + l["b"])
print(out.sharding.spec, out.shape, specs["scale"], full[0]["k"].sharding.is_fully_replicated)
out.sum()
---
tree["layers"][0]["k"] = jnp.ones((4, 7)); tree["layers"][0]["b"] = jnp.zeros(7)
---
tree["emb"] = tree["emb"] * 3

### sn-pmap-old-notebook-with-axis-name-and-unreplicate
n = 8
def rep(t): return jax.tree.map(lambda v: jnp.stack([v] * n), t)
def unrep(t): return jax.tree.map(lambda v: v[0], t)
params, x = {"w": jnp.ones(2)}, jnp.arange(16.0).reshape(8, 1, 2) / 8
@partial(jax.pmap, axis_name="d")
def step(p, xb):
    g = jax.grad(lambda p: jnp.mean((xb @ p["w"] - 1) ** 2))(p)
    g = lax.pmean(g, "d")
    return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), lax.axis_index("d")
---
rp = rep(params)
for _ in range(2):
    rp, ids = step(rp, x)
params = unrep(rp)
print(ids.tolist(), rp["w"].shape, len(rp["w"].devices()), type(params["w"]).__name__)
spread = jnp.abs(rp["w"] - rp["w"][0]).max()
params, spread
---
x = x * 2
---
params["w"] = jnp.zeros(2)

### sn-explicit-mesh-set-and-typeof-shardings
from jax.sharding import AxisType
mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2)
spec = P("a", "b")
---
x = jax.device_put(jnp.arange(16.0).reshape(4, 4), NamedSharding(mesh, spec))
with jax.set_mesh(mesh):
    t = jax.typeof(x)
    y = jnp.sin(x) * 2
    z = x.sum(1)
    r = jax.sharding.reshard(y, P(None, "b"))
    print(t, jax.typeof(y).sharding.spec, jax.typeof(z), jax.typeof(r))
print(jax.sharding.get_abstract_mesh().empty, x.sharding.mesh.axis_types[0])
z, r
---
spec = P("a", None)
---
spec = P()

### sn-uneven-process-local-callbacks-make-array
mesh = jax.make_mesh((8,), ("s",))
sh = NamedSharding(mesh, P("s"))
host = np.arange(24, dtype=np.float32).reshape(8, 3)
log = []
def cb(index):
    log.append(index[0].start)
    return host[index]
---
log.clear()
a = jax.make_array_from_callback(host.shape, sh, cb)
parts = [jax.device_put(host[i:i + 1] * 10, d) for i, d in enumerate(mesh.devices.flat)]
b = jax.make_array_from_single_device_arrays(host.shape, sh, parts)
c = a + b
loc = np.concatenate([np.asarray(s.data) for s in sorted(c.addressable_shards, key=lambda s: s.index[0].start or 0)])
print(sorted(x or 0 for x in log), c.sharding == sh, np.array_equal(loc, host * 11), parts[3].device.id)
c.sum(0), jnp.max(a)
---
host[0] = 100
---
host = host[:, :1].copy()
""",
    devices=8,
)
