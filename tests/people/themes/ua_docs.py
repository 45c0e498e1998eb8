"""What readers of JAX's documentation type in: primitives, interpreters, exports, dispatch protocols, kernels, contexts."""

from ..cell import written

PRELUDE = """
import collections, contextlib, dataclasses, functools, inspect, io, itertools, json, math, operator, os, random, sys
from functools import partial
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### ua-own-primitive-with-impl-and-abstract-eval-only
from jax.extend.core import Primitive
from jax.core import ShapedArray
multiply_add_p = Primitive("multiply_add")
def multiply_add_prim(x, y, z): return multiply_add_p.bind(x, y, z)
seen = []
def multiply_add_impl(x, y, z):
    seen.append(type(x).__name__)
    return jnp.add(jnp.multiply(x, y), z)
multiply_add_p.def_impl(multiply_add_impl)
def square_add(a, b): return multiply_add_prim(a, a, b)
x = jnp.array(2.0)
---
r = square_add(x, jnp.array(10.0))
r2 = jnp.sqrt(r) + x
try:
    jax.jit(square_add)(x, x)
except Exception as e:
    kind = type(e).__name__
print(len(seen), kind)
r2
---
x = jnp.array(5.0)
---
seen.clear()

### ua-own-primitive-lowered-with-jvp-rule
from jax.extend.core import Primitive
from jax.extend import core as xcore
from jax.core import ShapedArray
from jax.interpreters import ad, mlir, batching
cube_p = Primitive("ua_cube")
def cube(x): return cube_p.bind(x)
cube_p.def_impl(lambda x: jnp.asarray(x) ** 3)
cube_p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))
mlir.register_lowering(cube_p, mlir.lower_fun(lambda x: x * x * x, multiple_results=False))
ad.primitive_jvps[cube_p] = lambda p, t: (cube(p[0]), 3 * p[0] ** 2 * t[0])
batching.primitive_batchers[cube_p] = lambda a, d: (cube(a[0]), d[0])
x = jnp.linspace(-1.0, 1.0, 4)
---
y = cube(x)
g = jax.vmap(jax.grad(cube))(x)
j = jax.jit(cube)(x)
print(str(jax.make_jaxpr(cube)(x)).count("ua_cube"), bool(jnp.allclose(y, j)))
y + g
---
x = x * 2

### ua-custom-interpreter-inverts-a-jaxpr
from jax.extend import core as xcore
inverse_registry = {}
inverse_registry[lax.exp_p] = jnp.log
inverse_registry[lax.tanh_p] = jnp.arctanh
def inverse(fun):
    @functools.wraps(fun)
    def wrapped(*args, **kw):
        closed = jax.make_jaxpr(fun)(*args, **kw)
        return inverse_jaxpr(closed.jaxpr, closed.consts, *args)[0]
    return wrapped
def inverse_jaxpr(jaxpr, consts, *args):
    env = {}
    read = lambda v: v.val if type(v) is xcore.Literal else env[v]
    for v, a in zip(jaxpr.outvars, args): env[v] = a
    for eqn in jaxpr.eqns[::-1]:
        if eqn.primitive not in inverse_registry:
            raise NotImplementedError(f"{eqn.primitive} does not have registered inverse.")
        env[eqn.invars[0]] = inverse_registry[eqn.primitive](*map(read, eqn.outvars))
    return [env[v] for v in jaxpr.invars]
f = lambda x: jnp.exp(jnp.tanh(x))
x = jnp.array(0.3)
---
f_inv = inverse(f)
back = f_inv(f(x))
ok = bool(jnp.allclose(back, x, atol=1e-3))
try:
    inverse(lambda x: jnp.sin(x))(x)
except NotImplementedError as e:
    msg = str(e)
print(ok, msg, f_inv.__name__)
back
---
x = jnp.array(-0.7)
---
inverse_registry[lax.sin_p] = jnp.arcsin; f = lambda x: jnp.sin(jnp.exp(x))

### ua-jaxpr-ops-counted-into-a-counter-by-recursion
def subjaxprs(v):
    for w in (v if isinstance(v, (tuple, list)) else (v,)):
        if hasattr(w, "jaxpr"): yield w.jaxpr
        elif hasattr(w, "eqns"): yield w
def count(jaxpr, c=None):
    c = collections.Counter() if c is None else c
    for e in jaxpr.eqns:
        c[e.primitive.name] += 1
        for p in e.params.values():
            for s in subjaxprs(p): count(s, c)
    return c
def net(p, x):
    for w in p: x = jnp.tanh(x @ w)
    return lax.cond(x.sum() > 0, lambda x: x, lambda x: -x, x)
p, x = [jnp.eye(3)] * 2, jnp.ones(3)
---
closed = jax.make_jaxpr(net)(p, x)
c = count(closed.jaxpr)
flops = sum(2 * math.prod(e.outvars[0].aval.shape) for e in closed.jaxpr.eqns if e.primitive.name == "dot_general")
print(c["tanh"], c["dot_general"], c["cond"], flops, [str(v.aval) for v in closed.jaxpr.outvars])
y = net(p, x)
y
---
p = p + [jnp.ones((3, 2))]

### ua-export-serialised-and-called-again
from jax import export
def f(x, w): return jnp.tanh(x @ w)
x, w = jnp.ones((2, 3)), jnp.full((3, 2), 0.1)
---
exp = export.export(jax.jit(f))(jax.ShapeDtypeStruct((2, 3), jnp.float32), jax.ShapeDtypeStruct(w.shape, w.dtype))
blob = exp.serialize()
again = export.deserialize(blob)
y = again.call(x, w)
print(again.fun_name, [str(a) for a in again.in_avals], type(blob).__name__)
z = f(x, w) - y
z
---
w = w * 3

### ua-export-with-symbolic-batch
from jax import export
def f(x): return jnp.cumsum(x, 0) / x.shape[0]
xs = [jnp.ones((2, 3)), jnp.ones((5, 3)) * 2]
---
b = export.symbolic_shape("b, 3")
e = export.export(jax.jit(f))(jax.ShapeDtypeStruct(b, jnp.float32))
outs = [e.call(x) for x in xs]
print(str(e.in_avals[0].shape), [o.shape for o in outs])
del e
sum(o.sum() for o in outs)
---
xs.append(jnp.ones((1, 3)))

### ua-duck-array-with-array-function-protocol
HANDLED = {}
def implements(np_function):
    def decorator(func):
        HANDLED[np_function] = func
        return func
    return decorator
class DiagArray:
    def __init__(self, n, value): self._n, self._i = n, value
    def __repr__(self): return f"DiagArray(N={self._n})"
    def __array__(self, dtype=None, copy=None): return np.asarray(self._i * jnp.eye(self._n), dtype)
    def __array_function__(self, func, types, args, kw):
        return HANDLED[func](*args, **kw) if func in HANDLED else NotImplemented
@implements(np.sum)
def _sum(a): return a._i * a._n
@implements(np.mean)
def _mean(a): return a._i / a._n
d = DiagArray(4, jnp.array(2.0))
---
s, m = np.sum(d), np.mean(d)
full = jnp.asarray(np.asarray(d))
try:
    np.median(d)
except TypeError as e:
    print(type(e).__name__, str(e)[:20])
print(d, type(s).__name__, type(m).__name__)
full @ jnp.ones(4) * s
---
d = DiagArray(3, jnp.array(-1.0))

### ua-physical-quantity-with-array-ufunc
class Quantity:
    __array_priority__ = 100
    def __init__(self, v, unit): self.v, self.unit = v, unit
    def __array_ufunc__(self, ufunc, method, *ins, **kw):
        if method != "__call__": return NotImplemented
        raw = [i.v if isinstance(i, Quantity) else i for i in ins]
        unit = "*".join(i.unit for i in ins if isinstance(i, Quantity)) if ufunc is np.multiply else self.unit
        return Quantity(getattr(jnp, ufunc.__name__)(*raw), unit)
    def __mul__(self, o): return np.multiply(self, o)
    def __repr__(self): return f"{self.v.tolist()} {self.unit}"
q, k = Quantity(jnp.array([1.0, 4.0]), "m"), Quantity(np.array([2.0, 3.0]), "s")
---
a = np.sqrt(q)
b = np.add(q, np.array([1.0, 1.0], np.float32))
c = q * k
d = np.array([1.0, 2.0]) * q
print(a, b, c, d, type(c.v).__name__)
b.v + d.v
---
q.v = q.v * 9
---
k = Quantity(jnp.array([0.0, 1.0]), "kg")

### ua-jax-array-protocol-lazy-tensor
class Lazy:
    def __init__(self, fn): self.fn, self.calls = fn, 0
    def __jax_array__(self):
        self.calls += 1
        return self.fn()
    @property
    def shape(self): return jax.eval_shape(self.fn).shape
    def __add__(self, o): return Lazy(lambda: self.fn() + o)
base = jnp.arange(3.0)
t = Lazy(lambda: base * 2)
---
u = t + 1
r = jnp.sin(jnp.asarray(u))
s = jnp.asarray(t) @ jnp.ones(3)
shape = u.shape
print(t.calls, u.calls, shape)
r + s
---
base = jnp.ones(3)
---
t = Lazy(lambda: jnp.zeros(2) + 1); base = jnp.ones(3)

### ua-pallas-add-vectors-interpreted
from jax.experimental import pallas as pl
os.environ.setdefault("MOSAIC_GPU_CUDA_ROOT", "/usr/local/cuda")
def add_kernel(x_ref, y_ref, o_ref): o_ref[...] = x_ref[...] + y_ref[...]
def add(x, y):
    return pl.pallas_call(add_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x, y)
x = jnp.arange(8, dtype=jnp.float32)
---
z = add(x, x)
w = jax.jit(add)(z, x)
print(z.dtype, w.shape)
w
---
x = jnp.ones(4)

### ua-mutable-refs-accumulate-in-a-loop
def bump(ref, x):
    ref[...] += x
    return ref[...]
x, n = jnp.arange(3.0), 3
---
ref = jax.new_ref(jnp.zeros(3))
hist = []
for i in range(n):
    hist.append(bump(ref, x * i))
total = jax.freeze(ref) if hasattr(jax, "freeze") else ref[...]
stack = jnp.stack(hist)
stack.sum(0) + total
---
n = 4
---
x = x + 1

### ua-rank-promotion-raise-context-and-strict-dtypes
x, v, i = jnp.ones((2, 3)), jnp.arange(3.0), jnp.arange(3)
log = []
---
log.clear()
for name, ctx, f in [("rank", jax.numpy_rank_promotion("raise"), lambda: x + v),
                     ("dtype", jax.numpy_dtype_promotion("strict"), lambda: v + i),
                     ("fine", contextlib.nullcontext(), lambda: x + v * i)]:
    try:
        with ctx:
            out = f()
    except Exception as e:
        log.append((name, type(e).__name__))
    else:
        log.append((name, out.shape))
print(log)
y = x + v
y
---
i = i.astype(jnp.float32)

### ua-closure-convert-jet-and-linearize-taylor
from jax.experimental.jet import jet
f = lambda x: jnp.sin(x) * jnp.exp(-a * x)
a, x0 = 0.5, jnp.array(0.2)
---
y0, series = jet(f, (x0,), ((jnp.array(1.0), jnp.array(0.0), jnp.array(0.0)),))
y, lin = jax.linearize(f, x0)
d = [lin(jnp.array(t)) for t in (0.0, 1.0, 2.0)]
table = {k: v.shape for k, v in enumerate(series)}
print(table, y.dtype)
jnp.stack([y0, *series, *d])
---
a = 1.5
---
x0 = jnp.array(1.0)

### ua-custom-vmap-and-batched-rule-noted
from jax.custom_batching import custom_vmap
@custom_vmap
def norm(x): return jnp.sqrt(jnp.sum(x ** 2))
@norm.def_vmap
def rule(axis_size, in_batched, x): return jnp.linalg.norm(x, axis=-1) * 1.0, True
x = jnp.arange(6.0).reshape(2, 3)
---
a = norm(x[0])
b = jax.vmap(norm)(x)
c = jax.jit(jax.vmap(norm))(x)
print(a.shape, b.shape, type(norm).__name__, bool(jnp.all(b == c)))
a + b
---
x = x[:, :2]

### ua-checkpoint-names-policy-and-print-saved-residuals
from jax.ad_checkpoint import checkpoint_name, print_saved_residuals
def block(w, x):
    h = checkpoint_name(jnp.sin(x @ w), "h")
    return jnp.sum(jnp.tanh(h) ** 2)
policy = jax.checkpoint_policies.save_only_these_names("h")
w, x = jnp.eye(2) * 0.5, jnp.ones((3, 2))
---
f = jax.checkpoint(block, policy=policy)
g1, g2 = jax.grad(f)(w, x), jax.grad(block)(w, x)
print(bool(jnp.allclose(g1, g2)), f.__name__)
g1 - 0.1 * g2
---
w = w + 1

### ua-lower-compile-cost-memory-then-called
f = jax.jit(lambda x, y: (x @ y).sum(0), static_argnums=())
x = jnp.ones((3, 4))
---
low = f.lower(x, x.T)
comp = low.compile()
y = comp(x, x.T)
cost = sorted(comp.cost_analysis() or {})
print(low.out_info.shape if hasattr(low.out_info, "shape") else low.out_info, "flops" in cost)
try:
    comp(x, x)
except TypeError as e:
    print("mismatch", "shape" in str(e) or "called with" in str(e))
y * 2
---
x = x * 3

### ua-keys-data-wrapped-cloned-and-compared
from jax import random as jr
key = jr.key(7)
---
k1, k2 = jr.split(key)
data = jr.key_data(k1)
same = jr.wrap_key_data(data)
x = jr.normal(k1, (2,))
y = jr.normal(same, (2,))
fold = [int(jr.randint(jr.fold_in(k2, i), (), 0, 100)) for i in range(3)]
print(key.dtype, data.dtype, jr.key_impl(key), bool((x == y).all()), fold, jnp.issubdtype(key.dtype, jax.dtypes.prng_key))
keys = jnp.stack([k1, k2])
keys[1]
---
key = jr.key(8)
---
key = jr.key(9, impl="rbg")

### ua-tree-util-tour-structures-compared-and-transposed
Point = collections.namedtuple("Point", "x y")
tree = {"a": [Point(jnp.ones(2), 2.0), None], "b": (jnp.arange(3), "text")}
---
nums = {"a": tree["a"], "b": tree["b"][0]}
leaves, td = jax.tree.flatten(nums)
again = jax.tree.unflatten(td, [l * 2 for l in leaves])
outer = jax.tree.structure([0, 0])
both = jax.tree.transpose(outer, td, [nums, again])
paths = [jax.tree_util.keystr(p, simple=True, separator="/") for p, _ in jax.tree_util.tree_leaves_with_path(nums)]
print(td.num_leaves, paths, td == jax.tree.structure(again), jax.tree.all(jax.tree.map(lambda a: True, nums)))
big = jax.tree.reduce(lambda a, b: a + jnp.sum(b), again, 0.0)
both
---
tree["a"].append(jnp.zeros(1))

### ua-transfer-guard-and-device-get-in-a-helper
def to_host(t): return jax.tree.map(lambda a: np.asarray(jax.device_get(a)), t)
p = {"w": jnp.ones(3), "n": jnp.int32(4)}
---
h = to_host(p)
h["w"][0] if not h["w"].flags.writeable else h["w"].fill(0)
flags = {k: (type(v).__name__, v.flags.writeable, v.flags.owndata) for k, v in h.items()}
with jax.transfer_guard("allow"):
    q = jax.tree.map(jnp.asarray, h)
print(flags["w"][:2], h["n"].shape)
q["w"] + p["n"]
---
p["w"] = p["w"] * 2

### ua-in-place-minus-equals-pitfall-over-zip
params = [jnp.ones(2), jnp.zeros(3)]
alias = params[0]
npp = [np.ones(2), np.zeros(3)]
lr = 0.1
---
grads = [p * 2 + 1 for p in params]
for p, g in zip(params, grads):
    p -= lr * g
unchanged = params[0] is alias
for p, g in zip(npp, grads):
    p -= lr * np.asarray(g)
for i, g in enumerate(grads):
    params[i] -= lr * g
print(unchanged, params[0] is alias, npp[0].dtype, npp[0].round(3))
p
---
lr = 0.5
---
params[1] = params[1] + 3; alias = params[0]

### ua-jnp-indices-mgrid-ogrid-ix-and-unpacked-rows
n = 3
---
a, b = jnp.indices((n, 2))
gx, gy = jnp.mgrid[0:n, 0:2]
ox, oy = jnp.ogrid[0:n:1, 0:2]
(r0, *rest), c = jnp.arange(n * 2).reshape(n, 2), jnp.r_[1:3, 7]
i, j = jnp.ix_(jnp.array([0, 1]), jnp.array([1]))
kinds = {type(v).__name__ for v in (a, gx, ox, r0, c, i)}
print(kinds, len(rest), ox.shape, i.shape, c.tolist())
a * 2 + b + (gx - gy)
---
n = 4

### ua-iterating-rows-of-an-array-in-numpy-ways
A = jnp.arange(6.0).reshape(2, 3)
---
rows = [r for r in A]
vals = {ix: float(v) for ix, v in np.ndenumerate(A)}
it = [float(v) for v in np.nditer(np.asarray(A))]
flat = list(map(float, A.ravel()))
total = sum(A)
first, last = A[0], A[-1]
print(len(rows), vals[1, 2], it == flat, type(total).__name__, [*reversed(rows)][0][0])
total + first * last
---
A = A + 1

### ua-weak-types-in-accumulators-python-sum-and-max
xs = [jnp.float16(1.5), jnp.int8(3), 2, 0.5, True]
---
s = sum(xs)
m = max(xs)
p = math.prod([jnp.int8(3), 2, 1.0])
z = 0
for x in xs: z += x
w = functools.reduce(operator.mul, xs, 1)
info = [(v.dtype.name, v.weak_type) if isinstance(v, jax.Array) else type(v).__name__ for v in (s, m, p, z, w)]
print(info)
s, p, w
---
xs[0] = jnp.bfloat16(2)
---
xs = xs[::-1]

### ua-shapedtypestructs-of-a-model-before-anything-is-made
def init(key, sizes):
    ks = jax.random.split(key, len(sizes) - 1)
    return [{"w": jax.random.normal(k, (m, n)) / m ** 0.5, "b": jnp.zeros(n)} for k, m, n in zip(ks, sizes, sizes[1:])]
sizes, key = [3, 4, 2], jax.random.key(0)
---
abstract = jax.eval_shape(lambda k: init(k, sizes), key)
n = sum(math.prod(a.shape) for a in jax.tree.leaves(abstract))
params = init(key, sizes)
match = all(a.shape == p.shape and a.dtype == p.dtype for a, p in zip(*map(jax.tree.leaves, (abstract, params))))
nbytes = sum(p.nbytes for p in jax.tree.leaves(params))
print(n, match, nbytes, abstract[0]["w"])
params[-1]
---
sizes = [3, 2]

### ua-linear-transpose-and-adjoint-dot-test
A = lambda x: jnp.convolve(x, k, mode="valid")
k, n = jnp.array([1.0, -2.0, 1.0]), 6
---
At = jax.linear_transpose(A, jax.ShapeDtypeStruct((n,), jnp.float32))
x, y = jnp.arange(1.0, n + 1), jnp.ones(n - 2)
lhs, rhs = jnp.vdot(A(x), y), jnp.vdot(x, At(y)[0])
print("adjoint ok" if abs(lhs - rhs) < 1e-4 else "adjoint bad", len(At(y)))
At(y)[0]
---
k = jnp.array([0.5, 0.5, 1.0])
---
n = 8

### ua-numpy-out-argument-and-where-into-preallocated
x = jnp.linspace(0.0, 1.0, 4)
buf = np.zeros(4, np.float32)
mask = np.array([True, False, True, True])
---
np.multiply(np.asarray(x), 3, out=buf)
np.add(buf, 1, out=buf, where=mask)
np.copyto(buf, 9, where=~mask)
buf[1:3] += np.asarray(x[1:3] * 10)
view = buf[::2]
view *= 2
y = jnp.asarray(buf) - x
print(buf.tolist(), view.base is buf)
y
---
x = x + 1
---
mask[0] = False

### ua-scipy-optimize-jax-minimize-and-stax-classic
from jax.scipy.optimize import minimize
from jax.example_libraries import stax, optimizers
from jax.flatten_util import ravel_pytree
init, apply = stax.serial(stax.Dense(3), stax.Tanh, stax.Dense(1))
X = jnp.linspace(-1, 1, 8)[:, None]; Y = X ** 2
_, params = init(jax.random.key(0), (-1, 1))
---
flat, unravel = ravel_pytree(params)
loss = lambda f: jnp.mean((apply(unravel(f), X) - Y) ** 2)
before = loss(flat)
res = minimize(loss, flat, method="BFGS", options={"maxiter": 3})
params2 = unravel(res.x)
print(res.fun < before, len(params2), int(res.nit), params2[1])
jax.tree.map(jnp.shape, params2)
---
Y = X

### ua-nnx-custom-vjp-like-clip-and-jax-custom-gradient
@jax.custom_gradient
def scale_grad(x):
    def bwd(g): return g * factor
    return x, bwd
factor = 0.5
x = jnp.arange(3.0)
---
v, g = jax.value_and_grad(lambda x: jnp.sum(scale_grad(x) ** 2))(x)
h = jax.vjp(scale_grad, x)[1](jnp.ones(3))[0]
v, g, h
---
factor = 2.0
---
x = x + 1

### ua-error-messages-of-jax-collected-for-a-talk
x = jnp.arange(3.0)
cases = {
    "setitem": lambda: x.__setitem__(0, 1.0), "concat": lambda: jnp.concatenate(x),
    "matmul": lambda: x @ jnp.ones((2, 2)), "bool": lambda: bool(x), "index": lambda: x["a"],
    "list": lambda: jnp.sum([1, 2]), "reshape": lambda: x.reshape(2, 2), "grad": lambda: jax.grad(jnp.sin)(x),
    "int": lambda: jax.grad(lambda i: i * 2)(3), "vmap": lambda: jax.vmap(jnp.add)(x, jnp.ones(2)),
}
---
table = {}
for name, f in cases.items():
    try:
        f()
    except Exception as e:
        table[name] = f"{type(e).__name__}: {str(e).splitlines()[0][:60]}"
for k, v in table.items(): print(f"{k:>8} | {v}")
y = x * len(table)
y
---
x = jnp.arange(4.0)
""",
)
