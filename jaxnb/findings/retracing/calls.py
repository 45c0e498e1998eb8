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
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import FunctionType
from typing import Any

from jaxnb import _jax
from jaxnb._jax import Call, CallLog
from jaxnb.findings.retracing.signatures import Signature, compare, describe, distance, user_function
from jaxnb.findings.retracing.stale import Stale
from jaxnb.program import Finding
from jaxnb.runtime import is_library, is_own
from jaxnb.staging import Change, Group, History, Tally, advise, cost_text

__all__ = ["Calls"]

_MOST_FUNCTIONS, _MOST_SIGNATURES, _MOST_ITEMS = 128, 8, 4000


@dataclass(slots=True)
class _Due:
    """What is to be said after the cell about one function."""

    group: Group
    change: Change
    tally: Tally
    file: str
    traced: bool


class Calls:
    """Watches the calls of jitted functions; `check` after each cell.

    Args:
      history: where the traces are taken down.
      label: what the user knows a file by.

    Attributes:
      stale: what the functions have read when they were traced.
    """

    def __init__(self, history: History, label: Callable[[str], str] = str) -> None:
        self._history, self._label = history, label
        self._log = CallLog(lambda function: user_function(function) is not None, self._traced)
        self._signatures: OrderedDict[str, deque[tuple[Signature, int]]] = OrderedDict()
        self._serials: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._last_serial = 0
        self._due: OrderedDict[str, _Due] = OrderedDict()
        self._told: dict[str, int] = {}
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

    def check(self, label: Callable[[str], str] | None = None, here: str | None = None) -> list[Finding]:
        """What to say of the functions that were traced needlessly since the last check, by the most frequent cause.

        A function is told of at its second needless retrace, and then whenever their number has doubled.

        Args:
          label: what the user knows a file by.
          here: the label of the cell that ran, whose lines findings may name as theirs.
        """
        label = label or self._label
        if self._log.failure and self._log.failure not in self._history.notes:
            self._history.notes.append(self._log.failure)
        due, self._due = self._due, OrderedDict()
        found: list[Finding] = []
        for key, item in due.items():
            if item.tally.count < 2 * self._told.get(key, 1):
                continue
            self._told[key] = item.tally.count
            found.append(_finding(item, label, here))
        if len(self._told) > _MOST_FUNCTIONS:
            self._told.clear()
        return found

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
        file, line = _caller()
        changes: list[Change] = []
        if earlier:
            nearest = min(reversed(earlier), key=lambda known: distance(known[0], signature))
            changes = compare(nearest[0], signature, nearest[1] != serial, self._label(code.co_filename))
            changes = [replace(change, line=line) for change in changes]
        for change, tally in self._history.add(group, changes, call.seconds, compiled_only=not call.traced):
            if tally.needless and advise(change, tally, function=True) is not None:
                due = self._due.get(key)
                if due is None or due.change.cause == change.cause or due.tally.count < tally.count:
                    self._due[key] = _Due(group, change, tally, file, call.traced)
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


def _caller() -> tuple[str, int]:
    """The line of the user's that made the call."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        file = frame.f_code.co_filename
        if not is_own(file) and not _jax.in_jax(file) and not is_library(frame.f_globals.get("__name__", "__main__")):
            return file, frame.f_lineno
        frame = frame.f_back
    return "", 0


def _finding(due: _Due, label: Callable[[str], str], here: str | None) -> Finding:
    group, change, tally = due.group, due.change, due.tally
    line = change.line if here is not None and label(due.file) == here else None
    done = "traced" if due.traced else "compiled"
    cost = cost_text(tally.seconds)
    message = f"`{group.title}` was {done} {tally.count} times more than need be: {change.text} ({cost})"
    origin = f"line {group.line} of {label(group.file)}"
    fix = advise(change, tally, function=True)
    return Finding("retrace", message, line, holder=change.path or group.title, origin=origin, fix=fix)
