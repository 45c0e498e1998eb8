"""Pipelines, files, threads and odd Python around small computations, as issue threads and READMEs show them."""

from ..cell import written

PRELUDE = """
import os, io, re, sys, csv, json, pickle, dataclasses, functools, itertools, collections, contextlib, enum, math, operator, copy, types
import threading, queue, string, textwrap, weakref, logging, warnings, inspect, heapq, bisect, random
from collections import OrderedDict, defaultdict, deque, namedtuple, Counter, ChainMap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial, cached_property, reduce, wraps, singledispatchmethod
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.linspace(-1.0, 1.0, 8)
"""

CELLS = written(
    PRELUDE,
    r"""
### kin-prefetch-thread-class-with-stop
class Prefetcher(threading.Thread):
    def __init__(self, it, depth=2):
        super().__init__(daemon=True)
        self.it, self.q, self.stop_event, self.error = it, queue.Queue(depth), threading.Event(), None
        self.start()
    def run(self):
        try:
            for item in self.it:
                if self.stop_event.is_set(): break
                self.q.put(item)
        except Exception as e:
            self.error = e
        finally:
            self.q.put(None)
    def __iter__(self):
        while (item := self.q.get()) is not None:
            yield item
        self.join()
        if self.error: raise self.error
def gen(n, bad=None):
    rng = np.random.default_rng(0)
    for i in range(n):
        if i == bad: raise IOError(f"shard {i} is broken")
        yield i, rng.normal(size=(4, 8)).astype(np.float32)
bad, n = None, 4
---
total, seen = jnp.zeros(8), []
try:
    for i, batch in Prefetcher(gen(n, bad)):
        z = jnp.tanh(batch * x).sum(0)
        total = total + z
        seen.append((i, batch.shape))
except OSError as err:
    status = f"{type(err).__name__}: {err}"
else:
    status = "ok"
avg = total / max(len(seen), 1)
print(status, len(seen))
threading.active_count() == 1 or None, avg.dtype
---
bad = 2
---
n, bad = 2, None

### kin-getattr-attrdict-proxy
class AttrDict(dict):
    def __getattr__(self, k):
        try: v = self[k]
        except KeyError: raise AttributeError(f"no option {k!r}") from None
        return AttrDict(v) if type(v) is dict else v
    __setattr__ = dict.__setitem__
    def __delattr__(self, k): del self[k]
cfg = AttrDict(model=dict(width=4, act="tanh"), lr=0.5)
---
w = jnp.ones(cfg.model.width)
act = getattr(jnp, cfg.model.act)
cfg.seen = cfg.get("seen", 0) + 1
grad = jax.grad(lambda w: act(w * x[: w.size]).sum())(w)
w -= cfg.lr * grad
cfg.norm = jnp.linalg.norm(w)
has = hasattr(cfg, "dropout"), hasattr(cfg, "lr")
try:
    cfg.dropout
except AttributeError as e:
    msg = e.args[0]
if cfg.seen > 2:
    del cfg.norm
print(msg, has, list(cfg))
---
cfg.model.width = 6
---
cfg["model"] |= {"width": 6, "act": "sin"}

### kin-descriptor-typed-params-logs-writes
class Param:
    def __init__(self, shape, init=jnp.zeros): self.shape, self.init = shape, init
    def __set_name__(self, owner, name):
        self.name = name
        owner.names = getattr(owner, "names", ()) + (name,)
    def __get__(self, obj, owner=None):
        if obj is None: return self
        return obj.store.setdefault(self.name, self.init(self.shape))
    def __set__(self, obj, value):
        if jnp.shape(value) != self.shape:
            raise ValueError(f"{self.name}: {jnp.shape(value)} is not {self.shape}")
        obj.writes.append(self.name); obj.store[self.name] = value
class Affine:
    scale = Param((8,), jnp.ones)
    shift = Param(())
    def __init__(self): self.store, self.writes = {}, []
    def __call__(self, v): return v * self.scale + self.shift
layer, bad_shape = Affine(), (3,)
---
out = layer(x)
g = jax.grad(lambda s: jnp.sum((x * s + layer.shift) ** 2))(layer.scale)
layer.scale = layer.scale - 0.1 * g
layer.shift += 0.5
try:
    layer.scale = jnp.zeros(bad_shape)
    verdict = "took it"
except ValueError as e:
    verdict = str(e)
after = layer(x)
print(verdict, layer.writes, Affine.names)
Affine.scale.name, sorted(layer.store), layer.shift
---
bad_shape = (8,)
---
layer.writes.clear(); del layer.store["shift"]

### kin-cached-property-dataset-invalidated
class Data:
    loads = 0
    def __init__(self, path): self.path = Path(path)
    @cached_property
    def raw(self):
        type(self).loads += 1
        return np.loadtxt(self.path, delimiter=",", dtype=np.float32, skiprows=1)
    @cached_property
    def stats(self):
        return self.raw.mean(0), self.raw.std(0) + 1e-6
    @cached_property
    def normed(self): return (jnp.asarray(self.raw) - self.stats[0]) / self.stats[1]
    def invalidate(self):
        for k in ("raw", "stats", "normed"): self.__dict__.pop(k, None)
Path("d.csv").write_text("a,b\n1,2\n3,5\n4,4\n")
ds, reload = Data("d.csv"), False
---
if reload:
    ds.invalidate()
cov = ds.normed.T @ ds.normed / len(ds.normed)
evals, evecs = jnp.linalg.eigh(cov)
explained = evals[::-1] / evals.sum()
cached = [k for k in vars(ds) if k != "path"]
same = ds.normed is ds.normed
print(cached, ds.loads, same, [f"{float(e):.2f}" for e in explained])
ds.raw.shape
---
Path("d.csv").write_text("a,b\n1,2\n3,5\n4,4\n9,1\n")
---
reload = True

### kin-decorator-retry-with-state
def retry(times, exceptions=(ValueError,)):
    def deco(f):
        @wraps(f)
        def inner(*a, **k):
            for attempt in range(1, times + 1):
                try:
                    inner.calls += 1
                    return f(*a, **k)
                except exceptions as e:
                    inner.errors.append(f"{attempt}:{e}")
            raise RuntimeError(f"{f.__name__} gave up after {times}")
        inner.calls, inner.errors = 0, []
        return inner
    return deco
damping, times = 1e-3, 3
---
@retry(times)
def solve(A, b):
    global damping
    L = jnp.linalg.cholesky(A + damping * jnp.eye(3))
    if jnp.isnan(L).any():
        damping *= 100
        raise ValueError(f"not positive at {damping:.0e}")
    return jax.scipy.linalg.cho_solve((L, True), b)
A = jnp.diag(jnp.array([1.0, 2.0, -0.5]))
try:
    sol = solve(A, x[:3])
    outcome = "solved"
except RuntimeError as e:
    sol, outcome = None, str(e)
print(outcome, solve.errors, solve.__name__)
solve.calls, damping
---
times, damping = 1, 1e-3
---
times = 2

### kin-match-on-ops-interpreter
program = [("push", 2.0), ("load", "x"), ("mul",), ("call", "tanh"), ("store", "y"), {"op": "sum", "of": "y"}]
---
def run(program, env):
    stack = []
    for ins in program:
        match ins:
            case ("push", int() | float() as v): stack.append(v)
            case ("load", str(name)) if name in env: stack.append(env[name])
            case ("load", name): raise NameError(name)
            case ("mul" | "add" as op,):
                b, a = stack.pop(), stack.pop()
                stack.append(getattr(operator, op)(a, b))
            case ("call", fn, *rest): stack.append(getattr(jnp, fn)(stack.pop(), *rest))
            case ("store", name): env[name] = stack[-1]
            case {"op": op, "of": name, **kw}: stack.append(getattr(env[name], op)(**kw))
            case _: stack.append(None)
    return stack
env = {"x": x}
try:
    *below, top = run(program, env)
    fail = None
except (NameError, IndexError) as e:
    below, top, fail = [], jnp.nan, repr(e)
grads = jax.grad(lambda v: run(program, {"x": v})[-1])(x) if fail is None else None
print(fail, len(below), sorted(env))
top
---
program[-1] = {"op": "max", "of": "y", "keepdims": True}
program += [("call", "sum")]
---
program.insert(0, ("load", "z"))

### kin-pandas-rolling-features-to-ridge needs=pandas
import pandas as pd
rng = np.random.default_rng(1)
df = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=20), "store": list("ab") * 10, "sales": rng.poisson(20, 20)})
lags, alpha = [1, 2], 1.0
---
feats = df.assign(dow=df["day"].dt.dayofweek)
for lag in lags:
    feats[f"lag{lag}"] = feats.groupby("store")["sales"].shift(lag)
feats["roll"] = feats.groupby("store")["sales"].transform(lambda s: s.rolling(3, min_periods=1).mean())
feats = feats.dropna().reset_index(drop=True)
cols = [c for c in feats.columns if c.startswith(("lag", "roll"))]
X = jnp.asarray(feats[cols].to_numpy(dtype=np.float32))
t = jnp.asarray(feats["sales"].to_numpy(), dtype=jnp.float32)
mu, sd = X.mean(0), X.std(0)
Z = (X - mu) / sd
coef = jnp.linalg.solve(Z.T @ Z + alpha * jnp.eye(Z.shape[1]), Z.T @ (t - t.mean()))
feats["pred"] = np.asarray(Z @ coef + t.mean())
err = feats.assign(abs=(feats["pred"] - feats["sales"]).abs()).groupby("store")["abs"].mean().round(1)
table = pd.Series(coef, index=cols, name="coef").sort_values(ascending=False)
print(err.to_string())
list(table.index)[:1], feats["pred"].dtype
---
lags.append(3)
---
df.loc[len(df)] = [pd.Timestamp("2024-01-21"), "b", 40]
---
alpha = jnp.float32(10)

### kin-sklearn-column-transformer-to-jax-logreg needs=sklearn,pandas
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder, MinMaxScaler
from sklearn.metrics import classification_report, f1_score
df = pd.DataFrame({"age": [22, 38, 26, 35, 54, 2, 27, 14], "fare": [7.2, 71.3, 7.9, 53.1, 51.9, 21.1, 11.1, 30.1],
                   "port": list("SCSSSQSC"), "alive": [0, 1, 1, 1, 0, 0, 1, 1]})
steps, lr, thr = 5, 0.5, 0.5
---
ct = make_column_transformer((MinMaxScaler(), ["age", "fare"]), (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), ["port"]))
F = ct.fit_transform(df.drop(columns="alive")).astype("float32")
t = df.pop("alive").to_numpy() if "alive" in df else t
w = jnp.zeros(F.shape[1] + 1)
@jax.jit
def nll(w):
    z = F @ w[:-1] + w[-1]
    return jnp.mean(jnp.logaddexp(0, z) - t * z)
for _ in range(steps):
    w = w - lr * jax.grad(nll)(w)
p = jax.nn.sigmoid(F @ w[:-1] + w[-1])
pred = (p > thr).astype(int)
f1 = f1_score(t, pred)
rep = classification_report(t, pred, output_dict=True, zero_division=0)
ranking = sorted(zip(ct.get_feature_names_out(), w.tolist()), key=lambda kv: -abs(kv[1]))
print(f"f1={f1:.2f}", ranking[0][0].split("__")[-1], sorted(rep)[:2])
type(f1).__name__, pred.dtype
---
thr = 0.6
---
df["port"] = list("SCSSSQSQ"); steps = 8

### kin-memoised-by-array-bytes
MEMO, hits = {}, Counter()
def memo(f):
    @wraps(f)
    def g(*arrays):
        key = (f.__qualname__, *((a.shape, str(a.dtype), np.asarray(a).tobytes()) for a in arrays))
        hits["hit" if key in MEMO else "miss"] += 1
        if key not in MEMO: MEMO[key] = f(*arrays)
        return MEMO[key]
    return g
shift = 0.0
---
@memo
def kernel(a, b):
    return jnp.exp(-0.5 * (a[:, None] - b[None]) ** 2)
grid = jnp.arange(3.0) + shift
K = kernel(x, grid)
K2 = kernel(x, jnp.arange(3.0) + shift)
K3 = kernel(grid, x).T
is_same, close = K is K2, bool(jnp.allclose(K, K3))
if len(MEMO) > 4:
    MEMO.pop(next(iter(MEMO)))
print(is_same, close, dict(hits), [k[1][0] for k in MEMO])
---
shift = 1.0
---
MEMO.clear(); shift = jnp.float16(0.5)

### kin-context-manager-own-precision-and-timer-stack
STACK = []
@contextlib.contextmanager
def using(**kw):
    frame = {**(STACK[-1] if STACK else {}), **kw}
    STACK.append(frame)
    try:
        yield frame
    except ArithmeticError as e:
        frame["error"] = str(e)
    finally:
        STACK.pop()
def opt(name, default): return STACK[-1].get(name, default) if STACK else default
def dense(v): return (v.astype(opt("dtype", jnp.float32)) * opt("gain", 1)).astype(jnp.float32)
limit = 100.0
---
outs = [dense(x)]
with using(dtype=jnp.bfloat16) as outer:
    outs.append(dense(x))
    with using(gain=3) as inner:
        outs.append(dense(x))
        if (peak := float(outs[-1].max())) > limit:
            raise OverflowError(f"peak {peak:.1f}")
        outs.append(dense(x) / 2)
    depth = len(STACK)
errs = [float(jnp.abs(o / o.max() - x).max()) for o in outs]
print(depth, len(STACK), inner.get("error"), [e > 0 for e in errs])
outer, len(outs)
---
limit = 2.0
---
x = x[1:]; limit = 10

### kin-enum-flag-augmentations
class Aug(enum.Flag):
    NONE = 0
    FLIP = enum.auto()
    NOISE = enum.auto()
    SCALE = enum.auto()
    ALL = FLIP | NOISE | SCALE
class Mode(str, enum.Enum):
    TRAIN = "train"
    TEST = "test"
    @property
    def aug(self): return Aug.ALL ^ Aug.SCALE if self is Mode.TRAIN else Aug.NONE
mode, key = Mode.TRAIN, jax.random.key(0)
---
APPLY = {Aug.FLIP: lambda v, k: v[::-1], Aug.NOISE: lambda v, k: v + 0.1 * jax.random.normal(k, v.shape), Aug.SCALE: lambda v, k: v * 2}
used, out = [], x
for i, flag in enumerate(mode.aug):
    out = APPLY[flag](out, jax.random.fold_in(key, i))
    used.append(flag.name)
by_mode = {m: jnp.sum(out) if m is mode else None for m in Mode}
label = f"{mode.value}:{'+'.join(used) or 'none'}"
print(label, mode == "train", Aug.FLIP in mode.aug, repr(mode.aug))
list(by_mode)
---
mode = Mode("test")
---
mode = Mode.TRAIN; Aug.FLIP._value_ and APPLY.clear()

### kin-ordered-lru-of-tensors
class LRU(OrderedDict):
    def __init__(self, cap): super().__init__(); self.cap, self.evicted = cap, []
    def __getitem__(self, k):
        v = super().__getitem__(k)
        self.move_to_end(k)
        return v
    def __setitem__(self, k, v):
        super().__setitem__(k, v)
        self.move_to_end(k)
        while len(self) > self.cap:
            self.evicted.append(self.popitem(last=False)[0])
    def __missing__(self, k):
        self[k] = v = jnp.vander(x, k)
        return v
cache, wanted = LRU(2), [2, 3, 2, 4]
---
sums = {}
for k in wanted:
    sums[k] = sums.get(k, 0) + cache[k].sum()
front = next(iter(cache))
cache.move_to_end(front)
first, *_, last = cache.items()
last[1].shape, cache.evicted, list(cache), sums[wanted[0]]
---
cache.cap = 3
---
wanted = wanted[::-1] + [5]; cache.evicted = []

### kin-inplace-numpy-accumulators-views
buf = np.zeros((3, 8), np.float32)
row0, diag = buf[0], buf.reshape(-1)[::9]
weights = [0.5, 0.25]
---
for i, w in enumerate(weights):
    buf[i] += w * np.asarray(x)
    buf[-1, i:] -= 0.1
np.multiply(buf, 2, out=buf, where=buf < 0)
np.clip(row0, -0.5, 0.5, out=row0)
buf[:, [0, -1]] = buf[:, [-1, 0]]
snap = jnp.asarray(buf)
diag *= -1
buf.sort(axis=0)
ranks = snap.argsort(axis=1)[:, :2]
row0.base is buf or row0.base is not None, diag.sum(), (snap != buf).sum()
---
weights.append(1.0)
---
buf[...] = 0; weights = weights[:1]

### kin-threads-share-metric-board
class Board:
    def __init__(self): self._lock, self.values, self.order = threading.RLock(), defaultdict(list), []
    def log(self, name, v):
        with self._lock:
            self.values[name].append(float(v)); self.order.append(name)
    def __enter__(self): self._lock.acquire(); return self
    def __exit__(self, *exc): self._lock.release(); return False
board, names = Board(), ["mean", "std", "max"]
---
def work(name, v, gate, done):
    gate.wait()
    board.log(name, getattr(jnp, name)(jnp.sin(v)))
    done.set()
gates = [threading.Event() for _ in names]
dones = [threading.Event() for _ in names]
ts = [threading.Thread(target=work, args=(n, x + i, g, d), name=f"w-{n}") for i, (n, g, d) in enumerate(zip(names, gates, dones))]
for t in ts: t.start()
for g, d in reversed(list(zip(gates, dones))):
    g.set(); d.wait()
for t in ts: t.join()
with board as b:
    latest = {k: round(v[-1], 3) for k, v in sorted(b.values.items())}
    order = b.order[-len(names):]
spread = x.max() - latest["max"]
print(latest, order, any(t.is_alive() for t in ts))
---
names = ["min", "max"]
---
x = x * 2; board.order.clear()

### kin-half-read-generator-resumes
def stream(seed):
    key = jax.random.key(seed)
    sent = None
    while True:
        key, sub = jax.random.split(key)
        scale = 1.0 if sent is None else sent
        sent = yield scale * jax.random.uniform(sub, (4,))
s = stream(0)
n, boost = 3, None
---
first = next(s)
picked = list(itertools.islice(s, n))
loud = s.send(boost) if boost else next(s)
stats = [(v.mean() > 0.5).item() for v in picked]
alive = inspect.getgeneratorstate(s)
if n > 4:
    s.close()
    alive = inspect.getgeneratorstate(s)
    s = stream(1)
np.stack(picked).shape, len(stats), alive, loud.max() < 5
---
boost = 10.0
---
n = 5; boost = None

### kin-json-lines-run-book-appended
log = Path("runs.jsonl")
params, tags = {"lr": 0.1, "layers": [4, 2]}, {"b", "a"}
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (jax.Array, np.ndarray)): return {"__nd__": np.asarray(o).tolist(), "dtype": str(o.dtype)}
        if isinstance(o, (set, frozenset)): return sorted(o)
        if isinstance(o, np.generic): return o.item()
        return super().default(o)
def hook(d): return jnp.array(d["__nd__"], d["dtype"]) if "__nd__" in d else d
---
w = jnp.round(jnp.cumsum(x[: params["layers"][0]]) * params["lr"], 3)
record = {"params": params, "w": w, "n": np.int64(w.size), "tags": tags}
with log.open("a") as f:
    print(json.dumps(record, cls=Enc, sort_keys=True), file=f)
with log.open() as f:
    book = [json.loads(line, object_hook=hook) for line in f]
best = max(book, key=lambda r: float(r["w"].max()))
gap = best["w"][-1] - w[-1]
try:
    json.dumps({"f": Enc}, cls=Enc)
except TypeError as e:
    why = str(e)
print(len(book), best["tags"], why)
gap, best["w"].dtype
---
params["layers"].insert(0, 6)
---
log.write_text(""); tags |= {"c"}

### kin-while-and-fori-with-closure-tables
table = np.array([0.0, 1.0, 4.0, 9.0], np.float32)
tol, depth = 1e-3, 3
---
def newton(a):
    def cond(c): return (jnp.abs(c[0] ** 2 - a) > tol) & (c[1] < 30)
    def body(c): return 0.5 * (c[0] + a / c[0]), c[1] + 1
    return lax.while_loop(cond, body, (jnp.maximum(a, 1.0), 0))
roots, iters = jax.vmap(newton)(jnp.asarray(table[1:]))
def horner(i, acc): return acc * 0.5 + table_j[i]
table_j = jnp.asarray(table)
poly = lax.fori_loop(0, len(table), horner, 0.0)
branches = [lambda v: v, jnp.sin, lambda v: v * roots[0]]
mixed = [lax.switch(i % len(branches), branches, poly) for i in range(depth)]
nested = lax.fori_loop(0, depth, lambda i, a: lax.cond(i % 2 == 0, lambda b: b + table_j[i], lambda b: b * 2, a), poly)
int(iters.max()) < 30, roots.dtype, iters.dtype, len(mixed)
---
tol = 0.5
---
table = np.append(table, np.float32(16)); depth = 4

### kin-monkeypatch-random-normal-and-restore
def fake_normal(key, shape=(), dtype=jnp.float32): return jnp.full(shape, 0.25, dtype)
def sample(n): return jax.random.normal(jax.random.key(9), (n,)) * 2
patch, n = True, 3
---
real = jax.random.normal
log = []
try:
    if patch:
        jax.random.normal = fake_normal
        log.append("patched")
    inside = sample(n)
    if n > 4:
        raise ValueError("too many")
except ValueError as e:
    log.append(str(e))
finally:
    jax.random.normal = real
outside = sample(n)
same = bool(jnp.array_equal(inside, outside))
restored = jax.random.normal is real
print(log, same, restored)
inside
---
patch = False
---
patch, n = True, 5

### kin-x64-mixed-sums x64
vals32 = np.float32([1e8, 1.0, -1e8, 0.5])
vals64 = vals32.astype(np.float64)
cast = jnp.float32
---
a, b = jnp.asarray(vals32), jnp.asarray(vals64)
naive = functools.reduce(operator.add, a)
exact = jnp.sum(b)
weak = 1.5 * a[0]
ints = jnp.arange(4)
mix = ints * a + b
eps = jnp.finfo(mix.dtype).eps
steps = [cast(v) for v in (0.1, 1, True)]
total = sum(steps, start=exact)
kinds = [str(v.dtype) for v in (naive, exact, weak, ints, mix, total)] + [type(eps).__name__]
c = jax.lax.scan(lambda c, v: (c + v, c), cast(0), a.astype(cast))[0]
print(kinds, bool(naive == exact))
c, weak.weak_type, total
---
cast = jnp.float64
---
vals64 = vals64[::-1].copy()

### kin-global-and-del-in-helpers
counter, best = 0, None
def bump(v):
    global counter, best
    counter += 1
    if best is None or v < best: best = v
    return counter
lrs = [0.1, 0.5]
---
for lr in lrs:
    w_tmp = jnp.ones(8)
    for _ in range(2):
        w_tmp = w_tmp - lr * jax.grad(lambda w: jnp.sum((w * x - 0.3) ** 2))(w_tmp)
    n = bump(round(jnp.abs(w_tmp).sum().item(), 3))
del w_tmp, _
if n > 3:
    del globals()["best"]
    best = -1.0
exists = ["w_tmp" in globals(), "lr" in globals(), "missing" in vars()]
print(n, exists)
counter, best
---
lrs += [0.05]
---
counter, best = 0, None

### kin-singledispatch-method-tree-writer
class Writer:
    def __init__(self): self.out = io.StringIO(); self.depth = 0
    @singledispatchmethod
    def write(self, o): self.line(f"{type(o).__name__}:{o}")
    @write.register
    def _(self, o: dict):
        for k, v in o.items():
            self.line(f"{k}/"); self.depth += 1
            try: self.write(v)
            finally: self.depth -= 1
    @write.register(list)
    @write.register(tuple)
    def _(self, o): [self.write(v) for v in o]
    @write.register
    def _(self, o: jax.Array): self.line(f"{o.dtype}{list(o.shape)} {o.sum():.1f}")
    @write.register
    def _(self, o: np.ndarray): self.line(f"np {o.dtype}{list(o.shape)}")
    def line(self, s): self.out.write("  " * self.depth + s + "\n")
tree = {"a": [x, x.astype(jnp.int32)], "b": {"n": 3, "f": np.ones(2)}}
extra = False
---
w = Writer()
doubled = jax.tree.map(lambda v: v * 2, tree)
w.write({**doubled, "view": np.asarray(doubled["a"][0])})
if extra:
    @Writer.write.register
    def _(self, o: float): self.line(f"float {o:.2e}")
    Writer.write.register(int, lambda self, o: self.line(f"int {o}"))
w.write((1.5, doubled["b"]["n"], x[0]))
text = w.out.getvalue()
lines = text.count("\n")
print(text, end="")
lines, type(doubled["b"]["f"]).__name__
---
extra = True
---
tree["b"]["f"] = jnp.ones(3)

### kin-chainmap-scopes-and-defaults
base, run, cli = {"lr": 0.1, "opt": {"name": "sgd"}, "seed": 0}, {}, {"lr": 0.2}
cfg = ChainMap(cli, run, base)
---
child = cfg.new_child({"seed": cfg["seed"] + 1})
key = jax.random.key(child["seed"])
child["w"] = jax.random.normal(key, (3,))
cfg["touched"] = True
child.maps[2].setdefault("momentum", 0.9)
mu = jnp.zeros(3)
match child:
    case {"opt": {"name": "sgd"}, "momentum": m, "lr": lr}:
        mu = m * mu + child["w"]; w = child["w"] - lr * mu
    case {"opt": {"name": other}}:
        w = child["w"]; child["why"] = other
try:
    del cfg["seed"]
except KeyError as e:
    msg = str(e)
flat = dict(cfg)
print(msg, sorted(child), list(flat))
w.shape, cli, run
---
base["opt"] = {"name": "adam"}
---
cli.clear(); run["lr"] = 1.0

### kin-string-template-report-of-run
TEMPLATE = string.Template("# $title\n$body\n-- $n rows, best ${best:-}")
class T(string.Template): delimiter = "%"
rows, title = [(1, 0.5), (2, 0.25)], "run"
---
ys = jnp.exp2(-jnp.array([r[1] for r in rows]))
body = "\n".join("{:>3d} {:<8.3f}|{!s:^7}".format(i, v, v > 0.8) for (i, _), v in zip(rows, ys.tolist()))
try:
    page = TEMPLATE.substitute(title=title, body=body, n=len(rows), best=ys.max())
except ValueError as e:
    page = TEMPLATE.safe_substitute(title=title.upper(), body=body, n=len(rows))
    note = str(e)[:19]
small = T("%title: %{v}").substitute(title=title, v=f"{ys.min():.3f}")
wrapped = textwrap.fill(" ".join(f"{v:+.1e}" for v in np.asarray(ys) - 0.5), 20, initial_indent="> ")
digest = sum(page.encode()) % 251
print(page, small, wrapped, sep="\n")
note, ys.argmax()
---
rows.append((3, 0.0))
---
title = "again"; rows = rows[:1]

### kin-rec-fields-structured-to-columns
import numpy.lib.recfunctions
rec = np.array([(1, 0.5, b"a"), (2, 1.5, b"b"), (3, -1.0, b"a")], dtype=[("id", "i4"), ("v", "f4"), ("k", "S1")])
group = b"a"
---
cols = {n: jnp.asarray(rec[n]) for n in rec.dtype.names if rec[n].dtype.kind != "S"}
mask = rec["k"] == group
hit = jnp.where(mask, cols["v"], 0).sum()
rec["v"][mask] += np.float32(1)
rec = np.sort(rec, order=["k", "id"])[::-1]
extended = np.lib.recfunctions.append_fields(rec, "sq", np.asarray(jnp.square(rec["v"])), usemask=False)
uniq, inv, cnt = np.unique(rec["k"], return_inverse=True, return_counts=True)
means = jax.ops.segment_sum(jnp.asarray(rec["v"]), inv, num_segments=len(uniq)) / cnt
view = rec.view(np.recarray)
print(extended.dtype.names, uniq, view.id.tolist())
hit, means.dtype
---
group = b"b"
---
rec = np.concatenate([rec, rec[:1]]); rec["k"][-1] = b"c"

### kin-sklearn-estimator-with-jax-in-pipeline needs=sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, FunctionTransformer
from sklearn.model_selection import cross_val_predict, KFold
from sklearn.exceptions import NotFittedError
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (24, 1)); t = X[:, 0] ** 2 + 0.1 * rng.normal(size=24)
class Ridge(RegressorMixin, BaseEstimator):
    def __init__(self, alpha=1.0): self.alpha = alpha
    def fit(self, X, y):
        X = jnp.asarray(X)
        self.coef_ = jnp.linalg.solve(X.T @ X + self.alpha * jnp.eye(X.shape[1]), X.T @ jnp.asarray(y))
        self.n_features_in_ = X.shape[1]
        return self
    def predict(self, X):
        if not hasattr(self, "coef_"): raise NotFittedError("fit first")
        return np.asarray(jnp.asarray(X) @ self.coef_)
degree, alpha = 2, 0.1
---
pipe = make_pipeline(PolynomialFeatures(degree), FunctionTransformer(lambda v: v / (1 + np.abs(v))), Ridge(alpha))
pipe.set_params(ridge__alpha=alpha * 2)
oof = cross_val_predict(pipe, X, t, cv=KFold(3, shuffle=True, random_state=0))
pipe.fit(X, t)
r2 = pipe.score(X, t)
fresh = clone(pipe[-1])
try:
    fresh.predict(X)
except NotFittedError as e:
    said = str(e)
resid = jnp.asarray(t) - jnp.asarray(oof)
sens = jax.jacobian(lambda c: jnp.mean(resid ** 2) + jnp.sum(c ** 2))(pipe[-1].coef_)
print(said, fresh.get_params(), round(r2, 1))
pipe[-1].coef_.shape, oof.dtype
---
degree = 3
---
alpha = jnp.float32(1.0)

### kin-fit-in-middle-raises-user-exception
class DivergedError(RuntimeError):
    def __init__(self, step, loss): super().__init__(f"diverged at {step}"); self.step, self.loss = step, loss
hist, lr, w = [], 5.0, jnp.ones(8)
---
hist.append([])
for step in range(6):
    loss, g = jax.value_and_grad(lambda w: jnp.sum((w - x) ** 4))(w)
    hist[-1].append(loss)
    if not jnp.isfinite(loss) or loss > 1e4:
        raise DivergedError(step, loss)
    w = w - lr * g
final = w.sum()
len(hist[-1])
---
w, lr = jnp.ones(8), 0.01
---
w, lr = hist[0][0] * jnp.ones(8), 1.0

### kin-nested-comprehension-and-star-unpack
grid = {"lr": [0.1, 0.2], "act": ["tanh", "sin"]}
---
runs = [dict(zip(grid, v)) for v in itertools.product(*grid.values())]
scores = {tuple(r.values()): getattr(jnp, r["act"])(r["lr"] * x).std() for r in runs}
head, *mid, tail = sorted(scores, key=lambda k: scores[k].item())
(a, b), *_ = [(k, v) for k, v in scores.items() if (top := v) is not None]
pivot = {act: [round(scores[lr, act].item(), 3) for lr in grid["lr"]] for act in grid["act"]}
matrix = jnp.array([[scores[lr, act] for act in grid["act"]] for lr in grid["lr"]])
flat = [*map(float, (v for row in matrix for v in row))]
inverse = {round(v, 3): k for k, v in zip(scores, flat)}
first, second, *others = [*grid["lr"], *(s[0] for s in grid["act"])]
i = [i for i in range(3) for i in range(i)]
print(head, len(mid), tail, top is tail, pivot, others, i)
matrix.T @ matrix
---
grid["lr"].append(0.4)
---
grid = {"lr": (0.5,), "act": ["cos", "tanh", "sinh"]}

### kin-module-function-rebound-between-runs
Path("kin_ops.py").write_text("SCALE = 2\ndef pre(v):\n    return v * SCALE\ndef post(v):\n    return pre(v) + 1\n")
import kin_ops as ops
from kin_ops import post
use_new = False
---
import kin_ops as ops
first = ops.post(x)
calls = []
old = ops.pre
if use_new:
    def noisy(v, _old=ops.pre):
        calls.append(v.shape)
        return _old(v) - 0.5
    ops.pre = noisy
second = post(x)
delta = (second - first).mean()
ops.pre = old
ops.SCALE += 1
third = post(x[:2])
setattr(ops, f"seen_{len(calls)}", third)
print(calls, ops.SCALE, sorted(k for k in vars(ops) if k.startswith("seen")))
delta
---
use_new = True
---
ops.SCALE, use_new = 0.5, False
ops.post = lambda v: v

### kin-event-sourced-account-replay
@dataclass(frozen=True, slots=True)
class Event:
    kind: str
    amount: float = 0.0
    tags: frozenset = frozenset()
class Store:
    def __init__(self): self._events, self._subs = [], []
    def subscribe(self, f): self._subs.append(f); return lambda: self._subs.remove(f)
    def emit(self, *events):
        for e in events:
            self._events.append(e)
            for s in list(self._subs): s(e)
    def __iter__(self): return iter(self._events)
    def __len__(self): return len(self._events)
store, rate = Store(), 0.1
---
balance, audit = jnp.zeros(()), []
def apply(e):
    global balance
    match e:
        case Event("deposit", amount=a) if a > 0: balance = balance + a
        case Event("interest"): balance = balance * (1 + rate)
        case Event(kind, tags=t): audit.append((kind, *sorted(t)))
off = store.subscribe(apply)
store.emit(Event("deposit", 10.0), Event("interest"), Event("note", tags=frozenset({"x", "b"})))
off()
store.emit(Event("deposit", 99.0))
live = balance
balance = jnp.zeros(())
for e in store: apply(e)
gap = balance - live
print(len(store), audit[0], len(store._subs), f"{gap:.1f}")
live
---
rate = 0.5
---
store._events.clear(); rate = jnp.float32(0)

### kin-weak-registry-and-finalizer-of-models
class Model:
    alive = weakref.WeakSet()
    def __init__(self, w): self.w = w; Model.alive.add(self)
    def __call__(self, v): return self.w * v
gone, names = [], ["a", "b", "c"]
---
import gc
models = {n: Model(jnp.full(8, i + 1.0)) for i, n in enumerate(names)}
fins = {n: weakref.finalize(m, gone.append, n) for n, m in models.items()}
outs = {n: m(x).max() for n, m in models.items()}
best = max(outs, key=outs.get)
keep = models.pop(best)
del models
gc.collect()
left = sorted(float(m.w[0]) for m in Model.alive)
states = {n: f.alive for n, f in fins.items()}
print(sorted(gone), left, states[best])
fins.clear(); gone.clear()
keep.w, best
---
names = names[:2]

### kin-heapq-scheduler-of-lazy-jobs
@functools.total_ordering
class Job:
    made = itertools.count()
    def __init__(self, cost, fn): self.cost, self.fn, self.n = cost, fn, next(self.made)
    def __eq__(self, o): return (self.cost, self.n) == (o.cost, o.n)
    def __lt__(self, o): return (self.cost, self.n) < (o.cost, o.n)
    def __repr__(self): return f"Job({self.cost:g})"
budget = 6.0
---
Job.made = itertools.count()
heap = []
for c, f in [(3, jnp.sum), (1, jnp.max), (2, jnp.prod), (1, jnp.ptp)]:
    heapq.heappush(heap, Job(c, f))
spent, results = 0.0, []
while heap and spent + heap[0].cost <= budget:
    job = heapq.heappop(heap)
    value = job.fn(x)
    spent += job.cost
    results.append((repr(job), value))
    if value > 1.5 and job.cost < 2:
        heapq.heappush(heap, Job(job.cost + 0.5, lambda v, s=value: v.sum() / s))
pos = bisect.bisect([job.cost for job in sorted(heap)], 2.5)
print([r for r, _ in results], heap, pos)
spent, next(Job.made)
---
budget = 3
---
x = x * 3; budget = 10

### kin-thread-local-rng-and-pool-map
local = threading.local()
def rng_for(i):
    local.count = getattr(local, "count", 0) + 1
    return np.random.default_rng(i)
workers, n = 1, 4
---
def simulate(i):
    draws = rng_for(i).normal(size=8).astype(np.float32)
    y = jnp.sort(draws) @ x
    if i == 3:
        raise ArithmeticError(f"job {i}")
    return i, y
ok, failed = {}, []
with ThreadPoolExecutor(workers, thread_name_prefix="sim") as pool:
    futs = [pool.submit(simulate, i) for i in range(n)]
    for f in futs:
        try:
            i, v = f.result()
            ok[i] = v
        except ArithmeticError as e:
            failed.append(e)
mean = sum(ok.values()) / len(ok)
main_has = hasattr(local, "count")
print(sorted(ok), [str(e) for e in failed], main_has)
mean
---
n = 3
---
workers, x = 2, x[::-1]

### kin-typeddict-config-validated-with-walrus
from typing import TypedDict, get_type_hints, Literal, get_args, Required
Act = Literal["relu", "gelu"]
class Conf(TypedDict, total=False):
    width: Required[int]
    act: Act
    lr: float
conf: Conf = {"width": 4, "act": "gelu"}
---
def check(c):
    hints = get_type_hints(Conf)
    if (missing := Conf.__required_keys__ - c.keys()): raise TypeError(f"missing {sorted(missing)}")
    for k, v in c.items():
        if (t := hints.get(k)) is None: yield f"unknown {k}"
        elif (opts := get_args(t)) and v not in opts: yield f"{k}: {v!r} not in {opts}"
        elif isinstance(t, type) and not isinstance(v, t): yield f"{k}: {type(v).__name__}"
try:
    problems = list(check(conf))
except TypeError as e:
    problems = [str(e)]
if not problems:
    W = jax.nn.initializers.he_normal()(jax.random.key(0), (8, conf["width"]))
    h = getattr(jax.nn, conf.get("act", "relu"))(x @ W)
    size: int = h.size
else:
    h, size = None, -1
print(problems, sorted(__annotations__) if "__annotations__" in globals() else None)
h
---
conf["act"] = "swish"
---
conf = {"width": jnp.int32(3), "lr": 1}

### kin-iterator-tee-pairwise-running-stats
def welford():
    n, mean, m2 = 0, 0.0, 0.0
    while True:
        v = yield (n, mean, m2 / n if n else None)
        n += 1
        d = v - mean
        mean = mean + d / n
        m2 = m2 + d * (v - mean)
size = 3
---
batches = (x[i:i + size] for i in range(0, len(x), size))
left, right = itertools.tee(batches)
stat = welford(); next(stat)
for v in left:
    n, mean, var = stat.send(v.mean())
diffs = [jnp.abs(b[0] - a[-1]) for a, b in itertools.pairwise(right)]
runs = [(k, len(list(g))) for k, g in itertools.groupby(x.tolist(), key=lambda v: v > 0)]
acc = list(itertools.accumulate(diffs, jnp.maximum, initial=jnp.zeros(())))
rest = next(right, "empty")
zipped = list(itertools.zip_longest(range(2), acc, fillvalue=-1))
letters = iter("abcdefg")
by = list(iter(lambda: tuple(itertools.islice(letters, size)), ()))
stat.close()
print(n, runs, rest, by[-1], len(zipped))
var, acc[-1]
---
size = 4
---
x = jnp.sort(-x)[::-1]; size = 2

### kin-slots-vector-class-operators
class Vec:
    __slots__ = ("data", "tag", "__weakref__")
    made = 0
    def __init__(self, data, tag=""):
        self.data, self.tag = jnp.asarray(data), tag
        Vec.made += 1
    def _bin(op):
        def f(self, o):
            o = o.data if isinstance(o, Vec) else o
            return Vec(op(self.data, o), self.tag + op.__name__[0])
        return f
    __add__, __mul__, __matmul__ = map(_bin, (operator.add, operator.mul, operator.matmul))
    del _bin
    __radd__ = __add__
    def __iter__(self): return iter(self.data.tolist())
    def __len__(self): return self.data.size
    def __bool__(self): return bool(self.data.any())
    def __format__(self, spec): return "<" + ",".join(format(v, spec or ".1f") for v in self) + ">"
    def __getitem__(self, i): return Vec(self.data[i], self.tag) if isinstance(i, slice) else self.data[i]
    def __eq__(self, o): return isinstance(o, Vec) and bool(jnp.array_equal(self.data, o.data))
    __hash__ = object.__hash__
scale = 2
---
v = Vec(x)
w = 1 + v * scale
dot = w @ v
parts = [v[:2], *(Vec([i]) for i in range(2))]
truth = [bool(p) for p in parts]
v2 = Vec(x) if v == Vec(x) else None
alias = w
w += v
text = f"{v[:3]:.2f} {parts[-1]}"
try:
    v.extra = 1
except AttributeError as e:
    err = type(e).__name__
print(text, w.tag, alias.tag, alias is w, truth, err, len(dot), Vec.made)
w.data, v2 == v
---
scale = jnp.arange(8)
---
x = jnp.zeros(8); Vec.made = 0

### kin-coroutine-pipeline-decorated
def primed(f):
    @wraps(f)
    def start(*a):
        g = f(*a); next(g); return g
    return start
sink_out, k = [], 2
---
@primed
def chunk(n, target):
    buf = []
    try:
        while True:
            buf.append((yield))
            if len(buf) == n:
                target.send(jnp.stack(buf)); buf = []
    except GeneratorExit:
        if buf: target.send(jnp.stack(buf))
        target.close()
@primed
def reduce_to(fn, out):
    try:
        while True:
            b = yield
            out.append((b.shape, fn(b)))
    finally:
        out.append("closed")
pipe = chunk(k, reduce_to(jnp.linalg.norm, sink_out))
for i in range(5):
    pipe.send(x * i)
pipe.close()
try:
    pipe.send(None)
except StopIteration:
    over = True
shapes = [s[0] for s in sink_out if s != "closed"]
last = sink_out[-2][1]
print(shapes, sink_out.count("closed"), over)
last
---
k = 5
---
sink_out.clear(); k = 3

### kin-logging-filter-counts-and-adapter
class CountFilter(logging.Filter):
    def __init__(self): super().__init__(); self.seen = Counter()
    def filter(self, rec):
        self.seen[rec.levelname] += 1
        rec.run = "r1"
        return rec.levelno != logging.INFO or self.seen["INFO"] % 2 == 1
buf = io.StringIO()
log = logging.Logger("kin.train"); log.setLevel(logging.DEBUG); log.propagate = False
h = logging.StreamHandler(buf); h.setFormatter(logging.Formatter("%(run)s %(levelname)s %(funcName)s %(message)s"))
flt = CountFilter(); h.addFilter(flt); log.handlers = [h]
limit = 0.5
---
ad = logging.LoggerAdapter(log, {"host": "h"})
def check(v):
    if (worst := jnp.abs(v).max()) > limit:
        log.warning("worst %.2f at %d", worst, jnp.abs(v).argmax())
    return v.clip(-limit, limit)
y = x
for i in range(4):
    log.info("step %d mean=%.3f", i, y.mean())
    y = check(y * 1.5 + 0.1)
try:
    y[:3] @ y
except TypeError:
    ad.exception("bad shapes", exc_info=False)
log.debug("kinds %s", {str(y.dtype), type(i).__name__} - {"int"})
lines = buf.getvalue().splitlines()
buf.seek(0); buf.truncate()
print(*lines[:3], sep="\n")
dict(flt.seen), len(lines)
---
limit = 10.0
---
log.setLevel(logging.WARNING); flt.seen.clear(); limit = 0.2

### kin-key-kinds-fold-in-names-and-clone
seed, names, impl = 0, ["drop", "init"], None
---
root = jax.random.key(seed, impl=impl)
def keyed(name): return jax.random.fold_in(root, sum(name.encode()))
keys = {n: keyed(n) for n in names}
raw = {n: jax.random.key_data(k) for n, k in keys.items()}
wrapped = {n: jax.random.wrap_key_data(r, impl=jax.random.key_impl(root)) for n, r in raw.items()}
same = all(bool((keys[n] == wrapped[n]).all()) for n in names)
stack = jnp.stack(list(keys.values()))
draws = jax.vmap(lambda k: jax.random.uniform(k, (3,)))(stack)
np.savez("keys.npz", **{n: np.asarray(r) for n, r in raw.items()})
with np.load("keys.npz") as f:
    again = jax.random.wrap_key_data(jnp.asarray(f[names[0]]), impl=jax.random.key_impl(root))
drift = jnp.abs(jax.random.uniform(again, (3,)) - draws[0]).max()
old = jax.random.PRNGKey(seed)
mix = {jax.dtypes.issubdtype(k.dtype, jax.dtypes.prng_key) for k in (root, old)}
print(same, str(root.dtype), stack.shape, sorted(mix), float(drift))
draws.shape
---
impl = "rbg"
---
names.append("shuffle"); seed = 7; impl = "threefry2x32"

### kin-matplotlib-hist-to-text-table needs=matplotlib
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
bins, color = 4, "C1"
---
y = jnp.sin(3 * x)
fig, (a, b) = plt.subplots(1, 2, figsize=(3, 2), layout="constrained")
counts, edges, patches = a.hist(y, bins=bins, color=color)
line, = b.plot(x, y, "o-", label=f"max {y.max():.2f}")
b.axhline(float(y.mean()), ls="--", c="k")
b.fill_between(x, y - 0.1, y + 0.1, alpha=0.2)
b.set(title=f"n={y.size}", xlim=(x[0], x[-1]), ylim=(-1, 1))
leg = b.legend(loc="upper left").get_texts()[0].get_text()
tallest = patches[int(counts.argmax())].get_height()
rows = [f"{lo:+.2f} {'#' * int(c)}" for lo, c in zip(edges, counts)]
fig.savefig("h.png", dpi=40)
plt.close(fig)
size = os.path.getsize("h.png") > 500
print(*rows, leg, sep="\n")
del fig, a, b, line, patches
tallest, size, plt.get_fignums()
---
bins = np.linspace(-1, 1, 6)
---
color = ["red"]; bins = 3

### kin-operator-overload-lazy-expression-graph
class Node:
    def __init__(self, op, *kids, value=None): self.op, self.kids, self.value = op, kids, value
    def __add__(s, o): return Node(jnp.add, s, lift(o))
    def __mul__(s, o): return Node(jnp.multiply, s, lift(o))
    __rmul__ = __mul__
    def __getattr__(self, name):
        if name.startswith("_") or not hasattr(jnp, name): raise AttributeError(name)
        return lambda *a: Node(partial(getattr(jnp, name)), self, *a)
    def eval(self, memo):
        if id(self) not in memo:
            memo[id(self)] = self.value if self.op is None else self.op(*(k.eval(memo) for k in self.kids))
        return memo[id(self)]
def lift(v): return v if isinstance(v, Node) else Node(None, value=v)
c = 3.0
---
a = Node(None, value=x)
b = (2 * a + c).tanh()
expr = (b * b + a).cumsum()
memo = {}
out = expr.eval(memo)
nodes = len(memo)
a.value = x[:4]
out2 = expr.eval({})
try:
    expr.no_such
except AttributeError as e:
    miss = str(e)
grad = jax.grad(lambda v: (Node(None, value=v) * v).exp().eval({}).sum())(x)
def depth(n): return 1 + max(map(depth, n.kids), default=0)
print(nodes, depth(expr), miss, out2.shape, pickle.loads(pickle.dumps(c)))
memo.clear()
out
---
c = np.float64(1)
---
x = x.astype(jnp.float16); c = 1

### kin-csv-grown-while-training-sniffed
p = Path("grow.csv"); p.write_text("t;v\n0;1.0\n1;2.0\n2;2.5\n")
grow = 0
---
with p.open(newline="") as f:
    dialect = csv.Sniffer().sniff(f.readline(), delimiters=";,"); f.seek(0)
    rows = [{k: float(v) for k, v in r.items()} for r in csv.DictReader(f, dialect=dialect)]
t, v = (jnp.array([r[k] for r in rows]) for k in ("t", "v"))
A = jnp.stack([t, jnp.ones_like(t)], 1)
(slope, icept), res, rank, sv = jnp.linalg.lstsq(A, v)
with p.open("a", newline="") as f:
    wr = csv.writer(f, dialect)
    for i in range(grow):
        wr.writerow([len(rows) + i, round(float(slope * (len(rows) + i) + icept), 2)])
after = sum(1 for _ in p.open()) - 1
print(f"{slope:.2f} {icept:.2f}", len(rows), after, int(rank), dialect.delimiter)
res.shape
---
grow = 2
---
p.write_text("t,v\n5,1\n6,1\n7,4\n"); grow = 0
""",
)
