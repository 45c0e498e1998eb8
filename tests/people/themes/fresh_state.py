"""Files, copies, threads, patches and reloads around JAX in notebooks that people keep."""

from ..cell import written

PRELUDE = """
import os, sys, io, json, csv, pathlib, tempfile, pickle, copy, importlib, threading, queue, logging, random, math
import functools, itertools, contextlib, types, time
from unittest import mock
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(6.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### fst-params-npz-paths
params = {"dense": {"w": x.reshape(2, 3), "b": jnp.ones(3)}, "out": [x[:2], x[2:]]}
def flat(tree):
    return {jax.tree_util.keystr(p, simple=True, separator="/"): np.asarray(v)
            for p, v in jax.tree_util.tree_leaves_with_path(tree)}
---
np.savez("p.npz", **flat(params))
with np.load("p.npz") as f:
    names = sorted(f.files)
    loaded = {k: jnp.asarray(f[k]) for k in f.files}
params["dense"]["b"] = loaded["dense/b"] * 2
names, sum(v.sum() for v in loaded.values())
---
params["out"].append(jnp.zeros(1))

### fst-memmap-batches
big = np.lib.format.open_memmap("big.npy", mode="w+", dtype=np.float32, shape=(8, 3))
big[:] = np.arange(24).reshape(8, 3)
big.flush()
---
mm = np.load("big.npy", mmap_mode="r")
means = [jnp.asarray(mm[i:i + 4]).mean(0) for i in range(0, 8, 4)]
kind = type(mm).__name__
del mm
big[0] += 1
kind, jnp.stack(means)
---
big[:] = 0

### fst-json-with-default
metrics = {"loss": x.mean(), "hist": [x[0], x[1]], "shape": x.shape}
def encode(o):
    if isinstance(o, jax.Array):
        return o.item() if o.ndim == 0 else np.asarray(o).tolist()
    raise TypeError(type(o).__name__)
---
metrics["loss"] = metrics["loss"] * 0.5
text = json.dumps(metrics, default=encode, sort_keys=True)
back = json.loads(text)
text, jnp.asarray(back["hist"]).sum()
---
metrics["extra"] = x[2:4]

### fst-csv-metrics-appended
class CSVLog:
    def __init__(self, path):
        self.path, self.rows = pathlib.Path(path), 0
    def __call__(self, **kw):
        new = not self.path.exists()
        with self.path.open("a", newline="") as f:
            w = csv.DictWriter(f, kw)
            if new:
                w.writeheader()
            w.writerow({k: f"{v:.3f}" if isinstance(v, jax.Array) else v for k, v in kw.items()})
        self.rows += 1
log = CSVLog("m.csv")
---
y = x
for i in range(2):
    y = jnp.sin(y) + i
    log(step=i, loss=y.mean())
lines = pathlib.Path("m.csv").read_text().splitlines()
log.rows, lines[0], len(lines)
---
x = x * 2

### fst-tempdir-roundtrip
state = {"p": x, "n": 3}
---
with tempfile.TemporaryDirectory() as d:
    p = pathlib.Path(d, "s.pkl")
    p.write_bytes(pickle.dumps(jax.device_get(state)))
    got = pickle.loads(p.read_bytes())
    kinds = type(got["p"]).__name__
state = jax.tree.map(lambda a, b: a + b, state, got)
p.exists(), kinds, state
---
state["n"] = 1

### fst-shelve
import shelve
---
y = jnp.cumsum(x)
with shelve.open("kept") as db:
    db["runs"] = db.get("runs", 0) + 1
    db[f"y{db['runs']}"] = np.asarray(y)
    n = db["runs"]
    total = sum(jnp.asarray(db[k]).sum() for k in sorted(db) if k.startswith("y"))
del db
n, total
---
x = x + 1

### fst-pickle-of-closures needs=cloudpickle
import cloudpickle
gain = x[1] * 2
def act(v):
    return jnp.tanh(v) * gain
---
blob = cloudpickle.dumps(act)
again = pickle.loads(blob)
y = again(x) - act(x)
same = again is act
del again, blob
same, y

### fst-pickle-keys-and-dtypes
key = jax.random.key(5)
---
a, b = jax.random.split(key)
raw = pickle.dumps({"key": jax.random.key_data(a), "dtype": x.dtype, "spec": jax.ShapeDtypeStruct((2,), "int8")})
got = pickle.loads(raw)
a2 = jax.random.wrap_key_data(got["key"])
y = jax.random.normal(a2, (2,)) - jax.random.normal(a, (2,))
key = b
got["dtype"] == x.dtype, got["spec"].shape, y

### fst-mock-patched-helper
mod = types.SimpleNamespace(scale=2.0, act=jnp.sin)
def layer(v):
    return mod.act(v) * mod.scale
---
with mock.patch.object(mod, "act", jnp.cos), mock.patch.dict(os.environ, {"MODE": "test"}):
    a = layer(x)
    m = os.environ["MODE"]
with mock.patch.object(mod, "scale", new=x[3]) as s:
    c = layer(x) + s
b = layer(x)
m, os.environ.get("MODE"), a[1] + b[1], c[0]
---
mod.scale = 3.0

### fst-magicmock-called
logger = mock.MagicMock()
def step(v, log):
    out = v.sum()
    log.scalar("loss", out, step=1)
    return out * 2
---
y = step(x, logger)
logger.scalar.assert_called_once()
args, kw = logger.scalar.call_args
n = logger.scalar.call_count
logger.reset_mock()
n, args[0], float(args[1]), kw, y

### fst-patched-jnp-function
calls = []
orig = jnp.sin
---
def spy(v):
    calls.append(v.shape)
    return orig(v)
jnp.sin = spy
try:
    y = jnp.sin(x) + jnp.sin(x[:2]).sum()
finally:
    jnp.sin = orig
z = jnp.sin(x)
len(calls), calls[-1], y - z

### fst-module-written-and-reloaded
pathlib.Path("mylayer.py").write_text("import jax.numpy as jnp\nG = 2.0\nhist = []\ndef f(v):\n    hist.append(v.shape)\n    return jnp.sin(v) * G\n")
import mylayer
---
y = mylayer.f(x)
mylayer = importlib.reload(mylayer)
z = mylayer.f(x) * 2
len(mylayer.hist), y + z
---
pathlib.Path("mylayer.py").write_text(pathlib.Path("mylayer.py").read_text().replace("G = 2.0", "G = 5.125"))
os.utime("mylayer.py", (1, 1))

### fst-package-global-config
pathlib.Path("lib").mkdir()
pathlib.Path("lib/__init__.py").write_text("from .conf import config\nfrom .ops import apply\n")
pathlib.Path("lib/conf.py").write_text("class _C:\n    def __init__(self):\n        self.__dict__['gain'] = 1.0\n        self.__dict__['log'] = []\n    def __setattr__(self, k, v):\n        self.log.append(k)\n        self.__dict__[k] = v\nconfig = _C()\n")
pathlib.Path("lib/ops.py").write_text("from .conf import config\ndef apply(v):\n    return v * config.gain\n")
import lib
---
lib.config.gain = lib.config.gain + 1
y = lib.apply(x)
lib.config.log, y
---
lib.config.gain = 10.0

### fst-threads-with-results
def work(i, out):
    out[i] = jnp.sin(x * i).sum()
---
out = dict.fromkeys(range(3))
ts = [threading.Thread(target=work, args=(i, out)) for i in range(3)]
for t in ts:
    t.start()
for t in ts:
    t.join()
total = sum(out[i] for i in range(3))
del ts, t
sorted(out), total
---
x = x * 2

### fst-producer-with-sentinel
def produce(q, n):
    for i in range(n):
        q.put(np.full(6, i, np.float32))
    q.put(None)
---
q = queue.Queue(maxsize=2)
t = threading.Thread(target=produce, args=(q, 3), daemon=True)
t.start()
acc = jnp.zeros(6)
while (batch := q.get()) is not None:
    acc = acc + x * batch
t.join()
del q, t
acc
---
x = x + 1

### fst-exception-in-thread
errs = []
def run(f):
    try:
        f()
    except Exception as e:
        errs.append(f"{type(e).__name__}")
---
y = x * 2
t = threading.Thread(target=run, args=(lambda: y.reshape(5),))
t.start()
t.join()
del t
errs[-1], y
---
errs.clear()

### fst-config-from-env
os.environ["LR"] = "0.5"
@functools.cache
def settings():
    return {"lr": float(os.environ.get("LR", "0.1")), "n": int(os.environ.get("N", 2))}
---
cfg = settings()
w = x
for _ in range(cfg["n"]):
    w = w - cfg["lr"] * w
os.environ["N"] = str(cfg["n"] + 1)
cfg is settings(), settings.cache_info().currsize, w
---
settings.cache_clear()

### fst-plot-in-loop needs=matplotlib
import matplotlib
matplotlib.use("agg")
import matplotlib.pyplot as plt
---
fig, axes = plt.subplots(1, 2)
for ax, f in zip(axes, (jnp.sin, jnp.cos)):
    ys = f(x)
    (line,) = ax.plot(x, ys, label=f.__name__)
    ax.set_title(f"max {ys.max():.2f}")
titles = [a.get_title() for a in axes]
drawn = jnp.asarray(line.get_ydata()).sum()
plt.close(fig)
del fig, axes, ax, line, f
titles, drawn
---
x = x / 2

### fst-pandas-history needs=pandas
import pandas as pd
rows = []
---
w = x
for step in range(3):
    w = w * 0.5 + 1
    rows.append({"step": step, "loss": float(w.sum()), "w0": w[0]})
df = pd.DataFrame(rows).assign(w0=lambda d: d["w0"].map(float))
tail = df.groupby("step")["loss"].mean().to_numpy()
z = jnp.asarray(df[["loss", "w0"]].to_numpy()).mean(0)
len(df), df.dtypes.astype(str).tolist(), tail.dtype, z
---
rows.clear()

### fst-sklearn-pipeline-features needs=sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, PolynomialFeatures
pipe = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False))
raw = np.random.RandomState(0).randn(10, 2)
---
feats = jnp.asarray(pipe.fit_transform(raw))
target = feats @ jnp.arange(5.0)
w, *_ = jnp.linalg.lstsq(feats, target)
pred = np.asarray(feats @ w)
names = pipe[-1].n_output_features_
names, feats.dtype, pred.dtype, w.round(2)
---
raw = raw * 2

### fst-logging-decorator
log = logging.getLogger("mine.steps")
log.setLevel(logging.INFO)
def logged(f):
    @functools.wraps(f)
    def inner(*a, **k):
        log.info("enter %s %s", f.__name__, [getattr(v, "shape", v) for v in a])
        out = f(*a, **k)
        log.info("leave %s %.3f", f.__name__, out)
        return out
    return inner
@logged
def loss(v, p=2):
    return jnp.mean(jnp.abs(v) ** p)
---
a = loss(x)
b = loss(x, 1)
log.warning("ratio %.2f", a / b)
a - b
---
x = x + 1

### fst-random-everywhere cold
random.seed(3)
np.random.seed(4)
---
idx = random.sample(range(6), 3)
noise = np.random.normal(size=3).astype(np.float32)
y = x[jnp.array(idx)] + noise
drop = [v for v in y if random.random() < 0.5]
idx, len(drop), y
---
random.seed(1)

### fst-rich-table needs=rich
from rich.console import Console
from rich.table import Table
---
table = Table("layer", "norm")
for name, v in {"a": x, "b": x * 2}.items():
    table.add_row(name, f"{jnp.linalg.norm(v):.2f}")
out = io.StringIO()
Console(file=out, width=40).print(table)
text = out.getvalue().split()
del table, out
len(text), text[-2]
---
x = x + 1

### fst-joblib-memory needs=joblib
import joblib
---
joblib.dump({"x": np.asarray(x), "n": 2}, "d.joblib")
d = joblib.load("d.joblib")
parts = joblib.Parallel(n_jobs=1)(joblib.delayed(jnp.sum)(x[i:i + d["n"]]) for i in range(0, 6, 2))
jnp.stack(parts)
---
x = x * 3
""",
)
