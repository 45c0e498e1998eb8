"""What counts as static by content or by value, and what does not count at all."""

from __future__ import annotations

import datetime
import decimal
import enum
import functools
import gc
import hashlib
import sys
import types
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.runtime import home_of, is_library
from jaxnb.staging.cells.referents import CACHED_FUNCTION, attributes_of

__all__ = [
    "ASKS_ANNOTATIONS",
    "ASKS_CACHE",
    "DESCRIPTORS",
    "FILE_METHODS",
    "NOT_CONTENT",
    "NOT_VALUES",
    "OF_MEMBERS",
    "OF_WRAPPERS",
    "PLACEMENTS",
    "TOLD_BY_TEXT",
    "content_of",
    "has_docstring",
    "is_library_callable",
    "is_library_jit",
    "is_member",
    "is_value",
    "kept_by",
    "loaded_module",
    "log_level",
    "supported",
    "texts_of",
]

ASKS_CACHE = frozenset(name for name in vars(CACHED_FUNCTION) if not name.startswith("__"))
"""By which methods code sees how often such a function was called, or empties it."""
OF_WRAPPERS = frozenset(vars(functools.lru_cache(lambda: None))).union(vars(jax.jit(lambda: None)))
"""What `functools.lru_cache` and `jax.jit` put into the `__dict__` of a function: it follows from what that wraps."""
OF_MEMBERS = frozenset(vars(enum.Enum("Kind", "member")["member"])) - {"_value_"}  # type: ignore[misc]
"""What `enum` puts into the `__dict__` of a member besides its value: it follows from the name and the class."""
TOLD_BY_TEXT = (decimal.Decimal, datetime.datetime, datetime.time)
"""Values that are equal to others and have another text: the digits, the zone, and which of two equal hours it is."""
NOT_VALUES = frozenset({"__builtins__", "__annotations__", "__annotate__", "__conditional_annotations__"})
NOT_CONTENT = frozenset(
    [
        "__dict__",
        "__weakref__",
        "__module__",
        "__doc__",
        "__firstlineno__",
        "__static_attributes__",
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__slotnames__",
        "_abc_impl",
        "__orig_bases__",
        "__parameters__",
        "__dataclass_params__",
        "__signature__",
    ]
)
ASKS_ANNOTATIONS = frozenset({"__annotations__", "get_annotations", "get_type_hints", "signature"})
"""Attributes of functions, classes and modules by which code reads what is annotated."""
FILE_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes", "open", "exists", "iterdir", "stat"})
DESCRIPTORS = frozenset(["member_descriptor", "getset_descriptor", "_tuplegetter", "wrapper_descriptor"])


def texts_of(value: Any) -> tuple[Any, ...]:
    """What a function or class of the user says of itself, which anybody may set: its names and its docstring."""
    return value.__name__, value.__qualname__, value.__doc__ if has_docstring(value) else None


def has_docstring(value: Any) -> bool:
    """Whether a docstring was written; `dataclass` makes one that shows the defaults, which count by themselves."""
    text = value.__doc__
    made = "__dataclass_fields__" in vars(value) and type(text) is str and text.startswith(f"{value.__name__}(")
    return type(text) is str and not made


def kept_by(function: Any) -> dict[int, Any]:
    """What a function under `functools.lru_cache` has kept, and what tuples, lists and dicts hold of it, by id."""
    found: dict[int, Any] = {}
    own = (id(function.__wrapped__), id(vars(function)))
    stack = [child for child in gc.get_referents(function) if id(child) not in own]
    while stack:
        child = stack.pop()
        if id(child) not in found:
            found[id(child)] = child
            stack.extend(gc.get_referents(child) if type(child) in (tuple, list, dict) else ())
    return found


def log_level(value: Any) -> tuple[int, bool, int]:
    """What decides which records a logger lets through."""
    return value.getEffectiveLevel(), value.disabled, value.manager.disable


def loaded_module(module: Any) -> Any:
    """The module of a name, if it is loaded; None for what is no name."""
    return sys.modules.get(module) if isinstance(module, str) else None


def is_member(module: Any, function: Any) -> bool:
    """Whether a module holds a function under its name. No `__getattr__` of a module is run."""
    return vars(module).get(function.__name__) is function if module is not None else False


def is_library_callable(value: Any, state: Any) -> bool:
    """Whether an object is a function of a library in a wrapper, such as `jax.nn.relu`: it counts as itself.

    A wrapper that no module holds was made for the user, and another may be made in the next run.
    """
    module = state.get("__module__", "_") if isinstance(state, dict) and callable(value) else None
    if type(module) is not str or not is_library(module):
        return False
    if type(value).__module__ in _OF_PYTHON:
        return True
    name, loaded = state.get("__name__"), loaded_module(module)
    return type(name) is str and loaded is not None and vars(loaded).get(name) is value


_OF_PYTHON = frozenset({"builtins", "functools", "numpy", "typing"})
"""Modules of which no class keeps in such an object what changes."""


def is_library_jit(value: Any) -> bool:
    """Whether a function under `jax.jit` is a library's own: what a module of it holds, or made of nothing else.

    One that a library made of a function of the user, as `eqx.filter_jit` does, is another each time.
    """
    wrapped = value.__wrapped__
    if not isinstance(wrapped, types.FunctionType):
        return False
    module = wrapped.__globals__.get("__name__", "__main__")
    return is_library(module) and (
        is_member(loaded_module(module), value) or "<locals>" not in wrapped.__code__.co_qualname
    )


# There is one object of each, which keeps what it has computed: they compare by identity, and are never copied.
PLACEMENTS = (
    jax.sharding.Mesh,
    jax.sharding.AbstractMesh,
    jax.sharding.Sharding,
    jax.sharding.PartitionSpec,
)


def is_value(value: Any) -> bool:
    """Whether an object compares by value and can be hashed, and holds no array and nothing that could come to one:
    dtypes, enums, meshes, shardings.

    JAX compares what it has wrapped around a function of the user, such as the backward rule in a jaxpr, by that
    function; but what the function reads may change.
    """
    if isinstance(value, PLACEMENTS):
        return True
    kind = type(value)
    packages = ("jax", "jaxlib", "enum", "numpy", "pathlib", "datetime", "decimal", "fractions", "uuid")
    if home_of(kind).partition(".")[0] not in packages and not isinstance(value, enum.Enum):
        return False
    if kind.__eq__ is object.__eq__ or kind.__hash__ is None:
        return False
    if callable(value):
        return isinstance(value, type)
    return isinstance(value, enum.Enum) or not _holds_function(value)


def _holds_function(value: Any) -> bool:
    return any(callable(child) and not isinstance(child, type) for _, child in attributes_of(value))


@functools.lru_cache(maxsize=1024)
def supported(dtype: np.dtype[Any]) -> bool:
    """Whether JAX has arrays of this dtype."""
    if dtype.names is not None or dtype.kind in "OSUMmT":
        return False
    # bfloat16 and the like have kind "V" and a scalar type of their own
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void)


def content_of(value: Any) -> bytes:
    data = jax.random.key_data(value) if isinstance(value, _jax.KeyArray) else value
    array = np.ascontiguousarray(data)
    return hashlib.blake2b(array.tobytes(), digest_size=16).digest()
