"""Training without a library of layers as it is published: optax, text, agents, schedules, tasks and teachers."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, itertools, math, operator, random, re, time
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### rn-optax-per-layer-norm-table-and-tree-get-of-states needs=optax tolerance=1e-3 cold
import optax
def init(key, sizes):
    return {f"layer{i}": {"w": jr.normal(k, (a, b)) / math.sqrt(a), "b": jnp.zeros(b)}
            for i, (k, a, b) in enumerate(zip(jr.split(key, len(sizes)), sizes, sizes[1:]))}
def apply(params, x):
    *hidden, last = params.values()
    for p in hidden:
        x = jax.nn.swish(x @ p["w"] + p["b"])
    return x @ last["w"] + last["b"]
params = init(jr.PRNGKey(0), [4, 8, 8, 2])
tx = optax.chain(optax.adaptive_grad_clip(0.05), optax.scale_by_adam(), optax.add_decayed_weights(
    1e-3, mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p)), optax.scale_by_learning_rate(
    optax.exponential_decay(1e-2, 2, 0.5, staircase=True)))
state = tx.init(params)
X, Y = jr.normal(jr.PRNGKey(1), (9, 4)), jr.normal(jr.PRNGKey(2), (9, 2))
metrics, steps = [], 3
---
for _ in range(steps):
    loss, g = jax.value_and_grad(lambda p: jnp.mean(optax.huber_loss(apply(p, X), Y)))(params)
    u, state = tx.update(g, state, params)
    params = optax.apply_updates(params, u)
    metrics.append({"loss": loss, "count": int(optax.tree.get(state[1], "count")), "gnorm": optax.tree.norm(g),
                    **{f"{k}/ratio": optax.global_norm(u[k]) / optax.global_norm(params[k]) for k in params}})
columns = {k: [row[k] for row in metrics] for k in metrics[0]}
width = max(map(len, columns))
for name, values in columns.items():
    print(f"{name:<{width}}", *(f"{float(v):8.4f}" for v in values[-3:]))
jnp.stack(columns["gnorm"]), optax.tree.sum(params)
---
steps = 1
---
state = optax.tree.set(state, count=jnp.array(0, jnp.int32)); metrics.clear()
---
X = X * 3; steps = 2

### rn-gru-by-hand-over-padded-sentences-with-masks-and-teacher-forcing tolerance=1e-3
text = ["the cat sat", "a dog ran off", "the dog sat", "cat"]
words = ["<pad>", "<bos>"] + sorted({w for s in text for w in s.split()})
idx = {w: i for i, w in enumerate(words)}
def batchify(sentences):
    rows = [[1] + [idx[w] for w in s.split()] for s in sentences]
    longest = max(map(len, rows))
    ids = np.zeros((len(rows), longest), np.int32)
    for r, row in enumerate(rows):
        ids[r, :len(row)] = row
    return ids, ids > 0
def glorot(key, shape): return jr.normal(key, shape) * np.sqrt(2 / sum(shape))
def make(key, v, d):
    ks = jr.split(key, 5)
    return dict(emb=glorot(ks[0], (v, d)), wz=glorot(ks[1], (2 * d, d)), wr=glorot(ks[2], (2 * d, d)),
                wh=glorot(ks[3], (2 * d, d)), out=glorot(ks[4], (d, v)))
def cell(p, h, x):
    hx = jnp.concatenate([h, x], -1)
    z, r = jax.nn.sigmoid(hx @ p["wz"]), jax.nn.sigmoid(hx @ p["wr"])
    cand = jnp.tanh(jnp.concatenate([r * h, x], -1) @ p["wh"])
    return (1 - z) * h + z * cand
def loss(p, ids, mask):
    def body(h, inp):
        tok, nxt, m = inp
        new = cell(p, h, p["emb"][tok])
        h = jnp.where(m[:, None], new, h)
        nll = -jnp.take_along_axis(jax.nn.log_softmax(h @ p["out"]), nxt[:, None], 1)[:, 0]
        return h, nll * m
    h0 = jnp.zeros((ids.shape[0], p["emb"].shape[1]))
    _, nll = lax.scan(body, h0, (ids.T[:-1], ids.T[1:], mask.T[1:]))
    return nll.sum() / mask[:, 1:].sum()
params, lr = make(jr.key(4), len(words), 6), 0.5
---
ids, mask = batchify(text)
vals = []
for epoch in range(3):
    value, g = jax.value_and_grad(loss)(params, ids, mask)
    params = {k: w - lr * g[k] for k, w in params.items()}
    vals.append(value)
h, w, said = jnp.zeros(6), 1, []
while len(said) < 4:
    h = cell(params, h, params["emb"][w])
    w = int((h @ params["out"]).at[:2].set(-jnp.inf).argmax())
    said.append(words[w])
print(" ".join(said), "|", f"ppl {math.exp(vals[-1]):.1f}")
jnp.array(vals), mask.sum(1)
---
text = text[:2]
---
lr = 0.1; text = [*text, "dog dog dog dog dog"]
---
params = make(jr.key(6), len(words), 6)

### rn-language-model-samplers-temperature-topk-nucleus-and-repeat-penalty tolerance=1e-3
corpus = "to be or not to be that is the question"
chars = sorted(set(corpus)); stoi = {c: i for i, c in enumerate(chars)}
bigram = np.ones((len(chars), len(chars)))
for a, b in zip(corpus, corpus[1:]):
    bigram[stoi[a], stoi[b]] += 3
LOGITS = jnp.log(jnp.asarray(bigram / bigram.sum(1, keepdims=True), jnp.float32))
def top_k(logits, k): return jnp.where(logits < jnp.sort(logits)[-k], -jnp.inf, logits)
def nucleus(logits, p):
    order = jnp.argsort(-logits)
    cum = jnp.cumsum(jax.nn.softmax(logits[order]))
    keep = jnp.concatenate([jnp.array([True]), cum[:-1] < p])
    return jnp.full_like(logits, -jnp.inf).at[order].set(jnp.where(keep, logits[order], -jnp.inf))
def penalise(logits, seen, by):
    ids = jnp.array(sorted(seen))
    return logits.at[ids].add(-by)
def generate(key, start, n, *filters, temperature=1.0, penalty=None):
    out = [stoi[start]]
    for step_key in jr.split(key, n):
        logits = LOGITS[out[-1]] / temperature
        if penalty:
            logits = penalise(logits, set(out[-3:]), penalty)
        logits = reduce(lambda l, f: f(l), filters, logits)
        out.append(int(jr.categorical(step_key, logits)))
    return "".join(chars[i] for i in out)
settings = {"greedy": ((lambda l: top_k(l, 1),), {}), "topk": ((partial(top_k, k=3),), dict(temperature=0.7)),
            "nucleus": ((partial(nucleus, p=0.6),), dict(penalty=2.0))}
seed, n = 3, 8
---
samples = {name: generate(jr.key(seed), "t", n, *fs, **kw) for name, (fs, kw) in settings.items()}
for name, s in samples.items():
    print(f"{name:8}|{s}|")
ids = {k: jnp.array([stoi[c] for c in v]) for k, v in samples.items()}
nll = {k: -LOGITS[v[:-1], v[1:]].mean() for k, v in ids.items()}
best = min(nll, key=nll.get)
used = Counter("".join(samples.values())).most_common(2)
best, nll, used
---
seed = 11
---
settings["hot"] = ((), dict(temperature=3.0)); n = 5
---
LOGITS = LOGITS.at[:, stoi[" "]].add(-4.0); del settings["greedy"]

### rn-beam-with-finished-pool-namedtuples-and-score-penalty
class Hyp(NamedTuple):
    score: float
    ids: tuple
    h: Any
EOS = 0
W = jr.normal(jr.PRNGKey(5), (5, 4)); U = jr.normal(jr.PRNGKey(6), (4, 4)) * 0.4; V = jr.normal(jr.PRNGKey(7), (4, 5))
@jax.jit
def advance(h, tok, V):
    h = jnp.tanh(h @ U + W[tok])
    return h, jax.nn.log_softmax(h @ V)
def length_penalty(n, alpha): return ((5 + n) / 6) ** alpha
beam, alpha, limit = 2, 0.7, 4
---
live, done = [Hyp(0.0, (1,), jnp.zeros(4))], []
for t in range(limit):
    pool = []
    for hyp in live:
        h, logp = advance(hyp.h, hyp.ids[-1], V)
        values, tokens = lax.top_k(logp, beam + 1)
        for lp, tok in zip(values.tolist(), tokens.tolist()):
            pool.append(Hyp(hyp.score + lp, hyp.ids + (tok,), h))
    pool.sort(key=lambda c: -c.score)
    finished = [c for c in pool if c.ids[-1] == EOS]
    done += finished[:beam]
    live = [c for c in pool if c.ids[-1] != EOS][:beam]
    if len(done) >= beam and min(d.score for d in done) > live[0].score:
        break
ranked = sorted(done + live, key=lambda c: c.score / length_penalty(len(c.ids), alpha), reverse=True)
print(t, [(c.ids, round(c.score, 2)) for c in ranked[:2]])
jnp.stack([c.h for c in ranked[:2]])
---
beam = 1
---
V = V.at[:, EOS].add(1.5); beam = 2
---
limit, alpha = 2, 0.0

### rn-prioritised-replay-sum-tree-in-numpy-with-td-errors-fed-back tolerance=2e-3
class SumTree:
    def __init__(self, n): self.n, self.tree, self.data, self.at = n, np.zeros(2 * n), [None] * n, 0
    def add(self, p, item):
        self.data[self.at] = item
        self.update(self.at, p)
        self.at = (self.at + 1) % self.n
    def update(self, i, p):
        i += self.n
        change = p - self.tree[i]
        while i >= 1:
            self.tree[i] += change
            i //= 2
    def find(self, v):
        i = 1
        while i < self.n:
            i *= 2
            if v > self.tree[i]:
                v -= self.tree[i]
                i += 1
        return i - self.n
    total = property(lambda self: self.tree[1])
tree, rng = SumTree(8), np.random.default_rng(0)
for i in range(8):
    tree.add(1.0, (rng.normal(size=3).astype(np.float32), int(rng.integers(2)), float(i % 3 == 0), rng.normal(size=3).astype(np.float32)))
Q = {"w": jr.normal(jr.key(0), (3, 2)) * 0.3, "b": jnp.zeros(2)}
target = dict(Q)
q = lambda p, s: s @ p["w"] + p["b"]
def td(p, tgt, s, a, r, s2): return r + 0.9 * q(tgt, s2).max(-1) - q(p, s)[jnp.arange(len(a)), a]
beta, batch, sync = 0.4, 4, 2
---
errors = []
for it in range(3):
    picks = [tree.find(v) for v in rng.uniform(0, tree.total, batch)]
    s, a, r, s2 = map(np.stack, zip(*(tree.data[i] for i in picks)))
    weights = (8 * tree.tree[np.array(picks) + 8] / tree.total) ** -beta
    weights = jnp.asarray(weights / weights.max())
    def loss(p):
        d = td(p, jax.lax.stop_gradient(target), s, a, r.astype(np.float32), s2)
        return (weights * d ** 2).mean(), d
    g, d = jax.grad(loss, has_aux=True)(Q)
    Q = jax.tree.map(lambda w, g: w - 0.05 * g, Q, g)
    for i, e in zip(picks, np.abs(np.asarray(d))):
        tree.update(i, float(e) ** 0.6 + 1e-3)
    if it % sync == sync - 1:
        target = jax.tree.map(jnp.copy, Q)
    errors.append(jnp.abs(d).mean())
print(f"{tree.total:.3f} of {len(picks)}", a.dtype, r.dtype)
jnp.stack(errors), Q["b"]
---
beta = 1.0
---
tree.add(5.0, (np.ones(3, np.float32), 1, 2.0, np.zeros(3, np.float32)))
---
sync, batch = 1, 2

### rn-n-step-returns-through-a-deque-and-a-class-of-agent tolerance=2e-3
class NStep:
    def __init__(self, n, gamma): self.window, self.gamma, self.out = deque(maxlen=n), gamma, []
    def push(self, s, a, r, done):
        self.window.append((s, a, r))
        if len(self.window) == self.window.maxlen or done:
            self._emit()
        if done:
            while len(self.window) > 1:
                self.window.popleft()
                self._emit()
            self.window.clear()
    def _emit(self):
        ret = sum(self.gamma ** k * r for k, (_, _, r) in enumerate(self.window))
        self.out.append((self.window[0][0], self.window[0][1], ret))
class Agent:
    updates = 0
    def __init__(self, key, lr): self.key, self.lr, self.theta = key, lr, jnp.zeros((4, 2))
    def act(self, s):
        self.key, sub = jr.split(self.key)
        return jr.categorical(sub, self.theta[s]).item()
    def learn(self, batch):
        s, a, g = (jnp.array(c) for c in zip(*batch))
        def loss(th):
            logp = jax.nn.log_softmax(th)[s, a]
            return -(logp * (g - g.mean())).mean()
        value, grad = jax.value_and_grad(loss)(self.theta)
        self.theta -= self.lr * grad
        Agent.updates += 1
        return value
def episode(agent, buf, length):
    s, total = 0, 0.0
    for t in range(length):
        a = agent.act(s)
        s2 = min(s + 1, 3) if a else max(s - 1, 0)
        r = 1.0 if s2 == 3 else -0.05
        done = s2 == 3 or t == length - 1
        buf.push(s, a, r, done)
        s, total = s2, total + r
        if done:
            return total, t + 1
agent, length, n = Agent(jr.key(1), 0.5), 8, 3
---
buf = NStep(n, 0.9)
scores = [episode(agent, buf, length) for _ in range(3)]
value = agent.learn(buf.out)
print(scores, len(buf.out), Agent.updates)
probs = jax.nn.softmax(agent.theta)[:, 1]
probs, value
---
n = 1
---
agent.lr = 2.0; length = 4
---
agent.theta = agent.theta.at[:, 1].set(3.0)

### rn-warm-restart-schedule-object-early-stop-and-metrics-of-dicts tolerance=2e-3
class WarmRestarts:
    def __init__(self, base, period, mult=2): self.base, self.period, self.mult, self.t, self.cycle = base, period, mult, 0, 0
    def __call__(self):
        lr = self.base * 0.5 * (1 + math.cos(math.pi * self.t / self.period))
        self.t += 1
        if self.t >= self.period:
            self.t, self.cycle, self.period = 0, self.cycle + 1, self.period * self.mult
        return lr
class EarlyStop(Exception): pass
class Monitor(dict):
    def __init__(self, patience): super().__init__(); self.patience, self.bad, self.best = patience, 0, math.inf
    def log(self, **values):
        for k, v in values.items():
            self.setdefault(k, []).append(v)
        if values["val"] < self.best - 1e-4:
            self.best, self.bad = values["val"], 0
        else:
            self.bad += 1
        if self.bad >= self.patience:
            raise EarlyStop(f"no better than {self.best:.3f}")
rng = np.random.RandomState(0)
A, b = rng.randn(30, 5), rng.randn(30)
tr, va = slice(0, 20), slice(20, 30)
w, sched, patience, epochs = jnp.zeros(5), WarmRestarts(0.3, 3), 2, 8
mse = lambda w, s: jnp.mean((A[s] @ w - b[s]) ** 2)
---
monitor = Monitor(patience)
try:
    for epoch in range(epochs):
        lr = sched()
        w = w - lr * jax.grad(mse)(w, tr)
        monitor.log(train=mse(w, tr), val=float(mse(w, va)), lr=lr)
except EarlyStop as stop:
    print("stopped:", stop)
else:
    print("ran through", epochs)
finally:
    print(sched.cycle, sched.period, len(monitor["val"]))
jnp.stack(monitor["train"]), np.array(monitor["lr"])
---
sched.base = 1.2
---
patience = 5
---
b[20:] += 1.0; w = w * 0; sched = WarmRestarts(0.1, 2, 1)

### rn-ema-teacher-student-consistency-with-two-views-and-ramp needs=optax tolerance=2e-3
import optax
def net(p, x): return jnp.tanh(x @ p[0]) @ p[1]
def ramp(step, length): return float(np.exp(-5 * (1 - min(step / length, 1.0)) ** 2))
keys = (jr.fold_in(jr.key(8), i) for i in itertools.count())
student = [jr.normal(next(keys), (3, 6)), jr.normal(next(keys), (6, 2))]
teacher = [w for w in student]
labelled, y = jr.normal(next(keys), (4, 3)), jnp.array([0, 1, 1, 0])
unlabelled = jr.normal(next(keys), (12, 3))
tx = optax.sgd(0.1, nesterov=True, momentum=0.9); st = tx.init(student)
step, decay, noise = 0, 0.9, 0.1
def objective(p, views, weight):
    sup = optax.softmax_cross_entropy_with_integer_labels(net(p, labelled), y).mean()
    v1, v2 = views
    cons = jnp.mean((jax.nn.softmax(net(p, v1)) - jax.nn.softmax(net(teacher, v2))) ** 2)
    return sup + weight * cons, {"sup": sup, "cons": cons}
---
meters = defaultdict(float)
for _ in range(3):
    views = [unlabelled + noise * jr.normal(next(keys), unlabelled.shape) for _ in range(2)]
    g, parts = jax.grad(objective, has_aux=True)(student, views, ramp(step, 10))
    u, st = tx.update(g, st, student)
    student = optax.apply_updates(student, u)
    alpha = min(1 - 1 / (step + 1), decay)
    teacher = [alpha * t + (1 - alpha) * s for t, s in zip(teacher, student)]
    step += 1
    for k, v in parts.items():
        meters[k] += v / 3
gap = [jnp.abs(t - s).mean() for t, s in zip(teacher, student)]
print(step, f"{ramp(step, 10):.3f}", sorted(meters))
dict(meters), gap
---
decay = 0.5
---
noise = 0.5; step = 9
---
y = 1 - y; unlabelled = unlabelled[:6]

### rn-accumulated-gradients-in-a-generator-of-microbatches-with-clip tolerance=1e-3
def micro(batch, k):
    for part in np.array_split(batch, k):
        yield part
def accumulate(grad_fn, params, parts):
    total, count, losses = None, 0, []
    for part in parts:
        (loss, n), g = grad_fn(params, part)
        losses.append((loss, n))
        total = g if total is None else jax.tree.map(jnp.add, total, g)
        count += n
    return jax.tree.map(lambda t: t / count, total), losses
def clip(tree, limit):
    norm = jnp.sqrt(sum(jnp.vdot(x, x) for x in jax.tree.leaves(tree)))
    return jax.tree.map(lambda x: x * jnp.minimum(1.0, limit / norm), tree), norm
def loss(p, rows):
    pred = rows[:, :-1] @ p["w"] + p["b"]
    return ((pred - rows[:, -1]) ** 2).sum(), len(rows)
table = np.random.default_rng(5).normal(size=(17, 4)).astype(np.float32)
p, k, limit = {"w": jnp.ones(3), "b": jnp.float32(0.0)}, 4, 0.5
---
norms, seen = [], []
for start in range(0, len(table), 8):
    g, losses = accumulate(jax.value_and_grad(loss, has_aux=True), p, micro(table[start:start + 8], k))
    g, norm = clip(g, limit)
    p = {key: p[key] - 0.3 * g[key] for key in p}
    norms.append(norm)
    seen.append([n for _, n in losses])
print(seen, f"{p['b']:.3f}")
whole = jax.grad(lambda q: loss(q, table)[0] / len(table))(p)
jnp.stack(norms), whole
---
k = 1
---
limit = 5.0; table = table[:9]
---
table[:, -1] *= 2

### rn-meta-sgd-per-parameter-rates-over-tasks-with-support-and-query tolerance=2e-3
@dataclass
class Task:
    amp: float
    phase: float
    def sample(self, rng, n):
        x = rng.uniform(-3, 3, (n, 1)).astype(np.float32)
        return x, (self.amp * np.sin(x + self.phase)).astype(np.float32)
def tasks(rng):
    while True:
        yield Task(rng.uniform(0.5, 2), rng.uniform(0, np.pi))
def net(p, x): return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"]
def mse(p, x, y): return jnp.mean((net(p, x) - y) ** 2)
def adapt(meta, x, y, inner):
    p = meta["theta"]
    for _ in range(inner):
        g = jax.grad(mse)(p, x, y)
        p = jax.tree.map(lambda w, a, g: w - jnp.exp(a) * g, p, meta["alpha"], g)
    return p
def outer(meta, batch, inner): return sum(mse(adapt(meta, *sup, inner), *qry) for sup, qry in batch) / len(batch)
k1, k2 = jr.split(jr.key(10))
theta = {"w1": jr.normal(k1, (1, 8)), "b1": jnp.zeros(8), "w2": jr.normal(k2, (8, 1)) * 0.3}
meta = {"theta": theta, "alpha": jax.tree.map(lambda w: jnp.full_like(w, -3.0), theta)}
rng = np.random.default_rng(12); stream = tasks(rng); inner, meta_batch = 2, 3
---
curve = []
for it in range(2):
    batch = [(t.sample(rng, 5), t.sample(rng, 5)) for t in itertools.islice(stream, meta_batch)]
    value, g = jax.value_and_grad(outer)(meta, batch, inner)
    meta = jax.tree.map(lambda w, g: w - 0.01 * g, meta, g)
    curve.append(value)
rates = {k: (float(jnp.exp(v).min()), float(jnp.exp(v).max())) for k, v in meta["alpha"].items()}
print({k: f"{lo:.4f}..{hi:.4f}" for k, (lo, hi) in rates.items()} and f"{len(rates)} rates", f"{curve[-1]:.2f}")
jnp.stack(curve), meta["alpha"]["w2"].mean()
---
inner = 1
---
stream = iter([Task(1.0, 0.0), Task(2.0, 0.1)] * 4); meta_batch = 2
---
inner = 3; stream = tasks(rng)

### rn-masked-diffusion-text-denoise-by-confidence-python-loop tolerance=1e-3
vocab = list("_abcd"); MASK = 0
E = jr.normal(jr.key(0), (5, 6)); Wq, Wk, Wo = (jr.normal(k, s) * 0.4 for k, s in zip(jr.split(jr.key(1), 3), [(6, 6), (6, 6), (6, 5)]))
def denoiser(ids):
    h = E[ids] + jnp.sin(jnp.arange(len(ids))[:, None] / jnp.arange(1, 7))
    att = jax.nn.softmax((h @ Wq) @ (h @ Wk).T / 2.4, -1)
    return jax.nn.log_softmax((att @ h + h) @ Wo).at[:, MASK].set(-jnp.inf)
def unmask(ids, per_step, temperature, key, trace):
    while (ids == MASK).any():
        key, sub = jr.split(key)
        logits = denoiser(ids) / temperature
        draw = jr.categorical(sub, logits)
        conf = jnp.where(ids == MASK, jnp.take_along_axis(logits, draw[:, None], 1)[:, 0], -jnp.inf)
        where = jnp.argsort(-conf)[:min(per_step, int((ids == MASK).sum()))]
        ids = ids.at[where].set(draw[where])
        trace.append("".join(vocab[i] for i in ids.tolist()))
    return ids
length, per_step, temperature, prompt = 6, 2, 0.7, "b"
---
start = jnp.array([vocab.index(c) for c in prompt] + [MASK] * (length - len(prompt)))
trace = []
final = unmask(start, per_step, temperature, jr.key(42), trace)
print(*trace, sep="\n")
score = jnp.take_along_axis(denoiser(final), final[:, None], 1).mean()
final, score, len(trace)
---
per_step = 3
---
prompt = "abc"; temperature = 0.3
---
Wo = Wo * 2; length = 4
""",
)
