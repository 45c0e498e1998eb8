"""Indices out of bounds in the bodies of loops, and labels beyond the classes: what is told, and of what nothing is."""

from __future__ import annotations

from typing import Any

import pytest

from findings.quietly import quiet_findings

SETUP = """
import jax, jax.numpy as jnp
from jax import lax
x, table, labels = jnp.arange(10.0), jnp.ones((4, 2)), jnp.array([0, 1, 3])
"""

TOLD = {  # the cell; the line; what is said of it
    "a last slice in a scan": (
        "def body(c, i):\n    return c + lax.dynamic_slice_in_dim(x, i * 4, 4).sum(), None\n"
        "total, _ = lax.scan(body, 0.0, jnp.arange(3))",
        2,
        "a slice of 4 from 8 on is beyond axis 0 of size 10, and is moved to begin at 6",
    ),
    "the next one in a fori_loop": (
        "total = lax.fori_loop(0, 10, lambda i, c: c + x[i + 1], 0.0)",
        1,
        "index 10 is out of bounds for axis 0 of size 10, and is clamped",
    ),
    "a counter that is carried, backwards": (
        "def body(c, row):\n    i, total = c\n    return (i + 3, total + row * x[i]), None\n"
        "(_, total), _ = lax.scan(body, (0, 0.0), jnp.ones(5), reverse=True)",
        3,
        "index 12 is out of bounds",
    ),
    "a write in a scan": (
        "def body(c, i):\n    return c.at[i].set(1.0), None\nc, _ = lax.scan(body, jnp.zeros(3), jnp.arange(4))",
        2,
        "index 3 is out of bounds for axis 0 of size 3, and what is written there is dropped",
    ),
    "a function that a scan calls": (
        "@jax.jit\ndef look(i):\n    return x[i * 2]\n_, r = lax.scan(lambda c, i: (c, look(i)), 0.0, jnp.arange(6))",
        3,
        "index 10 is out of bounds",
    ),
    "take": ("r = jnp.take(x, jnp.array([1, 12]), axis=0)", 1, "index 12 is out of bounds for axis 0 of size 10"),
    "labels from 1": ("r = jax.nn.one_hot(labels, 3)", 1, "3 is out of bounds, the last of 3 classes is 2"),
    "labels in a scan": (
        "_, r = lax.scan(lambda c, one: (c, jax.nn.one_hot(one, 3)), 0.0, labels)",
        1,
        "the last of 3 classes is 2",
    ),
}


def told(cell: str) -> list[Any]:
    return quiet_findings(SETUP, [cell], "bounds")[0]


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told(name: str) -> None:
    cell, line, said = TOLD[name]
    (found,) = told(cell)
    assert said in found.message and found.line == line, found


QUIET = {
    "as many as there are": "total = lax.fori_loop(0, 10, lambda i, c: c + x[i], 0.0)",
    "chosen from": "total = lax.fori_loop(0, 10, lambda i, c: c + jnp.where(i < 9, x[i + 1], 0.0), 0.0)",
    "what is not known": "total, _ = lax.scan(lambda c, v: (c + x[v.astype(int)], None), 0.0, x)",
    "a mode": "r = jnp.take(x, jnp.array([1, 12]), axis=0, mode='clip')",
    "labels from 0": "r = jax.nn.one_hot(labels, 4)",
    "labels of no class": "r = jax.nn.one_hot(labels - 1, 3)",
    "a comparison with a row": "r = labels[:, None] == jnp.arange(3)[None, :]",
    "the one before": "total = lax.fori_loop(0, 10, lambda i, c: c + x[i - 1], 0.0)",
}


@pytest.mark.parametrize("name", QUIET)
def test_of_what_is_right_nothing_is_told(name: str) -> None:
    assert not told(QUIET[name])
