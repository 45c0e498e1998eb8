"""`jaxnb.numpy`: `jax.numpy`, where an axis may be a name. What is not here is JAX's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax.numpy as _jnp

from jaxnb.named import fft, linalg
from jaxnb.named.along import (
    argpartition,
    argsort,
    array_split,
    compress,
    concat,
    concatenate,
    cross,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    delete,
    diff,
    expand_dims,
    flip,
    geomspace,
    gradient,
    lexsort,
    linspace,
    logspace,
    nancumprod,
    nancumsum,
    partition,
    repeat,
    roll,
    size,
    sort,
    split,
    squeeze,
    stack,
    take,
    take_along_axis,
    unstack,
    unwrap,
)
from jaxnb.named.einsum import dot, einsum
from jaxnb.named.listing import counted, reduced, refused
from jaxnb.named.reductions import (
    all,
    any,
    argmax,
    argmin,
    average,
    count_nonzero,
    log_softmax,
    logsumexp,
    max,
    mean,
    median,
    min,
    nanargmax,
    nanargmin,
    nanmax,
    nanmean,
    nanmedian,
    nanmin,
    nanpercentile,
    nanprod,
    nanquantile,
    nanstd,
    nansum,
    nanvar,
    percentile,
    prod,
    ptp,
    quantile,
    softmax,
    std,
    sum,
    trapezoid,
    var,
    vecdot,
)

amax, amin = max, min

append = refused(_jnp.append, "axis")
apply_along_axis = refused(_jnp.apply_along_axis, "axis")
apply_over_axes = refused(_jnp.apply_over_axes, "axes")
diagonal = refused(_jnp.diagonal, "axis1", "axis2")
insert = refused(_jnp.insert, "axis")
moveaxis = refused(_jnp.moveaxis, "source", "destination")
packbits = refused(_jnp.packbits, "axis")
permute_dims = refused(_jnp.permute_dims, "axes")
put_along_axis = refused(_jnp.put_along_axis, "axis")
rollaxis = refused(_jnp.rollaxis, "axis", "start")
rot90 = refused(_jnp.rot90, "axes")
swapaxes = refused(_jnp.swapaxes, "axis1", "axis2")
tensordot = refused(_jnp.tensordot, "axes")
trace = refused(_jnp.trace, "axis1", "axis2")
transpose = refused(_jnp.transpose, "axes")
trim_zeros = refused(_jnp.trim_zeros, "axis")
unique = refused(_jnp.unique, "axis")
unpackbits = refused(_jnp.unpackbits, "axis")

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "append",
    "apply_along_axis",
    "apply_over_axes",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "array_split",
    "average",
    "compress",
    "concat",
    "concatenate",
    "count_nonzero",
    "cross",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "delete",
    "diagonal",
    "diff",
    "dot",
    "einsum",
    "expand_dims",
    "fft",
    "flip",
    "geomspace",
    "gradient",
    "insert",
    "lexsort",
    "linalg",
    "linspace",
    "log_softmax",
    "logspace",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "moveaxis",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
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
    "packbits",
    "partition",
    "percentile",
    "permute_dims",
    "prod",
    "ptp",
    "put_along_axis",
    "quantile",
    "repeat",
    "roll",
    "rollaxis",
    "rot90",
    "size",
    "softmax",
    "sort",
    "split",
    "squeeze",
    "stack",
    "std",
    "sum",
    "swapaxes",
    "take",
    "take_along_axis",
    "tensordot",
    "trace",
    "transpose",
    "trapezoid",
    "trim_zeros",
    "unique",
    "unpackbits",
    "unstack",
    "unwrap",
    "var",
    "vecdot",
]


# functions that `jax.numpy` has in some versions only
_NEWER: dict[str, Callable[[Any], Any]] = {
    "minmax": lambda plain: reduced(plain, "a", "where"),
    "top_k": lambda plain: counted(plain, "a"),
}


@cache
def _newer(name: str) -> Any:
    return _NEWER[name](getattr(_jnp, name))


def __getattr__(name: str) -> Any:
    return _newer(name) if name in _NEWER else getattr(_jnp, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_jnp)})
