"""Inference and simulation as it is published: numpyro, diffrax, processes, filters, sparse systems, grids and images."""

from ..cell import written

PRELUDE = """
import collections, contextlib, functools, itertools, math, operator, random
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import partial, reduce, lru_cache
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### rn-numpyro-mle-helper-returns-a-namespace-of-substituted-model needs=numpyro,optax tolerance=5e-3
import argparse, numpyro, numpyro.distributions as dist, optax
import numpyro.handlers as H
from numpyro.infer import SVI, Trace_ELBO, autoguide
def fit(model, tx, key, steps, *args, **kw):
    guide = autoguide.AutoDelta(model)
    svi = SVI(model, guide, tx, loss=Trace_ELBO())
    res = svi.run(key, steps, *args, progress_bar=False, **kw)
    point = guide.median(res.params)
    return argparse.Namespace(model=H.substitute(model, data=point), point=point, losses=res.losses)
def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0, 3))
    s = numpyro.sample("s", dist.HalfNormal(2))
    with numpyro.plate("n", len(x)):
        return numpyro.sample("y", dist.StudentT(4, a * x, s), obs=y)
x = np.linspace(-1, 1, 25, dtype=np.float32); y = 1.7 * x + 0.2 * np.random.default_rng(1).normal(size=25).astype("f")
tx, steps, key = optax.adam(0.05), 25, jr.PRNGKey(0)
---
found = fit(model, tx, key, steps, x, y=y)
trace = H.trace(H.seed(found.model, jr.PRNGKey(1))).get_trace(x)
logp = trace["y"]["fn"].log_prob(y).sum()
for name, value in sorted(found.point.items()):
    print(f"{name} = {value:.2f}")
logp, found.losses[-1], trace["y"]["value"].shape
---
y = -y
---
steps = 10
---
key = jr.PRNGKey(7); tx = optax.sgd(1e-3)

### rn-numpyro-pharmacokinetic-simulator-inside-a-model-short-nuts needs=numpyro tolerance=2e-2
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, Predictive, init_to_value
def simulate(dose, ka, ke, times):
    def deriv(state, dt):
        gut, blood = state
        return (gut - dt * ka * gut, blood + dt * (ka * gut - ke * blood)), blood
    dts = jnp.diff(times, prepend=0.0)
    return lax.scan(deriv, (dose, jnp.zeros_like(dose)), dts)[1]
def model(dose, times, obs=None):
    ka = numpyro.sample("ka", dist.LogNormal(0.0, 0.3))
    ke = numpyro.sample("ke", dist.LogNormal(-1.0, 0.3))
    conc = numpyro.deterministic("conc", simulate(dose, ka, ke, times))
    numpyro.sample("obs", dist.Normal(conc, 0.2).to_event(1), obs=obs)
times, dose = jnp.arange(0.0, 4.0, 0.5), jnp.float32(3.0)
truth = simulate(dose, 1.2, 0.4, times)
obs = truth + 0.1 * jr.normal(jr.PRNGKey(4), truth.shape)
n = 6
---
kernel = NUTS(model, init_strategy=init_to_value(values={"ka": 1.0, "ke": 0.35}), max_tree_depth=3)
mcmc = MCMC(kernel, num_warmup=4, num_samples=n, progress_bar=False)
mcmc.run(jr.PRNGKey(2), dose, times, obs=obs)
post = mcmc.get_samples()
pred = Predictive(model, post, return_sites=["conc"])(jr.PRNGKey(3), dose * 2, times)["conc"]
print(sorted(post), pred.shape, bool(jnp.isfinite(pred).all()))
{k: v.shape for k, v in post.items()}
---
n = 4
---
obs = obs[::-1]
---
dose = jnp.float32(1.0)

### rn-numpyro-log-density-own-laplace-and-importance-weights needs=numpyro tolerance=2e-3
import numpyro, numpyro.distributions as dist
from numpyro.infer.util import log_density, initialize_model
from jax.flatten_util import ravel_pytree
def model(counts, exposure):
    rate = numpyro.sample("log_rate", dist.Normal(0.0, 1.0))
    slope = numpyro.sample("slope", dist.Normal(0.0, 0.5).expand([2]).to_event(1))
    eta = rate + exposure @ slope
    numpyro.sample("obs", dist.Poisson(jnp.exp(eta)), obs=counts)
exposure = jr.normal(jr.key(0), (12, 2)); counts = jnp.array([0, 1, 3, 2, 0, 1, 5, 2, 1, 0, 2, 4])
init = {"log_rate": jnp.array(0.1), "slope": jnp.zeros(2)}
iters, draws = 6, 32
---
flat, unravel = ravel_pytree(init)
nlp = lambda v: -log_density(model, (counts, exposure), {}, unravel(v))[0]
path = []
for i in range(iters):
    g, Hm = jax.grad(nlp)(flat), jax.hessian(nlp)(flat)
    flat = flat - jnp.linalg.solve(Hm, g)
    path.append(jnp.linalg.norm(g))
    if path[-1] < 1e-3:
        print("converged after", i)
        break
cov = jnp.linalg.inv(jax.hessian(nlp)(flat))
z = jr.multivariate_normal(jr.key(1), flat, cov, (draws,))
logw = -jax.vmap(nlp)(z) - jax.scipy.stats.multivariate_normal.logpdf(z, flat, cov)
w = jax.nn.softmax(logw)
ess = 1 / (w ** 2).sum()
mode = unravel(flat)
print(f"ess {ess / draws:.1f}")
mode, jnp.sqrt(jnp.diag(cov)), w @ z
---
counts = counts.at[3].set(9)
---
draws = 8
---
exposure = exposure * 2

### rn-numpyro-stochastic-volatility-prior-draws-and-summaries needs=numpyro tolerance=2e-3
import numpyro, numpyro.distributions as dist
from numpyro import handlers
def model(T):
    sigma = numpyro.sample("sigma", dist.Exponential(20.0))
    nu = numpyro.sample("nu", dist.Exponential(0.1))
    s = numpyro.sample("s", dist.GaussianRandomWalk(sigma, num_steps=T))
    return numpyro.sample("r", dist.StudentT(nu + 2, 0.0, jnp.exp(s)))
def quantiles(x, qs=(0.1, 0.5, 0.9)): return dict(zip(qs, jnp.quantile(x, jnp.array(qs), axis=0)))
T, draws, fixed = 8, 5, {}
---
conditioned = handlers.condition(model, fixed) if fixed else model
rows = []
for k in jr.split(jr.PRNGKey(11), draws):
    with handlers.seed(rng_seed=k), handlers.trace() as tr:
        conditioned(T)
    rows.append({n: s["value"] for n, s in tr.items() if s["type"] == "sample"})
table = jax.tree.map(lambda *v: jnp.stack(v), *rows)
band = quantiles(jnp.abs(table["r"]).max(-1))
log_joint = sum(jnp.sum(s["fn"].log_prob(s["value"])) for s in tr.values() if s["type"] == "sample")
print(len(rows), sorted(table), table["s"].shape)
band, log_joint
---
fixed = {"sigma": jnp.array(0.5)}
---
T = 4
---
draws = 2; fixed = {"nu": jnp.array(3.0), "sigma": jnp.array(0.01)}

### rn-diffrax-statistics-of-a-field-saved-beside-its-end needs=diffrax tolerance=2e-3
import diffrax
def laplace(u, dx): return (jnp.roll(u, 1) - 2 * u + jnp.roll(u, -1)) / dx ** 2
def rhs(t, u, args): return args["D"] * laplace(u, args["dx"]) + args["r"] * u * (1 - u)
def stats(t, u, args): return {"mean": u.mean(), "front": (u > 0.5).sum()}
n = 24
u0 = jnp.where(jnp.arange(n) < 3, 1.0, 0.0)
args = {"D": 0.05, "dx": 0.25, "r": 1.5}
T, frames, solver = 2.0, 5, diffrax.Heun()
---
saveat = diffrax.SaveAt(subs={"end": diffrax.SubSaveAt(t1=True), "along": diffrax.SubSaveAt(ts=jnp.linspace(0, T, frames), fn=stats)})
sol = diffrax.diffeqsolve(diffrax.ODETerm(rhs), solver, 0.0, T, 0.05, u0, args, saveat=saveat, max_steps=256)
end, along = sol.ys["end"][-1], sol.ys["along"]
speed = np.polyfit(np.linspace(0, T, frames), np.asarray(along["front"], float), 1)[0]
print(f"front moves {speed:.1f} cells a unit", sol.stats["num_steps"], sorted(along))
u0 = jnp.where(end > 0.99, 1.0, u0)
end.sum(), along["mean"]
---
args["r"] = 3.0
---
solver = diffrax.Tsit5()
---
T, frames = 1.0, 3; args = {**args, "D": 0.0}

### rn-diffrax-steps-by-hand-with-solver-interface-and-own-log needs=diffrax tolerance=2e-3
import diffrax
class Log(list):
    def note(self, t, y): self.append((round(float(t), 3), float(jnp.hypot(y[0], y[1]))))
vf = lambda t, y, w: jnp.array([y[1], -w ** 2 * y[0]])
term, solver = diffrax.ODETerm(vf), diffrax.Tsit5()
y0, t1, dt, w, tol = jnp.array([1.0, 0.0]), 1.0, 0.2, 2.0, 1e-3
---
t, y, h, log, rejected = 0.0, y0, dt, Log(), 0
state = solver.init(term, t, t + h, y, w)
made_jump = False
while t < t1 - 1e-9:
    h = min(h, t1 - t)
    y_new, err, dense, new_state, _ = solver.step(term, t, t + h, y, w, state, made_jump=made_jump)
    size = float(jnp.sqrt(jnp.mean((err / (tol + tol * jnp.abs(y_new))) ** 2)))
    if size <= 1.0:
        t, y, state = t + h, y_new, new_state
        log.note(t, y)
    else:
        rejected += 1
        state = solver.init(term, t, t + h, y, w)
    h *= min(4.0, max(0.2, 0.9 * (size + 1e-8) ** -0.2))
exact = jnp.array([jnp.cos(w * t1), -w * jnp.sin(w * t1)])
print(len(log) > 0, rejected >= 0, jnp.abs(y - exact).max() < 0.05)
y, exact
---
w = 6.0
---
tol = 1e-2; dt = 0.5
---
y0 = jnp.array([0.0, 3.0]); t1 = 0.5

### rn-diffrax-latent-force-interpolation-and-fitted-control needs=diffrax,equinox,optax tolerance=5e-3
import diffrax, equinox as eqx, optax
class Plant(eqx.Module):
    damping: jax.Array
    knots: jax.Array
    ts: np.ndarray = eqx.field(static=False)
    def __call__(self, y0, save):
        control = diffrax.LinearInterpolation(jnp.asarray(self.ts), self.knots)
        def vf(t, y, _): return jnp.stack([y[1], control.evaluate(t) - jax.nn.softplus(self.damping) * y[1]])
        return diffrax.diffeqsolve(diffrax.ODETerm(vf), diffrax.Midpoint(), 0.0, 1.0, 0.1, y0,
                                   saveat=diffrax.SaveAt(ts=save), max_steps=16).ys
ts = np.linspace(0, 1, 5).astype(np.float32)
plant = Plant(jnp.array(0.0), jnp.zeros(5), ts)
y0, goal, rounds = jnp.array([0.0, 0.0]), jnp.array([1.0, 0.0]), 3
tx = optax.adam(0.5)
where = lambda p: p.knots
---
mask = eqx.tree_at(where, jax.tree.map(lambda _: False, plant), True)
dyn, fixed = eqx.partition(plant, mask)
st = tx.init(dyn)
@eqx.filter_value_and_grad
def cost(d):
    end = eqx.combine(d, fixed)(y0, jnp.array([1.0]))[-1]
    return jnp.sum((end - goal) ** 2) + 1e-3 * jnp.sum(d.knots ** 2)
costs = []
for _ in range(rounds):
    c, g = cost(dyn)
    u, st = tx.update(g, st)
    dyn = eqx.apply_updates(dyn, u)
    costs.append(c)
plant = eqx.combine(dyn, fixed)
print(*[f"{float(c):.2f}" for c in costs], type(plant.ts).__name__)
jnp.stack(costs), plant.knots
---
goal = jnp.array([-0.5, 0.0])
---
rounds = 1
---
plant = Plant(jnp.array(2.0), jnp.zeros(5), ts)

### rn-experimental-odeint-torsion-balance-with-fft-of-the-result tolerance=2e-3
from jax.experimental.ode import odeint
I, damping, drive = 1.5, 0.2, 0.8
def make_rhs(potential):
    force = jax.grad(potential)
    def rhs(state, t, *params):
        theta, omega = state
        return jnp.array([omega, (-force(theta, *params) - damping * omega + drive * jnp.cos(2.0 * t)) / I])
    return rhs
def potential(th, k, k3): return 0.5 * k * th ** 2 + 0.25 * k3 * th ** 4
t = np.arange(0, 6.4, 0.2)
params = (2.0, 0.5)
---
traj = odeint(make_rhs(potential), jnp.array([0.3, 0.0]), jnp.asarray(t), *params, rtol=1e-5, atol=1e-5)
spectrum = jnp.abs(jnp.fft.rfft(traj[:, 0] - traj[:, 0].mean()))
freqs = np.fft.rfftfreq(len(t), d=t[1] - t[0])
peak = freqs[int(spectrum.argmax())]
energy = 0.5 * I * traj[:, 1] ** 2 + jax.vmap(partial(potential, k=params[0], k3=params[1]))(traj[:, 0])
print(f"peak at {peak:.3f} Hz, {freqs.dtype}, {traj.dtype}")
energy[::8], traj[-1]
---
damping = 0.0
---
params = (4.0, 0.0); drive = 0.1
---
potential = lambda th, k, k3: k * (1 - jnp.cos(th)) + 0 * k3

### rn-bayes-opt-class-with-kernels-restarts-and-best-so-far tolerance=5e-3
def rbf(ls): return lambda a, b: jnp.exp(-0.5 * ((a[:, None] - b[None]) / ls) ** 2)
def matern(ls): return lambda a, b: (1 + (d := math.sqrt(3) * jnp.abs(a[:, None] - b[None]) / ls)) * jnp.exp(-d)
class BO:
    def __init__(self, f, bounds, kernel, noise=1e-3, seed=0):
        self.f, self.bounds, self.kernel, self.noise = f, bounds, kernel, noise
        self.key = jr.key(seed)
        self.X, self.y = [], []
    def tell(self, *xs):
        for x in xs:
            self.X.append(float(x))
            self.y.append(self.f(x))
    def posterior(self, q):
        X, y = jnp.array(self.X), jnp.stack(self.y)
        self.mu = y.mean()
        L = jnp.linalg.cholesky(self.kernel(X, X) + self.noise * jnp.eye(len(X)))
        Ks = self.kernel(X, q)
        a = jax.scipy.linalg.cho_solve((L, True), y - self.mu)
        v = jax.scipy.linalg.solve_triangular(L, Ks, lower=True)
        return self.mu + Ks.T @ a, jnp.sqrt(jnp.maximum(1 - (v ** 2).sum(0), 1e-9))
    def ei(self, q):
        m, s = self.posterior(q)
        z = (m - max(self.y)) / s
        return s * (z * jax.scipy.stats.norm.cdf(z) + jax.scipy.stats.norm.pdf(z))
    def ask(self, n=64):
        self.key, sub = jr.split(self.key)
        q = jr.uniform(sub, (n,), minval=self.bounds[0], maxval=self.bounds[1])
        return q[self.ei(q).argmax()]
f = lambda x: -jnp.sin(3 * x) - x ** 2 + 0.7 * x
kernel, start, iters = rbf(0.4), (-0.9, 1.1), 3
---
bo = BO(f, (-1.0, 2.0), kernel)
bo.tell(*start)
best = []
for i in range(iters):
    bo.tell(bo.ask())
    best.append(max(range(len(bo.y)), key=lambda j: bo.y[j]))
x_best = bo.X[best[-1]]
print(len(bo.X), best, f"{x_best:.1f}")
bo.posterior(jnp.array(bo.X))[0] - jnp.stack(bo.y), type(bo.X[-1]).__name__
---
kernel = matern(0.5)
---
iters = 2; start = (-0.5, 0.0, 0.5)
---
f = lambda x: jnp.cos(5 * x)

### rn-gp-with-periodic-and-changepoint-kernels-composed-by-operators x64 tolerance=1e-6
class K:
    def __init__(self, fn, **hp): self.fn, self.hp = fn, hp
    def __call__(self, a, b, th=None): return self.fn(a[:, None], b[None, :], **(th or self.hp))
    def __add__(self, o): return Pair(self, o, jnp.add, "+")
    def __mul__(self, o): return Pair(self, o, jnp.multiply, "*")
    def __repr__(self): return f"{self.fn.__name__}({', '.join(f'{k}={v:.2f}' for k, v in self.hp.items())})"
class Pair(K):
    def __init__(self, l, r, op, sign): self.l, self.r, self.op, self.sign = l, r, op, sign
    hp = property(lambda s: (s.l.hp, s.r.hp))
    def __call__(self, a, b, th=None):
        tl, t2 = th or (None, None)
        return self.op(self.l(a, b, tl), self.r(a, b, t2))
    def __repr__(self): return f"({self.l!r} {self.sign} {self.r!r})"
def se(a, b, ls): return jnp.exp(-((a - b) / ls) ** 2 / 2)
def per(a, b, p, ls): return jnp.exp(-2 * jnp.sin(jnp.pi * (a - b) / p) ** 2 / ls ** 2)
t = np.linspace(0, 4, 20); y = np.sin(2 * np.pi * t / 1.3) + 0.2 * t
kern, steps, lr = K(se, ls=2.0) * K(per, p=1.2, ls=1.0) + K(se, ls=5.0), 3, 0.001
---
def nll(th):
    C = kern(t, t, th) + 0.05 * jnp.eye(len(t))
    L = jnp.linalg.cholesky(C)
    a = jax.scipy.linalg.cho_solve((L, True), y)
    return 0.5 * y @ a + jnp.log(jnp.diag(L)).sum()
theta = jax.tree.map(jnp.asarray, kern.hp)
values = []
for _ in range(steps):
    v, g = jax.value_and_grad(nll)(theta)
    theta = jax.tree.map(lambda w, d: w * jnp.exp(-lr * w * d), theta, g)
    values.append(v)
print(kern, values[-1].dtype, y.dtype)
jnp.stack(values), jax.tree.leaves(theta)
---
y = y - 0.2 * t
---
kern = K(per, p=1.3, ls=0.8) + K(se, ls=1.0)
---
steps, lr = 1, 0.0

### rn-unscented-kalman-tracker-with-sigma-point-dataclass tolerance=5e-3
@dataclass
class Track:
    x: jax.Array
    P: jax.Array
    log: list = field(default_factory=list)
def sigma_points(x, P, kappa):
    n = len(x)
    L = jnp.linalg.cholesky((n + kappa) * P)
    pts = jnp.concatenate([x[None], x + L.T, x - L.T])
    w = jnp.full(2 * n + 1, 0.5 / (n + kappa)).at[0].set(kappa / (n + kappa))
    return pts, w
def unscented(f, pts, w, noise):
    z = jax.vmap(f)(pts)
    m = w @ z
    d = z - m
    return m, (w[:, None] * d).T @ d + noise, d
def move(s, dt=0.5): return jnp.array([s[0] + dt * s[2], s[1] + dt * s[3], s[2], s[3]])
def radar(s): return jnp.array([jnp.hypot(s[0], s[1]), jnp.arctan2(s[1], s[0])])
Q, R, kappa = 0.01 * np.eye(4), np.diag([0.1, 0.01]), 1.0
truth = np.stack([[3 + 0.5 * k, 4 - 0.1 * k] for k in range(5)])
obs = [np.array([np.hypot(*p), np.arctan2(p[1], p[0])]) for p in truth]
obs[2] = None
---
track = Track(jnp.array([2.5, 4.5, 0.0, 0.0]), jnp.eye(4))
for k, z in enumerate(obs):
    pts, w = sigma_points(track.x, track.P, kappa)
    x, P, dx = unscented(move, pts, w, Q)
    if z is None:
        track.log.append((k, "miss"))
    else:
        zp, S, dz = unscented(radar, pts := sigma_points(x, P, kappa)[0], w, R)
        K = ((w[:, None] * (pts - x)).T @ dz) @ jnp.linalg.inv(S)
        x, P = x + K @ (z - zp), P - K @ S @ K.T
        track.log.append((k, float(jnp.linalg.norm(z - zp))))
    track.x, track.P = x, (P + P.T) / 2
print([v if isinstance(v, str) else f"{v:.1f}" for _, v in track.log])
track.x, jnp.linalg.eigvalsh(track.P), np.linalg.norm(np.asarray(track.x)[:2] - truth[-1]) < 3
---
obs[2] = obs[1]
---
kappa = 0.5
---
R = R * 10; obs[0] = None

### rn-dirichlet-mixture-em-with-empty-component-respawned tolerance=5e-3
class Mixture:
    def __init__(self, k, key, floor=0.05): self.k, self.key, self.floor, self.respawned = k, key, floor, 0
    def start(self, X):
        self.key, sub = jr.split(self.key)
        self.mu = X[jr.choice(sub, len(X), (self.k,), replace=False)]
        self.var, self.pi = jnp.ones((self.k, X.shape[1])), jnp.full(self.k, 1 / self.k)
        return self
    def e_step(self, X):
        lp = -0.5 * (((X[:, None] - self.mu) ** 2 / self.var) + jnp.log(2 * jnp.pi * self.var)).sum(-1) + jnp.log(self.pi)
        norm = jax.nn.logsumexp(lp, 1, keepdims=True)
        return jnp.exp(lp - norm), norm.mean()
    def m_step(self, X, r):
        n = r.sum(0)
        for j in np.flatnonzero(np.asarray(n) < self.floor * len(X)):
            worst = int(r.max(1).argmin())
            r = r.at[:, j].set(0.0).at[worst].set(jax.nn.one_hot(int(j), self.k))
            self.respawned += 1
        n = r.sum(0) + 1e-6
        self.pi, self.mu = n / n.sum(), (r.T @ X) / n[:, None]
        self.var = jnp.einsum("nk,nkd->kd", r, (X[:, None] - self.mu) ** 2) / n[:, None] + 0.05
rng = np.random.default_rng(3)
X = jnp.asarray(np.concatenate([rng.normal(m, 0.3, (15, 2)) for m in ((0, 0), (3, 1), (-2, 2))]), jnp.float32)
k, seed, tol = 3, 1, 1e-3
---
mix = Mixture(k, jr.key(seed)).start(X)
curve = [-math.inf]
for it in range(8):
    r, ll = mix.e_step(X)
    mix.m_step(X, r)
    curve.append(float(ll))
    if curve[-1] - curve[-2] < tol:
        break
sizes = Counter(np.asarray(r.argmax(1)).tolist())
print(mix.respawned, sorted(sizes.values()), len(curve) > 2)
jnp.sort(mix.pi), mix.mu[jnp.argsort(mix.mu[:, 0])]
---
seed = 5
---
k = 2
---
X = X[:30]; k = 3; tol = 1e-1

### rn-mini-batch-kmeans-with-counts-decayed-rates-and-label-printing
def nearest(X, C): return ((X[:, None] - C[None]) ** 2).sum(-1).argmin(1)
class MiniBatchKMeans:
    def __init__(self, k, batch=8, rng=None): self.k, self.batch, self.rng = k, batch, rng or np.random.default_rng(0)
    def fit(self, X, rounds):
        self.C = jnp.asarray(X[self.rng.choice(len(X), self.k, replace=False)])
        self.counts = np.zeros(self.k, int)
        for _ in range(rounds):
            B = X[self.rng.integers(0, len(X), self.batch)]
            for x, j in zip(B, nearest(B, self.C).tolist()):
                self.counts[j] += 1
                self.C = self.C.at[j].add((x - self.C[j]) / self.counts[j])
        return self
    def __getitem__(self, j): return self.C[j], int(self.counts[j])
    def __len__(self): return self.k
rng = np.random.default_rng(8)
X = (rng.integers(0, 3, (40, 1)) * 4 + rng.normal(size=(40, 2)) * 0.3).astype(np.float32)
k, rounds = 3, 3
---
km = MiniBatchKMeans(k, rng=np.random.default_rng(1)).fit(X, rounds)
labels = nearest(X, km.C)
inertia = jax.ops.segment_sum(((X - km.C[labels]) ** 2).sum(1), labels, num_segments=k)
for j, (centre, n) in enumerate(km[j] for j in range(len(km))):
    print(j, n, np.round(np.asarray(centre), 1).tolist())
inertia, km.counts
---
k = 2
---
rounds = 5
---
X[:10] += 20

### rn-sparse-laplacian-bcoo-with-todense-grad-and-fiedler-cut
from jax.experimental import sparse
edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)]
def laplacian(n, edges, w):
    i, j = np.array(edges).T
    rows, cols = np.r_[i, j, i, j], np.r_[j, i, i, j]
    data = jnp.concatenate([-w, -w, w, w])
    return sparse.BCOO((data, jnp.asarray(np.stack([rows, cols], 1))), shape=(n, n)).sum_duplicates(nse=2 * len(edges) + n)
def power(M, v, iters):
    for _ in range(iters):
        v = v - v.mean()
        v = M @ v
        v = v / jnp.linalg.norm(v)
    return v
w, iters = jnp.ones(len(edges)), 20
---
n = max(map(max, edges)) + 1
L = laplacian(n, edges, w)
shift = 2 * float(jnp.abs(L.data).max())
M = sparse.BCOO.fromdense(shift * jnp.eye(n)) - L
v = power(M, jnp.arange(n, dtype=jnp.float32), iters)
cut = {i for i, s in enumerate(np.sign(np.asarray(v))) if s > 0}
quad = lambda ww: v @ (laplacian(n, edges, ww) @ v)
between = sum(1 for a, b in edges if (a in cut) != (b in cut))
print(repr(L), sorted(cut), between)
jax.grad(quad)(w), L.todense().sum(0), sparse.bcoo_reduce_sum(L, axes=(0, 1)).todense()
---
w = w.at[-1].set(0.1)
---
edges.append((0, 5)); w = jnp.append(w, 0.1)
---
iters = 5; edges.pop(0); w = w[1:]

### rn-linalg-expm-polar-logm-and-kron-sums-in-float64 x64
A = np.array([[0.0, -1.0, 0.2], [1.0, 0.0, 0.1], [0.0, 0.3, -0.5]])
def polar(M, iters):
    U = jnp.asarray(M)
    for _ in range(iters):
        U = 0.5 * (U + jnp.linalg.inv(U).T)
    return U, U.T @ M
def kron_sum(*Ms): return reduce(lambda a, b: jnp.kron(a, jnp.eye(len(b))) + jnp.kron(jnp.eye(len(a)), b), Ms)
iters, t = 6, 0.7
---
E = jax.scipy.linalg.expm(t * A)
U, H = polar(E, iters)
dE, dir_ = jax.jvp(lambda s: jax.scipy.linalg.expm(s * A), (t,), (1.0,))
residual = np.abs(dir_ - A @ E).max()
big = kron_sum(A, A)
lam = np.sort_complex(np.linalg.eigvals(np.asarray(big)))
pairs = np.sort_complex(np.add.outer(*(2 * [np.linalg.eigvals(A)])).ravel())
print(residual < 1e-10, np.allclose(lam.sum(), pairs.sum()), lam.dtype, big.dtype)
U @ U.T, jnp.linalg.slogdet(H), np.trace(E)
---
t = -0.2
---
A = A * 2
---
iters = 2; A = A[:2, :2]

### rn-shallow-spectral-poisson-solver-with-cached-wavenumbers-and-callbacks tolerance=2e-3
@lru_cache(maxsize=4)
def wavenumbers(n, length):
    k = 2 * np.pi * np.fft.fftfreq(n, length / n)
    kx, ky = np.meshgrid(k, k, indexing="ij")
    k2 = kx ** 2 + ky ** 2
    k2[0, 0] = 1.0
    return kx.astype(np.float32), ky.astype(np.float32), k2.astype(np.float32)
def poisson(f, length):
    *_, k2 = wavenumbers(len(f), length)
    fh = jnp.fft.fft2(f) / -k2
    return jnp.fft.ifft2(fh.at[0, 0].set(0)).real
def step(w, dt, length, nu):
    kx, ky, k2 = wavenumbers(len(w), length)
    psi = jnp.fft.fft2(poisson(-w, length))
    u, v = jnp.fft.ifft2(1j * ky * psi).real, jnp.fft.ifft2(-1j * kx * psi).real
    wh = jnp.fft.fft2(w)
    wx, wy = jnp.fft.ifft2(1j * kx * wh).real, jnp.fft.ifft2(1j * ky * wh).real
    return jnp.fft.ifft2((wh - dt * jnp.fft.fft2(u * wx + v * wy)) / (1 + dt * nu * k2)).real
length, dt, nu, n = 2 * math.pi, 0.05, 0.01, 16
g = np.arange(n) * length / n
w0 = jnp.asarray(np.cos(g)[:, None] * np.sin(2 * g)[None, :], jnp.float32)
hooks = {"enstrophy": lambda w: 0.5 * (w ** 2).mean(), "max": lambda w: jnp.abs(w).max()}
---
w, record = w0, defaultdict(list)
for it in range(4):
    w = step(w, dt, length, nu)
    for name, hook in hooks.items():
        record[name].append(hook(w))
info = wavenumbers.cache_info()
print(info.currsize, info.misses, *(f"{k}={float(v[-1]):.3f}" for k, v in record.items()))
{k: jnp.stack(v) for k, v in record.items()}, w.mean()
---
nu = 0.1
---
hooks["x"] = lambda w: w[0, 0]; dt = 0.01
---
n = 8; g = np.arange(n) * length / n; w0 = jnp.asarray(np.sin(g)[:, None] * np.ones(n), jnp.float32)

### rn-image-bilateral-unsharp-and-histogram-match-on-uint8
def gaussian(size, s):
    r = np.arange(size) - size // 2
    k = np.exp(-r ** 2 / (2 * s * s))
    return (np.outer(k, k) / k.sum() ** 2).astype(np.float32)
def conv(img, k):
    p = len(k) // 2
    return jax.scipy.signal.convolve2d(jnp.pad(img, p, mode="reflect"), k, mode="valid")
def bilateral(img, radius, ss, sr):
    padded = jnp.pad(img, radius, mode="edge")
    num = den = jnp.zeros_like(img)
    for dy, dx in itertools.product(range(2 * radius + 1), repeat=2):
        shifted = padded[dy:dy + img.shape[0], dx:dx + img.shape[1]]
        w = math.exp(-((dy - radius) ** 2 + (dx - radius) ** 2) / (2 * ss ** 2)) * jnp.exp(-((shifted - img) ** 2) / (2 * sr ** 2))
        num, den = num + w * shifted, den + w
    return num / den
def match(src, ref):
    order, ref_sorted = jnp.argsort(src.ravel()), jnp.sort(ref.ravel())
    return jnp.zeros(src.size, ref.dtype).at[order].set(ref_sorted).reshape(src.shape)
yy, xx = np.mgrid[:12, :12]
image = ((np.hypot(yy - 5, xx - 6) < 4) * 120 + np.random.default_rng(0).integers(0, 60, (12, 12))).astype(np.uint8)
amount, radius = 1.5, 1
---
img = jnp.asarray(image) / 255
soft = bilateral(img, radius, 1.0, 0.2)
sharp = jnp.clip(img + amount * (img - conv(img, gaussian(3, 1.0))), 0, 1)
out = (sharp * 255).round().astype(jnp.uint8)
matched = match(soft, img)
wrapped = image + np.uint8(200)
print(out.dtype, wrapped.dtype, int(wrapped.min()), "".join(" .:#"[min(int(v * 4), 3)] for v in soft[5]))
jnp.abs(soft - img).mean(), matched.sum(), sharp.shape
---
amount = 0.0
---
image = 255 - image
---
radius = 2; image = image[:, :8]

### rn-two-body-regularised-integrator-namedtuple-with-energy-dict tolerance=1e-3
class Body(NamedTuple):
    q: jax.Array
    p: jax.Array
    m: float
def gravity(bodies, soft):
    for a, b in itertools.permutations(bodies, 2):
        d = bodies[b].q - bodies[a].q
        yield a, bodies[a].m * bodies[b].m * d / (d @ d + soft ** 2) ** 1.5
def kick(bodies, dt, soft):
    total = defaultdict(lambda: jnp.zeros(2))
    for name, f in gravity(bodies, soft):
        total[name] += f
    return {n: b._replace(p=b.p + dt * total[n]) for n, b in bodies.items()}
def drift(bodies, dt): return {n: b._replace(q=b.q + dt * b.p / b.m) for n, b in bodies.items()}
def energy(bodies, soft):
    kin = sum((b.p @ b.p) / (2 * b.m) for b in bodies.values())
    pot = -sum(x.m * y.m / jnp.sqrt(((x.q - y.q) ** 2).sum() + soft ** 2) for x, y in itertools.combinations(bodies.values(), 2))
    return {"kin": kin, "pot": pot, "sum": kin + pot}
system = {"sun": Body(jnp.zeros(2), jnp.zeros(2), 10.0), "earth": Body(jnp.array([2.0, 0.0]), jnp.array([0.0, 2.2]), 1.0)}
dt, n, soft = 0.02, 5, 0.0
---
before = energy(system, soft)
for _ in range(n):
    system = kick(drift(kick(system, dt / 2, soft), dt), dt / 2, soft)
after = energy(system, soft)
print({k: f"{float(after[k] - before[k]):+.3f}" for k in after if k != "sum"}, *system)
angular = sum(jnp.cross(b.q, b.p) for b in system.values())
angular, system["earth"].q, after["sum"]
---
system["moon"] = Body(jnp.array([2.2, 0.0]), jnp.array([0.0, 0.24]), 0.1)
---
soft = 0.3
---
dt = -dt; system = {k: v for k, v in system.items() if k != "sun"} | {"sun": system["sun"]}

### rn-cellular-epidemic-on-a-grid-with-enum-states-and-text-frames
import enum
class S(enum.IntEnum):
    HEALTHY = 0
    SICK = 1
    IMMUNE = 2
GLYPH = {S.HEALTHY: ".", S.SICK: "*", S.IMMUNE: "o"}
def neighbours(mask): return sum(jnp.roll(mask, s, ax) for ax in (0, 1) for s in (-1, 1))
def tick(grid, key, beta, gamma):
    k1, k2 = jr.split(key)
    sick = (grid == S.SICK)
    p = 1 - (1 - beta) ** neighbours(sick.astype(jnp.int32))
    grid = jnp.where((grid == S.HEALTHY) & (jr.uniform(k1, grid.shape) < p), S.SICK, grid)
    return jnp.where(sick & (jr.uniform(k2, grid.shape) < gamma), S.IMMUNE, grid)
def show(grid): return ["".join(GLYPH[S(int(c))] for c in row) for row in np.asarray(grid)]
grid0 = jnp.zeros((6, 8), jnp.int32).at[2, 3].set(S.SICK)
beta, gamma, days = 0.5, 0.2, 4
---
grid, curve = grid0, []
for day, key in enumerate(jr.split(jr.PRNGKey(2), days)):
    grid = tick(grid, key, beta, gamma)
    counts = jnp.bincount(grid.ravel(), length=len(S))
    curve.append(counts)
    if not counts[S.SICK]:
        print("over on day", day)
        break
print("\n".join(show(grid)[1:4]))
table = jnp.stack(curve)
dict(zip((s.name.lower() for s in S), table[-1].tolist())), table
---
gamma = 1.0
---
beta, gamma, days = 0.9, 0.0, 2
---
grid0 = grid0.at[2].set(S.IMMUNE)

### rn-heston-paths-with-sobol-like-points-and-greeks-by-grad tolerance=5e-3
def van_der_corput(n, base):
    out = []
    for i in range(1, n + 1):
        x, denom = 0.0, 1.0
        while i:
            i, rem = divmod(i, base)
            denom *= base
            x += rem / denom
        out.append(x)
    return np.array(out)
def normals(n, steps, primes=(2, 3, 5, 7, 11, 13, 17, 19)):
    u = np.stack([van_der_corput(n, p) for p in primes[:2 * steps]], 1)
    return jax.scipy.stats.norm.ppf(jnp.asarray(u)).reshape(n, steps, 2)
class Heston(NamedTuple):
    s0: Any = 100.0
    v0: Any = 0.04
    kappa: Any = 1.5
    theta: Any = 0.04
    xi: Any = 0.3
    rho: Any = -0.6
def terminal(m, z, T, r):
    dt = T / z.shape[1]
    def body(c, zz):
        s, v = c
        v_ = jnp.maximum(v, 0.0)
        w = m.rho * zz[:, 0] + math.sqrt(1 - m.rho ** 2) * zz[:, 1]
        return (s * jnp.exp((r - v_ / 2) * dt + jnp.sqrt(v_ * dt) * w), v + m.kappa * (m.theta - v_) * dt + m.xi * jnp.sqrt(v_ * dt) * zz[:, 0]), None
    n = len(z)
    return lax.scan(body, (jnp.full(n, m.s0), jnp.full(n, m.v0)), z.swapaxes(0, 1))[0][0]
def price(spot_vol, strike, T=1.0, r=0.02):
    m = model._replace(s0=spot_vol[0], v0=spot_vol[1])
    return math.exp(-r * T) * jnp.mean(jax.nn.softplus((terminal(m, z, T, r) - strike) * 4) / 4)
model, strikes, z = Heston(), (90.0, 100.0), normals(32, 3)
---
rows = []
for k in strikes:
    value, (delta, vega) = jax.value_and_grad(price)((model.s0, model.v0), k)
    rows.append((k, value, delta, vega))
header = ("strike", "price", "delta", "vega")
print(" ".join(f"{h:>8}" for h in header))
for row in rows:
    print(" ".join(f"{float(v):8.2f}" for v in row[:3]))
jnp.array([r[1:3] for r in rows])
---
model = model._replace(xi=0.1, rho=0.0)
---
strikes += (110.0,)
---
z = normals(16, 2)

### rn-phase-retrieval-error-reduction-with-support-and-restarts tolerance=1e-2
def project_mag(x, mag):
    F = jnp.fft.fft2(x)
    return jnp.fft.ifft2(mag * jnp.exp(1j * jnp.angle(F))).real
def hio(x, mag, support, beta, iters, watch=None):
    for i in range(iters):
        y = project_mag(x, mag)
        ok = support & (y > 0)
        x = jnp.where(ok, y, x - beta * y)
        if watch is not None and i % watch == 0:
            yield i, jnp.linalg.norm(jnp.abs(jnp.fft.fft2(jnp.where(support, x, 0))) - mag) / jnp.linalg.norm(mag)
    yield None, x
truth = np.zeros((8, 8), np.float32); truth[2:5, 3:6] = np.arange(1, 10).reshape(3, 3)
mag = np.abs(np.fft.fft2(truth)).astype(np.float32)
support = jnp.zeros((8, 8), bool).at[2:5, 3:6].set(True)
beta, iters = 0.8, 4
---
best, errors = None, {}
for seed in range(2):
    x0 = jnp.where(support, jr.uniform(jr.PRNGKey(seed), (8, 8)), 0.0)
    for i, out in hio(x0, mag, support, beta, iters, watch=2):
        if i is None:
            x = out
        else:
            errors.setdefault(seed, []).append(out)
    score = float(errors[seed][-1])
    if best is None or score < best[0]:
        best = (score, x)
print(sorted(errors), [len(v) for v in errors.values()], f"{best[0]:.2f}")
jnp.where(support, best[1], 0).sum(), jnp.stack([*map(jnp.stack, errors.values())])
---
beta = 0.5
---
support = support.at[1, 3].set(True)
---
iters = 2
""",
)
