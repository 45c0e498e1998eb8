"""What stands around models: data, frames, figures, files, configurations, threads, clocks, tests, helpers, devices."""

from ..cell import written

PRELUDE = """
import os, sys, io, csv, json, time, math, pickle, random, queue, threading, functools, itertools, collections, dataclasses, importlib, logging, textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, Any
import numpy as np
import jax, jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3)).astype(np.float32)
y = (X @ np.array([2.0, -1.0, 0.5]) + 0.1 * rng.normal(size=24)).astype(np.float32)
cls = (y > 0).astype(int)
def mse(w, x, t): return jnp.mean((x @ w - t) ** 2)
"""

CELLS = written(
    PRELUDE,
    r"""
### lat-argparse-namespace-run
import argparse
def get_parser():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=0.1)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--loss", choices=["l2", "l1"], default="l2")
    p.add_argument("--no-bias", dest="bias", action="store_false")
    p.add_argument("--tags", nargs="*", default=[])
    return p
argv = ["--lr", "0.2"]
---
args = get_parser().parse_args(argv)
params = {"w": jnp.zeros(3)}
if args.bias:
    params["b"] = jnp.zeros(())
def loss_fn(p):
    r = X @ p["w"] + p.get("b", 0.0) - y
    return jnp.mean(r ** 2 if args.loss == "l2" else jnp.abs(r))
for epoch in range(args.epochs):
    val, g = jax.value_and_grad(loss_fn)(params)
    params = {k: params[k] - args.lr * g[k] for k in params}
print(args)
print("run_" + "_".join([f"lr{args.lr}", args.loss, *args.tags]), f"{val:.4f}")
vars(args)["final"] = val
---
argv = ["--loss", "l1", "--no-bias"]
---
argv += ["--epochs", "1", "--tags", "a", "b"]

### lat-yaml-config-edited-on-disk needs=yaml
import yaml
Path("config.yaml").write_text("model:\n  hidden: 4\n  act: tanh\noptim: {lr: 0.1, steps: 3}\nseed: 0\n")
---
with open("config.yaml") as f:
    cfg = yaml.safe_load(f)
act = getattr(jnp, cfg["model"]["act"], None) or getattr(jax.nn, cfg["model"]["act"])
k1, k2 = jax.random.split(jax.random.key(cfg["seed"]))
params = [jax.random.normal(k1, (3, cfg["model"]["hidden"])) * 0.3, jax.random.normal(k2, (cfg["model"]["hidden"],)) * 0.3]
@jax.jit
def loss(p): return jnp.mean((act(X @ p[0]) @ p[1] - y) ** 2)
for i in range(cfg["optim"]["steps"]):
    params = [p - cfg["optim"]["lr"] * g for p, g in zip(params, jax.grad(loss)(params))]
cfg["result"] = {"loss": round(float(loss(params)), 2)}
Path("result.yaml").write_text(yaml.safe_dump(cfg, sort_keys=True))
print(yaml.safe_dump(cfg["optim"]).strip())
---
Path("config.yaml").write_text("model:\n  hidden: 6\n  act: relu\noptim: {lr: 0.01, steps: 3}\nseed: 0\n")
---
Path("config.yaml").write_text(Path("config.yaml").read_text().replace("steps: 3", "steps: 1").replace("seed: 0", "seed: 12"))

### lat-dataclass-config-replaced
@dataclasses.dataclass(frozen=True)
class OptimConfig:
    lr: float = 0.1
    decay: float = 0.0
@dataclasses.dataclass(frozen=True)
class Config:
    name: str = "base"
    steps: int = 3
    optim: OptimConfig = OptimConfig()
    def override(self, **kw):
        top = {k: v for k, v in kw.items() if k in {f.name for f in dataclasses.fields(self)}}
        inner = {k: v for k, v in kw.items() if k not in top}
        return dataclasses.replace(self, optim=dataclasses.replace(self.optim, **inner), **top)
def train(cfg):
    w = jnp.zeros(3)
    for _ in range(cfg.steps):
        w = w - cfg.optim.lr * (jax.grad(mse)(w, X, y) + cfg.optim.decay * w)
    return w, mse(w, X, y)
cfg = Config()
variants = [{}, {"lr": 0.3}, {"decay": 0.5, "name": "decayed"}]
---
table = {}
for v in variants:
    c = cfg.override(**v)
    w, final = train(c)
    table[c] = final
    print(json.dumps(dataclasses.asdict(c)), f"-> {final:.4f}")
best = min(table, key=table.get)
best
---
cfg = cfg.override(steps=5)
---
variants = [{"lr": lr} for lr in (1e-2, 1e-1, 1.0)]
---
def train(cfg):
    w, *_ = jnp.linalg.lstsq(X, y)
    return w, mse(w, X, y) + cfg.optim.lr

### lat-grid-product-to-frame needs=pandas tolerance=1e-4
import pandas as pd
grid = {"lr": [0.05, 0.2], "seed": [0, 1], "init": ["zeros", "normal"]}
n_iter = 3
---
rows = []
for lr, seed, init in itertools.product(*grid.values()):
    key = jax.random.PRNGKey(seed)
    w = jnp.zeros(3) if init == "zeros" else jax.random.normal(key, (3,))
    for _ in range(n_iter):
        w -= lr * jax.grad(mse)(w, X, y)
    rows.append(dict(lr=lr, seed=seed, init=init, loss=float(mse(w, X, y)), norm=float(jnp.linalg.norm(w))))
df = pd.DataFrame(rows)
agg = df.groupby(["init", "lr"])["loss"].agg(["mean", "std"])
best = df.loc[df["loss"].idxmin(), ["lr", "init"]].to_dict()
df.to_csv("grid.csv", index=False, columns=["lr", "seed", "init"])
print(agg.shape, best)
---
grid["lr"] = [0.1]
---
grid["init"] = ["normal"]; n_iter = 1

### lat-history-frame-grows-over-runs needs=pandas tolerance=1e-4
import pandas as pd
history = pd.DataFrame(columns=["run", "epoch", "loss", "lr"])
w, lr, epochs = jnp.zeros(3), 0.1, 3
---
run = 0 if history.empty else int(history["run"].max()) + 1
new = []
for epoch in range(epochs):
    loss, g = jax.value_and_grad(mse)(w, X, y)
    w = w - lr * g
    new.append({"run": run, "epoch": epoch, "loss": loss.item(), "lr": lr})
new = pd.DataFrame(new)
history = new if history.empty else pd.concat([history, new], ignore_index=True)
history["smooth"] = history["loss"].rolling(2, min_periods=1).mean()
pivot = history.pivot_table(index="epoch", columns="run", values="loss")
history[["run", "epoch", "lr"]].to_csv("history.csv", mode="w", header=True)
print(len(history), pivot.shape)
history.tail(1)[["run", "epoch"]].to_numpy().tolist()
---
lr = 0.3
---
w, epochs = jnp.ones(3), 2
---
history = history[history["run"] > 0].drop(columns="smooth")

### lat-sklearn-split-scale-report needs=sklearn
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.metrics import classification_report, accuracy_score
test_size, epochs, lr, threshold = 0.25, 4, 0.5, 0.5
---
X_train, X_test, y_train, y_test = train_test_split(X, cls, test_size=test_size, random_state=42, stratify=cls)
scaler = StandardScaler().fit(X_train)
X_train_s, X_test_s = scaler.transform(X_train), scaler.transform(X_test)
def predict(params, x): return jax.nn.sigmoid(x @ params["w"] + params["b"])
@jax.jit
def bce(params, x, t):
    p = jnp.clip(predict(params, x), 1e-6, 1 - 1e-6)
    return -jnp.mean(t * jnp.log(p) + (1 - t) * jnp.log(1 - p))
params = {"w": jnp.zeros(3), "b": 0.0}
for epoch in range(epochs):
    grads = jax.grad(bce)(params, X_train_s, y_train)
    params = jax.tree.map(lambda p, g: p - lr * g, params, grads)
y_pred = (predict(params, X_test_s) > threshold).astype(int)
acc = accuracy_score(y_test, y_pred)
report = classification_report(y_test, y_pred, output_dict=True, zero_division=0)
print(f"accuracy {acc:.3f}", sorted(report), type(params["b"]).__name__)
---
threshold = 0.9
---
lr, epochs = 0.05, 2
---
test_size = 6
---
scaler = None; cls = 1 - cls

### lat-sklearn-kfold-mean-std needs=sklearn
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.metrics import r2_score
n_splits, l2 = 3, 0.1
def fit(Xt, yt, l2):
    Xb = jnp.c_[Xt, jnp.ones(len(Xt))]
    return jnp.linalg.solve(Xb.T @ Xb + l2 * jnp.eye(Xb.shape[1]), Xb.T @ yt)
---
scores, coefs = [], []
for fold, (tr, te) in enumerate(KFold(n_splits, shuffle=True, random_state=0).split(X)):
    w = fit(X[tr], y[tr], l2)
    pred = jnp.c_[X[te], jnp.ones(len(te))] @ w
    scores.append(r2_score(y[te], pred))
    coefs.append(w)
    print(f"fold {fold}: r2={scores[-1]:.4f} n={len(te)}")
print(f"{np.mean(scores):.4f} ± {np.std(scores):.4f}")
w_mean = jnp.mean(jnp.stack(coefs), axis=0)
---
l2 = 10.0
---
n_splits = 4
---
def fit(Xt, yt, l2): return jnp.zeros(4).at[-1].set(yt.mean())

### lat-sklearn-roc-and-best-threshold needs=sklearn
from sklearn.metrics import roc_auc_score, roc_curve, confusion_matrix
w = jnp.array([1.0, -0.5, 0.0])
noise = 0.5
---
scores = jax.nn.sigmoid(X @ w + noise * jax.random.normal(jax.random.key(0), (24,)))
auc = roc_auc_score(cls, scores)
fpr, tpr, thr = roc_curve(cls, np.asarray(scores))
best_t = thr[np.argmax(tpr - fpr)]
cm = confusion_matrix(cls, scores >= best_t)
tn, fp, fn, tp = cm.ravel()
print(f"AUC {auc:.3f}; at {best_t:.3f}: precision {tp / (tp + fp):.3f} recall {tp / (tp + fn):.3f}")
cm.tolist()
---
w = -w
---
noise = 0

### lat-sklearn-own-estimator-cross-val needs=sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
class JaxRegressor(RegressorMixin, BaseEstimator):
    def __init__(self, lr=0.1, n_iter=5, seed=0):
        self.lr, self.n_iter, self.seed = lr, n_iter, seed
    def fit(self, X, y):
        self.coef_ = 0.01 * jax.random.normal(jax.random.key(self.seed), (X.shape[1],))
        self.intercept_ = jnp.mean(y)
        step = jax.jit(lambda w: w - self.lr * jax.grad(lambda w: jnp.mean((X @ w + self.intercept_ - y) ** 2))(w))
        for _ in range(self.n_iter):
            self.coef_ = step(self.coef_)
        return self
    def predict(self, X): return np.asarray(X @ self.coef_ + self.intercept_)
est = JaxRegressor()
---
est.fit(X, y)
cv = cross_val_score(clone(est), X, y, cv=3)
pipe = make_pipeline(PolynomialFeatures(2, include_bias=False), JaxRegressor(lr=0.02, n_iter=2)).fit(X, y)
in_sample = est.score(X, y)
print(est, f"R2 {in_sample:.3f}", cv.shape, pipe[-1].coef_.shape)
est.get_params()
---
est.set_params(lr=0.3)
---
est = JaxRegressor(n_iter=1, seed=3)

### lat-sklearn-mixed-columns-to-jax needs=sklearn,pandas tolerance=1e-4
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, MinMaxScaler
df = pd.DataFrame({"age": [20, 35, None, 50, 41, 29], "city": list("ababca"), "income": [1.0, 2.5, 3.0, 2.2, 1.1, 0.4], "target": [0.1, 0.9, 1.0, 1.4, 0.2, 0.0]})
num, cat = ["age", "income"], ["city"]
---
data = df.copy()
data["age"] = data["age"].fillna(data["age"].median())
pre = ColumnTransformer([("num", MinMaxScaler(), num), ("cat", OneHotEncoder(sparse_output=False, handle_unknown="ignore"), cat)])
feats = jnp.asarray(pre.fit_transform(data), dtype=jnp.float32)
target = jnp.asarray(data["target"].to_numpy(), jnp.float32)
w = jnp.zeros(feats.shape[1])
for _ in range(5):
    w = w - 0.2 * jax.grad(mse)(w, feats, target)
importance = pd.Series(np.abs(np.asarray(w)), index=pre.get_feature_names_out())
data["pred"] = np.asarray(feats @ w)
resid = (data["pred"] - data["target"]).abs().groupby(data["city"]).mean()
print(importance.shape, sorted(resid.index), feats.dtype)
---
df.loc[len(df)] = [33, "d", 2.0, 0.7]
---
num = ["income"]

### lat-loss-curves-twin-axes needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
w, lr, n, log_scale, out_dir = jnp.zeros(3), 0.1, 5, True, Path("figs")
---
out_dir.mkdir(exist_ok=True)
hist = {"train": [], "val": [], "gnorm": []}
w_ = w
for i in range(n):
    l, g = jax.value_and_grad(mse)(w_, X[:16], y[:16])
    w_ = w_ - lr * g
    for k, v in zip(hist, (l, mse(w_, X[16:], y[16:]), jnp.linalg.norm(g))):
        hist[k].append(v)
plt.style.use("default")
fig, ax = plt.subplots(figsize=(4, 3))
for name in ("train", "val"):
    ax.plot(hist[name], label=name)
ax2 = ax.twinx(); ax2.plot(jnp.array(hist["gnorm"]), "k:", alpha=0.5)
ax.set(xlabel="epoch", ylabel="mse", yscale="log" if log_scale else "linear", title=f"lr={lr}")
ax.legend(loc="upper right")
ymax = float(np.max(ax2.lines[0].get_ydata())) > 0
fname = out_dir / f"curve_lr{lr}.png"
fig.savefig(fname, dpi=30, metadata={"Software": None}); plt.close(fig)
info = (ax.get_title(), ax.get_yscale(), fname.exists(), ymax)
del fig, ax, ax2
info
---
lr = 0.4
---
log_scale = False; n = 2

### lat-confusion-imshow-with-text needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
names, W = ["cat", "dog", "eel"], jnp.array([[1.0, 0.0, -1.0], [0.0, 1.0, 0.5], [0.3, -0.2, 1.0]])
truth = np.arange(24) % 3
---
pred = jnp.argmax(X @ W, axis=1)
cm = np.zeros((3, 3), dtype=int)
np.add.at(cm, (truth, np.asarray(pred)), 1)
norm = cm / cm.sum(1, keepdims=True)
fig, ax = plt.subplots()
im = ax.imshow(norm, cmap="Blues", vmin=0, vmax=1)
for i, j in itertools.product(range(3), range(3)):
    ax.text(j, i, f"{cm[i, j]}", ha="center", color="white" if norm[i, j] > 0.5 else "black")
ax.set_xticks(range(3), names); ax.set_yticks(range(3), names)
fig.colorbar(im)
texts = [t.get_text() for t in ax.texts]
plt.close(fig); del fig, ax, im
print(texts, f"acc {np.trace(cm) / cm.sum():.3f}")
---
W = W[:, ::-1]
---
names = names[:2] + ["fox"]; truth = (np.arange(24) // 8)

### lat-hist-quiver-figure-function needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
def plot_field(f, lim=1.0, n=4, ax=None):
    ax = ax or plt.gca()
    g = jnp.linspace(-lim, lim, n)
    xx, yy = jnp.meshgrid(g, g)
    uv = jax.vmap(jax.vmap(jax.grad(f)))(jnp.stack([xx, yy], -1))
    q = ax.quiver(xx, yy, uv[..., 0], uv[..., 1])
    return float(jnp.hypot(uv[..., 0], uv[..., 1]).max()), q.N
def potential(p): return jnp.sin(p[0]) * p[1] ** 2
bins = 5
---
plt.figure(figsize=(5, 2))
plt.subplot(121)
counts, edges, _ = plt.hist(np.asarray(jax.random.normal(jax.random.key(0), (30,))), bins=bins, density=False)
plt.subplot(122)
vmax, n_arrows = plot_field(potential)
plt.suptitle(f"max |grad| = {vmax:.2f}")
plt.tight_layout()
buf = io.BytesIO(); plt.savefig(buf, format="png", dpi=10); size_ok = buf.tell() > 100
plt.close("all"); del buf, _
print(counts.sum(), len(edges), n_arrows, size_ok)
---
def potential(p): return jnp.sum(p ** 2)
---
bins = [-2, -1, 0, 1, 2]

### lat-csv-rows-to-batches
with open("data.csv", "w", newline="") as f:
    wr = csv.writer(f); wr.writerow(["a", "b", "label"])
    wr.writerows([[i, i * 0.5, "yes" if i % 3 else "no"] for i in range(8)])
batch_size, drop_last = 3, False
def parse(row): return [float(row["a"]), float(row["b"])], row["label"] == "yes"
---
with open("data.csv", newline="") as f:
    rows = [parse(r) for r in csv.DictReader(f)]
feats, labs = map(np.array, zip(*rows))
mu, sd = feats.mean(0), feats.std(0) + 1e-8
w, b = jnp.zeros(2), jnp.zeros(())
seen = 0
for start in range(0, len(feats), batch_size):
    xb, tb = (feats[start:start + batch_size] - mu) / sd, labs[start:start + batch_size]
    if drop_last and len(xb) < batch_size:
        continue
    gw, gb = jax.grad(lambda w, b: jnp.mean(jax.nn.softplus(-(2 * tb - 1) * (xb @ w + b))), argnums=(0, 1))(w, b)
    w, b, seen = w - 0.5 * gw, b - 0.5 * gb, seen + len(xb)
print(f"saw {seen} rows; balance {labs.mean():.2f}; dtype {feats.dtype} -> {w.dtype}")
---
drop_last = True
---
with open("data.csv", "a", newline="") as f: csv.writer(f).writerows([[9, -1, "no"], [10, 3, "yes"]])
---
def parse(row): return [float(row["a"]) ** 2, 1.0], row["label"] == "no"

### lat-json-results-merged-by-run
results_file, run, lr = Path("results.json"), "baseline", 0.1
---
w = jnp.zeros(3)
for _ in range(3):
    w = w - lr * jax.grad(mse)(w, X, y)
metrics = {"mse": mse(w, X, y), "max_err": jnp.abs(X @ w - y).max(), "weights": w}
results = json.loads(results_file.read_text()) if results_file.is_file() else {}
results.setdefault(run, []).append({k: (round(v.item(), 2) if v.ndim == 0 else [round(float(e), 1) for e in v]) for k, v in metrics.items()})
results_file.write_text(json.dumps(results, indent=1))
for name, entries in results.items():
    print(f"{name:<10}{len(entries):>3} runs, last mse {entries[-1]['mse']:.2f}")
---
run, lr = "high-lr", 0.4
---
results_file.write_text("{}")
---
results_file = Path("results2.json")

### lat-npz-cache-of-dataset
cache, force, n = Path("cache/data.npz"), False, 10
calls = []
def make_dataset(n, seed=0):
    calls.append(n)
    g = np.random.default_rng(seed)
    t = np.sort(g.uniform(0, 1, n))
    return {"t": t, "y": np.sin(6 * t) + 0.1 * g.normal(size=n)}
---
if force or not cache.exists():
    cache.parent.mkdir(parents=True, exist_ok=True)
    data = make_dataset(n)
    np.savez(cache, **data)
else:
    with np.load(cache) as z:
        data = {k: z[k] for k in z.files}
t, target = jnp.asarray(data["t"]), jnp.asarray(data["y"])
basis = jnp.stack([jnp.exp(-0.5 * ((t - c) / 0.2) ** 2) for c in np.linspace(0, 1, 4)], axis=1)
coef = jnp.linalg.solve(basis.T @ basis + 1e-2 * jnp.eye(4), basis.T @ target)
rmse = jnp.sqrt(jnp.mean((basis @ coef - target) ** 2))
print(len(data["t"]), calls, f"rmse {rmse:.4f}")
---
force, n = True, 14
---
force = False
---
cache.unlink(); n = 8

### lat-pickle-history-and-best
class Best:
    def __init__(self): self.value, self.params = np.inf, None
    def update(self, value, params):
        if value < self.value:
            self.value, self.params = value, params
            return True
        return False
best, params, lr = Best(), {"w": jnp.zeros(3)}, 0.2
---
hist = []
for epoch in range(4):
    loss, g = jax.value_and_grad(lambda p: mse(p["w"], X, y))(params)
    improved = best.update(float(loss), params)
    hist.append((epoch, improved))
    params = {"w": params["w"] - lr * g["w"]}
with open("hist.pkl", "wb") as f:
    pickle.dump({"hist": hist, "shapes": jax.tree.map(np.shape, best.params)}, f)
with open("hist.pkl", "rb") as f:
    back = pickle.load(f)
print(back["hist"], back["shapes"], best.params is params, f"{best.value:.4f}")
---
lr = 1.5
---
best = Best()

### lat-infinite-loader-held-over-runs
def batches(x, t, bs, seed):
    g = np.random.default_rng(seed)
    while True:
        perm = g.permutation(len(x))
        for i in range(0, len(x) - bs + 1, bs):
            yield x[perm[i:i + bs]], t[perm[i:i + bs]]
it, w, steps = batches(X, y, 8, 0), jnp.zeros(3), 4
history = []
---
for _ in range(steps):
    xb, yb = next(it)
    loss, g = jax.value_and_grad(mse)(w, xb, yb)
    w = w - 0.1 * g
    history.append(loss)
print(f"{len(history)} steps so far, last {history[-1]:.4f}")
xb.shape
---
steps = 2
---
it = batches(X, y, 5, 1)
---
w, history = jnp.zeros(3), []

### lat-dataset-and-loader-classes
class Dataset:
    def __init__(self, x, t, transform=None): self.x, self.t, self.transform = x, t, transform
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        item = self.x[i], self.t[i]
        return self.transform(*item) if self.transform else item
def numpy_collate(batch):
    if isinstance(batch[0], (tuple, list)):
        return [numpy_collate(s) for s in zip(*batch)]
    return np.stack(batch) if isinstance(batch[0], np.ndarray) else np.array(batch)
class NumpyLoader:
    def __init__(self, ds, batch_size, shuffle=False, seed=0, collate_fn=numpy_collate):
        self.ds, self.bs, self.shuffle, self.collate = ds, batch_size, shuffle, collate_fn
        self.epoch, self.seed = 0, seed
    def __iter__(self):
        order = np.arange(len(self.ds))
        if self.shuffle: np.random.default_rng((self.seed, self.epoch)).shuffle(order)
        self.epoch += 1
        for i in range(0, len(order), self.bs):
            yield self.collate([self.ds[j] for j in order[i:i + self.bs]])
    def __len__(self): return math.ceil(len(self.ds) / self.bs)
ds = Dataset(X, y)
loader = NumpyLoader(ds, 10, shuffle=True)
w = jnp.zeros(3)
---
for epoch in range(2):
    running = 0.0
    for i, (xb, yb) in enumerate(loader):
        loss, g = jax.value_and_grad(mse)(w, xb, yb)
        w = w - 0.1 * g
        running += loss.item() * len(xb)
    print(f"Epoch {epoch} ({loader.epoch}): {running / len(ds):.4f} over {len(loader)} batches")
yb.dtype, i
---
ds.transform = lambda a, t: (a * 2, t)
---
loader = NumpyLoader(ds, 24, collate_fn=lambda b: (np.stack([s[0] for s in b]), np.array([s[1] + 1 for s in b])))

### lat-background-prefetch-generator
class Prefetch(threading.Thread):
    def __init__(self, gen, depth=2):
        super().__init__(daemon=True)
        self.q, self.gen = queue.Queue(depth), gen
        self.start()
    def run(self):
        for item in self.gen: self.q.put(jax.device_put(item))
        self.q.put(None)
    def __iter__(self):
        while (item := self.q.get()) is not None: yield item
def make(n, bs, seed=0):
    g = np.random.default_rng(seed)
    for _ in range(n):
        i = g.integers(0, len(X), bs)
        yield X[i], y[i]
w, n, bs = jnp.zeros(3), 3, 6
---
total = jnp.zeros(())
count = 0
for xb, yb in Prefetch(make(n, bs)):
    loss, g = jax.value_and_grad(mse)(w, xb, yb)
    w = w - 0.1 * g
    total += loss
    count += 1
print(f"mean loss {total / count:.4f} over {count} batches of {xb.shape[0]}")
---
n = 5
---
bs, w = 12, jnp.ones(3)

### lat-pool-evaluates-candidates
def evaluate(cand):
    w = jnp.array(cand["w"])
    return cand["name"], {"mse": float(mse(w, X, y)), "mae": float(jnp.abs(X @ w - y).mean())}
cands = [{"name": f"m{i}", "w": [2.0 - 0.2 * i, -1.0, 0.5]} for i in range(3)]
workers = 2
---
with ThreadPoolExecutor(max_workers=workers) as pool:
    scores = dict(pool.map(evaluate, cands))
ranked = sorted(scores.items(), key=lambda kv: kv[1]["mse"])
winner = next(c for c in cands if c["name"] == ranked[0][0])
w = jnp.array(winner["w"])
w = w - 0.1 * jax.grad(mse)(w, X, y)
for pos, (name, s) in enumerate(ranked, 1):
    print(f"{pos}. {name}: " + ", ".join(f"{k}={v:.4f}" for k, v in s.items()))
---
cands.append({"name": "zero", "w": [0.0, 0.0, 0.0]})
---
cands = cands[::-1]; workers = 1
---
def evaluate(cand): return cand["name"], {"mse": float(jnp.sum(jnp.array(cand["w"])))}

### lat-timed-with-block-until-ready
@contextmanager
def timer(name, store):
    t0 = time.perf_counter()
    yield
    store.setdefault(name, []).append(time.perf_counter() - t0)
n, repeats = 8, 3
@jax.jit
def matmul(a, b): return a @ b
---
times = {}
a = jax.random.normal(jax.random.key(0), (n, n))
with timer("warmup", times):
    matmul(a, a).block_until_ready()
for _ in range(repeats):
    with timer("jit", times):
        out = jax.block_until_ready(matmul(a, a))
    with timer("eager", times):
        out2 = (a @ a).block_until_ready()
summary = {k: len(v) for k, v in times.items()}
ok = all(t >= 0 for ts in times.values() for t in ts)
times = summary
print(summary, ok, bool(jnp.allclose(out, out2, atol=1e-4)))
---
n = 4
---
repeats = 1
---
matmul = lambda a, b: jnp.einsum("ij,jk->ik", a, b)

### lat-benchmark-table-of-lambdas
impls = {
    "naive": lambda v: sum(v[i] * v[i] for i in range(len(v))),
    "dot": lambda v: v @ v,
    "vmap": lambda v: jax.vmap(lambda e: e ** 2)(v).sum(),
    "jit": jax.jit(lambda v: jnp.sum(jnp.square(v))),
}
sizes = [3, 5]
---
answers = collections.defaultdict(dict)
for n, (name, fn) in itertools.product(sizes, impls.items()):
    v = jnp.arange(n, dtype=jnp.float32)
    start = time.time()
    res = fn(v)
    res.block_until_ready()
    elapsed = time.time() - start
    answers[n][name] = float(res)
del start, elapsed
print("n    " + " ".join(f"{k:>8}" for k in impls))
for n, row in answers.items():
    print(f"{n:<5}" + " ".join(f"{v:8.2f}" for v in row.values()))
assert all(len(set(row.values())) == 1 for row in answers.values())
---
sizes = [2, 4, 6]
---
impls["norm"] = lambda v: jnp.round(jnp.linalg.norm(v) ** 2, 3)
del impls["naive"]; sizes = [1]

### lat-own-progress-bar
class ProgressBar:
    def __init__(self, total, width=10, stream=None):
        self.total, self.width, self.n, self.stream = total, width, 0, stream or sys.stdout
        self.postfix = {}
    def update(self, **kw):
        self.n += 1
        self.postfix.update(kw)
        filled = self.width * self.n // self.total
        msg = " ".join(f"{k}={v:.4f}" if isinstance(v, float) else f"{k}={v}" for k, v in self.postfix.items())
        self.stream.write(f"\r[{'#' * filled}{'.' * (self.width - filled)}] {self.n}/{self.total} {msg}")
        self.stream.flush()
    def __enter__(self): return self
    def __exit__(self, *exc): self.stream.write("\n")
w, steps, every = jnp.zeros(3), 4, 2
---
with ProgressBar(steps) as bar:
    for i in range(steps):
        loss, g = jax.value_and_grad(mse)(w, X, y)
        w = w - 0.1 * g
        if (i + 1) % every == 0:
            bar.update(loss=float(loss))
        else:
            bar.update()
done = bar.n == bar.total
del bar
done
---
every = 1
---
steps = 3
---
class ProgressBar(ProgressBar):
    def update(self, **kw):
        self.n += 1
        print(f"{self.n / self.total:.0%}", *kw)

### lat-tqdm-described-epochs needs=tqdm
from tqdm.auto import tqdm, trange
w, epochs, disable = jnp.zeros(3), 3, False
---
losses = []
pbar = trange(epochs, desc="train", file=io.StringIO(), disable=disable)
for epoch in pbar:
    loss, g = jax.value_and_grad(mse)(w, X, y)
    w = w - 0.1 * g
    losses.append(loss)
    pbar.set_description(f"epoch {epoch}")
    pbar.set_postfix(loss=f"{loss:.4f}", best=f"{min(losses):.4f}")
count = pbar.n
pbar.close(); del pbar
count, losses[-1]
---
epochs = 5
---
disable = True; w = jnp.ones(3)

### lat-rich-parameter-table needs=rich
from rich.console import Console
from rich.table import Table
params = {"enc": {"w": jnp.ones((3, 4)), "b": jnp.zeros(4)}, "dec": {"w": jnp.ones((4, 1), jnp.bfloat16)}}
---
params = jax.tree.map(lambda p: p * 0.5 + 0.25, params)
table = Table(title="Parameters")
for col in ("name", "shape", "dtype", "mean", "count"):
    table.add_column(col, justify="right")
total = 0
for path, leaf in jax.tree_util.tree_leaves_with_path(params):
    table.add_row(jax.tree_util.keystr(path), str(leaf.shape), str(leaf.dtype), f"{leaf.mean():.3f}", f"{leaf.size:,}")
    total += leaf.size
buf = io.StringIO()
Console(file=buf, width=70, color_system=None).print(table)
text = buf.getvalue()
print(text)
n_rows = table.row_count
del table, buf
total, n_rows
---
params["dec"]["b"] = jnp.zeros((), jnp.int32)
---
params = {"only": jnp.linspace(0, 1, 3)}

### lat-count-parameters-fstrings
def init(sizes, key, dtype=jnp.float32):
    return {f"layer{i}": {"w": jax.random.normal(k, (m, n), dtype), "b": jnp.zeros(n, dtype)} for i, (k, m, n) in enumerate(zip(jax.random.split(key, len(sizes)), sizes[:-1], sizes[1:]))}
sizes, dtype = (3, 8, 2), jnp.float32
---
params = init(sizes, jax.random.key(0), dtype)
n_params = sum(p.size for p in jax.tree.leaves(params))
n_bytes = sum(p.nbytes for p in jax.tree.leaves(params))
print(f"{'layer':<8}|{'params':>8}|{'share':>8}")
for name, layer in params.items():
    n = sum(x.size for x in layer.values())
    print(f"{name:<8}|{n:>8,}|{n / n_params:>8.1%}")
print(f"total {n_params:,} ({n_bytes / 1e3:.3f} kB)")
gn = jnp.sqrt(sum(jnp.sum(jnp.square(p.astype(jnp.float32))) for p in jax.tree.leaves(params)))
assert n_params == sum(m * n + n for m, n in zip(sizes[:-1], sizes[1:]))
---
sizes = (3, 5, 5, 1)
---
dtype = jnp.float16

### lat-mesh-data-parallel-loop devices=8
mesh = Mesh(np.array(jax.devices()), ("data",))
batch_size, lr, steps = 8, 0.1, 2
---
data_sharding = NamedSharding(mesh, P("data"))
replicated = NamedSharding(mesh, P())
w = jax.device_put(jnp.zeros(3), replicated)
@jax.jit
def train_step(w, xb, yb):
    loss, g = jax.value_and_grad(mse)(w, xb, yb)
    return w - lr * g, loss
for i in range(steps):
    sl = slice(i * batch_size, (i + 1) * batch_size)
    xb, yb = jax.device_put((X[sl], y[sl]), data_sharding)
    w, loss = train_step(w, xb, yb)
    if i == 0:
        print("shard shapes:", {s.data.shape for s in xb.addressable_shards}, "on", len(xb.devices()), "devices")
print(f"{loss:.4f} {w.sharding.is_fully_replicated}")
xb.sharding.spec
---
lr = 0.3
---
mesh = Mesh(np.array(jax.devices()[:4]), ("data",))
---
steps, batch_size = 1, 16

### lat-2d-mesh-mlp-megatron-style devices=8
mesh = jax.make_mesh((4, 2), ("batch", "model"))
specs = {"w1": P(None, "model"), "w2": P("model", None)}
hidden = 4
---
k1, k2 = jax.random.split(jax.random.key(0))
params = {"w1": jax.random.normal(k1, (3, hidden)), "w2": jax.random.normal(k2, (hidden, 1))}
params = {k: jax.device_put(v, NamedSharding(mesh, specs[k])) for k, v in params.items()}
xs = jax.device_put(X, NamedSharding(mesh, P("batch", None)))
@jax.jit
def forward(p, x):
    h = jax.nn.relu(x @ p["w1"])
    h = jax.lax.with_sharding_constraint(h, NamedSharding(mesh, P("batch", "model")))
    return (h @ p["w2"])[:, 0]
out = forward(params, xs)
grads = jax.grad(lambda p: jnp.mean((forward(p, xs) - y) ** 2))(params)
params = jax.tree.map(lambda p, g: p - 0.01 * g, params, grads)
for k, v in params.items():
    print(k, v.sharding.spec, v.addressable_shards[0].data.shape)
ref = jax.nn.relu(X @ np.asarray(params["w1"])) @ np.asarray(params["w2"])
---
hidden = 8
---
specs["w2"] = P(None, None)
---
mesh = jax.make_mesh((2, 4), ("batch", "model")); hidden = 4

### lat-model-per-device-round-robin devices=4
devices = jax.devices()[:4]
models = [jnp.array([1.0, -1.0, 0.1 * i]) for i in range(6)]
---
placed = [jax.device_put(m, devices[i % len(devices)]) for i, m in enumerate(models)]
data_on = {d: (jax.device_put(X, d), jax.device_put(y, d)) for d in devices}
losses = {}
for i, m in enumerate(placed):
    (d,) = m.devices()
    losses[i] = mse(m, *data_on[d])
where = collections.Counter(str(next(iter(l.devices())).id) for l in losses.values())
gathered = jnp.stack([jax.device_put(l, devices[0]) for l in losses.values()])
best = int(gathered.argmin())
print(dict(where), best, placed[best].committed)
---
devices = devices[:2]
---
models = models[:3] + [jnp.array([2.0, -1.0, 0.5])]

### lat-shard-map-batch-stats devices=4
mesh = jax.make_mesh((4,), ("i",))
eps, cross_replica = 1e-5, True
---
@jax.jit
@functools.partial(jax.shard_map, mesh=mesh, in_specs=P("i"), out_specs=(P("i"), P("i")))
def batch_norm(x):
    mean = x.mean(0)
    sq = (x ** 2).mean(0)
    if cross_replica:
        mean, sq = jax.lax.pmean((mean, sq), "i")
        mean, sq = jax.lax.pcast((mean, sq), "i", to="varying")
    var = sq - mean ** 2
    return (x - mean) / jnp.sqrt(var + eps), mean[None]
normed, means = batch_norm(X)
agree = bool(jnp.allclose(means, means[:1], atol=1e-6))
print(normed.shape, means.shape, "replicas agree" if agree else "replicas differ")
normed.std(0)
---
cross_replica = False
---
eps, X = 1.0, X * 3

### lat-utils-file-written-then-imported
Path("utils_lat.py").write_text('''
import jax, jax.numpy as jnp
SCALE = 2.0
_registry = {}
def register(fn):
    _registry[fn.__name__] = fn
    return fn
@register
def huber(r, delta=1.0):
    a = jnp.abs(r)
    return jnp.where(a <= delta, 0.5 * r ** 2, delta * (a - 0.5 * delta)).mean() * SCALE
@register
def logcosh(r): return jnp.log(jnp.cosh(r)).mean() * SCALE
def get(name): return _registry[name]
''')
import utils_lat
loss_name = "huber"
---
loss = utils_lat.get(loss_name)
w = jnp.zeros(3)
for _ in range(3):
    w = w - 0.2 * jax.grad(lambda w: loss(X @ w - y))(w)
values = {name: fn(X @ w - y) for name, fn in utils_lat._registry.items()}
print({k: f"{v:.4f}" for k, v in values.items()}, utils_lat.SCALE)
---
utils_lat.SCALE = 0.5
---
loss_name = "logcosh"
---
utils_lat.register(lambda r: jnp.abs(r).max()); loss_name = "<lambda>"

### lat-module-edited-and-reloaded
SRC = "import jax.numpy as jnp\nN_FEATS = {n}\ndef features(x):\n    return jnp.concatenate([x ** i for i in range(1, {n} + 1)], axis=1)\n"
Path("feats_lat.py").write_text(SRC.format(n=2))
import feats_lat
ridge = 0.1
---
phi = feats_lat.features(X)
w = jnp.linalg.solve(phi.T @ phi + ridge * jnp.eye(phi.shape[1]), phi.T @ y)
assert phi.shape[1] == 3 * feats_lat.N_FEATS
print(f"{feats_lat.N_FEATS} powers: train mse {jnp.mean((phi @ w - y) ** 2):.4f}")
---
Path("feats_lat.py").write_text(SRC.format(n=3)); importlib.reload(feats_lat)
---
feats_lat.features = lambda x: jnp.concatenate([jnp.sin(x), jnp.cos(x), x], axis=1)
---
ridge = 5.0; importlib.invalidate_caches(); importlib.reload(feats_lat)

### lat-package-of-models-with-factory
pkg = Path("latmodels"); pkg.mkdir()
(pkg / "__init__.py").write_text("from .linear import Linear\nfrom .mlp import MLP\nMODELS = {'linear': Linear, 'mlp': MLP}\ndef create(name, **kw): return MODELS[name](**kw)\n")
(pkg / "base.py").write_text("class Model:\n    created = 0\n    def __init__(self, **kw):\n        type(self).created += 1\n        self.hp = kw\n    def __repr__(self): return f'{type(self).__name__}({self.hp})'\n")
(pkg / "linear.py").write_text("import jax.numpy as jnp\nfrom .base import Model\nclass Linear(Model):\n    def init(self, key): return {'w': jnp.zeros(3)}\n    def __call__(self, p, x): return x @ p['w']\n")
(pkg / "mlp.py").write_text("import jax, jax.numpy as jnp\nfrom .base import Model\nclass MLP(Model):\n    def init(self, key):\n        h = self.hp.get('h', 4)\n        return {'w1': jax.random.normal(key, (3, h)) * 0.3, 'w2': jnp.ones(h) * 0.1}\n    def __call__(self, p, x): return jnp.tanh(x @ p['w1']) @ p['w2']\n")
import latmodels
jobs = [("linear", {}), ("mlp", {"h": 3})]
---
board = []
for name, kw in jobs:
    model = latmodels.create(name, **kw)
    params = model.init(jax.random.key(0))
    for _ in range(3):
        loss, g = jax.value_and_grad(lambda p: jnp.mean((model(p, X) - y) ** 2))(params)
        params = jax.tree.map(lambda p, d: p - 0.1 * d, params, g)
    board.append((repr(model), loss))
for name, loss in sorted(board, key=lambda r: float(r[1])):
    print(f"{name:<20} {loss:.4f}")
{k: m.created for k, m in latmodels.MODELS.items()}
---
jobs.append(("mlp", {"h": 6}))
---
latmodels.MODELS["linear"].__call__ = lambda self, p, x: x @ p["w"] + 1.0

### lat-replay-memory-random-sample cold
Transition = collections.namedtuple("Transition", ("state", "action", "reward"))
class ReplayMemory:
    def __init__(self, capacity): self.memory, self.capacity, self.position = [], capacity, 0
    def push(self, *args):
        if len(self.memory) < self.capacity: self.memory.append(None)
        self.memory[self.position] = Transition(*args)
        self.position = (self.position + 1) % self.capacity
    def sample(self, n): return random.sample(self.memory, n)
    def __len__(self): return len(self.memory)
memory, q, bs = ReplayMemory(6), jnp.zeros((2, 3)), 3
random.seed(1)
---
for i in range(4):
    s = X[(len(memory) + i) % len(X)]
    a = random.randint(0, 1)
    memory.push(s, a, float(s[a]))
batch = Transition(*zip(*memory.sample(min(bs, len(memory)))))
states, actions, rewards = jnp.stack(batch.state), jnp.array(batch.action), jnp.array(batch.reward)
def td(q): return jnp.mean((jnp.take_along_axis(states @ q.T, actions[:, None], 1)[:, 0] - rewards) ** 2)
loss, g = jax.value_and_grad(td)(q)
q = q - 0.1 * g
print(len(memory), memory.position, f"{loss:.4f}", rewards.dtype)
---
bs = 5
---
memory = ReplayMemory(3)
---
random.seed(9); q = jnp.ones((2, 3))

### lat-running-normaliser-of-observations
class RunningMeanStd:
    def __init__(self, shape, eps=1e-4):
        self.mean, self.var, self.count = jnp.zeros(shape), jnp.ones(shape), eps
    def update(self, x):
        bm, bv, bc = x.mean(0), x.var(0), x.shape[0]
        delta, tot = bm - self.mean, self.count + bc
        self.mean = self.mean + delta * bc / tot
        self.var = (self.var * self.count + bv * bc + delta ** 2 * self.count * bc / tot) / tot
        self.count = tot
    def __call__(self, x, clip=None):
        z = (x - self.mean) / jnp.sqrt(self.var + 1e-8)
        return z if clip is None else jnp.clip(z, -clip, clip)
rms, clip, scale = RunningMeanStd(3), None, 1.0
---
for chunk in np.array_split(X * scale, 3):
    rms.update(chunk)
z = rms(X, clip)
print(f"count {rms.count:.4f}, mean of z {jnp.abs(z.mean(0)).max():.3f}", type(rms.count).__name__)
z.max() <= (clip or jnp.inf)
---
clip = 1.0
---
scale = 5
---
rms = RunningMeanStd(3, eps=1); clip = 2

### lat-gridworld-value-iteration-rendered
class GridWorld:
    symbols = {0: ".", 1: "#", 2: "G"}
    def __init__(self, layout): self.grid = np.array([[".#G".index(c) for c in row] for row in layout.split("/")])
    @functools.cached_property
    def transitions(self):
        h, w = self.grid.shape
        T = np.zeros((4, h * w), int)
        for a, (dr, dc) in enumerate([(0, 1), (1, 0), (0, -1), (-1, 0)]):
            for r, c in itertools.product(range(h), range(w)):
                nr, nc = np.clip(r + dr, 0, h - 1), np.clip(c + dc, 0, w - 1)
                T[a, r * w + c] = r * w + c if self.grid[nr, nc] == 1 else nr * w + nc
        return T
    def render(self, pi):
        flat = self.grid.ravel()
        chars = ["→↓←↑"[int(p)] if g == 0 else self.symbols[int(g)] for g, p in zip(flat, pi)]
        w = self.grid.shape[1]
        return "\n".join("".join(chars[i:i + w]) for i in range(0, len(chars), w))
world, gamma, tol = GridWorld("..G/.#./..."), 0.9, 1e-3
---
T = jnp.array(world.transitions)
goal = jnp.array(world.grid.ravel() == 2)
def backup(V):
    Q = jnp.where(goal[T], 1.0, -0.01) + gamma * V[T]
    return jnp.where(goal, 0.0, Q.max(0)), Q
def cond(c): return (c[1] > tol) & (c[2] < 50)
def body(c):
    V, _ = backup(c[0])
    return V, jnp.abs(V - c[0]).max(), c[2] + 1
V, delta, n_sweeps = jax.lax.while_loop(cond, body, (jnp.zeros(T.shape[1]), jnp.inf, 0))
pi = backup(V)[1].argmax(0)
print(world.render(pi))
print(f"{n_sweeps} sweeps, delta {delta:.4f}")
---
world = GridWorld(".#G/.../.#.")
---
gamma = 0.5; tol = 0.1
---
world.grid[0, 0] = 1; world.__dict__.pop("transitions", None)

### lat-jitted-step-reads-globals
lr, momentum, weight_decay = 0.1, 0.9, 0.0
w, v = jnp.zeros(3), jnp.zeros(3)
@jax.jit
def step(w, v):
    g = jax.grad(mse)(w, X, y) + weight_decay * w
    v = momentum * v - lr * g
    return w + v, v
def reset():
    global w, v
    w, v = jnp.zeros(3), jnp.zeros(3)
---
@jax.jit
def fresh_step(w, v):
    g = jax.grad(mse)(w, X, y) + weight_decay * w
    v = momentum * v - lr * g
    return w + v, v
for _ in range(3):
    w, v = fresh_step(w, v)
speed = jnp.linalg.norm(v)
print(f"lr={lr} mu={momentum} |v|={speed:.4f} loss={mse(w, X, y):.4f}")
---
momentum = 0.0
---
lr = 0.01; reset()
---
weight_decay = 1; reset()

### lat-tests-collected-and-run
def softmax(x, axis=-1):
    e = jnp.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)
def layer_norm(x, eps=1e-5): return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + eps)
---
def test_softmax_sums_to_one():
    np.testing.assert_allclose(softmax(X).sum(-1), 1.0, rtol=1e-5)
def test_softmax_shift_invariant():
    np.testing.assert_allclose(softmax(X + 100.0), softmax(X), rtol=1e-3)
def test_softmax_matches_jax():
    assert jnp.allclose(softmax(X), jax.nn.softmax(X), atol=1e-6), "differs from jax.nn"
def test_layer_norm_stats():
    z = layer_norm(X)
    assert abs(float(z.mean())) < 1e-4
    assert z.shape == X.shape and z.dtype == jnp.float32
def test_gradient_finite():
    g = jax.grad(lambda v: softmax(v)[0].max())(jnp.asarray(X))
    assert bool(jnp.isfinite(g).all())
outcome = {}
for name, fn in sorted((n, f) for n, f in globals().items() if n.startswith("test_") and callable(f)):
    try:
        fn()
        outcome[name] = "PASSED"
    except AssertionError as e:
        outcome[name] = "FAILED"
print("\n".join(f"{v} {k}" for k, v in outcome.items()))
print(f"{sum(v == 'PASSED' for v in outcome.values())}/{len(outcome)} passed")
---
def softmax(x, axis=-1): return jnp.exp(x) / jnp.exp(x).sum(axis, keepdims=True)
---
def softmax(x, axis=0):
    e = jnp.exp(x)
    return e / e.sum(0)
---
def layer_norm(x, eps=1.0): return x / jnp.sqrt((x ** 2).mean(-1, keepdims=True) + eps)

### lat-unittest-suite-in-notebook
import unittest
def moving_average(x, k): return jnp.convolve(x, jnp.ones(k) / k, mode="valid")
sig = jnp.arange(6.0)
---
class TestMovingAverage(unittest.TestCase):
    def setUp(self): self.k = 3
    def test_length(self): self.assertEqual(len(moving_average(sig, self.k)), len(sig) - self.k + 1)
    def test_constant(self): np.testing.assert_allclose(moving_average(jnp.ones(5), self.k), 1.0, rtol=1e-6)
    def test_linear(self):
        out = moving_average(sig, self.k)
        for a, b in zip(out, sig[1:-1]):
            self.assertAlmostEqual(float(a), float(b), places=4)
stream = io.StringIO()
suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestMovingAverage)
result = unittest.TextTestRunner(stream=stream, verbosity=0).run(suite)
counts = (result.testsRun, len(result.failures), len(result.errors), result.wasSuccessful())
del stream, suite, result
counts
---
def moving_average(x, k): return jnp.convolve(x, jnp.ones(k) / k, mode="same")
---
sig = jnp.arange(6.0) ** 2
---
sig = "not a signal"

### lat-errors-per-config-collected
configs = [{"shape": (3,)}, {"shape": (4,)}, {"shape": (3, 1)}, {"shape": (3,), "lr": "fast"}]
strict = False
def run(shape, lr=0.1):
    w = jnp.zeros(shape)
    loss, g = jax.value_and_grad(mse)(w, X, y)
    return w - lr * g, loss
---
report = []
for i, c in enumerate(configs):
    try:
        w, loss = run(**c)
        if strict and w.ndim != 1:
            raise ValueError(f"config {i}: expected a vector, got {w.ndim}d")
    except ValueError as e:
        report.append((i, "value", str(e).startswith("config")))
    except TypeError as e:
        report.append((i, "type", False))
    else:
        report.append((i, "ok", loss))
    finally:
        n_tried = i + 1
ok = [r for r in report if r[1] == "ok"]
print(n_tried, [r[:2] for r in report])
len(ok), w.shape
---
strict = True
---
configs = configs[1:]
---
def run(shape, lr=0.1):
    if shape[0] != 3: raise KeyError("nope")
    return jnp.zeros(shape), 0.0
configs = [{"shape": (3,)}]

### lat-sanity-asserts-before-training
def check_batch(xb, yb):
    assert xb.ndim == 2, f"expected 2d, got {xb.shape}"
    assert len(xb) == len(yb), "length mismatch"
    assert np.isfinite(xb).all(), "non-finite input"
    return True
w, batch = jnp.zeros(3), (X[:8], y[:8])
---
checked = check_batch(*batch)
l0 = mse(w, *batch)
w1 = w - 0.1 * jax.grad(mse)(w, *batch)
l1 = mse(w1, *batch)
assert l1 <= l0, f"loss went up: {l0:.3f} -> {l1:.3f}"
w = w1
print(f"ok: {l0:.4f} -> {l1:.4f}")
---
batch = (X[:8] * 100, y[:8])
---
batch = (X[:8], y[:7])
---
batch = (X[8:16], y[8:16])
---
bad = X[:8].copy(); bad[0, 0] = np.nan; batch = (bad, y[:8])

### lat-gradient-check-central-difference
import jax.flatten_util
def f(p): return jnp.sum(jnp.tanh(p["a"]) ** 2) + p["b"] * jnp.prod(p["a"])
params, h, tol = {"a": jnp.array([0.3, -0.2, 0.5]), "b": jnp.float32(1.5)}, 1e-2, 1e-2
---
flat, unravel = jax.flatten_util.ravel_pytree(params)
analytic, _ = jax.flatten_util.ravel_pytree(jax.grad(f)(params))
numeric = np.zeros_like(flat)
for i in range(flat.size):
    e = np.zeros(flat.size, np.float32); e[i] = h
    numeric[i] = (f(unravel(flat + e)) - f(unravel(flat - e))) / (2 * h)
err = np.abs(numeric - analytic) / (np.abs(analytic) + 1e-3)
status = "OK" if err.max() < tol else "MISMATCH"
del unravel, _, err
print(status, type(numeric).__name__, flat.shape)
---
h = 0.5
---
@jax.custom_jvp
def f(p): return jnp.sum(p["a"]) + p["b"]
@f.defjvp
def f_jvp(primals, tangents): return f(*primals), 2.0 * (jnp.sum(tangents[0]["a"]) + tangents[0]["b"])
h = 1e-2

### lat-newton-while-python-and-lax
def func(x): return x ** 3 - 2 * x - 5
x0, tol, max_iter = 2.0, 1e-4, 20
---
dfunc = jax.grad(func)
x, n, trail = x0, 0, []
while abs(func(x)) > tol and n < max_iter:
    x = x - func(x) / dfunc(x)
    trail.append(x)
    n += 1
def cond(c): return (jnp.abs(func(c[0])) > tol) & (c[1] < max_iter)
def body(c): return c[0] - func(c[0]) / dfunc(c[0]), c[1] + 1
x_lax, n_lax = jax.lax.while_loop(cond, body, (jnp.float32(x0), 0))
print(f"python: {x:.4f} in {n}; lax: {x_lax:.4f} in {n_lax}", type(x).__name__)
assert n == n_lax, "took different numbers of steps"
---
x0 = 3.0
---
def func(x): return jnp.cos(x) - x
---
x0 = 1; max_iter = 1

### lat-switch-on-mode-and-cond
modes = ["relu", "tanh", "gelu"]
mode, hard = "tanh", False
fns = [jax.nn.relu, jnp.tanh, jax.nn.gelu]
---
idx = modes.index(mode)
@jax.jit
def act(i, v): return jax.lax.switch(i, fns, v)
a = act(idx, X)
all_acts = jax.vmap(act, (0, None))(jnp.arange(len(fns)), X[0])
gated = jax.lax.cond(jnp.asarray(hard), lambda v: (v > 0).astype(v.dtype), lambda v: jax.nn.sigmoid(v), a)
same = [m for m, row in zip(modes, all_acts) if bool(jnp.allclose(row, a[0], atol=1e-5))]
print(mode, same, f"{gated.mean():.4f}")
---
mode = "gelu"
---
hard = True
---
fns[0] = lambda v: -v; mode = "relu"

### lat-prng-keyseq-helper
class KeySeq:
    def __init__(self, seed): self._key, self.used = jax.random.PRNGKey(seed), 0
    def __next__(self):
        self._key, sub = jax.random.split(self._key)
        self.used += 1
        return sub
    def __iter__(self): return self
    def take(self, n): return [next(self) for _ in range(n)]
keys, dims = KeySeq(0), (3, 4)
---
params = {name: jax.random.normal(k, shape) for (name, shape), k in zip({"w": dims, "b": dims[1:]}.items(), keys)}
drop = jax.random.bernoulli(next(keys), 0.8, (len(X), dims[1]))
shuffled = jax.random.permutation(next(keys), jnp.arange(6))
noise = jnp.stack([jax.random.uniform(k) for k in keys.take(3)])
out = (X @ params["w"] + params["b"]) * drop
print(keys.used, shuffled.tolist(), f"{noise.mean():.4f}")
---
dims = (3, 2)
---
keys = KeySeq(42)
---
keys.take(5); dims = (3, 1)

### lat-bootstrap-ci-vmapped needs=pandas tolerance=1e-4
import pandas as pd
n_boot, alpha, stat = 50, 0.1, "median"
groups = pd.Series(np.where(cls == 1, "treated", "control"))
---
stat_fn = {"mean": jnp.mean, "median": jnp.median, "std": jnp.std}[stat]
@functools.partial(jax.jit, static_argnames="n")
def bootstrap(key, data, n):
    idx = jax.random.randint(key, (n, data.shape[0]), 0, data.shape[0])
    return jax.vmap(lambda i: stat_fn(data[i]))(idx)
rows = []
for i, (name, ix) in enumerate(groups.groupby(groups).groups.items()):
    boots = bootstrap(jax.random.key(i), jnp.asarray(y[ix]), n=n_boot)
    lo, hi = jnp.quantile(boots, jnp.array([alpha / 2, 1 - alpha / 2]))
    rows.append([name, len(ix), float(stat_fn(y[ix])), float(lo), float(hi)])
ci = pd.DataFrame(rows, columns=["group", "n", stat, "low", "high"]).set_index("group")
overlap = bool(ci["low"].max() <= ci["high"].min())
print(ci["n"].to_dict(), overlap, list(ci.columns))
---
stat = "mean"
---
n_boot = 20; alpha = 0.5
---
groups = pd.Series(np.arange(24) % 3).map({0: "a", 1: "b", 2: "c"})

### lat-dtype-policy-dict
policy = {"param": jnp.float32, "compute": jnp.bfloat16, "output": jnp.float32}
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2), "n": jnp.int32(0)}
def cast(tree, dtype): return jax.tree.map(lambda a: a.astype(dtype) if jnp.issubdtype(a.dtype, jnp.floating) else a, tree)
---
params = cast(params, policy["param"])
def apply(p, x):
    c = cast(p, policy["compute"])
    return (x.astype(policy["compute"]) @ c["w"] + c["b"]).astype(policy["output"])
out = apply(params, jnp.asarray(X))
exact = X @ np.ones((3, 2), np.float32)
rel = jnp.abs(out - exact).max() / jnp.abs(exact).max()
params["n"] += 1
dtypes = {k: v.dtype.name for k, v in params.items()}
print(dtypes, out.dtype, bool(rel < 0.05), np.result_type(out.dtype, np.float16))
---
policy["compute"] = jnp.float32
---
policy.update(param=jnp.float16, output=jnp.bfloat16)

### lat-augment-images-with-keys
imgs = (rng.uniform(size=(4, 6, 6, 1)) * 255).astype(np.uint8)
pad, flip_p, seed, normalise = 1, 0.5, 0, True
---
def random_crop(key, img):
    padded = jnp.pad(img, ((pad, pad), (pad, pad), (0, 0)), mode="reflect")
    i, j = jax.random.randint(key, (2,), 0, 2 * pad + 1)
    return jax.lax.dynamic_slice(padded, (i, j, 0), img.shape)
def random_flip(key, img): return jnp.where(jax.random.uniform(key) < flip_p, img[:, ::-1], img)
@jax.jit
@jax.vmap
def augment(key, img):
    k1, k2 = jax.random.split(key)
    return random_flip(k2, random_crop(k1, img))
batch = imgs.astype(np.float32) / 255.0
if normalise:
    batch = (batch - batch.mean((0, 1, 2))) / batch.std((0, 1, 2))
views = augment(jax.random.split(jax.random.key(seed), len(batch)), batch)
back = np.clip(np.asarray(views) * 50 + 128, 0, 255).astype(np.uint8)
changed = [bool(jnp.any(v != b)) for v, b in zip(views, batch)]
print(back.dtype, back.shape, f"{views.mean():.4f}", sum(changed))
---
flip_p = 0.0
---
pad = 2; seed = 3
---
normalise = False; imgs = imgs[:2]

### lat-text-vocabulary-and-bag-classifier
docs = ["good movie great fun", "bad movie awful", "great great acting", "awful boring bad plot"]
labels = [1, 0, 1, 0]
min_count, lr, queries = 1, 0.5, ["great plot", "boring zzz"]
def tokenize(s): return s.lower().split()
---
counts = collections.Counter(t for d in docs for t in tokenize(d))
vocab = {"<pad>": 0, "<unk>": 1}
for tok, c in counts.most_common():
    if c >= min_count: vocab.setdefault(tok, len(vocab))
def encode(s, L=5):
    ids = [vocab.get(t, 1) for t in tokenize(s)][:L]
    return ids + [0] * (L - len(ids))
ids, t = jnp.array([encode(d) for d in docs]), jnp.array(labels)
emb = {"E": 0.1 * jax.random.normal(jax.random.key(0), (len(vocab), 3)), "w": jnp.ones(3)}
def logits(p, ids):
    m = (ids > 0)[..., None]
    return ((p["E"][ids] * m).sum(1) / m.sum(1)) @ p["w"]
for _ in range(4):
    g = jax.grad(lambda p: jnp.mean(jax.nn.softplus(-(2 * t - 1) * logits(p, ids))))(emb)
    emb = jax.tree.map(lambda a, b: a - lr * b, emb, g)
for q in queries:
    p = jax.nn.sigmoid(logits(emb, jnp.array([encode(q)])))[0]
    print(f"{q!r:>15}: {p:.4f} -> {'pos' if p > 0.5 else 'neg'}")
len(vocab)
---
queries = ["bad bad"]
---
min_count = 2
---
docs.append("fun fun fun"); labels.append(1)
---
def tokenize(s): return list(s.replace(" ", ""))

### lat-windows-of-a-resampled-series needs=pandas tolerance=1e-4
import pandas as pd
ts = pd.Series(np.sin(np.arange(48) / 4) + np.arange(48) * 0.01, index=pd.date_range("2024-01-01", periods=48, freq="h"))
rule, window, horizon = "4h", 4, 1
---
s = ts.resample(rule).mean()
s = (s - s.mean()) / s.std()
values = s.to_numpy(dtype=np.float32)
wins = np.lib.stride_tricks.sliding_window_view(values, window + horizon)
inputs, targets = wins[:, :window], wins[:, -1]
split = int(0.75 * len(inputs))
def rnn(p, seq):
    def cell(h, x):
        h = jnp.tanh(p["wh"] * h + p["wx"] * x)
        return h, h
    h, _ = jax.lax.scan(cell, jnp.zeros(3), seq)
    return h @ p["wo"]
p = {"wh": jnp.full(3, 0.5), "wx": jnp.array([0.1, 0.5, 1.0]), "wo": jnp.ones(3) / 3}
loss = jax.jit(lambda p, x, t: jnp.mean((jax.vmap(rnn, (None, 0))(p, x) - t) ** 2))
for i in range(3):
    p = jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(loss)(p, inputs[:split], targets[:split]))
pred = pd.Series(np.asarray(jax.vmap(rnn, (None, 0))(p, inputs)), index=s.index[window + horizon - 1:])
naive = float(np.mean((inputs[split:, -1] - targets[split:]) ** 2))
print(f"model {loss(p, inputs[split:], targets[split:]):.4f} naive {naive:.4f}", pred.index[0].isoformat(), len(pred))
---
rule = "2h"
---
window, horizon = 3, 2
---
ts = ts.iloc[:32] * 2

### lat-ratings-factorisation needs=pandas tolerance=1e-4
import pandas as pd
ratings = pd.DataFrame({"user": ["ann", "bob", "ann", "cid", "bob", "dee"], "item": ["x", "x", "y", "z", "z", "y"], "r": [5, 4, 3, 1, 2, 4]})
rank, reg, lr, iters = 2, 0.1, 0.1, 5
---
u_codes, users = pd.factorize(ratings["user"])
i_codes, items = pd.factorize(ratings["item"], sort=True)
key = jax.random.PRNGKey(0)
U = jax.random.normal(key, (len(users), rank)) * 0.3
V = jax.random.normal(jax.random.fold_in(key, 1), (len(items), rank)) * 0.3
mu = ratings["r"].mean()
target = ratings["r"].to_numpy() - mu
def objective(U, V): return jnp.mean(((U[u_codes] * V[i_codes]).sum(1) - target) ** 2) + reg * (jnp.mean(U ** 2) + jnp.mean(V ** 2))
for _ in range(iters):
    gU, gV = jax.grad(objective, (0, 1))(U, V)
    U, V = U - lr * gU, V - lr * gV
scores = pd.DataFrame(np.asarray(U @ V.T) + mu, index=users, columns=items).clip(1, 5)
seen = ratings.pivot_table(index="user", columns="item", values="r").reindex(index=users, columns=items).notna()
recs = {u: scores.loc[u][~seen.loc[u]].idxmax() if (~seen.loc[u]).any() else None for u in users}
print(scores.shape, list(recs), f"{objective(U, V):.4f}")
---
ratings.loc[len(ratings)] = ["eve", "w", 5]
---
rank, reg = 1, 0.0
---
ratings = ratings[ratings["r"] > 1]

### lat-jsonl-logger-as-context
class JsonlLogger:
    def __init__(self, path, flush_every=2): self.path, self.every, self.rows = Path(path), flush_every, []
    def __enter__(self): self.fh = open(self.path, "a"); return self
    def __exit__(self, exc_type, exc, tb):
        self._flush(); self.fh.close(); del self.fh
        if exc_type is FloatingPointError:
            print("diverged:", exc)
            return True
    def log(self, step, **metrics):
        self.rows.append({"step": step, **{k: round(float(v), 1) for k, v in metrics.items()}})
        if len(self.rows) >= self.every: self._flush()
    def _flush(self):
        for r in self.rows: self.fh.write(json.dumps(r) + "\n")
        self.rows.clear()
lr, steps = 0.1, 3
logger = JsonlLogger("log.jsonl")
---
w = jnp.zeros(3)
with logger as lg:
    for step in range(steps):
        loss, g = jax.value_and_grad(mse)(w, X, y)
        if not jnp.isfinite(loss) or loss > 1e3:
            raise FloatingPointError(f"step {step}")
        w = w - lr * g
        lg.log(step, loss=loss, wnorm=jnp.linalg.norm(w))
del lg
lines = [json.loads(l) for l in logger.path.read_text().splitlines()]
print(len(lines), lines[-1]["step"], step)
---
lr = 50.0
---
lr, steps = 0.2, 5
---
logger = JsonlLogger("other.jsonl", flush_every=1)

### lat-callbacks-hooked-trainer
class Callback:
    def on_epoch_end(self, trainer, logs): ...
    def on_train_end(self, trainer): ...
class History(Callback):
    def __init__(self): self.epochs = []
    def on_epoch_end(self, trainer, logs): self.epochs.append(logs)
class ReduceLROnPlateau(Callback):
    def __init__(self, factor=0.5, patience=1): self.factor, self.patience, self.best, self.wait = factor, patience, np.inf, 0
    def on_epoch_end(self, trainer, logs):
        if logs["loss"] < self.best * 0.9: self.best, self.wait = logs["loss"], 0
        else:
            self.wait += 1
            if self.wait >= self.patience: trainer.lr *= self.factor; self.wait = 0
class PrintEnd(Callback):
    def on_train_end(self, trainer): print(f"done: {trainer.epoch} epochs, lr={trainer.lr:g}")
class Trainer:
    def __init__(self, lr, callbacks): self.w, self.lr, self.callbacks, self.epoch = jnp.zeros(3), lr, callbacks, 0
    def fit(self, x, t, epochs):
        for _ in range(epochs):
            loss, g = jax.value_and_grad(mse)(self.w, x, t)
            self.w = self.w - self.lr * g
            self.epoch += 1
            for cb in self.callbacks: cb.on_epoch_end(self, {"loss": float(loss), "lr": self.lr})
        for cb in self.callbacks: cb.on_train_end(self)
        return next((cb for cb in self.callbacks if isinstance(cb, History)), None)
trainer, epochs = Trainer(0.3, [History(), ReduceLROnPlateau(), PrintEnd()]), 3
---
hist = trainer.fit(X, y, epochs)
if hist is not None:
    lrs = [e["lr"] for e in hist.epochs]
    print(len(lrs), f"{hist.epochs[-1]['loss']:.4f}")
trainer.callbacks[0] is hist
---
trainer.callbacks.pop()
---
trainer = Trainer(0.9, [PrintEnd()]); epochs = 2
---
class Loud(Callback):
    def on_epoch_end(self, trainer, logs): print("!", trainer.epoch)
trainer.callbacks.append(Loud()); epochs = 1

### lat-checkpoint-folder-keeps-last watched
ckpt_dir, keep, w, step = Path("ckpt"), 2, jnp.zeros(3), 0
def save(w, step):
    ckpt_dir.mkdir(exist_ok=True)
    np.save(ckpt_dir / f"step_{step:05d}.npy", np.round(np.asarray(w), 1))
    for old in sorted(ckpt_dir.glob("step_*.npy"))[:-keep]:
        old.unlink()
def latest():
    files = sorted(ckpt_dir.glob("step_*.npy")) if ckpt_dir.exists() else []
    return (jnp.asarray(np.load(files[-1])), int(files[-1].stem.split("_")[1])) if files else (None, 0)
---
restored, start = latest()
if restored is not None:
    w = restored
for step in range(start + 1, start + 4):
    w = w - 0.1 * jax.grad(mse)(w, X, y)
    save(w, step)
left = sorted(p.name for p in ckpt_dir.iterdir())
print(f"started at {start}, now {step}: {left}")
---
keep = 1
---
for p in ckpt_dir.glob("*.npy"): p.unlink()
---
np.save(ckpt_dir / "step_00100.npy", np.ones(3, np.float32))

### lat-seed-everything-then-draw
def seed_everything(seed):
    random.seed(seed)
    np.random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    return jax.random.PRNGKey(seed)
seed, frac = 123, 0.5
---
key = seed_everything(seed)
idx = np.random.permutation(len(X))
n_train = int(frac * len(X))
train_idx, val_idx = idx[:n_train], idx[n_train:]
key, init_key, drop_key = jax.random.split(key, 3)
w = jax.random.normal(init_key, (3,)) * 0.1
order = random.sample(range(4), 4)
for chunk in np.array_split(train_idx, 4):
    mask = jax.random.bernoulli(jax.random.fold_in(drop_key, int(chunk[0])), 0.9, (len(chunk), 3))
    w = w - 0.1 * jax.grad(mse)(w, X[chunk] * mask, y[chunk])
print(order, os.environ["PYTHONHASHSEED"], f"val {mse(w, X[val_idx], y[val_idx]):.4f}")
next_draw = np.random.rand()
---
seed = 7
---
frac = 0.75
---
def seed_everything(seed): return jax.random.key(seed)

### lat-attribute-dict-config-locked
class ConfigDict(dict):
    def __getattr__(self, k):
        try: return self[k]
        except KeyError: raise AttributeError(k) from None
    def __setattr__(self, k, v):
        if self.get("_locked") and k not in self: raise KeyError(f"config is locked, no {k!r}")
        self[k] = v
    def lock(self): self["_locked"] = True; return self
config = ConfigDict(lr=0.1, steps=3, model=ConfigDict(kind="poly", degree=2)).lock()
---
def features(x):
    if config.model.kind == "poly":
        return jnp.concatenate([x ** d for d in range(1, config.model.degree + 1)], -1)
    return jnp.sin(x * config.model.get("freq", 1.0))
phi = features(X)
w = jnp.zeros(phi.shape[-1])
for _ in range(config.steps):
    w = w - config.lr * jax.grad(mse)(w, phi, y)
try:
    config.momentum = 0.9
except KeyError as e:
    note = e.args[0]
print(note, {k: v for k, v in config.items() if not k.startswith("_")})
f"{mse(w, phi, y):.4f}"
---
config.model.degree = 1
---
config.model = ConfigDict(kind="sin", freq=2.0)
---
config["lr"], config["steps"] = 0.01, 1

### lat-namedtuple-train-state-scan
class TrainState(NamedTuple):
    w: jax.Array
    m: jax.Array
    step: int
    key: jax.Array
class Metrics(NamedTuple):
    loss: jax.Array
    gnorm: jax.Array
state = TrainState(jnp.zeros(3), jnp.zeros(3), 0, jax.random.key(0))
n, bs, beta, unroll = 4, 6, 0.9, 1
---
def step_fn(s, _):
    key, sub = jax.random.split(s.key)
    i = jax.random.choice(sub, len(X), (bs,), replace=False)
    loss, g = jax.value_and_grad(mse)(s.w, jnp.asarray(X)[i], jnp.asarray(y)[i])
    m = beta * s.m + (1 - beta) * g
    return TrainState(s.w - 0.3 * m, m, s.step + 1, key), Metrics(loss, jnp.linalg.norm(g))
state, metrics = jax.lax.scan(step_fn, state, length=n, unroll=unroll)
last = jax.tree.map(lambda a: a[-1].item(), metrics)
print(f"step {state.step}: " + ", ".join(f"{k}={v:.4f}" for k, v in last._asdict().items()))
type(state).__name__, type(state.step).__name__
---
beta = 0.5
---
n, unroll = 6, 2
---
state = state._replace(step=0, w=jnp.ones(3)); bs = 24

### lat-vmapped-seeds-and-learning-rates needs=pandas tolerance=1e-4
import pandas as pd
seeds, lrs, n = [0, 1, 2], jnp.array([0.01, 0.1]), 4
---
def train(key, lr):
    w0 = jax.random.normal(key, (3,))
    def step(w, _):
        l, g = jax.value_and_grad(mse)(w, X, y)
        return w - lr * g, l
    return jax.lax.scan(step, w0, None, length=n)
keys = jnp.stack([jax.random.PRNGKey(s) for s in seeds])
ws, curves = jax.jit(jax.vmap(jax.vmap(train, (None, 0)), (0, None)))(keys, lrs)
final = pd.DataFrame(np.asarray(curves[..., -1]), index=pd.Index(seeds, name="seed"), columns=[f"lr={float(l):.2f}" for l in lrs])
best_seed, best_lr = np.unravel_index(int(curves[..., -1].argmin()), curves.shape[:2])
best_w = ws[best_seed, best_lr]
print(final.shape, list(final.columns), lrs[best_lr].item())
final.mean().idxmin()
---
lrs = jnp.array([0.05, 0.2, 0.4])
---
seeds = [10]; n = 2

### lat-early-stopping-counts-in-loop cold
@dataclasses.dataclass
class EarlyStopping:
    patience: int = 2
    min_delta: float = 1e-3
    mode: str = "min"
    best: float | None = None
    counter: int = 0
    stopped_epoch: int | None = None
    def step(self, epoch, value):
        v = -value if self.mode == "max" else value
        if self.best is None or v < self.best - self.min_delta:
            self.best, self.counter = v, 0
        else:
            self.counter += 1
        if self.counter >= self.patience:
            self.stopped_epoch = epoch
        return self.stopped_epoch is not None
es, lr, w, max_epochs = EarlyStopping(), 0.3, jnp.zeros(3), 6
---
tr, va = slice(0, 18), slice(18, None)
for epoch in range(max_epochs):
    w = w - lr * jax.grad(mse)(w, X[tr], y[tr])
    score = mse(w, X[va], y[va])
    if es.mode == "max":
        score = 1 - score / jnp.var(y[va])
    if es.step(epoch, score):
        print(f"early stop at epoch {epoch}")
        break
print(f"best {abs(es.best):.4f} counter {es.counter}", type(es.best).__name__)
---
es = EarlyStopping(patience=1, min_delta=0.5)
---
es, w = EarlyStopping(mode="max"), jnp.zeros(3)
---
lr = 0.0

### lat-observer-thread-reads-metrics watched
metrics = {"loss": [], "lr": 0.1, "status": "idle"}
lock = threading.Lock()
w = jnp.zeros(3)
def report():
    with lock:
        return f"{metrics['status']}: {len(metrics['loss'])} losses"
---
metrics["status"] = "training"
for i in range(3):
    loss, g = jax.value_and_grad(mse)(w, X, y)
    w = w - metrics["lr"] * g
    with lock:
        metrics["loss"].append(float(loss))
t = threading.Thread(target=lambda: metrics.update(summary=report()))
t.start(); t.join(); del t
metrics["status"] = "done"
print(metrics["summary"], "|", report())
---
metrics["lr"] = 0.5
---
metrics = {"loss": [0.0], "lr": 0.01, "status": "new"}

### lat-logging-module-training-log
logger = logging.Logger("train.lat")
logger.setLevel(logging.INFO)
fh = logging.FileHandler("train.log", mode="a", delay=True)
fh.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
logger.addHandler(fh)
w, log_every, level = jnp.zeros(3), 2, logging.INFO
---
logger.setLevel(level)
logger.info("config: log_every=%d", log_every)
for step in range(4):
    loss, g = jax.value_and_grad(mse)(w, X, y)
    w = w - 0.1 * g
    if step % log_every == 0:
        logger.info("step %d loss %.1f", step, loss)
    logger.debug("grad norm positive: %s", bool(jnp.linalg.norm(g) > 0))
if loss > 2:
    logger.warning("loss is still high")
n_lines = len(Path("train.log").read_text().splitlines()) if Path("train.log").exists() else 0
n_lines
---
level = logging.DEBUG
---
level = logging.WARNING; w = w * 0
---
log_every = 1; level = logging.INFO

### lat-figure-html-report-template
from string import Template
tmpl = Template("<h1>$title</h1><p>$n params, loss $loss</p><ul>$items</ul>")
title, widths = "Report", [2, 4]
---
items, results = [], {}
for h in widths:
    k1, k2 = jax.random.split(jax.random.key(h))
    p = {"a": jax.random.normal(k1, (3, h)), "b": jax.random.normal(k2, (h,))}
    f = lambda p: jnp.mean((jax.nn.relu(X @ p["a"]) @ p["b"] - y) ** 2)
    g = jax.grad(f)(p)
    p = jax.tree.map(lambda a, b: a - 0.01 * b, p, g)
    results[h] = (sum(l.size for l in jax.tree.leaves(p)), f(p))
    items.append(f"<li>width {h}: {results[h][1]:.1f}</li>")
best = min(results, key=lambda h: results[h][1])
html = tmpl.substitute(title=title, n=results[best][0], loss=f"{results[best][1]:.1f}", items="".join(items))
Path("report.html").write_text(html)
print(textwrap.shorten(html, 60))
---
title = "Second"
---
widths = [3]
---
tmpl = Template("$title|$n|$loss|$items")

### lat-singleton-registry-of-experiments
class Experiment:
    registry = {}
    def __init_subclass__(cls, name=None, **kw):
        super().__init_subclass__(**kw)
        Experiment.registry[name or cls.__name__.lower()] = cls
    def __init__(self, **hp): self.hp = {**getattr(self, "defaults", {}), **hp}
    def run(self): raise NotImplementedError
class Ridge(Experiment):
    defaults = {"l2": 0.1}
    def run(self): return jnp.linalg.solve(X.T @ X + self.hp["l2"] * jnp.eye(3), X.T @ y)
class Gradient(Experiment, name="gd"):
    defaults = {"lr": 0.1, "n": 3}
    def run(self):
        w = jnp.zeros(3)
        for _ in range(self.hp["n"]): w = w - self.hp["lr"] * jax.grad(mse)(w, X, y)
        return w
overrides = {"gd": {"n": 2}}
---
outcomes = {}
for name, cls_ in Experiment.registry.items():
    exp = cls_(**overrides.get(name, {}))
    try:
        outcomes[name] = exp.run()
    except NotImplementedError:
        print("skipping", name)
        continue
    print(f"{name:>8} {exp.hp} mse={mse(outcomes[name], X, y):.4f}")
agreement = {f"{a}-{b}": float(jnp.abs(outcomes[a] - outcomes[b]).max()) for a, b in itertools.combinations(outcomes, 2)}
---
overrides["gd"]["lr"] = 0.3
---
class Todo(Experiment): pass
---
class Mean(Experiment, name="ridge"):
    def run(self): return jnp.full(3, y.mean())

### lat-pca-kmeans-by-hand-with-frame needs=pandas tolerance=1e-4
import pandas as pd
k, n_iter, seed, whiten = 2, 3, 0, False
---
Xc = X - X.mean(0)
U, S, Vt = jnp.linalg.svd(Xc, full_matrices=False)
explained = S ** 2 / (S ** 2).sum()
Z = jnp.abs(Xc @ Vt[:2].T)
if whiten:
    Z = Z / Z.std(0)
centers = Z[jax.random.choice(jax.random.key(seed), len(Z), (k,), replace=False)]
for it in range(n_iter):
    d = jnp.linalg.norm(Z[:, None] - centers[None], axis=-1)
    assign = d.argmin(1)
    onehot = jax.nn.one_hot(assign, k)
    sizes = onehot.sum(0)
    centers = jnp.where(sizes[:, None] > 0, onehot.T @ Z / jnp.maximum(sizes[:, None], 1), centers)
df = pd.DataFrame({"cluster": np.asarray(assign), "target": y})
table = df.groupby("cluster").size().to_dict()
print(table, f"inertia {float((d.min(1) ** 2).sum()):.3f}", [f"{e:.2%}" for e in explained])
---
k = 3
---
whiten = True; seed = 4
---
X = np.vstack([X, X + 5]); y = np.r_[y, y]

### lat-polyak-and-checkpoint-average
class Averager:
    def __init__(self, window): self.buf = collections.deque(maxlen=window)
    def add(self, tree): self.buf.append(tree)
    def average(self): return jax.tree.map(lambda *ls: sum(ls) / len(ls), *self.buf)
avg, params = Averager(3), {"w": jnp.zeros(3), "b": jnp.zeros(())}
def loss(p, x, t): return jnp.mean((x @ p["w"] + p["b"] - t) ** 2)
lr, n = 0.3, 4
---
for i in range(n):
    xb, yb = X[i * 6:(i + 1) * 6], y[i * 6:(i + 1) * 6]
    params = jax.tree.map(lambda p, g: p - lr * g, params, jax.grad(loss)(params, xb, yb))
    avg.add(params)
mean = avg.average()
report = {"last": loss(params, X, y), "averaged": loss(mean, X, y), "held": len(avg.buf)}
newest_is_params = avg.buf[-1] is params
print({k: (f"{v:.4f}" if hasattr(v, "ndim") else v) for k, v in report.items()}, newest_is_params)
---
avg = Averager(1)
---
lr = 0.05; n = 2
---
avg.buf.clear(); params["b"] = 1.0

### lat-async-results-as-completed
from concurrent.futures import as_completed
def job(seed, n=3):
    w = jax.random.normal(jax.random.key(seed), (3,))
    for _ in range(n): w = w - 0.1 * jax.grad(mse)(w, X, y)
    if seed == 13: raise RuntimeError("bad luck")
    return seed, w, float(mse(w, X, y))
seeds = [0, 1, 2]
---
found, failed = {}, []
with ThreadPoolExecutor(2) as ex:
    futs = {ex.submit(job, s): s for s in seeds}
    for fut in as_completed(futs):
        try:
            s, w, l = fut.result()
            found[s] = (w, l)
        except RuntimeError as e:
            failed.append((futs[fut], str(e)))
del futs, fut, ex, s, w, l
found = dict(sorted(found.items()))
ens = jnp.mean(jnp.stack([w for w, _ in found.values()]), axis=0)
print({s: f"{l:.4f}" for s, (_, l) in found.items()}, failed)
mse(ens, X, y)
---
seeds = [4, 13]
---
def job(seed, n=1): return seed, jnp.ones(3) * seed, float(seed)
seeds = [2, 3]

### lat-profile-counts-of-traces-and-calls
calls = collections.Counter()
def counted(fn):
    @functools.wraps(fn)
    def wrapper(*a, **k):
        calls[fn.__name__] += 1
        return fn(*a, **k)
    return wrapper
@counted
def forward(w, x): return jnp.tanh(x @ w)
@counted
def objective(w, x, t): return jnp.mean((forward(w, x) - t) ** 2)
w, n = jnp.zeros(3), 3
---
before = dict(calls)
for i in range(n):
    l, g = jax.value_and_grad(objective)(w, X, y)
    w = w - 0.1 * g
out = forward(w, X)
delta = {k: calls[k] - before.get(k, 0) for k in calls}
print(delta, f"{l:.4f}")
---
n = 1
---
calls.clear()
---
@counted
def forward(w, x): return x @ w

### lat-memory-of-best-hyperparameters-namespace
ns = SimpleNamespace(lr=0.1, l1=0.0, steps=3, notes=[])
best_so_far = {"loss": float("inf"), "hp": None}
---
w = jnp.zeros(3)
for _ in range(ns.steps):
    g = jax.grad(lambda w: mse(w, X, y) + ns.l1 * jnp.abs(w).sum())(w)
    w = w - ns.lr * g
final = round(float(mse(w, X, y)), 3)
if final < best_so_far["loss"]:
    best_so_far.update(loss=final, hp={k: v for k, v in vars(ns).items() if k != "notes"})
    ns.notes.append(f"new best with lr={ns.lr}")
sparsity = int((jnp.abs(w) < 0.1).sum())
print(ns.notes[-1:], best_so_far["hp"], sparsity)
---
ns.lr = 0.3
---
ns.l1 = 5.0
---
ns = SimpleNamespace(**{**vars(ns), "steps": 6, "l1": 0})

### lat-incremental-csv-stats-by-group
Path("in").mkdir()
for i in range(3):
    np.savetxt(f"in/part{i}.csv", X[i * 8:(i + 1) * 8, :2], delimiter=",", header="u,v", comments="", fmt="%.3f")
agg = {}
pattern = "part*.csv"
---
for path in sorted(Path("in").glob(pattern)):
    arr = jnp.asarray(np.loadtxt(path, delimiter=",", skiprows=1), dtype=jnp.float32)
    n, s, ss = agg.get(path.stem, (0, 0.0, 0.0))
    agg[path.stem] = (n + arr.shape[0], s + arr.sum(0), ss + (arr ** 2).sum(0))
total_n = sum(a[0] for a in agg.values())
mean = sum(a[1] for a in agg.values()) / total_n
std = jnp.sqrt(sum(a[2] for a in agg.values()) / total_n - mean ** 2)
with open("stats.txt", "w") as f:
    print(f"files: {len(agg)}", f"rows: {total_n}", sep="\n", file=f)
print(Path("stats.txt").read_text().split(), std.shape)
---
np.savetxt("in/part9.csv", np.ones((2, 2)), delimiter=",", header="u,v", comments="")
---
agg.clear(); pattern = "part[01].csv"

### lat-linear-interp-lookup-and-calibration
table = np.array([[0.0, 1.0], [0.5, 1.5], [1.0, 4.0]])
offset, method = 0.0, "interp"
def calibrate(v, table, method):
    if method == "interp":
        return jnp.interp(v, table[:, 0], table[:, 1])
    c = jnp.polyfit(table[:, 0], table[:, 1], deg=1)
    return jnp.polyval(c, v)
---
raw = jnp.linspace(-0.2, 1.2, 6)
cal = calibrate(raw + offset, table, method)
slope = jax.vmap(jax.grad(lambda v: calibrate(v + offset, table, method)))(raw)
table[0, 1] += 0.1
for r, c, s in zip(raw.tolist(), cal.tolist(), np.asarray(slope)):
    print(f"{r:+.2f} -> {c:.3f} (slope {s:.2f})")
np.savetxt("cal.txt", np.round(table, 2), fmt="%.2f")
---
method = "poly"
---
offset = 0.25
---
table = np.vstack([table, [2.0, 5.0]]); method = "interp"
""",
)
