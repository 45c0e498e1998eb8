"""What a forward pass keeps for the backward pass, and what the backward pass computes again."""

from __future__ import annotations

import doctest

import jax
import jax.numpy as jnp
import pytest
from jax import lax
from jax.ad_checkpoint import checkpoint_name, print_saved_residuals

import jaxnb.reading.flow.residuals
from jaxnb.reading.flow.residuals import Residual, recomputed_equations, residuals
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr

POLICIES = jax.checkpoint_policies
KB = 4 * 256  # bytes of 256 numbers of float32


def a(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


def mlp(params, x):
    hidden = jnp.tanh(x @ params["a"])
    return (jnp.sin(hidden @ params["b"]) ** 2).sum()


def named(params, x):
    hidden = checkpoint_name(jnp.tanh(x @ params["a"]), "hidden")
    return (jnp.sin(hidden @ params["b"]) ** 2).sum()


PARAMS, X = {"a": a(20, 30), "b": a(30, 40)}, a(10, 20)


def scanned(weights, x):
    return lax.scan(lambda x, w: (jnp.sin(x @ w), None), x, weights)[0].sum()


def scanned_under(policy):
    def fun(weights, x):
        step = jax.checkpoint(lambda x, w: (jnp.tanh(jnp.sin(x @ w)), None), policy=policy)
        return lax.scan(step, x, weights)[0].sum()

    return fun


@jax.custom_vjp
def clipped(x):
    return jnp.sin(x)


clipped.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)[:, :5]), lambda kept, g: (g * kept.sum(),))


def branches(x, w):
    return lax.cond(x.sum() > 0, lambda: jnp.sin(x @ w), lambda: x @ w).sum()


def layers(weights, x):
    layer = jax.checkpoint(lambda w, x: jnp.tanh(jnp.sin(x @ w)), policy=POLICIES.dots_saveable)
    for n in range(3):
        x = layer(weights[n], x)
    return x.sum()


FUNCTIONS = {
    "plain": (mlp, (PARAMS, X)),
    "jit": (jax.jit(mlp), (PARAMS, X)),
    "checkpoint": (jax.checkpoint(mlp), (PARAMS, X)),
    "checkpoint in jit": (jax.jit(jax.checkpoint(mlp)), (PARAMS, X)),
    "names": (jax.checkpoint(named, policy=POLICIES.save_only_these_names("hidden")), (PARAMS, X)),
    "all but names": (jax.checkpoint(named, policy=POLICIES.save_anything_except_these_names("hidden")), (PARAMS, X)),
    "dots": (jax.checkpoint(mlp, policy=POLICIES.dots_saveable), (PARAMS, X)),
    "dots without batch": (jax.checkpoint(mlp, policy=POLICIES.dots_with_no_batch_dims_saveable), (PARAMS, X)),
    "everything": (jax.checkpoint(mlp, policy=POLICIES.everything_saveable), (PARAMS, X)),
    "nothing": (jax.checkpoint(mlp, policy=POLICIES.nothing_saveable), (PARAMS, X)),
    "scan": (scanned, (a(5, 20, 20), X)),
    "scan of checkpoint": (scanned_under(None), (a(5, 20, 20), X)),
    "scan of dots": (scanned_under(POLICIES.dots_saveable), (a(5, 20, 20), X)),
    "checkpoint of scan": (jax.checkpoint(scanned), (a(5, 20, 20), X)),
    "layers": (layers, (a(3, 20, 20), X)),
    "custom_vjp": (lambda x: clipped(x * 2).sum(), (X,)),
    "cond": (branches, (X, a(20, 20))),
}


def shapes_of(fun, args) -> list[str]:
    every = tuple(range(len(args)))
    return [kept.var.aval.str_short(True) for kept in residuals(jax.make_jaxpr(jax.grad(fun, every))(*args))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_residuals_are_what_jax_says_is_saved(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    fun, args = FUNCTIONS[name]
    print_saved_residuals(fun, *jax.tree.map(lambda s: jnp.ones(s.shape, s.dtype), args))
    told = [line for line in capsys.readouterr().out.splitlines() if "from a literal" not in line]
    assert told
    assert sorted(shapes_of(fun, args)) == sorted(line.partition(" ")[0] for line in told)


def kept_by_vjp(fun, *args) -> list[tuple[int, ...]]:
    """The shapes of what the function that `jax.vjp` gives holds."""
    ones = jax.tree.map(lambda s: jnp.ones(s.shape, s.dtype), args)
    return sorted(leaf.shape for leaf in jax.tree.leaves(jax.vjp(fun, *ones)[1]))


@pytest.mark.parametrize("name", ["plain", "jit", "checkpoint", "dots", "scan", "layers"])
def test_residuals_are_what_the_backward_function_holds(name: str) -> None:
    fun, args = FUNCTIONS[name]
    jaxpr = jax.make_jaxpr(jax.grad(fun, argnums=(0, 1)))(*args)
    assert sorted(kept.var.aval.shape for kept in residuals(jaxpr)) == kept_by_vjp(fun, *args)


def test_residuals_name_who_makes_and_who_reads_them() -> None:
    jaxpr = jax.make_jaxpr(jax.jit(jax.grad(lambda x: jnp.sin(x).sum())))(a(256))
    level = read_jaxpr(jaxpr, cell_file="")
    (kept,) = residuals(jaxpr)
    assert kept.origin == kept.made
    computation, op = kept.made
    assert level.computations[computation].ops[op].name == "cos"
    computation, op = kept.read
    assert level.computations[computation].ops[op].name == "mul"
    assert kept.nbytes == KB


def test_arguments_that_the_backward_pass_reads_are_kept_anyway() -> None:
    jaxpr = jax.make_jaxpr(jax.grad(lambda w, x: (x @ w).sum()))(a(20, 30), a(10, 20))
    (kept,) = residuals(jaxpr)
    assert (kept.made, kept.origin, kept.policy, kept.var.aval.shape) == (None, None, "", (10, 20))


def test_a_checkpoint_keeps_less() -> None:
    def bytes_of(fun):
        found = residuals(jax.make_jaxpr(jax.grad(fun))(PARAMS, X))
        return sum(kept.nbytes for kept in found if kept.made is not None)

    assert bytes_of(mlp) > 0
    assert bytes_of(jax.checkpoint(mlp)) == 0
    assert 0 < bytes_of(jax.checkpoint(named, policy=POLICIES.save_only_these_names("hidden"))) < bytes_of(mlp)


# Policies.


def told(fun, *args) -> list[tuple[str, str, str]]:
    """Of each residual that is no argument: the equation that computes it, its label, and the policy that kept it."""
    jaxpr = jax.make_jaxpr(jax.grad(fun))(*args)
    level = read_jaxpr(jaxpr, cell_file="")

    def maker(kept: Residual) -> str:
        computation, op = kept.origin
        return level.computations[computation].ops[op].name

    return [(maker(kept), kept.label, kept.policy) for kept in residuals(jaxpr) if kept.made is not None]


def test_what_a_policy_keeps_names_it_and_the_equation_that_computes_it() -> None:
    dots = jax.checkpoint(mlp, policy=POLICIES.dots_saveable)
    assert told(dots, PARAMS, X) == [("dot_general", "", "dots_saveable")] * 2
    names = jax.checkpoint(named, policy=POLICIES.save_only_these_names("hidden"))
    assert told(names, PARAMS, X) == [("tanh", "hidden", "save_only_these_names")]


def test_a_name_without_a_policy_is_told() -> None:
    assert ("tanh", "hidden", "") in told(named, PARAMS, X)


def test_a_policy_of_the_user_is_called_by_its_name() -> None:
    def only_sines(primitive, *_, **__):
        return primitive.name == "sin"

    found = told(jax.checkpoint(lambda x: jnp.cos(jnp.sin(x)).sum(), policy=only_sines), a(256))
    assert found == [("sin", "", "only_sines")]


def test_numbers_that_are_not_rounded_are_kept_by_a_policy_too() -> None:
    """JAX marks what a policy keeps only where it is of a floating type."""

    def fun(x):
        order = jnp.argsort(x)
        return (x[order] * jnp.arange(256.0) ** jnp.sin(x)).sum()

    found = told(jax.checkpoint(fun, policy=POLICIES.everything_saveable), a(256))
    assert {policy for _, _, policy in found} == {"everything_saveable"}


def test_the_argument_of_a_checkpoint_is_kept_by_no_policy() -> None:
    inner = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), policy=POLICIES.dots_saveable)
    assert told(lambda x: inner(jnp.exp(x)).sum(), a(256)) == [("exp", "", "")]


def test_what_is_moved_to_the_host_is_told_with_its_policy() -> None:
    policy = POLICIES.save_and_offload_only_these_names(
        names_which_can_be_saved=[],
        names_which_can_be_offloaded=["hidden"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    found = told(jax.checkpoint(named, policy=policy), PARAMS, X)
    assert found == [("tanh", "hidden", "save_and_offload_only_these_names")]


def again(fun, *args) -> list[str]:
    jaxpr = jax.make_jaxpr(jax.grad(fun))(*args)
    level = read_jaxpr(jaxpr, cell_file="")
    found = recomputed_equations(jaxpr)
    for one in found:
        computation, op = one.place
        assert level.computations[computation].ops[op].name == one.eqn.primitive.name
        assert level.computations[computation].ops[op].phase == "rematerialised"
    return [one.eqn.primitive.name for one in found]


def test_what_is_not_kept_is_computed_again() -> None:
    assert again(mlp, PARAMS, X) == []
    assert again(jax.checkpoint(mlp), PARAMS, X).count("dot_general") == 2
    assert again(jax.checkpoint(mlp, policy=POLICIES.dots_saveable), PARAMS, X).count("dot_general") == 0
    assert again(jax.checkpoint(mlp, policy=POLICIES.everything_saveable), PARAMS, X) == []


def test_of_a_call_that_is_computed_again_only_the_call_is_listed() -> None:
    inner = jax.jit(lambda x: jnp.sin(jnp.cos(x)))
    found = again(jax.checkpoint(lambda x: jnp.exp(inner(x) ** 2).sum()), a(256))
    assert "jit" in found
    assert "sin" not in found


def test_a_loop_computes_again_in_every_step() -> None:
    assert again(scanned_under(None), a(5, 20, 20), X).count("dot_general") == 1
    assert again(scanned, a(5, 20, 20), X) == []


# Loops.


def test_what_a_loop_keeps_is_stacked_over_its_iterations_and_made_in_its_body() -> None:
    jaxpr = jax.make_jaxpr(jax.grad(scanned_under(POLICIES.dots_saveable)))(a(5, 20, 20), X)
    level = read_jaxpr(jaxpr, cell_file="")
    kept = [kept for kept in residuals(jaxpr) if kept.policy]
    assert [(one.times, one.var.aval.shape, one.policy) for one in kept] == [(5, (5, 10, 20), "dots_saveable")]
    computation, op = kept[0].origin
    assert level.computations[0].ops[kept[0].made[1]].bodies == (computation,)
    assert level.computations[computation].ops[op].name == "dot_general"


def test_a_loop_in_a_loop_is_stacked_over_both() -> None:
    def fun(x):
        return lax.fori_loop(0, 3, lambda i, x: lax.fori_loop(0, 4, lambda j, x: jnp.sin(x), x), x).sum()

    (kept,) = residuals(jax.make_jaxpr(jax.grad(fun))(a(256)))
    assert (kept.times, kept.nbytes) == (12, 12 * KB)


def test_residuals_of_a_gradient_in_a_loop_and_of_a_batch() -> None:
    grad = jax.grad(lambda x: jnp.sin(x).sum())

    def descend(x):
        return lax.fori_loop(0, 10, lambda i, x: x - 0.1 * grad(x), x)

    assert [(kept.nbytes, kept.times) for kept in residuals(jax.make_jaxpr(descend)(a(256)))] == [(KB, 1)]
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
    jaxpr = jax.make_jaxpr(jax.checkpoint(mlp))(PARAMS, X)
    assert residuals(jaxpr) == []
    assert recomputed_equations(jaxpr) == []
    forward = jax.make_jaxpr(lambda x: jax.jvp(jnp.sin, (x,), (x,)))(a(256))
    assert residuals(forward) == []
