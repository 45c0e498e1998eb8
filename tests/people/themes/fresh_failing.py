"""Cells that fail after they have changed something: everything reachable is as before."""

from ..cell import written

PRELUDE = """
import array, collections, contextvars, dataclasses, enum, functools, heapq, io, types, weakref
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### ffl-dict-views-and-pops
d = collections.OrderedDict(a=x, b=x + 1, c=x + 2)
keys = d.keys()
---
d.move_to_end("a")
d.popitem(last=False)
d["z"] = x * 2
y = d["z"].reshape(3)

### ffl-set-and-frozen
seen, names = {1, 2}, frozenset({"a"})
---
seen |= {3}
seen.discard(1)
names |= {"b"}
y = jnp.dot(x, jnp.ones(3))

### ffl-bytearray-and-array
buf, arr = bytearray(b"abc"), array.array("f", [1.0, 2.0])
---
buf += b"d"
arr.append(float(x.sum()))
arr[0] = 9.0
y = x @ jnp.ones(5)

### ffl-numpy-slice-of-view
a = np.zeros((3, 4), np.float32)
row = a[1]
---
row[:] = np.asarray(x)
a[0] += 1
y = jnp.asarray(a) @ jnp.ones(3)

### ffl-object-class-and-dict
class A:
    k = 1
class B(A):
    k = 2
o = A(); o.v = x
---
o.v = o.v * 2
o.__class__ = B
o.__dict__.update(n=3)
del o.v
y = x[:2] + x[:3]

### ffl-class-attributes-and-methods
class Net:
    scale = 2.0
    hist = []
    def f(self, v):
        return v * self.scale
net = Net()
---
Net.scale = 3.0
Net.hist.append(net.f(x))
Net.f = lambda self, v: v
setattr(Net, "extra", x)
y = net.f(x).reshape(5)

### ffl-function-attributes
def f(v, n=2, *, w=[1]):
    return v * n
f.calls = 0
---
f.calls += 1
f.__defaults__ = (5,)
f.__kwdefaults__["w"].append(f(x))
f.__doc__ = "changed"
y = jnp.zeros((2, 2)) @ x

### ffl-nonlocal-cells
def make():
    total, log = jnp.zeros(4), {}
    def add(v):
        nonlocal total
        total = total + v
        log[len(log)] = total
        if len(log) > 1:
            raise RuntimeError(f"{len(log)} calls")
        return total
    def get():
        return total, len(log)
    return add, get
add, get = make()
---
a = add(x)
b = add(x)

### ffl-heap-and-deque
heap, dq = [3, 5, 9], collections.deque([x, x], maxlen=2)
---
heapq.heappush(heap, int(x.sum()))
heapq.heapreplace(heap, 7)
dq.append(x * 2)
dq.rotate(1)
raise KeyError("late")

### ffl-contextvar-and-stringio
mode = contextvars.ContextVar("mode", default="a")
---
tok = mode.set("b")
y = x * (2 if mode.get() == "b" else 1)
z = y.reshape(9)

### ffl-enum-and-dataclass
class Kind(enum.Enum):
    A = 1
    def bump(self):
        self.count = getattr(self, "count", 0) + 1
@dataclasses.dataclass
class S:
    w: jax.Array
    log: list = dataclasses.field(default_factory=list)
s = S(x)
---
Kind.A.bump()
s.w = s.w * 2
s.log += [s.w, Kind.A]
assert s.w.sum() < 3, f"too big: {s.w.sum():.1f}"

### ffl-weak-dicts
class Key: pass
k1, k2 = Key(), Key()
wk = weakref.WeakKeyDictionary({k1: x})
---
wk[k2] = x * 2
wk[k1] = wk[k1] + 1
y = wk[k2] @ jnp.ones(2)

### ffl-in-callback-of-library needs=optax
import optax
class Trainer:
    def __init__(self):
        self.tx, self.steps, self.best = optax.adam(0.1), 0, None
        self.p = {"w": x}
        self.state = self.tx.init(self.p)
    def step(self, g):
        self.steps += 1
        up, self.state = self.tx.update(g, self.state, self.p)
        self.p = optax.apply_updates(self.p, up)
        self.best = self.p["w"].sum() if self.best is None else self.best
        return self
tr = Trainer()
---
tr.step({"w": x}).step({"w": x * 2})
tr.step({"v": x})

### ffl-nnx-rngs-and-counts needs=flax
from flax import nnx
class Net(nnx.Module):
    def __init__(self, rngs):
        self.lin, self.drop = nnx.Linear(4, 4, rngs=rngs), nnx.Dropout(0.5, rngs=rngs)
        self.n = nnx.Variable(jnp.array(0))
    def __call__(self, v):
        self.n.value += 1
        return self.drop(self.lin(v))
net = Net(nnx.Rngs(0))
---
y = net(x)
net.lin.bias.value = y
net.tag = "late"
z = net(x[:3])

### ffl-config-and-random
import random
---
jax.config.update("jax_debug_infs", False)
y = x * 2
z = {"y": y}["missing"]

### ffl-in-finally-and-nested
log = []
class Res:
    def __enter__(self):
        log.append("in")
        return self
    def __exit__(self, kind, err, tb):
        log.append(kind.__name__ if kind else "out")
        return False
---
try:
    with Res() as r:
        log.append(x * 2)
        y = x.reshape(3)
finally:
    log.append("finally")
    n = len(log)
""",
)
