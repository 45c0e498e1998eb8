"""Notices errors about tracers in code of the user that may catch them: the plain cell would not have met them.

Python raises some itself, such as `'DynamicJaxprTracer' object has no attribute 'tag'`, and code may go another way
then, or keep the words. Others it would have met, but with other frames and notes, at which it may look. A trace
function is told of them (`sys.settrace`): only of code that handles exceptions, and only where an `except` is in reach,
because every call costs then: tracing takes two to three times as long.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.runtime import is_library
from jaxnb.staging.cells.code import names_of

__all__ = ["may_catch", "note_caught"]


def may_catch(codes: Iterable[CodeType], functions: Iterable[Any]) -> bool:
    """Whether a statement, or a function of the user, has an `except`, or names `suppress`."""
    return any(map(_handles, codes)) or any(
        _handles(item.__code__) and not is_library(item.__globals__.get("__name__", "__main__"))
        for item in functions
        if isinstance(item, FunctionType)
    )


def _handles(code: CodeType) -> bool:
    names = names_of(code)
    return names.handles_errors or "suppress" in names.reads | names.attributes


def _is_of_trace(error: Exception) -> bool:
    sizes = isinstance(error, jax.errors.InconclusiveDimensionOperation) or "_DimExpr" in str(error)
    return sizes or _jax.speaks_of_tracers(error)


_CARRIED = frozenset(
    {
        *("__notes__", "__traceback__", "exc_info", "format_exc", "format_exception", "format_list", "format_tb"),
        *("extract_tb", "extract_stack", "print_exc", "print_exception", "print_tb", "TracebackException", "walk_tb"),
    }
)
"""By what code looks at the frames and the notes of an error."""


def _is_of_jax(frames: TracebackType | None) -> bool:
    while frames is not None:
        if _jax.in_jax(frames.tb_frame.f_code.co_filename):
            return True
        frames = frames.tb_next
    return False


@contextmanager
def note_caught(own: Any, attributes: Collection[str]) -> Generator[list[str]]:
    """Takes down the errors about tracers that arrive in code of the user which handles exceptions, in a few words.

    What JAX raises counts, too, where the code may look at its frames or notes.

    Where somebody looks at this thread already, as a debugger does, nothing is taken down.

    Args:
      own: the trace; under a transformation inside of it the plain cell has tracers, too.
      attributes: that the code reads.
    """
    met: list[str] = []
    looks = not _CARRIED.isdisjoint(attributes)

    def called(frame: FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        if not code.co_exceptiontable or is_library(frame.f_globals.get("__name__", "__main__")):
            return None
        frame.f_trace_lines = False
        return arrived

    def arrived(frame: FrameType, event: str, arg: Any) -> Any:
        error = arg[1] if event == "exception" else None
        if isinstance(error, Exception) and _jax.current_trace() is own and _is_of_trace(error):
            met.append("it catches an error about a traced value")
        elif looks and isinstance(error, Exception) and _is_of_jax(error.__traceback__):
            met.append("it looks at where an error of JAX comes from")
        return arrived

    if sys.gettrace() is not None:
        yield met
        return
    sys.settrace(called)
    try:
        yield met
    finally:
        sys.settrace(None)
