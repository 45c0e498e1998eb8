"""Watching Python code step by step, in one thread, without changing what it does.

On Python 3.12 and later this is `sys.monitoring`, which leaves debuggers alone; on 3.11 it is `sys.settrace`, of which
there is one. Nothing is left behind, and while nothing is watched nothing is slower.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from jaxnb.errors import JaxnbError

__all__ = ["watch_steps"]

Wanted = Callable[[FrameType], bool]
OnStart = Callable[[FrameType], None]
OnStep = Callable[[FrameType, int], None]


@contextmanager
def watch_steps(wanted: Wanted, on_start: OnStart, on_step: OnStep) -> Generator[None]:
    """Follows what this thread runs.

    None of the three may raise, nor run code of the user.

    Args:
      wanted: whether the code of a frame is to be followed; asked when it begins.
      on_start: called when a frame that is wanted begins, its arguments bound; not when a generator goes on.
      on_step: called in such a frame before each instruction, with its offset.

    Raises:
      JaxnbError: if another tool has taken what is needed, which on Python 3.11 a debugger has.
    """
    if sys.version_info >= (3, 12):
        yield from _by_monitoring(wanted, on_start, on_step)
    else:
        yield from _by_tracing(wanted, on_start, on_step)


def _by_monitoring(wanted: Wanted, on_start: OnStart, on_step: OnStep) -> Generator[None]:
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined]
    tool = next((number for number in (4, 3, 2, 1) if monitoring.get_tool(number) is None), None)
    if tool is None:
        raise _busy()
    events, thread = monitoring.events, threading.get_ident()
    followed: set[CodeType] = set()

    def started(code: CodeType, offset: int) -> None:
        if threading.get_ident() != thread:
            return
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        if wanted(frame):
            if code not in followed:
                followed.add(code)
                monitoring.set_local_events(tool, code, events.INSTRUCTION)
            on_start(frame)

    def stepped(code: CodeType, offset: int) -> None:
        if threading.get_ident() == thread:
            on_step(sys._getframe(1), offset)  # pyright: ignore[reportPrivateUsage]

    monitoring.use_tool_id(tool, "jaxnb")
    try:
        monitoring.register_callback(tool, events.PY_START, started)
        monitoring.register_callback(tool, events.INSTRUCTION, stepped)
        monitoring.set_events(tool, events.PY_START)
        yield
    finally:
        monitoring.set_events(tool, 0)
        for code in followed:
            monitoring.set_local_events(tool, code, 0)
        for event in (events.PY_START, events.INSTRUCTION):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)


def _by_tracing(wanted: Wanted, on_start: OnStart, on_step: OnStep) -> Generator[None]:
    if sys.gettrace() is not None:
        raise _busy()

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        if not wanted(frame):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if frame.f_code.co_code[frame.f_lasti + 1] == 0:  # of RESUME: 0 where a frame begins
            on_start(frame)
        return stepped

    def stepped(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode":
            on_step(frame, frame.f_lasti)
        return stepped

    sys.settrace(called)
    try:
        yield
    finally:
        if sys.gettrace() is called:  # the code that was watched may have begun to debug
            sys.settrace(None)


def _busy() -> JaxnbError:
    return JaxnbError(
        "names cannot be followed now.",
        why="a debugger, profiler or coverage tool follows the same code.",
        fix="ask again without it.",
    )
