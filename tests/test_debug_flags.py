"""Under `jax_debug_nans` and its like a staged cell raises what the plain cell raises, and changes nothing."""

from __future__ import annotations

import contextlib
import io
import traceback
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxnb

SETUP = """
def helper(a):
    b = a - 1
    return jnp.sqrt(b)
@jax.jit
def jitted(a):
    return jnp.log(a - 5) + 1
class Box: pass
box = Box()
box.v = x
log = []
"""

CELLS = [
    ("jax_debug_nans", "y = x * 2\nz = jnp.log(y)", "log", 2),
    ("jax_debug_nans", "y = x * 2\nz = jnp.where(jnp.isnan(y / 0 * 0), 1.0, y)", "mul", 2),
    ("jax_debug_nans", "log.append(1)\nbox.v = x + 1\nfor i in range(3):\n    x = helper(x)", "sqrt", 4),
    ("jax_debug_nans", "g = jax.grad(lambda a: jnp.sqrt(a - a).sum())(x)", "nan", 1),
    ("jax_debug_infs", "y = x + 1\nif y.sum() > 0:\n    y = y / 0", "div", 3),
    ("jax_debug_infs", "y = jnp.exp(x * 1000)", "exp", 1),
]


def new_names() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__", "jax": jax, "jnp": jnp, "x": jnp.array([1.0, 0.5, -2.0])}
    exec(SETUP, names)
    return names


@contextlib.contextmanager
def flag(name: str) -> Any:
    with getattr(jax, name.removeprefix("jax_"))(True), contextlib.redirect_stdout(io.StringIO()):
        yield


def raised(run: Any, filename: str) -> tuple[str, int]:
    """The message, and the line of the cell."""
    with pytest.raises(FloatingPointError) as caught:
        run()
    frames = traceback.extract_tb(caught.value.__traceback__)
    lines = [frame.lineno or 0 for frame in frames if frame.filename.startswith(filename)]
    return str(caught.value), lines[-1] if lines else 0


@pytest.mark.parametrize(("name", "cell", "primitive", "line"), CELLS)
def test_the_error_is_that_of_the_plain_cell(name: str, cell: str, primitive: str, line: int) -> None:
    plain, staged = new_names(), new_names()
    before = {key: value for key, value in staged.items() if key != "__builtins__"}
    held = staged["box"].v
    with flag(name):
        expected = raised(lambda: exec(compile(cell, "<cell>", "exec"), plain), "<cell>")
        for _ in range(2):
            told = raised(lambda: jaxnb.stage(cell, staged), "<cell")
            assert told == expected and primitive in told[0] and told[1] == line
            assert {key: value for key, value in staged.items() if key != "__builtins__"} == before
            assert staged["box"].v is held and staged["log"] == []


def test_a_flag_that_the_cell_sets_itself() -> None:
    cell = "y = x * 2\nwith jax.debug_nans(True):\n    z = jnp.log(y)"
    names = new_names()
    with contextlib.redirect_stdout(io.StringIO()):
        assert raised(lambda: jaxnb.stage(cell, names), "<cell")[1] == 3
    assert "y" not in names


def test_what_is_clean_runs_and_says_why_nothing_is_compiled() -> None:
    names = new_names()
    with flag("jax_debug_nans"):
        run = jaxnb.stage("y = jitted(x + 10)\nbox.v = y * 2\ny.sum()", names)
    assert "jax_debug_nans is set" in run.line and run.value == names["y"].sum() and names["box"].v is not names["x"]
    assert "jax_debug_nans" not in jaxnb.stage("y = jitted(x + 10)\ny.sum()", names).line


KEYS = {
    "in one cell": ("k = jax.random.key(0)\ny = jax.random.normal(k, (3,))", "z = jax.random.normal(k, (3,))"),
    "in two cells": ("k = jax.random.key(0)", "y = jax.random.normal(k, (3,))", "z = jax.random.normal(k, (3,))"),
    "in a function": ("f = jax.jit(lambda k: jax.random.normal(k))\nk = jax.random.key(0)", "y = f(k)", "y = f(k)"),
    "by a plain cell": ("k = jax.random.key(0)", "y = jax.random.normal(k)", "plainly: z = jax.random.normal(k)"),
}


@pytest.mark.parametrize("cells", KEYS.values(), ids=KEYS)
def test_a_key_that_is_used_twice(cells: tuple[str, ...]) -> None:
    plain, staged = new_names(), new_names()
    with flag("jax_debug_key_reuse"):
        for cell in cells[:-1]:
            exec(cell, plain)
            assert "jax_debug_key_reuse is set" in jaxnb.stage(cell, staged).line
        last = cells[-1].removeprefix("plainly: ")
        told: list[str] = []
        for names, run in ((plain, exec), (staged, jaxnb.stage if last == cells[-1] else exec)):
            with pytest.raises(jax.errors.KeyReuseError) as caught:
                run(last, names)
            told.append(str(caught.value))
        assert told[0] == told[1]


def test_a_check_of_keys_that_the_cell_sets_itself() -> None:
    names = new_names() | {"k": jax.random.key(0)}
    cell = "y = x * 2\nwith jax.debug_key_reuse(True):\n    z = jax.random.bits(k)\n    z = jax.random.bits(k)"
    with pytest.raises(jax.errors.KeyReuseError):
        jaxnb.stage(cell, names)
    assert "y" not in names


@pytest.mark.parametrize("options", [{"whole": True}, {"wrt": ("x",), "loss": "loss"}])
def test_a_cell_that_must_be_a_program_names_the_operation(options: dict[str, Any]) -> None:
    names = new_names()
    before = set(names)
    with flag("jax_debug_nans"):
        assert "log" in raised(lambda: jaxnb.stage("loss = jnp.log(x - 10).sum()", names, **options), "<cell")[0]
    assert set(names) == before
