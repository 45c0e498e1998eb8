"""Calls in the user's text: their arguments, and edits of them wherever they stand around an error."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jaxnb.findings.errors.edits import segment, words_of
from jaxnb.findings.errors.scene import Operand, Scene, is_array
from jaxnb.findings.place import FailedExpression

__all__ = [
    "argument_of",
    "arguments_at",
    "bound_to",
    "calls_named",
    "class_of",
    "is_of",
    "is_raised_by",
    "key_word",
    "leaf_paths",
    "name_called",
    "named_like",
    "own",
    "placed",
    "places",
    "required",
]


def places(scene: Scene) -> tuple[FailedExpression, ...]:
    """The expressions of the user's that were being carried out, the innermost first."""
    return scene.failed, *scene.callers


def placed(scene: Scene, *names: str) -> FailedExpression | None:
    """The innermost of these that calls a function or a method of one of these names."""
    return next((place for place in places(scene) if name_called(place.node) in names), None)


def own(scene: Scene) -> FailedExpression:
    """The innermost of these that stands in the cell."""
    return next((place for place in places(scene) if place.file == scene.here), scene.failed)


def name_called(node: ast.AST | None) -> str:
    """The name of the function or the method that a call is of; "" of anything else."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def argument_of(call: ast.AST | None, position: int, name: str) -> ast.expr | None:
    """An argument of a call by its position or its name."""
    if not isinstance(call, ast.Call):
        return None
    given = next((item.value for item in call.keywords if item.arg == name), None)
    starred = any(isinstance(item, ast.Starred) for item in call.args[: position + 1])
    return call.args[position] if given is None and 0 <= position < len(call.args) and not starred else given


def bound_to(place: FailedExpression, node: ast.AST | None, within: ast.AST | None = None) -> ast.expr | None:
    """The expression itself, or, of a name or an attribute, the last one that the text gives it above.

    Args:
      place: whose text.
      node: the expression.
      within: a function, of which every line counts; by default the lines above, those of the function around first.
    """
    if not isinstance(node, ast.Name | ast.Attribute):
        return node if isinstance(node, ast.expr) else None
    if within is not None:
        return _last_given(within, ast.unparse(node), None)
    before = place.statement.lineno if isinstance(node, ast.Name) else None  # an attribute: by a method below, too
    around = place.above(ast.FunctionDef, ast.AsyncFunctionDef)
    local = None if around is None else _last_given(around, ast.unparse(node), before)
    return local or _last_given(place.tree, ast.unparse(node), before)


def _last_given(scope: ast.AST, name: str, before: int | None) -> ast.expr | None:
    """What is assigned to a name on the last line of a part of a text, and above one."""
    found: ast.Assign | None = None
    for item in ast.walk(scope):
        if not isinstance(item, ast.Assign) or (before is not None and item.lineno >= before):
            continue
        if any(ast.unparse(target) == name for target in item.targets) and (
            found is None or item.lineno >= found.lineno
        ):
            found = item
    return found.value if found is not None else None


def calls_named(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    """The calls of functions or methods of these names, in the order of their lines."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_called(node) in names]
    return iter(sorted(calls, key=lambda node: (node.lineno, node.col_offset)))


def class_of(place: FailedExpression, name: str = "") -> ast.ClassDef | None:
    """The class of a name in a text; by default the one that the expression stands in."""
    if not name:
        return place.above(ast.ClassDef)
    return next((node for node in ast.walk(place.tree) if isinstance(node, ast.ClassDef) and node.name == name), None)


def named_like(wrong: Any, known: Iterable[Any]) -> str | None:
    """The one of several names that comes closest to another, or the only one."""
    names = [str(one) for one in known]
    close = difflib.get_close_matches(str(wrong), names, 1, 0.4)
    return close[0] if close else names[0] if len(names) == 1 else None


def is_raised_by(scene: Scene, library: str) -> bool:
    """Whether a library is on the way to the error, or the class of the error is one of its own."""
    modules = [step.module for step in scene.steps] + [type(scene.error).__module__]
    return any(module == library or module.startswith(library + ".") for module in modules)


def leaf_paths(value: Any, wanted: Any, path: str = "", depth: int = 6) -> Iterator[str]:
    """Where a container or an object holds what a function accepts, as it would be written behind its name."""
    if wanted(value):
        yield path
    elif depth:
        for key, part in _parts(value):
            yield from leaf_paths(part, wanted, path + key, depth - 1)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        names = getattr(value, "_fields", None)
        for place, part in enumerate(value):
            yield (f".{names[place]}" if names else f"[{place}]"), part
    elif isinstance(state := getattr(value, "__dict__", None), dict) and not callable(getattr(value, "dtype", None)):
        yield from ((f".{name}", part) for name, part in state.items() if not name.startswith("_"))


def arguments_at(place: FailedExpression) -> tuple[Operand, ...]:
    """The arguments of a call that stand for arrays or hold some, with what they stood for."""
    node = place.node
    if not isinstance(node, ast.Call):
        return ()
    given = [*node.args, *(item.value for item in node.keywords)]
    known = [(item, place.value_of(item)) for item in given if not isinstance(item, ast.Starred | ast.Constant)]
    return tuple(
        Operand(" ".join(segment(place, item).split()), item, value) for item, value in known if is_array(value)
    )


def is_of(value: Any, library: str, name: str = "Module") -> bool:
    """Whether a value is an object of a class of a library, or of one that derives from it, by the names of these."""
    kinds = type(value).__mro__
    return any(kind.__name__ == name and kind.__module__.partition(".")[0] == library for kind in kinds)


def key_word(scene: Scene, place: FailedExpression) -> str:
    """A random key in the user's text: a name that stands for one, or a new one."""
    for name in ("key", "rng", "subkey", "rng_key"):
        if "key<" in str(getattr(place.frame.get(name), "dtype", "")):
            return name
    return f"{words_of(scene, 'jax', 'jax')}.random.key(0)"


def required(function: Any, name: str, given: tuple[Any, ...] = (), named: Mapping[str, Any] | None = None) -> bool:
    """Whether a method is not given an argument of this name that it needs.

    Args:
      function: takes its object first.
      name: of the argument.
      given: the others by position, without the object.
      named: the others by name.
    """
    try:
        signature = inspect.signature(function)
        bound = signature.bind_partial(None, *given, **(named or {})).arguments
    except (TypeError, ValueError):
        return False
    parameter = signature.parameters.get(name)
    return parameter is not None and parameter.default is inspect.Parameter.empty and name not in bound
