"""Data on all devices of both processes: data and tensor parallel, shard_map with collectives, device_put."""

from people.cell import written

__all__ = ["CELLS"]

PRELUDE = """
import functools
import jax, jax.numpy as jnp, numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
grid = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
A = jnp.arange(32.0).reshape(8, 4) / 10
"""

CELLS = written(
    PRELUDE,
    r"""
### put-and-add devices=4
---
B = jax.device_put(A, NamedSharding(mesh, P("d")))
C = B * 2 + 1
s = C.sum()
float(s), C.shape

### put-by-the-notebook devices=4
B = jax.device_put(A, NamedSharding(mesh, P("d", None)))
---
C = B @ B.T
n = C.max()
n
---
B = jax.device_put(A + 1, NamedSharding(mesh, P(None, "d")))

### on-a-grid devices=4
B = jax.device_put(A, NamedSharding(grid, P("x", "y")))
---
C = jnp.tanh(B) @ B.T
r = jax.device_put(C, NamedSharding(grid, P()))
total = r.sum()
total

### data-parallel-step devices=4
w = jnp.ones(4); t = A.sum(1) / 3
---
xs = jax.device_put(A, NamedSharding(mesh, P("d")))
ts = jax.device_put(t, NamedSharding(mesh, P("d")))
losses = []
for _ in range(3):
    l, g = jax.value_and_grad(lambda w: ((xs @ w - ts) ** 2).mean())(w)
    w = w - 0.01 * g
    losses.append(float(l))
print([f"{l:.3f}" for l in losses])
losses[0] > losses[-1]
---
t = t + 1

### tensor-parallel-mlp devices=4
w1 = jnp.linspace(-1, 1, 32).reshape(4, 8); w2 = jnp.linspace(1, -1, 32).reshape(8, 4)
---
a = jax.device_put(w1, NamedSharding(mesh, P(None, "d")))
b = jax.device_put(w2, NamedSharding(mesh, P("d", None)))
@jax.jit
def mlp(v, a, b):
    h = lax.with_sharding_constraint(jax.nn.relu(v @ a), NamedSharding(mesh, P(None, "d")))
    return h @ b
y = mlp(A, a, b)
y.sum()

### shard-map-psum devices=4
---
@functools.partial(jax.shard_map, mesh=mesh, in_specs=P("d"), out_specs=P())
def total(block):
    return lax.psum(block.sum(0), "d")
y = total(A)
m = jax.shard_map(lambda b: b - lax.pmean(b.mean(), "d"), mesh=mesh, in_specs=P("d"), out_specs=P("d"))(A)
y

### shard-map-all-gather devices=4
def f(block):
    return lax.all_gather(block, "d", tiled=True).sum() * jnp.ones(1)
---
y = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d")))(A)
z = y * 2
y.shape

### shard-map-ppermute devices=4
---
def shift(block):
    return lax.ppermute(block, "d", [(i, (i + 1) % 4) for i in range(4)])
y = jax.shard_map(shift, mesh=mesh, in_specs=P("d"), out_specs=P("d"))(A)
idx = jax.shard_map(lambda: lax.axis_index("d")[None], mesh=mesh, in_specs=(), out_specs=P("d"))()
y.shape

### shard-map-on-two-axes devices=4
---
def f(b):
    return lax.psum(lax.psum_scatter(b, "y", scatter_dimension=1, tiled=True).sum(0), "x")
y = jax.shard_map(f, mesh=grid, in_specs=P("x"), out_specs=P("y"))(A)
y.shape

### all-to-all devices=4
B = jnp.arange(16.0).reshape(4, 4)
---
f = lambda b: lax.all_to_all(b, "d", split_axis=1, concat_axis=0, tiled=True)
y = jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d"))(B)
y.shape

### grads-through-collectives devices=4
---
def loss(w):
    part = jax.shard_map(lambda b, w: lax.psum((b @ w).sum(), "d"), mesh=mesh, in_specs=(P("d"), P()), out_specs=P())
    return part(A, w) ** 2
g = jax.grad(loss)(jnp.ones(4))
g

### out-shardings-of-jit devices=4
---
f = jax.jit(lambda v: v * 2, out_shardings=NamedSharding(grid, P("y", "x")))
y = f(A)
spec = str(y.sharding.spec)
k = len(y.sharding.device_set)
spec, k

### spread-values-of-a-cell-before devices=4
k = 0
---
if k == 0:
    B = jax.device_put(A, NamedSharding(mesh, P("d")))
    params = {"w": B, "n": 1}
C = params["w"] + B
C.sum()
---
k = 1

### int8-and-bool-spread devices=4
---
i = jax.device_put(jnp.arange(8, dtype=jnp.int8), NamedSharding(mesh, P("d")))
m = i > 3
n = m.sum()
j = jnp.where(m, i, -i)
int(n)

### keys-spread devices=4
key = jax.random.key(0)
---
ks = jax.device_put(jax.random.split(key, 4), NamedSharding(mesh, P("d")))
v = jax.vmap(lambda k: jax.random.normal(k, (2,)))(ks)
v.shape

### replicated-is-read-anywhere devices=4
---
r = jax.device_put(A, NamedSharding(mesh, P()))
print(float(r.sum()), r[0, 1])
total = r.tolist()[0]
total

### a-scan-over-layers-that-are-spread devices=4
ws = jnp.stack([jnp.eye(4) * (i + 1) for i in range(3)])
---
w = jax.device_put(ws, NamedSharding(mesh, P(None, "d")))
y, hs = lax.scan(lambda h, w: (jnp.tanh(h @ w), h.sum()), A, w)
hs

### put-from-numpy devices=4
data = np.arange(16, dtype=np.float32).reshape(8, 2)
---
B = jax.device_put(data, NamedSharding(mesh, P("d")))
C = jax.make_array_from_callback((8, 2), NamedSharding(mesh, P("d")), lambda i: data[i])
same = (B == C).all()
bool(same)
---
data[0] = 100
""",
)
