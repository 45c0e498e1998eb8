"""What is traced or compiled again and again in one cell: told with line, names and a fix, plain and staged."""

from __future__ import annotations

import pytest
from shells import Shell, shell

import jaxnb
from jaxnb.views import render_findings

__all__ = ["shell"]

SETUP = """
import functools
from jax import lax
rows = jnp.arange(20.0).reshape(5, 4)
x = jnp.arange(4.0)
@jax.jit
def step(state, v):
    return state * 0.5 + v.sum()
@functools.partial(jax.jit, static_argnames="rate")
def decay(state, rate):
    return state * rate
@jax.jit
def grow(seen, v):
    return {"n": seen.get("n", 0) + 1, "sum": seen.get("sum", 0.0) + v.sum()}
"""

TOLD = {  # the cell; the line; what is said of it in either form
    "a lambda under jit in a loop": (
        "total = 0.0\nfor row in rows:\n    norm = jax.jit(lambda r: (r * total).sum())\n    total = total + norm(row)",
        3,
        ("`norm`", "in each turn of the loop on line", "above the loop on line", "pass `total` as an argument"),
    ),
    "a function that is defined and jitted in each call": (
        "def fit(row):\n    @jax.jit\n    def update(v):\n        return v - row * v\n    return update(x)\n"
        "fits = [fit(row) for row in rows]",
        2,
        ("`update`", "at each call of `fit`", "make `update` once, outside of `fit`", "pass `row` as an argument"),
    ),
    "a partial of an array": (
        "def scaled(v, by):\n    return (v * by).sum()\nout = []\nfor row in rows:\n"
        "    one = jax.jit(functools.partial(scaled, by=row))\n    out.append(one(x))",
        5,
        ("`one`", "in each turn of the loop on line", "make `one` once"),
    ),
    "a scan of a lambda": (
        "out = []\nfor row in rows:\n    last, _ = lax.scan(lambda s, v: (s + v, s), row[0], row)",
        3,
        ("`last, _ = lax.scan(…)`", "5 times", "the function", "made anew", "under jax.jit, made once"),
    ),
    "a while loop in a function": (
        "def root(a):\n    return lax.while_loop(lambda s: s < a, lambda s: s * 2 + 1, 0.0)\n"
        "roots = [root(a) for a in x + 1]",
        2,
        ("`lax.while_loop(…)`", "at each call of `root`", "put `root` under jax.jit"),
    ),
    "a static number": (
        "state = x\nfor n in range(6):\n    state = decay(state, rate=0.1 * n)",
        3,
        ("`decay`", "static", "static_argnames"),
    ),
    "a carry that begins as a Python number": (
        "state = 0\nfor row in rows:\n    state = step(state, row)",
        3,
        ("`step`", "state", "int32", "float32", "jnp.float32(…)"),
    ),
    "a carry that begins empty": (
        "seen = {}\nfor row in rows:\n    seen = grow(seen, row)",
        3,
        ("`grow`", "seen", "begin with the same keys"),
    ),
    "a shorter last batch": (
        "out = []\nfor i in range(0, 5, 2):\n    out.append(step(1.0, rows[i : i + 2]))",
        3,
        ("`step`", "float32[2,4]", "float32[1,4]", "`rows[i:i + 2]`", "pad"),
    ),
}
TWINS = {
    "jit above the loop": (
        "norm = jax.jit(lambda r, t: (r * t).sum())\ntotal = jnp.float32(0)\n"
        "for row in rows:\n    total = total + norm(row, total)"
    ),
    "a scan under jit": (
        "f = jax.jit(lambda r: lax.scan(lambda s, v: (s + v, s), r[0], r)[0])\nout = [f(r) for r in rows]"
    ),
    "a scan of one function": (
        "def body(s, v):\n    return s + v, s\n"
        "out = []\nfor row in rows:\n    out.append(lax.scan(body, row[0], row)[0])"
    ),
    "a static number that stays": "state = x\nfor _ in range(6):\n    state = decay(state, rate=0.5)",
    "a carry of arrays": "state = jnp.float32(0)\nfor row in rows:\n    state = step(state, row)",
    "two shapes on purpose": "out = [step(1.0, jnp.ones(n)) for n in (3, 5)]",
    "two dtypes on purpose": "out = [step(1.0, x.astype(t)) for t in (jnp.float32, jnp.bfloat16)]",
    "layers of several sizes": (
        "layer = jax.jit(lambda w, h: jnp.tanh(h @ w))\nh = x\n"
        "for n, m in ((4, 5), (5, 6), (6, 7)):\n    h = layer(jnp.ones((n, m)), h)"
    ),
    "batches of one size": "out = []\nfor i in range(0, 4, 2):\n    out.append(step(1.0, rows[i : i + 2]))",
    "a branch that is not taken anew": "y = lax.cond(x[0] > 0, lambda v: v, lambda v: -v, x)",
}


@pytest.mark.parametrize("name", TOLD)
def test_what_a_plain_cell_compiles_again_is_told(shell: Shell, name: str) -> None:
    cell, line, said = TOLD[name]
    shell.run(SETUP)
    text = " ".join(shell.run(cell).split())
    assert f"line {line}:" in text, text
    for part in said:
        assert part in text, text


@pytest.mark.parametrize("name", TOLD)
def test_what_a_staged_cell_traces_again_is_told(shell: Shell, name: str) -> None:
    cell, line, said = TOLD[name]
    shell.run(SETUP)
    shell.run(f"%%jit\n{cell}")
    found = [finding for finding in jaxnb.last().findings if finding.kind == "retrace"]
    assert [finding.line for finding in found] == [line + 1], found
    text = " ".join(render_findings(found, width=200).split())
    for part in said:
        assert part in text, text


@pytest.mark.parametrize("header", ["", "%%jit\n"])
@pytest.mark.parametrize("name", TWINS)
def test_of_what_is_traced_once_nothing_is_told(shell: Shell, name: str, header: str) -> None:
    shell.run(SETUP)
    text = shell.run(f"{header}{TWINS[name]}")
    assert not any(word in text for word in ("traced again", "need be", "made anew", "retrace", "could not")), text


def test_a_cell_that_runs_again_is_told_nothing_new(shell: Shell) -> None:
    shell.run(SETUP)
    cell = "state = 0\nfor row in rows:\n    state = step(state, row)"
    assert "traced again" in shell.run(cell)
    assert "traced again" not in shell.run(cell)


def test_watching_goes_on_after_a_partial_of_an_array(shell: Shell) -> None:
    shell.run(SETUP)
    shell.run("f = jax.jit(functools.partial(lambda a, b: a * b, x))\ny = f(x)")
    assert "watched" not in shell.run("%jaxnb retraces")
