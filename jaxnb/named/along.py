"""Functions of `jax.numpy` that work along an axis and keep it: scans, sorts, taking, joining."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxnb.named.axes import check_bound, gathered, is_name, own_entry
from jaxnb.named.errors import AxisSizeError

__all__ = [
    "argsort",
    "concatenate",
    "cumprod",
    "cumsum",
    "diff",
    "expand_dims",
    "flip",
    "roll",
    "sort",
    "stack",
    "take",
    "take_along_axis",
]


def _along(plain: Callable[..., Any], default: int | None) -> Callable[..., Any]:
    @wraps(plain)
    def run(a: Any, axis: Any = default, *args: Any, **kwargs: Any) -> Any:
        if not is_name(axis):
            return plain(a, axis, *args, **kwargs)
        check_bound(axis, f"{plain.__name__}(axis=...)")
        return own_entry(plain(gathered(a, [axis], 0), 0, *args, **kwargs), axis, 0)

    run.__doc__ = (
        f"`jax.numpy.{plain.__name__}`, whose `axis` may be a name.\n\n"
        "    Along a name the result at each position is the entry that belongs there.\n    "
    )
    return run


cumsum = _along(jnp.cumsum, None)
cumprod = _along(jnp.cumprod, None)
sort = _along(jnp.sort, -1)
argsort = _along(jnp.argsort, -1)
flip = _along(jnp.flip, None)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """`jax.numpy.roll`, whose `axis` may be a name; along a name `shift` is a static integer.

    >>> roll(jnp.arange(3), 1).tolist()
    [2, 0, 1]
    """
    if not is_name(axis):
        return jnp.roll(a, shift, axis)
    check_bound(axis, "roll(axis=...)")
    n = lax.axis_size(axis)
    return lax.ppermute(jnp.asarray(a), axis, [(i, (i + int(shift)) % n) for i in range(n)])


def diff(a: Any, n: int = 1, axis: Any = -1) -> Any:
    """`jax.numpy.diff`; along a name the differences, which are fewer than positions, get a new leading
    dimension.

    >>> diff(jnp.array([1, 4, 9])).tolist()
    [3, 5]
    """
    if not is_name(axis):
        return jnp.diff(a, n, axis)
    check_bound(axis, "diff(axis=...)")
    return jnp.diff(gathered(a, [axis], 0), n, 0)


def take(a: Any, indices: Any, axis: Any = None, **kwargs: Any) -> Any:
    """`jax.numpy.take`, whose `axis` may be a name: the entries at `indices` along it, which may vary
    themselves.

    Args:
      a: an array.
      indices: integers, of any shape; their dimensions come first in the result where `axis` is a name.
      axis: a position or a name.

    >>> take(jnp.array([5, 6, 7]), jnp.array([2, 0])).tolist()
    [7, 5]
    """
    if not is_name(axis):
        return jnp.take(a, indices, axis, **kwargs)
    check_bound(axis, "take(axis=...)")
    return jnp.take(gathered(a, [axis], 0), indices, 0, **kwargs)


def take_along_axis(a: Any, indices: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """`jax.numpy.take_along_axis`, whose `axis` may be a name: each position takes the entry at its own
    index.

    Args:
      a: an array of the shape of `indices` by position, or broadcast against it.
      indices: integers, one for each entry of the result.
      axis: a position or a name.

    >>> take_along_axis(jnp.array([5, 6, 7]), jnp.array([2, 0]), 0).tolist()
    [7, 5]
    """
    if not is_name(axis):
        return jnp.take_along_axis(a, indices, axis, **kwargs)
    check_bound(axis, "take_along_axis(axis=...)")
    a, indices = jnp.broadcast_arrays(a, indices) if jnp.ndim(a) != jnp.ndim(indices) else (a, jnp.asarray(indices))
    return jnp.take_along_axis(gathered(a, [axis], 0), indices[None], 0, **kwargs)[0]


def stack(arrays: Any, axis: Any = 0, **kwargs: Any) -> Any:
    """`jax.numpy.stack`, whose `axis` may be a name: the position numbered k gets `arrays[k]`.

    Args:
      arrays: as many arrays as the name has positions.
      axis: a position or a name.

    Raises:
      AxisSizeError: there are more or fewer arrays than positions.

    >>> stack([jnp.zeros(2), jnp.ones(2)]).shape
    (2, 2)
    """
    if not is_name(axis):
        return jnp.stack(arrays, axis, **kwargs)
    check_bound(axis, "stack(axis=...)")
    return _own_of(jnp.stack(arrays, 0, **kwargs), axis, "stack")


def concatenate(arrays: Sequence[Any], axis: Any = 0, **kwargs: Any) -> Any:
    """`jax.numpy.concatenate`, whose `axis` may be a name: the arrays, joined along dimension 0, are laid
    along it.

    Args:
      arrays: arrays whose extents along dimension 0 add up to the size of the name.
      axis: a position or a name.

    Raises:
      AxisSizeError: the extents do not add up to the size of the name.

    >>> concatenate([jnp.zeros(2), jnp.ones(1)]).shape
    (3,)
    """
    if not is_name(axis):
        return jnp.concatenate(arrays, axis, **kwargs)
    check_bound(axis, "concatenate(axis=...)")
    return _own_of(jnp.concatenate(arrays, 0, **kwargs), axis, "concatenate")


def _own_of(x: Any, name: Any, where: str) -> Any:
    size = lax.axis_size(name)
    if x.shape[0] != size:
        raise AxisSizeError(
            f"{where}(axis={name!r}): there are {x.shape[0]} entries, and {name!r} has {size} positions.",
            why="every position gets one entry.",
            fix="pass one entry for each position, or use a positional axis.",
        )
    return lax.dynamic_index_in_dim(x, lax.axis_index(name), 0, keepdims=False)


def expand_dims(a: Any, axis: Any) -> Any:
    """`jax.numpy.expand_dims`; a name in `axis` adds no dimension, because a value broadcasts over names by
    itself.

    >>> expand_dims(jnp.zeros(2), (0, 2)).shape
    (1, 2, 1)
    """
    entries = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    for entry in entries:
        if is_name(entry):
            check_bound(entry, "expand_dims(axis=...)")
    return jnp.expand_dims(a, tuple(entry for entry in entries if not is_name(entry)))
