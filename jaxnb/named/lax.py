"""`jaxnb.lax`: what `jax.lax` lost with named axes, beside all that it has."""

from __future__ import annotations

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
    """The entries of `src` at the positions `idx` along a name, or along several names numbered together.

    Args:
      src: an array.
      idx: integers of any shape, which may vary over names themselves.
      axes: a name, or a tuple of names, the first most significant.

    Returns:
      An array of shape `idx.shape + src.shape`.

    >>> import jax.numpy as jnp
    >>> from jaxnb import xmap
    >>> pick = xmap(lambda x, k: pgather(x, k, "i"), (["i"], ["j"]), ["j"])
    >>> pick(jnp.arange(3.0), jnp.array([2, 0])).tolist()
    [2.0, 0.0]
    """
    names = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    if len(names) == 1:
        return take(src, idx, names[0])
    for name in names:
        check_bound(name, "pgather(axes=...)")
    return jnp.take(_lax.all_gather(jnp.asarray(src), names), idx, 0)


def __getattr__(name: str) -> Any:
    return getattr(_lax, name)
