"""Arrays whose buffers were given away: which call took them, under which name, and how to keep them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax

from jaxnb import _jax
from jaxnb._jax import RAISING
from jaxnb.findings.errors.calls import argument_of, bound_to, leaf_paths, name_called, own, places
from jaxnb.findings.errors.edits import advice, lines_put, put, segment, words_of
from jaxnb.findings.errors.explainer import Explainer, Told
from jaxnb.findings.errors.scene import Scene
from jaxnb.findings.place import FailedExpression
from jaxnb.program import Fix

__all__ = ["EXPLAINERS"]


@dataclass(frozen=True, slots=True)
class _Taken:
    """A call that gave an array away.

    Attributes:
      call: the call.
      argument: what stands for the array in it.
      same: whether that argument still stands for the very array.
    """

    call: ast.Call
    argument: ast.expr
    same: bool

    @property
    def deletes(self) -> bool:
        """Whether it is `x.delete()`."""
        return isinstance(self.call.func, ast.Attribute) and self.call.func.value is self.argument


def _lost(scene: Scene) -> Told | None:
    array = _deleted(scene)
    if array is None:
        return None
    place = own(scene)
    name = _holder(scene, array)
    taken = _taker(place, array)
    if name is None or taken is None:
        return None
    shape = f"{array.dtype}{list(array.shape)}".replace(" ", "")
    given = segment(place, taken.argument)
    line = f"line {taken.call.lineno}"
    if taken.deletes:
        message = (
            f"`{name}` ({shape}) was deleted by `{segment(place, taken.call)}` on {line}, so that its buffer is gone."
        )
        statement = next(
            (one for one in ast.walk(place.tree) if isinstance(one, ast.Expr) and one.value is taken.call), None
        )
        fixes = [_without(place, statement)] if statement is not None else []
        return Told(
            message, (*fixes, advice(f"call {segment(place, taken.call)} after the last use.")), line=place.line
        )
    function = segment(place, taken.call.func)
    again = taken.call is place.node or _inside(place.node, taken.call)
    when = "in an earlier turn of the loop" if again else f"on {line}"
    other = "" if given == name or name.startswith(given) else f", the same buffer as `{name}`,"
    message = (
        f"`{given}`{other} was donated to `{function}` {when}, by donate_argnums or donate_argnames: the buffer was"
        f" given away, and `{name}` ({shape}) is deleted."
    )
    return Told(
        message, tuple(_fixes(scene, place, taken, again)), line=place.line if scene.failed.file == scene.here else None
    )


def _deleted(scene: Scene) -> Any:
    """The array that is gone."""
    step = scene.step(*RAISING["deleted"])
    found = step.names.get("self") if step is not None else None
    if _is_gone(found):
        return found
    for place in places(scene):
        for node in ast.walk(place.node):
            if _is_gone(value := place.value_of(node)):
                return value
    return None


def _is_gone(value: Any) -> bool:
    return isinstance(value, jax.Array) and not _jax.is_tracer(value) and value.is_deleted()


def _holder(scene: Scene, array: Any) -> str | None:
    """What the user calls the array, in the cell if it is named there."""
    for place in sorted(places(scene), key=lambda one: one is not own(scene)):
        for node in ast.walk(place.node):
            if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
                path = next(leaf_paths(place.value_of(node), lambda leaf: leaf is array, depth=3), None)
                if path is not None and type(place.value_of(node)).__name__ != "module":
                    return f"{segment(place, node)}{path}"
    return None


def _taker(place: FailedExpression, array: Any) -> _Taken | None:
    """The call that gave the array away: one that it still is an argument of, rather than one that donates at all."""
    loop = place.above(ast.For, ast.While)
    found: list[_Taken] = []
    for call in ast.walk(place.tree):
        if not isinstance(call, ast.Call):
            continue
        above = call.lineno < place.line or (loop is not None and _inside(loop, call))
        if above:
            found += _given_away(place, call, array)
    found.sort(key=lambda one: (one.same, one.call.lineno))
    return found[-1] if found else None


def _given_away(place: FailedExpression, call: ast.Call, array: Any) -> Iterator[_Taken]:
    if isinstance(call.func, ast.Attribute) and call.func.attr == "delete" and not call.args:
        if place.value_of(call.func.value) is array:
            yield _Taken(call, call.func.value, True)
        return
    donated = _donating(place, call)
    jitted = type(place.value_of(call.func)).__name__ == "PjitFunction"
    if donated is None and not jitted:
        return
    for n, (name, argument) in enumerate(_arguments(call)):
        if donated is not None and n not in donated and name not in donated:
            continue
        value = place.value_of(argument)
        same = next(leaf_paths(value, lambda leaf: leaf is array, depth=3), None) is not None
        if same or donated is not None:
            yield _Taken(call, argument, same)


def _arguments(call: ast.Call) -> list[tuple[str, ast.expr]]:
    return [("", item) for item in call.args] + [(item.arg or "", item.value) for item in call.keywords]


def _donating(place: FailedExpression, call: ast.Call) -> set[Any] | None:
    """The places and the names of the arguments that a call donates, if the text says so."""
    made: list[ast.expr] = []
    if isinstance(call.func, ast.Name):
        made += [
            decorator
            for node in ast.walk(place.tree)
            if isinstance(node, ast.FunctionDef) and node.name == call.func.id
            for decorator in node.decorator_list
        ]
    if (bound := bound_to(place, call.func)) is not None:
        made.append(bound)
    for one in made:
        given = [argument_of(one, -1, word) for word in ("donate_argnums", "donate_argnames")]
        if any(item is not None for item in given):
            return {
                node.value
                for item in given
                if item is not None
                for node in ast.walk(item)
                if isinstance(node, ast.Constant)
            }
    return None


def _inside(whole: ast.AST, part: ast.AST) -> bool:
    return any(node is part for node in ast.walk(whole))


def _without(place: FailedExpression, statement: ast.Expr) -> Fix:
    """The cell with an empty line where a statement stands."""
    first, last = statement.lineno, statement.end_lineno or statement.lineno
    return Fix(f"remove `{segment(place, statement)}`.", edit=lines_put(place, first, last, [""]))


def _fixes(scene: Scene, place: FailedExpression, taken: _Taken, again: bool) -> Iterator[Fix]:
    argument = segment(place, taken.argument)
    statement = next(
        (node for node in ast.walk(place.tree) if isinstance(node, ast.Assign) and node.value is taken.call), None
    )
    target = statement.targets[0] if statement is not None else None
    function = name_called(taken.call)
    if again and isinstance(target, ast.Name) and isinstance(taken.argument, ast.Name):
        yield put(place, "take the result for the next turn", target, argument)
    elif isinstance(target, ast.Name) and name_called(place.node) == function and isinstance(place.node, ast.Call):
        for item in place.node.args:
            if segment(place, item) == argument:
                yield put(place, "use the result that took its place", item, target.id)
    jnp, word = words_of(scene), words_of(scene, "jax", "jax")
    value = place.value_of(taken.argument)
    whole = isinstance(value, dict | list | tuple)
    copy = f"{word}.tree.map({jnp}.copy, {argument})" if whole else f"{jnp}.copy({argument})"
    yield put(place, "hand over a copy", taken.argument, copy)
    yield advice(f"use the result of `{function}`, hand over a copy, or do not donate: leave out donate_argnums.")


def _twice(scene: Scene) -> Told | None:
    """One array for two arguments that are both donated."""
    node, place = scene.failed.node, scene.failed
    if not isinstance(node, ast.Call) or "donate" not in str(scene.error):
        return None
    seen: dict[int, ast.expr] = {}
    for _, argument in _arguments(node):
        value = place.value_of(argument)
        first = seen.setdefault(id(value), argument)
        if first is argument or not isinstance(value, jax.Array):
            continue
        one, two = segment(place, first), segment(place, argument)
        what = f"`{one}` is" if one == two else f"`{one}` and `{two}` are one array, which is"
        message = (
            f"{what} given to `{segment(place, node.func)}` twice, and both arguments are donated: the same buffer"
            " cannot be given away twice."
        )
        fix = put(place, "hand over a copy", argument, f"{words_of(scene)}.copy({two})")
        return Told(message, (fix, advice("hand over a copy, or donate one of the two: donate_argnums=(0,).")))
    return None


EXPLAINERS = (
    Explainer("donated", (RuntimeError, ValueError), _lost, inside=RAISING["deleted"]),
    Explainer("donated-twice", (RuntimeError, ValueError), _twice),
)
