"""Numerical work of many fields, with the functions of JAX and NumPy that the other themes seldom have."""

from ..cell import written

PRELUDE = """
import collections, functools, itertools, math, random, statistics
from functools import partial
from typing import NamedTuple
import numpy as np
import scipy
import jax
import jax.numpy as jnp
import jax.scipy as jsp
from jax import lax, random as jr
"""

CELLS = written(
    PRELUDE,
    r"""
### va-dirichlet-multinomial-topic-counts-by-sweeps
alpha = jnp.ones(3) * 0.5; docs = [[0, 1, 1], [2, 2], [0, 2, 3, 3]]; V = 4
key = jr.key(5)
---
theta = jr.dirichlet(key, alpha, (len(docs),))
counts = np.zeros((3, V), int)
assign = []
for d, words in enumerate(docs):
    for i, w in enumerate(words):
        z = int(jr.categorical(jr.fold_in(key, 10 * d + i), jnp.log(theta[d])))
        counts[z, w] += 1
        assign.append((d, w, z))
phi = jr.gamma(key, counts + 1.0)
phi = phi / phi.sum(1, keepdims=True)
print(counts.sum(), len(assign), counts.dtype, type(phi).__name__)
phi.max(1)
---
docs.append([1, 1, 1])
---
alpha = alpha.at[0].set(8.0)

### va-random-families-table-binomial-poisson-ball-orthogonal
key = jr.key(11); n = 5
draws = {"binomial": partial(jr.binomial, n=10, p=0.3), "poisson": partial(jr.poisson, lam=2.5),
         "ball": partial(jr.ball, d=2), "rademacher": jr.rademacher, "maxwell": jr.maxwell, "t": partial(jr.t, df=4.0),
         "weibull": partial(jr.weibull_min, scale=1.0, concentration=2.0)}
---
table = {}
for k, (name, f) in zip(jr.split(key, len(draws)), draws.items()):
    s = f(k, shape=(n,))
    table[name] = (s.dtype.name, s.shape, s.mean())
Q = jr.orthogonal(key, 3)
print({k: v[:2] for k, v in table.items()})
jnp.abs(Q @ Q.T - jnp.eye(3)).max() < 1e-4, table["t"][2], table["poisson"][2]
---
n = 3
---
del draws["ball"]

### va-histogram2d-and-digitize-joint-entropy
xy = jr.normal(jr.key(0), (60, 2)) @ jnp.array([[1.0, 0.6], [0.0, 0.8]]); bins = 4
---
H, xe, ye = jnp.histogram2d(xy[:, 0], xy[:, 1], bins=bins)
P = H / H.sum()
px, py = P.sum(1), P.sum(0)
mi = jnp.sum(jnp.where(P > 0, P * jnp.log(P / (px[:, None] * py)), 0.0))
idx = jnp.digitize(xy[:, 0], xe[1:-1])
cond = [xy[idx == b, 1].mean() for b in range(bins)]
print(H.shape, idx.dtype, int(H.max()), [bool(jnp.isnan(c)) for c in cond])
mi, jnp.stack(cond)
---
bins = 5
---
xy = xy[:30]

### va-apply-along-axis-over-axes-and-piecewise-select
A = jnp.arange(12.0).reshape(3, 4) - 5
---
med = jnp.apply_along_axis(lambda r: jnp.sort(r)[1:-1].mean(), 1, A)
tot = jnp.apply_over_axes(jnp.sum, A, [0, 1])
pw = jnp.piecewise(A[0], [A[0] < -3, A[0] >= -3], [lambda v: -v, 7.0])
se = jnp.select([A > 3, A < 0], [A, -A], default=jnp.inf)
ch = jnp.choose(jnp.array([0, 2, 1, 0]), list(A))
print(tot.shape, med.dtype, float(pw[-1]), jnp.isinf(se).sum())
med, ch
---
A = A.astype(jnp.int32)
---
A = A.T[:, ::-1][:3] if A.T.shape[1] > 2 else A

### va-insert-delete-trim-and-pad-a-growing-knot-vector
knots = jnp.linspace(0.0, 1.0, 4); new = [0.1, 0.5, 0.5]
---
k = knots
for t in new:
    i = int(jnp.searchsorted(k, t))
    k = jnp.insert(k, i, t)
u, cnt = jnp.unique(k, return_counts=True)
k2 = jnp.delete(k, jnp.array([0, -1]))
padded = jnp.pad(k2, (2, 2), mode="edge")
tz = jnp.trim_zeros(jnp.concatenate([jnp.zeros(2), k]))
print(k.shape, cnt.tolist(), tz.shape, padded[:3].tolist())
jnp.diff(padded).max()
---
new.append(0.9)
---
knots = jnp.array([0.0, 2.0])

### va-polynomial-roots-fit-and-companion-eigenvalues
c = jnp.array([1.0, -6.0, 11.0, -6.0])
---
r = jnp.roots(c, strip_zeros=False)
real = jnp.sort(r.real)
back = jnp.poly(real)
d = jnp.polyder(c)
i = jnp.polyint(d, k=c[-1])
q, rem = jnp.polydiv(c, jnp.array([1.0, -1.0]), trim_leading_zeros=False)
print(r.dtype, q.shape, jnp.allclose(i, c), bool(jnp.allclose(back, c, atol=1e-2)))
real, jnp.polyval(d, real), rem.dtype
---
c = jnp.array([2.0, -3.0, 1.0])

### va-jsp-optimize-minimize-rosenbrock-with-args-and-status tolerance=1e-2
def rosen(x, a): return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (a - x[:-1]) ** 2)
import jax.scipy.optimize as jso
x0 = jnp.array([0.5, 0.2]); a = 1.0
---
res = jso.minimize(rosen, x0, args=(a,), method="BFGS", tol=1e-3, options={"maxiter": 40})
ok = bool(res.success)
H = jax.hessian(rosen)(res.x, a)
ev = jnp.linalg.eigvalsh(H)
print(ok, res.x.shape, type(res).__name__, int(res.nit) > 5, bool((ev > 0).all()))
jnp.round(res.x, 2)
---
a = 0.8
---
x0 = jnp.zeros(2)

### va-fftconvolve-matched-filter-and-parabolic-peak
sig = jnp.zeros(64).at[20:28].set(jnp.hanning(8)).at[45:53].add(0.5 * jnp.hanning(8)); tmpl = jnp.hanning(8); thr = 0.6
---
mf = jsp.signal.fftconvolve(sig, tmpl[::-1], mode="same")
cor = jsp.signal.correlate(sig, tmpl, mode="valid")
peaks = []
for i in range(1, len(mf) - 1):
    if mf[i] > thr and mf[i] >= mf[i - 1] and mf[i] > mf[i + 1]:
        off = 0.5 * (mf[i - 1] - mf[i + 1]) / (mf[i - 1] - 2 * mf[i] + mf[i + 1])
        peaks.append((i, off))
print([p[0] for p in peaks], int(jnp.argmax(cor)), cor.shape)
jnp.array([mf[i] for i, _ in peaks])
---
thr = 2.0
---
sig = sig + 0.05 * jnp.cos(jnp.arange(64.0))

### va-welch-detrend-and-spectral-slope-loglog tolerance=1e-4
t = jnp.arange(256) / 64.0; x = jnp.sin(2 * jnp.pi * 8 * t) + 0.3 * t + 0.1 * jr.normal(jr.key(2), t.shape)
---
d = jsp.signal.detrend(x)
f, P = jsp.signal.welch(d, fs=64.0, nperseg=64)
peak = f[jnp.argmax(P)]
sel = (f > 12) & (f < 30)
slope, icpt = np.polyfit(np.log(f[sel]), np.log(P[sel]), 1)
trap = jnp.trapezoid(P, f)
print(float(peak), sel.sum(), type(slope).__name__, abs(slope) < 3)
trap, peak
---
x = jnp.cos(2 * jnp.pi * 4 * t) + 0.2 * jr.normal(jr.key(9), t.shape)

### va-lax-sort-multi-operand-and-lexicographic-ranks
g = jnp.array([2, 1, 2, 1, 0]); s = jnp.array([0.5, 0.1, 0.2, 0.9, 0.3]); ids = jnp.arange(5)
---
gs, ss, order = lax.sort((g, -s, ids), dimension=0, num_keys=2)
starts = jnp.flatnonzero(jnp.diff(gs, prepend=-1))
rank = jnp.zeros(5, int).at[order].set(jnp.arange(5) - starts[jnp.cumsum(jnp.diff(gs, prepend=gs[0]) != 0)])
top = {int(k): order[int(b)] for k, b in zip(gs[starts], starts)}
lex = jnp.lexsort((-s, g))
print(bool((lex == order).all()), rank.tolist(), sorted(top), starts.dtype)
top[max(top)], ss
---
g = jnp.array([0, 0, 1, 3, 3])
---
s = s[::-1]

### va-dot-product-attention-windows-and-ragged-lengths
q, k, v = (jr.normal(jr.key(i), (2, 6, 2, 4)) for i in range(3)); lens = [6, 3]
---
full = jax.nn.dot_product_attention(q, k, v)
caus = jax.nn.dot_product_attention(q, k, v, is_causal=True)
loc = jax.nn.dot_product_attention(q, k, v, local_window_size=(1, 0))
pad = jax.nn.dot_product_attention(q, k, v, key_value_seq_lengths=jnp.array(lens, jnp.int32))
eq = {n: bool(jnp.allclose(full, o)) for n, o in {"caus": caus, "loc": loc, "pad": pad}.items()}
print(eq, bool(jnp.allclose(pad[0], full[0], atol=1e-6)), full.shape)
caus[:, 0] - v[:, 0], loc[1, -1]
---
lens = [1, 6]
---
q = q * 0

### va-ragged-dot-experts-with-group-sizes-from-router
x = jr.normal(jr.key(0), (7, 4)); W = jr.normal(jr.key(1), (3, 4, 2)); router = jr.normal(jr.key(2), (4, 3))
---
e = jnp.argmax(x @ router, -1)
order = jnp.argsort(e)
sizes = jnp.bincount(e, length=3)
out = lax.ragged_dot(x[order], W, sizes.astype(jnp.int32))
y = jnp.zeros((7, 2)).at[order].set(out)
ref = jnp.einsum("nd,ndo->no", x, W[e])
load = collections.Counter(e.tolist())
print(sorted(load.items()), sizes.tolist(), bool(jnp.allclose(y, ref, atol=1e-4)))
y.sum(0)
---
router = -router
---
x = x[:5].repeat(2, 0)[:7]

### va-strided-windows-view-median-filter-and-jax-quantiles
x = np.cumsum(np.random.default_rng(0).normal(size=20)); win = 5
---
W = np.lib.stride_tricks.sliding_window_view(x, win)
med = np.median(W, axis=1)
q = jnp.quantile(jnp.asarray(W, jnp.float32), jnp.array([0.25, 0.75]), axis=1)
x[: win // 2] = med[0]
outl = np.flatnonzero((med < np.asarray(q[0])) | (med > np.asarray(q[1])))
print(W.base is not None, W[0, 0] == x[0], med.dtype, outl.size, W.flags.writeable)
q[1] - q[0]
---
win = 3
---
x = x * 2

### va-masked-nan-statistics-agree-with-numpy-over-axes
X = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, -1.0], [2.0, 5.0, np.nan]])
---
J = jnp.asarray(X)
names = "nanmean", "nanmax", "nansum", "nanmedian"
stats = {f: (getattr(jnp, f)(J, axis=0), getattr(np, f)(X, axis=0)) for f in names}
gap = {k: float(jnp.abs(a - b).max()) < 1e-5 for k, (a, b) in stats.items()}
where = jnp.argwhere(jnp.isnan(J), size=4, fill_value=-1)
filled = jnp.where(jnp.isnan(J), stats["nanmean"][0], J)
X[np.isnan(X)] = 0.0
print(gap, [type(b).__name__ for _, b in stats.values()], X.sum(), where.shape)
filled, stats["nanmax"][1]
---
X[0, 0] = np.nan
---
X = np.vstack([X, [np.nan, 1, 1]])

### va-datetime64-business-days-and-seasonal-dummies
days = np.arange("2024-01-29", "2024-02-12", dtype="datetime64[D]"); y = jnp.arange(len(days)) * 0.1
---
busy = np.is_busday(days)
wd = (days.astype("int64") + 3) % 7
month = days.astype("datetime64[M]") - np.datetime64("2024-01", "M")
X = jnp.stack([jnp.ones(len(days)), jnp.asarray(busy, float), jnp.asarray(month.astype(int), float)], 1)
beta, *_ = jnp.linalg.lstsq(X, y)
nxt = np.busday_offset(days[-1], 3, roll="forward")
M = days.astype("datetime64[M]")
per = {str(m): y[jnp.asarray(M == m)].mean() for m in np.unique(M)}
print(nxt, busy.sum(), wd[:3], list(per), X.shape)
beta, per["2024-02"]
---
y = jnp.where(jnp.arange(len(days)) % 7 > 4, 0.0, 1.0)
---
days = days + np.timedelta64(7, "D")

### va-char-arrays-decoded-one-hot-sequences-and-consensus
seqs = np.array(["ACGT", "ACGA", "TCGA"]); alpha = "ACGT"
---
chars = seqs.view("U1").reshape(len(seqs), -1)
ids = np.searchsorted(list(alpha), chars)
P = jax.nn.one_hot(ids, 4).mean(0)
ent = -jnp.sum(jsp.special.xlogy(P, P), 1) / jnp.log(2)
cons = "".join(alpha[i] for i in jnp.argmax(P, 1))
gc = np.char.count(seqs, "G") + np.char.count(seqs, "C")
rev = np.array([s[::-1].translate(str.maketrans("ACGT", "TGCA")) for s in seqs])
print(cons, gc, np.char.lower(rev), ids.dtype)
ent
---
seqs = np.array(["AAAA", "AAAT"])
---
alpha = "ACGT"[:4]

### va-frompyfunc-vectorize-ndenumerate-and-object-grids
grid = np.empty((2, 3), object)
for ij, _ in np.ndenumerate(grid): grid[ij] = jnp.full(2, float(sum(ij)))
---
norms = np.vectorize(lambda a: float(jnp.linalg.norm(a)), otypes=[float])(grid)
scaled = np.frompyfunc(lambda a, s: a * s, 2, 1)(grid, np.arange(3))
total = scaled.sum()
pick = max(np.ndindex(grid.shape), key=lambda ij: norms[ij])
grid[0, 0] = scaled[pick]
print(norms.dtype, pick, scaled.dtype, grid[0, 0] is scaled[pick], type(total).__name__)
total
---
grid[1, 1] = jnp.ones(2)
---
grid = grid[:, ::-1].copy()

### va-errstate-where-out-and-reduceat-mixed-with-jax-grads
w = np.array([0.0, 1.0, 4.0, 9.0]); cuts = [0, 2]
---
with np.errstate(divide="ignore", invalid="ignore"):
    inv = np.divide(1.0, w, out=np.full_like(w, -1.0), where=w > 0)
    lg = np.log(w)
seg = np.add.reduceat(inv, cuts)
g = jax.grad(lambda v: jnp.sum(jnp.sqrt(v)))(jnp.asarray(w, jnp.float32))
outer = np.multiply.outer(seg, np.asarray(g[1:]))
np.maximum.accumulate(w[::-1], out=w[::-1])
print(np.geterr()["divide"], lg[0], seg, w, outer.dtype)
g[1:], outer.shape
---
w = np.array([1.0, 2.0, 3.0])
---
cuts = [1]

### va-gp-classification-laplace-with-probit-and-newton
X = jnp.linspace(-2, 2, 8)[:, None]; y = jnp.where(X[:, 0] > 0.3, 1.0, -1.0); ell = 0.8
def kern(a, b, ell): return jnp.exp(-0.5 * ((a - b.T) / ell) ** 2)
---
K = kern(X, X, ell) + 1e-4 * jnp.eye(8)
f = jnp.zeros(8)
ll = lambda f: jnp.sum(jsp.stats.norm.logcdf(y * f))
for it in range(30):
    g, W = jax.grad(ll)(f), -jnp.diag(jax.hessian(ll)(f))
    s = jnp.sqrt(W)
    L = jnp.linalg.cholesky(jnp.eye(8) + s[:, None] * K * s)
    b = W * f + g
    a = b - s * jsp.linalg.cho_solve((L, True), s * (K @ b))
    new = K @ a
    if float(jnp.abs(new - f).max()) < 1e-3: break
    f = new
prob = jsp.stats.norm.cdf(kern(jnp.array([[0.0], [1.0]]), X, ell) @ a)
print(it < 29, [round(p, 1) for p in prob.tolist()], jnp.sum(jnp.log(jnp.diag(L))) > 0)
prob
---
ell = jnp.float32(1.5)
---
y = -y

### va-stochastic-volatility-antithetic-control-variate-confidence
S0, K, r, T, n = 100.0, 105.0, 0.02, 1.0, 8
def paths(key, z=None):
    z = jr.normal(key, (n, 64)) if z is None else z
    dt = T / n
    def f(c, zi):
        s, v = c
        v = jnp.abs(v + 0.5 * (0.04 - v) * dt + 0.1 * jnp.sqrt(v * dt) * zi[::-1])
        return (s * jnp.exp((r - v / 2) * dt + jnp.sqrt(v * dt) * zi), v), s
    (s, v), hist = lax.scan(f, (jnp.full(64, S0), jnp.full(64, 0.04)), z)
    return s, hist, z
---
s1, hist, z = paths(jr.key(0)); s2, *_ = paths(None, -z)
pay = 0.5 * sum(jnp.maximum(s - K, 0) for s in (s1, s2)) * math.exp(-r * T)
cv = 0.5 * (s1 + s2) * math.exp(-r * T)
C = jnp.cov(pay, cv)
beta = C[0, 1] / C[1, 1]
adj = pay - beta * (cv - S0)
ci = [adj.mean() + q * adj.std(ddof=1) / math.sqrt(len(adj)) for q in (-1.96, 1.96)]
print(f"{adj.std() < pay.std()} width {float(ci[1] - ci[0]) < 3}", hist.shape)
adj.mean(), beta
---
K = jnp.float32(90.0)
---
n = 4

### va-fixed-order-quadrature-tables-cached-by-order
@functools.cache
def rule(n): return np.polynomial.legendre.leggauss(n)
def integrate(f, a, b, n=5):
    x, w = rule(n)
    return 0.5 * (b - a) * jnp.sum(w * jax.vmap(f)(0.5 * (b - a) * x + 0.5 * (a + b)))
fs = {"exp": jnp.exp, "osc": lambda x: jnp.cos(6 * x)}
---
rows = []
for name, f in fs.items():
    prev = None
    for n in (2, 4, 8):
        val = integrate(f, 0.0, 1.0, n)
        if prev is not None and abs(val - prev) < 1e-4: break
        prev = val
    rows.append((name, n, val))
dda = jax.grad(lambda b: integrate(jnp.exp, 0.0, b))(1.0)
print([(a, b) for a, b, _ in rows], rule.cache_info().currsize, type(dda).__name__)
rows[0][2], dda
---
fs["poly"] = lambda x: x ** 3
---
rule.cache_clear()

### va-custom-root-and-implicit-gradient-of-kepler
def solve_kepler(M, e):
    f = lambda E: E - e * jnp.sin(E) - M
    def solve(f, E0):
        def body(c): E, k = c; return E - f(E) / jax.grad(f)(E), k + 1
        return lax.while_loop(lambda c: (jnp.abs(f(c[0])) > 1e-5) & (c[1] < 20), body, (E0, 0))[0]
    return lax.custom_root(f, M, solve, lambda g, y: y / g(1.0))
Ms = [0.3, 1.0, 2.5]; e = 0.4
---
Es = [solve_kepler(M, e) for M in Ms]
dE = [jax.grad(solve_kepler, argnums=(0, 1))(M, e) for M in Ms]
check = [float(E - e * jnp.sin(E) - M) for E, M in zip(Es, Ms)]
print(all(abs(c) < 1e-4 for c in check), [type(d[0]).__name__ for d in dE])
jnp.stack(Es), jnp.array(dE)
---
e = 0.7
---
Ms = [jnp.float32(3.0)]

### va-bcoo-power-iteration-and-batched-sparse-rows
from jax.experimental import sparse
A = np.zeros((5, 5), np.float32); A[[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 3]] = [1, 1, 1, 1, 1, 0.5]
S = sparse.BCOO.fromdense(A)
---
P = sparse.BCOO((S.data / A.sum(1)[S.indices[:, 0]], S.indices), shape=S.shape)
v = jnp.ones(5) / 5
for it in range(60):
    new = 0.85 * (P.T @ v) + 0.03
    if jnp.abs(new - v).sum() < 1e-5: break
    v = new
T = sparse.bcoo_concatenate([S, S.T], dimension=0)
g = sparse.grad(lambda s: (s @ v).sum())(S)
print(type(P).__name__, T.shape, T.nse, type(g).__name__, S.n_sparse, it > 3)
v, g.data
---
A[2, 0] = 2.0; S = sparse.BCOO.fromdense(A)
---
S = S * 2

### va-perceptron-voting-with-shuffles-by-python-random
random.seed(7)
X = np.array([[1.0, 2], [2, 1], [-1, -1], [-2, 1]]); y = [1, 1, -1, -1]
---
w, votes = jnp.zeros(2), []
for epoch in range(3):
    order = list(range(len(y))); random.shuffle(order)
    errs = 0
    for i in order:
        if y[i] * float(w @ X[i]) <= 0:
            votes.append((w, errs)); w = w + y[i] * X[i]; errs += 1
    if errs == 0: break
avg = sum(v for v, _ in votes) / max(len(votes), 1)
print(epoch, len(votes), random.random() < 1, type(avg).__name__)
w
---
y[1] = -1
---
random.seed(3)

### va-ca-rule-table-bits-and-entropy-over-generations
rule, width = 110, 16
state = jnp.zeros(width, jnp.uint8).at[-1].set(1)
---
table = jnp.array([(rule >> k) & 1 for k in range(8)], jnp.uint8)
rows = [state]
for _ in range(6):
    s = rows[-1]
    code = (jnp.roll(s, 1) << 2) | (s << 1) | jnp.roll(s, -1)
    rows.append(table[code])
M = jnp.stack(rows)
packed = np.packbits(np.asarray(M), axis=1)
text = "\n".join("".join(".#"[int(c)] for c in r) for r in M[:3])
print(text, packed.dtype, packed[1], M.dtype, lax.population_count(M).sum())
M.mean(1)
---
rule = 30
---
state = state.at[3].set(1)

### va-simplex-tableau-with-bland-rule-in-numpy-and-dual-in-jax
c = np.array([3.0, 2.0]); A = np.array([[1.0, 1], [1, 3]]); b = np.array([4.0, 6.0])
---
T = np.block([[A, np.eye(2), b[:, None]], [-c[None], np.zeros((1, 3))]])
basis = [2, 3]
while (T[-1, :-1] < -1e-9).any():
    j = int(np.argmax(T[-1, :-1] < -1e-9))
    ratios = np.where(T[:-1, j] > 1e-9, T[:-1, -1] / np.where(T[:-1, j] > 1e-9, T[:-1, j], 1), np.inf)
    i = int(ratios.argmin())
    T[i] /= T[i, j]
    for k in range(3):
        if k != i: T[k] -= T[k, j] * T[i]
    basis[i] = j
x = jnp.zeros(4).at[jnp.array(basis)].set(T[:-1, -1])
dual = jnp.linalg.solve(jnp.asarray(A.T), jnp.asarray(c))
print(T[-1, -1], basis, x.dtype, float(jnp.dot(x[:2], c)))
dual, T.dtype
---
c[1] = 5.0
---
b = b * 2

### va-image-affine-warp-map-coordinates-and-pyramid
img = jnp.add.outer(jnp.arange(8.0), jnp.arange(8.0)) % 5; angle = 0.3
---
def warp(img, th):
    yy, xx = jnp.mgrid[:8, :8] - 3.5
    c, s = jnp.cos(th), jnp.sin(th)
    return jsp.ndimage.map_coordinates(img, [c * yy - s * xx + 3.5, s * yy + c * xx + 3.5], order=1, mode="nearest")
pyr = [warp(img, angle)]
while min(pyr[-1].shape) > 2:
    pyr.append(jax.image.resize(pyr[-1], [n // 2 for n in pyr[-1].shape], "linear"))
dth = jax.grad(lambda th: jnp.mean((warp(img, th) - img) ** 2))(angle)
blurred = jax.scipy.signal.convolve2d(pyr[0], jnp.outer(jnp.hanning(5), jnp.hanning(5))[1:-1, 1:-1], mode="same")
print([p.shape for p in pyr], warp.__qualname__, blurred.shape)
dth, pyr[-1]
---
angle = jnp.pi / 2
---
img = img.T[::-1]

### va-bootstrap-permutation-test-and-bonferroni-table
groups = {"a": jr.normal(jr.key(1), (12,)), "b": jr.normal(jr.key(2), (9,)) + 1.5, "c": jr.normal(jr.key(3), (10,))}
B = 50
---
pvals = {}
for (n1, g1), (n2, g2) in itertools.combinations(groups.items(), 2):
    pool = jnp.concatenate([g1, g2])
    obs = g1.mean() - g2.mean()
    def stat(k):
        p = jr.permutation(k, pool)
        return p[: len(g1)].mean() - p[len(g1):].mean()
    null = jax.vmap(stat)(jr.split(jr.key(len(pvals)), B))
    pvals[n1 + n2] = float((jnp.abs(null) >= jnp.abs(obs)).mean())
sig = [k for k, p in sorted(pvals.items(), key=lambda kv: kv[1]) if p < 0.05 / len(pvals)]
print(sig, {k: f"{p:.2f}" for k, p in pvals.items()}, stat.__name__)
null.std()
---
B = 20
---
groups["d"] = groups["a"] + 3

### va-double-pendulum-symplectic-and-lyapunov-renormalised
def acc(q):
    d = q[0] - q[1]
    M = jnp.array([[2.0, jnp.cos(d)], [jnp.cos(d), 1.0]])
    return jnp.linalg.solve(M, jnp.array([-2 * jnp.sin(q[0]), -jnp.sin(q[1])]))
@jax.jit
def step(s, dt=0.02):
    q, p = s
    p = p + 0.5 * dt * acc(q); q = q + dt * p; p = p + 0.5 * dt * acc(q)
    return q, p
s0 = (jnp.array([1.0, 1.5]), jnp.zeros(2)); n = 8
---
s, lyap = s0, []
d = (jnp.array([1e-2, 0.0]), jnp.zeros(2))
for k in range(n):
    s, d = jax.jvp(step, (s,), (d,))
    if k % 4 == 3:
        size = jnp.sqrt(sum(jnp.vdot(a, a) for a in d))
        lyap.append(jnp.log(size / 1e-2))
        d = jax.tree.map(lambda a: a / size * 1e-2, d)
print(len(lyap), type(s).__name__)
s[0], jnp.stack(lyap)
---
n = 5
---
s0 = jax.tree.map(lambda a: a + 0.5, s0)

### va-reservoir-sampling-and-streaming-quantiles-over-chunks
stream = np.random.default_rng(4).exponential(size=60).astype(np.float32)
rng = np.random.default_rng(9)
---
res, seen, ema = np.zeros(8, np.float32), 0, jnp.float32(0)
for chunk in np.array_split(stream, 5):
    for v in chunk:
        if seen < len(res): res[seen] = v
        elif (j := rng.integers(0, seen + 1)) < len(res): res[j] = v
        seen += 1
    ema = 0.7 * ema + 0.3 * jnp.median(jnp.asarray(chunk))
q = jnp.percentile(res, jnp.array([10, 50, 90]))
print(seen, res.dtype, bool((jnp.diff(q) > 0).all()), rng.bit_generator.state["has_uint32"] in (0, 1))
ema, q.dtype
---
stream = stream[:25]
---
rng = np.random.default_rng(1)

### va-tensor-train-by-successive-svd-with-rank-truncation
A = jnp.sin(jnp.add.outer(jnp.add.outer(jnp.arange(3.0), jnp.arange(4.0)), jnp.arange(2.0))); tol = 1e-3
---
cores, r, C = [], 1, A
for n in A.shape[:-1]:
    U, S, Vt = jnp.linalg.svd(C.reshape(r * n, -1), full_matrices=False)
    keep = max(1, int((S > tol * S[0]).sum()))
    cores.append((U[:, :keep] * jnp.sign(U[0, :keep])).reshape(r, n, keep))
    C, r = jnp.sign(U[0, :keep])[:, None] * S[:keep, None] * Vt[:keep], keep
cores.append(C.reshape(r, A.shape[-1], 1))
back = functools.reduce(lambda a, b: jnp.tensordot(a, b, 1), cores)[0, ..., 0]
print([c.shape for c in cores], sum(c.size for c in cores), bool(jnp.abs(back - A).max() < 1e-2))
back[1]
---
tol = 0.9
---
A = A ** 2

### va-hmm-viterbi-python-backtrace-and-logsumexp-forward
pi = jnp.log(jnp.array([0.6, 0.4])); T = jnp.log(jnp.array([[0.7, 0.3], [0.4, 0.6]]));
E = jnp.log(jnp.array([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])); obs = [0, 1, 2, 2]
---
delta, back = pi + E[:, obs[0]], []
alpha = delta
for o in obs[1:]:
    scores = delta[:, None] + T
    back.append(scores.argmax(0))
    delta = scores.max(0) + E[:, o]
    alpha = jsp.special.logsumexp(alpha[:, None] + T, axis=0) + E[:, o]
path = [int(delta.argmax())]
for b in reversed(back): path.append(int(b[path[-1]]))
path.reverse()
runs = [(k, len(list(g))) for k, g in itertools.groupby(path)]
print(path, runs, len(back))
delta.max() - jsp.special.logsumexp(alpha)
---
obs.extend([0, 0])
---
T = T[::-1]
""",
)
