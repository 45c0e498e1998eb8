"""Whether a statement may change or consume anything: a program made from one that does cannot be replayed."""

from __future__ import annotations

import builtins
import contextvars
import functools
import io
import random
import re
import sys
import threading
import types
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxnb.runtime import home_of, is_compiled, is_jax_module, is_library, is_library_class, name_of
from jaxnb.staging.cells.code import CodeNames, Sees, code_digest, names_of
from jaxnb.staging.cells.deep import deep_walk
from jaxnb.staging.cells.reach import ATOMS, function_parts, hides, is_user_function, state_of, unwrapped
from jaxnb.staging.cells.unseen import reads_unseen

__all__ = [
    "code_marks",
    "direct_effect",
    "effect_of_builtin",
    "first_effect",
    "first_unseen",
    "is_stateful",
    "is_unchanging",
    "may_mutate",
    "own_unseen",
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
_DRAWING = ("numpy.random", "random")
_HEARD_BUILTINS = frozenset({"print", "open", "input", "next"})
_HEARD_MODULES = ("logging", "absl")
_MOVING = (io.IOBase, random.Random)
_HOLDING = (
    *(threading.local, contextvars.ContextVar),
    *(weakref.WeakSet, weakref.WeakKeyDictionary, weakref.WeakValueDictionary),
)
"""What holds other things, and does nothing else: a walk follows it."""
_IMPURE_PREFIXES = (*_DRAWING, "scipy.stats", "copy.copy_")
_NUMPY_MUTATORS = frozenset(
    {"put", "copyto", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle", "at"}
    | {"seterr", "seterrcall", "setbufsize", "set_printoptions"}
)


def resolve(chain: tuple[str, ...], namespace: Mapping[str, Any]) -> Any:
    """What a dotted name stands for, as far as modules and classes lead; the last object found otherwise.

    Attributes of other objects are not read, because that may run code.
    """
    value = namespace.get(chain[0], getattr(builtins, chain[0], None))
    for name in chain[1:]:
        if not issubclass(type(value), types.ModuleType | type):
            break
        # what the class of a module has under a name may run code, and so may the user's function for what is not there
        serves = isinstance(value, types.ModuleType) and not hasattr(type(value), name) and is_library(name_of(value))
        value = getattr(value, name, None) if serves else vars(value).get(name)
    return value


def first_effect(names: CodeNames, namespace: Mapping[str, Any]) -> tuple[int, str] | None:
    """The first thing in the code, or in user functions that it reaches, that might do more than to give a value.

    Returns its line and a description, or None where nothing but pure code is found. A name that only *might* have
    an effect counts: this is for code that nobody asked to run.
    """
    return _Effects(everything=True).first(names, namespace)


def first_unseen(
    names: CodeNames, namespace: Mapping[str, Any], ran: frozenset[bytes] | None = None
) -> tuple[int, str] | None:
    """The first thing in the code, or in user functions that it reaches, that a trace would not notice.

    What touches the outside is noticed when it happens, see `trace.noticing`, and so are text and draws from
    the global random states. Left are the few things that raise no audit event (see `unseen`), iterators and random
    states of objects, calls of unknown libraries whose value nobody takes, which are there for what they do, and
    libraries with compiled code that are not built on JAX.

    Args:
      names: what the code refers to.
      namespace: where its names are looked up.
      ran: fingerprints of the code that ran; other functions of the user do not count. None if all do.

    Returns:
      Its line and a description, or None.
    """
    return _Effects(everything=False, ran=ran).first(names, namespace)


def own_unseen(names: CodeNames, namespace: Mapping[str, Any]) -> tuple[int, str] | None:
    """The same of code that stands in a function alone, without the functions of the user that it calls."""
    return _Effects(everything=False, deep=False).first(names, namespace)


_OF_FRAMES = frozenset({"f_globals", "f_locals", "f_back", "__globals__"})


def direct_effect(chain: tuple[str, ...], namespace: Mapping[str, Any]) -> str | None:
    """What calling this dotted name does besides giving a value, in a few words, unless it is a user's function."""
    value = resolve(chain, namespace)
    if value is print:
        return "print needs values"
    if isinstance(value, types.FunctionType) and is_user_function(value):
        return None
    with deep_walk():
        reason = _Effects(everything=True).of(value, chain, namespace)
    return f"{'.'.join(chain)} acts on the outside" if reason is not None else None


class _Effects:
    """One search for effects.

    Args:
      everything: whether whatever may have an effect counts, and not only what a trace would not notice.
      deep: whether functions that are called are looked into; otherwise the code is itself that of a function.
      ran: fingerprints of the code of the functions that are looked into; None for all.
    """

    def __init__(self, everything: bool, deep: bool = True, ran: frozenset[bytes] | None = None) -> None:
        self._everything, self._deep, self._ran = everything, deep, ran
        self._wrapped = False  # within a function that JAX traces, which says something then and not when it is called
        self._depth = 0 if deep else 1  # of functions that are looked into
        self._seen: set[tuple[int, bool]] = set()

    def first(self, names: CodeNames, namespace: Mapping[str, Any]) -> tuple[int, str] | None:
        """Where the search begins."""
        with deep_walk():
            return self._within(names, namespace)

    def _within(self, names: CodeNames, namespace: Mapping[str, Any]) -> tuple[int, str] | None:
        self._depth += 1
        found = self._first(names, namespace)
        self._depth -= 1
        return found

    def _first(self, names: CodeNames, namespace: Mapping[str, Any]) -> tuple[int, str] | None:
        for chain, line in sorted(names.chains.items(), key=lambda item: item[1]):
            reason = self.of(resolve(chain, namespace), chain, namespace, chain in names.dropped)
            if reason is not None:
                return line, reason
        if "__subclasses__" in names.attributes and not self._everything:
            return next(iter(names.chains.values()), 1), "it asks a class for those that derive from it"
        if names.attributes & _OF_FRAMES or (names.finds_modules and "__main__" in names.reads):
            return next(iter(names.chains.values()), 1), "it finds names by way of frames, functions or modules"
        return None

    def of(self, value: Any, chain: tuple[str, ...], namespace: Mapping[str, Any], dropped: bool = False) -> str | None:
        """What reading and calling a value that stands under a dotted name does; None if nothing that counts.

        Args:
          value: what was found there.
          chain: the name.
          namespace: where it was looked up.
          dropped: whether it is called and nobody takes what it gives.
        """
        dotted = ".".join(chain)
        if value is None or type(value) in ATOMS or (id(value), dropped) in self._seen or hides(value):
            return None
        self._seen.add((id(value), dropped))
        if not self._everything and (told := reads_unseen(value, chain, self._depth > 1)) is not None:
            return f"{dotted} {told}"
        if isinstance(value, types.ModuleType):
            return self._module(getattr(value, "__name__", None), dotted, False)
        if isinstance(value, types.BuiltinFunctionType | type) and getattr(builtins, chain[-1], None) is value:
            heard = not (self._everything or (self._wrapped and value is print))
            heard = heard and (chain[-1] in _HEARD_BUILTINS or self._depth > 1)
            if value is id and chain != ("id",):
                return f"{dotted}() is asked"  # what a trace puts there knows nothing of it
            pure = heard or chain[-1] in _PURE_BUILTINS or isinstance(value, type)
            return None if pure else f"{dotted}() acts on the outside"
        if isinstance(value, type):
            if not self._deep and not is_library_class(value):
                return None
            if is_library_class(value):
                return self._module(value.__module__, dotted, dropped)
            if not self._everything and any("__del__" in vars(base) for base in value.__mro__):
                return f"{dotted} has a destructor, which would run for what a trace makes, too"
            parts = [unwrapped(item) for item in vars(value).values()]
            return self._first_of(parts, chain)
        if isinstance(value, types.FunctionType):
            if is_library(value.__globals__.get("__name__", "__main__")):
                return self._module(value.__module__, dotted, dropped) or self._first_of(function_parts(value), chain)
            if not self._deep or (self._ran is not None and code_digest(value.__code__) not in self._ran):
                return None
            found = self._within(names_of(value.__code__), value.__globals__)
            if found is not None:
                return f"{dotted} does: {found[1]}"
            return self._first_of(function_parts(value), chain)
        if isinstance(value, types.BuiltinFunctionType | types.MethodType):
            return self._module(value.__module__ or type(value.__self__).__module__, dotted, dropped)
        if isinstance(value, types.ClassMethodDescriptorType | types.MethodDescriptorType):
            return self._module(value.__objclass__.__module__, dotted, dropped)
        if isinstance(value, types.GeneratorType) or (hasattr(type(value), "__next__")):
            return f"{dotted} is an iterator, and reading it moves it on"
        state = state_of(value) if callable(value) else None
        if not self._everything and isinstance(value, _HOLDING):
            return None
        wrapped = state.get("__wrapped__") if isinstance(state, dict) else None
        if wrapped is not None:
            outer, self._wrapped = self._wrapped, True
            try:
                return self.of(wrapped, chain, namespace, dropped)
            finally:
                self._wrapped = outer
        if callable(value) and is_user_function(type(value).__call__):
            return self.of(type(value).__call__, chain, namespace, dropped)
        kind = type(value)
        module = kind.__module__
        if not is_library(module) or is_jax_module(module) or module in ("builtins", "numpy"):
            return None
        if not self._everything and isinstance(value, _MOVING) and len(chain) > 1:
            return f"{dotted} keeps a state that a replay would not move on"
        return self._module(module, dotted, dropped)

    def _first_of(self, parts: Any, chain: tuple[str, ...]) -> str | None:
        for part in parts:
            if isinstance(part, types.FunctionType) and (reason := self.of(part, chain, {})):
                return reason
        return None

    def _module(self, module: str | None, dotted: str, dropped: bool) -> str | None:
        module = module if type(module) is str else None
        if not self._everything and (module or "").partition(".")[0] in _HEARD_MODULES:
            return None
        reason = _module_effect(module, dotted)
        draws = (module or "").startswith(_DRAWING)
        if reason is None or self._everything or dropped or draws:
            return reason
        # whatever Python does is noticed when it happens; compiled code, as that of h5py, may read and write unnoticed
        return reason if is_library(module) and not _is_standard(module) and is_compiled(str(module)) else None


def _is_standard(module: str | None) -> bool:
    return (module or "").partition(".")[0] in sys.stdlib_module_names


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
        kind: Any = value if issubclass(type(value), type) else type(value)
        if not is_library_class(kind):
            found[name] = id(kind)
    return found


def _computes_names(value: Any) -> bool:
    """Whether it is a module of a class of the user, whose properties may do anything."""
    kind = type(value)
    return issubclass(kind, types.ModuleType) and kind is not types.ModuleType and not is_library_class(kind)


def _function_behind(value: Any) -> types.FunctionType | None:
    while not issubclass(type(value), types.FunctionType):
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


def effect_of_builtin(function: Any) -> str | None:
    """What calling a built-in function that is held somewhere does that a trace would not notice; None if nothing."""
    name = function.__name__
    if getattr(builtins, name, None) is function:
        return None if name in _PURE_BUILTINS | _HEARD_BUILTINS else f"{name}() acts on the outside"
    told = reads_unseen(function, (name,), False)
    if told is not None:
        return f"{name} {told}"
    module = function.__module__ or type(function.__self__).__module__
    return _module_effect(module, name) if module.startswith(_DRAWING) else None


def is_stateful(value: Any) -> bool:
    """Whether using an object moves it on: random states, files, iterators."""
    kind = type(value)
    stateful = issubclass(kind, random.Random | io.IOBase | contextvars.ContextVar)
    return stateful or home_of(kind).startswith("numpy.random") or hasattr(kind, "__next__")


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
    [
        *("jax", "jaxlib", "typing", "abc", "dataclasses", "enum", "datetime", "decimal", "fractions", "uuid"),
        *("zoneinfo", "operator"),
    ]
)


def is_unchanging(value: Any) -> bool:
    """Whether an object whose content is out of reach is known never to change."""
    kind = type(value)
    room = kind.__basicsize__ - 8 * (kind.__weakrefoffset__ > 0)
    if (
        isinstance(value, _UNCHANGING)
        or room <= object.__basicsize__
        or kind.__name__ in ("lock", "RLock", "_thread._local")
    ):
        return True
    return kind.__module__.partition(".")[0] in _UNCHANGING_MODULES
