"""Training as people write it: configs, schedules, stopping, loggers, buckets, augmentation, histories."""

from ..cell import written

PRELUDE = """
import dataclasses, functools, itertools, json, math, os, random, re, sys, time, warnings
from functools import partial
from typing import Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### tn-argparse-namespace-drives-the-step-and-is-logged-as-json
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--act", choices=["tanh", "relu"], default="tanh")
parser.add_argument("--verbose", action="store_true")
argv = ["--lr", "0.05", "--verbose"]
w, x = jnp.array([0.3, -0.2]), jnp.linspace(-1, 1, 8).reshape(4, 2)
ACTS = {"tanh": jnp.tanh, "relu": jax.nn.relu}
---
args = parser.parse_args(argv)
act = ACTS[args.act]
loss = lambda w: jnp.mean(act(x @ w) ** 2)
trail = []
for i in range(args.steps):
    val, g = jax.value_and_grad(loss)(w)
    w = w - args.lr * g
    trail.append(round(float(val), 4))
    if args.verbose:
        print(f"step={i} loss={val:.4f}")
print(json.dumps(vars(args), sort_keys=True))
w, trail
---
argv = ["--act", "relu", "--steps", "2"]
---
argv = ["--lr", "0.5"]

### tn-epoch-timer-context-stack-with-nested-names-and-counts
class Scope:
    stack = []
    def __init__(self, name): self.name = name
    def __enter__(self):
        Scope.stack.append(self.name)
        return "/".join(Scope.stack)
    def __exit__(self, *exc):
        Scope.stack.pop()
        return False
visits = {}
x = jnp.arange(6.0).reshape(2, 3)
---
with Scope("train") as t:
    visits[t] = visits.get(t, 0) + 1
    y = jnp.tanh(x)
    with Scope("eval") as e:
        visits[e] = visits.get(e, 0) + 1
        score = y.mean(axis=0)
        try:
            with Scope("bad"):
                visits["bad"] = Scope.stack[:]
                score.reshape(7)
        except TypeError as err:
            visits["err"] = type(err).__name__
print(visits, Scope.stack)
score
---
x = x * 2
---
x = jnp.ones((1, 3))

### tn-lr-range-test-stops-when-the-loss-explodes-and-picks-the-steepest
X = jnp.linspace(-1, 1, 20).reshape(10, 2)
Y = X @ jnp.array([1.0, -2.0])
def mse(w): return jnp.mean((X @ w - Y) ** 2)
step = jax.jit(lambda w, lr: w - lr * jax.grad(mse)(w))
lrs = [1e-3 * 4 ** i for i in range(9)]
---
w = jnp.zeros(2)
best, records = float("inf"), []
for lr in lrs:
    w = step(w, lr)
    l = mse(w).item()
    records.append((lr, l))
    if l > 4 * best or l != l:
        print("exploded at", lr)
        break
    best = min(best, l)
else:
    print("never")
drops = [(b[1] - a[1], b[0]) for a, b in zip(records, records[1:])]
pick = min(drops)[1]
len(records), pick
---
lrs = lrs[:5]
---
X = X * 3

### tn-bookkeeping-of-a-training-run-in-a-slots-object-with-eq-and-order
from functools import total_ordering
@total_ordering
class Run:
    __slots__ = ("name", "loss", "params", "_hist")
    def __init__(self, name, params):
        self.name, self.params, self.loss, self._hist = name, params, math.inf, []
    def update(self, loss, params):
        self._hist.append(loss)
        if loss < self.loss:
            self.loss, self.params = loss, params
        return self
    def __eq__(self, other): return self.loss == other.loss
    def __lt__(self, other): return self.loss < other.loss
    __hash__ = object.__hash__
def f(p): return jnp.sum((p - 3.0) ** 2)
runs = [Run(f"lr{lr}", jnp.zeros(2)) for lr in (0.1, 0.4, 1.1)]
---
for run, lr in zip(runs, (0.1, 0.4, 1.1)):
    p = run.params
    for _ in range(3):
        p = p - lr * jax.grad(f)(p)
        run.update(float(f(p)), p)
best = min(runs)
order = [r.name for r in sorted(runs)]
print(order, len(best._hist), best is runs[1])
best.params
---
runs[0]._hist.clear()
---
runs = [Run("only", jnp.ones(3)), Run("two", -jnp.ones(3)), Run("three", jnp.zeros(3))]

### tn-hparam-grid-by-itertools-product-with-frozen-keys-and-memo
from itertools import product
memo = {}
xs = jnp.linspace(0, 1, 5)
def score(width, depth, xs):
    h = xs
    for _ in range(depth):
        h = jnp.sin(width * h)
    return h.std()
grid = {"width": [1, 2], "depth": [1, 3]}
---
new = 0
for combo in product(*grid.values()):
    key = frozenset(zip(grid, combo))
    if key not in memo:
        memo[key] = score(*combo, xs)
        new += 1
ranked = sorted(memo.items(), key=lambda kv: -kv[1])
top = dict(ranked[0][0])
print(new, len(memo), top["width"], top["depth"])
ranked[0][1]
---
grid["depth"].append(2)
---
memo.clear()

### tn-early-stopping-with-patience-closure-and-best-weights-restored
x = jnp.linspace(-2, 2, 16)
y = jnp.sin(x)
def make_stopper(patience):
    best, bad, kept = math.inf, 0, None
    def check(loss, params):
        nonlocal best, bad, kept
        if loss < best - 1e-3:
            best, bad, kept = loss, 0, params
        else:
            bad += 1
        return bad >= patience, kept
    return check
def loss(c): return jnp.mean((jnp.polyval(c, x) - y) ** 2)
lr, epochs = 0.02, 12
---
c = jnp.zeros(4)
stop_at = None
check = make_stopper(2)
for epoch in range(epochs):
    l, g = jax.value_and_grad(loss)(c)
    done, kept = check(float(l), c)
    if done:
        stop_at = epoch
        break
    c = c - lr * g
c = kept if kept is not None else c
print("stopped", stop_at)
c
---
lr = 0.3
---
epochs = 3

### tn-dataclass-config-replaced-nested-and-hashed-as-static-argument
from dataclasses import dataclass, replace, asdict, field
@dataclass(frozen=True)
class Opt:
    lr: float = 0.1
    nesterov: bool = False
@dataclass(frozen=True)
class Cfg:
    opt: Opt = Opt()
    dims: tuple = (2, 3)
    tags: frozenset = frozenset({"a"})
@partial(jax.jit, static_argnums=0)
def apply(cfg, p, g):
    d = cfg.opt.lr * g
    return p - (d + 0.5 * d if cfg.opt.nesterov else d)
cfg = Cfg()
p, g = jnp.ones((2, 3)), jnp.arange(6.0).reshape(2, 3)
---
a = apply(cfg, p, g)
cfg2 = replace(cfg, opt=replace(cfg.opt, nesterov=True))
b = apply(cfg2, p, g)
same = cfg2 == replace(cfg, opt=Opt(0.1, True)), hash(cfg) == hash(Cfg())
print(same, asdict(cfg2)["opt"], cfg2.tags | {"b"} == {"a", "b"})
a, b
---
cfg = Cfg(opt=Opt(lr=0.2))
---
g = g.astype(jnp.float16)

### tn-metrics-logger-writes-jsonl-and-reads-the-tail
class Logger:
    def __init__(self, path): self.path, self.n = path, 0
    def log(self, **kv):
        self.n += 1
        row = {k: (v.tolist() if hasattr(v, "tolist") else v) for k, v in kv.items()}
        with open(self.path, "a") as f:
            f.write(json.dumps({"n": self.n, **row}) + "\n")
    def tail(self, k):
        with open(self.path) as f:
            return [json.loads(line) for line in f][-k:]
log = Logger(os.path.join(place, "m.jsonl"))
w = jnp.array([1.0, 2.0])
---
for i in range(3):
    w = w * 0.5
    log.log(step=i, norm=jnp.linalg.norm(w), w=w, tag="half")
last = log.tail(2)
print(log.n, last[-1]["step"], round(last[-1]["norm"], 4))
w
---
w = w + 4
---
log.n = 100

### tn-resume-from-npz-checkpoint-and-continue-where-it-stopped
path = os.path.join(place, "ck.npz")
def save(step, params, opt):
    np.savez(path, step=step, **{f"p_{k}": np.asarray(v) for k, v in params.items()}, mom=np.asarray(opt))
def load():
    if not os.path.exists(path):
        return 0, {"w": jnp.zeros(2), "b": jnp.zeros(())}, jnp.zeros(2)
    with np.load(path) as z:
        return int(z["step"]), {k[2:]: jnp.asarray(z[k]) for k in z.files if k.startswith("p_")}, jnp.asarray(z["mom"])
x, y = jnp.linspace(-1, 1, 8).reshape(4, 2), jnp.array([1.0, 0.0, 1.0, 2.0])
---
step, params, mom = load()
start = step
while step < start + 3:
    g = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"] - y) ** 2))(params)
    mom = 0.9 * mom + g["w"]
    params = {"w": params["w"] - 0.1 * mom, "b": params["b"] - 0.1 * g["b"]}
    step += 1
save(step, params, mom)
print("from", start, "to", step, sorted(params))
params["w"]
---
y = y + 1
---
os.remove(path)

### tn-byte-pair-merges-learned-from-text-then-embedded
from collections import Counter
text = "low lower lowest newer wider new low"
def pairs(words):
    c = Counter()
    for w, n in words.items():
        for a, b in zip(w, w[1:]):
            c[a, b] += n
    return c
def merge(words, pair):
    out = {}
    for w, n in words.items():
        new, i = [], 0
        while i < len(w):
            if i + 1 < len(w) and (w[i], w[i + 1]) == pair:
                new.append(w[i] + w[i + 1]); i += 2
            else:
                new.append(w[i]); i += 1
        out[tuple(new)] = out.get(tuple(new), 0) + n
    return out
n_merges = 4
---
words = dict(Counter(tuple(w) + ("_",) for w in text.split()))
merges = []
for _ in range(n_merges):
    best = max(sorted(pairs(words).items()), key=lambda kv: kv[1])[0]
    words = merge(words, best)
    merges.append("".join(best))
vocab = {t: i for i, t in enumerate(sorted({t for w in words for t in w}))}
table = jax.random.normal(jax.random.key(0), (len(vocab), 4))
ids = [jnp.array([vocab[t] for t in w]) for w in words]
vecs = jnp.stack([table[i].mean(0) for i in ids])
print(merges, len(vocab))
vecs @ vecs.T
---
text = text + " lowest lowest"
---
n_merges = 2

### tn-string-buckets-of-lengths-padded-with-mask-and-collated
sents = ["a b c", "d", "e f", "g h i j", "k l"]
vocab = {c: i + 1 for i, c in enumerate("abcdefghijkl")}
emb = jnp.arange(13.0)[:, None] * jnp.ones((1, 2))
def collate(batch):
    ids = [[vocab[t] for t in s.split()] for s in batch]
    n = max(map(len, ids))
    arr = np.array([r + [0] * (n - len(r)) for r in ids])
    return jnp.asarray(arr), jnp.asarray(arr != 0)
---
buckets = {}
for s in sents:
    buckets.setdefault(len(s.split()), []).append(s)
means = {}
for n, batch in sorted(buckets.items()):
    ids, mask = collate(batch)
    e = jnp.take(emb, ids, axis=0) * mask[..., None]
    means[n] = (e.sum((1, 2)) / mask.sum(1)).tolist()
    print(n, ids.shape, means[n])
---
sents.append("l k j i h")
---
emb = emb + 1

### tn-ring-of-history-with-deque-maxlen-and-running-stats
from collections import deque
hist = deque(maxlen=4)
class Running:
    def __init__(self): self.n, self.mean, self.m2 = 0, 0.0, 0.0
    def push(self, v):
        self.n += 1
        d = v - self.mean
        self.mean += d / self.n
        self.m2 += d * (v - self.mean)
    @property
    def std(self): return (self.m2 / max(self.n - 1, 1)) ** 0.5
stats = Running()
key = jax.random.key(3)
---
for i in range(3):
    key, sub = jax.random.split(key)
    v = jax.random.normal(sub, (2,)).sum()
    hist.append(v)
    stats.push(v)
smooth = sum(hist) / len(hist)
print(len(hist), stats.n, f"{stats.mean:.3f} {stats.std:.3f}")
smooth
---
hist.clear()
---
stats.push(10.0)

### tn-lambda-schedules-in-a-dict-piecewise-warmup-and-cosine
SCHEDULES = {
    "const": lambda t, base: base,
    "warm": lambda t, base: base * min(1.0, (t + 1) / 4),
    "cos": lambda t, base: 0.5 * base * (1 + math.cos(math.pi * t / 8)),
    "jcos": lambda t, base: 0.5 * base * (1 + jnp.cos(jnp.pi * t / 8)),
}
name, base = "warm", 0.2
p = jnp.array([2.0, -1.0])
---
lrs = []
for t in range(5):
    lr = SCHEDULES[name](t, base)
    lrs.append(float(lr))
    p = p - lr * 2 * p
kinds = {k: type(f(2, base)).__name__ for k, f in SCHEDULES.items()}
print([round(v, 4) for v in lrs], kinds)
p
---
name = "jcos"
---
name, base = "cos", 1

### tn-confusion-matrix-report-per-class-with-string-labels
labels = ["cat", "dog", "fox"]
logits = jax.random.normal(jax.random.key(1), (12, 3))
truth = jnp.array([0, 1, 2] * 4)
---
pred = logits.argmax(-1)
cm = jnp.zeros((3, 3), int).at[truth, pred].add(1)
report = {}
for i, lab in enumerate(labels):
    tp = int(cm[i, i])
    prec = tp / max(int(cm[:, i].sum()), 1)
    rec = tp / max(int(cm[i].sum()), 1)
    report[lab] = {"p": round(prec, 3), "r": round(rec, 3)}
width = max(map(len, labels))
for lab, row in zip(labels, cm):
    print(f"{lab:>{width}} |", *row)
acc = jnp.trace(cm) / cm.sum()
report, acc
---
logits = -logits
---
labels[0] = "elephant"

### tn-grid-world-value-iteration-until-delta-below-threshold-with-walrus
grid = ["S..#", ".#..", "...G"]
gamma = 0.9
H, W = len(grid), len(grid[0])
wall = jnp.array([[c == "#" for c in r] for r in grid])
goal = jnp.array([[c == "G" for c in r] for r in grid])
def shift(v, dy, dx):
    p = jnp.pad(v, 1, mode="edge")
    return p[1 + dy:1 + dy + H, 1 + dx:1 + dx + W]
def backup(v):
    best = jnp.stack([shift(jnp.where(wall, v.min(), v), dy, dx) for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0))]).max(0)
    return jnp.where(goal, 1.0, jnp.where(wall, 0.0, gamma * best))
---
v, n = jnp.zeros((H, W)), 0
while (delta := float(jnp.abs((new := backup(v)) - v).max())) > 1e-3:
    v, n = new, n + 1
arrows = "\n".join("".join(c if c in "#G" else str(int(10 * v[i, j])) for j, c in enumerate(r)) for i, r in enumerate(grid))
print(n, delta < 1e-3)
print(arrows)
v
---
gamma = 0.5
---
goal = goal.at[0, 0].set(True)

### tn-image-augmentation-pipeline-of-callables-with-probabilities-and-keys
class Compose:
    def __init__(self, *ops): self.ops = ops
    def __call__(self, key, img):
        applied = []
        for (p, op), k in zip(self.ops, jax.random.split(key, len(self.ops))):
            k1, k2 = jax.random.split(k)
            if jax.random.uniform(k1) < p:
                img = op(k2, img)
                applied.append(op.__name__)
        return img, applied
def hflip(key, img): return img[:, ::-1]
def bright(key, img): return jnp.clip(img * jax.random.uniform(key, minval=0.5, maxval=1.5), 0, 1)
def crop(key, img):
    y, x = jax.random.randint(key, (2,), 0, 3)
    return lax.dynamic_slice(img, (y, x), (img.shape[0] - 2, img.shape[1] - 2))
aug = Compose((0.5, hflip), (0.9, bright), (0.6, crop))
img = jnp.linspace(0, 1, 48).reshape(6, 8)
seed = 0
---
outs = []
for k in jax.random.split(jax.random.key(seed), 4):
    out, applied = aug(k, img)
    outs.append(out)
    print(out.shape, "+".join(applied) or "none")
mean = sum(o.mean() for o in outs) / len(outs)
mean
---
seed = 7
---
aug.ops = aug.ops[:2]

### tn-generator-of-infinite-shuffled-batches-feeds-a-step-counter
def batches(x, size, seed):
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(x))
        for i in range(0, len(x) - size + 1, size):
            yield x[order[i:i + size]]
data = np.arange(12.0, dtype=np.float32).reshape(6, 2)
feed = batches(data, 2, 0)
w, seen = jnp.zeros(2), 0
---
for _, batch in zip(range(4), feed):
    b = jnp.asarray(batch)
    w = w + 0.1 * (b.mean(0) - w)
    seen += len(batch)
print(seen, type(batch).__name__)
w
---
feed = batches(data * 2, 3, 1)
---
seen = 0

### tn-property-with-setter-validates-and-invalidates-a-cache
class Kernel:
    def __init__(self, ls): self._ls, self._cache = ls, {}
    @property
    def ls(self): return self._ls
    @ls.setter
    def ls(self, v):
        if v <= 0:
            raise ValueError(f"bad lengthscale {v}")
        self._ls = v
        self._cache.clear()
    def gram(self, x):
        key = x.shape
        if key not in self._cache:
            self._cache[key] = jnp.exp(-0.5 * (x[:, None] - x[None]) ** 2 / self._ls ** 2)
        return self._cache[key]
k = Kernel(1.0)
x = jnp.linspace(0, 1, 4)
scales = [0.5, 2.0]
---
dets = []
for s in scales:
    k.ls = s
    dets.append(jnp.linalg.slogdet(k.gram(x) + 1e-3 * jnp.eye(4))[1])
    assert k.gram(x) is k.gram(x)
try:
    k.ls = -1.0
    told = "fine"
except ValueError as e:
    told = str(e)
print(told, k.ls, len(k._cache))
jnp.stack(dets)
---
scales = [1.5]
---
x = x * 3

### tn-lru-cached-basis-functions-keyed-by-degree-and-tuple-of-knots
from functools import lru_cache
@lru_cache(maxsize=8)
def basis(deg, knots):
    return tuple(jnp.array([1.0 if i == j else 0.0 for j in range(deg + 1)]) for i in range(len(knots)))
@lru_cache
def fact(n): return 1 if n < 2 else n * fact(n - 1)
deg, knots = 2, (0.0, 0.5, 1.0)
x = jnp.linspace(0, 1, 5)
---
bs = basis(deg, knots)
taylor = sum(x ** n / fact(n) for n in range(5))
y = sum(jnp.polyval(b, x) for b in bs)
err = jnp.abs(taylor - jnp.exp(x)).max()
print(len(bs), basis(deg, knots) is bs, fact.cache_info().currsize)
y, err
---
deg = 3
---
knots = (0.0, 1.0)

### tn-exception-in-the-third-epoch-logged-and-rest-skipped
batches = [jnp.ones((2, 3)), jnp.ones((2, 3)) * 2, jnp.ones((2, 4)), jnp.ones((2, 3))]
w = jnp.ones(3)
errors = []
def step(w, b):
    pred = b @ w
    return w - 0.01 * (pred[:, None] * b).mean(0)
---
done = 0
for i, b in enumerate(batches):
    try:
        w = step(w, b)
    except (TypeError, ValueError) as e:
        errors.append((i, type(e).__name__, b.shape))
        continue
    finally:
        done += 1
print(done, errors[-1:])
w
---
batches[2] = jnp.ones((2, 3)) * 3
---
errors.clear()

### tn-json-roundtrip-of-params-with-custom-encoder-and-object-hook
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (jax.Array, np.ndarray)):
            return {"__a__": np.asarray(o).tolist(), "d": str(o.dtype)}
        if isinstance(o, (np.generic,)):
            return o.item()
        return super().default(o)
def hook(d): return jnp.array(d["__a__"], d["d"]) if "__a__" in d else d
params = {"w": jnp.arange(3.0), "n": np.int64(4), "b": [jnp.array(True), jnp.array(1, jnp.int8)]}
---
text = json.dumps(params, cls=Enc, sort_keys=True)
back = json.loads(text, object_hook=hook)
same = jax.tree.map(lambda a, b: bool(jnp.all(a == b)), params, back)
kinds = jax.tree.map(lambda v: str(jnp.asarray(v).dtype), back)
print(len(text), same, kinds)
back["w"] * 2
---
params["w"] = params["w"] + 0.5
---
params["extra"] = {"deep": jnp.eye(2)}

### tn-coroutine-averager-primed-and-sent-losses
def averager():
    total, n, avg = 0.0, 0, None
    while True:
        v = yield avg
        if v is None:
            return avg
        total, n = total + v, n + 1
        avg = total / n
xs = jnp.arange(5.0)
---
avg = averager()
next(avg)
means = [avg.send(jnp.sum(xs[:i + 1] ** 2)) for i in range(len(xs))]
try:
    avg.send(None)
except StopIteration as stop:
    final = stop.value
print(final is means[-1], float(final))
jnp.stack(means)
---
xs = xs * 2
---
xs = xs[:2]

### tn-mixin-hierarchy-with-super-and-class-level-registries
class Base:
    registry = {}
    def __init_subclass__(cls, tag=None, **kw):
        super().__init_subclass__(**kw)
        if tag:
            Base.registry[tag] = cls
    def __init__(self, **kw): self.cfg = kw
    def __call__(self, x): return x
class Scaled(Base):
    def __call__(self, x): return super().__call__(x) * self.cfg.get("scale", 2)
class Shifted(Base):
    def __call__(self, x): return super().__call__(x) + self.cfg.get("shift", 1)
class Both(Scaled, Shifted, tag="both"): ...
class Rev(Shifted, Scaled, tag="rev"): ...
x = jnp.arange(3.0)
kw = {"scale": 3}
---
outs = {tag: cls(**kw)(x) for tag, cls in Base.registry.items()}
mro = [c.__name__ for c in Both.__mro__[:-1]]
diff = outs["both"] - outs["rev"]
print(mro, diff.tolist())
outs
---
kw = {"shift": jnp.array([1.0, 2.0, 3.0])}
---
Base.registry.pop("rev"); class_ = type("Rev2", (Scaled,), {}, tag="rev")

### tn-namedtuple-carry-through-scan-with-replace-and-unpacking
from typing import NamedTuple
class Carry(NamedTuple):
    pos: Any
    vel: Any
    t: Any = 0.0
    @property
    def energy(self): return 0.5 * self.vel ** 2 + 0.5 * self.pos ** 2
def leap(c, dt):
    v = c.vel - 0.5 * dt * c.pos
    p = c.pos + dt * v
    c = c._replace(pos=p, vel=v - 0.5 * dt * p, t=c.t + dt)
    return c, c.energy
c = Carry(jnp.array(1.0), jnp.array(0.0), jnp.array(0.0))
n, dt = 8, 0.1
---
c, es = lax.scan(leap, c, jnp.full(n, dt))
pos, vel, t = c
drift = es.max() - es.min()
print(type(c).__name__, c._fields, f"{t:.2f} {drift:.5f}")
c, es[-1]
---
n = 3
---
dt = 0.2

### tn-tqdm-like-bar-redirects-and-updates-postfix-with-losses
class Bar:
    def __init__(self, it, total=None): self.it, self.n, self.total, self.post = it, 0, total or len(it), {}
    def __iter__(self):
        for v in self.it:
            yield v
            self.n += 1
            sys.stderr.write(f"\r{self.n}/{self.total} {self.post}")
        sys.stderr.write("\n")
    def set_postfix(self, **kw): self.post = {k: f"{float(v):.2f}" for k, v in kw.items()}
w = jnp.array(5.0)
lr = 0.1
---
bar = Bar(range(4))
for i in bar:
    loss, g = jax.value_and_grad(lambda w: (w - 1) ** 2)(w)
    w = w - lr * g
    bar.set_postfix(loss=loss, lr=lr)
print(bar.n, bar.post)
w
---
lr = 0.3
---
w = jnp.array([1.0, 2.0]).sum()
""",
    theme="tn_people",
)
