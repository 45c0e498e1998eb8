"""What lives where a scheduled program needs the most memory, read of the order of its instructions.

Compilers of machines that are not there tell how much memory a program needs and not for what. Here every array lives
from the instruction that makes it to the last that reads it. What is written over an operand of the same size that ends
there takes its place, as compilers do where they can. So it is near to what they say, and not the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from jaxnb.program import LiveArray
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.module import PRIMITIVE_TYPES, Computation, Instruction, Module, Shape

__all__ = ["find_live", "read_live"]

_PASSES = frozenset({"bitcast", "optimization-barrier", "while"})
"""What gives its operand as it is, or as it has become."""
_TAKES_NOTHING = frozenset({"tuple", "get-tuple-element", "bitcast", "optimization-barrier"})
"""What reads no array, and only says where one stands."""


def read_live(compiled: Any) -> tuple[LiveArray, ...]:
    """The arrays that live at the peak of a program, the largest first.

    Args:
      compiled: a `jax.stages.Compiled`, or what stands for one.

    Raises:
      ChangedJax: if the modules cannot be had from this JAX.
      ValueError: if one is no `HloModuleProto`.
    """
    found = [find_live(module) for module in read_modules(compiled)]
    return max(found, key=lambda some: sum(one.padded for one in some), default=())


def find_live(module: Module) -> tuple[LiveArray, ...]:
    """Those of a module in the memory of a device; what lies in VMEM is not among them."""
    inputs = [_Tree.of(item, item.op_name or item.name, True) for item in _entry(module).parameters()]
    _, live = _Running(module).run(module.entry, inputs, is_entry=True)
    return tuple(sorted((one.array for one in live), key=lambda one: -one.padded))


def _entry(module: Module) -> Computation:
    return module.computations[module.entry]


@dataclass(slots=True, eq=False)
class _Buffer:
    """Memory of an array; the same one for all that stands in it."""

    array: LiveArray


@dataclass(slots=True)
class _Tree:
    """The memory of a value: of an array one buffer, None where it is not in the memory of the device; or parts."""

    buffer: _Buffer | None = None
    parts: list[_Tree] = field(default_factory=list["_Tree"])

    @classmethod
    def of(cls, item: Instruction, name: str, is_input: bool = False, shape: Shape | None = None) -> _Tree:
        """Memory for what an instruction makes."""
        shape = item.shape if shape is None else shape
        if shape.parts is not None:
            return cls(None, [cls.of(item, name, is_input, part) for part in shape.parts])
        if (shape.layout is not None and shape.layout.space not in (0, 5)) or not shape.nbytes:
            return cls()
        dtype = PRIMITIVE_TYPES[shape.kind][0] if shape.kind in PRIMITIVE_TYPES else f"type {shape.kind}"
        aval = f"{dtype}[{','.join(map(str, shape.sizes))}]"
        return cls(_Buffer(LiveArray(item.name, name, aval, shape.nbytes, shape.padded, is_input)))

    def buffers(self) -> Iterator[_Buffer]:
        if self.buffer is not None:
            yield self.buffer
        for part in self.parts:
            yield from part.buffers()


class _Running:
    """A module whose computations are gone through in their order."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def run(self, identity: int, inputs: Sequence[_Tree], *, is_entry: bool = False) -> tuple[_Tree, list[_Buffer]]:
        """Goes through a computation.

        Returns:
          What it gives, and what lives of its own at its peak; of the entry also its inputs.
        """
        computation = self._module.computations[identity]
        items = list(computation.instructions.values())
        values: dict[int, _Tree] = {}
        last: dict[_Buffer, int] = {}
        given = {buffer for tree in inputs for buffer in tree.buffers()}
        for at, item in enumerate(items):
            values[item.identity] = _tree(item, values, inputs)
            for operand in () if item.opcode in _TAKES_NOTHING else item.operands:
                last.update(dict.fromkeys(values[operand].buffers(), at) if operand in values else {})
            last.update((buffer, at) for buffer in values[item.identity].buffers() if buffer not in last)
        root = values.get(computation.root, _Tree())
        last.update(dict.fromkeys(root.buffers(), len(items)))
        return root, self._peak(items, values, last, given, is_entry)

    def _peak(
        self,
        items: Sequence[Instruction],
        values: dict[int, _Tree],
        last: dict[_Buffer, int],
        given: set[_Buffer],
        is_entry: bool,
    ) -> list[_Buffer]:
        """What lives where the most does, with what the loops there need for themselves."""
        live = dict.fromkeys(given) if is_entry else dict[_Buffer, None]()
        size = sum(one.array.padded for one in live)
        within = set(given)
        ends: dict[int, list[_Buffer]] = {}
        for buffer, at in last.items():
            if buffer not in given:
                ends.setdefault(at, []).append(buffer)
        best, most = list(live), size
        for at, item in enumerate(items):
            free = self._replaced(item, values, last, at)
            for buffer in dict.fromkeys(values[item.identity].buffers()):
                if buffer in live or buffer in within:
                    continue
                place = next((one for one in free if one.array.padded == buffer.array.padded), None)
                if place is not None:
                    free.remove(place)
                if place is not None and place in live:
                    del live[place]
                    size -= place.array.padded
                if place is not None and place in within:  # of whom it was given
                    within.add(buffer)
                else:
                    live[buffer] = None
                    size += buffer.array.padded
            inner = self._inner(item, values)
            whole = size + sum(one.array.padded for one in inner)
            if whole > most:
                best, most = [*live, *inner], whole
            for buffer in ends.get(at, ()):
                if buffer in live:
                    del live[buffer]
                    size -= buffer.array.padded
        return best

    def _replaced(
        self, item: Instruction, values: dict[int, _Tree], last: dict[_Buffer, int], at: int
    ) -> list[_Buffer]:
        """What nothing reads behind an instruction, in whose place it can write."""
        read = (buffer for operand in item.operands if operand in values for buffer in values[operand].buffers())
        return [buffer for buffer in read if last.get(buffer) == at and not buffer.array.is_input]

    def _inner(self, item: Instruction, values: dict[int, _Tree]) -> list[_Buffer]:
        """What the computation of a loop, or of the branch that needs most, needs for itself."""
        if item.opcode not in ("while", "conditional", "call"):
            return []
        found: list[list[_Buffer]] = []
        for number, called in enumerate(item.called):
            if called in self._module.computations:
                which = 0 if item.opcode != "conditional" else number + 1
                operand = item.operands[which] if which < len(item.operands) else None
                tree = values.get(operand, _Tree()) if operand is not None else _Tree()
                found.append(self.run(called, [tree])[1])
        return max(found, key=lambda some: sum(one.array.padded for one in some), default=[])


def _tree(item: Instruction, values: dict[int, _Tree], inputs: Sequence[_Tree]) -> _Tree:
    """Where what an instruction gives stands: in memory of its own, or in that of what it takes."""
    operands = [values.get(operand, _Tree()) for operand in item.operands]
    name = item.op_name or item.name
    if item.opcode == "parameter":
        return inputs[item.parameter] if item.parameter < len(inputs) else _Tree()
    if item.opcode == "constant":
        return _Tree()
    if item.opcode == "tuple":
        return _Tree(None, operands)
    if item.opcode == "get-tuple-element" and operands and item.index < len(operands[0].parts):
        return operands[0].parts[item.index]
    parts = item.shape.parts
    if item.opcode == "copy-start" and parts:
        return _Tree(None, [_Tree.of(item, name, shape=parts[0]), *operands])
    if item.opcode.endswith("-start") and parts:
        taken = operands[0] if len(operands) == 1 else _Tree(None, operands)
        return _Tree(None, [taken, *(_Tree.of(item, name, shape=part) for part in parts[1:])])
    if item.opcode.endswith("-done") and operands and len(operands[0].parts) > 1:
        return operands[0].parts[0 if item.opcode == "copy-done" else 1]
    if (item.opcode in _PASSES or item.opcode.endswith(("-done", "-update"))) and operands:
        return operands[0]
    return _Tree.of(item, name)
