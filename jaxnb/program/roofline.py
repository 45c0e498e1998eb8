"""What a timed program does of what its device can: a roofline, whose roof was measured on that device.

An instruction takes at least what its flops take at the peak of its dtype, and what its bytes take at the bandwidth of
the memory, whichever is longer. That, over what it took, is achieved over attainable: flops a second over the smaller
of the peak and intensity times bandwidth. Both are added up over what a line or a call consists of, as it was compiled:
what a fusion keeps to itself is not read or written. Functions like exp are not among the flops.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxnb.program.amounts import Amount, Cost
from jaxnb.program.program import Program
from jaxnb.program.sharing import Shares, is_one_piece, share_upwards
from jaxnb.program.structure import Level, Op, Peaks, Place

__all__ = ["Roof", "Roofline", "read_roofline", "roof_of"]

_PRODUCTS = frozenset({"dot", "convolution"})


class Roof(NamedTuple):
    """How far below its roof something stays.

    Attributes:
      share: achieved over attainable; above 1 is what found its data in a cache.
      bound: what keeps it from being faster, "memory" or "flops".
    """

    share: float
    bound: str

    def __str__(self) -> str:
        """`81 % of what this device can, bound by memory`."""
        return f"{self.share * 100:.0f} % of what this device can, bound by {self.bound}"


class Roofline:
    """The roofs of the ops of a level, see `read_roofline`."""

    def __init__(self, level: Level, inside: frozenset[int], *amounts: Shares) -> None:
        self._level, self._inside = level, inside
        self._least, self._by_memory, self._unknown = amounts

    def of(self, places: Iterable[Place]) -> Roof | None:
        """That of some ops together; None where a time or a cost of one of them is not known."""
        seconds = least = by_memory = 0.0
        for place in places:
            if place[0] in self._inside:
                continue
            spent = self._level.computations[place[0]].ops[place[1]].seconds
            if spent is None or self._unknown.get(place):
                return None
            seconds += spent
            least += self._least.get(place, 0.0)
            by_memory += self._by_memory.get(place, 0.0)
        if not seconds or not least:
            return None
        return _roof(least, seconds, by_memory)

    def costs(self) -> dict[Place, Cost]:
        """Of each op the seconds that it takes at least, "attainable", and those of them that are for its bytes, "by
        memory": what `roof_of` needs of the sums of a call tree."""
        found: dict[Place, Cost] = {}
        for index, computation in enumerate(self._level.computations):
            for at, op in enumerate(computation.ops if index not in self._inside else ()):
                place = index, at
                if op.seconds is None or self._unknown.get(place):
                    found[place] = {"attainable": Amount(None, True)}
                elif least := self._least.get(place):
                    found[place] = {"attainable": Amount(least), "by memory": Amount(self._by_memory.get(place, 0.0))}
        return found


def roof_of(cost: Cost) -> Roof | None:
    """The roof of ops whose costs were added up, with those of `Roofline.costs`; None where nobody knows.

    >>> print(roof_of({"seconds": Amount(0.4), "attainable": Amount(0.3), "by memory": Amount(0.2)}))
    75 % of what this device can, bound by memory
    """
    (least, unknown), (seconds, _) = cost.get("attainable", Amount(None)), cost.get("seconds", Amount(None))
    if not least or unknown or not seconds:
        return None
    return _roof(least, seconds, cost.get("by memory", Amount(0.0)).number or 0.0)


def _roof(least: float, seconds: float, by_memory: float) -> Roof:
    return Roof(least / seconds, "memory" if by_memory * 2 >= least else "flops")


def read_roofline(program: Program, level: Level) -> Roofline | None:
    """How near the ops of a level come to what the device can; None where no peaks were known when it was timed."""
    peaks = program.timing.peaks if program.timing is not None else None
    if peaks is None or not any(op.seconds for op in level.ops()):
        return None
    try:
        hlo = program.level("hlo")
    except KeyError:
        return None
    least: Shares = {}
    by_memory: Shares = {}
    unknown: Shares = {}
    inside: set[int] = set()  # the bodies of what was timed as a whole
    seen = {index for index, made in enumerate(hlo.computations) for op in made.ops if op.seconds}
    for index, made in enumerate(hlo.computations):
        for at, op in enumerate(made.ops):
            if op.seconds:
                place = index, at
                parts = [op]
                if is_one_piece(hlo, op, seen):
                    parts += _inside(hlo, op, inside)
                found = _least(hlo, peaks, parts)
                unknown[place] = float(found is None)
                computing, moving = found or (0.0, 0.0)
                least[place] = max(computing, moving)
                by_memory[place] = moving if moving >= computing else 0.0
    shared = (share_upwards(program, amounts).get(level.name, {}) for amounts in (least, by_memory, unknown))
    return Roofline(level, frozenset(inside if level.name == "hlo" else ()), *shared)


def _inside(hlo: Level, op: Op, entered: set[int]) -> Iterator[Op]:
    for body in op.bodies:
        entered.add(body)
        for inner in hlo.computations[body].ops:
            yield inner
            yield from _inside(hlo, inner, entered)


def _least(hlo: Level, peaks: Peaks, parts: list[Op]) -> tuple[float, float] | None:
    """The seconds that an instruction needs for its flops and for its bytes at the peaks; None where nobody knows."""
    computing = moving = 0.0
    for op in parts:
        if op.flops is None or op.bytes is None or op.times is None:
            return None
        computing += op.flops / peaks.rate(_dtype(hlo, op)) if op.flops else 0.0
        moving += op.bytes / peaks.bandwidth
    return computing, moving


def _dtype(hlo: Level, op: Op) -> str:
    """The dtype that an instruction computes with: of a product that of what is multiplied."""
    values = op.inputs if op.name in _PRODUCTS and op.inputs else op.outputs
    aval = hlo.values[values[0]].aval if values else None
    return aval.dtype if aval is not None else ""
