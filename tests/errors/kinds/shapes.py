"""Operands that do not fit."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "shapes",
    r"""
### dot-rows-by-rows raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.matmul.html
import jax.numpy as jnp
x, w = jnp.ones((2, 3)), jnp.ones((4, 3))
---
h = x + 0
y = h @ w
---
h = x + 0
y = h @ w.T
---
cause: contract|meet; 3; 4
names: h; w
fix: w.T
""",
)
