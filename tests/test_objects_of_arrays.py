"""What is asked of an array as an object is answered by the array, not by what stands for it in a trace."""

from __future__ import annotations

import operator
from typing import Any

import pytest

import jaxnb

SETUP = """
import operator, sys, inspect, weakref
import jax, jax.numpy as jnp
x = jnp.arange(3.0)
class Node:
    def __init__(self, val, parent=None): self.val, self.parent = val, parent
"""

ASKED = [
    "sys.getsizeof(y)",
    "y.__sizeof__()",
    "y.__array_priority__",
    "getattr(y, '__array_priority__')",
    "operator.attrgetter('__array_priority__')(y)",
    "y.__hash__ is None",
    "callable(y.__hash__)",
    "'_npy_value' in dir(y)",
    "'_trace' in dir(y)",
    "y.__slots__",
    "y.__module__",
    "[hasattr(y, name) for name in ('_trace', '_npy_value', 'parent', 'val')]",
    "getattr(y, '_trace', 'none')",
    "asks(y)",
]
HELPER = """
def asks(v):
    try: return v._trace is None
    except AttributeError: return "no such attribute"
"""


@pytest.mark.parametrize("asked", ASKED)
def test_an_array_answers_itself(asked: str) -> None:
    seen: list[Any] = []
    for runs in (1, 2):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(SETUP + HELPER, names)
        for _ in range(runs):
            (exec if runs == 1 else jaxnb.stage)(f"y = x * 2\nr = {asked}", names)
            seen.append(names["r"])
    assert seen[0] == seen[1] == seen[2]


def test_attributes_of_the_same_names_of_other_objects_do_not_interrupt_a_program() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, names)
    cell = "n = Node(x * 2, Node(x + 1))\ny = n.val + n.parent.val\nr = Node.__module__, n.__hash__ is None"
    run = jaxnb.stage(cell, names)
    assert run.pieces == 1 and not run.host_lines
    assert names["y"].tolist() == [1.0, 4.0, 7.0] and names["r"] == ("__main__", False)


def test_a_tracer_of_a_function_of_the_cell_answers_as_plainly() -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, names)
    cell = "seen = []\nf = jax.jit(lambda v: (seen.append(hasattr(v, '_trace')), v * 2)[1])\ny = f(x)"
    run = jaxnb.stage(cell, names)
    assert names["seen"] == [True] and run.pieces == 1


@pytest.mark.parametrize("c", ["1.0", "3", "2 + 1j", "True", "np.ones(2)", "np.float32(2)"])
def test_a_number_whose_gradient_is_stopped_stays_one(c: str) -> None:
    """As plainly it is of JAX's own class of such numbers, or of arrays of NumPy, which is no Array."""
    seen: list[Any] = []
    for run in (exec, jaxnb.stage):
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(SETUP + "import numpy as np\nfrom jax import lax", names)
        for _ in range(3):
            run(f"y = lax.stop_gradient({c})\nz = x * y.sum() if hasattr(y, 'sum') else x * y", names)
            seen.append((type(names["y"]).__name__, names["y"], names["z"].tolist()))
    assert all(map(operator.eq, map(repr, seen[:3]), map(repr, seen[3:])))
