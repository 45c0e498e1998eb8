"""Habits of Python that notebooks mix with arrays, which the other themes have seldom or not at all."""

from ..cell import written

PRELUDE = """
import abc, bisect, collections, contextlib, copy, dataclasses, enum, functools, heapq, io, itertools, json, logging
import math, operator, os, queue, random, re, sched, string, sys, threading, time, types, typing, warnings
from concurrent import futures
from functools import partial
from typing import Any, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### va-generic-class-with-type-parameters-and-alias
T, U = typing.TypeVar("T"), typing.TypeVar("U")
Pair = tuple[T, T]
class Box(typing.Generic[T]):
    def __init__(self, value: T): self.value = value
    def map(self, f: typing.Callable[[T], U]) -> "Box[U]": return Box[U](f(self.value))
    def __iter__(self): yield self.value
a, b = Box(jnp.arange(3.0)), Box(2)
---
c = a.map(lambda v: v * b.value)
d: Pair[jax.Array] = (c.map(jnp.sum).value, b.map(lambda n: n + 1).value)
(only,) = c
print(Box.__parameters__[0].__name__, Pair[int], c.__orig_class__.__args__, type(d[1]).__name__, only is c.value)
notes = list(__annotations__)
d[0] / d[1]
---
b = Box(0.5)
---
a.value = a.value + 1

### va-match-nested-mapping-of-layer-specs-with-guards
specs = [{"kind": "dense", "out": 3, "act": "relu"}, {"kind": "scale", "by": 0.5},
         ["residual", {"kind": "scale", "by": 2.0}], {"kind": "norm", **{"eps": 1e-5}}, None]
key = jax.random.key(1)
x = jax.random.normal(jax.random.key(0), (2, 3))
def build(spec, key, h):
    match spec:
        case None: return h
        case {"kind": "dense", "out": int(n), "act": str(name), **rest} if n > 0 and not rest:
            return getattr(jax.nn, name)(h @ jax.random.normal(key, (h.shape[-1], n)))
        case {"kind": "scale", "by": (int() | float()) as s}: return h * s
        case ["residual", *inner]:
            return h + functools.reduce(lambda acc, s: build(s, key, acc), inner, h)
        case {"kind": k, **kw}:
            return (h - h.mean(-1, keepdims=True)) * lax.rsqrt(h.var(-1, keepdims=True) + kw.get("eps", 1e-6))
        case _: raise TypeError(spec)
---
h = x
shapes = []
for i, spec in enumerate(specs):
    h = build(spec, jax.random.fold_in(key, i), h)
    shapes.append(h.shape)
print(shapes)
h
---
specs[1]["by"] = 3
---
specs.insert(0, {"kind": "dense", "out": 2, "act": "tanh"})
---
specs.append("oops")

### va-positional-only-and-keyword-bag-forwarded-through-three-layers
def core(x, /, scale=1.0, *, shift=0.0, **extra): return x * scale + shift, tuple(sorted(extra))
def middle(*args, **kwargs): return core(*args, **{"shift": 1.0, **kwargs})
def outer(x, *rest, x_name="x", **kw): return middle(x, *rest, **kw, x=x_name)
x = jnp.arange(3.0)
---
y, names = outer(x, 2.0, debug=True)
z, names2 = outer(x=y, x_name="again", **{"shift": y.sum()}) if False else outer(y, shift=y.sum(), x_name="again")
print(names, names2)
y, z
---
core.__defaults__ = (5.0,)
---
core.__kwdefaults__["shift"] = 9.0
---
x = x.astype(int)

### va-loop-else-continue-and-labelled-flags-over-candidates
cands = {"a": jnp.array([1.0, 4.0]), "b": jnp.array([jnp.nan, 1.0]), "c": jnp.array([0.5, 0.2])}
limit = 3.0
---
chosen = None
rejected = []
for name, v in cands.items():
    for i, e in enumerate(v):
        if not jnp.isfinite(e):
            rejected.append((name, i, "nan")); break
        if e > limit:
            rejected.append((name, i, e)); break
    else:
        chosen = name if chosen is None else chosen
        continue
    limit = limit * 0.9
print(chosen, [(n, i, r if isinstance(r, str) else round(float(r), 2)) for n, i, r in rejected], name, i)
limit, e
---
limit = 10
---
cands["d"] = cands.pop("a")

### va-priority-queue-of-partial-sums-with-counter-tiebreak
weights = jnp.array([0.4, 0.1, 0.3, 0.9]); counter = itertools.count()
---
pq = queue.PriorityQueue()
for i, w in enumerate(weights): pq.put((float(w), next(counter), {"idx": (i,), "val": w}))
while pq.qsize() > 1:
    a, b = pq.get(), pq.get()
    pq.put((a[0] + b[0], next(counter), {"idx": a[2]["idx"] + b[2]["idx"], "val": a[2]["val"] + b[2]["val"]}))
root = pq.get()[2]
print(root["idx"])
root["val"]
---
weights = weights[::-1] * 2
---
counter = itertools.count(100)

### va-scheduler-runs-training-events-in-order-of-priority
params = {"w": jnp.ones(2)}
log = []
def step(lr):
    params["w"] = params["w"] - lr * params["w"]
    log.append(("step", lr))
def evaluate(tag): log.append((tag, params["w"].sum()))
---
now = [0.0]
s = sched.scheduler(lambda: now[0], lambda d: now.__setitem__(0, now[0] + d))
for k in range(3): s.enter(k, 2, step, argument=(0.1 * (k + 1),))
s.enter(1.5, 1, evaluate, kwargs={"tag": "mid"})
s.enterabs(9, 1, evaluate, ("end",))
left = s.run()
print(left, now, [l[0] for l in log][-5:])
log[-1][1]
---
params["w"] = jnp.arange(2.0)
---
log.clear()

### va-semaphore-bounded-workers-then-futures-wait-first-exception
def work(sem, n, x):
    with sem:
        if n == 3: raise ValueError(f"bad {n}")
        return n * jnp.sum(x)
x = jnp.arange(4.0); jobs = [0, 1, 2, 3]
---
sem = threading.BoundedSemaphore(2)
with futures.ThreadPoolExecutor(4) as ex:
    fs = {ex.submit(work, sem, n, x): n for n in jobs}
    done, pending = futures.wait(fs, return_when=futures.ALL_COMPLETED)
good = sorted((fs[f], f.result()) for f in done if f.exception() is None)
bad = [str(f.exception()) for f in done if f.exception()]
print(len(pending), [n for n, _ in good], bad)
sum(v for _, v in good)
---
jobs.remove(3)
---
x = x + 1

### va-barrier-threads-exchange-halos-of-a-rod
u0 = jnp.sin(jnp.linspace(0, 3.0, 8))
@jax.jit
def relax(left, mid, right):
    return 0.5 * mid + 0.25 * (jnp.concatenate([left, mid[:-1]]) + jnp.concatenate([mid[1:], right]))
---
parts = list(jnp.split(u0, 2))
barrier = threading.Barrier(2)
def worker(i):
    for _ in range(3):
        mine, other = parts[i], parts[1 - i]
        left = other[-1:] if i == 1 else jnp.zeros(1)
        right = other[:1] if i == 0 else jnp.zeros(1)
        new = relax(left, mine, right)
        barrier.wait()
        parts[i] = new
        barrier.wait()
ts = [threading.Thread(target=worker, args=(i,)) for i in range(2)]
[t.start() for t in ts]; [t.join() for t in ts]
u = jnp.concatenate(parts)
print(barrier.n_waiting, u.shape)
u
---
u0 = u0 ** 2

### va-except-star-groups-of-failed-fits-and-notes
data = {"ok": jnp.arange(1.0, 4.0), "neg": -jnp.ones(2), "short": jnp.ones(1)}
def fit(name, v):
    if v.size < 2: raise IndexError(name)
    if bool((v < 0).any()):
        e = ValueError(name); e.add_note(f"min {float(v.min())}"); raise e
    return jnp.log(v).mean()
---
fits, errors, seen = {}, [], []
for n, v in data.items():
    try: fits[n] = fit(n, v)
    except Exception as e: errors.append(e)
try:
    if errors: raise ExceptionGroup("fits", errors)
except* ValueError as g:
    seen.append(("value", [e.__notes__ for e in g.exceptions]))
except* IndexError as g:
    seen.append(("index", [str(e) for e in g.exceptions]))
else: seen.append("clean")
print(seen)
fits["ok"]
---
data["neg"] = jnp.array([2.0, -0.5])
---
data = {"ok": jnp.ones(3)}

### va-enum-flag-and-auto-drive-composed-augmentations
class Aug(enum.Flag):
    FLIP = enum.auto(); NOISE = enum.auto(); SCALE = enum.auto()
    ALL = FLIP | NOISE | SCALE
    def __call__(self, x, key):
        if self & Aug.FLIP: x = x[:, ::-1]
        if self & Aug.NOISE: x = x + 0.1 * jax.random.normal(key, x.shape)
        if self & Aug.SCALE: x = x * jax.random.uniform(key, (), minval=0.5, maxval=1.5)
        return x
x = jnp.arange(6.0).reshape(2, 3); mode = Aug.FLIP | Aug.SCALE
---
outs = {m.name or str(m): m(x, jax.random.key(3)) for m in (*mode, mode, ~mode)}
print(list(outs), len(mode), mode in Aug.ALL, repr(mode ^ Aug.NOISE))
sum(o.sum() for o in outs.values())
---
mode |= Aug.NOISE
---
mode = Aug.FLIP

### va-descriptor-with-unit-conversion-and-history-per-instance
class Quantity:
    def __init__(self, unit, factor=1.0): self.unit, self.factor = unit, factor
    def __set_name__(self, owner, name): self.name, self.slot = name, "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.slot) / self.factor
    def __set__(self, obj, value):
        obj.history.setdefault(self.name, []).append(getattr(obj, self.slot, None))
        setattr(obj, self.slot, value * self.factor)
    def __delete__(self, obj): delattr(obj, self.slot)
class Rocket:
    mass = Quantity("kg"); height = Quantity("km", 1000.0)
    def __init__(self, m, h): self.history = {}; self.mass, self.height = m, h
r = Rocket(jnp.float32(5.0), 2)
---
for dt in (0.1, 0.2):
    r.height += r.mass * dt
    r.mass *= 0.9
print(Rocket.height.unit, len(r.history["mass"]) % 2, r.history["height"][0], type(r._height).__name__)
r.height, r._height
---
r = Rocket(3, jnp.ones(2))
---
Rocket.__dict__["height"].factor = 10.0

### va-chained-comparisons-and-boolean-shortcuts-on-scalars
lo, hi = jnp.float32(0.1), 0.9
xs = [jnp.float32(v) for v in (0.05, 0.5, 0.95, 0.1)]
---
inside = [lo < x < hi for x in xs]
first = next((x for x in xs if lo <= x <= hi), None)
fallback = (xs[0] > 1 and xs[0]) or xs[1] or xs[2]
both = all(x > 0 for x in xs) and any(x > hi for x in xs) and xs[-1]
neither = not (xs[0] > lo) and not xs[1] == xs[2]
print([type(i).__name__ for i in inside], first is xs[1], fallback is xs[1], both is xs[-1], neither)
inside[1], both
---
lo = jnp.float32(0.5)
---
hi = jnp.float32(0.4)

### va-star-unpacking-of-arrays-into-calls-and-targets
v = jnp.arange(5.0); m = jnp.arange(6.0).reshape(3, 2)
def poly(x, *coef): return sum(c * x**i for i, c in enumerate(coef))
---
first, *mid, last = v
(a, b), *rows = m
p = poly(2.0, *v)
q = poly(*mid)
cols = dict(zip("xy", m.T))
[*flat] = map(tuple, m.tolist())
print(len(mid), type(rows).__name__, rows[0].shape, flat, sorted(cols))
p + q + first * last, a - b, max(*v)
---
v = jnp.arange(4)
---
m = m[:, ::-1]

### va-getitem-with-custom-slices-ellipsis-and-named-axes
class Named:
    def __init__(self, data, names): self.data, self.names = data, names
    def __getitem__(self, idx):
        if isinstance(idx, dict):
            idx = tuple(idx.get(n, slice(None)) for n in self.names)
        if not isinstance(idx, tuple): idx = (idx,)
        if any(i is Ellipsis for i in idx):
            k = next(j for j, i in enumerate(idx) if i is Ellipsis)
            idx = idx[:k] + (slice(None),) * (len(self.names) - len(idx) + 1) + idx[k + 1:]
        names = [n for n, i in itertools.zip_longest(self.names, idx, fillvalue=slice(None)) if not isinstance(i, int)]
        return Named(self.data[idx], names)
    def __setitem__(self, idx, val):
        self.data = self.data.at[self[idx] and tuple(idx.get(n, slice(None)) for n in self.names)].set(val)
    def __len__(self): return len(self.names)
t = Named(jnp.arange(24.0).reshape(2, 3, 4), ["b", "r", "c"])
---
a = t[..., 1]
b = t[{"r": 0, "c": slice(1, 3)}]
t[{"b": 1, "c": 0}] = -1.0
c = t[0][1:, 2]
print(a.names, b.names, c.names, a.data.shape, b.data.shape)
t.data.sum(), c.data
---
t = Named(jnp.ones((2, 2, 4)), list("brc"))

### va-operator-table-rpn-calculator-on-array-stack
OPS = {"+": operator.add, "*": operator.mul, "@": operator.matmul, "neg": (operator.neg, 1), "T": (jnp.transpose, 1),
       "dup": None}
env = {"A": jnp.arange(4.0).reshape(2, 2), "k": 0.5, "n": 3}
program = "A dup T @ k * n +"
---
stack, depth = [], []
for tok in program.split():
    match OPS.get(tok, tok):
        case None: stack.append(stack[-1])
        case (f, n): stack[-n:] = [f(*stack[-n:])]
        case str(name): stack.append(env[name])
        case f: r, l = stack.pop(), stack.pop(); stack.append(f(l, r))
    depth.append(len(stack))
print(depth)
(result,) = stack
result
---
env["k"], env["n"] = jnp.float32(2.0), 3.5
---
program = "A neg A + n *"

### va-closures-in-a-dict-share-one-nonlocal-parameter-store
def make_store(init):
    w, version, hooks = init, 0, []
    def get(): return w
    def put(v):
        nonlocal w, version
        old, w = w, v
        version += 1
        for h in hooks: h(old, v, version)
    def peek(): return version
    return types.SimpleNamespace(get=get, put=put, peek=peek, hooks=hooks)
store = make_store(jnp.zeros(3)); moves = []
store.hooks.append(lambda old, new, v: moves.append((v, jnp.abs(new - old).max())))
---
for k in range(3):
    store.put(store.get() + jnp.arange(3.0) * (k + 1))
v = store.peek()
print(len(moves) == v, [m[0] for m in moves][-2:])
moves[-1][1], store.get()
---
store.put(-store.get())
---
store.hooks.append(lambda old, new, v: moves.append((v, new.min())))

### va-generator-expression-chain-with-takewhile-on-residuals
def iterates(x, f):
    while True:
        yield x
        x = f(x)
a = jnp.float32(2.0)
---
newton = iterates(jnp.float32(1.0), lambda x: 0.5 * (x + a / x))
pairs = itertools.pairwise(newton)
steps = [(x, y) for x, y in itertools.takewhile(lambda p: abs(p[0] - p[1]) > 1e-5, pairs)]
root = steps[-1][1]
print(len(steps))
after = next(newton)
root, after
---
a = jnp.float32(10.0)
---
a = 7

### va-cached-property-with-invalidation-by-delattr-and-dirty-flag cold
class Design:
    def __init__(self, X): self.X, self.dirty = X, 0
    @functools.cached_property
    def gram(self): self.dirty += 1; return self.X.T @ self.X
    @functools.cached_property
    def chol(self): return jnp.linalg.cholesky(self.gram + jnp.eye(self.X.shape[1]))
    def solve(self, b): return jax.scipy.linalg.cho_solve((self.chol, True), b)
    def append(self, row):
        self.X = jnp.vstack([self.X, row])
        for n in ("gram", "chol"): self.__dict__.pop(n, None)
d = Design(jnp.eye(2)); b = jnp.array([1.0, 2.0])
---
s1 = d.solve(b)
same = d.gram is d.gram
d.append(b)
s2 = d.solve(b)
print(same, d.X.shape, d.dirty, sorted(vars(d)))
s1 - s2
---
d = Design(jnp.array([[1.0, 0.5]]))
---
b = b + 1

### va-functools-reduce-compose-and-partial-placeholder-style-pipeline
def compose(*fs): return functools.reduce(lambda f, g: lambda *a, **k: g(f(*a, **k)), fs)
tap_log = []
def tap(label):
    def f(x): tap_log.append((label, jnp.shape(x))); return x
    f.__name__ = f"tap_{label}"
    return f
stages = [partial(jnp.clip, min=-1.0, max=1.0), tap("clipped"), jnp.cumsum, tap("sum"), operator.itemgetter(-1)]
x = jnp.linspace(-2.0, 2.0, 5) + 0.3
---
pipe = compose(*stages)
y = pipe(x)
names = [getattr(s, "__name__", None) or type(s).__name__ for s in stages]
g = jax.grad(pipe)(x)
print(names, tap_log[-4:])
y, g
---
stages[0] = partial(jnp.clip, min=0.0, max=2.0)
---
tap_log.clear(); stages.pop(1)

### va-bisect-insort-keeps-scores-sorted-with-key
board = []
preds = jax.random.uniform(jax.random.key(4), (6,)); names = list("abcdef")
---
for n, p in zip(names, preds):
    bisect.insort(board, (n, p.item()), key=operator.itemgetter(1))
    del board[4:]
where = bisect.bisect_left(board, 0.5, key=lambda r: r[1])
best = board[0]
print([n for n, _ in board], where)
preds[names.index(best[0])]
---
preds = 1 - preds
---
board.clear()

### va-abstract-base-with-template-method-and-cooperative-super
class Solver(abc.ABC):
    registry: dict = {}
    def __init_subclass__(cls, *, name, **kw): super().__init_subclass__(**kw); Solver.registry[name] = cls
    def __init__(self, lr=0.1, **kw): self.lr, self.t = lr, 0
    def run(self, f, x, n):
        for _ in range(n): x = self.update(x, jax.grad(f)(x)); self.t += 1
        return x
    @abc.abstractmethod
    def update(self, x, g): ...
class SGD(Solver, name="sgd"):
    def update(self, x, g): return x - self.lr * g
class Momentum(SGD, name="mom"):
    def __init__(self, beta=0.9, **kw): super().__init__(**kw); self.beta, self.v = beta, 0.0
    def update(self, x, g): self.v = self.beta * self.v + g; return super().update(x, self.v)
f = lambda x: jnp.sum((x - 1) ** 2); x0 = jnp.zeros(2); n = 3
---
res = {}
for name, cls in Solver.registry.items():
    s = cls(lr=0.2)
    res[name] = (s.run(f, x0, n), s)
print({k: (type(s).__mro__[1].__name__, s.t, isinstance(getattr(s, "v", 0), jax.Array)) for k, (_, s) in res.items()})
try: Solver()
except TypeError as e: print(type(e).__name__)
res["mom"][0] - res["sgd"][0]
---
n = 5
---
x0 = jnp.ones(3) * 4

### va-namedtuple-methods-replace-asdict-defaults-and-subclass
class State(NamedTuple):
    pos: Any
    vel: Any = 0.0
    t: int = 0
    tags: tuple = ()
    @property
    def energy(self): return 0.5 * jnp.sum(self.vel ** 2) + jnp.sum(self.pos ** 2)
    def step(self, dt):
        return self._replace(pos=self.pos + dt * self.vel, vel=self.vel - dt * 2 * self.pos, t=self.t + 1)
class Tagged(State):
    def __add__(self, tag): return self._replace(tags=self.tags + (tag,))
s = Tagged(jnp.array([1.0, 0.0])); dt = 0.1
---
t = s + "start"
for _ in range(3): t = t.step(dt)
flat, tree = jax.tree.flatten(t)
back = jax.tree.unflatten(tree, [2 * l if not isinstance(l, str) else l for l in flat])
print(type(t).__name__, type(back).__name__, list(t._asdict()), t.t, back.t, back.tags)
t.energy, back.pos, t
---
dt = jnp.float32(0.2)
---
s = s._replace(vel=jnp.ones(2), t=10)

### va-warnings-once-turned-to-errors-in-a-block-and-recorded
def risky(x):
    if x.min() < 0: warnings.warn(f"negative {x.shape}", UserWarning, stacklevel=2)
    return jnp.sqrt(jnp.abs(x))
xs = [jnp.ones(2), -jnp.ones(3), -jnp.ones(1)]
---
out, texts = [], []
with warnings.catch_warnings(record=True) as got:
    warnings.simplefilter("always")
    for x in xs: out.append(risky(x))
texts += [str(w.message) for w in got]
try:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for x in xs: out.append(risky(x) * 2)
except UserWarning as w: texts.append(f"raised {w}")
print(texts, len(out))
jnp.concatenate(out).sum()
---
xs[1] = jnp.zeros(3)
---
xs.reverse()

### va-logger-adapter-and-lazy-args-with-level-gates
log = logging.getLogger("va.train"); log.setLevel(logging.INFO)
class Run(logging.LoggerAdapter):
    def process(self, msg, kw): return f"[{self.extra['run']}:{self.extra['step']}] {msg}", kw
lr = Run(log, {"run": "r1", "step": 0})
w = jnp.array([3.0, -1.0])
---
for _ in range(4):
    g = jax.grad(lambda w: jnp.sum(w ** 2))(w)
    w = w - 0.25 * g
    lr.extra["step"] += 1
    lr.debug("hidden %s", g)
    lr.info("norm %.3f max %s", jnp.linalg.norm(g), g.max())
    if log.isEnabledFor(logging.DEBUG): lr.debug("deep %r", jnp.abs(g).sum())
lr.warning("done after %d", lr.extra["step"])
w
---
log.setLevel(logging.DEBUG)
---
log.setLevel(logging.ERROR)

### va-json-encoder-subclass-and-object-hook-round-trips-arrays
class Enc(json.JSONEncoder):
    def default(self, o):
        if isinstance(o, (jax.Array, np.ndarray)):
            return {"__arr__": np.asarray(o).tolist(), "dtype": str(o.dtype), "jax": isinstance(o, jax.Array)}
        if isinstance(o, set): return {"__set__": sorted(o)}
        return super().default(o)
def hook(d):
    if "__arr__" in d: return (jnp if d["jax"] else np).array(d["__arr__"], d["dtype"])
    return set(d["__set__"]) if "__set__" in d else d
state = {"w": jnp.arange(3, dtype=jnp.int8), "b": np.ones(2), "tags": {"x", "a"}, "nested": [{"k": jnp.float32(0.5)}]}
---
text = json.dumps(state, cls=Enc, indent=1)
back = json.loads(text, object_hook=hook)
ok = jax.tree.map(lambda a, b: type(a) is type(b), {k: state[k] for k in "wb"}, {k: back[k] for k in "wb"})
print(ok, back["tags"] == state["tags"], len(text.splitlines()))
back["nested"][0]["k"] + state["w"], back["b"].dtype
---
state["w"] = state["w"] * 2
---
state["more"] = np.float64(1.5)

### va-object-graph-with-parent-pointers-and-recursive-totals cold
class Node:
    def __init__(self, w, *kids):
        self.w, self.kids, self.parent = w, list(kids), None
        for k in kids: k.parent = self
    def total(self): return self.w.sum() + sum(k.total() for k in self.kids)
    def walk(self, depth=0):
        yield depth, self
        for k in self.kids: yield from k.walk(depth + 1)
    @property
    def root(self): return self if self.parent is None else self.parent.root
leaf = Node(jnp.ones(2))
tree = Node(jnp.zeros(1), Node(jnp.arange(3.0), leaf), Node(jnp.array([5.0])))
---
before = tree.total()
for d, n in tree.walk():
    n.w = n.w * 0.5 ** d
    n.depth = d
leaf.kids.append(Node(leaf.w + 1))
leaf.kids[-1].parent = leaf
after = leaf.root.total()
print([d for d, _ in tree.walk()], leaf.root is tree)
before, after
---
leaf.kids.clear()
---
leaf = tree.kids[1]

### va-string-formatter-subclass-and-format-spec-for-arrays
class Fmt(string.Formatter):
    def format_field(self, v, spec):
        if spec.startswith("vec"): return "[" + " ".join(f"{float(e):{spec[3:]}}" for e in v) + "]"
        return super().format_field(v, spec)
    def get_value(self, key, a, kw): return kw.get(key, f"<{key}>") if isinstance(key, str) else a[key]
fmt = Fmt(); v = jnp.array([1.0, -2.5])
---
line = fmt.format("{0:vec.2f} | {0.shape} {m:>8.3f} | {missing} {n!r:.12}", v, m=jnp.max(v), n=v[0])
t = string.Template("$name: ${val}").substitute(name="v", val=v.sum())
pct = "%s has %d items, mean %6.2f" % ("v", v.size, v.mean())
print(line, t, pct, sep="\n")
jnp.asarray(len(line))
---
v = v * 3
---
v = jnp.arange(2)

### va-exitstack-collects-resources-by-condition-and-pops-all
opened = []
@contextlib.contextmanager
def resource(name, arr):
    opened.append("+" + name)
    try: yield arr * 2
    finally: opened.append("-" + name)
arrays = {"a": jnp.ones(2), "b": jnp.arange(2.0), "c": None}
---
with contextlib.ExitStack() as stack:
    got = {n: stack.enter_context(resource(n, a)) if a is not None else stack.enter_context(contextlib.nullcontext(n))
           for n, a in arrays.items()}
    stack.callback(opened.append, "cb")
    keep = stack.pop_all()
mid = list(opened[-3:])
total = got["a"] + got["b"]
keep.close()
print(mid, opened[-3:], got["c"])
total
---
opened.clear()
---
arrays["c"] = jnp.zeros(1)

### va-dataclass-field-options-kwonly-slots-replace-and-compare
@dataclasses.dataclass(slots=True, kw_only=True, order=True)
class Trial:
    score: float
    name: str = dataclasses.field(compare=False)
    params: dict = dataclasses.field(default_factory=dict, compare=False, repr=False)
    grads: Any = dataclasses.field(default=None, compare=False, metadata={"unit": "1/s"})
    n: int = dataclasses.field(init=False, default=0, compare=False)
    def __post_init__(self): self.n = len(self.params)
X = jnp.arange(6.0).reshape(3, 2)
names = ["u", "v"]
---
trials = []
for i, name in enumerate(names):
    p = {"w": X[:, i], **({"b": X.mean()} if i else {})}
    trials.append(Trial(score=float(jnp.var(p["w"])) + i, name=name, params=p,
                        grads=jax.grad(lambda w: (w ** 2).sum())(p["w"])))
best = max(trials)
nxt = dataclasses.replace(best, score=best.score * 2, params={**best.params, "extra": 1})
print(sorted(trials)[0].name, nxt > best, nxt.n, nxt, [f.metadata.get("unit") for f in dataclasses.fields(nxt)])
nxt.grads
---
names = ["v", "u", ]
---
X = -X

### va-int-subclass-step-and-bool-flags-returned-from-methods
class Step(int):
    def every(self, n): return self % n == 0
    def __add__(self, o): return Step(int(self) + o)
class Meter:
    def __init__(self): self.step, self.best = Step(0), float("inf")
    def update(self, loss):
        self.step += 1
        improved = loss < self.best
        if improved: self.best = loss
        return improved
m = Meter(); w = jnp.array([2.0, -3.0])
---
flags = []
for _ in range(5):
    loss, g = jax.value_and_grad(lambda w: jnp.sum(w ** 2) + jnp.sin(w).sum())(w)
    flags.append((m.update(loss), m.step.every(2)))
    w = w - 0.03 * g
print(type(m.step).__name__, m.step % 5, [(type(a).__name__, b) for a, b in flags])
m.best, flags[0][0]
---
m = Meter()
---
w = jnp.zeros(2)

### va-swap-tuple-of-buffers-and-rotating-roles-in-loop
src, dst, spare = jnp.zeros(3).at[1].set(1.0), jnp.zeros(3), jnp.ones(3)
roles = {"src": src, "dst": dst}
---
for k in range(3):
    dst = 0.5 * src + 0.25 * (jnp.roll(src, 1) + jnp.roll(src, -1))
    src, dst, spare = dst, spare, src
    roles["src"], roles["dst"] = src, roles["src"]
print(roles["src"] is src, roles["dst"] is spare, dst is spare)
src - spare
---
spare = spare * 0
---
src, spare = spare, src
""",
)
