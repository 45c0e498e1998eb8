"""Variants of what the promises name: the outside, module state, placement, precision, identity, caches, failures."""

from ..cell import written

PRELUDE = """
import os, sys, io, json, tempfile, pickle, threading, time, random, functools, logging, types, importlib
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P, AxisType, SingleDeviceSharding
x = jnp.linspace(0.0, 1.0, 8)
"""

CELLS = written(
    PRELUDE,
    r"""
### gc-loadtxt-in-expression
np.savetxt("d.txt", np.arange(8.0))
---
y = jnp.asarray(np.loadtxt("d.txt")) * x
---
np.savetxt("d.txt", np.arange(8.0) * 2)
---
np.savetxt("d.txt", np.ones(8))

### gc-load-helper-in-class
class Data:
    def __init__(self, path): self.path = path
    @property
    def table(self): return np.fromfile(self.path, dtype=np.float32)
np.arange(8, dtype=np.float32).tofile("d.bin")
data = Data("d.bin")
---
def score(v):
    return jnp.dot(v, data.table)
s = score(x) + jnp.sum(x)
---
np.ones(8, dtype=np.float32).tofile("d.bin")
---
data.path = "e.bin"; np.full(8, 3, np.float32).tofile("e.bin")

### gc-memmap-update
m = np.memmap("m.dat", dtype=np.float32, mode="w+", shape=(8,)); m[:] = 1; m.flush(); del m
---
mm = np.memmap("m.dat", dtype=np.float32, mode="r+", shape=(8,))
mm[:] = np.asarray(jnp.tanh(jnp.asarray(mm) + x))
mm.flush()
total = jnp.asarray(mm).sum()
del mm
---
m = np.memmap("m.dat", dtype=np.float32, mode="r+", shape=(8,)); m[0] = 9; m.flush(); del m

### gc-scipy-loadmat
import scipy.io
scipy.io.savemat("a.mat", {"a": np.arange(8.0)})
---
a = jnp.asarray(scipy.io.loadmat("a.mat")["a"][0], jnp.float32)
b = jnp.sin(a) @ x
---
scipy.io.savemat("a.mat", {"a": np.ones(8)})

### gc-genfromtxt-csv-stringio
text = "1,2\n3,4\n"
---
t = jnp.asarray(np.genfromtxt(io.StringIO(text), delimiter=",")).astype(jnp.float32) * 2
u = t.sum()
---
text = "5,6\n7,8\n"

### gc-environ-read
os.environ["GC_SCALE"] = "2"
---
y = x * float(os.environ["GC_SCALE"]) + float(os.getenv("GC_NONE", "1"))
---
os.environ["GC_SCALE"] = "3"
---
os.environ["GC_NONE"] = "5"

### gc-argv-in-helper
sys.argv = ["prog", "--n", "4"]
def count():
    return int(sys.argv[sys.argv.index("--n") + 1])
---
y = jnp.arange(count()) * 1.5
---
sys.argv[2] = "6"
---
sys.argv = ["prog", "--n", "2"]

### gc-geterr
---
r = jnp.where(x > 0.5, x, 0) * (2 if np.geterr()["divide"] == "warn" else 3)
---
np.seterr(divide="ignore")

### gc-recursion-and-printoptions
---
s = jnp.sum(x) + len(np.array2string(np.arange(3) / 3.0)) + sys.getrecursionlimit() * 0
---
np.set_printoptions(precision=2)

### gc-module-on-disk-constant
Path("mylib.py").write_text("SCALE = 2.0\nTABLE = {'k': 3}\nimport jax.numpy as jnp\ndef f(v):\n    return jnp.tanh(v) * SCALE + TABLE['k']\n")
import mylib
---
y = mylib.f(x)
---
mylib.SCALE = 4.0
---
mylib.TABLE['k'] = 7
---
mylib.TABLE = {'k': 1}
---
Path("mylib.py").write_text("SCALE = 2.0\nTABLE = {'k': 3}\nimport jax.numpy as jnp\ndef f(v):\n    return jnp.sin(v) * SCALE\n"); importlib.invalidate_caches(); importlib.reload(mylib)

### gc-scipy-constant
import scipy.constants
scipy.constants.my_scale = 2.0
---
y = x * scipy.constants.my_scale * scipy.constants.pi
---
scipy.constants.my_scale = 5.0

### gc-put-to-sharding devices=4
mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Auto,))
---
a = jnp.arange(8.0) * 2
b = jax.device_put(a, NamedSharding(mesh, P("d")))
c = b + 1
t = jax.tree.map(lambda v: jax.device_put(v, NamedSharding(mesh, P("d"))), {"u": a * 3, "v": [a - 1]})
d = t["u"].sum()
---
mesh = jax.make_mesh((2, 2), ("d", "e"), axis_types=(AxisType.Auto,) * 2)

### gc-put-to-other-device devices=2
dev = jax.devices()[1]
---
a = jnp.sin(x)
b = jax.device_put(a, dev)
c = b * 2
e = jax.device_put({"k": a + 1}, dev)
f = jax.device_put(np.arange(3), dev) + 1
---
dev = jax.devices()[0]

### gc-default-device devices=2
dev = jax.devices()[1]
---
with jax.default_device(dev):
    a = jnp.ones(4)
    b = a * 2 + jnp.arange(4)
c = jnp.ones(3) + 1
d = x + 1
---
dev = jax.devices()[0]

### gc-incompatible devices=2
a0 = jax.device_put(jnp.ones(3), jax.devices()[0]); b0 = jax.device_put(jnp.ones(3), jax.devices()[1])
---
try:
    r = jnp.add(a0 * 2, b0 * 2)
    ok = True
except ValueError as e:
    ok = False
s = a0.sum()

### gc-incompatible-raises devices=2
a0 = jax.device_put(jnp.ones(3), jax.devices()[0]); b0 = jax.device_put(jnp.ones(3), jax.devices()[0])
---
first = a0 * 2
r = first + b0
---
b0 = jax.device_put(jnp.ones(3), jax.devices()[1])
---
b0 = jnp.ones(3)

### gc-set-mesh-p devices=4
mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType.Explicit,))
jax.set_mesh(mesh)
---
a = jax.device_put(jnp.arange(8.0), P("d"))
b = a * 2
c = jnp.sum(b)
jax.typeof(b)
---
x = x + 1

### gc-precision-time
t = np.array([1e9 + 0.1, 1e9 + 0.2, 1e9 + 0.35])
---
dt = jnp.array(t - t[0])
rate = jnp.array((t[1:] - t[:-1]) / 3) * 2 + x[:2]
---
t = t + 1e9

### gc-precision-helper
def center(a):
    m = a.mean(axis=0, keepdims=True)
    return (a - m) / (a.std(axis=0) + 1e-9)
data = np.arange(12.0).reshape(6, 2) * 1e8 + np.array([[0.25, 0.5]])
---
z = jnp.asarray(center(data), dtype=jnp.float32)
w = jnp.dot(z.T, z) / len(data)
---
data = data + 0.125

### gc-device-get
---
h = jax.device_get({"a": x * 2, "b": [x.sum(), 3]})
g = jax.device_get(jnp.tanh(x))
g2 = g + 1e-9
type(g), type(h["a"]), h["a"].flags.writeable
---
x = x.astype(jnp.float16)

### gc-readonly-views
base = np.arange(8.0); base.setflags(write=False)
v = np.arange(8.0); view = v[2:5]
---
y = jnp.asarray(base) * 2
w = view
w[0] = float(y[1])
base2 = base
wb = w.base is v
---
v[3] = 100

### gc-dict-iter
d = {"a": x, "b": x * 2}
---
it = iter(d)
first = next(it)
s = d[first] + d[next(it)]
kv = d.keys()
vals = list(d.values())
---
d = {"c": x * 3, "a": x}

### gc-sentinels
class Sentinel:
    def __repr__(self): return "MISSING"
    def __bool__(self): return False
MISSING = Sentinel()
registry = []
def register(f):
    registry.append(f)
    return f
---
@register
def f(a, b=MISSING):
    return a * 2 if b is MISSING else a * b
y = f(x)
z = f(x, 3.0)
m = MISSING
same = m is MISSING
---
registry.clear()

### gc-noop-aliases
---
a = jnp.ravel(x)
b = +x
c = jnp.squeeze(x)
d = x.astype(x.dtype)
e = jnp.asarray(x)
f = x[:]
g = x.reshape(8)
h = jnp.array(x)
i = x.copy()
k = jnp.broadcast_to(x, (8,))
l = jnp.transpose(x)
m = jax.lax.stop_gradient(x)
n = jnp.atleast_1d(x)
o = jnp.real(x)
p = x.real
q = x.T
[v is x for v in (a, b, c, d, e, f, g, h, i, k, l, m, n, o, p, q)]

### gc-static-self-then-plain
class Times:
    def __init__(self, a): self.a = a
    @functools.partial(jax.jit, static_argnums=0)
    def times(self, y): return self.a * y
t = Times(jnp.arange(8.0)); u = Times(2.5)
---
p = t.times(x)
q = u.times(x)
---
plain_p, plain_q = t.times(x), u.times(x)
---
t.a = jnp.ones(8)
---
x = x + 1

### gc-custom-jvp-nondiff
@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def scaled(k, v): return k * jnp.sin(v)
@scaled.defjvp
def _(k, primals, tangents):
    (v,), (dv,) = primals, tangents
    return scaled(k, v), k * jnp.cos(v) * dv
k = 2.0
---
y = scaled(k, x)
g = jax.grad(lambda v: scaled(k, v).sum())(x)
---
yy = scaled(2.0, x); k = 3.0
---
k = 4.0

### gc-object-array
---
o = np.empty(2, object)
o[0] = x * 2
o[1] = {"v": x + 1}
s = o[0].sum()
---
x = x + 1

### gc-undone-defaults
def f(v, scale=2.0, *, shift=1.0): return v * scale + shift
lst = [1]
bad = False
---
y = f(x)
f.__defaults__ = (3.0,)
f.__kwdefaults__ = {"shift": 5.0}
lst.append(y.sum())
if bad:
    raise ValueError("stop")
---
bad = True
---
bad = False

### gc-undone-frame
import pandas as pd
df = pd.DataFrame({"a": [1.0, 2.0]})
bad = False
---
df["b"] = np.asarray(x[:2] * 2)
df.loc[0, "a"] = float(x.sum())
df = df if not bad else df["nope"]
---
bad = True
---
bad = False

### gc-undone-ref
ref = jax.new_ref(jnp.zeros(3))
bad = 1
---
ref[...] = ref[...] + 1
y = ref[...] * 2
z = jnp.ones(3) / bad
1 // bad
---
bad = 0
---
bad = 2

### gc-hist-last
hist = []
w = x
---
loss = jnp.mean(w ** 2)
w = w - 0.1 * 2 * w / 8
hist.append(loss)
best = min(hist[-1], loss)
n = len(hist)
---
hist.clear()

### gc-logs-every-20
log = []
w = x
---
for i in range(40):
    w = w - 0.01 * jax.grad(lambda v: jnp.sum(v ** 4))(w)
    if i % 20 == 0:
        log.append((i, float(jnp.sum(w))))
len(log), log[-1][0]
---
log = []

### gc-print-in-helper
log = logging.getLogger("gc")
log.setLevel(logging.INFO)
def step(w, i):
    print("step", i, "shape", w.shape)
    log.info("working %d", i)
    w = w * 0.9
    print(f"mean {w.mean():.4f}")
    return w
---
w = x
for i in range(3):
    w = step(w, i)
print("done", w.shape)
w.sum()
---
x = x + 1

### gc-holds-random-and-stdout
class Trainer:
    def __init__(self):
        self.rng = random.Random(0); self.out = sys.stdout; self.w = x; self.lock = threading.Lock(); self.log = logging.getLogger("t")
    def step(self):
        self.w = self.w * 0.5 + jnp.tanh(self.w)
        return self.w.sum()
tr = Trainer()
---
l1 = tr.step()
l2 = tr.step()
---
tr.w = jnp.ones(8)
---
tr.rng = random.Random(3)

### gc-event-loop-and-thread watched
stop = threading.Event()
state = {"w": x, "n": 0.5, "clock": [0.0]}
def tick():
    while not stop.is_set():
        state["clock"][0] += 0.0; time.sleep(0.001)
th = threading.Thread(target=tick, daemon=True); th.start()
---
state["w"] = state["w"] * state["n"] + 1
y = jnp.tanh(state["w"]).sum()
---
state["n"] = 0.25

### gc-orbax-wait
import orbax.checkpoint as ocp
def save(tree, path):
    with ocp.StandardCheckpointer() as ck:
        ck.save(path, tree, force=True)
        ck.wait_until_finished()
params = {"w": x, "b": jnp.ones(2)}
---
params = jax.tree.map(lambda v: v * 0.5 + 1, params)
save(params, Path(place).resolve() / "ck")
with ocp.StandardCheckpointer() as ck:
    back = ck.restore(Path(place).resolve() / "ck", jax.tree.map(jnp.zeros_like, params))
ok = jnp.allclose(back["w"], params["w"])
files = sorted(p.name for p in Path(".").iterdir())
---
params = {"w": x * 3, "b": jnp.zeros(2)}
""",
)
