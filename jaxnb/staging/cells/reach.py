"""What a statement reaches, and whether that has to do with JAX.

Where it reads no JAX value and refers to JAX nowhere, Python runs it.
"""

from __future__ import annotations

import builtins
import itertools
import types
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from jaxnb.runtime import is_jax_module, is_library, is_library_class
from jaxnb.staging.cells.code import CodeNames, names_of
from jaxnb.staging.cells.referents import function_parts, parts_of, state_of

__all__ = [
    "ATOMS",
    "functions_reached",
    "hides",
    "is_user_function",
    "refers_to_jax",
    "unwrapped",
]

ATOMS = frozenset(
    {
        type(None),
        bool,
        int,
        float,
        complex,
        str,
        bytes,
        type(...),
        slice,
        range,
        type(NotImplemented),
        np.dtype,
    }
)
"""Types whose values hold nothing else that matters and never change."""


def hides(value: Any) -> bool:
    """Whether an object does not say what it is: proxies and mocks name another class than theirs, or raise."""
    try:
        return value.__class__ is not type(value)
    except Exception:  # whatever the object raises
        return True


def is_user_function(value: object) -> bool:
    """Whether `value` is a Python function of the notebook or of the user's own modules."""
    return isinstance(value, types.FunctionType) and not is_library(value.__globals__.get("__name__", "__main__"))


def refers_to_jax(names: CodeNames, namespace: Mapping[str, Any], plain: Mapping[int, object]) -> bool:
    """Whether code reads a JAX value, or reaches anything of JAX or of a package built on it.

    Args:
      names: what the code refers to.
      namespace: where its global names are looked up.
      plain: what stands for NumPy values and Python scalars while tracing, by the id of the tracer.
    """
    try:
        return _Search(plain).names(names, namespace)
    except RecursionError:
        return True  # nested so deeply that it cannot be told; the walk of the cell will say so


class _Search:
    def __init__(self, plain: Mapping[int, object]) -> None:
        self.plain = plain
        self.seen: set[int] = set()

    def names(self, names: CodeNames, namespace: Mapping[str, Any]) -> bool:
        for name in names.reads:
            if name in namespace:
                if self.value(namespace[name], names):
                    return True
            elif (module := getattr(builtins, name, None)) is not None and self.value(module, names):
                return True
        return False

    def value(self, value: Any, names: CodeNames | None = None) -> bool:
        kind = type(value)
        if kind in ATOMS:
            return False
        if id(value) in self.plain:
            return False
        if kind is np.ndarray:
            return value.dtype == object and any(self.value(item) for item in value.flat)
        if id(value) in self.seen:
            return False
        self.seen.add(id(value))
        if hides(value):
            return False
        if isinstance(value, types.ModuleType):
            return self.module(value, names)
        if isinstance(value, types.FunctionType):
            return self.function(value)
        if is_jax_module(kind.__module__):
            return True
        if isinstance(value, type):
            return self.klass(value)
        if isinstance(value, types.BuiltinFunctionType | types.MethodType):
            return is_jax_module(value.__module__) or self.value(value.__self__)
        return any(self.value(item) for item in parts_of(value)) or self.klass(kind)

    def module(self, module: types.ModuleType, names: CodeNames | None) -> bool:
        name = getattr(module, "__name__", None)
        if is_library(name):
            return is_jax_module(name)
        used = vars(module).keys() & names.attributes if names is not None else vars(module).keys()
        return any(self.value(vars(module)[name], names) for name in used)

    def function(self, function: types.FunctionType) -> bool:
        if is_jax_module(function.__module__):
            return True
        if any(self.value(item) for item in function_parts(function)):
            return True
        if is_library(function.__globals__.get("__name__", "__main__")):
            return False
        return self.names(names_of(function.__code__), function.__globals__)

    def klass(self, kind: type) -> bool:
        if is_library_class(kind):
            return is_jax_module(kind.__module__)
        return any(self.value(unwrapped(item)) for base in kind.__mro__[:-1] for item in list(vars(base).values()))


_FEW = 100


def functions_reached(names: CodeNames, namespace: Mapping[str, Any]) -> list[types.FunctionType]:
    """The user's functions that code may call: by its names, as methods, in closures, and what these reach in turn.

    Of containers only the first items are looked at.
    """
    search = _Functions()
    search.names(names, namespace)
    return search.found


class _Functions:
    """Finds functions, without recursion: values may be nested more deeply than Python's stack."""

    def __init__(self) -> None:
        self.found: list[types.FunctionType] = []
        self._seen: set[int] = set()

    def names(self, names: CodeNames, namespace: Mapping[str, Any]) -> None:
        waits = [*reversed(self._named(names, namespace))]
        while waits:
            waits += reversed(self._within(*waits.pop()))

    def _named(self, names: CodeNames, namespace: Mapping[str, Any]) -> list[_Found]:
        return [(namespace[name], names) for name in names.order if name in namespace]

    def _within(self, value: Any, names: CodeNames | None) -> list[_Found]:
        """What is to be looked at in a value, in order."""
        kind = type(value)
        if kind in ATOMS or kind is np.ndarray or id(value) in self._seen or hides(value):
            return []
        self._seen.add(id(value))
        if isinstance(value, types.FunctionType):
            found = list[_Found]()
            if is_user_function(value):
                self.found.append(value)
                found = self._named(names_of(value.__code__), value.__globals__)
            return [*found, *_alone(function_parts(value)), (vars(value).get("__wrapped__"), None)]
        if isinstance(value, types.ModuleType):
            if names is None or is_library(getattr(value, "__name__", None)):
                return []
            return _alone(vars(value)[name] for name in vars(value).keys() & names.attributes)
        if isinstance(value, types.MethodType):
            return _alone([value.__func__, value.__self__])
        if isinstance(value, type):
            return _of_class(value)
        if is_jax_module(kind.__module__):
            state = state_of(value)
            return _alone([state.get("__wrapped__") if isinstance(state, dict) else None])
        return [*_alone(itertools.islice(parts_of(value), _FEW)), *_of_class(kind)]


_Found = tuple[Any, CodeNames | None]
"""A value, and the names of the code that finds it by one of them."""


def _alone(values: Iterable[Any]) -> list[_Found]:
    return [(value, None) for value in values]


def _of_class(kind: type) -> list[_Found]:
    if is_library_class(kind):
        return []
    own = [base for base in kind.__mro__ if not is_library_class(base)]
    return _alone(unwrapped(item) for base in own for item in list(vars(base).values()))


def unwrapped(item: Any) -> Any:
    if isinstance(item, staticmethod | classmethod):
        return item.__func__
    if isinstance(item, property):
        return item.fget
    return item
