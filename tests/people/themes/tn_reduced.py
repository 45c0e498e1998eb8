"""Small cells, each for a cause that was mended: hooks, profilers, frames and notes of errors, where arguments lie."""

from ..cell import written

PRELUDE = """
import logging, sys, traceback, warnings
from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
"""

CELLS = written(
    PRELUDE,
    r"""
### tn-hook-function
shown = []
def hook(v): shown.append(v)
x = jnp.ones(3)
---
old, sys.displayhook = sys.displayhook, hook
sys.displayhook(x.shape)
sys.displayhook = old
del old
y = x * 2
print(len(shown))
---
x = x + 1

### tn-hook-method
class R:
    def __init__(self): self.got = []
    def show(self, v): self.got.append(v)
r = R()
x = jnp.ones(3)
---
old, sys.displayhook = sys.displayhook, r.show
sys.displayhook(x.shape)
sys.displayhook = old
del old
y = x * 2
print(len(r.got))
---
x = x + 1

### tn-hook-in-helper
shown = []
def hook(v): shown.append(v)
x = jnp.ones(3)
def tell(v):
    sys.displayhook(v.shape)
    return v * 2
---
old, sys.displayhook = sys.displayhook, shown.append
y = tell(x)
sys.displayhook = old
del old
print(len(shown))
---
x = x + 1

### tn-bound-method-under-a-name
shown = []
push = shown.append
x = jnp.ones(3)
---
push(x.shape)
y = x * 2
print(len(shown))
---
x = x + 1

### tn-patched-module-attr
import math, textwrap
got = []
x = jnp.ones(3)
def tell(v):
    textwrap.note(v.ndim)
    return v * 2
---
textwrap.note = got.append
y = tell(x)
del textwrap.note
print(len(got))
---
x = x + 1

### tn-with-profile
import cProfile, pstats, io
x = jnp.ones(3)
def f(v): return jnp.sin(v) * 2
---
with cProfile.Profile() as p:
    y = f(x) + f(x * 2)
n = sum(c[0] for w, c in pstats.Stats(p, stream=io.StringIO()).stats.items() if w[2] == "f")
del p
print(n)
---
x = x + 1

### tn-profiled-function
import cProfile, pstats, io
x = jnp.ones(3)
def f(v): return jnp.sin(v) * 2
def profiled(v):
    p = cProfile.Profile()
    p.enable()
    out = f(f(v))
    p.disable()
    return out, sum(c[0] for w, c in pstats.Stats(p, stream=io.StringIO()).stats.items() if w[2] == "f")
---
y, n = profiled(x)
print(n)
---
x = x + 1

### tn-notes
x = jnp.ones(3)
def bad(v): return v @ jnp.ones(4)
---
try:
    y = bad(x)
except TypeError as e:
    y = None
    print(getattr(e, "__notes__", []), [f.name for f in traceback.extract_tb(e.__traceback__) if "jax" not in f.filename])
z = x * 2
---
x = x + 1

### tn-locals-by-helper
x = jnp.ones(6)
def bad(v, n):
    scale = n * 2
    out = v.reshape(n, -1)
    return out * scale
def report(e):
    tb = e.__traceback__
    while tb.tb_frame.f_code.co_name != "bad":
        tb = tb.tb_next
    return list(tb.tb_frame.f_locals), tb.tb_lineno - tb.tb_frame.f_code.co_firstlineno
---
try:
    y = bad(x, 4)
except TypeError as e:
    y = None
    r = report(e)
print(r)
---
x = x + 1

### tn-notes-in-trace
x = jnp.ones(3)
w = jnp.ones(3)
def run(v):
    try:
        return v @ w, None
    except TypeError as e:
        return v, (getattr(e, "__notes__", []), [f.name for f in traceback.extract_tb(e.__traceback__)], str(e))
---
y, r = run(x)
print(r)
z = y * 2
---
w = jnp.ones(4)

### tn-format-exc-in-trace
x = jnp.ones(3)
w = jnp.ones(4)
log = []
def run(v):
    try:
        return v @ w
    except TypeError:
        log.append(traceback.format_exc())
        return v
---
y = run(x)
z = y * 2
print(len(log[-1]) > 10, "run" in log[-1])
---
w = jnp.ones(3)

### tn-context-in-trace
x = jnp.ones(3)
w = jnp.ones(4)
def run(v):
    try:
        return v @ w
    except TypeError as e:
        raise ValueError("bad shapes") from e
---
r = None
try:
    y = run(x)
except ValueError as e:
    y = x
    r = [str(e), type(e.__cause__).__name__, e.__cause__.__notes__ if hasattr(e.__cause__, "__notes__") else None]
print(r)
---
w = jnp.ones(3)

### tn-jit-in-shardings-input devices=8
P, NS = jax.P, jax.NamedSharding
mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
r = jax.device_put(jnp.arange(16.0).reshape(8, 2), NS(mesh, P()))
f = jax.jit(lambda v: v * 2, in_shardings=NS(mesh, P("d")))
---
z = f(r)
---
r = jax.device_put(r, NS(mesh, P("d")))

### tn-jit-in-shardings-computed devices=8
P, NS = jax.P, jax.NamedSharding
mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
r = jax.device_put(jnp.arange(16.0).reshape(8, 2), NS(mesh, P()))
f = jax.jit(lambda v: v * 2, in_shardings=NS(mesh, P("d")))
---
z = f(r + 1)

### tn-jit-in-shardings-caught devices=8
P, NS = jax.P, jax.NamedSharding
mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
r = jax.device_put(jnp.arange(16.0).reshape(8, 2), NS(mesh, P()))
f = jax.jit(lambda v: v * 2, in_shardings=NS(mesh, P("d")))
---
try:
    z = f(r + 1)
except ValueError as e:
    z = None
    print(str(e)[:40])

### tn-pmap-input devices=8
P, NS = jax.P, jax.NamedSharding
mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
r = jax.device_put(jnp.arange(16.0).reshape(8, 2), NS(mesh, P()))
f = jax.pmap(lambda v: v * 2, axis_name="d")
---
z = f(r)
---
r = jax.device_put(r, NS(mesh, P("d")))

### tn-pmap-computed devices=8
P, NS = jax.P, jax.NamedSharding
mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
r = jax.device_put(jnp.arange(16.0).reshape(8, 2), NS(mesh, P()))
f = jax.pmap(lambda v: v * 2, axis_name="d")
---
z = f(r + 1)

### tn-shard-map-computed devices=8
P, NS = jax.P, jax.NamedSharding
mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
r = jax.device_put(jnp.arange(16.0).reshape(8, 2), NS(mesh, P()))
f = jax.shard_map(lambda v: v * 2, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
---
z = f(r + 1)

### tn-donated-intermediate-bound
bump = jax.jit(lambda st, k: st + k, donate_argnums=0)
state = jnp.zeros(4)
---
a = state * 2
b = bump(a, 1.0)
print(a.is_deleted())
b

### tn-donated-intermediate-in-loop
bump = jax.jit(lambda st, k: st + k, donate_argnums=0)
state = jnp.zeros(4)
n = 3
---
old = None
for i in range(n):
    old, state = state, bump(state, float(i))
print(old.is_deleted())
state
---
n = 1

### tn-a-dict-that-makes-what-is-asked-and-answers-by-attribute
class Params(dict):
    __getattr__ = dict.__getitem__
    def __missing__(self, k):
        self[k] = v = jnp.zeros(2)
        return v
p = Params(w=jnp.ones(2))
---
p.update(w=p.w * 2)
p.setdefault("b", p.w)
p.__getitem__("c")
y = p.w + p.b
---
p.clear()

### tn-a-list-that-python-grows-is-read-by-what-computes-nothing
held = {"seen": []}
x = jnp.ones(2)
def note(v, to=held):
    to["seen"].append(v)
    if float(v.sum()) > 100:
        to["seen"].clear()
---
note(x)
y = x * 2
seen = held["seen"]
len(seen), seen[-1] is x
---
x = x * 2

### tn-counts-of-python-beside-a-list-that-grows
import collections
x, stats, seen = jnp.arange(4.0), collections.defaultdict(list), collections.Counter()
---
stats["mean"].append(x.mean())
seen["run"] += 1
y = x * seen["run"]
len(stats["mean"])
---
stats.clear()

### tn-a-number-of-a-function-that-remembers-becomes-an-input-at-once
x = jnp.arange(4.0)
def remember(v, seen=[]):
    seen.append(v)
    return len(seen)
---
n = remember(x * 2)
y = x * n
n
""",
    theme="tn_reduced",
)
