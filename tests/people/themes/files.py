"""Arrays in files: read, changed, saved; load if it exists, update, save."""

from ..cell import written

PRELUDE = """
import os, json, pickle, csv, io, pathlib
import jax, jax.numpy as jnp, numpy as np
from pathlib import Path
"""

CELLS = written(
    PRELUDE,
    r"""
### npy-load-beside-jnp
np.save("data.npy", np.arange(6.0).reshape(2, 3))
w = jnp.ones((3, 2))
---
y = jnp.tanh(np.load("data.npy") @ w)
y.sum()
---
np.save("data.npy", np.arange(6.0).reshape(2, 3) * 3)
---
w = w * 2

### npy-load-in-call
np.save("data.npy", np.linspace(0, 1, 5, dtype=np.float32))
def load(path):
    return jnp.asarray(np.load(path))
---
x = load("data.npy")
mean = x.mean()
print(x.shape, float(mean))
---
np.save("data.npy", np.linspace(0, 2, 7, dtype=np.float32))

### jnp-load
jnp.save("w.npy", jnp.arange(4.0))
---
w = jnp.load("w.npy")
z = w * 2 + 1
z
---
jnp.save("w.npy", jnp.arange(4.0) * 10)

### load-if-exists-update-save
x = jnp.arange(3.0)
---
state = jnp.asarray(np.load("state.npy")) if os.path.exists("state.npy") else jnp.zeros(3)
state = state + x
np.save("state.npy", state)
state
---
x = x * 2
---
os.remove("state.npy")

### load-if-exists-pathlib
path = Path("params.npz")
step = jnp.float32(0.5)
---
if path.exists():
    with np.load(path) as saved:
        params = {k: jnp.asarray(v) for k, v in saved.items()}
else:
    params = {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}
params = jax.tree.map(lambda p: p - step * p, params)
np.savez(path, **params)
sorted(params)
---
step = jnp.float32(0.25)
---
path.unlink()

### npz-bound
np.savez("set.npz", images=np.ones((4, 3), np.float32), labels=np.arange(4))
data = np.load("set.npz")
w = jnp.full((3, 2), 0.5)
---
logits = jnp.asarray(data["images"]) @ w
picked = logits[jnp.arange(4), data["labels"] % 2]
picked
---
w = w + 1

### loadtxt
np.savetxt("m.txt", np.eye(3) * 2)
v = jnp.arange(3.0)
---
out = jnp.dot(np.loadtxt("m.txt"), v)
out
---
np.savetxt("m.txt", np.eye(3) * 5)
---
v = v + 1

### genfromtxt-csv
Path("t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n")
---
table = np.genfromtxt("t.csv", delimiter=",", skip_header=1)
cols = jnp.asarray(table, jnp.float32).mean(axis=0)
cols
---
Path("t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n7,8,10\n")

### fromfile-in-expression
np.arange(8, dtype=np.float32).tofile("raw.bin")
scale = jnp.float32(2)
---
y = scale * jnp.asarray(np.fromfile("raw.bin", dtype=np.float32).reshape(2, 4))
y.sum(axis=1)
---
np.arange(8, dtype=np.float32)[::-1].tofile("raw.bin")
---
scale = jnp.float32(3)

### memmap-read
np.arange(12, dtype=np.float32).tofile("big.bin")
idx = jnp.array([0, 3, 5])
---
mm = np.memmap("big.bin", dtype=np.float32, mode="r", shape=(12,))
batch = jnp.take(jnp.asarray(mm), idx)
batch
---
np.arange(12, dtype=np.float32)[::-1].tofile("big.bin")
---
idx = jnp.array([1, 2])

### memmap-write
buffer = np.memmap("out.bin", dtype=np.float32, mode="w+", shape=(4,))
x = jnp.arange(4.0)
---
buffer[:] = jnp.sin(x) * 2
buffer.flush()
total = jnp.sum(x)
---
x = x + 1

### listdir-then-load
for i in range(3):
    np.save(f"part{i}.npy", np.full(2, float(i)))
---
parts = [np.load(f) for f in sorted(os.listdir(".")) if f.startswith("part")]
x = jnp.concatenate([jnp.asarray(p) for p in parts])
x
---
np.save("part3.npy", np.full(2, 9.0))

### glob-stack
for i in range(2):
    np.save(f"im_{i}.npy", np.eye(2) * i)
---
stack = jnp.stack([np.load(p) for p in sorted(Path(".").glob("im_*.npy"))])
stack.sum(axis=(1, 2))
---
np.save("im_2.npy", np.eye(2) * 7)

### loadmat needs=scipy.io
import scipy.io
scipy.io.savemat("m.mat", {"A": np.arange(4.0).reshape(2, 2)})
b = jnp.ones(2)
---
A = scipy.io.loadmat("m.mat")["A"]
y = jnp.linalg.norm(A @ b)
y
---
scipy.io.savemat("m.mat", {"A": np.eye(2) * 6})

### jitted-helper-loads
np.save("table.npy", np.array([1.0, 2.0, 4.0], np.float32))
def lookup(i):
    table = jnp.asarray(np.load("table.npy"))
    return table[i]
i = jnp.array([0, 2])
---
v = lookup(i) * 10
v
---
np.save("table.npy", np.array([5.0, 6.0, 7.0], np.float32))
---
i = jnp.array([1, 1])

### h5-write-read needs=h5py
import h5py
x = jnp.arange(6.0).reshape(2, 3)
---
with h5py.File("d.h5", "w") as f:
    f.create_dataset("x", data=np.asarray(x * 2))
    f.attrs["mean"] = float(x.mean())
with h5py.File("d.h5") as f:
    y = jnp.asarray(f["x"][:, 1:])
y
---
x = x - 1

### h5-append needs=h5py
import h5py
with h5py.File("log.h5", "w") as f:
    f.create_dataset("loss", shape=(0,), maxshape=(None,), dtype="f4")
w = jnp.array([1.0, -1.0])
---
loss = jnp.mean(w**2)
w = w * 0.5
with h5py.File("log.h5", "a") as f:
    d = f["loss"]
    d.resize(d.shape[0] + 1, axis=0)
    d[-1] = float(loss)
    n = d.shape[0]
n

### h5-open-handle needs=h5py
import h5py
with h5py.File("open.h5", "w") as f:
    f["x"] = np.arange(10.0)
handle = h5py.File("open.h5", "r+")
---
x = jnp.asarray(handle["x"][2:5]) ** 2
x.sum()
---
handle["x"][2:5] = 7.0

### bytesio-roundtrip
x = jnp.eye(2)
---
buf = io.BytesIO()
np.savez_compressed(buf, x=x)
buf.seek(0)
back = np.load(buf)["x"]
total = jnp.asarray(back).sum() + x.sum()
total
---
x = jnp.eye(2) * 3

### open-handle-appended
log = open("run.log", "w")
x = jnp.ones(2)
---
x = x * 1.5
log.write(f"{float(x.sum()):.2f}\n")
log.flush()
---
x = jnp.ones(2)

### tempfile-roundtrip
import tempfile
x = jnp.arange(4.0)
---
with tempfile.NamedTemporaryFile(suffix=".npy", dir=".") as f:
    np.save(f, np.asarray(x))
    f.seek(0)
    y = jnp.asarray(np.load(f)) + x
y
---
x = x * 2

### rename-rotates
x = jnp.zeros(2)
---
x = x + 1
if os.path.exists("latest.npy"):
    os.replace("latest.npy", "previous.npy")
np.save("latest.npy", x)
sorted(os.listdir())

### stat-size
x = jnp.arange(4, dtype=jnp.float32)
---
np.save("f.npy", x)
size = os.path.getsize("f.npy")
y = x / size
y
---
x = jnp.arange(40, dtype=jnp.float32)

### cached-preprocess
raw = np.arange(10.0)
def features():
    if not os.path.exists("cache.npy"):
        print("computing")
        np.save("cache.npy", (raw - raw.mean()) / raw.std())
    return np.load("cache.npy")
---
f = jnp.asarray(features())
g = jnp.cumsum(f)
g[-1]
---
os.remove("cache.npy")
raw = np.arange(10.0) ** 2
""",
)
