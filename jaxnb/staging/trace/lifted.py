"""Which NumPy values lose bits as inputs of a program (SEMANTICS, rule 2)."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

__all__ = ["narrowed_to"]


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
