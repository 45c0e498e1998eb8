"""Flax, Equinox, Optax, NumPyro, Diffrax, Optimistix, Haiku, Orbax, pandas, scikit-learn, Matplotlib and tqdm in use."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, io, itertools, json, logging, math, operator, os, pickle
import random, re, shutil, time, types, warnings
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-nnx-dropout-train-eval-switch-and-metrics-reset-per-epoch needs=flax,optax
from flax import nnx
import optax
class MLP(nnx.Module):
    def __init__(self, din, dh, *, rate=0.5, rngs):
        self.l1, self.drop, self.l2 = nnx.Linear(din, dh, rngs=rngs), nnx.Dropout(rate, rngs=rngs), nnx.Linear(dh, 2, rngs=rngs)
    def __call__(self, x): return self.l2(self.drop(nnx.relu(self.l1(x))))
model = MLP(3, 4, rngs=nnx.Rngs(0, dropout=1)); opt = nnx.Optimizer(model, optax.adam(0.05), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
X = jnp.arange(12.0).reshape(4, 3) / 6; y = jnp.array([0, 1, 0, 1]); history = {"train_loss": [], "test_accuracy": []}
def loss_fn(m, x, y): lg = m(x); return optax.softmax_cross_entropy_with_integer_labels(lg, y).mean(), lg
---
for epoch in range(2):
    model.train()
    for i in (0, 2):
        (l, lg), g = nnx.value_and_grad(loss_fn, has_aux=True)(model, X[i:i + 2], y[i:i + 2])
        metrics.update(loss=l, logits=lg, labels=y[i:i + 2]); opt.update(model, g)
    history["train_loss"].append(metrics.compute()["loss"]); metrics.reset()
    model.eval()
    l, lg = loss_fn(model, X, y)
    metrics.update(loss=l, logits=lg, labels=y)
    history["test_accuracy"].append(float(metrics.compute()["accuracy"])); metrics.reset()
print(history["test_accuracy"][-2:], model.drop.deterministic, len(history["train_loss"]))
model.l1.kernel[...]
---
model.drop.rate = 0.0
---
history["train_loss"].clear()
---
y = 1 - y; opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

### xa-nnx-param-surgery-swap-head-and-share-a-layer needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs): self.body = nnx.List([nnx.Linear(2, 2, rngs=rngs) for _ in range(2)]); self.head = nnx.Linear(2, 1, rngs=rngs)
    def __call__(self, x):
        for l in self.body: x = jnp.tanh(l(x))
        return self.head(x)
net = Net(nnx.Rngs(0)); x = jnp.ones((3, 2)); classes = 3
---
net.body[1] = net.body[0]
net.head = nnx.Linear(2, classes, rngs=nnx.Rngs(classes))
state = nnx.state(net, nnx.Param)
n = sum(v.size for v in jax.tree.leaves(state))
y = net(x)
print(n, net.body[0] is net.body[1], y.shape, [type(l).__name__ for l in net.body])
y
---
classes = 1
---
net.body.append(nnx.Linear(2, 2, rngs=nnx.Rngs(7)))
---
net.body[0].bias[...] = jnp.ones(2)

### xa-nnx-state-saved-as-npz-by-flat-path-and-loaded-into-a-new-model needs=flax
from flax import nnx
mk = lambda seed: nnx.Sequential(nnx.Linear(2, 3, rngs=nnx.Rngs(seed)), jnp.tanh, nnx.Linear(3, 1, rngs=nnx.Rngs(seed + 1)))
model = mk(0); x = jnp.array([[1.0, -1.0]])
---
flat = {"/".join(map(str, p)): np.asarray(v.get_value()) for p, v in nnx.to_flat_state(nnx.state(model, nnx.Param))}
np.savez("model.npz", **flat)
fresh = mk(10)
gd, st = nnx.split(fresh)
with np.load("model.npz") as z:
    new = [(p, v.replace(jnp.asarray(z["/".join(map(str, p))]))) for p, v in nnx.to_flat_state(st)]
fresh = nnx.merge(gd, nnx.from_flat_state(new))
print(sorted(flat), bool((fresh(x) == model(x)).all()))
fresh(x)
---
model.layers[0].kernel[...] *= 2
---
x = x * 0

### xa-nnx-rnn-cell-carry-kept-across-chunks-of-a-stream needs=flax
from flax import nnx
cell = nnx.GRUCell(2, 3, rngs=nnx.Rngs(0)); stream = [jnp.ones((1, 2)) * i for i in range(4)]; carry = None; pos = 0
---
if carry is None: carry = cell.initialize_carry((1, 2), rngs=nnx.Rngs(1))
outs = []
for x in stream[pos:pos + 2]:
    carry, o = cell(carry, x); outs.append(o)
pos = (pos + 2) % len(stream)
H = jnp.concatenate(outs)
print(pos, H.shape)
H
---
carry = None
---
stream.append(jnp.zeros((1, 2))); pos = 3

### xa-nnx-custom-module-counter-variable-and-vmap-over-models needs=flax
from flax import nnx
class Count(nnx.Variable): pass
class Lin(nnx.Module):
    def __init__(self, rngs): self.w = nnx.Param(rngs.params.normal((2,))); self.calls = Count(jnp.array(0))
    def __call__(self, x): self.calls[...] += 1; return x @ self.w
@nnx.vmap(in_axes=0, out_axes=0)
def create(key): return Lin(nnx.Rngs(params=key))
models = create(jax.random.split(jax.random.key(0), 3)); x = jnp.array([1.0, 2.0])
---
run = nnx.vmap(lambda m, x: m(x), in_axes=(0, None))
y = run(models, x)
best = int(y.argmax())
gd, st = nnx.split(models)
one = nnx.merge(gd, jax.tree.map(lambda v: v[best], st))
print(best, models.calls[...].tolist(), one.w.shape, int(one.calls[...]))
y
---
models.w[...] = -models.w[...]
---
x = jnp.array([0.5, -3.0])

### xa-linen-trainstate-subclass-with-batch-stats-and-key-replaced needs=flax,optax
import flax.linen as nn, optax
from flax.training import train_state
from typing import Any
class TS(train_state.TrainState):
    batch_stats: Any = None
    key: Any = None
class Net(nn.Module):
    width: int = 3
    @nn.compact
    def __call__(self, x, train: bool):
        x = nn.Dense(self.width)(x); x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.Dropout(0.3, deterministic=not train)(nn.relu(x)); return nn.Dense(1)(x)[..., 0]
def create(width, lr):
    net = Net(width); v = net.init(jax.random.key(0), jnp.ones((1, 2)), train=False)
    return TS.create(apply_fn=net.apply, params=v["params"], batch_stats=v["batch_stats"], key=jax.random.key(1), tx=optax.sgd(lr, 0.9))
state = create(3, 0.1); X = jnp.arange(8.0).reshape(4, 2); y = X.sum(1)
---
def loss(params):
    out, upd = state.apply_fn({"params": params, "batch_stats": state.batch_stats}, X, train=True, mutable=["batch_stats"], rngs={"dropout": jax.random.fold_in(state.key, state.step)})
    return jnp.mean((out - y) ** 2), upd
for _ in range(2):
    (l, upd), g = jax.value_and_grad(loss, has_aux=True)(state.params)
    state = state.apply_gradients(grads=g, batch_stats=upd["batch_stats"])
pred = state.apply_fn({"params": state.params, "batch_stats": state.batch_stats}, X, train=False)
print(state.step, type(state.step).__name__, pred.shape, jax.tree.map(jnp.shape, state.batch_stats))
state.batch_stats["BatchNorm_0"]["mean"]
---
state = create(2, 0.01)
---
state = state.replace(step=0, key=jax.random.key(5))

### xa-linen-module-dict-config-attention-mask-and-tabulate-lines needs=flax
import flax.linen as nn
cfg = {"heads": 2, "d": 4, "layers": 1}
class Block(nn.Module):
    heads: int
    @nn.compact
    def __call__(self, x, mask=None):
        h = nn.LayerNorm()(x); x = x + nn.MultiHeadDotProductAttention(self.heads)(h, h, mask=mask)
        return x + nn.Dense(x.shape[-1])(nn.gelu(nn.Dense(2 * x.shape[-1])(nn.LayerNorm()(x))))
class Enc(nn.Module):
    cfg: dict
    @nn.compact
    def __call__(self, tok):
        x = nn.Embed(7, self.cfg["d"])(tok); m = nn.make_attention_mask(tok > 0, tok > 0)
        for i in range(self.cfg["layers"]): x = Block(self.cfg["heads"], name=f"b{i}")(x, m)
        return x.mean(1)
tok = jnp.array([[1, 2, 3, 0], [4, 0, 0, 0]])
---
model = Enc(cfg)
v = model.init(jax.random.key(0), tok)
h = model.apply(v, tok)
n = {k: sum(a.size for a in jax.tree.leaves(p)) for k, p in v["params"].items()}
print(n, h.dtype)
h
---
cfg["layers"] = 2
---
tok = tok.at[1, 1].set(6)
---
cfg = {**cfg, "heads": 1, "layers": 0}

### xa-eqx-filter-jit-step-with-model-in-eval-mode-and-partition needs=equinox,optax
import equinox as eqx, optax
class CNN(eqx.Module):
    layers: list
    dropout: eqx.nn.Dropout
    def __init__(self, key):
        k = jax.random.split(key, 2); self.layers = [eqx.nn.Conv1d(1, 2, 3, key=k[0]), jax.nn.relu, jnp.ravel, eqx.nn.Linear(8, 2, key=k[1])]; self.dropout = eqx.nn.Dropout(0.5)
    def __call__(self, x, key=None):
        for l in self.layers[:-1]: x = l(x)
        return self.layers[-1](self.dropout(x, key=key))
model = CNN(jax.random.key(0)); X = jnp.arange(18.0).reshape(3, 1, 6) / 9; y = jnp.array([0, 1, 1]); optim = optax.adam(0.01); st = optim.init(eqx.filter(model, eqx.is_array)); key = jax.random.key(3)
@eqx.filter_jit
def step(model, st, x, y, key):
    @eqx.filter_value_and_grad
    def loss(m): lg = jax.vmap(m)(x, jax.random.split(key, len(x))); return optax.softmax_cross_entropy_with_integer_labels(lg, y).mean()
    l, g = loss(model); up, st = optim.update(g, st); return eqx.apply_updates(model, up), st, l
---
for _ in range(2):
    key, sub = jax.random.split(key)
    model, st, l = step(model, st, X, y, sub)
ev = eqx.nn.inference_mode(model)
lg = jax.vmap(ev)(X)
params, static = eqx.partition(model, eqx.is_inexact_array)
print(ev.dropout.inference, model.dropout.inference, len(jax.tree.leaves(params)), static.layers[1] is jax.nn.relu)
lg, l
---
model = eqx.tree_at(lambda m: m.dropout.p, model, 0.0)
---
model = eqx.tree_at(lambda m: m.layers[1], model, jnp.tanh)
---
optim = optax.sgd(0.1); st = optim.init(eqx.filter(model, eqx.is_array))

### xa-eqx-stateful-counter-and-batchnorm-with-make-with-state needs=equinox
import equinox as eqx
class Net(eqx.Module):
    norm: eqx.nn.BatchNorm
    lin: eqx.nn.Linear
    calls: eqx.nn.StateIndex
    def __init__(self, key): self.norm = eqx.nn.BatchNorm(2, "b", mode="batch"); self.lin = eqx.nn.Linear(2, 1, key=key); self.calls = eqx.nn.StateIndex(jnp.array(0))
    def __call__(self, x, state):
        state = state.set(self.calls, state.get(self.calls) + 1); x, state = self.norm(x, state); return self.lin(x), state
model, state = eqx.nn.make_with_state(Net)(jax.random.key(0)); X = jnp.arange(8.0).reshape(4, 2)
---
y, state = jax.vmap(model, axis_name="b", in_axes=(0, None), out_axes=(0, None))(X, state)
n = int(state.get(model.calls))
ev = eqx.nn.inference_mode(model)
z, _ = jax.vmap(ev, axis_name="b", in_axes=(0, None), out_axes=(0, None))(X, state)
print(n, y.shape)
z
---
X = X * 2
---
model, state = eqx.nn.make_with_state(Net)(jax.random.key(9))

### xa-optax-chain-inject-hyperparams-lr-changed-by-hand-between-epochs needs=optax
import optax
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.inject_hyperparams(optax.adam)(learning_rate=0.1)); w = {"a": jnp.array([3.0, -2.0]), "b": jnp.float32(1)}
st = tx.init(w)
---
for s in range(3):
    g = jax.grad(lambda w: jnp.sum(w["a"] ** 4) + w["b"] ** 2)(w)
    up, st = tx.update(g, st, w); w = optax.apply_updates(w, up)
st[1].hyperparams["learning_rate"] = st[1].hyperparams["learning_rate"] * 0.5
print(float(st[1].hyperparams["learning_rate"]), int(st[1].count), optax.tree.norm(w) > 0)
w
---
st[1].hyperparams["learning_rate"] = jnp.float32(1.0)
---
st[1].hyperparams["learning_rate"] = 0.01
---
st = tx.init(w)

### xa-optax-schedules-joined-printed-and-sampled-in-a-loop needs=optax
import optax
warm, total, peak = 3, 9, 0.4
---
sched = optax.join_schedules([optax.linear_schedule(0.0, peak, warm), optax.cosine_decay_schedule(peak, total - warm, 0.1)], [warm])
vals = [sched(i) for i in range(total)]
arr = jax.vmap(sched)(jnp.arange(total))
kinds = [type(v).__name__ for v in vals[:2]], vals[0].weak_type if hasattr(vals[0], "weak_type") else None, arr.dtype
print([f"{float(v):.3f}" for v in vals[::3]], kinds)
w = jnp.ones(2)
for v in vals: w = w - v * w
w
---
warm = 1
---
peak = 1; total = 5

### xa-optax-lbfgs-with-value-and-grad-from-state-until-small-gradient needs=optax
import optax
f = lambda w: jnp.sum(100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2); w0 = jnp.array([-1.0, 1.5]); tol = 1e-1
---
opt = optax.lbfgs(memory_size=4); w, st = w0, opt.init(w0); vg = optax.value_and_grad_from_state(f); it = 0
while True:
    v, g = vg(w, state=st)
    up, st = opt.update(g, st, w, value=v, grad=g, value_fn=f); w = optax.apply_updates(w, up); it += 1
    if optax.tree.norm(optax.tree.get(st, "grad")) < tol or it >= 12: break
print(it > 0, float(f(w)) < float(f(w0)))
jnp.round(f(w), 2) <= f(w0)
---
w0 = jnp.array([0.5, 0.5])
---
tol = 10

### xa-optax-ctc-and-accumulate-with-apply-every-and-lookahead needs=optax
import optax
logits = jax.random.normal(jax.random.key(0), (1, 6, 4)); labels = jnp.array([[1, 2, 0]]); pad = jnp.array([[0.0, 0.0, 1.0]])
---
tx = optax.MultiSteps(optax.adam(0.1), every_k_schedule=2); lg = logits; st = tx.init(lg); seen = []
for i in range(4):
    l, g = jax.value_and_grad(lambda q: optax.ctc_loss(q, jnp.zeros((1, 6)), labels, pad).sum())(lg)
    up, st = tx.update(g, st, lg); lg = optax.apply_updates(lg, up)
    seen.append((round(float(l), 3), int(st.mini_step), bool(tx.has_updated(st))))
print(seen[-1], st.gradient_step)
lg.argmax(-1)
---
labels = jnp.array([[3, 3, 1]])
---
pad = jnp.zeros((1, 3))

### xa-numpyro-hierarchical-log-density-by-hand-with-handlers needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro import handlers
from numpyro.infer.util import log_density
sigma = jnp.array([15.0, 10.0, 16.0]); y = jnp.array([28.0, 8.0, -3.0])
def model(sigma, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5)); tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("J", len(sigma)):
        theta = numpyro.sample("theta", dist.Normal(mu, tau)); numpyro.sample("obs", dist.Normal(theta, sigma), obs=y)
---
tr = handlers.trace(handlers.seed(model, 0)).get_trace(sigma, y)
vals = {k: s["value"] for k, s in tr.items() if s["type"] == "sample" and not s["is_observed"]}
lp, _ = log_density(model, (sigma, y), {}, vals)
g = jax.grad(lambda v: log_density(model, (sigma, y), {}, v)[0])(vals)
prior = handlers.trace(handlers.seed(handlers.substitute(model, {"tau": 1.0}), 1)).get_trace(sigma)
print(list(tr), {k: v.shape for k, v in g.items()}, prior["obs"]["value"].shape)
lp, g["mu"]
---
y = y.at[0].set(0.0)
---
sigma = sigma[:2]; y = y[:2]

### xa-numpyro-svi-init-update-get-params-and-predictive needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO, Predictive
x = jnp.linspace(0, 1, 6); y = 2 * x + 0.1
def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0, 2)); s = 0.3
    numpyro.sample("obs", dist.Normal(a * x, s).to_event(1), obs=y)
def guide(x, y=None):
    loc = numpyro.param("loc", 0.5); sc = numpyro.param("sc", 0.1, constraint=dist.constraints.positive); numpyro.sample("a", dist.Normal(loc, sc))
lr, steps = 0.05, 4
---
svi = SVI(model, guide, numpyro.optim.Adam(lr), Trace_ELBO(num_particles=2))
st = svi.init(jax.random.key(0), x, y); losses = []
for i in range(steps):
    st, l = svi.update(st, x, y); losses.append(l)
p = svi.get_params(st)
post = Predictive(guide, params=p, num_samples=3)(jax.random.key(1), x)
pp = Predictive(model, post, return_sites=["obs"])(jax.random.key(2), x)
print(len(losses), sorted(p), pp["obs"].shape, f"{float(svi.evaluate(st, x, y)):.2f}")
p["loc"], post["a"]
---
lr = 0.5
---
y = -y; steps = 2

### xa-numpyro-distributions-truth-table-of-logprobs-and-transforms needs=numpyro
import numpyro.distributions as dist
from numpyro.distributions import transforms as T
spec = {"normal": dist.Normal(0.0, 1.0), "beta": dist.Beta(2.0, 3.0), "pois": dist.Poisson(3.0)}; pts = {"normal": 0.5, "beta": 0.2, "pois": 2}
---
rows = {k: (d.log_prob(pts[k]), d.mean, d.sample(jax.random.key(0), (2,)), d.support is d.support) for k, d in spec.items()}
tr = T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.ExpTransform()])
z = tr(jnp.array([0.0, 1.0])); back = tr.inv(z); ld = tr.log_abs_det_jacobian(jnp.array([0.0, 1.0]), z)
td = dist.TransformedDistribution(spec["normal"], tr)
print({k: (round(float(r[0]), 3), r[2].dtype) for k, r in rows.items()}, td.log_prob(z).shape)
back, ld
---
spec["beta"] = dist.Beta(1, 1)
---
pts["pois"] = jnp.array([0, 1, 2])

### xa-diffrax-lotka-volterra-dense-solution-and-event-at-peak needs=diffrax
import diffrax as dfx
theta = {"a": 1.1, "b": 0.4, "c": 0.4, "d": 0.1}; y0 = jnp.array([10.0, 5.0]); t1 = 3.0
def vf(t, y, p): return jnp.array([p["a"] * y[0] - p["b"] * y[0] * y[1], p["d"] * y[0] * y[1] - p["c"] * y[1]])
---
sol = dfx.diffeqsolve(dfx.ODETerm(vf), dfx.Tsit5(), 0.0, t1, 0.1, y0, args=theta, saveat=dfx.SaveAt(ts=jnp.linspace(0, t1, 4), dense=True), stepsize_controller=dfx.PIDController(rtol=1e-4, atol=1e-5), max_steps=200)
mid = sol.evaluate(t1 / 2)
ok = sol.result == dfx.RESULTS.successful
g = jax.grad(lambda p: dfx.diffeqsolve(dfx.ODETerm(vf), dfx.Heun(), 0.0, 1.0, 0.25, y0, args=p).ys[-1, 0])(theta)
print(sol.ys.shape, bool(ok), sorted(g), mid.shape)
sol.ys[-1], g["a"]
---
theta["a"] = 0.8
---
y0 = y0 * 0.5; t1 = 2

### xa-optimistix-newton-and-minimise-options-changed needs=optimistix
import optimistix as optx
def f(y, c): return y ** 3 - c
c = 2.0; guess = jnp.float32(1.0); solver = optx.Newton(rtol=1e-5, atol=1e-5)
---
sol = optx.root_find(f, solver, guess, args=c, max_steps=30)
dc = jax.grad(lambda c: optx.root_find(f, solver, guess, args=c).value)(c)
fp = optx.fixed_point(lambda y, a: jnp.cos(y) * a, optx.FixedPointIteration(rtol=1e-4, atol=1e-4), jnp.float32(0.5), args=0.9)
print(sol.result == optx.RESULTS.successful, float(sol.value) ** 3 > 1.9 * (c / 2), sol.value.dtype)
sol.value, dc, fp.value
---
c = 3.0
---
solver = optx.Bisection(rtol=1e-5, atol=1e-5) if False else optx.Chord(rtol=1e-5, atol=1e-5)

### xa-haiku-transform-with-state-ema-and-params-merged-by-predicate needs=haiku,optax
import haiku as hk, optax
def fwd(x, train):
    x = hk.Linear(3, name="enc")(x); x = hk.BatchNorm(True, True, 0.9)(x, train); n = hk.get_state("n", (), init=jnp.zeros); hk.set_state("n", n + 1)
    return hk.Linear(1, name="dec")(jax.nn.relu(x))[:, 0]
net = hk.transform_with_state(fwd); X = jnp.arange(6.0).reshape(3, 2); y = X[:, 0]; params, state = net.init(jax.random.key(0), X, True); frozen = "enc"
---
train, rest = hk.data_structures.partition(lambda m, n, v: not m.startswith(frozen), params)
def loss(train, state): out, state = net.apply(hk.data_structures.merge(train, rest), state, None, X, True); return jnp.mean((out - y) ** 2), state
for _ in range(2):
    (l, state), g = jax.value_and_grad(loss, has_aux=True)(train, state)
    train = jax.tree.map(lambda p, g: p - 0.05 * g, train, g)
params = hk.data_structures.merge(train, rest)
print(sorted(train), int(state["~"]["n"]), hk.data_structures.tree_size(params))
params["dec"]["w"]
---
frozen = "dec"
---
state = jax.tree.map(jnp.zeros_like, state)
---
frozen = "nothing"; y = y * 10

### xa-orbax-pytree-checkpointer-saves-step-folders-latest-restored needs=orbax.checkpoint
import orbax.checkpoint as ocp
ckptr = ocp.PyTreeCheckpointer(); root = Path("ck").absolute(); state = {"w": jnp.arange(3.0), "step": 0}
---
steps = sorted(int(p.name) for p in root.iterdir()) if root.exists() else []
if steps:
    state = ckptr.restore(root / str(steps[-1]))
    state["w"] = jnp.asarray(state["w"])
state = {"w": state["w"] * 2 + 1, "step": int(state["step"]) + 1}
ckptr.save(root / str(state["step"]), state)
print(steps, state["step"])
state["w"]
---
shutil.rmtree(root / "2")
---
shutil.rmtree(root); state = {"w": jnp.ones(2), "step": 7}

### xa-pandas-groupby-features-then-ridge-in-jax-and-submission-csv needs=pandas
import pandas as pd
df = pd.DataFrame({"store": ["a", "a", "b", "b", "c"], "day": [1, 2, 1, 2, 1], "sales": [3.0, 4.0, 10.0, 12.0, 7.0]}); lam = 0.1
---
df["lag"] = df.groupby("store")["sales"].shift(1).fillna(df["sales"].mean())
d = pd.get_dummies(df["store"], dtype=float)
X = jnp.asarray(np.column_stack([d.to_numpy(), df[["lag", "day"]]]), jnp.float32); y = jnp.asarray(df["sales"].to_numpy(), jnp.float32)
w = jnp.linalg.solve(X.T @ X + lam * jnp.eye(X.shape[1]), X.T @ y)
df["pred"] = np.asarray(X @ w)
sub = df.assign(pred=lambda t: t["pred"].round(1))[["store", "day", "pred"]]
sub.to_csv("sub.csv", index=False)
print(sub.shape, list(d.columns), Path("sub.csv").read_text().count("\n"))
w.shape, float(((X @ w - y) ** 2).mean()) < 10
---
df.loc[len(df)] = ["c", 2, 9.0, 0.0, 0.0]
---
lam = 5
---
df = df.rename(columns={"pred": "old"}).replace({"store": {"c": "a"}})

### xa-pandas-rolling-signal-crossing-and-equity-curve-by-scan needs=pandas
import pandas as pd
px = pd.Series([100.0, 101, 103, 102, 99, 98, 101, 105], index=pd.date_range("2024-01-01", periods=8), name="close"); fast, slow, fee = 2, 3, 0.001
---
sig = (px.rolling(fast).mean() > px.rolling(slow).mean()).astype(int).shift(1).fillna(0)
ret = px.pct_change().fillna(0)
def body(c, rs):
    eq, pos = c; r, s = rs
    eq = eq * (1 + s * r) * (1 - fee * jnp.abs(s - pos)); return (eq, s), eq
(_, _), eq = lax.scan(body, (jnp.float32(1), jnp.float32(0)), (jnp.asarray(ret.values, jnp.float32), jnp.asarray(sig.values, jnp.float32)))
curve = pd.Series(np.asarray(eq), index=px.index)
dd = (curve / curve.cummax() - 1).min()
print(sig.tolist(), f"{curve.iloc[-1]:.4f} {dd:.4f}", curve.idxmax().date())
eq
---
fast = 1
---
px.iloc[3] = 110
---
fee = 0

### xa-sklearn-pipeline-scaler-then-jax-logistic-estimator-with-fit-and-get-params needs=sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.datasets import make_classification
X, y = make_classification(24, 4, random_state=0)
class JaxLogit(ClassifierMixin, BaseEstimator):
    def __init__(self, lr=0.5, n_iter=5): self.lr, self.n_iter = lr, n_iter
    def fit(self, X, y):
        X, y = jnp.asarray(X, jnp.float32), jnp.asarray(y, jnp.float32); w = jnp.zeros(X.shape[1]); self.loss_curve_ = []
        for _ in range(self.n_iter):
            l, g = jax.value_and_grad(lambda w: jnp.mean(jax.nn.softplus(X @ w) - y * (X @ w)))(w); w = w - self.lr * g; self.loss_curve_.append(float(l))
        self.coef_, self.classes_ = w, np.unique(y); return self
    def predict(self, X): return np.asarray(jnp.asarray(X, jnp.float32) @ self.coef_ > 0).astype(int)
kw = {"lr": 0.5}
---
pipe = make_pipeline(StandardScaler(), JaxLogit(**kw)).fit(X, y)
acc = pipe.score(X, y)
est = pipe[-1]
print(est, f"{acc:.2f}", [round(l, 3) for l in est.loss_curve_[-2:]], est.get_params())
est.coef_
---
kw["n_iter"] = 2
---
pipe.set_params(jaxlogit__lr=3.0); kw = {"lr": 1}

### xa-matplotlib-loss-curves-grid-of-hyperparameters-saved needs=matplotlib
import matplotlib; matplotlib.use("Agg"); import matplotlib.pyplot as plt
lrs = [0.1, 0.5]; x = jnp.linspace(-1, 1, 5)
---
fig, axes = plt.subplots(1, len(lrs), figsize=(3 * len(lrs), 2), squeeze=False, sharey=True)
final = {}
for ax, lr in zip(axes.flat, lrs):
    a, ls = jnp.float32(0), []
    for _ in range(4):
        l, g = jax.value_and_grad(lambda a: jnp.mean((a * x - 2 * x) ** 2))(a); a = a - lr * g; ls.append(l)
    ax.plot(ls, marker="o", label=f"lr={lr}"); ax.set_title(f"a={a:.2f}"); ax.legend(); final[lr] = a
fig.tight_layout(); fig.savefig("loss.png"); plt.close(fig)
print([ax.get_title() for ax in axes.flat], os.path.getsize("loss.png") > 1000, plt.get_fignums())
final
---
lrs.append(1.0)
---
x = x * 2

### xa-tqdm-trange-postfix-and-break-with-description needs=tqdm
from tqdm import tqdm, trange
w = jnp.array([2.0, 2.0]); n = 5
---
bar = trange(n, desc="fit", file=io.StringIO(), ncols=60)
for i in bar:
    l, g = jax.value_and_grad(lambda w: (w ** 2).sum())(w); w = w - 0.2 * g
    bar.set_postfix(loss=f"{l:.3f}")
    if l < 0.5: break
last = bar.postfix
bar.close(); done = bar.n; del bar
xs = [float(v) for v in tqdm(w, disable=True)]
print(i, last, done)
---
w = jnp.array([9.0, 1.0])
---
n = 2; w = w + 5

### xa-eqx-serialise-leaves-to-file-and-load-into-a-skeleton needs=equinox
import equinox as eqx
mk = lambda k, w=3: eqx.nn.MLP(2, 1, w, 1, key=jax.random.key(k)); model = mk(0); hyper = {"w": 3}; x = jnp.ones(2)
---
with open("m.eqx", "wb") as f:
    f.write((json.dumps(hyper) + "\n").encode()); eqx.tree_serialise_leaves(f, model)
with open("m.eqx", "rb") as f:
    h = json.loads(f.readline().decode()); back = eqx.tree_deserialise_leaves(f, mk(1, **h))
y = back(x); same = eqx.tree_equal(model, back)
print(h, bool(same), os.path.getsize("m.eqx") > 100)
y
---
model = eqx.tree_at(lambda m: m.layers[0].bias, model, replace_fn=lambda b: b + 1)
---
hyper["w"] = 2; model = mk(4, 2)

### xa-jaxtyping-annotated-functions-and-shape-error-caught needs=jaxtyping
from jaxtyping import Array, Float, Int, jaxtyped
@jaxtyped(typechecker=None)
def gram(x: Float[Array, "n d"], l: float = 1.0) -> Float[Array, "n n"]: return jnp.exp(-((x[:, None] - x) ** 2).sum(-1) / l)
x = jnp.arange(6.0).reshape(3, 2); l = 1.0
---
K = gram(x, l)
ok = isinstance(K, Float[Array, "3 3"]), isinstance(x, Float[Array, "a a"]), isinstance(x, Int[Array, "..."])
L = jnp.linalg.cholesky(K + 1e-3 * jnp.eye(len(x)))
print(ok, gram.__annotations__["l"])
L
---
l = 4
---
x = x[:2]

### xa-distribution-of-libraries-versions-and-backend-flags-in-a-report needs=optax,flax
import optax, flax
x = jnp.ones((2, 2))
---
info = {"jax": jax.__version__.count("."), "backend": jax.default_backend(), "x64": jax.config.jax_enable_x64, "dev": jax.local_device_count() > 0, "opt": optax.__name__, "flax": hasattr(flax, "nnx")}
y = (x @ x).astype(jnp.bfloat16 if info["backend"] == "tpu" else x.dtype)
print(json.dumps(info))
y
---
x = x.astype(jnp.float16)

### xa-nnx-optimizer-state-inspected-and-lr-schedule-read-by-step needs=flax,optax
from flax import nnx
import optax
sched = optax.exponential_decay(0.1, 2, 0.5, staircase=True); model = nnx.Linear(2, 1, rngs=nnx.Rngs(0)); opt = nnx.Optimizer(model, optax.chain(optax.trace(0.9), optax.scale_by_learning_rate(sched)), wrt=nnx.Param); X = jnp.ones((2, 2))
---
lrs = []
for _ in range(3):
    lrs.append(float(sched(opt.step[...])))
    g = nnx.grad(lambda m: jnp.mean((m(X) - 1) ** 2))(model); opt.update(model, g)
mom = nnx.to_pure_dict(nnx.state(opt))["opt_state"]
print(lrs, int(opt.step[...]), len(jax.tree.leaves(mom)))
model.bias[...]
---
opt.step[...] = jnp.zeros_like(opt.step[...])
---
X = X * 2; model.kernel[...] = jnp.zeros((2, 1))

### xa-diffrax-sde-euler-paths-vmap-and-mean-variance needs=diffrax
import diffrax as dfx
mu, sig, n = 0.1, 0.2, 3
---
def path(key):
    bm = dfx.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=key)
    terms = dfx.MultiTerm(dfx.ODETerm(lambda t, y, a: mu * y), dfx.ControlTerm(lambda t, y, a: sig * y, bm))
    return dfx.diffeqsolve(terms, dfx.EulerHeun(), 0.0, 1.0, 0.1, jnp.float32(1.0), saveat=dfx.SaveAt(ts=jnp.linspace(0, 1, 3))).ys
P = jax.vmap(path)(jax.random.split(jax.random.key(0), n))
print(P.shape, f"{P[:, -1].mean():.3f}")
P
---
sig = 0.0
---
n, mu = 2, 1
""",
)
