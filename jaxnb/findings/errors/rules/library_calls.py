"""Calls of JAX or of a library that cannot be carried out: objects that are no functions, functions that were not
called, results that were to be written into an array, arrays where Python wants values of its own."""

from __future__ import annotations

import ast
from typing import Any

import jax
import numpy as np

from jaxnb.findings.errors.calls import class_of
from jaxnb.findings.errors.edits import advice, exchange, exchanged, joined, put, with_argument, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene, is_array
from jaxnb.findings.errors.signatures import operand_of, read_call
from jaxnb.program import Fix
from jaxnb.runtime import is_library
from jaxnb.staging import describe, state_of

__all__ = ["EXPLAINERS"]

# --- classes of the user's with fields of a library's ---


def _field(scene: Scene) -> Told | None:
    """A field of a module that has a value and no type, and so is no field."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    kind = scene.failed.value_of(node.func)
    definition = class_of(scene.failed, node.func.id)
    dataclass = hasattr(kind, "__dataclass_fields__")
    if not isinstance(kind, type) or definition is None or not dataclass:
        return None
    given = {item.arg for item in node.keywords}
    for item in definition.body:
        if isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name) and item.targets[0].id in given:
            name, text = item.targets[0].id, scene.text(item.value)
            value = _constant(item.value)
            said = type(value).__name__ if value is not None else "object"
            message = (
                f"`{name}` of `{kind.__name__}` has no type annotation, and so is no field: it is `{text}` for all, and"
                f" `{kind.__name__}({name}=…)` is not possible."
            )
            edit = exchanged(scene.failed.text, [(item.targets[0], f"{name}: {said}")])
            fix = Fix(f"give it a type: `{name}: {said} = {text}`.", edit=edit)
            return Told(message, (fix, advice(f"annotate it in the class: {name}: {said} = {text}.")), (), item.lineno)
    return None


def _constant(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


# --- what is no function, and functions that were not called ---


def _no_callable(scene: Scene) -> Told | None:
    """An object of a library that is called like a function."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or scene.steps:
        return None
    value = scene.failed.value_of(node.func)
    kind = type(value)
    if value is None or callable(value) or is_array(value) or not is_library(kind.__module__):
        return None
    if kind.__module__ == "builtins":
        return None
    text = scene.text(node.func)
    state = state_of(value)
    inner = [name for name, one in (state or {}).items() if callable(one) and not name.startswith("_")]
    functions = [
        name for name in dir(kind) if name in ("apply", "apply_fn", "init", "update", "merge", "sample", "value")
    ]
    message = f"`{text}` is a {kind.__name__}, an object that cannot be called."
    given = [scene.text(item) for item in (*node.args, *node.keywords)]
    fixes: list[Fix] = []
    if "apply_fn" in inner and isinstance(state, dict) and "params" in state:
        new = f'{text}.apply_fn({", ".join([f"""{{"params": {text}.params}}""", *given])})'
        fixes.append(put(scene.failed, "apply its function to its parameters", node, new))
        hint = f"call {text}.apply_fn(…)."
    elif kind.__module__.startswith("flax.nnx"):
        graph = next((n for n, one in scene.failed.frame.items() if type(one).__name__ == "GraphDef"), "graphdef")
        nnx = words_of(scene, "flax.nnx", "nnx")
        new = f"{nnx}.merge({graph}, {text})({', '.join(given)})"
        fixes.append(put(scene.failed, "make the module of it again", node, new))
        hint = f"make the module of it again: {nnx}.merge({graph}, {text})."
    elif callable(getattr(kind, "compile", None)) and kind.__module__.startswith("jax"):
        new = f"{text}.compile()({', '.join(given)})"
        fixes.append(put(scene.failed, "compile it first", node, new))
        message = f"`{text}` is a {kind.__name__}, a program that is not compiled yet: it is no callable."
        hint = f"compile it first: {text}.compile()."
    else:
        known = [*inner, *functions]
        hint = (
            f"call one of its functions: {joined([f'{text}.{one}' for one in known[:4]], 'or')}."
            if known
            else "call what made it."
        )
    return Told(message, (*fixes, advice(hint)), (Operand(text, node.func, value, scene.origin(node.func)),))


def _uncalled(scene: Scene) -> Told | None:
    """A function of a library given where what it returns is wanted: `optax.chain(optax.zero_nans, ...)`."""
    holder = getattr(scene.error, "obj", None)
    node = scene.failed.node
    if not isinstance(node, ast.Call) or not callable(holder) or is_array(holder) or isinstance(holder, type):
        return None
    named = [*node.args, *(item.value for item in node.keywords)]
    found = next((item for item in named if scene.failed.value_of(item) is holder), None)
    if found is None:
        return None
    text, called = scene.text(found), scene.text(node.func)
    message = f"`{text}` is a function that was not called, and `{called}` takes what it returns."
    fixes = [exchange(scene, "call it", (found, f"{text}()"))]
    return Told(message, (*fixes, advice(f"call it: {text}(…).")), ())


# --- results into arrays ---


def _in_place(scene: Scene) -> Told | None:
    """Functions of NumPy that write into an array: `out=`, and those that are called for what they change."""
    call = read_call(scene)
    if call is None:
        return None
    out = next((one for one in call.arguments if one.parameter is not None and one.parameter.name == "out"), None)
    parameter = call.signature.parameters.get("inplace")
    statement = scene.failed.statement
    alone = isinstance(statement, ast.Expr) and statement.value is call.node
    if out is not None and out.value is not None:
        kept = [scene.text(item) for item in (*call.node.args, *call.node.keywords) if item is not out.keyword]
        new = f"{call.name}({', '.join(kept)})"
        message = f"`{out.text}` is a JAX array, which nothing can change: `{call.name}` cannot write into it by out=."
        whole = f"{out.text} = {new}" if alone and isinstance(out.node, ast.Name) else new
        fix = put(scene.failed, "take what it returns", statement if alone else call.node, whole)
        return Told(message, (fix, advice(f"take what it returns: {whole}.")), (operand_of(scene, out),))
    first = call.positional[0] if call.positional else None
    if parameter is not None and parameter.default is True and first is not None:
        new = with_argument(scene.text(call.node), "inplace=False")
        whole = f"{first.text} = {new}" if alone else new
        message = (
            f"`{first.text}` is a JAX array, which nothing can change in place: `{call.name}` returns a new one with"
            " inplace=False."
        )
        fix = put(scene.failed, "take what it returns", statement if alone else call.node, whole)
        return Told(message, (fix, advice(f"write {whole}.")), (operand_of(scene, first),))
    return None


def _through_at(scene: Scene) -> Told | None:
    """`x.at[i] = y`: what `at` gives has methods, and is not assigned to."""
    statement = scene.failed.statement
    targets = [statement.target] if isinstance(statement, ast.AugAssign) else getattr(statement, "targets", [])
    target = next((one for one in targets if isinstance(one, ast.Subscript)), None)
    if target is None or not isinstance(target.value, ast.Attribute) or target.value.attr != "at":
        return None
    holder = target.value.value
    value = scene.failed.value_of(holder)
    if not is_array(value):
        return None
    text, index = scene.text(holder), scene.text(target.slice)
    names: dict[type[ast.operator], str] = {
        ast.Add: "add",
        ast.Sub: "subtract",
        ast.Mult: "multiply",
        ast.Div: "divide",
    }
    how = names.get(type(statement.op), "set") if isinstance(statement, ast.AugAssign) else "set"
    assert isinstance(statement, ast.Assign | ast.AugAssign)
    given = scene.text(statement.value)
    new = f"{text} = {text}.at[{index}].{how}({given})"
    message = f"`{text}.at[{index}]` cannot be assigned to: its method `{how}` makes a new array with the new value."
    fix = Fix(f"make a new array: `{new}`.", edit=exchanged(scene.failed.text, [(statement, new)]))
    return Told(message, (fix, advice(f"write {new}.")), (Operand(text, holder, value, scene.origin(holder)),))


_OF_TWO = {
    "max": "maximum",
    "min": "minimum",
    "amax": "maximum",
    "amin": "minimum",
    "any": "logical_or",
    "all": "logical_and",
}
"""Functions that reduce one array, and those that take two."""


def _of_two(scene: Scene) -> Told | None:
    """`jnp.max(a, b)` for `jnp.maximum(a, b)`."""
    call = read_call(scene)
    if call is None or len(call.positional) != 2:
        return None
    home, _, name = call.name.rpartition(".")
    first, second = call.positional
    takes = second.parameter.name if second.parameter is not None else ""
    array = (second.is_array and np.ndim(second.value) > 0) or second.is_float or isinstance(second.node, ast.BinOp)
    if takes != "axis" or name not in _OF_TWO or not array:
        return None
    other = f"{home}.{_OF_TWO[name]}" if home else _OF_TWO[name]
    what = describe(second.value) if second.is_known else "no integer"
    message = (
        f"`{call.name}` takes one array, and the axis that it reduces: `{second.text}`, {what}, stands where `axis`"
        f" belongs. Of two arrays, item by item, it is `{other}`."
    )
    fix = exchange(scene, "take the function of two arrays", (call.node.func, other))
    return Told(message, (fix, advice(f"write {other}({first.text}, {second.text}).")))


# --- arrays where Python wants values of its own ---


def _as_key(scene: Scene) -> Told | None:
    """An array as a key of a dict or an item of a set: it has no hash."""
    node = scene.failed.node
    if scene.steps:
        return None
    parts: list[ast.AST] = []
    if isinstance(node, ast.Subscript):
        parts = [node.slice]
    elif isinstance(node, ast.Call):
        parts = list(node.args[:1])
    elif isinstance(node, ast.Dict):
        parts = [key for key in node.keys if key is not None]
    elif isinstance(node, ast.Set):
        parts = list(node.elts)
    elif isinstance(node, ast.Compare):
        parts = [node.left]
    found = next((one for one in parts if isinstance(scene.failed.value_of(one), jax.Array)), None)
    holder = getattr(node, "value", getattr(getattr(node, "func", None), "value", None))
    container = scene.failed.value_of(holder) if holder is not None else None
    if isinstance(node, ast.Subscript | ast.Call) and not isinstance(container, dict | set | frozenset):
        return None
    if found is None:
        return None
    text = scene.text(found)
    value: Any = scene.failed.value_of(found)
    message = f"`{text}` is an array, {describe(value)}, and arrays have no hash: it cannot be a key."
    new = f"{text}.item()" if not value.shape else f"tuple({text}.tolist())"
    return Told(message, (advice(f"take the Python value: {new}; to count, jnp.bincount or jnp.unique."),))


_ALL = (TypeError, ValueError, NotImplementedError)

EXPLAINERS = (
    Explainer("in-place", (NotImplementedError, TypeError, ValueError), _in_place),
    Explainer("in-place", (TypeError,), _through_at),
    Explainer("of-two", _ALL, _of_two),
    Explainer("unhashable", (TypeError,), _as_key),
    Explainer("module-field", (TypeError,), _field),
    Explainer("no-callable", (TypeError,), _no_callable),
    Explainer("uncalled", (AttributeError,), _uncalled),
)
