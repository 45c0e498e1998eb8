"""Threads beside the cell: pools, queues, watchers, locks, event loops; and what others see while a cell is traced."""

from ..cell import written

PRELUDE = """
import threading, queue, time, asyncio, contextvars, signal
from concurrent.futures import ThreadPoolExecutor
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### thr-dict-seen-by-others watched
state = {"w": jnp.ones(4), "lr": 0.1, "nested": [{"m": jnp.zeros(4)}]}
---
for _ in range(3):
    state["w"] = state["w"] - state["lr"] * x
    state["nested"][0]["m"] = state["w"] * 2
state["w"]
---
state["lr"] = 0.2

### thr-object-seen-by-others watched
class Model:
    def __init__(self):
        self.w, self.b = jnp.ones(4), jnp.zeros(4)
        self.rate = 0.5
    def __call__(self, v):
        self.last = jnp.tanh(v * self.w + self.b)
        return self.last
m = Model()
---
y = m(x)
m.w = m.w + y * m.rate
y.sum()
---
m.w = jnp.zeros(4)

### thr-closure-seen-by-others watched
def make():
    w = jnp.ones(4)
    def f(v):
        nonlocal w
        w = w + v
        return w * 2
    return f
f = make()
---
y = f(x)
z = f(y)
z

### thr-namespace-seen-by-others watched
params = [jnp.ones((4, 4)), jnp.zeros(4)]
def forward(p, v):
    return jnp.tanh(p[0] @ v + p[1])
---
loss, grads = jax.value_and_grad(lambda p: forward(p, x).sum())(params)
params = [p - 0.1 * g for p, g in zip(params, grads)]
loss
---
x = x * 2

### thr-split-seen-by-others watched
hist = {"loss": [], "w": jnp.ones(4)}
---
for i in range(3):
    hist["w"] = hist["w"] * 0.9
    loss = jnp.sum(hist["w"] ** 2)
    hist["loss"].append(loss)
    print(i, f"{loss:.3f}")
---
hist = {"loss": [], "w": x}

### thr-dataclass-watched watched
from dataclasses import dataclass, field
@dataclass
class S:
    mu: object
    t: float = 0.0
    log: dict = field(default_factory=dict)
s = S(jnp.zeros(4))
---
s.mu = 0.9 * s.mu + 0.1 * x
s.t += 1.0
s.log["n"] = s.mu.sum()
s.t
---
s.t = 100.0

### thr-pool-map
pool = ThreadPoolExecutor(2)
def work(i):
    return float(jnp.sum(x * i))
---
outs = list(pool.map(work, range(4)))
y = x * outs[1]
outs
---
x = x + 1

### thr-pool-submit-array
pool = ThreadPoolExecutor(1)
---
fut = pool.submit(lambda: x * 2)
y = fut.result() + 1
y
---
x = x * 3

### thr-pool-with-in-cell
---
with ThreadPoolExecutor(2) as pool:
    parts = list(pool.map(lambda i: x + i, range(3)))
total = sum(parts)
total
---
x = x + 10

### thr-thread-fills-list
out = []
---
t = threading.Thread(target=lambda: out.append(np.asarray(x).sum()))
t.start()
t.join()
y = x + float(out[-1])
len(out)

### thr-queue-producer
q = queue.Queue()
---
def produce():
    for i in range(3):
        q.put(i)
t = threading.Thread(target=produce)
t.start()
t.join()
vals = [q.get() for _ in range(3)]
y = x * sum(vals)
y

### thr-prefetch-loader
def prefetch(n):
    q = queue.Queue(maxsize=2)
    def run():
        for i in range(n):
            q.put(np.full(4, float(i), np.float32))
        q.put(None)
    threading.Thread(target=run, daemon=True).start()
    while (b := q.get()) is not None:
        yield b
w = jnp.zeros(4)
---
for b in prefetch(3):
    w = w + jnp.asarray(b) * 0.5
w
---
w = jnp.ones(4)

### thr-lock-held
lock = threading.Lock()
total = {"n": 0, "sum": jnp.float32(0)}
---
with lock:
    total["n"] += 1
    total["sum"] = total["sum"] + x.sum()
y = total["sum"] / total["n"]
lock.locked()

### thr-object-with-lock
class Buffer:
    def __init__(self):
        self.lock = threading.RLock()
        self.items = []
        self.mean = jnp.float32(0)
    def add(self, v):
        with self.lock:
            self.items.append(v)
            self.mean = sum(self.items) / len(self.items)
        return self.mean
buf = Buffer()
---
m = buf.add(x.mean())
len(buf.items)
---
buf.items.clear()
""",
)
