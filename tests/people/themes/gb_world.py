"""Cells around models: filters, solvers, simulations, pricing, signals, frames, estimators, files, classes, meshes."""

from ..cell import written

PRELUDE = """
import os, sys, io, json, csv, math, pickle, sqlite3, argparse, logging, warnings, contextlib, functools, itertools, collections, copy, enum
import dataclasses, operator, weakref, threading, queue, asyncio, subprocess, importlib, typing, random, operator, re, types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from functools import partial, reduce, lru_cache, cached_property, singledispatch, wraps
import numpy as np
import jax, jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
x = jnp.linspace(0.0, 1.0, 8)
"""

CELLS = written(
    PRELUDE,
    r"""
### gb-kernel-algebra-with-cached-cholesky
class Kernel:
    def __add__(self, other): return Combined(operator.add, self, other)
    def __mul__(self, other):
        return Combined(operator.mul, self, other if isinstance(other, Kernel) else Constant(other))
    __rmul__ = __mul__
    def gram(self, a, b): return jax.vmap(lambda u: jax.vmap(lambda v: self(u, v))(b))(a)
class Constant(Kernel):
    def __init__(self, c): self.c = c
    def __call__(self, u, v): return jnp.asarray(self.c)
class RBF(Kernel):
    def __init__(self, ell): self.ell = ell
    def __call__(self, u, v): return jnp.exp(-0.5 * jnp.sum((u - v) ** 2) / self.ell ** 2)
class Linear(Kernel):
    def __call__(self, u, v): return jnp.dot(u, v)
class Combined(Kernel):
    def __init__(self, op, *parts): self.op, self.parts = op, parts
    def __call__(self, u, v): return reduce(self.op, (p(u, v) for p in self.parts))
class GP:
    def __init__(self, kernel, X, y, noise=0.1):
        self.kernel, self.X, self.y, self.noise = kernel, X, y, noise
    @cached_property
    def chol(self):
        return jnp.linalg.cholesky(self.kernel.gram(self.X, self.X) + self.noise * jnp.eye(len(self.X)))
    @cached_property
    def alpha(self): return jax.scipy.linalg.cho_solve((self.chol, True), self.y)
    def mll(self):
        return -0.5 * self.y @ self.alpha - jnp.log(jnp.diag(self.chol)).sum() - 0.5 * len(self.y) * math.log(2 * math.pi)
    def predict(self, Xs):
        Ks = self.kernel.gram(Xs, self.X)
        v = jax.scipy.linalg.solve_triangular(self.chol, Ks.T, lower=True)
        return Ks @ self.alpha, jnp.diag(self.kernel.gram(Xs, Xs)) - (v ** 2).sum(0)
X, y = x[:, None], jnp.sin(4 * x)
kernel, models = 2.0 * RBF(0.4) + Linear(), {}
---
gp = GP(kernel, X, y)
assert "chol" not in vars(gp)
mean, var = gp.predict(jnp.array([[0.25], [0.75]]))
models[type(kernel.parts[0]).__name__] = gp
score = gp.mll()
sorted(vars(gp)), gp.chol is gp.chol, bool((var > 0).all())
---
kernel = RBF(0.3) * Linear() + Constant(0.5)
---
class RBF(RBF):
    def __call__(self, u, v): return 1 / (1 + jnp.sum((u - v) ** 2) / self.ell)
kernel = RBF(0.5) + RBF(2.0)
---
y = y[:5]; X = X[:5]

### gb-particle-filter-object-with-history watched
class ParticleFilter:
    def __init__(self, n, key, q=0.3, r=0.5):
        self.key, self.q, self.r = key, q, r
        self.particles = jnp.zeros(n)
        self.history, self.resampled = [], 0
    def _next(self):
        self.key, sub = jax.random.split(self.key)
        return sub
    def step(self, z):
        self.particles = 0.9 * self.particles + self.q * jax.random.normal(self._next(), self.particles.shape)
        logw = -0.5 * ((z - self.particles) / self.r) ** 2
        w = jax.nn.softmax(logw)
        self.history.append((w @ self.particles, 1.0 / jnp.sum(w ** 2)))
        idx = jnp.searchsorted(jnp.cumsum(w), (jnp.arange(w.size) + 0.5) / w.size)
        self.particles = self.particles[jnp.clip(idx, 0, w.size - 1)]
        self.resampled += 1
        return self
pf = ParticleFilter(16, jax.random.key(0))
observations = np.array([0.2, 0.4, 0.1])
---
for z in observations:
    pf.step(z)
means, ess = map(jnp.stack, zip(*pf.history[-len(observations):]))
spread = pf.particles.std()
print(f"{pf.resampled} steps, {len(pf.history)} kept, ess over 1: {bool((ess > 1).all())}")
means.shape
---
observations = np.array([0.5, -0.5])
---
pf.history.clear(); pf.q = 0.1
---
pf = ParticleFilter(8, jax.random.PRNGKey(3), q=jnp.float32(0.2))

### gb-option-book-greeks-frame
import pandas as pd
from jax.scipy.stats import norm
def price(spot, strike, t, r, vol, sign):
    d1 = (jnp.log(spot / strike) + (r + 0.5 * vol ** 2) * t) / (vol * jnp.sqrt(t))
    d2 = d1 - vol * jnp.sqrt(t)
    return sign * (spot * norm.cdf(sign * d1) - strike * jnp.exp(-r * t) * norm.cdf(sign * d2))
book = pd.DataFrame({"kind": ["call", "put", "call"], "strike": [95.0, 100.0, 110.0], "t": [0.5, 0.25, 1.0], "qty": [10, -5, 3]})
spot, rate, vol = 100.0, 0.02, 0.2
---
cols = {c: jnp.asarray(book[c].to_numpy(), jnp.float32) for c in ("strike", "t", "qty")}
sign = jnp.where(jnp.asarray(book["kind"] == "call"), 1.0, -1.0)
batched = lambda f: jax.vmap(f, in_axes=(None, 0, 0, None, None, 0))
args = (spot, cols["strike"], cols["t"], rate, vol, sign)
out = book.assign(
    value=np.asarray(batched(price)(*args)),
    delta=lambda d: np.asarray(batched(jax.grad(price))(*args)),
    gamma=np.asarray(batched(jax.grad(jax.grad(price)))(*args)),
)
vega, theta = jax.tree.map(lambda g: g @ cols["qty"], batched(jax.grad(price, argnums=(4, 2)))(*args))
out["exposure"] = (out["qty"] * out["delta"] * spot).round(1)
print(out[["kind", "value", "exposure"]].round(1).to_string(index=False))
by_kind = out.groupby("kind")["exposure"].agg(["sum", "count"])
float(by_kind.loc["call", "count"]), vega > 0
---
spot, vol = 104, 0.3
---
spot = 104.0; book.loc[len(book)] = ["put", 90.0, 2.0, 7]
---
def price(spot, strike, t, r, vol, sign):
    return jnp.maximum(sign * (spot - strike), 0.0) * jnp.exp(-r * t) + 0 * vol

### gb-nbody-leapfrog-with-diagnostics-generator
class Bodies(typing.NamedTuple):
    pos: jax.Array
    vel: jax.Array
    mass: jax.Array
    @property
    def kinetic(self): return 0.5 * jnp.sum(self.mass * jnp.sum(self.vel ** 2, -1))
def acceleration(b, soft=0.1):
    d = b.pos[None] - b.pos[:, None]
    inv = (jnp.sum(d ** 2, -1) + soft ** 2) ** -1.5
    return jnp.einsum("ijk,ij,j->ik", d, inv, b.mass)
def leapfrog(b, dt):
    half = b.vel + 0.5 * dt * acceleration(b)
    b = b._replace(pos=b.pos + dt * half)
    return b._replace(vel=half + 0.5 * dt * acceleration(b))
def frames(b, dt, n, every):
    for i in range(n):
        b = leapfrog(b, dt)
        if i % every == every - 1:
            yield i + 1, b
state = Bodies(jnp.array([[1.0, 0], [-1.0, 0], [0, 2.0]]), jnp.array([[0, 0.5], [0, -0.5], [0.3, 0]]), jnp.array([1.0, 1.0, 0.1]))
dt, track = 0.05, collections.OrderedDict()
---
momentum0 = state.mass @ state.vel
for step, snap in frames(state, dt, 4, every=2):
    track[step] = snap.pos - jnp.average(snap.pos, axis=0, weights=snap.mass)
    track.move_to_end(step, last=False)
state = snap
drift = jnp.abs(state.mass @ state.vel - momentum0).max()
energy = state.kinetic
list(track), drift < 1e-3, type(state).__name__, state._fields[-1]
---
dt = 0.01
---
state = state._replace(mass=jnp.array([2, 1, 1], jnp.int32))
---
del track[4]; leapfrog = jax.jit(leapfrog)

### gb-diffrax-event-and-dense-interpolation needs=diffrax,equinox
import diffrax as dfx, equinox as eqx
class Pendulum(eqx.Module):
    length: jax.Array
    damping: float = eqx.field(static=True, default=0.1)
    def __call__(self, t, y, args):
        theta, omega = y
        return omega, -9.81 / self.length * jnp.sin(theta) - self.damping * omega
pend = Pendulum(jnp.float32(1.0))
y0 = (jnp.float32(0.5), jnp.float32(0.0))
---
def through_zero(t, y, args, **kw):
    return y[0]
sol = dfx.diffeqsolve(dfx.ODETerm(pend), dfx.Tsit5(), 0.0, 2.0, 0.05, y0, saveat=dfx.SaveAt(t1=True, dense=True),
                      stepsize_controller=dfx.ConstantStepSize(), event=dfx.Event(through_zero), max_steps=64)
hit = sol.ts[-1]
halfway = sol.evaluate(hit / 2)
quicker = eqx.tree_at(lambda p: p.length, pend, pend.length * 0.5)
swing = jax.tree.map(jnp.sign, halfway)
len(sol.ys), quicker.damping, swing, jnp.round(hit, 1)
---
pend = Pendulum(jnp.float32(2.0), 0.3)
---
y0 = (jnp.float32(-0.3), jnp.float32(0.1))

### gb-optimistix-root-in-loop-over-strikes needs=optimistix,lineax
import optimistix as optx, lineax as lx
def bs(vol, k):
    d = (jnp.log(1 / k) + 0.5 * vol ** 2) / vol
    return jax.scipy.stats.norm.cdf(d) - k * jax.scipy.stats.norm.cdf(d - vol)
strikes, true_vol = (0.9, 1.0, 1.1), 0.25
solver = optx.Newton(rtol=1e-4, atol=1e-4)
---
smile = {}
for k in strikes:
    target = bs(jnp.float32(true_vol), k)
    sol = optx.root_find(lambda v, args: bs(v, k) - target, solver, jnp.float32(0.4), max_steps=30, throw=False)
    smile[k], ok = sol.value, sol.result == optx.RESULTS.successful
    del sol
vols = jnp.array(list(smile.values()))
op = lx.MatrixLinearOperator(jnp.eye(len(smile)) + 0.1 * jnp.outer(vols, vols), lx.positive_semidefinite_tag)
weights = lx.linear_solve(op, jnp.ones_like(vols), lx.Cholesky()).value
flat = jnp.ptp(vols) < 0.02
assert ok
flat, weights.shape
---
true_vol = 0.4
---
strikes = (0.8, 1.2)
---
solver = optx.Bisection(rtol=1e-3, atol=1e-3)
---
solver = optx.Newton(rtol=1e-5, atol=1e-5); strikes = [1.0, 1.05]

### gb-numpyro-hierarchy-traced-and-scored needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer.util import log_density
class Schools(typing.NamedTuple):
    y: jax.Array
    sigma: jax.Array
def model(data, centered=True):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", data.y.shape[0]) as idx:
        if centered:
            theta = numpyro.sample("theta", dist.Normal(mu, tau))
        else:
            z = numpyro.sample("z", dist.Normal(0, 1))
            theta = numpyro.deterministic("theta", mu + tau * z)
        numpyro.sample("obs", dist.Normal(theta, data.sigma), obs=data.y)
data, centered = Schools(jnp.array([28.0, 8, -3, 7]), jnp.array([15.0, 10, 16, 11])), True
shapes = {}
---
seeded = handlers.seed(model, rng_seed=1)
tr = handlers.trace(seeded).get_trace(data, centered)
latents = {n: s["value"] for n, s in tr.items() if s["type"] == "sample" and not s["is_observed"]}
for name, site in tr.items():
    if site["type"] in ("sample", "deterministic"):
        shapes[name] = tuple(site["value"].shape)
fixed = handlers.substitute(model, data=latents)
lp, inner = log_density(model, (data, centered), {}, latents)
manual = sum(s["fn"].log_prob(s["value"]).sum() for s in tr.values() if s["type"] == "sample")
with handlers.block(hide=["obs"]), handlers.trace() as outer:
    handlers.substitute(model, data=latents)(data, centered)
list(outer), shapes, bool(jnp.isclose(lp, manual, rtol=1e-3))
---
centered = False
---
data = Schools(data.y[:2], data.sigma[:2] * 2); shapes.clear()
---
centered, data = True, data._replace(y=np.array([1.0, 2.0], np.float32))

### gb-svi-step-decorated-and-params-constrained needs=numpyro,optax
import numpyro, numpyro.distributions as dist, optax
from numpyro.infer import SVI, Trace_ELBO, Predictive
flips = jnp.array([1, 1, 0, 1, 1, 1, 0, 1])
def model(flips):
    p = numpyro.sample("p", dist.Normal(0, 1))
    with numpyro.plate("n", flips.shape[0]):
        numpyro.sample("f", dist.Bernoulli(logits=p), obs=flips)
def guide(flips):
    a = numpyro.param("a", 0.5)
    b = numpyro.param("b", lambda key: jnp.float32(0.3), constraint=dist.constraints.positive)
    numpyro.sample("p", dist.Normal(a, b))
svi = SVI(model, guide, optax.adam(0.05), Trace_ELBO())
state, elbo, n_steps = svi.init(jax.random.PRNGKey(0), flips), collections.deque(maxlen=4), 3
---
@jax.jit
def update(state, flips):
    return svi.update(state, flips)
for _ in range(n_steps):
    state, loss = update(state, flips)
    elbo.append(-loss)
params = svi.get_params(state)
inferred = jax.nn.sigmoid(params["a"] - params["b"] ** 2)
draws = Predictive(guide, params=params, num_samples=3)(jax.random.PRNGKey(1), flips)["p"]
len(elbo), sorted(params), bool(0 < inferred < 1), draws.shape
---
flips = 1 - flips
---
n_steps = 1; elbo.clear()
---
state = svi.init(jax.random.PRNGKey(5), flips[:6]); flips = flips[:6]

### gb-custom-vjp-nondiff-and-counters
log = collections.Counter()
@partial(jax.custom_vjp, nondiff_argnums=(0, 2))
def fixed_point(f, a, steps):
    z = jnp.ones_like(a)
    for _ in range(steps):
        z = f(a, z)
    return z
def fp_fwd(f, a, steps):
    z = fixed_point(f, a, steps)
    return z, (a, z)
def fp_bwd(f, steps, res, ct):
    a, z = res
    _, pull_z = jax.vjp(lambda z: f(a, z), z)
    u = ct
    for _ in range(steps):
        u = ct + pull_z(u)[0]
    return jax.vjp(lambda a: f(a, z), a)[1](u)
fixed_point.defvjp(fp_fwd, fp_bwd)
babylon = lambda a, z: 0.5 * (z + a / z)
a, steps = jnp.array([2.0, 9.0]), 6
---
root = fixed_point(babylon, a, steps)
slope = jax.jacrev(lambda a: fixed_point(babylon, a, steps))(a)
exact = jax.vmap(jax.grad(jnp.sqrt))(a)
log.update(["fwd", "bwd"] if bool(jnp.allclose(jnp.diag(slope), exact, atol=1e-3)) else ["off"])
out, pull = jax.vjp(partial(fixed_point, babylon), a, steps) if False else jax.vjp(lambda a: fixed_point(babylon, a, steps).sum(), a)
(da,) = pull(jnp.float32(2.0))
log.most_common(1)[0][0], jnp.round(root, 2), da / exact
---
steps = 9
---
a = jnp.array([4.0, 16.0, 25.0]); log["off"] += 1
---
babylon = lambda a, z: jnp.cos(z) * 0.5 + 0.1 * a; steps = 3

### gb-associative-scan-of-affine-and-reverse
def affine(e1, e2):
    (a1, b1), (a2, b2) = e1, e2
    return a2 * a1, a2 * b1 + b2
gains, inputs = jnp.array([0.9, 0.5, 1.0, 0.8]), jnp.array([1.0, 2.0, -1.0, 0.5])
modes = {"forward": False, "backward": True}
---
results = {m: lax.associative_scan(affine, (gains, inputs), reverse=r) for m, r in modes.items()}
def loop(carry, ab):
    carry = ab[0] * carry + ab[1]
    return carry, carry
_, ref = lax.scan(loop, 0.0, (gains, inputs))
gap = jnp.abs(results["forward"][1] - ref).max()
running = lax.associative_scan(jnp.maximum, jnp.stack([inputs, -inputs]), axis=1)
*_, (last_a, last_b) = (jax.tree.map(lambda t: t[-1], v) for v in results.values())
gap < 1e-5, running, last_b
---
gains = gains.astype(jnp.bfloat16).astype(jnp.float32) * 0.5
---
modes["again"] = True
---
def affine(e1, e2):
    return e1[0] * e2[0], e1[1] + e2[1]

### gb-tree-paths-of-registered-dataclass
@partial(jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["name", "act"])
@dataclasses.dataclass
class Dense:
    w: jax.Array
    b: jax.Array | None
    name: str = "dense"
    act: typing.Callable = jnp.tanh
    def __call__(self, h):
        h = h @ self.w
        return self.act(h if self.b is None else h + self.b)
def init(key, sizes, **kw):
    keys = jax.random.split(key, len(sizes) - 1)
    return [Dense(jax.random.normal(k, (m, n)) * 0.3, jnp.zeros(n), f"l{i}", **kw) for i, (k, m, n) in enumerate(zip(keys, sizes, sizes[1:]))]
net = init(jax.random.key(0), [4, 3, 2])
decay = 0.01
---
def penalised(path, leaf):
    return leaf * (1 - decay) if jax.tree_util.keystr(path).endswith(".w") else leaf
batch = jnp.arange(8.0).reshape(2, 4) / 8
def loss(net):
    return jnp.mean(reduce(lambda h, layer: layer(h), net, batch) ** 2)
grads = jax.grad(loss)(net)
net = jax.tree_util.tree_map_with_path(penalised, jax.tree.map(lambda p, g: p - 0.1 * g, net, grads))
table = {jax.tree_util.keystr(p, simple=True, separator="/"): v.shape for p, v in jax.tree_util.tree_leaves_with_path(net)}
for name, shape in table.items():
    print(f"{name:>6} {'x'.join(map(str, shape))}")
net[0].name, grads[-1].act is net[-1].act, isinstance(net[0], Dense)
---
net[1] = dataclasses.replace(net[1], b=None, name="head")
---
net = init(jax.random.key(1), [4, 5, 5, 1], act=jax.nn.relu); decay = 0.5
---
batch_first = net.pop(); net.append(dataclasses.replace(batch_first, act=lambda h: h))

### gb-random-keys-of-every-impl
streams = {"init": jax.random.key(0), "legacy": jax.random.PRNGKey(1), "rbg": jax.random.key(2, impl="rbg")}
def next_key(name):
    streams[name], out = jax.random.split(streams[name])
    return out
---
drawn = {name: jax.random.normal(next_key(name), (2,)) for name in sorted(streams)}
many = jax.vmap(lambda i: jax.random.fold_in(streams["init"], i))(jnp.arange(3))
raw = jax.random.key_data(many)
back = jax.random.wrap_key_data(raw, impl=jax.random.key_impl(many))
same = bool((jax.random.key_data(back) == raw).all())
kinds = {n: str(k.dtype) for n, k in streams.items()}
a, b, *rest = jax.random.split(many[1], 4)
perm = jax.random.permutation(a, 6)
choice = jax.random.choice(b, jnp.arange(10), (3,), replace=False)
streams["extra"] = rest[-1]
same, kinds, many.shape, jnp.issubdtype(many.dtype, jax.dtypes.prng_key), sorted(perm.tolist())
---
streams.pop("rbg")
---
streams["init"] = jax.random.key(7)
---
streams["legacy"] = jax.random.key(9); del streams["extra"]

### gb-structured-records-filled-from-jax
events = np.zeros(4, dtype=[("t", "f4"), ("pos", "f4", (2,)), ("label", "U4"), ("hit", "?")])
events["label"] = ["a", "b", "a", "c"]
gravity = 9.81
---
t = jnp.linspace(0.1, 0.4, len(events))
fall = jnp.round(jax.vmap(lambda s: jnp.stack([2.0 * s, 1.0 - 0.5 * gravity * s ** 2]))(t) * 16) / 16
events["t"] = jnp.round(t * 16) / 16
events["pos"][:] = fall
events["hit"] |= np.asarray(fall[:, 1] < 0.5)
rec = events.view(np.recarray)
chosen = events[events["label"] == "a"]
centre = jnp.asarray(chosen["pos"]).mean(0)
order = np.argsort(events, order=["label", "t"])
masked = np.ma.masked_where(rec.hit, rec.t)
order.tolist(), masked.count(), rec.pos.shape, events.dtype.names, int(events["hit"].sum())
---
gravity = 1.6
---
events["label"][1] = "zzzzz"; events["hit"] = False
---
events = np.concatenate([events, events[:1]])

### gb-frame-iterrows-walks-and-updates watched
import pandas as pd
portfolio = pd.DataFrame({"w": [0.5, 0.3, 0.2], "mu": [0.1, 0.05, 0.02]}, index=["eq", "fi", "cash"])
cov = jnp.diag(jnp.array([0.04, 0.01, 0.0001]))
risk = lambda w: jnp.sqrt(w @ cov @ w)
steps = []
---
w = jnp.asarray(portfolio["w"].to_numpy(np.float32))
contrib = w * jax.grad(risk)(w)
for (name, row), c in zip(portfolio.iterrows(), contrib):
    if c > 0.05:
        portfolio.loc[name, "w"] = round(row["w"] * 0.8, 3)
        steps.append((name, round(float(c), 3)))
portfolio["w"] /= portfolio["w"].sum()
portfolio["score"] = portfolio.apply(lambda r: float(jnp.tanh(r["mu"] * 10)), axis=1).round(3)
frontier = {n: float(np.round(v, 2)) for n, v in portfolio["w"].items()}
print(portfolio.round(2))
frontier, len(steps)
---
cov = cov * 0.01
---
portfolio.loc["gold"] = [0.25, 0.03, 0.0]; cov = jnp.eye(4) * 0.02
---
steps.clear(); portfolio = portfolio.iloc[:2]; cov = jnp.eye(2) * 0.09

### gb-sklearn-estimator-of-ones-own needs=sklearn
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import ParameterGrid, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
class JaxRidge(BaseEstimator, RegressorMixin):
    def __init__(self, alpha=1.0, steps=15): self.alpha, self.steps = alpha, steps
    def fit(self, X, y):
        X, y = jnp.asarray(X, jnp.float32), jnp.asarray(y, jnp.float32)
        grad = jax.jit(jax.grad(lambda w: jnp.mean((X @ w - y) ** 2) + self.alpha * w @ w))
        w = jnp.zeros(X.shape[1])
        for _ in range(self.steps):
            w = w - 0.2 * grad(w)
        self.coef_, self.n_features_in_ = w, X.shape[1]
        return self
    def predict(self, X): return np.asarray(jnp.asarray(X, jnp.float32) @ self.coef_)
rng = np.random.default_rng(0)
X = rng.normal(size=(12, 2)); y = X @ [1.0, -2.0]
alphas = [0.001, 10.0]
---
base = JaxRidge()
scores = {p["alpha"]: cross_val_score(clone(base).set_params(**p), X, y, cv=3).mean() for p in ParameterGrid({"alpha": alphas})}
best = clone(base).set_params(alpha=max(scores, key=scores.get))
pipe = make_pipeline(StandardScaler(), best.set_params(steps=10)).fit(X, y)
resid = jnp.asarray(y - pipe.predict(X))
coef = pipe[-1].coef_ * 1.0
best.get_params(), pipe.score(X, y) > 0.5, hasattr(base, "coef_"), jnp.sign(coef)
---
alphas = [100.0, 0.01, 1.0]
---
y = -y; X[0] = 0
---
JaxRidge.predict = lambda self, X: np.asarray(jnp.asarray(X, jnp.float32) @ self.coef_ + 1.0)

### gb-scipy-minimise-with-raveled-tree-and-callback needs=scipy
from scipy import optimize
from jax.flatten_util import ravel_pytree
params = {"amp": jnp.float32(1.0), "centre": jnp.float32(0.2), "width": jnp.float32(0.3)}
signal = 2.0 * jnp.exp(-((x - 0.5) / 0.2) ** 2)
path = []
class Fit:
    evaluations = 0
    def __init__(self, tree): self.flat, self.unravel = ravel_pytree(tree)
    def loss(self, flat):
        p = self.unravel(flat)
        return jnp.mean((p["amp"] * jnp.exp(-((x - p["centre"]) / p["width"]) ** 2) - signal) ** 2)
    def __call__(self, flat):
        type(self).evaluations += 1
        v, g = jax.value_and_grad(self.loss)(jnp.asarray(flat, jnp.float32))
        return float(v), np.asarray(g, np.float64)
method, limit = "L-BFGS-B", 5
---
fit = Fit(params)
res = optimize.minimize(fit, np.asarray(fit.flat), jac=True, method=method, options={"maxiter": limit},
                        callback=lambda xk: path.append(np.round(xk, 1)))
params = fit.unravel(jnp.asarray(res.x, fit.flat.dtype))
hess = jax.hessian(fit.loss)(jnp.asarray(res.x, jnp.float32))
improved = bool(fit.loss(ravel_pytree(params)[0]) <= fit.loss(fit.flat))
improved, hess.shape, len(path) > 0, Fit.evaluations > 0
---
limit = 2; path.clear(); Fit.evaluations = 0
---
params = {**params, "width": jnp.float32(0.5)}

### gb-sparse-laplacian-to-bcoo needs=scipy
from scipy import sparse
from jax.experimental import sparse as jsparse
n, diffusion = 6, 0.1
def laplacian(n):
    return sparse.diags([np.ones(n - 1), -2 * np.ones(n), np.ones(n - 1)], [-1, 0, 1], format="csr", dtype=np.float32)
u = jnp.zeros(n).at[n // 2].set(1.0)
frames = []
---
L = jsparse.BCOO.from_scipy_sparse(laplacian(n))
M = jsparse.eye(n) + diffusion * L
for _ in range(3):
    u = M @ u
    frames.append(u)
mass = jnp.stack(frames[-3:]).sum(1)
dense = M.todense()
gain = jsparse.grad(lambda A: (A @ u).sum())(L)
back = sparse.coo_matrix((np.asarray(L.data), np.asarray(L.indices).T), shape=L.shape)
L.nse, (back != laplacian(n)).nnz, gain.data.shape, mass <= 1.001, jnp.diag(dense)
---
diffusion = 0.25
---
n = 4; u = jnp.ones(n); frames.clear()
---
def laplacian(n):
    return sparse.random(n, n, 0.5, "csr", dtype=np.float32, random_state=0)

### gb-memmap-and-npz-read-update-write
np.memmap("field.dat", np.float32, "w+", shape=(3, 8))[:] = np.arange(24, dtype=np.float32).reshape(3, 8)
np.savez("meta.npz", step=0, names=np.array(["u", "v", "w"]))
factor = 0.5
---
field = np.memmap("field.dat", np.float32, "r+", shape=(3, 8))
with np.load("meta.npz") as meta:
    step, names = int(meta["step"]), meta["names"].tolist()
smoothed = (jnp.roll(field, 1, axis=1) + jnp.roll(field, -1, axis=1)) * factor
field[step % 3] = smoothed[step % 3]
field.flush()
np.savez("meta.npz", step=step + 1, names=np.array(names[1:] + names[:1]))
total = jnp.asarray(field).sum(axis=1)
del field
print(step, names[0], os.path.getsize("field.dat"))
total - total.min() >= 0
---
factor = 0.25
---
np.savez("meta.npz", step=7, names=np.array(["p", "q", "r"]))
---
os.remove("meta.npz")

### gb-own-module-reloaded-with-new-physics
Path("physics.py").write_text("import jax.numpy as jnp\nG = 9.81\ncalls = 0\ndef force(q):\n    global calls\n    calls += 1\n    return -G * jnp.sin(q)\n")
importlib.invalidate_caches()
import physics
q, p = jnp.float32(0.3), jnp.float32(0.0)
---
for _ in range(3):
    p = p + 0.01 * physics.force(q)
    q = q + 0.01 * p
stiffness = jax.grad(physics.force)(q)
curve = jax.vmap(physics.force)(x)
called = physics.calls
called, curve.shape, stiffness < 0
---
physics.G = 1.62
---
Path("physics.py").write_text("import jax.numpy as jnp\nk, calls = 4, 100\ndef force(q):\n    return -k * q\n")
importlib.invalidate_caches(); importlib.reload(physics)
---
physics.force = lambda q: -physics.k * q ** 3; physics.calls = -1

### gb-argv-and-environment-into-config
@dataclasses.dataclass(frozen=True)
class Config:
    lr: float
    act: str
    layers: tuple = (4, 2)
    half: bool = False
    def __post_init__(self):
        if self.lr <= 0:
            raise ValueError(f"lr must be positive, not {self.lr}")
sys.argv = ["train.py", "--lr", "0.1", "--act", "tanh", "--layers", "8", "4"]
os.environ["RUN_SCALE"] = "2"
---
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--act", choices=["tanh", "sin"], default="sin")
parser.add_argument("--layers", type=int, nargs="+", default=[4])
parser.add_argument("--half", action="store_true")
cfg = Config(**{**vars(parser.parse_args()), "layers": tuple(parser.parse_args().layers)})
dtype = jnp.bfloat16 if cfg.half else jnp.float32
h = jnp.linspace(-1, 1, 8, dtype=dtype)
for i, width in enumerate(cfg.layers):
    w = jnp.full((h.size, width), 0.1 * (i + 1), dtype)
    h = getattr(jnp, cfg.act)(h @ w) * float(os.environ.get("RUN_SCALE", 1))
os.environ["RUN_DONE"] = str(int(os.environ.get("RUN_DONE", 0)) + 1)
h = h - cfg.lr
hash(cfg) == hash(dataclasses.replace(cfg)), h.dtype.name, h.shape, sys.argv[0]
---
os.environ["RUN_SCALE"] = "0.5"; sys.argv[2] = "0.3"
---
sys.argv += ["--half"]
---
sys.argv[2] = "-1.0"
---
sys.argv = ["x"]; os.environ.pop("RUN_SCALE")

### gb-exitstack-undo-and-assert-fails
class Temporarily:
    depth = 0
    def __init__(self, obj, **attrs): self.obj, self.attrs = obj, attrs
    def __enter__(self):
        self.old = {k: getattr(self.obj, k) for k in self.attrs}
        vars(self.obj).update(self.attrs); Temporarily.depth += 1
        return self.obj
    def __exit__(self, kind, error, tb):
        vars(self.obj).update(self.old); Temporarily.depth -= 1
        journal.append(kind.__name__ if kind else "ok")
        return kind is ZeroDivisionError
model, journal = types.SimpleNamespace(w=jnp.ones(4), scale=1.0, bias=0.0), []
bound, divisor = 10.0, 1
---
with contextlib.ExitStack() as stack:
    stack.callback(journal.append, "closed")
    m = stack.enter_context(Temporarily(model, scale=3.0, bias=jnp.float32(0.5)))
    out = m.w * m.scale + m.bias
    model.w = out / 2
    ratio = 1 / divisor
    assert out.sum() < bound, f"too large: {out.sum():.1f}"
    journal.append("inside")
after = model.w * model.scale
len(journal), Temporarily.depth, journal[-1]
---
bound = 100.0
---
divisor = 0
---
divisor = 2; bound = 1000.0; journal.clear()
---
bound = 1.0

### gb-singledispatch-registered-in-cell
@singledispatch
def norm_of(obj): raise TypeError(f"no norm of {type(obj).__name__}")
@norm_of.register
def _(obj: jax.Array): return jnp.sqrt(jnp.sum(jnp.abs(obj) ** 2))
@norm_of.register(list)
@norm_of.register(tuple)
def _(obj): return jnp.sqrt(sum(norm_of(o) ** 2 for o in obj))
class Quaternion:
    __slots__ = ("re", "im")
    def __init__(self, re, im): self.re, self.im = re, im
things = [x, (x, [x * 2]), {"a": x, "b": 1.0}]
---
@norm_of.register
def _(obj: dict):
    return norm_of(list(obj.values()))
@norm_of.register
def _(obj: float):
    return jnp.float32(abs(obj))
@norm_of.register(Quaternion)
def quaternion_norm(obj):
    return norm_of((obj.re, obj.im))
q = Quaternion(x[0], x[1:4])
norms = [norm_of(t) for t in [*things, q]]
unit = Quaternion(q.re / norms[-1], q.im / norms[-1])
kinds = sorted(k.__name__ for k in norm_of.registry if k is not jax.Array and k is not object)
kinds, jnp.stack(norms).shape, norm_of(unit)
---
x = x + 1j
---
things.append(2.5)
---
things.append("text")
---
things[-1] = ({}, [])

### gb-metaclass-registry-and-descriptor-hooks
class Registry(type):
    known = {}
    def __new__(mcls, name, bases, ns, **kw):
        cls = super().__new__(mcls, name, bases, ns)
        if bases: mcls.known[kw.get("alias", name.lower())] = cls
        return cls
    def __init__(cls, name, bases, ns, **kw): super().__init__(name, bases, ns)
class Bounded:
    def __init__(self, lo, hi): self.lo, self.hi, self.sets = lo, hi, 0
    def __set_name__(self, owner, name): self.slot = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.slot)
    def __set__(self, obj, value):
        self.sets += 1
        setattr(obj, self.slot, jnp.clip(value, self.lo, self.hi))
class Layer(metaclass=Registry):
    gain = Bounded(0.0, 2.0)
    def __init__(self, gain): self.gain = gain
    def __rshift__(self, other): return lambda v: other(self(v))
order, gain = ["square", "soft"], 3.0
---
class Square(Layer):
    def __call__(self, v): return self.gain * v ** 2
class Softened(Layer, alias="soft"):
    gain = Bounded(-1.0, 1.0)
    def __call__(self, v): return jnp.tanh(v) + self.gain
chain = [Registry.known[name](gain) for name in order]
out = reduce(lambda v, layer: layer(v), chain, x)
both = (chain[0] >> chain[-1])(x)
slope = jax.grad(lambda g: Softened(g)(Square(g)(x)).sum())(0.5)
chain[0].gain = out.mean()
Layer.gain.sets, vars(Softened)["gain"].sets, sorted(Registry.known), slope > 0
---
order = ["soft"]; gain = jnp.float32(-4.0)
---
Layer.gain.hi = 0.1; order = ["square", "square"]
---
Registry.known.clear()
---
order = ["softened"]

### gb-mesh-moving-average-with-shard-map devices=4
mesh = jax.make_mesh((4,), ("i",))
series = jax.device_put(jnp.arange(16.0), NamedSharding(mesh, P("i")))
weights = jnp.array([0.25, 0.5, 0.25])
---
@partial(jax.shard_map, mesh=mesh, in_specs=(P("i"), P()), out_specs=(P("i"), P()))
def smooth(block, w):
    n = lax.axis_size("i")
    left = lax.ppermute(block[-1:], "i", [(j, (j + 1) % n) for j in range(n)])
    right = lax.ppermute(block[:1], "i", [(j, (j - 1) % n) for j in range(n)])
    full = jnp.concatenate([left, block, right])
    out = jnp.convolve(full, w, mode="valid")
    return out, lax.psum(out.sum(), "i")
series, total = smooth(series, weights)
host = np.asarray(series)
per_device = [s.data.mean() for s in series.addressable_shards]
replicated = jax.device_put(series, NamedSharding(mesh, P()))
print(series.sharding.spec, len(per_device), replicated.sharding.is_fully_replicated)
total, host.shape, jnp.stack([jax.device_put(p, jax.devices()[0]) for p in per_device])
---
weights = jnp.array([0.0, 1.0, 0.0])
---
series = jax.device_put(jnp.ones(8), NamedSharding(mesh, P("i")))
---
mesh = jax.make_mesh((2,), ("i",), devices=jax.devices()[:2]); series = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("i")))

### gb-debug-callbacks-collect-per-iteration
seen = []
class Monitor:
    def __init__(self, every): self.every, self.values = every, []
    def __call__(self, i, v):
        if int(i) % self.every == 0:
            self.values.append(round(float(v), 2))
monitor, tol = Monitor(2), 0.05
def body(c):
    i, v = c
    v = 0.5 * (v + 2.0 / v)
    jax.debug.callback(lambda i, v: monitor(i, v), i, v, ordered=True)
    return i + 1, v
---
count, root = lax.while_loop(lambda c: (jnp.abs(c[1] ** 2 - 2.0) > tol) & (c[0] < 20), body, (0, jnp.float32(8.0)))
seen.append(len(monitor.values))
jax.debug.print("root {r:.2f} after {n}", r=root, n=count, ordered=True)
scaled = root * len(monitor.values)
jax.effects_barrier()
seen[-1], monitor.values[-1], count
---
tol = 1e-3
---
monitor = Monitor(1)
---
monitor.values.clear(); monitor.every = 3; seen.clear()

### gb-kalman-filter-class-scan-and-rts watched cold
class LGSSM(typing.NamedTuple):
    F: jax.Array
    H: jax.Array
    Q: jax.Array
    R: jax.Array
class Kalman:
    def __init__(self, model, m, P):
        self.model, self.m, self.P = model, m, P
        self.loglik, self._log = 0.0, collections.deque(maxlen=3)
    def _step(self, carry, z):
        (F, H, Q, R), (m, C) = self.model, carry
        mp, Cp = F @ m, F @ C @ F.T + Q
        S = H @ Cp @ H.T + R
        K = jnp.linalg.solve(S, H @ Cp).T
        r = z - H @ mp
        ll = -0.5 * (r @ jnp.linalg.solve(S, r) + jnp.linalg.slogdet(2 * jnp.pi * S)[1])
        m, C = mp + K @ r, Cp - K @ H @ Cp
        return (m, C), (m, C, ll)
    def filter(self, zs):
        (self.m, self.P), (ms, Cs, lls) = lax.scan(self._step, (self.m, self.P), zs)
        self.loglik = self.loglik + lls.sum()
        self._log.append(ms[-1])
        return ms, Cs
dt = 0.5
model = LGSSM(jnp.array([[1.0, dt], [0.0, 1.0]]), jnp.array([[1.0, 0.0]]), 0.01 * jnp.eye(2), 0.25 * jnp.eye(1))
kf = Kalman(model, jnp.zeros(2), jnp.eye(2))
zs = (x * 3)[:, None]
---
ms, Cs = kf.filter(zs)
def backward(carry, inp):
    ms_next, (m, C) = carry, inp
    G = C @ kf.model.F.T @ jnp.linalg.inv(kf.model.F @ C @ kf.model.F.T + kf.model.Q)
    m = m + G @ (ms_next - kf.model.F @ m)
    return m, m
_, smoothed = lax.scan(backward, ms[-1], (ms[:-1], Cs[:-1]), reverse=True)
psd = jnp.linalg.eigvalsh(kf.P).min() > 0
trend = jnp.stack(kf._log)[:, 1]
smoothed.shape, psd, len(trend) <= 3, type(kf.loglik).__name__
---
zs = zs[:4] * -1
---
kf.model = kf.model._replace(R=jnp.array([[4.0]])); kf._log.clear()
---
kf = Kalman(LGSSM(*(jnp.eye(2) * v for v in (0.9, 1.0, 0.1, 0.5))), jnp.zeros(2), jnp.eye(2)); zs = jnp.ones((3, 2))

### gb-monte-carlo-exotics-switch-table
payoffs = {
    "call": lambda p, k: jnp.maximum(p[-1] - k, 0.0),
    "asian": lambda p, k: jnp.maximum(p.mean() - k, 0.0),
    "lookback": lambda p, k: p[-1] - p.min(),
}
class Market:
    __slots__ = ("spot", "vol", "rate", "__weakref__")
    def __init__(self, spot, vol, rate): self.spot, self.vol, self.rate = spot, vol, rate
    def __matmul__(self, key_n):
        key, n, steps = key_n
        dw = jax.random.normal(key, (n, steps)) * math.sqrt(1 / steps)
        half = jnp.concatenate([dw, -dw])
        return self.spot * jnp.exp(jnp.cumsum((self.rate - self.vol ** 2 / 2) / steps + self.vol * half, axis=1))
mkt, strike, report = Market(100.0, 0.2, 0.01), 100.0, io.StringIO()
---
paths = mkt @ (jax.random.key(4), 8, 5)
branches = tuple(payoffs.values())
def value(i, strike):
    return jax.vmap(lambda p: lax.switch(i, branches, p, strike))(paths).mean() * jnp.exp(-mkt.rate)
grid = jnp.arange(len(branches))
values, dk = jax.vmap(jax.value_and_grad(value, argnums=1), (0, None))(grid, strike)
report.seek(0); report.truncate()
for name, v, d in zip(payoffs, values, dk):
    report.write(f"{name:<9}|{v:8.1f}|{d:6.1f}\n")
cheapest = min(zip(payoffs, values.tolist()), key=lambda t: t[1])[0]
print(report.getvalue(), end="")
cheapest, paths.shape, weakref.ref(mkt)() is mkt
---
mkt.vol = 0.4; strike = 90.0
---
payoffs["put"] = lambda p, k: jnp.maximum(k - p[-1], 0.0)
---
del payoffs["call"]; mkt = Market(jnp.float32(50), 0.1, 0.0)

### gb-fft-filter-bank-and-spectrogram
rate = 64
filters = {"low": lambda f: jnp.abs(f) < 6, "band": lambda f: (jnp.abs(f) >= 6) & (jnp.abs(f) < 20)}
class Signal:
    def __init__(self, samples, rate): self.samples, self.rate = samples, rate
    def __len__(self): return self.samples.shape[-1]
    def __getitem__(self, item):
        if isinstance(item, str):
            spec = jnp.fft.fft(self.samples)
            keep = filters[item](jnp.fft.fftfreq(len(self), 1 / self.rate))
            return Signal(jnp.fft.ifft(jnp.where(keep, spec, 0)).real, self.rate)
        return Signal(self.samples[item], self.rate)
    def __iter__(self): return iter(self.samples)
    def windows(self, n, hop):
        for start in range(0, len(self) - n + 1, hop):
            yield self[start:start + n].samples * jnp.hanning(n)
t = jnp.arange(rate) / rate
sig = Signal(jnp.sin(2 * jnp.pi * 3 * t) + 0.5 * jnp.sin(2 * jnp.pi * 12 * t), rate)
---
bands = {name: sig[name] for name in filters}
power = {name: jnp.mean(b.samples ** 2) for name, b in bands.items()}
spectro = jnp.stack([jnp.abs(jnp.fft.rfft(w)) for w in sig.windows(16, 8)])
peak_hz = (jnp.argmax(spectro.sum(0)) * sig.rate / 16).astype(jnp.int32)
analytic = jnp.fft.ifft(jnp.fft.fft(sig.samples) * jnp.where(jnp.arange(len(sig)) < len(sig) // 2, 2.0, 0.0))
phase = jnp.unwrap(jnp.angle(analytic[4:12]))
first, *_, last = sig[::16]
assert max(power, key=power.get) == "low", power.keys()
peak_hz, spectro.shape, analytic.dtype, bool((jnp.diff(phase) > 0).all())
---
filters["high"] = lambda f: jnp.abs(f) >= 20
---
sig.samples = sig.samples * 2 + 0.001
---
sig.samples = jnp.sin(2 * jnp.pi * 12 * t)
---
filters["low"] = lambda f: jnp.abs(f) < 5; sig = Signal(jnp.sin(2 * jnp.pi * 2 * t) + 0.25, rate)[:32]

### gb-lattice-boltzmann-class-step-counter
class Lattice:
    cx = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]); cy = np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    w = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, np.float32)
    opposite = np.array([0, 3, 4, 1, 2, 7, 8, 5, 6])
    def __init__(self, nx, ny, tau):
        self.tau, self.t = tau, 0
        self.f = jnp.ones((9, nx, ny)) * self.w[:, None, None]
        self.solid = np.zeros((nx, ny), bool)
    @property
    def rho(self): return self.f.sum(0)
    @property
    def u(self): return jnp.stack([jnp.tensordot(c, self.f, 1) for c in (self.cx, self.cy)]) / self.rho
    def equilibrium(self, rho, u):
        cu = 3 * jnp.stack([cx * u[0] + cy * u[1] for cx, cy in zip(self.cx, self.cy)])
        return rho * self.w[:, None, None] * (1 + cu + 0.5 * cu ** 2 - 1.5 * (u ** 2).sum(0))
    def step(self, push=0.01):
        u = self.u + jnp.array([push, 0.0])[:, None, None]
        out = self.f + (self.equilibrium(self.rho, u) - self.f) / self.tau
        out = jnp.where(self.solid, self.f[self.opposite], out)
        self.f = jnp.stack([jnp.roll(out[i], (int(self.cx[i]), int(self.cy[i])), (0, 1)) for i in range(9)])
        self.t += 1
sim = Lattice(6, 5, 0.8)
sim.solid[2, 2] = True
probes, n = collections.defaultdict(list), 2
---
for _ in range(n):
    sim.step()
    probes["mass"].append(sim.rho.sum())
    probes["flow"].append(sim.u[0, -1].mean())
conserved = jnp.ptp(jnp.stack(probes["mass"])) < 0.01
vorticity = jnp.roll(sim.u[1], -1, 0) - jnp.roll(sim.u[1], 1, 0) - jnp.roll(sim.u[0], -1, 1) + jnp.roll(sim.u[0], 1, 1)
speed = np.ma.masked_array(np.linalg.norm(sim.u, axis=0).round(3), mask=sim.solid)
sim.t, len(probes["flow"]), conserved, speed.mask.sum()
---
sim.tau = 1.0; n = 1
---
sim.solid[4, 1:3] = True; probes.clear()
---
Lattice.w = Lattice.w[::-1].copy(); sim = Lattice(4, 4, jnp.float32(0.7))

### gb-pinn-residual-with-nested-derivatives needs=equinox,optax
import equinox as eqx, optax
class Field(eqx.Module):
    layers: list
    scale: jax.Array
    name: str = eqx.field(static=True)
    def __init__(self, key, width=4, name="u"):
        k1, k2 = jax.random.split(key)
        self.layers = [eqx.nn.Linear(2, width, key=k1), jnp.tanh, eqx.nn.Linear(width, "scalar", key=k2)]
        self.scale, self.name = jnp.float32(1.0), name
    def __call__(self, t, s):
        h = jnp.stack([t, s])
        for layer in self.layers: h = layer(h)
        return self.scale * h
net, opt = Field(jax.random.key(0)), optax.adam(1e-2)
opt_state = opt.init(eqx.filter(net, eqx.is_inexact_array))
pts, kappa, history = jax.random.uniform(jax.random.key(1), (6, 2)), 0.1, []
---
def residual(net, t, s):
    u_t = jax.grad(net, 0)(t, s)
    u_ss = jax.grad(jax.grad(net, 1), 1)(t, s)
    return u_t - kappa * u_ss
@eqx.filter_value_and_grad
def loss_fn(net, pts):
    interior = jax.vmap(residual, (None, 0, 0))(net, *pts.T)
    initial = jax.vmap(lambda s: net(0.0, s) - jnp.sin(jnp.pi * s))(pts[:, 1])
    return jnp.mean(interior ** 2) + jnp.mean(initial ** 2)
for epoch in range(2):
    loss, grads = loss_fn(net, pts)
    updates, opt_state = opt.update(grads, opt_state, eqx.filter(net, eqx.is_inexact_array))
    net = eqx.apply_updates(net, updates)
history.append(loss)
frozen = eqx.tree_at(lambda n: n.layers[0].weight, net, replace_fn=jnp.zeros_like)
n_par = sum(p.size for p in jax.tree.leaves(eqx.filter(net, eqx.is_array)))
n_par, net.name, len(history), jnp.all(frozen.layers[0].weight == 0), net.layers[1] is jnp.tanh
---
kappa = 0.5
---
net = eqx.tree_at(lambda n: n.layers[1], net, jnp.sin)
---
pts = pts[:3]; history.clear(); kappa = jnp.float32(1.0)

### gb-custom-jvp-and-linearize-of-barrier
@jax.custom_jvp
def softabs(v, eps):
    return jnp.sqrt(v ** 2 + eps ** 2)
@softabs.defjvp
def _(primals, tangents):
    (v, eps), (dv, _) = primals, tangents
    y = softabs(v, eps)
    return y, v / y * dv
eps, v = 0.1, jnp.array([-1.0, 0.0, 2.0])
trust = {"radius": 1.0, "accepted": 0}
---
def energy(v):
    return jnp.sum(softabs(v, eps)) + 0.5 * jnp.sum((v - 1.0) ** 2)
g, hvp = jax.linearize(jax.grad(energy), v)
basis = jnp.eye(v.size)
H = jax.vmap(hvp)(basis)
sym = jnp.abs(H - H.T).max() < 1e-4
step = -jnp.linalg.solve(H + 0.5 * basis, g)
norm = jnp.linalg.norm(step)
step = jnp.where(norm > trust["radius"], step * trust["radius"] / norm, step)
pred = -(g @ step + 0.5 * step @ hvp(step))
if (actual := energy(v) - energy(v + step)) > 0.1 * pred:
    v, trust["accepted"] = v + step, trust["accepted"] + 1
else:
    trust["radius"] *= 0.5
_, tangent = jax.jvp(energy, (v,), (step,))
sym, trust["accepted"], tangent.shape
---
eps = 0.5
---
v = jnp.array([3.0, -3.0]); trust = dict(radius=0.25, accepted=10)
---
softabs.defjvp(lambda p, t: (softabs(*p), 0 * t[0]))

### gb-export-and-aot-roundtrip
from jax import export
def f(params, v): return jnp.tanh(v @ params["w"]) + params["b"]
params = {"w": jnp.full((8, 2), 0.1), "b": jnp.zeros(2)}
shape = jax.ShapeDtypeStruct((8,), jnp.float32)
---
spec = jax.tree.map(lambda p: jax.ShapeDtypeStruct(p.shape, p.dtype), params)
exported = export.export(jax.jit(f))(spec, shape)
Path("f.mlir").write_text(exported.mlir_module())
y = exported.call(params, x)
compiled = jax.jit(f).lower(params, x).compile()
z = compiled(params, x * 2)
abstract = jax.eval_shape(jax.vmap(f, (None, 0)), params, jax.ShapeDtypeStruct((5, 8), jnp.float32))
ops = collections.Counter(e.primitive.name for e in jax.make_jaxpr(f)(params, x).eqns)
assert jnp.allclose(y, f(params, x), atol=1e-4)
funcs = re.findall(r"func.func (\w+) @main", Path("f.mlir").read_text())
os.remove("f.mlir")
del exported, compiled
funcs, abstract.shape, sorted(ops), (y <= z + 1e-4).all()
---
params["b"] = params["b"] + 1.0
---
def f(params, v): return jnp.sin(v @ params["w"]) - params["b"]
---
params["w"] = jnp.ones((8, 2), jnp.bfloat16)

### gb-callbacks-pure-and-io-with-table watched
table = np.array([1.0, 4.0, 9.0, 16.0], np.float32)
ledger = {"calls": 0, "seen": []}
def lookup(i):
    return table[np.asarray(i)]
def record(v):
    ledger["calls"] += 1
    ledger["seen"].append(np.round(float(v), 1))
    return np.float32(ledger["calls"])
scale = 0.5
---
@jax.jit
def run(idx):
    vals = jax.pure_callback(lookup, jax.ShapeDtypeStruct(idx.shape, jnp.float32), idx, vmap_method="expand_dims")
    return vals * scale
picked = run(jnp.array([0, 2, 3]))
ticket = jax.experimental.io_callback(record, jax.ShapeDtypeStruct((), jnp.float32), picked.sum(), ordered=True)
rows = jax.vmap(run)(jnp.array([[0, 1], [2, 3]]))
late = picked / ticket
ledger["calls"], ledger["seen"][-1], rows.sum(1)
---
table[:] = table[::-1]
---
scale = 2.0; ledger["seen"].clear()
---
record = lambda v: (ledger["seen"].append("new"), np.float32(7.0))[1]

### gb-closure-counter-and-defaults-fail-late
def make_logger():
    n, lines = 0, []
    def log(msg, *, seen=set()):
        nonlocal n
        n += 1
        seen.add(msg)
        lines.append(f"{n}:{msg}")
        return n
    log.lines = lines
    return log
log = make_logger()
queue_ = collections.deque([3, 1, 2])
grid = np.zeros((2, 4), object)
limit, w = 5.0, jnp.ones(4)
---
while queue_[0] != 1:
    queue_.rotate(1)
    log("rotate")
w = w * queue_[0] + len(log.lines)
view = grid[0]
view[:2] = [w, "two"]
log.last = log(f"{len(queue_)}")
if (total := float(w.sum())) > limit:
    queue_.append("overflow"); grid[1, :] = None
    raise OverflowError(f"{total:.0f} > {limit}")
total, log.lines[-1], type(grid[0, 0]).__name__
---
limit = 1000.0
---
queue_ = collections.deque([1, 5, 5, 5]); w = w[:3]
---
limit = 1.0; queue_.extendleft([9])
---
limit = float("inf"); grid = grid[:, 1:]

### gb-flyweight-new-and-post-init-fail
class Unit:
    pool = {}
    def __new__(cls, name, factor=1.0):
        if name not in cls.pool:
            self = super().__new__(cls)
            self.name, self.factor, self.uses = name, factor, 0
            cls.pool[name] = self
        cls.pool[name].uses += 1
        return cls.pool[name]
@dataclasses.dataclass
class Quantity:
    value: jax.Array
    unit: Unit
    made: typing.ClassVar[int] = 0
    def __post_init__(self): Quantity.made += 1
    def __add__(self, o):
        if self.unit is not o.unit: raise TypeError(f"{self.unit.name} + {o.unit.name}")
        return Quantity(self.value + o.value, self.unit)
    def to(self, name): return Quantity(self.value * self.unit.factor / Unit(name).factor, Unit(name))
Unit("m"), Unit("km", 1000.0)
a, b_unit = Quantity(x, Unit("m")), "km"
---
b = Quantity(jnp.arange(8.0), Unit("km")).to(b_unit)
Unit("mile", 1609.0)
total = a + b.to("m") if b.unit is Unit("km") else a + b
mean = dataclasses.replace(total, value=total.value.mean())
Unit.pool["m"].uses, Quantity.made, mean.value, sorted(Unit.pool)
---
b_unit = "m"
---
b_unit = "mile"
---
Unit.pool.clear(); a, b_unit = Quantity(x, Unit("mm", 0.001)), "mm"
---
a.unit = Unit("m"); Unit.pool["km"].factor = 10; b_unit = "km"

### gb-init-subclass-plugins-and-set-name
class Plugin:
    registry, order = {}, []
    def __init_subclass__(cls, /, priority=0, **kw):
        super().__init_subclass__(**kw)
        Plugin.registry[cls.__name__] = priority
        Plugin.order[:] = sorted(Plugin.registry, key=Plugin.registry.get)
class Knob:
    made = []
    def __init__(self, default): self.default = default
    def __set_name__(self, owner, name):
        self.name = name; Knob.made.append(f"{owner.__name__}.{name}")
    def __get__(self, obj, owner=None): return self.default if obj is None else vars(obj).get(self.name, self.default)
tail, cap = 1.5, 100.0
---
class Gain(Plugin, priority=2):
    k = Knob(2.0)
    def run(self, v): return v * self.k
class Shift(Plugin, priority=1):
    by = Knob(tail)
    def run(self, v): return v + self.by
out = x
for name in Plugin.order:
    out = globals()[name]().run(out) if name in globals() else out
if out.max() > cap:
    raise RuntimeError(f"{Plugin.order} gave {out.max():.1f}")
Plugin.order[:2], len(Knob.made), Gain.k
---
tail = 0.5
---
cap = 1.0
---
cap = 50.0; Plugin.registry["Other"] = 5; Knob.made.clear()

### gb-pandas-resample-datetimes-and-merge
import pandas as pd
stamps = np.datetime64("2024-01-01") + np.arange(8).astype("timedelta64[D]")
prices = pd.Series(np.round(100 + 5 * np.sin(np.arange(8)), 2), index=pd.DatetimeIndex(stamps), name="px")
span, flags = 3, pd.DataFrame({"day": stamps[[1, 4]], "flag": ["div", "split"]})
---
alpha = 2 / (span + 1)
def ewm(c, v):
    c = jnp.where(jnp.isnan(c), v, alpha * v + (1 - alpha) * c)
    return c, c
_, smooth = lax.scan(ewm, jnp.nan, jnp.asarray(prices.to_numpy(), jnp.float32))
frame = prices.to_frame().assign(ewm=np.asarray(smooth).round(1), dow=lambda d: d.index.dayofweek)
frame["up"] = np.asarray(smooth[1:] > smooth[:-1]).tolist() + [False]
merged = frame.reset_index(names="day").merge(flags, on="day", how="left").fillna({"flag": "-"})
weekly = merged.groupby(merged["day"].dt.to_period("W"))["px"].agg(lambda s: round(float(jnp.asarray(s.to_numpy()).max()), 1))
for row in merged.itertuples():
    if row.flag != "-":
        print(f"{row.day:%d %b} {row.flag:>6} {row.up}")
elapsed = (stamps[-1] - stamps[0]) / np.timedelta64(1, "D")
len(weekly), merged.dtypes["flag"] == object, elapsed, merged["up"].sum()
---
span = 1
---
prices.iloc[2] = 250.0; flags.loc[2] = [stamps[2], "spike"]
---
prices = prices.iloc[::2]; stamps = stamps[::2]

### gb-threads-workers-share-a-results-dict
results, lock = {}, threading.Lock()
jobs = [("a", 1.0), ("b", 2.0), ("c", 3.0)]
def simulate(seed, scale):
    return jnp.std(jax.random.normal(jax.random.key(seed), (16,)) * scale)
---
def worker(q):
    while (item := q.get()) is not None:
        name, scale = item
        value = simulate(len(name), scale)
        with lock:
            results[name] = value
todo = queue.Queue()
team = [threading.Thread(target=worker, args=(todo,)) for _ in range(2)]
for t in team: t.start()
for job in [*jobs, None, None]: todo.put(job)
for t in team: t.join()
for name in sorted(results): results[name] = results.pop(name)
with ThreadPoolExecutor(2) as pool:
    doubled = dict(zip(sorted(results), pool.map(lambda n: results[n] * 2, sorted(results))))
ratio = results[jobs[-1][0]] / results[jobs[0][0]]
del todo, team, t, pool
list(doubled), jnp.round(ratio, 1)
---
jobs[0] = ("a", 6.0)
---
results.clear(); jobs.append(("dd", 1.0))
---
def simulate(seed, scale):
    return jnp.float32(seed * scale)

### gb-asyncio-gather-and-subprocess-numbers
delays, offset = {"x": 2, "y": 1}, 1.0
async def fetch(name, n):
    for _ in range(n): await asyncio.sleep(0)
    order.append(name)
    return name, jnp.arange(n, dtype=jnp.float32) + offset
order = []
---
async def main():
    return dict(await asyncio.gather(*(fetch(k, n) for k, n in delays.items())))
import threading
got, box = None, {}
def runner(): box["got"] = asyncio.run(main())
th = threading.Thread(target=runner); th.start(); th.join()
got = box.pop("got")
flat = jnp.concatenate(list(got.values()))
text = subprocess.run([sys.executable, "-S", "-c", "import sys; print(sum(map(float, sys.argv[1:])))", *map(str, flat.tolist())],
                      capture_output=True, text=True).stdout
assert abs(float(text) - flat.sum()) < 1e-3
scaled = flat / float(text)
del th
order[-len(delays):], list(got), scaled.sum() > 0.99
---
offset = 3
---
delays["z"] = 4; order.clear()

### gb-x64-toggle-and-narrow-dtypes x64
quant = {"bits": 8}
w = jnp.linspace(-2.0, 2.0, 16, dtype=jnp.float64)
---
qmax = 2 ** (quant["bits"] - 1) - 1
scale = jnp.abs(w).max() / qmax
q = jnp.clip(jnp.round(w / scale), -qmax, qmax).astype(jnp.int8)
packed = (q.view(jnp.uint8) & 0x0F) | ((q.view(jnp.uint8) >> 4) << 4)
err = jnp.abs(q * scale - w).max()
halves = {d: w.astype(d).astype(jnp.float64) for d in ("float16", "bfloat16", "float32")}
ulp = {d: jnp.finfo(d).eps for d in halves}
with jax.enable_x64(False):
    narrow = jnp.asarray(np.arange(3.0)) + 1
    kinds = [jnp.asarray(v).dtype.name for v in (1, 1.0, 1j, True)]
bits = lax.bitcast_convert_type(jnp.float32(1.5), jnp.uint32)
wide = jnp.asarray(np.arange(3)) * q[:3]
assert (packed.view(jnp.int8) == q).all()
narrow.dtype, kinds, wide.dtype, hex(int(bits)), err < scale, (q.sum(), q.mean().dtype), [v.dtype.name for v in halves.values()]
---
quant["bits"] = 4
---
w = w.astype(jnp.float32) * 3
---
w = jnp.asarray(np.array([1, -5, 3], np.int16)) * 1.0

### gb-enum-match-commands-on-robot watched
class Move(enum.Enum):
    TURN = "turn"
    GO = "go"
    @classmethod
    def _missing_(cls, value): return cls(value.lower()) if value != value.lower() else None
    @property
    def op(self): return {Move.TURN: "rot", Move.GO: "adv"}[self]
@dataclasses.dataclass
class Robot:
    pos: jax.Array
    heading: jax.Array
    trail: list = dataclasses.field(default_factory=list, repr=False)
robot = Robot(jnp.zeros(2), jnp.float32(0.0))
program = ["GO 1.0", "turn 90", {"repeat": 2, "do": ["go 0.5", "TURN -45"]}, ("jump", 1.0, -1.0)]
---
def execute(r, cmd):
    match cmd:
        case str(text):
            name, arg = text.split()
            match Move(name), float(arg):
                case Move.GO, d:
                    r.pos = r.pos + d * jnp.stack([jnp.cos(r.heading), jnp.sin(r.heading)])
                case Move.TURN, deg if deg:
                    r.heading = r.heading + jnp.deg2rad(deg)
        case {"repeat": int(n), "do": [*body]}:
            for _ in range(n):
                for each in body: execute(r, each)
        case ("jump", *by) if len(by) == 2:
            r.pos = r.pos + jnp.array(by)
        case other:
            raise ValueError(f"cannot {other!r}")
    r.trail.append(r.pos)
for cmd in program:
    execute(robot, cmd)
length = sum(jnp.linalg.norm(b - a) for a, b in itertools.pairwise(robot.trail))
print(f"{len(robot.trail)} stops, {Move('GO').op}")
length > 1, jnp.round(robot.heading, 2)
---
program[2]["repeat"] = 1; robot.trail.clear()
---
program.append(["fly"])
---
program[-1] = "turn 10"; robot = copy.deepcopy(robot)
---
program = ["go 1", "sit 2"]

### gb-pmap-and-set-mesh-then-default-device devices=8
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
params = {"w": jnp.full((4, 6), 0.1), "b": jnp.zeros(6)}
rules = {"w": P(None, "model"), "b": P("model")}
batch = np.arange(32, dtype=np.float32).reshape(8, 4) / 32
---
placed = {k: jax.device_put(v, NamedSharding(mesh, rules[k])) for k, v in params.items()}
xs = jax.device_put(batch, NamedSharding(mesh, P("data")))
@jax.jit
def forward(p, xs):
    h = jnp.tanh(xs @ p["w"] + p["b"])
    return lax.with_sharding_constraint(h, NamedSharding(mesh, P("data", "model")))
h = forward(placed, xs)
grads = jax.grad(lambda p: forward(p, xs).sum())(placed)
with jax.set_mesh(mesh):
    centred = jax.jit(lambda h: h - h.mean(0), out_shardings=P("data"))(h)
with jax.default_device(jax.devices()[3]):
    stray = jnp.ones(2) + 1
stacked = jax.pmap(lambda v: lax.pmean(v, "d"), axis_name="d", devices=jax.devices()[:2])(jnp.arange(4.0).reshape(2, 2))
layout = {k: str(v.sharding.spec) for k, v in grads.items()}
print(h.sharding.spec, centred.sharding.spec, sorted(d.id for d in stray.devices()), stacked.shape)
layout, len(h.addressable_shards)
---
rules["w"] = P("data", None)
---
batch = batch[:4] + 1
---
rules["b"] = P(); params["b"] = jnp.ones(6)
---
rules["w"] = P("modle")

### gb-h5-json-csv-resume-with-failing-write needs=h5py
import h5py
with h5py.File("run.h5", "w") as f:
    f.create_dataset("traj", (0, 2), maxshape=(None, 2), dtype="f4")
    f.attrs["units"] = "m"
Path("run.json").write_text(json.dumps({"k": 1.0, "n": 3}))
state, best = jnp.array([1.0, 0.0]), {}
---
cfg = json.loads(Path("run.json").read_text())
A = jnp.array([[0.0, 1.0], [-cfg["k"], -0.1]])
flow = jax.scipy.linalg.expm(0.1 * A)
rows = []
for _ in range(cfg["n"]):
    state = flow @ state
    rows.append(state)
best["energy"] = min(best.get("energy", jnp.inf), 0.5 * jnp.sum(state ** 2))
rms = jnp.sqrt(jnp.mean(jnp.stack(rows) ** 2))
if not 0 < rms < cfg.get("cap", 10.0):
    raise ArithmeticError(f"rms {rms:.1f}")
with h5py.File("run.h5", "a") as f:
    d = f["traj"]
    d.resize(d.shape[0] + len(rows), axis=0)
    d[-len(rows):] = jnp.round(jnp.stack(rows), 2)
    total = d.shape[0]
with open("log.csv", "a", newline="") as f:
    csv.writer(f).writerows([i, f"{v:.1f}"] for i, v in enumerate(jnp.stack(rows)[:, 0].tolist()))
count = sum(1 for _ in csv.reader(open("log.csv")))
del d, f
total, count, sorted(best)
---
Path("run.json").write_text(json.dumps({"k": 4.0, "n": 2}))
---
Path("run.json").write_text(json.dumps({"k": 1.0, "n": 2, "cap": 0.0}))
---
Path("run.json").write_text('{"k": 1, "n": 1}'); best.clear(); os.remove("log.csv")

### gb-lru-caches-total-ordering-and-partials
@lru_cache(maxsize=None)
def binomial(n, k): return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)
@functools.total_ordering
class Poly:
    def __init__(self, *coef): self.coef = jnp.array(coef, jnp.float32)
    def __call__(self, v): return reduce(lambda acc, c: acc * v + c, self.coef[::-1])
    def __eq__(self, o): return len(self.coef) == len(o.coef)
    def __lt__(self, o): return len(self.coef) < len(o.coef)
    def __hash__(self): return len(self.coef)
    def __mul__(self, o): return Poly(*jnp.convolve(self.coef, o.coef))
    @cached_property
    def slope(self): return Poly(*(self.coef[1:] * jnp.arange(1, len(self.coef))))
    def __repr__(self): return " + ".join(f"{c:g}x^{i}" for i, c in enumerate(self.coef.tolist()))
degree = 3
polys = [Poly(1, 2), Poly(0.5), Poly(1, 0, 3)]
---
bern = [partial(lambda v, n, k: binomial(n, k) * v ** k * (1 - v) ** (n - k), n=degree, k=k) for k in range(degree + 1)]
unity = sum(b(x) for b in bern)
ordered = sorted(polys)
prod = ordered[0] * ordered[-1]
values = jnp.stack([p(x) + 0 * x for p in polys])
slopes = [p.slope for p in polys if len(p.coef) > 1]
by_len = {p: repr(p) for p in polys}
binomial.cache_clear() if degree > 5 else None
largest = max(polys)
largest is polys[by_len and [len(p.coef) for p in polys].index(max(len(p.coef) for p in polys))], repr(prod), jnp.ptp(unity) < 1e-4, "slope" in vars(polys[0]), binomial.cache_info().currsize >= 0
---
degree = 2
---
polys.append(Poly(1, 1, 1, 1)); del polys[1]
---
polys[0].coef = polys[0].coef * 2
---
Poly.__call__ = lambda self, v: jnp.polyval(self.coef[::-1], v) + 100

### gb-sqlite-trials-and-search-by-history
db = sqlite3.connect(":memory:")
db.execute("create table trials (lr real, loss real, note text)")
rng = random.Random(0)
class Study:
    def __init__(self, db): self.db, self.best = db, None
    def suggest(self):
        known = [lr for (lr,) in self.db.execute("select lr from trials order by loss limit 1")]
        return known[0] * 0.5 if known else 0.4
    def tell(self, lr, loss):
        self.db.execute("insert into trials values (?, ?, ?)", (lr, round(float(loss), 2), f"n{len(self)}"))
        if self.best is None or loss < self.best[1]: self.best = (lr, loss)
    def __len__(self): return self.db.execute("select count(*) from trials").fetchone()[0]
study, target, w0 = Study(db), jnp.array([1.0, -1.0]), jnp.zeros(2)
---
lr = study.suggest()
def train(w, lr):
    def step(w, _):
        loss, g = jax.value_and_grad(lambda w: jnp.sum((w - target) ** 2))(w)
        return w - lr * g, loss
    return lax.scan(step, w, length=3)
w, losses = train(w0, lr)
study.tell(lr, losses[-1])
rows = db.execute("select note, loss from trials order by loss, note").fetchall()
print("\n".join(f"{n:>4} {l:.2f}" for n, l in rows[:2]))
len(study), study.best[0], w.shape
---
target = target * 2
---
db.execute("delete from trials")
---
w0 = jnp.ones(3)

### gb-image-filters-pipeline-of-decorators
stages = []
def stage(order):
    def wrap(fn):
        @wraps(fn)
        def inner(img, *a, **k):
            inner.calls += 1
            out = fn(img, *a, **k)
            return jnp.clip(out, 0.0, 1.0)
        inner.calls = 0
        stages.append((order, inner)); stages.sort(key=operator.itemgetter(0))
        return inner
    return wrap
img = jnp.outer(x, 1 - x) * 4
kernel = jnp.array([[1.0, 2, 1], [2, 4, 2], [1, 2, 1]]) / 16
gamma = 0.5
---
stages.clear()
@stage(2)
def correct(img): return img ** gamma
@stage(1)
def blur(img):
    padded = jnp.pad(img, 1, mode="edge")
    return jax.scipy.signal.convolve2d(padded, kernel, mode="valid")
@stage(3)
def sobel(img, axis=(0, 1)):
    return jnp.sqrt(sum(jnp.square(jnp.gradient(img, axis=a)) for a in axis) + 1e-6)
out = reduce(lambda im, s: s[1](im), stages, img)
hist, edges = jnp.histogram((img * 8 + 0.3).astype(jnp.int32), bins=4, range=(0, 8))
thumbs = jax.image.resize(out, (4, 4), "nearest")
mask = lax.reduce_window(img, -jnp.inf, lax.max, (3, 3), (1, 1), "SAME") == img
names = [fn.__name__ for _, fn in stages]
names, [fn.calls for _, fn in stages], hist, thumbs.shape, mask.dtype
---
gamma = 2
---
kernel = jnp.zeros((3, 3)).at[1, 1].set(1.0)
---
img = img.astype(jnp.float16)
---
img = jnp.stack([img, img])

### gb-matplotlib-axes-of-fits-and-residuals needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
t = jnp.linspace(0, 2, 9)
obs = 2 * jnp.exp(-t) + 0.5
p, colours = {"a": jnp.float32(1.0), "c": jnp.float32(0.0)}, itertools.cycle("rgb")
sweeps = 2
---
def predict(p): return p["a"] * jnp.exp(-t) + p["c"]
fig, (top, low) = plt.subplots(2, 1, sharex=True)
for k in range(sweeps):
    J = jax.jacfwd(predict)(p)
    M = jnp.stack(list(J.values()), axis=1)
    delta, *_ = jnp.linalg.lstsq(M, obs - predict(p))
    p = {n: v + 0.5 * d for (n, v), d in zip(p.items(), delta)}
    top.plot(t, np.round(predict(p), 1), color=next(colours), label=f"sweep {k}")
resid = obs - predict(p)
low.stem(t, np.round(resid, 1)); low.axhline(0, lw=0.5)
top.legend(); top.set_title(f"a={p['a']:.1f}")
drawn = [ln.get_label() for ln in top.lines]
span = np.round(top.lines[-1].get_ydata().max(), 1)
fig.savefig("fit.png", metadata={"Software": None}, dpi=20)
size = os.path.getsize("fit.png") > 100; os.remove("fit.png")
plt.close(fig); del fig, top, low
drawn, size, float(span), jnp.abs(resid).max() < 1
---
sweeps = 1
---
obs = obs * 2; p["a"] = 3.0

### gb-chainmap-config-and-getattr-proxy-fails cold watched
class Settings:
    def __init__(self, *maps): vars(self)["_chain"] = collections.ChainMap(*maps)
    def __getattr__(self, name):
        try: return self._chain[name]
        except KeyError: raise AttributeError(f"no setting {name!r}") from None
    def __setattr__(self, name, value): self._chain[name] = value; touched[name] += 1
    def __delattr__(self, name): del self._chain[name]
    @contextlib.contextmanager
    def override(self, **kw):
        old = vars(self)["_chain"]
        vars(self)["_chain"] = old.new_child(kw)
        try: yield self
        finally: vars(self)["_chain"] = old
defaults, user, touched = {"lr": 0.1, "wd": 0.0, "act": jnp.tanh}, {"lr": 0.05}, collections.Counter()
cfg, w, asks = Settings(user, defaults), jnp.ones(4), ["lr", "wd"]
---
with cfg.override(wd=0.5) as inner:
    w = w - inner.lr * inner.act(w) - inner.wd * w
    inner.temp = w.sum()
    hot = inner.temp > 0
cfg.steps = cfg.steps + 1 if "steps" in user else 1
cfg.last = w.mean()
read = {name: getattr(cfg, name) for name in asks}
if cfg.wd == 0.0 and cfg.steps > 2:
    del cfg.steps
print(sorted(user), touched.most_common(1), hasattr(cfg, "temp"))
read, hot
---
cfg.wd = 0.25
---
asks.append("momentum")
---
defaults["momentum"] = 0.9; cfg.act = jnp.sin
---
del user["wd"]; asks[:] = ["temp"]

### gb-numpyro-mcmc-continued-and-summarised needs=numpyro tolerance=1e-2 cold
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, HMC, Predictive, init_to_value
def model(n, k=None):
    theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    numpyro.deterministic("odds", jnp.exp(theta))
    with numpyro.plate("n", n):
        return numpyro.sample("k", dist.Bernoulli(logits=theta), obs=k)
n, k, chains = 6, jnp.array([1, 1, 0, 1, 0, 1]), {}
kernel = HMC(model, step_size=0.1, num_steps=3, adapt_step_size=False, adapt_mass_matrix=False, init_strategy=init_to_value(values={"theta": 0.5}))
---
mcmc = MCMC(kernel, num_warmup=2, num_samples=4, progress_bar=False)
mcmc.run(jax.random.key(0), n, k, extra_fields=("accept_prob",))
draws = mcmc.get_samples()
chains["first"] = draws["theta"]
post = Predictive(model, posterior_samples=draws, return_sites=["k"])(jax.random.key(2), n)["k"]
accept = mcmc.get_extra_fields()["accept_prob"].mean()
summary = {name: (np.round(float(v.mean()), 1), v.shape) for name, v in sorted(draws.items())}
for name, (m, shape) in summary.items():
    print(f"{name:<6}{shape}")
del mcmc
post.shape, accept > 0.5, sorted(chains), bool((draws["odds"] > 0).all())
---
k = 1 - k
---
n, k = 3, k[:3]

### gb-warnings-logging-context-and-finally watched
log = logging.getLogger("lab"); log.setLevel(logging.INFO)
class Collect(logging.Handler):
    def __init__(self): super().__init__(); self.items = []
    def emit(self, rec): self.items.append(f"{rec.levelname[0]}:{rec.getMessage()}")
sink, tries, bad = Collect(), 0, {2}
def solve(i, v):
    if i in bad:
        warnings.warn(f"stage {i} is ill-conditioned", RuntimeWarning)
        raise np.linalg.LinAlgError("singular")
    return jnp.linalg.solve(jnp.eye(2) * (i + 1) + 0.1, v)
v = jnp.ones(2)
---
log.addHandler(sink)
done = []
try:
    for i in itertools.count():
        tries += 1
        try:
            v = solve(i, v)
        except np.linalg.LinAlgError as e:
            log.warning("stage %d: %s, norm %.2f", i, e, jnp.linalg.norm(v))
            v = v * 0.5
            continue
        else:
            done.append(i)
        finally:
            if i >= 3: break
    log.info("done %s after %d", done, tries)
    assert len(done) > 2, "too few"
finally:
    log.removeHandler(sink)
tries, sink.items[-1], v.shape
---
bad.add(0)
---
bad.clear(); sink.items.clear()
---
bad = {9}; v = jnp.full(2, 100.0)
""",
)
