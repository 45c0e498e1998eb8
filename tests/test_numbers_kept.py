"""Numbers of Python that code keeps while a function of the cell is traced: they stay numbers, nothing is refused."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxnb

SETUP = """
import jax, jax.numpy as jnp
notes, n, rate, x = [], {"f": 1, "v": 4.0}, 0.5, jnp.arange(3.0)
def noted(x):
    notes.append(rate * 2)
    return x * rate
def halved(x):
    n["v"] *= 0.5
    return x * n["v"]
def counted(x):
    n["f"] += 1
    return x * 2
"""
WAYS = {
    "jit": "y = jax.jit({})(x)",
    "checkpoint": "y = jax.checkpoint({})(x)",
    "scan": "_, y = jax.lax.scan(lambda c, v: (c, {}(v)), 0.0, x)",
    "map": "y = jax.lax.map({}, x)",
    "shape": "y = jax.eval_shape({}, x).shape",
}


@pytest.mark.parametrize("function", ["noted", "halved", "counted"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_number_that_is_kept_is_a_number(way: str, function: str) -> None:
    cell = way.format(function)
    for _ in range(2):  # each time for the first time: how often JAX traces a function is its own affair
        jax.clear_caches()
        plain, staged = _home(), _home()
        exec(cell, plain)
        jaxnb.stage(cell, staged)
        for name in ("notes", "n"):
            assert staged[name] == plain[name] and repr(staged[name]) == repr(plain[name])
        assert jnp.array_equal(jnp.asarray(plain["y"]), jnp.asarray(staged["y"]))


def test_an_array_that_is_kept_is_refused() -> None:
    home = _home()
    with pytest.raises(jaxnb.Refused, match="keeps a traced value of jax.jit"):
        jaxnb.stage("y = jax.jit(lambda v: notes.append(v) or v)(x)", home)
    assert home["notes"] == [] and "y" not in home


def _home() -> dict[str, Any]:
    home: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, home)
    return home
