"""Tracebacks that show the cell's own lines: the frames of JAX and of jaxnb are folded."""

from __future__ import annotations

import linecache
import re
import sys
import warnings
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType
from typing import Any

from jaxnb import _jax, views
from jaxnb.errors import JaxnbError, NeedsConcrete
from jaxnb.program import finding_of
from jaxnb.runtime import Undo, is_on_jax, is_own
from jaxnb.staging.trace.functions import PART, is_statement_of

__all__ = [
    "SHOWN",
    "as_shown_by_ipython",
    "label_of",
    "let_go",
    "point_at_line",
    "render",
    "show_only_user_frames",
    "tidy",
    "told_of",
]


def tidy(error: BaseException) -> None:
    """Cuts frames of JAX, of libraries on it, of jaxnb and IPython out of the tracebacks of an exception."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        current.__traceback__ = _user_frames(current.__traceback__)
        if type(current.__cause__).__name__ == "JaxStackTraceBeforeTransformation":
            _note_forward(current, current.__cause__)
            current.__cause__ = None
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def tidy_caught() -> None:
    """Cuts the frames of jaxnb out of the traceback of what is being handled, so that it is that of the plain cell."""
    error = sys.exc_info()[1]
    if error is not None:
        error.__traceback__ = _frames(error.__traceback__, lambda frame: is_own(frame.f_code.co_filename))


def _note_forward(error: BaseException, before: BaseException | None) -> None:
    """Says at an error of the backward pass which line of the user's code in the forward pass it belongs to."""
    frames = _user_frames(before.__traceback__) if before is not None else None
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    if frames is None:
        return
    file, line = frames.tb_frame.f_code.co_filename, frames.tb_lineno
    error.add_note(f"It is the backward pass of line {line}: {linecache.getline(file, line).strip()}")


SHOWN = "_jaxnb_shown"
"""The attribute of an error of another process: the lines in which IPython showed it there."""

_IN_IPYTHON = re.compile(r"[/\\](IPython|ipykernel)[/\\]")


def _user_frames(traceback: TracebackType | None) -> TracebackType | None:
    return _frames(traceback, _is_others)


def _is_others(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    on_jax = is_on_jax(str(frame.f_globals.get("__name__")))  # whose frames say nothing about the user's code
    return on_jax or is_own(path) or _jax.in_jax(path) or _IN_IPYTHON.search(path) is not None


def _frames(traceback: TracebackType | None, is_cut: Callable[[FrameType], bool]) -> TracebackType | None:
    entries: list[tuple[FrameType, int, int]] = []
    while traceback is not None:
        frame, at, line = traceback.tb_frame, traceback.tb_lasti, traceback.tb_lineno
        if frame.f_code.co_name != PART and not is_cut(frame):
            outer = entries[-1][0] if entries else None
            if outer is not None and (
                _is_block_of(outer.f_code, frame.f_code) or is_statement_of(outer.f_code, frame.f_code)
            ):
                entries.pop()  # a statement that was taken apart is one frame in the plain cell
            entries.append((frame, at, line))
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for frame, at, line in reversed(entries):
        result = TracebackType(result, frame, at, line)
    return result


def _is_block_of(outer: CodeType, inner: CodeType) -> bool:
    """Whether two codes are of statements of one cell, of which the one stands in the other."""
    return outer.co_filename == inner.co_filename and outer.co_name == inner.co_name == "<module>"


def point_at_line(error: BaseException, filename: str, names: dict[str, Any]) -> None:
    """Gives an error of a running program, which has no frame of the user's, one at the line that was found out.

    Args:
      error: with what was found out about it, if anything was.
      filename: of the cell.
      names: what `%debug` finds in that frame.
    """
    found = finding_of(error)
    if found is None or found[0].line is None or _user_frames(error.__traceback__) is not None:
        return
    code = compile("0 / 0", filename, "exec").replace(co_firstlineno=found[0].line)
    try:
        exec(code, {**names})  # raises, and needs none of the names for it
    except ZeroDivisionError as raised:
        error.__traceback__ = raised.__traceback__ and raised.__traceback__.tb_next


def show_only_user_frames(error: BaseException, shell: Any) -> None:
    """Makes IPython show, and `%debug` enter, the frames of an exception as they are now, not those of the magic.

    What was found out about the exception stands in the place of its own words.
    """
    frames = error.__traceback__
    error._render_traceback_ = lambda: render(error, shell, frames)  # type: ignore[attr-defined]


def render(error: BaseException, shell: Any, frames: TracebackType | None = None) -> list[str]:
    """The lines in which IPython shows an exception; what was found out about it stands in the place of its own words.

    Args:
      error: to be shown.
      shell: the IPython shell.
      frames: the frames to show; by default all of its own.
    """
    if (lines := getattr(error, SHOWN, None)) is not None:
        return [*lines]
    told = told_of(error)
    if isinstance(error, JaxnbError):
        return [f"{type(error).__name__}: {told[0]}", *told[1:]] if told else [f"{type(error).__name__}: {error}"]
    kind, shown = type(error), error
    if told:
        kind = type(kind.__name__, (Exception,), {"__module__": kind.__module__})
        shown = kind("\n".join(told))
        for note in getattr(error, "__notes__", ()):
            if note != told[0]:
                shown.add_note(note)
    offset = None if frames is None else 0
    return shell.InteractiveTB.structured_traceback(kind, shown, frames or error.__traceback__, tb_offset=offset)


def told_of(error: BaseException) -> list[str]:
    """What was found out about an exception, as lines; none if nothing was."""
    found = finding_of(error)
    if found is None:
        return []
    finding, source = found
    lines = [finding.message, *views.detail_lines(finding, 100, source)]
    page = _jax.page_of(error.__cause__ or error)
    return [*lines, f"  more: {page}"] if page else lines


def label_of(filename: str, shell: Any) -> str:
    """What IPython's tracebacks call the cell that was compiled under this name, such as "Cell In[5]"."""
    named = shell.compile.format_code_name(filename)
    return f"{named[0]} {named[1]}" if named is not None else filename


def as_shown_by_ipython(error: SyntaxError, shell: Any) -> Exception:
    """A syntax error of the cell, shown as IPython shows those of a plain cell: the line and the caret, no frames.

    IPython adds the frames of the magic to whatever is a `SyntaxError` by class, so this one is so by name only.
    """
    lines = shell.SyntaxTB.structured_traceback(SyntaxError, error, [])
    kind = type("SyntaxError", (Exception,), {"_render_traceback_": lambda self: lines})
    return kind(error.msg)


def let_go(error: BaseException | None) -> None:
    """Frees what the frames of an error that was dealt with hold.

    What a trace has made and nobody has used ends here: of coroutines, and of what was stopped in its constructor,
    Python would complain.
    """
    with Undo() as undo:
        undo.patch(sys, "unraisablehook", lambda unraisable: None)
        undo.patch(warnings, "_warn_unawaited_coroutine", lambda coroutine: None)
        while error is not None:
            error.__traceback__ = None
            if isinstance(error, NeedsConcrete) and error.asked is not None:
                asked, error.asked = error.asked, None
                asked.names.clear()
                let_go(asked.error)
            error = error.__cause__ or error.__context__
