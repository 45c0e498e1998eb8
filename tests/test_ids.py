"""Ids that the user keeps, which are others in each kernel: what is found by them is what the plain cell finds."""

from __future__ import annotations

from typing import Any

import pytest

import jaxnb

SETUP = """\
import builtins, functools
import jax.numpy as jnp, numpy as np
x = jnp.array([0.5, -1.0, 2.0])
pool, f, g = [x, x + 1, (x, 1)], id, functools.partial(id)
h = np.arange(3.0)
class Node:
    def __init__(self, v):
        self.v = v
both = [Node(x), Node(x + 1)]
names = {id(thing): n for n, thing in enumerate([*pool, h, both[0]])}
def scaled(a):
    return a * names.get(id(a), 9)
"""

CELLS = {
    "array": "y = jnp.sin(x)\nr = names.get(id(x))",
    "helper": "y = scaled(pool[1])\nr = float(scaled(x * 2)[2] + y[2])",
    "object": "r = [n.v * names.get(id(n), 9) for n in both]",
    "numpy": "y = x * h\nr = names.get(id(h))",
    "tuple": "y = pool[2][0] * 2\nr = names.get(id(pool[2]))",
    "alias": "y = x * 2\nr = f(x) in names",
    "module": "y = x * 2\nr = builtins.id(x) in names",
    "partial": "y = x * 2\nr = g(x) in names",
    "map": "y = x * 2\nr = [n in names for n in map(id, [x, y])]",
    "kept": "kept = {id(a): a * 2 for a in pool[:2]}\nr = [id(a) in kept for a in pool]",
}

CHANGES = ["", "x = pool[1]", "x = x + 1", "both.reverse()", "both[0] = Node(x)", "h = h.copy()", "pool.reverse()"]


@pytest.mark.parametrize("name", CELLS)
def test_what_is_found_by_an_id(name: str) -> None:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(SETUP, namespace)
    for change in CHANGES:
        for namespace in (plain, staged):
            exec(change, namespace)
        exec(CELLS[name], plain)
        jaxnb.stage(CELLS[name], staged)
        assert repr(staged["r"]) == repr(plain["r"]), f"after {change!r}"


def test_a_traversal_is_one_program_though_it_asks_for_ids() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP.replace("names =", "_ ="), namespace)
    cell = "seen = {id(n) for n in both}\ny = sum(n.v for n in both if id(n) in seen)\ndel seen"
    assert [jaxnb.stage(cell, namespace).host_lines for _ in range(2)] == [(), ()]
