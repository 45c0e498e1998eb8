"""How the programs of a run are run: here and at once, unless a session is told otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.session.dispatch import dispatch
from jaxnb.staging.trace.piece import Piece

__all__ = ["HERE", "Strategy"]


class Strategy:
    """Runs the programs of a cell one after the other, in this process, without waiting for them."""

    def dispatch(
        self, piece: Piece, reached: Reached, arguments: Sequence[Any], donated_by: Callable[[Any], str | None]
    ) -> list[Any]:
        """Starts a program and returns its results; see `dispatch`."""
        return dispatch(piece, reached, arguments, donated_by)

    def end(self) -> None:
        """The cell has run, and nothing of it was undone so far. What this raises is the cell's error."""


HERE = Strategy()
