"""Threads and callbacks beside the cell: heartbeats, workers, event loops, host callbacks, timers."""

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
### thr-event-flag
stop = threading.Event()
---
y = x * (1 if stop.is_set() else 2)
y
---
stop.set()

### thr-local-state
loc = threading.local()
loc.scale = 2.0
---
y = x * loc.scale
y
---
loc.scale = 5.0

### thr-contextvar
mode = contextvars.ContextVar("mode", default="train")
---
y = x * (0.5 if mode.get() == "train" else 1.0)
y
---
mode.set("eval");

### thr-heartbeat-reads-state
state = {"w": jnp.ones(4), "step": 0}
seen, stop = [], threading.Event()
def beat():
    while not stop.is_set():
        v = state["w"]
        if isinstance(v, jax.core.Tracer):
            seen.append("tracer")
        time.sleep(0.0005)
t = threading.Thread(target=beat, daemon=True)
t.start()
---
for _ in range(4):
    state["w"] = jnp.sin(state["w"]) + x
state["step"] += 1
bad = len(seen)
bad
---
state["w"] = x

### thr-heartbeat-floats
class Clock:
    def __init__(self):
        self.rate, self.ticks = 0.001, 0.0
clock = Clock()
trouble = []
stop = threading.Event()
def tick():
    while not stop.is_set():
        try:
            time.sleep(clock.rate)
            float(clock.ticks)
        except Exception as e:
            trouble.append(type(e).__name__)
threading.Thread(target=tick, daemon=True).start()
---
y = x * clock.rate * 1000
clock.ticks = clock.ticks + 1.0
n = len(trouble)
n

### thr-worker-consumes-results
jobs, done = queue.Queue(), []
stop = threading.Event()
def worker():
    while not stop.is_set():
        try:
            item = jobs.get(timeout=0.02)
        except queue.Empty:
            continue
        done.append(float(np.asarray(item).sum()))
        jobs.task_done()
threading.Thread(target=worker, daemon=True).start()
---
y = x * 2
jobs.put(y)
jobs.join()
z = y + 1
len(done)
---
x = x + 1

### thr-async-loop-object
loop = asyncio.new_event_loop()
class Client:
    def __init__(self, loop):
        self.loop, self.scale = loop, 2.0
client = Client(loop)
---
y = x * client.scale
same = client.loop is loop
y, same
---
client.scale = 3.0

### thr-asyncio-run
async def fetch(i):
    await asyncio.sleep(0)
    return i * 2.0
loop = asyncio.new_event_loop()
---
vals = [loop.run_until_complete(fetch(i)) for i in range(3)]
y = x * vals[1]
y

### thr-background-trainer
class Trainer:
    def __init__(self):
        self.w, self.stop = jnp.zeros(4), False
    def step(self):
        self.w = self.w + 1
        return self.w
tr = Trainer()
---
t = threading.Thread(target=tr.step)
t.start(); t.join()
y = tr.w * 2
y
---
tr.w = x

### thr-timer-and-elapsed
---
t0 = time.perf_counter()
y = jnp.sin(x).sum()
took = time.perf_counter() - t0 >= 0
del t0
took
---
x = x + 1

### thr-sleep-in-loop
---
acc = x
for i in range(2):
    acc = acc * 2
    time.sleep(0.001)
acc
---
x = x - 1

### thr-block-until-ready
---
y = jnp.dot(x, x)
y.block_until_ready()
z = jax.block_until_ready({"y": y * 2})
z["y"]
---
x = x * 3

### thr-pure-callback
calls = []
def host(v):
    calls.append(1)
    return np.asarray(v) * 2
---
y = jax.pure_callback(host, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
z = y + 1
z
---
x = x + 2

### thr-io-callback
from jax.experimental import io_callback
seen = []
---
y = x * 2
io_callback(lambda v: seen.append(float(v)), None, y.sum(), ordered=True)
jax.effects_barrier()
len(seen)
---
x = x + 1

### thr-debug-callback
log = []
---
y = jnp.cumsum(x)
jax.debug.callback(lambda v: log.append(float(v)), y[-1])
jax.effects_barrier()
z = y * 2
len(log)

### thr-callback-beside-thread
log, stop = [], threading.Event()
def wait():
    while not stop.is_set():
        time.sleep(0.01)
threading.Thread(target=wait, daemon=True).start()
---
y = jnp.cumsum(x)
jax.debug.callback(lambda v: log.append(float(v)), y[-1])
jax.effects_barrier()
len(log)
---
x = x + 1

### thr-debug-print
---
y = x.sum()
jax.debug.print("y is {}", y)
jax.effects_barrier()
z = y + 1
---
x = x * 2
""",
)
