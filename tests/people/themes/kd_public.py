"""The structure of public code: trainers, agents, tutorials, solvers and simulations, as people put them into cells."""

from ..cell import written

PRELUDE = """
import os, io, json, math, time, copy, pickle, itertools, functools, collections
from collections import defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any, Callable, NamedTuple
import numpy as np
import jax, jax.numpy as jnp
from jax import lax, random as jr
import optax
"""

CELLS = written(
    PRELUDE,
    r"""
### kdp-pinn-class-update-jitted-with-static-self-and-print-every
class PINN:
    def __init__(self, widths, lr, key):
        self.schedule = optax.exponential_decay(lr, 5, 0.9)
        self.optimizer = optax.adam(self.schedule)
        keys = jr.split(key, len(widths) - 1)
        self.params = [(jr.normal(k, (i, o)) / np.sqrt(i), jnp.zeros(o)) for k, i, o in zip(keys, widths, widths[1:])]
        self.opt_state = self.optimizer.init(self.params)
        self.losses = np.zeros(0)
    def forward(self, params, x):
        for w, b in params[:-1]:
            x = jnp.tanh(x @ w + b)
        return (x @ params[-1][0] + params[-1][1])[..., 0]
    def pde(self, params, x):
        u = lambda s: self.forward(params, s[None])
        uxx = jax.vmap(jax.grad(jax.grad(u)))(x)
        return jnp.mean((uxx + jnp.sin(x)) ** 2)
    def loss(self, params, x, xb, ub):
        bc = jnp.mean((self.forward(params, xb[:, None]) - ub) ** 2)
        res = self.pde(params, x)
        return bc + res, (bc, res)
    @partial(jax.jit, static_argnums=(0,))
    def update(self, params, opt_state, x, xb, ub):
        (loss, other), grads = jax.value_and_grad(self.loss, has_aux=True)(params, x, xb, ub)
        updates, opt_state = self.optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, (loss, other)
    def train(self, max_iter, print_every, x, xb, ub):
        losses = np.zeros(max_iter // print_every)
        n = 0
        for i in range(max_iter):
            self.params, self.opt_state, loss = self.update(self.params, self.opt_state, x, xb, ub)
            if i % print_every == 0:
                print(f"Epoch {i:>4}  MSE: {loss[0]:2.2e}  lr: {self.schedule(i):2.2e}  (bc = {loss[1][0]:2.2e}, pde = {loss[1][1]:2.2e})")
                losses[n] = loss[0]; n += 1
        self.losses = np.concatenate([self.losses, losses])
        return self.forward(self.params, xb[:, None])
pinn = PINN([1, 8, 8, 1], 1e-2, jr.PRNGKey(0))
x_pde = jnp.linspace(0, np.pi, 9)
x_bc, u_bc = jnp.array([0.0, np.pi]), jnp.zeros(2)
max_iter, print_every = 6, 2
---
u_end = pinn.train(max_iter, print_every, x_pde, x_bc, u_bc)
err = jnp.max(jnp.abs(pinn.forward(pinn.params, x_pde[:, None]) - jnp.sin(x_pde)))
print(pinn.losses.shape, f"{err:.2f}")
---
max_iter = 8
---
pinn = PINN([1, 6, 1], 5e-2, jr.PRNGKey(1)); x_pde = jnp.linspace(0, np.pi, 13)

### kdp-flow-matching-fit-with-best-loss-early-stop
class FlowMatcher:
    def __init__(self, dim, hidden, key, lr=1e-2, patience=3):
        self.key, k1, k2 = jr.split(key, 3)
        self.params = {"w1": jr.normal(k1, (dim + 1, hidden)) * 0.5, "b1": jnp.zeros(hidden), "w2": jr.normal(k2, (hidden, dim)) * 0.5}
        self.optimizer = optax.adam(lr)
        self.opt_state = self.optimizer.init(self.params)
        self.patience, self.inner, self.current_epoch = patience, 2, 0
    def velocity(self, params, x, t):
        h = jax.nn.silu(jnp.concatenate([x, t[:, None]], -1) @ params["w1"] + params["b1"])
        return h @ params["w2"]
    def loss_fn(self, params, key):
        k0, k1, k2 = jr.split(key, 3)
        x1 = self.data[jr.randint(k0, (16,), 0, len(self.data))]
        x0, t = jr.normal(k1, x1.shape), jr.uniform(k2, (16,))
        xt = (1 - t[:, None]) * x0 + t[:, None] * x1
        return jnp.mean((self.velocity(params, xt, t) - (x1 - x0)) ** 2)
    @partial(jax.jit, static_argnums=(0,))
    def update(self, params, opt_state, key):
        loss, grads = jax.value_and_grad(self.loss_fn)(params, key)
        updates, opt_state = self.optimizer.update(grads, opt_state, params)
        return loss, optax.apply_updates(params, updates), opt_state
    def fit(self, data, epochs):
        self.data = data
        best_loss, best, no_improve = float("inf"), None, 0
        key = self.key
        for epoch in range(epochs):
            self.current_epoch = epoch
            epoch_loss = 0.0
            for _ in range(self.inner):
                key, sub = jr.split(key)
                loss, self.params, self.opt_state = self.update(self.params, self.opt_state, sub)
                epoch_loss += loss / self.inner
            print(f"Epoch {epoch+1}: loss = {epoch_loss:.4f}")
            if epoch_loss < best_loss:
                best_loss, best, no_improve = epoch_loss, self.params, 0
            else:
                no_improve += 1
            if no_improve >= self.patience:
                print("Stopping early.")
                break
        self.key, self.best = key, best
        return best_loss
moons = jnp.stack([jnp.cos(jnp.linspace(0, 3, 20)), jnp.sin(jnp.linspace(0, 3, 20))], 1)
fm = FlowMatcher(2, 8, jr.PRNGKey(0))
epochs = 4
---
best = fm.fit(moons, epochs)
x = jr.normal(jr.PRNGKey(9), (5, 2))
steps = 4
for i in range(steps):
    t = jnp.full((5,), i / steps)
    x = x + fm.velocity(fm.best, x, t) / steps
print("mean", jnp.round(x.mean(0), 3))
---
epochs = 5; fm.patience = 1
---
fm = FlowMatcher(2, 12, jr.PRNGKey(4), lr=0.3); moons = moons * 2

### kdp-reinforce-cartpole-numpy-env-with-learn-method
class CartPole:
    def __init__(self, seed): self.rng = np.random.default_rng(seed)
    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4).astype(np.float32); self.t = 0
        return self.state
    def step(self, a):
        x, v, th, w = self.state
        f = 10.0 if a == 1 else -10.0
        tmp = (f + 0.05 * w * w * np.sin(th)) / 1.1
        wa = (9.8 * np.sin(th) - np.cos(th) * tmp) / (0.5 * (4 / 3 - 0.1 * np.cos(th) ** 2 / 1.1))
        xa = tmp - 0.05 * wa * np.cos(th) / 1.1
        self.state = np.array([x + 0.02 * v, v + 0.02 * xa, th + 0.02 * w, w + 0.02 * wa], np.float32); self.t += 1
        return self.state, 1.0, bool(abs(self.state[2]) > 0.21 or self.t >= 12), {}
class Agent:
    def __init__(self, key, lr, gamma=0.98):
        self.rng, k = jr.split(key)
        self.params = {"w": jr.normal(k, (4, 2)) * 0.1, "b": jnp.zeros(2)}
        self.tx = optax.adam(lr); self.opt_state = self.tx.init(self.params)
        self.gamma, self.episodes = gamma, 0
        self._logits = jax.jit(lambda p, o: o @ p["w"] + p["b"])
    def act(self, obs):
        self.rng, sub = jr.split(self.rng)
        return int(jr.categorical(sub, self._logits(self.params, obs)))
    def update(self, data):
        def loss_fn(p):
            R, loss = 0.0, 0.0
            for s, a, r in reversed(data):
                R = r + self.gamma * R
                loss += jax.nn.log_softmax(s @ p["w"] + p["b"])[a] * R
            return -loss / len(data)
        loss, grads = jax.value_and_grad(loss_fn)(self.params)
        updates, self.opt_state = self.tx.update(grads, self.opt_state)
        self.params = optax.apply_updates(self.params, updates)
        self.episodes += 1
        return loss
env, agent = CartPole(0), Agent(jr.PRNGKey(0), 1e-2)
n_epi, interval = 3, 2
---
score, scores = 0.0, []
for n in range(n_epi):
    s, done, data = env.reset(), False, []
    while not done:
        a = agent.act(s)
        s2, r, done, info = env.step(a)
        data.append((s, a, r))
        s = s2
        score += r
    loss = agent.update(data)
    if n % interval == 0 and n != 0:
        print(f"# of episode :{n}, avg score : {score / interval:.1f}, loss {loss:.3f}")
        scores.append(score / interval)
        score = 0.0
probs = jax.nn.softmax(agent._logits(agent.params, s))
---
agent.tx = optax.sgd(0.1); agent.opt_state = agent.tx.init(agent.params)
---
n_epi = 4; interval = 3; agent.gamma = 0.5

### kdp-dqn-agent-replay-deque-target-every-n
import random
class ReplayBuffer:
    def __init__(self, capacity): self.buffer = deque(maxlen=capacity)
    def push(self, *transition): self.buffer.append(transition)
    def sample(self, n):
        batch = random.sample(self.buffer, n)
        return tuple(map(lambda c: jnp.array(np.stack(c)), zip(*batch)))
    def __len__(self): return len(self.buffer)
class DQN:
    def __init__(self, obs, acts, key, lr=1e-2, gamma=0.9, freq=4):
        k1, k2 = jr.split(key)
        self.params = {"w1": jr.normal(k1, (obs, 8)) * 0.3, "w2": jr.normal(k2, (8, acts)) * 0.3}
        self.target_params = jax.tree.map(jnp.copy, self.params)
        self.opt = optax.adam(lr); self.opt_state = self.opt.init(self.params)
        self.replay, self.gamma, self.freq, self.acts = ReplayBuffer(30), gamma, freq, acts
        self.total_updates = self.steps = 0
        self.eps = 1.0
    def q(self, p, s): return jnp.tanh(s @ p["w1"]) @ p["w2"]
    def act(self, s):
        self.steps += 1
        self.eps = max(0.1, self.eps * 0.95)
        if random.random() < self.eps:
            return random.randrange(self.acts)
        return int(jnp.argmax(self.q(self.params, s)))
    @partial(jax.jit, static_argnums=0)
    def train_step(self, params, target, opt_state, s, a, r, s2, d):
        def loss_fn(p):
            q = jnp.take_along_axis(self.q(p, s), a[:, None], 1)[:, 0]
            y = r + self.gamma * self.q(target, s2).max(1) * (1 - d)
            return optax.huber_loss(q, y).mean()
        loss, g = jax.value_and_grad(loss_fn)(params)
        u, opt_state = self.opt.update(g, opt_state)
        return optax.apply_updates(params, u), opt_state, loss
    def train(self, batch_size):
        if len(self.replay) < batch_size:
            return 0.0
        self.params, self.opt_state, loss = self.train_step(self.params, self.target_params, self.opt_state, *self.replay.sample(batch_size))
        self.total_updates += 1
        if self.total_updates % self.freq == 0:
            self.target_params = self.params
        return float(loss)
random.seed(0)
agent = DQN(3, 2, jr.PRNGKey(0))
goal, batch_size, n_steps = 4, 6, 12
---
pos, returns, ep_ret, losses = 0, [], 0.0, []
obs = lambda p: np.array([p / goal, (p / goal) ** 2, 1.0], np.float32)
for t in range(n_steps):
    a = agent.act(obs(pos))
    nxt = max(0, pos + (1 if a else -1))
    done = nxt == goal
    reward = 1.0 if done else -0.05
    agent.replay.push(obs(pos), np.int32(a), np.float32(reward), obs(nxt), np.float32(done))
    ep_ret += reward
    loss = agent.train(batch_size)
    if loss: losses.append(loss)
    pos = 0 if done else nxt
    if done:
        returns.append(ep_ret); ep_ret = 0.0
    if (t + 1) % 6 == 0:
        print(f"step {t+1} | eps {agent.eps:.2f} | updates {agent.total_updates} | loss {np.mean(losses or [0]):.4f}")
values = agent.q(agent.params, jnp.stack([obs(p) for p in range(goal)]))
---
agent.freq = 3; n_steps = 8
---
goal = 3; agent.gamma = 0.5; agent = DQN(3, 2, jr.PRNGKey(5), gamma=0.99)

### kdp-makemore-mlp-subkeys-iterator-and-lr-decay
words = "emma olivia ava isabella sophia mia amelia luna zoe lily".split()
chars = sorted(set("".join(words)))
stoi = {s: i + 1 for i, s in enumerate(chars)}; stoi["."] = 0
itos = {i: s for s, i in stoi.items()}
def build_dataset(words, block_size=3):
    X, Y = [], []
    for w in words:
        context = [0] * block_size
        for ch in w + ".":
            ix = stoi[ch]
            X.append(context); Y.append(ix)
            context = context[1:] + [ix]
    return np.array(X), np.array(Y)
Xtr, Ytr = build_dataset(words[:8]); Xdev, Ydev = build_dataset(words[8:])
d, neurons, V = 2, 8, len(stoi)
def loss_fn(C, W1, b1, W2, b2, X, Y):
    h = jnp.tanh(C[X].reshape((-1, 3 * d)) @ W1 + b1)
    logits = h @ W2 + b2
    logits -= logits.max(1, keepdims=True)
    probs = jnp.exp(logits); probs = probs / probs.sum(1, keepdims=True)
    return -jnp.log(probs[jnp.arange(X.shape[0]), Y]).mean()
seed, n_iter = 0, 6
---
key = jr.PRNGKey(seed)
key, *subkeys = jr.split(key, 6)
subkeys = iter(subkeys)
C = jr.normal(next(subkeys), shape=(V, d))
W1 = jr.normal(next(subkeys), shape=(d * 3, neurons))
b1 = jr.normal(next(subkeys), shape=(neurons,))
W2 = jr.normal(next(subkeys), shape=(neurons, V))
b2 = jr.normal(next(subkeys), shape=(V,))
parameters = [C, W1, b1, W2, b2]
print(sum(p.size for p in parameters), "parameters")
lossi, stepi = [], []
for i in range(n_iter):
    key, subkey = jr.split(key)
    ix = jr.randint(subkey, shape=(16,), minval=0, maxval=Xtr.shape[0])
    Xb, Yb = Xtr[ix], Ytr[ix]
    loss, (gC, gW1, gb1, gW2, gb2) = jax.value_and_grad(loss_fn, argnums=(0, 1, 2, 3, 4))(C, W1, b1, W2, b2, Xb, Yb)
    lr = 0.1 if i < 4 else 0.01
    C -= lr * gC
    W1 -= lr * gW1
    b1 -= lr * gb1
    W2 -= lr * gW2
    b2 -= lr * gb2
    stepi.append(i); lossi.append(loss.item())
    if i % 3 == 0:
        print(f"{i:4d}/{n_iter:4d}: {loss.item():.4f}")
loss_fn(C, W1, b1, W2, b2, Xtr, Ytr), loss_fn(C, W1, b1, W2, b2, Xdev, Ydev)
---
n_iter = 8
---
seed = 3; neurons = 5; Xtr, Ytr = build_dataset(words)

### kdp-makemore-sampling-names-while-true
words = "emma olivia ava mia luna zoe".split()
chars = sorted(set("".join(words)))
stoi = {s: i + 1 for i, s in enumerate(chars)}; stoi["."] = 0
itos = {i: s for s, i in stoi.items()}
N = np.zeros((len(stoi), len(stoi)), np.int32)
for w in words:
    cs = ["."] + list(w) + ["."]
    for a, b in zip(cs, cs[1:]):
        N[stoi[a], stoi[b]] += 1
n_names, smooth = 3, 1
---
P = (jnp.array(N) + smooth).astype(float)
P /= P.sum(1, keepdims=True)
key = jr.PRNGKey(2147483647)
names = []
for _ in range(n_names):
    out, ix = [], 0
    while True:
        p = P[ix]
        key, sub = jr.split(key)
        ix = jr.choice(sub, len(stoi), p=p).item()
        if ix == 0 or len(out) >= 6:
            break
        out.append(itos[ix])
    names.append("".join(out))
    print("".join(out))
log_likelihood, n = 0.0, 0
for w in words[:3]:
    cs = ["."] + list(w) + ["."]
    for ch1, ch2 in zip(cs, cs[1:]):
        logprob = jnp.log(P[stoi[ch1], stoi[ch2]])
        log_likelihood += logprob
        n += 1
nll = -log_likelihood
print(f"{nll=}")
print(f"{nll/n}")
---
smooth = 3
---
n_names = 2; words = words + ["nova"]; words[0] = "noa" if "n" in stoi else "ava"

### kdp-micrograd-value-class-with-jax-leaves
class Value:
    def __init__(self, data, _children=(), _op=""):
        self.data, self.grad = data, jnp.zeros_like(data)
        self._backward, self._prev, self._op = (lambda: None), set(_children), _op
    def __repr__(self): return f"Value(op={self._op!r})"
    def __add__(self, other):
        out = Value(self.data + other.data, (self, other), "+")
        def _backward():
            self.grad += out.grad; other.grad += out.grad
        out._backward = _backward
        return out
    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other), "*")
        def _backward():
            self.grad += other.data * out.grad; other.grad += self.data * out.grad
        out._backward = _backward
        return out
    def tanh(self):
        t = jnp.tanh(self.data)
        out = Value(t, (self,), "tanh")
        def _backward():
            self.grad += (1 - t ** 2) * out.grad
        out._backward = _backward
        return out
    def backward(self):
        topo, visited = [], set()
        def build(v):
            if v not in visited:
                visited.add(v)
                for c in sorted(v._prev, key=lambda c: float(c.data)): build(c)
                topo.append(v)
        build(self)
        self.grad = jnp.ones_like(self.data)
        for v in reversed(topo): v._backward()
ws = [Value(jnp.float32(v)) for v in (0.5, -0.3)]; b = Value(jnp.float32(0.1))
xs = [[1.0, 2.0], [0.5, -1.0]]; lr = 0.1
---
for step in range(2):
    total = Value(jnp.float32(0.0))
    for x in xs:
        act = b
        for wi, xi in zip(ws, x):
            act = act + wi * Value(jnp.float32(xi))
        total = total + act.tanh()
    for p in ws + [b]:
        p.grad = jnp.zeros_like(p.data)
    total.backward()
    for p in ws + [b]:
        p.data += -lr * p.grad
    print(step, total.data)
grads = [p.grad for p in ws]
---
lr = 0.5
---
xs.append([0.3, 0.3])

### kdp-nanogpt-training-with-estimate-loss-and-get-batch tolerance=2e-5
text = "to be or not to be that is the question whether tis nobler"
chars = sorted(set(text)); vocab_size = len(chars)
stoi = {c: i for i, c in enumerate(chars)}; itos = dict(enumerate(chars))
encode = lambda s: [stoi[c] for c in s]
decode = lambda l: "".join(itos[int(i)] for i in l)
data = jnp.array(encode(text), dtype=jnp.int32)
n = int(0.8 * len(data)); train_data, val_data = data[:n], data[n:]
block_size, batch_size, n_embd, n_head, n_layer = 4, 3, 8, 2, 1
max_iters, eval_interval, eval_iters, learning_rate = 4, 2, 2, 1e-2
def init(key):
    ks = iter(jr.split(key, 4 + 4 * n_layer)); nrm = lambda *s: jr.normal(next(ks), s) * 0.1
    p = dict(wte=nrm(vocab_size, n_embd), wpe=nrm(block_size, n_embd), head=nrm(n_embd, vocab_size), h=[])
    for _ in range(n_layer):
        p["h"].append(dict(qkv=nrm(n_embd, 3 * n_embd), proj=nrm(n_embd, n_embd), fc=nrm(n_embd, 4 * n_embd), out=nrm(4 * n_embd, n_embd)))
    return p
def ln(x): return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
def gpt(p, idx, targets=None):
    B, T = idx.shape
    x = p["wte"][idx] + p["wpe"][jnp.arange(T)]
    for blk in p["h"]:
        q, k, v = jnp.split(ln(x) @ blk["qkv"], 3, -1)
        q, k, v = (a.reshape(B, T, n_head, -1).transpose(0, 2, 1, 3) for a in (q, k, v))
        att = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
        att = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((T, T))) == 0, -jnp.inf, att), -1)
        x = x + (att @ v).transpose(0, 2, 1, 3).reshape(B, T, -1) @ blk["proj"]
        x = x + jax.nn.gelu(ln(x) @ blk["fc"]) @ blk["out"]
    logits = ln(x) @ p["head"]
    if targets is None:
        return logits, None
    return logits, optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()
params = init(jr.PRNGKey(1337)); key = jr.PRNGKey(0)
optimizer = optax.adamw(learning_rate); opt_state = optimizer.init(params)
---
def get_batch(split):
    global key
    d = train_data if split == "train" else val_data
    key, sub = jr.split(key)
    ix = jr.randint(sub, (batch_size,), 0, len(d) - block_size)
    x = jnp.stack([d[i:i + block_size] for i in ix])
    y = jnp.stack([d[i + 1:i + block_size + 1] for i in ix])
    return x, y
def estimate_loss(params):
    out = {}
    for split in ["train", "val"]:
        losses = np.zeros(eval_iters)
        for k in range(eval_iters):
            X, Y = get_batch(split)
            losses[k] = gpt(params, X, Y)[1].item()
        out[split] = losses.mean()
    return out
for it in range(max_iters):
    if it % eval_interval == 0 or it == max_iters - 1:
        losses = estimate_loss(params)
        print(f"step {it}: train loss {losses['train']:.4f}, val loss {losses['val']:.4f}")
    xb, yb = get_batch("train")
    loss, grads = jax.value_and_grad(lambda p: gpt(p, xb, yb)[1])(params)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
---
eval_interval = 3
---
optimizer = optax.adamw(1e-3, weight_decay=0.1); opt_state = optimizer.init(params); batch_size = 2

### kdp-gpt-generate-crop-context-top-k
vocab, block = 11, 4
key0 = jr.PRNGKey(3)
params = {"emb": jr.normal(key0, (vocab, 6)), "out": jr.normal(jr.PRNGKey(4), (6, vocab))}
def model(p, idx):
    return jnp.cumsum(p["emb"][idx], 1) / (1 + jnp.arange(idx.shape[1]))[:, None] @ p["out"]
temperature, top_k, max_new, eos = 0.8, 4, 5, 0
prompt = [3, 7]
---
def generate(params, idx, max_new_tokens, key, temperature=1.0, top_k=None):
    for _ in range(max_new_tokens):
        idx_cond = idx if idx.shape[1] <= block else idx[:, -block:]
        logits = model(params, idx_cond)[:, -1, :] / temperature
        if top_k is not None:
            v, _ = jax.lax.top_k(logits, min(top_k, logits.shape[-1]))
            logits = jnp.where(logits < v[:, [-1]], -jnp.inf, logits)
        key, sub = jr.split(key)
        idx_next = jr.categorical(sub, logits, axis=-1)[:, None]
        if int(idx_next[0, 0]) == eos:
            print("eos after", idx.shape[1])
            break
        idx = jnp.concatenate([idx, idx_next], axis=1)
    return idx
tokens = generate(params, jnp.array([prompt]), max_new, jr.PRNGKey(42), temperature, top_k)
text = " ".join(f"<{t}>" for t in tokens[0].tolist())
print(text)
---
temperature = 2.0; top_k = None
---
prompt = [1, 2, 3, 4, 5, 6]; eos = int(tokens[0, -1])

### kdp-nnx-mnist-tutorial-loop-with-multimetric-history needs=flax tolerance=2e-5
from flax import nnx
class CNN(nnx.Module):
    def __init__(self, *, rngs):
        self.conv = nnx.Conv(1, 2, kernel_size=(3, 3), rngs=rngs)
        self.bn = nnx.BatchNorm(2, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.lin = nnx.Linear(2 * 9, 3, rngs=rngs)
    def __call__(self, x):
        x = nnx.avg_pool(nnx.relu(self.bn(self.conv(x))), (2, 2), strides=(2, 2))
        return self.lin(self.drop(x.reshape(x.shape[0], -1)))
def loss_fn(model, batch):
    logits = model(batch["image"])
    return optax.softmax_cross_entropy_with_integer_labels(logits=logits, labels=batch["label"]).mean(), logits
@nnx.jit
def train_step(model, optimizer, metrics, batch):
    (loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
    optimizer.update(model, grads)
@nnx.jit
def eval_step(model, metrics, batch):
    loss, logits = loss_fn(model, batch)
    metrics.update(loss=loss, logits=logits, labels=batch["label"])
rng = np.random.default_rng(0)
train_ds = [{"image": rng.normal(size=(4, 6, 6, 1)).astype(np.float32), "label": rng.integers(0, 3, 4).astype(np.int32)} for _ in range(4)]
test_ds = train_ds[:1]
model = CNN(rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adamw(5e-3, 0.9), wrt=nnx.Param)
metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
eval_every = 2
---
metrics_history = {"train_loss": [], "train_accuracy": [], "test_loss": [], "test_accuracy": []}
for step, batch in enumerate(train_ds):
    model.train()
    train_step(model, optimizer, metrics, batch)
    if step > 0 and (step % eval_every == 0 or step == len(train_ds) - 1):
        for metric, value in metrics.compute().items():
            metrics_history[f"train_{metric}"].append(value)
        metrics.reset()
        model.eval()
        for test_batch in test_ds:
            eval_step(model, metrics, test_batch)
        for metric, value in metrics.compute().items():
            metrics_history[f"test_{metric}"].append(value)
        metrics.reset()
        print(f"[train] step: {step}, loss: {metrics_history['train_loss'][-1]:.4f}, accuracy: {metrics_history['train_accuracy'][-1] * 100:.1f}")
        print(f"[test] step: {step}, loss: {metrics_history['test_loss'][-1]:.4f}")
---
eval_every = 3
---
optimizer = nnx.Optimizer(model, optax.sgd(0.01), wrt=nnx.Param); train_ds = train_ds[:3]

### kdp-linen-train-state-with-metrics-collection-struct needs=flax
import flax.linen as nn
from flax import struct
from flax.training import train_state
class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(6)(x))
        return nn.Dense(3)(x)
@struct.dataclass
class Mean:
    total: jax.Array
    count: jax.Array
    @classmethod
    def empty(cls): return cls(jnp.zeros(()), jnp.zeros((), jnp.int32))
    def merge(self, v): return self.replace(total=self.total + v, count=self.count + 1)
    def compute(self): return self.total / self.count
class TrainState(train_state.TrainState):
    loss: Mean
    acc: Mean
def create_train_state(module, rng, lr, momentum):
    params = module.init(rng, jnp.ones([1, 4]))["params"]
    return TrainState.create(apply_fn=module.apply, params=params, tx=optax.sgd(lr, momentum), loss=Mean.empty(), acc=Mean.empty())
@jax.jit
def train_step(state, batch):
    def loss_fn(params):
        logits = state.apply_fn({"params": params}, batch["x"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()
    return state.apply_gradients(grads=jax.grad(loss_fn)(state.params))
@jax.jit
def compute_metrics(*, state, batch):
    logits = state.apply_fn({"params": state.params}, batch["x"])
    loss = optax.softmax_cross_entropy_with_integer_labels(logits, batch["y"]).mean()
    return state.replace(loss=state.loss.merge(loss), acc=state.acc.merge(jnp.mean(logits.argmax(-1) == batch["y"])))
r = np.random.default_rng(1)
ds = [dict(x=r.normal(size=(5, 4)).astype("f4"), y=r.integers(0, 3, 5)) for _ in range(4)]
lr, momentum = 0.1, 0.9
---
state = create_train_state(MLP(), jr.PRNGKey(0), lr, momentum)
history = defaultdict(list)
per_epoch = 2
for step, batch in enumerate(ds):
    state = train_step(state, batch)
    state = compute_metrics(state=state, batch=batch)
    if (step + 1) % per_epoch == 0:
        for metric in ("loss", "acc"):
            history[f"train_{metric}"].append(getattr(state, metric).compute())
        state = state.replace(loss=Mean.empty(), acc=Mean.empty())
        test_state = state
        for tb in ds[:1]:
            test_state = compute_metrics(state=test_state, batch=tb)
        history["test_loss"].append(test_state.loss.compute())
        print(f"train epoch: {(step+1) // per_epoch}, loss: {history['train_loss'][-1]:.4f}, accuracy: {history['train_acc'][-1] * 100:.1f}")
int(state.step)
---
lr = 0.01
---
momentum = 0.0; ds = ds + ds[:2]

### kdp-equinox-mlp-make-step-filter-jit-dataloader-generator needs=equinox
import equinox as eqx
def dataloader(arrays, batch_size, key):
    size = arrays[0].shape[0]
    idx = jnp.arange(size)
    while True:
        key, sub = jr.split(key)
        perm = jr.permutation(sub, idx)
        start, end = 0, batch_size
        while end <= size:
            yield tuple(a[perm[start:end]] for a in arrays)
            start, end = end, end + batch_size
class RNN(eqx.Module):
    cell: eqx.nn.GRUCell
    linear: eqx.nn.Linear
    bias: jax.Array
    hidden: int = eqx.field(static=True)
    def __init__(self, i, o, hidden, *, key):
        ck, lk = jr.split(key)
        self.hidden, self.bias = hidden, jnp.zeros(o)
        self.cell, self.linear = eqx.nn.GRUCell(i, hidden, key=ck), eqx.nn.Linear(hidden, o, use_bias=False, key=lk)
    def __call__(self, xs):
        h, _ = lax.scan(lambda c, x: (self.cell(x, c), None), jnp.zeros((self.hidden,)), xs)
        return jax.nn.sigmoid(self.linear(h) + self.bias)
t = jnp.linspace(0, 4, 6)
sign = jnp.where(jnp.arange(12) % 2, 1.0, -1.0)
xs = jnp.stack([jnp.sin(t) * jnp.ones((12, 1)), sign[:, None] * jnp.cos(t)], -1); ys = (sign + 1) / 2
steps, lr, hidden = 5, 3e-3, 4
---
@eqx.filter_value_and_grad
def compute_loss(model, x, y):
    pred = jax.vmap(model)(x)
    return -jnp.mean(y * jnp.log(pred[:, 0]) + (1 - y) * jnp.log(1 - pred[:, 0]))
@eqx.filter_jit
def make_step(model, x, y, opt_state):
    loss, grads = compute_loss(model, x, y)
    updates, opt_state = optim.update(grads, opt_state)
    return loss, eqx.apply_updates(model, updates), opt_state
model = RNN(2, 1, hidden, key=jr.PRNGKey(5))
optim = optax.adam(lr)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
for step, (x, y) in zip(range(steps), dataloader((xs, ys), 4, key=jr.PRNGKey(7))):
    loss, model, opt_state = make_step(model, x, y, opt_state)
    loss = loss.item()
    print(f"step={step}, loss={loss:.5f}")
pred_ys = jax.vmap(model)(xs)
num_correct = jnp.sum((pred_ys[:, 0] > 0.5) == ys)
final_accuracy = (num_correct / len(xs)).item()
print(f"final_accuracy={final_accuracy}")
---
lr = 0.1
---
hidden = 3; steps = 3

### kdp-haiku-transformed-train-loop-with-state needs=haiku
import haiku as hk
def net_fn(x, is_training):
    x = hk.Linear(6)(x)
    x = hk.BatchNorm(True, True, 0.9)(x, is_training)
    return hk.Linear(3)(jax.nn.relu(x))
net = hk.transform_with_state(net_fn)
class TrainingState(NamedTuple):
    params: Any
    avg_params: Any
    opt_state: Any
    net_state: Any
r = np.random.default_rng(0)
def batches(seed, bs):
    r = np.random.default_rng(seed)
    while True:
        x = r.normal(size=(bs, 4)).astype(np.float32)
        yield x, (x.sum(1) > 0).astype(np.int32)
opt = optax.adam(1e-2)
num_steps = 5
---
def loss_fn(params, net_state, x, y):
    logits, net_state = net.apply(params, net_state, None, x, True)
    l2 = sum(jnp.sum(jnp.square(p)) for p in jax.tree.leaves(params))
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean() + 1e-4 * l2, net_state
@jax.jit
def update(state, x, y):
    (loss, net_state), grads = jax.value_and_grad(loss_fn, has_aux=True)(state.params, state.net_state, x, y)
    updates, opt_state = opt.update(grads, state.opt_state)
    params = optax.apply_updates(state.params, updates)
    avg = optax.incremental_update(params, state.avg_params, step_size=0.1)
    return TrainingState(params, avg, opt_state, net_state), loss
train, evald = batches(0, 8), batches(1, 8)
x, y = next(train)
p, s = net.init(jr.PRNGKey(0), x, True)
state = TrainingState(p, p, opt.init(p), s)
for step in range(num_steps):
    if step % 2 == 0:
        ex, ey = next(evald)
        logits, _ = net.apply(state.avg_params, state.net_state, None, ex, False)
        accuracy = np.array(jnp.mean(jnp.argmax(logits, -1) == ey)).item()
        print({"step": step, "accuracy": f"{accuracy:.3f}"})
    state, loss = update(state, *next(train))
print(f"{loss:.4f}")
---
num_steps = 4
---
opt = optax.sgd(0.5)

### kdp-ddpm-numpy-schedule-and-reversed-sampling-loop
T, dim, lr, n_train = 5, 2, 1e-2, 4
class DDPM:
    def __init__(self, T, beta_start=1e-4, beta_end=0.2):
        self.T = T
        self.betas = jnp.linspace(beta_start, beta_end, T)
        self.alphas = 1.0 - self.betas
        self.alpha_bar = jnp.cumprod(self.alphas)
    def q_sample(self, x0, t, noise):
        ab = self.alpha_bar[t][:, None]
        return jnp.sqrt(ab) * x0 + jnp.sqrt(1 - ab) * noise
    def p_losses(self, params, key, x0):
        kt, kn = jr.split(key)
        t = jr.randint(kt, (x0.shape[0],), 0, self.T)
        noise = jr.normal(kn, x0.shape)
        return jnp.mean((eps_model(params, self.q_sample(x0, t, noise), t) - noise) ** 2)
    def sample(self, params, key, n):
        key, sub = jr.split(key)
        x = jr.normal(sub, (n, dim))
        imgs = []
        for i in reversed(range(0, self.T)):
            t = jnp.full((n,), i)
            eps = eps_model(params, x, t)
            mean = (x - self.betas[i] / jnp.sqrt(1 - self.alpha_bar[i]) * eps) / jnp.sqrt(self.alphas[i])
            key, sub = jr.split(key)
            x = mean + jnp.sqrt(self.betas[i]) * jr.normal(sub, x.shape) if i > 0 else mean
            imgs.append(np.asarray(x))
        return imgs
def eps_model(p, x, t):
    h = jnp.concatenate([x, jnp.sin(t[:, None] * jnp.arange(1, 3) / 3)], 1)
    return jax.nn.silu(h @ p["w1"]) @ p["w2"]
data = jr.normal(jr.PRNGKey(8), (20, dim)) * 0.2 + jnp.array([1.0, -1.0])
---
ddpm = DDPM(T)
params = {"w1": jr.normal(jr.PRNGKey(0), (dim + 2, 8)) * 0.4, "w2": jr.normal(jr.PRNGKey(1), (8, dim)) * 0.4}
opt = optax.adam(lr); opt_state = opt.init(params)
key = jr.PRNGKey(2)
ema = params
for step in range(n_train):
    key, kb, kl = jr.split(key, 3)
    x0 = jr.choice(kb, data, (8,), replace=False)
    loss, grads = jax.value_and_grad(ddpm.p_losses)(params, kl, x0)
    updates, opt_state = opt.update(grads, opt_state)
    params = optax.apply_updates(params, updates)
    ema = jax.tree.map(lambda e, p: 0.9 * e + 0.1 * p, ema, params)
    if step % 2 == 0:
        print(f"step {step} loss {loss:.4f}")
samples = ddpm.sample(ema, key, 3)
print(len(samples), samples[-1].shape, type(samples[-1]).__name__)
---
T = 4
---
lr = 0.1; data = data - 3; n_train = 3

### kdp-realnvp-flow-list-of-layers-numpy-batches
def init_coupling(key, flip):
    k1, k2 = jr.split(key)
    return {"w1": jr.normal(k1, (1, 6)) * 0.3, "w2": jr.normal(k2, (6, 2)) * 0.3, "b": jnp.zeros(2)}
def shift_scale(p, x):
    out = jax.nn.relu(x @ p["w1"]) @ p["w2"] + p["b"]
    return out[:, :1], jnp.tanh(out[:, 1:])
def forward(ps, x):
    for i, p in enumerate(ps):
        a, b = (x[:, :1], x[:, 1:]) if i % 2 == 0 else (x[:, 1:], x[:, :1])
        t, s = shift_scale(p, a)
        b = b * jnp.exp(s) + t
        x = jnp.concatenate([a, b] if i % 2 == 0 else [b, a], 1)
    return x
def log_prob(ps, y):
    ldj = 0.0
    for i, p in reversed(list(enumerate(ps))):
        a, b = (y[:, :1], y[:, 1:]) if i % 2 == 0 else (y[:, 1:], y[:, :1])
        t, s = shift_scale(p, a)
        b = (b - t) * jnp.exp(-s); ldj = ldj - s.sum(1)
        y = jnp.concatenate([a, b] if i % 2 == 0 else [b, a], 1)
    return -0.5 * jnp.sum(y ** 2, 1) - math.log(2 * math.pi) + ldj
X = np.random.RandomState(0).randn(30, 2).astype(np.float32) * [1.0, 0.3] + [0, 1]
n_layers, iters, lr = 2, 5, 1e-2
---
ps = [init_coupling(k, i % 2) for i, k in enumerate(jr.split(jr.PRNGKey(0), n_layers))]
opt = optax.adam(lr)
opt_state = opt.init(ps)
@jax.jit
def step(i, ps, opt_state, x):
    loss, g = jax.value_and_grad(lambda ps: -jnp.mean(log_prob(ps, x)))(ps)
    updates, opt_state = opt.update(g, opt_state)
    return optax.apply_updates(ps, updates), opt_state, loss
npr = np.random.default_rng(1)
losses = []
for i in range(iters):
    x = X[npr.choice(X.shape[0], size=8)]
    ps, opt_state, loss = step(i, ps, opt_state, x)
    losses.append(float(loss))
    if i % 2 == 0:
        print("iter", i, "nll", round(losses[-1], 3))
y = forward(ps, jr.normal(jr.PRNGKey(1), (4, 2)))
values = [y]
---
lr = 0.1
---
n_layers = 3; X = X[:20] * 2

### kdp-vae-keras-style-compile-fit-history
class Model:
    def __init__(self, latent, key):
        ks = jr.split(key, 5)
        self.latent, self.key = latent, ks[4]
        self.weights = dict(enc=jr.normal(ks[0], (6, 2 * latent)) * 0.3, dec=jr.normal(ks[1], (latent, 6)) * 0.3)
        self.history, self.stop_training = {}, False
    def compile(self, optimizer, beta=1.0):
        self.optimizer, self.beta = optimizer, beta
        self.opt_vars = optimizer.init(self.weights)
        self._step = jax.jit(self._train_step)
    def call(self, w, x, key):
        mu, lv = jnp.split(x @ w["enc"], 2, -1)
        z = mu + jnp.exp(0.5 * lv) * jr.normal(key, mu.shape)
        return jax.nn.sigmoid(z @ w["dec"]), mu, lv
    def _train_step(self, w, ov, x, key):
        def loss_fn(w):
            rec, mu, lv = self.call(w, x, key)
            r = jnp.mean(jnp.sum((rec - x) ** 2, -1)); kl = -0.5 * jnp.mean(jnp.sum(1 + lv - mu ** 2 - jnp.exp(lv), -1))
            return r + self.beta * kl, {"reconstruction_loss": r, "kl_loss": kl}
        (loss, logs), g = jax.value_and_grad(loss_fn, has_aux=True)(w)
        up, ov = self.optimizer.update(g, ov)
        return optax.apply_updates(w, up), ov, {"loss": loss, **logs}
    def fit(self, x, batch_size, epochs, callbacks=(), verbose=1):
        for epoch in range(epochs):
            sums, n = defaultdict(float), 0
            for i in range(0, len(x), batch_size):
                self.key, sub = jr.split(self.key)
                self.weights, self.opt_vars, logs = self._step(self.weights, self.opt_vars, x[i:i + batch_size], sub)
                n += 1
                for k, v in logs.items(): sums[k] += v
            logs = {k: float(v / n) for k, v in sums.items()}
            for k, v in logs.items(): self.history.setdefault(k, []).append(v)
            if verbose: print(f"Epoch {epoch+1}/{epochs} - " + " - ".join(f"{k}: {v:.4f}" for k, v in logs.items()))
            for cb in callbacks: cb(self, epoch, logs)
            if self.stop_training: break
        return self.history
def stop_when_low(model, epoch, logs):
    if logs["loss"] < target: model.stop_training = True
xdata = (np.random.default_rng(0).random((10, 6)) > 0.5).astype(np.float32)
vae = Model(2, jr.PRNGKey(0)); vae.compile(optax.adam(1e-2)); target = 0.5; epochs = 2
---
history = vae.fit(xdata, 4, epochs, callbacks=[stop_when_low])
z = jr.normal(jr.PRNGKey(3), (3, 2))
decoded = jax.nn.sigmoid(z @ vae.weights["dec"])
print(len(history["loss"]), decoded.shape)
---
vae.compile(optax.adam(1e-1), beta=0.1)
---
target = 100.0; epochs = 4; xdata = 1 - xdata

### kdp-gan-two-optimizers-alternating-with-zip-loaders
def mlp(p, x):
    for w, b in p[:-1]: x = jax.nn.leaky_relu(x @ w + b, 0.2)
    return x @ p[-1][0] + p[-1][1]
def make(key, sizes):
    return [(jr.normal(k, (i, o)) * 0.4, jnp.zeros(o)) for k, i, o in zip(jr.split(key, len(sizes)), sizes, sizes[1:])]
kg, kd = jr.split(jr.PRNGKey(0))
G, D = make(kg, [2, 6, 2]), make(kd, [2, 6, 1])
optG, optD = optax.adam(2e-3, b1=0.5), optax.adam(2e-3, b1=0.5)
sG, sD = optG.init(G), optD.init(D)
real = np.random.default_rng(0).normal(size=(12, 2)).astype(np.float32) + 2
bce = lambda l, y: optax.sigmoid_binary_cross_entropy(l, jnp.full_like(l, y)).mean()
n_epochs, bs, n_critic, key = 2, 4, 1, jr.PRNGKey(1)
---
log = {"d": [], "g": []}
it = 0
for epoch in range(n_epochs):
    for i in range((len(real) - 1) // bs + 1):
        yb = real[i * bs:(i + 1) * bs]
        key, kz = jr.split(key)
        z = jr.normal(kz, (len(yb), 2))
        def d_loss(D):
            return bce(mlp(D, yb), 0.9) + bce(mlp(D, mlp(G, z)), 0.0)
        ld, gD = jax.value_and_grad(d_loss)(D)
        uD, sD = optD.update(gD, sD)
        D = optax.apply_updates(D, uD)
        log["d"].append(ld)
        if it % n_critic == 0:
            lg, gG = jax.value_and_grad(lambda G: bce(mlp(D, mlp(G, z)), 1.0))(G)
            uG, sG = optG.update(gG, sG)
            G = optax.apply_updates(G, uG)
            log["g"].append(lg)
        it += 1
    print(f"[{epoch}/{n_epochs}] Loss_D: {ld:.4f} Loss_G: {lg:.4f} D(x): {jax.nn.sigmoid(mlp(D, yb)).mean():.3f}")
---
n_critic = 2
---
real = real * 0.5; bs = 6; n_epochs = 1

### kdp-splat2d-render-vmap-with-array-snapshots
SIZE, GS = 6, 4
@partial(jax.vmap, in_axes=(None, None, None, 0))
@partial(jax.vmap, in_axes=(None, None, None, 0))
@partial(jax.vmap, in_axes=(0, 0, 0, None))
def gaussians(mu, theta, scaling, coord):
    theta = jnp.clip(theta, 0.0, jnp.pi)
    c, s = jnp.cos(theta[0]), jnp.sin(theta[0])
    R = jnp.array([[c, -s], [s, c]]); S = jnp.diag(jnp.clip(scaling, min=1e-2))
    Sigma = R @ S @ S @ R.T + 1e-3 * jnp.eye(2)
    diff = coord - mu
    return jnp.exp(-0.5 * diff @ jnp.linalg.inv(Sigma) @ diff.T)
@jax.jit
def render(mu, theta, scaling, color, coords):
    g = gaussians(mu, theta, scaling, coords)
    return jnp.clip(g @ color / (g.sum(-1, keepdims=True) + 1e-6), 0, 255)
img_array = np.arange(SIZE * SIZE * 3).reshape(SIZE, SIZE, 3).astype(np.uint8)
iterations, lr, every, prune_at = 4, 1e-2, 2, 3
---
k = jr.split(jr.PRNGKey(0), 4)
params = (jr.uniform(k[0], (GS, 2)), jr.uniform(k[1], (GS, 1), maxval=jnp.pi), jr.uniform(k[2], (GS, 2), minval=0.1, maxval=0.4), jr.uniform(k[3], (GS, 3), maxval=255.0))
xx, yy = jnp.meshgrid(jnp.linspace(0, 1.0, SIZE), jnp.linspace(0, 1.0, SIZE))
coords = jnp.stack([xx, yy], axis=-1)
optimizer = optax.adam(lr)
opt_state = optimizer.init(params)
def loss_fn(params):
    return jnp.mean(jnp.abs(render(*params, coords) - img_array))
def update(params, opt_state):
    grads = jax.grad(loss_fn)(params)
    updates, opt_state = optimizer.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state
frames = {}
for i in range(iterations):
    if i % every == 0:
        frames[f"output_{i:04d}.png"] = np.array(render(*params, coords).astype(jnp.uint8))
    params, opt_state = update(params, opt_state)
    current_loss = loss_fn(params)
    print(f"Step: {i}, Loss: {current_loss:.2f}")
    if i + 1 == prune_at:
        keep = params[2].max(1) > 0.2
        params = tuple(p[keep] for p in params)
        opt_state = optimizer.init(params)
        print("pruned to", len(params[0]))
---
lr = 1.0
---
GS = 5; prune_at = -1

### kdp-nerf-volume-rendering-toy-train
def posenc(x, L=2):
    return jnp.concatenate([x] + [f(2.0 ** i * x) for i in range(L) for f in (jnp.sin, jnp.cos)], -1)
def nerf(p, x):
    h = jax.nn.relu(posenc(x) @ p["w1"] + p["b1"])
    return h @ p["w2"]
def render_rays(p, key, o, d, near, far, n):
    z = jnp.linspace(near, far, n)
    if key is not None:
        z = z + jr.uniform(key, (o.shape[0], n)) * (far - near) / n
    else:
        z = jnp.broadcast_to(z, (o.shape[0], n))
    pts = o[:, None] + d[:, None] * z[..., None]
    raw = nerf(p, pts)
    sigma, rgb = jax.nn.relu(raw[..., 3]), jax.nn.sigmoid(raw[..., :3])
    dists = jnp.concatenate([z[:, 1:] - z[:, :-1], jnp.full((o.shape[0], 1), 1e10)], -1)
    alpha = 1 - jnp.exp(-sigma * dists)
    w = alpha * jnp.cumprod(jnp.concatenate([jnp.ones((o.shape[0], 1)), 1 - alpha[:, :-1] + 1e-10], -1), -1)
    return (w[..., None] * rgb).sum(1), (w * z).sum(1)
rs = np.random.RandomState(0)
rays_o, rays_d = np.tile([0.0, 0, -2], (12, 1)).astype("f4"), rs.randn(12, 3).astype("f4") * 0.1 + np.array([0, 0, 1], "f4")
target = rs.rand(12, 3).astype("f4")
p = {"w1": jr.normal(jr.PRNGKey(0), (15, 8)) * 0.3, "b1": jnp.zeros(8), "w2": jr.normal(jr.PRNGKey(1), (8, 4)) * 0.3}
tx = optax.adam(5e-3); s = tx.init(p); rng = jr.PRNGKey(3)
N_iters, n_samples, i_plot = 4, 4, 2
del rs
---
psnrs, iternums = [], []
t = range(N_iters + 1)
for i in t:
    idx = np.arange(i * 3, i * 3 + 6) % len(rays_o)
    rng, sub = jr.split(rng)
    loss, g = jax.value_and_grad(lambda p: jnp.mean((render_rays(p, sub, rays_o[idx], rays_d[idx], 1.0, 3.0, n_samples)[0] - target[idx]) ** 2))(p)
    up, s = tx.update(g, s)
    p = optax.apply_updates(p, up)
    if i % i_plot == 0:
        rgb, depth = render_rays(p, None, rays_o, rays_d, 1.0, 3.0, n_samples)
        psnr = -10.0 * jnp.log(jnp.mean((rgb - target) ** 2)) / jnp.log(10.0)
        psnrs.append(psnr.item()); iternums.append(i)
        print(i, f"psnr {psnr:.3f} depth {depth.mean():.2f}")
---
n_samples = 3
---
tx = optax.sgd(0.1); s = tx.init(p); N_iters = 2

### kdp-mcts-node-dict-with-jax-prior-noise
class Node:
    def __init__(self): self.N, self.W, self.Q, self.P, self.children = 0, 0.0, 0.0, {}, {}
class MCTS:
    def __init__(self, params, c_puct=1.5, frac=0.25, seed=0):
        self.params, self.c_puct, self.frac, self.rng = params, c_puct, frac, jr.PRNGKey(seed)
    def policy_value(self, s):
        h = jnp.tanh(s @ self.params["w"])
        return jax.nn.softmax(h @ self.params["pi"]), jnp.tanh(h @ self.params["v"])
    def expand(self, node, s):
        p, v = self.policy_value(s)
        node.P = {a: float(x) for a, x in enumerate(p)}
        return float(v)
    def noise(self, root):
        self.rng, sub = jr.split(self.rng)
        eps = np.array(jr.dirichlet(sub, jnp.full((len(root.P),), 0.3)))
        for a, e in zip(list(root.P), eps):
            root.P[a] = (1 - self.frac) * root.P[a] + self.frac * float(e)
    def select(self, node):
        total = sum(c.N for c in node.children.values()) + 1
        return max(node.P, key=lambda a: (node.children[a].Q if a in node.children else 0.0) + self.c_puct * node.P[a] * np.sqrt(total) / (1 + (node.children[a].N if a in node.children else 0)))
    def run(self, s0, sims):
        root = Node(); self.expand(root, s0); self.noise(root)
        for _ in range(sims):
            node, s, path = root, s0, [root]
            while node.P:
                a = self.select(node)
                s = dynamics(s, a)
                if a not in node.children: node.children[a] = Node()
                node = node.children[a]; path.append(node)
                if len(path) > 3: break
            v = self.expand(node, s)
            for n in reversed(path):
                n.N += 1; n.W += v; n.Q = n.W / n.N; v = -v
        return root
def dynamics(s, a): return s + 0.1 * jax.nn.one_hot(a, 3)
params = {"w": jr.normal(jr.PRNGKey(1), (3, 5)), "pi": jr.normal(jr.PRNGKey(2), (5, 3)), "v": jr.normal(jr.PRNGKey(3), (5,))}
mcts, s0, sims = MCTS(params), jnp.zeros(3), 4
---
root = mcts.run(s0, sims)
visits = np.array([root.children[a].N if a in root.children else 0 for a in root.P])
pi = visits / visits.sum()
action = int(pi.argmax())
s0 = dynamics(s0, action)
print(visits, action, f"{root.Q:.3f}")
---
mcts.c_puct = 3.0
---
sims = 5; mcts.params = jax.tree.map(lambda x: x * 0.5, mcts.params)

### kdp-md-lennard-jones-langevin-log-every
class MolecularDynamics:
    def __init__(self, R, box, dt, kT, gamma=0.5, seed=0):
        self.R, self.box, self.dt, self.kT, self.gamma = R, box, dt, kT, gamma
        self.key, sub = jr.split(jr.PRNGKey(seed))
        self.V = jr.normal(sub, R.shape) * jnp.sqrt(kT)
        self.step_count, self.log, self.trajectory = 0, defaultdict(list), []
    def displacement(self, a, b):
        d = a - b
        return d - self.box * jnp.round(d / self.box)
    def energy(self, R):
        dr = self.displacement(R[:, None], R[None])
        r2 = jnp.sum(dr ** 2, -1) + jnp.eye(len(R)) * 100.0
        s6 = 1.0 / r2 ** 3
        return 2.0 * jnp.sum(jnp.where(r2 < 6.25, s6 ** 2 - s6, 0.0))
    def step(self):
        F = -jax.grad(self.energy)(self.R)
        self.V = self.V + 0.5 * self.dt * F
        self.R = jnp.mod(self.R + self.dt * self.V, self.box)
        self.key, sub = jr.split(self.key)
        c = jnp.exp(-self.gamma * self.dt)
        self.V = c * self.V + jnp.sqrt((1 - c ** 2) * self.kT) * jr.normal(sub, self.V.shape)
        self.V = self.V - 0.5 * self.dt * jax.grad(self.energy)(self.R)
        self.step_count += 1
    def run(self, n_steps, write_every):
        for _ in range(n_steps):
            self.step()
            if self.step_count % write_every == 0:
                pe, ke = self.energy(self.R), 0.5 * jnp.sum(self.V ** 2)
                self.log["PE"].append(float(pe)); self.log["T"].append(float(ke / len(self.R)))
                self.trajectory.append(np.array(self.R))
                print(f"{self.step_count:6d} | PE {pe:10.4f} | T {ke / len(self.R):.3f}")
g = jnp.arange(2.0) * 1.3 + 0.4
R0 = jnp.stack(jnp.meshgrid(g, g), -1).reshape(-1, 2)
md = MolecularDynamics(R0, 4.0, 1e-3, 0.3)
n_steps, write_every = 4, 2
---
md.run(n_steps, write_every)
pe = md.energy(md.R)
msd = jnp.mean(jnp.sum(md.displacement(md.R, R0) ** 2, -1))
print(len(md.trajectory), sorted(md.log))
---
md.dt = 5e-3; write_every = 3
---
md = MolecularDynamics(jnp.concatenate([R0, jnp.array([[1.0, 3.0]])]), 4.0, 1e-3, 1.0, seed=4); R0 = md.R; n_steps = 3

### kdp-nbody-leapfrog-energy-drift-list-of-dicts tolerance=1e-5
def acceleration(pos, mass, G, soft):
    d = pos[None] - pos[:, None]
    inv = (jnp.sum(d ** 2, -1) + soft ** 2) ** -1.5
    return G * (d * inv[..., None] * mass[None, :, None]).sum(1)
def energy(pos, vel, mass, G, soft):
    ke = 0.5 * jnp.sum(mass * jnp.sum(vel ** 2, 1))
    d = jnp.sqrt(jnp.sum((pos[None] - pos[:, None]) ** 2, -1) + soft ** 2)
    return ke, -G * jnp.sum(jnp.triu(mass[:, None] * mass / d, 1))
np.random.seed(17)
N, t, tEnd, dt, softening, G = 5, 0, 0.05, 0.01, 0.1, 1.0
mass = 20.0 * np.ones(N) / N
pos, vel = np.random.randn(N, 3), np.random.randn(N, 3)
---
vel -= np.mean(mass[:, None] * vel, 0) / np.mean(mass)
acc = acceleration(pos, mass, G, softening)
KE, PE = energy(pos, vel, mass, G, softening)
Nt = int(np.ceil(tEnd / dt))
pos_save = np.zeros((N, 3, Nt + 1)); pos_save[:, :, 0] = pos
KE_save = np.zeros(Nt + 1); KE_save[0] = KE
records = []
p, v = jnp.asarray(pos), jnp.asarray(vel)
for i in range(Nt):
    v += acc * dt / 2.0
    p += v * dt
    acc = acceleration(p, mass, G, softening)
    v += acc * dt / 2.0
    t += dt
    KE, PE = energy(p, v, mass, G, softening)
    pos_save[:, :, i + 1] = p
    KE_save[i + 1] = KE
    if i % 2 == 0:
        records.append(dict(t=round(t, 3), E=float(KE + PE)))
drift = abs(records[-1]["E"] - records[0]["E"])
print(f"drift {drift:.2e} after {Nt} steps; t={t:.2f}")
---
dt = 0.025
---
N = 4; mass = np.ones(N, np.float32); pos, vel = pos[:4], vel[:4] * 0.1

### kdp-heat-equation-adi-solver-class-with-history
class HeatSolver:
    def __init__(self, nx, alpha, dt, left=0.0, right=1.0):
        self.x = jnp.linspace(0, 1, nx); self.dx = self.x[1] - self.x[0]
        self.alpha, self.dt, self.left, self.right = alpha, dt, left, right
        self.u = jnp.zeros(nx).at[0].set(left).at[-1].set(right)
        self.t, self.n, self.history = 0.0, 0, [(0.0, self.u)]
    @property
    def cfl(self): return self.alpha * self.dt / self.dx ** 2
    def rhs(self, u):
        lap = (jnp.roll(u, -1) - 2 * u + jnp.roll(u, 1)) / self.dx ** 2
        return (self.alpha * lap).at[0].set(0.0).at[-1].set(0.0)
    def step(self):
        k1 = self.rhs(self.u)
        k2 = self.rhs(self.u + self.dt * k1)
        self.u = self.u + 0.5 * self.dt * (k1 + k2)
        self.t += self.dt; self.n += 1
    def solve(self, t_end, save_every=2, tol=1e-3):
        while self.t < t_end - 1e-9:
            old = self.u
            self.step()
            if self.n % save_every == 0:
                self.history.append((self.t, self.u))
            res = float(jnp.max(jnp.abs(self.u - old)))
            if res < tol:
                print(f"steady at t={self.t:.3f}")
                break
        return self
solver, t_add = HeatSolver(9, 0.5, 5e-3), 0.02
---
if solver.cfl > 0.5:
    print(f"warning: cfl={solver.cfl:.2f}")
solver.solve(solver.t + t_add)
flux = -solver.alpha * jnp.gradient(solver.u, solver.dx)
times, us = zip(*solver.history)
U = jnp.stack(us)
print(f"{solver.n} steps, {U.shape}, flux {float(flux.mean()):.3f}")
---
solver.alpha = 0.8
---
solver = HeatSolver(7, 0.2, 1e-2, right=2.0); t_add = 0.05

### kdp-ks-equation-gym-env-rollout-with-policy
class KSEnv:
    def __init__(self, n=16, L=22.0, dt=0.05, seed=0):
        self.n, self.L, self.dt, self.rng = n, L, dt, jr.PRNGKey(seed)
        k = 2 * np.pi * np.fft.fftfreq(n, L / n)
        self.lin, self.ik = jnp.asarray(k ** 2 - k ** 4), jnp.asarray(1j * k)
        self.act = jnp.stack([jnp.exp(-((jnp.arange(n) - c) ** 2) / 2.0) for c in (4, 12)])
        self.u_sol, self.current_state, self.timestep = [], None, 0
    def reset(self, seed=None):
        if seed is not None: self.rng = jr.PRNGKey(seed)
        self.timestep, self.u_sol = 0, []
        self.rng, sub = jr.split(self.rng)
        self.current_state = np.array(jr.normal(sub, (self.n,)) * 0.1)
        self.u_sol.append(self.current_state)
        return self.current_state, {}
    def step(self, action):
        self.timestep += 1
        u = jnp.array(self.current_state)
        uh = jnp.fft.fft(u)
        nl = -0.5 * self.ik * jnp.fft.fft(u ** 2) + jnp.fft.fft(jnp.array(action) @ self.act)
        uh = (uh + self.dt * nl) / (1 - self.dt * self.lin)
        self.current_state = np.array(jnp.real(jnp.fft.ifft(uh)))
        self.u_sol.append(self.current_state)
        reward = -float(np.mean(self.current_state ** 2))
        return self.current_state, reward, False, self.timestep >= horizon, {}
env, horizon = KSEnv(), 4
W = jr.normal(jr.PRNGKey(7), (16, 2)) * 0.1
---
obs, _ = env.reset(seed=3)
total, truncated = 0.0, False
while not truncated:
    action = np.asarray(jnp.tanh(obs @ W))
    obs, reward, terminated, truncated, info = env.step(action)
    total += reward
    if env.timestep % 2 == 0:
        print(f"t={env.timestep} r={reward:.4f} |a|={np.abs(action).max():.3f}")
U = np.stack(env.u_sol)
spectrum = jnp.abs(jnp.fft.rfft(U, axis=1)).mean(0)
---
horizon = 3
---
W = W * 5; env = KSEnv(dt=0.01)

### kdp-vqe-gates-tensordot-energy-loop-with-tol
I2, X, Z = jnp.eye(2, dtype=jnp.complex64), jnp.array([[0, 1], [1, 0]], jnp.complex64), jnp.array([[1, 0], [0, -1]], jnp.complex64)
CNOT = jnp.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], jnp.complex64).reshape(2, 2, 2, 2)
def ry(t): return jnp.array([[jnp.cos(t / 2), -jnp.sin(t / 2)], [jnp.sin(t / 2), jnp.cos(t / 2)]]).astype(jnp.complex64)
def apply1(state, g, q): return jnp.moveaxis(jnp.tensordot(g, state, axes=[[1], [q]]), 0, q)
def apply2(state, g, a, b): return jnp.moveaxis(jnp.tensordot(g, state, axes=[[2, 3], [a, b]]), [0, 1], [a, b])
class Circuit:
    def __init__(self, n): self.n, self.ops = n, []
    def Ry(self, q): self.ops.append(("ry", q)); return self
    def CX(self, a, b): self.ops.append(("cx", a, b)); return self
    @property
    def n_params(self): return sum(op[0] == "ry" for op in self.ops)
    def __call__(self, params):
        state = jnp.zeros((2,) * self.n, jnp.complex64).at[(0,) * self.n].set(1)
        it = iter(params)
        for op in self.ops:
            state = apply1(state, ry(next(it)), op[1]) if op[0] == "ry" else apply2(state, CNOT, *op[1:])
        return state
def ansatz(n, depth):
    c = Circuit(n)
    for _ in range(depth):
        for q in range(n): c.Ry(q)
        for q in range(n - 1): c.CX(q, q + 1)
    return c
n_qubits, depth, h, lr, max_iterations, conv_tol = 3, 1, 0.5, 0.2, 5, 1e-6
---
circuit = ansatz(n_qubits, depth)
def energy(params):
    psi = circuit(params)
    e = 0.0
    for q in range(n_qubits - 1):
        e -= jnp.real(jnp.vdot(psi, apply1(apply1(psi, Z, q), Z, q + 1)))
    for q in range(n_qubits):
        e -= h * jnp.real(jnp.vdot(psi, apply1(psi, X, q)))
    return e
opt = optax.sgd(learning_rate=lr)
theta = jr.uniform(jr.PRNGKey(0), (circuit.n_params,), maxval=2 * jnp.pi)
opt_state = opt.init(theta)
energies = [energy(theta)]
for n in range(max_iterations):
    gradient = jax.grad(energy)(theta)
    updates, opt_state = opt.update(gradient, opt_state)
    theta = optax.apply_updates(theta, updates)
    energies.append(energy(theta))
    conv = jnp.abs(energies[-1] - energies[-2])
    if n % 2 == 0:
        print(f"Step = {n},  Energy = {energies[-1]:.6f} Ha")
    if conv <= conv_tol:
        break
probs = jnp.abs(circuit(theta)) ** 2
print(f"final {energies[-1]:.4f}, theta = {theta[0]:.4f}")
---
h = 1.0; conv_tol = 0.2
---
depth = 2; max_iterations = 3

### kdp-ekf-slam-landmarks-discovered-while-running
class EKFSLAM:
    def __init__(self, dt=0.1):
        self.mu, self.P, self.dt = jnp.zeros(3), jnp.eye(3) * 1e-3, dt
        self.ids, self.Q, self.R = {}, jnp.diag(jnp.array([1e-3, 1e-3])), jnp.diag(jnp.array([0.05, 0.02]))
    def motion(self, m, u):
        d = jnp.array([u[0] * jnp.cos(m[2]), u[0] * jnp.sin(m[2]), u[1]]) * self.dt
        return m.at[:3].add(d)
    def predict(self, u):
        F = jax.jacfwd(self.motion)(self.mu, u); G = jax.jacfwd(self.motion, 1)(self.mu, u)
        self.mu = self.motion(self.mu, u)
        self.P = F @ self.P @ F.T + G @ self.Q @ G.T
    def h(self, m, j):
        d = m[3 + 2 * j:5 + 2 * j] - m[:2]
        return jnp.array([jnp.sqrt(d @ d), jnp.arctan2(d[1], d[0]) - m[2]])
    def add_landmark(self, z):
        r, b = z
        l = self.mu[:2] + r * jnp.array([jnp.cos(b + self.mu[2]), jnp.sin(b + self.mu[2])])
        self.mu = jnp.concatenate([self.mu, l]); n = len(self.mu)
        self.P = jnp.eye(n).at[:n - 2, :n - 2].set(self.P)
    def update(self, observations):
        for lid, z in observations:
            z = jnp.asarray(z)
            if lid not in self.ids:
                self.ids[lid] = len(self.ids); self.add_landmark(z)
                print("new landmark", lid)
                continue
            j = self.ids[lid]
            H = jax.jacfwd(self.h)(self.mu, j)
            y = z - self.h(self.mu, j)
            y = y.at[1].set((y[1] + jnp.pi) % (2 * jnp.pi) - jnp.pi)
            K = self.P @ H.T @ jnp.linalg.inv(H @ self.P @ H.T + self.R)
            self.mu = self.mu + K @ y
            self.P = (jnp.eye(len(self.mu)) - K @ H) @ self.P
landmarks = {"a": (2.0, 1.0), "b": (1.0, -2.0), "c": (3.0, 0.0)}
slam, true, rng, u, steps, reach = EKFSLAM(), np.zeros(3), np.random.default_rng(0), jnp.array([1.0, 0.3]), 3, 2.3
---
path = []
for k in range(steps):
    true = true + 0.1 * np.array([np.cos(true[2]), np.sin(true[2]), 0.3])
    slam.predict(u)
    obs = []
    for name, (lx, ly) in landmarks.items():
        dx, dy = lx - true[0], ly - true[1]
        if np.hypot(dx, dy) < reach:
            obs.append((name, (np.hypot(dx, dy) + 0.01 * rng.normal(), np.arctan2(dy, dx) - true[2])))
    slam.update(obs)
    path.append(slam.mu[:3])
    if k % 2 == 0:
        print(f"k={k} seen={len(obs)} err={jnp.linalg.norm(slam.mu[:2] - true[:2]):.3f}")
trace = jnp.trace(slam.P)
---
reach = 3.5
---
u = jnp.array([1.0, 0.0]); slam = EKFSLAM(dt=0.1); steps = 2

### kdp-ilqr-solve-with-line-search-and-regularisation
def dynamics(x, u):
    th, w = x
    return jnp.array([th + 0.1 * w, w + 0.1 * (jnp.sin(th) + u[0])])
class ILQR:
    def __init__(self, f, stage, final, horizon):
        self.f, self.stage, self.final, self.T = f, stage, final, horizon
        self.mu = 1e-3
    def rollout(self, x0, us):
        xs = [x0]
        for t in range(self.T): xs.append(self.f(xs[-1], us[t]))
        return jnp.stack(xs)
    def cost(self, xs, us):
        return sum(self.stage(x, u) for x, u in zip(xs[:-1], us)) + self.final(xs[-1])
    def backward(self, xs, us):
        Vx, Vxx = jax.grad(self.final)(xs[-1]), jax.hessian(self.final)(xs[-1])
        ks, Ks = [None] * self.T, [None] * self.T
        for t in reversed(range(self.T)):
            x, u = xs[t], us[t]
            A, B = jax.jacfwd(self.f, (0, 1))(x, u)
            lx, lu = jax.grad(self.stage, (0, 1))(x, u)
            lxx, luu = jax.hessian(self.stage, 0)(x, u), jax.hessian(self.stage, 1)(x, u)
            Qx, Qu = lx + A.T @ Vx, lu + B.T @ Vx
            Qxx, Quu, Qux = lxx + A.T @ Vxx @ A, luu + B.T @ Vxx @ B + self.mu * jnp.eye(len(u)), B.T @ Vxx @ A
            ks[t], Ks[t] = -jnp.linalg.solve(Quu, Qu), -jnp.linalg.solve(Quu, Qux)
            Vx, Vxx = Qx + Ks[t].T @ Qu, Qxx + Qux.T @ Ks[t]
        return ks, Ks
    def solve(self, x0, us, max_iter=3, tol=1e-3):
        xs = self.rollout(x0, us); J = self.cost(xs, us)
        for it in range(max_iter):
            ks, Ks = self.backward(xs, us)
            for alpha in (1.0, 0.5, 0.1):
                x, nus = x0, []
                for t in range(self.T):
                    nus.append(us[t] + alpha * ks[t] + Ks[t] @ (x - xs[t])); x = self.f(x, nus[-1])
                nus = jnp.stack(nus); nxs = self.rollout(x0, nus); Jn = self.cost(nxs, nus)
                if Jn < J: break
            done = abs(J - Jn) < tol
            print(f"iter {it}: J={Jn:.4f} alpha={alpha}")
            xs, us, J = nxs, nus, Jn
            if done: break
        return xs, us, J
goal, x0, T, wt = 0.0, jnp.array([0.6, 0.0]), 4, 0.1
---
ilqr = ILQR(dynamics, lambda x, u: (x[0] - goal) ** 2 + wt * u @ u, lambda x: 10 * (x[0] - goal) ** 2 + x[1] ** 2, T)
xs, us, J = ilqr.solve(x0, jnp.zeros((T, 1)), max_iter=2)
umax = jnp.abs(us).max()
---
wt = 1.0
---
x0 = jnp.array([-0.5, 0.3]); T = 3

### kdp-mppi-controller-warm-start-roll-plan
class MPPI:
    def __init__(self, horizon, samples, sigma, lam, seed=0):
        self.H, self.K, self.sigma, self.lam, self.key = horizon, samples, sigma, lam, jr.PRNGKey(seed)
        self.plan = jnp.zeros((horizon, 1)); self.calls = 0
        self._rollout = jax.vmap(self.rollout, (None, 0))
    def rollout(self, x, us):
        def body(x, u):
            nx = step_fn(x, u)
            return nx, cost_fn(nx, u)
        _, c = lax.scan(body, x, us)
        return c.sum()
    def __call__(self, x):
        self.key, sub = jr.split(self.key)
        eps = jr.normal(sub, (self.K, self.H, 1)) * self.sigma
        costs = self._rollout(x, self.plan + eps)
        w = jax.nn.softmax(-(costs - costs.min()) / self.lam)
        self.plan = self.plan + jnp.einsum("k,kho->ho", w, eps)
        u = self.plan[0]
        self.plan = jnp.roll(self.plan, -1, 0).at[-1].set(0.0)
        self.calls += 1
        return u, costs.min()
def step_fn(x, u): return jnp.array([x[0] + 0.1 * x[1], x[1] + 0.1 * jnp.clip(u[0], -2, 2)])
def cost_fn(x, u): return (x[0] - 1.0) ** 2 + 0.1 * x[1] ** 2 + 0.01 * u[0] ** 2
ctrl, x, n = MPPI(5, 8, 0.8, 0.5), jnp.zeros(2), 5
---
xs, us = [x], []
for i in range(n):
    u, best = ctrl(x)
    x = step_fn(x, u)
    xs.append(x); us.append(u)
    if ctrl.calls % 3 == 0:
        print(f"[{ctrl.calls}] pos={x[0]:.3f} vel={x[1]:.3f} best={best:.3f}")
    if jnp.abs(x[0] - 1.0) < 0.02 and jnp.abs(x[1]) < 0.1:
        print("reached")
        break
traj = jnp.stack(xs)
---
ctrl.sigma = 1.5
---
ctrl = MPPI(3, 6, 0.5, 0.1); x = jnp.array([0.5, 0.0]); n = 3

### kdp-kalman-filter-class-filter-then-smoother-lists
class KalmanFilter:
    def __init__(self, F, H, Q, R, x0, P0):
        self.F, self.H, self.Q, self.R, self.x, self.P = F, H, Q, R, x0, P0
        self.loglik = 0.0
    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q
        return self.x, self.P
    def update(self, z):
        if z is None or np.isnan(z).any():
            return self.x, self.P
        y = z - self.H @ self.x
        S = self.H @ self.P @ self.H.T + self.R
        K = jnp.linalg.solve(S, self.H @ self.P).T
        self.x = self.x + K @ y
        self.P = (jnp.eye(len(self.x)) - K @ self.H) @ self.P
        self.loglik += jax.scipy.stats.multivariate_normal.logpdf(y, jnp.zeros_like(y), S)
        return self.x, self.P
dt = 1.0
F, H = jnp.array([[1, dt], [0, 1]]), jnp.array([[1.0, 0.0]])
zs = np.cumsum(np.random.default_rng(2).normal(1.0, 0.2, 6)).reshape(-1, 1).astype(np.float32); zs[3] = np.nan
q, r = 0.05, 0.3
---
kf = KalmanFilter(F, H, q * jnp.eye(2), r * jnp.eye(1), jnp.zeros(2), jnp.eye(2))
means, covs, pm, pc = [], [], [], []
for i, z in enumerate(zs):
    m, P = kf.predict(); pm.append(m); pc.append(P)
    m, P = kf.update(z); means.append(m); covs.append(P)
    if i % 3 == 0:
        print(f"{i}: x={m[0]:.2f} v={m[1]:.2f} ll={kf.loglik:.2f}")
sm, sP = [means[-1]], [covs[-1]]
for t in range(len(zs) - 2, -1, -1):
    G = covs[t] @ F.T @ jnp.linalg.inv(pc[t + 1])
    sm.insert(0, means[t] + G @ (sm[0] - pm[t + 1]))
    sP.insert(0, covs[t] + G @ (sP[0] - pc[t + 1]) @ G.T)
smoothed = jnp.stack(sm)
rmse = jnp.sqrt(jnp.nanmean((smoothed[:, :1] - zs) ** 2))
---
r = 1.0
---
zs = np.where(np.isnan(zs), 4.0, zs); zs[1] = np.nan; q = 0.5

### kdp-particle-filter-resample-when-ess-low
class ParticleFilter:
    def __init__(self, n, key):
        self.n, self.key = n, key
        self.key, k = jr.split(self.key)
        self.particles, self.weights = jr.normal(k, (n,)), jnp.full(n, 1 / n)
        self.resampled = 0
    def next_key(self):
        self.key, sub = jr.split(self.key)
        return sub
    def predict(self, t):
        x = self.particles
        self.particles = 0.5 * x + 5 * x / (1 + x ** 2) + 2 * jnp.cos(1.2 * t) + jr.normal(self.next_key(), (self.n,))
    def update(self, z, std):
        logw = -0.5 * ((z - self.particles ** 2 / 20) / std) ** 2 + jnp.log(self.weights + 1e-12)
        self.weights = jax.nn.softmax(logw)
    def neff(self): return 1.0 / jnp.sum(jnp.square(self.weights))
    def resample(self):
        pos = (jr.uniform(self.next_key()) + jnp.arange(self.n)) / self.n
        idx = jnp.searchsorted(jnp.cumsum(self.weights), pos)
        self.particles, self.weights = self.particles[idx], jnp.full(self.n, 1 / self.n)
        self.resampled += 1
    def estimate(self):
        m = jnp.average(self.particles, weights=self.weights)
        return m, jnp.average((self.particles - m) ** 2, weights=self.weights)
pf, zs, std, thresh = ParticleFilter(12, jr.PRNGKey(0)), [0.4, 1.1, 3.0, 0.2], 1.0, 0.5
---
xs = []
for t, z in enumerate(zs):
    pf.predict(t)
    pf.update(z, std)
    if pf.neff() < pf.n * thresh:
        pf.resample()
    mu, var = pf.estimate()
    xs.append(mu)
    print(f"t={t} mean={mu:.3f} var={var:.3f} ess={pf.neff():.1f}")
xs = np.array(xs)
print("resampled", pf.resampled, "times")
---
thresh = 0.9
---
std = 0.3; zs = [z * 2 for z in zs[:3]]; pf = ParticleFilter(20, jr.PRNGKey(2))

### kdp-hmc-sampler-one-step-inference-loop-and-accept-rate
class HMCState(NamedTuple):
    position: Any
    logdensity: Any
    grad: Any
class HMCInfo(NamedTuple):
    acceptance_rate: Any
    is_accepted: Any
def hmc(logdensity_fn, step_size, inv_mass, n_int):
    def init(position):
        return HMCState(position, *jax.value_and_grad(logdensity_fn)(position))
    def step(key, state):
        k1, k2 = jr.split(key)
        keys = jr.split(k1, len(state.position))
        mom = {n: jr.normal(k, v.shape) / jnp.sqrt(inv_mass) for k, (n, v) in zip(keys, state.position.items())}
        q, p, g = state.position, mom, state.grad
        for _ in range(n_int):
            p = jax.tree.map(lambda p, g: p + 0.5 * step_size * g, p, g)
            q = jax.tree.map(lambda q, p: q + step_size * inv_mass * p, q, p)
            lp, g = jax.value_and_grad(logdensity_fn)(q)
            p = jax.tree.map(lambda p, g: p + 0.5 * step_size * g, p, g)
        kin = lambda m: 0.5 * sum(jnp.sum(inv_mass * v ** 2) for v in m.values())
        rate = jnp.minimum(1.0, jnp.exp(lp - kin(p) - state.logdensity + kin(mom)))
        acc = jr.uniform(k2) < rate
        new = jax.tree.map(lambda a, b: jnp.where(acc, a, b), HMCState(q, lp, g), state)
        return new, HMCInfo(rate, acc)
    return init, step
observed = np.random.default_rng(0).normal(10, 2, size=20)
def logdensity_fn(loc, log_scale, observed=observed):
    return log_scale + jnp.sum(jax.scipy.stats.norm.logpdf(observed, loc, jnp.exp(log_scale)))
logdensity = lambda x: logdensity_fn(**x)
step_size, n_int, num_samples = 0.05, 3, 5
---
init, kernel = hmc(logdensity, step_size, 0.5, n_int)
state = init({"loc": 8.0 * jnp.ones(()), "log_scale": jnp.ones(())})
step = jax.jit(kernel)
states, infos = [], []
for i, k in enumerate(jr.split(jr.key(0), num_samples)):
    state, info = step(k, state)
    states.append(state.position); infos.append(info)
    if i % 2 == 0:
        print(i, {n: round(float(v), 2) for n, v in state.position.items()}, bool(info.is_accepted))
samples = jax.tree.map(lambda *xs: jnp.stack(xs), *states)
rate = np.mean([i.acceptance_rate for i in infos])
scale = jnp.exp(samples["log_scale"]).mean()
---
step_size = 0.5
---
def logdensity_fn(loc, log_scale, observed=observed):
    return -0.5 * loc ** 2 / 100 + jnp.sum(jax.scipy.stats.norm.logpdf(observed[:10], loc, jnp.exp(log_scale)))

### kdp-metropolis-numpy-loop-host-accept-counter
data = np.array([1.2, 0.7, 1.9, 1.4])
def log_post(theta):
    mu, ls = theta
    return -0.5 * jnp.sum((data - mu) ** 2) * jnp.exp(-2 * ls) - len(data) * ls - 0.5 * mu ** 2
class RWM:
    def __init__(self, logp, scale, seed):
        self.logp, self.scale, self.rng = logp, scale, np.random.default_rng(seed)
        self.accepted = self.total = 0
    def sample(self, theta0, n, burn=0, adapt_every=4):
        theta, lp, chain = theta0, self.logp(theta0), []
        for i in range(n):
            prop = theta + self.scale * self.rng.normal(size=theta.shape).astype(np.float32)
            lp_prop = self.logp(prop)
            if np.log(self.rng.uniform()) < lp_prop - lp:
                theta, lp = prop, lp_prop
                self.accepted += 1
            self.total += 1
            if i < burn and (i + 1) % adapt_every == 0:
                rate = self.accepted / self.total
                self.scale *= np.exp(rate - 0.234)
                print(f"adapt: rate={rate:.2f} scale={self.scale:.3f}")
            elif i >= burn:
                chain.append(theta)
        return jnp.stack(chain)
mh, n, burn = RWM(log_post, 0.5, 0), 8, 4
---
chain = mh.sample(jnp.array([0.0, 0.0]), n, burn)
post_mean, post_std = chain.mean(0), chain.std(0)
print(f"acceptance {mh.accepted / mh.total:.2f}", post_mean.shape)
summary = {"mu": post_mean[0], "sigma": jnp.exp(post_mean[1])}
---
n = 6; mh.scale = 2.0
---
data = np.append(data, 5.0)

### kdp-numpyro-like-svi-loop-with-progress-and-elbo needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
def model(x, y=None):
    w = numpyro.sample("w", dist.Normal(jnp.zeros(2), 1.0).to_event(1))
    b = numpyro.sample("b", dist.Normal(0.0, 1.0))
    sigma = numpyro.sample("sigma", dist.Exponential(1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("obs", dist.Normal(x @ w + b, sigma), obs=y)
r = np.random.default_rng(0)
X = r.normal(size=(12, 2)).astype(np.float32); Y = X @ np.array([1.0, -1.0], np.float32) + 0.1
steps, lr = 4, 0.05
---
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(lr), Trace_ELBO())
state = svi.init(jr.PRNGKey(0), X, Y)
losses = []
for i in range(steps):
    state, loss = svi.update(state, X, Y)
    losses.append(loss)
    if i % 2 == 0:
        print(f"{i}: elbo {-loss:.3f}")
params = svi.get_params(state)
post = guide.median(params)
print({k: np.shape(v) for k, v in sorted(post.items())})
---
lr = 0.5
---
X, Y = X[:8], Y[:8]; steps = 3

### kdp-gp-regression-class-fit-log-hyperparameters
class GP:
    def __init__(self, noise=0.1): self.params = {"ls": jnp.zeros(()), "amp": jnp.zeros(()), "noise": jnp.log(noise)}
    def kernel(self, p, a, b):
        d = (a[:, None] - b[None]) / jnp.exp(p["ls"])
        return jnp.exp(2 * p["amp"] - 0.5 * d ** 2)
    def nll(self, p, x, y):
        K = self.kernel(p, x, x) + jnp.exp(2 * p["noise"]) * jnp.eye(len(x)) + 1e-6 * jnp.eye(len(x))
        L = jnp.linalg.cholesky(K)
        a = jax.scipy.linalg.cho_solve((L, True), y)
        return 0.5 * y @ a + jnp.sum(jnp.log(jnp.diag(L))) + 0.5 * len(x) * jnp.log(2 * jnp.pi)
    def fit(self, x, y, lr, iters, verbose=2):
        self.x, self.y = x, y
        m = jax.tree.map(jnp.zeros_like, self.params)
        vg = jax.jit(jax.value_and_grad(self.nll))
        self.trace_ = []
        for i in range(iters):
            loss, g = vg(self.params, x, y)
            m = jax.tree.map(lambda a, b: 0.9 * a + b, m, g)
            self.params = jax.tree.map(lambda p, v: p - lr * v, self.params, m)
            self.trace_.append(loss)
            if verbose and i % verbose == 0:
                print(f"iter {i}: nll={loss:.3f} ls={jnp.exp(self.params['ls']):.3f}")
        return self
    def predict(self, xs, return_std=False):
        K = self.kernel(self.params, self.x, self.x) + (jnp.exp(2 * self.params["noise"]) + 1e-6) * jnp.eye(len(self.x))
        Ks = self.kernel(self.params, xs, self.x)
        mu = Ks @ jnp.linalg.solve(K, self.y)
        if not return_std: return mu
        cov = self.kernel(self.params, xs, xs) - Ks @ jnp.linalg.solve(K, Ks.T)
        return mu, jnp.sqrt(jnp.clip(jnp.diag(cov), 0))
x = jnp.linspace(0, 5, 8); y = jnp.sin(x); lr, iters = 1e-2, 4
---
gp = GP().fit(x, y, lr, iters)
xs = jnp.linspace(0, 6, 5)
mu, sd = gp.predict(xs, return_std=True)
i = int(jnp.argmax(mu + 2 * sd))
x_next = xs[i]
if sd[i] > 0.1:
    x, y = jnp.append(x, x_next), jnp.append(y, jnp.sin(x_next))
print(f"next {x_next:.2f}, {len(x)} points, r={jnp.corrcoef(jnp.sin(xs), mu)[0, 1]:.2f}")
---
lr = 5e-2
---
x, y = x[:6], jnp.cos(x[:6]); iters = 2

### kdp-openes-ask-tell-class-with-eslog-dict
class OpenES:
    def __init__(self, dims, popsize, sigma, lr, seed=0):
        self.mean, self.popsize, self.sigma = jnp.zeros(dims), popsize, sigma
        self.opt = optax.adam(lr); self.opt_state = self.opt.init(self.mean)
        self.key, self.gen = jr.PRNGKey(seed), 0
    def ask(self):
        self.key, sub = jr.split(self.key)
        z = jr.normal(sub, (self.popsize // 2, len(self.mean)))
        self.z = jnp.concatenate([z, -z])
        return self.mean + self.sigma * self.z
    def tell(self, fitness):
        ranks = jnp.argsort(jnp.argsort(fitness)) / (len(fitness) - 1) - 0.5
        grad = ranks @ self.z / (self.popsize * self.sigma)
        updates, self.opt_state = self.opt.update(grad, self.opt_state)
        self.mean = optax.apply_updates(self.mean, updates)
        self.sigma = max(self.sigma * 0.99, 0.01)
        self.gen += 1
def rastrigin(x): return 10 * x.shape[-1] + jnp.sum(x ** 2 - 10 * jnp.cos(2 * jnp.pi * x), -1)
es, num_generations = OpenES(3, 8, 0.3, 0.1), 4
log = {"best": [], "mean": [], "std": []}
---
best_f, best_x = jnp.inf, None
for t in range(num_generations):
    pop = es.ask()
    fit = jax.vmap(rastrigin)(pop + offset if (offset := globals().get("shift")) is not None else pop)
    es.tell(fit)
    i = fit.argmin()
    if fit[i] < best_f:
        best_f, best_x = fit[i], pop[i]
    log["best"].append(float(best_f)); log["mean"].append(float(fit.mean())); log["std"].append(float(fit.std()))
    if es.gen % 2 == 0:
        print(f"GENERATION: {es.gen} | BEST: {log['best'][-1]:.3f} | MEAN: {log['mean'][-1]:.3f} | sigma {es.sigma:.3f}")
np.array(log["best"]).shape
---
es.popsize = 6
---
shift = 1.0; es = OpenES(2, 4, 1.0, 0.5)

### kdp-cma-es-like-full-covariance-eigh-loop
f = lambda x: jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
dim, lam, sigma0, max_gen, seed = 2, 6, 0.5, 4, 0
---
mu = lam // 2
weights = jnp.log(mu + 0.5) - jnp.log(jnp.arange(1, mu + 1))
weights /= weights.sum()
mueff = 1 / jnp.sum(weights ** 2)
cs, cc, c1, cmu = (mueff + 2) / (dim + mueff + 5), 4 / (dim + 4), 2 / ((dim + 1.3) ** 2 + mueff), 0.3
mean, sigma, C, ps, pc = jnp.zeros(dim), sigma0, jnp.eye(dim), jnp.zeros(dim), jnp.zeros(dim)
key, hist = jr.key(seed), []
chiN = dim ** 0.5 * (1 - 1 / (4 * dim) + 1 / (21 * dim ** 2))
for g in range(max_gen):
    key, sub = jr.split(key)
    D2, B = jnp.linalg.eigh(C)
    A = B * jnp.sqrt(jnp.maximum(D2, 1e-12))
    y = jr.normal(sub, (lam, dim)) @ A.T
    x = mean + sigma * y
    fit = jax.vmap(f)(x)
    order = jnp.argsort(fit)[:mu]
    yw = weights @ y[order]
    mean = mean + sigma * yw
    ps = (1 - cs) * ps + jnp.sqrt(cs * (2 - cs) * mueff) * (B @ ((B.T @ yw) / jnp.sqrt(D2)))
    hsig = jnp.linalg.norm(ps) / jnp.sqrt(1 - (1 - cs) ** (2 * (g + 1))) < (1.4 + 2 / (dim + 1)) * chiN
    pc = (1 - cc) * pc + hsig * jnp.sqrt(cc * (2 - cc) * mueff) * yw
    C = (1 - c1 - cmu) * C + c1 * jnp.outer(pc, pc) + cmu * (y[order].T * weights) @ y[order]
    sigma *= jnp.exp((jnp.linalg.norm(ps) / chiN - 1) * cs)
    hist.append(fit.min())
    if sigma > 1e3:
        break
    if g % 2 == 0:
        print(f"gen {g}: best {fit.min():.3f} sigma {sigma:.3f}")
best = min(hist)
---
lam = 8
---
dim = 3; seed = 1; sigma0 = jnp.float32(0.2)

### kdp-thompson-and-ucb-bandits-compare-algorithms
class Bandit:
    def __init__(self, probs, seed): self.probs, self.rng = np.array(probs), np.random.default_rng(seed)
    def pull(self, a): return float(self.rng.random() < self.probs[a])
class Thompson:
    def __init__(self, k, key): self.a, self.b, self.key = jnp.ones(k), jnp.ones(k), key
    def select_arm(self):
        self.key, sub = jr.split(self.key)
        return int(jnp.argmax(jr.beta(sub, self.a, self.b)))
    def update(self, arm, r):
        self.a = self.a.at[arm].add(r); self.b = self.b.at[arm].add(1 - r)
class UCB:
    def __init__(self, k, c=2.0): self.n, self.q, self.c, self.t = jnp.zeros(k), jnp.zeros(k), c, 0
    def select_arm(self):
        self.t += 1
        if (self.n == 0).any():
            return int(self.n.argmin())
        return int(jnp.argmax(self.q + self.c * jnp.sqrt(jnp.log(self.t) / self.n)))
    def update(self, arm, r):
        self.n = self.n.at[arm].add(1)
        self.q = self.q.at[arm].add((r - self.q[arm]) / self.n[arm])
probs, horizon = [0.1, 0.5, 0.8], 6
---
algos = {"ts": Thompson(len(probs), jr.PRNGKey(0)), "ucb": UCB(len(probs))}
regret = {}
for name, algo in algos.items():
    env, total, curve = Bandit(probs, 1), 0.0, []
    for t in range(horizon):
        arm = algo.select_arm()
        reward = env.pull(arm)
        algo.update(arm, reward)
        total += max(probs) - probs[arm]
        curve.append(total)
    regret[name] = jnp.array(curve)
    print(f"{name}: regret {total:.2f}")
posterior = algos["ts"].a / (algos["ts"].a + algos["ts"].b)
print(jnp.round(algos["ucb"].q, 2))
---
horizon = 4
---
probs = [0.3, 0.9]

### kdp-gnn-message-passing-cora-toy-with-masks
def gcn_layer(p, x, send, recv, n):
    deg = jax.ops.segment_sum(jnp.ones_like(recv, jnp.float32), recv, n) + 1
    h = x @ p["w"]
    agg = jax.ops.segment_sum(h[send] / jnp.sqrt(deg[send] * deg[recv])[:, None], recv, n)
    return agg + h / deg[:, None] + p["b"]
class GCN:
    def __init__(self, sizes, key, dropout=0.5):
        self.params = [{"w": jr.normal(k, (i, o)) / np.sqrt(i), "b": jnp.zeros(o)} for k, i, o in zip(jr.split(key, len(sizes)), sizes, sizes[1:])]
        self.dropout, self.training = dropout, True
    def train(self): self.training = True
    def eval(self): self.training = False
    def __call__(self, params, g, key=None):
        x = g["x"]
        for i, p in enumerate(params):
            if self.training and key is not None:
                key, sub = jr.split(key)
                x = jnp.where(jr.bernoulli(sub, 1 - self.dropout, x.shape), x / (1 - self.dropout), 0)
            x = gcn_layer(p, x, g["senders"], g["receivers"], g["n"])
            if i < len(params) - 1: x = jax.nn.relu(x)
        return jax.nn.log_softmax(x)
rs = np.random.RandomState(0)
graph = dict(x=rs.randn(8, 4).astype("f4"), senders=rs.randint(0, 8, 14), receivers=rs.randint(0, 8, 14), n=8, y=rs.randint(0, 2, 8))
train_mask, val_mask = np.arange(8) < 4, np.arange(8) >= 4
model = GCN([4, 6, 2], jr.PRNGKey(0)); tx = optax.adam(1e-2); opt_state = tx.init(model.params)
epochs, log_every = 4, 2
del rs
---
def train(epoch):
    global opt_state
    model.train()
    def loss_fn(params):
        lp = model(params, graph, jr.PRNGKey(epoch))
        nll = -lp[jnp.arange(graph["n"]), graph["y"]]
        return jnp.sum(nll * train_mask) / train_mask.sum()
    loss, grads = jax.value_and_grad(loss_fn)(model.params)
    updates, opt_state = tx.update(grads, opt_state, model.params)
    model.params = optax.apply_updates(model.params, updates)
    return loss
def test():
    model.eval()
    pred = model(model.params, graph).argmax(1)
    return [float((pred[m] == graph["y"][m]).mean()) for m in (train_mask, val_mask)]
best_val = 0
for epoch in range(1, epochs + 1):
    loss = train(epoch)
    train_acc, val_acc = test()
    if val_acc > best_val:
        best_val, best_epoch = val_acc, epoch
    if epoch % log_every == 0:
        print(f"Epoch: {epoch:03d}, Loss: {loss:.4f}, Train: {train_acc:.2f}, Val: {val_acc:.2f}")
---
model.dropout = 0.1
---
graph["senders"] = graph["senders"][:10]; graph["receivers"] = graph["receivers"][:10]; epochs = 3

### kdp-matrix-factorisation-recommender-sgd-epochs-rmse
rng = np.random.default_rng(0)
n_users, n_items, k = 5, 6, 2
ratings = np.array([(u, i, rng.integers(1, 6)) for u in range(n_users) for i in rng.choice(n_items, 3, replace=False)])
class MF:
    def __init__(self, k, lr, reg, key):
        ku, ki = jr.split(key)
        self.P, self.Q = jr.normal(ku, (n_users, k)) * 0.1, jr.normal(ki, (n_items, k)) * 0.1
        self.bu, self.bi, self.lr, self.reg = jnp.zeros(n_users), jnp.zeros(n_items), lr, reg
        self.rmse_ = []
    def predict(self, u, i): return self.mu + self.bu[u] + self.bi[i] + jnp.sum(self.P[u] * self.Q[i], -1)
    def fit(self, ratings, n_epochs, batch=5):
        self.mu = ratings[:, 2].mean()
        order = np.random.default_rng(1)
        for epoch in range(n_epochs):
            idx = order.permutation(len(ratings))
            for s in range(0, len(idx), batch):
                u, i, r = ratings[idx[s:s + batch]].T
                e = r - self.predict(u, i)
                pu, qi = self.P[u], self.Q[i]
                self.bu = self.bu.at[u].add(self.lr * (e - self.reg * self.bu[u]))
                self.bi = self.bi.at[i].add(self.lr * (e - self.reg * self.bi[i]))
                self.P = self.P.at[u].add(self.lr * (e[:, None] * qi - self.reg * pu))
                self.Q = self.Q.at[i].add(self.lr * (e[:, None] * pu - self.reg * qi))
            rmse = jnp.sqrt(jnp.mean((ratings[:, 2] - self.predict(ratings[:, 0], ratings[:, 1])) ** 2))
            self.rmse_.append(rmse)
            print(f"epoch {epoch+1}: rmse={rmse:.4f}")
        return self
n_epochs, lr = 2, 0.05
---
mf = MF(k, lr, 0.02, jr.PRNGKey(0)).fit(ratings, n_epochs)
scores = mf.mu + mf.bu[:, None] + mf.bi + mf.P @ mf.Q.T
seen = np.zeros((n_users, n_items), bool); seen[ratings[:, 0], ratings[:, 1]] = True
top = jnp.argsort(-jnp.where(seen, -jnp.inf, scores), axis=1)[:, :2]
recs = {f"user{u}": [f"item{i}" for i in row] for u, row in enumerate(np.asarray(top))}
print(recs["user0"], float(mf.rmse_[-1]) < float(mf.rmse_[0]))
---
lr = 0.2
---
k = 3; n_epochs = 1; ratings = ratings[:12]

### kdp-tokenizer-bpe-train-then-embed
text = "low lower lowest newer newest wide wider"
def get_stats(ids):
    counts = {}
    for p in zip(ids, ids[1:]): counts[p] = counts.get(p, 0) + 1
    return counts
def merge(ids, pair, idx):
    out, i = [], 0
    while i < len(ids):
        if i < len(ids) - 1 and (ids[i], ids[i + 1]) == pair: out.append(idx); i += 2
        else: out.append(ids[i]); i += 1
    return out
num_merges, dim = 5, 4
table = jr.normal(jr.PRNGKey(0), (256 + 16, dim))
---
ids = list(text.encode("utf-8"))
n0 = len(ids)
merges = {}
for i in range(num_merges):
    stats = get_stats(ids)
    pair = max(stats, key=stats.get)
    idx = 256 + i
    ids = merge(ids, pair, idx)
    merges[pair] = idx
    if stats[pair] < 2: break
    print(f"merge {pair} -> {idx} ({stats[pair]})")
vocab = {i: bytes([i]) for i in range(256)}
for (a, b), idx in merges.items():
    vocab[idx] = vocab[a] + vocab[b]
tokens = jnp.array(ids)
emb = table[tokens]
pe = jnp.sin(jnp.arange(len(ids))[:, None] / 10 ** jnp.arange(dim))
sim = (emb + pe) @ (emb + pe).T / math.sqrt(dim)
att = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones_like(sim)) > 0, sim, -1e9), -1)
mean = (att @ emb).mean(0)
print(f"compression {n0 / len(ids):.2f}X", b"".join(vocab[i] for i in ids[:3]))
---
num_merges = 3
---
text = text + " slow slower"; dim = 2; table = table[:, :2]

### kdp-trainer-with-hooks-scheduler-and-grad-accumulation
class Trainer:
    def __init__(self, loss_fn, params, lr=0.1, accum=2, log_every=2, max_norm=1.0):
        self.loss_fn, self.params, self.lr, self.accum, self.log_every, self.max_norm = loss_fn, params, lr, accum, log_every, max_norm
        self.velocity = jax.tree.map(jnp.zeros_like, params)
        self.grads, self.step, self.logs, self.hooks = None, 0, [], []
    def lr_at(self, step): return self.lr * min(1.0, (step + 1) / 3) * 0.9 ** (step // 3)
    def clip(self, g):
        norm = jnp.sqrt(sum(jnp.sum(x ** 2) for x in jax.tree.leaves(g)))
        return jax.tree.map(lambda x: x * jnp.minimum(1.0, self.max_norm / (norm + 1e-6)), g), norm
    def train_step(self, batch):
        loss, g = jax.value_and_grad(self.loss_fn)(self.params, batch)
        self.grads = g if self.grads is None else jax.tree.map(jnp.add, self.grads, g)
        self.step += 1
        if self.step % self.accum == 0:
            g, self.grad_norm = self.clip(jax.tree.map(lambda x: x / self.accum, self.grads))
            lr = self.lr_at(self.step)
            self.velocity = jax.tree.map(lambda v, x: 0.9 * v + x, self.velocity, g)
            self.params = jax.tree.map(lambda p, v: p - lr * v, self.params, self.velocity)
            self.grads = None
        if self.step % self.log_every == 0:
            self.logs.append({"step": self.step, "loss": float(loss), "lr": self.lr_at(self.step)})
            print(f"step {self.step}: loss {loss:.4f}, lr {self.logs[-1]['lr']:.3f}")
        for hook in self.hooks: hook(self)
        return loss
    def fit(self, batches):
        return [self.train_step(b) for b in batches]
def loss_fn(p, batch):
    x, y = batch
    return jnp.mean((jnp.tanh(x @ p["w"]) @ p["v"] - y) ** 2)
rng = np.random.default_rng(0)
batches = [(rng.normal(size=(4, 3)).astype("f4"), rng.normal(size=4).astype("f4")) for _ in range(4)]
trainer = Trainer(loss_fn, {"w": jr.normal(jr.PRNGKey(0), (3, 4)), "v": jnp.ones(4)})
norms = []
trainer.hooks.append(lambda t: norms.append(jnp.linalg.norm(t.params["w"])))
---
losses = trainer.fit(batches)
avg = sum(losses) / len(losses)
print(f"avg {avg:.4f}", trainer.step, len(norms))
---
trainer.lr = 0.01; trainer.log_every = 3
---
trainer.accum = 1; batches = batches[:3]

### kdp-trainer-evaluate-early-stopping-checkpoint-pickle
class EarlyStopping:
    def __init__(self, patience=2, min_delta=1e-3):
        self.patience, self.min_delta = patience, min_delta
        self.best_loss, self.counter, self.should_stop, self.best_params = float("inf"), 0, False, None
    def __call__(self, current_loss, params):
        if current_loss < self.best_loss - self.min_delta:
            self.best_loss, self.counter = current_loss, 0
            self.best_params = jax.tree.map(lambda x: x.copy(), params)
        else:
            self.counter += 1
            if self.counter >= self.patience:
                self.should_stop = True
def predict(p, x): return jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"]
def mse(p, x, y): return jnp.mean((predict(p, x)[:, 0] - y) ** 2)
rs = np.random.RandomState(1)
X, y = rs.randn(16, 3).astype("f4"), rs.randn(16).astype("f4")
lr, epochs, patience, path = 0.05, 5, 2, "best.pkl"
del rs
---
params = {"w1": jr.normal(jr.PRNGKey(0), (3, 5)), "b1": jnp.zeros(5), "w2": jr.normal(jr.PRNGKey(1), (5, 1))}
stopper = EarlyStopping(patience)
Xt, Xv, yt, yv = X[:12], X[12:], y[:12], y[12:]
history = {"train": [], "val": []}
for epoch in range(epochs):
    perm = np.random.RandomState(epoch).permutation(len(Xt))
    for i in range(0, len(perm), 4):
        b = perm[i:i + 4]
        loss, grads = jax.value_and_grad(mse)(params, Xt[b], yt[b])
        params = jax.tree.map(lambda p, g: p - lr * g, params, grads)
    val = mse(params, Xv, yv)
    history["train"].append(loss.item()); history["val"].append(val.item())
    stopper(val, params)
    print(f"epoch {epoch} train {loss:.4f} val {val:.4f} counter {stopper.counter}")
    if stopper.should_stop:
        print("early stop")
        break
with open(path, "wb") as f:
    pickle.dump(jax.device_get(stopper.best_params), f)
restored = pickle.load(open(path, "rb"))
test = mse(restored, X, y)
---
lr = 0.5
---
patience = 1; X = X * 2; epochs = 3

### kdp-tqdm-trange-set-postfix-loss-every-step
from tqdm import tqdm, trange
import sys
def init(key, sizes): return [dict(w=jr.normal(k, (i, o)) * jnp.sqrt(2 / i), b=jnp.zeros((o,))) for k, i, o in zip(jr.split(key, len(sizes) - 1), sizes, sizes[1:])]
def forward(params, x):
    *hidden, last = params
    for l in hidden: x = jax.nn.relu(x @ l["w"] + l["b"])
    return x @ last["w"] + last["b"]
@jax.jit
def update(params, x, y, lr):
    loss, g = jax.value_and_grad(lambda p: jnp.mean((forward(p, x) - y) ** 2))(params)
    return loss, jax.tree.map(lambda p, g: p - lr * g, params, g)
np.random.seed(0)
xs = np.random.normal(size=(16, 1)); ys = xs ** 2
epochs, lr, sizes, quiet = 4, 1e-2, [1, 8, 1], True
---
params = init(jr.PRNGKey(0), sizes)
running = []
with trange(epochs, disable=quiet, desc="Training") as pbar:
    for epoch in pbar:
        loss, params = update(params, xs, ys, lr)
        running.append(loss)
        pbar.set_postfix({"loss": f"{loss:.4f}", "ema": f"{np.mean(running):.4f}"})
        if epoch % 2 == 0:
            tqdm.write(f"epoch {epoch}: {loss:.4f}", file=sys.stdout)
del pbar
y_pred = forward(params, xs)
r2 = 1 - jnp.sum((ys - y_pred) ** 2) / jnp.sum((ys - ys.mean()) ** 2)
---
lr = 0.1
---
sizes = [1, 4, 4, 1]; epochs = 3

### kdp-mnist-from-scratch-jax-tutorial-epoch-time-accuracy
def random_layer_params(m, n, key, scale=1e-1):
    w_key, b_key = jr.split(key)
    return scale * jr.normal(w_key, (n, m)), scale * jr.normal(b_key, (n,))
def init_network_params(sizes, key):
    keys = jr.split(key, len(sizes))
    return [random_layer_params(m, n, k) for m, n, k in zip(sizes[:-1], sizes[1:], keys)]
def predict(params, image):
    activations = image
    for w, b in params[:-1]:
        activations = jnp.maximum(0, jnp.dot(w, activations) + b)
    final_w, final_b = params[-1]
    logits = jnp.dot(final_w, activations) + final_b
    return logits - jax.scipy.special.logsumexp(logits)
batched_predict = jax.vmap(predict, in_axes=(None, 0))
def one_hot(x, k, dtype=jnp.float32): return jnp.array(x[:, None] == jnp.arange(k), dtype)
def accuracy(params, images, targets):
    return jnp.mean(jnp.argmax(batched_predict(params, images), axis=1) == jnp.argmax(targets, axis=1))
layer_sizes, step_size, num_epochs, n_targets = [9, 6, 3], 0.1, 2, 3
gen = np.random.default_rng(0)
train_images, train_labels = gen.random((12, 3, 3)).astype("f4"), gen.integers(0, 3, 12)
def get_train_batches(bs=4):
    for i in range(0, 12, bs):
        yield train_images[i:i + bs], train_labels[i:i + bs]
---
def loss(params, images, targets):
    return -jnp.mean(batched_predict(params, images) * targets)
@jax.jit
def update(params, x, y):
    grads = jax.grad(loss)(params, x, y)
    return [(w - step_size * dw, b - step_size * db) for (w, b), (dw, db) in zip(params, grads)]
params = init_network_params(layer_sizes, jr.key(0))
for epoch in range(num_epochs):
    start_time = time.time()
    for x, y in get_train_batches():
        x = jnp.reshape(x, (len(x), 9))
        y = one_hot(y, n_targets)
        params = update(params, x, y)
    epoch_time = time.time() - start_time
    train_acc = accuracy(params, train_images.reshape(12, 9), one_hot(train_labels, n_targets))
    print("Epoch {} in {}".format(epoch, "ok" if epoch_time < 1e3 else "slow"))
    print("Training set accuracy {:.3f}".format(train_acc))
del start_time, epoch_time
---
step_size = 0.5
---
layer_sizes = [9, 3]; num_epochs = 1

### kdp-ppo-update-epochs-minibatches-target-kl
def policy(p, o): return jnp.tanh(o @ p["w"]) @ p["pi"], (jnp.tanh(o @ p["w"]) @ p["v"])[:, 0]
class RolloutBuffer:
    def __init__(self): self.clear()
    def clear(self): self.obs, self.act, self.rew, self.logp, self.val, self.done = [], [], [], [], [], []
    def add(self, **kw):
        for k, v in kw.items(): getattr(self, k).append(v)
    def gae(self, last, gamma, lam):
        adv, g = [], 0.0
        vals = self.val + [last]
        for t in reversed(range(len(self.rew))):
            delta = self.rew[t] + gamma * vals[t + 1] * (1 - self.done[t]) - vals[t]
            g = delta + gamma * lam * (1 - self.done[t]) * g
            adv.insert(0, g)
        return jnp.array(adv)
ks = jr.split(jr.PRNGKey(0), 3)
params = {"w": jr.normal(ks[0], (3, 6)) * 0.5, "pi": jr.normal(ks[1], (6, 2)) * 0.1, "v": jr.normal(ks[2], (6, 1)) * 0.1}
opt = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-3)); opt_state = opt.init(params)
buffer, rng, T, clip, target_kl, n_epochs = RolloutBuffer(), jr.PRNGKey(1), 8, 0.2, 0.05, 2
state = np.zeros(3, np.float32)
---
buffer.clear()
for t in range(T):
    rng, sub = jr.split(rng)
    logits, v = policy(params, state[None])
    a = jr.categorical(sub, logits[0])
    reward = float(a == t % 2)
    buffer.add(obs=state, act=int(a), rew=reward, logp=jax.nn.log_softmax(logits[0])[a], val=v[0], done=float(t == T - 1))
    state = np.roll(state, 1); state[0] = reward
adv = buffer.gae(0.0, 0.99, 0.95)
ret = adv + jnp.array(buffer.val)
adv = (adv - adv.mean()) / (adv.std() + 1e-8)
obs, act, logp_old = jnp.array(np.stack(buffer.obs)), jnp.array(buffer.act), jnp.stack(buffer.logp)
stats = defaultdict(list)
for epoch in range(n_epochs):
    rng, sub = jr.split(rng)
    for idx in jr.permutation(sub, T).reshape(2, -1):
        def loss_fn(p):
            logits, v = policy(p, obs[idx])
            lp = jnp.take_along_axis(jax.nn.log_softmax(logits), act[idx][:, None], 1)[:, 0]
            ratio = jnp.exp(lp - logp_old[idx])
            pg = -jnp.minimum(ratio * adv[idx], jnp.clip(ratio, 1 - clip, 1 + clip) * adv[idx]).mean()
            return pg + 0.5 * jnp.mean((v - ret[idx]) ** 2), (logp_old[idx] - lp).mean()
        (loss, kl), g = jax.value_and_grad(loss_fn, has_aux=True)(params)
        up, opt_state = opt.update(g, opt_state, params)
        params = optax.apply_updates(params, up)
        stats["loss"].append(loss); stats["kl"].append(kl)
    if kl > target_kl:
        print("early stopping at epoch", epoch)
        break
print({k: f"{float(jnp.mean(jnp.array(v))):.4f}" for k, v in stats.items()}, f"reward {sum(buffer.rew):.0f}")
---
target_kl = -1.0
---
clip = 0.1; T = 6; n_epochs = 1

### kdp-sac-like-two-critics-polyak-agent-update-info
def net(p, x): return jnp.tanh(x @ p[0]) @ p[1]
class SAC:
    def __init__(self, key, lr=3e-3, tau=0.05, period=2):
        k = jr.split(key, 7)
        mk = lambda a, b, o: [jr.normal(a, (b, 6)) * 0.4, jr.normal(jr.fold_in(a, 1), (6, o)) * 0.4]
        self.actor, self.critic = mk(k[0], 3, 2), (mk(k[1], 4, 1), mk(k[2], 4, 1))
        self.target, self.log_alpha = self.critic, jnp.zeros(())
        self.tx = optax.adam(lr)
        self.opt = {n: self.tx.init(getattr(self, n)) for n in ("actor", "critic", "log_alpha")}
        self.rng, self.step, self.tau, self.period = k[6], 0, tau, period
    def pi(self, actor, obs, key):
        mu, ls = jnp.split(net(actor, obs), 2, -1)
        std = jnp.exp(jnp.clip(ls, -5, 1)); u = mu + std * jr.normal(key, mu.shape)
        lp = jax.scipy.stats.norm.logpdf(u, mu, std) - jnp.log(1 - jnp.tanh(u) ** 2 + 1e-6)
        return jnp.tanh(u), lp.sum(-1)
    def q(self, c, obs, a):
        x = jnp.concatenate([obs, a], -1)
        return jnp.stack([net(p, x)[:, 0] for p in c])
    def apply(self, name, grads):
        up, self.opt[name] = self.tx.update(grads, self.opt[name])
        setattr(self, name, optax.apply_updates(getattr(self, name), up))
    def update(self, batch):
        self.step += 1
        self.rng, k1, k2 = jr.split(self.rng, 3)
        alpha = jnp.exp(self.log_alpha)
        na, nlp = self.pi(self.actor, batch["next_obs"], k1)
        y = batch["rew"] + 0.99 * (self.q(self.target, batch["next_obs"], na).min(0) - alpha * nlp)
        lc, gc = jax.value_and_grad(lambda c: jnp.mean((self.q(c, batch["obs"], batch["act"]) - y) ** 2))(self.critic)
        self.apply("critic", gc)
        def actor_loss(actor):
            a, lp = self.pi(actor, batch["obs"], k2)
            return jnp.mean(alpha * lp - self.q(self.critic, batch["obs"], a).min(0)), lp.mean()
        (la, lp), ga = jax.value_and_grad(actor_loss, has_aux=True)(self.actor)
        self.apply("actor", ga)
        self.apply("log_alpha", jax.grad(lambda l: -l * (lp - 1.0))(self.log_alpha))
        if self.step % self.period == 0:
            self.target = jax.tree.map(lambda t, p: (1 - self.tau) * t + self.tau * p, self.target, self.critic)
        return {"critic_loss": lc, "actor_loss": la, "alpha": alpha, "entropy": -lp}
r = np.random.default_rng(0)
store = {k: r.normal(size=s).astype("f4") for k, s in dict(obs=(20, 3), act=(20, 1), rew=(20,), next_obs=(20, 3)).items()}
agent, updates, log_interval = SAC(jr.PRNGKey(0)), 3, 2
---
infos = []
for i in range(updates):
    idx = r.integers(0, 20, 5)
    info = agent.update({k: v[idx] for k, v in store.items()})
    infos.append(info)
    if agent.step % log_interval == 0:
        print(agent.step, {k: round(v.item(), 3) for k, v in info.items()})
means = {k: jnp.stack([i[k] for i in infos]).mean() for k in infos[0]}
---
agent.tau = 1.0; updates = 2
---
store["rew"] = store["rew"] * 10; log_interval = 3

### kdp-tabular-q-learning-frozenlake-numpy-epsilon-decay-jnp-table
class GridWorld:
    def __init__(self, n, holes): self.n, self.holes, self.goal = n, holes, n * n - 1
    def reset(self): self.s = 0; return self.s
    def step(self, a):
        r, c = divmod(self.s, self.n)
        r, c = [(max(r - 1, 0), c), (r, min(c + 1, self.n - 1)), (min(r + 1, self.n - 1), c), (r, max(c - 1, 0))][a]
        self.s = r * self.n + c
        return self.s, float(self.s == self.goal), self.s == self.goal or self.s in self.holes, {}
env, rng = GridWorld(3, {4}), np.random.default_rng(0)
alpha, gamma, eps, decay, episodes, max_steps = 0.5, 0.9, 1.0, 0.9, 3, 5
---
Q = jnp.zeros((env.n * env.n, 4))
rewards = []
for ep in range(episodes):
    s, total = env.reset(), 0.0
    for t in range(max_steps):
        if rng.uniform() < eps:
            a = int(rng.integers(4))
        else:
            a = int(jnp.argmax(Q[s]))
        s2, r, done, _ = env.step(a)
        td = r + gamma * jnp.max(Q[s2]) * (not done) - Q[s, a]
        Q = Q.at[s, a].add(alpha * td)
        total += r
        s = s2
        if done:
            break
    eps = max(0.05, eps * decay)
    rewards.append(total)
    print(f"Episode {ep}: steps={t + 1} eps={eps:.2f} |Q|={jnp.abs(Q).sum():.3f}")
policy = jnp.argmax(Q, 1).reshape(env.n, env.n)
arrows = "\n".join("".join("^>v<"[int(a)] for a in row) for row in policy)
print(arrows)
---
alpha = 0.1
---
env = GridWorld(2, set()); eps = 0.2; episodes = 2

### kdp-value-iteration-while-true-delta-theta
nS, nA = 6, 2
r = np.random.default_rng(0)
Pm = jnp.asarray(r.dirichlet(np.ones(nS), size=(nS, nA)), jnp.float32)
R = jnp.asarray(r.normal(size=(nS, nA)), jnp.float32)
gamma, theta, max_iter = 0.6, 1e-2, 30
---
def one_step_lookahead(V):
    return R + gamma * jnp.einsum("sap,p->sa", Pm, V)
V = jnp.zeros(nS)
iters = 0
while True:
    Qsa = one_step_lookahead(V)
    V_new = Qsa.max(1)
    delta = jnp.max(jnp.abs(V_new - V))
    V = V_new
    iters += 1
    if delta < theta or iters >= max_iter:
        break
pi = jnp.argmax(one_step_lookahead(V), 1)
print(f"converged after {iters} sweeps, delta={delta:.4f}, policy={pi.tolist()}")
occ = jnp.full(nS, 1 / nS)
for _ in range(3):
    occ = occ @ Pm[jnp.arange(nS), pi]
ret = jnp.sum(occ * R[jnp.arange(nS), pi])
---
gamma = 0.3
---
R = R.at[2].add(5.0); theta = 0.1

### kdp-optimistix-levenberg-marquardt-fit-and-report needs=optimistix
import optimistix as optx
def model(p, t): return p["a"] * jnp.exp(-p["k"] * t) + p["c"]
t = jnp.linspace(0, 4, 9)
truth = {"a": 2.0, "k": 1.1, "c": 0.3}
data = model(truth, t) + 0.01 * jr.normal(jr.PRNGKey(0), t.shape)
rtol, guess = 1e-4, {"a": 1.0, "k": 0.5, "c": 0.0}
---
def residuals(p, args):
    t, y = args
    return model(p, t) - y
solver = optx.LevenbergMarquardt(rtol=rtol, atol=1e-6)
sol = optx.least_squares(residuals, solver, jax.tree.map(jnp.asarray, guess), args=(t, data), max_steps=50)
res = residuals(sol.value, (t, data))
J = jax.jacfwd(lambda v: model(dict(zip(sorted(guess), v)), t))(jnp.stack([sol.value[k] for k in sorted(guess)]))
cov = jnp.linalg.inv(J.T @ J) * jnp.sum(res ** 2) / (len(t) - 3)
se = dict(zip(sorted(guess), jnp.sqrt(jnp.diag(cov))))
for name in sorted(guess):
    print(f"{name} = {sol.value[name]:.3f} +/- {se[name]:.3f}")
print("ok" if sol.result == optx.RESULTS.successful else "failed")
---
guess = {"a": 3.0, "k": 2.0, "c": 1.0}
---
data = data.at[0].add(0.5); t = t * 1.1; rtol = 1e-3

### kdp-diffrax-neural-ode-tutorial-strategy-loop needs=diffrax,equinox tolerance=1e-4
import diffrax, equinox as eqx
class Func(eqx.Module):
    out_scale: jax.Array
    mlp: eqx.nn.MLP
    def __init__(self, d, width, *, key):
        self.out_scale = jnp.array(1.0)
        self.mlp = eqx.nn.MLP(d, d, width, 1, activation=jax.nn.softplus, final_activation=jnp.tanh, key=key)
    def __call__(self, t, y, args): return self.out_scale * self.mlp(y)
class NeuralODE(eqx.Module):
    func: Func
    def __init__(self, d, width, *, key): self.func = Func(d, width, key=key)
    def __call__(self, ts, y0):
        return diffrax.diffeqsolve(diffrax.ODETerm(self.func), diffrax.Heun(), t0=ts[0], t1=ts[-1], dt0=ts[1] - ts[0], y0=y0,
            saveat=diffrax.SaveAt(ts=ts), max_steps=8).ys
ts = jnp.linspace(0, 1, 5)
ys = jnp.stack([jnp.exp(-ts), jnp.exp(-2 * ts)], -1)[None] * jnp.array([1.0, 0.5, -1.0])[:, None, None]
lr_strategy, steps_strategy, length_strategy, print_every = (3e-3, 1e-2), (2, 2), (0.5, 1), 1
---
model = NeuralODE(2, 4, key=jr.PRNGKey(0))
@eqx.filter_value_and_grad
def grad_loss(model, ti, yi):
    return jnp.mean((yi - jax.vmap(model, in_axes=(None, 0))(ti, yi[:, 0])) ** 2)
@eqx.filter_jit
def make_step(ti, yi, model, opt_state):
    loss, grads = grad_loss(model, ti, yi)
    updates, opt_state = optim.update(grads, opt_state)
    return loss, eqx.apply_updates(model, updates), opt_state
for lr, steps, length in zip(lr_strategy, steps_strategy, length_strategy):
    optim = optax.adabelief(lr)
    opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
    _ts = ts[:int(len(ts) * length)]
    _ys = ys[:, :int(len(ts) * length)]
    for step in range(steps):
        loss, model, opt_state = make_step(_ts, _ys, model, opt_state)
        if step % print_every == 0 or step == steps - 1:
            print(f"Step: {step}, Loss: {loss:.4f}")
pred = model(ts, ys[0, 0])
---
lr_strategy = (1e-1, 1e-2)
---
steps_strategy = (1, 2); ys = ys[:2]

### kdp-jaxopt-like-lbfgs-class-with-line-search-state
@dataclass
class State:
    iter_num: int
    value: Any
    error: Any
    s: list = field(default_factory=list)
    y: list = field(default_factory=list)
class LBFGS:
    def __init__(self, fun, maxiter=5, tol=1e-3, history=3, verbose=True):
        self.fun, self.maxiter, self.tol, self.history, self.verbose = fun, maxiter, tol, history, verbose
        self.vg = jax.value_and_grad(fun)
    def direction(self, g, st):
        q, al = g, []
        for s, y in zip(reversed(st.s), reversed(st.y)):
            a = (s @ q) / (y @ s); al.append(a); q = q - a * y
        if st.s: q = q * (st.s[-1] @ st.y[-1]) / (st.y[-1] @ st.y[-1])
        for s, y, a in zip(st.s, st.y, reversed(al)):
            q = q + s * (a - (y @ q) / (y @ s))
        return -q
    def run(self, x, *args):
        v, g = self.vg(x, *args)
        st = State(0, v, jnp.linalg.norm(g))
        while st.error > self.tol and st.iter_num < self.maxiter:
            d = self.direction(g, st)
            step = 1.0
            for _ in range(8):
                if self.fun(x + step * d, *args) <= v + 1e-4 * step * g @ d: break
                step *= 0.5
            nx = x + step * d
            nv, ng = self.vg(nx, *args)
            if (nx - x) @ (ng - g) > 1e-8:
                st.s.append(nx - x); st.y.append(ng - g)
                st.s, st.y = st.s[-self.history:], st.y[-self.history:]
            x, v, g = nx, nv, ng
            st.iter_num += 1; st.value, st.error = v, jnp.linalg.norm(g)
            if self.verbose: print(f"it {st.iter_num}: f={v:.4f} |g|={st.error:.4f} step={step}")
        return x, st
rs = np.random.RandomState(0)
A, labels = jnp.asarray(rs.randn(10, 3), jnp.float32), jnp.asarray(rs.randint(0, 2, 10) * 2.0 - 1, jnp.float32)
def objective(w, reg, A, labels): return jnp.mean(jnp.log1p(jnp.exp(-labels * (A @ w)))) + 0.5 * reg * w @ w
reg, maxiter = 0.1, 3
del rs
---
solver = LBFGS(objective, maxiter=maxiter)
w, state = solver.run(jnp.zeros(3), reg, A, labels)
acc = jnp.mean(jnp.sign(A @ w) == labels)
print(f"{state.iter_num} iterations, acc {acc:.2f}", len(state.s))
---
reg = 1.0
---
A = A[:, :3] * jnp.array([1.0, 5.0, 0.2]); maxiter = 4

### kdp-kaggle-tabular-kfold-standardise-train-oof-predictions needs=pandas tolerance=1e-5
import pandas as pd
rng = np.random.default_rng(0)
df = pd.DataFrame({"age": rng.normal(40, 9, 18), "fare": rng.exponential(20, 18), "sex": rng.choice(["m", "f"], 18)})
df["target"] = ((df.age > 40) | (df.sex == "f")).astype(int)
CFG = dict(folds=3, epochs=3, lr=0.1, seed=42, verbose=2)
---
X = pd.get_dummies(df.drop(columns="target"), dtype=float)
y = df["target"].values.astype(np.float32)
idx = np.random.default_rng(CFG["seed"]).permutation(len(df))
oof = np.zeros(len(df))
models, scores = [], []
for fold, val in enumerate(np.array_split(idx, CFG["folds"])):
    trn = np.setdiff1d(idx, val)
    mu, sd = X.iloc[trn].mean(), X.iloc[trn].std() + 1e-6
    xt, xv = (jnp.asarray(((X.iloc[i] - mu) / sd).values, jnp.float32) for i in (trn, val))
    w, b = jnp.zeros(xt.shape[1]), 0.0
    def bce(w, b):
        z = xt @ w + b
        return jnp.mean(jnp.logaddexp(0, z) - y[trn] * z)
    for epoch in range(CFG["epochs"]):
        loss, (gw, gb) = jax.value_and_grad(bce, (0, 1))(w, b)
        w -= CFG["lr"] * gw; b -= CFG["lr"] * gb
        if epoch % CFG["verbose"] == 0:
            print(f"fold {fold} epoch {epoch} loss {loss:.4f}")
    oof[val] = jax.nn.sigmoid(xv @ w + b)
    score = float(((oof[val] > 0.5) == y[val]).mean())
    scores.append(score); models.append((w, b))
print(f"CV: {np.mean(scores):.3f}")
sub = pd.DataFrame({"id": np.arange(3), "pred": oof[:3].round(3)})
coef = pd.Series(np.mean([np.asarray(w) for w, _ in models], 0), index=X.columns)
---
CFG["lr"] = 0.5
---
df = df.assign(fare2=df.fare ** 0.5); CFG["folds"] = 2

### kdp-secure-aggregation-clients-server-rounds
class Client:
    def __init__(self, cid, data, epochs=2):
        self.id, self.data, self.epochs = cid, data, epochs
        self.opt = optax.sgd(0.1)
    def local_train(self, params):
        opt_state, it = self.opt.init(params), iter(self.data)
        for e in range(self.epochs):
            X, y = next(it)
            loss, g = jax.value_and_grad(loss_fn)(params, X, y)
            up, opt_state = self.opt.update(g, opt_state, params)
            params = optax.apply_updates(params, up)
        self.last_loss = loss
        return params
    def mask(self, flat, peers, rnd):
        for p in peers:
            if p == self.id: continue
            m = jr.normal(jr.fold_in(jr.PRNGKey(min(p, self.id) * 100 + max(p, self.id)), rnd), flat.shape)
            flat = flat + m if self.id < p else flat - m
        return flat
class Server:
    def __init__(self, params, clients): self.params, self.clients, self.round, self.logs = params, clients, 0, []
    def step(self, frac, rng):
        self.round += 1
        chosen = sorted(rng.choice(len(self.clients), max(2, int(frac * len(self.clients))), replace=False).tolist())
        flat0, unravel = jax.flatten_util.ravel_pytree(self.params)
        total = jnp.zeros_like(flat0)
        for c in chosen:
            delta = jax.flatten_util.ravel_pytree(self.clients[c].local_train(self.params))[0] - flat0
            total += self.clients[c].mask(delta, chosen, self.round)
        self.params = unravel(flat0 + total / len(chosen))
        self.logs.append({"round": self.round, "chosen": chosen, "loss": float(np.mean([self.clients[c].last_loss for c in chosen]))})
        return self.logs[-1]
import jax.flatten_util
def loss_fn(p, X, y): return jnp.mean((X @ p["w"] + p["b"] - y) ** 2)
g = np.random.default_rng(0)
mk = lambda: [(g.normal(size=(4, 2)).astype("f4"), g.normal(size=4).astype("f4")) for _ in range(2)]
server, rng, rounds, frac = Server({"w": jnp.ones(2), "b": jnp.zeros(())}, [Client(i, mk()) for i in range(4)]), np.random.default_rng(5), 2, 0.5
---
for _ in range(rounds):
    log = server.step(frac, rng)
    print(f"round {log['round']}: clients {log['chosen']} loss {log['loss']:.4f}")
global_loss = jnp.mean(jnp.array([loss_fn(server.params, *c.data[0]) for c in server.clients]))
---
frac = 0.75
---
for c in server.clients: c.opt = optax.adam(0.05)

### kdp-maml-sinusoid-inner-loop-outer-adam
def net(params, x):
    for w, b in params[:-1]: x = jnp.tanh(x @ w + b)
    return x @ params[-1][0] + params[-1][1]
def sample_task(rng, k):
    A, phi = rng.uniform(0.1, 5), rng.uniform(0, np.pi)
    x = rng.uniform(-5, 5, (2, k, 1)).astype(np.float32)
    return x, (A * np.sin(x + phi)).astype(np.float32)
class MAML:
    def __init__(self, key, inner_lr=0.01, outer_lr=1e-2, inner_steps=1):
        ks = jr.split(key, 2)
        self.params = [(jr.normal(ks[0], (1, 6)), jnp.zeros(6)), (jr.normal(ks[1], (6, 1)) * 0.3, jnp.zeros(1))]
        self.inner_lr, self.inner_steps, self.tx = inner_lr, inner_steps, optax.adam(outer_lr)
        self.opt_state, self.meta_losses = self.tx.init(self.params), []
    def mse(self, p, x, y): return jnp.mean((net(p, x) - y) ** 2)
    def adapt(self, p, x, y):
        for _ in range(self.inner_steps):
            p = jax.tree.map(lambda a, g: a - self.inner_lr * g, p, jax.grad(self.mse)(p, x, y))
        return p
    def outer(self, p, xs, ys):
        return jnp.mean(jax.vmap(lambda x, y: self.mse(self.adapt(p, x[0], y[0]), x[1], y[1]))(xs, ys))
    def fit(self, rng, iters, tasks, k):
        for i in range(iters):
            xs, ys = (np.stack(z) for z in zip(*[sample_task(rng, k) for _ in range(tasks)]))
            l, g = jax.value_and_grad(self.outer)(self.params, xs, ys)
            up, self.opt_state = self.tx.update(g, self.opt_state)
            self.params = optax.apply_updates(self.params, up)
            self.meta_losses.append(l)
            if i % 2 == 0: print(f"iter {i} meta loss {l:.3f}")
maml, rng, iters, tasks, k = MAML(jr.PRNGKey(0)), np.random.default_rng(0), 3, 3, 4
---
maml.fit(rng, iters, tasks, k)
x, y = sample_task(np.random.default_rng(9), k)
before = maml.mse(maml.params, x[1], y[1])
after = maml.mse(maml.adapt(maml.params, x[0], y[0]), x[1], y[1])
print(f"before {before:.3f} after {after:.3f} ({len(maml.meta_losses)} outer steps)")
---
maml.inner_lr = 0.1
---
maml.inner_steps = 2; tasks = 2; iters = 2

### kdp-seq2seq-lstm-addition-teacher-forcing-decode-strings
CHARS = "0123456789+= "
c2i = {c: i for i, c in enumerate(CHARS)}
enc = lambda s: jax.nn.one_hot(jnp.array([c2i[c] for c in s]), len(CHARS))
def lstm(p, carry, x):
    h, c = carry
    i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, -1)
    c = jax.nn.sigmoid(f + 1) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return (jax.nn.sigmoid(o) * jnp.tanh(c), c)
H = 6
def init(key):
    k = jr.split(key, 5); n = len(CHARS)
    cell = lambda a, b: {"wx": jr.normal(a, (n, 4 * H)) * 0.2, "wh": jr.normal(b, (H, 4 * H)) * 0.2, "b": jnp.zeros(4 * H)}
    return {"enc": cell(k[0], k[1]), "dec": cell(k[2], k[3]), "out": jr.normal(k[4], (H, n)) * 0.2}
def seq2seq(p, src, dst, teacher_force):
    carry = (jnp.zeros((src.shape[0], H)),) * 2
    for t in range(src.shape[1]): carry = lstm(p["enc"], carry, src[:, t])
    logits, x = [], dst[:, 0]
    for t in range(dst.shape[1] - 1):
        carry = lstm(p["dec"], carry, x)
        logits.append(carry[0] @ p["out"])
        x = dst[:, t + 1] if teacher_force else jax.nn.one_hot(logits[-1].argmax(-1), len(CHARS))
    return jnp.stack(logits, 1)
def get_batch(rng, n, m=9):
    a, b = rng.integers(0, m, (2, n))
    return jnp.stack([enc(f"{i}+{j}") for i, j in zip(a, b)]), jnp.stack([enc(f"={i+j:<2d} ") for i, j in zip(a, b)])
p, tx = init(jr.PRNGKey(0)), optax.adam(1e-2); opt_state = tx.init(p)
rng, num_steps, decode_every = np.random.default_rng(0), 3, 2
---
for step in range(num_steps):
    src, dst = get_batch(rng, 4)
    def loss_fn(p):
        logits = seq2seq(p, src, dst, True)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * dst[:, 1:], -1)), logits
    (loss, logits), g = jax.value_and_grad(loss_fn, has_aux=True)(p)
    up, opt_state = tx.update(g, opt_state)
    p = optax.apply_updates(p, up)
    if step % decode_every == 0:
        acc = jnp.mean(jnp.all(logits.argmax(-1) == dst[:, 1:].argmax(-1), -1))
        inferred = seq2seq(p, src[:1], dst[:1], False).argmax(-1)[0]
        text = "".join(CHARS[int(i)] for i in inferred)
        question = "".join(CHARS[i] for i in np.asarray(src[0].argmax(-1)))
        print(f"DECODE: {question} = {text!r} loss {loss:.4f} acc {acc:.2f}")
---
tx = optax.sgd(0.5); opt_state = tx.init(p)
---
decode_every = 3; num_steps = 2

### kdp-beam-search-python-heap-over-jax-logits
import heapq
vocab, T, beam_width, eos, alpha = 6, 4, 2, 0, 0.6
W = jr.normal(jr.PRNGKey(0), (vocab, 5)); U = jr.normal(jr.PRNGKey(1), (5, vocab))
def next_logprobs(tokens):
    h = jnp.zeros(5)
    for t in tokens:
        h = jnp.tanh(0.5 * h + W[t])
    return jax.nn.log_softmax(h @ U)
@dataclass(order=True)
class Beam:
    score: float
    tokens: tuple = field(compare=False)
    done: bool = field(default=False, compare=False)
---
beams = [Beam(0.0, (1,))]
finished = []
for t in range(T):
    candidates = []
    for b in beams:
        if b.done:
            candidates.append(b)
            continue
        lp = next_logprobs(b.tokens)
        top, ids = lax.top_k(lp, beam_width)
        for s, i in zip(top, ids):
            candidates.append(Beam(b.score + float(s), b.tokens + (int(i),), int(i) == eos))
    beams = heapq.nlargest(beam_width, candidates)
    finished += [b for b in beams if b.done]
    if all(b.done for b in beams):
        print("all done at", t)
        break
penal = lambda b: b.score / ((5 + len(b.tokens)) / 6) ** alpha
best = max(finished or beams, key=penal)
hidden = jnp.mean(W[jnp.array(best.tokens)], 0)
print(best.tokens, round(best.score, 3))
---
eos = 3
---
beam_width = 3; T = 3; W = W * 0.5

### kdp-word2vec-skipgram-negative-sampling-most-similar
corpus = "the cat sat on the mat the dog sat on the rug a cat and a dog".split()
vocab = sorted(set(corpus)); w2i = {w: i for i, w in enumerate(vocab)}
class SkipGram:
    def __init__(self, V, dim, lr, window=1, neg=2, seed=0):
        k1, self.key = jr.split(jr.PRNGKey(seed))
        self.win, self.wout, self.lr = jr.uniform(k1, (V, dim), minval=-0.5, maxval=0.5) / dim, jnp.zeros((V, dim)), lr
        self.window, self.neg, self.V, self.seen = window, neg, V, 0
        self.probs = None
    def pairs(self, tokens):
        for i, c in enumerate(tokens):
            for j in range(max(0, i - self.window), min(len(tokens), i + self.window + 1)):
                if j != i: yield w2i[c], w2i[tokens[j]]
    def loss(self, win, wout, c, o, n):
        v = win[c]
        pos = jax.nn.log_sigmoid(jnp.sum(v * wout[o], -1))
        neg = jax.nn.log_sigmoid(-jnp.einsum("bd,bnd->bn", v, wout[n])).sum(-1)
        return -jnp.mean(pos + neg)
    def train(self, tokens, epochs, bs=8):
        counts = np.bincount([w2i[t] for t in tokens], minlength=self.V) ** 0.75
        self.probs = jnp.asarray(counts / counts.sum())
        P = np.array(list(self.pairs(tokens)))
        for e in range(epochs):
            total = 0.0
            for s in range(0, len(P), bs):
                c, o = P[s:s + bs].T
                self.key, sub = jr.split(self.key)
                n = jr.choice(sub, self.V, (len(c), self.neg), p=self.probs)
                l, (gi, go) = jax.value_and_grad(self.loss, (0, 1))(self.win, self.wout, c, o, n)
                self.win -= self.lr * gi; self.wout -= self.lr * go
                self.seen += len(c); total += l.item() * len(c)
            print(f"epoch {e}: {total / len(P):.4f} ({self.seen} pairs)")
    def most_similar(self, w, k=2):
        e = self.win / jnp.linalg.norm(self.win, axis=1, keepdims=True)
        sims = e @ e[w2i[w]]
        order = jnp.argsort(-sims)[1:k + 1]
        return [(vocab[i], round(float(sims[i]), 3)) for i in order]
sg, epochs = SkipGram(len(vocab), 4, 0.5), 1
---
sg.train(corpus, epochs)
near = sg.most_similar("cat")
print([w for w, _ in near])
norms = jnp.linalg.norm(sg.win, axis=1)
---
sg.lr = 5.0; sg.neg = 3
---
sg = SkipGram(len(vocab), 3, 1.0, window=2); corpus = corpus[:9]

### kdp-style-transfer-like-gram-optimise-image-callback
rs = np.random.RandomState(0)
filters = [jnp.asarray(rs.randn(3, 3, 1, 2), jnp.float32) * 0.3, jnp.asarray(rs.randn(3, 3, 2, 2), jnp.float32) * 0.3]
def features(img):
    x, out = img[None], []
    for f in filters:
        x = jax.nn.relu(lax.conv_general_dilated(x, f, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        out.append(x[0])
    return out
def gram(f):
    h, w, c = f.shape
    m = f.reshape(-1, c)
    return m.T @ m / (h * w * c)
content_img, style_img = jnp.asarray(rs.rand(6, 6, 1), jnp.float32), jnp.asarray(rs.rand(6, 6, 1), jnp.float32)
style_weight, content_weight, num_steps, show_every = 1e3, 1.0, 4, 2
del rs
---
style_grams = [gram(f) for f in features(style_img)]
content_feat = features(content_img)[-1]
run = [0]
image = content_img.copy()
opt = optax.adam(optax.cosine_decay_schedule(0.05, num_steps))
opt_state = opt.init(image)
def closure(image):
    feats = features(image)
    style_score, content_score = 0, jnp.mean((feats[-1] - content_feat) ** 2)
    for f, g in zip(feats, style_grams):
        style_score += jnp.mean((gram(f) - g) ** 2)
    run[0] += 1
    return style_weight * style_score + content_weight * content_score, (style_score, content_score)
best = {"loss": jnp.inf, "img": None}
while run[0] < num_steps:
    (loss, (s, c)), g = jax.value_and_grad(closure, has_aux=True)(image)
    up, opt_state = opt.update(g, opt_state)
    image = jnp.clip(optax.apply_updates(image, up), 0, 1)
    if loss < best["loss"]:
        best.update(loss=loss, img=image)
    if run[0] % show_every == 0:
        print(f"run {run}: Style Loss : {style_weight * s:4f} Content Loss: {content_weight * c:4f}")
final = np.asarray(best["img"] * 255).astype(np.uint8)
---
style_weight = 10.0
---
num_steps = 3; content_img = style_img[::-1]

### kdp-ising-wolff-or-metropolis-sweeps-temperature-scan
class Ising:
    def __init__(self, L, T, key):
        k, self.key = jr.split(key)
        self.L, self.T = L, T
        self.spins = jnp.where(jr.bernoulli(k, 0.5, (L, L)), 1, -1)
        i = jnp.arange(L); self.masks = [(i[:, None] + i) % 2 == p for p in (0, 1)]
        self.sweeps = 0
    def sweep(self):
        for m in self.masks:
            self.key, sub = jr.split(self.key)
            nb = sum(jnp.roll(self.spins, s, a) for s in (1, -1) for a in (0, 1))
            dE = 2 * self.spins * nb
            flip = (jr.uniform(sub, self.spins.shape) < jnp.exp(-dE / self.T)) & m
            self.spins = jnp.where(flip, -self.spins, self.spins)
        self.sweeps += 1
    @property
    def energy(self): return -jnp.sum(self.spins * (jnp.roll(self.spins, 1, 0) + jnp.roll(self.spins, 1, 1))) / self.L ** 2
    @property
    def magnetization(self): return jnp.abs(self.spins.mean())
temps, L, n_eq, n_meas = [1.5, 2.3, 3.5], 4, 2, 2
---
results = []
for n, T in enumerate(temps):
    model = Ising(L, T, jr.fold_in(jr.PRNGKey(0), n))
    for _ in range(n_eq): model.sweep()
    Es, Ms = [], []
    for _ in range(n_meas):
        model.sweep()
        Es.append(model.energy); Ms.append(model.magnetization)
    E, M = jnp.stack(Es), jnp.stack(Ms)
    Cv = E.var() * L ** 2 / T ** 2
    results.append({"T": T, "E": float(E.mean()), "M": float(M.mean()), "Cv": Cv})
    print("T={T:.2f} E={E:.3f} M={M:.3f}".format(**results[-1]))
Tc = results[int(jnp.argmax(jnp.stack([r["Cv"] for r in results])))]["T"]
---
n_meas = 3
---
temps = [2.0, 3.0]; L = 6

### kdp-hp-protein-folding-anneal-moves-host-accept-device-energy
seq = jnp.array([1, 0, 1, 1, 0, 1])
dirs = np.array([[1, 0], [0, 1], [-1, 0], [0, -1]])
def coords(moves): return jnp.concatenate([jnp.zeros((1, 2), int), jnp.cumsum(jnp.asarray(dirs)[moves], 0)])
def energy(moves):
    c = coords(moves)
    d = jnp.abs(c[:, None] - c[None]).sum(-1)
    n = len(c)
    sep = jnp.abs(jnp.arange(n)[:, None] - jnp.arange(n)) > 1
    hh = seq[:, None] * seq[None]
    return -jnp.sum(jnp.triu((d == 1) & sep) * hh) + 10 * jnp.sum(jnp.triu(d == 0, 1))
class Annealer:
    def __init__(self, n, T0, cooling, seed=0):
        self.rng, self.T, self.cooling = np.random.default_rng(seed), T0, cooling
        self.moves = np.zeros(n - 1, int); self.E = energy(self.moves)
        self.best, self.best_E, self.history = self.moves.copy(), self.E, []
    def step(self):
        prop = self.moves.copy()
        prop[self.rng.integers(len(prop))] = self.rng.integers(4)
        E = energy(prop)
        if E <= self.E or self.rng.random() < np.exp(-float(E - self.E) / self.T):
            self.moves, self.E = prop, E
            if E < self.best_E:
                self.best, self.best_E = prop.copy(), E
        self.T *= self.cooling
        self.history.append(int(self.E))
    def run(self, n, report):
        for i in range(1, n + 1):
            self.step()
            if i % report == 0: print(f"{i}: T={self.T:.3f} E={self.E} best={self.best_E}")
        return self.best
sa, n_steps, report = Annealer(6, 2.0, 0.9), 6, 3
---
fold = sa.run(n_steps, report)
xy = coords(fold)
rg = jnp.sqrt(jnp.mean(jnp.sum((xy - xy.mean(0)) ** 2, -1)))
print("".join("RULD"[m] for m in fold), f"Rg={rg:.3f}", sa.best_E == energy(fold))
---
sa.T = 5.0
---
seq = jnp.array([1, 1, 0, 1]); sa = Annealer(4, 1.0, 0.8, seed=3); n_steps = 4
""",
)
