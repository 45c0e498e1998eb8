"""NumPy arrays that a trace has made, made again."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["copy_of", "view_of"]


def copy_of(array: np.ndarray[Any, Any], writeable: bool) -> np.ndarray[Any, Any]:
    """A copy that is laid out in the same way."""
    made = array.copy(order="K")
    made.flags.writeable = writeable
    return made


def view_of(base: np.ndarray[Any, Any], form: tuple[Any, ...], writeable: bool) -> np.ndarray[Any, Any]:
    """A view of `base` of this shape, dtype and strides, from this offset in bytes on."""
    shape, dtype, strides, offset = form
    made = np.ndarray(shape, dtype, base, offset, strides)
    if not writeable:
        made.flags.writeable = False
    return made
