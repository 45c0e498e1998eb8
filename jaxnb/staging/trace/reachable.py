"""What objects of unknown make hold, tracers in particular."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxnb import _jax
from jaxnb._jax import NumpyValue
from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.referents import TypeCache, reader_of, referents
from jaxnb.staging.objects.mutables import mutable_of

__all__ = ["has_plain_layout", "holds_tracer", "is_data", "reached_from", "reaches_tracer", "stands_for_a_value"]


def holds_tracer(value: Any) -> bool:
    """Whether an object of JAX's own holds a tracer in a container or attribute."""
    seen: set[int] = set()
    stack: list[Any] = [value]
    readers = TypeCache(reader_of)
    while stack:
        item = stack.pop()
        if stands_for_a_value(item):
            return True
        if id(item) in seen or type(item) in ATOMS or isinstance(item, types.ModuleType | type):
            continue
        seen.add(id(item))
        if isinstance(item, _HOLDING) or mutable_of(item) is not None or _is_of_jax(item):
            stack.extend(child for _, _, child in readers.of(item)(item))
    return False


_HOLDING = (tuple, functools.partial, types.MethodType, types.FunctionType)


def _is_of_jax(item: Any) -> bool:
    return type(item).__module__.partition(".")[0] in _jax.JAX_PACKAGES


def stands_for_a_value(item: Any) -> bool:
    """Whether an object is a tracer, or stands for a NumPy value while a piece is traced."""
    return _jax.is_tracer(item) or type(item) is NumpyValue


def is_data(item: Any) -> bool:
    """Whether an object of NumPy's is compared by its content, and holds no other objects."""
    kind = type(item)
    return issubclass(kind, np.generic) or (kind is np.ndarray and not item.dtype.hasobject)


def reaches_tracer(value: Any) -> bool:
    """Whether an object of unknown make holds a tracer, as far as the garbage collector can follow it."""
    return any(stands_for_a_value(item) for item in reached_from(value))


def reached_from(value: Any, known: Callable[[Any], bool] = lambda item: False) -> Iterator[Any]:
    """An object of unknown make and what it holds, as far as the garbage collector can follow it.

    What is `known` is left out, and what it holds.
    """
    seen: set[int] = set()
    stack: list[Any] = [value]
    while stack and len(seen) < 10_000:
        item = stack.pop()
        if id(item) in seen or isinstance(item, types.ModuleType | types.CodeType) or known(item):
            continue
        seen.add(id(item))
        yield item
        stack.extend(referents(item))


def has_plain_layout(kind: Any) -> bool:
    """Whether an object of this class is made by `object.__new__`, so that its attributes and slots are all it has."""
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True
