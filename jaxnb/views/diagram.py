"""A `graphviz.Digraph` that is drawn also where Graphviz is not installed."""

from __future__ import annotations

import shutil
from collections.abc import Generator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from threading import RLock
from typing import Any

import graphviz
from graphviz.backend import dot_command

__all__ = ["Diagram"]

_LOCK = RLock()


class Diagram(graphviz.Digraph):
    """A directed graph. A `dot` on the PATH draws it, or else the one that comes with the wheel graphviz-pure, which
    knows SVG, PNG and JPEG.

    Whoever has set `graphviz.backend.dot_command.DOT_BINARY` has said what is to draw, and that is kept.
    """

    def pipe(self, *args: Any, **kwargs: Any) -> Any:
        """The picture, see `graphviz.Digraph.pipe`; what dot only warns of is not shown unless `quiet` is False."""
        kwargs.setdefault("quiet", True)
        with _some_dot():
            return super().pipe(*args, **kwargs)

    def render(self, *args: Any, **kwargs: Any) -> str:
        """Writes the picture to a file, see `graphviz.Digraph.render`, as quietly as `pipe`."""
        kwargs.setdefault("quiet", True)
        with _some_dot():
            return super().render(*args, **kwargs)


@contextmanager
def _some_dot() -> Generator[None]:
    """Makes graphviz call the command of graphviz-pure for as long as this lasts, if nothing else would be called."""
    with _LOCK:
        before = dot_command.DOT_BINARY
        command = _pure_dot() if Path(before) == Path("dot") and shutil.which("dot") is None else None
        if command is not None:
            # graphviz has no argument for the command: this module-level name is where it looks.
            dot_command.DOT_BINARY = command
        try:
            yield
        finally:
            dot_command.DOT_BINARY = before


def _pure_dot() -> Path | None:
    """The command of the wheel graphviz-pure, which need not be on the PATH of a kernel; None if there is none."""
    try:
        installed = files("graphviz-pure") or []
    except PackageNotFoundError:
        installed = []
    for file in installed:
        if file.stem == "graphviz-pure" and file.suffix in ("", ".exe"):
            found = Path(str(file.locate()))
            if found.is_file():
                return found
    found = shutil.which("graphviz-pure")
    return Path(found) if found else None
