"""Simulations of physics and finance, inference by hand, regressions and number games as notebooks compute them."""

from ..cell import written

PRELUDE = """
import bisect, cmath, collections, contextlib, copy, dataclasses, functools, heapq, io, itertools, json, math, operator
import os, random, re, statistics, sys, time, types, warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-n-body-class-leapfrog-energy-drift-and-collision-merge
@dataclasses.dataclass
class Body: m: float; r: jax.Array; v: jax.Array; name: str = "?"
bodies = [Body(1.0, jnp.zeros(2), jnp.zeros(2), "sun"), Body(1e-3, jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]), "a"), Body(1e-3, jnp.array([1.05, 0.0]), jnp.array([0.0, 1.0]), "b")]
G, dt, eps, merge = 1.0, 0.05, 1e-3, 0.02
def acc(i): return sum(G * b.m * (b.r - bodies[i].r) / (jnp.sum((b.r - bodies[i].r) ** 2) + eps) ** 1.5 for j, b in enumerate(bodies) if j != i)
---
for step in range(2):
    a = [acc(i) for i in range(len(bodies))]
    for b, ai in zip(bodies, a): b.v = b.v + dt * ai; b.r = b.r + dt * b.v
    gone = []
    for p, q in itertools.combinations(bodies, 2):
        if float(jnp.linalg.norm(p.r - q.r)) < merge and q not in gone:
            p.v = (p.m * p.v + q.m * q.v) / (p.m + q.m); p.m += q.m; gone.append(q)
    bodies = [b for b in bodies if all(b is not g for g in gone)]
E = sum(0.5 * b.m * b.v @ b.v for b in bodies)
print([b.name for b in bodies], f"{E:.5f}")
jnp.stack([b.r for b in bodies])
---
merge = 0.5
---
bodies.append(Body(0.1, jnp.array([0.0, 2.0]), jnp.zeros(2), "c"))
---
G = 0

### xa-n-implied-vol-newton-with-bisection-fallback-over-a-chain
chain = [(90.0, 13.0), (100.0, 6.0), (110.0, 0.0001)]; S, T, r = 100.0, 0.5, 0.02
N = jax.scipy.stats.norm.cdf
def bs(sig, K): d1 = (jnp.log(S / K) + (r + sig ** 2 / 2) * T) / (sig * jnp.sqrt(T)); return S * N(d1) - K * jnp.exp(-r * T) * N(d1 - sig * jnp.sqrt(T))
vega = jax.grad(bs)
---
ivs, how = {}, {}
for K, px in chain:
    sig = jnp.float32(0.3)
    for it in range(10):
        v = vega(sig, K)
        if v < 1e-2: break
        sig = sig - (bs(sig, K) - px) / v
        if abs(float(bs(sig, K) - px)) < 1e-3: how[K] = "newton"; break
    if K not in how:
        lo, hi = 1e-3, 2.0
        for _ in range(12):
            mid = (lo + hi) / 2
            if bs(mid, K) > px: hi = mid
            else: lo = mid
        sig, how[K] = mid, "bisect"
    ivs[K] = round(float(sig), 2)
print(ivs, how)
---
chain[2] = (110.0, 2.5)
---
T = 1; chain = chain[:2]

### xa-n-gp-class-fit-by-gradient-on-log-params-and-active-learning
class GP:
    def __init__(self, noise=0.1): self.p, self.noise, self.X, self.y = {"l": jnp.zeros(()), "s": jnp.zeros(())}, noise, jnp.zeros((0,)), jnp.zeros((0,))
    def k(self, p, a, b): return jnp.exp(2 * p["s"]) * jnp.exp(-0.5 * ((a[:, None] - b) / jnp.exp(p["l"])) ** 2)
    def nll(self, p): L = jnp.linalg.cholesky(self.k(p, self.X, self.X) + self.noise ** 2 * jnp.eye(len(self.X))); a = jax.scipy.linalg.solve_triangular(L, self.y, lower=True); return 0.5 * a @ a + jnp.log(jnp.diag(L)).sum()
    def add(self, x, y): self.X, self.y = jnp.append(self.X, x), jnp.append(self.y, y); return self
    def fit(self, n, lr=0.05):
        for _ in range(n): self.p = jax.tree.map(lambda a, g: a - lr * g, self.p, jax.grad(self.nll)(self.p))
        return self
    def predict(self, x): K = self.k(self.p, self.X, self.X) + self.noise ** 2 * jnp.eye(len(self.X)); ks = self.k(self.p, x, self.X); return ks @ jnp.linalg.solve(K, self.y), jnp.exp(2 * self.p["s"]) - (ks * jnp.linalg.solve(K, ks.T).T).sum(1)
f = lambda x: jnp.sin(3 * x); grid = jnp.linspace(-1, 1, 9); rounds = 2
gp = GP().add(-0.5, f(-0.5)).add(0.5, f(0.5))
---
for _ in range(rounds):
    gp.fit(2)
    mu, var = gp.predict(grid)
    i = int(var.argmax())
    gp.add(grid[i], f(grid[i]))
mu, var = gp.predict(grid)
print(len(gp.X), bool((var > -1e-3).all()))
gp.nll(gp.p)
---
gp.noise = 0.3
---
f = lambda x: x ** 2; gp.X, gp.y = gp.X[:2], gp.y[:2]

### xa-n-metropolis-chain-python-accept-with-adapted-step-and-thinning
logp = lambda t: -0.5 * jnp.sum((t - 1.0) ** 2 / jnp.array([1.0, 0.25])); key = jax.random.key(0); theta = jnp.zeros(2); step, n, thin = 0.8, 6, 2
---
chain, acc, lp = [], 0, logp(theta)
for i in range(n):
    key, kp, ku = jax.random.split(key, 3)
    prop = theta + step * jax.random.normal(kp, (2,)); lpp = logp(prop)
    if jnp.log(jax.random.uniform(ku)) < lpp - lp: theta, lp = prop, lpp; acc += 1
    if i % thin == 0: chain.append(theta)
step *= 1.1 if acc / n > 0.4 else 0.9
S = jnp.stack(chain)
print(acc, round(step, 3), S.shape)
S.mean(0)
---
thin = 3
---
logp = lambda t: -jnp.sum(jnp.abs(t))
---
step = 5

### xa-n-game-of-life-with-rle-pattern-and-still-life-detection
pattern = "bob$2bo$3o!"; size, gens = 7, 4
---
grid = np.zeros((size, size), int); r = c = 0
for cnt, ch in re.findall(r"(\d*)([bo$!])", pattern):
    m = int(cnt or 1)
    if ch == "$": r += m; c = 0
    elif ch == "b": c += m
    elif ch == "o": grid[r, c:c + m] = 1; c += m
g = jnp.asarray(grid)
def life(g): n = sum(jnp.roll(g, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - g; return ((n == 3) | ((g == 1) & (n == 2))).astype(g.dtype)
pop = [int(g.sum())]
for t in range(gens):
    new = life(g); pop.append(int(new.sum()))
    if (new == g).all(): break
    g = new
print("\n".join("".join(".#"[v] for v in row) for row in np.asarray(g)), pop, t)
g.sum(0)
---
pattern = "2o$2o!"
---
size, gens = 5, 6; pattern = "3o!"

### xa-n-portfolio-frontier-projected-gradient-with-constraints-table
mu = jnp.array([0.05, 0.1, 0.07]); A = jnp.array([[0.2, 0.05, 0.0], [0.0, 0.3, 0.1], [0.0, 0.0, 0.25]]); cov = A @ A.T; lams = [1.0, 5.0]; names = ["bond", "stock", "gold"]; cap = 1.0
def project(w):
    u = jnp.sort(w)[::-1]; css = jnp.cumsum(u) - 1; k = jnp.arange(1, len(w) + 1); rho = jnp.sum(u - css / k > 0); return jnp.maximum(w - css[rho - 1] / rho, 0)
---
front = {}
for lam in lams:
    w = jnp.ones(len(mu)) / len(mu)
    for _ in range(5): w = jnp.minimum(project(w + 0.5 * (mu - lam * cov @ w)), cap)
    front[lam] = dict(w=w, ret=float(w @ mu), risk=float(jnp.sqrt(w @ cov @ w)))
hdr = f"{'lam':>5} " + " ".join(f"{n:>6}" for n in names)
print(hdr); [print(f"{l:5.1f} " + " ".join(f"{v:6.3f}" for v in f["w"])) for l, f in front.items()]
max(front, key=lambda l: front[l]["ret"] / front[l]["risk"])
---
lams.insert(0, 0)
---
cap = 0.5
---
mu = mu.at[0].set(0.2); names[0] = "bond*"

### xa-n-fem-1d-assembly-by-loop-with-dirichlet-and-mesh-refinement
nodes = jnp.array([0.0, 0.3, 0.6, 1.0]); kappa = lambda x: 1 + x; src = 1.0; refine = 1
---
xs = nodes
for _ in range(refine):
    K = jnp.zeros((len(xs), len(xs))); F = jnp.zeros(len(xs))
    for e in range(len(xs) - 1):
        h = xs[e + 1] - xs[e]; k = kappa((xs[e] + xs[e + 1]) / 2) / h
        K = K.at[e:e + 2, e:e + 2].add(k * jnp.array([[1.0, -1.0], [-1.0, 1.0]])); F = F.at[e:e + 2].add(src * h / 2)
    u = jnp.zeros(len(xs)).at[1:-1].set(jnp.linalg.solve(K[1:-1, 1:-1], F[1:-1]))
    flux = jnp.diff(u) / jnp.diff(xs)
    worst = int(jnp.abs(jnp.diff(flux)).argmax())
    xs = jnp.insert(xs, worst + 1, (xs[worst] + xs[worst + 1]) / 2)
print(len(xs), worst, K.shape)
u
---
refine = 2
---
kappa = lambda x: jnp.where(x < 0.5, 1.0, 10.0)
---
src = -2

### xa-n-viterbi-with-backpointers-as-lists-and-path-decoded-to-names
states = ["Rain", "Sun"]; obs = [0, 1, 2, 0]; A = jnp.log(jnp.array([[0.7, 0.3], [0.4, 0.6]])); B = jnp.log(jnp.array([[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]])); pi = jnp.log(jnp.array([0.6, 0.4]))
---
V, back = pi + B[:, obs[0]], []
for o in obs[1:]:
    sc = V[:, None] + A
    back.append(sc.argmax(0)); V = sc.max(0) + B[:, o]
path = [int(V.argmax())]
for bp in reversed(back): path.insert(0, int(bp[path[0]]))
ll = jax.nn.logsumexp(V)
print(" -> ".join(states[p] for p in path), f"{V.max():.3f}")
back[-1], ll
---
obs.append(2)
---
states = [s.lower() for s in states]; pi = pi[::-1]

### xa-n-adaptive-simpson-recursion-with-depth-and-eval-counter
calls = 0
def f(x):
    global calls
    calls += 1
    return jnp.exp(-x ** 2) * scale
def simpson(a, b): return (b - a) / 6 * (f(a) + 4 * f((a + b) / 2) + f(b))
def adapt(a, b, tol, whole, depth=0):
    m = (a + b) / 2; l, r = simpson(a, m), simpson(m, b)
    if depth > 4 or jnp.abs(l + r - whole) < 15 * tol: return l + r + (l + r - whole) / 15, depth
    (L, dl), (R, dr) = adapt(a, m, tol / 2, l, depth + 1), adapt(m, b, tol / 2, r, depth + 1)
    return L + R, max(dl, dr)
scale, tol = 1.0, 1e-3
---
val, depth = adapt(0.0, 2.0, tol, simpson(0.0, 2.0))
print(depth, calls)
val
---
tol = 1e-1
---
scale = 3; calls = 0

### xa-n-kmeans-plus-plus-until-assignments-repeat-with-empty-cluster-reseed
X = jnp.concatenate([jax.random.normal(jax.random.key(i), (4, 2)) * 0.2 + i * 2 for i in range(3)]); K, seed = 3, 0
---
rng = np.random.default_rng(seed); C = X[rng.integers(len(X))][None]
while len(C) < K:
    d = jnp.min(((X[:, None] - C) ** 2).sum(-1), axis=1); pr = np.asarray(d, np.float64); C = jnp.vstack([C, X[rng.choice(len(X), p=pr / pr.sum())]])
prev, iters = None, 0
while True:
    lab = ((X[:, None] - C) ** 2).sum(-1).argmin(1); iters += 1
    if prev is not None and bool((lab == prev).all()): break
    C = jnp.stack([X[lab == j].mean(0) if (lab == j).any() else X[rng.integers(len(X))] for j in range(K)]); prev = lab
inertia = ((X - C[lab]) ** 2).sum()
print(iters > 1, jnp.bincount(lab, length=K).sum(), f"{inertia:.2f}")
sorted(jnp.bincount(lab, length=K).tolist())
---
K = 2
---
seed = 3; X = X[:7]

### xa-n-ising-checkerboard-sweeps-with-temperature-ladder-and-binder
key = jax.random.key(1); spins = jnp.where(jax.random.bernoulli(key, 0.5, (4, 4)), 1, -1); temps = [1.5, 3.0]; sweeps = 2
mask = (jnp.indices((4, 4)).sum(0) % 2).astype(bool)
---
obs = {}
for T in temps:
    s, m2, m4 = spins, 0.0, 0.0
    for i in range(sweeps):
        for half in (mask, ~mask):
            key, sub = jax.random.split(key)
            h = sum(jnp.roll(s, d, a) for d in (1, -1) for a in (0, 1))
            flip = (jax.random.uniform(sub, s.shape) < jnp.exp(-2 * s * h / T)) & half
            s = jnp.where(flip, -s, s)
        m = s.mean(); m2 += m ** 2; m4 += m ** 4
    obs[T] = (m2 / sweeps, 1 - sweeps * m4 / (3 * m2 ** 2) if m2 > 0 else jnp.nan)
print({T: round(float(a), 3) for T, (a, b) in obs.items()}, s.dtype)
s
---
temps.append(0.5)
---
spins = jnp.ones((4, 4), int); sweeps = 1

### xa-n-spectral-burgers-with-dealias-and-cfl-checked-each-step
n, nu, t_end = 16, 0.1, 0.2; x = jnp.linspace(0, 2 * jnp.pi, n, endpoint=False); u0 = jnp.sin(x); k = jnp.fft.rfftfreq(n, 1 / n)
---
uh, t, steps = jnp.fft.rfft(u0), 0.0, 0
cut = k < n // 3
rhs = lambda uh: -0.5j * k * jnp.fft.rfft(jnp.fft.irfft(jnp.where(cut, uh, 0), n) ** 2) - nu * k ** 2 * uh
while t < t_end:
    umax = float(jnp.abs(jnp.fft.irfft(uh, n)).max())
    dt = min(0.5 * (2 * math.pi / n) / max(umax, 1e-3), 0.1, t_end - t)
    k1 = rhs(uh); k2 = rhs(uh + dt * k1); uh = uh + dt / 2 * (k1 + k2)
    t += dt; steps += 1
u = jnp.fft.irfft(uh, n)
print(steps, uh.dtype, round(t, 3))
u
---
nu = 0.5
---
u0 = 2 * jnp.cos(x)
---
t_end = 0.0

### xa-n-bayes-logistic-laplace-with-newton-and-predictive-table
X = jnp.array([[1.0, 0.2], [1.0, 1.5], [1.0, -0.7], [1.0, 2.2]]); y = jnp.array([0.0, 1, 0, 1]); prior = 1.0
---
nlp = lambda w: jnp.sum(jax.nn.softplus(X @ w) - y * (X @ w)) + 0.5 * prior * w @ w
w = jnp.zeros(2)
for it in range(20):
    g, H = jax.grad(nlp)(w), jax.hessian(nlp)(w)
    dw = jnp.linalg.solve(H, g); w = w - dw
    if jnp.linalg.norm(dw) < 1e-3: break
S = jnp.linalg.inv(H)
pred = {round(float(x), 1): (jax.nn.sigmoid(jnp.array([1.0, x]) @ w / jnp.sqrt(1 + jnp.pi / 8 * (jnp.array([1.0, x]) @ S @ jnp.array([1.0, x]))))) for x in jnp.linspace(-1, 2, 3)}
print({k: f"{v:.2f}" for k, v in pred.items()}, it < 20)
w
---
prior = 0.1
---
y = y.at[0].set(1)

### xa-n-queue-simulation-with-heap-of-events-and-jax-exponentials
lam, mu, horizon = 1.0, 1.5, 4.0; key = jax.random.key(3)
---
key, ka, ks = jax.random.split(key, 3)
arr = jnp.cumsum(jax.random.exponential(ka, (6,)) / lam); srv = jax.random.exponential(ks, (6,)) / mu
ev = [(float(t), 0, i) for i, t in enumerate(arr)]; heapq.heapify(ev); free, waits, n = 0.0, [], 0
while ev and ev[0][0] < horizon:
    t, kind, i = heapq.heappop(ev)
    if kind == 0:
        start = max(t, free); free = start + float(srv[i]); waits.append(start - t); heapq.heappush(ev, (free, 1, i)); n += 1
    else: n -= 1
w = jnp.array(waits) if waits else jnp.zeros(1)
print(len(waits), n, w.dtype)
jnp.percentile(w, 50), w.max()
---
horizon = 1.0
---
mu = 0.2; key = jax.random.key(8)

### xa-n-dimension-checked-units-class-with-operators-and-jax-values
class Q:
    def __init__(self, v, **u): self.v, self.u = v, {k: e for k, e in u.items() if e}
    def __mul__(self, o):
        o = o if isinstance(o, Q) else Q(o)
        return Q(self.v * o.v, **{k: self.u.get(k, 0) + o.u.get(k, 0) for k in {**self.u, **o.u}})
    __rmul__ = __mul__
    def __pow__(self, n): return Q(self.v ** n, **{k: e * n for k, e in self.u.items()})
    def __truediv__(self, o): return self * (o if isinstance(o, Q) else Q(o)) ** -1
    def __add__(self, o):
        if self.u != o.u: raise TypeError(f"{self.u} + {o.u}")
        return Q(self.v + o.v, **self.u)
    def __str__(self): return f"{self.v:.2f} " + " ".join(f"{k}^{e}" for k, e in sorted(self.u.items()))
m, v, h, g = Q(jnp.float32(2), kg=1), Q(jnp.float32(3), m=1, s=-1), Q(jnp.float32(5), m=1), Q(9.81, m=1, s=-2)
---
E = 0.5 * m * v ** 2 + m * g * h
try: bad = E + v
except TypeError as e: bad = str(e)
p = E / Q(2.0, s=1)
print(E, "|", p, "|", bad)
E.v
---
v = Q(jnp.float32(1), m=1, s=-1)
---
h = Q(2, m=1); m.v = 3

### xa-n-minimax-tictactoe-values-in-a-cache-of-boards-and-jax-policy
lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]; start = "XOX.O...."; temp = 1.0
@functools.cache
def value(b, p):
    for a in lines:
        if b[a[0]] != "." and b[a[0]] == b[a[1]] == b[a[2]]: return 1 if b[a[0]] == "X" else -1
    moves = [i for i, c in enumerate(b) if c == "."]
    if not moves: return 0
    return (max if p == "X" else min)(value(b[:i] + p + b[i + 1:], "O" if p == "X" else "X") for i in moves)
---
moves = [i for i, c in enumerate(start) if c == "."]
vals = jnp.array([value(start[:i] + "X" + start[i + 1:], "O") for i in moves], float)
pol = jax.nn.softmax(vals / temp)
pick = moves[int(jax.random.categorical(jax.random.key(0), jnp.log(pol)))]
print(dict(zip(moves, vals.tolist())), pick, value.cache_info().currsize > 0)
pol
---
temp = 0.1
---
start = "XO......."[:4] + "OX..."

### xa-n-polynomial-fit-degrees-compared-by-aic-with-vander-and-lstsq
xs = jnp.linspace(-1, 1, 9); noise = 0.05; ys = 1 - 2 * xs + 3 * xs ** 2 + noise * jax.random.normal(jax.random.key(0), (9,)); degrees = range(1, 4)
---
tab = []
for d in degrees:
    V = jnp.vander(xs, d + 1); co, *_ = jnp.linalg.lstsq(V, ys)
    rss = jnp.sum((V @ co - ys) ** 2)
    tab.append((d, rss, len(xs) * jnp.log(rss / len(xs)) + 2 * (d + 1), co))
best = min(tab, key=lambda t: float(t[2]))
roots = np.roots(np.asarray(best[3], np.float64))
print(best[0], [f"{float(t[2]):.0f}" for t in tab], len(roots))
best[3]
---
degrees = [1]
---
ys = xs * 2; degrees = (1, 2)

### xa-n-monte-carlo-pi-batches-until-standard-error-small-with-running-sums
key = jax.random.key(0); tol, batch = 0.08, 64
---
n = hits = 0; trace = []
while True:
    key, sub = jax.random.split(key)
    p = jax.random.uniform(sub, (batch, 2))
    hits += int((p ** 2).sum(1).__le__(1).sum()); n += batch
    est = 4 * hits / n; se = 4 * math.sqrt((hits / n) * (1 - hits / n) / n); trace.append(est)
    if se < tol or n > 2000: break
print(n, round(est, 3), len(trace))
jnp.array(trace)
---
tol = 0.2
---
batch = 100

### xa-n-word-counts-tfidf-cosine-and-nearest-document
docs = ["jax is fast", "numpy is easy", "fast code is good code"]; query = "fast jax code"; sublinear = False
---
tok = [re.findall(r"\w+", d) for d in docs]; vocab = {w: i for i, w in enumerate(sorted({w for t in tok for w in t}))}
def counts(ws):
    v = jnp.zeros(len(vocab))
    for w in ws:
        if w in vocab: v = v.at[vocab[w]].add(1)
    return jnp.log1p(v) if sublinear else v
M = jnp.stack([counts(t) for t in tok]); idf = jnp.log((1 + len(docs)) / (1 + (M > 0).sum(0))) + 1
T = M * idf; T = T / jnp.linalg.norm(T, axis=1, keepdims=True)
q = counts(query.split()) * idf; sim = T @ q / jnp.linalg.norm(q)
print(docs[int(sim.argmax())], len(vocab))
sim
---
sublinear = True
---
docs.append("jax code"); query += " easy"

### xa-n-linked-joints-inverse-kinematics-damped-least-squares-with-limits
lengths = [1.0, 0.8, 0.5]; q = jnp.array([0.1, 0.2, 0.3]); goal = jnp.array([1.2, 1.0]); lim = (-2.0, 2.0); damp = 0.1
def fk(q):
    p, a = jnp.zeros(2), 0.0
    for l, t in zip(lengths, q): a = a + t; p = p + l * jnp.array([jnp.cos(a), jnp.sin(a)])
    return p
---
for it in range(8):
    e = goal - fk(q)
    if jnp.linalg.norm(e) < 1e-2: break
    J = jax.jacfwd(fk)(q)
    q = jnp.clip(q + J.T @ jnp.linalg.solve(J @ J.T + damp ** 2 * jnp.eye(2), e), *lim)
hit = [i for i, v in enumerate(q) if v in lim]
print(it, hit, f"{jnp.linalg.norm(goal - fk(q)):.2f}")
fk(q)
---
goal = jnp.array([-0.5, 0.7])
---
lengths.append(0.4); q = jnp.append(q, 0.0)
---
lim = (-0.5, 0.5)

### xa-n-perceptron-through-time-with-spikes-kept-in-ragged-lists
rng = np.random.default_rng(0); W = jnp.asarray(rng.normal(size=(3, 2)), jnp.float32); leak, thr, steps = 0.9, 1.0, 6; I = [jnp.array([1.0, 0.5]) * (1 + 0.1 * t) for t in range(6)]
---
v, spikes = jnp.zeros(3), [[] for _ in range(3)]
for t in range(steps):
    v = leak * v + W @ I[t % len(I)]
    fired = v > thr
    for j in np.flatnonzero(fired): spikes[j].append(t)
    v = jnp.where(fired, 0.0, v)
isi = [jnp.diff(jnp.array(s)).mean() if len(s) > 1 else None for s in spikes]
print(spikes, [i if i is None else round(float(i), 2) for i in isi])
v
---
thr = 0.3
---
I = I[:2]; steps = 9

### xa-n-checkers-of-conservation-run-as-tests-with-a-tiny-runner
tests, tol = {}, 1e-4
def test(f): tests[f.__name__] = f; return f
@test
def softmax_sums(): assert jnp.allclose(jax.nn.softmax(data).sum(), 1, atol=tol)
@test
def fft_roundtrip(): np.testing.assert_allclose(jnp.fft.ifft(jnp.fft.fft(data)).real, data, atol=1e-5)
@test
def always_wrong(): assert data.sum() == 0, f"sum is {data.sum()}"
data = jnp.array([1.0, 2.0, 4.0])
---
res = {}
for name, f in tests.items():
    try: f(); res[name] = "ok"
    except AssertionError as e: res[name] = f"FAILED {str(e).splitlines()[0] if str(e) else ''}"
n_ok = sum(v == "ok" for v in res.values())
print(f"{n_ok}/{len(tests)}", res)
score = data * n_ok
---
data = data - data.mean() * 1.0
---
tests.pop("always_wrong"); tol = 0
---
data = jnp.array([jnp.nan, 1.0])
""",
)
