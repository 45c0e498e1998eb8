"""The functions that an error is about, and the calls of transformations that made them, in the text of the user."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any

from jaxnb import _jax
from jaxnb.findings.errors.edits import exchanged, with_argument, words_of
from jaxnb.findings.errors.scene import Scene
from jaxnb.program import Fix

__all__ = [
    "bare_function",
    "bound_arguments",
    "called_value",
    "class_of_text",
    "definition_of",
    "given",
    "keyword_of",
    "made_static",
    "making",
    "name_of",
    "parameter_names",
    "partial_of",
    "put_keyword",
    "registered",
    "result_of",
    "results_of",
    "said_name",
    "with_keyword",
]

Function = ast.FunctionDef | ast.AsyncFunctionDef
_POSITIONS = {"in_axes": 1, "out_axes": 2, "argnums": 1}
"""Options of transformations that may be given by position."""


def bare_function(function: Any) -> Any:
    """The user's function in what transformations, `functools.partial` and JAX's own wrappers made of it."""
    for _ in range(20):
        if hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif isinstance(function, partial):
            code = getattr(function.func, "__code__", None)
            passed = code is not None and _jax.in_jax(code.co_filename) and function.args
            function = function.args[0] if passed else function.func
        elif inspect.ismethod(function):
            function = function.__func__
        elif not hasattr(function, "__code__") and callable(getattr(function, "fun", None)):
            function = function.fun
        else:
            break
    return function


def name_of(function: Any) -> str:
    """The name of the user's function in what was made of it, such as "loss" or "<lambda>"; "" if there is none."""
    return str(getattr(bare_function(function), "__name__", ""))


def said_name(function: Any, default: str = "the function") -> str:
    """What to call a function in a sentence: its name in backticks, or "the lambda"."""
    found = bare_function(function)
    name = name_of(found)
    if not name and found is not None and hasattr(found, "__code__") is False and callable(found):
        name = type(found).__name__
    return "the lambda" if name == "<lambda>" else f"`{name}`" if name else default


def parameter_names(function: Any) -> list[str]:
    """The names of the parameters that can be given by position; empty if they are not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def definition_of(scene: Scene, function: Any) -> Function | ast.Lambda | None:
    """The syntax of a function, if it is defined in the text of the failed expression."""
    code = getattr(bare_function(function), "__code__", None)
    if code is None or code.co_filename != scene.failed.file:
        return None
    lambdas: list[ast.Lambda] = []
    for node in ast.walk(scene.failed.tree):
        if isinstance(node, Function) and node.name == code.co_name:
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            if code.co_firstlineno in (first, node.lineno):
                return node
        elif isinstance(node, ast.Lambda) and code.co_name == "<lambda>" and node.lineno == code.co_firstlineno:
            names = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
            if names == list(code.co_varnames[: code.co_argcount]):
                lambdas.append(node)
    if len(lambdas) > 1:
        places = set(code.co_positions())
        lambdas = [one for one in lambdas if _body_place(one) in places] or lambdas
    return lambdas[0] if lambdas else None


def _body_place(node: ast.Lambda) -> tuple[Any, ...]:
    body = node.body
    return body.lineno, body.end_lineno, body.col_offset, body.end_col_offset


def results_of(function: Function | ast.Lambda | None) -> list[ast.expr]:
    """What a function returns, each `return` in the order of the text."""
    if function is None:
        return []
    if isinstance(function, ast.Lambda):
        return [function.body]
    found: list[ast.expr] = []
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, ast.Return) and node.value is not None:
            found.append(node.value)
        if not isinstance(node, Function | ast.Lambda | ast.ClassDef):
            pending = [*ast.iter_child_nodes(node), *pending]
    return found


def result_of(function: Function | ast.Lambda | None) -> ast.expr | None:
    """What a function returns last."""
    results = results_of(function)
    return results[-1] if results else None


def class_of_text(scene: Scene, kind: type) -> ast.ClassDef | None:
    """The syntax of a class, if it is defined in the text of the failed expression."""
    found = [
        node for node in ast.walk(scene.failed.tree) if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    ]
    return found[-1] if found else None


def called_value(scene: Scene) -> tuple[Any, int]:
    """What the failed expression calls, and how many arguments stand before those of the call: 1 for a method.

    (None, 0) if it is no call, or of what is not known.
    """
    node = scene.failed.node
    if not isinstance(node, ast.Call):
        return None, 0
    found = scene.failed.value_of(node.func)
    if found is not None or not isinstance(node.func, ast.Attribute):
        return found, 0
    holder = scene.failed.value_of(node.func.value)
    try:
        item = inspect.getattr_static(holder, node.func.attr)
    except AttributeError:
        return None, 0
    method = not isinstance(holder, type) and type(holder).__name__ != "module"
    return (item.__func__, 0) if isinstance(item, staticmethod) else (item, int(method))


def bound_arguments(scene: Scene, function: Any, shift: int = 0) -> dict[str, ast.expr]:
    """The arguments of the failed call by the names of the parameters of a function that it calls."""
    node = scene.failed.node
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return {}
    names = parameter_names(function)[shift:]
    found = dict(zip(names, node.args, strict=False))
    return {**found, **{one.arg: one.value for one in node.keywords if one.arg}}


def given(scene: Scene, function: Any, name: str) -> str:
    """The text of the argument that a call gives a parameter; the name of the parameter if it is not known."""
    node = bound_arguments(scene, function).get(name)
    return scene.text(node) if node is not None else name


def registered(scene: Scene, kind: type) -> list[Fix]:
    """A fix that registers a dataclass as a pytree where it is defined in this text."""
    node = class_of_text(scene, kind)
    if node is None:
        return []
    jax = words_of(scene, "jax", "jax")
    first = node.decorator_list[0] if node.decorator_list else node
    line = scene.failed.text.split("\n")[first.lineno - 1]
    added = f"{line[: len(line) - len(line.lstrip())]}@{jax}.tree_util.register_dataclass"
    said = f"register `{kind.__name__}` as a pytree: `{added.strip()}`."
    return [Fix(said, edit=(first.lineno, line, f"{added}\n{line}"))]


# --- calls of transformations ---


def _named(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _makes(node: ast.AST, names: frozenset[str]) -> bool:
    """Whether it is `jax.vmap(...)` or `partial(jax.vmap, ...)`."""
    if not isinstance(node, ast.Call):
        return False
    inner = _named(node.func) == "partial" and bool(node.args) and _named(node.args[0]) in names
    return inner or _named(node.func) in names


def making(scene: Scene, *names: str) -> list[ast.expr]:
    """Where a transformation stands that the failed expression is about, the likeliest first: a call, or the bare name
    of a decorator.

    Args:
      scene: of the error.
      names: of the transformation, such as "vmap", "pmap".
    """
    wanted = frozenset(names)
    found: list[ast.expr] = []
    seen = [scene.failed, *(one for one in scene.callers if one.file == scene.failed.file)]
    for place in seen:
        found += _in_expression(place.node, wanted)
        if isinstance(place.node, ast.Call):
            found += _in_binding(scene, _named(place.node.func), wanted)
        function = place.above_of(place.node, ast.FunctionDef, ast.AsyncFunctionDef)
        while function is not None:
            found += _in_decorators(function, wanted)
            function = place.above_of(function, ast.FunctionDef, ast.AsyncFunctionDef)
    if not found:
        every = [node for node in ast.walk(scene.failed.tree) if isinstance(node, ast.expr) and _makes(node, wanted)]
        found += every if len(every) == 1 else []
    kept: dict[tuple[int, int], ast.expr] = {(node.lineno, node.col_offset): node for node in reversed(found)}
    return list(reversed(kept.values()))


def _in_expression(node: ast.AST, names: frozenset[str]) -> list[ast.expr]:
    return [one for one in ast.walk(node) if isinstance(one, ast.expr) and _makes(one, names)]


def _in_decorators(function: Any, names: frozenset[str]) -> list[ast.expr]:
    return [one for one in function.decorator_list if _makes(one, names) or _named(one) in names]


def _in_binding(scene: Scene, name: str, names: frozenset[str]) -> Iterator[ast.expr]:
    """In what a name is assigned, or in the decorators of the function that it names."""
    if not name:
        return
    bound: list[Any] = []
    for node in ast.walk(scene.failed.tree):
        if (isinstance(node, Function) and node.name == name) or (
            isinstance(node, ast.Assign) and any(_named(target) == name for target in node.targets)
        ):
            bound.append(node)
    for node in reversed(bound):
        yield from _in_decorators(node, names) if isinstance(node, Function) else _in_expression(node.value, names)


def keyword_of(call: ast.AST, name: str) -> ast.expr | None:
    """What a call of a transformation gives for an option, by name or by position."""
    if not isinstance(call, ast.Call):
        return None
    place = _POSITIONS.get(name)
    found = next((one.value for one in call.keywords if one.arg == name), None)
    if found is None and place is not None and _named(call.func) != "partial" and len(call.args) > place:
        return call.args[place]
    return found


def with_keyword(scene: Scene, node: ast.expr, name: str, value: str) -> tuple[ast.AST, str]:
    """A call of a transformation, or the bare name of a decorator, with an option in it, as a pair for `exchanged`."""
    text = ast.get_source_segment(scene.failed.text, node) or ""
    old = keyword_of(node, name)
    if not isinstance(node, ast.Call):
        return node, f"{text}({name}={value})" if _named(
            node
        ) == "jit" else f"{partial_of(scene)}({text}, {name}={value})"
    if old is not None:
        return old, value
    return node, with_argument(text, f"{name}={value}")


def put_keyword(scene: Scene, said: str, node: ast.expr, name: str, value: str) -> Fix:
    """A fix that gives a call of a transformation an option; in words it says the new call."""
    pair = with_keyword(scene, node, name, value)
    shown = f"{name}={value}" if pair[0] is not node else " ".join(pair[1].split())
    return Fix(f"{said}: `{shown}`.", edit=exchanged(scene.failed.text, [pair]))


def partial_of(scene: Scene) -> str:
    """What the user calls `functools.partial`."""
    frame = scene.failed.frame
    name = next((key for key, value in frame.items() if value is partial), "")
    holder = next((key for key, value in frame.items() if getattr(value, "__name__", "") == "functools"), "")
    return name or (f"{holder}.partial" if holder else "__import__('functools').partial")


# --- static arguments ---


def made_static(scene: Scene, function: Any, name: str, said: str = "") -> list[Fix]:
    """A fix that makes an argument static where its function is jitted; none if that is not in this text.

    Args:
      scene: of the error.
      function: the jitted function, or its syntax.
      name: of the parameter.
      said: what is done, without a full stop.
    """
    node = function if isinstance(function, ast.AST) else definition_of(scene, function)
    said = said or f"make `{name}` static: it is traced anew for each value"
    found: list[ast.expr] = []
    if isinstance(node, Function):
        found += _in_decorators(node, frozenset({"jit"}))
    found += [one for one in making(scene, "jit") if one not in found and _jits(one, node)]
    for place in found:
        return [put_keyword(scene, said, place, "static_argnames", _also(scene, place, name))]
    return []


def _jits(place: ast.expr, function: Any) -> bool:
    """Whether a call of `jit` may be of a function: it is given by name or written out in it."""
    if not isinstance(place, ast.Call) or function is None:
        return True
    names = {_named(one) for argument in place.args for one in ast.walk(argument)}
    return function in list(ast.walk(place)) or getattr(function, "name", "") in names


def _also(scene: Scene, place: ast.expr, name: str) -> str:
    """The names that are static already, and one more."""
    old = keyword_of(place, "static_argnames")
    if isinstance(old, ast.Constant) and isinstance(old.value, str):
        return f'("{old.value}", "{name}")'
    if isinstance(old, ast.Tuple | ast.List) and old.elts:
        return f'({", ".join(scene.text(one) for one in old.elts)}, "{name}")'
    return f'"{name}"'
