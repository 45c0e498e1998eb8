"""Objects that cells change, classes, functions and what they read, errors, deletions, generators, random states."""

from people.cell import written

__all__ = ["CELLS"]

PRELUDE = """
import collections, contextlib, dataclasses, functools, itertools, random, typing
import jax, jax.numpy as jnp, numpy as np
x = jnp.linspace(0.0, 1.0, 6)
"""

CELLS = written(
    PRELUDE,
    r"""
### append-to-a-list
xs = []
---
xs.append(x.sum())
n = len(xs)
n

### a-list-with-two-names
xs = [1]; ys = xs
---
xs.append(2)
same = xs is ys
ys, same

### a-list-with-a-name-that-the-cell-does-not-read
xs = [1]; elsewhere = xs
---
xs.append(x[1])
len(xs)

### a-list-sent-first-by-one-name-and-then-by-another
xs = [1.0]; box = {"held": xs}; which = 0
---
if which == 0:
    n = len(xs)
else:
    box["held"].append(2.0)
    n = len(xs)
n, xs is box["held"]
---
which = 1

### dict-items-set-and-deleted
d = {"a": 1, "b": x, "c": None}
---
d["a"] += 1
del d["c"]
d["new"] = d["b"] * 2
d.setdefault("z", []).append(d["a"])
sorted(d)

### attributes-of-an-instance
class Box:
    def __init__(self):
        self.n, self.v = 0, x
    def step(self, by):
        self.n += 1
        self.v = self.v * by
        return self
box = Box()
---
out = box.step(2.0).v.sum()
box.n, out

### an-attribute-set-in-the-notebook
class Box:
    k = 1
    def f(self, v):
        return v * self.k * self.own
box = Box(); box.own = 2
---
y = box.f(x)
y.sum()
---
box.own = 5
---
Box.k = 3

### a-class-redefined-in-the-notebook
class F:
    def __call__(self, v):
        return v + 1
f = F()
---
y = f(x)
y[0]
---
class F:
    def __call__(self, v):
        return v + 10
f = F()

### a-class-attribute-taken-away-in-the-notebook
class F:
    gain = 2.0
    def __call__(self, v):
        return v * getattr(type(self), "gain", 1.0)
f = F()
---
y = f(x)
y.sum()
---
del F.gain

### dataclasses
@dataclasses.dataclass
class State:
    w: typing.Any
    step: int = 0
    log: list = dataclasses.field(default_factory=list)
s = State(x)
---
s.step += 1
s.w = s.w * 0.5
s.log.append(s.step)
t = dataclasses.replace(s, w=s.w + 1)
s == s, t.step

### frozen-and-slotted-dataclasses
@dataclasses.dataclass(frozen=True, slots=True)
class P:
    a: typing.Any
    b: int = 2
p = P(x)
---
q = P(p.a * p.b, 3)
try:
    q.b = 4
    changed = True
except dataclasses.FrozenInstanceError:
    changed = False
changed, hasattr(q, "__dict__")

### slots-stay-slots
class S:
    __slots__ = ("a", "_b", "__c")
    def __init__(self):
        self.a, self._b, self.__c = 1, x, "c"
    def c(self):
        return self.__c
s = S()
---
s.a += 1
try:
    s.z = 1
    told = "set"
except AttributeError:
    told = "refused"
told, s.c(), s._b.sum()

### a-registered-pytree
@jax.tree_util.register_pytree_node_class
class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b
    def tree_flatten(self):
        return (self.a, self.b), None
    @classmethod
    def tree_unflatten(cls, aux, parts):
        return cls(*parts)
p = Pair(x, 2.0)
---
q = jax.tree.map(lambda v: v * 2, p)
n = len(jax.tree.leaves(p))
f = jax.jit(lambda p: p.a.sum() + p.b)
r = f(q)
n, r

### a-registered-pytree-with-keys
class W:
    def __init__(self, w):
        self.w = w
jax.tree_util.register_pytree_with_keys(
    W, lambda o: (((jax.tree_util.GetAttrKey("w"), o.w),), None), lambda aux, c: W(*c))
o = W(x)
---
paths = [jax.tree_util.keystr(p) for p, _ in jax.tree_util.tree_leaves_with_path({"o": o})]
total = jax.tree.reduce(jnp.add, jax.tree.map(jnp.sum, o))
paths

### a-registered-dataclass
@functools.partial(jax.tree_util.register_dataclass, data_fields=["w", "b"], meta_fields=["name"])
@dataclasses.dataclass
class Params:
    w: typing.Any
    b: typing.Any
    name: str = "p"
p = Params(x, jnp.ones(()))
---
@jax.jit
def loss(p):
    return ((p.w * p.b) ** 2).sum()
g = jax.grad(loss)(p)
paths = [jax.tree_util.keystr(k) for k, _ in jax.tree_util.tree_leaves_with_path(p)]
g.name, paths
---
p = Params(p.w * 2, p.b, "q")

### a-static-class
@jax.tree_util.register_static
class Mode(str):
    pass
m = Mode("max")
---
f = jax.jit(lambda v, m: v.max() if m == "max" else v.min())
y = f(x, m)
y

### inheritance-super-and-properties
class Base:
    made = []
    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        Base.made.append(cls.__name__)
    def __init__(self, w):
        self.w = w
    @property
    def norm(self):
        return jnp.sqrt((self.w ** 2).sum())
class Child(Base):
    def __init__(self, w, k):
        super().__init__(w * k)
        self.k = k
    @staticmethod
    def s(v):
        return v + 1
    @classmethod
    def c(cls, w):
        return cls(w, 3)
child = Child(x, 2)
---
again = Child.c(Child.s(x))
n, made = again.norm, list(Base.made)
n, isinstance(again, Base), made

### a-metaclass
class Meta(type):
    names = []
    def __new__(mcs, name, bases, body):
        made = super().__new__(mcs, name, bases, body)
        mcs.names.append(name)
        made.size = len([k for k in body if not k.startswith("_")])
        return made
class A(metaclass=Meta):
    a = 1
    b = 2
---
size, names = A.size, list(Meta.names)
y = x * A.a
size, names

### operators-and-descriptors
class Vec:
    def __init__(self, v):
        self.v = v
    def __add__(self, o):
        return Vec(self.v + o.v)
    def __matmul__(self, o):
        return (self.v * o.v).sum()
    def __getitem__(self, i):
        return self.v[i]
    def __len__(self):
        return self.v.shape[0]
    def __repr__(self):
        return f"Vec{self.v.shape}"
a = Vec(x)
---
b = a + a
c = b @ a
print(b, len(b))
repr(b), c

### generic-and-protocol
T = typing.TypeVar("T")
class Sized(typing.Protocol):
    def size(self) -> int: ...
class Box(typing.Generic[T]):
    def __init__(self, v: T):
        self.v = v
    def get(self) -> T:
        return self.v
b = Box[int](x)
---
y = b.get() * 2
origin = Box[int].__origin__ is Box
origin

### decorators-of-the-notebook
calls = []
def counted(f):
    @functools.wraps(f)
    def g(*a, **k):
        calls.append(f.__name__)
        return f(*a, **k)
    return g
@counted
def f(v):
    return v * 2
---
y = f(f(x))
print(calls)
f.__name__, len(calls)

### lru-cache-of-the-notebook
@functools.lru_cache
def table(n):
    return np.arange(n) ** 2
---
y = jnp.asarray(table(4)) * 2
z = table(4) is table(4)
y, z

### nonlocal-counters
def make():
    n = 0
    def f(v):
        nonlocal n
        n += 1
        return v * n
    return f
f = make()
---
a = f(x)
b = f(x)
a.sum(), b.sum()

### functions-that-read-globals-that-change
scale = 2.0
def inner(v):
    return v * scale
def outer(v):
    return inner(v) + shift
shift = 1
---
y = outer(x)
y.sum()
---
scale = 3.0
---
shift = jnp.ones(6)

### a-function-redefined
def f(v):
    return v + 1
def g(v):
    return f(v) * 2
---
y = g(x)
y[0]
---
def f(v):
    return v - 1

### a-function-that-sets-a-global
count = 0
def bump(v):
    global count
    count += 1
    return v + count
---
y = bump(bump(x))
count, y[0]

### recursion-and-mutual-recursion
def even(n):
    return True if n == 0 else odd(n - 1)
def odd(n):
    return False if n == 0 else even(n - 1)
def power(v, n):
    return v if n == 1 else v * power(v, n - 1)
---
y = power(x, 3)
e = even(6)
e, y.sum()

### partial-and-default-arguments
def f(v, k=x, *, s=2):
    return v * k * s
p = functools.partial(f, s=3)
---
y = p(x) + f(x)
y.sum()
---
p = functools.partial(f, x + 1, s=1)

### generators
def gen(n):
    for i in range(n):
        yield x * i
---
total = sum(v.sum() for v in gen(4))
first = next(gen(2))
zs = list(itertools.islice((i * i for i in itertools.count()), 4))
total, zs

### iterators-made-in-the-cell
---
it = iter([1, 2, 3])
a = next(it)
pairs = list(zip(it, "ab"))
y = x * a
pairs

### context-managers
log = []
@contextlib.contextmanager
def noted(name):
    log.append(f"in {name}")
    yield name
    log.append(f"out {name}")
---
with noted("a") as n:
    y = x + 1
log, n

### try-except-finally
---
try:
    bad = {}["k"]
except KeyError as e:
    told = repr(e)
finally:
    after = x.sum()
told

### an-error-in-the-middle
d = {"n": 1}; xs = [1]
---
y = x + 1
d["n"] = 5
xs.append(2)
print("before")
raise ValueError("stop here")

### an-error-by-key
d = {"a": 1}
---
y = x * 2
d["missing"]

### an-error-of-shapes
---
y = x + 1
z = y @ jnp.ones((3, 3))

### a-zero-division
n = 0
---
y = x * 3
k = 5 // n
---
n = 2

### an-error-class-of-the-notebook
class Diverged(RuntimeError):
    def __init__(self, step, loss):
        super().__init__(f"step {step}: {loss:.1f}")
        self.step, self.loss = step, loss
---
y = x * 2
raise Diverged(3, float(y.sum()))

### an-assertion
---
y = x.sum()
assert y > 100, f"too small: {y:.2f}"

### a-name-that-is-not-there
---
y = x + 1
z = undefined_name * 2

### an-attribute-that-is-not-there
---
y = x.nothing

### a-type-error-with-a-note
---
e = TypeError("odd")
e.add_note("look here")
raise e

### a-stop-iteration
---
y = x + 1
next(iter([]))

### an-os-error
---
y = x * 1
open("/nowhere/at/all")

### names-deleted
a = 1; b = x; c = [1]
---
y = b + a
del a, b
z = y.sum()
z
---
a = 2; b = x * 2

### a-name-deleted-that-was-made-there
---
tmp = x * 2
y = tmp.sum()
del tmp
y

### a-name-that-may-stay-unbound
flag = True
---
if flag:
    maybe = x.sum()
y = x + 1
flag
---
flag = False
del globals()["maybe"]

### loops-leave-their-names
---
for i, v in enumerate([x, x * 2]):
    last = v.sum()
else:
    done = True
while i > 0:
    i -= 1
i, last

### host-statements-between-pieces
history = []
---
y = x * 2
s = float(y.sum())
history.append(s)
if s > 1:
    y = y / s
print(f"{s:.2f}")
z = y.sum()
history, z

### branch-on-a-value
t = 0.5
---
if x.mean() > t:
    side = "above"
    y = x - t
else:
    side = "below"
    y = t - x
side
---
t = 0.1

### match-statement
cmd = ("scale", 3)
---
match cmd:
    case ("scale", k):
        y = x * k
    case {"shift": s}:
        y = x + s
    case _:
        y = None
y
---
cmd = {"shift": 2}
---
cmd = None

### random-states-seeded-in-the-notebook
random.seed(5); np.random.seed(5)
---
a = random.random()
b = np.random.normal(size=3)
i = random.sample(range(100), 3)
y = x * a + b.sum()
i
---
random.seed(7)
---
c = np.random.rand()

### a-generator-of-numpy
rng = np.random.default_rng(0)
---
v = rng.normal(size=4)
y = jnp.asarray(v).sum()
k = int(rng.integers(100))
k

### a-shared-object-in-two-containers
inner = [x]; a = {"i": inner}; b = (inner, 1)
---
inner.append(x * 2)
same = a["i"] is b[0] is inner
same, len(a["i"])

### a-cycle
node = {"v": x}; node["self"] = node
---
node["v"] = node["v"] * 2
again = node["self"]["self"]["v"].sum()
again

### copies
import copy
obj = {"a": [x, 1]}
---
shallow = dict(obj)
deep = copy.deepcopy(obj)
deep["a"][1] = 2
shallow["a"] is obj["a"], deep["a"][1], obj["a"][1]

### sets-of-texts-that-are-gone-through
names = {"alpha", "beta", "gamma", "delta", "epsilon"}
---
total = jnp.zeros(6)
for name in names:
    total = jnp.sin(total) * 0 + total + x * len(name)
del name
total

### a-stack-of-objects
class Layer:
    def __init__(self, n):
        self.w = jnp.full(n, 0.5)
    def __call__(self, v):
        return jnp.tanh(v * self.w)
net = [Layer(6) for _ in range(3)]
---
h = x
for layer in net:
    h = layer(h)
net[0].w = net[0].w + 0.1
h.sum()
---
k = 0

### weak-references-and-ids
import weakref
class O:
    pass
---
o = O()
r = weakref.ref(o)
alive = r() is o
del r
alive

### modules-and-imports
---
import math as m
from collections import OrderedDict as OD
import jax.scipy.special as sp
y = sp.erf(x) * m.pi
kind = OD.__name__
kind

### jit-in-the-cell-used-by-its-next-run
k = 0
---
if k == 0:
    step = jax.jit(lambda v: v * 2)
y = step(x)
y.sum()
---
k = 1

### type-checks
---
kinds = isinstance(x, jax.Array), type(1.0) is float, isinstance(x + 1, jnp.ndarray)
kinds

### long-cells-of-many-names
---
a0 = x; a1 = a0 + 1; a2 = a1 * 2; a3 = a2 - a0; a4 = a3 / 3
b0, b1 = a4.sum(), a4.max()
c = {f"k{i}": v for i, v in enumerate([a0, a1, a2, a3, a4])}
len(c)
""",
)
