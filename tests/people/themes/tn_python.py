"""Python in all its forms around arrays: match, walrus, descriptors, contexts, decorators, generators, async, threads."""

from ..cell import written

PRELUDE = """
import dataclasses, functools, itertools, json, math, os, random, re, sys, time, warnings
from functools import partial
from typing import Any
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### tn-match-statement-parses-command-tuples-into-array-programs
def run(prog, env):
    for cmd in prog:
        match cmd:
            case ("set", str(name), [*vals]): env[name] = jnp.array(vals, float)
            case ("add" | "mul" as op, a, b, out) if a in env and b in env:
                env[out] = env[a] + env[b] if op == "add" else env[a] * env[b]
            case ("norm", a, out): env[out] = jnp.sqrt((env[a] ** 2).sum())
            case ("print", *names): print(*(f"{n}={env[n].tolist()}" for n in names))
            case {"loop": int(k), "do": body}:
                for _ in range(k): run(body, env)
            case _: raise ValueError(f"bad command {cmd!r}")
    return env
prog = [("set", "x", [1, 2, 3]), ("mul", "x", "x", "y"), {"loop": 2, "do": [("add", "y", "x", "y")]}, ("norm", "y", "n"), ("print", "n")]
---
env = run(prog, {})
try:
    run([("add", "x", "nope", "z")], env)
except ValueError as e:
    print(e)
env["y"], sorted(env)
---
prog[0] = ("set", "x", [0.5, -1])
---
prog.append(("mul", "n", "x", "m"))

### tn-walrus-in-comprehension-leaks-and-class-scope-does-not
xs = [jnp.array(v) for v in (1.0, -2.0, 3.0)]
---
pos = [y for x in xs if (y := x * 2) > 0]
class C:
    k = 3
    scaled = [x * 2 for x in xs]
    first = scaled[0] + k
total = sum((last := v) for v in pos)
gen = (z for z in pos)
names = [n for n in ("x", "y", "last", "n", "z") if n in globals()]
print(len(pos), names, y.item(), last is pos[-1], C.first)
total, next(gen) is pos[0]
---
xs.append(jnp.array(4.0))
---
xs = xs[:1]

### tn-star-args-kwargs-forwarding-with-defaults-and-keyword-only
def core(x, /, scale=1.0, *rest, shift=0.0, **extra):
    y = x * scale + shift
    for r in rest: y = y + r
    for k in sorted(extra): y = y * extra[k]
    return y, len(rest), sorted(extra)
def outer(*args, **kw): return core(*args, **{"shift": 1.0, **kw})
x = jnp.arange(3.0)
opts = {"a": 2.0}
---
r1 = outer(x)
r2 = outer(x, 2.0, x, x, **opts)
first, *mid, last = (*r1, *r2)
try:
    outer(scale=2.0)
except TypeError as e:
    print(str(e).split("(")[0], "missing" in str(e))
d = dict(zip("abc", r2)) | {"z": first}
print(len(mid), last, list(d))
d["a"], first
---
opts["b"] = jnp.array([1.0, 2.0, 3.0])
---
opts = {"shift": -1}

### tn-global-and-nonlocal-counters-with-del-and-rebinding
count, cache = 0, {}
def make():
    calls = 0
    def f(x):
        nonlocal calls
        global count
        calls += 1; count += 1
        cache[calls] = x
        return x * calls
    def g(): return calls
    return f, g
f, g = make()
x = jnp.ones(2)
---
a = f(x)
b = f(a)
if count % 2 == 0:
    del cache[1]
tmp = a + b
del a, b
print(count, g(), sorted(cache), "a" in globals())
tmp
---
f, g = make()
---
x = x + 1; count = 7

### tn-async-pipeline-of-stages-run-to-the-end-with-gather
import asyncio
async def load(i):
    await asyncio.sleep(0)
    return jnp.arange(3.0) + i
async def train(w, q):
    while (b := await q.get()) is not None:
        w = w - 0.1 * jax.grad(lambda w: jnp.sum((w - b) ** 2))(w)
    return w
async def main(n, w):
    q = asyncio.Queue()
    task = asyncio.ensure_future(train(w, q))
    for b in await asyncio.gather(*(load(i) for i in range(n))):
        await q.put(b)
    await q.put(None)
    return await task
n = 3
---
w = asyncio.run(main(n, jnp.zeros(3)))
again = asyncio.run(main(1, w))
print(w.shape, bool((again != w).any()))
w, again
---
n = 5
---
n = 0

### tn-threads-prefetch-into-a-bounded-queue-and-join
import queue, threading
def producer(q, n):
    for i in range(n):
        q.put(np.full(2, i, np.float32))
    q.put(None)
n, w = 4, jnp.zeros(2)
---
q = queue.Queue(2)
t = threading.Thread(target=producer, args=(q, n))
t.start()
seen = 0
while (item := q.get()) is not None:
    w = 0.5 * w + jnp.asarray(item)
    seen += 1
t.join()
print(seen, t.is_alive(), q.empty())
w
---
n = 2
---
w = w * 0

### tn-recursive-tree-with-lists-dicts-none-and-path-strings
tree = {"a": [jnp.ones(2), {"b": jnp.arange(3.0), "c": None}], "d": (jnp.array(2.0), [])}
def walk(node, path=()):
    if isinstance(node, dict):
        for k in node: yield from walk(node[k], (*path, k))
    elif isinstance(node, (list, tuple)):
        for i, v in enumerate(node): yield from walk(v, (*path, str(i)))
    elif node is not None:
        yield "/".join(path), node
def edit(node, fn):
    match node:
        case dict(): return {k: edit(v, fn) for k, v in node.items()}
        case list(): return [edit(v, fn) for v in node]
        case tuple(): return tuple(edit(v, fn) for v in node)
        case None: return None
        case _: return fn(node)
---
flat = dict(walk(tree))
doubled = edit(tree, lambda v: v * 2)
sizes = {k: v.size for k, v in flat.items()}
tot = sum(v.sum() for v in flat.values())
print(sizes, type(doubled["d"]).__name__, doubled["a"][1]["c"])
doubled, tot
---
tree["e"] = jnp.eye(2)
---
tree["a"].append(tree["a"][0])

### tn-decorator-stack-with-timing-retry-and-signature-preserved
import inspect
def retry(n):
    def deco(f):
        @functools.wraps(f)
        def g(*a, **k):
            for i in range(n):
                try: return f(*a, **k)
                except ZeroDivisionError:
                    g.tries += 1
            raise RuntimeError("gave up")
        g.tries = 0
        return g
    return deco
def tagged(**tags):
    def deco(f):
        f.__dict__.update(tags)
        return f
    return deco
fails = [True, True, False]
@tagged(kind="loss", weight=0.5)
@retry(3)
def loss(w: Any, *, scale: float = 1.0) -> Any:
    if fails and fails.pop(0): 1 / 0
    return scale * jnp.sum(w ** 2)
w = jnp.arange(3.0)
---
try:
    val = loss(w, scale=2.0)
except RuntimeError as e:
    val = str(e)
print(loss.tries, loss.kind, list(inspect.signature(loss).parameters), loss.__name__)
val, loss.weight * w
---
fails = [True] * 4
---
fails.clear(); loss.weight = 2

### tn-enum-flag-terms-switch-parts-of-a-loss
from enum import Enum, Flag, auto, IntEnum
class Term(Flag):
    DATA = auto()
    L2 = auto()
    L1 = auto()
    REG = L1 | L2
class Mode(Enum):
    MEAN = "mean"
    SUM = "sum"
    def __call__(self, v): return getattr(jnp, self.value)(v)
class Level(IntEnum): LOW = 1; HIGH = 3
terms, mode, level = Term.DATA | Term.L2, Mode.MEAN, Level.HIGH
w, x = jnp.array([1.0, -2.0]), jnp.eye(2)
---
loss = jnp.zeros(())
for t in (Term.DATA, Term.L2, Term.L1):
    if t in terms:
        loss = loss + {"DATA": mode((x @ w) ** 2), "L2": (w ** 2).sum(), "L1": jnp.abs(w).sum()}[t.name]
scaled = loss * level
print(terms, mode, level + 1, bool(terms & Term.REG), Mode("sum") is Mode.SUM)
scaled
---
terms = Term.REG
---
mode, level = Mode.SUM, Level.LOW

### tn-descriptor-unit-conversion-and-slots-with-weakref
import weakref
class Unit:
    def __init__(self, factor): self.factor = factor
    def __set_name__(self, owner, name): self.name = "_" + name
    def __get__(self, obj, typ=None): return self if obj is None else getattr(obj, self.name) * self.factor
    def __set__(self, obj, v): setattr(obj, self.name, jnp.asarray(v) / self.factor)
class Body:
    __slots__ = ("_mass", "_speed", "__weakref__")
    mass, speed = Unit(1000.0), Unit(0.5)
    def __init__(self, m, s): self.mass, self.speed = m, s
    @property
    def energy(self): return 0.5 * self.mass * self.speed ** 2
b = Body(2.0, jnp.array([1.0, 2.0]))
ref = weakref.ref(b)
---
b.speed = b.speed + 1
e = b.energy
b.mass = b.mass * 2
try:
    b.colour = "red"
except AttributeError as err:
    print(type(err).__name__)
print(ref() is b, Body.mass.factor, float(b._mass))
e, b.speed
---
Body.mass.factor = 10.0
---
b = Body(1, 2); ref = weakref.ref(b)

### tn-with-statement-returning-true-swallows-and-yields-values
from contextlib import contextmanager, suppress, ExitStack, nullcontext
@contextmanager
def guard(log):
    try:
        yield len(log)
    except FloatingPointError as e:
        log.append(str(e))
    finally:
        log.append("out")
log = []
x = jnp.array([1.0, 0.0])
---
with guard(log) as n:
    y = 1.0 / x
    if not bool(jnp.isfinite(y).all()):
        raise FloatingPointError("inf at " + str(int(jnp.argmax(jnp.isinf(y)))))
    y = y * 2
with ExitStack() as st, suppress(KeyError):
    m = st.enter_context(guard(log))
    st.enter_context(nullcontext())
    {}["missing"]
print(n, m, log[-3:])
y
---
x = x + 1
---
log.clear()

### tn-loop-else-continue-break-with-flags-and-labels
rows = [jnp.array([1.0, 2.0]), jnp.array([jnp.nan, 1.0]), jnp.array([3.0, 4.0])]
limit = 6.0
---
acc, used = jnp.zeros(2), []
for i, r in enumerate(rows):
    if jnp.isnan(r).any():
        continue
    acc = acc + r
    used.append(i)
    while acc.sum() > limit:
        acc = acc / 2
        if acc.max() < 1:
            break
    else:
        used.append("ok")
else:
    used.append("done")
print(used)
acc
---
limit = 2.0
---
rows.append(jnp.array([10.0, 0.0]))

### tn-operator-overloaded-vector-with-reflected-and-inplace
class V:
    def __init__(self, a): self.a = jnp.asarray(a)
    def __add__(self, o): return V(self.a + (o.a if isinstance(o, V) else o))
    __radd__ = __add__
    def __iadd__(self, o):
        self.a = self.a + (o.a if isinstance(o, V) else o)
        return self
    def __matmul__(self, o): return self.a @ o.a
    def __getitem__(self, i): return self.a[i]
    def __len__(self): return self.a.shape[0]
    def __iter__(self): return iter(self.a)
    def __eq__(self, o): return bool((self.a == o.a).all())
    def __bool__(self): return bool((self.a != 0).any())
    def __format__(self, spec): return "<" + ",".join(format(float(x), spec) for x in self.a) + ">"
u, v = V([1.0, 2.0]), V([3.0, -1.0])
---
w = sum([u, v], 0.0)
alias = u
u += v
dots = [u @ v, w @ w]
print(f"{w:.1f}", alias is u, w == u, bool(V([0.0])), len(u), [float(x) for x in u], max(u).item())
w.a, dots
---
v = V([0.0, 0.0])
---
u = V(jnp.ones(2)); v = V([2, 2])

### tn-lazy-registry-of-losses-by-name-with-partial-and-getattr
class Losses:
    @staticmethod
    def mse(p, t): return jnp.mean((p - t) ** 2)
    @classmethod
    def rmse(cls, p, t): return jnp.sqrt(cls.mse(p, t))
    def huber(self, p, t, d=1.0):
        e = jnp.abs(p - t)
        return jnp.where(e < d, 0.5 * e ** 2, d * (e - 0.5 * d)).mean()
    def __getattr__(self, name):
        if name.startswith("scaled_"):
            return lambda *a: 10 * getattr(self, name[7:])(*a)
        raise AttributeError(name)
L = Losses()
names = ["mse", "rmse", "huber", "scaled_mse"]
p, t = jnp.array([1.0, 4.0]), jnp.array([0.0, 1.0])
---
table = {}
for n in names:
    fn = getattr(L, n)
    table[n] = fn(p, t), jax.grad(fn)(p, t)
has = [hasattr(L, n) for n in ("mse", "scaled_nope", "zzz")]
print(has, {n: round(float(v), 3) for n, (v, _) in table.items()})
table["huber"][1]
---
names.append("scaled_huber")
---
t = t * 3

### tn-iterator-protocol-class-with-reset-and-len-hint
class Windows:
    def __init__(self, x, k, stride=1): self.x, self.k, self.stride = x, k, stride
    def __len__(self): return (len(self.x) - self.k) // self.stride + 1
    def __getitem__(self, i):
        if i >= len(self): raise IndexError(i)
        return self.x[i * self.stride:i * self.stride + self.k]
    def __reversed__(self): return (self[i] for i in range(len(self) - 1, -1, -1))
    def __contains__(self, v): return any(bool((w == v).all()) for w in self)
win = Windows(jnp.arange(7.0), 3, 2)
---
means = [w.mean() for w in win]
back = jnp.stack([w[0] for w in reversed(win)])
print(len(win), jnp.array([2.0, 3.0, 4.0]) in win, back.tolist(), len(list(zip(win, win))))
a, *_, z = win
jnp.stack(means), z - a
---
win.stride = 1
---
win = Windows(-win.x, 2)

### tn-typed-dict-and-protocol-checks-with-isinstance
from typing import Protocol, TypedDict, runtime_checkable
@runtime_checkable
class Layer(Protocol):
    def __call__(self, x): ...
    def init(self, key): ...
class Spec(TypedDict, total=False):
    units: int
    act: str
class Dense:
    def __init__(self, spec: Spec): self.spec = spec
    def init(self, key): self.w = jax.random.normal(key, (2, self.spec["units"])); return self
    def __call__(self, x): return getattr(jnp, self.spec.get("act", "sin"))(x @ self.w)
spec: Spec = {"units": 3}
x = jnp.ones((1, 2))
---
layer = Dense(spec).init(jax.random.key(0))
ok = isinstance(layer, Layer), isinstance(len, Layer), callable(layer)
y = layer(x)
print(ok, sorted(Spec.__annotations__), Spec.__total__)
y
---
spec["act"] = "tanh"
---
spec = {"units": 1, "act": "cos"}

### tn-dict-merge-setdefault-pop-and-views-of-parameter-groups
groups = {"enc": {"w": jnp.ones(2), "b": jnp.zeros(1)}, "dec": {"w": jnp.ones(3)}}
frozen = {"enc"}
---
flat = {f"{g}.{k}": v for g, ps in groups.items() for k, v in ps.items()}
train = {k: v for k, v in flat.items() if k.split(".")[0] not in frozen}
upd = flat | {k: v - 0.1 for k, v in train.items()}
first = groups["enc"].setdefault("g", jnp.array(7.0))
gone = groups["enc"].pop("g")
common = flat.keys() & train.keys()
items = list(reversed(upd.items()))
print(sorted(common), first is gone, upd["enc.w"] is groups["enc"]["w"], items[0][0], {**train}.keys() <= upd.keys())
upd
---
frozen.add("dec")
---
frozen.clear()

### tn-functools-reduce-cmp-to-key-and-singledispatch-over-layers
from functools import reduce, cmp_to_key, singledispatch
@singledispatch
def apply(layer, x): raise NotImplementedError(type(layer).__name__)
@apply.register
def _(layer: float, x): return x * layer
@apply.register(list)
def _(layer, x): return x + jnp.array(layer)
@apply.register(tuple)
def _(layer, x): return reduce(lambda h, l: apply(l, h), layer, x)
net = (2.0, [1.0, -1.0], (0.5, [0.0, 3.0]))
x = jnp.array([1.0, 2.0])
---
y = apply(net, x)
try:
    apply("relu", x)
except NotImplementedError as e:
    print("no rule for", e)
order = sorted([y[0], y[1], x[0]], key=cmp_to_key(lambda a, b: -1 if a > b else int(a < b)))
print([float(v) for v in order], apply.dispatch(bool).__name__)
y
---
net = net + (3.0,)
---
x = x.astype(jnp.float16)

### tn-copy-on-write-config-with-mappingproxy-and-chainmap
from collections import ChainMap
from types import MappingProxyType, SimpleNamespace
base = MappingProxyType({"lr": 0.1, "wd": jnp.array([0.0, 0.1])})
user = {"lr": 0.2}
cfg = ChainMap({}, user, base)
w = jnp.array([1.0, -1.0])
---
cfg["steps"] = 2
for _ in range(cfg["steps"]):
    w = w - cfg["lr"] * (w + cfg["wd"] * w)
child = cfg.new_child({"lr": 1.0})
ns = SimpleNamespace(**child)
try:
    base["lr"] = 3
except TypeError as e:
    print("frozen" if "mappingproxy" in str(e) else e)
print(cfg["lr"], child["lr"], len(cfg.maps), sorted(vars(ns)))
w, ns.wd
---
user["lr"] = 0.05
---
user.clear()

### tn-exceptions-custom-hierarchy-with-context-and-reraise
class TrainError(Exception):
    def __init__(self, step, value):
        super().__init__(f"step {step}: {value}")
        self.step, self.value = step, value
class Diverged(TrainError): ...
def fit(w, lr, steps):
    for i in range(steps):
        w = w - lr * 2 * w
        n = float(jnp.abs(w).max())
        if n > 50:
            raise Diverged(i, round(n, 2))
    return w
w0, lr = jnp.array([3.0, -2.0]), 0.1
---
w, trail = w0, []
while True:
    try:
        w = fit(w0, lr, 6)
    except Diverged as e:
        trail.append((e.step, e.args[0], isinstance(e, TrainError)))
        lr /= 4
    else:
        break
    finally:
        trail.append("tried")
print(trail, lr)
w
---
lr = 3.0
---
w0 = w0 * 10

### tn-sets-of-shapes-dtypes-and-frozenset-keys-of-a-zoo
zoo = [jnp.ones(2), jnp.ones((2, 1), jnp.int8), jnp.array(True), jnp.ones(2, jnp.bfloat16), np.ones(2)]
---
shapes = {a.shape for a in zoo}
kinds = {str(a.dtype) for a in zoo}
byk = {}
for a in zoo:
    byk.setdefault(frozenset((a.ndim, a.dtype.itemsize)), []).append(a)
prom = functools.reduce(jnp.promote_types, [a.dtype for a in zoo])
mixed = sum(jnp.sum(a) for a in zoo)
print(len(shapes), sorted(kinds), len(byk), prom, mixed.dtype)
mixed
---
zoo.pop()
---
zoo.append(jnp.ones(3, jnp.uint16))
""",
    theme="tn_python",
)
