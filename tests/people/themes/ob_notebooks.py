"""Notebooks that mix JAX with the rest: NumPy and frames, files and stores, threads and logs, devices, transforms, classes with state."""

from ..cell import written

PRELUDE = """
import collections, contextlib, csv, enum, functools, io, itertools, json, logging, math, os, pickle, queue, sys, threading, types, warnings
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
"""

CELLS = written(
    PRELUDE,
    r"""
### ob-welford-in-float64-against-one-pass-in-float32
class RunningStats:
    def __init__(self, n): self.count, self.mean, self.m2 = 0, np.zeros(n), np.zeros(n)
    def push(self, batch):
        for row in np.asarray(batch, dtype=np.float64):
            self.count += 1
            delta = row - self.mean
            self.mean += delta / self.count
            self.m2 += delta * (row - self.mean)
    @property
    def std(self): return np.sqrt(self.m2 / max(self.count - 1, 1))
rng = np.random.default_rng(12)
readings = 1e4 + rng.normal(size=(12, 3)) * [0.5, 1.0, 2.0]
stats = RunningStats(3)
batch_size = 5
---
first_mean = stats.mean
for start in range(0, len(readings), batch_size):
    stats.push(readings[start : start + batch_size])
x32 = jnp.asarray(readings)
naive = jnp.sqrt(jnp.mean(x32**2, 0) - x32.mean(0) ** 2)
two_pass = jnp.std(x32 - x32[:1], axis=0)
z = (x32 - stats.mean) / stats.std
outliers = np.flatnonzero(np.abs(np.asarray(z)).max(1) > 1.5)
print(stats.count, stats.mean.dtype, z.dtype, first_mean is stats.mean)
readings[outliers] = stats.mean
gap = float(np.abs(np.asarray(two_pass, dtype=np.float64) - readings.std(0)).max())
bool(jnp.isnan(naive).any()), z.shape, outliers, gap < 3.0
---
readings = np.vstack([readings, [[1e4, 1.01e4, 0.99e4]]])
---
stats = RunningStats(3); batch_size = 4
---
readings = readings[::2].astype(np.float32)

### ob-structured-array-of-trades-updated-by-field-views
trade = np.dtype([("sym", "U4"), ("qty", "i4"), ("px", "f8"), ("fee", "f4")])
book = np.array([("AAA", 10, 101.5, 0.1), ("BBB", -4, 20.25, 0.0), ("AAA", -3, 103.0, 0.2), ("CCC", 7, 5.125, 0.05)], dtype=trade)
fee_rate = {"AAA": 0.001, "BBB": 0.002}
@jax.jit
def notional(qty, px, fee): return qty * px + fee
---
fees = book["fee"]
fees[:] = [abs(r["qty"]) * r["px"] * fee_rate.get(str(r["sym"]), 0.01) for r in book]
flow = notional(jnp.asarray(book["qty"]), book["px"].astype(np.float32), jnp.asarray(fees))
symbols, inverse = np.unique(book["sym"], return_inverse=True)
net = jax.ops.segment_sum(flow, inverse, num_segments=len(symbols))
by_symbol = dict(zip(symbols.tolist(), net.tolist()))
largest = book[np.argmax(np.abs(np.asarray(flow)))]
largest["qty"] -= np.sign(largest["qty"])
pos = np.rec.fromarrays([symbols, np.asarray(net)], names="sym,net")
order = np.argsort(book, order=("sym", "px"))
print(largest, order, pos.net.dtype)
for name, value in by_symbol.items():
    print(f"{name:<4}{value:>10.2f}")
pos, flow
---
book = np.append(book, np.array([("BBB", 12, 19.5, 0.0)], dtype=trade))
---
fee_rate["CCC"] = 0.5; book["px"][0] *= 2
---
@jax.jit
def notional(qty, px, fee): return jnp.abs(qty) * px - fee

### ob-masked-array-station-temperatures-filled-and-anomalies
raw = np.ma.masked_values([[11.0, 12.5, -99.0, 10.0], [9.0, -99.0, -99.0, 14.0], [15.0, 16.0, 17.5, 18.0]], -99.0)
names = ["north", "west", "south"]
def fill(m, how="mean"):
    match how:
        case "mean": return m.filled(np.nan)
        case "zero": return m.filled(0.0)
        case other: raise ValueError(other)
how = "mean"
---
filled = jnp.asarray(fill(raw, how))
clim = jnp.nanmean(filled, axis=1, keepdims=True)
anomaly = jnp.where(jnp.isnan(filled), 0.0, filled - clim)
back = np.ma.array(np.asarray(anomaly), mask=raw.mask, fill_value=1e20)
worst = {n: (float(r.max()) if r.count() else None) for n, r in zip(names, back)}
back[back > 2.5] = np.ma.masked
trend = np.ma.polyfit(np.arange(raw.shape[1]), back.mean(axis=0), 1)
print(worst, back.count(axis=1), np.ma.is_masked(back))
raw.harden_mask()
raw[1, 1] = 3.0
raw.soften_mask()
back, np.round(trend, 4), anomaly.sum(1)
---
raw[0, 0] = np.ma.masked
---
how = "zero"
---
raw = np.ma.masked_invalid(np.where(raw.mask, np.nan, raw.data * 2)); how = "mean"

### ob-sliding-views-of-a-signal-one-readonly-one-written-through
from numpy.lib.stride_tricks import sliding_window_view
signal = np.array([0, 1, 3, 2, 5, 4, 7, 9, 8, 6], dtype=np.float32)
window = 4
taps = jnp.array([0.1, 0.4, 0.4, 0.1])
def smooth(frames, w): return jax.vmap(lambda f: jnp.vdot(f, w))(frames)
---
frames = sliding_window_view(signal, window)
even, odd = signal[::2], signal[1::2]
even -= even.min()
out = smooth(jnp.asarray(frames.copy()), taps[:window] / taps[:window].sum())
refused = None
try:
    frames[0, 0] = 100.0
except ValueError as err:
    refused = str(err)
reverse = signal[::-1]
reverse[:2] = np.asarray(out[-2:])
host = np.asarray(out)
shares = [np.shares_memory(v, signal) for v in (even, odd, reverse, host)]
print(refused, shares, host.flags.writeable, frames.flags.owndata)
signal.flags.writeable, frames[0], reverse[:3], out
---
signal = signal * 1.5 + 1
---
window = 3
---
def smooth(frames, w): return jnp.asarray(frames).max(1)

### ob-ragged-object-array-padded-bucketed-and-scored
ragged = np.empty(4, dtype=object)
ragged[:] = [np.arange(3), np.array([5, 1]), np.array([2, 2, 2, 2, 9]), np.array([], dtype=int)]
embed = jnp.linspace(-1, 1, 20).reshape(10, 2)
buckets = (2, 4, 8)
@partial(jax.jit, static_argnames="length")
def pool(ids, mask, length):
    vecs = embed[ids] * mask[..., None]
    return vecs.sum(1) / jnp.maximum(mask.sum(1, keepdims=True), 1) * (1 + length / 10)
---
grouped = defaultdict(list)
for i, ids in enumerate(ragged):
    grouped[next(b for b in buckets if len(ids) <= b)].append(i)
pooled = np.zeros((len(ragged), 2), np.float32)
for length, members in sorted(grouped.items()):
    padded = np.zeros((len(members), length), np.int32)
    mask = np.zeros_like(padded, dtype=np.float32)
    for row, i in enumerate(members):
        padded[row, : len(ragged[i])] = ragged[i]
        mask[row, : len(ragged[i])] = 1
    pooled[members] = pool(padded, mask, length)
scores = jnp.tanh(pooled @ jnp.array([1.0, -0.5]))
ragged[int(scores.argmin())] = np.append(ragged[int(scores.argmin())], len(grouped) % 10)
lens = np.frompyfunc(len, 1, 1)(ragged)
print(dict(grouped), lens.dtype, lens.sum())
scores.round(3), pooled[:, 0]
---
ragged[1] = np.array([9, 9, 9])
---
buckets = (3, 8, 16)
---
ragged = ragged[:3].copy(); ragged[0] = ragged[0] * 2

### ob-bootstrap-with-spawned-generators-and-jax-statistics
seed = 2024
rng = np.random.default_rng(seed)
sample = rng.lognormal(size=15).astype(np.float32)
def statistic(x): return jnp.median(x)
n_boot = 6
---
children = rng.spawn(2)
draws = [child.choice(sample, size=(n_boot // 2, sample.size)) for child in children]
boot = jnp.concatenate([jax.vmap(statistic)(d) for d in draws])
low, high = jnp.percentile(boot, jnp.array([5.0, 95.0]))
state = rng.bit_generator.state["state"]["state"]
perm = rng.permutation(len(sample))
shuffled = sample[perm]
rng.shuffle(shuffled[:5])
jack = jnp.stack([statistic(np.delete(sample, i)) for i in range(3)])
np.random.seed(3)
legacy = np.random.rand(2)
print(rng.bit_generator.seed_seq.n_children_spawned, bool(low <= high), len(str(state)) > 10)
boot, shuffled[:3], jack, legacy
---
rng = np.random.default_rng([seed, 1])
---
def statistic(x): return x.mean() - x.std()
---
sample *= 10; n_boot = 4

### ob-frame-of-sensor-readings-resampled-rolled-and-written-back needs=pandas
import pandas as pd
idx = pd.date_range("2023-03-01", periods=12, freq="h")
df = pd.DataFrame({"sensor": list("abc") * 4, "temp": np.linspace(15, 26, 12), "rh": np.tile([40.0, 55.0, np.nan], 4)}, index=idx)
limits = {"temp": (16.0, 25.0), "rh": (30.0, 60.0)}
@jax.jit
def dew(temp, rh): return temp - (100 - rh) / 5.0
---
df["rh"] = df.groupby("sensor")["rh"].transform(lambda s: s.fillna(50.0))
df["dew"] = np.asarray(dew(df["temp"].to_numpy(dtype=np.float32), df["rh"].to_numpy(np.float32)))
for col, (lo, hi) in limits.items():
    df.loc[~df[col].between(lo, hi), "flag"] = col
six = df[["temp", "dew"]].resample("6h").mean()
roll = df["temp"].rolling(3, min_periods=1).apply(lambda w: float(jnp.ptp(jnp.asarray(w))), raw=True)
wide = df.pivot_table(index=df.index.hour // 6, columns="sensor", values="dew", aggfunc="max")
slope = jnp.polyfit(jnp.arange(len(six), dtype=jnp.float32), jnp.asarray(six["dew"].to_numpy(np.float32)), 1)
print(df["flag"].value_counts(dropna=False).to_dict())
six.iloc[-1, 0] += 1
wide.round(2), roll.tail(2), slope.shape
---
limits["temp"] = (20.0, 22.0); df = df.drop(columns="flag")
---
df.loc[idx[3], "temp"] = 99.0
---
@jax.jit
def dew(temp, rh): return temp - (100 - rh) / 4.0

### ob-jax-transformer-in-a-pipeline-with-grid-of-settings needs=sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline
class RandomFourier(BaseEstimator, TransformerMixin):
    fitted = 0
    def __init__(self, dim=4, scale=1.0): self.dim, self.scale = dim, scale
    def fit(self, X, y=None):
        kw, kb = jax.random.split(jax.random.PRNGKey(self.dim))
        self.w_ = jax.random.normal(kw, (X.shape[1], self.dim)) * self.scale
        self.b_ = jax.random.uniform(kb, (self.dim,), maxval=2 * jnp.pi)
        type(self).fitted += 1
        return self
    def transform(self, X): return np.asarray(jnp.cos(X @ self.w_ + self.b_))
rng = np.random.default_rng(0)
X = rng.normal(size=(16, 2)); y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=16)
grid = [dict(rff__dim=4), dict(rff__dim=6, ridge__alpha=0.5)]
pipe = Pipeline([("rff", RandomFourier()), ("ridge", Ridge(alpha=0.1))])
---
scores, models = [], []
for params in grid:
    model = clone(pipe).set_params(**params).fit(X[:12], y[:12])
    models.append(model)
    scores.append(model.score(X[12:], y[12:]))
best = models[int(np.argmax(scores))]
resid = jnp.asarray(y) - best.predict(X)
coef = best.named_steps["ridge"].coef_
coef[np.abs(coef) < 0.01] = 0.0
w_head = best["rff"].w_[:, 0]
pipe.set_params(**grid[int(np.argmax(scores))])
print(RandomFourier.fitted, pipe.get_params()["rff__dim"], hasattr(pipe["rff"], "w_"))
float(jnp.abs(resid).max()) < 10, coef.shape, w_head
---
grid.append(dict(rff__scale=0.3))
---
y[3] = 4.0; X = X * 0.5
---
RandomFourier.transform = lambda self, X: np.asarray(jnp.sin(X @ self.w_ + self.b_))

### ob-minimize-with-jax-gradients-history-callback-and-bounds needs=scipy
from scipy import optimize
target = np.array([1.0, 2.5])
def rosen(p, a=1.0, b=10.0): return (a - p[0]) ** 2 + b * (p[1] - p[0] ** 2) ** 2 + 0.01 * jnp.sum((p - target) ** 2)
vg = jax.jit(jax.value_and_grad(rosen))
calls = {"fun": 0}
history = []
bounds = [(-2, 2), (0.0, 3.0)]
x0 = np.array([-1.0, 1.0])
---
def fun(p):
    calls["fun"] += 1
    v, g = vg(p)
    return np.float64(v), np.array(g, dtype=np.float64)
history.clear()
res = optimize.minimize(fun, x0, jac=True, method="L-BFGS-B", bounds=bounds, callback=lambda xk: history.append(xk.copy()), options={"maxiter": 8})
H = jax.hessian(rosen)(jnp.asarray(res.x))
eig = jnp.linalg.eigvalsh(H)
path = jnp.asarray(np.stack([x0, *history]))
drop = jax.vmap(rosen)(path)
root = optimize.brentq(lambda t: float(jnp.cos(t) - t), 0.0, 1.0, xtol=1e-4)
x0 = np.clip(res.x + 0.25, *np.transpose(bounds))
print(len(history) > 0, calls["fun"] >= len(history), bool((eig > 0).all()))
np.round(res.x, 1), round(root, 2), bool(drop[-1] < drop[0])
---
x0 = np.array([0.5, 0.5]); bounds[1] = (0.0, 0.8)
---
def rosen(p, a=0.5, b=2.0): return (a - p[0]) ** 2 + b * (p[1] - p[0] ** 2) ** 2
vg = jax.jit(jax.value_and_grad(rosen))
---
calls = collections.Counter()

### ob-pagerank-scipy-sparse-to-bcoo-with-dangling-nodes needs=scipy
from scipy import sparse
from jax.experimental import sparse as jsparse
links = {"home": ["about", "blog"], "about": ["home"], "blog": ["home", "about", "post"], "post": []}
damping, tol = 0.85, 1e-4
def matrix(links):
    names = sorted(links)
    rows, cols = zip(*[(names.index(t), names.index(s)) for s in names for t in links[s]])
    m = sparse.coo_matrix((np.ones(len(rows), np.float32), (rows, cols)), shape=(len(names),) * 2).tocsc()
    out = np.asarray(m.sum(0)).ravel()
    m.data /= np.repeat(out[out > 0], np.diff(m.indptr)[out > 0])
    return names, m, out == 0
---
names, m, dangling = matrix(links)
A = jsparse.BCOO.from_scipy_sparse(m)
r = jnp.full(len(names), 1 / len(names))
steps = 0
while True:
    nxt = damping * (A @ r + (r * dangling).sum() / len(names)) + (1 - damping) / len(names)
    err, r, steps = float(jnp.abs(nxt - r).sum()), nxt, steps + 1
    if err < tol or steps >= 30:
        break
ranked = sorted(zip(names, r.tolist()), key=lambda kv: -kv[1])
m.data[m.data < 0.4] = 0
m.eliminate_zeros()
print(steps, [n for n, _ in ranked], m.nnz, A.nse)
r, r.sum()
---
links["post"].append("home")
---
damping = 0.5
---
links["shop"] = ["home", "post"]; tol = 1e-2

### ob-butterworth-on-a-wav-then-envelope-in-jax needs=scipy
from scipy import signal as sps
from scipy.io import wavfile
rate = 400
t = np.arange(80) / rate
tone = (np.sin(2 * np.pi * 20 * t) + 0.5 * np.sin(2 * np.pi * 150 * t)) * 12000
wavfile.write("tone.wav", rate, tone.astype(np.int16))
cutoff = 50.0
@jax.jit
def envelope(x, a=0.9):
    step = lambda c, v: ((a * c + (1 - a) * jnp.abs(v)),) * 2
    return lax.scan(step, 0.0, x)[1]
---
rate, pcm = wavfile.read("tone.wav")
b, a = sps.butter(2, cutoff / (rate / 2))
low = sps.lfilter(b, a, pcm / 32768.0)
env = envelope(jnp.asarray(low))
peaks, info = sps.find_peaks(np.asarray(env), distance=8)
clipped = np.clip(low * 32768 * 1.2, -32768, 32767).astype(np.int16)
wavfile.write("low.wav", rate, clipped)
freqs, power = sps.periodogram(low, rate)
mags = jnp.abs(jnp.fft.rfft(jnp.asarray(low)))
dominant = float(freqs[int(mags.argmax())])
again = wavfile.read("low.wav")[1]
print(pcm.dtype, len(pcm), dominant, (again == clipped).all(), os.path.getsize("low.wav"))
env[-1].round(3), list(info), power.argmax()
---
cutoff = 120.0
---
wavfile.write("tone.wav", rate, (tone[::-1] * 0.5).astype(np.int16)[:60])
---
@jax.jit
def envelope(x, a=0.9): return jnp.abs(x)

### ob-memmap-of-images-standardised-in-place-chunk-by-chunk
shape = (6, 4, 4)
mm = np.memmap("imgs.dat", dtype=np.float32, mode="w+", shape=shape)
mm[:] = np.arange(96).reshape(shape) % 17
mm.flush()
chunk, eps = 2, 1e-3
@jax.jit
def standardise(block):
    mu, sd = block.mean((1, 2), keepdims=True), block.std((1, 2), keepdims=True)
    return (block - mu) / (sd + eps), mu.ravel()
---
data = np.memmap("imgs.dat", dtype=np.float32, mode="r+", shape=shape)
means = []
for i in range(0, shape[0], chunk):
    out, mu = standardise(jnp.array(data[i : i + chunk]))
    data[i : i + chunk] = out
    means.extend(mu.tolist())
data.flush()
ro = np.memmap("imgs.dat", dtype=np.float32, mode="r", shape=shape)
try:
    ro[0, 0, 0] = 7.0
except ValueError as e:
    print("read only:", e)
raw = np.fromfile("imgs.dat", dtype=np.float32, count=4)
total = jnp.asarray(np.array(ro)).sum((1, 2))
data[-1] += np.arange(4, dtype=np.float32)
np.save("means.npy", np.asarray(means)); peek = np.load("means.npy", mmap_mode="r")
type(peek).__name__, peek.shape, total.round(2), raw
---
mm[0] = 5.0; mm[0, 0, 0] = 50.0; mm.flush()
---
chunk = 4
---
np.random.default_rng(8).normal(size=shape).astype(np.float32).tofile("imgs.dat")

### ob-experiment-log-csv-appended-and-json-summary-rewritten
Path("runs.csv").write_text("run,lr,loss\n0,0.1,0.8\n1,0.01,0.9\n")
Path("conf.json").write_text(json.dumps({"lrs": [0.2, 0.05], "steps": 4}))
def loss(w, x, y): return jnp.mean((x * w - y) ** 2)
xs, ys = jnp.linspace(0, 1, 6), 3 * jnp.linspace(0, 1, 6)
---
conf = json.loads(Path("conf.json").read_text())
with open("runs.csv", newline="") as f:
    rows = list(csv.DictReader(f))
next_id = max(int(r["run"]) for r in rows) + 1
with open("runs.csv", "a", newline="") as f:
    writer = csv.writer(f)
    for k, lr in enumerate(conf["lrs"]):
        w = jnp.float32(0.0)
        for _ in range(conf["steps"]):
            w = w - lr * jax.grad(loss)(w, xs, ys)
        value = loss(w, xs, ys)
        writer.writerow([next_id + k, lr, f"{value:.5f}"])
        rows.append({"run": next_id + k, "lr": lr, "loss": value})
best = min(rows, key=lambda r: float(r["loss"]))
summary = {"n": len(rows), "best": {k: float(v) for k, v in best.items()}}
Path("summary.json").write_text(json.dumps(summary, indent=1, sort_keys=True))
table = np.loadtxt("runs.csv", delimiter=",", skiprows=1)
print(Path("runs.csv").read_text().splitlines()[-1], table.shape)
summary["n"], best["lr"], jnp.asarray(table[:, 2]).min()
---
Path("conf.json").write_text(json.dumps({"lrs": [0.5], "steps": 3}))
---
with open("runs.csv", "a") as f: f.write("90,9.0,0.00001\n")
---
def loss(w, x, y): return jnp.mean(jnp.abs(x * w - y))

### ob-sqlite-runs-table-upserts-blobs-and-aggregates
import sqlite3
db = sqlite3.connect("exp.db")
db.execute("create table if not exists w (name text primary key, shape text, data blob, hits integer default 0)")
def put(name, arr):
    arr = np.asarray(arr, dtype=np.float32)
    db.execute("insert into w(name, shape, data) values(?,?,?) on conflict(name) do update set data=excluded.data, shape=excluded.shape, hits=hits+1",
               (name, json.dumps(arr.shape), arr.tobytes()))
def get(name):
    shape, data = db.execute("select shape, data from w where name=?", (name,)).fetchone()
    return jnp.asarray(np.frombuffer(data, np.float32).reshape(json.loads(shape)))
put("enc", np.eye(3)); put("dec", np.ones((3, 2)))
scale = 0.5
---
x = jnp.arange(3.0)
names = [n for (n,) in db.execute("select name from w order by name desc")]
for name in names:
    w = get(name)
    x = jnp.tanh(x @ w) if w.shape[0] == x.shape[0] else x
    with db:
        put(name, w * scale)
try:
    with db:
        db.execute("delete from w where name='enc'")
        put("enc", None if scale < 0 else x)
        if float(x.sum()) > 2.5:
            raise RuntimeError("rolled back")
except RuntimeError as e:
    print(e)
hits = dict(db.execute("select name, hits from w order by name").fetchall())
size = db.execute("select sum(length(data)) from w").fetchone()[0]
print(names, hits, size, db.total_changes)
x
---
scale = 2.0
---
put("enc", np.full((3, 3), 0.3)); db.commit()
---
db.execute("delete from w where name='dec'"); db.commit()

### ob-h5py-resizable-dataset-appended-with-attributes needs=h5py
import h5py
with h5py.File("traj.h5", "w") as f:
    d = f.create_dataset("pos", shape=(1, 2), maxshape=(None, 2), dtype="f4", chunks=(4, 2))
    d[0] = [1.0, 0.0]
    d.attrs["dt"] = 0.1
    f.create_group("meta").attrs["units"] = "m"
omega = 2.0
@jax.jit
def rotate(p, angle):
    c, s = jnp.cos(angle), jnp.sin(angle)
    return jnp.array([[c, -s], [s, c]]) @ p
steps = 3
---
with h5py.File("traj.h5", "r+") as f:
    d = f["pos"]
    p, dt = jnp.asarray(d[-1]), float(d.attrs["dt"])
    start = d.shape[0]
    d.resize(start + steps, axis=0)
    for k in range(steps):
        p = rotate(p, omega * dt)
        d[start + k] = np.asarray(p)
    d.attrs["rows"] = d.shape[0]
    f["meta"].attrs.modify("last", np.asarray(p))
    if "energy" in f:
        del f["energy"]
    f["energy"] = np.asarray((jnp.asarray(d[:]) ** 2).sum(1))
with h5py.File("traj.h5") as f:
    found = []
    f.visit(found.append)
    energy = jnp.asarray(f["energy"][:])
    units = f["meta"].attrs["units"]
print(sorted(found), units, bool(f), energy.shape)
p, jnp.ptp(energy) < 1e-3
---
omega = -1.0; steps = 2
---
with h5py.File("traj.h5", "r+") as f: f["pos"].attrs["dt"] = 0.5; f["pos"][-1] = [0.0, 2.0]
---
rotate = jax.jit(lambda p, angle: p[::-1] * angle)

### ob-shelve-memo-of-slow-function-with-writeback
import shelve
def energy(n, beta): return jax.nn.logsumexp(-beta * jnp.arange(n, dtype=jnp.float32))
requests = [(3, 0.5), (5, 1.0), (3, 0.5)]
missed = []
---
results = []
with shelve.open("memo", writeback=True) as memo:
    stats = memo.setdefault("stats", {"hit": 0, "miss": 0})
    for n, beta in requests:
        key = f"{energy.__name__}/{n}/{beta}"
        if key in memo:
            stats["hit"] += 1
        else:
            stats["miss"] += 1
            missed.append(key)
            memo[key] = np.asarray(energy(n, beta))
        results.append(memo[key])
    memo.sync()
    keys = sorted(memo)
with shelve.open("memo", flag="r") as ro:
    seen = dict(ro["stats"])
    again = ro[key]
print(keys, seen, len(missed))
del memo, ro
total = jnp.stack(results).sum()
total, again.dtype, again is results[-1]
---
requests.append((4, 0.25))
---
with shelve.open("memo") as m: m.pop("energy/3/0.5", None)
del m
---
def energy(n, beta): return jnp.float32(n) * beta
---
energy.__name__ = "energy2"

### ob-msgpack-ext-types-for-arrays-and-nested-params needs=msgpack
import msgpack
def enc(obj):
    if isinstance(obj, (np.ndarray, jax.Array)):
        a = np.asarray(obj)
        return msgpack.ExtType(42, msgpack.packb([a.dtype.name, a.shape, a.tobytes()]))
    if isinstance(obj, complex): return {"__c__": [obj.real, obj.imag]}
    raise TypeError(f"cannot pack {type(obj).__name__}")
def ext(code, data):
    name, shape, raw = msgpack.unpackb(data)
    return jnp.asarray(np.frombuffer(raw, np.dtype(name)).reshape(shape))
params = {"dense": {"w": jnp.arange(6.0).reshape(2, 3), "b": np.zeros(3, np.float32)}, "step": 3, "tag": b"v1"}
extra = [1, 2.5, None]
---
blob = msgpack.packb({"params": params, "extra": extra}, default=enc)
Path("ckpt.msgpack").write_bytes(blob)
got = msgpack.unpackb(Path("ckpt.msgpack").read_bytes(), ext_hook=ext, strict_map_key=False)
same = jax.tree.map(lambda a, b: bool(np.all(np.asarray(a) == np.asarray(b))), params["dense"], got["params"]["dense"])
try:
    msgpack.packb({"f": {1, 2}}, default=enc)
except TypeError as e:
    problem = str(e)
unpacker = msgpack.Unpacker(io.BytesIO(blob + msgpack.packb([1, 2])), ext_hook=ext)
kinds = [type(o).__name__ for o in unpacker]
got["params"]["step"] += 1
params["dense"]["w"] = got["params"]["dense"]["w"] + 1
out = jnp.ones(2) @ params["dense"]["w"]
print(len(blob), same, problem, kinds, type(got["params"]["dense"]["b"]).__name__)
out, got["extra"], got["params"]["step"]
---
params["dense"]["b"] = jnp.ones(3, jnp.int8); extra.append(2 + 1j)
---
params = {"dense": {"w": jnp.eye(2), "b": [jnp.ones(2), 3.0]}, "step": 0}
---
_enc = enc
def enc(obj): return list(obj) if isinstance(obj, set) else _enc(obj)

### ob-pickle-of-a-model-with-getstate-version-and-persistent-id
class Scaler:
    version = 2
    def __init__(self, mean, std): self.mean, self.std, self._cache = mean, std, {}
    def __call__(self, x):
        key = x.shape
        if key not in self._cache: self._cache[key] = jax.jit(lambda v: (v - self.mean) / self.std)
        return self._cache[key](x)
    def __getstate__(self): return {"mean": np.asarray(self.mean), "std": np.asarray(self.std), "v": self.version}
    def __setstate__(self, s):
        self.__init__(jnp.asarray(s["mean"]), jnp.asarray(s["std"]))
        self.loaded_from = s["v"]
big = jnp.arange(8.0)
class P_(pickle.Pickler):
    def persistent_id(self, obj): return "big" if obj is big else None
class U_(pickle.Unpickler):
    def persistent_load(self, pid): return {"big": big}[pid]
scaler = Scaler(jnp.array([1.0, 2.0]), jnp.array([2.0, 0.5]))
x = jnp.ones((2, 2))
---
before = scaler(x)
buf = io.BytesIO()
P_(buf, protocol=4).dump({"s": scaler, "big": big, "alias": [scaler, scaler]})
buf.seek(0)
thawed = U_(buf).load()
s2 = thawed["s"]
after = s2(x * 2)
twin = thawed["alias"][0] is thawed["alias"][1] is s2
s2.mean = s2.mean.at[0].set(-1.0)
stale = s2(x)
with open("scaler.pkl", "wb") as f:
    pickle.dump(s2, f)
print(thawed["big"] is big, twin, len(s2._cache), s2.loaded_from, vars(scaler).keys())
scaler = s2 if float(after.sum()) > 100 else scaler
before, after, stale
---
Scaler.version = 3; scaler.std = jnp.array([1.0, 1.0]); scaler._cache.clear()
---
x = jnp.arange(6.0).reshape(3, 2)
---
big = big * 2; scaler = pickle.load(open("scaler.pkl", "rb"))

### ob-threaded-prefetcher-with-sentinel-and-errors-passed-on
class Prefetch:
    def __init__(self, it, size=2):
        self.q, self.err = queue.Queue(size), None
        self.thread = threading.Thread(target=self._run, args=(iter(it),), daemon=True)
        self.thread.start()
    def _run(self, it):
        try:
            for item in it: self.q.put(jax.tree.map(jnp.asarray, item))
        except Exception as e: self.err = e
        finally: self.q.put(None)
    def __iter__(self):
        while (item := self.q.get()) is not None: yield item
        self.thread.join()
        if self.err: raise self.err
def batches(n, bad=None):
    for i in range(n):
        if i == bad: raise OSError(f"shard {i} is broken")
        yield {"x": np.full((2, 3), i, np.float32), "y": np.arange(2) + i}
n, bad = 4, None
w = jnp.zeros(3)
---
losses, failed = [], None
try:
    for batch in Prefetch(batches(n, bad)):
        def loss(w): return jnp.mean((batch["x"] @ w - batch["y"]) ** 2)
        value, g = jax.value_and_grad(loss)(w)
        w = w - 0.02 * g
        losses.append(float(value))
except OSError as e:
    failed = str(e)
else:
    print("clean epoch")
finally:
    alive = [t.name for t in threading.enumerate() if t.name.startswith("prefetch")]
print(len(losses), failed, alive)
w, np.round(losses, 3)
---
bad = 2
---
n, bad = 3, None; w = jnp.ones(3)
---
def batches(n, bad=None): yield {"x": np.eye(3, dtype=np.float32)[:2], "y": np.array([n, -n])}

### ob-executor-maps-simulations-and-collects-failures
from concurrent.futures import ThreadPoolExecutor
lock = threading.Lock()
done_order = set()
@jax.jit
def simulate(key, vol): return jnp.exp(jnp.cumsum(vol * jax.random.normal(key, (5,))))
def job(seed, vol):
    if vol < 0: raise ValueError(f"vol {vol}")
    path = simulate(jax.random.key(seed), vol)
    with lock: done_order.add(seed)
    return float(path[-1]), np.asarray(path)
jobs = {1: 0.1, 2: 0.2, 3: -0.1, 4: 0.3}
---
done_order.clear()
paths, errors = {}, {}
with ThreadPoolExecutor(max_workers=2) as pool:
    futures = {pool.submit(job, s, v): s for s, v in jobs.items()}
    for fut, seed in futures.items():
        if (exc := fut.exception()) is not None:
            errors[seed] = repr(exc)
        else:
            paths[seed] = fut.result()[1]
    squares = list(pool.map(lambda s: s * s, sorted(paths)))
paths = dict(sorted(paths.items()))
stack = jnp.stack(list(paths.values()))
worst = min(paths, key=lambda s: paths[s].min())
print(sorted(done_order), errors, squares, worst)
stack.mean(0), stack.shape
---
jobs[3] = 0.4
---
jobs = {s: v * 2 for s, v in jobs.items() if s != 1}
---
simulate = jax.jit(lambda key, vol: jnp.full(5, vol))

### ob-asyncio-producer-and-consumers-over-a-queue
import asyncio
@jax.jit
def embed(tokens): return jnp.cos(tokens * 0.5).mean()
docs = ["the cat sat", "on the mat", "", "dogs bark loud"]
vocab = {}
async def produce(q, docs):
    for i, d in enumerate(docs):
        await q.put((i, [vocab.setdefault(w, len(vocab)) for w in d.split()]))
        await asyncio.sleep(0)
    await q.put(None)
async def consume(q, out, failed):
    while (item := await q.get()) is not None:
        i, ids = item
        try:
            if not ids: raise LookupError(f"doc {i} is empty")
            out[i] = embed(jnp.asarray(ids + [0] * (3 - len(ids)), jnp.float32))
        except LookupError as e: failed.append(str(e))
timeout = 20
---
async def main():
    q, out, failed = asyncio.Queue(maxsize=2), {}, []
    await asyncio.wait_for(asyncio.gather(produce(q, docs), consume(q, out, failed)), timeout)
    async with asyncio.Lock():
        total = sum(out.values(), start=jnp.float32(0))
    return out, failed, total
out, failed, total = asyncio.run(main())
ranking = sorted(out, key=lambda i: float(out[i]))
print(failed, ranking, len(vocab))
sims = jnp.stack([out[i] for i in sorted(out)])
docs[ranking[0]] = docs[ranking[0]].upper()
total, sims - sims.mean()
---
docs.append("cat on mat")
---
vocab.clear(); docs[2] = "now full"
---
async def consume(q, out, failed):
    while (item := await q.get()) is not None: out[item[0]] = jnp.float32(len(item[1]))

### ob-metrics-to-a-named-logger-with-filter-and-formatter
log = logging.Logger("trainer.ob", logging.INFO)
sink = io.StringIO()
handler = logging.StreamHandler(sink); handler.setFormatter(logging.Formatter("%(levelname)s|%(message)s"))
log.handlers[:] = [handler]
class EveryN(logging.Filter):
    def __init__(self, n): super().__init__(); self.n, self.seen = n, 0
    def filter(self, rec):
        self.seen += 1
        return rec.levelno >= logging.WARNING or self.seen % self.n == 1
every = EveryN(2); handler.addFilter(every)
theta, lr = jnp.array([2.0, -3.0]), 0.3
def objective(t): return jnp.sum(t**2 + jnp.sin(3 * t))
---
adapter = logging.LoggerAdapter(log, {"run": "demo"})
prev = math.inf
for step in range(5):
    value, g = jax.value_and_grad(objective)(theta)
    adapter.info("step %d loss %.4f |g| %.3f", step, value, jnp.linalg.norm(g))
    if value > prev:
        log.warning("loss went up by %.3f", value - prev)
        lr *= 0.5
    theta, prev = theta - lr * g, float(value)
log.debug("never %s", theta)
lines = sink.getvalue().splitlines()
sink.seek(0); sink.truncate()
print(len(lines), *lines[:1], every.seen, log.isEnabledFor(logging.DEBUG))
theta, lr
---
log.setLevel(logging.WARNING)
---
log.setLevel(logging.DEBUG); every.n = 1; theta = jnp.array([5.0, 5.0])
---
handler.setFormatter(logging.Formatter("%(name)s>%(message)s")); lr = 0.9

### ob-progress-bar-postfix-and-stdout-redirected-to-buffers needs=tqdm
from tqdm import tqdm
def walk(key, n):
    pos, keys = jnp.zeros(2), jax.random.split(key, n)
    for k in keys:
        pos = pos + jax.random.choice(k, jnp.array([[1, 0], [-1, 0], [0, 1], [0, -1]]))
        print("at", *pos.tolist())
    return pos
lengths = [2, 3, 4]
seed = 5
---
bar_out, text = io.StringIO(), io.StringIO()
ends = []
bar = tqdm(lengths, file=bar_out, mininterval=1e9, desc="walks", bar_format="{desc}:{n_fmt}/{total_fmt}{postfix}")
with contextlib.redirect_stdout(text):
    for n in bar:
        ends.append(walk(jax.random.PRNGKey(seed + n), n))
        bar.set_postfix(d=float(jnp.abs(ends[-1]).sum()), refresh=False)
printed = text.getvalue().splitlines()
with contextlib.redirect_stdout(None):
    print("lost")
dist = jnp.linalg.norm(jnp.stack(ends), axis=1)
print(len(printed), printed[-1], bar.n, bar.desc.strip(": "), end=" <-\n")
sys.stdout.write(f"{bar_out.getvalue().count('walks')>0}\n")
ends[-1], dist
---
lengths.insert(0, 1)
---
seed = 9; print_ = print
---
def walk(key, n): print("jump", n); return jax.random.normal(key, (2,)) * n

### ob-warnings-recorded-filtered-and-turned-into-errors
class DriftWarning(UserWarning): pass
def normalise(w):
    s = jnp.sum(w)
    if abs(float(s) - 1) > 0.1: warnings.warn(f"weights sum to {float(s):.2f}", DriftWarning, stacklevel=2)
    if (w < 0).any(): warnings.warn("negative weights", RuntimeWarning)
    return w / s
portfolio = [jnp.array([0.5, 0.5]), jnp.array([0.9, 0.6]), jnp.array([1.2, -0.2])]
strict = False
---
cleaned, notes = [], []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for w in portfolio:
        cleaned.append(normalise(w))
notes = [(c.category.__name__, str(c.message)) for c in caught]
with warnings.catch_warnings():
    warnings.simplefilter("error" if strict else "ignore", RuntimeWarning)
    try:
        normalise(jnp.array([2.0, -1.0]))
        verdict = "tolerated"
    except RuntimeWarning as w:
        verdict = f"refused: {w}"
with np.errstate(divide="ignore", invalid="ignore"):
    ratio = np.float64(1.0) / np.array([0.0, 2.0])
warnings.warn(f"checked {len(cleaned)} portfolios")
print(notes, verdict)
jnp.stack(cleaned), ratio
---
strict = True
---
portfolio[0] = jnp.array([3.0, 1.0])
---
def normalise(w): return jax.nn.softmax(w)

### ob-batch-sharded-step-replicated-params-on-a-named-mesh devices=8
mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("data", "model"))
sh = lambda *spec: NamedSharding(mesh, P(*spec))
rng = np.random.default_rng(0)
params = {"w": jax.device_put(jnp.ones((4, 2)) * 0.1, sh(None, "model")), "b": jax.device_put(jnp.zeros(2), sh())}
def loss(p, x, y): return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
step = jax.jit(lambda p, x, y: jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, x, y)))
data = [(rng.normal(size=(8, 4)).astype(np.float32), rng.normal(size=(8, 2)).astype(np.float32)) for _ in range(2)]
---
seen = []
for x, y in data:
    x = jax.device_put(x, sh("data"))
    y = jax.device_put(y, sh("data", "model"))
    params = step(params, x, y)
    seen.append((str(x.sharding.spec), x.addressable_shards[0].data.shape))
w_host = np.asarray(params["w"])
parts = {s.device.id: s.index for s in params["w"].addressable_shards}
local = [np.asarray(s.data).sum() for s in y.addressable_shards if s.replica_id == 0]
full = loss(params, *data[0])
print(seen[0], len(parts), len(set(map(str, parts.values()))), y.is_fully_replicated, params["b"].sharding.is_fully_replicated)
w_host, full, len(local)
---
mesh = Mesh(np.array(jax.devices()[:8]).reshape(2, 4)[:, :2], ("data", "model")); params = jax.tree.map(lambda a: jax.device_put(np.asarray(a), sh()), params)
---
data.append((np.ones((4, 4), np.float32), np.zeros((4, 2), np.float32)))
---
params["w"] = jax.device_put(params["w"] * 3, sh("data", None))

### ob-shard-map-ring-rotation-and-psum-mean devices=8
mesh = jax.make_mesh((4,), ("i",), devices=jax.devices()[:4])
def ring(x):
    n = lax.axis_size("i")
    acc, blk = x * 0, x
    for k in range(n):
        acc = acc + blk * (k + 1)
        blk = lax.ppermute(blk, "i", [(j, (j + 1) % n) for j in range(n)])
    return acc
smap = jax.jit(jax.shard_map(ring, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
mean = jax.shard_map(lambda x: lax.pmean(x.sum(), "i"), mesh=mesh, in_specs=P("i"), out_specs=P())
x = jnp.arange(8.0)
rounds = 2
---
history = [jax.device_put(x, NamedSharding(mesh, P("i")))]
for r in range(rounds):
    history.append(smap(history[-1]) / 10)
m = mean(history[-1])
where = sorted(d.id for d in history[-1].devices())
ids = jax.shard_map(lambda v: v + lax.axis_index("i"), mesh=mesh, in_specs=P("i"), out_specs=P("i"))(jax.device_put(np.zeros(4, np.int32), NamedSharding(mesh, P("i"))))
gathered = jax.device_get(history[-1])
gathered_sorted = np.sort(gathered)[::-1]
print(where, len(history), type(gathered).__name__, history[-1].sharding.spec)
x = jnp.asarray(gathered) if rounds > 2 else x
m, ids, gathered_sorted[:2]
---
x = jnp.ones((4, 2)).at[0].set(5)
---
rounds = 3
---
mesh = jax.make_mesh((2,), ("i",), devices=jax.devices()[4:6]); x = jnp.arange(4.0)
smap = jax.jit(jax.shard_map(ring, mesh=mesh, in_specs=P("i"), out_specs=P("i")))
mean = jax.shard_map(lambda x: lax.pmean(x.sum(), "i"), mesh=mesh, in_specs=P("i"), out_specs=P())

### ob-mesh-context-and-sharding-constraints-inside-jit devices=8
from jax.sharding import AxisType
mesh = jax.make_mesh((2, 4), ("dp", "tp"), axis_types=(AxisType.Auto, AxisType.Auto))
def mlp(x, w1, w2, spec):
    h = jax.nn.gelu(x @ w1)
    h = lax.with_sharding_constraint(h, spec)
    return h @ w2
x = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
w1, w2 = jnp.eye(4, 8), jnp.ones((8, 4)) / 8
spec = P("dp", "tp")
---
fwd = jax.jit(mlp, static_argnames="spec")
with jax.set_mesh(mesh):
    y = fwd(jnp.asarray(x), w1, w2, spec)
    inside = jax.sharding.get_abstract_mesh().axis_names
    placed = jax.device_put(y, P("dp"))
    r = jnp.sum(placed, axis=1)
outside = jax.sharding.get_abstract_mesh().empty
z = fwd(x, w1, w2, NamedSharding(mesh, spec))
shard0 = placed.addressable_shards[0]
x[0] += np.asarray(shard0.data)[0]
diff = jnp.abs(jax.device_put(y, jax.devices()[0]) - jax.device_put(z, jax.devices()[0])).max()
print(inside, outside, shard0.data.shape, len(placed.devices()))
r, diff
---
spec = P(None, "tp")
---
w1 = jax.device_put(jnp.ones((4, 8)), NamedSharding(mesh, P(None, "tp")))
---
mesh = jax.make_mesh((4, 1), ("dp", "tp"), devices=jax.devices()[:4], axis_types=(AxisType.Auto,) * 2); w1 = jnp.eye(4, 8)

### ob-default-device-committed-and-uncommitted-inputs devices=8
devs = jax.devices()
k = 3
pinned = jax.device_put(jnp.arange(4.0), devs[1])
free = jnp.ones(4)
def where(a): return sorted(d.id for d in a.devices())
table = {}
---
with jax.default_device(devs[k]):
    made = jnp.zeros(4) + 2
    mixed = made * pinned
    nested = jnp.linspace(0, 1, 3)
after = jnp.full(4, 7.0)
moved = jax.device_put(mixed, devs[-1])
host = np.asarray(moved)
clash = None
try:
    moved + pinned
except ValueError as e:
    clash = type(e).__name__
table.update(made=where(made), mixed=where(mixed), after=where(after), nested=where(nested), moved=where(moved), free=where(free + pinned))
jit_out = jax.jit(lambda a, b: a @ b)(free, pinned)
same = jax.device_put(pinned, devs[1])
free = free + 1
print(table, clash, pinned.committed, made.committed, where(jit_out), same.committed)
jit_out, host
---
k = 5
---
pinned = jax.device_put(pinned * 10, devs[2])
---
free = jax.device_put(np.arange(4, dtype=np.float32), devs[2]); devs = devs[:4]; k = 0

### ob-donated-optimizer-state-and-deleted-buffers
@partial(jax.jit, donate_argnums=0)
def update(state, g):
    m = 0.9 * state["m"] + g
    return {"p": state["p"] - 0.1 * m, "m": m, "t": state["t"] + 1}
state = {"p": jnp.array([1.0, -2.0, 3.0]), "m": jnp.zeros(3), "t": jnp.int32(0)}
snapshots = deque(maxlen=3)
grad = jax.grad(lambda p: jnp.sum(jnp.cosh(p)))
n = 3
---
for _ in range(n):
    old = state
    g = grad(state["p"])
    state = update(state, g)
    snapshots.append({k: np.array(v) for k, v in state.items()})
gone = {k: v.is_deleted() for k, v in old.items()}
try:
    float(old["p"][0])
    used = "still alive"
except RuntimeError as e:
    used = "deleted" if "deleted" in str(e) else str(e)
g.delete()
moves = np.abs(np.diff([s["p"] for s in snapshots], axis=0)).sum(1)
print(used, gone, g.is_deleted(), int(state["t"]), len(snapshots))
del old
state["p"], moves
---
state = {"p": jnp.ones(3), "m": jnp.full(3, 0.5), "t": jnp.int32(100)}
---
n = 1; snapshots = deque(snapshots, maxlen=2)
---
grad = jax.grad(lambda p: jnp.sum(p**4)); n = 2; state = dict(state, p=jnp.array([0.5, 0.1, 0.2]))

### ob-char-rnn-scan-over-text-with-python-sampling-loop
text = "hello jax, hello notebooks. "
chars = sorted(set(text)); stoi = {c: i for i, c in enumerate(chars)}
def init(key, n, h=6):
    ks = jax.random.split(key, 3)
    return {"wx": jax.random.normal(ks[0], (n, h)) * 0.3, "wh": jax.random.normal(ks[1], (h, h)) * 0.3, "wo": jax.random.normal(ks[2], (h, n)) * 0.3}
def cell_fn(p, h, i):
    h = jnp.tanh(p["wx"][i] + h @ p["wh"])
    return h, h @ p["wo"]
@jax.jit
def loss_fn(p, ids):
    _, logits = lax.scan(partial(cell_fn, p), jnp.zeros(6), ids[:-1])
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), ids[1:, None], 1).mean()
params = init(jax.random.PRNGKey(0), len(chars))
prompt, temperature = "he", 0.5
---
ids = jnp.array([stoi[c] for c in text])
losses = []
for i in range(4):
    l, g = jax.value_and_grad(loss_fn)(params, ids)
    params = {k: v - 0.5 * g[k] for k, v in params.items()}
    losses.append(l.item())
h, out, rng = jnp.zeros(6), prompt, np.random.default_rng(len(prompt))
for c in prompt:
    h, logits = cell_fn(params, h, stoi[c])
while len(out) < 8 and not out.endswith("."):
    p = np.asarray(jax.nn.softmax(logits / temperature), dtype=np.float64)
    nxt = int(rng.choice(len(chars), p=p / p.sum()))
    out += chars[nxt]
    h, logits = cell_fn(params, h, nxt)
print(repr(out), all(a >= b for a, b in zip(losses, losses[1:])))
counts = collections.Counter(out)
losses[-1] < 3, jnp.linalg.norm(params["wo"])
---
prompt = "no"
---
text += "has taken books. "; temperature = 2.0
---
def cell_fn(p, h, i): return h * 0.9 + p["wx"][i], (h * 0.9 + p["wx"][i]) @ p["wo"]

### ob-newton-with-while-loop-cond-and-fori-against-python-loop
def f(x): return x**3 - 2 * x - 5
def newton(f, x0, tol=1e-5, maxiter=20):
    df = jax.grad(f)
    def cond(s): return (jnp.abs(f(s[0])) > tol) & (s[1] < maxiter)
    def body(s):
        x, i = s
        step = lax.cond(jnp.abs(df(x)) > 1e-3, lambda: f(x) / df(x), lambda: jnp.sign(f(x)) * 0.1)
        return x - step, i + 1
    return lax.while_loop(cond, body, (jnp.asarray(x0, jnp.float32), 0))
guesses = [2.0, -1.0]
maxiter = 20
---
roots = {}
for g in guesses:
    x, it = newton(f, g, maxiter=maxiter)
    roots[g] = (x, int(it))
else:
    last = g
best = min(roots.values(), key=lambda r: r[1])
bisect = lax.fori_loop(0, 12, lambda i, ab: jnp.where(f(ab.mean()) > 0, jnp.array([ab[0], ab.mean()]), jnp.array([ab.mean(), ab[1]])), jnp.array([1.0, 4.0]))
lo, hi = bisect
poly = np.roots([1, 0, -2, -5])
real = poly[np.abs(poly.imag) < 1e-9].real
converged = [abs(float(f(x))) < 1e-3 for x, _ in roots.values()]
branch = lax.switch(jnp.int32(best[1] % 3), [lambda v: v, lambda v: -v, lambda v: v * 0], best[0])
print(converged, last, len(real), real.dtype, bool(lo <= hi))
guesses[0] = round(float(lo), 1)
lo, branch
---
guesses.append(10.0)
---
def f(x): return x**2 - 3
---
maxiter = 2

### ob-ewma-and-linear-recurrence-by-associative-scan-on-a-series needs=pandas
import pandas as pd
prices = pd.Series([100, 101, 103, 99, 98, 104, 107, 106], index=pd.bdate_range("2024-01-01", periods=8), name="px", dtype="float64")
alpha = 0.3
def combine(l, r): return l[0] * r[0], r[0] * l[1] + r[1]
@jax.jit
def ewma(x, alpha):
    a = jnp.full_like(x, 1 - alpha).at[0].set(0.0)
    b = (alpha * x).at[0].set(x[0])
    return lax.associative_scan(combine, (a, b))[1]
---
x = jnp.asarray(prices.to_numpy())
smooth = ewma(x, alpha)
ref = prices.ewm(alpha=alpha, adjust=False).mean()
err = np.abs(np.asarray(smooth) - ref.to_numpy()).max()
signal = np.sign(prices.to_numpy() - np.asarray(smooth))
crossings = prices.index[1:][np.diff(signal) != 0]
cummax = lax.associative_scan(jnp.maximum, x)
drawdown = ((x - cummax) / cummax).min()
rev = lax.associative_scan(jnp.add, jnp.diff(x), reverse=True)
frame = prices.to_frame().assign(ewma=np.asarray(smooth), side=signal.astype(int))
prices.iloc[-1] = round(float(smooth[-1]), 1)
print(err < 1e-3, len(crossings), frame["side"].tolist(), frame.dtypes["ewma"])
drawdown, rev
---
alpha = 0.8
---
prices[pd.Timestamp("2024-01-11")] = 90.0
---
def combine(l, r): return l[0] + r[0], l[1] + r[1]
ewma.clear_cache()

### ob-custom-vjp-clip-with-rule-counters-and-straight-through
rule_calls = collections.Counter()
limit = 1.0
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def clip_grad(bound, x): return x
def _fwd(bound, x):
    rule_calls["fwd"] += 1
    return x, None
def _bwd(bound, _, g):
    rule_calls["bwd"] += 1
    return (jnp.clip(g, -bound, bound),)
clip_grad.defvjp(_fwd, _bwd)
@jax.custom_vjp
def hard_round(x): return jnp.round(x)
hard_round.defvjp(lambda x: (jnp.round(x), x), lambda x, g: (g * (jnp.abs(x) < 2),))
x = jnp.array([0.4, -1.6, 2.7])
def net(x): return jnp.sum(hard_round(clip_grad(limit, x)) ** 2 * jnp.array([1.0, 2.0, 3.0]))
---
value, g = jax.value_and_grad(net)(x)
plain = jax.grad(lambda v: jnp.sum(v**2 * jnp.array([1.0, 2.0, 3.0])))(x)
batch = jax.vmap(jax.grad(net))(jnp.stack([x, -x]))
for _ in range(2):
    x = x - 0.1 * jax.grad(net)(x)
saturated = int((jnp.abs(g) >= limit).sum())
rule_calls["total"] = rule_calls["fwd"] + rule_calls["bwd"]
out, pull = jax.vjp(hard_round, x)
cot = pull(jnp.ones(3))[0]
print(dict(rule_calls), saturated)
g, plain, batch[1], cot
---
limit = 0.25
---
clip_grad.defvjp(_fwd, lambda bound, _, g: (jnp.sign(g) * bound,))
---
x = jnp.array([1.0, 1.0, 1.0]); rule_calls.clear()

### ob-custom-jvp-softabs-jacfwd-jacrev-hessian-table
eps = 1e-2
@jax.custom_jvp
def softabs(x): return jnp.sqrt(x * x + eps)
@softabs.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return softabs(x), t * x / softabs(x)
def residual(p, t, y): return softabs(p[0] * jnp.exp(-p[1] * t) - y) + 0.1 * p[1]
t = np.linspace(0, 1, 4, dtype=np.float32)
y = 2 * np.exp(-1.5 * t)
p = jnp.array([1.0, 1.0])
report = []
---
J = jax.jacfwd(residual)(p, t, y)
JR = jax.jacrev(residual)(p, t, y)
H = jax.hessian(lambda q: residual(q, t, y).sum())(p)
for k in range(3):
    r = residual(p, t, y)
    Jk = jax.jacfwd(residual)(p, t, y)
    delta, *_, sv = jnp.linalg.lstsq(Jk, -r)
    p = p + 0.3 * delta
    report.append(f"{k}: |r|={float(jnp.linalg.norm(r)):.2f} rank={len(sv)}")
hvp = jax.jvp(jax.grad(lambda q: residual(q, t, y).sum()), (p,), (jnp.ones(2),))[1]
val, lin = jax.linearize(lambda q: residual(q, t, y), p)
print(*report[-3:], sep="\n")
y[-1] += 0.01
np.allclose(J, JR, atol=1e-4), jnp.allclose(H, H.T, atol=1e-3), lin(jnp.ones(2)).shape, hvp.shape
---
eps = 0.5
---
t = t[:3]; y = y[:3] * 2
---
softabs.defjvp(lambda primals, tangents: (softabs(*primals), tangents[0] * 0.5))

### ob-pure-callback-to-scipy-io-callback-log-and-debug-print needs=scipy
import scipy.special as sps
journal = []
def host_gamma(x): return sps.gammaln(np.asarray(x, np.float64)).astype(np.float32)
@jax.jit
def log_choose(n, k):
    def g(v): return jax.pure_callback(host_gamma, jax.ShapeDtypeStruct(v.shape, jnp.float32), v, vmap_method="expand_dims")
    return g(n + 1) - g(k + 1) - g(n - k + 1)
def record(step, v): journal.append((int(step), round(float(v), 3)))
def anneal(x, n):
    for i in range(n):
        x = x * 0.5 + 1
        jax.experimental.io_callback(record, None, i, x.sum(), ordered=True)
        jax.debug.print("step {} x0={:.3f}", i, x[0], ordered=True)
    return x
import jax.experimental
n = 3
---
journal.clear()
x = anneal(jnp.arange(3.0), n)
run = jax.jit(anneal, static_argnums=1)
x2 = run(x, n)
jax.effects_barrier()
k = jnp.arange(4.0)
c = jnp.exp(log_choose(jnp.full(4, 5.0), k))
v = jax.vmap(log_choose)(jnp.full((2, 1), 6.0), jnp.array([[2.0], [3.0]]))
jax.debug.callback(lambda s: journal.append(("sum", float(s))), c.sum().round())
jax.effects_barrier()
print(len(journal), journal[-1], journal[0])
x2, c.round(), v.shape
---
def record(step, v): journal.append((int(step), "seen"))
---
n = 2
---
journal = collections.deque(maxlen=2)

### ob-checkify-user-checks-thrown-and-collected
from jax.experimental import checkify
limits = {"lo": -1.0, "hi": 4.0}
def integrate(x, n, dt):
    for i in range(n):
        checkify.check(jnp.all(x < limits["hi"]), "step {i}: blew up at {m}", i=jnp.int32(i), m=x.max())
        checkify.check(jnp.all(x > limits["lo"]), "too low")
        x = x + dt * x**2
    return x
safe = checkify.checkify(integrate, errors=checkify.user_checks | checkify.float_checks)
starts = [jnp.array([0.1, 0.2]), jnp.array([1.0, 1.5]), jnp.array([-2.0, 0.0])]
errors, dt = [], 0.5
---
finals, messages = [], {}
for i, s in enumerate(starts):
    err, out = jax.jit(safe, static_argnums=1)(s, 3, dt)
    if (msg := err.get()) is not None:
        messages[i] = msg.split(" (")[0]
        errors.append(i)
        continue
    finals.append(out)
try:
    err.throw()
except checkify.JaxRuntimeError as e:
    kind = type(e).__name__
else:
    kind = "fine"
oob, _ = checkify.checkify(lambda a, i: a[i], errors=checkify.index_checks)(jnp.arange(3), 5)
print(messages, kind, oob.get() is not None, len(errors))
del err, oob
limits["hi"] += 1
finals
---
starts[2] = jnp.array([0.3, 0.3])
---
limits = {"lo": -10.0, "hi": 1.0}
---
dt = 0.0; errors.clear()

### ob-registered-mesh-node-with-aux-paths-and-none-leaves
@jax.tree_util.register_pytree_with_keys_class
class Layer:
    made = 0
    def __init__(self, w, b=None, name="l", act=jnp.tanh):
        self.w, self.b, self.name, self.act = w, b, name, act
        Layer.made += 1
    def tree_flatten_with_keys(self):
        return [(jax.tree_util.GetAttrKey("w"), self.w), (jax.tree_util.GetAttrKey("b"), self.b)], (self.name, self.act)
    @classmethod
    def tree_unflatten(cls, aux, kids): return cls(*kids, *aux)
    def __call__(self, x): return self.act(x @ self.w + (0 if self.b is None else self.b))
net = [Layer(jnp.ones((2, 3)) / 3, jnp.zeros(3), "in"), Layer(jnp.ones((3, 1)), None, "out", act=jax.nn.relu)]
x = jnp.array([[1.0, 2.0], [0.5, -1.0]])
decay = {"w": 0.9}
---
def forward(net, x): return functools.reduce(lambda h, l: l(h), net, x)
g = jax.grad(lambda n: forward(n, x).sum())(net)
new = jax.tree_util.tree_map_with_path(lambda p, a, d: (a - 0.1 * d) * decay.get(p[-1].name, 1.0), net, g)
paths = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_flatten_with_path(net)[0]]
leaves, treedef = jax.tree.flatten(net)
doubled = jax.tree.unflatten(treedef, [2 * l for l in leaves])
mismatch = None
try:
    jax.tree.map(jnp.add, net, net[:1])
except ValueError as e:
    mismatch = "mismatch"
doubled[0].name = "in-doubled"
swapped = jax.tree.structure(doubled) == treedef
net[0].w = new[0].w
stacked = jax.tree.map(lambda *ls: jnp.stack(ls), net[1], new[1])
print(paths, mismatch, swapped, Layer.made > 0, g[1].b, new[0].name)
forward(new, x), stacked.w.shape, forward(doubled, x)
---
net[1].b = jnp.array([0.5])
---
decay["b"] = 0.0; net[0].act = jnp.sin
---
Layer.__call__ = lambda self, x: x @ self.w

### ob-keys-old-and-new-style-folded-per-worker-and-serialised
class KeySeq:
    def __init__(self, seed, impl=None): self.key, self.n = jax.random.key(seed, impl=impl), 0
    def __next__(self):
        self.key, sub = jax.random.split(self.key)
        self.n += 1
        return sub
    def __iter__(self): return self
keys = KeySeq(0)
old = jax.random.PRNGKey(42)
workers = ["a", "b"]
---
first, second = next(keys), next(keys)
noise = {w: jax.random.normal(jax.random.fold_in(first, i), (2,)) for i, w in enumerate(workers)}
raw = jax.random.key_data(keys.key)
Path("key.json").write_text(json.dumps({"data": np.asarray(raw).tolist(), "impl": str(jax.random.key_impl(keys.key))}))
saved = json.loads(Path("key.json").read_text())
back = jax.random.wrap_key_data(jnp.array(saved["data"], jnp.uint32), impl=saved["impl"])
agree = bool((jax.random.bits(back, (2,)) == jax.random.bits(keys.key, (2,))).all())
old, *subs = jax.random.split(old, 3)
perm = jax.random.permutation(subs[0], jnp.arange(5))
mixed = jax.random.uniform(subs[1]) + jax.random.uniform(second)
batch = jax.vmap(lambda k: jax.random.bernoulli(k, 0.5, (3,)))(jax.random.split(second, 2))
typed = jnp.issubdtype(first.dtype, jax.dtypes.prng_key), jnp.issubdtype(old.dtype, jax.dtypes.prng_key)
table = np.stack(list(noise.values()))
print(agree, typed, first.shape, old.shape, keys.n, saved["impl"])
perm, mixed, batch.sum(), table.shape
---
workers.append("c")
---
keys = KeySeq(1, impl="rbg")
---
old = jax.random.PRNGKey(7); keys.key = jax.random.key(100); KeySeq.__next__ = lambda self: jax.random.fold_in(self.key, 0)

### ob-x64-inside-a-context-weak-types-and-promotion-table
half, ints = jnp.asarray(0.5, jnp.float16), jnp.arange(3, dtype=jnp.int8)
series = np.array([1e8, 1.0, -1e8, 0.25])
literal = 2.5
def kahan(xs):
    s = c = xs[0] * 0
    for v in xs:
        y = v - c
        t = s + y
        c, s = (t - s) - y, t
    return s
---
table = {}
for name, v in {"half": half, "ints": ints, "py": 3, "np64": np.float64(1.5), "bool": jnp.array(True)}.items():
    r = v * literal
    table[name] = (str(jnp.result_type(r)), getattr(r, "weak_type", None))
naive32 = jnp.asarray(series).sum()
with jax.enable_x64(True):
    wide = jnp.asarray(series)
    exact = kahan(wide)
    inner = jnp.arange(2).dtype
narrow = jnp.asarray(np.asarray(wide))
weak = jnp.asarray(literal)
strong = lax.convert_element_type(weak, jnp.float16)
summed = weak + half
print(table)
print(inner, wide.dtype, narrow.dtype, weak.weak_type, summed.dtype, strong.weak_type)
series[1] += float(exact)
exact.dtype, float(exact), (ints + literal).dtype, kahan(jnp.asarray(series))
---
literal = 3
---
half = jnp.asarray([0.5, 0.25], jnp.bfloat16); literal = np.float32(1.5)
---
def kahan(xs): return xs.sum()

### ob-weights-quantised-to-int8-fp8-and-bf16-compared
rng = np.random.default_rng(4)
W = rng.normal(size=(4, 5)).astype(np.float32)
W[0, 0] = 6.0
calib = rng.normal(size=(3, 4)).astype(np.float32)
formats = {"bf16": jnp.bfloat16, "e4m3": jnp.float8_e4m3fn, "e5m2": jnp.float8_e5m2}
percentile = 100.0
def quant(w, bits=8):
    top = np.percentile(np.abs(w), percentile, axis=0) / (2 ** (bits - 1) - 1)
    return np.clip(np.rint(w / top), -128, 127).astype(np.int8), top.astype(np.float32)
---
ref = calib @ W
q, s = quant(W)
err, bytes_ = {}, {"f32": W.nbytes}
int_out = lax.dot_general(jnp.asarray(np.rint(calib * 16), jnp.int8), jnp.asarray(q), (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
err["int8"] = float(jnp.abs(int_out * s / 16 - ref).max())
for name, dt in formats.items():
    low = jnp.asarray(W).astype(dt)
    bytes_[name] = low.nbytes
    err[name] = float(jnp.abs(calib @ low.astype(jnp.float32) - ref).max())
host = np.asarray(low)
bits = low.view(jnp.uint8) if low.dtype.itemsize == 1 else low.view(jnp.uint16)
order = sorted(err, key=err.get)
info = {n: float(jnp.finfo(d).max) for n, d in formats.items()}
W[np.abs(W) > 4] *= 0.5
print(order[0], bytes_, host.dtype, q.dtype, int_out.dtype, info["e4m3"])
q[:, 0], bits[0, :2], low[0]
---
percentile = 80.0
---
W = W[:, :3] * 3; del formats["e5m2"]
---
def quant(w, bits=4): return np.sign(w).astype(np.int8), np.abs(w).mean(0).astype(np.float32)

### ob-singledispatch-norms-and-lru-cached-kernels
built = []
@functools.lru_cache(maxsize=2)
def kernel(size, sigma):
    built.append((size, sigma))
    t = jnp.arange(size) - (size - 1) / 2
    k = jnp.exp(-(t**2) / (2 * sigma**2))
    return k / k.sum()
@functools.singledispatch
def norm(obj): raise TypeError(type(obj).__name__)
@norm.register
def _(obj: jax.Array): return jnp.linalg.norm(obj)
@norm.register(np.ndarray)
def _(obj): return np.linalg.norm(obj.ravel())
@norm.register(dict)
def _(obj): return sum(norm(v) ** 2 for v in obj.values()) ** 0.5
@norm.register(list)
@norm.register(tuple)
def _(obj): return max(map(norm, obj))
items = [jnp.ones(4), np.arange(3.0), {"a": jnp.ones(2), "b": np.ones(2)}, (jnp.zeros(1), np.full(2, 3.0))]
sizes = [(3, 1.0), (5, 1.0), (3, 1.0)]
---
x = jnp.array([0.0, 0.0, 1.0, 0.0, 0.0, 2.0])
blurred = [jnp.convolve(x, kernel(*s), mode="same") for s in sizes]
same_kernel = kernel(3, 1.0) is kernel(3, 1.0)
norms = []
for it in items:
    try:
        norms.append(norm(it))
    except TypeError as e:
        norms.append(None)
        print("no norm for", e)
info = kernel.cache_info()
kinds = [norm.dispatch(type(i)).__name__ for i in items]
total = sum(n for n in norms if n is not None)
print(info, same_kernel, len(built), [type(n).__name__ for n in norms])
blurred[0], total
---
sizes.append((7, 2.0))
---
items.append("text"); sizes.pop(0)
---
kernel.cache_clear(); norm.register(jax.Array, lambda a: jnp.abs(a).max())

### ob-config-dataclasses-enums-and-match-build-a-network
class Act(enum.Enum):
    RELU = "relu"; TANH = "tanh"; GELU = "gelu"
    @property
    def fn(self): return getattr(jax.nn, self.value)
@dataclass(frozen=True)
class Dense: out: int; act: Act = Act.RELU
@dataclass(frozen=True)
class Norm: eps: float = 1e-3
@dataclass
class Net:
    spec: list; width: int = 3; params: dict = field(default_factory=dict, repr=False)
    def build(self, key):
        w = self.width
        for i, s in enumerate(self.spec):
            match s:
                case Dense(out=o): self.params[i] = jax.random.normal(jax.random.fold_in(key, i), (w, o)) / w; w = o
                case Norm(): self.params[i] = jnp.ones(w)
                case {"skip": int()}: pass
                case _: raise TypeError(s)
        return self
net = Net([Dense(4, Act.TANH), Norm(), {"skip": 1}, Dense(2)])
seed = 3
---
net.build(jax.random.key(seed))
h = jnp.linspace(0, 1, 6).reshape(2, 3)
trace = [h.shape]
for i, layer in enumerate(net.spec):
    match layer, net.params.get(i):
        case Dense(act=a), w if w is not None:
            h = a.fn(h @ w)
        case Norm(eps), scale:
            h = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + eps) * scale
        case {"skip": n}, None:
            h = h + n * 0.1
    trace.append(h.shape)
sizes = {i: p.size for i, p in net.params.items()}
wider = replace(net.spec[0], out=net.spec[0].out + 1)
print(net, trace[-1], sizes, wider, Act("gelu") is Act.GELU, wider == net.spec[0])
net.spec[1] = replace(net.spec[1], eps=net.spec[1].eps * 2) if isinstance(net.spec[1], Norm) else net.spec[1]
h
---
net.spec[0] = Dense(5, Act.GELU)
---
net.spec.insert(1, {"skip": 2}); net.params.clear()
---
Act.fn = property(lambda self: jnp.sin); seed = 4

### ob-three-body-leapfrog-namedtuple-state-energy-drift tolerance=1e-3
class State(NamedTuple):
    pos: jax.Array
    vel: jax.Array
    t: float = 0.0
    @property
    def kinetic(self): return 0.5 * jnp.sum(mass[:, None] * self.vel**2)
mass = jnp.array([10.0, 1.0, 0.1])
G, soft, dt = 1.0, 0.05, 0.02
def acc(pos):
    d = pos[None] - pos[:, None]
    r2 = (d**2).sum(-1) + soft
    return (G * mass[None, :, None] * d / r2[..., None] ** 1.5).sum(1)
def leap(s: State) -> State:
    v = s.vel + 0.5 * dt * acc(s.pos)
    p = s.pos + dt * v
    return State(p, v + 0.5 * dt * acc(p), s.t + dt)
state = State(jnp.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]]), jnp.array([[0.0, 0.0], [0.0, 2.0], [-1.5, 0.0]]))
---
log, start = [state], state
for k in range(4):
    state = leap(state)
    log.append(state)
pos, vel, t = state
stacked = State(*map(lambda *c: jnp.stack(c), *[(s.pos, s.vel, jnp.float32(s.t)) for s in log]))
drift = float(abs(log[-1].kinetic - log[0].kinetic))
com = (mass[:, None] * pos).sum(0) / mass.sum()
closest = np.unravel_index(int(np.linalg.norm(np.asarray(stacked.pos[:, 0] - stacked.pos[:, 1]), axis=-1).argmin()), (len(log),))
state = state._replace(t=round(state.t, 3))
fields = {k: np.shape(v) for k, v in state._asdict().items()}
print(fields, state.t, isinstance(drift, float), start is log[0], len(log))
com, pos[1]
---
dt = 0.05
---
state = State(pos=state.pos * 2, vel=state.vel * 0)
---
mass = mass.at[2].set(5.0); G = -1.0

### ob-metaclass-registry-descriptors-and-slots-for-units
class Registry(type):
    kinds = {}
    def __new__(m, name, bases, ns):
        cls = super().__new__(m, name, bases, ns)
        if ns.get("unit"): m.kinds[ns["unit"]] = cls
        return cls
    def __call__(cls, *a, **k):
        obj = super().__call__(*a, **k)
        cls.live = getattr(cls, "live", 0) + 1
        return obj
class NonNegative:
    def __set_name__(self, owner, name): self.slot = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.slot)
    def __set__(self, obj, v):
        v = jnp.asarray(v)
        if bool((v < 0).any()): raise ValueError(f"{self.slot[1:]} is negative")
        setattr(obj, self.slot, v)
class Quantity(metaclass=Registry):
    __slots__ = ("_value", "log")
    value = NonNegative()
    factor = 1.0
    def __init__(self, value): self.log = []; self.value = value
    def __iadd__(self, other): self.log.append(type(other).__name__); self.value = self.value + other.si() / self.factor; return self
    def si(self): return self.value * self.factor
class Metre(Quantity): unit = "m"; __slots__ = ()
class Foot(Quantity): unit = "ft"; factor = 0.3048; __slots__ = ()
parts = [("m", [1.0, 2.0]), ("ft", [3.0, 0.0]), ("ft", [-1.0, 1.0])]
---
total = Metre(jnp.zeros(2))
alias, bad = total, []
for unit, v in parts:
    try:
        total += Registry.kinds[unit](v)
    except ValueError as e:
        bad.append((unit, str(e)))
    except KeyError as e:
        bad.append((e.args[0], "unknown unit"))
try:
    total.note = "x"
except AttributeError:
    slotted = True
counts = {c.__name__: vars(c).get("live") for c in Registry.kinds.values()}
Foot.factor = round(Foot.factor + 0.0002, 4)
print(bad, total.log, counts, alias is total, slotted, isinstance(Quantity.value, NonNegative))
total.value, total.si()
---
parts.append(("yd", [1.0, 1.0]))
---
class Yard(Quantity): unit = "yd"; factor = 0.9144; __slots__ = ()
---
NonNegative.__set__ = lambda self, obj, v: setattr(obj, self.slot, jnp.abs(jnp.asarray(v)))

### ob-generator-pipeline-with-send-yield-from-and-close
closed = []
def source(n):
    try:
        for i in range(n): yield jnp.full((2,), float(i))
    finally: closed.append("source")
def augment(items, scale):
    for x in items:
        yield x * scale
        if float(x[0]) % 2: yield -x
def batched(items, size):
    while chunk := list(itertools.islice(items, size)): yield jnp.stack(chunk)
def running_mean():
    total, count, x = jnp.zeros(2), 0, None
    while True:
        x = yield (total / max(count, 1))
        if x is None: return count
        total, count = total + x.sum(0), count + len(x)
def outer(box):
    box["count"] = yield from running_mean()
    yield "done"
n, size, scale = 5, 3, 2.0
---
box = {}
meter = outer(box)
means = [next(meter)]
pipe = batched(augment(source(n), scale), size)
for b in pipe:
    means.append(meter.send(b))
    if len(means) > 3:
        break
leftover = next(pipe, None)
pipe.close()
final = meter.send(None)
head, *middle, tail = means
pairs = [(a - b).sum() for a, b in itertools.pairwise(means)]
lazy = (m.max() for m in middle)
peak = max(lazy, default=jnp.float32(-1))
print(box, final, closed[-1:], leftover is None, next(lazy, "empty"))
del meter, pipe, lazy
tail, peak, jnp.array(pairs)
---
n = 8
---
def augment(items, scale): yield from (x + scale for x in items)
---
size = 1; closed = []

### ob-context-manager-patches-jnp-helper-and-restores-it
calls = []
class patched:
    def __init__(self, obj, name, new): self.obj, self.name, self.new = obj, name, new
    def __enter__(self): self.old = getattr(self.obj, self.name); setattr(self.obj, self.name, self.new); return self.old
    def __exit__(self, kind, exc, tb):
        setattr(self.obj, self.name, self.old)
        return kind is ZeroDivisionError
@contextlib.contextmanager
def spy(ns, name):
    real = getattr(ns, name)
    @functools.wraps(real)
    def wrapper(*a): calls.append((name, a[0].shape)); return real(*a)
    with patched(ns, name, wrapper): yield real
ops = types.SimpleNamespace(act=jnp.tanh, pool=lambda v: v.mean(0))
def model(x): return ops.pool(ops.act(x) * 2)
x = jnp.arange(6.0).reshape(3, 2)
fail = True
---
base = model(x)
with spy(ops, "act") as real_act, spy(ops, "pool"):
    watched = model(x)
    with patched(ops, "act", jax.nn.relu) as was:
        swapped = model(x - 2)
with patched(ops, "act", jnp.abs):
    held = model(-x)
    if fail:
        1 / 0
    held = held + 1
with contextlib.ExitStack() as stack:
    for nm in ("act", "pool"):
        stack.enter_context(patched(ops, nm, lambda v: v))
    raw = model(x)
restored = ops.act is real_act
names = [c[0] for c in calls[-2:]]
print(restored, names, len(calls), was.__name__, bool((watched == base).all()))
ops.act = jnp.sin if len(calls) > 4 else ops.act
base, swapped, held, raw.shape
---
fail = False
---
ops.pool = lambda v: v.max(0); calls.clear()
---
patched.__exit__ = lambda self, *a: setattr(self.obj, self.name, self.old) or True

### ob-helper-module-on-disk-reloaded-beside-a-module-made-by-hand
import importlib
Path("obphys.py").write_text("import jax.numpy as jnp\ng = 9.81\nCOUNT = 0\ndef fall(t):\n    global COUNT\n    COUNT += 1\n    return 0.5 * g * t ** 2\n")
sys.path.insert(0, os.getcwd()) if os.getcwd() not in sys.path else None
importlib.invalidate_caches()
import obphys
from obphys import fall
consts = types.ModuleType("consts"); consts.drag, consts.table = 0.1, {"earth": 9.81, "moon": 1.62}
body = "moon"
---
t = jnp.linspace(0, 2, 5)
first = fall(t)
obphys.g = consts.table[body]
second = obphys.fall(t) * (1 - consts.drag)
src = Path("obphys.py").read_text()
if "def bounce" not in src:
    Path("obphys.py").write_text(src + "def bounce(v, e=0.8):\n    return -v * e\n")
    os.utime("obphys.py", (1_700_000_000, 1_700_000_000))
    importlib.invalidate_caches()
obphys = importlib.reload(obphys)
speeds = [jnp.float32(4.0)]
while abs(float(speeds[-1])) > 2.0:
    speeds.append(obphys.bounce(speeds[-1]))
stale = fall is not obphys.fall
consts.table["last"] = float(second[-1])
print(obphys.g, obphys.COUNT, stale, fall.__module__, sorted(consts.table), hasattr(obphys, "bounce"))
first[-1], second[-1], len(speeds)
---
consts.drag = 0.5; body = "earth"
---
Path("obphys.py").write_text("g = 1.0\nCOUNT = 10\ndef fall(t): return g * t\ndef bounce(v, e=0.4): return -v * e\n"); os.utime("obphys.py", (1_700_000_100, 1_700_000_100))
---
obphys.fall = lambda t: t; fall = obphys.fall

### ob-closures-with-nonlocal-early-stopping-and-plateau-halving
def early_stopping(patience, min_delta=1e-3):
    best, bad, best_w = math.inf, 0, None
    def check(value, w):
        nonlocal best, bad, best_w
        if value < best - min_delta: best, bad, best_w = value, 0, w
        else: bad += 1
        return bad >= patience
    def result(): return best, bad, best_w
    return check, result
def make_counter(start=0):
    n = start
    def inc(by=1): nonlocal n; n += by; return n
    return inc
epochs = make_counter()
X = jnp.stack([jnp.linspace(-1, 1, 8), jnp.ones(8)], 1); y = X @ jnp.array([2.0, 0.5]) + 0.3 * jnp.sin(9 * X[:, 0])
w, lr, patience = jnp.zeros(2), 0.8, 2
fns = [lambda v, k=k: v * k for k in (1, 2)]
---
check, result = early_stopping(patience)
mse = lambda w: jnp.mean((X @ w - y) ** 2)
curve = []
for _ in range(12):
    epochs()
    val, g = jax.value_and_grad(mse)(w)
    curve.append(float(val))
    if check(curve[-1], w):
        print("stop at", epochs(0))
        break
    w = w - lr * g
    if len(curve) > 2 and curve[-1] > curve[-2]:
        lr /= 2
best, bad, best_w = result()
cells = dict(zip(check.__code__.co_freevars, [c.cell_contents for c in check.__closure__]))
scaled = [f(best_w[0]) for f in fns]
w = best_w + 0.1
print(sorted(cells), cells["patience"], epochs(0), bad, best == min(curve) or best > 0)
best_w.round(2), jnp.stack(scaled).round(2)
---
patience = 1; lr = 0.1
---
y = y.at[0].add(5.0)
---
fns.append(lambda v: -v); epochs = make_counter(100)

### ob-tokenise-and-evaluate-array-formulas-with-match
import re
env = {"x": jnp.array([1.0, 2.0, 3.0]), "k": 2.0}
funcs = {"sum": jnp.sum, "exp": jnp.exp}
formulas = ["x * k + 1", "sum(x * x) - k", "exp(x - 3) * y", "x + * 2"]
def tokens(s): return re.findall(r"\d+\.?\d*|[a-z]+|[-+*()]", s)
def parse(toks, level=0):
    ops = [("+", "-"), ("*",)]
    if level == 2:
        match toks:
            case [name, "(", *rest] if name in funcs:
                toks[:] = rest; inner = parse(toks); toks.pop(0); return ("call", name, inner)
            case [str(n), *rest] if n[0].isdigit(): toks[:] = rest; return ("num", float(n))
            case [str(v), *rest] if v.isalpha(): toks[:] = rest; return ("var", v)
            case _: raise SyntaxError(f"near {' '.join(toks[:2])!r}")
    node = parse(toks, level + 1)
    while toks and toks[0] in ops[level]: node = (toks.pop(0), node, parse(toks, level + 1))
    return node
def run(node):
    match node:
        case ("num", v): return v
        case ("var", v): return env[v]
        case ("call", f, a): return funcs[f](run(a))
        case ("+", a, b): return run(a) + run(b)
        case ("-", a, b): return run(a) - run(b)
        case ("*", a, b): return run(a) * run(b)
---
results, problems = {}, []
for src in formulas:
    try:
        tree = parse(tokens(src))
        results[src] = run(tree)
    except (SyntaxError, KeyError) as e:
        problems.append(f"{type(e).__name__}: {e}")
env["ans"] = results[formulas[0]]
depth = lambda n: 1 + max((depth(c) for c in n[1:] if isinstance(c, tuple)), default=0)
used = {m for s in formulas for m in tokens(s) if m.isalpha()} - funcs.keys()
text = " ".join(f"{k}={np.asarray(v).round(2).tolist()}" for k, v in results.items())
print(text); print(problems, depth(tree), sorted(used))
env["ans"], len(results)
---
env["y"] = jnp.array([1.0, 0.0, -1.0])
---
formulas[3] = "sum(ans) * 2"; env["k"] = 3
---
funcs["sum"] = jnp.cumsum; formulas.insert(0, "k - 1")

### ob-replay-buffer-dqn-on-a-chain-with-target-sync
class Replay:
    def __init__(self, cap): self.s, self.a, self.r, self.s2 = (np.zeros(cap, d) for d in (np.int32, np.int32, np.float32, np.int32)); self.i = self.full = 0
    def add(self, *tr):
        for buf, v in zip((self.s, self.a, self.r, self.s2), tr): buf[self.i] = v
        self.i = (self.i + 1) % len(self.s); self.full = min(self.full + 1, len(self.s))
    def sample(self, rng, n):
        idx = rng.integers(0, self.full, n)
        return tuple(b[idx] for b in (self.s, self.a, self.r, self.s2))
def env_step(s, a, n=5):
    s2 = min(max(s + (1 if a else -1), 0), n - 1)
    return s2, float(s2 == n - 1)
@jax.jit
def td_update(q, target, batch, lr=0.5, gamma=0.9):
    s, a, r, s2 = batch
    def loss(q): return jnp.mean((q[s, a] - r - gamma * target[s2].max(-1)) ** 2)
    v, g = jax.value_and_grad(loss)(q)
    return q - lr * g, v
rng, buf = np.random.default_rng(1), Replay(16)
q = target = jnp.zeros((5, 2))
eps, s = 0.5, 0
---
tds, visited = [], np.zeros(5, int)
for step in range(12):
    a = int(rng.integers(2)) if rng.random() < eps else int(np.argmax(q[s]))
    s2, r = env_step(s, a)
    buf.add(s, a, r, s2)
    visited[s2] += 1
    s = 0 if r else s2
    if buf.full >= 4:
        q, td = td_update(q, target, buf.sample(rng, 4))
        tds.append(td)
    if step % 6 == 5:
        target = q
policy = "".join("LR"[i] for i in np.asarray(q.argmax(-1)))
eps = max(0.05, eps * 0.8)
print(policy, visited, buf.i, buf.full, round(eps, 3), target is q, s)
q.max(), len(tds)
---
buf = Replay(6)
---
def env_step(s, a, n=5): return ((s + 2 * a - 1) % n, float(s == 2))
---
eps = 0.0; q = q.at[:, 1].add(1.0); rng = np.random.default_rng(3)

### ob-trainer-with-meters-schedule-objects-and-hooks
class Meter:
    def __init__(self): self.reset()
    def reset(self): self.total, self.n = 0.0, 0
    def update(self, v, n=1): self.total += v * n; self.n += n
    @property
    def avg(self): return self.total / self.n if self.n else float("nan")
class Warmup:
    def __init__(self, base, warm): self.base, self.warm, self.t = base, warm, 0
    def step(self): self.t += 1; return self.base * min(1.0, self.t / self.warm)
class Trainer:
    def __init__(self, w, sched): self.w, self.sched, self.meters, self.hooks = w, sched, defaultdict(Meter), []
    def on(self, event):
        def deco(fn): self.hooks.append((event, fn)); return fn
        return deco
    def fire(self, event, **kw): return [fn(self, **kw) for e, fn in self.hooks if e == event]
    def fit(self, data):
        for x, y in data:
            l, g = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2))(self.w)
            self.w = self.w - self.sched.step() * g
            self.meters["loss"].update(l, len(x))
            self.fire("step", loss=l)
        self.fire("epoch")
data = [(jnp.eye(3)[:2], jnp.array([0.5, -0.5])), (jnp.ones((1, 3)), jnp.array([0.1]))]
trainer = Trainer(jnp.zeros(3), Warmup(0.4, 5))
history = []
---
if not trainer.hooks:
    @trainer.on("epoch")
    def keep(tr):
        history.append(tr.meters["loss"].avg)
        tr.meters["loss"].reset()
    @trainer.on("step")
    def guard(tr, loss):
        tr.meters["grad_ok"].update(float(jnp.isfinite(loss)))
        return loss
for epoch in range(2):
    trainer.fit(data)
last = trainer.fire("step", loss=jnp.float32(0.25))
lr_now = trainer.sched.base * min(1.0, trainer.sched.t / trainer.sched.warm)
print(len(history), type(history[-1]).__name__, trainer.sched.t, lr_now, trainer.meters["grad_ok"].n, math.isnan(trainer.meters["loss"].avg))
best_epoch = min(range(len(history)), key=history.__getitem__)
trainer.w, history[-1], last
---
trainer.sched = Warmup(0.1, 1)
---
data.append((jnp.array([[1.0, -1.0, 2.0]]), jnp.array([0.9])))
---
trainer.hooks.clear(); Meter.update = lambda self, v, n=1: self.__dict__.update(total=v, n=1)

### ob-game-of-life-board-as-text-image-and-cycle-detection needs=PIL
from PIL import Image
glider = ".#.\n..#\n###"
def read(txt, size=8):
    b = np.zeros((size, size), bool)
    for r, line in enumerate(txt.splitlines()):
        for c, ch in enumerate(line): b[r + 1, c + 1] = ch == "#"
    return b
def show(b): return "\n".join("".join(".#"[int(v)] for v in row) for row in np.asarray(b))
rule = ({3}, {2, 3})
def make_step(rule):
    born, stay = (jnp.array([i in s for i in range(9)]) for s in rule)
    @jax.jit
    def step(b):
        n = sum(jnp.roll(b.astype(jnp.int32), (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        return jnp.where(b, stay[n], born[n])
    return step
board = read(glider)
generations = 6
---
step = make_step(rule)
seen, b = {}, jnp.asarray(board)
for gen in range(generations):
    key = np.asarray(b).tobytes()
    if key in seen:
        print("cycle of", gen - seen[key])
        break
    seen[key] = gen
    b = step(b)
else:
    print("no cycle in", generations)
Image.fromarray(np.asarray(b).astype(np.uint8) * 255).resize((16, 16), Image.NEAREST).save("life.png")
img = np.asarray(Image.open("life.png"))
cols = np.flatnonzero(np.asarray(b).any(0))
print(show(b[:5, :5]))
board[0, 0] ^= True
b.sum(), img.shape, int(img.max()), cols, len(seen)
---
board = read("###"); generations = 9
---
rule = ({3, 6}, {2, 3})
---
board = read("##\n##")[:6, :6]; rule = ({3}, {2, 3})

### ob-shortest-paths-floyd-bfs-levels-and-heap-dijkstra
import heapq
graph = {"a": {"b": 4.0, "c": 1.0}, "b": {"d": 1.0}, "c": {"b": 2.0, "d": 5.0}, "d": {}}
def to_matrix(g):
    idx = {n: i for i, n in enumerate(g)}
    d = np.full((len(g),) * 2, np.inf, np.float32)
    np.fill_diagonal(d, 0)
    for u, nbrs in g.items():
        for v, w in nbrs.items(): d[idx[u], idx[v]] = w
    return idx, jnp.asarray(d)
@jax.jit
def floyd(d): return lax.fori_loop(0, d.shape[0], lambda k, d: jnp.minimum(d, d[:, k, None] + d[None, k]), d)
start, goal = "a", "d"
---
idx, d0 = to_matrix(graph)
d = floyd(d0)
dist, prev, heap = {start: 0.0}, {}, [(0.0, start)]
while heap:
    cost, u = heapq.heappop(heap)
    if cost > dist.get(u, math.inf):
        continue
    for v, w in graph[u].items():
        if (alt := cost + w) < dist.get(v, math.inf):
            dist[v], prev[v] = alt, u
            heapq.heappush(heap, (alt, v))
path = [goal]
while path[-1] in prev:
    path.append(prev[path[-1]])
agree = all(np.isclose(d[idx[start], idx[v]], c) for v, c in dist.items())
frontier, levels = jnp.zeros(len(idx), bool).at[idx[start]].set(True), []
while bool(frontier.any()) and len(levels) < len(idx):
    levels.append(int(frontier.sum()))
    frontier = (jnp.isfinite(d0) & frontier[:, None] & ~jnp.eye(len(idx), dtype=bool)).any(0)
print("->".join(reversed(path)), agree, levels)
graph[start][goal] = float(d[idx[start], idx[goal]]) + 1
d, jnp.isinf(d).sum()
---
graph["c"]["b"] = 10.0
---
graph["e"] = {"a": 1.0}; start = "e"
---
del graph["b"]["d"]; floyd = jax.jit(lambda d: jnp.minimum(d, (d[:, :, None] + d[None]).min(1)))

### ob-edit-distance-rows-and-knapsack-table-traced-back
words = [("kitten", "sitting"), ("jax", "max"), ("flaw", "lawn")]
cost = {"sub": 1, "gap": 1}
def edit(a, b):
    prev = jnp.arange(len(b) + 1) * cost["gap"]
    bb = jnp.array([ord(c) for c in b])
    for i, ca in enumerate(a, 1):
        diag = prev[:-1] + cost["sub"] * (bb != ord(ca))
        cand = jnp.concatenate([jnp.array([i * cost["gap"]]), jnp.minimum(diag, prev[1:] + cost["gap"])])
        k = jnp.arange(len(cand)) * cost["gap"]
        prev = lax.cummin(cand - k) + k
    return prev[-1]
Item = namedtuple("Item", "name weight value")
items = [Item("tent", 4, 9.0), Item("stove", 2, 4.0), Item("book", 1, 1.5), Item("rope", 3, 6.5)]
capacity = 6
---
dists = {pair: edit(*pair) for pair in words}
table = np.zeros((len(items) + 1, capacity + 1), np.float32)
row = jnp.zeros(capacity + 1)
for i, it in enumerate(items, 1):
    shifted = jnp.concatenate([jnp.full(min(it.weight, capacity + 1), -jnp.inf), row[: max(capacity + 1 - it.weight, 0)]])
    row = jnp.maximum(row, shifted + it.value)
    table[i] = row
chosen, c = [], capacity
for i in range(len(items), 0, -1):
    if table[i, c] != table[i - 1, c]:
        chosen.append(items[i - 1].name)
        c -= items[i - 1].weight
items.sort(key=lambda it: it.value / it.weight, reverse=True)
(first, *_), (*_, last) = items, words
print({"/".join(k): int(v) for k, v in dists.items()}, chosen[::-1], first.name, last)
row, sum(dists.values())
---
cost["sub"] = 2
---
capacity = 9; items.append(Item("axe", 2, 5.0))
---
def edit(a, b): return jnp.int32(abs(len(a) - len(b)))
words.pop()

### ob-monte-carlo-option-with-antithetic-paths-and-greeks tolerance=1e-3
market = {"spot": 100.0, "rate": 0.02, "vol": 0.25, "T": 0.5}
strikes = np.array([90.0, 100.0, 115.0])
payoffs = {"call": lambda s, k: jnp.maximum(s - k, 0), "put": lambda s, k: jnp.maximum(k - s, 0)}
def price(spot, vol, k, z, kind):
    drift = (market["rate"] - 0.5 * vol**2) * market["T"]
    z = jnp.concatenate([z, -z])
    s = spot * jnp.exp(drift + vol * jnp.sqrt(market["T"]) * z)
    return jnp.exp(-market["rate"] * market["T"]) * payoffs[kind](s, k).mean()
z = jax.random.normal(jax.random.key(11), (64,))
kinds = ["call", "put"]
---
rows = []
for kind in kinds:
    f = partial(price, kind=kind)
    vals = jax.vmap(f, in_axes=(None, None, 0, None))(market["spot"], market["vol"], jnp.asarray(strikes), z)
    delta, vega = jax.vmap(jax.grad(f, (0, 1)), in_axes=(None, None, 0, None))(market["spot"], market["vol"], jnp.asarray(strikes), z)
    rows += [(kind, float(k), *map(float, r)) for k, *r in zip(strikes, vals, delta, vega)]
table = np.array([r[1:] for r in rows])
parity = table[: len(strikes), 1] - table[-len(strikes) :, 1]
implied, target = jnp.float32(0.4), rows[1][2]
for _ in range(3):
    v, g = jax.value_and_grad(price, 1)(market["spot"], implied, strikes[1], z, kinds[0])
    implied = implied - (v - target) / g
market["last"] = round(float(implied), 2)
for r in rows[:2]:
    print("{:<5}{:>7.1f}{:>8.1f}{:>6.2f}{:>7.1f}".format(*r))
table.shape, vals, delta, np.round(parity, 1)
---
market["vol"] = 0.4
---
strikes = np.append(strikes, 130.0); z = jax.random.normal(jax.random.key(5), (32,))
---
payoffs["put"] = lambda s, k: jnp.where(s < k, 1.0, 0.0); kinds = ["put", "call"]

### ob-fails-debug-nans-inside-a-context-after-two-updates
w = jnp.array([0.5, 2.0])
lrs = iter([0.1, 0.1, 5.0, 0.1])
trace = []
def loss(w): return jnp.sum(jnp.log(w) ** 2 + w)
checking = True
---
trace.append("start")
saved = w
with jax.debug_nans(checking):
    for i in range(3):
        lr = (0.1, 0.2, 8.0)[i]
        g = jax.grad(loss)(w)
        w = w - lr * g
        trace.append((i, round(float(w.min()), 2)))
        value = loss(w)
        best = float(value)
print("all finite", trace)
saved = None
value
---
checking = False; w = jnp.array([1.5, 1.5]); trace.clear()
---
def loss(w): return jnp.sum(w**2)
---
checking = True; w = jnp.array([3.0, 0.1])

### ob-fails-midway-through-an-epoch-with-finally-and-half-a-file
Path("epoch.txt").write_text("")
samples = [np.ones(2, np.float32), np.arange(2, dtype=np.float32), np.ones(3, np.float32), np.zeros(2, np.float32)]
stats = {"seen": 0, "skipped": 0, "closed": 0}
w = jnp.zeros(2)
@jax.jit
def fold(w, x): return 0.5 * w + x
---
f = open("epoch.txt", "a")
try:
    for k, x in enumerate(samples):
        stats["seen"] += 1
        x[0] += 1
        w = fold(w, jnp.asarray(x))
        f.write(f"{k} {float(w.sum()):.2f}\n")
        norm = jnp.linalg.norm(w)
except ZeroDivisionError:
    stats["skipped"] += 1
finally:
    f.close()
    stats["closed"] += 1
    lines = Path("epoch.txt").read_text().splitlines()
    print(len(lines), lines[-1] if lines else None)
complete = True
w, norm
---
samples.pop(2); w = jnp.zeros(2)
---
samples.insert(1, np.ones((2, 2), np.float32)); w = jnp.ones(2)
---
def fold(w, x): raise ZeroDivisionError("no fold")

### ob-fails-when-rows-do-not-divide-over-the-mesh devices=8
mesh = Mesh(np.array(jax.devices()[:4]), ("rows",))
row_sharding = NamedSharding(mesh, P("rows"))
tables = {"small": np.arange(8.0, dtype=np.float32).reshape(4, 2), "tall": np.ones((8, 2), np.float32), "odd": np.ones((6, 2), np.float32), "late": np.zeros((4, 2), np.float32)}
placed, order = {}, []
scale = 2.0
---
for name, table in tables.items():
    order.append(name)
    table *= scale
    placed[name] = jax.device_put(table.copy(), row_sharding)
    total = jax.jit(lambda a: a.sum(0))(placed[name])
    table[0] = np.asarray(total)
placed["all"] = jnp.concatenate([jax.device_get(v) for v in placed.values()])
print(order, sorted(placed))
[v.sharding.is_fully_replicated for v in placed.values()]
---
tables["odd"] = np.ones((12, 2), np.float32); placed.clear()
---
mesh = Mesh(np.array(jax.devices()[:8]), ("rows",)); row_sharding = NamedSharding(mesh, P("rows"))
---
row_sharding = NamedSharding(mesh, P()); scale = 0.5; placed = {}

### ob-fails-overdrawn-account-after-earlier-transfers-booked
class Overdrawn(Exception):
    def __init__(self, name, missing): super().__init__(f"{name} is short of {missing:.1f}"); self.name, self.missing = name, missing
class Ledger:
    booked = 0
    def __init__(self, **balances): self.bal, self.log = {k: jnp.float32(v) for k, v in balances.items()}, []
    def move(self, a, b, amount):
        self.bal[a] = self.bal[a] - amount
        Ledger.booked += 1
        if float(self.bal[a]) < 0:
            raise Overdrawn(a, -float(self.bal[a])) from ValueError(amount)
        self.bal[b] = self.bal.get(b, jnp.float32(0)) + amount
        self.log.append((a, b))
ledger = Ledger(ann=100, ben=20)
orders = [("ann", "ben", 30.0), ("ben", "cy", 45.0), ("ben", "ann", 10.0), ("cy", "ann", 1.0)]
insured = {"cy"}
---
handled = []
rates = jnp.linspace(1.0, 1.03, len(orders))
for i, (a, b, amount) in enumerate(orders):
    try:
        ledger.move(a, b, amount * rates[i])
    except Overdrawn as err:
        handled.append((err.name, round(err.missing, 1)))
        if err.name not in insured:
            raise
        ledger.bal[err.name] = jnp.float32(0)
    else:
        handled.append(None)
total = sum(ledger.bal.values())
print(handled, total)
ledger.bal
---
insured.add("ben")
---
ledger.bal["ann"] = jnp.float32(500); orders = orders[::-1]
---
insured = set(); Ledger.move = lambda self, a, b, amount: self.log.append(float(amount))

### ob-fails-on-a-missing-key-while-merging-checkpoints-in-place
base = {"enc": {"w": jnp.ones((2, 2)), "b": np.zeros(2)}, "dec": {"w": jnp.full((2, 1), 2.0)}, "head": {"w": jnp.eye(1)}}
update = {"enc": {"w": jnp.eye(2), "b": np.ones(2)}, "head": {"w": jnp.ones((1, 1)), "b": jnp.zeros(1)}}
mix, strict, touched = 0.5, True, []
np.savez("update.npz", **{f"{m}/{k}": v for m, p in update.items() for k, v in p.items()})
---
with np.load("update.npz") as z:
    names = z.files
    for name in names:
        module, leaf = name.split("/")
        value = z[name]
        if isinstance(base[module].get(leaf), np.ndarray):
            base[module][leaf] += mix * value
        else:
            old = base[module][leaf] if strict else base[module].setdefault(leaf, jnp.zeros_like(value))
            base[module][leaf] = (1 - mix) * old + mix * value
        touched.append(name)
x = jnp.array([1.0, -1.0])
h = jnp.tanh(x @ base["enc"]["w"] + base["enc"]["b"])
out = h @ base["dec"]["w"] @ base["head"]["w"]
mix *= 0.5
print(touched[-4:], names)
out
---
strict = False
---
np.savez("update.npz", **{"dec/w": np.ones((2, 1), np.float32), "ghost/w": np.ones(1)})
---
base["ghost"] = {}; touched.clear(); mix = 1.0
""",
)
