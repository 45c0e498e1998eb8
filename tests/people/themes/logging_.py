"""Logs and prints: loggers, warnings, prints with and without values, in cells, helpers and loops."""

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
### log-info-plain
---
log.info("starting")
y = x * 2
log.info("done")
---
x = x + 1

### log-info-value
---
y = x.sum()
log.info("sum is %.2f", y)
z = y + 1
---
x = x * 2

### log-info-fstring
---
y = jnp.mean(x)
log.info(f"mean={y:.3f} shape={x.shape}")
---
x = x - 1

### log-in-helper
def step(v):
    log.info("stepping with %s", v.shape)
    return v * 2
---
y = step(x)
z = step(y)
z
---
x = jnp.arange(5.0)

### log-in-loop
---
for i in range(3):
    x = x * 0.5
    log.info("epoch %d norm %.3f", i, jnp.linalg.norm(x))
---
x = jnp.ones(4)

### log-debug-suppressed
---
log.debug("hidden %s", x)
y = x + 1
log.warning("shown")
---
log.setLevel(logging.DEBUG)

### log-level-checked
---
if log.isEnabledFor(logging.DEBUG):
    log.debug("sum %s", float(x.sum()))
y = x * 2
y
---
log.setLevel(logging.DEBUG)

### log-object-with-logger
class Trainer:
    def __init__(self):
        self.logger = logging.getLogger("train.loop")
        self.w = jnp.ones(4)
    def step(self, x):
        self.logger.info("step")
        self.w = self.w + x
        return self.w.sum()
t = Trainer()
---
s = t.step(x)
t.logger is logging.getLogger("train.loop"), s
---
t.w = jnp.zeros(4)

### log-handler-in-cell
---
buf = io.StringIO()
h = logging.StreamHandler(buf)
log.addHandler(h)
log.info("hello")
y = x + 1
log.removeHandler(h)
buf.getvalue()

### log-file-handler
h = logging.FileHandler("run.log")
log.addHandler(h)
---
y = x.max()
log.info("max %.1f", y)
h.flush()
---
x = x * 3

### log-exception-caught
---
try:
    y = x @ jnp.ones((2, 2))
except TypeError:
    log.error("bad shapes")
    y = x
y
---
x = jnp.ones(2)
""",
)
