"""What one cell compiles, by the lines of the user's that asked for it: what is compiled again and again stands out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

from jaxnb import _jax
from jaxnb.runtime import is_library, is_own

__all__ = ["Compilations", "Compiled", "Lines", "user_line", "user_lines"]

Lines = tuple[tuple[str, int], ...]
"""File and line of the user's frames, the innermost first."""
_MOST = 512
FEW = 3
"""So often something has to be compiled on one line to be looked at."""


@dataclass(slots=True)
class Compiled:
    """What was compiled on one line.

    Attributes:
      name: of the function or operation.
      lines: where, of the last time.
      count: how often.
      seconds: what it took.
    """

    name: str
    lines: Lines
    count: int = 0
    seconds: float = 0.0


class Compilations:
    """Counts what is compiled, by name and line; nothing happens here when a cell runs what is compiled already."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, tuple[str, int]], Compiled] = {}
        self.seconds = 0.0

    def add(self, name: str, seconds: float) -> None:
        """Something was compiled just now; the frames of who asked for it are there."""
        lines = user_lines(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if not lines:
            return
        self.seconds += seconds
        found = self._found.get((name, lines[0]))
        if found is None:
            if len(self._found) >= _MOST:
                return
            found = self._found[name, lines[0]] = Compiled(name, lines)
        found.lines = lines
        found.count += 1
        found.seconds += seconds

    def begin(self) -> None:
        """A cell begins."""
        if self._found:
            self._found = {}
        self.seconds = 0.0

    def often(self) -> list[Compiled]:
        """What was compiled several times."""
        return [item for item in self._found.values() if item.count >= FEW]


def user_line(frame: FrameType | None) -> tuple[str, int] | None:
    """The innermost of these lines."""
    return next(_users(frame), None)


def user_lines(frame: FrameType | None) -> Lines:
    """The lines of the user's that wait for JAX; none if it works for jaxnb, which looks at something.

    Args:
      frame: of what was told of it.
    """
    return tuple(_users(frame))


def _users(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    while frame is not None and not _jax.in_jax(frame.f_code.co_filename):
        frame = frame.f_back
    while frame is not None and not is_own(file := frame.f_code.co_filename):
        if not _jax.in_jax(file) and not is_library(frame.f_globals.get("__name__", "__main__")):
            yield file, frame.f_lineno
        frame = frame.f_back
