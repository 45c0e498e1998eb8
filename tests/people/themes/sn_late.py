"""Cells of people who look at how a thing runs: frames, lines, sources, buffers, ufuncs, hooks and settings."""

from ..cell import written

PRELUDE = """
import builtins, collections, contextlib, copy, functools, gc, inspect, io, itertools, linecache, logging, math, operator, os
import pickle, queue, re, sched, selectors, string, sys, textwrap, threading, time, tokenize, traceback, types, typing, warnings, weakref
from collections import Counter, defaultdict, deque, namedtuple
from dataclasses import dataclass, field
from functools import partial, reduce, wraps
from unittest import mock
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax, random as jr, tree_util as jtu
"""

CELLS = written(
    PRELUDE,
    r"""
### sn-magicmock-as-logger-of-metrics
run = mock.MagicMock()
w, x = jnp.ones(2), jnp.array([1.0, 3.0])
---
run.reset_mock()
for i in range(2):
    loss, g = jax.value_and_grad(lambda w: jnp.mean((w * x - 1) ** 2))(w)
    w = w - 0.1 * g
    run.log({"loss": float(loss)}, step=i)
run.finish()
steps = [c.kwargs["step"] for c in run.log.call_args_list]
last = run.log.call_args.args[0]["loss"]
print(run.log.call_count, steps, run.finish.called, f"{last:.3f}", [n for n, *_ in run.mock_calls])
run.reset_mock()
w
---
x = x / 2
---
w = jnp.zeros(2)

### sn-mock-replaces-a-function-with-side-effects-list
class Api:
    def fetch(self, n): raise ConnectionError("no net here")
api, x = Api(), jnp.arange(3.0)
answers = [ConnectionError("flaky"), 2.0, 3.0]
---
with mock.patch.object(api, "fetch", side_effect=answers) as f:
    got, tries = [], 0
    while len(got) < 2 and tries < 4:
        tries += 1
        try:
            got.append(x * api.fetch(tries))
        except ConnectionError as e:
            print("retry:", e)
calls = [c.args[0] for c in f.call_args_list]
del f
try:
    api.fetch(0)
except ConnectionError as e:
    print(e, calls, tries)
sum(got)
---
answers = [1.0, 1.0]
---
x = x + 1; answers = [ConnectionError("down"), ConnectionError("down"), 5.0, 6.0]

### sn-inspect-source-of-cell-function-and-lines
def helper(x):
    return x * 2  # doubled
x = jnp.ones(2)
---
def local(x, k=3):
    # a comment
    y = helper(x)
    return y ** k
here = inspect.currentframe().f_lineno
caller = [f.function for f in inspect.stack(0)][:1]
print(here, caller, local.__code__.co_firstlineno, local.__code__.co_argcount, local.__module__)
try:
    src = inspect.getsource(local).splitlines()[1].strip()
except OSError:
    src = "no source"
names = [n.string for n in tokenize.generate_tokens(io.StringIO("a + b*2").readline) if n.type == 1]
print(names)
del src
local(x), sys._getframe().f_code.co_name
---
x = x * 2

### sn-logging-with-line-numbers-function-and-exception-info
log = logging.Logger("job")
sink = []
class H(logging.Handler):
    def emit(self, r): sink.append((r.lineno, r.funcName, r.levelname, r.getMessage(), bool(r.exc_info), sorted(set(vars(r)) & {"run", "epoch"})))
log.handlers[:] = [H()]
x = jnp.array([1.0, 2.0])
def f(x):
    log.info("f got %s", x.shape, extra={"run": 1})
    return x / x.sum()
---
sink.clear()
y = f(x)
log.warning("at top")
try:
    z = y @ jnp.ones(3)
except TypeError:
    log.exception("failed", extra={"epoch": 2})
    z = y
adapter = logging.LoggerAdapter(log, {"epoch": 1})
adapter.info("norm %.2f", float(jnp.linalg.norm(z)))
log.error("vec %s", z.shape, stack_info=False)
print(*sink, sep="\n")
del adapter
z
---
x = x * 3
---
x = jnp.ones(3)

### sn-warn-once-per-location-default-filter
def old_api(x):
    warnings.warn("old_api is deprecated", DeprecationWarning, stacklevel=2)
    return x + 1
def ratio(a, b):
    if bool((b == 0).any()):
        warnings.warn(f"{int((b == 0).sum())} zeros", RuntimeWarning)
    return a / b
a, b = jnp.ones(3), jnp.array([1.0, 0.0, 2.0])
---
got = []
def show(message, category, filename, lineno, file=None, line=None): got.append((category.__name__, str(message), lineno))
with warnings.catch_warnings():
    warnings.resetwarnings()
    warnings.simplefilter("always")
    old, warnings.showwarning = warnings.showwarning, show
    for i in range(2):
        a = old_api(a)
        r = ratio(a, b)
    warnings.showwarning = old
del old
print(*got, sep="\n")
r
---
b = jnp.ones(3)
---
b = jnp.zeros(3); a = a * 0

### sn-frames-locals-of-the-failing-function
def bad(x, n):
    scale = n * 2
    y = x.reshape(n, -1)
    return y * scale
x, n = jnp.arange(6.0), 4
---
report = None
try:
    y = bad(x, n)
except (TypeError, ValueError, ZeroDivisionError) as e:
    tb = e.__traceback__
    while tb.tb_next is not None and tb.tb_frame.f_code.co_name != "bad":
        tb = tb.tb_next
    loc = tb.tb_frame.f_locals
    report = {k: (v.shape if isinstance(v, jax.Array) else v) for k, v in loc.items()}
    line = tb.tb_lineno - tb.tb_frame.f_code.co_firstlineno
    print(type(e).__name__, line)
    del tb, loc
    y = None
print(report)
y
---
n = 3
---
x = x[:5]

### sn-buffers-memoryview-dlpack-flags-and-writeable
x = jnp.arange(6.0).reshape(2, 3)
---
y = x * 2
n1 = np.asarray(y)
n2 = np.array(y)
try:
    n1[0] = 1
except ValueError as e:
    print("ro:", e)
n2[0, 0] = 99
d = np.from_dlpack(y)
back = jnp.from_dlpack(np.ascontiguousarray(n2))
mv = memoryview(n2)
print(n1.flags.writeable, n2.flags.owndata, n1.dtype, mv.shape, mv.format, d.shape, back.dtype, n1.flags.c_contiguous)
del mv
print(float(y[0, 0]), y.tobytes()[:4] if hasattr(y, "tobytes") else None, y.nbytes, y.T.shape, y.on_device_size_in_bytes())
y.copy_to_host_async()
z = y.T
np.shares_memory(n1, np.asarray(y)), np.asarray(z).flags.c_contiguous, y.unsafe_buffer_pointer() == y.unsafe_buffer_pointer(), back
---
x = x.astype(jnp.int32)
---
x = x[:, :1]

### sn-deleted-and-donated-buffers-guarded
f = jax.jit(lambda s, g: (s + g, s.sum()), donate_argnums=0)
g = jnp.ones(3)
---
s = jnp.zeros(3)
for _ in range(2):
    s, t = f(s, g)
u = s * 1
v = u
u.delete()
print(u.is_deleted(), v.is_deleted(), v is u)
try:
    print(v + 1)
except RuntimeError as e:
    print(type(e).__name__, "deleted" in str(e))
del u, v
s, t
---
g = g * 2

### sn-numpy-functions-on-jax-arrays-and-the-types-that-come-back
x, n = jnp.array([[3.0, 1.0], [2.0, 5.0]]), np.array([1.0, 2.0])
---
out = {
    "np.sum": np.sum(x), "np.dot": np.dot(x, n), "np.add": np.add(x, n), "x+n": x + n, "n+x": n + x, "n*=": n * x[0],
    "np.linalg": np.linalg.inv(x), "np.sort": np.sort(x, axis=0), "np.where": np.where(x > 2, x, 0), "np.mean": np.mean(x),
    "np.vstack": np.vstack([x, n]), "np.max": np.max(x), "np.einsum": np.einsum("ij,j->i", x, n), "np.exp": np.exp(x[0, 0]),
    "jnp.dot": jnp.dot(n, n), "np.float32": np.float32(x[0, 1]), "sum": sum(x), "max": max(x[0]), "abs": abs(x[0, 0]), "np.clip": np.clip(x, 1, 2),
}
for k, v in out.items():
    print(f"{k:11} {type(v).__name__:10} {getattr(v, 'dtype', None)} {np.shape(v)}")
vec = np.vectorize(lambda a, b: float(a) if a > b else b, otypes=[float])(x[0], n)
ap = np.apply_along_axis(lambda r: r - r.mean(), 1, x)
n += np.asarray(x[0])
print(vec.dtype, ap.dtype, type(ap).__name__, n, np.result_type(x, n), np.can_cast(x.dtype, n.dtype), np.iterable(x), np.array_equal(x, x))
n -= np.asarray(x[0])
---
x = x.astype(jnp.int32)
---
n = n.astype(np.float32)

### sn-errstate-seterr-and-printoptions-local-and-global
x, a = jnp.array([1.0, 1e-9]), np.array([1.0, 0.0])
---
with np.errstate(divide="raise", invalid="ignore"):
    try:
        r = 1 / a
    except FloatingPointError as e:
        r = None
        print("caught", e)
    q = 1 / (x - x[0])
with np.printoptions(precision=2, suppress=True, threshold=3):
    print(np.arange(5.0) / 3, np.asarray(x), x)
old = np.seterr(all="ignore")
z = np.log(a)
np.seterr(**old)
np.set_printoptions(precision=3)
print(np.geterr()["divide"], np.get_printoptions()["precision"], x * math.pi, str(np.float32(1) / 3))
np.set_printoptions(precision=8)
q, z, r
---
a = a + 1
---
x = x * 1e6

### sn-jax-debug-tools-in-a-cell-print-callback-nans-leaks
seen = []
x, nans = jnp.array([4.0, 9.0]), False
@jax.jit
def f(x):
    jax.debug.callback(lambda v: seen.append(v.shape), x)
    return jnp.sqrt(x)
---
seen.clear()
y = f(x)
jax.effects_barrier()
with jax.checking_leaks():
    z = jnp.sum(y * 2)
with jax.debug_nans(nans):
    try:
        w = jnp.log(z - 10)
    except FloatingPointError as e:
        w = jnp.float32(-1)
        print("nan!")
with jax.disable_jit():
    v = f(x + 1)
jax.effects_barrier()
print(seen, jax.config.jax_debug_nans, jax.config.jax_check_tracer_leaks)
with jax.log_compiles(False), jax.default_matmul_precision("float32"):
    m = x @ x
y, z, w, v, m
---
nans = True
---
x = x * 0

### sn-custom-displayhook-excepthook-and-builtins-patched
shown = []
x = jnp.array([1.0, 2.0])
---
shown.clear()
old_print = builtins.print
def loud(*a, **k):
    shown.append(" ".join(map(str, a)))
    old_print("!!", *a, **k)
builtins.print = loud
try:
    print("hello", x.sum())
    y = x * 2
    print(y)
finally:
    builtins.print = old_print
old_hook, sys.displayhook = sys.displayhook, shown.append
sys.displayhook(y.shape)
sys.displayhook = old_hook
print(len(shown), shown[0], builtins.print is old_print)
del old_print, old_hook, loud
y
---
x = x * 2
---
x = jnp.ones(3)

### sn-scheduler-timer-queue-producer-consumer
x, n = jnp.array([1.0, 2.0, 3.0]), 3
def produce(q, n):
    for i in range(n): q.put(i)
    q.put(None)
---
q = queue.Queue()
t = threading.Thread(target=produce, args=(q, n))
t.start()
acc, got = jnp.zeros(3), []
while (item := q.get()) is not None:
    acc = acc + x ** item
    got.append(item)
t.join(5)
alive = t.is_alive()
s = sched.scheduler(time.monotonic, lambda d: None)
order = []
s.enter(2, 1, order.append, ("b",))
s.enter(1, 1, order.append, ("a",))
while not s.empty():
    if s.run(blocking=False): s.cancel(s.queue[0]) if order else time.sleep(0.2)
    if len(order) >= 0: [s.cancel(e) for e in list(s.queue)]
del q, t, s
print(got, alive, order)
acc
---
n = 1
---
x = -x

### sn-operator-in-place-identity-of-lists-arrays-and-tuples
a = jnp.arange(3.0)
l, t, na = [a, 1], (a, [a]), np.arange(3.0)
---
b = a
b += 1
same_jax = b is a
nb = na
nb += 1
same_np = nb is na
m = l
m += [b]
same_list = m is l
u = t
u += (b,)
try:
    t[1].append(b)
    t[1] += [b]
except TypeError as e:
    print(e, len(t[1]))
print(same_jax, same_np, same_list, u is t, u[1] is t[1], l[-1] is b, t[0] is a, len(l))
x, y = y_, x_ = b, a
x is b, y_ is x, (x, y) == (b, a) if a.ndim == 0 else None, na, [id(v) == id(b) for v in l if isinstance(v, jax.Array)][-1]
---
a = a * 0
---
del l[2:]; t[1].clear()
""",
)
