"""Results live where the plain cell would leave them: on one device, or spread over several."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxnb

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("d",))
rows, whole = NamedSharding(mesh, P("d")), NamedSharding(mesh, P())
x, k = jax.device_put(jnp.arange(16.0).reshape(8, 2), rows), jnp.ones(3)
w = jax.device_put(jnp.ones((2, 2)), whole)
"""


def places(namespace: dict[str, Any]) -> dict[str, Any]:
    return {
        name: (str(value.sharding), value.committed)
        for name, value in namespace.items()
        if isinstance(value, jax.Array)
    }


@pytest.mark.parametrize(
    ("cell", "pieces"),
    [
        ("y = x @ w\nloss = y.sum()\ng = jax.grad(lambda w: (x @ w).sum())(w)\nw = w - 0.1 * g", 1),
        ("y = x * 2\nz = k + 1\nu = y.sum() + z[0]", 3),
        (
            "a = jnp.ones((8, 1))\nf = jax.jit(lambda a: a * 2, out_shardings=rows)\ny = f(a)\nz = a + 1",
            3,
        ),
        ("a = k * 2\nb = jax.device_put(a, whole)\nc = b + 1\nd = a + 1", 3),
        ("y = k * 2\nz = y + 1", 1),
    ],
)
def test_results_live_where_the_plain_cell_leaves_them(cell: str, pieces: int) -> None:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(SETUP, namespace)
    for turn in range(2):
        exec(cell, plain)
        run = jaxnb.stage(cell, staged)
        assert run.pieces == pieces and run.reused == (turn > 0)
        assert places(staged) == places(plain)
        for name in places(plain):
            np.testing.assert_allclose(staged[name], plain[name], rtol=1e-5)
