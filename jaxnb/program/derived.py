"""What ops cost beside their columns, as it follows from other levels: how near they come to their roof, and what they
send. A call tree adds it up with the columns."""

from __future__ import annotations

from typing import NamedTuple

import jaxnb.program as room
from jaxnb.program.amounts import Cost
from jaxnb.program.program import Program
from jaxnb.program.roofline import read_roofline
from jaxnb.program.structure import Level, Op, Place

__all__ = ["Derived", "read_derived"]


class Derived(NamedTuple):
    """What follows of the ops of a level.

    Attributes:
      of: by op.
      elsewhere: what is of no op of the level, each with the op of another level that says where it was made.
    """

    of: dict[Place, Cost]
    elsewhere: list[tuple[Op, Cost]]


def read_derived(program: Program, level: Level, *, make: bool = False) -> Derived:
    """What follows of the ops of a level: see `Roofline.costs` and `Traffic`.

    Args:
      program: whose level it is.
      level: whose ops.
      make: whether the level "hlo" is made for it, where the program is on a mesh; otherwise what was made is read.
    """
    roofs = read_roofline(program, level)
    found = {} if roofs is None else roofs.costs()
    traffic = room.traffic_of(program, level, make=make)
    if traffic is None:
        return Derived(found, [])
    for place, cost in traffic.of.items():
        found[place] = {**found.get(place, {}), **cost}
    return Derived(found, traffic.elsewhere)
