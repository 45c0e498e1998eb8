"""Training loops as others write them: trackers, stoppers, trainers, callbacks, accumulators, resumptions, ensembles."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, pathlib, json, math, time, collections, itertools, copy
import jax, jax.numpy as jnp, numpy as np
key = jax.random.key(0)
X = jax.random.normal(jax.random.key(1), (16, 4))
W_TRUE = jnp.array([1.0, -2.0, 0.5, 0.0])
Y = X @ W_TRUE + 0.3
"""

CELLS = written(
    PRELUDE,
    r"""
### ntr-tracker-dataclass
@dataclasses.dataclass
class Tracker:
    best: float = math.inf
    best_step: int = -1
    history: list = dataclasses.field(default_factory=list)
    best_params: typing.Any = None
    def update(self, step, loss, params):
        loss = float(loss)
        self.history.append(loss)
        if loss < self.best:
            self.best, self.best_step = loss, step
            self.best_params = jax.tree.map(lambda p: p.copy(), params)
            return True
        return False
params = {"w": jnp.zeros(4), "b": jnp.zeros(())}
tracker = Tracker()
def loss_fn(p, x, y):
    return jnp.mean((x @ p["w"] + p["b"] - y) ** 2)
---
lr = 0.1
for step in range(5):
    loss, grads = jax.value_and_grad(loss_fn)(params, X, Y)
    params = jax.tree.map(lambda p, g: p - lr * g, params, grads)
    if tracker.update(step, loss, params):
        marker = "*"
    else:
        marker = ""
    print(f"step {step:3d} loss {loss:.4f} {marker}")
tracker.best_step, len(tracker.history)
---
tracker = Tracker(best=0.5)
---
params["b"] = params["b"] + 3.0

### ntr-stopper-raises
class StopTraining(Exception):
    pass
class EarlyStopping:
    def __init__(self, patience=2, min_delta=1e-3):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.wait, self.calls = np.inf, 0, 0
    def __call__(self, value):
        self.calls += 1
        if value < self.best - self.min_delta:
            self.best, self.wait = value, 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                raise StopTraining(f"no progress since {self.best:.3f}")
stopper = EarlyStopping()
w = jnp.zeros(4)
val_loss = lambda w: jnp.mean(jnp.abs(X[8:] @ w - Y[8:]))
---
stopped = None
try:
    for epoch in range(12):
        w = w - 0.4 * jax.grad(lambda w: jnp.mean((X[:8] @ w - Y[:8]) ** 2))(w)
        stopper(val_loss(w))
except StopTraining as e:
    stopped = str(e)
print(stopped, stopper.calls, epoch)
---
stopper = EarlyStopping(patience=1)
w = jnp.zeros(4)

### ntr-callbacks-list-trainer needs=optax
import optax
class Callback:
    def on_epoch_end(self, trainer, logs): ...
class History(Callback):
    def __init__(self):
        self.rows = collections.defaultdict(list)
    def on_epoch_end(self, trainer, logs):
        for k, v in logs.items():
            self.rows[k].append(float(v))
class Printer(Callback):
    def on_epoch_end(self, trainer, logs):
        print(f"[{trainer.epoch}] " + " ".join(f"{k}={v:.3f}" for k, v in sorted(logs.items())))
class Trainer:
    def __init__(self, tx, callbacks=()):
        self.tx, self.callbacks, self.epoch = tx, list(callbacks), 0
        self.params = {"w": jnp.zeros(4)}
        self.opt_state = tx.init(self.params)
    @functools.partial(jax.jit, static_argnums=0)
    def _step(self, params, opt_state, x, y):
        def loss(p):
            return jnp.mean((x @ p["w"] - y) ** 2)
        val, g = jax.value_and_grad(loss)(params)
        up, opt_state = self.tx.update(g, opt_state, params)
        return optax.apply_updates(params, up), opt_state, {"loss": val, "gnorm": optax.global_norm(g)}
    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.params, self.opt_state, logs = self._step(self.params, self.opt_state, x, y)
            for cb in self.callbacks:
                cb.on_epoch_end(self, logs)
            self.epoch += 1
        return self
history = History()
trainer = Trainer(optax.adam(0.1), [history, Printer()])
---
trainer.fit(X, Y, epochs=3)
final = history.rows["loss"][-1]
len(history.rows["gnorm"]), trainer.epoch
---
trainer.callbacks.pop()
---
Y = Y * 0.5

### ntr-loss-scale-dynamic
class LossScale(typing.NamedTuple):
    scale: jax.Array
    good: jax.Array
def adjust(ls, finite):
    good = jnp.where(finite, ls.good + 1, 0)
    grow = good >= 2
    scale = jnp.where(finite, jnp.where(grow, ls.scale * 2, ls.scale), ls.scale / 2)
    return LossScale(scale, jnp.where(grow, 0, good))
ls = LossScale(jnp.float16(1024.0), jnp.int32(0))
w = jnp.zeros(4, jnp.float16)
Xh, Yh = X.astype(jnp.float16), Y.astype(jnp.float16)
---
for i in range(4):
    def scaled(w):
        return jnp.mean((Xh @ w - Yh) ** 2) * ls.scale
    g = jax.grad(scaled)(w) / ls.scale
    finite = jnp.all(jnp.isfinite(g))
    w = jnp.where(finite, w - 0.05 * g, w)
    ls = adjust(ls, finite)
w.dtype, ls.scale.dtype, int(ls.good)
---
ls = LossScale(jnp.float16(60000.0), jnp.int32(0))

### ntr-metrics-dict-averaged
def train_step(w, batch):
    x, y = batch
    def loss(w):
        pred = x @ w
        return jnp.mean((pred - y) ** 2), {"mae": jnp.mean(jnp.abs(pred - y)), "n": len(y)}
    (val, aux), g = jax.value_and_grad(loss, has_aux=True)(w)
    return w - 0.1 * g, {"loss": val, **aux}
w = jnp.zeros(4)
all_metrics = []
---
batch_metrics = []
for x, y in zip(jnp.split(X, 4), jnp.split(Y, 4)):
    w, m = train_step(w, (x, y))
    batch_metrics.append(m)
epoch_metrics = jax.tree.map(lambda *v: np.mean([np.asarray(a) for a in v]), *batch_metrics)
epoch_metrics["n"] = int(epoch_metrics["n"] * len(batch_metrics))
all_metrics.append(epoch_metrics)
{k: round(float(v), 3) for k, v in epoch_metrics.items()}
---
all_metrics.clear()

### ntr-metrics-stacked-device-get
def train_step(carry, batch):
    w, n = carry
    val, g = jax.value_and_grad(lambda w: jnp.mean((batch[0] @ w - batch[1]) ** 2))(w)
    return (w - 0.05 * g, n + 1), {"loss": val, "gn": jnp.linalg.norm(g)}
carry = (jnp.zeros(4), 0)
step_fn = jax.jit(train_step)
---
metrics = []
for i in range(4):
    carry, m = step_fn(carry, (X[i * 4:(i + 1) * 4], Y[i * 4:(i + 1) * 4]))
    metrics.append(m)
metrics = jax.device_get(metrics)
summary = {k: float(np.mean([m[k] for m in metrics])) for k in metrics[0]}
type(metrics[0]["loss"]).__name__, carry[1], sorted(summary)
---
carry = (jnp.ones(4), 10)

### ntr-epoch-permutation-key
rng = jax.random.key(7)
w = jnp.zeros(4)
losses = []
@jax.jit
def update(w, x, y, lr=0.1):
    l, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - lr * g, l
---
for epoch in range(2):
    rng, shuffle = jax.random.split(rng)
    perms = jax.random.permutation(shuffle, X.shape[0])
    perms = perms.reshape((4, -1))
    epoch_loss = 0.0
    for perm in perms:
        w, l = update(w, X[perm, ...], Y[perm])
        epoch_loss += l
    losses.append(epoch_loss / len(perms))
    print("epoch %d: %.3f" % (epoch, losses[-1]))
type(epoch_loss).__name__
---
rng = jax.random.key(8)

### ntr-swa-average
swa, n_avg, w = None, 0, jnp.zeros(4)
@jax.jit
def update(w):
    return w - 0.1 * jax.grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
---
for step in range(6):
    w = update(w)
    if step >= 3:
        if swa is None:
            swa = w
        else:
            swa = (swa * n_avg + w) / (n_avg + 1)
        n_avg += 1
gap = jnp.abs(swa - w).max()
n_avg, swa is w
---
swa, n_avg = None, 0

### ntr-two-optimisers-gan needs=optax
import optax
gen = {"a": jnp.array(0.1), "b": jnp.array(0.0)}
disc = {"u": jnp.array(0.5), "v": jnp.array(0.0)}
g_tx, d_tx = optax.adam(1e-2, b1=0.5), optax.adam(1e-2, b1=0.5)
g_state, d_state = g_tx.init(gen), d_tx.init(disc)
def fake(gen, z): return gen["a"] * z + gen["b"]
def logit(disc, v): return disc["u"] * v + disc["v"]
def d_loss(disc, gen, real, z):
    r, f = logit(disc, real), logit(disc, fake(gen, z))
    return jnp.mean(jax.nn.softplus(-r)) + jnp.mean(jax.nn.softplus(f))
def g_loss(gen, disc, z):
    return jnp.mean(jax.nn.softplus(-logit(disc, fake(gen, z))))
d_hist, g_hist = [], []
---
for it in range(3):
    key, k1 = jax.random.split(key)
    z = jax.random.normal(k1, (8,))
    dl, dg = jax.value_and_grad(d_loss)(disc, gen, Y[:8], z)
    up, d_state = d_tx.update(dg, d_state)
    disc = optax.apply_updates(disc, up)
    gl, gg = jax.value_and_grad(g_loss)(gen, disc, z)
    up, g_state = g_tx.update(gg, g_state)
    gen = optax.apply_updates(gen, up)
    d_hist.append(dl)
    g_hist.append(gl)
print(f"D {d_hist[-1]:.3f} G {g_hist[-1]:.3f} after {g_state[0].count}")
---
d_hist.clear()
gen["a"] = jnp.array(1.0)

### ntr-lr-warmup-lambda
def make_schedule(base, warmup):
    def sched(step):
        if step < warmup:
            return base * (step + 1) / warmup
        return base * 0.5 ** ((step - warmup) // 2)
    return sched
sched = make_schedule(0.2, 3)
global_step = 0
w = jnp.zeros(4)
lrs = []
---
for _ in range(4):
    lr = sched(global_step)
    w -= lr * jax.grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
    lrs.append(lr)
    global_step += 1
print(global_step, [f"{v:.3g}" for v in lrs])
---
sched = make_schedule(0.1, 8)
---
global_step = 0

### ntr-resume-from-state-dict
class Experiment:
    def __init__(self, seed):
        self.key = jax.random.key(seed)
        self.w = jax.random.normal(self.key, (4,))
        self.step = 0
    def state_dict(self):
        return {"w": np.asarray(self.w), "key": np.asarray(jax.random.key_data(self.key)), "step": self.step}
    def load_state_dict(self, d):
        self.w = jnp.asarray(d["w"])
        self.key = jax.random.wrap_key_data(jnp.asarray(d["key"]))
        self.step = d["step"]
        return self
    def run(self, n):
        for _ in range(n):
            self.key, sub = jax.random.split(self.key)
            i = jax.random.randint(sub, (4,), 0, len(X))
            self.w = self.w - 0.1 * jax.grad(lambda w: jnp.mean((X[i] @ w - Y[i]) ** 2))(self.w)
            self.step += 1
exp = Experiment(0)
---
exp.run(2)
saved = exp.state_dict()
exp.run(1)
twin = Experiment(99).load_state_dict(saved)
twin.run(1)
same = bool(jnp.array_equal(twin.w, exp.w))
same, exp.step, twin.step
---
exp = Experiment(3)

### ntr-ensemble-vmap-members
def init(k):
    k1, k2 = jax.random.split(k)
    return {"W1": 0.5 * jax.random.normal(k1, (4, 3)), "W2": 0.5 * jax.random.normal(k2, (3,))}
def predict(p, x):
    return jnp.tanh(x @ p["W1"]) @ p["W2"]
def loss(p, x, y):
    return jnp.mean((predict(p, x) - y) ** 2)
n_members = 3
members = jax.vmap(init)(jax.random.split(key, n_members))
---
step = jax.vmap(jax.value_and_grad(loss), in_axes=(0, None, None))
curve = []
for _ in range(3):
    ls, gs = step(members, X, Y)
    members = jax.tree.map(lambda p, g: p - 0.1 * g, members, gs)
    curve.append(ls)
curve = jnp.stack(curve)
preds = jax.vmap(predict, (0, None))(members, X)
mean, std = preds.mean(0), preds.std(0)
best_member = jax.tree.map(lambda a: a[int(curve[-1].argmin())], members)
curve.shape, std.max()
---
members = jax.tree.map(lambda a: a[:2], members)
---
Y = -Y

### ntr-grad-check-numeric
def f(p):
    return jnp.sum(jnp.sin(p["a"]) * p["b"] ** 2)
p = {"a": jnp.array([0.1, 0.7]), "b": jnp.array([1.5, -0.3])}
eps = 1e-2
---
g = jax.grad(f)(p)
report = {}
for name, arr in p.items():
    num = np.zeros(arr.shape, np.float32)
    for i in range(arr.size):
        up = {**p, name: arr.at[i].add(eps)}
        dn = {**p, name: arr.at[i].add(-eps)}
        num[i] = (f(up) - f(dn)) / (2 * eps)
    report[name] = np.allclose(num, g[name], atol=1e-2)
report
---
p["a"] = jnp.array([2.0, 1.0])

### ntr-curriculum-and-loss-weights
weights = {"mse": 1.0, "l1": 0.0, "sum": 0.0}
terms = {
    "mse": lambda w: jnp.mean((X @ w - Y) ** 2),
    "l1": lambda w: jnp.abs(w).sum(),
    "sum": lambda w: (w.sum() - 1) ** 2,
}
w = jnp.zeros(4)
log = []
---
def total(w):
    parts = {k: f(w) for k, f in terms.items() if weights[k] > 0}
    return sum(weights[k] * v for k, v in parts.items()), parts
(val, parts), g = jax.value_and_grad(total, has_aux=True)(w)
w = w - 0.1 * g
log.append({k: float(v) for k, v in parts.items()})
sorted(parts), val
---
weights["l1"] = 0.01
---
weights["mse"], weights["sum"] = 0.0, 0.5

### ntr-gradient-histogram
w = {"enc": {"k": jnp.ones((4, 3)), "b": jnp.zeros(3)}, "dec": {"k": jnp.ones((3,))}}
grad_log = {}
def net(p, x):
    return jnp.tanh(x @ p["enc"]["k"] + p["enc"]["b"]) @ p["dec"]["k"]
---
grads = jax.grad(lambda p: jnp.mean((net(p, X) - Y) ** 2))(w)
flat, _ = jax.tree_util.tree_flatten_with_path(grads)
for path, leaf in flat:
    name = jax.tree_util.keystr(path, simple=True, separator="/")
    counts, edges = np.histogram(np.asarray(leaf), bins=3)
    grad_log.setdefault(name, []).append(int(counts.sum()))
    print(f"{name:8s} |g|={jnp.linalg.norm(leaf):.4f}")
w = jax.tree.map(lambda a, g: a - 0.01 * g, w, grads)
grad_log
---
w["enc"]["b"] = jnp.full(3, 0.1)

### ntr-frozen-layers-by-path needs=optax
import optax
params = {"backbone": {"w": jnp.eye(4)}, "head": {"w": jnp.ones(4), "b": jnp.zeros(())}}
frozen = ["backbone"]
def labels(params):
    return jax.tree_util.tree_map_with_path(lambda p, _: "frozen" if p[0].key in frozen else "train", params)
tx = optax.multi_transform({"train": optax.sgd(0.1), "frozen": optax.set_to_zero()}, labels)
state = tx.init(params)
---
def loss(p):
    return jnp.mean((X @ p["backbone"]["w"] @ p["head"]["w"] + p["head"]["b"] - Y) ** 2)
before = params["backbone"]["w"]
l, g = jax.value_and_grad(loss)(params)
up, state = tx.update(g, state, params)
params = optax.apply_updates(params, up)
moved = {k: bool(jnp.any(up[k]["w"] != 0)) for k in up}
bool(jnp.array_equal(before, params["backbone"]["w"])), moved, l
---
params["head"]["w"] = params["head"]["w"] * 2
---
params = {**params, "backbone": {"w": 0.5 * params["backbone"]["w"]}}

### ntr-time-and-throughput
stats = {"steps": 0, "examples": 0, "secs": []}
step = jax.jit(lambda w, x, y: w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w))
w = jnp.zeros(4)
---
t0 = time.perf_counter()
for lo in range(0, len(X), 8):
    w = step(w, X[lo:lo + 8], Y[lo:lo + 8])
    stats["steps"] += 1
    stats["examples"] += X[lo:lo + 8].shape[0]
w.block_until_ready()
elapsed_ok = time.perf_counter() - t0 >= 0
stats["secs"].append(elapsed_ok)
del t0
print(f"{stats['examples']} examples in {stats['steps']} steps, ok={elapsed_ok}")
---
stats["steps"] = 0

### ntr-tqdm-postfix-and-write needs=tqdm
from tqdm import tqdm, trange
import io
sink = io.StringIO()
w = jnp.zeros(4)
curve = []
---
bar = trange(4, file=sink, mininterval=1e9, leave=False)
for i in bar:
    l, g = jax.value_and_grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
    w = w - 0.1 * g
    curve.append(l)
    if i % 2 == 0:
        bar.set_description(f"loss {l:.3f}")
        curve.append(i)
bar.n, bar.total, len(curve)
---
w = jnp.ones(4)

### ntr-line-search-backtracking
f = lambda w: jnp.mean((X @ w - Y) ** 2) + 0.1 * jnp.sum(jnp.log1p(w ** 2))
w = jnp.full(4, 2.0)
evals = 0
---
g = jax.grad(f)(w)
f0, slope, t = f(w), jnp.vdot(g, g), 4.0
while f(w - t * g) > f0 - 1e-4 * t * slope:
    t *= 0.5
    evals += 1
    if t < 1e-8:
        break
else:
    evals += 1
w = w - t * g
print(f"t={t:g} evals={evals} f={f(w):.4f}")
---
w = jnp.full(4, -3.0)

### ntr-hyper-search-product
grid = {"lr": [0.05, 0.2], "l2": [0.0, 0.1]}
results = []
def run(lr, l2, steps=3):
    w = jnp.zeros(4)
    for _ in range(steps):
        w = w - lr * jax.grad(lambda w: jnp.mean((X[:8] @ w - Y[:8]) ** 2) + l2 * jnp.vdot(w, w))(w)
    return jnp.mean((X[8:] @ w - Y[8:]) ** 2), w
---
for values in itertools.product(*grid.values()):
    cfg = dict(zip(grid, values))
    val, w_cfg = run(**cfg)
    results.append({**cfg, "val": float(val), "w": w_cfg})
results.sort(key=lambda r: r["val"])
best = results[0]
print({k: v for k, v in best.items() if k in grid}, len(results))
---
grid["lr"] = [0.1]
results = []
---
grid["l2"].append(0.5)

### ntr-custom-optimizer-class
class Momentum:
    def __init__(self, params, lr=0.1, mu=0.9, nesterov=False):
        self.params = params
        self.lr, self.mu, self.nesterov = lr, mu, nesterov
        self.v = [jnp.zeros_like(p) for p in params]
        self.t = 0
    def step(self, grads):
        for i, g in enumerate(grads):
            self.v[i] = self.mu * self.v[i] + g
            d = g + self.mu * self.v[i] if self.nesterov else self.v[i]
            self.params[i] = self.params[i] - self.lr * d
        self.t += 1
    def zero(self):
        self.v[:] = [v * 0 for v in self.v]
params = [jnp.zeros(4), jnp.zeros(())]
opt = Momentum(params)
---
for _ in range(3):
    loss, grads = jax.value_and_grad(lambda ps: jnp.mean((X @ ps[0] + ps[1] - Y) ** 2))(params)
    opt.step(grads)
opt.params is params, opt.t, params[1]
---
opt.nesterov = True
---
opt.zero(); opt.lr = 0.01

### ntr-teacher-student-distil
def mlp(ps, x):
    for W, b in ps[:-1]:
        x = jax.nn.relu(x @ W + b)
    W, b = ps[-1]
    return x @ W + b
def make(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) / jnp.sqrt(m), jnp.zeros(n)) for k, m, n in zip(keys, sizes[:-1], sizes[1:])]
teacher, student = make(jax.random.key(3), [4, 8, 3]), make(jax.random.key(4), [4, 3])
T = 2.0
---
soft = jax.nn.softmax(mlp(teacher, X) / T)
def distil(ps):
    logp = jax.nn.log_softmax(mlp(ps, X) / T)
    return -jnp.mean(jnp.sum(soft * logp, axis=-1)) * T ** 2
for _ in range(2):
    l, g = jax.value_and_grad(distil)(student)
    student = [(W - 0.1 * dW, b - 0.1 * db) for (W, b), (dW, db) in zip(student, g)]
agree = (mlp(student, X).argmax(-1) == mlp(teacher, X).argmax(-1)).mean()
n_params = sum(a.size for a in jax.tree.leaves(student))
print(f"{l:.3f} {agree:.2f} {n_params}")
---
T = 4.0
---
student = make(jax.random.key(4), [4, 5, 3])

### ntr-confusion-and-accuracy
labels = np.array([0, 1, 2, 1] * 4)
Wc = jnp.zeros((4, 3))
onehot = jax.nn.one_hot(labels, 3)
---
for _ in range(3):
    Wc -= 0.5 * jax.grad(lambda W: -jnp.mean(jnp.sum(onehot * jax.nn.log_softmax(X @ W), -1)))(Wc)
pred = np.asarray(jnp.argmax(X @ Wc, -1))
cm = np.zeros((3, 3), int)
np.add.at(cm, (labels, pred), 1)
acc = np.trace(cm) / cm.sum()
per_class = {c: float(cm[c, c] / max(cm[c].sum(), 1)) for c in range(3)}
cm, pred.dtype, sum(per_class.values()) <= 3
---
labels[:4] = 2
onehot = jax.nn.one_hot(labels, 3)

### ntr-checkpoint-rotation-in-dict
ckpts = collections.OrderedDict()
MAX = 2
w, step = jnp.zeros(4), 0
def save(step, w):
    ckpts[step] = {"w": w, "norm": float(jnp.linalg.norm(w))}
    while len(ckpts) > MAX:
        dropped, _ = ckpts.popitem(last=False)
        print("dropped", dropped)
---
for _ in range(3):
    w = w - 0.1 * jax.grad(lambda w: jnp.mean((X @ w - Y) ** 2))(w)
    step += 1
    if step % 2 == 0:
        save(step, w)
latest = next(reversed(ckpts), None)
latest, list(ckpts), ckpts[latest]["w"] is w
---
MAX = 1
---
w = ckpts[next(iter(ckpts))]["w"]

### ntr-nan-guard-rollback
w = jnp.ones(4)
last_good, bad_steps = w, 0
lr = 0.1
poison = False
---
for i in range(3):
    scale = jnp.inf if poison and i == 1 else 1.0
    l, g = jax.value_and_grad(lambda w: scale * jnp.mean((X @ w - Y) ** 2))(w)
    if not jnp.isfinite(l):
        print(f"bad loss at {i}, rolling back")
        w, bad_steps, lr = last_good, bad_steps + 1, lr / 2
        continue
    last_good = w
    w = w - lr * g
bad_steps, lr, w is last_good
---
poison = True
---
poison, lr = False, 0.1

### ntr-log-every-n-with-logger
import logging
log = logging.getLogger("train.new")
log.setLevel(logging.INFO)
class Meter:
    def __init__(self): self.reset()
    def reset(self): self.sum, self.n = 0.0, 0
    def add(self, v, n=1):
        self.sum += v * n
        self.n += n
    @property
    def avg(self): return self.sum / max(1, self.n)
meters = {"loss": Meter(), "acc": Meter()}
w = jnp.zeros(4)
---
for i in range(4):
    x, y = X[i * 4:i * 4 + 4], Y[i * 4:i * 4 + 4]
    l, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    w = w - 0.1 * g
    meters["loss"].add(l, len(x))
    meters["acc"].add(jnp.mean(jnp.sign(x @ w) == jnp.sign(y)), len(x))
    if (i + 1) % 2 == 0:
        log.info("step %d %s", i, {k: round(float(m.avg), 2) for k, m in meters.items()})
        meters["loss"].reset()
meters["loss"].n, meters["acc"].avg
---
meters["acc"].reset()

### ntr-scan-epochs-jitted
@functools.partial(jax.jit, static_argnames=("epochs", "batch"))
def fit(w, key, x, y, *, epochs, batch):
    n = len(x) // batch
    def epoch(carry, key):
        perm = jax.random.permutation(key, len(x))[: n * batch].reshape(n, batch)
        def one(w, idx):
            l, g = jax.value_and_grad(lambda w: jnp.mean((x[idx] @ w - y[idx]) ** 2))(w)
            return w - 0.1 * g, l
        w, ls = jax.lax.scan(one, carry, perm)
        return w, ls.mean()
    return jax.lax.scan(epoch, w, jax.random.split(key, epochs))
cfg = dict(epochs=3, batch=4)
w = jnp.zeros(4)
---
w, curve = fit(w, key, X, Y, **cfg)
for e, l in enumerate(curve):
    print(e, f"{l:.4f}")
improved = curve[-1] < curve[0]
improved
---
cfg["batch"] = 8
---
key = jax.random.fold_in(key, 1)
w = jnp.zeros(4)

### ntr-kfold-by-index-arrays
folds = np.array_split(np.random.default_rng(0).permutation(16), 4)
lam = 0.1
---
scores = []
for i, test in enumerate(folds):
    train = np.concatenate([f for j, f in enumerate(folds) if j != i])
    A, b = X[train], Y[train]
    w = jnp.linalg.solve(A.T @ A + lam * jnp.eye(4), A.T @ b)
    scores.append(jnp.sqrt(jnp.mean((X[test] @ w - Y[test]) ** 2)))
scores = jnp.array(scores)
print(f"rmse {scores.mean():.3f} +- {scores.std():.3f}")
---
lam = 1.0
---
folds = folds[:2]
""",
)
