"""The timeline of a scheduled program: what a device computes, what goes over its links meanwhile, for what it waits.

It is made of the schedule, of which runs of small pieces are folded, so that it stays small however long that is.
Sums stay as they are: what is computed in all blocks is what is computed in the program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from jaxnb.program import Op, Place, Program
from jaxnb.program.display import Displayed, render
from jaxnb.program.placement.data import Mesh
from jaxnb.program.placement.estimate import Estimate
from jaxnb.program.placement.ledger import Collective
from jaxnb.program.placement.schedule import NO_LOOP, Busy, Schedule, Sent, Turning, counts_cycles, read_schedule

__all__ = ["MOST_PIECES", "Block", "Loop", "Timeline", "Transfer", "read_timeline", "timeline_of"]

MOST_PIECES = 48
"""Blocks that a timeline has at most, and likewise transfers."""

_FINEST = 400  # pieces of a timeline; what is shorter is folded with its neighbours
_MOST_EQNS = 3


@dataclass(frozen=True, slots=True)
class Block:
    """What a device computes without a pause that counts.

    Attributes:
      start: in seconds from the beginning.
      stop: likewise.
      seconds: that it computes; less than from start to stop where short waits are folded into it.
      op: the place of the instruction that takes longest in the level "hlo".
      line: of the cell, if it is known of that.
      what: that instruction: the equation that it comes from, and its name.
      count: how many instructions there are.
      backward: whether it belongs to the backward pass.
      loop: the number of the innermost loop around it; -1 for none.
    """

    start: float
    stop: float
    seconds: float
    op: Place
    line: int | None
    what: str
    count: int = 1
    backward: bool = False
    loop: int = NO_LOOP


@dataclass(frozen=True, slots=True)
class Transfer:
    """What goes over a link without a pause that counts.

    Attributes:
      start: in seconds from the beginning.
      stop: likewise.
      seconds: that it takes; less than from start to stop where short pauses are folded into it.
      open: seconds of these for which the device waits for it.
      link: what it goes over, in words.
      collective: the one that takes longest.
      count: how many collectives there are.
      loop: the number of the innermost loop around it; -1 for none.
    """

    start: float
    stop: float
    seconds: float
    open: float
    link: str
    collective: Collective
    count: int = 1
    loop: int = NO_LOOP

    @property
    def hidden(self) -> float:
        """Seconds for which the device computes, or waits for another one."""
        return max(0.0, self.seconds - self.open)


Piece = TypeVar("Piece", Block, Transfer)


@dataclass(frozen=True, slots=True)
class Loop:
    """All turns of a loop; what is in it is drawn for all of them together.

    Attributes:
      start: of the first turn, in seconds.
      stop: of the last one.
      turns: how many; None where nobody knows, and one is counted.
      line: of the cell, if it is known.
      depth: how many loops are around it.
    """

    start: float
    stop: float
    turns: int | None
    line: int | None
    depth: int


@dataclass(frozen=True, slots=True, repr=False)
class Timeline(Displayed):
    """What a device does when. It shows itself as text and as a drawing.

    Attributes:
      seconds: until the program is done.
      blocks: what is computed, in order.
      transfers: what goes over links, in order.
      loops: those that take long enough to be seen, the outer before the inner.
      by_cycles: whether the compiler said how long instructions take; otherwise it is their roofline.
      machine: what it is for, in words.
      complete: whether all times are known; otherwise it takes at least so long.
    """

    seconds: float
    blocks: tuple[Block, ...]
    transfers: tuple[Transfer, ...]
    loops: tuple[Loop, ...] = ()
    by_cycles: bool = False
    machine: str = ""
    complete: bool = True

    @property
    def computing(self) -> float:
        """Seconds for which the device computes."""
        return math.fsum(one.seconds for one in self.blocks)

    @property
    def sending(self) -> float:
        """Seconds of all collectives."""
        return math.fsum(one.seconds for one in self.transfers)

    @property
    def waiting(self) -> float:
        """Seconds for which the device waits for collectives."""
        return math.fsum(one.open for one in self.transfers)

    @property
    def hidden(self) -> float:
        """Seconds of sending for which the device has something else to do."""
        return math.fsum(one.hidden for one in self.transfers)

    @property
    def links(self) -> tuple[str, ...]:
        """What is sent over, the busiest first."""
        sums: dict[str, float] = {}
        for one in self.transfers:
            sums[one.link] = sums.get(one.link, 0.0) + one.seconds
        return tuple(sorted(sums, key=lambda link: -sums[link]))

    @property
    def svg(self) -> str:
        """The drawing alone."""
        return str(render(self, "svg"))


def read_timeline(program: Program, estimate: Estimate, mesh: Mesh | None = None, *, machine: str = "") -> Timeline:
    """The timeline of a program. The level "hlo" is made if it was not yet.

    Args:
      program: compiled for a target, in the order in which it is run.
      estimate: of it, for that hardware.
      mesh: for which it was compiled.
      machine: what it is for, in words.
    """
    return timeline_of(read_schedule(program.level("hlo"), estimate, mesh), program, estimate, machine=machine)


def timeline_of(schedule: Schedule, program: Program, estimate: Estimate, *, machine: str = "") -> Timeline:
    """The timeline of a schedule that was read."""
    level, finest = program.level("hlo"), schedule.seconds / _FINEST
    by_cycles = counts_cycles(level, estimate.hardware)
    while True:
        kept = _kept_loops(schedule.loops, finest)
        blocks = _folded([_block(one, kept) for one in schedule.busy], finest)
        sent = sorted(schedule.sent, key=lambda one: one.start)
        lanes = dict.fromkeys(one.link for one in sent)
        transfers = [
            one
            for link in lanes
            for one in _folded([_transfer(some, kept, estimate) for some in sent if some.link == link], finest)
        ]
        if max(len(blocks), len(transfers), len({*kept.values()})) <= MOST_PIECES or finest >= schedule.seconds:
            break
        finest *= 2
    numbers = {number: at for at, number in enumerate(sorted({*kept.values()} - {NO_LOOP}))} | {NO_LOOP: NO_LOOP}
    ops = {one.op: level.computations[one.op[0]].ops[one.op[1]] for one in blocks}
    return Timeline(
        schedule.seconds,
        tuple(
            replace(
                one,
                line=ops[one.op].cell_line,
                what=_what(program, one.op, ops[one.op]),
                backward=ops[one.op].is_backward,
                loop=numbers[one.loop],
            )
            for one in blocks
        ),
        tuple(replace(one, loop=numbers[one.loop]) for one in sorted(transfers, key=lambda one: one.start)),
        tuple(_loop(schedule, number, kept, program) for number in numbers if number != NO_LOOP),
        by_cycles,
        machine,
        (by_cycles or not estimate.unknown) and _all_known(schedule, estimate),
    )


def _all_known(schedule: Schedule, estimate: Estimate) -> bool:
    turns = all(loop.turns is not None for loop in schedule.loops)
    return turns and all(one.seconds is not None for one in estimate.sendings)


def _kept_loops(loops: Sequence[Turning], finest: float) -> dict[int, int]:
    """Of each loop the innermost one around it, itself among them, that is long enough to be seen."""
    found = {NO_LOOP: NO_LOOP}
    for number, loop in enumerate(loops):  # those around it stand before it
        found[number] = number if loop.stop - loop.start > finest else found[loop.parent]
    return found


def _loop(schedule: Schedule, number: int, kept: Mapping[int, int], program: Program) -> Loop:
    found = schedule.loops[number]
    depth, around = 0, kept[found.parent]
    while around != NO_LOOP:
        depth, around = depth + 1, kept[schedule.loops[around].parent]
    op = program.level("hlo").computations[found.op[0]].ops[found.op[1]]
    return Loop(found.start, found.stop, found.turns, op.cell_line, depth)


def _block(one: Busy, kept: Mapping[int, int]) -> Block:
    return Block(one.start, one.stop, one.stop - one.start, one.op, None, "", loop=kept[one.loop])


def _transfer(one: Sent, kept: Mapping[int, int], estimate: Estimate) -> Transfer:
    collective = estimate.sendings[one.sending].collective
    return Transfer(one.start, one.stop, one.stop - one.start, one.open, one.link, collective, loop=kept[one.loop])


def _folded(pieces: Sequence[Piece], finest: float) -> list[Piece]:
    """Pieces in their order, of which neighbours in one loop are one where together they are short."""
    found: list[Piece] = []
    longest = 0.0
    for one in pieces:
        before = found[-1] if found else None
        if before is not None and before.loop == one.loop and max(before.stop, one.stop) - before.start <= finest:
            found[-1] = _together(before, one, is_longer=one.seconds > longest)
            longest = max(longest, one.seconds)
        else:
            found.append(one)
            longest = one.seconds
    return found


def _together(before: Piece, one: Piece, *, is_longer: bool) -> Piece:
    sums = {"seconds": before.seconds + one.seconds, "count": before.count + one.count}
    if isinstance(before, Transfer) and isinstance(one, Transfer):
        sums["open"] = before.open + one.open
    ends = {"start": min(before.start, one.start), "stop": max(before.stop, one.stop)}
    return replace(one if is_longer else before, **ends, **sums)


def _what(program: Program, place: Place, op: Op) -> str:
    """`dot_general, tanh (fusion.30)`: the equations that an instruction is made of, and its name."""
    name = program.level("hlo").values[op.outputs[0]].name if op.outputs else op.name
    if "jaxpr" not in program.level_names:
        return name
    computations = program.level("jaxpr").computations
    linked = program.linked("hlo", place, "jaxpr")
    eqns = list(dict.fromkeys(computations[where].ops[index].name for where, index in linked))
    more = f" and {len(eqns) - _MOST_EQNS} more" if len(eqns) > _MOST_EQNS else ""
    return f"{', '.join(eqns[:_MOST_EQNS])}{more} ({name})" if eqns else name
