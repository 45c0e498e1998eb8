"""What makes a run `not reusable` is said with its line."""

from __future__ import annotations

import random

import jax.numpy as jnp
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
        ("y = x + 1\nz = x * random.random()", "line 2, random.random draws from a random state"),
        ("z = x * 2\ny = x + next(numbers)", "line 2, numbers is an iterator"),
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
    assert head == "↻ traced again" and said in rest


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
    assert "partly on the host: line 1, a Near holds an array in its static part" in run.line
    assert namespace["z"].tolist() == [3, 3, 3]


HOLDER = """
import random, sys
import numpy as np
import equinox as eqx
import jax.numpy as jnp
from collections.abc import Iterator
class Plain:
    def __init__(self):
        self.w, self.rng, self.np_rng, self.out = jnp.ones(3), random.Random(0), np.random.default_rng(0), sys.stdout
        self.label = random.random()
    def __call__(self, a):
        return self.w * a
    def draw(self):
        return self.rng.random()
    def noisy(self, a):
        return self.w * a * self.draw()
    def noise(self, a):
        return a * self.np_rng.normal()
    @property
    def level(self):
        return self.rng.random()
    def say(self):
        self.out.write("")
def direct(m, a):
    return m(a)
def drawing(m, a):
    return m.noisy(a)
def made(m, a):
    return type(m)().w * a
def by_name(m, a, name):
    return getattr(m, name)(a)
m, x = Plain(), jnp.ones(3)
draw = m.draw
"""


@pytest.mark.parametrize("cell", ["y = m(x)", "y = m.w * x", "y = direct(m, x)", "m.w = m.w * 2"])
def test_an_object_that_merely_holds_a_random_state_or_a_stream_is_no_hindrance(cell):
    namespace = {"__name__": "__main__"}
    exec(HOLDER, namespace)
    first, second = jaxnb.stage(cell, namespace), jaxnb.stage(cell, namespace)
    assert first.pieces == 1 and second.reused and not first.findings


@pytest.mark.parametrize(
    "cell",
    [
        "y = m.noisy(x)",
        "y = m.noise(x)",
        "y = x * m.level",
        "y = drawing(m, x)",
        "y = x * draw()",
        "y = made(m, x) * random.random()",
        "y = by_name(m, x, 'noisy')",
        "y = m(x)\nz = m.noisy(x)",
    ],
)
def test_what_a_method_draws_is_drawn_on_every_run(cell):
    plain, staged = {"__name__": "__main__"}, {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(HOLDER, namespace)
        namespace["random"].seed(1)
    state = random.getstate()
    for _ in range(3):
        exec(cell, plain)
    random.setstate(state)
    for _ in range(3):
        jaxnb.stage(cell, staged)
    assert jnp.allclose(plain["y"], staged["y"])
    assert plain["m"].rng.getstate() == staged["m"].rng.getstate()
