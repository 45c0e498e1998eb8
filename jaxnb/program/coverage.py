"""How much of a program is linked from the line of the cell to the instruction: four shares."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jaxnb.program.program import Program
from jaxnb.program.structure import Level, Place

__all__ = ["Coverage", "read_coverage"]

# Instructions that do nothing: they name a part of a tuple, or put one together.
_NAMES_ONLY = frozenset({"get-tuple-element", "tuple"})


@dataclass(frozen=True, slots=True)
class Coverage:
    """Shares from 0 to 1; None where there is nothing to have a share in, or where the level was not made.

    Attributes:
      eqn_line: equations whose line is known.
      stablehlo_eqn: StableHLO operations that are linked to an equation.
      hlo_eqn: instructions of the entry computations that are linked to an equation.
      time_eqn: measured time that is known to belong to an equation; None until somebody measured, see `--time`.
    """

    eqn_line: float | None = None
    stablehlo_eqn: float | None = None
    hlo_eqn: float | None = None
    time_eqn: float | None = None

    def __str__(self) -> str:
        """`eqn→line 100 %, stablehlo→eqn 100 %, hlo→eqn 99.1 %, time→eqn –`."""
        shares = (
            ("eqn→line", self.eqn_line),
            ("stablehlo→eqn", self.stablehlo_eqn),
            ("hlo→eqn", self.hlo_eqn),
            ("time→eqn", self.time_eqn),
        )
        return ", ".join(f"{name} {_percent(share)}" for name, share in shares)


def read_coverage(program: Program) -> Coverage:
    """The shares of a program, from the levels that it has."""
    levels = {level.name: level for level in program.levels}
    lines = stablehlo = hlo = None
    if "jaxpr" in levels:
        lines = _share(op.span is not None for op in levels["jaxpr"].ops())
    linked: set[Place] = set()
    if "stablehlo" in levels:
        linked = {link.lower_op for link in program.links if (link.upper, link.lower) == ("jaxpr", "stablehlo")}
        stablehlo = _share(place in linked for place in _places(levels["stablehlo"]))
    if "hlo" in levels:
        further = {
            link.lower_op
            for link in program.links
            if (link.upper, link.lower) == ("stablehlo", "hlo") and link.upper_op in linked
        }
        level = levels["hlo"]
        entries = (
            (index, at)
            for index in range(level.entries)
            for at, op in enumerate(level.computations[index].ops)
            if op.name not in _NAMES_ONLY
        )
        # A program without equations hands constants on: there is nothing that its instructions could be linked to.
        hlo = _share(place in further for place in entries) if lines is not None else None
    return Coverage(lines, stablehlo, hlo, _time_share(program, levels.get("jaxpr")))


def _time_share(program: Program, jaxpr: Level | None) -> float | None:
    """Of what the runs took; a piece of which only the whole is known has no share."""
    seconds = [op.seconds for op in jaxpr.ops() if op.seconds is not None] if jaxpr is not None else []
    if program.timing is None or not program.timing.total or not seconds:
        return None
    return sum(seconds) / program.timing.total


def _places(level: Level) -> Iterable[Place]:
    return ((index, at) for index, made in enumerate(level.computations) for at in range(len(made.ops)))


def _share(found: Iterable[bool]) -> float | None:
    some = list(found)
    return sum(some) / len(some) if some else None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.4g} %"
