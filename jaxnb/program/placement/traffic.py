"""What a program sends, op by op: the collectives of its ledger, each with the equations or the instruction of it.

An instruction sends what its collective sends. So does the one equation that a collective comes from; of several, as
XLA merges them, each sends a part by the bytes of its results, and what the user wrote as collectives sends all of it.
What comes from no equation is of the line and the call that the instruction names. So every byte has one home, and the
sums of a call tree are those of the ledger.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxnb.program import Amount, Cost, Level, Op, Place, Program
from jaxnb.program.placement.ledger import WRITTEN, Collective, Ledger, count_traffic

__all__ = ["Traffic", "read_traffic", "traffic_of"]


class Traffic:
    """What ops send to other devices.

    Attributes:
      of: by op of a level, under "sent".
      elsewhere: of what has no op in that level, with the instruction that sends it.
    """

    __slots__ = ("elsewhere", "of")

    def __init__(self) -> None:
        self.of: dict[Place, Cost] = {}
        self.elsewhere: list[tuple[Op, Cost]] = []

    def add(self, place: Place, sent: int, least: bool) -> None:
        before = self.of[place]["sent"] if place in self.of else Amount(0)
        self.of[place] = {"sent": Amount((before.number or 0) + sent, before.least or least)}


def traffic_of(program: Program, level: Level, *, make: bool = False) -> Traffic | None:
    """What the ops of a level of a program send; None where nothing is sent, or it is not known.

    Args:
      program: whose level it is.
      level: whose ops.
      make: whether the level "hlo" is made for it, where the program is on a mesh.
    """
    hlo = _made(program)
    if hlo is not None and not count_traffic(hlo, 1)[0]:
        return None
    if hlo is None and (known := program.layout().collectives) is not None:
        return read_traffic(Ledger(known), level, None) if known else None
    meshes = program.layout().meshes if hlo is None and make and "hlo" in program.level_names else ()
    if hlo is None and not any(mesh.size > 1 for mesh in meshes):
        return None
    ledger = program.collectives()
    hlo = _made(program)
    return read_traffic(ledger, level, hlo) if ledger.items else None


def _made(program: Program) -> Level | None:
    return next((level for level in program.levels if level.name == "hlo"), None)


def read_traffic(ledger: Ledger, level: Level, hlo: Level | None) -> Traffic:
    """What the ops of a level send in all runs.

    Args:
      ledger: the collectives.
      level: "jaxpr" or "hlo"; others know nothing of it.
      hlo: the instructions that they are; None where these were not saved.
    """
    found = Traffic()
    for item in ledger.items:
        sent, least = item.total or 0, item.total is None or item.times is None
        places = [item.op] if level.name == "hlo" else _senders(level, item) if level.name == "jaxpr" else []
        for place, part in zip(places, _parts(level, places, sent), strict=True):
            found.add(place, part, least)
        if not places:
            instruction = hlo.computations[item.op[0]].ops[item.op[1]] if hlo is not None else Op(item.kind)
            found.elsewhere.append((instruction, {"sent": Amount(sent, least)}))
    return found


def _senders(level: Level, item: Collective) -> list[Place]:
    """The equations that a collective is of: those that the user wrote as one, if there are any."""
    written = [place for place in item.places if level.computations[place[0]].ops[place[1]].name in WRITTEN]
    return written or list(item.places)


def _parts(level: Level, places: Sequence[Place], sent: int) -> list[int]:
    """The bytes of each of these ops, by those of their results; all together are what is sent."""
    ops = [level.computations[computation].ops[at] for computation, at in places]
    avals = [[level.values[value].aval for value in op.outputs] for op in ops]
    weights = [sum((aval.nbytes or 0) for aval in row if aval is not None) for row in avals]
    if not sum(weights):
        weights = [1] * len(ops)
    ends = [sent * sum(weights[: at + 1]) // sum(weights) for at in range(len(weights))]
    return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
