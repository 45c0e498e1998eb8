"""Cells of a competition, of a course's exercises, of probability written by hand and of agents written by hand."""

from ..cell import written

PRELUDE = """
import collections, functools, hashlib, io, itertools, json, math, operator, os, random, sys, time, warnings
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from pathlib import Path
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import grad, jit, lax, random as jr, tree_util as jtu, value_and_grad, vmap
from jax.scipy import stats as jst
from jax.scipy.special import gammaln, logsumexp
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-kaggle-oof-logreg-folds-and-submission needs=pandas,sklearn tolerance=2e-3
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.metrics import roc_auc_score
rng = np.random.default_rng(42)
train = pd.DataFrame({"id": range(30), "age": rng.integers(18, 80, 30), "fare": rng.gamma(2, 20, 30).round(2), "sex": rng.choice(["m", "f"], 30)})
train["target"] = ((train.sex == "f") ^ (train.age > 60)).astype(int)
NFOLDS, SEED, feats = 3, 42, ["age", "fare", "sex_m"]
def fit(X, y, steps=20, lr=0.3):
    w = jnp.zeros(X.shape[1] + 1)
    nll = lambda w: jnp.mean(jnp.logaddexp(0, -(2 * y - 1) * (X @ w[1:] + w[0])))
    for _ in range(steps):
        w = w - lr * grad(nll)(w)
    return w
---
df = pd.get_dummies(train, columns=["sex"], drop_first=True)
oof = np.zeros(len(df))
scores = []
skf = StratifiedKFold(NFOLDS, shuffle=True, random_state=SEED)
for fold, (tr, va) in enumerate(skf.split(df, df.target)):
    X = df[feats].astype(float)
    mu, sd = X.iloc[tr].mean(), X.iloc[tr].std()
    Z = ((X - mu) / sd).to_numpy(np.float32)
    w = fit(jnp.asarray(Z[tr]), jnp.asarray(df.target.values[tr]))
    oof[va] = jax.nn.sigmoid(Z[va] @ w[1:] + w[0])
    scores.append(roc_auc_score(df.target.iloc[va], oof[va]))
    print(f"fold {fold}: auc {scores[-1]:.3f}")
sub = pd.DataFrame({"id": df.id, "target": (oof > 0.5).astype(int)})
sub.to_csv("submission.csv", index=False)
print(f"CV {np.mean(scores):.3f}", sub.target.value_counts().to_dict(), oof.dtype)
sub.head(3)
---
NFOLDS = 2
---
train.loc[train.age < 30, "fare"] = 0.0

### sn-kaggle-target-encoding-groupby-merge-and-nans needs=pandas
import pandas as pd
sales = pd.DataFrame({"shop": list("aabbbc"), "item": [1, 2, 1, 1, 2, 3], "qty": [3.0, np.nan, 5.0, 7.0, 1.0, 2.0]})
shops = pd.DataFrame({"shop": ["a", "b"], "city": ["X", "Y"]})
smooth = 2.0
---
df = sales.merge(shops, on="shop", how="left").assign(city=lambda d: d.city.fillna("?"))
df["qty"] = df.groupby("item").qty.transform(lambda s: s.fillna(s.mean()))
prior = jnp.asarray(df.qty.values).mean()
agg = df.groupby("city").qty.agg(["mean", "count"])
enc = (jnp.asarray(agg["mean"].to_numpy()) * jnp.asarray(agg["count"].to_numpy()) + prior * smooth) / (jnp.asarray(agg["count"].to_numpy()) + smooth)
agg["enc"] = enc
df["enc"] = df.city.map(agg.enc)
piv = df.pivot_table(index="shop", columns="item", values="enc", aggfunc="sum", fill_value=0)
print(df.isna().sum().sum(), df.dtypes["enc"], piv.shape)
print(df[["shop", "city", "qty"]].to_string(index=False))
enc, float(df.enc.corr(df.qty).round(2))
---
smooth = 0.0
---
shops.loc[len(shops)] = ["c", "X"]

### sn-kaggle-pipeline-custom-jax-transformer-and-gridsearch needs=sklearn tolerance=2e-3
from sklearn.base import BaseEstimator, RegressorMixin, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import cross_val_score, GridSearchCV
class RFF(TransformerMixin, BaseEstimator):
    def __init__(self, n=8, gamma=1.0, seed=0): self.n, self.gamma, self.seed = n, gamma, seed
    def fit(self, X, y=None):
        k1, k2 = jr.split(jr.key(self.seed))
        self.W_ = jr.normal(k1, (X.shape[1], self.n)) * self.gamma
        self.b_ = jr.uniform(k2, (self.n,), maxval=2 * jnp.pi)
        return self
    def transform(self, X): return np.asarray(jnp.cos(jnp.asarray(X, jnp.float32) @ self.W_ + self.b_))
class Ridge(RegressorMixin, BaseEstimator):
    def __init__(self, lam=1.0): self.lam = lam
    def fit(self, X, y): self.coef_ = jnp.linalg.solve(X.T @ X + self.lam * jnp.eye(X.shape[1]), X.T @ y); return self
    def predict(self, X): return np.asarray(X @ self.coef_)
rng = np.random.RandomState(0)
X = rng.rand(24, 2); y = np.sin(4 * X[:, 0]) + X[:, 1]
grid = {"ridge__lam": [0.1, 1.0], "rff__gamma": [1.0]}
---
pipe = make_pipeline(StandardScaler(), RFF(), Ridge())
gs = GridSearchCV(pipe, grid, cv=2).fit(X, y)
best = gs.best_estimator_
cv = cross_val_score(best, X, y, cv=3, scoring="neg_mean_absolute_error")
chosen = gs.best_params_
del gs
print(chosen, len(cv), type(best[-1].coef_).__name__, best[1].W_.shape)
resid = y - best.predict(X)
print(f"{resid.std():.2f}")
jnp.asarray(resid).mean(), best[-1].coef_.shape
---
grid["rff__gamma"].append(3.0)
---
y = y * 2

### sn-kaggle-memory-reduce-dtypes-and-time-split needs=pandas
import pandas as pd
idx = pd.date_range("2024-01-01", periods=12, freq="D")
df = pd.DataFrame({"y": np.arange(12.0), "store": [1, 2] * 6, "promo": [True, False, False] * 4}, index=idx)
def reduce_mem(d):
    for c in d.select_dtypes("number"):
        d[c] = pd.to_numeric(d[c], downcast="integer" if d[c].dtype.kind == "i" else "float")
    return d
horizon = 3
---
d = reduce_mem(df.copy())
d["dow"] = d.index.dayofweek
d["lag1"] = d.groupby("store").y.shift(1)
d["roll"] = d.y.rolling(3, min_periods=1).mean()
d = d.dropna()
cut = d.index[-horizon]
tr, te = d[d.index < cut], d[d.index >= cut]
A = jnp.c_[jnp.ones(len(tr)), jnp.asarray(tr[["lag1", "dow"]].to_numpy(np.float32))]
coef, res, rank, sv = jnp.linalg.lstsq(A, jnp.asarray(tr.y.to_numpy()))
pred = pd.Series(np.asarray(jnp.c_[jnp.ones(len(te)), te[["lag1", "dow"]].to_numpy(np.float32)] @ coef), te.index, name="pred")
out = te.join(pred)[["y", "pred"]]
print(dict(d.dtypes.astype(str)), str(cut.date()), int(rank), len(tr), len(te))
print(out.round(1).resample("2D").sum().shape, out.index.is_monotonic_increasing)
coef, np.abs(out.y - out.pred).max() < 20
---
horizon = 2
---
df["y"] = df.y ** 1.5

### sn-kaggle-seed-everything-and-ensemble-weights tolerance=1e-3
def seed_everything(s):
    random.seed(s); np.random.seed(s); os.environ["PYTHONHASHSEED"] = str(s)
    return jr.PRNGKey(s)
y = np.array([0, 1, 1, 0, 1])
preds = {"lgb": np.array([.2, .7, .6, .4, .9]), "nn": np.array([.1, .6, .9, .3, .5]), "svc": np.array([.5, .5, .5, .5, .5])}
SEED, steps = 2024, 6
---
key = seed_everything(SEED)
noise = np.random.rand(3) * 0.01
names = random.sample(sorted(preds), k=len(preds))
P = jnp.stack([preds[n] for n in names])
logits = jnp.asarray(noise[: len(names)]) + 0.01 * jr.normal(key, (len(names),))
def bce(l):
    p = jnp.clip(jax.nn.softmax(l) @ P, 1e-6, 1 - 1e-6)
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
best = (np.inf, None)
for s in range(steps):
    l, g = value_and_grad(bce)(logits)
    logits -= g
    if l < best[0]:
        best = (l, s)
weights = dict(zip(names, jax.nn.softmax(logits).tolist()))
print(names, max(weights, key=weights.get), best[1], os.environ["PYTHONHASHSEED"], P.dtype)
best[0], logits.sum()
---
SEED = 7
---
preds.pop("svc")

### sn-course-ex1-vectorize-with-asserts-and-hint
def pairwise_loop(A, B):
    out = np.zeros((len(A), len(B)))
    for i in range(len(A)):
        for j in range(len(B)):
            out[i, j] = np.sqrt(np.sum((A[i] - B[j]) ** 2))
    return out
A, B = jnp.array([[0.0, 0], [3, 4]]), jnp.array([[0.0, 0], [1, 1], [6, 8]])
solution = "vmap"
---
# Exercise 1: write pairwise distances WITHOUT loops
# Hint: None-indexing or nested vmap
def pairwise(A, B):
    # YOUR CODE HERE
    if solution == "vmap":
        d = lambda a, b: jnp.linalg.norm(a - b)
        return vmap(vmap(d, (None, 0)), (0, None))(A, B)
    return jnp.sqrt(((A[:, None] - B[None]) ** 2).sum(-1))

D = pairwise(A, B)
assert D.shape == (len(A), len(B)), f"wrong shape {D.shape}"
assert jnp.allclose(D, pairwise_loop(A, B), atol=1e-5), "values differ, hint: did you take the sqrt?"
assert isinstance(D, jax.Array)
print("✅ Exercise 1 passed!")
D
---
solution = "broadcast"
---
B = B[:1]

### sn-course-ex2-grad-check-failing-then-fixed
def numgrad(f, x, h=1e-2):
    return jnp.array([(f(x.at[i].add(h)) - f(x.at[i].add(-h))) / (2 * h) for i in range(x.size)])
def f(x): return jnp.sum(x ** 3) + x[0] * x[1]
student = lambda x: 3 * x ** 2
x = jnp.array([1.0, 2.0, -1.0])
---
tests = {"numeric": lambda: numgrad(f, x), "autodiff": lambda: grad(f)(x)}
score, feedback = 0, []
for name, ref in tests.items():
    try:
        np.testing.assert_allclose(student(x), ref(), rtol=2e-2, atol=2e-2)
    except AssertionError as e:
        first = next(l for l in str(e).splitlines() if "ismatched" in l)
        feedback.append(f"❌ {name}: {first.strip()}")
    else:
        score += 1
        feedback.append(f"✅ {name}")
print(*feedback, sep="\n")
print(f"Score: {score}/{len(tests)}", "🎉" * (score == 2))
assert score >= 0
H = jax.hessian(f)(x)
H, jnp.linalg.eigvalsh(H).min() < 0
---
student = lambda x: 3 * x ** 2 + jnp.array([x[1], x[0], 0.0])
---
x = jnp.zeros(3)

### sn-course-ex3-softmax-stability-todo-raises-notimplemented
def softmax(x):
    raise NotImplementedError("fill me in")
def grade(fn, cases):
    passed = 0
    for inp, want in cases:
        try:
            got = fn(inp)
            ok = bool(jnp.all(jnp.isfinite(got))) and bool(jnp.allclose(got, want, atol=1e-3))
        except NotImplementedError as e:
            return None, str(e)
        passed += ok
    return passed, "ok" if passed == len(cases) else f"{len(cases) - passed} wrong"
cases = [(jnp.array([0.0, 0.0]), jnp.array([0.5, 0.5])), (jnp.array([1000.0, 1000.0]), jnp.array([0.5, 0.5])), (jnp.array([1.0, -jnp.inf]), jnp.array([1.0, 0.0]))]
---
points, why = grade(softmax, cases)
if points is None:
    print("TODO:", why)
elif points < len(cases):
    print("almost!", why, "- what is exp(1000)?", jnp.exp(1000.0))
else:
    print("perfect")
ref = jnp.stack([jax.nn.softmax(c) for c, _ in cases if c.shape == (2,)])
points, ref
---
softmax = lambda x: jnp.exp(x) / jnp.exp(x).sum()
---
def softmax(x): e = jnp.exp(x - x.max()); return e / e.sum()

### sn-course-ex4-prng-keys-immutability-and-shapes-quiz
key = jr.PRNGKey(0)
def quiz(n, question, answer, expected):
    ok = answer == expected if not hasattr(expected, "shape") else bool(jnp.array_equal(answer, expected))
    print(f"Q{n}. {question:<32}", "correct" if ok else f"wrong, got {answer!r}")
    return ok
x = jnp.zeros(3); my = {1: (2, 3), 2: True, 3: 0.0}
---
k1, k2 = jr.split(key)
a, b = jr.normal(k1, (2, 3)), jr.normal(k1, (2, 3))
good = [quiz(1, "shape of a?", my[1], a.shape), quiz(2, "a equals b?", my[2], bool((a == b).all()))]
try:
    x[0] = 5.0
except TypeError as e:
    print("Note:", str(e)[:38])
y = x.at[0].set(5.0)
good.append(quiz(3, "x[0] now?", my[3], float(x[0])))
good.append(quiz(4, "x[100]?", x[100], x[-1]))
good.append(quiz(5, "x.at[100].set?", x.at[100].set(1.0), x))
print(f"{sum(good)} / {len(good)}")
assert all(good) or my != {1: (2, 3), 2: True, 3: 0.0}, "restart and run all"
y, jr.permutation(k2, 5)
---
my[2] = False
---
x = x + 1; key = jr.PRNGKey(11)

### sn-course-ex5-training-loop-history-dict-and-plot needs=matplotlib tolerance=1e-3
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
xs = jnp.linspace(-1, 1, 12); ys = 2 * xs ** 2 - 0.5
deg, epochs, lr, patience = 2, 8, 0.2, 3
---
Phi = jnp.vander(xs, deg + 1)
theta = jnp.zeros(deg + 1)
history = {"loss": [], "gnorm": []}
wait, best = 0, float("inf")
for epoch in range(1, epochs + 1):
    loss, g = value_and_grad(lambda th: jnp.mean((Phi @ th - ys) ** 2))(theta)
    theta = theta - lr * g
    history["loss"].append(loss.item())
    history["gnorm"].append(float(jnp.linalg.norm(g)))
    if loss < best - 1e-4: best, wait = loss, 0
    else: wait += 1
    if wait >= patience:
        print("early stop at", epoch); break
    if epoch % 4 == 0: print(f"Epoch {epoch:3d} | loss {loss:.4f}")
fig, ax = plt.subplots(1, 2, figsize=(4, 2))
ax[0].semilogy(history["loss"]); ax[1].plot(xs, ys, "o"); ax[1].plot(xs, Phi @ theta)
n_lines = [len(a.lines) for a in ax]
plt.close(fig)
print(n_lines, len(history["loss"]))
theta
---
deg = 0
---
lr = 0.01; ys = jnp.sin(3 * xs)

### sn-prob-metropolis-hastings-by-hand-with-adaptation tolerance=1e-2
data = jnp.array([1.2, 0.7, 1.9, 1.1])
def logpost(th): return jst.norm.logpdf(data, th[0], jnp.exp(th[1])).sum() + jst.norm.logpdf(th, 0.0, 2.0).sum()
key, th, scale = jr.key(10), jnp.zeros(2), 0.5
---
chain, acc = [], 0
lp = logpost(th)
for i in range(30):
    key, kp, ku = jr.split(key, 3)
    prop = th + scale * jr.normal(kp, th.shape)
    lpp = logpost(prop)
    if jnp.log(jr.uniform(ku)) < lpp - lp:
        th, lp = prop, lpp
        acc += 1
    chain.append(th)
    if (i + 1) % 10 == 0:
        rate = acc / (i + 1)
        scale *= 1.2 if rate > 0.4 else 0.8
C = jnp.stack(chain)
print(f"acc {acc}/30 scale {scale:.3f}", C.shape)
C.mean(0), jnp.percentile(C[10:, 0], jnp.array([5.0, 95.0]))
---
scale = 5.0
---
data = data + 3

### sn-prob-em-gaussian-mixture-responsibilities-with-tolerance tolerance=1e-2
X = jnp.concatenate([jr.normal(jr.key(0), (10,)) - 2, jr.normal(jr.key(1), (14,)) * 0.5 + 2])
mu, sig, pi, tol = jnp.array([-1.0, 1.0]), jnp.ones(2), jnp.array([0.5, 0.5]), 1e-2
---
lls = []
while len(lls) < 2 or (lls[-1] - lls[-2] > tol and len(lls) < 15):
    lr_ = jst.norm.logpdf(X[:, None], mu, sig) + jnp.log(pi)
    tot = logsumexp(lr_, axis=1, keepdims=True)
    R = jnp.exp(lr_ - tot)
    Nk = R.sum(0)
    mu = (R * X[:, None]).sum(0) / Nk
    sig = jnp.sqrt((R * (X[:, None] - mu) ** 2).sum(0) / Nk)
    pi = Nk / len(X)
    lls.append(float(tot.sum()))
order = np.argsort(mu)
hard = np.asarray(R.argmax(1))
print("mono", all(b >= a - 1e-3 for a, b in zip(lls, lls[1:])), np.bincount(hard, minlength=2)[order])
mu[order], sig[order], pi[order]
---
mu = jnp.array([0.0, 0.1])
---
X = X[::2]; tol = 1.0

### sn-prob-hmm-viterbi-forward-backward-strings tolerance=1e-3
states, symbols = ("Rain", "Sun"), {"walk": 0, "shop": 1, "clean": 2}
Tm = jnp.log(jnp.array([[0.7, 0.3], [0.4, 0.6]])); Em = jnp.log(jnp.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])); p0 = jnp.log(jnp.array([0.6, 0.4]))
obs = "walk shop clean clean".split()
---
idx = [symbols[o] for o in obs]
alpha = [p0 + Em[:, idx[0]]]
delta, back = alpha[0], []
for o in idx[1:]:
    alpha.append(logsumexp(alpha[-1][:, None] + Tm, axis=0) + Em[:, o])
    sc = delta[:, None] + Tm
    back.append(sc.argmax(0))
    delta = sc.max(0) + Em[:, o]
path = [int(delta.argmax())]
for b in reversed(back):
    path.append(int(b[path[-1]]))
names = [states[s] for s in reversed(path)]
beta = lax.scan(lambda b, o: ((nb := logsumexp(Tm + Em[:, o] + b, axis=1)), nb), jnp.zeros(2), jnp.array(idx[1:]), reverse=True)[1]
ll = logsumexp(alpha[-1])
print(" -> ".join(names), f"{ll:.3f}")
gamma0 = jax.nn.softmax(alpha[0] + beta[0]) if len(idx) > 1 else None
ll, gamma0
---
obs.append("walk")
---
Tm = jnp.log(jnp.full((2, 2), 0.5)); obs = ["clean", "clean"]

### sn-prob-effect-handlers-mini-ppl-trace-condition-replay tolerance=1e-3
STACK = []
class Handler:
    def __init__(self, fn): self.fn = fn
    def __enter__(self): STACK.append(self); return self
    def __exit__(self, *a): STACK.pop()
    def process(self, m): pass
    def post(self, m): pass
    def __call__(self, *a):
        with self: return self.fn(*a)
class seed(Handler):
    def __init__(self, fn, key): super().__init__(fn); self.key = key
    def process(self, m):
        if m["value"] is None: self.key, m["key"] = jr.split(self.key)
class cond(Handler):
    def __init__(self, fn, data): super().__init__(fn); self.data = data
    def process(self, m):
        if m["name"] in self.data: m["value"], m["observed"] = self.data[m["name"]], True
class trace(Handler):
    def __enter__(self): self.t = OrderedDict(); return super().__enter__()
    def post(self, m): self.t[m["name"]] = m
    def get(self, *a): self(*a); return self.t
def sample(name, mu, sd):
    m = dict(name=name, mu=mu, sd=sd, value=None, key=None, observed=False)
    for h in reversed(STACK): h.process(m)
    if m["value"] is None: m["value"] = mu + sd * jr.normal(m["key"])
    for h in STACK: h.post(m)
    return m["value"]
def model(n):
    loc = sample("loc", 0.0, 1.0)
    return [sample(f"y{i}", loc, 0.5) for i in range(n)]
obs, n, key = {"y0": 1.0, "y1": jnp.float32(0.8)}, 2, jr.key(4)
---
tr = trace(seed(cond(model, obs), key)).get(n)
lp = sum(jst.norm.logpdf(m["value"], m["mu"], m["sd"]) for m in tr.values())
def density(loc): return sum(jst.norm.logpdf(m["value"], m["mu"], m["sd"]) for m in trace(cond(model, {**obs, "loc": loc})).get(len(obs)).values())
grid = jnp.linspace(-2, 3, 7)
post = jax.nn.softmax(vmap(density)(grid))
mode = grid[post.argmax()]
print(list(tr), [m["observed"] for m in tr.values()], len(STACK), f"{mode:.2f}")
lp, (post * grid).sum(), tr["loc"]["value"]
---
obs["y2"] = jnp.float32(2.0)
---
n = 3; key = jr.key(9); obs.pop("y1", None); obs.pop("y2", None)

### sn-prob-smc-particles-resample-when-ess-low tolerance=1e-2
ys = jnp.array([0.3, 0.9, 1.4, 1.2, 6.0])
N, q, r, key = 32, 0.5, 0.4, jr.key(5)
def systematic(key, w):
    u = (jr.uniform(key) + jnp.arange(w.size)) / w.size
    return jnp.searchsorted(jnp.cumsum(w), u)
---
key, k = jr.split(key)
parts, logw, logZ, resampled = jr.normal(k, (N,)), jnp.full(N, -math.log(N)), 0.0, []
for t, y in enumerate(ys):
    key, k1, k2 = jr.split(key, 3)
    parts = parts + q * jr.normal(k1, (N,))
    logw = logw + jst.norm.logpdf(y, parts, r)
    inc = logsumexp(logw)
    logZ += inc
    logw = logw - inc
    ess = 1 / jnp.exp(2 * logw).sum()
    if ess < N / 2:
        idx = jnp.clip(systematic(k2, jnp.exp(logw)), 0, N - 1)
        parts, logw = parts[idx], jnp.full(N, -math.log(N))
        resampled.append((t, len(set(idx.tolist()))))
est = (jnp.exp(logw) * parts).sum()
print([t for t, _ in resampled], parts.shape, f"{float(est):.1f}")
logZ, est
---
r = 2.0
---
ys = ys[:3]; N = 16

### sn-rl-gridworld-q-learning-dict-and-epsilon
class Grid:
    moves = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
    def __init__(self, n, goal): self.n, self.goal, self.pos = n, goal, (0, 0)
    def reset(self): self.pos = (0, 0); return self.pos
    def step(self, a):
        d = self.moves[a]
        self.pos = tuple(min(max(p + q, 0), self.n - 1) for p, q in zip(self.pos, d))
        done = self.pos == self.goal
        return self.pos, 1.0 if done else -0.05, done
env, acts, rs = Grid(3, (2, 2)), "UDLR", random.Random(3)
Q = defaultdict(lambda: jnp.zeros(4)); eps, alpha, gamma, episodes = 0.3, 0.5, 0.9, 3
---
lengths = []
for ep in range(episodes):
    s, done, t = env.reset(), False, 0
    while not done and t < 12:
        a = rs.randrange(4) if rs.random() < eps else int(jnp.argmax(Q[s]))
        s2, r, done = env.step(acts[a])
        target = r + (0 if done else gamma * Q[s2].max())
        Q[s] = Q[s].at[a].add(alpha * (target - Q[s][a]))
        s, t = s2, t + 1
    lengths.append(t)
policy = {s: acts[int(v.argmax())] for s, v in sorted(Q.items())}
print(lengths, len(Q), "".join(policy.values()), env.pos)
max(Q.values(), key=lambda v: float(v.max())), Q[0, 0]
---
eps = 0.0
---
env.goal = (0, 2); Q.clear(); episodes = 1

### sn-rl-reinforce-cartpole-like-rollouts-with-returns tolerance=1e-2 cold
class Env:
    def __init__(self, seed): self.rng = np.random.default_rng(seed); self.state = None
    def reset(self): self.state = self.rng.uniform(-0.05, 0.05, 2); return self.state.copy()
    def step(self, a):
        x, v = self.state
        v += 0.2 * (1 if a else -1) + 0.1 * x
        self.state = np.array([x + 0.3 * v, v])
        return self.state.copy(), 1.0, bool(abs(self.state[0]) > 0.6)
env, theta, key, gamma = Env(0), jnp.zeros(2), jr.key(0), 0.95
def logpi(th, s, a): return jax.nn.log_sigmoid(jnp.where(a, 1.0, -1.0) * (s @ th))
---
obs, acts, rews = [], [], []
s, done = env.reset(), False
while not done and len(rews) < 10:
    key, k = jr.split(key)
    a = bool(jr.bernoulli(k, jax.nn.sigmoid(jnp.asarray(s, jnp.float32) @ theta)))
    obs.append(s); acts.append(a)
    s, r, done = env.step(a)
    rews.append(r)
G, ret = 0.0, []
for r in rews[::-1]:
    G = r + gamma * G
    ret.insert(0, G)
adv = (jnp.array(ret) - np.mean(ret)) / (np.std(ret) + 1e-6)
S, A = jnp.asarray(np.stack(obs), jnp.float32), jnp.array(acts)
g = grad(lambda th: -(vmap(partial(logpi, th))(S, A) * adv).mean())(theta)
theta = theta - 0.5 * g
print(len(rews), done, acts.count(True), S.dtype, env.state.dtype)
theta, adv[0]
---
gamma = 0.0
---
env = Env(3); theta = jnp.array([-5.0, -5.0])

### sn-rl-replay-buffer-ring-double-dqn-target-sync tolerance=1e-2
Tr = namedtuple("Tr", "s a r s2 d")
class Ring:
    def __init__(self, cap): self.cap, self.data, self.head = cap, [], 0
    def push(self, *a):
        if len(self.data) < self.cap: self.data.append(None)
        self.data[self.head] = Tr(*a); self.head = (self.head + 1) % self.cap
    def sample(self, n, rng): return Tr(*map(np.stack, zip(*(self.data[i] for i in rng.choice(len(self.data), n, replace=False)))))
    def __len__(self): return len(self.data)
rng = np.random.RandomState(1)
buf, online, target = Ring(8), {"W": jnp.zeros((3, 2))}, {"W": jnp.ones((3, 2))}
step, sync, warm = 0, 3, 4
def td(p, q, b):
    a2 = (b.s2 @ p["W"]).argmax(-1)
    y = b.r + 0.9 * (1 - b.d) * jnp.take_along_axis(b.s2 @ q["W"], a2[:, None], 1)[:, 0]
    return jnp.mean((jnp.take_along_axis(b.s @ p["W"], b.a[:, None], 1)[:, 0] - lax.stop_gradient(y)) ** 2)
---
losses = []
for _ in range(6):
    s = rng.randn(3).astype(np.float32)
    buf.push(s, int((s @ np.asarray(online["W"])).argmax()), np.float32(s.sum()), s * 0.9, np.float32(step % 5 == 4))
    step += 1
    if len(buf) >= warm:
        l, g = value_and_grad(td)(online, target, buf.sample(warm, rng))
        online = jax.tree.map(lambda p, d: p - 0.1 * d, online, g)
        losses.append(l)
    if step % sync == 0:
        target = online
print(step, len(buf), buf.head, len(losses), target is online)
online, losses[-1] if losses else None
---
sync = 4
---
buf = Ring(5); rng = np.random.RandomState(9); warm = 5

### sn-rl-bandits-thompson-ucb-regret-curves tolerance=1e-3
arms, T, key = jnp.array([0.2, 0.5, 0.7]), 15, jr.key(21)
def ucb(n, s, t): return jnp.argmax(jnp.where(n == 0, jnp.inf, s / jnp.maximum(n, 1) + jnp.sqrt(2 * jnp.log(t + 1) / jnp.maximum(n, 1))))
def thompson(key, n, s): return jnp.argmax(jr.beta(key, 1 + s, 1 + n - s))
---
hist = defaultdict(list)
for algo in ("ucb", "ts", "random"):
    n = s = jnp.zeros(len(arms))
    regret, k = 0.0, key
    for t in range(T):
        k, ka, kr = jr.split(k, 3)
        match algo:
            case "ucb": a = ucb(n, s, t)
            case "ts": a = thompson(ka, n, s)
            case _: a = jr.randint(ka, (), 0, len(arms))
        r = jr.bernoulli(kr, arms[a])
        n, s = n.at[a].add(1), s.at[a].add(r)
        regret += arms.max() - arms[a]
        hist[algo].append(regret)
table = sorted((round(float(v[-1]), 2), k) for k, v in hist.items())
print(table[0][1], hist.default_factory, [len(v) for v in hist.values()])
print(n.astype(int))
{k: v[-1] for k, v in hist.items()}
---
T = 6
---
arms = jnp.array([0.9, 0.1])

### sn-rl-gae-ppo-clip-minibatch-epochs-numpy-shuffle tolerance=2e-3
rng = np.random.default_rng(8)
r, d, v = rng.normal(size=8).astype("f4"), np.array([0, 0, 1, 0, 0, 0, 0, 1], "f4"), rng.normal(size=9).astype("f4")
obs, act = rng.normal(size=(8, 3)).astype("f4"), rng.integers(0, 2, 8)
params, clip, target_kl = {"pi": jnp.zeros((3, 2)), "v": jnp.zeros(3)}, 0.2, 0.02
def loss(p, o, a, old, adv, ret):
    lp = jnp.take_along_axis(jax.nn.log_softmax(o @ p["pi"]), a[:, None], 1)[:, 0]
    ratio = jnp.exp(lp - old)
    l = -jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - clip, 1 + clip) * adv).mean()
    return l + 0.5 * jnp.mean((o @ p["v"] - ret) ** 2), (old - lp).mean()
---
adv = np.zeros_like(r)
last = 0.0
for t in reversed(range(len(r))):
    delta = r[t] + 0.99 * v[t + 1] * (1 - d[t]) - v[t]
    adv[t] = last = delta + 0.99 * 0.95 * (1 - d[t]) * last
ret = adv + v[:-1]
old = jnp.take_along_axis(jax.nn.log_softmax(obs @ params["pi"]), act[:, None], 1)[:, 0]
inds, stopped = np.arange(len(r)), None
for epoch in range(4):
    rng.shuffle(inds)
    for mb in np.split(inds, 2):
        (l, kl), g = value_and_grad(loss, has_aux=True)(params, obs[mb], act[mb], old[mb], adv[mb], ret[mb])
        params = jax.tree.map(lambda p, q: p - 0.3 * q, params, g)
    if kl > target_kl:
        stopped = epoch
        break
print(stopped, adv.dtype, ret.dtype, type(adv[0]).__name__, params["pi"].shape)
l, params["v"]
---
target_kl = 1e9
---
clip = 0.05; d = np.zeros(8, "f4")
""",
)
