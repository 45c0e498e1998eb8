"""What runs beside the collectives of a program, and for which of them the device waits.

Times are those of the schedule, in which collectives that take the same link go over it one after the other. Nothing
that takes long outside of it is in it: what a device waits for is at least so long.
"""

from __future__ import annotations

from dataclasses import dataclass

from jaxnb.program import Level
from jaxnb.program.placement.data import Mesh
from jaxnb.program.placement.estimate import Estimate
from jaxnb.program.placement.ledger import Collective
from jaxnb.program.placement.schedule import Schedule, read_schedule

__all__ = ["Hiding", "hiding_in", "read_hiding"]


@dataclass(frozen=True, slots=True)
class Hiding:
    """A collective, and what there is to do meanwhile.

    Attributes:
      collective: which one.
      seconds: that it takes by the estimate, in all its runs; None where that is not known.
      open: seconds of these for which the device waits, as nothing runs beside it.
      begun: whether it is begun and ended by instructions of their own.
    """

    collective: Collective
    seconds: float | None
    open: float
    begun: bool

    @property
    def hidden(self) -> float:
        """Seconds for which the device has something else to do."""
        return max(0.0, (self.seconds or 0.0) - self.open)


def read_hiding(level: Level, estimate: Estimate, mesh: Mesh | None = None) -> tuple[Hiding, ...]:
    """What runs beside each collective of an estimate, in its order.

    Args:
      level: "hlo", in the order in which it is run.
      estimate: of the same program.
      mesh: for which it was compiled, whose axes are links of their own on a TPU.
    """
    return hiding_in(read_schedule(level, estimate, mesh), estimate)


def hiding_in(schedule: Schedule, estimate: Estimate) -> tuple[Hiding, ...]:
    """The same of a schedule that was read."""
    sent = {one.sending: one for one in schedule.sent}
    found: list[Hiding] = []
    for number, sending in enumerate(estimate.sendings):
        one = sent.get(number)  # what runs nowhere is waited for as long as it takes, if it ever does
        known = (sending.seconds or 0.0, False) if one is None else (one.open, one.begun)
        found.append(Hiding(sending.collective, sending.seconds, *known))
    return tuple(found)
