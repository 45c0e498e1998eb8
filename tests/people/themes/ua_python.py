"""Python's own means around arrays: objects with state, generators, contexts, caught errors, threads, text and files."""

from ..cell import written

PRELUDE = """
import abc, asyncio, bisect, collections, contextlib, copy, dataclasses, enum, functools, io, itertools, json, logging
import math, operator, os, random, re, string, sys, tempfile, textwrap, threading, time, types, warnings, weakref
from functools import partial, partialmethod
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### ua-overload-and-paramspec-timed-decorator
from typing import overload, ParamSpec, TypeVar
P, R = ParamSpec("P"), TypeVar("R")
calls = []
def noted(label: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    def deco(f):
        @functools.wraps(f)
        def inner(*a: P.args, **k: P.kwargs) -> R:
            calls.append((label, f.__name__, len(a), tuple(k)))
            return f(*a, **k)
        return inner
    return deco
@overload
def norm(x: float) -> float: ...
@overload
def norm(x: jax.Array, ord: int = 2) -> jax.Array: ...
@noted("n")
def norm(x, ord=2):
    if isinstance(x, (int, float)): return abs(x)
    return jnp.linalg.norm(x, ord)
v = jnp.array([3.0, 4.0])
---
a = norm(v)
b = norm(-2.5)
c = norm(v, ord=1) + norm(x=v)
print(calls[-4:], type(b).__name__, norm.__wrapped__.__name__)
a + b + c
---
calls.clear()
---
v = v * 2

### ua-partialmethod-presets-and-bound-callbacks-dispatched
class Filter:
    def __init__(self, taps): self.taps, self.n = taps, 0
    def apply(self, x, *, mode="same", gain=1.0):
        self.n += 1
        return gain * jnp.convolve(x, self.taps, mode=mode)
    full = partialmethod(apply, mode="full")
    loud = partialmethod(apply, gain=3.0)
f = Filter(jnp.array([1.0, 0.5]))
x = jnp.arange(4.0)
table = {"a": f.full, "b": f.loud, "c": partial(f.apply, gain=-1.0)}
---
outs = {k: g(x) for k, g in table.items()}
same = table["a"].__self__ is f if hasattr(table["a"], "__self__") else table["a"].args
total = sum(o.sum() for o in outs.values())
print(f.n, {k: o.shape for k, o in outs.items()}, same)
total
---
f.taps = f.taps * 2
---
f = Filter(jnp.ones(3))

### ua-itemgetter-attrgetter-methodcaller-pipelines
Rec = collections.namedtuple("Rec", "name w meta")
recs = [Rec("b", jnp.ones(2), {"lr": 0.1}), Rec("a", jnp.arange(2.0), {"lr": 0.3})]
---
names = list(map(operator.attrgetter("name"), sorted(recs, key=operator.attrgetter("name"))))
sums = [operator.methodcaller("sum")(r.w) for r in recs]
lrs = list(map(operator.itemgetter("lr"), map(operator.attrgetter("meta"), recs)))
scaled = list(itertools.starmap(operator.mul, zip((r.w for r in recs), lrs)))
pick = operator.itemgetter(1, 0)(scaled)
print(names, lrs, type(pick).__name__, pick[0] is scaled[1])
sums[0] * sums[1], pick
---
recs.append(Rec("c", jnp.zeros(2), {"lr": 2}))
---
recs[0].meta["lr"] = 0.9

### ua-accumulate-pairwise-batched-by-hand-with-islice
def batched(it, n):
    it = iter(it)
    while chunk := tuple(itertools.islice(it, n)): yield chunk
xs = [jnp.float32(i) for i in range(5)]
---
run = list(itertools.accumulate(xs, lambda a, b: 0.5 * a + b))
diffs = [b - a for a, b in itertools.pairwise(run)]
chunks = [jnp.stack(c) for c in batched(xs, 2)]
mx = list(itertools.accumulate(xs, jnp.maximum, initial=jnp.float32(2)))
print(len(run), run[0] is xs[0], [c.shape for c in chunks], mx[0].item(), len(mx))
jnp.stack(diffs)
---
xs.append(jnp.float32(-3))

### ua-instance-counting-with-del-and-weakset
class Buf:
    alive = weakref.WeakSet()
    made = 0
    def __init__(self, a):
        self.a = a
        Buf.alive.add(self)
        Buf.made += 1
    def __add__(self, o): return Buf(self.a + o.a)
p, q = Buf(jnp.ones(2)), Buf(jnp.zeros(2))
---
r = p + q
names = sorted(k for k, v in list(globals().items()) if isinstance(v, Buf))
s = (r + p).a.sum()
print(names, Buf.made % 2, r in Buf.alive)
s
---
q = Buf(jnp.ones(2) * 3)

### ua-shared-mutable-default-history-and-kwonly-sentinel
_MISSING = object()
def record(x, history=[], *, tag=_MISSING, seen={}):
    history.append(x.mean())
    if tag is not _MISSING: seen[tag] = seen.get(tag, 0) + 1
    return len(history), jnp.stack(history[-3:]).sum(), dict(seen)
x = jnp.arange(3.0)
---
n, s, seen = record(x)
n, s, seen = record(x * 2, tag="two")
own = []
m, t, _ = record(x, own, tag=None)
print(m, len(own), len(seen), seen is record.__kwdefaults__["seen"])
s - t
---
record.__defaults__[0].clear()
---
x = x + 1

### ua-class-body-computes-constants-and-classmethod-alternates
---
class Consts:
    EPS = 1e-3
    BASIS = jnp.eye(3) * EPS
    names = [f"e{i}" for i in range(3)]
    rows = dict(zip(names, BASIS))
    @classmethod
    def of(cls, name): return cls.rows[name] / cls.EPS
    @staticmethod
    def check(v): return bool(jnp.all(v >= 0))
class Big(Consts):
    BASIS = Consts.BASIS * 10
v = Consts.of("e1")
w = Big.of("e2") + Big.BASIS[0]
ok = Consts.check(v)
print(ok, Big.__mro__[1].__name__, sorted(vars(Consts))[-1])
v + w

### ua-dynamic-type-and-simplenamespace-config-update
cfg = types.SimpleNamespace(lr=0.1, sizes=[2, 3], net=types.SimpleNamespace(act="tanh", w=jnp.ones((2, 3))))
def get(ns, path): return functools.reduce(getattr, path.split("."), ns)
def put(ns, path, v):
    *head, last = path.split(".")
    setattr(functools.reduce(getattr, head, ns), last, v)
x = jnp.ones(2)
---
h = getattr(jnp, get(cfg, "net.act"))(x @ cfg.net.w)
put(cfg, "net.w", cfg.net.w - cfg.lr * jnp.outer(x, h))
put(cfg, "last", {"h": h, "n": cfg.sizes[-1]})
Model = type("Model", (), {"__call__": lambda self, x: x @ cfg.net.w, "size": property(lambda self: cfg.sizes)})
m = Model()
print(m.size, sorted(vars(cfg)), cfg.last["h"] is h)
m(x)
---
cfg.net.act = "sin"
---
put(cfg, "lr", 0.5)

### ua-try-except-else-finally-nested-returns-collected
trace = []
def guarded(x, limit):
    try:
        trace.append("try")
        if x.sum() > limit: raise OverflowError(f"{float(x.sum()):.1f} > {limit}")
        y = x / x.sum()
    except OverflowError as e:
        trace.append(f"except {e}")
        y = x * 0
        return y, e.args
    else:
        trace.append("else")
        return y, ()
    finally:
        trace.append("finally")
x, limit = jnp.arange(3.0), 2.0
---
trace.clear()
a, ea = guarded(x, limit)
b, eb = guarded(x * 0.1, limit)
print(trace, ea)
a + b
---
limit = 100.0
---
x = x * 1000

### ua-suppress-redirect-and-exitstack-close-order
events = []
@contextlib.contextmanager
def layer(name, scale):
    events.append(f"+{name}")
    try:
        yield lambda x: x * scale
    except ZeroDivisionError:
        events.append(f"!{name}")
        raise
    finally:
        events.append(f"-{name}")
x, scales = jnp.ones(2), [2.0, 3.0, 0]
---
events.clear()
out = io.StringIO()
with contextlib.suppress(ZeroDivisionError), contextlib.ExitStack() as st:
    fs = [st.enter_context(layer(f"l{i}", s)) for i, s in enumerate(scales)]
    y = x
    for f in fs: y = f(y)
    with contextlib.redirect_stdout(out):
        print("norm", jnp.linalg.norm(y))
    z = 1 / scales[-1]
    events.append("not reached")
print(events, repr(out.getvalue()))
y
---
scales[-1] = 4
---
scales.insert(0, 0.5)

### ua-thread-local-scratch-and-executor-map-order
from concurrent.futures import ThreadPoolExecutor, as_completed
local = threading.local()
lock, done = threading.Lock(), []
def work(i):
    if not hasattr(local, "scratch"): local.scratch = []
    r = jnp.sum(A ** i)
    local.scratch.append(i)
    with lock: done.append(i)
    return i, r
A = jnp.arange(3.0)
---
done.clear()
with ThreadPoolExecutor(2) as ex:
    futs = {ex.submit(work, i): i for i in range(3)}
    res = dict(sorted((f.result() for f in as_completed(futs)), key=operator.itemgetter(0)))
    more = list(ex.map(lambda i: work(i)[1], (1, 2)))
done.sort()
print(sorted(res), done, hasattr(local, "scratch"))
sum(more) + res[0]
---
A = A + 1

### ua-event-driven-trainer-with-psygnal-like-signals
class Signal:
    def __init__(self): self._slots = []
    def connect(self, f): self._slots.append(f); return f
    def emit(self, *a): return [s(*a) for s in self._slots]
class Trainer:
    def __init__(self, w): self.w, self.epoch_end, self.stop = w, Signal(), False
    def fit(self, n):
        for e in range(n):
            l, g = jax.value_and_grad(lambda w: jnp.sum(w ** 2))(self.w)
            self.w = self.w - 0.1 * g
            self.epoch_end.emit(e, l)
            if self.stop: break
        return e
t, curve = Trainer(jnp.array([1.0, 2.0])), {}
@t.epoch_end.connect
def keep(e, l): curve[e] = l
@t.epoch_end.connect
def early(e, l):
    if l < 2.5: t.stop = True
---
last = t.fit(4)
print(last, sorted(curve), t.stop, len(t.epoch_end._slots))
jnp.stack(list(curve.values()))
---
t.stop = False; t.w = t.w * 3; curve.clear()
---
t.epoch_end._slots.pop(); t.stop = False

### ua-traitlets-model-with-observers-and-validation needs=traitlets cold
import traitlets
seen = []
class Knob(traitlets.HasTraits):
    gain = traitlets.Float(1.0)
    mode = traitlets.Enum(["sin", "cos"], default_value="sin")
    result = traitlets.Any()
    @traitlets.observe("gain", "mode")
    def _redo(self, change):
        seen.append((change["name"], change["new"]))
        self.result = getattr(jnp, self.mode)(x) * self.gain
    @traitlets.validate("gain")
    def _clip(self, p): return max(0.0, p["value"])
x = jnp.linspace(0.0, 1.0, 3)
k = Knob()
---
seen.clear()
k.gain = k.gain + 0.5
first = k.result
with k.hold_trait_notifications():
    k.mode = "cos" if k.mode == "sin" else "sin"
try:
    k.mode = "tan"
except traitlets.TraitError as e:
    print("refused", "mode" in str(e))
k.gain = -3.0
print(seen, k.gain)
first + k.result
---
x = x * 2
---
k.mode = "cos"

### ua-msgspec-structs-encode-decode-of-run-records needs=msgspec
import msgspec
class Run(msgspec.Struct, frozen=True):
    name: str
    losses: list[float]
    tags: set[str] = set()
    extra: dict = {}
w = jnp.array(4.0)
---
losses = []
for _ in range(3):
    losses.append(float(w ** 2))
    w = w * 0.5
run = Run("r", [round(l, 4) for l in losses], {"a"}, {"final": round(float(w), 3)})
blob = msgspec.json.encode(run)
back = msgspec.json.decode(blob, type=Run)
try:
    back.name = "z"
except AttributeError as e:
    print(type(e).__name__)
print(blob.decode(), back == run)
w
---
w = jnp.array(1.0)

### ua-sorted-containers-priority-of-losses needs=sortedcontainers
from sortedcontainers import SortedDict, SortedList, SortedKeyList
cands = {f"m{i}": jnp.array([i * 1.0, 2.0 - i]) for i in range(4)}
---
board = SortedDict()
for k, v in cands.items(): board[float(jnp.sum(v ** 2))] = k
top = SortedKeyList(cands.values(), key=lambda v: -float(v[0]))
ls = SortedList(float(v[1]) for v in cands.values())
best = cands[board.peekitem(0)[1]]
print(dict(board), ls.bisect(0.5), top[0] is cands["m3"])
best * 2
---
cands["m9"] = jnp.array([0.1, 0.1])

### ua-regex-parsed-log-lines-to-arrays-and-fit
log = '''[12:00] epoch 1 loss=2.50 acc=0.31
[12:01] epoch 2 loss=1.25 acc=0.52
[12:02] WARNING nan seen
[12:03] epoch 3 loss=0.70 acc=0.66'''
pat = re.compile(r"epoch (?P<e>\d+) loss=(?P<l>[\d.]+) acc=(?P<a>[\d.]+)")
---
ms = [m.groupdict() for line in log.splitlines() if (m := pat.search(line))]
skipped = [l for l in log.splitlines() if not pat.search(l)]
e, l, a = (jnp.array([float(m[k]) for m in ms]) for k in "ela")
slope = jnp.polyfit(e, jnp.log(l), 1)[0]
print(len(ms), skipped, f"{slope:.3f}", re.sub(r"\d", "#", log[:12]))
a @ l
---
log += "\n[12:04] epoch 4 loss=0.5 acc=0.7"

### ua-ascii-sparkline-histogram-and-progress-from-values
bars = " ▁▂▃▄▅▆▇█"
def spark(v):
    lo, hi = float(v.min()), float(v.max())
    return "".join(bars[int((float(t) - lo) / (hi - lo + 1e-9) * 8)] for t in v)
x = jnp.sin(jnp.linspace(0, 6, 12))
---
s = spark(x)
counts, edges = jnp.histogram(x, bins=4)
for c, (lo, hi) in zip(counts.tolist(), itertools.pairwise(edges.tolist())):
    print(f"[{lo:+.2f}, {hi:+.2f}) {'#' * c:<8}|{c:>3d}")
print(s, end="\n\n")
edges
---
x = x ** 3
---
x = x[:5]

### ua-locals-format-map-and-template-report
class Default(dict):
    def __missing__(self, k): return f"<{k}?>"
x = jnp.array([1.0, 2.0, 4.0])
def report(x):
    mean, peak = float(x.mean()), int(x.argmax())
    n = len(x)
    return "{n} values, mean {mean:.2f}, peak at {peak} {unit}".format_map(Default(locals()))
---
text = report(x)
t = string.Template("$a-${b}x $$").safe_substitute(a=x.shape, b=float(x[0]))
print(text, "|", t)
width = max(map(len, text.split()))
y = x * width
y
---
x = jnp.ones(2)

### ua-getattr-proxy-of-jnp-recording-calls
class Recorder:
    def __init__(self, target): self._t, self._log = target, []
    def __getattr__(self, name):
        v = getattr(self._t, name)
        if not callable(v): return v
        @functools.wraps(v)
        def f(*a, **k):
            self._log.append((name, [getattr(i, "shape", i) for i in a]))
            return v(*a, **k)
        return f
xp = Recorder(jnp)
a = jnp.ones((2, 2))
def model(xp, a): return xp.tanh(xp.matmul(a, a)).sum() + xp.pi
---
r = model(xp, a)
n = model(Recorder(np), np.ones((2, 2), np.float32))
g = jax.grad(partial(model, jnp))(a)
print(xp._log[-2:], type(n).__name__, len(xp._log))
r, g
---
xp._log.clear()
---
a = jnp.eye(3)

### ua-array-namespace-switch-np-and-jnp-by-argument
def rms(x, xp): return xp.sqrt(xp.mean(xp.square(x)))
def namespace(*a): return jnp if any(isinstance(i, jax.Array) for i in a) else np
def auto(x, y):
    xp = namespace(x, y)
    out = xp.where(x > y, x, y)
    if xp is np: out[0] = 99
    else: out = out.at[0].set(99)
    return out, xp.__name__
x, y = np.arange(3.0), np.ones(3)
---
a, na = auto(x, y)
b, nb = auto(jnp.asarray(x), y)
c = rms(a, np), rms(b, jnp)
d = a + b
print(na, nb, type(c[0]).__name__, a.dtype, b.dtype, type(d).__name__, x[0])
b, c[1]
---
x = x * 2

### ua-nested-functions-with-nonlocal-budget-and-recursion
def adaptive(f, a, b, tol, budget):
    used = 0
    def simpson(a, b): return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))
    def go(a, b, whole, depth):
        nonlocal used
        used += 1
        m = (a + b) / 2
        l, r = simpson(a, m), simpson(m, b)
        if depth == 0 or abs(l + r - whole) < 15 * tol or used >= budget: return l + r
        return go(a, m, l, depth - 1) + go(m, b, r, depth - 1)
    return go(a, b, simpson(a, b), 6), used
c, tol, budget = jnp.array(3.0), 1e-3, 12
---
val, used = adaptive(lambda t: jnp.exp(-c * t) * jnp.sin(8 * t), 0.0, 2.0, tol, budget)
print(used, used <= budget + 1, f"{val:.3f}")
val
---
tol = 1e-1
---
c = c * 0.1; budget = 40

### ua-memo-by-bytes-of-array-and-hits-reported
class Memo:
    def __init__(self, f): self.f, self.store, self.hits = f, {}, 0; functools.update_wrapper(self, f)
    def __call__(self, x, *a):
        k = (np.asarray(x).tobytes(), x.shape, a)
        if k in self.store: self.hits += 1
        else: self.store[k] = self.f(x, *a)
        return self.store[k]
    def __get__(self, obj, cls): return self if obj is None else partial(self, obj)
@Memo
def heavy(x, p=2):
    "sums powers"
    return jnp.sum(x ** p)
x = jnp.arange(4.0)
---
a, b, c = heavy(x), heavy(x), heavy(x + 0)
d = heavy(x, 3)
print(heavy.hits, len(heavy.store), heavy.__doc__, a is b, b is c)
a + d
---
x = x + 1
---
heavy.store.clear(); heavy.hits = 0

### ua-async-main-with-timeout-and-taskgroup-of-simulations
async def sim(name, n):
    x = jnp.array(1.0)
    for i in range(n):
        x = jnp.sin(x) + c
        await asyncio.sleep(0)
    if n > 3: raise ValueError(f"{name} too long at {float(x):.2f}")
    return name, x
async def main(jobs):
    ok, bad = {}, []
    for r in await asyncio.gather(*(sim(*j) for j in jobs), return_exceptions=True):
        if isinstance(r, Exception): bad.append(str(r))
        else: ok[r[0]] = r[1]
    return ok, bad
c, jobs = 0.5, [("a", 1), ("b", 5), ("c", 2)]
---
loop = asyncio.new_event_loop()
try:
    ok, bad = loop.run_until_complete(asyncio.wait_for(main(jobs), 20))
finally:
    loop.close()
print(sorted(ok), bad, loop.is_closed())
del loop
ok["a"] + ok["c"]
---
jobs.pop(1)
---
c = 0.1

### ua-bit-twiddling-flags-enum-auto-and-int-arrays
class Term(enum.Flag):
    FIT = enum.auto(); L2 = enum.auto(); TV = enum.auto()
    ALL = FIT | L2 | TV
use, u, d = Term.FIT | Term.TV, jnp.array([0.0, 1.0, 3.0]), jnp.array([0.5, 1.0, 2.0])
def energy(u, use):
    e = 0.0
    for t in use:
        match t:
            case Term.FIT: e = e + jnp.sum((u - d) ** 2)
            case Term.L2: e += 0.1 * jnp.vdot(u, u)
            case Term.TV: e += jnp.abs(jnp.diff(u)).sum()
    return e
---
e, g = jax.value_and_grad(energy)(u, use)
per = {t.name: energy(u, t) for t in Term.ALL}
code = use.value << 4 | 0b11
bits = (jnp.uint32(code) >> jnp.arange(8, dtype=jnp.uint32)) & 1
print(use, code, bits.tolist(), list(per))
g + bits.sum()
---
use = Term.ALL
---
use ^= Term.FIT

### ua-subprocess-of-python-feeds-numbers-back
import subprocess
n = 4
---
out = subprocess.run([sys.executable, "-c", f"print(*[i * i for i in range({n})])"], capture_output=True, text=True)
xs = jnp.array([float(t) for t in out.stdout.split()])
y = jnp.cumsum(xs)
print(out.returncode, y.tolist())
bad = subprocess.run([sys.executable, "-c", "import sys; sys.exit(3)"])
del out
y / y[-1] + bad.returncode
---
n = 6
""",
)
