"""The smallest cells of what differed in the themes `xa_*`, and their neighbours."""

from ..cell import written

PRELUDE = """
import collections, contextlib, functools, io, logging, operator, sys, types, warnings
from functools import partial
import numpy as np
import jax
import jax.numpy as jnp
from jax import lax
x = jnp.array([3.0, -1.0, 2.0]); w = jnp.ones(3)
def h(k): return w * k
class Hard(BaseException): pass
"""

CELLS = written(
    PRELUDE,
    r"""
### xa-red-name-bound-by-the-cell-read-by-a-helper-in-try
---
try: w = h(2)
except Exception: w = x * 3
---
w = w * 0 + 1

### xa-red-name-read-by-a-helper-in-try-name-error
---
try: w = h(2)
except NameError: w = x * 3

### xa-red-name-read-by-a-helper-in-bare-except
---
r = 0
try: w = h(2)
except: r = 1

### xa-red-name-read-by-a-helper-in-suppress
---
with contextlib.suppress(Exception): w = h(2)

### xa-red-name-read-by-a-helper-that-catches-itself
def safe():
    try: return h(2)
    except Exception: return None
---
w = safe()

### xa-red-name-read-by-a-helper-with-retry-decorator
def retry(f):
    @functools.wraps(f)
    def g(*a):
        for _ in range(3):
            try: return f(*a)
            except Exception: pass
        return x * 0
    return g
step = retry(h)
---
w = step(2)

### xa-red-name-read-by-a-method-in-a-loop-with-try
class T:
    def step(self): return w * 2
t = T(); bad = []
---
for i in range(2):
    try: w = t.step()
    except Exception as e: bad.append(repr(e))

### xa-red-name-read-by-helper-else-clause
---
try: y = h(2)
except Exception: ok = False
else: ok = True; w = y

### xa-red-name-read-by-str-method-that-catches
class P:
    def __str__(self):
        try: return str(w.shape)
        except Exception: return "?"
p = P()
---
r = f"{p}"
w = x * 2

### xa-red-params-read-by-a-train-step-in-a-training-loop-with-try
params = {"a": jnp.ones(3)}
def loss(): return jnp.sum((params["a"] - x) ** 2)
def train_step(lr): return {"a": params["a"] - lr * jax.grad(lambda p: jnp.sum((p["a"] - x) ** 2))(params)["a"]}
lr = 0.1
---
status = "ok"
try:
    params = train_step(lr)
except Exception as e:
    status = f"failed: {e}"
---
lr = 0.2

### xa-red-function-redefined-later-in-the-cell-called-by-a-helper-in-try
def g(v): return v * 2
def safe(v):
    try: return g(v)
    except Exception: return None
---
y = safe(x)
def g(v): return v * 3
z = safe(x)

### xa-red-loop-variable-of-the-cell-read-by-a-helper-in-try
i = 7
def f(v):
    try: return v * i
    except Exception: return v
---
y = f(x)
for i in range(3): z = f(x)

### xa-red-name-imported-by-the-cell-read-by-a-helper-before
import math as m
def f(v):
    try: return v * m.pi
    except Exception: return v
---
y = f(x)
import cmath as m

### xa-red-builtin-name-bound-in-setup-and-by-the-cell
sum = lambda t: jnp.sum(t) * 10
def f(v): return sum(v)
---
y = f(x)
sum = lambda t: jnp.sum(t) * 10

### xa-red-builtin-abs-redefined-between-two-calls
abs = lambda t: t * 100
def f(v): return abs(v)
---
y = f(x)
abs = lambda t: t * 5
z = f(x)

### xa-red-builtin-name-asked-whether-callable
hash = 2
def f(v): return v * 2 if callable(hash) else v * 3
---
y = f(x); hash = 3

### xa-red-builtin-max-as-a-number
max = 5
def f(): return x * (max if isinstance(max, int) else 0)
---
y = f(); max = 6

### xa-red-base-exception-in-a-loop-and-a-handler-that-prints
---
done = 0
try:
    for i in range(3):
        y = x * i; done += 1
        if i == 1: raise KeyboardInterrupt
except KeyboardInterrupt: print("stopped")

### xa-red-base-exception-of-a-helper-and-a-handler-that-prints
def step(i):
    if i == 3: raise Hard
    return x * i
---
done = 0
try:
    y = step(1); done = 1
    y = step(3); done = 2
except Hard: print("stopped", done)

### xa-red-system-exit-of-a-helper-and-a-handler-that-prints
def step(i):
    if i == 2: raise SystemExit(i)
    return x * i
---
done = 0
try:
    for i in range(5): y = step(i); done += 1
except SystemExit as e: print("exit", e.code, done)

### xa-red-base-exception-holds-a-number-that-each-run-changes cold
done = 0
def step(k):
    if k >= 2: raise Hard(k)
    return x * k
---
try: y = step(done)
except Hard as e: r = e.args, str(e)
done += 1

### xa-red-system-exit-raised-by-the-handler-of-an-error-that-plain-does-not-meet
---
try: r = float(x.sum())
except TypeError as e: raise SystemExit(f"failed: {e}")

### xa-red-system-exit-by-a-handler-of-any-error
---
try:
    y = x * 2
    if y.sum() > 1: y = y + 1
except Exception as e: raise SystemExit(f"failed: {e}")

### xa-red-deleted-array-used-in-try-and-a-handler-that-prints
t = x * 2; t.delete()
---
try: y = t + 1
except RuntimeError: print("gone")

### xa-red-deleted-array-caught-in-a-helper
t = x * 2; t.delete()
def safe(v):
    try: return float(v.sum())
    except RuntimeError: return -1.0
---
r = safe(t)

### xa-red-static-float-replaced-by-an-equal-numpy-float32
c = 1.0
---
y = jnp.asarray(c)
---
c = np.float32(1)
---
c = np.float64(1)

### xa-red-static-float-in-sqrt-replaced-by-an-equal-numpy-float32
c = 4.0
---
y = jnp.sqrt(c)
---
c = np.float32(4)

### xa-red-static-complex-replaced-by-an-equal-numpy-complex64
c = 1 + 0j
---
y = jnp.asarray(c)
---
c = np.complex64(1)

### xa-red-scalar-class-jnp-float32-replaced-by-numpy-float32
dt = jnp.float32
---
y = dt(2.0); r = type(y).__name__
---
dt = np.float32

### xa-red-scalar-class-told-in-text
cfg = {"dtype": jnp.float32}
---
y = x.astype(cfg["dtype"]); r = str(cfg)
---
cfg["dtype"] = np.float32

### xa-red-class-replaced-by-another-that-is-equal-to-it
class Meta(type):
    def __eq__(cls, other): return True
    def __hash__(cls): return 3
class L1(metaclass=Meta): k = 1
class L2(metaclass=Meta): k = 2
c = L1
---
y = x * c.k; r = c.__name__
---
c = L2

### xa-red-walrus-in-a-condition-binds-what-a-helper-has-read
q = 5
def f(v):
    try: return v * q
    except Exception: return None
---
y = f(x)
if (q := 3) > 2: z = f(x)

### xa-red-size-of-an-array-object
---
y = x * 2
r = sys.getsizeof(y)

### xa-red-array-priority
---
y = x * 2
r = y.__array_priority__

### xa-red-hash-method-is-none
---
y = x * 2
r = y.__hash__ is None

### xa-red-stop-gradient-of-a-python-float
c = 1.0
---
y = lax.stop_gradient(c); r = type(y).__name__

### xa-red-stop-gradient-of-a-numpy-float32
c = np.float32(1)
---
y = lax.stop_gradient(c); r = type(y).__name__

### xa-red-function-attribute-made-by-the-function
def f(v):
    f.last = v.sum()
    return v * 2
---
y = f(x)
---
x = x + 1

### xa-red-pure-callback-that-raises-caught
def cb(v): raise ValueError("bad value")
---
try: y = jax.pure_callback(cb, x, x).block_until_ready()
except Exception as e: y = x
""",
)
