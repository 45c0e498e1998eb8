"""Products of matrices and convolutions: two flops for each multiplication with its addition."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from jaxnb.reading.cost.context import Context, Rule
from jaxnb.reading.cost.sizes import elements, itemsize, moved
from jaxnb.reading.cost.value import Cost

__all__ = ["RULES", "count_meetings"]


def _dot_general(eqn: Any, context: Context) -> Cost:
    """Two flops for each element of the result and each contracted element; complex ones count as one.

    Operands of unlike dtypes are converted first to that of the result.
    """
    left, right = (v.aval for v in eqn.invars)
    result = eqn.outvars[0].aval
    contracted = math.prod(left.shape[axis] for axis in eqn.params["dimension_numbers"][0][0])
    flops, total = 2 * elements(result) * contracted, moved(eqn)
    if left.dtype != right.dtype:
        for operand in (left, right):
            if operand.dtype != result.dtype:
                count = elements(operand)
                flops += count
                total += 2 * count * itemsize(result)
    return Cost(flops, total)


def _conv_general_dilated(eqn: Any, context: Context) -> Cost:
    """Two flops for each product of an element of the input with one of the kernel.

    Positions in the padding, and the holes of a dilated input, are left out.
    """
    params = eqn.params
    left, right = (v.aval for v in eqn.invars)
    result = eqn.outvars[0].aval
    numbers = params["dimension_numbers"]
    positions = math.prod(
        count_meetings(left.shape[i], right.shape[k], result.shape[o], *window)
        for i, k, o, *window in zip(
            numbers.lhs_spec[2:],
            numbers.rhs_spec[2:],
            numbers.out_spec[2:],
            params["window_strides"],
            (low for low, _ in params["padding"]),
            params["lhs_dilation"],
            params["rhs_dilation"],
            strict=True,
        )
    )
    batch, features = (left.shape[axis] for axis in numbers.lhs_spec[:2])
    batch //= params["batch_group_count"]
    features //= params["feature_group_count"]
    return Cost(2 * batch * features * result.shape[numbers.out_spec[1]] * positions, moved(eqn))


@lru_cache(maxsize=1024)
def count_meetings(size: int, kernel: int, result: int, stride: int, padding: int, dilation: int, spread: int) -> int:
    """How many pairs of a kernel's element and a result's element meet an element of the input, along one dimension.

    Args:
      size: of the input.
      kernel: of the kernel.
      result: of the result.
      stride: steps of the window.
      padding: before the first element; negative where elements are cut off.
      dilation: of the input.
      spread: dilation of the kernel.
    """
    met = 0
    steps = np.arange(result) * stride - padding
    for at in range(kernel):
        places = steps + at * spread
        met += int(np.count_nonzero((places >= 0) & (places < size * dilation) & (places % dilation == 0)))
    return met


RULES: dict[str, Rule] = {
    "conv_general_dilated": _conv_general_dilated,
    "dot_general": _dot_general,
}
