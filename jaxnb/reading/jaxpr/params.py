"""The parameters of an equation as short texts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from enum import Enum
from typing import Any, cast

import numpy as np

from jaxnb._jax import dtype_name, shape_and_dtype

__all__ = ["LONGEST_TEXT", "Attributes", "literal_text", "params_key", "read_params"]

LONGEST_TEXT = 120

Attributes = tuple[tuple[str, str], ...]
"""Names and texts."""

# Plumbing of custom_jvp, custom_vjp and jit: Python objects that say nothing of the computation.
_PLUMBING = frozenset({"bwd", "fwd_jaxpr_thunk", "inline", "jvp_jaxpr_fun", "keep_unused", "out_trees"})
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def read_params(params: Mapping[str, Any], bodies: Iterable[str] = ()) -> Attributes:
    """The parameters that say something, in their order.

    What is absent, false or empty is left out, as is the plumbing of Python callables.

    Args:
      params: of an equation.
      bodies: the names of those that hold jaxprs; they are not attributes.

    >>> read_params({"axes": (0, 1), "out_sharding": None, "reverse": False, "dtype": np.dtype("float32")})
    (('axes', '(0, 1)'), ('dtype', 'float32'))
    """
    skipped = _PLUMBING.union(bodies)
    return tuple(
        (name, _short(_text(value, LONGEST_TEXT)))
        for name, value in params.items()
        if name not in skipped and not _says_nothing(value)
    )


def params_key(primitive: str, params: Mapping[str, Any]) -> Hashable | None:
    """What two equations have in common whose parameters have the same texts; None where that cannot be told.

    Types belong to it, since 1 == True; a float has none, since 0.0 == -0.0. It has no hash if a list or an array is
    among the parameters.

    Args:
      primitive: the name of the equation's primitive.
      params: of the equation.
    """
    values = tuple(params.values())
    types = tuple(map(type, values))
    return None if float in types else (primitive, values, types)


def literal_text(value: Any) -> str:
    """A literal such as `0.1` or `True`; the elements of an array are elided."""
    # JAX has numbers of its own that know their dtype: subclasses of Python's, printed like constructors.
    for kind in (bool, int, float, complex):
        if isinstance(value, kind):
            return _short(str(cast(Any, kind)(value)))
    if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
        return _short(str(cast(Any, value)[()]))
    return "[…]"


def _says_nothing(value: Any) -> bool:
    if value is None or value is False or type(value).__name__ == "UnspecifiedValue":
        return True
    if isinstance(value, (tuple, list)):
        return all(_says_nothing(item) for item in cast(list[Any], value))
    if isinstance(value, (str, dict, set, frozenset)):
        return not value
    return getattr(value, "empty", False) is True  # a mesh without axes


def _text(value: Any, room: int) -> str:
    """About `room` characters of a value; a long tuple is not printed to its end only to be cut off."""
    if isinstance(value, str):
        return value
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, np.dtype) or hasattr(value, "dtype_name"):
        return dtype_name(value)
    if isinstance(value, np.generic):
        return str(value.item())
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        shape, dtype, _ = shape_and_dtype(value)
        return f"{dtype}[{','.join(map(str, shape))}]"
    if type(value) in (tuple, list):
        return _items_text(cast(list[Any], value), room)
    if isinstance(value, (set, frozenset)):
        # Python's order is another one in each process.
        return f"{{{', '.join(sorted(_text(item, room) for item in cast(Iterable[Any], value)))}}}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return _ADDRESS.sub("", str(value))


def _items_text(items: list[Any], room: int) -> str:
    parts: list[str] = []
    for item in items:
        if room <= 0:
            parts.append("…")
            break
        parts.append(_text(item, room))
        room -= len(parts[-1]) + 2
    comma = "," if len(items) == 1 else ""
    return f"({', '.join(parts)}{comma})"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
