"""Names that do not stand for what the reader thinks: rebound globals, hidden builtins, used iterators, old objects."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import replace

from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import bound_to, calls_named, name_called, own
from jaxnb.findings.errors.edits import advice, exchange, exchanged, segment
from jaxnb.findings.errors.explainer import Explainer, Told, explainers
from jaxnb.findings.errors.scene import Scene, is_array, last_binding, parameters_of
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


def _others(scene: Scene) -> Told | None:
    """What the explanations of shapes say."""
    for explainer in explainers():
        if explainer.kind not in _KINDS and explainer.fits(scene) and (told := explainer.find(scene)) is not None:
            return told
    return None


def _global(scene: Scene) -> Told | None:
    """An array of a function that is no argument of it and was bound anew by the cell that calls it."""
    failed, cell = scene.failed, own(scene)
    if not failed.function or cell is failed:
        return None
    function = failed.above(ast.FunctionDef)
    if function is None:
        return None
    for operand in scene.arrays:
        name = operand.node.id if isinstance(operand.node, ast.Name) else ""
        local = name in parameters_of(function) or last_binding(function, name, 1 << 30) is not None
        line = None if local or not name else last_binding(cell.tree, name, cell.line)
        told = _others(scene) if line is not None and cell.file == scene.here else None
        if told is None:
            continue
        more = f" `{name}` is no argument of `{failed.function}` but a global, which line {line} binds anew."
        hint = f"make `{name}` an argument of `{failed.function}`, or give the array of line {line} another name."
        return replace(told, message=told.message + more, fixes=(advice(hint),))
    return None


# --- values that come through calls ---


def _source(scene: Scene, name: str) -> tuple[FailedExpression, ast.Name] | None:
    """The name in the cell that an argument was passed on from, call by call."""
    wanted, function = name, scene.failed.function
    scope = scene.failed.above(ast.FunctionDef)
    for place in scene.callers:
        node = place.node
        if scope is None or wanted not in parameters_of(scope) or not isinstance(node, ast.Call):
            return None
        if name_called(node) != function and not _passes(node, function):
            return None
        at = parameters_of(scope).index(wanted)
        given = _argument_at(node, at, wanted)
        if not isinstance(given, ast.Name):
            return None
        if place.file == scene.here and not place.function:
            return place, given
        wanted, function, scope = given.id, place.function, place.above(ast.FunctionDef)
    return None


def _passes(node: ast.Call, function: str) -> bool:
    """Whether a call is of a transformed function, such as `jax.grad(f)(x)`."""
    return isinstance(node.func, ast.Call) and any(
        isinstance(item, ast.Name) and item.id == function for item in node.func.args
    )


def _argument_at(node: ast.Call, at: int, name: str) -> ast.expr | None:
    for keyword in node.keywords:
        if keyword.arg == name:
            return keyword.value
    for n, item in enumerate(node.args):
        if isinstance(item, ast.Starred):
            return item.value if at >= n else None
        if n == at:
            return item
    return None


_REDUCING = ("mean", "std", "var", "sum", "max", "min", "prod")


def _reduced(scene: Scene) -> Told | None:
    """A statistic of an array that came from the cell without the axis it was taken over."""
    for operand in scene.arrays:
        found = _source(scene, operand.node.id) if isinstance(operand.node, ast.Name) else None
        if found is None:
            continue
        place, name = found
        made = bound_to(place, name)
        calls = list(calls_named(made, *_REDUCING)) if made is not None else []
        told = _others(scene) if calls and made is not None else None
        if told is None or made is None:
            continue
        line = f", line {made.lineno}" if made.lineno else ""
        more = f" `{operand.text}` comes from `{name.id}`{line}: `{' '.join(segment(place, made).split())}`."
        return replace(
            told,
            message=told.message + more,
            fixes=(
                *_kept(place, calls),
                advice("take the statistic along another axis, or keep that axis: keepdims=True."),
            ),
        )
    return None


def _kept(place: FailedExpression, calls: list[ast.Call]) -> Iterator[Fix]:
    for name, value in (("axis", "0"), ("keepdims", "True")):
        new = []
        for call in calls:
            given = next((item.value for item in call.keywords if item.arg == name), None)
            text = segment(place, call).rstrip()[:-1]
            if given is not None:
                new.append((given, value))
            elif name == "keepdims":
                new.append((call, f"{text}, keepdims=True)"))
        edit = exchanged(place.text, new) if new else None
        if edit is not None:
            said = (
                "keep the axis: `keepdims=True`." if name == "keepdims" else "take it along the other axis: `axis=0`."
            )
            yield Fix(said, edit=edit)


# --- names ---


def _at(made: str) -> str:
    return f"on {made}" if made.startswith("line") else f"in {made or 'this notebook'}"


def _shadowed(scene: Scene) -> Told | None:
    """An array under the name of a builtin that is called."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    name, value = node.func.id, scene.failed.value_of(node.func)
    if not hasattr(builtins, name) or not is_array(value) or callable(value):
        return None
    made = scene.origin(node.func)
    message = f"`{name}` is an array here, bound {_at(made)}, and hides the builtin `{name}`: an array is not callable."
    word = next((key for key, one in scene.failed.frame.items() if one is builtins and not key.startswith("_")), None)
    fixes = [exchange(scene, "call the builtin", (node.func, f"{word}.{name}"))] if word is not None else []
    return Told(message, (*fixes, advice(f"give the array another name, and run del {name}.")))


def _used_up(scene: Scene) -> Told | None:
    node = scene.failed.node
    if name_called(node) != "next" or not isinstance(node, ast.Call) or not node.args or scene.steps:
        return None
    text, made = segment(scene.failed, node.args[0]), scene.origin(node.args[0])
    kind = type(scene.failed.value_of(node.args[0])).__name__.replace("_", " ")
    where = f", which comes from {made}," if made else ""
    message = (
        f"the iterator `{text}`{where} is used up: nothing is left of the {kind}, as an earlier loop has gone through"
        " it."
    )
    return Told(message, (advice(f"make it anew with iter(…), or keep the items in a list: {text} = list(…)."),))


def _old_object(scene: Scene) -> Told | None:
    """An object of a class that was defined again since, and whose new objects have the attribute."""
    node, error = scene.failed.node, scene.error
    if not isinstance(node, ast.Attribute) or scene.steps:
        return None
    value = getattr(error, "obj", None)
    kind = type(value)
    newer = scene.failed.frame.get(kind.__name__)
    if value is None or newer is kind or not isinstance(newer, type) or kind.__module__ != "__main__":
        return None
    text = segment(scene.failed, node.value)
    message = (
        f"`{text}` has no attribute `{node.attr}`: it was made before `{kind.__name__}` was redefined, and is an"
        " object of the old class."
    )
    return Told(message, (advice(f"create it again: {text} = {kind.__name__}(…)."),))


_KINDS = frozenset({"rebound", "statistic"})

EXPLAINERS = (
    Explainer("rebound", (TypeError, ValueError), _global, inside=RAISING["contraction"] | RAISING["broadcast"]),
    Explainer("statistic", (TypeError, ValueError), _reduced, inside=RAISING["broadcast"]),
    Explainer("shadowed", (TypeError,), _shadowed),
    Explainer("used-up", (StopIteration,), _used_up),
    Explainer("old-object", (AttributeError,), _old_object),
)
