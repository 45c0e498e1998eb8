"""Training and inference as in repositories and threads: libraries mixed, loops with bookkeeping, models that change."""

from ..cell import written

PRELUDE = """
import os, sys, io, json, csv, math, time, copy, pickle, random, itertools, functools, collections, threading, queue
import logging, contextlib, operator
from collections import defaultdict, deque, namedtuple, OrderedDict
from dataclasses import dataclass, field, replace, asdict
from functools import partial, wraps
from pathlib import Path
from typing import Any, Callable, NamedTuple, Sequence
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, random as jr
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### iam-nnx-multitask-heads-dict-with-uncertainty-weights needs=flax
from flax import nnx
class MultiTask(nnx.Module):
    def __init__(self, tasks, *, rngs):
        self.trunk = nnx.Linear(6, 8, rngs=rngs)
        self.heads = nnx.Dict({t: nnx.Linear(8, d, rngs=rngs) for t, d in tasks.items()})
        self.log_var = nnx.Param(jnp.zeros(len(tasks)))
        self.tasks = tuple(tasks)
    def __call__(self, x):
        h = nnx.gelu(self.trunk(x))
        return {t: self.heads[t](h) for t in self.tasks}
rng = np.random.default_rng(0)
tasks = {"age": 1, "kind": 3}
X = rng.normal(size=(10, 6)).astype(np.float32)
Y = {"age": X[:, :1] * 2, "kind": (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)}
model = MultiTask(tasks, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.adamw(3e-2, weight_decay=1e-3), wrt=nnx.Param)
steps = 3
---
def loss_fn(model):
    out = model(X)
    parts = {"age": jnp.mean((out["age"] - Y["age"]) ** 2)}
    if "kind" in out:
        parts["kind"] = optax.softmax_cross_entropy_with_integer_labels(out["kind"], Y["kind"]).mean()
    lv = model.log_var[...]
    total = sum(jnp.exp(-lv[i]) * parts[t] + lv[i] for i, t in enumerate(model.tasks))
    return total, parts
curves = defaultdict(list)
for step in range(steps):
    (loss, parts), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model)
    opt.update(model, grads)
    for name, v in parts.items():
        curves[name].append(v)
    if step == steps - 1:
        print(f"{loss:.3f}", {k: f"{v:.3f}" for k, v in parts.items()}, model.log_var.shape)
sigma = dict(zip(model.tasks, jnp.exp(0.5 * model.log_var[...])))
sigma["age"], int(opt.step[...])
---
model.log_var[...] = jnp.array([1.0, -1.0])
---
X = X[:5]; Y = jax.tree.map(lambda a: a[:5], Y)
---
model = MultiTask({"age": 1}, rngs=nnx.Rngs(1)); opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
---
model.trunk = nnx.Linear(6, 8, rngs=nnx.Rngs(9)); opt = nnx.Optimizer(model, optax.lamb(0.01), wrt=nnx.Param)

### iam-gradient-cached-clip-contrastive-two-towers
def tower(p, x):
    h = jnp.tanh(x @ p["w1"]) @ p["w2"]
    return h / jnp.linalg.norm(h, axis=-1, keepdims=True)
k = jr.split(jr.key(8), 6)
params = {"img": {"w1": jr.normal(k[0], (5, 6)), "w2": jr.normal(k[1], (6, 4))},
          "txt": {"w1": jr.normal(k[2], (3, 6)), "w2": jr.normal(k[3], (6, 4))}, "logit_scale": jnp.log(1 / 0.07)}
img, txt = jr.normal(k[4], (8, 5)), jr.normal(k[5], (8, 3))
chunk, lr = 4, 0.05
---
def clip_loss(zi, zt, scale):
    logits = jnp.exp(jnp.minimum(scale, 4.6)) * zi @ zt.T
    lab = jnp.arange(len(zi))
    ce = optax.softmax_cross_entropy_with_integer_labels
    return 0.5 * (ce(logits, lab).mean() + ce(logits.T, lab).mean())
chunks = [slice(i, i + chunk) for i in range(0, len(img), chunk)]
zi = jnp.concatenate([tower(params["img"], img[s]) for s in chunks])
zt = jnp.concatenate([tower(params["txt"], txt[s]) for s in chunks])
loss, (di, dt, ds) = jax.value_and_grad(clip_loss, argnums=(0, 1, 2))(zi, zt, params["logit_scale"])
grads = {"img": None, "txt": None, "logit_scale": ds}
for s in chunks:
    for name, x, d in (("img", img, di), ("txt", txt, dt)):
        _, vjp = jax.vjp(lambda p: tower(p, x[s]), params[name])
        (g,) = vjp(d[s])
        grads[name] = g if grads[name] is None else jax.tree.map(operator.add, grads[name], g)
full = jax.grad(lambda p: clip_loss(tower(p["img"], img), tower(p["txt"], txt), p["logit_scale"]))(params)
err = jax.tree.reduce(max, jax.tree.map(lambda a, b: float(jnp.abs(a - b).max()), grads, full))
params = optax.tree_utils.tree_add_scale(params, -lr, grads)
top1 = (jnp.argmax(zi @ zt.T, 1) == jnp.arange(len(img))).mean()
print(err < 1e-4, f"{loss:.3f} {top1:.2f}", params["logit_scale"].weak_type)
loss
---
chunk = 8
---
lr = 0.5
---
img, txt = img[:6], txt[:6]
---
params["logit_scale"] = jnp.float32(10.0)

### iam-linen-transformer-encoder-padding-masks-and-rel-bias needs=flax
import flax.linen as nn
class RelBias(nn.Module):
    heads: int
    span: int = 3
    @nn.compact
    def __call__(self, n):
        table = self.param("table", nn.initializers.normal(0.1), (self.heads, 2 * self.span + 1))
        d = jnp.clip(jnp.arange(n)[None] - jnp.arange(n)[:, None], -self.span, self.span) + self.span
        return table[:, d]
class Block(nn.Module):
    heads: int = 2
    dim: int = 8
    @nn.compact
    def __call__(self, x, mask, train):
        b, n, _ = x.shape
        h = nn.LayerNorm()(x)
        qkv = nn.DenseGeneral((3, self.heads, self.dim // self.heads), use_bias=False, name="qkv")(h)
        q, k, v = (qkv[:, :, i] for i in range(3))
        a = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1]) + RelBias(self.heads)(n)
        a = jnp.where(mask[:, None, None], a, jnp.finfo(a.dtype).min)
        w = nn.softmax(a)
        self.sow("intermediates", "attn", w)
        o = jnp.einsum("bhqk,bkhd->bqhd", w, v).reshape(b, n, -1)
        x = x + nn.Dropout(0.2, deterministic=not train)(nn.Dense(self.dim)(o))
        return x + nn.Dense(self.dim)(nn.gelu(nn.Dense(16)(nn.LayerNorm()(x))))
class Encoder(nn.Module):
    layers: int = 2
    @nn.compact
    def __call__(self, ids, train=False):
        mask = ids != 0
        x = nn.Embed(12, 8)(ids)
        for i in range(self.layers): x = Block(name=f"block{i}")(x, mask, train)
        return nn.Dense(2)(jnp.sum(x * mask[..., None], 1) / jnp.maximum(mask.sum(1, keepdims=True), 1))
sents = [[1, 2, 3], [4, 5], [6, 7, 8, 9, 10]]
labels = jnp.array([0, 1, 0])
model = Encoder()
---
width = max(map(len, sents))
ids = jnp.array([s + [0] * (width - len(s)) for s in sents])
variables = model.init({"params": jr.key(0), "dropout": jr.key(1)}, ids, train=True)
params = variables["params"]
tx = optax.lion(1e-2)
opt_state = tx.init(params)
for i in range(2):
    def loss(p):
        lg = model.apply({"params": p}, ids, train=True, rngs={"dropout": jr.fold_in(jr.key(2), i)})
        return optax.softmax_cross_entropy_with_integer_labels(lg, labels).mean()
    l, g = jax.value_and_grad(loss)(params)
    up, opt_state = tx.update(g, opt_state, params)
    params = optax.apply_updates(params, up)
logits, inter = model.apply({"params": params}, ids, mutable=["intermediates"])
attn = {k: v["attn"][0].shape for k, v in inter["intermediates"].items()}
pad_weight = max(float(v["attn"][0][1, :, :, 2:].max()) for v in inter["intermediates"].values())
n_params = sum(x.size for x in jax.tree.leaves(params))
print(attn, f"{pad_weight:.1f}", n_params, f"{l:.3f}", sorted(variables))
logits.argmax(-1)
---
sents[1] = [4, 5, 6, 7, 8, 9]
---
model = Encoder(layers=1)
---
labels = jnp.array([1, 1, 1])
---
model = model.clone(layers=3); sents = sents[:2]; labels = labels[:2]

### iam-eqx-convlstm-frames-teacher-forcing-schedule needs=equinox
import equinox as eqx
class Cell(eqx.Module):
    gates: eqx.nn.Conv2d
    hidden: int = eqx.field(static=True)
    def __init__(self, cin, hidden, key):
        self.gates = eqx.nn.Conv2d(cin + hidden, 4 * hidden, 3, padding=1, key=key)
        self.hidden = hidden
    def __call__(self, state, x):
        h, c = state
        i, f, g, o = jnp.split(self.gates(jnp.concatenate([x, h])), 4)
        c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c)
class Net(eqx.Module):
    cell: Cell
    out: eqx.nn.Conv2d
    def __init__(self, key):
        k1, k2 = jr.split(key)
        self.cell, self.out = Cell(1, 2, k1), eqx.nn.Conv2d(2, 1, 1, key=k2)
    def rollout(self, frames, force):
        state = (jnp.zeros((2, 4, 4)),) * 2
        preds, x = [], frames[0]
        for t in range(len(frames) - 1):
            state = self.cell(state, x)
            p = self.out(state[0])
            preds.append(p)
            x = frames[t + 1] if force[t] else p
        return jnp.stack(preds)
frames = jnp.asarray(np.random.default_rng(1).random((4, 1, 4, 4)), jnp.float32)
net = Net(jr.key(0))
opt = optax.rmsprop(1e-2)
opt_state = opt.init(eqx.filter(net, eqx.is_array))
epochs = 3
---
rnd = random.Random(epochs)
@eqx.filter_jit
def step(net, opt_state, frames, force):
    loss, g = eqx.filter_value_and_grad(lambda n: jnp.mean((n.rollout(frames, force) - frames[1:]) ** 2))(net)
    up, opt_state = opt.update(g, opt_state)
    return eqx.apply_updates(net, up), opt_state, loss
losses = {}
for e in range(epochs):
    force = tuple(rnd.random() < 0.9 ** e for _ in range(len(frames) - 1))
    net, opt_state, loss = step(net, opt_state, frames, force)
    losses.setdefault(force, []).append(loss.item())
free = net.rollout(frames, (False,) * 3)
psnr = 10 * jnp.log10(1 / jnp.mean((free - frames[1:]) ** 2))
print({sum(k): len(v) for k, v in losses.items()}, f"{psnr:.2f} dB", net.cell.hidden)
min(map(min, losses.values()))
---
epochs = 2
---
frames = frames * 0.5
---
net = eqx.tree_at(lambda n: n.out.bias, net, replace_fn=jnp.zeros_like)
---
opt = optax.noisy_sgd(1e-2, seed=3); opt_state = opt.init(eqx.filter(net, eqx.is_array))

### iam-haiku-mixture-density-with-hk-switch-and-custom-init needs=haiku tolerance=1e-3
import haiku as hk
n_mix, hidden = 3, (8,)
def forward(x):
    h = hk.nets.MLP([*hidden, 3 * n_mix], activation=jnp.tanh,
                    w_init=hk.initializers.VarianceScaling(2.0, "fan_avg", "uniform"))(x)
    logit, mu, ls = jnp.split(h, 3, -1)
    count = hk.get_state("count", [], jnp.int32, init=jnp.zeros)
    hk.set_state("count", count + 1)
    return jax.nn.log_softmax(logit), mu, jnp.clip(ls, -3, 2)
net = hk.without_apply_rng(hk.transform_with_state(forward))
rng = np.random.default_rng(0)
t = rng.uniform(-1, 1, 24)
xy = (t[:, None] + 0.3 * np.sin(6 * t[:, None])).astype(np.float32), t.astype(np.float32)
---
x, y = map(jnp.asarray, xy)
params, state = net.init(jr.PRNGKey(42), x)
def nll(params, state):
    (lp, mu, ls), state = net.apply(params, state, x)
    comp = lp - 0.5 * ((y[:, None] - mu) / jnp.exp(ls)) ** 2 - ls - 0.5 * math.log(2 * math.pi)
    return -jax.nn.logsumexp(comp, axis=-1).mean(), state
opt = optax.adabelief(5e-3)
opt_state = opt.init(params)
trace = np.zeros(4)
for i in range(len(trace)):
    (trace[i], state), g = jax.value_and_grad(nll, has_aux=True)(params, state)
    updates, opt_state = opt.update(g, opt_state, params)
    params = optax.apply_updates(params, updates)
(lp, mu, ls), _ = net.apply(params, state, jnp.linspace(-1, 1, 5)[:, None])
modes = jnp.take_along_axis(mu, lp.argmax(-1)[:, None], 1)[:, 0]
shapes = hk.data_structures.map(lambda m, n, v: v.shape, params)
print(jax.tree.map(str, shapes), trace.round(2), int(next(iter(state.values()))["count"]))
modes
---
n_mix = 2
---
hidden = (4, 4)
---
xy = xy[0][:10] * 2, xy[1][:10]
---
def forward(x): return jax.nn.log_softmax(hk.Linear(2)(x)), hk.Linear(2, name="mu")(x), jnp.zeros((len(x), 2))
net = hk.without_apply_rng(hk.transform_with_state(forward))

### iam-optax-chain-own-schedule-object-callable-with-memory
class Plateau:
    def __init__(self, lr, patience=1, factor=0.5):
        self.lr, self.patience, self.factor = lr, patience, factor
        self.best, self.bad, self.events = float("inf"), 0, []
    def update(self, metric, step):
        if metric < self.best - 1e-3: self.best, self.bad = metric, 0
        else:
            self.bad += 1
            if self.bad > self.patience:
                self.lr, self.bad = self.lr * self.factor, 0
                self.events.append((step, self.lr))
        return self
    def __call__(self, count): return self.lr
    def state_dict(self): return {k: v for k, v in vars(self).items() if k != "events"}
sched = Plateau(0.9)
A = jnp.diag(jnp.array([1.0, 2.0, 2.4]))
x0 = jnp.ones(3)
n = 6
---
x = x0
tx = optax.chain(optax.trace(0.5), optax.scale_by_learning_rate(sched))
st = tx.init(x)
for k in range(n):
    val, g = jax.value_and_grad(lambda x: 0.5 * x @ A @ x)(x)
    up, st = tx.update(g, st, x)
    x = optax.apply_updates(x, up)
    sched.update(float(val), k)
saved = sched.state_dict()
clone = Plateau(**{k: saved[k] for k in ("lr", "patience", "factor")})
print(len(sched.events), f"{sched.lr:.4f}", saved["bad"], clone.best)
val, jax.tree.map(jnp.shape, st[0].trace)
---
sched = Plateau(0.3, factor=0.1)
---
sched.best = float("inf"); sched.events.clear()
---
A = A * 2; n = 2
---
sched.__class__ = type("Const", (Plateau,), {"update": lambda self, m, s: self})

### iam-numpyro-gp-and-horseshoe-map-by-svi-autodelta needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO, Predictive
from numpyro.infer.autoguide import AutoDelta, AutoNormal
rng = np.random.default_rng(3)
X = rng.normal(size=(12, 4)).astype(np.float32); beta_true = np.array([2.0, 0, 0, -1], np.float32)
y = X @ beta_true + 0.1 * rng.normal(size=12).astype(np.float32)
def model(X, y=None):
    tau = numpyro.sample("tau", dist.HalfCauchy(0.5))
    with numpyro.plate("features", X.shape[1]):
        lam = numpyro.sample("lam", dist.HalfCauchy(1.0))
        z = numpyro.sample("z", dist.Normal(0, 1))
    beta = numpyro.deterministic("beta", z * lam * tau)
    numpyro.sample("obs", dist.Normal(X @ beta, 0.2), obs=y)
guide_cls, iters, seed = AutoDelta, 5, 0
---
guide = guide_cls(model)
svi = SVI(model, guide, optax.adam(5e-2), Trace_ELBO())
state = svi.init(jr.key(seed), X, y)
losses = []
for i in range(iters):
    state, loss = svi.update(state, X, y)
    losses.append(loss)
params = svi.get_params(state)
median = guide.median(params)
pred = Predictive(model, guide=guide, params=params, num_samples=3)(jr.key(1), X)
beta = pred["beta"].mean(0)
order = jnp.argsort(-jnp.abs(beta))
print(sorted(median), [tuple(v.shape) for v in pred.values()], f"{losses[-1]:.1f}", losses[0] > losses[-1])
order[:1], jnp.stack(losses).shape
---
guide_cls = AutoNormal
---
X, y = X[:, :3], y * 2
---
seed = 5; iters = 2

### iam-diffrax-latent-fit-of-oscillator-with-eqx-params-and-checks needs=diffrax
import diffrax, equinox as eqx
class Osc(eqx.Module):
    log_k: jax.Array
    c: jax.Array
    forcing: Callable = eqx.field(static=True)
    def __call__(self, t, y, args):
        return jnp.array([y[1], -jnp.exp(self.log_k) * y[0] - self.c * y[1] + args["amp"] * self.forcing(t)])
ts = jnp.linspace(0, 3, 13)
osc = Osc(jnp.array(0.2), jnp.array(0.1), jnp.sin)
data = np.cos(1.3 * np.asarray(ts)) * np.exp(-0.1 * np.asarray(ts))
args = {"amp": 0.0}
solver = diffrax.Tsit5()
---
def simulate(osc, args):
    sol = diffrax.diffeqsolve(diffrax.ODETerm(osc), solver, 0.0, 3.0, 0.05, jnp.array([1.0, 0.0]), args=args,
                              saveat=diffrax.SaveAt(ts=ts), stepsize_controller=diffrax.PIDController(1e-4, 1e-6))
    return sol.ys[:, 0], sol.stats["num_steps"]
@eqx.filter_value_and_grad(has_aux=True)
def loss(osc):
    x, n = simulate(osc, args)
    return jnp.mean((x - data) ** 2), n
opt = optax.adam(0.05)
st = opt.init(eqx.filter(osc, eqx.is_inexact_array))
best = (math.inf, None)
for i in range(3):
    (val, nsteps), g = loss(osc)
    if val < best[0]:
        best = (float(val), osc)
    up, st = opt.update(g, st)
    osc = eqx.apply_updates(osc, up)
period = 2 * jnp.pi / jnp.exp(osc.log_k / 2)
print(f"{best[0]:.4f} {period:.3f}", int(nsteps) > 3, best[1] is osc, osc.forcing is jnp.sin)
period, osc.c
---
args["amp"] = 0.3
---
solver = diffrax.Dopri5(); ts = ts[::2]; data = data[::2]
---
osc = Osc(jnp.array(0.0), jnp.array(0.0), jnp.cos)

### iam-actor-learner-threads-queue-of-trajectories
class Chain:
    def __init__(self, n=5, seed=0): self.n, self.rng, self.s = n, np.random.default_rng(seed), 0
    def reset(self): self.s = 0; return self.s
    def step(self, a):
        if self.rng.random() < 0.1: a = 1 - a
        self.s = min(self.s + 1, self.n - 1) if a else 0
        return self.s, float(self.s == self.n - 1), self.s == self.n - 1
def collect(env, policy, T, rng):
    s, out = env.reset(), []
    for _ in range(T):
        a = int(rng.random() < policy[s])
        s2, r, d = env.step(a)
        out.append((s, a, r))
        s = env.reset() if d else s2
    return out
theta = jnp.zeros(5); updates, T, gamma = 2, 6, 0.9
env = Chain()
---
jobs, done = queue.Queue(1), queue.Queue()
def actor():
    rng = np.random.default_rng(7)
    while (policy := jobs.get()) is not None:
        done.put(collect(env, policy, T, rng))
worker = threading.Thread(target=actor, daemon=True); worker.start()
def pg_loss(theta, s, a, ret):
    logp = jnp.where(a == 1, jax.nn.log_sigmoid(theta[s]), jax.nn.log_sigmoid(-theta[s]))
    return -jnp.mean(logp * (ret - ret.mean()))
returns = []
for u in range(updates):
    jobs.put(np.asarray(jax.nn.sigmoid(theta)))
    s, a, r = map(np.array, zip(*done.get()))
    ret = lax.scan(lambda c, r: (r + gamma * c,) * 2, 0.0, jnp.asarray(r, jnp.float32), reverse=True)[1]
    theta = theta - 0.5 * jax.grad(pg_loss)(theta, s, a, ret)
    returns.append(r.sum())
jobs.put(None); worker.join()
del worker, jobs, done
print(returns, np.round(theta, 2))
theta.argmax()
---
gamma = 0.5
---
env = Chain(3, seed=1); T = 4
---
theta = theta.at[0].set(2.0); updates = 1

### iam-graph-attention-on-numpy-adjacency-with-dropedge
nodes = ["a", "b", "c", "d", "e", "f"]
edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "e"), ("e", "f"), ("f", "d"), ("c", "d")]
target = {"a": 0, "f": 1}
feat_dim, heads, drop = 4, 2, 0.3
---
idx = {n: i for i, n in enumerate(nodes)}
snd, rcv = np.array([(idx[u], idx[v]) for u, v in edges] + [(idx[v], idx[u]) for u, v in edges] + [(i, i) for i in idx.values()]).T
n = len(nodes)
key = jr.PRNGKey(0)
kx, kw, ka, *kl = jr.split(key, 6)
x = jr.normal(kx, (n, feat_dim))
params = dict(W=jr.normal(kw, (heads, feat_dim, 4)) * 0.3, a=jr.normal(ka, (heads, 8)) * 0.3, out=jnp.zeros((heads * 4, 2)))
def gat(p, x, keep):
    def head(W, a):
        h = x @ W
        e = jax.nn.leaky_relu(jnp.concatenate([h[snd], h[rcv]], -1) @ a, 0.2)
        e = jnp.where(keep, e, -1e9)
        ex = jnp.exp(e - jax.ops.segment_max(e, rcv, n)[rcv])
        alpha = ex / jax.ops.segment_sum(ex, rcv, n)[rcv]
        return jax.ops.segment_sum(alpha[:, None] * h[snd], rcv, n), alpha
    z, alpha = jax.vmap(head)(p["W"], p["a"])
    return jax.nn.elu(z).transpose(1, 0, 2).reshape(n, -1) @ p["out"], alpha
mask = jnp.array([idx[m] for m in target])
lab = jnp.array(list(target.values()))
losses = []
for k in kl:
    keep = jr.bernoulli(k, 1 - drop, snd.shape) | (snd == rcv)
    def loss(p): return optax.softmax_cross_entropy_with_integer_labels(gat(p, x, keep)[0][mask], lab).mean()
    l, g = jax.value_and_grad(loss)(params)
    params = {name: params[name] - 0.5 * g[name] for name in params}
    losses += [l]
logits, alpha = gat(params, x, True)
pred = {m: int(c) for m, c in zip(nodes, logits.argmax(1))}
attn = {f"{nodes[s]}->{nodes[r]}": round(float(w), 2) for s, r, w in zip(snd, rcv, alpha.mean(0)) if nodes[r] == "c"}
print(pred, attn)
[l.weak_type for l in losses], alpha.sum()
---
drop = 0.0
---
edges.append(("a", "f"))
---
target["c"] = 0; heads = 1
---
nodes.append("lonely")

### iam-ddim-sampler-with-cfg-and-timestep-respacing
T = 20
betas = np.linspace(1e-3, 0.2, T, dtype=np.float64)
abar = np.cumprod(1 - betas)
k1, k2 = jr.split(jr.key(3))
W = {"x": jr.normal(k1, (2, 2)) * 0.3, "c": jr.normal(k2, (3, 2)), "t": jnp.array([0.1, -0.1])}
def eps_model(x, t, c):
    emb = 0.0 if c is None else W["c"][c]
    return x @ W["x"] + emb + W["t"] * jnp.sin(t)
n_steps, scale, eta, labels = 5, 2.0, 0.0, jnp.array([0, 1, 2, 0])
---
seq = np.unique(np.linspace(0, T - 1, n_steps).round().astype(int))[::-1]
x = jr.normal(jr.key(0), (len(labels), 2))
key = jr.key(1)
traj = [x]
for i, t in enumerate(seq):
    a_t = abar[t]
    a_p = abar[seq[i + 1]] if i + 1 < len(seq) else 1.0
    e_c, e_u = eps_model(x, t, labels), eps_model(x, t, None)
    eps = e_u + scale * (e_c - e_u)
    x0 = (x - np.sqrt(1 - a_t) * eps) / np.sqrt(a_t)
    x0 = jnp.clip(x0, -3, 3)
    sigma = eta * np.sqrt((1 - a_p) / (1 - a_t) * (1 - a_t / a_p))
    x = np.sqrt(a_p) * x0 + np.sqrt(1 - a_p - sigma ** 2) * eps
    if sigma > 0:
        key, sub = jr.split(key)
        x = x + sigma * jr.normal(sub, x.shape)
    traj.append(x)
snr = {int(t): float(np.log10(abar[t] / (1 - abar[t]))) for t in seq}
movie = jnp.stack(traj)
speed = jnp.linalg.norm(jnp.diff(movie, axis=0), axis=-1).mean(1)
print(list(snr), type(sigma).__name__, x.dtype, movie.shape)
speed, x is traj[-1]
---
eta = 1.0
---
scale = 0
---
n_steps = 3; labels = labels[:2]
---
def eps_model(x, t, c): return x * (0.5 if c is None else 1)

### iam-grokking-modular-addition-full-batch-with-weight-norms-frame tolerance=1e-3
import pandas as pd
p_mod, width, frac, lr, wd, epochs = 5, 8, 0.6, 0.02, 1.0, 4
---
pairs = np.array(list(itertools.product(range(p_mod), repeat=2)))
answers = pairs.sum(1) % p_mod
perm = np.random.default_rng(0).permutation(len(pairs))
cut = int(frac * len(pairs))
tr, va = perm[:cut], perm[cut:]
k = jr.split(jr.key(1), 3)
params = {"emb": jr.normal(k[0], (p_mod, width)) * 0.5, "h": jr.normal(k[1], (2 * width, width)) * 0.2, "out": jr.normal(k[2], (width, p_mod)) * 0.2}
def logits(prm, ab): return jax.nn.relu(prm["emb"][ab].reshape(len(ab), -1) @ prm["h"]) @ prm["out"]
def ce(prm, sel): return optax.softmax_cross_entropy_with_integer_labels(logits(prm, pairs[sel]), answers[sel]).mean()
decay_mask = {name: name != "emb" for name in params}
tx = optax.adamw(lr, weight_decay=wd, mask=decay_mask)
st = tx.init(params)
rows = []
for e in range(epochs):
    loss, g = jax.value_and_grad(ce)(params, tr)
    up, st = tx.update(g, st, params)
    params = optax.apply_updates(params, up)
    row = {"epoch": e, "train": float(loss), "val": float(ce(params, va))}
    row |= {f"norm_{n}": float(jnp.linalg.norm(v)) for n, v in params.items()}
    rows.append(row)
frame = pd.DataFrame(rows).set_index("epoch")
acc = jnp.mean(logits(params, pairs[va]).argmax(-1) == answers[va])
spectrum = jnp.abs(jnp.fft.rfft(params["emb"], axis=0)).sum(1)
print(frame.iloc[[0, -1]].round(2).to_csv(), f"acc {acc:.2f}")
int(spectrum[1:].argmax()), acc
---
p_mod = 4
---
wd, lr = 0.0, 0.05
---
width = 4; epochs = 2

### iam-nnx-rnn-scan-carry-with-stop-token-generate needs=flax
from flax import nnx
vocab = ["<eos>", "a", "b", "c", "d"]
class LM(nnx.Module):
    def __init__(self, v, d, rngs):
        self.emb = nnx.Embed(v, d, rngs=rngs)
        self.cell = nnx.GRUCell(d, d, rngs=rngs)
        self.head = nnx.Linear(d, v, rngs=rngs)
        self.d = d
    def __call__(self, ids):
        h = self.cell.initialize_carry((ids.shape[0], self.d), nnx.Rngs(0))
        outs = []
        for t in range(ids.shape[1]):
            h, o = self.cell(h, self.emb(ids[:, t]))
            outs.append(self.head(o))
        return jnp.stack(outs, 1)
lm = LM(len(vocab), 8, nnx.Rngs(2))
opt = nnx.Optimizer(lm, optax.adam(0.05), wrt=nnx.Param)
corpus = ["abc", "abd", "dca"]
epochs, temp = 3, 1.0
---
enc = {c: i for i, c in enumerate(vocab)}
ids = jnp.array([[enc[c] for c in w] + [0] for w in corpus])
@nnx.jit
def train(lm, opt, ids):
    def loss(lm):
        lg = lm(ids[:, :-1])
        return optax.softmax_cross_entropy_with_integer_labels(lg, ids[:, 1:]).mean()
    l, g = nnx.value_and_grad(loss)(lm)
    opt.update(lm, g)
    return l
for e in range(epochs):
    l = train(lm, opt, ids)
    print(f"[{e}] ppl {jnp.exp(l):.2f}")
def generate(seed, first="a", n=6):
    key, out = jr.key(seed), [enc[first]]
    while len(out) < n:
        key, k = jr.split(key)
        nxt = jr.categorical(k, lm(jnp.array([out]))[0, -1] / temp)
        if nxt == 0: break
        out.append(int(nxt))
    return "".join(vocab[i] for i in out)
texts = [generate(s) for s in range(2)]
lengths = jnp.array([len(t) for t in texts])
texts, lengths.mean()
---
temp = 0.3
---
corpus = ["aab", "bba"]
---
lm = LM(len(vocab), 4, nnx.Rngs(5)); opt = nnx.Optimizer(lm, optax.sgd(0.1), wrt=nnx.Param); epochs = 1
---
lm.emb.embedding[...] = lm.emb.embedding[...] * 0

### iam-reptile-and-anil-inner-loops-dict-of-tasks
def net(p, x): return jnp.tanh(x[:, None] * p["w1"] + p["b1"]) @ p["w2"] + p["b2"]
def init(key, h=10):
    a, b = jr.split(key)
    return {"w1": jr.normal(a, (h,)), "b1": jnp.zeros(h), "w2": jr.normal(b, (h,)) / h ** 0.5, "b2": 0.0}
theta = init(jr.key(4))
tasks = {"slow": (1.0, 0.0), "fast": (3.0, 0.5)}
inner, meta_lr, algo = 3, 0.3, "reptile"
---
xs = jnp.linspace(-1, 1, 9)
def mse(p, task):
    f, ph = tasks[task]
    return jnp.mean((net(p, xs) - jnp.sin(f * xs + ph)) ** 2)
def adapt(p, task, only=None):
    for _ in range(inner):
        g = jax.grad(mse)(p, task)
        p = {k: v - 0.1 * g[k] if only is None or k in only else v for k, v in p.items()}
    return p
match algo:
    case "reptile":
        adapted = {t: adapt(theta, t) for t in tasks}
        delta = jax.tree.map(lambda *d: sum(d) / len(d), *(jax.tree.map(jnp.subtract, a, theta) for a in adapted.values()))
    case "anil":
        outer = jax.grad(lambda th: sum(mse(adapt(th, t, {"w2", "b2"}), t) for t in tasks))(theta)
        delta = jax.tree.map(jnp.negative, outer)
        adapted = {}
    case other:
        raise ValueError(f"unknown {other!r}")
theta = jax.tree.map(lambda p, d: p + meta_lr * d, theta, delta)
after = {t: mse(adapt(theta, t), t) for t in tasks}
print(algo, {t: f"{v:.4f}" for t, v in after.items()}, type(theta["b2"]).__name__, len(adapted))
theta["b2"], max(after, key=after.get)
---
algo = "anil"
---
tasks["mid"] = (2.0, -0.2); inner = 2
---
algo = "proto"
---
algo, theta = "reptile", init(jr.key(0), 4)

### iam-optimistix-and-lineax-in-implicit-layer-deq needs=optimistix
import optimistix as optx, lineax as lx, equinox as eqx
k = jr.split(jr.key(11), 3)
W = 0.4 * jr.orthogonal(k[0], 4); U = jr.normal(k[1], (4, 3)); x = jr.normal(k[2], (3,))
rtol, max_steps, reg = 1e-5, 64, 0.1
---
solver = optx.FixedPointIteration(rtol=rtol, atol=1e-6)
def f(z, args):
    W, x = args
    return jnp.tanh(W @ z + U @ x)
def deq(W, x):
    sol = optx.fixed_point(f, solver, jnp.zeros(4), args=(W, x), max_steps=max_steps, throw=False)
    return sol.value, sol.stats["num_steps"], sol.result
z, n_it, result = deq(W, x)
g = jax.grad(lambda W: jnp.sum(deq(W, x)[0] ** 2))(W)
J = jax.jacobian(f)(z, (W, x))
op = lx.MatrixLinearOperator(jnp.eye(4) - J)
adj = lx.linear_solve(op.T, 2 * z, lx.AutoLinearSolver(well_posed=True)).value
manual = jnp.outer(adj * (1 - z ** 2), z)
gap = jnp.abs(manual - g).max()
ok = result == optx.RESULTS.successful
W = W - reg * g
spectral = jnp.linalg.norm(W, 2)
print(bool(ok), bool(gap < 1e-3), int(n_it) < max_steps, f"{spectral:.2f}")
z, spectral
---
max_steps = 3
---
x = x * 3; reg = 0.01
---
W = 0.2 * jnp.eye(4); rtol = 1e-3

### iam-bf16-compute-fp32-master-with-dynamic-scale-object tolerance=2e-2
@dataclass
class LossScale:
    value: float = 2.0 ** 6
    good: int = 0
    interval: int = 2
    def step(self, finite):
        if finite:
            self.good += 1
            if self.good % self.interval == 0: self.value *= 2
        else:
            self.value, self.good = max(self.value / 2, 1.0), 0
        return self.value
policy = {"param": jnp.float32, "compute": jnp.bfloat16, "output": jnp.float32}
cast = lambda tree, dt: jax.tree.map(lambda a: a.astype(dt) if jnp.issubdtype(a.dtype, jnp.floating) else a, tree)
ls = LossScale()
rng = np.random.default_rng(1)
batch = {"x": rng.normal(size=(8, 4)), "y": rng.integers(0, 2, 8)}
master = {"w": jnp.zeros((4, 2)), "b": jnp.zeros(2), "n": jnp.array(0)}
poison, steps = {2}, 4
---
skipped, norms = 0, []
b = {k: jnp.asarray(v) for k, v in batch.items()}
for i in range(steps):
    def scaled(p):
        p = cast(p, policy["compute"])
        lg = b["x"].astype(policy["compute"]) @ p["w"] + p["b"]
        loss = optax.softmax_cross_entropy_with_integer_labels(lg.astype(policy["output"]), b["y"]).mean()
        return loss * ls.value, loss
    floats = {k: v for k, v in master.items() if k != "n"}
    g, loss = jax.grad(scaled, has_aux=True)(floats)
    g = jax.tree.map(lambda a: a / ls.value, g)
    if i in poison: g["b"] = g["b"] * jnp.inf
    finite = jnp.all(jnp.array([jnp.isfinite(a).all() for a in jax.tree.leaves(g)]))
    if ls.step(bool(finite)) and finite:
        master = {k: master[k] - 0.1 * g[k] if k in g else master[k] + 1 for k in master}
        norms.append(optax.global_norm(g))
    else:
        skipped += 1
print(ls, skipped, master["n"], cast(master, jnp.float16)["n"].dtype)
loss, norms[-1].dtype
---
poison = {0, 1}
---
policy["compute"] = jnp.float16; ls.value = 1e6
---
ls.interval = 1; batch["x"] = batch["x"][:3]; batch["y"] = batch["y"][:3]

### iam-tensor-parallel-mlp-explicit-shardings-and-optimizer-state devices=8
mesh = jax.make_mesh((2, 4), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
specs = {"up": P(None, "model"), "down": P("model", None), "norm": P()}
def place(tree): return {k: jax.device_put(v, NamedSharding(mesh, specs[k])) for k, v in tree.items()}
ks = jr.split(jr.key(0), 2)
params = place({"up": jr.normal(ks[0], (6, 8)) * 0.2, "down": jr.normal(ks[1], (8, 6)) * 0.2, "norm": jnp.ones(6)})
x = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
tx = optax.adamw(1e-2)
---
opt_state = tx.init(params)
xb = jax.device_put(x, NamedSharding(mesh, P("data")))
@jax.jit
def forward(p, x):
    h = jax.nn.gelu((x * p["norm"]) @ p["up"])
    h = lax.with_sharding_constraint(h, NamedSharding(mesh, P("data", "model")))
    return x + h @ p["down"]
@partial(jax.jit, donate_argnums=())
def step(p, s, x):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((forward(p, x) - 1) ** 2))(p)
    up, s = tx.update(g, s, p)
    return optax.apply_updates(p, up), s, loss
for _ in range(2):
    params, opt_state, loss = step(params, opt_state, xb)
mu = opt_state[0].mu
where = {k: (str(v.sharding.spec), mu[k].sharding.spec == v.sharding.spec) for k, v in params.items()}
y = forward(params, xb)
per_device = {d.id: s.data.nbytes for s in params["up"].addressable_shards for d in [s.device]}
print(where, len(per_device), y.sharding.shard_shape(y.shape))
loss, jax.device_get(y).mean() > -10
---
x = x[:2]
---
specs["up"] = specs["down"] = P(); params = place({k: np.asarray(v) for k, v in params.items()})
---
tx = optax.sgd(0.1, momentum=0.9, accumulator_dtype=jnp.bfloat16); tx_init = tx.init
tx = optax.chain(optax.scale_by_adam(), optax.scale(-0.05))

### iam-npz-flat-checkpoint-rename-migrate-and-strict-load
ckpt = Path("model_v1.npz")
np.savez(ckpt, **{"layers/0/kernel": np.ones((3, 4)), "layers/0/bias": np.zeros(4), "layers/1/kernel": np.full((4, 2), .5),
                  "layers/1/bias": np.zeros(2), "meta/step": np.int64(17), "old/unused": np.zeros(1)})
renames = {"layers": "dense", "kernel": "w", "bias": "b"}
strict = False
target = {"dense": {"0": {"w": (3, 4), "b": (4,)}, "1": {"w": (4, 2), "b": (2,)}}}
---
def unflatten(flat):
    tree = {}
    for path, v in flat.items():
        *parents, leaf = path.split("/")
        node = tree
        for p in parents: node = node.setdefault(p, {})
        node[leaf] = v
    return tree
with np.load(ckpt) as z:
    flat = {"/".join(renames.get(p, p) for p in k.split("/")): jnp.asarray(z[k]) for k in z.files}
step = int(flat.pop("meta/step"))
loaded = unflatten(flat)
extra = set(loaded) - set(target)
if strict and extra:
    raise KeyError(f"unexpected {sorted(extra)}")
params = {k: loaded[k] for k in target}
mismatch = [jax.tree_util.keystr(p) for p, (a, s) in jax.tree_util.tree_leaves_with_path(
    jax.tree.map(lambda s, a: (a, s), target, params, is_leaf=lambda s: isinstance(s, tuple)), is_leaf=lambda t: isinstance(t, tuple)) if a.shape != s]
def apply(p, x):
    for i, name in enumerate(sorted(p["dense"])):
        x = x @ p["dense"][name]["w"] + p["dense"][name]["b"]
        if i + 1 < len(p["dense"]): x = jax.nn.relu(x)
    return x
out = apply(params, jnp.ones((1, 3)))
np.savez(f"model_v2_{step + 1}.npz", **{jax.tree_util.keystr(p, simple=True, separator="."): np.asarray(a)
                                        for p, a in jax.tree_util.tree_leaves_with_path(params)})
print(step, extra, mismatch, sorted(p.name for p in Path().glob("*.npz")))
out
---
strict = True
---
strict = False; target["dense"]["1"]["b"] = (3,)
---
np.savez(ckpt, **{"layers/0/kernel": np.eye(3), "layers/0/bias": np.ones(3, np.float16), "meta/step": 40}); target = {"dense": None}

### iam-sequence-packing-loader-thread-and-token-weighted-loss
class PackedLoader:
    def __init__(self, docs, length, prefetch=2):
        self.docs, self.length, self.prefetch, self.epoch = docs, length, prefetch, 0
    def _pack(self):
        buf, seg = [], []
        for i, d in enumerate(self.docs, 1):
            for tok in [*d, 0]:
                buf.append(tok); seg.append(i)
                if len(buf) == self.length:
                    yield np.array(buf, np.int32), np.array(seg, np.int32)
                    buf, seg = [], []
    def __iter__(self):
        self.epoch += 1
        q, end = queue.Queue(self.prefetch), object()
        def fill():
            for item in self._pack(): q.put(item)
            q.put(end)
        t = threading.Thread(target=fill, daemon=True); t.start()
        while (item := q.get()) is not end: yield item
        t.join()
docs = [[3, 4, 5], [6, 7], [8, 9, 10, 11], [1, 2]]
loader = PackedLoader(docs, 5)
emb = jr.normal(jr.key(0), (12, 4)) * 0.1
lr, smooth = 0.5, 0.0
---
tokens, total = 0, 0.0
for ids, seg in loader:
    def loss_fn(emb):
        lg = emb[ids[:-1]] @ emb.T
        tgt = optax.smooth_labels(jax.nn.one_hot(ids[1:], 12), smooth)
        w = (seg[1:] == seg[:-1]).astype(jnp.float32)
        return jnp.sum(w * optax.softmax_cross_entropy(lg, tgt)), w.sum()
    (s, n), g = jax.value_and_grad(loss_fn, has_aux=True)(emb)
    emb -= lr * g / jnp.maximum(n, 1)
    tokens += int(n)
    total += s
mean = total / tokens
print(f"epoch {loader.epoch}: {tokens} tokens, nll {mean:.3f}")
mean, type(total).__name__, emb.dtype
---
smooth = 0.1
---
docs.insert(0, [2, 2, 2])
---
loader.length = 4; lr = 0.1
---
loader = PackedLoader([[1]], 3); tokens = 5

### iam-eqx-vqvae-straight-through-codebook-ema-usage needs=equinox
import equinox as eqx
class VQ(eqx.Module):
    enc: eqx.nn.Linear
    dec: eqx.nn.Linear
    codebook: jax.Array
    beta: float = 0.25
    def __init__(self, k, d, key):
        a, b, c = jr.split(key, 3)
        self.enc, self.dec = eqx.nn.Linear(5, d, key=a), eqx.nn.Linear(d, 5, key=b)
        self.codebook = jr.normal(c, (k, d))
    def quantise(self, z):
        d2 = jnp.sum((z[:, None] - self.codebook) ** 2, -1)
        idx = d2.argmin(-1)
        q = self.codebook[idx]
        return z + lax.stop_gradient(q - z), q, idx
    def __call__(self, x):
        z = jax.vmap(self.enc)(x)
        st, q, idx = self.quantise(z)
        rec = jax.vmap(self.dec)(st)
        commit = jnp.mean((lax.stop_gradient(q) - z) ** 2)
        return jnp.mean((rec - x) ** 2) + self.beta * commit, idx
vq = VQ(6, 2, jr.key(0))
data = np.random.default_rng(5).normal(size=(16, 5)).astype(np.float32)
usage, decay, dead_at = np.zeros(6), 0.9, 0.05
---
spec = eqx.tree_at(lambda m: m.codebook, jax.tree.map(eqx.is_inexact_array, vq), False)
diff, static = eqx.partition(vq, spec)
@eqx.filter_value_and_grad(has_aux=True)
def loss_fn(diff, x): return eqx.combine(diff, static)(x)
perplexities = []
for xb in np.split(data, 2):
    (loss, idx), g = loss_fn(diff, xb)
    diff = jax.tree.map(lambda p, g: p - 0.1 * g, diff, g)
    counts = np.bincount(idx, minlength=len(usage))
    usage *= decay
    usage += (1 - decay) * counts / counts.sum()
    p = jnp.asarray(counts / counts.sum())
    perplexities.append(jnp.exp(-jnp.sum(p * jnp.log(p + 1e-10))))
vq = eqx.combine(diff, static)
z = jax.vmap(vq.enc)(data)
oh = jax.nn.one_hot(vq.quantise(z)[2], len(usage))
means = oh.T @ z / jnp.maximum(oh.sum(0), 1)[:, None]
new = jnp.where(oh.sum(0)[:, None] > 0, decay * vq.codebook + (1 - decay) * means, vq.codebook)
dead = np.flatnonzero(usage < dead_at)
if dead.size:
    new = new.at[dead].set(z[: dead.size])
vq = eqx.tree_at(lambda m: m.codebook, vq, new)
print(f"{loss:.3f}", dead.size, usage.dtype, isinstance(vq.beta, float), type(vq.beta).__name__)
perplexities[-1], idx.dtype
---
dead_at = 0.5
---
data = data[:8]; usage[:] = 0
---
vq = eqx.tree_at(lambda m: m.beta, vq, 1.0)
---
decay = 0.5; vq = VQ(6, 3, jr.key(1))

### iam-pbt-population-exploits-and-mutates-hyperparams
@dataclass
class Member:
    w: Any
    lr: float
    score: float = -np.inf
    lineage: list = field(default_factory=list)
    def __lt__(self, other): return self.score < other.score
pop = [Member(jnp.zeros(2), lr) for lr in (0.001, 0.01, 0.1, 0.9)]
opt_point = jnp.array([1.0, -0.5]); generations, seed = 2, 0
def objective(w): return -jnp.sum((w - opt_point) ** 2 * jnp.array([1.0, 2.0]))
---
rnd = random.Random(seed)
@jax.jit
def train(w, lr):
    return lax.fori_loop(0, 3, lambda _, w: w + lr * jax.grad(objective)(w), w)
for gen in range(generations):
    for m in pop:
        m.w = train(m.w, m.lr)
        m.score = float(objective(m.w))
    ranked = sorted(pop, reverse=True)
    top, bottom = ranked[: len(pop) // 4], ranked[-(len(pop) // 4):]
    for loser in bottom:
        winner = rnd.choice(top)
        loser.w, loser.lr = winner.w, winner.lr * rnd.choice([0.8, 1.25])
        loser.lineage.append((gen, pop.index(winner)))
best = max(pop)
shared = sum(a.w is b.w for a, b in itertools.combinations(pop, 2))
table = [(f"{m.lr:.4f}", round(m.score, 3), len(m.lineage)) for m in sorted(pop)]
print(table, shared)
best.w, pop.index(best)
---
seed = 3
---
opt_point = -opt_point
---
pop.append(Member(jnp.ones(2), 0.05)); generations = 1
---
def objective(w): return -jnp.abs(w - opt_point).sum()

### iam-linen-lora-collection-merge-and-unmerge needs=flax
import flax.linen as nn
from flax.traverse_util import flatten_dict, unflatten_dict
class LoraDense(nn.Module):
    features: int
    rank: int = 2
    alpha: float = 4.0
    @nn.compact
    def __call__(self, x):
        y = nn.Dense(self.features, name="base")(x)
        a = self.variable("lora", "a", lambda: nn.initializers.normal(0.1)(self.make_rng("params"), (x.shape[-1], self.rank)))
        b = self.variable("lora", "b", jnp.zeros, (self.rank, self.features))
        return y + self.alpha / self.rank * (x @ a.value @ b.value)
class Net(nn.Module):
    @nn.compact
    def __call__(self, x): return LoraDense(1, name="l1")(nn.tanh(LoraDense(6, name="l0")(x)))
net = Net()
rng = np.random.default_rng(0)
x = rng.normal(size=(9, 3)).astype(np.float32); y = x.sum(1, keepdims=True)
lr, steps = 0.1, 2
---
variables = net.init(jr.PRNGKey(0), x)
frozen, lora = variables["params"], variables["lora"]
tx = optax.adam(lr)
st = tx.init(lora)
for _ in range(steps):
    l, g = jax.value_and_grad(lambda lo: jnp.mean((net.apply({"params": frozen, "lora": lo}, x) - y) ** 2))(lora)
    u, st = tx.update(g, st)
    lora = optax.apply_updates(lora, u)
flat = flatten_dict(frozen, sep="/")
merged = dict(flat)
for name, mats in lora.items():
    merged[f"{name}/base/kernel"] = flat[f"{name}/base/kernel"] + 2.0 * mats["a"] @ mats["b"]
zero = jax.tree.map(jnp.zeros_like, lora)
out_lora = net.apply({"params": frozen, "lora": lora}, x)
out_merged = net.apply({"params": unflatten_dict(merged, sep="/"), "lora": zero}, x)
untouched = {k: merged[k] is flat[k] for k in flat}
share = sum(v.size for v in jax.tree.leaves(lora)) / sum(v.size for v in flat.values())
print(bool(jnp.allclose(out_lora, out_merged, atol=1e-5)), untouched, f"{share:.0%}", f"{l:.3f}")
l
---
lr = 0.01
---
x, y = x[:4], y[:4]
---
LoraDense.alpha = 8.0

### iam-confident-learning-kfold-with-own-predict-proba-class
from sklearn.model_selection import StratifiedKFold
from sklearn.base import BaseEstimator, ClassifierMixin, clone
class SoftmaxJax(ClassifierMixin, BaseEstimator):
    def __init__(self, lr=0.5, steps=3, l2=1e-3): self.lr, self.steps, self.l2 = lr, steps, l2
    def fit(self, X, y):
        self.classes_, yi = np.unique(y, return_inverse=True)
        W = jnp.zeros((X.shape[1], len(self.classes_)))
        loss = lambda W: optax.softmax_cross_entropy_with_integer_labels(X @ W, yi).mean() + self.l2 * jnp.sum(W ** 2)
        for _ in range(self.steps): W = W - self.lr * jax.grad(loss)(W)
        self.coef_ = W
        return self
    def predict_proba(self, X): return np.asarray(jax.nn.softmax(X @ self.coef_))
    def predict(self, X): return self.classes_[self.predict_proba(X).argmax(1)]
rng = np.random.default_rng(0)
X = np.r_[rng.normal(-1, .5, (10, 2)), rng.normal(1, .5, (10, 2))].astype(np.float32)
y = np.array(["neg"] * 10 + ["pos"] * 10); y[[2, 15]] = y[[15, 2]]
base = SoftmaxJax()
---
proba = np.zeros((len(y), 2))
scores = []
for tr, te in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
    est = clone(base).fit(X[tr], y[tr])
    proba[te] = est.predict_proba(X[te])
    scores.append(est.score(X[te], y[te]))
classes = est.classes_
given = np.searchsorted(classes, y)
thr = jnp.array([proba[given == c, c].mean() for c in range(2)])
above = jnp.asarray(proba) >= thr
joint = jnp.zeros((2, 2), int).at[given, jnp.where(above.any(1), proba.argmax(1), given)].add(1)
suspects = np.flatnonzero((proba.argmax(1) != given) & np.asarray(above.any(1)))
print(suspects.tolist(), np.mean(scores).round(2), est)
joint
---
base.set_params(steps=6)
---
y[0] = "pos"
---
base = SoftmaxJax(l2=1.0); X = X * 0.1

### iam-orbax-restore-partial-backbone-into-new-head needs=orbax.checkpoint
import orbax.checkpoint as ocp
path = Path.cwd() / "pretrained"
pre = {"backbone": {"w": jnp.arange(12.0).reshape(4, 3), "b": jnp.ones(3)}, "head": {"w": jnp.zeros((3, 10))}, "step": 5}
with ocp.StandardCheckpointer() as saver:
    saver.save(path, pre)
n_classes, reinit = 2, True
x = jnp.ones((2, 4))
---
with ocp.StandardCheckpointer() as ckptr:
    restored = ckptr.restore(path)
params = {"backbone": restored["backbone"], "head": restored["head"]}
if reinit or restored["head"]["w"].shape[1] != n_classes:
    params["head"] = {"w": 0.01 * jr.normal(jr.key(n_classes), (3, n_classes))}
labels = jax.tree_util.tree_map_with_path(lambda p, _: "train" if p[0].key == "head" else "freeze", params)
tx = optax.multi_transform({"train": optax.sgd(0.1), "freeze": optax.set_to_zero()}, labels)
st = tx.init(params)
def loss(p):
    h = jnp.tanh(x @ p["backbone"]["w"] / 10 + p["backbone"]["b"])
    return -jax.nn.log_softmax(h @ p["head"]["w"])[:, 0].mean()
for i in range(3):
    l, g = jax.value_and_grad(loss)(params)
    up, st = tx.update(g, st, params)
    params = optax.apply_updates(params, up)
moved = jax.tree.map(lambda a, b: bool((a != b).any()), params["backbone"], restored["backbone"])
print(f"{l:.4f}", moved, type(restored["step"]).__name__, restored["step"] + 1)
params["head"]["w"].shape, restored["backbone"]["b"].dtype
---
n_classes = 10; reinit = False
---
x = x * 2
---
reinit = True; n_classes = 3

### iam-swag-low-rank-posterior-deque-of-deviations
def loss(w, X, y): return jnp.mean(jax.nn.softplus(-y * (X @ w))) + 0.01 * w @ w
rng = np.random.default_rng(9)
X = jnp.asarray(rng.normal(size=(20, 3)), jnp.float32); y = jnp.sign(X[:, 0] - 0.3 * X[:, 2])
class SWAG:
    def __init__(self, dim, k=3):
        self.n, self.mean, self.sq, self.dev = 0, jnp.zeros(dim), jnp.zeros(dim), deque(maxlen=k)
    def collect(self, w):
        self.mean = (self.n * self.mean + w) / (self.n + 1)
        self.sq = (self.n * self.sq + w ** 2) / (self.n + 1)
        self.n += 1
        self.dev.append(w - self.mean)
    def sample(self, key):
        k1, k2 = jr.split(key)
        diag = jnp.sqrt(jnp.clip(self.sq - self.mean ** 2, 1e-8))
        D = jnp.stack(list(self.dev), 1)
        return self.mean + (diag * jr.normal(k1, diag.shape) + D @ jr.normal(k2, D.shape[1:]) / max(len(self.dev) - 1, 1) ** 0.5) / 2 ** 0.5
swag = SWAG(3); burn, total, lr = 2, 6, 0.8
w = jnp.zeros(3)
---
for it in range(total):
    cyc = lr * (1 - (it % 2) * 0.5)
    w = w - cyc * jax.grad(loss)(w, X, y)
    if it >= burn:
        swag.collect(w)
probs = jnp.stack([jax.nn.sigmoid(X @ swag.sample(jr.key(s))) for s in range(4)])
mean, std = probs.mean(0), probs.std(0)
acc = ((mean > 0.5) == (y > 0)).mean()
unsure = jnp.argsort(-std)[:2]
print(swag.n, len(swag.dev), f"{acc:.2f}", all(d.shape == (3,) for d in swag.dev))
acc, std.max() < 1
---
swag = SWAG(3, k=2)
---
lr = 0.1; swag.dev.clear(); swag.dev.extend([jnp.ones(3)] * 2)
---
X, y = X[:7], y[:7]; total = 4

### iam-nnx-vmapped-ensemble-with-split-states-and-disagreement needs=flax
from flax import nnx
class Reg(nnx.Module):
    def __init__(self, rngs): self.l1, self.l2 = nnx.Linear(1, 6, rngs=rngs), nnx.Linear(6, 1, rngs=rngs)
    def __call__(self, x): return self.l2(jnp.tanh(self.l1(x)))
n_members, lr = 3, 0.05
xs = np.linspace(-1, 1, 7, dtype=np.float32)[:, None]; ys = np.sin(3 * xs)
@nnx.split_rngs(splits=n_members)
@nnx.vmap
def create(rngs): return Reg(rngs)
models = create(nnx.Rngs(0))
---
graphdef, state = nnx.split(models)
def one_loss(state, x, y): return jnp.mean((nnx.merge(graphdef, state)(x) - y) ** 2)
losses = []
for it in range(3):
    l, g = jax.vmap(jax.value_and_grad(one_loss), in_axes=(0, None, None))(state, xs, ys)
    state = jax.tree.map(lambda p, g: p - lr * g, state, g)
    losses.append(l)
nnx.update(models, state)
preds = jax.vmap(lambda s: nnx.merge(graphdef, s)(xs))(state)
mean, sd = preds.mean(0)[:, 0], preds.std(0)[:, 0]
worst = xs[int(sd.argmax()), 0]
best = jax.tree.map(lambda a: a[int(losses[-1].argmin())], state)
single = nnx.merge(graphdef, best)
print(jnp.stack(losses).shape, f"{worst:.2f}", single.l1.kernel.shape, models.l1.kernel.shape)
single(xs[:2]).shape, mean[0]
---
lr = 0.5
---
ys = ys[::-1]
---
xs, ys = xs[:4], ys[:4]; models = create(nnx.Rngs(7))

### iam-nnx-metrics-custom-subclass-reset-compute-and-best needs=flax
from flax import nnx
class Confusion(nnx.Metric):
    def __init__(self, n): self.n = n; self.mat = nnx.metrics.MetricState(jnp.zeros((n, n), jnp.int32))
    def reset(self): self.mat[...] = jnp.zeros_like(self.mat[...])
    def update(self, *, logits, labels, **_): self.mat[...] = self.mat[...].at[labels, logits.argmax(-1)].add(1)
    def compute(self): m = self.mat[...]; return jnp.diag(m) / jnp.maximum(m.sum(1), 1)
model = nnx.Linear(3, 3, rngs=nnx.Rngs(1))
metrics = nnx.MultiMetric(acc=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"), recall=Confusion(3))
rng = np.random.default_rng(0)
data = [(rng.normal(size=(4, 3)).astype(np.float32), rng.integers(0, 3, 4)) for _ in range(3)]
opt = nnx.Optimizer(model, optax.sgd(0.3), wrt=nnx.Param)
hist, best = [], {"loss": np.inf, "state": None}
---
def loss_fn(model, x, y):
    lg = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(lg, y).mean(), lg
for epoch in range(2):
    for x, y in data:
        (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, x, y)
        metrics.update(loss=loss, logits=logits, labels=y)
        opt.update(model, grads)
    out = metrics.compute()
    hist.append({k: np.asarray(v).round(3) for k, v in out.items()})
    if out["loss"] < best["loss"]:
        best = {"loss": float(out["loss"]), "state": nnx.state(model)}
    metrics.reset()
nnx.update(model, best["state"])
print(len(hist), hist[-1]["recall"], f"{hist[-1]['acc']:.2f}", metrics.recall.mat[...].sum())
out["acc"], best["state"]["kernel"][...] is model.kernel[...]
---
data = data[:1]
---
hist.clear(); best["loss"] = 0.0
---
model.kernel[...] = jnp.eye(3); data[0][1][:] = 0

### iam-training-raises-early-stop-and-diverged-halfway
class EarlyStop(Exception):
    def __init__(self, step, params): super().__init__(f"stopped at {step}"); self.step, self.params = step, params
class Diverged(FloatingPointError): pass
class Watch:
    def __init__(self, tol): self.tol, self.last, self.seen = tol, math.inf, 0
    def __call__(self, step, loss, params):
        self.seen += 1
        if not jnp.isfinite(loss): raise Diverged(f"loss is {loss} at step {step}")
        if abs(self.last - loss) < self.tol: raise EarlyStop(step, params)
        self.last = float(loss)
A = jnp.array([[2.0, 0.3], [0.3, 1.0]]); b = jnp.array([1.0, -1.0])
watch, lr, log = Watch(1e-2), 0.3, []
params = jnp.zeros(2)
---
watch.last = math.inf
try:
    for step in range(20):
        loss, g = jax.value_and_grad(lambda w: 0.5 * w @ A @ w - b @ w)(params)
        params = params - lr * g
        watch(step, loss, params)
        log.append(round(float(loss), 3))
except EarlyStop as stop:
    params, reason = stop.params, str(stop)
else:
    reason = "budget"
resid = jnp.linalg.norm(A @ params - b)
print(reason, len(log), watch.seen, f"{resid:.3f}")
resid
---
lr = 0.05
---
lr = 1e30
---
lr, params = 0.3, jnp.ones(2)

### iam-eqx-filter-vmap-tasks-static-and-dynamic-split-with-wrapped-step needs=equinox
import equinox as eqx
class Gauss(eqx.Module):
    mean: jax.Array
    log_std: jax.Array
    name: str = eqx.field(static=True, default="g")
    bounds: tuple[float, float] = (-2.0, 2.0)
    def logp(self, x): return -0.5 * ((x - self.mean) / jnp.exp(self.log_std)) ** 2 - self.log_std
    @eqx.filter_jit
    def nll(self, x): return -self.logp(jnp.clip(x, *self.bounds)).mean()
groups = {"a": jnp.array([0.1, 0.5, -0.3]), "b": jnp.array([1.5, 2.5, 1.0])}
ens = eqx.filter_vmap(lambda m: Gauss(m, jnp.zeros(())))(jnp.array([0.0, 1.0]))
iters, lr = 3, 0.2
---
X = jnp.stack(list(groups.values()))
params, static = eqx.partition(ens, eqx.is_inexact_array)
opt = optax.sgd(lr)
st = eqx.filter_vmap(opt.init)(params)
@eqx.filter_vmap
def step(p, s, x):
    loss, g = eqx.filter_value_and_grad(lambda p: eqx.combine(p, static).nll(x))(p)
    u, s = opt.update(g, s)
    return eqx.apply_updates(p, u), s, loss
for _ in range(iters):
    params, st, loss = step(params, st, X)
ens = eqx.combine(params, static)
members = {k: jax.tree.map(lambda a, i=i: a[i] if eqx.is_array(a) else a, ens) for i, k in enumerate(groups)}
scores = {k: {q: m.nll(x).item() for q, x in groups.items()} for k, m in members.items()}
winner = {q: min(members, key=lambda k: scores[k][q]) for q in groups}
print(winner, ens.bounds, ens.name, type(members["a"].bounds[0]).__name__)
loss, members["b"].mean
---
lr = 0.01
---
ens = eqx.tree_at(lambda e: e.bounds, ens, (-1.0, jnp.float32(1.0)))
---
groups["b"] = groups["b"] * 0; iters = 1

### iam-deep-ensemble-of-pickled-snapshots-cosine-restarts
def net(p, x): return jnp.tanh(x @ p["w"]) @ p["v"]
rng = np.random.default_rng(1)
X = rng.normal(size=(12, 2)).astype(np.float32); y = (X[:, 0] * X[:, 1]).astype(np.float32)
cycle, cycles, peak = 3, 2, 0.2
params0 = {"w": jnp.asarray(rng.normal(size=(2, 5)), jnp.float32), "v": jnp.asarray(rng.normal(size=5), jnp.float32)}
folder = Path("snaps")
---
folder.mkdir(exist_ok=True)
sched = optax.sgdr_schedule([dict(init_value=0.0, peak_value=peak, decay_steps=cycle, warmup_steps=1, end_value=1e-3)] * cycles)
tx = optax.chain(optax.clip(1.0), optax.sgd(sched, momentum=0.5))
params, st = params0, tx.init(params0)
lrs = []
for step in range(cycle * cycles):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((net(p, X) - y) ** 2))(params)
    up, st = tx.update(g, st, params)
    params = optax.apply_updates(params, up)
    lrs.append(float(sched(step)))
    if (step + 1) % cycle == 0:
        with open(folder / f"c{step // cycle}.pkl", "wb") as fh:
            pickle.dump({"p": jax.device_get(params), "loss": float(loss)}, fh)
members = [pickle.loads(f.read_bytes()) for f in sorted(folder.glob("*.pkl"))]
weights = jax.nn.softmax(-jnp.array([m["loss"] for m in members]))
stacked = jax.tree.map(lambda *a: jnp.stack(a), *[m["p"] for m in members])
pred = jnp.tensordot(weights, jax.vmap(net, (0, None))(stacked, X), 1)
rmse = jnp.sqrt(jnp.mean((pred - y) ** 2))
print(len(members), np.round(lrs, 3).tolist(), type(members[0]["p"]["w"]).__name__, f"{rmse:.3f}")
weights, rmse.dtype
---
peak = 0.5
---
cycles = 1
---
y = -y; [f.unlink() for f in folder.iterdir()]

### iam-numpyro-nuts-with-init-strategy-and-extra-fields-report needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, init_to_value, log_likelihood
from numpyro.handlers import seed, trace, substitute
t = jnp.arange(6.0); obs = jnp.array([1.0, 2.1, 2.9, 4.2, 5.0, 5.8])
prior_scale = 2.0
def linreg(t, obs=None):
    a = numpyro.sample("a", dist.Normal(0, prior_scale)); b = numpyro.sample("b", dist.Normal(0, prior_scale))
    s = numpyro.sample("s", dist.Exponential(1.0))
    mu = numpyro.deterministic("mu", a + b * t)
    with numpyro.plate("n", len(t)): numpyro.sample("obs", dist.Normal(mu, s), obs=obs)
n_samples = 6
---
kernel = NUTS(linreg, init_strategy=init_to_value(values={"a": 1.0, "b": 1.0, "s": 0.5}), max_tree_depth=3)
mcmc = MCMC(kernel, num_warmup=4, num_samples=n_samples, progress_bar=False)
mcmc.run(jr.key(0), t, obs, extra_fields=("potential_energy", "diverging"))
post = mcmc.get_samples()
extra = mcmc.get_extra_fields()
ll = log_likelihood(linreg, post, t, obs)["obs"]
lppd = jax.nn.logsumexp(ll, 0) - jnp.log(ll.shape[0])
waic = -2 * (lppd.sum() - ll.var(0).sum())
tr = trace(seed(substitute(linreg, {"a": 0.0}), 3)).get_trace(t)
sites = {k: v["type"] for k, v in tr.items()}
summary = {k: tuple(np.asarray(v).mean(0).round(1).ravel()[:1]) for k, v in post.items() if k != "mu"}
print(sites, sorted(post), post["mu"].shape, int(extra["diverging"].sum()) <= n_samples, sorted(summary))
ll.shape, jnp.isfinite(waic)
---
prior_scale = 0.5
---
obs = obs[:4]; t = t[:4]
---
n_samples = 3

### iam-diffrax-sde-ensemble-by-virtual-brownian-tree-and-quantiles needs=diffrax
import diffrax
model = {"theta": 1.5, "mu": 0.2, "sigma": 0.3}
n_paths, dt = 4, 0.1
ts = jnp.linspace(0.0, 1.0, 5)
---
drift = lambda t, y, m: m["theta"] * (m["mu"] - y)
diffusion = lambda t, y, m: m["sigma"] * jnp.ones(())
def path(key):
    bm = diffrax.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(), key=key)
    terms = diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(diffusion, bm))
    sol = diffrax.diffeqsolve(terms, diffrax.EulerHeun(), 0.0, 1.0, dt, jnp.float32(1.0), args=model, saveat=diffrax.SaveAt(ts=ts))
    return sol.ys
paths = jax.vmap(path)(jr.split(jr.key(1), n_paths))
q = jnp.quantile(paths, jnp.array([0.1, 0.9]), axis=0)
exact = model["mu"] + (1.0 - model["mu"]) * jnp.exp(-model["theta"] * ts)
z = (paths.mean(0) - exact) / (paths.std(0) / n_paths ** 0.5 + 1e-6)
g = jax.grad(lambda m: jnp.mean(jax.vmap(lambda k: diffrax.diffeqsolve(
    diffrax.ODETerm(drift), diffrax.Heun(), 0.0, 1.0, dt, jnp.float32(k), args=m).ys[-1])(jnp.arange(2.0))))(model)
print(sorted(g), [f"{v:.3f}" for v in g.values()], q.shape, bool(jnp.abs(z[1:]).max() < 50))
g["mu"].weak_type, paths[:, -1].mean()
---
model["sigma"] = 0.0
---
dt = 0.2; n_paths = 2
---
model = {k: jnp.float32(v) for k, v in model.items()}; ts = ts[:3]

### iam-haiku-transformer-shared-params-multi-transform-encode-decode needs=haiku
import haiku as hk
dim, words = 6, ["<pad>", "red", "cat", "sat", "mat"]
def build():
    emb = hk.Embed(len(words), dim, name="emb")
    enc = hk.Sequential([hk.Linear(dim), jnp.tanh], name="enc")
    def encode(ids): return hk.LayerNorm(-1, True, True, name="ln")(enc(emb(ids)).mean(-2))
    def decode(z): return z @ emb.embeddings.T
    def init(ids): return decode(encode(ids))
    return init, (encode, decode)
bag = [["red", "cat"], ["cat", "sat", "mat"]]
steps = 3
---
f = hk.multi_transform(build)
f = hk.without_apply_rng(f)
encode, decode = f.apply
n = max(map(len, bag))
ids = jnp.array([[words.index(w) for w in s] + [0] * (n - len(s)) for s in bag])
params = f.init(jr.PRNGKey(0), ids)
def loss(p):
    lg = decode(p, encode(p, ids))
    y = jax.nn.one_hot(ids, len(words)).max(1)
    return optax.sigmoid_binary_cross_entropy(lg, y).mean()
trainable, frozen = hk.data_structures.partition(lambda m, n, v: "ln" not in m, params)
opt = optax.novograd(0.05)
st = opt.init(trainable)
for _ in range(steps):
    l, g = jax.value_and_grad(lambda t: loss(hk.data_structures.merge(t, frozen)))(trainable)
    up, st = opt.update(g, st, trainable)
    trainable = optax.apply_updates(trainable, up)
params = hk.data_structures.merge(trainable, frozen)
z = encode(params, ids)
near = {" ".join(s): words[int(i)] for s, i in zip(bag, decode(params, z).argmax(-1))}
sizes = {m: hk.data_structures.tree_size(p) for m, p in params.items()}
print(sizes, len(near), f"{l:.3f}", sum(a is b for a, b in zip(jax.tree.leaves(frozen), jax.tree.leaves(params))))
z.shape, l
---
bag.append(["mat"])
---
dim = 4
---
words.append("dog"); bag = [["dog", "cat"]]; steps = 1

### iam-sac-style-temperature-and-twin-critics-namedtuple-agent
class Agent(NamedTuple):
    actor: dict
    critics: tuple
    targets: tuple
    log_alpha: Any
    step: int = 0
def lin(k, i, o): return {"w": jr.normal(k, (i, o)) * 0.3, "b": jnp.zeros(o)}
def app(p, x): return x @ p["w"] + p["b"]
ks = jr.split(jr.key(0), 3)
critics = (lin(ks[1], 3, 1), lin(ks[2], 3, 1))
agent = Agent(lin(ks[0], 2, 2), critics, critics, 0.0)
rng = np.random.default_rng(0)
memory = deque(maxlen=16)
for _ in range(12): memory.append((rng.normal(size=2), rng.normal(size=1), rng.normal(), rng.normal(size=2)))
tau, gamma, updates, target_entropy = 0.1, 0.9, 2, -1.0
---
def act(p, s, k):
    mu, ls = jnp.split(app(p, s), 2, -1)
    u = mu + jnp.exp(jnp.clip(ls, -3, 1)) * jr.normal(k, mu.shape)
    return jnp.tanh(u), (-0.5 * ((u - mu) / jnp.exp(ls)) ** 2 - ls - jnp.log(1 - jnp.tanh(u) ** 2 + 1e-4)).sum(-1)
def q(p, s, a): return app(p, jnp.concatenate([s, a], -1))[..., 0]
sampler = random.Random(0)
info = []
for _ in range(updates):
    s, a, r, s2 = (jnp.asarray(np.stack(c), jnp.float32) for c in zip(*sampler.sample(list(memory), 6)))
    k1, k2 = jr.split(jr.fold_in(jr.key(9), agent.step))
    alpha = jnp.exp(agent.log_alpha)
    a2, lp2 = act(agent.actor, s2, k1)
    y = r + gamma * (jnp.minimum(*(q(t, s2, a2) for t in agent.targets)) - alpha * lp2)
    lq, gq = jax.value_and_grad(lambda cs: sum(jnp.mean((q(c, s, a) - y) ** 2) for c in cs))(agent.critics)
    critics = jax.tree.map(lambda p, g: p - 0.05 * g, agent.critics, gq)
    def actor_loss(p):
        an, lp = act(p, s, k2)
        return jnp.mean(alpha * lp - jnp.minimum(*(q(c, s, an) for c in critics))), lp.mean()
    (la, ent), ga = jax.value_and_grad(actor_loss, has_aux=True)(agent.actor)
    agent = agent._replace(
        actor=jax.tree.map(lambda p, g: p - 0.05 * g, agent.actor, ga), critics=critics,
        targets=optax.incremental_update(critics, agent.targets, tau),
        log_alpha=agent.log_alpha - 0.1 * jax.grad(lambda l: -l * (ent + target_entropy))(agent.log_alpha), step=agent.step + 1)
    info.append({"q": lq, "pi": la, "H": -ent})
mean = {k: jnp.mean(jnp.stack([i[k] for i in info])) for k in info[0]}
print(agent.step, type(agent.log_alpha).__name__, type(agent).__name__, sorted(mean))
agent.log_alpha, mean["q"]
---
tau = 1.0
---
memory.append((np.ones(2), np.ones(1), 10.0, np.zeros(2))); gamma = 0.5
---
agent = agent._replace(step=100, targets=agent.critics, log_alpha=jnp.float32(0.3))

### iam-data-parallel-pmean-by-shard-map-with-uneven-last-batch devices=8
from jax import shard_map
mesh = jax.make_mesh((4,), ("dp",), axis_types=(jax.sharding.AxisType.Auto,))
rng = np.random.default_rng(0)
X = rng.normal(size=(22, 3)).astype(np.float32); y = X @ np.array([1.0, 0.0, -1.0], np.float32)
w = jnp.zeros(3); bs, lr = 8, 0.2
---
@jax.jit
@partial(shard_map, mesh=mesh, in_specs=(P(), P("dp"), P("dp"), P("dp")), out_specs=(P(), P(), P("dp")))
def step(w, x, t, m):
    def loss(w): return jnp.sum(m * (x @ w - t) ** 2), x @ w - t
    (s, r), g = jax.value_and_grad(loss, has_aux=True)(lax.pcast(w, "dp", to="varying"))
    n = lax.psum(m.sum(), "dp")
    return w - lr * lax.psum(g, "dp") / n, lax.psum(s, "dp") / n, r
losses, resid = [], []
for i in range(0, len(X), bs):
    xb, yb = X[i:i + bs], y[i:i + bs]
    pad = bs - len(xb)
    m = np.pad(np.ones(len(xb), np.float32), (0, pad))
    xb, yb = np.pad(xb, ((0, pad), (0, 0))), np.pad(yb, (0, pad))
    w, l, r = step(w, xb, yb, m)
    losses.append(l)
    resid.append(r[: bs - pad])
allr = jnp.concatenate(resid)
print(len(losses), allr.shape, w.sharding.is_fully_replicated, resid[0].sharding.spec, f"{float(losses[0]):.2f}")
w, losses[-1], allr.sharding == resid[0].sharding
---
lr = 0.05
---
bs = 4
---
X, y = X[:9], y[:9]
---
w = jax.device_put(w, jax.devices()[0])

### iam-fsdp-linen-partitioned-metadata-logical-rules devices=8 needs=flax
import flax.linen as nn
from flax.training import train_state
mesh = jax.make_mesh((2, 4), ("data", "fsdp"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
class MLP(nn.Module):
    width: int = 8
    @nn.compact
    def __call__(self, x):
        init = nn.with_partitioning(nn.initializers.lecun_normal(), (None, "fsdp"))
        x = nn.relu(nn.Dense(self.width, kernel_init=init, name="up")(x))
        return nn.Dense(2, kernel_init=nn.with_partitioning(nn.initializers.zeros, ("fsdp", None)), name="down")(x)
model = MLP()
x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32); labels = np.array([0, 1, 1, 0])
tx = optax.adam(0.05)
---
abstract = jax.eval_shape(model.init, jr.key(0), x)
specs = nn.get_partition_spec(abstract)
shardings = jax.tree.map(lambda s: NamedSharding(mesh, s), specs, is_leaf=lambda s: isinstance(s, P))
variables = jax.jit(lambda k: nn.unbox(model.init(k, x)), out_shardings=shardings)(jr.key(0))
state = train_state.TrainState.create(apply_fn=model.apply, params=variables["params"], tx=tx)
xb = jax.device_put(x, NamedSharding(mesh, P("data")))
@jax.jit
def step(state, x):
    def loss(p): return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn({"params": p}, x), labels).mean()
    l, g = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=g), l
for _ in range(2):
    state, l = step(state, xb)
spread = {"/".join(q.key for q in p): str(v.sharding.spec) for p, v in jax.tree_util.tree_leaves_with_path(state.params)}
moments = jax.tree.map(lambda v: v.sharding.spec, state.opt_state[0].mu)
print(spread, moments["up"]["kernel"], int(state.step))
l, state.params["down"]["kernel"].shape
---
labels = 1 - labels
---
model = MLP(16)
---
tx = optax.sgd(0.1); x = x * 2

### iam-attention-pool-with-registered-dataclass-batches-and-collate
@jax.tree_util.register_dataclass
@dataclass
class Batch:
    tokens: jax.Array
    mask: jax.Array
    label: jax.Array
    split: str = field(metadata=dict(static=True), default="train")
    def __len__(self): return self.tokens.shape[0]
    def map(self, fn): return replace(self, tokens=fn(self.tokens))
raw = [("1 2 3", 0), ("4 5", 1), ("6", 1), ("2 2 2 2", 0)]
E = jr.normal(jr.key(0), (8, 4)); v = jnp.ones(4) * 0.1; bs, lr = 2, 0.3
def collate(items, split="train"):
    toks = [list(map(int, t.split())) for t, _ in items]
    n = max(map(len, toks))
    ids = np.zeros((len(items), n), int); m = np.zeros((len(items), n), bool)
    for i, t in enumerate(toks): ids[i, :len(t)], m[i, :len(t)] = t, True
    return Batch(jnp.asarray(ids), jnp.asarray(m), jnp.array([l for _, l in items]), split)
---
traces = []
@jax.jit
def loss_fn(params, b):
    traces.append((b.split, b.tokens.shape))
    E, v = params
    h = E[b.tokens]
    a = jax.nn.softmax(jnp.where(b.mask, h @ v, -1e9), -1)
    z = jnp.einsum("bn,bnd->bd", a, h) @ v
    return optax.sigmoid_binary_cross_entropy(z, b.label).mean()
params = (E, v)
batches = [collate(raw[i:i + bs]) for i in range(0, len(raw), bs)]
for b in batches:
    l, g = jax.value_and_grad(loss_fn)(params, b)
    params = jax.tree.map(lambda p, g: p - lr * g, params, g)
val = [loss_fn(params, replace(b, split="val")) for b in batches]
shifted = batches[0].map(lambda t: jnp.roll(t, 1, -1))
E, v = params
leaves, td = jax.tree.flatten(shifted)
print(len(traces), len(batches[-1]), len(leaves), td.num_leaves, shifted.split, [f"{x:.3f}" for x in val])
val[0] + val[1], shifted.mask is batches[0].mask
---
bs = 4
---
raw.append(("7 7 7", 1)); raw.append(("1", 0))
---
v = v * 0; lr = 1

### iam-kfac-like-blocks-preconditioned-by-eigendecomposition-cache tolerance=1e-3
class Shampoo:
    def __init__(self, lr, every=2, eps=1e-3): self.lr, self.every, self.eps, self.t = lr, every, eps, 0; self.stats, self.roots = {}, {}
    def step(self, params, grads):
        self.t += 1
        new = {}
        for name, g in grads.items():
            if g.ndim < 2:
                new[name] = params[name] - self.lr * g
                continue
            L, R = self.stats.setdefault(name, (self.eps * jnp.eye(g.shape[0]), self.eps * jnp.eye(g.shape[1])))
            self.stats[name] = L + g @ g.T, R + g.T @ g
            if self.t % self.every == 1 or name not in self.roots:
                self.roots[name] = tuple(self.power(m, -0.25) for m in self.stats[name])
            a, b = self.roots[name]
            new[name] = params[name] - self.lr * a @ g @ b
        return new
    @staticmethod
    def power(m, p):
        w, q = jnp.linalg.eigh(m)
        return (q * jnp.maximum(w, 1e-6) ** p) @ q.T
rng = np.random.default_rng(0)
X = jnp.asarray(rng.normal(size=(10, 3)), jnp.float32); Y = jnp.asarray(rng.normal(size=(10, 2)), jnp.float32)
params = {"W": jnp.zeros((3, 2)), "b": jnp.zeros(2)}
opt, n_steps = Shampoo(0.1), 4
---
def loss(p): return jnp.mean((X @ p["W"] + p["b"] - Y) ** 2)
opt.t, curve = 0, []
opt.stats.clear(); opt.roots.clear()
for _ in range(n_steps):
    l, g = jax.value_and_grad(loss)(params)
    params = opt.step(params, g)
    curve.append(l)
cond = {k: jnp.linalg.cond(m) for k, (m, _) in opt.stats.items()}
H = jax.hessian(loss)(params)
trace = jnp.einsum("ijij->", H["W"]["W"]) + jnp.trace(H["b"]["b"])
drops = [bool(b < a) for a, b in itertools.pairwise(curve)]
print(opt.t, drops, list(opt.roots), f"{trace:.2f}")
trace, cond["W"] > 1
---
opt.every = 1
---
opt = Shampoo(jnp.float32(0.01), every=3)
---
Y = Y[:, :1]; params = {"W": jnp.ones((3, 1)), "b": jnp.zeros(1)}

### iam-curriculum-sampler-weights-by-loss-history-numpy-choice
class Bank:
    def __init__(self, n): self.loss = np.full(n, np.inf); self.visits = np.zeros(n, int)
    def probs(self, temp):
        known = np.where(np.isinf(self.loss), np.nanmax(np.where(np.isinf(self.loss), np.nan, self.loss)) if np.isfinite(self.loss).any() else 1.0, self.loss)
        z = known / temp
        e = np.exp(z - z.max())
        return e / e.sum()
    def record(self, idx, losses):
        self.loss[idx] = losses
        np.add.at(self.visits, idx, 1)
data = np.random.default_rng(1).normal(size=(12, 3)).astype(np.float32)
labels = (data.sum(1) > 0).astype(np.float32); labels[0] = 1 - labels[0]
bank, w, temp, steps = Bank(12), jnp.zeros(3), 0.5, 3
---
rng = np.random.default_rng(0)
for s in range(steps):
    idx = rng.choice(len(data), 4, replace=False, p=bank.probs(temp))
    def per_example(w): return jax.nn.softplus(-(2 * labels[idx] - 1) * (data[idx] @ w))
    losses, pull = jax.vjp(per_example, w)
    imp = jnp.asarray(1 / (len(data) * bank.probs(temp)[idx]))
    (g,) = pull(imp / imp.sum())
    w = w - 0.5 * g
    bank.record(idx, losses)
final = jax.nn.softplus(-(2 * labels - 1) * (data @ w))
hard = np.argsort(-np.asarray(final))[:3]
ess = 1 / (bank.probs(temp) ** 2).sum()
corr = jnp.corrcoef(final, jnp.asarray(bank.visits, jnp.float32))[0, 1]
print(hard[0], bank.visits.sum(), f"{ess:.1f}", np.isinf(bank.loss).sum(), type(ess).__name__)
final.max(), corr.dtype, imp.dtype
---
temp = 5.0
---
bank = Bank(12); labels[0] = 1 - labels[0]
---
steps = 1; bank.loss[:] = 0.5

### iam-flow-matching-train-with-ema-and-heun-sampler
def velocity(p, x, t):
    h = jnp.concatenate([x, jnp.broadcast_to(t, x.shape[:-1] + (1,))], -1)
    for i, (w, b) in enumerate(p):
        h = h @ w + b
        if i < len(p) - 1: h = jax.nn.silu(h)
    return h
sizes = [3, 8, 2]
keys = iter(jr.split(jr.key(5), 64))
params = [(jr.normal(next(keys), (i, o)) / i ** 0.5, jnp.zeros(o)) for i, o in zip(sizes, sizes[1:])]
ema, decay = params, 0.9
target = np.array([[1.0, 1.0], [-1.0, -1.0]], np.float32); steps, nfe = 3, 4
---
tx = optax.apply_if_finite(optax.adam(optax.exponential_decay(1e-2, 1, 0.9)), 2)
st = tx.init(params)
for s in range(steps):
    k1, k2, k3 = jr.split(jr.fold_in(jr.key(0), s), 3)
    x1 = target[jr.randint(k1, (8,), 0, len(target))]
    x0, t = jr.normal(k2, x1.shape), jr.uniform(k3, (8, 1))
    xt = (1 - t) * x0 + t * x1
    loss, g = jax.value_and_grad(lambda p: jnp.mean((velocity(p, xt, t) - (x1 - x0)) ** 2))(params)
    up, st = tx.update(g, st, params)
    params = optax.apply_updates(params, up)
    ema = jax.tree.map(lambda e, p: decay * e + (1 - decay) * p, ema, params)
def sample(p, n, key):
    x, dt = jr.normal(key, (n, 2)), 1.0 / nfe
    for i in range(nfe):
        v0 = velocity(p, x, i * dt)
        v1 = velocity(p, x + dt * v0, (i + 1) * dt)
        x = x + dt / 2 * (v0 + v1)
    return x
both = {"raw": sample(params, 4, jr.key(1)), "ema": sample(ema, 4, jr.key(1))}
gap = jnp.linalg.norm(both["raw"] - both["ema"])
div = jax.vmap(lambda x: jnp.trace(jax.jacfwd(lambda x: velocity(ema, x, 0.5))(x)))(both["ema"])
print(int(st.total_notfinite), f"{loss:.3f}", {k: v.shape for k, v in both.items()}, bool(gap > 0))
div.mean(), loss
---
decay = 0.0
---
target = np.concatenate([target, [[0.0, 2.0]]]).astype(np.float32)
---
nfe = 2; params = jax.tree.map(lambda a: a * jnp.nan, params)
---
params = ema = jax.tree.map(jnp.zeros_like, ema)

### iam-linen-module-with-python-counters-nowrap-and-lazy-dataclass-config needs=flax
import flax, flax.linen as nn
@flax.struct.dataclass
class Cfg:
    width: int = flax.struct.field(pytree_node=False, default=6)
    drop: float = 0.1
    act: Callable = flax.struct.field(pytree_node=False, default=nn.gelu)
class Stack(nn.Module):
    cfg: Cfg
    depth: int = 2
    def setup(self):
        self.layers = [nn.Dense(self.cfg.width, name=f"d{i}") for i in range(self.depth)]
        self.scale = self.param("scale", lambda k, s: jnp.full(s, 1.0), (self.cfg.width,))
        self.seen = self.variable("stats", "seen", lambda: jnp.zeros((), jnp.int32))
    @nn.nowrap
    def describe(self): return f"{type(self).__name__}({self.depth}x{self.cfg.width})"
    def __call__(self, x, *, train=False):
        if train and not self.is_initializing(): self.seen.value += x.shape[0]
        for l in self.layers: x = x + self.cfg.act(l(x)) * self.scale
        return x
    def features(self, x): return self.layers[0](x)
cfg = Cfg(); x = jnp.linspace(-1, 1, 12).reshape(2, 6)
model = Stack(cfg)
---
vars_ = model.init(jr.key(0), x)
y, upd = model.apply(vars_, x, train=True, mutable=["stats"])
vars_ = {**vars_, **upd}
feats = model.apply(vars_, x, method=model.features)
bound = model.bind(vars_)
same = (bound.features(x) == feats).all()
small = model.clone(depth=1)
sub = {"params": {k: v for k, v in vars_["params"].items() if k in ("d0", "scale")}, "stats": vars_["stats"]}
z = small.apply(sub, x)
grads = jax.grad(lambda c: jnp.sum(Stack(c).apply(vars_, x) * c.drop))(cfg)
text = nn.tabulate(small, jr.key(0), console_kwargs={"width": 80, "force_jupyter": False})(x)
table = re.findall(r"\d+", text.splitlines()[-4])[:1] if (re := __import__("re")) else None
print(model.describe(), int(vars_["stats"]["seen"]), bool(same), type(grads).__name__, table)
grads.drop, z.shape, cfg.replace(drop=0.5).drop
---
cfg = cfg.replace(drop=2.0); model = Stack(cfg, depth=3)
---
x = x[:1]
---
model = model.copy(cfg=cfg.replace(act=jnp.sin))

### iam-optax-own-gradient-transform-namedtuple-with-extra-args-and-lbfgs-linesearch
class ClipHistoryState(NamedTuple):
    norms: jax.Array
    count: jax.Array
    mode: str = "median"
def clip_by_history(window, factor=2.0):
    def init(p): return ClipHistoryState(jnp.full(window, jnp.inf), jnp.zeros((), jnp.int32))
    def update(g, s, params=None, **extra):
        n = optax.tree_utils.tree_norm(g)
        lim = factor * jnp.median(s.norms)
        scale = jnp.where(n > lim, lim / n, 1.0)
        return jax.tree.map(lambda x: x * scale, g), s._replace(norms=s.norms.at[s.count % window].set(n), count=s.count + 1)
    return optax.GradientTransformationExtraArgs(init, update)
def f(p): return jnp.sum((p["a"] - 1) ** 2) + 0.5 * jnp.sum((p["a"][1:] - p["a"][:-1] ** 2) ** 2) + p["c"] ** 4
start = {"a": jnp.array([0.0, 0.5, -0.5]), "c": jnp.asarray(1.0)}
window, iters = 3, 3
---
hist = {}
for name, tx in {"clip": optax.chain(clip_by_history(window), optax.sgd(0.1)), "lbfgs": optax.lbfgs(memory_size=3), "polyak": optax.polyak_sgd()}.items():
    p, st = start, tx.init(start)
    vg = optax.value_and_grad_from_state(f) if name == "lbfgs" else None
    for _ in range(iters):
        v, g = vg(p, state=st) if vg else jax.value_and_grad(f)(p)
        up, st = tx.update(g, st, p, value=v, grad=g, value_fn=f)
        p = optax.apply_updates(p, up)
    hist[name] = (v, optax.tree_utils.tree_norm(g), p["c"])
mode = optax.tree_utils.tree_get(tx.init(start), "mode", default="none")
order = sorted(hist, key=lambda k: hist[k][0])
norms = {k: f"{n:.2f}" for k, (_, n, _) in hist.items()}
print(order[0] in hist, sorted(norms), mode, type(p["c"]).__name__, p["c"].weak_type)
[c.weak_type for *_, c in hist.values()], hist["clip"][0]
---
window = 1
---
start["c"] = jnp.array(-2.0)
---
def f(p): return jnp.sum(jnp.cosh(p["a"])) + jnp.abs(p["c"])

### iam-autoencoder-anomaly-scores-threshold-by-scipy-and-report
from scipy import stats
from sklearn.preprocessing import RobustScaler
from sklearn.metrics import roc_auc_score, classification_report
rng = np.random.default_rng(2)
normal = rng.normal(size=(24, 4)) @ rng.normal(size=(4, 4)); odd = rng.uniform(-6, 6, (4, 4))
X_all = np.vstack([normal, odd]); is_odd = np.r_[np.zeros(24, bool), np.ones(4, bool)]
latent, epochs, pct = 2, 4, 90
---
scaler = RobustScaler().fit(X_all[~is_odd])
Z = jnp.asarray(scaler.transform(X_all), jnp.float32)
k1, k2 = jr.split(jr.PRNGKey(latent))
p = {"enc": jr.normal(k1, (4, latent)) * 0.5, "dec": jr.normal(k2, (latent, 4)) * 0.5}
def recon(p, z): return jnp.tanh(z @ p["enc"]) @ p["dec"]
def score(p, z): return jnp.sum((recon(p, z) - z) ** 2, -1)
tx = optax.adafactor(0.05)
st = tx.init(p)
for e in range(epochs):
    for chunk in np.array_split(np.flatnonzero(~is_odd), 2):
        g = jax.grad(lambda p: score(p, Z[chunk]).mean())(p)
        up, st = tx.update(g, st, p)
        p = optax.apply_updates(p, up)
s = score(p, Z)
thr = jnp.percentile(s[~is_odd], pct)
flag = s > thr
auc = roc_auc_score(is_odd, s)
zstat = stats.zscore(np.asarray(s))
rep = classification_report(is_odd, np.asarray(flag), output_dict=True, zero_division=0)
worst = jnp.argsort(s)[::-1][:2]
print(f"{auc:.2f} {rep['accuracy']:.2f}", int(flag.sum()), zstat.dtype, bool(is_odd[worst].any()))
thr, flag.dtype
---
pct = 50
---
latent = 1
---
X_all[0] = 8; epochs = 1

### iam-generator-trainer-yields-checkpoints-and-receives-lr
def trainer(loss, params, lr):
    step, best = 0, (np.inf, params)
    while True:
        value, g = jax.value_and_grad(loss)(params)
        if value < best[0]: best = (float(value), params)
        params = jax.tree.map(lambda p, g: p - lr * g, params, g)
        step += 1
        try:
            sent = yield step, value, params
        except KeyboardInterrupt:
            yield best
            return
        if sent is not None: lr = sent
A = jnp.array([[3.0, 1.0], [1.0, 2.0]])
init = {"u": jnp.array([1.0, 1.0]), "c": 0.5}
lrs = [0.1, None, 0.4]
---
def loss(p): return 0.5 * p["u"] @ A @ p["u"] + (p["c"] - 1) ** 2
t = trainer(loss, init, 0.05)
log = [next(t)]
for new in lrs:
    log.append(t.send(new))
best_val, best_params = t.throw(KeyboardInterrupt)
ended = next(t, "ended")
steps, values, states = zip(*log)
improved = jnp.all(jnp.diff(jnp.stack(values)) < 0)
traj = jax.tree.map(lambda *xs: jnp.stack(xs), *states)
t.close()
print(steps, f"{best_val:.3f}", ended, best_params is states[-2], bool(improved))
traj["u"][-1], states[-1]["c"].weak_type, type(states[0]["c"]).__name__
---
lrs = [None, 0.01]
---
A = A * 5
---
init["c"] = jnp.float32(2); lrs.append(0.3)

### iam-online-logreg-ftrl-hashing-trick-stream-of-dicts
import zlib
events = [{"user": "u1", "ad": "a", "click": 1}, {"user": "u2", "ad": "b", "click": 0}, {"user": "u1", "ad": "b", "click": 0}, {"user": "u3", "ad": "a", "click": 1}]
D, alpha, l1 = 16, 0.5, 0.01
state = {"z": jnp.zeros(D), "n": jnp.zeros(D), "t": 0}
def indices(e): return [zlib.crc32(f"{k}={v}".encode()) % D for k, v in sorted(e.items()) if k != "click"]
---
@jax.jit
def weights(z, n): return jnp.where(jnp.abs(z) <= l1, 0.0, -(z - jnp.sign(z) * l1) / ((1 + jnp.sqrt(n)) / alpha))
@jax.jit
def update(z, n, idx, y):
    w = weights(z, n)[idx]
    p = jax.nn.sigmoid(w.sum())
    g = (p - y) * jnp.ones_like(w)
    s = (jnp.sqrt(n[idx] + g * g) - jnp.sqrt(n[idx])) / alpha
    return z.at[idx].add(g - s * w), n.at[idx].add(g * g), p
logloss = 0.0
seen = collections.Counter()
for e in events:
    idx = jnp.array(indices(e))
    state["z"], state["n"], p = update(state["z"], state["n"], idx, e["click"])
    logloss -= math.log(p if e["click"] else 1 - p)
    seen[e["ad"]] += e["click"]
    state["t"] += 1
w = weights(state["z"], state["n"])
nnz = int((w != 0).sum())
ctr = {k: v / sum(x["ad"] == k for x in events) for k, v in seen.items()}
print(state["t"], nnz, f"{logloss / len(events):.3f}", ctr, seen.most_common(1))
w[jnp.array(indices(events[0]))].shape, p
---
l1 = 0.3
---
events.append({"user": "u9", "ad": "c", "click": 1})
---
state = {"z": jnp.zeros(D), "n": jnp.ones(D), "t": 0}; alpha = 1

### iam-nnx-frozen-teacher-ema-by-state-filters-and-rng-checkpoint needs=flax
from flax import nnx
class Enc(nnx.Module):
    def __init__(self, rngs):
        self.a, self.drop = nnx.Linear(4, 5, rngs=rngs), nnx.Dropout(0.3, rngs=rngs)
        self.bn = nnx.BatchNorm(5, momentum=0.8, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))
    def __call__(self, x):
        self.calls[...] += 1
        return self.drop(self.bn(nnx.relu(self.a(x))))
student, teacher = Enc(nnx.Rngs(0)), Enc(nnx.Rngs(0))
teacher.eval()
x = jnp.asarray(np.random.default_rng(0).normal(size=(6, 4)), jnp.float32)
opt = nnx.Optimizer(student, optax.sgd(0.1), wrt=nnx.Param); m = 0.9
---
before = student.drop.rngs.count[...] if hasattr(student.drop.rngs, "count") else None
def loss_fn(s):
    za = s(x + 0.1)
    return jnp.mean((za - zb) ** 2)
for _ in range(2):
    zb = lax.stop_gradient(teacher(x))
    loss, g = nnx.value_and_grad(loss_fn)(student)
    opt.update(student, g)
    sp, tp = nnx.state(student, nnx.Param), nnx.state(teacher, nnx.Param)
    nnx.update(teacher, jax.tree.map(lambda t, s: m * t + (1 - m) * s, tp, sp))
params, stats, rngs, rest = nnx.state(student, nnx.Param, nnx.BatchStat, nnx.RngState, ...)
kinds = {k: len(jax.tree.leaves(v)) for k, v in {"p": params, "s": stats, "r": rngs, "o": rest}.items()}
pure = nnx.to_pure_dict(params)
np.savez("student.npz", **{f"{a}.{b}": np.asarray(v) for a, d in pure.items() for b, v in d.items()})
names = sorted(np.load("student.npz").files)
after = student.drop.rngs.count[...] if before is not None else None
used = None if before is None else int(after - before)
print(kinds, names, used, int(student.calls[...]), int(teacher.calls[...]), teacher.drop.deterministic)
loss, student.bn.mean[...].sum() != 0
---
m = 0.5
---
student.eval()
---
student.train(); x = x[:3]; teacher.a.bias[...] = jnp.ones(5)

### iam-early-exit-inference-cascade-dict-of-compiled-by-bucket
rng = np.random.default_rng(0)
W1, W2 = jnp.asarray(rng.normal(size=(4, 3)), jnp.float32), jnp.asarray(rng.normal(size=(4, 3)), jnp.float32) * 3
compiled, stats = {}, collections.Counter()
def bucket(n): return 1 << (n - 1).bit_length()
def get(model, n):
    key = model, bucket(n)
    if key not in compiled:
        stats["compile"] += 1
        W = {"small": W1, "large": W2}[model]
        compiled[key] = jax.jit(lambda x: jax.nn.softmax(x @ W)).lower(jax.ShapeDtypeStruct((key[1], 4), jnp.float32)).compile()
    return compiled[key]
requests = [rng.normal(size=(n, 4)).astype(np.float32) for n in (3, 1, 5)]
conf = 0.6
---
answers = []
for r in requests:
    n, b = len(r), bucket(len(r))
    probs = get("small", n)(np.pad(r, ((0, b - n), (0, 0))))[:n]
    sure = probs.max(-1) >= conf
    if not sure.all():
        hard = np.flatnonzero(~np.asarray(sure))
        hb = bucket(len(hard))
        big = get("large", len(hard))(np.pad(r[hard], ((0, hb - len(hard)), (0, 0))))[: len(hard)]
        probs = probs.at[hard].set(big)
        stats["escalated"] += len(hard)
    answers.append(probs.argmax(-1))
flat = jnp.concatenate(answers)
entropy = -sum(float(jnp.sum(p * jnp.log(p))) for p in [probs]) / len(probs)
table = jnp.bincount(flat, length=3)
print(sorted(compiled), dict(stats), table.tolist(), f"{entropy:.2f}")
table.dtype, flat.shape
---
conf = 0.95
---
W1 = W1 * 10; compiled.clear()
---
requests = requests[:1] + [np.ones((9, 4), np.float32)]; stats.clear()

### iam-neural-ode-adjoint-by-hand-odeint-and-checkpoint-json
from jax.experimental.ode import odeint
from jax.flatten_util import ravel_pytree
init = {"W": jnp.array([[0.0, 1.0], [-1.0, -0.1]]), "b": jnp.zeros(2)}
t = jnp.linspace(0.0, 1.0, 5); y0 = jnp.array([1.0, 0.0])
truth = np.stack([np.cos(1.2 * np.asarray(t)), -np.sin(1.2 * np.asarray(t))], 1)
steps, ckpt = 3, Path("ode.json")
---
flat0, unravel = ravel_pytree(init)
flat = jnp.array(json.loads(ckpt.read_text())["theta"]) if ckpt.exists() else flat0
def field_(y, t, theta):
    p = unravel(theta)
    return jnp.tanh(p["W"] @ y + p["b"])
def loss(theta): return jnp.mean((odeint(field_, y0, t, theta, rtol=1e-4) - truth) ** 2)
vals, m, v = [], jnp.zeros_like(flat), jnp.zeros_like(flat)
for k in range(1, steps + 1):
    val, g = jax.value_and_grad(loss)(flat)
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g ** 2
    flat = flat - 0.05 * (m / (1 - 0.9 ** k)) / (jnp.sqrt(v / (1 - 0.99 ** k)) + 1e-6)
    vals.append(val)
ckpt.write_text(json.dumps({"theta": [round(x, 3) for x in flat.tolist()], "k": k}))
params = unravel(flat)
eig = jnp.linalg.eigvals(params["W"])
freq = float(jnp.abs(eig.imag).max())
print(f"{vals[0]:.4f} {freq:.2f}", eig.dtype, flat.shape, sorted(params), ckpt.stat().st_size > 20)
vals[-1] < 1, params["b"].shape
---
steps = 1
---
ckpt.unlink(); y0 = jnp.array([0.5, 0.5])
---
init["c"] = jnp.zeros(0); ckpt.unlink()

### iam-speculative-decoding-two-markov-models-accept-reject
V = 5
rng = np.random.default_rng(3)
big = jnp.asarray(rng.dirichlet(np.ones(V), V), jnp.float32)
small = jnp.asarray(0.7 * np.asarray(big) + 0.3 / V, jnp.float32)
gamma, max_len, seed = 3, 10, 0
---
key = jr.key(seed)
out, proposed, accepted = [0], 0, 0
while len(out) < max_len:
    draft, qs = [], []
    cur = out[-1]
    for _ in range(gamma):
        key, k = jr.split(key)
        q = small[cur]
        cur = int(jr.choice(k, V, p=q))
        draft.append(cur); qs.append(q)
    ctx = jnp.array([out[-1], *draft])
    ps = big[ctx]
    proposed += gamma
    for i, tok in enumerate(draft):
        key, k = jr.split(key)
        if jr.uniform(k) < jnp.minimum(1, ps[i, tok] / qs[i][tok]):
            out.append(tok); accepted += 1
        else:
            key, k = jr.split(key)
            resid = jnp.maximum(ps[i] - qs[i], 0)
            out.append(int(jr.categorical(k, jnp.log(resid / resid.sum()))))
            break
    else:
        key, k = jr.split(key)
        out.append(jr.categorical(k, jnp.log(ps[-1])).item())
seq = jnp.array(out[:max_len])
logp = jnp.log(big[seq[:-1], seq[1:]]).sum()
rate = accepted / proposed
print("".join("abcde"[t] for t in out[:max_len]), f"{rate:.2f}", len(out) - max_len)
logp, seq.dtype
---
seed = 1
---
small = jnp.full((V, V), 1 / V)
---
gamma = 1; max_len = 5

### iam-grad-accumulation-microbatches-donated-buffers-and-int8-export
def init(key, sizes): return [{"w": jr.normal(k, (i, o)) / i ** 0.5, "b": jnp.zeros(o)} for k, i, o in zip(jr.split(key, len(sizes)), sizes, sizes[1:])]
def apply(ps, x):
    *hidden, last = ps
    for l in hidden: x = jax.nn.relu(x @ l["w"] + l["b"])
    return x @ last["w"] + last["b"]
rng = np.random.default_rng(0)
X = rng.normal(size=(16, 4)).astype(np.float32); y = np.abs(X).sum(1, keepdims=True)
params, micro, lr = init(jr.key(0), [4, 6, 1]), 4, 0.05
---
@partial(jax.jit, donate_argnums=(0,))
def add(acc, g): return jax.tree.map(jnp.add, acc, g)
grad_fn = jax.jit(jax.value_and_grad(lambda p, x, t: jnp.sum((apply(p, x) - t) ** 2)))
acc, total = jax.tree.map(jnp.zeros_like, params), 0.0
for xb, yb in zip(np.split(X, micro), np.split(y, micro)):
    l, g = grad_fn(params, xb, yb)
    acc = add(acc, g)
    total += l
params = [{k: p[k] - lr * a[k] / len(X) for k in p} for p, a in zip(params, acc)]
def quantise(w):
    s = jnp.max(jnp.abs(w)) / 127
    return np.asarray(jnp.round(w / s)).astype(np.int8), s
export = {f"{i}/{k}": quantise(v) for i, p in enumerate(params) for k, v in p.items() if v.ndim == 2}
deq = [{"w": jnp.asarray(export[f"{i}/w"][0]) * export[f"{i}/w"][1], "b": p["b"]} for i, p in enumerate(params)]
gap = jnp.abs(apply(deq, X) - apply(params, X)).max()
size = sum(q.nbytes for q, _ in export.values()), sum(v.nbytes for v in jax.tree.leaves(params))
print(size, sorted(export), f"{total / len(X):.3f}", bool(gap < 0.2), deq[0]["b"] is params[0]["b"])
total, export["0/w"][1].dtype
---
micro = 2
---
lr = 0.5
---
params = init(jr.key(1), [4, 3, 3, 1])
---
params[0]["b"] = jnp.ones(3)

### iam-linen-remat-layer-reads-a-global-scale needs=flax
import flax.linen as nn
branch_scale, act = 1.0, nn.gelu
class Residual(nn.Module):
    width: int = 4
    @nn.compact
    def __call__(self, x): return x + branch_scale * nn.Dense(self.width)(act(nn.Dense(8)(x)))
model = nn.remat(Residual)()
x = jnp.linspace(-1, 1, 8).reshape(2, 4)
params = model.init(jr.key(0), x)
---
loss, grads = jax.value_and_grad(lambda p: jnp.mean(model.apply(p, x) ** 2))(params)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
loss
---
branch_scale = 0.1
---
act = nn.relu

### iam-linen-scanned-decoder-with-global-temperature needs=flax
import flax.linen as nn
cfg = {"temp": 1.0, "kind": "tanh"}
class Step(nn.Module):
    @nn.compact
    def __call__(self, h, x):
        f = {"tanh": jnp.tanh, "relu": nn.relu}[cfg["kind"]]
        h = f(nn.Dense(3)(jnp.concatenate([h, x]))) / cfg["temp"]
        return h, nn.log_softmax(h)
rnn = nn.scan(Step, variable_broadcast="params", split_rngs={"params": False})()
h0, xs = jnp.zeros(3), jnp.ones((4, 2))
v = rnn.init(jr.key(0), h0, xs)
---
h, logp = rnn.apply(v, h0, xs)
picked = logp.argmax(-1)
h
---
cfg["temp"] = 2.0
---
cfg["kind"] = "relu"

### iam-effective-lr-noted-while-the-step-is-traced
lr, warm = 0.4, 2.0
noted = []
@jax.jit
def step(w, x):
    noted.append(lr / warm)
    g = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - lr / warm * g
w, x = jnp.zeros(2), jnp.ones((3, 2))
---
for _ in range(2): w = step(w, x)
print(len(noted) > 0, noted[-1])
w

""",
)
