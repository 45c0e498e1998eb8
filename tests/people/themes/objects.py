"""Objects of the user's own: classes, slots, data classes, registries, sentinels, properties, defaults, closures."""

from ..cell import written

PRELUDE = """
import dataclasses, functools, enum, collections, copy, weakref, types, abc, operator, itertools
from dataclasses import dataclass, field
from typing import Any, NamedTuple
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### obj-attribute-update
class Model:
    def __init__(self):
        self.w = jnp.ones(4)
        self.calls = 0
    def __call__(self, x):
        self.calls += 1
        return x * self.w
m = Model()
---
y = m(x)
m.w = m.w + y
m.calls
---
m.w = jnp.zeros(4)
---
m.calls = 50

### obj-slots
class P:
    __slots__ = ("a", "b")
p = P()
p.a, p.b = jnp.zeros(4), 2
---
p.a = p.a + x * p.b
y = p.a.sum()
---
p.b = 3

### obj-dataclass-replace
@dataclass(frozen=True)
class State:
    w: Any
    step: int = 0
state = State(jnp.ones(4))
---
state = dataclasses.replace(state, w=state.w * 0.9 + x, step=state.step + 1)
state.step
---
state = State(jnp.zeros(4), 7)

### obj-sentinel-default
MISSING = object()
def f(x, y=MISSING):
    return x * 2 if y is MISSING else x + y
---
a = f(x)
b = f(x, 1.0)
tag = MISSING
tag is MISSING, a

### obj-sentinel-in-dict
UNSET = object()
config = {"scale": UNSET, "bias": 1.0}
---
resolved = {k: (2.0 if v is UNSET else v) for k, v in config.items()}
y = x * resolved["scale"] + resolved["bias"]
same = config["scale"] is UNSET
---
config["scale"] = 5.0

### obj-enum-mode
class Mode(enum.Enum):
    TRAIN = 1
    EVAL = 2
mode = Mode.TRAIN
---
y = x * 0.5 if mode is Mode.TRAIN else x
current = mode
current is Mode.TRAIN
---
mode = Mode.EVAL

### obj-registry-decorator
REG = {}
def register(fn):
    REG[fn.__name__] = fn
    return fn
---
@register
def square(v):
    return v * v
@register
def cube(v):
    return v ** 3
outs = {name: fn(x) for name, fn in REG.items()}
sorted(outs), REG["cube"] is cube

### obj-property
class Circle:
    def __init__(self, r):
        self._r = r
    @property
    def area(self):
        return jnp.pi * self._r ** 2
    @area.setter
    def area(self, a):
        self._r = jnp.sqrt(a / jnp.pi)
c = Circle(jnp.float32(2))
---
a = c.area
c.area = a * 4
c._r
---
c = Circle(jnp.float32(1))

### obj-cached-property
class Data:
    def __init__(self, x):
        self.x = x
        self.made = 0
    @functools.cached_property
    def stats(self):
        self.made += 1
        return self.x.mean(), self.x.std()
d = Data(x)
---
mean, std = d.stats
z = (x - mean) / (std + 1)
d.made
---
d = Data(x * 3)

### obj-mutable-default
def remember(v, seen=[]):
    seen.append(v)
    return len(seen)
---
n = remember(x * 2)
y = x * n
n

### obj-mutable-default-dict
def cached(k, table={}):
    if k not in table:
        table[k] = x * len(table)
    return table[k]
---
a = cached("a")
b = cached("b")
a is cached("a"), b

### obj-closure-counter
def make():
    n = 0
    total = jnp.zeros(4)
    def add(v):
        nonlocal n, total
        n += 1
        total = total + v
        return n
    def get():
        return total
    return add, get
add, get = make()
---
count = add(x)
y = get() * 2
count
---
add(jnp.ones(4))

### obj-closure-config
def make_loss(scale):
    def loss(w):
        return scale * jnp.sum((w - x) ** 2)
    return loss
loss = make_loss(2.0)
w = jnp.zeros(4)
---
v, g = jax.value_and_grad(loss)(w)
w = w - 0.1 * g
v
---
loss = make_loss(3.0)

### obj-aliases-in-containers
a = jnp.ones(4)
shared = [a, a]
table = {"p": shared, "q": shared}
---
shared[0] = shared[0] + x
table["p"].append(shared[0])
table["p"] is table["q"], shared[0] is shared[-1]
---
shared.clear(); shared.extend([a, a * 2])

### obj-self-reference
class Node:
    def __init__(self, v):
        self.v, self.me, self.children = v, self, []
root = Node(x)
root.children.append(Node(x * 2))
root.children[0].parent = root
---
total = root.v + root.children[0].v
root.children[0].parent.v = total
root.me is root, total
---
root.v = jnp.zeros(4)

### obj-weakref
class Box: pass
box = Box()
box.v = x
ref = weakref.ref(box)
---
y = ref().v * 2
ref() is box
---
box.v = x * 10

### obj-weak-dict
class Key: pass
k = Key()
cache = weakref.WeakKeyDictionary()
---
cache[k] = x + 1
y = cache[k] * 2
len(cache)
---
x = x * 2

### obj-same-object-returned
def norm(v):
    return v
---
y = norm(x)
z = jnp.asarray(x)
w = x
y is x, z is x, w is x

### obj-new-object-made
---
a = +x
b = jnp.ravel(x)
c = jnp.array(x)
d = x.copy()
e = x[:]
f = jnp.squeeze(x)
[v is x for v in (a, b, c, d, e, f)]

### obj-identity-of-casts
i = jnp.arange(3)
---
a = x.astype(jnp.float32)
b = x.reshape(4)
c = jnp.asarray(x, jnp.float32)
d = jnp.broadcast_to(x, (4,))
e = jax.lax.stop_gradient(x)
f = jnp.atleast_1d(x)
g = jax.tree.map(lambda v: v, {"x": x})["x"]
[v is x for v in (a, b, c, d, e, f, g)]

### obj-identity-of-ops
m = jnp.ones((2, 2))
---
a = m.T.T
b = jnp.transpose(m, (0, 1))
c = jnp.real(m)
d = jnp.conj(m)
e = jnp.concatenate([x])
f = jnp.where(True, x, x)
g = jnp.clip(x)
[v is m for v in (a, b, c, d)], [v is x for v in (e, f, g)]

### obj-namedtuple-state
class S(NamedTuple):
    mu: Any
    nu: Any
    step: int
s = S(jnp.zeros(4), jnp.zeros(4), 0)
---
s = s._replace(mu=0.9 * s.mu + 0.1 * x, step=s.step + 1)
type(s).__name__, s.step
---
s = S(jnp.ones(4), jnp.ones(4), 10)
""",
)
