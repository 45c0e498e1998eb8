"""Arithmetic, dtypes, pytrees, transformations, random keys: cells that bind arrays and plain values."""

from people.cell import written

__all__ = ["CELLS"]

PRELUDE = """
import collections, dataclasses, enum, functools, itertools, math, typing
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.linspace(0.0, 1.0, 6)
A = jnp.arange(12.0).reshape(3, 4) / 7
"""

CELLS = written(
    PRELUDE,
    r"""
### add-an-int
n = 3
---
y = x * n + 1
y.sum()
---
n = 5
---
n = 5.5

### floats-of-python
lr = 0.1
---
step = lr * 2
y = x - step * x
y, step
---
lr = 0.25

### weak-types-stay
s = jnp.asarray(2.0); w = lax.full((), 3.0, None)
---
weak = jnp.sin(w) * 2
strong = jnp.float32(2) * 2
kinds = weak.weak_type, strong.weak_type, (s * 1).weak_type, (w * s).weak_type
kinds

### a-weak-array-read-by-another-cell
w = jnp.asarray(1) + jnp.bfloat16(0)
v = jnp.array(7)
---
u = v + 1
told = u.weak_type, (u + jnp.int8(1)).dtype.name, w.dtype.name
told

### bfloat16
b = jnp.asarray([1.5, 2.25, 3.125], jnp.bfloat16)
---
c = b * b + 1
d = c.astype(jnp.float32).sum()
e = jnp.dot(b, b)
c.dtype.name, e

### int8-wraps
i = jnp.asarray([100, 127, -128], jnp.int8)
---
j = i + jnp.int8(1)
k = (i.astype(jnp.int32) * 3) % 256
u = j.astype(jnp.uint8)
j.tolist()
---
i = jnp.asarray([1, 2, 3], jnp.int8)

### bool-and-masks
m = x > 0.3
---
n = (~m).sum()
o = jnp.where(m, x, -1)
p = m & (x < 0.9)
any_, all_ = bool(p.any()), bool(p.all())
any_, all_

### complex-numbers
---
z = jnp.exp(1j * x)
f = jnp.fft.fft(x)
re, im = z.real, z.imag
abs(z).sum(), z.dtype.name

### float16-overflow
h = jnp.asarray([60000.0, 1.0], jnp.float16)
---
h2 = h * 2
finite = jnp.isfinite(h2)
finite.tolist()

### zero-d-and-zero-size
e = jnp.zeros((0, 3)); s = jnp.asarray(4)
---
t = e.sum(0)
u = jnp.concatenate([e, jnp.ones((2, 3))])
v = s ** 2
w = e @ jnp.ones((3, 5))
t.shape, u.shape, v.ndim, w.shape

### int-that-is-static-shapes
n = 3
---
y = jnp.zeros((n, n)) + jnp.eye(n)
z = y.reshape(-1)[: n + 1]
z.shape
---
n = 4

### nans-and-infinities
bad = jnp.asarray([jnp.nan, jnp.inf, -jnp.inf, 0.0])
---
y = bad * 0
n = jnp.isnan(y).sum()
w = float("nan")
i = float("inf")
n, i

### a-float-that-is-nan-in-the-notebook
w = float("nan")
---
y = jnp.where(jnp.isnan(w), x, 0)
y.sum()
---
w = 1.0

### negative-zero
z = -0.0
---
y = jnp.copysign(1.0, z)
q = math.copysign(1, z)
q, float(y)
---
z = 0.0

### big-ints
n = 2**70
---
m = n + 1
k = n % 1000
y = x * k
m

### bool-is-not-int
flag = 1
---
y = x + flag
kind = type(flag).__name__
kind
---
flag = True

### einsum-and-linalg
---
q, r = jnp.linalg.qr(A.T)
u = jnp.einsum("ij,ik->jk", A, A)
n = jnp.linalg.norm(A)
d = jnp.linalg.det(u + jnp.eye(4))
abs(q @ r), u, n

### sort-and-search
p = jnp.asarray([3, 1, 2, 1])
---
o = jnp.argsort(p)
s = p[o]
i = jnp.searchsorted(s, 2)
un = jnp.unique(p, size=3)
top, where = lax.top_k(p, 2)
s, int(i)

### updates-at
---
y = x.at[2].set(9).at[-1].add(1)
B = A.at[1].mul(0)
B = B.at[:, 0].max(0.5)
y, B

### dicts-of-arrays
params = {"w": A, "b": jnp.zeros(4), "n": 3}
---
params = {**params, "b": params["b"] + x[:4], "n": params["n"] + 1}
total = sum(jnp.sum(v) for v in jax.tree.leaves(params))
sorted(params)
---
more = 1

### nested-pytrees
tree = {"a": [A, (x, {"c": 2.0})], "b": None}
---
double = jax.tree.map(lambda v: v * 2, tree)
leaves, shape = jax.tree.flatten(tree)
text = str(shape)
n = len(leaves)
again = jax.tree.unflatten(shape, leaves)
text

### namedtuples
class Point(typing.NamedTuple):
    x: typing.Any
    y: typing.Any = 0
P2 = collections.namedtuple("P2", "a b")
p = Point(x)
---
q = p._replace(y=p.x * 2)
r = P2(q, [q.y])
tot = r.a.y.sum()
type(q).__name__, r._fields

### a-namedtuple-of-the-cell
---
class State(typing.NamedTuple):
    step: int
    w: jax.Array
s = State(0, x)
for _ in range(3):
    s = State(s.step + 1, s.w * 0.5)
s.step, s.w

### enums
class Kind(enum.Enum):
    SUM = 1
    MAX = 2
class Flag(enum.IntFlag):
    A = 1
    B = 2
kind = Kind.SUM
---
y = x.sum() if kind is Kind.SUM else x.max()
other = Kind(2)
f = Flag.A | Flag.B
same = kind is Kind.SUM and other is Kind.MAX
same, f.value
---
kind = Kind.MAX

### ordered-and-default-dicts
d = collections.defaultdict(list); o = collections.OrderedDict(b=x, a=A)
---
c = collections.Counter("abca")
first = next(iter(o))
s = o["a"].sum() + o["b"].sum()
dq = collections.deque([1, 2, 3], maxlen=2)
first, c.most_common(1)

### sets-and-ranges
names = {"a", "b"}
---
more = names | {"c"}
r = range(2, 9, 3)
f = frozenset(r)
y = x[jnp.asarray(list(r)) % 6]
sl = slice(1, 4)
z = x[sl]
sorted(more), list(r)

### strings-and-bytes
name = "né\U0001f600"
---
up = name.upper() * 2
raw = name.encode()
text = f"{len(raw)}:{up}"
lines = "a\nb\r\n".splitlines()
long = "x" * 20000
text, len(long)

### tuples-of-plain-values
---
t = (1, 2.5, "a", None, (True, b"z"), 1 + 2j)
e = ()
big = tuple(range(200))
mixed = (1, x)
mixed[0], len(big)

### ellipsis-and-none
---
a = ...
b = None
c = NotImplemented
y = x[..., None]
y.shape

### closures
def make(k):
    def f(v):
        return v * k + off
    return f
off = 1.0
f = make(3)
---
y = f(x)
g = make(2)
z = g(y)
z.sum()
---
off = 2.0
---
f = make(jnp.float32(4))

### lambdas-in-lists
fs = [lambda v, i=i: v + i for i in range(3)]
---
y = x
for f in fs:
    y = f(y)
late = [(lambda: i)() for i in range(3)]
late

### jitted-functions-of-the-notebook
@jax.jit
def f(v):
    return jnp.sin(v) * scale
scale = 2.0
---
y = f(x)
text = f.lower(x).as_text()[:6]
inner = f.__wrapped__(x)
name = f.__name__
name, text

### jitted-with-static-arguments
@functools.partial(jax.jit, static_argnames=("n", "mode"))
def f(v, n, mode="sum"):
    return (v[:n]).sum() if mode == "sum" else v[:n].max()
n = 3
---
a = f(x, n)
b = f(x, n=n + 1, mode="max")
a + b
---
n = 4

### a-checkpointed-function
@jax.checkpoint
def f(v):
    return jnp.tanh(v) ** 2
---
g = jax.grad(lambda v: f(v).sum())(x)
h = jax.vmap(f)(A)
g

### custom-vjp
@jax.custom_vjp
def clip(v):
    return v
clip.defvjp(lambda v: (v, None), lambda _, g: (jnp.clip(g, -limit, limit),))
limit = 0.5
---
g = jax.grad(lambda v: (clip(v) * 3).sum())(x)
g

### custom-jvp
@jax.custom_jvp
def f(v):
    return jnp.sin(v)
@f.defjvp
def _(primals, tangents):
    (v,), (t,) = primals, tangents
    return f(v), 10 * t
---
y, t = jax.jvp(f, (x,), (jnp.ones_like(x),))
t

### vmap-grad-hessian
def loss(w, v):
    return jnp.tanh(w @ v) ** 2
w = jnp.arange(4.0) / 3
---
g = jax.vmap(jax.grad(loss), in_axes=(None, 0))(w, A)
h = jax.hessian(loss)(w, A[0])
v, gs = jax.value_and_grad(lambda w: jax.vmap(loss, (None, 0))(w, A).mean())(w)
v
---
w = w * 2

### scan-with-carry
---
def body(carry, v):
    c, n = carry
    return (c * 0.9 + v, n + 1), c
(c, n), hist = lax.scan(body, (jnp.float32(0), 0), x)
rev = lax.associative_scan(jnp.add, x, reverse=True)
int(n), hist

### while-and-cond
limit = 10.0
---
y = lax.while_loop(lambda v: v.sum() < limit, lambda v: v * 2 + 0.1, x)
z = lax.cond(y[0] > 1, lambda v: v + 1, lambda v: v - 1, y)
k = lax.fori_loop(0, 5, lambda i, v: v + i, 0)
s = lax.switch(2, [lambda v: v, lambda v: v * 2, lambda v: v * 3], x)
float(y.sum()) > limit
---
limit = 50.0

### keys-typed
key = jax.random.key(0)
---
key, sub = jax.random.split(key)
n = jax.random.normal(sub, (4,))
ks = jax.random.split(key, 3)
d = jax.random.key_data(ks)
u = jax.vmap(lambda k: jax.random.uniform(k, ()))(ks)
ks.shape, str(key.dtype)
---
again = 1

### keys-old-style
key = jax.random.PRNGKey(3)
---
key, a, b = jax.random.split(key, 3)
p = jax.random.permutation(a, 10)
c = jax.random.choice(b, x, (2,))
i = jax.random.randint(b, (3,), 0, 100)
p, i

### keys-rbg
key = jax.random.key(1, impl="rbg")
---
k2 = jax.random.fold_in(key, 7)
n = jax.random.bits(k2, (3,))
str(jax.random.key_impl(k2))

### numpy-stays-numpy
data = np.arange(6.0)
---
mean = data.mean()
norm = (data - mean) / data.std()
y = jnp.asarray(norm) * 2
hist, edges = np.histogram(data, 3)
type(mean).__name__, norm.dtype.name

### numpy-written-in-place-by-the-notebook
data = np.ones((2, 3))
---
y = jnp.asarray(data).sum() + x.sum()
tot = data.sum()
float(y)
---
data[0, 0] = 10
---
data *= 2

### numpy-written-in-place-by-the-cell
data = np.zeros(4); alias = data
---
data[2] = 5.0
data += 1
y = jnp.asarray(data) + 1
data.tolist()
---
k = 0

### structured-and-object-arrays
rec = np.zeros(2, dtype=[("a", "i4"), ("b", "f8")]); obj = np.array([1, "a", None], dtype=object)
---
rec["a"] += 3
text = str(obj)
n = len(obj)
when = np.datetime64("2024-01-02") + np.timedelta64(3, "D")
s = np.array(["ab", "c"])
rec["a"].tolist(), text

### numpy-scalars
k = np.float64(2.5); i = np.int64(7)
---
y = x * k
j = i + 1
b = np.bool_(True)
type(j).__name__
---
k = np.float64(3.5)

### a-list-appended-in-the-notebook
xs = [x]
---
s = sum(v.sum() for v in xs)
n = len(xs)
n
---
xs.append(x * 2)
---
xs[0] = A

### integers-of-arrays
---
n = int(x.sum() * 10)
f = float(x[1])
b = bool(x[0] == 0)
t = x.tolist()
i = x.shape[0]
n, f, b

### comprehension-and-walrus
---
ys = [v * 2 for v in (x, A)]
d = {k: v.sum() for k, v in zip("ab", ys)}
if (m := ys[0].max()) > 1:
    big = True
big, list(d)

### unpacking
---
a, *rest, z = x
(p, q), r = A[:2], 3
a, b = z, a
len(rest)

### augmented-assignment
t = 0
---
t += 2
x += 1
A *= x[:3, None]
t
---
t = 10

### xs-over-a-loop-with-prints
---
y = x
for i in range(3):
    y = y * 0.5
    print(i, float(y.sum()))
print("done", y.shape)

### print-of-arrays
---
print(x)
print(A[0], x.dtype, repr(x[:2]))
y = x + 1
print(f"{y.sum():.3f} {y}")

### debug-print
@jax.jit
def f(v):
    jax.debug.print("sum {s}", s=v.sum())
    return v + 1
---
y = f(x)
y[0]

### a-string-of-an-array
---
text = str(x * 2)
line = "%.2f" % x.sum()
h = f"{x.shape}"
text

### last-value-is-a-tuple
---
y = x * 2
(y, {"a": A}, [1, "b"])

### last-value-is-silent
---
y = x * 2
y.sum();

### nothing-but-a-definition
---
def f(v):
    return v + 1
class C:
    k = 3
import json

### a-function-of-the-cell-used-by-the-next-run
---
try:
    n = count(x)
except NameError:
    n = -1
def count(v):
    return v.shape[0]
n
---
k = 0

### callbacks
def host(v):
    return np.asarray(v) * 2
---
y = jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
y

### hashes-and-dicts-by-key
cache = {}
---
key = (x.shape, str(x.dtype))
cache[key] = x.sum()
len(cache)
---
x = jnp.ones(3)

### jnp-of-shapes
---
spec = jax.ShapeDtypeStruct((2, 3), jnp.bfloat16)
out = jax.eval_shape(lambda v: v.T @ v, spec)
dt = jnp.promote_types("int8", "bfloat16")
out.shape, dt.name
""",
)
