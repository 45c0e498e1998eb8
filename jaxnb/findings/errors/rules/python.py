"""Python's own mistakes in code that works on arrays: None, lists and text where arrays belong, items that are not there."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp

from jaxnb.findings.errors.edits import advice, bracketed, exchange, exchanged, joined
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Operand, Scene
from jaxnb.program import Fix
from jaxnb.staging import describe

__all__ = ["EXPLAINERS"]


def _module(scene: Scene, name: str, default: str) -> str:
    frame = scene.failed.frame
    return next(
        (key for key, value in frame.items() if type(value).__name__ == "module" and value.__name__ == name), default
    )


# --- operators ---


def _operator(scene: Scene) -> Told | None:
    node = scene.failed.node
    if not isinstance(node, ast.BinOp | ast.UnaryOp | ast.AugAssign | ast.Compare):
        return None
    sign = next((name for name in scene.called if not name[0].isalpha()), "the operator")
    values = [(operand, _kind(operand)) for operand in scene.operands]
    odd = [(operand, kind) for operand, kind in values if kind]
    if not odd:
        return None
    operand, kind = odd[0]
    others = [f"`{other.text}` {other.aval}" for other, _ in values if other is not operand]
    with_what = f" with {joined(others)}" if others else ""
    return Told(
        f"`{operand.text}` is {kind}: `{sign}` cannot combine it{with_what}.",
        (*_instead_of(scene, operand), advice(_ADVICE.get(kind.split()[-1], "make an array of it first."))),
    )


_ADVICE = {
    "None": "give it a value, or do without the operation where it is None.",
    "text": "text cannot be computed with: map it to numbers outside, or format it with an f-string.",
    "function": "call it.",
    "dict": "take one of its items, or use jax.tree.map.",
}


def _kind(operand: Operand) -> str:
    value = operand.value
    if value is None:
        known = (isinstance(operand.node, ast.Name) and operand.made) or isinstance(operand.node, ast.Constant)
        return "None" if known else ""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bytes | list | tuple | set):
        return f"a {type(value).__name__}"
    if isinstance(value, dict):
        return "a dict"
    if callable(value) and not operand.is_array:
        return "a function"
    return ""


def _instead_of(scene: Scene, operand: Operand) -> Iterator[Fix]:
    value, node = operand.value, scene.failed.node
    if isinstance(value, list | tuple):
        new = f"{_module(scene, 'jax.numpy', 'jnp')}.asarray({operand.text})"
        yield exchange(scene, "make an array of it", (operand.node, new))
    if value is None and isinstance(node, ast.BinOp):
        other = node.left if operand.node is node.right else node.right
        without = ast.get_source_segment(scene.failed.text, other) or ""
        whole = ast.get_source_segment(scene.failed.text, node) or ""
        new = f"({without} if {operand.text} is None else {whole})"
        yield exchange(scene, "leave it out where it is None", (node, new))
    if callable(value) and not operand.is_array:
        yield exchange(scene, "call it", (operand.node, f"{bracketed(operand)}()"))


# --- calls ---


def _call(scene: Scene) -> Told | None:
    node = scene.failed.node
    if not isinstance(node, ast.Call) or scene.steps:
        return None
    function = scene.failed.value_of(node.func)
    if hasattr(function, "shape") and hasattr(function, "dtype"):
        name = scene.text(node.func)
        inside = ", ".join(scene.text(item) for item in node.args)
        fixes = [exchange(scene, "index it", (node, f"{name}[{inside}]"))] if node.args and not node.keywords else []
        shown = Operand(name, node.func, function, scene.origin(node.func))
        told = f"`{name}` is an array {describe(function)}, and arrays are not functions."
        return Told(told, (*fixes, advice("index it with [ ], or multiply with `*`.")), (shown,))
    if function is None and isinstance(node.func, ast.Name) and node.func.id in scene.failed.frame:
        return Told(f"`{node.func.id}` is None, and None cannot be called.")
    return None


# --- attributes, items ---

_METHODS_OF_OTHERS = {
    "numpy": "np.asarray({0})",
    "append": "jnp.append({0}, {1})",
    "view": "{0}.reshape({1})",
    "detach": "jax.lax.stop_gradient({0})",
    "cpu": "jax.device_get({0})",
    "unsqueeze": "jnp.expand_dims({0}, {1})",
    "permute": "{0}.transpose({1})",
    "float": "{0}.astype(float)",
    "long": "{0}.astype(int)",
    "double": "{0}.astype('float64')",
    "extend": "jnp.concatenate([{0}, {1}])",
}
"""What lists, NumPy or PyTorch call otherwise."""


def _attribute(scene: Scene) -> Told | None:
    node = scene.failed.node
    if not isinstance(node, ast.Attribute):
        call = node if isinstance(node, ast.Call) else None
        node = call.func if call is not None and isinstance(call.func, ast.Attribute) else None
    if not isinstance(node, ast.Attribute):
        return None
    holder = scene.failed.value_of(node.value)
    name, text = node.attr, scene.text(node.value)
    if type(holder).__name__ == "module":
        return _of_module(scene, holder, node)
    array = hasattr(holder, "shape") and hasattr(holder, "dtype")
    if holder is None and not (isinstance(node.value, ast.Name) and node.value.id in scene.failed.frame):
        return None
    shown = Operand(text, node.value, holder, scene.origin(node.value))
    fixes: list[Fix] = []
    if array:
        fixes += _as_function(scene, node, text)
    close = difflib.get_close_matches(name, [one for one in dir(holder) if not one.startswith("_")], 1, 0.75)
    if close:
        fixes.append(exchange(scene, f"take `{close[0]}`", (node, f"{text}.{close[0]}")))
    what = f"an array {describe(holder)}" if array else "None" if holder is None else f"a {type(holder).__name__}"
    return Told(f"`{text}` is {what}, and has no attribute `{name}`.", tuple(fixes), (shown,))


def _as_function(scene: Scene, node: ast.Attribute, text: str) -> Iterator[Fix]:
    above = scene.failed.parent(node) if node is not scene.failed.node else scene.failed.parent()
    call = above if isinstance(above, ast.Call) and above.func is node else None
    inner = [scene.text(item) for item in call.args] if call is not None else []
    words = {"jnp": _module(scene, "jax.numpy", "jnp"), "np": _module(scene, "numpy", "np")}
    form = _METHODS_OF_OTHERS.get(node.attr)
    if form is not None and call is not None and ("{1}" not in form or inner):
        new = (
            form.format(text, ", ".join(inner))
            .replace("jnp.", f"{words['jnp']}.")
            .replace("np.as", f"{words['np']}.as")
        )
        yield Fix(f"use `{new}`.", edit=exchanged(scene.failed.text, [(call, new)]))
    elif call is not None and hasattr(jnp, node.attr):
        new = f"{words['jnp']}.{node.attr}({', '.join([text, *inner])})"
        yield Fix(f"call it as a function: `{new}`.", edit=exchanged(scene.failed.text, [(call, new)]))


def _of_module(scene: Scene, module: Any, node: ast.Attribute) -> Told:
    name = module.__name__
    close = difflib.get_close_matches(node.attr, dir(module), 1, 0.7)
    fixes = (
        [exchange(scene, f"`{name}` has `{close[0]}`", (node, f"{scene.text(node.value)}.{close[0]}"))] if close else []
    )
    return Told(f"`{name}` has no `{node.attr}`.", tuple(fixes), ())


def _key(scene: Scene) -> Told | None:
    node = scene.failed.node
    if not isinstance(node, ast.Subscript):
        return None
    holder = scene.failed.value_of(node.value)
    if not isinstance(holder, dict):
        return None
    text = scene.text(node.value)
    keys = [key for key in holder if isinstance(key, str | int)]
    asked = scene.error.args[0] if scene.error.args else None
    listed = joined([f"{key!r}" for key in keys[:6]]) + (f" and {len(keys) - 6} more" if len(keys) > 6 else "")
    close = difflib.get_close_matches(str(asked), [str(key) for key in keys], 1, 0.6)
    fixes = [exchange(scene, f"take {close[0]!r}", (node.slice, repr(close[0])))] if close else []
    shown = Operand(text, node.value, holder, scene.origin(node.value))
    return Told(f"`{text}` has no key {asked!r}: it has {listed or 'none at all'}.", tuple(fixes), (shown,))


def _name(scene: Scene) -> Told | None:
    name = getattr(scene.error, "name", None)
    if not isinstance(name, str):
        return None
    known = [one for one in scene.failed.frame if not one.startswith("_")]
    close = difflib.get_close_matches(name, known, 1, 0.7)
    node = scene.failed.node
    fixes = [exchange(scene, f"take `{close[0]}`", (node, close[0]))] if close and isinstance(node, ast.Name) else []
    if scene.inside:  # of a library's code
        return None
    return Told(f"`{name}` is not defined.", tuple(fixes) or (advice("define it, or run the cell that does."),), ())


def _set_item(scene: Scene) -> Told | None:
    node = scene.failed.node
    statement = scene.failed.statement
    target = next((item for item in ast.walk(node) if isinstance(item, ast.Subscript)), None)
    if isinstance(statement, ast.Assign | ast.AugAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        target = next((item for item in targets if isinstance(item, ast.Subscript)), target)
    if target is None:
        return None
    holder, index = scene.text(target.value), scene.text(target.slice)
    shown = Operand(holder, target.value, scene.failed.value_of(target.value), scene.origin(target.value))
    fixes: list[Fix] = []
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        value = ast.get_source_segment(scene.failed.text, statement.value)
        new = f"{holder} = {holder}.at[{index}].set({value})"
        fixes.append(Fix(f"make a new array: `{new}`.", edit=exchanged(scene.failed.text, [(statement, new)])))
    elif isinstance(statement, ast.AugAssign):
        value = ast.get_source_segment(scene.failed.text, statement.value)
        names: dict[type[ast.operator], str] = {
            ast.Add: "add",
            ast.Mult: "multiply",
            ast.Div: "divide",
            ast.Pow: "power",
        }
        name = names.get(type(statement.op), "subtract" if isinstance(statement.op, ast.Sub) else "")
        if name:
            new = f"{holder} = {holder}.at[{index}].{name}({value})"
            fixes.append(Fix(f"make a new array: `{new}`.", edit=exchanged(scene.failed.text, [(statement, new)])))
    message = f"`{holder}` is a JAX array, which nothing can change: `{holder}[{index}] = …` is not possible."
    return Told(message, (*fixes, advice("use .at[index].set(value), whose result is a new array.")), (shown,))


def _iteration(scene: Scene) -> Told | None:
    scalar = next((o for o in scene.operands if o.is_array and o.shape == ()), None)
    if scalar is None:
        node = scene.failed.node
        value = scene.failed.value_of(node)
        if not (hasattr(value, "dtype") and getattr(value, "shape", None) == ()):
            return None
        scalar = Operand(scene.text(node), node, value, scene.origin(node))
    told = f"`{scalar.text}` is a scalar {scalar.aval}: there is nothing to go through."
    return Told(told, (advice("use the scalar itself, or jnp.atleast_1d."),), (scalar,))


_ALL = (TypeError, ValueError)

EXPLAINERS = (
    Explainer("immutable", (TypeError,), _set_item, inside=frozenset({"_unimplemented_setitem", "__setitem__"})),
    Explainer("iteration", (TypeError,), _iteration, inside=frozenset({"__iter__"})),
    Explainer("operands", (TypeError,), _operator),
    Explainer("call", (TypeError,), _call),
    Explainer("attribute", (AttributeError,), _attribute),
    Explainer("key", (KeyError,), _key),
    Explainer("name", (NameError,), _name),
)
