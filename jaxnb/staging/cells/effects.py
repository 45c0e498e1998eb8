"""What code does to the outside: to files, texts, random states, the process. A program made from it leaves that out.

One search answers all who ask: those who replay a program (`first_unseen`: what a trace would not notice), and those
who run code that nobody asked for (`first_effect`: all that might do more than give a value). What is known by name of
builtins and libraries stands here and in `unseen`; what happens while code is traced is noticed by `trace.noticing`.
Whether code changes objects is asked of `mutation`, and how objects themselves behave of `objects.alive`.
"""

from __future__ import annotations

import builtins
import contextvars
import io
import random
import sys
import threading
import types
import weakref
from collections.abc import Mapping
from typing import Any

from jaxnb.runtime import is_compiled, is_jax_module, is_library, is_library_class, name_of
from jaxnb.staging.cells.code import CodeNames, code_digest, names_of
from jaxnb.staging.cells.deep import deep_walk
from jaxnb.staging.cells.reach import ATOMS, hides, is_user_function, unwrapped
from jaxnb.staging.cells.referents import function_parts, state_of
from jaxnb.staging.cells.unseen import reads_unseen

__all__ = [
    "direct_effect",
    "effect_of_builtin",
    "first_effect",
    "first_unseen",
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
