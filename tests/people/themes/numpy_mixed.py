"""NumPy beside JAX: float64 arithmetic, integers, views, in-place writes, masks, and what crosses over."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
a = np.linspace(0, 1, 4)
"""

CELLS = written(
    PRELUDE,
    r"""
### np-time-axis
t = np.array([1.7e9, 1.7e9 + 0.25, 1.7e9 + 0.5, 1.7e9 + 1.0])
---
rel = jnp.array(t - t[0])
y = jnp.sin(rel)
rel
---
t = t * 2

### np-in-argument
t = np.array([1e8 + 0.1, 1e8 + 0.2, 1e8 + 0.3])
---
y = jnp.asarray(np.diff(t)) * 10
y
---
t = t + np.array([0, 0.5, 1.0])

### np-standardise
---
z = jnp.asarray((a - a.mean()) / a.std())
w = z @ x
w
---
a = a * 1e6

### np-float-scalar-promotes
s = np.float64(0.1)
---
y = x * s
z = s * 2
type(z), y.dtype
---
s = np.float64(0.3)

### np-float32-scalar
s = np.float32(0.5)
---
y = x * s + np.int32(2)
y.dtype, y
---
s = np.float32(1.5)

### np-int-array-index
idx = np.array([2, 0, 1])
---
y = x[idx]
b = a[idx]
type(b), y
---
idx = np.array([3, 3, 3])

### np-mask-from-numpy
mask = a > 0.5
---
y = jnp.where(mask, x, -x)
kept = a[mask]
kept.shape, y
---
mask = a > 0.1

### np-mask-from-jax
---
m = np.asarray(x > 1)
kept = a[m]
y = jnp.sum(jnp.asarray(kept))
kept.dtype, y
---
x = x[::-1]

### np-inplace-buffer
buf = np.zeros((3, 4))
---
for i in range(3):
    buf[i] = np.asarray(x * i)
total = jnp.asarray(buf).sum()
buf[2], total
---
x = x + 1

### np-inplace-then-jnp
---
a += 1.0
y = jnp.asarray(a) * x
a[0], y
---
a = np.zeros(4)

### np-view-kept
big = np.arange(12.0).reshape(3, 4)
row = big[1]
---
row[:] = row * 2
y = jnp.asarray(big).sum()
row.base is big, y

### np-readonly
ro = np.arange(4.0); ro.flags.writeable = False
---
y = x + ro
same = ro
copy = ro.copy()
same.flags.writeable, copy.flags.writeable
---
ro = ro * 2; ro.flags.writeable = False

### np-fortran-order
F = np.asfortranarray(np.arange(6.0).reshape(2, 3))
---
y = jnp.asarray(F) * 2
G = F.T
G.flags.c_contiguous, y

### np-random-generator
rng = np.random.default_rng(0)
---
noise = rng.normal(size=4)
y = x + jnp.asarray(noise)
y
---
rng = np.random.default_rng(1)

### np-random-legacy
---
i = np.random.permutation(4)
y = x[i]
y
---
np.random.seed(3)

### np-batches-shuffled
data = np.arange(8.0).reshape(4, 2)
rng = np.random.default_rng(0)
w = jnp.ones(2)
---
order = rng.permutation(len(data))
for s in range(0, 4, 2):
    batch = data[order[s:s + 2]]
    w = w - 0.01 * jnp.asarray(batch, jnp.float32).mean(axis=0)
w
---
data = data * 2

### np-list-of-scalars
---
vals = [float(v) for v in x]
mean = np.mean(vals)
y = x - mean
type(mean), y
---
x = x * 3

### np-ufunc-on-jax
---
s = np.sin(x)
m = np.maximum(x, 1.5)
t = np.sum(x)
type(s), type(m), type(t)
---
x = x + 0.5

### np-array-of-jax
---
h = np.array(x)
h[0] = 99
y = x + 1
h, x
---
x = x * 2

### np-stack-of-jax
---
st = np.stack([x, x * 2])
j = jnp.stack([x, x * 2])
type(st), st.dtype, j.shape
---
x = x + 1
""",
)
