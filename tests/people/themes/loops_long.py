"""Longer loops: batches, accumulated gradients, patience, generators, windows, progress."""

from ..cell import written

PRELUDE = """
import time, math, random, itertools, sys, collections
import jax, jax.numpy as jnp, numpy as np
X = jnp.linspace(-1, 1, 8).reshape(4, 2)
Y = X @ jnp.array([1.0, -2.0])
w = jnp.zeros(2)
def loss_fn(w, X, Y):
    return jnp.mean((X @ w - Y) ** 2)
"""

CELLS = written(
    PRELUDE,
    r"""
### loop-jitted-step
@jax.jit
def step(w, x, y):
    l, g = jax.value_and_grad(loss_fn)(w, x, y)
    return w - 0.1 * g, l
---
for i in range(5):
    w, l = step(w, X, Y)
    if i % 2 == 0:
        print(i, f"{float(l):.3f}")
---
Y = -Y

### loop-fori
---
w = jax.lax.fori_loop(0, 5, lambda i, w: w - 0.1 * jax.grad(loss_fn)(w, X, Y), w)
l = loss_fn(w, X, Y)
l
---
Y = Y * 2

### loop-scan-history
---
def body(w, _):
    l, g = jax.value_and_grad(loss_fn)(w, X, Y)
    return w - 0.1 * g, l
w, ls = jax.lax.scan(body, w, None, length=6)
plateau = int(jnp.argmin(ls))
plateau
---
Y = Y + 1

### loop-tqdm needs=tqdm
from tqdm import tqdm
---
for i in tqdm(range(3), disable=True):
    w = w - 0.1 * jax.grad(loss_fn)(w, X, Y)
w
---
w = jnp.ones(2)

### loop-tqdm-postfix needs=tqdm
from tqdm import trange
import io
---
bar = trange(3, file=io.StringIO())
for i in bar:
    l, g = jax.value_and_grad(loss_fn)(w, X, Y)
    w = w - 0.1 * g
    bar.set_postfix(loss=f"{float(l):.2f}")
n = bar.n
del bar
n

### loop-comprehension-params
params = [jnp.ones((2, 2)), jnp.zeros(2)]
---
for _ in range(2):
    grads = jax.grad(lambda p: jnp.sum((X @ p[0] + p[1]) ** 2))(params)
    params = [p - 0.01 * g for p, g in zip(params, grads)]
norms = [float(jnp.linalg.norm(p)) for p in params]
len(norms)
---
params = [jnp.zeros((2, 2)), jnp.ones(2)]

### loop-accumulate-grads
---
acc = jnp.zeros(2)
for i, (xb, yb) in enumerate(zip(X.reshape(2, 2, 2), Y.reshape(2, 2))):
    acc = acc + jax.grad(loss_fn)(w, xb, yb)
    if (i + 1) % 2 == 0:
        w = w - 0.1 * acc
        acc = jnp.zeros(2)
w
---
w = jnp.ones(2)

### loop-patience
bad, best = 0, float("inf")
---
for epoch in range(6):
    l = float(loss_fn(w, X, Y))
    w = w - 0.3 * jax.grad(loss_fn)(w, X, Y)
    if l < best - 1e-4:
        best, bad = l, 0
    else:
        bad += 1
        if bad > 1:
            print("early stop", epoch)
            break
else:
    print("all epochs")
---
bad, best = 0, float("inf")

### loop-generator-of-data
def stream():
    i = 0
    while True:
        yield X + i
        i += 1
data = stream()
---
for xb in itertools.islice(data, 2):
    w = w + xb.mean(axis=0)
w

### loop-large-plain
---
s = jnp.float32(0)
for i in range(40):
    s = s + jnp.sin(w[0] + i)
s
---
w = jnp.array([0.5, 0.1])

### loop-large-with-log
log = []
---
for i in range(40):
    w = w - 0.05 * jax.grad(loss_fn)(w, X, Y)
    if i % 20 == 0:
        log.append(loss_fn(w, X, Y))
len(log)
---
w = jnp.ones(2)

### loop-large-print
---
for i in range(36):
    w = w * 0.99
    if i % 12 == 0:
        print(i, f"{w.sum():.3f}")
---
w = jnp.ones(2)

### loop-enumerate-strings
---
out = {}
for i, name in enumerate(["mean", "std", "max"]):
    out[name] = getattr(jnp, name)(X) * (i + 1)
out["max"]
---
X = X * 3

### loop-zip-strict
layers = [jnp.eye(2) * k for k in (1.0, 2.0)]
biases = [jnp.ones(2), jnp.zeros(2)]
---
h = X
for W, b in zip(layers, biases, strict=True):
    h = jnp.tanh(h @ W + b)
h.sum()
---
layers[0] = jnp.zeros((2, 2))

### loop-reversed-and-slices
seq = jnp.arange(6.0)
---
acc = 0.0
outs = []
for v in reversed(list(seq)):
    acc = 0.5 * acc + v
    outs.insert(0, acc)
jnp.array(outs)
---
seq = seq * 2

### loop-deque-average
window = collections.deque(maxlen=2)
---
for i in range(4):
    w = w + 0.1
    window.append(loss_fn(w, X, Y))
    avg = sum(window) / len(window)
avg
---
window.clear()

### loop-try-in-loop
---
ok = 0
for d in (0, 1, 2):
    try:
        w = w + 1 / d
        ok += 1
    except ZeroDivisionError:
        print("skipped", d)
ok, w
---
w = jnp.ones(2)

### loop-continue-on-value
---
kept = []
for i in range(4):
    v = X[i].sum()
    if v < 0:
        continue
    kept.append(v * 2)
len(kept), sum(kept)
---
X = -X

### loop-progress-stdout
---
for i in range(3):
    sys.stdout.write(f"\r{i + 1}/3")
    w = w + X[i]
sys.stdout.write("\n");
---
X = X + 1

### loop-time-budget
---
t0 = time.time()
n = 0
while n < 3 and time.time() - t0 < 60:
    w = w * 0.5 + 1
    n += 1
del t0
n, w
---
w = jnp.zeros(2)
""",
)
