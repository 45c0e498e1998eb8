"""What lives when, what is computed for nothing, and what a forward pass keeps for the backward pass."""

from __future__ import annotations

import doctest

import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from jax import lax

import jaxnb.liveness
from jaxnb.liveness import Liveness, dead_equations, live_bytes, residuals
from jaxnb.readers.jaxpr import read_jaxpr

KB = 4 * 256  # bytes of 256 numbers of float32


def a(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


def living(fun, *args, donated=()) -> Liveness:
    return live_bytes(jax.make_jaxpr(fun)(*args), donated)


def makers(liveness: Liveness, position: int) -> list[int | None]:
    return [value.made for value in liveness.at(position)]


# Live bytes.


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


# Dead equations.


def names(fun, *args) -> list[str]:
    jaxpr = jax.make_jaxpr(fun)(*args)
    level = read_jaxpr(jaxpr, cell_file="")
    found = dead_equations(jaxpr)
    for dead in found:
        computation, op = dead.place
        assert level.computations[computation].ops[op].name == dead.eqn.primitive.name
    return [dead.eqn.primitive.name for dead in found]


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


# Residuals.


def mlp(params, x):
    hidden = jnp.tanh(x @ params["a"])
    return (jnp.sin(hidden @ params["b"]) ** 2).sum()


PARAMS, X = {"a": a(20, 30), "b": a(30, 40)}, a(10, 20)


def scanned(weights, x):
    return lax.scan(lambda x, w: (jnp.sin(x @ w), None), x, weights)[0].sum()


def kept_by_vjp(fun, *args) -> list[tuple[int, ...]]:
    """The shapes of what the function that `jax.vjp` gives holds."""
    ones = jax.tree.map(lambda s: jnp.ones(s.shape, s.dtype), args)
    return sorted(leaf.shape for leaf in jax.tree.leaves(jax.vjp(fun, *ones)[1]))


@pytest.mark.parametrize(
    "fun, args",
    [
        (mlp, (PARAMS, X)),
        (jax.jit(mlp), (PARAMS, X)),
        (jax.checkpoint(mlp), (PARAMS, X)),
        (scanned, (a(5, 20, 20), X)),
    ],
    ids=["plain", "jit", "checkpoint", "scan"],
)
def test_residuals_are_what_the_backward_function_holds(fun, args) -> None:
    jaxpr = jax.make_jaxpr(jax.grad(fun, argnums=(0, 1)))(*args)
    assert sorted(kept.var.aval.shape for kept in residuals(jaxpr)) == kept_by_vjp(fun, *args)


def test_residuals_name_who_makes_and_who_reads_them() -> None:
    jaxpr = jax.make_jaxpr(jax.jit(jax.grad(lambda x: jnp.sin(x).sum())))(a(256))
    level = read_jaxpr(jaxpr, cell_file="")
    (kept,) = residuals(jaxpr)
    computation, op = kept.made
    assert level.computations[computation].ops[op].name == "cos"
    computation, op = kept.read
    assert level.computations[computation].ops[op].name == "mul"
    assert kept.nbytes == KB


def test_arguments_that_the_backward_pass_reads_are_kept_anyway() -> None:
    jaxpr = jax.make_jaxpr(jax.grad(lambda w, x: (x @ w).sum()))(a(20, 30), a(10, 20))
    (kept,) = residuals(jaxpr)
    assert (kept.made, kept.var.aval.shape) == (None, (10, 20))


def test_a_checkpoint_keeps_less() -> None:
    def bytes_of(fun):
        found = residuals(jax.make_jaxpr(jax.grad(fun))(PARAMS, X))
        return sum(kept.nbytes for kept in found if kept.made is not None)

    assert bytes_of(mlp) > 0
    assert bytes_of(jax.checkpoint(mlp)) == 0


def test_residuals_of_a_gradient_in_a_loop_and_of_a_batch() -> None:
    grad = jax.grad(lambda x: jnp.sin(x).sum())

    def descend(x):
        return lax.fori_loop(0, 10, lambda i, x: x - 0.1 * grad(x), x)

    assert [kept.nbytes for kept in residuals(jax.make_jaxpr(descend)(a(256)))] == [KB]
    with jax.named_scope("outside"):
        batch = jax.make_jaxpr(jax.vmap(grad))(a(4, 256))
    assert [kept.nbytes for kept in residuals(batch)] == [4 * KB]


def test_of_a_second_derivative_the_outer_forward_pass_has_the_inner_backward_pass() -> None:
    def slope(x):
        return jax.grad(lambda x: (x**3).sum())(x).sum()

    jaxpr = jax.make_jaxpr(jax.grad(slope))(a(256))
    backward = {kept.read for kept in residuals(jaxpr)}
    inner = {
        (0, at) for at, eqn in enumerate(jaxpr.eqns) if str(eqn.source_info.name_stack).startswith("jvp(transpose(")
    }
    assert backward
    assert inner
    assert not backward & inner


def test_without_a_derivative_there_are_none() -> None:
    assert residuals(jax.make_jaxpr(mlp)(PARAMS, X)) == []


def test_examples() -> None:
    found = doctest.testmod(jaxnb.liveness)
    assert found.attempted
    assert not found.failed
