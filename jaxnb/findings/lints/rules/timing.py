"""Times that were taken of JAX and say something else (`"timing"`): of a dispatch that nobody waited for, or of a
compilation.

A call returns before the device is done, and a clock that is read then has measured how long the call took to be handed
over. The first call of a jitted function compiles it, within whatever is timed.
Source: https://docs.jax.dev/en/latest/faq.html (benchmarking), https://docs.jax.dev/en/latest/async_dispatch.html
"""

from __future__ import annotations

import ast
import re
import time
import timeit
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

from jaxnb import _jax
from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.lints.lint import Lint
from jaxnb.findings.loops import LoopText
from jaxnb.findings.syntax import in_short
from jaxnb.program import Finding

__all__ = ["LINT", "timings"]

_CLOCKS = (time.time, time.perf_counter, time.monotonic, time.time_ns, time.perf_counter_ns, time.monotonic_ns)
_WORTH = re.compile(r"\b(time|perf_counter|monotonic|time_ns|perf_counter_ns|default_timer|timeit)\b")
_MEANT = re.compile(r"compil|warm|first|trac|dispatch|cold", re.IGNORECASE)
"""What a cell says that times a compilation, or a dispatch, on purpose."""
_COMPUTING = ("jax.numpy", "jax._src.numpy", "jax.lax", "jax._src.lax", "jax.nn", "jax._src.nn", "jax.scipy")
_MAKING = frozenset("array asarray zeros ones full arange linspace eye empty shape ndim size result_type".split())
_NEUTRAL = frozenset("range len zip enumerate list dict tuple append extend items keys values update tqdm min".split())


@dataclass(frozen=True, slots=True)
class _Timed:
    """Statements between two readings of a clock.

    Attributes:
      body: the statements.
      what: what the difference is called.
      line: on which it is taken.
    """

    body: Sequence[ast.stmt | ast.expr]
    what: str
    line: int


def timings(cell: CellText) -> Iterator[Finding]:
    """The times that a cell takes of something else than it seems.

    Args:
      cell: plain or staged.
    """
    text = cell.text if _WORTH.search(cell.shown) else None
    if text is None:
        return
    for timed in (*_between_clocks(text), *_by_timeit(text)):
        waits, calls = _looked_through(timed, text)
        call = calls[0] if calls else None
        if call is None or waits is None:
            continue
        if not waits and not _MEANT.search(timed.what):
            name = in_short(call)
            message = (
                f"`{timed.what}` is the time in which `{name}` was dispatched, not in which it was computed: the call"
                " returns before the device is done, and nothing within the timed lines waits for the result."
            )
            fix = f"wait within the timed lines: jax.block_until_ready({name})."
            yield _finding(message, call, timed, text, fix)
        elif (name := _compiled_in(timed, calls, text)) and not _MEANT.search(cell.shown):
            message = (
                f"`{timed.what}` is the time of compiling `{name}`, too: its first call is within the timed lines, and"
                " traces and compiles it."
            )
            fix = f"call it once before the clock is read, to compile it: jax.block_until_ready({in_short(call)})."
            yield _finding(message, call, timed, text, fix)


def _finding(message: str, call: ast.Call, timed: _Timed, text: LoopText, fix: str) -> Finding:
    return text.finding("timing", message, call, timed.what, fix, (timed.line,) if timed.line != call.lineno else ())


# --- what is timed ---


def _between_clocks(text: LoopText) -> Iterator[_Timed]:
    """What stands between two readings of a clock in one block."""
    for node in text.nodes:
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield from _in_block(block, text)


def _in_block(block: list[ast.stmt], text: LoopText) -> Iterator[_Timed]:
    for start, first in enumerate(block):
        begun = _reads_clock(first, text)
        if begun is None:
            continue
        for end in range(start + 1, len(block)):
            statement = block[end]
            difference = _difference(statement, begun, text)
            if difference is None and (ended := _reads_clock(statement, text)) is not None:
                later = [one for item in block[end + 1 :] for one in ast.walk(item)]
                difference = next((one for one in later if _is_difference(one, ended, begun, text)), None)
            if difference is not None:
                yield _Timed(block[start + 1 : end], _name_of(difference, text), difference.lineno)
                break
            if begun in {item.id for item in ast.walk(statement) if isinstance(item, ast.Name)}:
                break


def _reads_clock(statement: ast.stmt, text: LoopText) -> str | None:
    """The name that a statement binds to what a clock says."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and _is_clock(statement.value, text):
        return statement.targets[0].id if isinstance(statement.targets[0], ast.Name) else None
    return None


def _is_clock(node: ast.AST, text: LoopText) -> bool:
    value: Any = text.value(node.func) if isinstance(node, ast.Call) and not node.args else None
    return value is not None and (any(value is clock for clock in _CLOCKS) or value is timeit.default_timer)


def _difference(statement: ast.stmt, begun: str, text: LoopText) -> ast.BinOp | None:
    return next((node for node in ast.walk(statement) if _is_difference(node, "", begun, text)), None)


def _is_difference(node: ast.AST, ended: str, begun: str, text: LoopText) -> TypeGuard[ast.BinOp]:
    """Whether an expression is what a clock says, now or when a name was bound to it, less what it said before."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    left, right = node.left, node.right
    there = left.id == ended if isinstance(left, ast.Name) and ended else _is_clock(left, text)
    return there and isinstance(right, ast.Name) and right.id == begun


def _name_of(difference: ast.AST, text: LoopText) -> str:
    """What a difference is called: the name that it is bound to, or as it is written."""
    for above in text.around(difference):
        if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
            return above.targets[0].id
        if isinstance(above, ast.stmt | ast.JoinedStr | ast.Call):
            break
    return in_short(difference)


def _by_timeit(text: LoopText) -> Iterator[_Timed]:
    """What `timeit.timeit(lambda: ...)` times."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Lambda):
            value = text.value(node.func)
            if value is timeit.timeit or value is timeit.repeat:
                yield _Timed([node.args[0].body], _name_of(node, text), node.lineno)


# --- what happens meanwhile ---


def _looked_through(timed: _Timed, text: LoopText) -> tuple[bool | None, list[ast.Call]]:
    """Whether something waits for a result; None where that is not known; and the calls that JAX computes."""
    calls: list[ast.Call] = []
    waits: bool | None = False
    for node in [item for one in timed.body for item in ast.walk(one)]:
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert | ast.With | ast.Try | ast.FormattedValue):
            waits = waits or None
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in ("block_until_ready", "device_get"):
            waits = True
        elif _dispatches(node, text):
            calls.append(node)
        elif name not in _NEUTRAL and not _is_clock(node, text) and not text.called(node).startswith(_COMPUTING):
            waits = waits or None
    return waits, calls


def _dispatches(call: ast.Call, text: LoopText) -> bool:
    """Whether a call is computed by JAX: of a jitted function, also one that a function of the cell is given."""
    called = text.called(call)
    if called.startswith(_COMPUTING) and called.rpartition(".")[2] not in _MAKING:
        return True
    function = next((node for node in text.around(call) if isinstance(node, ast.FunctionDef)), None)
    parameters = [item.arg for item in function.args.args] if function is not None else []
    if isinstance(call.func, ast.Name) and call.func.id in parameters and function is not None:
        given = list(_given(function, parameters.index(call.func.id), text))
        return bool(given) and all(_is_jitted(item, text) for item in given)
    return _is_jitted(call.func, text)


def _is_jitted(node: ast.expr, text: LoopText) -> bool:
    return _jax.jit_options(text.value(node)) is not None


def _given(function: ast.FunctionDef, place: int, text: LoopText) -> Iterator[ast.expr]:
    """What the calls of a function in the cell pass for one of its parameters."""
    for node in text.nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function.name:
            named = [item.value for item in node.keywords if item.arg == function.args.args[place].arg]
            yield from named or node.args[place : place + 1]


def _compiled_in(timed: _Timed, calls: Sequence[ast.Call], text: LoopText) -> str:
    """The function whose first call is within what is timed, if the cell defines it above; "" if there is none."""
    for call in calls:
        if not isinstance(call.func, ast.Name) or not _is_jitted(call.func, text):
            continue
        name = call.func.id
        made = max((item.end_lineno or 0 for item in text.tree.body if _makes(item, name)), default=0)
        first = timed.body[0].lineno
        used = [item.lineno for item in text.nodes if isinstance(item, ast.Name) and item.id == name]
        top = next((item for item in text.around(call) if isinstance(item, ast.FunctionDef | ast.Lambda)), None)
        if top is None and made and made < first and not any(made < line < first for line in used):
            return name
    return ""


def _makes(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return statement.name == name
    return isinstance(statement, ast.Assign) and any(getattr(item, "id", "") == name for item in statement.targets)


LINT = Lint(in_words=timings)
