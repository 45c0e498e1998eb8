"""Which handler says what a value contributes to a walk: by its class, or else by what it derives from.

A handler is called with the walk, the value, its path, and the slot where it is held, if it can be replaced there.
"""

from __future__ import annotations

import enum
import functools
import operator
import pathlib
import types
from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.errors import RunByPython
from jaxnb.runtime import is_library_class
from jaxnb.staging.cells.reach import hides
from jaxnb.staging.cells.referents import CACHED_FUNCTION, slot_descriptors, state_of
from jaxnb.staging.objects import containers, functions, instances, leaves
from jaxnb.staging.objects.mutables import BUFFERS
from jaxnb.staging.objects.paths import Path, render_path
from jaxnb.staging.objects.slots import Slot
from jaxnb.staging.objects.static import FILE_METHODS, TOLD_BY_TEXT, is_value

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = ["HANDLERS", "other"]

HANDLERS: Mapping[type, Callable[[Scan, Any, Path, Slot | None], None]] = {
    **dict.fromkeys(
        (type(None), bool, str, bytes, type(...), type(NotImplemented)),
        leaves.atom,
    ),
    range: leaves.range_,
    slice: leaves.range_,
    _jax.Array: leaves.array,
    np.ndarray: leaves.numpy,
    float: leaves.float_,
    int: leaves.int_,
    complex: leaves.complex_,
    list: containers.list_,
    dict: containers.dict_,
    tuple: containers.tuple_,
    set: containers.set_,
    frozenset: containers.set_,
    deque: containers.list_,
    types.FunctionType: functions.function,
    types.MethodType: functions.method,
    types.BuiltinFunctionType: functions.builtin_method,
    functools.partial: functions.partial,
    types.ModuleType: instances.module_value,
    _jax.TraceState: instances.trace_state,
}


def other(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    kind = type(value)
    if issubclass(kind, types.GenericAlias | types.UnionType):
        instances.annotation(scan, value, path)
        return
    if hides(value):
        instances.opaque(scan, value, path, slot)
        return
    if _jax.is_reference(value):
        raise RunByPython(
            f"`{render_path(path)}` is a mutable array reference.",
            why="a program that is run again would have to write to the reference that is there then.",
            fix="put what reads and writes it into a function under jax.jit, and call that.",
        )
    if isinstance(value, jax.Array):
        (leaves.tracer if _jax.is_tracer(value) else leaves.array)(scan, value, path, slot)
    elif kind is jax.ShapeDtypeStruct and scan.choices.abstract:
        leaves.shape(scan, value, path, slot)
    elif isinstance(value, BUFFERS):
        leaves.buffer(scan, value, path, slot)
    elif isinstance(value, np.generic | np.ndarray):
        leaves.numpy(scan, value, path, slot)
    elif isinstance(value, dict):
        containers.dict_(scan, value, path, slot)
    elif isinstance(value, list | deque):
        containers.list_(scan, value, path, slot)
    elif isinstance(value, tuple):
        containers.tuple_(scan, value, path, slot)
    elif isinstance(value, set | frozenset):
        containers.set_(scan, value, path, slot)
    elif isinstance(value, functools.partial):
        functions.partial(scan, value, path, slot)
    elif isinstance(value, type):
        scan.constructs |= scan.slots is not None
        scan.class_(value, path, slot)
        if is_library_class(value):  # not as a base: all abstract classes derive from one
            scan.registered(value, path)
    elif isinstance(value, CACHED_FUNCTION):
        functions.cached(scan, value, path, slot)
    elif (options := _jax.jit_options(value)) is not None:
        functions.jitted(scan, value, options, path, slot)
    elif isinstance(value, enum.Enum) and not is_library_class(kind):
        instances.member(scan, value, path, slot)
    elif isinstance(value, float | int | complex | str | bytes) or is_value(value):
        scan.parts.append((functions.kind_of(scan, kind, path), value))
        if isinstance(value, TOLD_BY_TEXT):
            scan.parts.append(repr(value))
        if isinstance(value, pathlib.Path):
            for name in FILE_METHODS & scan.attributes:
                scan.effect((path, "attr", name), "the file system may change between runs")
        if isinstance(value, float | int | complex | str | bytes) and (state_of(value) or slot_descriptors(kind)):
            scan.state(value, path)
    else:
        scan.getters |= isinstance(value, operator.attrgetter | operator.methodcaller)
        instances.object_(scan, value, path, slot)
