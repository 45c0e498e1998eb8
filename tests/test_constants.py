"""Arrays that a cell makes of constants, and what operations make of them that hand on their operand."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb

CONSTANTS = ("jnp.array([1.0, 2.0, 3.0])", "jnp.asarray(np.arange(3.0))", "jnp.array([[1, 2, 3]])[0]", "np.arange(3)")

MADE_OF_THEM = {
    "ravel": "jnp.ravel({})",
    "a method": "jnp.asarray({}).ravel()",
    "reshape": "jnp.reshape({}, (3,))",
    "squeeze": "jnp.squeeze({})",
    "plus": "+jnp.asarray({})",
    "astype": "jnp.asarray({0}).astype(jnp.asarray({0}).dtype)",
    "broadcast": "jnp.broadcast_to({}, (3,))",
    "atleast": "jnp.atleast_1d({})",
    "repeat": "jnp.repeat({}, np.array([2, 0, 1]))",
    "twice": "jnp.ravel(jnp.squeeze({}))",
}


@pytest.mark.parametrize("name", MADE_OF_THEM)
@pytest.mark.parametrize("constant", CONSTANTS)
def test_a_constant_stays_while_something_is_computed_from_it(name: str, constant: str) -> None:
    made = MADE_OF_THEM[name].format(constant)
    cell = f"y = {made} * 2\nz = {made}\ntotal = jnp.sum(y) + x[0]"
    plain: dict[str, Any] = {"jnp": jnp, "np": np, "x": jnp.arange(3.0)}
    staged = dict(plain)
    exec(cell, plain)
    for _ in range(2):
        run = jaxnb.stage(cell, staged)
        assert run.host_lines == ()
        for key in ("y", "z", "total"):
            assert staged[key].dtype == plain[key].dtype
            np.testing.assert_array_equal(staged[key], plain[key])
    assert run.reused
