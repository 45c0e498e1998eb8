"""Notebooks as people write them: tutorials, libraries, agents, simulations, samplers, and edits between runs."""

from ..cell import written

PRELUDE = """
import os, sys, json, math, copy, time, random, itertools, functools, collections, dataclasses, pickle, string
from collections import defaultdict, deque, namedtuple, Counter, OrderedDict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, Sequence
from functools import partial
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, jit, grad, vmap
import optax
rs = np.random.default_rng(3)
X = rs.normal(size=(32, 5)).astype(np.float32)
w_true = np.array([0.5, -1.0, 2.0, 0.0, 0.25], np.float32)
y = (X @ w_true + 0.1 * rs.normal(size=32)).astype(np.float32)
cls = (y > 0).astype(np.int32)
"""

CELLS = written(
    PRELUDE,
    r"""
### ha-stax-optimizers-mnist-style
from jax.example_libraries import stax, optimizers
from jax.example_libraries.stax import Dense, Relu, LogSoftmax
step_size, num_epochs, batch_size, momentum_mass = 0.05, 2, 8, 0.9
train_images = X; train_labels = np.eye(2, dtype=np.float32)[cls]
init_random_params, predict = stax.serial(Dense(8), Relu, Dense(2), LogSoftmax)
def loss(params, batch):
    inputs, targets = batch
    return -jnp.mean(jnp.sum(predict(params, inputs) * targets, axis=1))
def accuracy(params, batch):
    inputs, targets = batch
    return jnp.mean(jnp.argmax(predict(params, inputs), axis=1) == jnp.argmax(targets, axis=1))
---
rng = jax.random.PRNGKey(0)
num_train = train_images.shape[0]
num_complete_batches, leftover = divmod(num_train, batch_size)
num_batches = num_complete_batches + bool(leftover)
def data_stream():
    rng = np.random.RandomState(0)
    while True:
        perm = rng.permutation(num_train)
        for i in range(num_batches):
            batch_idx = perm[i * batch_size:(i + 1) * batch_size]
            yield train_images[batch_idx], train_labels[batch_idx]
batches = data_stream()
opt_init, opt_update, get_params = optimizers.momentum(step_size, mass=momentum_mass)
@jit
def update(i, opt_state, batch):
    params = get_params(opt_state)
    return opt_update(i, grad(loss)(params, batch), opt_state)
_, init_params = init_random_params(rng, (-1, train_images.shape[1]))
opt_state = opt_init(init_params)
itercount = itertools.count()
print("Starting training...")
for epoch in range(num_epochs):
    start_time = time.time()
    for _ in range(num_batches):
        opt_state = update(next(itercount), opt_state, next(batches))
    epoch_time = time.time() - start_time
    params = get_params(opt_state)
    train_acc = accuracy(params, (train_images, train_labels))
    print(f"Epoch {epoch} done")
    print("Training set accuracy {}".format(train_acc))
del epoch_time, start_time, batches
---
batch_size = 12
---
step_size, momentum_mass = 0.01, 0.5
---
train_images = train_images[:20] * 2; train_labels = train_labels[:20]
---
init_random_params, predict = stax.serial(Dense(4), stax.Tanh, Dense(4), stax.Tanh, Dense(2), LogSoftmax)

### ha-jax-docs-mlp-list-params-per-epoch
layer_sizes = [5, 16, 2]
num_epochs, batch_size, step_size = 3, 8, 0.05
def random_layer_params(m, n, key, scale=1e-1):
    w_key, b_key = jax.random.split(key)
    return scale * jax.random.normal(w_key, (n, m)), scale * jax.random.normal(b_key, (n,))
def init_network_params(sizes, key):
    keys = jax.random.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]
def one_hot(x, k, dtype=jnp.float32):
    return jnp.array(x[:, None] == jnp.arange(k), dtype)
def get_train_batches():
    for i in range(0, len(X), batch_size): yield X[i:i + batch_size], cls[i:i + batch_size]
params = init_network_params(layer_sizes, jax.random.key(0))
log_acc_train, log_loss = [], []
---
def relu(x): return jnp.maximum(0, x)
def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        outputs = jnp.dot(w, activations) + b
        activations = relu(outputs)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - jax.nn.logsumexp(logits)
batched_predict = vmap(predict, in_axes=(None, 0))
def accuracy(params, images, targets):
    return jnp.mean(jnp.argmax(batched_predict(params, images), axis=1) == jnp.argmax(targets, axis=1))
def loss(params, images, targets):
    return -jnp.mean(batched_predict(params, images) * targets)
@jit
def update(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return [(w - step_size * dw, b - step_size * db) for (w, b), (dw, db) in zip(params, grads)], value
for epoch in range(num_epochs):
    running = []
    for x, t in get_train_batches():
        t = one_hot(t, 2)
        params, value = update(params, x, t)
        running.append(value)
    log_loss.append(jnp.mean(jnp.array(running)))
    log_acc_train.append(accuracy(params, X, one_hot(cls, 2)))
    print("Epoch {} | train acc {:0.3f} | loss {:0.3f}".format(epoch, log_acc_train[-1], log_loss[-1]))
---
step_size = 0.2
---
params = init_network_params([5, 6, 6, 2], jax.random.key(1)); num_epochs = 1
---
log_acc_train.clear(); log_loss = []
---
X = X.astype(np.float16)
---
X = X.astype(np.float32); batch_size = 32

### ha-gymnax-like-cartpole-a2c-namedtuple-runner needs=flax
import flax.linen as nn
from flax.training.train_state import TrainState
class EnvState(NamedTuple):
    x: jax.Array
    v: jax.Array
    t: jax.Array
@dataclass(frozen=True)
class EnvParams:
    gravity: float = 0.3
    max_steps: int = 5
class Env:
    num_actions = 3
    def reset(self, key, params):
        x = jax.random.uniform(key, (), minval=-1, maxval=1)
        s = EnvState(x, jnp.float32(0), jnp.int32(0))
        return self.get_obs(s), s
    def get_obs(self, s): return jnp.stack([s.x, s.v])
    def step(self, key, s, a, params):
        v = s.v + 0.2 * (a - 1) - params.gravity * s.x
        ns = EnvState(s.x + 0.3 * v, v, s.t + 1)
        done = (ns.t >= params.max_steps) | (jnp.abs(ns.x) > 2)
        obs_r, st_r = self.reset(key, params)
        st = jax.tree.map(lambda a, b: jnp.where(done, a, b), st_r, ns)
        return self.get_obs(st), st, -ns.x ** 2, done, {"steps": ns.t}
class ActorCritic(nn.Module):
    action_dim: int
    @nn.compact
    def __call__(self, x):
        h = nn.tanh(nn.Dense(8)(x))
        return nn.Dense(self.action_dim)(h), nn.Dense(1)(h)[..., 0]
class Transition(NamedTuple):
    done: Any; action: Any; value: Any; reward: Any; log_prob: Any; obs: Any
config = {"LR": 1e-2, "NUM_ENVS": 4, "NUM_STEPS": 6, "UPDATES": 2, "GAMMA": 0.9, "ENT_COEF": 0.01, "ANNEAL_LR": True}
env, env_params = Env(), EnvParams()
---
def make_train(config):
    def linear_schedule(count): return config["LR"] * (1.0 - count / config["UPDATES"])
    network = ActorCritic(env.num_actions)
    def init(rng):
        rng, _rng = jax.random.split(rng)
        params = network.init(_rng, jnp.zeros(2))
        lr = linear_schedule if config["ANNEAL_LR"] else config["LR"]
        state = TrainState.create(apply_fn=network.apply, params=params,
                                  tx=optax.chain(optax.clip_by_global_norm(0.5), optax.adam(lr, eps=1e-5)))
        rng, _rng = jax.random.split(rng)
        obs, env_state = vmap(env.reset, in_axes=(0, None))(jax.random.split(_rng, config["NUM_ENVS"]), env_params)
        return state, env_state, obs, rng
    @jit
    def update_step(runner, _=None):
        def env_step(runner, _):
            state, env_state, obs, rng = runner
            rng, k1, k2 = jax.random.split(rng, 3)
            logits, value = network.apply(state.params, obs)
            action = jax.random.categorical(k1, logits)
            lp = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
            nobs, env_state, reward, done, info = vmap(env.step, in_axes=(0, 0, 0, None))(
                jax.random.split(k2, config["NUM_ENVS"]), env_state, action, env_params)
            return (state, env_state, nobs, rng), (Transition(done, action, value, reward, lp, obs), info)
        runner, (traj, info) = lax.scan(env_step, runner, None, config["NUM_STEPS"])
        state, env_state, obs, rng = runner
        _, last_val = network.apply(state.params, obs)
        def ret(R, t):
            R = t.reward + config["GAMMA"] * R * (1 - t.done)
            return R, R
        _, returns = lax.scan(ret, last_val, traj, reverse=True)
        def loss_fn(params):
            logits, v = network.apply(params, traj.obs)
            logp = jax.nn.log_softmax(logits)
            lp = jnp.take_along_axis(logp, traj.action[..., None], -1)[..., 0]
            ent = -(jnp.exp(logp) * logp).sum(-1).mean()
            pg = -(lp * lax.stop_gradient(returns - v)).mean()
            return pg + 0.5 * ((returns - v) ** 2).mean() - config["ENT_COEF"] * ent, {"pg": pg, "entropy": ent}
        (loss, aux), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
        return (state.apply_gradients(grads=grads), env_state, obs, rng), {"loss": loss, **aux, "ret": returns.mean()}
    return init, update_step
init, update_step = make_train(config)
runner_state = init(jax.random.PRNGKey(30))
metrics = defaultdict(list)
for u in range(config["UPDATES"]):
    runner_state, m = update_step(runner_state)
    for k, v in m.items():
        metrics[k].append(float(v))
    if u % 1 == 0:
        print(f"update {u:3d} | loss {m['loss']:.3f} | entropy {m['entropy']:.3f}")
int(runner_state[0].step), sorted(metrics)
---
config["NUM_ENVS"] = 2
---
config.update(ANNEAL_LR=False, UPDATES=3)
---
env_params = EnvParams(gravity=0.1, max_steps=3)
---
Env.num_actions = 2

### ha-char-rnn-scan-text-sampling-temperature tolerance=1e-4
data = "hello world, how are you? hello moon. " * 2
chars = sorted(set(data)); vocab = len(chars)
char_to_ix = {ch: i for i, ch in enumerate(chars)}
ix_to_char = {i: ch for i, ch in enumerate(chars)}
hidden_size, seq_length, learning_rate, temperature = 12, 10, 0.1, 1.0
def init_rnn(key):
    ks = jax.random.split(key, 3)
    return dict(Wxh=jax.random.normal(ks[0], (hidden_size, vocab)) * 0.1,
                Whh=jax.random.normal(ks[1], (hidden_size, hidden_size)) * 0.1,
                Why=jax.random.normal(ks[2], (vocab, hidden_size)) * 0.1,
                bh=jnp.zeros(hidden_size), by=jnp.zeros(vocab))
params = init_rnn(jax.random.PRNGKey(1))
mem = jax.tree.map(jnp.zeros_like, params)
smooth_loss = -np.log(1.0 / vocab) * seq_length
n, p = 0, 0
iters = 6
---
def rnn_step(params, h, x):
    h = jnp.tanh(params["Wxh"][:, x] + params["Whh"] @ h + params["bh"])
    return h, params["Why"] @ h + params["by"]
@jit
def loss_fn(params, inputs, targets, hprev):
    h, logits = lax.scan(lambda h, x: rnn_step(params, h, x), hprev, inputs)
    return optax.softmax_cross_entropy_with_integer_labels(logits, targets).sum(), h
def sample(params, h, seed_ix, n, key):
    ixes = []
    x = seed_ix
    for t in range(n):
        h, logits = rnn_step(params, h, x)
        key, sub = jax.random.split(key)
        x = int(jax.random.categorical(sub, logits / temperature))
        ixes.append(x)
    return "".join(ix_to_char[i] for i in ixes)
for it in range(iters):
    if p + seq_length + 1 >= len(data) or n == 0:
        hprev = jnp.zeros(hidden_size)
        p = 0
    inputs = jnp.array([char_to_ix[ch] for ch in data[p:p + seq_length]])
    targets = jnp.array([char_to_ix[ch] for ch in data[p + 1:p + seq_length + 1]])
    if n % 3 == 0:
        txt = sample(params, hprev, int(inputs[0]), 8, jax.random.PRNGKey(n))
        print("----\n %s \n----" % (len(txt),))
    (loss, hprev), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, inputs, targets, hprev)
    grads = jax.tree.map(lambda g: jnp.clip(g, -5, 5), grads)
    smooth_loss = smooth_loss * 0.999 + float(loss) * 0.001
    if n % 3 == 0: print("iter %d, loss: %.3f" % (n, smooth_loss))
    for k in params:
        mem[k] += grads[k] * grads[k]
        params[k] += -learning_rate * grads[k] / jnp.sqrt(mem[k] + 1e-8)
    p += seq_length
    n += 1
---
learning_rate = 0.05
---
temperature = 0.5; iters = 3
---
seq_length = 6
---
data = data + "you and the moon "; iters = 8
---
mem = {k: jnp.zeros_like(v) for k, v in params.items()}; n = p = 0

### ha-nanogpt-eqx-get-batch-estimate-loss needs=equinox
import equinox as eqx
text = "to be or not to be that is the question whether tis nobler " * 3
chars = sorted(list(set(text)))
stoi = {ch: i for i, ch in enumerate(chars)}; itos = {i: ch for i, ch in enumerate(chars)}
encode = lambda s: [stoi[c] for c in s]
decode = lambda l: "".join([itos[i] for i in l])
data = np.array(encode(text), dtype=np.int32)
n = int(0.9 * len(data)); train_data, val_data = data[:n], data[n:]
@dataclass
class GPTConfig:
    block_size: int = 8
    vocab_size: int = len(chars)
    n_layer: int = 1
    n_head: int = 2
    n_embd: int = 8
    dropout: float = 0.1
class Block(eqx.Module):
    ln1: eqx.nn.LayerNorm
    ln2: eqx.nn.LayerNorm
    attn: eqx.nn.MultiheadAttention
    mlp: eqx.nn.MLP
    drop: eqx.nn.Dropout
    def __init__(self, c, key):
        k1, k2 = jax.random.split(key)
        self.ln1, self.ln2 = eqx.nn.LayerNorm(c.n_embd), eqx.nn.LayerNorm(c.n_embd)
        self.attn = eqx.nn.MultiheadAttention(c.n_head, c.n_embd, key=k1)
        self.mlp = eqx.nn.MLP(c.n_embd, c.n_embd, 2 * c.n_embd, 1, activation=jax.nn.gelu, key=k2)
        self.drop = eqx.nn.Dropout(c.dropout)
    def __call__(self, x, key=None):
        h = vmap(self.ln1)(x)
        x = x + self.attn(h, h, h, mask=jnp.tril(jnp.ones((len(x), len(x)), bool)))
        return x + self.drop(vmap(self.mlp)(vmap(self.ln2)(x)), key=key, inference=key is None)
class GPT(eqx.Module):
    wte: eqx.nn.Embedding
    wpe: eqx.nn.Embedding
    blocks: list
    head: eqx.nn.Linear
    config: GPTConfig = eqx.field(static=True)
    def __init__(self, c, key):
        k = jax.random.split(key, 3 + c.n_layer)
        self.wte, self.wpe = eqx.nn.Embedding(c.vocab_size, c.n_embd, key=k[0]), eqx.nn.Embedding(c.block_size,
            c.n_embd, key=k[1])
        self.blocks = [Block(c, kk) for kk in k[3:]]
        self.head = eqx.nn.Linear(c.n_embd, c.vocab_size, use_bias=False, key=k[2])
        self.config = c
    def __call__(self, idx, key=None):
        x = vmap(self.wte)(idx) + vmap(self.wpe)(jnp.arange(len(idx)))
        for i, b in enumerate(self.blocks):
            x = b(x, None if key is None else jax.random.fold_in(key, i))
        return vmap(self.head)(x)
cfg = GPTConfig()
max_iters, eval_interval, eval_iters, batch_size = 4, 2, 2, 4
model = GPT(cfg, jax.random.key(1337))
optim = optax.adamw(1e-2)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
---
np.random.seed(1337)
def get_batch(split):
    d = train_data if split == "train" else val_data
    ix = np.random.randint(0, len(d) - cfg.block_size, (batch_size,))
    x = np.stack([d[i:i + cfg.block_size] for i in ix])
    y = np.stack([d[i + 1:i + cfg.block_size + 1] for i in ix])
    return jnp.asarray(x), jnp.asarray(y)
def loss_fn(model, xb, yb, key=None):
    keys = None if key is None else jax.random.split(key, len(xb))
    logits = vmap(model)(xb) if keys is None else vmap(model)(xb, keys)
    return optax.softmax_cross_entropy_with_integer_labels(logits, yb).mean()
@eqx.filter_jit
def train_step(model, opt_state, xb, yb, key):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, xb, yb, key)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), opt_state, loss
def estimate_loss():
    out = {}
    for split in ["train", "val"]:
        losses = np.zeros(eval_iters)
        for k in range(eval_iters):
            losses[k] = loss_fn(model, *get_batch(split)).item()
        out[split] = losses.mean()
    return out
key = jax.random.key(0)
for it in range(max_iters):
    if it % eval_interval == 0 or it == max_iters - 1:
        losses = estimate_loss()
        print(f"step {it}: train loss {losses['train']:.3f}, val loss {losses['val']:.3f}")
    xb, yb = get_batch("train")
    key, sub = jax.random.split(key)
    model, opt_state, loss = train_step(model, opt_state, xb, yb, sub)
n_params = sum(x.size for x in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
print(n_params, "parameters")
---
batch_size = 6
---
cfg = GPTConfig(block_size=4, n_layer=2); model = GPT(cfg, jax.random.key(2))
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
---
eval_interval, max_iters = 1, 2

### ha-kaggle-house-prices-linear-regression-ridge
df = {"area": rs.uniform(50, 200, 24), "rooms": rs.integers(1, 6, 24), "age": rs.uniform(0, 40, 24)}
price = 2.0 * df["area"] + 10 * df["rooms"] - 0.5 * df["age"] + rs.normal(size=24)
features = ["area", "rooms", "age"]
lr, l2, n_iter, log_every = 0.1, 0.0, 20, 5
cost_history = []
---
raw = np.stack([np.asarray(df[f], dtype=np.float64) for f in features], axis=1)
mu, sigma = raw.mean(axis=0), raw.std(axis=0)
Xn = jnp.array((raw - mu) / sigma)
yn = jnp.array((price - price.mean()) / price.std())
theta = {"w": jnp.zeros(Xn.shape[1]), "b": 0.0}
def predict(theta, X): return X @ theta["w"] + theta["b"]
def cost(theta):
    err = predict(theta, Xn) - yn
    return 0.5 * jnp.mean(err ** 2) + l2 * jnp.sum(theta["w"] ** 2)
grad_cost = jax.jit(jax.grad(cost))
for i in range(1, n_iter + 1):
    g = grad_cost(theta)
    theta["w"] = theta["w"] - lr * g["w"]
    theta["b"] = theta["b"] - lr * g["b"]
    if i % log_every == 0:
        c = cost(theta)
        cost_history.append((i, float(c)))
        print(f"iter {i:>3}: cost = {c:.4f}")
ss_res = jnp.sum((yn - predict(theta, Xn)) ** 2)
r2 = 1 - ss_res / jnp.sum((yn - yn.mean()) ** 2)
importance = sorted(zip(features, np.abs(np.asarray(theta["w"]))), key=lambda t: -t[1])
print([name for name, _ in importance])
r2
---
lr = 0.3
---
features = ["area", "age"]
---
l2 = 0.01; cost_history = []
---
df["sqrt_area"] = np.sqrt(df["area"]); features = features + ["sqrt_area"]; n_iter = 10

### ha-vae-jnp-closures-binary-digits-two-optimizers
digits = (rs.random((16, 4, 4)) > 0.5).astype(np.float32)
latent_dim, hidden, epochs, batch_size, beta = 2, 8, 2, 8, 1.0
def glorot(key, m, n): return jax.random.normal(key, (m, n)) * jnp.sqrt(2 / (m + n))
history = {"elbo": [], "rec": [], "kl": []}
opt = optax.adam(1e-2)
---
def init(key):
    k = jax.random.split(key, 5)
    enc = {"h": glorot(k[0], 16, hidden), "mu": glorot(k[1], hidden, latent_dim),
        "lv": glorot(k[2], hidden, latent_dim)}
    dec = {"h": glorot(k[3], latent_dim, hidden), "o": glorot(k[4], hidden, 16)}
    return {"enc": enc, "dec": dec}
def encode(p, x):
    h = jax.nn.softplus(x @ p["h"])
    return h @ p["mu"], h @ p["lv"]
def decode(p, z): return jax.nn.softplus(z @ p["h"]) @ p["o"]
def gaussian_sample(key, mu, logvar): return mu + jnp.exp(0.5 * logvar) * jax.random.normal(key, mu.shape)
def kl_gauss(mu, logvar): return -0.5 * jnp.sum(1 + logvar - mu ** 2 - jnp.exp(logvar), axis=-1)
def bernoulli_logpdf(logits, x): return -jnp.sum(jnp.logaddexp(0.0, jnp.where(x > 0, -1.0, 1.0) * logits), axis=-1)
def loss_fn(params, key, x):
    mu, lv = encode(params["enc"], x)
    z = gaussian_sample(key, mu, lv)
    rec, kl = bernoulli_logpdf(decode(params["dec"], z), x), kl_gauss(mu, lv)
    return -(rec - beta * kl).mean(), {"rec": rec.mean(), "kl": kl.mean()}
@jit
def step(params, opt_state, key, x):
    (l, aux), g = jax.value_and_grad(loss_fn, has_aux=True)(params, key, x)
    up, opt_state = opt.update(g, opt_state)
    return optax.apply_updates(params, up), opt_state, l, aux
key = jax.random.PRNGKey(42)
key, init_key = jax.random.split(key)
params = init(init_key)
opt_state = opt.init(params)
flat = digits.reshape(len(digits), -1)
for epoch in range(epochs):
    key, pkey = jax.random.split(key)
    perm = jax.random.permutation(pkey, len(flat))
    tot = defaultdict(float)
    for b in range(0, len(flat), batch_size):
        key, k = jax.random.split(key)
        params, opt_state, l, aux = step(params, opt_state, k, flat[perm[b:b + batch_size]])
        tot["elbo"] -= l.item()
        for name in aux: tot[name] += aux[name].item()
    for name in history: history[name].append(tot[name] / (len(flat) // batch_size))
    print(f"epoch {epoch + 1}/{epochs} " + " ".join(f"{k}={v[-1]:.2f}" for k, v in history.items()))
samples = jax.random.bernoulli(key, jax.nn.sigmoid(decode(params["dec"], jax.random.normal(key, (3, latent_dim)))))
samples.shape, samples.dtype
---
beta = 4.0
---
latent_dim = 3; batch_size = 4
---
digits = (rs.random((12, 4, 4)) > 0.3).astype(np.float32); opt = optax.rmsprop(1e-2)
---
for v in history.values(): v.clear()

### ha-nbody-leapfrog-energy-log-and-collisions
n_bodies, dt, n_steps, G, softening = 4, 0.01, 12, 1.0, 0.1
class Bodies(NamedTuple):
    pos: jax.Array
    vel: jax.Array
    mass: jax.Array
def make(seed):
    k1, k2, k3 = jax.random.split(jax.random.PRNGKey(seed), 3)
    return Bodies(jax.random.normal(k1, (n_bodies, 3)), 0.1 * jax.random.normal(k2, (n_bodies, 3)),
        jax.random.uniform(k3, (n_bodies,)) + 0.5)
bodies = make(0)
energies, t_now = [], 0.0
---
def accel(pos, mass):
    d = pos[None, :, :] - pos[:, None, :]
    r2 = jnp.sum(d ** 2, -1) + softening ** 2
    inv = r2 ** -1.5
    inv = inv.at[jnp.diag_indices(len(pos))].set(0.0)
    return G * jnp.einsum("ijk,ij,j->ik", d, inv, mass)
@jit
def leapfrog(b, dt):
    v_half = b.vel + 0.5 * dt * accel(b.pos, b.mass)
    pos = b.pos + dt * v_half
    return b._replace(pos=pos, vel=v_half + 0.5 * dt * accel(pos, b.mass))
def energy(b):
    ke = 0.5 * jnp.sum(b.mass[:, None] * b.vel ** 2)
    d = b.pos[None] - b.pos[:, None]
    r = jnp.sqrt(jnp.sum(d ** 2, -1) + softening ** 2)
    iu = jnp.triu_indices(len(b.mass), 1)
    return ke - G * jnp.sum((b.mass[:, None] * b.mass[None])[iu] / r[iu])
e0 = energy(bodies)
trajectory = np.empty((n_steps, *bodies.pos.shape))
for i in range(n_steps):
    bodies = leapfrog(bodies, dt)
    trajectory[i] = bodies.pos
    t_now += dt
    if i % 4 == 3:
        e = energy(bodies)
        energies.append((round(t_now, 3), float(e)))
        print(f"t={t_now:.2f} dE/E small: {abs((e - e0) / e0) < 1e-2}")
com = (bodies.mass[:, None] * bodies.pos).sum(0) / bodies.mass.sum()
com
---
dt = 0.02
---
n_bodies = 3; bodies = make(5); t_now = 0.0; energies.clear()
---
softening = 0.2; G = 2
---
bodies = bodies._replace(mass=bodies.mass.at[0].set(5.0)); n_steps = 8

### ha-kalman-filter-class-tracking-with-gating
@dataclass
class KalmanFilter:
    F: jnp.ndarray
    H: jnp.ndarray
    Q: jnp.ndarray
    R: jnp.ndarray
    x: jnp.ndarray = None
    P: jnp.ndarray = None
    rejected: int = 0
    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
    def update(self, z, gate=None):
        innov = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        d2 = innov @ jnp.linalg.solve(S, innov)
        if gate is not None and d2 > gate:
            self.rejected += 1
            return d2
        K = jnp.linalg.solve(S.T, self.H @ self.P.T).T
        self.x = self.x + K @ innov
        self.P = (jnp.eye(len(self.x)) - K @ self.H) @ self.P
        return d2
dt, gate = 0.5, None
truth = np.cumsum(rs.normal(size=(10, 2)) * 0.3, axis=0)
meas = truth + 0.1 * rs.normal(size=(10, 2))
---
I2, Z2 = jnp.eye(2), jnp.zeros((2, 2))
kf = KalmanFilter(F=jnp.block([[I2, dt * I2], [Z2, I2]]), H=jnp.hstack([I2, Z2]), Q=0.05 * jnp.eye(4), R=0.01 * I2)
kf.x = jnp.concatenate([jnp.asarray(meas[0]), jnp.zeros(2)])
kf.P = jnp.eye(4)
estimates, distances = [], []
for z in meas[1:]:
    kf.predict()
    distances.append(kf.update(jnp.asarray(z), gate))
    estimates.append(kf.x[:2])
est = jnp.stack(estimates)
rmse = jnp.sqrt(jnp.mean((est - truth[1:]) ** 2))
print(f"rmse {rmse:.3f}, rejected {kf.rejected}/{len(meas) - 1}")
kf.x
---
dt = 0.1
---
gate = 5.0; meas[4] += 3.0
---
meas = meas[:6]; truth = truth[:6]; gate = None

### ha-gp-regression-predict-and-nll-minimised-by-scipy x64 tolerance=1e-5
from scipy.optimize import minimize
Xtr = rs.uniform(-3, 3, (10, 1)); ytr = np.sin(Xtr[:, 0]) + 0.1 * rs.normal(size=10)
Xte = np.linspace(-3, 3, 7)[:, None]
kernel_name, maxiter = "rbf", 5
def sqdist(a, b): return jnp.sum((a[:, None, :] - b[None, :, :]) ** 2, -1)
kernels = {"rbf": lambda r2, ls: jnp.exp(-0.5 * r2 / ls ** 2),
           "matern12": lambda r2, ls: jnp.exp(-jnp.sqrt(r2 + 1e-12) / ls)}
n_calls = 0
---
def cov(theta, a, b):
    ls, var = jnp.exp(theta[0]), jnp.exp(theta[1])
    return var * kernels[kernel_name](sqdist(a, b), ls)
def nll(theta):
    K = cov(theta, Xtr, Xtr) + (jnp.exp(theta[2]) + 1e-6) * jnp.eye(len(Xtr))
    L = jnp.linalg.cholesky(K)
    alpha = jax.scipy.linalg.cho_solve((L, True), ytr)
    return 0.5 * ytr @ alpha + jnp.sum(jnp.log(jnp.diag(L))) + 0.5 * len(Xtr) * jnp.log(2 * jnp.pi)
vg = jit(jax.value_and_grad(nll))
def objective(theta):
    global n_calls
    n_calls += 1
    v, g = vg(theta)
    return np.float64(v), np.asarray(g, dtype=np.float64)
res = minimize(objective, np.array([0.0, 0.0, -2.0]), jac=True, method="L-BFGS-B", options={"maxiter": maxiter})
theta = jnp.array(res.x)
K = cov(theta, Xtr, Xtr) + (jnp.exp(theta[2]) + 1e-6) * jnp.eye(len(Xtr))
Ks, Kss = cov(theta, Xtr, Xte), cov(theta, Xte, Xte)
L = jnp.linalg.cholesky(K)
mean = Ks.T @ jax.scipy.linalg.cho_solve((L, True), ytr)
v = jax.scipy.linalg.solve_triangular(L, Ks, lower=True)
std = jnp.sqrt(jnp.diag(Kss - v.T @ v))
print(f"{kernel_name}: nll={res.fun:.3f} nit={res.nit} success={res.success}")
mean, std
---
kernel_name = "matern12"
---
maxiter = 2
---
Xtr = np.vstack([Xtr, [[0.5]]]); ytr = np.append(ytr, np.sin(0.5))
---
kernels["rbf"] = lambda r2, ls: 1 / (1 + r2 / ls); kernel_name = "rbf"

### ha-neural-ode-diffrax-curriculum-lengths needs=equinox,diffrax
import equinox as eqx, diffrax
class Func(eqx.Module):
    scale: jax.Array
    mlp: eqx.nn.MLP
    def __init__(self, width, *, key):
        self.scale = jnp.ones(())
        self.mlp = eqx.nn.MLP(2, 2, width, 1, activation=jax.nn.softplus, final_activation=jnp.tanh, key=key)
    def __call__(self, t, y, args): return self.scale * self.mlp(y)
class NeuralODE(eqx.Module):
    func: Func
    def __call__(self, ts, y0):
        sol = diffrax.diffeqsolve(diffrax.ODETerm(self.func), diffrax.Tsit5(), t0=ts[0], t1=ts[-1],
            dt0=ts[1] - ts[0], y0=y0,
                                  saveat=diffrax.SaveAt(ts=ts), max_steps=16)
        return sol.ys
ts = jnp.linspace(0, 2, 8)
def true(y0): return jnp.stack([y0[0] * jnp.cos(ts) + y0[1] * jnp.sin(ts),
    -y0[0] * jnp.sin(ts) + y0[1] * jnp.cos(ts)], -1)
ys = vmap(true)(jax.random.uniform(jax.random.key(7), (8, 2), minval=-1, maxval=1))
def dataloader(arrays, batch_size, *, key):
    n = arrays[0].shape[0]
    indices = jnp.arange(n)
    while True:
        perm = jax.random.permutation(key, indices)
        (key,) = jax.random.split(key, 1)
        start, end = 0, batch_size
        while end <= n:
            yield tuple(a[perm[start:end]] for a in arrays)
            start, end = end, end + batch_size
lr_strategy, steps_strategy, length_strategy, batch_size, width, seed = (1e-2,), (2,), (1,), 4, 4, 5678
---
model_key, loader_key = jax.random.split(jax.random.key(seed))
model = NeuralODE(Func(width, key=model_key))
@eqx.filter_value_and_grad
def grad_loss(model, ti, yi):
    y_pred = vmap(model, in_axes=(None, 0))(ti, yi[:, 0])
    return jnp.mean((yi - y_pred) ** 2)
@eqx.filter_jit
def make_step(ti, yi, model, opt_state):
    loss, grads = grad_loss(model, ti, yi)
    updates, opt_state = optim.update(grads, opt_state)
    return loss, eqx.apply_updates(model, updates), opt_state
phases = []
for lr, steps, length in zip(lr_strategy, steps_strategy, length_strategy):
    optim = optax.adabelief(lr)
    opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
    _ts = ts[: int(len(ts) * length)]
    _ys = ys[:, : int(len(ts) * length)]
    for step, (yi,) in zip(range(steps), dataloader((_ys,), batch_size, key=loader_key)):
        start = time.time()
        loss, model, opt_state = make_step(_ts, yi, model, opt_state)
        end = time.time()
        if step == steps - 1:
            print(f"Step: {step}, Loss: {loss:.3f}, took time: {end >= start}")
    phases.append({"lr": lr, "loss": loss, "len": len(_ts)})
del start, end
model_y = model(ts, ys[0, 0])
model_y.shape
---
lr_strategy = (1e-3,)
---
length_strategy, steps_strategy = (0.5,), (1,)

### ha-flow-planar-layers-moons-by-hand
from sklearn.datasets import make_moons
data, _ = make_moons(n_samples=32, noise=0.05, random_state=0)
data = ((data - data.mean(0)) / data.std(0)).astype("float32")
n_layers, lr, steps, print_every = 3, 0.02, 6, 3
best = {"nll": np.inf, "params": None, "step": -1}
---
def init_layer(key):
    k1, k2, k3 = jax.random.split(key, 3)
    return {"u": 0.1 * jax.random.normal(k1, (2,)), "w": 0.1 * jax.random.normal(k2, (2,)), "b": jnp.zeros(())}
def planar(layer, z):
    wu = layer["w"] @ layer["u"]
    u_hat = layer["u"] + (jax.nn.softplus(wu) - 1 - wu) * layer["w"] / (layer["w"] @ layer["w"] + 1e-6)
    act = jnp.tanh(z @ layer["w"] + layer["b"])
    psi = (1 - act ** 2) * layer["w"]
    return z + u_hat * act, jnp.log(jnp.abs(1 + psi @ u_hat) + 1e-6)
def log_prob(params, x):
    logdet = 0.0
    for layer in params:
        x, ld = planar(layer, x)
        logdet += ld
    return -0.5 * jnp.sum(x ** 2) - jnp.log(2 * jnp.pi) + logdet
def nll(params, batch): return -jnp.mean(vmap(log_prob, (None, 0))(params, batch))
params = [init_layer(k) for k in jax.random.split(jax.random.key(0), n_layers)]
optimizer = optax.chain(optax.clip(1.0), optax.adam(lr))
opt_state = optimizer.init(params)
@jit
def train_step(params, opt_state, batch):
    loss, grads = jax.value_and_grad(nll)(params, batch)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss
losses = []
for step in range(steps):
    params, opt_state, loss = train_step(params, opt_state, data)
    losses.append(loss)
    if loss < best["nll"]:
        best.update(nll=float(loss), params=jax.tree.map(lambda x: x, params), step=step)
    if (step + 1) % print_every == 0:
        print(f"[{step + 1:04d}] nll={loss:.4f} (best {best['nll']:.4f})")
grid = np.stack(np.meshgrid(np.linspace(-2, 2, 4), np.linspace(-2, 2, 4)), -1).reshape(-1, 2)
density = jnp.exp(vmap(log_prob, (None, 0))(params, grid)).reshape(4, 4)
density.sum()
---
lr = 0.1
---
n_layers = 2; best = {"nll": np.inf, "params": None, "step": -1}
---
data = data[::2] * 1.5
---
steps, print_every = 4, 1

### ha-dqn-uniform-buffer-target-sync-gridworld
class GridWorld:
    def __init__(self, size=3): self.size = size; self.reset()
    def reset(self):
        self.pos = [0, 0]; self.t = 0
        return self.obs()
    def obs(self):
        o = np.zeros((self.size, self.size), np.float32); o[tuple(self.pos)] = 1
        return o.ravel()
    def step(self, a):
        dx, dy = [(0, 1), (1, 0), (0, -1), (-1, 0)][a]
        self.pos = [int(np.clip(self.pos[0] + dx, 0, self.size - 1)),
            int(np.clip(self.pos[1] + dy, 0, self.size - 1))]
        self.t += 1
        done = self.pos == [self.size - 1] * 2
        return self.obs(), 1.0 if done else -0.1, done or self.t >= 8
Experience = namedtuple("Experience", "s a r s2 d")
cfg = dict(episodes=3, gamma=0.95, lr=5e-3, batch=8, sync=6, eps0=1.0, eps_min=0.1, decay=0.9, double=False)
env = GridWorld()
---
random.seed(0); np.random.seed(0)
memory = deque(maxlen=100)
def init(key, n_in, n_hidden=16, n_out=4):
    a, b = jax.random.split(key)
    return {"l1": jax.random.normal(a, (n_in, n_hidden)) / jnp.sqrt(n_in),
        "l2": jax.random.normal(b, (n_hidden, n_out)) / 4}
def q(params, s): return jax.nn.relu(s @ params["l1"]) @ params["l2"]
@jit
def td_loss(params, target, b):
    qa = jnp.take_along_axis(q(params, b.s), b.a[:, None], axis=1).squeeze(1)
    nxt = q(target, b.s2)
    if cfg["double"]:
        best = q(params, b.s2).argmax(1)
        nq = jnp.take_along_axis(nxt, best[:, None], 1)[:, 0]
    else:
        nq = nxt.max(1)
    y = b.r + cfg["gamma"] * (1.0 - b.d) * lax.stop_gradient(nq)
    return optax.huber_loss(qa, y).mean()
params = init(jax.random.PRNGKey(0), env.size ** 2)
target = jax.tree.map(jnp.copy, params)
tx = optax.adam(cfg["lr"]); opt_state = tx.init(params)
eps, total_steps, returns, td_errors = cfg["eps0"], 0, [], []
for ep in range(cfg["episodes"]):
    s, done, G = env.reset(), False, 0.0
    while not done:
        a = random.randrange(4) if random.random() < eps else int(q(params, s).argmax())
        s2, r, done = env.step(a)
        memory.append(Experience(s, a, np.float32(r), s2, np.float32(done)))
        s, G, total_steps = s2, G + r, total_steps + 1
        if len(memory) >= cfg["batch"]:
            batch = Experience(*map(np.stack, zip(*random.sample(memory, cfg["batch"]))))
            loss, g = jax.value_and_grad(td_loss)(params, target, batch)
            upd, opt_state = tx.update(g, opt_state)
            params = optax.apply_updates(params, upd)
            td_errors.append(loss.item())
        if total_steps % cfg["sync"] == 0:
            target = params
    eps = max(cfg["eps_min"], eps * cfg["decay"])
    returns.append(G)
    print(f"Episode {ep}: return {G:.2f}, eps {eps:.2f}, buffer {len(memory)}")
print("same object:", target is params)
len(td_errors), np.mean(returns)
---
cfg["gamma"] = 0.8
---
cfg["double"] = True
---
env = GridWorld(2); cfg["episodes"] = 2
---
cfg.update(batch=4, lr=1e-2, sync=1)

### ha-esmc-evolution-openai-es-antithetic-ranks
pop, sigma, alpha, gens, wd = 8, 0.1, 0.05, 4, 0.0
target = jnp.array([0.5, 0.1, -0.3])
def fitness(w): return -jnp.sum((w - target) ** 2)
w = jnp.zeros(3)
log = []
---
def centered_ranks(x):
    ranks = np.empty(len(x), dtype=int)
    ranks[np.argsort(x)] = np.arange(len(x))
    r = ranks.astype(np.float32) / (len(x) - 1) - 0.5
    return r
key = jax.random.PRNGKey(2)
fit_batch = jit(vmap(fitness))
for g in range(gens):
    key, sub = jax.random.split(key)
    eps = jax.random.normal(sub, (pop // 2, w.size))
    eps = jnp.concatenate([eps, -eps])
    scores = fit_batch(w + sigma * eps)
    shaped = centered_ranks(np.asarray(scores))
    grad_est = (shaped @ eps) / (pop * sigma)
    w = (1 - wd) * w + alpha * grad_est
    log.append(dict(gen=g, best=scores.max().item(), mean=scores.mean().item(), norm=float(jnp.linalg.norm(w))))
    if g % 2 == 0:
        print("gen {gen} best {best:.3f} mean {mean:.3f}".format(**log[-1]))
fitness(w)
---
pop = 16
---
sigma, alpha = 0.05, 0.1
---
def fitness(w): return -jnp.sum(jnp.abs(w - 2 * target)) + 0.1 * jnp.cos(w).sum()
---
target = jnp.array([1.0, 2.0]); w = jnp.zeros(2); wd = 0.01
def fitness(w): return -jnp.sum((w - target) ** 2)

### ha-graph-attention-node-classification-masks
edges = [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4), (4, 5), (5, 6), (6, 4)]
n_nodes = 7
feats = rs.normal(size=(n_nodes, 4)).astype(np.float32)
node_labels = np.array([0, 0, 0, 0, 1, 1, 1])
train_mask = np.array([1, 0, 1, 0, 1, 0, 1], bool)
hparams = {"heads": 2, "hidden": 4, "lr": 0.05, "epochs": 4, "dropout": 0.2}
---
senders, receivers = map(np.array, zip(*(edges + [(b, a) for a, b in edges] + [(i, i) for i in range(n_nodes)])))
def init_gat(key, f_in, f_out, heads):
    k = jax.random.split(key, 2)
    return {"W": jax.random.normal(k[0], (heads, f_in, f_out)) * 0.3,
        "a": jax.random.normal(k[1], (heads, 2 * f_out)) * 0.3}
def gat(p, h, concat=True):
    def head(W, a):
        z = h @ W
        e = jax.nn.leaky_relu(jnp.concatenate([z[senders], z[receivers]], 1) @ a, 0.2)
        e = e - jax.ops.segment_max(e, receivers, num_segments=n_nodes)[receivers]
        num = jnp.exp(e)
        att = num / jax.ops.segment_sum(num, receivers, num_segments=n_nodes)[receivers]
        return jax.ops.segment_sum(att[:, None] * z[senders], receivers, num_segments=n_nodes)
    out = vmap(head)(p["W"], p["a"])
    return jax.nn.elu(jnp.concatenate(list(out), axis=-1)) if concat else out.mean(0)
def forward(params, x, key=None):
    if key is not None and hparams["dropout"] > 0:
        keep = jax.random.bernoulli(key, 1 - hparams["dropout"], x.shape)
        x = jnp.where(keep, x / (1 - hparams["dropout"]), 0)
    return gat(params[1], gat(params[0], x), concat=False)
def loss_fn(params, key):
    ll = jax.nn.log_softmax(forward(params, feats, key))
    return -ll[jnp.arange(n_nodes), node_labels][train_mask].mean()
k0, k1, key = jax.random.split(jax.random.key(0), 3)
params = (init_gat(k0, feats.shape[1], hparams["hidden"], hparams["heads"]),
          init_gat(k1, hparams["hidden"] * hparams["heads"], 2, 1))
opt = optax.sgd(hparams["lr"], momentum=0.9); opt_state = opt.init(params)
@jit
def train_epoch(params, opt_state, key):
    l, g = jax.value_and_grad(loss_fn)(params, key)
    u, opt_state = opt.update(g, opt_state)
    return optax.apply_updates(params, u), opt_state, l
def acc(mask):
    pred = forward(params, feats).argmax(-1)
    return (pred == node_labels)[mask].mean()
curve = {"train": [], "test": []}
for epoch in range(hparams["epochs"]):
    key, sub = jax.random.split(key)
    params, opt_state, l = train_epoch(params, opt_state, sub)
    curve["train"].append(acc(train_mask)); curve["test"].append(acc(~train_mask))
print(f"loss {l:.3f} test acc {curve['test'][-1]:.2f}")
---
hparams["dropout"] = 0.0
---
edges.append((0, 6))
---
train_mask[1] = True
---
hparams = {**hparams, "heads": 1, "hidden": 3, "epochs": 2}

### ha-lora-pytree-dicts-merge-and-rank-change
def init_linear(key, m, n): return {"kernel": jax.random.normal(key, (m, n)) / jnp.sqrt(m), "bias": jnp.zeros(n)}
keys = jax.random.split(jax.random.key(0), 4)
base = {"embed": init_linear(keys[0], 5, 8), "block": {"q": init_linear(keys[1], 8, 8),
    "v": init_linear(keys[2], 8, 8)},
        "out": init_linear(keys[3], 8, 1)}
rank, alpha, lr, steps = 2, 4.0, 1e-2, 4
targets = ("q", "v")
---
def lora_init(key, tree, path=()):
    out = {}
    for name, sub in tree.items():
        if name in targets:
            key, k = jax.random.split(key)
            m, n = sub["kernel"].shape
            out[name] = {"A": jax.random.normal(k, (m, rank)) * 0.01, "B": jnp.zeros((rank, n))}
        elif isinstance(sub, dict):
            key, k = jax.random.split(key)
            inner = lora_init(k, sub, path + (name,))
            if inner: out[name] = inner
    return out
def merge(tree, lora):
    merged = {}
    for name, sub in tree.items():
        if name not in lora: merged[name] = sub
        elif "A" in lora[name]:
            merged[name] = {**sub, "kernel": sub["kernel"] + alpha / rank * lora[name]["A"] @ lora[name]["B"]}
        else: merged[name] = merge(sub, lora[name])
    return merged
def dense(p, x): return x @ p["kernel"] + p["bias"]
def model(p, x):
    h = jnp.tanh(dense(p["embed"], x))
    h = h + jax.nn.silu(dense(p["block"]["q"], h)) * dense(p["block"]["v"], h)
    return dense(p["out"], h)[:, 0]
loss = lambda lora: jnp.mean((model(merge(base, lora), X) - y) ** 2)
lora = lora_init(jax.random.key(1), base)
opt = optax.adam(lr); state = opt.init(lora)
print("trainable", sum(x.size for x in jax.tree.leaves(lora)), "of", sum(x.size for x in jax.tree.leaves(base)))
trace = []
for i in range(steps):
    value, g = jax.value_and_grad(loss)(lora)
    upd, state = opt.update(g, state)
    lora = optax.apply_updates(lora, upd)
    trace.append(value)
merged = merge(base, lora)
untouched = [merged[k] is base[k] for k in ("embed", "out")]
print(untouched, bool(trace[-1] < trace[0]))
jnp.abs(model(merged, X) - model(base, X)).max()
---
rank = 1
---
alpha = 8.0; lr = 5e-2
---
targets = ("q", "v", "out")
---
base["block"]["o"] = init_linear(jax.random.key(9), 8, 8); targets = ("o",)

### ha-linen-cnn-trainstate-metrics-struct-epochs needs=flax
import flax.linen as nn
from flax import struct
from flax.training import train_state
images = rs.normal(size=(16, 6, 6, 1)).astype(np.float32)
targets = (images.mean((1, 2, 3)) > 0).astype(np.int32)
class CNN(nn.Module):
    features: Sequence[int] = (4,)
    num_classes: int = 2
    @nn.compact
    def __call__(self, x):
        for f in self.features:
            x = nn.Conv(f, kernel_size=(3, 3))(x)
            x = nn.relu(x)
            x = nn.avg_pool(x, window_shape=(2, 2), strides=(2, 2))
        x = x.reshape((x.shape[0], -1))
        return nn.Dense(self.num_classes, name="head")(x)
@struct.dataclass
class Metrics:
    total: jax.Array
    correct: jax.Array
    count: jax.Array
    @classmethod
    def empty(cls): return cls(jnp.zeros(()), jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))
    def merge(self, loss, logits, labels):
        return self.replace(total=self.total + loss * len(labels),
            correct=self.correct + (logits.argmax(-1) == labels).sum(),
                            count=self.count + len(labels))
    def compute(self): return {"loss": self.total / self.count, "accuracy": self.correct / self.count}
class TrainState(train_state.TrainState):
    metrics: Metrics
learning_rate, momentum, batch_size, num_epochs = 0.05, 0.9, 4, 2
features = (4,)
---
def create_train_state(module, rng):
    params = module.init(rng, jnp.ones([1, *images.shape[1:]]))["params"]
    return TrainState.create(apply_fn=module.apply, params=params, tx=optax.sgd(learning_rate, momentum),
        metrics=Metrics.empty())
@jax.jit
def train_step(state, batch):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["image"])
        return optax.softmax_cross_entropy_with_integer_labels(logits=logits, labels=batch["label"]).mean(), logits
    (loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params)
    state = state.apply_gradients(grads=grads)
    return state.replace(metrics=state.metrics.merge(loss, logits, batch["label"]))
state = create_train_state(CNN(features), jax.random.key(0))
metrics_history = {"train_loss": [], "train_accuracy": [], "test_loss": [], "test_accuracy": []}
split = 3 * len(images) // 4
num_steps_per_epoch = split // batch_size
for step in range(num_epochs * num_steps_per_epoch):
    i = (step % num_steps_per_epoch) * batch_size
    state = train_step(state, {"image": images[i:i + batch_size], "label": targets[i:i + batch_size]})
    if (step + 1) % num_steps_per_epoch == 0:
        for metric, value in state.metrics.compute().items():
            metrics_history[f"train_{metric}"].append(value)
        state = state.replace(metrics=state.metrics.empty())
        test_logits = state.apply_fn({"params": state.params}, images[split:])
        test_loss = optax.softmax_cross_entropy_with_integer_labels(test_logits, targets[split:]).mean()
        test = Metrics.empty().merge(test_loss, test_logits, targets[split:]).compute()
        for metric, value in test.items():
            metrics_history[f"test_{metric}"].append(value)
        print(f"train epoch: {(step + 1) // num_steps_per_epoch}, loss: {metrics_history['train_loss'][-1]:.3f}, "
              f"accuracy: {metrics_history['train_accuracy'][-1] * 100:.1f}")
{k: len(v) for k, v in metrics_history.items()}
---
batch_size = 6
---
features = (2, 4); momentum = 0.0
---
CNN.num_classes = 3
---
images = images.astype(jnp.bfloat16); features = (4,)
---
images = rs.normal(size=(8, 4, 4, 1)).astype(np.float32); targets = np.arange(8) % 2; batch_size = 2

### ha-nnx-autoencoder-denoise-with-rngs-fork needs=flax
from flax import nnx
class AutoEncoder(nnx.Module):
    def __init__(self, din, dhid, rngs):
        self.encoder = nnx.Sequential(nnx.Linear(din, dhid, rngs=rngs), nnx.relu)
        self.decoder = nnx.Linear(dhid, din, rngs=rngs)
        self.noise = nnx.Variable(jnp.float32(0.1))
        self.rngs = rngs
        self.calls = 0
    def __call__(self, x, noisy=True):
        self.calls += 1
        if noisy: x = x + self.noise[...] * jax.random.normal(self.rngs.noise(), x.shape)
        return self.decoder(self.encoder(x))
model = AutoEncoder(5, 3, nnx.Rngs(0, noise=1))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
losses, epochs, bs = [], 2, 16
---
def loss_fn(model, x): return jnp.mean((model(x) - x) ** 2)
for epoch in range(epochs):
    total = 0.0
    for i in range(0, len(X), bs):
        batch = jnp.asarray(X[i:i + bs])
        loss, grads = nnx.value_and_grad(loss_fn)(model, batch)
        optimizer.update(model, grads)
        total += loss
    losses.append(total / (len(X) / bs))
    print(f"Epoch {epoch}: {losses[-1]:.4f}")
clean = model(X, noisy=False)
err = np.abs(np.asarray(clean) - X).mean(axis=1)
worst = np.argsort(err)[-2:]
model.calls, int(optimizer.step[...]), err.shape
---
bs = 32
---
model.noise[...] = jnp.float32(0.0)
---
losses.clear(); epochs = 1; model.calls = 0
---
X = X * 0.5

### ha-nnx-gan-class-with-mode-flag needs=flax
from flax import nnx
class G(nnx.Module):
    def __init__(self, z, d, rngs): self.l1, self.l2 = nnx.Linear(z, 8, rngs=rngs), nnx.Linear(8, d, rngs=rngs)
    def __call__(self, z): return self.l2(nnx.leaky_relu(self.l1(z)))
class D(nnx.Module):
    def __init__(self, d, rngs):
        self.l1, self.drop, self.l2 = nnx.Linear(d, 8, rngs=rngs), nnx.Dropout(0.1, rngs=rngs), nnx.Linear(8, 1,
            rngs=rngs)
    def __call__(self, x): return self.l2(self.drop(nnx.leaky_relu(self.l1(x))))[:, 0]
class GANTrainer:
    mode = "nonsaturating"
    def __init__(self, seed=0, latent=2, lr=1e-3):
        rngs = nnx.Rngs(seed, dropout=seed + 1, noise=seed + 2)
        self.rngs, self.latent = rngs, latent
        self.g, self.d = G(latent, 5, rngs), D(5, rngs)
        self.opt_g = nnx.Optimizer(self.g, optax.adam(lr, b1=0.5), wrt=nnx.Param)
        self.opt_d = nnx.Optimizer(self.d, optax.adam(lr, b1=0.5), wrt=nnx.Param)
        self.history = defaultdict(list)
    def d_loss(self, d, fake, real):
        if self.mode == "wgan": return d(fake).mean() - d(real).mean()
        return optax.sigmoid_binary_cross_entropy(d(real), jnp.ones(len(real))).mean() + \
            optax.sigmoid_binary_cross_entropy(d(fake), jnp.zeros(len(fake))).mean()
    def step(self, real):
        z = jax.random.normal(self.rngs.noise(), (len(real), self.latent))
        fake = jax.lax.stop_gradient(self.g(z))
        ld, gd = nnx.value_and_grad(self.d_loss)(self.d, fake, real)
        self.opt_d.update(self.d, gd)
        def g_loss(g, d):
            s = d(g(z))
            return -s.mean() if self.mode == "wgan" else optax.sigmoid_binary_cross_entropy(s,
                jnp.ones(len(s))).mean()
        lg, gg = nnx.value_and_grad(g_loss)(self.g, self.d)
        self.opt_g.update(self.g, gg)
        self.history["d"].append(ld); self.history["g"].append(lg)
        return ld, lg
trainer = GANTrainer()
n_critic_batches = 2
---
order = np.random.default_rng(0).permutation(len(X))
for b, idx in enumerate(np.array_split(order, n_critic_batches)):
    ld, lg = trainer.step(jnp.asarray(X[idx]))
    print(f"batch {b}: D {ld:.3f} G {lg:.3f}")
trainer.d.eval()
score = trainer.d(X).mean()
trainer.d.train()
fid_like = jnp.sum((trainer.g(jax.random.normal(trainer.rngs.noise(),
    (16, trainer.latent))).mean(0) - X.mean(0)) ** 2)
len(trainer.history["d"]), score, fid_like
---
GANTrainer.mode = "wgan"
---
trainer.mode = "nonsaturating"; trainer.d.drop.rate = 0.0
---
n_critic_batches = 4
---
trainer = GANTrainer(seed=3, latent=3)

### ha-eqx-cnn-mnist-dataloader-evaluate-inference needs=equinox,jaxtyping
import equinox as eqx
from jaxtyping import Array, Float, Int, PyTree
class CNN(eqx.Module):
    layers: list
    def __init__(self, key):
        k1, k2, k3 = jax.random.split(key, 3)
        self.layers = [eqx.nn.Conv2d(1, 2, kernel_size=3, key=k1), eqx.nn.MaxPool2d(kernel_size=2), jax.nn.relu,
            jnp.ravel,
                       eqx.nn.Linear(18, 6, key=k2), jax.nn.sigmoid, eqx.nn.Linear(6, 2, key=k3), jax.nn.log_softmax]
    def __call__(self, x: Float[Array, "1 6 6"]) -> Float[Array, "2"]:
        for layer in self.layers:
            x = layer(x)
        return x
class Loader:
    def __init__(self, xs, ys, batch,
        shuffle): self.xs, self.ys, self.batch, self.shuffle, self.epoch = xs, ys, batch, shuffle, 0
    def __len__(self): return -(-len(self.xs) // self.batch)
    def __iter__(self):
        order = np.random.default_rng(self.epoch).permutation(len(self.xs)) if self.shuffle else np.arange(len(self.xs))
        self.epoch += 1
        for i in range(0, len(order), self.batch):
            yield self.xs[order[i:i + self.batch]], self.ys[order[i:i + self.batch]]
imgs = rs.normal(size=(12, 1, 6, 6)).astype(np.float32); labs = rs.integers(0, 2, 12)
trainloader, testloader = Loader(imgs[:8], labs[:8], 4, True), Loader(imgs[8:], labs[8:], 4, False)
LEARNING_RATE, STEPS, PRINT_EVERY = 3e-3, 3, 2
model = CNN(jax.random.PRNGKey(5678))
---
def cross_entropy(y: Int[Array, " batch"], pred_y: Float[Array, "batch 2"]) -> Float[Array, ""]:
    pred_y = jnp.take_along_axis(pred_y, jnp.expand_dims(y, 1), axis=1)
    return -jnp.mean(pred_y)
def loss(model: CNN, x: Float[Array, "batch 1 6 6"], y: Int[Array, " batch"]) -> Float[Array, ""]:
    return cross_entropy(y, jax.vmap(model)(x))
loss = eqx.filter_jit(loss)
@eqx.filter_jit
def compute_accuracy(model, x, y): return jnp.mean(y == jnp.argmax(jax.vmap(model)(x), axis=1))
def evaluate(model, testloader):
    avg_loss = avg_acc = 0
    for x, y in testloader:
        avg_loss += loss(model, x, y)
        avg_acc += compute_accuracy(model, x, y)
    return avg_loss / len(testloader), avg_acc / len(testloader)
optim = optax.adamw(LEARNING_RATE)
def train(model, trainloader, testloader, optim, steps, print_every):
    opt_state = optim.init(eqx.filter(model, eqx.is_array))
    @eqx.filter_jit
    def make_step(model: CNN, opt_state: PyTree, x, y):
        loss_value, grads = eqx.filter_value_and_grad(loss)(model, x, y)
        updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
        return eqx.apply_updates(model, updates), opt_state, loss_value
    def infinite_trainloader():
        while True:
            yield from trainloader
    for step, (x, y) in zip(range(steps), infinite_trainloader()):
        model, opt_state, train_loss = make_step(model, opt_state, x, y)
        if (step % print_every) == 0 or (step == steps - 1):
            test_loss, test_accuracy = evaluate(model, testloader)
            print(f"{step=}, train_loss={train_loss.item():.3f}, test_loss={test_loss.item():.3f}, "
                  f"test_accuracy={test_accuracy.item():.2f}")
    return model
model = train(model, trainloader, testloader, optim, STEPS, PRINT_EVERY)
trainloader.epoch
---
LEARNING_RATE = 1e-2
---
STEPS, PRINT_EVERY = 2, 1
---
trainloader.shuffle = False
---
trainloader.batch = 2; testloader = Loader(imgs[8:], labs[8:], 2, False)
---
model = eqx.tree_at(lambda m: m.layers[2], model, jax.nn.gelu)

### ha-eqx-score-sde-mixer-running-total needs=equinox
import equinox as eqx
class ScoreNet(eqx.Module):
    mlp: eqx.nn.MLP
    t1: float
    def __init__(self, d, width, t1, *, key): self.mlp, self.t1 = eqx.nn.MLP(d + 1, d, width, 1, jax.nn.silu,
        key=key), t1
    def __call__(self, t, y): return self.mlp(jnp.concatenate([y, jnp.asarray([t / self.t1])]))
data = rs.normal(size=(20, 2)).astype(np.float32) * 0.3 + np.array([1.0, -1.0], np.float32)
t1, dt0, lr, num_steps, batch_size, print_every, seed = 5.0, 1.0, 3e-3, 5, 8, 2, 10
int_beta = lambda t: t
weight = lambda t: 1 - jnp.exp(-int_beta(t))
---
key = jax.random.PRNGKey(seed)
model_key, train_key, loader_key, sample_key = jax.random.split(key, 4)
mean, std = np.mean(data), np.std(data)
data_n = jnp.asarray((data - mean) / std)
model = ScoreNet(2, 8, t1, key=model_key)
def single_loss_fn(model, weight, int_beta, data, t, key):
    m = data * jnp.exp(-0.5 * int_beta(t))
    var = jnp.maximum(1 - jnp.exp(-int_beta(t)), 1e-5)
    s = jnp.sqrt(var)
    noise = jax.random.normal(key, data.shape)
    pred = model(t, m + s * noise)
    return weight(t) * jnp.mean((pred + noise / s) ** 2)
def batch_loss_fn(model, weight, int_beta, data, t1, key):
    batch_size = data.shape[0]
    tkey, losskey = jax.random.split(key)
    losskey = jax.random.split(losskey, batch_size)
    t = jax.random.uniform(tkey, (batch_size,), minval=0, maxval=t1 / batch_size)
    t = t + (t1 / batch_size) * jnp.arange(batch_size)
    return jnp.mean(jax.vmap(partial(single_loss_fn, model, weight, int_beta))(data, t, losskey))
@eqx.filter_jit
def make_step(model, weight, int_beta, data, t1, key, opt_state, opt_update):
    loss, grads = eqx.filter_value_and_grad(batch_loss_fn)(model, weight, int_beta, data, t1, key)
    updates, opt_state = opt_update(grads, opt_state)
    model = eqx.apply_updates(model, updates)
    key = jax.random.split(key, 1)[0]
    return loss, model, key, opt_state
opt = optax.adabelief(lr)
opt_state = opt.init(eqx.filter(model, eqx.is_inexact_array))
total_value = 0
total_size = 0
for step in range(num_steps):
    loader_key, sub = jax.random.split(loader_key)
    idx = jax.random.choice(sub, len(data_n), (batch_size,), replace=False)
    value, model, train_key, opt_state = make_step(model, weight, int_beta, data_n[idx], t1, train_key, opt_state,
        opt.update)
    total_value += value.item()
    total_size += 1
    if (step % print_every) == 0 or step == num_steps - 1:
        print(f"Step={step} Loss={total_value / total_size:.3f}")
        total_value = 0
        total_size = 0
def sample(key):
    y = jax.random.normal(key, (2,))
    t = t1
    while t > 0:
        _, beta = jax.jvp(int_beta, (t,), (1.0,))
        y = y + dt0 * 0.5 * beta * (y + model(t, y))
        t -= dt0
    return y
samples = jax.vmap(sample)(jax.random.split(sample_key, 4)) * std + mean
samples
---
lr = 1e-2
---
batch_size = 4
---
int_beta = lambda t: 0.5 * t ** 2
---
t1, dt0 = 2.0, 0.5
---
weight = lambda t: 1.0

### ha-haiku-resnetish-state-train-eval-split needs=haiku
import haiku as hk
class Residual(hk.Module):
    def __init__(self, width, name=None):
        super().__init__(name)
        self.width = width
    def __call__(self, x, is_training):
        h = hk.Linear(self.width, with_bias=False)(x)
        h = hk.BatchNorm(True, True, 0.9)(h, is_training)
        return x + jax.nn.relu(h)
def _forward(x, is_training):
    h = hk.Linear(cfg["width"])(x)
    for i in range(cfg["blocks"]):
        h = Residual(cfg["width"], name=f"res_{i}")(h, is_training)
    return hk.Linear(2)(h)
class TrainState(NamedTuple):
    params: hk.Params
    state: hk.State
    opt_state: optax.OptState
cfg = {"width": 4, "blocks": 1, "weight_decay": 1e-4, "lr": 0.05, "steps": 4, "eval_every": 2}
---
forward = hk.transform_with_state(_forward)
optimizer = optax.chain(optax.trace(0.9), optax.scale(-cfg["lr"]))
def l2_loss(params):
    return 0.5 * sum(jnp.sum(jnp.square(p)) for (mod, name, p) in hk.data_structures.traverse(params) if name == "w")
def loss_fn(params, state, batch):
    logits, state = forward.apply(params, state, None, batch["x"], is_training=True)
    labels = jax.nn.one_hot(batch["y"], 2)
    cat = optax.softmax_cross_entropy(logits, labels).mean()
    return cat + cfg["weight_decay"] * l2_loss(params), (cat, state)
@jax.jit
def train_step(ts, batch):
    grads, (loss, new_state) = jax.grad(loss_fn, has_aux=True)(ts.params, ts.state, batch)
    updates, new_opt = optimizer.update(grads, ts.opt_state)
    return TrainState(optax.apply_updates(ts.params, updates), new_state, new_opt), {"train_loss": loss}
@jax.jit
def eval_batch(params, state, batch):
    logits, _ = forward.apply(params, state, None, batch["x"], is_training=False)
    return jnp.sum(jnp.argmax(logits, -1) == batch["y"]).astype(jnp.float32)
rng = jax.random.PRNGKey(42)
params, state = forward.init(rng, X[:2], True)
ts = TrainState(params, state, optimizer.init(params))
scalars = []
for step in range(cfg["steps"]):
    lo = (8 * step) % len(X)
    ts, m = train_step(ts, {"x": X[lo:lo + 8], "y": cls[lo:lo + 8]})
    if (step + 1) % cfg["eval_every"] == 0:
        correct = sum(eval_batch(ts.params, ts.state, {"x": X[i:i + 16], "y": cls[i:i + 16]}) for i in (0, 16))
        scalars.append({"step": step + 1, **jax.device_get(m), "acc": float(correct / len(X))})
        print("[Train %s/%s] acc %.2f" % (step + 1, cfg["steps"], scalars[-1]["acc"]))
print(hk.data_structures.tree_size(ts.params), [m for m in ts.params])
---
cfg["weight_decay"] = 0.0
---
cfg["blocks"] = 2
---
cfg["width"], cfg["lr"] = 6, 0.01
---
cls = 1 - cls; cfg["steps"] = 2

### ha-numpyro-mixed-effects-nuts-then-predict tolerance=1e-2 needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, Predictive
group = rs.integers(0, 3, 18); xs = rs.normal(size=18).astype(np.float32)
obs = (np.array([0.5, -0.5, 1.0])[group] + 0.8 * xs + 0.2 * rs.normal(size=18)).astype(np.float32)
num_warmup, num_samples, num_chains = 2, 5, 1
prior_scale = 1.0
---
def model(group, x, y=None, n_groups=3):
    mu = numpyro.sample("mu", dist.Normal(0.0, prior_scale))
    tau = numpyro.sample("tau", dist.HalfNormal(1.0))
    with numpyro.plate("groups", n_groups):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
    a = numpyro.deterministic("a", mu + tau * z)
    b = numpyro.sample("b", dist.Normal(0.0, prior_scale))
    sigma = numpyro.sample("sigma", dist.Exponential(1.0))
    with numpyro.plate("obs", len(x)):
        numpyro.sample("y", dist.Normal(a[group] + b * x, sigma), obs=y)
rng_key = jax.random.PRNGKey(0)
rng_key, k1, k2 = jax.random.split(rng_key, 3)
mcmc = MCMC(NUTS(model, step_size=0.05, adapt_step_size=False, adapt_mass_matrix=False, max_tree_depth=2),
    num_warmup=num_warmup, num_samples=num_samples, num_chains=num_chains, progress_bar=False)
mcmc.run(k1, group, xs, obs)
posterior = mcmc.get_samples()
pred = Predictive(model, posterior)(k2, group, xs)["y"]
summary = {k: (v.mean(0), v.std(0)) for k, v in posterior.items() if k != "z"}
for name in sorted(summary):
    print(name, summary[name][0].shape)
coverage = np.mean((obs > np.quantile(pred, 0.05, axis=0)) & (obs < np.quantile(pred, 0.95, axis=0)))
pred.shape, coverage.dtype
---
num_samples = 3
---
prior_scale = 2.5
---
obs = obs[:12]; xs = xs[:12]; group = group[:12]

### ha-numpyro-svi-gmm-with-custom-elbo-loop-and-early-stop needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoDiagonalNormal
data = np.concatenate([rs.normal(size=12) - 2, rs.normal(size=12) + 2]).astype(np.float32)
lr, max_steps, patience, min_delta = 0.05, 8, 3, 0.5
def model(data=None):
    locs = numpyro.sample("locs", dist.Normal(jnp.array([-1.0, 1.0]), 2.0).to_event(1))
    scale = numpyro.sample("scale", dist.LogNormal(0.0, 1.0))
    w = numpyro.sample("w", dist.Beta(2.0, 2.0))
    mix = dist.MixtureSameFamily(dist.Categorical(probs=jnp.stack([w, 1 - w])), dist.Normal(locs, scale))
    with numpyro.plate("n", 24 if data is None else len(data)):
        numpyro.sample("x", mix, obs=data)
---
guide = AutoDiagonalNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(lr), loss=Trace_ELBO(num_particles=2))
svi_state = svi.init(jax.random.PRNGKey(1), data)
update = jit(svi.update)
losses, bad, best = [], 0, float("inf")
for step in range(max_steps):
    svi_state, loss = update(svi_state, data)
    losses.append(float(loss))
    if losses[-1] < best - min_delta:
        best, bad = losses[-1], 0
    else:
        bad += 1
    if bad >= patience:
        print(f"early stop at {step}")
        break
params = svi.get_params(svi_state)
median = guide.median(params)
post = guide.sample_posterior(jax.random.PRNGKey(2), params, sample_shape=(5,))
print({k: v.shape for k, v in sorted(post.items())})
median["locs"]
---
lr = 0.2
---
patience = 1
---
data = data * 0.5 + 1
---
max_steps = 3; patience = 10

### ha-diffrax-sir-fit-beta-gamma-projected-adam needs=diffrax
from diffrax import diffeqsolve, ODETerm, Dopri5, SaveAt, PIDController
ts = jnp.linspace(0.0, 10.0, 6)
y0 = jnp.array([0.99, 0.01, 0.0])
def sir(t, y, args):
    s, i, r = y
    beta, gamma = args
    new = beta * s * i
    return jnp.stack([-new, new - gamma * i, gamma * i])
def simulate(theta, y0=y0):
    sol = diffeqsolve(ODETerm(sir), Dopri5(), 0.0, 10.0, 0.5, y0, args=theta, saveat=SaveAt(ts=ts),
                      stepsize_controller=PIDController(rtol=1e-4, atol=1e-6))
    return sol.ys
observed = simulate((jnp.float32(1.0), jnp.float32(0.3)))[:, 1] * (1 + 0.02 * rs.normal(size=6)).astype(np.float32)
guess, lr, iters = {"beta": 0.6, "gamma": 0.5}, 0.05, 3
---
@jit
def loss(p):
    infected = simulate((p["beta"], p["gamma"]))[:, 1]
    return jnp.mean((infected - observed) ** 2)
p = {k: jnp.float32(v) for k, v in guess.items()}
opt = optax.adam(lr); st = opt.init(p)
path = [p]
for it in range(iters):
    v, g = jax.value_and_grad(loss)(p)
    upd, st = opt.update(g, st)
    p = jax.tree.map(lambda a: jnp.clip(a, 1e-3, 2.0), optax.apply_updates(p, upd))
    path.append(p)
    print(f"it {it} loss {v:.2e} beta {p['beta']:.3f} gamma {p['gamma']:.3f} R0 {p['beta'] / p['gamma']:.2f}")
R0 = p["beta"] / p["gamma"]
peak = int(jnp.argmax(simulate((p["beta"], p["gamma"]))[:, 1]))
R0, ts[peak]
---
lr = 0.01
---
guess["gamma"] = 0.2
---
observed = observed * 1.1; iters = 2

### ha-optimistix-lineax-gauss-newton-camera-fit needs=optimistix,lineax
import optimistix as optx, lineax as lx
pts3 = rs.normal(size=(8, 3)) + np.array([0, 0, 5.0])
def project(cam, p):
    f, cx, cy = cam["f"], cam["c"][0], cam["c"][1]
    return jnp.stack([f * p[:, 0] / p[:, 2] + cx, f * p[:, 1] / p[:, 2] + cy], -1)
true_cam = {"f": jnp.float32(2.0), "c": jnp.array([0.1, -0.2])}
pix = np.asarray(project(true_cam, jnp.asarray(pts3))) + 0.001 * rs.normal(size=(8, 2))
solver_name, max_steps, damping = "lm", 32, 1e-3
init = {"f": jnp.float32(1.0), "c": jnp.zeros(2)}
---
def residuals(cam, args):
    p, z = args
    return project(cam, p) - z
solvers = {"lm": optx.LevenbergMarquardt(rtol=1e-4, atol=1e-4), "gn": optx.GaussNewton(rtol=1e-4, atol=1e-4)}
def fit(init):
    sol = optx.least_squares(residuals, solvers[solver_name], init, args=(jnp.asarray(pts3), jnp.asarray(pix)),
                             max_steps=max_steps, throw=False)
    return sol.value, sol.result == optx.RESULTS.successful, sol.stats["num_steps"]
fitted, ok, n_steps = fit(init)
flat, unravel = jax.flatten_util.ravel_pytree(fitted)
J = jax.jacobian(lambda v: residuals(unravel(v), (jnp.asarray(pts3), jnp.asarray(pix))).ravel())(flat)
op = lx.MatrixLinearOperator(J.T @ J + damping * jnp.eye(len(flat)), lx.positive_semidefinite_tag)
newton_step = lx.linear_solve(op, J.T @ residuals(fitted, (jnp.asarray(pts3), jnp.asarray(pix))).ravel()).value
print(f"{solver_name}: f={fitted['f']:.2f} converged={bool(ok)} small={bool(jnp.linalg.norm(newton_step) < 1e-2)}")
fitted
---
solver_name = "gn"
---
pts3 = pts3[:6]; pix = pix[:6]
---
init = {"f": jnp.float32(3.0), "c": jnp.array([0.5, 0.5])}

### ha-orbax-checkpoint-resume-best-and-latest cold needs=orbax.checkpoint
import orbax.checkpoint as ocp
import shutil
ckpt_dir = Path("runs/exp1").absolute()
hp = {"lr": 0.05, "epochs": 3, "keep": 2, "resume": True}
def init_params(key): return {"w": jax.random.normal(key, (5,)) * 0.1, "b": jnp.zeros(())}
def mse(p, x, t): return jnp.mean((x @ p["w"] + p["b"] - t) ** 2)
---
tx = optax.adam(hp["lr"])
params = init_params(jax.random.key(0))
state = {"params": params, "opt_state": tx.init(params), "epoch": jnp.int32(0)}
options = ocp.CheckpointManagerOptions(max_to_keep=hp["keep"], create=True, enable_async_checkpointing=False)
with ocp.CheckpointManager(ckpt_dir, options=options) as mngr:
    latest = mngr.latest_step()
    if hp["resume"] and latest is not None:
        state = mngr.restore(latest, args=ocp.args.StandardRestore(state))
        print(f"resumed from {latest}")
    start = int(state["epoch"])
    for epoch in range(start, start + hp["epochs"]):
        loss, g = jax.value_and_grad(mse)(state["params"], X, y)
        upd, opt_state = tx.update(g, state["opt_state"])
        state = {"params": optax.apply_updates(state["params"], upd), "opt_state": opt_state,
            "epoch": state["epoch"] + 1}
        mngr.save(epoch + 1, args=ocp.args.StandardSave(state))
        print(f"epoch {epoch + 1}: loss {loss:.4f}")
    kept = sorted(mngr.all_steps())
final = mse(state["params"], X, y)
kept, final
---
hp["epochs"] = 1
---
hp["keep"] = 1; hp["lr"] = 0.2
---
shutil.rmtree(ckpt_dir)
---
hp["resume"] = False; shutil.rmtree(ckpt_dir)

### ha-md-lennard-jones-nve-nvt-thermostat-switch
from jax import config
N, box, rcut, dt = 9, 4.0, 1.8, 0.005
def fcc(n, box):
    g = int(np.ceil(n ** 0.5))
    return jnp.array([[i, j] for i in range(g) for j in range(g)][:n]) * box / g
R0 = fcc(N, box)
V0 = 0.3 * jax.random.normal(jax.random.PRNGKey(4), R0.shape)
sim = {"ensemble": "nve", "steps": 10, "T": 0.5, "tau": 0.1, "write_every": 5}
log = {"PE": [], "KE": [], "H": []}
---
def displacement(a, b): return jnp.mod(a - b + 0.5 * box, box) - 0.5 * box
def pair(r2):
    s6 = 1 / jnp.where(r2 < 1e-6, 1.0, r2) ** 3
    return jnp.where((r2 > 1e-6) & (r2 < rcut ** 2), 4 * (s6 ** 2 - s6), 0.0)
@jit
def energy(R):
    dr = vmap(vmap(displacement, (None, 0)), (0, None))(R, R)
    return 0.5 * pair(jnp.sum(dr ** 2, -1)).sum()
force = jit(lambda R: -grad(energy)(R))
def kinetic(V): return 0.5 * jnp.sum(V ** 2)
def temperature(V): return 2 * kinetic(V) / V.size
R, V = R0, V0 - V0.mean(0)
F = force(R)
for step in range(sim["steps"]):
    V = V + 0.5 * dt * F
    R = jnp.mod(R + dt * V, box)
    F = force(R)
    V = V + 0.5 * dt * F
    if sim["ensemble"] == "nvt":
        lam = jnp.sqrt(1 + dt / sim["tau"] * (sim["T"] / temperature(V) - 1))
        V = lam * V
    if step % sim["write_every"] == 0:
        pe, ke = energy(R), kinetic(V)
        log["PE"] += [pe]
        log["KE"] += [ke]
        log["H"] += [pe + ke]
        print("{:4d}\tKE={:.3f}\tT={:.3f}".format(step, ke, temperature(V)))
drift = (log["H"][-1] - log["H"][0])
V.sum(0).round(3) + 0.0
---
sim["ensemble"] = "nvt"
---
sim["T"] = 1.5; sim["tau"] = 0.05
---
dt = 0.002; log = {k: [] for k in log}
---
N, rcut = 4, 1.5; R0 = fcc(N, box); V0 = V0[:4]; sim["ensemble"] = "nve"

### ha-wave-equation-2d-damped-sources-snapshots
nx, c, dx, courant, n_frames, per_frame = 12, 1.0, 0.1, 0.5, 3, 4
damping = jnp.zeros((nx, nx))
sources = [{"pos": (3, 3), "freq": 2.0, "amp": 1.0}]
boundary = "fixed"
def laplacian(u):
    if boundary == "periodic":
        return sum(jnp.roll(u, s, ax) for s in (1, -1) for ax in (0, 1)) - 4 * u
    p = jnp.pad(u, 1, mode="constant" if boundary == "fixed" else "edge")
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u
---
dt = courant * dx / c
def step(carry, i):
    u, u_prev = carry
    t = i * dt
    u_next = (2 * u - (1 - damping * dt) * u_prev + (c * dt / dx) ** 2 * laplacian(u)) / (1 + damping * dt)
    for s in sources:
        u_next = u_next.at[s["pos"]].add(s["amp"] * dt ** 2 * jnp.sin(2 * jnp.pi * s["freq"] * t))
    return (u_next, u), jnp.sum(u_next ** 2)
u = jnp.zeros((nx, nx)); u_prev = u
frames, energy = [], []
run = jax.jit(lambda c, start: jax.lax.scan(step, c, start + jnp.arange(per_frame)))
for f in range(n_frames):
    (u, u_prev), e = run((u, u_prev), f * per_frame)
    frames.append(np.array(u))
    energy.extend(e.tolist())
    print(f"frame {f}: max|u| = {jnp.abs(u).max():.2e}, probes {u[3, 3]:.2e}")
movie = np.stack(frames)
movie.shape, len(energy)
---
sources.append({"pos": (8, 8), "freq": 1.0, "amp": 0.5})
---
boundary = "periodic"
---
damping = damping.at[:2].set(0.5).at[-2:].set(0.5)
---
courant, per_frame = 0.3, 5
---
nx = 8; damping = jnp.zeros((nx, nx)); sources[:] = sources[:1]; boundary = "edge"

### ha-image-stylise-gram-matrices-tv-denoise
img = rs.random((8, 8, 3)); style = rs.random((8, 8, 3))
kernels = rs.normal(size=(3, 3, 3, 4)).astype(np.float32)
weights = {"content": 1.0, "style": 10.0, "tv": 0.1}
lr, n_iter, show_every = 0.05, 4, 2
to_uint8 = lambda a: np.clip(np.asarray(a) * 255, 0, 255).astype(np.uint8)
---
def features(x):
    h = lax.conv_general_dilated(x[None].astype(jnp.float32), kernels, (1, 1), "SAME",
        dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return jax.nn.relu(h)[0]
def gram(f):
    f = f.reshape(-1, f.shape[-1])
    return f.T @ f / f.shape[0]
def total_variation(x): return jnp.abs(jnp.diff(x, axis=0)).mean() + jnp.abs(jnp.diff(x, axis=1)).mean()
content_f, style_g = features(img), gram(features(style))
def objective(x):
    f = features(x)
    parts = {"content": jnp.mean((f - content_f) ** 2), "style": jnp.mean((gram(f) - style_g) ** 2),
        "tv": total_variation(x)}
    return sum(weights[k] * v for k, v in parts.items()), parts
x = jnp.asarray(img, dtype=jnp.float32)
m = v = jnp.zeros_like(x)
log = []
for t in range(1, n_iter + 1):
    (total, parts), g = jax.value_and_grad(objective, has_aux=True)(x)
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g ** 2
    x = x - lr * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
    x = x.clip(0, 1)
    log.append({k: round(float(p), 2) for k, p in parts.items()})
    if t % show_every == 0:
        print(t, f"{total:.3f}", sorted(log[-1]))
out = to_uint8(x)
psnr = 10 * jnp.log10(1.0 / jnp.mean((x - img) ** 2))
out.shape, out.dtype, psnr
---
weights["style"] = 1.0
---
weights.update(tv=0.0, content=0.5)
---
kernels = kernels[..., :2]
---
img = to_uint8(img)
---
img = rs.random((6, 6, 3)); style = style[:6, :6]; lr = 0.1

### ha-scipy-minimize-logistic-with-hvp-and-callback
from scipy import optimize
from jax.flatten_util import ravel_pytree
p0 = {"w": jnp.zeros(5), "b": jnp.float32(0.0)}
l2, method, maxiter = 1e-2, "BFGS", 4
iterates = []
---
flat0, unravel = ravel_pytree(p0)
def nll(flat):
    p = unravel(flat)
    z = X @ p["w"] + p["b"]
    return jnp.mean(jnp.logaddexp(0.0, z) - cls * z) + l2 * jnp.sum(p["w"] ** 2)
f = jit(nll); df = jit(grad(nll))
hvp = jit(lambda x, v: jax.jvp(grad(nll), (x,), (v,))[1])
def callback(xk):
    iterates.append(xk.copy())
    if len(iterates) % 2 == 0:
        print(f"  iter {len(iterates)} f={f(xk.astype(np.float32)):.3f}")
iterates.clear()
kw = {"hessp": lambda x, v: np.asarray(hvp(x.astype(np.float32), v.astype(np.float32)),
    dtype=float)} if method == "Newton-CG" else {}
res = optimize.minimize(lambda x: float(f(x.astype(np.float32))), np.asarray(flat0, dtype=float),
                        jac=lambda x: np.asarray(df(x.astype(np.float32)), dtype=float), method=method,
                        callback=callback, options={"maxiter": maxiter}, **kw)
fitted = unravel(jnp.asarray(res.x, dtype=jnp.float32))
acc = np.mean((X @ fitted["w"] + fitted["b"] > 0) == cls)
print(method, res.nit, len(iterates), f"acc={acc:.2f}")
fitted["b"]
---
method = "Newton-CG"
---
l2 = 0.1
---
method = "CG"; maxiter = 2
---
cls = 1 - cls

### ha-distill-ema-teacher-mean-teacher-semi-supervised
labelled = np.zeros(32, bool); labelled[:8] = True
conf = dict(ema=0.9, consistency=1.0, rampup=3, noise=0.1, lr=0.05, epochs=4)
class Meter:
    def __init__(self): self.reset()
    def reset(self): self.sum, self.n = 0.0, 0
    def update(self, v, n=1): self.sum += float(v) * n; self.n += n
    @property
    def avg(self): return self.sum / max(self.n, 1)
meters = {k: Meter() for k in ("sup", "cons")}
def net(p, x): return jnp.tanh(x @ p["w1"]) @ p["w2"]
student = {"w1": jax.random.normal(jax.random.key(0), (5, 6)) * 0.4, "w2": jax.random.normal(jax.random.key(1),
    (6, 2)) * 0.4}
teacher = student
global_step = 0
---
def losses(p, teacher, key, weight):
    k1, k2 = jax.random.split(key)
    ls = net(p, X + conf["noise"] * jax.random.normal(k1, X.shape))
    lt = net(teacher, X + conf["noise"] * jax.random.normal(k2, X.shape))
    ce = optax.softmax_cross_entropy_with_integer_labels(ls, cls)
    sup = jnp.where(labelled, ce, 0).sum() / labelled.sum()
    cons = jnp.mean((jax.nn.softmax(ls) - lax.stop_gradient(jax.nn.softmax(lt))) ** 2)
    return sup + weight * cons, (sup, cons)
@jit
def step(student, teacher, key, weight):
    (_, aux), g = jax.value_and_grad(losses, has_aux=True)(student, teacher, key, weight)
    student = jax.tree.map(lambda p, g: p - conf["lr"] * g, student, g)
    teacher = jax.tree.map(lambda t, s: conf["ema"] * t + (1 - conf["ema"]) * s, teacher, student)
    return student, teacher, aux
for epoch in range(conf["epochs"]):
    for mt in meters.values(): mt.reset()
    weight = conf["consistency"] * math.exp(-5 * (1 - min(global_step / conf["rampup"], 1)) ** 2)
    student, teacher, (sup, cons) = step(student, teacher, jax.random.fold_in(jax.random.key(7), global_step), weight)
    meters["sup"].update(sup, 32); meters["cons"].update(cons, 32)
    global_step += 1
    print(f"[{global_step}] w={weight:.3f} " + ", ".join(f"{k} {m.avg:.3f}" for k, m in meters.items()))
acc = {name: float((net(p, X).argmax(1) == cls).mean()) for name, p in [("student", student), ("teacher", teacher)]}
sorted(acc)
---
conf["ema"] = 0.5
---
global_step = 0; teacher = student
---
labelled[8:16] = True
---
conf |= {"consistency": 0.0, "epochs": 2}
---
X = jnp.asarray(X); cls = jnp.asarray(cls)

### ha-mixed-precision-bf16-policy-flax-dtype-switch tolerance=5e-2 needs=flax
import flax.linen as nn
class MLP(nn.Module):
    width: int = 8
    dtype: Any = jnp.float32
    param_dtype: Any = jnp.float32
    @nn.compact
    def __call__(self, x):
        x = x.astype(self.dtype)
        x = nn.Dense(self.width, dtype=self.dtype, param_dtype=self.param_dtype)(x)
        x = nn.LayerNorm(dtype=self.dtype)(nn.gelu(x))
        return nn.Dense(1, dtype=self.dtype)(x).astype(jnp.float32)[:, 0]
half_dtype, loss_scale, growth, steps = jnp.float16, 2.0 ** 10, 2, 5
good_steps, skipped = 0, 0
scale_log = []
tx = optax.adamw(1e-2)
---
net = MLP(dtype=half_dtype)
params = net.init(jax.random.key(0), X[:1])
opt_state = tx.init(params)
@jit
def scaled_grads(params, scale):
    def f(p):
        loss = jnp.mean(optax.l2_loss(net.apply(p, X), y))
        return loss * scale, loss
    g, loss = jax.grad(f, has_aux=True)(params)
    g = jax.tree.map(lambda a: a.astype(jnp.float32) / scale, g)
    finite = jnp.all(jnp.stack([jnp.isfinite(a).all() for a in jax.tree.leaves(g)]))
    return loss, g, finite
for i in range(steps):
    loss, g, finite = scaled_grads(params, loss_scale)
    if finite:
        updates, opt_state = tx.update(g, opt_state, params)
        params = optax.apply_updates(params, updates)
        good_steps += 1
        if good_steps % growth == 0: loss_scale *= 2
    else:
        loss_scale = max(1.0, loss_scale / 2); skipped += 1
    scale_log.append(loss_scale)
out = net.apply(params, X)
print(f"scale 2**{math.log2(loss_scale):.0f}, good {good_steps}, skipped {skipped}, dtype {out.dtype}")
{jax.tree_util.keystr(k): v.dtype for k, v in jax.tree_util.tree_leaves_with_path(params)}
---
loss_scale = 2.0 ** 30
---
half_dtype = jnp.bfloat16; loss_scale = 1.0
---
MLP.width = 4
---
half_dtype = jnp.float32; scale_log.clear(); good_steps = 0

### ha-transformer-linen-reverse-warmup-labels-smoothing needs=flax
import flax.linen as nn
class EncoderBlock(nn.Module):
    dim: int
    heads: int
    @nn.compact
    def __call__(self, x, mask=None, train=True):
        a = nn.MultiHeadDotProductAttention(self.heads)(x, x, mask=mask)
        x = nn.LayerNorm()(x + nn.Dropout(hp["dropout"])(a, deterministic=not train))
        return nn.LayerNorm()(x + nn.Dense(self.dim)(nn.relu(nn.Dense(2 * self.dim)(x))))
class Predictor(nn.Module):
    dim: int = 8
    heads: int = 2
    @nn.compact
    def __call__(self, x, train=True):
        pe = np.zeros((x.shape[1], self.dim), np.float32)
        pos = np.arange(x.shape[1])[:, None]
        div = np.exp(np.arange(0, self.dim, 2) * (-math.log(10000.0) / self.dim))
        pe[:, 0::2] = np.sin(pos * div); pe[:, 1::2] = np.cos(pos * div)
        h = nn.Dense(self.dim)(jax.nn.one_hot(x, hp["classes"])) + pe
        for _ in range(hp["layers"]): h = EncoderBlock(self.dim, self.heads)(h, train=train)
        return nn.Dense(hp["classes"])(h)
hp = {"dropout": 0.1, "classes": 5, "layers": 1, "lr": 1e-2, "warmup": 2, "smooth": 0.0, "epochs": 2}
seqs = rs.integers(0, 5, (12, 6))
class LRTracker:
    last = None
    def __init__(self, fn): self.fn = fn
    def __call__(self, step):
        return self.fn(step)
---
model = Predictor()
rng = jax.random.PRNGKey(0)
rng, init_rng = jax.random.split(rng)
params = model.init({"params": init_rng, "dropout": init_rng}, seqs[:1])["params"]
schedule = LRTracker(optax.warmup_cosine_decay_schedule(0.0, hp["lr"], hp["warmup"], 6 * hp["epochs"], 0.0))
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(schedule))
opt_state = tx.init(params)
def calculate_loss(params, rng, batch, train):
    rng, drop = jax.random.split(rng)
    logits = model.apply({"params": params}, batch, train=train, rngs={"dropout": drop})
    labels = optax.smooth_labels(jax.nn.one_hot(batch[:, ::-1], hp["classes"]), hp["smooth"])
    acc = (logits.argmax(-1) == batch[:, ::-1]).mean()
    return optax.softmax_cross_entropy(logits, labels).mean(), (acc, rng)
@jit
def train_step(params, opt_state, rng, batch):
    (loss, (acc, rng)), g = jax.value_and_grad(calculate_loss, has_aux=True)(params, rng, batch, True)
    up, opt_state = tx.update(g, opt_state, params)
    return optax.apply_updates(params, up), opt_state, rng, loss, acc
best_acc, lrs, step = 0.0, [], 0
for epoch in range(1, hp["epochs"] + 1):
    accs, losses = [], []
    for i in range(0, len(seqs), 4):
        params, opt_state, rng, loss, acc = train_step(params, opt_state, rng, seqs[i:i + 4])
        lrs.append(float(schedule(step))); step += 1
        losses.append(loss); accs.append(acc)
    avg_loss = np.stack(jax.device_get(losses)).mean()
    _, (eval_acc, _) = calculate_loss(params, rng, seqs, False)
    if eval_acc >= best_acc:
        best_acc = eval_acc
        LRTracker.last = lrs[-1]
    print(f"Epoch {epoch:2d}: loss {avg_loss:.3f}, lr {lrs[-1]:.4f}")
best_acc, lrs[0]
---
hp["smooth"] = 0.1
---
hp["dropout"] = 0.0; hp["lr"] = 3e-2
---
hp["layers"], hp["epochs"] = 2, 1
---
seqs = rs.integers(0, 5, (8, 4)).astype(np.int32)

### ha-bert-like-masked-tokens-collator-perplexity
vocab = ["[PAD]", "[MASK]"] + "the a cat dog sat ran on mat log fast".split()
tok2id = {t: i for i, t in enumerate(vocab)}
corpus = ["the cat sat on the mat", "a dog ran fast", "the dog sat on a log", "a cat ran on the log fast"]
maxlen, mask_prob, lr, epochs, d = 7, 0.3, 0.05, 3, 6
class Collator:
    def __init__(self, seed): self.rng = np.random.default_rng(seed)
    def __call__(self, sents):
        ids = np.zeros((len(sents), maxlen), np.int32)
        for row, s in enumerate(sents):
            toks = [tok2id[w] for w in s.split()][:maxlen]
            ids[row, :len(toks)] = toks
        m = (self.rng.random(ids.shape) < mask_prob) & (ids > 0)
        m[np.arange(len(m)), 0] = True
        return {"input": np.where(m, tok2id["[MASK]"], ids), "labels": np.where(m, ids, -100), "attn": ids > 0}
---
collate = Collator(0)
k = jax.random.split(jax.random.key(0), 4)
params = {"emb": jax.random.normal(k[0], (len(vocab), d)), "pos": jax.random.normal(k[1], (maxlen, d)) * 0.1,
          "qkv": jax.random.normal(k[2], (d, 3 * d)) * 0.3, "o": jax.random.normal(k[3], (d, d)) * 0.3}
def encode(p, b):
    x = p["emb"][b["input"]] + p["pos"]
    q, kk, v = jnp.split(x @ p["qkv"], 3, axis=-1)
    s = jnp.einsum("bqd,bkd->bqk", q, kk) / jnp.sqrt(d)
    s = jnp.where(b["attn"][:, None, :], s, -1e9)
    return (x + jax.nn.softmax(s) @ v @ p["o"]) @ p["emb"].T
def mlm_loss(p, b):
    lab = b["labels"]
    valid = lab != -100
    ll = jnp.take_along_axis(jax.nn.log_softmax(encode(p, b)), jnp.where(valid, lab, 0)[..., None], -1)[..., 0]
    return -(ll * valid).sum() / valid.sum()
step = jit(jax.value_and_grad(mlm_loss))
tx = optax.adamw(lr); opt_state = tx.init(params)
perplexities = []
for epoch in range(epochs):
    batch = collate(corpus)
    loss, g = step(params, batch)
    updates, opt_state = tx.update(g, opt_state, params)
    params = optax.apply_updates(params, updates)
    try:
        ppl = math.exp(loss)
    except OverflowError:
        ppl = float("inf")
    perplexities.append(ppl)
    print(f">>> Epoch {epoch}: masked {int((batch['labels'] != -100).sum())} ppl {ppl:.1f}")
filled = [vocab[int(i)] for i in encode(params, batch)[0].argmax(-1)]
len(filled), all(t in tok2id for t in filled)
---
mask_prob = 0.5
---
corpus += ["a log sat on the cat"]
---
lr, epochs = 0.01, 2
---
maxlen, d = 5, 4

### ha-ppo-nnx-continuous-pendulum-normalised-obs needs=flax
from flax import nnx
class Policy(nnx.Module):
    def __init__(self, rngs):
        self.l = nnx.Linear(3, 8, rngs=rngs)
        self.mu, self.v = nnx.Linear(8, 1, rngs=rngs), nnx.Linear(8, 1, rngs=rngs)
        self.log_std = nnx.Param(jnp.zeros(1))
    def __call__(self, o):
        h = nnx.tanh(self.l(o))
        return self.mu(h)[..., 0], jnp.exp(self.log_std[...])[0], self.v(h)[..., 0]
class RunningNorm:
    def __init__(self, shape): self.mean, self.var, self.count = np.zeros(shape), np.ones(shape), 1e-4
    def update(self, x):
        bm, bv, n = x.mean(0), x.var(0), len(x)
        d, tot = bm - self.mean, self.count + n
        self.mean = self.mean + d * n / tot
        self.var = (self.var * self.count + bv * n + d ** 2 * self.count * n / tot) / tot
        self.count = tot
    def __call__(self, x): return (x - self.mean) / np.sqrt(self.var + 1e-8)
class Pendulum:
    def __init__(self, n, seed): self.rng, self.n = np.random.default_rng(seed), n
    def reset(self):
        self.th, self.w = self.rng.uniform(-3, 3, self.n), self.rng.uniform(-1, 1, self.n)
        return self.obs()
    def obs(self): return np.stack([np.cos(self.th), np.sin(self.th), self.w], -1)
    def step(self, a):
        a = np.clip(a, -2, 2)
        cost = (((self.th + np.pi) % (2 * np.pi)) - np.pi) ** 2 + 0.1 * self.w ** 2 + 0.001 * a ** 2
        self.w = self.w + (15 * np.sin(self.th) + 3 * a) * 0.05
        self.th = self.th + self.w * 0.05
        return self.obs(), -cost
args = dict(n_envs=3, horizon=5, iters=2, clip=0.2, epochs=2, gamma=0.95, lam=0.9, vf=0.5, normalise=True)
---
env, norm = Pendulum(args["n_envs"], 0), RunningNorm(3)
policy = Policy(nnx.Rngs(0))
opt = nnx.Optimizer(policy, optax.adam(3e-3), wrt=nnx.Param)
rngs = nnx.Rngs(act=1)
@nnx.jit
def act(policy, obs, key):
    mu, std, v = policy(obs)
    a = mu + std * jax.random.normal(key, mu.shape)
    return a, jax.scipy.stats.norm.logpdf(a, mu, std), v
@nnx.jit
def update(policy, opt, b, clip):
    def loss_fn(policy):
        mu, std, v = policy(b["obs"])
        ratio = jnp.exp(jax.scipy.stats.norm.logpdf(b["a"], mu, std) - b["lp"])
        adv = (b["adv"] - b["adv"].mean()) / (b["adv"].std() + 1e-8)
        pg = -jnp.minimum(ratio * adv, jnp.clip(ratio, 1 - clip, 1 + clip) * adv).mean()
        vl = jnp.mean((v - b["ret"]) ** 2)
        return pg + args["vf"] * vl, {"pg": pg, "v": vl, "kl": ((ratio - 1) - jnp.log(ratio)).mean()}
    (loss, info), grads = nnx.value_and_grad(loss_fn, has_aux=True)(policy)
    opt.update(policy, grads)
    return info
obs = env.reset()
writer = []
for it in range(args["iters"]):
    roll = defaultdict(list)
    for t in range(args["horizon"]):
        if args["normalise"]: norm.update(obs)
        o = norm(obs).astype(np.float32)
        a, lp, v = act(policy, o, rngs.act())
        obs, r = env.step(np.asarray(a))
        for k, val in zip(("obs", "a", "lp", "v", "r"), (o, a, lp, v, r.astype(np.float32))): roll[k].append(val)
    roll = {k: np.stack(v) for k, v in roll.items()}
    last_v = np.asarray(policy(norm(obs).astype(np.float32))[2])
    adv, gae = np.zeros_like(roll["r"]), 0
    for t in reversed(range(args["horizon"])):
        nv = last_v if t == args["horizon"] - 1 else roll["v"][t + 1]
        gae = roll["r"][t] + args["gamma"] * nv - roll["v"][t] + args["gamma"] * args["lam"] * gae
        adv[t] = gae
    batch = {**roll, "adv": adv, "ret": adv + roll["v"]}
    for _ in range(args["epochs"]): info = update(policy, opt, batch, args["clip"])
    writer.append({"iter": it, "reward": roll["r"].sum(0).mean(), **{k: float(v) for k, v in info.items()}})
    print(f"iter {it} reward {writer[-1]['reward']:.2f} kl {writer[-1]['kl']:.4f}")
policy.log_std[...], norm.mean.round(3)
---
args["clip"] = 0.1
---
args["normalise"] = False
---
args.update(n_envs=2, horizon=4)
---
args["vf"] = 1.0; args["epochs"] = 1

### ha-hmc-by-hand-dual-averaging-trace-dict tolerance=1e-2
def logp(q): return -0.5 * (q["x"] ** 2 / 4 + (q["y"] - q["x"] ** 2 / 4) ** 2).sum()
init = {"x": jnp.array([1.0]), "y": jnp.array([0.5])}
n_samples, n_warm, n_leap, step_size, target_accept = 8, 4, 5, 0.3, 0.8
seed, adapt = 0, True
---
vg = jit(jax.value_and_grad(logp))
def leapfrog(q, p, eps):
    _, g = vg(q)
    p = jax.tree.map(lambda p, g: p + 0.5 * eps * g, p, g)
    for i in range(n_leap):
        q = jax.tree.map(lambda q, p: q + eps * p, q, p)
        _, g = vg(q)
        scale = 0.5 if i == n_leap - 1 else 1.0
        p = jax.tree.map(lambda p, g: p + scale * eps * g, p, g)
    return q, p
def kinetic(p): return 0.5 * sum(jnp.vdot(x, x) for x in jax.tree.leaves(p))
q, eps, accepted = init, step_size, 0
h_bar, log_eps_bar, mu = 0.0, 0.0, math.log(10 * step_size)
trace = {k: [] for k in init}
key = jax.random.PRNGKey(seed)
for i in range(n_warm + n_samples):
    key, kp, ku = jax.random.split(key, 3)
    leaves, treedef = jax.tree.flatten(q)
    p = treedef.unflatten([jax.random.normal(k, l.shape) for k, l in zip(jax.random.split(kp, len(leaves)), leaves)])
    q_new, p_new = leapfrog(q, p, eps)
    log_ratio = (vg(q_new)[0] - kinetic(p_new)) - (vg(q)[0] - kinetic(p))
    a = min(1.0, float(jnp.exp(log_ratio)))
    if jnp.log(jax.random.uniform(ku)) < log_ratio:
        q = q_new
        if i >= n_warm: accepted += 1
    if adapt and i < n_warm:
        m = i + 1
        h_bar += (target_accept - a - h_bar) / (m + 10)
        log_eps = mu - math.sqrt(m) / 0.05 * h_bar
        log_eps_bar += m ** -0.75 * (log_eps - log_eps_bar)
        eps = math.exp(min(log_eps, 0.0))
    elif adapt and i == n_warm:
        eps = math.exp(min(log_eps_bar, 0.0))
    if i >= n_warm:
        for k in trace: trace[k].append(q[k][0])
print(f"accept rate {accepted / n_samples:.2f}, eps {eps:.2f}")
{k: (jnp.mean(jnp.stack(v)), len(v)) for k, v in trace.items()}
---
step_size = 0.1
---
adapt = False; n_leap = 3
---
seed = 4
---
def logp(q): return -0.5 * (q["x"] ** 2).sum() - jnp.abs(q["y"]).sum()

### ha-lr-schedule-early-stop-checkpoint-best-npz
val_X, val_y = X[24:], y[24:]
tr_X, tr_y = X[:24], y[:24]
cfg = {"optimizer": "adam", "lr": 0.1, "schedule": "cosine", "epochs": 6, "patience": 2, "bs": 8, "path": "best.npz"}
OPTS = {"adam": optax.adam, "sgd": optax.sgd, "lion": optax.lion}
class EarlyStopping:
    def __init__(self, patience=2, min_delta=0.0):
        self.patience, self.min_delta, self.best, self.counter, self.stop = patience, min_delta, None, 0, False
    def __call__(self, value):
        if self.best is None or value < self.best - self.min_delta:
            self.best, self.counter = value, 0
            return True
        self.counter += 1
        self.stop = self.counter >= self.patience
        return False
---
total = cfg["epochs"] * (len(tr_X) // cfg["bs"])
schedules = {"cosine": optax.cosine_decay_schedule(cfg["lr"], total), "constant": optax.constant_schedule(cfg["lr"]),
             "step": optax.piecewise_constant_schedule(cfg["lr"], {total // 2: 0.1})}
sched = schedules[cfg["schedule"]]
tx = OPTS[cfg["optimizer"]](sched)
params = {"w": jnp.zeros(5), "b": jnp.zeros(())}
state = tx.init(params)
mse = lambda p, x, t: jnp.mean((x @ p["w"] + p["b"] - t) ** 2)
@jit
def step(p, s, x, t):
    l, g = jax.value_and_grad(mse)(p, x, t)
    u, s = tx.update(g, s, p)
    return optax.apply_updates(p, u), s, l
stopper = EarlyStopping(cfg["patience"], 1e-3)
history = {"loss": [], "val_loss": [], "lr": []}
it = 0
for epoch in range(cfg["epochs"]):
    ep = 0.0
    for b in range(0, len(tr_X), cfg["bs"]):
        params, state, l = step(params, state, tr_X[b:b + cfg["bs"]], tr_y[b:b + cfg["bs"]])
        ep += l * cfg["bs"]
        it += 1
    history["loss"].append(float(ep / len(tr_X)))
    history["val_loss"].append(float(mse(params, val_X, val_y)))
    history["lr"].append(float(sched(it)))
    improved = stopper(history["val_loss"][-1])
    if improved:
        np.savez(cfg["path"], **params)
    flag = " *" if improved else ""
    print("Epoch {:2d} - loss: {loss:.3f} - val_loss: {val_loss:.3f}{}".format(epoch, flag,
        **{k: v[-1] for k, v in history.items()}))
    if stopper.stop:
        print("stopped")
        break
with np.load(cfg["path"]) as f:
    best = {k: jnp.asarray(f[k]) for k in f.files}
mse(best, val_X, val_y)
---
cfg["schedule"] = "step"
---
cfg["optimizer"] = "lion"; cfg["lr"] = 0.01
---
cfg.update(optimizer="sgd", lr=0.5, patience=1)
---
tr_y = tr_y + 1.0; cfg["lr"] = 0.05; cfg["schedule"] = "constant"

### ha-grad-accumulation-global-counter-and-clip-log
accum_steps, micro_bs, max_norm, lr, n_updates = 2, 4, 0.5, 0.05, 3
global_update = 0
clip_events = []
params = {"layers": [{"w": jax.random.normal(jax.random.key(i), (5, 5)) * 0.3, "b": jnp.zeros(5)} for i in range(2)],
          "out": jax.random.normal(jax.random.key(9), (5,)) * 0.3}
def forward(p, x):
    for layer in p["layers"]:
        x = x + jax.nn.gelu(x @ layer["w"] + layer["b"])
    return x @ p["out"]
---
@jit
def micro(p, xb, yb): return jax.value_and_grad(lambda p: jnp.mean((forward(p, xb) - yb) ** 2))(p)
def cycle(n):
    i = 0
    while True:
        yield slice(i % n, i % n + micro_bs)
        i += micro_bs
stream = cycle(len(X))
for _ in range(n_updates):
    acc = jax.tree.map(jnp.zeros_like, params)
    running = 0.0
    for _ in range(accum_steps):
        sl = next(stream)
        l, g = micro(params, X[sl], y[sl])
        acc = jax.tree.map(lambda a, b: a + b / accum_steps, acc, g)
        running += l / accum_steps
    norm = optax.global_norm(acc)
    factor = jnp.minimum(1.0, max_norm / (norm + 1e-6))
    if norm > max_norm:
        clip_events.append((global_update, True))
    else:
        clip_events.append((global_update, False))
    params = jax.tree.map(lambda p, g: p - lr * factor * g, params, acc)
    global_update += 1
    print(f"update {global_update}: loss {running:.3f} clipped {clip_events[-1][1]}")
del stream
clip_rate = sum(c for _, c in clip_events) / len(clip_events)
clip_rate, jnp.sum(params["out"])
---
max_norm = 10.0; clip_events.clear()
---
accum_steps, micro_bs = 4, 2; clip_events = []; global_update = 0
---
params["layers"].append({"w": jnp.eye(5) * 0.1,
    "b": jnp.zeros(5)}); n_updates = 2; clip_events.clear(); global_update = 0

### ha-swin-like-patches-rearranged-by-helper
def rearrange_patches(img, p):
    b, h, w, c = img.shape
    return img.reshape(b, h // p, p, w // p, p, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, (h // p) * (w // p),
        p * p * c)
def unpatch(tokens, p, h, w, c):
    b = tokens.shape[0]
    return tokens.reshape(b, h // p, w // p, p, p, c).transpose(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
imgs = rs.random((4, 8, 8, 3)).astype(np.float32)
@dataclass(frozen=True)
class ViTConfig:
    patch: int = 4
    dim: int = 6
    heads: int = 2
    depth: int = 1
    mask_ratio: float = 0.5
config = ViTConfig()
epochs, seed = 2, 0
---
tokens = rearrange_patches(imgs, config.patch)
n_tok, pdim = tokens.shape[1:]
assert np.array_equal(unpatch(tokens, config.patch, *imgs.shape[1:]), imgs)
def init(key):
    ks = iter(jax.random.split(key, 4 + 4 * config.depth))
    dense = lambda m, n: jax.random.normal(next(ks), (m, n)) / np.sqrt(m)
    blocks = [{"qkv": dense(config.dim, 3 * config.dim), "proj": dense(config.dim, config.dim),
               "fc1": dense(config.dim, 2 * config.dim), "fc2": dense(2 * config.dim,
                   config.dim)} for _ in range(config.depth)]
    return {"embed": dense(pdim, config.dim), "pos": 0.02 * jax.random.normal(next(ks), (n_tok, config.dim)),
        "blocks": blocks,
            "mask": jnp.zeros(config.dim), "head": dense(config.dim, pdim)}
def layer_norm(x): return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)
def attention(b, x):
    q, k, v = jnp.moveaxis((x @ b["qkv"]).reshape(len(x), 3, config.heads, -1), 1, 0)
    w = jax.nn.softmax(jnp.einsum("qhd,khd->hqk", q, k) / math.sqrt(q.shape[-1]))
    return jnp.einsum("hqk,khd->qhd", w, v).reshape(len(x), -1) @ b["proj"]
def mae(p, toks, keep):
    x = jnp.where(keep[:, None], toks @ p["embed"], p["mask"]) + p["pos"]
    for b in p["blocks"]:
        x = x + attention(b, layer_norm(x))
        x = x + jax.nn.gelu(layer_norm(x) @ b["fc1"]) @ b["fc2"]
    return layer_norm(x) @ p["head"]
def loss_fn(p, key):
    keep = jax.random.uniform(key, (len(tokens), n_tok)) > config.mask_ratio
    rec = vmap(mae, (None, 0, 0))(p, tokens, keep)
    per = jnp.mean((rec - tokens) ** 2, -1)
    return jnp.sum(per * ~keep) / jnp.maximum(jnp.sum(~keep), 1), rec
params = init(jax.random.key(seed))
tx = optax.adamw(1e-2); opt_state = tx.init(params)
train = jit(jax.value_and_grad(loss_fn, has_aux=True))
for e in range(epochs):
    (l, rec), g = train(params, jax.random.fold_in(jax.random.key(seed + 1), e))
    u, opt_state = tx.update(g, opt_state, params)
    params = optax.apply_updates(params, u)
    print(f"mae epoch {e} loss {l:.3f}")
picture = unpatch(rec, config.patch, *imgs.shape[1:])
picture.shape, picture.mean()
---
config = replace(config, mask_ratio=0.25)
---
config = ViTConfig(patch=2, depth=2)
---
imgs = imgs[:2, :4, :4]
---
seed = 3; epochs = 1

### ha-bayes-linear-evidence-online-posterior-update
prior_prec, noise_prec = 1.0, 25.0
degree, chunk = 3, 5
xs = np.sort(rs.uniform(-1, 1, 20)); ts = np.sin(3 * xs) + 0.2 * rs.normal(size=20)
class Posterior(NamedTuple):
    mean: jax.Array
    prec: jax.Array
    n: int = 0
snapshots = {}
---
def phi(x): return jnp.stack([jnp.asarray(x) ** d for d in range(degree + 1)], axis=-1)
def update(post, x, t):
    P = phi(x)
    prec = post.prec + noise_prec * P.T @ P
    mean = jnp.linalg.solve(prec, post.prec @ post.mean + noise_prec * P.T @ t)
    return Posterior(mean, prec, post.n + len(x))
def log_evidence(x, t):
    P = phi(x)
    A = prior_prec * jnp.eye(degree + 1) + noise_prec * P.T @ P
    m = noise_prec * jnp.linalg.solve(A, P.T @ t)
    E = noise_prec / 2 * jnp.sum((t - P @ m) ** 2) + prior_prec / 2 * m @ m
    return 0.5 * ((degree + 1) * jnp.log(prior_prec) + len(x) * jnp.log(noise_prec) - jnp.linalg.slogdet(A)[1]
                  - len(x) * jnp.log(2 * jnp.pi)) - E
post = Posterior(jnp.zeros(degree + 1), prior_prec * jnp.eye(degree + 1))
for i in range(0, len(xs), chunk):
    post = update(post, xs[i:i + chunk], ts[i:i + chunk])
    snapshots[post.n] = post
    sd = jnp.sqrt(jnp.diag(jnp.linalg.inv(post.prec)))
    print(f"n={post.n}: sd {np.array2string(np.asarray(sd), precision=2)}")
d_alpha = jax.grad(lambda a: -0.5 * a * post.mean @ post.mean + 0.5 * (degree + 1) * jnp.log(a))(prior_prec)
scores = {d: None for d in range(1, 5)}
keep = degree
for degree in scores:
    scores[degree] = float(log_evidence(xs, ts))
degree = keep
print("best degree", max(scores, key=scores.get), d_alpha)
post.n, sorted(snapshots)
---
prior_prec = 0.1
---
degree = 2
---
chunk = 10; snapshots.clear()
---
noise_prec = 4
---
xs = xs.astype(np.float32); ts = ts.astype(np.float32)

### ha-tsne-by-hand-perplexity-search-embedding
from sklearn.datasets import load_iris
iris = load_iris(); feats = iris.data[::10]; targets = iris.target[::10]
perplexity, n_iter, lr, exaggeration = 4.0, 6, 5.0, 2.0
kl_log = []
---
D = jnp.sum((feats[:, None] - feats[None]) ** 2, -1)
def row_entropy(d, beta, i):
    p = jnp.exp(-d * beta).at[i].set(0.0)
    p = p / jnp.sum(p)
    return -jnp.sum(jnp.where(p > 1e-12, p * jnp.log2(jnp.maximum(p, 1e-12)), 0.0)), p
@jit
def search(d, i):
    def body(_, c):
        lo, hi = c
        mid = 0.5 * (lo + hi)
        h, _ = row_entropy(d, mid, i)
        return jnp.where(h > jnp.log2(perplexity), mid, lo), jnp.where(h > jnp.log2(perplexity), hi, mid)
    lo, hi = lax.fori_loop(0, 30, body, (jnp.float32(1e-3), jnp.float32(1e3)))
    return row_entropy(d, 0.5 * (lo + hi), i)[1]
P = vmap(search)(D, jnp.arange(len(D)))
P = jnp.maximum((P + P.T) / (2 * len(D)), 1e-12)
def kl(Y, P):
    num = 1 / (1 + jnp.sum((Y[:, None] - Y[None]) ** 2, -1))
    num = num * (1 - jnp.eye(len(Y)))
    Q = jnp.maximum(num / num.sum(), 1e-12)
    return jnp.sum(P * jnp.log(P / Q))
Y = jax.random.normal(jax.random.key(0), (len(D), 2)) * 1e-2
vel = jnp.zeros_like(Y)
for it in range(n_iter):
    scale = exaggeration if it < n_iter // 2 else 1.0
    value, g = jax.value_and_grad(kl)(Y, scale * P)
    vel = (0.5 if it < 3 else 0.8) * vel - lr * g
    Y = Y + vel
    Y -= Y.mean(axis=0)
    if (it + 1) % 3 == 0:
        kl_log.append(kl(Y, P).item())
        print(f"Iteration {it + 1}: KL {kl_log[-1]:.2f}")
centroids = {iris.target_names[c]: np.asarray(Y)[targets == c].mean(0) for c in np.unique(targets)}
list(centroids), Y.dtype
---
perplexity = 3.0
---
lr = 1.0; kl_log = []
---
feats = feats[:10]; targets = targets[:10]
---
exaggeration = 4; n_iter = 3

### ha-kmeans-gmm-em-responsibilities-restarts
blobs = np.concatenate([rs.normal(size=(8, 2)) + c for c in ([0, 0], [3, 3], [-3, 3])]).astype(np.float32)
K, n_restarts, max_iter, tol = 3, 2, 6, 1e-2
best = None
class GMM:
    reg = 1e-3
    def __init__(self, k, seed): self.k, self.seed, self.lls = k, seed, []
    def fit(self, data):
        idx = np.random.default_rng(self.seed).choice(len(data), self.k, replace=False)
        self.mu = jnp.asarray(data[idx])
        self.cov = jnp.stack([jnp.cov(data.T)] * self.k)
        self.pi = jnp.full(self.k, 1 / self.k)
        for it in range(max_iter):
            logr = self.log_joint(data)
            ll = jax.nn.logsumexp(logr, axis=1).mean()
            self.r = jnp.exp(logr - jax.nn.logsumexp(logr, axis=1, keepdims=True))
            nk = self.r.sum(0)
            self.mu = (self.r.T @ data) / nk[:, None]
            d = data[:, None] - self.mu
            self.cov = jnp.einsum("nk,nki,nkj->kij", self.r, d, d) / nk[:, None,
                None] + self.reg * jnp.eye(data.shape[1])
            self.pi = nk / len(data)
            self.lls.append(ll)
            if it and abs(self.lls[-1] - self.lls[-2]) < tol:
                break
        return self
    def log_joint(self, data):
        logpdf = jax.scipy.stats.multivariate_normal.logpdf
        return jnp.stack([logpdf(data, self.mu[j], self.cov[j]) for j in range(self.k)], 1) + jnp.log(self.pi)
    def predict(self, data): return self.log_joint(data).argmax(1)
    def __repr__(self): return f"GMM(k={self.k}, iters={len(self.lls)})"
---
candidates = []
for r in range(n_restarts):
    g = GMM(K, seed=r).fit(blobs)
    candidates.append(g)
    print(f"restart {r}: {g} ll={g.lls[-1]:.3f}")
    if best is None or g.k != best.k or g.lls[-1] > best.lls[-1]:
        best = g
labels = best.predict(blobs)
counts = Counter(np.asarray(labels).tolist())
bic = -2 * best.lls[-1] * len(blobs) + (6 * K - 1) * np.log(len(blobs))
print(sorted(counts.values()), any(best is c for c in candidates))
best
---
GMM.reg = 1e-1; best = None
---
K = 2
---
tol = 1.0
---
blobs = blobs[:16]; n_restarts = 3; best = None

### ha-reservoir-esn-ridge-readout-forecast tolerance=1e-2
N, leak, rho, washout, horizon, ridge = 20, 0.3, 0.9, 5, 6, 1e-1
series = (np.sin(np.arange(60) * 0.3) + 0.5 * np.sin(np.arange(60) * 0.11)).astype(np.float32)
W_in = rs.uniform(-0.5, 0.5, (N, 2)).astype(np.float32)
W0 = rs.normal(size=(N, N)).astype(np.float32) * (rs.random((N, N)) < 0.2)
---
W = W0 * (rho / np.max(np.abs(np.linalg.eigvals(W0))))
def step(x, u):
    x = (1 - leak) * x + leak * jnp.tanh(W_in @ jnp.array([1.0, u]) + W @ x)
    return x, x
x, states = lax.scan(step, jnp.zeros(N), series[:-1])
H = jnp.concatenate([jnp.ones((len(states), 1)), states], axis=1)[washout:]
Y = series[1 + washout:]
W_out = jnp.linalg.solve(H.T @ H + ridge * jnp.eye(N + 1), H.T @ Y)
train_rmse = jnp.sqrt(jnp.mean((H @ W_out - Y) ** 2))
u, forecast = series[-1], []
for t in range(horizon):
    x, _ = step(x, u)
    u = jnp.concatenate([jnp.ones(1), x]) @ W_out
    forecast.append(u)
forecast = np.array(forecast)
truth = np.sin(np.arange(60, 60 + horizon) * 0.3) + 0.5 * np.sin(np.arange(60, 60 + horizon) * 0.11)
print(f"train rmse ok: {train_rmse < 0.1}, forecast rmse ok: {np.sqrt(np.mean((forecast - truth) ** 2)) < 1}")
forecast.shape, W.dtype
---
leak = 0.5
---
rho, ridge = 0.7, 1.0
---
horizon = 3; washout = 10
---
series = series[:40].astype(np.float64)

### ha-meta-learning-reptile-task-sampler-class
class SineTask:
    created = 0
    def __init__(self, rng):
        type(self).created += 1
        self.amp, self.phase = rng.uniform(0.5, 2.0), rng.uniform(0, np.pi)
    def sample(self, rng, n):
        x = rng.uniform(-3, 3, (n, 1)).astype(np.float32)
        return x, (self.amp * np.sin(x + self.phase)).astype(np.float32)
inner_lr, outer_lr, inner_steps, shots, meta_iters = 0.02, 0.5, 3, 6, 3
params = [(jax.random.normal(jax.random.key(0), (1, 8)), jnp.zeros(8)), (jax.random.normal(jax.random.key(1), (8,
    1)) * 0.3, jnp.zeros(1))]
seed = 0
---
rng = np.random.default_rng(seed)
def apply(params, x):
    for w, b in params[:-1]: x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b
@jit
def inner(params, x, t):
    g = grad(lambda p: jnp.mean((apply(p, x) - t) ** 2))(params)
    return jax.tree.map(lambda p, g: p - inner_lr * g, params, g)
eval_task = SineTask(np.random.default_rng(99))
def evaluate(params):
    r = np.random.default_rng(5)
    x, t = eval_task.sample(r, shots)
    adapted = params
    for _ in range(inner_steps): adapted = inner(adapted, x, t)
    xs, ts = eval_task.sample(r, 10)
    return jnp.mean((apply(adapted, xs) - ts) ** 2)
curve = [evaluate(params)]
for it in range(meta_iters):
    task = SineTask(rng)
    fast = params
    for _ in range(inner_steps): fast = inner(fast, *task.sample(rng, shots))
    anneal = outer_lr * (1 - it / meta_iters)
    params = jax.tree.map(lambda p, f: p + anneal * (f - p), params, fast)
    curve.append(evaluate(params))
    print(f"meta {it}: amp {task.amp:.2f} phase {task.phase:.2f} eval {curve[-1]:.3f}")
SineTask.created, len(curve)
---
inner_lr = 0.05
---
outer_lr, meta_iters = 1.0, 2
---
shots, inner_steps = 4, 1
---
SineTask.created = 0; seed = 1

### ha-seq2seq-gru-teacher-forcing-padded-pairs
pairs = [("ab", "ba"), ("abc", "cba"), ("bca", "acb"), ("ca", "ac")]
chars = ["<pad>", "<sos>", "<eos>", "a", "b", "c"]
c2i = {c: i for i, c in enumerate(chars)}
H, lr, epochs, teacher_ratio = 8, 0.05, 3, 0.5
def pad(seqs):
    m = max(map(len, seqs)) + 1
    out = np.full((len(seqs), m), c2i["<pad>"])
    for r, s in zip(out, seqs): r[:len(s) + 1] = [c2i[c] for c in s] + [c2i["<eos>"]]
    return out
def gru_init(key, i, h):
    k = jax.random.split(key, 2)
    return {"x": jax.random.normal(k[0], (i, 3 * h)) * 0.3, "h": jax.random.normal(k[1], (h, 3 * h)) * 0.3,
        "b": jnp.zeros(3 * h)}
def gru(p, h, x):
    zx, rx, nx = jnp.split(x @ p["x"] + p["b"], 3, -1)
    zh, rh, nh = jnp.split(h @ p["h"], 3, -1)
    z, r = jax.nn.sigmoid(zx + zh), jax.nn.sigmoid(rx + rh)
    return (1 - z) * jnp.tanh(nx + r * nh) + z * h
---
random.seed(1)
src, tgt = pad([a for a, _ in pairs]), pad([b for _, b in pairs])
ks = jax.random.split(jax.random.key(0), 4)
params = {"emb": jax.random.normal(ks[0], (len(chars), H)), "enc": gru_init(ks[1], H, H),
    "dec": gru_init(ks[2], H, H),
          "out": jax.random.normal(ks[3], (H, len(chars))) * 0.3}
def encode(p, s):
    def f(h, tok): return jnp.where((tok != 0)[:, None], gru(p["enc"], h, p["emb"][tok]), h), None
    return lax.scan(f, jnp.zeros((s.shape[0], H)), s.T)[0]
def decode(p, h, t, force):
    tok, logits = jnp.full(t.shape[0], c2i["<sos>"]), []
    for i in range(t.shape[1]):
        h = gru(p["dec"], h, p["emb"][tok])
        o = h @ p["out"]
        logits.append(o)
        tok = t[:, i] if force else o.argmax(-1)
    return jnp.stack(logits, 1)
@partial(jit, static_argnums=3)
def loss_fn(p, s, t, force):
    lg = decode(p, encode(p, s), t, force)
    mask = (t != 0).astype(jnp.float32)
    return (optax.softmax_cross_entropy_with_integer_labels(lg, t) * mask).sum() / mask.sum()
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(lr)); st = tx.init(params)
forced = []
for e in range(epochs):
    force = random.random() < teacher_ratio
    forced.append(force)
    l, g = jax.value_and_grad(loss_fn)(params, src, tgt, force)
    u, st = tx.update(g, st); params = optax.apply_updates(params, u)
    print(f"{e}: {'forced' if force else 'free  '} {l:.3f}")
out = decode(params, encode(params, src), tgt, False).argmax(-1)
words = []
for row in np.asarray(out):
    w = ""
    for i in row:
        if chars[i] == "<eos>": break
        w += chars[i] if i > 2 else "."
    words.append(w)
len(words), out.shape, forced
---
teacher_ratio = 1.0
---
pairs.append(("cb", "bc"))
---
lr = 0.01; epochs = 2
---
H = 4; teacher_ratio = 0.0

### ha-jaxtyped-dataclass-rollout-mpc-cem needs=jaxtyping
from jaxtyping import Array, Float, PRNGKeyArray
@jax.tree_util.register_dataclass
@dataclass
class Car:
    pos: Float[Array, "2"]
    vel: Float[Array, "2"]
    def moved(self, u, dt): return replace(self, pos=self.pos + dt * self.vel, vel=0.95 * self.vel + dt * u)
@dataclass
class Planner:
    horizon: int = 5
    samples: int = 12
    elites: int = 4
    iters: int = 2
    goal: Any = (1.0, 0.5)
    def cost(self, car: Car, plan: Float[Array, "h 2"]) -> Float[Array, ""]:
        def f(c, u):
            c = c.moved(u, 0.2)
            return c, jnp.sum((c.pos - jnp.asarray(self.goal)) ** 2) + 0.01 * jnp.sum(u ** 2)
        return lax.scan(f, car, plan)[1].sum()
    def plan(self, car: Car, key: PRNGKeyArray, mean):
        std = jnp.ones_like(mean)
        for k in jax.random.split(key, self.iters):
            cand = mean + std * jax.random.normal(k, (self.samples, *mean.shape))
            c = vmap(lambda p: self.cost(car, p))(cand)
            elite = cand[jnp.argsort(c)[: self.elites]]
            mean, std = elite.mean(0), elite.std(0) + 1e-3
        return mean, c.min()
planner, n_steps = Planner(), 4
car0 = Car(jnp.zeros(2), jnp.zeros(2))
---
car, mean = car0, jnp.zeros((planner.horizon, 2))
key = jax.random.key(3)
log = []
for t in range(n_steps):
    key, sub = jax.random.split(key)
    mean, c = planner.plan(car, sub, mean)
    car = car.moved(mean[0], 0.2)
    mean = jnp.concatenate([mean[1:], jnp.zeros((1, 2))])
    log.append({"t": t, "pos": tuple(np.round(np.asarray(car.pos), 2).tolist()), "cost": float(c)})
    print("t={t} cost={cost:.2f}".format(**log[-1]))
dist = jnp.linalg.norm(car.pos - jnp.asarray(planner.goal))
car, dist
---
planner.goal = (-1.0, 0.0)
---
planner.elites = 2; planner.iters = 3
---
planner = Planner(horizon=3, samples=8)
---
car0 = replace(car0, vel=jnp.array([0.5, 0.0])); n_steps = 2

### ha-collaborative-filtering-implicit-negatives-topk
users, items, d = 6, 8, 3
interactions = sorted({(int(u), int(i)) for u, i in zip(rs.integers(0, users, 24), rs.integers(0, items, 24))})
by_user = defaultdict(set)
for u, i in interactions: by_user[u].add(i)
lr, reg, epochs, negs, topk, loss_type = 0.1, 1e-3, 2, 2, 3, "bpr"
seen_pairs = 0
---
neg_rng = np.random.default_rng(0)
k1, k2 = jax.random.split(jax.random.PRNGKey(0))
emb = {"user": 0.1 * jax.random.normal(k1, (users, d)), "item": 0.1 * jax.random.normal(k2, (items, d)),
    "bias": jnp.zeros(items)}
def score(e, u, i): return jnp.sum(e["user"][u] * e["item"][i], -1) + e["bias"][i]
def loss_fn(e, u, pos, neg):
    sp, sn = score(e, u, pos), score(e, u, neg)
    if loss_type == "bpr": main = -jax.nn.log_sigmoid(sp - sn).mean()
    elif loss_type == "hinge": main = jax.nn.relu(1 - sp + sn).mean()
    else: raise ValueError(loss_type)
    return main + reg * optax.global_norm(e) ** 2
step = jit(lambda e, *b: jax.tree.map(lambda p, g: p - lr * g, e, grad(loss_fn)(e, *b)))
for epoch in range(epochs):
    triples = []
    for u, i in interactions:
        for _ in range(negs):
            j = int(neg_rng.integers(items))
            while j in by_user[u]: j = int(neg_rng.integers(items))
            triples.append((u, i, j))
    neg_rng.shuffle(triples)
    for chunk in np.array_split(np.array(triples), 3):
        emb = step(emb, *chunk.T)
        seen_pairs += len(chunk)
    print(f"epoch {epoch}: {len(triples)} triples, loss {loss_fn(emb, *np.array(triples).T):.3f}")
scores = emb["user"] @ emb["item"].T + emb["bias"]
for u, its in by_user.items():
    scores = scores.at[u, jnp.array(sorted(its))].set(-jnp.inf)
vals, recs = lax.top_k(scores, topk)
table = {f"user{u}": np.asarray(recs[u]).tolist() for u in range(users)}
seen_pairs, len(table), recs.dtype
---
loss_type = "hinge"
---
lr, reg = 0.3, 0
---
interactions.append((0, 7)); by_user[0].add(7)
---
d, topk, negs = 2, 2, 1

### ha-rl-sarsa-lambda-tilecoding-policy-text
class Corridor:
    length = 6
    slip = 0.0
    def __init__(self, seed=0): self.rng = np.random.default_rng(seed)
    def reset(self): self.s = 1; return self.s
    def step(self, a):
        if self.rng.random() < self.slip: a = 1 - a
        self.s += 1 if a else -1
        done = self.s in (0, self.length - 1)
        return self.s, float(self.s == self.length - 1), done
alpha, gamma, lam, eps, episodes = 0.3, 0.9, 0.8, 0.2, 3
---
env = Corridor()
policy_rng = np.random.default_rng(1)
Q = jnp.zeros((env.length, 2))
def pick(q):
    if policy_rng.random() < eps: return int(policy_rng.integers(2))
    return int(jnp.argmax(q))
@jit
def backup(Q, E, s, a, r, s2, a2, done):
    delta = r + gamma * jnp.where(done, 0.0, Q[s2, a2]) - Q[s, a]
    E = (E * gamma * lam).at[s, a].set(1.0)
    return Q + alpha * delta * E, E, delta
lengths, deltas = [], []
for ep in range(episodes):
    s = env.reset(); a = pick(Q[s]); E = jnp.zeros_like(Q); steps = 0
    while True:
        s2, r, done = env.step(a)
        a2 = pick(Q[s2])
        Q, E, delta = backup(Q, E, s, a, r, s2, a2, done)
        deltas.append(abs(delta))
        s, a, steps = s2, a2, steps + 1
        if done or steps > 12:
            break
    lengths.append(steps)
    print(f"ep {ep} len {steps} V {' '.join(f'{v:.2f}' for v in Q.max(1))}")
arrows = "".join("<>"[int(b)] for b in Q.argmax(1))
arrows, lengths, jnp.stack(deltas).max()
---
lam = 0.0
---
Corridor.slip = 0.3
---
alpha, eps = 0.5, 0.0
---
Corridor.length = 5; episodes = 2

### ha-reproducible-sweep-with-config-class-and-results-json
class Config:
    hidden = (8,)
    lr = 1e-2
    activation = "relu"
    seed = 0
    steps = 3
    def __init__(self, **kw):
        for k, v in kw.items():
            if not hasattr(type(self), k): raise AttributeError(k)
            setattr(self, k, v)
    def to_dict(self): return {k: getattr(self, k) for k in ("hidden", "lr", "activation", "seed", "steps")}
grid = {"lr": [1e-2, 1e-1], "activation": ["relu", "tanh"]}
results_path = Path("results.json")
def mlp_init(key, sizes):
    params = []
    for m, n in zip(sizes[:-1], sizes[1:]):
        key, k = jax.random.split(key)
        params.append({"w": jax.random.normal(k, (m, n)) * jnp.sqrt(2.0 / m), "b": jnp.zeros(n)})
    return params
---
def run(cfg):
    act = getattr(jax.nn, cfg.activation)
    def forward(p, x):
        for i, layer in enumerate(p):
            x = x @ layer["w"] + layer["b"]
            if i < len(p) - 1: x = act(x)
        return x[:, 0]
    params = mlp_init(jax.random.key(cfg.seed), (X.shape[1], *cfg.hidden, 1))
    tx = optax.adam(cfg.lr); st = tx.init(params)
    @jit
    def step(p, st):
        l, g = jax.value_and_grad(lambda p: jnp.mean((forward(p, X) - y) ** 2))(p)
        u, st = tx.update(g, st)
        return optax.apply_updates(p, u), st, l
    losses = []
    for _ in range(cfg.steps):
        params, st, l = step(params, st)
        losses.append(l)
    return params, np.array(losses)
results = json.loads(results_path.read_text()) if results_path.exists() else []
best = None
for values in itertools.product(*grid.values()):
    cfg = Config(**dict(zip(grid, values)))
    params, losses = run(cfg)
    row = {**cfg.to_dict(), "final": round(float(losses[-1]), 3), "drop": bool(losses[-1] < losses[0])}
    results.append(row)
    if best is None or losses[-1] < best[0]: best = (losses[-1], cfg, params)
    print(" ".join(f"{k}={row[k]}" for k in (*grid, "final")))
results_path.write_text(json.dumps(results))
print(len(results), best[1].activation)
best[0], jax.tree.map(jnp.shape, best[2])
---
grid["lr"] = [3e-2]
---
Config.hidden = (4, 4)
---
grid = {"seed": [0, 1, 2]}; results_path.unlink()
---
X = X[:16]; y = y[:16]; Config.steps = 2
""",
)
