"""What memory a program needs as it runs, as plain data: how much when, who holds it, and which line made it.

    Memory
      live         bytes at each op of the entry computation, in their order
      held         Held: a value, its size, from which position to which it lives, and the op and line that make it
      saved        Saved: what the forward pass of a derivative keeps for the backward pass
      recomputed   ops that compute something again because it was not kept (`jax.checkpoint`)
      dead         ops that no result needs
      known        ops that depend on no input
      savings      Saving: what `jax.checkpoint` around a function would take from the peak

Ops are meant by their place, (computation, op), as `Program.linked` takes them: those of `held` at the level of
`Memory.level`, all others at the level "jaxpr". Nothing here imports jax.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from jaxnb.program.display import render

__all__ = ["KINDS", "SOURCES", "Held", "Memory", "Noted", "Saved", "Saving"]

from jaxnb.program.structure import Place

"""A computation of a level, and an op of it."""

KINDS = ("input", "constant", "output", "temporary")

SOURCES = ("buffers", "liveness")
"""The compiled program's own assignment of buffers, or what follows from the order of a jaxpr."""


@dataclass(frozen=True, slots=True)
class Held:
    """A value that has memory.

    Attributes:
      name: what the user calls it, for inputs and outputs whose names are known; else the name of the value.
      kind: one of `KINDS`.
      nbytes: its size.
      first: the first position at which it lives.
      last: the last one.
      op: the op that makes it; None for inputs and constants. A value inside of a loop or a call is made by an op
        there and lives at the position of the op that owns the loop.
      line: the line of the cell that made it, if known.
      within: which call below that line made it, see `made_in`; "" where the line itself did.
    """

    name: str
    kind: str
    nbytes: int
    first: int
    last: int
    op: Place | None = None
    line: int | None = None
    within: str = ""

    @property
    def root(self) -> str:
        """What the names of all parts of one value begin with: `opt` of `opt.opt_state[0].mu['w']`."""
        return re.split(r"[.\[{]", self.name, maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class Saved:
    """A residual: a value that the forward pass keeps for the backward pass.

    Attributes:
      name: of the value.
      nbytes: its size; of one that a loop makes, of all its iterations together.
      read: the first op of the backward pass that reads it.
      read_line: its line.
      op: the op that makes it; None for arguments and constants, which are kept anyway.
      line: its line.
      times: over how many iterations of a loop it is stacked; 1 where it is not.
      label: the name that `checkpoint_name` gave it.
      policy: of the `jax.checkpoint` that keeps it instead of computing it again, such as "dots_saveable".
      within: as of `Held`.
    """

    name: str
    nbytes: int
    read: Place
    read_line: int | None = None
    op: Place | None = None
    line: int | None = None
    times: int = 1
    label: str = ""
    policy: str = ""
    within: str = ""

    @property
    def argument(self) -> bool:
        """Whether it is kept anyway, because it was passed to the program."""
        return self.op is None


@dataclass(frozen=True, slots=True)
class Noted:
    """An op, its line if known, and the bytes of its results."""

    op: Place
    line: int | None = None
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class Saving:
    """What `jax.checkpoint` around a function would save, an estimate, see `Checkpoints`.

    Attributes:
      within: which calls made what the backward pass keeps at the peak, as of `Held`.
      line: the line of the cell that made it, where it is known.
      nbytes: what the peak would be lower by.
    """

    within: str
    line: int | None
    nbytes: int

    @property
    def function(self) -> str:
        """What `jax.checkpoint` would stand around: `Block.__call__`."""
        return re.split(r"[ ,]", self.within, maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class Memory:
    """What one piece of a cell needs. On several devices, what each of them needs.

    Attributes:
      source: one of `SOURCES`.
      level: whose ops the positions are: "hlo" for buffers, "jaxpr" for liveness.
      computation: the entry computation at every level.
      live: bytes at each position, one for an op of the entry computation, at least one. The operands and the results
        of an op live together, and what its bodies need besides at the moment when they need the most.
      held: all that lives at some time; of what only lives inside of a body, what lives at that moment. Where an op
        writes its result over an operand, the operand lives up to the position before it.
      reserved: what the runtime takes for the whole run; more than the peak where memory lies between the buffers or
        is not used twice. None for liveness.
      saved: in the order in which the backward pass reads them.
      recomputed: those inside of such an op are not listed, here and in what follows.
      dead: what JAX leaves out before it compiles.
      known: what could be computed ahead, because it depends on no input. XLA computes most of it as it compiles, but
        not what is large or dear: what became of each is told by `Program.fates`, where "folded" says that it was.
      note: why something is missing, or "".
      savings: of functions whose residuals are much of the peak, those by which most is saved first.

    >>> x = Held("x", "input", 400, 0, 1)
    >>> memory = Memory("liveness", "jaxpr", 0, (800, 400), (x, Held("a", "temporary", 400, 0, 0, (0, 0), line=2)))
    >>> memory.peak, memory.peak_at, [held.name for held in memory.at(1)], memory.peak_by_line()
    (800, 0, ['x'], {2: 400, None: 400})
    """

    source: str
    level: str
    computation: int = 0
    live: tuple[int, ...] = (0,)
    held: tuple[Held, ...] = ()
    reserved: int | None = None
    saved: tuple[Saved, ...] = ()
    recomputed: tuple[Noted, ...] = ()
    dead: tuple[Noted, ...] = ()
    known: tuple[Noted, ...] = ()
    note: str = ""
    savings: tuple[Saving, ...] = ()

    @property
    def peak(self) -> int:
        """The most bytes that live at one time."""
        return max(self.live, default=0)

    @property
    def peak_at(self) -> int:
        """The first position at which the most bytes live."""
        return self.live.index(self.peak) if self.live else 0

    def at(self, position: int) -> tuple[Held, ...]:
        """Who lives at a position, the largest first; their sizes add up to `live` there."""
        found = [held for held in self.held if held.first <= position <= held.last]
        return tuple(sorted(found, key=lambda held: -held.nbytes))

    def peak_by_line(self) -> dict[int | None, int]:
        """The bytes that live at the peak by the line that made them, the largest first; None for what no line of
        the cell made, such as inputs."""
        found: dict[int | None, int] = {}
        for held in self.at(self.peak_at):
            found[held.line] = found.get(held.line, 0) + held.nbytes
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0] is None, item[0] or 0)))

    def __str__(self) -> str:
        return render(self, "text")

    def saved_bytes(self) -> int:
        """What the backward pass costs in memory: residuals that are not arguments."""
        return sum(saved.nbytes for saved in self.saved if not saved.argument)

    def lines(self) -> dict[int, int]:
        """For every line of the cell the most bytes of its values that live at one time."""
        most: dict[int, int] = {}
        for line, held in _by_line(self.held).items():
            change: dict[int, int] = {}
            for one in held:
                change[one.first] = change.get(one.first, 0) + one.nbytes
                change[one.last + 1] = change.get(one.last + 1, 0) - one.nbytes
            total = most[line] = 0
            for position in sorted(change):
                total += change[position]
                most[line] = max(most[line], total)
        return dict(sorted(most.items()))


def _by_line(held: Iterable[Held]) -> dict[int, list[Held]]:
    found: dict[int, list[Held]] = {}
    for one in held:
        if one.line is not None:
            found.setdefault(one.line, []).append(one)
    return found
