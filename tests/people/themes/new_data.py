"""Data beside JAX: files, tables, databases, queues, threads, NumPy and dtypes, scikit-learn, plain Python around arrays."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, pathlib, json, math, collections, itertools, os, io, csv, sys, random, time, queue, threading, tempfile
import jax, jax.numpy as jnp, numpy as np
A = jnp.arange(12.0).reshape(4, 3)
"""

CELLS = written(
    PRELUDE,
    r"""
### nda-npz-checkpoint-with-treedef
params = {"l1": {"w": A, "b": jnp.zeros(3)}, "l2": [jnp.ones(3), jnp.float32(2.0)]}
def save(path, tree):
    leaves, treedef = jax.tree.flatten(tree)
    np.savez(path, **{f"a{i}": l for i, l in enumerate(leaves)})
    return treedef
def load(path, treedef):
    with np.load(path) as z:
        return jax.tree.unflatten(treedef, [jnp.asarray(z[f"a{i}"]) for i in range(len(z.files))])
---
treedef = save("ck.npz", params)
params = jax.tree.map(lambda a: a + 1, params)
old = load("ck.npz", treedef)
delta = jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()), params, old)
print(treedef.num_leaves, max(jax.tree.leaves(delta)))
---
params["l2"].append(jnp.ones((2, 2)))
---
params = {"only": A}

### nda-csv-metrics-dictwriter-resume
log_path = pathlib.Path("metrics.csv")
w, epoch = jnp.zeros(3), 0
---
rows = []
for _ in range(2):
    loss, g = jax.value_and_grad(lambda w: jnp.mean((A @ w - 1) ** 2))(w)
    w = w - 0.01 * g
    rows.append({"epoch": epoch, "loss": f"{loss:.1e}", "wnorm": round(float(jnp.linalg.norm(w)), 1)})
    epoch += 1
new_file = not log_path.exists()
with log_path.open("a", newline="") as f:
    wr = csv.DictWriter(f, fieldnames=rows[0].keys())
    if new_file:
        wr.writeheader()
    wr.writerows(rows)
with log_path.open() as f:
    n = sum(1 for _ in f)
n, epoch
---
log_path.unlink()
---
epoch = 100

### nda-json-encoder-for-arrays
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (jax.Array, np.ndarray)):
            return {"__nd__": o.tolist(), "dtype": str(o.dtype)}
        if isinstance(o, np.generic):
            return o.item()
        return super().default(o)
def dec(d):
    return jnp.asarray(d["__nd__"], d["dtype"]) if "__nd__" in d else d
run = {"w": A[0], "n": np.int64(3), "mask": A[0] > 1}
---
run["w"] = jnp.sqrt(run["w"])
text = json.dumps(run, cls=Enc, sort_keys=True)
pathlib.Path("run.json").write_text(text)
back = json.loads(pathlib.Path("run.json").read_text(), object_hook=dec)
back["w"].dtype, bool((back["mask"] == run["mask"]).all()), len(text)
---
run["extra"] = {"deep": [A.astype(jnp.int8)]}
---
run["n"] = jnp.int32(9)

### nda-sqlite-experiment-table
import sqlite3
con = sqlite3.connect("exp.db")
con.execute("create table runs (id integer primary key, lr real, loss real, w blob)")
def fit(lr):
    w = jnp.zeros(3)
    for _ in range(3):
        w = w - lr * jax.grad(lambda w: jnp.mean((A @ w - 1) ** 2))(w)
    return w, jnp.mean((A @ w - 1) ** 2)
lrs = [0.001, 0.01]
---
for lr in lrs:
    w, loss = fit(lr)
    con.execute("insert into runs (lr, loss, w) values (?, ?, ?)", (lr, round(float(loss), 3), np.asarray(w).round(3).tobytes()))
con.commit()
(n,), (best_lr, blob) = con.execute("select count(*) from runs").fetchone(), con.execute("select lr, w from runs order by loss limit 1").fetchone()
w_best = jnp.asarray(np.frombuffer(blob, np.float32))
print(n, best_lr)
pred = A @ w_best
---
lrs = [0.005]

### nda-h5-groups-append needs=h5py
import h5py
state = {"w": A, "m": A * 0}
step = 0
---
state = {"w": state["w"] * 0.9, "m": 0.5 * state["m"] + state["w"]}
with h5py.File("log.h5", "a") as f:
    grp = f.require_group("steps")
    g = grp.create_group(f"{step:04d}")
    for k, v in state.items():
        g.create_dataset(k, data=v)
    g.attrs["norm"] = float(jnp.linalg.norm(state["w"]))
    names = sorted(grp)
    trail = [grp[n].attrs["norm"] for n in names]
step += 1
print(names, [f"{t:.3f}" for t in trail])
---
step += 10

### nda-tempdir-shards-and-glob
---
with tempfile.TemporaryDirectory() as d:
    root = pathlib.Path(d)
    for i, shard in enumerate(np.array_split(np.asarray(A), 3)):
        np.save(root / f"shard-{i:02d}.npy", shard)
    files = sorted(root.glob("shard-*.npy"))
    parts = [jnp.asarray(np.load(p)) for p in files]
    sizes = {p.stem: p.stat().st_size > 0 for p in files}
    names = [p.name for p in files]
    del files
    joined = jnp.concatenate(parts)
gone = not root.exists()
del d, root, p
names, gone, bool(jnp.array_equal(joined, A)), sizes
---
A = A[:2] * 2

### nda-pandas-results-pivot needs=pandas
import pandas as pd
frame = pd.DataFrame({"model": list("aabb"), "seed": [0, 1, 0, 1]})
def score(model, seed):
    k = jax.random.key(seed)
    return jax.random.normal(k, (5,)).mean() + (1.0 if model == "b" else 0.0)
---
frame["score"] = [float(score(m, s)) for m, s in zip(frame["model"], frame["seed"])]
table = frame.pivot(index="seed", columns="model", values="score")
gap = jnp.asarray((table["b"] - table["a"]).to_numpy())
best = frame.loc[frame["score"].idxmax(), "model"]
print(table.shape, best, f"{gap.mean():.3f}")
frame.groupby("model")["score"].agg(["mean", "count"]).round(3)
---
frame = pd.concat([frame, pd.DataFrame({"model": ["a", "b"], "seed": [2, 2]})], ignore_index=True)

### nda-pandas-feature-engineering needs=pandas
import pandas as pd
df = pd.DataFrame({"age": [22.0, np.nan, 35.0, 58.0], "fare": [7.25, 71.3, 8.05, 26.0], "sex": ["m", "f", "f", "m"], "y": [0, 1, 1, 0]})
---
feats = df.assign(age=df["age"].fillna(df["age"].median()), sex=(df["sex"] == "f").astype(int), lf=np.log1p(df["fare"]))[["age", "lf", "sex"]]
Xn = jnp.asarray(((feats - feats.mean()) / feats.std()).values, dtype=jnp.float32)
yn = jnp.asarray(df["y"].values)
w = jnp.zeros(Xn.shape[1])
for _ in range(5):
    w -= 0.5 * jax.grad(lambda w: jnp.mean(jnp.logaddexp(0, -(2 * yn - 1) * (Xn @ w))))(w)
df["p"] = np.asarray(jax.nn.sigmoid(Xn @ w)).round(3)
importance = pd.Series(np.asarray(jnp.abs(w)), index=feats.columns).sort_values(ascending=False)
importance.index[0], df["p"].gt(0.5).astype(int).eq(df["y"]).mean(), Xn.dtype
---
df.loc[1, "age"] = 3.0
---
df = df.iloc[:3].copy()

### nda-sklearn-baseline-compare needs=sklearn
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import train_test_split
Xs = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
ys = Xs @ np.array([1.0, 2.0, -1.0], np.float32) + 0.5
scores = {}
---
Xtr, Xte, ytr, yte = train_test_split(Xs, ys, test_size=0.3, random_state=1)
ridge = Ridge(alpha=1.0).fit(Xtr, ytr)
scores["sk"] = float(mean_squared_error(yte, ridge.predict(Xte)))
Xc, yc = Xtr - Xtr.mean(0), ytr - ytr.mean()
w = jnp.linalg.solve(Xc.T @ Xc + jnp.eye(3), Xc.T @ yc)
b = ytr.mean() - Xtr.mean(0) @ w
scores["jax"] = float(jnp.mean((Xte @ w + b - yte) ** 2))
agree = math.isclose(scores["sk"], scores["jax"], rel_tol=1e-2)
agree, type(b).__name__, b.dtype
---
ys = ys + Xs[:, 0] ** 2

### nda-x64-accumulate x64
total = jnp.zeros(())
parts = [np.float64(0.1)] * 10
---
for p in parts:
    total = total + p
err = abs(float(total) - 10 * 0.1 * (len(parts) / 10))
lo = jnp.asarray(total, jnp.float32)
mixed = lo + np.float64(1e-9)
ints = jnp.arange(3) * 2**40
total.dtype, lo.dtype, mixed.dtype, ints, err < 1e-9
---
parts = [1e-12, np.float32(0.5), 3]

### nda-dtype-promotion-table
kinds = [jnp.int8(1), jnp.uint8(1), jnp.bfloat16(1), jnp.float32(1), 1, 1.0, True, np.int64(1), np.float64(1)]
---
table = {}
for i, a in enumerate(kinds):
    for j, b in enumerate(kinds):
        if i <= j:
            r = a + b
            key = f"{i}+{j}"
            table[key] = (type(r).__name__, str(jnp.result_type(r)), getattr(r, "weak_type", None))
odd = sorted(k for k, v in table.items() if v[0] not in ("ArrayImpl",))
odd, table["0+4"], table["2+5"]
---
kinds = kinds[::-1]

### nda-int-bits-and-hash
vals = jnp.array([1, 255, 256, -1], jnp.int32)
salt = 7
---
u = lax_u = vals.astype(jnp.uint32)
h = (u ^ jnp.uint32(salt)) * jnp.uint32(2654435761)
h = h ^ (h >> 15)
bytes_ = np.asarray(vals.astype(jnp.uint8)).tobytes()
bits = jax.lax.bitcast_convert_type(jnp.float32(1.5), jnp.int32)
pop = jax.lax.population_count(u)
hex(int(bits)), bytes_, [int(v) & 0xFF for v in h], pop
---
salt = 2**31
---
vals = vals.at[0].set(jnp.iinfo(jnp.int32).min)

### nda-numpy-buffer-reused-inplace
buf = np.zeros((2, 3), np.float32)
acc = jnp.zeros(3)
ptrs = []
---
for i in range(3):
    buf[:] = i
    buf[i % 2] += 0.5
    batch = jnp.array(buf)
    acc = acc + batch.sum(0)
    ptrs.append(batch)
stacked = jnp.stack(ptrs[-3:])
buf.fill(-1)
acc, stacked[:, 0, 0], len(ptrs)
---
buf = np.ones((2, 3), np.float64)

### nda-structured-records-to-columns
rec = np.array([(1, 2.5, b"ab"), (2, -1.0, b"c")], dtype=[("id", "i4"), ("v", "f4"), ("name", "S4")])
---
cols = {n: rec[n] for n in rec.dtype.names}
v = jnp.asarray(cols["v"])
rec["v"] = jnp.tanh(v)
order = np.argsort(rec["v"])
names = [n.decode() for n in rec["name"][order]]
tot = v.sum() + rec["v"].sum()
names, type(tot).__name__, rec["id"][order].tolist()
---
rec = np.append(rec, np.array([(9, 0.0, b"zz")], rec.dtype))

### nda-prefetch-with-thread-and-device
def prefetch(it, size=2):
    q, stop = queue.Queue(size), object()
    def run():
        for item in it:
            q.put(jax.device_put(item))
        q.put(stop)
    t = threading.Thread(target=run, daemon=True)
    t.start()
    while (item := q.get()) is not stop:
        yield item
    t.join()
def data(n):
    rng = np.random.default_rng(n)
    for _ in range(n):
        yield {"x": rng.normal(size=(4, 3)).astype(np.float32), "y": rng.integers(0, 2, 4)}
w, n = jnp.zeros(3), 3
---
seen = 0
for b in prefetch(data(n)):
    w = w - 0.1 * jax.grad(lambda w: jnp.mean((b["x"] @ w - b["y"]) ** 2))(w)
    seen += len(b["y"])
print(seen, b["y"].dtype)
w
---
n = 1

### nda-deque-window-stats
win = collections.deque(maxlen=3)
stream = itertools.cycle([1.0, -2.0, 5.0, 0.5])
alerts = []
---
for _ in range(4):
    v = next(stream)
    win.append(jnp.float32(v))
    arr = jnp.stack(list(win))
    z = (arr[-1] - arr.mean()) / (arr.std() + 1e-6)
    if abs(z) > 1.2:
        alerts.append(f"{v} z={z:.2f}")
print(alerts[-1:], len(win))
arr
---
alerts.clear(); win.clear()

### nda-heap-scheduler-of-tasks
import heapq
@dataclasses.dataclass(order=True)
class Task:
    prio: float
    name: str = dataclasses.field(compare=False)
    data: typing.Any = dataclasses.field(compare=False, default=None)
heap = [Task(2.0, "b", A[0]), Task(1.0, "a", A[1])]
heapq.heapify(heap)
finished = {}
---
while len(heap) > 1:
    t = heapq.heappop(heap)
    out = jnp.sum(t.data ** 2)
    finished[t.name] = out
    if t.prio < 3:
        heapq.heappush(heap, Task(t.prio + 1.5, t.name + "'", t.data / 2))
    print(t.name, f"{out:.2f}")
sorted(finished)
---
heapq.heappush(heap, Task(0.0, "new", jnp.ones(3)))

### nda-ragged-sequences-padded
seqs = [[1, 2, 3], [4], [5, 6]]
emb = jax.random.normal(jax.random.key(0), (10, 4))
---
L = max(map(len, seqs))
ids = np.zeros((len(seqs), L), np.int32)
for i, s in enumerate(seqs):
    ids[i, :len(s)] = s
mask = jnp.asarray(ids > 0)
pooled = jnp.where(mask[..., None], emb[ids], 0).sum(1) / mask.sum(1, keepdims=True)
sim = pooled @ pooled.T
nearest = [int(jnp.argsort(-sim[i])[1]) for i in range(len(seqs))]
nearest, ids.tolist()[0], pooled.dtype
---
seqs.append([7, 8, 9, 1])
---
seqs = [s[:2] for s in seqs]

### nda-tokenise-and-batch-text
corpus = "the cat sat on the mat the cat".split()
vocab = {w: i for i, (w, _) in enumerate(collections.Counter(corpus).most_common())}
E = jax.random.normal(jax.random.key(2), (len(vocab), 3)) * 0.1
---
pairs = np.array([(vocab[a], vocab[b]) for a, b in zip(corpus, corpus[1:])])
def nll(E):
    logits = E[pairs[:, 0]] @ E.T
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(pairs)), pairs[:, 1]])
for epoch in range(2):
    loss, g = jax.value_and_grad(nll)(E)
    E = E - 1.0 * g
inv = {i: w for w, i in vocab.items()}
follow = inv[int((E[vocab["the"]] @ E.T).argmax())]
print(f"{loss:.3f} the -> {follow}")
---
corpus += ["the", "dog"]
vocab["dog"] = len(vocab)
E = jnp.concatenate([E, jnp.ones((1, 3))])

### nda-random-seeds-everywhere
def seed_everything(s):
    random.seed(s)
    np.random.seed(s)
    os.environ["RUN_SEED"] = str(s)
    return jax.random.PRNGKey(s)
s = 3
---
key = seed_everything(s)
idx = random.sample(range(4), 2)
noise = np.random.randn(3).astype(np.float32)
y = A[jnp.array(idx)] + noise + jax.random.normal(key, (3,))
env = int(os.environ["RUN_SEED"])
after = random.random() < 1, np.random.rand() < 1
idx, env, y.shape
---
s = 11

### nda-argsort-topk-and-strings
names = np.array(["ant", "bee", "cat", "dog"])
logits = A @ jnp.array([0.3, -1.0, 0.5])
k = 2
---
vals, idx = jax.lax.top_k(logits, k)
chosen = names[idx]
table = "\n".join(f"{n:<5}|{'#' * int(jax.nn.softmax(vals)[i] * 10)}" for i, n in enumerate(chosen))
print(table)
lookup = dict(zip(chosen.tolist(), vals.tolist()))
max(lookup, key=lookup.get), chosen.dtype
---
logits = -logits
---
k = 3

### nda-image-normalise-uint8
imgs = (np.arange(2 * 4 * 4 * 3) % 256).astype(np.uint8).reshape(2, 4, 4, 3)
mean, std = np.array([0.4, 0.5, 0.6]), np.array([0.2, 0.2, 0.3])
flip = True
---
batch = jnp.asarray(imgs, dtype=jnp.float32) / 255.0
batch = (batch - mean) / std
if flip:
    batch = batch[:, :, ::-1]
small = jax.image.resize(batch, (2, 2, 2, 3), "bilinear")
back = np.clip(np.asarray(small * std + mean) * 255, 0, 255).astype(np.uint8)
batch.dtype, back.dtype, int(back.sum()), small.mean(axis=(0, 1, 2))
---
flip = False
---
imgs = imgs[:, :2]

### nda-dates-and-lags
days = np.arange("2024-01-01", "2024-01-09", dtype="datetime64[D]")
series = jnp.sin(jnp.arange(8.0))
lag = 2
---
X = jnp.stack([series[i:len(series) - lag + i] for i in range(lag)], axis=1)
y = series[lag:]
coef, res, rank, sv = jnp.linalg.lstsq(X, y)
stamp = days[lag:][int(jnp.argmax(y))]
weekday = (days.astype("int64") - 4) % 7
weekend = y[np.isin(weekday[lag:], [5, 6])].mean()
str(stamp), int(rank), round(float(weekend), 3)
---
lag = 3

### nda-memo-to-disk-by-hash
import hashlib
cache_dir = pathlib.Path("cache"); cache_dir.mkdir()
misses = []
def memo(fn):
    @functools.wraps(fn)
    def run(arr, **kw):
        tag = hashlib.sha1(np.asarray(arr).tobytes() + repr(sorted(kw.items())).encode()).hexdigest()[:8]
        path = cache_dir / f"{fn.__name__}-{tag}.npy"
        if path.exists():
            return jnp.asarray(np.load(path))
        misses.append(tag)
        out = fn(arr, **kw)
        np.save(path, out)
        return out
    return run
@memo
def gram(arr, *, reg=0.0):
    return arr @ arr.T + reg * jnp.eye(len(arr))
reg = 0.1
---
G = gram(A, reg=reg)
G2 = gram(A, reg=reg)
ev = jnp.linalg.eigvalsh(G)
print(len(misses), len(list(cache_dir.iterdir())), bool(jnp.array_equal(G, G2)))
ev[-1]
---
reg = 0.2
---
A = A + 1

### nda-bytes-protocol-pack
import struct
def pack(arr):
    a = np.asarray(arr)
    return struct.pack("<I", a.ndim) + struct.pack(f"<{a.ndim}I", *a.shape) + a.astype("<f4").tobytes()
def unpack(b):
    (nd,) = struct.unpack_from("<I", b)
    shape = struct.unpack_from(f"<{nd}I", b, 4)
    return np.frombuffer(b, "<f4", offset=4 + 4 * nd).reshape(shape)
---
msg = pack(jnp.sqrt(A))
got = unpack(msg)
y = jnp.asarray(got) ** 2
ok = bool(jnp.allclose(y, A, atol=1e-5))
ok, len(msg), got.flags.writeable
---
A = A.T[None]

### nda-stringio-table-and-redirect
import contextlib
def report(rows):
    for name, arr in rows.items():
        print(f"{name:>6}: mean={arr.mean():+.3f} shape={arr.shape}")
rows = {"A": A, "sin": jnp.sin(A)}
---
buf = io.StringIO()
with contextlib.redirect_stdout(buf):
    report(rows)
text = buf.getvalue()
lines = text.splitlines()
del buf
print(len(lines), lines[0].strip())
rows["cos"] = jnp.cos(A) * len(lines)
---
rows = {"B": A[:1]}

### nda-complex-signal-filter
t = np.linspace(0, 1, 16, endpoint=False)
sig = jnp.asarray(np.sin(2 * np.pi * 2 * t) + 0.5 * np.sin(2 * np.pi * 6 * t), jnp.float32)
cut = 4
---
spec = jnp.fft.rfft(sig)
freqs = np.fft.rfftfreq(len(sig), d=1 / 16)
spec = jnp.where(freqs <= cut, spec, 0)
clean = jnp.fft.irfft(spec, n=len(sig))
peak = freqs[int(jnp.abs(spec).argmax())]
energy = jnp.vdot(spec, spec)
print(f"peak {peak} Hz, {energy.real:.2f}")
spec.dtype, energy.dtype, type(complex(energy)).__name__
---
cut = 8

### nda-sparse-coo-by-hand
edges = [(0, 1), (1, 2), (2, 0), (3, 1)]
feat = A
---
src, dst = map(np.array, zip(*edges))
n = feat.shape[0]
deg = jnp.zeros(n).at[dst].add(1.0)
agg = jnp.zeros_like(feat).at[dst].add(feat[src]) / jnp.maximum(deg, 1)[:, None]
seg = jax.ops.segment_max(feat[src], dst, num_segments=n)
isolated = [i for i, d in enumerate(deg) if d == 0]
feat = jnp.tanh(agg + 0.1 * feat)
isolated, bool(jnp.isneginf(seg[3]).all()), feat.sum()
---
edges.append((0, 3))
---
edges = edges[1:]

### nda-float-text-roundtrip
w = jnp.array([0.1, 1e-8, 12345.678, -0.0])
---
txt = " ".join(repr(float(v)) for v in w)
again = jnp.array([float(s) for s in txt.split()])
np.savetxt("w.txt", w, fmt="%.6e")
loaded = jnp.asarray(np.loadtxt("w.txt"))
np.set_printoptions(precision=2)
shown = str(np.asarray(w))
np.set_printoptions(precision=8)
bool(jnp.all(again == w)), loaded.dtype, shown, f"{w[2]:,.1f}"
---
w = w * 3
""",
)
