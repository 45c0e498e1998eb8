"""Numerical and scientific notebooks of yet others: transforms, solvers, fields, tables, prices, samples, kinds of numbers."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, math, cmath, collections, itertools, operator, bisect, fractions, decimal, statistics, datetime, pathlib, warnings, io, json
import jax, jax.numpy as jnp, numpy as np
from jax import lax
t = jnp.linspace(0.0, 1.0, 16, endpoint=False)
"""

CELLS = written(
    PRELUDE,
    r"""
### lnu-fft-lowpass-inplace-numpy-mix
sig = np.sin(2 * np.pi * 3 * np.asarray(t)) + 0.3 * np.cos(2 * np.pi * 7 * np.asarray(t))
cut, report = 5, {}
---
spec = jnp.fft.rfft(sig)
freqs = np.fft.rfftfreq(len(sig), d=1 / 16)
keep = freqs <= cut
filt = jnp.where(keep, spec, 0)
back = jnp.fft.irfft(filt, n=len(sig))
power = jnp.abs(spec) ** 2
peaks = [float(freqs[i]) for i in np.argsort(-np.asarray(power))[:2]]
report[cut] = {"peaks": peaks, "rms": jnp.sqrt(jnp.mean(back ** 2))}
sig[:2] = 0.0
print(peaks, spec.dtype, filt.dtype, back.dtype, keep.sum())
---
cut = 8
---
sig = sig.astype(np.float32)[:12]; report.clear()

### lnu-fft2-image-shift-complex-view
img = np.zeros((8, 8), np.uint8); img[2:5, 3:6] = 200
shift = (1, 2)
---
F = jnp.fft.fftshift(jnp.fft.fft2(img))
ky, kx = jnp.meshgrid(jnp.arange(-4, 4), jnp.arange(-4, 4), indexing="ij")
phase = jnp.exp(-2j * jnp.pi * (ky * shift[0] + kx * shift[1]) / 8)
moved = jnp.fft.ifft2(jnp.fft.ifftshift(F * phase)).real
u8 = np.asarray(jnp.clip(jnp.round(moved), 0, 255)).astype(np.uint8)
ok = np.array_equal(u8, np.roll(img, shift, (0, 1)))
mag = jnp.log1p(jnp.abs(F))
z = complex(F[4, 4])
print(ok, F.dtype, type(z).__name__, u8.dtype)
---
shift = (0, -3)
---
img = img.T + 1

### lnu-rk4-with-python-list-history tolerance=1e-4
def lorenz(s, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = s
    return jnp.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])
s, dt, n = jnp.array([1.0, 1.0, 1.0]), 0.01, 5
params = {"rho": 28.0}
---
f = functools.partial(lorenz, **params)
traj = [s]
for _ in range(n):
    k1 = f(s); k2 = f(s + dt / 2 * k1); k3 = f(s + dt / 2 * k2); k4 = f(s + dt * k3)
    s = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    traj.append(s)
traj = np.array(traj)
speed = np.linalg.norm(np.diff(traj, axis=0), axis=1) / dt
J = jax.jacfwd(f)(s)
print(traj.shape, traj.dtype, speed.argmax() in range(n), len(J))
---
params["rho"] = 14
---
dt = np.float64(0.02)
---
n = 3; params = {"sigma": jnp.float32(5), "beta": 1}

### lnu-adaptive-step-while-python
log, tol = [], 1e-3
def f(t, y): return -2 * y + jnp.sin(t)
y, tt, h = jnp.array(1.0), 0.0, 0.2
---
rejected = 0
while tt < 1.0 and len(log) < 30:
    h = min(h, 1.0 - tt)
    k1 = f(tt, y); k2 = f(tt + h, y + h * k1)
    err = abs(float(h / 2 * (k2 - k1)))
    if err <= tol:
        tt += h
        y = y + h / 2 * (k1 + k2)
        log.append(dict(t=round(tt, 3), h=h))
    else:
        rejected += 1
    h *= min(2.0, max(0.3, 0.9 * math.sqrt(tol / (err + 1e-12))))
print(len(log) > 0, rejected >= 0, type(h).__name__)
y
---
tt = 0.5; tol = 1e-2
---
y, tt, h, log = jnp.array([1.0, 2.0]).sum(), 0, 1, []

### lnu-symplectic-scan-history-dict
masses = jnp.array([1.0, 0.5, 0.25])
pos = jnp.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.5]]); vel = jnp.zeros((3, 2)).at[1, 1].set(0.8)
G, steps, soft = 1.0, 6, 1e-2
---
def accel(p):
    d = p[None] - p[:, None]
    r3 = (jnp.sum(d ** 2, -1) + soft ** 2) ** 1.5
    return G * jnp.sum(masses[None, :, None] * d / r3[..., None], 1)
def energy(p, v):
    i, j = jnp.triu_indices(3, 1)
    return 0.5 * jnp.sum(masses * jnp.sum(v ** 2, -1)) - G * jnp.sum(masses[i] * masses[j] / jnp.linalg.norm(p[i] - p[j], axis=-1))
def step(c, dt):
    p, v = c["p"], c["v"]
    v = v + dt / 2 * accel(p); p = p + dt * v; v = v + dt / 2 * accel(p)
    return {"p": p, "v": v}, {"E": energy(p, v), "com": masses @ p, "t": dt}
final, hist = lax.scan(step, {"p": pos, "v": vel}, jnp.full(steps, 0.01))
hist["t"] = jnp.cumsum(hist["t"])
drift = (hist["E"] - hist["E"][0]) / abs(hist["E"][0])
pos, vel = final.values()
bool(jnp.abs(drift).max() < 1e-2), list(hist), hist["com"].shape
---
soft = 0
---
masses = jnp.array([1, 2, 3])

### lnu-linalg-zoo-namedtuples
A = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
b = np.arange(3)
results = {}
---
eig = jnp.linalg.eigh(A)
qr = jnp.linalg.qr(A)
U, S, Vh = svd = jnp.linalg.svd(A)
sd = jnp.linalg.slogdet(A)
L = jnp.linalg.cholesky(A)
x = jax.scipy.linalg.cho_solve((L, True), b)
lu, piv = jax.scipy.linalg.lu_factor(A)
results.update(eig=eig, rank=jnp.linalg.matrix_rank(A), cond=jnp.linalg.cond(A), sd=sd)
kinds = [type(v).__name__ for v in (eig, qr, svd, sd)]
resid = np.linalg.norm(A @ np.asarray(x) - b)
print(kinds, piv.dtype, resid < 1e-4, results["rank"])
eig.eigenvalues[0], sd.sign
---
b = b + 1j
---
A = A - 3 * np.eye(3) + 3.5 * np.eye(3)

### lnu-scipy-optimize-minimize-host-jac
import scipy.optimize as so
calls = []
def rosen(v): return jnp.sum(100.0 * (v[1:] - v[:-1] ** 2) ** 2 + (1 - v[:-1]) ** 2)
method, x0 = "BFGS", np.array([0.5, 0.3, 0.9])
---
fg = jax.jit(jax.value_and_grad(rosen))
def wrapped(v):
    f, g = fg(jnp.asarray(v))
    calls.append(float(f))
    return float(f), np.asarray(g, np.float64)
res = so.minimize(wrapped, x0, jac=True, method=method, options={"maxiter": 5})
hess = jax.hessian(rosen)(jnp.asarray(res.x))
eigs = np.linalg.eigvalsh(hess)
print(type(res).__name__, res.x.shape, eigs.dtype, len(calls) > 3, res.nit <= 5)
---
method = "CG"
---
x0 = x0[:2]; calls.clear()

### lnu-jax-scipy-minimize-and-result
from jax.scipy.optimize import minimize
target = jnp.array([1.0, -1.0])
opts = dict(maxiter=5)
---
res = minimize(lambda v: jnp.sum((v - target) ** 4) + v[0] ** 2, jnp.zeros(2), method="BFGS", options=opts)
rows = [(k, getattr(getattr(res, k), "shape", None)) for k in ("x", "fun", "nit", "success")]
status = "converged" if res.success else f"stopped after {int(res.nit)}"
print(rows, status[:4])
res.x
---
target = jnp.array([0.0, 3.0])
---
opts["maxiter"] = 50

### lnu-root-finding-tricks-and-implicit-grad
@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def newton(f, x0, a):
    x = x0
    for _ in range(12):
        x = x - f(x, a) / jax.grad(f)(x, a)
    return x
@newton.defjvp
def newton_jvp(f, primals, tangents):
    x0, a = primals
    x = newton(f, x0, a)
    fa, fx = jax.grad(f, 1)(x, a), jax.grad(f, 0)(x, a)
    return x, -fa / fx * tangents[1]
def g(x, a): return x ** 3 - a
a = 2.0
---
root = newton(g, 1.0, a)
slope = jax.grad(newton, argnums=2)(g, 1.0, a)
many = jax.vmap(lambda q: newton(g, 1.0, q))(jnp.arange(1.0, 4.0))
lo, hi = 0.0, 2.0
while hi - lo > 1e-3:
    mid = (lo + hi) / 2
    lo, hi = (mid, hi) if g(mid, a) < 0 else (lo, mid)
close = abs(float(root) - mid) < 1e-2
print(close, round(mid, 2), type(root).__name__)
slope
---
a = 5.0
---
a = jnp.float16(3)
---
def g(x, a): return jnp.exp(x) - a

### lnu-pandas-rolling-returns-to-portfolio
import pandas as pd
idx = pd.date_range("2024-01-01", periods=8, freq="D")
prices = pd.DataFrame({"A": np.linspace(10, 12, 8), "B": [5, 5.2, 5.1, 5.3, 5.5, 5.4, 5.6, 5.8]}, index=idx)
window = 3
---
rets = prices.pct_change().dropna()
R = jnp.asarray(rets.to_numpy())
cov = jnp.cov(R.T)
w = jnp.linalg.solve(cov + 1e-4 * jnp.eye(cov.shape[0]), jnp.ones(cov.shape[0]))
w = w / w.sum()
prices["port"] = np.concatenate([[np.nan], np.asarray(R @ w)])
ma = prices["port"].rolling(window).mean()
summary = pd.Series({"vol": float(jnp.sqrt(w @ cov @ w)), "last": ma.iloc[-1]}, name=str(idx[-1].date()))
weights = dict(zip(rets.columns, w.tolist()))
print(sorted(weights), prices.shape, ma.isna().sum(), summary.name)
prices = prices.drop(columns="port")
---
window = 2
---
prices["C"] = np.arange(8) + 1.0

### lnu-sklearn-pipeline-with-jax-transformer
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from sklearn.linear_model import Ridge
class RFF(BaseEstimator, TransformerMixin):
    def __init__(self, n=4, gamma=1.0, seed=0): self.n, self.gamma, self.seed = n, gamma, seed
    def fit(self, X, y=None):
        k1, k2 = jax.random.split(jax.random.key(self.seed))
        self.W_ = jax.random.normal(k1, (X.shape[1], self.n)) * self.gamma
        self.b_ = jax.random.uniform(k2, (self.n,)) * 2 * jnp.pi
        return self
    def transform(self, X): return np.asarray(jnp.sqrt(2 / self.n) * jnp.cos(X @ self.W_ + self.b_))
Xs, ys = np.asarray(t)[:, None], np.sin(6 * np.asarray(t))
pipe = make_pipeline(RFF(), Ridge(1e-2))
---
pipe.fit(Xs, ys)
pred = pipe.predict(Xs)
rff = pipe.named_steps["rff"]
K = jnp.asarray(rff.transform(Xs)) @ rff.transform(Xs).T
r2 = pipe.score(Xs, ys)
print(pred.shape, type(rff.W_).__name__, K.shape, -5 < r2 <= 1, pipe.get_params()["rff__n"])
---
pipe.set_params(rff__n=6)
---
pipe.set_params(rff__gamma=3.0, ridge__alpha=1.0); Xs = Xs.astype(np.float32)

### lnu-image-conv-sobel-and-pad-modes
from PIL import Image
img = np.add.outer(np.arange(6), np.arange(6)).astype(np.uint8) * 20
Image.fromarray(img).save("in.png")
mode, thr = "edge", 0.4
---
im = Image.open("in.png")
a = jnp.asarray(im, dtype=jnp.float32) / 255
kx = jnp.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], jnp.float32)
p = jnp.pad(a, 1, mode=mode)
gx, gy = (jax.scipy.signal.convolve2d(p, k, mode="valid") for k in (kx, kx.T))
mag = jnp.hypot(gx, gy)
edges = mag > thr * mag.max()
Image.fromarray(np.asarray(edges, np.uint8) * 255).save(f"edges_{mode}.png")
hist, bins = jnp.histogram(a, bins=4, range=(0, 1))
print(im.size, im.mode, edges.dtype, hist.tolist())
int(edges.sum())
---
mode = "reflect"
---
thr = 0.9

### lnu-morphology-bool-image-loops
mask = np.zeros((7, 7), bool); mask[2:5, 1:6] = True; mask[3, 3] = False
it = 2
---
def dilate(m): return functools.reduce(jnp.logical_or, (jnp.roll(m, s, ax) for ax in (0, 1) for s in (-1, 0, 1)))
def erode(m): return ~dilate(~m)
m = jnp.array(mask)
for _ in range(it):
    m = dilate(m)
for _ in range(it):
    m = erode(m)
filled = (m & ~mask).sum()
ys, xs = jnp.nonzero(m)
bbox = (int(ys.min()), int(xs.min()), int(ys.max()), int(xs.max()))
mask ^= np.asarray(m & (ys.size > 3))
print(bbox, m.dtype, filled, mask.sum())
---
it = 1
---
mask = np.eye(7, dtype=bool)

### lnu-option-pricing-asian-antithetic
@dataclasses.dataclass(frozen=True)
class Option:
    strike: float
    kind: str = "call"
    def payoff(self, s): return jnp.maximum(s - self.strike if self.kind == "call" else self.strike - s, 0)
book = [Option(100.0), Option(95, "put")]
S0, r, vol, T, n = 100, 0.02, 0.2, 1.0, 32
---
z = jax.random.normal(jax.random.PRNGKey(42), (n // 2, 8))
z = jnp.concatenate([z, -z])
dt = T / z.shape[1]
paths = S0 * jnp.exp(jnp.cumsum((r - vol ** 2 / 2) * dt + vol * math.sqrt(dt) * z, axis=1))
disc = math.exp(-r * T)
prices = {o: disc * o.payoff(paths.mean(1)).mean() for o in book}
stderr = {o.kind: (disc * o.payoff(paths.mean(1))).std(ddof=1) / n ** 0.5 for o in book}
vega = jax.grad(lambda v: disc * book[0].payoff(S0 * jnp.exp((r - v ** 2 / 2) * T + v * z[:, 0])).mean())(vol)
print([f"{o.kind}@{o.strike}" for o in prices], vega.dtype, stderr.keys())
prices[book[0]]
---
vol = np.float32(0.3)
---
book.append(Option(jnp.float32(110.0).item())); n = 16
---
S0 = 100.0; T = 2

### lnu-black-scholes-greeks-table-and-implied
from jax.scipy.stats import norm
strikes, S, r, tau = [90.0, 100.0, 110.0], 100.0, 0.01, 0.5
market = np.array([12.0, 6.0, 2.5])
---
def bs(vol, K, S=S):
    d1 = (jnp.log(S / K) + (r + 0.5 * vol ** 2) * tau) / (vol * tau ** 0.5)
    return S * norm.cdf(d1) - K * jnp.exp(-r * tau) * norm.cdf(d1 - vol * tau ** 0.5)
iv = jnp.full(len(strikes), 0.2)
Ks = jnp.array(strikes)
for _ in range(4):
    p, dp = jax.vmap(jax.value_and_grad(bs))(iv, Ks)
    iv = iv - (p - market) / dp
delta = jax.vmap(jax.grad(bs, argnums=2), (0, 0, None))(iv, Ks, S)
lines = [f"{k:6.1f} {v:6.2f} {d:5.2f}" for k, v, d in zip(strikes, iv, delta)]
print("\n".join(lines))
worst = np.abs(np.asarray(p) - market).max()
worst < 1
---
tau = 1
---
strikes = strikes[:2]; market = market[:2]

### lnu-bootstrap-median-ci-and-percentiles
data = np.array([3.1, 2.7, 5.5, 4.4, 3.9, 10.2, 2.2])
B, alpha, stat = 20, 0.1, jnp.median
rng = np.random.default_rng(1)
---
idx = rng.integers(0, len(data), size=(B, len(data)))
boot = jax.vmap(lambda i: stat(jnp.asarray(data)[i]))(idx)
lo, hi = jnp.quantile(boot, jnp.array([alpha / 2, 1 - alpha / 2]))
jack = jnp.array([stat(jnp.delete(data, i)) for i in range(len(data))])
se = float(jnp.sqrt((len(data) - 1) / len(data) * jnp.sum((jack - jack.mean()) ** 2)))
inside = lo <= stat(jnp.asarray(data)) <= hi
print(f"[{lo:.2f}, {hi:.2f}] se={se:.3f}", inside, statistics.median(data.tolist()))
---
stat = jnp.mean
---
alpha, B = 0.5, 10

### lnu-permutation-test-early-stop
a, b = jnp.array([1.2, 2.3, 3.1, 2.8]), jnp.array([0.4, 1.1, 1.9])
key, n_max = jax.random.key(11), 12
seen = set()
---
obs = a.mean() - b.mean()
pool = jnp.concatenate([a, b])
count = 0
for i in range(1, n_max + 1):
    key, sub = jax.random.split(key)
    perm = jax.random.permutation(sub, pool)
    d = perm[:len(a)].mean() - perm[len(a):].mean()
    seen.add(round(float(d), 3))
    count += bool(d >= obs)
    if count >= 3:
        break
p = (count + 1) / (i + 1)
print(i, count, f"p={p:.3f}", len(seen) > 1)
---
b = b + 3
---
n_max = 4; seen = set()

### lnu-kalman-rts-smoother-lists-of-tuples
F = jnp.array([[1.0, 1.0], [0.0, 1.0]]); H = jnp.array([[1.0, 0.0]]); Q = 0.01 * jnp.eye(2); R = jnp.array([[0.5]])
zs = [1.1, 1.9, None, 4.2, 5.0]
filt = []
---
m, P = jnp.zeros(2), jnp.eye(2)
filt.clear()
for z in zs:
    mp, Pp = F @ m, F @ P @ F.T + Q
    if z is None:
        m, P = mp, Pp
    else:
        S = H @ Pp @ H.T + R
        K = jnp.linalg.solve(S, H @ Pp).T
        m, P = mp + K @ (jnp.atleast_1d(z) - H @ mp), (jnp.eye(2) - K @ H) @ Pp
    filt.append((m, P, mp, Pp))
ms = [filt[-1][0]]
for (m, P, *_), (_, _, mp, Pp) in zip(filt[-2::-1], filt[:0:-1]):
    ms.insert(0, m + P @ F.T @ jnp.linalg.inv(Pp) @ (ms[0] - mp))
smooth = jnp.stack(ms)
smooth.shape, len(filt), filt[2][0] is filt[2][2]
---
zs[2] = 3.0
---
zs = [None] + zs[:3]

### lnu-particle-filter-resample-searchsorted
obs, n = [0.2, 0.5, 1.1, 0.9], 10
key = jax.random.PRNGKey(0)
ess_log = []
---
key, k = jax.random.split(key)
parts = jax.random.normal(k, (n,))
logw = jnp.zeros(n)
for z in obs:
    key, k1, k2 = jax.random.split(key, 3)
    parts = 0.9 * parts + 0.3 * jax.random.normal(k1, (n,))
    logw = logw - 0.5 * ((z - parts) / 0.5) ** 2
    w = jax.nn.softmax(logw)
    ess = 1 / jnp.sum(w ** 2)
    ess_log.append(ess)
    if ess < n / 2:
        u = (jnp.arange(n) + jax.random.uniform(k2)) / n
        idx = jnp.searchsorted(jnp.cumsum(w), u)
        parts, logw = parts[jnp.minimum(idx, n - 1)], jnp.zeros(n)
est = jnp.sum(jax.nn.softmax(logw) * parts)
print(len(ess_log), key.shape, "idx" in globals())
est
---
obs = obs[:2]
---
n = 6; ess_log = []

### lnu-gp-posterior-kernel-algebra cold
class Kernel:
    def __call__(self, a, b): return jax.vmap(lambda p: jax.vmap(lambda q: self.k(p, q))(b))(a)
    def __add__(self, o): return Combo(operator.add, self, o)
    def __mul__(self, o): return Combo(operator.mul, self, o)
class RBF(Kernel):
    def __init__(self, ell): self.ell = ell
    def k(self, p, q): return jnp.exp(-0.5 * ((p - q) / self.ell) ** 2)
class Per(Kernel):
    def __init__(self, per): self.per = per
    def k(self, p, q): return jnp.exp(-2 * jnp.sin(jnp.pi * jnp.abs(p - q) / self.per) ** 2)
class Combo(Kernel):
    def __init__(self, op, *ks): self.op, self.ks = op, ks
    def k(self, p, q): return functools.reduce(self.op, (s.k(p, q) for s in self.ks))
xs, ys = jnp.array([0.1, 0.4, 0.7]), jnp.array([0.5, -0.2, 0.3])
kern, noise = RBF(0.3) + RBF(1.0) * Per(0.5), 1e-2
---
Kxx = kern(xs, xs) + noise * jnp.eye(len(xs))
L = jnp.linalg.cholesky(Kxx)
alpha = jax.scipy.linalg.cho_solve((L, True), ys)
Ks = kern(t, xs)
mu, v = Ks @ alpha, jax.scipy.linalg.solve_triangular(L, Ks.T, lower=True)
sd = jnp.sqrt(jnp.clip(jnp.diag(kern(t, t)) - jnp.sum(v ** 2, 0), 0))
lml = -0.5 * ys @ alpha - jnp.log(jnp.diag(L)).sum() - 0.5 * len(xs) * math.log(2 * math.pi)
best = t[jnp.argmax(mu + 2 * sd)]
xs, ys = jnp.append(xs, best), jnp.append(ys, jnp.cos(9 * best))
xs.shape, lml
---
kern = kern.ks[0]
---
kern = RBF(jnp.float32(0.2)); noise = 0.1

### lnu-pde-heat2d-boundary-dict-and-frames
bc = {"top": 1.0, "left": 0.0}
u = jnp.zeros((6, 6)); alpha = 0.2
frames, every, steps = [], 2, 6
---
def apply_bc(u, bc):
    for side, val in bc.items():
        match side:
            case "top": u = u.at[0].set(val)
            case "bottom": u = u.at[-1, :].set(val)
            case "left": u = u.at[:, 0].set(val)
            case _: raise KeyError(side)
    return u
for k in range(steps):
    lap = -4 * u[1:-1, 1:-1] + u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    u = apply_bc(u.at[1:-1, 1:-1].add(alpha * lap), bc)
    if not k % every:
        frames.append(np.asarray(u).copy())
movie = np.stack(frames)
print(movie.shape, movie.flags.writeable, f"{u.mean():.4f}")
---
bc["bottom"] = 0.5
---
every, frames = 3, []
---
alpha = jnp.asarray(0.1, jnp.bfloat16)

### lnu-poisson-jacobi-while-loop-and-convergence
n, tol = 8, 1e-2
rhs = jnp.zeros((n, n)).at[3, 4].set(1.0)
---
def body(c):
    u, err, it = c
    new = 0.25 * (jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1) + rhs)
    new = new.at[jnp.array([0, -1])].set(0).at[:, jnp.array([0, -1])].set(0)
    return new, jnp.abs(new - u).max(), it + 1
u, err, its = lax.while_loop(lambda c: (c[1] > tol) & (c[2] < 50), body, (jnp.zeros_like(rhs), jnp.inf, 0))
trace = [err]
for _ in range(2):
    u, e, its = body((u, err, its))
    trace.append(e)
print(its.dtype, its.weak_type, trace[0].weak_type, [bool(a >= b) for a, b in zip(trace, trace[1:])])
its
---
tol = 1e-3
---
rhs = rhs.at[1, 1].set(-2)
---
rhs = rhs.astype(jnp.float16)

### lnu-wave-equation-fori-with-history-buffer
nx, nt, c = 16, 8, 0.5
xg = jnp.linspace(0, 1, nx)
---
hist = jnp.empty((nt, nx)).at[0].set(jnp.exp(-100 * (xg - 0.5) ** 2))
hist = hist.at[1].set(hist[0])
def step(i, h):
    u, up = h[i - 1], h[i - 2]
    lap = jnp.zeros_like(u).at[1:-1].set(u[2:] - 2 * u[1:-1] + u[:-2])
    return h.at[i].set(2 * u - up + c ** 2 * lap)
hist = lax.fori_loop(2, nt, step, hist)
peak = jnp.unravel_index(jnp.argmax(hist), hist.shape)
crossings = [int(jnp.sum(jnp.diff(jnp.sign(row)) != 0)) for row in hist[::4]]
print(peak, crossings, [type(p).__name__ for p in peak])
---
c = 0.9
---
nt = 4

### lnu-spectral-kdv-x64-complex x64
N, dt = 16, 1e-3
xg = 2 * np.pi * np.arange(N) / N
u = jnp.cos(xg)
k = np.fft.fftfreq(N, 1 / N)
---
uh = jnp.fft.fft(u)
E = jnp.exp(1j * k ** 3 * dt)
def nl(vh): return -0.5j * k * jnp.fft.fft(jnp.fft.ifft(vh).real ** 2)
for _ in range(3):
    a = dt * nl(uh)
    b = dt * nl(uh + a / 2)
    uh = E * (uh + b)
u = jnp.fft.ifft(uh).real
mass, mom = u.sum() * 2 * np.pi / N, jnp.vdot(u, u)
single = u.astype(jnp.float32) + np.float64(1)
print(u.dtype, uh.dtype, mass.dtype, single.dtype, jnp.arange(3).dtype, (k * 1j).dtype)
---
dt = jnp.float32(2e-3)
---
k = jnp.asarray(k, jnp.float32)

### lnu-x64-context-inside-and-outside
vals = [0.1, 1e-9, 3.0]
limit = 1e-12
---
lo = jnp.sum(jnp.array(vals))
with jax.enable_x64(True):
    hi = jnp.sum(jnp.array(vals))
    err = abs(float(hi) - float(lo))
    big = jnp.array([2 ** 40, 1])
kinds = [lo.dtype.name, hi.dtype.name, big.dtype.name]
again = jnp.array(vals) * 2
mixed = np.asarray(hi) + np.asarray(lo)
print(kinds, again.dtype, mixed.dtype, err > limit)
---
vals.append(1e8)
---
limit = 1.0

### lnu-bfloat16-kahan-and-loss-scaling
xs = (jnp.arange(1, 40) / 7).astype(jnp.bfloat16)
dtype = jnp.bfloat16
---
naive = functools.reduce(lambda a, b: a + b, xs[:10].astype(dtype), jnp.zeros((), dtype))
s = c = jnp.zeros((), dtype)
for v in xs[:10].astype(dtype):
    y = v - c
    t2 = s + y
    c = (t2 - s) - y
    s = t2
exact = np.asarray(xs[:10], np.float64).sum()
eps = jnp.finfo(dtype).eps
info = {"max": float(jnp.finfo(dtype).max), "bits": jnp.finfo(dtype).bits}
print(naive.dtype, s.dtype, eps.dtype, info["bits"], abs(float(s) - exact) <= 1)
s is c
---
dtype = jnp.float16
---
xs = xs * -1

### lnu-complex-mandelbrot-counts-and-roots
re, im = np.linspace(-2, 1, 6), np.linspace(-1, 1, 5)
cap = 6
coeffs = [1, 0, 0, -1]
---
c = jnp.asarray(re[None] + 1j * im[:, None])
z, counts = jnp.zeros_like(c), jnp.zeros(c.shape, jnp.uint8)
for _ in range(cap):
    alive = jnp.abs(z) <= 2
    z = jnp.where(alive, z * z + c, z)
    counts += alive
rows = ["".join(" .:-=+*#%@"[min(int(v), 9)] for v in r) for r in counts]
roots = jnp.roots(jnp.array(coeffs, jnp.float32), strip_zeros=False)
ang = sorted(round(cmath.phase(complex(q)), 3) for q in roots)
conj = jnp.allclose(jnp.sort_complex(roots), jnp.sort_complex(jnp.conj(roots)), atol=1e-4)
print("\n".join(rows))
len(ang), bool(conj), counts.dtype
---
cap = 3
---
coeffs = [1.0, -3.0, 2.0]; re = re[:3]

### lnu-keys-old-new-wrap-and-foldin
old = jax.random.PRNGKey(7)
new = jax.random.key(7)
names = ["w", "b"]
store = {}
---
assert jnp.array_equal(jax.random.key_data(new), old)
wrapped = jax.random.wrap_key_data(old)
subs = {n: jax.random.fold_in(new, sum(n.encode())) for n in names}
for n, k in subs.items():
    store[n] = (k, jax.random.uniform(k, (2,)))
pair = jax.random.split(old)
a, b = pair
same = bool((jax.random.normal(wrapped, (3,)) == jax.random.normal(old, (3,))).all())
new = jax.random.clone(new)
print(new.dtype, old.dtype, pair.shape, same, jnp.issubdtype(new.dtype, jax.dtypes.prng_key), str(jax.random.key_impl(new)))
store
---
names.append("z")
---
new = jax.random.key(9); old = jax.random.key_data(new)
---
new, old = jax.random.key(1), jax.random.PRNGKey(1)

### lnu-structured-stars-catalogue
stars = np.array([(b"vega", 0.03, 7.7), (b"deneb", 1.25, 800.0), (b"sirius", -1.46, 2.6)], dtype=[("name", "S8"), ("mag", "f4"), ("dist", "f8")])
limit = 1.0
---
absmag = jnp.asarray(stars["mag"]) - 5 * jnp.log10(stars["dist"] / 10)
stars["dist"][np.asarray(absmag) < -5] *= 0.5
out = np.zeros(len(stars), dtype=stars.dtype.descr + [("abs", "f4")])
for f in stars.dtype.names:
    out[f] = stars[f]
out["abs"] = absmag
bright = np.sort(out[out["mag"] < limit], order="abs")
rec = bright.view(np.recarray)
labels = [n.decode() for n in rec.name]
lum = {l: float(v) for l, v in zip(labels, 10 ** (-0.4 * jnp.asarray(bright["abs"])))}
print(labels, out.dtype.names, type(rec).__name__, sorted(lum))
---
limit = 2
---
stars["mag"][0] = -3

### lnu-masked-array-sensor-gap-fill
raw = np.array([1.0, -999.0, 3.0, 4.0, -999.0, 6.0])
bad = -999.0
---
ma = np.ma.masked_equal(raw, bad)
vals, good = jnp.asarray(ma.filled(np.nan)), jnp.asarray(~np.ma.getmaskarray(ma))
i = jnp.arange(len(raw))
filled = jnp.interp(i, i[good], vals[good])
anomaly = np.ma.array(np.asarray(filled - jnp.nanmean(vals)), mask=~np.asarray(good))
ma[np.asarray(filled) > 5] = np.ma.masked
total = anomaly.sum()
print(anomaly, ma.count(), type(total).__name__, raw[1])
filled
---
bad = 4.0
---
raw = raw.copy(); raw[0] = -999

### lnu-datetime64-seasonal-fit
days = np.arange("2023-01-01", "2023-03-01", 7, dtype="datetime64[D]")
vals = jnp.sin(jnp.arange(len(days)))
origin = np.datetime64("2023-01-01")
---
rel = (days - origin) / np.timedelta64(1, "D")
D = jnp.stack([jnp.ones(len(rel)), jnp.asarray(rel) / 30, jnp.cos(2 * jnp.pi * rel / 30)], 1)
coef, res, rank, sv = jnp.linalg.lstsq(D, vals)
fit = D @ coef
worst = days[int(jnp.argmax(jnp.abs(fit - vals)))]
month = days.astype("datetime64[M]").astype(int) % 12 + 1
by_month = {int(m): vals[month == m].mean() for m in np.unique(month)}
nxt = (worst + np.timedelta64(1, "D")).item()
print(worst, by_month.keys(), type(nxt).__name__, rank, days[np.asarray(vals > 0)][0])
---
origin = np.datetime64("2022-12-31")
---
days = days[:5]; vals = vals[:5] * 3

### lnu-segment-sum-graph-string-labels
edges = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("d", "a")]
damp, iters = 0.85, 5
---
nodes = sorted({n for e in edges for n in e})
ix = {n: i for i, n in enumerate(nodes)}
src, dst = (jnp.array([ix[e[j]] for e in edges]) for j in (0, 1))
deg = jax.ops.segment_sum(jnp.ones(len(edges)), src, num_segments=len(nodes))
pr = jnp.full(len(nodes), 1 / len(nodes))
for _ in range(iters):
    pr = (1 - damp) / len(nodes) + damp * jax.ops.segment_sum(pr[src] / deg[src], dst, len(nodes))
top = max(nodes, key=lambda n: pr[ix[n]])
mx = jax.ops.segment_max(pr[src], dst, num_segments=len(nodes))
order = [nodes[i] for i in jnp.argsort(-pr)]
print(top, order, jnp.isneginf(mx).tolist())
ranks = dict(zip(nodes, pr))
---
edges.append(("d", "e"))
---
damp = 0.5; edges = edges[1:4]

### lnu-ragged-list-bucket-and-pad
seqs = [[1, 2], [3], [4, 5, 6, 7], [8, 9, 10]]
buckets, pad = (2, 4), 0
table = jnp.arange(12.0) ** 0.5
stats = collections.Counter()
---
groups = collections.defaultdict(list)
for s in seqs:
    groups[buckets[bisect.bisect_left(buckets, len(s))]].append(s)
pooled = {}
for L, ss in groups.items():
    arr = np.full((len(ss), L), pad)
    for r, s in zip(arr, ss):
        r[:len(s)] = s
    mask = jnp.arange(L) < jnp.array([len(s) for s in ss])[:, None]
    pooled[L] = jnp.sum(table[arr] * mask, 1) / mask.sum(1)
    stats[L] += len(ss)
flat = jnp.concatenate(list(pooled.values()))
print(dict(stats), list(groups), flat.shape)
flat
---
seqs.append([2, 2, 2])
---
buckets = (1, 3, 8); stats.clear()

### lnu-argsort-stable-labels-rank-ties
names = np.array(["kim", "lee", "ana", "bob", "zoe"])
scores = jnp.array([3.0, 1.0, 3.0, jnp.nan, 2.0])
descending = True
---
order = jnp.argsort(scores, descending=descending, stable=True)
board = names[np.asarray(order)]
ranks = jnp.empty(len(names), int).at[order].set(jnp.arange(len(names)))
uniq, inv, cnt = np.unique(np.asarray(scores), return_inverse=True, return_counts=True)
pos = jnp.searchsorted(jnp.sort(scores), jnp.array([1.5, 3.0]), side="right")
vals, idx = lax.top_k(jnp.nan_to_num(scores), 2)
leaders = {str(n): v for n, v in zip(names[np.asarray(idx)], vals)}
width = max(map(len, board))
for r, n in enumerate(board, 1):
    print(f"{r}. {n:<{width}} {scores[list(names).index(n)]:.1f}")
pos, list(leaders)
---
descending = False
---
scores = scores.astype(jnp.bfloat16) + 1; names[0] = "max"

### lnu-custom-vjp-logsumexp-counting-bwd
bwd_calls = []
@jax.custom_vjp
def lse(v): return jnp.log(jnp.sum(jnp.exp(v - v.max()))) + v.max()
def fwd(v):
    y = lse(v)
    return y, (v, y)
def bwd(res, g):
    v, y = res
    bwd_calls.append(v.shape)
    return (g * jnp.exp(v - y),)
lse.defvjp(fwd, bwd)
scale = 2.0
---
y, pull = jax.vjp(lse, t * scale)
(g,) = pull(jnp.ones_like(y))
gg = jax.grad(lambda v: lse(v) ** 2)(t)
J = jax.jacrev(lambda v: jnp.stack([lse(v), lse(-v)]))(t)
ok = np.isclose(float(g.sum()), 1.0, atol=1e-5)
(g2,) = pull(y)
print(ok, len(bwd_calls), J.shape)
y
---
scale = -1
---
bwd_calls.clear(); t = t[:4].astype(jnp.bfloat16)

### lnu-checkpoint-npz-resume-simulation
path = pathlib.Path("sim.npz")
class Sim:
    def __init__(self, n): self.x, self.v, self.step = jnp.linspace(-1, 1, n), jnp.zeros(n), 0
    def advance(self, k, dt=0.1):
        def f(c, _):
            x, v = c
            v = v - dt * jnp.sin(x)
            return (x + dt * v, v), 0.5 * (v ** 2).sum()
        (self.x, self.v), e = lax.scan(f, (self.x, self.v), length=k)
        self.step += k
        return e
sim, k = Sim(4), 3
---
if path.exists():
    with np.load(path) as z:
        sim.x, sim.v, sim.step = jnp.asarray(z["x"]), jnp.asarray(z["v"]), int(z["step"])
    resumed = True
else:
    resumed = False
energies = sim.advance(k)
np.savez(path, **{n: np.asarray(v) for n, v in vars(sim).items()})
print(resumed, sim.step, energies.shape)
vars(sim).keys()
---
k = 2
---
path = pathlib.Path("sim2.npz"); sim = Sim(5)

### lnu-associative-scan-ema-and-cumops
series = jnp.array([1.0, 4.0, 2.0, 8.0, 5.0, 7.0])
alphas = [0.5, 0.1]
---
emas = {}
for a in alphas:
    coef = jnp.full_like(series, 1 - a).at[0].set(0)
    drive = (a * series).at[0].set(series[0])
    _, emas[a] = lax.associative_scan(lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (coef, drive))
peak = lax.cummax(series)
dd = (series - peak) / peak
streaks = list(itertools.accumulate((series[1:] > series[:-1]).tolist(), lambda n, up: n + 1 if up else 0))
lag = {k: jnp.corrcoef(series[k:], series[:-k])[0, 1] for k in (1, 2)}
print(streaks, min(dd.tolist()), list(emas), [v.dtype.name for v in lag.values()])
emas[alphas[0]][-1]
---
alphas = [jnp.float32(0.3).item(), 1]
---
series = (series * 10).astype(int)

### lnu-welford-running-stats-dunder-class
class Running:
    __slots__ = ("n", "mean", "m2")
    def __init__(self): self.n, self.mean, self.m2 = 0, 0.0, 0.0
    def __iadd__(self, v):
        self.n += 1
        d = v - self.mean
        self.mean += d / self.n
        self.m2 += d * (v - self.mean)
        return self
    def __format__(self, spec): return f"{format(float(jnp.mean(self.mean)), spec)}±{format(float(jnp.sqrt(jnp.mean(self.m2) / max(self.n - 1, 1))), spec)}"
    def __bool__(self): return self.n > 0
    def __array__(self, dtype=None, copy=None): return np.asarray(self.mean, dtype)
run = Running()
batch = t.reshape(4, 4)
---
fresh = not run
for row in batch:
    run += row
sd = jnp.sqrt(run.m2 / (run.n - 1))
z = (batch[-1] - np.asarray(run)) / sd
print(f"{run:.3f}", fresh, run.n, np.asarray(run).dtype)
z
---
batch = batch * 10
---
run = Running(); batch = t.reshape(8, 2)

### lnu-quadrature-fractions-decimal-python-numbers
a, b, order = fractions.Fraction(0), fractions.Fraction(1, 2), 3
price = decimal.Decimal("1.10")
---
xs, ws = np.polynomial.legendre.leggauss(order)
mid, half = float((a + b) / 2), float((b - a) / 2)
I = half * jnp.sum(ws * jnp.exp(-(mid + half * xs) ** 2))
simpson = (b - a) / 6 * (fractions.Fraction(1) + 4 + 1)
total = jnp.float32(float(price)) * I
price *= 2
err = abs(float(I) - math.sqrt(math.pi) / 2 * math.erf(float(b)))
trap = jnp.trapezoid(jnp.exp(-jnp.linspace(0, 0.5, 9) ** 2), dx=0.0625)
print(simpson, price, err < 1e-4, I.dtype, type(half).__name__)
total, trap
---
order = 5
---
b = fractions.Fraction(3, 4); price = decimal.Decimal("0.05")

### lnu-sparse-bcoo-cg-and-matvec-counter
from jax.experimental import sparse
n = 6
Ad = np.diag(np.full(n, 2.0)) + np.diag(np.full(n - 1, -1.0), 1) + np.diag(np.full(n - 1, -1.0), -1)
calls = {"mv": 0}
pre = None
---
A = sparse.BCOO.fromdense(Ad)
def mv(v):
    calls["mv"] += 1
    return A @ v
rhs = jnp.ones(n)
x, info = jax.scipy.sparse.linalg.cg(mv, rhs, tol=1e-5, maxiter=10, M=pre)
B = (A.T @ A).todense() if n < 5 else A.T @ A.todense()
nse, dens = A.nse, A.nse / A.size
res = jnp.linalg.norm(Ad @ x - rhs)
print(nse, info, calls["mv"] > 0, type(A).__name__, A.data.dtype, A.indices.dtype)
bool(res < 1e-3)
---
Ad[0, 1] = 0.0; Ad[1, 0] = 0
---
pre = lambda v: v / 2
---
n = 4; Ad = np.eye(4) * 3

### lnu-units-class-with-array-ufunc
class Q:
    __array_priority__ = 1000
    def __init__(self, v, unit): self.v, self.unit = v, unit
    def __mul__(self, o): return Q(self.v * o.v, f"{self.unit}*{o.unit}") if isinstance(o, Q) else Q(self.v * o, self.unit)
    __rmul__ = __mul__
    def __add__(self, o):
        if self.unit != o.unit:
            raise TypeError(f"{self.unit} + {o.unit}")
        return Q(self.v + o.v, self.unit)
    def __jax_array__(self): return jnp.asarray(self.v)
    def __repr__(self): return f"{np.shape(self.v)} {self.unit}"
m, s, errs = Q(t, "m"), Q(2.0, "s"), []
---
area = m * m
work = 3 * m + m
try:
    bad = m + s
except TypeError as e:
    errs.append(e.args[0])
joined = jnp.concatenate([jnp.asarray(m.v), jnp.asarray(work.v)])
speed = Q(m.v / s.v, "m/s")
table = {repr(q): q for q in (area, work, speed)}
print(list(table), errs[-1])
jnp.sin(speed.v)
---
s.v = jnp.arange(1.0, 17.0)
---
s.unit = "m"; s.v = t; errs.append("none")

### lnu-jet-taylor-and-nth-derivative-loop
from jax.experimental.jet import jet
order, x0 = 4, 0.3
def f(x): return jnp.exp(jnp.sin(x))
---
ders, g = [], f
for _ in range(order):
    ders.append(g(x0))
    g = jax.grad(g)
y0, (y1, *rest) = jet(f, (x0,), ((1.0,) + (0.0,) * (order - 2),))
taylor = sum(d * 0.1 ** i / math.factorial(i) for i, d in enumerate(ders))
exact = f(x0 + 0.1)
gap = abs(taylor - exact)
hess = jax.jvp(jax.grad(f), (x0,), (1.0,))[1]
print(len(ders), [d.weak_type for d in ders], taylor.weak_type, len(rest), bool(gap < 1e-3))
hess
---
x0 = jnp.float32(1.0)
---
order = 3
---
def f(x): return x ** 4 - 2 * x

### lnu-report-markdown-with-units-and-locale
results = [{"run": i, "loss": jnp.float32(1 / (i + 1)), "acc": 0.5 + 0.1 * i} for i in range(3)]
digits, out = 3, pathlib.Path("report.md")
---
cols = list(results[0])
head = "| " + " | ".join(cols) + " |"
body = ["| " + " | ".join(f"{v:.{digits}g}" if not isinstance(v, int) else f"{v:,d}" for v in r.values()) + " |" for r in results]
best = min(results, key=operator.itemgetter("loss"))
best["mark"] = best["loss"] is results[-1]["loss"]
text = "\n".join([head, "|" + "---|" * len(cols), *body, "", f"best: run {best['run']:03d} ({best['loss']:.1%})"])
out.write_text(text + "\n", encoding="utf-8")
spread = max(r["loss"] for r in results) - min(r["loss"] for r in results)
stamp = datetime.datetime(2024, 5, 1, 12) + datetime.timedelta(seconds=float(spread))
print(text.splitlines()[-1], stamp.isoformat(timespec="seconds"))
results[-1].pop("mark")
---
digits = 2
---
results.append({"run": 1000, "loss": jnp.float32(0.01), "acc": 1})

### lnu-sensor-queue-drained-in-method
import queue
class Sensor:
    def __init__(self, vals):
        self.q = queue.Queue()
        for v in vals:
            self.q.put(v)
    def read(self, k): return [self.q.get() for _ in range(k)]
sensor, level, alarms = Sensor([0.1, 0.4, 0.2, 0.9, 0.8, 0.3] * 4), jnp.zeros(()), []
---
window = jnp.array(sensor.read(3)) * t[:3]
level = 0.5 * level + window.mean()
if level > 0.02:
    alarms.append(float(level))
print(sensor.q.qsize(), len(alarms))
---
sensor = Sensor([0.0] * 9)
---
level = jnp.float32(1.0)

### lnu-named-quantities-by-mixed-keys
obs = {"mass": 2.0, 0: 1.0, ("x", "y"): 0.5}
---
res = {k: jnp.cumsum(t * v) for k, v in obs.items()}
sens = jax.grad(lambda s: jnp.sum(jnp.sin(s * t)))(0.3)
tops = {k: v[-1] for k, v in res.items()}
tops["mass"] * sens
---
obs[None] = 1
---
obs.pop(0)
""",
)
