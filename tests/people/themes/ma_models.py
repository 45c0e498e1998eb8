"""Models and solvers whose loops stand in helpers and methods: one call in the cell does the work, and much is bound."""

from ..cell import written

PRELUDE = """
import os, io, csv, json, math, copy, pickle, random, itertools, functools, collections, operator
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace, asdict
from functools import partial, wraps
from pathlib import Path
from typing import Any, Callable, NamedTuple
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, random as jr
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### mam-value-iteration-while-error-prints-every-few
def create_model(n, beta=0.9, b=0.3, mean=1.0):
    w = jnp.linspace(0.5, 2.0, n)
    phi = jnp.exp(-(w - mean) ** 2)
    return {"w": w, "phi": phi / phi.sum(), "beta": beta, "b": b}
def T(v, m): return jnp.maximum(m["w"] / (1 - m["beta"]), m["b"] + m["beta"] * jnp.sum(v * m["phi"]))
def solve(m, tol=1e-2, max_iter=60, print_skip=10, verbose=True):
    v = m["w"] / (1 - m["beta"])
    i, error, errors = 0, tol + 1, []
    while error > tol and i < max_iter:
        new_v = T(v, m)
        error = jnp.max(jnp.abs(v - new_v))
        errors.append(float(error))
        i += 1
        if verbose and i % print_skip == 0:
            print(f"Error at iteration {i} is {error:.3f}.")
        v = new_v
    if error > tol:
        print("Failed to converge!")
    elif verbose:
        print(f"Converged in {i} iterations.")
    return v, errors
model = create_model(12)
tol = 1e-2
---
v_star, errors = solve(model, tol)
res_wage = (1 - model["beta"]) * (model["b"] + model["beta"] * jnp.sum(v_star * model["phi"]))
policy = model["w"] >= res_wage
rejected = int(np.sum(~np.asarray(policy)))
rates = np.diff(np.log(errors))
summary = dict(model, res_wage=res_wage.item(), n=len(errors))
res_wage
---
model["b"] = 0.6
---
model = create_model(8, beta=0.97); tol = 1e-3

### mam-howard-policy-iteration-with-helpers-and-int-error
sizes = (5, 3)
rng = np.random.default_rng(1)
R = jnp.asarray(rng.normal(size=sizes), jnp.float32)
Q = rng.random(sizes + sizes[:1]); Q = jnp.asarray(Q / Q.sum(-1, keepdims=True), jnp.float32)
beta = 0.9
def get_greedy(v): return jnp.argmax(R + beta * Q @ v, axis=1)
def get_value(s):
    idx = jnp.arange(sizes[0])
    return jnp.linalg.solve(jnp.eye(sizes[0]) - beta * Q[idx, s], R[idx, s])
def howard(maxiter=20):
    sigma = jnp.zeros(sizes[0], dtype=int)
    i, error = 0, 1.0
    path = [sigma]
    while error > 0 and i < maxiter:
        v = get_value(sigma)
        new = get_greedy(v)
        error = jnp.max(jnp.abs(new - sigma))
        sigma = new
        path.append(sigma)
        i += 1
        print(f"Concluded loop {i} with error {error}.")
    return sigma, v, path
---
sigma, v, path = howard()
last = path[-1]
counts = collections.Counter(sigma.tolist())
changed = [int((a != b).sum()) for a, b in zip(path, path[1:])]
gap = jnp.max(jnp.abs(R[jnp.arange(sizes[0]), sigma] + beta * (Q[jnp.arange(sizes[0]), sigma] @ v) - v))
print(sorted(counts.items()), changed, bool(gap < 1e-3), last is sigma)
v
---
beta = 0.5
---
R = R.at[0].set(jnp.array([5.0, 0.0, -5.0]))

### mam-newton-solver-object-with-damping-and-result-record
@dataclass
class Result:
    x: jax.Array
    niter: int
    residuals: list = field(default_factory=list)
    converged: bool = False
class Newton:
    def __init__(self, f, tol=1e-4, max_iter=12, damped=True):
        self.f, self.jac, self.tol, self.max_iter, self.damped = f, jax.jacfwd(f), tol, max_iter, damped
        self.calls = 0
    def solve(self, x):
        res = Result(x, 0)
        r = self.f(x); self.calls += 1
        while jnp.linalg.norm(r) > self.tol:
            if res.niter >= self.max_iter:
                print("gave up"); break
            dx = jnp.linalg.solve(self.jac(res.x), -r)
            t = 1.0
            while self.damped and jnp.linalg.norm(self.f(res.x + t * dx)) > (1 - 0.1 * t) * jnp.linalg.norm(r) and t > 0.1:
                t *= 0.5
                self.calls += 1
            res.x = res.x + t * dx
            r = self.f(res.x); self.calls += 1
            res.niter += 1
            res.residuals.append(jnp.linalg.norm(r).item())
        else:
            res.converged = True
        return res
def f(x): return jnp.array([x[0] ** 2 + x[1] ** 2 - 4.0, jnp.exp(x[0]) + x[1] - 1.0])
solver = Newton(f)
starts = [jnp.array([1.0, -1.0]), jnp.array([-2.0, 1.0])]
---
results = [solver.solve(s) for s in starts]
best = min(results, key=lambda r: r.niter)
roots = jnp.stack([r.x for r in results])
table = [(r.niter, r.converged) for r in results]
order = [round(math.log10(r), 0) if r > 1e-3 else None for r in best.residuals]
print(table, solver.calls, best is results[table.index(min(table))])
roots
---
solver.damped = False
---
def f(x): return jnp.array([x[0] - 2 * x[1], x[1] ** 2 - 2.0 + 0.1 * x[0]])
solver = Newton(f, max_iter=2)

### mam-train-flow-function-val-split-patience-best-tree needs=equinox
import equinox as eqx
class Affine(eqx.Module):
    loc: jax.Array
    log_scale: jax.Array
    def log_prob(self, x):
        z = (x - self.loc) * jnp.exp(-self.log_scale)
        return jnp.sum(-0.5 * z ** 2 - 0.5 * math.log(2 * math.pi) - self.log_scale, -1)
def fit_to_data(key, dist, x, max_epochs=6, patience=2, batch_size=8, lr=0.1, val_prop=0.25, verbose=True):
    n_val = round(val_prop * len(x))
    key, sub = jr.split(key)
    x = jr.permutation(sub, x)
    train, val = x[n_val:], x[:n_val]
    opt = optax.adam(lr)
    params, static = eqx.partition(dist, eqx.is_inexact_array)
    state, best_params, losses = opt.init(params), params, {"train": [], "val": []}
    loss_fn = lambda p, xb: -eqx.combine(p, static).log_prob(xb).mean()
    for epoch in range(max_epochs):
        key, sub = jr.split(key)
        train = jr.permutation(sub, train)
        batch = []
        for i in range(0, len(train) - batch_size + 1, batch_size):
            l, g = eqx.filter_value_and_grad(loss_fn)(params, train[i:i + batch_size])
            up, state = opt.update(g, state, params)
            params = eqx.apply_updates(params, up)
            batch.append(l)
        losses["train"].append(sum(batch) / len(batch))
        losses["val"].append(loss_fn(params, val))
        if losses["val"][-1] == min(losses["val"]):
            best_params = params
        elif len(losses["val"]) - 1 - int(np.argmin(np.array(losses["val"]))) > patience:
            print("stopping early"); break
        if verbose: print(f"{epoch}: {losses['train'][-1]:.2f} / {losses['val'][-1]:.2f}")
    return eqx.combine(best_params, static), losses
x = jnp.asarray(np.random.default_rng(0).normal(2.0, 0.5, (24, 2)), jnp.float32)
start = Affine(jnp.zeros(2), jnp.zeros(2)); lr, patience = 0.3, 2
---
flow, losses = fit_to_data(jr.key(0), start, x, patience=patience, lr=lr)
mean, std = flow.loc, jnp.exp(flow.log_scale)
nll = -flow.log_prob(x).mean()
curve = {k: np.asarray(v) for k, v in losses.items()}
ran = len(losses["val"])
moved = not bool((flow.loc == start.loc).all())
print(ran, moved, curve["val"].dtype, type(losses["train"][0]).__name__)
nll
---
lr = 2.0; patience = 0
---
start = flow; x = x[:12]

### mam-nnx-trainer-fit-evaluate-with-history-and-best-state needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, h, rngs):
        self.l1, self.l2 = nnx.Linear(3, h, rngs=rngs), nnx.Linear(h, 2, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
    def __call__(self, x): return self.l2(self.drop(nnx.relu(self.l1(x))))
class Trainer:
    def __init__(self, model, lr):
        self.model, self.opt = model, nnx.Optimizer(model, optax.adam(lr), wrt=nnx.Param)
        self.history, self.best = {"loss": [], "val_acc": []}, (-1.0, None)
    def loss(self, m, x, y): return optax.softmax_cross_entropy_with_integer_labels(m(x), y).mean()
    def fit(self, batches, val, epochs):
        for epoch in range(epochs):
            self.model.train()
            running = 0.0
            for x, y in batches:
                l, g = nnx.value_and_grad(self.loss)(self.model, x, y)
                self.opt.update(self.model, g)
                running += l.item()
            self.history["loss"].append(running / len(batches))
            acc = self.evaluate(*val)
            self.history["val_acc"].append(acc)
            if acc > self.best[0]:
                self.best = acc, jax.tree.map(jnp.copy, nnx.state(self.model, nnx.Param))
            print(f"[{epoch + 1}/{epochs}] val_acc={acc:.2f}")
        return self
    def evaluate(self, x, y):
        self.model.eval()
        hits = 0
        for xb, yb in zip(np.array_split(x, 2), np.array_split(y, 2)):
            hits += int((self.model(xb).argmax(-1) == yb).sum())
        return hits / len(y)
rng = np.random.default_rng(0)
X = rng.normal(size=(20, 3)).astype(np.float32); Y = (X[:, 0] + X[:, 1] > 0).astype(np.int32)
batches = [(X[i:i + 6], Y[i:i + 6]) for i in range(0, 12, 6)]
trainer, epochs = Trainer(Net(6, nnx.Rngs(0)), 0.1), 2
---
same = trainer.fit(batches, (X[12:], Y[12:]), epochs) is trainer
best_acc, best_state = trainer.best
w = best_state["l2"]["kernel"][...]
names = sorted(trainer.history)
drop_count = int(trainer.model.drop.rngs.count[...]) if hasattr(trainer.model.drop.rngs, "count") else None
print(same, names, len(trainer.history["loss"]), int(trainer.opt.step[...]), drop_count)
w.shape, trainer.model.drop.deterministic
---
epochs = 1; batches = batches[::-1]
---
trainer = Trainer(Net(4, nnx.Rngs(3)), 0.02); X = X * 2

### mam-linen-trainer-writes-csv-rows-and-reads-them-back needs=flax
import flax.linen as nn
import pandas as pd
class MLP(nn.Module):
    widths: tuple
    @nn.compact
    def __call__(self, x):
        for i, w in enumerate(self.widths): x = nn.tanh(nn.Dense(w, name=f"d{i}")(x))
        return nn.Dense(1)(x)[..., 0]
class CSVLogger:
    def __init__(self, path): self.path, self.rows = Path(path), 0
    def log(self, **row):
        fresh = not self.path.exists()
        with self.path.open("a", newline="") as fh:
            w = csv.DictWriter(fh, fieldnames=list(row))
            if fresh: w.writeheader()
            w.writerow(row)
        self.rows += 1
def train(model, params, data, logger, epochs, tx):
    x, y = data
    state = tx.init(params)
    def loss(p): return jnp.mean((model.apply(p, x) - y) ** 2)
    for e in range(epochs):
        l, g = jax.value_and_grad(loss)(params)
        up, state = tx.update(g, state, params)
        params = optax.apply_updates(params, up)
        norm = optax.global_norm(g)
        logger.log(epoch=e, loss=f"{l:.2f}", gnorm=f"{norm:.1f}")
    return params, l
model = MLP((5,))
x = jnp.linspace(-1, 1, 9)[:, None]; data = (x, jnp.sin(3 * x[:, 0]))
tx, epochs = optax.chain(optax.clip_by_global_norm(1.0), optax.sgd(0.1)), 3
---
logger = CSVLogger("log.csv")
params = model.init(jr.key(0), x)
params, last = train(model, params, data, logger, epochs, tx)
frame = pd.read_csv("log.csv")
means = frame.groupby("epoch")["loss"].mean()
pred = model.apply(params, x)
kernel = params["params"]["d0"]["kernel"]
print(len(frame), list(frame.columns), logger.rows, kernel.shape)
last, pred[0]
---
logger.path.unlink(); epochs = 2
---
model = MLP((4, 4)); tx = optax.adam(0.05)

### mam-vmc-walkers-class-local-energy-and-equilibration
def log_psi(p, x): return -0.5 * jnp.exp(p["log_a"]) * jnp.sum(x ** 2, -1) - p["b"] * jnp.sum(x ** 4, -1)
class VMC:
    def __init__(self, n, key, width=0.8):
        self.key, k = jr.split(key)
        self.x, self.width = jr.normal(k, (n, 1)), width
        self.accepted = self.proposed = 0
        self.energies = []
    def sweep(self, p, n):
        for _ in range(n):
            self.key, k1, k2 = jr.split(self.key, 3)
            new = self.x + self.width * jr.normal(k1, self.x.shape)
            ratio = 2 * (log_psi(p, new) - log_psi(p, self.x))
            ok = jnp.log(jr.uniform(k2, ratio.shape)) < ratio
            self.x = jnp.where(ok[:, None], new, self.x)
            self.accepted += ok.sum(); self.proposed += ok.size
    def local_energy(self, p):
        g = jax.vmap(jax.grad(lambda x: log_psi(p, x)))(self.x)
        h = jax.vmap(jax.hessian(lambda x: log_psi(p, x)))(self.x)
        kin = -0.5 * (jnp.trace(h, axis1=1, axis2=2) + jnp.sum(g ** 2, -1))
        return kin + 0.5 * jnp.sum(self.x ** 2, -1)
    def minimise(self, p, steps, lr):
        for k in range(steps):
            self.sweep(p, 3)
            e = self.local_energy(p)
            d = jax.vmap(jax.grad(log_psi), (None, 0))(p, self.x)
            g = jax.tree.map(lambda t: 2 * (jnp.mean(e * t) - e.mean() * t.mean()), d)
            p = jax.tree.map(lambda a, b: a - lr * b, p, g)
            self.energies.append(e.mean())
            print(f"{k}: E = {e.mean():.3f} +- {e.std():.3f}")
        return p
vmc = VMC(16, jr.PRNGKey(0))
params, steps, lr = {"log_a": jnp.array(0.5), "b": jnp.array(0.0)}, 3, 0.1
---
fitted = vmc.minimise(params, steps, lr)
rate = vmc.accepted / vmc.proposed
E = jnp.stack(vmc.energies)
spread = float(vmc.x.std())
print(f"{rate:.2f} {spread:.2f}", E.shape, vmc.proposed, sorted(fitted))
fitted["log_a"]
---
params["b"] = jnp.array(0.05)
---
vmc = VMC(8, jr.PRNGKey(7), width=0.3); steps = 2

### mam-tempered-smc-while-lambda-below-one-bisect-ess
def loglik(x): return -0.5 * ((x - 1.5) / 0.4) ** 2
def ess(logw):
    w = jax.nn.softmax(logw)
    return 1.0 / jnp.sum(w ** 2)
def next_delta(ll, lam, target):
    lo, hi = 0.0, 1.0 - lam
    if ess(hi * ll) >= target: return hi
    for _ in range(8):
        mid = 0.5 * (lo + hi)
        if ess(mid * ll) < target: hi = mid
        else: lo = mid
    return lo
def tempered_smc(key, particles, frac=0.5, moves=2):
    lam, lams, log_z, n = 0.0, [0.0], 0.0, len(particles)
    while lam < 1.0:
        ll = loglik(particles)
        delta = next_delta(ll, lam, frac * n)
        log_z = log_z + jax.nn.logsumexp(delta * ll) - math.log(n)
        key, kr, *ks = jr.split(key, 2 + 2 * moves)
        particles = particles[jr.categorical(kr, delta * ll, shape=(n,))]
        lam = lam + delta
        lams.append(round(lam, 3))
        for k1, k2 in zip(ks[::2], ks[1::2]):
            prop = particles + 0.5 * jr.normal(k1, (n,))
            target = lambda x: lam * loglik(x) - x ** 2 / 8
            ok = jnp.log(jr.uniform(k2, (n,))) < target(prop) - target(particles)
            particles = jnp.where(ok, prop, particles)
        if len(lams) > 12: break
    return particles, lams, log_z
n, frac = 32, 0.5
---
x0 = 2.0 * jr.normal(jr.PRNGKey(1), (n,))
particles, lams, log_z = tempered_smc(jr.PRNGKey(2), x0, frac)
stats = {"mean": particles.mean(), "std": particles.std(), "unique": len(np.unique(np.asarray(particles)))}
stages = len(lams) - 1
print(stages, f"{lams[1]:.1f}", f"{log_z:.2f}", stats["unique"] <= n)
stats["mean"]
---
frac = 0.8
---
def loglik(x): return -jnp.abs(x + 1.0) * 3

### mam-scipy-fitter-class-with-callback-and-parameter-names tolerance=1e-3
from scipy.optimize import minimize
from jax.flatten_util import ravel_pytree
class Fitter:
    def __init__(self, model, x, y, sigma):
        self.model, self.x, self.y, self.sigma = model, x, y, sigma
        self.loss_history, self.nfev = [], 0
    def chisq(self, p): return jnp.sum(((self.model(p, self.x) - self.y) / self.sigma) ** 2)
    def run(self, init, method="BFGS", maxiter=6):
        flat, unravel = ravel_pytree(init)
        vg = jax.value_and_grad(lambda v: self.chisq(unravel(v)))
        def fun(v):
            self.nfev += 1
            val, g = vg(jnp.asarray(v, jnp.float32))
            return float(val), np.asarray(g, dtype=float)
        def callback(v): self.loss_history.append(float(self.chisq(unravel(jnp.asarray(v, jnp.float32)))))
        self.result = minimize(fun, np.asarray(flat, float), jac=True, method=method, callback=callback, options={"maxiter": maxiter})
        return unravel(jnp.asarray(self.result.x, jnp.float32))
def gauss(p, x): return p["amp"] * jnp.exp(-0.5 * ((x - p["mu"]) / p["sig"]) ** 2) + p["c"]
x = jnp.linspace(-3, 3, 15)
y = gauss({"amp": 2.0, "mu": 0.4, "sig": 0.7, "c": 0.1}, x)
init = {"amp": 1.0, "mu": 0.0, "sig": 1.0, "c": 0.0}
---
fitter = Fitter(gauss, x, y, 0.5)
best = fitter.run(init)
red = fitter.chisq(best) / (len(x) - len(best))
down = all(b <= a + 1e-4 for a, b in zip(fitter.loss_history, fitter.loss_history[1:]))
names = {k: f"{v:.1f}" for k, v in best.items()}
print(names, down, len(fitter.loss_history) > 2, type(fitter.result.x).__name__)
best["mu"]
---
init["mu"] = 0.8; init["amp"] = 1.5
---
y = gauss({"amp": 1.0, "mu": -0.5, "sig": 1.2, "c": 0.0}, x); x = jnp.asarray(x)

### mam-gaussian-belief-propagation-messages-in-a-dict
obs = jnp.array([0.0, 1.2, 1.9, 3.1])
class Node:
    def __init__(self, i, eta, lam): self.i, self.eta, self.lam, self.nb = i, eta, lam, []
class Chain:
    def __init__(self, obs, prior=4.0, smooth=1.0):
        self.nodes = [Node(i, prior * o, jnp.float32(prior)) for i, o in enumerate(obs)]
        self.smooth, self.msgs, self.deltas = smooth, {}, []
        for a, b in zip(self.nodes, self.nodes[1:]):
            a.nb.append(b.i); b.nb.append(a.i)
            for e in ((a.i, b.i), (b.i, a.i)): self.msgs[e] = (jnp.float32(0), jnp.float32(0))
    def send(self, i, j):
        n = self.nodes[i]
        eta = n.eta + sum(self.msgs[k, i][0] for k in n.nb if k != j)
        lam = n.lam + sum(self.msgs[k, i][1] for k in n.nb if k != j)
        s = self.smooth
        return s * eta / (lam + s), s * lam / (lam + s)
    def run(self, tol, maxiter):
        for it in range(maxiter):
            new = {e: self.send(*e) for e in self.msgs}
            delta = max(float(jnp.abs(new[e][0] - self.msgs[e][0])) for e in new)
            self.msgs = new
            self.deltas.append(delta)
            if delta < tol:
                print(f"converged after {it + 1}")
                return True
        return False
    def beliefs(self):
        for n in self.nodes:
            eta = n.eta + sum(self.msgs[k, n.i][0] for k in n.nb)
            lam = n.lam + sum(self.msgs[k, n.i][1] for k in n.nb)
            yield eta / lam, 1 / lam
smooth = 1.0
---
chain = Chain(obs, smooth=smooth)
ok = chain.run(1e-3, 10)
means, variances = map(jnp.stack, zip(*chain.beliefs()))
A = 4.0 * np.eye(len(obs)) + smooth * (np.diag([1] + [2] * (len(obs) - 2) + [1]) - np.eye(len(obs), k=1) - np.eye(len(obs), k=-1))
exact = np.linalg.solve(A, 4.0 * np.asarray(obs))
err = np.abs(exact - means).max()
print(ok, len(chain.msgs), bool(err < 1e-2), [n.nb for n in chain.nodes][:2])
means, variances
---
smooth = 20.0
---
obs = jnp.array([1.0, -1.0, 0.5])

### mam-ista-fista-admm-compared-by-one-helper-each
rng = np.random.default_rng(0)
A = jnp.asarray(rng.normal(size=(8, 12)), jnp.float32)
x_true = np.zeros(12, np.float32); x_true[[1, 5]] = 2.0, -1.0
b = A @ x_true
L = jnp.linalg.norm(A, 2) ** 2
def soft(v, t): return jnp.sign(v) * jnp.maximum(jnp.abs(v) - t, 0)
def obj(x, lam): return 0.5 * jnp.sum((A @ x - b) ** 2) + lam * jnp.abs(x).sum()
def ista(lam, n):
    x, hist = jnp.zeros(12), []
    for _ in range(n):
        x = soft(x - A.T @ (A @ x - b) / L, lam / L)
        hist.append(obj(x, lam))
    return x, hist
def fista(lam, n):
    x = y = jnp.zeros(12); t, hist = 1.0, []
    for _ in range(n):
        x_new = soft(y - A.T @ (A @ y - b) / L, lam / L)
        t_new = (1 + math.sqrt(1 + 4 * t * t)) / 2
        y = x_new + (t - 1) / t_new * (x_new - x)
        x, t = x_new, t_new
        hist.append(obj(x, lam))
    return x, hist
def admm(lam, n, rho=1.0):
    z = u = jnp.zeros(12); hist = []
    M = jnp.linalg.inv(A.T @ A + rho * jnp.eye(12))
    for _ in range(n):
        x = M @ (A.T @ b + rho * (z - u))
        z = soft(x + u, lam / rho)
        u = u + x - z
        hist.append(obj(z, lam))
    return z, hist
methods, lam, n = {"ista": ista, "fista": fista, "admm": admm}, 0.1, 5
---
runs = {k: m(lam, n) for k, m in methods.items()}
final = {k: h[-1].item() for k, (_, h) in runs.items()}
winner = min(final, key=final.get)
xs = jnp.stack([x for x, _ in runs.values()])
support = [sorted(np.flatnonzero(np.abs(np.asarray(x)) > 0.5).tolist()) for x in xs]
for name, (x, hist) in runs.items():
    print(f"{name:>6}: {hist[0]:.2f} -> {hist[-1]:.2f}")
best_x, best_hist = runs[winner]
xs.shape, best_x
---
lam = 1.0
---
n = 3; del methods["admm"]

### mam-waveform-inversion-recovers-a-velocity-profile
nx, nt, dt = 16, 14, 0.5
def simulate(c, src):
    def body(carry, t):
        u_old, u = carry
        lap = jnp.roll(u, 1) + jnp.roll(u, -1) - 2 * u
        u_new = 2 * u - u_old + (c * dt) ** 2 * lap
        u_new = u_new.at[src].add(jnp.exp(-0.5 * (t - 3.0) ** 2))
        return (u, u_new), u_new[2]
    return lax.scan(body, (jnp.zeros(nx), jnp.zeros(nx)), jnp.arange(nt))[1]
class Inversion:
    def __init__(self, observed, src, lr):
        self.observed, self.src, self.tx = observed, src, optax.adam(lr)
        self.misfit = []
        self.grad = jax.jit(jax.value_and_grad(self.loss))
    def loss(self, c): return jnp.sum((simulate(c, self.src) - self.observed) ** 2)
    def run(self, c, iters, callback=None):
        st = self.tx.init(c)
        for it in range(iters):
            val, g = self.grad(c)
            up, st = self.tx.update(g, st)
            c = jnp.clip(optax.apply_updates(c, up), 0.5, 1.5)
            self.misfit.append(val.item())
            if callback is not None and callback(it, c, val):
                print("stopped by callback at", it)
                break
        return c
c_true = jnp.ones(nx).at[6:10].set(1.2)
observed = simulate(c_true, 8)
seen = []
def watch(it, c, val):
    seen.append((it, c.max()))
    return val < 1e-6
iters = 4
---
inv = Inversion(observed, 8, 0.02)
c = inv.run(jnp.ones(nx), iters, watch)
err0, err = (jnp.linalg.norm(v - c_true) for v in (jnp.ones(nx), c))
ratio = inv.misfit[-1] / inv.misfit[0]
peak = int(jnp.argmax(jnp.abs(inv.grad(c)[1])))
print(len(inv.misfit), ratio < 1, len(seen), f"{ratio:.2f}")
c[4:12], seen[-1][1]
---
iters = 2; seen.clear()
---
observed = observed * 1.1; watch = lambda it, c, val: it == 1

### mam-evolution-ask-tell-strategy-with-population-arrays
class CMA:
    def __init__(self, mean, sigma, popsize, seed):
        self.mean, self.sigma, self.pop, self.key = mean, sigma, popsize, jr.PRNGKey(seed)
        self.C = jnp.eye(len(mean))
        mu = popsize // 2
        w = np.log(mu + 0.5) - np.log(np.arange(1, mu + 1))
        self.w = w / w.sum()
        self.generation, self.best = 0, (math.inf, None)
    def ask(self):
        self.key, k = jr.split(self.key)
        L = jnp.linalg.cholesky(self.C + 1e-6 * jnp.eye(len(self.mean)))
        return self.mean + self.sigma * jr.normal(k, (self.pop, len(self.mean))) @ L.T
    def tell(self, x, f):
        order = jnp.argsort(f)
        elite = x[order[: len(self.w)]]
        if f[order[0]] < self.best[0]: self.best = (float(f[order[0]]), elite[0])
        y = (elite - self.mean) / self.sigma
        self.mean = jnp.asarray(self.w, jnp.float32) @ elite
        self.C = 0.8 * self.C + 0.2 * jnp.einsum("i,ij,ik->jk", self.w, y, y)
        self.sigma = self.sigma * (1.1 if self.generation % 2 else 0.9)
        self.generation += 1
def rosenbrock(x): return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
def optimise(es, f, gens, log):
    for g in range(gens):
        pop = es.ask()
        fit = jax.vmap(f)(pop)
        es.tell(pop, fit)
        log.append({"gen": es.generation, "best": es.best[0], "mean": fit.mean()})
    return es.best
es, gens, log = CMA(jnp.zeros(3), 0.5, 8, 0), 4, []
---
fbest, xbest = optimise(es, rosenbrock, gens, log)
eig = jnp.linalg.eigvalsh(es.C)
trend = [row["best"] for row in log]
mono = all(b <= a for a, b in zip(trend, trend[1:]))
same = log[-1]["best"] == fbest
print(es.generation, mono, same, f"{es.sigma:.3f}", es.w.dtype)
xbest, eig
---
log.clear(); es.sigma = 0.2
---
def rosenbrock(x): return jnp.sum(x ** 2) + 1.0
es = CMA(jnp.ones(2), 0.3, 6, 5)

### mam-genetic-tournament-with-python-random-and-genomes
class GA:
    def __init__(self, n, length, rnd):
        self.rnd = rnd
        self.pop = [tuple(rnd.randint(0, 1) for _ in range(length)) for _ in range(n)]
        self.hall = []
    def fitness(self): return np.asarray(jnp.array(self.pop) @ weights - penalty * (jnp.array(self.pop) @ sizes > cap))
    def pick(self, fit, k=2): return self.pop[max(self.rnd.sample(range(len(self.pop)), k), key=lambda i: fit[i])]
    def breed(self, a, b):
        cut = self.rnd.randrange(1, len(a))
        child = list(a[:cut] + b[cut:])
        for i in range(len(child)):
            if self.rnd.random() < 0.1: child[i] ^= 1
        return tuple(child)
    def evolve(self, gens):
        for g in range(gens):
            fit = self.fitness()
            top = int(fit.argmax())
            self.hall.append((fit[top].item(), self.pop[top]))
            self.pop = [self.pop[top]] + [self.breed(self.pick(fit), self.pick(fit)) for _ in self.pop[1:]]
            if g and self.hall[-1][0] == self.hall[-2][0]: print("no change in", g)
        return max(self.hall)
weights, sizes = jnp.array([3.0, 1.0, 4.0, 1.5, 2.0]), jnp.array([2, 1, 3, 1, 2])
cap, penalty, gens = 5, 10.0, 4
---
ga = GA(6, 5, random.Random(0))
score, genome = ga.evolve(gens)
chosen = [i for i, bit in enumerate(genome) if bit]
load = jnp.array(genome) @ sizes
diversity = len(set(ga.pop))
arr = np.array(ga.pop, dtype=np.int8)
print(score, chosen, int(load) <= cap, arr.shape, diversity <= 6)
load, weights[jnp.array(chosen)].sum()
---
cap = 4
---
weights = weights[::-1]; penalty = 0.0; gens = 2

### mam-gibbs-sampler-two-blocks-with-trace-of-numpy-rows
class Gibbs:
    def __init__(self, y, x, key):
        self.y, self.x, self.key = y, x, key
        self.state = {"beta": jnp.zeros(x.shape[1]), "tau": jnp.array(1.0)}
        self.trace = {"beta": np.empty((0, x.shape[1]), np.float32), "tau": []}
    def next(self):
        self.key, k = jr.split(self.key)
        return k
    def draw_beta(self):
        P = self.state["tau"] * self.x.T @ self.x + 0.1 * jnp.eye(self.x.shape[1])
        m = jnp.linalg.solve(P, self.state["tau"] * self.x.T @ self.y)
        L = jnp.linalg.cholesky(P)
        return m + jax.scipy.linalg.solve_triangular(L.T, jr.normal(self.next(), m.shape))
    def draw_tau(self):
        r = self.y - self.x @ self.state["beta"]
        return jr.gamma(self.next(), 2 + len(r) / 2) / (1 + 0.5 * r @ r)
    def run(self, n, burn=1, thin=1):
        for i in range(n):
            for name in ("beta", "tau"):
                self.state[name] = getattr(self, f"draw_{name}")()
            if i >= burn and (i - burn) % thin == 0:
                self.trace["beta"] = np.vstack([self.trace["beta"], np.asarray(self.state["beta"])])
                self.trace["tau"].append(float(self.state["tau"]))
        return self.trace
rng = np.random.default_rng(0)
x = jnp.asarray(rng.normal(size=(15, 2)), jnp.float32)
y = x @ jnp.array([1.0, -2.0]) + 0.3 * jnp.asarray(rng.normal(size=15), jnp.float32)
n, thin = 6, 1
---
g = Gibbs(y, x, jr.PRNGKey(4))
trace = g.run(n, thin=thin)
post = trace["beta"].mean(0)
sd = np.mean([t ** -0.5 for t in trace["tau"]])
alias = trace is g.trace
state = dict(g.state)
pred = x[:3] @ jnp.asarray(post)
print(trace["beta"].shape, len(trace["tau"]), alias, f"{sd:.1f}", post.dtype)
pred, state["tau"]
---
thin = 2
---
x = jnp.hstack([x, jnp.ones((15, 1))]); n = 4

### mam-em-mixture-fit-breaks-on-small-gain-and-keeps-history
class GMM:
    def __init__(self, k, max_iter=8, tol=1e-2, seed=0):
        self.k, self.max_iter, self.tol, self.seed = k, max_iter, tol, seed
    def _estep(self, x):
        d = x[:, None] - self.means_
        lp = -0.5 * (d ** 2 / self.vars_ + jnp.log(2 * jnp.pi * self.vars_)).sum(-1) + jnp.log(self.weights_)
        ll = jax.nn.logsumexp(lp, axis=1)
        return jnp.exp(lp - ll[:, None]), ll.mean()
    def fit(self, x):
        self.means_ = x[jr.choice(jr.key(self.seed), len(x), (self.k,), replace=False)]
        self.vars_ = jnp.ones((self.k, x.shape[1]))
        self.weights_ = jnp.full(self.k, 1 / self.k)
        self.history_, prev = [], -jnp.inf
        for self.n_iter_ in range(1, self.max_iter + 1):
            r, ll = self._estep(x)
            n = r.sum(0)
            self.means_ = r.T @ x / n[:, None]
            self.vars_ = r.T @ (x ** 2) / n[:, None] - self.means_ ** 2 + 1e-3
            self.weights_ = n / len(x)
            self.history_.append(float(ll))
            if abs(ll - prev) < self.tol:
                self.converged_ = True
                break
            prev = ll
        else:
            self.converged_ = False
        return self
    def predict(self, x): return self._estep(x)[0].argmax(1)
rng = np.random.default_rng(1)
x = jnp.asarray(np.vstack([rng.normal(-2, 0.5, (12, 2)), rng.normal(2, 0.5, (12, 2))]), jnp.float32)
ks = [1, 2]
---
models = {k: GMM(k).fit(x) for k in ks}
bic = {k: -2 * len(x) * m.history_[-1] + (k * 5 - 1) * math.log(len(x)) for k, m in models.items()}
best_k = min(bic, key=bic.get)
labels = models[best_k].predict(x)
sizes = np.bincount(labels, minlength=best_k)
centres = jnp.sort(models[best_k].means_[:, 0])
print(best_k, sorted(sizes.tolist()), {k: m.converged_ for k, m in models.items()}, models[ks[0]].n_iter_)
centres, models[best_k].weights_.sum()
---
ks = [2, 3]
---
x = x[:12]; ks = [1]

### mam-kalman-likelihood-fitted-in-a-function-with-lists
def kalman(theta, ys):
    q, r = jnp.exp(theta["q"]), jnp.exp(theta["r"])
    m, v, ll, means, vs = 0.0, 1.0, 0.0, [], []
    for y in ys:
        v = v + q
        s = v + r
        k = v / s
        ll += -0.5 * (jnp.log(2 * jnp.pi * s) + (y - m) ** 2 / s)
        m, v = m + k * (y - m), (1 - k) * v
        means.append(m); vs.append(v)
    return ll, (jnp.stack(means), jnp.stack(vs))
def fit(theta, ys, steps, lr, report=2):
    path = [theta]
    for i in range(steps):
        (ll, _), g = jax.value_and_grad(kalman, has_aux=True)(theta, ys)
        theta = {k: theta[k] + lr * g[k] / len(ys) for k in theta}
        path.append(theta)
        if i % report == 0: print(f"iter {i}: loglik {ll:.2f}")
    return theta, path
rng = np.random.default_rng(2)
ys = np.cumsum(rng.normal(size=10)) + 0.5 * rng.normal(size=10)
ys = [float(v) for v in ys.astype(np.float32)]
theta, steps = {"q": jnp.array(0.0), "r": jnp.array(0.0)}, 3
---
fitted, path = fit(theta, ys, steps, 0.5)
ll, (means, vs) = kalman(fitted, ys)
innov = np.asarray(ys[1:]) - np.asarray(means[:-1])
band = [(float(m - 2 * v ** 0.5), float(m + 2 * v ** 0.5)) for m, v in zip(means, vs)]
inside = sum(lo < y < hi for (lo, hi), y in zip(band, ys))
print(path[0] is theta, len(path), inside, innov.dtype, type(ll).__name__)
ll, fitted["r"]
---
ys[3] = 8.0
---
theta["r"] = jnp.array(-1.0); ys = ys[:6]; steps = 2

### mam-bootstrap-particle-filter-resamples-when-ess-drops
def systematic(key, w):
    n = len(w)
    u = (jnp.arange(n) + jr.uniform(key)) / n
    return jnp.searchsorted(jnp.cumsum(w), u).clip(0, n - 1)
def bootstrap(key, ys, n, thresh):
    key, k = jr.split(key)
    x, logw, out = jr.normal(k, (n,)), jnp.full(n, -math.log(n)), defaultdict(list)
    for t, y in enumerate(ys):
        key, k1, k2 = jr.split(key, 3)
        x = 0.9 * x + 0.5 * jr.normal(k1, (n,))
        logw = logw - 0.5 * (y - x) ** 2 / 0.25
        out["evidence"].append(jax.nn.logsumexp(logw))
        w = jax.nn.softmax(logw)
        n_eff = (1 / jnp.sum(w ** 2)).item()
        out["ess"].append(n_eff)
        out["mean"].append(jnp.sum(w * x))
        if n_eff < thresh * n:
            idx = systematic(k2, w)
            x, logw = x[idx], jnp.full(n, -math.log(n))
            out["resampled"].append(t)
        else:
            logw = jnp.log(w)
    return x, w, dict(out)
ys = np.array([0.2, 0.5, 1.1, -0.3, 0.4], np.float32)
n, thresh = 24, 0.5
---
x, w, out = bootstrap(jr.PRNGKey(3), ys, n, thresh)
loglik = sum(out["evidence"])
track = jnp.stack(out["mean"])
rmse = jnp.sqrt(jnp.mean((track - ys) ** 2))
resampled = out.get("resampled", [])
print(len(resampled) <= len(ys), f"{loglik:.2f}", sorted(out)[:3], min(out["ess"]) > 1)
track, rmse
---
thresh = 0.0
---
ys = ys[:3] * 2; thresh = 1.1

### mam-jacobi-eigen-sweeps-while-offdiagonal-large
def off(A): return jnp.sqrt(jnp.sum(A ** 2) - jnp.sum(jnp.diag(A) ** 2))
def jacobi(A, tol=1e-3, max_sweeps=6):
    n, V, sweeps, log = len(A), jnp.eye(len(A)), 0, []
    while off(A) > tol and sweeps < max_sweeps:
        for p, q in itertools.combinations(range(n), 2):
            apq = A[p, q].item()
            if abs(apq) < 1e-6: continue
            th = 0.5 * math.atan2(2 * apq, float(A[q, q] - A[p, p]))
            J = np.eye(n, dtype=np.float32)
            J[[p, q], [p, q]] = math.cos(th)
            J[p, q], J[q, p] = math.sin(th), -math.sin(th)
            A, V = J.T @ A @ J, V @ J
        sweeps += 1
        log.append(off(A).item())
        print(f"sweep {sweeps}: {'small' if log[-1] < 1e-2 else 'large'}")
    return jnp.diag(A), V, log
A = jnp.array([[2.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 1.0]])
tol = 1e-2
---
vals, V, log = jacobi(A, tol)
order = jnp.argsort(vals)
ref = jnp.linalg.eigvalsh(A)
err = jnp.abs(vals[order] - ref).max()
orth = jnp.abs(V.T @ V - jnp.eye(len(A))).max()
cond = float(vals.max() / vals.min())
print(len(log), bool(err < 1e-2), bool(orth < 1e-4), f"{cond:.1f}")
vals[order]
---
A = A.at[0, 1].set(0).at[1, 0].set(0)
---
A = jnp.array([[1.0, 0.9], [0.9, 1.0]]); tol = 1e-1

### mam-preconditioned-cg-with-restarts-and-python-residuals
class CG:
    def __init__(self, matvec, precond=None, tol=1e-2, maxiter=10):
        self.matvec, self.precond, self.tol, self.maxiter = matvec, precond or (lambda r: r), tol, maxiter
        self.stats = collections.Counter()
    def __call__(self, b, x0=None):
        x = jnp.zeros_like(b) if x0 is None else x0
        r = b - self.matvec(x); z = self.precond(r); p = z
        rz = r @ z
        self.residuals = [float(jnp.linalg.norm(r))]
        for _ in range(self.maxiter):
            Ap = self.matvec(p); self.stats["matvec"] += 1
            alpha = rz / (p @ Ap)
            x = x + alpha * p
            r = r - alpha * Ap
            self.residuals.append(float(jnp.linalg.norm(r)))
            if self.residuals[-1] < self.tol * self.residuals[0]:
                self.stats["converged"] += 1
                return x
            z = self.precond(r)
            rz, old = r @ z, rz
            p = z + rz / old * p
        self.stats["failed"] += 1
        return x
n = 6
d = jnp.arange(1.0, n + 1) ** 2
def matvec(v): return d * v + 0.3 * (jnp.roll(v, 1) + jnp.roll(v, -1))
b = jnp.ones(n)
---
plain, jac = CG(matvec), CG(matvec, lambda r: r / d)
x1 = plain(b)
x2 = jac(b, x0=x1)
solvers = [plain, jac]
resid = jnp.linalg.norm(matvec(x2) - b)
short = [len(s.residuals) for s in solvers]
print(dict(plain.stats), dict(jac.stats)["matvec"] > 0, bool(resid < 0.1))
x1, jac.residuals[0] < 1
---
b = jnp.linspace(-1, 1, n)
---
def matvec(v): return 2.0 * v

### mam-update-rules-table-trained-by-a-generic-function
def sgd(lr): return (lambda p: ()), (lambda g, s, p: (p - lr * g, s))
def momentum(lr, mu=0.9):
    def upd(g, s, p):
        v = mu * s["v"] - lr * g
        return p + v, {"v": v}
    return (lambda p: {"v": jnp.zeros_like(p)}), upd
def adagrad(lr):
    def upd(g, s, p):
        acc = s + g ** 2
        return p - lr * g / (jnp.sqrt(acc) + 1e-8), acc
    return (lambda p: jnp.full_like(p, 0.1)), upd
def adam(lr, b1=0.9, b2=0.99):
    def upd(g, s, p):
        m, v, t = s
        t += 1
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        return p - lr * (m / (1 - b1 ** t)) / (jnp.sqrt(v / (1 - b2 ** t)) + 1e-8), (m, v, t)
    return (lambda p: (jnp.zeros_like(p), jnp.zeros_like(p), 0)), upd
def beale(p):
    x, y = p
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y ** 2) ** 2
def optimise(f, p, rule, steps, every=2):
    init, update = rule
    s, path = init(p), [np.asarray(p)]
    for k in range(steps):
        p, s = update(jax.grad(f)(p), s, p)
        if (k + 1) % every == 0: path.append(np.asarray(p))
    return p, s, np.stack(path)
rules = {"sgd": sgd(0.01), "mom": momentum(0.005), "ada": adagrad(0.3), "adam": adam(0.1)}
start, steps = jnp.array([1.0, 1.0]), 4
---
out = {}
for name, rule in rules.items():
    p, s, path = optimise(beale, start, rule, steps)
    out[name] = {"p": p, "f": beale(p).item(), "path": path, "state": s}
    print(f"{name:<5}{out[name]['f']:.3f}", path.shape)
best = min(out, key=lambda k: out[k]["f"])
lengths = {k: float(np.abs(np.diff(v["path"], axis=0)).sum()) for k, v in out.items()}
t = out["adam"]["state"][-1]
t, out[best]["p"]
---
start = jnp.array([2.0, 0.3])
---
def beale(p): return jnp.sum((p - 3.0) ** 2)

### mam-hand-transformer-generate-appends-to-key-value-lists
V, D, H = 9, 8, 2
def init(key):
    k = jr.split(key, 6)
    n = lambda i, *s: jr.normal(k[i], s) / math.sqrt(s[0])
    return {"emb": n(0, V, D), "pos": 0.1 * n(1, 12, D), "qkv": n(2, D, 3 * D), "o": n(3, D, D), "ff": [n(4, D, 16), n(5, 16, D)]}
class Decoder:
    def __init__(self, p): self.p, self.k, self.v, self.seen = p, [], [], 0
    def step(self, tok):
        x = self.p["emb"][tok] + self.p["pos"][self.seen]
        q, k, v = (a.reshape(H, -1) for a in jnp.split(x @ self.p["qkv"], 3))
        self.k.append(k); self.v.append(v)
        K, Vv = jnp.stack(self.k), jnp.stack(self.v)
        a = jax.nn.softmax(jnp.einsum("hd,thd->ht", q, K) / math.sqrt(D // H))
        x = x + jnp.einsum("ht,thd->hd", a, Vv).reshape(-1) @ self.p["o"]
        x = x + jax.nn.gelu(x @ self.p["ff"][0]) @ self.p["ff"][1]
        self.seen += 1
        return x @ self.p["emb"].T, a
    def generate(self, prompt, n, key, temp=1.0, stop=None):
        for t in prompt: logits, a = self.step(t)
        out, entropies = list(prompt), []
        for _ in range(n):
            key, sub = jr.split(key)
            lp = jax.nn.log_softmax(logits / temp)
            entropies.append(float(-(jnp.exp(lp) * lp).sum()))
            tok = int(jr.categorical(sub, lp)) if temp > 0.2 else logits.argmax().item()
            out.append(tok)
            if tok == stop: break
            logits, a = self.step(tok)
        return out, entropies, a
params, temp, stop = init(jr.PRNGKey(0)), 1.0, None
---
dec = Decoder(params)
out, ent, attn = dec.generate([1, 2], 4, jr.PRNGKey(5), temp, stop)
text = "".join(chr(97 + t) for t in out)
cache = jnp.stack(dec.k), jnp.stack(dec.v)
first = dec.k[0] is dec.k[0], dec.seen == len(dec.k)
print(text, first, [f"{e:.1f}" for e in ent][:2])
attn.sum(-1), cache[0].shape
---
temp = 0.1
---
params["emb"] = params["emb"] * 0.5; stop = out[3]

### mam-actor-critic-haiku-one-step-td-agent-in-a-corridor needs=haiku
import haiku as hk
class Corridor:
    def __init__(self, n): self.n = n
    def reset(self): self.s, self.t = 0, 0; return self.obs()
    def obs(self): return jnp.array([self.s / self.n, 1.0])
    def step(self, a):
        self.s = max(0, self.s + (1 if a == 1 else -1)); self.t += 1
        done = self.s == self.n
        return self.obs(), 1.0 if done else -0.1, done or self.t >= 5
net = hk.without_apply_rng(hk.transform(lambda o: (hk.Linear(2, name="pi")(o), hk.Linear(1, name="v")(o)[..., 0])))
class Agent:
    def __init__(self, seed, lr):
        self.rng = hk.PRNGSequence(seed)
        self.params = net.init(next(self.rng), jnp.zeros(2))
        self.tx = optax.rmsprop(lr); self.opt = self.tx.init(self.params)
        self.td = []
    def act(self, o): return int(jr.categorical(next(self.rng), net.apply(self.params, o)[0]))
    def learn(self, o, a, r, o2, done, gamma=0.9):
        target = r + (0.0 if done else gamma * net.apply(self.params, o2)[1])
        def loss(p):
            logits, v = net.apply(p, o)
            adv = lax.stop_gradient(target - v)
            return -adv * jax.nn.log_softmax(logits)[a] + 0.5 * (target - v) ** 2, adv
        g, adv = jax.grad(loss, has_aux=True)(self.params)
        up, self.opt = self.tx.update(g, self.opt)
        self.params = optax.apply_updates(self.params, up)
        self.td.append(adv.item())
def run(env, agent, episodes):
    returns = []
    for ep in range(episodes):
        o, done, ret = env.reset(), False, 0.0
        while not done:
            a = agent.act(o)
            o2, r, done = env.step(a)
            agent.learn(o, a, r, o2, done)
            o, ret = o2, ret + r
        returns.append(round(ret, 2))
        print(f"episode {ep}: return {ret:.1f} after {env.t}")
    return returns
env, agent, episodes = Corridor(2), Agent(0, 0.05), 2
---
returns = run(env, agent, episodes)
probs = jax.nn.softmax(net.apply(agent.params, env.obs())[0])
shapes = {m: sorted(v) for m, v in agent.params.items()}
mean_td = np.mean(agent.td)
print(shapes, len(agent.td) >= episodes, len(returns))
probs, agent.params["v"]["b"]
---
agent = Agent(3, 0.2)
---
env = Corridor(1); episodes = 3

### mam-linucb-contextual-bandit-with-per-arm-objects
class Arm:
    __slots__ = ("A", "b", "pulls")
    def __init__(self, d): self.A, self.b, self.pulls = jnp.eye(d), jnp.zeros(d), 0
    def ucb(self, x, alpha):
        Ainv = jnp.linalg.inv(self.A)
        return x @ Ainv @ self.b + alpha * jnp.sqrt(x @ Ainv @ x)
    def update(self, x, r):
        self.A = self.A + jnp.outer(x, x); self.b = self.b + r * x; self.pulls += 1
class LinUCB:
    def __init__(self, k, d, alpha): self.arms, self.alpha, self.log = [Arm(d) for _ in range(k)], alpha, []
    def play(self, contexts, truth, noise):
        regret = 0.0
        for t, (x, e) in enumerate(zip(contexts, noise)):
            scores = jnp.stack([a.ucb(x, self.alpha) for a in self.arms])
            k = int(scores.argmax())
            means = truth @ x
            self.arms[k].update(x, means[k] + 0.1 * e)
            regret += float(means.max() - means[k])
            self.log.append((t, k, regret))
        return regret
rng = np.random.default_rng(0)
contexts = jnp.asarray(rng.normal(size=(7, 3)), jnp.float32)
truth = jnp.asarray(rng.normal(size=(2, 3)), jnp.float32)
noise = rng.normal(size=7).tolist()
alpha = 1.0
---
bandit = LinUCB(len(truth), contexts.shape[1], alpha)
total = bandit.play(contexts, truth, noise)
theta = jnp.stack([jnp.linalg.solve(a.A, a.b) for a in bandit.arms])
pulls = {i: a.pulls for i, a in enumerate(bandit.arms)}
cum = np.array([r for *_, r in bandit.log])
arms = bandit.arms
print(pulls, f"{total:.2f}", bool((np.diff(cum) >= 0).all()))
theta
---
alpha = 0.1
---
truth = jnp.vstack([truth, jnp.ones(3)]); noise = noise[:5]

### mam-gan-haiku-state-namedtuples-trained-in-one-function needs=haiku
import haiku as hk
gen = hk.without_apply_rng(hk.transform(lambda z: hk.nets.MLP([6, 1])(z)))
disc = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([6, 1], activation=jax.nn.leaky_relu)(x)[..., 0]))
class GANState(NamedTuple):
    params: Any
    opt: Any
    step: int = 0
tx = optax.adam(5e-2, b1=0.5)
def bce(logits, label): return optax.sigmoid_binary_cross_entropy(logits, jnp.full_like(logits, label)).mean()
def apply_grads(state, g):
    up, opt = tx.update(g, state.opt)
    return state._replace(params=optax.apply_updates(state.params, up), opt=opt, step=state.step + 1)
def train(real, steps, n_critic, key, verbose=True):
    G = GANState(p := gen.init(jr.fold_in(key, 0), jnp.zeros((1, 2))), tx.init(p))
    D = GANState(p := disc.init(jr.fold_in(key, 1), jnp.zeros((1, 1))), tx.init(p))
    hist = {"d": [], "g": []}
    for i in range(steps):
        z = jr.normal(jr.fold_in(key, 10 + i), (len(real), 2))
        for _ in range(n_critic):
            fake = gen.apply(G.params, z)
            ld, g = jax.value_and_grad(lambda p: bce(disc.apply(p, real), 1.0) + bce(disc.apply(p, fake), 0.0))(D.params)
            D = apply_grads(D, g)
            hist["d"].append(ld.item())
        lg, g = jax.value_and_grad(lambda p: bce(disc.apply(D.params, gen.apply(p, z)), 1.0))(G.params)
        G = apply_grads(G, g)
        hist["g"].append(lg.item())
        if verbose: print(f"step {i} d {ld:.2f} g {lg:.2f}")
    return G, D, hist
real = 3 + 0.5 * jr.normal(jr.PRNGKey(9), (10, 1))
steps, n_critic = 2, 1
---
G, D, hist = train(real, steps, n_critic, jr.PRNGKey(0))
fake = gen.apply(G.params, jr.normal(jr.PRNGKey(1), (5, 2)))
gap = float(jnp.abs(fake.mean() - real.mean()))
counts = G.step, D.step, len(hist["d"])
n_params = hk.data_structures.tree_size(G.params)
print(counts, n_params, sorted(G.params), D._fields)
fake[:2]
---
n_critic = 2
---
real = real - 5; steps = 1

### mam-toy-diffusion-train-then-sample-trajectories needs=equinox
import equinox as eqx
T = 6
betas = jnp.linspace(0.05, 0.5, T); alphas = 1 - betas; abar = jnp.cumprod(alphas)
class Eps(eqx.Module):
    net: eqx.nn.MLP
    table: jax.Array
    def __init__(self, key):
        k1, k2 = jr.split(key)
        self.net, self.table = eqx.nn.MLP(4, 2, 8, 1, activation=jax.nn.silu, key=k1), 0.5 * jr.normal(k2, (T, 2))
    def __call__(self, x, t): return self.net(jnp.concatenate([x, self.table[t]]))
def loss_fn(model, x0, key):
    kt, ke = jr.split(key)
    t, eps = jr.randint(kt, (len(x0),), 0, T), jr.normal(ke, x0.shape)
    xt = jnp.sqrt(abar[t])[:, None] * x0 + jnp.sqrt(1 - abar[t])[:, None] * eps
    return jnp.mean((jax.vmap(model)(xt, t) - eps) ** 2)
value_and_grad = eqx.filter_jit(eqx.filter_value_and_grad(loss_fn))
def train(model, x0, key, steps, tx):
    state, ema, losses = tx.init(eqx.filter(model, eqx.is_inexact_array)), model, []
    for k in jr.split(key, steps):
        l, g = value_and_grad(model, x0, k)
        up, state = tx.update(g, state)
        model = eqx.apply_updates(model, up)
        ema = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b if eqx.is_inexact_array(a) else a, ema, model)
        losses.append(l)
    return model, ema, losses
def sample(model, key, n):
    x, frames = jr.normal(key, (n, 2)), []
    for t in reversed(range(T)):
        eps = jax.vmap(model, (0, None))(x, t)
        x = (x - betas[t] / jnp.sqrt(1 - abar[t]) * eps) / jnp.sqrt(alphas[t])
        if t > 0: x = x + jnp.sqrt(betas[t]) * jr.normal(jr.fold_in(key, t), x.shape)
        frames.append(x)
    return x, frames
th = jnp.linspace(0, 6.28, 12); x0 = jnp.stack([jnp.cos(th), jnp.sin(th)], 1)
steps = 3
---
model, ema, losses = train(Eps(jr.key(0)), x0, jr.key(1), steps, optax.adam(1e-2))
x, frames = sample(ema, jr.key(2), 4)
radius = jnp.linalg.norm(x, axis=1)
curve = np.asarray(jnp.stack(losses))
same = frames[-1] is x
print(same, len(frames), curve.shape, model.table.shape, bool(jnp.isfinite(x).all()))
radius, losses[-1]
---
steps = 5
---
x0 = x0 * 0.3 + 1

### mam-vae-nnx-elbo-rows-collected-in-a-frame needs=flax
from flax import nnx
import pandas as pd
class VAE(nnx.Module):
    def __init__(self, d, z, rngs):
        self.enc, self.dec = nnx.Linear(d, 2 * z, rngs=rngs), nnx.Linear(z, d, rngs=rngs)
        self.rngs = rngs
    def __call__(self, x):
        mu, lv = jnp.split(self.enc(x), 2, -1)
        z = mu + jnp.exp(0.5 * lv) * jr.normal(self.rngs.noise(), mu.shape)
        return self.dec(z), mu, lv
def elbo_parts(m, x):
    logits, mu, lv = m(x)
    rec = optax.sigmoid_binary_cross_entropy(logits, x).sum(-1).mean()
    kl = 0.5 * (jnp.exp(lv) + mu ** 2 - 1 - lv).sum(-1).mean()
    return rec, kl
def train(model, x, epochs, beta_of):
    opt, rows = nnx.Optimizer(model, optax.adam(5e-2), wrt=nnx.Param), []
    for e in range(epochs):
        beta = beta_of(e)
        def loss(m):
            rec, kl = elbo_parts(m, x)
            return rec + beta * kl, (rec, kl)
        (l, (rec, kl)), g = nnx.value_and_grad(loss, has_aux=True)(model)
        opt.update(model, g)
        rows.append({"epoch": e, "beta": beta, "rec": float(rec), "kl": float(kl)})
    return pd.DataFrame(rows).set_index("epoch"), opt
x = jnp.asarray(np.random.default_rng(0).random((8, 5)) > 0.5, jnp.float32)
epochs = 3
def warmup(e): return min(1.0, (e + 1) / 2)
---
vae = VAE(5, 2, nnx.Rngs(0, noise=1))
df, opt = train(vae, x, epochs, warmup)
df["elbo"] = -(df.rec + df.kl)
best = int(df.elbo.idxmax())
tail = df.iloc[-1].to_dict()
recon, mu, _ = vae(x[:2])
used = int(vae.rngs.noise.count[...])
print(df.shape, list(df.columns), used, tail["beta"], best in df.index)
mu.shape, jax.nn.sigmoid(recon)
---
def warmup(e): return 0.0
---
x = jnp.tile(x, (2, 1)); epochs = 2

### mam-learned-optimizer-unrolled-through-inner-steps
def opt_apply(theta, g, m):
    feats = jnp.stack([g, m, jnp.sign(g)], -1)
    return jnp.tanh(feats @ theta["w1"]) @ theta["w2"]
def inner(theta, x, A, steps):
    m, losses = jnp.zeros_like(x), []
    for _ in range(steps):
        l, g = jax.value_and_grad(lambda x: 0.5 * x @ A @ x)(x)
        m = 0.8 * m + 0.2 * g
        x = x - 0.1 * opt_apply(theta, g, m)
        losses.append(l)
    return jnp.stack(losses).mean(), x
def meta_train(theta, tasks, outer, inner_steps, lr):
    tx = optax.adam(lr); st = tx.init(theta); curve = []
    for it in range(outer):
        total = jax.tree.map(jnp.zeros_like, theta)
        loss = 0.0
        for A, x0 in tasks:
            (l, _), g = jax.value_and_grad(inner, has_aux=True)(theta, x0, A, inner_steps)
            total = jax.tree.map(operator.add, total, g)
            loss += float(l)
        up, st = tx.update(total, st)
        theta = optax.apply_updates(theta, up)
        curve.append(loss / len(tasks))
        print(f"meta {it}: {curve[-1]:.2f}")
    return theta, curve
theta = {"w1": 0.5 * jr.normal(jr.PRNGKey(0), (3, 4)), "w2": 0.5 * jr.normal(jr.PRNGKey(1), (4,))}
tasks = [(jnp.diag(jnp.array([1.0, c])), jnp.array([1.0, -1.0])) for c in (2.0, 4.0)]
inner_steps = 3
---
learned, curve = meta_train(theta, tasks, 2, inner_steps, 0.05)
after, x_end = inner(learned, tasks[0][1], tasks[0][0], inner_steps)
before, _ = inner(theta, tasks[0][1], tasks[0][0], inner_steps)
delta = jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()), learned, theta)
keys = sorted(delta)
print(keys, len(curve), theta is not learned, bool(after != before))
x_end, before
---
inner_steps = 2
---
tasks = tasks[:1]; theta["w2"] = jnp.zeros(4)

### mam-inverse-pinn-learns-diffusivity-with-resampled-points
def net(p, x, t):
    h = jnp.stack([x, t])
    for w, b in p[:-1]: h = jnp.tanh(w @ h + b)
    w, b = p[-1]
    return (w @ h + b)[0]
def residual(params, x, t):
    u = partial(net, params["net"])
    ut = jax.grad(u, 1)(x, t)
    uxx = jax.grad(jax.grad(u, 0), 0)(x, t)
    return ut - jnp.exp(params["log_k"]) * uxx
@jax.jit
def pinn_grads(p, c, data):
    xs, ts, us = data
    def loss(p):
        d = jnp.mean((jax.vmap(partial(net, p["net"]))(xs, ts) - us) ** 2)
        r = jnp.mean(jax.vmap(partial(residual, p))(c[0], c[1]) ** 2)
        return d + 0.1 * r, (d, r)
    return jax.value_and_grad(loss, has_aux=True)(p)
class InversePINN:
    def __init__(self, key, widths, lr):
        ks = jr.split(key, len(widths) - 1)
        layers = [(jr.normal(k, (o, i)) / math.sqrt(i), jnp.zeros(o)) for k, i, o in zip(ks, widths, widths[1:])]
        self.params = {"net": layers, "log_k": jnp.array(-1.0)}
        self.tx = optax.adam(lr); self.state = self.tx.init(self.params)
        self.log = {"data": [], "pde": [], "k": []}
    def fit(self, data, iters, seed, n_col=6):
        rng = np.random.default_rng(seed)
        for _ in range(iters):
            (_, (d, r)), g = pinn_grads(self.params, rng.random((2, n_col)).astype(np.float32), data)
            up, self.state = self.tx.update(g, self.state)
            self.params = optax.apply_updates(self.params, up)
            for k, v in zip(self.log, (d, r, jnp.exp(self.params["log_k"]))): self.log[k].append(v.item())
        return self.log["k"][-1]
xs, ts = (jnp.asarray(a.ravel(), jnp.float32) for a in np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 1, 3)))
data = (xs, ts, jnp.exp(-0.3 * ts * jnp.pi ** 2) * jnp.sin(jnp.pi * xs))
iters, seed = 3, 0
---
pinn = InversePINN(jr.PRNGKey(0), [2, 6, 1], 1e-2)
k = pinn.fit(data, iters, seed)
u = jax.vmap(partial(net, pinn.params["net"]))(xs, ts)
err = float(jnp.sqrt(jnp.mean((u - data[2]) ** 2)))
count = sum(w.size + b.size for w, b in pinn.params["net"])
print(count, [len(v) for v in pinn.log.values()], 0.3 < k < 0.45, f"{err:.1f}")
pinn.params["log_k"], residual(pinn.params, 0.5, 0.5)
---
seed = 4; iters = 4
---
data = (xs, ts, data[2] * 0.5)

### mam-bayesian-optimisation-loop-with-gp-refit-each-round
class GP:
    def __init__(self, ls=0.3, noise=1e-2): self.ls, self.noise, self.X, self.y = ls, noise, [], []
    def k(self, a, b): return jnp.exp(-0.5 * ((a[:, None] - b[None]) / self.ls) ** 2)
    def add(self, x, y): self.X.append(float(x)); self.y.append(float(y))
    def predict(self, q):
        X, y = jnp.array(self.X), jnp.array(self.y)
        L = jnp.linalg.cholesky(self.k(X, X) + self.noise * jnp.eye(len(X)))
        a = jax.scipy.linalg.cho_solve((L, True), y - y.mean())
        Kq = self.k(q, X)
        v = jax.scipy.linalg.solve_triangular(L, Kq.T, lower=True)
        return y.mean() + Kq @ a, jnp.sqrt(jnp.clip(1 - (v ** 2).sum(0), 1e-6))
def expected_improvement(mu, sd, best):
    z = (mu - best - 0.01) / sd
    return (mu - best - 0.01) * jax.scipy.stats.norm.cdf(z) + sd * jax.scipy.stats.norm.pdf(z)
def bayes_opt(f, gp, grid, rounds):
    picked = []
    for r in range(rounds):
        mu, sd = gp.predict(grid)
        ei = expected_improvement(mu, sd, max(gp.y))
        i = int(jnp.argmax(ei))
        if i in picked:
            print("same point again"); break
        gp.add(grid[i], f(grid[i]))
        picked.append(i)
        print(f"round {r}: x={grid[i]:.2f} y={gp.y[-1]:.2f} best={max(gp.y):.2f}")
    return picked, (mu, sd)
def f(x): return jnp.sin(5 * x) * (1 - x) + 0.5 * x
grid = jnp.linspace(0, 1, 11); rounds, ls = 3, 0.3
---
gp = GP(ls)
for x in (0.1, 0.9): gp.add(x, f(x))
picked, (mu, sd) = bayes_opt(f, gp, grid, rounds)
best = int(np.argmax(gp.y))
x_best = gp.X[best]
coverage = float(sd.mean())
print(len(gp.X), len(set(picked)), f"{x_best:.1f}", all(isinstance(v, float) for v in gp.y))
mu[picked[0]], max(gp.y)
---
ls = 0.1; rounds = 2
---
def f(x): return -(x - 0.65) ** 2

### mam-numpyro-svi-run-by-own-loop-with-early-exit needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0, 1))
    b = numpyro.sample("b", dist.Normal(0, 1))
    s = numpyro.sample("s", dist.LogNormal(0, 0.5))
    with numpyro.plate("n", len(x)): numpyro.sample("y", dist.Normal(a + b * x, s), obs=y)
def guide(x, y=None):
    for name in ("a", "b"):
        loc = numpyro.param(f"{name}_loc", 0.0)
        sc = numpyro.param(f"{name}_sc", 0.2, constraint=dist.constraints.positive)
        numpyro.sample(name, dist.Normal(loc, sc))
    numpyro.sample("s", dist.LogNormal(numpyro.param("s_loc", -1.0), 0.1))
def fit(x, y, steps, lr, tol=1e-3):
    svi = SVI(model, guide, optax.adam(lr), Trace_ELBO(num_particles=2))
    state, losses = svi.init(jr.PRNGKey(0), x, y), []
    for i in range(steps):
        state, loss = svi.update(state, x, y)
        losses.append(loss.item())
        if i > 2 and abs(losses[-1] - losses[-2]) < tol:
            print("flat"); break
    return svi.get_params(state), losses, svi
x = jnp.linspace(-1, 1, 10); y = 0.5 + 2 * x
steps, lr = 4, 0.1
---
params, losses, svi = fit(x, y, steps, lr)
tr = numpyro.handlers.trace(numpyro.handlers.seed(guide, 3)).get_trace(x)
kinds = {k: v["type"] for k, v in tr.items()}
pred = params["a_loc"] + params["b_loc"] * x
mse = np.mean((np.asarray(pred) - np.asarray(y)) ** 2)
print(sorted(params), sorted(set(kinds.values())), len(losses), type(losses[0]).__name__)
params["b_loc"], mse
---
lr = 0.3; steps = 5
---
y = y * 0 + 1

### mam-diffrax-shooting-by-secant-while-error-above-tol needs=diffrax
import diffrax, equinox as eqx
class Beam(eqx.Module):
    k: jax.Array
    load: float = eqx.field(static=True)
    def __call__(self, t, y, args): return jnp.stack([y[1], -self.k * y[0] + self.load * (1 - t)])
@eqx.filter_jit
def shoot(beam, slope, ts):
    y0 = jnp.stack([jnp.zeros(()), slope])
    return diffrax.diffeqsolve(diffrax.ODETerm(beam), diffrax.Heun(), 0.0, 1.0, 0.125, y0, saveat=diffrax.SaveAt(ts=ts))
class Shooter:
    def __init__(self, beam, ts): self.beam, self.ts, self.tries = beam, ts, []
    def miss(self, slope):
        sol = shoot(self.beam, slope, self.ts)
        self.tries.append((float(slope), sol.ys[-1, 0].item() - self.target))
        return self.tries[-1][1], sol
    def solve(self, target, tol=1e-2, max_iter=6):
        self.target = target
        s0, s1 = jnp.array(0.0), jnp.array(1.0)
        (e0, _), (e1, sol) = self.miss(s0), self.miss(s1)
        while abs(e1) > tol and len(self.tries) < max_iter:
            s0, s1 = s1, s1 - e1 * (s1 - s0) / (e1 - e0)
            e0, (e1, sol) = e1, self.miss(s1)
            print(f"slope {s1:.2f} misses by {abs(e1):.1f}")
        return s1, sol
beam, ts, target = Beam(jnp.array(2.0), 0.5), jnp.linspace(0, 1, 5), 0.3
---
sh = Shooter(beam, ts)
slope, sol = sh.solve(target)
ys = np.asarray(sol.ys)
stats = {k: int(v) for k, v in sol.stats.items() if k == "num_steps"}
peak = float(jnp.abs(sol.ys[:, 0]).max())
ok = sol.result == diffrax.RESULTS.successful
print(len(sh.tries), stats, bool(ok), ys.shape, f"{peak:.2f}", sh.beam is beam)
slope, sol.ys[:, 0]
---
target = -0.2
---
beam = eqx.tree_at(lambda b: b.k, beam, jnp.array(5.0))

### mam-optimistix-many-starts-results-by-enum-in-dict needs=optimistix
import optimistix as optx
def resid(p, args):
    t, y = args
    return p["a"] * jnp.exp(-p["k"] * t) - y
def multistart(starts, args, solver):
    found = {}
    for name, p in starts.items():
        sol = optx.least_squares(resid, solver, p, args, max_steps=40, throw=False)
        ok = sol.result == optx.RESULTS.successful
        cost = 0.5 * jnp.sum(resid(sol.value, args) ** 2)
        found[name] = {"value": sol.value, "cost": cost.item(), "ok": bool(ok)}
        print(f"{name}: {'ok' if found[name]['ok'] else 'failed'} cost {cost:.2f}")
    return found
t = jnp.linspace(0, 2, 9)
args = (t, 2.0 * jnp.exp(-1.3 * t) + 0.02 * jnp.sin(9 * t))
starts = {"near": {"a": jnp.array(1.5), "k": jnp.array(1.0)}, "far": {"a": jnp.array(0.2), "k": jnp.array(0.1)}}
solver = optx.LevenbergMarquardt(rtol=1e-3, atol=1e-3)
---
found = multistart(starts, args, solver)
best = min(found, key=lambda n: found[n]["cost"])
p = found["near"]["value"]
J = jax.jacfwd(lambda v: resid({"a": v[0], "k": v[1]}, args))(jnp.stack([p["a"], p["k"]]))
cov = jnp.linalg.inv(J.T @ J) * 0.01
half = math.log(2) / float(p["k"])
root = optx.root_find(lambda x, _: p["a"] * jnp.exp(-p["k"] * x) - 1.0, optx.Newton(1e-4, 1e-4), jnp.array(0.3)).value
print(best in starts, f"{half:.2f}", J.shape, all(v["ok"] for v in found.values()))
p["a"], cov, root
---
args = (t, 3.0 * jnp.exp(-0.7 * t))
---
starts = {"only": starts["near"], "near": starts["far"]}

### mam-lineax-operators-solvers-and-iterative-refinement needs=lineax
import lineax as lx
A = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.5, 2.0]])
b = jnp.array([1.0, 2.0, -1.0])
def refine(A, b, solver, rounds):
    op = lx.MatrixLinearOperator(A)
    x, res = jnp.zeros_like(b), []
    state = solver.init(op, {})
    for _ in range(rounds):
        r = b - A @ x
        x = x + lx.linear_solve(op, r, solver, state=state).value
        res.append(jnp.linalg.norm(b - A @ x).item())
    return x, res
shift = 0.0
---
M = A + shift * jnp.eye(3)
x, res = refine(M, b, lx.LU(), 2)
spd = lx.MatrixLinearOperator(M, lx.positive_semidefinite_tag)
solutions = {type(s).__name__: lx.linear_solve(spd, b, s).value for s in (lx.Cholesky(), lx.CG(1e-5, 1e-5), lx.AutoLinearSolver(well_posed=True))}
tall = lx.MatrixLinearOperator(jnp.vstack([M, jnp.ones(3)]))
ls = lx.linear_solve(tall, jnp.append(b, 0.5), lx.QR()).value
fn = lx.FunctionLinearOperator(lambda v: M @ v, jax.eval_shape(lambda: b))
diag = lx.diagonal(spd), lx.is_symmetric(spd)
spread = max(float(jnp.abs(v - x).max()) for v in solutions.values())
print(sorted(solutions), len(res), spread < 1e-3, diag[1], fn.mv(x).shape)
x, ls, diag[0]
---
shift = 1.5
---
b = jnp.array([0.0, 0.0, 1.0])

### mam-orbax-saves-each-epoch-then-restores-the-best needs=orbax
import orbax.checkpoint as ocp
def loss_fn(p, x, y): return jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2)
def train(params, x, y, epochs, lr, folder):
    ckpt = ocp.PyTreeCheckpointer()
    scores = {}
    for e in range(epochs):
        l, g = jax.value_and_grad(loss_fn)(params, x, y)
        params = jax.tree.map(lambda p, q: p - lr * q, params, g)
        scores[e] = float(loss_fn(params, x, y))
        ckpt.save(folder / f"e{e}", {"params": params, "epoch": e}, force=True)
    best = min(scores, key=scores.get)
    restored = ckpt.restore(folder / f"e{best}")
    return params, restored, scores
x = jnp.asarray(np.random.default_rng(0).normal(size=(6, 2)), jnp.float32); y = x[:, 0]
init = {"w": 0.5 * jr.normal(jr.PRNGKey(0), (2, 3)), "v": jnp.ones(3)}
lr, epochs = 0.1, 2
---
folder = Path.cwd() / "ck"
params, restored, scores = train(init, x, y, epochs, lr, folder)
back = jax.tree.map(jnp.asarray, restored["params"])
kept = sorted(p.name for p in folder.iterdir())
best = min(scores, key=scores.get)
same = jax.tree.map(lambda a, b: bool((a == b).all()), back, params)
print(kept, restored["epoch"] == best, sorted(same))
loss_fn(back, x, y), back["v"]
---
lr = 0.05
---
init["v"] = jnp.array([1.0, -1.0, 0.5]); epochs = 1

### mam-checkpointer-npz-best-and-pickled-history-resume
class Checkpointer:
    def __init__(self, folder): self.dir = Path(folder); self.dir.mkdir(exist_ok=True); self.best = math.inf
    def save(self, step, params, history):
        flat = {jax.tree_util.keystr(k): np.asarray(v) for k, v in jax.tree_util.tree_leaves_with_path(params)}
        np.savez(self.dir / "last.npz", **flat)
        (self.dir / "history.pkl").write_bytes(pickle.dumps({"step": step, "history": [round(h, 2) for h in history]}))
        if history[-1] < self.best:
            self.best = history[-1]
            np.savez(self.dir / "best.npz", **flat)
    def restore(self, like, name="last"):
        with np.load(self.dir / f"{name}.npz") as z:
            return jax.tree_util.tree_map_with_path(lambda k, v: jnp.asarray(z[jax.tree_util.keystr(k)], v.dtype), like)
def train(params, steps, ck, resume):
    start, history = 0, []
    if resume and (ck.dir / "last.npz").exists():
        params = ck.restore(params)
        saved = pickle.loads((ck.dir / "history.pkl").read_bytes())
        start, history = saved["step"] + 1, saved["history"]
        print("resumed at", start)
    for step in range(start, start + steps):
        l, g = jax.value_and_grad(lambda p: jnp.sum((p["a"] * X + p["b"][0] - Y) ** 2))(params)
        params = jax.tree.map(lambda p, g: p - 0.02 * g, params, g)
        history.append(l.item())
        ck.save(step, params, history)
    return params, history
X = jnp.linspace(0, 1, 6); Y = 3 * X - 1
params0, steps, resume = {"a": jnp.array(0.0), "b": [jnp.array(0.0)]}, 2, True
---
ck = Checkpointer("ck")
params, history = train(params0, steps, ck, resume)
best = ck.restore(params0, "best")
files = sorted(p.name for p in ck.dir.iterdir())
sizes = {k: np.load(ck.dir / "best.npz")[k].shape for k in np.load(ck.dir / "best.npz").files}
print(files, len(history), sizes, f"{history[-1]:.1f}")
params["a"], best["b"]
---
resume = False
---
Y = -Y; steps = 3; resume = True

### mam-joined-schedules-logged-with-lr-and-frozen-mask
def make_schedule(peak, warm, total):
    return optax.join_schedules([optax.linear_schedule(0.0, peak, warm), optax.cosine_decay_schedule(peak, total - warm)], [warm])
@dataclass
class Log:
    lr: list = field(default_factory=list)
    loss: list = field(default_factory=list)
    norms: dict = field(default_factory=lambda: defaultdict(list))
    def add(self, lr, loss, updates):
        self.lr.append(float(lr)); self.loss.append(loss)
        for k, v in updates.items(): self.norms[k].append(jnp.linalg.norm(v).item())
def train(params, loss_fn, schedule, steps, frozen=()):
    labels = {k: "frozen" if k in frozen else "live" for k in params}
    tx = optax.multi_transform({"live": optax.chain(optax.clip(1.0), optax.adam(schedule)), "frozen": optax.set_to_zero()}, labels)
    st, log = tx.init(params), Log()
    for i in range(steps):
        loss, g = jax.value_and_grad(loss_fn)(params)
        up, st = tx.update(g, st, params)
        params = optax.apply_updates(params, up)
        log.add(schedule(i), loss, up)
        if i and i % 2 == 0:
            print(f"{i:02d} lr={log.lr[-1]:.3f} loss={loss:.3f}")
    return params, log, st
params0 = {"w": jnp.array([1.0, -2.0]), "c": jnp.array([0.5])}
def loss_fn(p): return jnp.sum(p["w"] ** 2) + jnp.sum((p["c"] - p["w"].sum()) ** 2)
peak, frozen, steps = 0.1, ("c",), 5
---
params, log, st = train(params0, loss_fn, make_schedule(peak, 2, steps), steps, frozen)
top = max(range(steps), key=log.lr.__getitem__)
row = asdict(replace(log, norms=dict(log.norms)))
losses = jnp.stack(log.loss)
kept = bool((params["c"] == params0["c"]).all())
print(top, kept, sorted(row), sorted(row["norms"]), type(row["loss"][0]).__name__)
losses, params["w"]
---
frozen = ()
---
peak = 0.5; params0["c"] = jnp.zeros(2)

### mam-mirror-and-projected-descent-on-the-simplex
def project(v):
    u = jnp.sort(v)[::-1]
    css = jnp.cumsum(u) - 1
    rho = jnp.sum(u - css / jnp.arange(1, len(v) + 1) > 0) - 1
    return jnp.maximum(v - css[rho] / (rho + 1), 0)
def projected(f, x, lr, n):
    traj = [x]
    for _ in range(n):
        x = project(x - lr * jax.grad(f)(x))
        traj.append(x)
    return traj
def mirror(f, x, lr, n):
    traj = [x]
    for _ in range(n):
        x = x * jnp.exp(-lr * jax.grad(f)(x))
        x = x / x.sum()
        traj.append(x)
    return traj
def frank_wolfe(f, x, lr, n):
    traj, gaps = [x], []
    for k in range(n):
        g = jax.grad(f)(x)
        s = jax.nn.one_hot(jnp.argmin(g), len(x))
        gaps.append(float(g @ (x - s)))
        x = x + 2 / (k + 2) * (s - x)
        traj.append(x)
    frank_wolfe.gaps = gaps
    return traj
cov = jnp.array([[1.0, 0.2, 0.1], [0.2, 0.5, 0.0], [0.1, 0.0, 2.0]]); mu = jnp.array([0.3, 0.2, 0.6])
def f(w): return w @ cov @ w - 0.8 * mu @ w
lr, n = 0.2, 4
---
x0 = jnp.full(3, 1 / 3)
paths = {m.__name__: m(f, x0, lr, n) for m in (projected, mirror, frank_wolfe)}
finals = {k: v[-1] for k, v in paths.items()}
values = {k: [f(x).item() for x in v] for k, v in paths.items()}
sums = [round(float(x.sum()), 4) for x in finals.values()]
same_start = all(v[0] is x0 for v in paths.values())
gaps = frank_wolfe.gaps
print(sums, same_start, len(gaps), {k: f"{v[-1]:.3f}" for k, v in values.items()})
finals["projected"], finals["mirror"]
---
lr = 0.5
---
mu = jnp.array([0.0, 2.0, 0.0]); n = 2

### mam-minibatch-kmeans-with-elbow-table-and-restarts
import pandas as pd
class MiniBatchKMeans:
    def __init__(self, k, seed=0, batch=8): self.k, self.batch, self.rng = k, batch, np.random.default_rng(seed)
    def _init(self, X):
        c = [X[self.rng.integers(len(X))]]
        while len(c) < self.k:
            d = np.min([((X - ci) ** 2).sum(1) for ci in c], axis=0)
            c.append(X[self.rng.choice(len(X), p=d / d.sum())])
        return jnp.asarray(np.stack(c))
    def fit(self, X, iters):
        self.centers, self.counts = self._init(X), np.zeros(self.k, int)
        for _ in range(iters):
            xb = X[self.rng.choice(len(X), self.batch, replace=False)]
            lab = jnp.argmin(((xb[:, None] - self.centers) ** 2).sum(-1), 1)
            for x, j in zip(xb, lab.tolist()):
                self.counts[j] += 1
                eta = 1.0 / self.counts[j]
                self.centers = self.centers.at[j].set((1 - eta) * self.centers[j] + eta * x)
        self.inertia = float(jnp.min(((X[:, None] - self.centers) ** 2).sum(-1), 1).sum())
        return self
rng = np.random.default_rng(5)
X = np.concatenate([rng.normal(c, 0.3, (8, 2)) for c in ((0, 0), (3, 3), (0, 4))]).astype(np.float32)
ks, iters = (2, 3), 2
---
fits = [MiniBatchKMeans(k).fit(X, iters) for k in ks]
table = pd.DataFrame({"k": ks, "inertia": [round(f.inertia, 1) for f in fits]}).set_index("k")
table["drop"] = table.inertia.diff().round(1)
best = fits[int(np.argmin(table.inertia.to_numpy()))]
labels = np.asarray(jnp.argmin(((X[:, None] - best.centers) ** 2).sum(-1), 1))
sizes = pd.Series(labels).value_counts().sort_index()
print(table.shape, best.k, int(best.counts.sum()), sizes.sum(), best is fits[-1])
best.centers.shape, best.centers.mean(0)
---
iters = 3
---
X = X[:16]; ks = (1, 2, 3)

### mam-restricted-boltzmann-contrastive-divergence-class
class RBM:
    def __init__(self, nv, nh, key):
        k, self.key = jr.split(key)
        self.W, self.a, self.b = 0.1 * jr.normal(k, (nv, nh)), jnp.zeros(nv), jnp.zeros(nh)
        self.errors = []
    def _key(self):
        self.key, k = jr.split(self.key)
        return k
    def h_given_v(self, v):
        p = jax.nn.sigmoid(v @ self.W + self.b)
        return p, jr.bernoulli(self._key(), p).astype(v.dtype)
    def v_given_h(self, h):
        p = jax.nn.sigmoid(h @ self.W.T + self.a)
        return p, jr.bernoulli(self._key(), p).astype(h.dtype)
    def free_energy(self, v): return -v @ self.a - jax.nn.softplus(v @ self.W + self.b).sum(-1)
    def fit(self, data, epochs, k=1, lr=0.5):
        for epoch in range(epochs):
            err = 0.0
            for v0 in np.split(data, 2):
                ph0, h = self.h_given_v(v0)
                for _ in range(k):
                    pv, v = self.v_given_h(h)
                    ph, h = self.h_given_v(v)
                n = len(v0)
                self.W += lr * (v0.T @ ph0 - v.T @ ph) / n
                self.a += lr * (v0 - v).mean(0)
                self.b += lr * (ph0 - ph).mean(0)
                err += float(jnp.mean((v0 - pv) ** 2))
            self.errors.append(err / 2)
            print(f"epoch {epoch} error {err / 2:.2f}")
data = np.tile(np.array([[1, 1, 0, 0], [0, 0, 1, 1]], np.float32), (4, 1))
epochs, k = 2, 1
---
rbm = RBM(4, 3, jr.PRNGKey(0))
rbm.fit(data, epochs, k)
fe = rbm.free_energy(data[:2])
odd = rbm.free_energy(np.array([[1, 0, 1, 0]], np.float32))
lower = (fe < odd).tolist()
recon = rbm.v_given_h(rbm.h_given_v(data[:2])[0])[0]
print(len(rbm.errors), len(lower), recon.shape, rbm.W.dtype)
fe, recon.mean()
---
k = 2
---
data = data[:, ::-1].copy(); epochs = 1

### mam-perceptron-and-passive-aggressive-mistake-counters
class Online:
    def __init__(self, d): self.w, self.mistakes, self.updates = jnp.zeros(d), 0, []
    def rule(self, x, y, margin): raise NotImplementedError
    def fit(self, X, Y, max_epochs=4):
        for epoch in range(max_epochs):
            wrong = 0
            for i, (x, y) in enumerate(zip(X, Y)):
                margin = y * (self.w @ x)
                if margin <= 0: wrong += 1
                step = self.rule(x, y, margin)
                if step is not None:
                    self.w = self.w + step
                    self.updates.append((epoch, i))
            self.mistakes += wrong
            if wrong == 0: break
        self.epochs = epoch + 1
        return self
class Perceptron(Online):
    def rule(self, x, y, margin): return y * x if margin <= 0 else None
class PA(Online):
    C = 1.0
    def rule(self, x, y, margin):
        loss = max(0.0, 1 - float(margin))
        return min(self.C, loss / float(x @ x)) * y * x if loss > 0.01 else None
X = jnp.array([[1.0, 2.0, 1.0], [2.0, 1.5, 1.0], [-1.0, -1.0, 1.0], [-2.0, 0.0, 1.0], [0.5, 1.5, 1.0]])
Y = [1, 1, -1, -1, 1]
classes = [Perceptron, PA]
---
fits = {c.__name__: c(X.shape[1]).fit(X, Y) for c in classes}
acc = {k: int((jnp.sign(X @ m.w) == jnp.array(Y)).sum()) / len(Y) for k, m in fits.items()}
norms = {k: jnp.linalg.norm(m.w) for k, m in fits.items()}
first = fits["PA"].updates[0]
total = sum(m.mistakes for m in fits.values())
print(acc, first, total, {k: m.epochs for k, m in fits.items()})
fits["PA"].w, norms["PA"]
---
Y[4] = -1
---
PA.C = 0.1; X = X.at[:, 0].multiply(2)

### mam-sinkhorn-balance-in-log-space-with-early-break
class Sinkhorn:
    def __init__(self, eps, tol=1e-2, max_iter=20): self.eps, self.tol, self.max_iter = eps, tol, max_iter
    def __call__(self, C, a, b):
        f, g = jnp.zeros(len(a)), jnp.zeros(len(b))
        la, lb = jnp.log(a), jnp.log(b)
        self.errors = []
        for self.n_iter in range(1, self.max_iter + 1):
            f = self.eps * (la - jax.nn.logsumexp((g[None] - C) / self.eps, axis=1))
            g = self.eps * (lb - jax.nn.logsumexp((f[:, None] - C) / self.eps, axis=0))
            P = jnp.exp((f[:, None] + g[None] - C) / self.eps)
            self.errors.append(jnp.abs(P.sum(1) - a).sum().item())
            if self.errors[-1] < self.tol: break
        else:
            print("not converged")
        return P, jnp.sum(P * C)
x, y = jnp.array([0.0, 1.0, 2.0]), jnp.array([0.5, 2.5])
C = (x[:, None] - y[None]) ** 2
a, b = jnp.full(3, 1 / 3), jnp.array([0.5, 0.5])
epss = [1.0, 0.5]
---
plans = {}
for eps in epss:
    solver = Sinkhorn(eps)
    plans[eps], cost = solver(C, a, b)
    print(f"eps={eps}: cost {cost:.2f}")
P = plans[min(epss)]
bary = P @ y / P.sum(1)
match_ = [int(j) for j in P.argmax(1)]
ent = float(-(P * jnp.log(P + 1e-9)).sum())
print(match_, solver.n_iter < 20, f"{ent:.2f}", len(plans))
bary, cost
---
b = jnp.array([0.8, 0.2])
---
epss.append(0.25); C = jnp.sqrt(C)

### mam-training-figure-with-two-axes-and-best-mark needs=matplotlib
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt
def train(w, steps, lr):
    hist = {"train": [], "val": []}
    for _ in range(steps):
        l, g = jax.value_and_grad(lambda w: jnp.mean((X[:8] @ w - Y[:8]) ** 2))(w)
        w = w - lr * g
        hist["train"].append(float(l)); hist["val"].append(float(jnp.mean((X[8:] @ w - Y[8:]) ** 2)))
    return w, hist
def plot(hist, w):
    fig, (ax1, ax2) = plt.subplots(1, 2, figsize=(5, 2))
    for name, ys in hist.items(): ax1.plot(ys, label=name)
    best = int(np.argmin(hist["val"]))
    ax1.axvline(best, ls="--"); ax1.annotate("best", (best, hist["val"][best])); ax1.legend(); ax1.set_yscale("log")
    bars = ax2.bar(range(len(w)), np.asarray(w)); ax2.set_title(f"{len(w)} weights")
    lines = [np.asarray(l.get_ydata()) for l in ax1.lines[:2]]
    heights = [b.get_height() for b in bars]
    labels = [t.get_text() for t in ax1.get_legend().get_texts()]
    fig.savefig("fit.png"); plt.close(fig)
    return best, lines, heights, labels
rng = np.random.default_rng(0)
X = jnp.asarray(rng.normal(size=(12, 3)), jnp.float32); Y = X @ jnp.array([1.0, 0.0, -1.0])
steps, lr = 4, 0.2
---
w, hist = train(jnp.zeros(3), steps, lr)
best, lines, heights, labels = plot(hist, w)
size = Path("fit.png").stat().st_size > 500
Path("fit.png").unlink()
shape = [l.shape for l in lines]
print(best, shape, labels, size, [f"{h:.1f}" for h in heights])
w, lines[1][-1] < lines[1][0]
---
lr = 0.05
---
Y = Y + 1.0; steps = 2

### mam-evaluation-loop-confusion-counts-and-macro-f1
class Metrics:
    def __init__(self, names): self.names, self.cm, self.seen, self.loss = names, np.zeros((len(names),) * 2, int), 0, 0.0
    def update(self, logits, y):
        for t, p in zip(np.asarray(y), np.asarray(logits.argmax(-1))): self.cm[t, p] += 1
        self.loss += optax.softmax_cross_entropy_with_integer_labels(logits, y).sum().item()
        self.seen += len(y)
        return self
    def compute(self):
        tp = np.diag(self.cm)
        prec, rec = tp / np.maximum(self.cm.sum(0), 1), tp / np.maximum(self.cm.sum(1), 1)
        f1 = 2 * prec * rec / np.maximum(prec + rec, 1e-9)
        return {"acc": tp.sum() / self.seen, "f1": f1.mean(), "loss": self.loss / self.seen, "per": dict(zip(self.names, f1.round(2).tolist()))}
def evaluate(predict, loader, metrics, limit=None):
    worst = (0.0, None)
    for i, (x, y) in enumerate(loader):
        if limit is not None and i >= limit: break
        logits = predict(x)
        metrics.update(logits, y)
        nll = -jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1)[:, 0]
        if nll.max().item() > worst[0]: worst = (nll.max().item(), x[int(nll.argmax())])
    return metrics.compute(), worst
rng = np.random.default_rng(0)
X = rng.normal(size=(15, 3)).astype(np.float32); Y = np.argmax(X + 0.5 * rng.normal(size=X.shape), 1).astype(np.int32)
loader = [(X[i:i + 5], Y[i:i + 5]) for i in range(0, 15, 5)]
W, limit = jnp.eye(3) * 2, None
---
m = Metrics(["cat", "dog", "eel"])
report, (hardest, example) = evaluate(lambda x: x @ W, loader, m, limit)
for k, v in report["per"].items(): print(f"{k:<4} {v:.2f}")
errors = m.cm.sum() - np.trace(m.cm)
row = m.cm / m.cm.sum(1, keepdims=True)
owned = any(np.shares_memory(example, x) for x, _ in loader)
print(m.seen, int(errors), f"{report['acc']:.2f}", owned, m.cm.dtype)
report["loss"], jnp.asarray(row).trace()
---
limit = 2
---
W = W.at[0, 0].set(-1.0)

### mam-sgld-and-mala-chains-recorded-by-a-recorder
class Recorder:
    def __init__(self, every): self.every, self.kept, self.logp = every, [], []
    def __call__(self, i, x, lp):
        if i % self.every == 0: self.kept.append(x)
        self.logp.append(float(lp))
    @property
    def samples(self): return jnp.stack(self.kept)
def logp(x): return -0.5 * jnp.sum(x ** 2 / jnp.array([1.0, 0.25])) + 0.3 * x[0] * x[1]
def mala(key, x, eps, n, rec):
    vg = jax.value_and_grad(logp)
    lp, g = vg(x)
    acc = 0
    for i in range(n):
        key, k1, k2 = jr.split(key, 3)
        prop = x + eps * g + jnp.sqrt(2 * eps) * jr.normal(k1, x.shape)
        lp2, g2 = vg(prop)
        fwd = -jnp.sum((prop - x - eps * g) ** 2) / (4 * eps)
        bwd = -jnp.sum((x - prop - eps * g2) ** 2) / (4 * eps)
        if jnp.log(jr.uniform(k2)) < lp2 + bwd - lp - fwd:
            x, lp, g = prop, lp2, g2
            acc += 1
        rec(i, x, lp)
    return x, acc / n
def sgld(key, x, eps, n, rec):
    for i in range(n):
        key, k = jr.split(key)
        lp, g = jax.value_and_grad(logp)(x)
        step = eps / (1 + i) ** 0.5
        x = x + step * g + jnp.sqrt(2 * step) * jr.normal(k, x.shape)
        rec(i, x, lp)
    return x, None
eps, n = 0.2, 6
---
recs = {"mala": Recorder(2), "sgld": Recorder(3)}
ends = {name: globals()[name](jr.PRNGKey(1), jnp.zeros(2), eps, n, rec) for name, rec in recs.items()}
means = {k: r.samples.mean(0) for k, r in recs.items()}
rate = ends["mala"][1]
last = recs["mala"].kept[-1] is ends["mala"][0]
print(rate, last, {k: r.samples.shape for k, r in recs.items()}, len(recs["sgld"].logp))
means["mala"], ends["sgld"][0]
---
eps = 0.05
---
def logp(x): return -jnp.sum(jnp.abs(x))

### mam-mcts-on-a-token-game-with-jax-value-head
class NodeT:
    def __init__(self, state, prior): self.state, self.prior, self.kids, self.n, self.w = state, prior, {}, 0, 0.0
    @property
    def q(self): return self.w / self.n if self.n else 0.0
def legal(s): return [a for a in (1, 2, 3) if a <= s]
def net(s):
    h = jnp.tanh(W1 * s / 5 + B1)
    return jax.nn.softmax(h @ W2), jnp.tanh(h @ W3)
class MCTS:
    def __init__(self, c): self.c, self.evals = c, 0
    def expand(self, node):
        pri, v = net(node.state)
        self.evals += 1
        for a in legal(node.state): node.kids[a] = NodeT(node.state - a, float(pri[a - 1]))
        return float(v)
    def select(self, node): return max(node.kids.items(), key=lambda kv: -kv[1].q + self.c * kv[1].prior * math.sqrt(node.n + 1) / (1 + kv[1].n))
    def run(self, state, sims):
        root = NodeT(state, 1.0)
        for _ in range(sims):
            node, path = root, [root]
            while node.kids:
                _, node = self.select(node)
                path.append(node)
            value = -1.0 if node.state == 0 else self.expand(node)
            for nd in reversed(path):
                nd.n += 1; nd.w += value
                value = -value
        return root
k = jr.split(jr.PRNGKey(3), 4)
W1, B1, W2, W3 = jr.normal(k[0], (6,)), jr.normal(k[1], (6,)), jr.normal(k[2], (6, 3)), jr.normal(k[3], (6,))
state, sims, c = 5, 8, 1.2
---
tree = MCTS(c)
root = tree.run(state, sims)
visits = {a: kid.n for a, kid in root.kids.items()}
pi = jnp.array(list(visits.values())) / sum(visits.values())
choice = max(visits, key=visits.get)
prior, value = net(state)
loss = -jnp.sum(pi * jnp.log(prior[: len(pi)])) + (value - root.q) ** 2
depth = max(len(kid.kids) for kid in root.kids.values())
print(visits, root.n, tree.evals <= sims, depth)
loss, prior
---
c = 3.0
---
state = 2; W2 = W2 * 0.5

### mam-echo-lanczos-spectrum-and-slq-trace-estimate
def lanczos(matvec, v, m):
    V, alphas, betas = [v / jnp.linalg.norm(v)], [], []
    for j in range(m):
        w = matvec(V[-1])
        alphas.append(w @ V[-1])
        w = w - alphas[-1] * V[-1] - (betas[-1] * V[-2] if betas else 0.0)
        for u in V: w = w - (u @ w) * u
        beta = jnp.linalg.norm(w)
        if beta < 1e-4 or j == m - 1: break
        betas.append(beta)
        V.append(w / beta)
    k = len(alphas)
    T = jnp.diag(jnp.stack(alphas))
    if betas: T = T + jnp.diag(jnp.stack(betas[: k - 1]), 1) + jnp.diag(jnp.stack(betas[: k - 1]), -1)
    return T, jnp.stack(V, 1)
def slq_logdet(matvec, n, probes, m, key):
    est = []
    for k in jr.split(key, probes):
        T, _ = lanczos(matvec, jr.rademacher(k, (n,), jnp.float32), m)
        lam, U = jnp.linalg.eigh(T)
        est.append(n * jnp.sum(U[0] ** 2 * jnp.log(jnp.maximum(lam, 1e-3))))
    return jnp.stack(est)
n, m = 6, 4
B = jnp.asarray(np.random.default_rng(0).normal(size=(n, n)), jnp.float32)
A = B @ B.T / n + jnp.eye(n)
---
T, V = lanczos(lambda v: A @ v, jnp.ones(n), m)
ritz = jnp.linalg.eigvalsh(T)
est = slq_logdet(lambda v: A @ v, n, 3, m, jr.PRNGKey(0))
sign, exact = jnp.linalg.slogdet(A)
rel = float(jnp.abs(est.mean() - exact) / exact)
ortho = jnp.abs(V.T @ V - jnp.eye(V.shape[1])).max()
print(T.shape, V.shape, rel < 0.5, bool(ortho < 1e-3), float(sign))
ritz[-1], est.mean()
---
m = 3
---
A = A + 2 * jnp.eye(n)

### mam-hmm-baum-welch-updates-until-gain-small-then-viterbi
class HMM:
    def __init__(self, k, m, seed):
        r = np.random.default_rng(seed)
        norm = lambda a: jnp.asarray(a / a.sum(-1, keepdims=True), jnp.float32)
        self.pi, self.A, self.B = norm(r.random(k) + 1), norm(r.random((k, k)) + np.eye(k)), norm(r.random((k, m)) + 0.5)
        self.ll = []
    def forward_backward(self, obs):
        al, c = [], []
        a = self.pi * self.B[:, obs[0]]
        for t, o in enumerate(obs):
            if t: a = (al[-1] @ self.A) * self.B[:, o]
            c.append(a.sum()); al.append(a / c[-1])
        be = [jnp.ones_like(self.pi)]
        for t in range(len(obs) - 1, 0, -1):
            be.append(self.A @ (self.B[:, obs[t]] * be[-1]) / c[t])
        return jnp.stack(al), jnp.stack(be[::-1]), jnp.stack(c)
    def fit(self, obs, iters, tol=1e-2):
        O = jax.nn.one_hot(jnp.array(obs), self.B.shape[1])
        for i in range(iters):
            al, be, c = self.forward_backward(obs)
            g = al * be
            xi = al[:-1, :, None] * self.A * (O[1:] @ self.B.T * be[1:] / c[1:, None])[:, None]
            self.pi, self.A, self.B = g[0], xi.sum(0) / g[:-1].sum(0)[:, None], g.T @ O / g.sum(0)[:, None]
            self.ll.append(jnp.log(c).sum().item())
            if i and self.ll[-1] - self.ll[-2] < tol:
                print("stopped at", i); break
        return self
    def viterbi(self, obs):
        d, back = jnp.log(self.pi) + jnp.log(self.B[:, obs[0]] + 1e-9), []
        for o in obs[1:]:
            s = d[:, None] + jnp.log(self.A + 1e-9)
            back.append(np.asarray(s.argmax(0))); d = s.max(0) + jnp.log(self.B[:, o] + 1e-9)
        path = [int(d.argmax())]
        for b in reversed(back): path.append(int(b[path[-1]]))
        return path[::-1], d.max()
obs = [0, 0, 1, 0, 2, 2, 2, 1, 2]
iters = 3
---
hmm = HMM(2, 3, 0).fit(obs, iters)
path, score = hmm.viterbi(obs)
runs = [(k, len(list(g))) for k, g in itertools.groupby(path)]
rising = all(b >= a - 1e-3 for a, b in zip(hmm.ll, hmm.ll[1:]))
stationary = jnp.linalg.matrix_power(hmm.A, 20)[0]
print(len(path), rising, len(runs) <= len(path), len(hmm.ll))
hmm.B, score, stationary.sum()
---
obs = obs[:6]
---
iters = 2; obs = [2, 1, 0, 1, 2]

### mam-hebbian-hopfield-recall-with-async-updates
class Hopfield:
    def __init__(self, patterns):
        P = jnp.asarray(patterns, jnp.float32)
        self.W = (P.T @ P) / len(P) * (1 - jnp.eye(P.shape[1]))
        self.patterns = patterns
        self.energy_log = []
    def energy(self, s): return -0.5 * s @ self.W @ s
    def recall(self, s, rnd, max_sweeps=4):
        s = jnp.asarray(s, jnp.float32)
        for sweep in range(max_sweeps):
            order = list(range(len(s))); rnd.shuffle(order)
            flips = 0
            for i in order:
                new = 1.0 if float(self.W[i] @ s) >= 0 else -1.0
                if new != s[i]:
                    s = s.at[i].set(new)
                    flips += 1
            self.energy_log.append(self.energy(s).item())
            print(f"sweep {sweep}: {flips} flips")
            if not flips: break
        return s
patterns = [[1, -1, 1, -1, 1, -1], [1, 1, 1, -1, -1, -1]]
noisy = [1, -1, 1, -1, -1, -1]
---
net = Hopfield(patterns)
found = net.recall(noisy, random.Random(0))
overlap = [int(jnp.array(p) @ found) for p in patterns]
which = int(np.argmax(overlap))
exact = found.tolist() == [float(v) for v in patterns[which]]
down = net.energy_log[-1] <= net.energy_log[0]
text = "".join("+-"[v < 0] for v in found.tolist())
print(text, overlap, which, exact, down)
net.energy(found), net.patterns is patterns
---
noisy[0] = -1
---
patterns = patterns + [[-1, -1, 1, 1, 1, 1]]; noisy = np.array([-1, -1, 1, 1, 1, -1])

### mam-lbfgs-two-loop-recursion-with-deques-and-wolfe-tries
class LBFGS:
    def __init__(self, m=3): self.s, self.y, self.evals = deque(maxlen=m), deque(maxlen=m), 0
    def direction(self, g):
        q, stack = g, []
        for s, y in zip(reversed(self.s), reversed(self.y)):
            rho = 1.0 / (y @ s)
            a = rho * (s @ q)
            q = q - a * y
            stack.append((rho, a, s, y))
        if self.s: q = q * (self.s[-1] @ self.y[-1]) / (self.y[-1] @ self.y[-1])
        for rho, a, s, y in reversed(stack): q = q + s * (a - rho * (y @ q))
        return -q
    def minimise(self, f, x, n):
        vg = jax.value_and_grad(f)
        fx, g = vg(x); self.evals += 1
        trace = [(0, fx)]
        for k in range(1, n + 1):
            d, t = self.direction(g), 1.0
            while True:
                f2, g2 = vg(x + t * d); self.evals += 1
                if f2 <= fx + 1e-3 * t * (g @ d) or t < 1e-2: break
                t /= 2
            s, y = t * d, g2 - g
            if float(s @ y) > 1e-6: self.s.append(s); self.y.append(y)
            x, fx, g = x + s, f2, g2
            trace.append((k, fx))
            if jnp.linalg.norm(g) < 1e-2: break
        return x, trace
def f(x): return jnp.sum((x - jnp.arange(3.0)) ** 2 * jnp.array([1.0, 4.0, 9.0])) + 0.1 * jnp.sum(x ** 4)
x0, m = jnp.array([2.0, -1.0, 0.5]), 3
---
opt = LBFGS(m)
x, trace = opt.minimise(f, x0, 5)
vals = jnp.stack([v for _, v in trace])
mem = len(opt.s), opt.s.maxlen
decreasing = bool((jnp.diff(vals) <= 1e-4).all())
g = jax.grad(f)(x)
newton = x - jnp.linalg.solve(jax.hessian(f)(x), g)
print(decreasing, mem[1], len(opt.s) == len(opt.y), vals.shape[0] >= 2)
x, vals[-1], newton.dtype
---
m = 1
---
def f(x): return jnp.sum(jnp.cosh(x - 0.5))
x0 = x0[:2]
""",
)
