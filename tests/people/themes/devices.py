"""Where arrays live: device_put, shardings, meshes, default devices, on one device and on several."""

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
### put-input-on-device
x = jnp.arange(4.0)
---
y = jax.device_put(x, last)
z = y * 2
---
x = x + 1

### put-computed-on-device
x = jnp.arange(4.0)
---
y = jax.device_put(x * 2, last)
y.devices()
---
x = jnp.arange(8.0)

### put-then-compute-then-move-back
x = jnp.ones((2, 2))
---
a = jax.device_put(x + 1, last)
b = a @ a
c = jax.device_put(b, devices[0])
b.devices(), c.devices()

### put-named-sharding devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
x = jnp.arange(16.0)
---
y = jax.device_put(x * 3, NamedSharding(mesh, P("x")))
y.sharding.spec
---
x = x - 1

### put-tree-map devices=2
mesh = jax.make_mesh((n,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
shard = NamedSharding(mesh, P("x"))
rep = NamedSharding(mesh, P())
params = {"w": jnp.ones((16, 4)), "b": jnp.zeros(16)}
---
params = jax.tree.map(lambda p: jax.device_put(p * 0.5, shard), params)
scale = jax.device_put(jnp.float32(2), rep)
out = params["w"].sum(axis=1) * scale + params["b"]
out.sharding
---
params = {"w": jnp.zeros((16, 4)), "b": jnp.ones(16)}

### put-tree-of-shardings devices=2
mesh = jax.make_mesh((n,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
tree = {"a": jnp.ones((8, 2)), "b": [jnp.zeros(8)]}
where = {"a": NamedSharding(mesh, P("d", None)), "b": [NamedSharding(mesh, P())]}
---
placed = jax.device_put(jax.tree.map(jnp.sin, tree), where)
total = sum(jnp.sum(v) for v in jax.tree.leaves(placed))
total

### shard-batch-in-loop devices=4
mesh = jax.make_mesh((4,), ("batch",), axis_types=(jax.sharding.AxisType.Auto,))
s = NamedSharding(mesh, P("batch"))
data = np.arange(32.0, dtype=np.float32).reshape(2, 8, 2)
w = jnp.ones(2)
---
for batch in data:
    xb = jax.device_put(batch, s)
    w = w + 0.01 * (xb @ w).mean()
xb.sharding, w.sharding
---
data = data * 2

### set-mesh-statement devices=2
x = jnp.arange(8.0)
---
mesh = jax.make_mesh((n,), ("x",))
jax.set_mesh(mesh)
y = jax.device_put(x, P("x"))
z = y * 2
jax.typeof(z)

### with-set-mesh devices=2
mesh = jax.make_mesh((n,), ("x",))
x = jnp.arange(8.0)
---
with jax.set_mesh(mesh):
    y = jax.device_put(x, P("x"))
    z = jnp.cos(y) + 1
z.sharding
---
x = x * 2

### set-mesh-in-setup devices=2
mesh = jax.make_mesh((n,), ("x",))
jax.set_mesh(mesh)
a = jax.device_put(jnp.arange(16.0).reshape(8, 2), P("x", None))
---
b = a @ jnp.ones((2, 3))
c = jax.sharding.reshard(b, P(None, None))
b.sharding.spec, c.sharding.spec
---
a = a + 1

### default-device-context
x = jnp.ones(3)
---
with jax.default_device(last):
    y = jnp.zeros(3)
    z = y + 1
y.devices(), z.devices()

### default-device-context-input
x = jnp.ones(3)
---
with jax.default_device(last):
    y = jnp.arange(3.0) * 2
out = y.sum()
print(out.devices() == {last})

### default-device-config
jax.config.update("jax_default_device", devices[-1])
---
y = jnp.ones(4) * 3
y.devices()

### default-device-set-in-cell
x = jnp.ones(2)
---
jax.config.update("jax_default_device", last)
y = jnp.arange(5)
y.devices()

### committed-input-stays
x = jax.device_put(jnp.arange(3.0), last)
---
y = x * 2
z = jnp.zeros_like(x)
w = jnp.ones(3)
y.committed, z.devices(), w.committed
---
x = jax.device_put(jnp.arange(3.0), devices[0])
---
x = jnp.arange(3.0)
""",
)
