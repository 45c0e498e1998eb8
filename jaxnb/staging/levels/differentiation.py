"""What a cell differentiates: it is traced once more, and each gradient is looked at as it is taken."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

from jaxnb import _jax
from jaxnb.errors import JaxnbError
from jaxnb.program import DifferentiatedProgram, Gradients
from jaxnb.reading import read_gradient
from jaxnb.staging.cells.cell import CellSource

__all__ = ["read_gradients"]


def read_gradients(trace: Callable[[], object], cell: CellSource, label: Callable[[str], str]) -> Gradients:
    """The gradients that a cell takes.

    Args:
      trace: traces it as a whole.
      cell: which one.
      label: what files are called.

    Raises:
      JaxnbError: if it takes none.
    """
    __tracebackhide__ = True
    lines = (cell.shown or cell.text).split("\n")

    def line_of(file: str, line: int) -> str:
        if file == cell.filename:
            return lines[line - 1] if line <= len(lines) else ""
        return linecache.getline(file, line)

    found: list[DifferentiatedProgram] = []
    refused: list[str] = []

    def note(taken: _jax.Taken | Exception) -> None:  # and keeps nothing of it: it holds tracers of the cell
        if isinstance(taken, Exception):
            refused.append(str(taken).split("\n")[0])
        else:
            found.append(read_gradient(taken, cell.filename, line_of, label))

    with _jax.apart(), _jax.gradients_taken(note), redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        trace()
    if not found and not refused:
        raise JaxnbError(
            "no gradient is taken in the cell.",
            why="neither jax.grad nor what is built on it was called while it was traced.",
            fix="%jaxnb gradient loss wrt params takes that of a name that the last cell bound.",
        )
    # A trace that was given up and begun anew takes the same gradients again.
    return Gradients(tuple(dict.fromkeys(found)), tuple(dict.fromkeys(refused)))
