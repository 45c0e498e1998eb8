"""The tables of measured costs, against XLA as it is; and rules that are formulas in shapes, on random shapes."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings
from jax import lax

from jaxnb.reading.cost import cost_of
from jaxnb.reading.cost.measured import FOLDER, Each, Formula

TOOL = runpy.run_path(str(Path(__file__).parents[1] / "tools/cost_table.py"))
TABLE = tomllib.loads(TOOL["FILE"].read_text("utf-8"))
DTYPES = {"real": "float32 bfloat16 float16", "double": "float64", "complex": "complex64 complex128"}


def test_each_jax_that_is_supported_has_its_table() -> None:
    tables = {path.name: tomllib.loads(path.read_text("utf-8")) for path in FOLDER.glob("jax_*.toml")}
    assert {*tables} == {"jax_0.10.toml", "jax_0.11.toml", "jax_0.12.toml"}
    for table in tables.values():
        assert {*table} == {*TABLE} and {*table["double"]} <= {*table["real"]}
        assert {*tables["jax_0.10.toml"]["real"]} <= {*table["real"]} <= {*TOOL["REAL"].split()}


@pytest.mark.parametrize("name", [*TABLE["real"]])
def test_functions_of_real_numbers_are_as_measured(name: str) -> None:
    single, double = TOOL["real"](name)
    assert Formula(**TABLE["real"][name]) == single
    assert Formula(**TABLE["double"].get(name, TABLE["real"][name])) == double


@pytest.mark.parametrize("name", [*TABLE["complex"]])
def test_functions_of_complex_numbers_are_as_measured(name: str) -> None:
    assert Formula(**TABLE["complex"][name]) == TOOL["of_complex"](name)


@pytest.mark.parametrize("section", ["steps", "random"])
def test_parts_of_reductions_and_of_random_numbers_are_as_measured(section: str) -> None:
    assert {name: Each(**row) for name, row in TABLE[section].items()} == dict(TOOL[section]())


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for section, dtypes in DTYPES.items()
        for name in TABLE[section]
        for dtype in dtypes.split()
        if name != "conj" or dtype not in ("bfloat16", "float16")
    ],
)
def test_a_rule_with_a_measured_formula_says_what_xla_says(name: str, dtype: str) -> None:
    operands = [jax.ShapeDtypeStruct((300,), dtype)] * (2 if name in TOOL["BINARY"] else 1)
    with jax.enable_x64(dtype in ("float64", "complex128")):
        check(getattr(lax, name), *operands)


def check(fun: Any, *args: Any) -> None:
    ours = cost_of(jax.make_jaxpr(fun)(*args), once=True)
    assert not ours.unknown and (ours.flops, ours.bytes, ours.transcendentals) == TOOL["xla"](fun, *args)


def a(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, "float32")


SIZE = st.integers(2, 40)


@settings(max_examples=10)
@given(SIZE, SIZE, SIZE, SIZE)
def test_products_on_random_shapes(batch: int, m: int, n: int, k: int) -> None:
    check(lax.dot, a(m, k), a(k, n))
    check(jnp.matmul, a(batch, m, k), a(batch, k, n))


@settings(max_examples=10)
@given(SIZE, SIZE, st.integers(1, 5), st.integers(1, 5), st.integers(1, 3), st.sampled_from(["SAME", "VALID"]))
def test_convolutions_on_random_shapes(width: int, height: int, k: int, o: int, stride: int, padding: str) -> None:
    kernel = a(o, k, min(3, width), min(2, height))
    check(lambda x, w: lax.conv(x, w, (stride, 1), padding), a(2, k, width, height), kernel)


@settings(max_examples=10)
@given(SIZE, SIZE, st.integers(0, 1))
def test_reductions_and_sorts_on_random_shapes(m: int, n: int, axis: int) -> None:
    check(lambda x: lax.reduce_sum(x, (axis,)), a(m, n))
    check(lambda x: lax.reduce_max(x, (0, 1)), a(m, n))
    check(lambda x: lax.sort(x, dimension=axis), a(m, n))
    check(lambda x: lax.fft(x, "fft", (n,)), jax.ShapeDtypeStruct((m, n), "complex64"))
