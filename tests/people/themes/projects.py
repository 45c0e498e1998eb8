"""Parts of larger projects: devices, managers, hooks, registries, reports."""

from ..cell import written

PRELUDE = """
import os, sys, json, time, pickle, shutil, hashlib, tempfile, subprocess, threading, queue, sqlite3, glob, zipfile, gzip
import configparser, argparse, dataclasses, datetime, uuid, logging, io, functools, collections
from pathlib import Path
from dataclasses import dataclass, field, asdict
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### tog-cleanup-old
for i in range(3):
    np.save(f"ck_{i}.npy", np.zeros(2))
n = 3
---
np.save(f"ck_{n}.npy", np.asarray(x) * n)
n += 1
for old in sorted(glob.glob("ck_*.npy"))[:-2]:
    os.remove(old)
sorted(glob.glob("*.npy"))

### tog-rmtree
---
os.makedirs("work/a", exist_ok=True)
Path("work/a/t.txt").write_text(str(float(x.sum())))
y = x * len(list(Path("work").rglob("*")))
shutil.rmtree("work")
y
---
x = x + 1

### tog-device-and-file devices=2
np.save("w.npy", np.arange(4, dtype=np.float32))
d = jax.devices()[1]
---
w = jax.device_put(np.load("w.npy"), d)
w = w * 2
np.save("w.npy", w)
w.devices(), w
---
np.save("w.npy", np.ones(4, np.float32))

### tog-sharded-save devices=4
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
w = jax.device_put(jnp.arange(8.0), NamedSharding(mesh, P("x")))
---
w = w + 1
np.savez("w.npz", full=np.asarray(w), **{f"s{i}": np.asarray(s.data) for i, s in enumerate(w.addressable_shards)})
w.sharding.spec
---
w = jax.device_put(jnp.zeros(8), NamedSharding(mesh, P("x")))

### tog-model-on-device devices=2
class Model:
    def __init__(self, device):
        self.device = device
        self.w = jax.device_put(jnp.ones(4), device)
    def __call__(self, v):
        return jax.device_put(v, self.device) * self.w
    def to(self, device):
        self.device = device
        self.w = jax.device_put(self.w, device)
        return self
m = Model(jax.devices()[1])
---
y = m(x)
m.w = m.w * 0.5
y.devices(), m.w.devices()
---
m.to(jax.devices()[0]);

### tog-threads-each-device devices=2
from concurrent.futures import ThreadPoolExecutor
ds = jax.devices()[:2]
---
def work(d):
    return jax.device_put(np.ones(3, np.float32), d) * 2
with ThreadPoolExecutor(2) as ex:
    outs = list(ex.map(work, ds))
y = x.sum() + sum(float(o.sum()) for o in outs)
[o.devices() == {d} for o, d in zip(outs, ds)], y
---
x = x + 1

### tog-singleton-manager
class Manager:
    _it = None
    def __new__(cls):
        if cls._it is None:
            cls._it = super().__new__(cls)
            cls._it.store = {}
        return cls._it
---
Manager().store["x"] = x * 2
y = Manager().store["x"] + len(Manager().store)
Manager() is Manager(), y
---
Manager().store.clear()

### tog-observer-callbacks
class Trainer:
    def __init__(self):
        self.w, self.hooks = jnp.ones(4), []
    def step(self):
        self.w = self.w * 0.9
        for h in self.hooks:
            h(self)
norms = []
tr = Trainer()
tr.hooks.append(lambda t: norms.append(jnp.linalg.norm(t.w)))
tr.hooks.append(lambda t: print("step", len(norms)))
---
for _ in range(2):
    tr.step()
len(norms), norms[-1]
---
tr.hooks.pop()

### tog-pipeline-compose
def compose(*fs):
    return functools.reduce(lambda f, g: lambda v: g(f(v)), fs)
steps = [jnp.sin, lambda v: v * 2]
---
pipe = compose(*steps)
y = pipe(x)
y
---
steps.append(jnp.cos)

### tog-registry-of-losses
LOSSES = {"mse": lambda a, b: ((a - b) ** 2).mean(), "mae": lambda a, b: jnp.abs(a - b).mean()}
which = "mse"
---
loss = LOSSES[which](x, jnp.ones(4))
g = jax.grad(LOSSES[which])(x, jnp.ones(4))
loss, g
---
which = "mae"
---
LOSSES["mae"] = lambda a, b: jnp.abs(a - b).sum()

### tog-lr-finder
w = jnp.array([3.0])
---
lrs, losses = [], []
lr = 1e-3
while lr < 1:
    l, g = jax.value_and_grad(lambda w: (w**2).sum())(w)
    w = w - lr * g
    lrs.append(lr)
    losses.append(float(l))
    lr *= 5
lrs[int(np.argmin(losses))]
---
w = jnp.array([10.0])

### tog-ema-and-checkpoint
params, ema = {"w": x}, None
---
params = jax.tree.map(lambda p: p * 0.9, params)
ema = params if ema is None else jax.tree.map(lambda e, p: 0.5 * e + 0.5 * p, ema, params)
np.savez("ema.npz", **jax.device_get(ema))
ema["w"]
---
ema = None

### tog-html-report
---
rows = "".join(f"<tr><td>{i}</td><td>{v:.2f}</td></tr>" for i, v in enumerate(x))
Path("r.html").write_text(f"<table>{rows}</table>")
total = x.sum()
len(rows)
---
x = x * 2

### tog-env-and-seed
os.environ["SEED"] = "3"
---
seed = int(os.environ.get("SEED", 0))
r = jax.random.normal(jax.random.key(seed), (3,))
r
---
os.environ["SEED"] = "4"
---
del os.environ["SEED"]

### tog-plot-to-file needs=matplotlib
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
---
fig, ax = plt.subplots(figsize=(1, 1))
line, = ax.plot(np.asarray(x), np.asarray(jnp.sin(x)))
ys = line.get_ydata()
n = len(ax.lines)
plt.close(fig)
del fig, ax, line
n, type(ys)
---
x = x * 2
""",
)
