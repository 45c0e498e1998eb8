"""Numerical notebooks: solvers by hand, graphs, geometry, signals, dynamic programs, sampling, finance, arithmetic."""

from ..cell import written

PRELUDE = """
import math, cmath, itertools, functools, collections, dataclasses, heapq, operator, fractions
from typing import NamedTuple
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, random
rs = np.random.default_rng(8)
A = rs.normal(size=(5, 5)).astype(np.float32)
S = (A @ A.T + 5 * np.eye(5)).astype(np.float32)
b = np.arange(1, 6, dtype=np.float32)
"""

CELLS = written(
    PRELUDE,
    r"""
### fin-arnoldi-gmres-python-lists
tol, maxiter, guess = 1e-3, 5, None
---
r0 = b - A @ guess if guess is not None else jnp.asarray(b)
beta = jnp.linalg.norm(r0)
Q, H, residuals = [r0 / beta], np.zeros((maxiter + 1, maxiter)), []
for k in range(maxiter):
    v = A @ Q[k]
    for j, q in enumerate(Q):
        H[j, k] = jnp.dot(q, v)
        v = v - jnp.float32(H[j, k]) * q
    H[k + 1, k] = jnp.linalg.norm(v)
    e1 = np.zeros(k + 2); e1[0] = float(beta)
    coef, *_ = np.linalg.lstsq(H[:k + 2, :k + 1], e1, rcond=None)
    residuals.append(float(np.linalg.norm(H[:k + 2, :k + 1] @ coef - e1) / beta))
    if residuals[-1] < tol or H[k + 1, k] < 1e-2:
        break
    Q.append(v / jnp.float32(H[k + 1, k]))
H, coef = H.round(2), coef.round(2); del v, e1, _
sol = sum(jnp.float32(c) * q for c, q in zip(coef, Q))
print(k + 1, "iterations;", "converged" if residuals[-1] < tol else "stalled")
ok = jnp.allclose(A @ sol, b, atol=0.05)
len(Q), H.dtype, sol.shape
---
A = A + 4 * np.eye(5, dtype=np.float32)
---
maxiter = 2
---
A = np.diag(np.array([1, 2, 2, 1, 1], np.float32)); maxiter = 4

### fin-multigrid-v-cycle-recursive
levels, smooth_steps, cycles = 3, 2, 2
def residual(u, f, h): return f - (2 * u - jnp.pad(u, 1)[:-2] - jnp.pad(u, 1)[2:]) / h**2
def smooth(u, f, h, n, omega=2 / 3):
    for _ in range(n):
        u = u + omega * h**2 / 2 * residual(u, f, h)
    return u
---
visits = collections.Counter()
def v_cycle(u, f, h, level=0):
    visits[level] += 1
    u = smooth(u, f, h, smooth_steps)
    if u.size <= 1 or level == levels - 1:
        return u
    r = residual(u, f, h)
    coarse = (r[:-2:2] + 2 * r[1:-1:2] + r[2::2]) / 4
    e = v_cycle(jnp.zeros_like(coarse), coarse, 2 * h, level + 1)
    fine = jnp.zeros_like(u).at[1::2].set(e)
    padded = jnp.pad(e, 1)
    fine = fine.at[::2].set((padded[:-1] + padded[1:]) / 2)
    return smooth(u + fine, f, h, smooth_steps)
n = 15
xs = jnp.arange(1, n + 1) / (n + 1)
f = jnp.pi**2 * jnp.sin(jnp.pi * xs)
u, norms = jnp.zeros(n), []
for c in range(cycles):
    u = v_cycle(u, f, 1 / (n + 1))
    norms.append(jnp.linalg.norm(residual(u, f, 1 / (n + 1))))
for c, r in enumerate(norms):
    print(f"cycle {c}: {r:.3e}" if r > 1e-3 else f"cycle {c}: tiny")
dict(visits), jnp.abs(u - jnp.sin(jnp.pi * xs)).max() < 1
---
levels = 1
---
smooth_steps, cycles = 1, 3

### fin-givens-qr-in-place-vs-householder
method, M = "givens", A.copy()
---
R, Q = np.array(M, np.float64), np.eye(len(M))
rotations = []
if method == "givens":
    for j in range(R.shape[1]):
        for i in range(len(R) - 1, j, -1):
            if abs(R[i, j]) > 1e-12:
                c, s = R[i - 1, j], R[i, j]
                n = math.hypot(c, s)
                G = np.array([[c, s], [-s, c]]) / n
                R[i - 1:i + 1] = G @ R[i - 1:i + 1]
                Q[:, i - 1:i + 1] = Q[:, i - 1:i + 1] @ G.T
                rotations.append((i, j))
else:
    for j in range(R.shape[1] - 1):
        v = R[j:, j].copy(); v[0] += math.copysign(np.linalg.norm(v), v[0]); v /= np.linalg.norm(v)
        R[j:] -= 2 * np.outer(v, v @ R[j:])
        Q[:, j:] -= 2 * np.outer(Q[:, j:] @ v, v)
        rotations.append(j)
Rj = jnp.asarray(R, jnp.float32)
orth = jnp.abs(jnp.asarray(Q, jnp.float32).T @ jnp.asarray(Q, jnp.float32) - jnp.eye(len(Q))).max()
q2, r2 = jnp.linalg.qr(M)
signs = jnp.sign(jnp.diag(Rj)) * jnp.sign(jnp.diag(r2))
gap = jnp.abs(Rj - signs[:, None] * r2).max()
print(len(rotations), orth < 1e-4, gap < 1e-3)
R.dtype, Rj.weak_type, r2.dtype
---
method = "householder"
---
M = M[:3, :3]

### fin-crank-nicolson-tridiagonal-solve
nx, nt, theta = 10, 3, 0.5
kappa = lambda x: 1.0 + 0.5 * x
---
x = jnp.linspace(0, 1, nx)
dx = float(x[1] - x[0]); dt = 0.01
k = kappa((x[1:] + x[:-1]) / 2)
lo = jnp.concatenate([jnp.zeros(1), k]) / dx**2
hi = jnp.concatenate([k, jnp.zeros(1)]) / dx**2
inner = (jnp.arange(nx) > 0) & (jnp.arange(nx) < nx - 1)
lo, hi = jnp.where(inner, lo, 0), jnp.where(inner, hi, 0)
dia = -(lo + hi)
u = jnp.sin(jnp.pi * x)
frames = {0.0: u}
for i in range(1, nt + 1):
    rhs = u + (1 - theta) * dt * (dia * u + lo * jnp.roll(u, 1) + hi * jnp.roll(u, -1))
    if theta:
        u = lax.linalg.tridiagonal_solve(-theta * dt * lo, 1 - theta * dt * dia, -theta * dt * hi, rhs[:, None])[:, 0]
    else:
        u = rhs
    frames[round(i * dt, 6)] = u
decay = [float(jnp.abs(f).max()) for f in frames.values()]
assert all(p >= q for p, q in itertools.pairwise(decay)), decay
list(frames), type(dx), u.shape
---
theta = 1.0
---
theta = 0.0; nx = 6
---
kappa = lambda x: jnp.where(x < 0.5, 1.0, 4.0); theta = 0.5

### fin-finite-elements-assembled-by-loops
nodes = [0.0, 0.2, 0.5, 1.0]
gauss = [(-1 / math.sqrt(3), 1.0), (1 / math.sqrt(3), 1.0)]
load = jnp.sin
---
n = len(nodes)
K, F = jnp.zeros((n, n)), jnp.zeros(n)
for e, (a, c) in enumerate(itertools.pairwise(nodes)):
    h = c - a
    K = K.at[e:e + 2, e:e + 2].add(jnp.array([[1, -1], [-1, 1]]) / h)
    for xi, wt in gauss:
        pt = a + (xi + 1) * h / 2
        shape = jnp.array([(1 - xi) / 2, (1 + xi) / 2])
        F = F.at[e:e + 2].add(wt * h / 2 * load(pt) * shape)
free = [i for i in range(n) if 0 < i < n - 1]
idx = jnp.array(free)
u = jnp.zeros(n).at[idx].set(jnp.linalg.solve(K[jnp.ix_(idx, idx)], F[idx]))
energy = 0.5 * u @ K @ u - F @ u
exact = jnp.sin(jnp.array(nodes)) - jnp.array(nodes) * math.sin(1)
print(f"energy {energy:.4f}, error {jnp.abs(u - exact).max():.0e}" if load is jnp.sin else f"energy {energy:.4f}")
free, pt, u
---
nodes.insert(1, 0.1)
---
load = lambda p: 1.0
---
gauss = [(0.0, 2.0)]; nodes = [0, 1, 2]

### fin-natural-cubic-spline-class
class Spline:
    def __init__(self, xs, ys):
        self.xs, self.ys = jnp.asarray(xs, jnp.float32), jnp.asarray(ys, jnp.float32)
        h = jnp.diff(self.xs)
        n = len(xs)
        M = jnp.eye(n)
        rhs = jnp.zeros(n)
        for i in range(1, n - 1):
            M = M.at[i, i - 1:i + 2].set(jnp.array([h[i - 1], 2 * (h[i - 1] + h[i]), h[i]]))
            rhs = rhs.at[i].set(6 * ((self.ys[i + 1] - self.ys[i]) / h[i] - (self.ys[i] - self.ys[i - 1]) / h[i - 1]))
        self.m = jnp.linalg.solve(M, rhs)
    @functools.cached_property
    def d(self): return jax.vmap(jax.grad(self.one))
    def one(self, t):
        i = jnp.clip(jnp.searchsorted(self.xs, t) - 1, 0, len(self.xs) - 2)
        h = self.xs[i + 1] - self.xs[i]
        a, c = (self.xs[i + 1] - t) / h, (t - self.xs[i]) / h
        return a * self.ys[i] + c * self.ys[i + 1] + ((a**3 - a) * self.m[i] + (c**3 - c) * self.m[i + 1]) * h**2 / 6
    def __call__(self, t): return jax.vmap(self.one)(jnp.atleast_1d(jnp.asarray(t, jnp.float32)))
knots, fn = [0, 1, 2.5, 4], np.sin
---
sp = Spline(knots, fn(np.array(knots, float)))
at = np.linspace(knots[0], knots[-1], 9)
val, slope = sp(at), sp.d(jnp.asarray(at, jnp.float32))
hit = sp(knots) - sp.ys
rows = 5
screen = [[" "] * len(at) for _ in range(rows)]
lo, hi = float(val.min()), float(val.max())
for c, v in enumerate(val.tolist()):
    screen[int((v - lo) / (hi - lo + 1e-9) * (rows - 1) + 0.5)][c] = "*"
print("\n".join("".join(r).rstrip() for r in reversed(screen)))
"d" in vars(sp), val.shape, jnp.abs(hit).max() < 1e-4
---
knots.append(6)
---
fn = lambda v: v * 0.7 + 1

### fin-dtw-and-needleman-alignments
def dtw(s, t):
    cost = jnp.abs(s[:, None] - t[None, :])
    def row(prev, c):
        def col(left, z):
            d, up, diag = z
            new = d + jnp.minimum(jnp.minimum(left, up), diag)
            return new, new
        diag = jnp.concatenate([jnp.array([prev[0] * 0 + jnp.inf]), prev[:-1]])
        _, out = lax.scan(col, jnp.inf, (c, prev, diag))
        return out, out
    first = jnp.cumsum(cost[0])
    _, rest = lax.scan(row, first, cost[1:])
    return jnp.concatenate([first[None], rest])
a_seq, b_seq, gap = "GATTACA", "GCATGCT", -1
---
s, t = (jnp.array([ord(c) - 65 for c in q], jnp.float32) for q in (a_seq, b_seq))
D = dtw(s, t)
score = np.zeros((len(a_seq) + 1, len(b_seq) + 1), int)
score[0], score[:, 0] = gap * np.arange(len(b_seq) + 1), gap * np.arange(len(a_seq) + 1)
for i, j in itertools.product(range(1, len(score)), range(1, score.shape[1])):
    match = score[i - 1, j - 1] + (1 if a_seq[i - 1] == b_seq[j - 1] else -1)
    score[i, j] = max(match, score[i - 1, j] + gap, score[i, j - 1] + gap)
i, j, top, bottom = len(a_seq), len(b_seq), [], []
while i or j:
    if i and j and score[i, j] == score[i - 1, j - 1] + (1 if a_seq[i - 1] == b_seq[j - 1] else -1):
        i, j = i - 1, j - 1; top.append(a_seq[i]); bottom.append(b_seq[j])
    elif i and score[i, j] == score[i - 1, j] + gap:
        i -= 1; top.append(a_seq[i]); bottom.append("-")
    else:
        j -= 1; top.append("-"); bottom.append(b_seq[j])
print("".join(reversed(top)), "".join(reversed(bottom)), sep="\n")
int(score[-1, -1]), float(D[-1, -1]), D.shape
---
gap = -2
---
a_seq = "ACGT"

### fin-floyd-warshall-and-dijkstra-agree
edges = {("a", "b"): 4, ("a", "c"): 1, ("c", "b"): 2, ("b", "d"): 5, ("c", "d"): 8}
directed = True
---
names = sorted({n for e in edges for n in e})
at = {n: i for i, n in enumerate(names)}
D = jnp.where(jnp.eye(len(names), dtype=bool), 0.0, jnp.inf)
for (u, v), w in edges.items():
    D = D.at[at[u], at[v]].min(w)
    if not directed:
        D = D.at[at[v], at[u]].min(w)
D = lax.fori_loop(0, len(names), lambda k, D: jnp.minimum(D, D[:, k, None] + D[None, k]), D)
adj = collections.defaultdict(list)
for (u, v), w in edges.items():
    adj[u].append((v, w))
    if not directed: adj[v].append((u, w))
dist, prev, heap = {names[0]: 0}, {}, [(0, names[0])]
while heap:
    d, u = heapq.heappop(heap)
    if d > dist[u]: continue
    for v, w in adj[u]:
        if d + w < dist.get(v, math.inf):
            dist[v], prev[v] = d + w, u
            heapq.heappush(heap, (d + w, v))
agree = all(float(D[0, at[n]]) == dist.get(n, math.inf) for n in names)
path = [names[-1]]
while path[-1] in prev: path.append(prev[path[-1]])
reach = jnp.isfinite(D).sum()
print(" -> ".join(reversed(path)), dist.get(names[-1]), agree)
{n: d for n, d in zip(names, D[0].tolist())}, reach
---
directed = False
---
edges["b", "e"] = 1.5
---
del edges["a", "b"], edges["c", "b"]

### fin-sinkhorn-transport-plan-and-color-transfer
eps, max_it, cost_fn = 0.1, 20, "l2"
src = rs.uniform(size=(4, 3)).astype(np.float32); dst = rs.uniform(size=(5, 3)).astype(np.float32)
---
diff = src[:, None] - dst[None]
C = jnp.asarray((diff ** 2).sum(-1) if cost_fn == "l2" else np.abs(diff).sum(-1))
mu, nu = jnp.full(len(src), 1 / len(src)), jnp.full(len(dst), 1 / len(dst))
f, g = jnp.zeros(len(src)), jnp.zeros(len(dst))
history = []
for it in range(max_it):
    f = -eps * jax.nn.logsumexp((g[None] - C) / eps + jnp.log(nu)[None], axis=1)
    g = -eps * jax.nn.logsumexp((f[:, None] - C) / eps + jnp.log(mu)[:, None], axis=0)
    if it % 5 == 4:
        plan = jnp.exp((f[:, None] + g[None] - C) / eps) * mu[:, None] * nu[None]
        err = float(jnp.abs(plan.sum(1) - mu).sum())
        history.append(err)
        if err < 1e-3:
            break
moved = (plan / plan.sum(1, keepdims=True)) @ dst
cost = (plan * C).sum()
strongest = np.unravel_index(np.asarray(plan).argmax(), plan.shape)
print(f"cost {cost:.3f} after {it + 1}", [type(i).__name__ for i in strongest])
len(history), moved.shape, bool(history[-1] <= history[0])
---
eps = 1.0
---
cost_fn = "l1"
---
dst = dst[:2]; max_it = 5

### fin-fastica-deflation-and-correlation
t = np.linspace(0, 4, 40, dtype=np.float32)
sources = np.stack([np.sin(3 * t), np.sign(np.sin(5 * t)), ((t * 3) % 1) - 0.5])
mixing = np.array([[1, 0.5, 0.2], [0.4, 1, 0.3], [0.2, 0.1, 1]], np.float32)
fun, n_comp, iters = "logcosh", 3, 8
---
Z = jnp.asarray(mixing @ sources)
Z = Z - Z.mean(1, keepdims=True)
vals, vecs = jnp.linalg.eigh(Z @ Z.T / Z.shape[1])
white = (vecs / jnp.sqrt(vals)).T @ Z
W = jnp.zeros((0, len(Z)))
for p in range(n_comp):
    w = jax.nn.one_hot(p, len(Z))
    for _ in range(iters):
        s = w @ white
        if fun == "logcosh":
            g, dg = jnp.tanh(s), 1 - jnp.tanh(s) ** 2
        else:
            g, dg = s ** 3, 3 * s ** 2
        w = (white * g).mean(1) - dg.mean() * w
        w = w - W.T @ (W @ w)
        w = w / jnp.linalg.norm(w)
    W = jnp.concatenate([W, w[None]])
S_hat = W @ white
corr = jnp.abs(jnp.corrcoef(jnp.concatenate([S_hat, jnp.asarray(sources)])))[:n_comp, n_comp:]
unit = jnp.abs(W @ W.T - jnp.eye(n_comp)).max() < 1e-2
W.shape, bool(unit), bool((corr.max(1) <= 1.001).all())
---
n_comp = 2
---
fun, iters = "cube", 3

### fin-nmf-multiplicative-topics
words = ["ball", "team", "vote", "law", "goal"]
counts = np.array([[3, 2, 0, 0, 2], [2, 3, 0, 1, 3], [0, 0, 4, 2, 0], [0, 1, 3, 3, 0]], np.float32)
k, iters, seed = 2, 6, 0
def divergence(V, WH): return jnp.sum(V * jnp.log((V + 1e-9) / (WH + 1e-9)) - V + WH)
---
k1, k2 = random.split(random.key(seed))
W = random.uniform(k1, (len(counts), k), minval=0.1)
H = random.uniform(k2, (k, counts.shape[1]), minval=0.1)
objective = [divergence(counts, W @ H)]
for it in range(iters):
    H = H * (W.T @ (counts / (W @ H + 1e-9))) / (W.sum(0)[:, None] + 1e-9)
    W = W * ((counts / (W @ H + 1e-9)) @ H.T) / (H.sum(1)[None] + 1e-9)
    objective.append(divergence(counts, W @ H))
scale = H.sum(1)
H, W = H / scale[:, None], W * scale
monotone = all(float(q) <= float(p) + 1e-3 for p, q in itertools.pairwise(objective))
topics = [[words[i] for i in np.argsort(-np.asarray(row), kind="stable")[:2]] for row in H]
print("\n".join(f"topic {i}: " + ", ".join(sorted(t)) for i, t in enumerate(topics)))
monotone, W.shape, len(objective)
---
seed = 5
---
counts = np.vstack([counts, counts[:1] * 2]); k = 3
---
divergence = lambda V, WH: jnp.mean((V - WH) ** 2); iters = 1

### fin-baum-welch-two-state-weather
obs = np.array([0, 0, 1, 2, 2, 1, 0, 0])
class HMM(NamedTuple):
    start: jax.Array
    trans: jax.Array
    emit: jax.Array
hmm = HMM(jnp.array([0.6, 0.4]), jnp.array([[0.7, 0.3], [0.4, 0.6]]), jnp.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]))
rounds, floor = 2, 1e-6
---
logliks = []
for _ in range(rounds):
    alphas, scales = [], []
    a = hmm.start * hmm.emit[:, obs[0]]
    for t in range(len(obs)):
        if t:
            a = (alphas[-1] @ hmm.trans) * hmm.emit[:, obs[t]]
        c = a.sum()
        alphas.append(a / c); scales.append(c)
        a = a / c
    betas = [jnp.ones(2)]
    for t in range(len(obs) - 1, 0, -1):
        betas.insert(0, hmm.trans @ (hmm.emit[:, obs[t]] * betas[0]) / scales[t])
    gamma = jnp.stack([p * q for p, q in zip(alphas, betas)])
    xi = sum(jnp.outer(alphas[t], hmm.emit[:, obs[t + 1]] * betas[t + 1]) * hmm.trans / scales[t + 1] for t in range(len(obs) - 1))
    emit = jnp.stack([gamma[obs == s].sum(0) for s in range(3)], axis=1) + floor
    hmm = HMM(gamma[0], xi / xi.sum(1, keepdims=True), emit / emit.sum(1, keepdims=True))
    logliks.append(sum(math.log(s) for s in scales))
print([f"{l:.2f}" for l in logliks], hmm._fields)
jnp.abs(gamma.sum(1) - 1).max() < 1e-4, hmm.trans.shape
---
obs = np.append(obs, [2, 2])
---
hmm = hmm._replace(trans=jnp.full((2, 2), 0.5)); rounds = 1

### fin-lqr-riccati-and-clipped-rollout
dt, horizon, umax = 0.1, 8, 5.0
Qc, Rc = jnp.diag(jnp.array([1.0, 0.1])), jnp.array([[0.01]])
---
Ad = jnp.array([[1, dt], [0, 1]]); Bd = jnp.array([[0.5 * dt**2], [dt]])
P_, gains = Qc, collections.deque()
for _ in range(horizon):
    Kt = jnp.linalg.solve(Rc + Bd.T @ P_ @ Bd, Bd.T @ P_ @ Ad)
    P_ = Qc + Ad.T @ P_ @ (Ad - Bd @ Kt)
    gains.appendleft(Kt)
def rollout(s, gains):
    traj, cost, saturated = [s], 0.0, 0
    for Kt in gains:
        u = -(Kt @ s)
        saturated += int(abs(float(u[0])) > umax)
        u = jnp.clip(u, -umax, umax)
        cost += s @ Qc @ s + u @ Rc @ u
        s = Ad @ s + Bd @ u
        traj.append(s)
    return jnp.stack(traj), cost, saturated
traj, cost, saturated = rollout(jnp.array([1.0, 0.0]), gains)
eig = np.abs(np.linalg.eigvals(np.asarray(Ad - Bd @ gains[0])))
print(f"cost {cost:.2f}, {saturated} saturated, stable {bool((eig < 1).all())}")
type(gains).__name__, len(gains), traj.shape, type(saturated)
---
umax = 0.5
---
Rc = Rc * 10; horizon = 4
---
dt = 0.2

### fin-gillespie-reactions-while-loop
rates = {"birth": 1.0, "death": 0.1}
x0, t_end, seed = 5, 3.0, 0
change = {"birth": +1, "death": -1}
---
key = random.key(seed)
t, n, events = 0.0, x0, collections.Counter()
path = [(t, n)]
while t < t_end and len(path) < 40:
    prop = jnp.array([rates["birth"], rates["death"] * n])
    total = float(prop.sum())
    if total <= 0:
        break
    key, k1, k2 = random.split(key, 3)
    t += float(random.exponential(k1)) / total
    which = list(rates)[int(random.choice(k2, 2, p=prop / total))]
    n += change[which]
    events[which] += 1
    path.append((t, n))
times, pops = map(jnp.array, zip(*path))
weighted = jnp.sum(jnp.diff(times) * pops[:-1]) / times[-1]
print(f"{len(path) - 1} events, {events.most_common(1)[0][0]}")
pops.dtype, times.dtype, n, weighted
---
seed = 3
---
rates["death"] = 2.0
---
x0, rates = 0, {"birth": 0.0, "death": 1.0}; events = None

### fin-lennard-jones-neighbours-verlet
box, n_side, steps, cutoff = 4.0, 3, 3, 1.6
class State(NamedTuple):
    r: jax.Array
    v: jax.Array
    f: jax.Array
---
grid = np.stack(np.meshgrid(*[np.arange(n_side)] * 2), -1).reshape(-1, 2) * (box / n_side)
def pair_energy(r, pairs):
    d = r[pairs[:, 0]] - r[pairs[:, 1]]
    d = d - box * jnp.round(d / box)
    d2 = (d ** 2).sum(-1)
    inv6 = 1 / d2 ** 3
    return jnp.where(d2 < cutoff ** 2, 4 * (inv6 ** 2 - inv6), 0.0).sum()
def neighbours(r):
    host = np.asarray(r)
    d = host[:, None] - host[None]
    d -= box * np.round(d / box)
    i, j = np.nonzero(np.triu((d ** 2).sum(-1) < (cutoff + 0.3) ** 2, 1))
    return np.stack([i, j], 1)
force = jax.grad(lambda r, p: -pair_energy(r, p))
r = jnp.asarray(grid, jnp.float32)
pairs = neighbours(r)
state = State(r, 0.1 * random.normal(random.key(0), r.shape), force(r, pairs))
energies, rebuilt = [], 0
for s in range(steps):
    if s and s % 2 == 0:
        pairs = neighbours(state.r); rebuilt += 1
    v = state.v + 0.005 * state.f
    r = (state.r + 0.01 * v) % box
    f = force(r, pairs)
    state = State(r, v + 0.005 * f, f)
    energies.append(pair_energy(r, pairs) + 0.5 * (state.v ** 2).sum())
drift = abs(float(energies[-1] - energies[0]))
print(f"{len(pairs)} pairs, rebuilt {rebuilt}, drift {'small' if drift < 0.05 else 'large'}")
pairs.dtype, state.r.shape
---
cutoff = 1.2
---
n_side, box = 2, 3.0
---
steps = 5

### fin-wolff-cluster-with-stack-and-keys
L, beta, sweeps = 4, 0.4, 2
spins = np.where(rs.uniform(size=(4, 4)) < 0.5, 1, -1)
---
p_add = 1 - math.exp(-2 * beta)
grid, sizes = spins.copy(), []
for s in range(sweeps):
    key = random.fold_in(random.key(17), s)
    k1, k2 = random.split(key)
    i, j = (int(v) for v in random.randint(k1, (2,), 0, L))
    draws = iter(np.asarray(random.uniform(k2, (8 * L * L,))).tolist())
    seed_spin, cluster, stack = grid[i, j], {(i, j)}, [(i, j)]
    while stack:
        a, c = stack.pop()
        for da, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            site = (a + da) % L, (c + dc) % L
            if site not in cluster and grid[site] == seed_spin and next(draws) < p_add:
                cluster.add(site); stack.append(site)
    for site in cluster:
        grid[site] *= -1
    sizes.append(len(cluster))
lattice = jnp.asarray(grid)
energy = -(lattice * (jnp.roll(lattice, 1, 0) + jnp.roll(lattice, 1, 1))).sum()
m = jnp.abs(lattice.mean())
print("\n".join("".join("+-"[int(v < 0)] for v in row) for row in grid))
sizes, energy, m, (grid == spins).all()
---
beta = 0.0
---
spins = np.ones((4, 4), int); beta = 2.0

### fin-percolation-union-find-threshold
size, seeds = 4, [0, 1, 2]
class DisjointSet:
    def __init__(self, n): self.parent, self.rank = list(range(n)), [0] * n
    def find(self, i):
        while self.parent[i] != i:
            self.parent[i] = i = self.parent[self.parent[i]]
        return i
    def union(self, i, j):
        i, j = self.find(i), self.find(j)
        if i == j: return False
        if self.rank[i] < self.rank[j]: i, j = j, i
        self.parent[j] = i; self.rank[i] += self.rank[i] == self.rank[j]
        return True
---
thresholds = []
for seed in seeds:
    order = random.permutation(random.key(seed), size * size).tolist()
    sets, open_ = DisjointSet(size * size + 2), set()
    top, bottom = size * size, size * size + 1
    for count, site in enumerate(order, 1):
        open_.add(site)
        r, c = divmod(site, size)
        if r == 0: sets.union(site, top)
        if r == size - 1: sets.union(site, bottom)
        for rr, cc in ((r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1)):
            if 0 <= rr < size and 0 <= cc < size and rr * size + cc in open_:
                sets.union(site, rr * size + cc)
        if sets.find(top) == sets.find(bottom):
            break
    thresholds.append(count / size**2)
est = jnp.array(thresholds)
mean, half = est.mean(), 1.96 * est.std(ddof=1) / jnp.sqrt(len(est))
print(f"p_c ~ {mean:.3f} ± {half:.3f}")
thresholds, est.weak_type, count, len(sets.parent)
---
seeds = range(5)
---
size = 2; seeds = [7, 8]

### fin-kabsch-icp-nearest-neighbours
theta, iters, noise = 0.3, 3, 0.0
cloud = rs.uniform(-1, 1, size=(7, 2)).astype(np.float32)
---
c, s = math.cos(theta), math.sin(theta)
target = cloud @ np.array([[c, -s], [s, c]], np.float32).T + np.float32(0.1)
target = target + noise * random.normal(random.key(0), target.shape)
moved, total = jnp.asarray(cloud), jnp.eye(3)
log = []
for it in range(iters):
    d2 = ((moved[:, None] - target[None]) ** 2).sum(-1)
    match = d2.argmin(1)
    q = target[match]
    pm, qm = moved.mean(0), q.mean(0)
    U, _, Vt = jnp.linalg.svd((moved - pm).T @ (q - qm))
    sign = jnp.sign(jnp.linalg.det(Vt.T @ U.T))
    R = Vt.T @ jnp.diag(jnp.array([1.0, sign])) @ U.T
    t = qm - R @ pm
    step = jnp.eye(3).at[:2, :2].set(R).at[:2, 2].set(t)
    total = step @ total
    moved = moved @ R.T + t
    log.append((float(jnp.sqrt(d2.min(1).mean())), len(set(match.tolist()))))
angle = jnp.arctan2(total[1, 0], total[0, 0])
print(f"angle {angle:.2f}", "one to one" if log[-1][1] == len(cloud) else "many to one")
total[2].tolist(), moved.dtype, len(log)
---
noise = 0.01
---
theta, iters = -0.2, 2
---
cloud = cloud[:4]

### fin-quaternion-class-slerp-and-euler
@jax.tree_util.register_pytree_node_class
class Quat:
    __slots__ = ("v",)
    def __init__(self, *wxyz): self.v = wxyz[0] if len(wxyz) == 1 else jnp.array(wxyz, jnp.float32)
    def tree_flatten(self): return (self.v,), None
    @classmethod
    def tree_unflatten(cls, _, kids): return cls(*kids)
    def __mul__(self, o):
        a, c = self.v, o.v
        return Quat(jnp.concatenate([(a[0] * c[0] - a[1:] @ c[1:])[None], a[0] * c[1:] + c[0] * a[1:] + jnp.cross(a[1:], c[1:])]))
    def __invert__(self): return Quat(self.v * jnp.array([1, -1, -1, -1]))
    def __abs__(self): return jnp.linalg.norm(self.v)
    def rotate(self, p): return (self * Quat(jnp.concatenate([jnp.zeros(1), p])) * ~self).v[1:]
    @classmethod
    def about(cls, axis, angle):
        axis = jnp.asarray(axis, jnp.float32)
        return cls(jnp.concatenate([jnp.cos(angle / 2)[None], jnp.sin(angle / 2) * axis / jnp.linalg.norm(axis)]))
axis, angle, frames = (0, 0, 1), jnp.pi / 2, 3
---
q0, q1 = Quat(1, 0, 0, 0), Quat.about(axis, jnp.float32(angle))
def slerp(p, q, t):
    d = jnp.clip(p.v @ q.v, -1, 1)
    om = jnp.arccos(jnp.abs(d))
    mix = lambda: Quat((jnp.sin((1 - t) * om) * p.v + jnp.sin(t * om) * jnp.sign(d) * q.v) / jnp.sin(om))
    return mix() if om > 1e-3 else p
orbit = [slerp(q0, q1, t) for t in np.linspace(0, 1, frames)]
points = jnp.stack([q.rotate(jnp.array([1.0, 0.0, 0.0])) for q in orbit])
back = (~q1).rotate(points[-1])
batched = jax.vmap(lambda q, p: q.rotate(p))(jax.tree.map(lambda *v: jnp.stack(v), *orbit), jnp.ones((frames, 3)))
norms = [round(float(abs(q)), 3) for q in orbit]
print(np.array2string(np.asarray(points) + 0.0, precision=2, suppress_small=True))
norms, type(orbit[0]).__name__, batched.shape, orbit[0] is q0
---
angle = 0.0
---
axis = (1, 1, 0); angle = 1.0
---
frames = 2

### fin-ray-marching-spheres-to-text
spheres = [((0.0, 0.0, 3.0), 1.0), ((1.0, 0.5, 4.0), 0.8)]
w, h, max_steps = 10, 6, 12
light = jnp.array([0.5, 1.0, -1.0])
def smooth_min(a, b, k=0.2):
    t = jnp.clip(0.5 + 0.5 * (b - a) / k, 0, 1)
    return b * (1 - t) + a * t - k * t * (1 - t)
union = jnp.minimum
---
def sdf(p):
    return functools.reduce(union, [jnp.linalg.norm(p - jnp.array(c)) - r for c, r in spheres])
def shade(d):
    def cond(s): return (s[1] < max_steps) & (s[2] > 1e-2) & (s[0] < 8)
    def body(s):
        dist = sdf(s[0] * d)
        return s[0] + dist, s[1] + 1, dist
    t, n, dist = lax.while_loop(cond, body, (0.0, 0, 1.0))
    normal = jax.grad(sdf)(t * d)
    lit = jnp.clip(normal @ (light / jnp.linalg.norm(light)), 0, 1)
    return jnp.where(dist <= 1e-2, 0.2 + 0.8 * lit, 0.0), n
ys, xs = jnp.meshgrid(jnp.linspace(0.6, -0.6, h), jnp.linspace(-0.8, 0.8, w), indexing="ij")
dirs = jnp.stack([xs, ys, jnp.ones_like(xs)], -1).reshape(-1, 3)
image, used = jax.jit(jax.vmap(shade))(dirs / jnp.linalg.norm(dirs, axis=-1, keepdims=True))
image = image.reshape(h, w)
art = ["".join("@" if v > 0 else " " for v in row).rstrip() for row in image.tolist()]
print("\n".join(art))
used.dtype, int(used.max()) <= max_steps, image.shape
---
union = smooth_min
---
spheres.append(((-1.0, -0.4, 2.5), 0.3))
---
w, h = 6, 4; light = -light

### fin-seam-carving-rows-removed
img = rs.integers(0, 255, (5, 7)).astype(np.uint8)
remove, energy_kind = 2, "dual"
---
frame, removed = jnp.asarray(img), []
for _ in range(remove):
    g = frame.astype(jnp.float32)
    if energy_kind == "dual":
        e = jnp.abs(jnp.roll(g, 1, 1) - jnp.roll(g, -1, 1)) + jnp.abs(jnp.roll(g, 1, 0) - jnp.roll(g, -1, 0))
    else:
        e = jnp.abs(g - g.mean())
    def down(prev, row):
        pad = jnp.pad(prev, 1, constant_values=jnp.inf)
        choices = jnp.stack([pad[:-2], pad[1:-1], pad[2:]])
        return row + choices.min(0), choices.argmin(0) - 1
    last, back = lax.scan(down, e[0], e[1:])
    j = int(last.argmin())
    seam = [j]
    for row in np.asarray(back)[::-1]:
        j = int(np.clip(j + row[j], 0, frame.shape[1] - 1))
        seam.append(j)
    seam.reverse()
    keep = np.ones(frame.shape, bool)
    keep[np.arange(len(seam)), seam] = False
    frame = frame[keep].reshape(len(seam), -1)
    removed.append(tuple(seam))
assert frame.shape == (img.shape[0], img.shape[1] - remove)
frame.dtype, removed, int(frame.sum())
---
energy_kind = "mean"
---
img = np.tile(np.arange(6, dtype=np.uint8) * 40, (3, 1)); remove = 1

### fin-otsu-histogram-equalised-components
img = np.clip(rs.normal([[60] * 6] * 3 + [[180] * 6] * 3, 15), 0, 255).astype(np.uint8)
equalise, connectivity = False, 4
---
hist = jnp.bincount(jnp.asarray(img).ravel(), length=256)
if equalise:
    cdf = jnp.cumsum(hist)
    low = cdf[jnp.nonzero(cdf)[0][0]]
    lut = jnp.round((cdf - low) / (img.size - low) * 255).clip(0, 255).astype(jnp.uint8)
    work = lut[img]
    hist = jnp.bincount(work.ravel(), length=256)
else:
    work = jnp.asarray(img)
p = hist / hist.sum()
omega, mu = jnp.cumsum(p), jnp.cumsum(p * jnp.arange(256))
between = (mu[-1] * omega - mu) ** 2 / jnp.maximum(omega * (1 - omega), 1e-2)
cut = int(jnp.argmax(jnp.round(between)))
del between, p, omega, mu
mask = np.asarray(work > cut)
steps = [(0, 1), (1, 0), (0, -1), (-1, 0)] + ([(1, 1), (-1, -1), (1, -1), (-1, 1)] if connectivity == 8 else [])
comp, label = np.zeros(mask.shape, int), 0
for start in zip(*np.nonzero(mask)):
    if comp[start]: continue
    label += 1
    todo = [start]
    while todo:
        r, c = todo.pop()
        if 0 <= r < mask.shape[0] and 0 <= c < mask.shape[1] and mask[r, c] and not comp[r, c]:
            comp[r, c] = label
            todo += [(r + dr, c + dc) for dr, dc in steps]
areas = jnp.bincount(jnp.asarray(comp.ravel()), length=label + 1)[1:]
print(f"cut {cut}, {label} components, areas {areas.tolist()}")
work.dtype, hist.dtype, areas
---
equalise = True
---
img[0, 0] = 255
---
img[1, 1] = 250; connectivity = 8; equalise = False

### fin-haar-wavelet-denoise-roundtrip
n, keep, soft = 16, 0.5, True
signal = np.where(np.arange(16) < 8, 1.0, -1.0).astype(np.float32) + 0.1 * rs.normal(size=16).astype(np.float32)
---
def forward(v):
    details = []
    while v.size > 1:
        even, odd = v[::2], v[1::2]
        details.append((even - odd) / math.sqrt(2))
        v = (even + odd) / math.sqrt(2)
    return v, details[::-1]
def inverse(v, details):
    for d in details:
        v = jnp.stack([(v + d), (v - d)], 1).ravel() / math.sqrt(2)
    return v
approx, details = forward(jnp.asarray(signal))
sigma = jnp.median(jnp.abs(details[-1])) / 0.6745
thr = keep * sigma * math.sqrt(2 * math.log(n))
if soft:
    shrunk = [jnp.sign(d) * jnp.maximum(jnp.abs(d) - thr, 0) for d in details]
else:
    shrunk = [jnp.where(jnp.abs(d) > thr, d, 0) for d in details]
clean = inverse(approx, shrunk)
perfect = jnp.allclose(inverse(approx, details), signal, atol=1e-4)
zeros = sum(int((d == 0).sum()) for d in shrunk)
tv = lambda v: jnp.abs(jnp.diff(v)).sum()
print([d.size for d in details], bool(perfect), tv(clean) <= tv(signal) + 1e-4)
zeros > 0, clean.shape
---
soft = False
---
keep = 0.0
---
signal = np.resize(signal, 8); n = 8; keep = 2.0

### fin-garch-likelihood-fitted-by-newton
returns = (rs.normal(size=20) * 0.5).astype(np.float32)
iters, lag = 3, 1
names = ("omega", "alpha", "beta")
---
def unpack(raw):
    e = jax.nn.softmax(jnp.append(raw[1:], 0.0))
    return dict(zip(names, (jnp.exp(raw[0]), e[0], e[1])))
def negloglik(raw):
    p = unpack(raw)
    def step(h, r):
        new = p["omega"] + p["alpha"] * r ** 2 + p["beta"] * h
        return new, h
    _, hs = lax.scan(step, returns.var(), returns)
    hs = hs[lag:]
    return 0.5 * jnp.mean(jnp.log(hs) + returns[lag:] ** 2 / hs)
raw, trace, damp = jnp.array([-2.0, -1.0, 1.0]), [], 1e-1
for i in range(iters):
    val, g = jax.value_and_grad(negloglik)(raw)
    H = jax.hessian(negloglik)(raw) + damp * jnp.eye(3)
    step = jnp.linalg.solve(H, g)
    t = 1.0
    while t > 0.05 and not negloglik(raw - t * step) < val:
        t /= 2
    raw = raw - t * step
    trace.append((float(val), t))
fit = {k: float(v) for k, v in unpack(raw).items()}
persistence = fit["alpha"] + fit["beta"]
print(" ".join(fit), f"{persistence < 1}")
len(trace), raw.shape, all(isinstance(t, float) for _, t in trace)
---
lag = 2
---
returns = returns * 2; iters = 2

### fin-nelson-siegel-curve-and-bond-durations
tenors = {"3M": 0.25, "2Y": 2.0, "5Y": 5.0, "10Y": 10.0}
quotes = dict(zip(tenors, [0.051, 0.045, 0.041, 0.042]))
lam, bonds = 0.5, [(3, 0.04), (5, 0.05)]
---
tau = jnp.array([tenors[k] for k in quotes])
q = jnp.array(list(quotes.values()))
def loadings(t, lam):
    z = lam * t
    slope = jnp.where(z > 1e-6, -jnp.expm1(-z) / z, 1.0)
    return jnp.stack([jnp.ones_like(t), slope, slope - jnp.exp(-z)], -1)
beta, resid, rank, sv = jnp.linalg.lstsq(loadings(tau, lam), q)
def price(bump, years, coupon):
    t = jnp.arange(1, years + 1, dtype=jnp.float32)
    y = loadings(t, lam) @ beta + bump
    flows = jnp.full(years, coupon).at[-1].add(1.0)
    return jnp.sum(flows * jnp.exp(-y * t))
book = []
for years, coupon in bonds:
    p, d = jax.value_and_grad(price)(0.0, years, coupon)
    conv = jax.grad(jax.grad(price))(0.0, years, coupon) / p
    book.append({"years": years, "price": p, "duration": -d / p, "convexity": conv})
for row in book:
    print(f"{row['years']:>3d}y {row['price'] * 100:7.2f} {row['duration']:5.2f}")
total = sum(r["price"] for r in book)
int(rank), resid.shape, beta.dtype, total
---
lam = 1.2
---
quotes["2Y"] = 0.06; bonds.append((1, 0))
---
del quotes["3M"]

### fin-fista-lasso-path-with-warm-starts
D = rs.normal(size=(12, 6)).astype(np.float32); D /= np.linalg.norm(D, axis=0)
w_true = np.array([2, 0, -1, 0, 0, 0.5], np.float32); obs = D @ w_true
lams, accelerate = [0.5, 0.1], True
---
Lip = float(np.linalg.norm(D, 2) ** 2)
grad = jax.grad(lambda w: 0.5 * jnp.sum((D @ w - obs) ** 2))
def solve(w, lam, iters=15):
    z, tk = w, 1.0
    for _ in range(iters):
        v = z - grad(z) / Lip
        new = jnp.sign(v) * jnp.maximum(jnp.abs(v) - lam / Lip, 0)
        if accelerate:
            tn = (1 + math.sqrt(1 + 4 * tk ** 2)) / 2
            z, tk = new + (tk - 1) / tn * (new - w), tn
        else:
            z = new
        w = new
    return w
path, w = {}, jnp.zeros(D.shape[1])
for lam in sorted(lams, reverse=True):
    w = path[lam] = solve(w, lam)
active = {lam: np.flatnonzero(np.abs(np.asarray(v)) > 1e-2).tolist() for lam, v in path.items()}
kkt = max(float(jnp.abs(grad(v)).max() - lam) for lam, v in path.items())
print(*(f"{lam:g}: {len(a)}" for lam, a in active.items()))
w is path[min(lams)], kkt < 0.5, list(path)
---
accelerate = False
---
lams.append(0.02)
---
obs = obs * 0

### fin-simplex-free-mirror-descent-game
payoff = jnp.array([[0.0, -1, 1], [1, 0, -1], [-1, 1, 0]])
rounds, eta, optimistic = 6, 0.3, False
x0 = jnp.array([0.6, 0.3, 0.1]); y0 = jnp.array([0.2, 0.2, 0.6])
---
p, q = x0, y0
avg_p, avg_q = jnp.zeros(3), jnp.zeros(3)
last = (jnp.zeros(3), jnp.zeros(3))
gaps = []
for t in range(1, rounds + 1):
    gp, gq = payoff @ q, -(payoff.T @ p)
    up, uq = ((2 * g - l if optimistic else g) for g, l in zip((gp, gq), last))
    last = gp, gq
    p = p * jnp.exp(eta * up); p /= p.sum()
    q = q * jnp.exp(eta * uq); q /= q.sum()
    avg_p += (p - avg_p) / t
    avg_q += (q - avg_q) / t
    gaps.append((payoff @ avg_q).max() - (avg_p @ payoff).min())
names = np.array(["rock", "paper", "scissors"])
print("gap", *(f"{g:.2f}" for g in gaps[::3]))
entropy = -jnp.sum(avg_p * jnp.log(avg_p))
dict(zip(names.tolist(), [f"{v:.1f}" for v in avg_p])), x0 is p, entropy
---
optimistic = True
---
payoff = payoff.at[0, 2].set(3)
---
rounds = 0; gaps = []

### fin-parallel-tempering-swaps-bookkeeping
temps = [1.0, 3.0, 9.0]
steps, swap_every, seed = 6, 2, 0
def energy(x): return (x ** 2 - 4) ** 2 / 8
---
key = random.key(seed)
T = jnp.array(temps)
x = jnp.zeros(len(temps))
ladder, accepts, swaps = list(range(len(temps))), np.zeros(len(temps), int), []
cold = []
for s in range(steps):
    key, k1, k2, k3 = random.split(key, 4)
    prop = x + random.normal(k1, x.shape) * jnp.sqrt(T)
    accept = jnp.log(random.uniform(k2, x.shape)) < (energy(x) - energy(prop)) / T
    x = jnp.where(accept, prop, x)
    accepts += np.asarray(accept)
    if s % swap_every == swap_every - 1:
        i = (s // swap_every) % (len(temps) - 1)
        delta = (1 / T[i] - 1 / T[i + 1]) * (energy(x[i]) - energy(x[i + 1]))
        if jnp.log(random.uniform(k3)) < delta:
            x = x.at[jnp.array([i, i + 1])].set(x[jnp.array([i + 1, i])])
            ladder[i], ladder[i + 1] = ladder[i + 1], ladder[i]
            swaps.append((s, i))
    cold.append(x[0])
cold = jnp.stack(cold)
rate = accepts / steps
print("ladder", ladder, "rates", rate.round(2))
accepts.dtype, cold.shape, sorted(ladder) == list(range(len(temps)))
---
seed = 1
---
temps.append(20.0); swap_every = 1
---
def energy(x): return jnp.abs(x)

### fin-pava-isotonic-and-loess-smoothers
xs = np.sort(rs.uniform(0, 3, 10)).astype(np.float32)
ys = (xs + 0.3 * rs.normal(size=10)).astype(np.float32)
wts, span = np.ones(10), 0.5
---
blocks = []
for v, w in zip(ys.tolist(), wts.tolist()):
    blocks.append([v, w, 1])
    while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
        v2, w2, n2 = blocks.pop()
        v1, w1, n1 = blocks.pop()
        blocks.append([(v1 * w1 + v2 * w2) / (w1 + w2), w1 + w2, n1 + n2])
iso = jnp.repeat(jnp.array([v for v, *_ in blocks]), np.array([n for *_, n in blocks]))
def loess(t):
    d = jnp.abs(xs - t)
    h = jnp.sort(d)[max(2, int(span * len(xs))) - 1]
    k = jnp.clip(1 - (d / h) ** 3, 0) ** 3
    M = jnp.stack([jnp.ones_like(xs), xs - t], 1)
    return jnp.linalg.solve(M.T @ (M * k[:, None]) + 1e-6 * jnp.eye(2), M.T @ (k * ys))[0]
smooth = jax.vmap(loess)(jnp.asarray(xs))
err = {"iso": jnp.mean((iso - ys) ** 2), "loess": jnp.mean((smooth - ys) ** 2)}
assert (np.diff(np.asarray(iso)) >= 0).all()
print(len(blocks), [n for *_, n in blocks])
iso.shape, iso.dtype, {k: f"{v:.2f}" for k, v in err.items()}
---
ys = ys[::-1].copy()
---
span = 0.9; wts[0] = 5
---
xs, ys, wts = xs[:5], np.sort(ys)[:5], wts[:5]

### fin-ransac-and-huber-irls
px = np.linspace(0, 1, 12, dtype=np.float32)
py = 2 * px - 0.5 + 0.02 * rs.normal(size=12).astype(np.float32); py[[2, 9]] += 3
trials, tol, delta = 5, 0.1, 0.1
---
M = jnp.stack([jnp.asarray(px), jnp.ones(len(px))], 1)
best, best_inliers = None, frozenset()
for trial in range(trials):
    i, j = random.choice(random.key(trial), len(px), (2,), replace=False).tolist()
    if px[i] == px[j]:
        continue
    line = jnp.linalg.solve(M[jnp.array([i, j])], jnp.array([py[i], py[j]]))
    inliers = frozenset(np.flatnonzero(np.asarray(jnp.abs(M @ line - py) < tol)).tolist())
    if len(inliers) > len(best_inliers):
        best, best_inliers = line, inliers
sel = np.array(sorted(best_inliers))
refit, *_ = jnp.linalg.lstsq(M[sel], py[sel])
theta = jnp.linalg.lstsq(M, py)[0]
for it in range(6):
    r = jnp.abs(M @ theta - py)
    w = jnp.where(r <= delta, 1.0, delta / r)
    new = jnp.linalg.solve(M.T @ (w[:, None] * M), M.T @ (w * py))
    moved, theta = float(jnp.abs(new - theta).max()), new
    if moved < 1e-3:
        break
outliers = sorted(set(range(len(px))) - best_inliers)
print("outliers", outliers, "slope", f"{refit[0]:.1f}")
len(best_inliers), w.shape, theta
---
tol = 10.0
---
delta = 5.0; trials = 2
---
py[[0, 1, 3]] -= 2; tol = 0.1; trials = 8

### fin-complex-step-richardson-x64 x64
def f(z): return jnp.exp(z) / jnp.sqrt(jnp.sin(z) ** 3 + jnp.cos(z) ** 3)
at, order = 1.5, 3
---
exact = jax.grad(f)(at)
complex_step = f(jnp.asarray(at, complex) + 1e-30j).imag / 1e-30
table = [[None] * order for _ in range(order)]
for i in range(order):
    h = 0.1 / 2**i
    table[i][0] = (f(at + h) - f(at - h)) / (2 * h)
    for j in range(1, i + 1):
        table[i][j] = table[i][j - 1] + (table[i][j - 1] - table[i - 1][j - 1]) / (4**j - 1)
errs = [round(abs(float(row[i] - exact)), 3) for i, row in enumerate(table)]
digits = [min(15, int(-math.log10(e + 1e-16))) for e in errs[:2]]
forward32 = (f(jnp.float32(at + 0.25)) - f(jnp.float32(at))) / jnp.float32(0.25)
mixed = forward32 + exact
for row in table:
    print(*("%.4f" % v for v in row if v is not None))
complex_step.dtype, forward32.dtype, mixed.dtype, exact.weak_type, bool(abs(complex_step - exact) < 1e-12), digits
---
order = 4
---
at = jnp.float32(1.5)
---
at = 1; f = jnp.tanh

### fin-kahan-neumaier-and-two-sum-halves
dtype, n = jnp.float16, 40
vals = np.array([1.0] + [0.0003] * 39)
def two_sum(a, c):
    s = a + c
    bb = s - a
    return s, (a - (s - bb)) + (c - bb)
---
data = jnp.asarray(vals[:n], dtype)
naive = data[0]
for v in data[1:]:
    naive = naive + v
s, comp = data[0], jnp.zeros((), dtype)
for v in data[1:]:
    s, e = two_sum(s, v)
    comp = comp + e
kahan = s + comp
def pairwise(v):
    return v[0] if v.size == 1 else pairwise(v[: v.size // 2]) + pairwise(v[v.size // 2:])
pair = pairwise(data)
ref = math.fsum(np.asarray(data, np.float64).tolist())
info = jnp.finfo(dtype)
ulps = {k: round(abs(float(v) - ref) / float(info.eps)) for k, v in {"naive": naive, "kahan": kahan, "pair": pair}.items()}
print({k: v <= 50 for k, v in ulps.items()}, info.bits)
naive.dtype, kahan.dtype, pair.dtype
---
dtype = jnp.float32
---
n = 17

### fin-sieve-modpow-and-number-theoretic-transform
limit, mod, root = 60, 17, 3
poly_a, poly_b = [1, 2, 3], [4, 5]
---
is_prime = jnp.ones(limit, bool).at[:2].set(False)
for d in range(2, math.isqrt(limit - 1) + 1):
    if is_prime[d]:
        is_prime = is_prime.at[d * d::d].set(False)
primes = jnp.flatnonzero(is_prime)
size = 1 << (len(poly_a) + len(poly_b) - 2).bit_length()
w = pow(root, (mod - 1) // size, mod)
powers = jnp.array([[pow(w, i * j, mod) for j in range(size)] for i in range(size)])
inverse = jnp.array([[pow(w, -i * j, mod) for j in range(size)] for i in range(size)])
fa, fb = (powers @ jnp.array(p + [0] * (size - len(p))) % mod for p in (poly_a, poly_b))
prod = inverse @ (fa * fb % mod) % mod * pow(size, -1, mod) % mod
check = np.convolve(poly_a, poly_b) % mod
def modpow(base, e):
    def body(c):
        r, base, e = c
        return jnp.where(e & 1, r * base % mod, r), base * base % mod, e >> 1
    return lax.while_loop(lambda c: c[2] > 0, body, (jnp.int32(1), jnp.int32(base), jnp.int32(e)))[0]
little = jax.vmap(lambda a: modpow(a, mod - 1))(jnp.arange(1, mod))
print(len(primes), primes[-1], prod.tolist())
(prod[: len(check)] == check).all(), bool((little == 1).all()), is_prime.sum()
---
poly_b = [1, 1, 1, 1]
---
limit, mod, root = 30, 97, 5

### fin-elo-and-bradley-terry-ratings
games = [("ann", "bob"), ("bob", "cy"), ("ann", "cy"), ("cy", "ann"), ("ann", "bob")]
k, prior, elo = 32.0, 0.1, collections.defaultdict(lambda: 1500.0)
---
for win, lose in games:
    expected = 1 / (1 + 10 ** ((elo[lose] - elo[win]) / 400))
    change = k * (1 - expected)
    elo[win] += change; elo[lose] -= change
names = sorted({n for g in games for n in g})
ids = jnp.array([[names.index(n) for n in g] for g in games])
def nll(s):
    return jnp.sum(jnp.logaddexp(0, s[ids[:, 1]] - s[ids[:, 0]])) + prior * jnp.sum(s ** 2)
s = jnp.zeros(len(names))
for _ in range(4):
    s = s - jnp.linalg.solve(jax.hessian(nll)(s), jax.grad(nll)(s))
cov = jnp.linalg.inv(jax.hessian(nll)(s))
stderr = jnp.sqrt(jnp.diag(cov))
p_win = jax.nn.sigmoid(s[:, None] - s[None])
ranking = sorted(((round(v, 2) + 0.0, n) for v, n in zip(s.tolist(), names)), reverse=True)
for score, name in ranking:
    print(f"{name:<4s}{elo[name]:8.1f}{score:7.2f}")
sum(elo.values()), p_win.shape, type(elo["ann"]), jnp.diag(p_win)
---
games.append(("dee", "ann"))
---
elo.clear(); k = 16
---
prior = 1.0; games = games[-3:]

### fin-mcts-ucb-tree-on-nim
@dataclasses.dataclass
class Node:
    stones: int
    player: int
    parent: "Node | None" = None
    move: int = 0
    visits: int = 0
    wins: float = 0.0
    children: list = dataclasses.field(default_factory=list)
    @property
    def untried(self):
        done = {c.move for c in self.children}
        return [m for m in (1, 2, 3) if m <= self.stones and m not in done]
stones, playouts, c_ucb = 5, 12, 1.4
---
root = Node(stones, 0)
for it in range(playouts):
    node, key = root, random.fold_in(random.key(1), it)
    while not node.untried and node.children:
        q = jnp.array([ch.wins / ch.visits for ch in node.children])
        u = c_ucb * jnp.sqrt(jnp.log(node.visits) / jnp.array([ch.visits for ch in node.children]))
        node = node.children[int(jnp.argmax(jnp.round(q + u, 3)))]
    if node.untried:
        m = node.untried[0]
        node.children.append(Node(node.stones - m, 1 - node.player, node, m))
        node = node.children[-1]
    left, player = node.stones, node.player
    for d in random.randint(key, (stones,), 1, 4).tolist():
        if left <= 0: break
        left -= min(d, left); player = 1 - player
    winner = 1 - player
    while node is not None:
        node.visits += 1
        node.wins += winner != node.player
        node = node.parent
visits = jnp.array([ch.visits for ch in root.children])
policy = visits / visits.sum()
best = root.children[int(visits.argmax())].move
print({ch.move: ch.visits for ch in root.children}, "best", best)
root.visits, policy, root.children[0].parent is root
---
playouts = 5
---
stones = 2
---
c_ucb = 0.0; stones, playouts = 4, 8

### fin-levenberg-marquardt-damped-fit
tt = np.linspace(0, 2, 10, dtype=np.float32)
yy = 2.0 * np.exp(-1.3 * tt) + 0.3
model = lambda p, t: p[0] * jnp.exp(-p[1] * t) + p[2]
p0, max_it, lam0 = [1.0, 1.0, 0.0], 8, 1e-2
---
resid = lambda p: model(p, tt) - yy
jac = jax.jit(jax.jacfwd(resid))
p, lam = jnp.array(p0), lam0
cost = jnp.sum(resid(p) ** 2)
report = []
for it in range(max_it):
    J, r = jac(p), resid(p)
    A_ = J.T @ J
    step = jnp.linalg.solve(A_ + lam * jnp.diag(jnp.diag(A_) + 1e-6), J.T @ r)
    trial = jnp.sum(resid(p - step) ** 2)
    if trial < cost:
        p, cost, lam, tag = p - step, trial, lam / 3, "ok"
    else:
        lam, tag = lam * 2, "no"
    report.append(tag)
    if cost < 1e-4:
        break
else:
    report.append("limit")
cov = jnp.linalg.inv(jac(p).T @ jac(p) + 1e-6 * jnp.eye(len(p0)))
print(it + 1, report[0], "converged" if report[-1] != "limit" else "limit")
type(lam), p.shape, cov.shape, jnp.round(p, 1)
---
lam0 = 10.0
---
yy = yy + 1; p0 = [1.0, 0.5, 1.0]
---
model = lambda p, t: p[0] / (1 + p[1] * t); p0 = [2.0, 1.0]; max_it = 3

### fin-slice-sampler-stepping-out
def logp(x): return -0.5 * x * x - jnp.log1p(jnp.exp(-3 * x))
width, n, seed = 1.0, 4, 0
---
key = random.key(seed)
x, draws, evals = jnp.float32(0.5), [], 0
def f(v):
    global evals
    evals += 1
    return logp(v)
for i in range(n):
    key, *ks = random.split(key, 4)
    level = f(x) + jnp.log(random.uniform(ks[0]))
    left = x - width * random.uniform(ks[1])
    right = left + width
    while f(left) > level:
        left = left - width
    while f(right) > level:
        right = right + width
    for shrink in itertools.count():
        cand = left + random.uniform(random.fold_in(ks[2], shrink)) * (right - left)
        if f(cand) > level:
            break
        left, right = (cand, right) if cand < x else (left, cand)
    x = cand
    draws.append(x)
sample = jnp.stack(draws)
ecdf = jnp.sort(sample), jnp.arange(1, n + 1) / n
print(f"{n} draws", evals > 4 * n, f"{float(sample.mean()):.2f}")
x is draws[-1], sample.dtype, ecdf[1]
---
width = 0.2
---
def logp(x): return -jnp.abs(x)
---
seed, n = 9, 2

### fin-laplace-of-graph-spectral-partition
nodes = ["a", "b", "c", "d", "e", "f"]
links = {("a", "b"), ("b", "c"), ("a", "c"), ("d", "e"), ("e", "f"), ("d", "f"), ("c", "d")}
normalised = False
---
W = jnp.zeros((len(nodes),) * 2)
for u, v in sorted(links):
    W = W.at[nodes.index(u), nodes.index(v)].set(1).at[nodes.index(v), nodes.index(u)].set(1)
deg = W.sum(1)
Lap = jnp.diag(deg) - W
if normalised:
    inv = jnp.where(deg > 0, 1 / jnp.sqrt(deg), 0)
    Lap = inv[:, None] * Lap * inv
vals, vecs = jnp.linalg.eigh(Lap)
fiedler = vecs[:, 1] * jnp.sign(vecs[0, 1])
groups = collections.defaultdict(set)
for n, v in zip(nodes, fiedler.tolist()):
    groups[v >= 0].add(n)
cut = [e for e in sorted(links) if (e[0] in groups[True]) != (e[1] in groups[True])]
m2 = W.sum()
side = jnp.where(fiedler >= 0, 1.0, -1.0)
modularity = (side @ (W - jnp.outer(deg, deg) / m2) @ side) / (2 * m2)
trees = round(float(jnp.linalg.det((jnp.diag(deg) - W)[1:, 1:])))
print(sorted(map(sorted, groups.values())), cut, f"{modularity:.2f}")
trees, vals.shape, int((vals < 1e-3).sum())
---
normalised = True
---
links.discard(("e", "f"))
---
nodes.append("g"); links |= {("f", "g"), ("e", "g")}

### fin-bspline-basis-recursion-memoised
degree, ctrl = 2, [0.0, 1.0, 0.5, 2.0, 1.0]
---
knots = tuple([0.0] * degree + np.linspace(0, 1, len(ctrl) - degree + 1).tolist() + [1.0] * degree)
calls = 0
@functools.cache
def basis(i, k):
    global calls
    calls += 1
    if k == 0:
        lo, hi = knots[i], knots[i + 1]
        return lambda t: ((t >= lo) & (t < hi)).astype(jnp.float32)
    def b_ik(t, i=i, k=k):
        out = jnp.zeros_like(t)
        if (d := knots[i + k] - knots[i]) > 0:
            out = out + (t - knots[i]) / d * basis(i, k - 1)(t)
        if (d := knots[i + k + 1] - knots[i + 1]) > 0:
            out = out + (knots[i + k + 1] - t) / d * basis(i + 1, k - 1)(t)
        return out
    return b_ik
t = jnp.linspace(0, 0.999, 7)
B = jnp.stack([basis(i, degree)(t) for i in range(len(ctrl))], 1)
curve = B @ jnp.array(ctrl)
ones = B.sum(1)
info = basis.cache_info()
slope = jax.vmap(jax.grad(lambda u: sum(c * basis(i, degree)(u) for i, c in enumerate(ctrl))))(t)
coef, *_ = jnp.linalg.lstsq(B, curve)
print(info.misses == calls, info.currsize, jnp.abs(ones - 1).max() < 1e-4)
B.shape, curve.dtype, len(knots), slope.shape
---
degree = 1
---
ctrl = [1, 2, 3, 4]; degree = 3

### fin-numpy-strided-windows-fed-to-jax
series = np.cumsum(rs.normal(size=14)).astype(np.float32)
window, hop, taper = 4, 2, "hann"
---
view = np.lib.stride_tricks.sliding_window_view(series, window)[::hop]
weights = {"hann": np.hanning(window), "none": np.ones(window)}[taper].astype(np.float32)
spec = jnp.abs(jnp.fft.rfft(view * weights, axis=1)) ** 2
freqs = jnp.fft.rfftfreq(window)
centroid = (spec * freqs).sum(1) / jnp.maximum(spec.sum(1), 1e-6)
series[:2] += 0
recon, norm = np.zeros_like(series), np.zeros_like(series)
for r, frame in enumerate(np.asarray(jnp.fft.irfft(jnp.fft.rfft(view * weights, axis=1), n=window, axis=1))):
    recon[r * hop:r * hop + window] += frame
    norm[r * hop:r * hop + window] += weights
covered = norm > 1e-3
err = np.abs(recon[covered] / norm[covered] - series[covered]).max()
levels = np.digitize(np.asarray(centroid), [0.1, 0.2])
print("".join(" .*"[i] for i in levels), err < 1e-3)
view.flags.writeable, view.base is not None, spec.shape, covered.sum(), np.shares_memory(view, series)
---
taper = "none"
---
series[5:9] = 0.0
---
window, hop = 6, 3; series = series[::2]

### fin-structured-results-table-sorted-and-filtered
cases = np.zeros(4, dtype=[("name", "U6"), ("n", "i4"), ("err", "f4"), ("ok", "?")])
cases["name"] = ["trap", "simp", "gauss", "mc"]; cases["n"] = [8, 8, 3, 16]
fn, lo, hi = jnp.sin, 0.0, 2.0
---
def trap(n):
    x = jnp.linspace(lo, hi, n + 1)
    return jnp.trapezoid(fn(x), x)
def simp(n):
    x = jnp.linspace(lo, hi, n + 1)
    w = jnp.ones(n + 1).at[1:-1:2].set(4).at[2:-1:2].set(2)
    return (hi - lo) / n / 3 * w @ fn(x)
def gauss(n):
    t, w = np.polynomial.legendre.leggauss(n)
    return jnp.sum(jnp.asarray(w, jnp.float32) * fn((hi - lo) / 2 * jnp.asarray(t, jnp.float32) + (hi + lo) / 2)) * (hi - lo) / 2
def mc(n):
    u = (jnp.arange(n) + random.uniform(random.key(0), (n,))) / n
    return (hi - lo) * fn(lo + (hi - lo) * u).mean()
exact = math.cos(lo) - math.cos(hi)
for row in cases:
    val = globals()[str(row["name"])](int(row["n"]))
    row["err"] = round(abs(float(val) - exact), 3)
    row["ok"] = row["err"] < 0.01
order = np.argsort(cases, order=["err", "name"])
good = cases[cases["ok"]]
for name, n, err, ok in cases[order].tolist():
    print(f"{name:>6s} {n:>3d} {err:.3f} {'yes' if ok else 'no'}")
best = cases[order[0]]["name"]
type(best), good.dtype.names, jnp.asarray(cases["err"]).max(), len(good)
---
hi = 3.0
---
cases["n"] *= 2
---
fn = lambda v: jnp.sin(v) * jnp.ones_like(v); cases = cases[:2].copy()
""",
)
