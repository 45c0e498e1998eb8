"""A scheduled program run in thought: when a device computes, when its links send, and for what it waits.

Instructions run one after the other, as the compiler has ordered them. A collective that instructions of its own begin
and end goes over its links meanwhile; a TPU does the same by fusions that begin one, carry it on beside products, and
end it. For any other the device waits. What takes the same link goes over it one after the other, in the order in which
it begins; on a TPU each axis of the mesh is a link, elsewhere what joins the devices of a node is one, and the network.

A loop is run for one turn, at whose start its links are free. Its times stand for all turns together: what takes a
third of a turn takes a third of the loop. Of branches the cycles of the one that takes longest count, as compilers
count them; peaks are those of all, as the estimate counts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jaxnb.program import Level, Op, Place
from jaxnb.program.placement.data import Mesh
from jaxnb.program.placement.estimate import Estimate, Sending, nodes_apart
from jaxnb.program.placement.hardware import Hardware
from jaxnb.program.placement.ledger import CONTINUES

__all__ = ["NO_LOOP", "Busy", "Schedule", "Sent", "Turning", "counts_cycles", "read_schedule"]

NO_LOOP = -1
_ENDS = "AsyncCollectiveDone"
_CYCLES = "estimated_cycles"
_CONTROL = frozenset({"while", "conditional", "call", "async-start"})
_NODE, _NETWORK = "links of a node", "network"


@dataclass(frozen=True, slots=True)
class Busy:
    """An instruction for which the device computes, from `start` to `stop` in seconds; in the loop `loop`."""

    start: float
    stop: float
    op: Place
    loop: int


@dataclass(frozen=True, slots=True)
class Sent:
    """A collective on its links.

    Attributes:
      sending: its number in the estimate.
      start: when it has its links, in seconds.
      stop: when it is done.
      open: seconds of these for which the device waits, and no other collective is the reason.
      link: what it goes over, in words.
      begun: whether instructions of their own begin and end it.
      loop: the number of the innermost loop that it is in, or `NO_LOOP`.
    """

    sending: int
    start: float
    stop: float
    open: float
    link: str
    begun: bool
    loop: int


@dataclass(frozen=True, slots=True)
class Turning:
    """A loop from the start of its first turn to the end of its last; `turns` is None where nobody knows how many."""

    start: float
    stop: float
    turns: int | None
    op: Place
    parent: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """What a program does when.

    Attributes:
      seconds: until it is done.
      busy: instructions that take time, in their order.
      sent: the collectives, in the order in which they begin.
      loops: in the order in which they begin.
    """

    seconds: float
    busy: tuple[Busy, ...]
    sent: tuple[Sent, ...]
    loops: tuple[Turning, ...]


def counts_cycles(level: Level, hardware: Hardware) -> bool:
    """Whether the compiler says of instructions how many cycles they take, and the hardware how long one is."""
    return hardware.clock is not None and any(key == _CYCLES for op in level.ops() for key, _ in op.attributes)


def read_schedule(level: Level, estimate: Estimate, mesh: Mesh | None = None) -> Schedule:
    """Runs a program in thought.

    Args:
      level: "hlo", in the order in which it is run.
      estimate: of the same program: how long its collectives take, and its instructions where no cycles are told.
      mesh: for which it was compiled.
    """
    running = _Running(level, estimate, mesh)
    seconds = sum(running.computation(index, 0.0, 1, NO_LOOP) for index in range(min(level.entries, 1)))
    return Schedule(seconds, tuple(running.busy), tuple(running.sent), tuple(running.loops))


@dataclass(slots=True)
class _Going:
    """A collective that has begun in a turn: local times, and what it goes over."""

    sending: int
    start: float
    stop: float
    ways: frozenset[str]
    begun: bool
    before: _Going | None
    open: float = 0.0


@dataclass(slots=True)
class _Turn:
    """One run of a computation: how far it has come, and what holds its links."""

    now: float = 0.0
    last: dict[str, _Going] = field(default_factory=dict[str, _Going])
    going: list[_Going] = field(default_factory=list[_Going])


class _Running:
    """What grows while a program is run."""

    def __init__(self, level: Level, estimate: Estimate, mesh: Mesh | None) -> None:
        self.busy: list[Busy] = []
        self.sent: list[Sent] = []
        self.loops: list[Turning] = []
        self._level, self._estimate, self._mesh = level, estimate, mesh
        self._owners: dict[int, Place] = {
            body: (at, index)
            for at, computation in enumerate(level.computations)
            for index, op in enumerate(computation.ops)
            for body in op.bodies
        }
        self._clock = estimate.hardware.clock if counts_cycles(level, estimate.hardware) else None
        self._peaks: dict[Place, float] = {}
        for step in estimate.steps:
            self._peaks[step.op] = self._peaks.get(step.op, 0.0) + step.seconds
        self._left_out = self._not_longest() if self._clock is not None else frozenset[int]()
        self._begins: dict[Place, list[int]] = {}
        self._ends: dict[Place, list[int]] = {}
        for number, sending in enumerate(estimate.sendings):
            place, end = _span(level, self._owners, sending.collective.op)
            self._begins.setdefault(place, []).append(number)
            if end is not None:
                self._ends.setdefault(end, []).append(number)
        self._ended = {number for numbers in self._ends.values() for number in numbers}

    def computation(self, index: int, base: float, scale: int, loop: int) -> float:
        """Runs a computation once and says how long that takes; told are its times, `scale` as long, from `base` on."""
        turn = _Turn()
        for at, op in enumerate(self._level.computations[index].ops):
            place = (index, at)
            for number in self._ends.get(place, ()):
                self._wait(turn, next((one for one in turn.going if one.sending == number), None))
            if op.name in _CONTROL:
                self._control(op, place, turn, base, scale, loop)
            elif seconds := self._seconds(op, place):
                start = base + scale * turn.now
                turn.now += seconds
                self.busy.append(Busy(start, base + scale * turn.now, place, loop))
            for number in self._begins.get(place, ()):
                self._begin(turn, number)
        for one in turn.going:
            link = self._link(self._estimate.sendings[one.sending])
            ends = base + scale * one.start, base + scale * one.stop
            self.sent.append(Sent(one.sending, *ends, scale * one.open, link, one.begun, loop))
        return turn.now

    def _control(self, op: Op, place: Place, turn: _Turn, base: float, scale: int, loop: int) -> None:
        if op.name != "while":
            for body in op.bodies:
                turn.now += self.computation(body, base + scale * turn.now, scale, loop)
            return
        number, start = len(self.loops), turn.now
        # Its end is not known yet, and what is in it comes behind it.
        self.loops.append(Turning(0.0, 0.0, None, place, loop))
        turns = [self._turns(op, body) for body in op.bodies]
        for body, count in zip(op.bodies, turns, strict=True):
            times = 1 if count is None else count
            turn.now += times * self.computation(body, base + scale * turn.now, scale * times, number)
        ends = base + scale * start, base + scale * turn.now
        self.loops[number] = Turning(*ends, turns[0] if turns else None, place, loop)

    def _turns(self, loop: Op, body: int) -> int | None:
        """How often a loop runs one of its computations, each time that it is run itself."""
        ops = self._level.computations[body].ops
        inner, outer = ops[0].times if ops else None, loop.times
        return inner // outer if inner is not None and outer else None

    def _seconds(self, op: Op, place: Place) -> float:
        """What an instruction takes in one run."""
        if self._clock is not None:
            return 0.0 if place[0] in self._left_out else _cycles(op) / self._clock
        return self._peaks.get(place, 0.0) / (op.times or 1)

    def _begin(self, turn: _Turn, number: int) -> None:
        sending = self._estimate.sendings[number]
        ways, times = self._ways(sending), sending.collective.times or 1
        ahead = [turn.last[way] for way in ways if way in turn.last]
        before = max(ahead, key=lambda one: one.stop, default=None)
        start = turn.now if before is None else max(turn.now, before.stop)
        begun = number in self._ended
        one = _Going(number, start, start + (sending.seconds or 0.0) / times, ways, begun, before)
        turn.last.update(dict.fromkeys(ways, one))
        turn.going.append(one)
        if not begun:
            self._wait(turn, one)

    def _wait(self, turn: _Turn, one: _Going | None) -> None:
        """The device waits until a collective is done, and whichever is on the link meanwhile is what it waits for."""
        if one is None or one.stop <= turn.now:
            return
        until, sending = one.stop, one
        while sending is not None and until > turn.now:
            sending.open += until - max(turn.now, min(sending.start, until))
            until, sending = min(until, sending.start), sending.before
        turn.now = one.stop

    def _ways(self, sending: Sending) -> frozenset[str]:
        hardware, mesh = self._estimate.hardware, self._mesh
        axes = sending.collective.axes
        if nodes_apart(axes or (), mesh, hardware.node):
            return frozenset({_NETWORK})
        if hardware.vmem is None:  # one switch joins all devices of a node, whichever axes they are on
            return frozenset({_NODE})
        if axes is None:
            return frozenset(axis.name for axis in mesh.axes) if mesh is not None else frozenset({_NODE})
        return frozenset(axes)

    def _link(self, sending: Sending) -> str:
        ways = self._ways(sending)
        if ways & {_NODE, _NETWORK}:
            return next(iter(ways))
        known = [axis.name for axis in self._mesh.axes] if self._mesh is not None else []
        return f"links of {', '.join(sorted(ways, key=lambda way: known.index(way) if way in known else -1))}"

    def _not_longest(self) -> frozenset[int]:
        """The branches that take fewer cycles than another one of the same choice, with what they call."""
        found: set[int] = set()
        for op in self._level.ops():
            if op.name == "conditional" and op.bodies:
                longest = max(op.bodies, key=self._cycles_in)
                todo = [body for body in op.bodies if body != longest]
                while todo:
                    body = todo.pop()
                    found.add(body)
                    todo += [inner for one in self._level.computations[body].ops for inner in one.bodies]
        return frozenset(found)

    def _cycles_in(self, index: int) -> int:
        ops = self._level.computations[index].ops
        own = sum(_cycles(op) * (op.times or 1) for op in ops)
        return own + sum(self._cycles_in(body) for op in ops if op.name in _CONTROL for body in op.bodies)


def _cycles(op: Op) -> int:
    return next((int(text) for key, text in op.attributes if key == _CYCLES), 0)


def _span(level: Level, owners: Mapping[int, Place], place: Place) -> tuple[Place, Place | None]:
    """The instruction that begins a collective, and the one before which it must be done; None for one that waits."""
    op, owner = _op(level, place), owners.get(place[0])
    if op.name.endswith("-start"):
        return place, _end(level, place)
    if owner is not None and _op(level, owner).name == "async-start":
        return owner, _end(level, owner)
    if owner is not None and _op(level, owner).name == "fusion":
        end = _last_part(level, owner, level.values[op.outputs[0]].name)
        if end is not None:
            return owner, end
    while owner is not None and _op(level, owner).name not in _CONTROL:
        place, owner = owner, owners.get(owner[0])
    return place, None


def _end(level: Level, start: Place) -> Place | None:
    """Where what was begun ends: an instruction of the same computation that takes it."""
    made = set(_op(level, start).outputs)
    for index, op in enumerate(level.computations[start[0]].ops[start[1] + 1 :], start[1] + 1):
        if made & set(op.inputs):
            if op.name.endswith("-done"):
                return start[0], index
            made |= set(op.outputs)  # it goes on in another form: `async-update`, a part of a tuple
    return None


def _last_part(level: Level, begun: Place, name: str) -> Place | None:
    """The fusion of the same computation that ends a collective of this name."""
    for index, op in enumerate(level.computations[begun[0]].ops):
        inside = [inner for body in op.bodies for inner in level.computations[body].ops]
        if any((CONTINUES, name) in inner.attributes for inner in inside) and any(
            ("target", _ENDS) in inner.attributes for inner in inside
        ):
            return begun[0], index
    return None


def _op(level: Level, place: Place) -> Op:
    return level.computations[place[0]].ops[place[1]]
