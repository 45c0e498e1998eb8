"""Notebook work around arrays once more: parsers, registries, files, threads, operators of one's own, views and slips."""

from ..cell import written

PRELUDE = """
import os, sys, io, re, json, csv, math, time, pickle, random, logging, enum, copy, string, operator, types, abc
import collections, contextlib, dataclasses, functools, itertools, datetime, warnings, heapq, threading, queue, tempfile
from collections import defaultdict, namedtuple, Counter, OrderedDict, deque, UserDict, UserList
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from functools import partial, reduce, wraps, singledispatch
from typing import NamedTuple, Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""

CELLS = written(
    PRELUDE,
    r"""
### jaw-expression-graph-with-overloaded-operators-and-derivatives
class Expr:
    def __add__(self, o): return Op("+", self, lift(o))
    def __radd__(self, o): return lift(o) + self
    def __mul__(self, o): return Op("*", self, lift(o))
    __rmul__ = __mul__
    def __pow__(self, n): return reduce(operator.mul, [self] * n)
    def __call__(self, **env): return self.ev(env)
class Var(Expr):
    def __init__(self, name): self.name = name
    def ev(self, env): return env[self.name]
    def d(self, n): return Const(1.0 if n == self.name else 0.0)
    def __str__(self): return self.name
class Const(Expr):
    def __init__(self, v): self.v = v
    def ev(self, env): return self.v
    def d(self, n): return Const(0.0)
    def __str__(self): return f"{self.v:g}"
class Op(Expr):
    def __init__(self, op, a, b): self.op, self.a, self.b = op, a, b
    def ev(self, env): return {"+": operator.add, "*": operator.mul}[self.op](self.a.ev(env), self.b.ev(env))
    def d(self, n): return self.a.d(n) + self.b.d(n) if self.op == "+" else self.a.d(n) * self.b + self.a * self.b.d(n)
    def __str__(self): return f"({self.a}{self.op}{self.b})"
def lift(v): return v if isinstance(v, Expr) else Const(v)
x, y = Var("x"), Var("y")
f = 3 * x ** 2 + x * y + 1
pts = jnp.linspace(0, 1, 4)
yval = 2
---
vals = f(x=pts, y=yval)
dfx = f.d("x")
sym = dfx(x=pts, y=yval)
auto = jax.vmap(jax.grad(lambda t: f(x=t, y=yval)))(pts)
depth = lambda e: 1 + max(depth(e.a), depth(e.b)) if isinstance(e, Op) else 1
agree = jnp.allclose(sym, auto)
text = str(f)
h = f(x=Fraction(1, 3), y=2) if isinstance(yval, int) else None
print(text, depth(dfx), bool(agree), h)
vals, vals.weak_type
---
yval = jnp.array([1.0, 0.0, 2.0, 5.0])[0]
---
f = (x + y) ** 3 * 0.5
---
pts = np.arange(3); yval = 1.5
---
f.b.a.a.v = 2.0 if isinstance(f.b, Op) and isinstance(f.b.a, Op) and isinstance(f.b.a.a, Const) else None

### jaw-units-quantity-class-with-getattr-and-format
class Q:
    _units = {"m": 1.0, "km": 1000.0, "cm": 0.01}
    __array_priority__ = 1000
    def __init__(self, v, unit="m"): self.v, self.unit = v, unit
    def __getattr__(self, name):
        if name.startswith("in_") and name[3:] in self._units:
            return self.v * self._units[self.unit] / self._units[name[3:]]
        raise AttributeError(f"no {name!r} of {type(self).__name__}")
    def __add__(self, o): return Q(self.in_m + o.in_m, "m")
    def __mul__(self, k): return Q(self.v * k, self.unit)
    __rmul__ = __mul__
    def __lt__(self, o): return bool(jnp.all(self.in_m < o.in_m))
    def __format__(self, spec):
        num, _, unit = spec.partition("|")
        return f"{float(jnp.mean(getattr(self, 'in_' + (unit or self.unit)))):{num or '.1f'}} {unit or self.unit}"
a, b = Q(jnp.array([1.0, 2.0]), "km"), Q(jnp.array(30.0), "cm")
k = 2
---
total = a + b
twice = k * total
d = twice.in_km
order = "less" if b < a else "more"
try:
    twice.in_miles
except AttributeError as e:
    why = str(e)
labels = [f"{q:.2f|cm}" for q in (a, b)] + [f"{twice}"]
ratio = jax.grad(lambda v: (Q(v, "km") + b).in_cm.sum())(a.v)
print(order, why, *labels, sep="; ")
d, ratio
---
Q._units["miles"] = 1609.344
---
k = jnp.float32(0.5); b.unit = "km"
---
Q._units.pop("miles", None); a = Q(7, "m")

### jaw-log-lines-parsed-by-regex-into-columns-and-rates
text = '''2024-03-01T10:00:00 INFO loss=0.91 lr=1e-3 node=a
2024-03-01T10:00:30 WARN loss=0.85 lr=1e-3 node=b
2024-03-01T10:01:10 INFO loss=0.60 lr=5e-4 node=a
garbage line
2024-03-01T10:02:00 INFO loss=0.55 lr=5e-4 node=b'''
pat = re.compile(r"(?P<at>\S+) (?P<lvl>[A-Z]+) loss=(?P<loss>[\d.]+) lr=(?P<lr>\S+) node=(?P<node>\w)")
window = 2
---
rows = [m.groupdict() for line in text.splitlines() if (m := pat.match(line))]
skipped = text.count("\n") + 1 - len(rows)
loss = jnp.array([float(r["loss"]) for r in rows])
at = [datetime.datetime.fromisoformat(r["at"]) for r in rows]
secs = jnp.array([(t - at[0]).total_seconds() for t in at])
rate = -jnp.diff(loss) / jnp.diff(secs)
smooth = jnp.convolve(loss, jnp.ones(window) / window, mode="valid")
by_node = defaultdict(list)
for r, l in zip(rows, loss):
    by_node[r["node"]].append(l)
means = {n: jnp.stack(v).mean() for n, v in sorted(by_node.items())}
print(skipped, {n: f"{m:.3f}" for n, m in means.items()}, f"{rate.max():.2e}")
smooth
---
window = 3
---
text += "\n2024-03-01T10:03:00 INFO loss=0.5 lr=1e-4 node=c"
---
pat = re.compile(pat.pattern.replace("[A-Z]+", "INFO"))
---
text = "nothing"

### jaw-event-bus-of-handlers-with-priorities-and-once
class Bus:
    def __init__(self): self.handlers, self.seq = [], itertools.count()
    def on(self, event, priority=0, once=False):
        def deco(fn):
            heapq.heappush(self.handlers, (-priority, next(self.seq), event, once, fn))
            return fn
        return deco
    def emit(self, event, value):
        kept = []
        for item in sorted(self.handlers, key=lambda h: h[:2]):
            if item[2] in (event, "*"):
                out = item[4](value)
                value = value if out is None else out
                if item[3]: continue
            kept.append(item)
        self.handlers = kept
        return value
bus = Bus()
seen = []
@bus.on("data", priority=1)
def double(v): return v * 2
@bus.on("*")
def note(v): seen.append(v.shape if hasattr(v, "shape") else v)
@bus.on("data", once=True)
def centre(v): return v - v.mean()
x = jnp.array([1.0, 2.0, 6.0])
---
y = bus.emit("data", x)
z = bus.emit("other", y.sum())
spread = jnp.ptp(y)
n = len(bus.handlers)
names = [h[4].__name__ for h in sorted(bus.handlers, key=lambda h: h[:2])]
print(names, seen[-2:], f"{spread:.2f}")
y
---
@bus.on("data", priority=-1)
def square(v): return v ** 2
---
bus.handlers = [h for h in bus.handlers if h[4] is not double]
---
x = jnp.ones((2, 2)); bus.on("data", once=True)(lambda v: v.T + jnp.arange(2))

### jaw-image-buffer-views-blended-in-place-then-jax
canvas = np.zeros((8, 8), np.float32)
left, right = canvas[:, :4], canvas[:, 4:]
diag = canvas.ravel()[::9]
alpha = 0.5
blur = jnp.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]) / 16
---
left += np.arange(4)
right[...] = alpha * right + (1 - alpha) * left[:, ::-1]
diag[:] = 9
soft = jax.scipy.signal.convolve2d(canvas, blur, mode="same")
canvas[2:4] = np.asarray(soft)[2:4]
row = canvas[3]
row *= 2
edge = jnp.hypot(*jnp.gradient(jnp.asarray(canvas)))
flag = np.shares_memory(left, canvas), diag.base is not None, row.flags.owndata
canvas.flat[0] = float(edge.max())
print(flag, f"{canvas.sum():.2f} {left.mean():.3f}", soft.dtype)
edge[0]
---
alpha = 0.1
---
canvas[:] = 1
---
right = canvas[::2, 4:]; left = canvas[::2, :4]
---
canvas = np.ones((4, 4)); left, right = canvas[:, :2], canvas[:, 2:]; diag = canvas[0, 1:2]

### jaw-fractions-and-decimals-fed-to-weights
parts = [Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)]
price = Decimal("19.99")
values = jnp.array([3.0, 6.0, 9.0])
---
w = jnp.array([float(p) for p in parts])
mean = jnp.dot(w, values)
exact = sum(p * int(v) for p, v in zip(parts, values))
vat = (price * Decimal("0.19")).quantize(Decimal("0.01"))
net = float(price) - values * float(vat) / 10
common = math.lcm(*(p.denominator for p in parts))
ints = jnp.array([p.numerator * common // p.denominator for p in parts])
approx = Fraction(float(mean)).limit_denominator(50)
check = abs(approx - exact) < Fraction(1, 1000)
print(exact, approx, vat, check, f"{mean:.3f}", ints)
net.round(2)
---
parts[0] = Fraction(1, 4)
---
price = Decimal("5"); values = values * 2
---
values = jnp.array([1, 2, 4]); parts = [Fraction(k, 7) for k in (1, 2, 4)]

### jaw-thread-pool-maps-over-chunks-while-cell-computes
def slow_stats(chunk):
    return chunk.mean(), chunk.max(), threading.current_thread() is not threading.main_thread()
data = np.arange(24, dtype=np.float64).reshape(4, 6)
workers, shift = 2, 1.0
---
with ThreadPoolExecutor(workers) as pool:
    futures = [pool.submit(slow_stats, row + shift) for row in data]
    local = jnp.asarray(data).sum(1)
    got = [f.result() for f in futures]
means = jnp.array([g[0] for g in got])
peak = max(g[1] for g in got)
gap = local / data.shape[1] - means
norm = jnp.linalg.norm(gap)
print(all(g[2] for g in got), peak, f"{norm:.2f}")
means, type(peak).__name__
---
shift = 0
---
data = data[::2]
---
def slow_stats(chunk): return jnp.mean(chunk), float(chunk.min()), True

### jaw-queue-worker-thread-running-beside-cells
inbox, outbox, stop = queue.Queue(), queue.Queue(), threading.Event()
state = {"done": 0, "scale": 2.0}
def worker():
    while not stop.is_set():
        try: item = inbox.get(timeout=0.02)
        except queue.Empty: continue
        outbox.put((item[0], item[1] * state["scale"]))
        state["done"] += 1
        inbox.task_done()
t = threading.Thread(target=worker, daemon=True); t.start()
xs = jnp.arange(6.0).reshape(3, 2)
---
for i, row in enumerate(np.asarray(xs)):
    inbox.put((i, row.sum()))
inbox.join()
res = sorted(outbox.get() for _ in range(len(xs)))
r = jnp.array([v for _, v in res], jnp.float32)
scaled = xs / r[:, None].clip(1)
z = scaled.sum() * state["scale"]
print(state["done"], [f"{v:.1f}" for _, v in res], t.is_alive())
z
---
state["scale"] = 3
---
xs = xs + 1; state["done"] = 0
---
xs = xs[:1]

### jaw-registry-with-decorators-timers-and-retries-on-helpers
registry, attempts = {}, Counter()
def retry(times=2, on=(ValueError,)):
    def deco(fn):
        @wraps(fn)
        def wrapper(*a, **k):
            for n in range(times + 1):
                try:
                    attempts[fn.__name__] += 1
                    return fn(*a, **k, attempt=n)
                except on as e:
                    wrapper.last_error = f"{type(e).__name__}: {e}"
            raise RuntimeError(f"{fn.__name__} gave up after {times + 1}") from e
        registry[fn.__name__] = wrapper
        wrapper.last_error = None
        return wrapper
    return deco
@retry(times=2)
def solve(A, b, attempt=0):
    if attempt < fails:
        raise ValueError(f"not yet at {attempt}")
    return jnp.linalg.solve(A + damp * 10 ** attempt * jnp.eye(len(A)), b)
A, b = jnp.array([[2.0, 1.0], [1.0, 3.0]]), jnp.array([1.0, 2.0])
fails, damp = 1, 1e-3
---
try:
    x = registry["solve"](A, b)
    status = "ok"
except RuntimeError as err:
    x = jnp.full_like(b, jnp.nan)
    status = f"{err} <- {err.__cause__ or err.__context__}"
resid = A @ x - b
print(status, solve.last_error, dict(attempts))
jnp.isfinite(resid).all()
---
fails = 0
---
fails = 5
---
A = A.at[0, 0].set(100.0); fails = 2; damp = 1

### jaw-context-managers-stack-scopes-of-names
class Scope:
    stack = []
    def __init__(self, name, **vals): self.name, self.vals = name, vals
    def __enter__(self): Scope.stack.append(self); return self
    def __exit__(self, et, ev, tb):
        Scope.stack.pop()
        self.closed = et.__name__ if et else "clean"
        return et is KeyError
    @classmethod
    def get(cls, key, default=None):
        for s in reversed(cls.stack):
            if key in s.vals: return s.vals[key]
        if default is None: raise KeyError(key)
        return default
def layer(x): return jnp.tanh(Scope.get("gain", 1.0) * x + Scope.get("bias"))
x, gain = jnp.array([0.1, -0.2]), 2.0
---
path = []
with Scope("outer", bias=jnp.array(0.5)) as outer:
    a = layer(x)
    with Scope("inner", gain=gain) as inner:
        b = layer(x)
        path.append(".".join(s.name for s in Scope.stack))
with Scope("bare") as bare:
    c = a
    c = layer(x)
d = a - b
print(path, outer.closed, bare.closed, len(Scope.stack))
c is a, d
---
gain = 0.5
---
x = jnp.ones(3)
---
Scope.stack.append(Scope("root", bias=1))

### jaw-singledispatch-serialiser-to-json-and-back cold
@singledispatch
def enc(o): return o
@enc.register
def _(o: jax.Array): return {"__jax__": o.tolist(), "dtype": o.dtype.name, "weak": o.weak_type}
@enc.register
def _(o: np.ndarray): return {"__np__": o.tolist(), "dtype": o.dtype.str}
@enc.register(dict)
def _(o): return {k: enc(v) for k, v in o.items()}
@enc.register(list)
@enc.register(tuple)
def _(o): return [enc(v) for v in o]
def hook(d):
    if "__jax__" in d: return jnp.array(d["__jax__"], d["dtype"])
    if "__np__" in d: return np.array(d["__np__"], d["dtype"])
    return d
tree = {"w": jnp.ones((2, 2)), "hist": [1, 2.5, np.float64(3)], "ids": np.arange(3), "s": "text", "n": None}
---
tree["w"] = tree["w"] * 1.5 + jnp.eye(2)
tree["step"] = tree.get("step", 0) + 1
tree["lr"] = jnp.asarray(0.1) * tree["step"]
text = json.dumps(enc(tree), sort_keys=True)
back = json.loads(text, object_hook=hook)
kinds = {k: type(v).__name__ for k, v in back.items()}
delta = jnp.abs(back["w"] - tree["w"]).max()
print(text, kinds, sep="\n")
delta, back["lr"].weak_type
---
tree["w"] = tree["w"].astype(jnp.bfloat16)
---
tree["hist"].append(jnp.int32(4))
---
@enc.register(type(None))
def _(o): return "null!"

### jaw-csv-roundtrip-with-tempfile-and-sniffer
rows = [("name", "x", "y"), ("p", 1.5, 2), ("q", 2.5, 4), ("r", -1.0, 8)]
delim = ";"
---
with tempfile.TemporaryDirectory() as d:
    path = Path(d) / "pts.csv"
    with path.open("w", newline="") as fh:
        csv.writer(fh, delimiter=delim).writerows(rows)
    with path.open(newline="") as fh:
        dialect = csv.Sniffer().sniff(fh.read(64), delimiters=";,|")
        fh.seek(0)
        recs = list(csv.DictReader(fh, dialect=dialect))
    size = path.stat().st_size
xy = jnp.array([[float(r["x"]), float(r["y"])] for r in recs])
c = xy - xy.mean(0)
u, s, vt = jnp.linalg.svd(c, full_matrices=False)
axis = vt[0] * jnp.sign(vt[0, 0])
far = recs[int(jnp.argmax(jnp.abs(c @ axis)))]["name"]
print(dialect.delimiter, far, size, path.exists(), s.shape)
axis
---
delim = "|"
---
rows.append(("s", 0.0, 0))
---
rows = [rows[0]] + [(n, -x, y) for n, x, y in rows[1:]]; delim = ","

### jaw-match-statement-shapes-and-commands
@dataclass
class Move:
    dx: float
    dy: float = 0.0
@dataclass
class Scale:
    by: Any
program = [Move(1.0, 2.0), Scale(2.0), ("rotate", 90), {"op": "clip", "lo": 0}, "noop"]
pts = jnp.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
---
trace = []
for cmd in program:
    match cmd:
        case Move(dx=0.0, dy=0.0): trace.append("still")
        case Move(dx, dy): pts = pts + jnp.array([dx, dy]); trace.append(f"move {dx:g}")
        case Scale(by=float() | int() as k): pts = pts * k; trace.append(f"scale {k}")
        case Scale(by=jax.Array(shape=())): pts = pts * cmd.by; trace.append("scaled by array")
        case Scale(by): pts = pts * jnp.asarray(by); trace.append(f"vec {len(by)}")
        case ("rotate", deg) if deg % 90 == 0:
            c, s = round(math.cos(math.radians(deg))), round(math.sin(math.radians(deg)))
            pts = pts @ jnp.array([[c, s], [-s, c]])
        case {"op": "clip", **rest}: pts = jnp.clip(pts, rest.get("lo"), rest.get("hi"))
        case str(word): trace.append(word.upper())
        case _: raise TypeError(f"what is {cmd!r}?")
match pts.shape:
    case (n, 2): area = jnp.cross(pts[1] - pts[0], pts[2] - pts[0]) / 2
    case (n, d): area = None
print(trace, n)
pts, area
---
program = [Scale(jnp.array(0.5)), Scale([1, 2]), Move(0.0)]
---
program = [("rotate", 180), {"op": "clip", "hi": 1.0, "lo": None}, Move(jnp.float32(1.0))]
---
program = [Scale(True), Move(3), ("rotate", 45)]
---
program = []; pts = jnp.zeros((3, 3))

### jaw-memo-decorated-recursion-over-arrays-by-bytes
memo, hits = {}, Counter()
def memoised(fn):
    @wraps(fn)
    def wrapper(x, n):
        k = (fn.__name__, np.asarray(x).tobytes(), n)
        if k in memo: hits["hit"] += 1
        else: hits["miss"] += 1; memo[k] = fn(x, n)
        return memo[k]
    return wrapper
@memoised
def cheb(x, n):
    if n == 0: return jnp.ones_like(x)
    if n == 1: return x
    return 2 * x * cheb(x, n - 1) - cheb(x, n - 2)
grid = jnp.cos(jnp.pi * (jnp.arange(4) + 0.5) / 4)
order = 4
---
T = jnp.stack([cheb(grid, n) for n in range(order)])
gram = T @ T.T
ortho = jnp.abs(gram - jnp.diag(jnp.diag(gram))).max() < 1e-5
coef = T @ jnp.exp(grid) * 2 / len(grid)
coef = coef.at[0].multiply(0.5)
print(dict(hits), len(memo), bool(ortho))
coef
---
order = 6
---
memo.clear(); hits.clear()
---
grid = jnp.cos(jnp.pi * (jnp.arange(5) + 0.5) / 5)

### jaw-userdict-and-userlist-containers-of-measures
class Params(UserDict):
    def __setitem__(self, k, v):
        self.history = getattr(self, "history", []) + [k]
        super().__setitem__(k.lower(), jnp.asarray(v))
    def __missing__(self, k): return jnp.zeros(())
class Series(UserList):
    @property
    def mean(self): return sum(self.data) / len(self.data)
    def __getitem__(self, i):
        return type(self)(self.data[i]) if isinstance(i, slice) else self.data[i] * 1
p = Params(A=1.0, B=[1, 2])
s = Series([jnp.array(1.0), 2.0, 3])
---
p["C"] = p["a"] + p["b"].sum()
p["D"] = p["zz"] + 1
s.append(p["c"])
s += [0.5]
tail = s[-2:]
last = s[-1]
both = p | {"E": 2}
kinds = [type(v).__name__ for v in s]
print(sorted(both), p.history, kinds, f"{s.mean:.2f} {tail.mean:.3f}")
last, p["c"].dtype, type(both).__name__
---
s = Series([1])
---
p["A"] = np.int8(3)
---
del p["b"]; s.clear()

### jaw-warnings-counted-and-turned-to-errors-by-filter
def safe_log(x):
    if bool((x <= 0).any()):
        warnings.warn(f"{int((x <= 0).sum())} values not positive", RuntimeWarning, stacklevel=2)
    return jnp.log(jnp.maximum(x, 1e-3))
x = jnp.array([1.0, 0.0, -2.0])
action = "always"
---
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter(action)
    y = safe_log(x)
    z = safe_log(x + 3)
texts = [str(w.message) for w in caught]
total = y.sum() + z.sum()
try:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        safe_log(x)
    strict = "fine"
except RuntimeWarning as w:
    strict = f"raised {w}"
print(texts, strict, len(caught))
del caught
total
---
action = "ignore"
---
x = jnp.abs(x) + 1
---
x = jnp.full(4, -1); action = "once"

### jaw-logging-filters-and-adapters-around-a-sweep
logger = logging.Logger("jaw.sweep", logging.INFO); logger.parent = logging.getLogger()
class Every(logging.Filter):
    def __init__(self, n): super().__init__(); self.n, self.k = n, 0
    def filter(self, rec): self.k += 1; return self.k % self.n == 0
flt = Every(2)
logger.filters[:] = [flt]
adapter = logging.LoggerAdapter(logger, {"run": "r1"})
adapter.process = lambda msg, kw: (f"[r1] {msg}", kw)
alphas = [0.1, 0.5, 0.9]
x = jnp.array([1.0, 3.0, 2.0])
---
out = {}
for a in alphas:
    ema = lax.scan(lambda c, v: (a * c + (1 - a) * v,) * 2, 0.0, x)[1]
    out[a] = ema[-1]
    adapter.info("alpha %.1f gives %.3f", a, ema[-1])
    logger.debug("never %s", ema)
best = max(out, key=lambda a: out[a])
if flt.k > 4:
    adapter.warning("many: %d", flt.k)
print(best, flt.k)
out[best]
---
alphas = alphas + [0.99]
---
flt.n = 1
---
logger.setLevel(logging.ERROR); x = x[::-1]

### jaw-sys-modules-stub-and-monkeypatched-backend
stub = types.ModuleType("jaw_backend")
stub.scale = 2.0
stub.kernel = lambda a, b: jnp.exp(-stub.scale * (a - b) ** 2)
stub.calls = []
pts = jnp.linspace(0, 1, 4)
---
sys.modules["jaw_backend"] = stub
import jaw_backend
from jaw_backend import kernel
K = kernel(pts[:, None], pts[None])
jaw_backend.calls.append(K.shape)
if len(jaw_backend.calls) % 2:
    jaw_backend.scale += 1
old, jaw_backend.kernel = jaw_backend.kernel, lambda a, b: a * b
try:
    lin = jaw_backend.kernel(pts, 2.0)
    still = kernel(pts[0], pts[1])
finally:
    jaw_backend.kernel = old
vals = jnp.linalg.eigvalsh(K)
print(jaw_backend.scale, len(jaw_backend.calls), sys.modules["jaw_backend"] is stub, f"{vals.max():.3f}")
lin, still
---
stub.scale = 0.5
---
stub.kernel = lambda a, b: jnp.minimum(a, b) * stub.scale
---
pts = pts[:2]

### jaw-generator-coroutine-running-stats-with-send-and-close
def welford():
    n, mean, m2 = 0, 0.0, 0.0
    closed = []
    try:
        while True:
            x = yield (n, mean, m2 / n if n else 0.0)
            if x is None: continue
            n += 1
            d = x - mean
            mean = mean + d / n
            m2 = m2 + d * (x - mean)
    finally:
        ended.append(n)
ended = []
stream = jnp.array([1.0, 4.0, 2.5, 8.0])
---
w = welford()
next(w)
for v in stream:
    n, mean, var = w.send(v)
next(w)
w.close()
ref = stream.var()
close = bool(jnp.isclose(ref, var))
z = (stream - mean) / jnp.sqrt(var)
print(n, close, ended, f"{mean:.3f}")
z
---
stream = stream[:2]
---
stream = np.array([1, 2, 3, 4])
---
stream = jnp.ones((3, 2))

### jaw-slots-properties-and-class-level-counters-particles
class Particle:
    __slots__ = ("_pos", "vel", "mass", "__weakref__")
    count, box = 0, 10.0
    def __init__(self, pos, vel, mass=1.0):
        self.pos, self.vel, self.mass = pos, vel, mass
        Particle.count += 1
    @property
    def pos(self): return self._pos
    @pos.setter
    def pos(self, p): self._pos = jnp.mod(p, self.box)
    @pos.deleter
    def pos(self): self._pos = jnp.zeros(2)
    @property
    def kinetic(self): return 0.5 * self.mass * (self.vel ** 2).sum()
    def __matmul__(self, o): return jnp.vdot(self.vel, o.vel)
    def __iter__(self): yield from (self.pos, self.vel)
    def __eq__(self, o): return bool((self.pos == o.pos).all())
    def __hash__(self): return id(self)
ps = [Particle(jnp.array([1.0, 9.5]), jnp.array([0.3, 0.9])), Particle(jnp.array([5.0, 5.0]), jnp.array([-1.0, 0.2]), 2.0)]
dt = 0.5
---
for p in ps:
    p.pos += dt * p.vel
    if p.pos[1] < 1:
        p.vel = -p.vel
born = Particle(*ps[0])
same = born == ps[0], born in ps
del born.pos
ke = sum(p.kinetic for p in ps)
dots = ps[0] @ ps[1]
(px, pv), *others = ps
print(Particle.count, same, f"{ke:.3f} {dots:.3f}", born.pos)
px
---
Particle.box = 2.0
---
dt = -1
---
ps[0].mass = jnp.float32(3); ps.append(Particle(jnp.zeros(2), jnp.ones(2)))

### jaw-mutable-defaults-and-nonlocal-closures-of-filters
def push(x, seen=[], totals={"n": 0}):
    seen.append(x)
    totals["n"] += 1
    return jnp.stack(seen[-3:]).mean(0)
def make_iir(a):
    y = jnp.zeros(2)
    count = 0
    def step(x):
        nonlocal y, count
        y = a * y + (1 - a) * x
        count += 1
        return y
    def peek(): return count, y
    return step, peek
step, peek = make_iir(0.8)
sig = jnp.array([[1.0, 0.0], [0.0, 1.0]])
---
for row in sig:
    m = push(row)
    f = step(row)
n, y = peek()
fresh, fpeek = make_iir(0.5)
g = fresh(f)
defaults = push.__defaults__[1]["n"], len(push.__defaults__[0])
print(n, defaults, fpeek()[0], y is f)
m, g
---
push.__defaults__[0].clear()
---
sig = sig * 3
---
step, peek = make_iir(jnp.array([0.1, 0.9]))
---
push.__defaults__ = ([jnp.ones(2)], {"n": 100}); h = fresh(jnp.ones(2)), fpeek()

### jaw-pretty-table-of-array-reprs-and-format-specs
arrs = {"f32": jnp.array([1.5, -2.25]), "i8": jnp.array([1, -2], jnp.int8), "bool": jnp.array([True, False]),
        "c64": jnp.array([1 + 2j]), "bf16": jnp.array([3.14159], jnp.bfloat16), "empty": jnp.zeros((0, 2))}
prec = 3
---
lines = []
for name, a in arrs.items():
    b = a + a
    lines.append(f"{name:<6}|{b!r:>40}|{b.dtype!s:^9}|{b.nbytes:04d}")
x = arrs["f32"][0] / 4
lines += [f"{x:.{prec}e}", f"{x:+08.2f}", f"{x!s}", "%r %s %d" % (x, x, x), "{0:g}/{0.dtype}/{0.ndim}".format(x)]
with np.printoptions(precision=prec, suppress=True):
    lines.append(str(arrs["f32"] / 8))
lines.append(np.array2string(np.asarray(arrs["f32"] / 8), precision=prec))
i = arrs["i8"].astype(jnp.int32).sum()
lines += [f"{i:>5d}|{i:#x}|{int(i):b}", str([x, i]), str({"k": (x,)})]
print("\n".join(lines))
len(lines)
---
prec = 1
---
arrs["f32"] = jnp.array([1e10, -1e-10])
---
arrs = {**arrs, "nested": jnp.arange(12.0).reshape(3, 4), "i8": jnp.array([100, 27], jnp.int8)}

### jaw-numpy-structured-lookup-and-searchsorted-schedule
sched = np.array([(0, 0.1, "warm"), (10, 0.05, "main"), (20, 0.01, "cool")],
                 dtype=[("start", "i4"), ("lr", "f8"), ("name", "U4")])
steps = [0, 9, 10, 25]
---
starts = jnp.asarray(sched["start"])
lrs = jnp.asarray(sched["lr"])
idx = jnp.searchsorted(starts, jnp.array(steps), side="right") - 1
lr = lrs[idx]
names = sched["name"][np.asarray(idx)]
sched["lr"] *= 0.5
sched[int(idx[-1])]["name"] = "last"
rec = sched[0]
rec["start"] -= 1
area = jnp.trapezoid(lr, jnp.array(steps, float))
print(names.tolist(), sched["name"].tolist(), rec, f"{area:.3f}")
lr, names.dtype.str
---
steps = [3, 30]
---
sched = np.append(sched, np.array([(40, 1.0, "x")], sched.dtype))
---
sched = sched[::-1][::-1].copy(); sched["start"] = [0, 5, 8, 9][:len(sched)]

### jaw-meshes-placements-of-indexing-and-reductions devices=8
mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
sh = lambda *spec: NamedSharding(mesh, P(*spec))
a = jax.device_put(jnp.arange(64.0).reshape(8, 8), sh("x", "y"))
v = jax.device_put(jnp.arange(8), sh("y"))
k = 3
---
row, col = a[k], a[:, k]
flat = a.reshape(-1)
back = flat.reshape(4, 16)
t3 = a.reshape(2, 4, 8).transpose(2, 0, 1)
s, m = a.sum(0), a.max()
srt = jnp.sort(a, axis=0)
one = jax.nn.one_hot(v, 8)
outer = jnp.outer(v, v)
padded = jnp.pad(a, 1)
part = jnp.where(a > 10, a, v)
pieces = jnp.split(a, 2)
q = jnp.flip(a, 1)[::2]
eye = jnp.eye(8) + a
cast = a.astype(jnp.bfloat16)
specs = [str(x.sharding.spec) if isinstance(x.sharding, NamedSharding) else type(x.sharding).__name__ for x in (row, flat, s)]
print(specs, m)
pieces[0].shape, one.dtype
---
k = jnp.int32(5)
---
a = jax.device_put(a, sh(None, ("x", "y")))
---
v = jax.device_put(v.astype(float), sh()); a = jax.device_put(a, sh("y", "x"))
---
a = jax.device_put(np.asarray(a), jax.devices()[2]); v = np.arange(8)

### jaw-default-device-and-pinned-inputs-in-helper devices=8
devs = jax.devices()
@contextlib.contextmanager
def on(i):
    with jax.default_device(devs[i]): yield devs[i]
x = jnp.arange(4.0)
y = jax.device_put(x, devs[2])
where = 3
---
with on(where) as d:
    a = jnp.ones(4)
    b = a + x
    c = jnp.zeros_like(y)
    n = jnp.asarray(np.arange(3))
e = jnp.ones(4) * 2
f = jax.jit(lambda z: z * 2, device=devs[1])(x) if False else jax.device_put(x * 2, devs[1])
g = f + np.ones(4, np.float32)
h = jnp.array([1.0, 2.0], device=devs[where])
ids = {k: sorted(dv.id for dv in v.devices()) for k, v in dict(a=a, b=b, c=c, n=n, e=e, g=g, h=h).items()}
print(ids, d.id, [v.committed for v in (a, b, c, g, h)])
y + 1
---
where = 0
---
x = jax.device_put(x, devs[5])
---
y = jax.device_put(y, devs[7]); x = np.arange(4.0); where = 7

### jaw-tokeniser-and-shunting-yard-calculator-over-columns
cols = {"a": jnp.array([1.0, 2.0, 3.0]), "b": jnp.array([0.5, 0.0, -1.0]), "k": 2}
formula = "(a + b) * k - max(a) ^ 2 / 4"
prec = {"+": (1, operator.add), "-": (1, operator.sub), "*": (2, operator.mul), "/": (2, operator.truediv), "^": (3, operator.pow)}
funcs = {"max": jnp.max, "abs": abs, "sqrt": lambda v: jnp.sqrt(jnp.abs(v))}
---
tokens = re.findall(r"[A-Za-z_]\w*|\d+\.?\d*|[-+*/^()]", formula)
out, ops = [], []
def apply():
    op = ops.pop()
    if op in funcs: out.append(funcs[op](out.pop()))
    else:
        r, l = out.pop(), out.pop()
        out.append(prec[op][1](l, r))
for t in tokens:
    if t[0].isdigit(): out.append(float(t) if "." in t else int(t))
    elif t in funcs or t == "(": ops.append(t)
    elif t in cols: out.append(cols[t])
    elif t == ")":
        while ops[-1] != "(": apply()
        ops.pop()
        if ops and ops[-1] in funcs: apply()
    else:
        while ops and ops[-1] in prec and prec[ops[-1]][0] >= prec[t][0]: apply()
        ops.append(t)
while ops: apply()
(result,) = out
kinds = Counter("name" if t.isidentifier() else "number" if t[0].isdigit() else "op" for t in tokens)
print(dict(kinds), len(tokens), getattr(result, "dtype", type(result)))
result
---
formula = "k ^ 3 - 2"
---
formula = "sqrt(b - 1.5) * abs(a)"; cols["a"] = jnp.array([1, -2, 3])
---
formula = "a + )"
---
funcs["abs"] = lambda v: v * jnp.sign(v); formula = "abs(b)/k"

### jaw-event-simulation-heap-with-dataclass-ordering
@dataclass(order=True)
class Event:
    at: float
    kind: str = field(compare=False)
    load: Any = field(compare=False, default=None)
rates = {"arrive": 0.7, "serve": 1.0}
seed, horizon = 0, 6.0
---
rng = np.random.default_rng(seed)
heap = [Event(0.0, "arrive")]
waiting, served, log = deque(), [], []
busy = False
while heap and (ev := heapq.heappop(heap)).at < horizon:
    log.append((round(ev.at, 2), ev.kind))
    match ev.kind:
        case "arrive":
            heapq.heappush(heap, Event(ev.at + rng.exponential(1 / rates["arrive"]), "arrive"))
            waiting.append(ev.at)
        case "done":
            served.append(ev.at - ev.load)
            busy = False
    if waiting and not busy:
        heapq.heappush(heap, Event(ev.at + rng.exponential(1 / rates["serve"]), "done", waiting.popleft()))
        busy = True
w = jnp.array(served) if served else jnp.zeros(1)
q = jnp.quantile(w, jnp.array([0.25, 0.5, 0.9]))
little = w.mean() * rates["arrive"]
print(log[:3], len(served), len(waiting), f"{little:.2f}")
q
---
seed = 3
---
rates["serve"] = 0.1
---
horizon = 0.01

### jaw-inventory-of-bytes-struct-packed-from-arrays
import struct, zlib, base64, hashlib
def pack(name, a):
    a = np.asarray(a)
    head = struct.pack("<8sB", name.encode()[:8].ljust(8, b"\0"), a.ndim) + struct.pack(f"<{a.ndim}I", *a.shape)
    return head + a.dtype.str.encode().ljust(4) + a.tobytes()
def unpack(buf):
    name, nd = struct.unpack_from("<8sB", buf)
    shape = struct.unpack_from(f"<{nd}I", buf, 9)
    dt = buf[9 + 4 * nd:13 + 4 * nd].decode().strip()
    return name.rstrip(b"\0").decode(), np.frombuffer(buf, dt, offset=13 + 4 * nd).reshape(shape)
arrs = {"weights": jnp.arange(6, dtype=jnp.float32).reshape(2, 3), "ids": jnp.array([1, 2], jnp.int16)}
level = 6
---
blobs = {n: zlib.compress(pack(n, a * 2), level) for n, a in arrs.items()}
names, back = zip(*(unpack(zlib.decompress(b)) for b in blobs.values()))
total = sum(jnp.sum(b.astype(float)) for b in back)
digest = hashlib.sha1(b"".join(pack(n, a) for n, a in arrs.items())).hexdigest()[:8]
text = base64.b64encode(back[0].tobytes()).decode()
views = [b.flags.writeable for b in back]
again = jnp.asarray(back[0])[::-1]
print(names, digest, text[:12], views, f"{total:.1f}")
again, back[1].dtype.str
---
arrs["weights"] = arrs["weights"][:1]
---
arrs = {"a-long-name": jnp.ones((1, 1, 2), jnp.uint8)}
---
level = 0; arrs["b"] = jnp.array(True)

### jaw-late-binding-closures-in-lists-and-dicts-of-lambdas
scale = 3.0
basis = [lambda x: x ** i for i in range(3)]
fixed = [lambda x, i=i: x ** i for i in range(3)]
x = jnp.array([1.0, 2.0])
---
made = [lambda v: v * k + scale for k in range(3)]
table = {n: (lambda v, n=n: v + len(n)) for n in ("a", "bb")}
k = 10
late = [f(x) for f in basis]
good = [f(x) for f in fixed]
mine = [f(x) for f in made]
named = {n: f(x) for n, f in table.items()}
compose = reduce(lambda f, g: lambda v: g(f(v)), [made[0], table["bb"], jnp.sum])
c = compose(x)
d = jax.grad(compose)(x)
scale_now = scale
scale += 1
e = made[1](x)
print(bool((late[0] == good[2]).all()), c, scale_now, e)
mine[2], named
---
f1 = [f(jnp.ones(1)) for f in made] + [compose(jnp.ones(1))]
---
scale = jnp.float32(0.5)
---
k = None; g1 = made[0](1); x = jnp.array([3])
---
scale = "no"

### jaw-pipeline-of-partials-with-pipe-operator-and-lazy-eval
class Pipe:
    def __init__(self, fn, *a, **k): self.fn, self.a, self.k = fn, a, k
    def __ror__(self, left): return self.fn(left, *self.a, **self.k)
    def __rshift__(self, other): return Pipe(lambda x: x | self | other)
    def __repr__(self): return f"Pipe({getattr(self.fn, '__name__', '?')})"
clip = Pipe(jnp.clip, 0.0, 1.0)
scale = Pipe(lambda x, by=1.0: x * by, by=2)
first = Pipe(lambda seq, n: list(itertools.islice(seq, n)), 2)
stack = Pipe(jnp.stack)
def rows(n):
    for i in range(n):
        pulled.append(i)
        yield jnp.arange(3.0) + i
pulled = []
n = 5
---
m = rows(n) | first | stack
both = clip >> scale
y = m | both
z = [r for r in y] | stack | Pipe(jnp.mean, axis=0)
w = 2 | scale
text = " -> ".join(map(repr, (clip, scale, both)))
print(text, pulled, w)
y, z
---
scale.k["by"] = 0.5
---
n = 1; pulled.clear()
---
clip.a = (None, jnp.array([0.0, 1.0, 2.0]))
---
first = Pipe(lambda seq, n: [r.astype(int) for r in seq][::-1][:n], 3)

### jaw-sparse-dict-of-keys-matrix-with-slicing-protocol
class DOK:
    def __init__(self, shape): self.shape, self.d = shape, {}
    def _norm(self, k):
        i, j = k
        return [range(*s.indices(n)) if isinstance(s, slice) else [operator.index(s)] for s, n in zip((i, j), self.shape)]
    def __setitem__(self, k, v):
        for i in self._norm(k)[0]:
            for j in self._norm(k)[1]: self.d[i, j] = v
    def __getitem__(self, k):
        I, J = self._norm(k)
        out = jnp.array([[self.d.get((i, j), 0.0) for j in J] for i in I])
        return out[0, 0] if out.size == 1 else out
    def __contains__(self, k): return k in self.d
    def __matmul__(self, v):
        y = [0.0] * self.shape[0]
        for (i, j), a in self.d.items(): y[i] = y[i] + a * v[j]
        return jnp.stack([jnp.asarray(t, float) for t in y])
    def __len__(self): return len(self.d)
m = DOK((3, 4))
m[0, 1] = 2.0; m[2, :] = 1.5
v, at = jnp.arange(4.0), 1
---
y = m @ v
m[at, 0] = y[0]
sub = m[1:, ::2]
diag = [m[i, i] for i in range(3)]
asked = (at, 0) in m, (9, 9) in m, len(m)
full = m[:, :]
err = jnp.abs(full @ v - (m @ v)).max()
i = jnp.argmax(y)
picked = m[i, int(i)]
print(asked, f"{err:.1e}", int(i), [f"{d:.1f}" for d in diag])
sub, picked
---
v = v[::-1]
---
at = jnp.array(0)
---
m.d.clear()
---
m[0, 0] = 7; v = np.arange(4)

### jaw-state-machine-parsing-gcode-into-toolpaths
gcode = '''G90
G0 X0 Y0 ; home
G1 X10 Y0 F600
G1 X10 Y5
G91
G1 X-4 (relative)
M5
G1 Y2.5 F300'''
tol = 1e-6
---
pos, absolute, feed = jnp.zeros(2), True, 600.0
path, skipped, took = [pos], [], 0.0
for no, line in enumerate(gcode.splitlines(), 1):
    line = re.sub(r"\(.*?\)|;.*", "", line).strip()
    words = dict((w[0], float(w[1:])) for w in line.split())
    match words:
        case {"G": 90.0}: absolute = True
        case {"G": 91.0}: absolute = False
        case {"G": 0.0 | 1.0, **rest}:
            feed = rest.get("F", feed)
            want = jnp.array([rest.get(a, float(p) if absolute else 0.0) for a, p in zip("XY", pos)])
            new = want if absolute else pos + want
            took += jnp.linalg.norm(new - pos) / feed * 60
            pos = new
            path.append(pos)
        case _: skipped.append((no, line))
pts = jnp.stack(path)
seg = jnp.linalg.norm(jnp.diff(pts, axis=0), axis=1)
box = pts.max(0) - pts.min(0)
moves = int((seg > tol).sum())
print(skipped, moves, f"{took:.2f}s", box)
pts[-1]
---
gcode += "\nG90\nG1 X0 Y0"
---
gcode = gcode.replace("G91", "G92")
---
gcode = "G0 X1"

### jaw-observers-properties-and-dependent-cells-like-a-spreadsheet
class Sheet:
    def __init__(self): self.cells, self.cache, self.evals = {}, {}, Counter()
    def __setitem__(self, k, v):
        self.cells[k] = v
        self.cache.clear()
    def __getitem__(self, k):
        if k not in self.cache:
            v = self.cells[k]
            self.evals[k] += 1
            self.cache[k] = v(self) if callable(v) else v
        return self.cache[k]
    __getattr__ = lambda self, k: self[k] if k in self.__dict__.get("cells", ()) else object.__getattribute__(self, k)
sh = Sheet()
sh["price"] = jnp.array([2.0, 3.0, 5.0])
sh["qty"] = jnp.array([10, 0, 4])
sh["total"] = lambda s: s.price * s.qty
sh["share"] = lambda s: s["total"] / s["total"].sum()
sh["top"] = lambda s: int(s.share.argmax())
---
share = sh.share
top = sh["top"]
sh["qty"] = sh.qty.at[top].add(-1)
after = sh.total
same = sh.total is after
sh["tax"] = lambda s: rate * s.total.sum()
rate = 0.2
tax = sh.tax
print(top, same, dict(sh.evals), f"{tax:.2f}")
share, after.dtype
---
rate = 0.1; t2 = sh.tax
---
sh["price"] = np.array([1.0, 1.0, 100.0])
---
sh["total"] = lambda s: jnp.where(s.qty > 3, s.price * 0.9, s.price) * s.qty
---
del sh.cells["share"]

### jaw-recursive-quadtree-of-namedtuples-and-barnes-hut
Node = namedtuple("Node", "lo size mass com kids", defaults=((),))
pts = np.random.default_rng(5).uniform(0, 1, (9, 2)).round(3)
mass = np.ones(9)
theta, leaf = 0.5, 1
---
def build(idx, lo, size, depth=0):
    m = mass[idx].sum()
    com = (mass[idx, None] * pts[idx]).sum(0) / m
    if len(idx) <= leaf or depth > 6: return Node(lo, size, m, com)
    kids = []
    for dx, dy in itertools.product((0, 1), repeat=2):
        l = lo + np.array([dx, dy]) * size / 2
        inside = [i for i in idx if ((pts[i] >= l) & (pts[i] < l + size / 2)).all()]
        if inside: kids.append(build(np.array(inside), l, size / 2, depth + 1))
    return Node(lo, size, m, com, tuple(kids))
def force(p, node):
    d = node.com - p
    r = jnp.sqrt(d @ d + 1e-3)
    if not node.kids or node.size / float(r) < theta:
        visited[0] += 1
        return node.mass * d / r ** 3
    return sum(force(p, k) for k in node.kids)
visited = [0]
tree = build(np.arange(len(pts)), np.zeros(2), 1.0)
F = jnp.stack([force(p, tree) for p in pts[:3]])
d = pts[None] - pts[:3, None]
exact = (mass[None, :, None] * d / jnp.sqrt((d ** 2).sum(-1) + 1e-3)[..., None] ** 3).sum(1)
rel = jnp.linalg.norm(F - exact) / jnp.linalg.norm(exact)
depth = lambda n: 1 + max(map(depth, n.kids), default=0)
print(visited, depth(tree), rel < 0.5, tree.mass)
F.shape
---
theta = 0.0
---
mass[0] = 10
---
pts = pts[:4]; mass = mass[:4]; leaf = 2

### jaw-interpolating-sensor-gaps-with-masked-nan-and-dates
start = datetime.datetime(2023, 12, 30, 22)
vals = np.array([1.0, np.nan, 3.0, 3.5, np.nan, np.nan, 8.0, 7.0])
step_h, limit = 6, 2
---
times = [start + datetime.timedelta(hours=step_h * i) for i in range(len(vals))]
hours = jnp.array([(t - start) / datetime.timedelta(hours=1) for t in times])
ok = ~np.isnan(vals)
x = jnp.interp(hours, hours[ok], vals[ok])
runs = [(k, len(list(g))) for k, g in itertools.groupby(ok.tolist())]
too_long = any(not k and n > limit for k, n in runs)
if too_long:
    x = jnp.where(ok, x, jnp.nan)
by_day = defaultdict(list)
for t, v in zip(times, x):
    by_day[t.date().isoformat()].append(v)
daily = {d: jnp.nanmean(jnp.array(v)) for d, v in by_day.items()}
weekday = times[-1].strftime("%a %d.%m.%y %H:%M")
slope = jnp.polyfit(hours[ok], jnp.asarray(vals[ok]), 1)[0]
vals[1] = float(x[1])
print({d: f"{v:.2f}" for d, v in daily.items()}, weekday, too_long, f"{slope:.3f}")
x
---
limit = 1
---
vals[2:4] = np.nan
---
step_h = 24; start = datetime.datetime(2024, 2, 28)

### jaw-double-dispatch-shapes-with-abc-and-registry-of-pairs
class Shape(abc.ABC):
    pairs = {}
    def __init_subclass__(cls, code="?", **kw): super().__init_subclass__(**kw); cls.code = code
    @abc.abstractmethod
    def area(self): ...
    def hits(self, o):
        f = self.pairs.get((type(self), type(o)))
        if f: return f(self, o)
        f = self.pairs.get((type(o), type(self)))
        return f(o, self) if f else NotImplemented
    @classmethod
    def on(cls, a, b):
        def deco(f): cls.pairs[a, b] = f; return f
        return deco
class Disc(Shape, code="o"):
    def __init__(self, c, r): self.c, self.r = jnp.asarray(c, float), r
    def area(self): return jnp.pi * self.r ** 2
class Box(Shape, code="#"):
    def __init__(self, lo, hi): self.lo, self.hi = jnp.asarray(lo, float), jnp.asarray(hi, float)
    def area(self): return jnp.prod(self.hi - self.lo)
@Shape.on(Disc, Disc)
def _(a, b): return jnp.linalg.norm(a.c - b.c) < a.r + b.r
@Shape.on(Disc, Box)
def _(d, b): return jnp.linalg.norm(d.c - jnp.clip(d.c, b.lo, b.hi)) < d.r
world = [Disc((0, 0), 1.0), Disc((1.5, 0), 0.75), Box((0.5, 0.5), (2, 2))]
---
grid = {}
for a, b in itertools.combinations(range(len(world)), 2):
    r = world[a].hits(world[b])
    grid[world[a].code + world[b].code, a, b] = r
touching = [k for k, r in grid.items() if r is not NotImplemented and r]
areas = jnp.stack([s.area() for s in world])
try:
    Shape()
except TypeError as e:
    msg = str(e)[:40]
mover = next(s for s in world if isinstance(s, Disc))
mover.c = mover.c + jnp.array([0.1, 0.0])
print(touching, msg, f"{areas.sum():.3f}")
areas.argmax(), [r for r in grid.values()][-1]
---
world.append(Box((0, 0), (1, 1)))
---
world[1].r = 0.1
---
@Shape.on(Box, Box)
def _(a, b): return jnp.all((a.lo < b.hi) & (b.lo < a.hi))

### jaw-numpy-strides-rolling-window-and-in-place-prefix
from numpy.lib.stride_tricks import sliding_window_view
x = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0])
win, decay = 3, 0.5
---
v = sliding_window_view(x, win)
m = jnp.asarray(v).max(1)
w = decay ** jnp.arange(win)[::-1]
avg = v @ np.asarray(w / w.sum())
np.add.accumulate(x, out=x)
later = v[0].copy()
j = jnp.asarray(x)
x[::2] *= -1
k = jnp.array(x, copy=False) if False else jnp.array(x)
signs = np.sign(x, where=x != 0, out=np.zeros_like(x))
grp = np.add.reduceat(np.asarray(k), [0, 3, 5])
rank = jnp.argsort(jnp.argsort(k))
print(later, signs.astype(int), grp.round(1), v.base is not None)
m, j - k, rank
---
win = 2
---
x = np.linspace(1, 2, 6)
---
decay = 1; x = np.arange(5.0)
---
x.flags.writeable = False

### jaw-numbers-of-every-kind-compared-hashed-and-used-as-index
xs = [True, 2, 2.0, np.float32(2), np.int64(2), jnp.int32(2), jnp.float32(2.0), 2 + 0j, Fraction(2), Decimal(2)]
items = ["zero", "one", "two", "three"]
---
eq = [x == 2 for x in xs]
hashes = {hash(x) for x in xs if not isinstance(x, jax.Array)}
idx = []
for x in xs:
    try:
        idx.append(items[x])
    except TypeError as e:
        idx.append(type(e).__name__)
rng = list(range(*map(operator.index, (jnp.int32(0), np.int64(6), xs[1]))))
rep = "ab" * xs[1] if isinstance(xs[1], int) else "ab" * jnp.int32(xs[1])
sl = items[jnp.int32(1):np.int64(3)]
total = sum(x for x in xs if not isinstance(x, (Decimal, Fraction, complex)))
big = max(jnp.int32(3), 2, key=float)
rounded = round(jnp.float32(2.567), 2), divmod(jnp.int32(7), 2), pow(jnp.int32(2), 5, ), abs(jnp.int8(-3)), -jnp.uint8(1)
chk = isinstance(xs[6] < 3, jax.Array), xs[5] in (1, 2), bool(jnp.int32(0)), jnp.float32(2).is_integer()
print(idx, len(hashes), rng, rep, sl, chk, [str(e) for e in eq])
total, rounded, big
---
xs[1] = 3
---
xs = xs[1:4] + [jnp.array([1])[0]]; xs += [0] * 3
---
items = {2: "deux", 1: "un", "s": "x"}

### jaw-try-else-finally-return-in-helpers-and-reraised-errors
events = []
def guarded(x, mode):
    try:
        events.append(f"in:{mode}")
        if mode == "nan": raise FloatingPointError("nan asked")
        if mode == "shape": return x @ jnp.ones((7, 7))
        if mode == "key": return {}[mode]
        y = x * 2
    except TypeError as e:
        events.append(type(e).__name__)
        return x
    except KeyError as e:
        raise LookupError(f"no {e}") from e
    except FloatingPointError as e:
        e.add_note("noted")
        raise
    else:
        events.append("else")
        return y
    finally:
        events.append("fin")
modes = ["ok", "shape", "key", "nan"]
x = jnp.array([1.0, 2.0])
---
res, errs = [], []
for m in modes:
    try:
        res.append(guarded(x, m))
    except LookupError as e:
        errs.append((str(e), type(e.__cause__).__name__))
    except FloatingPointError as e:
        errs.append((str(e), *e.__notes__))
    else:
        continue
    finally:
        x = x + 1
total = sum(r.sum() for r in res)
print(errs, events[-12:], len(events), f"{total:.1f}")
x, res[0] if res else None
---
modes = ["nan", "nan"]
---
modes = ["ok"] * 3; events.clear()
---
x = x[0]; modes = ["shape", "ok"]
---
modes.append("boom"); guarded.__defaults__ = ("ok",); x = "text"

### jaw-complex-impedance-sweep-with-objects-in-series-and-parallel
class Z:
    def __init__(self, f): self.f = f
    def __call__(self, w): return self.f(w)
    def __add__(self, o): return Z(lambda w: self(w) + o(w))
    def __or__(self, o): return Z(lambda w: 1 / (1 / self(w) + 1 / o(w)))
    def __radd__(self, o): return self if o == 0 else NotImplemented
R = lambda r: Z(lambda w: jnp.full(jnp.shape(w), r, complex))
C = lambda c: Z(lambda w: 1 / (1j * w * c))
L = lambda l: Z(lambda w: 1j * w * l)
net = sum([R(10.0), L(1e-3)]) + (R(100.0) | C(1e-6))
freqs = np.logspace(1, 5, 9)
---
w = 2 * np.pi * freqs
z = net(jnp.asarray(w))
mag, ph = jnp.abs(z), jnp.angle(z, deg=True)
res = freqs[int(jnp.argmin(jnp.abs(ph)))]
q = jax.vmap(jax.grad(lambda v: net(v).real))(jnp.asarray(w))
table = "\n".join(f"{f:>9.0f} Hz {m:8.2f} {p:+7.1f}" for f, m, p in zip(freqs, mag, ph))
poly = jnp.poly(jnp.array([-1.0, -2.0 + 1j, -2.0 - 1j]))
roots = np.sort_complex(np.asarray(jnp.roots(poly, strip_zeros=False)))
print(table, z.dtype, f"{res:.0f}", roots.round(2), sep="\n")
z[0], q.dtype
---
net = R(50) | (R(10.0) + C(1e-7))
---
freqs = freqs[::4]
---
freqs = np.array([1, 10, 100])

### jaw-csp-sudoku-bitmasks-with-jnp-checks
grid = np.array([[1, 0, 0, 4], [0, 0, 1, 0], [0, 1, 0, 0], [4, 0, 0, 1]])
n = 2
---
def candidates(g, i, j):
    bi, bj = i // n * n, j // n * n
    used = {*g[i], *g[:, j], *g[bi:bi + n, bj:bj + n].ravel()}
    return [v for v in range(1, n * n + 1) if v not in used]
steps = 0
def solve(g):
    global steps
    steps += 1
    empty = [(len(c := candidates(g, i, j)), i, j, c) for i, j in zip(*np.nonzero(g == 0))]
    if not empty: return g
    _, i, j, cands = min(empty, key=lambda e: e[0])
    for v in cands:
        h = g.copy(); h[i, j] = v
        if (r := solve(h)) is not None: return r
    return None
done = solve(grid)
a = jnp.asarray(done if done is not None else grid)
def ok(rows): return jnp.all(jnp.sort(rows, -1) == jnp.arange(1, n * n + 1))
boxes = a.reshape(n, n, n, n).swapaxes(1, 2).reshape(n * n, -1)
valid = ok(a) & ok(a.T) & ok(boxes)
hist = jnp.bincount(a.ravel(), length=n * n + 1)
print(steps, a if valid else "unsolved", sep="\n")
hist, a.dtype
---
grid = np.zeros((4, 4), int)
---
grid[0] = [1, 1, 0, 0]
---
grid = np.array([[0, 0, 0, 0]] * 3 + [[4, 3, 2, 1]], dtype=np.int8)

### jaw-async-tasks-gathered-with-semaphore-around-arrays
import asyncio
order = []
async def fetch(i, sem):
    async with sem:
        await asyncio.sleep(0)
        order.append(i)
        return np.full(2, i, np.float32)
async def main(n, width):
    sem = asyncio.Semaphore(width)
    parts = await asyncio.gather(*(fetch(i, sem) for i in range(n)))
    return jnp.stack([jnp.asarray(p) for p in parts])
def run(coro):
    loop = asyncio.new_event_loop()
    try: return loop.run_until_complete(coro)
    finally: loop.close()
n, width = 3, 2
scale = jnp.array([1.0, -1.0])
---
m = run(main(n, width))
y = m * scale
z = jnp.cumsum(y, 0)
class Ticker:
    def __init__(self, n): self.n = n
    def __aiter__(self): self.i = 0; return self
    async def __anext__(self):
        if self.i >= self.n: raise StopAsyncIteration
        self.i += 1
        return y.sum() * self.i
async def collect(): return [v async for v in Ticker(2)]
vals = run(collect())
print(order[-n:], [f"{v:.1f}" for v in vals], z.shape)
z[-1], vals[1]
---
n = 5; order.clear()
---
scale = jnp.array([2, 3])
---
async def fetch(i, sem): return jnp.ones(2) * i

### jaw-contextvars-and-thread-local-settings-read-by-helper
import contextvars
unit = contextvars.ContextVar("unit", default=1.0)
local = threading.local(); local.gain = 2.0
def convert(x): return x * unit.get() * getattr(local, "gain", 1.0)
xs = jnp.array([1.0, 2.0])
factor = 100.0
---
a = convert(xs)
tok = unit.set(factor)
b = convert(xs)
ctx = contextvars.copy_context()
unit.reset(tok)
c = ctx.run(convert, xs)
def in_thread(out): out.append((convert(np.ones(2)), hasattr(local, "gain")))
got = []
t = threading.Thread(target=in_thread, args=(got,)); t.start(); t.join()
(other, has) = got[0]
local.gain += 1
d = convert(xs) - a
print(unit.get(), has, other, ctx[unit], b is c)
d, c
---
factor = 10
---
local.gain = jnp.float32(0.5)
---
unit.set(3.0); xs = jnp.ones((2, 2))

### jaw-shard-map-halo-exchange-heat-with-periodic-boundary devices=8
mesh = Mesh(np.array(jax.devices()), ("x",))
u0 = jnp.sin(jnp.linspace(0, 2 * jnp.pi, 32, endpoint=False))
nu, steps = 0.2, 3
---
u = jax.device_put(u0, NamedSharding(mesh, P("x")))
n = mesh.shape["x"]
@partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
def step(u):
    left = lax.ppermute(u[-1:], "x", [(i, (i + 1) % n) for i in range(n)])
    right = lax.ppermute(u[:1], "x", [(i, (i - 1) % n) for i in range(n)])
    ext = jnp.concatenate([left, u, right])
    return u + nu * (ext[2:] - 2 * u + ext[:-2])
ref = u0
for _ in range(steps):
    u = step(u)
    ref = ref + nu * (jnp.roll(ref, 1) - 2 * ref + jnp.roll(ref, -1))
err = jnp.abs(u - ref).max()
energy = (u ** 2).sum()
head, mid = u[:4], u[14:18]
shifted = jnp.roll(u, 3)
grid = u.reshape(8, 4)
top = grid.max(1)
print(bool(err < 1e-5), u.sharding.spec, f"{energy:.3f}")
top, mid
---
nu = 0.1
---
u0 = u0 + jnp.cos(3 * u0)
---
steps = 1; u0 = u0.astype(jnp.float16)

### jaw-sharded-numpy-interop-and-updates-through-views devices=8
mesh = jax.make_mesh((4, 2), ("a", "b"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
host = np.arange(32, dtype=np.float32).reshape(8, 4)
spec = P("a", "b")
idx = [1, 5]
---
x = jax.device_put(host, NamedSharding(mesh, spec))
host = host + 100
y = x.at[jnp.array(idx)].set(-1.0)
z = y[jnp.array(idx), :2]
t = x.T @ x
b = x > 10
n = jnp.count_nonzero(b, axis=1)
mx = jnp.maximum(x, x[:1])
r = x.ravel()[:8]
st = jnp.stack([x[0], x[1]])
rep = jnp.repeat(x, 2, axis=0)
tl = jnp.tile(x, (1, 2))
sq = jnp.expand_dims(x, 0).squeeze()
vm = jax.vmap(lambda v: v / v.sum())(x)
sc = lax.scan(lambda c, row: (c + row, c.sum()), jnp.zeros(4), x)
back = np.asarray(x)
print([str(getattr(a.sharding, "spec", "one")) for a in (y, t, n, vm, sc[0])], back[0, 0], host[0, 0])
z, r
---
spec = P("b")
---
idx = [0]
---
spec = P(None, "a")
---
spec = P(); host = host[:4]

### jaw-placement-of-creations-from-sharded-templates devices=8
mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("r", "c"))
x = jax.device_put(jnp.ones((4, 8)), NamedSharding(mesh, P("r", "c")))
d3 = jax.devices()[3]
one = jax.device_put(jnp.arange(3.0), d3)
k = 2
---
zl, ol, fl = jnp.zeros_like(x), jnp.ones_like(one), jnp.full_like(x, 7)
el = jnp.empty_like(x, shape=(2, 2))
ar = jnp.asarray(x)
cp = jnp.array(x, copy=True)
tr = jax.tree.map(jnp.zeros_like, {"x": x, "one": one})
rng = jr.normal(jax.device_put(jr.key(0), d3), (3,))
c = one * k + rng
w = jnp.where(one > 1, one, 0)
s = x[0, 0]
f = float(s) * one
up = one.at[0].set(5)
mean = jnp.mean(x, axis=0)
lin = jnp.linspace(s, 2.0, 3)
dev = jax.device_put(x, d3)
back = jax.device_put(dev, x.sharding)
same = ar is x, jax.device_put(x, x.sharding) is x, cp is x
where = [sorted(v.id for v in a.devices()) for a in (zl, ol, el, c, s, up, lin)]
print(where, same, [a.committed for a in (zl, ol, el, c, lin)])
mean, f
---
k = jnp.float32(3)
---
one = jax.device_put(one, jax.devices()[0])
---
x = jax.device_put(np.ones((4, 8), np.int32), NamedSharding(mesh, P(None, "c")))
---
d3 = jax.devices()[5]; one = jnp.arange(3.0)

### jaw-rules-engine-with-eval-free-predicates-and-namespaces
Rule = namedtuple("Rule", "name when then")
rules = [Rule("hot", lambda s: s["temp"] > 30, lambda s: {**s, "fan": s["fan"] + 0.5}),
         Rule("dry", lambda s: s["hum"] < 0.3, lambda s: {**s, "mist": True, "hum": s["hum"] + 0.1}),
         Rule("calm", lambda s: s["fan"] > 1, lambda s: {**s, "temp": s["temp"] - 5 * s["fan"]})]
state = {"temp": jnp.float32(36), "hum": jnp.float32(0.2), "fan": 0.8, "mist": False}
max_rounds = 4
---
fired = []
for rnd in range(max_rounds):
    active = [r for r in rules if r.when(state)]
    if not active or (names := tuple(r.name for r in active)) in fired:
        break
    fired.append(names)
    state = reduce(lambda s, r: r.then(s), active, state)
else:
    fired.append("limit")
score = state["temp"] * (1 - state["hum"])
explain = " > ".join("+".join(f) if isinstance(f, tuple) else f for f in fired)
print(explain, rnd, type(state["fan"]).__name__, f"{score:.2f}", state["mist"])
state["temp"]
---
state = {**state, "temp": jnp.float32(50), "fan": 0.6}
---
rules.pop(0); state["hum"] = 0.1
---
max_rounds = 1; state |= {"fan": 5, "temp": 31}

### jaw-printing-order-of-stdout-stderr-and-debug-callbacks
buf = io.StringIO()
def say(tag, v): print(f"<{tag}:{float(v):.2f}>", file=target)
target = buf
x = jnp.array([0.5, 1.5, -1.0])
loud = True
---
print("start", end=" | ")
@jax.jit
def f(v):
    if loud:
        jax.debug.print("inside {m:.2f}", m=v.max(), ordered=True)
    jax.debug.callback(say, "sum", v.sum(), ordered=True)
    return v * 2
y = f(x)
print("called", y.shape)
with contextlib.redirect_stdout(buf) as out:
    print("hidden", f"{y[0]:.1f}")
    z = f(y) if loud else y
sys.stdout.write("raw ")
print(*y.tolist(), sep=", ", end="!\n", flush=True)
text = buf.getvalue()
buf.truncate(0); buf.seek(0)
print(repr(text), out is buf)
z
---
loud = False
---
target = sys.stdout if False else None
---
def say(tag, v): print(tag, v.dtype)
---
x = x.astype(jnp.bfloat16); loud = True

### jaw-enum-flags-and-typed-settings-choose-transforms
class T(enum.Flag):
    CENTER = enum.auto(); SCALE = enum.auto(); WHITEN = CENTER | SCALE; LOG = enum.auto()
class Norm(str, enum.Enum):
    L1 = "l1"; L2 = "l2"
    @property
    def ord(self): return {"l1": 1, "l2": 2}[self.value]
@dataclass(frozen=True, kw_only=True)
class Settings:
    flags: T = T.CENTER
    norm: Norm = Norm.L2
    eps: float = 1e-6
    def __post_init__(self): object.__setattr__(self, "label", f"{self.flags.name or self.flags.value}/{self.norm.value}")
s = Settings(flags=T.WHITEN)
x = jnp.array([[1.0, 2.0], [3.0, 5.0], [2.0, 9.0]])
---
steps = []
y = x
if T.LOG in s.flags:
    y = jnp.log1p(y); steps.append("log")
if s.flags & T.CENTER:
    y = y - y.mean(0); steps.append("center")
if s.flags & T.SCALE:
    y = y / (y.std(0) + s.eps); steps.append("scale")
norms = jnp.linalg.norm(y, ord=s.norm.ord, axis=1)
unit = y / norms[:, None]
quick = dataclasses.replace(s, norm=Norm("l1"))
key = {s: "old", quick: "new"}.get(Settings(flags=s.flags, norm="l1"), "none")
print(steps, s.label, quick.label, key, repr(s.flags), f"{norms.max():.3f}")
unit
---
s = Settings(flags=T.LOG | T.SCALE, norm=Norm.L1)
---
s = dataclasses.replace(s, eps=10.0)
---
s = Settings(flags=T(0)); x = x.astype(int)

### jaw-weighted-automaton-and-viterbi-text-segmentation
vocab = {"the": 0.3, "cat": 0.2, "cats": 0.05, "at": 0.1, "sat": 0.15, "s": 0.01, "a": 0.1, "t": 0.02}
text = "thecatsat"
penalty = 0.0
---
logp = {w: math.log(p) - penalty for w, p in vocab.items()}
n, longest = len(text), max(map(len, vocab))
best, back = [0.0] + [-math.inf] * n, [None] * (n + 1)
for j in range(1, n + 1):
    for i in range(max(0, j - longest), j):
        if (w := text[i:j]) in logp and best[i] + logp[w] > best[j]:
            best[j], back[j] = best[i] + logp[w], (i, w)
words, j = [], n
while j and back[j]:
    j, w = back[j][0], back[j][1]
    words.insert(0, w)
scores = jnp.array(best)
finite = jnp.isfinite(scores)
prob = jnp.exp(scores[-1])
edges = jnp.array([[float(text[i:j] in vocab) * vocab.get(text[i:j], 0) for j in range(n + 1)] for i in range(n + 1)])
total = jnp.linalg.solve(jnp.eye(n + 1) - edges, jnp.eye(n + 1)[:, -1])[0]
share = prob / total if total > 0 else jnp.nan
print("|".join(words) or "none", int(finite.sum()), f"{share:.3f}")
scores[-1], type(share).__name__
---
penalty = 2.0
---
text = "catsatthe"
---
vocab.pop("cats"); vocab["hec"] = 0.5
---
text = "xyz"

### jaw-simulated-annealing-tour-with-random-and-array-energy
cities = jnp.array([[0.0, 0.0], [1.0, 0.2], [0.9, 1.0], [0.1, 0.8], [0.5, 0.5], [0.2, 0.3]])
seed, temp0, iters = 1, 1.0, 8
---
D = jnp.linalg.norm(cities[:, None] - cities[None], axis=-1)
def length(tour): return sum(D[a, b] for a, b in zip(tour, tour[1:] + tour[:1]))
rnd = random.Random(seed)
tour = list(range(len(cities)))
cur = best = length(tour)
best_tour, accepted = tour[:], 0
for it in range(iters):
    i, j = sorted(rnd.sample(range(len(tour)), 2))
    cand = tour[:i] + tour[i:j + 1][::-1] + tour[j + 1:]
    new = length(cand)
    T = temp0 * 0.8 ** it
    if new < cur or rnd.random() < math.exp(-(float(new) - float(cur)) / T):
        tour, cur = cand, new
        accepted += 1
    if cur < best:
        best, best_tour = cur, tour[:]
gap = (cur - best) / best
print(accepted, best_tour, f"{best:.3f} {gap:.3f}")
best
---
seed = 2
---
temp0 = 1e-3
---
cities = cities[:4] * jnp.array([1, 2])

### jaw-module-file-written-imported-and-its-arrays-changed
Path("jaw_mod.py").write_text('''
import jax.numpy as jnp
__all__ = ["area", "K"]
K = jnp.array([1.0, 2.0])
_count = 0
options = {"scale": 2}
def area(x):
    global _count
    _count += 1
    return (x * K).sum() * options["scale"]
def __getattr__(name):
    if name == "double": return K * 2
    raise AttributeError(f"module has no {name}")
''')
import importlib, jaw_mod
x = jnp.array([3.0, 4.0])
---
from jaw_mod import area
a = area(x)
jaw_mod.options["scale"] += 1
b = area(x)
jaw_mod.K = jaw_mod.K + 1
c = jaw_mod.double
g = jax.grad(jaw_mod.area)(x)
public = {n: getattr(jaw_mod, n) for n in jaw_mod.__all__}
missing = hasattr(jaw_mod, "triple")
print(jaw_mod._count, missing, jaw_mod.options, f"{a:.1f} {b:.1f}")
public["K"], g, c
---
jaw_mod.options["scale"] = 0.5
---
jaw_mod.area = lambda x: x.max() * jaw_mod.K[0]
---
importlib.reload(jaw_mod)

### jaw-itertools-accumulate-groupby-product-starmap-zip
readings = [("a", 1.0), ("a", 2.0), ("b", 5.0), ("c", jnp.float32(3)), ("c", 4.0)]
weights = jnp.array([0.5, 0.25, 0.25])
---
groups = {k: jnp.array([v for _, v in g]) for k, g in itertools.groupby(readings, key=operator.itemgetter(0))}
running = list(itertools.accumulate((v for _, v in readings), lambda a, b: jnp.maximum(a, b) * 0.9))
prods = list(itertools.starmap(operator.mul, zip(weights, groups.values())))
table = {p: groups[p[0]].sum() - groups[p[1]].sum() for p in itertools.product(groups, repeat=2) if p[0] < p[1]}
pairs = list(itertools.zip_longest(*groups.values(), fillvalue=0.0))
tot = functools.reduce(operator.add, map(jnp.sum, prods))
first, *_, final = running
cyc = list(itertools.islice(itertools.cycle(groups), 5))
tee1, tee2 = itertools.tee(iter(weights))
mid = [a + b for a, b in zip(tee1, itertools.islice(tee2, 1, None))]
print(cyc, {"".join(k): f"{v:.1f}" for k, v in table.items()}, type(first).__name__)
final, tot, mid
---
readings.insert(2, ("b", 7))
---
weights = weights[::-1]
---
readings = [("z", 1), ("y", 2), ("x", 3)]

### jaw-lru-cached-tables-and-cached-property-per-grid
class GridSpec:
    def __init__(self, n, L): self.n, self.L = n, L
    @functools.cached_property
    def k(self): return jnp.fft.fftfreq(self.n, self.L / self.n) * 2 * jnp.pi
    @functools.cache
    def basis(self, m): return jnp.exp(1j * self.k[m] * jnp.arange(self.n) * self.L / self.n)
    @property
    def dx(self): return self.L / self.n
g = GridSpec(8, 2 * math.pi)
u = jnp.sin(jnp.arange(8) * g.dx)
---
uh = jnp.fft.fft(u)
du = jnp.fft.ifft(1j * g.k * uh).real
proj = [jnp.vdot(g.basis(m), u) / g.n for m in range(3)]
same = g.basis(1) is g.basis(1), g.k is g.k
power = jnp.abs(uh) ** 2
peak = int(jnp.argmax(power[: g.n // 2]))
filt = jnp.where(jnp.abs(g.k) <= peak, uh, 0)
back = jnp.fft.ifft(filt)
u = back.real
print(peak, same, "k" in vars(g), GridSpec.basis.cache_info().currsize > 0, [f"{abs(p):.2f}" for p in proj])
du, back.dtype
---
u = jnp.cos(2 * jnp.arange(8) * g.dx)
---
g = GridSpec(4, 1.0); u = jnp.array([0.0, 1.0, 0.0, -1.0])
---
del g.k; g.L = 2.0

### jaw-bank-of-filters-dispatch-table-and-python-numbers-mixed
bank = {"gain": lambda x, g=2: x * g, "clip": lambda x, lo=-1.0, hi=1.0: jnp.clip(x, lo, hi),
        "delay": lambda x, n=1: jnp.concatenate([jnp.zeros(n, x.dtype), x[:-n]]) if n else x,
        "mix": lambda x, *taps: sum(t * jnp.roll(x, i) for i, t in enumerate(taps))}
patch = "gain g=3 | delay n=2 | mix 0.5 0.25 | clip hi=2"
x = jnp.array([1.0, -0.5, 0.25, 0.0, 1.0])
---
def parse(tok):
    name, *rest = tok.split()
    args = [float(r) for r in rest if "=" not in r]
    kw = {k: int(v) if v.lstrip("-").isdigit() else float(v) for k, v in (r.split("=") for r in rest if "=" in r)}
    return name, args, kw
y, chain = x, []
for tok in patch.split("|"):
    name, args, kw = parse(tok)
    y = bank[name](y, *args, **kw)
    chain.append((name, float(jnp.abs(y).max())))
impulse = jnp.zeros(5).at[0].set(1)
resp = impulse
for name, args, kw in map(parse, patch.split("|")):
    resp = bank[name](resp, *args, **kw)
loud = max(chain, key=operator.itemgetter(1))
db = 20 * jnp.log10(jnp.linalg.norm(y) / jnp.linalg.norm(x))
print(loud, f"{db:+.2f} dB", [n for n, _ in chain])
y, resp
---
patch = "delay n=0 | gain g=0.5"
---
x = (x * 8).astype(jnp.int32)
---
patch = "mix"; x = x.astype(float)

### jaw-deep-copies-aliases-and-identity-after-updates
inner = {"a": jnp.ones(2)}
tree = {"x": inner, "y": inner, "list": [inner["a"], inner["a"]]}
k = 2
---
shallow, deep = copy.copy(tree), copy.deepcopy(tree)
tree["x"]["a"] = tree["x"]["a"] * k
tree["list"].append(tree["y"]["a"])
links = (tree["x"] is tree["y"], shallow["x"] is tree["x"], deep["x"] is deep["y"], deep["x"] is tree["x"],
         tree["list"][-1] is tree["x"]["a"], deep["list"][0] is deep["x"]["a"])
leaves, td = jax.tree.flatten(tree)
rebuilt = jax.tree.unflatten(td, leaves)
links2 = rebuilt["x"] is rebuilt["y"], rebuilt["x"]["a"] is tree["x"]["a"]
ids = len({id(l) for l in leaves}), len(leaves)
del tree["list"][0]
total = sum(l.sum() for l in leaves)
moved = jax.tree.map(lambda l: l, tree)
print(links, links2, ids, f"{total:.1f}", moved["list"][0] is tree["list"][0])
deep["list"]
---
tree["y"] = dict(tree["y"])
---
k = jnp.array([1, 2])
---
tree["list"] = (tree["list"],)
tree["list"][0].append(np.ones(2))

### jaw-rows-of-a-sharded-table-walked-in-a-loop devices=8
mesh = jax.make_mesh((4,), ("d",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:4])
table = jax.device_put(jnp.arange(12.0).reshape(4, 3), NamedSharding(mesh, P("d")))
offset = jax.device_put(jnp.ones(3), NamedSharding(mesh, P()))
---
best, rows = -jnp.inf, []
for i, row in enumerate(table):
    score = jnp.sum(row ** 2) / (i + 1)
    rows.append(row * 2)
    best = jnp.maximum(best, score)
first, *rest = table
total = sum(table)
tail = rest[-1] + 1
print(f"{best:.2f}", len(rest))
tail
---
table = jax.device_put(np.asarray(table) * 2, NamedSharding(mesh, P()))
---
table = jax.device_put(np.asarray(table), jax.devices()[6])

### jaw-powers-of-two-weak-sizes-of-int8-tables
level, x = 3, jnp.array([1, 2, 3], jnp.int8)
---
size = 2 ** jnp.asarray(level)
scaled = x * size
steps = [2 ** jnp.asarray(k) for k in range(level)]
half = size // 2
mask = (x & (size - 1)).astype(bool)
print(scaled, scaled.dtype, half.weak_type, len(steps))
mask.sum()
---
level = 2
---
x = x.astype(jnp.uint8)
---
level = np.int8(2)
""",
)
