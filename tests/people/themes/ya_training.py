"""Training loops with jitted steps, early stopping, schedules, accumulation, checkpoints and restarts."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, enum, functools, io, itertools, json, math, operator, os, pickle, random, time, types
from collections import Counter, defaultdict, deque
from functools import partial, wraps
from typing import NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
import optax
rng = np.random.default_rng(0)
X = rng.normal(size=(12, 3)).astype(np.float32); Y = (X @ np.array([1.0, -2.0, 0.5], np.float32) + 0.1).astype(np.float32)
"""

CELLS = written(
    PRELUDE,
    r"""
### ya-jitted-step-printed-every-n-with-early-break
epochs, every, patience = 10, 3, 2
@jax.jit
def step(p, x, y, lr):
    l, g = jax.value_and_grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(p)
    return jax.tree.map(lambda a, b: a - lr * b, p, g), l
---
params = {"w": jnp.zeros(3), "b": jnp.float32(0)}
best, bad, lr = float("inf"), 0, 0.4
for epoch in range(epochs):
    params, l = step(params, X, Y, lr)
    if epoch % every == 0:
        print(f"epoch {epoch:02d} loss {l:.3f} lr {lr:g}")
    if l < best * 0.8:
        best, bad = l, 0
    else:
        bad += 1
        lr *= 0.5
        if bad >= patience:
            print("stop at", epoch)
            break
else:
    print("ran through")
best = round(float(best), 3)
---
patience = 1
---
epochs, every = 4, 1
---
Y = Y * 0
---
X, Y = X[:5], Y[:5] + 1

### ya-generator-loader-shuffles-and-drops-last
class Loader:
    def __init__(self, *arrays, bs, seed=0, drop_last=True):
        self.arrays, self.bs, self.seed, self.drop_last, self.epoch = arrays, bs, seed, drop_last, 0
    def __len__(self):
        n = len(self.arrays[0])
        return n // self.bs if self.drop_last else -(-n // self.bs)
    def __iter__(self):
        order = np.random.default_rng(self.seed + self.epoch).permutation(len(self.arrays[0]))
        self.epoch += 1
        for i in range(len(self)):
            ix = order[i * self.bs : (i + 1) * self.bs]
            yield tuple(a[ix] for a in self.arrays)
dl = Loader(X, Y, bs=5)
tx = optax.sgd(0.1, momentum=0.9)
w0 = jnp.zeros(3)
---
w, st = w0, tx.init(w0)
@jax.jit
def train_step(w, st, x, y):
    l, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    u, st = tx.update(g, st, w)
    return optax.apply_updates(w, u), st, l
hist = []
for ep in range(2):
    losses = []
    for i, (xb, yb) in enumerate(dl):
        w, st, l = train_step(w, st, xb, yb)
        losses.append(l)
    hist.append(float(jnp.mean(jnp.stack(losses))))
    print(ep, len(dl), f"{hist[-1]:.4f}")
dl.epoch
---
dl.drop_last = False
---
dl = Loader(X, Y, bs=4, seed=7)
---
tx = optax.adam(0.05)
---
dl.epoch = 0

### ya-grad-accumulation-with-micro-batches-and-leftover
acc_steps, lr, clip = 2, 0.1, 1.0
batches = [(X[i : i + 3], Y[i : i + 3]) for i in range(0, 12, 3)]
def loss_fn(p, b): x, y = b; return jnp.mean((jnp.tanh(x @ p["h"]) @ p["o"] - y) ** 2)
---
key = jax.random.key(0)
p = {"h": jax.random.normal(key, (3, 4)) * 0.5, "o": jnp.ones(4) * 0.1}
grads, updates, log = None, 0, []
for i, b in enumerate(batches, 1):
    l, g = jax.value_and_grad(loss_fn)(p, b)
    log.append((i, round(float(l), 3)))
    g = jax.tree.map(lambda t: t / acc_steps, g)
    grads = g if grads is None else jax.tree.map(jnp.add, grads, g)
    if i % acc_steps == 0 or i == len(batches):
        norm = optax.global_norm(grads)
        scale = min(1.0, clip / (float(norm) + 1e-6))
        p = jax.tree.map(lambda a, b: a - lr * scale * b, p, grads)
        grads, updates = None, updates + 1
print(updates, log)
---
acc_steps = 3
---
batches.append((X[:1], Y[:1]))
---
clip = float("inf"); acc_steps = 1

### ya-ema-params-and-swap-for-eval
decay, warm = 0.9, 2
class EMA:
    def __init__(self, p, d): self.p, self.d, self.n = p, d, 0
    def update(self, p):
        self.n += 1
        d = min(self.d, (1 + self.n) / (10 + self.n)) if self.n > warm else 0.0
        self.p = jax.tree.map(lambda a, b: d * a + (1 - d) * b, self.p, p)
    @contextlib.contextmanager
    def swapped(self, holder):
        old, holder["params"] = holder["params"], self.p
        try: yield holder
        finally: holder["params"] = old
def mse(p): return jnp.mean((X @ p["w"] - Y) ** 2)
---
model = {"params": {"w": jnp.ones(3)}}
ema = EMA(model["params"], decay)
for _ in range(5):
    g = jax.grad(mse)(model["params"])
    model["params"] = jax.tree.map(lambda a, b: a - 0.1 * b, model["params"], g)
    ema.update(model["params"])
raw = float(mse(model["params"]))
with ema.swapped(model) as m:
    smooth = float(mse(m["params"]))
    inside = m["params"] is ema.p
print(f"{raw:.3f} {smooth:.3f}", inside, ema.n, model["params"] is not ema.p)
---
decay = 0
---
warm = 10
---
def mse(p): return jnp.sum(jnp.abs(X @ p["w"] - Y))

### ya-loss-scale-dynamic-bf16-forward tolerance=2e-2
init_scale = 8.0
dt = jnp.bfloat16
class Scale(NamedTuple):
    s: float
    good: int = 0
    def adjust(self, ok): return Scale(self.s, self.good + 1) if ok and self.good < 2 else Scale(self.s * 2) if ok else Scale(self.s / 2)
def fwd(p, x): return (x.astype(dt) @ p.astype(dt)).astype(jnp.float32)
---
w, sc, skipped = jnp.ones(3), Scale(init_scale), []
for t in range(6):
    x = X * (jnp.inf if t == 3 else 1)
    l, g = jax.value_and_grad(lambda w: sc.s * jnp.mean((fwd(w, x) - Y) ** 2))(w)
    g = g / sc.s
    ok = bool(jnp.all(jnp.isfinite(g)))
    if ok: w = w - 0.05 * g
    else: skipped.append(t)
    sc = sc.adjust(ok)
print(skipped, sc, w.dtype, dt.__name__)
w = w.round(1)
---
init_scale = 2
---
dt = jnp.float32
---
Scale.adjust = lambda self, ok: self._replace(good=self.good + ok)

### ya-schedule-piecewise-by-dict-with-python-steps
bounds = {2: 0.5, 4: 0.1}
base = 0.2
sched = optax.piecewise_constant_schedule(base, bounds)
---
w = jnp.zeros(3); lrs = []
for t in range(6):
    lr_t = sched(t)
    g = jax.grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
    w = w - lr_t * g
    lrs.append(round(float(lr_t), 4))
assert len(lrs) == 6
table = "\n".join(f"{i:>2} | {'#' * int(l * 50)} {l}" for i, l in enumerate(lrs))
print(table)
---
bounds[2] = 0.25; sched = optax.piecewise_constant_schedule(base, bounds)
---
sched = lambda t: base
---
sched = optax.warmup_cosine_decay_schedule(0.0, 0.3, 2, 6)

### ya-resume-by-npz-with-best-and-counter
path = "run.npz"
def save(path, p, **extra): np.savez(path, **{f"p/{k}": np.asarray(v) for k, v in p.items()}, **extra)
def load(path):
    with np.load(path) as z:
        return {k[2:]: jnp.asarray(z[k]) for k in z.files if k.startswith("p/")}, int(z["step"]), float(z["best"])
n_more = 3
---
try:
    p, start, best = load(path)
    print(f"resuming from {start} best {best:.3f}")
except FileNotFoundError:
    p, start, best = {"w": jnp.zeros(3), "b": jnp.zeros(())}, 0, math.inf
for t in range(start, start + n_more):
    l, g = jax.value_and_grad(lambda p: jnp.mean((X @ p["w"] + p["b"] - Y) ** 2))(p)
    p = {k: p[k] - 0.1 * g[k] for k in p}
    if l < best:
        best = float(l)
        save(path, p, step=t + 1, best=best)
final = t + 1
---
os.remove(path)
---
n_more = 1
---
Y = -Y
---
save(path, {"w": jnp.ones(3), "b": jnp.ones(())}, step=100, best=0.0)

### ya-seeds-loop-mean-and-std-table x64
seeds, hidden = [0, 1, 2], 4
def init(seed):
    k1, k2 = jax.random.split(jax.random.PRNGKey(seed))
    return [jax.random.normal(k1, (3, hidden)) / np.sqrt(3), jax.random.normal(k2, (hidden,)) / math.sqrt(hidden)]
def net(p, x): return jax.nn.silu(x @ p[0]) @ p[1]
@jax.jit
def upd(p, lr): return jax.tree.map(lambda a, g: a - lr * g, p, jax.grad(lambda p: jnp.mean((net(p, X) - Y) ** 2))(p))
---
rows = []
for seed in seeds:
    p = init(seed)
    before = float(jnp.mean((net(p, X) - Y) ** 2))
    for _ in range(4): p = upd(p, 0.05)
    after = float(jnp.mean((net(p, X) - Y) ** 2))
    rows.append((seed, before, after))
arr = np.array(rows)
mu, sd = arr[:, 1:].mean(0), arr[:, 1:].std(0, ddof=min(1, len(rows) - 1))
for s, b, a in sorted(rows, key=lambda r: r[-1]): print(f"{s}: {b:.2f} -> {a:.2f}")
print(" ".join(f"{m:.2f}±{d:.2f}" for m, d in zip(mu, sd)))
---
seeds.append(7)
---
hidden = 2
---
seeds = (5,)
---
seeds = np.arange(2)

### ya-dataclass-trainstate-with-apply-gradients-and-replace
@dataclasses.dataclass(frozen=True)
class TrainState:
    step: int
    params: dict
    opt_state: object
    tx: object = dataclasses.field(repr=False, default=None)
    def apply(self, g):
        u, s = self.tx.update(g, self.opt_state, self.params)
        return dataclasses.replace(self, step=self.step + 1, params=optax.apply_updates(self.params, u), opt_state=s)
    @classmethod
    def create(cls, params, tx): return cls(0, params, tx.init(params), tx)
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1))
ts = TrainState.create({"enc": {"w": jnp.zeros(3)}, "b": jnp.zeros(())}, tx)
---
def loss(p, x, y): return optax.huber_loss(x @ p["enc"]["w"] + p["b"], y).mean()
start = ts.step
while ts.step < start + 3:
    l, g = jax.value_and_grad(loss)(ts.params, X, Y)
    ts = ts.apply(g)
    if ts.step % 2 == 0: print(ts.step, f"{l:.3f}")
count = int(ts.opt_state[1][0].count)
---
ts = dataclasses.replace(ts, step=0)
---
ts = TrainState.create(ts.params, optax.sgd(0.1)); TrainState.apply = lambda self, g: dataclasses.replace(self, step=self.step + 2)
---
X = X[:4]; Y = Y[:4]

### ya-reduce-lr-by-while-tolerance-linesearch x64
c1, rho, tol = 1e-4, 0.5, 1e-2
def f(w): return jnp.sum((jnp.asarray(X) @ w - Y) ** 2) / len(Y)
vg = jax.jit(jax.value_and_grad(f))
---
w, it, evals = jnp.zeros(3), 0, Counter()
val, g = vg(w); evals["vg"] += 1
while (gn := float(jnp.linalg.norm(g))) > tol and it < 8:
    t = 1.0
    while (new := f(w - t * g)) > val - c1 * t * gn**2:
        t *= rho
        evals["f"] += 1
        if t < 1e-6: raise RuntimeError("line search failed")
    w = w - t * g
    val, g = vg(w)
    evals.update(["vg", "f"])
    it += 1
print(it, gn <= tol, f"{t:g}")
w
---
rho = 0.25
---
tol = 1
---
Y = Y * 3; c1 = 0.5; vg = jax.jit(jax.value_and_grad(f))

### ya-custom-train-loop-with-metric-history-dataframe
import pandas as pd
cols = ["ep", "loss", "acc"]
df = pd.DataFrame(columns=cols)
lab = (Y > 0).astype(np.int32)
epochs = 3
---
W = jnp.zeros((3, 2))
rows = []
for ep in range(epochs):
    def ce(W):
        lg = X @ W
        return optax.softmax_cross_entropy_with_integer_labels(lg, lab).mean(), lg
    (l, lg), g = jax.value_and_grad(ce, has_aux=True)(W)
    W = W - g
    rows.append({"ep": ep, "loss": round(float(l), 4), "acc": float((lg.argmax(1) == lab).mean())})
    df.loc[len(df)] = [rows[-1][c] for c in cols]
summary = df.groupby("ep")["loss"].agg(["mean", "count"]).round(3)
print(summary.to_string())
best_ep = int(df.loc[df["loss"].idxmin(), "ep"])
---
df = df.iloc[:0]
---
epochs = 2; lab = 1 - lab
---
df = pd.DataFrame(columns=cols); cols.reverse(); df = df[cols]

### ya-scan-epoch-with-closure-over-hyper-and-metrics-dict
hp = {"lr": 0.1, "wd": 0.0, "clip": None}
n_ep = 3
def epoch(p, xs):
    def body(c, b):
        p, t = c
        l, g = jax.value_and_grad(lambda p: jnp.mean((b[0] @ p - b[1]) ** 2))(p)
        if hp["clip"]: g = jnp.clip(g, -hp["clip"], hp["clip"])
        return (p - hp["lr"] * (g + hp["wd"] * p), t + 1), {"loss": l, "gn": jnp.linalg.norm(g)}
    return lax.scan(body, (p, 0), xs)
---
xs = (X.reshape(4, 3, 3), Y.reshape(4, 3))
p, total = jnp.zeros(3), 0
metrics = defaultdict(list)
for e in range(n_ep):
    (p, t), m = epoch(p, xs)
    total += t
    for k, v in m.items(): metrics[k].append(v.mean())
metrics = {k: np.array(v).round(3) for k, v in metrics.items()}
print(int(total), {k: v.tolist() for k, v in metrics.items()})
---
hp["lr"] = 0.05
---
hp["clip"] = 0.5
---
hp.update(clip=None, wd=1, lr=jnp.float32(0.1))
---
hp["wd"] = True; n_ep = 1

### ya-curriculum-sorted-by-loss-hard-example-mining
keep, rounds = 0.5, 3
---
w = jnp.zeros(3)
order_log = []
for r in range(rounds):
    per = (X @ w - Y) ** 2
    k = max(1, int(len(per) * keep))
    hard = jnp.argsort(-per)[:k]
    order_log.append(tuple(int(i) for i in hard[:3]))
    xb, yb = X[hard], Y[np.asarray(hard)]
    g = jax.grad(lambda w: jnp.mean((xb @ w - yb) ** 2))(w)
    w = w - 0.1 * g
uniq = set(order_log)
print(len(uniq), order_log[0])
---
keep = 0.25
---
keep = 1
---
Y = Y[::-1].copy()

### ya-multi-task-weights-learned-with-log-vars-dict
tasks = {"a": Y, "b": Y**2}
fixed = {}
def total(p):
    outs = {}
    for k, y in tasks.items():
        e = jnp.mean((X @ p["w"][k] - y) ** 2)
        s = fixed.get(k, p["s"][k])
        outs[k] = jnp.exp(-s) * e + s
    return sum(outs.values()), outs
---
p = {"w": {k: jnp.zeros(3) for k in tasks}, "s": dict.fromkeys(tasks, jnp.float32(0))}
for i in range(3):
    (l, parts), g = jax.value_and_grad(total, has_aux=True)(p)
    p = jax.tree.map(lambda a, b: a - 0.05 * b, p, g)
print({k: f"{v:.2f}" for k, v in parts.items()}, f"{l:.2f}")
ranking = sorted(parts, key=parts.get)
---
tasks["c"] = -Y
---
fixed["a"] = 0
---
del tasks["b"]; fixed = {"c": jnp.float32(0.5)}

### ya-two-phase-freeze-unfreeze-with-multi-transform
phases = [("head", 2), ("all", 2)]
params = {"body": {"w": jnp.eye(3) * 0.5}, "head": {"w": jnp.ones(3) * 0.1}}
def fwd(p, x): return jnp.tanh(x @ p["body"]["w"]) @ p["head"]["w"]
def label(which): return {k: "train" if which in (k, "all") else "freeze" for k in params}
---
p, moved = params, {}
for name, k in phases:
    tx = optax.multi_transform({"train": optax.sgd(0.2), "freeze": optax.set_to_zero()}, label(name))
    st = tx.init(p)
    before = p
    for _ in range(k):
        g = jax.grad(lambda q: jnp.mean((fwd(q, X) - Y) ** 2))(p)
        u, st = tx.update(g, st, p)
        p = optax.apply_updates(p, u)
    moved[name] = {n: bool(jnp.any(p[n]["w"] != before[n]["w"])) for n in p}
print(moved)
---
phases.insert(0, ("body", 1))
---
phases = [("none", 1)]
---
params["head"]["w"] = jnp.zeros(3); phases = [("all", 1)]

### ya-swag-snapshots-deque-and-prediction-interval
K, every = 3, 2
snaps = deque(maxlen=K)
w = jnp.zeros(3)
---
for t in range(1, 7):
    w = w - 0.1 * jax.grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
    if t % every == 0: snaps.append((t, w))
S = jnp.stack([s for _, s in snaps])
pred = jax.vmap(lambda s: X @ s)(S)
lo, hi = jnp.quantile(pred, jnp.array([0.1, 0.9]), axis=0)
cover = float(((Y >= lo) & (Y <= hi)).mean())
steps_kept = [t for t, _ in snaps]
print(steps_kept, S.shape)
---
every = 3
---
snaps = deque(snaps, maxlen=5)
---
w = jnp.zeros(3); snaps.clear()

### ya-ga-population-with-elites-and-mutation-decay
pop_n, gens, sigma = 6, 3, 0.5
@jax.jit
def fitness(P): return -jax.vmap(lambda w: jnp.mean((X @ w - Y) ** 2))(P)
---
key = jax.random.key(3)
key, k = jax.random.split(key)
P = jax.random.normal(k, (pop_n, 3))
best_ever, trace = -np.inf, []
for g in range(gens):
    F = fitness(P)
    top = jnp.argsort(F)[-2:][::-1]
    if F[top[0]] > best_ever: best_ever = F[top[0]].item()
    trace.append(f"{g}:{best_ever:.2f}")
    key, k1, k2 = jax.random.split(key, 3)
    parents = P[jax.random.choice(k1, top, (pop_n - 2,))]
    P = jnp.concatenate([P[top], parents + sigma / (g + 1) * jax.random.normal(k2, parents.shape)])
" > ".join(trace)
---
pop_n = 4
---
sigma = 0
---
gens, sigma = 1, jnp.float32(1.0)

### ya-jit-step-with-donated-state-in-loop
@partial(jax.jit, donate_argnums=0)
def step(s, x, y):
    w, m = s
    g = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    m = 0.9 * m + g
    return (w - 0.1 * m, m)
k = 3
---
s = (jnp.zeros(3), jnp.zeros(3))
for i, (x, y) in zip(range(k), itertools.cycle([(X[:6], Y[:6]), (X[6:], Y[6:])])):
    s = step(s, x, y)
w, m = s
print(i, w.shape)
---
k = 5
---
k = 1
---
X = X * 2

### ya-adam-written-out-with-bias-correction-and-python-t
b1, b2, eps, wd = 0.9, 0.999, 1e-8, 0.0
class Adam:
    def __init__(self, lr): self.lr, self.t, self.m, self.v = lr, 0, None, None
    def step(self, p, g):
        if self.m is None: self.m = self.v = jax.tree.map(jnp.zeros_like, p)
        self.t += 1
        self.m = jax.tree.map(lambda m, g: b1 * m + (1 - b1) * g, self.m, g)
        self.v = jax.tree.map(lambda v, g: b2 * v + (1 - b2) * g**2, self.v, g)
        c1, c2 = 1 - b1**self.t, 1 - b2**self.t
        return jax.tree.map(lambda p, m, v: p - self.lr * (m / c1 / (jnp.sqrt(v / c2) + eps) + wd * p), p, self.m, self.v)
opt, p = Adam(0.1), {"w": jnp.zeros(3), "b": jnp.zeros(())}
---
for _ in range(2):
    g = jax.grad(lambda p: jnp.mean((X @ p["w"] + p["b"] - Y) ** 2))(p)
    p = opt.step(p, g)
status = f"t={opt.t} |w|={jnp.linalg.norm(p['w']):.3f}"
---
opt = Adam(1)
---
wd = 0.1
---
opt.t = 0; opt.m = None
---
b1 = 0; p["b"] = jnp.ones(())

### ya-validation-with-switch-on-config-enum-and-flags
class Metric(enum.Enum):
    MSE = "mse"; MAE = "mae"; R2 = "r2"
    def __call__(self, p, y):
        match self:
            case Metric.MSE: return jnp.mean((p - y) ** 2)
            case Metric.MAE: return jnp.abs(p - y).mean()
            case Metric.R2: return 1 - ((p - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()
@dataclasses.dataclass
class Cfg:
    metrics: list = dataclasses.field(default_factory=lambda: [Metric.MSE])
    monitor: Metric = Metric.MSE
    higher: bool = False
cfg = Cfg()
---
w = jnp.zeros(3); best = None; hist = []
for t in range(4):
    w = w - 0.15 * jax.grad(lambda w: Metric.MSE(X @ w, Y))(w)
    scores = {m.value: float(m(X @ w, Y)) for m in cfg.metrics}
    cur = scores.get(cfg.monitor.value)
    if cur is None: continue
    better = best is None or (cur > best if cfg.higher else cur < best)
    if better: best, best_t = cur, t
    hist.append({k: round(v, 2) for k, v in scores.items()} | {"*": better})
print(*hist, sep="\n")
---
cfg.metrics.append(Metric.R2); cfg.monitor, cfg.higher = Metric.R2, True
---
cfg = Cfg([Metric.MAE], Metric.MAE)
---
cfg.monitor = Metric.R2

### ya-noise-schedule-with-rng-split-per-layer-dict
names = ["l1", "l2"]; noise = 0.1; dim = 3
def init(key): return {n: jax.random.normal(k, (dim, dim)) / dim for n, k in zip(names, jax.random.split(key, len(names)))}
def fwd(p, x, key=None):
    for i, (n, w) in enumerate(p.items()):
        x = jnp.tanh(x @ w)
        if key is not None: x = x + noise * jax.random.normal(jax.random.fold_in(key, i), x.shape)
    return x.sum(-1)
---
key = jax.random.key(0)
p = init(key)
for step in range(3):
    key, sub = jax.random.split(key)
    l, g = jax.value_and_grad(lambda p: jnp.mean((fwd(p, X, sub) - Y) ** 2))(p)
    p = {n: p[n] - 0.1 * g[n] for n in p}
clean = fwd(p, X).mean()
norms = {n: f"{jnp.linalg.norm(w):.2f}" for n, w in p.items()}
print(norms)
---
names.append("l3")
---
noise = 0
---
names = names[:1]; noise = jnp.float32(1)

### ya-restart-on-divergence-with-exceptions-and-backoff
class Diverged(RuntimeError):
    def __init__(self, lr, step): super().__init__(f"lr={lr:g} diverged at {step}"); self.lr, self.step = lr, step
lr0, limit, max_try = 3.0, 50.0, 4
attempts = []
def train(lr, n=5):
    w = jnp.zeros(3)
    for t in range(n):
        l, g = jax.value_and_grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
        if not jnp.isfinite(l) or l > limit: raise Diverged(lr, t)
        w = w - lr * g
    return w, l
---
lr, errors = lr0, []
for k in range(max_try):
    try:
        w, l = train(lr)
    except Diverged as e:
        errors.append(str(e)); lr = e.lr / 4
    else:
        attempts.append((k, lr)); print(f"ok with {lr:g}: {l:.3f}"); break
    finally:
        tried = k + 1
else:
    w = None
errors, tried
---
limit = 1e6
---
lr0 = 0.1
---
max_try, lr0 = 1, 1e3

### ya-model-zoo-of-callables-trained-in-a-dict-loop
zoo = {
    "lin": (lambda k: {"w": jnp.zeros(3)}, lambda p, x: x @ p["w"]),
    "mlp": (lambda k: {"a": jax.random.normal(k, (3, 4)), "b": jnp.zeros(4)}, lambda p, x: jnp.tanh(x @ p["a"]) @ p["b"]),
}
n, lr = 3, 0.1
---
board = {}
for (name, (init, apply)), k in zip(zoo.items(), jax.random.split(jax.random.key(0), len(zoo))):
    p = init(k)
    loss = lambda p: jnp.mean((apply(p, X) - Y) ** 2)
    step = jax.jit(lambda p: jax.tree.map(lambda a, g: a - lr * g, p, jax.grad(loss)(p)))
    for _ in range(n): p = step(p)
    board[name] = (float(loss(p)), sum(a.size for a in jax.tree.leaves(p)))
for rank, (name, (l, size)) in enumerate(sorted(board.items(), key=lambda kv: kv[1]), 1):
    print(f"{rank}. {name:<5}{l:8.3f}{size:5d}")
---
lr = 0.01
---
zoo["poly"] = (lambda k: {"w": jnp.zeros((2, 3))}, lambda p, x: x @ p["w"][0] + x**2 @ p["w"][1])
---
del zoo["mlp"]; n = 0

### ya-timeseries-walk-forward-with-window-grow
h, start = 2, 8
series = np.sin(np.arange(14) * 0.7).astype(np.float32)
def lagged(s): return jnp.stack([s[i : len(s) - h + i] for i in range(h)], -1), s[h:]
---
preds, errs = {}, []
for t in range(start, len(series)):
    A, b = lagged(jnp.asarray(series[:t]))
    coef, *_ = jnp.linalg.lstsq(A, b)
    preds[t] = float(series[t - h : t] @ coef)
    errs.append(abs(preds[t] - series[t]))
    if len(errs) >= 3 and np.mean(errs[-3:]) > 0.5: break
print(len(preds), max(errs) < 0.1, [round(p, 2) for p in preds.values()][:3])
---
series = np.append(series, np.float32(0.3))
---
h = 3
---
series[-1] = 9; start = 12
""",
)
