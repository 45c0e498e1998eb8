"""`promote` gives what an operation of JAX gives, with the rule that says why."""

from __future__ import annotations

import itertools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawing import drawn_seed

from jaxnb.errors import JaxnbError
from jaxnb.findings.values.promote import promote
from jaxnb.program import LATTICE, render

NAMES = ["bool", "int8", "int32", "uint8", "uint32", "bfloat16", "float16", "float32", "complex64"]
NUMBERS = {"int*": 2, "float*": 2.5, "complex*": 2j}
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
        "  bfloat16 has whole numbers up to 256 exactly: larger ones of int32 are rounded.",
        "  the ways up: int32 → int64 → float* → bfloat16; float* → bfloat16.",
    ]


def test_the_lattice_is_that_of_jax() -> None:
    """Of every two, and of three drawn at random, in whatever order."""
    draw = random.Random(drawn_seed())
    nodes = [name for name in LATTICE if name in NUMBERS or name == "bool" or hasattr(jnp, name)]
    pairs = [*itertools.product(nodes, nodes)]
    with jax.enable_x64(True):
        for given in [*pairs, *(tuple(draw.choices(nodes, k=3)) for _ in range(400))]:
            operands = [NUMBERS.get(name) if name in NUMBERS else jnp.dtype(name) for name in given]
            words = [f"weak-{name[:-1]}" if name in NUMBERS else name for name in given]
            try:
                dtype, weak = jax.dtypes.result_type(*operands, return_weak_type_flag=True)
            except Exception:
                with pytest.raises(JaxnbError, match="not promoted"):
                    promote(*words)
                continue
            found = promote(*words)
            assert found.weak == weak, given
            if not set(given) <= set(NUMBERS):
                assert found.dtype == dtype.name, given
            assert all(
                path[0] == name and path[-1] == found.meets for name, path in zip(given, found.paths, strict=True)
            )


def test_the_order_is_of_no_matter() -> None:
    """An int array and a Python float make a weak float, which gives way in its turn."""
    assert {promote(*names).dtype for names in itertools.permutations(["int32", "weak-float", "bfloat16"])} == {
        "bfloat16"
    }
    assert ((jnp.arange(3) * 1.0) * jnp.ones(3, jnp.bfloat16)).dtype == jnp.bfloat16


def test_arrays_numbers_and_types_are_taken_too() -> None:
    weak = jnp.arange(3) * 1.0
    assert promote(jnp.ones(2, jnp.float16), 3, jnp.bfloat16).dtype == "float32"
    assert promote(weak, jnp.float16).dtype == "float16" and promote(float, np.int8, True).weak
    for odd in (object(), jax.random.key(0)):
        with pytest.raises(JaxnbError):
            promote(odd)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["int32", "float32"], "whole numbers up to 16,777,216 exactly: larger ones of int32 are rounded"),
        (["uint32", "int32"], "a uint32 above 2,147,483,647 becomes negative in int32"),
        (["uint64", "int32"], "no integer holds both, so the result is a float as weak as Python's"),
    ],
)
def test_what_is_lost_is_said(names: list[str], said: str) -> None:
    with jax.enable_x64(False):
        assert said in str(promote(*names))


def test_it_is_drawn_as_the_lattice_with_the_ways() -> None:
    found = promote("int32", "bfloat16")
    assert found.html.count("<rect") == 18 and found.html.count('stroke-width="2.5"') == len(found.paths[0]) - 1
    assert all(f">{name}<" in found.html for name in ("bool", "int*", "complex128"))
    assert ">float8_e5m2<" not in found.html and ">float8_e5m2<" in promote("float8_e5m2", 1.0).html
    assert render(found, "svg").startswith("<svg")


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
