"""What was measured of each piece of a cell, and how it is shared out among instructions, equations and statements.

What a program takes is measured without a profiler, and what its instructions take under one, which slows small ones
down. So only the shares are taken from the profile: an instruction has the part of the total that it has of all
moments of the profile in which some instruction ran. What lies between instructions is shared out with them.

Of instructions that run at the same time on several threads or devices, each has an equal part of that time, so that
all of them together took what the clock says, not the sum over threads. A loop, a branch or a call has what its bodies
leave it.

What instructions took is shared out among equations and statements by [their work](../../program/sharing.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxnb.program import (
    CONTROL,
    Level,
    Peaks,
    Place,
    Program,
    Shares,
    Timing,
    bodies_below,
    share_upwards,
    timed_computations,
)

__all__ = ["Measured", "summarize", "with_times"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of one piece, in seconds.

    Attributes:
      total: the median of runs without a profiler; None if there were none.
      best: the shortest of them.
      spread: half of the distance between their quartiles.
      runs: how many there were.
      profiled: one run under the profiler; None if there was none.
      running: how long these instructions, and no others, were running during such a run.
      why: what could not be measured, and why, as a sentence; "" if all was.
      peaks: of the one device that it ran on; None where nobody measured them, or there are several.
    """

    total: float | None = None
    best: float | None = None
    spread: float = 0.0
    runs: int = 0
    profiled: float | None = None
    running: Mapping[tuple[str, ...], float] = field(default_factory=dict[tuple[str, ...], float])
    why: str = ""
    peaks: Peaks | None = None


def with_times(program: Program, measured: Sequence[Measured]) -> Program:
    """The program with `timing`, and with the seconds of the ops of every level.

    The level "hlo" and those above it are made if they were not yet, unless nothing was measured by the profiler.
    Ops of a piece without a profile have no seconds, nor has what is computed inside a fusion. What no instruction is
    known for is `Timing.unattributed`.

    Args:
      program: of a run.
      measured: of each of its pieces, in their order; if it is empty, the program is given back as it is.

    Raises:
      ValueError: if the program has another number of pieces.
    """
    if not measured:
        return program
    timing = summarize(measured)
    if not any(item.running for item in measured):
        return replace(program, timing=timing)
    try:
        hlo = program.level("hlo")
    except KeyError as error:
        return replace(program, timing=_told(timing, f"the time is not shared out: {error.args[0]}."))
    if hlo.entries != len(measured):
        raise ValueError(f"{len(measured)} pieces were measured, and the program has {hlo.entries}")
    seconds: Shares = {}
    unattributed = 0.0
    for entry, item in enumerate(measured):
        if item.total is not None and item.running:
            unattributed += _share_among_instructions(hlo, entry, item, item.total, seconds)
        else:
            unattributed += item.total or 0.0
    found = share_upwards(program, seconds)
    timed = {entry for entry, item in enumerate(measured) if item.running}
    levels = tuple(
        _with_seconds(level, found[level.name], timed) if level.name in found else level for level in program.levels
    )
    return replace(program, levels=levels, timing=replace(timing, unattributed=unattributed))


def summarize(measured: Sequence[Measured]) -> Timing:
    """What the pieces took together, which run one after another."""
    run = [item for item in measured if item.total is not None]
    profiled = [item.profiled for item in measured if item.profiled is not None]
    numbered = len(measured) > 1
    peaks = {item.peaks for item in run}
    why = " ".join(f"piece {n}: {item.why}" if numbered else item.why for n, item in enumerate(measured, 1) if item.why)
    return Timing(
        sum(item.total or 0.0 for item in run) if run else None,
        sum(item.spread for item in run),
        min((item.runs for item in run), default=0),
        sum(profiled) if profiled else None,
        sum(item.total or 0.0 for item in run),
        why,
        peaks.pop() if len(peaks) == 1 else None,
    )


def _told(timing: Timing, why: str) -> Timing:
    return replace(timing, why=f"{timing.why} {why}".strip())


def _share_among_instructions(hlo: Level, entry: int, item: Measured, total: float, seconds: Shares) -> float:
    """Adds what each instruction of a piece took; what is left over is returned."""
    places: dict[str, list[Place]] = {}
    for index in timed_computations(hlo, entry):
        for at, op in enumerate(hlo.computations[index].ops):
            for output in op.outputs:
                places.setdefault(hlo.values[output].name, []).append((index, at))
    scale = total / sum(item.running.values())
    left = 0.0
    for names, spent in item.running.items():
        known = [name for name in names if name in places]
        bodies = [
            name for name in known if hlo.computations[places[name][0][0]].ops[places[name][0][1]].name not in CONTROL
        ]
        among = [place for name in bodies or known for place in places[name]]
        for place in among:
            seconds[place] = seconds.get(place, 0.0) + spent * scale / len(among)
        if not among:
            left += spent * scale
    return left


def _with_seconds(level: Level, seconds: Shares, timed: set[int]) -> Level:
    """The level with these seconds: 0 for what took none, and none for what nobody measured."""
    known: set[int] = set()
    for entry in range(level.entries):
        # At the level of statements a single entry stands for all pieces.
        if entry in timed or level.name == "source":
            known.update(
                timed_computations(level, entry, seconds) if level.name == "hlo" else bodies_below(level, entry)
            )
    computations = tuple(
        replace(
            computation,
            ops=tuple(replace(op, seconds=seconds.get((index, at), 0.0)) for at, op in enumerate(computation.ops)),
        )
        if index in known
        else computation
        for index, computation in enumerate(level.computations)
    )
    return replace(level, computations=computations)
