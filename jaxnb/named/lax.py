"""`jaxnb.lax`: what `jax.lax` lost with named axes, beside all that it has."""

from __future__ import annotations

from math import prod
from operator import index
from typing import Any

import jax.numpy as jnp
from jax import lax as _lax

from jaxnb.named.along import take
from jaxnb.named.axes import check_bound
from jaxnb.named.einsum import pdot, xeinsum
from jaxnb.named.listing import counted, kept

__all__ = ["cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum", "pdot", "pgather", "top_k", "xeinsum"]

cumsum, cumprod = kept(_lax.cumsum, "operand"), kept(_lax.cumprod, "operand")
cummax, cummin = kept(_lax.cummax, "operand"), kept(_lax.cummin, "operand")
cumlogsumexp = kept(_lax.cumlogsumexp, "operand")
top_k = counted(_lax.top_k, "operand")


def pgather(src: Any, idx: Any, axes: Any) -> Any:
    """The entries of `src` at the positions `idx` along axes: names, positions, or several numbered together.

    Args:
      src: an array.
      idx: integers of any shape, which may vary over names themselves.
      axes: a name or the position of a dimension of `src`, or a tuple of them, the first most significant.

    Returns:
      An array of shape `idx.shape` with the dimensions of `src` behind it that `axes` does not have.

    Raises:
      ValueError: for a position that `src` does not have, or that is there twice.

    >>> import jax.numpy as jnp
    >>> from jaxnb import xmap
    >>> pick = xmap(lambda x, k: pgather(x, k, "i"), (["i"], ["j"]), ["j"])
    >>> pick(jnp.arange(3.0), jnp.array([2, 0])).tolist()
    [2.0, 0.0]
    >>> pick = xmap(lambda x, k: pgather(x, k, ("i", 0)), (["i", None], ["j"]), ["j"])
    >>> pick(jnp.arange(6.0).reshape(3, 2), jnp.array([5, 0])).tolist()
    [5.0, 0.0]
    """
    listed = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    if len(listed) == 1 and not _is_position(listed[0]):
        return take(src, idx, listed[0])
    src = jnp.asarray(src)
    names = tuple(axis for axis in listed if not _is_position(axis))
    for name in names:
        check_bound(name, "pgather(axes=...)")
    positions = [_position(axis, src.ndim) for axis in listed if _is_position(axis)]
    if len(set(positions)) < len(positions):
        raise ValueError(f"pgather(axes={axes!r}) has a position twice.")
    places, along = iter(positions), iter(range(len(names)))
    for name in reversed(names):
        src = _lax.all_gather(src, name)
    front = [next(places) + len(names) if _is_position(axis) else next(along) for axis in listed]
    src = jnp.moveaxis(src, front, range(len(listed)))
    return jnp.take(src.reshape(prod(src.shape[: len(listed)]), *src.shape[len(listed) :]), idx, 0)


def _is_position(axis: Any) -> bool:
    return hasattr(axis, "__index__")


def _position(axis: Any, ndim: int) -> int:
    number = index(axis)
    if not -ndim <= number < ndim:
        raise ValueError(f"pgather(axes=...) has the position {number}, and the array has {ndim} dimensions.")
    return number % ndim


def __getattr__(name: str) -> Any:
    return getattr(_lax, name)
