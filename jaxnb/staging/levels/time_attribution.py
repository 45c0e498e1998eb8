"""What was measured of each piece of a cell, and how it is shared out among instructions, equations and statements.

What a program takes is measured without a profiler, and what its instructions take under one, which slows small ones
down. So only the shares are taken from the profile: an instruction has the part of the total that it has of all
moments of the profile in which some instruction ran. What lies between instructions is shared out with them.

- Of instructions that run at the same time on several threads or devices, each has an equal part of that time, so
  that all of them together took what the clock says, not the sum over threads. A loop, a branch or a call has what
  its bodies leave it.
- What a fusion took goes to the instructions in it by their work: flops, transcendental functions and bytes of the
  results. So does what a loop took that was compiled as one piece, so that the profile has nothing of its bodies.
- What an instruction took goes to the operations that links lead to, and from there to equations and statements, by
  the flops, transcendental functions and bytes of each, where they are known of all, and otherwise in equal parts. An
  instruction without links has those of the loop or call that it stands in. What is of nothing above stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxnb.program import Level, Op, Program, Timing

__all__ = ["Measured", "summarize", "with_times"]

Place = tuple[int, int]
Seconds = dict[Place, float]

# They run their bodies as they stand: each instruction there is timed by itself.
_CONTROL = frozenset({"while", "conditional", "call", "async-start"})


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
    """

    total: float | None = None
    best: float | None = None
    spread: float = 0.0
    runs: int = 0
    profiled: float | None = None
    running: Mapping[tuple[str, ...], float] = field(default_factory=dict[tuple[str, ...], float])
    why: str = ""


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
    seconds: Seconds = {}
    unattributed = 0.0
    for entry, item in enumerate(measured):
        if item.total is not None and item.running:
            unattributed += _share_among_instructions(hlo, entry, item, item.total, seconds)
        else:
            unattributed += item.total or 0.0
    found = {"hlo": seconds}
    below, sources = hlo, _split_fusions(hlo, seconds)
    for level in reversed(program.levels[: program.levels.index(hlo)]):
        sources = _carry_up(program, level.name, below, sources)
        found[level.name], below = sources, level
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
    why = " ".join(f"piece {n}: {item.why}" if numbered else item.why for n, item in enumerate(measured, 1) if item.why)
    return Timing(
        sum(item.total or 0.0 for item in run) if run else None,
        sum(item.spread for item in run),
        min((item.runs for item in run), default=0),
        sum(profiled) if profiled else None,
        sum(item.total or 0.0 for item in run),
        why,
    )


def _told(timing: Timing, why: str) -> Timing:
    return replace(timing, why=f"{timing.why} {why}".strip())


def _share_among_instructions(hlo: Level, entry: int, item: Measured, total: float, seconds: Seconds) -> float:
    """Adds what each instruction of a piece took; what is left over is returned."""
    places: dict[str, list[Place]] = {}
    for index in _timed_computations(hlo, entry):
        for at, op in enumerate(hlo.computations[index].ops):
            for output in op.outputs:
                places.setdefault(hlo.values[output].name, []).append((index, at))
    scale = total / sum(item.running.values())
    left = 0.0
    for names, spent in item.running.items():
        known = [name for name in names if name in places]
        bodies = [name for name in known if _op(hlo, places[name][0]).name not in _CONTROL]
        among = [place for name in bodies or known for place in places[name]]
        for place in among:
            seconds[place] = seconds.get(place, 0.0) + spent * scale / len(among)
        if not among:
            left += spent * scale
    return left


def _timed_computations(hlo: Level, entry: int, seconds: Seconds | None = None) -> Iterator[int]:
    """The computations whose instructions run one by one: the entry's, and what loops, branches and calls run.

    With `seconds`, those only of which the profile has something.
    """
    stack = [entry]
    seen = None if seconds is None else {index for index, _ in seconds}
    while stack:
        index = stack.pop()
        yield index
        for op in hlo.computations[index].ops:
            if op.name in _CONTROL and (seen is None or not _is_one_piece(hlo, op, seen)):
                stack.extend(op.bodies)


def _is_one_piece(hlo: Level, op: Op, seen: set[int]) -> bool:
    """Whether what an instruction consists of is not timed by itself.

    Args:
      hlo: the level.
      op: the instruction.
      seen: the computations of which the profile has something.
    """
    if op.name not in _CONTROL:
        return op.name == "fusion"
    return not any(index in seen for body in op.bodies for index in _below(hlo, body))


def _split_fusions(hlo: Level, seconds: Seconds) -> Seconds:
    """What instructions took, that of fusions given to what is in them."""
    split: Seconds = {}
    seen = {index for index, _ in seconds}
    for place, spent in seconds.items():
        inside = list(_inside(hlo, place)) if _is_one_piece(hlo, _op(hlo, place), seen) else []
        for inner, part in _parts(hlo, inside or [place]):
            split[inner] = split.get(inner, 0.0) + spent * part
    return split


def _parts(hlo: Level, places: list[Place]) -> Iterator[tuple[Place, float]]:
    """The share of each of these instructions in their work."""
    weights = [_work(hlo, _op(hlo, place)) for place in places]
    whole = sum(weights)
    for place, weight in zip(places, weights, strict=True):
        yield place, weight / whole if whole else 1 / len(places)


def _inside(hlo: Level, place: Place) -> Iterator[Place]:
    """What the bodies of an instruction consist of."""
    for body in _op(hlo, place).bodies:
        for at, op in enumerate(hlo.computations[body].ops):
            if op.name == "fusion" or op.name in _CONTROL:
                yield from _inside(hlo, (body, at))
            else:
                yield body, at


def _work(hlo: Level, op: Op) -> int:
    if op.name in ("tuple", "get-tuple-element", "bitcast"):
        return 0
    avals = [hlo.values[output].aval for output in op.outputs]
    moved = sum((aval.nbytes or 0) for aval in avals if aval is not None)
    return (op.flops or 0) + (op.transcendentals or 0) + moved * (1 if op.times is None else op.times)


def _carry_up(program: Program, upper: str, lower: Level, seconds: Seconds) -> Seconds:
    """What the ops of a level took, given to those of the level above."""
    links: dict[Place, list[Place]] = {}
    for link in program.links:
        if (link.upper, link.lower) == (upper, lower.name):
            links.setdefault(link.lower_op, []).append(link.upper_op)
    level = program.level(upper)
    owners = {
        body: (index, at)
        for index, computation in enumerate(lower.computations)
        for at, op in enumerate(computation.ops)
        for body in op.bodies
    }
    above: Seconds = {}
    for place, spent in seconds.items():
        inner: Place | None = place
        ends: list[Place] = []
        while inner is not None and not ends:
            ends = links.get(inner, [])
            inner = owners.get(inner[0])
        for end, part in _shares(level, ends):
            above[end] = above.get(end, 0.0) + spent * part
    return above


def _shares(level: Level, places: list[Place]) -> Iterator[tuple[Place, float]]:
    """The share of each of these ops in what they cost."""
    known: list[int] = []
    for place in places:
        op = _op(level, place)
        if op.flops is not None and op.bytes is not None and op.transcendentals is not None:
            known.append(op.flops + op.transcendentals + op.bytes)
    whole = sum(known) if len(known) == len(places) else 0
    for at, place in enumerate(places):
        yield place, known[at] / whole if whole else 1 / len(places)


def _with_seconds(level: Level, seconds: Seconds, timed: set[int]) -> Level:
    """The level with these seconds: 0 for what took none, and none for what nobody measured."""
    known: set[int] = set()
    for entry in range(level.entries):
        # At the level of statements a single entry stands for all pieces.
        if entry in timed or level.name == "source":
            known.update(_timed_computations(level, entry, seconds) if level.name == "hlo" else _below(level, entry))
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


def _below(level: Level, entry: int) -> Iterator[int]:
    stack = [entry]
    while stack:
        index = stack.pop()
        yield index
        stack.extend(body for op in level.computations[index].ops for body in op.bodies)


def _op(level: Level, place: Place) -> Op:
    return level.computations[place[0]].ops[place[1]]
