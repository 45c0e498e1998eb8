"""Meshes and shard maps: arrays spread by hand, gathered, constrained, on several devices."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P, SingleDeviceSharding, Mesh
n = jax.device_count()
devices = jax.devices()
last = devices[-1]
"""

CELLS = written(
    PRELUDE,
    r"""
### mixed-devices-refused devices=2
a = jax.device_put(jnp.ones(3), devices[0])
b = jax.device_put(jnp.ones(3), devices[1])
---
c = a + b
---
b = jax.device_put(b, devices[0])

### mixed-devices-computed devices=2
a = jnp.ones(3)
---
b = jax.device_put(a * 1, devices[0])
c = jax.device_put(a * 2, devices[1])
d = b + c

### uncommitted-follows-committed
a = jax.device_put(jnp.ones(3), last)
b = jnp.arange(3.0)
---
c = a + b
d = b * 2
c.devices(), d.devices()
---
a = jax.device_put(a, devices[0])

### per-device-replicas devices=4
x = jnp.ones((2, 2))
---
copies = [jax.device_put(x * i, d) for i, d in enumerate(devices[:4])]
sums = [c.sum() for c in copies]
[next(iter(s.devices())).id for s in sums]

### gather-from-devices devices=4
parts = [jax.device_put(jnp.full(2, float(i)), d) for i, d in enumerate(jax.devices()[:4])]
---
total = sum(jax.device_put(p, jax.devices()[0]) for p in parts)
total
---
parts = [p * 2 for p in parts]

### positional-mesh devices=4
mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("dp", "tp"))
w = jnp.arange(16.0).reshape(4, 4)
---
ws = jax.device_put(w, NamedSharding(mesh, P("dp", "tp")))
xs = jax.device_put(jnp.ones((4, 4)), NamedSharding(mesh, P("dp", None)))
y = jnp.dot(xs, ws)
y.sharding, ws.addressable_shards[0].data.shape

### jit-out-shardings devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
f = jax.jit(lambda v: v * 2, out_shardings=NamedSharding(mesh, P("x")))
x = jnp.arange(16.0)
---
y = f(x)
z = y + 1
y.sharding.spec

### with-sharding-constraint devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
s = NamedSharding(mesh, P("x"))
@jax.jit
def f(x):
    h = jax.lax.with_sharding_constraint(x * 2, s)
    return h + 1
x = jnp.arange(16.0)
---
y = f(x)
total = y.sum()
y.sharding
---
x = x * 0

### constraint-in-cell devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
s = NamedSharding(mesh, P("x"))
x = jnp.arange(16.0)
---
y = jax.lax.with_sharding_constraint(x, s)
z = y * 2
y.sharding

### shard-map-psum devices=4
mesh = jax.make_mesh((4,), ("i",))
x = jnp.arange(8.0)
f = jax.shard_map(lambda v: jax.lax.psum(v.sum(), "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
---
y = f(x)
y
---
x = x * 2

### shard-map-explicit-input devices=4
mesh = jax.make_mesh((4,), ("i",))
x = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("i")))
---
def local(v):
    return v - jax.lax.pmean(v, "i")
y = jax.shard_map(local, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(x)
y.sharding, float(y.sum())

### pmap-sum devices=4
x = jnp.arange(8.0).reshape(4, 2)
---
y = jax.pmap(lambda v: jax.lax.psum(v, "d"), axis_name="d")(x)
y.shape

### put-numpy
a = np.arange(4, dtype=np.float32)
---
d = jax.device_put(a)
e = jax.device_put(a, last)
d.committed, e.committed
---
a = a + 1

### put-list-of-numpy
batch = [np.ones((2, 3), np.float32), np.array([1, 2])]
---
x, y = jax.device_put(batch, last)
out = x.sum(axis=1) + y
out.devices()

### device-get-back
x = jnp.arange(3.0)
---
host = jax.device_get({"x": x * 2, "n": 3})
type(host["x"]), host["x"].dtype, host["n"]
---
x = x + 5

### asarray-device
x = [1.0, 2.0]
---
a = jnp.asarray(x, device=last)
b = jnp.zeros(2, device=last)
c = jnp.array(a, device=devices[0])
a.devices(), b.devices(), c.devices()

### copy-to-host-async
x = jnp.arange(4.0)
---
y = x * 2
y.copy_to_host_async()
h = np.asarray(y)
h

### to-device-method
x = jnp.arange(3.0)
---
y = (x + 1).to_device(last)
y.device

### eval-and-print-sharding devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
x = jax.device_put(jnp.arange(16.0), NamedSharding(mesh, P("x")))
---
y = jnp.sin(x).reshape(-1, 2)
print(y.sharding.is_fully_replicated, y.shape)
z = y.sum()
---
x = jax.device_put(x, NamedSharding(mesh, P()))

### make-array-from-callback devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
host = np.arange(16.0, dtype=np.float32)
---
x = jax.make_array_from_callback((16,), NamedSharding(mesh, P("x")), lambda i: host[i])
y = x * x
y.sharding
---
host = host + 1

### addressable-shards devices=4
mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
x = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("x")))
---
y = x * 2
firsts = [s.data[0] for s in y.addressable_shards]
[f.devices() for f in firsts], [int(f) for f in firsts]

### donate-step
w = jnp.ones(4)
step = jax.jit(lambda w, g: w - 0.1 * g, donate_argnums=0)
g = jnp.arange(4.0)
---
old = w
w = step(w, g)
old.is_deleted(), w
---
g = g + 1

### zeros-like-sharded devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
p = jax.device_put(jnp.ones((8, 2)), NamedSharding(mesh, P("x")))
---
m = jnp.zeros_like(p)
v = jax.tree.map(jnp.ones_like, {"p": p})
new = p - 0.1 * m
m.sharding, v["p"].sharding, new.sharding

### random-on-device
key = jax.random.key(0)
---
with jax.default_device(last):
    r = jax.random.normal(jax.random.key(1), (3,))
s = jax.random.normal(key, (3,))
r.devices(), s.devices()
---
key = jax.random.key(5)

### single-device-sharding
x = jnp.ones(3)
---
y = jax.device_put(x * 4, SingleDeviceSharding(last))
y.sharding == SingleDeviceSharding(last)

### explicit-mesh-array devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
x = jnp.arange(16.0)
---
with jax.set_mesh(mesh):
    y = jax.sharding.reshard(x, P("x"))
    z = y + jnp.ones_like(y)
print(jax.typeof(z))
z.sharding.spec
---
x = x + 1
""",
)
