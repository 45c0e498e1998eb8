"""What follows from the levels of a program beside its columns, as plain data for a viewer: how near to their roof its ops
come, of those that were timed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jaxnb.program import Amount, Cost, Level, Place, Program, read_roofline, roof_of

__all__ = ["derived_costs", "encode_derived"]


def derived_costs(program: Program, level: Level) -> dict[Place, Cost]:
    """What ops of a level cost beside their columns, for the sums of its call tree; no level is made for this."""
    roofs = read_roofline(program, level)
    return {} if roofs is None else roofs.costs()


def encode_derived(program: Program, levels: Collection[str] | None = None) -> list[dict[str, Any]]:
    """What follows from levels, op by op; `$defs/derived` of the format says what is in one.

    Args:
      program: no level of it is made for this.
      levels: which levels; by default all that were made.
    """
    made = [level for level in program.levels if levels is None or level.name in levels]
    return [found for level in made if (found := _roofs(level, derived_costs(program, level))) is not None]


def _roofs(level: Level, costs: Mapping[Place, Cost]) -> dict[str, Any] | None:
    shares: list[float] = []
    by_memory: list[int] = []
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            cost = costs.get((index, at), {})
            attainable = cost.get("attainable")
            roof = roof_of({**cost, "seconds": Amount(op.seconds)}) if attainable is not None else None
            if roof is not None and roof.bound == "memory":
                by_memory.append(len(shares))
            shares.append(float(f"{roof.share:.4g}") if roof is not None else -1 if attainable is not None else 0)
    if not any(share > 0 for share in shares):
        return None
    return {"level": level.name, "column": "roof", "of": shares, "by_memory": by_memory}
