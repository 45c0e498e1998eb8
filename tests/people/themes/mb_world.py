"""What stands around the numbers: files, threads, classes, containers, devices; half of it behind one call of a helper."""

from ..cell import written

PRELUDE = """
import os, sys, io, re, json, csv, math, pickle, random, logging, enum, copy, operator, abc, asyncio, collections
import contextlib, contextvars, dataclasses, functools, itertools, warnings, heapq, weakref, threading, queue, importlib
from collections import defaultdict, namedtuple, Counter, OrderedDict, deque, ChainMap
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from functools import partial, reduce, wraps, singledispatch, singledispatchmethod, lru_cache, cached_property
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
### mbw-shards-of-npy-files-streamed-and-rewritten-by-a-helper
for i in range(3): np.save(f"part{i}.npy", np.arange(i * 4, i * 4 + 4, dtype=np.float32).reshape(2, 2))
def stream(pattern):
    for p in sorted(Path(".").glob(pattern)):
        yield p.stem, jnp.asarray(np.load(p))
def normalise(pattern, out, gain):
    total, n = 0.0, 0
    for _, a in stream(pattern):
        total += a.sum().item(); n += a.size
    mean, written = total / n, {}
    for name, a in stream(pattern):
        b = (a - mean) * gain
        np.save(Path(out) / f"n_{name}.npy", np.asarray(b))
        written[name] = b
        print(f"{name}: {a.shape} -> [{b.min():.1f}, {b.max():.1f}]")
    return mean, written
Path("out").mkdir(); gain = 0.5
---
mean, written = normalise("part*.npy", "out", gain)
files = sorted(os.listdir("out"))
back = np.load("out/n_part1.npy")
stack = jnp.concatenate(list(written.values()))
first = next(iter(written))
print(files, mean, back.dtype, first, abs(float(stack.mean())) < 1e-5)
stack[-1], written["part0"]
---
gain = 2
---
np.save("part3.npy", np.full((1, 2), 9, np.int16))

### mbw-jsonl-journal-replayed-into-state-with-bad-lines
Path("j.jsonl").write_text('{"op": "set", "k": "a", "v": [1, 2]}\n{"op": "add", "k": "a", "v": 3}\nnot json\n{"op": "del", "k": "z"}\n')
class Journal:
    def __init__(self, path): self.path, self.bad, self.state = Path(path), [], {}
    def append(self, **rec):
        with self.path.open("a") as fh: fh.write(json.dumps(rec, sort_keys=True) + "\n")
        self._apply(rec)
    def _apply(self, r):
        match r:
            case {"op": "set", "k": k, "v": list(v)}: self.state[k] = jnp.array(v, jnp.float32)
            case {"op": "add", "k": k, "v": v}: self.state[k] = self.state[k] + v
            case {"op": "del", "k": k}: del self.state[k]
            case _: raise ValueError("unknown")
    def replay(self):
        self.state.clear(); self.bad.clear()
        for n, line in enumerate(self.path.read_text().splitlines(), 1):
            try:
                self._apply(json.loads(line))
            except (json.JSONDecodeError, KeyError, ValueError) as e:
                self.bad.append((n, type(e).__name__))
        return self
v = 0.5
---
j = Journal("j.jsonl").replay()
before = j.state["a"]
j.append(op="set", k="b", v=[v, v])
j.append(op="add", k="b", v=len(j.bad))
total = sum(a.sum() for a in j.state.values())
lines = j.path.read_text().count("\n")
same = j.replay().state["a"] is before
print(j.bad, sorted(j.state), lines, same, f"{total:.1f}")
j.state["b"], before
---
v = 7
---
Path("j.jsonl").write_text('{"op": "set", "k": "a", "v": [4]}\n')

### mbw-thread-workers-drain-a-queue-and-merge-in-order
class Pool:
    def __init__(self, n, fn):
        self.q, self.out, self.lock, self.fn, self.n = queue.Queue(), {}, threading.Lock(), fn, n
        self.errors = []
    def _work(self):
        while True:
            item = self.q.get()
            if item is None: return
            i, x = item
            try:
                y = self.fn(x)
                with self.lock: self.out[i] = y
            except Exception as e:
                with self.lock: self.errors.append((i, str(e)))
    def run(self, xs):
        ts = [threading.Thread(target=self._work) for _ in range(self.n)]
        for t in ts: t.start()
        for item in enumerate(xs): self.q.put(item)
        for _ in ts: self.q.put(None)
        for t in ts: t.join()
        return [self.out.get(i) for i in range(len(xs))]
def norm(x):
    if x.size == 0: raise ValueError("empty")
    return x / jnp.linalg.norm(x)
xs = [jnp.arange(1.0, 4.0), jnp.ones(2), jnp.zeros(0)]; n = 2
---
pool = Pool(n, norm)
ys = pool.run(xs)
pool.out = {i: pool.out[i] for i in sorted(pool.out)}
good = [y for y in ys if y is not None]
order = list(sorted(pool.out))
lens = [float(jnp.linalg.norm(y)) for y in good]
total = reduce(operator.add, (y.sum() for y in good))
print(order, pool.errors, pool.q.empty(), [f"{v:.2f}" for v in lens], threading.active_count() > 0)
good[0], total
---
xs[2] = np.array([3.0, 4.0])
---
n = 1; xs = xs[::-1] + [jnp.full(2, 5)]

### mbw-executor-grid-search-with-as-completed-and-best
def objective(w, lr, steps):
    for _ in range(steps):
        w = w - lr * jax.grad(lambda w: jnp.sum((w - 1.0) ** 4))(w)
    return jnp.sum((w - 1.0) ** 4)
def search(grid, w, steps, workers=2):
    scores = {}
    with ThreadPoolExecutor(workers) as ex:
        futs = {ex.submit(objective, w, lr, steps): lr for lr in grid}
        for f in as_completed(futs):
            scores[futs[f]] = f.result().item()
    for lr in sorted(scores): print(f"lr={lr:<5} score={scores[lr]:.3f}")
    return min(scores, key=scores.get), dict(sorted(scores.items()))
w = jnp.array([0.0, 2.5]); grid = [0.01, 0.05, 0.001]; steps = 3
---
best, scores = search(grid, w, steps)
ranked = sorted(scores, key=scores.get)
vals = np.array(list(scores.values()), np.float32)
worst = ranked[-1]
final = objective(w, best, 1)
print(best, ranked[0] == best, vals.dtype, worst)
final, vals.min() == scores[best]
---
grid.append(0.08)
---
w = w * 0.5; steps = 1

### mbw-asyncio-producer-consumer-with-bounded-queue
class Pipeline:
    def __init__(self, cap): self.cap, self.log = cap, []
    async def produce(self, q, xs):
        for i, x in enumerate(xs):
            await q.put((i, x * 2))
            self.log.append(("put", i))
        await q.put(None)
    async def consume(self, q):
        acc = jnp.zeros(2)
        while (item := await q.get()) is not None:
            i, x = item
            acc = acc + x
            self.log.append(("got", i))
        return acc
    async def main(self, xs):
        q = asyncio.Queue(self.cap)
        _, acc = await asyncio.gather(self.produce(q, xs), self.consume(q))
        return acc
    def run(self, xs): return asyncio.run(self.main(xs))
xs = [jnp.array([1.0, i]) for i in range(3)]; cap = 1
---
pipe = Pipeline(cap)
acc = pipe.run(xs)
kinds = Counter(k for k, _ in pipe.log)
firsts = pipe.log[:2]
mean = acc / len(xs)
in_order = [i for k, i in pipe.log if k == "got"] == list(range(len(xs)))
print(dict(kinds), firsts, in_order)
acc, mean
---
cap = 3
---
xs = [np.ones(2, np.int32), jnp.array([0.5, 0.5])]

### mbw-context-manager-class-temporarily-patches-parameters
class patched:
    def __init__(self, obj, **kw): self.obj, self.kw = obj, kw
    def __enter__(self):
        self.old = {k: getattr(self.obj, k) for k in self.kw}
        for k, v in self.kw.items(): setattr(self.obj, k, v)
        return self.obj
    def __exit__(self, et, ev, tb):
        for k, v in self.old.items(): setattr(self.obj, k, v)
        depth.append(et.__name__ if et else None)
        return et is ArithmeticError
class Model: w, b, scale = jnp.array([1.0, 2.0]), 0.5, 1
m, depth, x, fail = Model(), [], jnp.array([3.0, -1.0]), False
---
depth.clear()
with patched(m, w=m.w * 2, scale=10) as inner:
    a = inner.scale * (inner.w @ x) + inner.b
    with patched(m, b=a):
        c = m.b + m.w.sum()
        if fail: raise ArithmeticError("inside")
        c = c * 2
after = m.w, m.b, m.scale
same = inner is m, after[0] is Model.w, "w" in vars(m)
print(depth, same, f"{a:.1f}", m.scale)
a, c, after[0]
---
fail = True
---
Model.w = jnp.array([0.0, 1.0]); vars(m).clear()

### mbw-exitstack-of-open-files-one-per-class-then-merged
rng = np.random.default_rng(0)
X = jnp.asarray(rng.normal(size=(9, 2)), jnp.float32)
W = jnp.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
def split_to_files(X, labels, names, limit):
    counts = Counter()
    with contextlib.ExitStack() as stack:
        outs = [stack.enter_context(open(f"{n}.txt", "w")) for n in names]
        for x, k in zip(X, labels):
            k = int(k)
            if counts[names[k]] >= limit: continue
            outs[k].write(" ".join(f"{v:.2f}" for v in x.tolist()) + "\n")
            counts[names[k]] += 1
    return counts, all(f.closed for f in outs)
names, limit = ["red", "green", "blue"], 5
---
labels = jnp.argmax(X @ W, 1)
counts, closed = split_to_files(X, labels, names, limit)
loaded = {n: np.loadtxt(f"{n}.txt", ndmin=2) for n in names if counts[n]}
centre = {n: jnp.asarray(a).mean(0) for n, a in loaded.items()}
sizes = {n: a.shape for n, a in loaded.items()}
most = counts.most_common(1)[0][1]
print(sorted(counts.items()), closed, sizes, most)
labels, centre[max(centre, key=lambda n: counts[n])]
---
limit = 2
---
W = -W; X = X[:5]

### mbw-generator-based-trainer-driven-with-send-and-throw
class Rollback(Exception): pass
def trainer(w, lr):
    best = (math.inf, w); reason = "closed"
    try:
        while True:
            loss, g = jax.value_and_grad(lambda w: jnp.sum(jnp.cosh(w - 1)))(w)
            if loss < best[0]: best = (loss.item(), w)
            try:
                cmd = yield loss
            except Rollback:
                w, lr = best[1], lr / 2
                continue
            lr = cmd or lr
            w = w - lr * g
    finally:
        history.append((reason, best[0]))
def drive(gen, cmds):
    seen = [next(gen)]
    for c in cmds:
        seen.append(gen.throw(Rollback()) if c == "back" else gen.send(c))
    frame = dict(gen.gi_frame.f_locals)
    gen.close()
    return seen, frame
history, w0, cmds = [], jnp.array([3.0, -1.0]), [None, 0.9, "back", 0.1]
---
seen, frame = drive(trainer(w0, 0.2), cmds)
losses = jnp.stack(seen)
reason, best = history[-1]
lr = frame["lr"]
names = sorted(k for k in frame if len(k) > 1)
print(reason, lr, names, f"{best:.2f}", len(history))
losses, frame["w"]
---
cmds = ["back", None]
---
w0 = jnp.array([1.0]); cmds.insert(0, 0.5); history.clear()

### mbw-decorator-class-counts-calls-and-keeps-last-arguments
class counted:
    def __init__(self, fn): functools.update_wrapper(self, fn); self.fn, self.n, self.last = fn, 0, None
    def __call__(self, *a, **k):
        self.n += 1; self.last = (a, k)
        return self.fn(*a, **k)
    def __get__(self, obj, owner): return self if obj is None else partial(self, obj)
class Poly:
    def __init__(self, c): self.c = c
    @counted
    def __call__(self, x): return sum(c * x ** i for i, c in enumerate(self.c))
    @counted
    def diff(self): return Poly([i * c for i, c in enumerate(self.c)][1:])
def bisect(f, lo, hi, tol):
    flo = f(lo)
    while hi - lo > tol:
        mid = (lo + hi) / 2
        if (fm := f(mid)) * flo > 0: lo, flo = mid, fm
        else: hi = mid
    return (lo + hi) / 2
p, tol = Poly([jnp.array(-2.0), jnp.array(0.0), jnp.array(1.0)]), 1e-1
---
Poly.__call__.n = 0
root = bisect(lambda v: Poly.__call__(p, v), jnp.array(0.0), jnp.array(2.0), tol)
slope = p.diff()
calls = Poly.__call__.n
last = Poly.__call__.last[0][1]
val = sum(slope.c)
print(calls, Poly.diff.n > 0, Poly.diff.__name__, len(slope.c), abs(root.item() - 2 ** 0.5) < 0.1)
root, last, val
---
tol = 0.6
---
p.c[0] = jnp.array(-3.5)

### mbw-lru-cached-basis-cleared-when-the-grid-changes
@lru_cache(maxsize=2)
def basis(n, kind):
    x = jnp.linspace(-1, 1, n)
    return jnp.stack([x ** k if kind == "mono" else jnp.cos(k * jnp.arccos(jnp.clip(x, -1, 1))) for k in range(3)], 1)
class Curve:
    def __init__(self, kind): self.kind, self.fits = kind, {}
    def fit_all(self, rows):
        for name, y in rows.items():
            coef, *_ = jnp.linalg.lstsq(basis(len(y), self.kind), y)
            self.fits[name] = coef
            print(f"{name}: {basis.cache_info().hits >= 0}")
        return self
    @cached_property
    def norms(self): return {k: float(jnp.linalg.norm(c)) for k, c in self.fits.items()}
rows = {"a": jnp.array([1.0, 0.0, 1.0, 4.0]), "b": jnp.array([0.0, 1.0, 2.0, 3.0]), "c": jnp.ones(5)}
kind = "mono"
---
basis.cache_clear()
c = Curve(kind).fit_all(rows)
info = basis.cache_info()
again = basis(4, kind) is basis(4, kind)
norms = c.norms
recon = basis(4, kind) @ c.fits["a"]
print(info.hits, info.misses, info.currsize, again, c.norms is norms, sorted(norms))
recon, c.fits["c"]
---
kind = "cheb"
---
rows["d"] = jnp.zeros(6); del rows["a"]; rows["a"] = jnp.array([2.0, 1.0, 2.0, 1.0])

### mbw-singledispatch-walker-over-mixed-records
class Unit(NamedTuple):
    value: Any
    name: str
@singledispatch
def pack(o): raise TypeError(type(o).__name__)
@pack.register(jax.Array)
def _(o): return {"t": "jax", "d": str(o.dtype), "v": o.tolist()}
@pack.register(np.ndarray)
def _(o): return {"t": "np", "v": o.tolist()}
@pack.register(int)
@pack.register(float)
@pack.register(str)
def _(o): return o
@pack.register(list)
def _(o): return [pack(v) for v in o]
@pack.register(dict)
def _(o): return {k: pack(v) for k, v in o.items()}
@pack.register(Unit)
def _(o): return {"t": "unit", "n": o.name, "v": pack(o.value)}
class Stats:
    def __init__(self): self.n = Counter()
    @singledispatchmethod
    def see(self, o): self.n["other"] += 1
    @see.register
    def _(self, o: float): self.n["float"] += 1
    @see.register
    def _(self, o: list):
        self.n["list"] += 1
        for v in o: self.see(v)
x = jnp.array([1.0, 2.0])
---
rec = {"w": x * 2, "u": Unit(x.sum(), "m"), "l": [1, 0.5, np.arange(2)], "s": "ok"}
flat = pack(rec)
text = json.dumps(flat, sort_keys=True)
again = jnp.array(json.loads(text)["w"]["v"])
st = Stats()
for v in (rec["l"], 2.5, float(x[0]), x): st.see(v)
try:
    pack({1, 2})
except TypeError as e:
    why = str(e)
print(text[:40], dict(st.n), why, pack.dispatch(bool).__name__)
again, rec["u"].value
---
x = jnp.array([3, 4], jnp.int32)
---
x = x.astype(jnp.bfloat16)

### mbw-dataclass-frozen-ordered-slots-tree-with-hash-keys
@dataclass(frozen=True, order=True, slots=True)
class Trial:
    score: float
    lr: float = field(compare=False)
    params: Any = field(compare=False, repr=False, default=None)
    def __hash__(self): return hash((round(self.lr, 3),))
def sweep(lrs, target, steps):
    board, heap = {}, []
    for lr in lrs:
        w = jnp.zeros_like(target)
        for _ in range(steps): w = w - lr * (w - target)
        t = Trial(round(float(jnp.abs(w - target).max()), 3), lr, w)
        board[t] = len(board)
        heapq.heappush(heap, t)
    return board, [heapq.heappop(heap) for _ in range(len(heap))]
target, lrs, steps = jnp.array([1.0, -2.0]), [0.1, 0.5, 0.9], 2
---
board, ranked = sweep(lrs, target, steps)
best, *_, worst = ranked
other = dataclasses.replace(best, score=9.0)
found = Trial(best.score, best.lr) in board
try:
    best.score = 1.0
except dataclasses.FrozenInstanceError as e:
    msg = str(e)
alias = other.params is best.params, hasattr(best, "__dict__")
print([t.lr for t in ranked], found, msg, alias, repr(worst))
best.params, board[best]
---
lrs = [1.9, 1.0]
---
target = jnp.array([4.0]); steps = 3

### mbw-enum-strategies-with-methods-and-auto-values
class Norm(enum.Enum):
    L1 = enum.auto()
    L2 = enum.auto()
    INF = enum.auto()
    def __call__(self, x): return {1: jnp.abs(x).sum, 2: lambda: jnp.sqrt((x ** 2).sum()), 3: jnp.abs(x).max}[self.value]()
    @classmethod
    def _missing_(cls, key): return cls[str(key).upper()] if str(key).upper() in cls.__members__ else None
class Flags(enum.IntFlag):
    SCALE = 1; SHIFT = 2; CLIP = 4
    BOTH = SCALE | SHIFT
def process(xs, how, norm):
    out = []
    for x in xs:
        if Flags.SHIFT in how: x = x - x.mean()
        if Flags.SCALE in how: x = x / norm(x)
        if how & Flags.CLIP: x = jnp.clip(x, -0.5, 0.5)
        out.append(x)
    return out
xs, how, key = [jnp.array([1.0, 2.0, 6.0]), jnp.array([4.0, 4.5])], Flags.BOTH, "l2"
---
norm = Norm(key)
out = process(xs, how, norm)
table = {n.name: round(n(out[0]).item(), 2) for n in Norm}
bits = [f.name for f in Flags if f in how]
wide = how | Flags.CLIP
try:
    Norm("l7")
except ValueError as e:
    err = str(e)[:7]
print(table, bits, int(wide), wide == 7, err, norm is Norm.L2)
out[0], out[1].sum()
---
key = 3; how = Flags.CLIP | Flags.SCALE
---
how = Flags(0); xs.reverse()

### mbw-abstract-integrators-with-template-method-run
class Integrator(abc.ABC):
    order: int
    registry = {}
    def __init_subclass__(cls, **kw): super().__init_subclass__(**kw); Integrator.registry[cls.__name__.lower()] = cls
    def __init__(self, f, dt): self.f, self.dt, self.calls = f, dt, 0
    def rhs(self, y): self.calls += 1; return self.f(y)
    @abc.abstractmethod
    def step(self, y): ...
    def run(self, y, n, on_step=None):
        ys = [y]
        for i in range(n):
            y = self.step(y)
            ys.append(y)
            if on_step: on_step(i, y)
        return jnp.stack(ys)
class Euler(Integrator):
    order = 1
    def step(self, y): return y + self.dt * self.rhs(y)
class Heun(Integrator):
    order = 2
    def step(self, y):
        k1 = self.rhs(y)
        return y + self.dt / 2 * (k1 + self.rhs(y + self.dt * k1))
class RK4(Integrator):
    order = 4
    def step(self, y):
        k1 = self.rhs(y); k2 = self.rhs(y + self.dt / 2 * k1); k3 = self.rhs(y + self.dt / 2 * k2); k4 = self.rhs(y + self.dt * k3)
        return y + self.dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
def f(y): return jnp.array([y[1], -y[0]])
dt, n, seen = 0.2, 4, []
---
seen.clear()
runs = {}
for name, cls in Integrator.registry.items():
    it = cls(f, dt)
    runs[name] = (it.run(jnp.array([1.0, 0.0]), n, lambda i, y: seen.append((i, y[0]))), it.calls)
exact = jnp.array([math.cos(dt * n), -math.sin(dt * n)])
errs = {k: float(jnp.abs(v[-1] - exact).max()) for k, (v, _) in runs.items()}
ranked = sorted(errs, key=errs.get)
try:
    Integrator(f, dt)
except TypeError as e:
    abstract = "abstract" in str(e)
print(ranked[0], {k: c for k, (_, c) in runs.items()}, abstract, len(seen), [c.order for c in Integrator.registry.values()])
runs["heun"][0][-1], seen[-1][1]
---
dt = 0.5
---
def f(y): return -0.5 * y
n = 2

### mbw-slots-and-descriptor-tracking-history-of-writes
class Tracked:
    def __set_name__(self, owner, name): self.slot = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.slot)
    def __set__(self, obj, v):
        obj.writes.append((self.slot, getattr(v, "shape", None)))
        setattr(obj, self.slot, v)
    def __delete__(self, obj): delattr(obj, self.slot)
class Filter:
    __slots__ = ("_mean", "_var", "writes", "__weakref__")
    mean, var = Tracked(), Tracked()
    def __init__(self, m, v): self.writes = []; self.mean, self.var = m, v
    def consume(self, ys, q, r):
        for y in ys:
            v = self.var + q
            k = v / (v + r)
            self.mean = self.mean + k * (y - self.mean)
            self.var = (1 - k) * v
        return self
ys, q, r = jnp.array([1.0, 1.5, 0.5]), 0.1, 1.0
---
f = Filter(jnp.zeros(()), 1.0).consume(ys, q, r)
ref = weakref.ref(f)
n, shapes = len(f.writes), {s for _, s in f.writes}
kinds = type(f.mean).__name__, isinstance(f.var, float), ref() is f
band = f.mean - 2 * f.var ** 0.5, f.mean + 2 * f.var ** 0.5
del f.var
gone = not hasattr(f, "var"), hasattr(f, "__dict__")
print(n, sorted(map(str, shapes)), kinds, gone, f.writes[0])
f.mean, band
---
q = jnp.array(0.5)
---
ys = np.array([2, 3]); r = 0.25

### mbw-property-setter-invalidates-and-recomputes-in-loop
class Lens:
    def __init__(self, f): self._f, self._m, self.rebuilt = f, None, 0
    @property
    def f(self): return self._f
    @f.setter
    def f(self, v):
        if v == 0: raise ValueError("flat")
        self._f, self._m = v, None
    @property
    def matrix(self):
        if self._m is None:
            self.rebuilt += 1
            self._m = jnp.array([[1.0, 0.0], [-1.0 / self._f, 1.0]])
        return self._m
    def __matmul__(self, o): return self.matrix @ (o.matrix if isinstance(o, Lens) else o)
def focus(lens, ray, target, tries):
    log = []
    for _ in range(tries):
        h = (jnp.array([[1.0, 1.0], [0.0, 1.0]]) @ (lens @ ray))[0]
        log.append(h.item())
        if abs(h - target) < 0.05: break
        try:
            lens.f = lens.f + (0.5 if h < target else -0.5)
        except ValueError as e:
            log.append(str(e)); break
    return log
start, ray, target = 0.5, jnp.array([1.0, 0.1]), 0.6
---
lens = Lens(start)
log = focus(lens, ray, target, 5)
m1, m2 = lens.matrix, lens.matrix
pair = lens @ Lens(2.0)
det = jnp.linalg.det(pair)
print(lens.f, lens.rebuilt, m1 is m2, [v if isinstance(v, str) else round(v, 2) for v in log])
pair, det
---
start = -0.5; target = 9.0
---
ray = jnp.array([2.0, 0.0])

### mbw-caught-errors-by-kind-with-notes-and-cause
class ConfigError(Exception):
    def __init__(self, key, value): super().__init__(f"{key}={value!r}"); self.key, self.value = key, value
def build(cfg):
    try:
        n = int(cfg["n"])
    except KeyError as e:
        raise ConfigError("n", None) from e
    except ValueError as e:
        e.add_note("in build"); raise
    w = jnp.ones((n, 2)) * cfg.get("scale", 1)
    return w @ cfg["x"]
def run_all(cfgs):
    ok, failed = {}, {}
    for name, cfg in cfgs.items():
        try:
            ok[name] = build(cfg)
        except ConfigError as e:
            failed[name] = (e.key, type(e.__cause__).__name__)
        except ValueError as e:
            failed[name] = (type(e).__name__, getattr(e, "__notes__", []))
        except TypeError as e:
            failed[name] = ("TypeError", "shape" in str(e))
        else:
            print(name, "->", ok[name].shape)
        finally:
            order.append(name)
    return ok, failed
order = []
cfgs = {"a": {"n": "2", "x": jnp.array([1.0, 2.0])}, "b": {"x": 1}, "c": {"n": "two"}, "d": {"n": 1, "x": jnp.ones(3)}}
---
ok, failed = run_all(cfgs)
total = sum(v.sum() for v in ok.values())
kinds = sorted(str(v[0]) for v in failed.values())
done = order[-len(cfgs):] == list(cfgs)
print(failed, kinds, done)
total, ok["a"]
---
cfgs["d"]["x"] = jnp.ones(2); cfgs["a"]["scale"] = jnp.array([2, 3])
---
cfgs["b"]["n"] = 1; cfgs["b"]["x"] = np.array([4.0, 5.0]); order.clear()

### mbw-weak-value-cache-of-models-and-finalizer-log
class Model:
    def __init__(self, name, w): self.name, self.w, self.peers = name, w, []
events = []
class Zoo:
    def __init__(self): self.live, self.strong = weakref.WeakValueDictionary(), {}
    def get(self, name, keep):
        m = self.live.get(name)
        if m is None:
            m = Model(name, jnp.full(2, float(len(name))))
            weakref.finalize(m, events.append, f"gone {name}")
            self.live[name] = m
            events.append(f"made {name}")
        if keep: self.strong[name] = m
        return m
def use(zoo, names, keep):
    out = {}
    for n in names:
        m = zoo.get(n, n in keep)
        m.w = m.w + 1
        out[n] = m.w
        del m
    return out
names, keep = ["ab", "c", "ab", "def"], {"ab"}
---
events.clear()
zoo = Zoo()
out = use(zoo, names, keep)
alive = sorted(zoo.live)
kept = zoo.strong["ab"] if "ab" in zoo.strong else None
shared = kept is not None and kept.w is out["ab"]
ref = weakref.ref(kept) if kept else None
print(alive, events, shared, ref is not None)
out["ab"], out[names[-1]]
---
keep = {"c", "def"}
---
names = ["ab"] * 3; keep = {"ab"}

### mbw-deepcopy-shallow-copy-and-pickle-of-shared-arrays
class Bag:
    def __init__(self, items): self.items, self.tag = items, "t"
    def __copy__(self):
        new = Bag(self.items); new.tag = self.tag + "c"
        return new
    def __deepcopy__(self, memo):
        new = Bag(copy.deepcopy(self.items, memo)); new.tag = self.tag + "d"
        return new
    def __getstate__(self): return {"items": self.items}
    def __setstate__(self, s): self.items, self.tag = s["items"], "unpickled"
shared = jnp.arange(3.0); host = np.zeros(2)
bag = Bag({"a": shared, "b": [shared, host], "c": (host, 1)})
k = 2
---
sh, dp, pk = copy.copy(bag), copy.deepcopy(bag), pickle.loads(pickle.dumps(bag))
host += k
bag.items["a"] = bag.items["a"] * k
flags = {
    "shallow": (sh.items is bag.items, sh.items["b"][1] is host),
    "deep": (dp.items["b"][1] is host, dp.items["b"][1] is dp.items["c"][0], dp.items["a"] is dp.items["b"][0]),
    "pickle": (pk.items["b"][1] is pk.items["c"][0], pk.items["a"] is pk.items["b"][0]),
}
sums = [float(np.sum(b.items["b"][1])) for b in (bag, sh, dp, pk)]
print(flags, sh.tag, dp.tag, pk.tag, sums)
bag.items["a"], pk.items["a"]
---
k = 3
---
bag.items["b"].append(bag.items["a"]); host = host.astype(np.int64)

### mbw-contextvar-precision-read-deep-in-helpers
level = contextvars.ContextVar("level", default=0)
@contextlib.contextmanager
def at(n):
    tok = level.set(n)
    try: yield n
    finally: level.reset(tok)
def quantise(x): return jnp.round(x, level.get()) if level.get() is not None else x
def smooth(xs, n):
    out = []
    for i, x in enumerate(xs):
        with at(i % n if n else None):
            out.append(quantise(x))
    return out, level.get()
xs = [jnp.array(v) for v in (1.2345, 2.3456, 3.4567)]; n = 2
---
out, outer = smooth(xs, n)
ctx = contextvars.copy_context()
ctx.run(level.set, 3)
inside = ctx.run(quantise, xs[0])
here = quantise(xs[0])
diffs = [float(jnp.abs(a - b)) for a, b in zip(out, xs)]
print(outer, ctx[level], level.get(), [f"{d:.3f}" for d in diffs])
jnp.stack(out), inside, here
---
n = 0
---
level.set(1); xs = xs[1:]

### mbw-python-random-numpy-legacy-and-generator-side-by-side
def shuffle_epoch(X, y, rnd, gen):
    idx = list(range(len(X))); rnd.shuffle(idx)
    noise = gen.normal(0, 0.1, X.shape)
    return X[np.array(idx)] + noise, y[np.array(idx)], idx
class Sampler:
    def __init__(self, seed): self.rnd, self.gen, self.draws = random.Random(seed), np.random.default_rng(seed), 0
    def epochs(self, X, y, n):
        w = jnp.zeros(X.shape[1])
        for e in range(n):
            Xe, ye, idx = shuffle_epoch(X, y, self.rnd, self.gen)
            for x, t in zip(Xe, ye):
                w = w + 0.1 * (t - x @ w) * x
                self.draws += 1
            print(f"epoch {e} first {idx[0]} |w| {jnp.linalg.norm(w):.2f}")
        return w
random.seed(3); np.random.seed(3)
X = np.random.randn(4, 2); y = X @ np.array([1.0, 2.0]); n = 2
---
s = Sampler(random.randint(0, 9))
w = s.epochs(X, y, n)
state = s.gen.bit_generator.state["has_uint32"]
legacy = np.random.rand()
nxt = s.rnd.random(), random.random()
child = s.gen.spawn(1)[0].integers(0, 5, 3)
perm = np.random.permutation(3).tolist()
print(f"{legacy:.3f} {nxt[0]:.3f} {nxt[1]:.3f}", child, perm, state, s.draws)
w, child.dtype
---
random.seed(8)
---
np.random.seed(1); X = X[:3]; y = y[:3]; n = 1

### mbw-data-parallel-epoch-helper-on-a-mesh-of-four devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("data",))
rep, shd = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
@jax.jit
def step(w, x, y, lr):
    l, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - lr * g, l
def train_epoch(w, loader, lr):
    losses = []
    for x, y in loader:
        if len(x) % 4:
            x, y = x[: len(x) // 4 * 4], y[: len(y) // 4 * 4]
        x, y = jax.device_put((x, y), shd)
        w, l = step(w, x, y, lr)
        losses.append(float(l))
    return w, losses
rng = np.random.default_rng(0)
X = rng.normal(size=(18, 3)).astype(np.float32); Y = X.sum(1)
loader = [(X[i:i + 8], Y[i:i + 8]) for i in range(0, 16, 8)] + [(X[13:], Y[13:])]
lr = 0.1
---
w = jax.device_put(jnp.zeros(3), rep)
w, losses = train_epoch(w, loader, lr)
xs = jax.device_put(X[:8], shd)
pred = xs @ w
spec = pred.sharding.spec
local = [s.data.shape for s in pred.addressable_shards]
full = np.asarray(pred)
print(len(losses), w.sharding.is_fully_replicated, local, full.shape, losses[-1] < losses[0] * 2)
pred, w
---
lr = 0.3
---
loader = loader[:1]; X = X * 2

### mbw-shard-map-helper-loops-over-rounds-of-gossip devices=4
mesh = jax.make_mesh((4,), ("n",), devices=jax.devices()[:4])
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P("n"), P()), out_specs=P("n"))
def gossip(x, a):
    left = lax.ppermute(x, "n", [(i, (i + 1) % 4) for i in range(4)])
    right = lax.ppermute(x, "n", [(i, (i - 1) % 4) for i in range(4)])
    return (1 - 2 * a) * x + a * (left + right)
def consensus(x, a, tol, max_rounds=8):
    spread, rounds = [], 0
    while (s := float(x.max() - x.min())) > tol and rounds < max_rounds:
        x = gossip(x, a)
        spread.append(s)
        rounds += 1
    print(f"{rounds} rounds, spread {s:.2f}")
    return x, spread
x0 = jax.device_put(jnp.array([0.0, 4.0, 1.0, 7.0]), NamedSharding(mesh, P("n")))
a, tol = 0.3, 0.5
---
x, spread = consensus(x0, a, tol)
mean = x.mean()
owners = {s.device.id: float(s.data[0]) for s in x.addressable_shards}
kept = abs(float(mean) - float(x0.mean())) < 1e-3
ratio = np.divide(spread[1:], spread[:-1])
print(sorted(owners) == [d.id for d in mesh.devices.flat], kept, ratio.dtype)
x, mean
---
a = jnp.float32(0.2)
---
x0 = x0 * 0.1

### mbw-pipeline-over-devices-with-stage-objects devices=4
class Stage:
    def __init__(self, dev, key, d): self.dev, self.w, self.seen = dev, jax.device_put(jr.normal(key, (d, d)) / d, dev), 0
    def __call__(self, x):
        self.seen += len(x)
        return jnp.tanh(jax.device_put(x, self.dev) @ self.w)
class Pipeline:
    def __init__(self, devs, d, seed): self.stages = [Stage(v, k, d) for v, k in zip(devs, jr.split(jr.key(seed), len(devs)))]
    def run(self, batch, n_micro):
        inflight, done = deque(), []
        todo = deque(jnp.split(batch, n_micro))
        while todo or inflight:
            inflight = deque((i + 1, self.stages[i](x)) for i, x in inflight)
            while inflight and inflight[0][0] == len(self.stages):
                done.append(inflight.popleft()[1])
            if todo: inflight.append((0, todo.popleft()))
        return jnp.concatenate(done)
devs = jax.devices()[:4]; batch = jnp.arange(12.0).reshape(4, 3) / 6; n_micro = 2
---
pipe = Pipeline(devs[:3], 3, 0)
y = pipe.run(batch, n_micro)
where = [next(iter(s.w.devices())).id for s in pipe.stages]
last = y.devices() == {pipe.stages[-1].dev}
back = jax.device_put(y, devs[0])
gap = jnp.abs(back).max()
print(where, last, [s.seen for s in pipe.stages], y.shape)
y, back + batch
---
n_micro = 4
---
devs = devs[::-1]; batch = batch[:2]; n_micro = 1

### mbw-default-device-block-and-committed-inputs devices=4
d = jax.devices()[:4]
host = np.arange(4, dtype=np.float32)
pin = jax.device_put(host, d[3])
def work(n):
    made = []
    for i in range(n):
        with jax.default_device(d[i % 4]):
            z = jnp.zeros(2) + i
            made.append(z)
    return made
n = 3
---
made = work(n)
ids = [sorted(v.id for v in z.devices())[0] for z in made]
with jax.default_device(d[1]):
    a = jnp.asarray(host) * 2
    b = pin + 1
    with jax.default_device(d[2]):
        c = jnp.ones(4)
    e = a + jnp.ones(4)
flags = a.committed, b.committed, c.committed
joined = pin + host
try:
    bad = jax.device_put(host, d[0]) + pin
except ValueError as err:
    bad = "incompatible" in str(err).lower()
print(ids, flags, [next(iter(v.devices())).id for v in (a, b, c, e, joined)], bad)
b, c, made[-1]
---
n = 5
---
pin = jax.device_put(host[::-1], d[2])

### mbw-sharded-table-columns-updated-in-nested-dict devices=4
mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("r", "c"))
put = lambda x, *s: jax.device_put(x, NamedSharding(mesh, P(*s)))
tree = {"emb": put(jnp.arange(16.0).reshape(4, 4), "r", "c"), "out": {"w": put(jnp.ones((4, 2)), "c", None), "b": put(jnp.zeros(2))}}
ids, lr = jnp.array([0, 2]), 0.5
def apply_updates(tree, grads, lr, path=()):
    for k in list(tree):
        if isinstance(tree[k], dict):
            apply_updates(tree[k], grads[k], lr, path + (k,))
        else:
            tree[k] = tree[k] - lr * grads[k]
            touched.append("/".join(path + (k,)))
touched = []
---
def loss(t): return jnp.sum((t["emb"][ids] @ t["out"]["w"] + t["out"]["b"]) ** 2) / 100
val, grads = jax.value_and_grad(loss)(tree)
out = tree["out"]
old = tree["emb"]
apply_updates(tree, grads, lr)
specs = {k: tuple(v.sharding.spec) if isinstance(v.sharding, NamedSharding) else None for k, v in out.items()}
row_changed = np.flatnonzero(np.asarray((tree["emb"] != old).any(1))).tolist()
print(f"{val:.2f}", specs, out is tree["out"], touched[-3:], row_changed)
tree["emb"], out["w"]
---
ids = jnp.array([1])
---
lr = jnp.float32(0.1); tree["out"]["b"] = put(jnp.ones(2))

### mbw-matmul-precision-and-config-flags-read-and-set
x = jnp.linspace(0, 1, 6).reshape(2, 3); w = jnp.ones((3, 2)) / 3
def sweep(levels):
    got = {}
    for lv in levels:
        with jax.default_matmul_precision(lv):
            got[lv] = (x @ w, jax.config.jax_default_matmul_precision)
    return got
levels, check = ["float32", "bfloat16"], False
---
got = sweep(levels)
outside = jax.config.jax_default_matmul_precision
direct = jnp.matmul(x, w, precision=lax.Precision.HIGHEST)
half = jnp.matmul(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=jnp.float32)
dots = lax.dot_general(x, w, (((1,), (0,)), ((), ())), precision="highest")
with jax.numpy_dtype_promotion("strict" if check else "standard"):
    try:
        mixed = x + np.ones(3, np.int32)
    except Exception as e:
        mixed = type(e).__name__
with jax.debug_nans(check):
    try:
        nan = jnp.log(x - 0.5)[0]
    except FloatingPointError:
        nan = "caught"
print(outside, [v for _, v in got.values()], half.dtype, mixed if check else mixed.dtype, nan if check else bool(jnp.isnan(nan[0])))
direct, dots
---
check = True
---
levels = ["tensorfloat32"]; x = x * 2; check = False

### mbw-structured-array-records-grouped-and-scored
dt = np.dtype([("id", "i4"), ("team", "U3"), ("pos", "f4", (2,)), ("ok", "?")])
recs = np.array([(1, "red", (0.0, 1.0), True), (2, "blu", (2.0, 2.0), False), (3, "red", (4.0, 0.0), True)], dt)
goal = jnp.array([1.0, 1.0])
def score(recs, goal, power):
    for r in recs:
        d = jnp.linalg.norm(jnp.asarray(r["pos"]) - goal)
        r["ok"] = bool(d < 2.0)
        r["pos"] *= 0.5
        yield r["id"].item(), d ** power
power = 1
---
view = recs["pos"]
scores = dict(score(recs, goal, power))
by_team = defaultdict(list)
for r in recs: by_team[str(r["team"])].append(scores[int(r["id"])])
means = {t: jnp.stack(v).mean() for t, v in by_team.items()}
good = recs[recs["ok"]]
order = np.sort(recs, order=["team", "id"])["id"]
x = jnp.asarray(view)
rec = recs.view(np.recarray)
print(dict(by_team).keys(), good["id"].tolist(), order, rec.team[0], view.base is recs, np.shares_memory(view, recs))
x, means["red"]
---
power = 2; recs["pos"][0] = [5, 5]
---
recs = np.append(recs, np.array([(9, "grn", (1, 1), False)], dt))

### mbw-masked-arrays-filled-and-compressed-for-jax
import numpy.ma as ma
raw = np.array([1.0, -999.0, 3.0, 4.0, -999.0, 6.0])
def smooth(m, n):
    out = []
    for i in range(0, len(m), n):
        win = m[i:i + n]
        out.append(jnp.nan if win.count() == 0 else jnp.asarray(win.compressed()).mean())
        if ma.is_masked(win): gaps.append(i)
    return jnp.stack([jnp.asarray(v, jnp.float32) for v in out])
gaps, n = [], 2
---
gaps.clear()
m = ma.masked_values(raw, -999.0)
sm = smooth(m, n)
filled = jnp.asarray(m.filled(float(m.mean())))
mask = jnp.asarray(ma.getmaskarray(m))
wmean = jnp.sum(jnp.where(mask, 0.0, filled)) / jnp.sum(~mask)
m[0] = ma.masked
hard = m.harden_mask()
runs = [(s.start, s.stop) for s in ma.clump_unmasked(m)]
print(gaps, runs, m.fill_value, hard is m, m.count(), raw[0])
sm, wmean
---
n = 3
---
raw[5] = -999.0; raw[4] = 5.0

### mbw-numpy-views-strides-written-through-by-helper
base = np.arange(12.0).reshape(3, 4)
views = {"row": base[1], "col": base[:, 2], "blk": base[:2, ::2], "T": base.T, "flat": base.ravel()}
def relax(views, n):
    for i in range(n):
        for name, v in views.items():
            j = jnp.asarray(v)
            v[...] = np.asarray(0.5 * (j + j.mean()))
            log.append((name, v.strides))
    return sum(v.size for v in views.values())
log, n = [], 1
---
log.clear()
snapshot = base.copy()
size = relax(views, n)
frozen = base.view(); frozen.flags.writeable = False
try:
    frozen[0, 0] = 1
except ValueError as e:
    why = "read-only" in str(e)
x = jnp.asarray(frozen)
win = np.lib.stride_tricks.sliding_window_view(base, 2, axis=1)
ro = np.asarray(x), np.array(x)
flags = [a.flags.writeable for a in ro], win.flags.writeable, views["flat"].base is base
moved = float(np.abs(base - snapshot).max())
print(size, why, flags, win.shape, f"{moved:.2f}", log[2])
x.mean(), x[1]
---
n = 2
---
base[:] = 1.0; base[0, 0] = 9.0; del views["flat"]; views["flat"] = base.reshape(-1)

### mbw-pandas-rolling-fits-written-to-columns needs=pandas
import pandas as pd
rng = np.random.default_rng(0)
df = pd.DataFrame({"t": np.arange(8.0), "y": np.round(rng.normal(size=8).cumsum(), 2), "g": list("aabbabba")})
def fit_line(t, y):
    A = jnp.stack([t, jnp.ones_like(t)], 1)
    return jnp.linalg.solve(A.T @ A + 1e-3 * jnp.eye(2), A.T @ y)
def add_trends(df, win):
    slopes = []
    for i in range(len(df)):
        part = df.iloc[max(0, i - win + 1): i + 1]
        c = fit_line(jnp.asarray(part["t"].to_numpy()), jnp.asarray(part["y"].to_numpy()))
        slopes.append(round(float(c[0]), 3))
    df["slope"] = slopes
    return df
win = 3
---
same = add_trends(df, win) is df
per = {g: fit_line(jnp.asarray(s["t"].to_numpy(), jnp.float32), jnp.asarray(s["y"].to_numpy(), jnp.float32)) for g, s in df.groupby("g")}
wide = df.pivot(index="t", columns="g", values="y").ffill().fillna(0.0)
corr = jnp.corrcoef(jnp.asarray(wide.to_numpy().T, dtype=jnp.float32))[0, 1]
top = df.nlargest(2, "y")["t"].tolist()
df.loc[df.slope.abs() > 5, "slope"] = np.nan
print(same, list(wide.columns), top, int(df.slope.isna().sum()), df.dtypes["slope"])
per["a"], corr
---
win = 2
---
df.loc[0, "y"] = 10.0; df["g"] = df["g"].replace({"b": "c"})

### mbw-sklearn-pipeline-around-a-jax-transformer needs=sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
class RFF(BaseEstimator, TransformerMixin):
    def __init__(self, n=8, scale=1.0, seed=0): self.n, self.scale, self.seed = n, scale, seed
    def fit(self, X, y=None):
        k1, k2 = jr.split(jr.PRNGKey(self.seed))
        self.W_, self.b_ = self.scale * jr.normal(k1, (X.shape[1], self.n)), jr.uniform(k2, (self.n,), maxval=2 * jnp.pi)
        return self
    def transform(self, X): return np.asarray(jnp.cos(jnp.asarray(X, jnp.float32) @ self.W_ + self.b_))
def cross_val(model, X, y, k):
    scores, models = [], []
    for tr, te in KFold(k).split(X):
        m = clone(model).fit(X[tr], y[tr])
        scores.append(float(np.mean((m.predict(X[te]) - y[te]) ** 2)))
        models.append(m)
    return np.array(scores), models
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (18, 2)); y = np.sin(2 * X[:, 0]) + X[:, 1]
scale, k = 1.0, 3
---
pipe = make_pipeline(RFF(scale=scale), Ridge(alpha=0.1))
scores, models = cross_val(pipe, X, y, k)
best = models[int(scores.argmin())]
feats = best[0].transform(X[:2])
params = {n: v for n, v in pipe.get_params().items() if n.startswith("rff__")}
fitted = [hasattr(m[0], "W_") for m in (pipe, best)]
coef = jnp.asarray(best[-1].coef_, jnp.float32)
print(params, fitted, scores.shape, feats.shape, bool((scores < 1).all()))
best[0].W_[0], coef.shape
---
scale = 0.5; k = 2
---
y = y > 0; y = y.astype(float); X = X[:, :1]

### mbw-scipy-splines-sparse-and-quad-mixed-with-arrays
from scipy import interpolate, sparse, integrate, special
t = np.linspace(0, 3, 7); vals = np.sin(t)
def integrate_all(fs, hi):
    out = {}
    for name, f in fs.items():
        q, err = integrate.quad(lambda s: float(f(jnp.float32(s))), 0, hi, limit=4)
        out[name] = round(q, 3)
        calls[name] += 1
    return out
calls, hi = Counter(), 1.0
---
cs = interpolate.CubicSpline(t, vals)
fine = jnp.asarray(cs(np.linspace(0, 3, 5)), jnp.float32)
areas = integrate_all({"sin": jnp.sin, "sq": lambda s: s ** 2}, hi)
L = sparse.diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(5, 5), format="csr")
lap = jnp.asarray(L @ np.asarray(fine))
coo = L.tocoo()
seg = jax.ops.segment_sum(jnp.asarray(coo.data, jnp.float32) * fine[coo.col], jnp.asarray(coo.row), 5)
erf = special.erf(np.asarray(fine)) - np.asarray(jax.scipy.special.erf(fine))
print(areas, dict(calls), L.nnz, bool(jnp.allclose(lap, seg, atol=1e-4)), float(np.abs(erf).max()) < 1e-5)
lap, cs(1.0).dtype
---
hi = 2.0
---
vals = t ** 2; calls.clear()

### mbw-module-with-loop-written-imported-and-edited
Path("solverlib.py").write_text("import jax.numpy as jnp\nDAMP = 0.5\ncount = 0\ndef solve(g, x, tol):\n    global count\n    n = 0\n    while True:\n        y = (1 - DAMP) * x + DAMP * g(x)\n        n += 1; count += 1\n        if abs(float(y - x)) < tol or n > 20:\n            return y, n\n        x = y\n")
import solverlib
def g(x): return jnp.cos(x)
tol = 1e-2
---
x, n = solverlib.solve(g, jnp.array(1.0), tol)
before = solverlib.count
solverlib.DAMP = 1.0
y, n2 = solverlib.solve(g, jnp.array(1.0), 0.05)
solverlib.DAMP = 0.5
from solverlib import solve as s2, count as frozen_count
same = s2 is solverlib.solve, sys.modules["solverlib"] is solverlib
gap = abs(float(x - y)) < 0.1
print(n, n2, solverlib.count - before == n2, frozen_count == solverlib.count, same, gap)
x, y
---
tol = 0.1
---
def g(x): return 1 / (1 + x)
solverlib.count = 0

### mbw-argv-and-environment-config-parsed-by-main
import argparse
def parse(argv):
    ap = argparse.ArgumentParser(prog="train")
    ap.add_argument("--lr", type=float, default=float(os.environ.get("MB_LR", "0.1")))
    ap.add_argument("--steps", type=int, default=2)
    ap.add_argument("--tag", action="append", default=[])
    return ap.parse_args(argv)
def main(argv=None):
    args = parse(sys.argv[1:] if argv is None else argv)
    w = jnp.array([2.0, -1.0])
    for i in range(args.steps):
        w = w - args.lr * 2 * w
        print(f"[{','.join(args.tag) or '-'}] step {i}: {jnp.sum(w ** 2):.3f}")
    return w, args
sys.argv = ["nb.py", "--steps", "3", "--tag", "a"]
---
w, args = main()
os.environ["MB_LR"] = "0.25"
w2, args2 = main(["--tag", "b", "--tag", "c"])
del os.environ["MB_LR"]
try:
    with contextlib.redirect_stderr(io.StringIO()) as err: main(["--steps", "many"])
except SystemExit as e:
    code = e.code
cfg = ChainMap({"steps": 9}, vars(args2))
msg = err.getvalue().splitlines()[-1]
del err
print(vars(args), cfg["lr"], cfg["steps"], code, "invalid int" in msg)
w, w2
---
sys.argv[2] = "1"
---
sys.argv += ["--lr", "0.4"]; os.environ["MB_LR"] = "0.01"

### mbw-logging-from-a-fit-with-levels-and-own-handler
log = logging.Logger("mbw.fit", logging.INFO)
class Keep(logging.Handler):
    def __init__(self): super().__init__(); self.lines = []
    def emit(self, r): self.lines.append((r.levelname, r.getMessage()))
keep = Keep(); log.handlers[:] = [keep]
def fit(w, steps, lr, clip):
    for i in range(steps):
        g = jax.grad(lambda w: jnp.sum(w ** 4))(w)
        n = jnp.linalg.norm(g)
        if n > clip:
            log.warning("step %d: clipped %.2f", i, n)
            g = g * clip / n
        w = w - lr * g
        log.info("step %d: |w|=%.3f", i, jnp.linalg.norm(w))
        log.debug("never")
    return w
w0, clip, lr = jnp.array([1.0, 0.5]), 2.0, 0.1
---
keep.lines.clear()
w = fit(w0, 3, lr, clip)
levels = Counter(l for l, _ in keep.lines)
last = keep.lines[-1][1]
try:
    raise RuntimeError("late")
except RuntimeError:
    log.exception("failed with w of %s", w.shape)
text = "\n".join(m for _, m in keep.lines)
print(dict(levels), last, len(keep.lines), "never" in text)
w, log.getEffectiveLevel()
---
clip = 0.5; keep.setLevel(logging.WARNING)
---
log.setLevel(logging.DEBUG); keep.setLevel(logging.NOTSET); w0 = w0 * 0.1

### mbw-warnings-recorded-and-escalated-in-a-sweep
class Unstable(RuntimeWarning): pass
def march(u, r, n):
    if r > 0.5: warnings.warn(f"r={r:.2f} is unstable", Unstable, stacklevel=2)
    for _ in range(n):
        u = u.at[1:-1].add(r * (u[2:] - 2 * u[1:-1] + u[:-2]))
    return u
def sweep(rs, u, mode):
    out, told = {}, []
    for r in rs:
        with warnings.catch_warnings(record=mode != "error") as rec:
            warnings.simplefilter(mode, Unstable)
            try:
                out[r] = march(u, r, 3)
            except Unstable as e:
                out[r] = None; told.append(("raised", str(e)))
        told += [("noted", str(w.message)) for w in rec or []]
    return out, told
u, rs, mode = jnp.zeros(6).at[2].set(1.0), [0.25, 0.6], "always"
---
out, told = sweep(rs, u, mode)
ok = {r: v for r, v in out.items() if v is not None}
mass = {r: round(float(v.sum()), 3) for r, v in ok.items()}
kinds = [k for k, _ in told]
rough = max(float(jnp.abs(jnp.diff(v)).sum()) for v in ok.values())
print(told, kinds, mass, f"{rough:.2f}")
ok[rs[0]], len(out)
---
mode = "error"
---
mode = "ignore"; rs = [0.7, 0.1]

### mbw-aliases-in-nested-lists-and-dicts-after-inplace-ops
a = jnp.array([1.0, 2.0]); h = np.array([1.0, 2.0])
state = {"w": a, "hist": [a, h], "m": {"w": a, "h": h}}
also = state["hist"]
grid = [[0] * 2] * 2
def advance(state, k):
    for i in range(k):
        state["w"] += 1
        state["m"]["h"] *= 2
        state["hist"].append(state["w"])
        state["m"].setdefault("steps", []).append(i)
    return state["m"]
k = 2
---
inner = advance(state, k)
grid[0][0] = state["w"].sum()
state["hist"] += [inner["h"]]
also[0] = also[0] * 10
tail = also[-2:]
b = state["w"]; b += 0.5
facts = also is state["hist"], inner["w"] is a, tail[1] is h, grid[0] is grid[1], b is state["w"], len(also)
x, *rest = also
state["m"], kept = dict(state["m"], w=b), state["m"]
print(facts, kept is inner, state["m"]["h"] is h, len(rest), kept["steps"])
h, b, grid[1][0], state["m"]["w"]
---
k = 1; state["hist"] = also[:2]
---
state["w"] = jnp.array([5, 6]); also = state["hist"]

### mbw-buffers-in-containers-updated-in-place-by-ring-class
class Ring:
    def __init__(self, cap, shape): self.buf, self.i, self.full = np.zeros((cap, *shape), np.float32), 0, False
    def push(self, x):
        self.buf[self.i] = x
        self.i = (self.i + 1) % len(self.buf)
        self.full |= self.i == 0
        return self
    def ordered(self): return np.roll(self.buf, -self.i, 0) if self.full else self.buf[: self.i]
class Monitor:
    def __init__(self, caps): self.rings, self.views = {n: Ring(c, (2,)) for n, c in caps.items()}, {}
    def run(self, x, n, f):
        for t in range(n):
            x = f(x)
            for name, r in self.rings.items():
                r.push(x if name == "x" else x ** 2)
            if t == 0: self.views = {k: r.buf[0] for k, r in self.rings.items()}
        return x
def f(x): return 0.5 * x + jnp.array([1.0, 0.0])
caps, n, x0 = {"x": 2, "sq": 4}, 3, jnp.array([0.0, 8.0])
---
mon = Monitor(caps)
x = mon.run(x0, n, f)
seqs = {k: jnp.asarray(r.ordered()) for k, r in mon.rings.items()}
drift = jnp.diff(seqs["x"], axis=0)
linked = mon.views["x"].base is mon.rings["x"].buf
fulls = {k: (r.i, bool(r.full)) for k, r in mon.rings.items()}
mon.views["sq"][:] = -1
print(linked, fulls, mon.rings["sq"].buf[0].tolist(), seqs["sq"].shape)
x, drift, seqs["sq"][0]
---
n = 5
---
def f(x): return x * jnp.array([1.0, -1.0]) + 1
caps["x"] = 3

### mbw-x64-constants-tables-and-mixed-sums x64
coef = np.polynomial.chebyshev.cheb2poly([1.0, 0.5, 0.25])
xs = jnp.linspace(0, 1, 5)
def compensated(vals):
    s = jnp.float32(0); c = jnp.float32(0)
    naive = jnp.float32(0); exact = 0.0
    for v in vals:
        v32 = jnp.asarray(v, jnp.float32)
        y = v32 - c
        t = s + y
        c = (t - s) - y
        s = t
        naive = naive + v32
        exact += float(v)
    return s, naive, exact
vals = [1e4, 0.1, 0.1, 0.1, -1e4]
---
poly = sum(c * xs ** i for i, c in enumerate(coef))
s, naive, exact = compensated(vals)
kinds = [str(v.dtype) for v in (poly, s, xs, jnp.asarray(3), jnp.asarray(2.5), jnp.arange(2), jnp.asarray(np.float32(1)) + 1.0)]
mixed = s + xs[0], jnp.asarray(1, jnp.int32) * xs[1]
with jax.enable_x64(False):
    small = jnp.linspace(0, 1, 3)
hi = jnp.finfo(poly.dtype).bits
errs = abs(float(s) - exact) <= abs(float(naive) - exact)
print(kinds, small.dtype, mixed[0].dtype, hi, errs, f"{exact:.6f}")
poly, s, mixed[1]
---
vals = [0.1] * 7
---
xs = xs.astype(jnp.float32); coef = coef[:2]

### mbw-namedtuple-state-machine-stepped-until-done
class S(NamedTuple):
    x: Any
    v: Any
    t: int = 0
    phase: str = "fall"
    @property
    def energy(self): return 0.5 * self.v ** 2 + 9.8 * self.x
def step(s, dt):
    v = s.v - 9.8 * dt; x = s.x + dt * v
    if x < 0:
        return s._replace(x=-x * 0.5, v=-v * 0.6, t=s.t + 1, phase="bounce")
    return S(x, v, s.t + 1, "rise" if v > 0 else "fall")
def simulate(s, dt, max_t, bounces):
    path, n = [s], 0
    while path[-1].t < max_t and n < bounces:
        path.append(step(path[-1], dt))
        n += path[-1].phase == "bounce"
    return path, n
s0, dt, bounces = S(jnp.array(1.0), jnp.array(0.0)), 0.1, 2
---
path, n = simulate(s0, dt, 20, bounces)
phases = [k for k, _ in itertools.groupby(p.phase for p in path)]
xs = jnp.stack([p.x for p in path])
top = max(path[1:], key=lambda p: float(p.energy))
d = path[-1]._asdict()
S2 = namedtuple("S2", S._fields + ("tag",), defaults=("end",))
end = S2(*path[-1])
print(phases, n, len(path), top.t, list(d), end.tag, path[0] is s0)
xs, end.v
---
dt = 0.15
---
s0 = s0._replace(v=jnp.array(3.0)); bounces = 1

### mbw-subprocess-like-worker-script-run-by-runpy
import runpy
Path("job.py").write_text("import sys, jax.numpy as jnp\nrows = []\ndef main(n):\n    x = jnp.ones(2)\n    for i in range(n):\n        x = x * FACTOR\n        rows.append(x.sum().item())\n    return x\nresult = main(int(sys.argv[1]))\nif __name__ == 'job_main':\n    print('ran', len(rows))\n")
def run_job(n, factor):
    old = sys.argv[:]
    try:
        sys.argv[:] = ["job.py", str(n)]
        return runpy.run_path("job.py", init_globals={"FACTOR": factor}, run_name="job_main")
    finally:
        sys.argv[:] = old
n, factor = 3, 0.5
---
ns = run_job(n, factor)
rows, result = ns["rows"], ns["result"]
names = sorted(k for k in ns if not k.startswith("__"))
gone = ns["main"].__globals__ is ns
ratio = [round(b / a, 2) for a, b in zip(rows, rows[1:])]
code = compile("y = result * 2; z = [r for r in rows if r > cut]", "<inline>", "exec")
scope = {"result": result, "rows": rows, "cut": 0.3}
exec(code, scope)
del ns
print(names, ratio, len(scope["z"]), sys.argv[0])
result, scope["y"]
---
factor = jnp.array([2.0, 1.0])
---
n = 1

### mbw-mutable-defaults-closures-and-nonlocal-accumulators
def record(x, seen=[], *, stats={"n": 0}):
    seen.append(x.sum()); stats["n"] += 1
    return seen, stats["n"]
def make_avg():
    total, n = 0.0, 0
    def push(x):
        nonlocal total, n
        total, n = total + x, n + 1
        return total / n
    def reset():
        nonlocal total, n
        total, n = 0.0, 0
    push.reset = reset
    return push
avg, xs = make_avg(), [jnp.array([1.0, 2.0]), jnp.array([3.0, 5.0])]
def feed(xs, *fs):
    for x in xs:
        for f in fs: out = f(x)
    return out
---
last = feed(xs, record, avg)
seen, count = record(last)
cells = [c.cell_contents for c in avg.__closure__]
fns = [lambda x, k=k: x * k for k in range(3)] + [lambda x: x * count]
vals = [f(last) for f in fns]
alias = record.__defaults__[0] is seen, record.__kwdefaults__["stats"]["n"] == count
if count > 6: avg.reset()
print(count, len(seen), alias, avg.__code__.co_freevars, [type(c).__name__ for c in cells])
last, vals[2], seen[-1]
---
xs.append(jnp.array([10.0, 10.0]))
---
record.__defaults__ = ([],); avg = make_avg(); xs = [np.array([1.0, 1.0])]

### mbw-callbacks-inside-a-jitted-solver-append-to-host-lists
trace, table = [], {0: 1.0, 1: 0.5, 2: 0.25}
def note(i, r): trace.append((int(i), round(float(r), 3)))
def damp(i): return np.float32(table.get(int(i), 0.1))
@jax.jit
def solve(x, n):
    def body(i, x):
        d = jax.pure_callback(damp, jax.ShapeDtypeStruct((), jnp.float32), i)
        r = jnp.cos(x) - x
        jax.debug.callback(note, i, jnp.abs(r).max(), ordered=True)
        return x + d * r
    return lax.fori_loop(0, n, body, x)
def repeat(x, ns):
    outs = []
    for n in ns:
        x = solve(x, n)
        jax.effects_barrier()
        outs.append((len(trace), x))
    return outs
x0, ns = jnp.array([0.0, 1.0]), [2, 3]
---
trace.clear()
outs = repeat(x0, ns)
steps = [i for i, _ in trace]
final = outs[-1][1]
worst = max(r for _, r in trace)
groups = [n for n, _ in outs]
print(steps, groups, trace[-1][1] < worst, f"{worst:.2f}")
final, jnp.abs(jnp.cos(final) - final).max()
---
table[0] = 0.1
---
ns = [1]; x0 = jnp.array([2.0])

### mbw-mapping-class-as-pytree-with-lazy-defaults
class Params(collections.abc.MutableMapping):
    def __init__(self, d=(), make=jnp.zeros): self.d, self.make, self.made = dict(d), make, []
    def __getitem__(self, k): return self.d[k]
    def __setitem__(self, k, v): self.d[k] = v
    def __delitem__(self, k): del self.d[k]
    def __iter__(self): return iter(sorted(self.d))
    def __len__(self): return len(self.d)
    def need(self, k, *shape):
        if k not in self.d: self.d[k] = self.make(shape); self.made.append(k)
        return self.d[k]
jax.tree_util.register_pytree_node(Params, lambda p: ([p.d[k] for k in p], tuple(p)), lambda ks, vs: Params(zip(ks, vs)))
def forward(p, x):
    h = x @ p.need("w", 3, 2) + p.need("b", 2)
    return jnp.sum(jnp.tanh(h + 1) ** 2)
def train(p, x, n, lr):
    hist = []
    for _ in range(n):
        v, g = jax.value_and_grad(forward)(p, x)
        p = jax.tree.map(lambda a, b: a - lr * b, p, g)
        hist.append(v.item())
    return p, hist
x, lr = jnp.ones((2, 3)), 0.1
---
p = Params()
forward(p, x)
q, hist = train(p, x, 3, lr)
leaves, tree = jax.tree.flatten(q)
merged = {**p, **{k: v for k, v in q.items() if k != "b"}}
popped = q.pop("b")
falling = hist[0] > hist[-1]
print(list(p), p.made, q.made, len(q), falling, type(jax.tree.unflatten(tree, leaves)).__name__, merged["b"] is p["b"])
popped, q["w"], len(leaves)
---
lr = 1.0
---
x = jnp.linspace(-1, 1, 3)[None]

### mbw-iterator-protocol-loader-with-len-getitem-and-reversed
class Loader:
    def __init__(self, X, y, bs, drop=False, tf=None): self.X, self.y, self.bs, self.drop, self.tf, self.epoch = X, y, bs, drop, tf, 0
    def __len__(self): return len(self.X) // self.bs if self.drop else -(-len(self.X) // self.bs)
    def __getitem__(self, i):
        if isinstance(i, slice): return [self[j] for j in range(*i.indices(len(self)))]
        if not -len(self) <= i < len(self): raise IndexError(i)
        i %= len(self)
        x = self.X[i * self.bs:(i + 1) * self.bs]
        return (self.tf(x) if self.tf else x), self.y[i * self.bs:(i + 1) * self.bs]
    def __iter__(self):
        self.epoch += 1
        return (self[i] for i in range(len(self)))
def run(loader, w, lr):
    for x, y in loader:
        w = w - lr * x.T @ (x @ w - y) / len(x)
    for x, y in reversed(loader):
        w = w - lr * x.T @ (x @ w - y) / len(x)
    return w
X = jnp.arange(14.0).reshape(7, 2) / 10; y = X[:, 0] - X[:, 1]
bs, drop, tf = 3, False, None
---
ld = Loader(X, y, bs, drop, tf)
w = run(ld, jnp.zeros(2), 0.1)
first, last = ld[0], ld[-1]
part = ld[1:]
try:
    ld[9]
except IndexError as e:
    bad = e.args
zipped = [(len(a), b.sum()) for a, b in ld]
print(len(ld), ld.epoch, [a for a, _ in zipped], bad, len(part), isinstance(ld, collections.abc.Iterable))
w, zipped[-1][1], last[0]
---
drop = True
---
tf = lambda x: x - x.mean(0); bs = 2

### mbw-text-report-built-with-formats-and-nested-prints
class Table:
    def __init__(self, *cols): self.cols, self.rows = cols, []
    def add(self, *vals): self.rows.append(vals); return self
    def __format__(self, spec):
        w = int(spec or 8)
        cell = lambda v: f"{v:>{w}.2f}" if not isinstance(v, (str, int)) else f"{v:>{w}}"
        return "\n".join("|".join(cell(v) for v in r) for r in (self.cols, *self.rows))
    def __str__(self): return format(self, "6")
def report(ws, x, table):
    for i, w in enumerate(ws):
        y = x @ w
        table.add(i, y.mean(), jnp.abs(y).max().item(), "up" if y[-1] > y[0] else "down")
        print(f"{i}: {y}" if y.size < 4 else f"{i}: {y.shape}")
    return table
x = jnp.array([[1.0, 0.0], [0.5, 2.0]]); ws = [jnp.array([1.0, -1.0]), jnp.array([0.25, 0.5])]
width = 9
---
t = report(ws, x, Table("run", "mean", "max", "dir"))
text = format(t, str(width))
print(text, t, sep="\n---\n", end="\n===\n")
means = [r[1] for r in t.rows]
kinds = [type(v).__name__ for v in t.rows[0]]
lines = str(t).splitlines()
wide = max(map(len, lines))
print(f"{means[0]!r:.24} {kinds} {wide=} {x.dtype!s:>9} {len(text):04d} {3.14159:{width}.{2}f} {'%.3e' % means[1]}")
jnp.stack(means)
---
width = 7
---
ws.append(jnp.array([-1.0, 0.0])); x = jnp.vstack([x, x])

### mbw-memoryview-bytes-and-struct-protocol-of-frames
import struct, zlib, hashlib
def encode(frames):
    buf = bytearray()
    for i, f in enumerate(frames):
        raw = np.asarray(f, np.float32).tobytes()
        buf += struct.pack("<BHI", i, len(raw), zlib.crc32(raw)) + raw
    return bytes(buf)
def decode(data):
    view, pos = memoryview(data), 0
    try:
        while pos < len(view):
            i, n, crc = struct.unpack_from("<BHI", view, pos)
            pos += struct.calcsize("<BHI")
            raw = bytes(view[pos:pos + n]); pos += n
            if zlib.crc32(raw) != crc: errors.append(i); continue
            yield i, jnp.frombuffer(raw, jnp.float32)
    finally:
        view.release()
errors, flip = [], None
frames = [jnp.arange(3.0), jnp.array([0.5]), jnp.ones((2, 2))]
---
errors.clear()
data = encode(frames)
if flip is not None:
    data = data[:flip] + bytes([data[flip] ^ 1]) + data[flip + 1:]
got = dict(decode(data))
digest = hashlib.sha1(data).hexdigest()[:6]
whole = jnp.concatenate([v for v in got.values()])
arr = np.frombuffer(data, np.uint8)
same = [bool((got[i] == f.ravel()).all()) for i, f in enumerate(frames) if i in got]
print(len(data), sorted(got), errors, same, digest, arr.flags.writeable)
whole, got[max(got)]
---
flip = 8
---
flip = None; frames[1] = np.array([2, 3]); frames.pop(0)

### mbw-plugin-registry-by-init-subclass-and-entry-table
class Plugin:
    table = {}
    def __init_subclass__(cls, /, key=None, prio=0, **kw):
        super().__init_subclass__(**kw)
        cls.prio = prio
        Plugin.table[key or cls.__name__] = cls
    def __call__(self, x): return x
class Scale(Plugin, key="scale", prio=1):
    def __init__(self, k=2.0): self.k = k
    def __call__(self, x): return x * self.k
class Shift(Plugin, prio=2):
    def __call__(self, x): return x + 1
class Pipe:
    def __init__(self, spec): self.parts = [Plugin.table[n](*a) for n, *a in spec]; self.parts.sort(key=lambda p: p.prio)
    def run(self, xs):
        log = {}
        for i, x in enumerate(xs):
            for p in self.parts:
                x = p(x)
                log.setdefault(type(p).__name__, []).append(x.mean().item())
            yield i, x, log
spec, xs = [("Shift",), ("scale", 3.0)], [jnp.array([1.0, 2.0]), jnp.zeros(2)]
---
class Square(Plugin, key="sq", prio=3):
    def __call__(self, x): return x ** 2
pipe = Pipe(spec + [("sq",)])
outs, logs = [], []
for i, x, log in pipe.run(xs):
    outs.append(x); logs.append(log)
names = sorted(Plugin.table)
one = logs[0] is logs[-1] if len(xs) > 1 else None
order = [type(p).__name__ for p in pipe.parts]
print(names, order, one, {k: [round(v, 1) for v in vs] for k, vs in logs[-1].items()})
outs[0], sum(o.sum() for o in outs)
---
spec[1] = ("scale", jnp.array(0.5))
---
Shift.prio = 0; xs = xs[:1]

### mbw-partial-methods-currying-and-composed-pipelines
from functools import partialmethod
def compose(*fs): return reduce(lambda f, g: lambda x: g(f(x)), fs)
class Sig:
    def __init__(self, x): self.x, self.log = x, []
    def _filt(self, name, k):
        self.log.append(name)
        return Sig2(self, jnp.convolve(self.x, jnp.asarray(k), mode="same"))
    box, diff = partialmethod(_filt, "box", [1 / 3] * 3), partialmethod(_filt, "diff", [1.0, 0.0, -1.0])
class Sig2(Sig):
    def __init__(self, parent, x): super().__init__(x); self.parent = parent; self.log = parent.log
def chain(sig, names, limit):
    for n in names:
        sig = getattr(sig, n)()
        if jnp.abs(sig.x).max() > limit: break
    depth, s = 0, sig
    while isinstance(s, Sig2): s, depth = s.parent, depth + 1
    return sig, depth
x, names, limit = jnp.array([0.0, 1.0, 4.0, 9.0, 16.0]), ["box", "diff", "diff"], 100.0
---
root = Sig(x)
out, depth = chain(root, names, limit)
f = compose(jnp.sqrt, partial(jnp.power, 2.0), lambda v: v - 1)
y = f(jnp.abs(out.x))
add = lambda a: lambda b: lambda c: a + b * c
curried = add(x[1])(2)(x[2])
p = partial(jnp.clip, min=0.0); q = partial(p, max=5.0)
print(depth, root.log, out.log is root.log, q.keywords, q.func is jnp.clip, float(curried))
y, q(x)
---
limit = 3.0
---
names = ["box"] * 2; x = x[1:] * 2
""",
)
