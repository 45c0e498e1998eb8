"""Contexts of JAX, callbacks, custom derivatives, control flow, export: as they are used in the middle of a notebook."""

from ..cell import written

PRELUDE = """
import functools, itertools, operator, dataclasses, contextlib, typing
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.arange(6.0)
m = jnp.arange(12.0).reshape(3, 4) / 7
"""

CELLS = written(
    PRELUDE,
    r"""
### fjx-matmul-precision-with
a = jnp.ones((3, 3)) / 3
def run(mode):
    with jax.default_matmul_precision(mode):
        return a @ a
---
outs = {mode: run(mode) for mode in ("bfloat16", "float32")}
with jax.default_matmul_precision("highest"):
    inner = jax.config.jax_default_matmul_precision
    b = a @ m[:, :3]
inner, jax.config.jax_default_matmul_precision, b.sum()
---
a = a * 2

### fjx-debug-nans-with
---
try:
    with jax.debug_nans(True):
        bad = jnp.log(x - 3)
except FloatingPointError as err:
    kind = type(err).__name__
good = jnp.log1p(x)
kind, jax.config.jax_debug_nans
---
x = x + 1

### fjx-enable-x64-with
values = np.linspace(0, 1, 5)
---
with jax.enable_x64(True):
    wide = jnp.asarray(values)
    total = wide.cumsum()
narrow = total.astype(jnp.float32) + x[:5]
wide.dtype, total.dtype, narrow.dtype
---
values = values * 3

### fjx-rank-promotion-caught
---
told = ""
with jax.numpy_rank_promotion("raise"):
    try:
        s = m + jnp.ones(4)
    except ValueError as err:
        told = "rank"
        s = m + jnp.ones((1, 4))
told, s.sum()
---
m = m * 2

### fjx-dtype-promotion-strict
---
with jax.numpy_dtype_promotion("strict"):
    try:
        mixed = x + jnp.arange(6)
        msg = "fine"
    except Exception as err:
        msg = type(err).__name__
        mixed = x + jnp.arange(6).astype(x.dtype)
msg, mixed
---
x = x / 2

### fjx-key-reuse-checked
key = jax.random.key(3)
---
with jax.debug_key_reuse(True):
    a = jax.random.normal(key, (2,))
    try:
        b = jax.random.uniform(key, (2,))
        reused = False
    except Exception as err:
        reused = type(err).__name__
reused, a.shape
---
key = jax.random.key(9)

### fjx-disable-jit-sees-values
seen = []
@jax.jit
def f(v):
    if not isinstance(v, jax.core.Tracer):
        seen.append(round(float(v.sum()), 3))
    return v * 2
---
with jax.disable_jit():
    a = f(x)
b = f(a)
len(seen), b.sum()
---
x = x + 1

### fjx-eager-or-traced
def mode(v):
    return "traced" if isinstance(v, jax.core.Tracer) else "eager"
where = []
@jax.jit
def inside(v):
    where.append(mode(v))
    return v + 1
---
y = inside(x) * 2
tag = mode(y)
label = type(y).__name__
tag, label, where

### fjx-trace-counter
traces = {"n": 0}
@jax.jit
def g(v):
    traces["n"] += 1
    return jnp.tanh(v).sum()
---
first = g(x)
second = g(x[:3])
traces["n"], first + second
---
x = jnp.arange(8.0)

### fjx-cache-size-asked
@jax.jit
def h(v):
    return v @ v
---
a, b = h(x), h(x[:2])
sizes = h._cache_size()
sizes, a + b
---
h.clear_cache()

### fjx-lowered-text
def net(v):
    return jnp.sin(v) * 2
---
low = jax.jit(net).lower(x)
name = low.as_text().splitlines()[0][:12]
out = low.compile()(x)
name, out
---
x = x - 1

### fjx-export-roundtrip
from jax import export
def net(v):
    return jnp.cos(v).sum()
---
def roundtrip(f, v):
    exp = export.export(jax.jit(f))(jax.ShapeDtypeStruct(v.shape, v.dtype))
    return export.deserialize(exp.serialize())
y = roundtrip(net, x).call(x)
name = roundtrip(net, x[:2]).fun_name
name, y
---
x = x + 2

### fjx-export-symbolic
from jax import export
---
def exported(f):
    (n,) = export.symbolic_shape("n")
    return export.export(jax.jit(f))(jax.ShapeDtypeStruct((n,), jnp.float32))
norm = exported(lambda v: v / v.sum()).call
parts = [norm(jnp.ones(k)) for k in (2, 5)]
del norm
[p.shape for p in parts]

### fjx-pure-callback-scipy needs=scipy.special
import scipy.special
def jv(order, z):
    return jax.pure_callback(lambda o, t: scipy.special.jv(o, t).astype(np.float32),
                             jax.ShapeDtypeStruct(z.shape, z.dtype), order, z, vmap_method="sequential")
---
vals = jv(0, x)
both = jax.vmap(lambda o: jv(o, x))(jnp.arange(2))
both.sum(axis=1), vals[0]
---
x = x * 1.5

### fjx-io-callback-host-state
from jax.experimental import io_callback
class Host:
    def __init__(self):
        self.n, self.seen = 0, []
    def tick(self, v):
        self.n += 1
        self.seen.append(float(v))
        return np.float32(self.n)
host = Host()
---
@jax.jit
def step(v):
    count = io_callback(host.tick, jax.ShapeDtypeStruct((), jnp.float32), v.sum(), ordered=True)
    return v + count
y = step(step(x))
jax.effects_barrier()
host.n, y[0]
---
x = x + 1

### fjx-callback-in-scan
marks = []
def body(c, i):
    c = c * 0.5 + i
    jax.debug.callback(lambda i, c: marks.append((int(i), round(float(c), 4))), i, c, ordered=True)
    return c, c
---
last, hist = lax.scan(body, 0.0, jnp.arange(3))
jax.effects_barrier()
last, list(marks)
---
marks.clear()

### fjx-debug-print-in-fori
def body(i, c):
    jax.debug.print("turn {i}: {c:.2f}", i=i, c=c, ordered=True)
    return c + i
---
out = lax.fori_loop(0, 3, body, x.sum())
jax.effects_barrier()
print("out", out)
---
x = x * 2

### fjx-custom-jvp-safe-norm
@jax.custom_jvp
def norm(v):
    return jnp.sqrt(jnp.sum(v * v))
@norm.defjvp
def _(primals, tangents):
    (v,), (t,) = primals, tangents
    n = norm(v)
    return n, jnp.where(n > 0, jnp.vdot(v, t) / jnp.where(n > 0, n, 1), 0.0)
---
g0 = jax.grad(norm)(jnp.zeros(3))
g1 = jax.grad(norm)(x)
hv = jax.jvp(jax.grad(norm), (x,), (jnp.ones_like(x),))[1]
g0, g1, hv.shape
---
x = x + 1

### fjx-custom-vjp-made-in-cell
clip = 0.5
---
@jax.custom_vjp
def clipped(v):
    return v
clipped.defvjp(lambda v: (v, None), lambda _, g: (jnp.clip(g, -clip, clip),))
g = jax.grad(lambda v: (clipped(v) ** 3).sum())(x)
g
---
clip = 2.0

### fjx-custom-vmap
from jax.custom_batching import custom_vmap
calls = []
@custom_vmap
def dot(a, b):
    return jnp.vdot(a, b)
@dot.def_vmap
def _(size, batched, a, b):
    calls.append((size, tuple(batched)))
    return (a @ b.T if batched[1] else a @ b), True
---
r = jax.vmap(dot, in_axes=(0, None))(m, jnp.ones(4))
r, calls[-1]
---
m = m + 1

### fjx-checkify
from jax.experimental import checkify
def f(v, i):
    checkify.check(v.sum() > 3, "sum is {s}", s=v.sum())
    return v[i]
checked = checkify.checkify(f, errors=checkify.user_checks)
---
def tried(v):
    err, out = checked(v, 2)
    return err.get(), out
said, out = tried(x)
said, out
---
x = x * 0

### fjx-checkify-thrown
from jax.experimental import checkify
---
def f(v):
    checkify.check(jnp.all(v >= 0), "negative")
    return jnp.sqrt(v)
err, y = checkify.checkify(f)(x - 1)
try:
    err.throw()
except checkify.JaxRuntimeError as e:
    text = str(e).split(" (")[0]
del err
text, y[1:]

### fjx-remat-policy
from jax.ad_checkpoint import checkpoint_name
w = jnp.eye(6) * 0.3
@functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names("h"))
def block(w, v):
    h = checkpoint_name(jnp.tanh(v @ w), "h")
    return jnp.sin(h).sum()
---
val, grads = jax.value_and_grad(block)(w, x)
w = w - 0.1 * grads
val
---
w = w * 2

### fjx-switch-table
ops = [jnp.sin, jnp.cos, lambda v: v * 2]
index = jnp.array(1)
---
y = lax.switch(index, ops, x)
z = [lax.switch(i, ops, x[1]) for i in range(len(ops))]
index = (index + 1) % len(ops)
y, z
---
ops.append(jnp.tanh)

### fjx-while-dict-state
def cond(s):
    return (s["err"] > 1e-3) & (s["i"] < 50)
def body(s):
    new = 0.5 * (s["r"] + 2 / s["r"])
    return {"r": new, "err": jnp.abs(new - s["r"]), "i": s["i"] + 1}
---
s = lax.while_loop(cond, body, {"r": x[1], "err": jnp.inf, "i": 0})
turns = int(s["i"])
turns, s["r"]
---
x = x + 4

### fjx-map-batched
---
y = lax.map(lambda row: jnp.outer(row, row).sum(), m, batch_size=2)
f = jnp.vectorize(lambda a, b: a @ b, signature="(k),(k)->()")
z = f(m, m[0])
y, z
---
m = m[:2]

### fjx-linear-transpose
A = jnp.arange(6.0).reshape(2, 3)
---
mv = lambda v: A @ v
(t,) = jax.linear_transpose(mv, jnp.zeros(3))(jnp.ones(2))
hvp = lambda f, v, u: jax.jvp(jax.grad(f), (v,), (u,))[1]
h = hvp(lambda v: jnp.sum(mv(v) ** 3), jnp.ones(3), t)
t, h
---
A = A + 1

### fjx-closure-convert
def integrate(f, n):
    f2, consts = jax.closure_convert(f, 0.0)
    return sum(f2(i / n, *consts) for i in range(n)) / n, len(consts)
---
scale = x[2] * 2
val, n = integrate(lambda t: jnp.sin(t * scale), 4)
n, val
---
x = x + 1

### fjx-where-single-arg
---
rows = jnp.where(x > 2)[0]
picked = x[rows]
firsts = jnp.unique(jnp.floor(x / 2))
rows.shape, picked, firsts
---
x = jnp.arange(4.0)

### fjx-array-protocols
---
host = np.from_dlpack(x)
raw = memoryview(np.asarray(x)).tobytes()
n = len(raw)
y = jnp.from_dlpack(host) + n
isinstance(host, np.ndarray), y.weak_type, x.tolist()[1]
---
x = x[:3]

### fjx-jax-array-dunder
class Param:
    def __init__(self, v):
        self.v, self.reads = v, 0
    def __jax_array__(self):
        self.reads += 1
        return self.v
    @property
    def shape(self):
        return self.v.shape
p = Param(x)
---
y = jnp.sin(p) + jnp.asarray(p)
z = jnp.dot(p, x)
p.reads, z
---
p.v = x * 2
""",
)
