"""Whether a statement may change or consume anything: a program made from one that does cannot be replayed."""

from __future__ import annotations

import builtins
import contextvars
import io
import logging
import random
import re
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxnb.cells.code import CodeNames, code_digest, names_of
from jaxnb.cells.libraries import is_jax_module, is_library
from jaxnb.cells.reach import ATOMS, function_parts, is_user_function, state_of, unwrapped

__all__ = [
    "code_marks",
    "direct_effect",
    "effect_of_builtin",
    "first_effect",
    "is_stateful",
    "is_unchanging",
    "may_mutate",
    "resolve",
]

_PURE_BUILTINS = frozenset(
    [
        "abs",
        "all",
        "any",
        "ascii",
        "bin",
        "bool",
        "bytearray",
        "bytes",
        "callable",
        "chr",
        "classmethod",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "format",
        "frozenset",
        "getattr",
        "hasattr",
        "hash",
        "hex",
        "id",
        "int",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "memoryview",
        "min",
        "object",
        "oct",
        "ord",
        "pow",
        "property",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "staticmethod",
        "str",
        "sum",
        "setattr",
        "delattr",
        "dir",
        "vars",
        "super",
        "tuple",
        "type",
        "zip",
        "__build_class__",
        "__import__",
    ]
)
_PURE_MODULES = frozenset(
    [
        "abc",
        "bisect",
        "cmath",
        "collections",
        "contextlib",
        "copy",
        "copyreg",
        "dataclasses",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "json",
        "keyword",
        "math",
        "numbers",
        "numpy",
        "operator",
        "re",
        "statistics",
        "string",
        "struct",
        "textwrap",
        "types",
        "typing",
        "typing_extensions",
        "unicodedata",
        "warnings",
        "__future__",
        "ml_dtypes",
        "einops",
        "jaxtyping",
        "chex",
        "beartype",
        "scipy",
    ]
)
_IMPURE_PREFIXES = ("numpy.random", "scipy.stats", "copy.copy_")
_NUMPY_MUTATORS = frozenset({"put", "copyto", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle"})


def resolve(chain: tuple[str, ...], namespace: Mapping[str, Any]) -> Any:
    """What a dotted name stands for, as far as modules and classes lead; the last object found otherwise.

    Attributes of other objects are not read, because that may run code.
    """
    value = namespace.get(chain[0], getattr(builtins, chain[0], None))
    for name in chain[1:]:
        if not isinstance(value, types.ModuleType | type):
            break
        value = vars(value).get(name) if not isinstance(value, types.ModuleType) else getattr(value, name, None)
    return value


def first_effect(
    names: CodeNames, namespace: Mapping[str, Any], seen: set[int] | None = None
) -> tuple[int, str] | None:
    """The first thing in the code, or in user functions that it reaches, that replaying a program would leave out.

    Returns its line and a description, or None where nothing but pure code is found. A name that only *might* have
    an effect counts: reuse is earned.
    """
    seen = set() if seen is None else seen
    for chain, line in sorted(names.chains.items(), key=lambda item: item[1]):
        value = resolve(chain, namespace)
        reason = _effect_of(value, chain, namespace, seen)
        if reason is not None:
            return line, reason
    return None


def direct_effect(chain: tuple[str, ...], namespace: Mapping[str, Any]) -> str | None:
    """What calling this dotted name does besides giving a value, in a few words, unless it is a user's function."""
    value = resolve(chain, namespace)
    if value is print:
        return "print needs values"
    if isinstance(value, types.FunctionType) and is_user_function(value):
        return None
    reason = _effect_of(value, chain, namespace, set())
    return f"{'.'.join(chain)} acts on the outside" if reason is not None else None


def _effect_of(value: Any, chain: tuple[str, ...], namespace: Mapping[str, Any], seen: set[int]) -> str | None:
    dotted = ".".join(chain)
    if value is None or type(value) in ATOMS or id(value) in seen:
        return None
    seen.add(id(value))
    if isinstance(value, types.ModuleType):
        return _module_effect(value.__name__, dotted)
    if isinstance(value, types.BuiltinFunctionType | type) and getattr(builtins, chain[-1], None) is value:
        return None if chain[-1] in _PURE_BUILTINS or isinstance(value, type) else f"{dotted}() acts on the outside"
    if isinstance(value, type):
        if is_library(value.__module__):
            return _module_effect(value.__module__, dotted)
        parts = [unwrapped(item) for item in vars(value).values()]
        return _first_of(parts, chain, seen)
    if isinstance(value, types.FunctionType):
        if is_library(value.__globals__.get("__name__", "__main__")):
            return _module_effect(value.__module__, dotted) or _first_of(function_parts(value), chain, seen)
        found = first_effect(names_of(value.__code__), value.__globals__, seen)
        if found is not None:
            return f"{dotted} does: {found[1]}"
        return _first_of(function_parts(value), chain, seen)
    if isinstance(value, types.BuiltinFunctionType | types.MethodType):
        return _module_effect(value.__module__ or type(value.__self__).__module__, dotted)
    if isinstance(value, types.ClassMethodDescriptorType | types.MethodDescriptorType):
        return _module_effect(value.__objclass__.__module__, dotted)
    if isinstance(value, types.GeneratorType) or (hasattr(type(value), "__next__")):
        return f"{dotted} is an iterator, and reading it moves it on"
    wrapped = vars(value).get("__wrapped__") if callable(value) and hasattr(value, "__dict__") else None
    if wrapped is not None:
        return _effect_of(wrapped, chain, namespace, seen)
    if callable(value) and is_user_function(type(value).__call__):
        return _effect_of(type(value).__call__, chain, namespace, seen)
    kind = type(value)
    if not is_library(kind.__module__) or is_jax_module(kind.__module__) or kind.__module__ in ("builtins", "numpy"):
        return None
    return _module_effect(kind.__module__, dotted)


def _first_of(parts: Any, chain: tuple[str, ...], seen: set[int]) -> str | None:
    for part in parts:
        if isinstance(part, types.FunctionType) and (reason := _effect_of(part, (*chain[:-1], chain[-1]), {}, seen)):
            return reason
    return None


def _module_effect(module: str | None, dotted: str) -> str | None:
    module = module or "__main__"
    if module.startswith(_IMPURE_PREFIXES):
        return f"{dotted} draws from a random state"
    package = module.partition(".")[0].removeprefix("_") if module != "__future__" else module
    if package in _PURE_MODULES or package == "builtins" or is_jax_module(module) or not is_library(module):
        return None
    return f"{dotted} may act on the outside"


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


def code_marks(names: CodeNames, namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The functions and classes of the user that code reaches by its names, each as a mark of what it is.

    A function is marked by the digests of its own code and of what that calls; a class, or its object, by identity.
    """
    found: dict[str, Any] = {}
    for name in names.order:
        value = namespace.get(name)
        if type(value) in ATOMS:
            continue
        function = _function_behind(value)
        if function is not None:
            found[name] = tuple(_digests(function, {}).values())
            continue
        kind = value if isinstance(value, type) else type(value)
        if not is_library(kind.__module__):
            found[name] = id(kind)
    return found


def _function_behind(value: Any) -> types.FunctionType | None:
    while not isinstance(value, types.FunctionType):
        state = state_of(value) if callable(value) else None
        value = state.get("__wrapped__") if isinstance(state, dict) else None
        if value is None:
            return None
    return value if is_user_function(value) else None


def _digests(function: types.FunctionType, found: dict[int, bytes]) -> dict[int, bytes]:
    code = function.__code__
    if id(code) not in found:
        found[id(code)] = code_digest(code)
        held = [function.__globals__.get(name) for name in names_of(code).order]
        for value in [*held, *function_parts(function)]:
            if (inner := _function_behind(value)) is not None:
                _digests(inner, found)
    return found


def may_mutate(names: CodeNames, namespace: Mapping[str, Any], seen: set[int] | None = None) -> bool:
    """Whether code that Python runs could change an object that it did not make itself."""
    if names.mutates or not names.methods <= _READING_METHODS:
        return True
    seen = set() if seen is None else seen
    for chain in names.chains:
        value = resolve(chain, namespace)
        if value is None or type(value) in ATOMS or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.FunctionType) and is_user_function(value):
            if may_mutate(names_of(value.__code__), value.__globals__, seen):
                return True
        elif isinstance(value, types.ModuleType | type) or getattr(builtins, chain[-1], None) is value:
            if chain[-1] in ("next", "setattr", "delattr", "exec", "eval"):
                return True
        elif str(getattr(value, "__module__", "")).partition(".")[0] in ("numpy", "math", "operator"):
            if chain[-1] in _NUMPY_MUTATORS:
                return True
        elif len(chain) > 1 and type(value).__module__.startswith("jaxlib"):
            if chain[-1] == "delete":  # nothing else changes an array
                return True
        elif len(chain) > 1 or callable(value):
            return True
    return bool(names.attributes & {"out"})


def effect_of_builtin(function: Any) -> str | None:
    """What calling a built-in function that is held somewhere does besides giving a value; None if nothing."""
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return None if name in _PURE_BUILTINS else f"{name}() acts on the outside"
    return _module_effect(function.__module__, name)


def is_stateful(value: Any) -> bool:
    """Whether using an object moves it on: random states, files, iterators, loggers."""
    kind = type(value)
    stateful = issubclass(kind, random.Random | io.IOBase | logging.Logger | contextvars.ContextVar)
    return stateful or kind.__module__.startswith("numpy.random") or hasattr(kind, "__next__")


_UNCHANGING = (
    types.CodeType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GenericAlias,
    types.UnionType,
    re.Pattern,
)
_UNCHANGING_MODULES = frozenset(
    ["jax", "jaxlib", "typing", "abc", "dataclasses", "enum", "datetime", "decimal", "fractions", "uuid", "zoneinfo"]
)


def is_unchanging(value: Any) -> bool:
    """Whether an object whose content is out of reach is known never to change."""
    kind = type(value)
    if isinstance(value, _UNCHANGING) or kind is object or kind.__name__ in ("lock", "RLock", "_thread._local"):
        return True
    return kind.__module__.partition(".")[0] in _UNCHANGING_MODULES
