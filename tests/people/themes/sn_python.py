"""Cells of people who like the language: patterns, generators, metaclasses, descriptors, contexts, groups, unpacking."""

from ..cell import written

PRELUDE = """
import abc, asyncio, collections, contextlib, contextvars, copy, enum, functools, heapq, itertools, math, operator, random
import re, string, sys, types, typing, weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import KW_ONLY, InitVar, asdict, astuple, dataclass, field, fields, replace
from enum import Enum, Flag, IntEnum, StrEnum, auto
from functools import cache, cached_property, partial, reduce, singledispatch, total_ordering, wraps
from itertools import accumulate, chain, count, cycle, groupby, islice, pairwise, product, starmap, takewhile, tee, zip_longest
from typing import Any, Callable, ClassVar, Generic, NamedTuple, Protocol, Self, TypedDict, TypeVar
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-match-on-layer-specs-with-guards-and-captures
specs = [("dense", 4), {"kind": "act", "fn": "tanh"}, ["drop", 0.5], "norm", ("dense", 2), None]
def build(spec, x, key):
    match spec:
        case ("dense", int(n)) if n > 0: return x @ (jr.normal(key, (x.shape[-1], n)) * 0.3)
        case {"kind": "act", "fn": str(name), **rest}: return getattr(jnp, name)(x) if not rest else -x
        case ["drop", float() as p] if 0 <= p < 1: return x * jr.bernoulli(key, 1 - p, x.shape) / (1 - p)
        case "norm" | "layernorm": return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1e-5)
        case None: return x
        case other: raise TypeError(f"unknown {other!r}")
x, key = jnp.arange(6.0).reshape(2, 3) / 6, jr.key(3)
---
h, trace = x, []
for i, spec in enumerate(specs):
    try:
        h = build(spec, h, jr.fold_in(key, i))
    except TypeError as e:
        trace.append(str(e))
    else:
        trace.append(h.shape)
match h:
    case jax.Array(shape=(a, b)) if a <= b: verdict = f"wide {a}x{b}"
    case jax.Array(ndim=2): verdict = "tall"
    case _: verdict = "?"
print(trace, verdict)
h
---
specs.insert(2, ("dense", 0)); specs.append({"kind": "act", "fn": "sin", "extra": 1})
---
x = x[:1]

### sn-walrus-in-while-filter-comprehension-and-fstring
x, tol = jnp.array(5.0), 0.05
def newton(v): return v - (v * v - 2) / (2 * v)
---
n = 0
while (step := abs(float((nxt := newton(x)) - x))) > tol:
    x, n = nxt, n + 1
    if n > 20: break
cands = [y for v in (0.5, 1.5, -1.0, 3.0) if (y := jnp.sqrt(jnp.float32(abs(v)))) > 1]
tot = (s := sum(cands)) / len(cands) if cands else None
print(f"{n=} {step < tol} {(m := len(cands))} {m + 1}")
any((hit := c) > 1.5 for c in cands), hit, s
---
x = jnp.array(100.0)
---
tol = 1.5

### sn-generators-pipeline-with-tee-islice-accumulate
def noise(key):
    while True:
        key, sub = jr.split(key)
        yield jr.normal(sub, (2,))
def ema(xs, a):
    m = None
    for x in xs:
        m = x if m is None else a * m + (1 - a) * x
        yield m
def batched(xs, n):
    it = iter(xs)
    while chunk := tuple(islice(it, n)):
        yield chunk
src, a, take = noise(jr.key(0)), 0.5, 4
---
raw, again = tee(islice(src, take))
sm = list(ema(raw, a))
cum = list(accumulate(again, operator.add))
gaps = [jnp.linalg.norm(q - p) for p, q in pairwise(sm)]
tw = list(takewhile(lambda v: v[0] < 10, cum))
first, *mid, last = cum
print(len(sm), len(gaps), len(tw), len(mid), [len(b) for b in batched(sm, 3)])
last, jnp.stack(gaps)
---
take = 2
---
a = 0.9; src = noise(jr.key(1))

### sn-nested-closures-nonlocal-and-global-counters
total = 0
def make_meter(decay):
    value, n = None, 0
    history = []
    def update(v):
        nonlocal value, n
        global total
        n += 1; total += 1
        value = v if value is None else decay * value + (1 - decay) * v
        history.append(value)
        return value
    def reset():
        nonlocal value, n
        value, n = None, 0
        history.clear()
    update.reset, update.n = reset, lambda: n
    return update
meter, other = make_meter(0.5), make_meter(0.9)
xs = jnp.array([1.0, 2.0, 4.0])
---
for v in xs:
    m = meter(v)
    if v > 1.5:
        other(v * 2)
print(meter.n(), other.n(), total)
h = meter.__closure__[[c for c in meter.__code__.co_freevars].index("history")].cell_contents
len(h), m, h[-1] is m
---
meter.reset()
---
xs = xs[::-1] * 3; other = make_meter(0.1)

### sn-exception-groups-split-by-kind-from-checks
def checks(p):
    errs = []
    for k, v in p.items():
        if not bool(jnp.isfinite(v).all()): errs.append(FloatingPointError(k))
        if v.ndim > 2: errs.append(ValueError(f"{k} has {v.ndim} dims"))
        if v.dtype != jnp.float32: errs.append(TypeError(f"{k} is {v.dtype}"))
    if errs: raise ExceptionGroup("bad params", errs)
    return sum(jnp.sum(v) for v in p.values())
p = {"a": jnp.ones(2), "b": jnp.array([jnp.inf]), "c": jnp.zeros((1, 1, 1), jnp.int32)}
---
seen, s = [], None
try:
    s = checks(p)
except* FloatingPointError as g:
    seen.append(("fp", [str(e) for e in g.exceptions]))
    p["b"] = jnp.nan_to_num(p["b"], posinf=7.0)
except* (ValueError, TypeError) as g:
    seen.append(("type", len(g.exceptions), g.message))
    rest = g.subgroup(lambda e: isinstance(e, ValueError))
    seen.append(rest and rest.exceptions[0].args)
print(seen, sorted(p))
s, p["b"]
---
p["c"] = jnp.ones(1)
---
p["d"] = jnp.array([jnp.nan], jnp.float16)

### sn-metaclass-registers-and-counts-instances-of-kernels
class Reg(type):
    table = {}
    def __new__(m, name, bases, ns, **kw):
        cls = super().__new__(m, name, bases, ns)
        if bases: m.table[kw.get("tag", name.lower())] = cls
        return cls
    def __init__(cls, name, bases, ns, **kw): super().__init__(name, bases, ns)
    def __call__(cls, *a, **k):
        cls.made = getattr(cls, "made", 0) + 1
        return super().__call__(*a, **k)
    def __len__(cls): return len(cls.table)
    def __getitem__(cls, k): return cls.table[k]
class Kernel(metaclass=Reg): pass
class RBF(Kernel, tag="rbf"):
    def __init__(self, l): self.l = l
    def __call__(self, a, b): return jnp.exp(-((a - b) ** 2) / self.l)
class Lin(Kernel):
    def __call__(self, a, b): return a * b
x, ell = jnp.linspace(0, 1, 3), 0.5
---
class Per(Kernel, tag="periodic"):
    def __init__(self, p): self.p = p
    def __call__(self, a, b): return jnp.cos((a - b) / self.p)
ks = [Kernel["rbf"](ell), Kernel["lin"](), Kernel["periodic"](ell * 2)]
G = {type(k).__name__: jax.vmap(lambda a: jax.vmap(lambda b: k(a, b))(x))(x) for k in ks}
print(len(Kernel), sorted(Reg.table), [c.made for c in Reg.table.values()])
sum(G.values())
---
ell = 2.0
---
RBF.made = 0; x = x[:2]

### sn-descriptor-validated-field-and-set-name
class Bounded:
    def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    def __set_name__(self, owner, name): self.name, self.key = name, f"_{name}"
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.key)
    def __set__(self, obj, v):
        if not self.lo <= v <= self.hi: raise ValueError(f"{self.name}: {v:.2f} out of [{self.lo}, {self.hi}]")
        object.__setattr__(obj, self.key, v)
class Filter:
    alpha, gain = Bounded(0, 1), Bounded(0, 10)
    def __init__(self, alpha, gain): self.alpha, self.gain = alpha, gain
    def __call__(self, x): return self.gain * lax.scan(lambda c, v: ((y := self.alpha * c + (1 - self.alpha) * v), y), 0.0, x)[1]
filt, x, bump = Filter(0.5, 2.0), jnp.array([1.0, 0.0, 1.0]), 0.2
---
y = filt(x)
try:
    filt.alpha = filt.alpha + bump
    filt.gain = float(y.max()) * 2
except ValueError as e:
    print("refused", e)
z = filt(y)
print(f"{filt.alpha:.2f} {filt.gain:.2f}", Filter.alpha.name, sorted(vars(filt)))
z
---
bump = 0.0
---
filt = Filter(0.0, 9.0); x = x * 4

### sn-decorator-with-state-retry-memo-and-wrapped
def tracked(f=None, *, tag="f", limit=2):
    if f is None: return partial(tracked, tag=tag, limit=limit)
    @wraps(f)
    def w(*a, **k):
        w.calls += 1
        for attempt in range(limit):
            try:
                out = f(*a, **k, attempt=attempt)
                w.log.append((tag, attempt))
                return out
            except ArithmeticError as e:
                w.log.append((tag, repr(e)))
        raise RuntimeError(tag) from e
    w.calls, w.log = 0, []
    return w
@tracked(tag="solve", limit=3)
def solve(A, b, attempt):
    "solves with jitter"
    x = jnp.linalg.solve(A + attempt * 0.1 * jnp.eye(len(A)), b)
    if not jnp.isfinite(x).all(): raise ZeroDivisionError("singular")
    return x
A, b = jnp.ones((2, 2)), jnp.array([1.0, 2.0])
---
try:
    s = solve(A, b)
except (RuntimeError, UnboundLocalError) as e:
    s = jnp.zeros_like(b)
    print(type(e).__name__)
print(solve.calls, solve.log[-2:], solve.__doc__, solve.__wrapped__.__name__)
s
---
A = jnp.eye(2) * 3
---
solve.log.clear(); A = A * jnp.nan

### sn-dataclass-zoo-kwonly-initvar-slots-frozen-order
@dataclass(frozen=True, slots=True, order=True)
class Key: pri: int; name: str = field(compare=False)
@dataclass
class Layer:
    W: jax.Array
    _: KW_ONLY
    act: str = "tanh"
    scale: InitVar[float] = 1.0
    tags: list = field(default_factory=list, repr=False)
    count: ClassVar[int] = 0
    def __post_init__(self, scale): self.W = self.W * scale; type(self).count += 1
    def __call__(self, x): return getattr(jnp, self.act)(x @ self.W)
net = {Key(2, "out"): Layer(jnp.ones((2, 1)), act="sin"), Key(1, "in"): Layer(jnp.eye(2), scale=0.5)}
x = jnp.array([[1.0, 2.0]])
---
h = x
for k in sorted(net):
    h = net[k](h)
    net[k].tags.append(k.name)
third = replace(net[Key(1, "whatever")], W=net[Key(1, "")].W * 2, scale=3.0)
print(Layer.count, [f.name for f in fields(Layer)], third.tags is net[Key(1, "in")].tags, third.W.shape)
print(max(net), hash(Key(1, "a")) == hash(Key(1, "b")), asdict(Key(3, "z")))
h, third(x)
---
net[Key(0, "pre")] = Layer(jnp.eye(2) * 2, act="cos")
---
net[Key(1, "in")].act = "abs"; x = -x

### sn-enum-flags-drive-which-terms-are-in-the-loss
class Term(Flag):
    DATA = auto(); L1 = auto(); L2 = auto()
    REG = L1 | L2
    ALL = DATA | REG
class Red(StrEnum):
    MEAN = auto(); SUM = auto()
    def __call__(self, v): return getattr(jnp, self.value)(v)
def loss(w, terms, red):
    fs = {Term.DATA: lambda: red((w - 1) ** 2), Term.L1: lambda: red(abs(w)), Term.L2: lambda: red(w * w)}
    return sum((f() for t, f in fs.items() if t in terms), start=jnp.float32(0))
w, terms, red = jnp.array([0.5, -1.0]), Term.ALL, Red.MEAN
---
vals = {t.name: loss(w, t, red) for t in Term}
full, g = jax.value_and_grad(loss)(w, terms, red)
print(terms, ~terms & Term.ALL, Term.L1 in terms, list(terms), red, f"{red!r}")
print({k: round(float(v), 3) for k, v in vals.items()})
full, g
---
terms &= ~Term.L1
---
red = Red("sum"); terms = Term(0)

### sn-namedtuples-star-unpacking-and-swaps
class S(NamedTuple):
    pos: Any
    vel: Any
    t: float = 0.0
    def kick(self, a, dt): return self._replace(vel=self.vel + a * dt)
    def drift(self, dt): return self._replace(pos=self.pos + self.vel * dt, t=self.t + dt)
Pt = namedtuple("Pt", "x y", defaults=(0.0,))
s, dt = S(jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])), 0.1
---
for _ in range(3):
    s = s.kick(-s.pos, dt / 2).drift(dt)
    s = s.kick(-s.pos, dt / 2)
pos, *rest = s
(px, py), (vx, vy), t = s
px, py = py, px
p = Pt(px)
q = Pt(**dict(zip("xy", (*pos,))))
print(round(t, 3), len(rest), S._fields, p._asdict().keys(), isinstance(s, tuple), type(q.y).__name__)
[*pos, *rest[0]], p == Pt(px, 0.0), jax.tree.map(jnp.sum, s)
---
dt = 0.5
---
s = S(jnp.zeros(2), jnp.ones(2), t=-1.0)

### sn-async-gather-semaphore-queue-of-evaluations
async def evaluate(i, x, sem, out):
    async with sem:
        await asyncio.sleep(0)
        await out.put((i, jnp.sum(x ** i)))
async def drive(x, n):
    sem, out = asyncio.Semaphore(2), asyncio.Queue()
    await asyncio.gather(*(evaluate(i, x, sem, out) for i in range(n)))
    res = {}
    while not out.empty():
        i, v = out.get_nowait()
        res[i] = v
    return res
x, n = jnp.array([1.0, 2.0]), 3
---
loop = asyncio.new_event_loop()
try:
    res = loop.run_until_complete(drive(x, n))
finally:
    loop.close()
del loop
print(sorted(res), {k: f"{v:.1f}" for k, v in sorted(res.items())})
sum(res.values())
---
n = 5
---
x = x / 2; n = 1

### sn-exit-stack-of-contexts-with-callbacks-and-suppress
events = []
@contextmanager
def scaled(state, f):
    state["s"] *= f
    events.append(f"+{f}")
    try: yield state
    except ArithmeticError as e: events.append(f"caught {e}")
    finally:
        state["s"] /= f
        events.append(f"-{f}")
state, fs, x = {"s": 1.0}, [2.0, 0.5, 4.0], jnp.array([1.0, 2.0])
---
events.clear()
y = None
with ExitStack() as st:
    st.callback(events.append, "end")
    for f in fs:
        st.enter_context(scaled(state, f))
    y = x * state["s"]
    if y.sum() > 11: raise OverflowError("big")
    later = st.pop_all()
z = x * state["s"]
with suppress(KeyError, NameError):
    later.close()
    z = z + state["missing"]
with nullcontext(x) as w: w = w + 1
print(events, state)
y, z, w
---
fs.append(0.25)
---
fs = [3.0]; x = x * 2

### sn-operator-overloading-polynomials-over-arrays
@total_ordering
class Poly:
    __slots__ = ("c",)
    __array_priority__ = 100
    def __init__(self, *c): self.c = tuple(jnp.float32(v) for v in c)
    def __call__(self, x): return reduce(lambda a, k: a * x + k, reversed(self.c), 0.0)
    def __add__(self, o): return Poly(*(a + b for a, b in zip_longest(self.c, (o.c if isinstance(o, Poly) else (o,)), fillvalue=0.0)))
    __radd__ = __add__
    def __mul__(self, o):
        if not isinstance(o, Poly): return Poly(*(a * o for a in self.c))
        return Poly(*jnp.convolve(jnp.stack(self.c), jnp.stack(o.c)))
    def __matmul__(self, o): return self(o)
    def __neg__(self): return self * -1
    def __getitem__(self, i): return self.c[i]
    def __len__(self): return len(self.c)
    def __eq__(self, o): return len(self) == len(o) and all(bool(a == b) for a, b in zip(self.c, o.c))
    def __lt__(self, o): return len(self) < len(o)
    def __hash__(self): return len(self)
    def __bool__(self): return any(bool(a != 0) for a in self.c)
    def __repr__(self): return " + ".join(f"{float(a):g}x^{i}" for i, a in enumerate(self.c) if a)
    def diff(self): return Poly(*(a * i for i, a in enumerate(self.c) if i))
p, q, x = Poly(1, 2), Poly(0, 1, 3), jnp.array([0.0, 1.0, 2.0])
---
r = p * q + 1
r += p
print(r, "|", -q, "|", r.diff(), len(r), p < q, p == Poly(1, 2), bool(Poly(0)))
ev = {repr(k): k @ x for k in {p, q, r}}
jax.vmap(jax.grad(r))(x) - r.diff()(x), sum([p, q])(x)
---
p = Poly(1, 2, -1)
---
q = Poly(2); x = x + 0.5

### sn-mutablemapping-and-chainmap-of-parameters-with-defaults
class Params(MutableMapping):
    def __init__(self, **k): self._d, self.writes = dict(k), Counter()
    def __getitem__(self, k): return self._d[k]
    def __setitem__(self, k, v): self.writes[k] += 1; self._d[k] = jnp.asarray(v)
    def __delitem__(self, k): del self._d[k]
    def __iter__(self): return iter(sorted(self._d))
    def __len__(self): return len(self._d)
defaults, user = {"lr": 0.1, "mom": 0.9, "name": "base"}, {}
p = Params(w=jnp.ones(2), b=jnp.zeros(2))
---
cm = ChainMap(user, defaults)
run = cm.new_child({"lr": cm["lr"] * 2})
p["w"] = p["w"] - run["lr"] * p["w"]
p.update(c=[1.0, 2.0])
dropped = p.pop("b", None)
p.setdefault("b", jnp.full(2, run["mom"]))
print(dict(p.writes), list(p), "z" in p, len(run.maps), run["name"], run.parents["lr"])
dropped, {k: v.sum() for k, v in p.items()}
---
user["lr"] = 0.5
---
user["name"] = "mine"; p.writes.clear(); p["w"] = jnp.zeros(2)

### sn-generic-protocol-typeddict-and-get-type-hints
T = TypeVar("T")
class Model(Protocol):
    def predict(self, x: jax.Array) -> jax.Array: ...
class Batch(TypedDict, total=False):
    x: jax.Array
    y: jax.Array
class Stack(Generic[T]):
    def __init__(self) -> None: self.items: list[T] = []
    def push(self, v: T) -> Self: self.items.append(v); return self
    def __class_getitem__(cls, k): return super().__class_getitem__(k)
class Lin:
    def __init__(self, w): self.w = w
    def predict(self, x: jax.Array) -> jax.Array: return x @ self.w
def mse(m: Model, b: Batch) -> jax.Array: return jnp.mean((m.predict(b["x"]) - b.get("y", 0.0)) ** 2)
m, b, st = Lin(jnp.array([1.0, 2.0])), Batch(x=jnp.eye(2)), Stack[jax.Array]()
---
Vec: typing.TypeAlias = list[float]
e1 = mse(m, b)
e2 = mse(m, {**b, "y": jnp.array([1.0, 1.0])})
st.push(e1).push(e2)
hints = typing.get_type_hints(Lin.predict)
print(sorted(hints), Batch.__total__, st.__orig_class__, Vec, __annotations__.keys())
print(isinstance(b, dict), len(st.items), mse.__annotations__["return"] is jax.Array)
jnp.stack(st.items[-2:])
---
b["y"] = jnp.zeros(2)
---
m.w = m.w * 3; st.items.clear()

### sn-heapq-best-first-with-array-payloads-and-tiebreak
tick = count()
def expand(v): return [v * 0.5 + d for d in (jnp.array([0.3, 0.0]), jnp.array([0.0, -0.4]))]
goal, width, start = jnp.array([0.5, -0.5]), 3, jnp.zeros(2)
---
heap = [(float(jnp.sum((start - goal) ** 2)), next(tick), start)]
seen = 0
while heap and seen < 6:
    d, _, v = heapq.heappop(heap)
    seen += 1
    if d < 0.01: break
    for u in expand(v):
        heapq.heappush(heap, (float(jnp.sum((u - goal) ** 2)), next(tick), u))
    heap = heapq.nsmallest(width, heap)
best = min(heap)
print(seen, round(d, 4), len(heap), next(tick) > 0)
best[2], v
---
width = 1
---
goal = goal * 2; tick = count(100)

### sn-singledispatch-on-pytrees-and-arrays-plus-register-late
@singledispatch
def size(x): raise TypeError(type(x).__name__)
@size.register
def _(x: jax.Array): return x.size
@size.register(int | float)
def _(x): return 1
@size.register(dict)
def _(x): return sum(map(size, x.values()))
@size.register(list)
@size.register(tuple)
def _(x): return sum(map(size, x))
tree = {"a": jnp.ones((2, 3)), "b": [jnp.zeros(4), 1.0, 2]}
---
n = size(tree)
try:
    n2 = size({**tree, "s": "text"})
except TypeError as e:
    n2 = -1
    print("no size for", e)
    size.register(str, len)
scaled = jax.tree.map(lambda v: v / n, tree)
print(n, n2, size.dispatch(bool).__name__, str in size.registry)
scaled
---
tree["b"].append(jnp.ones(5, jnp.int32))
---
tree = (tree["a"], {"z": 3})

### sn-cached-property-and-invalidation-on-setattr
class Gauss:
    def __init__(self, mu, cov): self.mu, self.cov, self.built = mu, cov, 0
    def __setattr__(self, k, v):
        if k == "cov": self.__dict__.pop("chol", None)
        super().__setattr__(k, v)
    @cached_property
    def chol(self):
        self.built += 1
        return jnp.linalg.cholesky(self.cov)
    def logpdf(self, x):
        z = jax.scipy.linalg.solve_triangular(self.chol, x - self.mu, lower=True)
        return -0.5 * z @ z - jnp.log(jnp.diag(self.chol)).sum()
g, x, grow = Gauss(jnp.zeros(2), jnp.array([[2.0, 0.5], [0.5, 1.0]])), jnp.array([1.0, -1.0]), 1.5
---
a = g.logpdf(x)
b = g.logpdf(-x)
first = g.chol is g.chol
g.cov = g.cov * grow
c = g.logpdf(x)
print(g.built, first, "chol" in vars(g), sorted(vars(g)))
a, b, c
---
grow = 1.0
---
g.mu = x; g.built = 0
""",
)
