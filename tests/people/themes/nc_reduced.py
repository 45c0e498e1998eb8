"""What fresh cells came down to: errors caught under a transformation, one dict of many objects, lists of `sys`."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np
"""

CELLS = written(
    PRELUDE,
    r"""
### nc-vmap-catch
def escape(c, n):
    z = 0.0
    for i in range(n):
        z = z * z + c
        if jnp.abs(z) > 2.0:
            return i
    return n
xs = jnp.array([0.1, 0.5, 1.0]); n = 5
---
try:
    counts = jax.vmap(escape, (0, None))(xs, n)
except jax.errors.TracerBoolConversionError as e:
    kind = type(e).__name__
    counts = jnp.array([escape(c, n) for c in xs])
kind, counts
---
n = 4

### nc-vmap-catch-in-function
def escape(c):
    return jnp.float32(float(c) * 2)
def safe(xs):
    try:
        return jax.vmap(escape)(xs)
    except Exception as e:
        print(type(e).__name__)
        return jnp.array([escape(c) for c in xs])
xs = jnp.array([0.1, 0.5, 1.0])
---
y = safe(xs)
z = y * 2
---
xs = xs * 2

### nc-grad-of-nonscalar-caught
def f(x): return x * 2
x = jnp.ones(3)
---
try:
    g = jax.grad(f)(x)
except TypeError as e:
    print(str(e)[:40]); g = jax.grad(lambda a: f(a).sum())(x)
g
---
x = x * 2
### nc-borg
class Borg:
    _shared = {"gain": 2.0}
    def __init__(self): self.__dict__ = self._shared
class A: pass
x = jnp.arange(3.0)
---
a, b = Borg(), Borg()
y = x * a.gain
b.extra = y.max()
c, d = A(), A()
c.v = y * 2; d.__dict__ = c.__dict__; d.w = y + 1
names = sorted(vars(c)), vars(a) is vars(b)
view = vars(A()); view["k"] = y
y
---
Borg._shared["gain"] = 3.0
### nc-stdlib-lists
import sys, warnings, copyreg, logging
class F:
    def find_spec(self, name, path=None, target=None): return None
f = F(); x = jnp.arange(3.0)
---
sys.meta_path.append(f)
try:
    y = x * 2
    n = len(sys.meta_path)
    if y.sum() > 1: y = y + n * 0
finally:
    sys.meta_path.remove(f)
m = f in sys.meta_path
y
---
x = x + 1
""",
)
