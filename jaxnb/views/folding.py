"""What to leave out of a listing that would be too long."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TypeAlias, TypeVar

from jaxnb.program import Computation, Level, Op

__all__ = ["Fold", "Folding", "fold_depth", "share_out"]

K = TypeVar("K", bound=Hashable)

Fold: TypeAlias = "int | Collection[str] | None"
"""How many levels of bodies are shown, 0 folding all of them; or the names of the computations to fold, all others
being shown; or None, which shows as many as there is room for."""


class Folding:
    """Which bodies are folded into their op, and how many ops that hides.

    Args:
      level: to be shown.
      fold: what was asked for.
      limit: about how many rows there is room for, None for any number.
      roots: the computations that are shown in any case; by default the entry points.
    """

    def __init__(self, level: Level, fold: Fold, limit: int | None, roots: Collection[int] | None = None) -> None:
        self._level = level
        self._names: Collection[str] = ()
        self._counts: dict[int, int] = {}
        if isinstance(fold, int):
            self._depth = fold
        elif fold is None:
            self._depth = fold_depth(level, limit, roots)
        else:
            self._names = (fold,) if isinstance(fold, str) else fold
            self._depth = len(level.computations)

    def hidden(self, op: Op, depth: int) -> int:
        """How many ops are not shown of an op that stands so deep; 0 if its bodies are shown or it has none."""
        if not op.bodies:
            return 0
        named = any(self._level.computations[body].name in self._names for body in op.bodies)
        if depth < self._depth and not named:
            return 0
        return self.count(op)

    def count(self, op: Op) -> int:
        """The ops in the bodies of an op, and in theirs."""
        return sum(map(self._count, op.bodies))

    def _count(self, body: int) -> int:
        if body not in self._counts:
            ops = self._level.computations[body].ops
            self._counts[body] = len(ops) + sum(self.count(op) for op in ops if op.bodies)
        return self._counts[body]


def fold_depth(level: Level, limit: int | None, roots: Collection[int] | None = None) -> int:
    """How many levels of bodies can be shown in so many rows; 0 folds every body, None limits nothing."""
    roots = range(level.entries) if roots is None else roots
    shown: list[Computation] = [level.computations[root] for root in roots]
    rows = sum(len(computation.ops) for computation in shown)
    depth = 0
    while True:
        if limit is not None and rows > limit:
            return max(0, depth - 1)
        shown = [level.computations[body] for computation in shown for op in computation.ops for body in op.bodies]
        if not shown:
            return depth
        rows += sum(1 + len(computation.ops) for computation in shown)
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
