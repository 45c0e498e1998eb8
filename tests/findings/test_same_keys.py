"""Keys that are the same at each call, in each turn, or for each row: told in plain and staged cells."""

from __future__ import annotations

import pytest
from shells import Shell, shell

from findings.saying import check_plain, check_staged

__all__ = ["shell"]

SETUP = "from jax import lax\nkey = jax.random.key(0)\nrows = jnp.ones((5, 3))\nx = jnp.ones(3)"

TOLD = {  # the cell; the line; what is said
    "a constant in a step": (
        "@jax.jit\ndef step(v):\n    k = jax.random.key(7)\n    return v + jax.random.normal(k, (3,))\n"
        "for _ in range(3):\n    x = step(x)",
        3,
        ("`k` is made of a constant, `jax.random.key(7)`", "at each call of `step`", "the same random numbers"),
    ),
    "a constant in the body of a scan": (
        "def turn(c, t):\n    return c + jax.random.normal(jax.random.PRNGKey(1)), c\nlast, _ = lax.scan(turn, 0.0, x)",
        2,
        ("in each turn of `scan`", "the same random numbers", "fold_in(key, i)"),
    ),
    "a constant in a loop": (
        "total = 0.0\nfor _ in range(4):\n    k = jax.random.key(3)\n    total = total + jax.random.uniform(k)",
        3,
        ("`k` is made of a constant", "in each turn of the loop on line"),
    ),
    "a key that a mapped function closes over": (
        "def jitter(row):\n    return row + jax.random.normal(key, row.shape)\nnoisy = jax.vmap(jitter)(rows)",
        2,
        ("`key` is closed over by `jitter`", "one key for all rows of the `vmap`", "jax.random.split(key, n)"),
    ),
    "a key that is not mapped": (
        "def jitter(row, k):\n    return row + jax.random.normal(k, row.shape)\n"
        "noisy = jax.vmap(jitter, in_axes=(0, None))(rows, key)",
        2,
        ("`k` is not mapped, by in_axes", "the same random numbers"),
    ),
    "a default": (
        "def noise(v, k=jax.random.key(2)):\n    return v + jax.random.normal(k, v.shape)\na, b = noise(x), noise(x)",
        2,
        ("`k` of `noise` is its default `jax.random.key(2)` in 2 calls", "the same random numbers"),
    ),
    "a key in a loop of a function": (
        "def init(k, sizes):\n    made = []\n    for n in sizes:\n        made.append(jax.random.normal(k, (n,)))\n"
        "    return made\nweights = init(key, (3, 4))",
        4,
        ("`k` is used in every turn of a loop",),
    ),
}
QUIET = {
    "a constant that is called once": (
        "@jax.jit\ndef init():\n    k = jax.random.key(7)\n    return jax.random.normal(k, (3,))\nx = init()"
    ),
    "a constant that is folded": (
        "def turn(c, t):\n    k = jax.random.fold_in(jax.random.key(1), t)\n    return c + jax.random.normal(k), c\n"
        "last, _ = lax.scan(turn, 0.0, jnp.arange(3))"
    ),
    "a constant that goes on": (
        "k = jax.random.key(3)\nfor _ in range(4):\n    k, sub = jax.random.split(k)\n    y = jax.random.uniform(sub)"
    ),
    "one seed for each of several values": (
        "out = []\nfor rate in (0.1, 0.2):\n    k = jax.random.key(3)\n    out.append(rate * jax.random.uniform(k))"
    ),
    "keys that are mapped": (
        "def jitter(row, k):\n    return row + jax.random.normal(k, row.shape)\n"
        "noisy = jax.vmap(jitter)(rows, jax.random.split(key, 5))"
    ),
    "a default that is never taken twice": (
        "def noise(v, k=jax.random.key(2)):\n    return v + jax.random.normal(k, v.shape)\n"
        "a, b = noise(x), noise(x, key)"
    ),
    "a key for each turn": "y = [jax.random.normal(k) for k in jax.random.split(key, 3)]",
    "a key by the number of the turn": "y = [jax.random.normal(jax.random.fold_in(key, i)) for i in range(3)]",
    "what each of a sweep begins with": (
        "def train(rate, k):\n    w = jax.random.normal(k, (3,))\n    return w - rate * 2 * w\n"
        "ws = jax.vmap(train, in_axes=(0, None))(x, key)"
    ),
    "what draws nothing": "def f(row):\n    return row * 2\ny = jax.vmap(f)(rows)",
}


@pytest.mark.parametrize("name", TOLD)
def test_the_same_numbers_are_told(shell: Shell, name: str) -> None:
    check_plain(shell, SETUP, *TOLD[name])


@pytest.mark.parametrize("name", TOLD)
def test_staged_cells_are_told_the_same(shell: Shell, name: str) -> None:
    cell, line, said = TOLD[name]
    check_staged(shell, SETUP, cell, "key", line, said)


@pytest.mark.parametrize("header", ["", "%%jit\n"])
@pytest.mark.parametrize("name", QUIET)
def test_of_keys_that_differ_nothing_is_told(shell: Shell, name: str, header: str) -> None:
    shell.run(SETUP)
    shell.run(f"{header}{QUIET[name]}")
    noticed = vars(shell.ip)["_jaxnb_magics"].journal.noticed
    assert [finding for finding in noticed if finding.kind == "key"] == []
