"""The smallest forms of what the cells of the other `ua` themes, and trials beside them, found to differ."""

from ..cell import written

PRELUDE = """
import contextlib, logging, sys, io, os
import numpy as np
import jax
import jax.numpy as jnp
log = logging.getLogger("ua.reduced"); log.setLevel(logging.INFO)
x = jnp.ones(2)
"""

CELLS = written(
    PRELUDE,
    r"""
### ua-red-log-a-dict-of-metrics-in-a-helper
def run(x):
    log.info("metrics %s", {"loss": x.sum()})
    return x * 2
---
y = run(x)

### ua-red-log-a-list-beside-a-scalar-in-a-helper
def run(x):
    log.info("grads %s norm %s", [x, x * 2], x.sum())
    return x * 2
---
y = run(x)

### ua-red-log-a-dict-as-the-message
def run(x):
    log.info({"loss": x.sum(), "step": 1})
    return x * 2
---
y = run(x)

### ua-red-print-under-printoptions-in-a-helper
def show(x):
    with np.printoptions(precision=2): print(x / 3)
    return x
---
y = show(x)

### ua-red-helper-prints-within-printoptions-of-the-cell
def show(x): print(x / 3)
---
with np.printoptions(precision=2):
    show(x)

### ua-red-log-under-printoptions
def show(x):
    with np.printoptions(precision=2): log.info("x %s", x / 3)
    return x
---
y = show(x)

### ua-red-printoptions-as-a-decorator
@np.printoptions(precision=2)
def show(x):
    print(x / 3)
    return x
---
y = show(x)

### ua-red-handler-added-and-removed-by-a-helper
class Lines(logging.Handler):
    def __init__(self): super().__init__(); self.lines = []
    def emit(self, r): self.lines.append(r.getMessage())
def run(x):
    h = Lines(); log.addHandler(h)
    log.info("v %s", x.sum())
    log.removeHandler(h)
    return x * len(h.lines)
---
y = run(x)

### ua-red-handler-of-the-user-counts-and-is-read
class Counter(logging.Handler):
    n = 0
    def emit(self, r): type(self).n += 1
own, counter = logging.getLogger(os.getcwd().replace(".", "")), Counter()
own.addHandler(counter); own.setLevel(logging.INFO); own.propagate = False
def run(x):
    own.info("v %s", x.sum())
    return x * Counter.n
---
y = run(x)

### ua-red-filter-added-and-removed-by-a-helper
def run(x):
    seen = []
    f = lambda r: seen.append(r.levelname) or True
    log.addFilter(f)
    log.info("v %s", x.sum())
    log.removeFilter(f)
    return x * len(seen)
---
y = run(x)

### ua-red-propagation-off-and-on-around-a-record
def run(x):
    log.propagate = False
    log.info("quiet %s", x.sum())
    log.propagate = True
    return x
---
y = run(x)

### ua-red-max-traces-of-a-step-called-in-two-pieces needs=equinox
import equinox as eqx
@jax.jit
@eqx.debug.assert_max_traces(max_traces=1)
def step(w): return w - 0.1 * w
---
x = step(x)
print(float(x[0]))
x = step(x)

### ua-red-tracer-left-by-jit-and-cleared-in-the-cell
kept = []
@jax.jit
def leaky(x):
    kept.append(x)
    return x * 2
---
y = leaky(x)
kept.clear()

### ua-red-tour-of-the-unexpected-tracer-error
kept = {}
@jax.jit
def leaky(x):
    kept["h"] = jnp.tanh(x)
    return kept["h"] * 2
---
y = leaky(x)
try:
    kept["h"] + 1
except jax.errors.UnexpectedTracerError as e:
    print(type(e).__name__)
except KeyError:
    print("not traced again")
kept.clear()
""",
)
