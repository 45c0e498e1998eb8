"""In the turns of a loop: the call of a large compiled function, which is worth a program of its own.

What stands beside it in a turn, such as what adds up the losses and prints some of them, is another program as soon as
a number there is of another type, or a branch is taken. Were the call in the same program, XLA would compile the whole
step again for that, which the plain cell does once.
"""

from __future__ import annotations

from jaxnb import _jax
from jaxnb.staging.cells.cell import Statement
from jaxnb.staging.trace.piece import Piece

__all__ = ["large_call"]

LARGE_CALL = 300
"""Equations in a function from which on compiling it takes longer than one call more in each of a thousand turns."""

_MOST = 0.9
"""What of all equations is in it."""


def large_call(piece: Piece, statements: tuple[Statement, ...]) -> int | None:
    """The one of several statements that calls a function under `jax.jit` which holds nearly all of a piece.

    Args:
      piece: what was traced of them.
      statements: those of the piece.

    Returns:
      Its position among them, None if there is no such call, or nothing beside it.
    """
    if len(statements) < 2 or piece.reasons:
        return None
    sizes = _jax.EquationSizes()
    counts = [sizes.of(eqn) for eqn in piece.jaxpr.eqns]
    most = max(range(len(counts)), key=counts.__getitem__, default=-1)
    if most < 0 or counts[most] < LARGE_CALL or counts[most] < _MOST * sum(counts):
        return None
    if piece.jaxpr.eqns[most].primitive.name != "jit":
        return None
    codes = {code for code, _ in _jax.eqn_frames(piece.jaxpr.eqns[most])}
    found = [index for index, statement in enumerate(statements) if statement.code in codes]
    return found[0] if len(found) == 1 else None
