"""Cells whose program holds a large constant, each with the same cell where it is an input or is computed; and cells
whose large arrays are no constants."""

from __future__ import annotations

from findings.quietly import Case

__all__ = ["BAKED", "CLEAN", "SETUP"]

SETUP = """
import functools, dataclasses
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.arange(8.0)
big, table = jnp.ones((600, 600)), np.ones((600, 600), np.float32)
small = np.ones(100, np.float32)
def helper(v): return v + jnp.asarray(np.arange(500_000)).sum()
def mask(n): return np.tril(np.ones((n, n), np.float32))
@functools.lru_cache
def cached(): return jnp.ones((600, 600))
_ = cached()
@functools.lru_cache
def held(): return big
_ = held()
times_big = jax.jit(lambda v: v * big.sum())
class Net:
    def __init__(self): self.w = jnp.ones((600, 600))
    def __call__(self, v): return v * self.w.sum()
net = Net()
"""

_BEFORE = "in a cell or statement before"

BAKED: dict[str, Case] = {
    "NumPy in a helper of another cell": Case(
        "y = x * 2\ny = helper(y)", 2, "a constant of 2.0 MB", _BEFORE, "y = x * 2\ny = y + jnp.arange(500_000).sum()"
    ),
    "NumPy in a helper of the cell": Case(
        "def f(v):\n    t = np.arange(500_000)\n    return v + jnp.sum(t * v[0])\ny = f(x)",
        3,
        "`t`, int32[500000], is a constant of 2.0 MB",
        "make `t` in a cell",
        "t = np.arange(500_000)\ndef f(v):\n    return v + jnp.sum(t * v[0])\ny = f(x)",
    ),
    "a matrix on the line": Case(
        "y = x[0] + jnp.array(np.tri(1000))",
        1,
        "`jnp.array(np.tri(1000))`, float32[1000,1000]",
        _BEFORE,
        "y = x[0] + jnp.tri(1000)",
    ),
    "a list of numbers": Case(
        "y = x.sum() * jnp.array([1.0] * 300_000)",
        1,
        "float32[300000], is a constant of 1.2 MB",
        _BEFORE,
        "y = x.sum() * jnp.full(300_000, 1.0)",
    ),
    "in the body of a scan": Case(
        "def step(c, v):\n    t = np.ones(400_000)\n    return c + jnp.sum(t * c), v\ny = lax.scan(step, 0.0, x)",
        3,
        "`t`, float32[400000],",
        "make `t`",
        "def step(c, v):\n    t = jnp.ones(400_000)\n    return c + jnp.sum(t * c), v\ny = lax.scan(step, 0.0, x)",
    ),
    "under jit": Case(
        "@jax.jit\ndef f(v):\n    t = np.linspace(0, 1, 400_000)\n    return v.sum() + t * v[0]\ny = f(x)",
        4,
        "`t`",
        "make `t`",
        "@jax.jit\ndef f(v):\n    t = jnp.linspace(0, 1, 400_000)\n    return v.sum() + t * v[0]\ny = f(x)",
    ),
    "under vmap": Case(
        "y = jax.vmap(lambda v: v * jnp.asarray(np.ones(400_000)).sum())(x)",
        1,
        "`jnp.asarray(np.ones(400000))`",
        _BEFORE,
        "y = jax.vmap(lambda v: v * jnp.ones(400_000).sum())(x)",
    ),
    "under grad": Case(
        "def loss(v):\n    t = np.ones(400_000)\n    return jnp.sum(t * v[0] ** 2)\ng = jax.grad(loss)(x)",
        3,
        "`t`",
        "make `t`",
        "t = np.ones(400_000, np.float32)\ndef loss(v):\n    return jnp.sum(t * v[0] ** 2)\ng = jax.grad(loss)(x)",
    ),
    "in a branch": Case(
        "y = lax.cond(x[0] > 0, lambda v: v * jnp.asarray(np.ones(400_000)), lambda v: jnp.zeros(400_000), x[1])",
        1,
        "of 1.6 MB",
        _BEFORE,
        "y = lax.cond(x[0] > 0, lambda v: v * jnp.ones(400_000), lambda v: jnp.zeros(400_000), x[1])",
    ),
    "a result as it is": Case(
        "y = x * 2\nz = jnp.array(np.ones(400_000))",
        2,
        "`z`, float32[400000],",
        "make `z`",
        "y = x * 2\nz = jnp.ones(400_000)",
    ),
    "a mask that a function makes": Case(
        "scores = jnp.outer(x, x)[0, 0] * mask(600)", 1, "float32[600,600]", _BEFORE, "m = mask(600)\nscores = x[0] * m"
    ),
    "what a cached function gives": Case(
        "y = x * 2\ny = y * held().sum()", 2, "`big`", "read `big`", "y = x * big.sum()"
    ),
    "positions": Case(
        "pos = np.arange(300_000)[:, None]\n"
        "def encode(v):\n    p = np.arange(300_000)\n    return jnp.sin(p * v)\ny = encode(x[1])",
        4,
        "`p`",
        "make `p`",
        "p = jnp.arange(300_000)\ndef encode(v):\n    return jnp.sin(p * v)\ny = encode(x[1])",
    ),
    "indices": Case(
        "def pick(v):\n    rows, cols = np.indices((600, 600))\n    return v[rows % 8] + cols\ny = pick(x)",
        3,
        "constant of 1.4 MB",
        _BEFORE,
        "def pick(v):\n    rows, cols = jnp.indices((600, 600))\n    return v[rows % 8] + cols\ny = pick(x)",
    ),
    "a random table": Case(
        "rng = np.random.RandomState(0)\ntable2 = rng.rand(600, 600)\n"
        "def f(v):\n    t = np.outer(np.arange(600), np.arange(600))\n    return v[0] * t\ny = f(x)",
        5,
        "`t`",
        "make `t`",
        "t = np.outer(np.arange(600), np.arange(600))\ndef f(v):\n    return v[0] * t\ny = f(x)",
    ),
    "a method": Case(
        "class M:\n    def __call__(self, v):\n        eye = np.eye(600)\n        return v[0] * eye\ny = M()(x)",
        4,
        "`eye`",
        "make `eye`",
        "class M:\n    def __call__(self, v):\n        eye = jnp.eye(600)\n        return v[0] * eye\ny = M()(x)",
    ),
}

CLEAN: dict[str, str] = {
    "a global array": "y = x * big.sum()",
    "a NumPy array": "y = x * jnp.sum(table)",
    "a jitted function of another cell": "y = times_big(x)",
    "an object's array": "y = net(x)",
    "closure": "def make(w):\n    return lambda v: v * w.sum()\ny = make(big)(x)",
    "partial": "y = functools.partial(lambda w, v: v * w.sum(), big)(x)",
    "default argument": "def f(v, w=big): return v * w.sum()\ny = f(x)",
    "made by jax.numpy": "y = x[0] * jnp.ones((600, 600)) + jnp.arange(600) + jnp.eye(600)",
    "under jit with a global": "y = jax.jit(lambda v: v * jnp.sum(table))(x)",
    "in a scan with a global": "y = lax.scan(lambda c, v: (c + v * big.sum(), v), 0.0, x)",
    "a small constant": "y = x[0] + jnp.array(np.ones(1000))",
    "a helper with a small table": "y = jnp.sum(jnp.asarray(np.arange(5000))) * x",
    "Python before": "t = np.linspace(0, 1, 400_000, dtype=np.float32)\ny = jnp.sin(t) + x[0]",
    "shapes of large arrays": "y = jnp.zeros(table.shape) + x[0]",
    "in a list": "ws = [big, big * 2]\ny = x * ws[0].sum()",
}
