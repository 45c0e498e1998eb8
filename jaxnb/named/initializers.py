"""`jaxnb.nn.initializers`: `jax.nn.initializers` for shapes with names, with names for fan-in and fan-out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from math import sqrt
from typing import Any

import jax
import jax.numpy as jnp

from jaxnb.named import random as named_random
from jaxnb.named.axes import is_name
from jaxnb.named.errors import AxisSpecError, nearest
from jaxnb.named.shape import NamedShape

__all__ = ["variance_scaling"]


def _entries(axis: Any) -> tuple[Any, ...]:
    return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


def _extent(shape: NamedShape, axis: Any, label: str) -> int:
    total = 1
    for entry in _entries(axis):
        if is_name(entry):
            if entry not in shape.named:
                raise AxisSpecError(
                    f"variance_scaling({label}={axis!r}): {shape!r} has no name {entry!r}.",
                    why="fan-in and fan-out are extents of the shape.",
                    fix=nearest(entry, shape.named),
                )
            total *= shape.named[entry]
        else:
            if not -len(shape.positional) <= entry < len(shape.positional):
                raise AxisSpecError(
                    f"variance_scaling({label}={axis!r}): {shape!r} has no position {entry}.",
                    why="fan-in and fan-out are extents of the shape.",
                    fix=f"pass {label}= with positions or names of the shape.",
                )
            total *= shape.positional[entry]
    return total


def variance_scaling(
    scale: float,
    mode: str,
    distribution: str,
    in_axis: Any = -2,
    out_axis: Any = -1,
    batch_axis: Any = (),
    dtype: Any = float,
) -> Callable[..., Any]:
    """`jax.nn.initializers.variance_scaling`, for a `NamedShape` too, with names for axes.

    Args:
      scale: the variance that is wanted, times the fan.
      mode: `"fan_in"`, `"fan_out"` or `"fan_avg"`.
      distribution: `"normal"`, `"truncated_normal"` or `"uniform"`.
      in_axis, out_axis, batch_axis: positions, names, or tuples of both.
      dtype: the default dtype.

    Returns:
      An initialiser: (key, shape, dtype) -> array, which varies over the names of the shape.

    Raises:
      AxisSpecError: an axis is not in the shape.

    >>> variance_scaling(1.0, "fan_in", "normal")(jax.random.key(0), (3, 2)).shape
    (3, 2)
    """
    # JAX's scaling to the source of the rule: He et al. 2015, Glorot and Bengio 2010.
    if mode not in ("fan_in", "fan_out", "fan_avg") or distribution not in (
        "normal",
        "truncated_normal",
        "uniform",
    ):
        raise AxisSpecError(
            f"variance_scaling got mode = {mode!r} and distribution = {distribution!r}.",
            why="modes are fan_in, fan_out and fan_avg; distributions normal, truncated_normal and uniform.",
            fix="use one of each.",
        )
    options: dict[str, Any] = {"in_axis": in_axis, "out_axis": out_axis, "batch_axis": batch_axis}
    names_given = any(is_name(entry) for axis in options.values() for entry in _entries(axis))

    def init(key: Any, shape: Any, dtype: Any = dtype, **kwargs: Any) -> Any:
        if not isinstance(shape, NamedShape):
            if names_given:
                shape = NamedShape(*shape)
            else:
                plain = jax.nn.initializers.variance_scaling(scale, mode, distribution, **options, dtype=dtype)
                return plain(key, shape, dtype, **kwargs)
        fan_in, fan_out = _extent(shape, in_axis, "in_axis"), _extent(shape, out_axis, "out_axis")
        # what is no axis of the layer is a receptive field, which both fans see, or a batch, which neither
        # does
        rest = shape.total // max(1, fan_in * fan_out * _extent(shape, batch_axis, "batch_axis"))
        fan_in, fan_out = fan_in * rest, fan_out * rest
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
        variance = scale / max(1, fan)
        here = named_random.key_at_position(key, shape)
        if distribution == "normal":
            return jax.random.normal(here, shape.positional, dtype) * jnp.asarray(sqrt(variance), dtype)
        if distribution == "uniform":
            return jax.random.uniform(here, shape.positional, dtype, -1) * jnp.asarray(sqrt(3 * variance), dtype)
        # a normal cut at two standard deviations has this one
        narrowed = 0.87962566103423978
        cut = jax.random.truncated_normal(here, -2, 2, shape.positional, dtype)
        return cut * jnp.asarray(sqrt(variance) / narrowed, dtype)

    return init


# name -> (scale, mode, distribution), from the definitions in the papers they are named after
_FAMILIES: dict[str, tuple[float, str, str]] = {
    "glorot_normal": (1.0, "fan_avg", "truncated_normal"),
    "glorot_uniform": (1.0, "fan_avg", "uniform"),
    "he_normal": (2.0, "fan_in", "truncated_normal"),
    "he_uniform": (2.0, "fan_in", "uniform"),
    "kaiming_normal": (2.0, "fan_in", "truncated_normal"),
    "kaiming_uniform": (2.0, "fan_in", "uniform"),
    "lecun_normal": (1.0, "fan_in", "truncated_normal"),
    "lecun_uniform": (1.0, "fan_in", "uniform"),
    "xavier_normal": (1.0, "fan_avg", "truncated_normal"),
    "xavier_uniform": (1.0, "fan_avg", "uniform"),
}


def _family(name: str, scale: float, mode: str, distribution: str) -> Callable[..., Any]:
    def make(in_axis: Any = -2, out_axis: Any = -1, batch_axis: Any = (), dtype: Any = float) -> Any:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"`jax.nn.initializers.{name}`, whose axes may be names. See `variance_scaling`."
    return make


_NAMED: dict[str, Any] = {name: _family(name, *family) for name, family in _FAMILIES.items()}


def _elementwise(name: str) -> Callable[..., Any]:
    """An initialiser whose entries do not depend on the shape: at each position it is JAX's own."""
    plain = getattr(jax.nn.initializers, name)

    @wraps(plain)
    def make(*args: Any, **kwargs: Any) -> Any:
        inner = plain(*args, **kwargs)

        def init(key: Any, shape: Any, *rest: Any, **more: Any) -> Any:
            if isinstance(shape, NamedShape):
                key, shape = named_random.key_at_position(key, shape), shape.positional
            return inner(key, shape, *rest, **more)

        return init

    return make


def _constant(name: str) -> Callable[..., Any]:
    plain = getattr(jax.nn.initializers, name)

    @wraps(plain)
    def init(key: Any, shape: Any, *rest: Any, **more: Any) -> Any:
        return plain(key, shape.positional if isinstance(shape, NamedShape) else shape, *rest, **more)

    return init


_NAMED.update({name: _elementwise(name) for name in ("normal", "uniform", "truncated_normal", "constant")})
_NAMED.update({name: _constant(name) for name in ("zeros", "ones")})


def __getattr__(name: str) -> Any:
    return _NAMED.get(name) or getattr(jax.nn.initializers, name)


def __dir__() -> Sequence[str]:
    return sorted({*_NAMED, *dir(jax.nn.initializers)})
