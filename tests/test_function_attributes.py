"""Attributes that a function of the user has, or gets when it runs."""

from __future__ import annotations

from typing import Any

import pytest

import jaxnb

ATTRIBUTES = {
    "an array": "def f(v):\n    f.last = v.sum()\n    return v * 2",
    "a count": "def f(v):\n    f.calls = getattr(f, 'calls', 0) + 1\n    return v * 2",
    "by setattr": "def f(v):\n    setattr(f, 'last', v.sum())\n    return v * 2",
    "of another function": "def g(v):\n    f.last = v.sum()\n    return v * 2\ndef f(v): return g(v)",
    "of what it is given": (
        "def note(function, v): function.last = v.max()\ndef f(v):\n    note(f, v)\n    return v * 2"
    ),
}


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_that_a_function_gets_are_as_those_that_it_has(name: str) -> None:
    """They are results, and inputs from the second run on; a function that is defined anew has none again."""
    seen: list[Any] = []
    runs: list[Any] = []
    for stage in (False, True):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec("import jax, jax.numpy as jnp\nx = jnp.arange(3.0)", names)
        for again in (True, False, False, False, True, False):
            exec(ATTRIBUTES[name] if again else "x = x + 1", names)
            run = jaxnb.stage("y = f(x)", names) if stage else exec("y = f(x)", names)
            runs += [run] * stage
            seen.append(f"{names['y']} {vars(names['f'])}")
    assert seen[:6] == seen[6:]
    assert not any(run.host_lines for run in runs) and runs[3].reused


def test_a_cell_that_fails_leaves_a_function_without_attributes() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(f"import jax.numpy as jnp\nx = jnp.arange(3.0)\n{ATTRIBUTES['an array']}", names)
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage("y = f(x)\nz = 1 / 0", names)
    assert vars(names["f"]) == {}
