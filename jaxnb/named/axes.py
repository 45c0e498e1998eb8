"""Axis arguments that mix positions and names, and the moves between the two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from jaxnb._jax import bound_axes
from jaxnb.named.errors import AxisSpecError, nearest
from jaxnb.named.own import take_own

__all__ = ["check_bound", "gathered", "has_names", "is_name", "own_entry", "split_axes"]


def is_name(axis: Any) -> bool:
    """Whether one entry of an axis argument is a name: anything but an integer or None."""
    return axis is not None and not hasattr(axis, "__index__")


def has_names(axis: Any) -> bool:
    """Whether an axis argument, one entry or a tuple or list of them, has a name in it."""
    entries: tuple[Any, ...] = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    return any(is_name(entry) for entry in entries)


def check_bound(name: Any, where: str) -> None:
    """Refuses a name that no enclosing map has bound.

    Raises:
      AxisSpecError: with the nearest name that is bound.
    """
    scope = bound_axes()
    if name not in scope:
        known = [known for known in scope if isinstance(known, str)]
        raise AxisSpecError(
            f"{where}: the name {name!r} is not bound here.",
            why="a name is bound inside the function that xmap maps.",
            fix=nearest(name, known),
        )


def split_axes(axis: Any, ndim: int, where: str) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The positions, counted from 0, and the names of an axis argument.

    Args:
      axis: an integer, a name, or a tuple or list of both.
      ndim: the number of positional dimensions.
      where: the function and argument, for messages.

    Raises:
      AxisSpecError: a name that is not bound, a position that does not exist, or one of them twice.
    """
    entries: tuple[Any, ...] = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    positions: list[int] = []
    names: list[Any] = []
    for entry in entries:
        if is_name(entry):
            check_bound(entry, where)
            names.append(entry)
        else:
            position = int(entry)
            if not -ndim <= position < ndim:
                raise AxisSpecError(
                    f"{where}: there is no dimension {position}.",
                    why=f"the value has {ndim} positional dimensions here.",
                    fix="use one of them, or a name.",
                )
            positions.append(position % ndim)
    if len(set(positions)) < len(positions) or len(set(names)) < len(names):
        raise AxisSpecError(
            f"{where} = {axis!r} has an axis twice.",
            why="an axis can be worked along once.",
            fix="leave the second one out.",
        )
    return tuple(positions), tuple(names)


def gathered(x: Any, names: Sequence[Any], dimension: int) -> Any:
    """`x` with the positions of `names` listed along one new dimension, the first name most significant."""
    return lax.all_gather(jnp.asarray(x), tuple(names), axis=dimension)


def own_entry(x: Any, name: Any, dimension: int) -> Any:
    """Undoes `gathered` over one name; `x` must be the same at all its positions."""
    return take_own(x, name, dimension)
