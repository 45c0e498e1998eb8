"""Small learning as in notebooks: text, policies, tables, search, batches, bootstraps."""

from ..cell import written

PRELUDE = """
import math, os, json, time, functools
import jax, jax.numpy as jnp, numpy as np
from functools import partial
key = jax.random.key(0)
"""

CELLS = written(
    PRELUDE,
    r"""
### sci-attention
q = k = v = jax.random.normal(key, (4, 8))
---
s = q @ k.T / math.sqrt(q.shape[-1])
mask = jnp.tril(jnp.ones((4, 4), bool))
w = jax.nn.softmax(jnp.where(mask, s, -jnp.inf), axis=-1)
out = w @ v
out.shape, w.sum(-1)
---
v = v * 2

### sci-tokenizer-bigram
text = "hello world"
---
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
ids = jnp.array([stoi[c] for c in text])
counts = jnp.zeros((len(chars), len(chars))).at[ids[:-1], ids[1:]].add(1)
probs = (counts + 1) / (counts + 1).sum(1, keepdims=True)
nll = -jnp.log(probs[ids[:-1], ids[1:]]).mean()
nll
---
text = "hello there"

### sci-sample-text
logits = jnp.array([[0.1, 2.0, 0.3], [1.0, 0.0, 3.0], [2.0, 0.1, 0.2]])
vocab = "abc"
---
out, i = [], 0
for _ in range(5):
    key, sub = jax.random.split(key)
    i = int(jax.random.categorical(sub, logits[i]))
    out.append(vocab[i])
"".join(out)
---
logits = logits.T

### sci-policy-gradient
w = jnp.zeros((2, 2))
rewards = []
---
key, sub = jax.random.split(key)
obs = jnp.array([1.0, -1.0])
a = jax.random.categorical(sub, obs @ w)
r = jnp.where(a == 0, 1.0, 0.0)
g = jax.grad(lambda w: jax.nn.log_softmax(obs @ w)[a])(w)
w = w + 0.1 * r * g
rewards.append(float(r))
len(rewards)

### sci-q-table
Q = jnp.zeros((3, 2))
env = {(0, 1): (1, 0.0), (1, 1): (2, 1.0), (0, 0): (0, 0.0), (1, 0): (0, 0.0)}
---
s = 0
while s != 2:
    a = int(jnp.argmax(Q[s])) if Q[s].max() > 0 else 1
    s2, r = env[(s, a)]
    Q = Q.at[s, a].add(0.5 * (r + 0.9 * Q[s2].max() - Q[s, a]))
    s = s2
Q
---
env[(1, 1)] = (2, 5.0)

### sci-newton
x = jnp.float32(2)
f = lambda v: v**3 - 2 * v - 5
---
for i in range(6):
    step = f(x) / jax.grad(f)(x)
    x = x - step
    if abs(step) < 1e-3:
        break
i, x
---
x = jnp.float32(3)

### sci-hessian
f = lambda w: (w**4).sum() + w[0] * w[1]
w = jnp.array([1.0, 2.0])
---
H = jax.hessian(f)(w)
ev = jnp.linalg.eigvalsh(H)
d = jnp.linalg.solve(H, jax.grad(f)(w))
w = w - 0.5 * d
ev
---
w = jnp.array([3.0, 1.0])

### sci-bootstrap
data = np.array([1.0, 2.0, 3.0, 10.0])
---
idx = jax.random.randint(key, (8, 4), 0, 4)
means = jnp.asarray(data)[idx].mean(axis=1)
lo, hi = np.percentile(np.asarray(means), [5, 95])
type(lo).__name__, float(lo) <= float(hi)
---
data = data * 2

### sci-grid-search
X = jnp.linspace(-1, 1, 6)
Y = 2 * X
grid = {"lr": [0.1, 0.3], "n": [2, 4]}
---
import itertools
results = {}
for lr, n in itertools.product(grid["lr"], grid["n"]):
    w = jnp.float32(0)
    for _ in range(n):
        w = w - lr * jax.grad(lambda w: jnp.mean((w * X - Y) ** 2))(w)
    results[lr, n] = float(jnp.mean((w * X - Y) ** 2))
best = min(results, key=results.get)
best
---
grid["n"].append(6)

### sci-moving-average-log
hist = {"loss": [], "ema": None}
---
key, sub = jax.random.split(key)
loss = jax.random.uniform(sub)
hist["ema"] = loss if hist["ema"] is None else 0.9 * hist["ema"] + 0.1 * loss
hist["loss"].append(round(float(loss), 4))
len(hist["loss"]), hist["ema"]
---
hist["ema"] = None

### sci-segment-sum
seg = np.array([0, 0, 1, 2])
vals = jnp.arange(4.0)
---
s = jax.ops.segment_sum(vals, seg, num_segments=3)
u, c = np.unique(seg, return_counts=True)
mean = s / c
mean
---
seg = np.array([2, 1, 1, 0])

### sci-sparse-bcoo
from jax.experimental import sparse
M = sparse.BCOO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
---
y = M @ jnp.ones(2)
d = M.todense() * 2
M.nse, y
---
M = sparse.BCOO.fromdense(jnp.eye(2))

### sci-polynomial-fit
t = np.linspace(0, 1, 6)
obs = 1 + 2 * t
---
A = jnp.vander(jnp.asarray(t), 2)
coef, res, rank, sv = jnp.linalg.lstsq(A, jnp.asarray(obs))
coef, int(rank)
---
obs = 3 - t

### sci-timeit-block
f = jax.jit(lambda v: (v @ v.T).sum())
x = jnp.ones((4, 4))
---
t0 = time.perf_counter()
out = f(x).block_until_ready()
fast = time.perf_counter() - t0 < 100
del t0
fast, out
---
x = x * 2

### sci-padded-batches
seqs = [[1, 2], [3], [4, 5, 6]]
---
n = max(map(len, seqs))
batch = np.zeros((len(seqs), n), np.int32)
for i, s in enumerate(seqs):
    batch[i, :len(s)] = s
mask = jnp.asarray(batch) > 0
mean = (jnp.asarray(batch) * mask).sum(1) / mask.sum(1)
mean
---
seqs.append([7, 8, 9, 10])

### sci-vmap-in-axes-dict
params = {"w": jnp.arange(6.0).reshape(3, 2), "b": jnp.float32(1)}
---
out = jax.vmap(lambda p, v: p["w"] @ v + p["b"], in_axes=({"w": 0, "b": None}, None))(params, jnp.ones(2))
out
---
params["b"] = jnp.float32(3)

### sci-random-permutation-batches
data = jnp.arange(6.0)
---
key, sub = jax.random.split(key)
perm = jax.random.permutation(sub, 6)
parts = jnp.split(data[perm], 3)
sums = [p.sum() for p in parts]
sum(sums)
---
data = data * 2
""",
)
