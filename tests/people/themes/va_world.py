"""Notebooks that work with the world around arrays: files and frames, threads, settings, text, devices and meshes."""

from ..cell import written

PRELUDE = """
import argparse, collections, configparser, copy, csv, dataclasses, datetime as dt, functools, glob, gzip, hashlib, io
import itertools, json, logging, math, operator, os, pathlib, pickle, random, re, shutil, statistics, string, sys
import tempfile, textwrap, threading, time, types, zipfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
"""

CELLS = written(
    PRELUDE,
    r"""
### va-npz-savez-compressed-lazy-members-and-allow-pickle-object
w = {"enc": jnp.ones((2, 2)), "dec": jnp.arange(3.0)}
---
np.savez_compressed("ck.npz", meta=np.array({"step": 3, "names": sorted(w)}, dtype=object), **w)
with np.load("ck.npz", allow_pickle=True) as z:
    meta = z["meta"].item()
    back = {n: jnp.asarray(z[n]) * (1 + i) for i, n in enumerate(meta["names"])}
    files = z.files
diff = {n: jnp.abs(back[n] - w[n]).max() for n in w}
w["enc"] = w["enc"] + back["enc"]
print(files, meta, back["enc"].dtype)
diff["enc"]
---
w["extra"] = jnp.zeros(1)
---
Path("ck.npz").unlink()

### va-resume-or-start-with-config-fingerprint-folder
cfg = {"lr": 0.1, "sizes": [2, 1], "seed": 0}
def init(cfg): return {"w": jax.random.normal(jax.random.key(cfg["seed"]), tuple(cfg["sizes"])), "step": 0}
X = jnp.array([[1.0, 2.0], [0.5, -1.0]])
---
tag = hashlib.md5(json.dumps(cfg, sort_keys=True).encode()).hexdigest()[:6]
run = Path("runs") / tag
if (run / "state.pkl").exists():
    state = pickle.loads((run / "state.pkl").read_bytes())
    resumed = True
else:
    run.mkdir(parents=True)
    (run / "cfg.json").write_text(json.dumps(cfg))
    state, resumed = init(cfg), False
for _ in range(2):
    g = jax.grad(lambda w: jnp.mean((X @ w) ** 2))(state["w"])
    state = {"w": state["w"] - cfg["lr"] * g, "step": state["step"] + 1}
(run / "state.pkl").write_bytes(pickle.dumps(jax.device_get(state)))
print(resumed, state["step"], len(list(Path("runs").iterdir())), type(state["w"]).__name__)
state["w"]
---
cfg["lr"] = 0.2
---
shutil.rmtree("runs")

### va-csv-sniffed-typed-columns-to-arrays-and-back-with-dictwriter
Path("d.csv").write_text("id;x;y;ok\n1;0.5;2;True\n2;1.5;;False\n3;-1;4;True\n")
---
with open("d.csv", newline="") as fh:
    dialect = csv.Sniffer().sniff(fh.read(40)); fh.seek(0)
    rows = list(csv.DictReader(fh, dialect=dialect))
col = lambda n, f: [f(r[n]) if r[n] else math.nan for r in rows]
x, y = jnp.array(col("x", float)), jnp.array(col("y", float))
m = jnp.isfinite(y) & jnp.array([r["ok"] == "True" for r in rows])
slope = jnp.sum(jnp.where(m, x * y, 0)) / jnp.sum(jnp.where(m, x * x, 0))
for r, v in zip(rows, slope * x): r["pred"] = f"{v:.3f}"
with open("out.csv", "w", newline="") as fh:
    wr = csv.DictWriter(fh, fieldnames=[*rows[0]], extrasaction="ignore"); wr.writeheader(); wr.writerows(rows)
print(dialect.delimiter, Path("out.csv").read_text().splitlines()[1], m.dtype)
slope
---
with open("d.csv", "a") as fh: fh.write("4;2;1;True\n")
---
Path("d.csv").write_text(Path("d.csv").read_text().replace("-1", "3"))

### va-h5py-resizable-log-with-attrs-and-group-visit needs=h5py
import h5py
w = jnp.zeros(3)
def visit(names): return lambda n, o: names.append((n, getattr(o, "shape", None)))
---
with h5py.File("log.h5", "a") as f:
    ds = f.require_dataset("train/w", (0, 3), "f4", maxshape=(None, 3)) if "train" not in f else f["train/w"]
    for k in range(3):
        w = w + jnp.arange(3.0) / (k + 1)
        ds.resize(ds.shape[0] + 1, axis=0)
        ds[-1] = w
        ds.attrs["last"] = float(w.sum())
    names = []
    f.visititems(visit(names))
    mean = jnp.asarray(ds[:]).mean(0)
    n = len(ds)
print(names, n % 3)
mean - w
---
w = jnp.ones(3)
---
os.remove("log.h5")

### va-pandas-rolling-apply-jitted-kernel-and-assign-chain needs=pandas
import pandas as pd
df = pd.DataFrame({"t": pd.date_range("2024-01-01", periods=8, freq="6h"), "v": np.arange(8.0) ** 1.5,
                   "s": list("aabbaabb")})
@jax.jit
def kernel(w): return jnp.sum(w * jnp.exp(-jnp.arange(w.shape[0])[::-1] / 2.0))
---
roll = df["v"].rolling(3).apply(lambda w: float(kernel(jnp.asarray(w))), raw=True)
out = (df.assign(k=roll, z=lambda d: (d.v - d.v.mean()) / d.v.std()).dropna()
         .groupby("s", sort=True).agg(k=("k", "mean"), n=("z", "size")))
arr = jnp.asarray(out["k"].to_numpy())
daily = df.set_index("t").v.resample("1D").sum()
top = df.loc[df.v.idxmax(), "s"]
print(out.round(2), daily.tolist()[0], top, sep="\n")
arr / arr.sum()
---
df.loc[2, "v"] = 50.0
---
df = df[df.s == "a"].reset_index(drop=True)

### va-pandas-apply-rowwise-writes-jax-scalars-into-object-column needs=pandas
import pandas as pd
df = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.5, 0.1, 0.9]}, index=["x", "y", "z"])
---
df["vec"] = [jnp.array([r.a, r.b]) for r in df.itertuples()]
df["norm"] = df["vec"].map(jnp.linalg.norm)
df["flag"] = df["norm"].astype(float) > 1.5
picked = df.loc[df.flag, "vec"]
total = sum(picked)
best = df["norm"].map(float).idxmax()
print(df.dtypes.map(str).to_dict(), type(df.at["x", "norm"]).__name__, best, len(picked))
total, df.at[best, "vec"]
---
df.at["x", "a"] = 9.0
---
df = df.drop(index="y")

### va-pandas-crosstab-melt-and-merge-asof-of-signal-events needs=pandas
import pandas as pd
sig = pd.DataFrame({"t": np.arange(6) * 1.0, "x": [0.0, 1, 4, 2, 5, 3]})
ev = pd.DataFrame({"t": [0.4, 2.2, 4.9], "kind": ["p", "q", "p"]})
---
m = pd.merge_asof(ev, sig, on="t", direction="backward")
feats = jnp.tanh(jnp.asarray(m["x"].values, jnp.float32))
m["f"] = np.asarray(feats)
long = m.melt(id_vars=["t", "kind"], value_vars=["x", "f"])
ct = pd.crosstab(long.kind, long.variable, values=long.value, aggfunc="sum")
W = jnp.asarray(ct.to_numpy(dtype=np.float32))
u, s, vt = jnp.linalg.svd(W)
print(ct.round(3).to_dict(), m.f.dtype, long.shape)
s
---
ev.loc[1, "kind"] = "p"
---
sig["x"] *= 2

### va-sklearn-column-pipeline-then-jax-head-with-cv-splits needs=sklearn
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import StandardScaler, PolynomialFeatures
from sklearn.pipeline import make_pipeline
from sklearn.linear_model import Ridge
rng = np.random.default_rng(0); X = rng.normal(size=(24, 2)); y = X[:, 0] * X[:, 1] + 0.5 * X[:, 0]
lam = 0.1
---
pipe = make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler())
scores = []
for tr, te in KFold(3, shuffle=True, random_state=1).split(X):
    A, B = pipe.fit(X[tr]).transform(X[tr]), pipe.transform(X[te])
    w = jnp.linalg.solve(A.T @ A + lam * jnp.eye(A.shape[1]), A.T @ y[tr])
    scores.append(jnp.mean((B @ w - y[te]) ** 2))
ref = cross_val_predict(Ridge(alpha=lam), X, y, cv=3)
names = pipe[0].get_feature_names_out(["a", "b"])
print(list(names), A.dtype, w.dtype, max(scores) < ((ref - y) ** 2).mean())
jnp.stack(scores)
---
lam = 1
---
X[:, 1] = 0.0

### va-sklearn-custom-transformer-holds-jitted-function-and-clones needs=sklearn
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted
class RFF(BaseEstimator, TransformerMixin):
    def __init__(self, n=4, gamma=1.0, seed=0): self.n, self.gamma, self.seed = n, gamma, seed
    def fit(self, X, y=None):
        k1, k2 = jax.random.split(jax.random.key(self.seed))
        self.W_ = jax.random.normal(k1, (X.shape[1], self.n)) * math.sqrt(2 * self.gamma)
        self.b_ = jax.random.uniform(k2, (self.n,), maxval=2 * jnp.pi)
        return self
    def transform(self, X):
        check_is_fitted(self)
        return jnp.cos(X @ self.W_ + self.b_) * jnp.sqrt(2 / self.n)
X = np.linspace(-1, 1, 6).reshape(3, 2); base = RFF(n=3)
---
ts = [clone(base).set_params(seed=s) for s in range(2)]
F = jnp.concatenate([t.fit_transform(X) for t in ts], 1)
try: clone(base).transform(X)
except Exception as e: note = type(e).__name__
print(ts[1], note, F.shape, ts[0].get_params(), hasattr(base, "W_"))
F @ F.T
---
base.set_params(gamma=0.3)
---
X = X * 2

### va-argparse-subcommands-types-and-config-override-file
ap = argparse.ArgumentParser(prog="t", exit_on_error=False)
ap.add_argument("--lr", type=float, default=0.1); ap.add_argument("-v", action="count", default=0)
sub = ap.add_subparsers(dest="cmd"); tr = sub.add_parser("train")
tr.add_argument("--dims", type=lambda s: tuple(map(int, s.split("x"))))
tr.add_argument("--act", choices=["tanh", "relu"], default="relu")
tr.add_argument("--set", nargs="*", action="extend", default=[])
line = "--lr 0.3 -vv train --dims 3x2 --set wd=0.1 seed=4"
x = jnp.ones(3)
---
args = ap.parse_args(line.split())
extra = dict(kv.split("=") for kv in args.set)
cfg = {**vars(args), **{k: json.loads(v) for k, v in extra.items()}}
cfg.pop("set")
w = jax.random.normal(jax.random.key(cfg.get("seed", 0)), cfg["dims"])
act = {"tanh": jnp.tanh, "relu": jax.nn.relu}[cfg["act"]]
y = act(x @ w) * cfg["lr"] - cfg.get("wd", 0.0) * w.sum(0)
print(sorted(cfg.items(), key=str), args.v)
y
---
line = "train --dims 3x4 --act tanh"
---
line = line.replace("3x4", "3x1") + " --set seed=1"

### va-configparser-ini-sections-with-interpolation-into-dataclasses
Path("c.ini").write_text("[DEFAULT]\nbase=0.5\n[opt]\nlr=%(base)s\nsteps=3\nnesterov=yes\n[data]\nroot=${HOME}/x\n")
@dataclasses.dataclass
class Opt:
    lr: float; steps: int; nesterov: bool
w = jnp.array([1.0, -2.0])
---
cp = configparser.ConfigParser()
read = cp.read("c.ini")
s = cp["opt"]
opt = Opt(s.getfloat("lr"), s.getint("steps"), s.getboolean("nesterov"))
v = jnp.zeros_like(w)
for _ in range(opt.steps):
    look = w + 0.5 * v if opt.nesterov else w
    v = 0.5 * v - opt.lr * 0.2 * jax.grad(lambda p: jnp.sum(p ** 2))(look)
    w = w + v
cp["opt"]["last"] = f"{float(jnp.linalg.norm(w)):.2f}"
buf = io.StringIO(); cp.write(buf)
print(read, opt, buf.getvalue().count("="))
w
---
Path("c.ini").write_text(Path("c.ini").read_text().replace("yes", "off"))
---
w = w * 10

### va-yaml-anchors-merge-keys-build-a-network-spec needs=yaml
import yaml
text = '''
base: &b {act: tanh, scale: 0.5}
layers:
  - {<<: *b, units: 3}
  - {<<: *b, units: 2, act: relu}
seed: 3
'''
x = jnp.ones((2, 4))
---
spec = yaml.safe_load(text)
keys = iter(jax.random.split(jax.random.key(spec["seed"]), len(spec["layers"])))
h = x
for l in spec["layers"]:
    h = getattr(jax.nn, l["act"])(h @ (l["scale"] * jax.random.normal(next(keys), (h.shape[1], l["units"]))))
spec["out"] = np.asarray(h).round(2).tolist()
print(yaml.safe_dump(spec["layers"], sort_keys=True).splitlines()[0], next(keys, "done"))
h
---
text = text.replace("units: 3", "units: 5")
---
x = x[:1]

### va-daemon-metrics-thread-reads-latest-through-lock
class Latest:
    def __init__(self): self._v, self._lock, self.reads = None, threading.Lock(), 0
    def put(self, v):
        with self._lock: self._v = v
    def get(self):
        with self._lock: self.reads += 1; return self._v
latest = Latest(); w = jnp.ones(2)
---
seen = []
for k in range(3):
    w = w * 0.5 + k
    latest.put({"k": k, "w": w})
    th = threading.Thread(target=lambda: seen.append((latest.get()["k"], latest.get()["w"] is w)))
    th.start(); th.join()
print(seen, latest.reads)
latest.get()["w"] - w
---
w = jnp.zeros(3)
---
latest = Latest()

### va-executor-map-chunks-with-initializer-and-thread-local-scale
local = threading.local()
def setup(s): local.scale = s
def job(c): return c[0], jnp.sum(jnp.stack(c[1])) * local.scale
xs = [jnp.full(2, float(i)) for i in range(5)]; scale = 2.0
---
chunks = [(i, xs[i:i + 2]) for i in range(0, len(xs), 2)]
with ThreadPoolExecutor(1, initializer=setup, initargs=(scale,)) as ex:
    parts = dict(ex.map(job, chunks))
    fut = {ex.submit(job, c): c[0] for c in chunks[:2]}
    more = sorted((fut[f], f.result()[1].item()) for f in as_completed(fut))
print(list(parts), more, hasattr(local, "scale"))
sum(parts.values())
---
scale = jnp.float32(0.5)
---
xs.append(jnp.ones(2))

### va-own-package-written-imported-patched-and-put-back
Path("mylib").mkdir(exist_ok=True)
Path("mylib/__init__.py").write_text("from .act import act\nVERSION = 1\nSCALE = 2.0\n")
Path("mylib/act.py").write_text("import jax.numpy as jnp\nfrom . import state\ndef act(x):\n    state.calls += 1\n"
    "    import mylib\n    return jnp.tanh(x) * mylib.SCALE + state.bias\n")
Path("mylib/state.py").write_text("import jax.numpy as jnp\ncalls = 0\nbias = jnp.zeros(2)\n")
import mylib, mylib.state as st
x = jnp.array([0.5, -0.5])
---
a = mylib.act(x)
old, mylib.SCALE = mylib.SCALE, 1.0
try: b = mylib.act(x)
finally: mylib.SCALE = old
st.bias = st.bias + a.mean()
orig = mylib.act
mylib.act = lambda x: orig(x) * 0
try: c = mylib.act(x)
finally: mylib.act = orig
print(st.calls, mylib.act is sys.modules["mylib.act"].act if False else mylib.act.__module__, mylib.VERSION)
a - b, c, st.bias
---
st.bias = jnp.ones(2)
---
mylib.SCALE = 3

### va-figure-with-twin-axes-errorbars-and-line-data-read-back needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
runs = jax.random.normal(jax.random.key(0), (4, 6)).cumsum(1)
---
fig, ax = plt.subplots(figsize=(2, 2))
mu, sd = runs.mean(0), runs.std(0, ddof=1)
ax.fill_between(range(6), mu - sd, mu + sd, alpha=0.2)
(ln,) = ax.plot(mu, "o-", label="mean")
for r in runs: ax.plot(r, color="k", lw=0.3)
tw = ax.twinx(); bars = tw.bar(range(6), sd)
ax.legend(); ax.set_title(f"{len(runs)} runs, last {mu[-1]:.2f}")
back = jnp.asarray(ln.get_ydata())
heights = [b.get_height() for b in bars]
print(ax.get_title(), len(ax.lines), len(fig.axes), type(heights[0]).__name__, back.dtype)
plt.close(fig)
back - mu
---
runs = runs[:3]

### va-rich-table-and-tabulate-of-per-class-metrics needs=rich,tabulate
from rich.console import Console
from rich.table import Table
from tabulate import tabulate
pred, true = jnp.array([0, 1, 2, 1, 0]), jnp.array([0, 2, 2, 1, 1]); names = ["cat", "dog", "eel"]
---
C = jnp.zeros((3, 3), int).at[true, pred].add(1)
prec, rec = jnp.diag(C) / jnp.maximum(C.sum(0), 1), jnp.diag(C) / jnp.maximum(C.sum(1), 1)
t = Table("class", "p", "r")
for n, p, r in zip(names, prec, rec): t.add_row(n, f"{p:.2f}", f"[b]{r:.2f}[/b]")
con = Console(file=io.StringIO(), width=40); con.print(t)
rows = [(n, p.item(), int(s)) for n, p, s in zip(names, prec, C.sum(1))]
text = tabulate(rows, headers=["c", "p", "n"], floatfmt=".2f")
print(text, con.file.getvalue().count("0.50"), t.row_count, sep="\n")
prec * rec
---
pred = pred.at[1].set(2)
---
names = ["x", "y"]

### va-cloudpickle-and-msgpack-of-closures-and-trees needs=cloudpickle,msgpack
import cloudpickle, msgpack
def make(scale):
    bias = jnp.arange(2.0)
    def f(x): return x * scale + bias
    return f
f = make(3.0); x = jnp.ones(2)
---
blob = cloudpickle.dumps(f)
g = cloudpickle.loads(blob)
packed = msgpack.packb({"x": np.asarray(x).tobytes(), "shape": x.shape, "n": 3}, use_bin_type=True)
d = msgpack.unpackb(packed)
y = jnp.asarray(np.frombuffer(d["x"], np.float32).reshape(d["shape"]))
out = g(y) - f(x)
print(g is f, g.__closure__[0].cell_contents is f.__closure__[0].cell_contents, d["shape"], d["n"], y.dtype)
out, g(x)
---
f = make(jnp.float32(2.0))
---
x = x * 4

### va-timedelta-schedules-and-datetime-stamps-in-run-records
start = dt.datetime(2024, 3, 1, 12, 0); step = dt.timedelta(hours=7, minutes=30); w = jnp.array([4.0])
---
records = []
when = start
for k in range(3):
    frac = when.hour / 24 + when.weekday()
    w = w * jnp.cos(frac)
    records.append({"when": when.isoformat(timespec="minutes"), "w": w.item(), "doy": f"{when:%j}"})
    when += step * (k + 1)
span = (when - start) / dt.timedelta(days=1)
print([r["when"] for r in records], span, (when - start).total_seconds())
jnp.array([r["w"] for r in records]) * span
---
step = dt.timedelta(days=1)
---
start = start.replace(year=2023, tzinfo=dt.timezone.utc)

### va-mesh-batch-norm-statistics-by-psum-and-axis-index devices=8
mesh = jax.make_mesh((4, 2), ("d", "m"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
x = jax.device_put(jnp.arange(32.0).reshape(8, 4), NamedSharding(mesh, P("d", "m")))
---
def norm(xb):
    mu = lax.pmean(xb.mean(0), "d")
    var = lax.pmean(((xb - mu) ** 2).mean(0), "d")
    return (xb - mu) * lax.rsqrt(var + 1e-5), lax.axis_index("d")[None] * jnp.ones(1)
y, who = jax.shard_map(norm, mesh=mesh, in_specs=P("d", "m"), out_specs=(P("d", "m"), P("d")), check_vma=False)(x)
shards = [(s.device.id, s.index[0].start, s.data.shape) for s in y.addressable_shards][:3]
rep = jax.device_put(y.mean(0), NamedSharding(mesh, P()))
print(shards, who.tolist(), y.sharding.spec, rep.is_fully_replicated, y.committed)
rep
---
x = x * 2 + 1
---
mesh = jax.make_mesh((2, 4), ("d", "m"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
x = jax.device_put(x, NamedSharding(mesh, P("d", "m")))

### va-arrays-from-callback-and-single-device-pieces-reassembled devices=8
devs = np.array(jax.devices()[:4]); mesh = Mesh(devs, ("i",)); host = np.arange(16, dtype=np.float32).reshape(8, 2)
---
sh = NamedSharding(mesh, P("i"))
a = jax.make_array_from_callback(host.shape, sh, lambda idx: host[idx] * 2)
pieces = [jax.device_put(host[2 * k:2 * k + 2], d) for k, d in enumerate(devs)]
b = jax.make_array_from_single_device_arrays(host.shape, sh, pieces)
c = a + b
host[0, 0] += 1
order = [s.device.id for s in sorted(c.addressable_shards, key=lambda s: s.index[0].start or 0)]
print(order, c.sharding == sh, a.sharding is b.sharding, pieces[1].devices() == {devs[1]}, float(a[0, 0]))
c.sum(1)
---
host *= 0.5
---
devs = devs[::-1]; mesh = Mesh(devs, ("i",))

### va-device-round-robin-of-jobs-with-committed-results-compared devices=8
devs = jax.devices()[:3]; jobs = [jnp.arange(4.0) + k for k in range(5)]
@jax.jit
def f(x): return jnp.sort(jnp.sin(x * 3)), x.max()
---
where, outs = [], []
for d, x in zip(itertools.cycle(devs), jobs):
    s, m = f(jax.device_put(x, d))
    where.append(next(iter(s.devices())).id)
    outs.append((s, m))
home = jax.device_put([m for _, m in outs], devs[0])
total = sum(home)
gathered = np.stack([s for s, _ in outs])
print(where, total.devices() == {devs[0]}, total.committed, gathered.dtype)
total, outs[1][0] * 2
---
devs = devs[1:]
---
jobs.append(jnp.zeros(2)[:2].repeat(2))

### va-device-put-donate-alias-and-copies-of-arrays devices=2
x = jnp.arange(4.0); d1 = jax.devices()[1]
---
y = jax.device_put(x, d1)
z = jax.device_put(y, d1)
c1, c2, c3 = x.copy(), copy.copy(x), copy.deepcopy(y)
same = jax.device_put(x, jax.devices()[0])
n1, n2 = np.asarray(x), np.array(x)
n2[0] = 7
print(z is y, same is x, c1 is x, c2 is x, c3.devices() == y.devices(), n1.flags.writeable, x.committed, same.committed)
y + c3, c1 + n2
---
x = jax.device_put(x, d1)
---
x = np.arange(4.0, dtype=np.float32)

### va-explicit-mesh-typed-matmul-with-reshard-and-typeof devices=8
mesh = jax.make_mesh((2, 4), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
jax.set_mesh(mesh)
A = jax.device_put(jnp.arange(32.0).reshape(4, 8), P("x", "y")); B = jax.device_put(jnp.ones((8, 4)), P("y", None))
---
C = jnp.matmul(A, B, out_sharding=P("x", None))
D = jax.reshard(C, P(None, "y"))
E = jnp.einsum("ij,ij->i", C, C)
types_ = [str(jax.typeof(v)) for v in (A, C, D, E)]
ok = jax.sharding.get_mesh() == mesh if hasattr(jax.sharding, "get_mesh") else None
print(types_, ok, D.sharding.spec)
E / E.sum()
---
A = A + 1
---
B = jax.device_put(jnp.eye(8)[:, :4], P("y", None))

### va-jit-with-shardings-static-names-and-donated-cache devices=4
mesh = Mesh(np.array(jax.devices()[:4]), ("b",)); sh, rep = NamedSharding(mesh, P("b")), NamedSharding(mesh, P())
@partial(jax.jit, static_argnames=("mode",), donate_argnames=("cache",),
         in_shardings=(sh, rep), out_shardings=(sh, rep))
def step(x, cache, mode="sum"):
    cache = {"n": cache["n"] + 1, "acc": cache["acc"] + (x.sum(0) if mode == "sum" else x.max(0))}
    return jnp.tanh(x * cache["n"]), cache
x = jax.device_put(jnp.arange(8.0).reshape(4, 2), sh)
cache = jax.device_put({"n": jnp.int32(0), "acc": jnp.zeros(2)}, rep)
---
old = cache
for mode in ("sum", "max"):
    y, cache = step(x, cache, mode=mode)
gone = old["acc"].is_deleted()
print(gone, cache["n"].item() % 2, y.sharding == sh, cache["acc"].sharding.is_fully_replicated)
y[0], cache["acc"] * 0.5
---
x = jax.device_put(x[::-1], sh)

### va-environment-switch-chooses-precision-and-is-restored
def run(x):
    prec = os.environ.get("VA_PREC", "f32")
    x = x.astype({"f32": jnp.float32, "bf16": jnp.bfloat16}[prec])
    return jnp.sum(x * 3), prec
x = jnp.arange(3.0)
---
before = os.environ.get("VA_PREC")
a, pa = run(x)
os.environ["VA_PREC"] = "bf16"
try: b, pb = run(x)
finally:
    if before is None: os.environ.pop("VA_PREC")
    else: os.environ["VA_PREC"] = before
c, pc = run(x)
print(pa, pb, pc, a.dtype, b.dtype, "VA_PREC" in os.environ)
a - c, b
---
os.environ["VA_PREC"] = "bf16"
---
del os.environ["VA_PREC"]; x = x * 2

### va-glob-of-shards-loaded-in-pool-and-merged-by-natural-sort
for k in (1, 2, 10): np.save(f"part-{k}.npy", np.full(2, k, np.float32))
def natural(p): return [int(t) if t.isdigit() else t for t in re.split(r"(\d+)", p.name)]
---
paths = sorted(Path(".").glob("part-*.npy"), key=natural)
with ThreadPoolExecutor(2) as ex: arrs = list(ex.map(np.load, paths))
merged = jnp.concatenate([jnp.asarray(a) for a in arrs])
w = jax.nn.softmax(merged / merged.max())
sha = lambda p: hashlib.sha1(p.read_bytes()).hexdigest()[:4]
manifest = {p.stem: {"sha": sha(p), "w": float(w[2 * i])} for i, p in enumerate(paths)}
Path("manifest.json").write_text(json.dumps(manifest, indent=0))
print([p.name for p in paths], {k: v["sha"] for k, v in manifest.items()})
w
---
np.save("part-3.npy", np.zeros(2, np.float32))
---
Path("part-10.npy").rename("part-0.npy")

### va-hook-registry-module-level-with-decorator-and-event-order
HOOKS = collections.defaultdict(list)
def on(event, prio=0):
    def deco(f): HOOKS[event].append((prio, f)); HOOKS[event].sort(key=lambda pf: -pf[0]); return f
    return deco
def emit(event, **kw): return [r for _, f in HOOKS[event] if (r := f(**kw)) is not None]
@on("step")
def track(w, **_): track.history.append(jnp.abs(w).max())
track.history = []
@on("step", prio=5)
def decay(w, k): return w * 0.9 if k % 2 else None
w = jnp.array([1.0, -3.0])
---
for k in range(4):
    new = emit("step", w=w, k=k)
    w = new[-1] if new else w + 0.1
@on("end")
def report(w): return f"{len(track.history) % 4}:{float(w.sum()):.2f}"
text = emit("end", w=w)[-1]
print(text, len(HOOKS["step"]), track.history[-1] is not None)
w, track.history[-1]
---
HOOKS["step"].pop(0)
---
HOOKS["end"].clear(); track.history.clear()

### va-statistics-fractions-and-decimals-fed-from-arrays
import decimal, fractions
xs = jnp.array([1.0, 2.5, 2.5, 4.0])
---
vals = xs.tolist()
q = statistics.quantiles(vals, n=4)
mode, med = statistics.mode(vals), statistics.median(xs.tolist())
nd = statistics.NormalDist.from_samples(vals)
fr = fractions.Fraction(vals[1]).limit_denominator(10)
dec = sum(map(decimal.Decimal, map(str, vals)))
z = (xs - nd.mean) / nd.stdev
w = jnp.asarray([float(fr), float(dec)]) * xs[:2]
print(q, mode, med, fr, dec, type(z).__name__)
z, w
---
xs = xs + 1
---
xs = xs[:3]
""",
)
