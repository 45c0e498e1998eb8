"""What policies on gradients rely on: that every gradient asks one function, and what functions with rules know."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from covering import covers

from jaxnb._jax import lowered_by_others, remat


@covers("api.vjp")
def test_what_gradients_differentiate_can_be_put_into_something_else() -> None:
    seen: list[Any] = []

    def wrap(fun: Any) -> Any:
        seen.append(fun)
        return lambda *args: (lambda out: jax.tree.map(lambda x: 2 * x, out))(fun(*args))

    def inner(x: Any) -> Any:
        return jax.grad(jnp.sin)(x)

    with remat.differentiated_in(wrap):
        for grad in (jax.grad, lambda f: lambda x: jax.value_and_grad(f)(x)[1]):
            assert grad(jnp.sin)(0.0) == 2.0
        assert jax.vjp(jnp.sin, 0.0)[1](1.0)[0] == 2.0
        assert len(seen) == 3
        assert jax.grad(inner)(0.5) == pytest.approx(-2 * jnp.sin(0.5))  # the outermost alone
        assert len(seen) == 4
        assert jax.grad(lambda x: (x**2, {"a": x}), has_aux=True)(1.0)[0] == 4.0
    assert jax.grad(jnp.sin)(0.0) == 1.0 and jax.vjp is jax._src.api.vjp  # type: ignore[attr-defined]


@covers("custom_vjp.fun", "custom_vjp.optimize_remat")
def test_functions_with_rules_tell_whether_their_forward_rule_may_be_left_out() -> None:
    seen: list[Any] = []
    made = []
    for leaves_out in (False, True):

        @jax.custom_vjp
        def sine(x: Any) -> Any:
            return jnp.sin(x)

        sine.defvjp(lambda x: (jnp.sin(x), jnp.cos(x)), lambda c, g: (c * g,), optimize_remat=leaves_out)
        made.append(sine)
    with remat.calls_of_rules(lambda function, leaves_out: seen.append((function.__name__, leaves_out))):
        for sine in made:
            assert jax.grad(sine)(0.0) == 1.0
    assert seen == [("sine", False), ("sine", True)]


def test_turns_of_scans_are_checkpointed() -> None:
    def loss(x: Any) -> Any:
        return jax.lax.scan(lambda c, _: (jnp.sin(c), None), x, None, length=3)[0]

    plain = jax.lax.scan
    with remat.checkpointed_scans():
        text = str(jax.make_jaxpr(jax.grad(loss))(1.0))
    assert "remat" in text and "remat" not in str(jax.make_jaxpr(jax.grad(loss))(1.0)) and jax.lax.scan is plain


def test_gradients_are_taken_apart_and_given_back() -> None:
    taken: list[Any] = []
    with remat.gradients_taken(taken.append):
        value, (grad, aux) = 0, jax.grad(lambda x: (jnp.sum(jnp.sin(x) ** 2), {"n": x}), has_aux=True)(jnp.arange(3.0))
    assert not isinstance(taken[0], Exception) and value == 0
    assert jnp.allclose(grad, jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 2))(jnp.arange(3.0))) and aux["n"].shape == (3,)
    names = [
        [eqn.primitive.name for eqn in part.eqns] for part in (taken[0].forward, taken[0].linear, taken[0].transposed)
    ]
    assert names[0][0] == "sin" and "mul" in names[1] and "sin" not in names[1] + names[2]
    keys = [{remat.frames_differentiated(eqn) for eqn in part.eqns} for part in (taken[0].forward, taken[0].transposed)]
    assert keys[0] & keys[1] and all(key for key in keys[0])


@covers("Primitive.impl")
def test_primitives_of_other_libraries_are_told_from_those_of_jax() -> None:
    lx = pytest.importorskip("lineax")
    matrix, vector = jnp.eye(2), jnp.ones(2)
    solved = jax.make_jaxpr(lambda a, b: lx.linear_solve(lx.MatrixLinearOperator(a), b).value)(matrix, vector)
    assert lowered_by_others(solved)
    for function in (jnp.linalg.solve, jnp.dot, lambda a, b: jax.lax.scan(lambda c, r: (c + r, c), b, a)):
        assert not lowered_by_others(jax.make_jaxpr(function)(matrix, vector))
    assert not lowered_by_others(
        jax.make_jaxpr(jax.grad(lambda a: jax.random.normal(jax.random.key(0), a.shape).sum()))(matrix)
    )
