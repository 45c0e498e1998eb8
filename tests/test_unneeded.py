"""What no result needs, and what depends on no input."""

from __future__ import annotations

import doctest

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jaxnb.reading.flow.unneeded
from jaxnb.reading.flow.unneeded import Found, computations, dead_equations, known_equations
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr


def a(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


def check_places(jaxpr, found: list[Found]) -> list[str]:
    """The names of the equations, once their places are those that the reader gives them."""
    level = read_jaxpr(jaxpr, cell_file="")
    for one in found:
        computation, op = one.place
        assert level.computations[computation].ops[op].name == one.eqn.primitive.name
    return [one.eqn.primitive.name for one in found]


def names(fun, *args) -> list[str]:
    jaxpr = jax.make_jaxpr(fun)(*args)
    return check_places(jaxpr, dead_equations(jaxpr))


def test_equations_that_nothing_reads_are_dead_and_so_is_what_only_they_read() -> None:
    def fun(x):
        jnp.exp(jnp.sin(x))
        return x * 2

    assert names(fun, a(10)) == ["sin", "exp"]


def test_an_effect_keeps_an_equation() -> None:
    def fun(x):
        jax.debug.print("{}", jnp.sin(x))
        return x * 2

    assert names(fun, a(10)) == []


def test_a_call_computes_for_nothing_what_its_caller_does_not_use() -> None:
    both = jax.jit(lambda x: (jnp.sin(x), jnp.cos(x)))
    assert names(lambda x: both(x)[1], a(10)) == ["sin"]
    assert names(lambda x: both(x), a(10)) == []
    assert names(lambda x: (both(x), x * 2)[1], a(10)) == ["jit"]  # all of it, so that its inside is not listed


def test_a_loop_computes_for_nothing_what_only_it_carries() -> None:
    def fun(x):
        return lax.scan(lambda c, _: ((c[0] * 2, jnp.sin(c[1])), None), (x, x), None, 3)[0][0]

    assert names(fun, a(10)) == ["sin"]


def test_a_carry_that_another_one_reads_later_is_needed() -> None:
    def fun(x):
        def step(c, _):
            return (c[0] + c[1], jnp.sin(c[1]), jnp.cos(c[2])), None

        return lax.scan(step, (x, x, x), None, 3)[0][0]

    assert names(fun, a(10)) == ["cos"]


def test_branches_are_needed_for_the_results_that_are_used() -> None:
    def fun(p, x):
        return lax.cond(p, lambda x: (jnp.sin(x), x), lambda x: (x, jnp.cos(x)), x)[1]

    assert names(fun, a(dtype="bool"), a(10)) == ["sin"]


def test_what_grad_does_not_use_of_the_value_is_dead() -> None:
    assert "reduce_sum" in names(jax.grad(lambda x: jnp.sin(x).sum()), a(10))


# Known equations.


def known(fun, *args) -> list[str]:
    jaxpr = jax.make_jaxpr(fun)(*args)
    return check_places(jaxpr, known_equations(jaxpr))


def test_what_depends_on_literals_and_constants_alone_is_known() -> None:
    table = jnp.arange(4.0)
    assert known(lambda x: x * (jnp.sin(table) + jnp.ones(4)), a(4)) == ["sin", "broadcast_in_dim", "add"]


def test_what_depends_on_an_input_is_not() -> None:
    assert known(lambda x: jnp.sin(x) * 2 + x, a(4)) == []


def test_inside_of_a_call_known_arguments_are_known() -> None:
    inner = jax.jit(lambda x, n: (x * jnp.cos(n), jnp.exp(n)))

    def fun(x):
        y, z = inner(x, jnp.float32(3))
        return y + jnp.tanh(z)

    assert known(fun, a(4)) == ["tanh", "cos", "exp"]


def test_a_call_all_of_whose_arguments_are_known_is_listed_as_a_whole() -> None:
    inner = jax.jit(lambda n: jnp.exp(jnp.cos(n)))
    assert known(lambda x: x + inner(jnp.float32(3)), a(4)) == ["jit"]


def test_of_a_loop_only_what_depends_on_none_of_its_arguments_is_known() -> None:
    def fun(x):
        return lax.fori_loop(0, 3, lambda i, c: c + i * jnp.arange(4.0), x)

    assert known(fun, a(4)) == ["iota"]
    assert "scan" in known(lambda x: x + lax.fori_loop(0, 3, lambda i, c: c * 2, jnp.ones(4)), a(4))


def test_the_branches_of_a_choice_depend_on_their_operands() -> None:
    found = known(lambda p, x: lax.cond(p, lambda x, n: x * jnp.sin(n), lambda x, n: x, x, 2.0), a(dtype="bool"), a(4))
    assert found == []


def test_an_effect_and_the_number_of_a_device_are_not_known_ahead() -> None:
    def fun(x):
        jax.debug.print("{}", jnp.sin(2.0))
        return x

    assert known(fun, a(8)) == ["sin"]
    mesh = jax.make_mesh((8,), ("i",), axis_types=(jax.sharding.AxisType.Auto,))
    spread = jax.shard_map(
        lambda x: x + lax.axis_index("i"), mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"), check_vma=False
    )
    assert "axis_index" not in known(spread, a(8))


def test_what_is_dead_is_not_listed_as_known() -> None:
    def fun(x):
        jnp.sin(jnp.arange(4.0))
        return x * 2

    assert known(fun, a(4)) == []


def test_computations_count_as_the_reader_does() -> None:
    shared = jax.jit(lambda x: jnp.sin(x))

    def fun(p, x):
        x = lax.cond(p, lambda x: shared(x), lambda x: lax.fori_loop(0, 3, lambda i, x: shared(x) * 2, x), x)
        return shared(x)

    jaxpr = jax.make_jaxpr(fun)(a(dtype="bool"), a(4))
    level, found = read_jaxpr(jaxpr, cell_file=""), computations(jaxpr)
    assert [here.index for here in found] == list(range(len(level.computations)))
    for here, computation in zip(found, level.computations, strict=True):
        assert here.bodies == [op.bodies for op in computation.ops]
        assert [eqn.primitive.name for eqn in here.jaxpr.eqns] == [op.name for op in computation.ops]


@pytest.mark.parametrize("find", [dead_equations, known_equations])
def test_what_was_walked_once_need_not_be_walked_again(find) -> None:
    jaxpr = jax.make_jaxpr(lambda x: (jnp.sin(x), x + jnp.arange(4.0))[1])(a(4))
    walked = computations(jaxpr)
    assert [one.place for one in find(walked)] == [one.place for one in find(jaxpr)] != []
