"""`jaxnb.numpy.fft`: `jax.numpy.fft`, where an axis may be a name. What is not here is JAX's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax.numpy as jnp

from jaxnb.named.along import roll, size
from jaxnb.named.axes import has_names, split_axes
from jaxnb.named.listing import counted, document, kept, refused

__all__ = [
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]


def _transform(plain: Callable[..., Any]) -> Any:
    every, cut = kept(plain, "a"), counted(plain, "a")

    @wraps(plain)
    def run(a: Any, n: int | None = None, axis: Any = -1, norm: str | None = None) -> Any:
        return (every if n is None else cut)(a, n, axis, norm)

    document(run, plain, "With `n`, the entries along a name get a new first dimension.")
    return run


fft, ifft = _transform(jnp.fft.fft), _transform(jnp.fft.ifft)
rfft, irfft = counted(jnp.fft.rfft, "a"), counted(jnp.fft.irfft, "a")
hfft, ihfft = counted(jnp.fft.hfft, "a"), counted(jnp.fft.ihfft, "a")
fft2, ifft2 = refused(jnp.fft.fft2, "axes"), refused(jnp.fft.ifft2, "axes")
fftn, ifftn = refused(jnp.fft.fftn, "axes"), refused(jnp.fft.ifftn, "axes")
rfft2, irfft2 = refused(jnp.fft.rfft2, "axes"), refused(jnp.fft.irfft2, "axes")
rfftn, irfftn = refused(jnp.fft.rfftn, "axes"), refused(jnp.fft.irfftn, "axes")


def _shift(plain: Callable[..., Any], sign: int) -> Any:
    @wraps(plain)
    def run(x: Any, axes: Any = None) -> Any:
        if not has_names(axes):
            return plain(x, axes)
        positions, names = split_axes(axes, jnp.ndim(x), f"{plain.__name__}(axes=...)")
        x = plain(x, positions) if positions else x
        for name in names:
            x = roll(x, sign * (size(x, name) // 2), name)
        return x

    document(run, plain, "`axes` is meant; along a name entries go from position to position.", "a name")
    return run


fftshift, ifftshift = _shift(jnp.fft.fftshift, 1), _shift(jnp.fft.ifftshift, -1)


def __getattr__(name: str) -> Any:
    return getattr(jnp.fft, name)
