"""What objects of unknown make hold, tracers in particular."""

from __future__ import annotations

import functools
import gc
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jaxnb import _jax
from jaxnb._jax import NumpyValue
from jaxnb.runtime import is_library_class
from jaxnb.staging.cells.reach import ATOMS, state_of
from jaxnb.staging.objects.holders import CELL, SLOTS, holder_of

__all__ = ["has_plain_layout", "holds_tracer", "is_data", "reached_from", "reaches_tracer", "stands_for_a_value"]


def holds_tracer(value: Any) -> bool:
    """Whether an object of JAX's own holds a tracer in a container or attribute."""
    seen: set[int] = set()
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if stands_for_a_value(item):
            return True
        if id(item) in seen or type(item) in ATOMS or isinstance(item, types.ModuleType | type):
            continue
        seen.add(id(item))
        if (holder := holder_of(item)) is not None:
            stack.extend(child for _, child in holder.save(item))
        elif isinstance(item, tuple):
            stack.extend(item)
        elif isinstance(item, functools.partial):
            stack.extend((item.func, *item.args, *item.keywords.values()))
        elif isinstance(item, types.MethodType):
            stack.extend((item.__func__, item.__self__))
        elif isinstance(item, types.FunctionType):
            stack.extend(child for cell in item.__closure__ or () for _, child in CELL.save(cell))
        elif type(item).__module__.partition(".")[0] in _jax.JAX_PACKAGES:
            if isinstance(state := state_of(item), dict):
                stack.extend(state.values())
            stack.extend(child for _, child in SLOTS.save(item))
    return False


def stands_for_a_value(item: Any) -> bool:
    """Whether an object is a tracer, or stands for a NumPy value while a piece is traced."""
    return _jax.is_tracer(item) or type(item) is NumpyValue


def is_data(item: Any) -> bool:
    """Whether an object of NumPy's is compared by its content, and holds no other objects."""
    kind = type(item)
    return issubclass(kind, np.generic) or (kind is np.ndarray and not item.dtype.hasobject)


def _held_by_array(array: Any) -> Iterator[Any]:
    """The objects that a NumPy array holds; the garbage collector does not know of them."""
    if array.dtype == object:
        yield from array.flat
    elif array.dtype.hasobject:
        yield from array.ravel().tolist()


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
        if isinstance(item, type):
            stack.extend(vars(item).values() if not is_library_class(item) else ())
            continue
        if isinstance(item, types.GeneratorType | types.CoroutineType):
            frame = item.gi_frame if isinstance(item, types.GeneratorType) else item.cr_frame
            stack.extend(frame.f_locals.values() if frame is not None else ())
        elif isinstance(item, types.FunctionType):
            stack.extend(child for cell in item.__closure__ or () for _, child in CELL.save(cell))
            stack.extend((item.__defaults__, item.__kwdefaults__, item.__dict__))
        elif isinstance(item, np.ndarray):
            stack.extend(_held_by_array(item))
        elif not isinstance(item, dict) or "__builtins__" not in item:
            stack.extend(gc.get_referents(item))


def has_plain_layout(kind: Any) -> bool:
    """Whether an object of this class is made by `object.__new__`, so that its attributes and slots are all it has."""
    try:
        object.__new__(kind)
    except TypeError:
        return False
    return True
