"""Models of less trodden fields: interpretability, neurons, assimilation, circuits, games, trees, preferences, tuning."""

from ..cell import written

PRELUDE = """
import os, io, csv, json, math, copy, pickle, random, itertools, functools, collections, operator
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace, asdict
from functools import partial, wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, random as jr
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### nam-rwkv-like-time-mix-state-list-generates-after-parallel-check
V, D, L = 12, 8, 2
def init(key):
    ks = iter(jr.split(key, 2 + 5 * L))
    w = lambda *s: 0.4 * jr.normal(next(ks), s)
    return {"emb": w(V, D), "head": w(D, V),
            "blocks": [{"wk": w(D, D), "wv": w(D, D), "wr": w(D, D), "decay": w(D), "mix": jax.nn.sigmoid(w(D))} for _ in range(L)]}
def block(p, x, state):
    prev, num, den = state
    xm = p["mix"] * x + (1 - p["mix"]) * prev
    k, v, r = xm @ p["wk"], xm @ p["wv"], jax.nn.sigmoid(xm @ p["wr"])
    num, den = jnp.exp(-jnp.exp(p["decay"])) * num + jnp.exp(k) * v, jnp.exp(-jnp.exp(p["decay"])) * den + jnp.exp(k)
    return x + r * num / den, (x, num, den)
def fresh(): return [tuple(jnp.zeros(D) for _ in range(3)) for _ in range(L)]
@jax.jit
def step(params, states, tok):
    x, out = params["emb"][tok], []
    for p, s in zip(params["blocks"], states):
        x, s = block(p, x, s)
        out.append(s)
    return x @ params["head"], out
params = init(jr.key(3))
stoi = {c: i for i, c in enumerate("abcdefghij .")}; itos = {i: c for c, i in stoi.items()}
prompt, length = "bad cab", 8
---
states = fresh()
for ch in prompt:
    logits, states = step(params, states, stoi[ch])
text, scores = prompt, []
for _ in range(length):
    probs = jax.nn.softmax(logits / 0.7)
    nxt = int(jnp.argmax(probs))
    scores.append(probs[nxt])
    text += itos[nxt]
    if text.endswith(".."):
        break
    logits, states = step(params, states, nxt)
confidence = jnp.stack(scores).mean()
norms = [[float(jnp.linalg.norm(a)) for a in s] for s in states]
print(repr(text), len(norms), len(scores))
confidence
---
prompt = "dig"
---
params["head"] = -params["head"]; length = 5

### nam-activation-patching-with-hook-points-and-a-cache-dict
D, H, N = 8, 2, 2
class HookedModel:
    def __init__(self, key):
        ks = jr.split(key, N * 4 + 2)
        self.emb, self.unemb = jr.normal(ks[0], (10, D)) * 0.5, jr.normal(ks[1], (D, 10)) * 0.5
        self.w = [{n: jr.normal(k, (D, D)) * 0.4 for n, k in zip("qkvo", ks[2 + 4 * i:6 + 4 * i])} for i in range(N)]
        self.hooks = defaultdict(list)
    def point(self, name, x):
        for fn in self.hooks.get(name, ()):
            y = fn(x, name)
            x = x if y is None else y
        return x
    def __call__(self, toks):
        x = self.emb[toks]
        mask = jnp.tril(jnp.ones((len(toks),) * 2, bool))
        for i, w in enumerate(self.w):
            q, k, v = (jnp.reshape(x @ w[n], (len(toks), H, -1)) for n in "qkv")
            a = jnp.where(mask, jnp.einsum("thd,shd->hts", q, k) / math.sqrt(D // H), -1e9)
            a = self.point(f"blocks.{i}.attn", jax.nn.softmax(a, -1))
            x = x + jnp.einsum("hts,shd->thd", a, v).reshape(len(toks), D) @ w["o"]
            x = self.point(f"blocks.{i}.resid", x)
        return x @ self.unemb
    def run_with_cache(self, toks):
        cache = {}
        names = [f"blocks.{i}.{p}" for i in range(N) for p in ("attn", "resid")]
        def save(x, name): cache[name] = x
        for n in names: self.hooks[n].append(save)
        try:
            return self(toks), cache
        finally:
            self.hooks.clear()
    def run_with_hooks(self, toks, hooks):
        for n, fn in hooks: self.hooks[n].append(fn)
        try: return self(toks)
        finally: self.hooks.clear()
model = HookedModel(jr.key(0))
clean, corrupt = jnp.array([1, 4, 2, 7]), jnp.array([1, 5, 2, 7])
answer = (3, 6)
---
clean_logits, cache = model.run_with_cache(clean)
base = model(corrupt)
diff = lambda lg: lg[-1, answer[0]] - lg[-1, answer[1]]
results = np.zeros((N, len(clean)), np.float32)
for layer in range(N):
    for pos in range(len(clean)):
        def patch(x, name, pos=pos):
            return x.at[pos].set(cache[name][pos])
        lg = model.run_with_hooks(corrupt, [(f"blocks.{layer}.resid", patch)])
        results[layer, pos] = (diff(lg) - diff(base)) / (diff(clean_logits) - diff(base))
best = np.unravel_index(np.abs(results).argmax(), results.shape)
print(sorted(cache), cache["blocks.0.attn"].shape, len(model.hooks), np.round(results[-1], 2))
jnp.asarray(results).sum(), tuple(int(b) for b in best)
---
answer = (0, 9)
---
corrupt = corrupt.at[0].set(8); model.w[1]["o"] = model.w[1]["o"] * 0

### nam-sparse-autoencoder-counts-dead-latents-and-resamples-them
rng = np.random.default_rng(4)
acts = jnp.asarray(rng.normal(size=(64, 6)) @ rng.normal(size=(6, 6)), jnp.float32)
K = 16
def init_sae(key):
    w = jr.normal(key, (6, K)) * 0.3
    return dict(enc=w, dec=w.T / jnp.linalg.norm(w.T, axis=1, keepdims=True), b=jnp.full(K, -1.2), c=jnp.zeros(6))
def forward(p, x):
    z = jax.nn.relu((x - p["c"]) @ p["enc"] + p["b"])
    return z, z @ p["dec"] + p["c"]
def sae_loss(p, x, l1):
    z, y = forward(p, x)
    return jnp.mean((x - y) ** 2) + l1 * jnp.abs(z).sum(-1).mean(), z
opt = optax.adam(2e-2)
l1, every = 0.05, 3
---
sae = init_sae(jr.key(1))
state = opt.init(sae)
fired = np.zeros(K, dtype=np.int64)
log = []
order = np.random.default_rng(0)
for step in range(9):
    xb = acts[order.choice(len(acts), 16, replace=False)]
    (loss, z), g = jax.value_and_grad(sae_loss, has_aux=True)(sae, xb, l1)
    up, state = opt.update(g, state)
    sae = optax.apply_updates(sae, up)
    sae["dec"] = sae["dec"] / jnp.linalg.norm(sae["dec"], axis=1, keepdims=True)
    fired += np.asarray((z > 0).sum(0))
    if (step + 1) % every == 0:
        dead = np.flatnonzero(fired < 2)
        if dead.size:
            err = jnp.sum((acts - forward(sae, acts)[1]) ** 2, -1)
            worst = jnp.argsort(-err)[: dead.size]
            dirs = acts[worst] / jnp.linalg.norm(acts[worst], axis=1, keepdims=True)
            sae["enc"] = sae["enc"].at[:, dead].set(0.2 * dirs.T)
            sae["dec"] = sae["dec"].at[dead].set(dirs)
            sae["b"] = sae["b"].at[dead].set(0.0)
        log.append({"step": step, "dead": int(dead.size), "loss": round(float(loss), 2)})
        fired[:] = 0
alive = [r["dead"] for r in log]
l0 = (forward(sae, acts)[0] > 0).sum(-1).mean()
print(len(log), log[0]["step"], all(isinstance(d, int) for d in alive))
l0, sae["b"].shape
---
l1 = 0.0
---
every = 4; acts = acts[:40]

### nam-dpo-on-preference-pairs-with-a-frozen-reference-copy needs=flax
from flax import nnx
vocab = ["<pad>", "yes", "no", "please", "thanks", "rude", "kind", "."]
ids = {w: i for i, w in enumerate(vocab)}
class TinyLM(nnx.Module):
    def __init__(self, rngs):
        self.emb, self.rnn, self.out = nnx.Embed(8, 6, rngs=rngs), nnx.Linear(12, 6, rngs=rngs), nnx.Linear(6, 8, rngs=rngs)
    def __call__(self, toks):
        h, outs = jnp.zeros(toks.shape[:1] + (6,)), []
        for t in range(toks.shape[1]):
            h = jnp.tanh(self.rnn(jnp.concatenate([h, self.emb(toks[:, t])], -1)))
            outs.append(self.out(h))
        return jnp.stack(outs, 1)
def encode(texts, width=5):
    return jnp.array([([ids[w] for w in t.split()] + [0] * width)[:width] for t in texts])
def logps(model, toks):
    lp = jax.nn.log_softmax(model(toks[:, :-1]))
    got = jnp.take_along_axis(lp, toks[:, 1:, None], -1)[..., 0]
    return (got * (toks[:, 1:] != 0)).sum(-1)
pairs = [("please yes thanks .", "please no rude ."), ("kind yes .", "kind rude ."), ("no thanks .", "no rude no .")]
policy = TinyLM(nnx.Rngs(0))
reference = nnx.clone(policy)
opt = nnx.Optimizer(policy, optax.adam(1e-2), wrt=nnx.Param)
beta = 0.5
---
chosen, rejected = map(encode, zip(*pairs))
ref = logps(reference, chosen) - logps(reference, rejected)
history = []
def dpo(model):
    margin = logps(model, chosen) - logps(model, rejected) - ref
    return -jax.nn.log_sigmoid(beta * margin).mean(), margin
for epoch in range(4):
    (loss, margin), grads = nnx.value_and_grad(dpo, has_aux=True)(policy)
    opt.update(policy, grads)
    history.append({"loss": loss.item(), "acc": float((margin > 0).mean()), "reward": beta * margin})
    print(f"epoch {epoch}: acc {history[-1]['acc']:.2f}")
kl = (logps(policy, chosen) - logps(reference, chosen)).mean()
drop = history[0]["loss"] > history[-1]["loss"]
print(drop, int(opt.step[...]), reference is not policy)
history[-1]["reward"]
---
beta = 2.0
---
pairs.append(("thanks kind .", "rude kind .")); reference = nnx.clone(policy)

### nam-grpo-groups-of-sampled-strings-scored-by-python-reward-functions
A = "0123456789+="
T = 4
def reward_len(s): return 1.0 if len(s.rstrip("=")) <= 2 else 0.0
def reward_digit(s): return sum(c.isdigit() for c in s) / len(s)
def reward_sorted(s): return float(list(s) == sorted(s))
rewards = [reward_digit, reward_sorted]
params = {"w": jnp.zeros((T, len(A), len(A))), "b": jnp.zeros(len(A))}
def logprobs(p, prev, t): return jax.nn.log_softmax(p["w"][t, prev] + p["b"])
def sample(p, key, group):
    toks, prev, lps = [], jnp.full(group, A.index("=")), []
    for t in range(T):
        key, sub = jr.split(key)
        lp = logprobs(p, prev, t)
        tok = jr.categorical(sub, lp)
        lps.append(jnp.take_along_axis(lp, tok[:, None], 1)[:, 0])
        toks.append(tok); prev = tok
    return jnp.stack(toks, 1), jnp.stack(lps, 1)
def surrogate(p, toks, old, adv, ref, beta, eps=0.2):
    prev = jnp.concatenate([jnp.full((len(toks), 1), A.index("=")), toks[:, :-1]], 1)
    lp = jnp.stack([jnp.take_along_axis(logprobs(p, prev[:, t], t), toks[:, t:t + 1], 1)[:, 0] for t in range(T)], 1)
    ratio = jnp.exp(lp - old)
    pg = jnp.minimum(ratio * adv[:, None], jnp.clip(ratio, 1 - eps, 1 + eps) * adv[:, None])
    kl = jnp.exp(ref - lp) - (ref - lp) - 1
    return -(pg - beta * kl).mean()
key, group, beta = jr.key(5), 8, 0.04
---
stats = defaultdict(list)
policy, first = params, None
for it in range(4):
    toks, old = sample(policy, jr.fold_in(key, it), group)
    texts = ["".join(A[i] for i in row) for row in toks.tolist()]
    first = first if first is not None else old
    scores = np.array([sum(fn(s) for fn in rewards) for s in texts])
    for fn in rewards: stats[fn.__name__].append(float(np.mean([fn(s) for s in texts])))
    adv = jnp.asarray((scores - scores.mean()) / (scores.std() + 1e-4), jnp.float32)
    if scores.std() == 0:
        print("skip", it)
        continue
    for _ in range(2):
        g = jax.grad(surrogate)(policy, toks, old, adv, jax.lax.stop_gradient(old), beta)
        policy = jax.tree.map(lambda a, b: a - 1.5 * b, policy, g)
    stats["std"].append(scores.std().item())
best = max(texts, key=lambda s: (sum(fn(s) for fn in rewards), s))
moved = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), policy, params)
print(sorted(stats), best in texts, len(stats["std"]))
moved["b"] > 0, scores.dtype, len(best)
---
rewards.append(reward_len)
---
beta = 0.5; group = 4

### nam-energy-model-langevin-negatives-from-a-sample-buffer-with-random-module
class SampleBuffer:
    def __init__(self, size, dim, seed): self.rng = random.Random(seed); self.items, self.size, self.dim = [], size, dim
    def __len__(self): return len(self.items)
    def push(self, xs):
        self.items = (list(np.asarray(xs)) + self.items)[: self.size]
    def draw(self, key, n, p_new=0.25):
        old = [self.rng.choice(self.items) for _ in range(n) if self.items and self.rng.random() > p_new]
        fresh = jr.uniform(key, (n - len(old), self.dim), minval=-2, maxval=2)
        return jnp.concatenate([fresh, jnp.asarray(np.array(old).reshape(-1, self.dim))]), len(old)
def energy(p, x): return (jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"]).squeeze(-1) + 0.05 * (x ** 2).sum(-1)
@partial(jax.jit, static_argnames="steps")
def langevin(p, x, key, steps, size=0.1):
    def body(x, k):
        g = jax.grad(lambda x: energy(p, x).sum())(x)
        return x - size * jnp.clip(g, -1, 1) + 0.02 * jr.normal(k, x.shape), None
    return lax.scan(body, x, jr.split(key, steps))[0]
ks = jr.split(jr.key(2), 2)
theta = {"w1": jr.normal(ks[0], (2, 8)), "b1": jnp.zeros(8), "w2": 0.3 * jr.normal(ks[1], (8, 1))}
real = jnp.asarray(np.random.default_rng(0).normal([1, -1], 0.2, (16, 2)), jnp.float32)
steps, alpha = 5, 0.1
---
buffer = SampleBuffer(24, 2, seed=7)
p, key, reused, gaps = theta, jr.key(0), [], []
def loss_fn(p, pos, neg):
    ep, en = energy(p, pos), energy(p, neg)
    return ep.mean() - en.mean() + alpha * (ep ** 2 + en ** 2).mean(), (ep, en)
for i in range(5):
    key, k1, k2 = jr.split(key, 3)
    start, n_old = buffer.draw(k1, len(real))
    neg = langevin(p, start, k2, steps)
    buffer.push(neg)
    (l, (ep, en)), g = jax.value_and_grad(loss_fn, has_aux=True)(p, real, neg)
    p = jax.tree.map(lambda a, b: a - 0.1 * b, p, g)
    reused.append(n_old); gaps.append((ep.mean() - en.mean()).item())
print(reused, len(buffer), buffer.items[0].dtype, buffer.rng.random() < 1)
p["w2"].ravel(), np.round(gaps[0], 2)
---
alpha = 0.0; steps = 3
---
real = -real[:10]

### nam-spiking-layer-surrogate-custom-jvp-raster-and-first-spike-times
BETA = 8.0
@jax.custom_jvp
def spike(v): return (v > 1.0).astype(jnp.float32)
@spike.defjvp
def _(primals, tangents):
    (v,), (dv,) = primals, tangents
    return spike(v), dv / (BETA * jnp.abs(v - 1.0) + 1) ** 2
def lif(carry, x, w, tau):
    v, s = carry
    v = tau * v * (1 - s) + x @ w
    s = spike(v)
    return (v, s), s
def run(ws, xs, taus):
    rasters = []
    for w, tau in zip(ws, taus):
        n = w.shape[1]
        _, xs = lax.scan(lambda c, x: lif(c, x, w, tau), (jnp.zeros(n), jnp.zeros(n)), xs)
        rasters.append(xs)
    return rasters
rng = np.random.default_rng(3)
ws = [jnp.asarray(rng.normal(0.3, 0.4, s), jnp.float32) for s in ((5, 7), (7, 3))]
xs = jnp.asarray(rng.random((12, 5)) < 0.4, jnp.float32)
taus, target = [0.9, 0.8], jnp.array([3.0, 0.0, 6.0])
lr = 0.05
---
def loss(ws): return jnp.mean((run(ws, xs, taus)[-1].sum(0) - target) ** 2)
trained, curve = list(ws), []
for it in range(2):
    value, grads = jax.value_and_grad(loss)(trained)
    trained = [w - lr * jnp.clip(g, -1, 1) for w, g in zip(trained, grads)]
    curve.append(value.item())
raster = np.asarray(run(trained, xs, taus)[-1]).astype(bool)
first = {n: (int(t.argmax()) if t.any() else None) for n, t in zip("abc", raster.T)}
for row in raster.T:
    print("".join("|" if s else "." for s in row))
rates = raster.mean(axis=0)
silent = [k for k, v in first.items() if v is None]
min(curve) <= curve[0], rates
---
BETA = 2.0
---
taus[1] = 0.3; target = target[::-1]

### nam-hodgkin-huxley-gates-by-name-with-a-table-of-rate-lambdas
vtrap = lambda x, y: jnp.where(jnp.abs(x / y) < 1e-4, y * (1 - x / y / 2), x / jnp.expm1(x / y))
rates = {
    "m": (lambda v: 0.1 * vtrap(-(v + 40), 10), lambda v: 4 * jnp.exp(-(v + 65) / 18)),
    "h": (lambda v: 0.07 * jnp.exp(-(v + 65) / 20), lambda v: 1 / (1 + jnp.exp(-(v + 35) / 10))),
    "n": (lambda v: 0.01 * vtrap(-(v + 55), 10), lambda v: 0.125 * jnp.exp(-(v + 65) / 80)),
}
g = SimpleNamespace(Na=120.0, K=36.0, L=0.3)
E = dict(Na=50.0, K=-77.0, L=-54.4)
def steady(v): return {k: a(v) / (a(v) + b(v)) for k, (a, b) in rates.items()}
@jax.jit
def euler(v, gates, I, dt, gs):
    ionic = (gs[0] * gates["m"] ** 3 * gates["h"] * (v - E["Na"]) + gs[1] * gates["n"] ** 4 * (v - E["K"]) + gs[2] * (v - E["L"]))
    new = {k: x + dt * (rates[k][0](v) * (1 - x) - rates[k][1](v) * x) for k, x in gates.items()}
    return v + dt * (I - ionic), new
pulse = lambda t: 12.0 if 1.0 <= t < 4.0 else 0.0
T, dt = 6.0, 0.05
---
v = jnp.float32(-65.0)
gates = steady(v)
trace, spikes, above = [v], [], False
t = 0.0
while t < T:
    v, gates = euler(v, gates, pulse(t), dt, tuple(vars(g).values()))
    trace.append(v)
    if v > 0 and not above:
        spikes.append(round(t, 2)); above = True
    elif v < -20:
        above = False
    t += dt
trace = jnp.stack(trace)
peak_at = int(trace.argmax())
print(len(spikes), f"peak {float(trace.max()):.0f} mV", sorted(gates))
{k: round(float(x), 1) for k, x in gates.items()}
---
g.Na = 60.0
---
pulse = lambda t: 4.0; T = 4.0

### nam-ensemble-kalman-cycles-on-lorenz96-with-inflation-and-rmse-lists tolerance=1e-3
N, M = 8, 10
def tendency(x, F): return (jnp.roll(x, -1) - jnp.roll(x, 2)) * jnp.roll(x, 1) - x + F
@jax.jit
def rk4(x, F, dt=0.02):
    k1 = tendency(x, F); k2 = tendency(x + dt / 2 * k1, F); k3 = tendency(x + dt / 2 * k2, F); k4 = tendency(x + dt * k3, F)
    return x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
class EnKF:
    def __init__(self, ens, every=2, sigma=0.5, inflation=1.05, seed=0):
        self.ens, self.sigma, self.inflation = ens, sigma, inflation
        self.idx = np.arange(0, N, every)
        self.rng = np.random.default_rng(seed)
        self.cycles = 0
    @property
    def mean(self): return self.ens.mean(0)
    @property
    def spread(self): return self.ens.std(0).mean()
    def forecast(self, F, n):
        for _ in range(n): self.ens = jax.vmap(rk4, (0, None))(self.ens, F)
    def analyse(self, y):
        A = (self.ens - self.mean) * self.inflation
        HA = A[:, self.idx]
        K = A.T @ HA / (M - 1) @ jnp.linalg.inv(HA.T @ HA / (M - 1) + self.sigma ** 2 * jnp.eye(len(self.idx)))
        noise = jnp.asarray(self.rng.normal(0, self.sigma, (M, len(self.idx))), jnp.float32)
        self.ens = self.mean + A + (y + noise - (self.mean + A)[:, self.idx]) @ K.T
        self.cycles += 1
truth0 = 8.0 + 0.5 * jnp.sin(jnp.arange(N))
ens0 = truth0 + jr.normal(jr.key(1), (M, N))
F, every = 8.0, 2
---
filt = EnKF(ens0, every)
truth, obs_rng = truth0, np.random.default_rng(42)
rmse, spread = [], []
for c in range(4):
    for _ in range(3): truth = rk4(truth, F)
    filt.forecast(F, 3)
    y = truth[filt.idx] + jnp.asarray(obs_rng.normal(0, filt.sigma, len(filt.idx)), jnp.float32)
    before = jnp.sqrt(jnp.mean((filt.mean - truth) ** 2))
    filt.analyse(y)
    rmse.append((before.item(), jnp.sqrt(jnp.mean((filt.mean - truth) ** 2)).item()))
    spread.append(filt.spread)
improved = sum(b > a for b, a in rmse)
table = np.array(rmse, np.float32)
print(filt.cycles, filt.idx, table.shape, 0 <= improved <= 4)
filt.mean, spread[-1] < spread[0]
---
every = 1
---
F = 6.0; ens0 = ens0 * 0.9

### nam-4dvar-window-gradient-descent-through-the-model-with-checkpoints tolerance=1e-3
@jax.checkpoint
def lorenz(x, dt):
    f = lambda x: jnp.array([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])
    k = f(x)
    return x + dt * f(x + dt / 2 * k)
def trajectory(x0, n, dt=0.01):
    xs = [x0]
    for _ in range(n): xs.append(lorenz(xs[-1], dt))
    return jnp.stack(xs)
@dataclass
class Window:
    obs: dict
    background: Any
    B: float = 1.0
    R: float = 0.5
    evals: int = 0
    def cost(self, x0):
        xs = trajectory(x0, max(self.obs))
        jb = jnp.sum((x0 - self.background) ** 2) / self.B
        jo = sum(jnp.sum((xs[t] - y) ** 2) for t, y in self.obs.items()) / self.R
        return 0.5 * (jb + jo), {"jb": jb, "jo": jo}
truth = trajectory(jnp.array([1.0, 2.0, 20.0]), 4)
window = Window({2: truth[2] + 0.1, 4: truth[4] - 0.1}, jnp.array([1.5, 1.5, 19.0]))
rate = 0.05
---
x0, costs = window.background, []
vg = jax.jit(jax.value_and_grad(window.cost, has_aux=True))
for it in range(6):
    (J, parts), g = vg(x0)
    window.evals += 1
    costs.append({k: round(float(v), 1) for k, v in parts.items()} | {"J": J})
    if it and J > costs[-2]["J"]:
        rate = rate / 2
        print("halved")
    x0 = x0 - rate * g
analysis_error = jnp.linalg.norm(x0 - truth[0])
background_error = jnp.linalg.norm(window.background - truth[0])
print(len(costs), costs[0]["jb"], window.evals, bool(analysis_error < background_error))
x0
---
window.R = 5.0
---
window.obs = {3: truth[3]}; rate = 0.02

### nam-quantum-circuit-fluent-class-statevector-and-sampled-counts
I2, X, H = np.eye(2), np.array([[0, 1], [1, 0]]), np.array([[1, 1], [1, -1]]) / np.sqrt(2)
def RY(t): return jnp.array([[jnp.cos(t / 2), -jnp.sin(t / 2)], [jnp.sin(t / 2), jnp.cos(t / 2)]])
class Circuit:
    def __init__(self, n): self.n, self.state, self.ops = n, jnp.zeros((2,) * n, jnp.complex64).at[(0,) * n].set(1), []
    def _one(self, name, u, q):
        self.state = jnp.moveaxis(jnp.tensordot(jnp.asarray(u, jnp.complex64), self.state, (1, q)), 0, q)
        self.ops.append(f"{name}{q}")
        return self
    def h(self, q): return self._one("H", H, q)
    def x(self, q): return self._one("X", X, q)
    def ry(self, t, q): return self._one("RY", RY(t), q)
    def cx(self, c, t):
        s = jnp.moveaxis(self.state, (c, t), (0, 1))
        s = s.at[1].set(s[1][::-1])
        self.state = jnp.moveaxis(s, (0, 1), (c, t))
        self.ops.append(f"CX{c}{t}")
        return self
    @property
    def probs(self): return jnp.abs(self.state.ravel()) ** 2
    def expect_z(self, q):
        p = self.probs.reshape((2,) * self.n).sum(tuple(a for a in range(self.n) if a != q))
        return p[0] - p[1]
    def counts(self, shots, seed):
        idx = jr.choice(jr.key(seed), 2 ** self.n, (shots,), p=self.probs / self.probs.sum())
        return Counter(format(i, f"0{self.n}b") for i in idx.tolist())
    def __repr__(self): return "-".join(self.ops)
def ansatz(theta): return Circuit(3).ry(theta[0], 0).cx(0, 1).ry(theta[1], 1).cx(1, 2).ry(theta[2], 2)
theta, lr = jnp.array([0.4, -0.3, 0.9]), 0.4
---
bell = Circuit(2).h(0).cx(0, 1)
cost = lambda th: sum(ansatz(th).expect_z(q) for q in range(3))
energies = []
for step in range(5):
    e, g = jax.value_and_grad(cost)(theta)
    theta = theta - lr * g
    energies.append(e.item())
final = ansatz(theta)
tally = bell.counts(20, seed=1)
print(bell, final, sorted(tally), sum(tally.values()), energies[-1] < energies[0])
final.probs, bell.state[1, 1]
---
def ansatz(theta): return Circuit(3).x(1).ry(theta[0] * theta[1], 0).cx(0, 2).h(1)
---
lr = 0.05; theta = jnp.zeros(3) + 0.3

### nam-split-step-wave-packet-through-a-slit-with-complex-snapshots tolerance=1e-3
n = 16
x = np.linspace(-4, 4, n, endpoint=False)
X, Y = np.meshgrid(x, x, indexing="ij")
k = 2 * np.pi * np.fft.fftfreq(n, x[1] - x[0])
K2 = jnp.asarray(k[:, None] ** 2 + k[None] ** 2, jnp.float32)
def packet(x0, kx, s=0.8):
    psi = jnp.exp(-((X - x0) ** 2 + Y ** 2) / (2 * s ** 2) + 1j * kx * X)
    return psi / jnp.sqrt(jnp.sum(jnp.abs(psi) ** 2))
V = np.zeros((n, n), np.float32)
V[8] = 50.0
V[8, [5, 6, 10, 11]] = 0.0
def propagate(psi, V, dt, steps, every, absorb=None):
    half, kin = jnp.exp(-0.5j * dt * V), jnp.exp(-0.5j * dt * K2)
    for i in range(steps):
        psi = half * jnp.fft.ifft2(kin * jnp.fft.fft2(half * psi))
        if absorb is not None:
            psi = psi * absorb
        if i % every == 0:
            yield i, psi
dt, steps, kx = 0.02, 9, 3.0
absorb = None
---
frames = {}
for i, psi in propagate(packet(-2.0, kx), V, dt, steps, 4, absorb):
    frames[i] = np.asarray(jnp.abs(psi) ** 2)
norm = jnp.sum(jnp.abs(psi) ** 2)
transmitted = sum(frames[8][9:].ravel())
phase = jnp.angle(psi[4, 8])
shades = " .:*#"
for row in frames[max(frames)][::4]:
    print("".join(shades[min(int(v * 40), 4)] for v in row))
print(list(frames), psi.dtype, f"{float(norm):.3f}", 0 <= transmitted <= 1)
psi[3, 7:9]
---
V[8] = 50.0
---
absorb = jnp.asarray(np.exp(-0.1 * (np.abs(X) > 3)), jnp.float32); kx = 1.0

### nam-fdtd-line-with-source-list-probe-list-and-materials-added-later
class Grid:
    def __init__(self, n, courant=0.5):
        self.ez, self.hy, self.eps = jnp.zeros(n), jnp.zeros(n - 1), jnp.ones(n)
        self.c, self.t, self.sources, self.probes = courant, 0, [], {}
    def add_material(self, where, eps):
        self.eps = self.eps.at[where].set(eps)
        return self
    def add_source(self, pos, fn): self.sources.append((pos, fn)); return self
    def add_probe(self, name, pos): self.probes[name] = (pos, []); return self
    def step(self):
        self.hy = self.hy + self.c * jnp.diff(self.ez)
        left, right = self.ez[1], self.ez[-2]
        ez = self.ez.at[1:-1].add(self.c / self.eps[1:-1] * jnp.diff(self.hy))
        for pos, fn in self.sources:
            ez = ez.at[pos].add(fn(self.t))
        self.ez = ez.at[0].set(left).at[-1].set(right)
        for pos, rec in self.probes.values():
            rec.append(self.ez[pos])
        self.t += 1
    def run(self, n):
        for _ in range(n): self.step()
        return self
    def __getitem__(self, name): return jnp.array(self.probes[name][1])
def gaussian(t0, w, amp=1.0): return lambda t: amp * math.exp(-((t - t0) / w) ** 2)
grid = Grid(30).add_source(5, gaussian(6, 3)).add_probe("near", 8).add_probe("far", 20)
n = 6
---
grid.run(n)
near, far = grid["near"], grid["far"]
energy = 0.5 * (jnp.sum(grid.eps * grid.ez ** 2) + jnp.sum(grid.hy ** 2))
peak = int(jnp.argmax(jnp.abs(near)))
arrived = bool(jnp.any(jnp.abs(far) > 0.05))
print(grid.t, len(grid.probes["far"][1]) == len(far), peak < len(near), arrived)
energy, grid.ez[:10]
---
grid.add_material(slice(12, 18), 4.0)
---
grid.sources.append((25, gaussian(grid.t + 3, 2.0, -0.5))); n = 3

### nam-kan-like-edges-with-basis-grid-refined-and-refitted tolerance=5e-3
def basis(x, grid): return jnp.exp(-((x[..., None] - grid) / (grid[1] - grid[0])) ** 2)
@jax.tree_util.register_pytree_node_class
class KANLayer:
    def __init__(self, coef, grid): self.coef, self.grid = coef, grid
    def tree_flatten(self): return (self.coef,), (self.grid,)
    @classmethod
    def tree_unflatten(cls, aux, children): return cls(children[0], aux[0])
    def __call__(self, x): return jnp.einsum("bik,iok->bo", basis(x, np.array(self.grid)), self.coef)
    def refine(self, n, x):
        new = tuple(np.linspace(self.grid[0], self.grid[-1], n).tolist())
        old, B = basis(x, np.array(self.grid)), basis(x, np.array(new))
        coef = [jnp.linalg.lstsq(B[:, i] + 0, jnp.einsum("bk,ok->bo", old[:, i], self.coef[i]))[0].T for i in range(x.shape[1])]
        return KANLayer(jnp.stack(coef), new)
    def __repr__(self): return f"KANLayer({self.coef.shape[0]}->{self.coef.shape[1]}, {len(self.grid)} knots)"
rng = np.random.default_rng(2)
x = jnp.asarray(rng.uniform(-1, 1, (32, 2)), jnp.float32)
y = jnp.sin(2 * x[:, :1]) + x[:, 1:] ** 2
g0 = (-1.0, -0.5, 0.0, 0.5, 1.0)
start = KANLayer(jnp.asarray(0.1 * rng.normal(size=(2, 1, 5)), jnp.float32), g0)
schedule = [(0, None), (6, 7)]
---
layer, losses = start, []
tx = optax.adam(0.1)
state = tx.init(layer)
plan = dict(schedule)
for it in range(10):
    if plan.get(it):
        layer = layer.refine(plan[it], x)
        state = tx.init(layer)
        print("refined to", layer)
    l, g = jax.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(layer)
    up, state = tx.update(g, state)
    layer = optax.apply_updates(layer, up)
    losses.append(l)
knots = layer.grid
leaves, treedef = jax.tree.flatten(layer)
print(len(knots), leaves[0].shape, bool(losses[-1] < losses[0]), start)
losses[5]
---
schedule[1] = (3, 6)
---
y = jnp.abs(x[:, :1]); schedule.append((8, 5))

### nam-muon-like-newton-schulz-transform-beside-adam-by-partition
class MuonState(NamedTuple):
    mu: Any
    count: Any
def newton_schulz(g, steps=3):
    x = g / (jnp.linalg.norm(g) + 1e-7)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    for a, b, c in [(3.4445, -4.7750, 2.0315)] * steps:
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if tall else x
def scale_by_muon(beta=0.9, steps=3):
    def init(params): return MuonState(jax.tree.map(jnp.zeros_like, params), jnp.zeros([], jnp.int32))
    def update(g, state, params=None):
        mu = jax.tree.map(lambda m, g: beta * m + g, state.mu, g)
        up = jax.tree.map(lambda m: newton_schulz(m, steps) * max(1, m.shape[0] / m.shape[1]) ** 0.5, mu)
        return up, MuonState(mu, optax.safe_increment(state.count))
    return optax.GradientTransformation(init, update)
def label(path, leaf): return "muon" if leaf.ndim == 2 and "emb" not in jax.tree_util.keystr(path) else "adam"
def build(lr, beta): return optax.partition({"muon": optax.chain(scale_by_muon(beta), optax.scale(-lr)), "adam": optax.adam(lr)}, lambda p: jax.tree_util.tree_map_with_path(label, p))
rng = np.random.default_rng(8)
net = {"emb": jnp.asarray(rng.normal(size=(6, 4)), jnp.float32), "w": [jnp.asarray(0.5 * rng.normal(size=s), jnp.float32) for s in ((4, 8), (8, 3))], "b": jnp.zeros(3)}
toks, labels = jnp.arange(6), jnp.array([0, 1, 2, 2, 1, 0])
lr, beta = 0.05, 0.9
---
tx = build(lr, beta)
params, state, table = net, tx.init(net), []
def nll(p):
    h = jax.nn.relu(p["emb"][toks] @ p["w"][0]) @ p["w"][1] + p["b"]
    return optax.softmax_cross_entropy_with_integer_labels(h, labels).mean()
for i in range(5):
    loss, grads = jax.value_and_grad(nll)(params)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)
    table.append([i, loss.item(), *(round(float(jnp.linalg.norm(u)), 3) for u in updates["w"])])
labels_used = jax.tree_util.tree_map_with_path(label, net)
sv = jnp.linalg.svd(updates["w"][0], compute_uv=False)
inner = state.inner_states["muon"].inner_state[0]
print(labels_used, int(inner.count), type(inner).__name__, table[-1][1] < table[0][1])
sv
---
beta = 0.5
---
def label(path, leaf): return "adam"

### nam-forward-forward-layers-each-with-its-own-optimizer-and-threshold
class FFLayer:
    made = 0
    def __init__(self, key, din, dout, lr, theta=2.0):
        self.w = jr.normal(key, (din, dout)) / math.sqrt(din)
        self.tx = optax.adam(lr); self.state = self.tx.init(self.w)
        self.theta, self.seen = theta, 0
        type(self).made += 1
    @staticmethod
    def norm(x): return x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-4)
    def __call__(self, x, w=None): return jax.nn.relu(self.norm(x) @ (self.w if w is None else w))
    def goodness(self, x, w=None): return (self(x, w) ** 2).mean(-1)
    def train(self, pos, neg):
        def loss(w):
            g = jnp.concatenate([self.theta - self.goodness(pos, w), self.goodness(neg, w) - self.theta])
            return jax.nn.softplus(g).mean()
        l, g = jax.value_and_grad(loss)(self.w)
        up, self.state = self.tx.update(g, self.state)
        self.w = optax.apply_updates(self.w, up)
        self.seen += len(pos)
        return self(pos), self(neg), l.item()
def overlay(x, y): return x.at[:, :3].set(3.0 * jax.nn.one_hot(y, 3))
class FFNet:
    def __init__(self, dims, lr, seed=0):
        self.layers = [FFLayer(k, a, b, lr) for k, (a, b) in zip(jr.split(jr.key(seed), len(dims)), zip(dims, dims[1:]))]
    def predict(self, x):
        per = []
        for label in range(3):
            h, good = overlay(x, jnp.full(len(x), label)), 0
            for layer in self.layers:
                good = good + layer.goodness(h); h = layer(h)
            per.append(good)
        return jnp.stack(per, 1).argmax(1)
rng = np.random.default_rng(6)
y = jnp.arange(18) % 3
x = jnp.asarray(rng.normal(0, 0.3, (18, 8)) + np.eye(3)[np.asarray(y)] @ rng.normal(size=(3, 8)), jnp.float32)
net = FFNet([8, 10, 6], 0.03)
epochs = 2
---
losses = []
for epoch in range(epochs):
    pos, neg = overlay(x, y), overlay(x, (y + 1 + epoch % 2) % 3)
    row = []
    for layer in net.layers:
        pos, neg, l = layer.train(pos, neg)
        row.append(l)
    losses.append(row)
pred = net.predict(x)
acc = (pred == y).mean()
seen = [layer.seen for layer in net.layers]
print(FFLayer.made, seen, np.shape(losses))
acc >= 0, net.layers[-1].w[0]
---
net.layers[0].theta = 0.5
---
net.layers.append(FFLayer(jr.key(9), 6, 4, 0.03)); epochs = 1

### nam-byol-predictor-and-momentum-target-with-augment-functions needs=equinox
import equinox as eqx
class Net(eqx.Module):
    encoder: eqx.nn.MLP
    predictor: eqx.nn.Linear
    def __init__(self, key):
        a, b = jr.split(key)
        self.encoder, self.predictor = eqx.nn.MLP(4, 3, 8, 1, key=a), eqx.nn.Linear(3, 3, key=b)
    def project(self, x): return self.encoder(x)
    def __call__(self, x): return self.predictor(self.encoder(x))
def jitter(key, x): return x + 0.1 * jr.normal(key, x.shape)
def drop(key, x): return x * jr.bernoulli(key, 0.8, x.shape)
AUG = [jitter, drop]
def augment(key, x):
    for k, f in zip(jr.split(key, len(AUG)), AUG): x = f(k, x)
    return x
def cosine(a, b): return 2 - 2 * jnp.sum(a * b) / (jnp.linalg.norm(a) * jnp.linalg.norm(b) + 1e-6)
@eqx.filter_value_and_grad
def loss_fn(online, target, a, b):
    one = jax.vmap(lambda u, v: cosine(online(u), jax.lax.stop_gradient(target.project(v))))
    return (one(a, b) + one(b, a)).mean()
def ema(target, online, tau):
    t, o = eqx.filter(target, eqx.is_inexact_array), eqx.filter(online, eqx.is_inexact_array)
    return eqx.combine(jax.tree.map(lambda a, b: tau * a + (1 - tau) * b, t, o), target)
class History(list):
    def log(self, **kw): self.append(kw); return kw
data = jnp.asarray(np.random.default_rng(5).normal(size=(12, 4)), jnp.float32)
online = Net(jr.key(0)); target = Net(jr.key(1))
tau0, steps = 0.9, 5
---
tx = optax.sgd(0.05, momentum=0.9)
state = tx.init(eqx.filter(online, eqx.is_inexact_array))
history = History()
for step in range(steps):
    ka, kb = jr.split(jr.fold_in(jr.key(7), step))
    loss, grads = loss_fn(online, target, augment(ka, data), augment(kb, data))
    up, state = tx.update(grads, state)
    online = eqx.apply_updates(online, up)
    tau = 1 - (1 - tau0) * (math.cos(math.pi * step / steps) + 1) / 2
    target = ema(target, online, tau)
    history.log(step=step, tau=tau, loss=loss)
z = jax.vmap(target.project)(data)
collapse = z.std(0).mean()
print([round(h["tau"], 3) for h in history], collapse > 0, type(history).__name__)
z[0], history[-1]["loss"]
---
AUG.append(lambda k, x: x[:, jr.permutation(k, 4)])
---
tau0 = 1.0; target = online

### nam-made-masks-from-degrees-and-bits-sampled-one-at-a-time
class MADE:
    def __init__(self, n, hidden, order=None, seed=0):
        rng = np.random.RandomState(seed)
        self.order = np.arange(n) if order is None else np.asarray(order)
        self.deg = [self.order + 1, rng.randint(1, n, hidden)]
        self.masks = [self.deg[0][:, None] <= self.deg[1][None], self.deg[1][:, None] < self.deg[0][None]]
        ks = jr.split(jr.key(seed), 2)
        self.params = {"w1": 0.5 * jr.normal(ks[0], (n, hidden)), "w2": 0.5 * jr.normal(ks[1], (hidden, n)), "b1": jnp.zeros(hidden), "b2": jnp.zeros(n)}
    def logits(self, p, x):
        h = jax.nn.relu(x @ (p["w1"] * self.masks[0]) + p["b1"])
        return h @ (p["w2"] * self.masks[1]) + p["b2"]
    def nll(self, p, x):
        z = self.logits(p, x)
        return optax.sigmoid_binary_cross_entropy(z, x).sum(-1).mean()
    def sample(self, key, n):
        x = jnp.zeros((n, len(self.order)))
        for d in np.argsort(self.order):
            key, sub = jr.split(key)
            x = x.at[:, d].set(jr.bernoulli(sub, jax.nn.sigmoid(self.logits(self.params, x)[:, d])))
        return x.astype(int)
bits = np.array([[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 0]] * 2)
data = jnp.asarray(bits, jnp.float32)
order = None
---
made = MADE(4, 9, order)
jac = jax.jacobian(lambda x: made.logits(made.params, x))(data[0])
leaks = [(int(i), int(j)) for i, j in np.argwhere(np.asarray(jac) != 0) if made.order[j] >= made.order[i]]
assert not leaks, leaks
nlls = []
for _ in range(6):
    l, g = jax.value_and_grad(made.nll)(made.params, data)
    made.params = {k: v - 0.3 * g[k] for k, v in made.params.items()}
    nlls.append(float(l))
samples = made.sample(jr.key(4), 6)
codes = Counter("".join(map(str, row)) for row in samples.tolist())
print(sum(codes.values()), nlls[0] > nlls[-1], made.masks[0].dtype, samples.dtype)
made.nll(made.params, data)
---
order = [3, 1, 0, 2]
---
MADE.sample = lambda self, key, n: jnp.ones((n, 4), int); data = data[:4]

### nam-neural-process-sets-of-random-size-padded-and-masked
def mlp(p, x):
    for i, (w, b) in enumerate(p):
        x = x @ w + b
        if i < len(p) - 1: x = jnp.tanh(x)
    return x
def make(key, sizes): return [(jr.normal(k, (a, b)) / math.sqrt(a), jnp.zeros(b)) for k, a, b in zip(jr.split(key, len(sizes) - 1), sizes[:-1], sizes[1:])]
def task(rng, n_max=8):
    n = int(rng.integers(2, n_max))
    a, ph = rng.uniform(0.5, 2), rng.uniform(0, 3)
    x = np.zeros(n_max, np.float32); x[:n] = rng.uniform(-2, 2, n)
    mask = np.arange(n_max) < n
    return x, np.where(mask, a * np.sin(x + ph), 0).astype(np.float32), mask
def predict(p, cx, cy, cm, tx):
    r = mlp(p["enc"], jnp.stack([cx, cy], -1))
    r = (r * cm[:, None]).sum(0) / cm.sum()
    mu, ls = mlp(p["dec"], jnp.concatenate([jnp.broadcast_to(r, (len(tx), len(r))), tx[:, None]], -1)).T
    return mu, 0.1 + 0.9 * jax.nn.softplus(ls)
def nll(p, batch):
    def one(x, y, m, k):
        cm = m & (jnp.arange(len(x)) < k)
        mu, sd = predict(p, x, y, cm, x)
        lp = -0.5 * ((y - mu) / sd) ** 2 - jnp.log(sd)
        return -(lp * m).sum() / m.sum()
    return jax.vmap(one)(*batch).mean()
grad_fn = jax.jit(jax.value_and_grad(nll))
params0 = {"enc": make(jr.key(0), [2, 8, 6]), "dec": make(jr.key(1), [7, 8, 2])}
seed, n_tasks, tx = 3, 6, optax.adam(0.02)
---
rng = np.random.default_rng(seed)
params, state, seen = params0, tx.init(params0), []
for step in range(5):
    tasks = [task(rng) for _ in range(n_tasks)]
    ctx = rng.integers(1, [m.sum() for *_, m in tasks])
    batch = tuple(jnp.stack(c) for c in zip(*tasks)) + (jnp.asarray(ctx),)
    loss, grads = grad_fn(params, batch)
    up, state = tx.update(grads, state)
    params = optax.apply_updates(params, up)
    seen.append((loss, sum(int(m.sum()) for *_, m in tasks)))
x, y, m = task(np.random.default_rng(99))
mu, sd = predict(params, x, y, jnp.asarray(m), jnp.linspace(-2, 2, 5))
inside = np.abs(np.asarray(mu)) < 5
print([n for _, n in seen], m.sum(), inside.all(), ctx.dtype)
mu, sd.min() > 0.1
---
seed = 11
---
n_tasks = 2; tx = optax.sgd(0.1)

### nam-influence-of-training-points-by-conjugate-gradient-hessian-products tolerance=5e-3
from jax.flatten_util import ravel_pytree
rng = np.random.default_rng(1)
X = jnp.asarray(rng.normal(size=(20, 3)), jnp.float32)
y = (X @ jnp.array([1.0, -2.0, 0.5]) > 0).astype(jnp.float32)
y = y.at[4].set(1 - y[4])
names = [f"row{i}" for i in range(len(X))]
def nll(p, x, t): return jnp.mean(jax.nn.softplus(z := x @ p["w"] + p["b"]) - t * z)
def objective(p, x, t, l2): return nll(p, x, t) + l2 * sum(jnp.sum(a ** 2) for a in jax.tree.leaves(p))
def fit(x, t, l2, iters=6):
    p, unravel = ravel_pytree({"w": jnp.zeros(3), "b": jnp.zeros(())})
    f = lambda v: objective(unravel(v), x, t, l2)
    for _ in range(iters): p = p - jnp.linalg.solve(jax.hessian(f)(p), jax.grad(f)(p))
    return p, unravel, f
def hvp(f, p): return lambda v: jax.jvp(jax.grad(f), (p,), (v,))[1]
l2, top = 0.05, 3
x_test, y_test = jnp.array([[0.5, 0.5, -1.0]]), jnp.array([0.0])
---
p, unravel, f = fit(X, y, l2)
g_test = jax.grad(lambda v: nll(unravel(v), x_test, y_test))(p)
s, _ = jax.scipy.sparse.linalg.cg(hvp(f, p), g_test, tol=1e-6, maxiter=20)
per_example = jax.vmap(lambda x, t: jax.grad(lambda v: nll(unravel(v), x[None], t[None]))(p))(X, y)
influence = per_example @ s / len(X)
ranked = sorted(zip(names, influence.tolist()), key=lambda r: -abs(r[1]))[:top]
checked = {}
for name, guess in ranked:
    keep = np.array([n != name for n in names])
    q, *_ = fit(X[keep], y[keep], l2)
    actual = nll(unravel(q), x_test, y_test) - nll(unravel(p), x_test, y_test)
    checked[name] = (guess > 0) == bool(actual > 0)
print([n for n, _ in ranked], checked)
s, influence[4]
---
l2 = 0.2
---
x_test = X[:1] * 2; top = 2

### nam-integrated-gradients-with-named-features-and-baselines-compared
features = ["age", "dose", "weight", "sex", "smoker"]
ks = jr.split(jr.key(12), 4)
net = {"w1": jr.normal(ks[0], (5, 6)), "b1": 0.1 * jr.normal(ks[1], (6,)), "w2": jr.normal(ks[2], (6,))}
def score(p, x): return jax.nn.sigmoid(jax.nn.gelu(x @ p["w1"] + p["b1"]) @ p["w2"])
def integrated(fn, x, base, m=8):
    alphas = (jnp.arange(m) + 0.5) / m
    grads = jax.vmap(lambda a: jax.grad(fn)(base + a * (x - base)))(alphas)
    return (x - base) * grads.mean(0)
def smooth(fn, x, base, m=6):
    return jnp.mean(jnp.stack([jax.grad(fn)(x + 0.05 * n) for n in jr.normal(jr.key(0), (m, len(x)))]), 0) * x
class Explainer:
    methods = {"ig": integrated, "smooth": smooth}
    def __init__(self, fn, baselines): self.fn, self.baselines, self.log = fn, baselines, []
    def __call__(self, x):
        for (mname, method), (bname, base) in itertools.product(self.methods.items(), self.baselines.items()):
            a = method(self.fn, x, base)
            self.log.append((mname, bname, float(jnp.abs(a.sum() - (self.fn(x) - self.fn(base))))))
            yield (mname, bname), a
x = jnp.array([0.3, 1.2, -0.4, 1.0, 0.0])
baselines = {"zero": jnp.zeros(5), "mean": jnp.array([0.1, 0.5, 0.0, 0.5, 0.2])}
---
explain = Explainer(partial(score, net), baselines)
attributions = dict(explain(x))
table = {k: dict(zip(features, a.tolist())) for k, a in attributions.items()}
top = {k: max(v, key=lambda n: abs(v[n])) for k, v in table.items()}
agree = len(set(top.values()))
complete = [name for *name, gap in explain.log if gap < 0.05]
for (m, b), name in top.items():
    print(f"{m:>7}/{b:<5} {name}")
print(agree, complete)
attributions["ig", "zero"]
---
x = x.at[1].set(-2.0)
---
Explainer.methods = {"ig": partial(integrated, m=3)}; baselines.pop("mean")

### nam-linear-chain-crf-tags-with-forward-and-viterbi-in-python-loops
tags = ["O", "B-PER", "I-PER", "B-LOC"]
words = {w: i for i, w in enumerate("anna lives in paris with bob smith".split())}
sents = [("anna lives in paris", "B-PER O O B-LOC"), ("bob smith lives with anna", "B-PER I-PER O O B-PER")]
def encode(s): return jnp.array([words[w] for w in s[0].split()]), jnp.array([tags.index(t) for t in s[1].split()])
def forward(emit, trans):
    alpha = emit[0]
    for e in emit[1:]: alpha = jax.nn.logsumexp(alpha[:, None] + trans, axis=0) + e
    return jax.nn.logsumexp(alpha)
def path_score(emit, trans, ys): return emit[jnp.arange(len(ys)), ys].sum() + trans[ys[:-1], ys[1:]].sum()
def nll(p, data): return sum(forward(p["emit"][x], p["trans"]) - path_score(p["emit"][x], p["trans"], y) for x, y in data)
def viterbi(emit, trans):
    delta, back = emit[0], []
    for e in emit[1:]:
        scores = delta[:, None] + trans
        back.append(np.asarray(scores.argmax(0)))
        delta = scores.max(0) + e
    best = [int(delta.argmax())]
    for bp in reversed(back): best.append(int(bp[best[-1]]))
    return best[::-1], delta.max()
forbidden = [(a, b) for a in tags for b in tags if b == "I-PER" and a not in ("B-PER", "I-PER")]
def init():
    trans = np.zeros((4, 4), np.float32)
    for a, b in forbidden: trans[tags.index(a), tags.index(b)] = -5.0
    return {"emit": 0.1 * jr.normal(jr.key(0), (len(words), 4)), "trans": jnp.asarray(trans)}
lr, query = 0.3, "smith lives with bob"
---
data = [encode(s) for s in sents]
p, nlls = init(), []
for _ in range(5):
    l, g = jax.value_and_grad(nll)(p, data)
    p = jax.tree.map(lambda a, b: a - lr * b, p, g)
    nlls.append(l.item())
ids = jnp.array([words[w] for w in query.split()])
path, best = viterbi(p["emit"][ids], p["trans"])
named = list(zip(query.split(), (tags[i] for i in path)))
logp = best - forward(p["emit"][ids], p["trans"])
print(named, len(forbidden), nlls[-1] < nlls[0])
p["trans"][1], logp
---
sents.append(("paris with smith", "B-LOC O B-PER"))
---
query = "anna smith in paris"; lr = 0.05

### nam-phylogeny-pruning-likelihood-over-a-newick-string-parsed-recursively tolerance=1e-3
import re
class Node:
    __slots__ = ("name", "length", "children")
    def __init__(self, name="", length=0.0, children=()): self.name, self.length, self.children = name, length, list(children)
    def __iter__(self):
        for c in self.children: yield from c
        yield self
    def __repr__(self): return f"({','.join(map(repr, self.children))}){self.name}" if self.children else self.name
def parse(text):
    toks = iter(re.findall(r"[(),;]|:[\d.]+|\w+", text))
    def build(tok):
        node = Node()
        if tok == "(":
            node.children.append(build(next(toks)))
            while (t := next(toks)) == ",":
                node.children.append(build(next(toks)))
        else:
            node.name = tok
        node.length = float(next(toks)[1:])
        return node
    return build(next(toks))
def jc69(t):
    e = jnp.exp(-4 * t / 3)
    return jnp.full((4, 4), 0.25 * (1 - e)) + e * jnp.eye(4)
def partials(node, lengths, seqs):
    if not node.children:
        return jax.nn.one_hot(seqs[node.name], 4)
    out = 1.0
    for c in node.children:
        out = out * (partials(c, lengths, seqs) @ jc69(lengths[id2[c]]).T)
    return out
tree = parse("((A:0.1,B:0.2):0.05,(C:0.3,D:0.1):0.1,E:0.4):0.0")
id2 = {n: i for i, n in enumerate(tree)}
seqs = {k: jnp.array(["ACGT".index(c) for c in s]) for k, s in dict(A="ACGTAC", B="ACGTAA", C="AGGTCC", D="AGGTCA", E="TCGAAC").items()}
lr = 0.02
---
loglik = lambda b: jnp.log(partials(tree, jnp.exp(b), seqs) @ jnp.full(4, 0.25)).sum()
b = jnp.log(jnp.array([n.length + 1e-3 for n in tree]))
trace = []
for _ in range(4):
    ll, g = jax.value_and_grad(loglik)(b)
    b = b + lr * g
    trace.append(ll)
for node in tree:
    node.length = float(jnp.exp(b[id2[node]]))
leaves = [n.name for n in tree if not n.children]
total = sum(n.length for n in tree)
print(tree, leaves, bool(trace[-1] >= trace[0]), f"{total:.2f}")
b, trace[-1]
---
seqs["E"] = seqs["A"]
---
tree.children[2].length = 0.05; lr = 0.0

### nam-truss-stiffness-assembled-by-members-and-areas-resized tolerance=1e-3
nodes = {"a": (0.0, 0.0), "b": (1.0, 0.0), "c": (0.0, 1.0), "d": (1.0, 1.0), "e": (2.0, 0.5)}
members = [("a", "b"), ("c", "d"), ("a", "d"), ("b", "c"), ("b", "d"), ("b", "e"), ("d", "e")]
supports, loads = {"a": "xy", "c": "xy"}, {"e": (0.0, -1.0)}
index = {n: i for i, n in enumerate(nodes)}
xy = jnp.array(list(nodes.values()))
def dofs(n): return [2 * index[n], 2 * index[n] + 1]
def stiffness(areas):
    K, lengths = jnp.zeros((2 * len(nodes),) * 2), []
    for A, (m, n) in zip(areas, members):
        d = xy[index[n]] - xy[index[m]]
        L = jnp.linalg.norm(d)
        u = jnp.concatenate([-d, d]) / L
        ids = np.array(dofs(m) + dofs(n))
        K = K.at[np.ix_(ids, ids)].add(A / L * jnp.outer(u, u))
        lengths.append(L)
    return K, jnp.stack(lengths)
def solve(areas):
    K, L = stiffness(areas)
    fixed = {2 * index[n] + "xy".index(ax) for n, axes in supports.items() for ax in axes}
    free = np.array([i for i in range(2 * len(nodes)) if i not in fixed])
    f = jnp.zeros(2 * len(nodes))
    for n, (fx, fy) in loads.items(): f = f.at[np.array(dofs(n))].add(jnp.array([fx, fy]))
    u = jnp.zeros_like(f).at[free].set(jnp.linalg.solve(K[np.ix_(free, free)], f[free]))
    return f @ u, u, L
volume, iters = 7.0, 5
---
areas = jnp.full(len(members), 1.0)
compliances = []
for it in range(iters):
    (c, (u, L)), g = jax.value_and_grad(lambda a: (lambda r: (r[0], r[1:]))(solve(a)), has_aux=True)(areas)
    ratio = jnp.sqrt(-g / L)
    areas = jnp.clip(areas * ratio / (ratio.mean()), 0.05, 5.0)
    areas = areas * volume / (areas @ L)
    compliances.append(c.item())
thick = sorted(zip(np.round(np.asarray(areas), 2).tolist(), members), reverse=True)[:3]
tip = dict(zip("xy", u[np.array(dofs("e"))].tolist()))
print([m for _, m in thick], tip["y"] < 0, compliances[-1] < compliances[0])
areas
---
loads["d"] = (0.5, 0.0)
---
members.append(("a", "e")); volume = 10.0

### nam-boids-flock-with-rules-as-weighted-callables-and-properties tolerance=1e-3
def cohesion(pos, vel, near): return (near @ pos) / jnp.maximum(near.sum(1, keepdims=True), 1) - pos
def alignment(pos, vel, near): return (near @ vel) / jnp.maximum(near.sum(1, keepdims=True), 1) - vel
def separation(pos, vel, near):
    d = pos[:, None] - pos[None]
    r2 = (d ** 2).sum(-1, keepdims=True) + 1e-2
    return (near[..., None] * d / r2).sum(1)
class Flock:
    def __init__(self, n, seed, rules, radius=1.0, box=4.0):
        k1, k2 = jr.split(jr.key(seed))
        self._pos, self.vel = jr.uniform(k1, (n, 2)) * box, jr.normal(k2, (n, 2)) * 0.2
        self.rules, self.radius, self.box, self.trail = rules, radius, box, deque(maxlen=3)
    @property
    def pos(self): return self._pos
    @pos.setter
    def pos(self, value):
        self.trail.append(self._pos)
        self._pos = value % self.box
    @property
    def order(self): return jnp.linalg.norm(self.vel.mean(0)) / jnp.linalg.norm(self.vel, axis=1).mean()
    def neighbours(self):
        d = self.pos[:, None] - self.pos[None]
        d = d - self.box * jnp.round(d / self.box)
        return ((d ** 2).sum(-1) < self.radius ** 2).astype(jnp.float32) - jnp.eye(len(self.pos))
    def step(self, dt=0.1):
        near = self.neighbours()
        force = sum(w * rule(self.pos, self.vel, near) for rule, w in self.rules.items())
        vel = self.vel + dt * force
        speed = jnp.linalg.norm(vel, axis=1, keepdims=True)
        self.vel = vel * jnp.minimum(1.0, 1.0 / speed)
        self.pos = self.pos + dt * self.vel
        return self
flock = Flock(9, 5, {cohesion: 0.1, alignment: 0.5, separation: 0.2})
n = 4
---
orders = [flock.order]
for _ in range(n):
    orders.append(flock.step().order)
degree = flock.neighbours().sum(1)
lonely = int((degree == 0).sum())
oldest = flock.trail[0]
weights = {r.__name__: w for r, w in flock.rules.items()}
print(len(orders), len(flock.trail), lonely, weights)
flock.pos, oldest.shape
---
flock.rules[alignment] = 2.0
---
flock.radius = 2.5; del flock.rules[cohesion]; n = 1

### nam-harmonic-synthesiser-fitted-to-a-tone-with-multi-scale-spectra tolerance=5e-3
SR, N = 400, 64
t = np.arange(N) / SR
target = jnp.asarray(sum(a * np.sin(2 * np.pi * f * t) for f, a in [(40, 0.8), (80, 0.3), (120, 0.15)]) * np.exp(-4 * t), jnp.float32)
@dataclass(frozen=True)
class Patch:
    f0: float = 40.0
    harmonics: int = 4
    scales: tuple = (16, 32)
jax.tree_util.register_static(Patch)
def synth(p, patch):
    k = jnp.arange(1, patch.harmonics + 1)
    phase = 2 * jnp.pi * patch.f0 * jnp.asarray(t)[:, None] * k + p["phase"]
    env = jnp.exp(-jax.nn.softplus(p["decay"]) * jnp.asarray(t))
    return env * (jax.nn.softplus(p["amp"]) * jnp.sin(phase)).sum(1)
def stft(x, win):
    frames = jnp.stack([x[i:i + win] for i in range(0, len(x) - win + 1, win // 2)])
    return jnp.abs(jnp.fft.rfft(frames * jnp.hanning(win)))
def loss(p, patch):
    y = synth(p, patch)
    return sum(jnp.abs(stft(y, w) - stft(target, w)).mean() for w in patch.scales)
patch, tx, steps = Patch(), optax.adam(0.1), 8
---
p = {"amp": jnp.full(patch.harmonics, -1.0), "phase": jnp.zeros(patch.harmonics), "decay": jnp.array(2.0)}
state, curve = tx.init(p), []
grad = jax.jit(jax.value_and_grad(loss), static_argnums=1)
for i in range(steps):
    value, g = grad(p, patch)
    up, state = tx.update(g, state)
    p = optax.apply_updates(p, up)
    curve.append(round(value.item(), 3))
audio = np.clip(np.asarray(synth(p, patch)) * 32767, -32768, 32767).astype("<i2")
loudest = int(jnp.argmax(p["amp"])) + 1
raw = audio.tobytes()
print(len(raw), loudest, curve[-1] < curve[0], audio.dtype.str)
p["amp"]
---
patch = replace(patch, harmonics=3, scales=(32,))
---
target = target[::-1]; tx = optax.sgd(1.0)

### nam-hyperdimensional-classifier-binds-bundles-and-retrains-on-mistakes
DIM = 64
class Space:
    def __init__(self, dim, seed): self.dim, self.key, self.items = dim, jr.key(seed), {}
    def __missing__(self, name): raise KeyError(name)
    def __getitem__(self, name):
        if name not in self.items:
            self.key, sub = jr.split(self.key)
            self.items[name] = jr.rademacher(sub, (self.dim,), jnp.int8)
        return self.items[name]
    def __contains__(self, name): return name in self.items
def bind(*vs): return functools.reduce(operator.mul, vs)
def bundle(vs): return jnp.sign(sum(v.astype(jnp.int32) for v in vs)).astype(jnp.int8)
def ngram(space, text, n=3):
    return sum(bind(*(jnp.roll(space[c], i) for i, c in enumerate(text[j:j + n]))).astype(jnp.int32) for j in range(len(text) - n + 1))
def cosine(a, b): return jnp.dot(a, b) / (jnp.linalg.norm(a) * jnp.linalg.norm(b))
train = [("the cat sat", "en"), ("die katze sass", "de"), ("the dog ran", "en"), ("der hund lief", "de"), ("le chat dort", "fr")]
queries = ["the rat", "die maus", "le chien"]
---
space = Space(DIM, seed=2)
memory = defaultdict(lambda: jnp.zeros(DIM, jnp.int32))
for text, lang in train:
    memory[lang] = memory[lang] + ngram(space, text)
def classify(text):
    hv = ngram(space, text).astype(jnp.float32)
    sims = {lang: float(cosine(hv, m.astype(jnp.float32))) for lang, m in memory.items()}
    return max(sims, key=sims.get), sims
mistakes = 0
for text, lang in train:
    guess, _ = classify(text)
    if guess != lang:
        mistakes += 1
        memory[lang] += ngram(space, text)
        memory[guess] -= ngram(space, text)
answers = {q: classify(q)[0] for q in queries}
record = bundle([bind(space["name"], space["ada"]), bind(space["age"], space["36"]), space["noise"]])
recalled = max(["ada", "36", "noise"], key=lambda w: int(bind(record, space["name"]).astype(jnp.int32) @ space[w]))
print(answers, mistakes, recalled, len(space.items), "z" in space)
memory["en"][:8], record.dtype
---
train.append(("la nuit tombe", "fr"))
---
queries = ["hund und katze"]; DIM = 32

### nam-wright-fisher-drift-with-selection-mutation-and-fixation-log
class Population:
    def __init__(self, freqs, size, key, s=0.0, mu=0.0):
        self.freqs, self.size, self.key, self.s, self.mu = jnp.asarray(freqs), size, key, s, mu
        self.generation, self.fixed = 0, OrderedDict()
    def _draw(self, p):
        self.key, sub = jr.split(self.key)
        return jr.binomial(sub, 2 * self.size, p) / (2 * self.size)
    def advance(self):
        p = self.freqs
        p = p * (1 + self.s) / (1 + p * self.s)
        p = p * (1 - self.mu) + (1 - p) * self.mu
        self.freqs = jnp.where((self.freqs <= 0) | (self.freqs >= 1), self.freqs, self._draw(jnp.clip(p, 0, 1)))
        self.generation += 1
        for i, f in enumerate(self.freqs.tolist()):
            if f in (0.0, 1.0) and i not in self.fixed:
                self.fixed[i] = (self.generation, bool(f))
        return self.freqs
    def __iter__(self): return self
    def __next__(self):
        if len(self.fixed) == len(self.freqs): raise StopIteration
        return self.advance()
    heterozygosity = property(lambda self: jnp.mean(2 * self.freqs * (1 - self.freqs)))
start, size, s = [0.1, 0.5, 0.5, 0.9], 5, 0.0
---
pop = Population(start, size, jr.key(17), s=s)
het = [pop.heterozygosity]
for freqs in itertools.islice(pop, 8):
    het.append(pop.heterozygosity)
fates = {i: ("fixed" if up else "lost") for i, (_, up) in pop.fixed.items()}
order = list(pop.fixed)
expected = (1 - 1 / (2 * size)) ** np.arange(len(het)) * float(het[0])
print(pop.generation, fates, order, len(het) == len(expected))
jnp.stack(het)[:3], pop.freqs
---
size = 50
---
s = 2.0; start = [0.2, 0.3]; size = 4

### nam-tictactoe-self-play-policy-value-net-and-search-keyed-by-board-bytes
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
def winner(b):
    for l in LINES:
        if abs(s := int(b[list(l)].sum())) == 3: return s // 3
    return 0 if (b == 0).any() is np.False_ else None
@jax.jit
def net(p, x):
    h = jnp.tanh(x @ p["w"] + p["b"])
    return h @ p["pi"], jnp.tanh(h @ p["v"])
class Search:
    def __init__(self, params, c=1.5): self.p, self.c, self.N, self.W, self.P = params, c, {}, {}, {}
    def visit(self, b):
        w = winner(b)
        if w is not None: return -float(w)
        k = b.tobytes()
        if k not in self.P:
            logits, v = net(self.p, jnp.asarray(b, jnp.float32))
            pri = np.where(b == 0, np.exp(np.asarray(logits) - float(logits.max())), 0)
            self.P[k], self.N[k], self.W[k] = pri / pri.sum(), np.zeros(9), np.zeros(9)
            return -float(v)
        n, w_ = self.N[k], self.W[k]
        u = np.where(n > 0, w_ / np.maximum(n, 1), 0) + self.c * self.P[k] * np.sqrt(n.sum() + 1) / (1 + n)
        a = int(np.argmax(np.where(b == 0, u, -np.inf)))
        nxt = b.copy(); nxt[a] = 1
        v = self.visit(-nxt)
        n[a] += 1; w_[a] += v
        return -v
    def policy(self, b, sims):
        for _ in range(sims): self.visit(b)
        n = self.N[b.tobytes()]
        return n / n.sum()
def self_play(params, sims, rng):
    b, player, memory, search = np.zeros(9, np.int8), 1, [], Search(params)
    while (w := winner(b)) is None:
        pi = search.policy(b, sims)
        memory.append((b.copy(), pi, player))
        a = rng.choices(range(9), pi)[0]
        b[a] = 1
        b, player = -b, -player
    return [(s, p, w * (1 if q == player else -1)) for s, p, q in memory], len(search.P)
ks = jr.split(jr.key(0), 3)
params0 = {"w": 0.3 * jr.normal(ks[0], (9, 8)), "b": jnp.zeros(8), "pi": 0.1 * jr.normal(ks[1], (8, 9)), "v": 0.1 * jr.normal(ks[2], (8,))}
sims, games, seed = 8, 2, 4
---
rng, params, sizes = random.Random(seed), params0, []
for g in range(games):
    data, visited = self_play(params, sims, rng)
    s, pi, z = (jnp.asarray(np.array(c), jnp.float32) for c in zip(*data))
    def loss(p):
        logits, v = jax.vmap(net, (None, 0))(p, s)
        return optax.softmax_cross_entropy(logits, pi).mean() + ((v - z) ** 2).mean()
    l, grads = jax.value_and_grad(loss)(params)
    params = jax.tree.map(lambda a, b: a - 0.1 * b, params, grads)
    sizes.append((len(data), visited, s.shape[0] == pi.shape[0]))
board = np.array([1, 1, 0, -1, -1, 0, 0, 0, 0], np.int8)
move = int(Search(params).policy(board, 12).argmax())
print([n for n, *_ in sizes], move, winner(board) is None)
params["v"], round(float(l), 2)
---
sims = 4
---
LINES = LINES[:6]; seed = 5

### nam-snake-grid-env-text-frames-and-nstep-actor-critic-module needs=flax
from flax import nnx
class Snake:
    moves = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
    def __init__(self, n, seed): self.n, self.rng = n, random.Random(seed); self.reset()
    def reset(self):
        self.body = deque([(self.n // 2, self.n // 2)])
        self.food = self._place()
        return self.obs()
    def _place(self): return self.rng.choice([(r, c) for r in range(self.n) for c in range(self.n) if (r, c) not in self.body])
    def obs(self):
        o = np.zeros((2, self.n, self.n), np.float32)
        for r, c in self.body: o[0, r, c] = 1
        o[1][self.food] = 1
        return o.ravel()
    def step(self, a):
        dr, dc = list(self.moves.values())[a]
        head = (self.body[0][0] + dr, self.body[0][1] + dc)
        if head in self.body or not all(0 <= x < self.n for x in head):
            return self.reset(), -1.0, True
        self.body.appendleft(head)
        if head == self.food:
            self.food = self._place()
            return self.obs(), 1.0, False
        self.body.pop()
        return self.obs(), -0.01, False
    def render(self): return "\n".join("".join("#" if (r, c) in self.body else "*" if (r, c) == self.food else "." for c in range(self.n)) for r in range(self.n))
class AC(nnx.Module):
    def __init__(self, n, rngs): self.h, self.pi, self.v = nnx.Linear(2 * n * n, 16, rngs=rngs), nnx.Linear(16, 4, rngs=rngs), nnx.Linear(16, 1, rngs=rngs)
    def __call__(self, x):
        h = nnx.tanh(self.h(x))
        return self.pi(h), self.v(h)[..., 0]
size, gamma, updates = 4, 0.9, 3
model = AC(size, nnx.Rngs(params=0))
opt = nnx.Optimizer(model, optax.rmsprop(1e-3), wrt=nnx.Param)
---
env, key, ep_returns, ret = Snake(size, 3), jr.key(8), [], 0.0
obs = env.reset()
for u in range(updates):
    traj = []
    for _ in range(6):
        key, sub = jr.split(key)
        logits, v = model(jnp.asarray(obs))
        a = int(jr.categorical(sub, logits))
        nxt, r, done = env.step(a)
        traj.append((obs, a, r, done)); ret += r
        if done: ep_returns.append(round(ret, 2)); ret = 0.0
        obs = nxt
    R, targets = (0.0 if done else model(jnp.asarray(obs))[1].item()), []
    for *_, r, d in reversed(traj):
        R = r + gamma * R * (not d)
        targets.insert(0, R)
    S, A = jnp.stack([t[0] for t in traj]), jnp.array([t[1] for t in traj])
    def loss_fn(m):
        logits, v = m(S)
        adv = jnp.array(targets) - v
        lp = jnp.take_along_axis(jax.nn.log_softmax(logits), A[:, None], 1)[:, 0]
        return -(lp * jax.lax.stop_gradient(adv)).mean() + 0.5 * (adv ** 2).mean()
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    opt.update(model, grads)
print(env.render()); print(ep_returns, len(targets))
model.pi.bias[...], round(loss.item(), 2)
---
Snake.moves = {"U": (1, 0), "D": (-1, 0), "L": (0, 1), "R": (0, -1)}
---
gamma = 0.0; updates = 1

### nam-numpyro-local-level-series-scanned-and-fitted-by-svi-updates needs=numpyro tolerance=1e-3
import numpyro, numpyro.distributions as dist
from numpyro.contrib.control_flow import scan
from numpyro.infer import SVI, Trace_ELBO, Predictive
from numpyro.infer.autoguide import AutoDelta
def model(y=None, T=8, future=0):
    drift = numpyro.sample("drift", dist.Normal(0.0, 0.5))
    tau = numpyro.sample("tau", dist.LogNormal(-1.0, 0.5))
    sigma = numpyro.sample("sigma", dist.LogNormal(-1.0, 0.5))
    def transition(level, t):
        level = level + drift + tau * 0.1 * jnp.sin(t)
        obs = numpyro.sample("y", dist.Normal(level, sigma))
        return level, (level, obs)
    with numpyro.handlers.condition(data={} if y is None else {"y": y}):
        _, (levels, ys) = scan(transition, jnp.zeros(()), jnp.arange(T + future))
    numpyro.deterministic("level", levels)
y = jnp.asarray(np.cumsum(np.random.default_rng(3).normal(0.3, 0.1, 8)), jnp.float32)
steps, lr = 6, 0.1
---
guide = AutoDelta(model)
svi = SVI(model, guide, numpyro.optim.Adam(lr), Trace_ELBO())
state = svi.init(jr.key(0), y)
losses, update = [], jax.jit(svi.update)
for _ in range(steps):
    state, loss = update(state, y)
    losses.append(float(loss))
params = svi.get_params(state)
est = guide.median(params)
forecast = Predictive(model, {k: v[None] for k, v in est.items()}, batch_ndims=1)(jr.key(1), None, len(y), 2)
names = sorted(forecast)
mean_level = forecast["level"].mean(0)[-2:]
print(names, forecast["y"].shape, losses[-1] < losses[0])
est["drift"], mean_level
---
lr = 0.01
---
y = -y[:6]; steps = 3

### nam-numpyro-reparam-config-plates-and-model-comparison-by-waic needs=numpyro tolerance=1e-2
import numpyro, numpyro.distributions as dist
from numpyro.handlers import reparam, seed, trace, substitute
from numpyro.infer import log_likelihood, Predictive
from numpyro.infer.reparam import LocScaleReparam
rng = np.random.default_rng(2)
group = jnp.asarray(rng.integers(0, 3, 15)); x = jnp.asarray(rng.normal(size=15), jnp.float32)
y = jnp.asarray([0.5, -1.0, 1.5])[group] + 0.8 * x + jnp.asarray(0.3 * rng.normal(size=15), jnp.float32)
def pooled(x, group, y=None):
    a = numpyro.sample("a", dist.Normal(0, 1)); b = numpyro.sample("b", dist.Normal(0, 1))
    with numpyro.plate("data", len(x)): numpyro.sample("y", dist.Normal(a + b * x, 0.5), obs=y)
def grouped(x, group, y=None):
    mu = numpyro.sample("mu", dist.Normal(0, 1)); b = numpyro.sample("b", dist.Normal(0, 1))
    with numpyro.plate("groups", 3): a = numpyro.sample("a", dist.Normal(mu, 1.0))
    with numpyro.plate("data", len(x)): numpyro.sample("y", dist.Normal(a[group] + b * x, 0.5), obs=y)
models = {"pooled": pooled, "grouped": reparam(grouped, config={"a": LocScaleReparam(0.0)})}
def importance(model, key, n):
    prior = Predictive(model, num_samples=n)(key, x, group)
    prior.pop("y")
    ll = log_likelihood(model, prior, x, group, y)["y"]
    w = jax.nn.softmax(ll.sum(1))
    return prior, ll, w
n = 60
---
rows = []
for i, (name, m) in enumerate(models.items()):
    samples, ll, w = importance(m, jr.key(i), n)
    lppd = jnp.log(jnp.sum(w[:, None] * jnp.exp(ll), 0)).sum()
    pw = (jnp.sum(w[:, None] * ll ** 2, 0) - jnp.sum(w[:, None] * ll, 0) ** 2).sum()
    ess = 1 / jnp.sum(w ** 2)
    rows.append((name, float(-2 * (lppd - pw)), ess))
sites = list(trace(seed(models["grouped"], 0)).get_trace(x, group))
fixed = trace(substitute(seed(pooled, 0), {"a": 0.0, "b": 1.0})).get_trace(x, group)["y"]["fn"].mean
ranking = [r[0] for r in sorted(rows, key=lambda r: r[1])]
b_mean = jnp.sum(w * samples["b"])
print(ranking, sites, [f"{e:.1f}" for *_, e in rows])
b_mean, jnp.allclose(fixed, x)
---
y = y - jnp.asarray([0.5, -1.0, 1.5])[group]
---
models.pop("grouped"); models["grouped"] = grouped; n = 40

### nam-diffrax-manual-stepping-with-a-kick-between-steps needs=diffrax
import diffrax
def field(t, y, args): return jnp.stack([y[1], -args["k"] * y[0] - args["c"] * y[1]])
term, solver = diffrax.ODETerm(field), diffrax.Tsit5()
args = {"k": 4.0, "c": 0.3}
t0, t1, dt0 = 0.0, 0.6, 0.1
y0 = jnp.array([1.0, 0.0])
def kick(t, y): return y.at[1].add(0.5) if 0.25 < t < 0.36 else y
---
tprev, tnext, y = t0, t0 + dt0, y0
state = solver.init(term, tprev, tnext, y0, args)
path, errors, made_jump = [y0], [], False
while tprev < t1:
    y, err, dense, state, result = solver.step(term, tprev, tnext, y, args, state, made_jump=made_jump)
    assert result == diffrax.RESULTS.successful
    kicked = kick(tnext, y)
    made_jump = kicked is not y
    y = kicked
    errors.append(float(jnp.abs(err).max()))
    path.append(y)
    tprev = tnext
    tnext = min(tprev + dt0, t1)
energy = 0.5 * (y[1] ** 2 + args["k"] * y[0] ** 2)
kinds = sorted(dense)
print(len(path), round(tprev, 3), made_jump, kinds, max(errors) < 1e-2)
jnp.stack(path)[-1], energy
---
args["c"] = 3.0
---
def kick(t, y): return y
dt0 = 0.2

### nam-optimistix-interactive-solver-steps-with-own-table needs=optimistix,equinox
import equinox as eqx, optimistix as optx, lineax as lx
def residual(y, args):
    t, obs = args
    return obs - y["a"] * jnp.exp(-y["k"] * t), {"k": y["k"]}
t = jnp.linspace(0, 3, 9)
args = (t, 2.0 * jnp.exp(-0.7 * t) + 0.01 * jnp.cos(5 * t))
y0 = {"a": jnp.array(1.0), "k": jnp.array(0.2)}
solver = optx.LevenbergMarquardt(rtol=1e-3, atol=1e-3)
max_steps = 8
---
fn = lambda y, args: residual(y, args)
f_struct, aux_struct = eqx.filter_eval_shape(fn, y0, args)
tags, options = frozenset(), {}
state = solver.init(fn, y0, args, options, f_struct, aux_struct, tags)
step = eqx.filter_jit(eqx.Partial(solver.step, fn=fn, args=args, options=options, tags=tags))
done = eqx.filter_jit(eqx.Partial(solver.terminate, fn=fn, args=args, options=options, tags=tags))
y, steps, table = y0, 0, []
while True:
    finished, result = done(y=y, state=state)
    if finished or steps >= max_steps:
        break
    y, state, aux = step(y=y, state=state)
    steps += 1
    table.append((steps, round(float(y["a"]), 2), round(float(y["k"]), 2)))
y, aux, _ = solver.postprocess(fn, y, aux, args, options, state, tags, result)
auto = optx.least_squares(fn, solver, y0, args, has_aux=True, max_steps=30, throw=False)
same = bool(jnp.allclose(auto.value["k"], y["k"], atol=5e-2))
print(steps == len(table), table[-1][1:], same, sorted(aux))
y
---
max_steps = 2
---
solver = optx.GaussNewton(rtol=1e-2, atol=1e-2); y0 = {"a": jnp.array(1.8), "k": jnp.array(0.5)}; max_steps = 8

### nam-haiku-vector-quantiser-ema-codebook-usage-by-code needs=haiku
import haiku as hk
codes, dim = 6, 3
def forward(x, is_training):
    enc = hk.nets.MLP([6, dim], name="encoder")
    vq = hk.nets.VectorQuantizerEMA(dim, codes, commitment_cost=commitment, decay=0.8)
    q = vq(enc(x), is_training)
    y = hk.nets.MLP([6, x.shape[-1]], name="decoder")(q["quantize"])
    return ((y - x) ** 2).mean() + q["loss"], {"idx": q["encoding_indices"], "perplexity": q["perplexity"]}
commitment = 0.25
net = hk.without_apply_rng(hk.transform_with_state(forward))
x = jnp.asarray(np.random.default_rng(4).normal(size=(18, 4)), jnp.float32)
params0, state0 = net.init(jr.PRNGKey(1), x, True)
---
params, state = params0, state0
usage, perplexities = Counter(), []
for step in range(5):
    def loss(p, s):
        (l, aux), s = net.apply(p, s, x, True)
        return l, (aux, s)
    (l, (aux, state)), g = jax.value_and_grad(loss, has_aux=True)(params, state)
    params = jax.tree.map(lambda a, b: a - 0.05 * b, params, g)
    usage.update(aux["idx"].ravel().tolist())
    perplexities.append(aux["perplexity"])
(final, aux), same = net.apply(params, state, x, False)
counts = [usage.get(c, 0) for c in range(codes)]
modules = sorted(params)
embeddings = {k: v.shape for k, v in state["vector_quantizer_ema"].items()} if "vector_quantizer_ema" in state else sorted(state)
print(sum(counts), modules[:2], embeddings)
final, jnp.stack(perplexities) > 0.9
---
x = x[:10] * 2
---
commitment = 5.0; params0, state0 = net.init(jr.PRNGKey(3), x, True)

### nam-linen-film-conditioning-with-captured-intermediates-filter needs=flax
from flax import linen as nn, traverse_util
class FiLM(nn.Module):
    @nn.compact
    def __call__(self, h, c):
        gb = nn.Dense(2 * h.shape[-1], kernel_init=nn.initializers.zeros_init())(c)
        g, b = jnp.split(gb, 2, -1)
        return h * (1 + g) + b
class Net(nn.Module):
    width: int = 6
    depth: int = 2
    @nn.compact
    def __call__(self, x, c):
        c = nn.Embed(3, 4, name="cond")(c)
        for i in range(self.depth):
            x = nn.silu(FiLM(name=f"film_{i}")(nn.Dense(self.width)(x), c))
            self.perturb(f"act_{i}", x)
        return nn.Dense(1, name="head")(x)[..., 0]
x = jnp.asarray(np.random.default_rng(9).normal(size=(8, 3)), jnp.float32)
c = jnp.array([0, 1, 2, 0, 1, 2, 0, 1]); y = jnp.where(c == 1, x.sum(1), -x[:, 0])
net, wanted = Net(), FiLM
---
variables = net.init(jr.key(0), x, c)
params, opt = variables["params"], optax.adam(0.05)
state, losses = opt.init(params), []
mse = lambda p: jnp.mean((net.apply({"params": p}, x, c) - y) ** 2)
for _ in range(4):
    l, g = jax.value_and_grad(mse)(params)
    up, state = opt.update(g, state)
    params = optax.apply_updates(params, up)
    losses.append(l.item())
_, mods = net.apply({"params": params}, x, c, capture_intermediates=lambda m, name: isinstance(m, wanted) and name == "__call__", mutable=["intermediates"])
flat = traverse_util.flatten_dict(mods["intermediates"], sep="/")
stats = {k: (v[0].shape, round(float(v[0].std()), 1)) for k, v in flat.items()}
by_class = {int(k): float(jnp.abs(flat[next(iter(flat))][0][c == k]).mean()) for k in jnp.unique(c)}
size = sum(p.size for p in jax.tree.leaves(params))
print(list(stats), size, sorted(variables), losses[-1] < losses[0])
params["head"]["bias"], len(by_class)
---
wanted = nn.Dense
---
net = net.clone(depth=1); c = c[::-1]

### nam-nnx-bridge-wraps-a-linen-block-and-lazy-init-trains needs=flax
from flax import linen as nn, nnx
class LinenBlock(nn.Module):
    features: int
    rate: float = 0.0
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Dense(self.features)(x)
        x = nn.BatchNorm(use_running_average=not train, momentum=0.5)(x)
        return nn.Dropout(self.rate, deterministic=not train)(nn.relu(x))
class Hybrid(nnx.Module):
    def __init__(self, rngs, rate):
        self.block = nnx.bridge.ToNNX(LinenBlock(6, rate), rngs=rngs)
        self.out = nnx.Linear(6, 1, rngs=rngs)
    def __call__(self, x, train=True): return self.out(self.block(x, train=train, mutable=["batch_stats"] if train else False))[:, 0]
x = jnp.asarray(np.random.default_rng(1).normal(size=(10, 3)), jnp.float32)
y = x[:, 0] * x[:, 1]
rate, lr = 0.0, 0.05
---
model = Hybrid(nnx.Rngs(params=0, dropout=1), rate)
nnx.bridge.lazy_init(model.block, x)
opt = nnx.Optimizer(model, optax.sgd(lr, momentum=0.9), wrt=nnx.Param)
losses = []
for _ in range(4):
    def loss_fn(m): return jnp.mean((m(x) - y) ** 2)
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    opt.update(model, grads)
    losses.append(loss.item())
kinds = Counter(type(v).__name__ for _, v in nnx.iter_graph(model) if isinstance(v, nnx.Variable))
pred = model(x, train=False)
repeat = bool(jnp.array_equal(pred, model(x, train=False)))
n_params = sum(v.size for v in jax.tree.leaves(nnx.state(model, nnx.Param)))
print(kinds["Param"], kinds["BatchStat"], n_params, repeat, losses[-1] <= losses[0])
pred[:3]
---
rate = 0.5
---
x = x * 3; lr = 0.01

### nam-nnx-lists-of-blocks-renamed-pruned-and-walked needs=flax
from flax import nnx
class Scale(nnx.Variable): pass
class Block(nnx.Module):
    def __init__(self, d, rngs):
        self.lin, self.scale, self.uses = nnx.Linear(d, d, rngs=rngs), Scale(jnp.ones(())), 0
    def __call__(self, x):
        self.uses += 1
        return x + self.scale * nnx.gelu(self.lin(x))
class Stack(nnx.Module):
    def __init__(self, d, n, rngs):
        self.blocks = nnx.List([Block(d, rngs) for _ in range(n)])
        self.extra = nnx.Dict(head=nnx.Linear(d, 2, rngs=rngs))
    def __call__(self, x):
        for b in self.blocks: x = b(x)
        return self.extra["head"](x)
x = jnp.asarray(np.random.default_rng(2).normal(size=(6, 4)), jnp.float32)
labels = jnp.array([0, 1, 0, 1, 1, 0])
model = Stack(4, 3, nnx.Rngs(7))
threshold = 0.99
---
opt = nnx.Optimizer(model, optax.adam(0.03), wrt=nnx.Any(nnx.Param, Scale))
for step in range(3):
    def nll(m): return optax.softmax_cross_entropy_with_integer_labels(m(x), labels).mean()
    loss, g = nnx.value_and_grad(nll, argnums=nnx.DiffState(0, nnx.Any(nnx.Param, Scale)))(model)
    opt.update(model, g)
scales = [b.scale[...].item() for b in model.blocks]
keep = [b for b, s in zip(model.blocks, scales) if s >= threshold] or list(model.blocks)[:1]
pruned = nnx.clone(model)
pruned.blocks = nnx.List([nnx.clone(b) for b in keep])
paths = [".".join(map(str, p)) for p, v in nnx.iter_graph(pruned) if isinstance(v, Scale)]
uses = [b.uses > 0 for b in model.blocks]
gap = jnp.abs(pruned(x) - model(x)).max()
print(len(pruned.blocks) <= len(model.blocks), len(paths) == len(keep), uses, len(scales))
loss, gap >= 0
---
model.blocks[1].scale[...] = jnp.array(0.1)
---
model.blocks = nnx.List(list(model.blocks)[:2]); labels = 1 - labels

### nam-eqx-positive-wrapper-unwrapped-before-use-and-frozen-field-by-where needs=equinox
import equinox as eqx
class Positive(eqx.Module):
    raw: jax.Array
    @classmethod
    def of(cls, value): return cls(jnp.log(jnp.expm1(jnp.asarray(value, jnp.float32))))
    def unwrap(self): return jax.nn.softplus(self.raw)
class Frozen(eqx.Module):
    value: Any
    def unwrap(self): return jax.tree.map(jax.lax.stop_gradient, self.value)
def is_wrapper(x): return isinstance(x, (Positive, Frozen))
def unwrap(tree): return jax.tree.map(lambda x: x.unwrap() if is_wrapper(x) else x, tree, is_leaf=is_wrapper)
class Pharmacokinetics(eqx.Module):
    ka: Any
    ke: Any
    volume: Any
    dose: float = eqx.field(static=True, default=10.0)
    def __call__(self, t):
        return self.dose * self.ka / (self.volume * (self.ka - self.ke)) * (jnp.exp(-self.ke * t) - jnp.exp(-self.ka * t))
    def half_life(self): return math.log(2) / self.ke
t = jnp.array([0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
conc = Pharmacokinetics(1.5, 0.3, 4.0)(t) * jnp.array([1.1, 0.9, 1.05, 1.0, 0.95, 1.1])
model = Pharmacokinetics(Positive.of(1.0), Positive.of(0.2), Frozen(jnp.array(4.0)))
steps, lr = 8, 0.1
---
@eqx.filter_value_and_grad
def loss(m):
    return jnp.mean((jnp.log(unwrap(m)(t)) - jnp.log(conc)) ** 2)
tx = optax.adam(lr)
fitted, state = model, tx.init(eqx.filter(model, eqx.is_inexact_array))
losses = []
for _ in range(steps):
    l, g = loss(fitted)
    up, state = tx.update(g, state)
    fitted = eqx.apply_updates(fitted, up)
    losses.append(l)
final = unwrap(fitted)
freed = eqx.tree_at(lambda m: m.volume, fitted, replace_fn=lambda w: Positive.of(w.value), is_leaf=is_wrapper)
kept = fitted.volume.value == model.volume.value
report = {f: round(float(getattr(final, f)), 2) for f in ("ka", "ke", "volume")}
print(type(freed.volume).__name__, bool(kept), report["volume"], bool(losses[-1] < losses[0]))
final.half_life(), unwrap(freed)(t)[0]
---
model = eqx.tree_at(lambda m: m.ke, model, Frozen(jnp.array(0.5)), is_leaf=is_wrapper)
---
conc = conc.at[2].set(0.4); lr = 0.02

### nam-eqx-error-if-guards-and-state-index-handled-in-a-retry-loop needs=equinox
import equinox as eqx
class RunningMax(eqx.Module):
    index: eqx.nn.StateIndex
    limit: float
    def __init__(self, limit): self.index, self.limit = eqx.nn.StateIndex(jnp.zeros(())), limit
    def __call__(self, x, state):
        m = jnp.maximum(state.get(self.index), jnp.abs(x).max())
        state = state.set(self.index, m)
        m = eqx.error_if(m, m > self.limit, "activation above limit")
        return x / (m + 1e-3), state
class Net(eqx.Module):
    lin: eqx.nn.Linear
    norm: RunningMax
    def __init__(self, key, limit): self.lin, self.norm = eqx.nn.Linear(3, 3, key=key), RunningMax(limit)
    def __call__(self, x, state):
        x, state = self.norm(self.lin(x), state)
        return jnp.sum(x ** 2), state
limit, scale = 2.0, 1.0
batches = [jnp.arange(3.0), jnp.array([1.0, -4.0, 2.0]), jnp.array([9.0, 9.0, -9.0])]
---
model, state = eqx.nn.make_with_state(Net)(jr.key(2), limit)
outcomes, outputs = [], []
for i, b in enumerate(batches):
    attempt = 0
    leaves, treedef = jax.tree.flatten(state)
    while True:
        try:
            y, new_state = model(b * scale / 2 ** attempt, jax.tree.unflatten(treedef, leaves))
            jax.block_until_ready(y)
        except Exception as e:
            outcomes.append((i, attempt, "above limit" in str(e)))
            attempt += 1
            if attempt > 4: raise RuntimeError(f"batch {i} gave up") from None
            continue
        state = new_state
        outputs.append(y)
        break
high = state.get(model.norm.index)
retries = sum(1 for _ in outcomes)
print(outcomes, retries, len(outputs))
high <= limit, jnp.stack(outputs)
---
limit = 50.0
---
scale = 0.1; batches = batches[::-1]

### nam-set-prediction-matched-by-scipy-assignment-then-jax-loss needs=scipy
from scipy.optimize import linear_sum_assignment
rng = np.random.default_rng(7)
scenes = [{"boxes": rng.uniform(0, 1, (n, 2)).astype(np.float32), "labels": rng.integers(0, 2, n)} for n in (2, 3, 1)]
Q = 4
ks = jr.split(jr.key(3), 3)
params0 = {"q": jr.normal(ks[0], (Q, 5)), "w": 0.5 * jr.normal(ks[1], (5 + 3, 8)), "o": 0.3 * jr.normal(ks[2], (8, 5))}
feats = jnp.asarray(rng.normal(size=(3, 3)), jnp.float32)
def model(p, f):
    h = jnp.tanh(jnp.concatenate([p["q"], jnp.broadcast_to(f, (Q, 3))], 1) @ p["w"]) @ p["o"]
    return h[:, :3], jax.nn.sigmoid(h[:, 3:])
def match(logits, boxes, gt, w_box):
    cost = -np.asarray(jax.nn.softmax(logits))[:, gt["labels"]] + w_box * np.abs(np.asarray(boxes)[:, None] - gt["boxes"]).sum(-1)
    return linear_sum_assignment(cost)
def set_loss(p, f, gt, rows, cols, w_box):
    logits, boxes = model(p, f)
    target = jnp.full(Q, 2).at[rows].set(gt["labels"][cols])
    ce = optax.softmax_cross_entropy_with_integer_labels(logits, target)
    ce = jnp.where(target == 2, 0.2 * ce, ce).mean()
    return ce + w_box * jnp.abs(boxes[rows] - gt["boxes"][cols]).mean()
w_box = 2.0
---
params, assignments, losses = params0, {}, []
for epoch in range(3):
    total = 0.0
    for i, gt in enumerate(scenes):
        rows, cols = match(*model(params, feats[i]), gt, w_box)
        key = (epoch, i)
        assignments[key] = dict(zip(rows.tolist(), cols.tolist()))
        l, g = jax.value_and_grad(set_loss)(params, feats[i], gt, rows, cols, w_box)
        params = jax.tree.map(lambda a, b: a - 0.2 * b, params, g)
        total += l.item()
    losses.append(total / len(scenes))
changes = sum(assignments[e, i] != assignments[e - 1, i] for e in (1, 2) for i in range(len(scenes)))
sizes = [len(a) for a in assignments.values()]
print(sizes, losses[-1] < losses[0], 0 <= changes)
params["o"][:, 0]
---
w_box = 0.1
---
scenes[2]["labels"] = scenes[2]["labels"] * 0; Q = 4; feats = feats * -1

### nam-int8-quantised-matrix-class-calibrated-by-percentiles-and-swapped-in
class QTensor:
    def __init__(self, q, scale): self.q, self.scale = q, scale
    @classmethod
    def quantise(cls, w, bits=8, pct=100.0, axis=0):
        top = 2 ** (bits - 1) - 1
        amax = np.percentile(np.abs(np.asarray(w)), pct, axis=axis, keepdims=True).astype(np.float32)
        scale = np.where(amax == 0, 1, amax) / top
        return cls(jnp.clip(jnp.round(w / scale), -top, top).astype(jnp.int8), jnp.asarray(scale, jnp.float32))
    def dequantise(self): return self.q.astype(jnp.float32) * self.scale
    def __rmatmul__(self, x): return (x @ self.q.astype(x.dtype)) * self.scale[0]
    __array_priority__ = 1000
    __jax_array__ = None
    nbytes = property(lambda self: self.q.nbytes + self.scale.nbytes)
    shape = property(lambda self: self.q.shape)
    def __repr__(self): return f"QTensor{self.shape}"
del QTensor.__jax_array__
def apply(layers, x, matmul):
    for i, l in enumerate(layers):
        x = matmul(x, l["w"]) + l["b"]
        x = jax.nn.relu(x) if i < len(layers) - 1 else x
    return x
def mm(x, w): return w.__rmatmul__(x) if isinstance(w, QTensor) else x @ w
rng = np.random.default_rng(10)
layers = [{"w": jnp.asarray(rng.standard_t(3, s), jnp.float32), "b": jnp.zeros(s[1])} for s in ((6, 12), (12, 4))]
calib = jnp.asarray(rng.normal(size=(16, 6)), jnp.float32)
plan = [(8, 100.0), (4, 100.0), (4, 95.0)]
---
ref = apply(layers, calib, mm)
rows, kept = [], {}
for bits, pct in plan:
    quant = [dict(l, w=QTensor.quantise(l["w"], bits, pct)) for l in layers]
    out = apply(quant, calib, mm)
    err = jnp.sqrt(jnp.mean((out - ref) ** 2)) / jnp.std(ref)
    agree = (out.argmax(1) == ref.argmax(1)).mean()
    rows.append((bits, pct, float(err), float(agree), sum(l["w"].nbytes for l in quant)))
    kept[bits, pct] = quant
best = min(rows, key=lambda r: r[2])
mixed = [kept[8, 100.0][0], layers[1]]
print([r[0] for r in rows], best[:2], [l["w"] for l in quant], rows[0][-1])
apply(mixed, calib[:1], mm), kept[best[:2]][0]["w"].q.dtype
---
plan.append((3, 90.0))
---
layers[0]["w"] = layers[0]["w"].at[0, 0].set(40.0)

### nam-zero-style-optimizer-state-sharded-over-eight-params-replicated devices=8
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:8]), ("data",))
rep, row = NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))
def spec(x): return row if x.ndim and x.shape[0] % 8 == 0 else rep
rng = np.random.default_rng(3)
host = {"w1": rng.normal(size=(8, 16)), "w2": rng.normal(size=(16, 1)), "b": np.zeros(3)}
tx = optax.adamw(0.05, weight_decay=0.01)
X = rng.normal(size=(16, 8)).astype(np.float32); Y = np.sign(X[:, :1]) * 0.5
def loss(p, x, y): return jnp.mean((jnp.tanh(x @ p["w1"]) @ p["w2"] + p["b"].sum() - y) ** 2)
def place(tree, f): return jax.tree.map(lambda a: jax.device_put(a, f(a)), tree)
steps = 3
---
params = place(jax.tree.map(lambda a: jnp.asarray(a, jnp.float32), host), lambda a: rep)
state = place(tx.init(params), spec)
x, y = jax.device_put(X, row), jax.device_put(Y, row)
@jax.jit
def step(params, state, x, y):
    l, g = jax.value_and_grad(loss)(params, x, y)
    g = jax.tree.map(lambda a: jax.lax.with_sharding_constraint(a, spec(a)), g)
    up, state = tx.update(g, state, params)
    new = optax.apply_updates(params, up)
    return jax.lax.with_sharding_constraint(new, rep), state, l
losses = []
for _ in range(steps):
    params, state, l = step(params, state, x, y)
    losses.append(float(l))
local = {k: v.addressable_shards[0].data.shape for k, v in state[0].mu.items()}
bytes_per_device = sum(s.data.nbytes for a in jax.tree.leaves(state) for s in a.addressable_shards if s.device == jax.devices()[0])
print(local, bytes_per_device, params["w1"].sharding.is_fully_replicated, losses[-1] < losses[0])
params["w2"].sum(), state[0].count
---
tx = optax.sgd(0.1, momentum=0.9)
state_kind = type(tx.init({"w": jnp.zeros(2)})[0]).__name__
tx = optax.adam(0.1)
---
X = X[::-1].copy(); steps = 1

### nam-island-evolution-under-shard-map-with-migration-by-permute devices=4
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:4]), ("isle",))
def fitness(x): return -jnp.sum(x ** 2 - 3 * jnp.cos(2 * jnp.pi * x) + 3, -1)
def generation(pop, key, sigma):
    fit = fitness(pop)
    order = jnp.argsort(-fit)
    elite = pop[order[: len(pop) // 2]]
    k1, k2 = jr.split(key)
    parents = elite[jr.randint(k1, (len(pop) - len(elite),), 0, len(elite))]
    kids = parents + sigma * jr.normal(k2, parents.shape)
    return jnp.concatenate([elite, kids])
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=(P("isle"), P("isle"), P()), out_specs=(P("isle"), P("isle")))
def evolve(pop, keys, sigma):
    def body(pop, k): return generation(pop, k, sigma), fitness(pop).max()
    pop, best = lax.scan(body, pop, jr.split(keys[0], 3))
    return pop, best[None]
@jax.jit
@partial(jax.shard_map, mesh=mesh, in_specs=P("isle"), out_specs=P("isle"))
def migrate(pop):
    n = lax.axis_size("isle")
    top = pop[:1]
    arrived = lax.ppermute(top, "isle", [(i, (i + 1) % n) for i in range(n)])
    return pop.at[-1:].set(arrived)
pop0 = jnp.asarray(np.random.default_rng(1).uniform(-3, 3, (24, 2)), jnp.float32)
rounds, sigma, every = 3, 0.3, 2
---
pop, history, moved = pop0, [], 0
for r in range(rounds):
    keys = jr.split(jr.key(r), 4)
    pop, best = evolve(pop, keys, jnp.float32(sigma))
    history.append(np.asarray(best)[:, -1])
    if (r + 1) % every == 0:
        pop = migrate(pop)
        moved += 4
per_isle = {d.id: fitness(s.data).max().item() for s in pop.addressable_shards for d in [s.device]}
champion = pop[jnp.argmax(fitness(pop))]
print(len(per_isle), moved, np.shape(history), pop.sharding.spec)
champion, fitness(champion)
---
sigma = 0.05
---
def fitness(x): return -jnp.sum(jnp.abs(x), -1)
every = 1

### nam-lagrangian-to-equations-of-motion-by-grad-and-hessian-double-pendulum tolerance=2e-3
def double_pendulum(q, qd, m=(1.0, 1.0), l=(1.0, 0.8), g=9.8):
    x = jnp.cumsum(jnp.array(l) * jnp.sin(q)); y = jnp.cumsum(-jnp.array(l) * jnp.cos(q))
    vx = jnp.cumsum(jnp.array(l) * jnp.cos(q) * qd); vy = jnp.cumsum(jnp.array(l) * jnp.sin(q) * qd)
    return 0.5 * jnp.sum(jnp.array(m) * (vx ** 2 + vy ** 2)) - g * jnp.sum(jnp.array(m) * y)
class System:
    def __init__(self, lagrangian, damping=0.0): self.L, self.damping = lagrangian, damping
    def momentum(self, q, qd): return jax.grad(self.L, 1)(q, qd)
    def energy(self, q, qd): return self.momentum(q, qd) @ qd - self.L(q, qd)
    def __call__(self, q, qd):
        M = jax.hessian(self.L, 1)(q, qd)
        C = jax.jacfwd(jax.grad(self.L, 1), 0)(q, qd) @ qd
        return jnp.linalg.solve(M, jax.grad(self.L, 0)(q, qd) - C - self.damping * qd)
    def rk4(self, q, qd, h):
        f = lambda s: jnp.stack([s[1], self(*s)])
        s = jnp.stack([q, qd]); k1 = f(s); k2 = f(s + h / 2 * k1); k3 = f(s + h / 2 * k2); k4 = f(s + h * k3)
        return s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
system = System(double_pendulum)
q0, qd0, h, steps = jnp.array([0.6, -0.4]), jnp.zeros(2), 0.02, 6
---
stepper = jax.jit(system.rk4)
states = [jnp.stack([q0, qd0])]
energies = [system.energy(q0, qd0)]
for _ in range(steps):
    states.append(stepper(*states[-1], h))
    energies.append(system.energy(*states[-1]))
states = jnp.stack(states)
drift = max(abs(float(e - energies[0])) for e in energies)
crossed = [i for i, (a, b) in enumerate(zip(states[:-1, 0, 1], states[1:, 0, 1])) if a * b < 0]
report = f"steps={len(energies) - 1} conserved={drift < 5e-2} crossed={crossed}"
print(report)
states[-1], energies[0]
---
system.damping = 0.5
---
system.L = partial(double_pendulum, m=(1.0, 0.3), g=1.6); h = 0.05

### nam-sharp-bits-jitted-bound-method-keeps-the-old-multiplier
class Scaler:
    def __init__(self, mul): self.mul = mul
    def calc(self, x): return self.mul * x + 1
class Counter2:
    def __init__(self): self.n = 0
    def count(self):
        self.n += 1
        return self.n
    def reset(self): self.n = 0
class CounterV2:
    def count(self, n): return n + 1, n + 1
    def reset(self): return jnp.array(0)
g = 1.0
def impure(x): return x + g
fast_impure = jax.jit(impure)
s = Scaler(2.0)
fast_calc = jax.jit(s.calc)
first = fast_calc(3)
---
before = fast_calc(3)
s.mul = s.mul + 1.0
stale, fresh = fast_calc(3), s.calc(3)
counter = Counter2()
plain_counts = [counter.count() for _ in range(3)]
counter.reset()
fast_count = jax.jit(counter.count)
jitted_counts = [int(fast_count()) for _ in range(3)]
kept = counter.n
v2 = CounterV2(); state = v2.reset(); fast_v2 = jax.jit(v2.count)
pure_counts = []
for _ in range(3):
    value, state = fast_v2(state)
    pure_counts.append(value.item())
seen = fast_impure(4.0)
g = g * 10
seen_after, really = fast_impure(5), impure(5.0)
print(plain_counts, jitted_counts, kept, pure_counts)
before, stale, fresh, seen, seen_after, really
---
s = Scaler(-1.0); fast_calc = jax.jit(s.calc)
---
def impure(x): return x * g
fast_impure = jax.jit(impure)

### nam-sharp-bits-escape-time-with-return-in-loop-fails-under-vmap-then-fixed
def escape(c, max_iter):
    z = 0.0 + 0.0j
    for i in range(max_iter):
        z = z * z + c
        if jnp.abs(z) > 2.0:
            return i
    return max_iter
def escape_while(c, max_iter):
    def cond(s): return (s[1] < max_iter) & (jnp.abs(s[0]) <= 2.0)
    def body(s): return s[0] * s[0] + c, s[1] + 1
    z, n = lax.while_loop(cond, body, (c, 0))
    return n
points = jnp.array([-0.75 + 0.1j, 0.5 + 0.5j, 1.0 + 0.0j, 0.0 + 1.0j], jnp.complex64)
max_iter = 8
---
slow = [escape(c, max_iter) for c in points]
try:
    counts = jax.vmap(escape, (0, None))(points, max_iter)
except jax.errors.TracerBoolConversionError as e:
    kind = type(e).__name__
    counts = jax.vmap(escape_while, (0, None))(points, max_iter)
else:
    kind = None
agree = [int(a) == int(b) for a, b in zip(slow, counts)]
rows = []
for im in np.linspace(-1, 1, 4):
    row = jax.vmap(lambda re: escape_while(jax.lax.complex(re, jnp.float32(im)), max_iter))(jnp.linspace(-2, 0.5, 12))
    rows.append("".join(" .:-=+*#%"[min(int(n), 8)] for n in row))
print("\n".join(rows)); print(kind, slow, agree)
counts
---
max_iter = 4
---
points = points * 0.5
def escape(c, max_iter): return escape_while(c, max_iter)

### nam-compile-prints-counted-per-shape-dtype-and-static-argument
log = []
@partial(jax.jit, static_argnames=("mode",))
def f(x, mode="sum"):
    print("COMPILE", x.shape, x.dtype, mode)
    log.append((x.shape, str(x.dtype), mode))
    return getattr(jnp, mode)(x * 2)
def pad_to(x, n): return jnp.pad(x, (0, n - len(x)))
@jax.jit
def inner(x):
    log.append("inner")
    return jnp.sin(x)
@jax.jit
def outer(x): return inner(x) + inner(x + 1)
lengths, bucket = [2, 3, 2, 5], None
---
log.clear()
outs = []
for n in lengths:
    x = jnp.arange(float(n))
    outs.append(f(x if bucket is None else pad_to(x, bucket)))
    outs.append(f(np.arange(n, dtype=np.int32), mode="max"))
a, b = outer(jnp.float32(0.5)), outer(1.5)
traced = len(log)
cached = f._cache_size()
distinct = sorted({e if isinstance(e, str) else e[2] for e in log})
print(traced, cached, distinct)
jnp.stack([o.astype(jnp.float32) for o in outs]), a + b
---
bucket = 6
---
f.clear_cache(); lengths.append(4)

### nam-messy-notebook-globals-train-one-epoch-with-global-params-and-best
np.random.seed(0)
X = np.random.randn(30, 4); Y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
X = (X - X.mean(0)) / X.std(0)
idx = np.random.permutation(30); X, Y = X[idx], Y[idx]
Xtr, Ytr, Xva, Yva = X[:20], Y[:20], X[20:], Y[20:]
W1, b1 = jnp.array(np.random.randn(4, 6) * 0.5), jnp.zeros(6); W2, b2 = jnp.array(np.random.randn(6) * 0.5), 0.0
params = [W1, b1, W2, b2]
LR, BS = 0.5, 7
best_acc, best_params, epoch_no, train_log = 0, None, 0, []
def predict(params, x):
    W1, b1, W2, b2 = params
    return jax.nn.sigmoid(jnp.tanh(x @ W1 + b1) @ W2 + b2)
def bce(params, x, y):
    p = jnp.clip(predict(params, x), 1e-6, 1 - 1e-6)
    return -jnp.mean(y * jnp.log(p) + (1 - y) * jnp.log(1 - p))
grad_fn = jax.jit(jax.value_and_grad(bce))
def accuracy(x, y): return np.mean((predict(params, x) > 0.5) == y)
def train_one_epoch():
    global params, best_acc, best_params, epoch_no
    perm = np.random.permutation(len(Xtr))
    tot = 0
    for i in range(0, len(perm), BS):
        j = perm[i:i+BS]
        l, g = grad_fn(params, Xtr[j], Ytr[j])
        params = [p - LR * gg for p, gg in zip(params, g)]
        tot += l * len(j)
    epoch_no += 1
    acc = accuracy(Xva, Yva)
    if acc > best_acc:
        best_acc, best_params = acc, params
    train_log.append((epoch_no, tot / len(Xtr), acc))
    return acc
---
for _ in range(3):
    acc = train_one_epoch()
W1, b1, W2, b2 = params
print(f"epoch {epoch_no} entries {len(train_log)}")
plt_x = [e for e, *_ in train_log]
plt_y = [float(l) for _, l, _ in train_log]
is_best = best_params is params
type(b2), W2.shape, W2.dtype
---
LR = 0.05; best_acc = 2
---
train_log = train_log[-1:]; params = [jnp.asarray(p) for p in best_params] if best_params else params

### nam-spring-network-relaxed-by-fire-with-state-restarts-and-reverts tolerance=1e-3
@dataclass
class Fire:
    dt: float = 0.1
    alpha: float = 0.1
    n_pos: int = 0
    resets: int = 0
    N_MIN = 2
    def step(self, x, v, force):
        f = force(x)
        power = jnp.vdot(f, v)
        if power > 0:
            self.n_pos += 1
            v = (1 - self.alpha) * v + self.alpha * f * jnp.linalg.norm(v) / (jnp.linalg.norm(f) + 1e-9)
            if self.n_pos > self.N_MIN:
                self.dt = min(self.dt * 1.1, 0.3)
                self.alpha *= 0.99
        else:
            self.resets += 1; self.n_pos = 0
            self.dt, self.alpha = self.dt * 0.5, 0.1
            v = jnp.zeros_like(v)
        v = v + self.dt * f
        return x + self.dt * v, v
edges = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
rest = jnp.array([1.0, 1.0, 1.0, 1.0, 1.4])
stiff = jnp.ones(5)
def energy(x, pinned=()):
    d = jnp.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
    return 0.5 * jnp.sum(stiff * (d - rest) ** 2)
x0 = jnp.array([[0.0, 0.0], [1.3, 0.1], [1.2, 0.9], [-0.1, 1.2]])
max_iter, ftol = 10, 1e-3
---
force = lambda x: -jax.grad(energy)(x)
opt, x, v = Fire(), x0, jnp.zeros_like(x0)
log = []
for it in range(max_iter):
    x, v = opt.step(x, v, force)
    fmax = jnp.abs(force(x)).max()
    log.append(dict(it=it, E=energy(x).item(), fmax=fmax.item()))
    if fmax < ftol:
        break
else:
    print("not relaxed after", max_iter)
lengths = jnp.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1)
tension = {tuple(int(i) for i in e): round(float(t), 1) for e, t in zip(edges, lengths - rest)}
print(len(log), asdict(opt).keys() >= {"dt"}, log[-1]["E"] < log[0]["E"], list(tension)[0])
x, lengths.sum()
---
stiff = stiff.at[4].set(20.0)
---
Fire.N_MIN = 0; max_iter = 6
""",
)
