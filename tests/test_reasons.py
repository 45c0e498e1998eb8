"""What makes a run `not reusable` is said with its line."""

from __future__ import annotations

import pytest

import jaxnb

SETUP = """
import random, threading
import jax.numpy as jnp
import numpy as np

class Model:
    pass

x = jnp.ones(3)
state, model, numbers = {}, Model(), (i for i in range(9))

def noisy(v):
    return v * np.random.rand()
"""


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("y = x + 1\nstate['l'] = (1, threading.Lock()) if x.ndim else 0", "line 2, `state['l']` holds a lock"),
        ("model.f = threading.Lock() if x.ndim else 0\ny = x + 1", "line 1, `model.f` holds a lock"),
        ("y = x + 1\nz = x * random.random()", "line 2, random.random may act on the outside"),
        ("z = x * 2\ny = x + next(numbers)", "line 2, next() acts on the outside"),
        ("z = x * 2\ny = x + sum(numbers)", "line 2, numbers is an iterator"),
        ("z = x * 2\ny = noisy(z)", "line 2, noisy"),
    ],
)
def test_the_line_is_said(cell: str, said: str) -> None:
    namespace = {"__name__": "__main__"}
    exec(SETUP, namespace)
    run = jaxnb.stage(cell, namespace, whole=True)
    assert run.line.count("not reusable: ") == 1
    reasons = [finding for finding in run.findings if finding.kind == "not-reusable"]
    assert reasons[0].message.startswith(f"not reusable: {said}") and f"not reusable: {said}" in run.line
    assert all(finding.line is not None for finding in reasons)
    again = jaxnb.stage(cell, namespace, whole=True)
    assert not again.reused
    head, _, rest = again.line.partition(" · ")
    assert head == "traced again" and said in rest


def test_an_array_in_the_static_part_of_a_pytree_is_left_to_python() -> None:
    setup = """
import dataclasses, functools
import jax, jax.numpy as jnp
@functools.partial(jax.tree_util.register_dataclass, data_fields=["v"], meta_fields=["size"])
@dataclasses.dataclass
class Near:
    v: object
    size: object
near = Near(jnp.ones(3), jnp.float32(2.0))
"""
    namespace = {"__name__": "__main__"}
    exec(setup, namespace)
    run = jaxnb.stage("y = near.v * near.size\nz = y + 1", namespace)
    assert "line 1 on the host: a Near holds an array in its static part" in run.line
    assert namespace["z"].tolist() == [3, 3, 3]
