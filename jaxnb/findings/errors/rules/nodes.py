"""Classes as nodes of pytrees: not registered, registered wrongly, made anew from what is no array, frozen."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

from jaxnb._jax import RAISING
from jaxnb.findings.errors.edits import advice, exchange, exchanged, joined, put
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.fitting import does_not_fit
from jaxnb.findings.errors.functions import definition_of, registered, results_of
from jaxnb.findings.errors.scene import Operand, Scene, is_array
from jaxnb.findings.errors.trees import is_leaf_type, trees_of_class
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


def _is_own(kind: type) -> bool:
    return kind.__module__.partition(".")[0] not in ("builtins", "jax", "jaxlib", "numpy", "collections", "types")


def _nodes(scene: Scene) -> Iterator[Any]:
    """The objects of classes of the user's in what was flattened."""
    step = scene.step(*RAISING["flattening"])
    trees = [step.names["tree"]] if step is not None and "tree" in step.names else []
    for tree in [*trees, *(operand.value for operand in scene.operands)]:
        yield from trees_of_class(tree, lambda one: _is_own(type(one)) and not isinstance(one, dict | list | tuple))


# --- what nothing can change ---


def _frozen(scene: Scene) -> Told | None:
    """An assignment to a field of a frozen dataclass or of a named tuple."""
    node = scene.failed.node
    statement = scene.failed.statement
    if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
        return None
    value = scene.failed.value_of(node.value)
    named = isinstance(value, tuple) and hasattr(value, "_replace")
    if not named and not isinstance(scene.error, dataclasses.FrozenInstanceError):
        return None
    holder, field = scene.text(node.value), node.attr
    kind = type(value).__name__ if value is not None else "the class"
    what = "a named tuple" if named else "a frozen dataclass"
    message = f"`{holder}` is of the class `{kind}`, {what}: nothing can be assigned to its field `{field}`."
    fixes: list[Fix] = []
    if isinstance(node.value, ast.Name) and holder != "self" and isinstance(statement, ast.Assign | ast.AugAssign):
        new = scene.text(statement.value)
        if isinstance(statement, ast.AugAssign):
            sign = scene.failed.text.split("\n")[statement.lineno - 1].partition("=")[0].rstrip().rpartition(" ")[2]
            new = f"{holder}.{field} {sign} {new}"
        call, lead = _replacing(scene, value, statement)
        if named or call == "":
            method = "_replace" if named else "replace"
            fixes.append(put(scene.failed, "make a new one", statement, f"{holder} = {holder}.{method}({field}={new})"))
        else:
            text = f"{lead}{holder} = {call}({holder}, {field}={new})"
            shown = f"{holder} = {call}({holder}, {field}={new})"
            fixes.append(Fix(f"make a new one: `{shown}`.", edit=exchanged(scene.failed.text, [(statement, text)])))
    hint = f"make a new object: `{holder} = dataclasses.replace({holder}, {field}=…)`."
    if named:
        hint = f"make a new tuple: `{holder} = {holder}._replace({field}=…)`."
    return Told(message, (*fixes, advice(hint)), (Operand(holder, node.value, value, scene.origin(node.value)),))


def _replacing(scene: Scene, value: Any, statement: ast.stmt) -> tuple[str, str]:
    """What `dataclasses.replace` is called, and the import that is needed before; ("", "") where the object has its own
    method."""
    if callable(getattr(type(value), "replace", None)):
        return "", ""
    frame = scene.failed.frame
    for name, item in frame.items():
        if item is dataclasses.replace:
            return name, ""
        if item is dataclasses:
            return f"{name}.replace", ""
    return "replace", f"from dataclasses import replace\n{' ' * statement.col_offset}"


# --- what is built again ---


def _built_again(scene: Scene) -> Told | None:
    """An `__init__` that expects arrays, called for leaves that are none."""
    if scene.failed.function not in ("__init__", "__post_init__") or not scene.under:
        return None
    if scene.under[-1] not in RAISING["unflattening"]:
        return None
    value = scene.failed.frame.get("self")
    if value is None:
        return None
    kind = type(value).__name__
    function: Any = scene.failed.above(ast.FunctionDef)
    names = [one.arg for one in function.args.args[1:]] if function is not None else []
    odd = [name for name in names if not is_array(scene.failed.frame.get(name))]
    frame = scene.failed.frame
    if not odd and scene.failed.function == "__post_init__":
        odd = [name for name, item in vars(value).items() if not is_array(item)]
        frame = vars(value)
    if not odd:
        return None
    given = joined([f"`{name}` is {_shortly(frame.get(name))}" for name in odd[:3]])
    message = (
        f"JAX makes a `{kind}` anew from whatever its leaves became, and not always from arrays: here {given}. So its"
        f" `{scene.failed.function}`, which is called for it, must not check or convert its arguments."
    )
    hint = (
        f"let tree_unflatten make it without __init__: `new = object.__new__({kind})`, then set its fields; or"
        " check for arrays first."
    )
    return Told(message, (advice(hint),), ())


def _shortly(value: Any) -> str:
    if isinstance(value, bool | int | float | str | tuple) and len(repr(value)) < 30:
        return f"the {type(value).__name__} {value!r}, not an array"
    return f"an object of type {type(value).__name__}, not an array"


def _swapped(scene: Scene) -> Told | None:
    """A `tree_unflatten` that takes the children first."""
    function: Any = scene.failed.above(ast.FunctionDef)
    if function is None or scene.failed.function != "tree_unflatten" or not scene.under:
        return None
    parameters = [one for one in function.args.args if one.arg not in ("cls", "self")]
    if len(parameters) != 2:
        return None
    first, second = parameters
    aux, children = scene.failed.frame.get(first.arg), scene.failed.frame.get(second.arg)
    used = {one.id for one in ast.walk(scene.failed.node) if isinstance(one, ast.Name)}
    if first.arg not in used or isinstance(aux, tuple | list) or not isinstance(children, tuple | list):
        return None
    above = scene.failed.above_of(function, ast.ClassDef)
    of = f" of `{above.name}`" if above is not None else ""
    message = (
        f"`tree_unflatten`{of} is given the aux data first and the children second: here `{first.arg}` is"
        f" {describe(aux) if aux is not None else 'None'}, and `{second.arg}` is a {type(children).__name__} of"
        f" {len(children)}."
    )
    edit = exchanged(scene.failed.text, [(first, second.arg), (second, first.arg)])
    text = f"take them in this order: `{second.arg}, {first.arg}`."
    return Told(message, (Fix(text, edit=edit), advice("take (cls, aux, children), in this order.")), ())


def _own_init(scene: Scene) -> Told | None:
    """A registered dataclass whose own `__init__` does not take its fields."""
    if scene.steps and scene.steps[-1].name not in RAISING["unflattening"]:
        return None
    if not scene.steps and does_not_fit(scene) is not None:
        return None
    for value in _nodes(scene):
        kind = type(value)
        if not dataclasses.is_dataclass(kind):
            continue
        try:
            parameters = inspect.signature(kind).parameters
        except (TypeError, ValueError):
            continue
        if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
            continue
        lacking = [one.name for one in dataclasses.fields(kind) if one.init and one.name not in parameters]
        if lacking:
            fields = joined([f"`{name}`" for name in lacking])
            message = (
                f"`{kind.__name__}` is registered as a dataclass, and JAX makes it anew with"
                f" `{kind.__name__}({', '.join(f'{name}=…' for name in lacking)})`: its own `__init__` does not take"
                f" {fields}."
            )
            hint = (
                "leave `__init__` to the dataclass, and put what it does into a classmethod; or register_pytree_node."
            )
            return Told(message, (advice(hint),), ())
    return None


# --- what is taken apart ---


def _no_pair(scene: Scene) -> Told | None:
    """A flatten function that does not return (children, aux data)."""
    if scene.steps and scene.steps[-1].name not in RAISING["flattening"]:
        return None
    for value in _nodes(scene):
        kind = type(value)
        flatten = getattr(kind, "tree_flatten", None) or _registered_with(scene, kind.__name__)
        if not callable(flatten):
            continue
        try:
            result = flatten(value)
        except Exception:
            continue
        if isinstance(result, tuple) and len(result) == 2:
            continue
        definition = definition_of(scene, flatten)
        last = next(reversed(results_of(definition)), None)
        name = getattr(flatten, "__name__", "the flatten function")
        what = f"a tuple of {len(result)}" if isinstance(result, tuple) else f"a {type(result).__name__}"
        message = (
            f"`{name}` takes a `{kind.__name__}` apart, and has to return a pair (children, aux data), not {what}."
        )
        fixes: list[Fix] = []
        if isinstance(last, ast.Tuple) and isinstance(result, tuple) and len(last.elts) == len(result):
            pairs = list(zip(last.elts, result, strict=True))
            children = [scene.text(part) for part, item in pairs if is_array(item) or type(item) in (int, float)]
            rest = [scene.text(part) for part, item in pairs if scene.text(part) not in children and item is not None]
            inner = f"({children[0]},)" if len(children) == 1 else f"({', '.join(children)})"
            aux = "None" if not rest else rest[0] if len(rest) == 1 else f"({', '.join(rest)})"
            new = f"{inner}, {aux}"
            fixes.append(
                put(scene.failed, "return a pair", last, f"({new})" if isinstance(definition, ast.Lambda) else new)
            )
        line = last.lineno if last is not None and scene.failed.file == scene.here else None
        return Told(message, (*fixes, advice("return a tuple of the children, and a hashable rest or None.")), (), line)
    return None


def _registered_with(scene: Scene, kind: str) -> Any:
    """The flatten function that a class was registered with in this text."""
    for node in ast.walk(scene.failed.tree):
        if not isinstance(node, ast.Call) or len(node.args) < 2 or getattr(node.args[0], "id", "") != kind:
            continue
        if scene.text(node.func).rpartition(".")[2].startswith("register_pytree"):
            return scene.failed.value_of(node.args[1])
    return None


def _annotation(field: Any) -> str:
    """The type of a field of a dataclass, as text."""
    return str(field.type)


def _fields(scene: Scene) -> Told | None:
    """Fields that `register_dataclass` was not told of, or that the class does not have."""
    step = scene.step(*RAISING["registration"])
    kind = step.names.get("nodetype") if step is not None else None
    if step is None or not isinstance(kind, type) or not dataclasses.is_dataclass(kind):
        return None
    given: dict[str, tuple[str, ...]] = {
        name: tuple(step.names.get(name) or ()) for name in ("data_fields", "meta_fields")
    }
    named = [*given["data_fields"], *given["meta_fields"]]
    own = {one.name: one for one in dataclasses.fields(kind) if one.init}
    missing = [name for name in own if name not in named]
    unknown = [name for name in named if name not in own]
    twice = [name for name in given["data_fields"] if name in given["meta_fields"]]
    if missing:
        message = (
            f"`register_dataclass` of `{kind.__name__}` leaves out the field {joined([f'`{one}`' for one in missing])}."
        )
    elif unknown:
        wrong = joined([f"`{one}`" for one in unknown])
        message = f"`register_dataclass` names {wrong}, and `{kind.__name__}` has no such field."
    elif twice:
        message = f"`{twice[0]}` of `{kind.__name__}` is in data_fields and in meta_fields: it can be in one."
    else:
        return None
    fixes: list[Fix] = []
    for name in missing[:1]:
        static = not any(word in _annotation(own[name]) for word in ("Array", "array", "float", "Any", "dict", "list"))
        option = "meta_fields" if static else "data_fields"
        literal = next(
            (one.value for one in getattr(scene.failed.node, "keywords", ()) if one.arg == option),
            None,
        )
        if isinstance(literal, ast.List | ast.Tuple):
            texts = [*(scene.text(one) for one in literal.elts), *(f'"{one}"' for one in missing)]
            new = f"[{', '.join(texts)}]" if isinstance(literal, ast.List) else f"({', '.join(texts)},)"
            fixes.append(exchange(scene, "name it", (literal, new)))
    hint = "name every field once: arrays and trees in data_fields, what is static in meta_fields."
    return Told(message, (*fixes, advice(hint)), ())


# --- what is no node ---


def _no_node(scene: Scene) -> Told | None:
    """An object of a class that is not registered, where a function was to be given its arrays."""
    if RAISING["tree-function"].isdisjoint(scene.under):
        return None
    odd = next((one for one in scene.operands if one.value is not None and is_leaf_type(one.value)), None)
    if odd is None or not _is_own(type(odd.value)):
        return None
    kind = type(odd.value)
    caller = next((one for one in scene.callers if isinstance(one.node, ast.Call)), None)
    tree = ""
    for part in caller.node.args if caller is not None and isinstance(caller.node, ast.Call) else ():
        value = caller.value_of(part) if caller is not None else None
        if value is odd.value or any(one is odd.value for one in trees_of_class(value, lambda one: one is odd.value)):
            tree = ast.unparse(part)
    of = f"`{tree}`" if tree and tree != odd.text else f"`{odd.text}`"
    message = (
        f"{of} is an object of the class `{kind.__name__}`, which is not registered as a pytree: to jax.tree.map it is"
        f" one leaf, which it gives to the function as `{odd.text}`."
    )
    fixes = registered(scene, kind) if dataclasses.is_dataclass(kind) else []
    hint = "register its class: jax.tree_util.register_dataclass for a dataclass, else register_pytree_node_class."
    return Told(message, (*fixes, advice(hint)))


EXPLAINERS = (
    Explainer("frozen", (AttributeError,), _frozen),
    Explainer("unflatten-swapped", (TypeError, ValueError, AttributeError), _swapped),
    Explainer("unflatten", (Exception,), _built_again),
    Explainer("unflatten-init", (TypeError,), _own_init),
    Explainer("flatten", (ValueError, TypeError), _no_pair),
    Explainer("register-fields", (ValueError,), _fields, inside=RAISING["registration"]),
    Explainer("no-pytree", (TypeError, AttributeError), _no_node),
)
