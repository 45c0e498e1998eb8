"""States that go on from run to run, helpers that are redefined, and NumPy, pandas and JAX side by side."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, enum, functools, io, itertools, json, math, operator, os, pickle, random, re, time, types
from collections import Counter, defaultdict, deque
from functools import partial, wraps, reduce
from typing import NamedTuple, Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
import optax
X = jnp.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0], [-1.0, 1.0]]); y = jnp.array([1.0, 0.0, 1.0, 0.0])
"""

CELLS = written(
    PRELUDE,
    r"""
### ya-session-object-continues-with-best-and-patience-across-runs
class Session:
    def __init__(self, p): self.p, self.epoch, self.best, self.best_p, self.wait, self.done = p, 0, None, None, 0, False
sess = Session({"w": jnp.zeros(2), "b": jnp.zeros(())})
patience, min_delta, per_run, lr = 2, 1e-3, 3, 0.5
def nll(p): z = X @ p["w"] + p["b"]; return jnp.mean(jnp.logaddexp(0, z) - y * z)
---
for _ in range(per_run):
    if sess.done: break
    l, g = jax.value_and_grad(nll)(sess.p)
    sess.p = jax.tree.map(lambda a, b: a - lr * b, sess.p, g)
    sess.epoch += 1
    if sess.best is None or l < sess.best - min_delta:
        sess.best, sess.best_p, sess.wait = float(l), sess.p, 0
    else:
        sess.wait += 1
        sess.done = sess.wait >= patience
        if sess.done: sess.p = sess.best_p
state = "done" if sess.done else "running"
print(f"[{sess.epoch}] {state} best={sess.best:.3f} wait={sess.wait}")
---
min_delta = 10
---
sess.done = False; sess.wait = 0
---
sess = Session({"w": jnp.ones(2), "b": jnp.ones(())}); min_delta = 0
---
y = 1 - y; lr = 1

### ya-helper-redefined-step-inner-loss-outer-captured-old
def loss(w): return jnp.mean((X @ w - y) ** 2)
def make_step(loss=loss):
    def step(w, lr): return w - lr * jax.grad(loss)(w)
    return step
step = make_step()
reg = 0.0
---
w = jnp.zeros(2)
for lr in (0.1, 0.05):
    w = step(w, lr)
captured = loss(w)
total = captured + reg * jnp.sum(jnp.abs(w))
same = step.__closure__[0].cell_contents is loss
print(f"{total:.4f}", same, lr)
---
def loss(w): return jnp.sum(jnp.abs(X @ w - y))
---
step = make_step(loss)
---
reg = 1
---
step.__closure__[0].cell_contents = lambda w: jnp.sum(w**2 - w)

### ya-toggled-flags-change-what-the-cell-binds
use_bias, normalise, verbose = True, False, 1
---
feats = X
if normalise:
    mu, sd = feats.mean(0), feats.std(0)
    feats = (feats - mu) / sd
elif verbose > 1:
    print("raw features")
if use_bias: feats = jnp.hstack([feats, jnp.ones((len(X), 1))])
G = feats.T @ feats + 1e-3 * jnp.eye(feats.shape[1])
beta = jnp.linalg.solve(G, feats.T @ y)
resid = y - feats @ beta
bias = beta[-1].item() if use_bias else None
r2 = 1 - float(resid @ resid) / float(jnp.sum((y - y.mean()) ** 2))
if verbose: print(f"r2={r2:.3f}", beta.shape)
---
normalise = True
---
use_bias = False
---
verbose, normalise, use_bias = 2, 0, 1
---
X = X[:, :1]

### ya-pandas-frame-filled-in-loops-with-iterrows-and-merge
import pandas as pd
people = pd.DataFrame({"id": [1, 2, 3], "h": [1.6, 1.8, 1.7], "grp": list("aba")})
weights = pd.DataFrame({"id": [1, 2, 3], "kg": [60.0, 80.0, 75.0]})
coef = jnp.array([0.5, -0.1])
---
df = people.merge(weights, on="id")
df["bmi"] = df.kg / df.h**2
scores = []
for i, row in df.iterrows():
    v = jnp.array([row.h, row.bmi]) @ coef
    scores.append(float(v))
df["score"] = scores
for g, part in df.groupby("grp"):
    m = jnp.asarray(part["score"].to_numpy(np.float32)).mean()
    df.loc[df.grp == g, "centered"] = part["score"] - float(m)
top = df.sort_values("score", ascending=False).iloc[0].id
print(df.round(2).to_string(index=False), int(top))
vec = jnp.asarray(df["centered"].values, dtype=jnp.float32)
---
coef = coef * -1
---
people.loc[len(people)] = [4, 1.5, "c"]; weights.loc[3] = [4, 50.0]
---
people["grp"] = "z"
---
coef = np.array([1, 0])

### ya-checkpoint-manager-class-keeps-last-k-pickles
class Manager:
    def __init__(self, root, keep): self.root, self.keep = root, keep; os.makedirs(root, exist_ok=True)
    def steps(self): return sorted(int(m[1]) for f in os.listdir(self.root) if (m := re.fullmatch(r"ck_(\d+)\.pkl", f)))
    def save(self, step, tree):
        with open(f"{self.root}/ck_{step}.pkl", "wb") as f: pickle.dump(jax.tree.map(np.asarray, tree), f)
        for s in self.steps()[: -self.keep]: os.remove(f"{self.root}/ck_{s}.pkl")
    def restore(self, step=None):
        if not (st := self.steps()): return None, 0
        step = st[-1] if step is None else step
        with open(f"{self.root}/ck_{step}.pkl", "rb") as f: return jax.tree.map(jnp.asarray, pickle.load(f)), step
mgr = Manager("cks", 2)
---
tree, start = mgr.restore()
if tree is None: tree = {"w": jnp.zeros(2), "m": {"v": jnp.zeros(2)}}
for s in range(start + 1, start + 4):
    g = jax.grad(lambda w: jnp.mean((X @ w - y) ** 2))(tree["w"])
    tree["m"]["v"] = 0.5 * tree["m"]["v"] + g
    tree["w"] = tree["w"] - 0.1 * tree["m"]["v"]
    if s % 2 == 0: mgr.save(s, tree)
kept = mgr.steps()
print(start, kept, f"{jnp.linalg.norm(tree['w']):.4f}")
---
mgr.keep = 1
---
for f in os.listdir("cks"): os.remove(f"cks/{f}")
---
mgr = Manager("other", 3)
---
X = X * 0.5

### ya-numpy-and-jax-views-mixed-running-normaliser
mean, var, count = np.zeros(2), np.ones(2), 1e-4
chunks = [np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, -1.0]])]
---
for c in chunks:
    bm, bv, bc = c.mean(0), c.var(0), len(c)
    d = bm - mean
    tot = count + bc
    mean = mean + d * bc / tot
    M2 = var * count + bv * bc + d**2 * count * bc / tot
    var, count = M2 / tot, tot
normed = (X - mean) / np.sqrt(var + 1e-8)
pre = jnp.clip(normed, -2, 2)
kinds = type(mean).__name__, type(normed).__name__, mean.dtype.name, normed.dtype.name
back = np.asarray(pre) * np.sqrt(var) + mean
print(kinds, back.dtype, round(count, 2))
---
chunks.append(np.array([[10, 10]]))
---
mean, var, count = np.zeros(2), np.ones(2), 0.0
---
mean = jnp.asarray(mean); var = jnp.asarray(var)
---
chunks = [jnp.ones((2, 2))]

### ya-appended-lists-of-runs-and-leaderboard-with-ties
runs = []
class Run(NamedTuple):
    name: str
    score: Any
    tags: tuple = ()
cand = {"zeros": jnp.zeros(2), "ones": jnp.ones(2), "tens": jnp.full(2, 10.0)}
---
for name, w in cand.items():
    acc = jnp.mean(((X @ w) > 0) == (y > 0.5))
    runs.append(Run(f"{name}#{len(runs)}", acc, ("big",) if jnp.linalg.norm(w) > 5 else ()))
board = sorted(runs, key=lambda r: (-float(r.score), r.name))
groups = {}
for r in board: groups.setdefault(round(r.score.item(), 2), []).append(r.name)
(lead, *tied), *_ = groups.values()
big = [r.name for r in runs if "big" in r.tags]
print(lead, len(tied), len(runs), big[:1])
mean_score = sum(r.score for r in runs) / len(runs)
---
runs.clear()
---
cand["neg"] = -jnp.ones(2)
---
del runs[2:], cand["ones"]
---
y = y * 0

### ya-lookahead-slow-fast-weights-with-enumerate-cycle
k, alpha, total = 3, 0.5, 7
inner = optax.adam(0.1)
slow = {"w": jnp.zeros(2)}
data = itertools.cycle([0, 1, 2, 3])
---
fast, st, syncs = slow, inner.init(slow), 0
for i, j in enumerate(itertools.islice(data, total), start=1):
    g = jax.grad(lambda p: (X[j] @ p["w"] - y[j]) ** 2)(fast)
    u, st = inner.update(g, st)
    fast = optax.apply_updates(fast, u)
    if i % k == 0:
        slow = jax.tree.map(lambda s, f: s + alpha * (f - s), slow, fast)
        fast = slow
        syncs += 1
drift = optax.global_norm(jax.tree.map(operator.sub, fast, slow))
print(syncs, i, j, f"{drift:.4f}")
---
k = 2
---
slow = {"w": jnp.ones(2)}
---
data = iter([3, 3]); alpha = 1
---
inner = optax.sgd(1); data = itertools.repeat(1)

### ya-param-tree-stats-walk-with-star-unpack-and-match
params = {"enc": [{"w": jnp.ones((2, 3)), "b": None}, {"w": jnp.zeros((3, 1)), "b": jnp.ones(1)}], "scale": 2, "name": "net", "frozen": False}
def walk(t, *path):
    match t:
        case dict():
            for k, v in t.items(): yield from walk(v, *path, k)
        case list() | tuple():
            for i, v in enumerate(t): yield from walk(v, *path, str(i))
        case None: yield ".".join(path), "none", None
        case bool(): yield ".".join(path), "bool", t
        case int() | float(): yield ".".join(path), "num", t
        case str(s): yield ".".join(path), "str", s
        case jax.Array(shape=(n, m)): yield ".".join(path), f"mat{n}x{m}", jnp.linalg.norm(t)
        case jax.Array(): yield ".".join(path), "arr", t.sum()
        case other: yield ".".join(path), type(other).__name__, None
---
stats = {}
for path, kind, val in walk(params):
    stats[path] = kind
    if kind.startswith("mat"): last_mat = path, val
kinds = Counter(k.rstrip("0123456789x") for k in stats.values())
n_par = sum(a.size for a in jax.tree.leaves(params) if isinstance(a, jax.Array))
out = X
for l in params["enc"]:
    out = out @ l["w"] + (l["b"] if l["b"] is not None else 0)
out = out * params["scale"]
print(n_par, dict(kinds), last_mat[0])
---
params["scale"] = 2.5
---
params["enc"][0]["b"] = np.ones(3)
---
params["scale"] = True; params["extra"] = (1, 2.0, "s")
---
params["enc"].pop(); params["scale"] = jnp.int32(3)

### ya-cosine-annealed-temperature-sampling-with-global-generator
temps = [2.0, 1, 0.5]
logits = jnp.array([2.0, 1.0, 0.0, -1.0])
gen = np.random.default_rng(5)
def entropy(p): return -jnp.sum(jnp.where(p > 0, p * jnp.log(p), 0))
---
draws = defaultdict(Counter)
for T in temps:
    p = jax.nn.softmax(logits / T)
    pn = np.asarray(p, np.float64); pn /= pn.sum()
    for _ in range(5):
        draws[T][int(gen.choice(4, p=pn))] += 1
    if entropy(p) < 0.5: print("cold", T); break
else:
    T = None
modes = {t: c.most_common(1)[0][0] for t, c in draws.items()}
ent = jnp.stack([entropy(jax.nn.softmax(logits / t)) for t in draws])
print(len(draws), {k: sum(c.values()) for k, c in draws.items()})
---
gen = np.random.default_rng(6)
---
temps = [1, 0.1, 5]
---
temps = (True, 1.0, 3)
---
logits = logits[:4] * 0

### ya-state-machine-of-phases-with-transitions-dict
class Phase(enum.Enum): WARM = 1; MAIN = 2; COOL = 3; END = 4
nxt = {Phase.WARM: Phase.MAIN, Phase.MAIN: Phase.COOL, Phase.COOL: Phase.END}
lens = {Phase.WARM: 2, Phase.MAIN: 3, Phase.COOL: 1}
lr_of = {Phase.WARM: lambda t: 0.1 * (t + 1) / 2, Phase.MAIN: lambda t: 0.1, Phase.COOL: lambda t: 0.01}
w, phase, t = jnp.zeros(2), Phase.WARM, 0
---
visited = []
for _ in range(4):
    if phase is Phase.END: break
    lr = lr_of[phase](t)
    w = w - lr * jax.grad(lambda w: jnp.mean((X @ w - y) ** 2))(w)
    visited.append(f"{phase.name[0]}{t}")
    t += 1
    if t >= lens[phase]: phase, t = nxt[phase], 0
print("".join(visited) or "-", phase)
---
phase, t = Phase.WARM, 0
---
phase = Phase.MAIN; lens[Phase.MAIN] = 1
---
lr_of[Phase.WARM] = lambda t: w.sum(); phase, t = Phase.WARM, 1
---
del nxt[Phase.COOL]; phase, t = Phase.COOL, 0

### ya-bootstrap-ci-over-statistics-dict-with-random-module tolerance=1e-5
random.seed(0)
stat = {"mean": jnp.mean, "med": jnp.median, "range": lambda v: v.max() - v.min()}
B, level = 6, 0.8
data = [1.0, 2.5, 0.3, 4.0, 2.2]
---
boot = {k: [] for k in stat}
for b in range(B):
    s = jnp.array(random.choices(data, k=len(data)))
    for k, f in stat.items(): boot[k].append(f(s))
ci = {}
for k, v in boot.items():
    lo, hi = np.quantile(np.array(v), [(1 - level) / 2, (1 + level) / 2])
    est = stat[k](jnp.array(data))
    ci[k] = (float(lo), float(est), float(hi))
    flag = "" if lo <= est <= hi else " !"
    print(f"{k:>6}: {est:.2f} [{lo:.2f}, {hi:.2f}]{flag}")
widest = max(ci, key=lambda k: ci[k][2] - ci[k][0])
---
random.seed(0)
---
data.append(9); stat["std"] = jnp.std
---
del stat["med"]; B = 3
---
data = [1, 2, 3]; level = 0

### ya-attention-heads-loop-with-cache-dict-grown-per-token cold
cache = {"k": None, "v": None}
Wq, Wk, Wv = (jax.random.normal(jax.random.key(i), (2, 2)) for i in range(3))
def attend(tok, cache):
    q, k, v = tok @ Wq, tok @ Wk, tok @ Wv
    cache["k"] = k[None] if cache["k"] is None else jnp.concatenate([cache["k"], k[None]])
    cache["v"] = v[None] if cache["v"] is None else jnp.concatenate([cache["v"], v[None]])
    a = jax.nn.softmax(cache["k"] @ q / math.sqrt(q.size))
    return a @ cache["v"], a
limit = 6
---
outs, ents = [], []
for tok in X[:2]:
    if cache["k"] is not None and len(cache["k"]) >= limit:
        cache = {n: c[-limit + 1 :] for n, c in cache.items()}
    o, a = attend(tok, cache)
    outs.append(o); ents.append(round(float(-(a * jnp.log(a)).sum()), 3))
out = jnp.stack(outs)
n = cache["k"].shape[0]
print(n, ents)
---
cache = dict.fromkeys("kv")
---
limit = 3
---
Wq = Wq * 0
---
def attend(tok, cache): return tok, jax.nn.softmax(tok)

### ya-weird-sum-of-scalars-int-float-bool-jax-numpy-table
vals = [1, 2.0, True, np.float32(3), np.int64(4), jnp.float32(5), jnp.int32(6), jnp.bool_(True), None, "7"]
---
tot, kinds, skipped = 0, [], []
for v in vals:
    try:
        tot = tot + v
    except TypeError as e:
        skipped.append(repr(v)); continue
    kinds.append(f"{type(v).__name__}->{type(tot).__name__}")
m = max((v for v in vals if isinstance(v, (int, float))), default=0)
prods = [a * b for a, b in itertools.combinations(vals[:4], 2)]
types_ = [type(p).__name__ for p in prods]
z = X * m + (tot if m else 0)
hashes = len({v for v in vals[:5]}), sum(v is True for v in vals)
print(tot, kinds, skipped, types_)
---
vals[0] = 1.0
---
vals[2] = 1
---
vals = vals[5:7] + [np.bool_(False), 2]
---
vals = [jnp.ones(2), np.ones(2), 1j, False]

### ya-ab-test-sequential-stopping-with-for-else-and-numpy-draws cold
rates, alpha, max_n, chunk = (0.2, 0.6), 0.05, 60, 10
r = np.random.default_rng(11)
def zstat(a, b):
    (sa, na), (sb, nb) = a, b
    p = (sa + sb) / (na + nb)
    return jnp.where((p == 0) | (p == 1), 0.0, (sb / nb - sa / na) / jnp.sqrt(jnp.maximum(p * (1 - p) * (1 / na + 1 / nb), 1e-9)))
---
A = B = (0, 0)
path = []
for n in range(chunk, max_n + 1, chunk):
    A = (A[0] + int(r.binomial(chunk, rates[0])), n)
    B = (B[0] + int(r.binomial(chunk, rates[1])), n)
    z = zstat(A, B)
    pval = 2 * (1 - jax.scipy.stats.norm.cdf(abs(z)))
    path.append((n, round(float(z), 2)))
    if pval < alpha / (max_n // chunk):
        verdict = f"B wins at {n}" if z > 0 else f"A wins at {n}"
        break
else:
    verdict = "no decision"
print(verdict, path[-1], A, B)
---
rates = (0.5, 0.5)
---
r = np.random.default_rng(11); rates = (0.9, 0.1)
---
alpha = 1e-9; max_n = 20
---
zstat = lambda a, b: jnp.float32(a[0] - b[0])
""",
)
