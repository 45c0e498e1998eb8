"""Ways to lay named axes on a mesh: what each would cost, and which are the best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jaxnb.errors import JaxnbError
from jaxnb.program.display import Displayed, render
from jaxnb.program.placement.hardware import Hardware
from jaxnb.program.placement.plan import Plan

__all__ = ["Candidate", "Resources", "Search", "resources_text"]

Resources = Mapping[str, tuple[str, ...]]
"""For each name that lies on any mesh axes, which ones."""


@dataclass(frozen=True)
class Candidate:
    """One way to lay the names on the mesh.

    Attributes:
      resources: for each name that lies on mesh axes, which ones.
      plan: what the program is then.
      seconds: that it is estimated to take if nothing overlaps.
    """

    resources: Resources
    plan: Plan = field(repr=False)
    seconds: float

    @property
    def memory(self) -> int:
        """Bytes that a device needs."""
        return self.plan.footprint.total

    @property
    def is_compiled(self) -> bool:
        """Whether the compiler of a target compiled it, and not that of the CPU, which partitions all of them."""
        return self.plan.target is not None

    @property
    def order(self) -> tuple[Any, ...]:
        """By which candidates are ranked: what a target's compiler compiled, of these what fits, the time to three
        digits, the memory, what is sent, the text."""
        rounded = float(f"{self.seconds:.2e}")
        return (
            not self.is_compiled,
            not self.plan.fits,
            rounded,
            self.memory,
            self.plan.ledger.total,
            resources_text(self.resources),
        )

    def __str__(self) -> str:
        return resources_text(self.resources)


@dataclass(frozen=True, repr=False)
class Search(Displayed):
    """What a search found. It shows itself as a table, the best first; in a notebook with a picture of the front.

    Attributes:
      candidates: those that were partitioned, the best first.
      hardware: for which they were ranked.
      refused: those that the program itself does not allow, and those that broke the compiler, each with the reason.
      broken: how many of them broke the compiler, as where memory runs out on this machine.
      too_large: how many were left out because their inputs and results alone do not fit on a device.
      skipped: how many were not tried, because there were too many.
      make_mapped: maps the function with given resources; None for a cell.
      target: whose compiler compiled the last few; "" where none did.
    """

    candidates: tuple[Candidate, ...]
    hardware: Hardware
    refused: tuple[tuple[Resources, str], ...] = ()
    too_large: int = 0
    skipped: int = 0
    broken: int = 0
    make_mapped: Callable[[Resources], Any] | None = field(default=None, repr=False, compare=False)
    target: str = ""

    @property
    def best(self) -> Candidate:
        """The one to take.

        Raises:
          JaxnbError: if there is none.
        """
        if not self.candidates:
            raise JaxnbError("no way to lay the names on the mesh is possible.", why=self._why())
        return self.candidates[0]

    @property
    def resources(self) -> dict[str, Any]:
        """Those of the best, as `xmap` takes them."""
        return dict(self.best.resources)

    @property
    def mapped(self) -> Any:
        """The function, mapped with the best resources."""
        if self.make_mapped is None:
            raise JaxnbError("a cell is no function.", fix="its results are bound, where the mesh is there.")
        return self.make_mapped(self.best.resources)

    @cached_property
    def pareto(self) -> tuple[Candidate, ...]:
        """Those that no other one beats in both time and memory, the fastest first."""
        found: list[Candidate] = []
        for candidate in sorted(self.candidates, key=lambda item: (item.seconds, item.memory)):
            if not found or candidate.memory < found[-1].memory:
                found.append(candidate)
        return tuple(found)

    def _why(self) -> str:
        parts = [f"{self.too_large} need more memory than a device has"] if self.too_large else []
        parts += [f"{resources_text(resources)}: {why}" for resources, why in self.refused[:3]]
        return "; ".join(parts) or "there are no names, or no mesh axes."

    @property
    def svg(self) -> str:
        """The ways by time and memory as an SVG file; "" where none is possible."""
        return str(render(self, "svg"))


def resources_text(resources: Resources) -> str:
    """As `--resources` takes it: `batch=x, hidden=(x, y)`; "nothing is split" for none.

    >>> resources_text({"batch": ("x",), "hidden": ("x", "y")})
    'batch=x, hidden=(x, y)'
    """
    told = [f"{name}={some[0] if len(some) == 1 else '(' + ', '.join(some) + ')'}" for name, some in resources.items()]
    return ", ".join(told) or "nothing is split"
