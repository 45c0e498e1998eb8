"""`take_own`: from a value that holds one entry for each position of a name, the entry of one's own position.

It undoes `lax.all_gather`: gather, work along the gathered dimension, take one's own entry back. Scans and
sorts over a name are written so. Where the name is vectorised both steps only relabel dimensions, and nothing
is computed.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching

from jaxnb._jax import bound_axes, is_anonymous

__all__ = ["take_own"]

take_own_p = Primitive("take_own")


def take_own(x: Any, name: Any, axis: int) -> Any:
    """`x` at this position of `name` along `axis`, which disappears.

    Args:
      x: an array that is the same at every position of `name`, with the size of `name` along `axis`.
      name: a name in scope.
      axis: the dimension of `x` that lists the positions, 0 or more.
    """
    return take_own_p.bind(x, names=(name,), axis=axis)


def _abstract(x: Any, *, names: Any, axis: int) -> Any:
    size = bound_axes().get(names[0])
    assert size is None or x.shape[axis] == size, (x, names, axis)
    return x.update(shape=(*x.shape[:axis], *x.shape[axis + 1 :]))


def _transpose(ct: Any, x: Any, *, names: Any, axis: int) -> list[Any]:
    # Every position holds all of x, so each owes an equal part of its cotangent.
    del x
    gathered = lax.all_gather(ct, names[0], axis=axis)
    return [gathered / jnp.asarray(gathered.shape[axis], gathered.dtype)]


def _batch(axis_data: Any, values: Any, dims: Any, *, names: Any, axis: int) -> Any:
    (x,), (dim,) = values, dims
    if not is_anonymous(axis_data.name) and axis_data.name == names[0]:
        if dim is None:
            return x, axis
        x = jnp.moveaxis(x, dim, 0)
        index = jnp.arange(axis_data.size)
        return x[(index, *[slice(None)] * axis, index)], 0
    if dim is None:
        return take_own_p.bind(x, names=names, axis=axis), None
    moved = axis + (dim <= axis)
    return take_own_p.bind(x, names=names, axis=moved), dim - (dim > moved)


take_own_p.def_abstract_eval(_abstract)
ad.deflinear2(take_own_p, _transpose)
batching.fancy_primitive_batchers[take_own_p] = _batch
