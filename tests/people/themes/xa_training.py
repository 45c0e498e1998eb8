"""Training loops, trainers and their helpers as notebooks of competitions and courses have them."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, csv, dataclasses, functools, itertools, json, logging, math, operator, os, pickle
import random, re, shutil, string, sys, time, types, warnings
from functools import partial
from pathlib import Path
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-kaggle-cfg-class-fold-loop-with-oof-and-best-params-saved
class CFG:
    seed, n_folds, epochs, lr, debug = 42, 3, 4, 0.2, False
rng = np.random.default_rng(CFG.seed)
X = rng.normal(size=(18, 3)).astype(np.float32); y = (X[:, 0] - X[:, 1] > 0).astype(np.float32)
def predict(p, X): return jax.nn.sigmoid(X @ p["w"] + p["b"])
def bce(p, X, y): q = jnp.clip(predict(p, X), 1e-6, 1 - 1e-6); return -jnp.mean(y * jnp.log(q) + (1 - y) * jnp.log(1 - q))
def folds(n, k): return np.array_split(np.random.default_rng(0).permutation(n), k)
---
oof = np.zeros(len(y)); scores = {}
for fold, val in enumerate(folds(len(y), CFG.n_folds)):
    if CFG.debug and fold > 0: break
    tr = np.setdiff1d(np.arange(len(y)), val)
    p = {"w": jnp.zeros(3), "b": jnp.zeros(())}
    best, wait = np.inf, 0
    for ep in range(CFG.epochs):
        g = jax.grad(bce)(p, X[tr], y[tr])
        p = jax.tree.map(lambda a, b: a - CFG.lr * b, p, g)
        vl = float(bce(p, X[val], y[val]))
        if vl < best:
            best = vl
            with open(f"fold{fold}.pkl", "wb") as f: pickle.dump(jax.device_get(p), f)
    oof[val] = predict(p, X[val])
    scores[fold] = round(best, 3)
acc = float(((oof > 0.5) == y).mean())
print(f"CV {np.mean(list(scores.values())):.3f} acc {acc:.2f}", sorted(os.listdir(".")))
---
CFG.debug = True
---
CFG.debug, CFG.n_folds, CFG.lr = False, 2, 1
---
y = 1 - y

### xa-trainer-with-callback-hooks-reduce-on-plateau-and-early-stop-exception
class StopTraining(Exception): pass
class Callback:
    def on_epoch_end(self, tr, logs): pass
class Plateau(Callback):
    def __init__(self, factor=0.5, patience=1): self.factor, self.patience, self.best, self.bad = factor, patience, float("inf"), 0
    def on_epoch_end(self, tr, logs):
        if logs["loss"] < self.best - 1e-2: self.best, self.bad = logs["loss"], 0
        else:
            self.bad += 1
            if self.bad > self.patience: tr.lr *= self.factor; self.bad = 0; print("lr ->", tr.lr)
class Early(Callback):
    def __init__(self, tol): self.tol = tol
    def on_epoch_end(self, tr, logs):
        if logs["loss"] < self.tol: raise StopTraining(f"{logs['epoch']}")
class Trainer:
    def __init__(self, loss, params, lr, callbacks): self.loss, self.params, self.lr, self.callbacks, self.history = loss, params, lr, callbacks, []
    def fit(self, epochs):
        vg = jax.value_and_grad(self.loss)
        try:
            for e in range(epochs):
                l, g = vg(self.params)
                self.params = jax.tree.map(lambda p, g: p - self.lr * g, self.params, g)
                logs = {"epoch": e, "loss": float(l)}
                self.history.append(logs)
                for c in self.callbacks: c.on_epoch_end(self, logs)
        except StopTraining as s:
            print("stopped at", s)
        return self
x = jnp.linspace(-1, 1, 8); t = 3 * x + 0.5
loss = lambda p: jnp.mean((p["a"] * x + p["b"] - t) ** 2)
tol = 0.05
---
tr = Trainer(loss, {"a": jnp.zeros(()), "b": jnp.zeros(())}, 0.3, [Plateau(), Early(tol)])
tr.fit(12)
print(len(tr.history), tr.lr, [round(h["loss"], 2) for h in tr.history[-2:]])
tr.params
---
tol = 0.5
---
Plateau.on_epoch_end = lambda self, tr, logs: setattr(tr, "lr", tr.lr * 0.9)
---
class Early(Callback):
    def __init__(self, tol): self.tol = tol

### xa-resume-from-checkpoint-with-epoch-optimizer-and-rng-state
ck = Path("ck.pkl")
X = jnp.arange(12.0).reshape(6, 2) / 6; y = jnp.array([0.0, 1, 1, 2, 2, 3])
opt = optax.adam(0.05); extra = 2
def loss(w): return jnp.mean((X @ w - y) ** 2)
---
if ck.exists():
    st = pickle.loads(ck.read_bytes())
    w, os_, ep0, key = jnp.asarray(st["w"]), jax.tree.map(jnp.asarray, st["opt"]), st["epoch"], jax.random.wrap_key_data(st["key"])
    print("resumed at", ep0)
else:
    w, ep0, key = jnp.zeros(2), 0, jax.random.key(0)
    os_ = opt.init(w)
for ep in range(ep0, ep0 + extra):
    key, sub = jax.random.split(key)
    g = jax.grad(loss)(w + 0.01 * jax.random.normal(sub, w.shape))
    up, os_ = opt.update(g, os_)
    w = optax.apply_updates(w, up)
ck.write_bytes(pickle.dumps({"w": np.asarray(w), "opt": jax.device_get(os_), "epoch": ep + 1, "key": np.asarray(jax.random.key_data(key))}))
print(ep + 1, f"{loss(w):.4f}", int(os_[0].count))
---
ck.unlink()
---
extra = 3; y = -y
---
opt = optax.sgd(0.1); ck.unlink()

### xa-training-arguments-dataclass-post-init-and-string-strategies
@dataclasses.dataclass
class Args:
    lr: float = 0.1
    steps: int = 6
    eval_strategy: str = "steps"
    eval_steps: int = 2
    warmup_ratio: float = 0.0
    output_dir: str = "out"
    def __post_init__(self):
        self.warmup = int(self.steps * self.warmup_ratio)
        Path(self.output_dir).mkdir(exist_ok=True)
kw = dict(lr=0.2)
X = jnp.eye(3); y = jnp.array([1.0, -1.0, 2.0])
---
args = Args(**kw)
w, log = jnp.zeros(3), []
for step in range(1, args.steps + 1):
    scale = min(1.0, step / args.warmup) if args.warmup else 1.0
    w = w - args.lr * scale * jax.grad(lambda w: jnp.sum((X @ w - y) ** 2))(w)
    if args.eval_strategy == "steps" and step % args.eval_steps == 0:
        log.append({"step": step, "eval_loss": round(float(jnp.sum((X @ w - y) ** 2)), 4)})
Path(args.output_dir, "trainer_state.json").write_text(json.dumps({"log": log, "args": dataclasses.asdict(args)}, indent=1))
print(log[-1] if log else "no eval", args)
w
---
kw["warmup_ratio"] = 0.5
---
kw = {"eval_strategy": "no", "steps": 3}
---
kw = {"output_dir": "out2", "eval_steps": 3, "lr": 0}

### xa-skipgram-negative-sampling-from-counter-with-subsampling
corpus = "the cat sat on the mat the dog sat on the log".split()
dim, window, neg = 4, 1, 2
---
freq = collections.Counter(corpus)
vocab = [w for w, c in freq.most_common()]
ix = {w: i for i, w in enumerate(vocab)}
prob = np.array([freq[w] for w in vocab]) ** 0.75; prob /= prob.sum()
rng = np.random.default_rng(0)
pairs = [(ix[c], ix[corpus[j]]) for i, c in enumerate(corpus) for j in range(max(0, i - window), min(len(corpus), i + window + 1)) if j != i]
E = jax.random.normal(jax.random.key(0), (2, len(vocab), dim)) * 0.1
def loss(E, c, o, ns):
    u, v = E[0, c], E[1, o]
    return -jnp.mean(jax.nn.log_sigmoid((u * v).sum(-1)) + jax.nn.log_sigmoid(-jnp.einsum("bd,bnd->bn", u, E[1, ns])).sum(-1))
for ep in range(3):
    c, o = map(jnp.array, zip(*pairs))
    ns = rng.choice(len(vocab), size=(len(pairs), neg), p=prob)
    l, g = jax.value_and_grad(loss)(E, c, o, ns)
    E = E - 0.5 * g
near = {w: vocab[int(jnp.argsort(-(E[0] @ E[0, ix[w]]))[1])] for w in ("cat", "dog") if w in ix}
print(len(pairs), round(float(l), 3))
E[0].shape
---
corpus += "a bird sat on a tree".split()
---
window, neg = 2, 1

### xa-grokking-modular-addition-table-with-split-fraction-and-weight-decay
p, frac, wd = 5, 0.6, 0.1
key = jax.random.key(0)
---
ab = jnp.array(list(itertools.product(range(p), repeat=2)))
lab = (ab[:, 0] + ab[:, 1]) % p
perm = jax.random.permutation(key, len(ab))
cut = int(len(ab) * frac)
tr, te = perm[:cut], perm[cut:]
W = {"emb": jax.random.normal(key, (p, 8)) * 0.3, "out": jax.random.normal(jax.random.fold_in(key, 1), (8, p)) * 0.3}
def logits(W, ab): return jnp.tanh(W["emb"][ab].sum(1)) @ W["out"]
def ce(W, i): return optax.softmax_cross_entropy_with_integer_labels(logits(W, ab[i]), lab[i]).mean()
tx = optax.adamw(0.05, weight_decay=wd, mask=lambda t: jax.tree.map(lambda a: a.ndim > 1, t))
st = tx.init(W)
curve = []
for s in range(8):
    l, g = jax.value_and_grad(ce)(W, tr)
    up, st = tx.update(g, st, W)
    W = optax.apply_updates(W, up)
    if s % 4 == 3: curve.append((s, float(l), float((logits(W, ab[te]).argmax(-1) == lab[te]).mean())))
print([f"{s}:{l:.2f}" for s, l, a in curve])
---
frac = 0.8
---
wd = 0; p = 4

### xa-triplet-loss-with-semi-hard-mining-and-recall-at-one
emb = jax.random.normal(jax.random.key(2), (8, 3)); lab = jnp.array([0, 0, 1, 1, 2, 2, 2, 0]); margin = 0.5
def pdist(e): sq = (e ** 2).sum(1); return jnp.maximum(sq[:, None] + sq - 2 * e @ e.T, 0.0)
---
def mine(e):
    d = np.asarray(pdist(e)); trip = []
    for i in range(len(lab)):
        pos = [j for j in range(len(lab)) if j != i and lab[j] == lab[i]]
        negs = [j for j in range(len(lab)) if lab[j] != lab[i]]
        for j in pos:
            ok = [m for m in negs if d[i, j] < d[i, m] < d[i, j] + margin]
            if ok: trip.append((i, j, min(ok, key=lambda m: d[i, m])))
    return np.array(trip, dtype=int).reshape(-1, 3)
T = mine(emb)
def loss(e): d = pdist(e); return jnp.maximum(d[T[:, 0], T[:, 1]] - d[T[:, 0], T[:, 2]] + margin, 0).mean()
if len(T):
    l, g = jax.value_and_grad(loss)(emb)
    emb = emb - 0.3 * g
D = pdist(emb) + jnp.eye(len(lab)) * 1e9
r1 = float((lab[D.argmin(1)] == lab).mean())
print(len(T) > 0, T.shape[1], round(r1, 3))
---
margin = 1.5
---
lab = lab.at[0].set(2)

### xa-pseudo-labels-added-to-the-train-set-until-none-is-sure
Xl = jnp.array([[0.0, 0.0], [1.0, 1.0]]); yl = jnp.array([0, 1]); Xu = jnp.array([[0.1, 0.2], [0.9, 0.7], [0.5, 0.5], [0.2, 0.1]]); thr = 0.6
---
Xt, yt, pool = Xl, yl, Xu
rounds = []
while len(pool):
    w = jnp.zeros((2, 2)); b = jnp.zeros(2)
    for _ in range(5):
        gw, gb = jax.grad(lambda w, b: optax.softmax_cross_entropy_with_integer_labels(Xt @ w + b, yt).mean(), (0, 1))(w, b)
        w, b = w - 2.0 * gw, b - 2.0 * gb
    pr = jax.nn.softmax(pool @ w + b)
    sure = pr.max(1) > thr
    if not sure.any(): break
    Xt = jnp.concatenate([Xt, pool[sure]]); yt = jnp.concatenate([yt, pr[sure].argmax(1)])
    pool = pool[~sure]
    rounds.append(int(sure.sum()))
print(rounds, Xt.shape, yt.dtype, len(pool))
yt
---
thr = 0.75
---
Xu = jnp.concatenate([Xu, jnp.array([[2.0, 2.0]])])

### xa-optuna-like-study-with-trials-pruned-by-an-exception
class Pruned(Exception): pass
class Trial:
    def __init__(self, number, rng): self.number, self.rng, self.params, self.inter = number, rng, {}, {}
    def suggest_float(self, name, lo, hi, log=False):
        v = math.exp(self.rng.uniform(math.log(lo), math.log(hi))) if log else self.rng.uniform(lo, hi)
        self.params[name] = v; return v
    def suggest_categorical(self, name, opts): self.params[name] = v = self.rng.choice(opts); return v
    def report(self, v, step): self.inter[step] = v
    def should_prune(self): return len(self.inter) > 1 and list(self.inter.values())[-1] > 20
target = jnp.array([1.0, 2.0])
def objective(trial):
    lr = trial.suggest_float("lr", 1e-2, 2.0, log=True)
    f = {"sq": jnp.square, "abs": jnp.abs}[trial.suggest_categorical("loss", ["sq", "abs"])]
    w = jnp.zeros(2)
    for s in range(4):
        l, g = jax.value_and_grad(lambda w: f(w - target).sum())(w)
        w = w - lr * g
        trial.report(float(l), s)
        if trial.should_prune(): raise Pruned(f"trial {trial.number} at {s}")
    return float(jnp.abs(w - target).max())
seed = 0
---
rng = random.Random(seed); done, pruned = [], []
for i in range(4):
    t = Trial(i, rng)
    try: done.append((objective(t), t.params))
    except Pruned as e: pruned.append(str(e))
best = min(done, key=lambda d: d[0]) if done else None
print(len(done), pruned, best and best[1]["loss"])
---
seed = 5
---
target = target * 10

### xa-gan-two-optimisers-alternating-k-critic-steps-and-sample-grid-text
key = jax.random.key(0); real = jnp.array([2.0, 2.2, 1.8, 2.1]); k_critic = 2
G = {"a": jnp.float32(1.0), "b": jnp.float32(0.0)}; D = {"w": jnp.float32(0.1), "c": jnp.float32(0.0)}
gen = lambda G, z: G["a"] * z + G["b"]
dis = lambda D, x: D["w"] * x + D["c"]
txG, txD = optax.adam(0.1, b1=0.5), optax.adam(0.1, b1=0.5)
sG, sD = txG.init(G), txD.init(D)
---
hist = {"d": [], "g": []}
for it in range(3):
    for _ in range(k_critic):
        key, k1 = jax.random.split(key)
        fake = gen(G, jax.random.normal(k1, (4,)))
        ld, gd = jax.value_and_grad(lambda D: jnp.mean(jax.nn.softplus(-dis(D, real))) + jnp.mean(jax.nn.softplus(dis(D, fake))))(D)
        u, sD = txD.update(gd, sD); D = optax.apply_updates(D, u)
    key, k2 = jax.random.split(key)
    lg, gg = jax.value_and_grad(lambda G: jnp.mean(jax.nn.softplus(-dis(D, gen(G, jax.random.normal(k2, (4,)))))))(G)
    u, sG = txG.update(gg, sG); G = optax.apply_updates(G, u)
    hist["d"].append(ld); hist["g"].append(lg)
print({k: [round(float(v), 3) for v in vs] for k, vs in hist.items()})
G["b"], sD[0].count
---
k_critic = 1
---
real = real - 4; sD = txD.init(D)

### xa-distillation-teacher-frozen-by-stop-gradient-and-temperature
T, alpha = 2.0, 0.5
kt, ks = jax.random.split(jax.random.key(1))
teacher = jax.random.normal(kt, (3, 2)); student = jax.random.normal(ks, (3, 2)) * 0.1
X = jnp.arange(12.0).reshape(4, 3) / 6; y = jnp.array([0, 1, 1, 0])
def kd(s, t, T): return optax.kl_divergence(jax.nn.log_softmax(s / T), jax.nn.softmax(t / T)).mean() * T ** 2
---
def loss(student, teacher):
    s, t = X @ student, lax.stop_gradient(X @ teacher)
    hard = optax.softmax_cross_entropy_with_integer_labels(s, y).mean()
    return alpha * hard + (1 - alpha) * kd(s, t, T), {"hard": hard, "agree": (s.argmax(1) == t.argmax(1)).mean()}
for _ in range(3):
    (l, m), g = jax.value_and_grad(loss, has_aux=True)(student, teacher)
    student -= 0.1 * g
zero = jax.grad(lambda t: loss(student, t)[0])(teacher)
print({k: f"{v:.3f}" for k, v in m.items()}, float(jnp.abs(zero).max()))
student
---
T = 4
---
alpha = 1

### xa-replay-sarsa-gridworld-with-epsilon-decay-and-q-dict
W, H = 3, 2; goal = (2, 1); gamma, lr, eps0 = 0.9, 0.5, 0.3
def step(s, a):
    dx, dy = [(1, 0), (-1, 0), (0, 1), (0, -1)][a]
    n = (min(max(s[0] + dx, 0), W - 1), min(max(s[1] + dy, 0), H - 1))
    return n, (1.0 if n == goal else -0.01), n == goal
Q = jnp.zeros((W, H, 4)); rng = random.Random(0)
---
returns = []
for ep in range(5):
    s, tot, eps, done, n = (0, 0), 0.0, eps0 / (ep + 1), False, 0
    act = lambda s: rng.randrange(4) if rng.random() < eps else int(Q[s].argmax())
    a = act(s)
    while not done and n < 12:
        s2, r, done = step(s, a)
        a2 = act(s2)
        td = r + gamma * Q[s2 + (a2,)] * (not done) - Q[s + (a,)]
        Q = Q.at[s + (a,)].add(lr * td)
        s, a, tot, n = s2, a2, tot + r, n + 1
    returns.append((round(tot, 2), n))
print(returns[-1][1] <= 12, float(Q.max()) > 0)
V = Q.max(-1)
V
---
goal = (1, 0)
---
Q = jnp.zeros((W, H, 4)); rng.seed(3)
---
lr, gamma = 1, 0.5

### xa-reinforce-bandit-baseline-and-entropy-bonus-with-deque-of-rewards
arms = jnp.array([0.2, 0.8, 0.5]); theta = jnp.zeros(3); key = jax.random.key(7); recent = collections.deque(maxlen=5); beta = 0.01
def pull(key, a): return jax.random.bernoulli(key, arms[a]).astype(jnp.float32)
---
for t in range(4):
    key, ka, kr = jax.random.split(key, 3)
    a = jax.random.categorical(ka, theta)
    r = pull(kr, a)
    base = sum(recent) / len(recent) if recent else 0.0
    def surrogate(th):
        lp = jax.nn.log_softmax(th)
        return -(r - base) * lp[a] + beta * jnp.sum(jnp.exp(lp) * lp)
    theta = theta - 0.5 * jax.grad(surrogate)(theta)
    recent.append(float(r))
print(list(recent), jax.nn.softmax(theta).argmax().dtype)
theta
---
recent.clear()
---
arms = jnp.array([1.0, 0.0, 0.0]); beta = 0
---
recent = collections.deque([1.0], maxlen=2)

### xa-mixup-and-cutout-augment-pipeline-composed-from-a-config-list
imgs = jnp.arange(2 * 4 * 4, dtype=jnp.float32).reshape(2, 4, 4) / 32; labels = jax.nn.one_hot(jnp.array([0, 1]), 2)
AUG = {}
def register(name):
    def deco(f): AUG[name] = f; return f
    return deco
@register("flip")
def flip(key, x, y): return jnp.where(jax.random.bernoulli(key, shape=(len(x), 1, 1)), x[:, :, ::-1], x), y
@register("mixup")
def mixup(key, x, y, alpha=0.4):
    k1, k2 = jax.random.split(key); lam = jax.random.beta(k1, alpha, alpha); p = jax.random.permutation(k2, len(x))
    return lam * x + (1 - lam) * x[p], lam * y + (1 - lam) * y[p]
@register("cutout")
def cutout(key, x, y, size=2):
    i, j = jax.random.randint(key, (2,), 0, 4 - size + 1)
    return lax.dynamic_update_slice(x, jnp.zeros((len(x), size, size)), (0, i, j)), y
pipeline = ["flip", ("mixup", {"alpha": 1.0}), "cutout"]; key = jax.random.key(0)
---
xb, yb = imgs, labels
for k, item in zip(jax.random.split(key, len(pipeline)), pipeline):
    name, kw = (item, {}) if isinstance(item, str) else item
    xb, yb = AUG[name](k, xb, yb, **kw)
stats = {"mean": float(xb.mean()), "y": yb.sum(1).tolist()}
print([p if isinstance(p, str) else p[0] for p in pipeline], round(stats["y"][0], 4))
xb
---
pipeline[2] = ("cutout", {"size": 3})
---
pipeline.append("flip"); key = jax.random.key(1)
---
@register("mixup")
def mixup(key, x, y, alpha=0): return x * 0, y

### xa-char-bigram-to-mlp-course-makemore-with-splits-and-sampling
words = ["emma", "olivia", "ava", "isabella", "sophia"]; block = 2
---
chars = sorted(set("".join(words))); stoi = {s: i + 1 for i, s in enumerate(chars)}; stoi["."] = 0; itos = {i: s for s, i in stoi.items()}
def build(words):
    X, Y = [], []
    for w in words:
        ctx = [0] * block
        for ch in w + ".":
            X.append(ctx); Y.append(stoi[ch]); ctx = ctx[1:] + [stoi[ch]]
    return jnp.array(X), jnp.array(Y)
random.seed(42); random.shuffle(words)
n1 = int(0.8 * len(words)); Xtr, Ytr = build(words[:n1]); Xdev, Ydev = build(words[n1:])
V = len(itos); k = jax.random.split(jax.random.PRNGKey(2147483647), 3)
params = [jax.random.normal(k[0], (V, 3)), jax.random.normal(k[1], (block * 3, 8)) * 0.2, jnp.zeros(8), jax.random.normal(k[2], (8, V)) * 0.01, jnp.zeros(V)]
def fwd(ps, X): C, W1, b1, W2, b2 = ps; return jnp.tanh(C[X].reshape(len(X), -1) @ W1 + b1) @ W2 + b2
def nll(ps, X, Y): return -jax.nn.log_softmax(fwd(ps, X))[jnp.arange(len(Y)), Y].mean()
lossi = []
for i in range(6):
    l, g = jax.value_and_grad(nll)(params, Xtr, Ytr)
    lr = 0.1 if i < 4 else 0.01
    params = [p - lr * q for p, q in zip(params, g)]
    lossi.append(jnp.log10(l).item())
out, ctx, key = [], [0] * block, jax.random.key(1)
while len(out) < 5:
    key, sub = jax.random.split(key)
    c = jax.random.categorical(sub, fwd(params, jnp.array([ctx]))[0]).item()
    ctx = ctx[1:] + [c]; out.append(c)
    if c == 0: break
print(sum(p.size for p in params), f"{nll(params, Xdev, Ydev):.3f}", "".join(itos[c] for c in out))
---
block = 3
---
words.append("mia")

### xa-log-metrics-with-a-meter-class-and-format-string-per-epoch
class AverageMeter:
    def __init__(self, name, fmt=":.3f"): self.name, self.fmt = name, fmt; self.reset()
    def reset(self): self.val = self.avg = self.sum = self.count = 0
    def update(self, val, n=1): self.val = val; self.sum += val * n; self.count += n; self.avg = self.sum / self.count
    def __str__(self): return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)
class ProgressMeter:
    def __init__(self, n, meters, prefix=""): self.fmt = "[{:" + str(len(str(n))) + "d}/" + str(n) + "]"; self.meters, self.prefix = meters, prefix
    def display(self, i): print("\t".join([self.prefix + self.fmt.format(i)] + [str(m) for m in self.meters]))
data = [(jnp.ones((2, 2)) * i, jnp.array([i, 1.0])) for i in range(4)]; w = jnp.zeros(2); every = 2
---
losses, norms = AverageMeter("Loss", ":.2e"), AverageMeter("|g|")
progress = ProgressMeter(len(data), [losses, norms], prefix="Epoch: [0] ")
for i, (xb, yb) in enumerate(data):
    l, g = jax.value_and_grad(lambda w: jnp.mean((xb @ w - yb) ** 2))(w)
    w = w - 0.05 * g
    losses.update(l.item(), len(yb)); norms.update(jnp.linalg.norm(g))
    if i % every == 0: progress.display(i)
losses.avg, norms.avg, w
---
every = 3
---
data.append(data[0])
---
AverageMeter.__str__ = lambda self: self.name

### xa-fgsm-and-pgd-attack-table-over-epsilons-with-clean-accuracy
W = jax.random.normal(jax.random.key(0), (4, 3)); X = jax.random.normal(jax.random.key(1), (6, 4)); y = (X @ W).argmax(1); epsilons = [0, 0.1, 0.3]
def ce(x, y): return optax.softmax_cross_entropy_with_integer_labels(x @ W, y).sum()
---
def pgd(x, y, eps, steps=3):
    adv = x
    for _ in range(steps):
        adv = adv + eps / steps * 1.5 * jnp.sign(jax.grad(ce)(adv, y))
        adv = jnp.clip(adv, x - eps, x + eps)
    return adv
table = {}
for eps in epsilons:
    fgsm = X + eps * jnp.sign(jax.grad(ce)(X, y))
    table[eps] = tuple(float((a @ W).argmax(1).__eq__(y).mean()) for a in (fgsm, pgd(X, y, eps)))
print("\n".join(f"{e:<5}{a:.2f} {b:.2f}" for e, (a, b) in table.items()))
---
epsilons.append(1)
---
W = W.at[0].set(0)

### xa-swa-average-from-epoch-and-batchnorm-statistics-recomputed
X = jax.random.normal(jax.random.key(0), (8, 2)) * 3 + 1; y = X[:, 0] * 2; swa_start = 2
state = {"mean": jnp.zeros(2), "var": jnp.ones(2), "n": 0}
def bn(x, st, train, mom=0.9):
    if not train: return (x - st["mean"]) / jnp.sqrt(st["var"] + 1e-5), st
    m, v = x.mean(0), x.var(0)
    return (x - m) / jnp.sqrt(v + 1e-5), {"mean": mom * st["mean"] + (1 - mom) * m, "var": mom * st["var"] + (1 - mom) * v, "n": st["n"] + 1}
def loss(w, st, x, y): h, st = bn(x, st, True); return jnp.mean((h @ w - y) ** 2), st
---
w, st, swa, n_avg = jnp.zeros(2), state, None, 0
for ep in range(5):
    for i in range(0, len(X), 4):
        (l, st), g = jax.value_and_grad(loss, has_aux=True)(w, st, X[i:i + 4], y[i:i + 4])
        w = w - 0.1 * g
    if ep >= swa_start:
        swa = w if swa is None else (swa * n_avg + w) / (n_avg + 1); n_avg += 1
if swa is not None:
    st = jax.tree.map(jnp.zeros_like, st) | {"n": 0}
    for i in range(0, len(X), 4): _, st = bn(X[i:i + 4], st, True, mom=st["n"] / (st["n"] + 1))
pred = bn(X, st, False)[0] @ (w if swa is None else swa)
print(n_avg, st["n"], type(st["n"]).__name__, pred.dtype)
st["mean"]
---
swa_start = 9
---
state = {"mean": X.mean(0), "var": X.var(0), "n": 3}; swa_start = 4

### xa-gradient-check-of-a-hand-written-backward-pass-by-layers
class Linear:
    def __init__(self, W, b): self.W, self.b = W, b
    def forward(self, x): self.x = x; return x @ self.W + self.b
    def backward(self, g): self.dW, self.db = self.x.T @ g, g.sum(0); return g @ self.W.T
class ReLU:
    def forward(self, x): self.m = x > 0; return x * self.m
    def backward(self, g): return g * self.m
k = jax.random.split(jax.random.key(0), 2)
net = [Linear(jax.random.normal(k[0], (3, 4)), jnp.zeros(4)), ReLU(), Linear(jax.random.normal(k[1], (4, 2)), jnp.zeros(2))]
X = jnp.arange(6.0).reshape(2, 3) / 3 - 1; T = jnp.ones((2, 2)); lr = 0.1
---
h = X
for layer in net: h = layer.forward(h)
loss, g = jnp.mean((h - T) ** 2), 2 * (h - T) / h.size
for layer in reversed(net): g = layer.backward(g)
def ref(Ws):
    h = jnp.maximum(X @ Ws[0] + net[0].b, 0) @ Ws[1] + net[2].b
    return jnp.mean((h - T) ** 2)
auto = jax.grad(ref)([net[0].W, net[2].W])
ok = [bool(jnp.allclose(a, l.dW, atol=1e-5)) for a, l in zip(auto, net[::2])]
for l in net[::2]: l.W -= lr * l.dW; l.b -= lr * l.db
print(f"{loss:.4f}", ok, net[1].m.dtype)
g
---
net[1].forward = lambda x: x * setattr(net[1], "m", x > 0.1) if False else x * net[1].__dict__.setdefault("m", x > 0)
---
lr = 0
---
X = X[:1]; T = T[:1]; net[1] = ReLU()

### xa-dataset-class-with-getitem-collate-fn-and-dataloader-epoch-seed
class Toy:
    def __init__(self, n, transform=None): self.x = np.arange(n * 2, dtype=np.float32).reshape(n, 2); self.transform = transform
    def __len__(self): return len(self.x)
    def __getitem__(self, i):
        v = self.x[i]
        return (self.transform(v) if self.transform else v), int(i % 2)
class Loader:
    def __init__(self, ds, bs, shuffle=False, drop_last=False, collate=None): self.ds, self.bs, self.shuffle, self.drop_last, self.epoch = ds, bs, shuffle, drop_last, 0; self.collate = collate or (lambda b: tuple(map(np.stack, zip(*b))))
    def __len__(self): return len(self.ds) // self.bs if self.drop_last else -(-len(self.ds) // self.bs)
    def __iter__(self):
        idx = np.random.default_rng(self.epoch).permutation(len(self.ds)) if self.shuffle else np.arange(len(self.ds))
        self.epoch += 1
        for i in range(len(self)): yield self.collate([self.ds[j] for j in idx[i * self.bs:(i + 1) * self.bs]])
dl = Loader(Toy(7), 3, shuffle=True)
---
tot, n, last = jnp.zeros(2), 0, None
for epoch in range(2):
    for xb, yb in dl:
        tot = tot + jnp.where(yb[:, None] == 1, xb, -xb).sum(0); n += len(xb)
        last = xb.shape, yb.dtype
    print(epoch, dl.epoch, len(dl), last, n)
tot
---
dl.ds.transform = lambda v: v * 10
---
dl.drop_last = True; dl.bs = 2
---
dl.collate = lambda b: (jnp.stack([v for v, _ in b]), jnp.array([t for _, t in b]))

### xa-cosine-restarts-schedule-as-a-generator-sent-the-loss
def sched(lo=0.01, hi=0.5, period=3):
    t, loss = 0, None
    while True:
        lr = lo + (hi - lo) * (1 + math.cos(math.pi * (t % period) / period)) / 2
        loss = yield lr
        t += 1
        if loss is not None and loss > 100: t = 0
s = sched(); lr = next(s); w = jnp.array([4.0, -2.0])
---
lrs = []
for _ in range(4):
    l, g = jax.value_and_grad(lambda w: (w ** 2).sum())(w)
    w = w - lr * g
    lr = s.send(float(l))
    lrs.append(round(lr, 3))
print(lrs)
w
---
w = w * 0 + 20.0
---
s.close(); s = sched(period=2); lr = next(s)

### xa-param-groups-with-names-matched-by-regex-and-frozen-by-set-to-zero
params = {"backbone": {"conv1": jnp.ones((2, 2)), "bn": jnp.ones(2)}, "head": {"w": jnp.ones(2), "b": jnp.zeros(())}}
rules = [(r"backbone/.*", "frozen"), (r".*/b$", "nodecay"), (r".*", "main")]
---
def label(path, _):
    name = "/".join(p.key for p in path)
    return next(lab for pat, lab in rules if re.fullmatch(pat, name))
labels = jax.tree_util.tree_map_with_path(label, params)
tx = optax.multi_transform({"frozen": optax.set_to_zero(), "nodecay": optax.sgd(0.1), "main": optax.adamw(0.1, weight_decay=0.5)}, labels)
st = tx.init(params)
p = params
for _ in range(2):
    g = jax.grad(lambda p: sum(jnp.sum(jnp.sin(v)) for v in jax.tree.leaves(p)))(p)
    up, st = tx.update(g, st, p); p = optax.apply_updates(p, up)
moved = jax.tree.map(lambda a, b: bool(jnp.any(a != b)), params, p)
print(labels, moved)
p["head"]
---
rules.insert(0, (r"backbone/bn", "main"))
---
params["head"]["scale"] = 1.0; del rules[0]

### xa-nested-training-function-with-config-overrides-from-argv-style-strings
base = {"lr": 0.1, "steps": 4, "act": "tanh", "layers": [3, 2]}
argv = ["--lr=0.3", "--layers=[4]"]
x = jnp.linspace(-1, 1, 5)[:, None]
---
import ast
cfg = copy.deepcopy(base)
for arg in argv:
    k, v = re.match(r"--(\w+)=(.*)", arg).groups()
    assert k in cfg, f"unknown {k}"
    try: v = ast.literal_eval(v)
    except (ValueError, SyntaxError): pass
    assert type(v) is type(cfg[k]), (k, v)
    cfg[k] = v
sizes = [1, *cfg["layers"], 1]
ps = [jax.random.normal(k, (i, o)) * 0.5 for k, i, o in zip(jax.random.split(jax.random.key(0), len(sizes) - 1), sizes, sizes[1:])]
def net(ps, x):
    for W in ps[:-1]: x = getattr(jnp, cfg["act"])(x @ W)
    return x @ ps[-1]
for step in range(cfg["steps"]):
    ps = jax.tree.map(lambda p, g: p - cfg["lr"] * g, ps, jax.grad(lambda ps: jnp.mean((net(ps, x) - x ** 2) ** 2))(ps))
print(cfg, [p.shape for p in ps])
net(ps, x).ravel()
---
argv += ["--act=sin"]
---
argv = ["--steps=2.5"]
---
argv = ["--steps=1"]; base["layers"].append(5)

### xa-online-mean-variance-normaliser-object-shared-by-env-and-agent
class RunningNorm:
    def __init__(self, d): self.n, self.mean, self.M2 = 0, jnp.zeros(d), jnp.zeros(d)
    def update(self, x):
        for row in x:
            self.n += 1; delta = row - self.mean
            self.mean = self.mean + delta / self.n; self.M2 = self.M2 + delta * (row - self.mean)
    @property
    def std(self): return jnp.sqrt(self.M2 / max(self.n - 1, 1)) if self.n > 1 else jnp.ones_like(self.mean)
    def __call__(self, x): return (x - self.mean) / (self.std + 1e-8)
norm = RunningNorm(2); env = {"norm": norm, "obs": np.arange(6.0).reshape(3, 2)}; agent = types.SimpleNamespace(norm=norm, w=jnp.ones(2))
---
norm.update(jnp.asarray(env["obs"], jnp.float32))
act = jnp.tanh(agent.norm(env["obs"].astype(np.float32)) @ agent.w)
same = env["norm"] is agent.norm
print(norm.n, same, norm.std.dtype)
act
---
env["obs"] = env["obs"][::-1].copy()
---
agent.norm = copy.deepcopy(norm)
---
env["norm"].n = 0

### xa-loss-registry-with-weights-and-total-as-dict-comprehension
LOSSES = {"mse": lambda p, t: jnp.mean((p - t) ** 2), "l1": lambda p, t: jnp.mean(jnp.abs(p - t)), "tv": lambda p, t: jnp.abs(jnp.diff(p)).mean()}
weights = {"mse": 1.0, "tv": 0.1}; t = jnp.array([0.0, 1.0, 1.0, 0.0]); p = jnp.zeros(4)
---
def total(p):
    parts = {k: w * LOSSES[k](p, t) for k, w in weights.items() if w}
    return sum(parts.values()), parts
for _ in range(3):
    (l, parts), g = jax.value_and_grad(total, has_aux=True)(p)
    p = p - 0.2 * g
print(" + ".join(f"{k}={v:.3f}" for k, v in parts.items()), type(l).__name__)
p
---
weights["l1"] = 1
---
weights = dict.fromkeys(weights, 0)
---
weights["mse"] = jnp.float32(2.0)

### xa-lr-scheduler-class-stepped-per-epoch-with-state-dict-and-load
class StepLR:
    def __init__(self, opt, step_size, gamma=0.5): self.opt, self.step_size, self.gamma, self.last = opt, step_size, gamma, 0
    def step(self):
        self.last += 1
        if self.last % self.step_size == 0: self.opt.lr *= self.gamma
    def state_dict(self): return {k: v for k, v in self.__dict__.items() if k != "opt"}
    def load_state_dict(self, d): self.__dict__.update(d)
class SGD:
    def __init__(self, params, lr, momentum=0.0): self.params, self.lr, self.mu = params, lr, momentum; self.buf = {}
    def step(self, grads):
        for k, g in grads.items():
            b = self.buf[k] = self.mu * self.buf.get(k, 0) + g
            self.params[k] = self.params[k] - self.lr * b
params = {"w": jnp.array([2.0, -3.0]), "b": jnp.float32(1)}; opt = SGD(params, 0.2, 0.9); sch = StepLR(opt, 2)
---
for ep in range(3):
    g = jax.grad(lambda p: (p["w"] ** 2).sum() + p["b"] ** 2)(dict(params))
    opt.step(g); sch.step()
sd = sch.state_dict()
print(opt.lr, sd, opt.params is params, sorted(opt.buf))
params
---
sch.load_state_dict({"last": 0, "gamma": 0.1})
---
opt.mu = 0; opt.buf.clear()
---
opt.params = params = {"w": jnp.ones(2), "b": 0.5}; opt.lr = 1

### xa-label-encoder-and-train-test-split-by-hand-with-stratify
raw = [("red", 1.0), ("blue", 2.0), ("red", 1.5), ("green", 0.1), ("blue", 2.2), ("green", 0.3)]; test_size = 0.5; seed = 0
---
names, vals = zip(*raw)
classes, codes = np.unique(names, return_inverse=True)
rng = np.random.default_rng(seed); test = []
for c in range(len(classes)):
    w = np.flatnonzero(codes == c); test += rng.permutation(w)[: max(1, int(len(w) * test_size))].tolist()
train = sorted(set(range(len(raw))) - set(test))
X = jnp.array(vals)[:, None]
mu = jnp.stack([X[jnp.array([i for i in train if codes[i] == c])].mean() if any(codes[i] == c for i in train) else jnp.inf for c in range(len(classes))])
pred = jnp.abs(X[jnp.array(sorted(test))] - mu).argmin(1)
hit = [classes[int(p)] == names[i] for p, i in zip(pred, sorted(test))]
print(classes.tolist(), sorted(test), sum(hit), "/", len(hit))
mu
---
raw.append(("red", 0.9))
---
seed = 4; test_size = 0.9

### xa-loop-with-nan-guard-restores-last-good-params-and-halves-lr
w0 = jnp.array([1.0, 2.0]); lr0 = 4.0
def f(w): return jnp.sum(jnp.exp(w) - 2 * w)
---
w, lr, good, events = w0, lr0, w0, []
for i in range(6):
    l, g = jax.value_and_grad(f)(w)
    if not jnp.isfinite(l) or l > 1e3:
        w, lr = good, lr / 4; events.append(i); continue
    good, w = w, w - lr * g
print(events, lr, w is good)
good
---
lr0 = 0.1
---
lr0 = 64; w0 = -w0

### xa-two-towers-in-batch-negatives-with-cache-of-item-vectors
items = {f"i{n}": jax.random.normal(jax.random.key(n), (3,)) for n in range(4)}; users = jax.random.normal(jax.random.key(9), (2, 3)); tau = 0.1; clicks = [(0, "i1"), (1, "i3")]; cache = {}
def vec(name):
    if name not in cache: cache[name] = items[name] / jnp.linalg.norm(items[name]); print("miss", name)
    return cache[name]
---
U = jnp.stack([users[u] for u, _ in clicks]); I = jnp.stack([vec(i) for _, i in clicks])
lg = U @ I.T / tau
loss = -jnp.diagonal(jax.nn.log_softmax(lg, axis=1)).mean()
gu = jax.grad(lambda us: -jnp.diagonal(jax.nn.log_softmax(jnp.stack([us[u] for u, _ in clicks]) @ I.T / tau)).mean())(users)
users = users - 0.1 * gu
top = {u: max(items, key=lambda i: float(users[u] @ vec(i))) for u in range(2)}
print(top, len(cache))
loss
---
clicks.append((0, "i2"))
---
cache.pop("i1"); items["i1"] = items["i1"] * -1
---
items["i9"] = jnp.ones(3); tau = 1
""",
)
