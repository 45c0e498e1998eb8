"""When the values of a compiled program are needed, and so which bytes of its memory are in use when.

A value is needed from the instruction that defines it to the last one that reads it, in the order that XLA scheduled,
through tuples, loops and calls. What several values have one after another, such as the state of a loop, or a donated
input and the result in its place, counts once. A backend may run at the same time what does not depend on each other,
as the CPU's does: then this is what the program needs in the order that XLA wrote down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from jaxnb.program import Held, Level, made_in
from jaxnb.reading.hlo.buffers import Assignment, Buffer
from jaxnb.reading.hlo.module import Instruction, Module

__all__ = ["Lifetime", "Use", "lifetimes", "preorder", "use_of_memory"]


class _Node(NamedTuple):
    """What an instruction's result consists of: a buffer, and the parts of it if it is a tuple."""

    buffer: int | None
    parts: dict[int, _Node]


_NOTHING = _Node(None, {})


@dataclass(slots=True, eq=False)
class Lifetime:
    """A buffer, and when it is needed.

    Attributes:
      buffer: where it lies.
      name: of the instruction that defines it.
      kind: one of `jaxnb.program.occupancy.KINDS`.
      first: the position of that instruction among the ops of the entry computation, or of the op that owns it.
      last: the position of the last op that reads it.
      start: when it is defined, in ticks of the whole program, bodies included.
      stop: when it is last read.
      inner: whether it lives inside of one op of the entry computation.
      number: of the input or of the result that it is.
      among: of how many inputs or results.
    """

    buffer: Buffer
    name: str
    kind: str = "temporary"
    first: int = -1
    last: int = -1
    start: int = -1
    stop: int = -1
    inner: bool = False
    number: int = 0
    among: int = 0


def lifetimes(module: Module, assignment: Assignment) -> list[Lifetime]:
    """When each buffer of a program is needed; those on stacks and on the host, and empty ones, have no entry.

    Args:
      module: its instructions.
      assignment: its buffers, with the same ids.
    """
    flow = _Flow(module, assignment)
    entry = module.computations[module.entry]
    result = flow.run(module.entry, [])
    end = max(flow.position, 0)
    numbers = {one.identity: one.parameter for one in entry.parameters()}
    parts = result.parts or {0: result}
    results = {index: part for part, node in parts.items() for index in _buffers(node)}
    found: list[Lifetime] = []
    for index, life in enumerate(flow.lives):
        allocation = assignment.allocations[life.buffer.allocation]
        if life.buffer.nbytes == 0 or not assignment.on_device(allocation):
            continue
        if allocation.constant:
            life.kind, life.first, life.last, life.inner = "constant", 0, end, False
        elif life.start < 0:
            continue  # of a computation that is no instruction's body, such as a reducer's
        elif allocation.parameter and life.buffer.instruction in numbers:
            life.kind, life.first = "input", 0
            life.number, life.among = numbers[life.buffer.instruction], len(numbers)
            life.last = life.last if allocation.output else end  # its caller holds it, unless it is given away
        elif index in results:
            life.kind, life.number, life.among = "output", results[index], len(parts)
        found.append(life)
    return found


# They hand parts of their operands on and read nothing.
_HANDS_ON = frozenset({"get-tuple-element", "tuple", "bitcast"})
# Their bodies run where they stand.
_CONTROL = frozenset({"while", "conditional", "call", "async-start"})


class _Flow:
    """Runs through a program's instructions and notes when which buffer is written and read."""

    def __init__(self, module: Module, assignment: Assignment) -> None:
        self.position = -1
        self._computations = module.computations
        self._tick = 0
        self._depth = 0
        names = {one.identity: one.name for one in module.instructions()}
        self.lives = [Lifetime(buffer, names.get(buffer.instruction, "")) for buffer in assignment.buffers]
        self._defined: dict[int, list[int]] = {}
        for index, buffer in enumerate(assignment.buffers):
            self._defined.setdefault(buffer.instruction, []).append(index)

    def run(self, computation: int, arguments: Sequence[_Node], carries: bool = False) -> _Node:
        """Runs a computation.

        Args:
          computation: its id.
          arguments: by the number of the parameter.
          carries: whether the arguments are needed after it, as those of a loop's condition are.
        """
        made = self._computations[computation]
        nodes: dict[int, _Node] = {}
        for one in made.instructions.values():
            if self._depth == 0 and one.opcode not in ("parameter", "constant"):
                self.position += 1
            nodes[one.identity] = self._step(one, [nodes.get(n, _NOTHING) for n in one.operands], arguments)
        self._tick += 1
        result = nodes.get(made.root, _NOTHING)
        self._read(result)
        if carries:
            for one in made.parameters():
                self._read(nodes[one.identity])
        return result

    def _step(self, one: Instruction, operands: list[_Node], arguments: Sequence[_Node]) -> _Node:
        """What an instruction gives."""
        self._tick += 1
        first = operands[0] if operands else _NOTHING
        if one.opcode == "parameter":
            node = arguments[one.parameter] if one.parameter < len(arguments) else _NOTHING
        elif one.opcode == "get-tuple-element":
            node = first.parts.get(one.index, _NOTHING)
        elif one.opcode == "tuple":
            node = _Node(None, dict(enumerate(operands)))
        else:
            if one.opcode not in _HANDS_ON:
                for operand in operands:
                    self._read(operand)
            node = self._bodies(one, operands) if one.opcode in _CONTROL else _done(one.opcode, first)
        for index in self._defined.get(one.identity, ()):
            self._write(index)
            node = _with(node, self.lives[index].buffer.part, index)
        return node

    def _bodies(self, one: Instruction, operands: list[_Node]) -> _Node:
        """Runs the bodies of an instruction."""
        called = [identity for identity in one.called if identity in self._computations]
        self._depth += 1
        node = operands[0] if operands else _NOTHING
        if one.opcode == "while" and len(called) == 2:
            body, condition = called
            self.run(condition, operands, carries=True)
            self.run(body, operands)
        elif one.opcode == "conditional":
            made = [self.run(branch, operands[n : n + 1]) for n, branch in enumerate(called, 1)]
            node = made[0] if made else _NOTHING
        elif called:
            node = self.run(called[0], operands)
            if one.opcode == "async-start":
                node = _Node(None, {0: _Node(None, dict(enumerate(operands))), 1: node})
        self._depth -= 1
        self._tick += 1
        return node

    def _write(self, index: int) -> None:
        life = self.lives[index]
        if life.start < 0:  # a computation that two instructions call runs twice
            life.start, life.first, life.inner = self._tick, max(self.position, 0), self._depth > 0
        self._touch(life)

    def _read(self, node: _Node) -> None:
        for index in _buffers(node):
            self._touch(self.lives[index])

    def _touch(self, life: Lifetime) -> None:
        life.stop, life.last = self._tick, max(self.position, 0)
        life.inner = life.inner and life.first == life.last


def _done(opcode: str, first: _Node) -> _Node:
    """What an instruction that defines nothing hands on: its operand, or the result of what it waits for."""
    if opcode.endswith("-done"):
        return first.parts.get(0 if opcode == "copy-done" else 1, first)
    return first


def _with(node: _Node, part: tuple[int, ...], index: int) -> _Node:
    """The same with another buffer at one part."""
    if not part:
        return _Node(index, node.parts)
    inner = _with(node.parts.get(part[0], _NOTHING), part[1:], index)
    return _Node(node.buffer, {**node.parts, part[0]: inner})


def _buffers(node: _Node) -> Iterator[int]:
    if node.buffer is not None:
        yield node.buffer
    for part in node.parts.values():
        yield from _buffers(part)


# --- memory in use ---


class Use(NamedTuple):
    """Bytes at each position, and who holds them."""

    live: tuple[int, ...]
    held: tuple[Held, ...]


Slot = tuple[int, int]


def use_of_memory(lives: Sequence[Lifetime], level: Level, entry: int = 0, output_names: Sequence[str] = ()) -> Use:
    """Which bytes are in use at each op of an entry computation.

    Args:
      lives: what `lifetimes` gives.
      level: the level "hlo" that was read of the same program.
      entry: the index of its entry computation there.
      output_names: what the user calls the results, one for each or none.
    """
    count = max(len(level.computations[entry].ops), 1)
    base = _handed_over([life for life in lives if not life.inner])
    change = [0] * (count + 1)
    for life in base:
        change[life.first] += life.buffer.nbytes
        change[life.last + 1] -= life.buffer.nbytes
    live = list(accumulate(change[:count]))
    inner: dict[int, list[Lifetime]] = {}
    for life in lives:
        if life.inner:
            inner.setdefault(life.first, []).append(life)
    chosen: list[Lifetime] = []
    for position, some in sorted(inner.items()):
        taken = {_slot(life) for life in base if life.first <= position <= life.last}
        most = _most([life for life in some if _slot(life) not in taken])
        live[position] += sum(life.buffer.nbytes for life in most)
        chosen.extend(most)
    makers = _makers(level, entry)
    names = level.computations[entry].input_names, tuple(output_names)
    held = [_held(life, level, makers, names) for life in (*base, *chosen)]
    held.sort(key=lambda one: (one.first, one.last))
    return Use(tuple(live), tuple(held))


def _slot(life: Lifetime) -> Slot:
    return life.buffer.allocation, life.buffer.offset


def _handed_over(lives: list[Lifetime]) -> list[Lifetime]:
    """The lifetimes of the entry computation, so that of two that have one place only one lives at a time.

    An instruction may write its result over an operand: there the larger of the two counts, or else the result.
    """
    found: list[Lifetime] = []
    slots: dict[Slot, list[Lifetime]] = {}
    for life in sorted(lives, key=lambda life: (life.start, life.stop)):
        before = slots.setdefault(_slot(life), [])
        if before and before[-1].last >= life.first:
            if before[-1].buffer.nbytes > life.buffer.nbytes and life.last > before[-1].last:
                life.first = before[-1].last + 1
            else:
                before[-1].last = life.first - 1
        before.append(life)
    for some in slots.values():
        found.extend(life for life in some if life.first <= life.last)
    return found


def _most(lives: list[Lifetime]) -> list[Lifetime]:
    """Who lives in a body when the most bytes do, one for each place."""
    events = sorted(
        (tick, kind, n) for n, life in enumerate(lives) for kind, tick in enumerate((life.start, life.stop))
    )
    inside: dict[Slot, set[int]] = {}
    total = most = at = 0
    for number, (_, ends, n) in enumerate(events):
        here = inside.setdefault(_slot(lives[n]), set())
        total -= max((lives[one].buffer.nbytes for one in here), default=0)
        here.symmetric_difference_update((n,))
        total += max((lives[one].buffer.nbytes for one in here), default=0)
        if total > most and not ends:
            most, at = total, number
    best: dict[Slot, Lifetime] = {}
    begun = {n for _, _, n in events[: at + 1]} - {n for _, ends, n in events[: at + 1] if ends}
    for life in (lives[n] for n in sorted(begun)):
        known = best.get(_slot(life))
        if known is None or (life.buffer.nbytes, life.start) > (known.buffer.nbytes, known.start):
            best[_slot(life)] = life
    return list(best.values())


def preorder(level: Level, entry: int) -> list[int]:
    """The computations below an entry computation in the order in which a reader of one program counts them."""
    found: list[int] = []

    def visit(index: int) -> None:
        found.append(index)
        for op in level.computations[index].ops:
            for body in op.bodies:
                visit(body)

    visit(entry)
    return found


def _makers(level: Level, entry: int) -> dict[str, tuple[int, int]]:
    """The ops of a program by the names of what they give; what a body is given is its owner's."""
    found: dict[str, tuple[int, int]] = {}
    for index in preorder(level, entry):
        for at, op in enumerate(level.computations[index].ops):
            given = (value for body in op.bodies for value in level.computations[body].inputs)
            for value in (*op.outputs, *given):
                found.setdefault(level.values[value].name, (index, at))
    return found


def _held(
    life: Lifetime,
    level: Level,
    makers: dict[str, tuple[int, int]],
    names: tuple[Sequence[str], Sequence[str]],
) -> Held:
    called = names[0] if life.kind == "input" else names[1] if life.kind == "output" else ()
    if len(called) != life.among:
        called = ()  # the program has others, such as the token of an effect
    part = "".join(f"{{{number}}}" for number in life.buffer.part)  # as XLA writes it
    name = (called[life.number] if called else "") or life.name + part
    op = makers.get(life.name) if life.kind in ("output", "temporary") else None
    if op is None:
        return Held(name, life.kind, life.buffer.nbytes, life.first, life.last)
    made = level.computations[op[0]].ops[op[1]]
    return Held(name, life.kind, life.buffer.nbytes, life.first, life.last, op, made.line, made_in(made))
