"""What a gradient would take if its forward pass kept less, or more, for its backward pass: a table of policies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jaxnb.errors import JaxnbError
from jaxnb.program.display import Displayed
from jaxnb.program.structure import Finding, Fix

__all__ = ["RematPolicies", "RematPolicy"]

_WORTH = 0.98  # of the peak as it is


@dataclass(frozen=True, slots=True)
class RematPolicy:
    """A gradient under one policy, compiled.

    Attributes:
      name: "as it is", "nothing", "dots", "dots without batch", "everything", "offload", names, "each layer", ...
      peak: bytes that a run needs on a device, inputs and results included; None where the backend does not say.
      kept: bytes that the forward pass computes and keeps for the backward pass, as the program is written.
      again: floating-point operations more than as it is: those of what is computed again.
      flops: all of them; None where a primitive is unknown.
      seconds: of a run, where it was measured.
      why: why it cannot be had, as a sentence; "" where it can.
      fix: the edit or the options of the magic line that give it; None for what is as it is.
    """

    name: str
    peak: int | None = None
    kept: int = 0
    again: int | None = 0
    flops: int | None = None
    seconds: float | None = None
    why: str = ""
    fix: Fix | None = None


@dataclass(frozen=True)
class RematPolicies(Displayed):
    """The policies that were tried on a gradient. It shows itself as a table, and names the best with what to write.

    Attributes:
      of: what is differentiated, in words.
      policies: what was tried; the first is the cell as it is.
      findings: what there is to say besides, such as of rules that run twice.
      source: the cell as displayed, in which edits are.
    """

    of: str
    policies: tuple[RematPolicy, ...]
    findings: tuple[Finding, ...] = ()
    source: str = ""

    @property
    def now(self) -> RematPolicy:
        """The cell as it is."""
        return self.policies[0]

    @property
    def possible(self) -> tuple[RematPolicy, ...]:
        """Those that can be had."""
        return tuple(one for one in self.policies if not one.why and one.peak is not None)

    @cached_property
    def front(self) -> tuple[RematPolicy, ...]:
        """Those that no other one beats in both memory and time, or flops where no time was measured; the one that
        needs the least memory comes last."""
        found: list[RematPolicy] = []
        for one in sorted(self.possible, key=lambda one: (_price(one), one.peak or 0)):
            if not found or (one.peak or 0) < (found[-1].peak or 0):
                found.append(one)
        return tuple(found)

    @property
    def saving(self) -> RematPolicy | None:
        """The one that needs the least memory; None if none needs 2 % less than the cell as it is."""
        last = self.front[-1] if self.front else self.now
        if last.peak is None or self.now.peak is None or last.peak > _WORTH * self.now.peak:
            return None
        return last

    @property
    def best(self) -> RematPolicy:
        """The same.

        Raises:
          JaxnbError: if there is none.
        """
        if self.saving is None:
            raise JaxnbError(
                f"no policy needs less memory than {self.of} as it is.",
                why="what the backward pass needs is not what the peak consists of.",
            )
        return self.saving


def _price(one: RematPolicy) -> float:
    return one.seconds if one.seconds is not None else float(one.flops or 0)
