"""Sharding as in tutorials: meshes, constraints, manual collectives, moves between layouts."""

from ..cell import written

PRELUDE = """
import functools
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, AxisType
mesh = jax.make_mesh((2, 2), ("data", "model"), axis_types=(AxisType.Auto, AxisType.Auto), devices=jax.devices()[:4])
x = jnp.arange(32.0).reshape(8, 4)
"""

CELLS = written(
    PRELUDE,
    r"""
### fms-tensor-parallel-step
params = {"up": jnp.ones((4, 8)) / 8, "down": jnp.ones((8, 4)) / 8}
specs = {"up": P(None, "model"), "down": P("model", None)}
params = jax.tree.map(lambda p, s: jax.device_put(p, NamedSharding(mesh, s)), params, specs)
batch = jax.device_put(x, NamedSharding(mesh, P("data")))
---
@jax.jit
def step(params, batch):
    def loss(p):
        return jnp.mean((jnp.tanh(batch @ p["up"]) @ p["down"] - batch) ** 2)
    val, g = jax.value_and_grad(loss)(params)
    return val, jax.tree.map(lambda a, b: a - 0.1 * b, params, g)
val, params = step(params, batch)
{k: str(v.sharding.spec) for k, v in params.items()}, val
---
batch = batch * 0.5

### fms-shard-map-collectives
f = jax.shard_map(lambda v: jax.lax.psum(v, "data") / jax.lax.axis_size("data") + jax.lax.axis_index("model"),
                  mesh=mesh, in_specs=P("data", "model"), out_specs=P(None, "model"))
---
y = f(x)
z = jax.jit(f)(x * 2) - y
y.shape, z.sharding.spec, z.sum()
---
x = x + 1

### fms-ring-permute
ring = Mesh(np.array(jax.devices()[:4]), ("i",))
---
@jax.jit
@functools.partial(jax.shard_map, mesh=ring, in_specs=P("i"), out_specs=P("i"))
def shift(v):
    n = jax.lax.axis_size("i")
    return jax.lax.ppermute(v, "i", [(k, (k + 1) % n) for k in range(n)])
y = shift(x)
z = shift(y) + x
bool((y[2:] == x[:-2]).all()), z.sharding
---
x = x * 2

### fms-grad-through-all-gather
---
@functools.partial(jax.shard_map, mesh=mesh, in_specs=(P("data"), P()), out_specs=P("data"))
def apply(v, w):
    allv = jax.lax.all_gather(v, "data", tiled=True)
    return v @ w + allv.mean()
g = jax.grad(lambda w: (apply(x, w) ** 2).mean())(jnp.ones((4, 2)))
g.shape, g.sharding.is_fully_replicated, g
---
x = x[::2]

### fms-constraint-in-helper
def layer(v, w):
    h = jax.lax.with_sharding_constraint(v @ w, NamedSharding(mesh, P("data", "model")))
    return jax.nn.relu(h)
w = jax.device_put(jnp.eye(4), NamedSharding(mesh, P()))
---
h = jax.jit(layer)(x, w)
back = jax.device_put(h, NamedSharding(mesh, P()))
host = np.asarray(h)
[s.index for s in h.addressable_shards][1], h.sharding == back.sharding, host.sum()
---
w = w * 2

### fms-explicit-types
em = jax.make_mesh((4,), ("b",), axis_types=(AxisType.Explicit,), devices=jax.devices()[:4])
---
with jax.set_mesh(em):
    v = jax.device_put(x, P("b"))
    y = jnp.sin(v) * 2
    kind = str(jax.typeof(y))
    r = jax.sharding.reshard(y, P())
kind, str(jax.typeof(r)), r.sum()
---
x = x - 1

### fms-auto-axes-and-out-sharding
em = jax.make_mesh((2, 2), ("a", "b"), axis_types=(AxisType.Explicit,) * 2, devices=jax.devices()[:4])
jax.set_mesh(em)
l, r = jax.device_put(x, P("a", "b")), jax.device_put(x.T, P("b", "a"))
---
out = jnp.einsum("ij,jk->ik", l, r, out_sharding=P("a", None))
s = out.sum(axis=0)
str(jax.typeof(out)), s.sharding.spec, s[0]
---
l = l * 2

### fms-replicate-for-pmap-style
devs = jax.devices()[:4]
def unreplicate(t):
    return jax.tree.map(lambda v: v[0], t)
---
@functools.partial(jax.pmap, axis_name="d", devices=devs)
def step(w, b):
    g = jax.lax.pmean(jax.grad(lambda w: ((b @ w) ** 2).mean())(w), "d")
    return w - 0.01 * g
w = step(jnp.ones((4, 4)), x.reshape(4, 2, 4))
del step
one = unreplicate({"w": w})["w"]
w.shape, one
---
x = x / 10

### fms-local-data-to-global
sh = NamedSharding(mesh, P("data"))
batches = [np.full((8, 4), i, np.float32) for i in range(3)]
---
total = jnp.zeros(())
for b in batches:
    g = jax.make_array_from_process_local_data(sh, b)
    total = total + jnp.vdot(g, x)
shapes = {s.data.shape for s in g.addressable_shards}
shapes, g.committed, total
---
batches.append(np.ones((8, 4), np.float32))

### fms-eval-shape-then-init
def init(key):
    k1, k2 = jax.random.split(key)
    return {"w": jax.random.normal(k1, (8, 4)), "b": jnp.zeros(4)}
def rule(path, leaf):
    return NamedSharding(mesh, P("data", "model") if leaf.ndim == 2 else P())
---
shapes = jax.eval_shape(init, jax.random.key(0))
sh = jax.tree_util.tree_map_with_path(rule, shapes)
params = jax.jit(init, out_shardings=sh)(jax.random.key(0))
norms = {k: jnp.linalg.norm(v) for k, v in params.items()}
params["w"].sharding.spec, norms["w"].sharding, norms
---
mesh = jax.make_mesh((4, 1), ("data", "model"), axis_types=(AxisType.Auto,) * 2, devices=jax.devices()[:4])
""",
    devices=4,
)
