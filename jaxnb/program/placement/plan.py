"""A plan: what a program would be on a machine that is not there, from its partitioned and compiled form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from jaxnb.program import Program
from jaxnb.program.display import Displayed
from jaxnb.program.placement.data import Mesh
from jaxnb.program.placement.estimate import Estimate, estimate_program
from jaxnb.program.placement.hardware import Hardware, find_hardware
from jaxnb.program.placement.hiding import Hiding, hiding_in
from jaxnb.program.placement.ledger import Ledger, read_ledger
from jaxnb.program.placement.schedule import Schedule, read_schedule
from jaxnb.program.placement.targets import Target
from jaxnb.program.placement.timeline import Timeline, timeline_of

__all__ = ["Cycles", "Footprint", "LiveArray", "Padded", "Plan", "TargetPlan", "TargetPlans"]


@dataclass(frozen=True, slots=True)
class Footprint:
    """The memory that one device needs, in bytes.

    Attributes:
      inputs: of the program.
      results: of it, with those that take the place of inputs.
      shared: what inputs and results have in common, because inputs were donated.
      temporaries: at the most.
    """

    inputs: int
    results: int
    shared: int
    temporaries: int

    @property
    def total(self) -> int:
        """All that must fit at once."""
        return self.inputs + self.results - self.shared + self.temporaries

    @classmethod
    def of(cls, compiled: Any) -> Footprint:
        """That of a `jax.stages.Compiled`, or of what stands for one."""
        told: Any = compiled.memory_analysis()
        return cls(
            int(told.argument_size_in_bytes),
            int(told.output_size_in_bytes),
            int(told.alias_size_in_bytes),
            int(told.temp_size_in_bytes),
        )

    @classmethod
    def together(cls, parts: list[Footprint]) -> Footprint:
        """Of programs that run one after the other: that of the one that needs the most."""
        return max(parts, key=lambda part: part.total, default=cls(0, 0, 0, 0))


@dataclass(frozen=True, slots=True)
class Cycles:
    """How long a compiler says that a program takes, by the cycles that it estimates for each instruction.

    Attributes:
      total: of all instructions, each as often as it runs.
      counted: how many instructions it says something of.
      fusions: how many there are besides of which it says nothing, though they compute.
      endless: whether some are in a loop of which nobody knows how often it runs; those count once.
    """

    total: int
    counted: int
    fusions: int = 0
    endless: bool = False

    def seconds(self, clock: float) -> float:
        """At so many cycles a second."""
        return self.total / clock


@dataclass(frozen=True, slots=True)
class Padded:
    """An array that takes more memory than its elements do, because it lies in tiles.

    Attributes:
      name: of an input, or what JAX calls the operation that makes it.
      aval: as `float32[1000,3]`.
      nbytes: of its elements.
      padded: bytes that it takes.
      is_input: whether it is an input of the program.
    """

    name: str
    aval: str
    nbytes: int
    padded: int
    is_input: bool


@dataclass(frozen=True, slots=True)
class LiveArray:
    """An array that lives where a program needs the most memory of a device.

    Attributes:
      op: the name of the instruction that makes it.
      name: of an input, or what JAX calls the operation that makes it.
      aval: as `float32[1000,3]`.
      nbytes: of its elements.
      padded: bytes that it takes.
      is_input: whether it is an input of the program.
    """

    op: str
    name: str
    aval: str
    nbytes: int
    padded: int
    is_input: bool


@dataclass(frozen=True, repr=False)
class Plan(Displayed):
    """A program on a mesh, as it would be on each device. It shows itself as text and as HTML.

    Attributes:
      mesh: it was partitioned for.
      footprint: the memory that a device needs.
      make_program: gives the program, with its level "hlo" as it was partitioned.
      hardware: what the devices are; None for any.
      source: the text of the cell, for the lines in the ledger.
      seconds: that compiling took.
      target: whose compiler compiled it; None for that of the CPU.
      cycles: how long the compiler of the target says that it takes; None where it says nothing.
      padding: arrays of a device that take more than their elements do, the most wasteful first.
    """

    mesh: Mesh
    footprint: Footprint
    make_program: Callable[[], Program] = field(repr=False, compare=False)
    hardware: Hardware | None = None
    source: str = ""
    seconds: float = 0.0
    target: Target | None = None
    cycles: Cycles | None = None
    padding: tuple[Padded, ...] = ()

    @cached_property
    def program(self) -> Program:
        """What the program became. It is data that the codec writes, as that of every cell."""
        return self.make_program()

    @cached_property
    def ledger(self) -> Ledger:
        """Its collectives."""
        return read_ledger(self.program, self.mesh)

    @cached_property
    def hiding(self) -> tuple[Hiding, ...]:
        """What runs beside each of its collectives.

        Raises:
          JaxnbError: if no hardware was named.
        """
        return hiding_in(self._schedule, self.estimate())

    @cached_property
    def timeline(self) -> Timeline:
        """What a device computes and its links send, side by side.

        Raises:
          JaxnbError: if no hardware was named.
        """
        machine = f"a device of {self.target}" if self.target is not None else f"a {self.hardware}"
        return timeline_of(self._schedule, self.program, self.estimate(), machine=machine)

    @cached_property
    def _schedule(self) -> Schedule:
        return read_schedule(self.program.level("hlo"), self.estimate(), self.mesh)

    def estimate(self, hardware: str | Hardware | None = None) -> Estimate:
        """How long it would take.

        Args:
          hardware: what the devices are, by name or as an entry of the table; by default that of the plan.

        Raises:
          JaxnbError: if there is no such hardware, or none was named.
        """
        named = hardware or self.hardware or ""
        table = find_hardware(named)
        return estimate_program(self.program, table, self.mesh, ledger=self.ledger, widened=self.target is None)

    def on(self, hardware: str | Hardware) -> Plan:
        """The same plan on devices of another kind; nothing is compiled again.

        Raises:
          JaxnbError: if there is no such hardware.
        """
        return replace(self, make_program=lambda: self.program, hardware=find_hardware(hardware))

    @property
    def fits(self) -> bool | None:
        """Whether a device has memory enough; None where no hardware was named."""
        return None if self.hardware is None else self.footprint.total <= self.hardware.memory


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """A program on one of several targets.

    Attributes:
      name: of the target, as it was asked for.
      plan: what it would be there; None if the compiler refused it.
      refused: why, in a sentence.
    """

    name: str
    plan: Plan | None = None
    refused: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class TargetPlans(Displayed):
    """A program on several targets, in the order in which they were asked for. It shows itself as a table."""

    rows: tuple[TargetPlan, ...]
