"""Everyday scientific notebooks: instruments, tables, signals, images, simulations, classes with state, and slips."""

from ..cell import written

PRELUDE = """
import os, sys, io, re, json, csv, math, time, pickle, random, logging, enum, copy, string, textwrap, operator
import collections, contextlib, dataclasses, functools, itertools, datetime, warnings, bisect, heapq, statistics
from collections import defaultdict, namedtuple, Counter, OrderedDict, deque, ChainMap
from dataclasses import dataclass, field, asdict, replace
from pathlib import Path
from functools import partial, reduce, wraps, lru_cache, cached_property
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
### iaw-spectrometer-baseline-asls-and-peaks
from scipy import sparse
from scipy.sparse.linalg import spsolve
from scipy.signal import find_peaks
wl = np.linspace(400, 700, 61)
counts = 50 + 0.1 * (wl - 400) + 80 * np.exp(-((wl - 500) / 8) ** 2) + 40 * np.exp(-((wl - 600) / 12) ** 2)
lam, p_asym, niter = 1e3, 0.05, 4
---
L = len(counts)
D = sparse.diags([1, -2, 1], [0, -1, -2], shape=(L, L - 2)).tocsc()
w = np.ones(L)
for _ in range(niter):
    W = sparse.spdiags(w, 0, L, L)
    z = spsolve((W + lam * D.dot(D.T)).tocsc(), w * counts)
    w = p_asym * (counts > z) + (1 - p_asym) * (counts < z)
corrected = jnp.asarray(counts - z)
norm = (corrected - corrected.min()) / jnp.ptp(corrected)
peaks, props = find_peaks(np.asarray(norm), height=0.2, distance=4)
centroids = []
for pk in peaks:
    sl = slice(max(pk - 3, 0), pk + 4)
    centroids.append(jnp.sum(wl[sl] * norm[sl]) / norm[sl].sum())
for c, h in zip(centroids, props["peak_heights"]):
    print(f"peak at {c:.1f} nm, height {h:.2f}")
table = {int(round(float(c))): float(h) for c, h in zip(centroids, props["peak_heights"])}
len(peaks), norm.dtype, norm.weak_type
---
counts = counts + 30 * np.exp(-((wl - 440) / 6) ** 2)
---
lam, niter = 1e2, 2
---
counts[45:] = counts[45]
---
counts = counts.astype(np.float32)

### iaw-thermostat-state-machine-with-enum-handlers
class Mode(enum.Enum):
    IDLE = "idle"; HEAT = "heat"; COOL = "cool"
    def power(self):
        return {"idle": 0.0, "heat": 2.0, "cool": -1.5}[self.value]
class Thermostat:
    def __init__(self, target, band=0.5):
        self.target, self.band, self.mode = target, band, Mode.IDLE
        self.switches = 0
        self._log = []
    @property
    def log(self): return tuple(self._log)
    def decide(self, temp):
        new = Mode.HEAT if temp < self.target - self.band else Mode.COOL if temp > self.target + self.band else self.mode
        if abs(temp - self.target) < 0.1: new = Mode.IDLE
        if new is not self.mode:
            self.switches += 1
            self._log.append((self.mode.name, new.name))
        self.mode = new
        return new.power()
thermo = Thermostat(21.0)
room = jnp.array([17.0, 20.0, 24.0])
leak, steps = jnp.array([[0.9, 0.1, 0.0], [0.05, 0.9, 0.05], [0.0, 0.1, 0.9]]), 5
---
history = [room]
for k in range(steps):
    u = thermo.decide(float(room[1]))
    room = leak @ room + 0.3 * u * jnp.array([0.0, 1.0, 0.0])
    history.append(room)
trace = jnp.stack(history)
overshoot = jnp.max(trace[:, 1]) - thermo.target
drift = jnp.diff(trace, axis=0).mean(0)
print(thermo.mode, thermo.switches, thermo.log[-2:], "%.2f" % overshoot)
drift
---
thermo.target = 19.0
---
thermo.band = 5.0; thermo.mode = Mode.COOL
---
def _decide(self, temp): return 0.25 * (self.target - temp)
Thermostat.decide = _decide
---
steps = 2; thermo._log.clear()

### iaw-barcode-decoder-runs-of-bits
row = np.repeat(np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 0, 1]), 3).astype(np.float64)
row += np.random.default_rng(0).normal(0, 0.05, row.size)
width, thr = 3, 0.5
symbols = {"101": "start", "100": "A", "101100": "AB", "010": "B", "001": "stop"}
---
x = jnp.asarray(row)
k = jnp.ones(width) / width
smooth = jnp.convolve(x, k, mode="same")
bits = (smooth > thr).astype(jnp.int8)
edges = jnp.flatnonzero(jnp.diff(bits) != 0) + 1
bounds = [0, *edges.tolist(), len(bits)]
lengths = [b - a for a, b in itertools.pairwise(bounds)]
code = "".join(str(int(bits[a])) * round(n / width) for a, n in zip(bounds, lengths))
decoded = [symbols.get(code[i:i + 3], "?") for i in range(0, len(code), 3)]
packed = np.packbits(np.asarray(bits))
confidence = jnp.abs(smooth - thr).min()
print(code, decoded, hex(int.from_bytes(packed.tobytes(), "big") & 0xFFFF))
bits.dtype, confidence.dtype, edges.shape
---
row = row[::-1]
---
thr = 0.9
---
symbols["110"] = "C"; row = np.roll(row, 6)
---
row = np.zeros(9)

### iaw-tide-harmonics-solve-by-qr-with-names
Harmonic = namedtuple("Harmonic", "name period")
harmonics = [Harmonic("M2", 12.42), Harmonic("S2", 12.0), Harmonic("K1", 23.93)]
hours = np.arange(0, 96, 1.5)
level = 2 + 1.2 * np.cos(2 * np.pi * hours / 12.42 - 0.3) + 0.4 * np.sin(2 * np.pi * hours / 23.93)
---
def columns(t):
    yield jnp.ones_like(t)
    for h in harmonics:
        arg = 2 * jnp.pi * t / h.period
        yield jnp.cos(arg)
        yield jnp.sin(arg)
A = jnp.stack(list(columns(jnp.asarray(hours))), axis=1)
q, r = jnp.linalg.qr(A)
coef = jax.scipy.linalg.solve_triangular(r, q.T @ level)
mean, rest = coef[0], coef[1:].reshape(-1, 2)
amp, phase = jnp.hypot(*rest.T), jnp.degrees(jnp.arctan2(rest[:, 1], rest[:, 0])) % 360
by_name = {h.name: (round(float(a), 2), round(float(ph))) for h, a, ph in zip(harmonics, amp, phase)}
largest = max(by_name, key=lambda n: by_name[n][0])
resid = level - A @ coef
print(f"{mean:.3f} {largest} {by_name[largest]}")
resid.std() < 1e-3, type(resid).__name__, resid.dtype
---
harmonics.append(Harmonic("O1", 25.82))
---
level = level + 0.1 * np.sign(np.sin(hours))
---
harmonics[1] = harmonics[1]._replace(period=6.21); hours = hours.astype(np.float32)

### iaw-playing-cards-shuffle-and-odds
deck = [f"{r}{s}" for s in "SHDC" for r in "23456789TJQKA"]
values = {r: i for i, r in enumerate("23456789TJQKA", 2)}
seed, hand_size, trials = 5, 5, 64
---
key = jr.key(seed)
order = jr.permutation(key, len(deck))
shuffled = [deck[i] for i in order]
hand = sorted(shuffled[:hand_size], key=lambda c: (-values[c[0]], c[1]))
ranks = jnp.array([values[c[0]] for c in deck])
suits = jnp.array(["SHDC".index(c[1]) for c in deck])
def is_pair(k):
    idx = jr.choice(k, len(deck), (hand_size,), replace=False)
    counts = jnp.bincount(ranks[idx], length=15)
    return (counts >= 2).any(), (jnp.bincount(suits[idx], length=4) == hand_size).any()
pairs, flushes = jax.vmap(is_pair)(jr.split(key, trials))
prob = pairs.mean()
print(" ".join(hand), f"{prob:.3f}", int(flushes.sum()))
best = hand[0] if prob > 0.4 else None
best, prob.dtype
---
seed = 6
---
hand_size = 3
---
deck.remove("AS"); deck.remove("AH")
---
values["A"] = 1; trials = 16

### iaw-chess-ratings-generator-of-rounds
players = {"ann": 1500.0, "bob": 1400.0, "cyd": 1600.0, "dee": 1550.0}
def pairings(names):
    names = list(names)
    for _ in range(len(names) - 1):
        yield list(zip(names[:len(names) // 2], reversed(names[len(names) // 2:])))
        names.insert(1, names.pop())
k_factor = 32
strength = jnp.array([1.0, 0.2, 0.7, 0.5])
---
index = {n: i for i, n in enumerate(players)}
r = jnp.array(list(players.values()))
rounds = pairings(players)
first = next(rounds)
results = []
for rnd, games in enumerate(itertools.chain([first], rounds)):
    for a, b in games:
        i, j = index[a], index[b]
        expected = 1 / (1 + 10 ** ((r[j] - r[i]) / 400))
        score = jnp.where(strength[i] > strength[j], 1.0, 0.0)
        delta = k_factor * (score - expected)
        r = r.at[i].add(delta).at[j].add(-delta)
        results.append((rnd, a, b, score))
players.update(zip(players, r.tolist()))
standing = sorted(players.items(), key=lambda kv: -kv[1])
print([n for n, _ in standing], f"{sum(players.values()):.0f}")
wins = sum(s for *_, s in results)
wins
---
k_factor = 16.0
---
strength = strength[::-1]
---
players = dict.fromkeys("vwxyzu", 1000.0); strength = jnp.linspace(0, 1, 6)

### iaw-budget-decorated-ledger-with-undo
class Ledger:
    _undo = []
    def __init__(self): self.entries, self.balance = [], jnp.zeros(())
    def undoable(fn):
        @wraps(fn)
        def wrapper(self, *args, **kw):
            Ledger._undo.append((self, list(self.entries), self.balance))
            return fn(self, *args, **kw)
        return wrapper
    @undoable
    def post(self, amount, *, rate=1.0):
        self.entries.append(amount)
        self.balance = self.balance + amount * rate
        return self
    @classmethod
    def rollback(cls):
        who, who.entries, who.balance = cls._undo.pop()
    def __len__(self): return len(self.entries)
    def __iadd__(self, other): return self.post(other)
    def __format__(self, spec): return format(float(self.balance), spec or ".2f")
book = Ledger()
amounts = [10, 2.5, jnp.float32(4)]
---
for a in amounts:
    book.post(a, rate=0.5)
book += 100
assert len(book) >= 4
before = book.balance
Ledger.rollback()
after = book.balance
swing = before - after
undo_depth = len(Ledger._undo)
print(f"{book} {book:08.3f} {undo_depth} {len(book)}")
snapshot = copy.copy(book)
snapshot.entries is book.entries, swing, swing.weak_type
---
amounts.append(np.int16(3))
---
Ledger._undo.clear(); book = Ledger()
---
amounts = [jnp.ones(2), 1]

### iaw-contour-lengths-marching-on-a-grid
n = 12
yy, xx = np.mgrid[-2:2:n * 1j, -2:2:n * 1j]
def height(x, y): return jnp.exp(-x ** 2 - y ** 2) + 0.5 * jnp.exp(-(x - 1) ** 2 - y ** 2)
levels = [0.3, 0.6, 0.9]
---
z = jax.vmap(jax.vmap(height))(xx, yy)
segments = {}
for lv in levels:
    above = z > lv
    corners = (above[:-1, :-1] * 1 + above[:-1, 1:] * 2 + above[1:, 1:] * 4 + above[1:, :-1] * 8)
    active = (corners > 0) & (corners < 15)
    segments[lv] = active.sum()
    if not active.any():
        print(f"level {lv} is empty")
        continue
    i, j = np.nonzero(np.asarray(active))
    centre = jnp.stack([xx[i, j], yy[i, j]], -1).mean(axis=0)
    print(f"{lv:.1f}: {int(segments[lv])} cells around", np.round(centre, 2))
slope = jax.vmap(jax.vmap(jax.grad(height, (0, 1))))(xx, yy)
steepest = jnp.unravel_index(jnp.argmax(jnp.hypot(*slope)), z.shape)
steepest, max(segments, key=segments.get)
---
levels += [1.5]
---
def height(x, y): return jnp.cos(x) * jnp.cos(y)
---
levels = levels[:1]; yy, xx = np.mgrid[-1:1:6j, -1:1:8j]

### iaw-text-report-with-template-and-locale-free-numbers
template = string.Template("$name: mean=$mean sd=$sd n=$n\n")
groups = {"ctrl": jnp.array([1.0, 2.0, 4.0]), "drug": jnp.array([2.0, 3.5, 3.0, 5.0])}
digits = 2
---
buf = io.StringIO()
for name, v in groups.items():
    buf.write(template.substitute(name=name.upper(), mean=f"{v.mean():.{digits}f}", sd=round(float(v.std(ddof=1)), digits), n=v.size))
a, b = groups.values()
pooled = jnp.sqrt(((a.size - 1) * a.var(ddof=1) + (b.size - 1) * b.var(ddof=1)) / (a.size + b.size - 2))
t = (a.mean() - b.mean()) / (pooled * math.sqrt(1 / a.size + 1 / b.size))
stars = "*" * int(abs(t) > 1) or "n.s."
print("-" * 20, textwrap.indent(buf.getvalue(), "  "), sep="\n", end="")
print("{:>10}|{:^8}|{:<4}|".format("t", f"{t:+.3f}", stars))
report = buf.getvalue().splitlines()
line = f"{t!s:.5} {a[0]!r}"
line
---
digits = 3
---
groups["drug"] = groups["drug"] + 3
---
groups = {k: v.astype(jnp.bfloat16) for k, v in groups.items()}; digits = 1
---
template = string.Template("$name has $n\n")

### iaw-cell-list-neighbours-numpy-int-keys tolerance=1e-3
rng = np.random.default_rng(12)
pos = rng.uniform(0, 4, (20, 2))
cutoff, box = 1.0, 4.0
---
cells = defaultdict(list)
for idx, (cx, cy) in enumerate((pos // cutoff).astype(int)):
    cells[cx, cy].append(idx)
ncell = int(box / cutoff)
pairs = set()
for (cx, cy), members in cells.items():
    for dx, dy in itertools.product((-1, 0, 1), repeat=2):
        for j in cells.get(((cx + dx) % ncell, (cy + dy) % ncell), ()):
            pairs.update((i, j) for i in members if i < j)
pairs = np.array(sorted(pairs)).reshape(-1, 2)
xj = jnp.asarray(pos)
d = xj[pairs[:, 0]] - xj[pairs[:, 1]]
d = d - box * jnp.round(d / box)
r = jnp.linalg.norm(d, axis=1)
inside = r < cutoff
def energy(x):
    dd = x[pairs[:, 0]] - x[pairs[:, 1]]
    dd -= box * jnp.round(dd / box)
    r2 = (dd ** 2).sum(-1)
    return jnp.where(r2 < cutoff ** 2, (1 - r2 / cutoff ** 2) ** 2, 0.0).sum()
force = -jax.grad(energy)(xj)
pos = np.asarray(xj + 0.01 * force, dtype=float) % box
coord = np.bincount(pairs[np.asarray(inside)].ravel(), minlength=len(pos))
print(len(cells), len(pairs) >= int(inside.sum()), coord.max(), pos.dtype)
energy(xj)
---
cutoff = 0.8
---
pos = pos[:8]
---
pos += 0.3; pos %= box

### iaw-wordle-solver-scored-by-array-of-patterns
words = ["crane", "slate", "irate", "trace", "caret", "grate", "stare", "least"]
secret = "caret"
def pattern(guess, answer):
    return sum(3 ** i * (2 if g == a else 1 if g in answer else 0) for i, (g, a) in enumerate(zip(guess, answer)))
---
table = jnp.array([[pattern(g, a) for a in words] for g in words])
alive = jnp.ones(len(words), bool)
guesses = []
while alive.sum() > 1 and len(guesses) < 5:
    onehot = (table[..., None] == jnp.unique(table)) & alive[None, :, None]
    counts = onehot.sum(1)
    p = counts / counts.sum(1, keepdims=True)
    entropy = -jnp.sum(jnp.where(p > 0, p * jnp.log2(jnp.where(p > 0, p, 1)), 0), 1)
    g = int(jnp.argmax(entropy + 1e-3 * alive))
    guesses.append(words[g])
    alive = alive & (table[g] == pattern(words[g], secret))
answer = [w for w, a in zip(words, alive) if a]
print(len(guesses), "guesses:", *guesses, "->", answer)
alive.sum()
---
secret = "slate"
---
words.append("plate"); secret = "plate"
---
def pattern(guess, answer): return sum(g in answer for g in guess)

### iaw-pandas-groups-fitted-each-with-jax-line
import pandas as pd
df = pd.DataFrame({"sensor": list("aabbbcc"), "t": [0, 1, 0, 1, 2, 0, 3], "v": [1.0, 2.0, 0.5, 1.0, 1.6, 9.0, 3.0]})
df["sensor"] = df["sensor"].astype("category")
ridge = 1e-3
---
def fit(g):
    t = jnp.asarray(g["t"].to_numpy(), jnp.float32)
    A = jnp.stack([t, jnp.ones_like(t)], 1)
    sol = jnp.linalg.solve(A.T @ A + ridge * jnp.eye(2), A.T @ g["v"].to_numpy())
    return pd.Series({"slope": float(sol[0]), "icept": float(sol[1]), "n": len(g)})
fits = df.groupby("sensor", observed=True)[["t", "v"]].apply(fit)
slopes = jnp.asarray(fits["slope"].values)
z = (slopes - slopes.mean()) / slopes.std()
fits["z"] = np.asarray(z)
fits["flag"] = np.where(np.abs(fits["z"]) > 1, "odd", "")
merged = df.merge(fits.reset_index()[["sensor", "z"]], on="sensor", how="left")
weights = jax.nn.softmax(-jnp.abs(jnp.array(merged["z"])))
mean = jnp.average(jnp.array(merged["v"]), weights=weights)
print(fits.round(2).to_string(), f"\n{mean:.3f}")
weights.sum(), merged["z"].dtype
---
df.loc[len(df)] = ["c", 4, 1.0]
---
ridge = 1.0
---
df = df[df.sensor != "b"].assign(v=lambda d: d.v * 2); df["sensor"] = df["sensor"].cat.remove_unused_categories()

### iaw-image-tiles-processed-into-output-buffer
from PIL import Image
img = Image.fromarray((np.arange(16 * 24) % 251).reshape(16, 24).astype(np.uint8))
tile, gain = 8, 1.5
kernel = jnp.array([[0, 1, 0], [1, 4, 1], [0, 1, 0]]) / 8
---
src = np.asarray(img)
out = np.zeros_like(src)
stats = {}
for r in range(0, src.shape[0], tile):
    for c in range(0, src.shape[1], tile):
        block = src[r:r + tile, c:c + tile]
        y = jax.scipy.signal.convolve2d(block / 255.0, kernel, mode="same")
        y = jnp.clip(gain * y, 0, 1)
        out[r:r + tile, c:c + tile] = np.round(255 * y).astype(np.uint8)
        stats[r // tile, c // tile] = (y.mean(), block.max())
brightest = max(stats, key=lambda k: stats[k][0])
res = Image.fromarray(out).resize((12, 8), Image.BILINEAR)
res.save("tiles.png")
back = jnp.asarray(np.array(Image.open("tiles.png")))
same = (back == np.asarray(res)).all()
hist, _ = jnp.histogram(back, bins=4, range=(0, 256))
print(brightest, bool(same), back.dtype, hist.tolist(), out.flags.writeable)
---
gain = 0.7
---
kernel = kernel.at[1, 1].set(0)
---
tile = 6
---
img = img.rotate(90, expand=True)

### iaw-structured-log-of-orbits-with-views
body = np.zeros(6, dtype=[("name", "U4"), ("r", "f4", (2,)), ("v", "f4", (2,)), ("m", "f8")])
body["name"] = list("abcdef")
body["r"] = np.random.default_rng(2).normal(size=(6, 2)); body["m"] = 1.0
flat = body["r"].reshape(-1)
dt, G = 0.01, 1.0
---
r_view = body["r"]
r = jnp.asarray(r_view)
m = jnp.asarray(body["m"])
diff = r[:, None] - r[None]
inv = (jnp.sum(diff ** 2, -1) + 0.1) ** -1.5
acc = -G * jnp.einsum("ijk,ij,j->ik", diff, inv, m)
body["v"] += dt * acc
r_view[...] = r + dt * body["v"]
heavy = body[body["m"] > 0.5]
heavy["m"] *= 2
com = (m[:, None] * r).sum(0) / m.sum()
order = np.argsort(body, order=["m", "name"])
flat_sum = flat.sum()
print(order.tolist(), np.shares_memory(flat, body), acc.dtype, m.dtype, body["v"].dtype)
com, body[0]["name"], flat_sum.dtype
---
body["m"][:3] = 0.25
---
G = 2
---
body["r"][0] = 5; dt = np.float64(0.02)

### iaw-rate-limited-client-fake-with-retries
class Busy(RuntimeError):
    def __init__(self, after): super().__init__(f"retry after {after}"); self.after = after
class Client:
    def __init__(self, fail_every=3): self.calls, self.slept, self.fail_every = 0, 0.0, fail_every
    def get(self, i):
        self.calls += 1
        if self.fail_every and self.calls % self.fail_every == 0: raise Busy(0.5 * self.calls)
        return {"id": i, "payload": jnp.arange(4.0) * i}
def retry(times, on):
    def deco(fn):
        @wraps(fn)
        def inner(*a):
            for attempt in range(times):
                try:
                    return fn(*a)
                except on as e:
                    client.slept += e.after
                    last = e
            raise last
        return inner
    return deco
client = Client()
---
@retry(3, Busy)
def fetch(i):
    return client.get(i)
rows = [fetch(i) for i in range(5)]
payload = jnp.stack([r["payload"] for r in rows])
gram = payload @ payload.T
total = jnp.trace(gram)
ok = fetch.__name__, client.calls, client.slept
try:
    client.fail_every = 1
    fetch(99)
except Busy as e:
    err = f"{type(e).__name__}: {e}"
    total = total + e.after
finally:
    client.fail_every = 3
print(ok, err, total)
---
client = Client(2)
---
client.calls = 0; client.fail_every = 0
---
def retry(times, on): return lambda fn: fn

### iaw-polynomial-class-with-operators-and-memo
class Poly:
    cache = {}
    __slots__ = ("c", "name")
    def __init__(self, c, name="p"): self.c, self.name = jnp.atleast_1d(jnp.asarray(c, float)), name
    def __call__(self, x): return jnp.polyval(self.c, x)
    def __add__(self, o): return Poly(jnp.polyadd(self.c, o.c if isinstance(o, Poly) else o), f"({self.name}+{getattr(o, 'name', o)})")
    __radd__ = __add__
    def __mul__(self, o): return Poly(jnp.polymul(self.c, o.c), self.name + o.name)
    def __neg__(self): return Poly(-self.c, "-" + self.name)
    def __getitem__(self, k): return self.c[-1 - k]
    def __len__(self): return len(self.c)
    def __eq__(self, o): return isinstance(o, Poly) and len(self) == len(o) and bool((self.c == o.c).all())
    __hash__ = None
    def d(self):
        if self.name not in Poly.cache: Poly.cache[self.name] = Poly(jnp.polyder(self.c), self.name + "'")
        return Poly.cache[self.name]
    def __repr__(self): return f"<{self.name} of degree {len(self) - 1}>"
p, q = Poly([1, 0, -2], "p"), Poly([1, 3], "q")
x0 = 1.0
---
s = sum([p, q], Poly([0.0], "0"))
prod = p * q
again = p * q
x = x0
for _ in range(4):
    x = x - p(x) / p.d()(x)
roots = jnp.roots(p.c, strip_zeros=False)
equal, same = prod == again, prod is again
lead = prod[len(prod) - 1]
print(s, -q, equal, same, sorted(Poly.cache), f"{x:.6f}")
x, lead, roots.dtype
---
p = Poly([1.0, 0, -3], "p")
---
Poly.cache.clear()
---
x0 = jnp.array([1.0, 2.0]); q = Poly([1, 2, 3], "q")

### iaw-fsum-mean-median-of-python-statistics
samples = jnp.array([0.1] * 10 + [1e6, -1e6])
bins = [0.0, 0.05, 0.2, 1.0]
---
vals = samples.tolist()
exact = math.fsum(vals)
naive = samples.sum()
med = statistics.median(vals)
mode = statistics.mode([round(v, 1) for v in vals])
pos = [bisect.bisect(bins, v) for v in vals]
counts = Counter(pos)
heap = list(map(abs, vals)); heapq.heapify(heap)
smallest = heapq.nsmallest(2, heap)
digit = jnp.digitize(samples, jnp.array(bins))
assert [int(d) for d in digit] == pos
frac = naive / exact
drift = abs(exact - float(naive))
pairwise = reduce(operator.add, samples)
print(counts.most_common(1), med, mode, smallest, f"{drift:.1e}")
frac, pairwise.weak_type, type(exact)
---
samples = jnp.array([0.25, 0.5, 0.5, 0.75])
---
bins.append(0.6); bins.sort()
---
samples = samples.astype(jnp.int32)

### iaw-nested-functions-of-a-lens-design
Surface = namedtuple("Surface", ["radius", "gap", "index"])
lens = [Surface(50.0, 5.0, 1.52), Surface(-50.0, 0.0, 1.0)]
heights = jnp.linspace(1.0, 5.0, 4)
def refract(n1, n2):
    def apply(state, s):
        y, u = state
        power = (n2 - n1) / s.radius
        u2 = (n1 * u - y * power) / n2
        return y + s.gap * u2, u2
    return apply
---
def trace(heights, lens):
    state, n, path = (heights, jnp.zeros_like(heights)), 1.0, []
    for s in lens:
        state = refract(n, s.index)(state, s)
        n = s.index
        path.append(state[0])
    return state, path
(y, u), path = trace(heights, lens)
bfl = -y / u
spread = bfl.max() - bfl.min()
def merit(radii):
    l2 = [s._replace(radius=r) for s, r in zip(lens, radii)]
    (y, u), _ = trace(heights, l2)
    return jnp.mean((-y / u - 60.0) ** 2)
radii = [s.radius for s in lens]
g = jax.grad(merit)(radii)
new = [s._replace(radius=s.radius - 1e-2 * gi) for s, gi in zip(lens, g)]
print([type(v).__name__ for v in g], f"{bfl[0]:.2f}", len(path))
new[0].radius, g[0].weak_type, spread
---
lens.insert(1, Surface(200.0, 2.0, 1.6))
---
heights = heights[:2]
---
lens = [s._replace(radius=jnp.float32(s.radius)) for s in lens]

### iaw-mixed-python-and-array-scores-table
scores = {"ann": [90, 80.5, None], "bob": [70, None, 88], "cyd": [100, 95, 92]}
weights = (0.2, 0.3, 0.5)
curve = True
---
arr = jnp.array([[np.nan if v is None else v for v in row] for row in scores.values()])
w = jnp.where(jnp.isnan(arr), 0, jnp.array(weights))
final = jnp.nansum(arr * w, 1) / w.sum(1)
if curve:
    final = final + (95 - final.max())
letters = ["F" if f < 60 else "DCBA"[min(int((f - 60) // 10), 3)] for f in final]
rank = jnp.argsort(-final, stable=True)
names = list(scores)
for place, i in enumerate(rank, start=1):
    print(f"{place}. {names[i]:<5}{final[i]:6.1f} {letters[i]}")
gaps = {a: b for a, b in zip(names, jnp.isnan(arr).sum(1))}
top = names[rank[0]]
best, *others = final
quart = jnp.nanpercentile(arr, jnp.array([25, 75]), axis=0)
top, best, len(others), quart.shape
---
curve = False
---
scores["dee"] = [None, None, 60]
---
weights = (1, 0, 0)
---
scores["ann"][2] = 10; scores.pop("bob")

### iaw-global-step-counter-and-scheduler-closure
step = 0
def make_scheduler(base, warm=2):
    calls = []
    def rate():
        global step
        step += 1
        calls.append(step)
        return base * min(1.0, step / warm) / math.sqrt(max(step, warm))
    rate.calls = calls
    return rate
rate = make_scheduler(0.5)
w = jnp.array([3.0, -4.0])
---
for _ in range(3):
    g = jax.grad(lambda w: 0.5 * jnp.vdot(w, w))(w)
    lr = rate()
    w = w - lr * g
    if step % 2 == 0:
        print(step, f"{lr:.4f}", w)
size = jnp.linalg.norm(w)
history = rate.calls[-3:]
size, lr, step
---
rate = make_scheduler(jnp.float32(0.1), warm=5)
---
step = 0
---
w = np.array([1.0, 1.0]); rate.calls.clear()

### iaw-lazy-dataset-getitem-slices-and-iter
class Signals:
    def __init__(self, n, length=8): self.n, self.length, self.made = n, length, 0
    def __len__(self): return self.n
    def __getitem__(self, i):
        if isinstance(i, slice): return jnp.stack([self[j] for j in range(*i.indices(self.n))])
        if i < 0: i += self.n
        if not 0 <= i < self.n: raise IndexError(f"no signal {i}")
        self.made += 1
        return jnp.sin(jnp.arange(self.length) * (i + 1) / 3)
    def __contains__(self, x): return any(bool(jnp.allclose(x, s)) for s in self)
ds = Signals(5)
window = jnp.hanning(8)
---
first, last = ds[0], ds[-1]
stack = ds[1:4]
n_iter = sum(1 for _ in ds)
power = jnp.abs(jnp.fft.rfft(stack * window)) ** 2
dominant = power.argmax(-1)
has = last in ds
total = sum(s.sum() for s in ds)
try:
    ds[17]
except IndexError as e:
    message = str(e)
made = ds.made
print(n_iter, dominant.tolist(), has, made, message)
total, len(list(reversed(ds)))
---
ds.n = 6
---
window = jnp.ones(8)
---
ds = Signals(4, length=12); window = jnp.bartlett(12)

### iaw-sharded-stencil-with-halo-and-report devices=8
mesh = jax.make_mesh((4,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
grid0 = np.zeros((8, 6), np.float32); grid0[3, 2] = 100
alpha, n_steps = 0.1, 3
names = {0: "cold", 1: "warm"}
---
u = jax.device_put(grid0, NamedSharding(mesh, P("rows", None)))
def lap(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) - 4 * u
energies = []
for k in range(n_steps):
    u = u + alpha * lap(u)
    energies.append(jnp.sum(u))
per_row = u.sum(axis=1)
where = [names[int(u[r].max() > 1)] for r in range(0, 8, 4)]
local = [(s.index[0].start or 0, float(s.data.max())) for s in u.addressable_shards]
gathered = np.asarray(u)
total = jnp.stack(energies)
print(u.sharding.spec, per_row.sharding.is_fully_replicated, where, [r for r, _ in local])
per_row
---
alpha = 0.2
---
grid0[0, 0] = 50; n_steps = 1
---
mesh = jax.make_mesh((2,), ("rows",), axis_types=(jax.sharding.AxisType.Auto,))
---
grid0 = np.ones((8, 3), np.float16)

### iaw-two-stage-fit-fails-on-singular-then-retried
data = {"x": np.array([1.0, 2.0, 3.0, 4.0]), "y": np.array([2.0, 4.1, 6.2, 7.9])}
class FitError(ValueError): pass
results = {"attempts": 0, "log": []}
deg = 1
def solve(A, y, tol=1e-4):
    s = jnp.linalg.svd(A, compute_uv=False)
    if s[-1] / s[0] < tol:
        raise FitError(f"condition {A.shape}")
    return jnp.linalg.lstsq(A, y)[0]
---
results["attempts"] += 1
A = jnp.vander(jnp.asarray(data["x"]), deg + 1)
results["log"].append(A.shape)
coef = solve(A, data["y"])
pred = A @ coef
results["coef"] = coef
rss = jnp.sum((data["y"] - pred) ** 2)
print("attempt", results["attempts"], f"rss {rss:.3f}")
rss
---
data["x"][:] = 2.0
---
deg = 0
---
data["x"] = np.arange(4.0); deg = 2
---
data["y"] = data["y"][:3]

### iaw-trapped-context-stack-of-temporaries
class Units:
    current = "SI"
    factors = {"SI": 1.0, "cgs": 100.0}
@contextlib.contextmanager
def units(name):
    old, Units.current = Units.current, name
    try:
        yield Units.factors[name]
    finally:
        Units.current = old
@contextlib.contextmanager
def timed(label, log=[]):
    log.append(label)
    yield log
lengths = jnp.array([1.0, 2.5])
asked = ["cgs", "SI"]
---
out = {}
for name in asked:
    with units(name) as f, timed(name) as log:
        out[name, Units.current] = lengths * f
with contextlib.ExitStack() as stack:
    fs = [stack.enter_context(units(n)) for n in asked]
    inner = Units.current
    area = jnp.prod(lengths) * reduce(operator.mul, fs)
with contextlib.suppress(KeyError), units("furlong"):
    area = area * 0
with contextlib.redirect_stdout(io.StringIO()) as text:
    print("area", area.shape)
said = text.getvalue()
print(inner, Units.current, len(log), sorted(out))
area, said
---
asked.append("cgs")
---
Units.factors["furlong"] = 0.005
---
lengths = lengths.astype(jnp.float16); Units.current = "cgs"

### iaw-simulated-annealing-tsp-with-random-module
cities = jnp.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 1.6]], jnp.float32)
temp, cooling, iters = 1.0, 0.8, 12
def tour_length(order):
    pts = cities[jnp.array(order)]
    return jnp.linalg.norm(pts - jnp.roll(pts, -1, axis=0), axis=1).sum()
---
rnd = random.Random(4)
order = list(range(len(cities)))
rnd.shuffle(order)
cur = best = tour_length(order)
best_order, accepted, T = order[:], 0, temp
for it in range(iters):
    i, j = sorted(rnd.sample(range(len(order)), 2))
    cand = order[:i] + order[i:j + 1][::-1] + order[j + 1:]
    new = tour_length(cand)
    if new < cur or rnd.random() < math.exp(-(new - cur) / T):
        order, cur = cand, new
        accepted += 1
    if cur < best:
        best, best_order = cur, list(order)
    T *= cooling
start = best_order.index(0)
canonical = best_order[start:] + best_order[:start]
gap = cur - best
print(canonical, accepted, f"{best:.3f} {T:.4f}")
best, gap
---
cities = cities.at[4].set(jnp.array([2.0, 0.5]))
---
iters = 5; cooling = 0.5
---
cities = jnp.concatenate([cities, jnp.array([[0.3, 0.3]])])

### iaw-numpy-functions-on-jax-arrays-kinds-of-result
x = jnp.array([[3.0, 1.0, 2.0], [0.5, 4.0, 1.5]])
digits, axis = 1, 0
---
total = np.sum(x)
mean = np.mean(x, axis=axis)
spread = np.std(x)
rounded = np.round(x / 3, digits)
clipped = np.clip(x, 1, 3)
order = np.argsort(x, axis=-1)
run = np.cumsum(x, axis=1)
flat = np.ravel(x)
back = np.transpose(x)
sine = np.sin(x)
prod = np.dot(x, back)
biggest = np.max(x, axis=axis)
ratio = np.exp(x) / jnp.exp(x)
outer = np.multiply.outer(flat[:2], flat[:2])
both = np.concatenate([x, np.ones((1, 3), np.float32)])
picked = np.take(x, [0, 2], axis=1)
where = np.where(x > 1, x, 0.0)
kinds = {n: type(v).__module__.split(".")[0] for n, v in list(globals().items()) if n in (
    "total", "mean", "spread", "rounded", "clipped", "order", "run", "flat", "back", "sine", "prod", "biggest", "ratio", "picked", "where")}
print(sorted(kinds.items()))
total, order.dtype, where.dtype, ratio.dtype
---
axis = 1
---
x = x.astype(jnp.bfloat16)
---
x = jnp.arange(6).reshape(2, 3); digits = 0

### iaw-scalars-as-python-uses-them
n = jnp.array(3); f = jnp.float32(2.5); labels = ["lo", "mid", "hi", "top"]
v = jnp.array([2.0, 7.0, 5.0])
---
name = labels[n]
bar = "#" * int(n) + "." * (5 - n.item())
q, r = divmod(v, 2)
up = math.ceil(f), math.floor(f), round(f), round(f, 1)
chain = 1 < f < n
either = (f > 9) or (n - 3) or v[0]
both = f and v[1]
low = min(f, v[0], n)
high = max(v)
a, *rest = v
ordered = sorted(v, key=lambda e: -e)
by = {int(k): e for k, e in zip(v, ordered)}
text = f"{n:03d} {f:+.1e} {n!r} {v[0]:>8.2f}" + " %d %s" % (n, f)
idx = [i for i in range(n) if v[i] > f]
acc = 0
for e in v:
    acc += e
powers = 2 ** n, n ** 2, pow(f, 2), -n // 2, ~n, n << 1, bool(n), abs(-f), +f
print(name, bar, up, bool(chain), text, idx, sep="|")
either, both is v[1], low, acc.weak_type, [type(p).__name__ for p in powers]
---
n = jnp.array(1, jnp.uint8)
---
f = jnp.array(0.0)
---
v = v.astype(jnp.int16) - 4; f = jnp.bfloat16(1.5)
---
n = jnp.array(9)

### iaw-scipy-minimise-with-callback-and-trust-region-jac-hess needs=scipy
from scipy import optimize
target = np.array([1.0, 2.0])
def rosen(p): return 100.0 * (p[1] - p[0] ** 2) ** 2 + (target[0] - p[0]) ** 2
method, p0 = "trust-ncg", np.array([0.5, 0.5])
---
evals = Counter()
path = []
def fun(p):
    evals["f"] += 1
    return float(rosen(jnp.asarray(p)))
def jac(p):
    evals["g"] += 1
    return np.asarray(jax.grad(rosen)(jnp.asarray(p)), dtype=np.float64)
hess = lambda p: np.asarray(jax.hessian(rosen)(jnp.asarray(p)), np.float64)
res = optimize.minimize(fun, p0, jac=jac, hess=hess if method != "BFGS" else None, method=method,
                        callback=lambda xk: path.append(xk.copy()), options={"maxiter": 6})
pts = jnp.stack([jnp.asarray(p) for p in path])
steps = jnp.linalg.norm(jnp.diff(pts, axis=0), axis=1)
vals = jax.vmap(rosen)(pts)
cond = jnp.linalg.cond(jax.hessian(rosen)(pts[-1]))
print(res.nit, len(path), evals["f"] > 0, bool((jnp.diff(vals) <= 1e-3).all()))
pts.shape, cond > 10
---
p0 = np.array([1.2, 1.2])
---
target[0] = 0.5
---
def rosen(p): return jnp.sum((p - target) ** 2) + 1.0 * p[0]

### iaw-solve-ivp-jax-rhs-events-and-dense needs=scipy
from scipy.integrate import solve_ivp
class Pendulum:
    calls = 0
    def __init__(self, length, damping): self.length, self.damping = length, damping
    @property
    def omega2(self): return 9.81 / self.length
    def rhs(self, t, y):
        type(self).calls += 1
        return np.asarray(jnp.stack([y[1], -self.omega2 * jnp.sin(y[0]) - self.damping * y[1]]))
    def energy(self, y): return 0.5 * y[1] ** 2 + self.omega2 * (1 - jnp.cos(y[0]))
pend = Pendulum(1.0, 0.2)
t_end, angle = 2.0, 0.5
---
def crossing(t, y): return y[0]
crossing.direction = -1
sol = solve_ivp(pend.rhs, (0, t_end), [angle, 0.0], events=crossing, dense_output=True, rtol=1e-3, max_step=0.25)
t = np.linspace(0, t_end, 9)
y = jnp.asarray(sol.sol(t))
E = jax.vmap(pend.energy, in_axes=1)(y)
lost = (E[0] - E[-1]) / E[0]
J = jax.jacfwd(lambda y: jnp.stack([y[1], -pend.omega2 * jnp.sin(y[0]) - pend.damping * y[1]]))(y[:, 0])
eig = jnp.linalg.eigvals(J)
calls, Pendulum.calls = Pendulum.calls, 0
print(len(sol.t_events[0]), f"{lost:.3f}", sol.status, eig.dtype, calls == sol.nfev)
J.shape, jnp.real(eig).max() < 0
---
pend.damping = 0.0
---
pend.length = jnp.float32(0.5)
---
angle, t_end = 1.5, 1.0

### iaw-rolling-apply-and-transform-of-frames-by-jax
import pandas as pd
df = pd.DataFrame({"g": list("xyxyxyxy"), "v": np.arange(8.0) ** 1.5, "w": [1, 2] * 4}, index=pd.RangeIndex(10, 18))
span, robust = 3, True
---
def mad(a): return jnp.median(jnp.abs(a - jnp.median(a)))
scale = mad if robust else jnp.std
df["roll"] = df["v"].rolling(span).apply(lambda a: float(scale(jnp.asarray(a))), raw=True)
df["z"] = df.groupby("g")["v"].transform(lambda s: np.asarray((s.to_numpy() - jnp.mean(s.to_numpy())) / (scale(jnp.asarray(s.to_numpy())) + 1e-6)))
df["jx"] = jnp.asarray(df["w"].values) * 2
row = df.apply(lambda r: float(jnp.hypot(r["v"], r["w"])), axis=1)
picked = df.query("w > 1 and z > -5")
M = jnp.asarray(df[["v", "w", "jx"]].to_numpy(dtype=np.float32))
corr = pd.DataFrame(np.asarray(jnp.corrcoef(M, rowvar=False)), columns=list("vwj"), index=list("vwj"))
agg = df.groupby("g").agg(total=("v", "sum"), mad=("v", lambda s: mad(s.to_numpy()).item()))
share = jax.nn.softmax(jnp.array(agg["total"]) / 10)
agg = agg.assign(share=np.asarray(share))
print(df.dtypes.astype(str).to_dict(), len(picked), agg.round(2).to_dict("list"))
row.iloc[-1] > 1, corr.shape, share
---
robust = False
---
df.loc[12, "v"] = 100.0
---
df = df.drop(columns=["roll", "z", "jx"]).iloc[::2]; span = 2

### iaw-matplotlib-artists-read-back-into-arrays needs=matplotlib tolerance=1e-3
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
x = jnp.linspace(0, 2 * jnp.pi, 16); order = 3; style = {"lw": 2, "label": "sum"}
---
fig, (ax, ax2) = plt.subplots(1, 2, figsize=(4, 2))
partial_sums, y = [], jnp.zeros_like(x)
for k in range(1, order + 1):
    y = y + jnp.sin((2 * k - 1) * x) / (2 * k - 1)
    (line,) = ax.plot(x, y, alpha=k / order)
    partial_sums.append(y)
line.set(**style)
err = jnp.abs(4 / jnp.pi * y - jnp.sign(jnp.sin(x)))
counts, edges, bars = ax2.hist(np.asarray(err), bins=4)
ax.set_title(f"Gibbs {float(err.max()):.3f}")
ax.annotate("peak", xy=(float(x[jnp.argmax(y)]), float(y.max())))
lo, hi = ax.get_ylim()
data = line.get_ydata()
read = jnp.asarray(data)
widths = jnp.diff(jnp.asarray(edges))
buf = io.BytesIO(); fig.savefig(buf, format="png", dpi=40); size_ok = buf.tell() > 500
buf.close(); plt.close(fig)
title, n_lines = ax.get_title(), len(ax.lines)
labels = [t.get_text() for t in ax.texts]
del fig, ax, ax2, line, bars, buf, data
print(title, n_lines, labels, size_ok, counts.sum(), round(hi - lo, 1))
read.dtype, widths.sum(), len(partial_sums)
---
order = 2
---
x = jnp.linspace(0, 1, 8)
---
style["label"] = "x"; style["lw"] = 1; order = 4

### iaw-einsum-network-with-paths-index-tricks-and-ix
rng = np.random.default_rng(4)
T = {"a": rng.normal(size=(2, 3)), "b": rng.normal(size=(3, 4)), "c": rng.normal(size=(4, 2))}
expr = "ij,jk,ki->"
---
ops = [jnp.asarray(t) for t in T.values()]
path, info = jnp.einsum_path(expr, *ops)
value = jnp.einsum(expr, *ops).sum()
check = jnp.trace(reduce(jnp.matmul, ops))
rows, cols = jnp.ix_(jnp.array([0, 2]), jnp.array([1, 3]))
sub = ops[1][rows, cols]
big = jnp.block([[sub, jnp.zeros((2, 1))], [jnp.ones((1, 2)), jnp.full((1, 1), value)]])
col = jnp.c_[ops[0][:, 0], jnp.r_[1.0, 2]]
gx, gy = jnp.meshgrid(jnp.arange(3), jnp.arange(2), indexing="ij")
og = jnp.ogrid[0:3, 0:2]
dist = jnp.hypot(*og)
parts = jnp.array_split(jnp.arange(7), 3)
sizes = [len(p) for p in parts]
pw = jnp.piecewise(col, [col < 0, col >= 0], [lambda z: -z, lambda z: z * 2])
sel = jnp.select([gx > 1, gy > 0], [gx * 10, gy * 100], default=-1)
grads = jnp.gradient(big, axis=0)
u, inv, cnt = jnp.unique(sel, return_inverse=True, return_counts=True)
print(path, "Complete contraction" in str(info), sizes, u.tolist(), type(og).__name__)
abs(value - check) < 1e-4, dist.dtype, sel.dtype, pw.dtype, inv.shape, grads.shape
---
T["b"][:] = 1
---
expr = "ij,jk,ki->j"
---
T["a"] = T["a"].astype(np.float16)

### iaw-bank-of-filters-partialmethod-and-dispatch
from functools import singledispatch, partialmethod
@singledispatch
def describe(x): return f"object {type(x).__name__}"
@describe.register
def _(x: float): return f"float {x:.2f}"
@describe.register(jax.Array)
def _(x): return f"array {x.dtype}{list(x.shape)}"
@describe.register
def _(x: np.ndarray): return f"numpy {x.dtype}"
@describe.register(list)
def _(x): return [describe(e) for e in x]
class Filter:
    bank = {}
    def __init_subclass__(cls, /, key=None, **kw): super().__init_subclass__(**kw); Filter.bank[key or cls.__name__.lower()] = cls
    def apply(self, x, mode, gain=1.0): return gain * jnp.convolve(x, self.taps, mode=mode)
    same = partialmethod(apply, mode="same")
    full = partialmethod(apply, mode="full", gain=0.5)
class Box(Filter): taps = jnp.ones(3) / 3
class Diff(Filter, key="d"):
    @property
    def taps(self): return jnp.array([1.0, -1.0])
sig = jnp.sin(jnp.arange(10.0))
---
class Ramp(Filter):
    taps = np.arange(4.0)
outs = {k: f().same(sig) for k, f in Filter.bank.items()}
longest = max((f().full(sig) for f in Filter.bank.values()), key=len)
said = describe([sig, 2.0, np.ones(2), outs["d"].sum(), 3, longest[0] * 2])
energy = {k: describe(float((v ** 2).sum())) for k, v in outs.items()}
stack = jnp.stack(list(outs.values()))
print(said, energy, list(Filter.bank), sep="\n")
stack.dtype, Ramp.__mro__[1] is Filter, len(Filter.__subclasses__()) >= 3
---
Box.taps = jnp.ones(5) / 5
---
sig = sig[:6].astype(jnp.float16)
---
@describe.register(jax.Array)
def _(x): return f"ARRAY {x.ndim}"

### iaw-dataclass-tree-deepcopy-asdict-eq-order
@dataclass(order=True)
class Peak:
    height: float
    where: tuple = field(compare=False, default=())
    tags: list = field(compare=False, default_factory=list, repr=False)
@dataclass
class Spectrum:
    y: jax.Array
    peaks: list[Peak] = field(default_factory=list)
    meta: dict = field(default_factory=dict)
    def find(self, thr):
        inner = (self.y[1:-1] > self.y[:-2]) & (self.y[1:-1] > self.y[2:]) & (self.y[1:-1] > thr)
        for i in jnp.flatnonzero(inner) + 1:
            self.peaks.append(Peak(float(self.y[i]), (int(i),), ["auto"]))
        return self
spec = Spectrum(jnp.array([0.0, 1, 0.2, 3, 0.1, 2, 0]), meta={"src": "lab", "gain": jnp.float32(2)})
thr = 0.5
---
spec.peaks.clear()
found = spec.find(thr)
top = max(spec.peaks)
plain = asdict(spec)
twin = copy.deepcopy(spec)
shallow = copy.copy(spec)
other = replace(spec, y=spec.y * spec.meta["gain"], peaks=[])
other.find(thr)
shared = shallow.peaks is spec.peaks, twin.y is spec.y, plain["y"] is spec.y, plain["meta"]["gain"] is spec.meta["gain"], found is spec
ranked = sorted(spec.peaks + other.peaks, reverse=True)
try:
    equal = spec == twin
except ValueError as e:
    equal = type(e).__name__
twin.meta["src"] = "copy"
print(top, shared, equal, [p.height for p in ranked[:3]], spec.meta["src"], len(plain["peaks"]))
other.y.sum(), Peak(3.0) == Peak(3.0, (1,))
---
thr = 1.5
---
spec.meta["gain"] = 3
---
spec.y = spec.y[:5]; spec.meta.pop("src"); spec.meta["src"] = None

### iaw-tree-utilities-structures-paths-and-transposes
Cfg = namedtuple("Cfg", "lr name")
from jax.flatten_util import ravel_pytree
tree = {"w": jnp.ones((2, 2)), "b": None, "cfg": Cfg(0.1, "net"), "hist": [1, 2.0, jnp.int32(3)], "ord": OrderedDict(z=jnp.zeros(1), a=np.ones(2))}
---
leaves, treedef = jax.tree.flatten(tree, is_leaf=lambda v: isinstance(v, str))
names = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path(tree)]
numbers = jax.tree.map(lambda v: v * 2 if not isinstance(v, str) else v.upper(), tree)
count = treedef.num_leaves
again = treedef.unflatten(leaves)
same = again["w"] is tree["w"], again["ord"]["a"] is tree["ord"]["a"], again["cfg"] == tree["cfg"]
arrays = jax.tree.leaves(jax.tree.map(lambda v: v if isinstance(v, (jax.Array, np.ndarray)) else None, tree))
total = sum(jnp.sum(a) for a in arrays)
flat, unravel = ravel_pytree({"w": tree["w"], "z": tree["ord"]["z"]})
moved = unravel(flat + 1)
stacked = jax.tree.map(lambda *xs: jnp.stack(xs), moved, unravel(flat * 0))
per = [jax.tree.map(operator.itemgetter(i), stacked) for i in range(2)]
outer = jax.tree.transpose(jax.tree.structure([0, 0]), jax.tree.structure({"w": 0, "z": 0}), per)
biggest = jax.tree.reduce(lambda a, b: jnp.maximum(a, jnp.max(b)), moved, -jnp.inf)
text = str(jax.tree.structure(outer))
print(count, names[:3], same, text, len(arrays))
numbers["hist"], total, biggest, jax.tree.all({"a": True, "b": jnp.array(True)})
---
tree["b"] = jnp.zeros(3)
---
tree["cfg"] = tree["cfg"]._replace(lr=1, name="Other")
---
tree["ord"].move_to_end("z"); tree["hist"].append(np.float32(1.5))

### iaw-jit-tools-lower-compile-eval-shape-typeof
def kern(x, y, *, gamma=1.0, kind="rbf"):
    d2 = jnp.sum((x[:, None] - y[None]) ** 2, -1)
    return jnp.exp(-gamma * d2) if kind == "rbf" else 1 / (1 + gamma * d2)
x = jnp.linspace(0, 1, 6).reshape(3, 2); gamma, kind = 2.0, "rbf"
---
fast = jax.jit(kern, static_argnames="kind")
K = fast(x, x, gamma=gamma, kind=kind)
shape = jax.eval_shape(partial(kern, gamma=gamma), x, jax.ShapeDtypeStruct((5, 2), jnp.float32))
compiled = fast.lower(x, x, gamma=gamma, kind=kind).compile()
K2 = compiled(x, x, gamma=gamma)
prims = Counter(e.primitive.name for e in jax.make_jaxpr(kern)(x, x).eqns)
kind_of = str(jax.typeof(K)), jax.typeof(K[0, 0]).weak_type
vg = jax.value_and_grad(lambda g: kern(x, x, gamma=g, kind=kind).sum())(gamma)
lin = jax.linearize(lambda x: kern(x, x).sum(), x)
jv = lin[1](jnp.ones_like(x))
tree = jax.tree_util.Partial(kern, gamma=gamma)
ahead = jax.jit(lambda f, x: f(x, x))(tree, x)
print(shape, kind_of, prims["exp"], fast.__name__, fast.__wrapped__ is kern)
vg, jv, (K == K2).all(), ahead.shape
---
kind = "rq"
---
gamma = jnp.float32(0.5)
---
x = x[:2]
---
def kern(x, y, *, gamma=1.0, kind="rbf"): return gamma * x @ y.T

### iaw-errors-of-users-caught-and-tabulated
x = jnp.arange(4.0); table = {"k": 1}
class Bad:
    def __array__(self, dtype=None, copy=None): raise TypeError("not numeric")
    def __float__(self): raise OverflowError("too big")
tries = {
    "setitem": lambda: x.__setitem__(0, 1.0), "shape": lambda: x + jnp.ones(3), "key": lambda: table["missing"],
    "attr": lambda: x.fill(0), "bool": lambda: bool(x > 1), "convert": lambda: jnp.asarray(Bad()), "reshape": lambda: x.reshape(3, 2),
    "index": lambda: [1, 2][int(x[3])], "zero": lambda: 1 // int(x[0]), "axis": lambda: x.sum(axis=2), "ok": lambda: x.sum(),
}
skip = set()
---
outcome, kept = {}, []
for name, attempt in tries.items():
    if name in skip:
        continue
    try:
        val = attempt()
    except (TypeError, ValueError) as e:
        outcome[name] = type(e).__name__
    except LookupError as e:
        outcome[name] = repr(e)
    except Exception as e:
        outcome[name] = str(e)[:40]
    else:
        kept.append(val)
        outcome[name] = "fine"
    finally:
        table["tried"] = table.get("tried", 0) + 1
mean = sum(kept) / len(kept)
print(json.dumps(outcome, indent=0))
mean, table["tried"], "e" in globals()
---
skip = {"zero", "bool"}
---
x = jnp.ones(3)
---
table = {"missing": 5}; tries["new"] = lambda: jnp.linalg.inv(x)

### iaw-random-distributions-named-and-sampled-in-a-table
seed, n = 42, 200
dists = {"normal": {}, "gamma": {"a": 2.0}, "poisson": {"lam": 3.0}, "bernoulli": {"p": 0.3}, "choice": {"a": 5}, "dirichlet": {"alpha": jnp.ones(2)}}
---
keys = dict(zip(dists, jr.split(jr.key(seed), len(dists))))
rows = []
for name, kw in dists.items():
    s = getattr(jr, name)(keys[name], **kw, shape=(n,))
    rows.append((name, s.dtype.name, s.shape[1:], jnp.mean(s, dtype=jnp.float32), jnp.percentile(s.astype(jnp.float32), 90)))
width = max(map(len, dists))
for name, dt, tail, m, p90 in rows:
    print(f"{name:<{width}} {dt:<8}{str(tail):<6}{m:8.2f}{p90:8.2f}")
data = jr.key_data(keys["normal"])
rebuilt = jr.wrap_key_data(data)
same = (jr.uniform(rebuilt) == jr.uniform(keys["normal"])).item()
boot = jax.vmap(lambda k: jr.choice(k, jnp.array([r[3] for r in rows]), (3,)).mean())(jr.split(rebuilt, 4))
folded = jr.fold_in(rebuilt, 7)
bits = jr.bits(folded, (2,), jnp.uint8)
impl = str(jr.key_impl(folded))
same, boot.std() > 0, impl, bits.dtype, keys["normal"].dtype
---
seed = 43
---
dists["exponential"] = {}; n = 50
---
dists = {"truncated_normal": {"lower": -1, "upper": 2}, "normal": {"dtype": jnp.float16}}

### iaw-device-juggling-of-a-small-pipeline devices=4
d = jax.devices()
x = np.arange(8, dtype=np.float32)
stages = [(0, lambda a: a * 2), (1, jnp.sin), (2, lambda a: a.reshape(2, 4).sum(1))]
final = 3
---
cur, homes, kept = jnp.asarray(x), [], []
for dev, fn in stages:
    cur = fn(jax.device_put(cur, d[dev]))
    homes.append({q.id for q in cur.devices()})
    kept.append(cur)
loose = jnp.ones(2)
mixed = loose + cur
with jax.default_device(d[final]):
    made = jnp.arange(2.0)
    added = made * 3
moved = jax.device_put(cur, made.sharding)
pulled = jax.device_put(added, d[0]) + kept[0][:2]
tree = jax.device_put({"a": kept[0], "b": 1.5}, d[1])
again = jax.device_put(kept[1], d[1])
flags = [a._committed for a in (mixed, made, added, moved, pulled, tree["b"], again)]
try:
    clash = kept[0] + kept[1]
except ValueError as e:
    clash = "incompatible devices" in str(e)
host = [np.asarray(a) for a in kept]
print(homes, flags, clash, tree["b"].weak_type, again is kept[1])
moved.sharding == made.sharding, mixed
---
final = 1
---
stages.append((0, jnp.cumsum))
---
x = jax.device_put(x, d[2])[:8]; stages = stages[::-1][1:]

### iaw-explicit-mesh-types-in-a-matmul-chain devices=8
from jax.sharding import AxisType
mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Explicit))
A0 = np.arange(32, dtype=np.float32).reshape(4, 8) / 10; B0 = np.ones((8, 4), np.float32)
out_spec = P("x", None)
---
with jax.set_mesh(mesh):
    A = jax.device_put(A0, P("x", None))
    B = jax.device_put(B0, P(None, "y"))
    C = A @ B
    types = str(jax.typeof(C)), C.sharding.spec
    D = jax.sharding.reshard(C, out_spec)
    row = jnp.sum(D * 2, axis=1)
    col = jnp.max(C, axis=0)
    z = jnp.zeros((4, 4), out_sharding=P("x", "y")) + C
    e = jnp.einsum("ij,kj->ik", D, D, out_sharding=P("x", None))
    fn = jax.jit(lambda a: jnp.tanh(a).T)
    tr = fn(C)
specs = {n: str(v.sharding.spec) for n, v in {"D": D, "row": row, "col": col, "z": z, "e": e, "tr": tr}.items()}
total = jnp.asarray(np.asarray(row)).sum()
print(types, specs)
total, tr.shape
---
out_spec = P(None, "y")
---
A0 = A0 * -1; B0 = B0[:, :4].astype(np.int32)
---
mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit, AxisType.Explicit)); out_spec = P()

### iaw-custom-vjp-with-python-logger-and-cached-consts
log = logging.getLogger("iaw.prox"); log.setLevel(logging.INFO)
consts = {"eps": 1e-3, "power": 2}
@lru_cache(maxsize=None)
def stencil(n): return jnp.eye(n) - jnp.eye(n, k=1)
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def tv(x, eps): return jnp.sum(jnp.sqrt((stencil(len(x)) @ x) ** consts["power"] + eps))
def fwd(x, eps):
    log.info("forward of %d", len(x))
    return tv(x, eps), (x,)
def bwd(eps, res, ct):
    (x,) = res
    S = stencil(len(x)); d = S @ x
    log.info("backward, eps %g", eps)
    return (ct * S.T @ (d / jnp.sqrt(d ** 2 + eps)),)
tv.defvjp(fwd, bwd)
noisy = jnp.array([0.0, 0.1, -0.1, 1.0, 1.1, 0.9])
lam, iters = 0.1, 3
---
u = noisy
for k in range(iters):
    g = jax.grad(lambda u: 0.5 * jnp.sum((u - noisy) ** 2) + lam * tv(u, consts["eps"]))(u)
    u = u - 0.3 * g
    log.info("step %d |g|=%.3f", k, jnp.linalg.norm(g))
hits = stencil.cache_info().currsize
num = (tv(u.at[2].add(1e-2), consts["eps"]) - tv(u.at[2].add(-1e-2), consts["eps"])) / 2e-2
ana = jax.grad(tv)(u, consts["eps"])[2]
jumps = jnp.flatnonzero(jnp.abs(jnp.diff(u)) > 0.3).tolist()
print(hits, jumps, f"{abs(num - ana):.3f}")
u[0], ana
---
consts["eps"] = 1e-2
---
noisy = noisy[:5]
---
log.setLevel(logging.WARNING); stencil.cache_clear()

### iaw-bidirectional-iterators-tee-groupby-and-islice
readings = [("a", 1.0), ("a", 2.5), ("b", 0.5), ("b", 4.0), ("b", 2.0), ("c", 7.0)]
window, decay = 2, 0.5
source = iter(readings)
---
stream, spare = itertools.tee(readings)
groups = {k: jnp.array([v for _, v in g]) for k, g in itertools.groupby(stream, key=operator.itemgetter(0))}
means = {k: v.mean() for k, v in groups.items()}
ema = list(itertools.accumulate((v for _, v in spare), lambda s, v: decay * s + (1 - decay) * v, initial=jnp.float32(0)))
peek = next(source, ("end", math.nan))
left = list(itertools.islice(source, 1))
pairs = [b - a for a, b in itertools.pairwise(ema)]
padded = [[x if x is not None else 0.0 for x in col] for col in itertools.zip_longest(*(g.tolist() for g in groups.values()))]
mat = jnp.array(padded)
combos = {a + b: jnp.abs(means[a] - means[b]) for a, b in itertools.combinations(means, 2)}
far = max(combos, key=combos.get)
chained = jnp.concatenate(list(itertools.chain.from_iterable([v, v[::-1]] for v in groups.values())))
strided = [chained[i:i + window].max() for i in range(0, len(chained) - window + 1, window)]
mask = list(itertools.compress(groups, (m > 2 for m in means.values())))
print(peek, left, far, mask, len(strided), mat.shape)
ema[-1], combos[far], pairs[0].weak_type, type(ema[0]).__name__
---
decay = 0.9
---
source = iter(readings[::-1]); readings.append(("c", 1.0))
---
readings = readings[2:]; window = 3

### iaw-class-with-setters-validating-and-lazily-rebuilding
class Grid:
    instances = []
    def __init__(self, n, length=1.0):
        self._n, self._length, self._stale, self.rebuilds = n, length, True, 0
        Grid.instances.append(self)
    @property
    def n(self): return self._n
    @n.setter
    def n(self, v):
        if v < 2: raise ValueError(f"n must be >= 2, got {v}")
        self._n, self._stale = v, True
    @property
    def length(self): return self._length
    @length.setter
    def length(self, v): self._length, self._stale = float(v), True
    @length.deleter
    def length(self): self._length = 1.0
    @property
    def lap(self):
        if self._stale:
            self.rebuilds += 1
            h = self._length / (self._n - 1)
            self._lap = (jnp.diag(jnp.ones(self._n - 1), 1) + jnp.diag(jnp.ones(self._n - 1), -1) - 2 * jnp.eye(self._n)) / h ** 2
            self._stale = False
        return self._lap
    def __getattr__(self, name):
        if name.startswith("mode"): return jnp.sin(int(name[4:]) * jnp.pi * jnp.linspace(0, 1, self._n))
        raise AttributeError(name)
grid = Grid(6)
want, mode = 2.0, 1
---
grid.length = want
before = grid.lap
v = getattr(grid, f"mode{mode}")
ray = (v @ grid.lap @ v) / (v @ v)
grid.n = grid.n
after = grid.lap
eigs = jnp.linalg.eigvalsh(after)
msg = None
try:
    grid.n = 1
except ValueError as e:
    msg = str(e)
has = hasattr(grid, "nothing"), hasattr(grid, "mode3")
print(grid.rebuilds, before is after, msg, has, len(Grid.instances), f"{ray:.3f}")
eigs[0], grid.length
---
grid.n = 5
---
want = 3
---
del grid.length; mode = 2; grid._stale = False

### iaw-linear-operator-class-cg-callback-from-scipy needs=scipy
from scipy.sparse.linalg import LinearOperator, cg
from scipy import ndimage, stats, special
img = np.zeros((6, 6)); img[2:4, 1:5] = 1.0
sigma, damp, maxiter = 0.8, 0.05, 8
---
def blur(v): return ndimage.gaussian_filter(v.reshape(img.shape), sigma).ravel()
@jax.jit
def reg(v):
    g = v.reshape(6, -1)
    return (4 * g - jnp.roll(g, 1, 0) - jnp.roll(g, -1, 0) - jnp.roll(g, 1, 1) - jnp.roll(g, -1, 1)).ravel()
resid = []
A = LinearOperator((img.size,) * 2, matvec=lambda v: blur(blur(v)) + damp * np.asarray(reg(v), float), dtype=float)
b = blur(blur(img.ravel()))
rec, info = cg(A, b, maxiter=maxiter, rtol=1e-3, callback=lambda xk: resid.append(jnp.linalg.norm(jnp.asarray(b - A @ xk))))
r = jnp.asarray(rec).reshape(img.shape)
psnr = 10 * jnp.log10(1.0 / jnp.mean((r - img) ** 2))
sharp = jnp.abs(jnp.gradient(r)[0]).max()
ks = stats.ks_2samp(np.asarray(r).ravel(), img.ravel()).statistic
ent = special.entr(np.clip(np.asarray(r), 1e-6, 1)).sum()
com = ndimage.center_of_mass(np.asarray(r))
curve = jnp.stack(resid)
print(len(resid), info >= 0, [round(c, 1) for c in com], f"{psnr:.0f}", curve[0] > curve[-1])
sharp > 0.1, r.dtype, type(ent).__name__, ks < 1
---
sigma = 1.2
---
damp, maxiter = 0.5, 3
---
img = np.eye(6)

### iaw-in-place-numpy-views-through-helpers-and-out
buf = np.zeros((3, 4), np.float32); col = buf[:, 1]; flat = buf.reshape(-1)
W = jnp.arange(12.0).reshape(3, 4); rounds = 2
def accumulate(dst, src): dst += src; return dst
---
ret = accumulate(buf, W)
col *= 2
buf[0] = W[1] * 10
buf[:, -1] += jnp.arange(3)
np.add.at(buf, ([0, 0, 2], [0, 0, 3]), 1)
np.multiply(buf, np.float32(0.5), out=buf)
np.maximum(flat, 1, out=flat)
for k in range(rounds):
    buf[k % 3, k] -= jnp.tanh(W[k, k])
snap = jnp.asarray(buf.copy())
np.copyto(buf[2], np.asarray(W[2]), where=np.asarray(W[2]) > 9)
flat[flat > 50] = -1
rows = buf.sum(axis=1)
grown = jnp.asarray(rows) + W.sum(1)
buf.sort(axis=1)
ok = ret is buf, np.shares_memory(col, buf), flat.base is buf or flat.base is buf.base
counts = np.histogram(buf, bins=[-2, 0, 5, 100])[0]
print(ok, counts, rows.dtype, buf[0].tolist())
snap, grown
---
W = W - 6
---
rounds = 3; buf[:] = 0
---
buf = buf[::-1]

### iaw-message-of-a-day-hash-ids-and-json-of-arrays
import hashlib, base64, uuid
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, jax.Array): return {"__jax__": o.tolist(), "dtype": o.dtype.name}
        if isinstance(o, np.generic): return o.item()
        if isinstance(o, (set, frozenset)): return sorted(o)
        if dataclasses.is_dataclass(o): return asdict(o)
        return super().default(o)
def hook(d):
    return jnp.array(d["__jax__"], dtype=d["dtype"]) if "__jax__" in d else d
@dataclass
class Note: text: str; when: int = 0
payload = {"w": jnp.array([[0.5, -1.25]]), "n": np.int64(3), "tags": {"b", "a"}, "note": Note("hi"), "s": jnp.float32(0.1)}
salt = "x"
---
scaled = {**payload, "w": payload["w"] * payload["s"]}
text = json.dumps(scaled, cls=Enc, sort_keys=True)
digest = hashlib.sha1((salt + re.sub(r"\d{5,}", "", text)).encode()).hexdigest()[:8]
back = json.loads(text, object_hook=hook)
raw = base64.b64encode(np.asarray(payload["w"]).tobytes()).decode()
dec = jnp.frombuffer(base64.b64decode(raw), dtype=payload["w"].dtype).reshape(payload["w"].shape)
same = jax.tree.map(lambda a, b: bool(jnp.allclose(a, b)), {"w": back["w"], "s": back["s"]}, {"w": scaled["w"], "s": scaled["s"]})
uid = uuid.uuid5(uuid.NAMESPACE_DNS, digest).hex[:6]
Path("note.json").write_text(text)
size = Path("note.json").stat().st_size == len(text)
err = None
try:
    json.dumps({"f": object()}, cls=Enc)
except TypeError as e:
    err = str(e).split(" ")[0]
print(list(back), same, raw, err, size, len(uid))
back["w"].weak_type, dec, back["s"].dtype, (dec == payload["w"]).all()
---
payload["tags"].add("c"); salt = "y"
---
payload["w"] = payload["w"].astype(jnp.float16)
---
payload["note"].when = 5; payload["s"] = jnp.int32(2)

### iaw-market-maker-event-loop-with-heap-and-enum-flags tolerance=1e-3
class Side_(enum.IntFlag):
    BID = enum.auto(); ASK = enum.auto(); BOTH = BID | ASK
@dataclass(order=True)
class Event:
    t: float
    kind: str = field(compare=False)
    size: Any = field(compare=False, default=1)
params = {"spread": 0.2, "skew": 0.05}
events0 = [Event(0.5, "buy", 2), Event(0.1, "sell", jnp.int32(1)), Event(0.9, "tick"), Event(0.3, "buy", 3)]
quoting = Side_.BOTH
---
heap = list(events0); heapq.heapify(heap)
inventory, cash, mid, fills = jnp.int32(0), 0.0, jnp.float32(100.0), []
while heap:
    ev = heapq.heappop(heap)
    bid, ask = mid - params["spread"] / 2 - params["skew"] * inventory, mid + params["spread"] / 2 - params["skew"] * inventory
    match ev:
        case Event(kind="buy", size=s) if quoting & Side_.ASK:
            inventory, cash = inventory - s, cash + ask * s
            fills.append((ev.t, ask))
        case Event(kind="sell", size=s) if Side_.BID in quoting:
            inventory, cash = inventory + s, cash - bid * s
            fills.append((ev.t, bid))
        case Event(kind="tick"):
            mid = mid * 1.001
            if len(fills) < 3: heapq.heappush(heap, Event(ev.t + 1, "buy"))
        case _:
            fills.append((ev.t, None))
pnl = cash + inventory * mid
prices = jnp.array([p for _, p in fills if p is not None])
vwap = prices.mean() if prices.size else jnp.nan
print(f"{int(inventory)} {quoting!r} {len(fills)} {pnl:.2f}", isinstance(cash, float), [t for t, _ in fills])
pnl, inventory.dtype, type(vwap).__name__
---
quoting = Side_.ASK
---
params["skew"] = jnp.float32(0.2)
---
quoting = Side_(0); events0.append(Event(0.05, "sell", 5))

### iaw-callbacks-to-host-in-order-with-prints-between
seen = []
table = np.array([10.0, 20.0, 30.0])
def lookup(i): return table[np.asarray(i)].astype(np.float32)
def note(tag, v): seen.append((tag, round(float(v), 3)))
x = jnp.array([0.1, 0.7, 1.9]); loud = True
---
print("begin", len(seen))
@jax.jit
def f(x):
    idx = jnp.clip(x, 0, 2).astype(jnp.int32)
    got = jax.pure_callback(lookup, jax.ShapeDtypeStruct(x.shape, jnp.float32), idx)
    jax.debug.callback(note, "sum", got.sum())
    return got * x
y = f(x)
if loud: jax.debug.print("y has {} and {m:.2f}", y.shape[0], m=y.mean())
z = y + jax.experimental.io_callback(lambda: np.float32(len(seen) >= 0), jax.ShapeDtypeStruct((), jnp.float32), ordered=True)
jax.effects_barrier()
print("between", len(seen))
total = jnp.cumsum(z)
jax.debug.callback(note, "last", total[-1])
jax.effects_barrier()
recent = seen[-2:]
print("end", recent)
total
---
table[1] = -1.0
---
loud = False; seen.clear()
---
def note(tag, v): seen.append(tag)
---
x = x[:2] * 2

### iaw-control-flow-lax-with-python-carry-and-strings
state0 = {"x": jnp.array(1.0), "n": 0, "hist": jnp.zeros(4)}
rule, limit, n_try = "halve", 10, 4
rules = {"halve": lambda s: s["x"] / 2, "collatz": lambda s: jnp.where(s["x"] % 2 == 0, s["x"] / 2, 3 * s["x"] + 1)}
---
def body(s):
    x = rules[rule](s)
    return {"x": x, "n": s["n"] + 1, "hist": s["hist"].at[s["n"] % 4].set(x)}
final = lax.while_loop(lambda s: (s["n"] < limit) & (s["x"] > 1e-2), body, state0)
branch = lax.cond(final["n"] > 5, lambda s: s["x"] * 1.0, lambda s: s["hist"].sum(), final)
picked = lax.switch(final["n"] % 3, [jnp.sin, jnp.cos, lambda v: v], branch)
carry, ys = lax.scan(lambda c, k: ((c[0] + k, c[1] * 2), c[0]), (0, 1.0), jnp.arange(n_try))
fori = lax.fori_loop(0, n_try, lambda i, a: a.at[i].set(i * 1.5), jnp.zeros(n_try, jnp.float16))
assoc = lax.associative_scan(jnp.maximum, jnp.array([3, 1, 4, 1, 5]), reverse=True)
mapped = lax.map(lambda t: t[0] * t[1], (jnp.arange(3), jnp.array([1.0, 2, 3])))
weak = [v.weak_type for v in (final["x"], final["n"], carry[0], carry[1], ys, branch, picked)]
dtypes = {k: v.dtype.name for k, v in final.items()}
print(rule, int(final["n"]), weak, dtypes, type(carry).__name__)
carry, assoc.tolist(), mapped.dtype, fori
---
rule, state0["x"] = "collatz", jnp.array(6.0)
---
n_try = 2; limit = 3
---
state0["n"] = jnp.int32(2); state0["x"] = 5.0
---
rules["halve"] = lambda s: s["x"] * 0; rule = "halve"

### iaw-late-failure-after-many-kinds-of-mutation
class Store:
    total = jnp.zeros(2)
    def __init__(self): self.items, self.by, self.q = [], defaultdict(list), deque(maxlen=3)
store = Store(); arr = np.zeros(3); view = arr[1:]
cfg = {"limit": 3.0, "nested": {"a": [1, 2]}}
x = jnp.array([1.0, 2.0]); gen = (k * 10 for k in range(100)); calls = Counter()
def guard(v):
    calls["guard"] += 1
    if v > cfg["limit"]: raise OverflowError(f"{v:.1f} over {cfg['limit']}")
    return v
---
y = x * 2
store.items.append(y)
store.by["y"].append(y.sum())
store.q.extend([1, y])
Store.total = Store.total + y
arr += 1
view[0] = 7
cfg["nested"]["a"].append(next(gen) if cfg["limit"] < 0 else 0)
cfg["last"] = y
x = x + 1
del y
checked = guard(float(x.sum()) / 2)
guard.count = getattr(guard, "count", 0) + 1
out = Store.total * checked
print("passed", len(store.items), calls["guard"], arr.tolist())
out
---
cfg["limit"] = 100.0
---
cfg["limit"] = 1.0
---
cfg["limit"] = 50.0; store.items.clear()
---
x = jnp.ones((2, 2)); Store.total = jnp.zeros(3)

### iaw-record-class-made-from-a-table-of-fields
import dataclasses
unit = 1.0
class Quantity:
    def si(self, x): return x * unit
    def __mul__(self, o): return type(self)(self.value * o)
Mass = dataclasses.make_dataclass("Mass", [("value", float)], bases=(Quantity,))
m = Mass(2.0); x = jnp.arange(3.0)
---
weights = m.si(x) + m.value
double = (m * 2).si(x)
total = jnp.sum(weights + double)
total
---
unit = 0.001
---
m = Mass(5.0)
---
class Other(Quantity):
    value = 1.0
    def si(self, x): return x / 2
Quantity.si = Other.si

### iaw-kernel-inspected-by-its-jaxpr-with-a-float-in-it
gamma = 2.0
def kern(x): return jnp.exp(-gamma * x ** 2)
x = jnp.linspace(0, 1, 5)
---
jaxpr = jax.make_jaxpr(kern)(x)
ops = Counter(e.primitive.name for e in jaxpr.eqns)
y = kern(x)
print(len(jaxpr.eqns), dict(ops))
---
gamma = 3.0

### iaw-counted-helper-scanned-from-the-third-run-on
calls = {"body": 0}
def body(c, v):
    calls["body"] += 1
    return c * 0.5 + v, c
xs = jnp.arange(4.0); use_scan = False
---
if use_scan:
    last, ys = lax.scan(body, jnp.float32(0), xs)
else:
    last, ys = jnp.float32(0), []
    for v in xs:
        last, y = body(last, v)
        ys.append(y)
    ys = jnp.stack(ys)
ys
---
xs = xs + 1
---
use_scan = True

""",
)
