"""Errors that are caught and told, donated buffers, retries, clean-up, interrupted loops, and what else is printed."""

from ..cell import written

PRELUDE = """
import collections, contextlib, copy, dataclasses, functools, io, itertools, json, logging, math, operator, os, random, sys
import threading, time, traceback, types, warnings
from functools import partial
from pathlib import Path
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([3.0, -1.0, 2.0, 0.5]); n = jnp.array([4, 1, 3]); s = jnp.float32(2.5)
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-m-donation-tutorial-error-printed
upd = jax.jit(lambda a, b: a + b, donate_argnums=0)
---
buf = x * 1
out = upd(buf, x)
print(buf.is_deleted(), out.is_deleted())
try:
    print(buf + 1)
except RuntimeError as e:
    print("error:", str(e)[:22])
out
---
x = x * 2

### xa-m-donated-in-the-setup-then-used-in-a-caught-print
upd = jax.jit(lambda a: a + 1, donate_argnums=0); old = x * 2; new = upd(old)
---
try: r = float(old.sum())
except RuntimeError as e: r = None; print("gone", type(e).__name__)
y = new * 2
---
old = new

### xa-m-deleted-array-repr-and-attributes
t = x * 2; t.delete()
---
r = t.shape, t.dtype, t.is_deleted(), t.ndim
print(t.shape, r[2])
y = x + 1
---
t = x

### xa-m-deleted-in-a-list-skipped
bufs = [x * 1, x * 2, x * 3]; bufs[1].delete()
---
live = [b for b in bufs if not b.is_deleted()]
tot = sum(b.sum() for b in live)
print(len(live))
---
bufs[0].delete()
---
bufs.append(x)

### xa-m-deleted-caught-in-a-helper
t = x * 2; t.delete()
def safe(v):
    try: return float(v.sum())
    except RuntimeError: return float("nan")
---
vals = [safe(v) for v in (x, t)]
print(vals[0], math.isnan(vals[1]))
y = x + vals[0]
---
t = x

### xa-m-callback-that-raises-caught
def cb(v): raise ValueError("bad value")
---
try:
    y = jax.pure_callback(cb, jax.ShapeDtypeStruct((4,), jnp.float32), x)
    y.block_until_ready()
except Exception as e:
    r = "bad value" in str(e); y = x
print(r)
---
def cb(v): return np.asarray(v)

### xa-m-keyboard-interrupt-simulated-in-a-loop
def step(w, i):
    if i == stop: raise KeyboardInterrupt
    return w * 0.9
stop = 3
---
w, done = x, 0
try:
    for i in range(6): w = step(w, i); done += 1
except KeyboardInterrupt:
    print("interrupted after", done)
finally:
    total = w.sum()
---
stop = 99
---
stop = 0

### xa-m-system-exit-caught
---
try:
    y = x * 2
    if len(y) > 3: sys.exit("too long")
    y = y + 1
except SystemExit as e: code = e.code; print("exit", code)
---
x = x[:2]

### xa-m-exception-group-and-notes
def check(v):
    errs = []
    if v.min() < 0: e = ValueError(f"min {v.min():.1f}"); e.add_note("clip it"); errs.append(e)
    if len(v) > 3: errs.append(TypeError("long"))
    if errs: raise ExceptionGroup("bad", errs)
    return v
---
try: y = check(x)
except* ValueError as g: msgs = [str(e) + "/" + e.__notes__[0] for e in g.exceptions]; y = jnp.clip(x, 0)
except* TypeError as g: msgs2 = len(g.exceptions)
print(msgs)
---
x = -x
---
x = jnp.abs(x[:3])

### xa-m-raise-from-and-cause-printed
def load(k):
    try: return {"w": x}[k]
    except KeyError as e: raise RuntimeError(f"no {k}") from e
key = "b"
---
try: y = load(key) * 2
except RuntimeError as e:
    print(e, "<-", repr(e.__cause__), e.__suppress_context__)
    y = load("w")
---
key = "w"

### xa-m-traceback-text-last-line
def bad(v): return v.reshape(3)
---
try: y = bad(x)
except Exception: last = traceback.format_exc().strip().splitlines()[-1]; y = x
print(last[:60])
---
def bad(v): return 1 / (len(v) - 4)
---
def bad(v): return v

### xa-m-exc-info-and-line-numbers
---
try:
    y = x * 2
    z = y["k"]
except Exception as e:
    tp, ev, tb = sys.exc_info()
    r = tp.__name__, tb.tb_lineno
    del tb, ev, tp
print(r)
---
x = {"k": s} if False else x + 1

### xa-m-retry-decorator-with-attempt-counter
def retry(k):
    def deco(g):
        @functools.wraps(g)
        def h(*a):
            for i in range(k):
                try: return g(*a, attempt=i)
                except ArithmeticError as e: print(f"try {i}: {e}")
            raise RuntimeError("gave up")
        return h
    return deco
@retry(3)
def solve(v, attempt):
    if v.sum() * (attempt + 1) < need: raise ArithmeticError(f"sum {v.sum() * (attempt + 1):.1f}")
    return v / v.sum()
need = 8.0
---
try: y = solve(x)
except RuntimeError as e: y = None; print(e)
---
need = 100
---
need = 1.0

### xa-m-exit-stack-with-callbacks-in-order
order = []
---
with contextlib.ExitStack() as st:
    st.callback(order.append, "a")
    st.callback(lambda: order.append(float(x.sum())))
    f = st.enter_context(open("o.txt", "w"))
    f.write(str(float(s)))
    y = x * 2
del st, f
print(order[-2:], open("o.txt").read())
---
order.clear(); s = jnp.float32(1)

### xa-m-continue-on-error-in-a-sweep-with-report
cases = {"ok": (2, 2), "bad": (3, 2), "one": (4, 1), "none": None}
---
out, failed = {}, {}
for name, shape in cases.items():
    try:
        out[name] = x.reshape(shape).sum(0)
    except Exception as e:
        failed[name] = type(e).__name__
        continue
    print(name, out[name].shape)
print(failed)
---
cases["bad"] = (1, 4)
---
x = x[:3]

### xa-m-nan-check-raises-own-error-caught-and-loss-reset
class NanLoss(RuntimeError):
    def __init__(self, step): self.step = step; super().__init__(f"nan at {step}")
def check(l, i):
    if jnp.isnan(l): raise NanLoss(i)
w = jnp.array([1.0, -2.0]); lr = 0.5
---
hist = []
try:
    for i in range(6):
        l = jnp.sum(jnp.log(w + 1)) + (w ** 2).sum()
        check(l, i); hist.append(float(l)); w = w - lr * w
except NanLoss as e:
    print(e, e.step); w = jnp.ones(2)
print(len(hist))
---
lr = 0.1
---
w = jnp.array([5.0, -4.0])

### xa-m-generator-with-cleanup-closed-early
log = []
def batches(v):
    try:
        for i, t in enumerate(v): yield i, t * 2
    finally: log.append("closed")
---
g = batches(x); tot = 0.0
for i, b in g:
    tot = tot + b
    if i == 1: break
g.close(); print(log[-1], i)
del g
---
x = x[:1]

### xa-m-suppress-and-finally-with-file-close
---
with contextlib.suppress(FileNotFoundError):
    w = jnp.load("missing.npy"); print("loaded")
try: w
except NameError: w = x; jnp.save("missing.npy", w * 2)
y = w + 1
---
del w
---
Path("missing.npy").unlink(); del w

### xa-m-checkify-error-thrown-and-printed
from jax.experimental import checkify
def f(v): checkify.check(v.min() > lo, "min is {m}", m=v.min()); return jnp.log(v)
lo = 0.0
---
err, y = checkify.checkify(f)(x)
try: err.throw(); ok = True
except Exception as e: ok = False; print(type(e).__name__, str(e).splitlines()[0][:30])
msg = err.get(); del err
---
lo = -5.0
---
x = jnp.abs(x)

### xa-m-debug-nans-switched-on-in-the-cell-and-caught
---
jax.config.update("jax_debug_nans", True)
try: y = jnp.log(x)
except FloatingPointError as e: y = jnp.log(jnp.abs(x)); print("nan found")
finally: jax.config.update("jax_debug_nans", False)
z = y * 2
---
x = jnp.abs(x)

### xa-m-linalg-error-of-numpy-and-nan-of-jax
A = jnp.array([[1.0, 2.0], [2.0, 4.0]])
---
try: i = np.linalg.inv(A); kind = "ok"
except np.linalg.LinAlgError as e: kind = str(e)
j = jnp.linalg.inv(A); bad = bool(jnp.isinf(j).any() | jnp.isnan(j).any())
print(kind, bad)
---
A = A + jnp.eye(2)

### xa-m-leaked-tracer-kept-then-used
leak = []
@jax.jit
def f(v): leak.append(v); return v * 2
---
y = f(x); t = leak.pop() if leak else None
try: z = t + 1
except Exception as e: z = type(e).__name__
t = None
print(z)
---
x = x[:2]

### xa-m-concretization-errors-collected-in-a-dict
probs = {"if": lambda v: v if v.sum() > 0 else -v, "int": lambda v: jnp.ones(int(v[0])), "numpy": lambda v: np.asarray(v), "mask": lambda v: v[v > 0], "ok": lambda v: v * 2}
---
res = {}
for k, g in probs.items():
    try: res[k] = jax.jit(g)(x).shape
    except Exception as e: res[k] = type(e).__name__
print(res)
---
probs["range"] = lambda v: sum(range(v[0].astype(int)))
---
probs.pop("if"); x = x[:2]

### xa-m-stdout-captured-from-helper-with-tee
class Tee(io.StringIO):
    def write(self, t): parts.append(t); return len(t)
parts = []
def talk(v): print("mean", round(float(v.mean()), 2)); return v - v.mean()
---
with contextlib.redirect_stdout(Tee()): y = talk(talk(x) + 1)
txt = "".join(parts); print(len(parts) > 0, txt.count("mean"))
---
parts.clear(); x = x * 3

### xa-m-print-inside-jit-scan-and-helper-order
def h(v): print("tracing", v.shape); return v * 2
@jax.jit
def f(v): jax.debug.print("in jit {}", v.sum()); return h(v) + 1
---
print("start")
y = f(x)
z = h(x)
print("end", float(y[0]))
---
x = x[:3]

### xa-m-progress-with-carriage-returns-and-flush
---
for i, v in enumerate(x):
    bar = "#" * (i + 1) + "." * (len(x) - i - 1)
    print(f"\r[{bar}] {v * 2:.1f}", end="", flush=True)
print("\rdone".ljust(20))
y = x.sum()
---
x = x[::-1]

### xa-m-input-like-answers-from-an-iterator
answers = iter(["3", "x", "2"] * 20)
def ask(prompt): a = next(answers); print(prompt, a); return a
---
while True:
    try: k = int(ask("k?")); break
    except ValueError: print("a number please")
y = x * k
---
answers = iter(["oops", "7"] * 3)

### xa-m-assertions-in-a-table-driven-test
table = [(jnp.sin, 0.0, 0.0), (jnp.cos, 0.0, 1.0), (jnp.exp, 1.0, 2.0)]
---
fails = []
for fn, arg, want in table:
    try: np.testing.assert_allclose(fn(arg), want, rtol=1e-5)
    except AssertionError as e: fails.append(fn.__name__); print(str(e).strip().splitlines()[0])
print(len(table) - len(fails), "passed", fails)
y = x * len(fails)
---
table[2] = (jnp.exp, 0.0, 1.0)
---
table.append((lambda v: v + "a", 1.0, 1.0)) if False else table.append((jnp.tan, 0.0, 1.0))

### xa-m-logging-exception-with-stack-in-a-buffer
logger = logging.Logger("m"); buf = io.StringIO(); hd = logging.StreamHandler(buf); hd.setFormatter(logging.Formatter("%(levelname)s:%(message)s")); logger.addHandler(hd)
---
try: y = x @ n
except Exception as e:
    logger.error("failed: %s", type(e).__name__); logger.warning("sum %.1f", x.sum())
    y = x
print(buf.getvalue().splitlines()[-1])
---
n = jnp.arange(4)

### xa-m-value-error-of-own-class-constructor
class Prob:
    def __init__(self, p):
        if not jnp.isclose(sum(p), 1.0): raise ValueError(f"sums to {sum(p):.2f}")
        self.p = p
ps = [jnp.array([0.5, 0.5]), jnp.array([0.5, 0.6]), [0.2, 0.8]]
---
good = []
for p in ps:
    try: good.append(Prob(p))
    except ValueError as e: print("skip:", e)
m = jnp.stack([jnp.asarray(g.p) for g in good]).mean(0)
---
ps[1] = jnp.array([0.1, 0.9])
---
ps.append([1, 2])

### xa-m-nested-functions-with-nonlocal-and-try
def run(v):
    best, tries = None, 0
    def attempt(c):
        nonlocal best, tries
        tries += 1
        r = jnp.sum(v * c)
        if best is None or r < best: best = r
        if tries > limit: raise OverflowError(tries)
    try:
        for c in (1.0, -1.0, 2.0, 0.5): attempt(c)
    except OverflowError as e: print("limit", e)
    return best, tries
limit = 2
---
b, t = run(x)
print(t)
---
limit = 10
---
x = -x

### xa-m-array-api-namespace-and-dtype-tables
---
xp = x.__array_namespace__(); y = xp.sum(xp.astype(x, xp.float32)); info = jnp.finfo(x.dtype); r = info.bits, float(info.max) > 1e38, jnp.iinfo(jnp.int8).min, jnp.issubdtype(x.dtype, jnp.floating), jnp.result_type(x, n), jnp.promote_types("int8", "float16"), jnp.can_cast("int32", "float32"), np.dtype(x.dtype).itemsize
print(r)
---
x = x.astype(jnp.bfloat16)

### xa-m-pickle-of-model-class-and-of-lambda-fails
class Model:
    def __init__(self): self.w = x; self.act = jnp.tanh
    def __getstate__(self): d = dict(vars(self)); d.pop("act"); return d
    def __setstate__(self, d): vars(self).update(d); self.act = jnp.sin
m = Model()
---
import pickle
try: pickle.dumps(lambda v: v); ok = True
except Exception as e: ok = type(e).__name__ in ("PicklingError", "AttributeError")
c = copy.deepcopy(m); y = c.act(c.w) - m.act(m.w)
print(ok, c.w is m.w)
---
m.w = m.w * 2

### xa-m-time-budget-loop-with-fake-clock
class Clock:
    t = 0.0
    def __call__(self): Clock.t += 1.0; return Clock.t
clock = Clock(); budget = 4.0
---
t0 = clock(); w = x; k = 0
while clock() - t0 < budget:
    w = w * 0.5; k += 1
print(k, clock() - t0)
---
budget = 2
---
Clock.t = 100; budget = 6.5
""",
)
