"""Cells that raise midway, after they changed things; mended, and run again."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, functools, collections
x = jnp.arange(4.0)
bad = True
"""

CELLS = written(
    PRELUDE,
    r"""
### fail-after-append
hist = [x]
---
hist.append(x * 2)
if bad:
    raise ValueError("too bad")
y = hist[-1] + 1
---
bad = False

### fail-after-attribute
class M: pass
m = M(); m.w, m.n = x, 0
---
m.w = m.w * 2
m.n += 1
m.extra = "new"
assert not bad, "still bad"
y = m.w
---
bad = False

### fail-shape-error
---
a = x * 2
b = a @ jnp.ones((3, 2))
---
x = jnp.arange(3.0)

### fail-key-error
d = {"a": x}
---
d["b"] = d["a"] + 1
y = d["c"]
---
d["c"] = x

### fail-name-error
---
y = x + 1
z = y * undefined_scale
---
undefined_scale = 2.0

### fail-zero-division
n = 0
---
total = x.sum()
mean = float(total) / n
---
n = 4

### fail-in-helper
log = []
def check(v):
    log.append("checked")
    if float(v.sum()) < 10:
        raise RuntimeError(f"sum {float(v.sum()):.1f} is too small")
    return v
---
y = check(x * 1.5)
z = y + 1
---
x = x + 5

### fail-in-loop-midway
acc = []
limit = 2
---
for i in range(4):
    acc.append(x * i)
    if i == limit:
        raise IndexError(i)
total = sum(acc)
---
limit = 10

### fail-caught-in-cell
---
try:
    y = x @ jnp.ones((3, 3))
except TypeError as e:
    y = x
    kind = type(e).__name__
y, kind
---
x = jnp.ones(3)

### fail-caught-value-error
def parse(v):
    if v.ndim != 2:
        raise ValueError("need a matrix")
    return v
---
try:
    out = parse(x)
except ValueError as e:
    out = x[None]
    msg = str(e)
out.shape

### fail-finally-runs
flags = {"closed": 0}
---
try:
    y = x * 2
    if bad:
        raise OSError("gone")
finally:
    flags["closed"] += 1
z = y + 1
---
bad = False
""",
)
