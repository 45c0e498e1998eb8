"""Models, their training and what stands around it, as strangers keep it in notebooks: whole projects in one cell."""

from ..cell import written

PRELUDE = """
import os, io, sys, csv, json, math, time, copy, enum, pickle, string, logging, itertools, functools, collections, contextlib, operator, types, warnings, typing
from collections import defaultdict, deque, namedtuple, OrderedDict, Counter, ChainMap
from dataclasses import dataclass, field, replace, asdict
from functools import partial, wraps, cached_property, reduce
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, Sequence, Protocol
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, random as jr
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
from jax.tree_util import tree_map, register_pytree_node_class, register_dataclass, tree_flatten_with_path, keystr
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### kam-mingpt-whole-in-a-cell-with-config-dataclass-and-sampler
text = "the quick brown fox jumps over the lazy dog and then the dog sleeps. " * 3
seed = 0
iters = 3
n_embd = 8
---
@dataclass
class Config:
    block: int = 6
    n_layer: int = 2
    n_head: int = 2
    n_embd: int = 8
    vocab: int = 0
    dropout: float = 0.0
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
itos = dict(enumerate(chars))
cfg = Config(vocab=len(chars), n_embd=n_embd)
data = np.array([stoi[c] for c in text], dtype=np.uint16)
rng = np.random.default_rng(seed)

def init(cfg, key):
    ks = iter(jr.split(key, 2 + 4 * cfg.n_layer))
    n = lambda *s: jr.normal(next(ks), s) * 0.02
    d = cfg.n_embd
    return {"wte": n(cfg.vocab, d), "wpe": n(cfg.block, d),
            "h": [{"qkv": n(d, 3 * d), "proj": n(d, d), "fc": n(d, 4 * d), "out": n(4 * d, d),
                   "ln1": {"g": jnp.ones(d), "b": jnp.zeros(d)}, "ln2": {"g": jnp.ones(d), "b": jnp.zeros(d)}}
                  for _ in range(cfg.n_layer)]}

def ln(p, x, eps=1e-5):
    m = x.mean(-1, keepdims=True)
    return (x - m) / jnp.sqrt(x.var(-1, keepdims=True) + eps) * p["g"] + p["b"]

def forward(params, idx):
    T = idx.shape[-1]
    x = params["wte"][idx] + params["wpe"][:T]
    mask = jnp.tril(jnp.ones((T, T), bool))
    for blk in params["h"]:
        q, k, v = jnp.split(ln(blk["ln1"], x) @ blk["qkv"], 3, axis=-1)
        sh = lambda a: a.reshape(T, cfg.n_head, -1).swapaxes(0, 1)
        att = jnp.where(mask, sh(q) @ sh(k).mT / math.sqrt(cfg.n_embd // cfg.n_head), -1e9)
        x = x + (jax.nn.softmax(att) @ sh(v)).swapaxes(0, 1).reshape(T, -1) @ blk["proj"]
        x = x + jax.nn.gelu(ln(blk["ln2"], x) @ blk["fc"]) @ blk["out"]
    return x @ params["wte"].T

def get_batch(bs=4):
    ix = rng.integers(0, len(data) - cfg.block - 1, bs)
    return np.stack([data[i:i + cfg.block] for i in ix]), np.stack([data[i + 1:i + 1 + cfg.block] for i in ix])

@jax.jit
def loss_fn(p, x, y):
    lg = jax.vmap(partial(forward, p))(x)
    return optax.softmax_cross_entropy_with_integer_labels(lg, y.astype(jnp.int32)).mean()

params = init(cfg, jr.PRNGKey(seed))
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2, weight_decay=0.1, mask=lambda p: jax.tree.map(lambda a: a.ndim >= 2, p)))
opt = tx.init(params)
hist = {"step": [], "loss": []}
for it in range(iters):
    xb, yb = get_batch()
    l, g = jax.value_and_grad(loss_fn)(params, xb, yb)
    up, opt = tx.update(g, opt, params)
    params = optax.apply_updates(params, up)
    hist["step"].append(it); hist["loss"].append(l)
out = [stoi["t"]]
for _ in range(4):
    lg = forward(params, jnp.array(out[-cfg.block:]))[-1]
    out.append(int(jnp.argmax(lg)))
n_params = sum(p.size for p in jax.tree.leaves(params))
print(n_params, "".join(itos[i] for i in out[:1]), [f"{float(v):.2f}" for v in hist["loss"]])
---
iters = 1; seed = 3
---
n_embd = 4
---
text = text.lower()[:90].replace("fox", "toad")

### kam-dqn-numpy-replay-target-net-epsilon-class
class Replay:
    def __init__(self, cap, obs, seed=0):
        self.s = np.zeros((cap, obs), np.float32); self.a = np.zeros(cap, np.int64)
        self.r = np.zeros(cap, np.float32); self.s2 = np.zeros_like(self.s); self.d = np.zeros(cap, bool)
        self.i, self.full, self.cap = 0, False, cap
        self.rng = np.random.default_rng(seed)
    def push(self, s, a, r, s2, d):
        j = self.i
        self.s[j], self.a[j], self.r[j], self.s2[j], self.d[j] = s, a, r, s2, d
        self.i = (j + 1) % self.cap
        self.full |= self.i == 0
    def __len__(self):
        return self.cap if self.full else self.i
    def sample(self, n):
        ix = self.rng.choice(len(self), n)
        return self.s[ix], self.a[ix], self.r[ix], self.s2[ix], self.d[ix]
class Chain:
    def __init__(self, n=5): self.n, self.pos = n, 0
    def reset(self): self.pos = 0; return self.obs()
    def obs(self): return np.eye(self.n, dtype=np.float32)[self.pos]
    def step(self, a):
        self.pos = min(self.pos + 1, self.n - 1) if a == 1 else 0
        return self.obs(), float(self.pos == self.n - 1), self.pos == self.n - 1
env, buf = Chain(), Replay(16, 5)
q = [jr.normal(jr.key(i), s) * 0.3 for i, s in enumerate([(5, 8), (8, 2)])]
target = [w for w in q]
tx = optax.rmsprop(1e-2); ost = tx.init(q)
eps, gamma, tau, frame = 0.5, 0.9, None, 0
act_rng = np.random.default_rng(1)
net = lambda w, s: jax.nn.relu(s @ w[0]) @ w[1]
@jax.jit
def td(w, t, s, a, r, s2, d):
    y = r + gamma * (1 - d) * net(t, s2).max(-1)
    qa = jnp.take_along_axis(net(w, s), a[:, None], 1)[:, 0]
    return optax.huber_loss(qa, lax.stop_gradient(y)).mean()
---
s = env.reset()
returns, losses = 0.0, []
for t in range(10):
    frame += 1
    a = act_rng.integers(2) if act_rng.random() < eps else int(net(q, s).argmax())
    s2, r, done = env.step(a)
    buf.push(s, a, r, s2, done)
    returns += r
    if len(buf) >= 4 and t % 2:
        batch = buf.sample(4)
        l, g = jax.value_and_grad(td)(q, target, *batch)
        up, ost = tx.update(g, ost)
        q = optax.apply_updates(q, up)
        losses.append(l.item())
    if frame % 4 == 0:
        target = q if tau is None else optax.incremental_update(q, target, tau)
    s = env.reset() if done else s2
eps = max(0.05, eps * 0.9)
same = target is q, target[0] is q[0]
print(f"frame {frame} return {returns:.1f} eps {eps:.3f} loss {np.mean(losses):.4f}", same, len(buf))
---
tau = 0.05
---
gamma = 0.5; env = Chain(3); buf = Replay(8, 3, 2); q = [jnp.ones((3, 4)) * 0.1, jnp.ones((4, 2))]; target = list(q); ost = tx.init(q)
---
td = jax.jit(lambda w, t, s, a, r, s2, d: ((net(w, s)[jnp.arange(len(a)), a] - r) ** 2).sum())

### kam-ppo-vectorised-env-scan-gae-minibatch-shuffle tolerance=1e-4
class Transition(NamedTuple):
    obs: jax.Array
    act: jax.Array
    logp: jax.Array
    val: jax.Array
    rew: jax.Array
    done: jax.Array
def env_reset(k): return jr.uniform(k, (2,), minval=-0.1, maxval=0.1)
def env_step(k, s, a):
    v = jnp.clip(s[1] + (a - 0.5) * 0.2, -1, 1); x = s[0] + v
    done = jnp.abs(x) > 1.0
    new = jnp.where(done, env_reset(k), jnp.stack([x, v]))
    return new, 1.0 - jnp.abs(x), done
def ac(p, o):
    h = jnp.tanh(o @ p["w1"])
    return h @ p["pi"], (h @ p["v"])[..., 0]
k0 = jr.key(42)
params = {"w1": jr.normal(k0, (2, 8)), "pi": jnp.zeros((8, 2)), "v": jnp.zeros((8, 1))}
cfg = dict(N=4, T=6, LAM=0.95, GAMMA=0.99, CLIP=0.2, EPOCHS=2, MB=2, LR=3e-3, ANNEAL=True)
key = jr.key(0)
---
cfg["BATCH"] = cfg["N"] * cfg["T"]
sched = optax.linear_schedule(cfg["LR"], 0.0, 100) if cfg["ANNEAL"] else cfg["LR"]
tx = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(sched, eps=1e-5))
runner = (params, tx.init(params), jax.vmap(env_reset)(jr.split(key, cfg["N"])), key)
def update(runner, _):
    def act(c, _):
        p, s, k = c
        k, ka, ks = jr.split(k, 3)
        lg, v = ac(p, s)
        a = jr.categorical(ka, lg)
        lp = jax.nn.log_softmax(lg)[jnp.arange(len(a)), a]
        s2, r, d = jax.vmap(env_step)(jr.split(ks, cfg["N"]), s, a)
        return (p, s2, k), Transition(s, a, lp, v, r, d)
    p, o, s, k = runner
    (p, s, k), traj = lax.scan(act, (p, s, k), None, cfg["T"])
    _, last = ac(p, s)
    def gae(c, t):
        g, nv = c
        delta = t.rew + cfg["GAMMA"] * nv * (1 - t.done) - t.val
        g = delta + cfg["GAMMA"] * cfg["LAM"] * (1 - t.done) * g
        return (g, t.val), g
    _, adv = lax.scan(gae, (jnp.zeros_like(last), last), traj, reverse=True, unroll=2)
    tgt = adv + traj.val
    def epoch(c, _):
        p, o, k = c
        k, kp = jr.split(k)
        perm = jr.permutation(kp, cfg["BATCH"])
        flat = jax.tree.map(lambda x: x.reshape((cfg["BATCH"],) + x.shape[2:])[perm].reshape((cfg["MB"], -1) + x.shape[2:]), (traj, adv, tgt))
        def mb(c, b):
            p, o = c
            t, a, y = b
            def loss(p):
                lg, v = ac(p, t.obs)
                lp = jnp.take_along_axis(jax.nn.log_softmax(lg), t.act[:, None], 1).squeeze(1)
                ratio = jnp.exp(lp - t.logp)
                an = (a - a.mean()) / (a.std() + 1e-8)
                pl = -jnp.minimum(ratio * an, jnp.clip(ratio, 1 - cfg["CLIP"], 1 + cfg["CLIP"]) * an).mean()
                return pl + 0.5 * jnp.square(v - y).mean(), pl
            (l, pl), g = jax.value_and_grad(loss, has_aux=True)(p)
            u, o = tx.update(g, o, p)
            return (optax.apply_updates(p, u), o), l
        (p, o), l = lax.scan(mb, (p, o), flat)
        return (p, o, k), l
    (p, o, k), l = lax.scan(epoch, (p, o, k), None, cfg["EPOCHS"])
    return (p, o, s, k), {"loss": l.mean(), "rew": traj.rew.mean(), "dones": traj.done.sum()}
runner, metrics = jax.jit(update)(runner, None)
runner, more = lax.scan(update, runner, None, 2)
params, key = runner[0], runner[-1]
log = {m: np.append(np.asarray(more[m]), metrics[m]) for m in metrics}
lr_now = sched(int(runner[1][1][0].count)) if callable(sched) else sched
print(log["dones"].dtype, log["loss"].shape, type(lr_now).__name__)
---
cfg["ANNEAL"] = False
---
cfg |= {"N": 2, "MB": 3}
---
cfg = types.MappingProxyType(cfg) | {"CLIP": 1e9}

### kam-gan-two-optimizers-nnx-modules-alternating needs=flax tolerance=2e-4
from flax import nnx
class G(nnx.Module):
    def __init__(self, z, d, rngs):
        self.net = nnx.Sequential(nnx.Linear(z, 8, rngs=rngs), nnx.leaky_relu, nnx.Linear(8, d, rngs=rngs), jnp.tanh)
    def __call__(self, z): return self.net(z)
class D(nnx.Module):
    def __init__(self, d, rngs):
        self.a, self.b = nnx.Linear(d, 8, rngs=rngs), nnx.Linear(8, 1, rngs=rngs)
        self.drop = nnx.Dropout(0.2, rngs=rngs)
    def __call__(self, x): return self.b(self.drop(jax.nn.silu(self.a(x))))
g, d = G(3, 2, nnx.Rngs(0)), D(2, nnx.Rngs(1, dropout=7))
og, od = nnx.Optimizer(g, optax.adam(1e-3, b1=0.5), wrt=nnx.Param), nnx.Optimizer(d, optax.adam(2e-3, b1=0.5), wrt=nnx.Param)
noise = nnx.Rngs(noise=5)
real = np.random.default_rng(0).normal(size=(8, 2)).astype("f4")
n_critic = 2
hist = defaultdict(list)
bce = optax.sigmoid_binary_cross_entropy
---
d.train(); g.train()
for i in range(n_critic):
    fake = g(jr.normal(noise.noise(), (len(real), 3)))
    def d_loss(d):
        return bce(d(real), jnp.ones((len(real), 1))).mean() + bce(d(lax.stop_gradient(fake)), jnp.zeros((len(real), 1))).mean()
    ld, gd = nnx.value_and_grad(d_loss)(d)
    od.update(d, gd)
    hist["d"].append(ld)
d.eval()
z = jr.normal(noise.noise(), (len(real), 3))
def g_loss(g):
    return bce(d(g(z)), jnp.ones((len(real), 1))).mean()
lg, gg = nnx.value_and_grad(g_loss)(g)
og.update(g, gg)
hist["g"].append(lg)
d.eval(); g.eval()
score = nnx.sigmoid(d(g(jnp.zeros((1, 3)))))
print({k: len(v) for k, v in hist.items()}, od.step[...], og.step[...], d.drop.deterministic, noise.noise.count[...])
---
n_critic = 1; real = real[:3]
---
d.drop.rate = 0.0
---
hist.clear(); od = nnx.Optimizer(d, optax.chain(optax.clip(0.01), optax.sgd(1e-2)), wrt=nnx.Param)

### kam-ddpm-cosine-schedule-epsilon-loss-and-ancestral-sampling tolerance=1e-4
Ts = 8
def cosine(T, s=0.008):
    t = np.linspace(0, T, T + 1) / T
    f = np.cos((t + s) / (1 + s) * np.pi / 2) ** 2
    return np.clip(1 - f[1:] / f[:-1], 0, 0.999)
def eps_model(p, x, t):
    emb = jnp.concatenate([jnp.sin(t[:, None] * p["freq"]), jnp.cos(t[:, None] * p["freq"])], -1)
    h = jax.nn.swish(x @ p["wx"] + emb @ p["wt"])
    return h @ p["wo"]
p = {"freq": jnp.array([0.1, 1.0]), "wx": jr.normal(jr.key(0), (2, 16)), "wt": jr.normal(jr.key(1), (4, 16)), "wo": jnp.zeros((16, 2))}
x0 = jr.normal(jr.key(2), (6, 2)) * jnp.array([1.0, 0.2])
lr, ema_decay = 0.05, 0.9
key = jr.PRNGKey(7)
---
betas = jnp.asarray(cosine(Ts), dtype=jnp.float32)
alphas = 1.0 - betas
abar = jnp.cumprod(alphas)
ema = p
for step in range(3):
    key, kt, ke = jr.split(key, 3)
    t = jr.randint(kt, (x0.shape[0],), 0, Ts)
    e = jr.normal(ke, x0.shape)
    def loss(p):
        xt = jnp.sqrt(abar[t])[:, None] * x0 + jnp.sqrt(1 - abar[t])[:, None] * e
        return jnp.mean((eps_model(p, xt, t) - e) ** 2)
    val, grads = jax.value_and_grad(loss)(p)
    p = {k: v - lr * grads[k] if k != "freq" else v for k, v in p.items()}
    ema = jax.tree.map(lambda a, b: ema_decay * a + (1 - ema_decay) * b, ema, p)
x = jr.normal(key, (3, 2))
frames = [x]
for t in reversed(range(Ts)):
    key, sub = jr.split(key)
    z = jr.normal(sub, x.shape) if t > 0 else 0
    eh = eps_model(ema, x, jnp.full((3,), t))
    x = (x - betas[t] / jnp.sqrt(1 - abar[t]) * eh) / jnp.sqrt(alphas[t]) + jnp.sqrt(betas[t]) * z
    if t % 3 == 0:
        frames.append(x)
traj = jnp.stack(frames)
p["freq"] is ema["freq"], traj.shape
---
Ts = 4
---
x0 = x0.astype(jnp.float16)
---
ema_decay = jnp.float32(0.5); lr = jnp.float32(0.01); p = {k: v * 0.1 for k, v in p.items()}

### kam-realnvp-equinox-coupling-layers-masks-static needs=equinox tolerance=1e-4
import equinox as eqx
class Coupling(eqx.Module):
    s: eqx.nn.MLP
    t: eqx.nn.MLP
    mask: np.ndarray = eqx.field(static=False)
    flip: bool = eqx.field(static=True, default=False)
    def __init__(self, d, flip, *, key):
        k1, k2 = jr.split(key)
        self.s = eqx.nn.MLP(d, d, 6, 1, final_activation=jnp.tanh, key=k1)
        self.t = eqx.nn.MLP(d, d, 6, 1, key=k2)
        self.flip = flip
        self.mask = (np.arange(d) % 2 == int(flip)).astype(np.float32)
    def __call__(self, x):
        m = lax.stop_gradient(self.mask)
        xm = x * m
        s = self.s(xm) * (1 - m)
        return xm + (1 - m) * (x * jnp.exp(s) + self.t(xm)), s.sum()
    def inv(self, y):
        m = self.mask
        ym = y * m
        return ym + (1 - m) * (y - self.t(ym)) * jnp.exp(-self.s(ym) * (1 - m))
class Flow(eqx.Module):
    layers: list[Coupling]
    def log_prob(self, x):
        ld = 0.0
        for l in self.layers:
            x, d = l(x); ld = ld + d
        return jax.scipy.stats.norm.logpdf(x).sum() + ld
    def sample(self, key):
        z = jr.normal(key, self.layers[0].mask.shape)
        for l in reversed(self.layers):
            z = l.inv(z)
        return z
D = 2
flow = Flow([Coupling(D, bool(i % 2), key=jr.key(i)) for i in range(3)])
data = np.random.default_rng(1).standard_normal((16, D)).astype(np.float32)
opt = optax.adabelief(1e-2)
state = opt.init(eqx.filter(flow, eqx.is_inexact_array))
bs = 8
---
@eqx.filter_jit
def step(flow, state, x):
    l, g = eqx.filter_value_and_grad(lambda f: -jax.vmap(f.log_prob)(x).mean())(flow)
    u, state = opt.update(g, state, eqx.filter(flow, eqx.is_inexact_array))
    return eqx.apply_updates(flow, u), state, l
nlls = []
best, best_flow = float("inf"), None
for i in range(0, len(data), bs):
    flow, state, l = step(flow, state, data[i:i + bs])
    nlls.append(l)
    if l < best:
        best, best_flow = l, flow
samples = jax.vmap(flow.sample)(jr.split(jr.key(0), 4))
z, ld = flow.layers[0](jnp.asarray(data[0]))
back = flow.layers[0].inv(z)
print(best_flow is flow, bool(jnp.allclose(back, data[0], atol=1e-4)), type(flow.layers[1].mask).__name__, f"{best:.3f}")
---
bs = 5
---
flow = eqx.tree_at(lambda f: f.layers, flow, flow.layers[:2]); state = opt.init(eqx.filter(flow, eqx.is_inexact_array))
---
flow = eqx.tree_inference(flow, True); data = data[::-1]

### kam-gp-regression-class-with-cached-property-and-type2-ml tolerance=1e-3
class GP:
    def __init__(self, X, y, kernel, noise=0.1):
        self.X, self.y, self.kernel, self.noise = X, y, kernel, noise
    @cached_property
    def chol(self):
        K = self.kernel(self.X, self.X) + self.noise ** 2 * jnp.eye(len(self.X))
        return jax.scipy.linalg.cho_factor(K, lower=True)
    @property
    def alpha(self):
        return jax.scipy.linalg.cho_solve(self.chol, self.y)
    def predict(self, Xs, return_std=False):
        Ks = self.kernel(Xs, self.X)
        mu = Ks @ self.alpha
        if not return_std:
            return mu
        v = jax.scipy.linalg.solve_triangular(self.chol[0], Ks.T, lower=True)
        return mu, jnp.sqrt(jnp.diag(self.kernel(Xs, Xs)) - (v ** 2).sum(0))
    @property
    def lml(self):
        L = self.chol[0]
        return -0.5 * self.y @ self.alpha - jnp.log(jnp.diagonal(L)).sum() - len(self.X) / 2 * math.log(2 * math.pi)
class RBF:
    def __init__(self, ell=1.0, var=1.0): self.ell, self.var = ell, var
    def __call__(self, a, b):
        return self.var * jnp.exp(-0.5 * jnp.square(a[:, None] - b[None]) / self.ell ** 2)
    def __add__(self, o): return Sum(self, o)
class Periodic(RBF):
    def __call__(self, a, b):
        return self.var * jnp.exp(-2 * jnp.sin(math.pi * jnp.abs(a[:, None] - b[None])) ** 2 / self.ell ** 2)
class Sum(RBF):
    def __init__(self, *ks): self.ks = ks
    def __call__(self, a, b): return sum(k(a, b) for k in self.ks)
X = jnp.linspace(0, 3, 9); y = jnp.sin(2 * X) + 0.05 * jnp.cos(17 * X)
kernel = RBF(0.7)
noise = 0.1
---
gp = GP(X, y, kernel, noise)
grid = np.linspace(0, 3, 5)
mu, sd = gp.predict(grid, return_std=True)
nll = lambda th: -GP(X, y, RBF(jnp.exp(th[0]), jnp.exp(th[1])), jnp.exp(th[2])).lml
th = jnp.log(jnp.array([0.7, 1.0, noise]))
for _ in range(3):
    th -= 0.01 * jax.grad(nll)(th)
names = dict(zip(["ell", "var", "noise"], jnp.exp(th)))
"chol" in gp.__dict__, type(gp.__dict__.get("chol")).__name__, gp.lml
---
noise = jnp.float32(0.2)
---
kernel = RBF(1.0) + Periodic(0.8, 0.3)
---
X = X[:4]; y = y[:4]; kernel.ks[1].var = 2.0

### kam-hmc-leapfrog-dual-averaging-python-chain tolerance=5e-3
def logp(q): return -0.5 * q @ prec @ q - 0.1 * jnp.sum(q ** 4)
prec = jnp.array([[2.0, 0.6], [0.6, 1.0]])
q = jnp.array([0.5, -0.5])
step_size, n_leap, n_warm, n_samp = 0.2, 4, 3, 3
key = jr.key(11)
accepts = []
---
@jax.jit
def leapfrog(q, p, eps, n=n_leap):
    p = p + 0.5 * eps * jax.grad(logp)(q)
    def body(i, c):
        q, p = c
        q = q + eps * p
        p = p + eps * jax.grad(logp)(q)
        return q, p
    q, p = lax.fori_loop(0, n - 1, body, (q, p))
    q = q + eps * p
    return q, -(p + 0.5 * eps * jax.grad(logp)(q))
mu = np.log(10 * step_size)
log_eps, log_eps_bar, h_bar = np.log(step_size), 0.0, 0.0
chain = np.empty((n_warm + n_samp, q.size))
for m in range(n_warm + n_samp):
    key, k1, k2 = jr.split(key, 3)
    p0 = jr.normal(k1, q.shape)
    eps = np.exp(log_eps if m < n_warm else log_eps_bar)
    q1, p1 = leapfrog(q, p0, eps)
    dH = logp(q1) - 0.5 * p1 @ p1 - logp(q) + 0.5 * p0 @ p0
    alpha = jnp.minimum(1.0, jnp.exp(dH))
    if jr.uniform(k2) < alpha:
        q = q1
        accepts.append(True)
    else:
        accepts.append(False)
    if m < n_warm:
        eta = 1.0 / (m + 1 + 10)
        h_bar = (1 - eta) * h_bar + eta * (0.8 - float(alpha))
        log_eps = mu - np.sqrt(m + 1) / 0.05 * h_bar * 0.01
        log_eps_bar = (m + 1) ** -0.75 * log_eps + (1 - (m + 1) ** -0.75) * log_eps_bar
    chain[m] = q
rate = sum(accepts) / len(accepts)
print(f"{rate:.2f}", chain.shape, type(eps).__name__)
---
n_leap = 2
---
prec = jnp.eye(3); q = jnp.zeros(3) + 0.1; chain = None; n_samp = 0
---
prec = prec[:2, :2]; q = q[:2]; key = jr.fold_in(key, 3); accepts = accepts[-2:]

### kam-s4d-kernel-convolution-vs-recurrence-flax-linen needs=flax tolerance=1e-3
import flax.linen as nn
class S4D(nn.Module):
    n: int = 4
    dt_min: float = 0.01
    mode: str = "conv"
    @nn.compact
    def __call__(self, u):
        L, H = u.shape
        log_dt = self.param("log_dt", lambda k, s: jr.uniform(k, s) * 2 + math.log(self.dt_min), (H,))
        re = self.param("A_re", lambda k: jnp.full((H, self.n), -0.5))
        im = self.param("A_im", lambda k: jnp.pi * jnp.arange(self.n) * jnp.ones((H, 1)))
        C = self.param("C", nn.initializers.normal(0.5), (H, self.n, 2))
        Dk = self.param("D", nn.initializers.ones, (H,))
        A = re + 1j * im
        dt = jnp.exp(log_dt)[:, None]
        dtA = A * dt
        Cc = (C[..., 0] + 1j * C[..., 1]) * (jnp.exp(dtA) - 1.0) / A
        if self.mode == "conv":
            K = 2 * jnp.einsum("hn,hnl->hl", Cc, jnp.exp(dtA[..., None] * jnp.arange(L))).real
            uf, kf = jnp.fft.rfft(u.T, n=2 * L), jnp.fft.rfft(K, n=2 * L)
            y = jnp.fft.irfft(uf * kf, n=2 * L)[:, :L].T
        else:
            def step(x, ut):
                x = x * jnp.exp(dtA) + ut[:, None]
                return x, 2 * (Cc * x).sum(-1).real
            _, y = lax.scan(step, jnp.zeros_like(dtA), u)
        return nn.gelu(y + u * Dk)
u = jr.normal(jr.key(0), (12, 3))
model = S4D()
v = model.init(jr.key(1), u)
---
y = model.apply(v, u)
y2 = model.clone(mode="rec").apply(v, u)
err = jnp.abs(y - y2).max()
assert err < 1e-3, err
g = jax.grad(lambda v: model.apply(v, u).sum())(v)
flat = {"/".join(k.key for k in path): (a.dtype.name, a.shape) for path, a in tree_flatten_with_path(v)[0]}
batch = jax.vmap(model.apply, (None, 0))(v, jnp.stack([u, -u]))
np.testing.assert_allclose(batch[0], y, atol=1e-4)
flat
---
u = jnp.concatenate([u, u])[:17]
---
model = S4D(n=2, mode="rec"); v = model.init(jr.key(3), u)
---
u = np.asarray(u[:5], dtype=np.float64)

### kam-moe-top2-router-capacity-load-balance-aux
E, k, cap_factor = 4, 2, 1.25
wg = jr.normal(jr.key(0), (6, E)); w1 = jr.normal(jr.key(1), (E, 6, 8)) * 0.3; w2 = jr.normal(jr.key(2), (E, 8, 6)) * 0.3
x = jr.normal(jr.key(3), (10, 6))
jitter = 0.0
---
T = x.shape[0]
capacity = int(math.ceil(k * T / E * cap_factor))
logits = x @ wg
if jitter:
    logits *= jr.uniform(jr.key(9), logits.shape, minval=1 - jitter, maxval=1 + jitter)
probs = jax.nn.softmax(logits.astype(jnp.float32), axis=-1)
gate, idx = lax.top_k(probs, k)
gate /= gate.sum(-1, keepdims=True)
onehot = jax.nn.one_hot(idx, E, dtype=jnp.int32)
pos = jnp.cumsum(onehot.transpose(1, 0, 2).reshape(-1, E), 0).reshape(k, T, E).transpose(1, 0, 2) * onehot - 1
keep = (pos < capacity) & (pos >= 0)
disp = jnp.einsum("tke,tkec->tec", keep.astype(x.dtype), jax.nn.one_hot(jnp.where(keep, pos, -1), capacity))
comb = disp * jnp.einsum("tk,tke->te", gate, onehot.astype(gate.dtype))[..., None]
xe = jnp.einsum("tec,td->ecd", disp, x)
ye = jax.vmap(lambda a, b, h: jax.nn.relu(h @ a) @ b)(w1, w2, xe)
out = jnp.einsum("tec,ecd->td", comb, ye)
density = onehot[:, 0].mean(0, dtype=jnp.float32)
aux = E * jnp.sum(density * probs.mean(0))
dropped = T * k - keep.sum()
load = {f"expert_{e}": n for e, n in enumerate(onehot.sum((0, 1)))}
out.dtype, aux.weak_type, dropped.dtype, capacity
---
cap_factor = 0.5
---
x = x.astype(jnp.bfloat16)
---
k = 1; jitter = 0.1; x = x[:7]

### kam-lora-merge-unmerge-module-with-frozen-base-partition needs=flax
from flax import nnx
class Lora(nnx.Param): pass
class LoraLinear(nnx.Module):
    def __init__(self, base, r, alpha, *, rngs):
        self.base = base
        self.A = Lora(jr.normal(rngs.params(), (base.in_features, r)) * 0.1)
        self.B = Lora(jnp.zeros((r, base.out_features)))
        self.scale, self.merged = alpha / r, False
    def delta(self): return self.A @ self.B * self.scale
    def merge(self):
        if not self.merged:
            self.base.kernel[...] += self.delta(); self.merged = True
        return self
    def unmerge(self):
        if self.merged:
            self.base.kernel[...] -= self.delta(); self.merged = False
        return self
    def __call__(self, x):
        y = self.base(x)
        return y if self.merged else y + x @ self.A @ self.B * self.scale
def inject(m, r, alpha, rngs):
    for name, sub in list(vars(m).items()):
        if isinstance(sub, nnx.Linear):
            setattr(m, name, LoraLinear(sub, r, alpha, rngs=rngs))
class Net(nnx.Module):
    def __init__(self, rngs):
        self.up, self.down = nnx.Linear(4, 8, rngs=rngs), nnx.Linear(8, 2, rngs=rngs)
    def __call__(self, x): return self.down(nnx.relu(self.up(x)))
net = Net(nnx.Rngs(0))
r, alpha = 2, 4
x, y = jr.normal(jr.key(1), (5, 4)), jr.normal(jr.key(2), (5, 2))
---
inject(net, r, alpha, nnx.Rngs(params=9))
is_lora = nnx.filterlib.to_predicate(Lora)
opt = nnx.Optimizer(net, optax.adam(1e-2), wrt=Lora)
frozen = net.up.base.kernel[...]
for _ in range(2):
    loss, g = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2), argnums=nnx.DiffState(0, Lora))(net)
    opt.update(net, g)
assert net.up.base.kernel[...] is frozen
before = net(x)
net.up.merge(); net.down.merge()
after = net(x)
gap = float(jnp.abs(before - after).max())
sizes = {"lora": sum(a.size for a in jax.tree.leaves(nnx.state(net, Lora))), "all": sum(a.size for a in jax.tree.leaves(nnx.state(net, nnx.Param)))}
net.up.unmerge(); net.down.unmerge()
print(sizes, gap < 1e-5, type(net.up).__name__, net.up.merged)
---
r = 1
---
net = Net(nnx.Rngs(5)); alpha = 0.5
---
x = x[:2]; y = y[:2]

### kam-qat-fake-quant-straight-through-observer-minmax
class Observer:
    def __init__(self, bits=8, momentum=0.9):
        self.bits, self.momentum, self.lo, self.hi, self.n = bits, momentum, None, None, 0
    def __call__(self, x):
        lo, hi = x.min(), x.max()
        if self.lo is None:
            self.lo, self.hi = lo, hi
        else:
            m = self.momentum
            self.lo, self.hi = m * self.lo + (1 - m) * lo, m * self.hi + (1 - m) * hi
        self.n += 1
        return self
    @property
    def qparams(self):
        scale = (self.hi - self.lo) / (2 ** self.bits - 1)
        return scale, jnp.round(-self.lo / scale).astype(jnp.int32)
@jax.custom_vjp
def fq(x, scale, zp, qmax):
    q = jnp.clip(jnp.round(x / scale) + zp, 0, qmax)
    return (q - zp) * scale
def fwd(x, scale, zp, qmax):
    q = jnp.round(x / scale) + zp
    return fq(x, scale, zp, qmax), (q >= 0) & (q <= qmax)
fq.defvjp(fwd, lambda m, g: (g * m, None, None, None))
obs = {"w": Observer(4), "act": Observer(8, 0.5)}
w = jr.normal(jr.key(0), (4, 3)); x = jr.normal(jr.key(1), (6, 4)); y = x[:, :3]
---
for epoch in range(2):
    sw, zw = obs["w"](w).qparams
    def loss(w):
        h = x @ fq(w, sw, zw, 2 ** obs["w"].bits - 1)
        return jnp.mean((h - y) ** 2), h
    (l, h), g = jax.value_and_grad(loss, has_aux=True)(w)
    obs["act"](h)
    w = w - 0.1 * g
sa, za = obs["act"].qparams
packed = (jnp.clip(jnp.round(w / sw) + zw, 0, 2 ** obs["w"].bits - 1)).astype(jnp.uint8)
nib = (packed.reshape(-1, 2)[:, 0] << 4 | packed.reshape(-1, 2)[:, 1])
ratio = w.nbytes / nib.nbytes
levels = np.unique(packed).size
print(obs["w"].n, obs["act"].n, nib.dtype, ratio, levels <= 2 ** obs["w"].bits, za.dtype)
---
obs["w"] = Observer(2)
---
obs["w"].bits = 8; obs["w"].momentum = np.float64(0.1)
---
w = w.astype(jnp.float16)

### kam-ema-polyak-swa-three-averages-aliases
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2), "frozen": np.arange(3.0)}
ema = copy.deepcopy(params); swa = None; n_avg = 0
decay, start, step = 0.99, 2, 0
x = jr.normal(jr.key(4), (5, 3))
---
class Averages(NamedTuple):
    ema: dict
    swa: Optional[dict]
    n: int
for _ in range(2):
    g = jax.grad(lambda p: jnp.sum((x @ p["w"] + p["b"] - p["frozen"][:2]) ** 2), allow_int=False)(params)
    params = jax.tree.map(lambda p, g: p if isinstance(p, np.ndarray) else p - 0.01 * g, params, g)
    d = min(decay, (1 + step) / (10 + step))
    ema = jax.tree.map(lambda e, p: e * d + p * (1 - d), ema, params)
    step += 1
    if step >= start:
        swa = params if swa is None else jax.tree.map(lambda a, p: (a * n_avg + p) / (n_avg + 1), swa, params)
        n_avg += 1
avgs = Averages(ema, swa, n_avg)
alias = [k for k in params if swa is not None and swa[k] is params[k]]
kinds = {k: type(v).__name__ + str(v.dtype) for k, v in ema.items()}
print(alias, kinds, f"{d:.4f}", step)
---
start = step + 2; swa = None
---
x = x[:2].astype(jnp.bfloat16); decay = jnp.asarray(0.5)
---
params["frozen"] = jnp.arange(3)[::-1].astype(jnp.float32); n_avg = np.int64(1)

### kam-loss-scaling-fp16-policy-dataclass-overflow-skip
@register_dataclass
@dataclass(frozen=True)
class Scale:
    value: jax.Array
    good: jax.Array
    period: int = field(metadata=dict(static=True), default=2)
    def scale(self, t): return jax.tree.map(lambda a: a * self.value.astype(a.dtype), t)
    def unscale(self, t): return jax.tree.map(lambda a: a.astype(jnp.float32) / self.value, t)
    def adjust(self, finite):
        good = jnp.where(finite, self.good + 1, 0)
        up = good == self.period
        val = jnp.where(finite, jnp.where(up, self.value * 2, self.value), jnp.maximum(1, self.value / 2))
        return replace(self, value=val, good=jnp.where(up, 0, good))
master = {"w": jr.normal(jr.key(0), (4, 4)), "v": jnp.ones((4,))}
sc = Scale(jnp.float32(2.0 ** 12), jnp.int32(0))
x = jr.normal(jr.key(1), (8, 4)) * 3
skipped = 0
---
for it in range(3):
    def loss(m):
        h = jax.tree.map(lambda a: a.astype(jnp.float16), m)
        o = jnp.maximum(x.astype(jnp.float16) @ h["w"], 0) @ h["v"]
        return sc.scale(jnp.mean(jnp.square(o.astype(jnp.float32) - 1.0)))
    l, g = jax.value_and_grad(loss)(master)
    g = sc.unscale(g)
    finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(a)) for a in jax.tree.leaves(g)]))
    master = jax.tree.map(lambda p, u: jnp.where(finite, p - 1e-3 * u, p), master, g)
    sc = sc.adjust(finite)
    if not finite:
        skipped += 1
        print("overflow, scale now", sc.value)
summary = f"{sc.value:.0f} good={sc.good} {sc.period} skipped={skipped}"
print(summary)
sc
---
x = x * 1e4
---
sc = replace(sc, value=jnp.float32(2 ** 20), period=1); x = x / 1e4
---
master["w"] = master["w"][:, :2]; master["v"] = jnp.ones(2, jnp.bfloat16)

### kam-magnitude-pruning-iterative-lottery-ticket-masks
init = {"l1": {"w": jr.normal(jr.key(0), (5, 6)), "b": jnp.zeros(6)}, "l2": {"w": jr.normal(jr.key(1), (6, 1)), "b": jnp.zeros(1)}}
masks = jax.tree.map(jnp.ones_like, init)
x = jr.normal(jr.key(2), (12, 5)); y = (x[:, 0] * x[:, 1])[:, None]
rate, rounds = 0.3, 2
---
f = lambda p, x: jnp.tanh(x @ p["l1"]["w"] + p["l1"]["b"]) @ p["l2"]["w"] + p["l2"]["b"]
mse = lambda p, m: jnp.mean((f(jax.tree.map(jnp.multiply, p, m), x) - y) ** 2)
report = []
for rnd in range(rounds):
    p = jax.tree.map(lambda a: a + 0, init)
    for _ in range(2):
        p = jax.tree.map(lambda a, g: a - 0.1 * g, p, jax.grad(mse)(p, masks))
    def prune(path, w, m):
        if path[-1].key == "b":
            return m
        alive = np.abs(np.asarray(w))[np.asarray(m) > 0]
        thr = np.quantile(alive, rate)
        return jnp.where(jnp.abs(w) > thr, m, 0)
    masks = jax.tree_util.tree_map_with_path(prune, p, masks)
    left = {keystr(k): int(m.sum()) for k, m in tree_flatten_with_path(masks)[0]}
    report.append((rnd, left, round(float(mse(p, masks)), 3)))
sparsity = 1 - sum(r.sum() for r in jax.tree.leaves(masks)) / sum(r.size for r in jax.tree.leaves(masks))
ticket = jax.tree.map(operator.mul, init, masks)
print(*[f"{r}: {sum(l.values())}" for r, l, _ in report], sep="\n")
sparsity
---
rate = 0.5; rounds = 1
---
masks = jax.tree.map(jnp.ones_like, init); init["l1"]["w"] = init["l1"]["w"] * 0.5
---
masks["l1"]["w"] = masks["l1"]["w"].at[:3].set(0)

### kam-maml-sinusoids-inner-loop-second-order-first-order-flag tolerance=1e-3
def net(p, x):
    for w, b in p[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = p[-1]
    return x @ w + b
sizes = [1, 8, 8, 1]
p = [(jr.normal(jr.key(i), (m, n)) / np.sqrt(m), jnp.zeros(n)) for i, (m, n) in enumerate(zip(sizes, sizes[1:]))]
inner_lr, inner_steps, first_order = 0.05, 2, False
rs = np.random.default_rng(0)
def task():
    amp, ph = rs.uniform(0.1, 5), rs.uniform(0, np.pi)
    xs = rs.uniform(-5, 5, (2, 5, 1))
    return xs, amp * np.sin(xs + ph)
---
def adapt(p, x, y):
    for _ in range(inner_steps):
        g = jax.grad(lambda p: jnp.mean((net(p, x) - y) ** 2))(p)
        if first_order:
            g = lax.stop_gradient(g)
        p = [(w - inner_lr * dw, b - inner_lr * db) for (w, b), (dw, db) in zip(p, g)]
    return p
def outer(p, xs, ys):
    def one(xs, ys):
        q = adapt(p, xs[0], ys[0])
        return jnp.mean((net(q, xs[1]) - ys[1]) ** 2)
    return jax.vmap(one)(xs, ys).mean()
opt = optax.adam(1e-3)
os_ = opt.init(p)
curve = []
for it in range(2):
    X, Y = map(np.stack, zip(*[task() for _ in range(3)]))
    val, g = jax.value_and_grad(outer)(p, X, Y)
    u, os_ = opt.update(g, os_)
    p = optax.apply_updates(p, u)
    curve.append(val)
gn = optax.global_norm(g)
type(p), type(p[0]), X.dtype, curve[-1].dtype
---
first_order = True
---
inner_steps = 1; inner_lr = np.float32(0.01)
---
p = [(w * 1.5, b + 1) for w, b in p]

### kam-lr-sweep-by-vmap-inject-hyperparams-best-pick
lrs = jnp.logspace(-3, -1, 4)
x = jr.normal(jr.key(0), (16, 3)); y = x @ jnp.array([1.0, -1.0, 2.0])
epochs = 3
---
tx = optax.inject_hyperparams(optax.adam)(learning_rate=0.0, b1=0.9)
def train(lr, key):
    w = jr.normal(key, (3,)) * 0.1
    st = tx.init(w)
    st.hyperparams["learning_rate"] = lr
    def body(c, _):
        w, st = c
        l, g = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
        u, st = tx.update(g, st, w)
        return (optax.apply_updates(w, u), st), l
    (w, st), ls = lax.scan(body, (w, st), length=epochs)
    return w, ls, st.hyperparams
ws, ls, hp = jax.vmap(train, in_axes=(0, None))(lrs, jr.key(5))
grid = jax.vmap(jax.vmap(train, (0, None)), (None, 0))(lrs, jr.split(jr.key(1), 2))
best = int(jnp.argmin(ls[:, -1]))
best_lr, best_w = lrs[best], ws[best]
table = "\n".join(f"{lr:9.2e} | " + " ".join(f"{v:7.3f}" for v in row) for lr, row in zip(lrs.tolist(), ls.tolist()))
print(table[:12], sorted(hp), grid[1].shape)
best_lr
---
lrs = [0.01, 0.1]; lrs = jnp.array(lrs)
---
epochs = 1
---
x = x.at[:, 0].set(0); lrs = jnp.linspace(0, 1, 3, dtype=jnp.float16)

### kam-dp-shard-map-psum-grads-on-eight-devices-batch-iterator devices=8
from jax import shard_map
mesh = jax.make_mesh((8,), ("dp",))
rep, spl = NamedSharding(mesh, P()), NamedSharding(mesh, P("dp"))
params = jax.device_put({"w": jr.normal(jr.key(0), (4, 2)), "b": jnp.zeros(2)}, rep)
X = np.random.default_rng(0).normal(size=(48, 4)).astype(np.float32); Y = X[:, :2] * 2
bs, lr, average = 16, 0.1, True
---
def batches(*arrays, bs, drop_last=True):
    n = len(arrays[0])
    for i in range(0, n - bs + 1 if drop_last else n, bs):
        yield tuple(jax.device_put(a[i:i + bs], spl) for a in arrays)
@jax.jit
@partial(shard_map, mesh=mesh, in_specs=(P(), P("dp"), P("dp")), out_specs=(P(), P(), P("dp")))
def step(p, x, y):
    def loss(p):
        e = x @ p["w"] + p["b"] - y
        return jnp.mean(e ** 2), e
    (l, e), g = jax.value_and_grad(loss, has_aux=True)(p)
    red = lax.pmean if average else lax.psum
    g = red(g, "dp")
    return jax.tree.map(lambda a, b: a - lr * b / lax.axis_size("dp"), p, g), lax.pmean(l, "dp"), jnp.abs(e).max(1)
losses, worst = [], []
for xb, yb in batches(X, Y, bs=bs):
    params, l, e = step(params, xb, yb)
    losses.append(l); worst.append(e)
errs = jnp.concatenate(worst)
host = jax.device_get(params)
print(params["w"].sharding.is_fully_replicated, errs.sharding.spec, l.sharding.spec, host["w"].flags.writeable, len(losses))
---
average = False
---
bs = 8; lr = 0.01
---
params = jax.device_put(jax.tree.map(lambda a: a * 0, params), rep); X = X[:17]; Y = Y[:17]

### kam-pmap-replicated-training-four-devices-axis-index-rng devices=4
devs = jax.local_devices()[:4]
def replicate(t): return jax.device_put_replicated(t, devs) if hasattr(jax, "device_put_replicated") else jax.tree.map(lambda a: jnp.stack([a] * 4), t)
w = jnp.ones((3,))
data = np.arange(24, dtype=np.float32).reshape(4, 2, 3) / 24
noise = 0.01
---
@partial(jax.pmap, axis_name="i", devices=devs, donate_argnums=())
def step(w, x, key):
    key = jr.fold_in(key, lax.axis_index("i"))
    g = jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w)))(w)
    g = lax.pmean(g, "i") + noise * lax.pmean(jr.normal(key, g.shape), "i")
    return w - 0.1 * g, lax.psum(x.sum(), "i")
ws = jnp.stack([w] * 4)
keys = jnp.stack([jr.PRNGKey(0)] * 4)
for _ in range(2):
    ws, total = step(ws, data, keys)
w = jnp.asarray(jax.device_get(ws)[0])
spread = float(jnp.max(jnp.abs(ws - ws[:1])))
print(total.shape, len(ws.sharding.device_set), spread == 0.0, w.sharding.device_set <= set(devs))
---
noise = 0.0
---
data = data[:, :1]
---
w = np.ones(3, np.float32) * 2

### kam-kv-cache-greedy-and-topp-generation-while-loop tolerance=1e-4
V, Dm, H, L = 11, 8, 2, 10
ks = jr.split(jr.key(0), 5)
W = dict(emb=jr.normal(ks[0], (V, Dm)), q=jr.normal(ks[1], (Dm, Dm)), k=jr.normal(ks[2], (Dm, Dm)), v=jr.normal(ks[3], (Dm, Dm)), o=jr.normal(ks[4], (Dm, V)))
prompt = [1, 5, 2]
max_new, top_p, temp = 4, 0.9, 1.0
class Cache(NamedTuple):
    k: jax.Array
    v: jax.Array
    n: jax.Array
---
def new_cache(): return Cache(*[jnp.zeros((L, H, Dm // H))] * 2, jnp.int32(0))
def decode(W, c, tok):
    x = W["emb"][tok]
    q, k, v = (jnp.reshape(x @ W[n], (H, -1)) for n in "qkv")
    K = lax.dynamic_update_index_in_dim(c.k, k, c.n, 0)
    Vv = c.v.at[c.n].set(v)
    s = jnp.einsum("hd,thd->ht", q, K) / np.sqrt(Dm // H)
    s = jnp.where(jnp.arange(L)[None] <= c.n, s, -jnp.inf)
    out = jnp.einsum("ht,thd->hd", jax.nn.softmax(s), Vv).reshape(-1)
    return Cache(K, Vv, c.n + 1), (x + out) @ W["o"]
def nucleus(key, lg):
    order = jnp.argsort(-lg)
    pr = jax.nn.softmax(lg[order] / temp)
    keep = jnp.cumsum(pr) - pr < top_p
    return order[jr.categorical(key, jnp.where(keep, jnp.log(pr), -jnp.inf))]
cache = new_cache()
for t in prompt:
    cache, lg = decode(W, cache, t)
greedy = list(prompt)
c2, l2 = cache, lg
while len(greedy) < len(prompt) + max_new:
    nxt = int(l2.argmax())
    greedy.append(nxt)
    if nxt == 0:
        break
    c2, l2 = decode(W, c2, nxt)
def body(s):
    c, lg, key, i, buf = s
    key, sub = jr.split(key)
    t = nucleus(sub, lg)
    c, lg = decode(W, c, t)
    return c, lg, key, i + 1, buf.at[i].set(t)
*_, n, buf = lax.while_loop(lambda s: (s[3] < max_new) & (s[4][s[3] - 1] != 0), body, (cache, lg, jr.key(3), 0, jnp.full(max_new, -1)))
sampled = prompt + [int(t) for t in buf if t >= 0]
print(greedy, n, n.dtype, n.weak_type, len(sampled) <= L)
---
top_p = 0.01
---
prompt = [3]; max_new = 6
---
W = {k: v.astype(jnp.bfloat16).astype(jnp.float32) for k, v in W.items()}; temp = 3

### kam-bpe-tokenizer-trained-inline-then-embedding-bag
corpus = "low lower lowest new newer newest wide wider widest low low new"
merges_n = 5
emb_dim = 4
---
words = Counter(corpus.split())
vocab = {tuple(w) + ("</w>",): c for w, c in words.items()}
merges = []
for _ in range(merges_n):
    pairs = Counter()
    for w, c in vocab.items():
        for a, b in zip(w, w[1:]):
            pairs[a, b] += c
    if not pairs: break
    (a, b), n = max(pairs.items(), key=lambda kv: (kv[1], kv[0]))
    merges.append((a, b))
    new = {}
    for w, c in vocab.items():
        out, i = [], 0
        while i < len(w):
            if i + 1 < len(w) and (w[i], w[i + 1]) == (a, b):
                out.append(a + b); i += 2
            else:
                out.append(w[i]); i += 1
        new[tuple(out)] = c
    vocab = new
symbols = sorted({s for w in vocab for s in w})
tok2id = {s: i for i, s in enumerate(symbols, start=1)} | {"<pad>": 0}
longest = max(map(len, vocab))
ids = jnp.array([[tok2id[s] for s in w] + [0] * (longest - len(w)) for w in vocab], dtype=jnp.int16)
table = jr.normal(jr.key(len(symbols)), (len(tok2id), emb_dim)).at[0].set(0)
bag = table[ids].sum(1) / (ids > 0).sum(1, keepdims=True)
sim = bag @ bag.T
nearest = {"".join(w): int(i) for w, i in zip(vocab, jnp.argsort(sim - jnp.eye(len(bag)) * 1e3)[:, -1])}
print(merges[:2], ids.shape, ids.dtype, bag.dtype)
---
merges_n = 8
---
corpus += " zebra zebras"
---
emb_dim = 2; merges_n = 0

### kam-beam-search-heapq-and-lax-version
import heapq
T = jax.nn.log_softmax(jr.normal(jr.key(0), (5, 5)) * 2)
beam, steps, alpha = 2, 3, 0.6
---
def beam_py(start):
    beams = [(0.0, [start])]
    for _ in range(steps):
        cand = []
        for s, seq in beams:
            for nxt in range(T.shape[0]):
                cand.append((s + T[seq[-1], nxt].item(), seq + [nxt]))
        beams = heapq.nlargest(beam, cand, key=lambda c: c[0] / len(c[1]) ** alpha)
    return beams
def beam_lax(start):
    seqs = jnp.zeros((beam, steps + 1), jnp.int32).at[:, 0].set(start)
    sc = jnp.array([0.0] + [-jnp.inf] * (beam - 1))
    def body(i, c):
        seqs, sc = c
        last = seqs[:, i]
        tot = sc[:, None] + T[last]
        val, ix = lax.top_k(tot.reshape(-1), beam)
        par, tok = jnp.divmod(ix, T.shape[0])
        return seqs[par].at[:, i + 1].set(tok), val
    return lax.fori_loop(0, steps, body, (seqs, sc))
py = beam_py(0)
seqs, sc = beam_lax(0)
agree = [list(map(int, s)) == q for s, (_, q) in zip(seqs, py)]
print(agree, [f"{v:.3f}" for v, _ in py])
seqs
---
beam = 3
---
T = T.at[:, 2].add(-50.0); steps = 2
---
alpha = 0; T = T[:4, :4]

### kam-kmeans-plusplus-estimator-fit-predict-attributes
class KMeans:
    def __init__(self, k=3, max_iter=10, tol=1e-4, seed=0):
        self.k, self.max_iter, self.tol, self.seed = k, max_iter, tol, seed
    def get_params(self): return {k: v for k, v in vars(self).items() if not k.endswith("_")}
    def _init(self, X):
        key = jr.PRNGKey(self.seed)
        C = X[jr.randint(key, (1,), 0, len(X))]
        for i in range(1, self.k):
            d = jnp.min(((X[:, None] - C[None]) ** 2).sum(-1), 1)
            key, sub = jr.split(key)
            C = jnp.concatenate([C, X[jr.choice(sub, len(X), (1,), p=d / d.sum())]])
        return C
    def fit(self, X):
        X = jnp.asarray(X)
        C = self._init(X)
        for self.n_iter_ in range(1, self.max_iter + 1):
            lab = jnp.argmin(((X[:, None] - C[None]) ** 2).sum(-1), 1)
            sums = jax.ops.segment_sum(X, lab, self.k)
            cnt = jax.ops.segment_sum(jnp.ones(len(X)), lab, self.k)
            new = jnp.where(cnt[:, None] > 0, sums / jnp.maximum(cnt, 1)[:, None], C)
            shift = jnp.linalg.norm(new - C)
            C = new
            if shift < self.tol:
                break
        self.cluster_centers_, self.labels_ = C, lab
        self.inertia_ = ((X - C[lab]) ** 2).sum()
        return self
    def predict(self, X): return jnp.argmin(((X[:, None] - self.cluster_centers_[None]) ** 2).sum(-1), 1)
rng = np.random.default_rng(5)
pts = np.concatenate([rng.normal(c, 0.2, (10, 2)) for c in [(0, 0), (3, 3), (0, 4)]]).astype("f4")
km = KMeans()
---
labels = km.fit(pts).predict(pts[:4])
inertias = {k: KMeans(k, seed=km.seed, max_iter=3).fit(pts).inertia_ for k in (1, 2)}
elbow = min(inertias, key=inertias.get)
sizes = np.bincount(km.labels_, minlength=km.k)
print(km.get_params(), km.n_iter_, sizes, elbow, f"{km.inertia_:.3f}")
---
km.k = 4
---
pts = pts[:15]; km.tol = 1e9
---
km = KMeans(2, seed=9)

### kam-neural-ode-diffrax-saveat-and-adjoint-choice needs=diffrax,equinox tolerance=1e-3
import diffrax, equinox as eqx
class Field(eqx.Module):
    mlp: eqx.nn.MLP
    calls: int = eqx.field(static=True, default=0)
    def __call__(self, t, y, args): return self.mlp(y) * (1.0 if args is None else args["gain"])
field_ = Field(eqx.nn.MLP(2, 2, 8, 1, jnp.tanh, key=jr.key(0)))
ts = jnp.linspace(0, 1, 5); y0 = jnp.array([1.0, 0.0]); target = jnp.stack([jnp.cos(ts), jnp.sin(ts)], 1)
solver, adjoint, args = diffrax.Tsit5(), diffrax.RecursiveCheckpointAdjoint(), None
---
def solve(f, y0):
    return diffrax.diffeqsolve(diffrax.ODETerm(f), solver, t0=ts[0], t1=ts[-1], dt0=0.1, y0=y0, args=args,
                               saveat=diffrax.SaveAt(ts=ts), stepsize_controller=diffrax.ConstantStepSize(), adjoint=adjoint, max_steps=64)
@eqx.filter_value_and_grad
def loss(f): return jnp.mean((solve(f, y0).ys - target) ** 2)
optim = optax.adam(1e-2)
st = optim.init(eqx.filter(field_, eqx.is_array))
trace = []
for i in range(2):
    l, g = loss(field_)
    u, st = optim.update(g, st)
    field_ = eqx.apply_updates(field_, u)
    trace.append(float(l))
sol = solve(field_, y0)
stats = {k: int(v) for k, v in sol.stats.items() if k.startswith("num")}
print(stats, sol.result == diffrax.RESULTS.successful, len(trace))
sol.ys[-1]
---
solver = diffrax.Euler()
---
adjoint = diffrax.DirectAdjoint(); args = {"gain": jnp.float32(0.5)}
---
ts = ts[:3]; target = target[:3]; args["gain"] = 2.0

### kam-pinn-burgers-residual-hessian-mixed-batches tolerance=5e-3
def mlp(p, xt):
    h = xt
    for W, b in p[:-1]:
        h = jnp.tanh(W @ h + b)
    W, b = p[-1]
    return (W @ h + b)[0]
layers = [2, 6, 6, 1]
p = [(jr.normal(jr.key(i), (n, m)) * np.sqrt(1 / m), jnp.zeros(n)) for i, (m, n) in enumerate(zip(layers[:-1], layers[1:]))]
nu = 0.01 / np.pi
n_col = 12
weights = {"ic": 1.0, "bc": 1.0, "res": 0.5}
---
u = lambda p, x, t: mlp(p, jnp.stack([x, t]))
u_t, u_x = jax.grad(u, 2), jax.grad(u, 1)
u_xx = jax.grad(u_x, 1)
def residual(p, x, t):
    return u_t(p, x, t) + u(p, x, t) * u_x(p, x, t) - nu * u_xx(p, x, t)
rs = np.random.default_rng(n_col)
col = rs.uniform([-1, 0], [1, 1], size=(n_col, 2))
xi = np.linspace(-1, 1, 7)
def losses(p):
    return {"ic": jnp.mean((jax.vmap(u, (None, 0, None))(p, xi, 0.0) + jnp.sin(jnp.pi * xi)) ** 2),
            "bc": sum(jnp.mean(jax.vmap(u, (None, None, 0))(p, b, col[:, 1]) ** 2) for b in (-1.0, 1.0)),
            "res": jnp.mean(jax.vmap(residual, (None, 0, 0))(p, *col.T) ** 2)}
def total(p):
    parts = losses(p)
    return sum(weights[k] * v for k, v in parts.items()), parts
rows = []
for epoch in range(2):
    (l, parts), g = jax.value_and_grad(total, has_aux=True)(p)
    p = jax.tree.map(lambda a, b: a - 1e-2 * b, p, g)
    rows.append({"epoch": epoch, "loss": l} | parts)
buf = io.StringIO()
wr = csv.DictWriter(buf, fieldnames=list(rows[0]))
wr.writeheader()
wr.writerows({k: v if k == "epoch" else f"{v:.2f}" for k, v in r.items()} for r in rows)
print(buf.getvalue().splitlines()[0])
gnorm = jnp.sqrt(sum(jnp.vdot(a, a) for a in jax.tree.leaves(g)))
---
nu = 0.1
---
weights["res"] = 2; n_col = 5
---
p = p[:1] + [(W * 0.5, b) for W, b in p[1:]]

### kam-trainstate-subclass-with-batchstats-and-metrics-struct needs=flax
import flax.linen as nn
from flax import struct
from flax.training import train_state
@struct.dataclass
class Avg:
    total: jax.Array
    count: jax.Array
    @classmethod
    def empty(cls): return cls(jnp.float32(0), jnp.int32(0))
    def merge(self, v, n): return self.replace(total=self.total + v * n, count=self.count + n)
    def compute(self): return self.total / self.count
class TS(train_state.TrainState):
    batch_stats: Any = None
    metrics: Any = None
class CNN(nn.Module):
    width: int
    @nn.compact
    def __call__(self, x, train):
        x = nn.Conv(self.width, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.9)(x)
        x = nn.avg_pool(nn.relu(x), (2, 2), (2, 2))
        return nn.Dense(3)(x.reshape(x.shape[0], -1))
net = CNN(4)
X = np.random.default_rng(0).random((12, 6, 6, 1), dtype=np.float32); Y = np.arange(12) % 3
v = net.init(jr.key(0), X[:1], train=False)
state = TS.create(apply_fn=net.apply, params=v["params"], tx=optax.sgd(0.05, momentum=0.9), batch_stats=v["batch_stats"], metrics=Avg.empty())
bs, smooth = 4, 0.0
---
def step(state, x, y):
    def loss_fn(p):
        lg, upd = state.apply_fn({"params": p, "batch_stats": state.batch_stats}, x, train=True, mutable=["batch_stats"])
        lab = optax.smooth_labels(jax.nn.one_hot(y, 3), smooth)
        return optax.softmax_cross_entropy(lg, lab).mean(), (lg, upd)
    (l, (lg, upd)), g = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=g, batch_stats=upd["batch_stats"])
    return state.replace(metrics=state.metrics.merge(l, len(x))), (lg.argmax(-1) == y).mean()
old = state
accs = []
for epoch in range(2):
    state = state.replace(metrics=Avg.empty())
    for i in range(0, len(X), bs):
        state, acc = step(state, X[i:i + bs], Y[i:i + bs])
    accs.append(acc)
epoch_loss = state.metrics.compute()
print(type(state.step).__name__, int(state.step) - int(old.step), state.metrics.count, f"{epoch_loss:.2f}")
state.tx is old.tx, state.apply_fn == net.apply
---
bs = 5
---
smooth = 0.1; Y = Y.astype(np.int8)
---
state = state.replace(step=jnp.asarray(state.step), batch_stats=jax.tree.map(jnp.zeros_like, state.batch_stats))

### kam-early-stopper-class-best-copy-restore-patience
class EarlyStopper:
    def __init__(self, patience=2, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.best_params, self.wait, self.stopped = math.inf, None, 0, None
    def __call__(self, epoch, loss, params):
        if loss < self.best - self.min_delta:
            self.best, self.wait = loss, 0
            self.best_params = copy.copy(params)
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped = epoch
                return True
        return False
stop = EarlyStopper()
x = np.random.default_rng(2).normal(size=(20, 3)).astype(np.float32)
y = x @ np.float32([1, 2, 3]) + 0.1
params = {"w": jnp.zeros(3), "b": jnp.zeros(())}
lr, max_epochs = 0.3, 6
---
tr, va = slice(0, 14), slice(14, None)
mse = lambda p, s: jnp.mean((x[s] @ p["w"] + p["b"] - y[s]) ** 2)
hist = {"train": [], "val": []}
for epoch in range(max_epochs):
    l, g = jax.value_and_grad(mse)(params, tr)
    params["w"] = params["w"] - lr * g["w"]
    params["b"] -= lr * g["b"]
    v = mse(params, va)
    hist["train"].append(float(l)); hist["val"].append(v)
    if stop(epoch, v, params):
        print(f"stopped at {stop.stopped}, best {stop.best:.3f}")
        break
else:
    print("ran through", epoch)
final = stop.best_params
same = [final[k] is params[k] for k in params]
type(stop.best).__name__, same, stop.wait
---
lr = 1.5
---
stop.__init__(patience=1, min_delta=jnp.float32(0.5)); lr = 0.05
---
params = {"w": jnp.ones(3), "b": 0.0}; stop = EarlyStopper(5); max_epochs = 2

### kam-custom-logger-jsonl-csv-and-tqdm-like-bar
class Bar:
    def __init__(self, it, total=None, desc=""):
        self.it, self.total, self.desc, self.post = it, total or len(it), desc, {}
    def set_postfix(self, **kw): self.post.update({k: f"{v:.2f}" for k, v in kw.items()})
    def __iter__(self):
        for n, v in enumerate(self.it, 1):
            yield v
            print(f"\r{self.desc} {n}/{self.total} " + ",".join(f"{k}={v}" for k, v in self.post.items()), end="")
        print()
class JSONL:
    def __init__(self, path): self.path = Path(path); self.path.parent.mkdir(exist_ok=True, parents=True)
    def log(self, **row):
        with self.path.open("a") as f:
            f.write(json.dumps({k: round(v.item(), 2) if hasattr(v, "item") else v for k, v in row.items()}) + "\n")
    def read(self): return [json.loads(s) for s in self.path.read_text().splitlines()]
log = JSONL("runs/a/log.jsonl")
w = jnp.array([2.0, -1.0]); A = jnp.array([[3.0, 1.0], [1.0, 2.0]])
n = 3
---
bar = Bar(range(n), desc="opt")
for i in bar:
    val, g = jax.value_and_grad(lambda w: 0.5 * w @ A @ w)(w)
    w = w - 0.1 * g
    bar.set_postfix(loss=val, gn=jnp.linalg.norm(g))
    log.log(step=i, loss=val)
rows = log.read()
losses = np.array([r["loss"] for r in rows])
with open("runs/a/summary.txt", "w") as f:
    print("mean %.2f over %d" % (losses.mean(), len(losses)), file=f)
best = min(rows, key=lambda r: r["loss"])["step"]
---
n = 2; A = jnp.diag(jnp.array([1.0, 10.0]))
---
log = JSONL("runs/b/log.jsonl"); w = w.astype(jnp.bfloat16)
---
w = jnp.ones(3); A = jnp.eye(3) * 4

### kam-pickle-checkpoint-keep-last-k-and-resume
class Ckpt:
    def __init__(self, root, keep=2): self.root, self.keep = Path(root), keep; self.root.mkdir(exist_ok=True)
    def save(self, step, tree):
        (self.root / f"{step:04d}.pkl").write_bytes(pickle.dumps(jax.tree.map(np.asarray, tree)))
        for old in sorted(self.root.glob("*.pkl"))[:-self.keep]: old.unlink()
    def latest(self):
        fs = sorted(self.root.glob("*.pkl"))
        return (int(fs[-1].stem), pickle.loads(fs[-1].read_bytes())) if fs else (0, None)
ck = Ckpt("ck")
tx = optax.adamw(1e-2)
state = {"params": {"w": jnp.ones((2, 3)), "b": jnp.zeros(3, jnp.bfloat16)}, "step": 0}
state["opt"] = tx.init(state["params"])
x = jnp.ones((4, 2))
every, total = 2, 3
---
start, loaded = ck.latest()
if loaded is not None:
    state = jax.tree.map(jnp.asarray, loaded)
    print("resumed from", start)
for s in range(start + 1, start + total + 1):
    g = jax.grad(lambda p: jnp.sum((x @ p["w"] + p["b"].astype(jnp.float32)) ** 2))(state["params"])
    u, state["opt"] = tx.update(g, state["opt"], state["params"])
    state["params"] = optax.apply_updates(state["params"], u)
    state["step"] = s
    if s % every == 0:
        ck.save(s, state)
kept = sorted(p.name for p in ck.root.iterdir())
print(kept, type(state["step"]).__name__, state["params"]["b"].dtype)
---
every = 1
---
ck = Ckpt("other", keep=1); state["step"] = 0
---
x = x[:1]; total = 1

### kam-jaxtyping-like-shape-decorator-checks-with-annotations
class ShapeErr(TypeError): ...
def shaped(*specs, ret=None):
    def deco(f):
        @wraps(f)
        def g(*a, **k):
            env = {}
            def check(x, spec, what):
                if len(x.shape) != len(spec.split()): raise ShapeErr(f"{what}: rank {x.ndim} for {spec!r}")
                for d, s in zip(x.shape, spec.split()):
                    if s.isdigit() and int(s) != d or env.setdefault(s, d) != d:
                        raise ShapeErr(f"{what}: {s} is {env.get(s, s)}, got {d}")
            for i, (x, s) in enumerate(zip(a, specs)): check(x, s, f"arg {i}")
            out = f(*a, **k)
            if ret: check(out, ret, "return")
            g.seen.append(dict(env))
            return out
        g.seen = []
        return g
    return deco
@shaped("b t d", "d e", ret="b t e")
def proj(x, w, scale=1.0): return x @ w * scale
@shaped("b t e", ret="b e")
def pool(x): return x.mean(1)
x, w = jnp.ones((2, 3, 4)), jr.normal(jr.key(0), (4, 5))
scale = 0.5
---
h = proj(x, w, scale=scale)
p = pool(h)
try:
    proj(x, w.T)
except ShapeErr as e:
    msg = str(e)
    print("caught:", msg)
else:
    msg = None
g = jax.grad(lambda w: pool(proj(x, w, scale)).sum())(w)
dims = proj.seen[-1]
calls = len(proj.seen), len(pool.seen)
dims, proj.__name__, proj.__wrapped__.__defaults__
---
w = jnp.ones((4, 4))
---
scale = jnp.float16(2); proj.seen.clear()
---
x = jnp.ones((3, 4))

### kam-einops-like-rearrange-helper-with-lru-cached-parse
@functools.lru_cache(maxsize=64)
def parse(pat):
    lhs, rhs = (s.split() for s in pat.split("->"))
    def groups(toks):
        out, cur = [], None
        for t in " ".join(toks).replace("(", " ( ").replace(")", " ) ").split():
            if t == "(": cur = []
            elif t == ")": out.append(cur); cur = None
            elif cur is not None: cur.append(t)
            else: out.append([t])
        return out
    return groups(lhs), groups(rhs)
def rearrange(x, pat, **sizes):
    L, R = parse(pat)
    for d, g in zip(x.shape, L):
        unk = [n for n in g if n not in sizes]
        known = math.prod(sizes[n] for n in g if n in sizes)
        if unk: sizes[unk[0]] = d // known
    flat = [n for g in L for n in g]
    x = x.reshape([sizes[n] for n in flat])
    x = x.transpose([flat.index(n) for g in R for n in g])
    return x.reshape([math.prod(sizes[n] for n in g) for g in R])
img = jnp.arange(2 * 4 * 6 * 3.0).reshape(2, 4, 6, 3)
ps = 2
wq = jr.normal(jr.key(0), (12, 8))
---
patches = rearrange(img, "b (h p) (w q) c -> b (h w) (p q c)", p=ps, q=ps)
tok = patches @ wq[:patches.shape[-1]]
heads = rearrange(tok, "b n (h d) -> b h n d", h=2)
att = jax.nn.softmax(heads @ heads.mT / heads.shape[-1] ** 0.5, axis=-1)
back = rearrange(att @ heads, "b h n d -> b n (h d)")
again = rearrange(patches, "b (h w) (p q c) -> b (h p) (w q) c", p=ps, q=ps, h=4 // ps)
assert (again == img).all()
info = parse.cache_info()
print(patches.shape, heads.shape, back.shape, info.currsize)
npimg = rearrange(np.asarray(img), "b h w c -> b c h w")
type(npimg).__name__, npimg.flags.c_contiguous
---
img = img.astype(jnp.uint8)
---
ps = 1; wq = wq[:3]
---
parse.cache_clear(); img = img[:1] * 2

### kam-optimizer-from-scratch-class-registry-with-decorator-and-schedule
OPTS = {}
def register(name):
    def deco(c): OPTS[name] = c; c.name = name; return c
    return deco
class Opt:
    def __init__(self, lr, **hp): self.lr, self.hp, self.state, self.t = lr, hp, {}, 0
    def step(self, params, grads):
        self.t += 1
        lr = self.lr(self.t) if callable(self.lr) else self.lr
        for k in params:
            params[k] = params[k] - lr * self.direction(k, grads[k])
        return lr
@register("momentum")
class Momentum(Opt):
    def direction(self, k, g):
        m = self.state[k] = self.hp.get("mu", 0.9) * self.state.get(k, 0) + g
        return m
@register("adam")
class Adam(Opt):
    def direction(self, k, g):
        b1, b2 = self.hp.get("betas", (0.9, 0.999))
        m, v = self.state.get(k, (jnp.zeros_like(g), jnp.zeros_like(g)))
        self.state[k] = m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        return m / (1 - b1 ** self.t) / (jnp.sqrt(v / (1 - b2 ** self.t)) + 1e-8)
def warmup(peak, n): return lambda t: peak * min(1.0, t / n)
params = {"a": jnp.array([1.0, 2.0]), "c": jnp.float32(0.5)}
opt = OPTS["adam"](warmup(0.1, 4))
f = lambda p: jnp.sum((p["a"] * p["c"] - 1) ** 2)
---
lrs = []
for _ in range(2):
    loss, g = jax.value_and_grad(f)(params)
    lrs.append(opt.step(params, g))
m0 = opt.state["a"][0] if isinstance(opt.state["a"], tuple) else opt.state["a"]
print(opt.name, opt.t, [round(v, 4) for v in lrs], f"{loss:.3f}")
params["a"], m0.weak_type
---
opt = OPTS["momentum"](0.01, mu=0.5)
---
opt.lr = jnp.float32(0.02); opt.hp["mu"] = np.float32(0.1)
---
params = {k: v.astype(jnp.bfloat16) for k, v in params.items()}; opt = Adam(0.1, betas=(0.5, 0.5)); Adam.__doc__ = "mine"

### kam-orbax-standard-checkpointer-and-numpy-savez-roundtrip needs=orbax.checkpoint cold
tree = {"layers": [{"w": jnp.arange(6.0).reshape(2, 3)}, {"w": jnp.ones((3, 1))}], "step": np.int32(3), "lr": 0.1}
bump = 1.0
---
def flat(t): return {keystr(k): np.asarray(v) for k, v in tree_flatten_with_path(t)[0]}
tree["layers"][0]["w"] = tree["layers"][0]["w"] + bump
buf = io.BytesIO()
np.savez(buf, **flat(tree))
buf.seek(0)
with np.load(buf) as z:
    keys = sorted(z.files)
    total = sum(float(z[k].sum()) for k in keys)
leaves, treedef = jax.tree.flatten(tree)
restored = jax.tree.unflatten(treedef, [jnp.asarray(np.asarray(l)) for l in leaves])
ok = jax.tree.all(jax.tree.map(lambda a, b: np.allclose(a, b), tree, restored))
np.save("w.npy", tree["layers"][0]["w"])
w = jnp.load("w.npy")
print(keys[0], f"{total:.1f}", ok, restored["lr"].weak_type, w.dtype)
---
bump = 2
---
tree["layers"].append({"w": jnp.zeros((1, 1), jnp.float16)})
---
tree["step"] = jnp.uint8(255); bump = True

### kam-vae-haiku-transform-with-rng-beta-annealing needs=haiku tolerance=1e-4
import haiku as hk
class VAE(hk.Module):
    def __init__(self, z, name=None):
        super().__init__(name=name); self.z = z
    def __call__(self, x):
        h = jax.nn.relu(hk.Linear(8, name="enc")(x))
        mu, lv = jnp.split(hk.Linear(2 * self.z, name="stats")(h), 2, -1)
        zs = mu + jnp.exp(0.5 * lv) * jr.normal(hk.next_rng_key(), mu.shape)
        n = hk.get_state("seen", (), jnp.int32, init=jnp.zeros)
        hk.set_state("seen", n + x.shape[0])
        return hk.nets.MLP([8, x.shape[-1]], name="dec")(zs), mu, lv
zdim = 2
net = hk.transform_with_state(lambda x: VAE(zdim)(x))
x = np.random.default_rng(0).random((6, 5)).astype("f4")
params, hs = net.init(jr.PRNGKey(0), x)
rng = hk.PRNGSequence(7)
beta, step = 0.0, 0
---
for _ in range(2):
    beta = min(1.0, step / 4)
    key = next(rng)
    def elbo(p):
        (logits, mu, lv), s = net.apply(p, hs, key, x)
        rec = optax.sigmoid_binary_cross_entropy(logits, x).sum(-1)
        kl = -0.5 * (1 + lv - mu ** 2 - jnp.exp(lv)).sum(-1)
        return (rec + beta * kl).mean(), (s, rec.mean(), kl.mean())
    (l, (hs, rec, kl)), g = jax.value_and_grad(elbo, has_aux=True)(params)
    params = jax.tree.map(lambda p, d: p - 0.01 * d, params, g)
    step += 1
shapes = {f"{m}/{n}": v.shape for m, n, v in hk.data_structures.traverse(params)}
enc, dec = hk.data_structures.partition(lambda m, n, v: "enc" in m or "stats" in m, params)
print(beta, step, hs["vae"]["seen"], len(enc), len(dec), hk.data_structures.tree_size(params))
---
x = x[:3]
---
zdim = 3; params, hs = net.init(next(rng), x)
---
rng = hk.PRNGSequence(jr.PRNGKey(9)); step = 40

### kam-numpyro-hierarchical-nuts-and-predictive-summary-dict needs=numpyro tolerance=2e-2
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, Predictive
from numpyro.infer.util import log_density, initialize_model
def model(g, y=None, ng=3):
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    with numpyro.plate("groups", ng):
        a = numpyro.sample("a", dist.Normal(mu, tau))
    with numpyro.plate("obs", len(g)):
        return numpyro.sample("y", dist.Normal(a[g], 0.5), obs=y)
g = np.array([0, 0, 1, 1, 2, 2]); y = jnp.array([0.1, 0.2, 1.0, 1.1, -0.5, -0.4])
theta = {"mu": jnp.float32(0.1), "tau": jnp.float32(0.7), "a": jnp.array([0.0, 1.0, -0.5])}
nsamp = 3
---
lp, tr = log_density(model, (g,), dict(y=y), theta)
sites = {k: (v["type"], v["value"].shape) for k, v in tr.items() if v["type"] == "sample"}
grad = jax.grad(lambda t: log_density(model, (g,), dict(y=y), t)[0])(theta)
prior = Predictive(model, num_samples=nsamp)(jr.key(0), g)
seeded = numpyro.handlers.seed(model, 3)
draw = seeded(g)
with numpyro.handlers.seed(rng_seed=1), numpyro.handlers.substitute(data=theta), numpyro.handlers.trace() as t2:
    model(g)
post = {k: jnp.stack([v, v + 0.1]) for k, v in theta.items()}
pred = Predictive(model, posterior_samples=post)(jr.key(1), g)["y"]
print(sorted(sites), f"{lp:.2f}", prior["y"].shape, sorted(t2))
pred.mean(0)
---
nsamp = 2; y = y * 2
---
g = g[:4]; y = y[:4]
---
theta["tau"] = jnp.asarray(1.5); theta["a"] = np.zeros(3)

### kam-optimistix-root-find-implicit-gradient-and-fixed-point needs=optimistix,equinox tolerance=2e-3
import optimistix as optx, equinox as eqx
solver = optx.Newton(rtol=1e-5, atol=1e-5)
A = jnp.array([[0.3, 0.1], [0.0, 0.4]]); b = jnp.array([0.5, -0.2])
act = jnp.tanh
---
def deq(A, b):
    f = lambda z, args: act(args[0] @ z + args[1]) - z
    sol = optx.root_find(f, solver, jnp.zeros_like(b), args=(A, b), max_steps=32, throw=False)
    return sol.value, sol.stats["num_steps"]
z, steps = deq(A, b)
dA = jax.jacobian(lambda A: deq(A, b)[0])(A)
fp = optx.fixed_point(lambda z, a: act(a[0] @ z + a[1]), optx.FixedPointIteration(1e-5, 1e-5), jnp.zeros(2), args=(A, b)).value
I = jnp.eye(2)
D = jnp.diag(1 - z ** 2)
by_hand = jnp.linalg.solve(I - D @ A, D)
resid = jnp.abs(z - fp).max() < 1e-3
print(resid, resid.dtype, dA.shape, type(steps).__name__)
---
A = A * 0.5
---
act = jnp.sin; b = b.at[0].set(0.1)
---
solver = optx.Chord(rtol=1e-3, atol=1e-3)

### kam-remat-policies-named-checkpoints-layerwise-choice tolerance=1e-4
from jax.ad_checkpoint import checkpoint_name
policies = {"none": None, "dots": jax.checkpoint_policies.dots_saveable, "names": jax.checkpoint_policies.save_only_these_names("h"),
            "offload": jax.checkpoint_policies.everything_saveable}
policy, depth = "dots", 3
Ws = jr.normal(jr.key(0), (4, 6, 6)) * 0.4
x = jnp.linspace(-1, 1, 12).reshape(2, 6)
---
def layer(x, w):
    return checkpoint_name(jnp.sin(x @ w), "h")
def net(Ws, x):
    body = layer if policy == "none" else jax.checkpoint(layer, policy=policies[policy], prevent_cse=False)
    for w in Ws[:depth]:
        x = body(x, w)
    y, _ = lax.scan(lambda c, w: (body(c, w), None), x, Ws[depth:])
    return y
loss = lambda Ws: jnp.mean(net(Ws, x) ** 2)
val, g = jax.value_and_grad(loss)(Ws)
ref = jax.grad(lambda Ws: jnp.mean(reduce(layer, Ws, x) ** 2))(Ws)
np.testing.assert_allclose(g, ref, rtol=1e-3, atol=1e-5)
jaxpr = jax.make_jaxpr(jax.grad(loss))(Ws)
n_sin = str(jaxpr).count(" sin ")
n_remat = sum(e.primitive.name in ("checkpoint", "remat2", "remat") for e in jaxpr.eqns)
print(policy, n_remat > 0, type(jaxpr).__name__, len(jaxpr.jaxpr.outvars))
---
policy = "names"
---
policy = "none"; depth = 4
---
depth = 0; policy = "offload"; Ws = Ws[:2]

### kam-io-callback-and-pure-callback-scipy-and-logger-list tolerance=1e-4
import scipy.special
from jax.experimental import io_callback
seen = []
def host_gammainc(a, x): return scipy.special.gammaincc(a, x).astype(np.float32)
def record(tag, v): seen.append((tag, float(v)))
a, x = jnp.array([1.0, 2.0, 3.0]), jnp.array([0.5, 1.0, 1.5])
tag_every = 2
---
@jax.jit
def q(a, x):
    return jax.pure_callback(host_gammainc, jax.ShapeDtypeStruct(jnp.broadcast_shapes(a.shape, x.shape), jnp.float32), a, x, vmap_method="broadcast_all")
@jax.custom_jvp
def Q(a, x): return q(a, x)
@Q.defjvp
def _(p, t):
    (a, x), (_, dx) = p, t
    return Q(a, x), -jnp.exp((a - 1) * jnp.log(x) - x - jax.scipy.special.gammaln(a)) * dx
def body(i, c):
    c = c * 0.9 + Q(a, x + i * 0.1).mean()
    lax.cond(i % tag_every == 0, lambda: io_callback(partial(record, "even"), None, c, ordered=True), lambda: None)
    return c
acc = lax.fori_loop(0, 4, body, jnp.float32(0))
grad = jax.grad(lambda x: Q(a, x).sum())(x)
m = jax.vmap(Q, (None, 0))(a, jnp.stack([x, x * 2]))
jax.effects_barrier()
tail = [t for t, _ in seen[-2:]]
print(len(seen) > 0, tail, m.shape)
---
tag_every = 1
---
a = a[:1]; seen.clear()
---
x = x.astype(jnp.float16) + 1

### kam-export-aot-lowered-compiled-cost-and-serialized-call
from jax import export
w = jnp.arange(6.0).reshape(2, 3)
x = jnp.ones((4, 2))
poly = True
---
def f(w, x): return {"y": jnp.tanh(x @ w), "n": x.shape[0] * jnp.ones(())}
jf = jax.jit(f)
low = jf.lower(w, jax.ShapeDtypeStruct(x.shape, x.dtype))
comp = low.compile()
y = comp(w, x)["y"]
try:
    comp(w, x[:1])
except TypeError as e:
    err = type(e).__name__
if poly:
    b, = export.symbolic_shape("b")
    spec = jax.ShapeDtypeStruct((b, 2), x.dtype)
else:
    spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
exp = export.export(jf)(w, spec)
Path("f.mlir").write_text("module" if "stablehlo" in exp.mlir_module() else "")
back = exp
z = back.call(w, x)["y"]
avals = [str(a) for a in back.in_avals]
shape = jax.eval_shape(f, w, x)
print(err, avals, shape["y"].shape, bool(jnp.allclose(y, z)), comp.in_tree == low.in_tree)
del exp, back, low, comp
---
x = jnp.zeros((2, 2))
---
poly = False
---
w = w.astype(jnp.bfloat16); x = x.astype(jnp.bfloat16)

### kam-pytree-class-registered-in-the-cell-every-run-as-new-class cold
x = jnp.arange(4.0)
scale = 2.0
---
@register_pytree_node_class
class Affine:
    n_calls = 0
    def __init__(self, a, b, tag="aff"): self.a, self.b, self.tag = a, b, tag
    def __call__(self, x):
        type(self).n_calls += 1
        return self.a * x + self.b
    def tree_flatten(self): return (self.a, self.b), {"tag": self.tag}.items().__iter__().__next__()
    @classmethod
    def tree_unflatten(cls, aux, ch):
        obj = object.__new__(cls); obj.a, obj.b = ch; obj.tag = aux[1]
        return obj
m = Affine(jnp.float32(scale), jnp.zeros(4))
g = jax.grad(lambda m: (m(x) ** 2).sum())(m)
m2 = jax.tree.map(lambda p, d: p - 0.1 * d, m, g)
stacked = jax.tree.map(lambda *xs: jnp.stack(xs), m, m2)
out = jax.vmap(lambda m: m(x))(stacked)
print(Affine.n_calls, m2.tag, jax.tree.structure(m) == jax.tree.structure(g), out.shape)
type(m2.b).__name__, Affine.n_calls
---
scale = 3.0
---
x = jnp.arange(4)
---
x = x[None]

### kam-dataclass-state-with-slots-enum-and-match-statement
class Phase(enum.Enum):
    WARM = "warm"
    MAIN = "main"
    COOL = "cool"
@dataclass(slots=True)
class Run:
    w: jax.Array
    phase: Phase = Phase.WARM
    step: int = 0
    log: list = field(default_factory=list)
run = Run(jnp.array([1.0, -2.0, 0.5]))
plan = {Phase.WARM: (2, 0.01), Phase.MAIN: (3, 0.1), Phase.COOL: (99, 0.001)}
H = jnp.diag(jnp.array([1.0, 2.0, 3.0]))
---
for _ in range(3):
    n, lr = plan[run.phase]
    g = jax.grad(lambda w: 0.5 * w @ H @ w + jnp.sum(jnp.abs(w)) * 0.01)(run.w)
    run.w = run.w - lr * g
    run.step += 1
    match (run.phase, run.step):
        case (Phase.WARM, s) if s >= plan[Phase.WARM][0]:
            run.phase = Phase.MAIN
        case (Phase.MAIN, s) if s >= n + 2:
            run.phase = Phase.COOL
        case (Phase.COOL, _):
            pass
    run.log.append((run.phase.name, lr))
phases = [k for k, _ in itertools.groupby(p for p, _ in run.log)]
frozen = asdict(run)
print(phases, run.step, frozen["phase"], f"{jnp.abs(run.w).max():.3f}")
run.w is frozen["w"]
---
run.phase = Phase.COOL
---
plan[Phase.COOL] = (99, 1)
---
run = Run(jnp.ones(2, jnp.float16)); H = jnp.eye(2)

### kam-rnn-char-lstm-hand-written-truncated-bptt-carry-detach tolerance=1e-4
text = np.frombuffer(b"hello world, hello jax. " * 3, dtype=np.uint8)
alphabet = np.unique(text)
ids = np.searchsorted(alphabet, text)
Vn, Hn, T, clip = len(alphabet), 6, 5, 1.0
def init(k):
    k1, k2 = jr.split(k)
    return {"W": jr.normal(k1, (Vn + Hn, 4 * Hn)) * 0.2, "b": jnp.zeros(4 * Hn).at[Hn:2 * Hn].set(1.0), "Wo": jr.normal(k2, (Hn, Vn)) * 0.2}
p = init(jr.key(0))
h = (jnp.zeros(Hn), jnp.zeros(Hn))
smooth = -math.log(1 / Vn) * T
ptr = 0
---
def cell(p, c, x):
    h, s = c
    i, f, g, o = jnp.split(jnp.concatenate([jax.nn.one_hot(x, Vn), h]) @ p["W"] + p["b"], 4)
    s = jax.nn.sigmoid(f) * s + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(s)
    return (h, s), h @ p["Wo"]
for it in range(3):
    if ptr + T + 1 >= len(ids):
        ptr, h = 0, tuple(map(jnp.zeros_like, h))
        print("rewind")
    xs, ys = ids[ptr:ptr + T], ids[ptr + 1:ptr + T + 1]
    def loss(p, h):
        h2, lg = lax.scan(partial(cell, p), h, xs)
        return -jnp.sum(jax.nn.log_softmax(lg)[np.arange(T), ys]), h2
    (l, h), g = jax.value_and_grad(loss, has_aux=True)(p, h)
    h = lax.stop_gradient(h)
    g = {k: jnp.clip(v, -clip, clip) for k, v in g.items()}
    for k in p: p[k] -= 0.1 * g[k]
    smooth = smooth * 0.9 + l * 0.1
    ptr += T
c, x, out = h, ids[0], []
for n in range(4):
    c, lg = cell(p, c, x)
    x = jr.categorical(jr.fold_in(jr.key(1), n), lg)
    out.append(chr(alphabet[x]))
print(ptr, type(smooth).__name__, len("".join(out)))
---
T = 8
---
clip = jnp.inf; ptr = len(ids) - 3
---
p = {k: v.astype(jnp.bfloat16) for k, v in init(jr.key(2)).items()}; h = tuple(a.astype(jnp.bfloat16) * 0 for a in h); Vn = len(alphabet); cell = None; p = {k: v.astype(jnp.float32) for k, v in p.items()}; h = tuple(a.astype(jnp.float32) for a in h)

### kam-data-loader-class-with-getitem-len-iter-shuffle-and-prefetch
class Dataset:
    def __init__(self, n, seed): r = np.random.default_rng(seed); self.x, self.y = r.random((n, 3), dtype="f4"), r.integers(0, 2, n)
    def __len__(self): return len(self.x)
    def __getitem__(self, i): return {"x": self.x[i], "y": self.y[i]}
class Loader:
    def __init__(self, ds, bs, shuffle=False, seed=0, collate=None):
        self.ds, self.bs, self.shuffle, self.rng = ds, bs, shuffle, np.random.default_rng(seed)
        self.collate = collate or (lambda rows: {k: np.stack([r[k] for r in rows]) for k in rows[0]})
        self.epoch = 0
    def __len__(self): return -(-len(self.ds) // self.bs)
    def __iter__(self):
        order = self.rng.permutation(len(self.ds)) if self.shuffle else np.arange(len(self.ds))
        for c in np.array_split(order, len(self)):
            yield self.collate([self.ds[i] for i in c])
        self.epoch += 1
def prefetch(it, size=2):
    q = deque()
    it = iter(it)
    def enqueue(n):
        for b in itertools.islice(it, n): q.append(jax.tree.map(jnp.asarray, b))
    enqueue(size)
    while q:
        yield q.popleft()
        enqueue(1)
train = Loader(Dataset(14, 0), 4, shuffle=True)
w, b = jnp.zeros(3), 0.0
---
def bce(w, b, batch):
    z = batch["x"] @ w + b
    return jnp.mean(jnp.logaddexp(0, z) - batch["y"] * z)
n_correct = n_seen = 0
for i, batch in enumerate(prefetch(train)):
    l, (dw, db) = jax.value_and_grad(bce, argnums=(0, 1))(w, b, batch)
    w, b = w - 0.5 * dw, b - 0.5 * db
    n_correct += ((batch["x"] @ w + b > 0) == batch["y"]).sum()
    n_seen += len(batch["y"])
acc = n_correct / n_seen
print(f"epoch {train.epoch}: {acc:.3f} of {n_seen} in {i + 1}", type(b).__name__, n_correct.dtype)
---
train.bs = 7
---
train = Loader(Dataset(6, 3), 3, collate=lambda rows: {"x": jnp.stack([r["x"] for r in rows]), "y": jnp.array([r["y"] for r in rows])})
---
train.ds.y = train.ds.y.astype(bool); b = jnp.float16(0)

### kam-disable-jit-and-matmul-precision-contexts-nested
x = jr.normal(jr.key(0), (3, 4)); w = jr.normal(jr.key(1), (4, 2))
prec, nojit = "float32", False
---
counter = []
@jax.jit
def f(x, w):
    counter.append(isinstance(x, jax.core.Tracer))
    return jnp.where(x @ w > 0, x @ w, 0.1 * (x @ w))
with jax.default_matmul_precision(prec):
    a = f(x, w)
    b = jnp.einsum("ij,jk->ik", x, w)
with contextlib.ExitStack() as st:
    if nojit:
        st.enter_context(jax.disable_jit())
    st.enter_context(jax.numpy_dtype_promotion("strict"))
    c = f(x, w)
    try:
        d = x + jnp.arange(4)
    except Exception as e:
        d = type(e).__name__
with jax.numpy_rank_promotion("warn"), warnings.catch_warnings(record=True) as ws:
    warnings.simplefilter("always")
    e = x + jnp.ones(4)
print(d, len(ws), jax.config.jax_default_matmul_precision, jax.config.jax_numpy_dtype_promotion)
counter[-1]
---
prec = "highest"
---
nojit = True
---
nojit = False; x = x.astype(jnp.bfloat16); w = w.astype(jnp.bfloat16); prec = "bfloat16"

### kam-debug-nans-on-inside-and-failing-then-recovering
x = jnp.array([1.0, 4.0, 9.0])
offset = 0.0
events = []
---
y = jnp.sqrt(x - offset)
z = jnp.log(y + 1)
with jax.debug_nans(True):
    try:
        bad = jnp.log(x - 2 * offset - 0.5)
        events.append("fine")
    except FloatingPointError as e:
        bad = None
        events.append(type(e).__name__)
g = jax.grad(lambda x: jnp.where(x > offset, jnp.sqrt(x), 0.0).sum())(x)
state = jax.config.jax_debug_nans
print(events[-1], state, bad is None)
---
offset = 2.0
---
x = jnp.array([0.0, 1.0]); offset = -1
---
events = deque(maxlen=2); offset = 10.0

### kam-x64-science-newton-with-history-and-mixed-dtypes x64
f = lambda x: x ** 3 - 2 * x - 5
x = jnp.float64(2.0)
x32 = jnp.float32(2.0)
tol = 1e-12
---
hist = [x]
while abs(f(x)) > tol and len(hist) < 20:
    x = x - f(x) / jax.grad(f)(x)
    hist.append(x)
y = x32
for _ in range(3):
    y -= f(y) / jax.grad(f)(y)
order = [jnp.log(abs(hist[i + 1] - hist[-1]) + 1e-300) / jnp.log(abs(hist[i] - hist[-1]) + 1e-300) for i in range(len(hist) - 2)]
n = jnp.arange(3)
mixed = n / jnp.float32(3)
k = jr.key(0)
u = jr.uniform(k), jr.randint(k, (2,), 0, 10), jr.normal(k, dtype=jnp.float32)
print(len(hist), hist[-1].dtype, y.dtype, n.dtype, mixed.dtype, [a.dtype.name for a in u])
f"{x:.10f}"
---
f = lambda x: jnp.cos(x) - x
---
x = jnp.array(2.0, jnp.float32); tol = 1e-4
---
x = 2.0; tol = np.float64(1e-8)

### kam-tensor-parallel-mlp-with-sharding-constraint-and-donation devices=8
mesh = Mesh(np.array(jax.devices()).reshape(2, 4), ("dp", "tp"))
def put(a, *s): return jax.device_put(a, NamedSharding(mesh, P(*s)))
W1, W2 = put(jr.normal(jr.key(0), (8, 16)) * 0.2, None, "tp"), put(jr.normal(jr.key(1), (16, 8)) * 0.2, "tp")
x = put(jr.normal(jr.key(2), (4, 8)), "dp")
lr = 0.1
---
def fwd(W1, W2, x):
    h = jax.nn.gelu(x @ W1)
    h = lax.with_sharding_constraint(h, NamedSharding(mesh, P("dp", "tp")))
    return h @ W2
@partial(jax.jit, out_shardings=(W1.sharding, W2.sharding, None))
def step(W1, W2, x):
    l, (g1, g2) = jax.value_and_grad(lambda a, b: jnp.mean((fwd(a, b, x) - x) ** 2), argnums=(0, 1))(W1, W2)
    return W1 - lr * g1, W2 - lr * g2, l
W1, W2, l = step(W1, W2, x)
out = fwd(W1, W2, x)
norms = {n: jnp.linalg.norm(w) for n, w in [("W1", W1), ("W2", W2)]}
rows = [s.data.shape for s in W1.addressable_shards][:2]
full = jax.device_put(out, NamedSharding(mesh, P()))
print(W1.sharding.spec, W2.sharding.spec, rows, full.is_fully_replicated, l.shape)
---
lr = jnp.float32(0.01)
---
x = put(jnp.ones((2, 8)), None, "tp")
---
W1 = put(W1.astype(jnp.bfloat16), "tp"); x = x.astype(jnp.bfloat16)

### kam-pipeline-stages-on-single-devices-microbatches devices=4
devs = jax.devices()[:4]
stages = [jax.device_put({"w": jr.normal(jr.key(i), (4, 4)) * 0.5}, devs[i]) for i in range(3)]
xs = np.random.default_rng(0).normal(size=(4, 2, 4)).astype("f4")
n_micro = 2
---
def stage(p, x): return jnp.tanh(x @ p["w"])
outs = []
for mb in xs[:n_micro]:
    h = mb
    for p, d in zip(stages, devs):
        h = stage(p, jax.device_put(h, d))
    outs.append(h)
loss = sum(jnp.mean(o ** 2) for o in outs) / len(outs)
acts, vjps = [], []
h = jnp.asarray(xs[0])
for p, d in zip(stages, devs):
    h, vjp = jax.vjp(stage, p, jax.device_put(h, d))
    vjps.append(vjp)
ct = jnp.ones_like(h)
for i in reversed(range(3)):
    gp, ct = vjps[i](jax.device_put(ct, devs[i]))
    stages[i] = jax.tree.map(lambda a, g: a - 0.05 * g, stages[i], gp)
where = [p["w"].device.id for p in stages]
print(where, loss.devices() == {devs[2]}, ct.device.id, outs[0].committed)
---
n_micro = 4
---
stages[1] = jax.device_put(stages[1], devs[3]); devs = [devs[0], devs[3], devs[2]]
---
xs = xs[:, :1].astype(np.float64)

### kam-contrastive-clip-loss-two-towers-temperature-param tolerance=1e-4
class Tower:
    def __init__(self, key, dims):
        self.layers = [dict(w=jr.normal(k, (i, o)) / jnp.sqrt(i), b=jnp.zeros(o)) for k, i, o in zip(jr.split(key, len(dims)), dims, dims[1:])]
    def __call__(self, x, layers=None):
        *hidden, last = layers or self.layers
        for l in hidden: x = jax.nn.relu(x @ l["w"] + l["b"])
        z = x @ last["w"] + last["b"]
        return z / jnp.linalg.norm(z, axis=-1, keepdims=True)
img_t, txt_t = Tower(jr.key(0), [6, 8, 4]), Tower(jr.key(1), [5, 4])
logit_scale = jnp.log(1 / 0.07)
img, txt = jr.normal(jr.key(2), (7, 6)), jr.normal(jr.key(3), (7, 5))
cap = 100.0
---
def clip_loss(params, img, txt):
    zi, zt = img_t(img, params["img"]), txt_t(txt, params["txt"])
    lg = jnp.minimum(jnp.exp(params["scale"]), cap) * zi @ zt.T
    lab = jnp.arange(lg.shape[0])
    ce = optax.softmax_cross_entropy_with_integer_labels
    return (ce(lg, lab).mean() + ce(lg.T, lab).mean()) / 2, lg
params = {"img": img_t.layers, "txt": txt_t.layers, "scale": logit_scale}
(loss, lg), g = jax.value_and_grad(clip_loss, has_aux=True)(params, img, txt)
new = jax.tree.map(lambda p, d: p - 0.01 * d, params, g)
img_t.layers, txt_t.layers, logit_scale = new["img"], new["txt"], new["scale"]
r1 = jnp.mean(jnp.argmax(lg, 1) == jnp.arange(len(lg)))
top = {k: [jnp.mean(jnp.any(jnp.argsort(-lg, 1)[:, :k] == jnp.arange(len(lg))[:, None], 1)).item() for lg in (lg, lg.T)] for k in (1, 3)}
print(params["img"] is img_t.layers, new["txt"] is txt_t.layers, logit_scale.weak_type, r1.dtype, sorted(top))
---
img, txt = img[:3], txt[:3]
---
cap = 5
---
logit_scale = 1.0; txt_t = Tower(jr.key(9), [5, 3, 4])

### kam-trainer-with-callbacks-hooks-protocol-and-lr-finder
class Callback(Protocol):
    def on_epoch(self, tr, logs): ...
class History:
    def __init__(self): self.rows = []
    def on_epoch(self, tr, logs): self.rows.append({**logs, "epoch": tr.epoch})
class ReduceOnPlateau:
    def __init__(self, factor=0.5, patience=1): self.factor, self.patience, self.best, self.bad = factor, patience, None, 0
    def on_epoch(self, tr, logs):
        if self.best is None or logs["loss"] < self.best: self.best, self.bad = logs["loss"], 0
        else: self.bad += 1
        if self.bad > self.patience: tr.lr *= self.factor; self.bad = 0
class Trainer:
    epoch = 0
    def __init__(self, f, w, lr, callbacks=()): self.f, self.w, self.lr, self.callbacks = f, w, lr, list(callbacks)
    def fit(self, x, y, epochs):
        for _ in range(epochs):
            self.epoch += 1
            l, g = jax.value_and_grad(self.f)(self.w, x, y)
            self.w = self.w - self.lr * g
            logs = dict(loss=l, lr=self.lr)
            for cb in self.callbacks: cb.on_epoch(self, logs)
        return self
hist = History()
tr = Trainer(lambda w, x, y: jnp.mean((x @ w - y) ** 2), jnp.zeros(2), 0.9, [hist, ReduceOnPlateau()])
x, y = jnp.array([[1.0, 2.0], [3.0, 1.0], [0.5, 2.0]]), jnp.array([1.0, 2.0, 0.0])
epochs = 2
---
tr.fit(x, y, epochs)
last = hist.rows[-1]
plateau = next(c for c in tr.callbacks if isinstance(c, ReduceOnPlateau))
improved = plateau.best is hist.rows[0]["loss"]
curve = jnp.array([r["loss"] for r in hist.rows[-epochs:]])
print(tr.epoch, len(hist.rows), plateau.bad, improved, f"{tr.lr:.3g}", "epoch" in vars(tr))
last["loss"] is curve[-1], sorted(last)
---
epochs = 3
---
tr.callbacks[1].patience = 0; tr.lr = 5.0
---
tr.callbacks.insert(0, types.SimpleNamespace(on_epoch=lambda tr, logs: logs.update(norm=jnp.linalg.norm(tr.w)))); tr.lr = jnp.float32(0.01)

### kam-gradient-accumulation-multisteps-and-manual-compare
w = {"k": jnp.ones((3, 2))}
tx = optax.MultiSteps(optax.sgd(0.1), every_k_schedule=2)
st = tx.init(w)
xs = jr.normal(jr.key(0), (4, 5, 3))
acc_every = 2
---
grad = jax.grad(lambda w, x: jnp.mean((x @ w["k"]) ** 2))
manual, buf = w, None
updated = []
for i, xb in enumerate(xs, 1):
    g = grad(w, xb)
    u, st = tx.update(g, st, w)
    w = optax.apply_updates(w, u)
    updated.append(tx.has_updated(st))
    gm = grad(manual, xb)
    buf = gm if buf is None else jax.tree.map(jnp.add, buf, gm)
    if i % acc_every == 0:
        manual = jax.tree.map(lambda p, a: p - 0.1 * a / acc_every, manual, buf)
        buf = None
diff = jnp.abs(w["k"] - manual["k"]).max()
print([bool(b) for b in updated], int(st.gradient_step), st.mini_step.dtype, float(diff) < 1e-5)
---
xs = xs[:3]
---
acc_every = 1; tx = optax.MultiSteps(optax.adam(0.1), lambda n: jnp.where(n < 1, 1, 3)); st = tx.init(w)
---
xs = jr.normal(jr.key(3), (2, 1, 3)).astype(jnp.bfloat16)

### kam-gmm-em-log-sum-exp-bic-over-components tolerance=1e-3
X = np.concatenate([np.random.default_rng(0).normal(m, 0.5, (15, 2)) for m in (-2, 2)]).astype(np.float32)
Ks = (1, 2)
iters = 3
---
class GMM(NamedTuple):
    pi: jax.Array
    mu: jax.Array
    cov: jax.Array
    @property
    def K(self): return self.pi.shape[0]
    def logpdf(self, X):
        lp = jax.vmap(lambda m, c: jax.scipy.stats.multivariate_normal.logpdf(X, m, c))(self.mu, self.cov)
        return jnp.log(self.pi)[:, None] + lp
def em(X, K):
    X = jnp.asarray(X)
    g = GMM(jnp.full(K, 1 / K), X[jnp.linspace(0, len(X) - 1, K).astype(int)], jnp.stack([jnp.eye(2)] * K))
    ll = []
    for _ in range(iters):
        lj = g.logpdf(X)
        lse = jax.nn.logsumexp(lj, 0)
        r = jnp.exp(lj - lse)
        n = r.sum(1)
        mu = r @ X / n[:, None]
        d = X[None] - mu[:, None]
        cov = jnp.einsum("kn,kni,knj->kij", r, d, d) / n[:, None, None] + 1e-4 * jnp.eye(2)
        g = g._replace(pi=n / len(X), mu=mu, cov=cov)
        ll.append(lse.sum())
    return g, ll
fits = {}
for K in Ks:
    g, ll = em(X, K)
    k = K - 1 + 2 * K + 3 * K
    fits[K] = dict(model=g, bic=-2 * ll[-1] + k * np.log(len(X)), mono=bool(jnp.all(jnp.diff(jnp.array(ll)) > -1e-3)))
best = min(fits, key=lambda K: fits[K]["bic"])
print(best, [f["mono"] for f in fits.values()], fits[best]["model"].K, type(fits[best]["bic"]).__name__, fits[best]["bic"].dtype)
---
Ks = (2,)
---
X = X[::3]
---
X = X.astype(np.float64); iters = 2; Ks = [1]

### kam-pca-whitening-sign-flip-and-reconstruction-estimator
class PCA:
    def __init__(self, n=2, whiten=False): self.n, self.whiten = n, whiten
    def fit(self, X):
        self.mean_ = X.mean(0)
        U, S, Vt = jnp.linalg.svd(X - self.mean_, full_matrices=False)
        sgn = jnp.sign(Vt[jnp.arange(len(Vt)), jnp.abs(Vt).argmax(1)])
        self.components_ = (Vt * sgn[:, None])[: self.n]
        self.explained_ = S[: self.n] ** 2 / (len(X) - 1)
        self.ratio_ = self.explained_ / (S ** 2 / (len(X) - 1)).sum()
        return self
    def transform(self, X):
        Z = (X - self.mean_) @ self.components_.T
        return Z / jnp.sqrt(self.explained_) if self.whiten else Z
    def inverse(self, Z):
        if self.whiten: Z = Z * jnp.sqrt(self.explained_)
        return Z @ self.components_ + self.mean_
    def __repr__(self): return f"PCA(n={self.n}, fitted={hasattr(self, 'mean_')})"
X = np.random.default_rng(0).normal(size=(12, 4)) * np.array([5.0, 2.0, 1.0, 0.1])
pca = PCA()
---
before = repr(pca)
Z = pca.fit(X).transform(X)
rec = pca.inverse(Z)
err = np.linalg.norm(X - rec) / np.linalg.norm(X)
cum = jnp.cumsum(pca.ratio_)
need = int(jnp.searchsorted(cum, 0.8)) + 1
print(before, "->", pca, Z.shape, rec.dtype, type(pca.mean_).__name__, pca.mean_.dtype, type(err).__name__, need)
---
pca.n = 3
---
X = jnp.asarray(X[:6]); pca.whiten = True
---
pca = PCA(1); X = np.asarray(X, dtype=np.float16)

### kam-kernel-ridge-random-features-nystrom-partial-kernels tolerance=1e-3
def rbf(x, y, *, gamma=0.5): return jnp.exp(-gamma * jnp.sum((x - y) ** 2))
def poly(x, y, *, deg=2, c=1.0): return (x @ y + c) ** deg
gram = lambda k, A, B: jax.vmap(lambda a: jax.vmap(lambda b: k(a, b))(B))(A)
kernels = {"rbf": partial(rbf, gamma=1.0), "poly": poly}
X = jr.uniform(jr.key(0), (14, 2), minval=-1); y = jnp.sin(3 * X[:, 0]) * X[:, 1]
lam, m, D = 1e-2, 4, 16
---
scores = {}
for name, k in kernels.items():
    K = gram(k, X, X)
    a = jax.scipy.linalg.solve(K + lam * jnp.eye(len(X)), y, assume_a="pos")
    scores[name] = jnp.mean((K @ a - y) ** 2)
idx = jr.choice(jr.key(1), len(X), (m,), replace=False)
Kmm, Knm = gram(kernels["rbf"], X[idx], X[idx]), gram(kernels["rbf"], X, X[idx])
nys = Knm @ jnp.linalg.lstsq(Kmm + 1e-3 * jnp.eye(m), Knm.T)[0]
g = getattr(kernels["rbf"], "keywords", {}).get("gamma", 0.5)
W = jr.normal(jr.key(2), (2, D)) * jnp.sqrt(2 * g); b = jr.uniform(jr.key(3), (D,), maxval=2 * jnp.pi)
phi = jnp.sqrt(2 / D) * jnp.cos(X @ W + b)
rel = {"nystrom": jnp.linalg.norm(nys - gram(kernels["rbf"], X, X)), "rff": jnp.linalg.norm(phi @ phi.T - gram(kernels["rbf"], X, X))}
best = sorted(scores.items(), key=lambda kv: float(kv[1]))[0][0]
dk = jax.grad(lambda g: gram(partial(rbf, gamma=g), X, X).sum())(1.0)
print(best, nys.shape, idx.dtype, dk.weak_type)
---
kernels["rbf"] = partial(rbf, gamma=jnp.float32(0.2))
---
kernels = {"rbf": rbf, "lin": partial(poly, deg=1, c=0)}; m = 3
---
X = X[:8]; y = y[:8]; lam = 1

### kam-implicit-diff-custom-root-decorator-ridge-hyper-gradient tolerance=1e-3
def custom_root(optimality):
    def deco(solver):
        @jax.custom_vjp
        def run(init, theta): return solver(init, theta)
        def fwd(init, theta):
            sol = run(init, theta)
            return sol, (sol, theta)
        def bwd(res, ct):
            sol, theta = res
            H = jax.jacobian(optimality)(sol, theta)
            u = jnp.linalg.solve(H.T, ct)
            _, vjp = jax.vjp(lambda th: optimality(sol, th), theta)
            return jnp.zeros_like(sol), vjp(-u)[0]
        run.defvjp(fwd, bwd)
        return run
    return deco
X = jr.normal(jr.key(0), (10, 3)); y = X @ jnp.array([1.0, 0.5, -2.0]); Xv, yv = X[:4] + 0.1, y[:4]
inner = lambda w, th: jnp.mean((X @ w - y) ** 2) + jnp.exp(th) * w @ w
n_inner = 8
th = jnp.float32(-1.0)
---
@custom_root(jax.grad(inner))
def solve(w, th):
    return lax.fori_loop(0, n_inner, lambda i, w: w - 0.2 * jax.grad(inner)(w, th), w)
trace = []
for _ in range(2):
    def outer(th):
        w = solve(jnp.zeros(X.shape[1]), th)
        return jnp.mean((Xv @ w - yv) ** 2), w
    (l, w), h = jax.value_and_grad(outer, has_aux=True)(th)
    th = th - 0.5 * h
    trace.append((l, th))
closed = jnp.linalg.solve(X.T @ X / len(X) + jnp.exp(th) * jnp.eye(X.shape[1]), X.T @ y / len(X))
gap = jnp.linalg.norm(closed - solve(w, th))
trace[-1][1] is th, th.dtype, th.weak_type, type(solve).__name__
---
n_inner = 3
---
th = -2.0
---
inner = lambda w, th: jnp.mean((X @ w - y) ** 2) + jax.nn.softplus(th) * jnp.sum(jnp.sqrt(w * w + 1e-3))

### kam-linear-operator-cg-custom-linear-solve-matvec-counter tolerance=1e-3
class Toeplitz:
    def __init__(self, c): self.c, self.hits = c, 0
    @property
    def n(self): return len(self.c)
    def __matmul__(self, v):
        self.hits += 1
        idx = jnp.abs(jnp.arange(self.n)[:, None] - jnp.arange(self.n))
        return self.c[idx] @ v
    def to_dense(self): return jax.vmap(self.__matmul__, in_axes=1, out_axes=1)(jnp.eye(self.n))
op = Toeplitz(jnp.array([3.0, 1.0, 0.2, 0.0]))
b = jnp.arange(4.0)
maxiter = 10
---
x, info = jax.scipy.sparse.linalg.cg(lambda v: op @ v, b, maxiter=maxiter)
dense = op.to_dense()
ref = jnp.linalg.solve(dense, b)
sol = lax.custom_linear_solve(lambda v: op @ v, b, lambda mv, r: jax.scipy.sparse.linalg.cg(mv, r, maxiter=maxiter)[0], symmetric=True)
dc = jax.grad(lambda c: jnp.sum(lax.custom_linear_solve(lambda v: Toeplitz(c) @ v, b, lambda mv, r: jax.scipy.sparse.linalg.cg(mv, r)[0], symmetric=True)))(op.c)
ok = bool(jnp.allclose(x, ref, atol=1e-2)), bool(jnp.allclose(sol, ref, atol=1e-2))
print(info, ok, dense.shape, x.dtype, op.n)
---
b = b[::-1]
---
op.c = jnp.array([2.0, 0.5]); b = b[:2]
---
maxiter = 1; op = Toeplitz(jnp.array([4, 1, 0], jnp.float32)); b = np.ones(3)

### kam-metrics-collection-classes-merge-reset-and-operators
class Metric:
    def __init__(self, name): self.name = name; self.reset()
    def reset(self): self.num, self.den = 0.0, 0
    def update(self, v, n=1): self.num = self.num + v * n; self.den += n; return self
    def __iadd__(self, other): self.num += other.num; self.den += other.den; return self
    def __float__(self): return float(self.num / self.den)
    def __format__(self, s): return format(float(self), s)
    def __lt__(self, o): return float(self) < float(o)
class Confusion(Metric):
    def __init__(self, k): self.k = k; super().__init__("conf")
    def reset(self): self.mat = jnp.zeros((self.k, self.k), jnp.int32)
    def update(self, p, t): self.mat = self.mat.at[t, p].add(1); return self
    def f1(self):
        tp = jnp.diag(self.mat)
        return 2 * tp / jnp.maximum(self.mat.sum(0) + self.mat.sum(1), 1)
ms = {"loss": Metric("loss"), "acc": Metric("acc")}; conf = Confusion(3)
logits = jr.normal(jr.key(0), (9, 3)); labels = jnp.arange(9) % 3
bs = 3
---
for m in (*ms.values(), conf): m.reset()
for i in range(0, len(labels), bs):
    lg, lb = logits[i:i + bs], labels[i:i + bs]
    pred = lg.argmax(-1)
    ms["loss"].update(optax.softmax_cross_entropy_with_integer_labels(lg, lb).mean(), len(lb))
    ms["acc"].update((pred == lb).mean(), len(lb))
    conf.update(pred, lb)
other = Metric("x").update(1.0, 3)
ms["acc"] += other
best = min(ms.values())
macro = conf.f1().mean()
print(f"{ms['loss']:.3f} {ms['acc']:.3f} {best.name}", conf.mat.sum(), type(ms["acc"].num).__name__, ms["acc"].den)
conf.mat
---
bs = 4
---
logits = logits.at[:, 0].add(5)
---
labels = np.asarray(labels)[:5].astype(np.int8); logits = logits[:5]

### kam-weight-tying-and-shared-references-between-models-and-copies
class Lin:
    def __init__(self, w): self.w = w
    def __call__(self, x): return x @ self.w
class Tied:
    def __init__(self, emb): self.emb = emb; self.dec = emb
    def params(self): return {"emb": self.emb.w}
    def loss(self, x):
        h = self.emb(x)
        return jnp.mean((h @ self.dec.w.T - x) ** 2)
a = Tied(Lin(jr.normal(jr.key(0), (4, 2)) * 0.5))
b = copy.copy(a); c = copy.deepcopy(a)
zoo = {"a": a, "b": b, "c": c, "again": a}
x = jr.normal(jr.key(1), (5, 4))
---
for m in zoo.values():
    def f(w):
        old, m.emb.w = m.emb.w, w
        try: return m.loss(x)
        finally: m.emb.w = old
    g = jax.grad(f)(m.emb.w)
    m.emb.w = m.emb.w - 0.1 * g
shared = [(p, q) for p, q in itertools.combinations(zoo, 2) if zoo[p].emb is zoo[q].emb]
tied = a.dec.w is a.emb.w, b.emb.w is a.emb.w, c.emb.w is a.emb.w
snap = copy.deepcopy(zoo)
print(shared, tied, snap["a"] is snap["again"], snap["b"].emb is snap["a"].emb, snap["a"].emb.w is a.emb.w)
---
b.emb = Lin(jnp.ones((4, 2)))
---
c.dec = b.dec; zoo["again"] = c
---
x = x[:2]; a.emb.w = np.asarray(a.emb.w)

### kam-global-edited-by-function-with-cache-dict-and-nonlocal-counter
STATS = {"hits": 0, "miss": 0}
CACHE = {}
total = 0.0
def rotary(T, d):
    global total
    key = (T, d)
    if key in CACHE:
        STATS["hits"] += 1
        return CACHE[key]
    STATS["miss"] += 1
    inv = 1.0 / 10000 ** (jnp.arange(0, d, 2) / d)
    ang = jnp.outer(jnp.arange(T), inv)
    total += float(T)
    CACHE[key] = jnp.cos(ang), jnp.sin(ang)
    return CACHE[key]
def make_counter():
    n = 0
    def count(x):
        nonlocal n
        n += 1
        return x * n
    count.peek = lambda: n
    return count
count = make_counter()
x = jnp.ones((3, 4))
---
cos, sin = rotary(*x.shape)
x1, x2 = jnp.split(x, 2, -1)
r = jnp.concatenate([x1 * cos - x2 * sin, x1 * sin + x2 * cos], -1)
s = count(r).sum() + count(r).mean()
c2, _ = rotary(2, 4)
print(STATS, len(CACHE), count.peek(), total)
c2 is CACHE[2, 4][0], cos is CACHE[x.shape][0]
---
x = jnp.ones((5, 4))
---
CACHE.clear(); STATS = Counter()
---
count = make_counter(); x = x.astype(jnp.float16)

### kam-s5-associative-scan-complex-diagonal-bidirectional tolerance=1e-3
Lam = -0.5 + 1j * jnp.array([1.0, 2.0, 3.0]); B = jr.normal(jr.key(0), (3, 2)) + 0j; C = jr.normal(jr.key(1), (2, 3)).astype(jnp.complex64)
u = jr.normal(jr.key(2), (7, 2)); bidir, dt = False, 0.1
---
Lb = jnp.exp(Lam * dt)
Bb = ((Lb - 1) / Lam)[:, None] * B
def op(p, q): return q[0] * p[0], q[0] * p[1] + q[1]
Bu = u @ Bb.T
_, xs = lax.associative_scan(op, (jnp.broadcast_to(Lb, Bu.shape), Bu))
if bidir:
    _, xr = lax.associative_scan(op, (jnp.broadcast_to(Lb, Bu.shape), Bu), reverse=True)
    xs = jnp.concatenate([xs, xr], -1)
    Ct = jnp.concatenate([C, C.conj()], -1)
else:
    Ct = C
y = (xs @ Ct.T).real
ref, s = [], jnp.zeros(3, jnp.complex64)
for t in range(len(u)):
    s = Lb * s + Bu[t]
    ref.append(s)
err = jnp.abs(jnp.stack(ref) - xs[:, :3]).max()
gL = jax.grad(lambda L: jnp.sum(jnp.exp(L * dt).real))(Lam)
gB = jax.grad(lambda B: jnp.abs(B).sum(), holomorphic=False)(B)
print(Lam.dtype, Lam.weak_type, xs.shape, y.dtype, gL.dtype, float(err) < 1e-4)
---
bidir = True
---
u = u[:3]; dt = jnp.array([0.1, 0.2, 0.3])
---
dt = np.float64(0.05); C = C.real

### kam-mamba-like-selective-scan-with-chunked-python-loop tolerance=1e-3
d, n, chunk = 3, 2, 4
x = jr.normal(jr.key(0), (10, d))
A = -jnp.exp(jr.normal(jr.key(1), (d, n))); Wd, Wb, Wc = (jr.normal(jr.key(i), s) * 0.5 for i, s in ((2, (d, d)), (3, (d, n)), (4, (d, n))))
---
delta = jax.nn.softplus(x @ Wd)
Bm, Cm = x @ Wb, x @ Wc
def run_chunk(h, args):
    def f(h, a):
        dl, b, c, xt = a
        h = jnp.exp(dl[:, None] * A) * h + (dl * xt)[:, None] * b
        return h, h @ c
    return lax.scan(f, h, args)
h = jnp.zeros((d, n))
ys = []
for s in range(0, len(x), chunk):
    sl = np.s_[s:s + chunk]
    h, y = run_chunk(h, (delta[sl], Bm[sl], Cm[sl], x[sl]))
    ys.append(y)
y = jnp.concatenate(ys)
assert y.shape == x.shape
full = run_chunk(jnp.zeros((d, n)), (delta, Bm, Cm, x))[1]
ok = bool(jnp.allclose(full, y, atol=1e-4))
sizes = [len(c) for c in ys]
sizes, ok, s, sl
---
chunk = 3
---
x = x[:4].astype(jnp.bfloat16)
---
chunk = 100; x = np.asarray(x, np.float32)

### kam-transformer-equinox-filter-vmap-layers-scanned-stacked-params needs=equinox tolerance=1e-4
import equinox as eqx
class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    att: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP
    drop: eqx.nn.Dropout
    def __init__(self, d, key):
        a, b = jr.split(key)
        self.norm, self.att = eqx.nn.LayerNorm(d), eqx.nn.MultiheadAttention(2, d, key=a)
        self.mlp, self.drop = eqx.nn.MLP(d, d, 2 * d, 1, key=b), eqx.nn.Dropout(0.1)
    def __call__(self, x, *, key=None):
        h = jax.vmap(self.norm)(x)
        x = x + self.att(h, h, h, mask=jnp.tril(jnp.ones((len(x), len(x)), bool)))
        return x + self.drop(jax.vmap(self.mlp)(x), key=key, inference=key is None)
L, dm = 2, 4
blocks = eqx.filter_vmap(partial(Block, dm))(jr.split(jr.key(0), L))
x = jr.normal(jr.key(1), (5, dm))
key = jr.key(9)
---
dyn, static = eqx.partition(blocks, eqx.is_array)
def fwd(dyn, x, key):
    def f(c, args):
        p, k = args
        return eqx.combine(p, static)(c, key=k), None
    return lax.scan(f, x, (dyn, None if key is None else jr.split(key, L)))[0]
y_train, y_eval = fwd(dyn, x, key), fwd(dyn, x, None)
g = jax.grad(lambda d: jnp.mean(fwd(d, x, None) ** 2))(dyn)
decay_mask = jax.tree.map(lambda a: a.ndim > 2, dyn)
blocks = eqx.combine(jax.tree.map(lambda p, g, m: p - 0.1 * (g + (1e-2 * p if m else 0)), dyn, g, decay_mask), static)
n = sum(a.size for a in jax.tree.leaves(dyn))
one = jax.tree.map(lambda a: a[0], dyn)
first = eqx.combine(one, static)
print(n, first.mlp.layers[0].weight.shape, blocks.drop is static.drop, eqx.tree_equal(blocks.drop, static.drop), y_train.shape)
---
x = x[:2]
---
key = None
---
L = 1; blocks = eqx.filter_vmap(partial(Block, dm))(jr.split(jr.key(4), L))

### kam-eqx-stateful-batchnorm-and-spectral-norm-model-state-pair needs=equinox tolerance=2e-4
import equinox as eqx
class Net(eqx.Module):
    lin: eqx.nn.SpectralNorm
    bn: eqx.nn.BatchNorm
    out: eqx.nn.Linear
    def __init__(self, key):
        a, b, c = jr.split(key, 3)
        self.lin = eqx.nn.SpectralNorm(eqx.nn.Linear(3, 4, key=a), "weight", key=b)
        self.bn, self.out = eqx.nn.BatchNorm(4, axis_name="b", mode="ema"), eqx.nn.Linear(4, 1, key=c)
    def __call__(self, x, st):
        x, st = self.lin(x, st)
        x, st = self.bn(x, st)
        return self.out(jax.nn.relu(x)), st
net, st = eqx.nn.make_with_state(Net)(jr.key(0))
x = jr.normal(jr.key(1), (6, 3)); y = x.sum(1, keepdims=True)
lr = 0.05
---
@eqx.filter_value_and_grad(has_aux=True)
def loss(net, st):
    p, st = jax.vmap(net, axis_name="b", in_axes=(0, None), out_axes=(0, None))(x, st)
    return jnp.mean((p - y) ** 2), st
vals = []
for _ in range(2):
    (l, st), g = loss(net, st)
    net = eqx.apply_updates(net, jax.tree.map(lambda a: -lr * a, g))
    vals.append(l)
inf = eqx.nn.inference_mode(net)
pred = jax.vmap(inf, in_axes=(0, None))(x, st)[0]
sub = st.substate(net.bn)
leaves = [a.shape for a in jax.tree.leaves(st)]
print(len(leaves), inf.bn.inference, net.bn.inference, pred.shape, type(sub).__name__)
---
lr = jnp.float32(0.01)
---
x, y = x[:3], y[:3]
---
net, st = eqx.nn.make_with_state(Net)(jr.key(7))

### kam-nnx-split-merge-graphdef-jit-step-and-ema-of-state needs=flax
from flax import nnx
class MLP(nnx.Module):
    def __init__(self, din, dh, dout, *, rngs):
        self.l1, self.bn, self.l2 = nnx.Linear(din, dh, rngs=rngs), nnx.BatchNorm(dh, rngs=rngs), nnx.Linear(dh, dout, rngs=rngs)
        self.calls = nnx.Variable(jnp.int32(0))
    def __call__(self, x):
        self.calls[...] += 1
        return self.l2(nnx.relu(self.bn(self.l1(x))))
model = MLP(3, 5, 1, rngs=nnx.Rngs(0))
ema = jax.tree.map(jnp.copy, nnx.state(model, nnx.Param))
tx = optax.lion(1e-2)
opt = tx.init(nnx.state(model, nnx.Param))
x = jr.normal(jr.key(0), (8, 3)); y = jnp.sum(x ** 2, 1, keepdims=True)
---
graphdef, params, rest = nnx.split(model, nnx.Param, ...)
@jax.jit
def step(params, rest, opt, x, y):
    def loss_fn(params):
        m = nnx.merge(graphdef, params, rest, copy=True)
        l = jnp.mean((m(x) - y) ** 2)
        return l, nnx.state(m, nnx.Not(nnx.Param))
    (l, rest), g = jax.value_and_grad(loss_fn, has_aux=True)(params)
    u, opt = tx.update(g, opt, params)
    return optax.apply_updates(params, u), rest, opt, l
for _ in range(2):
    params, rest, opt, l = step(params, rest, opt, x, y)
    ema = optax.incremental_update(params, ema, 0.1)
nnx.update(model, params, rest)
shadow = nnx.merge(graphdef, ema, rest, copy=True)
model.eval(); shadow.eval()
gap = jnp.abs(model(x) - shadow(x)).mean()
model.train()
flat = {".".join(map(str, k)): v.shape for k, v in nnx.to_flat_state(params)}
print(model.calls[...], shadow.calls[...], model.bn.use_running_average, sorted(flat)[:2], shadow.l1 is model.l1)
---
x, y = x[:4], y[:4]
---
model = MLP(3, 2, 1, rngs=nnx.Rngs(1)); ema = nnx.state(model, nnx.Param); opt = tx.init(ema)
---
tx = optax.sgd(0.1); opt = tx.init(nnx.state(model, nnx.Param))

### kam-nnx-vmap-ensemble-scan-over-layers-and-rngs-fork needs=flax tolerance=1e-4
from flax import nnx
@nnx.split_rngs(splits=3)
@nnx.vmap(in_axes=(0,), out_axes=0)
def make(rngs): return nnx.Linear(4, 4, rngs=rngs)
stack = make(nnx.Rngs(0))
x = jr.normal(jr.key(1), (2, 4))
rngs = nnx.Rngs(params=3, dropout=4)
act = nnx.tanh
---
@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def through(h, layer): return act(layer(h))
y = through(x, stack)
@nnx.vmap(in_axes=(0, None))
def each(layer, x): return layer(x)
ens = each(stack, x)
mean, std = ens.mean(0), ens.std(0)
drop = nnx.Dropout(0.5, rngs=rngs)
noisy = drop(y)
k1, k2 = rngs.params(), rngs.dropout()
g = nnx.grad(lambda s: jnp.sum(through(x, s) ** 2))(stack)
stack.kernel[...] = stack.kernel[...] - 0.1 * g.kernel[...]
print(y.shape, ens.shape, type(g).__name__, rngs.params.count[...], rngs.dropout.count[...])
---
act = nnx.relu
---
x = x[:1]
---
rngs = nnx.Rngs(7)

### kam-linen-scan-rnn-with-remat-and-partitioning-metadata needs=flax tolerance=1e-4
import flax.linen as nn
class Cell(nn.Module):
    feat: int
    @nn.compact
    def __call__(self, c, x):
        k = nn.with_partitioning(nn.initializers.lecun_normal(), (None, "tp"))
        c = nn.tanh(nn.Dense(self.feat, kernel_init=k)(x) + nn.Dense(self.feat, use_bias=False)(c))
        self.sow("intermediates", "h", c.mean())
        return c, c
class RNN(nn.Module):
    feat: int = 4
    unroll: int = 1
    @nn.compact
    def __call__(self, xs):
        S = nn.scan(nn.remat(Cell), variable_broadcast="params", variable_axes={"intermediates": 0}, split_rngs={"params": False}, unroll=self.unroll)
        c, ys = S(self.feat, name="cell")(jnp.zeros((self.feat,)), xs)
        return nn.Dense(1)(ys)
rnn = RNN()
xs = jnp.sin(jnp.arange(6.0))[:, None]
v = rnn.init(jr.key(0), xs)
params = nn.unbox(v)["params"]
---
y, inter = rnn.apply({"params": params}, xs, mutable=["intermediates"])
spec = nn.get_partition_spec(v)
h = inter["intermediates"]["cell"]["h"][0]
l, g = jax.value_and_grad(lambda p: jnp.mean((rnn.apply({"params": p}, xs)[:-1, 0] - xs[1:, 0]) ** 2))(params)
params = jax.tree.map(lambda p, d: p - 0.05 * d, params, g)
tab = nn.tabulate(RNN(), jr.key(0), console_kwargs={"width": 80})(xs) if xs.shape[0] < 0 else ""
names = sorted(jax.tree_util.keystr(k, simple=True, separator=".") for k, _ in tree_flatten_with_path(params)[0])
print(names, h.shape, spec["params"]["cell"]["Dense_0"]["kernel"], type(params).__name__)
---
xs = xs[:4]
---
rnn = RNN(unroll=2)
---
rnn = rnn.copy(feat=4); xs = jnp.ones((3, 1), jnp.bfloat16)

### kam-optax-chain-masked-multi-transform-schedule-free-labels tolerance=1e-4
p = {"enc": {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}, "head": {"w": jnp.full((2, 1), 0.5)}}
labels = {"enc": "slow", "head": "fast"}
lrs = {"slow": 1e-3, "fast": 1e-1}
x = jnp.array([[1.0, 2.0], [3.0, -1.0]])
---
sched = optax.join_schedules([optax.linear_schedule(0, 1, 2), optax.cosine_decay_schedule(1.0, 10)], [2])
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.multi_transform({k: optax.chain(optax.scale_by_adam(), optax.scale(-lr)) for k, lr in lrs.items()}, lambda p: {k: jax.tree.map(lambda _: labels[k], v) for k, v in p.items()}),
    optax.scale_by_schedule(sched),
    optax.masked(optax.add_decayed_weights(1e-2), {"enc": {"w": True, "b": False}, "head": True}))
st = tx.init(p)
norms = []
for i in range(3):
    g = jax.grad(lambda p: jnp.sum(jnp.tanh(x @ p["enc"]["w"] + p["enc"]["b"]) @ p["head"]["w"]))(p)
    u, st = tx.update(g, st, p)
    p = optax.apply_updates(p, u)
    norms.append(optax.tree.norm(u))
counts = [v for _, v in optax.tree.get_all_with_path(st, "count")]
lr_path = [float(sched(i)) for i in range(4)]
print(len(st), [int(c) for c in counts], [f"{v:.2f}" for v in lr_path], type(st[1].inner_states).__name__)
---
labels["enc"] = "fast"
---
lrs = {"slow": jnp.float32(0.1), "fast": 1}
---
p["enc"]["w"] = p["enc"]["w"].astype(jnp.bfloat16)

### kam-lbfgs-linesearch-value-and-grad-from-state-while tolerance=5e-3
f = lambda w: jnp.sum(100.0 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2) * scale
scale, memory, max_it = 0.01, 4, 4
w = jnp.array([0.5, 0.0, 0.2])
---
opt = optax.lbfgs(memory_size=memory)
vg = optax.value_and_grad_from_state(f)
st = opt.init(w)
path = [w]
for i in range(max_it):
    v, g = vg(w, state=st)
    u, st = opt.update(g, st, w, value=v, grad=g, value_fn=f)
    w = optax.apply_updates(w, u)
    path.append(w)
    if optax.tree.norm(g) < 1e-3:
        print("converged", i)
        break
mem = st[0].diff_params_memory.shape
decreasing = all(float(f(b)) <= float(f(a)) + 1e-6 for a, b in zip(path, path[1:]))
steps = jnp.stack(path)
print(mem, decreasing, steps.shape, st[0].count)
---
memory = 2
---
w = jnp.zeros(2); max_it = 2
---
scale = 1; w = jnp.array([1.2, 1.0, 0.9], jnp.float32)

### kam-bandit-thompson-ucb-numpy-and-jax-beta-arms-loop
probs = np.array([0.2, 0.5, 0.7])
rng = np.random.default_rng(0)
key = jr.key(0)
a, b = jnp.ones(3), jnp.ones(3)
pulls = np.zeros(3, int)
strategy = "thompson"
horizon = 6
---
regret = []
for t in range(1, horizon + 1):
    if strategy == "thompson":
        key, k = jr.split(key)
        arm = int(jnp.argmax(jr.beta(k, a, b)))
    elif strategy == "ucb":
        arm = int(jnp.argmax(a / (a + b) + jnp.sqrt(2 * jnp.log(t) / (pulls + 1))))
    else:
        arm = int(rng.integers(len(probs)))
    reward = rng.random() < probs[arm]
    a = a.at[arm].add(reward)
    b = b.at[arm].add(1 - reward)
    pulls[arm] += 1
    regret.append(probs.max() - probs[arm])
post = {i: (float(m), float(s)) for i, (m, s) in enumerate(zip(a / (a + b), jnp.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))))}
total = np.cumsum(regret)[-1]
print(pulls.sum(), type(reward).__name__, type(total).__name__, a.dtype)
---
strategy = "ucb"
---
strategy = None; horizon = 2
---
probs = probs[:2]; a, b, pulls = a[:2], b[:2].astype(jnp.bfloat16), pulls[:2]; strategy = "thompson"

### kam-reinforce-cartpole-numpy-env-baseline-and-discount-by-hand tolerance=1e-4
class CartPole:
    def __init__(self, seed): self.rng = np.random.default_rng(seed)
    def reset(self): self.s = self.rng.uniform(-0.05, 0.05, 4); return self.s.astype(np.float32)
    def step(self, a):
        x, xd, th, thd = self.s
        F = 10.0 if a else -10.0
        tmp = (F + 0.05 * thd ** 2 * np.sin(th)) / 1.1
        tha = (9.8 * np.sin(th) - np.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * np.cos(th) ** 2 / 1.1))
        self.s = self.s + 0.02 * np.array([xd, tmp - 0.05 * tha * np.cos(th) / 1.1, thd, tha])
        return self.s.astype(np.float32), 1.0, bool(abs(self.s[2]) > 0.2 or abs(self.s[0]) > 2.4), {}
env = CartPole(0)
theta = {"w": jnp.zeros((4, 2)), "b": jnp.zeros(2)}
key = jr.PRNGKey(0)
gamma, max_steps, baseline = 0.99, 6, 0.0
---
obs, acts, rews = [], [], []
s, done = env.reset(), False
while not done and len(rews) < max_steps:
    key, k = jr.split(key)
    a = jr.categorical(k, s @ theta["w"] + theta["b"])
    s2, r, done, _ = env.step(int(a))
    obs.append(s); acts.append(a); rews.append(r)
    s = s2
G, ret = 0.0, []
for r in rews[::-1]:
    G = r + gamma * G
    ret.insert(0, G)
baseline = 0.9 * baseline + 0.1 * ret[0]
O, A, R = jnp.stack(obs), jnp.stack(acts), jnp.array(ret) - baseline
def loss(th):
    lp = jax.nn.log_softmax(O @ th["w"] + th["b"])
    return -jnp.mean(lp[jnp.arange(len(A)), A] * R)
l, g = jax.value_and_grad(loss)(theta)
theta = jax.tree.map(lambda p, d: p - 0.1 * d, theta, g)
print(len(rews), f"{ret[0]:.4f} {baseline:.4f}", A.dtype, R.dtype, type(baseline).__name__)
---
gamma = np.float32(0.9)
---
max_steps = 3; env = CartPole(5)
---
baseline = jnp.float32(2.0)

### kam-sac-like-soft-update-with-frozen-dict-and-alpha-autotune needs=flax tolerance=1e-4
from flax.core import freeze, unfreeze, FrozenDict
critic = freeze({"w": jr.normal(jr.key(0), (4, 1)), "b": jnp.zeros(1)})
target = critic
actor = freeze({"w": jr.normal(jr.key(1), (3, 2)) * 0.1})
log_alpha = jnp.zeros(())
batch = dict(s=jr.normal(jr.key(2), (5, 3)), r=jnp.ones(5), s2=jr.normal(jr.key(3), (5, 3)))
tau, target_ent = 0.1, -1.0
key = jr.key(8)
---
def pi(p, s, k):
    mu, ls = jnp.split(s @ p["w"], 2, -1)
    ls = jnp.clip(ls, -5, 2)
    raw = mu + jnp.exp(ls) * jr.normal(k, mu.shape)
    a = jnp.tanh(raw)
    lp = jax.scipy.stats.norm.logpdf(raw, mu, jnp.exp(ls)) - jnp.log(1 - a ** 2 + 1e-6)
    return a, lp.sum(-1)
Q = lambda p, s, a: (jnp.concatenate([s, a], -1) @ p["w"] + p["b"])[:, 0]
key, k1, k2, k3 = jr.split(key, 4)
a2, lp2 = pi(actor, batch["s2"], k1)
y = batch["r"] + 0.99 * (Q(target, batch["s2"], a2) - jnp.exp(log_alpha) * lp2)
a0 = pi(actor, batch["s"], k2)[0]
cg = jax.grad(lambda p: jnp.mean((Q(p, batch["s"], a0) - y) ** 2))(critic)
critic = jax.tree.map(lambda p, g: p - 0.01 * g, critic, cg)
(al, lp), ag = jax.value_and_grad(lambda p: (lambda a, lp: (jnp.mean(jnp.exp(log_alpha) * lp - Q(critic, batch["s"], a)), lp))(*pi(p, batch["s"], k3)), has_aux=True)(actor)
actor = jax.tree.map(lambda p, g: p - 0.01 * g, actor, ag)
log_alpha -= 0.01 * jax.grad(lambda la: -jnp.mean(la * (lp + target_ent)))(log_alpha)
target = jax.tree.map(lambda t, c: t * (1 - tau) + c * tau, target, critic)
u = unfreeze(critic); u["b"] = u["b"] + 1
critic2, popped = critic.pop("b")
print(type(cg).__name__, type(target).__name__, sorted(critic2), popped is critic["b"], hash(FrozenDict({"a": 1})) == hash(FrozenDict({"a": 1})))
---
tau = 1
---
batch = jax.tree.map(lambda x: x[:2], batch)
---
log_alpha = -1.0; critic = critic.copy({"b": jnp.full(1, 2.0)})

### kam-world-model-scan-latents-with-stop-flags-and-imagination tolerance=1e-4
d = 4
P_ = {"enc": jr.normal(jr.key(0), (3, d)) * 0.5, "dyn": jr.normal(jr.key(1), (d + 1, d)) * 0.5, "rew": jr.normal(jr.key(2), (d,))}
ep = {"obs": jr.normal(jr.key(3), (6, 3)), "act": jnp.array([0, 1, 1, 0, 1, 0]), "first": jnp.array([1, 0, 0, 1, 0, 0], bool)}
horizon, free_nats = 3, 0.1
---
def roll(p, ep):
    def f(h, t):
        h = jnp.where(t["first"], 0.0, h)
        prior = jnp.tanh(jnp.append(h, t["act"]) @ p["dyn"])
        post = prior + 0.5 * jnp.tanh(t["obs"] @ p["enc"])
        return post, {"prior": prior, "post": post}
    return lax.scan(f, jnp.zeros(d), ep)
def loss(p):
    h, tr = roll(p, ep)
    kl = jnp.maximum(jnp.sum((tr["post"] - tr["prior"]) ** 2, -1), free_nats)
    return kl.mean(), (h, tr)
(l, (h, tr)), g = jax.value_and_grad(loss, has_aux=True)(P_)
P_ = {k: P_[k] - 0.1 * g[k] for k in P_}
acts = itertools.cycle([0, 1])
imag, rew = [tr["post"][-1]], 0.0
for t in range(horizon):
    imag.append(jnp.tanh(jnp.append(imag[-1], next(acts)) @ P_["dyn"]))
    rew += 0.9 ** t * imag[-1] @ P_["rew"]
first_idx = jnp.flatnonzero(ep["first"])
segs = jnp.split(ep["obs"], first_idx[1:].tolist())
print([len(s) for s in segs], len(imag), rew.weak_type, next(acts), list(tr))
---
ep["first"] = ep["first"].at[4].set(True)
---
horizon = 0
---
ep = {k: v[:4] for k, v in ep.items()}; free_nats = jnp.bfloat16(1)

### kam-class-with-seed-and-key-property-advancing-itself
class Rng:
    def __init__(self, seed): self._key, self.drawn = jr.key(seed), 0
    @property
    def key(self):
        self._key, sub = jr.split(self._key)
        self.drawn += 1
        return sub
    def __iter__(self):
        while True: yield self.key
    def fork(self, n): return [Rng.__new__(Rng)._set(k) for k in jr.split(self.key, n)]
    def _set(self, k): self._key, self.drawn = k, 0; return self
rng = Rng(0)
p_drop, n = 0.5, 3
---
w = jr.normal(rng.key, (n, n))
mask = jr.bernoulli(rng.key, 1 - p_drop, w.shape)
h = jnp.where(mask, w / (1 - p_drop), 0)
a, b = (f.key for f in rng.fork(2))
noise = [jr.uniform(k) for k, _ in zip(rng, range(2))]
same = jr.key_data(rng._key).sum() == 0
print(rng.drawn, a.dtype, a.shape, len(noise), mask.dtype, same)
rng._key
---
p_drop = 0.1
---
n = 2; rng = Rng(np.uint32(7))
---
rng._key = jr.key(3, impl="rbg")

### kam-weak-types-and-python-scalars-through-a-physics-step
pos, vel, mass = jnp.zeros(3), jnp.ones(3), 2.0
dt, t, n = 0.1, 0.0, 0
k = jnp.asarray(3)
---
energy = []
for _ in range(2):
    acc = -k * pos / mass
    vel = vel + acc * dt
    pos = pos + vel * dt
    t += dt
    n += 1
    energy.append(0.5 * mass * (vel ** 2).sum() + 0.5 * k * (pos ** 2).sum())
scale = jnp.asarray(mass)
half = scale / 2
cast = jnp.float32(half)
q = jnp.where(pos > 0, mass, 0)
r = jnp.where(pos > 0, 1, 0)
s = lax.select(pos > 0, pos, vel)
m = jnp.maximum(k, 1.5)
u = jnp.array([k, n]) * 1.0
v = sum(energy) / n
mixed = [scale, half, cast, q, r, m, u, v, k + 1, k + 1.0, k / 2, n * k, jnp.abs(-mass)]
kinds = [(x.dtype.name, x.weak_type) for x in mixed]
print(f"{t:.2f}", n, kinds[0], kinds[-1])
kinds
---
k = 3
---
mass = np.float32(2); n = jnp.int8(0)
---
k = jnp.float16(2.5); dt = jnp.bfloat16(0.125); t = np.float64(t)

### kam-inplace-numpy-accumulators-views-next-to-jax-values
acc = np.zeros((3, 4), np.float32)
row = acc[1]
count = np.zeros((), np.int64)
xs = [jnp.arange(4.0) * i for i in range(3)]
w = jnp.ones(4)
---
for i, x in enumerate(xs):
    acc[i] += np.asarray(jnp.tanh(x * w))
    count += 1
row[:] = row * 0.5
acc[:, 0] = jnp.array([9.0, 8.0, 7.0])
m = jnp.asarray(acc).mean(0)
acc.T[0, 1] = -1
buf = np.empty_like(acc)
np.multiply(acc, 2, out=buf)
w = w + jnp.asarray(buf[0])
print(row.base is acc, row[0], count, m.dtype, acc.flags.owndata)
m
---
xs = xs[:2]
---
acc = acc[:, ::-1]; row = acc[2]
---
xs = [x.astype(jnp.int32) for x in xs]; count = np.int64(3)

### kam-config-chainmap-and-argparse-overrides-sweep-of-runs
import argparse
base = {"lr": 0.1, "steps": 2, "act": "tanh", "width": 3}
user = {}
grid = {"lr": [0.1, 0.5], "act": ["tanh", "relu"]}
x, y = jnp.linspace(-1, 1, 5)[:, None], jnp.linspace(0, 1, 5)[:, None] ** 2
---
parser = argparse.ArgumentParser()
for k, v in base.items():
    parser.add_argument(f"--{k}", type=type(v), default=v)
results = []
for combo in itertools.product(*grid.values()):
    argv = [s for k, v in zip(grid, combo) for s in (f"--{k}", str(v))]
    cfg = ChainMap(user, vars(parser.parse_args(argv)))
    act = getattr(jax.nn, cfg["act"])
    p = [jr.normal(jr.key(0), (1, cfg["width"])), jr.normal(jr.key(1), (cfg["width"], 1))]
    f = lambda p: jnp.mean((act(x @ p[0]) @ p[1] - y) ** 2)
    for _ in range(cfg["steps"]):
        p = [a - cfg["lr"] * g for a, g in zip(p, jax.grad(f)(p))]
    results.append({**cfg, "loss": f(p)})
best = min(results, key=lambda r: r["loss"])
line = " ".join(f"{k}={v}" for k, v in sorted(best.items()) if k != "loss")
print(line)
print(f"{len(results)} runs")
best["loss"]
---
user["steps"] = 1
---
grid = {"width": [2]}
---
base["lr"] = 1; y = y.astype(jnp.float16)

### kam-logging-module-handler-with-stringio-during-fit
stream = io.StringIO()
log = logging.Logger("kam.fit"); log.addHandler(logging.StreamHandler(stream)); log.setLevel(logging.INFO); log.propagate = False
log.handlers[0].setFormatter(logging.Formatter("%(levelname)s:%(message)s"))
w, lr = jnp.float32(4.0), 0.2
every = 2
---
for i in range(4):
    l, g = jax.value_and_grad(lambda w: (w - 1) ** 2)(w)
    w = w - lr * g
    if i % every == 0:
        log.info("it %d loss %.3f", i, l)
    else:
        log.debug("never %s", l)
if l > 1:
    log.warning("still %.2f", l)
lines = stream.getvalue().splitlines()
levels = Counter(s.split(":")[0] for s in lines)
print(levels["INFO"], lines[-1].split()[0], log.isEnabledFor(10))
---
every = 1
---
lr = 1.2
---
log.setLevel(logging.DEBUG); w = w * 0

### kam-generator-pipeline-with-send-close-and-state-after
def optimiser(w):
    m = jnp.zeros_like(w)
    while True:
        g = yield w
        if g is None:
            return m
        m = 0.9 * m + g
        w = w - 0.1 * m
gen = optimiser(jnp.ones(3)); w = next(gen)
A = jnp.diag(jnp.arange(1.0, 4.0))
steps = 2
---
for _ in range(steps):
    w = gen.send(A @ w)
norm = jnp.linalg.norm(w)
if steps == 0:
    try:
        gen.send(None)
    except StopIteration as e:
        m = e.value
        gen = optimiser(w); next(gen)
        print("restarted")
alive = gen.gi_frame is not None
where = gen.gi_frame.f_locals["m"] if alive else None
print(alive, where is not None, f"{norm:.3f}")
---
steps = 1
---
steps = 0
---
A = A * 2; steps = 2; gen = optimiser(jnp.ones(3, jnp.bfloat16)); w = next(gen)

### kam-vmap-of-class-methods-and-bound-partials-with-static-self
class Env:
    def __init__(self, g, n): self.g, self.n = g, n
    def __hash__(self): return hash((self.g, self.n))
    def __eq__(self, o): return (self.g, self.n) == (o.g, o.n)
    @partial(jax.jit, static_argnums=0)
    def step(self, s, a): return jnp.stack([s[0] + 0.1 * s[1], s[1] + 0.1 * (a - self.g)])
    @partial(jax.vmap, in_axes=(None, 0, 0))
    def rewards(self, s, a): return -jnp.abs(s[0]) - 0.01 * a ** 2
    def rollout(self, s, policy):
        return lax.scan(lambda s, k: (self.step(s, policy(k, s)), s), s, jnp.arange(self.n))[1]
env = Env(1.0, 4)
s0 = jnp.zeros((3, 2)).at[:, 0].set(jnp.arange(3.0))
gain = 0.5
---
policy = lambda k, s: -gain * s[0]
trajs = jax.vmap(partial(env.rollout, policy=policy))(s0)
r = env.rewards(trajs[:, -1], jnp.ones(len(s0)))
step_all = jax.vmap(env.step, (0, None))
nxt = step_all(s0, 0.0)
J = jax.jacfwd(env.step, argnums=1)(s0[0], 1.0)
twin = Env(env.g, env.n)
same = twin == env, hash(twin) == hash(env), jnp.array_equal(twin.step(s0[0], 1.0), env.step(s0[0], 1.0))
print(trajs.shape, r.shape, same[:2], bool(same[2]), J.weak_type)
---
gain = 1
---
env.g = 2.0
---
env = Env(0.0, 2); s0 = s0[:1].astype(jnp.float16)

### kam-custom-jvp-safe-norm-and-custom-vmap-rule-and-nondiff-args
@partial(jax.custom_jvp, nondiff_argnums=(1,))
def safe_norm(x, eps): return jnp.sqrt(jnp.maximum(jnp.sum(x * x, -1), eps ** 2))
@safe_norm.defjvp
def _(eps, p, t):
    (x,), (dx,) = p, t
    n = safe_norm(x, eps)
    return n, jnp.sum(x * dx, -1) / n
@jax.custom_batching.custom_vmap
def scale(x, s): return x * s
@scale.def_vmap
def _(size, batched, x, s):
    trace.append((size, tuple(batched)))
    return (x * (s[:, None] if batched[1] and x.ndim > 1 else s)), True
trace = []
x = jnp.array([[3.0, 4.0], [0.0, 0.0]])
eps = 1e-3
---
n = safe_norm(x, eps)
g = jax.grad(lambda x: safe_norm(x, eps).sum())(x)
H = jax.hessian(lambda v: safe_norm(v, eps))(x[0])
out = jax.vmap(scale)(x, jnp.array([1.0, 2.0]))
out2 = jax.vmap(scale, (0, None))(x, 3.0)
jv = jax.jvp(lambda x: safe_norm(x, eps), (x,), (jnp.ones_like(x),))
lin, f = jax.linearize(lambda x: jnp.sin(x) * eps, x)
chk = f(x) - jnp.cos(x) * eps * x
print(len(trace), trace[-1], H.shape, jv[1].dtype, bool(jnp.isfinite(g).all()))
---
eps = 0.5
---
x = x[:1]
---
x = x.astype(jnp.bfloat16); trace = deque(maxlen=3)

### kam-shard-map-ring-attention-ppermute-four-devices devices=4 tolerance=1e-4
from jax import shard_map
mesh = Mesh(np.array(jax.devices()[:4]), ("sp",))
q, k, v = (jr.normal(jr.key(i), (16, 4)) for i in range(3))
scale = 0.5
---
spec = P("sp", None)
def ring(q, k, v):
    n = lax.axis_size("sp")
    perm = [(i, (i + 1) % n) for i in range(n)]
    def body(i, c):
        k, v, m, l, o = c
        s = q @ k.T * scale
        m2 = jnp.maximum(m, s.max(-1))
        p = jnp.exp(s - m2[:, None])
        corr = jnp.exp(m - m2)
        return (lax.ppermute(k, "sp", perm), lax.ppermute(v, "sp", perm), m2, l * corr + p.sum(-1), o * corr[:, None] + p @ v)
    init = (k, v, jnp.max(q, -1) * 0 - jnp.inf, jnp.sum(q, -1) * 0, jnp.zeros_like(q))
    *_, l, o = lax.fori_loop(0, n, body, init)
    return o / l[:, None]
with jax.set_mesh(mesh):
    att = jax.jit(shard_map(ring, in_specs=(spec,) * 3, out_specs=spec))
    out = att(q, k, v)
ref = jax.nn.softmax(q @ k.T * scale) @ v
err = float(jnp.abs(jax.device_get(out) - np.asarray(ref)).max())
print(err < 1e-4, out.sharding.spec, len(out.addressable_shards), out.addressable_shards[1].index)
---
scale = 2
---
q, k, v = q[:8], k[:8], v[:8]
---
q = jax.device_put(q, NamedSharding(mesh, P("sp")))

### kam-committed-and-uncommitted-params-across-devices-copy-back devices=4
d0, d1, *_ = jax.devices()
cpu_params = {"w": jnp.ones((2, 2)), "b": jax.device_put(jnp.zeros(2), d1), "h": np.ones(2, np.float32)}
x = jnp.arange(4.0).reshape(2, 2)
target = d1
---
here = {k: jax.device_put(v, target) for k, v in cpu_params.items()}
free = jnp.zeros(3) + 1
y = x @ here["w"] + here["b"] * here["h"]
with jax.default_device(target):
    z = jnp.ones(2)
    zz = z * 2
flag = {k: (v.committed, v.device.id) for k, v in {**here, "y": y, "z": z, "zz": zz, "free": free}.items()}
back = jax.device_put(y, d0)
s = back + free[:2]
moved = jax.tree.map(lambda a: a.device.id if isinstance(a, jax.Array) else None, cpu_params)
same = here["b"] is cpu_params["b"]
print(flag, s.committed, moved, same)
y.devices()
---
target = d0; cpu_params["b"] = jnp.zeros(2)
---
x = jax.device_put(x, d1); target = d1
---
cpu_params["w"] = jax.device_put(cpu_params["w"], SingleDeviceSharding(d1)); target = jax.devices()[2]; cpu_params["b"] = np.zeros(2)

### kam-checkpoint-averaging-model-soup-greedy-python-sets
rng = np.random.default_rng(0)
soup = [{"w": jnp.asarray(rng.normal(size=(3,)), jnp.float32) * 0.3 + jnp.array([1.0, 2.0, 3.0])} for _ in range(3)]
x = jnp.asarray(rng.normal(size=(10, 3)), jnp.float32); y = x @ jnp.array([1.0, 2.0, 3.0])
metric = "mse"
---
def score(p):
    e = x @ p["w"] - y
    return jnp.mean(e ** 2) if metric == "mse" else jnp.abs(e).max()
order = sorted(range(len(soup)), key=lambda i: score(soup[i]).item())
chosen = {order[0]}
avg = soup[order[0]]
best = score(avg)
for i in order[1:]:
    trial = jax.tree.map(lambda a, b: (a * len(chosen) + b) / (len(chosen) + 1), avg, soup[i])
    if (s := score(trial)) <= best:
        chosen.add(i); avg, best = trial, s
uniform = jax.tree.map(lambda *a: sum(a) / len(a), *soup)
report = {"greedy": best, "uniform": score(uniform), "single": score(soup[order[0]])}
print(sorted(chosen), order, avg is soup[order[0]], min(report, key=report.get) in report)
---
metric = "max"
---
soup = soup[:1]
---
soup.append({"w": jnp.array([1, 2, 3])}); x = x[:4]; y = y[:4]

### kam-adversarial-fgsm-pgd-attack-numpy-clip-and-success-rate
W = jr.normal(jr.key(0), (4, 3)); x = jr.uniform(jr.key(1), (6, 4)); lab = jnp.argmax(x @ W, 1)
eps, alpha, iters, norm = 0.1, 0.05, 3, np.inf
---
ce = lambda x: optax.softmax_cross_entropy_with_integer_labels(x @ W, lab).sum()
adv = x
for i in range(iters):
    g = jax.grad(ce)(adv)
    if norm == np.inf:
        adv = adv + alpha * jnp.sign(g)
        adv = x + jnp.clip(adv - x, -eps, eps)
    else:
        d = adv + alpha * g / (jnp.linalg.norm(g, ord=norm, axis=1, keepdims=True) + 1e-9) - x
        nrm = jnp.linalg.norm(d, axis=1, keepdims=True)
        adv = x + d * jnp.minimum(1, eps / (nrm + 1e-12))
    adv = np.clip(adv, 0, 1)
flip = (adv @ W).argmax(1) != lab
rate = flip.mean()
worst = np.abs(np.asarray(adv) - np.asarray(x)).max()
print(type(adv).__name__, adv.dtype, type(rate).__name__, worst <= eps + 1e-5, flip.dtype)
---
eps = 0.5
---
norm = 2
---
iters = 0; x = np.asarray(x)

### kam-active-learning-pool-with-list-removal-and-set-indices
pool = list(range(12))
labelled = [0, 5]
X = np.linspace(-2, 2, 12)[:, None]; Y = (X[:, 0] > 0.3).astype(int)
w, b = jnp.zeros(1), jnp.zeros(())
for i in labelled: pool.remove(i)
budget = 2
---
def fit(w, b, idx):
    f = lambda w, b: jnp.mean(jnp.logaddexp(0, (1 - 2 * Y[idx]) * (X[idx] @ w + b)))
    for _ in range(3):
        gw, gb = jax.grad(f, (0, 1))(w, b)
        w, b = w - 1.0 * gw, b - 1.0 * gb
    return w, b
for _ in range(budget):
    w, b = fit(w, b, np.array(labelled))
    p = jax.nn.sigmoid(X[pool] @ w + b)
    ent = -(p * jnp.log(p) + (1 - p) * jnp.log1p(-p))
    pick = pool[int(ent.argmax())]
    pool.remove(pick)
    labelled.append(pick)
left = set(range(len(X))) - set(labelled)
assert left == set(pool)
acc = ((X @ w + b > 0) == Y).mean()
print(len(labelled), len(pool), f"{acc:.2f}", type(acc).__name__, p.shape)
---
budget = 1
---
X = X * 2; w = np.zeros(1)
---
Y = 1 - Y; budget = 3

### kam-bayes-linear-conjugate-online-update-as-namedtuple-posterior tolerance=1e-3
class NIG(NamedTuple):
    m: jax.Array
    V: jax.Array
    a: float = 1.0
    b: float = 1.0
    def update(self, x, y):
        V = jnp.linalg.inv(jnp.linalg.inv(self.V) + x.T @ x)
        m = V @ (jnp.linalg.solve(self.V, self.m) + x.T @ y)
        a = self.a + len(y) / 2
        b = self.b + 0.5 * (y @ y + self.m @ jnp.linalg.solve(self.V, self.m) - m @ jnp.linalg.solve(V, m))
        return self._replace(m=m, V=V, a=a, b=b)
    def evidence(self, prior, n):
        return (0.5 * (jnp.linalg.slogdet(self.V)[1] - jnp.linalg.slogdet(prior.V)[1]) + prior.a * jnp.log(prior.b) - self.a * jnp.log(self.b)
                + math.lgamma(self.a) - math.lgamma(prior.a) - n / 2 * math.log(2 * math.pi))
x = jr.normal(jr.key(0), (8, 2)); y = x @ jnp.array([0.5, -1.0]) + 0.1
prior = NIG(jnp.zeros(2), jnp.eye(2) * 5)
parts = 2
---
post = prior
path = [post]
for xb, yb in zip(jnp.array_split(x, parts), jnp.array_split(y, parts)):
    post = post.update(xb, yb)
    path.append(post)
once = prior.update(x, y)
close = all(bool(jnp.allclose(p, q, atol=1e-2)) for p, q in zip(post, once))
ev = once.evidence(prior, len(y))
sd = jnp.sqrt(jnp.diag(post.V) * post.b / post.a)
print(close, post.a, type(post.a).__name__, type(post.b).__name__, len(path), ev.shape)
post._fields
---
parts = 4
---
prior = prior._replace(a=jnp.float32(2.0), b=2)
---
x, y = x[:3], y[:3]; prior = NIG(np.zeros(2), np.eye(2)); parts = 1

### kam-kalman-filter-smoother-scan-and-innovations-negative-loglik tolerance=1e-3
class LGSSM(NamedTuple):
    F: jax.Array
    H: jax.Array
    Q: jax.Array
    R: jax.Array
mod = LGSSM(jnp.array([[1.0, 0.1], [0.0, 1.0]]), jnp.array([[1.0, 0.0]]), 0.01 * jnp.eye(2), jnp.array([[0.1]]))
ys = jnp.sin(jnp.arange(8.0) * 0.3)[:, None]
mask = jnp.ones(8, bool)
---
def filt(mod, ys, mask):
    def f(c, inp):
        m, P, ll = c
        y, ok = inp
        mp, Pp = mod.F @ m, mod.F @ P @ mod.F.T + mod.Q
        S = mod.H @ Pp @ mod.H.T + mod.R
        K = jnp.linalg.solve(S, mod.H @ Pp).T
        r = y - mod.H @ mp
        mu, Pu = mp + K @ r, Pp - K @ S @ K.T
        m, P = jnp.where(ok, mu, mp), jnp.where(ok, Pu, Pp)
        ll = ll + jnp.where(ok, jax.scipy.stats.multivariate_normal.logpdf(y, mod.H @ mp, S), 0)
        return (m, P, ll), (m, P, mp, Pp)
    return lax.scan(f, (jnp.zeros(2), jnp.eye(2), 0.0), (ys, mask))
(_, _, ll), (ms, Ps, mps, Pps) = filt(mod, ys, mask)
sm, sP = [ms[-1]], [Ps[-1]]
for t in range(len(ys) - 2, -1, -1):
    G = Ps[t] @ mod.F.T @ jnp.linalg.inv(Pps[t + 1])
    sm.insert(0, ms[t] + G @ (sm[0] - mps[t + 1]))
    sP.insert(0, Ps[t] + G @ (sP[0] - Pps[t + 1]) @ G.T)
sm = jnp.stack(sm)
dQ = jax.grad(lambda q: -filt(mod._replace(Q=q * jnp.eye(2)), ys, mask)[0][2])(0.01)
less = jnp.trace(sP[0]) <= jnp.trace(Ps[0])
print(sm.shape, bool(less), ll.weak_type, dQ.weak_type)
---
mask = mask.at[3].set(False)
---
ys = ys[:4]; mask = mask[:4]
---
mod = mod._replace(R=jnp.array([[10]]))

### kam-graph-network-segment-ops-padded-graphs-tuple
class Graph(NamedTuple):
    nodes: Any
    edges: Any
    senders: Any
    receivers: Any
    n_node: Any
def pad(g, n, e):
    dn, de = n - len(g.nodes), e - len(g.edges)
    return Graph(np.pad(g.nodes, ((0, dn), (0, 0))), np.pad(g.edges, ((0, de), (0, 0))), np.pad(g.senders, (0, de), constant_values=n - 1),
                 np.pad(g.receivers, (0, de), constant_values=n - 1), np.array([len(g.nodes), dn]))
r = np.random.default_rng(0)
graphs = [Graph(r.random((k, 2), dtype="f4"), r.random((2 * k, 1), dtype="f4"), r.integers(0, k, 2 * k), r.integers(0, k, 2 * k), np.array([k])) for k in (3, 4)]
p = {"e": jr.normal(jr.key(0), (5, 4)), "n": jr.normal(jr.key(1), (6, 2)), "g": jnp.ones((2, 1))}
agg = jax.ops.segment_sum
layers = 2
---
def gnn(p, g):
    n = g.nodes.shape[0]
    h, e = g.nodes, g.edges
    for _ in range(layers):
        m = jax.nn.relu(jnp.concatenate([h[g.senders], h[g.receivers], e[:, :1]], -1) @ p["e"])
        h = jnp.tanh(jnp.concatenate([h, agg(m, g.receivers, num_segments=n)], -1) @ p["n"])
    ok = jnp.arange(n) < g.n_node[0]
    return jnp.sum(jnp.where(ok[:, None], h, 0), 0) @ p["g"]
N, E = max(len(g.nodes) for g in graphs) + 1, max(len(g.edges) for g in graphs) + 1
batch = Graph(*map(np.stack, zip(*[pad(g, N, E) for g in graphs])))
out = jax.vmap(gnn, (None, 0))(p, batch)
g = jax.grad(lambda p: jnp.sum(jax.vmap(gnn, (None, 0))(p, batch) ** 2))(p)
p = {k: v - 0.01 * g[k] for k, v in p.items()}
deg = [jnp.bincount(g.receivers, length=len(g.nodes)) for g in graphs]
print(out.shape, batch.n_node.tolist(), [d.dtype.name for d in deg], type(batch.nodes).__name__)
---
agg = jax.ops.segment_max
---
layers = 1
---
graphs = graphs[1:] + [graphs[0]._replace(nodes=graphs[0].nodes * 3)]; agg = partial(jax.ops.segment_sum, indices_are_sorted=False)

### kam-style-transfer-gram-conv-optimise-pixels-and-clip-numpy-image
img = (np.random.default_rng(0).random((6, 6, 3)) * 255).astype(np.uint8)
style = img[::-1, :, ::-1]
kern = jr.normal(jr.key(0), (3, 3, 3, 4)) * 0.3
steps, wt = 2, 1.0
---
def feats(x):
    x = lax.conv_general_dilated(x[None], kern, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))[0]
    return jax.nn.relu(x)
def gram(f):
    c = f.reshape(-1, f.shape[-1])
    return c.T @ c / c.shape[0]
to = lambda im: jnp.asarray(im, jnp.float32) / 255.0
c0, s0 = feats(to(img)), gram(feats(to(style)))
x = to(img)
tx = optax.adam(0.05); st = tx.init(x)
for i in range(steps):
    l, g = jax.value_and_grad(lambda x: jnp.mean((feats(x) - c0) ** 2) + wt * jnp.mean((gram(feats(x)) - s0) ** 2))(x)
    u, st = tx.update(g, st)
    x = jnp.clip(optax.apply_updates(x, u), 0, 1)
out = np.asarray(x * 255).astype(np.uint8)
tv = jnp.abs(jnp.diff(x, axis=0)).sum() + jnp.abs(jnp.diff(x, axis=1)).sum()
small = jax.image.resize(x, (3, 3, 3), "linear")
print(out.shape, out.dtype, out.flags.writeable, style.base is img, small.shape)
x.dtype, st[0].count
---
wt = 10
---
img = img[:4]; style = style[:4]
---
steps = 0; kern = kern.astype(jnp.float16)

### kam-speculative-decoding-accept-reject-with-python-lists
V = 6
big = jax.nn.softmax(jr.normal(jr.key(0), (V, V)) * 1.5); small = jax.nn.softmax(jr.normal(jr.key(1), (V, V)))
seq, gamma, goal = [2], 2, 6
key = jr.key(4)
---
accepted = rejected = 0
out = list(seq)
while len(out) < goal:
    draft, last = [], out[-1]
    for _ in range(gamma):
        key, k = jr.split(key)
        last = int(jr.categorical(k, jnp.log(small[last])))
        draft.append(last)
    prev = [out[-1]] + draft[:-1]
    ratio = jnp.minimum(1, big[jnp.array(prev), jnp.array(draft)] / small[jnp.array(prev), jnp.array(draft)])
    key, k = jr.split(key)
    ok = jr.uniform(k, (gamma,)) < ratio
    n = int(jnp.argmin(jnp.append(ok, False)))
    out += draft[:n]
    accepted += n
    if n < gamma:
        rejected += 1
        key, k = jr.split(key)
        resid = jnp.maximum(big[out[-1]] - small[out[-1]], 0)
        out.append(int(jr.choice(k, V, p=resid / resid.sum())))
out = out[:goal]
lp = jnp.log(big)[jnp.array(out[:-1]), jnp.array(out[1:])].sum()
print(len(out), accepted + rejected > 0, ratio.dtype, lp.shape)
---
gamma = 3
---
goal = 3; seq = [0, 1]
---
small = big; seq = (5,)

### kam-sparse-bcoo-graph-laplacian-power-iteration-and-pagerank tolerance=1e-3
from jax.experimental import sparse
edges = np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 0]])
n, damp, iters = 4, 0.85, 6
---
idx = jnp.asarray(edges[:, ::-1])
A = sparse.BCOO((jnp.ones(len(edges)), idx), shape=(n, n))
deg = jnp.zeros(n).at[edges[:, 0]].add(1.0)
M = A * jnp.where(deg > 0, 1 / deg, 0)[None, :]
r = jnp.full(n, 1 / n)
for i in range(iters):
    new = damp * (M @ r) + (1 - damp) / n
    delta = jnp.abs(new - r).sum()
    r = new
    if delta < 1e-2:
        break
dense = M.todense()
g = jax.grad(lambda d: (sparse.BCOO((d, idx), shape=(n, n)) @ r).sum())(A.data)
order = [int(v) for v in jnp.argsort(-r)]
print(type(M).__name__, M.nse, A.indices.dtype, order, i, dense.shape)
M
---
damp = 0.5
---
edges = np.concatenate([edges, [[1, 3]]])
---
iters = 1; n = 5; edges = edges.astype(np.int32)

### kam-signal-deconvolution-fft-adam-with-complex-params tolerance=1e-3
t = np.arange(16)
sig = np.exp(-((t - 8) / 2.0) ** 2).astype(np.float32)
ker = np.array([0.25, 0.5, 0.25], np.float32)
obs = np.convolve(sig, ker, mode="same") + 0.01 * np.cos(5 * t)
c = jnp.zeros(9, jnp.complex64)
lr, lam = 0.1, 1e-3
---
blur = lambda s: jnp.convolve(s, ker, mode="same")
def loss(c):
    s = jnp.fft.irfft(c, n=len(t))
    return jnp.mean((blur(s) - obs) ** 2) + lam * jnp.mean(jnp.abs(c) ** 2)
tx = optax.adam(lr); st = tx.init(c)
for _ in range(3):
    l, g = jax.value_and_grad(loss)(c)
    u, st = tx.update(g.conj(), st, c)
    c = optax.apply_updates(c, u)
est = jnp.fft.irfft(c, n=len(t))
psd = jnp.abs(c) ** 2
peak = jnp.argmax(est)
phase = jnp.angle(c[1])
print(c.dtype, st[0].nu.dtype, est.dtype, obs.dtype, psd.dtype, type(peak).__name__, c.imag[0] == 0)
---
lam = 0
---
ker = np.ones(5, np.float32) / 5; obs = np.convolve(sig, ker, mode="same")
---
obs = obs[:8]; t = t[:8]; c = c[:5]; lr = jnp.float32(0.01)

### kam-nested-functions-defaults-late-binding-lists-of-closures
ws = [jnp.full(3, float(i)) for i in range(3)]
x = jnp.arange(3.0)
bias = 1.0
---
late = [lambda x: x * w + bias for w in ws]
early = [lambda x, w=w: x * w + bias for w in ws]
def make(w):
    def f(x): return x @ w + bias
    f.weight = w
    return f
made = [make(w) for w in ws]
def compose(*fs): return reduce(lambda f, g: lambda x: g(f(x)), fs)
a = [f(x) for f in late if True]
b = [f(x) for f in early]
c = [f(x) for f in made]
w = ws[0]
d = compose(*early)(x)
e = compose(jnp.sin, early[1], jax.jit(early[2]))(x)
g = [jax.grad(f)(x) for f in made]
print(made[2].weight is ws[2], early[0].__defaults__[0] is ws[0], [f.__name__ for f in made], late[0].__code__ is late[1].__code__)
[jnp.array_equal(p, a[-1]).item() for p in a]
---
bias = jnp.float32(2)
---
ws.append(ws[0]); x = x.astype(int)
---
ws = ws[::-1][:2]; bias = np.arange(3)

### kam-descriptor-validated-hyperparams-and-slots-model-setattr
class Positive:
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, o, t=None): return self if o is None else getattr(o, self.name)
    def __set__(self, o, v):
        if not v > 0: raise ValueError(f"{self.name[1:]} must be positive, got {v}")
        setattr(o, self.name, v)
class Model:
    lr = Positive(); temp = Positive()
    __slots__ = ("_lr", "_temp", "w", "trace")
    def __init__(self, w, lr=0.1, temp=1.0): self.w, self.lr, self.temp, self.trace = w, lr, temp, []
    def __setattr__(self, k, v):
        object.__setattr__(self, k, v)
        if k == "w" and hasattr(self, "trace"): self.trace.append(jnp.linalg.norm(v))
    def step(self, x):
        g = jax.grad(lambda w: jax.nn.logsumexp(x @ w / self.temp))(self.w)
        self.w = self.w - self.lr * g
        self.temp = self.temp * 0.9
        return self
m = Model(jnp.ones(3))
x = jr.normal(jr.key(0), (5, 3))
---
m.step(x).step(x)
try:
    m.lr = -m.lr
except ValueError as e:
    why = str(e)
norms = jnp.stack(m.trace[-2:])
try:
    m.extra = 1
except AttributeError as e:
    kind = type(e).__name__
print(why, kind, len(m.trace), f"{m.temp:.4f}", Model.lr.name)
m.trace[-1] is norms[-1], norms.shape
---
m.lr = jnp.float32(0.5)
---
x = x[:2]
---
m = Model(jnp.ones(3, jnp.float16), temp=2)

### kam-reproducible-experiment-decorator-timer-stub-and-registry-of-results
RESULTS = {}
def experiment(name, **defaults):
    def deco(f):
        @wraps(f)
        def run(**kw):
            cfg = {**defaults, **kw}
            out = f(**cfg)
            RESULTS.setdefault(name, []).append((tuple(sorted((k, str(v)) for k, v in cfg.items())), out))
            return out
        run.config = types.MappingProxyType(defaults)
        return run
    return deco
@experiment("ridge", lam=0.1, seed=0)
def ridge(lam, seed):
    k1, k2 = jr.split(jr.key(seed))
    X = jr.normal(k1, (6, 2)); y = X @ jnp.array([1.0, -1.0]) + 0.1 * jr.normal(k2, (6,))
    return jnp.linalg.solve(X.T @ X + lam * jnp.eye(2), X.T @ y)
lams = [0.1, 1.0]
---
ws = {lam: ridge(lam=lam) for lam in lams}
default = ridge()
runs = RESULTS["ridge"]
keys = Counter(k for k, _ in runs)
spread = jnp.stack([v for _, v in runs]).std(0)
newest = runs[-1][1] is default
print(len(runs), newest, dict(ridge.config), ridge.__name__, keys.most_common(1)[0][1])
---
lams = [5]
---
RESULTS.clear()
---
lams = [np.float32(0.1), np.float64(2)]

### kam-walrus-comprehension-star-unpack-and-conditional-training-flow
params = [jnp.ones((2, 2)), jnp.zeros(2)]
data = {"a": jnp.eye(2), "b": jnp.ones((3, 2)), "skip": jnp.zeros((0, 2))}
thresh = 0.5
---
(W, b), *rest = params, 1
losses = {k: l for k, v in data.items() if v.size and (l := jnp.mean((v @ W + b) ** 2)) > thresh}
first, *_, last = losses.values() if len(losses) > 1 else [jnp.nan] * 2
W, b = (W * 0.9, b + 0.1) if (n := len(losses)) else (W, b)
params[:] = [W, b]
*head, tail = [jnp.sum(p) for p in params]
flat = [x for row in W.tolist() for x in row if x > 0]
ok = all((g := jax.grad(lambda W: (data[k] @ W).sum())(W)).shape == W.shape for k in losses)
t = {**losses, "total": sum(losses.values())} if losses else {}
print(n, sorted(t), len(flat), ok, rest, type(first).__name__)
del tail
---
thresh = 100
---
data["c"] = jnp.full((1, 2), 3.0); thresh = 0.1
---
params = (jnp.ones((2, 2)), jnp.zeros(2)); params = list(params); data.pop("a")

### kam-fisher-information-natural-gradient-and-laplace-approx-ravel tolerance=1e-3
from jax.flatten_util import ravel_pytree
p = {"w": jnp.array([0.1, -0.2, 0.3]), "b": jnp.array(0.0)}
X = jr.normal(jr.key(0), (10, 3)); y = (X[:, 0] > 0).astype(jnp.float32)
damp, prior = 1e-2, 1.0
---
flat, unravel = ravel_pytree(p)
logit = lambda th, x: x @ unravel(th)["w"] + unravel(th)["b"]
nlp = lambda th: jnp.sum(jnp.logaddexp(0, logit(th, X)) - y * logit(th, X)) + 0.5 * prior * th @ th
for _ in range(2):
    J = jax.vmap(jax.grad(logit), (None, 0))(flat, X)
    pr = jax.nn.sigmoid(jax.vmap(logit, (None, 0))(flat, X))
    F = (J * (pr * (1 - pr))[:, None]).T @ J + (prior + damp) * jnp.eye(flat.size)
    flat = flat - jnp.linalg.solve(F, jax.grad(nlp)(flat))
H = jax.hessian(nlp)(flat)
p = unravel(flat)
cov = unravel(jnp.sqrt(jnp.diag(jnp.linalg.inv(H))))
ev = -nlp(flat) - 0.5 * jnp.linalg.slogdet(H)[1]
hvp = jax.jvp(jax.grad(nlp), (flat,), (jnp.ones_like(flat),))[1]
same = bool(jnp.allclose(hvp, H.sum(1), atol=1e-3))
print(H.shape, same, sorted(cov), p["b"].shape, p["w"].dtype, callable(unravel))
---
prior = 10
---
p = {"w": jnp.zeros(3, jnp.bfloat16), "b": jnp.float32(0)}
---
X, y = X[:4], y[:4]; p = {"b": jnp.float32(1), "w": jnp.zeros(3), "z": jnp.zeros(0)}

### kam-train-state-donated-buffers-jit-step-and-old-handles-deleted
params = {"w": jnp.ones((3, 2)), "n": jnp.int32(0)}
keep = params
x = jr.normal(jr.key(0), (4, 3))
donate = True
---
def step(p, x):
    l, g = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(p["w"])
    return {"w": p["w"] - 0.1 * g, "n": p["n"] + 1}, l
fast = jax.jit(step, donate_argnums=(0,) if donate else ())
start = jax.tree.map(jnp.copy, params)
state = jax.tree.map(jnp.copy, params)
dead = []
for _ in range(2):
    old = state
    state, l = fast(state, x)
    dead.append(old["w"].is_deleted())
try:
    old["w"] + 1
except RuntimeError as e:
    msg = "deleted" in str(e)
else:
    msg = None
params = state
print(dead, msg, keep["w"].is_deleted(), int(params["n"]), l.shape)
---
donate = False
---
x = x[:1]
---
params = {"w": jnp.ones((3, 1), jnp.bfloat16), "n": 0}; donate = True

### kam-spectral-mixture-of-attention-heads-pruned-by-importance-score tolerance=1e-4
H, dh = 3, 2
p = {"q": jr.normal(jr.key(0), (H, 4, dh)), "k": jr.normal(jr.key(1), (H, 4, dh)), "v": jr.normal(jr.key(2), (H, 4, dh)), "o": jr.normal(jr.key(3), (H, dh, 4))}
x = jr.normal(jr.key(4), (5, 4))
gates = jnp.ones(H)
keep = 2
---
def mha(p, x, gates):
    q, k, v = (jnp.einsum("td,hde->hte", x, p[n]) for n in "qkv")
    a = jax.nn.softmax(jnp.einsum("hte,hse->hts", q, k) / dh ** 0.5)
    return jnp.einsum("h,hts,hse,hed->td", gates, a, v, p["o"])
imp = jnp.abs(jax.grad(lambda g: jnp.sum(mha(p, x, g) ** 2))(gates))
rank = jnp.argsort(imp)[::-1].tolist()
gates = jnp.zeros(len(gates)).at[jnp.array(rank[:keep])].set(1.0)
small = {n: jnp.stack([w[h] for h in sorted(rank[:keep])]) for n, w in p.items()}
a, b = mha(p, x, gates), mha(small, x, jnp.ones(keep))
assert jnp.allclose(a, b, atol=1e-4), "pruned model differs"
table = [(h, f"{imp[h] / imp.sum():.1%}", bool(gates[h])) for h in range(len(rank))]
print(sum(t[2] for t in table), small["q"].shape, rank[0] == int(imp.argmax()))
gates
---
keep = 1
---
gates = jnp.array([0.5, 1.0, 2.0], dtype=jnp.float16)
---
x = x[:1]; keep = 3

### kam-hyperband-successive-halving-with-priority-queue-and-exceptions tolerance=1e-4
class Diverged(Exception):
    def __init__(self, cfg, loss): super().__init__(f"{cfg} diverged"); self.cfg, self.loss = cfg, loss
A = jnp.diag(jnp.array([1.0, 4.0])); w0 = jnp.array([1.0, -1.0])
cands = [0.05, 0.2, 0.45, 0.9]
eta, limit = 2, 50.0
---
state = {lr: (w0, jnp.zeros(2)) for lr in cands}
failed = {}
rung, budget = list(cands), 2
while len(rung) > 1:
    losses = {}
    for lr in rung:
        try:
            w, m = state[lr]
            for _ in range(budget):
                m = 0.5 * m + A @ w
                w = w - lr * m
            loss = 0.5 * w @ A @ w
            if loss > limit:
                raise Diverged({"lr": lr}, loss)
            state[lr], losses[lr] = (w, m), loss
        except Diverged as e:
            failed[lr] = e.loss
        finally:
            budget_used = budget
    rung = sorted(losses, key=losses.get)[: max(1, len(losses) // eta)]
    budget *= eta
best = rung[0]
print(best, sorted(failed), budget, budget_used)
state[best][0]
---
limit = 1.0
---
cands = [0.1, 0.3]; w0 = w0 * 2
---
A = A.astype(jnp.bfloat16); eta = 3; limit = jnp.float32(1e6); cands = [0.05, 0.1, 0.2]
""",
)
