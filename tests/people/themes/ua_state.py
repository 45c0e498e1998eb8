"""Objects that keep something between runs, and cells that fail after they have changed it."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, io, itertools, json, logging, math, operator, os, random
import sys, time, types, warnings, weakref
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
### ua-fails-after-a-ref-was-written
ref, x = jax.new_ref(jnp.zeros(2)), jnp.arange(2.0)
---
ref[...] += x
y = ref[...] * 2
z = y + jnp.ones(3)
---
x = jnp.zeros(3)

### ua-fails-after-a-ref-was-written-and-printed
ref, x, n = jax.new_ref(jnp.ones(3)), jnp.arange(3.0), 2
---
for i in range(n):
    ref[i] = ref[i] + x.sum()
    print(i, float(ref[i]))
if float(ref[0]) > limit:
    raise RuntimeError("too large")
---
limit = 100.0
---
limit = -1.0

### ua-fails-after-containers-of-all-kinds-were-changed
dq, od, ctr = collections.deque([jnp.ones(1), jnp.zeros(1)], 3), collections.OrderedDict(a=1, b=2), collections.Counter("aab")
dd, st, ba, sio = collections.defaultdict(lambda: jnp.zeros(2)), {1, 2}, bytearray(b"abc"), io.StringIO()
x = jnp.array([1.0, 2.0])
---
dq.rotate(1); dq.append(x * 2)
od.move_to_end("a"); ctr.subtract("a")
dd["new"] = dd["missing"] + x
st ^= {2, 9}
ba += b"d"; ba[0] = 122
sio.write("hello")
w = x @ jnp.ones((3, 1))
---
x = jnp.ones(3)

### ua-fails-in-a-method-after-class-level-registry-grew
class Layer:
    registry, count = [], 0
    def __init__(self, n):
        type(self).count += 1
        Layer.registry.append(self)
        self.w = jnp.ones((n, n)) * self.count
    def __call__(self, x):
        self.last = x
        y = x @ self.w
        if y.shape[0] != out: raise ValueError(f"layer {self.count}: {y.shape}")
        return y
out, x = 2, jnp.ones(2)
---
a = Layer(2)
y = a(x)
b = Layer(3)
z = b(jnp.concatenate([y, x[:1]]))
---
out = 3
---
x = jnp.ones(3)

### ua-keyboard-interrupt-caught-keeps-best-so-far
class Stopper:
    def __init__(self, at): self.at, self.i = at, 0
    def __call__(self):
        self.i += 1
        if self.i == self.at: raise KeyboardInterrupt
stop, w, best = Stopper(3), jnp.array([3.0, -2.0]), None
---
stop.i = 0
try:
    for epoch in range(10):
        l, g = jax.value_and_grad(lambda w: jnp.sum(w ** 2))(w)
        if best is None or l < best[0]: best = (l, w)
        w = w - 0.1 * g
        stop()
except KeyboardInterrupt:
    print(f"interrupted at epoch {epoch}, best {best[0]:.3f}")
finally:
    w = best[1]
w
---
stop.at = 5
---
best = None; w = jnp.ones(2) * 9

### ua-class-swapped-under-an-instance-and-method-patched
class Relu:
    def __init__(self, w): self.w = w
    def __call__(self, x): return jnp.maximum(x @ self.w, 0)
class Tanh(Relu):
    def __call__(self, x): return jnp.tanh(x @ self.w)
m, x = Relu(jnp.eye(2)), jnp.array([-1.0, 0.5])
---
a = m(x)
old = m.__class__
m.__class__ = Tanh if old is Relu else Relu
b = m(x)
m.extra = types.MethodType(lambda self, s: self.w * s, m)
c = m.extra(3.0)
print(old.__name__, type(m).__name__, isinstance(m, Relu))
a + b + c[0]
---
Tanh.__call__ = lambda self, x: jnp.sin(x @ self.w)
---
m.w = m.w * 2

### ua-weak-key-descriptor-storage-with-history
class Tracked:
    def __init__(self): self.data, self.hist = weakref.WeakKeyDictionary(), []
    def __set_name__(self, owner, name): self.name = name
    def __get__(self, obj, cls=None): return self if obj is None else self.data[obj]
    def __set__(self, obj, v):
        self.hist.append((self.name, getattr(v, "shape", None)))
        self.data[obj] = v
class P:
    w, b = Tracked(), Tracked()
    def __init__(self): self.w, self.b = jnp.ones((2, 2)), 0.5
p, x = P(), jnp.arange(2.0)
---
y = x @ p.w + p.b
p.w = p.w - 0.1 * jnp.outer(x, y)
p.b -= 0.1
print(len(P.w.hist), P.b.name, len(P.w.data), f"{p.b:.2f}")
y
---
q = P()
---
p.b = jnp.array([1.0, 2.0])

### ua-truthy-object-with-len-bool-contains-and-iadd
class Bag:
    def __init__(self): self.items = []
    def __iadd__(self, v): self.items.append(v); return self
    def __len__(self): return len(self.items)
    def __contains__(self, v): return any(bool(jnp.allclose(v, i)) for i in self.items)
    def __bool__(self): return bool(sum(i.sum() for i in self.items) > 3) if self.items else False
    def __str__(self): return f"Bag({', '.join(f'{float(i.sum()):.1f}' for i in self.items)})"
bag, x = Bag(), jnp.ones(2)
---
same = bag
bag += x
bag += x * 2
if bag:
    state = "full"
else:
    state = "light"
print(bag, state, x in bag, x * 7 in bag, same is bag, len(bag) % 2)
bag.items[-1] - bag.items[0]
---
bag.items.clear()
---
x = x * 0.1; bag = Bag()

### ua-cached-property-deleted-and-lru-cache-info-on-methods
class Kernel:
    def __init__(self, ls): self.ls, self.n = ls, 0
    @functools.cached_property
    def gram(self):
        self.n += 1
        return jnp.exp(-((X[:, None] - X[None]) ** 2) / self.ls)
    @functools.lru_cache(maxsize=4)
    def power(self, k): return jnp.linalg.matrix_power(self.gram, k)
X = jnp.arange(3.0); k = Kernel(2.0)
---
g = k.gram
first = "gram" in k.__dict__
p2, p2b = k.power(2), k.power(2)
info = Kernel.power.cache_info()
del k.gram
g2 = k.gram
print(first, p2 is p2b, g is g2, k.n % 2, info.maxsize, info.currsize)
p2 - g2
---
k.ls = 5.0; Kernel.power.cache_clear()
---
k = Kernel(1.0)

### ua-namedtuple-with-methods-make-replace-and-defaults
class Particle(NamedTuple):
    x: Any
    v: Any = 0.0
    alive: bool = True
    def kick(self, f, dt=0.1): return self._replace(v=self.v + f * dt, x=self.x + self.v * dt)
    @property
    def energy(self): return 0.5 * jnp.sum(self.v ** 2)
ps = [Particle(jnp.array([0.0, 1.0]), jnp.ones(2)), Particle(jnp.zeros(2))]
g = jnp.array([0.0, -9.8])
---
ps = [p.kick(g) for p in ps]
alive = [p for p in ps if p.alive and float(p.x[1]) > -0.5]
dead = [i for i, p in enumerate(ps) if p not in alive] if False else len(ps) - len(alive)
total = sum((p.energy for p in alive), start=jnp.zeros(()))
arr = Particle._make(jnp.stack(jnp.broadcast_arrays(*f)) if not isinstance(f[0], bool) else f for f in zip(*ps))
print(dead, arr._fields, arr.alive, arr.x.shape, type(ps[1]).__name__)
total
---
g = -g
---
ps.append(Particle(jnp.ones(2), alive=False))

### ua-chainmap-of-param-scopes-and-new-child-overrides
base = {"w": jnp.ones(2), "lr": 0.1}
scope = collections.ChainMap({}, base)
def fwd(s, x): return s["w"] * x + s.get("b", 0)
x = jnp.array([1.0, -1.0])
---
child = scope.new_child({"b": jnp.ones(2) * 0.5})
a, b = fwd(scope, x), fwd(child, x)
child["w"] = child["w"] * 2
child.maps[-1]["seen"] = base.get("seen", 0) + 1
c = fwd(child, x)
print(len(child.maps), list(child.maps[0]), "b" in scope, child.parents["w"] is base["w"], base["seen"] > 0)
a + b + c
---
base["w"] = base["w"] * 10
---
scope.maps[0]["w"] = jnp.zeros(2)

### ua-frozen-dataclass-set-in-post-init-and-replaced-in-loop cold
@dataclasses.dataclass(frozen=True)
class Sched:
    base: float
    warm: int = 2
    table: Any = dataclasses.field(init=False, repr=False, compare=False)
    def __post_init__(self):
        object.__setattr__(self, "table", jnp.minimum(jnp.arange(1, 6) / self.warm, 1.0) * self.base)
    def __call__(self, step): return self.table[min(step, 4)]
s, w, step = Sched(0.1), jnp.array([1.0, 2.0]), 0
---
for _ in range(3):
    w = w - s(step) * w
    step += 1
t = dataclasses.replace(s, warm=s.warm + 1)
try:
    s.base = 3
except dataclasses.FrozenInstanceError as e:
    print(type(e).__name__, e)
print(s == Sched(s.base, s.warm), t == s, s, hash(s) == hash(Sched(s.base, s.warm)))
w * t(0)
---
s = dataclasses.replace(s, base=0.3)
---
step = 0

### ua-own-writer-with-buffer-flushed-every-k-into-a-file
class Writer:
    def __init__(self, path, every): self.path, self.every, self.buf, self.flushed = path, every, [], 0
    def scalar(self, tag, v, step):
        self.buf.append(f"{tag},{step},{float(v):.3f}")
        if len(self.buf) >= self.every: self.flush()
    def flush(self):
        with open(self.path, "a") as f: f.write("\n".join(self.buf) + "\n")
        self.flushed += len(self.buf); self.buf.clear()
    def __enter__(self): return self
    def __exit__(self, *e): self.buf and self.flush()
w, step = jnp.array([2.0, 1.0]), 0
---
with Writer("log.csv", 2) as wr:
    for _ in range(3):
        l, g = jax.value_and_grad(lambda w: jnp.sum(jnp.cosh(w)))(w)
        w = w - 0.1 * g
        wr.scalar("loss", l, step)
        wr.scalar("gnorm", jnp.linalg.norm(g), step)
        step += 1
        if step % 2 == 0: wr.scalar("even", step, step)
n = sum(1 for _ in open("log.csv"))
print(wr.flushed, len(wr.buf), n)
w
---
w = w * 2
---
os.remove("log.csv"); step = 0

### ua-memoised-recursion-over-states-with-array-rewards
R = jnp.array([[1.0, 2.0, 0.5], [0.1, 4.0, 1.0], [2.0, 0.3, 1.5]])
calls = collections.Counter()
def solve(R):
    @functools.cache
    def best(i, j):
        calls[i, j] += 1
        if i == len(R) - 1: return R[i, j], (j,)
        opts = [best(i + 1, k) for k in (j - 1, j, j + 1) if 0 <= k < R.shape[1]]
        v, path = max(opts, key=lambda o: float(o[0]))
        return R[i, j] + v, (j, *path)
    return max((best(0, j) for j in range(R.shape[1])), key=operator.itemgetter(0))
---
calls.clear()
v, path = solve(R)
onpath = R[jnp.arange(3), jnp.array(path)]
print(path, max(calls.values()), len(calls))
v - onpath.sum()
---
R = R[::-1]
---
R = R.at[2, 2].set(50.0)

### ua-setattr-hook-logs-and-getattr-default-builds-lazily
class Lazy:
    def __init__(self): object.__setattr__(self, "_log", [])
    def __getattr__(self, k):
        if k.startswith("_"): raise AttributeError(k)
        v = jnp.full(2, float(len(k)))
        setattr(self, k, v)
        return v
    def __setattr__(self, k, v):
        self._log.append(("set", k))
        super().__setattr__(k, v)
    def __delattr__(self, k):
        self._log.append(("del", k))
        super().__delattr__(k)
o = Lazy()
---
s = o.alpha + o.bc
o.bc = o.bc * 2
del o.alpha
has = hasattr(o, "_private"), "alpha" in vars(o), "bc" in vars(o)
print(o._log[-4:], has, getattr(o, "_none", "dflt"))
s + o.bc
---
o.bc = jnp.zeros(2)
---
o = Lazy(); o.alpha = jnp.ones(2)

### ua-multi-branch-try-import-fallback-and-feature-flags
FLAGS = {"fast": True, "impl": None}
---
try:
    import not_a_real_module_xyz as fast
except ImportError as e:
    fast, FLAGS["impl"] = None, "slow"
    msg = e.name
else:
    FLAGS["impl"] = "fast"
soft = fast.softmax if fast else (lambda z: jnp.exp(z - z.max()) / jnp.exp(z - z.max()).sum())
p = soft(jnp.arange(3.0))
print(FLAGS, msg, soft.__name__)
del soft
p
---
FLAGS["fast"] = False

### ua-bank-of-oscillators-slots-class-with-total-ordering
@functools.total_ordering
class Osc:
    __slots__ = ("f", "phase", "amp")
    def __init__(self, f, amp=1.0): self.f, self.phase, self.amp = f, jnp.zeros(()), amp
    def __lt__(self, o): return self.f < o.f
    def __eq__(self, o): return isinstance(o, Osc) and self.f == o.f
    __hash__ = None
    def tick(self, n):
        t = self.phase + 2 * jnp.pi * self.f * jnp.arange(n) / 16
        self.phase = (t[-1] + 2 * jnp.pi * self.f / 16) % (2 * jnp.pi)
        return self.amp * jnp.sin(t)
bank, n = [Osc(3.0, 0.2), Osc(1.0), Osc(2.0, 0.5)], 4
---
bank.sort()
mix = sum(o.tick(n) for o in bank)
lo, hi = min(bank), max(bank)
try:
    {lo}
except TypeError as e:
    print(e)
print([o.f for o in bank], lo <= hi, lo == Osc(1.0), bank.index(Osc(2.0)))
mix
---
bank[0].amp = 3.0
---
n = 6; bank.append(Osc(0.5))
""",
)
