"""What to leave out of a listing that would be too long."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TypeVar

from jaxnb.program import Computation, Level, Op

__all__ = ["count_equations", "fold_depth", "share_out"]

K = TypeVar("K", bound=Hashable)


def count_equations(level: Level, op: Op) -> int:
    """The equations in the bodies of an op, and in theirs."""
    return sum(1 + count_equations(level, inner) for body in op.bodies for inner in level.computations[body].ops)


def fold_depth(level: Level, limit: int | None) -> int:
    """How many levels of bodies can be shown in so many rows; 0 folds every body, None limits nothing."""
    shown: list[Computation] = list(level.computations[: level.entries])
    rows = sum(len(computation.ops) for computation in shown)
    depth = 0
    while True:
        shown = [level.computations[body] for computation in shown for op in computation.ops for body in op.bodies]
        rows += sum(1 + len(computation.ops) for computation in shown)
        if not shown or (limit is not None and rows > limit):
            return depth
        depth += 1


def share_out(wanted: Mapping[K, int], limit: int | None) -> dict[K, int]:
    """Divides `limit` evenly; who needs less leaves the rest to the others, and everyone gets at least one.

    >>> share_out({"a": 2, "b": 9, "c": 9}, 10)
    {'a': 2, 'b': 4, 'c': 4}
    """
    if limit is None:
        return dict(wanted)
    shares: dict[K, int] = {}
    left = limit
    for done, (key, number) in enumerate(sorted(wanted.items(), key=lambda item: item[1])):
        shares[key] = min(number, max(1, left // (len(wanted) - done)))
        left -= shares[key]
    return shares
