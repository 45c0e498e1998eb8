"""Elements and bytes of what an equation reads and writes."""

from __future__ import annotations

import math
from typing import Any

from jaxnb._jax import shape_and_dtype

__all__ = ["Unsized", "elements", "is_complex", "itemsize", "moved", "nbytes"]


class Unsized(ValueError):
    """A shape holds a symbol (of `jax.export`), so that nothing can be counted."""


def elements(aval: Any) -> int:
    """How many elements an array of this aval has; none if it is no array.

    Raises:
      Unsized: if a size is a symbol.
    """
    try:
        count: Any = math.prod(aval.shape)
    except AttributeError:
        return 0
    if not isinstance(count, int):
        raise Unsized(f"{aval} has no fixed size")
    return count


def itemsize(aval: Any) -> int:
    """Bytes of one element: 1 for a boolean, 8 for a threefry key; 0 for what is no array, such as a token."""
    try:
        return aval.dtype.itemsize
    except AttributeError:
        return shape_and_dtype(aval)[2]


def nbytes(aval: Any) -> int:
    """The bytes of an array of this aval.

    Raises:
      Unsized: if a size is a symbol.
    """
    return elements(aval) * itemsize(aval)


def is_complex(aval: Any) -> bool:
    """Whether the elements are complex numbers."""
    return getattr(aval.dtype, "kind", "") == "c"


def moved(eqn: Any) -> int:
    """The bytes of all operands and results, once each."""
    return sum(nbytes(v.aval) for v in eqn.invars) + sum(nbytes(v.aval) for v in eqn.outvars)
