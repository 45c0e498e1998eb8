"""Training loops in Python: prints, logs, appends, early stops, counters, progress."""

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
### loop-gd-print
---
for step in range(3):
    loss, g = jax.value_and_grad(loss_fn)(w, X, Y)
    w = w - 0.1 * g
    print(f"step {step} loss {loss:.4f}")
---
Y = Y + 1

### loop-every-n
log = []
---
for i in range(12):
    w = w - 0.1 * jax.grad(loss_fn)(w, X, Y)
    if i % 5 == 0:
        log.append(float(loss_fn(w, X, Y)))
len(log)
---
w = jnp.ones(2)

### loop-log-dict
log = {}
---
for epoch in range(3):
    w = w * 0.9 + 0.1
    log[epoch] = loss_fn(w, X, Y)
sorted(log)
---
log = {}

### loop-hist-last
hist = [jnp.float32(10)]
---
loss, g = jax.value_and_grad(loss_fn)(w, X, Y)
w = w - 0.1 * g
better = loss < hist[-1]
hist.append(loss)
bool(better), len(hist)

### loop-while-tol
---
n = 0
while n < 5:
    g = jax.grad(loss_fn)(w, X, Y)
    w = w - 0.2 * g
    n += 1
    if jnp.linalg.norm(g) < 1e-3:
        break
n
---
w = jnp.array([5.0, 5.0])

### loop-while-value
x = jnp.float32(40)
---
k = 0
while x > 1:
    x = x / 3
    k += 1
k, x
---
x = jnp.float32(500)

### loop-batches-list
batches = [(X[i:i + 2], Y[i:i + 2]) for i in (0, 2)]
---
losses = []
for xb, yb in batches:
    l, g = jax.value_and_grad(loss_fn)(w, xb, yb)
    w = w - 0.1 * g
    losses.append(l)
jnp.stack(losses)
---
batches = batches * 2

### loop-nested-epochs
---
total = 0
for epoch in range(2):
    running = 0.0
    for i in range(4):
        l, g = jax.value_and_grad(loss_fn)(w, X[i:i + 1], Y[i:i + 1])
        w = w - 0.05 * g
        running += l
        total += 1
    print(epoch, f"{running / 4:.4f}")
total
---
X = X * 2

### loop-best-params
best = (math.inf, None)
---
for _ in range(3):
    l, g = jax.value_and_grad(loss_fn)(w, X, Y)
    if float(l) < best[0]:
        best = (float(l), w)
    w = w - 0.1 * g
best[1] is w, round(best[0], 3)
---
best = (math.inf, None); w = jnp.ones(2) * 3

### loop-lr-decay
lr = 0.2
---
for i in range(4):
    w = w - lr * jax.grad(loss_fn)(w, X, Y)
    if i == 2:
        lr *= 0.5
lr
---
lr = 0.4

### loop-key-split
key = jax.random.key(0)
---
for _ in range(3):
    key, sub = jax.random.split(key)
    w = w + 0.01 * jax.random.normal(sub, (2,))
w
---
key = jax.random.key(7)

### loop-python-random
random.seed(1)
---
i = random.randrange(4)
w = w - 0.1 * jax.grad(loss_fn)(w, X[i:i + 1], Y[i:i + 1])
i
---
random.seed(9)

### loop-python-random-inside
---
order = list(range(4))
random.shuffle(order)
for i in order:
    w = w + X[i] * 0.1
order[0] >= 0, w
---
random.seed(3)

### loop-counter-global
steps = 0
def train_step(w):
    global steps
    steps += 1
    return w - 0.1 * jax.grad(loss_fn)(w, X, Y)
---
for _ in range(3):
    w = train_step(w)
steps
""",
)
