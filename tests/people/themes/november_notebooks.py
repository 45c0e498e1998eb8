"""Habits of notebooks as they are published: set up once, edited in place, mixed with NumPy, printed by and by."""

from ..cell import written

PRELUDE = """
import asyncio, collections, contextlib, copy, dataclasses, functools, heapq, io, itertools, math, operator, os, random
import sys, textwrap, traceback, types, warnings
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, make_dataclass, replace
from functools import lru_cache, partial, reduce, singledispatchmethod, wraps
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import grad, jit, lax, random as jr, tree_util as jtu, vmap
"""

CELLS = written(
    PRELUDE,
    r"""
### rn-set-up-once-if-not-in-globals-then-continued-with-try-nameerror
def fresh(): return {"w": jnp.zeros(2), "n": 0}
A, b, epochs = jnp.array([[2.0, 0.5], [0.5, 1.0]]), jnp.array([1.0, -1.0]), 2
---
if "params" not in globals():
    params = fresh()
    print("started")
try:
    history
except NameError:
    history = []
for _ in range(epochs):
    g = A @ params["w"] - b
    params["w"] = params["w"] - 0.3 * g
    params["n"] += 1
    history.append(jnp.vdot(g, g))
best = globals().get("best", jnp.inf)
best = jnp.minimum(best, history[-1])
print(params["n"], len(history), f"{float(best):.4f}")
params["w"], jnp.stack(history[-2:])
---
del params
---
del history; epochs = 1
---
del best; b = b * 2

### rn-names-numbered-into-globals-and-collected-by-prefix-with-eval
shapes = [(2,), (2, 2), (3,)]
formula = "w0.sum() * w1 + w2[:2]"
---
for i, s in enumerate(shapes):
    globals()[f"w{i}"] = jr.uniform(jr.fold_in(jr.key(0), i), s)
values = {k: v for k, v in sorted(globals().items()) if k.startswith("w") and k[1:].isdigit()}
out = eval(formula, {"__builtins__": {}}, values)
exec("total = sum(v.sum() for v in vs)", env := {"vs": list(values.values())})
scope = {k: eval(f"{k}.mean()") for k in values}
del i, s
print(list(values), "i" in globals(), sorted(k for k in env if k != "__builtins__"))
out, env["total"], scope
---
formula = "jnp.nope" if False else "w1 @ w1"
---
shapes = shapes[:2]
---
shapes.append((1,)); formula = "w0 * w2[0]"

### rn-list-of-arrays-edited-in-place-sorted-reversed-sliced-and-inserted
layers = [jnp.full((2,), float(i)) for i in (3, 1, 2)]
alias, cut = layers, 2
---
layers.sort(key=lambda a: float(a.sum()))
layers.insert(0, layers[-1] * 0.5)
layers[1:cut] = [a + 1 for a in layers[1:cut]]
layers.reverse()
popped = layers.pop(1)
del layers[cut + 1:]
layers.extend(a for a in (popped, popped) if a.sum() > 2)
layers *= 1
print(len(layers), alias is layers, layers[-1] is popped, [float(a[0]) for a in layers])
jnp.stack(layers), popped
---
cut = 1
---
layers[:] = [jnp.ones(2), jnp.zeros(2)]; cut = 2
---
layers = layers + [jnp.full((2,), 9.0)]

### rn-shuffle-of-a-list-of-arrays-by-numpy-and-random-with-seeds
items = [jnp.float32(i) for i in range(5)]
seed, rate = 0, 0.5
---
rng = np.random.RandomState(seed)
order = list(range(len(items)))
rng.shuffle(order)
random.Random(seed).shuffle(items)
state = jnp.float32(0.0)
for i in order:
    state = rate * state + items[i]
picked = rng.choice(len(items), 2, replace=False)
pair = [items[j] for j in picked]
np.random.shuffle(order)
print(order, picked.tolist(), [int(v) for v in items])
state, sum(pair), np.random.randint(10)
---
seed = 3
---
rate = jnp.float32(0.1)
---
items.append(jnp.float32(10.0)); np.random.seed(1)

### rn-numpy-buffers-filled-from-jax-by-index-mask-copyto-and-add-at
buf, counts, views = np.zeros((3, 4)), np.zeros(4, int), None
x = jr.normal(jr.key(2), (3, 4))
gain = 2.0
---
views = buf[1]
buf[0] = x[0]
buf[1, ::2] += np.asarray(jnp.abs(x[1, ::2]))
np.copyto(buf[2], gain * x[2], where=np.asarray(x[2] > 0))
idx = np.asarray(jnp.argmax(x, axis=1))
np.add.at(counts, idx, 1)
buf[buf < -1] = -1
views *= 0.5
flat = buf.ravel()
flat[-1] = x.sum()
print(buf.dtype, counts.tolist(), views.base is buf, np.shares_memory(flat, buf))
jnp.asarray(buf).sum(1), np.round(views, 3)
---
gain = -2.0
---
x = -x
---
buf = buf.astype(np.float32); counts[:] = 0

### rn-indices-that-are-arrays-used-by-range-slices-strings-and-dicts
alphabet = "abcdefgh"
scores, table = jnp.array([0.1, 0.7, 0.2, 0.9, 0.4]), {0: "zero", 1: "one", 2: "two", 3: "three"}
k, ids = 3, jnp.array([4, 1, 2])
---
top = jnp.argsort(-scores)[:k]
letters = [alphabet[i] for i in top]
named = [table.get(int(i), "?") for i in top]
stop = scores.argmax()
head = scores[:stop]
repeated = ["x"] * int(ids[0] - 2)
loop = [j * 2 for j in range(stop)]
window = lax.dynamic_slice(scores, (ids[1],), (2,))
inside = 0 < scores[ids[2]] < 0.5
nested = alphabet[ids[1]:ids[0]]
print(letters, named, repeated, loop, bool(inside), nested)
head, window, scores[ids]
---
scores = scores[::-1]
---
k = 2; ids = ids.at[0].set(3)
---
scores = jnp.array([0.3, 0.1, 0.8, 0.2, 0.0]); table[2] = "TWO"

### rn-classes-built-by-make-dataclass-type-and-named-tuples-in-the-cell
fields_, width = {"lr": 0.1, "steps": 3}, 2
def act(self, x): return jnp.tanh(self.w @ x)
---
Config = make_dataclass("Config", [(k, type(v), field(default=v)) for k, v in fields_.items()], frozen=True,
                        namespace={"total": property(lambda self: self.lr * self.steps)})
Layer = type("Layer", (), {"__init__": lambda self, w: setattr(self, "w", w), "__call__": act, "kind": "dense"})
Result = namedtuple("Result", "x norm", defaults=(None,))
cfg, layer = Config(), Layer(jnp.eye(width) * 0.5)
layer.scaled = MethodType(lambda self, x, by=2: by * self(x), layer)
x = jnp.ones(width)
for _ in range(cfg.steps):
    x = x - cfg.lr * grad(lambda v: layer.scaled(v).sum())(x)
res = Result(x)._replace(norm=jnp.linalg.norm(x))
try:
    cfg.lr = 1.0
except dataclasses.FrozenInstanceError as e:
    print(type(e).__name__, cfg, f"{cfg.total:.1f}", Layer.kind)
res
---
fields_["lr"] = 0.5
---
def act(self, x): return jnp.sin(self.w @ x) + x
---
fields_ = {"lr": 1.0, "steps": 1, "tag": "t"}; width = 3

### rn-singledispatchmethod-visitor-evaluates-differentiates-and-prints
@dataclass(frozen=True)
class Var:
    name: str
@dataclass(frozen=True)
class Const:
    v: Any
@dataclass(frozen=True)
class Bin:
    op: str
    l: Any
    r: Any
class Visitor:
    @singledispatchmethod
    def visit(self, node): raise TypeError(type(node).__name__)
class Eval(Visitor):
    def __init__(self, **env): self.env, self.seen = env, 0
    @singledispatchmethod
    def visit(self, node): return super().visit(node)
    @visit.register
    def _(self, node: Var): self.seen += 1; return self.env[node.name]
    @visit.register
    def _(self, node: Const): return jnp.asarray(node.v)
    @visit.register
    def _(self, node: Bin): return getattr(operator, node.op)(self.visit(node.l), self.visit(node.r))
def show(n):
    match n:
        case Var(name): return name
        case Const(v): return f"{float(v):g}"
        case Bin(op, l, r): return f"({show(l)} {op} {show(r)})"
expr = Bin("add", Bin("mul", Const(2.0), Var("x")), Bin("pow", Var("y"), Const(2)))
env = {"x": jnp.array([1.0, 2.0]), "y": jnp.array([3.0, -1.0])}
---
ev = Eval(**env)
value = ev.visit(expr)
dy = vmap(grad(lambda y, x: Eval(x=x, y=y).visit(expr)))(env["y"], env["x"])
try:
    Eval().visit("text")
except TypeError as e:
    print("no rule for", e)
print(show(expr), ev.seen, value.dtype)
value, dy
---
env["y"] = env["y"] * 0
---
expr = Bin("sub", expr, Var("x"))
---
expr = replace(expr, op="truediv", r=Const(4.0))

### rn-tracebacks-formatted-and-stored-with-the-failing-step
def stage_one(x): return x / jnp.linalg.norm(x)
def stage_two(x): return check(x) * 2
def check(x):
    if not jnp.isfinite(x).all():
        raise ArithmeticError(f"not finite at {int(jnp.argmin(jnp.isfinite(x)))}")
    return x
stages, inputs = [stage_one, stage_two], [jnp.ones(2), jnp.zeros(2), jnp.array([3.0, 4.0])]
---
done, failures = [], []
for i, x in enumerate(inputs):
    try:
        y = reduce(lambda v, f: f(v), stages, x)
    except ArithmeticError as err:
        names = [f.name for f in traceback.extract_tb(err.__traceback__)]
        failures.append((i, str(err), names[-1], traceback.format_exception_only(err)[0].strip()))
    else:
        done.append(y)
print(failures)
print(textwrap.indent("\n".join(f"{len(f)} {f[2]}" for f in failures), "  "))
jnp.stack(done), len(failures), "err" in globals()
---
inputs[1] = jnp.array([jnp.inf, 1.0])
---
stages.insert(0, lambda x: x + 1)
---
stages, inputs = stages[-1:], inputs[:1] + [jnp.array([1.0, jnp.nan])]

### rn-carriage-returns-stderr-and-print-without-newlines-in-a-sampler
def logp(x): return -0.5 * (x ** 2).sum() - 0.1 * (x ** 4).sum()
x0, key, n, step = jnp.array([1.0, -1.0]), jr.PRNGKey(3), 6, 0.8
---
x, accepted, chain = x0, 0, []
for i, k in enumerate(jr.split(key, n)):
    k1, k2 = jr.split(k)
    prop = x + step * jr.normal(k1, x.shape)
    if jnp.log(jr.uniform(k2)) < logp(prop) - logp(x):
        x, accepted = prop, accepted + 1
        print("+", end="")
    else:
        print(".", end="", flush=True)
    chain.append(x)
    if (i + 1) % 3 == 0:
        sys.stdout.write(f"\r{i + 1}/{n} {accepted / (i + 1):.0%}")
        sys.stderr.write("tick\n")
print()
chain = jnp.stack(chain)
chain.mean(0), accepted
---
step = 0.05
---
key = jr.PRNGKey(8); n = 4
---
logp = lambda x: -jnp.abs(x).sum()

### rn-numpy-error-states-raise-and-are-caught-beside-jax-infinities
values, mode = [1.0, 0.0, -2.0], "raise"
def host_ratio(v): return np.float64(1.0) / np.float64(v)
---
host, device, caught = [], [], Counter()
for v in values:
    with np.errstate(divide=mode, invalid=mode):
        try:
            host.append(float(np.sqrt(host_ratio(v))))
        except FloatingPointError as e:
            caught[str(e).split()[0]] += 1
            host.append(None)
    device.append(jnp.sqrt(1.0 / jnp.float32(v)))
device = jnp.stack(device)
ok = jnp.isfinite(device)
filled = jnp.where(ok, device, -1.0)
print(host, dict(caught), np.geterr()["divide"])
filled, ok, jnp.nan_to_num(device, nan=7.0, posinf=9.0)
---
mode = "ignore"; values = [4.0, 16.0]
---
values.append(-1e-3); mode = "raise"
---
values = values[::-1]

### rn-vectorize-decorator-with-signature-select-and-piecewise-tables
@partial(jnp.vectorize, signature="(n),(n)->()", excluded={2})
def cosine(a, b, eps): return a @ b / (jnp.linalg.norm(a) * jnp.linalg.norm(b) + eps)
tax = [(0.0, 0.0), (10.0, 0.1), (30.0, 0.3)]
def owed(income):
    steps = [jnp.clip(income - lo, 0, hi - lo) * r for (lo, r), hi in zip(tax, [t[0] for t in tax[1:]] + [jnp.inf])]
    return sum(steps)
incomes, A, B = jnp.array([5.0, 20.0, 100.0]), jr.normal(jr.key(0), (3, 1, 4)), jr.normal(jr.key(1), (2, 4))
---
sims = cosine(A, B, 1e-8)
bill = owed(incomes)
rate = vmap(grad(owed))(incomes)
band = jnp.select([incomes < 10, incomes < 30], [0, 1], 2)
pieces = jnp.piecewise(incomes, [incomes < 10, incomes >= 30], [lambda v: v * 0, lambda v: jnp.log(v), lambda v: v / 2])
np_version = np.vectorize(lambda v: f"{v:.1f}")(np.asarray(bill))
print(sims.shape, np_version.tolist(), band.dtype, len(tax))
sims, rate, pieces
---
tax.append((60.0, 0.5))
---
incomes = incomes * 2
---
tax[0] = (0.0, 0.05); B = B[:1]

### rn-partial-pytrees-through-jit-and-a-solver-object-holding-them
class Solver:
    def __init__(self, f, lr): self.f, self.lr, self.calls = f, lr, 0
    @partial(jit, static_argnums=0)
    def _step(self, f, x, lr): return x - lr * grad(f)(x)
    def __call__(self, x, n):
        for _ in range(n):
            x = self._step(self.f, x, self.lr)
            self.calls += 1
        return x
def quad(A, b, x): return 0.5 * x @ A @ x - b @ x
f = jtu.Partial(quad, jnp.diag(jnp.array([1.0, 3.0])), jnp.ones(2))
solver, x0, n = Solver(f, 0.2), jnp.zeros(2), 3
---
x = solver(x0, n)
leaves, treedef = jax.tree.flatten(solver.f)
shifted = jax.tree.map(lambda a: a + 0.1, solver.f)
value, both = solver.f(x), jax.vmap(lambda s: shifted(s * x))(jnp.arange(3.0))
print(len(leaves), solver.calls, type(shifted).__name__, shifted.func is quad)
x, value, both
---
solver.f = jtu.Partial(quad, jnp.eye(2), jnp.array([2.0, -2.0]))
---
solver.lr = 0.5
---
n = 1; solver.f = jtu.Partial(quad, jnp.eye(2) * 4, b=jnp.ones(2)) if False else solver.f

### rn-mutable-array-refs-as-optimizer-slots-updated-by-helpers
def make(params): return jax.tree.map(lambda p: jax.new_ref(jnp.zeros_like(p)), params)
def momentum(refs, grads, beta):
    for k in grads:
        refs[k][...] = beta * refs[k][...] + grads[k]
    return {k: refs[k][...] for k in grads}
params = {"w": jnp.array([1.0, -2.0, 3.0]), "b": jnp.array(0.5)}
refs, beta, n = make(params), 0.5, 3
def loss(p): return jnp.sum(p["w"] ** 2) + (p["b"] - 1) ** 2
---
curve = []
for i in range(n):
    value, g = jax.value_and_grad(loss)(params)
    v = momentum(refs, g, beta)
    params = {k: params[k] - 0.0625 * v[k] for k in params}
    refs["b"][...] += 0.0
    curve.append(value)
frozen = {k: r[...] for k, r in refs.items()}
refs["w"][0] = 0.0
print(len(curve), refs["w"].shape, type(frozen["b"]).__name__)
jnp.stack(curve), frozen, refs["w"][...]
---
beta = 0.25
---
refs["b"][...] = jnp.array(10.0)
---
refs = make(params); n = 1

### rn-duck-arrays-with-jax-array-protocol-and-array-priority
class Quantity:
    __array_priority__ = 100
    def __init__(self, value, unit): self.value, self.unit = value, unit
    def __jax_array__(self): return jnp.asarray(self.value)
    def __mul__(self, o):
        return Quantity(self.value * o.value, f"{self.unit}.{o.unit}") if isinstance(o, Quantity) else Quantity(self.value * o, self.unit)
    __rmul__ = __mul__
    def __add__(self, o):
        if self.unit != o.unit: raise TypeError(f"{self.unit} + {o.unit}")
        return Quantity(self.value + o.value, self.unit)
    def __eq__(self, o): return self.unit == o.unit and bool(jnp.allclose(self.value, o.value))
    def __hash__(self): return hash(self.unit)
    def __repr__(self): return f"{np.asarray(self.value).round(2)} {self.unit}"
length, time_, factors = Quantity(jnp.array([1.0, 2.0]), "m"), Quantity(0.5, "s"), [2, np.float32(3), jnp.float32(0.5)]
---
scaled = [f * length for f in factors]
total = reduce(operator.add, [s for s in scaled if isinstance(s, Quantity)])
try:
    length + time_
except TypeError as e:
    print(e)
seen = {length: "a", Quantity(jnp.array([1.0, 2.0]), "m"): "b", time_: "c"}
y = jnp.sin(length.__jax_array__()) + jnp.asarray(time_.value)
print([type(s).__name__ for s in scaled], total, len(seen), (length * time_).unit)
y, total.value
---
length.value = jnp.array([0.0, 1.0, 2.0]) [:2] + 1
---
time_ = time_ * 4
---
factors.append(jnp.float32(10.0)); length = Quantity(jnp.zeros(2), "m")

### rn-dataset-object-with-position-kept-peeked-and-rewound-by-cells
class Stream:
    def __init__(self, X, size): self.X, self.size, self.pos, self.epoch = X, size, 0, 0
    def __iter__(self): return self
    def __next__(self):
        if self.pos + self.size > len(self.X):
            self.pos, self.epoch = 0, self.epoch + 1
            raise StopIteration
        self.pos += self.size
        return self.X[self.pos - self.size:self.pos]
    def peek(self): return self.X[self.pos]
    def __len__(self): return len(self.X) // self.size
    def __contains__(self, v): return bool((self.X == v).any())
stream, mean, take = Stream(np.arange(14, dtype=np.float32).reshape(7, 2), 2), jnp.zeros(2), 2
---
got = 0
for batch in itertools.islice(stream, take):
    mean = 0.9 * mean + 0.1 * jnp.asarray(batch).mean(0)
    got += len(batch)
rest = sum(1 for _ in stream) if stream.pos > 4 else None
nxt = stream.peek()
print(got, rest, stream.pos, stream.epoch, len(stream), 3.0 in stream)
mean, nxt
---
take = 1
---
stream.pos, stream.size = 0, 3
---
stream.X = stream.X[::-1]; take = 5

### rn-own-number-subclass-and-bool-logic-short-circuits-on-arrays
class Tracked(float):
    log = []
    def __add__(self, o): Tracked.log.append("add"); return Tracked(float(self) + o) if isinstance(o, (int, float)) else jnp.float32(self) + o
    __radd__ = __add__
a, b, x = Tracked(0.5), jnp.array(0.0), jnp.array([1.0, 2.0])
limit = 2
---
Tracked.log.clear()
c = a + 1
d = a + x
e = b or "empty"
f = x.sum() and x.max()
g = not b
h = (x.mean() > 1) + (x.max() > limit) * 2
flag = all(v > 0 for v in x) and any(v > limit for v in x)
choice = ("low", "high")[bool(x.sum() > limit)]
print(type(c).__name__, Tracked.log, e, g, flag, choice)
d, f, h
---
b = jnp.array(3.0)
---
x = x - 5
---
limit = 0; a = Tracked(-0.5)

### rn-warnings-raised-once-by-a-helper-and-turned-into-errors
def scale(x):
    if (m := float(jnp.abs(x).max())) > 10:
        warnings.warn(f"large input {m:.0f}", RuntimeWarning, stacklevel=2)
    return x / (1 + jnp.abs(x))
x, strict = jnp.array([1.0, 50.0]), False
---
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    y = scale(x)
    z = scale(y * 3)
try:
    with warnings.catch_warnings():
        warnings.simplefilter("error" if strict else "ignore", RuntimeWarning)
        w = scale(2 * x)
except RuntimeWarning as e:
    w = jnp.zeros_like(x)
    print("error:", e)
print([str(s.message) for s in seen], [s.category.__name__ for s in seen])
y, z, w
---
strict = True
---
x = x / 100
---
x = x * 1000; strict = False

### rn-convolutions-windows-and-resizes-of-images-with-lax-dimension-numbers
def conv(x, k, stride=1, dilation=1):
    dn = lax.conv_dimension_numbers(x.shape, k.shape, ("NHWC", "HWIO", "NHWC"))
    return lax.conv_general_dilated(x, k, (stride, stride), "SAME", rhs_dilation=(dilation, dilation), dimension_numbers=dn)
def pool(x, n): return lax.reduce_window(x, -jnp.inf, lax.max, (1, n, n, 1), (1, n, n, 1), "VALID")
def patches(x, n):
    p = lax.conv_general_dilated_patches(x, (n, n), (n, n), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return p.reshape(x.shape[0], -1, p.shape[-1])
img = jnp.asarray(np.indices((8, 8)).sum(0) % 3, jnp.float32)[None, :, :, None]
kernels = {"edge": jnp.array([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]])[..., None, None], "blur": jnp.ones((3, 3, 1, 1)) / 9}
stride = 1
---
maps = {n: conv(img, k, stride, 1 + (n == "blur")) for n, k in kernels.items()}
pooled = {n: pool(m, 2) for n, m in maps.items()}
small = jax.image.resize(img, (1, 4, 4, 1), "bilinear")
sal = grad(lambda v: conv(v, kernels["edge"], stride).sum())(img)[0, :2, :2, 0]
shifted = jax.scipy.ndimage.map_coordinates(img[0, ..., 0], [jnp.array([0.5, 2.2]), jnp.array([1.0, 3.7])], order=1)
print({n: m.shape for n, m in pooled.items()}, patches(img, 4).shape)
{n: m.std() for n, m in maps.items()}, small.mean(), sal, shifted
---
stride = 2
---
kernels["blur"] = kernels["blur"] * 2
---
img = img[:, ::-1]; kernels["id"] = jnp.zeros((3, 3, 1, 1)).at[1, 1].set(1.0)

### rn-async-for-over-a-stream-of-updates-with-task-group-and-event
class Feed:
    def __init__(self, xs): self.xs = xs
    def __aiter__(self): self.i = 0; return self
    async def __anext__(self):
        if self.i == len(self.xs): raise StopAsyncIteration
        await asyncio.sleep(0)
        self.i += 1
        return self.xs[self.i - 1]
async def learner(feed, w, ready, log):
    async for x in feed:
        w = w + 0.1 * (x - w)
        log.append(("learn", len(log)))
        if jnp.abs(w).max() > 0.15:
            ready.set()
    ready.set()
    return w
async def watcher(ready, log):
    await ready.wait()
    log.append(("ready", len(log)))
    return len(log)
async def main(xs, w):
    ready, log = asyncio.Event(), []
    async with asyncio.TaskGroup() as tg:
        a, b = tg.create_task(learner(Feed(xs), w, ready, log)), tg.create_task(watcher(ready, log))
    return a.result(), b.result(), log
def run(coro):
    with asyncio.Runner() as r:
        return r.run(coro)
xs, w = [jnp.array([1.0, 0.0]), jnp.array([2.0, 1.0]), jnp.array([0.0, 3.0])], jnp.zeros(2)
---
w, when, log = run(main(xs, w))
kinds = Counter(k for k, _ in log)
print(when, dict(kinds), log[-1][0])
w, jnp.stack(xs).mean(0)
---
xs.append(jnp.array([5.0, 5.0]))
---
w = jnp.zeros(2)
---
xs = xs[:1]; w = jnp.ones(2) * -1

### rn-environment-switches-read-by-helpers-and-folders-changed-in-a-with
def backend_scale(): return float(os.environ.get("SCALE", "1.0"))
@contextlib.contextmanager
def env(**kw):
    old = {k: os.environ.get(k) for k in kw}
    os.environ.update({k: str(v) for k, v in kw.items()})
    try:
        yield
    finally:
        for k, v in old.items():
            os.environ.pop(k) if v is None else os.environ.__setitem__(k, v)
x, scale = jnp.arange(3.0), 2.5
Path("runs").mkdir()
---
base = x * backend_scale()
with env(SCALE=scale, MODE="fast"), contextlib.chdir("runs"):
    Path("note.txt").write_text(os.environ["MODE"])
    inside = x * backend_scale()
    here = Path.cwd().name
found = [p.name for p in sorted(Path("runs").glob("*.txt"))]
print("MODE" in os.environ, here != Path.cwd().name, found, os.environ.get("SCALE"))
inside - base, base.sum()
---
scale = 10
---
os.environ["SCALE"] = "0.5"
---
del os.environ["SCALE"]; x = x + 1

### rn-nested-recursion-with-memo-keyed-by-tuples-of-shapes-and-counts
def chain_order(dims):
    memo, visits = {}, Counter()
    def best(i, j):
        visits[j - i] += 1
        if i == j:
            return 0, (i,)
        if (i, j) not in memo:
            memo[i, j] = min(((lambda a, b: (a[0] + b[0] + dims[i] * dims[k + 1] * dims[j + 1], (a[1], b[1])))(best(i, k), best(k + 1, j))
                              for k in range(i, j)), key=lambda t: t[0])
        return memo[i, j]
    return best(0, len(dims) - 2), visits
def multiply(plan, mats):
    match plan:
        case (int(i),): return mats[i]
        case (l, r): return multiply(l, mats) @ multiply(r, mats)
dims = [2, 5, 3, 4]
def make(dims): return [jr.normal(jr.fold_in(jr.key(1), i), s) for i, s in enumerate(zip(dims, dims[1:]))]
mats = make(dims)
---
(cost, plan), visits = chain_order(dims)
fast = multiply(plan, mats)
plain = jnp.linalg.multi_dot(mats) if len(mats) > 1 else mats[0]
grads = grad(lambda ms: multiply(plan, ms).sum())(mats)
print(cost, plan, visits.most_common(1), jnp.allclose(fast, plain, atol=1e-4))
fast, [g.shape for g in grads], jnp.trace(grads[0] @ mats[0].T)
---
dims = [4, 1, 4, 1, 2]; mats = make(dims)
---
mats = [m * 2 for m in mats]
---
dims, mats = dims[:3], mats[:2]
""",
)
