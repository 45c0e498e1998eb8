"""`jaxnb.random`: `jax.random`, whose samplers take a `NamedShape`.

Every position along a name draws from a key of its own: the key folded with the position's number along each
name, the names taken in a fixed order. What is drawn depends on the key and the positions, never on
resources.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxnb._jax import bound_axes
from jaxnb.named.axes import check_bound
from jaxnb.named.errors import AxisSizeError
from jaxnb.named.shape import NamedShape

__all__ = ["key_at_position"]

# what takes a shape that is not the shape of what it draws
_OTHER_SHAPES = ("ball", "orthogonal", "split", "key_data")


def _samplers() -> dict[str, int]:
    """The samplers of `jax.random` that take a shape, and the position of that argument."""
    found: dict[str, int] = {}
    for name in dir(jax.random):
        fun = getattr(jax.random, name)
        if name.startswith("_") or name in _OTHER_SHAPES or not inspect.isfunction(inspect.unwrap(fun)):
            continue
        parameters = list(inspect.signature(fun).parameters)
        if "shape" in parameters:
            found[name] = parameters.index("shape")
    return found


def key_at_position(key: Any, shape: NamedShape) -> Any:
    """The key from which this position of the names of `shape` draws.

    Args:
      key: a key of any implementation, new style or old.
      shape: names and their sizes.

    Raises:
      AxisSizeError: a name has another size where it is bound.
      AxisSpecError: a name is not bound.
    """
    scope = bound_axes()
    for name, size in shape.named.items():
        check_bound(name, "NamedShape")
        if scope[name] != size:
            raise AxisSizeError(
                f"{shape!r} gives {name!r} the size {size}, and it has size {scope[name]} here.",
                why="a sample has one entry for each position of the name.",
                fix=f"write {name}={scope[name]}.",
            )
    if not shape.named:
        return key
    if not jnp.issubdtype(jnp.asarray(key).dtype, jax.dtypes.prng_key):
        key = jax.random.wrap_key_data(key)
    if jax.random.key_impl(key) != "threefry2x32":
        # Other generators draw different numbers when they are vectorised, so they only seed this one.
        words = jax.random.key_data(key)
        key = jax.random.wrap_key_data(jnp.bitwise_xor(words[..., :2], words[..., -2:]), impl="threefry2x32")
    for name in sorted(shape.named, key=lambda name: (type(name).__name__, repr(name))):
        key = jax.random.fold_in(key, lax.axis_index(name))
    return key


def _with_names(name: str, place: int) -> Callable[..., Any]:
    plain = getattr(jax.random, name)

    @wraps(plain)
    def sample(key: Any, *args: Any, **kwargs: Any) -> Any:
        shape = kwargs.get("shape", args[place - 1] if len(args) >= place else None)
        if not isinstance(shape, NamedShape):
            return plain(key, *args, **kwargs)
        key = key_at_position(key, shape)
        if "shape" in kwargs:
            kwargs["shape"] = shape.positional
        else:
            args = (*args[: place - 1], shape.positional, *args[place:])
        return plain(key, *args, **kwargs)

    sample.__doc__ = (
        f"`jax.random.{name}`, whose `shape` may be a `NamedShape`.\n\n"
        "    The result has the positions of the shape and varies over its names.\n    "
    )
    return sample


_NAMED = {name: _with_names(name, place) for name, place in _samplers().items()}


def __getattr__(name: str) -> Any:
    return _NAMED.get(name) or getattr(jax.random, name)


def __dir__() -> list[str]:
    return sorted({*_NAMED, *dir(jax.random)})
