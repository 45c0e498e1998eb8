"""Files, records, loggers, records of bytes, tables of text, and objects that keep parameters."""

from ..cell import written

PRELUDE = """
import dataclasses, functools, itertools, json, math, os, random, re, sys, time, warnings
from functools import partial
from typing import Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### tn-checkpoint-dir-rotation-keeps-best-k-by-glob
import glob, pickle
root = os.path.join(place, "ck"); os.makedirs(root, exist_ok=True)
def save(step, params, loss, keep=2):
    with open(os.path.join(root, f"{loss:.4f}-{step:03d}.pkl"), "wb") as f:
        pickle.dump(jax.tree.map(np.asarray, params), f)
    for old in sorted(glob.glob(root + "/*.pkl"))[keep:]: os.remove(old)
def best():
    with open(sorted(glob.glob(root + "/*.pkl"))[0], "rb") as f: return jax.tree.map(jnp.asarray, pickle.load(f))
p, step = {"w": jnp.array([2.0, -1.0])}, 0
---
for _ in range(3):
    loss, g = jax.value_and_grad(lambda p: jnp.sum((p["w"] - 1) ** 2))(p)
    p = jax.tree.map(lambda a, b: a - 0.4 * b, p, g)
    step += 1
    save(step, p, float(loss))
b = best()
print(step, sorted(os.listdir(root))[0][:6], type(b["w"]).__name__)
b["w"]
---
p = {"w": p["w"] + 3}
---
step = 50

### tn-csv-reader-to-typed-columns-then-standardised-and-written
import csv, io
text = "name,a,b\nx,1.5,2\ny,-0.5,4\nz,3.0,8\n"
---
rows = list(csv.DictReader(io.StringIO(text)))
cols = {k: [r[k] for r in rows] for k in rows[0]}
M = jnp.array([[float(v) for v in cols[c]] for c in ("a", "b")]).T
Z = (M - M.mean(0)) / M.std(0)
out = io.StringIO()
w = csv.writer(out)
w.writerow(["name", "za", "zb"])
for n, z in zip(cols["name"], Z):
    w.writerow([n, *(f"{float(v):.3f}" for v in z)])
print(out.getvalue())
Z @ Z.T
---
text += "w,10,1\n"
---
text = text.replace("1.5", "7.5")

### tn-logging-adapter-with-extra-and-levels-by-loss
import logging
log = logging.getLogger("tn.train"); log.setLevel(logging.DEBUG)
class Adapter(logging.LoggerAdapter):
    def process(self, msg, kw): return f"[{self.extra['run']}] {msg}", kw
ad = Adapter(log, {"run": "r1"})
w, lr = jnp.array(3.0), 0.3
---
for i in range(3):
    l, g = jax.value_and_grad(lambda w: w ** 2)(w)
    w = w - lr * g
    level = logging.WARNING if l > 4 else logging.INFO
    ad.log(level, "step %d loss %.3f", i, l)
if log.isEnabledFor(logging.DEBUG):
    ad.debug("final %s", round(float(w), 4))
w
---
lr = 0.01
---
ad.extra["run"] = "r2"; log.setLevel(logging.WARNING)

### tn-tempdir-memmap-shards-streamed-through-a-running-mean
import tempfile
n_shards = 3
---
with tempfile.TemporaryDirectory() as d:
    for i in range(n_shards):
        mm = np.memmap(os.path.join(d, f"{i}.dat"), np.float32, "w+", shape=(4, 2))
        mm[:] = np.arange(8).reshape(4, 2) + i
        mm.flush()
    mean, count = jnp.zeros(2), 0
    for f in sorted(os.listdir(d)):
        x = jnp.asarray(np.memmap(os.path.join(d, f), np.float32, "r", shape=(4, 2)))
        count += len(x)
        mean = mean + (x - mean).sum(0) / count
    gone = d
print(count, os.path.exists(gone))
mean
---
n_shards = 1
---
n_shards = 4

### tn-hashlib-digest-of-params-as-cache-key
import hashlib
def digest(tree):
    h = hashlib.sha256()
    for path, v in jax.tree_util.tree_leaves_with_path(tree):
        h.update(jax.tree_util.keystr(path).encode()); h.update(np.asarray(v).tobytes())
    return h.hexdigest()[:8]
cache, params = {}, {"w": jnp.arange(3.0)}
---
k = digest(params)
hit = k in cache
val = cache.setdefault(k, jnp.sum(params["w"] ** 3))
params2 = jax.tree.map(lambda v: v + 0, params)
print(hit, len(cache), digest(params2) == k, digest({"w": params["w"] + 1}) == k)
val
---
params = {"w": params["w"] * 2}
---
cache.clear()

### tn-struct-packed-records-decoded-by-views-into-arrays
import struct
recs = [(1, 0.5, b"ab"), (2, -1.5, b"cd"), (7, 3.25, b"zz")]
fmt = "<hf2s"
---
blob = b"".join(struct.pack(fmt, *r) for r in recs)
back = list(struct.iter_unpack(fmt, blob))
dt = np.dtype([("id", "<i2"), ("v", "<f4"), ("tag", "S2")])
arr = np.frombuffer(blob, dt)
v = jnp.asarray(arr["v"])
ids = jnp.asarray(arr["id"])
print(len(blob), back[0], arr["tag"].tolist(), ids.dtype, struct.calcsize(fmt) == dt.itemsize)
jnp.dot(v, ids.astype(v.dtype))
---
recs.append((9, 9.0, b"!!"))
---
recs = recs[::-1][:2]

### tn-simulated-annealing-python-random-and-numpy-state-mixed cold
random.seed(4); np.random.seed(4)
cities = jnp.asarray(np.random.rand(6, 2), jnp.float32)
D = jnp.sqrt(((cities[:, None] - cities[None]) ** 2).sum(-1))
def length(t): return D[jnp.array(t), jnp.roll(jnp.array(t), -1)].sum()
tour, T = list(range(6)), 1.0
---
accepted = 0
for _ in range(6):
    i, j = sorted(random.sample(range(6), 2))
    new = tour[:i] + tour[i:j + 1][::-1] + tour[j + 1:]
    delta = float(length(new) - length(tour))
    if delta < 0 or np.random.rand() < math.exp(-delta / T):
        tour, accepted = new, accepted + 1
    T *= 0.9
print(accepted, tour, round(T, 4))
length(tour)
---
T = 0.01
---
random.seed(1)

### tn-subclassed-dict-of-params-with-attribute-access-and-missing
class Params(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
    def __missing__(self, k):
        self[k] = v = jnp.zeros(2)
        return v
    def __or__(self, o): return type(self)({**self, **o})
p = Params(w=jnp.ones(2))
---
p.w = p.w * 2 + p["bias"]
q = p | {"extra": p.w.sum()}
r = {k: v.shape for k, v in q.items()}
print(type(q).__name__, sorted(p), r, q.extra.item())
try:
    p.__getattr__("zzz")
except KeyError:
    print("none")
else:
    print("made", "zzz" in p)
q.w
---
del p["bias"]
---
p = Params(w=jnp.arange(2.0), bias=jnp.ones(2))

### tn-userlist-of-metrics-with-slicing-and-average
from collections import UserList, UserDict
class Series(UserList):
    def avg(self, k=None):
        d = self.data[-k:] if k else self.data
        return sum(d) / len(d)
    def append(self, v): super().append(float(v))
class Board(UserDict):
    def log(self, **kv):
        for k, v in kv.items(): self.data.setdefault(k, Series()).append(v)
        return self
board, x = Board(), jnp.arange(4.0)
---
for s in (1.0, 0.5):
    board.log(mean=(x * s).mean(), top=(x * s).max()).log(mean=0)
half = board["mean"][::2]
print(len(board["mean"]), type(half).__name__, board["top"].avg(2), "mean" in board)
jnp.array(board["mean"].data[-4:])
---
x = x + 1
---
board.clear()

### tn-time-budgeted-loop-with-fake-clock-and-iter-sentinel
class Clock:
    def __init__(self): self.t = 0.0
    def __call__(self): self.t += 0.25; return self.t
clock, budget = Clock(), 1.5
w = jnp.array([4.0, 1.0])
---
start, n = clock(), 0
while clock() - start < budget:
    w = w - 0.1 * w
    n += 1
src = iter([3, 2, 1, 0, 9])
seen = [v for v in iter(lambda: next(src), 0)]
print(n, clock.t, seen)
w
---
budget = 0.6
---
clock = Clock()

### tn-bisect-of-knots-and-lookup-table-interpolated
import bisect
knots, vals = [0.0, 1.0, 2.5, 4.0], jnp.array([0.0, 2.0, 1.0, 5.0])
qs = [0.5, 2.5, 3.9, 4.5, -1.0]
---
out = []
for q in qs:
    i = min(max(bisect.bisect_right(knots, q) - 1, 0), len(knots) - 2)
    t = (q - knots[i]) / (knots[i + 1] - knots[i])
    out.append(vals[i] * (1 - t) + vals[i + 1] * t)
ref = jnp.interp(jnp.array(qs), jnp.array(knots), vals)
inside = [knots[0] <= q <= knots[-1] for q in qs]
print(inside, [bool(jnp.isclose(a, b)) for a, b in zip(out, ref)])
jnp.stack(out)
---
bisect.insort(knots, 3.0); vals = jnp.append(vals, 6.0)
---
qs = qs[:2]

### tn-fractions-decimals-and-ints-into-dtypes-and-back
from fractions import Fraction
from decimal import Decimal
nums = [Fraction(1, 3), Decimal("0.125"), 7, True, 2 ** 40, 1.5j]
---
out = []
for n in nums:
    try:
        v = jnp.asarray(n if isinstance(n, (int, float, complex)) else float(n))
        out.append((type(n).__name__, str(v.dtype), v.weak_type))
    except OverflowError as e:
        out.append((type(n).__name__, "overflow", None))
third = Fraction(float(jnp.float32(1) / 3)).limit_denominator(10)
tot = sum(jnp.float32(float(n)) for n in nums[:3])
print(*out, sep="\n")
print(third, round(Decimal(float(tot)), 3))
tot
---
nums[2] = -7
---
nums = [Fraction(22, 7), Decimal("1e3"), 2]

### tn-string-templates-and-fstring-specs-over-a-results-table
from string import Template
rows = {"sgd": jnp.array([0.91, 0.5]), "adam": jnp.array([0.95, 0.25])}
tpl = Template("$name: acc=$acc loss=$loss")
w = 8
---
best = max(rows, key=lambda k: rows[k][0])
for k, v in rows.items():
    star = "*" if k == best else " "
    print(f"{star}{k:<{w}}|{v[0]:>{w}.1%}|{v[1]!s:^{w}}|{v[1]:+.2e}")
print(tpl.substitute(name=best, acc=f"{float(rows[best][0]):.2f}", loss=rows[best][1]))
print("{0.shape} {0[1]:.2f} {1!r}".format(rows[best], best))
rows[best]
---
rows["lion"] = jnp.array([0.97, 0.1])
---
w = 5

### tn-class-with-call-getstate-and-deepcopied-optimizer
import copy
class Momentum:
    def __init__(self, lr, beta=0.9): self.lr, self.beta, self.v, self.n = lr, beta, None, 0
    def __call__(self, p, g):
        self.v = g if self.v is None else jax.tree.map(lambda v, g: self.beta * v + g, self.v, g)
        self.n += 1
        return jax.tree.map(lambda p, v: p - self.lr * v, p, self.v)
    def __getstate__(self): return {k: v for k, v in self.__dict__.items() if k != "n"}
    def __setstate__(self, s): self.__dict__.update(s, n=0)
opt, p = Momentum(0.1), {"a": jnp.ones(2), "b": (jnp.zeros(1),)}
---
g = jax.tree.map(lambda v: 2 * v + 1, p)
p = opt(p, g)
fork = copy.deepcopy(opt)
alt = fork(p, g)
p = opt(p, g)
same = jax.tree.map(lambda a, b: bool((a == b).all()), alt, p)
print(opt.n, fork.n, same, fork.v["a"] is opt.v["a"])
p
---
opt.lr = 0.01
---
opt = Momentum(0.5, 0.0)

### tn-zip-strict-enumerate-start-and-sorted-by-device-scalars
xs = [jnp.array([3.0, 1.0]), jnp.array([0.5]), jnp.array([2.0, 2.0, 2.0])]
tags = ("p", "q", "r")
---
ranked = sorted(zip(tags, xs, strict=True), key=lambda t: t[1].sum(), reverse=True)
lines = [f"{i}.{t}={v.mean():.2f}" for i, (t, v) in enumerate(ranked, start=1)]
try:
    list(zip(tags, xs[:2], strict=True))
except ValueError as e:
    lines.append(str(e))
any_big, all_pos = any(v.max() > 2.5 for v in xs), all((v > 0).all() for v in xs)
print(*lines, any_big, all_pos, sep=" | ")
max(xs, key=len), min(xs, key=lambda v: v[0])
---
xs[1] = -xs[1]
---
xs.append(jnp.zeros(1)); tags = tags + ("s",)

### tn-bool-int-float-branches-on-shapes-and-dtypes-in-a-helper
def prep(v, *, dtype=None, pad=None):
    if isinstance(v, (list, tuple)): v = jnp.array(v)
    elif isinstance(v, np.ndarray): v = jnp.asarray(v)
    if v.ndim == 0: v = v[None]
    if jnp.issubdtype(v.dtype, jnp.integer) and dtype is None: v = v.astype(jnp.float32)
    elif dtype: v = v.astype(dtype)
    if pad and v.shape[0] < pad: v = jnp.pad(v, (0, pad - v.shape[0]))
    return v
items, pad = [[1, 2], np.arange(3), jnp.array(4.0), (True, False)], 4
---
out = [prep(v, pad=pad) for v in items]
same = prep(out[0]) is out[0]
dts = [str(o.dtype) for o in out]
M = jnp.stack([o.astype(jnp.float32) for o in out]) if len({o.shape for o in out}) == 1 else None
print(same, dts, None if M is None else M.shape)
M if M is not None else out
---
pad = None
---
items.append(jnp.arange(6))

### tn-swap-model-in-eval-context-and-restore-even-on-error
from contextlib import contextmanager
class Model:
    def __init__(self): self.w, self.training = jnp.array([1.0, 2.0]), True
    def __call__(self, x): return (x @ self.w) * (0.5 if self.training else 1.0)
@contextmanager
def evaluating(m, w=None):
    old = m.w, m.training
    m.training = False
    if w is not None: m.w = w
    try: yield m
    finally: m.w, m.training = old
m, ema, x = Model(), jnp.array([0.5, 0.5]), jnp.eye(2)
---
with evaluating(m, ema) as e:
    a = e(x)
    inner = m.training, m.w is ema
try:
    with evaluating(m):
        b = m(x)
        m(jnp.ones((2, 3)))
except TypeError as err:
    kind = type(err).__name__
c = m(x)
ema = 0.9 * ema + 0.1 * m.w
print(inner, kind, m.training, m.w is ema)
a, b, c
---
m.w = m.w * 2
---
ema = ema * 0
""",
    theme="tn_world",
)
