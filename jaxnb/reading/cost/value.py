"""The cost of something, and its arithmetic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Cost", "sum_costs"]


@dataclass(frozen=True, slots=True)
class Cost:
    """What an equation, a line or a program costs.

    Attributes:
      flops: additions, multiplications, comparisons and the like, of integers and booleans too.
      bytes: read and written, operands and results of every operation once each.
      transcendentals: values of exp, log, tanh and the like, which `flops` does not hold.
      trips: how often the loops around it run it, in all; None where a `while` is among them, whose body is counted
        once because nobody knows how often it will run. A sum has the most of its parts, None if a part has None.
      unknown: the names of primitives that nobody has a rule for; what they cost is not in the numbers.

    >>> Cost(flops=2, bytes=8) + Cost(flops=1, bytes=4) * 10
    Cost(flops=12, bytes=48, transcendentals=0, trips=10, unknown=frozenset())
    """

    flops: int = 0
    bytes: int = 0
    transcendentals: int = 0
    trips: int | None = 1
    unknown: frozenset[str] = frozenset()

    def __add__(self, other: Cost) -> Cost:
        return sum_costs((self, other))

    def __mul__(self, times: int) -> Cost:
        """The cost of doing it `times` times; what is unknown is so however often it runs, unless that is never."""
        return Cost(
            self.flops * times,
            self.bytes * times,
            self.transcendentals * times,
            None if self.trips is None and times else (self.trips or 0) * times,
            self.unknown if times else frozenset(),
        )

    __rmul__ = __mul__

    @property
    def exact(self) -> bool:
        """Whether everything was counted: no primitive is unknown, and every loop says how often it runs."""
        return not self.unknown and self.trips is not None


def sum_costs(costs: Iterable[Cost]) -> Cost:
    """The sum of any number of costs.

    >>> sum_costs([Cost(1), Cost(2, unknown=frozenset({"eigh"}))])
    Cost(flops=3, bytes=0, transcendentals=0, trips=1, unknown=frozenset({'eigh'}))
    """
    flops = moved = transcendentals = 0
    trips: int | None = None
    known, some = True, False
    unknown: frozenset[str] = frozenset()
    for cost in costs:
        flops += cost.flops
        moved += cost.bytes
        transcendentals += cost.transcendentals
        if cost.trips is None:
            known = False
        elif not some or cost.trips > (trips or 0):
            trips = cost.trips
        some = True
        if cost.unknown:
            unknown |= cost.unknown
    return Cost(flops, moved, transcendentals, (trips if some else 1) if known else None, unknown)
