"""Edits that fit many errors: they are told only if they were tried and work, where nothing more fitting is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.findings.errors.edits import exchange
from jaxnb.findings.errors.functions import bare_function
from jaxnb.findings.errors.scene import Scene, is_array
from jaxnb.findings.errors.signatures import read_call
from jaxnb.program import Fix
from jaxnb.runtime import is_library, is_on_jax

__all__ = ["likely_guesses"]

_MOST_ARGUMENTS = 4


def likely_guesses(scene: Scene) -> tuple[Fix, ...]:
    """What may help, whatever the error is about: arguments of a library's function in another order or form.

    Args:
      scene: of the error.
    """
    return (*_unpacked(scene), *_called_later(scene), *_other_order(scene), *_mask(scene), *_in_two_calls(scene))


def _in_two_calls(scene: Scene) -> Iterator[Fix]:
    """`jax.tree.map(f)(tree)`: what a function takes together, given in two calls."""
    node = scene.failed.node
    above = scene.failed.parent(node)
    if not isinstance(node, ast.Call) or not isinstance(above, ast.Call) or above.func is not node:
        return
    if read_call(scene) is None:
        return
    given = [scene.text(one) for one in (*node.args, *above.args, *node.keywords, *above.keywords)]
    yield exchange(scene, "give them in one call", (above, f"{scene.text(node.func)}({', '.join(given)})"))


def _mask(scene: Scene) -> Iterator[Fix]:
    """A mask of (batch, length) for attention, which takes one for each head and query."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or not _is_of_library(scene, node):
        return
    for item in node.keywords:
        value = scene.failed.value_of(item.value)
        if item.arg is not None and "mask" in item.arg and is_array(value) and len(value.shape) in (2, 3):
            index = "[:, None, None, :]" if len(value.shape) == 2 else "[:, None, :, :]"
            new = f"{scene.text(item.value)}{index}"
            yield exchange(scene, "give it axes for the heads and the queries", (item.value, new))


def _unpacked(scene: Scene) -> Iterator[Fix]:
    """`optax.chain([a, b])`: a list where each item is an argument of its own."""
    call = read_call(scene)
    if call is None or len(call.arguments) != 1 or len(call.node.args) != 1:
        return
    takes = [one for one in call.signature.parameters.values() if one.kind is one.VAR_POSITIONAL]
    item = call.node.args[0]
    if not takes:
        return
    if isinstance(item, ast.List | ast.Tuple) and item.elts:
        inner = scene.text(item).strip()[1:-1].strip().rstrip(",")
        yield exchange(scene, "give each as an argument of its own", (item, inner))
    elif isinstance(call.arguments[0].value, list | tuple):
        yield exchange(scene, "give each as an argument of its own", (item, f"*{scene.text(item)}"))


def _called_later(scene: Scene) -> Iterator[Fix]:
    """`optax.inject_hyperparams(optax.adam(rate))`: what a function made where the function itself is taken."""
    call = read_call(scene)
    if call is None or len(call.node.args) != 1 or call.node.keywords:
        return
    inner = call.node.args[0]
    if not isinstance(inner, ast.Call) or not _is_of_library(scene, inner) or call.arguments[0].kind != "function":
        return
    given = ", ".join(scene.text(one) for one in (*inner.args, *inner.keywords))
    new = f"{call.name}({scene.text(inner.func)})({given})"
    yield exchange(scene, "give the function itself, and then its arguments", (call.node, new))


def _other_order(scene: Scene) -> Iterator[Fix]:
    """Two arguments exchanged that stand beside each other, of a function of a library that stands on JAX; those of
    JAX's own functions are arrays, of which any order may fit."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or not 2 <= len(node.args) <= _MOST_ARGUMENTS or not _is_of_library(scene, node):
        return
    if any(isinstance(one, ast.Starred | ast.Constant) for one in node.args):
        return
    kinds = [_kind(scene.failed.value_of(one)) for one in node.args]
    for place, (first, second) in enumerate(zip(node.args[:-1], node.args[1:], strict=True)):
        if kinds[place] is None or kinds[place + 1] is None or kinds[place] != kinds[place + 1]:
            new = (first, scene.text(second)), (second, scene.text(first))
            yield exchange(scene, "give them in the other order", *new)


def _is_of_library(scene: Scene, node: ast.Call) -> bool:
    """Whether a call is of a function, a method or an object of a library that stands on JAX."""
    function = scene.failed.value_of(node.func)
    holder = scene.failed.value_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
    for one in (bare_function(function), holder):
        home = str(getattr(one, "__module__", None) or type(one).__module__)
        if home.partition(".")[0] in _jax.JAX_PACKAGES:
            return False
        if one is not None and is_library(home) and is_on_jax(home):
            return True
    return False


def _kind(value: Any) -> tuple[str, object] | None:
    """What tells two arguments apart: their structure and the shapes of their leaves; None if that is not known."""
    if value is None:
        return None
    if is_array(value):
        return "array", tuple(value.shape)
    try:
        return "tree", jax.tree.structure(value)
    except (TypeError, ValueError):
        return "object", type(value)
