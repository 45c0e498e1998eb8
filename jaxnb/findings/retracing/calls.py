"""Jitted functions in plain cells: each trace is described by texts and compared with the nearest earlier one.

JAX answers a call that it knows in C++, and nothing of this is run then. A call that had to be traced or compiled is
written down as a *signature* (see `signatures.py`). What differs from the nearest earlier signature of the function of
the same name is the reason.
"""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType
from typing import Any

from jaxnb import findings
from jaxnb._jax import Call, CallLog
from jaxnb.findings.retracing.compilations import Compilations, Lines, user_lines
from jaxnb.findings.retracing.signatures import Signature, compare, describe, distance, user_function
from jaxnb.findings.retracing.stale import Stale
from jaxnb.program import Finding
from jaxnb.staging import Change, Group, History, Tally, advise, cost_text

__all__ = ["Calls", "Due"]

_STATIC = frozenset({"number", "static", "callable", "hash"})
"""Changes of what is part of a program because it was said to be so."""
_MOST_FUNCTIONS, _MOST_SIGNATURES, _MOST_ITEMS = 128, 8, 4000


@dataclass(slots=True)
class Due:
    """What is to be said after the cell about one function.

    Attributes:
      group: what is known of it.
      change: why it was traced again.
      tally: how often that was so.
      lines: of the user's that called it, the innermost first.
      traced: whether it was traced, not only compiled.
    """

    group: Group
    change: Change
    tally: Tally
    lines: Lines
    traced: bool


class Calls:
    """Watches the calls of jitted functions; `check` after each cell.

    Args:
      history: where the traces are taken down.
      label: what the user knows a file by.

    Attributes:
      stale: what the functions have read when they were traced.
      compiled: what the cell has compiled.
    """

    def __init__(self, history: History, label: Callable[[str], str] = str) -> None:
        self._history, self._label = history, label
        self.compiled = Compilations()
        wanted = lambda function: user_function(function) is not None  # noqa: E731
        self._log = CallLog(wanted, self._traced, self.compiled.add)
        self._signatures: OrderedDict[str, deque[tuple[Signature, int]]] = OrderedDict()
        self._serials: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._last_serial = 0
        self._due: OrderedDict[str, Due] = OrderedDict()
        self._told: dict[str, int] = {}
        self._places: dict[str, Lines] = {}
        self._turned: list[Due] = []
        self.stale = Stale()

    @property
    def on(self) -> bool:
        """Whether calls are watched."""
        return self._log.on

    def start(self) -> None:
        """From now on. Calls that JAX knows cost nothing more."""
        self._log.start()

    def stop(self) -> None:
        """No longer; JAX is as before."""
        self._log.stop()

    def begin(self, text: str, namespace: Mapping[str, Any]) -> None:
        """A cell is about to run.

        Args:
          text: the cell as displayed.
          namespace: the names before it.
        """
        self.compiled.begin()
        self._places.clear()
        self._turned.clear()
        self.stale.begin(text, namespace)

    def check(
        self,
        label: Callable[[str], str] | None = None,
        here: str | None = None,
        text: str = "",
        namespace: Mapping[str, Any] | None = None,
    ) -> list[Finding]:
        """What to say of the functions that were traced needlessly since the last check, by the most frequent cause.

        A function is told of at its second needless retrace, and then whenever their number has doubled; so is what a
        line of the cell has compiled again and again.

        Args:
          label: what the user knows a file by.
          here: the label of the cell that ran, whose lines findings may name as theirs.
          text: that cell as displayed.
          namespace: the names now.
        """
        label = label or self._label
        if self._log.failure and self._log.failure not in self._history.notes:
            self._history.notes.append(self._log.failure)
        due, self._due = self._due, OrderedDict()
        told: list[Due] = []
        for key, item in due.items():
            if item.tally.count < 2 * self._told.get(key, 1):
                continue
            self._told[key] = item.tally.count
            told.append(item)
        if len(self._told) > _MOST_FUNCTIONS:
            self._told.clear()
        often = self.compiled.often() if text else []
        turned = [item for item in self._turned if item.group.key not in due] if text else []
        if here is None or not (told or often or turned):
            return [_finding(item, label, here) for item in told]
        again = findings.CompiledAgain(text, namespace or {}, label, here)
        anew = (again.made(item) or _finding(item, label, here) for item in told if not again.is_chosen(item))
        return [*anew, *again.turned(turned), *again.bodies(often)]

    def _traced(self, call: Call) -> None:
        function = user_function(call.function)
        if function is None:
            return
        self.stale.note(call.function)
        key = _key(call.function, function)
        code = function.__code__
        group = self._history.group(key, function.__qualname__, code.co_filename, code.co_firstlineno, function=True)
        signature, serial = describe(call, function), self._serial(call.function)
        earlier = self._signatures.setdefault(key, deque(maxlen=_MOST_SIGNATURES))
        self._signatures.move_to_end(key)
        lines = user_lines(sys._getframe())  # pyright: ignore[reportPrivateUsage]
        line = lines[0][1] if lines else 0
        changes: list[Change] = []
        if earlier:
            nearest = min(reversed(earlier), key=lambda known: distance(known[0], signature))
            changes = compare(nearest[0], signature, nearest[1] != serial, self._label(code.co_filename))
            changes = [replace(change, line=line) for change in changes]
        of_layers = len({change.axes for change in changes if change.kind == "shape"}) > 1  # weights and what they meet
        turned = bool(changes) and self._places.get(key) == lines[:1]
        self._places[key] = lines[:1]
        for change, tally in self._history.add(group, changes, call.seconds, compiled_only=not call.traced):
            if turned and tally.count == 1 and len(self._turned) < _MOST_FUNCTIONS:
                self._turned.append(Due(group, change, tally, lines, call.traced))
            if tally.needless and not of_layers and advise(change, tally, function=True) is not None:
                due = self._due.get(key)
                if due is None or due.change.cause == change.cause or due.tally.count < tally.count:
                    self._due[key] = Due(group, change, tally, lines, call.traced)
        self._keep(earlier, signature, serial)

    def _keep(self, earlier: deque[tuple[Signature, int]], signature: Signature, serial: int) -> None:
        earlier.append((signature, serial))
        while len(earlier) > 1 and sum(len(known) for known, _ in earlier) > _MOST_ITEMS:
            earlier.popleft()
        if len(self._signatures) > _MOST_FUNCTIONS:
            self._signatures.popitem(last=False)

    def _serial(self, function: Any) -> int:
        """A number of an object of its own. Nothing is kept alive for it."""
        known = self._serials.get(id(function))
        if known is not None and known[0]() is function:
            return known[1]
        self._last_serial += 1
        key = id(function)
        with contextlib.suppress(TypeError):  # an object of a class with slots
            self._serials[key] = (weakref.ref(function, partial(self._serials.pop, key)), self._last_serial)
        return self._last_serial


def _key(outer: Any, function: FunctionType) -> str:
    """What tells functions apart: their name; where they stand for those that have none; and what is around them."""
    around = "" if outer is function else getattr(getattr(outer, "__code__", None), "co_qualname", type(outer).__name__)
    code = function.__code__
    name = f"{function.__module__}.{function.__qualname__} {around}"
    return f"{name} {code.co_filename}:{code.co_firstlineno}" if "<lambda>" in name else name


def _finding(due: Due, label: Callable[[str], str], here: str | None) -> Finding:
    group, change, tally = due.group, due.change, due.tally
    line = change.line if here is not None and due.lines and label(due.lines[0][0]) == here else None
    done = "traced" if due.traced else "compiled"
    cost = cost_text(tally.seconds)
    static = change.kind in _STATIC and not change.path.endswith("of the partial")
    why = f"each value of a static argument has a program of its own, {change.text}" if static else change.text
    message = f"`{group.title}` was {done} {tally.count} times more than need be: {why} ({cost})"
    origin = f"line {group.line} of {label(group.file)}"
    fix = advise(change, tally, function=True)
    return Finding("retrace", message, line, holder=change.path or group.title, origin=origin, fix=fix)
