"""A tracer that a function under `jax.jit` or `jax.grad` leaves behind counts at the end of the cell (rule 7)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxnb

SETUP = """
import jax, jax.numpy as jnp
x, kept, box = jnp.arange(3.0), [], {}
@jax.jit
def leaky(v):
    kept.append(v)
    return v * 2
def loss(v):
    box["h"] = jnp.tanh(v)
    return box["h"].sum()
"""

FINE = {
    "cleared": "y = leaky(x)\nkept.clear()",
    "cleared-after-more": "y = leaky(x)\nz = jnp.sin(y)\nkept.clear()\nw = y + z",
    "taken-out": "y = jax.grad(loss)(x)\ndel box['h']",
    "overwritten": "y = jax.grad(loss)(x)\nbox['h'] = y.sum()",
    "counted": "y = leaky(x)\nn = len(kept)\nkept.clear()",
    "caught": """
y = leaky(x)
try:
    z = kept[-1] + 1
except jax.errors.UnexpectedTracerError as error:
    z = type(error).__name__
except IndexError:
    z = "traced before"
kept.clear()
""",
    "in-a-loop": "for _ in range(3):\n    x = leaky(x)\n    kept.clear()\ny = x + 1",
    "in-a-function": "def run(v):\n    v = leaky(v)\n    kept.clear()\n    return v + 1\ny = run(x)",
}

LEFT = {
    "a-list": ("y = leaky(x)", "kept[0]"),
    "a-dict": ("y = jax.grad(loss)(x)", "box['h']"),
    "after-more": ("z = jnp.sin(x)\ny = leaky(z)\nw = y + z", "kept[0]"),
    "read": ("y = leaky(x)\nn = len(kept)", "kept[0]"),
    "a-name": ("y = leaky(x)\nlast = kept.pop()", "last"),
}


def home() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, names)
    return names


def seen(names: dict[str, Any]) -> dict[str, str]:
    """What the cells bind, with numbers as far as they do not hang on what XLA fuses."""
    wanted = {name: value for name, value in names.items() if name in ("x", "y", "z", "w", "n", "kept", "box")}
    with np.printoptions(precision=4):
        return {name: str(jax.tree.map(np.asarray, value)) for name, value in wanted.items()}


@pytest.mark.parametrize("name", FINE)
def test_what_the_cell_catches_or_clears_is_no_leak(name: str) -> None:
    plain, staged = home(), home()
    for _ in range(3):
        exec(FINE[name], plain)
        jaxnb.stage(FINE[name], staged)
        assert seen(staged) == seen(plain)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_there_at_the_end_is_refused_each_time_and_taken_back(name: str) -> None:
    cell, holder = LEFT[name]
    names = home()
    before = {**names}
    for _ in range(3):
        with pytest.raises(jaxnb.Refused, match="keeps a traced value of jax") as caught:
            jaxnb.stage(cell, names)
        assert getattr(caught.value, "holder", "") == holder
        assert names == before and not names["kept"] and not names["box"]


def test_a_leak_of_another_cell_may_be_cleared() -> None:
    names = home()
    exec("y = leaky(x)", names)
    with pytest.raises(jax.errors.UnexpectedTracerError):
        jaxnb.stage("z = x + kept[0]", names)
    with pytest.raises(jaxnb.Refused, match="leaked out of an earlier transformation"):
        jaxnb.stage("z = x + kept[0]", names, whole=True)
    jaxnb.stage("n = len(kept)\nkept.clear()\nz = x + n", names)
    assert names["n"] == 1 and not names["kept"] and names["z"].tolist() == [1.0, 2.0, 3.0]


def test_what_a_compiled_function_changes_is_taken_back_where_python_calls_it() -> None:
    names = home()
    exec("@jax.jit\ndef note(v):\n    kept.append(v.shape)\n    return v", names)
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage("n = float(note(x)[1]) * 0\n1 / n", names)
    assert not names["kept"] and "n" not in names
