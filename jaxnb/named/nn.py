"""`jaxnb.nn`: `jax.nn`, where an axis may be a name. What is not here is JAX's own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxnb.named import initializers, reductions
from jaxnb.named.axes import check_bound, has_names, is_name
from jaxnb.named.errors import AxisSizeError
from jaxnb.named.listing import counted, reduced
from jaxnb.named.reductions import log_softmax, logsumexp, softmax

__all__ = ["glu", "initializers", "log_softmax", "logmeanexp", "logsumexp", "one_hot", "softmax", "standardize"]


glu = counted(jax.nn.glu, "x")
logmeanexp = reduced(jax.nn.logmeanexp, "x", "where")


def one_hot(x: Any, num_classes: int, *, dtype: Any = float, axis: Any = -1) -> Any:
    """`jax.nn.one_hot`, whose `axis` may be a name: at each position whether `x` is that position's number.

    Args:
      x: integers.
      num_classes: the number of classes; the size of the name, if `axis` is one.
      dtype: the dtype of the result.
      axis: a position or a name.

    Raises:
      AxisSizeError: the name has another size.

    >>> one_hot(jnp.array([1]), 3).tolist()
    [[0.0, 1.0, 0.0]]
    """
    if not is_name(axis):
        return jax.nn.one_hot(x, num_classes, dtype=dtype, axis=axis)
    check_bound(axis, "one_hot(axis=...)")
    size = lax.axis_size(axis)
    if num_classes != size:
        raise AxisSizeError(
            f"one_hot got {num_classes} classes, and the name {axis!r} has size {size}.",
            why="each class has one position.",
            fix=f"pass num_classes={size}.",
        )
    x = jnp.asarray(x)
    return (x == lax.axis_index(axis).astype(x.dtype)).astype(dtype)


def standardize(x: Any, axis: Any = -1, mean: Any = None, variance: Any = None, epsilon: Any = 1e-5) -> Any:
    """`jax.nn.standardize`, whose `axis` may be a name, or a tuple of positions and names.

    Args:
      x: an array.
      axis: what to standardise over.
      mean, variance: those of `x`, if they are known.
      epsilon: what is added to the variance.

    >>> standardize(jnp.array([1.0, 1.0])).tolist()
    [0.0, 0.0]
    """
    if not has_names(axis):
        return jax.nn.standardize(x, axis, mean, variance, epsilon)
    if mean is None:
        mean = reductions.mean(x, axis, keepdims=True)
    if variance is None:
        variance = reductions.mean(jnp.square(x), axis, keepdims=True) - jnp.square(mean)
    return (x - mean) * lax.rsqrt(variance + epsilon)


def __getattr__(name: str) -> Any:
    return getattr(jax.nn, name)
