"""Gradients that are not what is meant, as the text of a cell shows (`"gradient"`): by an argument that the function
does not use, of the data where parameters are updated, or taken for the value that comes with them.

All of these run through: `jax.grad` differentiates by the first argument unless `argnums` says otherwise, a derivative
by what is not used is zero, and `value_and_grad` gives the value first.
Source: https://docs.jax.dev/en/latest/automatic-differentiation.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.loops import Function, LoopText
from jaxnb.findings.syntax import in_short
from jaxnb.program import Finding

__all__ = ["gradients_in_words"]

_WORTH = re.compile(r"\b(value_and_)?grad\b")
_GIVING = frozenset({"grad", "value_and_grad"})
_AROUND = frozenset({"jit", "checkpoint", "remat"})
"""Transformations that leave arguments and results as they are."""
_GRADIENTS = re.compile(r"grad|^gs?$|^d_?[a-zA-Z]$|^d_", re.IGNORECASE)
_VALUES = re.compile(r"loss|^l$|^val|cost|objective|energy|nll|mse|error", re.IGNORECASE)
_DATA = re.compile(
    r"(^|_)(x|xs|y|ys|data|batch|inputs?|images?|features|tokens|labels?|targets?|obs)(_|\d|$)", re.IGNORECASE
)
_PARAMETERS = re.compile(r"param|theta|weight|coef|(^|_)w\d*$|model", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Gradient:
    """A function that gives gradients.

    Attributes:
      of: the function that is differentiated, as written; the definition itself where it is decorated.
      argnums: by which arguments; None if that is not written as numbers.
      value: whether the value of the function comes first.
      aux: whether there may be more that comes with it.
    """

    of: ast.AST
    argnums: tuple[int, ...] | None
    value: bool
    aux: bool


def gradients_in_words(cell: CellText) -> Iterator[Finding]:
    """The gradients of a cell that are not what is meant.

    Args:
      cell: plain or staged.
    """
    text = cell.text if _WORTH.search(cell.shown) else None
    if text is None:
        return
    for call in text.nodes:
        gradient = _gradient(call.func, text) if isinstance(call, ast.Call) else None
        if isinstance(call, ast.Call) and gradient is not None:
            found = (*_swapped(call, gradient, text), *_by_data(call, gradient, text), *_unused(call, gradient, text))
            yield from found[:1]


# --- what is wrong ---


def _swapped(call: ast.Call, gradient: _Gradient, text: LoopText) -> Iterator[Finding]:
    """What `value_and_grad` gives, unpacked the wrong way round."""
    targets = _targets(call, text)
    if not gradient.value or len(targets) != 2:
        return
    first, second = targets
    own = second.elts[0] if gradient.aux and isinstance(second, ast.Tuple) and second.elts else second
    names = [one.id for one in (first, own) if isinstance(one, ast.Name)]
    if len(names) != 2 or not (_GRADIENTS.search(names[0]) and _VALUES.search(names[1])) or _VALUES.search(names[0]):
        return
    message = (
        f"value_and_grad gives the value first, then the gradient: `{names[0]}` holds the value of"
        f" `{_name_of(gradient.of)}`, and `{names[1]}` its gradient."
    )
    fix = f"unpack them the other way round: `{ast.unparse(second)}, {names[0]} = {in_short(call)}`."
    yield text.finding("gradient", message, call, names[0], fix)


def _by_data(call: ast.Call, gradient: _Gradient, text: LoopText) -> Iterator[Finding]:
    """A gradient by the data, of which parameters are updated."""
    if gradient.argnums is None or len(gradient.argnums) != 1 or gradient.argnums[0] >= len(call.args):
        return
    by = call.args[gradient.argnums[0]]
    updated = _updated_with(call, gradient, text)
    names = [one.id if isinstance(one, ast.Name) else "" for one in call.args]
    at = next((at for at, name in enumerate(names) if name in updated and at != gradient.argnums[0]), None)
    if at is None or not _PARAMETERS.search(names[at]) or not isinstance(by, ast.Name) or not _DATA.search(by.id):
        return
    message = (
        f"the gradient that updates `{names[at]}` is by `{by.id}`, argument {gradient.argnums[0]} of"
        f" `{_name_of(gradient.of)}`: `{names[at]}` is argument {at}."
    )
    fix = f"say by which argument: argnums={at}; or put `{names[at]}` first."
    yield text.finding("gradient", message, call, names[at], fix, (updated[names[at]],))


def _unused(call: ast.Call, gradient: _Gradient, text: LoopText) -> Iterator[Finding]:
    """A gradient by an argument that the function does not use."""
    function = _definition(gradient.of, text)
    if function is None or gradient.argnums is None or function.args.vararg is not None:
        return
    places = [*function.args.posonlyargs, *function.args.args]
    read = [node for node in _body(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    if any(node.id in ("locals", "vars", "eval") for node in read):
        return
    for at in gradient.argnums:
        if not -len(places) <= at < len(places):
            continue
        name, given = places[at].arg, call.args[at] if 0 <= at < len(call.args) else None
        if name.startswith("_") or any(node.id == name for node in read):
            continue
        what = f"`{function.name}`" if isinstance(function, ast.FunctionDef) else "the lambda"
        instead = _read_instead(read, function, given, text)
        message = f"the gradient by `{name}` is zero: `{name}` is not used in {what}"
        if instead is not None:
            message += f", which reads `{instead.id}` from outside, and that is a constant there"
        fix = f"compute with the argument `{name}`" + (f", not with `{instead.id}`" if instead is not None else "")
        fix += ", or differentiate by another one: argnums=."
        yield text.finding("gradient", f"{message}.", instead or function, name, fix, (call.lineno,))
        return


def _read_instead(
    read: Sequence[ast.Name], function: Function, given: ast.expr | None, text: LoopText
) -> ast.Name | None:
    """The name from outside that a function reads where its argument may be meant: what is passed for it, or the only
    one that holds arrays."""
    own = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    own |= {node.id for node in _body(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    outer = [node for node in read if node.id not in own]
    if isinstance(given, ast.Name) and (same := [node for node in outer if node.id == given.id]):
        return same[0]
    arrays = [node for node in outer if _holds_arrays(text.namespace.get(node.id))]
    return arrays[0] if len({node.id for node in arrays}) == 1 else None


def _holds_arrays(value: Any) -> bool:
    items = value if type(value) in (list, tuple) else [*value.values()] if type(value) is dict else [value]
    return bool(items) and all(
        isinstance(item, jax.Array) or (item is not value and _holds_arrays(item)) for item in items
    )


# --- reading ---


def _gradient(node: ast.expr, text: LoopText) -> _Gradient | None:
    """The gradient function that an expression is, or a name that the cell binds once to one; None of any other."""
    if isinstance(node, ast.Call):
        name = text.called(node).rpartition(".")[2]
        if name in _AROUND and node.args:
            return _gradient(node.args[0], text)
        return _made_by(name, node.args[0], node, text) if name in _GIVING and node.args else None
    if not isinstance(node, ast.Name):
        return None
    bound = [one for one in text.nodes if _binds(one, node.id)]
    if len(bound) != 1:
        return None
    (one,) = bound
    if isinstance(one, ast.FunctionDef):
        for decorator in one.decorator_list:
            name = getattr(text.value(decorator), "__name__", "")
            if name in _GIVING and str(getattr(text.value(decorator), "__module__", "")).startswith("jax"):
                return _Gradient(one, (0,), name == "value_and_grad", False)
        return None
    above = text.parents.get(one)
    if not isinstance(above, ast.Assign) or above.targets != [one] or not isinstance(above.value, ast.Call):
        return None
    return _gradient(above.value, text)


def _binds(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name == name
    return (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name) or (
        isinstance(node, ast.arg) and node.arg == name
    )


def _made_by(name: str, of: ast.expr, call: ast.Call, text: LoopText) -> _Gradient:
    named = {item.arg: item.value for item in call.keywords}
    written = named.get("argnums") or (call.args[1] if len(call.args) > 1 else None)
    aux = named.get("has_aux") or (call.args[2] if len(call.args) > 2 else None)
    return _Gradient(of, _numbers(written) if None not in named else None, name == "value_and_grad", aux is not None)


def _numbers(node: ast.expr | None) -> tuple[int, ...] | None:
    """What `argnums` says, if that is written."""
    if node is None:
        return (0,)
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    values = value if isinstance(value, tuple | list) else (value,)
    return tuple(values) if all(type(one) is int for one in values) else None


def _definition(node: ast.AST, text: LoopText) -> Function | None:
    """The function of the cell that an expression is, under what leaves its arguments as they are."""
    while isinstance(node, ast.Call) and text.called(node).rpartition(".")[2] in _AROUND and node.args:
        node = node.args[0]
    if isinstance(node, ast.Name):
        bound = [one for one in text.nodes if _binds(one, node.id)]
        node = bound[0] if len(bound) == 1 else node
    return node if isinstance(node, ast.FunctionDef | ast.Lambda) else None


def _body(function: Function) -> Iterator[ast.AST]:
    for item in function.body if isinstance(function, ast.FunctionDef) else [function.body]:
        yield from ast.walk(item)


def _name_of(node: ast.AST) -> str:
    return node.name if isinstance(node, ast.FunctionDef) else in_short(node)


def _targets(call: ast.Call, text: LoopText) -> list[ast.expr]:
    """What the parts of a call's result are unpacked into; a single name is one part."""
    above = text.parents.get(call)
    if not isinstance(above, ast.Assign) or above.value is not call or len(above.targets) != 1:
        return []
    (target,) = above.targets
    return list(target.elts) if isinstance(target, ast.Tuple) else [target]


def _updated_with(call: ast.Call, gradient: _Gradient, text: LoopText) -> dict[str, int]:
    """The names that are made anew of what they were and of a gradient, with the line."""
    targets = _targets(call, text)
    place = len(targets) - 1 if gradient.value else 0
    bound = targets[place] if targets and (gradient.value or len(targets) == 1 or gradient.aux) else None
    name = bound.id if isinstance(bound, ast.Name) else ""
    found: dict[str, int] = {}
    for node in text.nodes:
        if not isinstance(node, ast.Assign | ast.AugAssign):
            continue
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        inside = list(ast.walk(node.value))
        names = {one.id for one in inside if isinstance(one, ast.Name)}
        if isinstance(target, ast.Name) and (call in inside or name in names) and not isinstance(node.value, ast.Tuple):
            within_call = set(ast.walk(call)) if call in inside else set[ast.AST]()
            beside = {one.id for one in inside if isinstance(one, ast.Name) and one not in within_call}
            if isinstance(node, ast.AugAssign) or target.id in beside:
                found.setdefault(target.id, node.lineno)
    return found
