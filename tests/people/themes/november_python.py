"""Python's own ways beside arrays, as it is published: classes, closures, contexts, generators, containers, patches."""

from ..cell import written

PRELUDE = """
import abc, bisect, builtins, collections, contextlib, contextvars, copy, dataclasses, enum, functools, heapq, inspect, io
import itertools, math, operator, random, sys, textwrap, types, typing, warnings, weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial, reduce, singledispatch, total_ordering, wraps
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### rn-lazy-proxy-getattr-forwards-and-records-jnp-calls
class Recorder:
    def __init__(self, target, calls): self.__dict__.update(_t=target, _c=calls)
    def __getattr__(self, name):
        value = getattr(self._t, name)
        if not callable(value) or isinstance(value, type):
            return value
        def call(*a, **k):
            self._c[name] += 1
            return value(*a, **k)
        return call
    def __setattr__(self, name, value): raise AttributeError(f"{name} is read only")
calls = Counter()
np_ = Recorder(jnp, calls)
x, depth = np_.linspace(0.0, 1.0, 5), 2
---
y = x
for i in range(depth):
    y = np_.sin(y) + np_.where(y > 0.5, np_.square(y), 0.0)
try:
    np_.pi = 3
except AttributeError as e:
    print(e, np_.float32.__name__)
print(dict(calls))
y, np_.pi, calls.total()
---
depth = 3
---
calls.clear(); x = -x
---
np_ = Recorder(np, calls); depth = 1

### rn-memoised-factorial-series-and-jitted-horner-kept-in-lru-cache
@lru_cache(maxsize=None)
def fact(n): return 1 if n < 2 else n * fact(n - 1)
@lru_cache(maxsize=2)
def series(order):
    coeffs = tuple(1 / fact(k) for k in range(order + 1))
    def f(x):
        acc = jnp.zeros_like(x)
        for c in reversed(coeffs):
            acc = acc * x + c
        return acc
    return jax.jit(f)
x, orders = jnp.linspace(-1, 1, 7), [2, 5]
---
errors = {}
for n in orders:
    errors[n] = jnp.abs(series(n)(x) - jnp.exp(x)).max()
info = series.cache_info()
print(fact.cache_info().currsize, info.hits, info.misses, info.currsize)
same = series(orders[-1]) is series(orders[-1])
errors, same, fact(20)
---
orders.append(7)
---
x = x * 2
---
series.cache_clear(); orders = [3]

### rn-observer-pattern-with-weak-methods-and-property-setters
class Signal:
    def __init__(self): self.slots = []
    def connect(self, m): self.slots.append(weakref.WeakMethod(m))
    def __call__(self, *a):
        self.slots = [s for s in self.slots if s() is not None]
        for s in self.slots:
            s()(*a)
class Model:
    def __init__(self): self._w, self.changed = jnp.zeros(2), Signal()
    @property
    def w(self): return self._w
    @w.setter
    def w(self, value):
        old, self._w = self._w, value
        self.changed(old, value)
class Watch:
    def __init__(self, model, name): self.name, self.moves = name, []; model.changed.connect(self.on)
    def on(self, old, new): self.moves.append(jnp.abs(new - old).sum())
model = Model(); watch, other = Watch(model, "a"), Watch(model, "b")
target, lr = jnp.array([1.0, -1.0]), 0.5
---
for _ in range(2):
    model.w = model.w - lr * jax.grad(lambda w: ((w - target) ** 2).sum() / 2)(model.w)
model.w += 0.0
total = {o.name: sum(o.moves) for o in (watch, other) if o is not None}
print(len(model.changed.slots), len(watch.moves), sorted(total))
total, model.w
---
lr = 0.1
---
other = None
---
watch.moves.clear(); other = Watch(model, "late"); target = -target

### rn-context-stack-of-scopes-names-parameters-like-variable-store
class Store:
    def __init__(self, key): self.key, self.path, self.vars, self.reuse = key, [], {}, False
    @contextlib.contextmanager
    def scope(self, name, reuse=None):
        before = self.reuse
        self.path.append(name)
        self.reuse = before if reuse is None else reuse
        try:
            yield "/".join(self.path)
        finally:
            self.path.pop()
            self.reuse = before
    def get(self, name, shape):
        full = "/".join([*self.path, name])
        if full in self.vars:
            if not self.reuse:
                raise ValueError(f"{full} already exists")
            return self.vars[full]
        self.key, sub = jr.split(self.key)
        self.vars[full] = jr.normal(sub, shape) / math.sqrt(shape[0])
        return self.vars[full]
def dense(store, x, n, name):
    with store.scope(name):
        return jnp.tanh(x @ store.get("kernel", (x.shape[-1], n)))
x, widths, again = jnp.eye(3), (4, 2), True
---
store = Store(jr.PRNGKey(0))
with store.scope("net") as where:
    h = reduce(lambda h, iw: dense(store, h, iw[1], f"d{iw[0]}"), enumerate(widths), x)
try:
    with store.scope("net", reuse=again):
        twin = reduce(lambda h, iw: dense(store, h, iw[1], f"d{iw[0]}"), enumerate(widths), 2 * x)
except ValueError as e:
    twin = h
    print("error:", e)
shapes = {k: v.shape for k, v in store.vars.items()}
print(where, store.path, store.reuse, shapes)
twin - h
---
again = False
---
widths += (1,)
---
again = True; x = x[:1]

### rn-generator-coroutine-optimiser-driven-by-send-with-inner-yield-from
def momentum(lr, beta):
    v = 0.0
    g = yield
    while True:
        v = beta * v + g
        g = yield -lr * v
def switching(*stages):
    step = None
    for n, make in stages:
        inner = make()
        next(inner)
        g = yield step
        for _ in range(n - 1):
            step = inner.send(g)
            g = yield step
        step = inner.send(g)
        inner.close()
    yield step
def run(opt, p, f, n):
    next(opt)
    for i in range(n):
        try:
            p = p + opt.send(jax.grad(f)(p))
        except StopIteration:
            return p, i
    return p, n
p0, stages, n = jnp.array([1.0, 2.0]), [(2, partial(momentum, 0.1, 0.0)), (2, partial(momentum, 0.05, 0.9))], 6
f = lambda p: (p ** 2 @ jnp.array([1.0, 3.0])) / 2
---
p, used = run(switching(*stages), p0, f, n)
q, _ = run(momentum(0.1, 0.5), p0, f, n)
alive = switching(*stages)
next(alive)
kept = alive.send(p0)
alive.close()
print(used, kept.shape, inspect.getgeneratorstate(alive))
p, q, kept
---
stages.append((3, partial(momentum, 0.2, 0.1)))
---
n = 2
---
p0 = -p0; stages = stages[::-1]

### rn-custom-sequence-and-mapping-containers-as-pytrees-with-keys
class Bag(UserList): pass
class Tree(UserDict):
    def __getattr__(self, name):
        if name == "data": raise AttributeError(name)
        try: return self.data[name]
        except KeyError: raise AttributeError(name) from None
jtu.register_pytree_with_keys(Bag, lambda b: ([(jtu.SequenceKey(i), v) for i, v in enumerate(b.data)], len(b.data)), lambda n, c: Bag(c))
jtu.register_pytree_with_keys(Tree, lambda t: ([(jtu.DictKey(k), t.data[k]) for k in sorted(t.data)], tuple(sorted(t.data))),
                              lambda ks, c: Tree(zip(ks, c)))
model = Tree(layers=Bag([Tree(w=jnp.ones((2, 2)), b=jnp.zeros(2)), Tree(w=jnp.eye(2) * 2, b=jnp.ones(2))]), scale=jnp.array(0.5))
def forward(m, x):
    for layer in m.layers:
        x = jax.nn.softplus(x @ layer.w + layer.b)
    return m.scale * x
x, lr = jnp.array([[1.0, -1.0], [0.5, 0.0]]), 0.1
---
grads = jax.grad(lambda m: forward(m, x).sum())(model)
model = jax.tree.map(lambda p, g: p - lr * g, model, grads)
named = {jtu.keystr(k): jnp.linalg.norm(v) for k, v in jtu.tree_leaves_with_path(grads)}
print(type(grads.layers).__name__, list(named), len(model.layers))
missing = getattr(model, "bias", None)
named, missing, forward(model, x)
---
lr = 0.0
---
model.layers.append(Tree(w=jnp.full((2, 1), 0.3), b=jnp.zeros(1)))
---
model["extra"] = jnp.ones(1); lr = 0.2

### rn-match-on-sequences-mappings-guards-and-captured-arrays
def compute(env, expr):
    match expr:
        case int() | float():
            return jnp.float32(expr)
        case str(name) if name in env:
            return env[name]
        case ["let", [str(name), value], body]:
            return compute({**env, name: compute(env, value)}, body)
        case ["grad", str(name), body]:
            return jax.grad(lambda v: compute({**env, name: v}, body))(env[name])
        case ["+", *args]:
            return sum(compute(env, a) for a in args)
        case ["*", a, b]:
            return compute(env, a) * compute(env, b)
        case {"fn": ("sin" | "exp") as fn, "arg": arg, **rest} if not rest:
            return getattr(jnp, fn)(compute(env, arg))
        case _:
            raise SyntaxError(f"cannot read {expr!r}")
env = {"x": jnp.float32(0.5), "y": jnp.float32(2.0)}
programs = [["+", "x", 1, ["*", "y", "y"]], {"fn": "sin", "arg": ["*", 2, "x"]}, ["grad", "x", ["*", "x", {"fn": "exp", "arg": "x"}]],
            ["let", ["z", ["+", "x", "y"]], ["*", "z", "z"]], ["/", 1, 2]]
---
out, errors = [], []
for prog in programs:
    try:
        out.append(compute(env, prog))
    except SyntaxError as e:
        errors.append(str(e))
print(len(out), errors)
values = jnp.stack(out)
values, {i: round(float(v), 2) for i, v in enumerate(out)}
---
env["x"] = jnp.float32(-1.0)
---
programs.pop(); programs.append(["grad", "y", ["*", "x", "y"]])
---
env = {**env, "w": jnp.float32(3.0)}; programs.insert(0, ["+", "w", "w", "w"])

### rn-dispatch-tables-of-partials-with-registry-decorator-and-signature
REG = {}
def register(name=None, *, weight=1.0):
    def deco(fn):
        fn.weight = weight
        REG[name or fn.__name__] = fn
        return fn
    return deco
@register(weight=2.0)
def huber(r, *, delta=1.0): return jnp.where(jnp.abs(r) < delta, 0.5 * r ** 2, delta * (jnp.abs(r) - 0.5 * delta))
@register("l1")
def absolute(r): return jnp.abs(r)
@register()
def welsch(r, *, c=2.0): return 1 - jnp.exp(-0.5 * (r / c) ** 2)
options = {"delta": 0.5, "c": 1.0, "unused": 3}
r = jnp.array([-3.0, -0.2, 0.0, 0.4, 6.0])
---
table = {}
for name, fn in REG.items():
    accepts = inspect.signature(fn).parameters
    bound = partial(fn, **{k: v for k, v in options.items() if k in accepts})
    table[name] = (bound(r).mean() * fn.weight, jax.vmap(jax.grad(bound))(r))
order = sorted(table, key=lambda n: float(table[n][0]))
print(order, {n: sorted(inspect.signature(f).parameters) for n, f in REG.items()})
{n: v for n, (v, _) in table.items()}, sum(g for _, g in table.values())
---
options["delta"] = 2.0
---
huber.weight = 0.1
---
register("sq")(lambda r: r ** 2); r = r[1:]

### rn-monkeypatched-method-counts-and-super-call-restored-after
class Layer:
    def __init__(self, w): self.w = w
    def __call__(self, x): return jnp.tanh(x @ self.w)
class Gated(Layer):
    def __call__(self, x): return super().__call__(x) * jax.nn.sigmoid(x.sum(-1, keepdims=True))
@contextlib.contextmanager
def patched(obj, name, new):
    old = obj.__dict__[name]
    setattr(obj, name, new(old))
    try:
        yield old
    finally:
        setattr(obj, name, old)
def traced(log):
    def make(old):
        @wraps(old)
        def call(self, x):
            out = old(self, x)
            log.append((type(self).__name__, out.shape, out.mean()))
            return out
        return call
    return make
net, x = [Layer(jnp.eye(3) * 0.5), Gated(jnp.ones((3, 2)))], jnp.arange(6.0).reshape(2, 3) / 6
---
log = []
with patched(Layer, "__call__", traced(log)) as original:
    y = reduce(lambda h, l: l(h), net, x)
z = reduce(lambda h, l: l(h), net, x)
print([(n, s) for n, s, _ in log], Layer.__call__ is original, original.__name__)
y - z, jnp.stack([m for *_, m in log])
---
net.append(Gated(jnp.ones((2, 2)) * 0.1))
---
x = -x
---
net[0].w = jnp.eye(3) * 2; net.pop()

### rn-heap-scheduler-counter-ties-lazy-deletion-and-array-payloads
class Scheduler:
    REMOVED = object()
    def __init__(self): self.heap, self.entries, self.tick = [], {}, itertools.count()
    def add(self, name, due, payload):
        if name in self.entries: self.cancel(name)
        self.entries[name] = entry = [due, next(self.tick), name, payload]
        heapq.heappush(self.heap, entry)
    def cancel(self, name): self.entries.pop(name)[-1] = self.REMOVED
    def __iter__(self):
        while self.heap:
            due, _, name, payload = heapq.heappop(self.heap)
            if payload is not self.REMOVED:
                del self.entries[name]
                yield due, name, payload
jobs, state0 = [("a", 2, 0.5), ("b", 1, 2.0), ("c", 2, -1.0), ("a", 0, 3.0)], jnp.ones(2)
---
s = Scheduler()
for name, due, k in jobs:
    s.add(name, due, k * jnp.arange(1.0, 3.0))
state, order = state0, []
for due, name, payload in s:
    state = state * 0.5 + payload
    order.append(f"{name}@{due}")
    if name == "b" and len(order) < 3:
        s.add("extra", due + 0.5, state)
print(order, len(s.heap), next(s.tick))
state, s.entries
---
jobs.append(("b", 5, 1.0))
---
state0 = state0 * 10
---
jobs = jobs[:2]

### rn-walrus-chains-in-comprehensions-while-loops-and-any-all
data = [jnp.array([1.0, 4.0]), jnp.array([2.0]), jnp.array([9.0, 16.0, 25.0])]
limit, it = 3.0, iter(range(100))
---
roots = [r for a in data if (r := jnp.sqrt(a)).sum() > limit]
total = 0.0
partials = [total := total + r.sum() for r in roots]
first = next((i for i, a in enumerate(data) if (m := a.max()) > limit), None)
while (n := next(it)) % 4:
    total -= 0.1 * n
if not any((worst := a).min() < 0 for a in data):
    print("all positive", worst.shape, first, float(m), n)
pairs = {(i, j): d for i, j in itertools.combinations(range(len(data)), 2) if (d := float(jnp.abs(data[i].mean() - data[j].mean()))) > 1}
roots, jnp.stack(partials) if partials else jnp.zeros(0), total, pairs
---
limit = 10.0
---
data[1] = jnp.array([-2.0, 50.0])
---
it = iter([1, 2, 3, 8]); limit = 0.0; data[1] = jnp.array([7.0])

### rn-copies-shallow-deep-and-replace-of-nested-models-with-shared-parts
@dataclass
class Block:
    w: Any
    meta: dict = field(default_factory=dict)
    parent: Any = None
    def __copy__(self): return Block(self.w, self.meta, self.parent)
shared = jnp.ones(2)
root = Block(shared, {"n": 0})
kids = [Block(shared, {"n": i}, root) for i in (1, 2)]
root.meta["kids"] = kids
bump = 1.0
---
shallow, deep = copy.copy(root), copy.deepcopy(root)
deep.meta["kids"][0].w = deep.meta["kids"][0].w + bump
shallow.meta["n"] += 1
third = replace(root, w=root.w * 2)
root.w = root.w - bump
facts = [shallow.w is shared, deep.meta["kids"][0].parent is deep, deep.meta["kids"][1].w is deep.w,
         third.meta is root.meta, root.meta["kids"][0].w is shared]
print(facts, root.meta["n"], deep.meta["n"])
jnp.stack([b.w for b in (root, shallow, third, *deep.meta["kids"])])
---
bump = 0.5
---
kids[1].w = jnp.zeros(2)
---
shared = root.w; root.meta["kids"] = [Block(shared, {"n": 5}, root)] * 2

### rn-total-ordering-of-candidates-bisected-into-a-pareto-archive
@total_ordering
class Cand:
    def __init__(self, x, cost, size): self.x, self.cost, self.size = x, cost, size
    def __eq__(self, o): return (self.size, self.cost) == (o.size, o.cost)
    def __lt__(self, o): return (self.size, self.cost) < (o.size, o.cost)
    def dominates(self, o): return self.size <= o.size and self.cost <= o.cost and self != o
    def __repr__(self): return f"<{self.size}:{self.cost:.2f}>"
def evaluate(x): return Cand(x, round(float(((x - jnp.array([1.0, 0.0, -1.0])) ** 2).sum()), 4), int((jnp.abs(x) > 0.3).sum()))
def propose(key, base, scale): return jnp.where(jr.uniform(key, (3,)) < 0.4, 0.0, base + scale * jr.normal(key, (3,)))
seed, scale, n = 0, 0.8, 6
---
archive, rejected = [evaluate(jnp.zeros(3))], 0
for i, key in enumerate(jr.split(jr.key(seed), n)):
    c = evaluate(propose(key, archive[i % len(archive)].x, scale))
    if any(a.dominates(c) for a in archive):
        rejected += 1
        continue
    archive = [a for a in archive if not c.dominates(a)]
    bisect.insort(archive, c)
print(archive, rejected, min(archive) <= max(archive))
jnp.stack([a.x for a in archive]).round(3), sum(a.size for a in archive)
---
seed = 3
---
scale = 0.1
---
n = 2; scale = 2.0

### rn-exceptions-with-notes-custom-hierarchy-retry-and-else-finally
class Diverged(ArithmeticError):
    def __init__(self, step, value): super().__init__(f"at {step}"); self.step, self.value = step, value
class TooSlow(Diverged): pass
def descend(f, x, lr, n):
    for i in range(n):
        x = x - lr * jax.grad(f)(x)
        v = f(x)
        if v > 1e3:
            raise Diverged(i, v)
    if v > 0.5:
        raise TooSlow(n, v)
    return x
@contextlib.contextmanager
def noting(**info):
    try:
        yield
    except Diverged as e:
        e.add_note(", ".join(f"{k}={v}" for k, v in info.items()))
        raise
f, x0, rates, n = (lambda x: (x ** 2).sum()), jnp.array([3.0, 4.0]), [5.0, 0.001, 0.3], 4
---
history, result = [], None
for attempt, lr in enumerate(rates):
    try:
        with noting(lr=lr, attempt=attempt):
            result = descend(f, x0, lr, n)
    except TooSlow as e:
        history.append(("slow", e.step, e.__notes__, e.value))
    except Diverged as e:
        history.append(("diverged", e.step, e.__notes__, e.value))
    else:
        history.append(("fine", attempt))
        break
    finally:
        last = attempt
print([h[:3] for h in history], last, type(result).__name__)
result, [h[3] for h in history if len(h) > 3]
---
rates = rates[1:]
---
n = 1
---
rates = [0.49]; x0 = x0 * 0.1

### rn-descriptors-units-and-clamped-fields-on-a-simulated-tank
class Clamped:
    def __init__(self, lo, hi): self.lo, self.hi, self.hits = lo, hi, 0
    def __set_name__(self, owner, name): self.slot = "_" + name
    def __get__(self, obj, owner=None): return self if obj is None else getattr(obj, self.slot)
    def __set__(self, obj, value):
        clipped = jnp.clip(value, self.lo, self.hi)
        self.hits += 1
        setattr(obj, self.slot, clipped)
class Tank:
    __slots__ = ("_level", "_valve", "area", "__weakref__")
    level, valve = Clamped(0.0, 10.0), Clamped(0.0, 1.0)
    def __init__(self, level, area): self.level, self.valve, self.area = level, 0.5, area
    def step(self, inflow, dt=0.5):
        out = self.valve * jnp.sqrt(2 * 9.81 * self.level)
        self.level = self.level + dt * (inflow - out) / self.area
        return out
class PID:
    def __init__(self, kp, ki): self.kp, self.ki, self.acc = kp, ki, 0.0
    def __call__(self, err):
        self.acc += err
        return self.kp * err + self.ki * self.acc
tank, pid, goal, inflow = Tank(4.0, 2.0), PID(-0.2, -0.02), 3.0, [2.0, 2.5, 3.0]
---
rows = []
for q in inflow:
    out = tank.step(q)
    tank.valve = pid(goal - tank.level)
    rows.append(jnp.stack([tank.level, out, tank.valve]))
table = jnp.stack(rows)
print(table.shape, Tank.level.hits, Tank.valve.slot, hasattr(tank, "__dict__"))
table, pid.acc
---
goal = 6.0
---
tank.level = 50.0
---
Tank.valve.hi = 0.2; inflow = inflow[:1]

### rn-itertools-recipes-windows-roundrobin-and-powersets-of-features
def windowed(seq, n): return zip(*(itertools.islice(seq, i, None) for i in range(n)))
def powerset(xs): return itertools.chain.from_iterable(itertools.combinations(xs, r) for r in range(1, len(xs) + 1))
def roundrobin(*its):
    pending = deque(map(iter, its))
    while pending:
        try:
            yield next(pending[0])
            pending.rotate(-1)
        except StopIteration:
            pending.popleft()
cols = OrderedDict(a=jnp.array([1.0, 2, 3, 4]), b=jnp.array([1.0, 0, 1, 0]), c=jnp.array([0.5, 0.1, 0.9, 0.3]))
y, width = jnp.array([1.0, 2.2, 2.9, 4.1]), 2
---
scores = {}
for names in powerset(cols):
    A = jnp.stack([cols[n] for n in names] + [jnp.ones(len(y))], 1)
    beta = jnp.linalg.pinv(A) @ y
    scores["+".join(names)] = jnp.sum((A @ beta - y) ** 2) + 0.05 * len(names)
best = min(scores, key=scores.get)
smooth = jnp.stack([sum(w) / width for w in windowed(y, width)])
mixed = list(roundrobin("ab", best, range(2)))
runs = [(k, len(list(g))) for k, g in itertools.groupby(sorted(map(len, scores)))]
print(best, mixed, runs, list(itertools.accumulate(range(4), operator.mul, initial=1)))
smooth, jnp.stack(list(scores.values()))[:3]
---
width = 3
---
cols["d"] = y ** 2
---
y = y[::-1]; cols.move_to_end("a"); del cols["b"]

### rn-global-counters-function-attributes-and-module-level-cache-of-kernels
COUNT, CACHE = 0, {}
def kernel(n):
    global COUNT
    COUNT += 1
    kernel.last = n
    if n not in CACHE:
        CACHE[n] = jnp.exp(-0.5 * jnp.linspace(-2, 2, n) ** 2)
        CACHE[n] /= CACHE[n].sum()
    return CACHE[n]
kernel.last = None
def smooth(x, n, *, mode="same", _seen=[]):
    _seen.append(n)
    return jnp.convolve(x, kernel(n), mode=mode), len(_seen)
x, sizes = jnp.sin(jnp.arange(12.0)), [3, 5]
---
outs = [smooth(x, n)[0] for n in sizes]
twice, calls = smooth(outs[-1], sizes[-1])
rough = [jnp.abs(jnp.diff(o)).sum() for o in (x, *outs, twice)]
print(COUNT, sorted(CACHE), kernel.last, calls)
jnp.stack(rough), CACHE[sizes[0]]
---
sizes.append(7)
---
CACHE[3] = jnp.array([0.0, 1.0, 0.0])
---
CACHE.clear(); COUNT = 100; sizes = [3]

### rn-abstract-environment-wrappers-delegate-and-normalise-with-state
class Env(abc.ABC):
    @abc.abstractmethod
    def reset(self): ...
    @abc.abstractmethod
    def step(self, a): ...
    @property
    def unwrapped(self): return self
class Cart(Env):
    def __init__(self, dt=0.1): self.dt = dt
    def reset(self): self.s = jnp.array([0.5, 0.0]); return self.s
    def step(self, a):
        x, v = self.s
        v = v + self.dt * (a - jnp.sin(x))
        self.s = jnp.array([x + self.dt * v, v])
        return self.s, -(x ** 2 + 0.1 * v ** 2), jnp.abs(x) > 2, {}
class Wrapper(Env):
    def __init__(self, env): self.env = env
    def __getattr__(self, name):
        if name.startswith("_"): raise AttributeError(name)
        return getattr(self.env, name)
    def reset(self): return self.env.reset()
    def step(self, a): return self.env.step(a)
    @property
    def unwrapped(self): return self.env.unwrapped
class TimeLimit(Wrapper):
    def __init__(self, env, n): super().__init__(env); self.n = n
    def reset(self): self.t = 0; return super().reset()
    def step(self, a):
        self.t += 1
        s, r, d, info = super().step(a)
        return s, r, bool(d) or self.t >= self.n, {**info, "t": self.t}
class Normalise(Wrapper):
    def __init__(self, env): super().__init__(env); self.mean, self.count = jnp.zeros(2), 0
    def step(self, a):
        s, *rest = super().step(a)
        self.count += 1
        self.mean = self.mean + (s - self.mean) / self.count
        return (s - self.mean, *rest)
env, gain, n = Normalise(TimeLimit(Cart(), 5)), jnp.array([1.0, 0.5]), 0
---
s, done, ret = env.reset(), False, 0.0
while not done:
    s, r, done, info = env.step(-(gain @ s))
    ret = ret + r
print(info, env.count, env.dt, isinstance(env.unwrapped, Cart))
ret, env.mean, env.unwrapped.s
---
env.env.n = 3
---
env.unwrapped.dt = 0.3
---
gain = -gain * 3; env = TimeLimit(Cart(), 4); env.count, env.mean = "none", None

### rn-format-specs-fstring-debug-nested-fields-and-own-format-method
class Vec:
    def __init__(self, a): self.a = a
    def __format__(self, spec):
        unit, _, num = spec.rpartition("|")
        return f"[{', '.join(format(v, num or '.2f') for v in self.a.tolist())}]{unit}"
    def __matmul__(self, o): return self.a @ o.a
    def __rmul__(self, k): return Vec(k * self.a)
    def __str__(self): return f"{self:m|.1e}"
v, w, width, prec = Vec(jnp.array([1.0, -2.5])), Vec(jnp.array([0.5, 4.0])), 10, 3
---
dot = v @ w
line = f"{dot:>{width}.{prec}f}|{v:kg|+.1f}|{2 * w!s}"
print(line)
print(f"{dot = :.1f}", f"{width=}", "{0:{fill}^{n}}".format("x", fill="*", n=5), "%-6s|%05.1f" % ("ab", dot))
text = "\n".join(f"{k:<8}{float(x):>8,.2f}" for k, x in {"dot": dot * 1000, "norm": jnp.linalg.norm(v.a)}.items())
print(text)
dot, f"{jnp.int32(7):03d}", len(line)
---
prec = 1
---
v = 3 * v
---
width = 20; w = Vec(jnp.array([1e6, 0.0]))

### rn-chainmap-defaults-simple-namespace-and-typed-dict-config-merge
class TrainCfg(typing.TypedDict, total=False):
    lr: float
    decay: float
    clip: float | None
defaults: TrainCfg = {"lr": 0.1, "decay": 0.5, "clip": None}
profile, cli = {"clip": 0.5}, {}
def merged(*layers): return SimpleNamespace(**ChainMap(*layers))
w0, target = jnp.array([3.0, -3.0]), jnp.array([1.0, 1.0])
---
cfg = merged(cli, profile, defaults)
w = w0
for epoch in range(3):
    g = w - target
    if cfg.clip is not None:
        g = g * jnp.minimum(1.0, cfg.clip / jnp.linalg.norm(g))
    w = w - cfg.lr * cfg.decay ** epoch * g
    cfg.epoch = epoch
vars(cfg).setdefault("seen", []).append(epoch)
unknown = sorted(set(vars(cfg)) - set(TrainCfg.__annotations__))
print(unknown, sorted((k, v) for k, v in vars(cfg).items() if k in defaults))
w, cfg.seen
---
cli["lr"] = 0.5
---
profile["clip"] = None
---
del profile["clip"]; defaults["clip"] = 2.0

### rn-weak-key-cache-of-preconditioners-and-finalizers-counted
class Problem:
    def __init__(self, A): self.A = A
cache, closed = weakref.WeakKeyDictionary(), []
def precondition(p):
    if p not in cache:
        cache[p] = jnp.linalg.cholesky(p.A + 0.1 * jnp.eye(len(p.A)))
    return cache[p]
def solve(p, b):
    L = precondition(p)
    y = jax.scipy.linalg.solve_triangular(L, b, lower=True)
    return jax.scipy.linalg.solve_triangular(L.T, y)
p, q = Problem(jnp.diag(jnp.array([1.0, 2.0]))), Problem(jnp.array([[2.0, 0.5], [0.5, 1.0]]))
b = jnp.ones(2)
---
xs = [solve(k, b) for k in (p, q, p)]
sizes = len(cache)
resid = [jnp.linalg.norm(k.A @ x - b) for k, x in zip((p, q), xs)]
print(sizes, xs[0] is xs[2], p in cache)
jnp.stack(resid), cache[p]
---
p.A = p.A * 4; cache.pop(p)
---
b = jnp.array([1.0, -1.0])
---
q = Problem(jnp.eye(2))

### rn-rolling-deques-with-rotate-maxlen-and-extendleft-as-delay-lines
class Delay:
    def __init__(self, n, feedback): self.buf, self.feedback = deque([jnp.float32(0.0)] * n, maxlen=n), feedback
    def __call__(self, x):
        out = self.buf[0]
        self.buf.append(x + self.feedback * out)
        return out
class Comb(list):
    def __call__(self, x): return sum(d(x) for d in self) / len(self)
signal = [1.0, 0.0, 0.0, 0.5, 0.0, 0.0]
delays, tail = Comb([Delay(2, 0.5), Delay(3, 0.25)]), deque(maxlen=4)
---
wet = [delays(jnp.float32(s)) for s in signal]
tail.extendleft(wet[-2:])
tail.rotate(1)
mix = jnp.array([0.7 * s for s in signal]) + 0.3 * jnp.stack(wet)
energy = Counter({f"d{i}": round(float(sum(v * v for v in d.buf)), 4) for i, d in enumerate(delays)})
print(len(tail), energy.most_common(1)[0][0], [len(d.buf) for d in delays])
mix, jnp.stack(list(tail))
---
delays[0].feedback = 0.9
---
signal = signal[::-1]
---
delays.append(Delay(1, 0.0)); tail.clear()
""",
)
