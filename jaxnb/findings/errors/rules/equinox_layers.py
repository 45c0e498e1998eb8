"""Layers of equinox that are given a batch or one state for two, checks of equinox that fail while a program runs, and
files of another model."""

from __future__ import annotations

import ast
from typing import Any

from jaxnb.findings.errors.calls import argument_of, calls_named, name_called, own, places
from jaxnb.findings.errors.edits import advice, dimensions, put, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene, is_array
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _layer(scene: Scene) -> tuple[Any, Any] | None:
    """The layer of equinox that raised the error, and its input."""
    step = scene.steps[-1] if scene.steps else None
    if step is None or step.name != "__call__" or not step.module.startswith("equinox.nn"):
        return None
    x: Any = step.names.get("x", step.names.get("input"))
    return (step.names.get("self"), x) if is_array(x) else None


def _ranks(module: Any) -> int | None:
    """How many axes one example has that a layer takes; None if that is not known."""
    spatial = getattr(module, "num_spatial_dims", None)
    return spatial + 1 if isinstance(spatial, int) else None


def _batched(scene: Scene) -> Told | None:
    """A batch given to a layer of images, directly or through a module of the user's."""
    found = _layer(scene)
    rank = _ranks(found[0]) if found is not None else None
    if found is None or rank is None:
        return None
    module, x = found
    shape = tuple(x.shape)
    if len(shape) == rank:
        return None
    place = _outermost(scene, x)
    node = place.node
    assert isinstance(node, ast.Call)
    name, what = segment(place, node.func), segment(place, node.args[0]) if node.args else "the input"
    call, kind = scene.failed.node, type(module).__name__
    inside = f", in which `{scene.text(call)}` is called" * (place is not scene.failed)
    layer = scene.text(call.func) if isinstance(call, ast.Call) else kind
    message = (
        f"`{layer}` is a {kind}, which takes one example of {rank} axes, and `{what}` has {len(shape)}: shape"
        f" {dimensions(shape)}"
    )
    line = place.line if place.file == scene.here else None
    if len(shape) == rank + 1:
        mapped = f"{words_of(scene, 'jax', 'jax')}.vmap({name})"
        fix = put(place, "map it over the batch", node.func, mapped)
        hint = f"map it over the batch: {mapped}({what})."
        return Told(f"{message}, a batch of them{inside}.", (fix, advice(hint)), (), line)
    hint = f"give it an axis: {what}[None]." if len(shape) < rank else "map it with jax.vmap over the axes in front."
    return Told(f"{message}{inside}.", (advice(hint),), (), line)


def _outermost(scene: Scene, x: Any) -> FailedExpression:
    """The outermost call of the user's that is given the same array."""
    found = scene.failed
    for place in places(scene):
        node = place.node
        given = node.args[0] if isinstance(node, ast.Call) and node.args else None
        value: Any = place.value_of(given) if given is not None else None
        if value is x or (is_array(value) and tuple(value.shape) == tuple(x.shape) and isinstance(node, ast.Call)):
            found = place
    return found


def _one_state(scene: Scene) -> Told | None:
    """An LSTM cell that is given one state where it takes two."""
    found = _layer(scene)
    if found is None or type(found[0]).__name__ != "LSTMCell":
        return None
    hidden: Any = scene.steps[-1].names.get("hidden")
    node = scene.failed.node
    if not is_array(hidden) or not isinstance(node, ast.Call):
        return None
    state = argument_of(node, 1, "hidden")
    text = scene.text(state) if state is not None else "the state"
    size = getattr(found[0], "hidden_size", "n")
    message = (
        f"`{scene.text(node.func)}` is an LSTMCell, whose state is a pair of two arrays (h, c), and `{text}` is one"
        f" array of shape {dimensions(hidden.shape)}."
    )
    fixes: list[Fix] = []
    for place in places(scene):
        init = argument_of(place.node, 1, "init") if name_called(place.node) == "scan" else None
        if init is not None:
            first = segment(place, init)
            fixes.append(put(place, "begin with a pair", init, f"({first}, {first})"))
    return Told(message, (*fixes, advice(f"begin with a pair: (jnp.zeros({size}), jnp.zeros({size})).")))


def _check(scene: Scene) -> Told | None:
    """A check of `eqx.error_if` that failed while the program ran."""
    said = str(scene.error)
    place = own(scene)
    calls = [*calls_named(place.tree, "error_if"), *calls_named(place.tree, "checkify")]
    texts = {call: argument_of(call, 2, "msg") for call in calls}
    found = next(
        (call for call, text in texts.items() if isinstance(text, ast.Constant) and str(text.value) in said), None
    )
    if found is None:
        return None
    text = texts[found]
    test = segment(place, found.args[1]) if len(found.args) > 1 else "its condition"
    words = text.value if isinstance(text, ast.Constant) else ""
    about = segment(place, found.args[0]) if found.args else "the value"
    function = place.above_of(found, ast.FunctionDef)
    where = f" in `{function.name}`" if isinstance(function, ast.FunctionDef) else ""
    message = (
        f"the check of `{about}` by error_if{where} failed while the program ran: `{test}` was true. It says: {words}"
    )
    hint = "look at what it was given: EQX_ON_ERROR=breakpoint stops there, jax.debug.print shows it."
    line = found.lineno if place.file == scene.here else None
    return Told(f"{message.rstrip('.')}.", (advice(hint),), (), line)


def _other_file(scene: Scene) -> Told | None:
    """Leaves of a file whose shapes are those of another model."""
    step, node = scene.step("tree_deserialise_leaves"), scene.failed.node
    last = scene.step("_assert_same_impl")
    if step is None or not isinstance(node, ast.Call):
        return None
    like, file = argument_of(node, 1, "like"), argument_of(node, 0, "path_or_file")
    name, source = scene.text(like) if like is not None else "the model", scene.text(file) if file is not None else "it"
    message = f"the leaves in `{source}` are not those of `{name}`"
    if last is not None:
        path = "".join(str(key) for key in last.names.get("path", ()))
        old: Any = last.names.get("old")
        new: Any = last.names.get("new")
        if is_array(old) and is_array(new):
            message += f": `{name}{path}` has shape {dimensions(old.shape)}, and the file {dimensions(new.shape)}"
    hint = f"make `{name}` with the same sizes as the model that was saved, and store these beside the leaves."
    return Told(f"{message}.", (advice(hint),))


EXPLAINERS = (
    Explainer("module-batch", (ValueError,), _batched, inside=frozenset({"__call__"})),
    Explainer("module-state", (TypeError, ValueError), _one_state, inside=frozenset({"__call__"})),
    Explainer("module-check", (RuntimeError,), _check),
    Explainer("module-file", (RuntimeError, ValueError), _other_file, inside=frozenset({"tree_deserialise_leaves"})),
)
