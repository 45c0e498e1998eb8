"""Notebook work around arrays by strangers: simulations, tables, files, containers, own array classes, devices."""

from ..cell import written

PRELUDE = """
import os, sys, io, re, json, csv, math, time, pickle, random, logging, enum, copy, string, operator, types, abc, asyncio
import collections, contextlib, contextvars, dataclasses, functools, itertools, datetime, warnings, heapq, bisect, weakref
import threading, queue, tempfile, shutil, zipfile, sqlite3, struct, argparse, importlib, textwrap, inspect, statistics
from collections import defaultdict, namedtuple, Counter, OrderedDict, deque, ChainMap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from functools import partial, reduce, wraps, singledispatch, cache, lru_cache, cached_property
from typing import NamedTuple, Any, Protocol
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""

CELLS = written(
    PRELUDE,
    r"""
### kbw-own-list-subclass-of-arrays-with-slots-and-inplace-concat
class Series(list):
    __slots__ = ("unit", "_hash")
    def __init__(self, it=(), unit="m"):
        super().__init__(it)
        self.unit = unit
    def __iadd__(self, o):
        self.extend(jnp.asarray(v) for v in o)
        return self
    def __matmul__(self, o): return sum(a * b for a, b in zip(self, o))
    def __getitem__(self, i):
        got = super().__getitem__(i)
        return Series(got, self.unit) if isinstance(i, slice) else got
s = Series([jnp.array(1.0), jnp.array(2), np.float32(3)])
t = s
extra = [4, 5.5]
---
s += extra
dot = s @ range(len(s))
head = s[:2]
kinds = [type(v).__name__ + str(getattr(v, "dtype", "")) for v in s]
same = t is s, head.unit, head[0] is s[0]
top = max(s, key=lambda v: float(-v))
print(kinds, same, f"{dot:.2f}")
top, sorted(s, key=float)[-1]
---
extra = np.arange(2)
---
s.unit = "km"; s[1:3] = []
---
extra = [jnp.ones(2)]

### kbw-exception-group-of-failed-grid-points
class Diverged(ValueError):
    def __init__(self, lr, at):
        super().__init__(f"lr={lr} diverged at {at:.3f}")
        self.lr, self.at = lr, at
def descend(lr, w, n):
    for _ in range(n):
        w = w - lr * jax.grad(lambda v: jnp.sum(v ** 4))(w)
    if not jnp.isfinite(w).all() or jnp.abs(w).max() > 1e3:
        raise Diverged(lr, jnp.abs(w).max())
    return w
lrs = [0.01, 0.1, 5.0]
w0 = jnp.array([1.0, -2.0])
strict = False
---
good, bad = {}, []
for lr in lrs:
    try:
        good[lr] = descend(lr, w0, 3)
    except Diverged as e:
        e.add_note(f"with {w0.shape}")
        bad.append(e)
caught = []
try:
    if bad:
        raise ExceptionGroup("sweep", bad)
except* Diverged as eg:
    caught = [(e.lr, type(e.at).__name__, e.__notes__) for e in eg.exceptions]
if strict and bad:
    raise bad[0] from ExceptionGroup("all", bad)
print(caught, sorted(good))
best = min(good, key=lambda k: float(jnp.abs(good[k]).sum()))
good[best]
---
lrs = [0.02, 0.2]; w0 = jnp.array([0.5, 0.1, 0.2])
---
lrs = [9.0, 0.01, 3.0]
---
strict = True

### kbw-metaclass-registry-of-kernels-with-set-name-descriptors
class Param:
    def __set_name__(self, owner, name): self.name = "_" + name; owner._params = getattr(owner, "_params", ()) + (name,)
    def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    def __get__(self, o, t=None): return self if o is None else getattr(o, self.name)
    def __set__(self, o, v):
        if not self.lo <= float(v) <= self.hi: raise ValueError(f"{self.name[1:]}={v} not in [{self.lo}, {self.hi}]")
        setattr(o, self.name, jnp.float32(v))
class Meta(type):
    known = {}
    def __new__(m, name, bases, ns, **kw):
        c = super().__new__(m, name, bases, ns)
        m.known[kw.get("key", name.lower())] = c
        return c
    def __init__(c, name, bases, ns, **kw): super().__init__(name, bases, ns)
    def __getitem__(c, key): return Meta.known[key]
class Kernel(metaclass=Meta):
    ell = Param(0.01, 10)
    def __init__(self, ell=1.0): self.ell = ell
    def __call__(self, a, b): return self.k(jnp.abs(a[:, None] - b[None]) / self.ell)
class RBF(Kernel, key="rbf"):
    def k(self, r): return jnp.exp(-r ** 2 / 2)
class Mat(Kernel, key="mat"):
    nu = Param(0, 3)
    def k(self, r): return (1 + r) * jnp.exp(-r)
xs = jnp.linspace(0, 1, 4)
which, ell = ["rbf", "mat"], 0.5
---
ks = [Kernel[w](ell) for w in which]
K = functools.reduce(operator.mul, (k(xs, xs) for k in ks))
L = jnp.linalg.cholesky(K + 1e-3 * jnp.eye(len(xs)))
ks[0].ell = ks[0].ell * 2
names = {type(k).__name__: type(k)._params for k in ks}
logdet = 2 * jnp.log(jnp.diag(L)).sum()
print(names, list(Meta.known), f"{logdet:+.3f}", ks[0].ell.dtype)
K, ks[-1]._ell
---
class Cos(Kernel, key="cos"):
    def k(self, r): return jnp.cos(r)
which = ["cos", "rbf", "rbf"]
---
ell = np.float64(0.25); xs = xs[::2]
---
ell = 7.5; which = ["mat", "mat"]

### kbw-shallow-water-with-own-grid-dataclass-replace
@dataclass(frozen=True, slots=True)
class State:
    h: jax.Array
    u: jax.Array
    v: jax.Array
    t: float = 0.0
jax.tree_util.register_dataclass(State, data_fields=["h", "u", "v"], meta_fields=["t"])
g, dx, dt, H = 9.81, 1.0, 0.02, 1.0
def ddx(a): return (jnp.roll(a, -1, 0) - jnp.roll(a, 1, 0)) / (2 * dx)
def ddy(a): return (jnp.roll(a, -1, 1) - jnp.roll(a, 1, 1)) / (2 * dx)
def step(s):
    u = s.u - dt * g * ddx(s.h)
    v = s.v - dt * g * ddy(s.h)
    h = s.h - dt * H * (ddx(u) + ddy(v))
    return dataclasses.replace(s, h=h, u=u, v=v, t=s.t + dt)
n = 6
h0 = jnp.ones((n, n)).at[2, 3].add(0.5)
s = State(h0, jnp.zeros((n, n)), jnp.zeros((n, n)))
steps = 4
---
track = [s]
while len(track) <= steps:
    track.append(step(track[-1]))
mass = jnp.stack([q.h.sum() for q in track])
energy = [float(0.5 * (g * q.h ** 2 + H * (q.u ** 2 + q.v ** 2)).sum()) for q in track]
match track:
    case [first, *_, State(h=last, t=t)] if t > 0.05:
        drift = last - first.h
    case [only]:
        drift = None
    case _:
        drift = jnp.zeros(())
s = track[-1]
print(f"t={s.t:.2f} mass {mass[0]:.3f}->{mass[-1]:.3f} e {energy[0]:.4g}", drift is None)
s.h[2], drift
---
steps = 2
---
dt = 0.01; H = jnp.float32(2.0)
---
steps = 0
---
s = State(h0[:, :4], jnp.zeros((n, 4)), jnp.zeros((n, 4))); steps = 3; g = 1

### kbw-csv-round-trip-with-dictreader-and-sniffed-types
Path("obs.csv").write_text("station;temp;rain;ok\nA;12.5;0;yes\nB;;3;no\nA;11.0;7;yes\nC;15.25;1;no\n")
def conv(v):
    for f in (int, float):
        with contextlib.suppress(ValueError):
            return f(v)
    return {"yes": True, "no": False, "": math.nan}.get(v, v)
sep = ";"
---
with open("obs.csv", newline="") as fh:
    rows = [{k: conv(v) for k, v in r.items()} for r in csv.DictReader(fh, delimiter=sep)]
cols = {k: [r[k] for r in rows] for k in rows[0]}
num = {k: jnp.asarray(v) for k, v in cols.items() if not isinstance(v[0], str)}
mean = jnp.nanmean(num["temp"])
filled = jnp.where(jnp.isnan(num["temp"]), mean, num["temp"])
codes, labels = np.unique(cols["station"], return_inverse=True)[::-1]
per = jax.ops.segment_sum(filled, jnp.asarray(codes), num_segments=len(labels))
with open("out.csv", "w", newline="") as fh:
    w = csv.writer(fh)
    w.writerow(["station", "sum"])
    w.writerows((str(l), f"{p:.2f}") for l, p in zip(labels, per))
print({k: str(v.dtype) for k, v in num.items()}, f"{mean:.3f}", Path("out.csv").read_text().splitlines())
per, num["ok"].sum()
---
Path("obs.csv").write_text(Path("obs.csv").read_text() + "D;9;2;yes\n")
---
Path("obs.csv").write_text("station,temp,rain,ok\nQ,1,2,yes\nR,3,4,yes\n"); sep = ","
---
Path("obs.csv").unlink()

### kbw-sqlite-results-with-blob-arrays-and-adapters
db = sqlite3.connect(":memory:")
db.execute("create table runs (id integer primary key, name text, lr real, loss real, w blob)")
grid = [("a", 0.1), ("b", 0.3), ("c", 0.05)]
X = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 1.0]])
y = jnp.array([1.0, 0.0, 2.0])
---
def train(lr, n=5):
    w = jnp.zeros(X.shape[1])
    for _ in range(n):
        w = w - lr * 0.1 * X.T @ (X @ w - y) / len(y)
    return w, jnp.mean((X @ w - y) ** 2)
with db:
    db.execute("delete from runs")
    for name, lr in grid:
        w, loss = train(lr)
        db.execute("insert into runs (name, lr, loss, w) values (?, ?, ?, ?)", (name, lr, loss.item(), np.asarray(w).tobytes()))
rows = db.execute("select name, round(loss, 4), w from runs order by loss, name").fetchall()
best = jnp.frombuffer(rows.pop(0)[2], dtype=jnp.float32)
rows = [r[:2] for r in rows]
count, avg = db.execute("select count(*), avg(lr) from runs").fetchone()
pred = X @ best
print(rows, count, f"{avg:.3f}")
pred
---
grid.append(("d", 1.0))
---
X = jnp.hstack([X, jnp.ones((3, 1))])
---
db.execute("drop table runs")

### kbw-zip-of-npz-members-appended-and-listed
rng = np.random.default_rng(0)
layers = {f"l{i}": jnp.asarray(rng.normal(size=(3, 2 + i)), jnp.float32) for i in range(3)}
scale = 0.5
mode = "w"
---
with zipfile.ZipFile("ckpt.zip", mode, zipfile.ZIP_DEFLATED) as z:
    for name, a in layers.items():
        buf = io.BytesIO()
        np.save(buf, a * scale)
        z.writestr(zipfile.ZipInfo(f"{name}-{len(z.namelist())}.npy", (2024, 1, 1, 0, 0, 0)), buf.getvalue())
with zipfile.ZipFile("ckpt.zip") as z:
    info = [(i.filename, i.file_size) for i in z.infolist()]
    back = {i.filename.partition("-")[0]: jnp.load(io.BytesIO(z.read(i))) for i in z.infolist()}
err = {k: jnp.abs(back[k] - layers[k] * scale).max() for k in layers}
norms = jnp.array([jnp.linalg.norm(v) for v in back.values()])
print(info[:2], len(info), max(map(float, err.values())))
norms, back["l0"].dtype
---
layers["l3"] = jnp.arange(4, dtype=jnp.int8)
---
mode = "a"; scale = 2
---
mode = "x"

### kbw-generator-pipeline-alive-across-runs
def source(n):
    for i in itertools.count():
        got = yield jnp.full((n,), i, jnp.float32)
        if got is not None:
            n = got
def smooth(it, a):
    m = None
    for x in it:
        m = x if m is None or m.shape != x.shape else a * m + (1 - a) * x
        yield m
src = source(3)
alpha = 0.5
pipe = smooth(src, alpha)
pulls = 2
---
got = [next(pipe) for _ in range(pulls)]
last = got[-1]
peek = src.gi_frame is not None and src.gi_frame.f_locals["n"]
window = deque(got, maxlen=2)
total = sum(g.sum() for g in got)
trend = window[-1] - window[0] if window[0].shape == window[-1].shape else None
print(peek, [g.shape for g in got], f"{total:.3f}", inspect.getgeneratorstate(pipe))
last, trend
---
src.send(5)
---
pulls = 4; pipe = smooth(src, jnp.float32(0.1))
---
src.close()

### kbw-coroutine-averager-with-throw-and-return
def averager():
    total, n = jnp.zeros(()), 0
    while True:
        try:
            x = yield (total / n if n else None)
        except KeyError:
            total, n = jnp.zeros(()), 0
            continue
        if x is None:
            return {"n": n, "mean": total / max(n, 1)}
        total, n = total + jnp.sum(x), n + jnp.size(x)
avg = averager(); next(avg)
batches = [jnp.arange(3.0), 7, np.ones((2, 2))]
reset = False
---
means = [avg.send(b) for b in batches]
if reset:
    cleared = avg.throw(KeyError)
else:
    cleared = "kept"
def delegating(done):
    r = yield from averager()
    done.append(r)
done = []
d = delegating(done)
next(d)
for b in batches: d.send(b * 2)
try:
    d.send(None)
except StopIteration:
    pass
print([f"{m:.3f}" for m in means], cleared, done[0]["n"])
done[0]["mean"], means[-1].weak_type
---
reset = True
---
batches = [jnp.int8(100), jnp.uint8(200)]; reset = False
---
avg = averager(); next(avg); batches = [np.ones(3), jnp.array(True)]

### kbw-ising-metropolis-checkerboard-with-python-key-threading
L, T, J = 6, 2.0, 1.0
key = jr.PRNGKey(3)
spins = jnp.where(jr.bernoulli(key, 0.5, (L, L)), 1, -1).astype(jnp.int8)
ii, jj = np.indices((L, L))
boards = [(ii + jj) % 2 == p for p in (0, 1)]
sweeps = 3
history = []
---
for sweep in range(sweeps):
    for board in boards:
        key, sub = jr.split(key)
        nb = sum(jnp.roll(spins, s, a) for s in (1, -1) for a in (0, 1))
        dE = 2 * J * spins * nb
        flip = (jr.uniform(sub, spins.shape) < jnp.exp(-dE / T)) & board
        spins = jnp.where(flip, -spins, spins)
    m = spins.mean(dtype=jnp.float32)
    history.append(m)
    if abs(m) > 0.99:
        print("frozen at", sweep)
        break
else:
    print("swept", sweeps)
E = -J * (spins * (jnp.roll(spins, 1, 0) + jnp.roll(spins, 1, 1))).sum()
print(f"{E / L**2:+.3f}", spins.dtype, dE.dtype, len(history))
print("\n".join("".join("+-"[v < 0] for v in row) for row in spins.tolist()))
jnp.stack(history[-3:])
---
T = 0.1
---
J = -1; history = []
---
spins = spins[:, :4]; boards = [b[:, :4] for b in boards]; key = jr.key(1)

### kbw-game-of-life-string-boards-and-period-search
glider = '''
.X....
..X...
XXX...
......
......
......
'''
def parse(s): return jnp.array([[c == "X" for c in line] for line in s.split()], dtype=jnp.uint8)
def show(b): return "\n".join("".join(".X"[int(c)] for c in r) for r in b)
def evolve(b):
    n = sum(jnp.roll(b, (i, j), (0, 1)) for i, j in itertools.product((-1, 0, 1), repeat=2) if i or j)
    return ((n == 3) | ((b == 1) & (n == 2))).astype(b.dtype)
board = parse(glider)
gens = 8
seen = {}
---
b = board
for gen in range(gens):
    k = np.asarray(b).tobytes()
    if k in seen and seen[k] != gen:
        period = gen - seen[k]
        break
    seen[k] = gen
    b = evolve(b)
else:
    period = None
alive = int(b.sum())
rows, cols = jnp.nonzero(b, size=8, fill_value=-1)
print(show(b), alive, period, len(seen), sep="|")
rows, cols
---
board = parse("...... ..X... ..X... ..X... ......"); seen.clear()
---
gens = 3
---
board = jnp.zeros((3, 3), bool)

### kbw-burgers-upwind-with-cfl-check-warnings
nx, nu = 16, 0.05
x = jnp.linspace(0, 2 * jnp.pi, nx, endpoint=False)
u = 1 + 0.5 * jnp.sin(x)
dt, nt = 0.02, 5
class CFLWarning(UserWarning): pass
def rhs(u, dx):
    up = jnp.where(u > 0, u - jnp.roll(u, 1), jnp.roll(u, -1) - u)
    return -u * up / dx + nu * (jnp.roll(u, -1) - 2 * u + jnp.roll(u, 1)) / dx ** 2
---
dx = x[1] - x[0]
with warnings.catch_warnings(record=True) as log:
    warnings.simplefilter("always")
    cfl = dt * jnp.abs(u).max() / dx
    if cfl > 0.1:
        warnings.warn(f"CFL {cfl:.3f} over {nx} points", CFLWarning, stacklevel=1)
    for k in range(nt):
        k1 = rhs(u, dx); k2 = rhs(u + dt * k1, dx)
        u += dt / 2 * (k1 + k2)
    if jnp.isnan(u).any():
        raise FloatingPointError(f"blew up after {nt} steps")
told = [(w.category.__name__, str(w.message)) for w in log]
del log
tv = jnp.abs(jnp.diff(u, append=u[:1])).sum()
print(told, f"{tv:.4f}", f"{u.mean():.5f}")
u
---
dt = 0.05
---
nu = jnp.array(0.01); nt = 2
---
u = u.at[3].set(jnp.nan)

### kbw-duck-array-with-array-and-jax-array-and-ufunc
class Masked:
    __array_priority__ = 50
    def __init__(self, data, mask): self.data, self.mask = data, mask
    def __array__(self, dtype=None, copy=None):
        out = np.where(np.asarray(self.mask), 0, np.asarray(self.data))
        return out if dtype is None else out.astype(dtype)
    def __jax_array__(self): return jnp.where(self.mask, 0, self.data)
    def __getitem__(self, i): return Masked(self.data[i], self.mask[i])
    def __setitem__(self, i, v):
        self.data = self.data.at[i].set(v); self.mask = self.mask.at[i].set(False)
    def __add__(self, o):
        if isinstance(o, Masked): return Masked(self.data + o.data, self.mask | o.mask)
        return Masked(self.data + o, self.mask)
    __radd__ = __add__
    def __len__(self): return len(self.data)
    def mean(self): return (self.data * ~self.mask).sum() / (~self.mask).sum()
m = Masked(jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([False, True, False, False]))
fill = 10
---
p = m + 1
q = 2 + p + m
p[1] = fill
total = jnp.sum(jnp.asarray(m)) + jnp.asarray(q).sum()
host = np.asarray(p)
stack = jnp.stack([jnp.asarray(v) for v in (m, p, q)])
sub = p[1:3].mean()
print(len(q), host.dtype, f"{total} {sub:.3f} {m.mean():.3f}", type(host).__name__)
stack
---
fill = jnp.float16(0.5)
---
m = Masked(jnp.arange(4), jnp.zeros(4, bool))
---
m = Masked(jnp.ones((4, 2)), jnp.eye(4, 2, dtype=bool)); fill = jnp.arange(2)

### kbw-memo-by-shape-and-dtype-with-lru-and-singledispatch
calls = Counter()
@singledispatch
def norm(x): raise TypeError(f"no norm of {type(x).__name__}")
@norm.register(np.ndarray)
def _(x): calls["np"] += 1; return np.sqrt((x ** 2).sum())
@norm.register(jax.Array)
def _(x): calls["jax"] += 1; return jnp.sqrt((x ** 2).sum())
@norm.register(list)
@norm.register(tuple)
def _(x): calls["seq"] += 1; return sum(norm(v) ** 2 for v in x) ** 0.5
@norm.register
def _(x: float): return abs(x)
@lru_cache(maxsize=2)
def window(n, dtype="float32"):
    calls["window"] += 1
    return jnp.hanning(n).astype(dtype)
data = [jnp.arange(4.0), np.arange(3.0), 2.0]
sizes = [4, 8, 4]
---
ns = [norm(d) for d in data]
whole = norm(data)
ws = [window(n) for n in sizes]
same = ws[0] is ws[-1]
hits = window.cache_info()
tapered = data[0] * ws[0][: len(data[0])]
print(dict(calls), hits.hits, hits.misses, same, [type(n).__name__ for n in ns])
whole, tapered
---
sizes = [4, 8, 16, 4]
---
data[1] = (1.0, jnp.ones(2))
---
window.cache_clear(); data = [jnp.array([3, 4])]
---
data.append("x")

### kbw-h5py-groups-with-attrs-and-resizable-dataset
import h5py
frames = jnp.arange(12.0).reshape(3, 4)
dtype = "f4"
tag = {"units": "K", "step": 5}
---
with h5py.File("sim.h5", "a") as f:
    g = f.require_group("run")
    g.attrs.update(tag)
    if "u" not in g:
        d = g.create_dataset("u", data=np.asarray(frames, dtype), maxshape=(None, frames.shape[1]))
    else:
        d = g["u"]
        d.resize(d.shape[0] + len(frames), axis=0)
        d[-len(frames):] = frames
    g.attrs["mean"] = float(frames.mean())
    back = jnp.asarray(d[...])
    meta = {k: (v.item() if hasattr(v, "item") else v) for k, v in g.attrs.items()}
anom = back - back.mean(0, keepdims=True)
print(back.shape, back.dtype, sorted(meta.items()))
anom.std(axis=0)
---
frames = frames * 2 + 1
---
Path("sim.h5").unlink(); dtype = "i2"
---
frames = jnp.ones((2, 3))

### kbw-pandas-groupby-apply-with-jax-functions
import pandas as pd
df = pd.DataFrame({"g": list("aabbbc"), "x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], "w": [1, 1, 2, 2, 1, 3]})
softmax = lambda v: jax.nn.softmax(jnp.asarray(v))
by = "g"
---
out = {}
for name, part in df.groupby(by, sort=True):
    x, w = (jnp.asarray(part[c].to_numpy()) for c in ("x", "w"))
    out[name] = dict(n=len(part), wmean=(x * w).sum() / w.sum(), top=x.max())
tab = pd.DataFrame(out).T.map(lambda v: v if isinstance(v, int) else float(v))
df["p"] = df.groupby(by)["x"].transform(lambda s: np.asarray(softmax(s.to_numpy())))
df["z"] = np.asarray(jnp.asarray(df.x.to_numpy()) - jnp.asarray(df.x.to_numpy()).mean())
piv = df.pivot_table(index=by, values="p", aggfunc="sum")
print(tab.round(3).to_string())
print(piv.p.round(4).to_dict(), df.dtypes.astype(str).to_dict())
jnp.asarray(df.z.to_numpy())
---
df = df[df.g != "c"].copy()
---
df.loc[len(df) + 1] = ["d", 0.5, 4, 0.0, 0.0]
---
by = "w"; softmax = lambda v: jnp.asarray(v) / jnp.asarray(v).sum()
---
df = df.drop(columns="x")

### kbw-sklearn-scaler-and-pca-against-jax-svd
from sklearn.preprocessing import StandardScaler
from sklearn.decomposition import PCA
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
class Whiten(BaseEstimator, TransformerMixin):
    def __init__(self, eps=1e-3): self.eps = eps
    def fit(self, X, y=None):
        X = jnp.asarray(X); self.mu_ = X.mean(0)
        s, v = jnp.linalg.eigh(jnp.cov((X - self.mu_).T))
        self.W_ = v / jnp.sqrt(s + self.eps) @ v.T
        return self
    def transform(self, X): return (jnp.asarray(X) - self.mu_) @ self.W_
X = np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32) @ np.diag([3, 1, 0.3]).astype(np.float32)
eps = 1e-2
---
pipe = make_pipeline(StandardScaler(), Whiten(eps))
Z = pipe.fit_transform(X)
pca = PCA(2).fit(X)
U, S, Vt = jnp.linalg.svd(X - X.mean(0), full_matrices=False)
var = S ** 2 / (len(X) - 1)
match_ = jnp.allclose(var[:2], pca.explained_variance_, rtol=1e-3)
C = jnp.cov(Z.T)
print(pipe.named_steps["whiten"].get_params(), bool(match_), np.round(np.diag(C), 1).tolist(), Z.dtype)
jnp.abs(Vt[0])
---
eps = 0.5
---
X = X[:8] + 1
---
X[0, 0] = np.nan

### kbw-contextvars-precision-policy-with-own-context-manager
policy = contextvars.ContextVar("policy", default=jnp.float32)
log = []
@contextlib.contextmanager
def precision(dt):
    tok = policy.set(dt)
    log.append(("enter", jnp.dtype(dt).name))
    try:
        yield dt
    except TypeError as e:
        log.append(("error", str(e)[:20]))
    finally:
        policy.reset(tok)
        log.append(("exit", jnp.dtype(dt).name))
def cast(t): return jax.tree.map(lambda a: a.astype(policy.get()), t)
params = {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}
x = jnp.array([1.0, 2.0])
low = jnp.bfloat16
bad = False
---
with precision(low) as dt:
    p = cast(params)
    y16 = p["w"] @ x.astype(dt) + p["b"]
    with precision(jnp.float16):
        inner = cast(x)
        if bad:
            raise TypeError("bad policy " + str(inner.dtype))
y32 = cast(params)["w"] @ x
ctx = contextvars.copy_context()
def inside():
    policy.set(jnp.int32)
    return cast(x)
ints = ctx.run(inside)
print(len(log), log[-2:], policy.get().__name__, y16.dtype, ints)
y32 - y16
---
low = jnp.float8_e4m3fn
---
policy.set(jnp.float16)
---
bad = True

### kbw-exitstack-of-temp-dirs-and-redirects
class Timer:
    def __init__(self, name, sink): self.name, self.sink = name, sink
    def __enter__(self): self.sink.append(f"+{self.name}"); return self
    def __exit__(self, et, ev, tb):
        self.sink.append(f"-{self.name}{'!' if et else ''}")
        return et is ZeroDivisionError
events = []
stages = ["load", "fit", "score"]
x = jnp.arange(6.0)
div = 2
---
buf = io.StringIO()
with contextlib.ExitStack() as stack:
    stack.enter_context(contextlib.redirect_stdout(buf))
    where = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    for s in stages:
        stack.enter_context(Timer(s, events))
    stack.callback(events.append, "callback")
    np.savez(where / "a.npz", x=x, half=x // div)
    with np.load(where / "a.npz") as z:
        half = jnp.asarray(z["half"])
    print("mean", half.mean(), 1 // div)
    print(*(f"{v:.1f}" for v in half))
    keep = stack.pop_all() if len(events) > 100 else None
gone = not where.exists()
print(buf.getvalue().strip().replace("\n", " / "), gone, events[-5:])
half
---
stages = stages[:1]; div = 4
---
div = 0
---
x = jnp.array([[1, 2], [3, 4]]); div = 3; stages = []

### kbw-log-handler-of-own-with-lazy-array-args
class Keep(logging.Handler):
    def __init__(self): super().__init__(); self.lines = []; self.raw = []
    def emit(self, r): self.lines.append(self.format(r)); self.raw.append(r.args)
log = logging.Logger("kbw.fit", logging.INFO)
h = Keep(); h.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
log.handlers[:] = [h]
w = jnp.array([1.0, 2.0])
lr = 0.1
---
log.info("start %s lr=%.2f", w, lr)
for i in range(3):
    g = 2 * w
    w = w - lr * g
    log.debug("skip %s", g)
    log.info("step %d |w|=%.4f", i, jnp.linalg.norm(w))
    if jnp.linalg.norm(w) < 0.1:
        log.warning("small: %r", w)
log.info("done %(n)d %(s)s", {"n": len(h.lines), "s": w.shape})
tail = h.lines[-2:]
kept = h.raw[1][1] if h.raw[1] else None
print(len(h.lines), *tail, sep="; ")
w, kept
---
log.setLevel(logging.DEBUG)
---
lr = 0.5; h.lines.clear()
---
h.setFormatter(logging.Formatter("[%(name)s] %(message)s")); w = jnp.ones((2, 2), jnp.bfloat16)
---
log.setLevel(logging.ERROR); h.raw.clear()

### kbw-argparse-config-into-dataclass-and-optimizer-table
ap = argparse.ArgumentParser(prog="fit", exit_on_error=False)
ap.add_argument("--opt", choices=["sgd", "momentum", "adam"], default="sgd")
ap.add_argument("--lr", type=float, default=0.1)
ap.add_argument("--steps", type=int, default=4)
ap.add_argument("--shape", type=lambda s: tuple(map(int, s.split("x"))), default=(3,))
argv = ["--lr", "0.2"]
@dataclass
class Cfg:
    opt: str; lr: float; steps: int; shape: tuple
    extra: dict = field(default_factory=dict)
def sgd(c):
    return lambda p: (), lambda g, s, p: (p - c.lr * g, s)
def momentum(c):
    return lambda p: (jnp.zeros_like(p),), lambda g, s, p: ((m := 0.9 * s[0] + g), (p - c.lr * m, (m,)))[1]
def adam(c):
    def up(g, s, p):
        m, v, t = 0.9 * s[0] + 0.1 * g, 0.99 * s[1] + 0.01 * g ** 2, s[2] + 1
        return p - c.lr * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.99 ** t)) + 1e-8), (m, v, t)
    return lambda p: (jnp.zeros_like(p), jnp.zeros_like(p), 0), up
---
cfg = Cfg(**vars(ap.parse_args(argv)))
init, update = globals()[cfg.opt](cfg)
p = jnp.ones(cfg.shape)
state = init(p)
losses = []
for _ in range(cfg.steps):
    loss, g = jax.value_and_grad(lambda q: ((q - 0.3) ** 2).sum())(p)
    p, state = update(g, state, p)
    losses.append(loss)
cfg.extra["final"] = losses[-1]
print(dataclasses.asdict(cfg)["opt"], f"{losses[0]:.3f}->{losses[-1]:.3f}", [type(s).__name__ for s in state])
p, losses[-1] < losses[0]
---
argv = ["--opt", "momentum", "--steps", "3"]
---
argv = "--opt adam --shape 2x3".split()
---
argv = ["--lr", "fast"]

### kbw-own-module-on-disk-reloaded-with-state
Path("physmod.py").write_text('''
import jax.numpy as jnp
G = 9.81
calls = 0
def fall(t):
    global calls
    calls += 1
    return 0.5 * G * t ** 2
''')
sys.path.insert(0, os.getcwd()); importlib.invalidate_caches(); sys.modules.pop("physmod", None)
import physmod
t = jnp.linspace(0, 1, 3)
---
import physmod
d = physmod.fall(t)
v = jax.vmap(jax.grad(physmod.fall))(t)
n = physmod.calls
where = Path(physmod.__file__).name
from physmod import fall as f2, G
same = f2 is physmod.fall
print(n, where, G, same, f"{d[-1]:.3f}")
d, v
---
physmod.G = 1.62
---
Path("physmod.py").write_text(Path("physmod.py").read_text().replace("0.5 *", "0.25 *").replace("t ** 2", "t ** 3")); importlib.invalidate_caches(); shutil.rmtree("__pycache__", ignore_errors=True); importlib.reload(physmod)
---
t = 2
---
del physmod.fall

### kbw-asyncio-workers-with-queue-and-gather
async def worker(name, q, out):
    while True:
        i, x = await q.get()
        await asyncio.sleep(0)
        out[i] = (name, jnp.tanh(x).sum())
        q.task_done()
async def run(xs, n):
    q, out = asyncio.Queue(), {}
    ts = [asyncio.create_task(worker(f"w{k}", q, out)) for k in range(n)]
    for item in enumerate(xs): q.put_nowait(item)
    await q.join()
    for t in ts: t.cancel()
    done = await asyncio.gather(*ts, return_exceptions=True)
    return out, [type(d).__name__ for d in done]
xs = [jnp.arange(3.0) * k for k in range(4)]
n = 2
---
out, ends = asyncio.run(run(xs, n))
vals = jnp.stack([out[i][1] for i in sorted(out)])
who = Counter(out[i][0] for i in out)
scale = vals / vals.max()
async def late(v): return v * 2
twice = asyncio.run(late(vals))
print(ends, sorted(who.items()), f"{vals.sum():.4f}")
scale, twice[-1]
---
n = 3
---
xs = [np.ones(2), jnp.ones((2, 2))]
---
xs = []

### kbw-bisect-heapq-event-queue-and-timelines
class Event(NamedTuple):
    t: float
    kind: str
    amount: Any
events = [Event(3.0, "dose", 10.0), Event(1.0, "dose", 5.0), Event(2.0, "skip", 0.0), Event(4.5, "dose", 2.5)]
half = 1.5
grid = jnp.linspace(0, 6, 7)
---
heap = list(events)
heapq.heapify(heap)
level, now, curve = jnp.zeros(()), 0.0, []
while heap:
    t, kind, amount = heapq.heappop(heap)
    level = level * 0.5 ** ((t - now) / half)
    match kind:
        case "dose": level = level + amount
        case "skip": pass
        case other: raise LookupError(f"what is {other!r} at {t}")
    now = t
    curve.append((t, level))
times = [t for t, _ in curve]
idx = [bisect.bisect_right(times, float(s)) - 1 for s in grid]
at = jnp.stack([curve[i][1] * 0.5 ** ((s - times[i]) / half) if i >= 0 else jnp.zeros(()) for i, s in zip(idx, grid)])
peak = max(curve, key=lambda c: c[1])
top2 = heapq.nlargest(2, curve, key=lambda c: float(c[1]))
print(idx, peak[0], [f"{l:.3f}" for _, l in top2])
at
---
half = jnp.float32(3.0)
---
events.append(Event(0.5, "dose", jnp.float32(1.0)))
---
events = events + [Event(9.0, "spill", 1.0)]

### kbw-flag-enum-boundaries-for-padding
class BC(enum.Flag):
    NONE = 0
    LEFT = enum.auto()
    RIGHT = enum.auto()
    WRAP = enum.auto()
    BOTH = LEFT | RIGHT
    @property
    def pad(self): return (int(BC.LEFT in self), int(BC.RIGHT in self))
class Mode(str, enum.Enum):
    EDGE = "edge"; ZERO = "constant"; REFLECT = "reflect"
u = jnp.array([1.0, 4.0, 9.0, 16.0])
bc, mode = BC.BOTH, Mode.EDGE
---
if bc & BC.WRAP:
    ext = jnp.concatenate([u[-1:], u, u[:1]])
elif bc:
    ext = jnp.pad(u, bc.pad, mode=mode.value)
else:
    ext = u
lap = ext[2:] - 2 * ext[1:-1] + ext[:-2]
members = [m.name for m in bc]
other = ~bc
table = {m: jnp.pad(u, 1, mode=m.value).sum() for m in Mode}
print(bc, members, other, {k.name: f"{v:g}" for k, v in table.items()}, mode == "edge")
lap, table[mode]
---
bc = BC.WRAP | BC.LEFT
---
bc = BC.NONE; mode = Mode("reflect")
---
bc = BC.RIGHT; u = jnp.arange(3)
---
mode = Mode.EDGE; u = u[:0]

### kbw-slotted-dict-subclass-config-with-missing-and-attr
class Conf(dict):
    __slots__ = ("parent", "reads")
    def __init__(self, parent=None, **kw):
        super().__init__(**kw)
        self.parent, self.reads = parent, 0
    def __missing__(self, k):
        if self.parent is None: raise KeyError(k)
        return self.parent[k]
    def __getattr__(self, k):
        try: return self[k]
        except KeyError: raise AttributeError(k) from None
base = Conf(lr=0.1, gain=jnp.float32(2))
child = Conf(base, lr=0.5)
x = jnp.arange(3.0)
---
child["w"] = x * child["gain"]
child.reads += 1
y = child.w - child.lr
grand = Conf(child, bias=y.sum())
z = grand.bias + grand["lr"] * grand.parent.parent["gain"]
has = [hasattr(grand, n) for n in ("lr", "w", "nope")]
print(has, dict.keys(child), grand.parent is child, child.reads, f"{z:.2f}")
z, grand
---
base["nope"] = 3
---
child.reads = 10; del child["lr"]
---
child.parent = None

### kbw-deque-subclass-history-with-maxlen-and-index
class Hist(deque):
    def __init__(self, n, it=()):
        super().__init__(it, maxlen=n); self.dropped = 0
    def append(self, v):
        self.dropped += len(self) == self.maxlen
        super().append(v)
    def mean(self): return sum(self) / len(self)
h = Hist(3)
x = jnp.array([0.5, 1.5])
turns = 4
---
for k in range(turns):
    x = x * 0.5 + k
    h.append(x)
m = h.mean()
h.rotate(1)
first, *mid, last = h
spread = jnp.max(jnp.stack(h), 0) - jnp.min(jnp.stack(h), 0)
h2 = Hist(turns, h) if turns % 2 else Hist(h.maxlen, h)
h2[0] = first * 0
print(len(h), h.dropped, h.maxlen, last is h[-1], type(h2).__name__, h2[1] is h[1])
m, spread
---
turns = 1
---
h.clear(); h.dropped = 0; turns = 2
---
x = jnp.int8(100); h.clear()

### kbw-namedtuple-subclass-with-properties-and-replace-chain
class Ray(namedtuple("Ray", "o d t", defaults=(0.0,))):
    __slots__ = ()
    @property
    def tip(self): return self.o + self.t * self.d
    def bounce(self, n):
        n = n / jnp.linalg.norm(n)
        return self._replace(o=self.tip, d=self.d - 2 * jnp.dot(self.d, n) * n, t=self.t + 1)
    @classmethod
    def of(cls, *a): return cls._make(map(jnp.asarray, a))
ray = Ray(jnp.zeros(2), jnp.array([1.0, 1.0]))
walls = [jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0])]
---
path = list(itertools.accumulate(walls, Ray.bounce, initial=ray._replace(t=0.5)))
ends = jnp.stack([r.tip for r in path])
o, d, t = path[-1]
by = {f: getattr(path[1], f) for f in Ray._fields}
flat, tree = jax.tree.flatten(path)
length = sum(jnp.linalg.norm(b - a) for a, b in itertools.pairwise(ends))
print(tree.num_leaves, type(path[-1]).__name__, t, f"{length:.3f}", o is path[-1].o, Ray.of(*ray)._asdict().keys() == by.keys())
ends, d
---
walls = walls * 2
---
ray = Ray.of([0, 1], [2, 1], 1)
---
walls = [np.array([1, 1])]
---
walls = []

### kbw-chainmap-of-settings-with-push-pop-and-writes
defaults = {"lr": 0.1, "decay": 0.9, "w": jnp.ones(2)}
user = {"lr": jnp.float32(0.5)}
cfg = ChainMap({}, user, defaults)
g = jnp.array([0.2, -0.4])
override = {"decay": 0.5}
---
local = cfg.new_child(dict(override))
local["w"] = local["w"] - local["lr"] * g * local["decay"]
cfg["steps"] = cfg.get("steps", 0) + 1
seen = [next(i for i, m in enumerate(local.maps) if k in m) for k in ("w", "lr", "decay", "steps")]
merged = dict(local)
up = local.parents
up["best"] = jnp.minimum(merged["w"], defaults["w"])
same = up.maps[0] is cfg.maps[0], cfg["best"] is up["best"]
print(seen, sorted(merged), same, cfg["steps"], len(local))
merged["w"], up["best"]
---
user["w"] = jnp.zeros(2)
---
override["steps"] = 100; defaults["decay"] = 2
---
cfg.maps.pop(1)
---
del defaults["decay"]; override = {}

### kbw-weakref-cache-of-grids-and-live-objects
class Grid:
    def __init__(self, n): self.n, self.x = n, jnp.linspace(0, 1, n)
class Pool:
    def __init__(self): self.live, self.made = weakref.WeakValueDictionary(), []
    def get(self, n):
        g = self.live.get(n)
        if g is None:
            g = self.live[n] = Grid(n); self.made.append(n)
        return g
pool = Pool()
sizes = [3, 4, 3]
keep = {}
---
gs = [pool.get(n) for n in sizes]
for g in gs: keep.setdefault(g.n, g)
areas = {g.n: jnp.trapezoid(g.x ** 2, g.x) for g in gs}
r = weakref.ref(gs[0])
alive = r() is gs[0], len(pool.live), gs[0] is gs[-1]
print(pool.made, alive, {k: f"{v:.4f}" for k, v in areas.items()})
areas[3] if 3 in areas else gs[-1].x
---
sizes = [5, 3]
---
keep.clear(); del gs, g
---
pool.made.clear(); sizes = (2,)

### kbw-deepcopy-vs-copy-of-models-sharing-arrays
class Layer:
    def __init__(self, w, tied=None): self.w, self.tied, self.log = w, tied, []
    def __call__(self, x): self.log.append(x.shape); return jnp.tanh(x @ self.w)
    def __deepcopy__(self, memo):
        c = Layer(self.w, copy.deepcopy(self.tied, memo)); memo[id(self)] = c
        return c
enc = Layer(jnp.eye(2) * 0.5); dec = Layer(enc.w.T, tied=enc)
model = {"enc": enc, "dec": dec, "x0": np.ones(2)}
x = jnp.array([[1.0, 2.0]])
---
shallow, deep = copy.copy(model), copy.deepcopy(model)
out = shallow["dec"](shallow["enc"](x))
deep["enc"].w = deep["enc"].w + 1
dout = deep["dec"](deep["enc"](x))
facts = (shallow["enc"] is enc, deep["dec"].tied is deep["enc"], deep["dec"].w is dec.w, deep["x0"] is model["x0"])
model["x0"] += 1
print(facts, enc.log[-1], len(enc.log), len(deep["enc"].log), shallow["x0"].tolist(), deep["x0"].tolist())
out, dout
---
dec.tied = None; x = x[:, ::-1]
---
model["tail"] = [enc, enc]
---
enc.w = "broken"

### kbw-order-dataclass-sorting-candidates-with-arrays
@dataclass(order=True)
class Cand:
    score: Any
    name: str = field(compare=False)
    w: Any = field(compare=False, repr=False, default=None)
ws = {"a": jnp.array([1.0, 2.0]), "b": jnp.array([0.5, 0.1]), "c": np.array([2.0, 2.0])}
loss = lambda w: jnp.sum((w - 1) ** 2)
---
cands = [Cand(loss(w), n, w) for n, w in ws.items()]
ranked = sorted(cands)
worst = max(cands)
top = heapq.nsmallest(2, cands)
eq = cands[0] == Cand(loss(ws["a"]), "zz"), cands[0] < cands[1]
mid = statistics.median(float(c.score) for c in cands)
print([c.name for c in ranked], worst.name, eq, [type(e).__name__ for e in eq], f"{mid:.3f}", [c.name for c in top])
ranked[0].w, ranked[0].score
---
ws["d"] = jnp.ones(2)
---
loss = lambda w: jnp.abs(w).max().astype(jnp.int32)
---
loss = lambda w: w - 1

### kbw-frozen-dataclass-hash-and-cache-keyed-by-it
@dataclass(frozen=True)
class Spec:
    n: int
    kind: str = "sin"
    phase: float = 0.0
    def __post_init__(self): object.__setattr__(self, "dx", 2 * math.pi / self.n)
made = []
@cache
def wave(spec):
    made.append(spec)
    return getattr(jnp, spec.kind)(jnp.arange(spec.n) * spec.dx + spec.phase)
specs = [Spec(4), Spec(4, "cos"), Spec(4)]
amp = 2.0
---
waves = [wave(s) for s in specs]
mix = amp * sum(w for w in waves if w.shape == waves[0].shape)
uniq = {s: w for s, w in zip(specs, waves)}
try:
    specs[0].n = 5
except dataclasses.FrozenInstanceError as e:
    why = str(e)
new = dataclasses.replace(specs[-1], phase=math.pi)
flipped = wave(new)
print(len(uniq), len(made), why, waves[0] is waves[-1], hash(specs[0]) == hash(Spec(4)), new)
mix, jnp.round(flipped + waves[-1], 3)
---
specs = specs + [Spec(3, "tan")]
---
wave.cache_clear(); amp = jnp.int32(3)
---
specs = [Spec(4, "sinq")]

### kbw-property-with-cached-property-and-invalidations
class Mesh1D:
    def __init__(self, x): self._x = jnp.asarray(x); self.hits = 0
    @property
    def x(self): return self._x
    @x.setter
    def x(self, v):
        self._x = jnp.asarray(v)
        self.__dict__.pop("widths", None)
    @x.deleter
    def x(self): self._x = self._x[:0]
    @cached_property
    def widths(self):
        self.hits += 1
        return jnp.diff(self._x)
    def integrate(self, f): return (f(self.x[:-1]) + f(self.x[1:])) @ self.widths / 2
m = Mesh1D([0.0, 0.5, 2.0])
power = 2
---
a = m.integrate(lambda t: t ** power)
w1 = m.widths
m.x = jnp.append(m.x, m.x[-1] + 1)
b = m.integrate(lambda t: t ** power)
n = m.hits
fresh = "widths" in m.__dict__, w1 is m.widths
print(n, fresh, f"{a:.3f} {b:.3f}", len(m.x))
m.widths, b - a
---
m.hits = 0; del m.x; m.x = np.array([1, 2])
---
power = -1.5; m.x = [1.0, 4.0]
---
m.__dict__["widths"] = jnp.ones(9)

### kbw-image-filters-with-uint8-wraparound-and-clipping
img = (np.add.outer(np.arange(6), np.arange(6)) * 23 % 256).astype(np.uint8)
gain, off = 3, 40
kern = jnp.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]], jnp.uint8)
---
j = jnp.asarray(img)
wrap = j * gain + off
sat = jnp.clip(j.astype(jnp.int32) * gain + off, 0, 255).astype(jnp.uint8)
blur = sum(kern[a, b] * jnp.roll(j, (1 - a, 1 - b), (0, 1)) for a in range(3) for b in range(3)) // 8
neg = ~j
bits = jnp.unpackbits(j[:1], axis=1)
edge = jnp.abs(j[1:] - j[:-1])
npw = img * np.uint8(gain)
hist = jnp.bincount(j.ravel() // 32, length=8)
print(wrap.dtype, blur.dtype, edge.dtype, npw.dtype, int(edge.max()), hist.tolist(), bits.sum())
sat[0], blur[0], (npw == j * gain).all()
---
gain = np.int8(2)
---
gain = 300
---
img = img.astype(np.int8); gain = 3

### kbw-bool-and-int8-arithmetic-oddities
a = jnp.array([True, False, True])
b = jnp.array([True, True, False])
i8 = jnp.array([100, 27, -128], jnp.int8)
k = 2
---
s = a + b
p = a * b
x = a ^ b, a | b, ~a
neg = -i8
ab = abs(i8)
sh = i8 << k, i8 >> 1
dv = i8 // 3, i8 % 7, divmod(i8, 5)[0]
mean = i8.mean(), a.mean(), i8.sum(), a.sum()
tr = i8 / 2, i8 * 1.5, i8 * np.float16(2), i8 ** k
cs = jnp.cumsum(a), jnp.cumprod(i8)
print([str(v.dtype) for v in (s, p, neg, ab, *sh, *dv, *mean, *tr, *cs)], f"{mean[0]:.3f}", bool(a[0] + b[0]))
[v.weak_type for v in (*tr, *mean)], ab
---
k = jnp.int8(3)
---
i8 = i8.astype(jnp.uint16); a = jnp.array([True, True, True])
---
k = 2.5

### kbw-low-precision-floats-round-trip-and-sums
x = jnp.array([0.1, 1.0, 448.0, 1e4, -3.3])
kinds = ["float8_e4m3fn", "float8_e5m2", "bfloat16", "float16"]
---
tab = {}
for k in kinds:
    q = x.astype(k)
    back = q.astype(jnp.float32)
    tab[k] = (q, jnp.abs(back - x).max(), jnp.finfo(k).bits)
err = {k: (float(e) if jnp.isfinite(e) else None) for k, (_, e, _) in tab.items()}
bf = tab[kinds[-1]][0]
tot = bf.sum(), jnp.sum(bf, dtype=jnp.float32), bf @ bf, bf + 1, bf * x
host = np.asarray(bf)
print(err, [str(t.dtype) for t in tot], host.dtype, host.dtype.kind, host[0])
tot, jnp.nextafter(bf[0], bf[0] + 1)
---
kinds = kinds[::-1]
---
x = jnp.array([1, 2, 300]); kinds = ["float16", "bfloat16"]
---
kinds = ["float12"]

### kbw-complex-fractal-escape-times-ascii
re_ = np.linspace(-2, 0.5, 12)
im = np.linspace(-1, 1, 6)
c = jnp.asarray(re_[None] + 1j * im[:, None])
iters = 6
chars = " .:-=+*#"
---
z = jnp.zeros_like(c)
n = jnp.zeros(c.shape, jnp.int32)
for k in range(iters):
    live = jnp.abs(z) <= 2
    z = jnp.where(live, z * z + c, z)
    n = n + live
area = (n == iters).mean()
pic = ["".join(chars[int(v) % len(chars)] for v in row) for row in n]
ang = jnp.angle(z[2, 3]), z.conj().imag.dtype, jnp.real(z).max()
print(*pic, sep="\n")
print(z.dtype, f"{area:.3f}", f"{z[0, 0]:.2f}", complex(c[0, 0]))
n.sum(1)
---
iters = 3; chars = "ab"
---
c = c.real
---
c = c.astype(jnp.complex64)[:2] * 1j; iters = 2.0

### kbw-random-new-and-old-keys-and-dropout-masks
old, new = jr.PRNGKey(0), jr.key(0)
shape = (2, 3)
rate = 0.5
impl = "threefry2x32"
---
k1, k2 = jr.split(new)
ks = jr.split(old, 3)
data = jr.key_data(k1)
same = (jr.uniform(new, shape) == jr.uniform(old, shape)).all()
folded = [jr.fold_in(new, i) for i in range(3)]
stacked = jnp.stack(folded)
draws = jax.vmap(lambda k: jr.normal(k, ()))(stacked)
mask = jr.bernoulli(k2, 1 - rate, shape)
wrapped = jr.wrap_key_data(ks[0], impl=impl)
perm = jr.permutation(wrapped, jnp.arange(5))
ch = jr.choice(k1, jnp.array([2, 4, 8]), (4,), p=jnp.array([0.2, 0.3, 0.5]))
print(k1.dtype, ks.dtype, bool(same), stacked.shape, wrapped.dtype == k1.dtype, jr.key_impl(k2), repr(k1)[:30])
draws, mask, perm, ch
---
shape = (4,); rate = 0.1
---
new = jr.key(7, impl="rbg")
---
old = new; impl = "rbg"
---
impl = "nope"

### kbw-numpy-global-random-state-in-step-with-jax
np.random.seed(4); random.seed(5)
n = 5
w = jnp.zeros(3)
---
idx = np.random.permutation(n)[:3]
noise = np.random.randn(3).astype(np.float32)
w = w + jnp.asarray(noise) * 0.1
pick = random.choice(["a", "b", "c"])
random.shuffle(order := list(range(4)))
st = np.random.get_state()[2]
seed = int(np.random.randint(2 ** 31 - 1))
key = jr.key(seed)
jit = jr.uniform(key, (2,))
g = np.random.default_rng(seed).normal()
print(idx, pick, order, st, seed, f"{g:.4f}")
w, jit
---
np.random.seed(1)
---
random.seed(0); n = 9
---
n = 2; w = jnp.zeros(2)

### kbw-lbm-d2q9-channel-with-numpy-tables
c = np.array([(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)])
wt = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)
opp = [0, 3, 4, 1, 2, 7, 8, 5, 6]
nx, ny, omega = 8, 5, 1.2
solid = np.zeros((nx, ny), bool); solid[:, [0, -1]] = True
def feq(rho, u):
    cu = 3 * jnp.einsum("qd,xyd->xyq", c, u)
    return rho[..., None] * wt * (1 + cu + 0.5 * cu ** 2 - 1.5 * (u ** 2).sum(-1, keepdims=True))
f = feq(jnp.ones((nx, ny)), jnp.zeros((nx, ny, 2)))
force = 0.01
steps = 3
---
for it in range(steps):
    rho = f.sum(-1)
    u = jnp.einsum("xyq,qd->xyd", f, c) / rho[..., None]
    u = u.at[..., 0].add(force)
    post = f - omega * (f - feq(rho, u))
    post = jnp.where(solid[..., None], f[..., jnp.array(opp)], post)
    f = jnp.stack([jnp.roll(post[..., q], tuple(c[q]), (0, 1)) for q in range(9)], -1)
prof = u[nx // 2, :, 0]
re_num = prof.max() * ny / ((1 / omega - 0.5) / 3)
ok = bool(jnp.isfinite(f).all()) and abs(float(f.sum()) / f[..., 0].size - 1) < 1e-3
print(ok, f"{re_num:.3f}", solid.sum(), f.dtype)
prof
---
omega = 1.9; steps = 1
---
solid[3, 2] = True
---
force = jnp.where(solid, 0, 0.02)
---
opp[1] = 99; c = c.astype(np.float32)

### kbw-nbody-leapfrog-with-dict-of-bodies
bodies = {"sun": dict(m=1.0, r=jnp.zeros(2), v=jnp.zeros(2)),
          "earth": dict(m=3e-6, r=jnp.array([1.0, 0.0]), v=jnp.array([0.0, 6.28])),
          "mars": dict(m=3e-7, r=np.array([0.0, 1.5]), v=np.array([-5.1, 0.0]))}
G, dt = 4 * math.pi ** 2, 0.01
def acc(name):
    me = bodies[name]
    return sum((G * b["m"] * (b["r"] - me["r"]) / jnp.linalg.norm(b["r"] - me["r"]) ** 3
                for n, b in bodies.items() if n != name), start=jnp.zeros(2))
fixed = {"sun"}
---
moving = bodies.keys() - fixed
for n in sorted(moving): bodies[n]["v"] = bodies[n]["v"] + dt / 2 * acc(n)
for n in sorted(moving): bodies[n]["r"] = bodies[n]["r"] + dt * bodies[n]["v"]
for n in sorted(moving): bodies[n]["v"] += dt / 2 * acc(n)
E = {n: 0.5 * b["m"] * (b["v"] @ b["v"]) for n, b in bodies.items()}
far = max(bodies, key=lambda n: jnp.linalg.norm(bodies[n]["r"]))
tab = "\n".join(f"{n:>6}|{b['r'][0]:+.3f}|{b['r'][1]:+.3f}|{type(b['r']).__name__}" for n, b in bodies.items())
print(tab, far, sep="\n")
E["earth"] if "earth" in E else None
---
bodies["moon"] = dict(m=1e-8, r=bodies["earth"]["r"] + 0.01, v=bodies["earth"]["v"])
---
fixed = set(); del bodies["mars"]
---
bodies["sun"]["r"] = bodies["earth"]["r"]; dt = 0
---
del bodies["sun"]["m"]

### kbw-at-modes-and-out-of-bounds-indexing
x = jnp.arange(5.0)
idx = jnp.array([0, 4, 7, -1, -9])
v = jnp.float32(10)
---
clip = x.at[idx].get(mode="clip")
fill = x.at[idx].get(mode="fill", fill_value=-1)
drop = x.at[idx].set(v, mode="drop")
plain = x[idx]
added = x.at[idx].add(v)
mul = x.at[::2].multiply(v).at[-1].apply(jnp.negative)
mx = x.at[jnp.array([1, 1, 2])].max(jnp.array([5, 3, 9]))
pos = x.at[jnp.array([0, 1])].power(2, unique_indices=True, indices_are_sorted=True)
div = x.at[1:3].divide(2)
taken = jnp.take(x, idx, mode="wrap"), jnp.take(x, idx), x.take(jnp.array([1]), axis=0)
print([str(a.dtype) for a in (clip, fill, drop, mul, mx)], plain.tolist(), taken[1].tolist())
clip, fill, drop, added, mul, mx, pos, div, taken[0]
---
x = jnp.arange(5)
---
v = 2.5
---
idx = np.array([1, 2]); v = jnp.array([7, 8])
---
idx = [1, 2]

### kbw-boolean-masks-and-ix-and-nonzero-sizes
m = jnp.arange(12).reshape(3, 4)
keep = jnp.array([True, False, True])
cols = [3, 1]
---
sel = m[keep]
grid = m[np.ix_([0, 2], cols)]
jgrid = m[jnp.ix_(jnp.array([0, 2]), jnp.array(cols))]
big = m[m > 5]
w = jnp.where(m % 3 == 0)
ws = jnp.where(m % 3 == 0, size=6, fill_value=-1)
un, inv, cnt = jnp.unique(m % 4, return_inverse=True, return_counts=True)
us = jnp.unique(m % 5, size=7, fill_value=99)
flat = jnp.flatnonzero(keep), jnp.argwhere(m > 9), jnp.extract(m > 9, m)
m2 = m.at[keep].set(-1).at[:, cols].add(100)
sel2 = m[keep, 1], m[..., None, 0].shape, m[1, ...][::-1]
print(sel.shape, big.size, len(w[0]), un, cnt, inv.shape, sel2[1])
grid, ws, us, flat, m2
---
keep = ~keep
---
cols = [0]; m = m.astype(jnp.float16)
---
m = m.T
---
keep = jnp.zeros(4, bool)

### kbw-take-along-axis-argsort-and-lexsort-tables
scores = jnp.array([[3.0, 1.0, 2.0], [0.5, 0.5, 4.0]])
names = np.array(["x", "y", "z"])
desc = True
---
order = jnp.argsort(scores, axis=1, descending=desc, stable=True)
ranked = jnp.take_along_axis(scores, order, axis=1)
labels = names[np.asarray(order)]
top = jax.lax.top_k(scores, 2)
lex = jnp.lexsort((scores[0], scores[1]))
inv = jnp.argsort(order, axis=1)
back = jnp.take_along_axis(ranked, inv, 1) == scores
put = jnp.put_along_axis(scores, order[:, :1], 0.0, axis=1, inplace=False)
srch = jnp.searchsorted(ranked[0, ::-1], 1.5), jnp.digitize(scores[1], jnp.array([0.5, 1.0]))
print(labels.tolist(), order.dtype, bool(back.all()), int(srch[0]), lex.tolist())
ranked, top[1], put
---
desc = False; names = list("abc")
---
names = np.array(list("abc")); scores = scores.at[0, 1].set(jnp.nan)
---
scores = jnp.array([[1, 1, 1]])

### kbw-segment-sums-and-groupby-built-by-hand
rows = [("eu", 3, 1.5), ("us", 1, 2.0), ("eu", 2, 0.5), ("as", 7, 1.0)]
agg = {"n": lambda v, s, k: jax.ops.segment_sum(jnp.ones_like(v), s, k),
       "sum": jax.ops.segment_sum, "max": jax.ops.segment_max}
---
keys = list(dict.fromkeys(r[0] for r in rows))
seg = jnp.array([keys.index(r[0]) for r in rows])
qty, price = (jnp.array(c) for c in list(zip(*rows))[1:])
val = qty * price
out = {name: f(val, seg, len(keys)) for name, f in agg.items()}
share = out["sum"] / out["sum"].sum()
table = [f"{k:<4}{int(out['n'][i]):>3}{out['sum'][i]:>8.2f}{share[i]:>7.1%}" for i, k in enumerate(keys)]
print(*table, sep="\n")
best = keys[int(jnp.argmax(out["max"]))]
print(best, {k: str(v.dtype) for k, v in out.items()})
share
---
rows = rows + [("au", 1, 9.25)]
---
agg["min"] = jax.ops.segment_min; rows = rows[:2]
---
rows = [(k, q, int(p)) for k, q, p in rows]
---
rows = []

### kbw-black-scholes-greeks-and-implied-vol-newton
from jax.scipy.stats import norm
def price(S, K, T, r, s, call=True):
    d1 = (jnp.log(S / K) + (r + s * s / 2) * T) / (s * jnp.sqrt(T))
    d2 = d1 - s * jnp.sqrt(T)
    c = S * norm.cdf(d1) - K * jnp.exp(-r * T) * norm.cdf(d2)
    return c if call else c - S + K * jnp.exp(-r * T)
market = {"S": 100.0, "T": 0.5, "r": 0.02}
strikes = jnp.array([90.0, 100.0, 110.0])
quotes = jnp.array([13.5, 6.9, 3.1])
tol, maxit = 1e-3, 20
---
vols = []
for K, q in zip(strikes, quotes):
    s, n = 0.3, 0
    f = lambda s_: price(market["S"], K, market["T"], market["r"], s_) - q
    while abs(f(s)) > tol:
        s = s - f(s) / jax.grad(f)(s)
        if (n := n + 1) >= maxit:
            raise ArithmeticError(f"K={K:.0f}: no vol after {n}")
    vols.append((s, n))
iv = jnp.array([v for v, _ in vols])
delta = jax.vmap(jax.grad(price), (None, 0, None, None, 0))(market["S"], strikes, market["T"], market["r"], iv)
smile = "/".join(f"{v:.3f}" for v in iv)
print(smile, [n for _, n in vols], type(vols[0][0]).__name__)
jnp.round(delta, 3)
---
market["T"] = 1.0
---
quotes = quotes[:2]; strikes = strikes[:2] + 1
---
quotes = quotes * 0 + 0.0001; maxit = 3

### kbw-backtest-with-datetime-index-and-rolling-signal
start = datetime.date(2024, 1, 1)
px = jnp.array([100.0, 101.0, 99.0, 102.0, 105.0, 103.0, 108.0, 107.0])
fast, slow = 2, 4
fee = Decimal("0.001")
---
days = [start + datetime.timedelta(days=i) for i in range(len(px))]
ma = lambda n: jnp.convolve(px, jnp.ones(n) / n, "valid")
f, s = ma(fast)[slow - fast:], ma(slow)
sig = jnp.sign(f - s)
ret = jnp.diff(jnp.log(px))[slow - 1:]
pos = sig[:-1]
cost = float(fee) * jnp.abs(jnp.diff(pos, prepend=0))
pnl = jnp.cumsum(pos * ret - cost)
dd = jnp.max(jnp.maximum.accumulate(pnl) - pnl)
trades = [(days[slow - 1 + i].isoformat(), "buy" if p > 0 else "sell") for i, p in enumerate(pos) if i == 0 or p != pos[i - 1]]
week = Counter(d.strftime("%a") for d, p in zip(days[slow - 1:], pos) if p > 0)
print(trades, dict(week), f"{pnl[-1]:+.4f} {dd:.4f}")
pnl, sig
---
fast, slow = 1, 3
---
px = px[::-1]; fee = Decimal(0)
---
fee = "x"

### kbw-sir-fit-with-scan-and-hand-written-gauss-newton
def sir(theta, n):
    b, g = theta
    def f(s, _):
        S, I, R = s
        new, rec = b * S * I, g * I
        s = (S - new, I + new - rec, R + rec)
        return s, s[1]
    return lax.scan(f, (0.99, 0.01, 0.0), None, length=n)[1]
obs = sir(jnp.array([0.5, 0.2]), 8)
theta = jnp.array([0.4, 0.15])
its, damp = 4, 1e-6
trace = []
---
n = len(obs)
for it in range(its):
    r = sir(theta, n) - obs
    Jm = jax.jacfwd(sir)(theta, n)
    step = jnp.linalg.solve(Jm.T @ Jm + damp * jnp.eye(2), Jm.T @ r)
    theta = theta - step
    trace.append((it, jnp.sum(r ** 2)))
    if jnp.linalg.norm(step) < 1e-4:
        break
R0 = theta[0] / theta[1]
label = "epidemic" if R0 > 1 else "dies out"
print(label, it, f"R0={R0:.2f}", len(trace), f"{trace[-1][1]:.0e}"[:1].isdigit())
jnp.round(theta, 2)
---
theta = jnp.array([0.45, 0.22]); damp = jnp.float32(1e-4)
---
obs = obs[:5]; trace.clear()
---
theta = (0.4, 0.1)

### kbw-own-ordered-dict-subclass-moves-to-end-as-lru
class LRU(OrderedDict):
    def __init__(self, cap): super().__init__(); self.cap, self.evicted = cap, []
    def __getitem__(self, k):
        v = super().__getitem__(k)
        self.move_to_end(k)
        return v
    def __setitem__(self, k, v):
        super().__setitem__(k, v); self.move_to_end(k)
        while len(self) > self.cap: self.evicted.append(self.popitem(last=False)[0])
lru = LRU(2)
xs = [1, 2, 1, 3]
scale = jnp.float32(0.5)
---
for n in xs:
    if n not in lru:
        lru[n] = jnp.arange(n) * scale
    y = lru[n] + n
order = list(lru)
lru[order[0]] = y.sum()
newest = next(reversed(lru))
snapshot = {k: v for k, v in lru.items()}
print(order, lru.evicted[-2:], newest, len(lru.evicted), type(lru).__name__)
y, snapshot[newest]
---
lru.cap = 3
---
xs = (4, 5, 4)
---
lru.clear(); lru.evicted.clear(); scale = 2
---
lru.cap = 0

### kbw-defaultdict-subclass-with-key-factory
class keydict(defaultdict):
    def __missing__(self, key):
        self.misses = getattr(self, "misses", 0) + 1
        v = self[key] = self.default_factory(key)
        return v
basis = keydict(lambda k: jnp.cos(jnp.arange(4.0) * k))
ks = [0, 1, 1, 2]
---
feats = jnp.stack([basis[k] for k in ks])
local = keydict(lambda k: jnp.full((2,), k), {7: jnp.ones(2)})
s = local[7] + local[3]
missing = basis.misses, getattr(local, "misses", 0)
coef, *_ = jnp.linalg.lstsq(feats.T, jnp.arange(4.0))
same = feats[1] is feats[2], basis[1] is basis[1], sorted(basis) == sorted(set(ks) | set(basis))
print(missing, same, len(local), local.default_factory is not None)
s, feats.sum(1)
---
ks = [0, 3]
---
basis.default_factory = lambda k: jnp.sin(jnp.arange(4) * k + 1)
---
basis.clear(); basis.misses = 0; ks = range(2)
---
basis.clear(); basis.default_factory = None

### kbw-counter-arithmetic-and-array-valued-counts
words = "the cat sat on the mat the end".split()
emb = {w: jnp.full(2, len(w), jnp.float32) for w in set(words)}
stop = {"on"}
---
c = Counter(w for w in words if w not in stop)
c.update({"cat": 2})
tot = Counter()
for w, n in c.items():
    tot[w[0]] += n * emb[w].sum()
both = c & Counter("cat mat zzz".split()), c - Counter(the=1), +c
ranked = c.most_common(2)
p = jnp.array(list(c.values())) / c.total()
ent = -(p * jnp.log2(p)).sum()
doc = sum(n * emb[w] for w, n in c.items()) / c.total()
print(ranked, dict(both[0]), f"{ent:.4f}", sorted(tot, key=lambda k: (-tot[k], k)), list(c.elements())[:3])
doc, tot["t"]
---
words += ["dog"]; emb["dog"] = jnp.ones(2)
---
stop = set(words) - {"cat"}
---
words = ["new"]

### kbw-protocol-abc-strategies-and-isinstance-checks
class Stepper(abc.ABC):
    order = 0
    @abc.abstractmethod
    def step(self, f, y, h): ...
    def __init_subclass__(cls, /, order=0, **kw):
        super().__init_subclass__(**kw); cls.order = order
        Stepper.all = getattr(Stepper, "all", {}) | {cls.__name__: cls}
class Euler(Stepper, order=1):
    def step(self, f, y, h): return y + h * f(y)
class Heun(Stepper, order=2):
    def step(self, f, y, h):
        k = f(y); return y + h / 2 * (k + f(y + h * k))
f = lambda y: -y + 0.1 * y ** 2
y0, h, n = jnp.array([1.0, 0.5]), 0.1, 4
want = ["Euler", "Heun"]
---
sols = {}
for name in want:
    st = Stepper.all[name]()
    sols[name] = reduce(lambda y, _: st.step(f, y, h), range(n), y0)
try:
    Stepper()
except TypeError as e:
    abstract = "abstract" in str(e)
class RK4(Stepper, order=4):
    def step(self, f, y, h):
        k1 = f(y); k2 = f(y + h / 2 * k1); k3 = f(y + h / 2 * k2); k4 = f(y + h * k3)
        return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
ref = reduce(lambda y, _: RK4().step(f, y, h), range(n), y0)
errs = {k: jnp.abs(v - ref).max() for k, v in sols.items()}
print(abstract, {k: f"{v:.1e}" for k, v in errs.items()}, sorted(Stepper.all), [c.order for c in Stepper.__subclasses__()][:2])
ref, st
---
h = 0.05; want.reverse()
---
want = ["RK4"]; y0 = jnp.array(2)
---
want = ["Verlet"]

### kbw-getattr-proxy-of-jnp-that-counts-calls
class Spy:
    def __init__(self, mod, log): object.__setattr__(self, "_mod", mod); object.__setattr__(self, "_log", log)
    def __getattr__(self, name):
        v = getattr(self._mod, name)
        if not callable(v) or isinstance(v, type): return v
        @wraps(v)
        def call(*a, **k):
            self._log[name] += 1
            return v(*a, **k)
        return call
    def __setattr__(self, name, v): raise TypeError(f"{name} is read-only")
log = Counter()
xp = Spy(jnp, log)
x = jnp.linspace(0, 1, 5)
---
y = xp.exp(-x) + xp.sin(x)
z = xp.where(y > y.mean(), y, xp.pi)
with contextlib.suppress(TypeError):
    xp.exp = None
    log["never"] += 1
norm = xp.linalg.norm(z)
w = functools.reduce(xp.maximum, [x, y, z])
fn = xp.exp
print(sorted(log.items()), fn.__name__, fn is xp.exp, f"{norm:.3f}")
w
---
xp = Spy(np, log)
---
log.clear(); x = x[::2]; xp = Spy(Spy(jnp, log), log)
---
xp = Spy(math, log)

### kbw-threads-with-queue-results-and-locks
lock = threading.Lock()
results, order = {}, []
class Sorted(dict):
    def put(self, k, v):
        self[k] = v
        for key in sorted(self): self[key] = self.pop(key)
results = Sorted()
def job(i, x):
    y = jnp.cumsum(x * i)
    with lock:
        results.put(i, y)
xs = [jnp.arange(3.0) + k for k in range(3)]
bad = None
---
errors = []
def guard(i, x):
    try:
        if i == bad: raise RuntimeError(f"worker {i}")
        job(i, x)
    except RuntimeError as e:
        errors.append(str(e))
ts = [threading.Thread(target=guard, args=(i, x), name=f"t{i}") for i, x in enumerate(xs)]
for t in ts: t.start()
for t in ts: t.join()
q = queue.Queue()
for i in sorted(results): q.put((i, results[i][-1]))
total = jnp.zeros(())
while not q.empty():
    i, v = q.get_nowait()
    total = total + v
print(sorted(results), errors, lock.locked(), [t.is_alive() for t in ts])
total
---
bad = 1; results.clear()
---
xs = xs[:1]; bad = None
---
results.clear(); bad = 0

### kbw-executor-map-with-partial-and-ordered-futures
def fit(deg, x, y, ridge=1e-3):
    A = jnp.stack([x ** d for d in range(deg + 1)], 1)
    return jnp.linalg.solve(A.T @ A + ridge * jnp.eye(deg + 1), A.T @ y)
x = jnp.linspace(-1, 1, 9); y = x ** 3 - x + 0.25
degs = [1, 2, 3]
---
with ThreadPoolExecutor(2) as ex:
    coefs = list(ex.map(partial(fit, x=x, y=y), degs))
    futs = {ex.submit(fit, d, x, y, ridge=1.0): d for d in degs}
    strong = {futs[f]: f.result() for f in futs}
rms = [jnp.sqrt(jnp.mean((sum(c[i] * x ** i for i in range(len(c))) - y) ** 2)) for c in coefs]
best = degs[min(range(len(rms)), key=rms.__getitem__)]
shrink = {d: jnp.linalg.norm(strong[d]) / jnp.linalg.norm(c) for d, c in zip(degs, coefs)}
print(best, [f"{r:.3f}" for r in rms], {d: bool(s < 1) for d, s in shrink.items()}, [f.done() for f in futs])
jnp.round(coefs[-1], 2)
---
degs = [3, 0]
---
y = jnp.where(x > 0, 1.0, -1.0)
---
degs = [-2]

### kbw-pickled-model-with-reduce-and-getstate
class Model:
    version = 2
    def __init__(self, w, opt): self.w, self.opt, self.tmp = w, opt, object()
    def __getstate__(self): return {"w": np.asarray(self.w), "opt": self.opt, "v": self.version}
    def __setstate__(self, s):
        if s["v"] != self.version: raise ValueError(f"version {s['v']}")
        self.w, self.opt, self.tmp = jnp.asarray(s["w"]), s["opt"], None
    def __eq__(self, o): return isinstance(o, Model) and bool((self.w == o.w).all()) and self.opt.keys() == o.opt.keys()
    __hash__ = None
m = Model(jnp.arange(3.0), {"lr": 0.1, "m": [jnp.ones(2)]})
path = Path("m.pkl")
---
m.w = m.w * (1 - m.opt["lr"])
blob = pickle.dumps({"m": m, "again": m, "key": jr.PRNGKey(1)})
path.write_bytes(blob)
back = pickle.loads(path.read_bytes())
same = back["m"] is back["again"], back["m"] == m, back["m"].tmp, back["m"] is m
clone = copy.copy(m)
r = back["m"].w + clone.w
kind = type(back["m"].opt["m"][0]).__name__, back["m"].w.dtype
print(same, kind, clone.tmp, f"{r.sum():.3f}")
r, back["key"]
---
m.opt["lr"] = jnp.float32(0.5)
---
m.w = m.w.astype(jnp.bfloat16)
---
m.version = 3

### kbw-json-with-own-encoder-and-object-hook
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, jax.Array): return {"__jax__": o.tolist(), "dtype": o.dtype.name}
        if isinstance(o, (np.ndarray, np.generic)): return {"__np__": o.tolist(), "dtype": str(o.dtype)}
        if isinstance(o, complex): return [o.real, o.imag]
        return super().default(o)
def hook(d):
    if "__jax__" in d: return jnp.array(d["__jax__"], d["dtype"])
    if "__np__" in d: return np.array(d["__np__"], d["dtype"])
    return d
doc = {"w": jnp.array([[0.5, 1.0]]), "i": np.int64(3), "m": np.arange(2), "z": 1 + 2j, "ok": True, "key": None}
scale = 2
---
doc["w"] = doc["w"] * scale
doc["norm"] = jnp.abs(doc["w"]).sum()
text = json.dumps(doc, cls=Enc, sort_keys=True, indent=1)
Path("doc.json").write_text(text)
back = json.loads(text, object_hook=hook)
diff = [k for k in doc if type(doc[k]) is not type(back[k])]
w2 = back["w"] - doc["w"]
lines = text.count("\n")
print(diff, lines, back["i"], back["norm"].dtype, back["w"].weak_type, doc["norm"].weak_type)
w2, back["norm"]
---
scale = jnp.int8(3)
---
doc["w"] = doc["w"].astype(jnp.int32); doc["tail"] = [jnp.zeros(0), {}]
---
doc["bad"] = {1, 2}

### kbw-matplotlib-figures-with-artists-from-arrays
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
x = jnp.linspace(0, 1, 6)
freqs = [1, 2]
title = "waves"
---
fig, axs = plt.subplots(len(freqs), 1, squeeze=False, figsize=(3, 2))
amps = []
for ax, f in zip(axs.flat, freqs):
    y = jnp.sin(2 * jnp.pi * f * x)
    (line,) = ax.plot(x, y, label=f"f={f}")
    ax.axhline(float(y.mean()), ls="--")
    amps.append(jnp.ptp(jnp.asarray(line.get_ydata())))
    ax.legend()
fig.suptitle(title)
lims = [tuple(round(v, 2) for v in ax.get_xlim()) for ax in axs.flat]
texts = [t.get_text() for ax in axs.flat for t in ax.get_legend().get_texts()]
n = len(plt.get_fignums())
plt.close(fig)
del fig, axs, ax, line
print(lims, texts, n, len(plt.get_fignums()))
jnp.stack(amps)
---
freqs = [3]
---
x = np.linspace(0, 2, 9, dtype=np.float32); title = ""
---
freqs = []

### kbw-environment-and-config-flags-read-by-helpers
os.environ["KBW_SCALE"] = "2"
os.environ.pop("KBW_MODE", None)
def scale(): return float(os.environ.get("KBW_SCALE", 1))
def mode(): return os.environ.setdefault("KBW_MODE", "fast")
x = jnp.arange(4.0)
---
y = x * scale()
m = mode()
if m == "fast":
    z = y.sum()
else:
    z = jnp.sort(y)[::-1].cumsum()[-1] - int(os.environ["KBW_SCALE"])
os.environ["KBW_RUNS"] = str(int(os.environ.get("KBW_RUNS", "0")) + 1)
with jax.default_matmul_precision("float32"):
    q = y @ y
prec = jax.config.jax_default_matmul_precision
print(m, os.environ["KBW_RUNS"], prec, f"{q:.1f}")
y, z
---
os.environ["KBW_SCALE"] = "3"; os.environ["KBW_MODE"] = "slow"
---
x = x.astype(jnp.int32); del os.environ["KBW_RUNS"]
---
os.environ["KBW_SCALE"] = "two"
---
del os.environ["KBW_SCALE"], os.environ["KBW_MODE"]

### kbw-exec-and-eval-of-formula-strings
formulas = {"a": "x ** 2 + 1", "b": "a * jnp.sin(x)", "c": "where(b > 0, b, -a)"}
x = jnp.linspace(-1, 1, 5)
safe = {"jnp": jnp, "where": jnp.where, "__builtins__": {}}
---
env = dict(safe, x=x)
codes = {k: compile(v, f"<{k}>", "eval") for k, v in formulas.items()}
for k, c in codes.items():
    env[k] = eval(c, env)
names = {k: c.co_names for k, c in codes.items()}
scope = {}
exec("def grad_of(f, at):\n    import jax\n    return jax.grad(f)(at)\nhalf = 0.5", scope)
g = scope["grad_of"](lambda t: eval(codes["a"], dict(safe, x=t)), scope["half"])
f = eval("lambda t, k=x.sum(): t * k + 1", {"x": x})
out = {k: env[k] for k in formulas}
print(names, sorted(set(env) - set(safe) - {"__builtins__"}), f"{g:.2f}", f(2))
out, g.weak_type
---
formulas["a"] = "abs(x)"
---
safe["abs"] = lambda v: jnp.abs(v) + 0
---
x = 3; formulas["d"] = "c / 2"
---
formulas = {"a": "x +"}

### kbw-global-and-nonlocal-counters-in-closures
count, total = 0, jnp.zeros(())
def make(rate):
    m, k = None, 0
    def update(x):
        nonlocal m, k
        global count, total
        k += 1; count += 1
        m = x if m is None else m + rate * (x - m)
        total += jnp.sum(x)
        return m
    def peek(): return m, k
    update.peek = peek
    return update
up = make(0.5)
stream = [1.0, jnp.float32(3), 5]
---
ms = [up(v) for v in stream]
m, k = up.peek()
other = make(jnp.float32(0.1))
os_ = list(map(other, reversed(stream)))
cells = [c.cell_contents for c in other.__closure__ if isinstance(c.cell_contents, int)]
print(k, count, cells, type(ms[0]).__name__, m is ms[-1])
m, total, os_[-1]
---
stream = [jnp.ones(2), 2]
---
count = -1; up = make(1)
---
total = np.float64(0); stream = ["x"]

### kbw-stateful-decorators-retry-trace-and-timed
trace = []
def traced(tag):
    def deco(f):
        n = itertools.count(1)
        @wraps(f)
        def g(*a, **k):
            i = next(n)
            trace.append(f"{tag}{i}:{f.__name__}")
            return f(*a, **k)
        g.plain = f
        return g
    return deco
def retry(times, on):
    def deco(f):
        @wraps(f)
        def g(x):
            for t in range(times):
                try: return f(x / 2 ** t)
                except on as e: last = e
            raise RuntimeError(f"gave up after {times}") from last
        return g
    return deco
limit = 2.0
@traced("r")
@retry(3, ValueError)
def safe_log1p(x):
    if jnp.max(x) > limit: raise ValueError(f"{jnp.max(x):.1f} > {limit}")
    return jnp.log1p(x)
x = jnp.array([0.5, 6.0])
---
y = safe_log1p(x)
z = safe_log1p.plain(jnp.array([0.1]))
t = time.perf_counter()
w = jnp.expm1(y).sum()
took = time.perf_counter() - t
n = len(trace)
print(trace[-2:], n, took >= 0, safe_log1p.__name__, hasattr(safe_log1p, "__wrapped__"))
del t, took
y, w
---
x = x / 4
---
limit = jnp.float32(5.0)
---
x = jnp.array([100.0])

### kbw-interpolation-table-own-array-like-with-getitem-slices
class Table:
    def __init__(self, x, y): self.x, self.y = jnp.asarray(x), jnp.asarray(y)
    def __call__(self, q): return jnp.interp(q, self.x, self.y)
    def __getitem__(self, s):
        if isinstance(s, slice):
            lo = self.x[0] if s.start is None else s.start
            hi = self.x[-1] if s.stop is None else s.stop
            if s.step is None:
                keep = (self.x >= lo) & (self.x <= hi)
                return Table(self.x[keep], self.y[keep])
            q = jnp.arange(lo, hi, s.step)
            return Table(q, self(q))
        return self(s)
    def __contains__(self, q): return bool(self.x[0] <= q) and bool(q <= self.x[-1])
    def __iter__(self): return iter(zip(self.x.tolist(), self.y.tolist()))
    def __len__(self): return self.x.size
    def __bool__(self): return True
tab = Table([0, 1, 2, 4], [0.0, 10.0, 15.0, 5.0])
lo, hi, step = 0.5, 3, 0.5
---
part = tab[1:2]
fine = tab[lo:hi:step]
at = tab[jnp.array([0.25, 3.0])]
inside = [q in tab for q in (-1, 0, lo, 4.0, 9)]
pairs = dict(part)
slope = jax.vmap(jax.grad(tab))(fine.x)
peak = max(tab, key=lambda p: p[1])
print(len(part), len(fine), inside, pairs, peak)
at, fine.y, slope
---
step = 1
---
tab.y = tab.y.astype(jnp.int32); lo = jnp.float32(1.0)
---
tab = Table([0, 1], [5, 6]); hi = None
---
step = 0

### kbw-units-with-operator-dispatch-and-notimplemented
class U:
    def __init__(self, v, **dims): self.v, self.dims = v, {k: n for k, n in dims.items() if n}
    def _same(self, o):
        if not isinstance(o, U): return NotImplemented
        if o.dims != self.dims: raise TypeError(f"{self.dims} vs {o.dims}")
        return o
    def __add__(self, o): return o if (o := self._same(o)) is NotImplemented else U(self.v + o.v, **self.dims)
    def __mul__(self, o):
        if not isinstance(o, U): return U(self.v * o, **self.dims)
        return U(self.v * o.v, **{k: self.dims.get(k, 0) + o.dims.get(k, 0) for k in self.dims | o.dims})
    def __rmul__(self, o): return self * o
    def __pow__(self, n): return U(self.v ** n, **{k: e * n for k, e in self.dims.items()})
    def __truediv__(self, o): return self * o ** -1
    def __neg__(self): return U(-self.v, **self.dims)
    def __repr__(self): return f"{self.v} " + "·".join(f"{k}{n if n != 1 else ''}" for k, n in sorted(self.dims.items()))
m, s = partial(U, m=1), partial(U, s=1)
d, t = m(jnp.array([3.0, 4.0])), s(2.0)
k = 2
---
v = d / t
a = v / t
e = k * (v ** 2)
back = (a * t * t) + -d
try:
    v + a
except TypeError as err:
    clash = str(err)
try:
    v + 1
except TypeError as err:
    plain = type(err).__name__
r = jax.grad(lambda x: (m(x) ** 2 / s(4.0)).v.sum())(d.v)
print(v, e, back.dims, clash, plain, sep=" | ")
r, a.v
---
k = 0.5; t = s(jnp.float32(4))
---
d = m(jnp.arange(2)); t = s(2)
---
d, t = t, d
---
d = 3

### kbw-sharded-arrays-over-two-axes-and-shard-inspection devices=8
mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("d", "m"))
x = jax.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(mesh, P("d", "m")))
spec = P("d", None)
---
y = x @ x.T
z = jax.device_put(y, NamedSharding(mesh, spec))
rep = jax.device_put(x.sum(0), NamedSharding(mesh, P()))
sh = [(s.index, s.data.shape, s.replica_id) for s in z.addressable_shards][:3]
c = jax.lax.with_sharding_constraint(z + 1, NamedSharding(mesh, P("m", "d")))
flags = rep.is_fully_replicated, z.is_fully_addressable, z.committed, len(z.devices())
one = z.addressable_shards[0].data
layout = {str(s.device.id): s.data.shape for s in c.addressable_shards}
print(sh[0][1:], flags, one.shape, one.devices() == {jax.devices()[0]}, sorted(layout)[:3], z.sharding.spec)
c, rep
---
spec = P(("d", "m"))
---
x = x + 1; spec = P(None, "m")
---
x = jax.device_put(x, jax.devices()[0])
---
spec = P("q")

### kbw-arrays-on-several-devices-mixed-and-moved devices=4
devs = jax.devices()[:4]
xs = [jax.device_put(jnp.arange(3.0) + i, d) for i, d in enumerate(devs)]
target = devs[2]
free = jnp.ones(3)
---
sums = [x.sum() + free[0] for x in xs]
where = [next(iter(s.devices())).id for s in sums]
moved = [jax.device_put(x, target) for x in xs]
tot = jnp.stack(moved).sum(0)
back = jax.device_put(tot, devs[0])
host = jax.device_get({"t": tot, "n": 3, "l": [free]})
same = moved[-1] is xs[-1], tot.committed, free.committed, (free * 2).committed
with jax.default_device(devs[1]):
    made = jnp.zeros(2) + 1
print(where, same, {d.id for d in tot.devices()}, {d.id for d in made.devices()}, type(host["t"]).__name__, type(host["n"]).__name__)
back, made
---
target = devs[0]
---
free = jax.device_put(free, devs[3]); xs = xs[3:]
---
xs = [jax.device_put(np.ones(3), d) for d in devs[:2]]; free = jnp.zeros(3)
---
free = jax.device_put(free, devs[3])

### kbw-mesh-context-shard-map-and-collectives devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("i",))
x = jnp.arange(8.0)
op = "psum"
def local(v):
    s = getattr(lax, op)(v.sum(), "i")
    nxt = lax.ppermute(v, "i", [(j, (j + 1) % 4) for j in range(4)])
    return v / s, nxt, lax.axis_index("i")[None]
---
f = jax.shard_map(local, mesh=mesh, in_specs=P("i"), out_specs=(P("i"), P("i"), P("i")))
a, b, i = f(x)
with mesh:
    c = jax.jit(lambda v: lax.with_sharding_constraint(v * 2, P("i")))(x)
d = jax.jit(f)(c)[0]
print(i, a.sharding.spec, c.sharding.is_equivalent_to(a.sharding, 1), [s.data.tolist() for s in b.addressable_shards][:2])
a, d
---
op = "pmax"
---
x = jax.device_put(jnp.arange(4, dtype=jnp.int32), NamedSharding(mesh, P("i")))
---
x = jnp.arange(6.0)

### kbw-jax-array-api-odds-and-ends
x = jnp.array([[3, 1], [2, 5]])
s = jnp.float32(2.5)
---
a = x.item(2), x.tolist(), x[0].tolist(), s.item(), s.tolist()
b = x.nbytes, x.itemsize, x.ndim, x.size, len(x), x.T.shape, x.mT.shape
c = [type(v).__name__ for v in x], type(x[0, 0]).__name__, isinstance(x, jax.Array), hasattr(x, "at")
d = float(s), int(s), bool(s), complex(s), round(s, 1), divmod(s, 2), abs(-s), math.floor(s)
e = list(range(10))[x[1, 0]], "ab" * x[0, 1], operator.index(x[1, 1])
x.copy_to_host_async(); r = x.block_until_ready() is x
h = x.__array__(), np.asarray(x) is np.asarray(x), memoryview(np.asarray(x)).shape
f = x.astype(float).view(jnp.int32), x.ravel().argsort(), x.at[0].set(9).sum(), x.min(axis=0), x.round(1), x.dot(x), x.flatten()
g = x == 3, x != None, x is not None, (x == x.T).all(), 3 in x[0], x.any()
fmt = f"{s:>8.3f}|{x[0, 0]:03d}|{s!r}|{x[0]!s}|{s:e}"
print(fmt, a, b, c, e, r, h[1:], d[:4], [type(v).__name__ for v in d], g[1:5])
d, f, x.on_device_size_in_bytes() if hasattr(x, "on_device_size_in_bytes") else None
---
s = jnp.float16(7.0)
---
x = x.astype(jnp.int8) * 2 - 1
---
x = x.astype(jnp.float32)

### kbw-debug-print-and-callbacks-in-order
seen = []
def host(v): return np.float32(v * 2)
@jax.jit
def f(x):
    jax.debug.print("x={x} s={s:.2f}", x=x, s=x.sum(), ordered=True)
    y = jax.pure_callback(host, jax.ShapeDtypeStruct((), jnp.float32), x.sum())
    jax.debug.callback(lambda v: seen.append(("cb", v.shape)), x, ordered=True)
    return y
x = jnp.arange(3.0)
n = 2
---
print("before")
for i in range(n):
    y = f(x + i)
jax.effects_barrier()
print("after", len(seen), f"{y:.1f}")
jax.debug.print("plain {}", y)
last = [s for s in seen if isinstance(s, tuple)][-1:]
z = jax.vmap(lambda v: v * y)(x)
jax.effects_barrier()
print(last, "end")
z
---
n = 1
---
x = jnp.ones((2, 2))
---
n = 0; seen.clear()

### kbw-sparse-bcoo-laplacian-and-power-iteration
from jax.experimental import sparse
n = 5
rows = [i for i in range(n) for _ in (0, 1) ][1:-1]
def lap(n):
    D = 2 * jnp.eye(n) - jnp.eye(n, k=1) - jnp.eye(n, k=-1)
    return sparse.BCOO.fromdense(D)
v = jnp.ones(n)
its = 6
---
A = lap(len(v))
for k in range(its):
    w = A @ v
    lam = jnp.vdot(v, w) / jnp.vdot(v, v)
    v = w / jnp.linalg.norm(w)
B = A * 2 + sparse.BCOO.fromdense(jnp.eye(len(v)))
T = A.T.todense()
nse = A.nse, B.nse, A.indices.shape, B.sum_duplicates(nse=B.nse).nse
csr = sparse.BCSR.from_bcoo(A)
r = jnp.linalg.norm(csr @ v - lam * v)
print(type(A).__name__, nse, A.data.dtype, csr.indptr, f"{lam:.3f}")
T[0], jnp.round(r, 3)
---
v = jnp.arange(4.0)
---
its = 1; v = v.astype(jnp.float16)
---
v = jnp.zeros(0)

### kbw-fft-filters-windows-and-scipy-signal-compare
import scipy.signal as ss
fs = 32.0
t = jnp.arange(32) / fs
sig = jnp.sin(2 * jnp.pi * 2 * t) + 0.5 * jnp.sin(2 * jnp.pi * 10 * t)
cut = 5.0
---
F = jnp.fft.rfft(sig)
fr = jnp.fft.rfftfreq(len(sig), 1 / fs)
low = jnp.fft.irfft(jnp.where(fr <= cut, F, 0), n=len(sig))
peaks = fr[jnp.argsort(jnp.abs(F))[::-1][:2]]
b, a = ss.butter(2, cut / (fs / 2))
filt = ss.lfilter(b, a, np.asarray(sig))
fir = jnp.asarray(ss.firwin(5, cut, fs=fs), jnp.float32)
conv = jnp.convolve(sig, fir, "same")
found, props = ss.find_peaks(np.asarray(low), height=0.5)
psd = jnp.abs(F * jnp.hanning(len(F))) ** 2
print(sorted(peaks.tolist()), found, props["peak_heights"].dtype, F.dtype, filt.dtype, f"{b[0]:.4f}")
jnp.round(low[:4], 3), jnp.round(conv[:3], 3), jnp.argmax(psd)
---
cut = 12.0
---
sig = sig[:20].astype(jnp.float16); fs = 16
---
sig = np.asarray(t); cut = 7.5
---
cut = 100

### kbw-cholesky-qr-lu-updates-and-solves
from jax.scipy.linalg import cho_factor, cho_solve, solve_triangular, lu_factor, lu_solve
A = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
b = jnp.array([1.0, 2.0, 3.0])
u = jnp.array([0.5, 0.0, 0.25])
def rank1(L, x):
    for k in range(len(x)):
        r = jnp.hypot(L[k, k], x[k]); c, s = r / L[k, k], x[k] / L[k, k]
        L = L.at[k, k].set(r)
        if k + 1 < len(x):
            col = (L[k + 1:, k] + s * x[k + 1:]) / c
            x = x.at[k + 1:].set(c * x[k + 1:] - s * col)
            L = L.at[k + 1:, k].set(col)
    return L
---
L = jnp.linalg.cholesky(A)
L1 = rank1(L, u)
ok = jnp.allclose(L1 @ L1.T, A + jnp.outer(u, u), atol=1e-4)
x1 = cho_solve((L1, True), b)
(q, r), (lu, piv) = jnp.linalg.qr(A), lu_factor(A)
x2, x3 = solve_triangular(r, q.T @ b), lu_solve((lu, piv), b)
sgn, logdet = jnp.linalg.slogdet(A)
w = jnp.linalg.eigvalsh(A)
cond = w[-1] / w[0]
facts = type(jnp.linalg.qr(A)).__name__, type(jnp.linalg.svd(A)).__name__, piv.dtype, int(jnp.linalg.matrix_rank(A))
if not ok:
    raise np.linalg.LinAlgError("update failed")
print(facts, bool(ok), f"{logdet:.3f} {cond:.2f}", int(sgn))
jnp.round(x1, 3), jnp.round(x2 - x3, 3)
---
u = u * 2; b = jnp.stack([b, -b], 1)
---
A = A[:2, :2]; b, u = b[:2], u[:2]
---
A = -A

### kbw-lazy-iterators-bound-and-consumed-over-runs
x = jnp.arange(6.0)
rows = [x[i:i + 2] for i in range(0, 6, 2)]
take = 1
pend = iter(())
---
left = list(itertools.islice(pend, 5))
m = map(lambda r: r * 2, rows)
z = zip(rows, itertools.count(10))
e = enumerate(rows, 1)
g = (r.sum() for r in rows if r.sum() > take)
first, pair, num = next(m), next(z), next(e)
a, b = itertools.tee(m)
head = next(a)
pend = itertools.chain(b, g)
rev = reversed(rows)
tail = next(rev)
print(len(left), num[0], pair[1], tail is rows[-1], rev.__length_hint__(), f"{head}")
first, head
---
take = 100
---
rows = rows[:2]
---
rows = rows[:1]

### kbw-simple-namespace-and-partial-subclasses-with-state
class NS(types.SimpleNamespace):
    def __or__(self, o): return NS(**{**vars(self), **vars(o)})
    def __len__(self): return len(vars(self))
class Op(partial):
    calls = 0
    def __call__(self, *a, **k):
        type(self).calls += 1
        self.last = super().__call__(*a, **k)
        return self.last
cfg = NS(lr=0.1, w=jnp.ones(2))
relu = Op(jnp.maximum, 0.0)
x = jnp.array([-1.0, 2.0])
---
more = cfg | NS(w=cfg.w * 2, tag="b")
y = relu(x) * more.w
scaled = Op(jnp.multiply, cfg.lr)
z = scaled(y)
both = [f.last for f in (relu, scaled)]
same = both[1] is z, relu.args, scaled.func is jnp.multiply, more == NS(lr=0.1, w=more.w, tag="b")
fresh = Op(relu.func, *relu.args, 5)
cfg.w = more.w - z
print(same, len(more), Op.calls, sorted(vars(more)), hasattr(fresh, "last"))
z, cfg.w
---
cfg.extra = 1; Op.calls = 0
---
cfg.lr = jnp.int32(2)
---
cfg = NS(lr=1)

### kbw-float-and-str-and-int-subclasses-with-tags
class Meters(float):
    def __new__(cls, v, note=""):
        o = super().__new__(cls, v); o.note = note; return o
    def __add__(self, o): return Meters(float(self) + float(o), self.note + "+")
class Label(str):
    def __new__(cls, s, rank=0):
        o = super().__new__(cls, s); o.rank = rank; return o
class Idx(int):
    def __index__(self): return int(self) % 4
h = Meters(2.5, "h")
lab = Label("temp", 3)
i = Idx(6)
x = jnp.arange(4.0)
---
y = x * h
z = x[i] + h
h2 = h + float(y.sum())
t = {lab: y}
up = Label(lab.upper(), lab.rank + x.size)
n = x.at[i].add(1)
kinds = type(h * 2).__name__, type(h2).__name__, h2.note, next(iter(t)) is lab, up.rank, y.weak_type, z.dtype
h3 = Meters(x.max(), note="max")
print(kinds, f"{h2:.1f}", up, h3 == 3, h3.note, f"{lab:>6}|")
y, n
---
h = Meters(1, "one")
---
i = Idx(-1); x = x.astype(jnp.int32)
---
lab = Label(3, jnp.float32(0.5))
---
h = Meters(10 ** 400) if False else "m"

### kbw-errors-as-values-with-causes-and-payload-arrays
class FitError(Exception):
    code = 7
    def __init__(self, msg, **data): super().__init__(msg); self.data = data
x = jnp.array([1.0, -1.0, 4.0])
def check(v):
    if (v < 0).any(): raise FitError("negative", v=v, n=int((v < 0).sum()))
    return jnp.sqrt(v)
def outer(v):
    try: return check(v)
    except FitError as e: raise LookupError("outer", v * 2) from e
shift = 0
---
try:
    y = outer(x + shift)
    err = None
except LookupError as e:
    y, err = e.args[1], e
    e.seen = True
finally:
    done = True
cause = err.__cause__ if err else None
data = cause.data["v"] if cause is not None else None
ctx = err is not None and err.__context__ is cause, getattr(err, "seen", None), isinstance(cause, FitError) and cause.code
if err is not None:
    err = err.with_traceback(None); cause.__traceback__ = None
print(type(err).__name__, ctx, str(cause), done)
y, data
---
shift = 2
---
x = jnp.array([-1, 4]); shift = 0
---
FitError.code = 8; x = jnp.array([-2.0])
---
shift = "a"

### kbw-vjp-and-linearize-functions-kept-for-later
def f(w, x): return jnp.tanh(x @ w)
w = jnp.array([[0.5], [1.0]]); x = jnp.array([[1.0, 2.0], [0.0, 1.0]])
ct = 1.0
keep = []
---
y, pull = jax.vjp(f, w, x)
y2, push = jax.linearize(lambda v: f(v, x), w)
gw, gx = pull(jnp.full_like(y, ct))
t = push(jnp.ones_like(w))
hv = jax.jvp(jax.grad(lambda v: f(v, x).sum()), (w,), (jnp.ones_like(w),))[1]
keep.append(pull)
old = keep[0](jnp.ones_like(y))[0]
J = jax.jacrev(f)(w, x).shape, jax.hessian(lambda v: f(v, x).sum())(w).shape
same = jnp.array_equal(y, y2)
print(J, bool(same), len(keep), callable(push), jnp.allclose(old, gw / ct))
gw, gx, t, hv
---
w = w * 0.5
---
ct = jnp.float32(2.0); keep.clear()
---
x = jnp.ones((1, 2))
---
ct = jnp.int32(1); keep = [lambda v: (gw,)]

### kbw-custom-vjp-and-nondiff-args-class-methods
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def clipgrad(x, lim): return x
clipgrad.defvjp(lambda x, lim: (x, x.shape), lambda lim, res, g: (jnp.clip(g, -lim, lim),))
@jax.custom_jvp
def safe_sqrt(x): return jnp.sqrt(jnp.maximum(x, 0))
@safe_sqrt.defjvp
def _(p, t): return safe_sqrt(p[0]), t[0] / (2 * jnp.maximum(safe_sqrt(p[0]), 0.5))
lim = 0.5
x = jnp.array([0.0, 0.25, 4.0])
---
loss = lambda v: (clipgrad(v, lim) ** 3).sum() + safe_sqrt(v).sum()
val, g = jax.value_and_grad(loss)(x)
rem = jax.grad(jax.checkpoint(loss))(x)
per = jax.vmap(jax.grad(safe_sqrt))(x)
text = str(jax.make_jaxpr(lambda v: v * lim)(1.0))
shape = jax.eval_shape(loss, jax.ShapeDtypeStruct((3,), jnp.float16))
(aux_v, aux), ga = jax.value_and_grad(lambda v: (v.sum(), {"m": v.max(), "n": v.size}), has_aux=True)(x)
print(text.splitlines()[0][:30], shape, aux["n"], type(shape).__name__, f"{val:.3f}")
g, rem, per, aux["m"]
---
lim = 2
---
x = x[:1]; lim = 1e9
---
x = jnp.arange(3)

### kbw-lax-control-flow-with-python-closures-and-operand-pytrees
ops = [lambda v: v + 1, lambda v: v * 2, jnp.negative]
prog = [0, 1, 1, 2]
x = jnp.array([1.0, 2.0])
lim = 50
---
y = x
for p in prog:
    y = lax.switch(p, ops, y)
fin, ys = lax.scan(lambda c, p: (lax.switch(p, ops, c), c), x, jnp.array(prog, jnp.int32))
n, big = lax.while_loop(lambda s: s[1].max() < lim, lambda s: (s[0] + 1, s[1] * 2), (0, x))
tot = lax.fori_loop(0, len(prog), lambda i, s: s + i * x, jnp.zeros_like(x))
br = lax.cond(x.sum() > 2, lambda d: d["a"], lambda d: d["b"], {"a": x, "b": -x})
acc = lax.associative_scan(jnp.add, jnp.stack([x, y, fin]))
mapped = lax.map(lambda v: v.sum(), ys)
red = lax.reduce(x, jnp.float32(0), lax.add, (0,))
same = jnp.array_equal(y, fin)
print(bool(same), n, n.dtype, n.weak_type, acc.shape, f"{red}")
y, big, tot, br, mapped
---
prog = [2]; lim = 3
---
ops = ops + [jnp.abs]; prog = [2, 3, 9]
---
x = x.astype(jnp.float16)

### kbw-numpy-structured-memmap-and-views-between
dt = np.dtype([("id", "u1"), ("pos", "f4", (2,)), ("ok", "?")])
rec = np.zeros(3, dt); rec["id"] = [1, 2, 3]; rec["pos"] = np.arange(6).reshape(3, 2)
mm = np.memmap("pts.dat", np.float32, "w+", shape=(3, 2)); mm[:] = 1
shift = jnp.array([0.5, -0.5])
---
pos = jnp.asarray(rec["pos"]) + shift
rec["ok"] = np.asarray(pos[:, 1] > 1)
rec["pos"][rec["ok"]] = 0
mm[:] = np.asarray(pos) + mm
mm.flush()
r = rec[1]
r["id"] = 40
view = rec["pos"].view(np.int32)
disk = jnp.asarray(np.fromfile("pts.dat", np.float32)).reshape(-1, 2)
sub = rec[rec["ok"]]
z = np.ascontiguousarray(rec["pos"]).view(np.complex64)[:, 0]
print(rec.tolist(), sub.shape, type(r).__name__, view.dtype, z.dtype, rec.dtype.names)
disk, jnp.abs(jnp.asarray(z))
---
shift = shift * 4
---
rec["pos"] = 1; mm[0] = jnp.array([9, 8])
---
rec = rec[["id", "pos"]].copy()

### kbw-numpy-ufuncs-vectorize-nditer-and-out-arguments
a = np.linspace(0, 1, 4)
buf = np.empty(4)
j = jnp.asarray(a)
k = 3
---
np.multiply(a, k, out=buf)
np.add(buf, j, out=buf)
acc = np.add.accumulate(j)
red = np.maximum.reduce([j, buf])
outer = np.multiply.outer(np.arange(2), j)
vec = np.vectorize(lambda v: v if v > 0.5 else -v, otypes=[float])(j)
s = np.float32(2) * j, j * np.float64(2), np.sum(j), np.mean(j, dtype=np.float64), np.dot(a, j)
it = [float(v) for v in np.nditer(a)]
cl = np.clip(j, 0.2, 0.8)
np.copyto(buf, j, where=a > 0.5)
w = np.where(j > 0.5, j, 0), np.concatenate([a, j]), np.stack([j, j]).sum()
print([type(v).__name__ for v in (*s, acc, red, vec, cl, *w)], buf.round(3), len(it))
jnp.asarray(red), s[0], cl
---
k = np.int8(100)
---
a = a[::-1]; buf = np.empty(4, np.float32)
---
buf = np.empty(3)

### kbw-numpy-masked-matrix-poly-and-jnp-poly
xs = np.arange(5.0)
ys = np.array([1.0, np.nan, 5.0, 10.0, 17.0])
deg = 2
---
ma = np.ma.masked_invalid(ys)
fill = jnp.asarray(ma.filled(ma.mean()))
good = ~np.isnan(ys)
p = np.poly1d(np.polyfit(xs[good], ys[good], deg))
q = jnp.polyfit(jnp.asarray(xs[good]), jnp.asarray(ys[good]), deg)
d = jnp.polyder(q)
r = jnp.polyval(q, jnp.asarray(xs)) - jnp.asarray(p(xs))
M = np.asmatrix([[1, 2], [3, 4]])
mm = jnp.asarray(M * M)
roots = np.sort_complex(p.r)
print(ma.count(), p.order, np.round(p.c, 2).tolist(), M.A1.tolist(), bool((jnp.abs(r) < 1e-2).all()), roots.dtype)
fill, mm, jnp.round(d, 2)
---
ys[2] = np.nan
---
deg = 1; ys = ys[:4]; xs = xs[:4]
---
ys[:] = np.nan

### kbw-wave-equation-with-ghost-cells-and-record-array
nx, c, dx = 12, 1.0, 0.1
dt = 0.05
u0 = jnp.exp(-((jnp.arange(nx) - 5.5) ** 2) / 4)
probes = {"left": 2, "right": -3}
steps = 5
bc = "fixed"
---
u_prev, u = u0, u0
log = {k: [] for k in probes}
r2 = (c * dt / dx) ** 2
if r2 > 1:
    raise ValueError(f"unstable: r²={float(np.max(r2)):.2f}")
for n in range(steps):
    match bc:
        case "fixed": g = jnp.pad(u, 1)
        case "free": g = jnp.pad(u, 1, mode="edge")
        case ("mixed", side): g = jnp.pad(u, (1, 0) if side == "l" else (0, 1)); g = jnp.pad(g, (0, 1) if side == "l" else (1, 0), mode="edge")
        case _: raise NotImplementedError(bc)
    u, u_prev = 2 * u - u_prev + r2 * (g[2:] - 2 * u + g[:-2]), u
    for k, i in probes.items():
        log[k].append(u[i])
rec = {k: jnp.stack(v) for k, v in log.items()}
sym = jnp.allclose(u, u[::-1], atol=1e-4)
e = 0.5 * (((u - u_prev) / dt) ** 2).sum() + 0.5 * (c * jnp.diff(u) / dx) @ (c * jnp.diff(u) / dx)
print(bool(sym), f"{e:.3f}", {k: f"{v[-1]:.4f}" for k, v in rec.items()})
u, rec["left"]
---
bc = ("mixed", "l")
---
bc = "free"; probes["mid"] = nx // 2; steps = 2
---
c = jnp.float32(3.0)

### kbw-own-tree-with-recursion-and-visitor-dispatch
class Node:
    __slots__ = ("val", "kids", "__weakref__")
    def __init__(self, val, *kids): self.val, self.kids = val, list(kids)
    def walk(self, depth=0):
        yield depth, self
        for k in self.kids: yield from k.walk(depth + 1)
    def fold(self, f): return f(self.val, [k.fold(f) for k in self.kids])
    def __repr__(self): return f"N({len(self.kids)})"
root = Node(jnp.array(1.0), Node(jnp.array([2.0, 3.0]), Node(4)), Node(np.float32(5)))
op = "sum"
---
folders = {"sum": lambda v, ks: jnp.sum(jnp.asarray(v)) + sum(ks), "max": lambda v, ks: max([jnp.max(jnp.asarray(v)), *ks])}
res = root.fold(folders[op])
deepest = max(root.walk(), key=lambda t: t[0])
for d, n in root.walk():
    if not n.kids:
        n.val = n.val * 0.5
leaf = deepest[1]
leaf.kids.append(Node(res)) if deepest[0] < 4 else leaf.kids.clear()
ref = weakref.ref(leaf)
sizes = Counter(d for d, _ in root.walk())
print(sizes, ref() is leaf, root, type(res).__name__, f"{res:.2f}", sum(1 for _ in root.walk()))
res, leaf.val
---
op = "max"
---
root.kids[0].kids.clear()
---
root.kids.append("leaf")

### kbw-own-pytree-with-aux-and-tree-map-with-path
import jax.flatten_util
@jax.tree_util.register_pytree_with_keys_class
class Box:
    def __init__(self, w, b=None, name="box"): self.w, self.b, self.name = w, b, name
    def tree_flatten_with_keys(self): return ((jax.tree_util.GetAttrKey("w"), self.w), (jax.tree_util.GetAttrKey("b"), self.b)), (self.name,)
    @classmethod
    def tree_unflatten(cls, aux, kids):
        o = object.__new__(cls); o.w, o.b = kids; (o.name,) = aux; return o
    def __repr__(self): return f"Box({self.name})"
model = {"enc": Box(jnp.ones((2, 2)), jnp.zeros(2), "enc"), "dec": [Box(jnp.eye(2), None, "dec"), 0.5]}
decay = 0.1
---
paths = [jax.tree_util.keystr(p, simple=True, separator="/") for p, _ in jax.tree_util.tree_leaves_with_path(model)]
sq = jax.tree.reduce(operator.add, jax.tree.map(lambda a: jnp.sum(jnp.asarray(a) ** 2), model))
new = jax.tree_util.tree_map_with_path(lambda p, a: a * (1 - decay) if "w" in str(p[-1]) else a, model)
grads = jax.grad(lambda m: (m["enc"].w @ m["dec"][0].w * m["dec"][1]).sum())(model)
leaves, td = jax.tree.flatten(new)
rebuilt = jax.tree.unflatten(td, [l + 1 for l in leaves])
flat, unravel = jax.flatten_util.ravel_pytree(new)
again = unravel(flat * 2)
print(paths, td.num_leaves, rebuilt, new["enc"].b is model["enc"].b, new["dec"][1] is model["dec"][1], f"{sq:.2f}")
flat, grads["dec"][1], again["enc"].w
---
decay = jnp.float16(0.5)
---
model["dec"].append(Box(1.5, 2.0, "tail"))
---
model["enc"].name = "encoder"; model["enc"].b = None
---
model["dec"][0] = Box(jnp.eye(3), None, "dec")

### kbw-static-jit-args-and-trace-counters
traces = Counter()
@partial(jax.jit, static_argnames=("n", "mode"))
def poly(x, n, mode="sum"):
    traces[(n, mode, x.shape)] += 1
    terms = [x ** i / math.factorial(i) for i in range(n)]
    return sum(terms) if mode == "sum" else jnp.stack(terms)
@jax.jit
def nested(x): return poly(x, 2) + poly(x * 2, n=2, mode="sum")
x = jnp.linspace(0, 1, 3)
ns = [2, 3]
---
ys = [poly(x, n) for n in ns]
st = poly(x, n=ns[0], mode="stack")
z = nested(x)
low = poly.lower(x, 2).as_text()[:6] if hasattr(poly, "lower") else ""
err = ys[-1] - jnp.exp(x)
same = jnp.array_equal(ys[0], st.sum(0))
wrapped = poly.__wrapped__(x, 1)
tot = sum(traces.values())
print(low, bool(same), poly.__name__, st.shape, f"{jnp.abs(err).max():.3f}")
err, z, wrapped
---
ns = [3, 4]
---
x = x.astype(jnp.bfloat16)
---
ns = [[2]]

### kbw-hillclimb-with-python-rng-and-best-so-far-records
random.seed(11)
def score(v): return -float(jnp.sum((v - jnp.array([0.3, 0.7])) ** 2))
class Best(NamedTuple):
    score: float = -math.inf
    v: Any = None
    at: int = -1
best, tries = Best(), 6
v = jnp.array([0.5, 0.5])
hist = []
---
for t in range(tries):
    cand = v + jnp.array([random.uniform(-0.2, 0.2) for _ in v])
    if (s := score(cand)) > best.score:
        best, v = best._replace(score=s, v=cand, at=t), cand
        hist.append(best)
        continue
    if random.random() < 0.1:
        v = cand
ups = [b.score - a.score for a, b in itertools.pairwise(hist)]
mono = all(u > 0 for u in ups)
print(mono, best.at, len(hist), f"{best.score:.4f}", best.v is v, random.getstate()[0])
best.v
---
random.seed(3); tries = 3
---
score = lambda v: jnp.round(-jnp.abs(v - 0.1).sum(), 3)
---
v = jnp.array([[0.1]]); best = Best(); hist.clear()
---
tries = 2.5

### kbw-tables-printed-with-textwrap-and-format-maps
res = {"adam": jnp.array([0.91, 0.93, 0.90]), "sgd": jnp.array([0.80, 0.85, 0.88])}
tmpl = string.Template("$name: $mean ± $std")
width = 30
digits = 3
---
rows = []
for name, v in sorted(res.items(), key=lambda kv: -kv[1].mean()):
    rows.append({"name": name, "mean": v.mean(), "std": v.std(ddof=1), "best": v.max(), "n": v.size})
lines = ["{name:<8}{mean:>8.{d}f}{std:>8.{d}f}{n:>4d}".format(d=digits, **r) for r in rows]
head = "".join(h.rjust(w) for h, w in zip(("name", "mean", "std", "n"), (8, 8, 8, 4)))
body = "\n".join([head, "-" * len(head), *lines])
note = tmpl.substitute(rows[0], mean=f"{rows[0]['mean']:.1%}", std=format(float(rows[0]["std"]), ".2g"))
para = textwrap.fill(f"The winner {rows[0]['name']!r} beats {rows[-1]['name']} by {rows[0]['mean'] - rows[-1]['mean']:+.2%} points.", width)
pct = "%s %5.2f %d%%" % (rows[0]["name"], rows[0]["mean"], round(float(rows[0]["best"]) * 100))
padded = f"{rows[0]['mean']:{digits + 6}.{digits}f}|{str(rows[0]['std'].dtype):^9}|"
print(body, note, para, pct, padded, sep="\n")
rows[0]["mean"] - rows[-1]["mean"]
---
digits = 1; width = 60
---
res["rms"] = jnp.array([1, 0])
---
del tmpl; res = {"one": jnp.ones(1)}

### kbw-shelf-of-experiments-in-folders-with-manifest
root = Path("exp"); root.mkdir(exist_ok=True)
runs = [dict(seed=s, lr=lr) for s in (0, 1) for lr in (0.1, 0.2)]
def simulate(seed, lr):
    w = jr.normal(jr.key(seed), (3,))
    for _ in range(3): w = w - lr * jnp.sign(w)
    return w
clean = False
---
if clean and root.exists():
    shutil.rmtree(root)
made, skipped = [], []
for r in runs:
    d = root / f"s{r['seed']}_lr{r['lr']:g}"
    if (d / "done").exists():
        skipped.append(d.name); continue
    d.mkdir(parents=True)
    w = simulate(**r)
    np.save(d / "w.npy", w)
    (d / "meta.json").write_text(json.dumps({**r, "norm": round(float(jnp.linalg.norm(w)), 4)}))
    (d / "done").touch()
    made.append(d.name)
metas = [json.loads(p.read_text()) for p in sorted(root.glob("*/meta.json"))]
ws = jnp.stack([jnp.load(p.with_name("w.npy")) for p in sorted(root.glob("*/meta.json"))])
(root / "manifest.csv").write_text("\n".join(f"{m['seed']},{m['lr']},{m['norm']}" for m in metas))
size = {p.suffix for p in root.rglob("*") if p.is_file()}
best = min(metas, key=lambda m: m["norm"])
print(made, skipped, sorted(size), best["lr"], len(metas))
ws.mean(0)
---
shutil.rmtree(root / "s0_lr0.1")
---
clean = True; runs = runs[:1]
---
clean = False; runs.append(dict(seed=5));

### kbw-text-encoding-one-hot-ngrams-and-bytes
text = "héllo wörld, hello jax"
alpha = sorted(set(text))
n = 2
---
ids = jnp.array([alpha.index(ch) for ch in text], jnp.int32)
hot = jax.nn.one_hot(ids, len(alpha), dtype=jnp.int8)
big = jnp.zeros((len(alpha),) * n, jnp.int32)
for gram in zip(*(ids[k:] for k in range(n))):
    big = big.at[gram].add(1)
raw = np.frombuffer(text.encode(), np.uint8)
chk = jnp.asarray(raw).sum(dtype=jnp.uint8), int.from_bytes(raw[:4].tobytes(), "little"), jnp.asarray(raw).max()
back = "".join(alpha[i] for i in hot.argmax(1))
i, j = (int(v) for v in jnp.unravel_index(big.reshape(-1).argmax(), big.shape)[:2])
ent = jax.scipy.special.entr(hot.mean(0, dtype=jnp.float32)).sum()
caesar = bytes((b + 1) % 256 for b in raw.tolist())[:5]
print(back == text, alpha[i] + alpha[j], chk[0], chk[1], f"{ent:.3f}", caesar, hot.dtype)
big.sum(0), chk[2]
---
n = 3
---
text = "aaab" * 3; alpha = sorted(set(text)); n = 2
---
alpha = alpha[1:]

### kbw-big-ints-fractions-decimals-meet-arrays
x = jnp.arange(1, 5)
big = 2 ** 40
frac = Fraction(3, 7)
dec = Decimal("1.10")
---
hi, lo = divmod(big, 2 ** 31)
h = x * (hi % 1000) + lo
f = x * float(frac)
c = [Fraction(int(v), 6) for v in x]
s = sum(c)
d = [dec ** int(v) for v in x]
mant, ex = jnp.frexp(x.astype(jnp.float32))
bits = [int(v).bit_length() for v in x], (x << 2 | 1) & 0b111, x ^ -1
pw = [pow(3, int(v), 7) for v in x], math.comb(int(x.max()) + 2, 2), math.gcd(*(int(v) * 6 for v in x))
try:
    y = x * big
except OverflowError as e:
    y = str(e)[:15]
z = 1j * x, x // 2 ** 1, x % -3, -x // 3, round(float(f[0]), 3), x ** 2 ** 1
print(s, d, bits[0], pw, y if isinstance(y, str) else y.dtype, z[0].dtype, z[4], s.limit_denominator(1))
h, f, ex, z[2], z[3]
---
big = 10
---
x = x.astype(jnp.uint8) * 60
---
frac = None

### kbw-image-transforms-crop-flip-resize-and-palette
from PIL import Image
img = np.zeros((6, 8, 3), np.uint8); img[..., 0] = np.arange(8) * 30; img[2:4, :, 1] = 200
aug = ["flip", "crop", "gray"]
size = (3, 4)
---
Image.fromarray(img).save("in.png")
a = jnp.asarray(Image.open("in.png"), jnp.float32) / 255
for name in aug:
    match name.split(":"):
        case ["flip"]: a = a[:, ::-1]
        case ["crop"]: a = lax.dynamic_slice(a, (1, 1, 0), (4, 6, a.shape[-1]))
        case ["gray"]: a = (a @ jnp.array([0.3, 0.6, 0.1]))[..., None]
        case ["rot", k]: a = jnp.rot90(a, int(k))
        case _: raise KeyError(name)
small = jax.image.resize(a, (*size, a.shape[-1]), "nearest")
q = jnp.round(small * 255).astype(jnp.uint8)
Image.fromarray(np.asarray(q.squeeze())).save("out.png")
with Image.open("out.png") as im:
    mode, sz = im.mode, im.size
pal = [tuple(p) for p in jnp.unique(q.reshape(-1, q.shape[-1]), axis=0).tolist()]
del im
print(mode, sz, pal[:3], len(pal), a.shape)
q[0]
---
aug = ["rot:1", "rot:2"]
---
size = (2, 2); img = 255 - img
---
aug.append("blur")

### kbw-geo-haversine-matrix-and-nearest-city-queries
cities = {"Oslo": (59.91, 10.75), "Rome": (41.9, 12.5), "Lima": (-12.05, -77.04), "Apia": (-13.83, -171.77)}
R = 6371.0
def hav(a, b):
    (la1, lo1), (la2, lo2) = jnp.radians(a), jnp.radians(b)
    h = jnp.sin((la2 - la1) / 2) ** 2 + jnp.cos(la1) * jnp.cos(la2) * jnp.sin((lo2 - lo1) / 2) ** 2
    return 2 * R * jnp.arcsin(jnp.sqrt(h))
query = (48.85, 2.35)
---
names, pts = zip(*cities.items())
P_ = jnp.array(pts)
D = jax.vmap(lambda a: jax.vmap(lambda b: hav(a, b))(P_))(P_)
D = D.at[jnp.diag_indices(len(names))].set(jnp.inf)
near = {n: names[int(i)] for n, i in zip(names, D.argmin(1))}
d = jax.vmap(partial(hav, jnp.array(query)))(P_)
closest, *rest = sorted(zip(d.tolist(), names))
tour, left = [names[0]], set(names[1:])
while left:
    i = names.index(tour[-1])
    nxt = min(left, key=lambda n: D[i, names.index(n)])
    tour.append(nxt); left.remove(nxt)
length = sum(D[names.index(a), names.index(b)] for a, b in itertools.pairwise(tour))
print(near, closest[1], f"{closest[0]:.0f} km", "→".join(tour), f"{length:.0f}", len(rest))
jnp.round(d / 100)
---
cities["Bern"] = (46.95, 7.44)
---
R = 3958.8; del cities["Lima"]
---
cities = {k: v for k, v in cities.items() if k == "Nowhere"}

### kbw-state-machine-enum-with-array-payload-and-transitions
class St(enum.Enum):
    IDLE = enum.auto(); WARM = enum.auto(); RUN = enum.auto(); FAIL = enum.auto()
    def __call__(self, m): return m._go(self)
class Machine:
    table = {(St.IDLE, "start"): St.WARM, (St.WARM, "tick"): St.RUN, (St.RUN, "tick"): St.RUN, (St.RUN, "stop"): St.IDLE}
    def __init__(self): self.state, self.x, self.log = St.IDLE, jnp.zeros(2), []
    def _go(self, s): self.log.append((self.state.name, s.name)); self.state = s; return self
    def send(self, ev, v=0.0):
        nxt = self.table.get((self.state, ev))
        if nxt is None: St.FAIL(self); raise RuntimeError(f"{ev} in {self.log[-1][0]}")
        self.x = self.x * 0.5 + v
        return nxt(self)
m = Machine()
events = [("start", 1.0), ("tick", 2.0), ("tick", jnp.array([1.0, -1.0])), ("stop", 0)]
---
for ev, v in events:
    m.send(ev, v)
last = m.log[-len(events):]
names = [f"{a}>{b}" for a, b in last]
norm = jnp.linalg.norm(m.x)
level = next((s for s in St if s.value > norm), St.FAIL)
by = {s: sum(b == s.name for _, b in m.log) for s in St}
print(names, m.state, level.name, {s.name: n for s, n in by.items() if n}, m.state is St["IDLE"])
m.x
---
events.insert(2, ("tick", jnp.float32(0.25)))
---
m.x = jnp.zeros((2, 2)); Machine.table = {**Machine.table, (St.IDLE, "stop"): St.IDLE}; events = [("stop", 1)]
---
events = [("start", 1), ("start", 1)]

### kbw-kalman-filter-with-missing-obs-and-named-results
class KF(NamedTuple):
    x: Any; P: Any
    def predict(self, F, Q): return KF(F @ self.x, F @ self.P @ F.T + Q)
    def update(self, z, H, R):
        S = H @ self.P @ H.T + R
        K = jnp.linalg.solve(S, H @ self.P).T
        return KF(self.x + K @ (z - H @ self.x), (jnp.eye(len(self.x)) - K @ H) @ self.P), S
F, H = jnp.array([[1.0, 1.0], [0.0, 1.0]]), jnp.array([[1.0, 0.0]])
Q, R = 0.01 * jnp.eye(2), jnp.array([[0.5]])
zs = [1.0, 2.1, None, 3.9, math.nan, 6.2]
kf0 = KF(jnp.zeros(2), jnp.eye(2) * 10)
---
kf, ests, miss = kf0, [], 0
for z in zs:
    kf = kf.predict(F, Q)
    if z is None or z != z:
        miss += 1
    else:
        kf, S = kf.update(jnp.array([z]), H, R)
    ests.append(kf)
xs, Ps = (jnp.stack(c) for c in zip(*ests))
sd = jnp.sqrt(Ps[:, 0, 0])
gap = int(jnp.argmax(sd[1:])) + 1
worst = max(ests, key=lambda k: float(jnp.trace(k.P)))
fore = [kf := kf.predict(F, Q) for _ in range(2)][-1]
print(miss, gap, worst is ests[0], f"{kf.x[0]:.2f}±{jnp.sqrt(kf.P[0, 0]):.2f}", kf is fore)
jnp.round(xs[-1], 2), S
---
zs = zs[:2] + [jnp.float32(2.5)]
---
R = R * 4; kf0 = kf0._replace(x=jnp.array([5.0, 0.0]))
---
zs = [None]; del S

### kbw-hmm-viterbi-with-dict-tables-and-backpointers
states = ["rain", "sun"]
obs = ["walk", "shop", "clean", "walk"]
emit = {"rain": {"walk": 0.1, "shop": 0.4, "clean": 0.5}, "sun": {"walk": 0.6, "shop": 0.3, "clean": 0.1}}
A = jnp.log(jnp.array([[0.7, 0.3], [0.4, 0.6]]))
pi = jnp.log(jnp.array([0.6, 0.4]))
---
E = jnp.log(jnp.array([[emit[s][o] for s in states] for o in obs]))
d, back = pi + E[0], []
for e in E[1:]:
    cand = d[:, None] + A
    back.append(cand.argmax(0))
    d = cand.max(0) + e
path = [int(d.argmax())]
for b in reversed(back):
    path.append(int(b[path[-1]]))
named = [states[p] for p in reversed(path)]
runs = [(k, len(list(g))) for k, g in itertools.groupby(named)]
alpha = reduce(lambda a, e: jax.nn.logsumexp(a[:, None] + A, axis=0) + e, E[1:], pi + E[0])
ll = jax.nn.logsumexp(alpha)
print(runs, f"{d.max():.3f} {ll:.3f}", back[0].dtype if back else None)
jnp.exp(alpha - ll), d
---
obs = obs + ["clean", "clean"]
---
pi = jnp.array([0.0, -jnp.inf]); obs = ["walk"]
---
obs.append("swim")

### kbw-mutable-defaults-and-class-attributes-shared
class Acc:
    total = jnp.zeros(2)
    names = []
    def __init__(self, name, hist=[]):
        self.name, self.hist = name, hist
        self.names.append(name)
    def add(self, v):
        Acc.total = Acc.total + v
        self.hist.append(v)
        return self
def collect(v, into={}):
    into.setdefault("n", 0); into["n"] += 1
    into["last"] = v
    return into
a = Acc("a")
v = jnp.array([1.0, 2.0])
---
b = Acc("b")
a.add(v).add(v * 2)
b.add(jnp.ones(2))
c = collect(Acc.total)
d = collect(v.sum())
shared = a.hist is b.hist, c is d, collect.__defaults__[0] is c, Acc.__init__.__defaults__[0] is a.hist
a.total = Acc.total * 10
own = "total" in vars(a), "total" in vars(b), b.total is Acc.total
print(shared, own, Acc.names, len(a.hist), c["n"])
b.total, a.total, c["last"]
---
Acc.names = Acc.names[:1]; a.hist.clear()
---
a.hist = []; collect.__defaults__ = ({"n": 100},)
---
del Acc.total

### kbw-module-written-by-cell-imported-and-used
src = {"ops": "import jax.numpy as jnp\nK = {k}\ndef act(x): return jnp.maximum(x, 0) * K\n", "net": "from ops import act, K\nimport ops\nlayers = []\ndef fwd(x):\n    layers.append(x.shape)\n    return act(x) + ops.K\n"}
k = 2
x = jnp.array([-1.0, 3.0])
pkg = Path("pkg").resolve(); pkg.mkdir(exist_ok=True)
for m in src: sys.modules.pop(m, None)
---
for name, text in src.items():
    (pkg / f"{name}.py").write_text(text.replace("{k}", str(k)))
    sys.modules.pop(name, None)
shutil.rmtree(pkg / "__pycache__", ignore_errors=True)
importlib.invalidate_caches()
sys.path.insert(0, str(pkg))
try:
    net = importlib.import_module("net")
finally:
    sys.path.remove(str(pkg))
y = net.fwd(x)
g = jax.grad(lambda v: net.fwd(v).sum())(x)
kk = net.K, sys.modules["ops"].K, net.ops is sys.modules["ops"], len(net.layers)
shutil.rmtree(pkg / "__pycache__", ignore_errors=True)
print(kk, net.__name__, y.dtype, net.act.__module__)
y, g
---
k = "jnp.float32(0.5)"
---
src["ops"] = src["ops"].replace("maximum(x, 0)", "tanh(x)")
---
src["net"] += "raise ImportError('half way')\n"

### kbw-which-operations-hand-back-the-same-array
x = jnp.arange(4.0)
n = np.arange(4.0)
dev = jax.devices()[0]
---
ident = {
    "asarray": jnp.asarray(x), "array": jnp.array(x), "nocopy": jnp.array(x, copy=False), "astype": x.astype(x.dtype),
    "reshape": x.reshape(-1), "ravel": x.ravel(), "squeeze": jnp.squeeze(x), "stop": lax.stop_gradient(x), "plus": +x,
    "all": x[...], "slice": x[:], "T": x.T, "get": jax.device_get(x), "put": jax.device_put(x), "bcast": jnp.broadcast_to(x, x.shape),
    "real": x.real, "conj": x.conj(), "copy": x.copy(), "deep": copy.deepcopy(x), "shallow": copy.copy(x), "block": jax.block_until_ready(x),
    "where": x if True else None, "or": x[:0].size or x, "conv": lax.convert_element_type(x, jnp.float32), "round": jnp.round(x, 2),
    "atleast": jnp.atleast_1d(x), "bcasts": jnp.broadcast_arrays(x)[0], "np": jnp.asarray(n), "onp": np.asarray(n), "opt": lax.optimization_barrier(x),
}
same = sorted(k for k, v in ident.items() if v is x or v is n)
pairs = [k for k, v in ident.items() if v is ident["put"]]
tree = jax.tree.map(lambda v: v, [x, (x,)])
kept = tree[0] is x, tree[1][0] is tree[0], max(x, x + 1, key=jnp.sum) is x, next(iter([x])) is x
print(same, pairs, kept)
ident["plus"]
---
x = jax.device_put(x, dev)
---
x = jnp.ones((1, 3), jnp.int8)
---
x = np.float32(2)

### kbw-device-put-committed-to-where-it-is devices=2
d0, d1 = jax.devices()[:2]
x = jax.device_put(jnp.arange(3.0), d0)
free = jnp.ones(3)
---
a = x * 2
b = jax.device_put(a, d0)
c = jax.device_put(x, d0)
e = jax.device_put(free, d0)
f = jax.device_put({"p": x, "q": free}, d1)
g = jax.device_put(b, b.sharding)
flags = b is a, c is x, e is free, g is b, f["p"] is x, e.committed, free.committed
print(flags)
b, c, e, f["q"]
---
d0 = d1
---
x = free
---
x = np.ones(3, np.float32)

### kbw-async-generators-and-aclosing-streams
closed = []
async def stream(n, dt):
    x = jnp.zeros(2)
    try:
        for i in range(n):
            await asyncio.sleep(0)
            x = x + dt * (1 - x)
            yield i, x
    finally:
        closed.append(n)
async def consume(n, dt, stop):
    out = []
    async with contextlib.aclosing(stream(n, dt)) as s:
        async for i, x in s:
            out.append(x)
            if jnp.all(x > stop): break
    return out, [v async for _, v in stream(2, dt)]
n, dt, stop = 6, 0.3, 0.6
---
xs, short = asyncio.run(consume(n, dt, stop))
hist = jnp.stack(xs)
gap = jnp.diff(hist[:, 0])
async def both(): return await asyncio.gather(consume(2, dt, 2), consume(3, dt / 2, 2))
(p, _), (q, _) = asyncio.run(both())
print(len(xs), closed[-4:], len(p), len(q), f"{gap.min():.4f}")
hist[-1], short[-1]
---
stop = jnp.float32(0.4); closed.clear()
---
n = 2
---
n = 0

### kbw-dataclass-initvar-kwonly-inheritance-and-post-init
@dataclass
class Base:
    n: int
    seed: dataclasses.InitVar[int] = 0
    w: Any = field(init=False)
    _: dataclasses.KW_ONLY
    scale: float = 1.0
    tags: list = field(default_factory=lambda: ["new"])
    def __post_init__(self, seed): self.w = jr.normal(jr.key(seed), (self.n,)) * self.scale
@dataclass
class Deep(Base):
    depth: int = 2
    hist: dict = field(default_factory=dict, repr=False)
    def __post_init__(self, seed):
        super().__post_init__(seed)
        self.ws = [self.w * k for k in range(1, self.depth + 1)]
    def __len__(self): return self.depth
seed, n = 1, 3
---
b = Base(n, seed, scale=2.0)
d = Deep(n, seed, depth=3, scale=0.5)
b.tags.append("x")
d.hist[len(d)] = sum(w.sum() for w in d.ws)
e = dataclasses.replace(d, depth=1, seed=seed)
names = [f.name for f in dataclasses.fields(d)]
shown = repr(d).split("w=")[0], e.tags is d.tags, e.hist is d.hist, vars(d).keys() - vars(b).keys()
as_d = dataclasses.asdict(b)
print(names, shown[:3], sorted(shown[3]), as_d["w"] is b.w, len(e.ws), Base(1).tags)
d.hist, e.w, as_d["w"]
---
seed = 2
---
n = 1
---
n = (2,)

### kbw-late-binding-lambdas-walrus-leaks-and-class-body-loops
xs = [jnp.array(v) for v in (1.0, 2.0, 3.0)]
thr = 4
---
fs = [lambda t: t * k for k in range(3)]
gs = [lambda t, k=k: t * k for k in range(3)]
for k in (5, 6): pass
late = [f(xs[1]) for f in fs], [g(xs[1]) for g in gs]
sq = [y for x in xs if (y := x * x) > thr]
big = any((hit := x) > 1.5 for x in xs)
class Table:
    base = xs[0] + 1
    rows = [x * 2 for x in xs]
    for i, r in enumerate(rows):
        locals()[f"r{i}"] = r
    total = sum(rows)
    def get(self, i): return getattr(self, f"r{i}") + self.base
cap = Table.total if Table.total > thr and Table.base else Table.base
first, *mid, last = *xs, Table.base
(a, (b, *c)), d = (1, (2, 3, 4)), {**{"p": last}, "q": cap}
chain = 0 < xs[0] <= xs[1] < thr
both = xs[0] and xs[1], (xs[0] - 1) or xs[2], not xs[0]
print(k, i if "i" in globals() else None, len(sq), big, Table.i, c, both[0] is xs[1], both[1] is xs[2], type(chain).__name__, both[2])
late, y, hit, Table().get(1), d["q"]
---
thr = 100
---
xs = [jnp.int32(3), jnp.float32(0.5)]; xs.append(np.int8(4))
---
xs = xs[:1]

### kbw-try-finally-returns-and-generator-cleanup-order
log = []
def careful(x, bad):
    try:
        log.append("try")
        y = jnp.log(x)
        if bad: raise KeyError("bad")
        return y
    except KeyError:
        log.append("except")
        return y * 0
    else:
        log.append("else")
    finally:
        log.append("finally")
def gen(x):
    try:
        while True:
            x = x * 0.5
            yield x
    except GeneratorExit:
        log.append(f"closed at {float(x[0]):.3f}")
        raise
    finally:
        log.append("gen finally")
x = jnp.array([1.0, 4.0]); bad = False
pulls = 2
---
log.clear()
a = careful(x, bad)
g = gen(x)
for i, v in zip(range(pulls), g):
    if v[1] < 0.6: break
else:
    log.append("ran out")
g.close()
try:
    try:
        assert v.shape == a.shape, f"{v.shape} != {a.shape}"
        r = v / a
    finally:
        log.append("inner")
except AssertionError as e:
    r = str(e)
else:
    log.append("fine")
print(log, type(r).__name__)
a, v
---
bad = True
---
pulls = 5
---
x = jnp.ones((2, 1))
---
pulls = 0; del v

### kbw-text-files-savetxt-loadtxt-genfromtxt-and-replace
X = jnp.arange(6.0).reshape(3, 2) / 3
hdr = "a b"
fmt = "%.3f"
---
np.savetxt("x.txt", X, fmt=fmt, header=hdr)
with open("x.txt") as fh:
    first, *rest = fh.read().splitlines()
Y = jnp.asarray(np.loadtxt("x.txt", ndmin=2), jnp.float32)
with tempfile.NamedTemporaryFile("w", suffix=".txt", dir=".", delete=False) as tmp:
    for row in Y:
        tmp.write(",".join(f"{v:.1f}" for v in row) + "\n")
os.replace(tmp.name, "y.csv")
tab = np.genfromtxt("y.csv", delimiter=",", names=("u", "v"))
u = jnp.asarray(tab["u"])
shutil.copyfile("y.csv", "z.csv")
stats = os.stat("z.csv").st_size, sorted(p.name for p in Path(".").glob("*.csv")), len(rest)
err = jnp.abs(Y - X).max()
del tmp, fh
print(first, stats, u.dtype, bool(err < 1e-2), tab.dtype.names)
u, Y[-1]
---
X = X * 10; fmt = "%d"
---
X = jnp.ones((1, 2), jnp.int32); hdr = ""
---
X = X.at[0, 0].set(7); fmt = "%q"

### kbw-dynamic-types-setattr-loops-and-generic-classes
from typing import Generic, TypeVar
T = TypeVar("T")
class Stack(Generic[T]):
    def __init__(self): self._v: list[T] = []
    def push(self, v: T): self._v.append(v); return self
    def __class_getitem__(cls, item):
        cls.asked = getattr(cls, "asked", []) + [getattr(item, "__name__", str(item))]
        return cls
specs = {"Lin": {"w": jnp.ones(2), "b": 0.5}, "Scale": {"k": 2.0}}
x = jnp.array([1.0, -1.0])
---
kinds = {n: type(n, (), {**d, "__repr__": lambda s: f"<{type(s).__name__}>"}) for n, d in specs.items()}
lin, sc = kinds["Lin"](), kinds["Scale"]()
setattr(kinds["Lin"], "__call__", lambda s, v: s.w * v + s.b)
for i, name in enumerate(specs["Lin"]):
    setattr(lin, name, getattr(lin, name) * (i + 2))
y = lin(x) * sc.k
st = Stack[int]().push(y).push(lin)
s2 = Stack[jnp.ndarray]()
own = sorted(vars(lin)), "w" in vars(type(lin)), type(lin).w is specs["Lin"]["w"], st._v[0] is y
delattr(lin, "b")
z = lin(x)
print(own, repr(lin), Stack.asked[-2:], isinstance(st, Stack), type(sc).__mro__[0].__name__)
y, z
---
specs["Lin"]["b"] = jnp.int32(3)
---
specs["Scale"]["k"] = np.arange(2)
---
del specs["Lin"]["b"]

### kbw-globals-update-vars-and-names-made-from-text
params = {"alpha": jnp.array(0.5), "beta": 2, "gamma": jnp.ones(2)}
pre = "p_"
def use(): return p_alpha * p_gamma + p_beta
---
globals().update({pre + k: v for k, v in params.items()})
for k in list(params):
    globals()[f"{k}_sq"] = params[k] ** 2
out = use() if "p_alpha" in globals() else None
mine = sorted(n for n in globals() if n.endswith("_sq"))
def inner():
    a = params["alpha"]; b = a + 1
    return {k: v for k, v in locals().items() if k != "self"}
loc = inner()
frame = inspect.currentframe()
depth = frame.f_globals is globals()
del frame
print(mine, list(loc), depth, vars() is globals())
out, alpha_sq, loc["b"]
---
params["alpha"] = jnp.float32(4)
---
pre = "q_"; params["delta"] = 1j
---
del p_alpha

### kbw-printing-options-errstate-and-stdout-writes
a = np.array([1.0, 0.0, -1.0]); x = jnp.asarray(a)
prec = 2
---
with np.errstate(divide="ignore", invalid="ignore"):
    q = a / np.array([0.0, 0.0, 2.0])
y = x / jnp.array([0.0, 0.0, 3.0])
with np.printoptions(precision=prec, suppress=True):
    print(np.asarray(y), q)
sys.stdout.write("no newline;")
print("a", x.sum(), sep="=", end=";\n")
buf = io.StringIO()
print(y.shape, y.dtype, file=buf)
with contextlib.redirect_stdout(buf):
    print(f"{y[2]:.{prec}f}")
import pprint
pprint.pprint({"b": [int(v) for v in x], "a": {"k": "v" * 30, "m": tuple(range(12))}}, width=40)
try:
    with np.errstate(all="raise"):
        a / np.zeros(3)
except FloatingPointError as e:
    why = str(e)
text = buf.getvalue()
print(text, why, np.get_printoptions()["precision"], np.geterr()["divide"])
jnp.nan_to_num(y, nan=0.5, posinf=9.0)
---
prec = 4
---
x = x.astype(jnp.int32)
---
x = jnp.ones((3, 1)); a = a[:3] * 1e-3
---
prec = "x"

### kbw-memo-dict-keyed-by-shape-and-function-attributes
def plan(shape, dtype):
    key = (shape, jnp.dtype(dtype).name)
    if key not in plan.memo:
        plan.misses += 1
        plan.memo[key] = jnp.outer(*(jnp.hanning(s + 2)[1:-1] for s in shape)).astype(dtype)
    return plan.memo[key]
plan.memo, plan.misses = {}, 0
frames = [jnp.ones((2, 3)), jnp.ones((3, 2)), jnp.ones((2, 3))]
---
outs = [f * plan(f.shape, f.dtype) for f in frames]
again = plan(frames[0].shape, frames[0].dtype) is plan(frames[-1].shape, frames[-1].dtype)
tot = sum(o.sum() for o in outs)
plan.last = tot
keys = sorted(plan.memo)
m0 = plan.memo[keys[0]]
print(keys, plan.misses, again, f"{plan.last:.3f}", m0 is plan(*keys[0]))
outs[1], m0
---
frames = frames[:1] + [jnp.ones((4, 1), jnp.bfloat16)]
---
plan.memo.clear(); plan.misses = 0
---
frames = [np.ones((2, 2))]
---
del plan.memo

### kbw-ring-buffer-set-and-array-array-subclasses
import array
class Seen(set):
    def __init__(self, it=(), cap=3): super().__init__(it); self.cap, self.drops = cap, 0
    def add(self, v):
        if len(self) >= self.cap: self.drops += 1; self.discard(min(self))
        super().add(v)
class Samples(array.array):
    def __new__(cls, it=()):
        o = super().__new__(cls, "d", it); o.label = "s"; return o
    def mean(self): return jnp.asarray(self).mean()
class Bits(bytearray):
    @property
    def ones(self): return sum(b.bit_count() for b in self)
seen, raw, bits = Seen([1]), Samples([1.0, 2.0]), Bits(b"\x03")
x = jnp.array([3, 5, 8, 5])
---
for v in x.tolist(): seen.add(v)
raw.append(float(x.sum()))
bits += bytes(x.astype(jnp.uint8))
m = raw.mean()
s2 = Seen(x.tolist(), cap=9)
s2.tag = m * 2
r2 = Samples(raw[:2]); r2.label = "t"
view = memoryview(bits)[1:3]; n = sum(view); view.release(); del view
print(sorted(seen), seen.drops, raw.tolist()[-2:], r2.label, bits.ones, len(bits), n, s2.cap, type(s2 | seen).__name__)
m, s2.tag
---
x = x + 1
---
seen.clear(); del raw[1:]; x = x[:1]
---
x = jnp.array([0.5, 1.5])

### kbw-append-only-journals-of-deque-and-ordered-dict
class Journal(deque):
    def clear(self): raise PermissionError("append-only")
class Ledger(OrderedDict):
    def __setitem__(self, k, v):
        if k in self: raise KeyError(f"{k} twice")
        super().__setitem__(k, v)
    def __delitem__(self, k): raise PermissionError("append-only")
j, led = Journal(maxlen=4), Ledger(start=jnp.zeros(2))
x = jnp.array([1.0, 2.0]); name = "a"
---
j.append(x * 2)
key = f"{name}{len(led)}"
led[key] = x + len(j)
total = sum(v.sum() for v in led.values())
print(list(led), len(j), f"{total:.1f}")
j[-1], led[key]
---
name = "b"; x = x * 0.5
---
name = "c"; x = jnp.ones(1)
---
led.__class__.__len__ = lambda s: 1; name = "b"

### kbw-collected-fit-errors-with-own-constructors
class BadFit(ValueError):
    def __init__(self, lr, w):
        super().__init__(f"lr={lr:g} gave {w.shape}")
        self.lr, self.w = lr, w
def attempt(lr, w): return BadFit(lr, w - lr * 2 * w) if lr > 1 else w - lr * 2 * w
lrs = [0.1, 2.0]; w = jnp.array([1.0, -1.0])
---
outs = [attempt(lr, w) for lr in lrs]
bad = [o for o in outs if isinstance(o, Exception)]
good = [o for o in outs if not isinstance(o, Exception)]
if bad:
    note = ExceptionGroup("bad fits", bad)
    note.__cause__ = RuntimeError("sweep")
print([str(b) for b in bad], len(good))
good[0] if good else bad[0].w, [b.w for b in bad]
---
lrs = [0.1]
---
lrs = [3.0, 4.0]; w = jnp.ones(3)
---
lrs = ["x"]

### kbw-discarded-pure-callback-results-still-counted
calls = []
def lookup(i): calls.append(int(i)); return np.float32(i) * 10
def table(i): return jax.pure_callback(lookup, jax.ShapeDtypeStruct((), jnp.float32), i)
n = 3; x = jnp.arange(4)
---
for k in range(n):
    v = table(x[k])
jax.effects_barrier()
count = len(calls)
print(count, sorted(calls)[-2:], f"{v:.1f}")
calls.sort()
v
---
n = 2
---
x = x * 5; calls.clear()
---
n = 9

### kbw-asyncio-run-of-a-single-coroutine
async def fetch(x, k):
    await asyncio.sleep(0)
    if k < 0: raise ValueError("k")
    return x * k
x = jnp.arange(3.0); k = 2
---
y = asyncio.run(fetch(x, k))
z = jnp.tanh(y).sum()
loop = asyncio.new_event_loop()
try:
    w = loop.run_until_complete(fetch(y, 0.5))
finally:
    loop.close()
shut = loop.is_closed()
del loop
print(shut, f"{z:.3f}")
w
---
k = jnp.float32(3)
---
x = np.arange(2)
---
k = -1

### kbw-object-with-getattribute-access-counts
class Watched:
    reads = Counter()
    def __init__(self, **kw): self.__dict__.update(kw)
    def __getattribute__(self, k):
        if not k.startswith("__"): Watched.reads[k] += 1
        return object.__getattribute__(self, k)
p = Watched(w=jnp.ones(2), b=0.5)
x = jnp.array([1.0, -1.0])
---
y = p.w * x + p.b
p.b = p.b + y.sum()
q = Watched(w=y)
z = q.w @ p.w
print(dict(Watched.reads), f"{z:.2f}")
z, p.b
---
p.w = p.w * 2
---
Watched.reads.clear(); x = jnp.ones(2)
---
del p.b

### kbw-sliding-window-whose-length-is-widened
window = deque([0.0], maxlen=2)
x = jnp.array([1.0, 3.0, 5.0])
def smooth(w, v):
    w.append(v)
    return sum(w) / w.maxlen
---
means = [smooth(window, v) for v in x]
full = len(window) == window.maxlen
latest = window[-1]
print(len(window), full, [f"{m:.2f}" for m in means])
means[-1], latest
---
window = deque(window, maxlen=4)
---
window = deque(window, maxlen=1)
---
window = deque(window)

### kbw-slotted-settings-dict-edited-between-runs
class Settings(dict):
    __slots__ = ("gain", "name")
s = Settings(bias=0.5); s.gain, s.name = 2.0, "a"
x = jnp.arange(3.0)
---
y = x * s.gain + s["bias"]
label = f"{s.name}:{len(s)}"
top = y.max()
print(label, f"{top:.1f}")
y
---
s.gain = 3.0
---
s.name = "b"; s.gain = jnp.int32(4)
---
del s.gain

### kbw-tagged-str-and-float-with-slots
class Unit(str):
    __slots__ = ("factor",)
    def __new__(cls, s, factor): o = super().__new__(cls, s); o.factor = factor; return o
km, cm = Unit("km", 1000.0), Unit("cm", 0.01)
d = jnp.array([1.0, 2.5]); here = km
---
metres = d * here.factor
shown = [f"{v:g} {here}" for v in d]
ratio = metres / cm.factor
print(*shown, f"{metres.sum():.2f} m")
ratio
---
here = cm
---
cm.factor = 0.1
---
here = "km"

### kbw-array-array-samples-relabelled-each-run
import array
class Samples(array.array):
    def __new__(cls, it=(), label="raw"):
        o = super().__new__(cls, "d", it); o.label = label; return o
    def mean(self): return jnp.asarray(self).mean()
raw = Samples([1.0, 2.0]); v = 3.0
---
raw.append(v)
m = raw.mean()
part = Samples(raw[:2])
part.label = "part"
centred = jnp.asarray(part) - m
print(raw.label, part.label, f"{m:.3f}")
centred
---
v = 5
---
raw = Samples([0.0], "fresh")
---
v = "x"

""",
)
