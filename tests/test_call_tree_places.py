"""Where equations stand in the call tree that do not say it by themselves: of scopes, of loops, of what JAX moves."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb.program import Node, decode, encode

X = jnp.arange(6.0).reshape(2, 3)


def paths(tree: Node) -> set[str]:
    """The named nodes above what has ops."""
    found: set[str] = set()

    def walk(node: Node, above: tuple[str, ...]) -> None:
        here = (*above, node.name) if node.name else above
        if node.ops:
            found.add(" > ".join(here))
        for child in node.children:
            walk(child, here)

    walk(tree, ())
    return found


def tree_of(cell: str, **names: Any) -> Node:
    known = jaxnb.stage(cell, {"jax": jax, "jnp": jnp, "x": X, **globals(), **names}).program
    assert decode(json.loads(json.dumps(encode(known)))).tree() == known.tree()
    return known.tree()


def attend(x: Any) -> Any:
    return jnp.sin(x)


def layer(x: Any) -> Any:
    with jax.named_scope("outer"), jax.named_scope("inner"):
        x = attend(x) * 2
    with jax.named_scope("mlp"):
        x = jnp.exp(x)
    return x + 1


def test_scopes_are_nodes_between_calls() -> None:
    found = paths(tree_of("y = layer(x)"))
    assert found == {"layer", "layer > outer > inner", "layer > outer > inner > attend", "layer > mlp"}
    (scope,) = [node for node in tree_of("y = layer(x)").walk() if node.name == "mlp"]
    assert (scope.kind, scope.count) == ("scope", 1)


def test_a_scope_of_the_cell_stands_at_its_own_line() -> None:
    tree = tree_of("with jax.named_scope('part'):\n    y = attend(x)\n    z = y * 2\nw = z + 1")
    assert [line.line for line in tree.children] == [1, 4]
    (scope,) = tree.children[0].children
    assert (scope.name, scope.kind) == ("part", "scope")
    assert [line.line for line in scope.children] == [2, 3]
    assert paths(tree) == {"", "part", "part > attend"}


@contextlib.contextmanager
def scoped(name: str) -> Any:
    with jax.named_scope(name):
        yield


def entered_otherwise(x: Any) -> Any:
    with contextlib.ExitStack() as stack:
        stack.enter_context(jax.named_scope("by a stack"))
        x = attend(x)
    with scoped("by a generator"):
        return attend(x)


@jax.named_scope("decorated")
def decorated(x: Any) -> Any:
    return x * 3


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (
            "entered_otherwise(x)",
            {"entered_otherwise > by a stack > attend", "entered_otherwise > by a generator > attend"},
        ),
        ("decorated(x)", {"decorated > decorated"}),
        ("jax.vmap(layer)(x)[0] + 0", {"", "layer > outer > inner > attend"}),
        ("jax.grad(lambda x: layer(x).sum())(x)", {"layer > outer > inner > attend", "layer > mlp"}),
        ("jax.jit(layer)(x)", {"layer > outer > inner > attend", "layer > mlp"}),
    ],
)
def test_scopes_are_found_however_they_are_entered(call: str, expected: set[str]) -> None:
    assert expected <= paths(tree_of(f"y = {call}"))


def test_scopes_of_a_library_are_none_of_the_users() -> None:
    import equinox as eqx

    tree = tree_of("y = linear(x[0])", linear=eqx.nn.Linear(3, 2, key=jax.random.key(0)))
    assert not [node for node in tree.walk() if node.kind == "scope"]


def turn(x: Any, w: Any) -> Any:
    scale = jnp.cos(jnp.arange(3.0))  # the same in each turn
    return jnp.tanh(x * w * scale), None


def loop(w: Any, x: Any) -> Any:
    x, _ = jax.lax.scan(jax.checkpoint(turn), x, w)
    return jnp.sum(x)


@pytest.mark.parametrize("call", ["jax.grad(loop)(x, x[0])", "jax.jit(jax.grad(loop))(x, x[0])", "gradient(x, x[0])"])
def test_what_jax_takes_out_of_a_loop_or_puts_into_it_stands_in_the_loop(call: str) -> None:
    def gradient(w: Any, x: Any) -> Any:
        return jax.value_and_grad(loop)(w, x)[1]

    tree = tree_of(f"y = {call}", gradient=gradient)
    found = paths(tree)
    assert not [path for path in found if "turn" in path and "scan > turn" not in path]
    assert not [path for path in found if path.split(" > ").count("loop") > 1 or path.count("gradient") > 1]


def test_one_that_calls_itself_through_a_jaxpr_is_another_call() -> None:
    def deeper(x: Any, n: int) -> Any:
        return jnp.sin(jax.checkpoint(lambda x: deeper(x * 2, n - 1))(x)) if n else x

    tree = tree_of("y = deeper(x, 3)", deeper=deeper)
    assert "deeper > <lambda> > deeper > <lambda> > deeper" in paths(tree)


def test_a_method_in_the_body_of_a_loop_has_its_path() -> None:
    class Cell:
        def __init__(self, scale: float) -> None:
            self.scale = scale

        def step(self, x: Any, _: Any) -> Any:
            return x * self.scale, None

    class Stack:
        def __init__(self) -> None:
            self.cells = [Cell(2.0), Cell(3.0)]

        def __call__(self, x: Any) -> Any:
            for cell in self.cells:
                x, _ = jax.lax.scan(lambda x, _: cell.step(x, _), x, None, length=4)
            return x

    tree = tree_of("y = stack(x)", stack=Stack())
    assert {node.path for node in tree.walk() if node.name == "Cell.step"} == {"cells[0]", "cells[1]"}
