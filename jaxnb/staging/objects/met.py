"""What code may come to from an object: what that holds, and what its functions read from outside."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.staging.cells.code import names_of
from jaxnb.staging.cells.reach import ATOMS, hides, is_user_function
from jaxnb.staging.cells.referents import TypeCache, reader_of
from jaxnb.staging.objects.alive import is_machinery

__all__ = ["met_from"]


def met_from(value: Any, seen: dict[int, Any], by_name: bool = True) -> Iterator[Any]:
    """The objects that code may come to from `value`, itself included.

    Neither simple values are among them nor what hides itself or is of the machinery that runs the cells. What arrays
    and modules hold is left out.

    Args:
      value: anything; no code of it is run.
      seen: objects that were met before, by id; what is met is added, that which hides itself as well.
      by_name: whether what functions look up by a global name counts, which may be another object when they run.
    """
    stack, readers = [value], TypeCache(reader_of)
    while stack:
        item = stack.pop()
        kind = type(item)
        if id(item) in seen or kind in ATOMS:
            continue
        seen[id(item)] = item
        if hides(item) or is_machinery(item):
            continue
        yield item
        if issubclass(kind, types.ModuleType | jax.Array) or _jax.is_tracer_type(kind):
            continue
        stack.extend(child for _, _, child in readers.of(item)(item))
        if by_name and issubclass(kind, types.FunctionType) and is_user_function(item):
            around = item.__globals__
            stack.extend(around[name] for name in names_of(item.__code__).reads & around.keys() - {"__builtins__"})
