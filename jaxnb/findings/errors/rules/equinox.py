"""Modules of equinox: under transformations that take arrays only, frozen ones, and layers that are given batches."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import (
    argument_of,
    bound_to,
    class_of,
    is_of,
    key_word,
    leaf_paths,
    name_called,
    required,
)
from jaxnb.findings.errors.edits import (
    advice,
    dimensions,
    exchanged,
    lines_put,
    put,
    segment,
    with_more,
    words_of,
)
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.functions import definition_of, name_of
from jaxnb.findings.errors.scene import Operand, Scene, Step, is_array
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


def _eqx(scene: Scene) -> str:
    return words_of(scene, "equinox", "eqx")


def _step(scene: Scene, *names: str) -> Step | None:
    """The innermost call of one of these functions of equinox."""
    return next(
        (step for step in reversed(scene.steps) if step.name in names and step.module.startswith("equinox")), None
    )


def _module(scene: Scene) -> tuple[Operand, str, Any] | None:
    """The module that the failed call is given, and what in it is no array."""
    for operand in scene.operands:
        if is_of(operand.value, "equinox"):
            path = next(leaf_paths(operand.value, _is_no_array), None)
            if path is not None:
                value = operand.value
                return operand, path, _leaf(value)
    return None


def _leaf(value: Any) -> Any:
    """The first thing in a module that is no array."""
    found: list[Any] = []

    def wanted(leaf: Any) -> bool:
        if _is_no_array(leaf):
            found.append(leaf)
        return bool(found)

    next(leaf_paths(value, wanted), None)
    return found[0] if found else None


def _is_no_array(value: Any) -> bool:
    if is_array(value) or isinstance(value, int | float | complex | bool | type(None)):
        return False
    return (callable(value) and not is_of(value, "equinox")) or isinstance(value, str)


def _kind(value: Any) -> str:
    name = getattr(value, "__name__", "")
    shown = f" {name}" if name and name != "<lambda>" else ""
    return f"the function{shown}" if callable(value) else f"{value!r}"


_FILTERED = {
    "jit": "filter_jit",
    "grad": "filter_grad",
    "value_and_grad": "filter_value_and_grad",
    "vmap": "filter_vmap",
}


def _transformed(scene: Scene) -> Told | None:
    """`jit` or `grad` of a function that is given a module with functions in it."""
    found = _module(scene)
    grad = not RAISING["gradient-input"].isdisjoint(scene.inside)
    if found is None and not grad:
        found = _own_module(scene)
    if found is None:
        return None
    operand, path, value = found
    refused = scene.steps[-1].names.get("x")
    if not grad and is_array(refused):
        return None  # what could not be taken is another argument
    step = scene.step("value_and_grad_f" if grad else "_infer_params")
    name = name_of(step.names.get("fun")) if step is not None else ""
    calls = _transforming(scene, name, ("grad", "value_and_grad") if grad else ("jit",))
    word = name_called(calls) or (calls.attr if isinstance(calls, ast.Attribute) else "grad" if grad else "jit")
    better = _FILTERED.get(word, "filter_jit")
    whose = f" of `{name}`" if name else ""
    message = (
        f"`{word}`{whose} takes arrays only, and `{operand.text}{path}` is {_kind(value)}, which the module holds."
    )
    fixes: list[Fix] = []
    target = calls.func if isinstance(calls, ast.Call) else calls
    if target is not None:
        fixes.append(put(scene.failed, "transform what are arrays", target, f"{_eqx(scene)}.{better}"))
    return Told(message, (*fixes, advice(f"use equinox.{better}, which leaves out what is no array.")), (operand,))


def _own_module(scene: Scene) -> tuple[Operand, str, Any] | None:
    """The module whose method is called."""
    node = scene.failed.node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        value = scene.failed.value_of(node.func.value)
        if is_of(value, "equinox"):
            path = next(leaf_paths(value, _is_no_array), None)
            if path is not None:
                text = scene.text(node.func.value)
                return Operand(text, node.func.value, value), path, _leaf(value)
    return None


def _transforming(scene: Scene, name: str, words: tuple[str, ...]) -> ast.expr | None:
    """The call or the decorator that transforms a function."""
    node = scene.failed.node
    made = bound_to(scene.failed, node.func) if isinstance(node, ast.Call) else None
    if isinstance(made, ast.Call) and name_called(made) in words:
        return made
    for item in ast.walk(scene.failed.tree):
        if isinstance(item, ast.FunctionDef) and item.name == name:
            for decorator in item.decorator_list:
                shown = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(shown, ast.Attribute) and shown.attr in words:
                    return decorator
    return None


def _initialised(scene: Scene) -> Told | None:
    """The state of an optimiser of a whole module."""
    found = _module(scene)
    if found is None or not any(step.module.startswith("optax") for step in scene.steps):
        return None
    operand, path, value = found
    call = scene.text(scene.failed.node.func) if isinstance(scene.failed.node, ast.Call) else "init"
    message = (
        f"`{call}` makes a state for each leaf, and `{operand.text}{path}` is {_kind(value)}: the module holds more"
        " than arrays."
    )
    new = f"{_eqx(scene)}.filter({operand.text}, {_eqx(scene)}.is_inexact_array)"
    fix = put(scene.failed, "take its arrays only", operand.node, new)
    return Told(message, (fix, advice("pass eqx.filter(model, eqx.is_inexact_array).")), (operand,))


def _scanned(scene: Scene) -> Told | None:
    step = scene.step("scan", "while_loop", "fori_loop")
    found = _module(scene)
    if step is None or found is None:
        return None
    operand, path, value = found
    message = (
        f"the carry of `{step.name}` can only hold arrays, and `{operand.text}{path}` is {_kind(value)}, which the"
        " module holds."
    )
    hint = (
        f"carry its arrays: dynamic, static = eqx.partition({operand.text}, eqx.is_array), and eqx.combine(dynamic,"
        " static) in the body."
    )
    return Told(message, (advice(hint),), (operand,))


def _made_by_vmap(scene: Scene) -> Told | None:
    """`vmap` of a function that makes a module with functions in it."""
    step = scene.step("vmap_f")
    if step is None or scene.steps[-1].name not in RAISING["mapped-result"]:
        return None
    name = name_of(step.names.get("fun"))
    calls = _transforming(scene, name, ("vmap",))
    target = calls.func if isinstance(calls, ast.Call) else calls
    whose = f"`{name}`" if name else "the function"
    message = (
        f"`vmap` maps what returns arrays only, and {whose} returns an object with a function in it, such as the"
        " activation of a module."
    )
    better = f"{_eqx(scene)}.filter_vmap"
    fixes = [put(scene.failed, "map what are arrays", target, better)] if target is not None else []
    return Told(message, (*fixes, advice(f"use {better}, which leaves out what is no array.")))


def _several_at(scene: Scene) -> Told | None:
    """`tree_at` of several parts with one value, or of one part with several."""
    node, step = scene.failed.node, scene.step("tree_at")
    found = step.names.get("nodes") if step is not None else None
    if step is None or not isinstance(found, list | tuple) or not isinstance(node, ast.Call):
        return None
    given: Any = step.names.get("replace")
    count = len(given) if isinstance(given, list | tuple) else 1
    where, replace = argument_of(node, 0, "where"), argument_of(node, 2, "replace")
    if count == len(found) or where is None or replace is None:
        return None
    text, value = scene.text(where), scene.text(replace)
    said = f"a list of {count}" if isinstance(given, list | tuple) else f"one, {describe(given)}"
    message = f"`{text}` finds a list of {len(found)} leaves to replace, and `{value}`, the new value, is {said}."
    fixes: list[Fix] = []
    if count == 1:
        fixes.append(put(scene.failed, "give one for each", replace, f"[{', '.join([value] * len(found))}]"))
    return Told(message, (*fixes, advice("give a list with one value for each leaf.")))


def _none_at(scene: Scene) -> Told | None:
    """`tree_at` of a part that is None, which is no leaf."""
    node, step = scene.failed.node, scene.step("tree_at")
    if step is None or not step.module.startswith("equinox") or not isinstance(node, ast.Call):
        return None
    where, tree = step.names.get("where"), step.names.get("pytree")
    if argument_of(node, -1, "is_leaf") is not None or where is None:
        return None
    known = argument_of(node, 0, "where")
    text = scene.text(known) if known is not None else "where"
    made = definition_of(scene, where)
    part = scene.text(made.body) if isinstance(made, ast.Lambda) else text
    message = (
        f"`tree_at` replaces leaves, and what `{part}` finds in the {type(tree).__name__} is none: None, as a layer"
        " without a bias has it, is no leaf."
    )
    fix = with_more(scene.failed, "let None be a leaf", node, "is_leaf=lambda x: x is None")
    return Told(message, (fix, advice("pass is_leaf=lambda x: x is None.")))


def _one_index(scene: Scene) -> Told | None:
    """An embedding that is given many indices."""
    step = scene.steps[-1] if scene.steps else None
    node = scene.failed.node
    if step is None or step.name != "__call__" or not isinstance(node, ast.Call) or len(node.args) != 1:
        return None
    module, value = step.names.get("self"), step.names.get("x")
    if type(module).__name__ != "Embedding" or not is_array(value):
        return None
    text, func = scene.text(node.args[0]), scene.text(node.func)
    message = (
        f"`{func}` is an Embedding of equinox, which takes one index, a scalar, and `{text}` is {describe(value)}."
    )
    new = f"{words_of(scene, 'jax', 'jax')}.vmap({func})"
    fix = put(scene.failed, "map it over all of them", node.func, new)
    return Told(message, (fix, advice(f"map it over the indices: {new}({text}).")))


# --- modules ---


def _frozen(scene: Scene) -> Told | None:
    step = _step(scene, "__setattr__")
    node = scene.failed.node
    if step is None or not isinstance(node, ast.Attribute):
        return None
    module, name = step.names.get("self"), node.attr
    kind = type(module).__name__
    declared = {field.name for field in dataclasses.fields(module)} if dataclasses.is_dataclass(module) else set()
    text, holder = segment(scene.failed, node), segment(scene.failed, node.value)
    if name not in declared:
        message = (
            f"`{kind}` declares no field `{name}`: a module of equinox has the fields that are annotated in its class."
        )
        return Told(
            message, (*_declared(scene, kind, name), advice(f"declare it in the class: {name}: jax.Array.")), ()
        )
    message = f"`{text}` cannot be set: a module of equinox is frozen, and `{holder}` is a {kind}."
    fixes: list[Fix] = []
    statement = scene.failed.statement
    new = f"{_eqx(scene)}.tree_at(lambda m: m.{name}, {holder}, …)"
    if isinstance(statement, ast.Assign) and isinstance(node.value, ast.Name) and holder != "self":
        value = segment(scene.failed, statement.value)
        fixes.append(put(scene.failed, "make a new module", statement, f"{holder} = {new.replace('…', value)}"))
    return Told(message, (*fixes, advice(f"make a new module and return it: {new}.")), ())


def _declared(scene: Scene, kind: str, name: str) -> Iterator[Fix]:
    """The class with one more field."""
    holder = class_of(scene.failed, kind)
    if holder is None:
        return
    fields = [item for item in holder.body if isinstance(item, ast.AnnAssign)]
    after = fields[-1] if fields else None
    line = after.end_lineno if after is not None else holder.body[0].lineno - 1
    old = scene.failed.text.split("\n")[line - 1]  # type: ignore[operator]
    indent = " " * holder.body[0].col_offset
    new = f"{name}: {words_of(scene, 'jax', 'jax')}.Array"
    edit = lines_put(scene.failed, line, line, [old, indent + new])  # type: ignore[arg-type]
    yield Fix(f"declare it: `{new}`.", edit=edit)


def _not_set(scene: Scene) -> Told | None:
    step = _step(scene, "__call__")
    kind = step.names.get("cls") if step is not None else None
    if not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        return None
    holder = class_of(scene.failed, kind.__name__)
    node = scene.failed.node
    init = _step(scene, "__init__")
    if init is not None or not isinstance(node, ast.Call):
        return None
    if kind.__name__ != name_called(node):
        return None
    key = _without_key(scene, kind, step)
    if key is not None:
        return key
    made = next((value for value in step.names.values() if type(value) is kind), None)  # type: ignore[union-attr]
    missing = [field.name for field in dataclasses.fields(kind) if not hasattr(made, field.name)]
    if made is None or not missing:
        return None
    message = f"`__init__` of `{kind.__name__}` does not set the field `{missing[0]}`, which has no default."
    line = next((item.lineno for item in getattr(holder, "body", ()) if getattr(item, "name", "") == "__init__"), None)
    where = f", on line {line} and below" if line is not None else ""
    return Told(message, (advice(f"set self.{missing[0]} in __init__{where}, or give the field a default."),))


def _without_key(scene: Scene, kind: type, step: Step | None) -> Told | None:
    given = step.names.get("kwargs") if step is not None else None
    placed = step.names.get("args") if step is not None else ()
    if not isinstance(given, dict) or not required(kind.__init__, "key", tuple(placed or ()), given):
        return None
    message = f"`{kind.__name__}` needs a random key, from which it draws its initial parameters: the argument key."
    fix = with_more(scene.failed, "give it a key", scene.failed.node, f"key={key_word(scene, scene.failed)}")  # type: ignore[arg-type]
    return Told(message, (fix, advice("pass key=key, one of jax.random.split for each layer.")))


def _dropout(scene: Scene) -> Told | None:
    step = _step(scene, "__call__")
    node = scene.failed.node
    if step is None or not isinstance(node, ast.Call) or not hasattr(step.names.get("self"), "inference"):
        return None
    if step.names.get("key") is not None:
        return None
    text, kind = scene.text(node.func), type(step.names["self"]).__name__
    message = f"`{text}` is a {kind} outside of inference mode, and is given no key to draw from."
    fix = with_more(scene.failed, "give it a key", node, f"key={key_word(scene, scene.failed)}")
    return Told(message, (fix, advice("pass key=key, or inference=True.")))


def _static_arrays(scene: Scene) -> Told | None:
    """Arrays in static fields, which are compared."""
    for operand in scene.operands:
        value = operand.value
        if not is_of(value, "equinox") or not dataclasses.is_dataclass(value):
            continue
        for field in dataclasses.fields(value):
            if field.metadata.get("static") and is_array(getattr(value, field.name, None)):
                kind = type(value).__name__
                message = (
                    f"`{operand.text}.{field.name}` is an array in a static field of `{kind}`: static fields are part"
                    " of what is compiled and are compared by hash and equality, which arrays do not have."
                )
                return Told(
                    message,
                    (*_not_static(scene, kind, field.name), advice("make it an ordinary field, without static=True.")),
                    (operand,),
                )
    return None


def _not_static(scene: Scene, kind: str, name: str) -> Iterator[Fix]:
    holder = class_of(scene.failed, kind)
    for item in holder.body if holder is not None else ():
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and item.target.id == name:
            new = f"{name}: {segment(scene.failed, item.annotation)}"
            edit = exchanged(scene.failed.text, [(item, new)])
            yield Fix(f"make it an ordinary field, without static=True: `{new}`.", edit=edit)


# --- layers ---


def _linear(scene: Scene) -> Told | None:
    layer = _step(scene, "__call__")
    module = layer.names.get("self") if layer is not None else None
    x = layer.names.get("x") if layer is not None else None
    takes, shape = getattr(module, "in_features", None), getattr(x, "shape", None)
    if not isinstance(takes, int) or shape is None:
        return None
    return _one_example(scene, module, shape, (takes,))


def _one_example(scene: Scene, module: Any, shape: Any, wanted: tuple[int, ...]) -> Told | None:
    """A layer that takes one example, and what it is given."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or tuple(shape) == wanted:
        return None
    text, kind = scene.text(node.func), type(module).__name__
    what = scene.text(node.args[0]) if node.args else "the input"
    message = (
        f"`{text}` is a {kind} that maps one example of shape {dimensions(wanted)}, and `{what}` has shape"
        f" {dimensions(shape)}"
    )
    if tuple(shape[-len(wanted) :]) == wanted and len(shape) > len(wanted):
        word = words_of(scene, "jax", "jax")
        batch = "a batch of" if len(shape) == len(wanted) + 1 else "batches of"
        mapped = text
        for _ in range(len(shape) - len(wanted)):
            mapped = f"{word}.vmap({mapped})"
        fix = put(scene.failed, "map it over the batch", node.func, mapped)
        message += f", {batch} them."
        return Told(message, (fix, advice(f"map it over the batch: jax.vmap({text})(x).")))
    made, fixes = bound_to(scene.failed, node.func), list[Fix]()
    if isinstance(made, ast.Call) and name_called(made) == kind and made.args and len(wanted) == 1:
        fixes.append(put(scene.failed, "make it for that width", made.args[0], str(shape[-1])))
    return Told(f"{message}.", (*fixes, advice(f"make it for inputs of {shape[-1]}, or give it {wanted[-1]}.")))


def _conv(scene: Scene) -> Told | None:
    layer = _step(scene, "__call__")
    module = layer.names.get("self") if layer is not None else None
    channels, rank = getattr(module, "in_channels", None), getattr(module, "num_spatial_dims", None)
    node = scene.failed.node
    argument = argument_of(node, 0, "x")
    x = scene.failed.value_of(argument) if argument is not None else None
    x = x if x is not None or layer is None else layer.names.get("x")
    shape = tuple(getattr(x, "shape", ()))
    if not isinstance(channels, int) or not isinstance(rank, int) or not isinstance(node, ast.Call):
        return None
    text, what = scene.text(node.func), scene.text(node.args[0]) if node.args else "the input"
    message = f"`{text}` takes one image with {channels} channels first, and `{what}` has shape {dimensions(shape)}"
    numpy, word = words_of(scene), words_of(scene, "jax", "jax")
    if len(shape) == rank + 2:
        fix = put(scene.failed, "map it over the batch", node.func, f"{word}.vmap({text})")
        return Told(f"{message}, a batch.", (fix, advice("map it over the batch with jax.vmap.")))
    if shape and shape[-1] == channels and node.args:
        fix = put(scene.failed, "put the channels first", node.args[0], f"{numpy}.moveaxis({what}, -1, 0)")
        return Told(f"{message}: its channels are last.", (fix, advice("put the channels first with jnp.moveaxis.")))
    return Told(f"{message}.", (advice(f"give it {channels} channels, or make it for {shape[0] if shape else 0}."),))


_FROZEN = (AttributeError,)

EXPLAINERS = (
    Explainer("module-transformed", (TypeError,), _made_by_vmap, inside=RAISING["mapped-result"]),
    Explainer("tree-at", (ValueError,), _several_at, inside=frozenset({"tree_at"})),
    Explainer("tree-at", (ValueError,), _none_at, inside=frozenset({"tree_at"})),
    Explainer("embedding", (ValueError,), _one_index, inside=frozenset({"__call__"})),
    Explainer("module-transformed", (TypeError,), _transformed, inside=RAISING["abstract"] | RAISING["gradient-input"]),
    Explainer("module-initialised", (TypeError,), _initialised, inside=RAISING["arraylike"]),
    Explainer("module-carried", (TypeError,), _scanned, inside=frozenset({"scan", "while_loop", "fori_loop"})),
    Explainer("module-frozen", _FROZEN, _frozen, inside=frozenset({"__setattr__"})),
    Explainer("module-field", (TypeError,), _not_set, inside=frozenset({"__call__"})),
    Explainer("module-key", (RuntimeError,), _dropout, inside=frozenset({"__call__"})),
    Explainer("module-static", (ValueError, TypeError), _static_arrays),
    Explainer("module-batch", (TypeError, ValueError), _linear, inside=RAISING["contraction"]),
    Explainer("module-channels", (TypeError, ValueError), _conv, inside=RAISING["convolution"]),
)
