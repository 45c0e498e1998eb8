"""Small forms as they stand in training notebooks: loops, closures, counters, configs and states."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, enum, functools, io, itertools, json, math, operator, os, pickle, random, time, types
from collections import Counter, OrderedDict, defaultdict, deque
from functools import partial, reduce, wraps
from typing import NamedTuple
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([1.0, -2.0, 3.0, 0.5]); w = jnp.array([0.5, 0.25]); n = jnp.array([3, 1, 2]); lr = 0.1; steps = 4; flag = False
"""

CELLS = written(
    PRELUDE,
    r"""
### ya-f-while-tolerance-with-counter
---
v, it = 1.0, 0
while abs(v * v - 2) > 1e-3:
    v = float(jnp.asarray(0.5 * (v + 2 / v))); it += 1
y = x * v
---
x = x + 1
---
x = jnp.arange(3)

### ya-f-while-else-with-jax-test
---
r, c = jnp.float32(8.0), 0
while r > 1:
    r = r / 2; c += 1
    if c > steps: break
else:
    c = -c
---
steps = 2
---
steps = 9

### ya-f-for-else-found-index
---
for i, v in enumerate(x):
    if v < 0: break
else:
    i = None
y = x if i is None else x.at[i].set(0)
---
x = jnp.abs(x)
---
x = -x

### ya-f-batched-islice-in-walrus-while
---
it = iter(range(7)); out = []
while batch := list(itertools.islice(it, 3)):
    out.append(jnp.array(batch).sum() * lr)
---
lr = 1
---
lr = jnp.float32(2)

### ya-f-generator-loader-closed-over-seed
seed = 0
def loader(k):
    r = np.random.default_rng(seed)
    for _ in range(k): yield jnp.asarray(r.integers(0, 5, 2))
---
tot = sum(b @ w for b in loader(steps))
---
seed = 3
---
steps = 0

### ya-f-zip-longest-of-batches
---
y = [jnp.sum(a if b is None else a * b) for a, b in itertools.zip_longest(x, w)]
---
w = x * 2
---
w = w[:0]

### ya-f-nonlocal-in-step
def make():
    c = 0
    def step(p):
        nonlocal c
        c += 1
        return p - lr * p, c
    return step
step = make()
---
w2, c = step(w)
---
step = make()
---
lr = 0.5

### ya-f-nonlocal-array-state
def make(z):
    def push(v):
        nonlocal z
        z = 0.9 * z + v
        return z
    return push
push = make(jnp.zeros(4))
---
a = push(x); b = push(x)
---
x = x * 2
---
push = make(1.0)

### ya-f-global-in-helper-counts
calls = 0
def f(v):
    global calls
    calls += 1
    return v * calls
---
y = f(f(x))
---
calls = 0
---
calls = True

### ya-f-callable-class-state
class Ema:
    def __init__(s, d): s.d, s.v = d, None
    def __call__(s, v):
        s.v = v if s.v is None else s.d * s.v + (1 - s.d) * v
        return s.v
ema = Ema(0.9)
---
y = ema(x)
---
ema.v = None
---
ema = Ema(1)
---
ema.d = 0.5

### ya-f-dataclass-replace-in-loop
@dataclasses.dataclass(frozen=True)
class S:
    p: object
    t: int = 0
st = S(w)
---
for _ in range(steps): st = dataclasses.replace(st, p=st.p * 0.9, t=st.t + 1)
---
st = S(w + 1, t=10)
---
steps = 1

### ya-f-namedtuple-state-method
class St(NamedTuple):
    p: object
    m: object = 0.0
    def up(self, g): return self._replace(p=self.p - lr * g, m=0.9 * self.m + g)
st = St(w)
---
st = st.up(st.p * 2)
st = St(*st)
---
st = St(w)
---
lr = 1

### ya-f-dict-of-dict-params-sgd
params = {"a": {"w": w, "b": 0.0}, "c": {"w": x}}
---
params = {k: {kk: vv - lr * vv for kk, vv in d.items()} for k, d in params.items()}
---
params["c"]["b"] = jnp.ones(())
---
del params["a"]

### ya-f-setdefault-grow-history
hist = {}
---
hist.setdefault("loss", []).append(float((x ** 2).mean()))
y = x / len(hist["loss"])
---
hist.clear()
---
x = x[:1]

### ya-f-counter-of-argmax
---
cnt = Counter(int(jnp.argmax(x * s)) for s in (1, -1, 2))
top = cnt.most_common(1)[0]
y = x * top[1]
---
x = -x

### ya-f-defaultdict-of-lists-stacked
---
d = defaultdict(list)
for i, v in enumerate(x): d[i % 2].append(v)
y = {k: jnp.stack(v).sum() for k, v in d.items()}
---
x = jnp.arange(5)
---
x = x[:1]

### ya-f-deque-maxlen-kept
q = deque(maxlen=3)
---
q.append(x.mean()); m = sum(q) / len(q)
---
q.clear()
---
q = deque(q, maxlen=1)

### ya-f-set-of-tuples-of-ints
---
seen = set()
for i in n: seen.add((int(i), int(i) % 2))
y = x * len(seen)
---
n = n.at[0].set(1)
---
seen = None; n = jnp.array([5])

### ya-f-enum-config-match
class Act(enum.Enum): RELU = "relu"; TANH = "tanh"
act = Act.RELU
---
match act:
    case Act.RELU: y = jax.nn.relu(x)
    case Act.TANH: y = jnp.tanh(x)
    case _: y = x
---
act = Act.TANH
---
act = "relu"
---
act = Act("relu")

### ya-f-intenum-as-axis
class Ax(enum.IntEnum): ROW = 0; COL = 1
ax = Ax.ROW
---
y = jnp.outer(x, w).sum(axis=ax); z = x * ax
---
ax = Ax.COL
---
ax = 1

### ya-f-flag-enum-options
class O(enum.Flag): NONE = 0; ABS = 1; SQ = 2
o = O.ABS
---
y = x
if O.ABS in o: y = abs(y)
if o & O.SQ: y = y ** 2
---
o |= O.SQ
---
o = O.NONE

### ya-f-match-mapping-rest
cfg = {"kind": "sgd", "lr": 0.1, "mom": 0.9}
---
match cfg:
    case {"kind": "sgd", "lr": float(r), **rest}: y, k = x - r * x, rest
    case {"kind": "sgd", "lr": int(r)}: y, k = x * r, "int"
    case {"kind": name}: y, k = x, name
---
cfg["lr"] = 2
---
cfg["lr"] = True
---
cfg = {"kind": "adam"}

### ya-f-match-sequence-star-guard
layers = [4, 8, 2]
---
match layers:
    case [a, *mid, b] if a > b: y = jnp.zeros((a, b)) + len(mid)
    case [a, b]: y = jnp.ones((a, b))
    case _: y = None
---
layers.insert(1, 16)
---
layers = [1, 2]
---
layers = [1]

### ya-f-star-nested-unpack
tree = (1, (x, w), {"k": n})
---
a, (b, *c), d = tree
(e, *_), f = b, [*c, *d.values()]
---
tree = (2, (x, w, n), {})
---
tree = (2, [x * 1], {"z": w})

### ya-f-walrus-in-comprehension-filter
---
y = [s for v in x if (s := v * 2) > 0]
---
x = x + 2
---
x = -jnp.abs(x)

### ya-f-del-in-loop-and-pop
ps = {"a": x, "b": w, "c": n}
---
for k in [k for k, v in ps.items() if v.size < 3]: del ps[k]
y = ps.pop("c", jnp.zeros(1)).sum()
---
ps["c"] = n * 2
---
ps = {"b": w}

### ya-f-lambda-dict-dispatch
ops = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}
op = "add"
---
y = ops[op](x, 2.0)
---
op = "mul"
---
ops["mul"] = lambda a, b: a - b

### ya-f-late-binding-in-loop-then-called
---
fs = []
for i in range(3): fs.append(lambda v: v * i)
y = [f(x) for f in fs]
---
x = x + 1

### ya-f-default-binding-in-loop
---
fs = {k: (lambda v, k=k: v ** k) for k in range(1, steps)}
y = sum(f(x) for f in fs.values())
---
steps = 3
---
steps = 1

### ya-f-partial-of-jit-with-kw
@partial(jax.jit, static_argnames="k")
def f(v, k, s=1.0): return v * k * s
g = partial(f, k=2)
---
y = g(x); z = g(x, s=lr)
---
g = partial(f, k=3, s=lr)
---
g.keywords["k"] = 5

### ya-f-operator-reduce
ops = [operator.add, operator.mul, operator.sub]
---
y = [reduce(o, x) for o in ops]
y.append(operator.itemgetter(0, -1)(x))
---
ops.pop()
---
ops = [operator.truediv]

### ya-f-accumulate-with-initial
---
y = list(itertools.accumulate(x, lambda a, b: 0.5 * a + b, initial=lr))
---
lr = 1
---
x = x[:1]

### ya-f-count-calls-decorator
def counted(f):
    @wraps(f)
    def g(*a, **k):
        g.calls += 1
        return f(*a, **k)
    g.calls = 0
    return g
@counted
def loss(p): return (p ** 2).sum()
---
v, g = jax.value_and_grad(loss)(w)
print(loss.calls, f"{v:.3f}")
---
loss.calls = 0
---
@counted
def loss(p): return p.sum()

### ya-f-decorator-with-list-log
log = []
def logged(f):
    def g(v):
        r = f(v); log.append((f.__name__, r.shape)); return r
    return g
---
@logged
def dbl(v): return v * 2
y = dbl(dbl(x))
---
log.clear()
---
x = x[:2]

### ya-f-context-manager-scales
class Scale:
    cur = 1.0
    def __init__(s, k): s.k = k
    def __enter__(s): s.old, Scale.cur = Scale.cur, s.k; return s
    def __exit__(s, *e): Scale.cur = s.old
k = 2.0
---
with Scale(k) as sc: y = x * Scale.cur
z = x * Scale.cur
---
k = 3
---
Scale.cur = jnp.float32(7)

### ya-f-context-manager-swallows
class Ig:
    def __enter__(s): s.hit = None; return s
    def __exit__(s, t, e, tb): s.hit = t and t.__name__; return t is ValueError
---
with Ig() as g:
    y = x.sum()
    if y > 2: raise ValueError
    y = y + 100
---
x = -x
---
x = jnp.abs(x) + 3

### ya-f-retry-loop
tries = []
def flaky(v):
    tries.append(1)
    if len(tries) % 3: raise RuntimeError("again")
    return v * len(tries)
---
for a in range(5):
    try: y = flaky(x)
    except RuntimeError as e: continue
    else: break
---
tries.clear()
---
x = x + 1

### ya-f-custom-error-with-value
class Diverged(Exception):
    def __init__(s, step, loss): super().__init__(f"step {step}: {loss:.2f}"); s.step, s.loss = step, loss
lim = 5.0
---
try:
    for t in range(steps):
        l = jnp.sum(x ** 2) * t
        if l > lim: raise Diverged(t, l)
    msg = "ok"
except Diverged as d:
    msg, at, val = str(d), d.step, d.loss
---
lim = 1e9
---
lim = 20

### ya-f-finally-resets
busy = False
def go(v):
    global busy
    busy = True
    try: return v / (v.size - 3)
    finally: busy = False
---
y = go(x)
---
x = x[:3]
---
x = x[:2]

### ya-f-raise-from-caught
---
try:
    try: {}["k"]
    except KeyError as e: raise ValueError(f"bad {x.shape}") from e
except ValueError as e:
    m = f"{e} <- {e.__cause__!r}"
y = x * len(m)
---
x = x[:1]

### ya-f-bool-int-float-config
mult = True
---
y = x * mult; t = type(mult).__name__
---
mult = 1
---
mult = 1.0
---
mult = np.float64(1)
---
mult = np.bool_(True)
---
mult = jnp.bool_(True)

### ya-f-int-float-mixing-in-loop
---
acc = 0
for i in range(3): acc = acc + i * x[i] if i else acc + 1
z = acc // 2, acc % 2, acc ** 2
---
x = n
---
x = x.astype(jnp.bfloat16)

### ya-f-where-chain
lo, hi = -1, 2
---
y = jnp.where(x < lo, lo, jnp.where(x > hi, hi, x)); z = jnp.select([x < lo, x > hi], [lo, hi], 0)
---
lo = -1.0
---
x = n; hi = 2
---
lo, hi = True, False

### ya-f-custom-vjp-clip
@jax.custom_vjp
def clip(v, c): return v
def fwd(v, c): return v, c
def bwd(c, g): return jnp.clip(g, -c, c), None
clip.defvjp(fwd, bwd)
c = 0.5
---
g = jax.grad(lambda v: (clip(v, c) ** 2).sum())(x)
---
c = 2
---
bwd = lambda c, g: (g * 0, None)
clip.defvjp(fwd, bwd)

### ya-f-custom-jvp-closure
@jax.custom_jvp
def f(v): return jnp.sqrt(jnp.abs(v))
@f.defjvp
def _(p, t): return f(p[0]), k * t[0]
k = 2.0
---
y, g = jax.vmap(jax.value_and_grad(f))(x)
---
k = 3.0
---
k = 3

### ya-f-scan-with-closure-config
cfg = {"d": 0.9}
---
def body(c, v): return c * cfg["d"] + v, c
c, ys = lax.scan(body, 0.0, x)
---
cfg["d"] = 0.5
---
cfg["d"] = jnp.float32(1)
---
cfg = {"d": x[0]}

### ya-f-vmap-over-dict
ps = {"a": x, "b": n[:1].repeat(4)}
---
y = jax.vmap(lambda p: p["a"] * p["b"])(ps); z = jax.vmap(lambda p, s: p["a"] + s, in_axes=({"a": 0, "b": None}, None))(ps, lr)
---
ps["b"] = jnp.ones(4)
---
lr = 1

### ya-f-vmap-seeds
---
y = {s: float(jax.random.normal(jax.random.key(s), ()).round(3)) for s in range(3)}
z = jax.vmap(lambda s: jax.random.uniform(jax.random.key(s)))(jnp.arange(steps))
---
steps = 2

### ya-f-fold-in-of-python-step
key = jax.random.key(0); step = 0
---
k = jax.random.fold_in(key, step); step += 1
y = jax.random.normal(k, (2,))
---
step = 0
---
key = jax.random.PRNGKey(1)

### ya-f-list-comp-over-jit
@jax.jit
def f(v): return v * lr
---
y = [f(v) for v in (x, w, n)]
---
lr = 2
@jax.jit
def f(v): return v * lr
---
x = x[:2]

### ya-f-fstring-kinds
---
s = f"{x[0]:.2f}|{x.sum()!r}|{n[0]}|{lr=}|{x.shape=}|{w.dtype!s:>10}|{float(x[1]):+e}"
print(s)
---
x = n; lr = 1
---
lr = jnp.float32(1)

### ya-f-string-join-of-values
---
s = " ".join("%.1f" % v for v in x) + "\n" + "-" * int(n.max())
---
n = n + 2
---
x = x[:0]

### ya-f-sort-keys-by-array
ms = {"b": x, "a": w, "c": n}
---
order = sorted(ms, key=lambda k: ms[k].mean()); best = max(ms, key=lambda k: float(ms[k].max()))
y = ms[best] * 2
---
ms["a"] = w + 10
---
del ms["b"]

### ya-f-sort-tuples-array-tie
---
pairs = sorted([(int(i), v) for i, v in zip(n, x)], key=lambda p: p[0], reverse=True)
y = jnp.stack([v for _, v in pairs])
---
n = n[::-1]
---
n = n[:1]

### ya-f-min-with-default-over-generator
---
b = min((v for v in x if v > lr), default=None)
y = x if b is None else x - b
---
lr = 99
---
lr = -99.0

### ya-f-any-all-short-circuit
trace = []
def t(v): trace.append(1); return v
---
r = any(t(v) < 0 for v in x), all(t(v) > 0 for v in x)
y = x * len(trace)
---
trace.clear(); x = jnp.abs(x)

### ya-f-ternary-chain-on-loss
---
l = (x ** 2).mean()
grade = "bad" if l > 5 else "ok" if l > 1 else "good"
y = x * {"bad": 0, "ok": 1, "good": 2}[grade]
---
x = x * 0.1
---
x = x * 0 + 1.5

### ya-f-chained-method-fluent
class Tr:
    def __init__(s): s.p, s.log = w, []
    def step(s, k=1): s.p = s.p * k; s.log.append(k); return s
    def __len__(s): return len(s.log)
tr = Tr()
---
y = tr.step(2).step().p; ln = len(tr)
---
tr = Tr()
---
tr.log.clear()

### ya-f-property-lr-schedule cold
class Opt:
    def __init__(s): s.t = 0
    @property
    def lr(s): return 0.1 if s.t < 2 else 0.01
    def __call__(s, p): p = p - s.lr * p; s.t += 1; return p
opt = Opt()
---
w = opt(w)
---
opt.t = 0
---
Opt.lr = property(lambda s: 1 / (1 + s.t))

### ya-f-schedule-as-callable-or-number
sched = 0.1
---
r = sched(3) if callable(sched) else sched
y = x * r
---
sched = lambda t: 0.5 ** t
---
sched = 1
---
sched = partial(lambda t, b: jnp.float32(b) / t, b=2)

### ya-f-grad-accum-add-none
acc = None
---
g = jax.grad(lambda p: (p ** 2).sum())(w)
acc = g if acc is None else jax.tree.map(jnp.add, acc, g)
---
acc = None
---
w = {"k": w} if not isinstance(w, dict) else w
w = w["k"] * 2; acc = jnp.zeros(2, jnp.bfloat16)

### ya-f-mixed-precision-cast-tree
ps = {"w": x, "i": n, "s": 2.0}
---
half = jax.tree.map(lambda a: a.astype(jnp.bfloat16) if hasattr(a, "dtype") and jnp.issubdtype(a.dtype, jnp.floating) else a, ps)
y = (half["w"] * half["s"]).dtype.name
---
ps["s"] = jnp.float32(2)
---
ps["w"] = n

### ya-f-npz-ckpt-flat
ps = {"a": {"w": w}, "b": x}
---
np.savez("c.npz", **{jax.tree_util.keystr(k): v for k, v in jax.tree_util.tree_leaves_with_path(ps)})
z = np.load("c.npz"); back = {k: jnp.asarray(z[k]) for k in z.files}
tot = sum(v.sum() for v in back.values())
---
ps["c"] = n
---
ps = {"only": w * 2}

### ya-f-pickle-state-bytes
st = {"p": w, "t": 0}
---
st = pickle.loads(pickle.dumps(st)); st["t"] += 1; st["p"] = st["p"] * 2
---
st["p"] = n
---
st = {"p": 1.0, "t": 5}

### ya-f-deepcopy-best
best, bl = None, float("inf"); ps = {"w": w}
---
ps["w"] = ps["w"] * 0.9; l = float((ps["w"] ** 2).sum())
if l < bl: best, bl = copy.deepcopy(ps), l
---
bl = 0
---
ps["w"] = ps["w"] * -5; bl = float("inf")

### ya-f-fake-clock-budget cold
class Clock:
    def __init__(s): s.t = 0
    def __call__(s): s.t += 0.3; return s.t
clock = Clock(); budget = 1.0
---
t0, k, y = clock(), 0, x
while clock() - t0 < budget: y = y * 2; k += 1
---
budget = 2
---
clock = Clock()
---
clock = iter(range(100)).__next__

### ya-f-aux-dict-outputs
def loss(p, b): e = p * b[:2]; return (e ** 2).sum(), {"mae": jnp.abs(e).mean(), "n": b.size}
---
(l, aux), g = jax.value_and_grad(loss, has_aux=True)(w, x)
aux["loss"] = l
---
x = x[:3]
---
def loss(p, b): return p.sum(), (b, 1, "s")

### ya-f-numpy-accumulator-in-place
buf = np.zeros(3)
---
buf[1:] += np.asarray(w); buf[0] = x.sum()
y = jnp.asarray(buf) * lr
---
buf[:] = 0
---
buf = np.zeros(3, int)

### ya-f-numpy-index-jax-and-back
idx = np.array([2, 0]); arr = np.arange(8.0).reshape(4, 2)
---
a = x[idx]; b = arr[n]; c = arr[np.asarray(n) > 1]; d = x[arr[:, 0] > 2]
---
idx = idx[:1]
---
arr = arr[::-1] * 1
---
n = jnp.array([0, 0])

### ya-f-np-append-concatenate-history cold
h = np.empty((0, 2), np.float32)
---
h = np.vstack([h, w]); m = jnp.asarray(h).mean(0)
---
h = h[:1]
---
w = n[:2]

### ya-f-reset-list-slice-assign
buf = [x, w]
---
buf[:] = [b * 2 for b in buf]; last = buf[-1]
---
buf[1:] = [n]
---
buf.reverse()

### ya-f-two-names-one-list
a = [w]; b = a
---
b.append(a[-1] * 2); m = len(a)
---
b = list(a)
---
a = b = []
a.append(x)

### ya-f-tuple-plus-equal-and-dict-or
t = (w,); d = {"a": x}
---
t += (t[-1] + 1,); d |= {f"k{len(d)}": t[-1]}
---
t = (w,)
---
d = {}

### ya-f-global-config-module-like
cfg = types.SimpleNamespace(lr=0.1, act=jnp.tanh, debug=False)
def fwd(v):
    if cfg.debug: print("in", v.shape)
    return cfg.act(v) * cfg.lr
---
y = fwd(x)
---
cfg.debug = True
---
cfg.act = jax.nn.relu; cfg.lr = 2
---
del cfg.debug; cfg.__dict__.update(debug=0)

### ya-f-class-var-config-inherit
class Base: lr = 0.1; act = staticmethod(jnp.sin)
class Big(Base): lr = 1
C = Big
---
y = C.act(x) * C.lr + getattr(C, "bias", 0)
---
Base.bias = 2.5
---
del Big.lr
---
C = Base

### ya-f-frozenset-of-frozen-names
fz = frozenset({"b"}); ps = {"a": w, "b": x}
---
ps = {k: v if k in fz else v * 0.5 for k, v in ps.items()}
---
fz = frozenset()
---
fz = {"a", "b"}

### ya-f-ordered-dict-move
od = OrderedDict(a=w, b=x)
---
od.move_to_end("a", last=False) if flag else od.move_to_end("b", last=False)
y = next(iter(od.values())) + 1
---
flag = True
---
od = OrderedDict(b=n, a=w)

### ya-f-iterator-of-keys-continued
def keys(s):
    k = jax.random.key(s)
    while True:
        k, a = jax.random.split(k); yield a
ks = keys(0)
---
y = jax.random.normal(next(ks), (2,))
---
ks = keys(0)
---
ks = iter([jax.random.key(5)])

### ya-f-random-module-choice-of-fn
random.seed(1)
---
f = random.choice([jnp.sin, jnp.cos, jnp.tanh]); y = f(x)
---
random.seed(1)

### ya-f-np-shuffle-order-list cold
r = np.random.RandomState(0); order = list(range(4))
---
r.shuffle(order); y = x[jnp.array(order)]
---
r = np.random.RandomState(0); order.sort()

### ya-f-early-return-helper-by-value
def fit(v, tol):
    for i in range(20):
        nv = v * 0.7
        if jnp.abs(nv - v).max() < tol: return nv, i
        v = nv
    return v, None
tol = 0.2
---
y, it = fit(x, tol)
---
tol = 0
---
tol = 100

### ya-f-bisection-with-function-arg
def bis(f, a, b):
    while b - a > 1e-2:
        m = (a + b) / 2
        a, b = (a, m) if f(m) > 0 else (m, b)
    return m
---
r = bis(lambda t: jnp.asarray(t) ** 2 - w.sum(), 0.0, 2.0)
---
w = w * 3
---
bis = lambda f, a, b: f(a)

### ya-f-loss-print-every-n
every = 2
@jax.jit
def step(p): return p - lr * p, (p ** 2).sum()
---
p = w
for t in range(1, steps + 1):
    p, l = step(p)
    if not t % every: print(t, f"{l:.4f}")
---
every = 3
---
steps, every = 3, 1
---
lr = jnp.array([0.1, 0.2]); step = jax.jit(lambda p: (p - lr * p, p.sum()))

### ya-f-end-flush-progress
---
for i, v in enumerate(x): print(f"\r{i}:{v:.1f}", end="", flush=True)
print(); print(*n, sep=",")
---
x = x[:2]

### ya-f-return-many-with-underscore
def stats(v): return v.mean(), v.std(), v.min(), v.max()
---
mu, sd, *_ = stats(x); z = (x - mu) / (sd + 1e-6)
_
---
x = n
---
stats = lambda v: (v[0], v[1])

### ya-f-conditional-def
---
if flag:
    def g(v): return v + 1
else:
    def g(v): return v - 1
y = g(x)
---
flag = True
---
flag = jnp.array(False)
---
flag = []

### ya-f-class-redefined-instance-old
class M:
    def f(s, v): return v * 2
m = M()
---
y = m.f(x); ok = isinstance(m, M)
---
class M:
    def f(s, v): return v * 3
---
m = M()
---
m.f = lambda v: v * 4

### ya-f-getitem-dataset-for-loop
class Ds:
    def __init__(s, a): s.a = a; s.reads = 0
    def __getitem__(s, i):
        if i >= len(s.a): raise IndexError
        s.reads += 1; return s.a[i]
ds = Ds(x)
---
y = [v * 2 for v in ds]; r = ds.reads
---
ds = Ds(n)
---
ds.a = ds.a[:1]

### ya-f-iter-two-arg-sentinel
q = deque([1, 2, 0, 3])
---
y = [x * k for k in iter(q.popleft, 0)] if 0 in q else None
---
q.extend([5, 0])
---
q = deque([0])

### ya-f-map-starmap-pairs
---
y = list(itertools.starmap(jnp.add, zip(x, n))); z = list(map(pow, x, n))
---
n = n * 1.0
---
n = jnp.array([2])

### ya-f-groupby-labels
lab = ["a", "a", "b", "a"]
---
y = {f"{k}{i}": sum(x[j] for j, _ in g) for i, (k, g) in enumerate(itertools.groupby(enumerate(lab), key=lambda t: t[1]))}
---
lab.sort()
---
lab = lab[:1]

### ya-f-product-grid-best
grid = {"lr": [0.1, 1], "k": [2, 3]}
---
res = {tuple(c): float(((x * c[0]) ** c[1]).sum()) for c in itertools.product(*grid.values())}
best = dict(zip(grid, min(res, key=res.get)))
---
grid["k"] = [2.0]
---
grid["lr"].append(-1)

### ya-f-pairwise-and-chunk-reshape
---
d = [b - a for a, b in itertools.pairwise(x)]
*rows, = x.reshape(-1, 2) if x.size % 2 == 0 else x[None]
---
x = jnp.arange(3)

### ya-f-getattr-activation-name
name = "relu"
---
y = getattr(jax.nn, name, None) or getattr(jnp, name)
y = y(x)
---
name = "sin"
---
name = "gelu"

### ya-f-int-enum-loop-and-auto
class Ph(enum.Enum):
    WARM = enum.auto(); MAIN = enum.auto()
    @property
    def scale(self): return {Ph.WARM: 0.1, Ph.MAIN: 1}[self]
---
y = {p.name: x * p.scale for p in Ph}
---
class Ph(enum.Enum):
    WARM = 1; MAIN = 2; END = 3
    scale = property(lambda self: self.value / 2)

### ya-f-assert-finite-in-helper
def chk(v, where):
    assert jnp.isfinite(v).all(), f"nan at {where}: {v}"
    return v
---
try: y = chk(jnp.log(x + 3), "log")
except AssertionError as e: y = str(e)
---
x = x - 5
---
chk = lambda v, where: v

### ya-f-kwargs-forwarded-and-popped
kw = dict(scale=2.0, bias=1, verbose=False)
def f(v, *, scale=1, **rest): return v * scale + rest.pop("bias", 0), rest
---
y, rest = f(x, **kw)
---
kw["bias"] = 1.5
---
kw.pop("scale")
---
kw = {"axis": 0, "bias": w[0]}

### ya-f-closure-reads-name-bound-later
def f(v): return v * later
---
later = x.sum()
y = f(x)
later = later + 1
z = f(x)
---
x = n
---
def f(v): return later - v

### ya-f-try-except-else-missing-attr cold
class P: pass
p = P()
---
try: p.count += 1
except AttributeError: p.count = 0; p.w = w
else: p.w = p.w * 2
---
del p.count
---
p.w = n

### ya-f-hasattr-lazy-init
class L:
    def __call__(s, v):
        if not hasattr(s, "k"): s.k = jnp.ones(v.shape)
        s.k = s.k * 0.5
        return v * s.k
l = L()
---
y = l(x)
---
l = L()
---
x = x[:2]
---
del l.k

### ya-f-fancy-slice-objects
sl = slice(1, None)
---
a = x[sl]; b = x[..., None][sl, 0]; c = x.at[sl].add(lr)
---
sl = slice(None, None, -1)
---
sl = np.s_[::2]
---
sl = 2

### ya-f-float-of-string-config
raw = "lr=0.2,k=3"
---
c = {k: (int(v) if v.isdigit() else float(v)) for k, v in (p.split("=") for p in raw.split(","))}
y = x ** c["k"] * c["lr"]
---
raw = "lr=1,k=3"
---
raw = "lr=1e0,k=2.0"

### ya-f-nested-function-two-levels
def outer(p):
    t = 0
    def mid(v):
        nonlocal t
        def inner(u):
            nonlocal t
            t += 1
            return u * p
        return inner(inner(v))
    r = mid(x)
    return r, t
---
y, t = outer(lr)
---
lr = 2
---
lr = w[0]

### ya-f-augmented-attr-and-item
class B: pass
b = B(); b.v = w; b.d = {"k": 1}
---
b.v += 1; b.d["k"] *= 2; b.v -= b.d["k"]
---
b.d["k"] = 1.0
---
b.v = np.zeros(2)
---
b.v = 5
""",
)
