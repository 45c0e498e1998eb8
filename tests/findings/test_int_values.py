"""Integers that overflow are found with the numbers that do; what is meant modulo a power of two is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from findings.quietly import quiet_findings
from jaxnb.findings.lints.int_values import integers_lost

BIG = jnp.array([2_000_000_000, 7])
BYTES = jnp.array([200, 3], jnp.uint8)
CODES = jnp.array([100, -90], jnp.int8)
WORDS = jnp.array([4_000_000_000, 7], jnp.uint32)
COUNT = jnp.array([3, 0])


def _lost(function: Callable[..., Any], *arguments: Any) -> list[tuple[str, Any, Any]]:
    closed = jax.make_jaxpr(function)(*arguments)
    found = integers_lost(closed.jaxpr, closed.consts, arguments)
    return [(one.eqn.primitive.name, one.exact, one.became) for one in found]


LOST: dict[str, tuple[Callable[..., Any], tuple[Any, ...], tuple[str, Any, Any]]] = {
    "sum": (lambda x: x + x, (BIG,), ("add", 4_000_000_000, -294967296)),
    "bytes": (lambda x: x + 100, (BYTES,), ("add", 300, 44)),
    "product": (lambda x: x * 2, (CODES,), ("mul", 200, -56)),
    "shift beyond": (lambda x: x << 40, (COUNT,), ("shift_left", 3 << 40, 0)),
    "minus unsigned": (lambda x: -x, (WORDS,), ("neg", -4_000_000_000, 294967296)),
    "reduction": (lambda x: jnp.sum(x, dtype=jnp.int8), (jnp.full(300, 1),), ("reduce_sum", 300, 44)),
    "dot": (jnp.dot, (CODES, CODES), ("dot_general", 18100, -76)),
    "cast": (lambda x: x.astype(jnp.int8), (jnp.array([130, 1]),), ("convert_element_type", 130, -126)),
    "smallest": (jnp.abs, (jnp.array([-128], jnp.int8),), ("abs", 128, -128)),
    "in a jitted function": (lambda x: jax.jit(lambda y: y * 3)(x), (BIG,), ("mul", 6_000_000_000, 1705032704)),
    "in a branch": (lambda x: jax.lax.cond(True, lambda y: y + y, lambda y: y, x), (BIG,), ("add", 4e9, -294967296)),
}

MEANT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "a hash of unsigned words": (lambda x: x * jnp.uint32(2_654_435_761), (WORDS,)),
    "a hash that is masked": (lambda x: (x * 31) & 0xFFFF, (BIG,)),
    "a shift of a generator": (lambda x: x ^ (x << 13), (BIG,)),
    "the half that is chosen": (lambda x: jnp.where(x < 1000, x + x, x), (BIG,)),
    "a byte that is taken out": (lambda x: (x >> 8).astype(jnp.uint8), (BIG,)),
    "a difference of unsigned words": (lambda x: x - 8, (WORDS,)),
    "what fits": (lambda x: x * 2, (COUNT,)),
    "random numbers": (lambda x: jax.random.randint(jax.random.key(0), (4,), 0, 10), (COUNT,)),
    "a division that is guarded": (lambda x: jnp.where(x > 0, 7 // x, 0), (COUNT,)),
    "a power": (lambda x: 10**x, (COUNT,)),
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_lost(name: str) -> None:
    function, arguments, wanted = LOST[name]
    assert _lost(function, *arguments)[0] == wanted


@pytest.mark.parametrize("name", MEANT)
def test_what_is_meant(name: str) -> None:
    function, arguments = MEANT[name]
    assert _lost(function, *arguments) == []


def test_a_division_by_zero_has_no_value() -> None:
    assert _lost(lambda x: 7 // x, COUNT)[0] == ("div", None, -1)


def test_a_loop_says_at_which_turn_it_is_too_much() -> None:
    def run(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (c * 10, c), x, None, length=12)

    assert _lost(run, jnp.array(1)) == [("mul", 10_000_000_000, 1410065408)]


def test_a_long_loop_is_not_followed_to_its_end() -> None:
    assert _lost(lambda x: jax.lax.fori_loop(0, 10**8, lambda _, c: c + 1, x), jnp.array(1)) == []


def test_the_line_names_the_numbers() -> None:
    (finding,), _ = quiet_findings("import jax.numpy as jnp\na = jnp.array([100], jnp.int8)", ["b = a + a"], "wrapped")
    assert finding.line == 1
    assert "100 + 100 is 200, which does not fit into int8 (from -128 to 127) and becomes -56" in finding.message
