"""Kinds of NumPy values beside JAX: structured, dates, strings, scalars, dtypes, views."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
a = np.linspace(0, 1, 4)
"""

CELLS = written(
    PRELUDE,
    r"""
### np-object-array
---
o = np.empty(2, object)
o[0] = x * 2
o[1] = "label"
o[0].sum(), o[1]
---
x = x + 1

### np-object-array-kept
o = np.empty(2, object)
---
o[0] = x + 1
o[1] = o[0] * 2
o[1]
---
x = x * 2

### np-structured
rec = np.array([(1, 2.0), (3, 4.0)], dtype=[("n", "i4"), ("v", "f8")])
---
y = jnp.asarray(rec["v"]) * 2
n = int(rec["n"].sum())
y, n
---
rec["v"] = [7.0, 8.0]

### np-datetime
d = np.array(["2024-01-01", "2024-01-03"], dtype="datetime64[D]")
---
days = (d - d[0]).astype(int)
y = x[:2] * days
y
---
d = d + 1

### np-strings
names = np.array(["b", "a", "b"])
---
u, inv = np.unique(names, return_inverse=True)
y = jax.nn.one_hot(inv, len(u))
list(u), y
---
names = np.array(["c", "a", "b"])

### np-int-overflow-kind
n = np.int64(2**40)
---
m = n * 2
y = x * 2
type(m), m
---
n = np.int64(7)

### np-bool-scalar
flag = np.bool_(True)
---
y = x if flag else -x
f2 = not flag
y, f2
---
flag = np.bool_(False)

### np-linspace-grid
---
grid = np.linspace(0, 1, 5)
X, Y = np.meshgrid(grid, grid)
Z = jnp.sin(jnp.asarray(X) + jnp.asarray(Y))
type(X), Z.shape, X.dtype
---
x = x + 1

### np-polyfit
---
c = np.polyfit(np.arange(4), np.asarray(x) ** 2, 2)
y = jnp.polyval(jnp.asarray(c), x)
c.dtype, y
---
x = x + 0.5

### np-histogram
---
h, edges = np.histogram(np.asarray(x), bins=3)
p = jnp.asarray(h) / h.sum()
h.dtype, p
---
x = x ** 2

### np-divide-by-int
n = 3
---
q = a / n
y = x / n
k = a.sum() // n
type(k), q.dtype, y
---
n = 7

### np-float64-accumulator
acc = 0.0
---
acc += float(x.sum()) * 1e-3
err = np.float64(acc) - 0.001
y = x * acc
type(err)
---
acc = 10.0

### np-dtype-object
dt = np.dtype("float32")
---
y = jnp.zeros(3, dt) + 1
z = np.zeros(2, dtype=y.dtype)
dt is np.dtype("float32"), z.dtype
---
dt = np.dtype("int32")

### np-broadcast-to
---
b = np.broadcast_to(a, (2, 4))
y = jnp.asarray(b) + x
b.strides, b.flags.writeable, y.shape
---
a = a + 5

### np-iter-and-zip
---
pairs = [(i, float(v)) for i, v in zip(a, x)]
d = dict(enumerate(a))
y = x + sum(i for i, _ in pairs)
type(pairs[0][0]), y
---
a = a * 2

### np-nan-handling
b = np.array([1.0, np.nan, 3.0])
---
clean = b[~np.isnan(b)]
y = jnp.nan_to_num(jnp.asarray(b)) * 2
clean, y
---
b = np.array([np.nan, 2.0, 3.0])

### np-tolist-json
---
d = {"x": x.tolist(), "a": a.round(2).tolist()}
y = jnp.asarray(d["x"]) * 2
type(d["x"][0]), y
---
x = x + 1

### np-matmul-mixed
M = np.arange(16.0).reshape(4, 4)
---
p = M @ np.asarray(x)
q = M @ x
type(p), type(q), q
---
M = M.T

### np-loop-variable-left
data = np.arange(6.0).reshape(3, 2)
w = jnp.zeros(2)
---
for row in data:
    w = w + row
row, type(row), w
---
data = data + 1

### np-enumerate-left
data = [np.ones(2), np.zeros(2)]
w = jnp.zeros(2)
---
for i, (d) in enumerate(data):
    w = w + d * i
i, d.dtype, w
---
data = [np.zeros(2), np.ones(2)]

### np-x64-mixed x64
b = np.linspace(0, 1, 3)
---
y = jnp.asarray(b) * 2
z = y.astype(jnp.float32) + np.float64(1)
y.dtype, z.dtype
---
b = b + 1

### np-bf16
---
h = x.astype(jnp.bfloat16) * 2
n = np.asarray(h)
n.dtype, (h + 1).dtype
---
x = x * 3

### np-array-wrapped-dict
params = {"w": np.ones((2, 2)), "b": np.zeros(2)}
---
j = jax.tree.map(jnp.asarray, params)
n = jax.tree.map(np.asarray, j)
same = params["w"]
n["w"].dtype, same.dtype, same is params["w"]
---
params["w"] = params["w"] * 3

### np-copyto-and-out
out = np.zeros(4)
---
np.multiply(a, 2, out=out)
np.copyto(a, out)
y = jnp.asarray(out) + x
a is out, y
---
a = np.ones(4)

### np-reduction-axis-names
M = np.arange(6).reshape(2, 3)
---
s = M.sum(axis=0)
t = jnp.asarray(M).sum(axis=0)
u = s + t
type(s), s.dtype, u.dtype
---
M = M * 3
""",
)
