"""More small forms: functions that are taken apart, moved-on numbers, kinds of numbers and aliases."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, enum, functools, io, itertools, json, math, operator, os, random, re, time, types, weakref
from collections import ChainMap, Counter, UserDict, UserList, defaultdict, deque
from functools import partial, reduce, wraps
from typing import NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([1.0, -2.0, 3.0, 0.5]); w = jnp.array([0.5, 0.25]); n = jnp.array([3, 1, 2]); lr = 0.1; t = 0
"""

CELLS = written(
    PRELUDE,
    r"""
### ya-g-step-number-alternates-two-branches
---
t += 1
y = jnp.sin(x) if t % 2 else jnp.cos(x)
z = y * t
---
t = 0
---
t = 0.5

### ya-g-float-time-moves-on-and-is-floor-divided
tau = 0.0
---
tau += 0.25
k = int(tau * 4); y = x * tau + tau // 0.5; s = f"{tau:.2f}"
---
tau = 1
---
tau = -0.0

### ya-g-int-becomes-big-and-overflows
big = 2**20
---
big = big * 2**4
try: y = x * big; z = n + big
except OverflowError as e: y, z = "over", str(e)[:12]
---
big = -1
---
big = 2**33

### ya-g-lr-halved-until-below-then-reset
---
lr = lr / 2 if lr > 0.03 else 0.4
w = w - lr * w
---
lr = 1
---
lr = jnp.float32(0.1)

### ya-g-bool-flag-toggled-by-the-cell
on = False
---
on = not on
y = jnp.where(on, x, -x); z = x + on
---
on = 1
---
on = jnp.bool_(False)

### ya-g-string-name-grows
tag = "run"
---
tag += "x"
d = {tag: x * len(tag)}
---
tag = "a"

### ya-g-tuple-state-rotates cold
ws = (x, w, n)
---
ws = ws[1:] + ws[:1]
y = ws[0] * 2
---
ws = ws[:2]
---
ws = (w, w)

### ya-g-two-names-swapped-each-run
a, b = jnp.ones(2), jnp.zeros(2)
---
a, b = b, a + 1
---
a = b
---
a, b = 0, 1

### ya-g-dict-values-aliased-then-mutated
d = {"p": [x], "q": None}
d["q"] = d["p"]
---
d["q"].append(d["p"][-1] * 0.5)
same = d["p"] is d["q"], len(d["p"])
---
d["q"] = list(d["p"])
---
d["q"] = d["p"] = deque([w], maxlen=2)

### ya-g-negative-zero-and-sign-config
c = 0.0
---
y = jnp.sign(x) * c; z = jnp.copysign(x, c); q = math.copysign(1, c)
---
c = -0.0
---
c = 0
---
c = -1

### ya-g-int-static-then-float-same-value
k = 2
---
y = x**k; z = jnp.arange(4) ** k; r = jnp.ones(3) / k, 7 // k
---
k = 2.0
---
k = 3
---
k = -1.0

### ya-g-shape-from-config-then-value-only
c = {"n": 3, "v": 2}
---
y = jnp.full((c["n"],), c["v"]); z = y / c["n"]
---
c["v"] = 2.5
---
c["n"] = 4
---
c["n"], c["v"] = np.int64(2), np.float32(1)

### ya-g-none-default-resolved-in-helper
def f(v, axis=None, keep=None):
    keep = bool(axis) if keep is None else keep
    return v.sum(axis=axis, keepdims=keep)
axis = None
---
y = f(jnp.outer(x, w), axis)
---
axis = 0
---
axis = (0, 1)
---
axis = -1; f.__defaults__ = (None, True)

### ya-g-user-dict-params
class P(UserDict):
    def __missing__(self, k): self.data[k] = jnp.zeros(2); return self.data[k]
p = P(a=w)
---
p["a"] = p["a"] + 1
p["b"] = p["b"] + p["a"]
ks = sorted(p)
---
p = P(b=w)
---
del p["b"]

### ya-g-user-list-history
h = UserList()
---
h.append(float(x.sum())); m = jnp.mean(jnp.array(h))
---
h = UserList([1, 2])
---
h.clear()

### ya-g-chainmap-child-overrides cold
base = {"lr": 0.1, "k": 2}; over = {}
---
cm = ChainMap(over, base); y = x * cm["lr"] + cm["k"]; over["seen"] = len(cm)
---
over["lr"] = 5
---
base["k"] = 2.0; over.clear()

### ya-g-dataclass-eq-order-sorted cold
@dataclasses.dataclass(order=True)
class R:
    s: float
    p: object = dataclasses.field(compare=False, default=None)
rs = []
---
rs.append(R(float(x[len(rs) % 4]), x)); best = max(rs); rs.sort()
y = best.p * best.s
---
rs.clear()
---
x = -x

### ya-g-field-default-factory-and-post-init
@dataclasses.dataclass
class C:
    k: int = 2
    h: list = dataclasses.field(default_factory=list)
    w: object = None
    def __post_init__(self): self.w = jnp.ones(self.k) if self.w is None else self.w
---
c = C(); c.h.append(c.w.sum()); d = dataclasses.replace(c, k=3, w=None); e = dataclasses.asdict(d)
---
C.k = 4
---
C.__post_init__ = lambda self: setattr(self, "w", jnp.zeros(1))

### ya-g-enum-with-callable-members
class Act(enum.Enum):
    SIN = enum.member(jnp.sin); SQ = enum.member(staticmethod(lambda v: v * v))
    def __call__(self, v): return self.value(v)
acts = [Act.SIN]
---
y = [a(x) for a in acts]; names = [a.name for a in acts]
---
acts.append(Act.SIN)

### ya-g-class-counter-via-type-self
class T:
    n = 0
    def __init__(self): type(self).n += 1; self.i = self.n
class U(T): pass
---
a, b = T(), U(); y = x * b.i + a.i
---
T.n = 0
---
U.n = 100

### ya-g-descriptor-counts-reads
class D:
    def __get__(self, o, t): o.__dict__["r"] = o.__dict__.get("r", 0) + 1; return o.__dict__["v"]
class H: v = D()
h = H(); h.__dict__["v"] = w
---
y = h.v + h.v; r = h.r
---
h.__dict__["r"] = 0
---
h.__dict__["v"] = n

### ya-g-setattr-hook-logs
class S:
    def __init__(self): object.__setattr__(self, "log", [])
    def __setattr__(self, k, v): self.log.append(k); object.__setattr__(self, k, v)
s = S()
---
s.w = x * 2; s.b = s.w.sum(); ln = len(s.log)
---
s = S()
---
S.__setattr__ = object.__setattr__

### ya-g-iterable-class-two-passes
class It:
    def __init__(self, a): self.a, self.passes = a, 0
    def __iter__(self): self.passes += 1; return iter(self.a)
it = It([x, x * 2])
---
a = sum(v.sum() for v in it); b = [v * self_k for self_k, v in enumerate(it)]
p = it.passes
---
it.passes = 0
---
it.a.append(w)

### ya-g-len-and-bool-dunder-decides
class B:
    def __init__(self, v): self.v = v
    def __bool__(self): return bool((self.v > 0).all())
b = B(x)
---
y = "pos" if b else "mixed"; z = b and b.v * 2; q = not b
---
b.v = jnp.abs(x)
---
b = []

### ya-g-contains-and-eq-dunder
class Tok:
    def __init__(self, v): self.v = v
    def __eq__(self, o): return float(self.v) == float(getattr(o, "v", o))
    __hash__ = None
toks = [Tok(v) for v in x]
---
r = 3.0 in toks, toks.index(0.5), toks.count(9)
y = x * toks.index(r[0] + 0.0)
---
toks.insert(0, Tok(jnp.float32(1)))

### ya-g-counter-arithmetic-with-arrays
c = Counter()
---
c["a"] += x.sum(); c.update(b=2); y = c["a"] / c["b"]; k = sorted(c)
---
c = Counter(b=1.5)
---
c.clear()

### ya-g-defaultdict-of-arrays-sum
acc = defaultdict(lambda: jnp.zeros(2))
---
for k in "aba": acc[k] = acc[k] + w
tot = sum(acc.values())
---
acc.default_factory = lambda: jnp.ones(2)
---
acc.clear()

### ya-g-nested-defaultdict-json
dd = defaultdict(lambda: defaultdict(list))
---
dd["r"]["l"].append(round(float(x.mean()), 2)); s = json.dumps(dd); y = x * len(dd["r"]["l"])
---
dd.clear()
---
dd["r"]["l"] = []

### ya-g-repeat-chain-tee
---
a, b = itertools.tee(iter(x)); next(b); d = [q - p for p, q in zip(a, b)]
e = list(itertools.chain(itertools.repeat(w, 2), [n]))
---
x = n
---
w = 1

### ya-g-takewhile-dropwhile-values
---
a = list(itertools.takewhile(lambda v: v > lr, x)); b = list(itertools.dropwhile(lambda v: v > lr, x))
c = list(itertools.compress(x, x > 0)); k = len(a), len(b)
---
lr = -5
---
x = x[::-1]

### ya-g-enumerate-start-and-reversed-range cold
---
y = {i: v * lr for i, v in enumerate(x, start=t)}; z = [x[i] for i in reversed(range(len(x)))]
t = t + len(y)
---
t = 0
---
lr = 2

### ya-g-zip-unzip-star
---
ps = list(zip(x, n)); a, b = map(jnp.stack, zip(*ps)); s = a @ b
---
n = jnp.array([1])
---
n = jnp.arange(9.0)

### ya-g-lambda-default-array-and-mutated-list
buf = [w]
f = lambda v, b=buf: v + b[-1]
---
y = f(w); buf.append(y)
---
buf.clear(); buf.append(n[:2])
---
f.__defaults__ = ([jnp.zeros(2)],)

### ya-g-partial-placeholder-of-method
class M:
    def __init__(self, k): self.k = k
    def mul(self, v, *, by=1): return v * self.k * by
m = M(2); g = partial(m.mul, by=3)
---
y = g(x); m.k += 1
---
m = M(5)
---
g = partial(m.mul, by=lr); m.k = 0.5

### ya-g-methodcaller-attrgetter-chain
ops = [operator.methodcaller("sum"), operator.methodcaller("max", initial=0.0)]; at = operator.attrgetter("at")
---
y = [o(x) for o in ops]; z = at(x)[0].set(9); sh = operator.attrgetter("shape", "dtype.name")(x)
---
ops.reverse()
---
x = n

### ya-g-operator-inplace-and-matmul
---
a = operator.iadd(x, 1); b = operator.matmul(w, w); c = operator.neg(n); d = operator.index(n[0]); e = operator.truth(b)
---
n = n * 2; w = n

### ya-g-singledispatch-on-kind-of-number
@functools.singledispatch
def f(v): return "other", v
@f.register
def _(v: bool): return "bool", v
@f.register
def _(v: int): return "int", v
@f.register
def _(v: float): return "float", v * 2
@f.register
def _(v: jax.Array): return "array", v + 1
q = 1
---
y = f(q), f(x)[1], f(lr)[0]
---
q = 1.0
---
q = True
---
q = w; f.register(float, lambda v: ("F", v))

### ya-g-exception-carries-array
class E(Exception): pass
---
try:
    raise E("bad", x * 2)
except E as e:
    msg, arr = e.args; e.add_note("n"); nt = e.__notes__
y = arr + 1
---
x = n

### ya-g-exception-chain-context-loop
---
errs = []
for v in x:
    try:
        try: math.sqrt(v)
        except ValueError as e: raise KeyError(round(float(v), 1)) from None
    except KeyError as k: errs.append((k.args[0], k.__suppress_context__))
y = x * len(errs)
---
x = -x

### ya-g-try-return-finally-order
log = []
def f(v):
    try:
        log.append("t"); return v.sum() if v[0] > 0 else v / 0
    except ZeroDivisionError: log.append("z")
    else: log.append("e")
    finally: log.append("f")
---
y = f(x); s = "".join(log)
---
log.clear(); x = -x
---
log.clear(); x = x.astype(int)

### ya-g-with-two-managers-and-as-tuple
class Two:
    def __enter__(self): return x, w
    def __exit__(self, *a): ex.append(a[0]); return False
ex = []
---
with Two() as (a, b), contextlib.suppress(IndexError):
    y = a * b.sum(); [][0]; y = None
m = len(ex)
---
w = n
---
x = x[:1]; ex.clear()

### ya-g-contextvar-like-stack-global
stack = [1.0]
@contextlib.contextmanager
def push(v):
    stack.append(v)
    try: yield len(stack)
    finally: stack.pop()
---
with push(lr) as d1:
    with push(2) as d2: y = x * stack[-1] * stack[-2]
z = x * stack[-1]
---
stack[0] = 5
---
stack.insert(0, w); lr = 1

### ya-g-while-with-jax-scalar-counter
---
i, s = jnp.int32(0), 0.0
while i < 3: s, i = s + x[i] ** 2, i + 1
---
x = x[:2]
---
x = n

### ya-g-for-range-of-array-int
---
s = x[0]
for j in range(int(n[0])): s = s * 0.5 + j
for j in range(n[1]): s = s + 1
---
n = n.at[0].set(0)
---
n = n + 3

### ya-g-nested-break-by-flag
---
found = None
for i, a in enumerate(x):
    for j, b in enumerate(n):
        if a + b == 1: found = (i, j); break
    if found: break
y = x.sum() if found is None else x[found[0]]
---
n = n + 10
---
x = jnp.zeros(2); n = jnp.array([0, 1])

### ya-g-del-loop-name-and-later-nameerror-caught
---
for v in x: pass
del v
try: v
except NameError as e: m = e.name
y = x + len(m)
---
x = w

### ya-g-unbound-local-in-helper
def f(v):
    if v.sum() > 2: r = v * 2
    return r
---
try: y = f(x)
except UnboundLocalError as e: y = type(e).__name__
---
x = jnp.zeros(2)
---
f = lambda v: v

### ya-g-global-deleted-in-helper
tmp = w
def take():
    global tmp
    r = tmp * 2; del tmp
    return r
---
y = take() if "tmp" in globals() else None
has = "tmp" in dir()
---
tmp = n
---
tmp = 1

### ya-g-class-body-computes-arrays
---
class K:
    a = x * 2
    b = a.sum()
    c = [v for v in (1, 2)]
    def f(self): return self.a + K.b
y = K().f()
---
x = n
---
x = x[:1] * 1.0

### ya-g-nested-class-and-closure-cell-of-class
def mk(k):
    class Z:
        def __call__(self, v): return v * k
        def me(self): return __class__ is Z
    return Z()
z = mk(2)
---
y = z(x); ok = z.me()
---
z = mk(2.0)
---
z = mk(w[0])

### ya-g-print-dict-of-arrays-and-sep-end
---
print({"a": w, "n": n[0], "f": float(x[0])}, [x.shape], (w.dtype,), sep=" | ", end=".\n")
print("%s %r %5.1f%%" % (n, w[0], x[2] * 10)); print("{:>8.3f}|{!r}|{a.shape}".format(float(x[1]), n, a=x))
---
x = x * 100
---
n = n * 1.5; w = n

### ya-g-format-width-from-value-and-nested
wd = 8
---
s = f"{x[0]:>{wd}.{int(n[2])}f}|{'a' if x[0] > 0 else 'b':^{wd}}|{[round(float(v), 1) for v in w]}"
---
wd = 3
---
n = n + 1

### ya-g-jit-with-static-config-dataclass
@dataclasses.dataclass(frozen=True)
class Cfg: k: int = 2; act: str = "sin"
@partial(jax.jit, static_argnums=0)
def f(c, v): return getattr(jnp, c.act)(v) * c.k
c = Cfg()
---
y = f(c, x)
---
c = dataclasses.replace(c, k=2.0)
---
c = Cfg(act="cos", k=True)
---
c = Cfg(3)

### ya-g-scan-carry-namedtuple-and-closure-array
class S(NamedTuple):
    m: object
    k: object
s0 = S(jnp.zeros(()), jnp.int32(0))
---
def body(s, v): return S(s.m * lr + v * w[0], s.k + 1), s.m
s1, ms = lax.scan(body, s0, x); kind = type(s1).__name__
---
w = n * 1.0
---
s0 = S(jnp.ones(()), jnp.int32(5)); lr = jnp.float32(1)

### ya-g-while-loop-cond-closure-tolerance
tol = 0.1
---
v, k = lax.while_loop(lambda c: jnp.abs(c[0]).max() > tol, lambda c: (c[0] * 0.5, c[1] + 1), (x, 0))
---
tol = 1
---
tol = n[0]

### ya-g-grad-of-lambda-with-int-power-toggled
p = 2
---
g = jax.grad(lambda v: jnp.sum(v**p))(x); h = jax.hessian(lambda v: jnp.sum(v**p))(w)
---
p = 3
---
p = 2.0
---
p = jnp.float32(2)

### ya-g-custom-vjp-with-nondiff-and-counter
cnt = Counter()
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def f(v, k): return v**k
def fwd(v, k): cnt["fwd"] += 1; return f(v, k), v
def bwd(k, v, g): cnt["bwd"] += 1; return (g * k * v * scale,)
f.defvjp(fwd, bwd); scale = 1.0
---
g = jax.grad(lambda v: f(v, 2).sum())(x)
---
scale = 2
---
scale = w[0]

### ya-g-vmap-dict-out-axes-and-none
f = lambda d, s: {"a": d["a"] * s, "b": d["a"].sum()}
---
y = jax.vmap(f, in_axes=({"a": 0}, None), out_axes={"a": 1, "b": 0})({"a": jnp.outer(x, w)}, lr)
---
lr = 2
---
f = lambda d, s: {"a": d["a"] + s, "b": n[0]}

### ya-g-numpy-mask-then-jax-and-put-back
a = np.arange(4.0)
---
m = a > 1; a[m] = np.asarray(x)[m] * 2; y = jnp.asarray(a); b = np.where(m, a, -1)
---
a[:] = 0
---
a = np.arange(4)

### ya-g-numpy-out-and-ufunc-at
a = np.zeros(4, np.float32)
---
np.add(a, x, out=a); np.add.at(a, np.array([0, 0]), 1); y = x + a
---
a *= 0
---
x = x[:1]

### ya-g-jnp-into-numpy-structured-row
rec = np.zeros(2, dtype=[("s", "f4"), ("k", "i4")]); i = 0
---
rec[i % 2] = (x.sum(), n[0]); i += 1; y = jnp.asarray(rec["s"]).sum() + i
---
rec["s"] = 5
---
i = 0; x = n

### ya-g-np-float64-scalar-of-mean-into-jax
---
m = np.mean([float(v) for v in x]); y = x - m; z = jnp.float32(m) * 2; k = type(m).__name__, y.dtype.name
---
x = n
---
x = x.astype(jnp.float16)
""",
)
