"""How long a compiled program would take on given hardware: the roofline of its computation, and its collectives.

Every instruction takes the longer of two times: its flops at the peak for its dtype, and the bytes that it reads and
writes at the bandwidth of the memory. A fusion is one instruction. A collective takes what a device sends in all its
steps, at the bandwidth of the slowest link in its group:

    sent / link + steps * latency

with the bytes of the ledger, which are those of a ring, and for `n` devices in a group 2 (n - 1) steps of an
all-reduce, n - 1 of an all-gather, a reduce-scatter and an all-to-all, and one of a permutation or a broadcast. The sum
of all is the time if nothing overlaps, the larger of computation and communication the time if everything does.

These are lower bounds, made of peaks. What was compiled is a program for the CPU of this machine, partitioned as for
the mesh: another backend fuses other instructions, and so reads and writes other bytes. XLA widens numbers of 16 bits
for the CPU; products and collectives are counted in the dtype that the equation has that they come from.

>>> program = Program("", (Level("hlo", (), (Computation("main"),)),))
>>> estimate_program(program, "h100").total
0.0
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from jaxnb.program import Computation, Level, Op, Program
from jaxnb.program.placement.data import Mesh
from jaxnb.program.placement.hardware import Hardware, find_hardware
from jaxnb.program.placement.ledger import Collective, Ledger, read_ledger

__all__ = ["Estimate", "Sending", "Step", "estimate_program", "nodes_apart"]

_STEPS: Mapping[str, Callable[[int], int]] = {
    "all-reduce": lambda n: 2 * (n - 1),
    "all-gather": lambda n: n - 1,
    "reduce-scatter": lambda n: n - 1,
    "all-to-all": lambda n: n - 1,
    "ragged-all-to-all": lambda n: n - 1,
    "collective-permute": lambda n: min(n - 1, 1),
    "collective-broadcast": lambda n: min(n - 1, 1),
}
_PRODUCTS = frozenset({"dot", "convolution", "triangular-solve", "cholesky", "ragged-dot"})
_CONTROL = frozenset({"while", "conditional", "call", "async-start"})
_PRODUCT_EQNS = frozenset({"dot_general", "conv_general_dilated", "ragged_dot_general"})
_HALF = frozenset({"bfloat16", "float16"})

Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """What one instruction takes in all its runs.

    Attributes:
      op: its place in the level "hlo".
      line: of the cell, if it is known.
      flops: with those of the computations that it is made of.
      bytes: read and written.
      computing: seconds that the flops take at the peak.
      moving: seconds that the bytes take.
    """

    op: Place
    line: int | None
    flops: int
    bytes: int
    computing: float
    moving: float

    @property
    def seconds(self) -> float:
        """The longer of the two."""
        return max(self.computing, self.moving)


@dataclass(frozen=True, slots=True)
class Sending:
    """What one collective takes in all its runs.

    Attributes:
      collective: of the ledger.
      sent: bytes that a device sends in all runs, in the dtype of the equation; None if it is not known.
      bandwidth: bytes a second of the slowest link in its group; None if it is not known.
      seconds: None if one of them is not known.
    """

    collective: Collective
    sent: int | None
    bandwidth: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """How long a program would take on one device of a mesh, which all others of the mesh are like.

    Attributes:
      hardware: of the devices.
      steps: of the computation, in the order of the level; those that take no time are not among them.
      sendings: the collectives in the order of the ledger.
      unknown: instructions whose flops, bytes or number of runs nobody knows, by name, each with how many there are.
    """

    hardware: Hardware
    steps: tuple[Step, ...]
    sendings: tuple[Sending, ...]
    unknown: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)

    @property
    def computation(self) -> float:
        """Seconds of all that is no collective."""
        return math.fsum(step.seconds for step in self.steps)

    @property
    def communication(self) -> float:
        """Seconds of the collectives, as far as they are known."""
        return math.fsum(sending.seconds or 0.0 for sending in self.sendings)

    @property
    def total(self) -> float:
        """Seconds if nothing overlaps."""
        return self.computation + self.communication

    @property
    def overlapped(self) -> float:
        """Seconds if everything overlaps that could."""
        return max(self.computation, self.communication)

    @property
    def flops(self) -> int:
        """Of one device."""
        return sum(step.flops for step in self.steps)

    @property
    def bytes(self) -> int:
        """Read and written in the memory of one device."""
        return sum(step.bytes for step in self.steps)

    @property
    def sent(self) -> int:
        """Bytes that a device sends, as far as they are known."""
        return sum(sending.sent or 0 for sending in self.sendings)

    @property
    def complete(self) -> bool:
        """Whether that is all; otherwise it takes at least so long."""
        return not self.unknown and all(
            sending.seconds is not None and sending.collective.times is not None for sending in self.sendings
        )

    def by_line(self) -> dict[int | None, tuple[float, float]]:
        """Seconds of computation and of communication for each line of the cell, the longest first."""
        sums: dict[int | None, list[float]] = {}
        for step in self.steps:
            sums.setdefault(step.line, [0.0, 0.0])[0] += step.seconds
        for sending in self.sendings:
            sums.setdefault(sending.collective.line, [0.0, 0.0])[1] += sending.seconds or 0.0
        ordered = sorted(sums.items(), key=lambda item: -sum(item[1]))
        return {line: (one, other) for line, (one, other) in ordered}


def estimate_program(
    program: Program,
    hardware: str | Hardware,
    mesh: Mesh | None = None,
    *,
    ledger: Ledger | None = None,
    widened: bool = True,
) -> Estimate:
    """How long a program would take on devices of a kind. The level "hlo" is made if it was not yet.

    Args:
      program: which one.
      hardware: a name in `HARDWARE`, or an entry.
      mesh: on which it was compiled, in whose order the devices are joined; without one, all are in one node.
      ledger: its collectives, if they were read already.
      widened: whether the compiler makes 32 bits of 16, as that of the CPU does; not that of the hardware itself.

    Raises:
      JaxnbError: if there is no such hardware.
      KeyError: as `Program.level`.
    """
    table = find_hardware(hardware)
    ledger = ledger if ledger is not None else read_ledger(program, mesh)
    sendings = tuple(_sending(program, table, item, mesh, widened) for item in ledger.items)
    reading = _Reading(program, table, widened)
    reading.entries()
    return Estimate(table, tuple(reading.steps), sendings, reading.unknown)


class _Reading:
    """What grows while the instructions of a program are read."""

    def __init__(self, program: Program, hardware: Hardware, widened: bool) -> None:
        self.steps: list[Step] = []
        self.unknown: dict[str, int] = {}
        self._widened = widened
        self._program, self._hardware = program, hardware
        self._level = program.level("hlo")

    def entries(self) -> None:
        """Reads the entry computations, and what control flow in them runs."""
        for index in range(self._level.entries):
            self._computation(index)

    def _computation(self, index: int) -> None:
        for at, op in enumerate(self._level.computations[index].ops):
            if op.name in _CONTROL:
                for body in op.bodies:
                    self._computation(body)
            elif not _is_collective(op.name):
                self._step(op, (index, at))

    def _step(self, op: Op, place: Place) -> None:
        flops, moved, computing = 0, op.bytes or 0, 0.0
        known = op.times is not None and op.bytes is not None
        for inner, where in _made_of(self._level, op, place):
            known = known and inner.flops is not None
            count = (inner.flops or 0) + (inner.transcendentals or 0)
            flops += count
            peak = self._hardware.elementwise
            if inner.name in _PRODUCTS and count:
                peak = self._hardware.peak(self._dtype(inner, where, place))
                known = known and peak is not None
            computing += 0.0 if peak is None else count / peak
        if not known:
            self.unknown[op.name] = self.unknown.get(op.name, 0) + 1
        if flops or moved:
            moving = moved / self._hardware.bandwidth
            self.steps.append(Step(place, op.line, flops, moved, computing, moving))

    def _dtype(self, op: Op, place: Place, around: Place) -> str:
        """That of the operands of a product: as the equation has it that it comes from, if XLA widened it."""
        found = self._level.values[op.inputs[0]].aval
        if not self._widened:
            return "float32" if found is None else found.dtype
        eqns = _linked(self._program, place) or _linked(self._program, around)
        written = {dtype for eqn in eqns if eqn.name in _PRODUCT_EQNS for dtype in _dtypes(self._program, eqn.inputs)}
        if found is not None and found.dtype == "float32" and written and written <= _HALF:
            return written.pop()
        return "float32" if found is None else found.dtype


def _made_of(level: Level, op: Op, place: Place) -> Iterator[tuple[Op, Place]]:
    """An instruction, and all that it is made of."""
    yield op, place
    for body in op.bodies:
        computation: Computation = level.computations[body]
        for at, inner in enumerate(computation.ops):
            yield from _made_of(level, inner, (body, at))


def _is_collective(name: str) -> bool:
    return name.removesuffix("-start").removesuffix("-done") in _STEPS


def _sending(program: Program, hardware: Hardware, item: Collective, mesh: Mesh | None, widened: bool) -> Sending:
    apart = nodes_apart(item.axes, mesh, hardware.node)
    bandwidth = hardware.sending(apart) if item.group is not None and apart is not None else None
    sent = item.total
    if sent is not None and widened:
        sent = -(-sent // _widened(program, item))
    seconds = None
    if item.group == 1:
        seconds = 0.0
    elif sent is not None and bandwidth is not None and item.group is not None:
        times = 1 if item.times is None else item.times
        seconds = sent / bandwidth + times * _STEPS[item.kind](item.group) * hardware.latency
    return Sending(item, sent, bandwidth, seconds)


def nodes_apart(axes: Sequence[str] | None, mesh: Mesh | None, node: int) -> int | None:
    """How many nodes lie between the first and the last device of a group along axes of a mesh, at most.

    Args:
      axes: along which the group runs; None for one that runs along no axes of the mesh.
      mesh: whose devices follow one another in nodes; None for one node.
      node: how many devices there are in one.

    Returns:
      0 for a group within one node; None if nobody knows.

    >>> from jaxnb.program.placement.data import Axis
    >>> mesh = Mesh((Axis("x", 4), Axis("y", 8)))
    >>> nodes_apart(["y"], mesh, 8), nodes_apart(["x"], mesh, 8)
    (0, 3)
    """
    if mesh is None or mesh.size <= node:
        return 0
    if axes is None:
        return None
    chosen = {axis.name for axis in mesh.axes} & set(axes)
    firsts, span = [0], 0
    step = mesh.size
    for axis in mesh.axes:
        step //= axis.size
        if axis.name in chosen:
            span += (axis.size - 1) * step
        else:
            firsts = [first + index * step for first in firsts for index in range(axis.size)]
    return max((first + span) // node - first // node for first in firsts)


def _widened(program: Program, item: Collective) -> int:
    """How many times more bytes XLA sends on a CPU than the equation asks for: 2 where it made 16 bits to 32."""
    level = program.level("hlo")
    computation, index = item.op
    sent = {level.values[value].aval for value in level.computations[computation].ops[index].inputs}
    if not sent or any(aval is None or aval.dtype != "float32" for aval in sent):
        return 1
    eqns = _linked(program, item.op)
    written = {dtype for eqn in eqns for dtype in _dtypes(program, eqn.outputs)}
    return 2 if written and written <= _HALF else 1


def _linked(program: Program, place: Place) -> list[Op]:
    if "jaxpr" not in program.level_names:
        return []
    computations = program.level("jaxpr").computations
    return [computations[where].ops[index] for where, index in program.linked("hlo", place, "jaxpr")]


def _dtypes(program: Program, values: Sequence[int]) -> Iterator[str]:
    """The dtypes of the arrays of numbers that are not whole among values of the jaxpr."""
    level = program.level("jaxpr")
    for index in values:
        aval = level.values[index].aval
        if aval is not None and "float" in aval.dtype:
            yield aval.dtype
