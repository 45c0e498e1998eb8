"""What a cell is lowered to on several platforms, none of which need be here, equation by equation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jaxnb.program.display import Displayed
from jaxnb.program.program import Program
from jaxnb.program.structure import Level, Op, Place

__all__ = ["LoweredEquation", "LoweredFor", "Platforms", "Refusal"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An equation that cannot be lowered for a platform.

    Attributes:
      platform: which one.
      primitive: of the equation.
      line: of the cell; None for what no line of it made.
      place: of the equation in the level "jaxpr"; None where that is not known.
      why: what the rule of the primitive said; "" where there is no rule.
      absent: whether the rule only asked for a device of the platform, as that of a callback does: it can be lowered
        where there is one.
    """

    platform: str
    primitive: str
    line: int | None = None
    place: Place | None = None
    why: str = ""
    absent: bool = False

    @property
    def short(self) -> str:
        """Why, in a few words."""
        return "needs a device there" if self.absent else self.why or "no rule"


@dataclass(frozen=True, slots=True)
class LoweredFor:
    """A program that was lowered for one platform.

    Attributes:
      platform: as JAX calls it: "tpu", "cuda", "rocm", "cpu".
      program: with the levels "source", "jaxpr" and the "stablehlo" of that platform, and the links between them; it
        shows itself like any other. What could not be lowered calls something whose name says so.
      refused: the equations that could not be lowered.
      why: why there is no level "stablehlo", or "".
    """

    platform: str
    program: Program
    refused: tuple[Refusal, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class LoweredEquation:
    """One equation on all platforms.

    Attributes:
      place: in the level "jaxpr".
      op: the equation.
      lowered: for each platform its operations, as they stand; None where it was refused, or nothing was lowered.
      refused: for each platform why it was refused, "" where it was not.
    """

    place: Place
    op: Op
    lowered: tuple[tuple[str, ...] | None, ...]
    refused: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether it is not the same on all platforms."""
        return any(self.refused) or len({*self.lowered} - {None}) > 1


@dataclass(frozen=True, slots=True)
class Platforms(Displayed):
    """A program as it is lowered for several platforms; it shows itself as a table of the equations that differ.

    Attributes:
      lowered: for each platform, in the order that was asked for.
    """

    lowered: tuple[LoweredFor, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The platforms."""
        return tuple(one.platform for one in self.lowered)

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """All equations that could not be lowered."""
        return tuple(refusal for one in self.lowered for refusal in one.refused)

    def on(self, platform: str) -> Program:
        """The program as it is lowered for a platform.

        Raises:
          KeyError: if it was not lowered for that.
        """
        for one in self.lowered:
            if one.platform == platform:
                return one.program
        raise KeyError(f"it was not lowered for {platform!r}; lowered for: {', '.join(self.names)}")

    def equations(self) -> Iterator[LoweredEquation]:
        """Every equation of the program, in the order of the level "jaxpr"."""
        found = [_operations(one) for one in self.lowered]
        why = [{one.place: one.short for one in some.refused} for some in self.lowered]
        for place, op in self.lowered[0].program.level("jaxpr").placed():
            reasons = tuple(said.get(place, "") for said in why)
            lowered = tuple(
                None if ops is None or reason else ops.get(place, ())
                for ops, reason in zip(found, reasons, strict=True)
            )
            yield LoweredEquation(place, op, lowered, reasons)


def _operations(one: LoweredFor) -> dict[Place, tuple[str, ...]] | None:
    """The operations of each equation, in their order; None if nothing was lowered."""
    if one.why:
        return None
    level = one.program.level("stablehlo")
    places: dict[Place, list[Place]] = {}
    for link in one.program.links:
        if link.lower == "stablehlo":
            places.setdefault(link.upper_op, []).append(link.lower_op)
    return {
        place: tuple(_text(level, level.computations[computation].ops[at]) for computation, at in sorted(ops))
        for place, ops in places.items()
    }


def _text(level: Level, op: Op) -> str:
    """An operation without the names of what it reads: `add f32[3]`, `custom_call Sharding f32[3] ...`."""
    attributes = dict(op.attributes)
    target = attributes.pop("call_target_name", "")
    types = ", ".join(str(aval) for index in op.outputs if (aval := level.values[index].aval) is not None)
    rest = " ".join(f"{name}={text}" for name, text in attributes.items())
    return " ".join(filter(None, (op.name, target, types, rest)))
