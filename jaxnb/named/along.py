"""Functions of `jax.numpy` that work along an axis and keep it: scans, sorts, taking, joining, laying out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import prod
from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxnb.named.axes import check_bound, gathered, has_names, is_name, own_entry, split_axes
from jaxnb.named.errors import AxisSizeError
from jaxnb.named.listing import counted, document, kept, laid, own_of

__all__ = [
    "argpartition",
    "argsort",
    "array_split",
    "compress",
    "concat",
    "concatenate",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "delete",
    "diff",
    "expand_dims",
    "flip",
    "geomspace",
    "gradient",
    "lexsort",
    "linspace",
    "logspace",
    "nancumprod",
    "nancumsum",
    "partition",
    "repeat",
    "roll",
    "size",
    "sort",
    "split",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "unstack",
    "unwrap",
]


cumsum = kept(jnp.cumsum, "a")
cumprod = kept(jnp.cumprod, "a")
nancumsum = kept(jnp.nancumsum, "a")
nancumprod = kept(jnp.nancumprod, "a")
sort = kept(jnp.sort, "a")
argsort = kept(jnp.argsort, "a")
partition = kept(jnp.partition, "a")
argpartition = kept(jnp.argpartition, "a")
flip = kept(jnp.flip, "m")
gradient = kept(jnp.gradient, "f")
unwrap = kept(jnp.unwrap, "p")
diff = counted(jnp.diff, "a")
repeat = counted(jnp.repeat, "a")
delete = counted(jnp.delete, "arr")
compress = counted(jnp.compress, "a")
split = counted(jnp.split, "ary")
array_split = counted(jnp.array_split, "ary")
unstack = counted(jnp.unstack, "x")
linspace = laid(jnp.linspace)
logspace = laid(jnp.logspace)
geomspace = laid(jnp.geomspace)


def _cumulative(plain: Callable[..., Any]) -> Any:
    every, longer = kept(plain, "x"), counted(plain, "x")

    @wraps(plain)
    def run(x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        along = longer if include_initial else every
        return along(x, axis=axis, dtype=dtype, include_initial=include_initial)

    document(run, plain, "With `include_initial`, the entries along a name get a new first dimension.")
    return run


cumulative_sum = _cumulative(jnp.cumulative_sum)
cumulative_prod = _cumulative(jnp.cumulative_prod)


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
    return own_of(jnp.stack(arrays, 0, **kwargs), axis, "stack")


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
    return own_of(jnp.concatenate(arrays, 0, **kwargs), axis, "concatenate")


def concat(arrays: Sequence[Any], /, *, axis: Any = 0) -> Any:
    """`jax.numpy.concat`: `concatenate` by its other name.

    >>> concat([jnp.zeros(2), jnp.ones(1)]).shape
    (3,)
    """
    return concatenate(arrays, axis)


def lexsort(keys: Any, axis: Any = -1, **kwargs: Any) -> Any:
    """`jax.numpy.lexsort`, whose `axis` may be a name: each position gets the number of the position that belongs
    there.

    >>> lexsort((jnp.array([0, 1, 0]), jnp.array([2, 1, 1]))).tolist()
    [2, 1, 0]
    """
    if not is_name(axis):
        return jnp.lexsort(keys, axis, **kwargs)
    check_bound(axis, "lexsort(axis=...)")
    return own_entry(jnp.lexsort([gathered(key, [axis], 0) for key in keys], 0, **kwargs), axis, 0)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> Any:
    """`jax.numpy.cross`, whose `axis` may be a name of two or three positions.

    >>> cross(jnp.array([1, 0, 0]), jnp.array([0, 1, 0])).tolist()
    [0, 0, 1]
    """
    if not is_name(axis):
        return jnp.cross(a, b, axisa, axisb, axisc, axis)
    check_bound(axis, "cross(axis=...)")
    whole = jnp.cross(gathered(a, [axis], 0), gathered(b, [axis], 0), axis=0)
    return own_entry(whole, axis, 0) if lax.axis_size(axis) == 3 else whole


def squeeze(a: Any, axis: Any = None) -> Any:
    """`jax.numpy.squeeze`; a name in `axis`, which must have one position, is left.

    Raises:
      AxisSizeError: the name has more positions.

    >>> squeeze(jnp.zeros((1, 2)), 0).shape
    (2,)
    """
    if not has_names(axis):
        return jnp.squeeze(a, axis)
    positions, names = split_axes(axis, jnp.ndim(a), "squeeze(axis=...)")
    for name in names:
        if lax.axis_size(name) != 1:
            raise AxisSizeError(
                f"squeeze(axis={name!r}): {name!r} has {lax.axis_size(name)} positions.",
                why="only what has one position can be left out.",
                fix="reduce it, for example with sum, or take one position with take.",
            )
    return jnp.squeeze(lax.psum(a, names), positions)


def size(a: Any, axis: Any = None) -> int:
    """`jax.numpy.size`, whose `axis` may be a name, or a tuple of positions and names.

    >>> size(jnp.zeros((2, 3)), 1)
    3
    """
    if not has_names(axis):
        return jnp.size(a, axis)
    positions, names = split_axes(axis, jnp.ndim(a), "size(axis=...)")
    return prod(jnp.shape(a)[p] for p in positions) * lax.axis_size(names)


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
