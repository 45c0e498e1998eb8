"""Times that say something else than they seem: told in plain and staged cells; and when nothing is said."""

from __future__ import annotations

import pytest
from shells import Shell, shell

from findings.saying import check_plain, check_staged

__all__ = ["shell"]

SETUP = """
import time, timeit
from time import perf_counter
step = jax.jit(lambda v: v @ v.T)
m = jnp.ones((50, 50))
y = step(m)
def save(y):
    return np.asarray(y)
"""

TOLD = {  # the cell; the line; what is said
    "a difference that is bound": (
        "t = time.time()\ny = step(m)\nelapsed = time.time() - t",
        2,
        ("`elapsed` is the time in which `step(m)` was dispatched", "jax.block_until_ready(step(m))"),
    ),
    "two clocks": (
        "t0 = perf_counter()\ny = step(m)\nt1 = perf_counter()\nprint('took', t1 - t0)",
        2,
        ("`t1 - t0` is the time in which `step(m)` was dispatched",),
    ),
    "a loop of calls": (
        "t = time.perf_counter()\nfor _ in range(5):\n    y = step(m)\nper = (time.perf_counter() - t) / 5",
        3,
        ("`per`", "dispatched"),
    ),
    "a function of jax.numpy": (
        "t = time.perf_counter()\ny = jnp.dot(m, m)\nprint(time.perf_counter() - t)",
        2,
        ("`time.perf_counter() - t`", "`jnp.dot(m, m)` was dispatched"),
    ),
    "a helper that is given functions": (
        "def clock(f, *args):\n    t = perf_counter()\n    f(*args)\n    return perf_counter() - t\ns = clock(step, m)",
        3,
        ("`perf_counter() - t`", "`f(*args)` was dispatched", "in `clock`"),
    ),
    "timeit": (
        "spent = timeit.timeit(lambda: step(m), number=3)",
        1,
        ("`spent` is the time in which `step(m)` was dispatched",),
    ),
    "a compilation": (
        "f = jax.jit(lambda v: v * 2)\nt = time.time()\ny = f(m).block_until_ready()\nspent = time.time() - t",
        3,
        ("`spent` is the time of compiling `f`, too", "call it once before the clock is read"),
    ),
}
QUIET = {
    "waited for": "t = time.time()\ny = step(m).block_until_ready()\nspent = time.time() - t",
    "waited for in a statement": "t = time.time()\ny = step(m)\njax.block_until_ready(y)\nspent = time.time() - t",
    "waited for behind a loop": (
        "t = time.time()\nfor _ in range(3):\n    y = step(m)\ny.block_until_ready()\nspent = time.time() - t"
    ),
    "printed": "t = time.time()\ny = step(m)\nprint(y.sum())\nspent = time.time() - t",
    "made a number": "t = time.time()\ny = float(step(m).sum())\nspent = time.time() - t",
    "a function that may wait": "t = time.time()\ny = save(step(m))\nspent = time.time() - t",
    "NumPy": "a = np.ones(9)\nt = time.time()\nb = np.sin(a)\nspent = time.time() - t",
    "dispatch on purpose": "t = time.time()\ny = step(m)\ndispatch_time = time.time() - t",
    "compilation on purpose": (
        "f = jax.jit(lambda v: v * 3)\nt = time.time()\ny = f(m).block_until_ready()\nprint('compile', time.time() - t)"
    ),
    "warm": (
        "f = jax.jit(lambda v: v * 4)\ny = f(m)\nt = time.time()\ny = f(m).block_until_ready()\nspent = time.time() - t"
    ),
    "a clock alone": "t = time.time()\ny = step(m)\nz = y + 1",
    "a helper that is given other functions": (
        "def clock(f, *args):\n    t = perf_counter()\n    f(*args)\n    return perf_counter() - t\ns = clock(save, m)"
    ),
    "timeit of what waits": "spent = timeit.timeit(lambda: step(m).block_until_ready(), number=3)",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_was_timed_is_told(shell: Shell, name: str) -> None:
    check_plain(shell, SETUP, *TOLD[name])


@pytest.mark.parametrize("name", TOLD)
def test_staged_cells_are_told_the_same(shell: Shell, name: str) -> None:
    cell, line, said = TOLD[name]
    check_staged(shell, SETUP, cell, "timing", line, said)


@pytest.mark.parametrize("header", ["", "%%jit\n"])
@pytest.mark.parametrize("name", QUIET)
def test_of_what_was_waited_for_nothing_is_told(shell: Shell, name: str, header: str) -> None:
    shell.run(SETUP)
    text = shell.run(f"{header}{QUIET[name]}")
    assert not any(word in text for word in ("was dispatched", "time of compiling", "could not")), text
