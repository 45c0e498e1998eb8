"""`jaxnb.numpy.linalg`: `jax.numpy.linalg`, where an axis may be a name. What is not here is JAX's own."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxnb.named import along, reductions
from jaxnb.named.axes import has_names, split_axes
from jaxnb.named.errors import AxisSpecError
from jaxnb.named.reductions import vecdot

__all__ = ["cross", "norm", "vecdot", "vector_norm"]


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
    if not has_names(axis):
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


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """`jax.numpy.linalg.vector_norm`, whose `axis` may be a name, or a tuple of positions and names.

    >>> float(vector_norm(jnp.array([3.0, 4.0])))
    5.0
    """
    if not has_names(axis):
        return jnp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    return norm(x, ord, axis, keepdims)


def cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """`jax.numpy.linalg.cross`, whose `axis` may be a name of three positions.

    >>> cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    return along.cross(x1, x2, axis=axis) if has_names(axis) else jnp.linalg.cross(x1, x2, axis=axis)


def __getattr__(name: str) -> Any:
    return getattr(jnp.linalg, name)
