"""More cells of tired people: what a notebook looks like at midnight, with Python's odd corners next to arrays."""

from ..cell import written

PRELUDE = """
import abc, ast, asyncio, bisect, builtins, collections, contextlib, contextvars, copy, dataclasses, datetime, decimal, difflib, dis
import enum, functools, gc, hashlib, inspect, io, itertools, json, logging, math, numbers, operator, os, pickle, queue, random, re
import signal, statistics, string, struct, sys, tempfile, textwrap, threading, time, timeit, tracemalloc, traceback, types, typing
import unittest, uuid, warnings, weakref
from collections import ChainMap, Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache, partial, reduce, wraps
from pathlib import Path
from types import MappingProxyType, MethodType, SimpleNamespace
from unittest import mock
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-mock-patch-a-helper-and-assert-calls
class Trainer:
    def __init__(self, w): self.w, self.n = w, 0
    def grad(self, x): return jax.grad(lambda w: jnp.sum((x * w - 1) ** 2))(self.w)
    def step(self, x): self.w = self.w - 0.1 * self.grad(x); self.n += 1; return self.w
tr, x, fake = Trainer(jnp.ones(2)), jnp.array([1.0, 2.0]), jnp.array([0.5, 0.5])
---
with mock.patch.object(tr, "grad", return_value=fake) as g:
    a = tr.step(x)
    b = tr.step(x * 2)
g.assert_called()
print(g.call_count, len(g.call_args.args), "grad" in vars(tr))
with mock.patch.object(Trainer, "grad", autospec=True, side_effect=lambda self, x: x * self.n) as g2:
    c = tr.step(x)
real = tr.step(x)
print(g2.called, tr.n, isinstance(tr.grad, types.MethodType))
del g, g2
a, b, c, real
---
fake = jnp.zeros(2)
---
tr.n = 10; x = x / 4

### sn-unittest-case-run-inside-the-cell
def normalize(v): return v / jnp.linalg.norm(v)
x = jnp.array([3.0, 4.0])
---
class T(unittest.TestCase):
    def setUp(self): self.v = x
    def test_unit(self): self.assertAlmostEqual(float(jnp.linalg.norm(normalize(self.v))), 1.0, places=4)
    def test_dir(self): np.testing.assert_allclose(normalize(self.v * 2), normalize(self.v), rtol=1e-5)
    def test_zero(self): self.assertFalse(bool(jnp.isnan(normalize(jnp.zeros(2))).any()), "nan for zero")
    @unittest.skip("later")
    def test_later(self): pass
stream = io.StringIO()
res = unittest.TextTestRunner(stream=stream, verbosity=0).run(unittest.defaultTestLoader.loadTestsFromTestCase(T))
n_fail, n_run, n_skip = len(res.failures), res.testsRun, len(res.skipped)
bad = [t.id().split(".")[-1] for t, _ in res.failures]
del res, stream, T
print(n_run, n_fail, n_skip, bad)
normalize(x)
---
def normalize(v): return v / jnp.maximum(jnp.linalg.norm(v), 1e-6)
---
x = jnp.array([1e-9, 0.0])

### sn-timeit-and-number-of-calls-inside
calls = []
def f(x): calls.append(1); return (x @ x).sum()
x, number = jnp.eye(3), 3
---
calls.clear()
t = timeit.timeit(lambda: f(x).block_until_ready(), number=number)
best = min(timeit.repeat("f(x)", globals=globals(), number=2, repeat=2))
ok = t >= 0 and best >= 0
y = f(x * 2)
del t, best
print(ok, len(calls))
y
---
number = 1
---
x = jnp.ones((2, 2))

### sn-tracemalloc-and-gc-stats-around-a-loop
xs = [jnp.ones(10) * i for i in range(4)]
---
gc.collect()
was = gc.isenabled()
gc.disable()
try:
    acc = jnp.zeros(10)
    keep = []
    for x in xs:
        acc = acc + x
        keep.append(weakref.ref(x))
finally:
    if was: gc.enable()
alive = sum(r() is not None for r in keep)
del keep
print(was, gc.isenabled(), alive, gc.get_threshold()[0] > 0, len(gc.get_count()))
acc.sum()
---
xs.append(jnp.ones(10))
---
xs = xs[:1]

### sn-error-chain-from-and-context-notes
def load(cfg): return cfg["w"] @ cfg["x"]
def run(cfg):
    try:
        return load(cfg)
    except KeyError as e:
        raise RuntimeError(f"config incomplete: {e}") from e
    except TypeError as e:
        e.add_note(f"w={cfg['w'].shape} x={cfg['x'].shape}")
        raise
cfg = {"w": jnp.ones((2, 3))}
---
out = info = None
try:
    out = run(cfg)
except RuntimeError as e:
    info = (type(e.__cause__).__name__, e.__context__ is e.__cause__, e.__suppress_context__, str(e))
except TypeError as e:
    info = (e.__notes__, e.__cause__ is None)
else:
    info = "ok"
print(info)
out
---
cfg["x"] = jnp.ones(4)
---
cfg["x"] = jnp.ones(3)

### sn-loop-else-try-finally-return-order
order = []
def risky(i, x):
    try:
        order.append(f"try{i}")
        if i == stop: return x / 0.0
        return x * i
    finally:
        order.append(f"fin{i}")
x, stop, cap = jnp.array([1.0, -1.0]), 2, 4
---
order.clear()
for i in range(cap):
    y = risky(i, x)
    if jnp.isinf(y).any():
        order.append("break")
        break
    if i % 2: continue
    order.append("even")
else:
    order.append("else")
print(order, i)
y
---
stop = 99
---
cap = 0; x = x + 1

### sn-sentinel-defaults-mutable-default-trap-and-kwargs
_missing = object()
def collect(x, seen=[], *, tag=_missing, **extra):
    seen.append(x)
    return len(seen), (None if tag is _missing else tag), sorted(extra)
x = jnp.arange(2.0)
---
r1 = collect(x)
r2 = collect(x + 1, tag="a", z=1, y=2)
own = []
r3 = collect(x * 2, own, tag=None)
print(r1, r2, r3, len(collect.__defaults__[0]), own[0] is collect.__defaults__[0][-1])
total = sum(collect.__defaults__[0])
if len(collect.__defaults__[0]) > 5:
    collect.__defaults__[0].clear()
total, own
---
x = x * 10
---
collect.__defaults__ = ([x],)

### sn-dict-keyed-by-id-shape-dtype-and-arrays-in-sets
bank = {}
def key_of(a): return (a.shape, str(a.dtype), a.weak_type)
xs = [jnp.ones(2), jnp.ones(2), jnp.zeros((2, 1)), jnp.asarray(1.0), jnp.int8(3)]
---
bank.clear()
for a in xs:
    bank.setdefault(key_of(a * 2), []).append(a)
try:
    s = {xs[0]}
except TypeError as e:
    s = str(e)[:30]
by_id = {id(a): i for i, a in enumerate(xs)}
where = [by_id.get(id(a)) for group in bank.values() for a in group]
inside = xs[1] in [xs[1]], any(a is xs[0] for a in xs)
del by_id
print(list(bank), where, s, inside)
try:
    xs.index(xs[2] + 0)
except (ValueError, TypeError) as e:
    print(type(e).__name__)
{k: sum(v) for k, v in bank.items()}
---
xs.append(xs[0])
---
xs = [x.astype(jnp.float16) for x in xs]

### sn-numbers-abc-isinstance-zoo-of-scalars
vals = [1, True, 2.5, np.float32(1), np.int64(2), np.array(3), jnp.float32(4), jnp.array(5), 1j, "6", jnp.array([7.0])]
def kind(v):
    if isinstance(v, bool): return "bool"
    if isinstance(v, numbers.Integral): return "int"
    if isinstance(v, numbers.Real): return "real"
    if isinstance(v, np.generic): return "npscalar"
    if isinstance(v, jax.Array): return "jax0" if v.ndim == 0 else "jax"
    if isinstance(v, np.ndarray): return "np"
    return type(v).__name__
scale = 2
---
doubled = [v * scale for v in vals]
kinds = [kind(v) for v in vals], [kind(v) for v in doubled]
for v, d in zip(vals, doubled):
    print(type(v).__name__, "->", type(d).__name__, np.ndim(d) if not isinstance(d, str) else d)
print(jnp.isscalar(vals[6]), np.isscalar(vals[6]), jnp.ndim(3), operator.index(vals[7]), [1, 2, 3, 4, 5, 6][vals[7]], round(vals[6]), int(vals[-1][0]))
kinds, list(range(vals[7]))[-1], "ab" * int(vals[7])
---
scale = jnp.int32(3)
---
vals[7] = jnp.array(2); scale = 1

### sn-format-mini-language-of-array-scalars
acc, loss, n, z = jnp.float32(0.98765), jnp.array(1234.5), jnp.int32(42), jnp.complex64(1 + 2j)
---
rows = [("acc", acc, ".2%"), ("loss", loss, ",.1f"), ("n", n, "05d"), ("n", n, "#x"), ("loss", loss, "10.3e")]
for name, v, spec in rows:
    print(f"{name:<6}|{v.item():{spec}}|{format(v.item(), spec)}|")
print(f"{acc:.3f} {loss:8.2f} {n} {z} {acc!s} {n!r}")
print("%.2f %d %s" % (acc, n, loss), "{0:.1f} {1}".format(loss, n), str(acc)[:4])
s = f"{acc + 1:.2f}" + f"{float(loss):g}"
d = decimal.Decimal(str(round(float(acc), 3)))
s, d + 1, json.dumps({"acc": round(float(acc), 3), "n": int(n)}), hex(n), bin(n), f"{jnp.ones(2)}"
---
acc = acc / 3
---
n = n * 100; loss = -loss

### sn-pickle-copy-roundtrip-of-objects-with-arrays
@dataclass
class State:
    w: jax.Array
    log: list = field(default_factory=list)
    fn: object = jnp.tanh
    def __getstate__(self): d = dict(vars(self)); d["w"] = np.asarray(d["w"]); d["stamp"] = "v1"; return d
    def __setstate__(self, d): d.pop("stamp"); d["w"] = jnp.asarray(d["w"]); self.__dict__.update(d)
s = State(jnp.arange(3.0))
---
s.w = s.fn(s.w)
s.log.append(len(s.log))
c1 = copy.copy(s)
c2 = copy.deepcopy(s)
c1.log.append("c1")
c2.w = c2.w + 1
blob = pickle.dumps(np.asarray(s.w))
back = jnp.asarray(pickle.loads(blob))
print(s.log[-1], c2.log, c1.log is s.log, c1.w is s.w, c2.fn is jnp.tanh, bool((back == s.w).all()), type(c2.w).__name__)
s.log.pop()
c2.w - s.w
---
s.fn = jnp.sin
---
s.w = s.w.astype(jnp.bfloat16); s.log = []

### sn-threads-pool-map-with-lock-and-results-in-order
from concurrent.futures import ThreadPoolExecutor
lock, done = threading.Lock(), []
def work(i, x):
    y = jnp.sum(jnp.sin(x * i))
    with lock:
        done.append(i)
    return y
x, n = jnp.linspace(0, 1, 4), 3
---
done.clear()
with ThreadPoolExecutor(2) as ex:
    ys = list(ex.map(partial(work, x=x), range(n)))
tl = threading.local()
tl.v = ys[-1]
total = jnp.stack(ys).sum()
names = sorted(done)
del tl
done.sort()
print(names, threading.current_thread() is threading.main_thread(), len(ys))
total
---
n = 5
---
x = -x

### sn-contextvars-tokens-and-copied-contexts
precision = contextvars.ContextVar("precision", default=1.0)
def scaled(x): return jnp.round(x * precision.get()) / precision.get()
x, p = jnp.array([0.126, 0.987]), 100.0
---
a = scaled(x)
tok = precision.set(p)
b = scaled(x)
ctx = contextvars.copy_context()
precision.reset(tok)
c = ctx.run(scaled, x * 2)
d = scaled(x * 2)
print(precision.get(), ctx[precision], tok.var is precision, tok.old_value is contextvars.Token.MISSING)
del ctx, tok
a, b, c, d
---
p = 10
---
x = x + 5

### sn-dunder-getattr-module-level-simple-namespace-plugin
ns = SimpleNamespace(lr=0.1, net=SimpleNamespace(w=jnp.ones(3), act=jnp.tanh), hooks=[])
ro = MappingProxyType(vars(ns))
def attach(obj, f): setattr(obj, f.__name__, MethodType(f, obj)); return f
x = jnp.arange(3.0)
---
@partial(attach, ns.net)
def forward(self, x):
    return self.act(self.w * x)
ns.hooks.append(lambda y: y.sum())
y = ns.net.forward(x)
vals = [h(y) for h in ns.hooks]
path = "net.w"
got = operator.attrgetter(path)(ns)
try:
    ro["lr"] = 3
except TypeError as e:
    print(e)
ns.hooks[:] = ns.hooks[-1:]
print(got is ns.net.w, ro["lr"], sorted(vars(ns.net)), len(ns.hooks), forward is None, ns == SimpleNamespace(**vars(ns)))
vals
---
ns.net.act = jnp.cos
---
ns.net.w = got * 2; ns.lr = 5

### sn-class-getitem-call-overload-init-subclass-plugins-super
class Base(abc.ABC):
    registry: dict = {}
    def __init_subclass__(cls, /, scale=1.0, **kw): super().__init_subclass__(**kw); cls.scale = scale; Base.registry[cls.__name__] = cls
    def __init__(self, w): self.w = w
    @abc.abstractmethod
    def f(self, x): ...
    def __call__(self, x): return self.scale * self.f(x)
    def __rshift__(self, o): return Chain(self, o)
class A(Base, scale=2.0):
    def f(self, x): return x + self.w
class B(A):
    def f(self, x): return super().f(x) ** 2
class Chain(Base):
    def __init__(self, *ls): super().__init__(None); self.ls = ls
    def f(self, x): return reduce(lambda v, l: l(v), self.ls, x)
    def __iter__(self): return iter(self.ls)
    def __contains__(self, k): return any(isinstance(l, k) for l in self.ls)
x, w = jnp.array([1.0, 2.0]), 0.5
---
net = A(w) >> B(w * 2) >> A(jnp.float32(w))
y = net(x)
try:
    Base(1)
except TypeError as e:
    print(str(e)[:35])
g = jax.grad(lambda v: net(v).sum())(x)
print(sorted(Base.registry), A in net, [type(l).__name__ for l in net], B.scale, B.__mro__[1].__name__)
y, g
---
A.scale = 1.0
---
w = jnp.array([1.0, -1.0]); B.scale = 3

### sn-log-of-exp-and-x-minus-x-where-it-overflows
x = jnp.array([1.0, 100.0, -200.0])
---
a = jnp.log(jnp.exp(x))
b = jnp.sqrt(x ** 2 * 1e30)
c = (x * 1e30) * 1e30 / 1e30
d = jnp.exp(x) / jnp.exp(x)
e = x - x * jnp.inf * 0
print(jnp.isinf(a).sum(), jnp.isnan(d).sum(), bool(jnp.isfinite(c).all()))
a, b, c, d, e
---
x = x / 10
---
x = x.astype(jnp.bfloat16)

### sn-traceback-lines-of-a-caught-shape-error
def inner(a, b): return a @ b
def outer(a, b):
    return inner(a * 2, b)
a, b = jnp.ones(3), jnp.ones(4)
---
frames, y = None, None
try:
    y = outer(a, b)
except TypeError as e:
    tb = e.__traceback__
    frames = []
    while tb is not None:
        if "jax" not in tb.tb_frame.f_code.co_filename:
            frames.append((tb.tb_frame.f_code.co_name, tb.tb_lineno))
        tb = tb.tb_next
    del tb
print(frames)
y
---
b = jnp.ones(3)
---
a = jnp.ones((2, 2))

### sn-setprofile-then-call-a-helper
def f(x): return jnp.sin(x) * 2
x = jnp.ones(3)
---
seen = []
sys.setprofile(lambda fr, ev, arg: seen.append(ev) if fr.f_code.co_name == "f" else None)
y = f(x)
sys.setprofile(None)
seen = [e for e in seen if e in ("call", "return")]
print(seen)
y
---
x = x * 2

### sn-prints-to-several-streams-and-flush-order
buf, err = io.StringIO(), io.StringIO()
def tee(*a, **k):
    print(*a, **k)
    print(*a, **{**k, "file": buf})
x = jnp.array([1.5, 2.5])
---
buf.seek(0); buf.truncate()
tee("start", x.shape, sep="|")
y = x * 2
tee("y =", y, end=";\n")
print("warn", y.mean(), file=err)
sys.stdout.write(f"raw {x[0]}\n")
sys.stdout.flush()
z = y + 1
tee(*z.tolist(), sep=", ")
print(len(buf.getvalue()), err.getvalue().count("warn") > 0, sep="\t")
z
---
x = x * 3
---
x = jnp.zeros(1)

### sn-ast-eval-of-user-formula-and-compiled-code-object
formula, names = "a * sin(x) + b", {"sin": jnp.sin, "exp": jnp.exp}
a, b, x = 2.0, jnp.float32(1.0), jnp.linspace(0, 1, 3)
---
tree_ = ast.parse(formula, mode="eval")
used = sorted({n.id for n in ast.walk(tree_) if isinstance(n, ast.Name)})
code = compile(tree_, "<formula>", "eval")
env = {**names, **{k: globals()[k] for k in used if k in globals()}}
y = eval(code, {"__builtins__": {}}, env)
g = jax.vmap(jax.grad(lambda v: eval(code, {"__builtins__": {}}, {**env, "x": v})))(x)
text = ast.unparse(tree_)
ns = {}
exec(f"def f(x, jnp=jnp):\n    return {text.replace('sin', 'jnp.sin').replace('a ', '3 ').replace('b', '1')}", {"jnp": jnp}, ns)
z = ns["f"](x)
del tree_, code, ns
print(used, text, env.keys() - names.keys())
y, g, z
---
formula = "b - a * sin(x)"
---
a = jnp.float32(7.0)
""",
)
