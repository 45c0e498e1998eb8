"""State around cells: classes, closures, caches, identities, callbacks, contexts, exceptions, generators, patched modules."""

from ..cell import written

PRELUDE = """
import functools, dataclasses, typing, pathlib, json, math, collections, itertools, operator, copy, pickle, weakref, contextlib, warnings, logging, random
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.linspace(0.0, 1.0, 6)
"""

CELLS = written(
    PRELUDE,
    r"""
### nst-layer-counts-its-calls
class Layer:
    instances = 0
    def __init__(self, n):
        type(self).instances += 1
        self.w, self.calls, self.seen = jnp.full(n, 0.5), 0, []
    def __call__(self, v):
        self.calls += 1
        self.seen.append(v.shape)
        return jnp.tanh(self.w * v)
layers = [Layer(6), Layer(6)]
---
h = x
for layer in layers:
    h = layer(h)
if Layer.instances < 4:
    layers.append(Layer(6))
grad = jax.grad(lambda v: layers[0](v).sum())(x)
[l.calls for l in layers], Layer.instances, h.sum()
---
layers = layers[:1]
---
Layer.instances = 0

### nst-cached-property-of-dataset
class Data:
    def __init__(self, raw):
        self.raw, self.computed = raw, 0
    @functools.cached_property
    def stats(self):
        self.computed += 1
        return {"mean": self.raw.mean(), "std": self.raw.std()}
    @functools.cached_property
    def normed(self):
        return (self.raw - self.stats["mean"]) / self.stats["std"]
data = Data(x)
---
z = data.normed * 2
again = data.normed
same = again is data.normed
print(sorted(vars(data)), data.computed)
same
---
data.raw = x + 5
---
data.__dict__.pop("normed"); data.__dict__.pop("stats")

### nst-lru-cache-of-kernels-by-size
@functools.lru_cache(maxsize=None)
def dct_matrix(n):
    k = np.arange(n)
    return np.cos(np.pi / n * (k[None] + 0.5) * k[:, None]).astype(np.float32)
@functools.cache
def twiddle(n):
    return tuple(float(math.cos(2 * math.pi * i / n)) for i in range(n))
n = 6
---
D = dct_matrix(n)
coefs = jnp.asarray(D) @ x[:n]
weights = jnp.array(twiddle(n))
back = D.T @ (coefs * weights)
D is dct_matrix(n), dct_matrix.cache_info().currsize, coefs[0]
---
n = 4
---
n = 6
twiddle.cache_clear()

### nst-callable-registry-by-object
class Op:
    def __init__(self, name, fn): self.name, self.fn = name, fn
    def __repr__(self): return f"Op({self.name})"
    def __hash__(self): return hash(self.name)
    def __eq__(self, other): return isinstance(other, Op) and self.name == other.name
ops = [Op("sq", jnp.square), Op("neg", operator.neg), Op("cum", jnp.cumsum)]
memo, order = {}, []
---
val = x
for op in ops:
    if (op, len(order) % 2) not in memo:
        memo[op, len(order) % 2] = op.fn(val)
    val = memo[op, len(order) % 2]
    order.append(op)
print(memo.keys() == {(o, i % 2) for i, o in enumerate(order[:3])}, order[-1])
val.sum()
---
memo.clear(); order = []
---
ops.append(Op("sq", lambda v: v * 100))

### nst-aliased-params-and-inplace-update
shared = {"emb": jnp.ones((3, 2))}
model = {"enc": shared, "dec": shared, "head": jnp.ones(2)}
views = [model["enc"]["emb"], model["dec"]["emb"]]
---
def loss(m):
    return jnp.sum((m["enc"]["emb"] @ m["head"]) ** 2) + jnp.sum(m["dec"]["emb"])
g = jax.grad(loss)(model)
model["enc"]["emb"] = model["enc"]["emb"] - 0.1 * (g["enc"]["emb"] + g["dec"]["emb"])
tied = model["dec"]["emb"] is model["enc"]["emb"]
stale = views[0] is model["enc"]["emb"]
views.append(model["dec"]["emb"])
tied, stale, len({id(v) for v in views})
---
model = copy.deepcopy(model)
---
model["dec"] = dict(model["dec"])

### nst-deepcopy-of-model-vs-alias
class Net:
    def __init__(self):
        self.params = [jnp.ones(6), jnp.zeros(6)]
        self.ema = self.params
        self.hooks = {"post": lambda v: v * 2}
net = Net()
---
snap = copy.deepcopy(net)
shallow = copy.copy(net)
net.params[0] = net.params[0] * 0.5 + x
net.params = [p + 1 for p in net.params]
rows = (snap.params[0].sum(), shallow.params is net.ema, shallow.ema is shallow.params, snap.ema is snap.params)
print(rows[1:], snap.hooks["post"] is net.hooks["post"])
out = net.hooks["post"](snap.params[0] - net.ema[0])
---
net.ema = [p * 0 for p in net.params]
---
net.hooks["post"] = jnp.sort

### nst-pickle-roundtrip-of-own-class
class Agent:
    def __init__(self, w):
        self.w, self.log = w, []
    def __getstate__(self):
        return {"w": np.asarray(self.w), "n": len(self.log)}
    def __setstate__(self, s):
        self.w, self.log = jnp.asarray(s["w"]), [None] * s["n"]
agent = Agent(x)
---
agent.w = agent.w * 0.9 + 0.1
agent.log.append(agent.w.max())
blob = pickle.dumps(agent.__getstate__())
other = Agent(None)
other.__setstate__(pickle.loads(blob))
blob = len(blob)
len(other.log), bool(jnp.all(other.w == agent.w)), other.w is agent.w
---
agent.log = []

### nst-weakref-listeners
class Bus:
    def __init__(self): self._subs = weakref.WeakSet()
    def add(self, s): self._subs.add(s)
    def fire(self, v): return sum(s.on(v) for s in sorted(self._subs, key=lambda s: s.tag))
class Sub:
    def __init__(self, tag): self.tag, self.total = tag, jnp.zeros(())
    def on(self, v):
        self.total = self.total + v.sum() * self.tag
        return self.total
bus, subs = Bus(), {t: Sub(t) for t in (1, 2)}
for s in subs.values():
    bus.add(s)
---
r = bus.fire(x)
late = Sub(3)
bus.add(late)
r2 = bus.fire(x * 2)
ref = weakref.ref(late)
alive = ref() is late
len(bus._subs), alive, r2
---
subs.pop(2)

### nst-nonlocal-closure-bank
def bank():
    bal, trace = jnp.zeros(()), []
    def deposit(v):
        nonlocal bal
        bal = bal + jnp.sum(v)
        trace.append(len(trace))
        return bal
    def report(fmt="{:.2f}"):
        return fmt.format(bal) + f" after {len(trace)}"
    return deposit, report
deposit, report = bank()
---
deposit(x)
for k in range(2):
    last = deposit(x * k)
line = report()
print(line)
last
---
deposit, report = bank()
---
x = x - 10

### nst-global-config-dict-module
import types, sys
settings = types.ModuleType("settings_of_nb")
settings.SCALE, settings.HOOKS, settings.calls = 2.0, [], 0
def forward(v):
    settings.calls += 1
    out = v * settings.SCALE
    for h in settings.HOOKS:
        out = h(out)
    return out
---
y = forward(x)
dy = jax.vmap(jax.grad(lambda s: forward(s)))(x)
settings.last = y
settings.calls, y.sum()
---
settings.SCALE = 3
---
settings.HOOKS.append(jnp.sin)
---
settings.HOOKS[:] = [lambda v: v ** 2]

### nst-monkeypatched-activation
class Net:
    act = staticmethod(jax.nn.relu)
    def __init__(self): self.w = jnp.array([1.0, -1.0, 2.0, 0.5, 0.0, -3.0])
    def __call__(self, v): return self.act(self.w * v).sum()
net = Net()
orig = Net.act
---
base = net(x)
Net.act = staticmethod(lambda v: jnp.where(v > 0, v, 0.1 * v))
try:
    leaky = net(x)
finally:
    Net.act = staticmethod(orig)
net.act = jnp.abs
absd = net(x)
del net.act
(base, leaky, absd), Net.act is orig
---
net.w = -net.w
---
Net.act = staticmethod(jnp.tanh); orig = Net.act

### nst-context-manager-scoped-values
class Scope:
    stack = []
    def __init__(self, **kw): self.kw = kw
    def __enter__(self):
        Scope.stack.append(self)
        return self
    def __exit__(self, *exc):
        Scope.stack.pop()
        return exc[0] is KeyError
    @classmethod
    def get(cls, k, default=None):
        for s in reversed(cls.stack):
            if k in s.kw:
                return s.kw[k]
        return default
def layer(v): return v * Scope.get("gain", 1.0) + Scope.get("bias", 0.0)
gain = 2.0
---
a = layer(x)
with Scope(gain=gain):
    b = layer(x)
    with Scope(bias=a.mean(), gain=jnp.float32(3)) as inner:
        c = layer(x)
        missing = inner.kw["nope"]
    d = layer(c)
print(len(Scope.stack), "missing" in globals())
(a + b + d).sum()
---
gain = jnp.array(0.5)
---
Scope.stack.append(Scope(bias=100.0))

### nst-exitstack-of-callbacks
events = []
def step(v, fail):
    with contextlib.ExitStack() as st:
        st.callback(events.append, ("closed", v.shape))
        st.enter_context(contextlib.suppress(FloatingPointError))
        w = jnp.cumsum(v)
        events.append(("sum", w[-1]))
        if fail:
            raise FloatingPointError("bad")
        return w
    return -v
fail = False
---
out = step(x, fail)
events.append(("type", type(events[-1]).__name__))
kinds = [e[0] for e in events]
kinds[-3:], out
---
fail = True
---
events.clear(); x = x[:3]

### nst-exceptions-with-retry
class Transient(RuntimeError): pass
attempts = {"n": 0}
def flaky(v):
    attempts["n"] += 1
    if attempts["n"] % 3:
        raise Transient(f"try {attempts['n']}")
    return v * attempts["n"]
def retry(f, times=4):
    @functools.wraps(f)
    def run(*a):
        errs = []
        for _ in range(times):
            try:
                return f(*a), errs
            except Transient as e:
                errs.append(e)
        raise errs[-1]
    return run
---
val, errs = retry(flaky)(jnp.sin(x))
texts = [str(e) for e in errs]
print(texts, attempts)
val
---
attempts["n"] = 2

### nst-shape-errors-caught-as-probe
candidates = [(6,), (5, 6), (4,), (2, 3)]
W = jnp.ones((6, 2))
good, bad = {}, {}
---
for shape in candidates:
    try:
        good[shape] = (jnp.ones(shape) @ W + x.mean()).sum()
    except (TypeError, ValueError) as e:
        bad[shape] = type(e).__name__
        msg = str(e).splitlines()[0]
sorted(good), bad, len(msg) > 0
---
W = jnp.ones((4, 2))
---
candidates.pop(); bad.clear()

### nst-generator-pipeline-with-state
class Augment:
    def __init__(self, seed): self.rng, self.n = np.random.default_rng(seed), 0
    def __call__(self, it):
        for item in it:
            self.n += 1
            yield item + self.rng.normal(scale=0.1, size=item.shape).astype(np.float32)
def batched(it, n):
    buf = []
    for item in it:
        buf.append(item)
        if len(buf) == n:
            yield np.stack(buf)
            buf = []
    if buf:
        yield np.stack(buf)
source = [np.full(3, i, np.float32) for i in range(5)]
aug = Augment(0)
w = jnp.zeros(3)
---
sizes = []
for b in batched(aug(iter(source)), 2):
    sizes.append(len(b))
    w = w + jnp.mean(b, 0)
print(sizes, aug.n)
w
---
source = source[:2]
---
aug = Augment(1)

### nst-generator-kept-half-consumed
def stream():
    i = 0
    while True:
        got = yield jnp.sin(x * i) if i % 2 else x + i
        i = i + 1 if got is None else got
it = stream()
---
first = next(it)
second = next(it)
jumped = it.send(7)
total = first + second + jumped
total.sum()
---
it.send(2)
---
it = stream()

### nst-iterator-class-with-jax-key
class Batches:
    def __init__(self, key, n, total):
        self.key, self.n, self.total, self.i = key, n, total, 0
    def __iter__(self): return self
    def __len__(self): return self.total
    def __next__(self):
        if self.i >= self.total:
            self.i = 0
            raise StopIteration
        self.i += 1
        self.key, k = jax.random.split(self.key)
        return self.i, jax.random.normal(k, (self.n,))
batches = Batches(jax.random.key(0), 4, 3)
m = jnp.zeros(4)
---
for i, b in batches:
    m = 0.9 * m + 0.1 * b
tail = [float(b.max()) > -10 for _, b in zip(range(2), batches)]
batches.i, len(batches), m
---
batches.total = 2; batches.i = 0

### nst-pure-callback-lookup
table = {0: 1.5, 1: -2.0, 2: 0.25}
hits = collections.Counter()
def lookup(idx):
    for i in np.asarray(idx).ravel():
        hits[int(i)] += 1
    return np.vectorize(table.get, otypes=[np.float32])(idx)
def emb(idx):
    return jax.pure_callback(lookup, jax.ShapeDtypeStruct(idx.shape, jnp.float32), idx, vmap_method="expand_dims")
idx = jnp.array([0, 2, 1, 2])
---
e = emb(idx)
total = jnp.dot(e, jnp.arange(float(len(e))))
jitted = jax.jit(lambda i: emb(i).sum() * 2)(idx)
seen = sorted(hits)
total, jitted, seen
---
table[1] = 100.0
---
idx = idx[:2]

### nst-io-callback-ordered-log
from jax.experimental import io_callback
rows = []
def record(i, v):
    rows.append((int(i), round(float(v), 3)))
@jax.jit
def run(v):
    def body(i, v):
        v = v * 0.5 + i
        io_callback(record, None, i, v.sum(), ordered=True)
        return v
    return lax.fori_loop(0, 3, body, v)
---
out = run(x)
jax.effects_barrier()
n = len(rows)
print(rows[-1], n)
out.mean()
---
rows.clear()
---
x = x * 4

### nst-debug-print-inside-and-outside
def newton(f, v, n=3):
    for i in range(n):
        fx, d = jax.value_and_grad(f)(v)
        v = v - fx / d
        jax.debug.print("it {i}: {v:.5f}", i=i, v=v)
    return v
c = 2.0
---
root = newton(lambda v: v * v - c, jnp.float32(1.0))
print("root", f"{root:.4f}")
jax.debug.print("all {}", x[:2])
jax.effects_barrier()
---
c = 9.0

### nst-custom-jvp-with-python-branch
@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def clipped(v, mode):
    return jnp.clip(v, 0.2, 0.8) if mode == "hard" else jax.nn.sigmoid(4 * v - 2)
@clipped.defjvp
def _(mode, primals, tangents):
    (v,), (t,) = primals, tangents
    used.append(mode)
    return clipped(v, mode), t * (1.0 if mode == "hard" else 0.5)
used, mode = [], "hard"
---
y = clipped(x, mode)
g = jax.grad(lambda v: clipped(v, mode).sum())(x)
H = jax.jacfwd(lambda v: clipped(v, mode))(x)
len(used) > 0, used[-1], g, jnp.trace(H)
---
mode = "soft"
---
used.clear(); x = x * 2

### nst-custom-vjp-clip-gradient
@jax.custom_vjp
def clip_grad(lo, hi, v): return v
def fwd(lo, hi, v): return v, (lo, hi)
def bwd(res, g):
    lo, hi = res
    return None, None, jnp.clip(g, lo, hi)
clip_grad.defvjp(fwd, bwd)
lo, hi = -0.1, 0.1
---
f = lambda v: jnp.sum(jnp.exp(3 * clip_grad(lo, hi, v)))
val, g = jax.value_and_grad(f)(x)
out, pull = jax.vjp(f, x)
(gg,) = pull(jnp.float32(0.001))
bool((g <= hi).all()), gg, pull(out)[0].max()
---
hi = 2.0
---
lo, hi = jnp.float32(-1), jnp.float32(5)

### nst-scan-with-dict-carry-and-none
def body(c, t):
    c = {"pos": c["pos"] + 0.1 * c["vel"], "vel": c["vel"] - 0.1 * c["pos"], "extra": None}
    return c, {"e": c["pos"] ** 2 + c["vel"] ** 2, "t": t}
carry = {"pos": jnp.ones(2), "vel": jnp.zeros(2), "extra": None}
ts = None
---
carry, logs = lax.scan(body, carry, ts, length=None if ts is not None else 4)
drift = logs["e"][-1] - logs["e"][0]
rev, _ = lax.scan(body, carry, jnp.arange(3), reverse=True)
logs["t"] is None, carry["extra"] is None, drift
---
ts = jnp.arange(3.0)

### nst-while-loop-collatz-many
def collatz(n):
    def cond(s): return s[0] != 1
    def body(s):
        n, k = s
        return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), k + 1
    return lax.while_loop(cond, body, (n, 0))[1]
starts = jnp.arange(1, 8)
best = {}
---
steps = jax.vmap(collatz)(starts)
worst = int(starts[steps.argmax()])
best[len(best)] = worst
for n, s in zip(starts.tolist(), steps.tolist()):
    if s > 10:
        print(n, "takes", s)
type(worst).__name__, steps.dtype
---
starts = jnp.array([27, 97])
---
starts = starts.astype(jnp.uint32)

### nst-array-in-sets-and-dict-by-id
pool = [x, x + 1, x]
seen, names = set(), {}
---
uniq = []
for a in pool:
    if id(a) not in seen:
        seen.add(id(a))
        uniq.append(a * 2)
names = {id(a): i for i, a in enumerate(pool)}
try:
    {x}
    hashable = True
except TypeError as e:
    hashable = str(e)
n_seen, where = len(seen), names[id(x)]
seen.clear()
del names
len(uniq), n_seen, where, hashable, pool[0] is pool[2]
---
seen.clear(); pool.append(jnp.array(x))
---
seen.clear(); pool[2] = pool[1]

### nst-object-array-of-jax-arrays
cells = np.empty((2, 2), dtype=object)
for i, j in np.ndindex(2, 2):
    cells[i, j] = jnp.full(2, float(i + 2 * j))
---
for i, j in np.ndindex(cells.shape):
    cells[i, j] = cells[i, j] * 0.5 + x[:2]
total = cells.sum()
row = np.frompyfunc(lambda a: float(a.sum()), 1, 1)(cells)
diag = [cells[i, i] for i in range(2)]
diag[0] is cells[0, 0], row.dtype, total
---
cells[0, 1] = cells[1, 1]
---
cells = cells[:1]

### nst-warnings-once-and-filters
def scale(v, k):
    if k < 0:
        warnings.warn(f"negative scale {k}", UserWarning, stacklevel=2)
    return v * k
ks = [1, -2]
---
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    out = sum(scale(x, k) for k in ks)
texts = [str(w.message) for w in caught]
print(texts, caught[-1].category.__name__ if caught else None)
del caught
with warnings.catch_warnings():
    warnings.simplefilter("error")
    try:
        scale(x, -1)
    except UserWarning as e:
        kind = repr(e)
kind, out.sum()
---
ks = [3]
---
ks = [-1, -1, -1]

### nst-decorated-with-timing-and-count
calls = collections.defaultdict(list)
def traced(fn=None, *, tag=None):
    if fn is None:
        return functools.partial(traced, tag=tag)
    @functools.wraps(fn)
    def inner(*a, **k):
        calls[tag or fn.__name__].append(len(a))
        out = fn(*a, **k)
        inner.last = out.shape
        return out
    inner.last = None
    return inner
@traced
def f(v): return jnp.cos(v)
@traced(tag="gg")
def g(v, w=2.0): return f(v) * w
---
y = g(x) + f(x)
dy = jax.jacrev(g)(x)
kept = f.last is not None
{k: len(v) for k, v in calls.items()}, g.last if kept else None, dy.trace()
---
calls.clear()
---
f.last = g.last = None
x = x[:2]

### nst-property-setter-validates
class Param:
    def __init__(self, v): self._v, self.version = v, 0
    @property
    def value(self): return self._v
    @value.setter
    def value(self, new):
        if new.shape != self._v.shape:
            raise ValueError(f"shape {new.shape} is not {self._v.shape}")
        self._v = new
        self.version += 1
p = Param(x)
---
p.value = p.value * 2
try:
    p.value = p.value[:3]
    err = None
except ValueError as e:
    err = str(e)
p.value += 1
p.version, err, p.value is p._v
---
p = Param(jnp.ones((2, 2)))

### nst-namedtuple-and-pytree-class-mixed
@jax.tree_util.register_pytree_node_class
class Pair:
    made = 0
    def __init__(self, a, b, tag="t"):
        Pair.made += 1
        self.a, self.b, self.tag = a, b, tag
    def tree_flatten(self): return (self.a, self.b), self.tag
    @classmethod
    def tree_unflatten(cls, tag, kids):
        obj = object.__new__(cls)
        obj.a, obj.b = kids
        obj.tag = tag
        return obj
class S(typing.NamedTuple):
    p: Pair
    n: int = 0
s = S(Pair(x, 1.0))
---
s = S(jax.tree.map(lambda v: v * 2, s.p), s.n + 1)
doubled = jax.jit(lambda s: jax.tree.map(jnp.add, s, s))(s)
flat = jax.tree.leaves(doubled)
Pair.made, doubled.p.tag, type(doubled.n).__name__, type(s.p.b).__name__, len(flat)
---
s = s._replace(p=Pair(x, jnp.ones(2), tag="u"))
---
s = S(Pair([x, x], None))

### nst-dispatch-by-type-of-leaf
@functools.singledispatch
def describe(v): return "other"
@describe.register
def _(v: jax.Array): return f"jax{v.shape}"
@describe.register
def _(v: np.ndarray): return f"np{v.shape}"
@describe.register(float)
@describe.register(int)
def _(v): return type(v).__name__
tree = {"a": x, "b": np.ones(2), "c": 1.5, "d": [3, None, True]}
---
tree["a"] = jnp.sqrt(tree["a"])
tree["b"] = tree["b"] * 2
tree["e"] = tree["a"][0] * tree["c"]
kinds = jax.tree.map(describe, tree)
print(kinds)
leaves = len(jax.tree.leaves(tree, is_leaf=lambda v: v is None))
leaves
---
tree["c"] = np.float32(2.5)
---
tree["d"] = x[:1]

### nst-list-mutations-while-building
queue_ = [jnp.float32(i) for i in (5, 3, 8)]
done = []
---
while queue_:
    item = queue_.pop(0)
    half = item / 2
    done.append(half)
    if half > 2:
        queue_.append(half)
done.sort(key=float, reverse=True)
del done[3:]
queue_.extend(done[:2])
[f"{v:.2f}" for v in done], len(queue_)
---
done = []

### nst-dict-order-and-setdefault
metrics = {}
---
for name, fn in [("max", jnp.max), ("l2", jnp.linalg.norm), ("max", jnp.min)]:
    metrics.setdefault(name, []).append(fn(x))
metrics["l2"] = metrics.pop("l2")
merged = metrics | {"n": sum(map(len, metrics.values()))}
means = {k: jnp.mean(jnp.stack(v)) for k, v in merged.items() if k != "n"}
list(merged), merged["max"] is metrics["max"], means
---
metrics["extra"] = [x[0]]
---
metrics = dict.fromkeys(["l2", "max"])
metrics["l2"], metrics["max"] = [], []

### nst-lazy-init-on-first-call
class Lazy:
    def __init__(self, out): self.out, self.w, self.built = out, None, False
    def build(self, n):
        self.w = jax.random.normal(jax.random.key(n), (n, self.out))
        self.built = True
    def __call__(self, v):
        if not self.built:
            self.build(v.shape[-1])
        if self.w.shape[0] != v.shape[-1]:
            self.build(v.shape[-1])
        return v @ self.w
lazy = Lazy(2)
---
h = lazy(x)
n_params = lazy.w.size
h2 = lazy(jnp.concatenate([x, x])) if n_params > 100 else None
lazy.w = lazy.w - 0.01 * jax.grad(lambda w: jnp.sum((x @ w) ** 2))(lazy.w)
n_params, lazy.built, h
---
lazy.built = False
---
x = jnp.arange(4.0)

### nst-enum-flags-select-terms
import enum
class Term(enum.Flag):
    DATA = enum.auto()
    SMOOTH = enum.auto()
    BOUND = enum.auto()
active = Term.DATA | Term.SMOOTH
history = {}
u = x
---
def energy(u):
    e = jnp.float32(0)
    if Term.DATA in active:
        e += jnp.sum((u - jnp.sin(3 * x)) ** 2)
    if active & Term.SMOOTH:
        e += jnp.sum(jnp.diff(u) ** 2)
    if Term.BOUND in active:
        e += u[0] ** 2 + u[-1] ** 2
    return e
e, g = jax.value_and_grad(energy)(u)
u = u - 0.2 * g
history.setdefault(active, []).append(float(e))
print(active, len(history), history[active][-1] > 0)
---
active |= Term.BOUND
---
active = Term(0)
""",
)
