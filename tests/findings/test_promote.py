"""`promote` gives what an operation of JAX gives, with the rule that says why."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import pytest

from jaxnb.errors import JaxnbError
from jaxnb.findings.values.promote import promote

NAMES = ["bool", "int8", "int32", "uint8", "uint32", "bfloat16", "float16", "float32", "complex64"]
WEAK = {"weak-int": 2, "weak-float": 2.5, "weak-complex": 2j}


def operand(name: str) -> object:
    return WEAK[name] if name in WEAK else jnp.ones(2, name)


@pytest.mark.parametrize("x64", [False, True])
def test_it_gives_what_jax_gives(x64: bool) -> None:
    with jax.enable_x64(x64):
        for one, other in itertools.product([*NAMES, *WEAK], NAMES):
            result = jnp.multiply(operand(one), operand(other))  # type: ignore[arg-type]
            assert promote(one, other).dtype == result.dtype.name, (one, other)


def test_three_and_a_weak_one() -> None:
    found = promote("bfloat16", "int32", "weak-float")
    assert (found.dtype, found.weak) == ("bfloat16", False)
    assert str(found).splitlines() == [
        "bfloat16, int32, weak-float → bfloat16",
        "  bfloat16 and int32: an integer or bool takes the dtype of the float, however narrow: bfloat16.",
        "  bfloat16 and weak-float: a Python float takes the dtype of the array, bfloat16.",
    ]


def test_python_numbers_stay_weak() -> None:
    found = promote("weak-int", "float")
    assert (found.dtype, found.weak) == ("float", True)


def test_what_64_bits_that_are_off_change() -> None:
    with jax.enable_x64(False):
        assert "int64 would hold both, and is cut to int32" in str(promote("uint32", "int32"))
        assert promote("f64").dtype == "float32"
    with jax.enable_x64(True):
        assert promote("u32", "i32").dtype == "int64"


def test_neither_half_holds_the_other() -> None:
    assert "neither holds the other" in str(promote("bf16", "f16"))


def test_a_word_that_is_no_dtype() -> None:
    with pytest.raises(JaxnbError, match="no dtype 'flaot32'") as raised:
        promote("flaot32")
    assert "float32" in str(raised.value)
    with pytest.raises(JaxnbError, match="needs dtypes"):
        promote()
