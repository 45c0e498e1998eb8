"""Keys that are the same again and again, as the text of a cell shows: made of a constant where it runs again, closed
over by what is mapped, or a default (`"key"`).

What one program draws is followed through its jaxpr (see `key_flow`). That a function draws the same at each call, or
for each row of a `vmap`, no jaxpr shows.
Source: https://docs.jax.dev/en/latest/random-numbers.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

import jax
import jax.numpy as jnp

from jaxnb import _jax
from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.loops import Function, Loop, LoopText
from jaxnb.findings.retracing.same_line import is_carried
from jaxnb.findings.syntax import default_values, in_short, stored_names
from jaxnb.program import Finding

__all__ = ["same_keys"]

_WORTH = re.compile(r"\brandom\b|PRNGKey|\bkey\(|\bjr\.")
_MAKING = frozenset({"key", "PRNGKey"})
_NO_DRAWS = frozenset({"key", "PRNGKey", "fold_in", "wrap_key_data", "key_data", "key_impl", "clone"})
_TURNING = frozenset({"scan", "fori_loop", "while_loop", "map", "vmap", "pmap"})


def same_keys(cell: CellText) -> Iterator[Finding]:
    """The draws of a cell that give the same numbers again and again.

    Args:
      cell: plain or staged.
    """
    text = cell.text if _WORTH.search(cell.shown) else None
    if text is None:
        return
    told: set[int] = set()
    for found in (*_constant(text), *_closed_over(text), *_default(text), *_each_turn(text)):
        message, node, name, fix, trail = found
        if node.lineno not in told:
            told.add(node.lineno)
            yield text.finding("key", message, node, name, fix, trail)


_Found = tuple[str, ast.expr, str, str, tuple[int, ...]]


# --- keys of a constant ---


def _constant(text: LoopText) -> Iterator[_Found]:
    """Keys that are made of a number where that runs again and again, and drawn from."""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or not _is_constant_key(call, text) or not (draws := _draws_from(call, text)):
            continue
        when = _runs_again(call, text)
        if when is None:
            continue
        name = next((item.id for item in _targets(call, text)), "")
        key = f"`{name}`" if name else "the key"
        message = (
            f"{key} is made of a constant, `{in_short(call)}`, {when}: it is the same key, and the same random numbers"
            " are drawn each time."
        )
        fix = "pass the key as an argument, and give each call or turn one of jax.random.split, or a fold_in(key, i)."
        yield message, call, name, fix, tuple(draw.lineno for draw in draws[:2])


def _is_constant_key(node: ast.AST, text: LoopText) -> bool:
    if not isinstance(node, ast.Call) or len(node.args) != 1 or not isinstance(node.args[0], ast.Constant):
        return False
    called = text.called(node)
    return "random" in called and called.rpartition(".")[2] in _MAKING


def _targets(call: ast.AST, text: LoopText) -> list[ast.Name]:
    above = text.parents.get(call)
    return [item for item in above.targets if isinstance(item, ast.Name)] if isinstance(above, ast.Assign) else []


def _draws_from(call: ast.Call, text: LoopText) -> list[ast.Call]:
    """The draws of a key as it is, in the loop or function that makes it; none if it is folded or handed on."""
    above = text.parents.get(call)
    if isinstance(above, ast.Call):
        return [above] if _is_draw(above, text) and above.args[:1] == [call] else []
    names = {item.id for item in _targets(call, text)}
    again = next((item for item in text.around(call) if isinstance(item, ast.FunctionDef | ast.For | ast.While)), None)
    if not names or again is None:
        return []
    nodes = list(ast.walk(again))
    bound = [one for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id in names]
    if len(bound) != len(_targets(call, text)):  # it goes on as another one
        return []
    return [one for one in nodes if _is_draw(one, text) and _key_name(one) in names]


def _is_draw(node: ast.AST, text: LoopText) -> TypeGuard[ast.Call]:
    called = text.called(node)
    return isinstance(node, ast.Call) and "random" in called and called.rpartition(".")[2] not in _NO_DRAWS


def _key_name(node: ast.Call) -> str:
    """The name of the key that a draw is given."""
    named = [item.value for item in node.keywords if item.arg == "key"]
    key = next(iter([*named, *node.args]), None)
    return key.id if isinstance(key, ast.Name) else ""


def _runs_again(node: ast.AST, text: LoopText) -> str | None:
    """When something runs again and again with nothing else than before, in words; None if that is not known."""
    function = next((item for item in text.around(node) if isinstance(item, Function)), None)
    if function is None:
        loop = text.loop(node)
        return text.where(loop) if loop is not None and _only_counts(loop) else None
    by = _given_to(function, text)
    if by in _TURNING:
        return f"in each {'row' if by in ('vmap', 'pmap') else 'turn'} of `{by}`"
    name = getattr(function, "name", "")
    for call in text.nodes:
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == name:
            loop = text.loop(call)
            if loop is not None and (_only_counts(loop) or is_carried(call, text)):
                return f"at each call of `{name}`, which the loop on line {loop.lineno} calls in every turn"
    return None


def _only_counts(loop: Loop) -> bool:
    """Whether a loop counts, and does not try one value after the other with the same key on purpose."""
    if isinstance(loop, ast.While):
        return True
    over = loop.iter if isinstance(loop, ast.For) else loop.generators[0].iter
    return isinstance(over, ast.Call) and getattr(over.func, "id", "") == "range"


def _given_to(function: Function, text: LoopText) -> str:
    """The transformation that maps a function of the cell or runs it in turns; "" if there is none."""
    name = getattr(function, "name", None)
    for decorator in getattr(function, "decorator_list", ()):
        value = text.value(decorator)
        if getattr(value, "__name__", "") in _TURNING and str(getattr(value, "__module__", "")).startswith("jax"):
            return value.__name__
    for call in text.nodes:
        by = text.called(call).rpartition(".")[2]
        if isinstance(call, ast.Call) and by in _TURNING:
            for item in call.args:
                if item is function or (isinstance(item, ast.Name) and item.id == name):
                    return by
    return ""


# --- keys of a loop of Python ---


def _each_turn(text: LoopText) -> Iterator[_Found]:
    """Draws in a loop of Python from a key that the loop leaves as it is."""
    for draw in text.nodes:
        if not _is_draw(draw, text) or not (name := _key_name(draw)):
            continue
        loop = text.loop(draw)
        if loop is None or not any(item is draw for item in text.each_turn(loop)):
            continue
        if name not in stored_names(loop) and text.turns(loop) != 1:
            message = f"`{name}` is used in every turn of a loop: all turns draw the same."
            fix = f"give each turn a key: loop over `jax.random.split({name}, n)`, or `jax.random.fold_in({name}, n)`."
            yield message, draw, name, fix, (loop.lineno,)


# --- keys that a mapped function closes over ---


def _closed_over(text: LoopText) -> Iterator[_Found]:
    """Draws of a function under `vmap` from a key that is the same for all rows."""
    for call in text.nodes:
        if not isinstance(call, ast.Call) or text.called(call).rpartition(".")[2] != "vmap" or not call.args:
            continue
        function = _definition(call.args[0], text)
        if function is None:
            continue
        shared = _unmapped(function, call)
        mapped = {item.arg for item in function.args.args} - shared
        own = {item.arg for item in ast.walk(function) if isinstance(item, ast.arg)} - shared | stored_names(function)
        for draw in _own_nodes(function):
            if not _is_draw(draw, text) or not (name := _key_name(draw)) or name in own:
                continue
            if name in shared:
                if not _meets(draw, mapped, text):  # as what a sweep over settings begins with, each time the same
                    continue
            elif not _is_key(text.namespace.get(name)):
                continue
            what = getattr(function, "name", "") or "the lambda"
            how = "is not mapped, by in_axes," if name in shared else f"is closed over by `{what}`"
            message = (
                f"`{name}` {how} and is one key for all rows of the `vmap` on line {call.lineno}: each row draws the"
                " same random numbers."
            )
            fix = f"map over keys, too: an argument of `{what}`, given jax.random.split({name}, n), one for each row."
            yield message, draw, name, fix, (call.lineno,)


def _meets(draw: ast.Call, names: set[str], text: LoopText) -> bool:
    """Whether a draw stands in a statement, or in a lambda, that reads one of some names."""
    whole = next((item for item in text.around(draw) if isinstance(item, ast.stmt | ast.Lambda)), draw)
    return any(isinstance(item, ast.Name) and item.id in names for item in ast.walk(whole))


def _own_nodes(function: Function) -> Iterator[ast.AST]:
    """What a function does itself, without the functions in it."""
    waiting: list[ast.AST] = list(function.body) if isinstance(function, ast.FunctionDef) else [function.body]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [item for item in ast.iter_child_nodes(node) if not isinstance(item, Function)]


def _definition(node: ast.expr, text: LoopText) -> Function | None:
    if isinstance(node, ast.Lambda):
        return node
    if not isinstance(node, ast.Name):
        return None
    for item in text.nodes:
        if isinstance(item, ast.FunctionDef) and item.name == node.id:
            return item
        if not isinstance(item, ast.Assign) or not isinstance(item.value, ast.Lambda):
            continue
        if any(getattr(one, "id", "") == node.id for one in item.targets):
            return item.value
    return None


def _unmapped(function: Function, call: ast.Call) -> set[str]:
    """The parameters for which a `vmap` says `in_axes` None."""
    axes = next((item.value for item in call.keywords if item.arg == "in_axes"), None)
    if not isinstance(axes, ast.Tuple):
        return set()
    pairs = zip(function.args.args, axes.elts, strict=False)
    return {arg.arg for arg, axis in pairs if isinstance(axis, ast.Constant) and axis.value is None}


def _is_key(value: object) -> bool:
    if not isinstance(value, jax.Array) or _jax.is_tracer(value) or value.is_deleted():
        return False
    typed = jnp.issubdtype(value.dtype, jax.dtypes.prng_key)
    return (typed and not value.shape) or (value.dtype == "uint32" and value.shape in ((2,), (4,)))


# --- defaults ---


def _default(text: LoopText) -> Iterator[_Found]:
    """Draws from a key that is the default of an argument, which several calls do not give."""
    for function in text.nodes:
        if not isinstance(function, ast.FunctionDef):
            continue
        places = [*function.args.posonlyargs, *function.args.args]
        for arg, default in default_values(function.args):
            if not _is_constant_key(default, text):
                continue
            place = places.index(arg) if arg in places else len(places)
            calls = [one for one in text.nodes if _leaves_out(one, function.name, arg.arg, place)]
            draws = (one for one in ast.walk(function) if _is_draw(one, text) and _key_name(one) == arg.arg)
            draw = next(draws, None)
            if draw is None or (len(calls) < 2 and not any(text.loop(item) for item in calls)):
                continue
            lines = tuple(dict.fromkeys(item.lineno for item in calls))
            message = (
                f"`{arg.arg}` of `{function.name}` is its default `{in_short(default)}` in {len(calls)} calls, such as"
                f" on line {lines[0]}: all of them use the same key, and draw the same random numbers."
            )
            fix = f"have `{arg.arg}` no default: pass a key as an argument, one of jax.random.split for each call."
            yield message, draw, arg.arg, fix, (function.lineno, *lines)


def _leaves_out(node: ast.AST, function: str, name: str, place: int) -> TypeGuard[ast.Call]:
    """Whether a node is a call of a function without one of its arguments."""
    if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != function:
        return False
    if any(isinstance(item, ast.Starred) for item in node.args) or any(
        item.arg in (None, name) for item in node.keywords
    ):
        return False
    return len(node.args) <= place
