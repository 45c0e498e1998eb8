"""Values as `jax.jit` sees them: what it traces, what it hands back as it is, and what it would change."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from jaxnb.staging.cells.referents import state_of

__all__ = [
    "abstract",
    "can_be_static",
    "containers_in",
    "holds_array",
    "holds_jax",
    "is_array_like",
    "is_array_tree",
    "is_unsorted",
    "leaves_of",
    "shape_of",
]


def abstract(value: Any) -> Any:
    def leaf(item: Any) -> Any:
        if isinstance(item, jax.Array):
            kwargs = {"weak_type": True} if getattr(item, "weak_type", False) else {}
            return jax.ShapeDtypeStruct(item.shape, item.dtype, **kwargs)
        return item

    return jax.tree.map(leaf, value)


def shape_of(value: Any) -> tuple[str, list[str]]:
    leaves, tree = jax.tree.flatten(value)
    return str(tree), [f"{leaf.dtype}{list(leaf.shape)}" if hasattr(leaf, "dtype") else repr(leaf) for leaf in leaves]


def holds_jax(value: Any) -> bool:
    return any(isinstance(leaf, jax.Array) for leaf in leaves_of(value))


def containers_in(value: Any) -> set[int]:
    found: set[int] = set()
    if isinstance(value, list | dict | set):
        found.add(id(value))
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        found = found.union(*(containers_in(item) for item in value))
    return found


def is_unsorted(value: Any) -> bool:
    if type(value) is dict:
        try:
            return list(value) != sorted(value) or any(is_unsorted(item) for item in value.values())
        except TypeError:
            return True
    return isinstance(value, list | tuple) and any(is_unsorted(item) for item in value)


def is_array_like(value: Any) -> bool:
    """Whether a value is one that `jax.jit` traces."""
    if isinstance(value, np.ndarray | np.generic):
        numeric = value.dtype.kind in "biufc" or (value.dtype.kind == "V" and value.dtype.names is None)
        return numeric and value.dtype.itemsize > 0
    return isinstance(value, jax.Array | jax.ShapeDtypeStruct)


def leaves_of(value: Any) -> list[Any]:
    """The leaves of a tree; the value itself where JAX cannot take it apart."""
    if issubclass(type(value), Iterator):  # `isinstance` would run code of what stands in for others
        return [value]
    try:
        return jax.tree.leaves(value)
    except (ValueError, TypeError, RecursionError, SystemError):
        return [value]


def is_array_tree(value: Any) -> bool:
    """Whether a value consists of JAX arrays alone, so that a function under `jax.jit` returns it as it is."""
    return all(isinstance(leaf, jax.Array) for leaf in leaves_of(value))


def can_be_static(value: Any) -> bool:
    """Whether a value can be a static argument: it is hashable, and no array is in reach of it."""
    try:
        hash(value)
    except TypeError:
        return False
    return not holds_array(value)


def holds_array(value: Any, depth: int = 4) -> bool:
    """Whether an array is in reach of a value."""
    if isinstance(value, jax.Array | np.ndarray | jax.ShapeDtypeStruct):
        return True
    if depth == 0 or isinstance(value, type | types.ModuleType | types.FunctionType | str | bytes | int | float):
        return False
    held: list[Any] = []
    if isinstance(value, dict):
        held += value.values()
    elif isinstance(value, list | tuple | set | frozenset):
        held += value
    state = state_of(value)
    if isinstance(state, dict):
        held += state.values()
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        held += [getattr(value, item, None) for item in ([slots] if isinstance(slots, str) else slots)]
    held += [leaf for leaf in leaves_of(value) if leaf is not value]
    return any(holds_array(item, depth - 1) for item in held)
