"""Containers of the user: shared lists, registries, deques, defaults, namespaces, snapshots."""

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
### obj-registered-pytree
@jax.tree_util.register_pytree_node_class
class Vec:
    def __init__(self, a, name):
        self.a, self.name = a, name
    def tree_flatten(self):
        return (self.a,), self.name
    @classmethod
    def tree_unflatten(cls, aux, kids):
        return cls(kids[0], aux)
v = Vec(x, "v")
---
v2 = jax.tree.map(lambda a: a * 2, v)
f = jax.jit(lambda v: Vec(v.a + 1, v.name))
v3 = f(v2)
v3.name, v3.a
---
v = Vec(x * 5, "other")

### obj-abstract-and-super
class Base(abc.ABC):
    def __init__(self):
        self.scale = jnp.float32(2)
    @abc.abstractmethod
    def f(self, x): ...
class Child(Base):
    def __init__(self):
        super().__init__()
        self.off = 1.0
    def f(self, x):
        return x * self.scale + self.off
c = Child()
---
y = c.f(x)
isinstance(c, Base), y
---
c.off = 3.0

### obj-class-made-in-cell
---
class Layer:
    count = 0
    def __init__(self, n):
        Layer.count += 1
        self.w = jnp.full(n, 0.5)
    def __call__(self, v):
        return v * self.w
layers = [Layer(4) for _ in range(2)]
y = x
for layer in layers:
    y = layer(y)
Layer.count, y

### obj-classmethod-state
class Pool:
    items = []
    total = 0
    @classmethod
    def add(cls, v):
        cls.items.append(v)
        cls.total = cls.total + v.sum()
---
Pool.add(x * 2)
len(Pool.items), Pool.total
---
Pool.items.clear()

### obj-operators
@dataclass
class Vec2:
    a: Any
    b: Any
    def __add__(self, o):
        return Vec2(self.a + o.a, self.b + o.b)
    def __eq__(self, o):
        return NotImplemented
    __hash__ = object.__hash__
u = Vec2(x, x * 2)
---
w = u + u
both = {u: "u"}
both[u], w.b

### obj-partial-and-operator
scale = functools.partial(operator.mul, 3.0)
get = operator.itemgetter(1)
---
y = scale(get((1, x)))
z = functools.reduce(operator.add, [x, y, x])
z
---
scale = functools.partial(operator.mul, 4.0)

### obj-defaultdict-counter
stats = collections.defaultdict(list)
seen = collections.Counter()
---
stats["mean"].append(x.mean())
seen["run"] += 1
y = x * seen["run"]
len(stats["mean"])
---
stats.clear()

### obj-deque-window
window = collections.deque(maxlen=3)
---
window.append(x * (len(window) + 1))
avg = sum(window) / len(window)
avg
---
window.clear()

### obj-ordered-pop
queue = collections.OrderedDict((k, x * i) for i, k in enumerate("abcdef"))
---
k, v = queue.popitem(last=False)
y = v + 1
k, len(queue)

### obj-dict-del-and-update
d = {"a": x, "b": x * 2, "c": 3}
---
d["d"] = d["a"] + d["b"]
del d["c"]
d["c"] = 4
list(d), d["d"]
---
d["a"] = x * 7

### obj-set-of-strings
names = {"w"}
---
names.add("b")
y = x * len(names)
sorted(names)
---
names.discard("b")

### obj-simplenamespace
cfg = types.SimpleNamespace(lr=0.1, w=jnp.ones(4), tags=["a"])
---
cfg.w = cfg.w - cfg.lr * x
cfg.tags.append("b")
cfg.note = "done"
len(cfg.tags)
---
cfg.lr = 0.5

### obj-getattr-dynamic
class Params:
    def __init__(self, **kw):
        self.__dict__.update(kw)
    def __getattr__(self, name):
        if name.startswith("auto_"):
            return jnp.float32(len(name))
        raise AttributeError(name)
p = Params(w=x)
---
y = p.w * p.auto_scale
has = hasattr(p, "nothing")
y, has
---
p.w = x + 1

### obj-context-manager-timer
class Track:
    def __init__(self):
        self.depth, self.log = 0, []
    def __enter__(self):
        self.depth += 1
        return self
    def __exit__(self, *e):
        self.log.append(self.depth)
        self.depth -= 1
t = Track()
---
with t as inner:
    with t:
        y = x * 2
z = y + t.depth
t.log, inner is t

### obj-deepcopy-snapshot
params = {"w": x, "layers": [jnp.ones(2)]}
---
saved = copy.deepcopy(params)
shallow = copy.copy(params)
params["w"] = params["w"] + 1
saved["w"] is params["w"], shallow["layers"] is params["layers"]

### obj-iterator-protocol
class Loader:
    def __init__(self, n):
        self.n, self.epochs = n, 0
    def __iter__(self):
        self.epochs += 1
        for i in range(self.n):
            yield x + i
loader = Loader(3)
---
total = sum(b.sum() for b in loader)
total, loader.epochs

### obj-generator-held
def batches():
    i = 0
    while True:
        yield x * i
        i += 1
gen = batches()
---
b = next(gen)
y = b + 1
y

### obj-dict-iter-type
d = {"a": x, "b": x * 2}
---
it = iter(d)
keys = d.keys()
first = next(it)
y = d[first] * 2
type(it).__name__, type(keys).__name__
""",
)
