"""What the loops of a cell copy between host and device in each turn (`"transfer"`), as the run and its text show.

What Python waits for is counted while the cell runs (see `wait_log.py`): a number, a text or a truth of an array that
was made in the same turn. NumPy's functions take arrays unseen, and so does JAX those of NumPy: these are read from the
text, where it says that they are copied in each turn, and how many turns there are.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.findings.lints.wait_log import MANY, Waited
from jaxnb.findings.loops import Loop, LoopText
from jaxnb.findings.syntax import assigned_names, in_short, stored_names
from jaxnb.program import Aval, Finding
from jaxnb.units import format_bytes, format_seconds

__all__ = ["METHODS", "NUMBERS", "SMALL", "copies_in_text", "fetched_in_turns", "waits_in_turns"]

LONG = 0.02
"""Seconds that a turn takes at least for a wait to be nothing beside it."""
SMALL = 1_000
"""Bytes of a NumPy array that may be copied in each turn without being told."""
NUMBERS = frozenset({"float", "int", "bool", "complex"})
"""The types of Python's that wait for an array."""
METHODS = frozenset({"item", "tolist"})
"""The methods of an array that do."""
_TAKING = frozenset({"asarray", "array", "device_put"})


# --- what was waited for ---


def waits_in_turns(
    waits: Sequence[Waited], shown: str, namespace: dict[str, Any], label: Callable[[str], str], here: str
) -> Iterator[Finding]:
    """What to say of the lines of a cell that have waited for a device in each turn of a loop.

    Args:
      waits: what was counted.
      shown: the cell as displayed.
      namespace: its names once it has run.
      label: what the user knows a file by.
      here: the label of the cell.
    """
    text = LoopText.of(shown, namespace)
    for waited in waits if text is not None else ():
        if label(waited.file) != here or waited.turn > LONG or text is None:
            continue
        found = next(_fetching(text, waited.line), None)
        loop = text.loop(found[0]) if found is not None else None
        if found is None or loop is None or _holds_loop(loop):
            continue
        node, fix = found
        what = f"printing `{in_short(node)}`" if fix is _FIX_PRINT else f"`{in_short(node)}`"
        message = (
            f"{what} made Python wait for the device {waited.count} times ({format_seconds(waited.seconds)} in all):"
            f" {text.where(loop)}, and meanwhile nothing further is dispatched."
        )
        yield text.finding("transfer", message, node, in_short(node), fix)


def _fetching(text: LoopText, line: int) -> Iterator[tuple[ast.expr, str]]:
    """The expression on a line that needs the numbers of an array that its turn has made, and what to do."""
    for loop in text.at(line, ast.While, ast.If, ast.IfExp):
        if loop.test.lineno <= line <= (loop.test.end_lineno or 0) and _needs(text, loop.test):
            yield (
                loop.test,
                (
                    "let JAX test it, by jax.lax.while_loop or jax.lax.cond under jax.jit, or test it less often, such"
                    " as every 10 turns."
                ),
            )
    for node in text.at(line, ast.Call, ast.FormattedValue):
        if isinstance(node, ast.FormattedValue):
            if _needs(text, node.value):
                yield node.value, _FIX_PRINT
            continue
        name, operand = getattr(node.func, "id", ""), node.args[0] if len(node.args) == 1 else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            operand = node.func.value
        elif name == "print":
            yield from (
                (item, _FIX_PRINT) for item in node.args if not isinstance(item, ast.JoinedStr) and _needs(text, item)
            )
            continue
        elif name not in NUMBERS:
            continue
        if operand is not None and _needs(text, operand):
            yield node, _fix_of_number(text, node, operand)


_FIX_PRINT = "print less often, such as every 10 turns or after the loop, or by jax.debug.print, which does not wait."


def _fix_of_number(text: LoopText, node: ast.Call, operand: ast.expr) -> str:
    if isinstance(operand, ast.Subscript) and isinstance(text.value(operand.value), jax.Array):
        name = ast.unparse(operand.value)
        return f"copy it at once, before the loop: {name} = np.asarray({name})."
    kept = in_short(operand)
    return f"keep `{kept}` as an array in the loop, and convert after the loop, all at once: jax.device_get(…)."


def _needs(text: LoopText, node: ast.expr) -> bool:
    """Whether an expression may be of an array that the turn has made, as opposed to one that was there before."""
    loop = text.loop(node)
    if loop is None:
        return False
    made = {name for item in ast.walk(loop) if isinstance(item, ast.Assign | ast.AugAssign) for name in _roots(item)}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and item.id in made:
            return True
        if isinstance(item, ast.Call) and not (isinstance(item.func, ast.Name) and item.func.id == "len"):
            return True
        if isinstance(item, ast.Subscript) and isinstance(text.value(item.value), jax.Array):
            return True
    return False


def _roots(statement: ast.stmt) -> set[str]:
    return {name.partition(".")[0] for name in assigned_names(statement)}


def _holds_loop(loop: ast.AST) -> bool:
    """Whether a loop has another one in it, beside which one wait is nothing."""
    return any(isinstance(item, ast.For | ast.While) and item is not loop for item in ast.walk(loop))


# --- what the text says ---


def copies_in_text(text: LoopText, seconds: float) -> Iterator[Finding]:
    """What the loops of a cell copy in each turn, as far as its text says so.

    Args:
      text: of the cell.
      seconds: that it has run, without what was compiled.
    """
    for loop in text.nodes:
        if not isinstance(loop, ast.For) or isinstance(text.again(loop), ast.FunctionDef):
            continue
        turns = text.turns(loop)
        if turns is None or turns < MANY or _holds_loop(loop) or seconds > 3 * LONG * turns:
            continue
        bound = stored_names(loop)
        device = device_names(loop, text)
        told: set[str] = set()
        for node in text.each_turn(loop):
            if not isinstance(node, ast.Call):
                continue
            yield from _sent(node, text, bound, turns, told)
            yield from _fetched(node, text, device, turns)


def _sent(call: ast.Call, text: LoopText, bound: set[str], turns: int, told: set[str]) -> Iterator[Finding]:
    """The NumPy arrays that a call of a jitted function, or of `jnp.asarray`, copies to the device in each turn."""
    takes = text.called(call).rpartition(".")[2] in _TAKING
    if not takes and _jax.jit_options(text.value(call.func)) is None:
        return
    for item in call.args:
        value = text.value(item) if isinstance(item, ast.Name) and item.id not in bound else None
        if not isinstance(item, ast.Name) or type(value) is not np.ndarray or value.nbytes <= SMALL or item.id in told:
            continue
        told.add(item.id)
        outer = next((above for above in text.around(call) if isinstance(above, ast.Call)), None) if takes else call
        into = f" for `{in_short(outer.func)}`" if outer is not None else ""
        aval = Aval(value.dtype.name, value.shape, itemsize=value.itemsize)
        message = (
            f"`{item.id}`, {aval}, is NumPy's, and its {format_bytes(value.nbytes)} are copied to the device{into}"
            f" {turns} times, in each turn of the loop."
        )
        fix = f"copy it once, before the loop: {item.id} = jnp.asarray({item.id})."
        yield text.finding("transfer", message, item, item.id, fix)


def fetched_in_turns(line: int, text: LoopText) -> Iterator[Finding]:
    """What NumPy's functions take of a loop's own arrays of the device in each turn.

    Args:
      line: on which the loop begins.
      text: of the cell.
    """
    for loop in text.at(line, ast.For):
        device = device_names(loop, text)
        for node in text.each_turn(loop):
            if isinstance(node, ast.Call):
                yield from _fetched(node, text, device, text.turns(loop))


def device_names(loop: Loop, text: LoopText) -> frozenset[str]:
    """The names that a loop binds to what a jitted function returns, and to the items of that."""
    found: set[str] = set()
    for item in ast.walk(loop):
        if isinstance(item, ast.Assign) and _is_of_jitted(item.value, text):
            found |= _roots(item)
    for item in ast.walk(loop):
        if isinstance(item, ast.comprehension):
            over = {name.id for name in ast.walk(item.iter) if isinstance(name, ast.Name)}
            method = getattr(item.iter.func, "attr", "") if isinstance(item.iter, ast.Call) else ""
            if over & found and method in ("", "items", "values"):
                found |= {name.id for name in ast.walk(item.target) if isinstance(name, ast.Name)}
    return frozenset(found)


def _is_of_jitted(node: ast.expr, text: LoopText) -> bool:
    return isinstance(node, ast.Call) and _jax.jit_options(text.value(node.func)) is not None


def _fetched(call: ast.Call, text: LoopText, device: frozenset[str], turns: int | None) -> Iterator[Finding]:
    """The arrays of the device that a call of NumPy's takes in each turn."""
    value: Any = text.value(call.func)
    if str(getattr(value, "__module__", None)).partition(".")[0] != "numpy" or not call.args:
        return
    item = call.args[0]
    ours = _is_of_jitted(item, text) or (isinstance(item, ast.Name) and item.id in device)
    if ours:
        what, source = in_short(call), _source_of(item, text)
        of = f", of `{source}`," if source else ""
        times = f" {turns} times" if turns is not None else ""
        message = (
            f"`{what}` copies `{in_short(item)}`{of} from the device to the host{times}, in each turn of the loop,"
            " which waits for it."
        )
        fix = "use jnp in the loop, so that it stays on the device, or convert once, after the loop."
        yield text.finding("transfer", message, call, what, fix)


def _source_of(item: ast.expr, text: LoopText) -> str:
    """What the target of a comprehension goes over."""
    for above in text.around(item):
        for part in getattr(above, "generators", ()):
            if isinstance(item, ast.Name) and any(
                isinstance(name, ast.Name) and name.id == item.id for name in ast.walk(part.target)
            ):
                return next((name.id for name in ast.walk(part.iter) if isinstance(name, ast.Name)), "")
    return ""
