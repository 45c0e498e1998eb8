"""What follows from the levels of a program beside its columns, as plain data for a viewer: how near to their roof its
ops come, of those that were timed, and what they send to other devices."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from jaxnb.program import Amount, Cost, Level, Place, Program, read_derived, roof_of

__all__ = ["encode_derived"]


def encode_derived(program: Program, levels: Collection[str] | None = None) -> list[dict[str, Any]]:
    """What follows from levels, op by op; `$defs/derived` of the format says what is in one.

    Args:
      program: no level of it is made for this.
      levels: which levels; by default all that were made.
    """
    made = [level for level in program.levels if levels is None or level.name in levels]
    return [found for level in made for found in _columns(level, read_derived(program, level).of)]


def _columns(level: Level, costs: Mapping[Place, Cost]) -> Iterator[dict[str, Any]]:
    if any("attainable" in cost for cost in costs.values()):
        yield from _roofs(level, costs)
    if any("sent" in cost for cost in costs.values()):
        sent = [costs.get(place, {}).get("sent", Amount(0)) for place, _ in level.placed()]
        yield {"level": level.name, "column": "sent", "of": [int(amount.number or 0) for amount in sent]}


def _roofs(level: Level, costs: Mapping[Place, Cost]) -> Iterator[dict[str, Any]]:
    shares: list[float] = []
    by_memory: list[int] = []
    for place, op in level.placed():
        cost = costs.get(place, {})
        roof = roof_of({**cost, "seconds": Amount(op.seconds)})
        if roof is not None and roof.bound == "memory":
            by_memory.append(len(shares))
        shares.append(float(f"{roof.share:.4g}") if roof is not None else -1 if "attainable" in cost else 0)
    if any(share > 0 for share in shares):
        yield {"level": level.name, "column": "roof", "of": shares, "by_memory": by_memory}
