"""What a staged cell calls back is what the plain cell would call, on each run and in its place."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

import jaxnb

SETUP = """
seen, store, buffer, count = [], {}, np.zeros(4), {'n': 0}
class Log:
    def __init__(self): self.rows = []
    def __call__(self, v): self.rows.append(float(v))
    def add(self, v, by=1.0): self.rows.append(float(v) + float(by))
log = Log()
def keeps(rows): return lambda v: rows.append(float(v))
rows = []
kept = keeps(rows)
def into(array): return lambda v: array.__setitem__(slice(None), v)
saves = into(buffer)
weights = jnp.ones(4) * scale
def with_weights(w): return lambda v: seen.append(float((v * w).sum()))
weighs = with_weights(weights)
partly = functools.partial(log.add, by=1.0 * scale)
def save(v): buffer[:] = v
def counted(): count['n'] += 1; return np.float32(count['n'])
def makes(v):
    out = []
    jax.debug.callback(lambda a: out.append(float(a)), v.sum())
    return out
def closes(v):
    w = v * 2
    jax.debug.callback(lambda a: seen.append(float(a + w.sum())), v.sum())
    return w
def reads(v):
    seen.append(v.sum())
    jax.debug.callback(lambda a: store.update(n=len(seen), last=float(seen[-1])), v.sum())
    return v + 1
@jax.jit
def inner(v):
    jax.debug.callback(log.add, v.sum(), by=2.0)
    return v * 3
"""
CELLS = {
    "an object": "y = x * 2\njax.debug.callback(log, y.sum())",
    "a bound method": "y = x * 2\njax.debug.callback(log.add, y.sum(), by=3.0)",
    "a closure": "jax.debug.callback(kept, x.sum())\ny = x + 1",
    "a global": "jax.debug.callback(lambda v: seen.append(float(v)), x.sum())\ny = x + 1",
    "read by the next statement": "jax.debug.callback(log, x.sum())\ny = x * len(log.rows)\nz = y + 1",
    "read by Python": "y = x * 2\njax.debug.callback(log, y.sum())\nn = len(log.rows)\nz = y * n",
    "a NumPy array": "jax.debug.callback(save, x * 3)\nz = buffer.sum() + x",
    "a value from outside": "y = x * io_callback(counted, jax.ShapeDtypeStruct((), jnp.float32))\nn = count['n']",
    "made on each run": "o = makes(x)\nn = len(o)",
    "of a traced value": "w = closes(x)\nn = len(seen)",
    "of what the statement changes": "h = reads(x)\nn = dict(store)",
    "of a name that the cell binds": """\
y = x * 2
def f(v): seen.append(float(v + y[0]))
jax.debug.callback(f, x.sum())""",
    "a NumPy array in a closure": "jax.debug.callback(saves, x * 3)\nz = buffer.sum() + x",
    "an array in a closure": "jax.debug.callback(weighs, x)\nz = x * 2",
    "a number in a partial": "jax.debug.callback(partly, x.sum())\nz = x * 2",
    "under jit": "y = inner(x)\nz = y + len(log.rows)",
    "pure": "y = jax.pure_callback(lambda v: np.sort(v), jax.ShapeDtypeStruct(x.shape, x.dtype), -x) * 2",
}
SHOWN = ("y", "z", "n", "o", "w", "h", "seen", "store", "buffer", "count", "rows")


def _names() -> dict[str, Any]:
    names: dict[str, Any] = {
        "functools": functools,
        "jax": jax,
        "jnp": jnp,
        "np": np,
        "io_callback": io_callback,
        "scale": 1.0,
    }
    names["x"] = jnp.arange(1.0, 5.0)
    exec(SETUP, names)
    return names


def _state(names: dict[str, Any]) -> dict[str, str]:
    return {name: str(names[name]) for name in SHOWN if name in names} | {"log": str(names["log"].rows)}


@pytest.mark.parametrize("form", CELLS)
def test_callbacks_are_those_of_the_plain_cell(form: str) -> None:
    """Run, run again, with what it calls made anew as by a cell that is run again, and once more."""
    plain, staged = _names(), _names()
    for turn in range(4):
        if turn == 2:
            plain["scale"] = staged["scale"] = 3.0
            exec(SETUP, plain)
            exec(SETUP, staged)
        exec(CELLS[form], plain)
        jaxnb.stage(CELLS[form], staged)
        assert _state(staged) == _state(plain), f"run {turn + 1}"


def test_a_list_that_is_bound_anew_does_not_cost_a_trace() -> None:
    names = _names()
    for turn in range(3):
        names["seen"] = []
        run = jaxnb.stage(CELLS["a global"], names)
        assert names["seen"] == [10.0] and run.reused == (turn > 0)


def test_what_another_object_is_called_is_told() -> None:
    names = _names()
    jaxnb.stage(CELLS["an object"], names)
    names["log"] = type(names["log"])()
    run = jaxnb.stage(CELLS["an object"], names)
    assert run.retrace is not None and "a callback would be another object" in str(run.retrace.reasons)


@pytest.mark.parametrize("form", ["an object", "a closure", "a global", "a NumPy array", "under jit"])
@pytest.mark.parametrize("good_runs", [0, 1])
def test_what_a_callback_changed_is_undone(form: str, good_runs: int) -> None:
    names = _names()
    for _ in range(good_runs):
        jaxnb.stage(CELLS[form], names)
    before = _state(names)
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage(f"{CELLS[form]}\n1 / 0", names)
    assert _state(names) == before


@pytest.mark.parametrize(
    ("cell", "calls"),
    [
        ("for i in range(3): y = f(x + i)", 3),
        ("f(x)\ny = x * 2", 1),
        ("y = jax.vmap(lambda v: (f(x), v * 2)[1])(x)", 1),
        ("y = jax.jit(lambda v: (f(v), v * 2)[1])(x)", 0),
        ("g = jax.jit(f)\nfor i in range(3): y = g(x + i)", 3),
    ],
)
def test_a_function_whose_results_nobody_takes_is_called(cell: str, calls: int) -> None:
    """Eagerly `pure_callback` calls at once; XLA leaves out what is not used, in functions under `jax.jit` alone."""
    setup = (
        "import jax, jax.numpy as jnp, numpy as np\nx, called = jnp.ones(2), []\n"
        "def host(v):\n    called.append(1)\n    return np.asarray(v)\n"
        "def f(v):\n    return jax.pure_callback(host, jax.ShapeDtypeStruct((2,), jnp.float32), v)"
    )
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(setup, namespace)
    for run in range(1, 4):
        exec(cell, plain)
        jaxnb.stage(cell, staged)
        jax.effects_barrier()
        assert len(plain["called"]) == len(staged["called"]) == calls * run
