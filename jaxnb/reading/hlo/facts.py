"""The facts of an optimised HLO module that decide what its instructions cost: shapes, windows, trip counts.

They are read from the message that a module serializes to. What only a person wants to see is read by `hlo`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jaxnb.reading.hlo.protobuf import Message, fields, message_of, read_varints
from jaxnb.reading.hlo.wire import PRIMITIVE_TYPES

__all__ = ["Computation", "Facts", "Instruction", "Shape", "WindowDimension", "read_facts"]

_POINTER = 8


class Shape(NamedTuple):
    """Of an array, or of a tuple if `parts` is not None."""

    sizes: tuple[int, ...] = ()
    itemsize: int = 0
    parts: tuple[Shape, ...] | None = None

    @property
    def elements(self) -> int:
        """How many numbers an array has; a tuple has none of its own."""
        return math.prod(self.sizes) if self.parts is None else 0

    @property
    def nbytes(self) -> int:
        """The bytes of an array, or of the pointers that a tuple consists of."""
        return self.elements * self.itemsize if self.parts is None else _POINTER * len(self.parts)

    def leaves(self) -> tuple[Shape, ...]:
        """The arrays of a tuple, or the one that it is."""
        return (self,) if self.parts is None else tuple(leaf for part in self.parts for leaf in part.leaves())


class WindowDimension(NamedTuple):
    """The fields of xla::WindowDimension."""

    size: int = 1
    stride: int = 1
    padding_low: int = 0
    padding_high: int = 0
    window_dilation: int = 1
    base_dilation: int = 1


class ConvolutionNumbers(NamedTuple):
    """Which dimension is which: of the input, the kernel and the result."""

    batch: int = 0
    input_feature: int = 0
    output_feature: int = 0
    input_spatial: tuple[int, ...] = ()
    kernel_spatial: tuple[int, ...] = ()
    output_spatial: tuple[int, ...] = ()


_NO_SHAPE = Shape()
_NO_NUMBERS = ConvolutionNumbers()


@dataclass(slots=True)
class Instruction:
    """An instruction. `trips` is how often a loop runs, if XLA knows; `contracting` are dimensions of the left operand
    of a product."""

    name: str = ""
    opcode: str = ""
    shape: Shape = _NO_SHAPE
    identity: int = 0
    operands: tuple[int, ...] = ()
    called: tuple[int, ...] = ()
    index: int = 0
    parameter: int = 0
    kind: str = ""
    window: tuple[WindowDimension, ...] = ()
    convolution: ConvolutionNumbers = _NO_NUMBERS
    contracting: tuple[int, ...] = ()
    fft_length: tuple[int, ...] = ()
    feature_groups: int = 1
    batch_groups: int = 1
    trips: int | None = None


@dataclass(slots=True)
class Computation:
    """Instructions by their ids, in an order in which they could be run."""

    instructions: dict[int, Instruction] = field(default_factory=dict[int, Instruction])
    root: int = 0

    def operands(self, instruction: Instruction) -> list[Instruction]:
        """What an instruction reads."""
        return [self.instructions[identity] for identity in instruction.operands]

    def users(self) -> dict[int, list[Instruction]]:
        """What reads each instruction."""
        found: dict[int, list[Instruction]] = {}
        for instruction in self.instructions.values():
            for operand in dict.fromkeys(instruction.operands):
                found.setdefault(operand, []).append(instruction)
        return found


class Facts(NamedTuple):
    """The computations of a module by their ids, and the id of the entry."""

    computations: dict[int, Computation]
    entry: int


def read_facts(module: bytes) -> Facts:
    """Reads a module.

    Args:
      module: the bytes of an `HloModuleProto`.

    Raises:
      ValueError: if the bytes are no such message.
    """
    computations: dict[int, Computation] = {}
    shapes: dict[bytes, Shape] = {}
    entry = 0
    for number, value in fields(memoryview(module)):
        if number == 3 and not isinstance(value, int):
            identity, computation = _read_computation(value, shapes)
            computations[identity] = computation
        elif number == 6 and isinstance(value, int):
            entry = value
    return Facts(computations, entry)


def _read_computation(message: Message, shapes: dict[bytes, Shape]) -> tuple[int, Computation]:
    identity, made = 0, Computation()
    for number, value in fields(message):
        if number == 2 and not isinstance(value, int):
            instruction = _read_instruction(value, shapes)
            made.instructions[instruction.identity] = instruction
        elif number == 5 and isinstance(value, int):
            identity = value
        elif number == 6 and isinstance(value, int):
            made.root = value
    return identity, made


_NUMBERS = {9: "parameter", 13: "index", 35: "identity"}
_LISTS = {32: "fft_length", 36: "operands", 38: "called"}
_TEXTS = {1: "name", 2: "opcode", 11: "kind"}


def _read_instruction(message: Message, shapes: dict[bytes, Shape]) -> Instruction:
    made = Instruction()
    for number, value in fields(message):
        if number in _LISTS:
            name = _LISTS[number]
            setattr(made, name, (*getattr(made, name), *read_varints(value)))
        elif isinstance(value, int):
            if number in _NUMBERS:
                setattr(made, _NUMBERS[number], value)
            elif number == 50:
                made.feature_groups = max(value, 1)
            elif number == 58:
                made.batch_groups = max(value, 1)
        elif number in _TEXTS:
            setattr(made, _TEXTS[number], bytes(value).decode(errors="replace"))
        elif number == 3:
            key = bytes(value)  # most shapes of a module are a few
            if key not in shapes:
                shapes[key] = _read_shape(value)
            made.shape = shapes[key]
        elif number == 15:
            made.window = tuple(_read_window(part) for at, part in fields(value) if at == 1)
        elif number == 16:
            made.convolution = _read_convolution(value)
        elif number == 30:
            found = (read_varints(part) for at, part in fields(value) if at == 1)
            made.contracting = tuple(axis for some in found for axis in some)
        elif number == 43 and made.opcode == "while":
            made.trips = _read_trips(bytes(value))
    return made


def _read_shape(message: Message) -> Shape:
    """xla::ShapeProto."""
    kind, sizes, parts = 0, list[int](), list[Shape]()
    for number, value in fields(message):
        if number == 2 and isinstance(value, int):
            kind = value
        elif number == 3:
            sizes.extend(read_varints(value))
        elif number == 4 and not isinstance(value, int):
            parts.append(_read_shape(value))
    return Shape(parts=tuple(parts)) if kind == 13 else Shape(tuple(sizes), PRIMITIVE_TYPES.get(kind, ("", 0))[1])


def _read_window(message: int | Message) -> WindowDimension:
    # Fields that are 0 are not written, whatever would be usual.
    found = dict.fromkeys(range(1, 7), 0)
    for number, value in fields(message_of(message)):
        if number in found:
            found[number] = _signed(value)
    return WindowDimension(*found.values())


def _read_convolution(message: Message) -> ConvolutionNumbers:
    """xla::ConvolutionDimensionNumbers."""
    found: dict[int, list[int]] = {number: [] for number in (6, 7, 8, 10, 11, 12)}
    for number, value in fields(message):
        if number in found:
            found[number].extend(read_varints(value))
    kernel, batch, feature, result, spatial, output = found.values()
    batch, feature, result = (some[0] if some else 0 for some in (batch, feature, result))
    return ConvolutionNumbers(batch, feature, result, tuple(spatial), tuple(kernel), tuple(output))


def _read_trips(config: bytes) -> int | None:
    """What the backend was told of a loop: `{"known_trip_count":{"n":"10"}}`."""
    try:
        known: Any = json.loads(config)
        return int(known["known_trip_count"]["n"])
    except (ValueError, KeyError, TypeError):
        return None


def _signed(value: int | Message) -> int:
    number = read_varints(value)[0]
    return number - (1 << 64) if number >> 63 else number
