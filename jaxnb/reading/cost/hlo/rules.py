"""The table of rules by opcode: what one run of an instruction costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from jaxnb.reading.cost.contractions import count_meetings
from jaxnb.reading.hlo.module import Computation, Instruction, Shape, WindowDimension

__all__ = ["RULES", "UNKNOWN", "Rule", "Unit", "convolution_flops", "product_flops"]


class Unit(NamedTuple):
    """What one run of an instruction costs, without what is in its bodies; None where nobody knows.

    Attributes:
      flops: additions, multiplications, comparisons and the like.
      bytes: read and written.
      transcendentals: values of exp, log, tanh and the like.
      bodies: how often each body runs in turn; None where that is not known.
      inside: "" if the bodies run as they stand, "fused" if they move nothing, "counted" if `flops` has them already,
        "one of" if only one of them runs.
    """

    flops: int | None = 0
    bytes: int | None = 0
    transcendentals: int | None = 0
    bodies: tuple[int | None, ...] = ()
    inside: str = ""


_PLAIN = """
abs add and bitcast-convert ceil clamp compare complex convert count-leading-zeros divide floor imag is-finite maximum
minimum multiply negate not or popcnt real reduce-precision remainder round-nearest-afz round-nearest-even select
shift-left shift-right-arithmetic shift-right-logical sign stochastic-convert subtract xor
"""
_TRANSCENDENTAL = """
atan2 cbrt cosine erf exponential exponential-minus-one log log-plus-one logistic power rsqrt sine sqrt tan tanh
acos acosh asin asinh atanh cosh sinh
"""
# They read their operands and write their results, and compute nothing.
_MOVING = """
all-gather all-to-all broadcast collective-broadcast collective-permute concatenate copy iota pad partition-id
ragged-all-to-all replica-id reshape reverse rng-get-and-update-state transpose
"""
# They only say where something is.
_FREE = """
add-dependency after-all async-done async-update bitcast constant domain get-tuple-element optimization-barrier
parameter
"""
# The two halves of something that goes on meanwhile.
_STARTS = "all-gather-start collective-permute-start copy-start"
_DONES = "all-gather-done all-reduce-done collective-permute-done copy-done"

Rule = Callable[[Instruction, Computation], Unit]


def _moved(item: Instruction, around: Computation) -> int:
    return _written(item) + sum(operand.shape.nbytes for operand in around.operands(item))


def _written(item: Instruction) -> int:
    return sum(leaf.nbytes for leaf in item.shape.leaves())


def _first(shape: Shape) -> Shape:
    return shape.leaves()[0] if shape.parts else shape


def _plain(item: Instruction, around: Computation) -> Unit:
    return Unit(item.shape.elements, _moved(item, around))


def _transcendental(item: Instruction, around: Computation) -> Unit:
    return Unit(0, _moved(item, around), item.shape.elements)


def _moving(item: Instruction, around: Computation) -> Unit:
    return Unit(0, _moved(item, around))


def _start(item: Instruction, around: Computation) -> Unit:
    return Unit(0, sum(operand.shape.nbytes for operand in around.operands(item)))


def _done(item: Instruction, around: Computation) -> Unit:
    return Unit(0, _written(item))


def _free(item: Instruction, around: Computation) -> Unit:
    return Unit()


def _tuple(item: Instruction, around: Computation) -> Unit:
    return Unit(0, item.shape.nbytes)


def _slice(item: Instruction, around: Computation) -> Unit:
    """Reads what it writes; so does one whose place is computed, which reads the place, too."""
    places = [operand.shape.nbytes for operand in around.operands(item)[1:2]]
    return Unit(0, 2 * item.shape.nbytes + sum(places))


def _update_slice(item: Instruction, around: Computation) -> Unit:
    """Reads and writes what it changes, in place."""
    operands = around.operands(item)
    return Unit(0, 2 * operands[1].shape.nbytes + sum(operand.shape.nbytes for operand in operands[2:3]))


def _gather(item: Instruction, around: Computation) -> Unit:
    return Unit(0, 2 * item.shape.nbytes + around.operands(item)[1].shape.nbytes)


def _scatter(item: Instruction, around: Computation) -> Unit:
    """Applies its function to each element of the updates, which are read, and read and written in the operand."""
    operands = around.operands(item)
    count = len(operands) // 2
    updates = operands[count + 1 :]
    moved = 3 * sum(update.shape.nbytes for update in updates) + operands[count].shape.nbytes
    return Unit(0, moved, 0, (updates[0].shape.elements,), "fused")


def _dot(item: Instruction, around: Computation) -> Unit:
    return Unit(product_flops(item, around.operands(item)[0].shape, item.shape), _moved(item, around))


def product_flops(item: Instruction, left: Shape, result: Shape) -> int:
    """Flops of a product: a multiplication and an addition for each number of the result and each one contracted."""
    contracted = math.prod(left.sizes[axis] for axis in item.dot.left) if item.dot else 1
    return 2 * result.elements * contracted


def _convolution(item: Instruction, around: Computation) -> Unit:
    left, right = (operand.shape for operand in around.operands(item)[:2])
    return Unit(convolution_flops(item, left, right, item.shape), _moved(item, around))


def convolution_flops(item: Instruction, images: Shape, kernel: Shape, result: Shape) -> int:
    """Flops of a convolution, or of what computes the gradient by its images or its kernel from that by its result."""
    numbers, left, right, out = item.convolution, images.sizes, kernel.sizes, result.sizes
    parts = zip(numbers.input_spatial, numbers.kernel_spatial, numbers.output_spatial, item.window, strict=True)
    positions = math.prod(_meetings(left[i], right[k], out[o], window) for i, k, o, window in parts)
    features, batch = left[numbers.input_feature] // item.feature_groups, left[numbers.batch] // item.batch_groups
    return 2 * features * out[numbers.output_feature] * batch * positions


def _meetings(size: int, kernel: int, result: int, window: WindowDimension) -> int:
    return count_meetings(
        size, kernel, result, window.stride, window.padding_low, window.base_dilation, window.window_dilation
    )


def _reduce(item: Instruction, around: Computation) -> Unit:
    count = max(around.operands(item)[0].shape.elements - _first(item.shape).elements, 0)  # of none there is none
    return Unit(0, _moved(item, around), 0, (count,), "fused")


def _reduce_window(item: Instruction, around: Computation) -> Unit:
    """Applies its function to each window but for one element of it; XLA sees a sum over all of a dimension as one."""
    size, result = math.prod(part.size for part in item.window), _first(item.shape)
    count = (size - 1) * result.elements
    wide = [axis for axis, part in enumerate(item.window) if part.size != 1]
    padded = [axis for axis, part in enumerate(item.window) if part.padding_low or part.padding_high]
    if len(wide) == 1 and wide == padded and item.shape.parts is None:
        part, whole = item.window[wide[0]], result.sizes[wide[0]]
        if part.padding_low == part.padding_high == whole - 1 and part.size == 2 * part.padding_low + 1:
            count = result.elements // whole + whole - 1
    return Unit(0, _moved(item, around), 0, (count,), "fused")


def _select_and_scatter(item: Instruction, around: Computation) -> Unit:
    source = around.operands(item)[1].shape.elements
    size = math.prod(part.size for part in item.window)
    return Unit(0, _moved(item, around), 0, (source * (size - 1), source), "fused")


def _map(item: Instruction, around: Computation) -> Unit:
    return Unit(0, _moved(item, around), 0, (item.shape.elements,), "fused")


def _sort(item: Instruction, around: Computation) -> Unit:
    """n log n comparisons, each one flop whatever it consists of."""
    count = around.operands(item)[0].shape.elements
    compared = count * max(count - 1, 0).bit_length()
    return Unit(compared, _moved(item, around), 0, (compared,), "counted")


def _fft(item: Instruction, around: Computation) -> Unit:
    factors = math.prod(length.bit_length() - 1 for length in item.fft_length)
    return Unit(8 * factors * around.operands(item)[0].shape.elements, _moved(item, around))


def _triangular_solve(item: Instruction, around: Computation) -> Unit:
    """Half of the matrix is read."""
    matrix, right = (operand.shape for operand in around.operands(item)[:2])
    moved = item.shape.nbytes + matrix.nbytes // 2 + right.nbytes
    return Unit(2 * matrix.sizes[-1] * right.elements, moved)


def _cholesky(item: Instruction, around: Computation) -> Unit:
    """Half of the matrix is read and half of it written."""
    matrix = around.operands(item)[0].shape
    return Unit(matrix.sizes[-1] * matrix.elements // 3, matrix.nbytes)


def _all_reduce(item: Instruction, around: Computation) -> Unit:
    """As if there were two: one flop for each element, and what the function consists of does not matter."""
    elements = sum(leaf.elements for leaf in item.shape.leaves())
    return Unit(elements, _moved(item, around), 0, (elements,), "counted")


def _random(item: Instruction, around: Computation) -> Unit:
    return Unit(0, _moved(item, around), sum(leaf.elements for leaf in item.shape.leaves()))


def _while(item: Instruction, around: Computation) -> Unit:
    return Unit(bodies=(item.trips, None if item.trips is None else item.trips + 1))


def _call(item: Instruction, around: Computation) -> Unit:
    return Unit(bodies=(1,) * len(item.called))


def _conditional(item: Instruction, around: Computation) -> Unit:
    return Unit(bodies=(1,) * len(item.called), inside="one of")


RULES: dict[str, Rule] = {
    **dict.fromkeys(_PLAIN.split(), _plain),
    **dict.fromkeys(_TRANSCENDENTAL.split(), _transcendental),
    **dict.fromkeys(_MOVING.split(), _moving),
    **dict.fromkeys(_FREE.split(), _free),
    **dict.fromkeys(_STARTS.split(), _start),
    **dict.fromkeys(_DONES.split(), _done),
    "all-reduce": _all_reduce,
    "all-reduce-start": _all_reduce,
    "async-start": _call,
    "call": _call,
    "cholesky": _cholesky,
    "conditional": _conditional,
    "convolution": _convolution,
    "dot": _dot,
    "dynamic-slice": _slice,
    "dynamic-update-slice": _update_slice,
    "fft": _fft,
    "gather": _gather,
    "map": _map,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "rng": _random,
    "rng-bit-generator": _random,
    "scatter": _scatter,
    "select-and-scatter": _select_and_scatter,
    "slice": _slice,
    "sort": _sort,
    "triangular-solve": _triangular_solve,
    "tuple": _tuple,
    "while": _while,
}
UNKNOWN = Unit(None, None, None)
"""Of what has no rule."""
