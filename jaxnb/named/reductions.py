"""Reductions of `jax.numpy` that take names for axes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod as product
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxnb.named.axes import gathered, has_names, is_name, split_axes
from jaxnb.named.exact import extremum
from jaxnb.named.listing import document, reduced

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "average",
    "count_nonzero",
    "log_softmax",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "percentile",
    "prod",
    "ptp",
    "quantile",
    "softmax",
    "std",
    "sum",
    "trapezoid",
    "var",
    "vecdot",
]


_POSITIONS_ONLY = "A name has no dimension to keep, so `keepdims` and `where` speak of positions only."
_MIXED = "a name, or a tuple of positions and names"


def _reduction(plain: Callable[..., Any], over_names: Callable[..., Any]) -> Any:
    """A reduction that first goes over positions with JAX's function and then over names."""

    @wraps(plain)
    def run(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not has_names(axis):
            return plain(a, axis, *args, **kwargs)
        a = jnp.asarray(a)
        positions, names = split_axes(axis, a.ndim, f"{plain.__name__}(axis=...)")
        return over_names(plain, a, positions, names, *args, **kwargs)

    document(run, plain, _POSITIONS_ONLY, _MIXED)
    return run


def _total(plain: Any, a: Any, positions: Any, names: Any, *args: Any, **kwargs: Any) -> Any:
    # With no position left the reduction still settles the dtype, as `jnp.sum` of booleans does.
    return lax.psum(plain(a, positions, *args, **kwargs), names)


def _extreme(least: bool) -> Callable[..., Any]:
    def over(plain: Any, a: Any, positions: Any, names: Any, *args: Any, **kwargs: Any) -> Any:
        out = plain(a, positions, *args, **kwargs) if positions else a
        if out.dtype == bool:
            return extremum(out.astype(jnp.int32), names, least).astype(bool)
        return _extreme_of(out, names, least)

    return over


def _extreme_of(x: Any, names: Any, least: bool) -> Any:
    return extremum(x, names, least)


def _mean(plain: Any, a: Any, positions: Any, names: Any, *args: Any, **kwargs: Any) -> Any:
    return lax.pmean(plain(a, positions, *args, **kwargs), names)


def _spread(root: bool) -> Callable[..., Any]:
    def over(
        plain: Any,
        a: Any,
        positions: Any,
        names: Any,
        dtype: Any = None,
        out: None = None,
        ddof: int = 0,
        keepdims: bool = False,
        **kwargs: Any,
    ) -> Any:
        del out
        if "where" in kwargs and kwargs["where"] is not None:
            raise NotImplementedError(f"jaxnb.numpy.{plain.__name__} over a name does not take `where`.")
        a = a if dtype is None else a.astype(dtype)
        a = a if jnp.issubdtype(a.dtype, jnp.inexact) else a.astype(jnp.result_type(float))
        middle = mean(a, (*positions, *names), keepdims=True)
        distance = jnp.square(jnp.abs(a - middle)) if jnp.iscomplexobj(a) else jnp.square(a - middle)
        count = product(a.shape[p] for p in positions) * lax.axis_size(names)
        value = sum(distance, (*positions, *names), keepdims=keepdims) / (count - ddof)
        return jnp.sqrt(value) if root else value

    return over


def _product(plain: Any, a: Any, positions: Any, names: Any, *args: Any, **kwargs: Any) -> Any:
    inner = plain(a, positions, *args, **kwargs)
    return jnp.prod(gathered(inner, names, 0), axis=0, dtype=inner.dtype)


def _truth(every: bool) -> Callable[..., Any]:
    def over(plain: Any, a: Any, positions: Any, names: Any, *args: Any, **kwargs: Any) -> Any:
        found = plain(a, positions, *args, **kwargs).astype(jnp.int32)
        return (lax.pmin if every else lax.pmax)(found, names).astype(bool)

    return over


sum = _reduction(jnp.sum, _total)
prod = _reduction(jnp.prod, _product)
mean = _reduction(jnp.mean, _mean)
var = _reduction(jnp.var, _spread(False))
std = _reduction(jnp.std, _spread(True))
max = _reduction(jnp.max, _extreme(False))
min = _reduction(jnp.min, _extreme(True))
all = _reduction(jnp.all, _truth(True))
any = _reduction(jnp.any, _truth(False))
count_nonzero = _reduction(jnp.count_nonzero, _total)
nansum = _reduction(jnp.nansum, _total)
nanmean = reduced(jnp.nanmean, "a", "where")
nanmax = reduced(jnp.nanmax, "a", "where")
nanmin = reduced(jnp.nanmin, "a", "where")
nanprod = reduced(jnp.nanprod, "a", "where")
nanstd = reduced(jnp.nanstd, "a", "where")
nanvar = reduced(jnp.nanvar, "a", "where")
nanargmax = reduced(jnp.nanargmax, "a", alone=True)
nanargmin = reduced(jnp.nanargmin, "a", alone=True)
median = reduced(jnp.median, "a")
nanmedian = reduced(jnp.nanmedian, "a")
quantile = reduced(jnp.quantile, "a", "weights")
nanquantile = reduced(jnp.nanquantile, "a", "weights")
percentile = reduced(jnp.percentile, "a", "weights")
nanpercentile = reduced(jnp.nanpercentile, "a", "weights")
average = reduced(jnp.average, "a", "weights")
ptp = reduced(jnp.ptp, "a")
trapezoid = reduced(jnp.trapezoid, "y", "x", alone=True)


def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1, **kwargs: Any) -> Any:
    """`jax.numpy.vecdot`, whose `axis` may be a name.

    >>> float(vecdot(jnp.arange(3.0), jnp.ones(3)))
    3.0
    """
    if not is_name(axis):
        return jnp.vecdot(x1, x2, axis=axis, **kwargs)
    return sum(jnp.conj(x1) * x2, axis, dtype=kwargs.get("preferred_element_type"))


def _arg_extreme(plain: Callable[..., Any], least: bool) -> Callable[..., Any]:
    @wraps(plain)
    def run(a: Any, axis: Any = None, *args: Any, **kwargs: Any) -> Any:
        if not has_names(axis):
            return plain(a, axis, *args, **kwargs)
        a = jnp.asarray(a)
        positions, names = split_axes(axis, a.ndim, f"{plain.__name__}(axis=...)")
        if positions:
            raise NotImplementedError(f"{plain.__name__} works along one axis: a position or names, not both.")
        value = lax.stop_gradient(a)
        # as in `extremum`, the value that is compared must be the one that was reduced, to the last bit
        value = lax.optimization_barrier(value.astype(jnp.int32) if value.dtype == bool else value)
        best = (lax.pmin if least else lax.pmax)(value, names)
        hit = (value == best) | (value != value)  # a NaN is the extreme, as in NumPy
        size = lax.axis_size(names)
        index = lax.axis_index(names).astype(jnp.result_type(int))
        return lax.pmin(jnp.where(hit, index, size), names)

    document(run, plain, _POSITIONS_ONLY, _MIXED)
    return run


argmax = _arg_extreme(jnp.argmax, False)
argmin = _arg_extreme(jnp.argmin, True)


def _largest(a: Any, axis: Any) -> Any:
    top = lax.stop_gradient(max(lax.stop_gradient(a), axis, keepdims=True))
    return jnp.where(jnp.isfinite(top), top, 0)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False) -> Any:
    """`jax.scipy.special.logsumexp`, whose `axis` may be a name, or a tuple of positions and names.

    Args:
      a: an array.
      axis: positions and names to reduce.
      b: factors of the exponentials, which broadcast against `a`.
      keepdims: whether reduced positions stay, with size 1.

    >>> float(logsumexp(jnp.zeros(4)))  # doctest: +ELLIPSIS
    1.38629...
    """
    if not has_names(axis):
        return jax.scipy.special.logsumexp(a, axis=axis, b=b, keepdims=keepdims)
    a = (
        jnp.asarray(a, dtype=jnp.result_type(a, jnp.float32))
        if not jnp.issubdtype(jnp.result_type(a), jnp.inexact)
        else a
    )
    top = _largest(a, axis)
    terms = jnp.exp(a - top) if b is None else b * jnp.exp(a - top)
    kept = jnp.log(sum(terms, axis, keepdims=True)) + top
    positions, _ = split_axes(axis, jnp.ndim(a), "logsumexp(axis=...)")
    return kept if keepdims else jnp.squeeze(kept, positions)


def softmax(x: Any, axis: Any = -1) -> Any:
    """`jax.nn.softmax`, whose `axis` may be a name, or a tuple of positions and names.

    >>> softmax(jnp.zeros(4)).tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    if not has_names(axis):
        return jax.nn.softmax(x, axis)
    raised = jnp.exp(x - _largest(x, axis))
    return raised / sum(raised, axis, keepdims=True)


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """`jax.nn.log_softmax`, whose `axis` may be a name, or a tuple of positions and names.

    >>> log_softmax(jnp.zeros(1)).tolist()
    [0.0]
    """
    if not has_names(axis):
        return jax.nn.log_softmax(x, axis)
    shifted = x - _largest(x, axis)
    return shifted - jnp.log(sum(jnp.exp(shifted), axis, keepdims=True))
