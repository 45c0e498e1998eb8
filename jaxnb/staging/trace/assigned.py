"""What every name was after each assignment: taken down while code of the user is traced, as text.

Nothing of a value is kept, and nothing of the user is run to describe it: no `__repr__`, no property, no function that
flattens a pytree. Arrays and tracers are told by their aval, containers and objects by what stands in them.
"""

from __future__ import annotations

import ast
import functools
import linecache
import types
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from types import CodeType, FrameType
from typing import Any, cast

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import shape_and_dtype
from jaxnb.program import Assigned, Aval, Span
from jaxnb.runtime import is_library, is_own
from jaxnb.staging.cells.referents import state_of
from jaxnb.staging.trace.steps import watch_steps
from jaxnb.staging.trace.stores import Store, enclosing, is_comprehension, parameters_of, stores_of

__all__ = ["MOST_TEXTS", "NameLog", "describe", "log_names"]

MOST_TEXTS = 12
"""Different texts that are told of one place; further ones are counted together, as "…"."""

_MOST_ITEMS = 6
_MOST_DEPTH = 3
_MOST_LETTERS = 40


class NameLog:
    """Takes down assignments, in the order in which places are first met.

    Args:
      cell_file: the `co_filename` of the cell's code; spans there have no file.
      file_label: what to call another cell or file of the user.
    """

    def __init__(self, cell_file: str, file_label: Callable[[str], str] = str) -> None:
        self._cell_file, self._file_label = cell_file, file_label
        self._found: dict[tuple[str, Span, str], dict[str, int]] = {}
        self._stores: dict[CodeType, dict[int, tuple[Store, ...]]] = {}
        self._pending: dict[int, tuple[CodeType, tuple[Store, ...]]] = {}
        self._wanted: dict[str, bool] = {}
        self._error: Exception | None = None

    def assigned(self) -> tuple[Assigned, ...]:
        """What was taken down: for each place and text one entry.

        Raises:
          Exception: what went wrong while it was taken down.
        """
        if self._error is not None:
            raise self._error
        return tuple(
            Assigned(name, span, function, text, times)
            for (name, span, function), texts in self._found.items()
            for text, times in texts.items()
        )

    def wants(self, frame: FrameType) -> bool:
        """Whether code is the user's own, and its text known; dataclasses, for example, write methods without one."""
        file = frame.f_code.co_filename
        if file == self._cell_file:
            return True
        module = frame.f_globals.get("__name__", "__main__")
        if self._error is not None or is_own(file) or is_library(module):
            return False
        # What stands around JAX bears JAX's file name; what a named tuple writes for itself has a module of its own.
        if isinstance(module, str) and module.startswith(("jaxnb._jax", "namedtuple_")):
            return False
        if file not in self._wanted:
            self._wanted[file] = bool(linecache.getlines(file))
        return self._wanted[file]

    def begin(self, frame: FrameType) -> None:
        """A function was called: its parameters are bound."""
        code = frame.f_code
        if is_comprehension(code) or self._error is not None:
            return
        try:
            for name, span in parameters_of(code).items():
                self._take(frame, Store(name, span, "local"))
        except Exception as error:  # what is watched must not notice; `assigned` raises it
            self._error = error

    def step(self, frame: FrameType, offset: int) -> None:
        """An instruction begins: what the one before has bound can be read."""
        if self._error is not None:
            return
        try:
            code, key = frame.f_code, id(frame)
            done = self._pending.pop(key, None)
            if done is not None and done[0] is code:
                for store in done[1]:
                    self._take(frame, store)
            if code not in self._stores:
                self._stores[code] = stores_of(code)
            stores = self._stores[code].get(offset)
            if stores is not None:
                self._pending[key] = code, stores
        except Exception as error:  # what is watched must not notice; `assigned` raises it
            self._error = error

    def _take(self, frame: FrameType, store: Store) -> None:
        value = _value_of(frame, store)
        if value is _MISSING:
            return
        file = frame.f_code.co_filename
        span = store.span if file == self._cell_file else replace(store.span, file=self._file_label(file))
        texts = self._found.setdefault((store.name, span, enclosing(frame.f_code)), {})
        text = describe(value)
        if text not in texts and len(texts) >= MOST_TEXTS:
            text = "…"
        texts[text] = texts.get(text, 0) + 1


@contextmanager
def log_names(log: NameLog) -> Generator[NameLog]:
    """Takes down what this thread assigns in code of the user.

    Raises:
      JaxnbError: as `watch_steps`.
    """
    with watch_steps(log.wants, log.begin, log.step):
        yield log


_MISSING: Any = object()


def _value_of(frame: FrameType, store: Store) -> Any:
    if store.kind == "place":
        node = _parsed(store.name)
        return _MISSING if node is None else _value_at(node, frame)
    if store.kind == "local":
        return frame.f_locals.get(store.name, _MISSING)
    if store.kind == "name" and frame.f_code.co_name != "<module>":
        return frame.f_locals.get(store.name, _MISSING)
    # At the top these are the same names, but within a comprehension `f_locals` has those of the comprehension alone.
    return frame.f_globals.get(store.name, _MISSING)


@functools.lru_cache(1000)
def _parsed(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, RecursionError):
        return None


def _value_at(node: ast.AST, frame: FrameType) -> Any:
    """What an expression stands for, as far as that can be told without running anything."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name, _MISSING))
        case ast.Attribute(value=inner, attr=attribute):
            state = state_of(_value_at(inner, frame))
            if type(state) is not dict:
                return _MISSING
            if attribute.startswith("__") and attribute not in state:  # `self.__x` has the name of the class in front
                attribute = f"_{frame.f_code.co_qualname.rpartition('.')[0].rpartition('.')[2].lstrip('_')}{attribute}"
            return state.get(attribute, _MISSING)
        case ast.Subscript(value=inner, slice=key_node):
            holder, key = _value_at(inner, frame), _value_at(key_node, frame)
            if type(key) not in (int, str, bool):
                return _MISSING
            if type(holder) is dict:
                return holder.get(key, _MISSING)
            if type(holder) is list and type(key) is int and -len(holder) <= key < len(holder):
                return holder[key]
            return _MISSING
        case _:
            return _MISSING


def describe(value: Any, depth: int = 0) -> str:
    """A short text: `float32[64,128]`, `{'w': float32[3,4]}`, `Dense(kernel=float32[3,4])`, `'adam'`, `function f`.

    A NumPy value is marked as such, a Python scalar that is traced has the `~` of a weak type.
    """
    kind = type(value)
    if issubclass(kind, np.ndarray | np.generic):
        return f"{_aval_text(value)} of NumPy" if depth == 0 else _aval_text(value)
    if _jax.is_tracer_type(kind) or issubclass(kind, jax.Array):
        return _aval_text(jax.typeof(value))
    if issubclass(kind, jax.ShapeDtypeStruct):
        return f"ShapeDtypeStruct {_aval_text(value)}"
    if kind in (type(None), bool, int, float, complex, str, bytes, type(...)):
        return _atom_text(value)
    if kind in (range, slice, np.dtype):
        return repr(value)
    if issubclass(kind, type):
        return f"class {type.__getattribute__(value, '__name__')}"
    if issubclass(kind, types.ModuleType):
        return f"module {state_of(value).get('__name__')}"
    if issubclass(kind, types.FunctionType | types.BuiltinFunctionType):
        return f"function {value.__name__}"
    if issubclass(kind, types.MethodType):
        return f"method {getattr(value.__func__, '__name__', '')}"
    return _parts_text(value, kind, depth)


def _parts_text(value: Any, kind: type, depth: int) -> str:
    """A container or an object, by what stands in it. Methods of its class that a user may have written are not run."""
    own = kind.__name__
    if issubclass(kind, dict):
        items = [(f"{_key_text(key)}: ", item) for key, item in dict.items(cast(dict[Any, Any], value))]
        inside = f"{{{_list(items, depth)}}}"
        return inside if kind is dict else f"{own}({inside})"
    if issubclass(kind, tuple):
        items: list[tuple[str, Any]] = [("", item) for item in tuple.__iter__(cast(tuple[Any, ...], value))]
        names = kind.__dict__.get("_fields", ())
        if type(names) is tuple and names and len(names) == len(items):
            return f"{own}({_list([(f'{name}=', item) for name, (_, item) in zip(names, items, strict=True)], depth)})"
        return f"({_list(items, depth)}{',' if len(items) == 1 else ''})"
    if issubclass(kind, list):
        inside = f"[{_list([('', item) for item in list.__iter__(cast(list[Any], value))], depth)}]"
        return inside if kind is list else f"{own}({inside})"
    state = state_of(value)
    if type(state) is dict and state:
        return f"{own}({_list([(f'{name}=', item) for name, item in list(state.items())], depth)})"
    return own


def _list(items: list[tuple[str, Any]], depth: int) -> str:
    if not items:
        return ""
    if depth >= _MOST_DEPTH:
        return "…"
    told = [f"{label}{describe(item, depth + 1)}" for label, item in items[:_MOST_ITEMS]]
    if len(items) > _MOST_ITEMS:
        told.append(f"… {len(items) - _MOST_ITEMS} more")
    return ", ".join(told)


def _aval_text(aval: Any) -> str:
    shape, dtype, _ = shape_and_dtype(aval)
    sizes = tuple(int(n) if isinstance(n, int) else str(n) for n in shape)
    return str(Aval(dtype, sizes, bool(getattr(aval, "weak_type", False))))


def _atom_text(value: Any) -> str:
    if type(value) is int and value.bit_length() > 200:
        return "int"  # Python refuses to write very long ones
    text = repr(value[:_MOST_LETTERS] if isinstance(value, str | bytes) else value)
    return text if not isinstance(value, str | bytes) or len(value) <= _MOST_LETTERS else f"{text}…"


def _key_text(key: Any) -> str:
    return _atom_text(key) if type(key) in (str, int, bool, float, type(None)) else type(key).__name__
