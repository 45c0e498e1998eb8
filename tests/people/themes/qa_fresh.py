"""Notebooks of many trades: flows, sampling, circuits, molecules, agents, signals, text, tables, and Python's own ways."""

from ..cell import written

PRELUDE = """
import argparse, asyncio, base64, bisect, collections, contextlib, contextvars, copy, csv, dataclasses, datetime, enum
import functools, hashlib, heapq, io, itertools, json, logging, math, operator, os, pickle, queue, random, re, string
import struct, sys, tempfile, textwrap, threading, time, types, unittest, warnings
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce, wraps, lru_cache, singledispatch, singledispatchmethod, cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Iterator, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### qa-flow-of-couplings-itercount-and-numpy-shuffles tolerance=3e-3
from jax.example_libraries import optimizers, stax
def coupling(net, flip):
    def init(rng, dim):
        _, p = net[0](rng, (-1, dim // 2))
        return p
    def split(x): return jnp.split(x[:, ::-1] if flip else x, 2, axis=1)
    def direct(p, x):
        a, b = split(x)
        s = net[1](p, a)
        return jnp.concatenate([a, b * jnp.exp(jnp.tanh(s)) + s], 1), jnp.tanh(s).sum(1)
    def inverse(p, z):
        a, b = jnp.split(z, 2, axis=1)
        s = net[1](p, a)
        x = jnp.concatenate([a, (b - s) * jnp.exp(-jnp.tanh(s))], 1)
        return x[:, ::-1] if flip else x
    return init, direct, inverse
def mlp(): return stax.serial(stax.Dense(6), stax.Tanh, stax.Dense(1))
layers = [coupling(mlp(), bool(i % 2)) for i in range(3)]
params0 = [init(k, 2) for (init, *_), k in zip(layers, jr.split(jr.PRNGKey(2), 3))]
def log_prob(ps, x):
    total = 0.0
    for p, (_, direct, _) in zip(ps, layers):
        x, d = direct(p, x)
        total = total + d
    return total - 0.5 * (x ** 2).sum(1) - math.log(2 * math.pi)
X = np.random.RandomState(0).randn(24, 2).astype(np.float32) * [2.0, 0.5] + 1.0
X = X.astype(np.float32)
opt_init, opt_update, get_params = optimizers.adam(step_size=1e-2)
opt_state, itercount = opt_init(params0), itertools.count()
npr = np.random.RandomState(7)
epochs, bs = 2, 8
@jax.jit
def step(i, s, x): return opt_update(i, jax.grad(lambda p, x: -log_prob(p, x).mean())(get_params(s), x), s)
---
before = float(-log_prob(get_params(opt_state), X).mean())
for epoch in range(epochs):
    order = npr.permutation(len(X))
    for b in range(0, len(X), bs):
        opt_state = step(next(itercount), opt_state, X[order[b:b + bs]])
trained = get_params(opt_state)
z = jr.normal(jr.PRNGKey(5), (4, 2))
for p, (_, _, inverse) in reversed(list(zip(trained, layers))):
    z = inverse(p, z)
nll = -log_prob(trained, X).mean()
print("better" if nll < before else "worse", "at", itercount)
z, nll
---
bs = 12
---
opt_state = opt_init(params0); epochs = 1
---
X *= np.float32(0.5)

### qa-bayes-opt-growing-lists-and-erf-improvement tolerance=5e-3
from jax.scipy.linalg import cho_factor, cho_solve
from jax.scipy.stats import norm
def target(x): return -(x - 0.6) ** 2 + 0.2 * np.sin(9 * x)
def rbf(a, b, ell): return jnp.exp(-0.5 * (a[:, None] - b[None, :]) ** 2 / ell ** 2)
def posterior(X, y, grid, ell, noise=1e-3):
    K = cho_factor(rbf(X, X, ell) + noise * jnp.eye(len(X)))
    Ks = rbf(X, grid, ell)
    mean = Ks.T @ cho_solve(K, y)
    var = 1.0 - jnp.einsum("ij,ij->j", Ks, cho_solve(K, Ks))
    return mean, jnp.sqrt(jnp.clip(var, 1e-6))
def improvement(mean, sd, best, xi=0.01):
    u = (mean - best - xi) / sd
    return (mean - best - xi) * norm.cdf(u) + sd * norm.pdf(u)
grid = jnp.linspace(0, 1, 21)
xs, ys = [0.05, 0.95], []
budget, ell, asked = 3, 0.2, set()
---
ys[:] = [float(target(x)) for x in xs]
for it in range(budget):
    mean, sd = posterior(jnp.array(xs), jnp.array(ys), grid, ell)
    ei = improvement(mean, sd, max(ys))
    while (i := int(jnp.argmax(ei))) in asked:
        ei = ei.at[i].set(-jnp.inf)
    asked.add(i)
    xs.append(float(grid[i])), ys.append(float(target(xs[-1])))
    print(f"{it}: ask {xs[-1]:.2f} -> {ys[-1]:+.3f}" + ("  *" if ys[-1] == max(ys) else ""))
best_x, best_y = max(zip(xs, ys), key=operator.itemgetter(1))
del xs[2:], ys[2:]
asked.clear()
best_x, sd.max(), len(ei)
---
ell = 0.35
---
xs.append(0.4); budget = 2
---
def target(x): return float(np.cos(5 * x))

### qa-vqe-circuit-as-strings-and-gates-in-a-dict tolerance=2e-3
I2, X2, Z2 = np.eye(2), np.array([[0, 1], [1, 0]]), np.diag([1, -1])
def ry(t): return jnp.array([[jnp.cos(t / 2), -jnp.sin(t / 2)], [jnp.sin(t / 2), jnp.cos(t / 2)]])
CX = np.eye(4)[[0, 1, 3, 2]].reshape(2, 2, 2, 2)
GATES = {"ry": (1, ry), "cx": (2, lambda: CX), "h": (1, lambda: np.array([[1, 1], [1, -1]]) / np.sqrt(2))}
def apply(state, gate, qubits):
    k = len(qubits)
    state = jnp.tensordot(gate, state, axes=(list(range(k, 2 * k)), list(qubits)))
    return jnp.moveaxis(state, range(k), qubits)
def run(program, theta):
    state = jnp.zeros((2,) * 3).at[0, 0, 0].set(1.0)
    angles = iter(theta)
    for line in filter(None, map(str.strip, program.splitlines())):
        name, *where = line.split()
        arity, make = GATES[name]
        assert arity == len(where), line
        state = apply(state, make(next(angles)) if name == "ry" else make(), tuple(map(int, where)))
    return state.ravel()
program = '''
    h 0
    ry 0
    ry 1
    cx 0 1
    ry 2
    cx 1 2
    ry 0
'''
terms = {"ZZI": -1.0, "IZZ": -1.0, "XII": 0.5, "IIX": 0.5}
def matrix(word): return reduce(np.kron, [{"I": I2, "X": X2, "Z": Z2}[c] for c in word])
theta = jnp.array([0.1, -0.4, 0.3, 0.8])
lr, iters = 0.2, 4
---
H = sum(c * matrix(w) for w, c in terms.items())
energy = lambda th: (psi := run(program, th)) @ (H @ psi)
trace = []
for _ in range(iters):
    e, g = jax.value_and_grad(energy)(theta)
    theta -= lr * g
    trace.append(e)
psi = run(program, theta)
probs = {f"{i:03b}": round(float(p), 3) for i, p in enumerate(psi ** 2) if p > 0.05}
print(*(f"{k}:{v:.2f}" for k, v in probs.items()), sep=" | ")
jnp.stack(trace), jnp.sum(psi ** 2), np.linalg.eigvalsh(H)[0]
---
terms["XII"] = 0.0
---
program += "ry 1\n"; theta = jnp.append(theta, 0.2)
---
del terms["IIX"]; theta = theta[:4] * 0; program = program.replace("ry 1\n", "", 1)

### qa-md-verlet-state-replace-and-dict-of-logged-lists tolerance=5e-3
@dataclass(frozen=True)
class MDState:
    position: jax.Array
    velocity: jax.Array
    force: jax.Array
    mass: float = 1.0
jtu.register_dataclass(MDState, ["position", "velocity", "force"], ["mass"])
def displacement(box): return lambda a, b: jnp.mod(a - b + box / 2, box) - box / 2
def soft_sphere(disp, sigma=1.0, eps=1.0):
    def energy(R):
        d = jax.vmap(jax.vmap(disp, (None, 0)), (0, None))(R, R)
        r = jnp.sqrt((d ** 2).sum(-1) + jnp.eye(len(R)))
        u = jnp.where(r < sigma, eps / 2.5 * (1 - r / sigma) ** 2.5, 0.0)
        return 0.5 * jnp.sum(u * (1 - jnp.eye(len(R))))
    return energy
def nve(energy, shift, dt):
    force = lambda R: -jax.grad(energy)(R)
    def init(key, R, kT): return MDState(R, jnp.sqrt(kT) * jr.normal(key, R.shape), force(R))
    def step(s):
        v = s.velocity + 0.5 * dt * s.force / s.mass
        R = shift(s.position, dt * v)
        f = force(R)
        return replace(s, position=R, velocity=v + 0.5 * dt * f / s.mass, force=f)
    return init, jax.jit(step)
box, n, kT = 2.4, 6, 0.1
R0 = jr.uniform(jr.key(0), (n, 2)) * box
energy = soft_sphere(displacement(box), sigma=1.2)
init, step = nve(energy, lambda R, dR: jnp.mod(R + dR, box), 1e-2)
log = {"t": [], "E": [], "KE": []}
state, every, n_steps = init(jr.key(1), R0, kT), 2, 6
---
for key in log: log[key].clear()
for t in range(n_steps):
    state = step(state)
    if t % every: continue
    ke = 0.5 * state.mass * jnp.sum(state.velocity ** 2)
    log["t"] += [t]
    log["KE"] += [ke]
    log["E"] += [ke + energy(state.position)]
drift = abs(log["E"][-1] - log["E"][0])
table = np.column_stack([log["t"], np.array(log["E"]), np.array(log["KE"])])
print(table.shape, "conserved" if drift < 0.05 else "drifts", *(f"{e:.2f}" for e in log["E"]))
table, state.position.max(0)
---
state = replace(state, velocity=state.velocity * 0.5)
---
every = 3
---
state = replace(state, mass=2.0)

### qa-q-learning-defaultdict-of-rows-and-random-module cold
class Grid:
    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
    def __init__(self, rows): self.rows, self.visits = rows, Counter()
    def reset(self): self.at = (0, 0); return self.at
    def step(self, a):
        r, c = (min(max(x + d, 0), 2) for x, d in zip(self.at, self.MOVES[a]))
        self.at = (r, c)
        self.visits[self.at] += 1
        match self.rows[r][c]:
            case "G": return self.at, 1.0, True
            case "X": return self.at, -1.0, True
            case _: return self.at, -0.04, False
env = Grid([".. ", ".X.", "..G"])
Q = defaultdict(lambda: jnp.zeros(4))
rnd = random.Random(3)
eps, alpha, gamma, episodes = 0.5, 0.5, 0.9, 4
---
returns = []
for ep in range(episodes):
    s, done, G, n = env.reset(), False, 0.0, 0
    while not done and (n := n + 1) < 15:
        a = rnd.randrange(4) if rnd.random() < eps / (ep + 1) else int(Q[s].argmax())
        s2, r, done = env.step(a)
        best = 0.0 if done else Q[s2].max()
        Q[s] = Q[s].at[a].add(alpha * (r + gamma * best - Q[s][a]))
        G += r
        s = s2
    returns.append(round(G, 2))
arrows = "".join(">v<^"[int(Q[i, j].argmax())] if (i, j) in Q else "?" for i in range(3) for j in range(3))
print(textwrap.fill(arrows, 3), returns, sep="\n")
env.visits.most_common(1), jnp.stack([Q[k] for k in sorted(Q)])
---
alpha = 0.25
---
env.rows[1] = ".X.".replace("X", "."); eps = 0.9
---
Q.clear(); rnd.seed(1)

### qa-nnx-vae-with-stochastic-rngs-and-average-metrics needs=flax,optax tolerance=5e-3
import optax
from flax import nnx
class Encoder(nnx.Module):
    def __init__(self, din, lat, *, rngs):
        self.body = nnx.Sequential(nnx.Linear(din, 8, rngs=rngs), nnx.relu)
        self.mean, self.logvar = (nnx.Linear(8, lat, rngs=rngs) for _ in range(2))
        self.rngs = rngs
    def __call__(self, x):
        h = self.body(x)
        m, lv = self.mean(h), self.logvar(h)
        kl = 0.5 * jnp.mean(jnp.exp(lv) + m ** 2 - 1.0 - lv)
        self.kl = nnx.Intermediate(kl)
        return m + jnp.exp(0.5 * lv) * self.rngs.noise.normal(m.shape) if False else m + jnp.exp(0.5 * lv) * jr.normal(self.rngs.noise(), m.shape)
class VAE(nnx.Module):
    def __init__(self, din, lat, *, rngs):
        self.enc, self.dec = Encoder(din, lat, rngs=rngs), nnx.Linear(lat, din, rngs=rngs)
    def __call__(self, x): return self.dec(self.enc(x))
def loss_fn(m, x, beta):
    logits = m(x)
    kl = nnx.pop(m, nnx.Intermediate)["enc"]["kl"][...]
    rec = optax.sigmoid_binary_cross_entropy(logits, x).mean()
    return rec + beta * kl, (rec, kl)
model = VAE(6, 2, rngs=nnx.Rngs(0, noise=1))
opt = nnx.Optimizer(model, optax.adam(2e-2), wrt=nnx.Param)
metrics = nnx.MultiMetric(rec=nnx.metrics.Average("rec"), kl=nnx.metrics.Average("kl"))
data = (np.random.default_rng(1).random((12, 6)) > 0.6).astype(np.float32)
beta, epochs = 0.1, 3
@nnx.jit
def train_step(model, opt, metrics, x, beta):
    (loss, (rec, kl)), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, x, beta)
    opt.update(model, grads)
    metrics.update(rec=rec, kl=kl)
    return loss
---
history = defaultdict(list)
for epoch in range(epochs):
    for x in np.split(data, 2):
        loss = train_step(model, opt, metrics, x, beta * min(1.0, (epoch + 1) / 2))
    for name, value in metrics.compute().items():
        history[f"train_{name}"].append(value)
    metrics.reset()
    print(epoch, *(f"{k}={v[-1]:.2f}" for k, v in history.items()))
samples = jax.nn.sigmoid(model.dec(jr.normal(jr.key(9), (2, 2)))) > 0.5
noise_count = int(model.enc.rngs.noise.count[...])
{k: jnp.stack(v) for k, v in history.items()}, samples.mean(), noise_count
---
beta = 1.0
---
data = 1 - data
---
opt = nnx.Optimizer(model, optax.sgd(1e-2), wrt=nnx.Param); epochs = 1

### qa-linen-gan-two-train-states-and-batch-stats needs=flax,optax tolerance=1e-2
import optax
from flax import linen as nn
from flax.training import train_state
class TS(train_state.TrainState):
    batch_stats: Any = None
class Gen(nn.Module):
    width: int = 8
    @nn.compact
    def __call__(self, z, train):
        h = nn.Dense(self.width, use_bias=False)(z)
        h = nn.relu(nn.BatchNorm(use_running_average=not train, momentum=0.8)(h))
        return nn.Dense(2)(h)
class Disc(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.leaky_relu(nn.Dense(8)(x), 0.2)
        return nn.Dense(1)(x)[..., 0]
def make(module, example, key, lr):
    variables = module.init(key, example, train=True)
    return TS.create(apply_fn=module.apply, tx=optax.adam(lr, b1=0.5), **{"batch_stats": {}, **variables})
kG, kD, kz = jr.split(jr.PRNGKey(0), 3)
G, D = make(Gen(), jnp.ones((1, 3)), kG, 1e-2), make(Disc(), jnp.ones((1, 2)), kD, 1e-2)
bce = optax.sigmoid_binary_cross_entropy
real = np.random.default_rng(0).normal([1, -1], 0.3, (8, 2)).astype("float32")
def g_loss(gp, G, D, z):
    fake, up = G.apply_fn({"params": gp, "batch_stats": G.batch_stats}, z, train=True, mutable=["batch_stats"])
    return bce(D.apply_fn({"params": D.params}, fake, train=True), jnp.ones(len(z))).mean(), up["batch_stats"]
def d_loss(dp, D, fake, real, smooth):
    r, f = (D.apply_fn({"params": dp}, x, train=True) for x in (real, fake))
    return bce(r, jnp.full(r.shape, smooth)).mean() + bce(f, jnp.zeros(f.shape)).mean()
n_iter, n_critic, smooth = 4, 2, 0.9
---
g_hist, d_hist = [], []
for i in range(n_iter):
    kz, sub = jr.split(kz)
    z = jr.normal(sub, (8, 3))
    fake, _ = G.apply_fn({"params": G.params, "batch_stats": G.batch_stats}, z, train=True, mutable=["batch_stats"])
    dl, dg = jax.value_and_grad(d_loss)(D.params, D, fake, real, smooth)
    D = D.apply_gradients(grads=dg)
    d_hist.append(dl)
    if i % n_critic == n_critic - 1:
        (gl, stats), gg = jax.value_and_grad(g_loss, has_aux=True)(G.params, G, D, z)
        G = G.apply_gradients(grads=gg, batch_stats=stats)
        g_hist.append(gl)
print(f"D {int(D.step)} steps, G {int(G.step)} steps", "D wins" if d_hist[-1] < g_hist[-1] else "G wins")
shown = G.apply_fn({"params": G.params, "batch_stats": G.batch_stats}, z[:2], train=False)
shown, jnp.array(d_hist).mean(), jax.tree.map(jnp.shape, G.batch_stats)
---
smooth = 1.0
---
n_critic = 1
---
real = real[:, ::-1].copy(); n_iter = 2

### qa-eqx-closure-with-nonlocal-counter-and-patience needs=equinox,optax tolerance=2e-3
import equinox as eqx, optax
def make_trainer(model, tx, patience):
    opt_state = tx.init(eqx.filter(model, eqx.is_array))
    seen, bad, best = 0, 0, float("inf")
    @eqx.filter_jit
    def update(model, opt_state, x, y):
        loss, g = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
        u, opt_state = tx.update(g, opt_state, model)
        return eqx.apply_updates(model, u), opt_state, loss
    def fit(x, y, steps):
        nonlocal model, opt_state, seen, bad, best
        for _ in range(steps):
            model, opt_state, loss = update(model, opt_state, x, y)
            seen += len(x)
            if (value := loss.item()) < best - 1e-4:
                best, bad = value, 0
            else:
                bad += 1
            if bad > patience:
                return "patience"
        return "steps"
    def report(): return {"seen": seen, "bad": bad, "best": round(best, 2)}
    return fit, report, lambda: model
x = jnp.linspace(-1, 1, 8)[:, None]
y = x ** 2
fit, report, current = make_trainer(eqx.nn.MLP(1, 1, 6, 1, key=jr.key(0)), optax.adam(5e-2), 2)
steps = 3
---
why = fit(x, y, steps)
pred = jax.vmap(current())(x)
err = jnp.abs(pred - y).max()
print(why, report())
pred[::3, 0], err
---
y = jnp.sin(2 * x)
---
steps = 5
---
fit, report, current = make_trainer(eqx.nn.Linear(1, 1, key=jr.key(1)), optax.sgd(0.3), 1)

### qa-grads-collected-in-a-list-summed-by-starred-tree-map needs=optax
import optax
params = {"w": jnp.ones((3, 2)) * 0.3, "b": jnp.zeros(2), "scale": jnp.float32(1.5)}
tx = optax.chain(optax.clip(0.5), optax.adamw(1e-2))
opt = tx.init(params)
rng = np.random.default_rng(4)
X, Y = rng.normal(size=(12, 3)).astype("f4"), rng.normal(size=(12, 2)).astype("f4")
def loss(p, x, y): return jnp.mean((p["scale"] * (x @ p["w"]) + p["b"] - y) ** 2)
micro, accum = 2, 3
---
pending, norms = [], []
for i, (x, y) in enumerate(zip(np.split(X, len(X) // micro), np.split(Y, len(Y) // micro)), 1):
    value, g = jax.value_and_grad(loss)(params, x, y)
    pending.append(g)
    if len(pending) < accum and i * micro < len(X):
        continue
    mean = jax.tree.map(lambda *gs: sum(gs) / len(gs), *pending)
    pending.clear()
    norms.append(float(optax.global_norm(mean)))
    upd, opt = tx.update(mean, opt, params)
    params = optax.apply_updates(params, upd)
print(f"{len(norms)} updates of {accum}, largest {max(norms):.2f}")
*_, count = jax.tree.leaves(jax.tree.map(lambda x: x if x.ndim == 0 else None, opt))[:1]
params, count, value
---
accum = 2
---
X[:4] *= 3
---
micro = 4

### qa-numpyro-change-point-switch-and-effect-handlers needs=numpyro tolerance=1e-2
import numpyro, numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer import log_likelihood
from numpyro.infer.util import log_density
counts = np.array([4, 5, 4, 0, 1, 4, 3, 1, 0, 1, 1, 0], np.int32)
def model(counts=None, n=12):
    early = numpyro.sample("early", dist.Exponential(0.5))
    late = numpyro.sample("late", dist.Exponential(0.5))
    tau = numpyro.sample("tau", dist.Uniform(0, n))
    with numpyro.plate("years", n):
        rate = numpyro.deterministic("rate", jnp.where(jnp.arange(n) < tau, early, late))
        numpyro.sample("obs", dist.Poisson(rate), obs=counts)
grid = [2, 4, 6, 8]
fixed = {"early": jnp.array(3.2), "late": jnp.array(0.9)}
---
scores = {}
for tau in grid:
    lp, tr = log_density(model, (counts,), {}, {**fixed, "tau": jnp.asarray(float(tau))})
    scores[tau] = lp
best = max(scores, key=lambda t: scores[t].item())
with handlers.seed(rng_seed=1), handlers.condition(data=fixed | {"tau": jnp.array(float(best))}):
    with handlers.trace() as sim:
        model(None, n=len(counts))
sites = [(name, site["type"], np.shape(site["value"])) for name, site in sim.items() if not site.get("is_observed")]
post = {k: jnp.stack([v, v * 1.1]) for k, v in fixed.items()} | {"tau": jnp.array([4.0, 6.0])}
ll = log_likelihood(model, post, counts)["obs"].sum(-1)
print(best, [s[0] for s in sites], sim["obs"]["value"].sum() > 0)
jnp.stack(list(scores.values())), ll, sim["rate"]["value"]
---
counts[5] = 9
---
fixed["late"] = jnp.array(2.0); grid.append(10)
---
fixed = {k: v * 0.5 for k, v in fixed.items()}

### qa-diffrax-lotka-volterra-fitted-with-saved-sub-functions needs=diffrax,optax tolerance=1e-2
import diffrax, optax
def field_(t, y, args):
    (x, p), (a, b, c, d) = y, args
    return a * x - b * x * p, d * x * p - c * p
def solve(args, y0, ts, solver):
    save = diffrax.SubSaveAt(ts=ts, fn=lambda t, y, a: jnp.stack(y))
    total = diffrax.SubSaveAt(t1=True, fn=lambda t, y, a: sum(y))
    sol = diffrax.diffeqsolve(diffrax.ODETerm(field_), solver, ts[0], ts[-1], 0.1, y0, args,
                              saveat=diffrax.SaveAt(subs=(save, total)), max_steps=64)
    return sol.ys, sol.stats["num_steps"]
y0, ts = (jnp.array(1.0), jnp.array(0.5)), jnp.linspace(0, 3, 7)
truth = (1.1, 0.4, 0.4, 0.1)
(observed, _), _ = solve(truth, y0, ts, diffrax.Heun())
log_args = jnp.log(jnp.array([0.9, 0.5, 0.5, 0.2]))
solver, sweeps = diffrax.Heun(), 4
opt = optax.rmsprop(5e-2); st = opt.init(log_args)
def misfit(la, y0, ts, observed, solver):
    (path, total), n = solve(tuple(jnp.exp(la)), y0, ts, solver)
    return jnp.mean((path - observed) ** 2), (n, total)
pull = jax.jit(jax.value_and_grad(misfit, has_aux=True), static_argnums=4)
---
losses = np.empty(sweeps)
for k in range(sweeps):
    (losses[k], (n_steps, total)), g = pull(log_args, y0, ts, observed, solver)
    up, st = opt.update(g, st)
    log_args = optax.apply_updates(log_args, up)
print(f"{int(n_steps)} steps of {type(solver).__name__},", "falling" if np.all(np.diff(losses) < 0) else "uneven")
dict(zip("abcd", jnp.exp(log_args))), total
---
solver = diffrax.Midpoint()
---
y0 = (jnp.array(2.0), y0[1])
---
sweeps = 2; ts = jnp.linspace(0, 2, 5); observed = observed[:5]

### qa-haiku-traverse-filter-and-decay-groups needs=haiku,optax tolerance=2e-3
import haiku as hk, optax
def net(x, is_training=True):
    x = hk.nets.MLP([6, 4], activate_final=True, name="body")(x)
    x = hk.dropout(hk.next_rng_key(), 0.2, x) if is_training else x
    x = hk.LayerNorm(-1, True, True, name="ln")(x)
    return hk.Linear(2, name="head", w_init=hk.initializers.RandomNormal(0.1))(x)
f = hk.transform(net)
x = jnp.arange(12.0).reshape(4, 3) / 10
labels = jnp.array([0, 1, 1, 0])
params = f.init(jr.PRNGKey(0), x)
seq = hk.PRNGSequence(11)
steps, decay = 3, 1e-2
---
loss_of = lambda p, k: optax.softmax_cross_entropy_with_integer_labels(f.apply(p, k, x), labels).mean()
for _, rng in zip(range(steps), seq):
    loss, grads = jax.value_and_grad(loss_of)(params, rng)
    heads, rest = hk.data_structures.partition(lambda m, n, v: m.startswith("head"), params)
    gh, gr = hk.data_structures.partition(lambda m, n, v: m.startswith("head"), grads)
    heads = jax.tree.map(lambda p, g: p - 0.3 * g, heads, gh)
    rest = hk.data_structures.map(lambda m, n, v: v * (1 - decay) if n == "w" else v, rest)
    rest = jax.tree.map(lambda p, g: p - 0.05 * g, rest, gr)
    params = hk.data_structures.merge(heads, rest)
lines = [f"{m + '/' + n:<18}{v.shape!s:>8}" for m, n, v in sorted(hk.data_structures.traverse(params), key=lambda t: t[:2])]
print("\n".join(lines), hk.data_structures.tree_size(params))
acc = (f.apply(params, None, x, is_training=False).argmax(-1) == labels).mean()
loss, acc
---
decay = 0.5
---
labels = 1 - labels
---
seq = hk.PRNGSequence(2); steps = 2

### qa-orbax-manager-keeps-the-best-two-by-metric needs=orbax.checkpoint
import orbax.checkpoint as ocp
state = {"w": jnp.arange(4.0), "step": jnp.array(0), "note": {"lr": jnp.array(0.1)}}
root = Path(place) / "runs"
scores = [0.9, 0.4, 0.7, 0.5]
target = jnp.array([1.0, -1.0, 0.5, 2.0])
---
options = ocp.CheckpointManagerOptions(max_to_keep=2, best_fn=lambda m: m["loss"], best_mode="min")
root.mkdir(exist_ok=True)
run = root / f"run{len(list(root.iterdir()))}"
with ocp.CheckpointManager(run.resolve(), options=options) as mngr:
    for i, s in enumerate(scores):
        g = jax.grad(lambda w: jnp.sum((w - target) ** 2))(state["w"])
        state = {**state, "w": state["w"] - s * state["note"]["lr"] * g, "step": state["step"] + 1}
        mngr.save(i, args=ocp.args.StandardSave(state), metrics={"loss": s})
    mngr.wait_until_finished()
    kept, best = sorted(mngr.all_steps()), mngr.best_step()
    blank = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), state)
    restored = mngr.restore(best, args=ocp.args.StandardRestore(blank))
print(kept, best, run.name, jax.tree.map(jnp.shape, restored))
gap = jnp.abs(restored["w"] - state["w"]).max()
gap, restored["step"]
---
scores[3] = 0.1
---
state["note"]["lr"] = jnp.array(0.05)
---
scores = [0.2, 0.3]

### qa-pandas-rolling-features-group-apply-and-pivoted-scores
import pandas as pd
rng = np.random.default_rng(2)
df = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=12, freq="D"), "shop": list("abc") * 4,
                   "sold": rng.integers(5, 20, 12), "price": rng.random(12).round(2)})
w = jnp.array([0.4, -0.2, 0.1])
window = 2
def score(block):
    F = jnp.asarray(block[["sold", "price", "trend"]].to_numpy(), jnp.float32)
    return jnp.tanh((F - F.mean(0)) @ w)
---
df["trend"] = df.groupby("shop")["sold"].transform(lambda s: s.rolling(window, min_periods=1).mean())
pieces = []
for shop, block in df.groupby("shop", sort=True):
    s = score(block)
    pieces.append(pd.Series(np.asarray(s), index=block.index, name="score"))
    df.loc[block.index, "rank"] = np.argsort(np.argsort(-np.asarray(s)))
df["score"] = pd.concat(pieces)
table = df.pivot_table(index=df["day"].dt.isocalendar().week, columns="shop", values="score", aggfunc="mean")
top = df.nlargest(2, "score")[["shop", "day"]].assign(day=lambda d: d.day.dt.strftime("%d %b"))
print(top.to_string(index=False, header=False))
loss = jnp.mean(jnp.asarray(table.fillna(0.0).to_numpy()) ** 2)
table.round(2), loss
---
w = w.at[1].set(2.0)
---
df.loc[df.shop == "b", "sold"] += 7; window = 3
---
df = df.iloc[::-1].reset_index(drop=True)

### qa-sklearn-warm-start-and-own-logistic-agree needs=sklearn tolerance=5e-3
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import StandardScaler, OneHotEncoder
from sklearn.pipeline import make_pipeline
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.base import BaseEstimator, ClassifierMixin
class JaxLogit(ClassifierMixin, BaseEstimator):
    def __init__(self, lr=0.5, epochs=5, warm_start=False): self.lr, self.epochs, self.warm_start = lr, epochs, warm_start
    def fit(self, X, y):
        X, y = jnp.asarray(X, jnp.float32), jnp.asarray(y, jnp.float32)
        if not (self.warm_start and hasattr(self, "coef_")):
            self.coef_, self.bias_ = jnp.zeros(X.shape[1]), jnp.zeros(())
        def nll(c, b): return jnp.mean(jnp.logaddexp(0, (1 - 2 * y) * (X @ c + b))) + 1e-2 * c @ c
        for _ in range(self.epochs):
            gc, gb = jax.grad(nll, (0, 1))(self.coef_, self.bias_)
            self.coef_ -= self.lr * gc
            self.bias_ -= self.lr * gb
        self.n_iter_ = getattr(self, "n_iter_", 0) * self.warm_start + self.epochs
        self.classes_ = np.array([0, 1])
        return self
    def decision_function(self, X): return np.asarray(jnp.asarray(X, jnp.float32) @ self.coef_ + self.bias_)
    def predict(self, X): return (self.decision_function(X) > 0).astype(int)
rng = np.random.default_rng(0)
rows = np.column_stack([rng.normal(size=20), rng.normal(size=20) * 10, rng.integers(0, 3, 20)])
y = (rows[:, 0] + 0.05 * rows[:, 1] + (rows[:, 2] == 1) > 0.3).astype(int)
prep = ColumnTransformer([("num", StandardScaler(), [0, 1]), ("cat", OneHotEncoder(sparse_output=False), [2])])
clf = make_pipeline(prep, JaxLogit(warm_start=True))
---
clf.fit(rows, y)
est = clf[-1]
cm = confusion_matrix(y, clf.predict(rows))
auc = roc_auc_score(y, clf.decision_function(rows))
print(est, est.n_iter_, cm.tolist(), f"{auc:.2f}")
est.coef_, clf[:-1].get_feature_names_out().tolist()
---
clf.set_params(jaxlogit__lr=0.1)
---
y[:3] = 1 - y[:3]
---
est.warm_start = False

### qa-jsonl-log-appended-tailed-and-resumed
path = Path("metrics.jsonl")
class Recorder:
    def __init__(self, path): self.path, self.n = path, 0
    def __enter__(self): self.fh = self.path.open("a"); return self
    def __exit__(self, *exc): self.fh.close(); del self.fh
    def __call__(self, **kw):
        self.n += 1
        self.fh.write(json.dumps({k: float(f"{float(v):.3g}") if hasattr(v, "dtype") else v for k, v in kw.items()}) + "\n")
w, lr = jnp.array([2.0, -3.0]), 0.1
record = Recorder(path)
f = lambda w: jnp.sum(w ** 4) / 4 + jnp.prod(w)
tail = lambda p, n: deque(p.open(), maxlen=n)
epochs = 3
---
start = sum(1 for _ in path.open()) if path.exists() else 0
with record as rec:
    for epoch in range(start, start + epochs):
        loss, g = jax.value_and_grad(f)(w)
        w = w - lr * g / (1 + jnp.linalg.norm(g))
        rec(epoch=epoch, loss=loss, gnorm=jnp.linalg.norm(g), tag=("warm", "cold")[epoch % 2])
last = [json.loads(line) for line in tail(path, 2)]
print(start, [r["epoch"] for r in last], record.n, path.stat().st_size > 10, hasattr(record, "fh"))
w, max(last, key=lambda r: r["loss"])["tag"]
---
lr = 0.3
---
path.unlink()
---
w = w[::-1]; epochs = 1

### qa-threads-barrier-shared-counter-and-results-by-index
def work(i, x, out, barrier, lock, total):
    y = jnp.linalg.norm(x * (i + 1))
    barrier.wait()
    with lock:
        total["n"] += 1
    out[i] = y + total.get("offset", 0.0)
xs = jnp.arange(12.0).reshape(3, 4)
total = {"n": 0, "offset": 0.5}
---
out, barrier, lock = [None] * len(xs), threading.Barrier(len(xs)), threading.Lock()
scaled = xs / jnp.max(xs)
threads = [threading.Thread(target=work, args=(i, row, out, barrier, lock, total), name=f"w{i}") for i, row in enumerate(scaled)]
for t in threads: t.start()
for t in threads: t.join(10)
with ThreadPoolExecutor(2) as pool:
    squares = list(pool.map(lambda v: float(v) ** 2, out))
answer = jnp.stack(out).sum() - sum(squares)
print(total, [t.is_alive() for t in threads], f"{answer:.2f}")
del threads, barrier, lock
answer
---
total["offset"] = 0.0
---
xs = xs[:2] + 1
---
xs = xs.at[0, 0].set(-4.0)

### qa-expression-tree-compiled-with-match-statements
@dataclass(frozen=True)
class Var: name: str
@dataclass(frozen=True)
class Num: value: float
@dataclass(frozen=True)
class Op: sym: str; args: tuple
def parse(tokens):
    match tokens.pop(0):
        case "(":
            sym, args = tokens.pop(0), []
            while tokens[0] != ")":
                args.append(parse(tokens))
            tokens.pop(0)
            return Op(sym, tuple(args))
        case tok if re.fullmatch(r"-?\d+(\.\d+)?", tok):
            return Num(float(tok))
        case tok:
            return Var(tok)
def evaluate(e, env, hits=Counter()):
    hits[type(e).__name__] += 1
    match e:
        case Num(value=v): return v
        case Var(name) if name in env: return env[name]
        case Var(name): raise NameError(name)
        case Op("+", args): return sum(evaluate(a, env) for a in args)
        case Op("*", (a, b)): return evaluate(a, env) * evaluate(b, env)
        case Op("sin" | "cos" as fn, (a,)): return getattr(jnp, fn)(evaluate(a, env))
        case Op("if", (c, a, b)): return jnp.where(evaluate(c, env) > 0, evaluate(a, env), evaluate(b, env))
        case Op(other, args): raise SyntaxError(f"{other} of {len(args)}")
source = "(+ (* 2 (sin x)) (if y (* x y) -1.5) z)"
env = {"x": jnp.linspace(0, 1, 4), "y": jnp.array([1.0, -1.0, 2.0, 0.0]), "z": 3.0}
---
tree = parse(re.findall(r"[()]|[^\s()]+", source))
value = evaluate(tree, env)
slope = jax.vmap(jax.grad(lambda x, y: evaluate(tree, {**env, "x": x, "y": y})))(env["x"], env["y"])
try:
    evaluate(parse(["(", "tan", "x", ")"]), env)
except SyntaxError as err:
    refused = err.msg
print(refused, dict(evaluate.__defaults__[0]), tree.args[0].sym)
value, slope
---
env["y"] = -env["y"]
---
source = "(* (cos x) (+ x z z))"
---
env["z"] = jnp.float32(1.0)

### qa-star-unpacked-layers-and-last-of-a-generator
def layer_sizes(*sizes): yield from zip(sizes, sizes[1:])
key = jr.key(4)
params = [(jr.normal(jr.fold_in(key, i), s) / np.sqrt(s[0]), jnp.zeros(s[1])) for i, s in enumerate(layer_sizes(3, 5, 5, 1))]
def forward(params, x):
    (w0, b0), *hidden, (w1, b1) = params
    x = jnp.tanh(x @ w0 + b0)
    for w, b in hidden:
        x = x + jnp.tanh(x @ w + b)
    return (x @ w1 + b1).squeeze(-1)
def descent(params, x, y, lr, n):
    for i in range(n):
        l, g = jax.value_and_grad(lambda p: jnp.mean((forward(p, x) - y) ** 2))(params)
        params = [tuple(a - lr * b for a, b in zip(*pair)) for pair in zip(params, g)]
        yield i, l, params
x = jnp.stack([jnp.linspace(-1, 1, 6)] * 3, 1) * jnp.array([1.0, 0.5, -1.0])
y = x[:, 0] ** 2
lr, n = 0.1, 4
---
first, *middle, (last_i, last_l, params) = descent(params, x, y, lr, n)
(_, l0, _), *_ = [first]
head, *_, tail = forward(params, x)
[[w00, *_], *_], b = params[0]
print(last_i, len(middle), "down" if last_l < l0 else "up", f"{head:.2f} {tail:.2f}")
shapes = [tuple(map(jnp.shape, p)) for p in params]
head, tail, w00, shapes
---
lr *= 0.5
---
y = y - 1
---
params = params[:1] + params[2:]; n = 2

### qa-comprehensions-with-appends-pops-and-walrus-carry
stack, log = [], []
xs = jnp.arange(1.0, 9.0).reshape(4, 2)
def f(x, k): return jnp.sin(x * k).sum()
ks = [1, 2, 3]
---
stack.extend(range(3))
total = 0.0
grid = [[log.append((i, k)) or f(x, k) for k in ks] for i, x in enumerate(xs) if (stack.pop() if stack else -1) != 1]
run = [total := 0.5 * total + row[-1] for row in grid]
flat = {(r, c): v for r, row in enumerate(grid) for c, v in enumerate(row) if v > 0 or not log.append("neg")}
best = max(flat, key=flat.get)
any_big = any((hit := v) > 0.9 for row in grid for v in row)
print(len(log), best, any_big, len(flat), stack)
log[:] = log[-2:]
jnp.stack(run), hit
---
ks[1] = 5
---
xs = xs[:3] - 2
---
stack.append(1); ks.append(0)

### qa-default-arguments-remember-and-function-attributes-count
def remember(value, *, store=[], limit=[4]):
    store.append(value)
    if len(store) > limit[0]:
        del store[0]
    return sum(store) / len(store)
def smooth(x, alpha=0.5, _state={}):
    smooth.calls += 1
    prev = _state.get("m", x)
    _state["m"] = alpha * prev + (1 - alpha) * x
    return _state["m"]
smooth.calls = 0
signal = jnp.array([1.0, 4.0, 2.0, 8.0])
---
out = [smooth(remember(jnp.sqrt(s))) for s in signal]
level = remember.__kwdefaults__["store"]
bump = jax.grad(lambda a: a * sum(v * v for v in level))(2.0)
print(smooth.calls, len(level), list(smooth.__defaults__[1]))
jnp.array(out), bump
---
signal = signal + 1
---
remember.__kwdefaults__["limit"][0] = 2; del remember.__kwdefaults__["store"][:]
---
smooth.__defaults__ = (0.9, {}); smooth.calls = 100

### qa-stopwatch-contexts-nested-and-a-table-of-calls
class Watch:
    def __init__(self): self.calls, self.open, self.deepest = Counter(), [], 0
    @contextmanager
    def __call__(self, name):
        self.open.append(name)
        self.deepest = max(self.deepest, len(self.open))
        t0 = time.perf_counter()
        try:
            yield self
        except ZeroDivisionError:
            self.calls[f"{name}!"] += 1
        finally:
            assert time.perf_counter() >= t0
            self.calls["/".join(self.open)] += 1
            self.open.pop()
watch = Watch()
A = jnp.eye(3) * 2 + 0.1
n, bad = 3, 0
---
with watch("solve"):
    x = jnp.ones(3)
    for i in range(n):
        with watch("matvec") as w:
            y = A @ x
        with watch("norm"):
            lam = jnp.linalg.norm(y)
            x = y / lam
            1 / (i - bad)
        with watch("late"), suppress(IndexError):
            [][i]
residual = jnp.linalg.norm(A @ x - lam * x)
width = max(map(len, watch.calls))
print("\n".join(f"{k:<{width}} {v:>3}" for k, v in sorted(watch.calls.items())), w is watch)
lam, residual, watch.deepest
---
bad = 7
---
A = A.at[0, 0].add(1.0)
---
n = 2; watch = Watch()

### qa-numpy-histories-written-in-place-beside-traced-values
hist = np.zeros((3, 4), np.float32)
mask = np.array([True, False, True, True])
weights = jnp.array([0.2, 0.3, 0.1, 0.4])
edges = np.linspace(-1, 1, 5)
counts = np.zeros(4, int)
rng = np.random.default_rng(0)
view = hist[1]
---
draw = rng.normal(size=(3, 4)).astype(np.float32)
for i, row in enumerate(draw):
    z = jnp.tanh(row * weights)
    hist[i, mask] += np.asarray(z)[mask]
    np.add.at(counts, np.clip(np.digitize(np.asarray(z), edges) - 1, 0, 3), 1)
np.multiply(hist, 0.5, out=hist, where=hist > 0)
view[...] = view[::-1].copy()
cov = jnp.cov(hist.T) if hist.any() else jnp.zeros((4, 4))
np.copyto(edges, np.sort(edges + float(weights[0]) * 0), casting="same_kind")
print(counts, hist.flags.owndata, view.base is hist)
cov.trace(), jnp.asarray(counts) / counts.sum()
---
mask[1] = True
---
weights = weights[::-1]
---
hist.fill(0); rng = np.random.default_rng(9)

### qa-models-ranked-by-keys-insort-and-groupby
class Entry(NamedTuple):
    name: str
    degree: int
    loss: Any
x = jnp.linspace(-1, 1, 9)
y = jnp.sin(3 * x)
degrees, ridge = [1, 3, 2, 5], 1e-3
---
board, ordered = [], []
for d in degrees:
    V = jnp.vander(x, d + 1)
    c = jnp.linalg.solve(V.T @ V + ridge * jnp.eye(d + 1), V.T @ y)
    e = Entry(f"poly{d}", d, jnp.mean((V @ c - y) ** 2))
    board.append(e)
    bisect.insort(ordered, e, key=lambda e: float(e.loss))
board.sort(key=lambda e: (round(float(e.loss), 2), e.degree))
best, worst = min(board, key=operator.attrgetter("loss")), max(board, key=lambda e: e.loss)
groups = {k: [e.name for e in g] for k, g in itertools.groupby(ordered, key=lambda e: bool(e.loss < 0.05))}
print([e.name for e in ordered], groups, best.name, worst.name, sep=" · ")
best._replace(name="winner"), board[0] is best
---
ridge = 0.5
---
degrees += [0]
---
y = jnp.cos(3 * x)

### qa-grouper-idiom-cycles-and-tee-across-runs
def source():
    n = 0
    while True:
        n += 1
        yield np.float32(n)
feed = source()
peek, feed = itertools.tee(feed)
colours = itertools.cycle("rgb")
w = jnp.array([1.0, 0.5, 0.25])
size, batches = 3, 2
---
rows = []
for colour, batch in zip(colours, itertools.islice(zip(*[feed] * size), batches)):
    x = jnp.array(batch)
    rows.append((colour, x @ w if x.shape == w.shape else x.mean()))
ahead = next(peek)
total = jnp.stack([v for _, v in rows]).sum()
pairs = list(itertools.starmap(lambda c, v: f"{c}{float(v):g}", rows))
print(pairs, ahead, "".join(itertools.islice(colours, 2)))
total
---
size = 2
---
w = w * 2; size = 3
---
batches = 1; feed = source()

### qa-params-dict-updated-by-union-setdefault-and-popitem
params = {"enc": {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}, "dec": {"w": jnp.full((3, 1), 0.5)}}
defaults = {"temp": 1.0, "extra": None}
x = jnp.array([[1.0, -1.0], [0.5, 2.0]])
order = []
---
cfg = defaults | {"extra": params["enc"]["b"].shape}
params.setdefault("aux", {}).setdefault("g", jnp.ones(1))
alias = params["enc"]
alias |= {"b": alias["b"] + 0.1 * jnp.tanh(x).sum(), "seen": alias.get("seen", 0) + 1}
params["dec"].update(w=params["dec"]["w"] * params["aux"]["g"] - 0.01, **{f"s{i}": jnp.float32(i) for i in range(2)})
h = jnp.tanh(x @ params["enc"]["w"] + alias["b"]) @ params["dec"]["w"] / cfg["temp"]
name, last = params["dec"].popitem()
order.append(name)
inverted = {v.shape: k for k, v in params["enc"].items() if hasattr(v, "shape")}
print(list(params), list(params["dec"]), params["enc"] is alias, order[-2:], inverted, cfg["extra"])
h, last
---
defaults["temp"] = 2.5
---
del params["aux"]; params["enc"] = dict(reversed(params["enc"].items()))
---
x = x[:1]

### qa-jitted-functions-made-per-shape-in-an-lru-cache
built = []
@lru_cache(maxsize=2)
def stencil(n, kind):
    built.append((n, kind))
    k = {"smooth": jnp.array([0.25, 0.5, 0.25]), "edge": jnp.array([-1.0, 0.0, 1.0])}[kind]
    @jax.jit
    def run(u): return jnp.convolve(u, k, mode="same") * (n / (n + 1))
    return run
@functools.cache
def harmonic(n): return 1.0 if n == 1 else harmonic(n - 1) + 1 / n
signals = [jnp.arange(5.0), jnp.ones(4), jnp.arange(5.0) ** 2]
kinds = ("smooth", "edge")
---
outs = []
for u, kind in itertools.product(signals, kinds):
    run = stencil(len(u), kind)
    outs.append(run(u) * harmonic(len(u)))
info = stencil.cache_info()
print(info.currsize, len(built) - len(set(built)) > 0, harmonic.cache_info().currsize)
peak = max((o.max(), i) for i, o in enumerate(outs))
norms = jnp.array([jnp.linalg.norm(o) for o in outs])
norms, peak[1], run is stencil(len(u), kind)
---
signals.pop()
---
stencil.cache_clear(); built.clear()
---
kinds = ("edge",); signals[0] = signals[0] + 1

### qa-singledispatch-norms-over-arrays-lists-and-own-classes
@singledispatch
def norm2(x): raise TypeError(f"no norm of {type(x).__name__}")
@norm2.register(jax.Array)
@norm2.register(np.ndarray)
def _(x): return (x * x).sum()
@norm2.register(list)
@norm2.register(tuple)
def _(x): return sum(norm2(v) for v in x)
@norm2.register
def _(x: dict): return sum(map(norm2, x.values()))
@norm2.register(int)
@norm2.register(float)
def _(x): return x * x
class Ball:
    def __init__(self, c, r): self.c, self.r, self.n = c, r, 0
    @singledispatchmethod
    def inside(self, p): return NotImplemented
    @inside.register
    def _(self, p: tuple): self.n += 1; return self.inside(jnp.array(p))
    @inside.register
    def _(self, p: jax.Array): return norm2(p - self.c) < self.r ** 2
@norm2.register(Ball)
def _(b): return norm2(b.c) + b.r
ball = Ball(jnp.array([0.5, 0.5]), 0.6)
things = {"a": jnp.arange(3.0), "b": [np.array([1.0, 2.0]), (2, 0.5)]}
---
everything = norm2(things) + norm2(ball)
hits = [bool(ball.inside(p)) for p in [(0.0, 0.0), (0.5, 1.0), (2.0, 0.0)]]
edge = ball.inside(ball.c + ball.r)
grad = jax.grad(lambda c: norm2([c, {"k": c[0]}]))(ball.c)
try:
    norm2({1, 2})
except TypeError as e:
    print(e, hits, ball.n)
everything, edge, grad, ball.inside("x") is NotImplemented
---
ball.r = 1.7
---
things["b"].append({"deep": jnp.ones((2, 2))})
---
norm2.register(set, lambda s: float(len(s)))

### qa-named-tuple-optimizer-states-replaced-step-by-step
AdamState = namedtuple("AdamState", "m v t", defaults=(0,))
Hyper = namedtuple("Hyper", ["lr", "b1", "b2", "eps"], defaults=(1e-1, 0.9, 0.99, 1e-8))
def adam(g, s, h):
    s = s._replace(m=jtu.tree_map(lambda m, g: h.b1 * m + (1 - h.b1) * g, s.m, g), t=s.t + 1,
                   v=jtu.tree_map(lambda v, g: h.b2 * v + (1 - h.b2) * g * g, s.v, g))
    mh, vh = 1 - h.b1 ** s.t, 1 - h.b2 ** s.t
    return jtu.tree_map(lambda m, v: -h.lr * (m / mh) / (jnp.sqrt(v / vh) + h.eps), s.m, s.v), s
theta = [jnp.array([1.5, -0.5]), jnp.array(2.0)]
zeros = jtu.tree_map(jnp.zeros_like, theta)
state, hyper = AdamState(zeros, zeros), Hyper(lr=0.2)
rosen = lambda th: (1 - th[0][0]) ** 2 + 5 * (th[0][1] - th[0][0] ** 2) ** 2 + th[1] ** 2
k = 4
---
path = []
for _ in range(k):
    upd, state = adam(jax.grad(rosen)(theta), state, hyper)
    theta = [a + b for a, b in zip(theta, upd)]
    path.append((state.t, rosen(theta)))
steps, values = zip(*path)
(m0, _), *_, t = state
print(steps, t, type(state).__name__, state._fields, hyper._asdict()["lr"])
jnp.asarray(values).min(), m0
---
hyper = hyper._replace(lr=0.05)
---
state = state._replace(t=0)
---
theta = jtu.tree_map(lambda a: a * 0 + 1, theta); k = 2

### qa-flags-and-a-state-machine-of-phases
class Mode(enum.Flag):
    TRAIN = enum.auto(); NOISE = enum.auto(); CLIP = enum.auto()
    FULL = TRAIN | NOISE | CLIP
class Phase(enum.IntEnum):
    WARM = 0; MAIN = 1; COOL = 2
    @property
    def lr(self): return (0.01, 0.1, 0.02)[self]
    def next(self): return Phase(min(self + 1, Phase.COOL))
class Machine:
    def __init__(self): self.phase, self.mode, self.trail = Phase.WARM, Mode.FULL, []
    def advance(self, loss):
        self.trail.append(self.phase.name[0])
        if loss < 2.0 or len(self.trail) % 3 == 0:
            self.phase = self.phase.next()
            if self.phase is Phase.COOL: self.mode &= ~Mode.NOISE
m, w, key = Machine(), jnp.array([2.0, -1.0, 0.5]), jr.key(0)
n = 4
---
for i in range(n):
    loss, g = jax.value_and_grad(lambda w: (w ** 2).sum() + 0.1 * jnp.abs(w).sum())(w)
    if Mode.NOISE in m.mode:
        key, sub = jr.split(key)
        g = g + 0.1 * jr.normal(sub, g.shape)
    if m.mode & Mode.CLIP:
        g = jnp.clip(g, -1, 1)
    w -= m.phase.lr * g
    m.advance(loss)
print("".join(m.trail), m.mode, repr(m.phase), m.phase > Phase.WARM)
w, key, {p: p.lr for p in Phase}[m.phase]
---
m.mode |= Mode.NOISE
---
m.phase = Phase.WARM; m.mode = Mode.TRAIN
---
w = w + 3; n = 2

### qa-context-variables-hold-dtype-and-scope-names tolerance=2e-2
PRECISION = contextvars.ContextVar("precision", default=jnp.float32)
SCOPE = contextvars.ContextVar("scope", default=())
created = {}
@contextmanager
def setting(var, value):
    token = var.set(value)
    try: yield var.get()
    finally: var.reset(token)
def scope(name): return setting(SCOPE, SCOPE.get() + (name,))
def param(name, init, *shape):
    full = "/".join(SCOPE.get() + (name,))
    if full not in created:
        created[full] = init(jr.fold_in(jr.key(0), len(created)), shape)
    return created[full].astype(PRECISION.get())
def dense(x, n):
    with scope(f"dense{n}"):
        return x @ param("w", jr.normal, x.shape[-1], n) + param("b", lambda k, s: jnp.zeros(s), n)
def net(x):
    with scope("net"), setting(PRECISION, half):
        h = jnp.tanh(dense(x.astype(half), 4))
    return dense(h.astype(PRECISION.get()), 1)
half = jnp.bfloat16
x = jnp.linspace(-1, 1, 6).reshape(3, 2)
---
y = net(x)
ctx = contextvars.copy_context()
inner = ctx.run(lambda: (PRECISION.set(jnp.float16), net(x))[1])
print(sorted(created), PRECISION.get().__name__, SCOPE.get(), ctx[PRECISION].__name__)
y.dtype, inner.dtype, (jnp.abs(y - inner) < 0.1).all(), y.astype(jnp.float32).round(1)
---
half = jnp.float32
---
created["dense1/w"] = created["dense1/w"] * 0
---
del created["net/dense4/b"]; x = x * 2

### qa-asyncio-run-of-workers-with-an-async-generator
async def stream(xs, gap):
    for i, x in enumerate(xs):
        await asyncio.sleep(gap)
        yield i, x
class Meter:
    async def __aenter__(self): self.sum, self.n = 0.0, 0; return self
    async def __aexit__(self, *exc): self.mean = self.sum / max(self.n, 1)
    def add(self, v): self.sum += v; self.n += 1
async def consume(xs, f, limit):
    sem, out = asyncio.Semaphore(2), {}
    async def one(i, x):
        async with sem:
            await asyncio.sleep(0)
            out[i] = f(x)
    async with Meter() as meter:
        tasks = []
        async for i, x in stream(xs, 0):
            if i >= limit: break
            tasks.append(asyncio.create_task(one(i, x)))
        await asyncio.gather(*tasks)
        for i in sorted(out): meter.add(out[i])
    return meter, out
xs = jnp.arange(8.0).reshape(4, 2)
A = jnp.array([[0.0, 1.0], [-1.0, 0.5]])
limit = 3
---
f = lambda x: x @ A @ x
meter, out = asyncio.run(consume(xs, f, limit))
rest = sum(out.values()) / len(out)
doubled = asyncio.run(asyncio.wait_for(asyncio.sleep(0, result=meter.mean * 2), 5))
print(meter.n, sorted(out), float(doubled) == 2 * float(meter.mean))
meter.mean, rest
---
limit = 10
---
A = A + jnp.eye(2)
---
xs = xs[::-1] - 3

### qa-report-strings-formats-and-a-class-with-its-own-format-spec
class Measured:
    def __init__(self, value, err): self.value, self.err = value, err
    def __format__(self, spec):
        if spec == "tex": return rf"${self.value:.1f} \pm {self.err:.1f}$"
        return f"{float(self.value):{spec or '.2f'}}+/-{float(self.err):{spec or '.2f'}}"
    def __str__(self): return format(self, ".1f")
data = jnp.array([1.0, 4.0, 2.5, 3.5, 9.0])
unit, width = "eV", 12
---
m = Measured(data.mean(), data.std() / math.sqrt(data.size))
lines = ["%-*s|%s" % (width, "mean", m), "{:>{w}}|{:tex}".format("latex", m, w=width), f"{'raw':^{width}}|{m!s:>10}{unit}"]
lines.append(string.Template("$name is $v ${u}").substitute(name="max", v=f"{data.max():g}", u=unit))
lines += [f"{i:02d} {'#' * int(v)}{'' if v < 5 else '!'}" for i, v in enumerate(data)]
z = (data - m.value) / (m.err + 1e-6)
lines.append(", ".join(f"{v:+.1f}" for v in z) + f" {z.argmax()=!r:.0}")
report = "\n".join(lines)
print(textwrap.indent(report, "> ", predicate=lambda l: "|" in l))
len(report.splitlines()), z.max(), f"{data.shape=} {data.dtype=}"
---
unit, width = "m", 8
---
data = data.at[-1].set(5.5)
---
data = data[:3]; Measured.__str__ = lambda self: "?"

### qa-names-deleted-slices-deleted-and-globals-written cold
layers = [jnp.full((2, 2), float(i)) for i in range(1, 5)]
state = {"keep": jnp.ones(2), "drop": jnp.zeros(2)}
suffixes = ["x", "y"]
class Box: pass
box = Box()
---
for i, s in enumerate(suffixes):
    globals()[f"acc_{s}"] = layers[i].sum() + globals().get(f"acc_{s}", 0.0)
tmp = jnp.stack(layers[:2])
del layers[1::2]
layers.insert(1, tmp.mean(0))
layers += [layers[0] @ layers[-1] / 10]
box.cache = tmp.std()
if "drop" in state:
    del state["drop"], box.cache
else:
    state["drop"] = tmp[0, 0]
gone = "tmp" in vars()
del tmp
names = sorted(n for n in globals() if n.startswith("acc_"))
print(names, len(layers), gone, "tmp" in globals(), vars(box).keys() >= {"cache"}, list(state))
acc_x, [l.sum() for l in layers]
---
suffixes.append("z")
---
del acc_x; state.pop("drop", None)
---
layers[:] = [l * 0.5 for l in layers]; layers.append(jnp.eye(2))

### qa-displayed-tables-html-and-repr-hooks
from IPython.display import display, HTML, Markdown, JSON
class Table:
    def __init__(self, rows): self.rows, self.shown = rows, 0
    def _repr_html_(self):
        self.shown += 1
        return "<table>" + "".join(f"<tr><td>{k}</td><td>{float(v):.1f}</td></tr>" for k, v in self.rows.items()) + "</table>"
    def __repr__(self): return f"Table({', '.join(f'{k}={float(v):.1f}' for k, v in self.rows.items())})"
x = jnp.linspace(0.0, 2.0, 5)
stats = {"mean": jnp.mean, "max": jnp.max, "ptp": jnp.ptp}
---
t = Table({k: f(jnp.exp(-x)) for k, f in stats.items()})
display(t)
display(HTML(t._repr_html_()), Markdown(f"**{len(t.rows)}** rows"))
t.rows["sum"] = x.sum()
display(f"{x.sum():.2f}", (t.shown, x.shape), metadata={})
md = "\n".join(["|name|value|", "|-|-|"] + [f"|{k}|{v:.1f}|" for k, v in t.rows.items()])
print(md)
t
---
stats["min"] = jnp.min
---
x = x * -1
---
Table.__repr__ = lambda self: f"<{len(self.rows)} rows>"

### qa-genetic-search-with-random-choices-and-tuples
rnd = random.Random(11)
def fitness(g): return -jnp.sum((jnp.array(g) - goal) ** 2)
def crossover(a, b): cut = rnd.randint(1, len(a) - 1); return a[:cut] + b[cut:]
def mutate(g, p): return tuple(v + rnd.gauss(0, 0.3) if rnd.random() < p else v for v in g)
goal = jnp.array([0.5, -1.0, 2.0])
pop = [tuple(rnd.uniform(-2, 2) for _ in range(3)) for _ in range(6)]
gens, p, elite = 3, 0.4, 2
---
curve = []
for gen in range(gens):
    scored = sorted(((fitness(g), g) for g in pop), key=lambda t: -t[0])
    curve.append(scored[0][0])
    weights = [math.exp(float(s) / 4) for s, _ in scored]
    parents = rnd.choices([g for _, g in scored], weights=weights, k=2 * (len(pop) - elite))
    pop = [g for _, g in scored[:elite]] + [mutate(crossover(*ab), p) for ab in zip(parents[::2], parents[1::2])]
champion = max(pop, key=fitness)
polish = jax.grad(lambda g: fitness(g))(jnp.array(champion))
print(len(pop), [f"{c:.2f}" for c in curve] == sorted((f"{c:.2f}" for c in curve), reverse=True), "up" if curve[-1] >= curve[0] else "down")
jnp.stack(curve), jnp.array(champion) + 0.5 * polish
---
p = 0.9
---
goal = goal * 0.5
---
rnd.seed(5); elite = 1; gens = 2

### qa-module-made-on-the-fly-and-its-globals-patched
physics = types.ModuleType("physics_qa", "toy")
exec('''
import jax.numpy as jnp
G = 9.81
calls = 0
def height(t, v0): return v0 * t - 0.5 * G * t ** 2
def flight(v0):
    global calls
    calls += 1
    return 2 * v0 / G
def __getattr__(name):
    if name == "MOON": return G / 6
    raise AttributeError(name)
''', physics.__dict__)
v0 = jnp.array([5.0, 10.0])
n = 4
---
physics_qa = physics
height, duration = operator.attrgetter("height", "flight")(physics_qa)
t = jnp.linspace(0, 1, n)[:, None] * duration(v0)
h = height(t, v0)
old, physics_qa.G = physics_qa.G, physics_qa.MOON
try:
    high = height(t, v0)
finally:
    physics_qa.G = old
print(physics_qa.calls, duration.__module__, hasattr(physics_qa, "MARS"), round(physics_qa.G, 2))
h.max(0), (high - h)[-1], physics_qa.__doc__
---
physics.G = 3.7
---
v0 = v0[:1] * 2
---
physics.height = lambda t, v0: v0 * t; n = 3

### qa-stopper-with-bool-and-call-and-best-copy cold
class Stopper:
    def __init__(self, patience, delta=0.0): self.patience, self.delta, self.best, self.count, self.saved = patience, delta, math.inf, 0, None
    def __call__(self, value, tree):
        if improved := value < self.best - self.delta:
            self.best, self.count, self.saved = float(value), 0, jax.tree.map(jnp.copy, tree)
        else:
            self.count += 1
        return improved
    def __bool__(self): return self.count >= self.patience
    def __len__(self): return self.count
X = jnp.stack([jnp.linspace(-1, 1, 10) ** i for i in range(4)], 1)
y = jnp.abs(jnp.linspace(-1, 1, 10))
train, val = slice(0, None, 2), slice(1, None, 2)
theta, lr, stop = jnp.zeros(4), 0.4, Stopper(2, 1e-3)
most = 6
---
stop.count = 0
epoch = 0
while not stop and epoch < most:
    epoch += 1
    theta -= lr * jax.grad(lambda th: jnp.mean((X[train] @ th - y[train]) ** 2))(theta)
    v = jnp.mean((X[val] @ theta - y[val]) ** 2)
    mark = "+" if stop(v, theta) else "-"
    print(f"{epoch}{mark}", end=" ")
print("stopped" if stop else "done", len(stop), stop.saved is theta)
theta, stop.best < 1
---
lr = 0.8
---
y = -y; stop = Stopper(1)
---
theta = theta + 1; most = 2

### qa-ema-by-operators-with-in-place-decay
class Params(dict):
    def _with(self, other, op):
        get = other.__getitem__ if isinstance(other, dict) else (lambda k: other)
        return Params({k: op(v, get(k)) for k, v in self.items()})
    def __add__(self, o): return self._with(o, operator.add)
    def __sub__(self, o): return self._with(o, operator.sub)
    def __mul__(self, o): return self._with(o, operator.mul)
    __rmul__ = __mul__
    def __imul__(self, o):
        for k in self: self[k] = self[k] * o
        return self
    def __iadd__(self, o):
        for k in self: self[k] = self[k] + o[k]
        return self
    def __matmul__(self, o): return sum(jnp.vdot(self[k], o[k]) for k in self)
    def __neg__(self): return -1.0 * self
    def __abs__(self): return jnp.sqrt(self @ self)
p = Params(w=jnp.ones((2, 2)), b=jnp.array([0.1, -0.2]))
ema = Params(p)
held = ema
x, d, n = jnp.array([[1.0, 2.0], [-1.0, 0.5]]), 0.8, 3
---
def loss(w, b): return jnp.mean(jnp.tanh(x @ w + b) ** 2)
for _ in range(n):
    gw, gb = jax.grad(loss, (0, 1))(**p) if False else jax.grad(loss, (0, 1))(p["w"], p["b"])
    p = p - 0.3 * Params(w=gw, b=gb)
    ema *= d
    ema += (1 - d) * p
gap = abs(ema - p)
print(ema is held, sorted(ema), type(-p).__name__, "near" if gap < 0.5 else "far")
gap, ema @ p, loss(**held)
---
d = 0.5
---
held["b"] = held["b"] * 10
---
x = x.T; n = 1

### qa-mixed-precision-policy-with-dynamic-loss-scale cold tolerance=1e-2
@dataclass
class Scale:
    value: float = 2.0 ** 12
    good: int = 0
    period: int = 2
    log: list = field(default_factory=list)
    def adjust(self, finite):
        if not finite:
            self.value, self.good = max(1.0, self.value / 2), 0
        else:
            self.good += 1
            if self.good % self.period == 0: self.value *= 2
        self.log.append(("ok" if finite else "skip", int(math.log2(self.value))))
scale = Scale()
master = {"w": jnp.linspace(-1, 1, 6).reshape(3, 2), "b": jnp.zeros(2)}
x = jnp.array([[1.0, 200.0, -3.0], [0.5, 100.0, 2.0]])
y = jnp.zeros((2, 2))
dtype, lr, n = jnp.float16, 1e-4, 4
cast = lambda t, d: jax.tree.map(lambda a: a.astype(d), t)
---
def scaled(p, s):
    half = cast(p, dtype)
    out = x.astype(dtype) @ half["w"] + half["b"]
    return (jnp.mean((out - y.astype(dtype)) ** 2) * jnp.asarray(s, dtype)).astype(jnp.float32), out
for _ in range(n):
    (l, out), g = jax.value_and_grad(scaled, has_aux=True)(master, scale.value)
    g = jax.tree.map(lambda a: a.astype(jnp.float32) / scale.value, g)
    finite = all(bool(jnp.isfinite(a).all()) for a in jax.tree.leaves(g))
    if finite:
        master = jax.tree.map(lambda p, g: p - lr * g, master, g)
    scale.adjust(finite)
print(*scale.log[-n:], out.dtype, master["w"].dtype, sep="; ")
out.astype(jnp.float32).round(-1), scale.value, scale.good
---
dtype = jnp.bfloat16
---
x = x.at[:, 1].divide(100)
---
scale = replace(scale, value=8.0, log=[]); n = 2

### qa-debug-prints-callbacks-and-a-floating-point-trap
seen = []
def note(i, v): seen.append((int(i), round(float(v), 2)))
@jax.jit
def newton(x, a):
    def body(i, x):
        x = 0.5 * (x + a / x)
        jax.debug.callback(note, i, x, ordered=True)
        return x
    return lax.fori_loop(0, 3, body, x)
def guarded(f, *args):
    try:
        v = f(*args)
        if not jnp.isfinite(v):
            raise FloatingPointError(f"{getattr(f, '__name__', f)} gave {v}")
        return v
    except FloatingPointError as e:
        failures.append(str(e))
        return jnp.nan_to_num(v, nan=-1.0, posinf=1e3)
failures, a = [], 2.0
---
root = newton(jnp.float32(1.0), a)
jax.effects_barrier()
jax.debug.print("root {r:.3f} of {a}", r=root, a=a)
values = [guarded(f, jnp.float32(v)) for f in (jnp.log, jnp.sqrt, jnp.reciprocal) for v in (a, -a, 0.0)]
jax.effects_barrier()
print(len(failures), [i for i, _ in seen[-3:]], failures[-1])
with np.errstate(divide="raise"):
    try: np.float32(1) / np.float32(0)
    except FloatingPointError as e: print(type(e).__name__, e)
seen.clear(); failures.clear()
jnp.array(values), root
---
a = 9.0
---
failures = ["old"]; a = 16.0
---
a = jnp.float32(0.25)

### qa-finite-elements-newton-while-residual-large tolerance=2e-3
nodes = np.linspace(0, 1, 7)
elements = np.array([(i, i + 1) for i in range(6)])
fixed = {0: 0.0, 6: 1.0}
quad = [(-1 / math.sqrt(3), 1.0), (1 / math.sqrt(3), 1.0)]
def conductivity(u): return 1.0 + u ** 2
def element_residual(ue, xe):
    h = xe[1] - xe[0]
    r = jnp.zeros(2)
    for xi, w in quad:
        N = jnp.array([(1 - xi) / 2, (1 + xi) / 2])
        B = jnp.array([-1.0, 1.0]) / h
        r += w * h / 2 * (conductivity(N @ ue) * (B @ ue) * B - load * N)
    return r
load, tol = 1.0, 1e-3
u0 = jnp.asarray(nodes, jnp.float32)
---
def assemble(u):
    R = jnp.zeros_like(u)
    for e, (i, j) in enumerate(elements):
        R = R.at[jnp.array([i, j])].add(element_residual(u[np.array([i, j])], nodes[elements[e]]))
    for dof, value in fixed.items():
        R = R.at[dof].set(u[dof] - value)
    return R
u, its, norms = u0, 0, []
while (rn := float(jnp.linalg.norm(assemble(u)))) > tol:
    norms.append(rn)
    u = u - jnp.linalg.solve(jax.jacfwd(assemble)(u), assemble(u))
    if (its := its + 1) > 8: raise RuntimeError("no convergence")
flux = conductivity(u[:-1]) * jnp.diff(u) * 6
print(its, len(norms), all(b < a for a, b in itertools.pairwise(norms)))
u, flux
---
load = 5.0
---
fixed[6] = 0.0
---
nodes[1:-1] += 0.02; u0 = u0 * 0.5

### qa-overlap-add-frames-generator-and-biquad-scan tolerance=2e-3
def frames(x, size, hop):
    for start in range(0, len(x) - size + 1, hop):
        yield start, x[start:start + size]
def biquad(x, b, a):
    def tick(z, v):
        y = b[0] * v + z[0]
        return (b[1] * v - a[1] * y + z[1], b[2] * v - a[2] * y), y
    return lax.scan(tick, (0.0, 0.0), x)[1]
sr = 64
t = np.arange(sr) / sr
x = (np.sin(2 * np.pi * 4 * t) + 0.5 * np.sin(2 * np.pi * 20 * t)).astype(np.float32)
b, a = (0.2, 0.4, 0.2), (1.0, -0.3, 0.1)
size, hop, gate = 16, 8, 1.0
---
out, norm = np.zeros_like(x), np.zeros_like(x)
win = jnp.hanning(size)
kept = []
for start, frame in frames(x, size, hop):
    S = jnp.fft.rfft(win * frame)
    mag = jnp.abs(S)
    kept.append(int((mag > gate).sum()))
    back = jnp.fft.irfft(jnp.where(mag > gate, S, 0), n=size)
    out[start:start + size] += np.asarray(back * win)
    norm[start:start + size] += np.asarray(win ** 2)
out /= np.maximum(norm, 1e-3)
y = biquad(jnp.asarray(out), b, a)
peak = jnp.fft.rfftfreq(sr, 1 / sr)[jnp.abs(jnp.fft.rfft(y)).argmax()]
print(kept, f"peak {peak:.0f} Hz", out.dtype)
y[20:24], jnp.sqrt(jnp.mean(y ** 2))
---
gate = 3.0
---
b = (1.0, 0.0, 0.0); a = (1.0, 0.0, 0.0)
---
x[::2] = 0; size = 8; hop = 4

### qa-tokens-vocabulary-skipgrams-and-negative-samples tolerance=2e-3
text = "the cat sat on the mat . the dog sat on the log . a cat and a dog"
class Vocab:
    def __init__(self, special=("<unk>",)): self.stoi = defaultdict(lambda: 0); self.itos = list(special); self.freq = Counter()
    def add(self, tokens, least=1):
        self.freq.update(tokens)
        for tok, n in self.freq.most_common():
            if n >= least and tok not in self.stoi:
                self.stoi[tok] = len(self.itos); self.itos.append(tok)
        return self
    def __call__(self, tokens): return [self.stoi.get(t, 0) for t in tokens]
    def __len__(self): return len(self.itos)
def skipgrams(ids, window):
    for i, c in enumerate(ids):
        for o in ids[max(0, i - window):i] + ids[i + 1:i + 1 + window]:
            if c and o: yield c, o
window, dim, lr, least = 1, 4, 0.5, 2
rng = np.random.default_rng(3)
E = {"in": jr.normal(jr.key(0), (16, 4)) * 0.1, "out": jr.normal(jr.key(1), (16, 4)) * 0.1}
---
tokens = re.findall(r"\w+|[^\w\s]", text.lower())
vocab = Vocab().add(tokens, least)
pairs = np.array(list(skipgrams(vocab(tokens), window)))
p = np.array([vocab.freq[t] for t in vocab.itos]) ** 0.75
negs = rng.choice(len(vocab), size=(len(pairs), 2), p=p / p.sum())
def loss(E, c, o, n):
    ci = E["in"][c]
    pos = jnp.sum(ci * E["out"][o], -1)
    neg = jnp.einsum("bd,bkd->bk", ci, E["out"][n])
    return -(jax.nn.log_sigmoid(pos) + jax.nn.log_sigmoid(-neg).sum(-1)).mean()
for chunk, neg in zip(np.array_split(pairs, 2), np.array_split(negs, 2)):
    value, g = jax.value_and_grad(loss)(E, *chunk.T, neg)
    E = {k: v - lr * g[k] for k, v in E.items()}
query = E["in"][vocab.stoi["sat"]]
sims = E["in"][: len(vocab)] @ query
print(len(vocab), pairs.shape, vocab.itos[:3], " ".join(vocab.itos[i] for i in vocab("the zebra sat".split())))
value, sims.argmax()
---
text += " . the zebra sat"; least = 1
---
lr = 0.1
---
window = 2; rng = np.random.default_rng(1)

### qa-pil-thumbnails-convolved-hashed-and-pasted needs=PIL
from PIL import Image, ImageFilter, ImageOps
base = Image.fromarray((np.add.outer(np.arange(12), np.arange(16)) * 9 % 256).astype(np.uint8))
kernels = {"blur": np.full((3, 3), 1 / 9), "sharp": np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]])}
size, angle = (8, 6), 90
def conv(img, k):
    x = jnp.asarray(np.asarray(img), jnp.float32)[None, None] / 255
    y = lax.conv_general_dilated(x, jnp.asarray(k, jnp.float32)[None, None], (1, 1), "SAME")
    return jnp.clip(y[0, 0], 0, 1)
---
sheet = Image.new("L", (2 * size[0], size[1]))
means, digests = {}, []
for col, (name, k) in enumerate(kernels.items()):
    y = conv(ImageOps.flip(base).resize(size, Image.NEAREST), k)
    means[name] = y.mean()
    q = np.asarray(jnp.round(y * 15)).astype(np.uint8) * 17
    sheet.paste(Image.fromarray(q), (col * size[0], 0))
    digests.append(hashlib.md5((q // 51).tobytes()).hexdigest()[:6])
turned = sheet.rotate(angle, expand=True)
turned.save("sheet.png")
again = np.asarray(Image.open("sheet.png"))
print(sheet.size, turned.size, again.dtype, len(set(digests)), turned.getextrema()[1])
means, jnp.asarray(again, jnp.float32).mean().round(-1)
---
angle = 0
---
kernels["blur"] = np.eye(3) / 3
---
base = ImageOps.invert(base); size = (4, 4)

### qa-cholesky-retried-with-growing-jitter-else-and-finally
class NotPositive(ArithmeticError): pass
attempts = []
def chol(K, jitter):
    L = jnp.linalg.cholesky(K + jitter * jnp.eye(len(K)))
    if jnp.isnan(L).any():
        raise NotPositive(f"at {jitter:.0e}")
    return L
X = jnp.array([0.0, 0.1, 0.5, 0.9])
y = jnp.array([1.0, 0.5, -0.5, 0.2])
K = jnp.exp(-(X[:, None] - X) ** 2) - 0.05 * jnp.eye(4)
levels = (0.0, 1e-2, 1e-1, 1.0)
---
for jitter in levels:
    try:
        L = chol(K, jitter)
    except NotPositive as err:
        attempts.append(err)
        reason = err
        continue
    else:
        alpha = jax.scipy.linalg.cho_solve((L, True), y)
        break
    finally:
        attempts.append(jitter)
else:
    raise RuntimeError("hopeless") from reason
logdet = 2 * jnp.log(jnp.diagonal(L)).sum()
tried = [str(a) if isinstance(a, Exception) else a for a in attempts]
attempts.clear()
print(jitter, tried, isinstance(reason, ArithmeticError), reason.__traceback__ is not None)
alpha, logdet
---
K = K - 0.5 * jnp.eye(4)
---
y = y * 2; K = jnp.eye(4); levels = (0.0,)
---
levels = (); X = X + 1

### qa-pole-balancing-episode-yielded-and-policy-gradient tolerance=2e-3
GRAV, DT = 9.8, 0.05
def dynamics(s, force):
    x, v, th, om = s
    alpha = (GRAV * jnp.sin(th) - 0.5 * force * jnp.cos(th)) / 0.6
    return jnp.stack([x + DT * v, v + DT * (force - 0.05 * v), th + DT * om, om + DT * alpha])
def policy(w, s): return jax.nn.sigmoid(w[:4] @ s + w[4])
def episode(w, rng, limit):
    s = jnp.asarray(rng.uniform(-0.05, 0.05, 4), jnp.float32)
    for t in range(limit):
        p = float(policy(w, s))
        a = int(rng.random() < p)
        s2 = dynamics(s, 4.0 * (2 * a - 1))
        failed = abs(float(s2[2])) > 0.3 or abs(float(s2[0])) > 2.4
        yield s, a, -1.0 if failed else 1.0
        if failed: return t + 1
        s = s2
    return limit
def collect(gen):
    length = yield from gen
    lengths.append(length)
lengths, w = [], jnp.zeros(5)
rng = np.random.default_rng(8)
gamma, limit, lr = 0.95, 8, 0.05
---
S, A, R = map(list, zip(*collect(episode(w, rng, limit))))
G = list(itertools.accumulate(reversed(R), lambda g, r: r + gamma * g))[::-1]
adv = (np.array(G) - np.mean(G)) / (np.std(G) + 1e-6)
def objective(w):
    p = jax.vmap(partial(policy, w))(jnp.stack(S))
    return jnp.mean(jnp.where(jnp.array(A) == 1, jnp.log(p), jnp.log1p(-p)) * adv)
w = w + lr * jax.grad(objective)(w)
print(lengths[-1] == len(R), len(lengths), set(A) <= {0, 1})
w, adv.shape[0] <= limit
---
limit = 4
---
lr = 0.5; lengths.clear()
---
w = -w; rng = np.random.default_rng(2)

### qa-hooks-that-raise-stop-training-through-two-layers
class StopTraining(Exception):
    def __init__(self, step, **why): super().__init__(step); self.step, self.why = step, why
class Loop:
    def __init__(self, params): self.params, self.step, self.hooks, self.events = params, 0, defaultdict(list), []
    def on(self, event):
        def register(fn): self.hooks[event].append(fn); return fn
        return register
    def emit(self, event, **kw):
        self.events.append(event)
        for fn in self.hooks[event]: fn(self, **kw)
    def run(self, f, n):
        self.emit("start")
        try:
            for _ in range(n):
                self.step += 1
                loss, g = jax.value_and_grad(f)(self.params)
                self.params = self.params - 0.1 * g
                self.emit("step", loss=loss, g=g)
        except StopTraining as s:
            self.emit("stopped", info=s)
            return s.why
        finally:
            self.emit("end")
        return {}
loop = Loop(jnp.array([3.0, -2.0]))
best = []
@loop.on("step")
def watch(lp, loss, g):
    best.append(loss)
    if jnp.linalg.norm(g) < threshold: raise StopTraining(lp.step, gnorm=jnp.linalg.norm(g))
@loop.on("stopped")
@loop.on("end")
def say(lp, info=None): print("said", lp.step, info and sorted(info.why))
threshold, n = 2.5, 4
---
why = loop.run(lambda p: 0.5 * jnp.sum(p ** 2) + 0.05 * jnp.sum(p ** 4), n)
tally = Counter(loop.events)
print(dict(tally), loop.step, bool(why), len(best))
loop.events.clear()
loop.params, best[-1], why
---
threshold = 0.5
---
loop.hooks["end"].clear(); loop.params = jnp.ones(2) * 4
---
loop.on("start")(lambda lp: setattr(lp, "params", lp.params * 2)); n = 2

### qa-dual-numbers-and-units-with-reflected-operators
class Dual:
    __array_priority__ = 1000
    def __init__(self, a, b=0.0): self.a, self.b = a, b
    @staticmethod
    def of(x): return x if isinstance(x, Dual) else Dual(x)
    def __add__(self, o): o = Dual.of(o); return Dual(self.a + o.a, self.b + o.b)
    def __mul__(self, o): o = Dual.of(o); return Dual(self.a * o.a, self.a * o.b + self.b * o.a)
    __radd__, __rmul__ = __add__, __mul__
    def __neg__(self): return Dual(-self.a, -self.b)
    def __sub__(self, o): return self + (-Dual.of(o))
    def __rsub__(self, o): return Dual.of(o) + (-self)
    def __pow__(self, n): return reduce(operator.mul, [self] * n, Dual(1.0))
    def __truediv__(self, o): o = Dual.of(o); return Dual(self.a / o.a, (self.b * o.a - self.a * o.b) / o.a ** 2)
    def __lt__(self, o): return bool(jnp.all(self.a < Dual.of(o).a))
    def __repr__(self): return f"{float(jnp.sum(self.a)):.2f}+{float(jnp.sum(self.b)):.2f}e"
def sin(x): return Dual(jnp.sin(x.a), jnp.cos(x.a) * x.b) if isinstance(x, Dual) else jnp.sin(x)
def f(x): return 3.0 * x ** 2 - sin(x) / (x + 2.0) + 1
x = jnp.array([0.5, 1.0, -0.3])
n = 3
---
d = f(Dual(x, jnp.ones_like(x)))
exact = jax.vmap(jax.grad(f))(x)
r = Dual(1.0, 1.0)
for _ in range(n):
    r = r - f(r) / Dual(6.0 * r.a + 1.0)
ordered = sorted([Dual(x[0]), Dual(x[1]), Dual(x[2])])
print(d, jnp.allclose(d.b, exact, atol=1e-4), ordered[0], Dual(x) < 2)
d.a, r.a, r.b
---
n = 1
---
def f(x): return x ** 3 + 2
---
x = x[:2] + 0.5

### qa-namespace-of-arguments-parsed-and-counted
parser = argparse.ArgumentParser(prog="train", exit_on_error=False)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--widths", type=int, nargs="+", default=[3, 4])
parser.add_argument("--act", choices=["tanh", "relu"], default="tanh")
parser.add_argument("--verbose", "-v", action="count", default=0)
argv = "--lr 0.2 --widths 2 5 3 -vv".split()
ACTS = {"tanh": jnp.tanh, "relu": jax.nn.relu}
ctx = SimpleNamespace(step=0, seen=set(), ema=None)
x = jnp.linspace(-1, 1, 8).reshape(4, 2)
---
args, unknown = parser.parse_known_args(argv)
ws = [jr.normal(jr.key(i), (a, b)) for i, (a, b) in enumerate(itertools.pairwise(args.widths))]
h = x[:, : args.widths[0]]
for w in ws:
    ctx.step += 1
    h = ACTS[args.act](h @ w * args.lr)
    ctx.seen.add(w.shape)
    if args.verbose > 1: print(f"[{ctx.step}] {h.shape} {'+' if h.mean() > 0 else '-'}")
ctx.ema = h.mean() if ctx.ema is None else args.lr * h.mean() + (1 - args.lr) * ctx.ema
try:
    parser.parse_args(["--lr", "fast"])
except argparse.ArgumentError as e:
    print(e.argument_name, unknown)
print(args, sorted(ctx.seen))
h, ctx.ema
---
argv[1] = "0.9"; argv.append("--dry")
---
argv = ["--act", "relu", "--widths", "2", "2"]
---
ctx.seen.clear(); x = -x

### qa-snapshots-kept-by-deepcopy-with-own-copy-hook
class Agent:
    made = 0
    def __init__(self, w, memory=()): self.w, self.memory, self.parent = w, deque(memory, maxlen=3), None; Agent.made += 1
    def act(self, s): self.memory.append(s.sum()); return jnp.tanh(self.w @ s)
    def __deepcopy__(self, memo):
        twin = type(self)(self.w + 0, copy.copy(self.memory))
        memo[id(self)] = twin
        twin.parent = self
        return twin
    def __copy__(self): return Agent(self.w, self.memory)
agent = Agent(jnp.array([[0.5, -1.0], [1.0, 0.2]]))
pool = {"main": agent, "again": agent}
s = jnp.array([1.0, 2.0])
n = 3
---
for i in range(n):
    s = agent.act(s)
    agent.w = agent.w + 0.1 * jnp.outer(s, s)
clone = copy.deepcopy(pool)
thin = copy.copy(agent)
clone["main"].act(s * 2)
same = clone["main"] is clone["again"], clone["main"].parent is agent, thin.memory is agent.memory, thin.w is agent.w
spread = jnp.stack(list(clone["main"].memory)) - jnp.stack(list(agent.memory))
print(Agent.made, same, len(clone["main"].memory), clone["main"].memory.maxlen)
spread, agent.w
---
n = 1
---
pool["again"] = Agent(jnp.eye(2))
---
agent.memory = deque(agent.memory, maxlen=5); s = s - 1

### qa-event-driven-simulation-on-a-heap
rng = np.random.default_rng(6)
class Event(NamedTuple):
    time: float
    seq: int
    kind: str
    who: int
service = jnp.array([0.7, 1.1])
arrivals = 5
---
clock, seq, heap = 0.0, itertools.count(), []
busy, waiting, waits = {}, deque(), []
for t in np.cumsum(rng.exponential(0.5, arrivals)):
    heapq.heappush(heap, Event(float(t), next(seq), "arrive", -1))
while heap:
    clock, _, kind, who = heapq.heappop(heap)
    match kind:
        case "arrive": waiting.append(clock)
        case "leave": del busy[who]
    while waiting and (free := {0, 1} - busy.keys()):
        server = min(free)
        began = waiting.popleft()
        waits.append(clock - began)
        length = service[server] * (1 + 0.1 * len(busy))
        busy[server] = length
        heapq.heappush(heap, Event(clock + float(length), next(seq), "leave", server))
W = jnp.asarray(waits)
print(arrivals == len(waits), dict(busy), next(seq), [f"{w:.1f}" for w in heapq.nlargest(2, waits)])
W.mean(), jnp.quantile(W, 0.9), round(clock, 2) > 0
---
service = service * 2
---
arrivals = 7; rng = np.random.default_rng(1)
---
service = jnp.array([0.1, 0.1])

### qa-progress-bars-to-a-buffer-and-carriage-returns needs=tqdm
from tqdm import tqdm, trange
x = jnp.linspace(0.5, 2.0, 4)
n = 4
def bar(i, n, v): sys.stdout.write(f"\r[{'=' * i:<{n}}] {v:.2f}"); sys.stdout.flush()
---
buffer = io.StringIO()
pbar = trange(n, file=buffer, bar_format="{desc}{n_fmt}/{total_fmt}", mininterval=0, ascii=True, disable=False)
for i in pbar:
    x = x - 0.1 * jax.grad(lambda v: jnp.sum(v * jnp.log(v)))(x)
    pbar.set_description(f"loss {jnp.sum(x * jnp.log(x)):.1f}")
    bar(i + 1, n, x.mean())
print()
with redirect_stdout(io.StringIO()) as quiet:
    for _ in tqdm([1, 2], disable=True):
        print("inside", f"{x.sum():.1f}", end=";", flush=True)
print(quiet.getvalue().count("inside"), pbar.n, buffer.getvalue().count("/"), file=sys.stdout, sep="~")
x
---
n = 2
---
x = jnp.ones(3)
---
def bar(i, n, v): print(i, end="\r")

### qa-log-filter-adapter-and-lazy-arguments
class Burst(logging.Filter):
    def __init__(self, every): super().__init__(); self.every, self.n = every, 0
    def filter(self, record):
        self.n += 1
        record.step = self.n
        return self.n % self.every == 0
log = logging.Logger("qa.train", logging.DEBUG)
text = io.StringIO()
handler = logging.StreamHandler(text)
handler.setFormatter(logging.Formatter("%(levelname).1s %(step)d %(message)s [%(run)s]"))
burst = Burst(2)
log.addFilter(burst); log.addHandler(handler)
adapter = logging.LoggerAdapter(log, {"run": "r1"})
class Lazy:
    count = 0
    def __init__(self, f): self.f = f
    def __str__(self): Lazy.count += 1; return f"{float(self.f()):.1f}"
w = jnp.array([1.0, 2.0, 3.0])
---
for i in range(5):
    w = w * 0.9 + jnp.sin(w) * 0.1
    adapter.info("norm %s at %d", Lazy(lambda: jnp.linalg.norm(w)), i)
    if jnp.max(w) > 2.5: adapter.warning("large %.1f", w.max())
try:
    w.reshape(2, 2)
except TypeError:
    adapter.exception("bad", exc_info=False)
lines = text.getvalue().splitlines()
print(len(lines), burst.n, Lazy.count, lines[-1])
w, Counter(l[0] for l in lines)
---
burst.every = 3
---
adapter.extra["run"] = "r2"; log.setLevel(logging.WARNING)
---
w = w * 5; text.truncate(0); text.seek(0)

### qa-unit-tests-and-a-doctest-run-inside-the-notebook
import doctest
def softmax(x, axis=-1):
    '''
    >>> softmax(jnp.zeros(2)).tolist()
    [0.5, 0.5]
    >>> softmax(jnp.array([1.0, 1.0, 1.0, 1.0])).sum().item()
    1.0
    '''
    e = jnp.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)
class TestSoftmax(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.x = x
    def test_sums(self): np.testing.assert_allclose(softmax(self.x).sum(-1), 1.0, rtol=1e-5)
    def test_shift(self):
        for c in (0.0, 5.0, -3.0):
            with self.subTest(c=c): self.assertTrue(jnp.allclose(softmax(self.x + c), softmax(self.x), atol=1e-5))
    def test_order(self): self.assertLess(softmax(self.x)[0, 0], bound)
    @unittest.skipIf(len("ab") > 1, "never")
    def test_skipped(self): self.fail()
x, bound = jnp.arange(6.0).reshape(2, 3), 0.5
---
suite = unittest.defaultTestLoader.loadTestsFromTestCase(TestSoftmax)
result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
runner = doctest.DocTestRunner(verbose=False)
for test in doctest.DocTestFinder(recurse=False).find(softmax, "softmax", globs=globals()):
    runner.run(test, out=lambda s: None)
summary = result.testsRun, len(result.failures), len(result.errors), len(result.skipped), tuple(runner.summarize(verbose=False))
print(summary, [t.id().rsplit(".")[-1] for t, _ in result.failures])
H = -(softmax(x) * jnp.log(softmax(x))).sum(-1)
del suite, result, runner, test
H
---
bound = 0.0
---
x = x * jnp.nan
---
def softmax(x, axis=-1): return jax.nn.softmax(x, axis)

### qa-quadtree-forces-recursive-with-memo-of-centres tolerance=2e-3
class Node:
    __slots__ = ("lo", "size", "points", "kids", "_c")
    def __init__(self, lo, size): self.lo, self.size, self.points, self.kids, self._c = lo, size, [], None, None
    def insert(self, p, depth=0):
        self.points.append(p); self._c = None
        if len(self.points) > 1 and depth < 4:
            if self.kids is None:
                self.kids = {}
                for q in self.points[:-1]: self._sub(q).insert(q, depth + 1)
            self._sub(p).insert(p, depth + 1)
    def _sub(self, p):
        half = self.size / 2
        ix, iy = (int(p[i] >= self.lo[i] + half) for i in (0, 1))
        return self.kids.setdefault((ix, iy), Node((self.lo[0] + ix * half, self.lo[1] + iy * half), half))
    @property
    def centre(self):
        if self._c is None: self._c = jnp.mean(jnp.array(self.points), 0)
        return self._c
def force(node, x, theta):
    global visited
    visited += 1
    d = node.centre - x
    r = jnp.sqrt(d @ d + 1e-2)
    if node.kids is None or node.size < theta * float(r):
        return len(node.points) * d / r ** 3
    return sum((force(k, x, theta) for k in node.kids.values()), jnp.zeros(2))
pts = [(0.1, 0.2), (0.15, 0.22), (0.8, 0.7), (0.75, 0.9), (0.4, 0.6)]
theta, visited = 0.8, 0
---
visited = 0
root = Node((0.0, 0.0), 1.0)
for p in pts: root.insert(p)
F = jnp.stack([force(root, jnp.array(p), theta) for p in pts])
def depth(n): return 1 + max(map(depth, n.kids.values()), default=0) if n.kids else 1
print(visited, depth(root), len(root.kids), (F.sum(0) < 100).all())
exact = jnp.stack([force(root, jnp.array(pts[0]), 0.0)])
F, exact - F[:1]
---
theta = 2.0
---
pts.append((0.81, 0.71))
---
pts = [(y, x) for x, y in pts[:3]]

### qa-iter-with-a-sentinel-and-while-true-of-chunks
raw = struct.pack("<9f", *[0.5 * i for i in range(9)]) + b"\xff"
stream = io.BytesIO(raw)
chunk = 12
W = jnp.array([[1.0, -1.0, 0.5]])
ring = deque(maxlen=2)
---
stream.seek(0)
for blob in iter(partial(stream.read, chunk), b""):
    if len(blob) % 4:
        leftover = blob
        break
    v = jnp.frombuffer(blob, dtype=jnp.float32)
    ring.append(W[:, : len(v)] @ v)
else:
    leftover = b""
dice = random.Random(2)
rolls = list(iter(lambda: dice.randint(1, 6), 6))
n = 0
while True:
    n += 1
    z = sum(ring) / n
    if (abs(z) < 1.0).all(): break
packed = base64.b64encode(np.asarray(jnp.round(z)).astype("<i2").tobytes()).decode()
print(leftover, stream.tell(), rolls, n, packed, int.from_bytes(raw[:4], "little"))
z, jnp.concatenate(list(ring))
---
chunk = 8
---
raw = raw[:-1]; stream = io.BytesIO(raw)
---
W = W * 3; ring.clear()

### qa-registered-pytree-with-meta-fields-changing-between-runs
@jtu.register_pytree_with_keys_class
class Poly:
    def __init__(self, coef, name="p", degree_cap=None): self.coef, self.name, self.degree_cap, self.hits = coef, name, degree_cap, 0
    def tree_flatten_with_keys(self): return ((jtu.GetAttrKey("coef"), self.coef),), (self.name, self.degree_cap)
    @classmethod
    def tree_unflatten(cls, aux, kids): return cls(*kids, *aux)
    def __call__(self, x): self.hits += 1; return jnp.polyval(self.coef[: self.degree_cap], x)
    def __eq__(self, o): return isinstance(o, Poly) and self.name == o.name
    __hash__ = object.__hash__
p = Poly(jnp.array([1.0, -2.0, 0.5]))
q = Poly(jnp.array([0.1, 0.2]), "q")
xs = jnp.linspace(-1, 1, 5)
steps = 3
---
bag = {"a": p, "b": [q, p]}
paths = [jtu.keystr(k) for k, _ in jtu.tree_leaves_with_path(bag)]
def miss(bag): return sum(jnp.mean((f(xs) - xs ** 2) ** 2) for f in (bag["a"], *bag["b"]))
for _ in range(steps):
    g = jax.grad(miss)(bag)
    bag = jax.tree.map(lambda a, b: a - 0.1 * b, bag, g)
scanned, ys = lax.scan(lambda f, x: (jax.tree.map(lambda c: c * 0.9, f), f(x)), p, xs)
print(paths, p.hits, q.hits, bag["a"] == p, bag["a"] is p, type(scanned).__name__, scanned.name)
p = bag["b"][1] if bag["b"][1].degree_cap else p
miss(bag), ys, bag["a"].coef
---
p.name = "renamed"
---
p.degree_cap = 2
---
q = Poly(q.coef * 3, "q2"); steps = 1

### qa-optimistix-and-lineax-solves-in-a-continuation needs=optimistix,lineax tolerance=5e-3
import optimistix as optx, lineax as lx
A = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])
b = jnp.array([1.0, -1.0, 0.5])
def residual(x, args):
    lam, b = args
    return A @ x + lam * x ** 3 - b
lams, y = [0.0, 0.5, 1.0], jnp.zeros(3)
solver = optx.Newton(rtol=1e-4, atol=1e-4)
---
branch = {}
y = jnp.zeros(3)
for lam in lams:
    sol = optx.root_find(residual, solver, y, args=(lam, b), max_steps=32, throw=False)
    if sol.result != optx.RESULTS.successful:
        print("lost at", lam)
        break
    y = sol.value
    J = jax.jacfwd(residual)(y, (lam, b))
    tangent = lx.linear_solve(lx.MatrixLinearOperator(J), -y ** 3).value
    branch[lam] = (y, tangent)
lo = optx.minimise(lambda x, _: jnp.sum(residual(x, (lams[-1], b)) ** 2), optx.BFGS(1e-3, 1e-3), y + 0.1, max_steps=64, throw=False)
print(list(branch), type(solver).__name__, jnp.linalg.norm(residual(y, (lams[-1], b))) < 1e-2)
y, branch[lams[0]][1], jnp.abs(lo.value - y).max() < 0.1
---
b = b * 2
---
lams.append(2.0)
---
A = A + jnp.eye(3); lams = [0.3]

### qa-wavefunction-split-operator-with-measurement-collapse tolerance=2e-3
class Wave:
    def __init__(self, n, k0):
        self.x = jnp.linspace(-4, 4, n, endpoint=False)
        psi = jnp.exp(-self.x ** 2 + 1j * k0 * self.x)
        self.psi = psi / jnp.linalg.norm(psi)
        self.records = []
    @cached_property
    def kinetic(self): return jnp.exp(-0.5j * dt * (2 * jnp.pi * jnp.fft.fftfreq(len(self.x), self.x[1] - self.x[0])) ** 2)
    def evolve(self, V, steps):
        half = jnp.exp(-0.5j * dt * V(self.x))
        for _ in range(steps):
            self.psi = half * jnp.fft.ifft(self.kinetic * jnp.fft.fft(half * self.psi))
        return self
    def measure(self, rng):
        p = np.asarray(jnp.abs(self.psi) ** 2, float)
        i = int(np.searchsorted(np.cumsum(p / p.sum()), rng.random()))
        left = bool(self.x[i] < 0)
        keep = jnp.where(left, self.x < 0, self.x >= 0)
        self.psi = self.psi * keep / jnp.linalg.norm(self.psi * keep)
        self.records.append("LR"[not left])
        return self
dt, steps = 0.05, 3
wave, rng = Wave(32, 1.0), np.random.default_rng(4)
V = lambda x: 0.5 * x ** 2
---
wave.evolve(V, steps).measure(rng).evolve(V, 1)
density = jnp.abs(wave.psi) ** 2
mean = (density * wave.x).sum()
print("".join(wave.records), f"{jnp.sum(density):.2f}", "kinetic" in vars(wave), wave.psi.dtype)
mean, density.max()
---
V = lambda x: jnp.where(jnp.abs(x) < 1, 2.0, 0.0)
---
dt = 0.1; del wave.kinetic
---
wave = Wave(16, -1.0)
""",
)
