"""Programs of XLA on CPUs that would read what they have just written over: the values are those of the plain cell."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb.reading import compile_lowered
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.overlap import overlaps

SETUP = """
import jax, jax.numpy as jnp
x = jnp.arange(12.0).reshape(4, 3)
z = jnp.ones((2, 2, 2), jnp.complex64) * jnp.arange(8.0).reshape(2, 2, 2)
"""
CELLS = {
    "shifted rows": "b = x * 2\ny = b.at[1:].set(b[:-1]).reshape(1, 4, 3)",
    "shifted rows, flat": "b = x.ravel() * 2\ny = b.at[1:].set(b[:-1]).reshape(3, 4)",
    "turned": "s = z * 2 + 1\ns = jnp.moveaxis(s.at[1].set(s[1][::-1]), 0, 1)\ny = s.reshape(2, 4)",
    "a queue": "q = x * 0\nfor i in range(3):\n    q = q.at[1:].set(q[:-1]).at[0].set(x[i])\ny = q[None]",
    "a helper": "def f(b): return b.at[1:].set(b[:-1])[None]\ny = f(x + 1)\ng = jax.grad(lambda x: f(x * x).sum())(x)",
    "rows in place": "b = x * 2\ny = b.at[1:].set(b[1:] + 1).reshape(1, 4, 3)",
}


@pytest.mark.parametrize("name", CELLS)
def test_an_update_by_another_part_of_the_same_array_has_the_values_of_the_plain_cell(name: str) -> None:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(SETUP, namespace)
    exec(CELLS[name], plain)
    for _ in range(2):
        assert jaxnb.stage(CELLS[name], staged).pieces == 1
        for key in ("y", "g"):
            if key in plain:
                np.testing.assert_allclose(staged[key], plain[key], rtol=1e-5)


def test_only_such_programs_are_compiled_without_fusion() -> None:
    def shifted(x: Any) -> Any:
        base = x * 2
        return base.at[1:].set(base[:-1]).reshape(1, 4, 3)

    def summed(x: Any) -> Any:
        return jax.lax.scan(lambda c, row: (c + row, c * row), x[0], x)

    lowered = [jax.jit(function).lower(jnp.ones((4, 3))) for function in (shifted, summed)]
    found = [[any(map(overlaps, read_modules(each.compile()))) for each in lowered]]
    found += [[any(map(overlaps, read_modules(compile_lowered(each)))) for each in lowered]]
    assert found == [[True, False], [False, False]]
    assert "fusion" in compile_lowered(lowered[1]).as_text()
