"""Cells of the world around arrays: frames, files, logs, loaders, settings, classes, keys, meshes, errors half way."""

from ..cell import written

PRELUDE = """
import os, sys, io, re, json, csv, math, time, pickle, shutil, random, logging, tempfile, zipfile, sqlite3
import argparse, itertools
import collections, contextlib, copy, dataclasses, enum, functools, glob, hashlib, operator, queue, threading
import asyncio, subprocess
import datetime, importlib, string, textwrap, types, typing, uuid, warnings
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial, reduce, lru_cache, cached_property, singledispatch, wraps
from pathlib import Path
import numpy as np
import pandas as pd
import jax
import jax.numpy as jnp
from jax import lax, random as jr
from jax.sharding import Mesh, NamedSharding, SingleDeviceSharding, PartitionSpec as P
"""

CELLS = written(
    PRELUDE,
    r"""
### hb-houses-frame-residuals-by-district
rng = np.random.default_rng(0)
houses = pd.DataFrame({
    "district": rng.choice(["north", "south", "east"], 24),
    "area": rng.integers(40, 160, 24).astype(float),
    "rooms": rng.integers(1, 6, 24),
    "year": rng.integers(1950, 2020, 24),
})
houses["price"] = 1.5 * houses["area"] + 20 * houses["rooms"] + rng.integers(-10, 10, 24)
houses.loc[[3, 7], "area"] = np.nan
features = ["area", "rooms"]
---
df = houses.copy()
df["area"] = df.groupby("district")["area"].transform(lambda s: s.fillna(s.median()))
X = df[features].to_numpy()
mu, sd = X.mean(axis=0), X.std(axis=0)
A = jnp.column_stack([jnp.ones(len(df)), (X - mu) / sd])
y = jnp.array(df["price"].values)
w, *_ = jnp.linalg.lstsq(A, y)
df["pred"] = np.asarray(A @ w)
df["resid"] = df["price"] - df["pred"]
rmse = jnp.sqrt(jnp.mean((y - A @ w) ** 2))
table = df.groupby("district").agg(n=("resid", "size"), worst=("resid", lambda s: s.abs().max()))
print(f"rmse {rmse:.1f} on {len(df)} houses, {A.dtype} from {X.dtype}")
table.round(1)
---
features = ["area", "rooms", "year"]
---
houses = houses[houses["district"] != "east"].reset_index(drop=True)
---
houses["area"] = houses["area"].astype("float32"); features = ["area"]

### hb-hourly-load-fourier-terms-from-datetimes tolerance=1e-4
idx = pd.date_range("2024-03-01", periods=72, freq="h")
noise = np.random.default_rng(4).normal(size=72)
load = pd.Series(10 + 3 * np.sin(2 * np.pi * idx.hour / 24) + noise, index=idx, name="load")
n_terms, holdout = 2, 24
---
hours = (load.index - load.index[0]) / pd.Timedelta("1h")
t = jnp.asarray(np.asarray(hours), dtype=jnp.float32)
def design(t, n_terms):
    cols = [jnp.ones_like(t), t / 24]
    for k in range(1, n_terms + 1):
        cols += [jnp.sin(2 * jnp.pi * k * t / 24), jnp.cos(2 * jnp.pi * k * t / 24)]
    return jnp.stack(cols, axis=-1)
train, test = slice(None, -holdout), slice(-holdout, None)
F = design(t, n_terms)
coef = jnp.linalg.solve(F[train].T @ F[train] + 1e-3 * jnp.eye(F.shape[1]), F[train].T @ load.values[train])
forecast = pd.Series(np.asarray(F[test] @ coef), index=load.index[test])
mae = (forecast - load.iloc[test]).abs().mean()
busiest = forecast.idxmax().hour
weekend = jnp.asarray(load.index.dayofweek.to_numpy() >= 5)
mean_weekend = jnp.where(weekend, t, 0).sum() / jnp.maximum(weekend.sum(), 1)
print("MAE %.2f" % mae, forecast.index[0].isoformat(), forecast.dtype)
mean_weekend
---
n_terms = 3
---
load = load.iloc[:60]; holdout = 12
---
load = load + 5.0; load.index = load.index.shift(7, freq="h")

### hb-masked-readings-to-nan-statistics
raw = np.array([[1.0, -999.0, 3.0, 4.0], [2.0, 2.5, -999.0, 1.0], [0.5, 0.5, 0.5, -999.0]])
missing = -999.0
limits = {"lo": 0.6, "hi": 3.5}
---
m = np.ma.masked_equal(raw, missing)
per_row = m.mean(axis=1)
filled = jnp.asarray(m.filled(np.nan))
col_mean = jnp.nanmean(filled, axis=0)
centred = filled - col_mean
valid = ~jnp.isnan(filled)
count = valid.sum(axis=1)
var = jnp.nansum(centred ** 2, axis=1) / jnp.clip(count - 1, 1)
inside = (filled > limits["lo"]) & (filled < limits["hi"])
share = inside.sum() / valid.sum()
m[0] = np.ma.masked
imputed = jnp.where(valid, filled, col_mean)
gap = np.abs(np.asarray(jnp.nanmean(filled, axis=1)) - per_row.data).max() < 1e-5
print(m.count(), per_row.round(2).tolist(), bool(gap), share.dtype)
---
raw[1, 0] = missing
---
limits.update(lo=-1.0)
---
raw = raw.astype(np.float32)[:, :3]; missing = np.float32(-999)

### hb-kmeans-labels-to-segment-means needs=sklearn
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score
points, truth = make_blobs(n_samples=30, centers=3, cluster_std=0.4, random_state=1)
k = 3
---
km = KMeans(n_clusters=k, n_init=2, random_state=0).fit(points)
labels = jnp.asarray(km.labels_)
P_ = jnp.asarray(points, dtype=jnp.float32)
sizes = jax.ops.segment_sum(jnp.ones(len(P_), jnp.int32), labels, num_segments=k)
centres = jax.ops.segment_sum(P_, labels, num_segments=k) / sizes[:, None]
d = jnp.linalg.norm(P_[:, None] - centres[None], axis=-1)
assert (jnp.argmin(d, axis=1) == labels).all(), "not at a fixed point"
spread = jax.ops.segment_max(d[jnp.arange(len(P_)), labels], labels, num_segments=k)
close = np.allclose(centres, km.cluster_centers_, atol=1e-3)
summary = pd.DataFrame({"size": np.asarray(sizes), "spread": np.asarray(spread).round(2)}).rename_axis("cluster")
print(summary.sort_values("size").to_string(), close, round(silhouette_score(points, km.labels_), 2))
---
k = 4
---
points = points[truth != 2]; k = 2
---
points = points.astype("float32") * 2

### hb-dataset-made-once-then-read
cache = Path("data/cache/spirals.npz")
def make_dataset(n=20, seed=0):
    print("generating", n)
    rng = np.random.default_rng(seed)
    r = np.linspace(0.1, 1, n)
    a = 4 * r + rng.normal(0, 0.05, n)
    return {"x": np.c_[r * np.cos(a), r * np.sin(a)], "y": (r > 0.5).astype(np.int64)}
hidden = 4
---
if cache.exists():
    with np.load(cache) as z:
        data = {k: z[k] for k in z.files}
else:
    cache.parent.mkdir(parents=True, exist_ok=True)
    data = make_dataset()
    np.savez_compressed(cache, **data)
xb, yb = jnp.array(data["x"]), jnp.array(data["y"])
key = jax.random.PRNGKey(42)
k1, k2 = jax.random.split(key)
params = {"w1": jax.random.normal(k1, (2, hidden)), "w2": jax.random.normal(k2, (hidden, 2)) * 0.1}
def loss_fn(p):
    logits = jax.nn.relu(xb @ p["w1"]) @ p["w2"]
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), yb[:, None], axis=1).mean()
for i in range(3):
    loss, g = jax.value_and_grad(loss_fn)(params)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, g)
print(sorted(data), data["y"].dtype, yb.dtype, cache.stat().st_size > 100)
---
cache.unlink()
---
np.savez_compressed(cache, **{**data, "y": 1 - data["y"]})
---
hidden = 6; shutil.rmtree("data")

### hb-pickle-checkpoints-keep-three-and-resume
ckpt_dir = Path("ckpts"); ckpt_dir.mkdir()
KEEP = 3
def latest():
    found = sorted(ckpt_dir.glob("step_*.pkl"), key=lambda p: int(p.stem.split("_")[1]))
    return found[-1] if found else None
def save(state, step):
    tmp = ckpt_dir / ".tmp"
    with open(tmp, "wb") as f:
        pickle.dump(jax.tree.map(np.asarray, state), f)
    tmp.rename(ckpt_dir / f"step_{step}.pkl")
    for old in sorted(ckpt_dir.glob("step_*.pkl"), key=lambda p: int(p.stem.split("_")[1]))[:-KEEP]:
        old.unlink()
@jax.jit
def train_step(state, batch):
    def loss(w): return jnp.mean((batch @ w - 1.0) ** 2)
    l, g = jax.value_and_grad(loss)(state["w"])
    m = jax.tree.map(lambda m, g: 0.9 * m + g, state["m"], g)
    return {"w": state["w"] - 0.05 * m, "m": m}, l
epochs = 4
---
path = latest()
if path is None:
    state, start = {"w": jnp.zeros(3), "m": jnp.zeros(3)}, 0
    print("starting from scratch")
else:
    with path.open("rb") as f:
        state = pickle.load(f)
    start = int(path.stem.split("_")[1])
    print(f"resumed from {path.name}")
batch = jax.random.normal(jax.random.PRNGKey(start), (5, 3))
losses = []
for step in range(start + 1, start + epochs + 1):
    state, l = train_step(state, batch)
    losses.append(float(l))
    if step % 2 == 0:
        save(state, step)
sorted(p.name for p in ckpt_dir.iterdir())
---
epochs = 3
---
for p in ckpt_dir.glob("*"): p.unlink()
---
(ckpt_dir / "step_100.pkl").write_bytes(pickle.dumps({"w": np.ones(3), "m": np.zeros(3)}))

### hb-history-csv-appended-and-plotted-text
log_path = "history.csv"
lr, n_epochs = 0.3, 3
w = jnp.array([2.0, -1.0])
def f(w): return jnp.sum(w ** 2) + jnp.prod(w)
def sparkline(values):
    lo, hi = min(values), max(values)
    return "".join("_.-^"[int(3 * (v - lo) / ((hi - lo) or 1))] for v in values)
---
new_file = not os.path.exists(log_path)
with open(log_path, "a", newline="") as fh:
    writer = csv.DictWriter(fh, fieldnames=["epoch", "lr", "loss"])
    if new_file:
        writer.writeheader()
    for epoch in range(n_epochs):
        loss, grad = jax.value_and_grad(f)(w)
        w -= lr * grad
        writer.writerow({"epoch": epoch, "lr": lr, "loss": f"{loss:.4f}"})
hist = pd.read_csv(log_path)
best = hist.loc[hist["loss"].idxmin()]
print(sparkline(hist["loss"].tolist()), len(hist))
int(best["epoch"]), w
---
lr = 0.1
---
w = jnp.array([3.0, 3.0]); n_epochs = 2
---
os.remove(log_path)

### hb-h5-minibatches-with-attributes needs=h5py
import h5py
with h5py.File("train.h5", "w") as f:
    f.create_dataset("images", data=np.arange(96, dtype=np.uint8).reshape(12, 2, 4), chunks=(4, 2, 4))
    f["labels"] = np.arange(12) % 3
    f["images"].attrs["scale"] = 255.0
W = jnp.zeros((8, 3)); b = jnp.zeros(3)
batch_size = 4
def batches(name, size):
    with h5py.File(name, "r") as f:
        scale = f["images"].attrs["scale"]
        for i in range(0, len(f["labels"]), size):
            yield f["images"][i:i + size].reshape(-1, 8) / scale, f["labels"][i:i + size]
def xent(W, b, x, y):
    return jnp.mean(jax.nn.logsumexp(x @ W + b, -1) - (x @ W + b)[jnp.arange(len(y)), y])
---
seen = 0
for x, y in batches("train.h5", batch_size):
    gW, gb = jax.grad(xent, argnums=(0, 1))(W, b, x, y)
    W, b = W - 0.5 * gW, b - 0.5 * gb
    seen += len(y)
with h5py.File("train.h5", "a") as f:
    f.attrs["epochs"] = f.attrs.get("epochs", 0) + 1
    if "W" in f:
        del f["W"]
    f.create_dataset("W", data=W)
    epochs = int(f.attrs["epochs"])
print(seen, epochs, x.dtype, y.dtype, W.shape)
---
batch_size = 5
---
with h5py.File("train.h5", "a") as f: f["images"].attrs["scale"] = 128.0
---
W = W.astype(jnp.bfloat16)

### hb-sqlite-runs-table-with-blobs
db = sqlite3.connect(":memory:")
db.execute("create table runs (id integer primary key, name text, lr real, final real, weights blob)")
grid = list(itertools.product([0.1, 0.5], ["sgd", "sign"]))
target = jnp.array([1.0, 2.0, 3.0])
def update(kind, w, g, lr):
    return w - lr * (jnp.sign(g) if kind == "sign" else g)
---
for lr, kind in grid:
    w = jnp.zeros(3)
    for _ in range(4):
        g = jax.grad(lambda w: 0.5 * jnp.sum((w - target) ** 2))(w)
        w = update(kind, w, g, lr)
    final = float(jnp.sum((w - target) ** 2))
    with db:
        row = (kind, lr, round(final, 3), np.asarray(w).tobytes())
        db.execute("insert into runs (name, lr, final, weights) values (?, ?, ?, ?)", row)
rows = db.execute("select name, lr, final from runs order by final, id limit 2").fetchall()
(blob,) = db.execute("select weights from runs order by final, id limit 1").fetchone()
best = jnp.asarray(np.frombuffer(blob, np.float32))
total = db.execute("select count(*) from runs").fetchone()[0]
print(rows, total)
best
---
grid.append((0.9, "sgd"))
---
target = target * 2; db.execute("delete from runs where name = 'sign'"); db.commit()
---
grid = grid[:1]

### hb-zip-of-arrays-with-manifest
arrays = {"emb": jnp.arange(6.0).reshape(2, 3), "bias": jnp.ones(3, jnp.float16), "ids": jnp.arange(4, dtype=jnp.int8)}
archive = Path("export.zip")
scale, DATE = 2.0, (2024, 1, 2, 3, 4, 6)
---
manifest = {}
with zipfile.ZipFile(archive, "w") as z:
    for name, value in arrays.items():
        buf = io.BytesIO()
        np.save(buf, value * scale)
        z.writestr(zipfile.ZipInfo(f"{name}.npy", DATE), buf.getvalue())
        manifest[name] = {"shape": list(value.shape), "dtype": str((value * scale).dtype)}
    z.writestr(zipfile.ZipInfo("manifest.json", DATE), json.dumps(manifest, indent=1, sort_keys=True))
back = {}
with zipfile.ZipFile(archive) as z:
    info = json.loads(z.read("manifest.json"))
    for name in info:
        with z.open(name + ".npy") as fh:
            back[name] = jnp.asarray(np.load(io.BytesIO(fh.read())))
        assert str(back[name].dtype) == info[name]["dtype"], name
checks = jax.tree.map(lambda a, b: bool((a * scale == b).all()), arrays, back)
print(checks)
{k: v.dtype.name for k, v in back.items()}
---
scale = 3
---
arrays["mask"] = jnp.array([True, False])
---
scale = np.float32(0.5); del arrays["bias"]

### hb-logger-to-file-and-console
logger = logging.Logger("trainer", level=logging.DEBUG)
handler = logging.FileHandler("train.log")
handler.setFormatter(logging.Formatter("%(levelname)s %(name)s %(message)s"))
logger.addHandler(handler)
logger.addHandler(logging.StreamHandler(sys.stdout))
w = jnp.array([1.0, -2.0, 0.5])
clip = 1.0
---
logger.info("starting with %d parameters", w.size)
for step in range(3):
    g = jax.grad(lambda w: jnp.sum(w ** 4))(w)
    norm = jnp.linalg.norm(g)
    if norm > clip:
        logger.warning("clipping %.2f to %.2f at step %d", norm, clip, step)
        g = g * (clip / norm)
    w = w - 0.25 * g
    logger.debug("step %d w0=%.3f", step, w[0])
logger.info("done: %s", np.round(w, 2))
n_lines = len(Path("train.log").read_text().splitlines())
n_lines
---
clip = 100.0
---
logger.setLevel(logging.WARNING); w = w * 3
---
w = jnp.zeros(3); handler.setLevel(logging.ERROR)

### hb-tqdm-postfix-of-losses
from tqdm.auto import tqdm
data = np.random.default_rng(3).normal(size=(16, 2)).astype(np.float32)
target = data @ np.array([1.0, -1.0], np.float32)
w = jnp.zeros(2)
bar_format = "{desc} {n_fmt}/{total_fmt}{postfix}"
@jax.jit
def step(w, x, y):
    loss, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.3 * g, loss
---
losses = []
with tqdm(range(4), desc="train", file=sys.stdout, bar_format=bar_format, mininterval=0, miniters=1) as bar:
    for i in bar:
        xb, yb = data[i * 4:(i + 1) * 4], target[i * 4:(i + 1) * 4]
        w, loss = step(w, xb, yb)
        losses.append(loss)
        bar.set_postfix(loss=f"{loss.item():.3f}")
mean_loss = sum(losses) / len(losses)
bar.n, type(mean_loss).__name__
---
w = jnp.array([5.0, 5.0])
---
data = data[::-1]
---
bar_format = "{desc}: {percentage:3.0f}%{postfix}"

### hb-background-loader-feeds-sgd
class BackgroundLoader:
    def __init__(self, arrays, size, depth=2):
        self.arrays, self.size, self.depth = arrays, size, depth
    def __len__(self): return -(-len(self.arrays[0]) // self.size)
    def _work(self, q):
        for i in range(len(self)):
            part = slice(i * self.size, (i + 1) * self.size)
            q.put(tuple(jnp.asarray(a[part]) for a in self.arrays))
        q.put(None)
    def __iter__(self):
        q = queue.Queue(self.depth)
        t = threading.Thread(target=self._work, args=(q,), daemon=True)
        t.start()
        while (item := q.get(timeout=30)) is not None:
            yield item
        t.join()
X = np.linspace(-1, 1, 14).reshape(7, 2).astype("f4"); Y = X.sum(1)
loader = BackgroundLoader((X, Y), 3)
theta = {"w": jnp.zeros(2), "b": jnp.float32(0)}
---
shapes, running = [], 0.0
for n, (xb, yb) in enumerate(loader, 1):
    def mse(t): return jnp.mean((xb @ t["w"] + t["b"] - yb) ** 2)
    loss, grads = jax.value_and_grad(mse)(theta)
    theta = jax.tree.map(lambda p, g: p - 0.5 * g, theta, grads)
    running += (loss - running) / n
    shapes.append(xb.shape)
print(f"{n}/{len(loader)} batches", shapes)
running
---
loader.size = 4
---
loader = BackgroundLoader((X[:5], Y[:5] * 2), 2, depth=1)
---
theta["b"] = 0.0

### hb-pool-preprocesses-then-stack
docs = ["the cat sat", "on the mat", "jax is fast", "the end"]
vocab = {w: i for i, w in enumerate(sorted({w for d in docs for w in d.split()}))}
def vectorise(doc):
    v = np.zeros(len(vocab), np.float32)
    for w in doc.lower().split():
        if w in vocab:
            v[vocab[w]] += 1
    return v
dim = 3
---
with ThreadPoolExecutor(max_workers=2) as pool:
    rows = list(pool.map(vectorise, docs))
    futures = {pool.submit(hashlib.md5, d.encode()): d for d in docs}
    digests = dict(sorted((futures[f], f.result().hexdigest()[:4]) for f in as_completed(futures)))
tf = jnp.stack(rows)
idf = jnp.log((1 + len(docs)) / (1 + (tf > 0).sum(0))) + 1
tfidf = tf * idf
tfidf = tfidf / jnp.linalg.norm(tfidf, axis=1, keepdims=True)
u, s, vt = jnp.linalg.svd(tfidf, full_matrices=False)
sim = tfidf @ tfidf.T
sim = sim.at[jnp.diag_indices(len(docs))].set(0)
nearest = {docs[i]: docs[int(j)] for i, j in enumerate(sim.argmax(1))}
energy = (s[:dim] ** 2).sum() / (s ** 2).sum()
print(nearest["the cat sat"], sorted(digests.values()), f"{energy:.2f}")
sim.shape
---
docs[3] = "the mat the end"
---
docs.append("fast cat"); dim = 2
---
vocab.pop("jax")

### hb-async-fetches-then-average
async def fetch(i, delay=0.0):
    await asyncio.sleep(delay)
    if i == bad:
        raise ConnectionError(f"source {i} is down")
    return np.full(4, i, dtype=np.float32) + np.arange(4)
async def fetch_all(n):
    return await asyncio.gather(*(fetch(i) for i in range(n)), return_exceptions=True)
bad, n_sources = 2, 4
weights = jnp.array([0.1, 0.2, 0.3, 0.4])
---
results = asyncio.run(fetch_all(n_sources))
errors = [str(r) for r in results if isinstance(r, Exception)]
good = [(w, r) for w, r in zip(weights, results) if not isinstance(r, Exception)]
ws, rs = zip(*good)
w = jnp.stack(ws) / sum(ws)
mean = jnp.tensordot(w, jnp.stack(rs), axes=1)
dev = jnp.stack([jnp.abs(r - mean).max() for r in rs])
print(len(good), "ok;", *errors)
mean, dev.argmax()
---
bad = -1
---
weights = weights[::-1]; n_sources = 3
---
async def fetch(i, delay=0.0):
    return jnp.arange(4.0) * i

### hb-worker-script-run-with-environment
Path("worker.py").write_text(textwrap.dedent('''
    import os, sys, json
    n = int(os.environ.get("HB_N", "3"))
    values = [float(a) * n for a in sys.argv[1:]]
    print(json.dumps({"n": n, "values": values}))
    sys.exit(1 if n > 4 else 0)
'''))
os.environ["HB_N"] = "2"
x = jnp.array([0.5, 1.5])
---
def run_worker(values, **env):
    cmd = [sys.executable, "-I", "worker.py", *[f"{v:.2f}" for v in values]]
    return subprocess.run(cmd, capture_output=True, text=True, env={**os.environ, **env})
y = jnp.exp(-x) * 2
done = run_worker(y)
reply = json.loads(done.stdout)
z = jnp.array(reply["values"]) / reply["n"]
ok = bool(jnp.allclose(z, y, atol=0.01))
os.environ["HB_LAST"] = str(done.returncode)
status = "ok" if done.returncode == 0 else "failed"
z.dtype, ok, status, os.getenv("HB_LAST")
---
os.environ["HB_N"] = "5"
---
x = x * 2; os.environ.pop("HB_N")

### hb-argparse-defaults-overridden-in-notebook
parser = argparse.ArgumentParser("train")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--init", choices=["zeros", "ones"], default="zeros")
parser.add_argument("--verbose", action="store_true")
argv = ["--lr", "0.2"]
A = jnp.array([[2.0, 0.3], [0.3, 1.0]])
---
args = parser.parse_args(argv)
w = getattr(jnp, args.init)(2) + 0.5
history = []
for i in range(args.steps):
    loss, g = jax.value_and_grad(lambda w: 0.5 * w @ A @ w - w.sum())(w)
    w = w - args.lr * g
    if args.verbose:
        print(f"[{i}] {loss:+.3f}")
    history.append(loss)
args.final = history[-1]
run_name = "-".join(f"{k}={v}" for k, v in sorted(vars(args).items()) if isinstance(v, (int, str)))
run_name, jnp.stack(history).argmin()
---
argv = ["--steps", "4", "--verbose"]
---
argv += ["--init", "ones"]
---
argv = ["--init", "twos".replace("twos", "ones"), "--lr", "1"]

### hb-config-module-edited-and-reloaded
text = "import jax.numpy as jnp\nLR = 0.1\nLAYERS = [3, 4, 1]\ndef act(h):\n    return jnp.tanh(h)\n"
Path("hbconf.py").write_text(text)
import hbconf
def init(key, sizes):
    keys = jax.random.split(key, len(sizes))
    return [(jax.random.normal(k, (m, n)) / m ** 0.5, jnp.zeros((n,))) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]
def forward(params, x):
    for W, b in params[:-1]:
        x = hbconf.act(x @ W + b)
    W, b = params[-1]
    return (x @ W + b).squeeze(-1)
xs = jnp.linspace(-1, 1, 15).reshape(5, 3)
def rewrite(**new):
    text = Path("hbconf.py").read_text()
    for name, value in new.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
    Path("hbconf.py").write_text(text)
    importlib.invalidate_caches()
---
importlib.reload(hbconf)
params = init(jax.random.PRNGKey(0), hbconf.LAYERS)
grads = jax.grad(lambda p: jnp.mean((forward(p, xs) - xs.sum(1)) ** 2))(params)
params = [(W - hbconf.LR * gW, b - hbconf.LR * gb) for (W, b), (gW, gb) in zip(params, grads)]
out = forward(params, xs)
n_params = sum(p.size for p in jax.tree.leaves(params))
print(n_params, hbconf.LR, len(params))
out.shape
---
rewrite(LR=0.05)
---
rewrite(LAYERS="[3, 6, 6, 1]")
---
Path("hbconf.py").write_text(Path("hbconf.py").read_text().replace("jnp.tanh(h)", "jnp.maximum(h, 0.1 * h)  # leaky"))

### hb-lru-cached-window-and-mel-table
calls = collections.Counter()
@lru_cache(maxsize=None)
def hann(n):
    calls["hann"] += 1
    return jnp.asarray(0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / n), dtype=jnp.float32)
@lru_cache(maxsize=4)
def mel_matrix(n_freq, n_mel):
    calls["mel"] += 1
    edges = np.linspace(0, n_freq - 1, n_mel + 2)
    f = np.arange(n_freq)[:, None]
    up, down = (f - edges[:-2]) / (edges[1] - edges[0]), (edges[2:] - f) / (edges[1] - edges[0])
    return np.maximum(0, np.minimum(up, down)).astype(np.float32)
sr = 64
audio = np.sin(2 * np.pi * 6 * np.arange(sr) / sr) + 0.3 * np.sin(2 * np.pi * 20 * np.arange(sr) / sr)
n_fft, hop, n_mel = 16, 8, 4
---
starts = range(0, len(audio) - n_fft + 1, hop)
frames = jnp.stack([audio[s:s + n_fft] for s in starts]) * hann(n_fft)
power = jnp.abs(jnp.fft.rfft(frames, axis=-1)) ** 2
mel = power @ mel_matrix(power.shape[-1], n_mel)
logmel = 10 * jnp.log10(jnp.maximum(mel, 1e-6))
loudest = int(logmel.mean(0).argmax())
print(frames.shape, mel.shape, dict(calls), hann.cache_info().currsize)
loudest
---
n_fft = 32
---
n_mel, hop = 6, 4
---
audio = audio[:40] * 0.1; hann.cache_clear()

### hb-dataset-class-with-cached-stats
class Dataset:
    def __init__(self, x, y): self.x, self.y = x, y
    @cached_property
    def stats(self):
        print("computing stats")
        return self.x.mean(0), self.x.std(0) + 1e-6
    @property
    def normed(self):
        mu, sd = self.stats
        return (self.x - mu) / sd
    def split(self, frac, key):
        idx = jax.random.permutation(key, len(self.x))
        n = int(frac * len(idx))
        return Dataset(self.x[idx[:n]], self.y[idx[:n]]), Dataset(self.x[idx[n:]], self.y[idx[n:]])
    def __len__(self): return len(self.x)
    def __repr__(self): return f"Dataset({len(self)}, cached={'stats' in self.__dict__})"
full = Dataset(jnp.arange(20.0).reshape(10, 2) ** 1.5, jnp.arange(10) % 2)
frac = 0.7
---
train, val = full.split(frac, jr.key(5))
val.stats = train.stats
mu, sd = train.stats
separation = train.normed[train.y == 1].mean(0) - train.normed[train.y == 0].mean(0)
pred = (val.normed @ separation > 0).astype(int)
acc = (pred == val.y).mean()
print(train, val, full, f"acc={acc:.2f}")
val.stats is train.stats
---
frac = 0.5
---
full.x = full.x.at[0].set(100.0); full.stats
---
full = Dataset(np.asarray(full.x), np.asarray(full.y))

### hb-singledispatch-summaries cold
@singledispatch
def summarise(v): return f"{type(v).__name__}"
@summarise.register
def _(v: dict): return {k: summarise(x) for k, x in v.items()}
@summarise.register(list)
@summarise.register(tuple)
def _(v): return [summarise(x) for x in v]
@summarise.register
def _(v: jax.Array): return f"jax {v.dtype}{list(v.shape)} mean={v.mean():.2f}"
@summarise.register
def _(v: np.ndarray): return f"np {v.dtype}{list(v.shape)}"
@summarise.register(int)
@summarise.register(float)
def _(v): return f"{v:.3g}"
state = {"params": [jnp.ones((2, 2)), np.zeros(3)], "lr": 0.1, "epoch": 3, "opt": (jnp.arange(3), None)}
---
state["params"][0] = state["params"][0] * 0.5 + state["lr"]
state["epoch"] += 1
state["grad"] = jax.grad(lambda p: (p ** 2).sum())(state["params"][0])
report = summarise(state)
print(json.dumps(report, indent=1))
norm = jnp.sqrt(sum(jnp.sum(l ** 2) for l in jax.tree.leaves(state["params"])))
len(report), norm
---
state["lr"] = np.float64(0.25)
---
summarise.register(bool, lambda v: "yes" if v else "no"); state["done"] = False
---
state["params"].append(jnp.ones(2, jnp.bfloat16)); state["opt"] = "sgd"

### hb-frozen-config-and-namedtuple-state
@dataclasses.dataclass(frozen=True)
class Config:
    width: int = 4
    lr: float = 0.1
    betas: tuple = (0.9, 0.99)
    tags: list = dataclasses.field(default_factory=list)
    def __post_init__(self):
        if self.width <= 0:
            raise ValueError(f"width must be positive, not {self.width}")
class AdamState(typing.NamedTuple):
    step: jax.Array
    m: jax.Array
    v: jax.Array
    @classmethod
    def zeros(cls, p): return cls(jnp.zeros((), jnp.int32), jnp.zeros_like(p), jnp.zeros_like(p))
def adam(cfg, s, p, g):
    b1, b2 = cfg.betas
    s = s._replace(step=s.step + 1, m=b1 * s.m + (1 - b1) * g, v=b2 * s.v + (1 - b2) * g * g)
    mhat, vhat = s.m / (1 - b1 ** s.step), s.v / (1 - b2 ** s.step)
    return s, p - cfg.lr * mhat / (jnp.sqrt(vhat) + 1e-8)
cfg = Config()
---
p = jnp.linspace(-1, 1, cfg.width)
s = AdamState.zeros(p)
for _ in range(3):
    s, p = adam(cfg, s, p, jax.grad(lambda p: jnp.sum(jnp.cosh(p)))(p))
cfg.tags.append(int(s.step))
smaller = dataclasses.replace(cfg, lr=cfg.lr / 2)
print(dataclasses.asdict(smaller), hash(cfg.betas) == hash(smaller.betas), cfg == smaller)
s._fields, s.step, smaller.tags is cfg.tags
---
cfg = dataclasses.replace(cfg, width=6, tags=[])
---
cfg = Config(lr=0.01, betas=(jnp.float32(0.8), 0.9))
---
object.__setattr__(cfg, "width", 2)

### hb-activation-enum-and-flags
class Act(enum.Enum):
    RELU = "relu"
    TANH = "tanh"
    SWISH = "swish"
    def __call__(self, h): return {"relu": jax.nn.relu, "tanh": jnp.tanh, "swish": jax.nn.swish}[self.value](h)
class Use(enum.Flag):
    NONE = 0
    BIAS = enum.auto()
    NORM = enum.auto()
    SKIP = enum.auto()
stack = [(Act.RELU, Use.BIAS), (Act("tanh"), Use.BIAS | Use.NORM), (Act["SWISH"], Use.SKIP)]
h0 = jnp.linspace(-2, 2, 6).reshape(2, 3)
W = jnp.eye(3) * 0.5 + 0.1
---
h, seen = h0, {}
for act, use in stack:
    z = h @ W
    if Use.BIAS in use:
        z = z + 0.1
    if use & Use.NORM:
        z = (z - z.mean(-1, keepdims=True)) / (z.std(-1, keepdims=True) + 1e-5)
    z = act(z)
    h = h + z if use & Use.SKIP else z
    seen.setdefault(act, []).append(jnp.abs(z).max())
match stack[-1]:
    case (Act.SWISH | Act.RELU as last, use) if use is Use.SKIP:
        verdict = f"{last.name} with skip"
    case (last, use):
        verdict = f"{last.name.lower()} {use!r}"
[a.name for a in seen], verdict, seen[Act.TANH][0]
---
stack[-1] = (Act.RELU, Use.SKIP)
---
stack.append((Act.TANH, Use.NONE))
---
h0 = h0.astype(jnp.float16); W = W.astype(jnp.float16)

### hb-abstract-layers-with-registry
class Layer(ABC):
    registry = {}
    def __init_subclass__(cls, **kw):
        super().__init_subclass__(**kw)
        Layer.registry[cls.__name__.lower()] = cls
    @abstractmethod
    def init(self, key, n): ...
    @abstractmethod
    def apply(self, p, x): ...
class Dense(Layer):
    def __init__(self, out): self.out = out
    def init(self, key, n): return {"w": jax.random.truncated_normal(key, -2, 2, (n, self.out))}, self.out
    def apply(self, p, x): return x @ p["w"]
class Scale(Layer):
    def init(self, key, n): return {"g": jnp.ones(n)}, n
    def apply(self, p, x): return x * p["g"]
class Gelu(Layer):
    def init(self, key, n): return {}, n
    def apply(self, p, x): return jax.nn.gelu(x)
spec = "dense:4 gelu scale dense:2"
x = jnp.ones((3, 5)) * jnp.arange(3)[:, None]
---
net, params, n = [], [], x.shape[-1]
for key, part in zip(jax.random.split(jax.random.key(0), spec.count(" ") + 1), spec.split()):
    kind, _, arg = part.partition(":")
    layer = Layer.registry[kind](*map(int, filter(None, [arg])))
    p, n = layer.init(key, n)
    net.append(layer); params.append(p)
def apply(params, x):
    return reduce(lambda h, lp: lp[0].apply(lp[1], h), zip(net, params), x)
jac = jax.jacfwd(apply, argnums=1)(params, x[0])
y = apply(params, x)
try:
    Layer()
except TypeError as e:
    why = type(e).__name__
print([type(l).__name__ for l in net], y.shape, jac.shape, why)
---
spec = "dense:3 scale gelu"
---
class Gelu(Layer):
    def init(self, key, n): return {"beta": jnp.float32(2)}, n
    def apply(self, p, x): return x * jax.nn.sigmoid(p["beta"] * x)
---
spec = "dense:3 relu"

### hb-descriptor-checked-hyperparameters
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.name)
    def __set__(self, obj, value):
        if not value > 0:
            raise ValueError(f"{self.name[1:]} must be > 0, got {value}")
        setattr(obj, self.name, value)
class Kernel:
    __slots__ = ("_ls", "_var", "hits")
    ls, var = Positive(), Positive()
    def __init__(self, ls, var): self.ls, self.var, self.hits = ls, var, 0
    def __call__(self, a, b):
        self.hits += 1
        return self.var * jnp.exp(-0.5 * ((a[:, None] - b[None]) / self.ls) ** 2)
k = Kernel(0.3, 1.0)
xt, noise = jnp.linspace(0, 1, 6), 1e-2
yt, proposals = jnp.sin(6 * xt), [0.5, -0.1, 0.2]
---
rejected = []
for p in proposals:
    try:
        k.ls = p
    except ValueError as err:
        rejected.append(str(err))
        continue
    K = k(xt, xt) + noise * jnp.eye(len(xt))
    L = jnp.linalg.cholesky(K)
    a = jax.scipy.linalg.cho_solve((L, True), yt)
    lml = -0.5 * yt @ a - jnp.log(jnp.diagonal(L)).sum()
    k.var = jnp.clip(yt @ a / len(yt), 0.1, 10.0)
mean = k(jnp.array([0.25]), xt) @ a
print(rejected, k.hits, k.ls, round(float(lml), 2))
mean.shape
---
proposals = [1.0, 0.0]
---
k = Kernel(0.2, jnp.float32(2.0)); proposals = []
---
noise = 0.1; proposals = [0.4]; k.hits = 0

### hb-timer-and-section-context-managers
events = []
@contextlib.contextmanager
def section(name, depth=[0]):
    events.append("  " * depth[0] + f"enter {name}")
    depth[0] += 1
    try:
        yield lambda: time.perf_counter() > 0
    except FloatingPointError as e:
        events.append("  " * depth[0] + f"swallowed {e}")
    finally:
        depth[0] -= 1
        events.append("  " * depth[0] + f"leave {name}")
def check(v, what):
    if not jnp.isfinite(v).all():
        raise FloatingPointError(f"{what} is not finite")
    return v
a, b = jnp.array([1.0, 4.0, 9.0]), jnp.array([1.0, 2.0, 3.0])
---
result = None
with section("outer") as quick:
    with section("sqrt"):
        root = check(jnp.sqrt(a - b), "root")
    with section("log"):
        logs = check(jnp.log(a - b), "logs")
        result = root / logs
    total = root.sum() if result is None else result.sum()
fast = quick()
print("\n".join(events))
n_events = len(events)
del events[:]
total, fast, n_events
---
b = jnp.array([0.5, 2.0, 3.0])
---
a = -a
---
a, b = b, jnp.zeros(3)

### hb-infinite-shuffled-batches-islice
def shuffled(n, key):
    while True:
        key, sub = jax.random.split(key)
        yield from (np.asarray(jax.random.permutation(sub, n)))
def batched(it, size):
    while batch := list(itertools.islice(it, size)):
        yield np.array(batch)
X = jnp.linspace(0, 1, 10)[:, None] ** jnp.arange(3)
y = jnp.cos(3 * X[:, 1])
stream = batched(shuffled(10, jax.random.PRNGKey(0)), 4)
w = jnp.zeros(3)
steps = 5
---
order = []
for idx in itertools.islice(stream, steps):
    g = jax.grad(lambda w: jnp.mean((X[idx] @ w - y[idx]) ** 2))(w)
    w = w - 0.5 * g
    order.extend(idx.tolist())
counts = np.bincount(order, minlength=len(X))
mse = ((X @ w - y) ** 2).mean()
pairs = [b - a for a, b in itertools.pairwise(sorted(order))]
print(counts.tolist(), max(pairs), f"{mse:.3f}")
---
steps = 3
---
stream = batched(iter(range(7)), 3)
---
stream = batched(shuffled(10, jax.random.key(1)), 5); w = w.astype(jnp.bfloat16)

### hb-recursive-tree-and-postorder
class Node:
    def __init__(self, op, *kids): self.op, self.kids = op, kids
    def __repr__(self): return self.op if not self.kids else f"{self.op}({', '.join(map(repr, self.kids))})"
leaf = {"x": 0, "y": 1}
ops = {"add": jnp.add, "mul": jnp.multiply, "sin": jnp.sin, "neg": operator.neg}
def parse(text):
    tokens = re.findall(r"\w+|[(),]", text)
    def expr(i):
        name, i = tokens[i], i + 1
        kids = []
        while i < len(tokens) and tokens[i] in "(," and (kids or tokens[i] == "("):
            kid, i = expr(i + 1)
            kids.append(kid)
        return Node(name, *kids), i + (1 if kids else 0)
    return expr(0)[0]
def evaluate(node, env):
    if not node.kids:
        return env[leaf[node.op]] if node.op in leaf else float(node.op)
    return ops[node.op](*(evaluate(k, env) for k in node.kids))
def depth(node): return 1 + max(map(depth, node.kids), default=0)
text, env = "add(mul(x,sin(y)),neg(2))", jnp.array([[0.5, 1.0], [0.2, 2.0]])
---
tree = parse(text)
value = evaluate(tree, env)
partials = [jax.vmap(jax.grad(lambda e: evaluate(tree, e)))(env.T)]
hess = jax.hessian(lambda e: evaluate(tree, e))(env[:, 0])
memo = {}
def fib(n): return n if n < 2 else memo.setdefault(n, fib(n - 1) + fib(n - 2))
scaled = value * fib(depth(tree) + 4)
repr(tree), depth(tree), scaled, hess[0, 1]
---
text = "sin(mul(x,x))"
---
ops["sin"] = jnp.cos; text = "add(sin(y),mul(3,x))"
---
text = "div(x,y)"

### hb-decorators-timing-retry-vectorise
registry, attempts = {}, []
def register(name=None):
    def deco(f):
        registry[name or f.__name__] = f
        return f
    return deco
def retry(times, on=Exception):
    def deco(f):
        @wraps(f)
        def wrapper(*a, **k):
            for i in range(times):
                try:
                    return f(*a, **k)
                except on as e:
                    attempts.append((f.__name__, i, str(e)))
            raise RuntimeError(f"{f.__name__} failed {times} times")
        return wrapper
    return deco
def vectorise(f):
    g = jax.vmap(f)
    return wraps(f)(lambda xs: g(jnp.atleast_1d(xs)))
@register()
@vectorise
def well(x):
    "A double well."
    return (x ** 2 - 1) ** 2
budget = {"left": 2}
@register("flaky")
@retry(3, on=OSError)
def load(scale):
    if budget["left"]:
        budget["left"] -= 1
        raise OSError("disk busy")
    return jnp.arange(4.0) * scale
---
xs = registry["flaky"](0.5)
ys = {n: f(xs) for n, f in registry.items() if n != "flaky"}
slopes = jax.vmap(jax.grad(lambda x: well(x)[0]))(xs)
minimum = xs[ys["well"].argmin()]
budget["left"] += 1
well.__doc__, len(attempts), minimum, slopes
---
budget["left"] = 2
---
@register()
@vectorise
def tilted(x): return well.__wrapped__(x) + 0.3 * x
---
budget["left"] = 5

### hb-sweep-product-with-uuid-folders
random.seed(7)
root = Path("runs")
grid = {"lr": [0.1, 0.3], "depth": [1, 2]}
def new_id(): return uuid.UUID(int=random.getrandbits(128), version=4).hex[:6]
def model(h, ws):
    for w in ws:
        h = jnp.sin(h @ w)
    return h.sum()
---
results = []
for values in itertools.product(*grid.values()):
    hp = dict(zip(grid, values))
    folder = root / f"{new_id()}_{hp['depth']}"
    folder.mkdir(parents=True)
    ws = [jax.random.normal(jax.random.PRNGKey(d), (3, 3)) * 0.3 for d in range(hp["depth"])]
    for _ in range(2):
        ws = [w - hp["lr"] * g for w, g in zip(ws, jax.grad(model, argnums=1)(jnp.ones(3), ws))]
    score = model(jnp.ones(3), ws)
    (folder / "hparams.json").write_text(json.dumps({**hp, "score": round(score.item(), 3)}))
    results.append((score, folder.name))
best, name = min(results, key=lambda r: r[0])
loaded = sorted((json.loads(p.read_text()) for p in root.rglob("hparams.json")), key=lambda d: (d["score"], d["lr"]))
print(len(loaded), loaded[0]["depth"], name.split("_")[1], datetime.date(2024, 2, 29).isoformat())
best
---
grid["lr"] = [0.2]
---
shutil.rmtree(root); random.seed(1)
---
grid = {"depth": [3], "lr": [0.05, 1]}

### hb-noise-streams-split-fold-legacy-typed
root_old, root_new = jax.random.PRNGKey(7), jax.random.key(7)
used = {}
def stream(name, base):
    n = used.get(name, 0)
    used[name] = n + 1
    return jax.random.fold_in(jax.random.fold_in(base, sum(map(ord, name))), n)
shape = (2, 3)
---
a = jax.random.normal(stream("init", root_old), shape)
b = jax.random.normal(stream("init", root_new), shape)
drop = jax.random.bernoulli(stream("drop", root_new), 0.8, shape) / 0.8
keys = jax.random.split(root_new, shape)
grid = jax.vmap(jax.vmap(lambda k: jax.random.uniform(k)))(keys)
cat = jax.random.categorical(stream("cat", root_old), jnp.log(jnp.array([0.1, 0.2, 0.7])), shape=(5,))
g = jax.random.gumbel(keys[0, 0], shape, dtype=jnp.bfloat16)
mixed = a * drop + g
root_old, _ = jax.random.split(root_old)
print(used, keys.shape, keys.dtype, mixed.dtype, a.weak_type)
jax.random.key_data(root_new), cat.dtype, grid.max() < 1
---
used.clear()
---
shape = (3, 1)
---
root_new = jax.random.key(7, impl="rbg")

### hb-debug-prints-and-callback-in-scan
seen = []
def record(i, v): seen.append((int(i), float(np.round(v, 3))))
def body(carry, x):
    i, s = carry
    s = 0.5 * s + x
    jax.debug.callback(record, i, s, ordered=True)
    return (i + 1, s), s
xs = jnp.array([1.0, 0.0, -1.0])
verbose = True
---
(n, last), trail = lax.scan(body, (0, jnp.float32(0)), xs)
if verbose:
    jax.debug.print("last is {l:.2f} after {n}", l=last, n=n)
jax.effects_barrier()
peak = max(seen, key=lambda t: t[1])
print("seen", len(seen), "peak", peak)
trail @ xs, seen[-1]
---
verbose = False
---
def record(i, v): seen.insert(0, (int(i), float(v) // 1))
def body(carry, x):
    jax.debug.callback(record, carry[0], x, ordered=True)
    return (carry[0] + 1, carry[1] + x), x * 2
---
xs = jnp.concatenate([xs, jnp.array([4.0])]); seen.clear(); verbose = True

### hb-pure-callback-to-scipy-and-io-counter needs=scipy
import scipy.special
from jax.experimental import io_callback
hits = {"n": 0}
def host_k0(x): return scipy.special.k0(np.asarray(x)).astype(np.asarray(x).dtype)
@jax.custom_jvp
def k0(x): return jax.pure_callback(host_k0, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims")
@k0.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    host_k1 = lambda x: scipy.special.k1(np.asarray(x)).astype(np.float32)
    k1 = jax.pure_callback(host_k1, jax.ShapeDtypeStruct(x.shape, jnp.float32), x, vmap_method="expand_dims")
    return k0(x), -k1 * t
def tick(v):
    hits["n"] += 1
    return np.int32(hits["n"])
r = jnp.array([0.5, 1.0, 2.0])
---
val, slope = k0(r), jax.vmap(jax.grad(k0))(r)
count = io_callback(tick, jax.ShapeDtypeStruct((), jnp.int32), val.sum(), ordered=True)
fd = (k0(r + 1e-2) - k0(r - 1e-2)) / 2e-2
good = jnp.allclose(fd, slope, rtol=1e-2)
print(hits, good)
count, val.round(2)
---
r = r[:2] * 1.5
---
hits["n"] = 10
---
host_k0 = lambda x: np.zeros_like(np.asarray(x))

### hb-straight-through-and-clipped-gradients
@jax.custom_vjp
def ste_round(x): return jnp.round(x)
ste_round.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def clip_grad(x, limit): return x
clip_grad.defvjp(lambda x, limit: (x, None), lambda limit, _, g: (jnp.clip(g, -limit, limit),))
@jax.custom_jvp
def safe_log(x): return jnp.log(jnp.maximum(x, 1e-6))
safe_log.defjvp(lambda p, t: (safe_log(p[0]), jnp.where(p[0] > 1e-6, t[0] / jnp.maximum(p[0], 1e-6), 0.0)))
def quantised_loss(w, bits, limit):
    q = ste_round(w * 2 ** bits) / 2 ** bits
    return jnp.sum(safe_log(clip_grad(q, limit) ** 2 + 0.1))
w, bits, limit = jnp.array([0.3, -0.7, 0.0]), 2, 0.5
---
loss, g = jax.value_and_grad(quantised_loss)(w, bits, limit)
w = w - 0.1 * g
per = jax.jit(jax.vmap(lambda w: quantised_loss(w[None], bits, limit)))(w)
remat = jax.grad(jax.checkpoint(lambda w: quantised_loss(w, bits, limit)))(w)
same = jnp.array_equal(remat, jax.grad(quantised_loss)(w, bits, limit))
_, tang = jax.jvp(safe_log, (w,), (jnp.ones_like(w),))
loss, same, per.shape, tang[2]
---
bits = 3
---
limit = 0.05; w = w.at[2].set(-1e-9)
---
safe_log.defjvp(lambda p, t: (safe_log(p[0]), t[0] * 0 + 1.0))

### hb-control-flow-collatz-newton-switch-map
def collatz(n):
    def body(s):
        return lax.cond(s[0] % 2 == 0, lambda v: v // 2, lambda v: 3 * v + 1, s[0]), s[1] + 1
    return lax.while_loop(lambda s: s[0] != 1, body, (n, 0))[1]
branches = [jnp.sin, lambda v: v * 2, jnp.zeros_like]
starts = jnp.array([6, 7, 9])
def poly(x): return x ** 3 - 2 * x - 5
---
lengths = jax.vmap(collatz)(starts)
root = lax.fori_loop(0, 6, lambda i, x: x - poly(x) / jax.grad(poly)(x), 2.0)
picked = [lax.switch(int(k), branches, root) for k in lengths % len(branches)]
tabled = lax.map(lambda s: lax.switch(s % 3, branches, s.astype(float)), starts)
cum = lax.associative_scan(jnp.maximum, tabled)
carry, ys = lax.scan(lambda c, t: (c + t, (c, {"t": t})), 0, starts, reverse=True)
print(lengths, [round(float(p), 3) for p in picked], type(carry).__name__, carry.weak_type)
ys[1]["t"].dtype, abs(poly(root)) < 1e-3
---
starts = jnp.arange(1, 6)
---
branches.append(lambda v: v - 1)
---
def poly(x): return jnp.cos(x) - x

### hb-data-parallel-regression-on-eight devices=8
mesh = jax.make_mesh((8,), ("batch",))
rows, rep = NamedSharding(mesh, P("batch")), NamedSharding(mesh, P())
rng = np.random.default_rng(1)
X = rng.normal(size=(32, 4)).astype(np.float32); Y = X @ np.array([1, 2, 0, -1], np.float32)
params = jax.device_put({"w": jnp.zeros(4), "b": jnp.zeros(())}, rep)
@jax.jit
def train_step(params, x, y):
    def loss(p): return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
    l, g = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.2 * g, params, g), l
batch = 16
---
losses = []
for i in range(0, len(X), batch):
    xb, yb = jax.device_put((X[i:i + batch], Y[i:i + batch]), rows)
    params, l = train_step(params, xb, yb)
    losses.append(l)
pred = jax.jit(lambda p, x: lax.with_sharding_constraint(x @ p["w"], rows))(params, xb)
placed = {k: v.sharding.is_fully_replicated for k, v in params.items()}
per_device = [s.data.shape for s in pred.addressable_shards][:2]
print(placed, per_device, len(xb.devices()), f"{float(losses[-1]):.3f}")
pred.sharding == rows, losses[0].committed
---
batch = 8
---
rows = NamedSharding(Mesh(np.array(jax.devices()[:4]), ("batch",)), P("batch"))
params = jax.device_put(params, NamedSharding(rows.mesh, P()))
---
params = jax.tree.map(np.asarray, params)

### hb-two-axes-mesh-shard-map-and-set-mesh devices=8
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
w = jax.device_put(jnp.arange(16.0).reshape(4, 4) / 16, NamedSharding(mesh, P(None, "model")))
x = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("data", None)))
def block(x, w):
    h = jax.nn.relu(x @ w)
    total = lax.psum(h.sum(-1, keepdims=True), "model")
    return h / total, lax.pmean(jnp.mean(h), ("data", "model"))
specs = dict(in_specs=(P("data", None), P(None, "model")), out_specs=(P("data", "model"), P()))
---
y, mean = jax.shard_map(block, mesh=mesh, **specs)(x, w)
row_sums = y.sum(axis=1)
shift = lambda v: lax.ppermute(v, "data", [(i, (i + 1) % 4) for i in range(4)])
ring = jax.shard_map(shift, mesh=mesh, in_specs=P("data"), out_specs=P("data"))(jnp.arange(8.0))
with jax.set_mesh(mesh):
    z = lax.with_sharding_constraint(y @ w.T, P("data", None))
    t = jnp.zeros((4, 4)) + w
gathered = jax.device_put(z, jax.devices()[0])
print(y.sharding.spec, z.sharding.spec, t.sharding.spec, gathered.sharding.device_set == {jax.devices()[0]})
ring, mean, jnp.allclose(row_sums, 1)
---
w = w * 2 - 1
---
x = jax.device_put(jnp.ones((16, 4)), NamedSharding(mesh, P("data", None)))
---
specs["out_specs"] = (P("data", None), P())

### hb-layers-placed-on-different-devices devices=4
devs = jax.devices()[:3]
keys = jax.random.split(jax.random.PRNGKey(0), 3)
layers = [jax.device_put(jax.random.normal(k, (4, 4)) * 0.4, d) for k, d in zip(keys, devs)]
x = np.ones((2, 4), np.float32)
moves = []
---
h, acts = x, []
for W, d in zip(layers, devs):
    h = jax.device_put(h, d)
    h = jnp.tanh(h @ W)
    acts.append(h)
    moves.append((d.id, h.committed, str(h.device)))
try:
    bad = acts[0] + acts[1]
except ValueError as e:
    message = str(e).split(",")[0][:40]
    bad = None
together = jnp.stack([jax.device_put(a, devs[0]) for a in acts])
on_host = jax.device_get(acts)
with jax.default_device(devs[-1]):
    fresh = jnp.arange(3) * 2
uncommitted = fresh + jnp.ones(3, int)
moves[-3:], together.device, fresh.devices() == {devs[-1]}, uncommitted.committed
---
devs = devs[::-1]; layers = [jax.device_put(W, d) for W, d in zip(layers, devs)]
---
x = jax.device_put(x, jax.devices()[3])
---
layers = [jnp.asarray(np.asarray(W)) for W in layers]; moves.clear()

### hb-tree-utilities-mask-decay-and-paths cold
params = {"enc": {"kernel": jnp.ones((2, 3)), "bias": jnp.zeros(3)}, "step": 0}
params["dec"] = [{"kernel": jnp.full((3, 1), 2.0), "scale": None}]
no_decay = ("bias", "scale")
rate = 0.1
---
flat, treedef = jax.tree.flatten(params)
def decays(path, _): return not any(getattr(k, "key", None) in no_decay for k in path)
mask = jax.tree_util.tree_map_with_path(decays, params)
decayed = jax.tree.map(lambda p, m: p * (1 - rate) if m and isinstance(p, jax.Array) else p, params, mask)
sizes = {jax.tree_util.keystr(k): jnp.size(v) for k, v in jax.tree.leaves_with_path(decayed)}
norms = jax.tree.reduce(lambda a, b: a + jnp.sum(jnp.square(b)), decayed, 0.0)
stacked = jax.tree.map(lambda *ls: jnp.stack(ls), decayed["enc"], params["enc"])
pairs = {k: [v[0], v[1]] for k, v in stacked.items()}
outer = jax.tree.transpose(jax.tree.structure(decayed["enc"]), jax.tree.structure([0, 0]), pairs)
params = jax.tree.unflatten(treedef, [l + 1 if isinstance(l, int) else l for l in jax.tree.leaves(decayed)])
print(sizes, jax.tree.all(mask), treedef.num_leaves, params["step"])
norms, outer[1]["bias"]
---
no_decay += ("kernel",)
---
params["dec"].append({"kernel": jnp.ones(1), "scale": jnp.ones(())})
---
rate = jnp.float16(0.5); params["step"] = jnp.int8(3)

### hb-registered-rigid-transform-class
@jax.tree_util.register_pytree_with_keys_class
class Rigid:
    def __init__(self, rot, trans, frame="world"): self.rot, self.trans, self.frame = rot, trans, frame
    def tree_flatten_with_keys(self):
        key = jax.tree_util.GetAttrKey
        return ((key("rot"), self.rot), (key("trans"), self.trans)), self.frame
    @classmethod
    def tree_unflatten(cls, aux, kids): return cls(*kids, frame=aux)
    def __matmul__(self, o): return Rigid(self.rot @ o.rot, self.rot @ o.trans + self.trans, o.frame)
    def __call__(self, p): return p @ self.rot.T + self.trans
    @property
    def inv(self): return Rigid(self.rot.T, -self.rot.T @ self.trans, f"{self.frame}^-1")
def yaw(a, t):
    c, s = jnp.cos(a), jnp.sin(a)
    return Rigid(jnp.array([[c, -s], [s, c]]), jnp.asarray(t, jnp.float32), "body")
angles, offset = jnp.array([0.1, 0.5, -0.3]), [1.0, 0.0]
cloud = jnp.array([[0.0, 1.0], [2.0, 0.5]])
---
poses = jax.vmap(lambda a: yaw(a, offset))(angles)
chain = reduce(operator.matmul, [jax.tree.map(lambda l: l[i], poses) for i in range(len(angles))])
moved = jax.vmap(lambda T: T(cloud))(poses)
back = chain.inv(chain(cloud))
def energy(a, T): return jnp.sum((yaw(a, offset) @ T).trans ** 2)
da, dT = jax.grad(energy, argnums=(0, 1))(angles[0], chain)
paths = [jax.tree_util.keystr(k) for k, _ in jax.tree.leaves_with_path({"T": dT})]
paths, dT.frame, type(poses).__name__, jnp.abs(back - cloud).max() < 1e-5, chain.inv.frame
---
offset = (0.0, 2)
---
angles = angles[:2]
---
Rigid.__call__ = lambda self, p: jnp.einsum("ij,nj->ni", self.rot, p) + self.trans

### hb-promotion-surprises
a8, u8, f16, bf, i32 = jnp.int8(100), jnp.uint8(250), jnp.float16(1.5), jnp.bfloat16(2.5), jnp.arange(3)
py_int, py_float, np64 = 3, 0.1, np.float64(0.1)
---
rows = {
    "int8*py": a8 * py_int, "uint8+py": u8 + py_int, "f16+py": f16 + py_float, "f16+np64": f16 + np64,
    "bf+f16": bf + f16, "int+f16": i32 + f16, "int/py": i32 / py_int, "u8-i8": u8 - a8,
    "bool+bool": jnp.array(True) + jnp.array(True), "where": jnp.where(i32 > 1, 1.0, 0),
    "where16": jnp.where(i32 > 1, f16, 0),
    "power": i32 ** 2, "full": jnp.full(2, py_float), "asarray": jnp.asarray(py_int), "lin": jnp.linspace(0, py_int, 4),
    "npmix": np.arange(3) * jnp.float32(2), "sum8": jnp.full(3, 100, jnp.int8).sum(), "mean": i32.mean(),
    "cplx": 1j * f16,
    "floordiv": -7 // i32.at[0].set(2), "shift": u8 << 1, "round": round(jnp.float32(2.5)), "abs": abs(jnp.int32(-3)),
}
told = [(k, str(v.dtype), bool(getattr(v, "weak_type", False)), v.shape) for k, v in rows.items()]
table = pd.DataFrame(told, columns=["expr", "dtype", "weak", "shape"])
print(table.to_string(index=False))
result = sum(rows[k].astype(jnp.float32).sum() for k in ("int8*py", "uint8+py", "u8-i8"))
kinds = jnp.promote_types(jnp.int8, jnp.uint8), jnp.result_type(bf, py_float), np.result_type(f16, np64)
result, kinds
---
py_int = 300 - 200
---
py_float, np64 = np.float32(0.1), 0.1
---
py_int = True

### hb-x64-reference-solution-in-a-block
def hilbert(n): return 1.0 / (jnp.arange(n)[:, None] + jnp.arange(n)[None] + 1)
n = 5
---
A = hilbert(n)
b = A @ jnp.ones(n)
x32 = jnp.linalg.solve(A, b)
with jax.enable_x64(True):
    A64 = hilbert(n)
    x64 = jnp.linalg.solve(A64, A64 @ jnp.ones(n))
    err64 = jnp.abs(x64 - 1).max()
    upcast = x32.astype(jnp.float64) * 2
with jax.default_matmul_precision("highest"):
    residual = A @ x32 - b
exact = err64 < 1e-8
print(A.dtype, A64.dtype, upcast.dtype, residual.dtype, exact, jax.config.jax_enable_x64)
(x64 + x32).dtype, jnp.zeros(2).dtype
---
n = 4
---
def hilbert(n): return jnp.eye(n) * np.float64(2) + 1
---
jax.config.update("jax_enable_x64", True)

### hb-inplace-buffers-views-and-ring
ring = np.zeros((4, 2), np.float32)
half = ring[::2]
cursor = 0
gen = np.random.default_rng(11)
x = jnp.array([1.0, -1.0])
---
for _ in range(3):
    noise = gen.standard_normal(2).astype(np.float32)
    x = jnp.tanh(x + noise)
    ring[cursor % len(ring)] = x
    cursor += 1
np.multiply(half, 2, out=half)
ring[ring > 0.9] = 0.9
smooth = jnp.asarray(ring).mean(0)
flat = ring.ravel(); flat[-1] += 1
order = np.lexsort((ring[:, 1], ring[:, 0]))
snapshot = ring.copy()
ring.setflags(write=True)
window = np.lib.stride_tricks.sliding_window_view(snapshot[:, 0], 2)
corr = jnp.corrcoef(jnp.asarray(window), rowvar=False)
half.base is ring, cursor, np.shares_memory(flat, half), smooth.dtype, corr.shape
---
cursor = 1
---
ring = np.asfortranarray(ring); half = ring[1:]
---
gen = np.random.Generator(np.random.PCG64(3)); ring = ring.astype(np.float64); half = ring[:2]

### hb-sparse-graph-pagerank
from jax.experimental import sparse
edges = [(0, 1), (0, 2), (1, 2), (2, 0), (3, 2), (3, 0)]
n, damping = 4, 0.85
---
src, dst = jnp.array(edges).T
out_deg = jnp.zeros(n).at[src].add(1)
vals = 1.0 / out_deg[src]
M = sparse.BCOO((vals, jnp.stack([dst, src], axis=1)), shape=(n, n))
r = jnp.ones(n) / n
for it in range(50):
    new = damping * (M @ r) + (1 - damping) / n
    delta = jnp.abs(new - r).sum()
    r = new
    if delta < 1e-4:
        break
dense = M.todense()
Ms = M.sort_indices()
top = [int(i) for i in jnp.argsort(-r)[:2]]
grad = jax.grad(lambda v: (sparse.BCOO((v, M.indices), shape=M.shape) @ r)[2])(vals)
print(it, top, M.nse, dense.dtype, Ms.indices_sorted, r.sum().round(3))
grad
---
edges.append((1, 3))
---
damping = jnp.float32(0.5)
---
edges, n = [(i, (i + 1) % 3) for i in range(3)], 3

### hb-image-blobs-resize-filter-and-moments
from jax.scipy import ndimage, signal
yy, xx = jnp.mgrid[0:12, 0:12]
image = jnp.exp(-((xx - 3.0) ** 2 + (yy - 7.0) ** 2) / 6) + 0.6 * jnp.exp(-((xx - 9) ** 2 + (yy - 2.0) ** 2) / 3)
sigma, out = 1.0, (6, 6)
---
r = jnp.arange(-2, 3)
g = jnp.exp(-0.5 * (r / sigma) ** 2); g /= g.sum()
blurred = signal.convolve2d(image, jnp.outer(g, g), mode="same")
small = jax.image.resize(blurred, out, method="bilinear")
turned = ndimage.map_coordinates(small, [jnp.linspace(0, out[0] - 1, 5), jnp.linspace(0, out[1] - 1, 5)], order=1)
peaks = (blurred == lax.reduce_window(blurred, -jnp.inf, lax.max, (3, 3), (1, 1), "SAME")) & (blurred > 0.2)
where = np.argwhere(np.asarray(peaks))
mass = small.sum()
cy, cx = (jnp.sum(c * small) / mass for c in jnp.indices(out))
spectrum = jnp.fft.fftshift(jnp.abs(jnp.fft.fft2(small)))
img8 = np.clip(np.asarray(small) * 255, 0, 255).astype(np.uint8)
print(where.tolist(), img8.dtype, img8.max() > 100, spectrum.argmax())
turned.shape, jnp.round(cy, 1)
---
sigma = 2
---
image = image.T[::-1]; out = (4, 8)
---
image = image > 0.5

### hb-shape-mismatch-half-way-through-epoch
def init_layer(key, m, n): return {"w": jax.random.normal(key, (m, n)) * 0.3, "b": jnp.zeros(n)}
k1, k2 = jax.random.split(jax.random.key(0))
model = [init_layer(k1, 3, 4), init_layer(k2, 4, 1)]
batches = [jnp.ones((2, 3)), jnp.ones((2, 3)) * 0.5]
history = {"loss": [], "seen": 0}
def predict(model, x):
    for layer in model[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ model[-1]["w"] + model[-1]["b"]
---
for xb in batches:
    history["seen"] += len(xb)
    loss, grads = jax.value_and_grad(lambda m: jnp.mean((predict(m, xb) - 1) ** 2))(model)
    for layer, g in zip(model, grads):
        for name in layer:
            layer[name] -= 0.1 * g[name]
    history["loss"].append(loss)
mean_loss = jnp.mean(jnp.array(history["loss"]))
mean_loss, history["seen"]
---
batches.append(jnp.ones((2, 5)))
---
batches[-1] = jnp.ones((1, 3)); model[0]["b"] = model[0]["b"] + 0.1
---
model[1]["extra"] = jnp.ones(2)

### hb-plugins-called-from-table-fail-late
audit, handlers = [], {}
totals = {"n": 0, "sum": jnp.float32(0)}
def on(event):
    def deco(f):
        handlers.setdefault(event, []).append(f)
        return f
    return deco
@on("batch")
def count(v): totals["n"] += v.size
@on("batch")
def add(v): totals["sum"] = totals["sum"] + v.sum()
@on("batch")
def guard(v):
    audit.append(v.shape)
    if v.ndim > limit: raise ValueError(f"{v.ndim}-d batch refused")
limit = 1
stream = [jnp.arange(3.0), jnp.ones(2)]
---
for v in stream:
    for h in handlers["batch"]:
        h(v * 2)
average = totals["sum"] / totals["n"]
print(len(audit), totals["n"])
average
---
stream = [jnp.ones((2, 2))]
---
limit = 2
---
stream.insert(0, jnp.ones((1, 1, 1)))

### hb-user-exception-with-payload-and-finally
class Diverged(RuntimeError):
    def __init__(self, step, w):
        super().__init__(f"diverged at step {step}")
        self.step, self.w = step, w
status, attempts = {"phase": "new"}, []
def descend(w, lr, steps):
    for i in range(steps):
        w = w - lr * jax.grad(lambda w: jnp.sum(w ** 4))(w)
        if not jnp.all(jnp.abs(w) < 1e3):
            raise Diverged(i, w)
    return w
lrs, w0 = [5.0, 0.01], jnp.array([1.0, 2.0])
---
final = None
for lr in lrs:
    status["phase"] = f"lr={lr}"
    try:
        final = descend(w0, lr, 4)
    except Diverged as e:
        attempts.append((e.step, e.w.dtype.name, str(e)))
        last_bad = e.w
    else:
        attempts.append(("ok", lr))
        break
    finally:
        status["tries"] = status.get("tries", 0) + 1
assert final is not None, f"nothing worked: {attempts[-1][0]}"
shrunk = jnp.linalg.norm(final) < jnp.linalg.norm(w0)
attempts[-2:], shrunk
---
lrs = [0.02]
---
lrs = [9.0, 7.0]
---
lrs = [9.0, 0.03]; w0 = w0 / 2

### hb-nan-check-with-config-around-one-step
x = jnp.array([0.5, 1.0, 2.0])
def bad_loss(w): return jnp.sum(jnp.log(w - shift))
shift, caught = 0.6, []
---
w = x
with jax.debug_nans(True):
    try:
        value = bad_loss(w)
    except FloatingPointError as e:
        caught.append(type(e).__name__)
        value = jnp.float32(-1)
clean = jnp.nan_to_num(jnp.log(w - shift), nan=0.0, neginf=-9.0)
g = jax.grad(bad_loss)(w)
finite = jnp.isfinite(jnp.log(w - shift))
w = jnp.where(finite, w - 0.1 * g, w)
print(len(caught), finite, jax.config.jax_debug_nans)
value, clean.min()
---
shift = 0.1
---
shift = jnp.float32(1.0)
---
x = x.at[0].set(jnp.nan)

### hb-interrupted-search-stops-by-raising cold
class StopSearch(Exception): pass
rng = np.random.default_rng(5)
trials, best = [], {"score": -np.inf}
patience = 3
@jax.jit
def score(h): return -jnp.sum((h - jnp.array([0.3, -0.2])) ** 2)
def run_trial(h):
    s = float(score(h))
    trials.append(round(s, 4))
    if s > best["score"]:
        best.update(score=s, h=h, at=len(trials))
    elif len(trials) - best["at"] >= patience:
        raise StopSearch(len(trials))
---
centre = best.get("h", jnp.zeros(2))
try:
    for _ in range(10):
        run_trial(centre + 0.3 * jnp.asarray(rng.normal(size=2)))
except StopSearch as stop:
    print("stopped after", *stop.args)
top = sorted(trials, reverse=True)[:3]
direction = jax.grad(score)(best["h"])
best["at"] = len(trials)
len(trials), direction.shape, best["h"].dtype
---
patience = 1
---
rng = np.random.default_rng(6); best["score"] = -0.001
---
trials.clear(); best = {"score": -np.inf}

### hb-shadowed-names-and-stars
from math import *
from operator import *
np_, sum_ = np, sum
values = [0.5, 1.5, 2.5]
---
x = jnp.asarray(values)
sum = x.sum()
max = jnp.max(x)
np = jnp
total = add(sum, max) + sqrt(4) + np.sqrt(x)[0]
list = [v * 2 for v in x]
e = exp(1) - e if isinstance(e, float) else 0.0
abs_ = abs(x - sum)
def mean(x, len=len): return truediv(x.sum(), len(x))
m = mean(x)
del sum, max, np, list
np = np_
from math import e
print(total.dtype, sum_(values), type(max(values)).__name__, f"{e:.1f}")
m, [*map(str, range(2))]
---
values = [1, 2, 3]
---
values = values + [float(pi)]
---
from jax.numpy import sqrt, exp, abs

### hb-globals-and-nonlocals-count-steps cold
step_count, best_loss = 0, None
def make_ema(decay):
    avg, n = None, 0
    def update(v):
        nonlocal avg, n
        n += 1
        avg = v if avg is None else decay * avg + (1 - decay) * v
        return avg / (1 - decay ** n) if n > 1 else avg
    def reset():
        nonlocal avg, n
        avg, n = None, 0
    update.reset = reset
    return update
ema = make_ema(0.9)
def train(w):
    global step_count, best_loss
    loss, g = jax.value_and_grad(lambda w: jnp.sum((w - 1) ** 2))(w)
    step_count += 1
    best_loss = loss if best_loss is None else jnp.minimum(best_loss, loss)
    ema(loss)
    return w - 0.3 * g
w = jnp.zeros(2)
---
for _ in range(3):
    w = train(w)
smooth = ema(best_loss)
if "last_smooth" in globals():
    change = smooth - last_smooth
    del last_smooth
else:
    change = jnp.nan
last_smooth = smooth
print(step_count, len(ema.__closure__), f"{best_loss:.4f}")
change
---
ema.reset()
---
best_loss = None; w = jnp.array([3.0, -3.0]); step_count = 100
---
ema = make_ema(jnp.float32(0.5)); del last_smooth

### hb-exec-and-eval-formulas
formulas = {"relu": "jnp.maximum(z, 0)", "bump": "jnp.exp(-z**2) * scale"}
source = "def head(z):\n    return z.sum(-1) * gain\n"
scale, gain = 2.0, 0.5
z = jnp.linspace(-1, 1, 6).reshape(2, 3)
---
outs = {name: eval(f, {"jnp": jnp, "z": z, "scale": scale}) for name, f in formulas.items()}
scope = {"gain": gain}
exec(source, scope)
heads = {k: scope["head"](v) for k, v in outs.items()}
code = compile("w = z * gain; w2 = w @ w.T", "<cell>", "exec")
exec(code)
made = sorted(k for k in scope if not k.startswith("__"))
spread = jnp.stack(list(heads.values())).std()
print(made, w2.shape, {k: v.dtype.name for k, v in heads.items()})
spread
---
formulas["cube"] = "z ** 3"
---
source = source.replace("sum", "max"); gain = jnp.int32(3)
---
formulas["broken"] = "z @ z"

### hb-metaclass-records-fields-of-modules
class ModuleMeta(type):
    made = []
    def __new__(m, name, bases, ns, **kw):
        ns["fields"] = tuple(k for k in ns.get("__annotations__", {}))
        cls = super().__new__(m, name, bases, ns)
        m.made.append(name)
        return cls
    def __call__(cls, *a, **kw):
        obj = super().__call__(*a, **kw)
        missing = [f for f in cls.fields if not hasattr(obj, f)]
        if missing: raise TypeError(f"{cls.__name__} lacks {missing}")
        return obj
class Module(metaclass=ModuleMeta):
    def params(self): return {f: getattr(self, f) for f in self.fields}
    def __len__(self): return len(self.fields)
shift = 1.0
---
class Affine(Module):
    w: jax.Array
    b: jax.Array
    count = 0
    def __init__(self, n):
        self.w, self.b = jnp.eye(n) * 2, jnp.full(n, shift)
        Affine.count += 1
    def __call__(self, x): return x @ self.w + self.b
m = Affine(2)
y = m(jnp.array([1.0, 2.0]))
sizes = {k: v.size for k, v in m.params().items()}
class Two(Affine):
    def __call__(self, x): return super().__call__(super().__call__(x))
t = Two(2)
z = t(y)
print(ModuleMeta.made[-2:], Affine.count, len(m), bool(t), Two.__mro__[1].__name__)
z, sizes
---
shift = jnp.float32(3)
---
ModuleMeta.made.clear(); shift = 2
---
Module.__call__ = lambda self, x: x; Module.fields = ("missing",)

### hb-class-edited-and-old-instances-kept
class Tracker:
    unit = "m"
    def __init__(self, start): self.pos, self.log = start, []
    def move(self, d):
        self.pos = self.pos + d
        self.log.append(self.pos)
        return self
    def length(self): return jnp.sum(jnp.abs(jnp.diff(jnp.stack([p.sum() for p in self.log]))))
old = Tracker(jnp.zeros(2))
steps = [jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0])]
---
new = Tracker(old.pos * 0 + 1)
for s in steps:
    old.move(s)
    new.move(-s).move(s / 2)
lengths = {"old": old.length(), "new": new.length()}
same = type(old) is Tracker
label = f"{lengths['old']:.1f}{old.unit} {lengths['new']:.1f}{new.unit}"
old.log = old.log[-3:]
print(label, same, len(old.log), hasattr(new, "speed"))
isinstance(old, Tracker), new.pos
---
class Tracker(Tracker):
    unit = "km"
    def move(self, d): return super().move(d * 10)
---
Tracker.length = lambda self: jnp.float32(len(self.log))
---
old.__class__ = Tracker; steps = steps[:1]; Tracker.speed = 3

### hb-maximum-likelihood-bfgs-standard-errors tolerance=2e-2
from jax.scipy.optimize import minimize
from jax.scipy import stats, special, linalg
obs = jnp.array([0.2, 1.1, 0.7, 2.5, 0.9, 1.4])
def nll(theta):
    return -stats.norm.logpdf(jnp.log(obs), theta[0], jnp.exp(theta[1])).sum()
theta0, trace = jnp.zeros(2), []
tol = 1e-3
---
res = minimize(nll, theta0, method="BFGS", tol=tol)
best, ok = res.x, res.fun < nll(theta0) + 1
middle, width = jnp.exp(res.x)
del res
hess = jax.hessian(nll)(best)
cov = linalg.inv(hess)
se = jnp.sqrt(jnp.diag(cov))
z = best / se
p = 2 * special.ndtr(-jnp.abs(z))
entropy = special.entr(p).sum()
trace.append(nll(best))
ci = stats.norm.ppf(jnp.array([0.05, 0.95]), loc=best[0], scale=se[0])
print(f"{middle:.1f} {width:.1f}", ok.dtype, (ci[0] < best[0]).item())
p.shape, entropy >= 0, len(trace)
---
obs = obs * 10
---
theta0 = theta0 + 0.25
---
def nll(theta): return jnp.sum((theta - 1) ** 2)

### hb-attention-einsum-with-masks-and-labels
B, T, H, D = 2, 4, 2, 3
keys = jax.random.split(jax.random.PRNGKey(1), 4)
x = jax.random.normal(keys[0], (B, T, H * D))
Wq, Wk, Wv = (jax.random.normal(k, (H * D, H, D)) * 0.3 for k in keys[1:])
lengths, causal = [4, 2], True
cache = []
---
q, k, v = (jnp.einsum("btd,dhk->bthk", x, W) for W in (Wq, Wk, Wv))
scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(D)
mask = jnp.arange(T)[None] < jnp.array(lengths)[:, None]
mask = mask[:, None, None, :]
if causal:
    mask = mask & jnp.tril(jnp.ones((T, T), bool))
attn = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
out = jnp.einsum("bhqk,bkhd->bqhd", attn, v).reshape(B, T, -1)
entropy = -jnp.sum(attn * jnp.log(attn + 1e-9), axis=-1).mean((0, 2))
cache.append(out[:, -1])
cache = cache[-2:]
focus = {f"head{h}": int(attn[0, h, -1].argmax()) for h in range(H)}
print(out.shape, len(cache), sorted(focus), attn.sum(-1).round(3).min())
entropy
---
causal = False
---
lengths = jnp.array([1, 3]); x = x.astype(jnp.bfloat16)
---
T = 3; x = x[:, :T]; cache = []

### hb-watched-scoreboard-shared-with-pool watched
scores = {"a": [], "b": []}
lock_free = {"done": 0}
class Player:
    def __init__(self, name, skill): self.name, self.skill, self.rating = name, skill, jnp.float32(1000)
    def __repr__(self): return f"{self.name}:{self.rating:.0f}"
players = [Player("a", 0.3), Player("b", 0.6)]
k_factor = 32
results = [1, 0, 1, 1]
---
pa, pb = players
for r in results:
    expected = 1 / (1 + 10 ** ((pb.rating - pa.rating) / 400))
    pa.rating = pa.rating + k_factor * (r - expected)
    pb.rating = pb.rating - k_factor * (r - expected)
    scores[pa.name].append(pa.rating)
    scores[pb.name].append(pb.rating)
    lock_free["done"] += 1
with ThreadPoolExecutor(2) as ex:
    means = dict(zip(scores, ex.map(lambda v: float(np.mean(v[-4:])), scores.values())))
lead = jnp.stack(scores["a"][-4:]) - jnp.stack(scores["b"][-4:])
players.sort(key=lambda p: -p.rating)
print(players, lock_free["done"], {k: round(v) for k, v in means.items()})
lead.max()
---
results = [0, 0, 0]
---
k_factor = 16.0; scores["a"].clear()
---
players[0].rating = jnp.bfloat16(1000)

### hb-watched-model-object-updated-in-steps watched
class Net:
    def __init__(self, sizes, key):
        self.params = {}
        for i, (m, n) in enumerate(itertools.pairwise(sizes)):
            key, sub = jax.random.split(key)
            self.params[f"w{i}"] = jax.random.normal(sub, (m, n)) * 0.5
        self.steps, self.losses, self.frozen = 0, collections.deque(maxlen=3), set()
    def forward(self, params, x):
        for w in params.values(): x = jnp.tanh(x @ w)
        return x
    def fit(self, x, y, lr, n):
        for _ in range(n):
            loss, g = jax.value_and_grad(lambda p: jnp.mean((self.forward(p, x) - y) ** 2))(self.params)
            for name in self.params.keys() - self.frozen:
                self.params[name] -= lr * g[name]
            self.steps += 1
            self.losses.append(loss)
        return self
net = Net([2, 3, 1], jax.random.key(2))
x = jnp.array([[0.0, 1.0], [1.0, 0.0]]); y = jnp.array([[0.5], [-0.5]])
lr = 0.2
---
before = dict(net.params)
net.fit(x, y, lr, 2)
moved = {k: float(jnp.abs(net.params[k] - before[k]).max()) > 0 for k in sorted(before)}
pred = net.forward(net.params, x)
improving = net.losses[-1] < net.losses[0]
print(net.steps, moved, len(net.losses), improving)
pred.shape, net.params["w0"] is before["w0"]
---
net.frozen.add("w0")
---
lr = jnp.float32(0.1); net.losses.clear()
---
net.params["w2"] = jnp.ones((1, 1)); net.frozen = set()

### hb-checkpoint-class-validates-then-restores
class Checkpointer:
    def __init__(self, folder, keep=2):
        self.folder, self.keep = Path(folder), keep
        self.folder.mkdir(exist_ok=True)
    def steps(self): return sorted(int(p.stem[2:]) for p in self.folder.glob("s-*.npz"))
    def save(self, step, tree):
        leaves = {jax.tree_util.keystr(k): np.asarray(v) for k, v in jax.tree.leaves_with_path(tree)}
        np.savez(self.folder / f"s-{step}.npz", **leaves)
        for s in self.steps()[:-self.keep]:
            (self.folder / f"s-{s}.npz").unlink()
    def restore(self, like):
        with np.load(self.folder / f"s-{self.steps()[-1]}.npz") as z:
            def pick(path, leaf):
                got = z[jax.tree_util.keystr(path)]
                if got.shape != jnp.shape(leaf):
                    raise ValueError(f"{jax.tree_util.keystr(path)}: {got.shape} is not {jnp.shape(leaf)}")
                return jnp.asarray(got, dtype=jnp.result_type(leaf))
            return jax.tree_util.tree_map_with_path(pick, like)
ck = Checkpointer("ck")
state = {"layers": [jnp.ones((2, 2)), jnp.zeros(2)], "mu": {"a": jnp.float16(1)}, "n": 0}
template = jax.tree.map(jnp.zeros_like, state)
---
state["layers"] = [l * 1.5 + 0.5 for l in state["layers"]]
state["n"] += 1
ck.save(state["n"], state)
restored = ck.restore(template)
equal = jax.tree.map(lambda a, b: bool(jnp.all(a == b)), state, restored)
gaps = jax.tree.map(lambda a, b: jnp.abs(a - b).max() if jnp.ndim(a) else jnp.float32(0), state, template)
drift = jax.tree.reduce(jnp.maximum, gaps)
print(ck.steps(), jax.tree.all(equal), restored["mu"]["a"].dtype, type(restored["n"]).__name__)
drift
---
ck.keep = 1
---
template["layers"][1] = jnp.zeros(3)
---
template["layers"][1] = jnp.zeros(2, jnp.bfloat16); state["mu"]["a"] = jnp.float16(7)

""",
)
