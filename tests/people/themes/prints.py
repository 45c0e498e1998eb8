"""Prints and warnings: with and without values, in helpers and loops, redirected, in order."""

from ..cell import written

PRELUDE = """
import logging, warnings, sys, io, contextlib, pprint
import jax, jax.numpy as jnp, numpy as np
log = logging.getLogger("train")
log.setLevel(logging.INFO)
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### print-shapes
---
y = x[:, None] * x
print(y.shape, y.dtype, type(y).__name__)
---
x = jnp.arange(3)

### print-in-helper-no-value
def layer(v):
    print("layer", v.ndim)
    return jnp.tanh(v)
---
y = layer(layer(x))
y.sum()
---
x = x[None]

### print-in-helper-value
def show(v, name):
    print(f"{name}: {v}")
    return v
---
y = show(x * 2, "double")
z = show(y.sum(), "sum")
---
x = x + 1

### print-order-mixed
def f(v):
    print("in f")
    return v + 1
---
print("start")
y = f(x)
print("sum", y.sum())
z = f(y)
print("end", z.shape)
---
x = x * 2

### print-to-stderr
---
print("note", file=sys.stderr)
y = x * 2
print(y.shape, file=sys.stdout)
---
x = x + 1

### print-sep-end-flush
---
for i in range(3):
    print(i, end=" ", flush=True)
print()
y = x * i
print("y", y, sep=": ")
---
x = x + 1

### print-pprint-tree
tree = {"w": x, "cfg": {"lr": 0.1, "n": 3}}
---
pprint.pprint({k: getattr(v, "shape", v) for k, v in tree.items()})
y = tree["w"] * tree["cfg"]["lr"]
y
---
tree["cfg"]["lr"] = 0.5

### print-redirected
---
out = io.StringIO()
with contextlib.redirect_stdout(out):
    print("captured", x.shape)
y = x + len(out.getvalue())
y
---
x = jnp.arange(12.0)

### print-jit-trace-time
@jax.jit
def g(v):
    print("tracing", v.shape)
    return v * 2
---
y = g(x)
y
---
x = jnp.arange(6.0)

### print-in-grad
def loss(w):
    print("loss called")
    return jnp.sum(w ** 2)
---
l, g = jax.value_and_grad(loss)(x)
print(f"{l:.1f}")
g
---
x = x + 1

### warn-in-cell
---
warnings.warn("careful")
y = x + 1
y
---
x = x * 2

### warn-in-helper
def norm(v):
    if v.ndim == 1:
        warnings.warn("vector given", UserWarning)
    return v / jnp.linalg.norm(v)
---
y = norm(x + 1)
y.shape
---
x = jnp.ones((2, 2))

### warn-as-error
---
with warnings.catch_warnings():
    warnings.simplefilter("error")
    y = jnp.sum(x)
z = y * 2
z
---
x = x + 1

### warn-on-value
---
y = x.min()
if y <= 0:
    warnings.warn(f"min is {y:.1f}")
z = jnp.maximum(x, 0.1)
z
---
x = x + 1

### log-root-basic-config
logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
---
logging.info("root says %d", 3)
y = x * 3
y
---
logging.getLogger().setLevel(logging.ERROR)

### log-adapter
ad = logging.LoggerAdapter(log, {"run": "a1"})
---
ad.info("with adapter")
y = x * 2
y
---
x = x - 1

### log-level-set-in-cell
---
old = log.level
log.setLevel(logging.WARNING)
log.info("not shown")
y = x * 2
log.setLevel(old)
log.info("shown")

### print-repr-of-object
class P:
    def __init__(self, v):
        self.v = v
    def __repr__(self):
        return f"P({self.v.shape})"
p = P(x)
---
print(p, [p], {"p": p})
q = P(p.v * 2)
q
---
p = P(jnp.ones((2, 2)))

### print-bool-and-compare
---
ok = jnp.all(x >= 0)
print("ok" if ok else "not ok", bool(ok), ok)
n = int(x.sum())
print(n, n / 2)
---
x = x - 5
""",
)
