"""Links between the levels of a program: those of an op, and following them down or up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Any

from jaxnb.program.program import Program
from jaxnb.program.structure import Level, Link, Op, PlacedOp

__all__ = ["LinkIndex", "follow", "placed_ops"]

Place = tuple[int, int]


Step = tuple[str, str, Place]
"""From a level, to a neighbour of it, and the op to begin with."""


class LinkIndex:
    """The links of a program by where they begin, downwards and upwards.

    Attributes:
      links: those that were given.
    """

    __slots__ = ("_ends", "links")

    def __init__(self, links: tuple[Link, ...]) -> None:
        self.links = links
        self._ends: dict[Step, list[tuple[Place, bool]]] = {}
        for link in links:
            self._ends.setdefault((link.upper, link.lower, link.upper_op), []).append((link.lower_op, link.exact))
            self._ends.setdefault((link.lower, link.upper, link.lower_op), []).append((link.upper_op, link.exact))

    def ends(self, level: str, neighbour: str, op: Place) -> Sequence[tuple[Place, bool]]:
        """What an op is linked to at a neighbouring level, each with whether the link is exact."""
        return self._ends.get((level, neighbour, op), ())


def follow(names: Sequence[str], index: LinkIndex, level: str, op: Place, to: str) -> dict[Place, bool]:
    """What an op is at another level, each with whether some way there has only exact links; see `Program.linked`.

    Args:
      names: of the levels, from the top down.
      index: of the links between them.
      level: where the op stands.
      op: as (computation, op).
      to: the other level.

    Raises:
      ValueError: if one of both levels is not among them.
    """
    start, end = names.index(level), names.index(to)
    step = 1 if end >= start else -1
    reached: dict[Place, bool] = {op: True}
    for at in range(start, end, step):
        further: dict[Place, bool] = {}
        for here, exactly in reached.items():
            for there, exact in index.ends(names[at], names[at + step], here):
                further[there] = further.get(there, False) or (exact and exactly)
        reached = further
    return dict(sorted(reached.items()))


_FIELDS = tuple(field.name for field in fields(Op))


def placed_ops(program: Program, level: Level) -> Iterator[PlacedOp]:
    """Every op of a level of a program with its place and its links, see `Program.ops`."""
    links: dict[Place, list[Link]] = {}
    for link in program.links:
        if link.upper == level.name:
            links.setdefault(link.upper_op, []).append(link)
        if link.lower == level.name:
            links.setdefault(link.lower_op, []).append(link)
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            own: dict[str, Any] = {name: getattr(op, name) for name in _FIELDS}
            yield PlacedOp(**own, place=(index, at), links=tuple(links.get((index, at), ())))
