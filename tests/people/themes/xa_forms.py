"""Small forms, two to six lines, as they are typed between longer cells."""

from ..cell import written

PRELUDE = """
import bisect, collections, contextlib, copy, dataclasses, enum, functools, heapq, io, itertools, json, math, operator
import os, pickle, pprint, random, re, string, sys, textwrap, time, types, warnings
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([3.0, -1.0, 2.0, 0.5]); n = jnp.array([4, 1, 3]); a = np.arange(3.0); s = jnp.float32(2.5); k = jnp.int32(2)
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-f-main-guard-runs-main
---
def main(lr=0.1):
    y = x * lr
    print("sum", float(y.sum()))
    return y
if __name__ == "__main__":
    out = main()
---
x = x[:2]

### xa-f-function-wraps-itself-each-run
def f(v): return v + 1
---
old = f
def f(v, old=old): return old(v) * 2
y = f(x)
---
def f(v): return v - 1

### xa-f-jit-of-a-name-onto-itself
def f(v): return jnp.sin(v) * s
---
f = jax.jit(f)
y = f(x)
---
s = jnp.float32(0.5)
---
def f(v): return v

### xa-f-annotated-names
---
y: jax.Array = x * 2
rate: float = 0.1
z: "later"
print(sorted(__annotations__))
---
x = x + 1

### xa-f-builtins-shadowed
---
sum = jnp.sum
max = float(sum(x))
list = [max, sum(n)]
y = x / max
---
x = -x
---
del sum, max, list

### xa-f-loop-variable-leaks-and-except-name-goes
---
for i, v in enumerate(x): pass
try:
    float("z" * int(k))
except ValueError as i_err:
    msg = str(i_err)
y = v * i
---
x = x[::-1]

### xa-f-greek-names-and-unicode-output
---
μ, σ = x.mean(), x.std()
print(f"μ={μ:.2f} ± σ={σ:.2f} ✓")
ẑ = (x - μ) / σ
---
x = x * 3

### xa-f-future-annotations-in-the-cell
---
from __future__ import annotations
def f(v: Nope) -> Nada: return v * 2
y = f(x); print(f.__annotations__)
---
x = x + 1

### xa-f-star-unpacking-of-an-array
---
first, *mid, last = x
y = jnp.stack([last, *mid, first])
---
x = jnp.arange(2.0)
---
x = jnp.arange(5)

### xa-f-builtin-functions-over-an-array
---
r = sum(x), max(x), min(x), sorted(x), len(x), any(x > 2), all(x > 2)
y = list(reversed(x)) + list(map(abs, x))
---
x = x.at[0].set(-9.0)

### xa-f-python-scalars-of-arrays
---
r = round(float(s), 1), int(k), bool(k), complex(s), divmod(7, int(k)), pow(s, 2), abs(-s), -s, +s
q = round(s), round(s, 1), math.sqrt(s), math.floor(s)
---
s = jnp.float32(-0.0) + 4
---
s = 7

### xa-f-divmod-and-mod-of-negatives
---
q, r = divmod(-n, 3)
t = -7 % n, n // 0 if False else n // 2, (-n) ** 2, 2 ** n, n << 1, n & 1, ~n, n ^ 5
---
n = jnp.array([5, 6, 7], dtype=jnp.uint8)
---
n = jnp.array([-5.5, 2.0])

### xa-f-index-with-a-scalar-array
names = ["a", "b", "c"]
---
label = names[k], "ab" * k, list(range(k)), bytes(k)
y = x[k] + a[k] + x[k - 1]
---
k = jnp.int32(1)
---
names.insert(0, "z")

### xa-f-chained-comparison
---
ok = 0 < s < 3
m = (0 < x) & (x < 2.5)
y = s if 0 < s <= 3 and not s == 1 else -s
---
s = jnp.float32(9)
---
s = jnp.float32(1)

### xa-f-or-default
opt = None
---
v = opt or x
w = x.any() and s
u = None if opt is None else opt * 2
---
opt = jnp.float32(0.0)
---
opt = jnp.float32(1.5)

### xa-f-in-and-equality
---
r = 2.0 in x, 4 in n, k in [1, 2], x == None, s == 2.5, s != s, k == "a"
---
x = x.at[2].set(7)
---
k = jnp.int32(7)

### xa-f-print-kinds
---
print(x, n, s, k, sep=" | ", end=" #\n")
print(f"{x=}", f"{s!r:>40}", "%s %.2f %d" % (s, s, k), "{:.1f} {}".format(s, n))
print(*x, *map(float, n), sep=", ")
---
s = jnp.float32(100.125)
---
x = x.astype(jnp.bfloat16)

### xa-f-repr-of-trees
---
p = {"w": x * 2, "b": (s + 1, [n, None]), "c": 3}
print(p); pprint.pprint(p, width=40); t = repr(p); u = str(jax.tree.structure(p))
---
s = 1

### xa-f-json-of-numbers
---
rec = {"loss": float(s * 2), "n": n.tolist(), "k": k.item(), "shape": x.shape, "dtype": str(x.dtype)}
txt = json.dumps(rec); back = json.loads(txt)
print(txt)
---
n = n * 2

### xa-f-pickle-round-trip
---
y = x * s
z = pickle.loads(pickle.dumps({"y": y, "same": y, "n": n}))
r = z["y"] is z["same"], type(z["y"]).__name__, z["y"].weak_type, z["y"].committed
---
s = 2

### xa-f-copies
---
t = {"x": x, "l": [x, n]}
u = copy.copy(t); v = copy.deepcopy(t)
u["l"].append(s)
r = u["x"] is x, v["x"] is x, v["l"][0] is v["x"], len(t["l"])
y = v["x"] * 2
---
x = x + 1

### xa-f-chained-assignment-aliases
---
p = q = x * 2
d = {"p": p, "q": q}
p += 1
r = p is q, d["p"] is d["q"], d["p"] is q
---
x = x[:1]

### xa-f-numpy-in-place-beside-jax
b = np.zeros(4)
---
b += x
b[1] = s
c = b * x
d = np.add(a, 1, out=a)
---
b = b.astype(np.float32)
---
x = x.astype(jnp.int32)

### xa-f-numpy-functions-of-jax-arrays
---
r = np.mean(x), np.sum(x), np.sort(x), np.concatenate([a, n]), np.dot(x, x), np.exp(s), np.asarray(x) is x
y = np.float64(2) * x, np.float32(2) * x, np.array([2.0, 1.0, 0.0]) * n, a @ n
---
x = x * 2
---
a = a.astype(np.float16)

### xa-f-isinstance-tests
---
r = isinstance(x, jax.Array), isinstance(x, np.ndarray), type(x).__name__, hasattr(x, "shape"), callable(x), isinstance(x, jax.core.Tracer)
y = x * 2 if isinstance(s, float) else x + s
---
s = 2.5
---
x = np.asarray(x)

### xa-f-array-attributes
---
y = x[:, None] * n
r = y.shape, y.dtype, y.ndim, y.size, y.nbytes, y.itemsize, y.T.shape, y.weak_type, y.committed, str(y.sharding), y.devices(), y.is_fully_replicated
---
n = n.astype(jnp.float16)
---
x = 2 * x[0]

### xa-f-methods-of-arrays
---
y = x.reshape(2, -1).sum(axis=0, keepdims=True).squeeze().astype(int).clip(0, 3)
z = x.argsort()[::-1], x.cumsum(), x.round(1), x.dot(x), x.max(), x.argmax(), x.flatten().tolist(), x.ravel().item(0), x.searchsorted(1.0), x.repeat(2), x.take(n)
---
x = x.astype(jnp.int8)

### xa-f-boolean-masks
---
y = x[x > 0]
i, = jnp.where(x > 1)
u, c = jnp.unique(n % 2, return_counts=True)
z = y.sum() * len(i), u, c
---
x = -x
---
n = jnp.array([2, 2, 2, 5])

### xa-f-at-updates
---
y = x.at[0].add(s).at[-1].multiply(2).at[n % 2].max(1.5).at[x > 2].set(0)
z = x.at[10].set(1), x.at[10].get(mode="fill", fill_value=-1)
---
x = x.astype(jnp.int32)

### xa-f-item-assignment-fails-and-is-caught
---
try:
    x[0] = 1
except TypeError as e:
    x = x.at[0].set(1)
    print(type(e).__name__, "at" in str(e))
---
x = np.asarray(x).copy()
---
x = [1.0, 2.0]; s = 0

### xa-f-shape-error-caught
---
try:
    y = x @ n
except Exception as e:
    y = type(e).__name__, str(e).splitlines()[0][:40]
---
n = jnp.arange(4)

### xa-f-assert-message
---
y = x * 2
assert y.shape == x.shape, f"{y.shape} != {x.shape}"
assert (y >= -2).all(), f"min {y.min()}"
---
x = x * 10
---
x = jnp.abs(x)

### xa-f-zero-division-and-nan-tests
---
y = 1 / (x - x)
r = bool(jnp.isnan(y).any()), jnp.isinf(y), jnp.nan_to_num(y, posinf=5.0), float("inf") * s
z = 1.0 / s if s else math.inf
---
s = jnp.float32(0)

### xa-f-keys-old-and-new
seed = 0
---
key = jax.random.PRNGKey(seed); k2 = jax.random.key(seed)
key, sub = jax.random.split(key)
y = jax.random.normal(sub, (3,)), jax.random.normal(k2, (3,)), jax.random.key_data(k2), k2.dtype, key
print(key, k2)
---
seed = 3
---
seed = 2**31 + 5

### xa-f-key-chain-continued-each-run
key = jax.random.key(0)
---
key, *subs = jax.random.split(key, 4)
y = [jax.random.uniform(sk) for sk in subs]
z = jax.random.permutation(jax.random.fold_in(key, 7), n)
---
key = jax.random.key(9, impl="rbg")

### xa-f-numpy-legacy-seed-then-draws
---
np.random.seed(0)
w = jnp.array(np.random.randn(3)); i = np.random.randint(0, 3); random.seed(i); r = random.random()
y = w * r + x[i]
---
x = x * 2

### xa-f-rng-continues
rng = np.random.default_rng(1)
---
idx = rng.permutation(4)[:2]
y = x[idx] + rng.normal()
---
rng = np.random.default_rng(5)

### xa-f-iterator-continues
it = iter(range(100))
---
i = next(it)
y = x * i
---
it = itertools.count(50, 5)

### xa-f-zip-strict-and-longest
---
y = [p * q for p, q in zip(x, n)]
z = [p if q is None else p + q for p, q in itertools.zip_longest(x, n)]
try: list(zip(x, n, strict=True))
except ValueError as e: print(e)
---
n = jnp.arange(4)

### xa-f-reduce-and-accumulate
---
y = functools.reduce(operator.mul, x, s)
z = list(itertools.accumulate(n, lambda p, q: p * 2 + q))
w = functools.reduce(lambda f, g: lambda v: g(f(v)), [jnp.sin, jnp.cos, jnp.square])(x)
---
s = 1

### xa-f-comprehensions-nested-with-walrus
---
y = {i: (t := v * 2) + t for i, v in enumerate(x) if (last := i) != 1}
z = [[p * q for q in n] for p in x[:2]]
print(last, t)
---
x = x[:3]

### xa-f-generator-expression-kept
---
g = (v * 2 for v in x)
y = next(g)
rest = list(g)
---
x = x + 1

### xa-f-heap-of-scalars
h = []
---
for v in x: heapq.heappush(h, float(v))
top = heapq.heappop(h)
y = x - top
---
h.clear()

### xa-f-bisect-insort
grid = [0.0, 1.0, 2.0]
---
i = bisect.bisect(grid, float(s))
bisect.insort(grid, float(s))
y = x[i % 4] * len(grid)
---
s = jnp.float32(0.1)

### xa-f-counter-and-defaultdict
c = collections.Counter(); d = collections.defaultdict(list)
---
c.update(n.tolist())
for v in n: d[int(v) % 2].append(v * 2)
y = jnp.stack(d[0]).sum() if d[0] else s
---
d[0].clear()
---
n = jnp.array([1, 3])

### xa-f-deque-window-mean
q = collections.deque(maxlen=3)
---
q.append(x.sum())
m = sum(q) / len(q)
x = x + 1
---
q.append(jnp.float32(100))
---
q = collections.deque(q, maxlen=1)

### xa-f-sort-by-value
---
order = sorted(range(len(x)), key=lambda i: x[i])
best = max([("a", s), ("b", k)], key=lambda t: float(t[1]))
y = x[jnp.array(order)]
---
s = jnp.float32(-1)

### xa-f-match-on-shape-and-type
---
match x.shape:
    case (): y = x
    case (m,) if m > 3: y = x[:3] * m
    case (m,): y = x
    case _: y = None
---
x = x[:2]
---
x = x[0]

### xa-f-redirected-output
---
buf = io.StringIO()
with contextlib.redirect_stdout(buf):
    print("hidden", float(x.sum()))
txt = buf.getvalue()
---
x = x * 3

### xa-f-warnings-recorded
---
with warnings.catch_warnings(record=True) as w:
    warnings.simplefilter("always")
    y = jnp.array([1.5]).astype(int) + jnp.asarray(np.array([1], dtype=np.int64))
    warnings.warn("mine " + str(int(k)))
msgs = [str(v.message) for v in w if "mine" in str(v.message)]
---
k = jnp.int32(8)

### xa-f-suppressed-error
d = {"a": x}
---
with contextlib.suppress(KeyError):
    y = d["a"] * 2
    d["a"] = y
    y = d["zz"]
---
d["zz"] = s
---
del d["a"]

### xa-f-try-finally-counter
c = {"n": 0}
---
try:
    y = x / c["n"] if c["n"] else x
finally:
    c["n"] += 1
---
c["n"] = -1

### xa-f-return-in-finally-and-else
def f(v):
    try: r = v * 2
    except Exception: return None
    else: return r + c
    finally: log.append(v.shape)
c = 1; log = []
---
y = f(x)
---
c = jnp.ones(3)
---
c = jnp.ones(4)

### xa-f-while-true-break
---
y, i = x, 0
while True:
    y = y / 2; i += 1
    if jnp.abs(y).max() < 0.5: break
---
x = x * 8

### xa-f-for-else
---
for t in range(5):
    if x[t % 4] < 0: found = t; break
else:
    found = -1
y = x * found
---
x = jnp.abs(x)

### xa-f-nonlocal-counter-closure
def make():
    c = 0
    def step(v):
        nonlocal c
        c += 1
        return v * c
    return step
step = make()
---
y = step(x) + step(x)
---
step = make()

### xa-f-function-attribute-counter
def f(v):
    f.calls = getattr(f, "calls", 0) + 1
    return v + f.calls
---
y = f(x)
print(f.calls)
---
f.calls = 10

### xa-f-mutable-default-argument
def f(v, memo=[]):
    memo.append(v.sum()); return jnp.stack(memo).mean()
---
y = f(x)
---
x = x * 2
---
f.__defaults__[0].clear()

### xa-f-late-binding-lambdas
fs = [lambda v: v * i for i in range(3)]; gs = [lambda v, i=i: v * i for i in range(3)]
---
y = [f(s) for f in fs], [g(s) for g in gs]
---
i = 7
---
gs[1].__defaults__ = (5,)

### xa-f-partial-and-methodcaller
---
add = partial(jnp.add, 1); p = partial(pow, s)
y = add(x), p(2), operator.methodcaller("sum", axis=0)(x), operator.itemgetter(2, 0)(x), operator.attrgetter("T.shape")(x)
---
s = 3

### xa-f-star-args
def f(*args, **kw): return sum(args) * kw.get("scale", 1)
args = (x, s); kw = {"scale": 2}
---
y = f(*args, **kw)
---
kw["scale"] = s
---
args += (1,)

### xa-f-del-in-the-cell
---
t = x * 2
y = t + 1
del t
try: t
except NameError as e: print(e)
---
x = x + 1

### xa-f-globals-write
---
for i, name in enumerate(["ga", "gb"]):
    globals()[f"w_{name}"] = x * i
y = w_ga + w_gb
---
x = x[:2]

### xa-f-exec-and-eval
code = "y = x * 2\nz = y + s"
---
exec(code)
w = eval("x.sum() + z.max()")
---
code = "y = x; z = y * 0"

### xa-f-locals-and-format
lr = 0.1
---
msg = "lr={lr} s={s}".format(**globals())
y = x * lr; print(msg)
---
lr = 1

### xa-f-setattr-loop
class O: pass
o = O()
---
for name, v in zip("abc", x): setattr(o, name, v * 2)
y = o.a + getattr(o, "b") + vars(o)["c"]; r = sorted(vars(o))
---
o.d = 4

### xa-f-simple-namespace-config
cfg = types.SimpleNamespace(lr=0.5, steps=3, act="relu")
---
y = x
for _ in range(cfg.steps): y = getattr(jax.nn, cfg.act)(y - cfg.lr * y)
---
cfg.lr = 0.1
---
cfg.act = "tanh"; cfg.steps = 2

### xa-f-class-attribute-config
class C:
    lr, hist = 0.1, []
    @classmethod
    def step(cls, v): cls.hist.append(v.sum()); return v * cls.lr
---
y = C.step(x); m = C.hist[-1] if len(C.hist) < 3 else sum(C.hist)
---
C.lr = 2
---
C.hist = []

### xa-f-class-defined-and-used
---
class P:
    count = 0
    def __init__(self, v): self.v = v; P.count += 1
    def __add__(self, o): return P(self.v + o.v)
p = P(x) + P(x * 2); r = isinstance(p, P), P.count
---
x = x + 1

### xa-f-dataclass-defined-and-compared
---
@dataclasses.dataclass
class D:
    lr: float = 0.1
    w: list = dataclasses.field(default_factory=list)
d = D(w=[x * 2]); e = dataclasses.replace(d, lr=0.2); r = d == D(w=d.w), repr(D()), dataclasses.asdict(e)
---
x = x + 1

### xa-f-namedtuple-replace
S = collections.namedtuple("S", "w m step")
st = S(x, x * 0, 0)
---
st = st._replace(m=0.9 * st.m + st.w, step=st.step + 1)
st = st._replace(w=st.w - 0.1 * st.m); print(st.step, st._fields)
---
st = S(x, x, 10)

### xa-f-enum-switch
class M(enum.Enum):
    A = enum.auto(); B = enum.auto()
mode = M.A
---
y = {M.A: jnp.sin, M.B: jnp.cos}[mode](x); nm = mode.name
z = x * mode.value
---
mode = M.B
---
mode = M(1)

### xa-f-cached-property-deleted
class T:
    def __init__(self, v): self.v = v
    @functools.cached_property
    def total(self): print("computing"); return self.v.sum()
t = T(x)
---
y = t.total + t.total
---
t.v = x * 2
---
del t.total

### xa-f-property-with-setter
class T:
    def __init__(self): self._w = x; self.sets = 0
    @property
    def w(self): return self._w
    @w.setter
    def w(self, v): self.sets += 1; self._w = jnp.clip(v, -1, 1)
t = T()
---
t.w = t.w + s
y = t.w * t.sets
---
t._w = -x

### xa-f-callable-object-with-history
class F:
    def __init__(self): self.h = []
    def __call__(self, v): self.h.append(float(v.sum())); return v * len(self.h)
f = F()
---
y = f(x)
print(f.h[-1])
---
f.h.pop()

### xa-f-operators-overloaded
class V:
    def __init__(self, d): self.d = d
    def __matmul__(self, o): return V(self.d * (o.d if isinstance(o, V) else o))
    def __rmul__(self, c): return V(c * self.d)
    def __getitem__(self, i): return self.d[i]
    def __len__(self): return len(self.d)
    def __iter__(self): return iter(self.d)
    def __bool__(self): return bool((self.d > 0).any())
v = V(x)
---
w = 2 * (v @ v @ 3.0)
y = w[0], len(w), [*w], bool(w), 1 if w else 2
---
v.d = -jnp.abs(x)
---
v = V(n)

### xa-f-jax-array-protocol
class W:
    def __init__(self, d): self.d = d
    def __jax_array__(self): return self.d * 2
w = W(x)
---
y = jnp.sin(jnp.asarray(w)) + x
---
w.d = x[0]

### xa-f-context-manager-class
class Timer:
    runs = 0
    def __enter__(self): Timer.runs += 1; self.t = time.perf_counter(); return self
    def __exit__(self, *e): self.dt = time.perf_counter() - self.t; return False
---
with Timer() as t:
    y = (x @ x) * Timer.runs
ok = t.dt >= 0; del t
---
Timer.runs = 0

### xa-f-contextmanager-sets-and-restores
cfg = {"scale": 1.0}
@contextlib.contextmanager
def scaled(c):
    old = cfg["scale"]; cfg["scale"] = c
    try: yield cfg
    finally: cfg["scale"] = old
---
with scaled(3.0) as c: y = x * c["scale"]
z = x * cfg["scale"]
---
cfg["scale"] = 2

### xa-f-decorator-with-arguments
def repeat(k):
    def deco(f):
        @functools.wraps(f)
        def g(v):
            for _ in range(k): v = f(v)
            return v
        g.k = k
        return g
    return deco
times = 2
---
@repeat(times)
def f(v): "Halves."; return v / 2
y = f(x); r = f.__name__, f.__doc__, f.k, f.__wrapped__(x)
---
times = 3

### xa-f-lru-cache-by-int
@functools.lru_cache(maxsize=None)
def basis(m): return jnp.eye(m)
m = 2
---
y = basis(m) * s; same = basis(m) is basis(m)
info = basis.cache_info().currsize
---
m = 3

### xa-f-singledispatch
@functools.singledispatch
def show(v): return "other"
@show.register(list)
def _(v): return [show(i) for i in v]
@show.register(jax.Array)
def _(v): return v.sum()
---
y = show([x, 1, [n, "a"]])
---
show.register(int, lambda v: v + 1)

### xa-f-default-dtype-weak-types
---
r = [v.weak_type for v in (jnp.asarray(1), jnp.asarray(1.0), jnp.array(1.0), jnp.ones(()), x * 2, jnp.float32(1) * 2, jnp.sum(jnp.asarray([1, 2])), jnp.full((2,), 1.0), jnp.where(True, 1, 2), jnp.zeros_like(1.0))]
y = 2 * k, 2.0 * k, k / 2, k // 2, k * True, s ** 2, 2 ** s
---
k = 2
---
s = np.float32(2)

### xa-f-integer-overflow-of-small-types
---
b = jnp.int8(127) + 1, jnp.uint8(250) + jnp.uint8(10), jnp.array([200], jnp.uint8) * 2, jnp.int32(2**31 - 1) + 1, jnp.float16(60000) * 2
c = jnp.array([300.7, -1.2]).astype(jnp.int8), jnp.bool_(3) + 1
---
x = x

### xa-f-complex-numbers
z0 = 1 + 2j
---
z = jnp.exp(1j * jnp.pi * x) * z0
y = z.real, z.imag, jnp.abs(z), jnp.angle(z), z.conj(), complex(z[0]), z.dtype
---
z0 = 2
---
z0 = jnp.complex64(1j)

### xa-f-linspace-arange-mesh
m = 3
---
t = jnp.linspace(0, 1, m); g = jnp.arange(0, 1, 1 / m); X, Y = jnp.meshgrid(t, g); y = jnp.hypot(X, Y), jnp.mgrid[0:2, 0:m], jnp.r_[t, 5, 6:8], jnp.c_[t, t], jnp.ogrid[0:m]
---
m = 4

### xa-f-tree-map-with-none-and-is-leaf
p = {"a": x, "b": None, "c": (s, [k])}
---
q = jax.tree.map(lambda v: v * 2, p)
r = jax.tree.map(lambda v: 0 if v is None else v, p, is_leaf=lambda v: v is None)
l, td = jax.tree.flatten(p); u = jax.tree.unflatten(td, l[::-1]); n_ = jax.tree.reduce(lambda c, v: c + v.size, p, 0)
---
p["b"] = s
---
p["c"] = (1, [2.0])

### xa-f-value-and-grad-has-aux
def loss(w, b=0.5): r = x * w - b; return jnp.mean(r ** 2), {"r": r, "n": len(x)}
w = 1.5
---
(l, aux), g = jax.value_and_grad(loss, has_aux=True)(w)
gg = jax.grad(lambda w: loss(w)[0])(w); h = jax.hessian(lambda w: loss(w)[0])(w)
---
w = jnp.float32(1)
---
x = x * 2

### xa-f-grad-of-int-fails
w = 2
---
try: g = jax.grad(lambda w: w * s)(w)
except TypeError as e: g = str(e)[:50]
---
w = 2.0

### xa-f-vmap-in-axes-and-nested
---
f = jax.vmap(jax.vmap(lambda p, q: p * q + s, (None, 0)), (0, None))
y = f(x, n), jax.vmap(lambda d: d["v"].sum(), in_axes=({"v": 0, "c": None},))({"v": x, "c": s})
---
n = n[:1]
---
s = 2

### xa-f-jit-static-argument
@partial(jax.jit, static_argnames=("p", "mode"))
def f(v, p=2, *, mode="sum"): return getattr(jnp, mode)(v ** p)
p, mode = 2, "sum"
---
y = f(x, p, mode=mode)
---
p = 3
---
mode = "max"; p = 2.0

### xa-f-jit-cache-and-lower
---
f = jax.jit(lambda v: v * 2)
y = f(x); c = f.lower(x).compile(); z = c(x); r = f._cache_size() if False else None, c.cost_analysis() is not None
---
x = x[:3]

### xa-f-make-jaxpr-text
---
txt = str(jax.make_jaxpr(lambda v: jnp.sin(v) * 2)(x)); sh = jax.eval_shape(lambda v: (v, v[:2]), x)
print(txt); print(sh)
---
x = x.astype(jnp.float16)

### xa-f-scan-fori-cond-switch
---
c, ys = lax.scan(lambda c, v: (c + v, c * 2), 0.0, x)
f = lax.fori_loop(0, 3, lambda i, v: v * 1.5 + i, s); g = lax.cond(s > 2, lambda: x, lambda: -x); h = lax.switch(k, [jnp.sin, jnp.cos, jnp.tan], x)
w = lax.while_loop(lambda t: t[0] < 9, lambda t: (t[0] * 2, t[1] + 1), (s, 0))
---
s = jnp.float32(1.0); k = jnp.int32(0)
---
k = 1

### xa-f-scan-body-appends-to-list
seen = []
---
def body(c, v):
    seen.append(1)
    return c + v, c
tot, _ = lax.scan(body, jnp.float32(0), x)
cnt = len(seen) > 0
---
seen.clear()

### xa-f-debug-print-in-jit
@jax.jit
def f(v): jax.debug.print("v={v} m={m:.2f}", v=v, m=v.mean()); return v * 2
---
y = f(x)
---
x = x[:2]

### xa-f-block-and-device-get
---
y = (x * 2).block_until_ready(); h = jax.device_get({"y": y, "k": 3}); z = jax.block_until_ready([y, s]); d = jax.device_put(a); r = type(h["y"]).__name__, d.committed, jax.device_put(y) is y
---
x = x * 2

### xa-f-delete-and-is-deleted
---
t = x * 2
u = t + 1
t.delete()
r = t.is_deleted(), u.is_deleted()
try: t + 1
except RuntimeError as e: print(str(e)[:30])
---
x = x + 1

### xa-f-identity-of-no-op-functions
---
r = jnp.asarray(x) is x, x.astype(x.dtype) is x, x.reshape(4) is x, jnp.array(x) is x, x[:] is x, +x is x, jnp.ravel(x) is x, jnp.atleast_1d(x) is x, x.T is x, jnp.squeeze(x) is x, jnp.broadcast_to(x, (4,)) is x, jax.device_put(x) is x, jnp.concatenate([x]) is x, lax.stop_gradient(x) is x
---
x = np.asarray(x)

### xa-f-hash-and-dict-keys
---
try: d = {x: 1}
except TypeError as e: d = str(e)
m = {int(k): "k", float(s): "s"}; r = m[int(k)], (k, s) == (2, 2.5), hash(float(s))
---
k = jnp.int32(5)

### xa-f-string-building
---
txt = "\n".join(f"{i:02d} {v:+.2e}" for i, v in enumerate(x)) + f"\n{'mean':>6}: {x.mean():8.3f}"
y = x * len(txt); print(textwrap.indent(txt, "  "))
---
x = x[:3]

### xa-f-regex-parsed-numbers
line = "epoch=3 lr=0.01 loss=1.5"
---
d = {m[1]: float(m[2]) for m in re.finditer(r"(\w+)=([\d.]+)", line)}
y = x * d["lr"] + int(d["epoch"])
---
line = "epoch=4 lr=0.1"

### xa-f-environment-flag
os.environ["XA_SCALE"] = "2"
---
y = x * float(os.environ.get("XA_SCALE", "1")); os.environ["XA_SEEN"] = str(int(k))
---
os.environ["XA_SCALE"] = "5"
---
del os.environ["XA_SCALE"]

### xa-f-file-written-read-changed
Path("v.txt").write_text("1 2 3 4")
---
v = jnp.array([float(t) for t in Path("v.txt").read_text().split()])
y = v * x.sum()
---
Path("v.txt").write_text("5 6")

### xa-f-append-log-file
---
with open("log.csv", "a") as f: print(float(x.sum()), int(k), sep=",", file=f)
rows = Path("log.csv").read_text().splitlines(); y = x * len(rows)
---
Path("log.csv").unlink()

### xa-f-npz-round-trip
---
np.savez("w.npz", x=x * s, n=n); jnp.save("x.npy", x)
with np.load("w.npz") as z: back = {q: jnp.asarray(z[q]) for q in z.files}
y = jnp.load("x.npy") + back["x"]
---
s = 3

### xa-f-exists-branch
---
p = Path("cache.npy")
if p.exists(): w = jnp.load(p); src = "disk"
else: w = x ** 2; jnp.save(p, w); src = "new"
y = w + 1
---
Path("cache.npy").unlink()
---
x = x * 100

### xa-f-time-and-elapsed
---
t0 = time.time(); y = x @ x; dt = time.time() - t0
ok = dt >= 0 and t0 > 1e9; del t0, dt
---
x = x + 1

### xa-f-sys-things
---
r = sys.version_info >= (3, 10), sys.getsizeof([]) > 0, len(sys.argv) >= 0, sys.getrecursionlimit() > 10
print("to err", file=sys.stderr); sys.stdout.write(f"{float(s)}\n"); y = x * r[0]
---
s = jnp.float32(1)

### xa-f-optional-import
---
try: import cupy_missing as xp
except ImportError: xp = jnp
y = xp.sin(x)
---
x = x + 1

### xa-f-import-alias-shadows
---
import jax.numpy as np
from math import *
y = np.sin(pi * x) + floor(2.5)
r = np.__name__
---
import numpy as np

### xa-f-names-from-a-tuple-of-lists
ws = [x, x * 2]; bs = [s, s]
---
(w1, w2), (b1, b2) = ws, bs
y = w1 * b1 + w2 * b2; ws[0], ws[1] = ws[1], ws[0]
r = ws[0] is w2
---
bs[1] = 0

### xa-f-slices-and-ellipsis
---
X = jnp.arange(24).reshape(2, 3, 4); i = slice(None, None, -1)
y = X[..., 0], X[i, 1:, None], X[0, ::2], X[:, [0, 2]], X[jnp.array([1, 0]), ..., -1], X[(slice(0, 1), 2)], X[True], X[-1][-1][-1], X[k - 2]
---
k = jnp.int32(1)

### xa-f-out-of-bounds-and-negative-index
---
y = x[10], x[-10], n[k + 5], x[jnp.array([0, 99])], x.take(99), x.take(99, mode="wrap")
---
k = 0

### xa-f-conditional-expression-on-config
use = True; depth = 2
---
y = (x * s if use else x) + (0 if depth < 2 else depth)
f = jnp.tanh if use and depth > 1 else (lambda v: v)
z = f(y)
---
use = 0
---
use, depth = 1, 1

### xa-f-nan-skipping-mean
vals = [1.0, float("nan"), 3.0]
---
v = jnp.array(vals); m = jnp.nanmean(v); cnt = sum(not math.isnan(t) for t in vals); y = jnp.where(jnp.isnan(v), m, v)
---
vals[0] = float("nan")

### xa-f-global-statement-in-a-function
total = 0.0
def bump(v):
    global total
    total = total + v.mean()
    return v - total
---
y = bump(x); z = bump(y)
---
total = 10
---
total = s

### xa-f-swap-and-augmented
---
p, q = x, x[::-1]
p, q = q, p
p *= 2; q -= p; p **= 2; k <<= 1; n //= 2; s /= 3
---
n = [1, 2]; s = 1; k = 1

### xa-f-numpy-array-mutated-after-conversion
buf = np.ones(3, np.float32)
---
j = jnp.array(buf)
buf[0] += 1
y = j * 2, jnp.array(buf)
---
buf[:] = 7

### xa-f-list-of-lists-padded
seqs = [[1, 2, 3], [4], [5, 6]]
---
L = max(map(len, seqs)); pad = jnp.array([q + [0] * (L - len(q)) for q in seqs]); mask = pad != 0; y = pad.sum(1) / mask.sum(1)
---
seqs.append([7, 8, 9, 10])
---
seqs[0] = [1]

### xa-f-text-encoded-and-decoded
text = "hello jax"
---
chars = sorted(set(text)); stoi = {c: i for i, c in enumerate(chars)}; ids = jnp.array([stoi[c] for c in text]); back = "".join(chars[i] for i in ids); oh = jax.nn.one_hot(ids, len(chars)).sum(0)
---
text += "!"

### xa-f-print-progress-every-few
---
w = x
for i in range(6):
    w = w - 0.1 * w
    if i % 2 == 0: print(f"\r{i:3d} {jnp.linalg.norm(w):.3f}", end="")
print()
---
x = x * 2

### xa-f-timeit-like-best-of
---
best = min(range(3), key=lambda i: float(jnp.abs(x - i).sum()))
name, val = min({"a": s, "b": s * k}.items(), key=lambda t: t[1])
---
s = -s

### xa-f-nested-dict-update-path
cfg = {"opt": {"lr": 0.1, "m": [0.9, 0.99]}}
---
cfg["opt"]["lr"] *= 0.5; cfg.setdefault("log", []).append(cfg["opt"]["lr"]); y = x * cfg["opt"]["lr"] * cfg["opt"]["m"][0]
---
cfg["opt"]["m"][0] = 0.5
---
cfg["opt"] = {**cfg["opt"], "lr": 1}

### xa-f-ordered-merge-of-dicts
d1 = {"a": 1, "b": x}; d2 = {"b": s, "c": 3}
---
m = d1 | d2; d1 |= {"z": k}; ch = collections.ChainMap(d2, d1); y = ch["b"] * ch["z"]; ks = list(m), list(d1)
---
d2.pop("b")

### xa-f-itemgetter-sorted-records
recs = [{"n": "a", "v": 3.0}, {"n": "b", "v": 1.0}]
---
recs.sort(key=operator.itemgetter("v")); v = jnp.array([r["v"] for r in recs]); best = recs[int(v.argmax())]["n"]; y = v / v.sum()
---
recs.append({"n": "c", "v": 2})

### xa-f-struct-of-lambdas-table
ops = {"sq": lambda v: v ** 2, "neg": lambda v: -v}
---
res = {q: f(x).sum() for q, f in ops.items()}; best = max(res, key=res.get); print(best, {q: float(v) for q, v in res.items()})
---
ops["big"] = lambda v: v * 100
---
del ops["sq"]

### xa-f-recursive-function
def fact(m): return 1 if m <= 1 else m * fact(m - 1)
m = 4
---
y = sum(x ** i / fact(i) for i in range(m)); r = fact(m)
---
m = 6
---
def fact(m): return 1

### xa-f-async-and-thread-results
import threading, concurrent.futures as cf
---
with cf.ThreadPoolExecutor(2) as ex: y = list(ex.map(lambda i: x * i, range(3)))
res = {}; t = threading.Thread(target=lambda: res.update(z=x.sum())); t.start(); t.join(); z = res["z"] * 2; del t, ex
---
x = x[:2]

### xa-f-einsum-and-linalg
---
A = jnp.outer(x, x) + jnp.eye(len(x)) * 5; L = jnp.linalg.cholesky(A); b = jnp.linalg.solve(A, x); d = jnp.linalg.det(A); y = jnp.einsum("ij,j->", A, x), jnp.trace(A), L @ L.T - A < 1e-3, b, d
---
x = x[:2]

### xa-f-interp-hist-percentile
---
h, e = jnp.histogram(x, bins=3); q = jnp.percentile(x, jnp.array([25, 50])); y = jnp.interp(s, jnp.sort(x), jnp.arange(len(x))); m = jnp.median(x), jnp.diff(x), jnp.digitize(x, e), jnp.convolve(x, n)
---
x = jnp.append(x, 4.0)

### xa-f-flag-set-once
---
if "seen" not in globals():
    seen = True; first = x * 0 + 1
else:
    first = first + 1
---
del seen

### xa-f-try-name-error-initialises
---
try: hist
except NameError: hist = []
hist.append(x.mean()); y = jnp.stack(hist)
---
hist = hist[-1:]

### xa-f-underscore-names
---
_, y, *_ = x
__ = y * 2; _tmp = __ + 1
---
x = x[::-1]

### xa-f-semicolon-and-value
---
y = x * 2; z = y.sum(); (y, z, "text", None)
---
x = x + 1

### xa-f-last-value-none-and-string
---
d = {"a": x}
d.update(b=x * 2)
d.get("zz")
---
d = 1

### xa-f-display-shapes-of-params
params = {"enc": {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}, "out": jnp.ones(3)}
---
jax.tree.map(jnp.shape, params)
---
params["out"] = jnp.ones((4, 1))

### xa-f-help-and-doc
def f(v): "Doubles v."; return v * 2
---
d = f.__doc__; nm = f.__name__, f.__code__.co_argcount, jnp.sin.__name__; y = f(x)
---
def f(v): "Halves v."; return v / 2

### xa-f-seed-from-time-free-hash
name = "run-a"
---
seed = sum(map(ord, name)) % 1000; key = jax.random.key(seed); y = jax.random.randint(key, (3,), 0, 10)
---
name = "run-b"

### xa-f-clip-grads-by-global-norm
g = {"w": x, "b": s}
---
nrm = jnp.sqrt(sum(jnp.sum(v ** 2) for v in jax.tree.leaves(g))); c = jnp.minimum(1.0, 1.0 / (nrm + 1e-6)); g2 = jax.tree.map(lambda v: v * c, g); clipped = nrm > 1
if clipped: print(f"clipped {nrm:.2f}")
---
g = {"w": x * 0.01, "b": s * 0.01}

### xa-f-moving-average-in-place-dict
avg = {}
---
for q, v in {"l": s, "m": x.mean()}.items(): avg[q] = v if q not in avg else 0.9 * avg[q] + 0.1 * v
print({q: round(float(v), 3) for q, v in avg.items()})
---
avg.pop("l")

### xa-f-array-truth-fails-caught
---
try:
    if x > 0: y = 1
except ValueError as e: y = str(e)[:60]
---
x = x[:1]
---
x = x[0]

### xa-f-copyto-and-view-of-numpy
b = np.arange(6.0).reshape(2, 3); v = b[0]
---
v[:] = n * 2
b.T[2] += s
y = jnp.asarray(b).sum(0); r = v.base is b, b.flags.owndata
---
v = b[1]

### xa-f-format-spec-of-zero-dim
---
t = f"{s:.1f}|{k:d}|{k:04d}|{s:e}|{s:>8.2f}|{k}|{x[0]:.0f}|{s!s}"; print(t)
---
s = jnp.float32(1e10); k = jnp.int32(-3)

### xa-f-x64-context
---
with jax.enable_x64(True):
    y = jnp.arange(3.0) + 1; r = y.dtype, jnp.array(2**40)
z = jnp.arange(3.0).dtype
---
x = x

### xa-f-config-update-in-the-cell
---
jax.config.update("jax_default_matmul_precision", "float32"); y = jnp.outer(x, x) @ x; r = jax.config.jax_default_matmul_precision
jax.config.update("jax_default_matmul_precision", None)
---
x = x * 2
""",
)
