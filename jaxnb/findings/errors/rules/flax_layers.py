"""Layers of flax that are given their inputs in another order than they take them, or before they are ready."""

from __future__ import annotations

import ast
from typing import Any

from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.errors.edits import advice, dimensions, put, segment
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene, Step

__all__ = ["EXPLAINERS"]


def _step(scene: Scene, *names: str) -> Step | None:
    """The innermost call of one of these functions of nnx."""
    found = (step for step in reversed(scene.steps) if step.name in names and step.module.startswith("flax.nnx"))
    return next(found, None)


def _no_cache(scene: Scene) -> Told | None:
    """Attention that decodes, before its cache is made."""
    step = scene.steps[-1] if scene.steps else None
    module = step.names.get("self") if step is not None else None
    if step is None or not step.module.startswith("flax.nnx") or not getattr(module, "decode", False):
        return None
    node = scene.failed.node
    if getattr(module, "cached_key", None) is not None or not isinstance(node, ast.Call):
        return None
    text, inputs = scene.text(node.func), step.names.get("inputs_q")
    shape: tuple[Any, ...] = tuple(getattr(inputs, "shape", ()))
    outer = next((one for one in scene.callers if isinstance(one.node, ast.Call) and one.file == scene.here), None)
    name = text
    if outer is not None and isinstance(outer.node, ast.Call) and text.startswith("self."):
        name = f"{segment(outer, outer.node.func)}.{text[5:]}"
    message = (
        f"`{name}` decodes one token after the other (decode=True), and its cache was not made: `init_cache` says how"
        f" long it is, before the first call. It is given {dimensions(shape)}."
    )
    sizes = dimensions((*shape[:-2], "max_length", *shape[-1:])) if len(shape) > 1 else "(batch, max_length, features)"
    line = outer.line if outer is not None else None
    return Told(message, (advice(f"make it first: {name}.init_cache({sizes}), or decode=False."),), (), line)


def _merged_otherwise(scene: Scene) -> Told | None:
    """`nnx.merge(state, graphdef)`."""
    node = scene.failed.node
    step = _step(scene, "merge")
    if step is None or step is not scene.steps[-1] or name_called(node) != "merge" or not isinstance(node, ast.Call):
        return None
    given = [scene.text(one) for one in node.args]
    values = [scene.failed.value_of(one) for one in node.args]
    at = next((n for n, value in enumerate(values) if type(value).__name__ == "GraphDef"), None)
    if not at or not given:
        return None
    order = [given[at], *(one for n, one in enumerate(given) if n != at)]
    message = (
        f"`merge` takes the graphdef first and then the states: `{given[0]}` is a {type(values[0]).__name__}, and"
        f" `{given[at]}`, the GraphDef, stands in another place; the order is that in which `nnx.split` gave them."
    )
    new = f"{scene.text(node.func)}({', '.join(order)})"
    return Told(message, (put(scene.failed, "give the graphdef first", node, new), advice(f"write {new}.")), ())


EXPLAINERS = (
    Explainer("nnx-merge", (TypeError,), _merged_otherwise, inside=frozenset({"merge"})),
    Explainer("nnx-cache", (ValueError,), _no_cache, inside=frozenset({"__call__"})),
)
