"""Tracebacks that show the cell's own lines: the frames of JAX and of jaxnb are folded."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from jaxnb import _jax
from jaxnb.reach import is_own

__all__ = ["as_shown_by_ipython", "show_only_user_frames", "tidy"]


def tidy(error: BaseException) -> None:
    """Cuts the frames of JAX and of jaxnb out of an exception's traceback, and out of those it came from."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        current.__traceback__ = _user_frames(current.__traceback__)
        if type(current.__cause__).__name__ == "JaxStackTraceBeforeTransformation":
            current.__cause__ = None
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _user_frames(traceback: TracebackType | None) -> TracebackType | None:
    entries: list[TracebackType] = []
    while traceback is not None:
        path = traceback.tb_frame.f_code.co_filename
        if not is_own(path) and not _jax.in_jax(path):
            entries.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for entry in reversed(entries):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def show_only_user_frames(error: BaseException, shell: Any) -> None:
    """Makes IPython show, and `%debug` enter, the frames of an exception as they are now, not those of the magic."""
    frames = error.__traceback__
    if hasattr(type(error), "_render_traceback_"):
        return

    def render() -> Any:
        return shell.InteractiveTB.structured_traceback(type(error), error, frames, tb_offset=0)

    error._render_traceback_ = render  # type: ignore[attr-defined]


def as_shown_by_ipython(error: SyntaxError, shell: Any) -> Exception:
    """A syntax error of the cell, shown as IPython shows those of a plain cell: the line and the caret, no frames.

    IPython adds the frames of the magic to whatever is a `SyntaxError` by class, so this one is so by name only.
    """
    lines = shell.SyntaxTB.structured_traceback(SyntaxError, error, [])
    kind = type("SyntaxError", (Exception,), {"_render_traceback_": lambda self: lines})
    return kind(error.msg)
