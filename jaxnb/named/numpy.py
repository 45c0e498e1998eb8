"""`jaxnb.numpy`: `jax.numpy`, where an axis may be a name. What is not here is JAX's own."""

from __future__ import annotations

from typing import Any

import jax.numpy as _jnp

from jaxnb.named import linalg
from jaxnb.named.along import (
    argsort,
    concatenate,
    cumprod,
    cumsum,
    diff,
    expand_dims,
    flip,
    roll,
    sort,
    stack,
    take,
    take_along_axis,
)
from jaxnb.named.einsum import dot, einsum
from jaxnb.named.reductions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    log_softmax,
    logsumexp,
    max,
    mean,
    median,
    min,
    nanmax,
    nanmean,
    nanmin,
    nansum,
    prod,
    ptp,
    quantile,
    softmax,
    std,
    sum,
    var,
)

amax, amin = max, min

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "concatenate",
    "count_nonzero",
    "cumprod",
    "cumsum",
    "diff",
    "dot",
    "einsum",
    "expand_dims",
    "flip",
    "linalg",
    "log_softmax",
    "logsumexp",
    "max",
    "mean",
    "median",
    "min",
    "nanmax",
    "nanmean",
    "nanmin",
    "nansum",
    "prod",
    "ptp",
    "quantile",
    "roll",
    "softmax",
    "sort",
    "stack",
    "std",
    "sum",
    "take",
    "take_along_axis",
    "var",
]


def __getattr__(name: str) -> Any:
    return getattr(_jnp, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *dir(_jnp)})
