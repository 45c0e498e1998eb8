"""Which code of the user ran during a trace, so that what other functions read is no part of a program's key.

A walk follows every function that the code may come to: of a package of one's own that is most of it, with all its
registries and contexts. What decides which of them run is in the key, too, so that those that did not run in a trace
will not run either while the key is the same: what they read does not matter, nor what they would do.

On Python 3.12 and later this is `sys.monitoring`, which leaves debuggers alone; on 3.11 it is `sys.settrace`, of which
there is one: while a debugger has it, nothing is known.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from types import CodeType, FrameType
from typing import Any

from jaxnb.runtime import is_installed
from jaxnb.staging.cells.code import code_digest

__all__ = ["LARGE", "Ran"]

LARGE = 4_000
"""Parts of a key from which on it is worth another trace to make it smaller."""


class Ran:
    """While it is entered: takes down the code that this thread runs.

    Attributes:
      complete: whether all of it was seen.
    """

    def __init__(self) -> None:
        self._codes: set[CodeType] = set()
        self.complete = False

    def __enter__(self) -> Ran:
        self.complete = _start(self._codes)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self.complete:
            self.complete = _stop()

    def digests(self) -> frozenset[bytes]:
        """Fingerprints of what ran, as `code_digest` makes them, other than of what is installed."""
        return frozenset(code_digest(code) for code in _own(self._codes))


def _own(codes: Iterable[CodeType]) -> list[CodeType]:
    return [code for code in codes if not is_installed(code.co_filename)]


if sys.version_info >= (3, 12):
    _monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    _tools: list[int] = []

    def _start(codes: set[CodeType]) -> bool:
        tool = next((number for number in (4, 3, 2, 1) if _monitoring.get_tool(number) is None), None)
        if tool is None:
            return False
        thread = threading.get_ident()

        def started(code: CodeType, offset: int) -> Any:
            if threading.get_ident() != thread:
                return None
            codes.add(code)
            return _monitoring.DISABLE

        events = _monitoring.events
        _monitoring.use_tool_id(tool, "jaxnb")
        for event in (events.PY_START, events.PY_RESUME):
            _monitoring.register_callback(tool, event, started)
        _monitoring.restart_events()  # what was seen once in an earlier trace is seen again
        _monitoring.set_events(tool, events.PY_START | events.PY_RESUME)
        _tools.append(tool)
        return True

    def _stop() -> bool:
        tool = _tools.pop()
        _monitoring.set_events(tool, 0)
        for event in (_monitoring.events.PY_START, _monitoring.events.PY_RESUME):
            _monitoring.register_callback(tool, event, None)
        _monitoring.free_tool_id(tool)
        return True

else:
    _called: list[Any] = []

    def _start(codes: set[CodeType]) -> bool:
        if sys.gettrace() is not None:
            return False

        def called(frame: FrameType, event: str, argument: Any) -> None:
            codes.add(frame.f_code)

        sys.settrace(called)
        _called.append(called)
        return True

    def _stop() -> bool:
        mine = sys.gettrace() is _called.pop()  # the code may have begun to debug
        if mine:
            sys.settrace(None)
        return mine
