"""What a statement reaches: whether that has to do with JAX, and whether it does something that can be seen.

Answers the two questions of staging about a statement before it is run: does it read a JAX value or refer to JAX at
all (if not, Python runs it), and may it change or consume anything (if so, a program made from it cannot be replayed).
"""

from __future__ import annotations

import builtins
import contextvars
import functools
import io
import logging
import os
import random
import re
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from jaxnb.cells.code import CodeNames, code_digest, names_of

__all__ = [
    "ATOMS",
    "code_marks",
    "direct_effect",
    "effect_of_builtin",
    "first_effect",
    "is_jax_module",
    "is_library",
    "is_own",
    "is_stateful",
    "is_unchanging",
    "is_user_function",
    "may_mutate",
    "refers_to_jax",
    "resolve",
    "state_of",
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

_LIBRARY_FOLDERS = tuple(
    path for name in ("stdlib", "platstdlib", "purelib", "platlib") if (path := sysconfig.get_paths().get(name))
)
_JAX = ("jax", "jaxlib")
_jax_packages: dict[tuple[str, int], bool] = {}


_known_packages: dict[str, bool] = {}


_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_own(file: str) -> bool:
    """Whether a file belongs to this package."""
    return file.startswith(_OWN_FOLDER)


def is_library(module_name: object) -> bool:
    """Whether a module is installed or built in, rather than the user's own or the notebook itself."""
    if type(module_name) is not str:
        return True
    if module_name == "__main__":
        return False
    package = module_name.partition(".")[0]
    known = _known_packages.get(package)
    if known is None:
        known = _is_library_package(package)
        if known or package in sys.modules:  # what is imported later may be installed
            _known_packages[package] = known
    return known


def _is_library_package(package: str) -> bool:
    if package in sys.stdlib_module_names:
        return True
    module = sys.modules.get(package)
    file = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", [])), None)
    if not isinstance(file, str):
        return False
    return file.startswith(_LIBRARY_FOLDERS) or "site-packages" in file or "dist-packages" in file


def is_jax_module(module_name: str | None) -> bool:
    """Whether a module is JAX or belongs to a package built on it: one of its loaded modules holds something of JAX."""
    if module_name is None or module_name == "__main__":
        return False
    package = module_name.partition(".")[0]
    if package in _JAX:
        return True
    if package in sys.stdlib_module_names or package == "numpy":
        return False
    if not is_library(module_name):
        return _holds_jax(sys.modules.get(module_name))
    key = (package, len(sys.modules))
    known = _jax_packages.get(key)
    if known is None:
        parts = [m for name, m in list(sys.modules.items()) if name == package or name.startswith(package + ".")]
        known = _jax_packages[key] = any(_holds_jax(part) for part in parts)
    return known


def _holds_jax(module: types.ModuleType | None) -> bool:
    for value in list(vars(module).values()) if module is not None else []:
        name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        if isinstance(name, str) and name.partition(".")[0] in _JAX:
            return True
    return False


def state_of(value: Any) -> Any:
    """The `__dict__` of an object, or None. No `__getattr__` of its class is run."""
    try:
        return object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None


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
        return any(self.value(item) for item in _held(value)) or self.klass(kind)

    def module(self, module: types.ModuleType, names: CodeNames | None) -> bool:
        if is_library(module.__name__):
            return is_jax_module(module.__name__)
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
        if is_library(kind.__module__):
            return is_jax_module(kind.__module__)
        return any(self.value(_unwrapped(item)) for base in kind.__mro__[:-1] for item in list(vars(base).values()))


def function_parts(function: types.FunctionType) -> Iterator[Any]:
    """What a function holds: closure, defaults, keyword defaults, `__wrapped__`."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:
            continue  # a cell that is not bound yet
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def _unwrapped(item: Any) -> Any:
    if isinstance(item, staticmethod | classmethod):
        return item.__func__
    if isinstance(item, property):
        return item.fget
    return item


def _held(value: Any) -> Iterator[Any]:
    """What a container or object holds directly."""
    if isinstance(value, dict):
        yield from list(value.values())
        yield from list(value.keys())
    elif isinstance(value, list | tuple | set | frozenset) or type(value).__name__ == "deque":
        yield from list(value)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    state = state_of(value)
    if isinstance(state, dict):
        yield from list(state.values())
    for name in _slot_names(type(value)):
        if hasattr(value, name):
            yield getattr(value, name)


def _slot_names(kind: type) -> tuple[str, ...]:
    if is_library(kind.__module__):
        return ()
    slots = (vars(base).get("__slots__", ()) for base in kind.__mro__)
    return tuple(name for group in slots for name in ([group] if isinstance(group, str) else group))


# --- effects -------------------------------------------------------------------------------------------------------

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
        parts = [_unwrapped(item) for item in vars(value).values()]
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
