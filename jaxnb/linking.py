"""Links between the levels of a program: those of an op, and following them down or up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from jaxnb.program import Level, Link, Op, PlacedOp, Program

__all__ = ["follow", "placed_ops"]

Place = tuple[int, int]


def follow(program: Program, level: str, op: Place, to: str) -> dict[Place, bool]:
    """What an op is at another level, each with whether some way there has only exact links; see `Program.linked`.

    Raises:
      ValueError: if the program does not have both levels.
    """
    names = [made.name for made in program.levels]
    start, end = names.index(level), names.index(to)
    step = 1 if end >= start else -1
    reached: dict[Place, bool] = {op: True}
    for at in range(start, end, step):
        pair = (names[at], names[at + 1]) if step == 1 else (names[at - 1], names[at])
        further: dict[Place, bool] = {}
        for link in program.links:
            if (link.upper, link.lower) == pair:
                here, there = _ends(link, step)
                if here in reached:
                    further[there] = further.get(there, False) or (link.exact and reached[here])
        reached = further
    return dict(sorted(reached.items()))


def _ends(link: Link, step: int) -> tuple[Place, Place]:
    return (link.upper_op, link.lower_op) if step == 1 else (link.lower_op, link.upper_op)


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
