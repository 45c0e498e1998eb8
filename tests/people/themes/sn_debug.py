"""Cells of somebody who hunts a bug: types, identities, sizes, sources, warnings, tracebacks, logs and clocks."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dis, faulthandler, functools, gc, inspect, io, itertools, linecache, logging, math
import operator, os, pickle, platform, pprint, reprlib, sys, textwrap, time, traceback, types, warnings, weakref
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-why-is-loss-nan-print-everything-about-it
params = {"w": jnp.array([[0.5, -0.2], [1e20, 0.1]]), "b": jnp.zeros(2)}
X = jnp.array([[1.0, 2.0], [3.0, 4.0]])
def fwd(p, x): return jnp.exp(x @ p["w"] + p["b"])
---
# WHY is this nan
out = fwd(params, X)
loss = jnp.log(out).mean() - jnp.log(out).mean()
print("out", out.shape, out.dtype, type(out))
print("any nan:", bool(jnp.isnan(out).any()), "any inf:", bool(jnp.isinf(out).any()))
for k, v in params.items():
    print(k, v.dtype, v.shape, float(jnp.abs(v).max()), "<-- HUGE" if float(jnp.abs(v).max()) > 1e6 else "")
bad = jnp.argwhere(~jnp.isfinite(out))
print(bad.shape, bad.tolist())
print(loss, jnp.isnan(loss))
culprits = [k for k, v in params.items() if not bool((jnp.abs(v) < 1e6).all())]
---
params["w"] = params["w"].at[1, 0].set(0.3)
---
X = X * jnp.nan

### sn-is-it-the-same-object-or-a-copy
a = jnp.arange(4.0)
model = {"enc": {"w": a}, "dec": {"w": a}, "meta": [a, 1, "x"]}
---
b = a
c = a + 0
d = jnp.asarray(a)
e = jnp.array(a)
f = a.astype(jnp.float32)
g = a.reshape(4)
h = a[:]
print("b is a", b is a, "| c is a", c is a, "| asarray", d is a, "| array", e is a)
print("astype", f is a, "| reshape", g is a, "| slice", h is a)
print("tied", model["enc"]["w"] is model["dec"]["w"], model["meta"][0] is a)
m2 = jax.tree.map(lambda v: v, model)
m3 = copy.copy(model)
m4 = copy.deepcopy(model)
print(m2["enc"]["w"] is a, m2["enc"] is model["enc"], m3["enc"] is model["enc"], m4["enc"]["w"] is m4["dec"]["w"], m4["enc"]["w"] is a)
len({id(x) for x in jax.tree.leaves(model) if not isinstance(x, (int, str))})
---
model["dec"]["w"] = jnp.arange(4.0)
---
a = a + 1

### sn-sys-getsizeof-nbytes-and-a-memory-table
def human(n):
    for unit in ("B", "KB", "MB"):
        if n < 1024: return f"{n:.1f}{unit}"
        n /= 1024
    return f"{n:.1f}GB"
bufs = {"emb": jnp.zeros((50, 16)), "idx": jnp.arange(100), "mask": jnp.ones(33, bool), "half": jnp.zeros((8, 8), jnp.bfloat16), "np": np.zeros(10)}
---
bufs["act"] = jnp.tanh(bufs["emb"] @ bufs["emb"].T)
rows = sorted(((v.nbytes, k, v.itemsize, v.size) for k, v in bufs.items()), reverse=True)
total = 0
for n, k, it, sz in rows:
    total += n
    print(f"{k:>6} {human(n):>9} {it}x{sz}")
print("-" * 20)
print(f"{'total':>6} {human(total):>9}")
print(sys.getsizeof([]), sys.getsizeof(bufs) == sys.getsizeof(dict(bufs)), bufs["half"].dtype.itemsize)
bufs["act"].sum()
---
bufs["emb"] = jnp.ones((5, 16))
---
del bufs["np"]; bufs["more"] = jnp.zeros(3, jnp.complex64)

### sn-vars-dir-hasattr-tour-of-an-unknown-object
class Thing:
    kind = "thing"
    def __init__(self, n): self.n, self.w, self._cache = n, jnp.ones(n), {}
    @property
    def norm(self): return jnp.linalg.norm(self.w)
    def fit(self, x): self.w = self.w + x; self._cache["x"] = x; return self
t = Thing(3); x = jnp.array([1.0, 0.0, 2.0])
---
t.fit(x * 2)
print(sorted(vars(t)))
print([n for n in dir(t) if not n.startswith("__")])
for name in ("norm", "w", "nope", "fit", "kind"):
    print(f"{name:6}", hasattr(t, name), type(getattr(t, name, None)).__name__, callable(getattr(t, name, None)))
own = {k: (v.shape if hasattr(v, "shape") else v) for k, v in vars(t).items() if not isinstance(v, dict)}
print(own, t.__dict__ is vars(t), isinstance(t, Thing), type(t).__mro__[0].__name__)
print(isinstance(t.w, jax.Array), isinstance(t.w, np.ndarray), hasattr(t.w, "at"), hasattr(t.w, "__array__"))
t.norm
---
t.extra = "hello"
---
x = jnp.zeros(3); t.n = 99

### sn-print-timings-around-a-slow-step
def slow_step(w, x):
    for _ in range(3):
        w = w - 0.1 * jax.grad(lambda w: jnp.sum((x @ w - 1) ** 2))(w)
    return w
w, x = jnp.zeros(4), jnp.ones((3, 4)) / 4
timings = defaultdict(list)
---
t0 = time.perf_counter()
w1 = slow_step(w, x).block_until_ready()
t1 = time.perf_counter()
w2 = jax.block_until_ready(slow_step(w1, x))
t2 = time.perf_counter()
timings["n"].append(len(timings["n"]))
took = t2 - t0
assert took > 0 and t1 >= t0
print("ok" if took < 60 else "too slow!!", len(timings["n"]))
del t0, t1, t2, took
w2 - w1
---
x = x * 2
---
timings.clear(); w = w1

### sn-traceback-formatted-and-last-line-kept
def inner(p, x):
    return x @ p["w2"]
def outer(p, x):
    h = x @ p["w1"]
    return inner(p, h)
p = {"w1": jnp.ones((3, 4)), "w2": jnp.ones((5, 2))}
x = jnp.ones((2, 3))
---
msg = None
try:
    y = outer(p, x)
except (TypeError, ValueError) as err:
    msg = str(err).splitlines()[0][:60]
    tb = traceback.extract_tb(err.__traceback__)
    names = [f.name for f in tb if f.name in ("outer", "inner", "<module>")]
    print(type(err).__name__, names)
    print("shapes were", {k: v.shape for k, v in p.items()}, x.shape)
    y = None
else:
    print("fine", y.shape)
finally:
    print("done")
y
---
p["w2"] = jnp.ones((4, 2))
---
x = jnp.ones((2, 7))

### sn-format-exc-of-own-assert-with-values
def check(name, v, lo, hi):
    assert lo <= float(v) <= hi, f"{name}={float(v):.2f} not in [{lo}, {hi}]"
vals = {"acc": jnp.float32(0.5), "loss": jnp.float32(2.0)}
---
fails = []
for k, v in vals.items():
    try:
        check(k, v * 1.5, 0, 1)
    except AssertionError:
        fails.append(traceback.format_exc().strip().splitlines()[-1])
print("\n".join(fails) or "all good")
worst = max(vals, key=lambda k: float(vals[k]))
print(worst, sys.exc_info())
jnp.stack(list(vals.values())).sum()
---
vals["loss"] = jnp.float32(0.1)
---
vals["grad"] = jnp.float32(np.nan)

### sn-logger-with-own-handler-and-levels
log = logging.Logger("train.sn")
log.setLevel(logging.DEBUG)
log.propagate = False
buf = io.StringIO()
h = logging.StreamHandler(buf)
h.setFormatter(logging.Formatter("%(levelname)s:%(name)s:%(funcName)s:%(message)s"))
log.handlers[:] = [h]
x, level = jnp.linspace(0, 1, 5), logging.INFO
def step(x):
    log.debug("in step, %s", x.shape)
    y = x - 0.1 * jnp.cos(x)
    if float(y.max()) > 0.9:
        log.warning("large %.2f", y.max())
    return y
---
h.setLevel(level)
for i in range(3):
    x = step(x)
    log.info("it %d mean %.3f", i, x.mean())
if log.isEnabledFor(logging.DEBUG):
    log.debug("final %s", x.shape)
lines = buf.getvalue().splitlines()
buf.seek(0); buf.truncate()
print(len(lines), *lines, sep="\n")
---
level = logging.DEBUG
---
x = x + 1; log.setLevel(logging.ERROR)

### sn-warnings-counted-by-category-around-a-cast
x = jnp.arange(5.0)
---
with warnings.catch_warnings(record=True) as ws:
    warnings.simplefilter("always")
    y = x.astype("float64") if False else x.astype(jnp.float16)
    z = np.log(np.array([1.0, 0.0]))
    k = np.asarray(x) / np.zeros(5)
    warnings.warn("mine", UserWarning)
    q = jnp.log(x - 1)
print(Counter(w.category.__name__ for w in ws))
print([str(w.message)[:30] for w in ws])
bad = int(jnp.isnan(q).sum()), np.isnan(k).sum()
print(bad)
y, q
---
x = x * 0
---
x = jnp.array([-1.0, 1.0])

### sn-inspect-signature-source-closure-of-a-loss
beta = 0.25
def make(alpha):
    def loss(w, x, *, reg=0.1, power: int = 2):
        "weighted loss"
        return alpha * jnp.mean(jnp.abs(x @ w) ** power) + reg * jnp.sum(w ** 2) * beta
    return loss
loss = make(jnp.float32(2.0))
w, x = jnp.array([1.0, -1.0]), jnp.eye(2)
---
sig = inspect.signature(loss)
print(sig, loss.__name__, loss.__doc__, loss.__qualname__)
print([p.name for p in sig.parameters.values() if p.kind is p.KEYWORD_ONLY], sig.parameters["reg"].default)
print(loss.__code__.co_freevars, loss.__closure__[0].cell_contents, loss.__kwdefaults__)
print(loss.__code__.co_varnames, "beta" in loss.__code__.co_names, loss.__globals__["beta"])
g = jax.grad(loss)(w, x)
nl = inspect.getclosurevars(loss).nonlocals
print(sorted(nl), type(nl["alpha"]).__name__)
g
---
beta = 4.0
---
loss = make(jnp.float32(-1.0)); loss.__kwdefaults__["reg"] = 0.0

### sn-gc-and-weakref-is-my-array-freed
class Box:
    def __init__(self, a): self.a = a
    def __repr__(self): return f"Box({self.a.shape})"
base = jnp.ones(3)
---
box = Box(base * 2)
ref = weakref.ref(box)
total = box.a.sum()
alive_before = ref() is not None
box = None
gc.collect()
print(alive_before, ref() is None)
live = [o for o in gc.get_objects() if isinstance(o, Box)]
print(len(live))
del live
total
---
base = base + 1
---
base = jnp.zeros(5)

### sn-devices-sharding-committed-weak-type-facts
x = jnp.ones((2, 3)); s = 2.0
---
y = x * s
z = jnp.asarray(3.0)
w = jnp.array(3.0, dtype=jnp.float32)
for name in ["x", "y", "z", "w"]:
    v = globals()[name]
    print(name, v.aval, v.weak_type, v.dtype, v.devices() == {jax.devices()[0]}, v.sharding.__class__.__name__, v.committed)
v = jax.device_put(y, jax.devices()[0])
print(v.committed, v is y, v.is_fully_addressable, v.is_deleted(), len(v.addressable_shards))
print((z * w).weak_type, (z + 1).weak_type, (w + 1).weak_type, jnp.result_type(z, jnp.int8), jnp.result_type(w, 1))
y
---
s = jnp.float16(2)
---
x = jnp.ones((2, 3), jnp.int32); s = 3

### sn-pprint-reprlib-of-a-config-with-arrays
cfg = {"model": {"layers": [64, 64], "act": "relu", "init": jnp.zeros(3)}, "opt": {"lr": 1e-3, "betas": (0.9, 0.999)}, "seed": 0}
short = reprlib.Repr(); short.maxlist = 2; short.maxdict = 2; short.maxstring = 12
---
cfg["model"]["init"] = cfg["model"]["init"] + cfg["opt"]["lr"]
pprint.pprint(cfg, width=60)
print(short.repr(cfg["opt"]), short.repr(list(range(10))))
print(pprint.pformat({k: type(v).__name__ for k, v in cfg.items()}, compact=True))
text = f"{cfg['model']['init']!r:>60}"
print(text, f"{cfg['model']['init'][0]:.4f}", "%s" % cfg["model"]["init"], "{:d}".format(cfg["seed"]))
cfg
---
cfg["model"]["layers"].append(32)
---
cfg["opt"]["lr"] = 0.5

### sn-call-counter-patch-and-restore-jnp-function
calls = Counter()
def spy(mod, name):
    orig = getattr(mod, name)
    @functools.wraps(orig)
    def wrapper(*a, **k):
        calls[name] += 1
        return orig(*a, **k)
    setattr(mod, name, wrapper)
    return orig
ns = types.SimpleNamespace(dot=jnp.dot, exp=jnp.exp, sum=jnp.sum)
def softmax(v): return ns.exp(v) / ns.sum(ns.exp(v))
x = jnp.array([1.0, 2.0, 3.0])
---
orig = spy(ns, "exp")
try:
    p = softmax(x)
    q = softmax(p)
finally:
    ns.exp = orig
print(dict(calls), ns.exp is jnp.exp, ns.exp.__name__)
p, q.sum()
---
calls.clear()
---
x = jnp.ones(2); ns.sum = jnp.max

### sn-stdout-redirected-captured-and-diffed
def noisy(x, n):
    for i in range(n):
        x = jnp.sqrt(jnp.abs(x) + 1)
        print(f"iter {i}: {x.mean():.4f}")
    return x
x, n = jnp.array([4.0, 9.0]), 2
---
f = io.StringIO()
with contextlib.redirect_stdout(f):
    y = noisy(x, n)
captured = f.getvalue()
with contextlib.redirect_stdout(io.StringIO()) as g:
    z = noisy(y, 1)
    print("hidden", file=sys.stderr)
print(len(captured.splitlines()), captured.splitlines()[-1])
print(repr(g.getvalue()), captured.startswith(g.getvalue()[:7]))
y - z
---
n = 4
---
x = x * 100

### sn-frame-hack-names-of-arguments-printed
def show(*vals):
    frame = inspect.currentframe().f_back
    for v in vals:
        names = [k for k, o in frame.f_globals.items() if o is v and not k.startswith("_")]
        print(sorted(names), getattr(v, "shape", v))
alpha, beta, x = 0.3, jnp.ones(2), jnp.zeros((2, 2))
---
gamma = beta * alpha
delta = x @ gamma
show(beta, gamma, delta)
show(x)
eps = gamma
show(eps)
delta
---
omega = beta
---
alpha = 0.7; beta = jnp.ones(2) * 5

### sn-settrace-like-profile-hook-counts-calls-of-own-functions
def f(x): return jnp.sin(x) * 2
def g(x): return f(x) + f(-x)
def hook(seen):
    def prof(frame, event, arg):
        if event == "call" and frame.f_code.co_name in ("f", "g"):
            seen[frame.f_code.co_name] += 1
    return prof
x = jnp.linspace(0, 1, 3)
---
seen = Counter()
sys.setprofile(hook(seen))
try:
    y = g(x)
    y = g(y)
finally:
    sys.setprofile(None)
print(dict(seen))
y
---
x = -x
---
x = jnp.float32(0.1)

### sn-environment-report-for-the-bug-tracker
x = jnp.ones(3)
---
info = {
    "python": platform.python_version().split(".")[0],
    "jax": jax.__version__.count("."),
    "backend": jax.default_backend(),
    "x64": jax.config.jax_enable_x64,
    "devices": [d.platform for d in jax.local_devices()][:1],
    "process": (jax.process_index(), jax.process_count()),
    "matmul": jax.config.jax_default_matmul_precision,
}
for k, v in info.items():
    print(f"{k:<10}{v}")
print(jnp.finfo(jnp.float32).eps, jnp.iinfo(jnp.int32).max, jnp.finfo(x.dtype).bits)
repro = (x / 3 * 3 == x).all()
print("reproduced?", repro)
---
x = jnp.array([0.1, 0.7])
---
x = x.astype(jnp.bfloat16)

### sn-diff-two-trees-print-first-mismatch
old = {"a": jnp.arange(3.0), "b": {"c": jnp.ones((2, 2)), "d": 4}, "e": [jnp.float32(1), "s"]}
new = jax.tree.map(lambda v: v, old)
def diff(a, b, tol=1e-6):
    pa, ta = jtu.tree_flatten_with_path(a); pb, tb = jtu.tree_flatten_with_path(b)
    if ta != tb:
        yield "structure", str(ta)[:20], str(tb)[:20]
        return
    for (p, x), (_, y) in zip(pa, pb):
        if type(x) is not type(y): yield jtu.keystr(p), type(x).__name__, type(y).__name__
        elif isinstance(x, str):
            if x != y: yield jtu.keystr(p), x, y
        elif not np.allclose(x, y, atol=tol): yield jtu.keystr(p), np.max(np.abs(np.asarray(x) - np.asarray(y))).round(3), None
---
new["a"] = new["a"].at[1].add(0.5)
found = list(diff(old, new))
for f in found:
    print(*f)
first = next(diff(old, new), None)
same = jax.tree.all(jax.tree.map(lambda x, y: x is y, old["b"], new["b"]))
print(first is None, same)
first
---
new["e"][1] = "t"; new["b"]["d"] = 4.0
---
new.pop("e")

### sn-assert-messages-shape-guards-and-skip-flags
DEBUG, VERBOSE = True, 1
def expect(cond, msg=""):
    if DEBUG and not cond: raise ValueError(msg)
def vprint(*a, lvl=1):
    if VERBOSE >= lvl: print(*a)
q, k, v = (jr.normal(jr.key(i), (2, 5, 4)) for i in range(3))
---
expect(q.shape == k.shape, f"{q.shape} vs {k.shape}")
att = jnp.einsum("bqd,bkd->bqk", q, k) / math.sqrt(q.shape[-1])
vprint("logits", att.shape, lvl=2)
expect(bool(jnp.isfinite(att).all()), "non finite")
probs = jax.nn.softmax(att, -1)
expect(jnp.allclose(probs.sum(-1), 1.0), "rows!")
vprint("row0", probs[0, 0].round(2))
out = probs @ v
vprint(f"{out.mean()=:.3f}", f"{out.ndim=}", lvl=1)
out.shape
---
VERBOSE = 2
---
DEBUG = False; q = q[:, :3]
---
k = k.at[0, 0, 0].set(jnp.inf); DEBUG = True

### sn-jaxpr-hlo-and-cost-looked-at
def f(x, y): return jnp.tanh(x @ y).sum()
x, y = jnp.ones((2, 3)), jnp.ones((3, 2))
---
jaxpr = jax.make_jaxpr(f)(x, y)
print([e.primitive.name for e in jaxpr.eqns])
lowered = jax.jit(f).lower(x, y)
txt = lowered.as_text()
print("dot_general" in txt, "tanh" in txt, lowered.out_info.shape)
comp = lowered.compile()
r = comp(x, y)
print(jax.eval_shape(f, x, y), type(comp).__name__, len(jaxpr.in_avals))
r, f(x, y) == r
---
x = x[:1]
---
x, y = x * 0.5, y.astype(jnp.float16)

### sn-old-variable-cleanup-del-and-name-checks
results = {"run1": jnp.ones(2)}
tmp = jnp.zeros(3)
---
tmp2 = tmp + 1
for name in ("tmp", "tmp3", "results"):
    print(name, name in globals(), name in locals())
exec("tmp3 = tmp2 * 2")
print("tmp3" in globals(), eval("tmp3.sum()"))
results[f"run{len(results) + 1}"] = tmp3
del tmp2, tmp3
try:
    tmp2
except NameError as e:
    print("gone:", e.name)
mine = sorted(n for n, v in globals().items() if isinstance(v, jax.Array))
print(mine, sorted(results))
results[max(results)]
---
tmp = jnp.arange(3.0)
---
results.clear()
""",
)
