"""Where in the user's text an equation comes from."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable, Hashable
from types import CodeType
from typing import TYPE_CHECKING

import jax
import jaxlib

from jaxnb._jax import Place, eqn_traceback, place_of, traceback_frames
from jaxnb.program import Span
from jaxnb.runtime import is_own

if TYPE_CHECKING:
    from jax.extend import core as jax_core  # which imports Pallas, and this is loaded with the extension

__all__ = ["Spans"]

_LIBRARIES = tuple(
    {os.path.dirname(path) + os.sep for path in (str(jax.__file__), str(jaxlib.__file__))}
    | {sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)


class Spans:
    """Finds the spans of equations, and remembers what it has seen of frames and files.

    Args:
      cell_file: the `co_filename` of the cell's code.
      source: the text of the cell; "" leaves columns in bytes of UTF-8.
      file_label: what to call another file of the user.
      called: where in the cell the function was called that was traced, if that is not the cell itself.
    """

    def __init__(
        self, cell_file: str, source: str, file_label: Callable[[str], str], called: Span | None = None
    ) -> None:
        self._cell_file, self._called = cell_file, called
        self._lines = source.split("\n")
        self._is_ascii = source.isascii()
        self._file_label = file_label
        self._found: dict[Hashable, Span | None] = {None: None}
        self._whose: dict[int, str] = {}

    def of(self, eqn: jax_core.JaxprEqn, owner: Span | None) -> Span | None:
        """The innermost frame in the cell, else in another file of the user, else the owner's span.

        JAX ends the traceback of an inner equation where its jaxpr's tracing began. So a jaxpr that JAX keeps
        and uses at several places does not name the first of them as the place of all, and the equations of a
        library's own jaxpr have no frame of the user: they belong to the line that called it.
        """
        return self.at(eqn_traceback(eqn)) or owner

    def at(self, traceback: Hashable) -> Span | None:
        """The same for what `eqn_traceback` gave of an equation."""
        if traceback not in self._found:  # the turns of a Python loop have one traceback in common
            self._found[traceback] = self._find(traceback)
        return self._found[traceback]

    def _find(self, traceback: Hashable) -> Span | None:
        elsewhere: Place | None = None
        for code, offset in traceback_frames(traceback):
            whose = self.whose(code)
            if whose == "library" or (whose == "user" and elsewhere is not None):
                continue
            place = place_of(code, offset)
            if place is None:
                continue
            if whose == "cell":
                return self._span(place, "")
            elsewhere = place
        if elsewhere is None or self._called is not None:
            return self._called
        return self._span(elsewhere, self._file_label(elsewhere.file))

    def place(self, code: CodeType, offset: int) -> Span | None:
        """Where a frame of the user's stood."""
        place = place_of(code, offset)
        if place is None:
            return None
        return self._span(place, self.label(code))

    def label(self, code: CodeType) -> str:
        """What the file of code is called in spans: "" for the cell."""
        return "" if self.whose(code) == "cell" else self._file_label(code.co_filename)

    def whose(self, code: CodeType) -> str:
        """Whose code it is, the "cell"'s, the "user"'s elsewhere, or a "library"'s; the equations keep it alive."""
        return self._whose.get(id(code)) or self._look_up(code)

    def _look_up(self, code: CodeType) -> str:
        file = code.co_filename
        whose = "cell" if file == self._cell_file else "user" if _is_users(file) else "library"
        self._whose[id(code)] = whose
        return whose

    def _span(self, place: Place, file: str) -> Span:
        if place.column is None or place.end_column is None:
            return Span(place.line, end_line=place.end_line, file=file)
        column, end_column = place.column, place.end_column
        if not file and not self._is_ascii:
            column, end_column = (
                self._characters(place.line, column),
                self._characters(place.end_line, end_column),
            )
        return Span(place.line, column, place.end_line, end_column, file)

    def _characters(self, line: int, column: int) -> int:
        """A column in bytes as a column in characters."""
        if not 1 <= line <= len(self._lines) or self._lines[line - 1].isascii():
            return column
        return len(self._lines[line - 1].encode()[:column].decode(errors="replace"))


def _is_users(file: str) -> bool:
    # Code without a file is the user's in a shell (<stdin>, <ipython-input-...>), a library's otherwise.
    generated = file.startswith("<") and (file == "<string>" or file.startswith("<frozen "))
    packaged = any(f"{os.sep}{name}{os.sep}" in file for name in ("site-packages", "dist-packages"))
    return not (generated or packaged or is_own(file) or file.startswith(_LIBRARIES))
