"""Which results the plain cell makes NumPy values, where the staged cell makes jax.Arrays (SEMANTICS, rule 2).

In a staged statement NumPy values become inputs of the program. Operators between them, which plain Python leaves to
NumPy, are then JAX's; functions of `jax.numpy` give JAX arrays either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxnb import _jax

__all__ = ["narrowed_to", "numpy_results"]


def numpy_results(invars: Sequence[Any], eqns: Sequence[Any], outvars: Sequence[Any], numpy: set[int]) -> set[int]:
    """Positions of the results that operators made of NumPy inputs and constants alone.

    Args:
      invars: the input variables, one a leaf.
      eqns: the equations of the piece.
      outvars: the result variables.
      numpy: positions of the inputs that are NumPy values.
    """
    if not numpy:
        return set()
    foreign = {var for index, var in enumerate(invars) if index in numpy}
    for eqn in eqns:
        operands = [var for var in eqn.invars if not hasattr(var, "val")]
        if operands and all(var in foreign for var in operands) and _jax.made_by_operator(eqn):
            foreign.update(eqn.outvars)
    own = {var for index, var in enumerate(invars) if index in numpy}
    return {place for place, var in enumerate(outvars) if not hasattr(var, "val") and var in foreign and var not in own}


def narrowed_to(value: Any) -> np.dtype[Any] | None:
    """The dtype that a NumPy value gets as an input of a program, if it loses bits on the way; otherwise None."""
    if value.dtype.itemsize < 8 or value.dtype.kind not in "iufc":
        return None
    target = np.dtype(jax.dtypes.canonicalize_dtype(value.dtype))
    if target == value.dtype:
        return None
    with np.errstate(all="ignore"):
        back = np.asarray(value).astype(target).astype(value.dtype)
    return None if np.array_equal(back, value, equal_nan=value.dtype.kind in "fc") else target
