"""Arithmetic among Python scalars stays Python's, to the last digit, and does not trace again."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from drawing import drawn_seed
from hypothesis import given, seed, settings, strategies as st

import jaxnb
from jaxnb import _jax
from jaxnb.staging.trace.prelude import OutOfReach, find_prelude

SETUP = """\
import jax, jax.numpy as jnp
x = jnp.array([0.5, -1.0, 2.0])
"""


def spaces(setup: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for space in (plain, staged):
        exec(SETUP + setup, space)
    return plain, staged


def run_both(cell: str, plain: dict[str, Any], staged: dict[str, Any]) -> jaxnb.Run:
    exec(cell, plain)
    return jaxnb.stage(cell, staged)


# --- what is cut out -----------------------------------------------------------------------------------------------


def test_the_program_is_left_with_what_python_does_not_compute() -> None:
    def piece(n: Any, lr: Any, x: Any) -> Any:
        m = n + 1
        return m, x * (lr / m), jnp.sqrt(1 - 0.9**m) * x, m * 2, x

    closed = jax.jit(piece).trace(3, 0.5, jnp.ones(2)).jaxpr
    prelude, rest, *_ = find_prelude(closed, [0, 1], ["n", "lr", "x"])
    values = prelude.values([3, 0.5, None])
    assert [prelude.texts[place] if kind == "value" else place for kind, place in prelude.inputs] == [
        2,
        "lr / (n + 1)",
        "1.0 - (0.9 ** (n + 1))",
    ]
    x = jnp.arange(2.0)
    outputs = _jax.as_function(rest)(*prelude.arguments([3, 0.5, x], values))
    m, a, b, twice, same = prelude.results(outputs, values)
    assert (m, twice) == (4, 8) and type(m) is int
    assert jnp.allclose(a, x * 0.125) and jnp.allclose(b, x * math.sqrt(1 - 0.9**4)) and jnp.allclose(same, x)


@pytest.mark.parametrize(
    ("text", "n"), [("n - 2**30", -(2**31) + 5), ("1 / n", 0), ("2.0 ** n", 5000), ("n * 10**9", 5), ("0.5 / n - n", 0)]
)
def test_what_the_program_was_not_traced_for_is_out_of_reach(text: str, n: int) -> None:
    closed = jax.jit(lambda n, x: x * eval(text)).trace(3, jnp.ones(2)).jaxpr
    cut = find_prelude(closed, [0], ["n", "x"])
    with pytest.raises(OutOfReach):
        cut.prelude.values([n, None])


# --- staged --------------------------------------------------------------------------------------------------------

CLASS = """\
class C:
    def __init__(self):
        self.n = 0
    def up(self, x):
        self.n += 1
        return x * self.n
c = C()"""
CLOSURE = """\
def make():
    n = 0
    def f(x):
        nonlocal n
        n += 1
        return x + n, n
    return f
f = make()"""
COUNTERS = {
    "an attribute": (CLASS, "y = c.up(x)", "c.n"),
    "a dict item": ("s = {'n': 0}", "y = x * 2; s['n'] += 1", "s['n']"),
    "a float": ("s = {'lr': 1.0}", "y = x * s['lr']; s['lr'] *= 0.9", "s['lr']"),
    "a closure cell": (CLOSURE, "y, n = f(x)", "n"),
    "a bias correction": ("s = {'t': 0}", "s['t'] += 1; y = x / (1 - 0.999 ** s['t'])", "s['t']"),
    "a schedule": ("s = {'t': 0}", "s['t'] += 1; y = x * 0.1 / (1 + 0.5 * s['t'])", "s['t']"),
    "a remainder": ("s = {'t': 0}", "s['t'] += 1; y = x * (s['t'] % 3), s['t'] // 2", "y[1]"),
    "a function of JAX": ("s = {'t': 0}", "s['t'] += 1; y = x * jnp.sqrt(1 - 0.9 ** s['t'])", "s['t']"),
    "a comparison": ("s = {'t': 0}", "s['t'] += 1; y = jnp.where(s['t'] > 3, x, -x)", "s['t']"),
}


@pytest.mark.parametrize("kind", COUNTERS)
def test_a_counter_does_not_trace_again(kind: str) -> None:
    setup, cell, shown = COUNTERS[kind]
    cell = f"if True:\n    {cell}"
    plain, staged = spaces(setup)
    runs = [run_both(cell, plain, staged) for _ in range(6)]
    assert [run.reused for run in runs[2:]] == [True] * 4, [run.retrace for run in runs]
    expected, found = eval(shown, plain), eval(shown, staged)
    assert type(found) is type(expected) and found == expected
    for a, b in zip(jax.tree.leaves(plain["y"]), jax.tree.leaves(staged["y"]), strict=True):
        assert type(a) is type(b) and jnp.allclose(a, b, rtol=1e-6)


def test_a_value_that_is_needed_still_counts() -> None:
    plain, staged = spaces("s = {'t': 0}")
    cell = "if True:\n    s['t'] += 1\n    y = x * 2 if s['t'] % 2 else x"
    for _ in range(5):
        run_both(cell, plain, staged)
        assert staged["s"] == plain["s"] and jnp.allclose(plain["y"], staged["y"])


def test_a_counter_that_leaves_the_range_of_the_program_is_still_exact() -> None:
    plain, staged = spaces("s = {'n': 1}")
    cell = "if True:\n    s['n'] = s['n'] * 5000\n    y = x * 2.0 * (1 / s['n'])"
    for _ in range(6):
        run_both(cell, plain, staged)
        assert staged["s"] == plain["s"] and jnp.allclose(plain["y"], staged["y"], rtol=1e-5)


def test_an_error_of_the_arithmetic_is_the_plain_one() -> None:
    plain, staged = spaces("s = {'n': 4}")
    cell = "if True:\n    s['n'] -= 1\n    y = x / s['n'] + 1 / s['n']"
    for _ in range(3):
        run_both(cell, plain, staged)
    with pytest.raises(ZeroDivisionError):
        jaxnb.stage(cell, staged)
    assert staged["s"] == {"n": 1}


NUMBERS = st.one_of(st.integers(-20, 20), st.floats(-4, 4, allow_nan=False, width=64))
EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b", "c", "1", "3", "0.3", "2.5"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "//", "%"]), inner).map(lambda t: f"({' '.join(t)})"),
        st.tuples(inner, st.sampled_from(["** 2", "** 3"])).map(lambda t: f"({t[0]} {t[1]})"),
        inner.map(lambda t: f"(-{t})"),
        inner.map(lambda t: f"abs({t})"),
    ),
    max_leaves=6,
)


def plain_number(text: str, space: dict[str, Any]) -> Any:
    try:
        return eval(text, space)
    except (ZeroDivisionError, OverflowError) as error:
        return type(error)


@seed(drawn_seed())
@settings(max_examples=25, deadline=None, database=None)
@given(text=EXPRESSIONS, turns=st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=4, max_size=4))
def test_any_arithmetic_is_exact(text: str, turns: list[tuple[Any, Any, Any]]) -> None:
    plain, staged = spaces("s = {'v': 0}")
    cell = f"if True:\n    y = x * 2\n    s['v'] = {text}"
    for a, b, c in turns:
        for space in (plain, staged):
            space.update(a=a, b=b, c=c)
        expected = plain_number(text, plain)
        if isinstance(expected, type):
            with pytest.raises(expected):
                jaxnb.stage(cell, staged)
            continue
        jaxnb.stage(cell, staged)
        found = staged["s"]["v"]
        assert type(found) is type(expected) and repr(found) == repr(expected), (text, a, b, c)
