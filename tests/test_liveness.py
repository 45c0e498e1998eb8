"""What lives when in a jaxpr."""

from __future__ import annotations

import doctest

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from jax import lax

import jaxnb.reading.flow.liveness
from jaxnb.reading.flow.liveness import Liveness, live_bytes

KB = 4 * 256  # bytes of 256 numbers of float32


def a(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


def living(fun, *args, donated=()) -> Liveness:
    return live_bytes(jax.make_jaxpr(fun)(*args), donated)


def makers(liveness: Liveness, position: int) -> list[int | None]:
    return [value.made for value in liveness.at(position)]


def test_a_value_lives_from_its_equation_to_its_last_reader() -> None:
    def fun(x):
        small = x[:64]  # 0
        square = x * x  # 1
        total = square.sum()  # 2
        return small * total  # 3

    found = living(fun, a(256))
    assert found.live == (KB + KB // 4, 2 * KB + KB // 4, 2 * KB + KB // 4 + 4, KB + KB // 2 + 4)
    assert (found.peak, found.peak_at) == (2 * KB + KB // 4 + 4, 2)
    assert sorted(makers(found, 2), key=str) == [0, 1, 2, None]
    assert sorted(makers(found, 3), key=str) == [0, 2, 3, None]


def test_who_lives_there_is_listed_by_size() -> None:
    found = living(lambda x: (x[:64], x * 2), a(256))
    sizes = [value.nbytes for value in found.at(1)]
    assert sizes == [KB, KB, KB // 4]


def test_results_are_known_by_their_numbers() -> None:
    found = living(lambda x: (x, jnp.sin(x), (y := x * 2), y.reshape(16, 16)), a(256))
    assert {value.made: value.results for value in found.values} == {None: (0,), 0: (1,), 1: (2, 3)}


def test_results_live_to_the_end() -> None:
    found = living(lambda x: (x * 2, jnp.sin(x)), a(256))
    assert found.live == (2 * KB, 3 * KB)


def test_arguments_live_to_the_end_unless_they_are_donated() -> None:
    def fun(x, y):
        return jnp.sin(jnp.cos(x)) + y

    assert living(fun, a(256), a(256)).live == (3 * KB, 4 * KB, 4 * KB)
    assert living(fun, a(256), a(256), donated=[0]).live == (3 * KB, 3 * KB, 3 * KB)


def test_a_reshaped_value_has_the_memory_of_the_old_one() -> None:
    found = living(lambda x: jnp.sin(x.reshape(16, 16)).reshape(256)[None], a(256))
    assert found.peak == 2 * KB
    assert len(found.values) == 2


def test_what_no_result_needs_does_not_live() -> None:
    def fun(x):
        jnp.outer(x, x)
        return x * 2

    assert living(fun, a(256)).peak == 2 * KB


def test_a_call_needs_its_peak_above_its_arguments_and_results() -> None:
    @jax.jit
    def inner(x):
        return jnp.tanh(jnp.outer(x, x)).sum(0)

    found = living(lambda x: inner(x * 2), a(256))
    # The argument, what is handed to the call, and its result; inside there are two matrices at a time.
    assert found.peak == 3 * KB + 2 * 256 * KB
    assert found.bodies[1].peak == 2 * 256 * KB


def test_a_loop_needs_the_memory_of_one_step() -> None:
    def step(carry, x):
        return jnp.sin(carry) * x, carry.sum()

    found = living(lambda c, xs: lax.scan(step, c, xs), a(256), a(100, 256))
    outer = KB + 100 * KB + KB + 400  # arguments, the last carry, the sums
    assert found.peak == outer + 3 * KB  # a step has its slice, the sine and the new carry
    assert found.bodies[0].live == (2 * KB, 3 * KB, KB + 4)


def test_of_branches_the_one_that_needs_the_most() -> None:
    def fun(p, x):
        return lax.cond(p, lambda x: x * 2, lambda x: jnp.outer(x, x).sum(0), x)

    assert living(fun, a(dtype="bool"), a(256)).bodies[1].peak == 256 * KB


def test_the_body_of_a_shard_map_lives_on_every_device() -> None:
    mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    fun = jax.shard_map(
        lambda x: jnp.sin(jnp.cos(x)), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"), check_vma=False
    )
    assert living(fun, a(256)).peak == 3 * KB


def test_a_program_without_equations_has_its_arguments() -> None:
    assert living(lambda x: x, a(256)).live == (KB,)


def test_constants_live_to_the_end() -> None:
    table = jnp.arange(256.0)
    assert living(lambda x: (x + table) * 2, a(256)).live == (3 * KB, 4 * KB)


def test_shapes_with_symbols_have_no_bytes() -> None:
    (n,) = jax.export.symbolic_shape("n")
    traced = jax.jit(jnp.sin).trace(jax.ShapeDtypeStruct((n,), "float32"))
    with pytest.raises(ValueError, match="no fixed size"):
        live_bytes(traced.jaxpr)


STEPS = {
    "sin": jnp.sin,
    "outer": lambda x: jnp.outer(x, x).sum(0),
    "loop": lambda x: lax.fori_loop(0, 3, lambda i, x: jnp.cos(x) * x, x),
    "call": jax.jit(lambda x: jnp.exp(x) + x),
    "reshape": lambda x: x.reshape(16, 16).reshape(256),
}


@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6))
def test_laws_of_liveness(steps: list[str]) -> None:
    def fun(x):
        values = [x]
        for step in steps:
            values.append(STEPS[step](values[-1]))
        return values[-1] + values[len(values) // 2]

    found = living(fun, a(256))
    assert found.peak >= 2 * KB
    for position, live in enumerate(found.live):
        inside = found.bodies[position].peak if position in found.bodies else 0
        assert live == sum(value.nbytes for value in found.at(position)) + inside
    assert living(fun, a(256), donated=[0]).peak <= found.peak


def test_the_compiler_needs_no_more() -> None:
    def loss(w, x):
        return (jnp.tanh(jnp.tanh(x @ w) @ w) ** 2).sum()

    fun = jax.jit(jax.value_and_grad(loss))
    args = a(256, 256), a(512, 256)
    found = live_bytes(fun.trace(*args).jaxpr)
    compiled = fun.lower(*args).compile().memory_analysis()
    given_and_made = compiled.argument_size_in_bytes + compiled.output_size_in_bytes
    assert found.peak >= given_and_made
    assert found.peak >= (given_and_made + compiled.temp_size_in_bytes) / 2
