"""Python itself around JAX: classes of all kinds, iterators kept, closures, scopes, exceptions, text, containers, callbacks, displays."""

from ..cell import written

PRELUDE = """
import functools, itertools, operator, dataclasses, typing, enum, abc, collections, contextlib, copy, pickle, weakref, warnings, logging, logging.handlers
import heapq, bisect, fractions, decimal, string, io, sys, types, math, contextvars, numbers, inspect
from dataclasses import dataclass, field
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.linspace(0.0, 1.0, 6)
"""

CELLS = written(
    PRELUDE,
    r"""
### lpy-cooperative-mixins
class Base:
    def __init__(self, **kw):
        assert not kw, f"left over: {sorted(kw)}"
        self.log = []
    def __call__(self, v):
        self.log.append("base")
        return v
class Scaled(Base):
    def __init__(self, scale=2.0, **kw):
        super().__init__(**kw); self.scale = scale
    def __call__(self, v):
        self.log.append("scaled")
        return super().__call__(v * self.scale)
class Shifted(Base):
    def __init__(self, *, shift, **kw):
        super().__init__(**kw); self.shift = jnp.asarray(shift)
    def __call__(self, v):
        self.log.append("shifted")
        return super().__call__(v + self.shift)
class Both(Scaled, Shifted): pass
bases, kw = (Scaled, Shifted), {"shift": 1.0}
---
m = Both(**kw)
y = m(x)
swapped = type("Swapped", bases[::-1], {})(**kw)
z = swapped(x)
print([c.__name__ for c in type(swapped).__mro__[1:-1]], m.log)
(z - y).max(), swapped.log == m.log
---
kw = {"shift": np.arange(6.0), "scale": 3}
---
Scaled.__call__ = lambda self, v: super(Scaled, self).__call__(v) * self.scale

### lpy-set-name-validators
class Positive:
    def __set_name__(self, owner, name):
        self.name = name; owner.checked = getattr(owner, "checked", ()) + (name,)
    def __get__(self, obj, owner=None):
        return self if obj is None else obj.__dict__[self.name]
    def __set__(self, obj, value):
        if not jnp.all(jnp.asarray(value) > 0):
            raise ValueError(f"{self.name} must be positive")
        obj.__dict__[self.name] = value
class Kernel:
    length, var = Positive(), Positive()
    def __init__(self, length, var): self.length, self.var = length, var
    def __call__(self, a, b): return self.var * jnp.exp(-0.5 * ((a[:, None] - b) / self.length) ** 2)
k, step = Kernel(0.5, jnp.ones(())), 0.3
---
for _ in range(3):
    try:
        k.length = k.length - step
    except ValueError as e:
        print("kept:", e)
        break
    else:
        k.var = k.var * 1.1
K = k(x, x)
L = jnp.linalg.cholesky(K + 0.1 * jnp.eye(6))
sorted(vars(k)), Kernel.checked, bool(jnp.all(k.length > 0)), L[0, 0]
---
k.length = 2.0
---
k = Kernel(jnp.array([0.5] * 6), 2); step = jnp.linspace(0, 0.3, 6)

### lpy-getattr-proxy-of-jnp
class Recorded:
    def __init__(self, target): self._target, self._names = target, collections.Counter()
    def __getattr__(self, name):
        if name.startswith("_"): raise AttributeError(name)
        self._names[name] += 1
        return getattr(self._target, name)
    def __dir__(self): return ["sin", "cos"]
xp = Recorded(jnp)
def wave(v, terms): return sum(xp.sin(k * v) / k for k in range(1, terms + 1))
terms = 3
---
y = wave(x, terms) + xp.pi
z = xp.where(y > xp.mean(y), xp.cos(y), xp.zeros_like(y))
has = hasattr(xp, "_hidden"), hasattr(xp, "no_such"), dir(xp)
print(dict(xp._names))
has, z.dtype, z
---
terms = 2
---
xp = Recorded(np)

### lpy-registry-by-init-subclass
class Block:
    kinds = {}
    def __init_subclass__(cls, /, tag=None, **kw):
        super().__init_subclass__(**kw)
        cls.tag = tag or cls.__name__.lower()
        Block.kinds.setdefault(cls.tag, []).append(cls)
order = ["dense", "act"]
---
class Dense(Block):
    gain = 2.0
    def __call__(self, v): return v * self.gain
class Act(Block, tag="act"):
    def __call__(self, v): return jnp.tanh(v)
h = x
for t in order:
    h = Block.kinds[t][-1]()(h)
first = Block.kinds["dense"][0]
len(Block.kinds["act"]), first is Dense, isinstance(Act(), first.__mro__[1]), h[-1]
---
order = ["act", "dense", "dense"]
---
Block.kinds.clear()

### lpy-generator-schedule-with-send
def schedule(lr, patience=2):
    bad, best = 0, None
    while True:
        loss = yield lr
        if best is None or loss < best - 1e-3: best, bad = loss, 0
        else: bad += 1
        if bad >= patience: lr, bad = lr / 2, 0
sched = schedule(0.8); lr = next(sched)
w, lrs = jnp.ones(6), []
---
for _ in range(3):
    loss, g = jax.value_and_grad(lambda w: jnp.sum((w * x - 2) ** 2))(w)
    w = w - lr * g
    lr = sched.send(float(loss))
    lrs.append(lr)
inspect.getgeneratorstate(sched), lrs[-3:], sched.gi_frame.f_locals["bad"], loss
---
w = jnp.full(6, 5.0)
---
sched = schedule(jnp.float32(0.1), 1); lr = next(sched)

### lpy-iterators-half-way
source = iter(range(100))
lead, lag = itertools.tee(source, 2); next(lead)
wheel = itertools.cycle(["sin", "cos", "tanh"])
ids = itertools.count(10, 5)
---
pairs = list(zip(itertools.islice(lead, 3), lag))
h, path = x, []
for (a, b), name in zip(pairs, wheel):
    h = getattr(jnp, name)(h * a - b)
    path.append((name, next(ids)))
rest = next(lag, None)
nxt = next(itertools.pairwise(path), None)
pairs[-1:], rest, nxt, h.sum()
---
wheel = itertools.chain(["exp"], wheel)
---
lag = iter([7]); ids = itertools.repeat("same", 2)

### lpy-adam-in-closure
def adam(lr, b1=0.9, b2=0.99):
    m = v = None
    t = 0
    def update(g):
        nonlocal m, v, t
        t += 1
        m = (1 - b1) * g if m is None else b1 * m + (1 - b1) * g
        v = (1 - b2) * g ** 2 if v is None else b2 * v + (1 - b2) * g ** 2
        return -lr * (m / (1 - b1 ** t)) / (jnp.sqrt(v / (1 - b2 ** t)) + 1e-8)
    def reset():
        nonlocal m, v, t
        m, v, t = None, None, 0
    update.reset = reset
    return update
opt, w = adam(0.1), x + 1
---
for i in range(3):
    w = w + opt(2 * w)
cells = dict(zip(opt.__code__.co_freevars, (c.cell_contents for c in opt.__closure__)))
same_m = opt.__closure__[3].cell_contents is cells["m"]
cells["t"], sorted(cells), same_m, w.sum()
---
opt.reset()
---
opt = adam(jnp.float32(0.5)); w = w.at[0].set(100.0)

### lpy-global-counters-and-function-attributes
n_calls, best = 0, None
def objective(v):
    global n_calls, best
    n_calls += 1
    objective.history = getattr(objective, "history", []) + [n_calls]
    val = jnp.sum((v - 0.3) ** 2)
    if best is None or val < best: best = val
    return val
cands = [0.0, 0.5, 0.25]
---
vals = [objective(x[:3] + c) for c in cands]
order = sorted(range(len(vals)), key=vals.__getitem__)
improved = best is vals[order[0]]
n_calls, objective.history[-2:], order, improved
---
best = None; del objective.history
---
cands = [9.0]

### lpy-cached-jit-factory
@functools.lru_cache(maxsize=2)
def make_step(order, kind="taylor"):
    coefs = tuple(1 / math.factorial(k) for k in range(order + 1))
    @jax.jit
    def step(v): return sum(c * v ** k for k, c in enumerate(coefs))
    return step
orders = [2, 3, 2]
---
errs = {}
for o in orders:
    f = make_step(o)
    errs[o] = jnp.abs(f(x) - jnp.exp(x)).max()
info = make_step.cache_info()
print(info.hits > 0, info.currsize, make_step.cache_parameters()["maxsize"])
make_step(orders[-1]) is f, sorted(errs), errs[orders[0]]
---
orders = [4, 5, 6]
---
make_step.cache_clear()

### lpy-singledispatchmethod-on-nodes
@dataclass
class Num: v: object
@dataclass
class Var: name: str
@dataclass
class Bin: op: str; l: object; r: object
class Evaluator:
    def __init__(self, env): self.env, self.visits = env, []
    @functools.singledispatchmethod
    def run(self, node): raise TypeError(f"no rule for {type(node).__name__}")
    @run.register
    def _(self, node: Num): self.visits.append("num"); return jnp.asarray(node.v)
    @run.register
    def _(self, node: Var): self.visits.append(node.name); return self.env[node.name]
    @run.register
    def _(self, node: Bin): return getattr(operator, node.op)(self.run(node.l), self.run(node.r))
tree = Bin("add", Bin("mul", Var("x"), Num(2)), Num(0.5))
---
ev = Evaluator({"x": x})
try:
    y = ev.run(tree)
except TypeError as e:
    print(e)
    y = None
dx = jax.vmap(jax.grad(lambda v: Evaluator({"x": v}).run(tree)))(x) if y is not None else x * 0
ev.visits, dx
---
tree = Bin("pow", Var("x"), Num(3))
---
tree = Bin("add", tree, -1)

### lpy-compose-and-wraps
def compose(*fns): return functools.reduce(lambda f, g: lambda v: g(f(v)), fns)
def logged(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kw):
        wrapper.calls += 1
        return fn(*args, **kw)
    wrapper.calls = 0
    return wrapper
@logged
def clip(v, lo=-1.0, *, hi=1.0):
    "Clips."
    return jnp.clip(v, lo, hi)
steps = [jnp.square, functools.partial(clip, hi=0.5), operator.neg]
---
pipe = compose(*steps)
y = pipe(x)
last = steps[1]
unwrapped = clip.__wrapped__(x, 0.2)
field_of = operator.attrgetter("shape", "dtype.name")(y)
clip.calls, clip.__name__, clip.__doc__, getattr(last, "keywords", None), field_of, unwrapped.sum()
---
steps[1] = functools.partial(clip, 0.1, hi=0.2)
---
steps = [operator.itemgetter(slice(None, None, 2)), logged(jnp.cumsum)]

### lpy-context-restores-after-error
class Net:
    def __init__(self): self.w, self.training, self.rate = jnp.ones(6), True, 0.5
    def __call__(self, v): return v * self.w * (self.rate if self.training else 1.0)
@contextlib.contextmanager
def temporarily(obj, **attrs):
    old = {k: getattr(obj, k) for k in attrs}
    vars(obj).update(attrs)
    try:
        yield obj
    except ZeroDivisionError as e:
        obj.error = str(e)
    finally:
        vars(obj).update(old)
net, denom = Net(), 0
---
train = net(x)
with temporarily(net, training=False, w=net.w * 3) as inner:
    evaluated = inner(x)
    scaled = evaluated / (1 // denom)
after = net(x)
same = after.sum() == train.sum()
bool(same), getattr(net, "error", None), "scaled" in globals(), evaluated[-1]
---
denom = 1; del net.error
---
net.training = False

### lpy-order-of-finally-and-else
trail = []
def attempt(i, v):
    try:
        trail.append(f"try{i}")
        if i == 2: return v * 100
        if i == 1: v = v @ jnp.ones(bad)
    except TypeError:
        trail.append("caught")
        v = v[:2]
    else:
        trail.append("else")
    finally:
        trail.append("finally")
    return v + i
bad = 7
---
outs = []
for i in range(5):
    try:
        if i == 3: continue
        outs.append(attempt(i, x))
        if i == 4: break
    finally:
        trail.append(f"end{i}")
else:
    trail.append("no break")
del trail[:-6]
trail, [o.shape for o in outs], sum(o.sum() for o in outs)
---
bad = 6
---
bad = "x"

### lpy-assert-in-cell-then-mended
logits = jnp.array([[1.0, 2.0], [0.5, 0.5]])
labels = jnp.array([1, 0])
checked = []
---
checked.append("shape")
assert logits.shape[0] == labels.shape[0], f"batch {logits.shape[0]} against {labels.shape[0]}"
p = jax.nn.softmax(logits)
checked.append("finite")
assert jnp.isfinite(p).all(), f"bad rows {np.flatnonzero(~np.isfinite(np.asarray(p)).all(1)).tolist()}"
nll = -jnp.log(p[jnp.arange(len(labels)), labels])
assert labels.max() < p.shape[1], "label out of range"
len(checked), nll.mean()
---
logits = logits.at[1, 0].set(jnp.nan)
---
logits = jnp.eye(2)
---
labels = jnp.array([2, 0])
---
labels = jnp.array([0])

### lpy-raise-from-with-payload
class FitError(RuntimeError):
    def __init__(self, msg, *, last):
        super().__init__(msg); self.last = last
def fit(v, target, iters):
    for i in range(iters):
        v = v - 0.5 * (v - target)
        if not jnp.isfinite(v).all():
            try:
                raise FloatingPointError(f"nan at {i}")
            except FloatingPointError as inner:
                err = FitError("diverged", last=v)
                err.add_note("try a smaller rate")
                raise err from inner
    return v
target = jnp.full(6, 2.0)
---
status, final = "ok", None
try:
    final = fit(x, target, 3)
except FitError as e:
    status = f"{e} <- {type(e.__cause__).__name__}: {e.__cause__} ({e.__notes__[0]})"
    final = jnp.nan_to_num(e.last)
    depth = (e.__context__ is e.__cause__, e.__suppress_context__)
    print(depth)
status, final
---
target = target.at[2].set(jnp.inf) - jnp.inf
---
target = x

### lpy-walrus-and-comprehension-scope
n, limit, i = 5, 0.9, "outer"
---
powers = [last := x ** i for i in range(1, n)]
big = [(i, m) for i, p in enumerate(powers) if (m := p.mean()) > 0.3]
while (norm := jnp.linalg.norm(last)) > limit:
    last = last * 0.5
grid = {(a, b): a * b * norm for a in range(2) for b in range(a, 3) if b}
first = next((k for k, v in grid.items() if v > 0), None)
any((hit := v) > 1 for v in (0.5, 2.0, 3.0))
i, len(big), m, hit, first, sorted(grid)
---
limit = 5.0
---
n = 2

### lpy-match-on-classes
@dataclass(frozen=True)
class Circle: c: tuple; r: float
class Box:
    __match_args__ = ("lo", "hi")
    def __init__(self, lo, hi): self.lo, self.hi = jnp.asarray(lo), jnp.asarray(hi)
def sdf(shape, p):
    match shape:
        case Circle((cx, cy), r) if r > 0: return jnp.hypot(p[..., 0] - cx, p[..., 1] - cy) - r
        case Circle(): return jnp.full(p.shape[:-1], jnp.inf)
        case Box(lo, hi): return jnp.max(jnp.maximum(lo - p, p - hi), axis=-1)
        case ("union", *parts): return functools.reduce(jnp.minimum, (sdf(s, p) for s in parts))
        case {"shell": inner, **rest}: return jnp.abs(sdf(inner, p)) - rest.get("t", 0.1)
        case None | False: return jnp.zeros(p.shape[:-1])
        case _: raise TypeError(shape)
scene = ("union", Circle((0, 0), 0.5), {"shell": Box([0.0, 0.0], [1, 1]), "t": 0.05})
pts = jnp.stack(jnp.meshgrid(x, x), -1)
---
d = sdf(scene, pts)
inside = (d < 0).sum()
g = jax.grad(lambda p: sdf(scene, p))(jnp.array([0.7, 0.6]))
d.shape, int(inside), g
---
scene = ("union", Circle((0.5, 0.5), -1), Circle((1, 1), 0.25))
---
scene = {"shell": None}

### lpy-star-unpacking
def affine(v, *scales, bias=0.0, **rest): return v * math.prod(scales) + bias + len(rest)
args, kw = [2, 3], {"bias": jnp.float32(1), "note": "a"}
---
first, *mid, last = x
(a, (b, *c)), d = (mid[0], mid[1:]), [*mid, *args]
y = affine(*[x, *args], **{**kw, "bias": first + 2})
head, *_ = jnp.array_split(y, 3)
p, q = r = jnp.array([3.0, 4.0])
*rows, = map(tuple, np.asarray(jnp.eye(2)).tolist())
print(*rows, *(f"{v:.1f}" for v in c), sep=", ")
type(first).__name__, len(d), b is mid[1], head, p + q, r
---
args = (0.5,)
---
kw["more"] = None; x = x[:4]

### lpy-del-of-everything
params = {"a": jnp.ones(2), "b": jnp.zeros(3), "old": jnp.ones(1)}
stack = [x * i for i in range(6)]
class Box: pass
box = Box(); box.tmp, box.keep = x, x + 1
view = memoryview(bytearray(6))
---
tmp, tmp2 = params["a"] + 1, [1, 2, 3]
kept = stack[-2]
if "old" in params:
    del params["old"], box.tmp
if len(stack) > 3:
    del stack[1:3], stack[-1]
del tmp, tmp2[::2]
try:
    tmp
except NameError as e:
    print(e)
total = sum(s.sum() for s in stack)
list(params), len(stack), tmp2, any(s is kept for s in stack), total, vars(box).keys()
---
stack = [x * i for i in range(6)]; params["old"] = 1; box.tmp = None
---
stack.append(x)

### lpy-augmented-on-views
buf = np.zeros(8, np.float32)
left, even = buf[:4], buf[::2]
l1 = [x]; l2 = l1
p = {"w": x}; q = p["w"]
arr = x; other = arr
---
left += np.asarray(jnp.arange(4.0))
even *= 2
buf[-1] = jnp.sum(x)
l1 += [x * 2]
l2.extend([l1[-1] + 1])
p["w"] += 1
arr *= 3
sizes = [a.base is buf for a in (left, even)]
np.add.at(buf, [0, 0, 1], 1)
sizes, len(l1), l1 is l2, q is p["w"], other is arr, buf, jnp.asarray(buf).sum()
---
left = left.copy(); l2 = list(l1)
---
buf = buf.astype(np.int32)

### lpy-weakrefs-to-models
class Model:
    def __init__(self, w): self.w = w
    def predict(self, v): return v @ self.w
models = {f"m{i}": Model(x * i) for i in range(3)}
registry = weakref.WeakValueDictionary(models)
scores = weakref.WeakKeyDictionary()
method = weakref.WeakMethod(models["m2"].predict)
drop = "m1"
---
for name, m in list(registry.items()):
    scores[m] = m.predict(x)
m = None
removed = models.pop(drop, None) is not None
alive = method()
top = max(registry, key=lambda k: scores[registry[k]] if k in models else -1)
val = alive(x) if alive is not None else jnp.float32(-1)
removed, sorted(models), top, val
---
drop = "m0"
---
models["m5"] = registry["m5"] = Model(jnp.ones(6))

### lpy-deepcopy-hooks
class Shared:
    def __init__(self): self.table = jnp.arange(6.0)
    def __deepcopy__(self, memo): return self
class Layer:
    def __init__(self, shared): self.shared, self.w, self.parent, self.cache = shared, jnp.ones(6), None, {}
    def __deepcopy__(self, memo):
        new = type(self).__new__(type(self)); memo[id(self)] = new
        for k, v in vars(self).items():
            setattr(new, k, {} if k == "cache" else copy.deepcopy(v, memo))
        return new
    def __copy__(self): raise TypeError("copy deeply")
layer = Layer(Shared()); layer.child = Layer(layer.shared); layer.child.parent = layer
---
twin = copy.deepcopy(layer)
twin.w = twin.w * 2 + twin.shared.table
twin.child.w += 1
layer.cache["y"] = layer.w @ twin.w
try:
    copy.copy(twin)
except TypeError as e:
    msg = str(e)
links = twin.child.parent is twin, twin.shared is layer.shared, twin.cache == {}
links, msg, layer.child.w is twin.child.w, layer.cache["y"]
---
layer = twin
---
layer.child = None; layer.child = Layer(Shared())

### lpy-pickle-with-reduce
class Table:
    made = 0
    def __init__(self, rows):
        type(self).made += 1
        self.rows = rows
    def __reduce__(self): return Table, (jax.tree.map(np.asarray, self.rows),)
    def __eq__(self, other): return isinstance(other, Table) and len(self.rows) == len(other.rows)
    __hash__ = None
t = Table([x, x * 2])
---
blob = pickle.dumps({"t": t, "again": t, "k": jax.random.key_data(jax.random.key(3))}, protocol=4)
back = pickle.loads(blob)
shared = back["t"] is back["again"]
rows = [jnp.asarray(r) + 1 for r in back["t"].rows]
t = Table(rows)
equal = t == back["t"]
shared, equal, Table.made, type(back["t"].rows[0]).__name__, rows[-1].sum()
---
Table.made = 0; t.rows.append(x[:1])
---
t.rows = (jnp.ones((), jnp.bfloat16),)

### lpy-format-specs
@dataclass
class Metric:
    name: str; value: object
    def __format__(self, spec):
        kind, _, rest = spec.partition("|")
        return f"{self.name}={float(self.value):{rest or '.2f'}}" if kind == "kv" else f"{self.value:{rest or 'g'}}"
width, prec = 10, 3
---
loss = jnp.mean(jnp.exp(-x))
m = Metric("loss", loss)
step, done = jnp.argmax(x), bool(x[-1] > 0.5)
print(f"[{loss:>{width}.{prec}f}|{step:03d}|{done!s:^7}|{loss:.2e}|{float(x.mean()):+.1%}]")
print(f"{m:kv|.4f} {m:x} {step=!s} {x.shape=} {'a' if done else 'b'!r:<4}|")
print("%5.2f %s %r %d" % (loss, x.dtype, x.ndim, step), "{:_} {!r:>4} {0:}".replace("{0:}", "").format(2 ** 20, None))
line = f"{x[1]:.{prec}g}" + f"{jnp.float32(2.5):.0f}" + f"{1e6 * 2:,}"
line
---
width, prec = 6, 1
---
x = x.astype(jnp.bfloat16)

### lpy-print-to-buffers
out = io.StringIO()
class Upper(io.StringIO):
    def write(self, s): return super().write(s.upper())
loud = Upper()
sep = " | "
---
print("mean", x.mean().round(2), sep=sep, file=out)
print(*[f"{v:.1f}" for v in x], sep=",", end="!\n", file=loud)
for dest in (out, None, loud):
    print("norm", f"{jnp.linalg.norm(x):.2f}", file=dest, flush=True)
with contextlib.redirect_stdout(out):
    print(x.shape, end="")
    print()
out.seek(0)
lines = out.readlines()
len(lines), lines[-1], loud.getvalue()[-12:]
---
sep = "\t"; out = io.StringIO()
---
x = x * -1

### lpy-warnings-caught-and-errors
class PrecisionWarning(UserWarning): pass
def lower(v):
    if v.dtype == jnp.float32:
        warnings.warn("cast down", PrecisionWarning, stacklevel=2)
    return v.astype(jnp.bfloat16)
mode = "always"
---
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter(mode)
    try:
        h = lower(x)
    except PrecisionWarning as e:
        print("raised", e)
        h = x
    h2 = lower(h * 2)
kinds = [(w.category.__name__, str(w.message)) for w in caught]
del caught
kinds, h.dtype, h2.astype(jnp.float32).sum()
---
mode = "ignore"
---
mode = "error"; x = x.astype(jnp.bfloat16)

### lpy-log-handlers-with-filters
log = logging.Logger("fit")
kept = []
class Keep(logging.Handler):
    def emit(self, record): kept.append((record.levelname, record.getMessage(), getattr(record, "step", None)))
memory = logging.handlers.MemoryHandler(3, flushLevel=logging.ERROR, target=Keep())
log.addHandler(memory)
log.addFilter(lambda r: "skip" not in r.getMessage())
adapter = logging.LoggerAdapter(log, {"step": 0})
w = jnp.ones(6)
---
for step in range(4):
    adapter.extra["step"] += 1
    w = jnp.where(w > 0.3, w * 0.7 - x * 0.1, w)
    adapter.debug("w0 %.2f", w[0])
    if not (w > 0.1).all():
        adapter.error("small: %s", np.asarray(w).round(1).min())
    log.info("skip this %s", w)
len(memory.buffer), len(kept), kept[-1] if kept else None
---
memory.capacity = 100; kept.clear()
---
w = jnp.zeros(6); log.setLevel(logging.WARNING)

### lpy-text-table-of-layers
shapes = {"embed": (8, 4), "dense/kernel": (4, 2), "dense/bias": (2,)}
tmpl = string.Template("$name has $n ($pct%)")
---
params = {k: jnp.ones(s) * i for i, (k, s) in enumerate(shapes.items())}
total = sum(p.size for p in params.values())
w0 = max(map(len, params))
rows = []
for k, p in params.items():
    rows.append("  ".join([k.ljust(w0), str(p.shape).rjust(8), f"{p.mean():6.2f}", "#" * int(10 * p.size / total)]))
text = "\n".join(["-" * len(rows[0]), *rows])
print(text.expandtabs(4), tmpl.safe_substitute(name=k.title(), n=p.size, pct=round(100 * p.size / total)), sep="\n")
summary = "{embed} and {missing}".format_map(collections.defaultdict(lambda: "?", {n: v.sum() for n, v in params.items()}))
summary
---
shapes["head"] = (2, 1)
---
shapes = {"a": ()}

### lpy-sorting-by-array-keys
@functools.total_ordering
class Cand:
    def __init__(self, name, score): self.name, self.score = name, score
    def __eq__(self, o): return bool(self.score == o.score)
    def __lt__(self, o): return bool(self.score < o.score)
    def __repr__(self): return self.name
pool = [Cand(n, jnp.sum(x * s)) for n, s in zip("abcd", (2, 0, 1, 2))]
top = 2
---
pool.sort(reverse=True)
names = sorted(pool, key=lambda c: (-c.score, c.name))
worst = min(pool); best2 = heapq.nlargest(top, pool)
keys = [float(c.score) for c in sorted(pool)]
at = bisect.bisect_left(keys, 1.5 * float(x.sum()))
ranked = sorted("bca", key=functools.cmp_to_key(lambda p, q: (p > q) - (p < q)))
groups = {k: [c.name for c in g] for k, g in itertools.groupby(sorted(pool), key=lambda c: bool(c.score > 3))}
pool, names, worst, best2, at, ranked, len(groups)
---
pool[0].score = jnp.float32(-1)
---
pool.append(Cand("e", 100)); top = 1

### lpy-layered-config-and-counters
defaults = {"lr": 0.1, "act": "tanh", "n": 6}
cfg = collections.ChainMap({}, {"lr": 0.2}, defaults)
hits = collections.Counter()
lru = collections.OrderedDict()
---
trial = cfg.new_child({"n": 3})
trial["act"] = "sin"
for c in (cfg, trial, cfg):
    key = (c["act"], c["n"])
    hits[key] += 1
    if key in lru: lru.move_to_end(key)
    else: lru[key] = getattr(jnp, c["act"])(x[: c["n"]]) * c["lr"]
    if len(lru) > 2: lru.popitem(last=False)
hits.subtract({key: 1})
hits.update([key] * 2)
groups = collections.defaultdict(list)
for (a, n), v in lru.items(): groups[n].append(v.sum())
hits.most_common(1), list(lru), sorted(groups), trial.parents["n"], cfg.maps[0], groups[6]
---
cfg["act"] = "cos"
---
defaults["n"] = 2; cfg.maps[1].pop("lr")

### lpy-best-first-with-heap
tick = itertools.count()
H = jnp.array([[2.0, 0.3], [0.3, 1.0]])
seen_max = 6
---
def cost(p): return p @ H @ p
start = jnp.array([2, -2])
heap, seen, popped = [(float(cost(start)), next(tick), start)], set(), []
while heap and len(seen) < seen_max:
    c, _, p = heapq.heappop(heap)
    spot = tuple(p.tolist())
    if spot in seen: continue
    seen.add(spot)
    popped.append(round(c, 2))
    for d in ((0, 1), (1, 0), (-1, 0)):
        q = p + jnp.array(d)
        heapq.heappush(heap, (float(cost(q)), next(tick), q))
popped, min(seen), len(heap), heap[0][2]
---
H = jnp.eye(2)
---
seen_max = 3; tick = itertools.count(1000)

### lpy-exact-tableau
from fractions import Fraction as F
from decimal import Decimal
A = [[], [F(1, 2)], [F(-1), F(2)]]
B = [F(1, 6), F(2, 3), F(1, 6)]
dt = F(1, 4)
---
def rhs(y): return -y + x
y = jnp.ones(6)
for _ in range(2):
    ks = []
    for row in A:
        ks.append(rhs(y + float(dt) * sum((float(a) * k for a, k in zip(row, ks)), jnp.zeros(6))))
    y = y + float(dt) * sum(float(b) * k for b, k in zip(B, ks))
nodes = [sum(r, F(0)) for r in A]
money = Decimal(str(round(float(y[0]), 3))).quantize(Decimal("0.01"))
isinstance(B[0], numbers.Rational), nodes, sum(B) == 1, money, (jnp.array(2) * dt if False else dt.limit_denominator(2)), y[-1]
---
dt = F("0.1")
---
B = [F(1), F(0), F(0)]; A = A[:2] + [[F(1, 3), F(1, 3)]]

### lpy-generic-state-and-hints
T = typing.TypeVar("T")
class State(typing.Generic[T]):
    value: T
    step: int
    note: typing.Annotated[str, "free"] = ""
    def __init__(self, value, step=0): self.value, self.step = value, step
    def map(self, f) -> "State[T]": return type(self)(f(self.value), self.step + 1)
@typing.runtime_checkable
class Steppable(typing.Protocol):
    step: int
    def map(self, f): ...
class Tree(typing.TypedDict, total=False):
    w: object; b: object
---
s = State[dict](Tree(w=x, b=jnp.zeros(())))
for f in (lambda t: {**t, "b": t["w"].sum()}, lambda t: jax.tree.map(jnp.sqrt, t)):
    s = s.map(f)
hints = typing.get_type_hints(State, include_extras=True)
args = typing.get_args(getattr(State[int], "__orig_class__", State[int]))
out: typing.Optional[jax.Array] = typing.cast(typing.Any, s.value["b"])
isinstance(s, Steppable), isinstance(x, Steppable), list(hints), args, s.step, __annotations__["out"], out
---
State.note = "b"; State.map = lambda self, f: type(self)(f(self.value), self.step + 10)
---
x = x * 4

### lpy-abstract-and-concrete
class Sampler(abc.ABC):
    @property
    @abc.abstractmethod
    def dim(self): ...
    @abc.abstractmethod
    def draw(self, key): ...
    def many(self, key, n): return jax.vmap(self.draw)(jax.random.split(key, n))
class Normal(Sampler):
    def __init__(self, mu): self.mu = jnp.asarray(mu)
    dim = property(lambda self: self.mu.shape[-1])
    def draw(self, key): return self.mu + jax.random.normal(key, (self.dim,))
class Half(Sampler):
    dim = 1
mu, n = [0.0, 1.0], 3
---
missing = {}
for cls in Sampler.__subclasses__():
    try:
        s = cls(mu) if cls is Normal else cls()
    except TypeError as e:
        missing[cls.__name__] = sorted(cls.__abstractmethods__)
    else:
        draws = s.many(jax.random.key(0), n)
        print(cls.__name__, s.dim, draws.shape)
missing, draws.mean(0)
---
Half.draw = lambda self, key: jax.random.uniform(key, (1,)); abc.update_abstractmethods(Half)
---
mu, n = np.zeros(3), 2

### lpy-dual-numbers
class Dual:
    __array_priority__ = 1000
    __slots__ = ("v", "d")
    def __init__(self, v, d): self.v, self.d = v, d
    def _lift(self, o): return o if isinstance(o, Dual) else Dual(o, 0.0)
    def __add__(self, o): o = self._lift(o); return Dual(self.v + o.v, self.d + o.d)
    __radd__ = __add__
    def __mul__(self, o): o = self._lift(o); return Dual(self.v * o.v, self.v * o.d + self.d * o.v)
    __rmul__ = __mul__
    def __pow__(self, n): return Dual(self.v ** n, n * self.v ** (n - 1) * self.d)
    def __neg__(self): return Dual(-self.v, -self.d)
    def __rsub__(self, o): return -self + o
    def __sub__(self, o): return self + (-o)
    def __matmul__(self, M): return Dual(self.v @ M, self.d @ M)
    def __repr__(self): return f"Dual({np.asarray(self.v).round(2)}, {np.asarray(self.d).round(2)})"
def f(u): return 3 * u ** 2 + u * u - 1 * (2 - u)
M = jnp.eye(6)[:, :2]
---
u = f(Dual(x, jnp.ones_like(x)))
ref = jax.vmap(jax.grad(lambda s: f(s)))(x)
ok = jnp.allclose(u.d, ref)
w = (np.float32(2) * u if False else 2.0 * u) @ M
try:
    mixed = jnp.ones(6) * u
except TypeError as e:
    mixed = "refused"
bool(ok), w, type(mixed).__name__
---
def f(u): return (1 - u) ** 3
---
M = np.ones((6, 1), np.float32)

### lpy-units-around-arrays
class Q:
    def __init__(self, v, **u): self.v, self.u = jnp.asarray(v), {k: p for k, p in u.items() if p}
    def _same(self, o):
        if self.u != o.u: raise TypeError(f"{self.u} against {o.u}")
    def __add__(self, o): self._same(o); return Q(self.v + o.v, **self.u)
    def __mul__(self, o):
        if not isinstance(o, Q): return Q(self.v * o, **self.u)
        c = collections.Counter(self.u); c.update(o.u)
        return Q(self.v * o.v, **c)
    __rmul__ = __mul__
    def __jax_array__(self): return self.v
    def __bool__(self): return bool((self.v != 0).any())
    def __len__(self): return len(self.v)
    def __iter__(self): return (Q(v, **self.u) for v in self.v)
    def __str__(self): return f"{float(self.v.sum()):.2f} " + " ".join(f"{k}^{p}" for k, p in sorted(self.u.items()))
dist, speed = Q(x, m=1), Q(2.0, m=1, s=-1)
---
energy = 0.5 * speed * speed
print(energy, "|", dist * speed)
try:
    bad = dist + speed
except TypeError as e:
    print("no:", e)
total = functools.reduce(operator.add, list(dist)[1:]) if dist else None
raw = jnp.sin(dist.__jax_array__()).sum()
str(total), len(dist), raw
---
speed = Q(3, m=1)
---
dist = Q(x * 0, m=1)

### lpy-pytree-with-keys
@jax.tree_util.register_pytree_with_keys_class
class Block:
    def __init__(self, w, b, name): self.w, self.b, self.name = w, b, name
    def tree_flatten_with_keys(self):
        K = jax.tree_util.GetAttrKey
        return ((K("w"), self.w), (K("b"), self.b)), self.name
    @classmethod
    def tree_unflatten(cls, aux, kids):
        new = object.__new__(cls); new.w, new.b = kids; new.name = aux
        return new
blocks = [Block(x, jnp.zeros(()), "in"), Block(x * 2, None, "out")]
decay = "b"
---
def loss(bs): return sum(jnp.sum(b.w ** 2) + (0 if b.b is None else b.b) for b in bs)
grads = jax.grad(loss)(blocks)
def rule(path, p, g):
    name = jax.tree_util.keystr(path)
    print(name, p.shape)
    return p - 0.1 * g * (0 if name.endswith(decay) else 1)
blocks = jax.tree_util.tree_map_with_path(rule, blocks, grads)
names = [b.name for b in blocks]
names, blocks[1].b, type(grads[0]).__name__, blocks[0].w.sum()
---
decay = "[0].w"
---
blocks.append(Block(jnp.ones((2, 2)), jnp.ones(()), "new"))

### lpy-registered-dataclass-meta
@functools.partial(jax.tree_util.register_dataclass, data_fields=["mu", "cov"], meta_fields=["kind", "opts"])
@dataclass(frozen=True)
class Belief:
    mu: object
    cov: object
    kind: str = "full"
    opts: tuple = ()
@jax.jit
def predict(b, F):
    scale = dict(b.opts).get("inflate", 1.0)
    cov = F @ b.cov @ F.T * scale if b.kind == "full" else b.cov * scale
    return dataclasses.replace(b, mu=F @ b.mu, cov=cov)
belief = Belief(jnp.array([1.0, 0.0]), jnp.eye(2))
F = jnp.array([[1.0, 0.1], [0.0, 1.0]])
---
for _ in range(2):
    belief = predict(belief, F)
leaves, tree = jax.tree.flatten(belief)
batch = jax.vmap(lambda s: predict(dataclasses.replace(belief, mu=belief.mu * s), F))(jnp.arange(3.0))
try:
    belief.kind = "diag"
except dataclasses.FrozenInstanceError:
    print("frozen")
tree == jax.tree.structure(batch), batch.cov.shape, belief.kind, belief.mu
---
belief = dataclasses.replace(belief, kind="diag", opts=(("inflate", 2.0),))
---
belief = dataclasses.replace(belief, opts=())

### lpy-patched-for-a-while
class Net:
    def act(self, v): return jnp.tanh(v)
    def __call__(self, v): return self.act(jax.nn.relu(v - 0.5))
net, seen = Net(), []
orig = jax.nn.relu
leak = 0.1
---
def leaky(v):
    seen.append(v.shape)
    return jnp.where(v > 0, v, leak * v)
before = net(x)
jax.nn.relu = leaky
try:
    net.act = types.MethodType(lambda self, v: v * 2, net)
    during = net(x)
finally:
    jax.nn.relu = orig
    del net.act
after = net(x)
bool((before == after).all()), len(seen), "act" in vars(net), during
---
leak = 0.5; Net.act = lambda self, v: v
---
seen.clear(); x = x.reshape(2, 3)

### lpy-pure-callback-batched
shapes = []
def host(v, n):
    shapes.append(np.shape(v))
    return np.sort(np.asarray(v), axis=-1)[..., ::-1] * np.float32(n)
method, n = "expand_dims", 2
---
def top(v, n):
    return jax.pure_callback(host, jax.ShapeDtypeStruct(v.shape, v.dtype), v, n, vmap_method=method)
a = top(x, n)
b = jax.vmap(top, (0, None))(x.reshape(3, 2), n)
c = jax.jit(top)(x + 1, n)
ok = sorted({s[-1] for s in shapes})
shapes.clear()
ok, b, (a + c).sum()
---
method = "sequential"
---
n = 3; x = x[::-1]

### lpy-io-callback-collects
got, rates = [], iter([0.5, 0.25, 0.125] * 9)
from jax.experimental import io_callback
def ask(i, v):
    got.append((int(i), round(float(v), 2)))
    return np.float32(next(rates))
steps = 3
---
def body(i, v):
    r = io_callback(ask, jax.ShapeDtypeStruct((), jnp.float32), i, v.sum(), ordered=True)
    return v * r + 1
out = lax.fori_loop(0, steps, body, x)
if got[-1][1] > 5:
    out = body(99, out)
jax.effects_barrier()
len(got), got[-1], out[0]
---
steps = 1; got[:] = [(0, 0.0)]
---
x = x * 10; rates = itertools.repeat(1.0)

### lpy-debug-print-among-prints
verbose = True
@jax.jit
def inner(v):
    jax.debug.print("inner {} {v:.2f}", v.shape, v=v.sum(), ordered=True)
    return v * 2
---
print("start", x.shape)
y = inner(x)
jax.debug.print("between {a}", a=y[0], ordered=True)
for i in range(2):
    y = inner(y)
    if verbose:
        print("loop", i)
jax.effects_barrier()
print("end", f"{y.max():.1f}")
---
verbose = False
---
x = x[:2] + 1

### lpy-checkified-solver
from jax.experimental import checkify
def safe_log_mean(v, lo):
    checkify.check(jnp.all(v > lo), "smallest is {m}, not above {lo}", m=v.min(), lo=lo)
    return jnp.log(v).mean()
lo, strict = 0.0, False
---
checked = checkify.checkify(jax.jit(safe_log_mean), errors=checkify.user_checks | checkify.nan_checks)
err, val = checked(x, lo)
msg = err.get()
try:
    err.throw()
except Exception as e:
    print(type(e).__name__, "raised")
    val = jnp.float32(-1) if not strict else val
else:
    print("clean")
del err
msg and msg.split("(")[0].strip(), val
---
x = x + 0.5
---
lo = 2.0; strict = True

### lpy-jaxpr-and-lowered-inside
def model(w, v): return jax.nn.softmax(jnp.tanh(v @ w["a"]) @ w["b"])
w = {"a": jnp.ones((6, 4)), "b": jnp.ones((4, 2))}
---
closed = jax.make_jaxpr(model)(w, x)
ops = collections.Counter(e.primitive.name for e in closed.jaxpr.eqns)
shape = jax.eval_shape(model, w, jax.ShapeDtypeStruct((3, 6), jnp.float32))
lowered = jax.jit(model).lower(w, x)
compiled = lowered.compile()
y = compiled(w, x)
text = lowered.as_text()
z = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *jax.tree.leaves((w, x)))[0] if hasattr(jax.core, "eval_jaxpr") else y
print(ops["tanh"], ops["dot_general"], "stablehlo.tanh" in text, text.count("dot_general") > 0)
del lowered, compiled, closed, text
shape.shape, str(shape.dtype), (y - z).sum()
---
w["a"] = w["a"].astype(jnp.bfloat16)
---
def model(w, v): return jnp.tanh(v @ w["a"] @ w["b"])

### lpy-named-scopes-and-tagging
from jax.ad_checkpoint import checkpoint_name
depth, tag = 2, "enc"
ws = [jnp.eye(6) * 0.5 for _ in range(3)]
---
h, names = x, []
with jax.named_scope(tag):
    for i in range(depth):
        with jax.named_scope(f"block{i}"), jax.profiler.TraceAnnotation(f"{tag}/{i}"):
            h = jnp.tanh(ws[i] @ h)
            h = checkpoint_name(h, f"h{i}")
            names.append(f"{tag}/{i}")
@jax.named_call
def head(v): return v.sum()
g = jax.grad(jax.checkpoint(lambda v: head(jnp.sin(v)), policy=jax.checkpoint_policies.save_only_these_names("h0")))(h)
names, head.__name__, g
---
depth = 3
---
depth, tag = 0, "none"

### lpy-fails-half-way-then-mended
history, totals = [], {"n": 0}
weights = [jnp.ones((6, 4)), jnp.ones((3, 2))]
---
h = x
for i, w in enumerate(weights):
    history.append(("layer", i))
    totals["n"] += 1
    h = h @ w
    totals[f"out{i}"] = h.sum()
print("done", h.shape)
h
---
weights[1] = jnp.ones((4, 2))
---
weights.insert(1, None)
---
del weights[1]

### lpy-fails-with-object-mutated
class Trainer:
    def __init__(self): self.w, self.step, self.best, self.logs = jnp.ones(6), 0, float("inf"), []
    def fit(self, data):
        for k, (u, t) in enumerate(data):
            self.step += 1
            loss, g = jax.value_and_grad(lambda w: jnp.mean((w * u - t) ** 2))(self.w)
            if jnp.isnan(loss): raise FloatingPointError(f"nan in batch {k}")
            self.w = self.w - 0.1 * g
            self.logs.append(loss)
            self.best = min(self.best, float(loss))
        return self
trainer = Trainer()
data = [(x, 1.0), (x * jnp.nan, 0.0), (x + 1, 2.0)]
skip = set()
---
trainer.fit([d for i, d in enumerate(data) if i not in skip])
mean = sum(trainer.logs[-2:]) / 2
print(trainer.step, f"{trainer.best:.3f}")
mean
---
skip = {1}
---
data[1] = (x, jnp.float32(0.5)); skip = ()
---
data.append(("oops", 1))

### lpy-name-error-then-defined
seen = []
---
seen.append(len(seen))
y = x * gain
z = helper(y)
z.sum()
---
gain = 2.0
---
def helper(v): return v ** gain
---
del gain
---
gain = jnp.float32(0.5)

### lpy-figure-like-last-value
class Panel:
    def __init__(self, v, title=""): self.v, self.title, self.shown = v, title, 0
    def _repr_html_(self):
        self.shown += 1
        return f"<b>{self.title}</b>" + "".join(f"<i style='height:{h}px'></i>" for h in (self.v * 10).astype(int).tolist())
    def _repr_mimebundle_(self, include=None, exclude=None): return {"text/html": self._repr_html_(), "text/plain": repr(self)}
    def __repr__(self): return f"Panel({self.title!r}, n={self.v.size}, max={float(self.v.max()):.2f})"
panels, title = [], "spectrum"
---
spec = jnp.abs(jnp.fft.rfft(jnp.sin(6 * x)))
panel = Panel(spec / spec.max(), title)
panels.append(panel)
html = panel._repr_html_()
print(len(html), panel.shown)
panel
---
title = "again"
---
x = jnp.linspace(0, 1, 9)

### lpy-last-value-conditional
mode, history = "none", []
---
y = jnp.cumsum(x)
history.append(y[-1])
results = {"none": None, "dict": {"y": y, "n": len(history)}, "tuple": (y, [history[-1]], "s"), "gen": type(iter([]))}
results[mode] if mode in results else ...
---
mode = "dict"
---
mode = "tuple"
---
mode = "nope"

### lpy-last-value-assigned-and-starred
rows = [x, x * 2]
---
a = b = jnp.stack(rows).mean(0)
*(r.shape for r in rows), (c := a + 1), {**{"b": b}, "same": a is b}, lambda v: v, {len(rows)}
---
rows.append(x * 9)

### lpy-slots-and-named-members
class P2:
    __slots__ = ("x", "y", "__weakref__")
    def __init__(self, x, y): self.x, self.y = x, y
    def __iter__(self): return (getattr(self, s) for s in self.__slots__[:2])
    def __setattr__(self, k, v): object.__setattr__(self, k, jnp.asarray(v, jnp.float32))
class P3(P2):
    __slots__ = ("z",)
class Axis(enum.IntEnum):
    X = 0; Y = 1; Z = 2
    @property
    def unit(self): return jnp.eye(3)[self]
p, axis = P3(1, 2), Axis.Y
---
try:
    p.z
except AttributeError:
    p.z = p.x + p.y
p.x += 1
try:
    p.w = 0
except AttributeError as e:
    print("no attribute", "w" in str(e))
vec = jnp.array([*p, p.z])
along = vec[axis] * axis.unit
vec = vec.at[Axis.Z].add(10)
moved = {a.name: float(vec[a]) for a in Axis}
hasattr(p, "__dict__"), moved, axis + 1, along
---
axis = Axis(2); del p.z
---
p.y = [1.0, 2.0][1]

### lpy-namedtuple-carries
class Carry(typing.NamedTuple):
    pos: object
    vel: object = 0.0
    t: int = 0
    def kick(self, f, dt): return self._replace(vel=self.vel + dt * f, t=self.t + 1)
    @property
    def energy(self): return 0.5 * jnp.sum(self.vel ** 2 + self.pos ** 2)
Pair = collections.namedtuple("Pair", "lo hi", defaults=[None])
c, dt = Carry(x), 0.1
---
for _ in range(2):
    c = c.kick(-c.pos, dt)
    c = c._replace(pos=c.pos + dt * c.vel)
scan_c, es = lax.scan(lambda s, _: ((n := s.kick(-s.pos, dt)), n.energy), c._replace(t=jnp.int32(c.t)), None, length=3)
pair = Pair(*jnp.sort(es)[:1])
lo, hi = pair
c._fields, list(c._asdict())[1], type(scan_c).__name__, hi, c.t, scan_c.t, c == c._replace(), es.shape
---
c = Carry(x, x * 0, t=100)
---
Carry.kick = lambda self, f, dt: self._replace(vel=f * dt); dt = jnp.float32(0.2)

### lpy-dataclass-fields-and-initvar
@dataclass(order=True)
class Layer:
    rank: float = field(init=False, repr=False)
    n: int = 3
    scale: dataclasses.InitVar[float] = 1.0
    w: object = field(default=None, compare=False, repr=False)
    tags: list = field(default_factory=list, compare=False, kw_only=True)
    def __post_init__(self, scale):
        if self.w is None: self.w = jnp.full(self.n, scale)
        self.rank = float(jnp.sum(self.w))
        self.tags.append(f"n{self.n}")
spec = [dict(n=2), dict(n=4, scale=0.1), dict(n=1, tags=["a"])]
---
layers = [Layer(**s) for s in spec]
ordered = sorted(layers)
wide = dataclasses.replace(layers[0], n=6, w=None, scale=2.0) if False else Layer(6, 2.0)
d = dataclasses.asdict(ordered[-1])
d["w"] = d["w"] + 1
names = [f.name for f in dataclasses.fields(Layer) if f.repr]
print(ordered, names)
d["w"] is ordered[-1].w, wide.tags, layers[2].tags is spec[-1].get("tags"), ordered[0] <= ordered[1], wide.w @ x[:6]
---
spec[0]["w"] = x
---
spec = spec[::-1]

### lpy-property-chain-invalidated
class Rotation:
    def __init__(self, angle): self._angle, self._cache, self.built = angle, {}, 0
    @property
    def angle(self): return self._angle
    @angle.setter
    def angle(self, v): self._angle = v % (2 * math.pi); self._cache.clear()
    @angle.deleter
    def angle(self): self._angle = 0.0; self._cache.clear()
    @property
    def matrix(self):
        if "m" not in self._cache:
            self.built += 1
            c, s = jnp.cos(self._angle), jnp.sin(self._angle)
            self._cache["m"] = jnp.array([[c, -s], [s, c]])
        return self._cache["m"]
    @property
    def inverse(self): return self._cache.setdefault("i", self.matrix.T)
rot, turn = Rotation(0.5), 1.0
---
pts = x.reshape(3, 2) @ rot.matrix
same = rot.matrix is rot.matrix
back = pts @ rot.inverse
rot.angle += turn
new = rot.inverse is rot.inverse
if rot.angle > 3:
    del rot.angle
same, new, rot.built, sorted(rot._cache), round(float(rot.angle), 2), back
---
turn = jnp.float32(0.25)
---
rot._cache.clear(); rot.built = 0

### lpy-iter-sentinel-and-zip-strict
class Stream:
    def __init__(self, n): self.n, self.at = n, 0
    def read(self):
        self.at += 1
        return x * self.at if self.at <= self.n else None
    def __getitem__(self, i):
        if i >= self.n: raise IndexError
        return x[i]
    def __contains__(self, v): return v < self.n
    def __reversed__(self): yield from (x[i] for i in range(self.n - 1, -1, -1))
s, labels = Stream(3), ["a", "b", "c"]
---
chunks = list(iter(s.read, None))
try:
    named = dict(zip(labels, chunks, strict=True))
except ValueError as e:
    print(str(e).split("(")[-1])
    named = {}
total = sum((c.sum() for c in named.values()), start=jnp.zeros(()))
firsts = [float(v) for v in s]
back = jnp.stack(list(reversed(s)))
len(chunks), s.at, 2 in s, firsts, total, back
---
s = Stream(2)
---
s.at, s.n = 0, 3

### lpy-ids-by-class-counter
class Node:
    _ids = itertools.count()
    by_id = {}
    def __init__(self, v, *parents):
        self.id, self.v, self.parents = next(Node._ids), v, parents
        Node.by_id[self.id] = self
    def __add__(self, o): return Node(self.v + o.v, self, o)
    def __mul__(self, o): return Node(self.v * (o.v if isinstance(o, Node) else o), *(p for p in (self, o) if isinstance(p, Node)))
    def __repr__(self): return f"n{self.id}"
a = Node(x)
---
b = a * 3
c = a + b * a
order, seen = [], set()
def topo(n):
    if n.id not in seen:
        seen.add(n.id)
        for p in n.parents: topo(p)
        order.append(n)
topo(c)
Node.by_id = {n.id: n for n in order[-3:]}
print(order, len(Node.by_id))
c.v.sum(), c.id
---
Node._ids = itertools.count(100)
---
a = c

### lpy-contextvar-scoped-rng
rng = contextvars.ContextVar("rng", default=None)
def draw(shape):
    key = rng.get()
    if key is None: raise LookupError("no rng in scope")
    key, sub = jax.random.split(key)
    rng.set(key)
    return jax.random.normal(sub, shape)
seed = 0
---
try:
    draw(())
except LookupError as e:
    print(e)
token = rng.set(jax.random.key(seed))
a, b = draw((2,)), draw((2,))
ctx = contextvars.copy_context()
c = ctx.run(draw, (2,))
d = draw((2,))
rng.reset(token)
del token, ctx
rng.get() is None, bool((c == d).all()), a - b
---
seed = 1

### lpy-mutable-default-memo
def cheb(n, v, _memo={}):
    if (n, v.shape) not in _memo:
        _memo[n, v.shape] = (jnp.ones_like(v), v)[n] if n < 2 else 2 * v * cheb(n - 1, v) - cheb(n - 2, v)
    return _memo[n, v.shape]
def push(v, acc=[]):
    acc.append(v)
    return acc
deg = 4
---
T = [cheb(k, x) for k in range(deg)]
again = cheb(deg - 1, x) is T[-1]
acc = push(T[-1].sum())
size = len(cheb.__defaults__[0])
acc is push.__defaults__[0], again, size, len(acc), T[-1]
---
deg = 6
---
cheb.__defaults__[0].clear(); push.__defaults__ = ([0],)

### lpy-own-inplace-operators
class Vec:
    def __init__(self, v): self.v, self.ops = v, []
    def __iadd__(self, o): self.v = self.v + getattr(o, "v", o); self.ops.append("+="); return self
    def __imatmul__(self, M): self.v = M @ self.v; self.ops.append("@="); return self
    def __ilshift__(self, n): return Vec(jnp.roll(self.v, -n))
    def __getitem__(self, i): self.ops.append("get"); return self.v[i]
    def __setitem__(self, i, val): self.ops.append("set"); self.v = self.v.at[i].set(val)
a = Vec(x); alias = a
store = {"a": a, "list": [a, a]}
M = jnp.eye(6)[::-1]
---
a += 1
a @= M
a[1:3] *= 2
store["a"] <<= 1
store["list"][0] += store["a"]
p = q = store["list"]
p[1] += 0.5
alias is a, store["a"] is a, q[1] is a, a.ops[-5:], store["a"].ops, a.v
---
alias.ops.clear(); a = Vec(x)
---
store["list"] = [Vec(x), Vec(x * 2)]; M = M * 0.5

### lpy-functions-by-name-and-text
table = ["sin", "lambda v: v ** 2", "clip"]
consts = {"pi": 3.14}
source = "a * jnp.sum(v) + pi"
---
fns = {t: getattr(jnp, t, None) or eval(t, {"jnp": jnp}) for t in table}
outs = {t: f(x, 0.2, 0.8) if t == "clip" else f(x) for t, f in fns.items()}
code = compile(source, "<expr>", "eval")
val = eval(code, {"jnp": jnp, **consts}, {"a": len(table), "v": outs[table[0]]})
scope = {}
exec("def poly(v, c=(1, 2)):\n    return sum(k * v ** i for i, k in enumerate(c))", scope)
y = scope["poly"](x, c=(0, val))
del scope
sorted(code.co_names), list(outs), y.max()
---
table[1] = "lambda v: v - v.mean()"
---
source = "v.max() - pi"; consts["pi"] = jnp.pi

### lpy-builtins-of-arrays
arrs = [x, x * 2, x - 1]
n = jnp.array(3)
---
total = sum(arrs)
best = max(arrs, key=lambda a: a.sum())
q, r = divmod(total, 2)
span = range(int(n), int(n) + 3)
vals = [round(total, 1), abs(arrs[2]), pow(x, 2), -x, +x, ~(x > 0.5)]
counts = list(map(len, (x, jnp.eye(2)))), [*zip(x.tolist(), span)][0], bool(n), x[n], list(range(10))[n]
flags = all(x >= 0), any(x > 2), isinstance(n, jax.Array), math.floor(x[-1]), float(n).is_integer()
print(counts, flags, hex(n), complex(n), str(n), repr(n), bin(5)[int(n):])
min(x), best is arrs[1], q, [v.dtype.name for v in vals]
---
n = jnp.array(1, jnp.uint8); x = x + 0.5
---
arrs.append(jnp.arange(6)); n = np.int64(2)

### lpy-generator-throw-and-close
events = []
def worker(v):
    try:
        while True:
            try:
                k = yield v
                v = v * k
            except KeyError as e:
                events.append(f"recovered {e.args[0]}")
                v = jnp.zeros_like(v)
    finally:
        events.append("closed")
def outer(v):
    out = yield from worker(v)
    return out
gain = 2.0
---
g = outer(x)
a = next(g)
b = g.send(gain)
c = g.throw(KeyError("lost"))
d = g.send(5)
g.close()
done = next(g, "finished")
a is x, done, events[-2:], len(events), b + c + d
---
gain = jnp.arange(6); events.clear()

### lpy-fresh-classes-by-type
def make_layer(name, fn, **extra):
    return type(name, (), {"__call__": lambda self, v: fn(v * self.k), "k": 1.0, "__repr__": lambda self: f"<{name}>", **extra})
spec = {"Sin": (jnp.sin, {"k": 2.0}), "Soft": (jax.nn.softplus, {})}
---
classes = {n: make_layer(n, f, **kw) for n, (f, kw) in spec.items()}
net = [c() for c in classes.values()]
h = x
for layer in net:
    h = layer(h)
net[0].k = 5.0
classes["Sin"].k = jnp.float32(7)
inst = vars(net[0]), classes["Sin"]().k
h2 = net[0](x) + classes["Sin"]()(x)
net, [type(l).__qualname__ for l in net], callable(net[0]), inst[1], (h2 - h).sum()
---
spec["Sin"] = (jnp.cos, {"k": 0.5, "__len__": lambda self: 4})
---
spec = {"Sin": (jnp.negative, {})}

### lpy-shared-rows-and-fromkeys
rows = [[jnp.zeros(())] * 2] * 3
slots = dict.fromkeys(["a", "b"], [])
grid = [[0.0] * 2 for _ in range(2)]
---
rows[0][0] = rows[0][0] + x.sum()
rows[2].append(x.mean())
slots["a"].append(x.max())
grid[0][1] += x[2]
grid.append(grid[0])
flat = [v for r in rows for v in r]
uniq = len({id(r) for r in rows})
ids = len({id(v) for v in flat})
uniq, len(flat), ids, slots["b"] is slots["a"], len(slots["b"]), grid[-1] is grid[0], jnp.stack(flat).sum()
---
rows = [list(r) for r in rows]
---
slots["b"] = list(slots["a"]); grid = grid[:1] * 2

### lpy-event-bus-with-bound-methods
class Bus:
    def __init__(self): self.subs = collections.defaultdict(list)
    def on(self, name):
        def deco(fn): self.subs[name].append(fn); return fn
        return deco
    def emit(self, name, **kw): return [fn(**kw) for fn in list(self.subs[name])]
class Ema:
    def __init__(self, a): self.a, self.value = a, None
    def update(self, w, **_): self.value = w if self.value is None else self.a * self.value + (1 - self.a) * w
bus, ema = Bus(), Ema(0.5)
bus.on("step")(ema.update)
w = jnp.ones(6)
---
@bus.on("step")
def stop(w, step):
    return bool(jnp.abs(w).max() < 0.5) or None
for step in range(4):
    w = w * 0.8 - 0.05 * x
    if any(r for r in bus.emit("step", w=w, step=step)):
        break
bus.subs["step"][1:] = bus.subs["step"][-1:]
len(bus.subs["step"]), step, ema.update.__self__ is ema, bus.subs["step"][-1] is stop, ema.value[0]
---
w = w * 10
---
bus.subs["step"].pop(0); ema = Ema(0.9); bus.on("step")(ema.update)

### lpy-identity-sentinels-and-singletons
class Missing:
    _one = None
    def __new__(cls):
        if cls._one is None: cls._one = super().__new__(cls)
        return cls._one
    def __bool__(self): return False
    def __repr__(self): return "MISSING"
MISSING = Missing()
def get(d, k, default=MISSING):
    v = d.get(k, default)
    if v is MISSING: raise KeyError(k)
    return v
store = {"w": x, "none": None, "zero": jnp.zeros(())}
wanted = ["w", "none", "zero", "gone"]
---
found, lost = {}, []
for k in wanted:
    try:
        found[k] = get(store, k)
    except KeyError as e:
        lost.append(e.args[0])
        found[k] = get(store, k, x * 0) if k != "gone" else MISSING
truthy = [k for k, v in found.items() if v is not None and v is not MISSING and (v.ndim and v.any() or v)]
copied = copy.deepcopy(MISSING) is MISSING, Missing() is MISSING
lost, truthy, copied, found["w"] is x, {k: type(v).__name__ for k, v in found.items()}
---
store["gone"] = 1 + x[0]
---
wanted = ["w"]; store["w"] = MISSING

### lpy-numbers-evolve-exactly
big, t, n, h = 2 ** 29 + 1, 0.1, -7, 1e-3
---
big = big * 3 - 1
t = t * 1.1 + 1e-9
q, r = divmod(n, 4)
n = n - 3
h = max(h / 2, 1e-300) ** 1
y = jnp.sin(x * t) + h
words = f"{big:,} {t!r} {n // 2} {n % 5} {-n >> 1} {round(t, 3)} {h:.3e}"
print(words)
frac = t.as_integer_ratio()[1] > 10, (n ** 2).bit_length(), math.isclose(t, t + 1e-12), hash(big) == big
frac, q, r, big > 2 ** 31, y[1]
---
big = 2 ** 62
---
t, n = 1e18, 0
---
t = float("inf"); n = True

### lpy-int-counters-reach-limits
step, total, seen = 2 ** 31 - 3, 0, {"n": 0}
---
for _ in range(2):
    step += 1
    total += step
    seen["n"] += total % 10
y = x + (step - 2 ** 31)
idx = step % 6
z = y.at[idx].set(-1.0)
mask = (step & 0xFF) ^ (step >> 3)
step, total, seen["n"], mask, float(z[idx]), type(total).__name__
---
step = -step
---
step = 10 ** 20
---
step, total = 0, 0.5

### lpy-kinds-of-number-evolve
a, b, c, d = np.int32(5), np.float32(0.1), 1 + 2j, fractions.Fraction(1, 3)
flag, word, limits = False, "a", (1,)
---
a += np.int32(1)
b = b * np.float32(3)
c *= 1j
d = d / 2 + 1
flag = not flag
word = word + chr(ord(word[-1]) + 1) if len(word) < 4 else "a"
limits = (*limits, len(limits))[-4:]
y = x * float(d) + (b if flag else c.real) - a
out = (type(a).__name__, type(b).__name__, c, d, flag, word, limits)
print(*out)
y.sum(), y.dtype
---
a, b = int(a), float(b)
---
a = np.int8(126); c = 2.5
---
b = jnp.float32(b); flag = np.bool_(flag)

### lpy-accumulating-float-in-condition
elapsed, dt, log = 0.0, 0.1, []
---
for _ in range(3):
    elapsed += dt
    if elapsed >= 0.3:
        log.append(repr(elapsed))
    if math.floor(elapsed * 10) % 2 == 0:
        x = x + 0.01
phase = elapsed % 0.25
y = jnp.cos(2 * jnp.pi * phase + x)
log[-2:], elapsed == 0.3, repr(phase), y[0]
---
dt = 0.05
---
elapsed = -1.0

### lpy-seeds-and-folds-of-numbers
epoch, base = 0, 2 ** 32 - 2
---
keys = jax.random.key(base % 2 ** 32), jax.random.fold_in(jax.random.key(0), epoch)
epoch += 1
base += 1
draws = [jax.random.uniform(k, (2,)) for k in keys]
name = f"run-{epoch:03d}-{base:x}"
sched = 0.5 * (1 + math.cos(math.pi * min(epoch, 5) / 5))
size = 2 + epoch % 3
h = jnp.arange(size) * sched + draws[1][0]
name, size, sched, h.shape, draws[0]
---
epoch = 10
---
base = 5

### lpy-best-so-far-and-patience
best, wait, w, stopped = math.inf, 0, jnp.full(6, 3.0), None
losses = []
---
for epoch in range(4):
    loss = float(jnp.mean((w * x - 1) ** 2))
    losses.append(loss)
    if loss < best - 1e-3:
        best, wait = loss, 0
    elif (wait := wait + 1) >= 3:
        stopped = stopped or len(losses)
        break
    w = w - (0.5 if epoch % 2 else -0.1) * (w * x - 1) * x
print(f"{best:.4f} after {len(losses)}, wait {wait}")
stopped, wait, min(losses) == best, w[-1]
---
best = 0.0
---
best, wait, stopped = float("nan"), 0, None

### lpy-numpy-shared-with-jax
host = np.arange(6, dtype=np.float32)
views = [host[:3], host.reshape(2, 3)]
---
dev = jnp.array(host)
host *= 2
views[1][1] = 0
back = np.array(dev)
back[0] = 9
mixed = host + dev
obj = np.array([dev, None, "s"], dtype=object)
out = np.add(dev, 1), np.asarray(jnp.sqrt(dev)).flags.writeable, host.sum()
type(mixed).__name__, out, obj[0] is dev, views[0].base is host, dev.sum() - back.sum()
---
host[:] = 1
---
host = host.astype(np.float64); views = [host[:3], host.reshape(2, 3)]

### lpy-jitted-factories-in-objects
def f(v): return jnp.tanh(v) * 2
class Lazy:
    def __init__(self, fn): self.fn = fn
    def __call__(self, v): return self.fn(v)
def wrapped(h):
    def inner(v): return h(v) + 1
    return inner
fast = True
---
g = wrapped(jax.jit(f) if fast else f)
obj = Lazy(jax.vmap(g))
pair = {"g": g, "grad": jax.grad(lambda v: g(v).sum())}
y = obj(x) + pair["grad"](x)
pair["g"] is g, obj.fn.__name__, y.sum()
---
fast = False
---
f = jnp.square

### lpy-constants-that-look-alike
init, rows = 1.0, 2
class Par:
    def __init__(self, v): self.v = jnp.asarray(v)
---
a, b = Par(init), Par(init)
zs = [jnp.zeros(2) for _ in range(rows)]
one, uno = jnp.ones(()), jnp.ones(())
eye = np.eye(2); e1, e2 = jnp.asarray(eye), jnp.asarray(eye)
a.v is b.v, len({id(z) for z in zs}), one is uno, e1 is e2, a.v + b.v
---
init = np.arange(3.0)
---
init = [1, 2]
---
init = jnp.ones(2); rows = 3

### lpy-scoped-value-by-token
scale_of = contextvars.ContextVar("scale", default=None)
def layer(v):
    s = scale_of.get()
    return v if s is None else v * s
boost = 2.0
---
plain_out = layer(x)
token = scale_of.set(x + boost)
scaled = layer(x)
peek = scale_of.get() * 2
scale_of.reset(token)
del token
after = layer(x)
(after == plain_out).all(), (scaled - plain_out).sum(), peek[0]
---
boost = 5.0
---
scale_of.set(jnp.ones(6))

### lpy-counted-partial-and-jitted
power = functools.partial(jnp.power, x)
power.calls, power.n = 0, 2
@jax.jit
def step(v): return v * 2
step.calls = 0
---
power.calls += 1
y = power(power.n)
step.calls += 1
z = step(y) + step.calls
power.calls, step.calls, z.sum()
---
power.n = 3
---
step.calls = 10

### lpy-gains-kept-on-cached-function
@functools.lru_cache(maxsize=None)
def basis(n): return tuple(1 / (k + 1) for k in range(n))
basis.gain, basis.order = 1.0, 3
---
coefs = basis(basis.order)
y = sum(c * x ** k for k, c in enumerate(coefs)) * basis.gain
print(basis.order, basis.cache_info().currsize)
y[-1]
---
basis.gain = 4.0
---
basis.order = 2

### lpy-enum-members-with-weights
class Layer(enum.Enum):
    ENC = 1
    DEC = 2
    def __init__(self, n):
        self.gain, self.steps = float(n), 0
    def __call__(self, v): return jnp.tanh(v * self.gain)
---
h = x
for layer in Layer:
    h = layer(h)
    layer.steps += 1
Layer.ENC.gain, [l.steps for l in Layer], h.sum()
---
Layer.ENC.gain = 0.25
---
Layer.DEC.steps = 100

### lpy-enum-members-with-arrays
class Slot(enum.Enum):
    A = "a"
    B = "b"
    def __init__(self, key): self.w = jnp.ones(6)
rate = 0.5
---
for slot in Slot:
    slot.w = slot.w * rate + x
total = sum(s.w.sum() for s in Slot)
Slot.A.w is Slot("a").w, total
---
rate = 0.1
---
Slot.B.w = jnp.zeros(6)

### lpy-virtual-subclass-registered
class Layer(abc.ABC):
    @classmethod
    def __subclasshook__(cls, C): return NotImplemented
class Foreign:
    def __call__(self, v): return v * 3
def run(l, v): return l(v) if isinstance(l, Layer) else v
---
known = isinstance(Foreign(), Layer)
before = run(Foreign(), x)
Layer.register(Foreign)
after = run(Foreign(), x)
known, (after - before).sum()
---
class Foreign:
    def __call__(self, v): return v + 1

### lpy-number-becomes-array
init = 1.0
class Par:
    def __init__(self, v): self.v = jnp.asarray(v)
---
w, b = Par(init), Par(init)
y = w.v * x.sum() + b.v
shared = w.v is b.v
shared, y
---
init = np.arange(3.0)
---
init = np.arange(3.0) + 1
---
init = jnp.ones(2)

### lpy-state-in-thread-local-and-decimal
import threading
local = threading.local()
local.stack, local.depth = [], 0
---
local.depth += 1
local.stack.append(x * local.depth)
with decimal.localcontext() as ctx:
    ctx.prec = 3 + local.depth % 2
    third = decimal.Decimal(1) / 3
del ctx
top = local.stack[-1]
local.stack = local.stack[-2:]
y = top * float(third)
len(local.stack), str(third), y[-1]
---
local.stack.clear()
---
local.depth = 10

### lpy-generator-made-and-used-up
def chunks(v, n):
    for k in range(0, v.shape[0], n):
        yield v[k : k + n]
n = 2
---
g = chunks(x, n)
first = next(g)
rest = [c.sum() for c in g]
done = next(g, None) is None
pairs = list(itertools.zip_longest(chunks(x, n), chunks(x[::-1], 3)))
del g
first, len(rest), done, len(pairs), pairs[-1][0] if pairs[-1][0] is None else pairs[-1][0].shape
---
n = 4

### lpy-contextvar-set-read-reset
current = contextvars.ContextVar("current")
shift = 1.0
---
token = current.set(x + shift)
y = current.get() * 2
current.reset(token)
z = current.get(None)
del token
z is None, y
---
shift = 2.0
---
current.set(jnp.zeros(6))
""",
)
