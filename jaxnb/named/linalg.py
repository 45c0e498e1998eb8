"""`jaxnb.numpy.linalg`: `jax.numpy.linalg` with names for axes in `norm`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxnb.named import reductions
from jaxnb.named.axes import split_axes
from jaxnb.named.errors import AxisSpecError

__all__ = ["norm"]


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """`jax.numpy.linalg.norm`, whose `axis` may be a name, or a tuple of positions and names.

    With names it is the vector norm over all of them together.

    Args:
      x: an array.
      ord: None or 2 for the Euclidean norm, 1, 0, inf, -inf, or any other number.
      axis: what to reduce.
      keepdims: whether reduced positions stay, with size 1.

    Raises:
      AxisSpecError: `ord` is a matrix norm, and there are names.

    >>> float(norm(jnp.array([3.0, 4.0])))
    5.0
    """
    if not reductions.has_names(axis):
        return jnp.linalg.norm(x, ord, axis, keepdims)
    split_axes(axis, jnp.ndim(x), "norm(axis=...)")
    if isinstance(ord, str):
        raise AxisSpecError(
            f"norm(ord={ord!r}) is a matrix norm, and axis = {axis!r} has names.",
            why="over names the norm is one of vectors.",
            fix="leave ord out for the Euclidean norm, or gather the name with jax.lax.all_gather first.",
        )
    size = jnp.abs(x)
    if ord is None or ord == 2:
        return jnp.sqrt(reductions.sum(jnp.real(x * jnp.conj(x)), axis, keepdims=keepdims))
    if ord == np.inf:
        return reductions.max(size, axis, keepdims=keepdims)
    if ord == -np.inf:
        return reductions.min(size, axis, keepdims=keepdims)
    if ord == 0:
        return reductions.sum((x != 0).astype(size.dtype), axis, keepdims=keepdims)
    if ord == 1:
        return reductions.sum(size, axis, keepdims=keepdims)
    return reductions.sum(size**ord, axis, keepdims=keepdims) ** (1 / ord)


def __getattr__(name: str) -> Any:
    return getattr(jnp.linalg, name)
