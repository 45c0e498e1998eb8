"""An optimised HLO module as data: its computations and their instructions, with the fields that a reader needs.

`decode` makes it of the message that a module serializes to; the level, the costs and the memory are made of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "NO_SHAPE",
    "PRIMITIVE_TYPES",
    "Computation",
    "ConvolutionNumbers",
    "DotNumbers",
    "Instruction",
    "Layout",
    "Module",
    "Shape",
    "WindowDimension",
]

PRIMITIVE_TYPES = {
    1: ("bool", 1),
    2: ("int8", 1),
    3: ("int16", 2),
    4: ("int32", 4),
    5: ("int64", 8),
    6: ("uint8", 1),
    7: ("uint16", 2),
    8: ("uint32", 4),
    9: ("uint64", 8),
    10: ("float16", 2),
    11: ("float32", 4),
    12: ("float64", 8),
    15: ("complex64", 8),
    16: ("bfloat16", 2),
    17: ("token", 0),
    18: ("complex128", 16),
    19: ("float8_e5m2", 1),
    20: ("float8_e4m3fn", 1),
    21: ("int4", 1),
    22: ("uint4", 1),
    23: ("float8_e4m3b11fnuz", 1),
    24: ("float8_e5m2fnuz", 1),
    25: ("float8_e4m3fnuz", 1),
    26: ("int2", 1),
    27: ("uint2", 1),
    28: ("float8_e4m3", 1),
    29: ("float8_e3m4", 1),
    30: ("int1", 1),
    31: ("uint1", 1),
    32: ("float4_e2m1fn", 1),
    33: ("float8_e8m0fnu", 1),
}
"""The numbers of xla::PrimitiveType, with the name of the dtype and the bytes of one element; what takes less than a
byte is stored in one."""

_POINTER = 8


class Layout(NamedTuple):
    """How an array lies in the memory of a device where that is not row by row in the usual one.

    Attributes:
      order: the dimensions from the fastest to the slowest.
      tiles: the sizes of each tile; a further one cuts what lies in the one before.
      space: the memory space: on a TPU 1 is VMEM, on a GPU memory for collectives; 0 is HBM.
    """

    order: tuple[int, ...] = ()
    tiles: tuple[tuple[int, ...], ...] = ()
    space: int = 0

    def __str__(self) -> str:
        """As XLA writes it: `{1,0:T(8,128)(2,1)S(1)}`."""
        tiles = "".join(f"({','.join(map(str, tile))})" for tile in self.tiles)
        more = f"{'T' if tiles else ''}{tiles}{f'S({self.space})' if self.space else ''}"
        return f"{{{','.join(map(str, self.order))}{':' if more else ''}{more}}}"


class Shape(NamedTuple):
    """Of an array, or of a tuple if `parts` is not None. `kind` is a number of xla::PrimitiveType.

    `layout` is None where it has neither tiles nor a memory space.
    """

    sizes: tuple[int, ...] = ()
    itemsize: int = 0
    parts: tuple[Shape, ...] | None = None
    kind: int = 0
    layout: Layout | None = None

    @property
    def elements(self) -> int:
        """How many numbers an array has; a tuple has none of its own."""
        return math.prod(self.sizes) if self.parts is None else 0

    @property
    def nbytes(self) -> int:
        """The bytes of an array, or of the pointers that a tuple consists of."""
        return self.elements * self.itemsize if self.parts is None else _POINTER * len(self.parts)

    @property
    def padded(self) -> int:
        """The bytes that an array takes with what its tiles add to its sizes.

        >>> Shape((1000, 100), 2, None, 16, Layout((1, 0), ((8, 128), (2, 1)))).padded
        256000
        """
        if self.parts is not None or self.layout is None or not self.layout.tiles:
            return self.nbytes
        sizes = [self.sizes[dimension] for dimension in reversed(self.layout.order)]
        for tile in self.layout.tiles:
            sizes = [1] * (len(tile) - len(sizes)) + sizes
            rest, cut = sizes[: len(sizes) - len(tile)], sizes[len(sizes) - len(tile) :]
            sizes = [*rest, *(-(-size // edge) for size, edge in zip(cut, tile, strict=True)), *tile]
        return math.prod(sizes) * self.itemsize

    def leaves(self) -> tuple[Shape, ...]:
        """The arrays of a tuple, or the one that it is."""
        return (self,) if self.parts is None else tuple(leaf for part in self.parts for leaf in part.leaves())


NO_SHAPE = Shape()


class WindowDimension(NamedTuple):
    """The fields of xla::WindowDimension."""

    size: int
    stride: int
    padding_low: int
    padding_high: int
    window_dilation: int
    base_dilation: int


class ConvolutionNumbers(NamedTuple):
    """Which dimension is which: of the input, the kernel and the result."""

    batch: int = 0
    input_feature: int = 0
    output_feature: int = 0
    input_spatial: tuple[int, ...] = ()
    kernel_spatial: tuple[int, ...] = ()
    output_spatial: tuple[int, ...] = ()


_NO_NUMBERS = ConvolutionNumbers()


class DotNumbers(NamedTuple):
    """The dimensions of a product, in the order in which a jaxpr has them."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    left_batch: tuple[int, ...]
    right_batch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """The fields of xla::HloInstructionProto.

    Attributes:
      op_name: what JAX called it.
      parameter: the number of an input.
      index: of the part of a tuple that is taken.
      kind: of a fusion.
      target: of a custom call.
      literal: the one number of a constant, as text; "" for more or other numbers.
      dot: of a product; None for what is none.
      groups: the devices of a collective, see `groups`.
      pairs: from which device to which something is sent.
      trips: how often a loop runs, if XLA knows.
      channel: of a collective; those with the same one are one, of which a TPU fuses parts with what runs beside it.
      cycles: how many the compiler estimates for one run; None where it says nothing.
      emitter: how a TPU's compiler writes a fusion of collectives.
    """

    name: str = ""
    opcode: str = ""
    shape: Shape = NO_SHAPE
    identity: int = 0
    operands: tuple[int, ...] = ()
    called: tuple[int, ...] = ()
    op_name: str = ""
    parameter: int = 0
    index: int = 0
    kind: str = ""
    target: str = ""
    literal: str = ""
    direction: str = ""
    dimensions: tuple[int, ...] = ()
    dot: DotNumbers | None = None
    window: tuple[WindowDimension, ...] = ()
    convolution: ConvolutionNumbers = _NO_NUMBERS
    feature_groups: int = 1
    batch_groups: int = 1
    fft_length: tuple[int, ...] = ()
    groups: str = ""
    pairs: tuple[tuple[int, int], ...] = ()
    trips: int | None = None
    channel: int = 0
    cycles: int | None = None
    emitter: str = ""


@dataclass(frozen=True, slots=True)
class Computation:
    """Instructions by their ids, in the order in which they are run, or could be where XLA has fixed none."""

    instructions: Mapping[int, Instruction]
    root: int

    def operands(self, instruction: Instruction) -> list[Instruction]:
        """What an instruction reads."""
        return [self.instructions[identity] for identity in instruction.operands]

    def parameters(self) -> list[Instruction]:
        """The inputs by their numbers."""
        found = (item for item in self.instructions.values() if item.opcode == "parameter")
        return sorted(found, key=lambda item: item.parameter)

    def users(self) -> dict[int, list[Instruction]]:
        """What reads each instruction."""
        found: dict[int, list[Instruction]] = {}
        for instruction in self.instructions.values():
            for operand in dict.fromkeys(instruction.operands):
                found.setdefault(operand, []).append(instruction)
        return found


@dataclass(frozen=True, slots=True)
class Module:
    """The computations of a module by their ids.

    Attributes:
      entry: the id of the one where it starts.
      aliases: results that are written to the buffer of a parameter, each with the number of that.
    """

    computations: Mapping[int, Computation]
    entry: int
    aliases: Mapping[int, int]

    def instructions(self) -> Iterator[Instruction]:
        """Those of all computations."""
        for computation in self.computations.values():
            yield from computation.instructions.values()
