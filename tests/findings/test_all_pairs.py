"""A column against a vector of its length is told of; under `vmap` the axis that JAX adds is none of the code's."""

from __future__ import annotations

from typing import Any

import pytest

import jaxnb

SETUP = """
import jax, jax.numpy as jnp
w, ts, column, labels = jnp.arange(8.0), jnp.linspace(0, 1, 8), jnp.ones((8, 1)), jnp.ones(8)
"""

FUNCTIONS = """
def power(t): return jnp.sum(jnp.sin(t * w) ** 2)
def error(predicted): return jnp.mean((predicted - labels) ** 2)
"""

MAPPED = {
    "plainly": "l = jnp.mean(jax.vmap(power)(ts))",
    "a function under jit": "l = jnp.mean(jax.vmap(jax.jit(power))(ts))",
    "under jit": "l = jax.jit(lambda v: jnp.mean(jax.vmap(power)(v)))(ts)",
    "jit in vmap in jit": "l = jax.jit(lambda v: jnp.mean(jax.vmap(jax.jit(power))(v)))(ts)",
    "its gradient": "g = jax.grad(lambda v: jax.vmap(power)(v).sum())(ts)",
    "in a loop": "l = jax.vmap(lambda t: jax.lax.scan(lambda c, _: (c + power(t), None), 0.0, None, 3)[0])(ts).sum()",
    "one feature": "l = jax.vmap(lambda row: jnp.sum(row * w))(column).sum()",
}
MET = {
    "plainly": "l = error(column)",
    "under jit": "l = jax.jit(error)(column)",
    "its gradient": "l = jax.value_and_grad(error)(column)[0]",
}


def told(cell: str) -> list[str]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, names)
    return [one.message for one in jaxnb.stage(FUNCTIONS + cell, names).findings if one.kind == "all_pairs"]


@pytest.mark.parametrize("cell", MAPPED.values(), ids=MAPPED)
def test_a_batch_as_long_as_a_vector_is_no_column(cell: str) -> None:
    assert not told(cell)


@pytest.mark.parametrize("cell", MET.values(), ids=MET)
def test_a_column_against_a_vector_is_told(cell: str) -> None:
    (message,) = told(cell)
    assert "`predicted` (8, 1) and `labels` (8,) broadcast to (8, 8)" in message
