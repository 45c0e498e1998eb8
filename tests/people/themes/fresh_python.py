"""Python's own corners in honest cells: scoping, exceptions, descriptors, generators, dynamic code, copies."""

from ..cell import written

PRELUDE = """
import sys, os, copy, functools, itertools, operator, collections, contextlib, dataclasses, types, inspect, traceback
import abc, enum, heapq, hashlib, pickle, weakref, typing
import jax, jax.numpy as jnp, numpy as np
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### fpy-keys-from-iterator
keys = iter(jax.random.split(jax.random.key(17), 64))
---
w = jax.random.normal(next(keys), (3,))
b = jax.random.uniform(next(keys))
y = w * b

### fpy-key-sequence-class
class Keys:
    def __init__(self, seed):
        self.key, self.given = jax.random.PRNGKey(seed), 0
    def __iter__(self):
        return self
    def __next__(self):
        self.key, sub = jax.random.split(self.key)
        self.given += 1
        return sub
keys = Keys(0)
---
a, b = (jax.random.normal(k, (2,)) for k, _ in zip(keys, range(2)))
y = a + b
keys.given, y
---
keys.key = jax.random.PRNGKey(4)

### fpy-global-key
key = jax.random.key(0)
def draw(shape):
    global key
    key, sub = jax.random.split(key)
    return jax.random.normal(sub, shape)
---
noise = draw((3,)) + draw((3,))
noise
---
key = jax.random.key(7)

### fpy-walrus-in-comprehension
---
kept = [last := v * 2 for v in x]
total = sum(y for v in x if (y := v + 1) is not None)
last, y, total
---
x = x + 1

### fpy-class-body-loop
---
class Table:
    rows = []
    for i in range(3):
        rows.append(x * i)
    total = sum(rows)
    names = [f"r{n}" for n in range(3)]
    del i
y = Table.total + Table.rows[1]
hasattr(Table, "i"), Table.names, y
---
x = x * 3

### fpy-late-binding
---
fs = [lambda v: v * i for i in range(3)]
gs = [lambda v, i=i: v * i for i in range(3)]
late = [f(x)[1] for f in fs]
early = [g(x)[1] for g in gs]
late, early
---
x = x + 2

### fpy-aliased-augmented
a = x
n = np.ones(4)
---
b, k = a, n
a += 1
n += 1
b is a, k is n, float(k[0]), a - b
---
a = x

### fpy-tuple-iadd-raises
t = ([x], "tag")
---
try:
    t[0] += [x * 2]
except TypeError as err:
    why = str(err)
n = len(t[0])
n, why, t[0][-1]
---
del t[0][1:]

### fpy-finally-overrides
log = []
def f(v):
    try:
        if v.shape[0] > 3:
            raise ValueError("big")
        return v
    except ValueError:
        log.append("except")
        return v * 10
    finally:
        log.append("finally")
def g(v):
    for i in range(3):
        try:
            continue
        finally:
            log.append(i)
    else:
        log.append("else")
    return v
---
y = g(f(x)) + f(x[:2]).sum()
log[-8:], y
---
log.clear()

### fpy-except-star
def check(v):
    errs = []
    if v.ndim == 1:
        errs.append(ValueError("1d"))
    if v.shape[0] < 5:
        errs.append(KeyError("short"))
    raise ExceptionGroup("checks", errs)
---
caught = []
y = x * 2
try:
    check(y)
except* ValueError as eg:
    caught += [str(e) for e in eg.exceptions]
except* KeyError as eg:
    caught += ["key"]
    y = y + 1
caught, y

### fpy-traceback-lines
def risky(v):
    return v.reshape(7)
---
y = x + 1
try:
    z = risky(y)
except TypeError as err:
    line = err.__traceback__.tb_lineno
    names = [f.name for f in traceback.extract_tb(err.__traceback__)][:2]
line, names

### fpy-raise-from-chain
class Bad(Exception):
    def __init__(self, value, **info):
        super().__init__(f"bad {info}")
        self.value, self.info = value, info
---
try:
    try:
        q = x[0] / 1
        {}["missing"]
    except KeyError as inner:
        raise Bad(q + 1, key=inner.args[0]) from inner
except Bad as err:
    v, chain = err.value, type(err.__cause__).__name__
    text = str(err)
v, chain, text
---
x = x + 5

### fpy-name-of-except-is-gone
err = "kept"
---
try:
    raise RuntimeError("no")
except RuntimeError as err:
    y = x * len(str(err))
gone = "err" not in globals()
gone, y
---
err = "again"

### fpy-suppress-and-exitstack
done = []
---
with contextlib.ExitStack() as stack:
    stack.callback(done.append, "last")
    stack.enter_context(contextlib.suppress(ZeroDivisionError))
    y = x.sum()
    stack.push(lambda *exc: done.append(exc[0].__name__ if exc[0] else None))
    1 / 0
    y = y * 100
done[-2:], y
---
done.clear()

### fpy-switch-context
flags = {"train": False}
@contextlib.contextmanager
def training(on=True):
    old = flags["train"]
    flags["train"] = on
    try:
        yield flags
    finally:
        flags["train"] = old
def layer(v):
    return v * 0.5 if flags["train"] else v
---
with training():
    a = layer(x)
b = layer(x)
with training(), training(False) as f:
    c = layer(x) + f["train"]
a, b, c, flags
---
flags["train"] = True

### fpy-generator-send
def averager():
    total, n, mean = 0.0, 0, None
    while True:
        v = yield mean
        total, n = total + v, n + 1
        mean = total / n
avg = averager()
next(avg)
---
for v in (x.sum(), x.max()):
    m = avg.send(v)
m

### fpy-generator-cleanup
events = []
def batches(a, size):
    try:
        for i in range(0, len(a), size):
            yield a[i:i + size]
    finally:
        events.append("closed")
---
g = batches(x, 2)
first = next(g) * 2
g.close()
both = [b.sum() for b in batches(x, 2)]
events[-2:], first, both
---
events.clear()

### fpy-accumulate-reduce
---
steps = list(itertools.accumulate([x, x + 1, x + 2], jnp.add))
prod = functools.reduce(operator.matmul, [jnp.eye(2) * k for k in (1, 2, 3)])
pairs = [(a[0], b[1]) for a, b in itertools.pairwise(steps)]
prod, pairs, len(steps)
---
x = x - 1

### fpy-order-by-value
Entry = collections.namedtuple("Entry", "score name")
---
heap = []
for i, v in enumerate(jnp.cos(x)):
    heapq.heappush(heap, (float(v), i))
best = [heapq.heappop(heap)[1] for _ in range(2)]
ranked = sorted([Entry(v, f"n{i}") for i, v in enumerate(jnp.sin(x))], key=lambda e: -e.score)
best, [e.name for e in ranked], max(x, key=lambda v: abs(v - 1.5))
---
x = x[::-1]

### fpy-hash-of-bytes
---
y = jnp.floor(x * 8)
digest = hashlib.sha256(np.asarray(y).tobytes()).hexdigest()[:8]
seed = int(digest, 16) % 1000
z = jax.random.normal(jax.random.key(seed), (2,))
digest, z
---
x = x + 1

### fpy-dict-missing-and-chainmap cold
class Lazy(dict):
    def __missing__(self, key):
        self[key] = jnp.full(4, float(len(key)))
        return self[key]
cache = Lazy()
base = collections.ChainMap({}, {"lr": 0.1, "n": 2})
---
y = cache["ab"] + cache["abc"] * base["lr"]
base["lr"] = base["lr"] / 2
len(cache), dict(base.maps[0]), y
---
cache.clear()

### fpy-userdict-params
class Params(collections.UserDict):
    def __setitem__(self, k, v):
        super().__setitem__(k.lower(), jnp.asarray(v))
p = Params(W=[1.0, 2.0], b=0.5)
---
p["W"] = p["w"] * 2 + p["b"]
p |= {"NEW": [1, 2]}
sorted(p), p["w"], p["new"].dtype
---
p["b"] = 3.0

### fpy-descriptor-lazy-array
class lazy:
    def __init__(self, f):
        self.f = f
    def __set_name__(self, owner, name):
        self.name = name
    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        value = obj.__dict__[self.name] = self.f(obj)
        return value
class Kernel:
    def __init__(self, s):
        self.s, self.built = s, 0
    @lazy
    def gram(self):
        self.built += 1
        return jnp.outer(self.s, self.s)
k = Kernel(x)
---
a = k.gram.sum()
b = k.gram[1]
k.built, "gram" in vars(k), a, b
---
del k.gram

### fpy-meta-singleton cold
class Single(type):
    made = {}
    def __call__(cls, *a, **kw):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*a, **kw)
        return cls.made[cls]
class Config(metaclass=Single):
    def __init__(self, scale=2.0):
        self.scale, self.reads = scale, 0
    def get(self):
        self.reads += 1
        return self.scale
---
y = x * Config().get()
z = Config(99).get() + y
Config() is Config(), Config().reads, z
---
Config().scale = 4.0

### fpy-meta-prepare-order
class Ordered(type):
    @classmethod
    def __prepare__(m, name, bases, **kw):
        return collections.OrderedDict(tag=kw.get("tag", "none"))
    def __new__(m, name, bases, ns, **kw):
        cls = super().__new__(m, name, bases, dict(ns))
        cls.order = [k for k in ns if not k.startswith("__")]
        return cls
    def __init__(cls, name, bases, ns, **kw):
        super().__init__(name, bases, ns)
---
class Net(metaclass=Ordered, tag="mlp"):
    w = x * 2
    b = x.sum()
    def out(self):
        return self.w + self.b
y = Net().out()
Net.order, Net.tag, y
---
x = x + 1

### fpy-class-getitem-and-subscript cold
class Sized:
    def __class_getitem__(cls, n):
        return type(f"{cls.__name__}{n}", (cls,), {"n": n})
    def __call__(self, v):
        return jnp.tile(v, self.n)
---
T = Sized[3]
y = T()(x)
T.__name__, issubclass(T, Sized), y.shape
---
Sized.__call__ = lambda self, v: v * self.n

### fpy-slots-getstate
class Point:
    __slots__ = ("pos", "vel", "__weakref__")
    def __init__(self, pos, vel):
        self.pos, self.vel = pos, vel
    def __getstate__(self):
        return {"pos": np.asarray(self.pos), "vel": np.asarray(self.vel)}
    def __setstate__(self, s):
        self.pos, self.vel = jnp.asarray(s["pos"]), jnp.asarray(s["vel"])
p = Point(x, x * 0 + 1)
---
saved = copy.deepcopy(p)
p.pos = p.pos + 0.1 * p.vel
clone = pickle.loads(pickle.dumps(p))
saved.pos[0], clone.pos - saved.pos, weakref.ref(p)() is p
---
p.vel = p.vel * 3

### fpy-deepcopy-keeps-aliases cold
net = {"w": x, "tied": None, "hist": [x]}
net["tied"] = net["w"]
net["self"] = net
---
twin = copy.deepcopy(net)
twin["w"] = twin["w"] + 1
shallow = copy.copy(net)
shallow["hist"].append(twin["w"])
twin["self"] is twin, twin["hist"] is net["hist"], len(net["hist"]), twin["tied"] is net["tied"]
---
net["w"] = x * 5

### fpy-copy-hook
class Buf:
    copies = 0
    def __init__(self, v):
        self.v = v
    def __copy__(self):
        type(self).copies += 1
        return Buf(self.v * 1)
b = Buf(x)
---
c = copy.copy(b)
c.v = c.v + 1
Buf.copies, c.v, b.v
---
b.v = x + 2

### fpy-exec-in-own-dict
code = "def act(v):\n    return jnp.tanh(v) * gain\nout = act(v)"
---
ns = {"jnp": jnp, "gain": 2.0, "v": x}
exec(compile(code, "<made>", "exec"), ns)
w = eval("out + v", ns)
ns["gain"] = 3.0
y = ns["act"](x)
sorted(k for k in ns if not k.startswith("__")), w, y
---
code = code.replace("tanh", "sin")

### fpy-globals-written
---
for i, name in enumerate(["alpha", "beta"]):
    globals()[name] = x * (i + 1)
both = alpha + beta
vars()["gamma"] = both * 2
gamma
---
x = x + 1

### fpy-signature-bound
def layer(v, *, gain=1.0, **rest):
    return v * gain + sum(rest.values())
---
sig = inspect.signature(layer)
kw = {k: p.default for k, p in sig.parameters.items() if p.default is not p.empty}
y = layer(x, **{**kw, "gain": 2.0, "extra": x[1]})
bound = sig.bind(x, gain=3.0)
list(sig.parameters), kw, y, bound.arguments["gain"]
---
layer.__kwdefaults__["gain"] = 5.0

### fpy-decorated-with-history cold
calls = collections.defaultdict(list)
def traced(tag):
    def deco(f):
        @functools.wraps(f)
        def inner(*a, **kw):
            out = f(*a, **kw)
            calls[tag].append((f.__name__, getattr(out, "shape", None)))
            inner.count = getattr(inner, "count", 0) + 1
            return out
        return inner
    return deco
---
@traced("act")
def relu(v):
    return jnp.maximum(v, 1)
y = relu(relu(x))
relu.count, calls["act"][-1], relu.__wrapped__(x)

### fpy-match-shapes
@dataclasses.dataclass
class Dense:
    w: typing.Any
    act: str = "id"
layers = [Dense(jnp.eye(4)), ("scale", 2.0), {"kind": "add", "value": x}, Dense(jnp.eye(4) * 2, "relu")]
---
y = x
for layer in layers:
    match layer:
        case Dense(w, act="relu"):
            y = jnp.maximum(y @ w, 1)
        case Dense(w=w):
            y = y @ w
        case ("scale", float(s)):
            y = y * s
        case {"kind": "add", "value": v, **rest}:
            y = y + v
match y.shape:
    case (n,) if n > 3:
        size = n
y, size
---
layers.append(("scale", 0.5))

### fpy-enum-holding-functions
class Act(enum.Enum):
    RELU = functools.partial(jnp.maximum, 0)
    SQUARE = enum.member(lambda v: v * v)
    def __call__(self, v):
        return self.value(v)
class Part(enum.Flag):
    W = enum.auto()
    B = enum.auto()
mode = Part.W | Part.B
---
y = Act.RELU(x - 1) + Act.SQUARE(x)
if Part.B in mode:
    y = y + 1
mode &= ~Part.B
y, mode, Act["SQUARE"] is Act.SQUARE
---
mode = Part.W

### fpy-frozen-dataclass-post-init
@dataclasses.dataclass(frozen=True, kw_only=True)
class Grid:
    n: int
    dx: float = dataclasses.field(init=False)
    pts: jax.Array = dataclasses.field(init=False, compare=False, repr=False)
    scale: dataclasses.InitVar[float] = 1.0
    def __post_init__(self, scale):
        object.__setattr__(self, "dx", scale / self.n)
        object.__setattr__(self, "pts", jnp.arange(self.n) * self.dx)
---
g = Grid(n=5, scale=2.0)
h = Grid(n=5, scale=2.0)
try:
    g.n = 6
except dataclasses.FrozenInstanceError as e:
    why = str(e)
g == h, hash(g) == hash(h), g, why, g.pts.sum()

### fpy-abstract-registered
class Op(abc.ABC):
    @abc.abstractmethod
    def __call__(self, v): ...
    @classmethod
    def __subclasshook__(cls, C):
        return hasattr(C, "__call__") or NotImplemented
class Twice:
    def __call__(self, v):
        return v * 2
---
ops = [Twice(), jnp.sin, 3]
y = x
for op in ops:
    y = op(y) if isinstance(op, Op) else y + op
y
---
Twice.__call__ = lambda self, v: v * 4

### fpy-ordered-by-arrays
@functools.total_ordering
class Scored:
    def __init__(self, v):
        self.v = v
    def __eq__(self, o):
        return bool(self.v == o.v)
    def __lt__(self, o):
        return bool(self.v < o.v)
    def __repr__(self):
        return f"S({self.v:.1f})"
---
items = [Scored(v) for v in jnp.cos(x)]
top = max(items)
low, *_ = sorted(items)
top, low, items.index(top)
---
x = x + 1

### fpy-reversed-operators
class Unit:
    __array_priority__ = 100
    def __init__(self, v, unit):
        self.v, self.unit = v, unit
    def __rmul__(self, o):
        return Unit(o * self.v, self.unit)
    def __mul__(self, o):
        return Unit(self.v * getattr(o, "v", o), self.unit + getattr(o, "unit", ""))
    def __matmul__(self, o):
        return Unit(self.v @ o.v, self.unit + o.unit)
    def __format__(self, spec):
        return f"{float(self.v):{spec}} {self.unit}"
u = Unit(x, "m")
---
w = 2 * u
area = w @ u
text = f"{area:.1f}"
text, (w * u).unit, w.v
---
u.v = x + 1

### fpy-async-gather
import asyncio
async def fetch(i, q):
    await asyncio.sleep(0)
    await q.put(x * i)
    return i
async def main():
    q = asyncio.Queue()
    order = await asyncio.gather(*(fetch(i, q) for i in range(3)))
    return order, [q.get_nowait() for _ in range(q.qsize())]
loop = asyncio.new_event_loop()
---
order, parts = loop.run_until_complete(main())
y = sum(parts)
order, y
---
x = x + 1
""",
)
