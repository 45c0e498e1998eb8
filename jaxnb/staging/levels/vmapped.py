"""Functions under `jax.vmap(axis_name=...)`, taken down while a cell is traced once more.

Vectorising takes the names out: what is left in a jaxpr are dimensions. So the functions are traced by themselves as
well, with their names bound, which is what `jax.make_jaxpr(axis_env=...)` is for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax

from jaxnb.program import Level
from jaxnb.reading import read_jaxpr, varying_axes

__all__ = ["Vmapped", "record_vmaps"]


@dataclass(frozen=True, slots=True)
class Vmapped:
    """A function that was mapped over a name.

    Attributes:
      name: of the axis.
      level: "jaxpr", of the function at one position.
    """

    name: str
    level: Level


@contextmanager
def record_vmaps(cell_file: str = "", source: str = "", label: Callable[[str], str] = str) -> Generator[list[Vmapped]]:
    """Takes down each call of what `jax.vmap` with a name gives, as far as it is reached as `jax.vmap`.

    Args:
      cell_file: the name of the cell's file.
      source: its text.
      label: what the user knows a file by.

    >>> with record_vmaps() as found:
    ...     _ = jax.vmap(lambda x: x - jax.lax.pmean(x, "i"), axis_name="i")(jax.numpy.arange(3.0))
    >>> [(one.name, [op.name for op in one.level.ops()]) for one in found]
    [('i', ['psum', 'div', 'sub'])]
    """
    original, found = jax.vmap, list[Vmapped]()

    @functools.wraps(original)
    def vmap(fun: Any, in_axes: Any = 0, out_axes: Any = 0, axis_name: Any = None, **more: Any) -> Any:
        mapped = original(fun, in_axes=in_axes, out_axes=out_axes, axis_name=axis_name, **more)
        if axis_name is None:
            return mapped

        @functools.wraps(mapped)
        def called(*args: Any, **kwargs: Any) -> Any:
            result = mapped(*args, **kwargs)  # first, so that its errors are the user's
            if not kwargs:
                known = _read(fun, in_axes, str(axis_name), args, (cell_file, source, label))
                found.extend([known] if known is not None else [])
            return result

        return called

    vmap.stands_for = original  # type: ignore[attr-defined]
    jax.vmap = vmap
    try:
        yield found
    finally:
        jax.vmap = original


def _read(fun: Any, in_axes: Any, name: str, args: tuple[Any, ...], where: tuple[Any, ...]) -> Vmapped | None:
    axes = jax.tree.leaves(
        jax.tree.broadcast(tuple(in_axes) if isinstance(in_axes, list) else in_axes, args, is_leaf=_is_none),
        is_leaf=_is_none,
    )
    leaves, tree = jax.tree.flatten(args)
    sizes = [leaf.shape[axis] for leaf, axis in zip(leaves, axes, strict=True) if axis is not None]
    given = [_at_one(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True)]
    if not sizes:
        return None
    closed = jax.make_jaxpr(fun, axis_env=[(name, sizes[0])])(*jax.tree.unflatten(tree, given))
    brought = [() if axis is None else (name,) for axis in axes]
    varying = varying_axes(closed, {name: sizes[0]}, brought)
    file, source, label = where
    names = _parameters(fun, args)
    level = read_jaxpr(closed, cell_file=file, source=source, file_label=label, varying=varying, invar_names=names)
    return Vmapped(name, level)


def _parameters(fun: Any, args: Sequence[Any]) -> tuple[str, ...]:
    """The names of the parameters, where each takes one array; none otherwise."""
    try:
        names = tuple(inspect.signature(fun).parameters)[: len(args)]
    except (TypeError, ValueError):
        return ()
    plain = len(names) == len(args) and all(jax.tree.structure(arg) == jax.tree.structure(0) for arg in args)
    return names if plain else ()


def _at_one(leaf: Any, axis: int | None) -> Any:
    """What an argument is at one position."""
    aval = jax.typeof(leaf)
    if axis is None:
        return jax.ShapeDtypeStruct(aval.shape, aval.dtype)
    at = axis % len(aval.shape)
    return jax.ShapeDtypeStruct((*aval.shape[:at], *aval.shape[at + 1 :]), aval.dtype)


def _is_none(leaf: Any) -> bool:
    return leaf is None
