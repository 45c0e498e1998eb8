"""Cells whose traced functions act while they are traced, each with the same cell as it is meant; and cells that act
where it happens each time."""

from __future__ import annotations

from findings.quietly import Case

__all__ = ["ACTING", "CLEAN", "SETUP"]

SETUP = """
import datetime, functools, logging, random, time
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.arange(8.0)
log, seen, counts, total = [], set(), {"calls": 0}, 0
rng = np.random.default_rng(0)
logger = logging.getLogger("test")
def shout(v):
    print("traced")
    return v * 2
loud = jax.jit(shout)
def helper(v):
    return v * random.random()
"""

_PRINT = "jax.debug.print"
_KEY = "jax.random, from a key"
_OUTSIDE = "outside of the function"

ACTING: dict[str, Case] = {
    "print under jit": Case(
        "@jax.jit\ndef f(v):\n    print('f', v)\n    return v + 1\ny = f(x)",
        3,
        "`print('f', v)` prints while jax.jit traces the function: once a trace, not on every call",
        _PRINT,
        "@jax.jit\ndef f(v):\n    jax.debug.print('f {}', v)\n    return v + 1\ny = f(x)",
    ),
    "print in a jitted function of another cell": Case(
        "y = x * 2\ny = loud(y)", 2, "`print('traced')` prints while jax.jit", _PRINT, "y = x * 2\ny = shout(y)"
    ),
    "print in a lambda": Case(
        "f = jax.jit(lambda v: (print('now'), v + 1)[1])\ny = f(x)",
        1,
        "prints",
        _PRINT,
        "f = lambda v: (print('now'), v + 1)[1]\ny = f(x)",
    ),
    "print under partial(jit)": Case(
        "@functools.partial(jax.jit, static_argnums=1)\ndef f(v, n):\n    print(n)\n    return v * n\ny = f(x, 3)",
        3,
        "`print(n)` prints",
        _PRINT,
        "@functools.partial(jax.jit, static_argnums=1)\ndef f(v, n):\n    return v * n\nprint(3)\ny = f(x, 3)",
    ),
    "print in a scan": Case(
        "def step(c, v):\n    print('step')\n    return c + v, v\ny = lax.scan(step, 0.0, x)",
        2,
        "while jax.lax.scan traces the function: once a trace, not for each turn",
        _PRINT,
        "def step(c, v):\n    jax.debug.print('step')\n    return c + v, v\ny = lax.scan(step, 0.0, x)",
    ),
    "print in a loop body": Case(
        "y = lax.fori_loop(0, 3, lambda i, c: (print(i), c + 1)[1], x)",
        1,
        "jax.lax.fori_loop",
        _PRINT,
        "y = lax.fori_loop(0, 3, lambda i, c: c + 1, x)",
    ),
    "print in a branch": Case(
        "y = lax.cond(x[0] > 0, lambda v: (print('yes'), v)[1], lambda v: -v, x)",
        1,
        "`print('yes')` prints while jax.lax.cond",
        _PRINT,
        "y = lax.cond(x[0] > 0, lambda v: v, lambda v: -v, x)",
    ),
    "Python's random": Case(
        "@jax.jit\ndef noisy(v):\n    return v + random.gauss(0, 1)\ny = noisy(x)",
        3,
        "`random.gauss(0, 1)` draws",
        _KEY,
        "@jax.jit\ndef noisy(v, k):\n    return v + jax.random.normal(k)\ny = noisy(x, jax.random.key(0))",
    ),
    "NumPy's random": Case(
        "@jax.jit\ndef noisy(v):\n    return v + np.random.randn(8)\ny = noisy(x)",
        3,
        "`np.random.randn(8)` draws",
        _KEY,
        "noise = np.random.randn(8)\n@jax.jit\ndef noisy(v, n):\n    return v + n\ny = noisy(x, noise)",
    ),
    "one draw for all rows": Case(
        "y = jax.vmap(lambda v: v + np.random.rand())(x)",
        1,
        "jax.vmap traces the function: once a trace, not for each turn or row",
        _KEY,
        "y = jax.vmap(lambda v, n: v + n)(x, np.random.rand(8))",
    ),
    "a generator from outside": Case(
        "@jax.jit\ndef noisy(v):\n    return v + rng.normal()\ny = noisy(x)",
        3,
        "`rng.normal()` draws",
        _KEY,
        "@jax.jit\ndef noisy(v, n):\n    return v + n\ny = noisy(x, rng.normal())",
    ),
    "a helper that draws": Case(
        "@jax.jit\ndef f(v):\n    return helper(v) + 1\ny = f(x)",
        3,
        "`random.random()` draws while jax.jit",
        _KEY,
        "y = helper(x) + 1",
    ),
    "the clock": Case(
        "@jax.jit\ndef f(v):\n    start = time.perf_counter()\n    v = v * 2\n    return v + start\ny = f(x)",
        3,
        "`time.perf_counter()` reads the clock",
        _OUTSIDE,
        "@jax.jit\ndef f(v):\n    return v * 2\nstart = time.perf_counter()\ny = f(x)",
    ),
    "the date": Case(
        "@jax.jit\ndef f(v):\n    return v + datetime.datetime.now().second\ny = f(x)",
        3,
        "reads the clock",
        _OUTSIDE,
        "@jax.jit\ndef f(v, s):\n    return v + s\ny = f(x, datetime.datetime.now().second)",
    ),
    "a file": Case(
        "@jax.jit\ndef f(v):\n    with open('/dev/null') as file:\n        return v * len(file.read())\ny = f(x)",
        3,
        "`open('/dev/null')` reads or writes",
        _OUTSIDE,
        "with open('/dev/null') as file:\n    n = len(file.read())\n"
        "@jax.jit\ndef f(v, n):\n    return v * n\ny = f(x, n)",
    ),
    "an append": Case(
        "@jax.jit\ndef f(v):\n    log.append('called')\n    return v\ny = f(x)",
        3,
        "`log.append('called')` adds to a container",
        _OUTSIDE,
        "@jax.jit\ndef f(v):\n    return v\nlog.append('called')\ny = f(x)",
    ),
    "an append of a shape, in a scan": Case(
        "def step(c, v):\n    log.append(v.shape)\n    return c + v, v\ny = lax.scan(step, 0.0, x)",
        2,
        "`log.append(v.shape)` adds",
        _OUTSIDE,
        "def step(c, v):\n    return c + v, v\nlog.append(x.shape)\ny = lax.scan(step, 0.0, x)",
    ),
    "a count in a dict": Case(
        "@jax.jit\ndef f(v):\n    counts['calls'] += 1\n    return v\ny = f(x)",
        3,
        "`counts['calls'] += 1` counts",
        "count outside",
        "@jax.jit\ndef f(v):\n    return v\ncounts['calls'] += 1\ny = f(x)",
    ),
    "a global count": Case(
        "@jax.jit\ndef f(v):\n    global total\n    total += 1\n    return v\ny = f(x)",
        4,
        "`total += 1` counts",
        "count outside",
        "@jax.jit\ndef f(v):\n    return v\ntotal += 1\ny = f(x)",
    ),
    "logging": Case(
        "@jax.jit\ndef f(v):\n    logger.info('f')\n    return v\ny = f(x)",
        3,
        "`logger.info('f')` logs",
        "jax.debug.callback",
        "@jax.jit\ndef f(v):\n    jax.debug.callback(lambda: logger.info('f'))\n    return v\ny = f(x)",
    ),
}

CLEAN: dict[str, str] = {
    "print in the cell": "y = x * 2\nprint(y.sum())",
    "an array reference": (
        "count = jax.new_ref(jnp.zeros(()))\n@jax.jit\ndef f(v):\n    count[...] += 1\n    return v\ny = f(x)"
    ),
    "print in a helper": "y = shout(x)",
    "jax.debug.print": "y = jax.jit(lambda v: (jax.debug.print('{}', v), v)[1])(x)",
    "a callback that prints": (
        "def tell(v):\n    print('value')\n@jax.jit\ndef f(v):\n    jax.debug.callback(tell, v)\n    return v\ny = f(x)"
    ),
    "a callback inside": (
        "@jax.jit\ndef f(v):\n    def tell(w):\n        print('value')\n    jax.debug.callback(tell, v)\n    return v\n"
        "y = f(x)"
    ),
    "a list of the function's own": (
        "@jax.jit\ndef f(v):\n    own = []\n    for n in range(3):\n        own.append(n)\n    return v * len(own)\n"
        "y = f(x)"
    ),
    "a count of the function's own": (
        "@jax.jit\ndef f(v):\n    n = 0\n    for _ in range(3):\n        n += 1\n    return v * n\ny = f(x)"
    ),
    "a state from a seed": (
        "@jax.jit\ndef f(v):\n    own = np.random.default_rng(0)\n    return v + own.normal(size=8)\ny = f(x)"
    ),
    "jax.random": "y = jax.jit(lambda k: jax.random.normal(k, (3,)))(jax.random.key(0))",
    "the clock around a call": "start = time.time()\ny = jax.jit(lambda v: v * 2)(x)\nseconds = time.time() - start",
    "an append of a result": "y = jax.jit(lambda v: v * 2)(x)\nlog.append(float(y[0]))",
    "a function that is only defined": "@jax.jit\ndef f(v):\n    print('f')\n    return v",
    "a gradient, of which each call is traced": "g = jax.grad(lambda v: (print('g'), (v**2).sum())[1])(x)",
    "in place, of what is computed": "@jax.jit\ndef f(v):\n    v += 1\n    v *= 2\n    return v\ny = f(x)",
    "methods named like those of lists": "y = jax.jit(lambda v: v.at[0].add(1.0))(x)",
}
