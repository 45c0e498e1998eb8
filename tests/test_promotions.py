"""The conversions that the code did not ask for: which equations they are, where, and what they cost."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb.program import decode, encode, render

B, I, F, BOOLS = jnp.ones((4, 4), jnp.bfloat16), jnp.arange(4), jnp.ones((4, 4)), jnp.ones(4, bool)

IMPLICIT = {
    "b * i": ["int32 → bfloat16"],
    "jnp.sin(i)": ["int32 → float32"],
    "i / 2": ["int32 → float32"],
    "jnp.where(m, b, i)": ["int32 → bfloat16"],
    "jnp.concatenate([b[0], i])": ["int32 → bfloat16"],
    "jnp.minimum(b, f)": ["bfloat16 → float32"],
    "b < f": ["bfloat16 → float32"],
    "jnp.mean(i)": ["int32 → float32"],
    "b @ f": ["bfloat16 → float32"],
    "b.at[0, 0].set(i[0])": ["int32 → bfloat16"],
    "jax.vmap(lambda row: row * i)(b)": ["int32 → bfloat16"],
    "jax.jit(lambda b: b + f)(b)": ["bfloat16 → float32"],
    "jax.lax.map(lambda row: row + f[0], b)": ["bfloat16 → float32"],
}
ASKED = (
    "b.astype(jnp.float32) + f",
    "jnp.asarray(b, jnp.float32)",
    "jnp.float32(i)",
    "jax.lax.convert_element_type(b, jnp.float32)",
    "jnp.array(i, dtype=float)",
    "b.sum()",
    "jax.nn.softmax(b)",
    "b * 2.5 + 1",
    "jax.nn.one_hot(i, 4)",
    "b @ b",
    "jnp.var(b)",
)


def staged(cell: str) -> jaxnb.Program:
    return jaxnb.stage(cell, {"jax": jax, "jnp": jnp, "b": B, "i": I, "f": F, "m": BOOLS}).program


@pytest.mark.parametrize("text", IMPLICIT)
def test_what_meets_another_dtype_is_listed_with_its_line(text: str) -> None:
    found = staged(f"k = 1\ny = {text}").promotions()
    assert [one.meets for one in found] == IMPLICIT[text] and {one.line for one in found} == {2}


@pytest.mark.parametrize("text", ASKED)
def test_what_the_code_asks_for_is_not(text: str) -> None:
    found = staged(f"y = {text}").promotions()
    assert len(found) == 0 and "no implicit promotions" in str(found)


def test_what_they_cost_is_of_the_wider_dtype() -> None:
    program = staged("y = b @ f")
    (product,) = program.promotions()
    assert product.flops == next(program.level("jaxpr").ops()).flops and product.flops >= 2 * 4 * 4 * 4
    (moved,) = staged("y = b * i[:, None]").promotions()
    assert (moved.shape, moved.bytes, moved.flops) in [((4, 1), 4 * 4 + 4 * 2, 16), ((4,), 4 * 4 + 4 * 2, 16)]


def test_functions_and_loops_are_looked_into() -> None:
    cell = "def f_(h):\n    return h * i\ny, _ = jax.lax.scan(lambda c, _: (f_(c), None), b, None, length=3)"
    (one,) = staged(cell).promotions()
    assert (one.line, one.within, one.meets) == (2, "f_", "int32 → bfloat16") and one.bytes == 3 * (4 * 4 + 4 * 2)
    assert "f_: return h * i" in str(staged(cell).promotions())


def test_they_are_saved_with_the_program_and_shown_as_html() -> None:
    program = staged("y = b * i\nz = jnp.sin(i)")
    again = decode(encode(program)).promotions()
    assert again.items == program.promotions().items and len(again) == 2
    assert "2 implicit promotions" in str(again) and "<table" in render(again, "html")


def test_an_empty_table_has_no_heads() -> None:
    assert str(staged("y = b @ b").promotions()).splitlines() == [
        "no implicit promotions: every conversion is written in the code"
    ]


def test_a_conversion_that_no_result_needs_is_said_to_be_unused() -> None:
    found = staged("y = jax.jit(lambda b, i: (b * i, b + 1)[1])(b, i)").promotions()
    assert [one.bytes for one in found] == [0] and "unused" in str(found)


def test_strict_promotion_leaves_none() -> None:
    with jax.numpy_dtype_promotion("strict"):
        assert not [*jaxnb.inspect(lambda x: jnp.sin(x) * 2)(F).promotions()]


def test_a_level_says_what_an_equation_promotes() -> None:
    def attributes(program: Any) -> list[tuple[str, str]]:
        return [pair for op in program.level("jaxpr").ops() for pair in op.attributes if pair[0] == "promotion"]

    assert attributes(staged("y = b * i")) == [("promotion", "int32 → bfloat16")]
