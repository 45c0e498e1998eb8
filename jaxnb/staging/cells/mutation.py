"""Whether code may change an object that it did not make itself, as far as the code and what it refers to can tell."""

from __future__ import annotations

import builtins
import functools
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxnb.runtime import home_of, is_library, is_library_class
from jaxnb.staging.cells.code import CodeNames, Sees, names_of
from jaxnb.staging.cells.effects import resolve
from jaxnb.staging.cells.reach import ATOMS, hides, is_user_function

__all__ = ["keeps_what_it_gets", "may_mutate"]

_NUMPY_MUTATORS = frozenset(
    {"put", "copyto", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle", "at"}
    | {"seterr", "seterrcall", "setbufsize", "set_printoptions"}
)
_CHANGING_METHODS = frozenset(
    {
        *("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "update", "setdefault", "popitem"),
        *("add", "discard", "difference_update", "intersection_update", "symmetric_difference_update"),
        *("fill", "put", "partition", "resize", "setfield", "setflags", "itemset", "byteswap", "send", "throw"),
    }
)
_READING_METHODS = (
    frozenset(
        name
        for kind in (np.ndarray, np.generic, str, bytes, list, dict, set, tuple, float, int, range)
        for name in dir(kind)
        if not (name.startswith("__") and name not in ("__class__", "__name__", "__doc__", "__len__"))
    )
    - _CHANGING_METHODS
)
"""Methods and attributes of values that Python and NumPy make, which change nothing."""


def may_mutate(names: CodeNames, namespace: Mapping[str, Any], seen: set[int] | None = None) -> bool:
    """Whether code that Python runs could change an object that it did not make itself.

    Args:
      names: what the code refers to.
      namespace: where its names are looked up.
      seen: ids of functions that were looked at.
    """
    if names.mutates or not names.methods <= _READING_METHODS or names.sees & Sees.NAMES:
        return True
    seen = set() if seen is None else seen
    return any(_may_change(chain, names, namespace, seen) for chain in names.chains) or "out" in names.attributes


def keeps_what_it_gets(kind: type) -> bool:
    """Whether methods of a class of the user store something, in the object or elsewhere, as their code has it."""
    functions = [
        function
        for base in kind.__mro__
        if not is_library_class(base)
        for name, function in vars(base).items()
        if isinstance(function, types.FunctionType) and name != "__init__"
    ]
    return any(
        names.mutates
        or names.binds
        or names.later_binds
        or names.rebinds
        or names.methods & (_CHANGING_METHODS | _QUEUEING)
        for names in (names_of(function.__code__) for function in functions)
    )


_QUEUEING = frozenset({"put_nowait", "appendleft", "push"})


def _may_change(chain: tuple[str, ...], names: CodeNames, namespace: Mapping[str, Any], seen: set[int]) -> bool:
    """Whether code that refers to a dotted name may change something by it."""
    reading = _READING_METHODS.issuperset(chain[1:])
    if chain[0] in names.binds and not reading:
        return True  # a method of what the statement itself binds, such as the items of a loop
    if chain[1:] and _computes_names(namespace.get(chain[0])):
        return True
    value = resolve(chain, namespace)
    kind = type(value)
    if value is None or kind in ATOMS:
        return False
    if hides(value):
        return True
    if callable(value) and home_of(kind).startswith("jaxlib"):
        value = getattr(value, "__wrapped__", value)  # what `jax.jit` has compiled runs its Python when it is traced
    if isinstance(value, types.FunctionType) and is_user_function(value):
        if id(value) in seen:
            return False
        seen.add(id(value))
        inner = names_of(value.__code__)
        return bool(inner.later_binds) or may_mutate(inner, value.__globals__, seen)
    if isinstance(value, type) and not is_library_class(value):
        return True  # its own code runs where it is called, and where a class is derived from it
    if isinstance(value, types.ModuleType | type) or getattr(builtins, chain[-1], None) is value:
        return chain[-1] in ("next", "setattr", "delattr", "exec", "eval")
    if home_of(value).partition(".")[0] in ("numpy", "math", "operator"):
        return chain[-1] in _NUMPY_MUTATORS or chain in names.dropped
    if home_of(kind).startswith("jaxlib"):
        return chain[-1] == "delete"  # nothing else changes an array
    if kind in _CONTAINERS:
        return not reading or _holds_objects(value, _DEEPEST)
    return len(chain) > 1 or callable(value) or not is_library(home_of(kind))


_CONTAINERS = (np.ndarray, list, tuple, dict, set, frozenset)
_DEEPEST, _MOST = 3, 100


def _holds_objects(value: Any, deep: int) -> bool:
    """Whether a container may hold an object of a class of the user, whose operators may do anything, or a function."""
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype == object
    if kind not in _CONTAINERS:
        return not is_library(home_of(kind)) or _calls_own(value)
    if not deep or len(value) > _MOST:
        kinds = {type(item) for item in (value.values() if kind is dict else value)}
        return not kinds <= ATOMS | {np.ndarray} and any(not home_of(item).startswith("jaxlib") for item in kinds)
    return any(_holds_objects(item, deep - 1) for item in (value.values() if kind is dict else value))


def _calls_own(value: Any) -> bool:
    """Whether calling it may run code of the user, or change the object that it is bound to."""
    kind = type(value)
    if kind is types.BuiltinFunctionType:
        return not isinstance(value.__self__, types.ModuleType | None)
    return callable(value) and (kind in (types.MethodType, functools.partial) or not is_library(home_of(value)))


def _computes_names(value: Any) -> bool:
    """Whether it is a module of a class of the user, whose properties may do anything."""
    kind = type(value)
    return issubclass(kind, types.ModuleType) and kind is not types.ModuleType and not is_library_class(kind)
