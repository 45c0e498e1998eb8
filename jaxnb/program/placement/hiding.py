"""What runs beside the collectives of a program: from where each begins to where it ends, and which nothing hides.

A collective that is begun and ended by instructions of their own lets the device compute in between; a TPU does the
same by fusions that begin one, carry it on beside products, and end it. All others hold the device up for as long as
they take. Times are those of an estimate, and several collectives that run at once share what runs beside them, so that
more is called hidden than can be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jaxnb.program import Level, Op, Place
from jaxnb.program.placement.estimate import Estimate
from jaxnb.program.placement.ledger import CONTINUES, Collective

__all__ = ["Hiding", "read_hiding"]

_ENDS = "AsyncCollectiveDone"


@dataclass(frozen=True, slots=True)
class Hiding:
    """A collective, and what there is to do meanwhile.

    Attributes:
      collective: which one.
      seconds: that it takes by the estimate, in all its runs; None where that is not known.
      beside: seconds that the instructions take which run from its beginning to its end; 0 for one that is waited for.
      begun: whether it is begun and ended by instructions of their own.
    """

    collective: Collective
    seconds: float | None
    beside: float
    begun: bool

    @property
    def open(self) -> float:
        """Seconds for which nothing runs beside it."""
        return max(0.0, (self.seconds or 0.0) - self.beside)


def read_hiding(level: Level, estimate: Estimate) -> tuple[Hiding, ...]:
    """What runs beside each collective of an estimate, in its order.

    Args:
      level: "hlo", in the order in which it is run.
      estimate: of the same program.
    """
    owners: dict[int, Place] = {
        body: (at, index)
        for at, computation in enumerate(level.computations)
        for index, op in enumerate(computation.ops)
        for body in op.bodies
    }
    spent: dict[Place, float] = {}
    for step in estimate.steps:
        spent[step.op] = spent.get(step.op, 0.0) + step.seconds
    found: list[Hiding] = []
    for sending in estimate.sendings:
        span = _span(level, owners, sending.collective.op)
        beside = sum(_seconds(level, spent, place) for place in span or ())
        found.append(Hiding(sending.collective, sending.seconds, beside, span is not None))
    return tuple(found)


def _span(level: Level, owners: Mapping[int, Place], place: Place) -> list[Place] | None:
    """The instructions from the beginning of a collective to its end; None for one that is waited for."""
    op, owner = _op(level, place), owners.get(place[0])
    end: Place | None = None
    if op.name.endswith("-start"):
        end = _end(level, place)
    elif owner is not None and _op(level, owner).name == "async-start":
        place, end = owner, _end(level, owner)
    elif owner is not None and _op(level, owner).name == "fusion":
        name = level.values[op.outputs[0]].name
        place, end = owner, _last_part(level, owner, name)
    if end is None:
        return None
    return [(place[0], index) for index in range(place[1] + 1, end[1])]


def _end(level: Level, start: Place) -> Place | None:
    """Where what was begun ends: an instruction of the same computation that takes it."""
    made = set(_op(level, start).outputs)
    for index, op in enumerate(level.computations[start[0]].ops[start[1] + 1 :], start[1] + 1):
        if made & set(op.inputs):
            if op.name.endswith("-done"):
                return start[0], index
            made |= set(op.outputs)  # it goes on in another form: `async-update`, a part of a tuple
    return None


def _last_part(level: Level, begun: Place, name: str) -> Place | None:
    """The fusion of the same computation that ends a collective of this name."""
    for index, op in enumerate(level.computations[begun[0]].ops):
        inside = [inner for body in op.bodies for inner in level.computations[body].ops]
        if any((CONTINUES, name) in inner.attributes for inner in inside) and any(
            ("target", _ENDS) in inner.attributes for inner in inside
        ):
            return begun[0], index
    return None


def _seconds(level: Level, spent: Mapping[Place, float], place: Place) -> float:
    """What an instruction takes, with the loops that it is."""
    op = _op(level, place)
    inner = ((body, index) for body in op.bodies for index in range(len(level.computations[body].ops)))
    if op.name == "fusion":
        return spent.get(place, 0.0)
    return spent.get(place, 0.0) + sum(_seconds(level, spent, one) for one in inner)


def _op(level: Level, place: Place) -> Op:
    return level.computations[place[0]].ops[place[1]]
