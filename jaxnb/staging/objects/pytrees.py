"""The leaves of a value of the user's, as JAX sees pytrees, found without JAX's own functions.

These sort the keys of a dict, which need no order, call what flattens a class of the user's, which may do anything, and
never come back from a container that holds itself. The plain cell flattens only what it hands to JAX.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from jaxnb.staging.cells.referents import TypeCache, reader_of
from jaxnb.staging.objects.paths import Path

__all__ = ["leaves_of"]


def leaves_of(value: Any, name: str = "") -> Iterator[tuple[Path, Any]]:
    """The leaves of a value and of the pytrees that it holds, each with its path from a name.

    Dicts are in their own order. A container that is met twice is looked into once.

    >>> [leaf for _, leaf in leaves_of({"b": (1, [2]), 0: 3})]
    [1, 2, 3]
    """
    seen: dict[int, Any] = {}
    readers = TypeCache(reader_of)
    stack: list[tuple[Path, Any]] = [((None, "name", name), value)]
    while stack:
        path, item = stack.pop()
        if id(item) in seen:
            continue
        if jax.tree_util.all_leaves([item]):  # which asks for the type alone
            yield path, item
            continue
        seen[id(item)] = item
        parts = [((path, edge, key), child) for edge, key, child in readers.of(item)(item) if _is_part(edge, key)]
        stack.extend(reversed(parts))


def _is_part(edge: str, key: Any) -> bool:
    return edge == "item" or (edge == "attr" and key != "__class__")
