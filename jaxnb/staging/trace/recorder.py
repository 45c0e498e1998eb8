"""Arithmetic of NumPy values, which stays NumPy's: done at once on the real values, and done again at each run.

While a piece is traced, a `NumpyValue` stands where the user's names and containers hold a NumPy value. What NumPy
makes of it is computed with the real value, and taken down as a line of straight code. The code is run before the
program at each run, with the NumPy values of that run; what it computes goes into the program, or is bound.

The arrays are computed with as views that nobody can write to: whatever writes in place is found out, and left to
Python.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from jaxnb import _jax
from jaxnb._jax import NumpyValue, number_class, tracer_of, user_caller
from jaxnb.runtime import is_own
from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.objects.static import content_of, supported

__all__ = ["HostCode", "Recorder", "Unlike"]


class Unlike(Exception):
    """What NumPy computed is of another kind than it was while tracing."""


class _Foreign(Exception):
    """An operand that is neither NumPy's nor Python's."""

    def __init__(self, value: Any) -> None:
        self.value = value


class HostCode:
    """What NumPy computes at each run before the program.

    Args:
      function: of the inputs; gives the values.
      names: of the values.
      texts: the values as a user would write them.
    """

    def __init__(self, function: Callable[[Sequence[Any]], list[Any]], names: list[str], texts: list[str]) -> None:
        self._function, self.names, self.texts = function, names, texts

    def values(self, leaves: Sequence[Any]) -> list[Any]:
        """The values in a run.

        Raises:
          Unlike: if one is of another kind than it was while tracing, which the message says, or cannot be computed.
        """
        try:
            return self._function(leaves)
        except Unlike:
            raise
        except Exception as error:  # the plain cell raises it where it stands
            raise Unlike(f"NumPy raised {type(error).__name__}") from error


class Recorder:
    """Computes with the real values while tracing, and takes down how.

    Args:
      need: called with a tracer and a clause where the value of something is needed; raises.
      kind_of: the class of what a tracer stands for, None where it could be a Python scalar.

    Attributes:
      values: the real value of each stand-in, by its id.
      lifts: ids of the tracers that stand for NumPy values among those of JAX.
      failed: whether a computation raised.
      texts: the values as a user would write them, by their names in the code.
    """

    def __init__(self, need: Callable[[Any, str], NoReturn], kind_of: Callable[[Any], type | None]) -> None:
        self._need, self._kind_of = need, kind_of
        self.values: dict[int, Any] = {}
        self.lifts: set[int] = set()
        self.failed = False
        self._scalars: dict[int, tuple[str, Any, Any]] = {}
        self._trace: Any = None
        self._keep: list[Any] = []
        self._lines: list[str] = []
        self._constants: dict[str, Any] = {"Unlike": Unlike, "same": _same, "with_errors": _with_errors}
        self.texts: dict[str, str] = {}
        self._count = 0
        self._errors = np.geterr()

    # --- inputs ---

    def leaf(self, index: int, value: Any, tracer: Any, said: Callable[[int], str]) -> Any:
        """What stands for an input while tracing: for a NumPy value a stand-in, for anything else its tracer."""
        text = f"leaves[{index}]"
        self._trace = _jax.trace_of(tracer)
        if isinstance(value, np.ndarray | np.generic):
            self.lifts.add(id(tracer))
            return self._stand_in(value, text, (tracer,), said(index), tracer)
        if type(value) in (float, complex, int):
            self._scalars[id(tracer)] = (text, value, tracer)
        return tracer

    # --- what a stand-in asks for ---

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """See `Host`."""
        try:
            return self._computed(function, operands, {})
        except _Foreign as foreign:
            if function in (operator.eq, operator.ne) and any(map(_is_taken_apart, operands)):
                mine = next(item for item in operands if type(item) is NumpyValue)
                self._need(tracer_of(mine), "NumPy compares it with each item")  # Python would compare which it is
            if function.__name__ != "getitem" or not _jax.is_tracer(foreign.value):
                return NotImplemented
            if self._is_own(foreign.value):
                self._need(foreign.value, "it is an index of a NumPy array")
            return operands[0]._value[operands[1]]  # NumPy raises, as in the plain cell

    def call(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], method: str = "") -> Any:
        """See `Host`."""
        try:
            return self._computed(function, args, kwargs, method)
        except _Foreign as foreign:
            if _jax.is_tracer(foreign.value):
                self._need(foreign.value, "a NumPy function wants it as an array")
            if isinstance(function, np.ufunc):
                return NotImplemented
            mine = next((item for item in (*args, *kwargs.values()) if type(item) is NumpyValue), None)
            self._need(tracer_of(mine) if mine is not None else None, "a function wants it as an array")

    def attribute(self, value: NumpyValue, name: str) -> Any:
        """See `Host`."""
        return self._computed(getattr, (value, name), {})

    def number(self, value: NumpyValue, kind: Callable[[Any], Any]) -> Any:
        """See `Host`."""
        return self._computed(kind, (value,), {})

    def content(self, value: NumpyValue, what: str) -> Any:
        """See `Host`."""
        if not _asked_by_jax():
            self.need(value, what)
        said = self.texts[value._text]
        self._check(f"{said} has changed", f"same({value._text}, {self._constant(content_of(value._value))})")
        return value._value

    def need(self, value: NumpyValue, what: str) -> NoReturn:
        """See `Host`."""
        self._need(tracer_of(value), what)

    def lifted(self, tracer: Any) -> None:
        """See `Host`."""
        self.lifts.add(id(tracer))
        self._keep.append(tracer)

    def close(self) -> None:
        """The trace is over: no tracer is held any more."""
        self._need, self._kind_of = _over, type
        self._trace = None
        for held in (self.values, self._scalars, self._keep, self.lifts):
            held.clear()

    # --- the code ---

    @property
    def computes(self) -> bool:
        """Whether anything was computed or asked for."""
        return bool(self._lines)

    def code(self, names: Sequence[str]) -> HostCode | None:
        """What was computed; None if nothing was.

        Args:
          names: of the values that are wanted of it.
        """
        if not self._lines:
            return None
        lines = "".join(f"    {line}\n" for line in self._lines)
        text = f"def host(leaves):\n{lines}    return [{', '.join(names)}]\n"
        scope = dict(self._constants)
        exec(compile(text, "<jaxnb host>", "exec"), scope)
        return HostCode(scope["host"], list(names), [self.texts[name] for name in names])

    def _constant(self, value: Any) -> str:
        name = f"c{len(self._constants)}"
        self._constants[name] = value
        return name

    def _computed(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], method: str = "") -> Any:
        known = _Operands()
        pairs = [self._operand(item, known) for item in args]
        real, texts = [value for value, _ in pairs], [text for _, text in pairs]
        named = {name: self._operand(item, known) for name, item in kwargs.items()}
        head = f"{texts[0]}.{method}" if method else self._constant(function)
        compute, operands = (getattr(real[0], method), texts[1:]) if method else (function, texts)
        settings = np.geterr()
        if settings != self._errors:
            head, operands = "with_errors", [self._constant(settings), head, *operands]
        quiet: Any = {kind: "ignore" if what == "warn" else what for kind, what in settings.items()}
        try:
            with np.errstate(**quiet):  # it warns when it is computed for good
                result = compute(*(real[1:] if method else real), **{name: item[0] for name, item in named.items()})
        except Exception as error:
            if isinstance(error, ValueError) and "read-only" in str(error):
                self._need(known.first(), "it is changed in place")
            self.failed = True
            raise
        if result is NotImplemented:
            return result
        name = self._name()
        self._lines.append(
            f"{name} = {head}({', '.join([*operands, *(f'{key}={item[1]}' for key, item in named.items())])})"
        )
        return self._made(result, name, known, _said(method or function, args))

    def _name(self) -> str:
        self._count += 1
        return f"h{self._count}"

    def _operand(self, item: Any, known: _Operands) -> tuple[Any, str]:
        """The real value of an operand, and its text in the code."""
        kind = type(item)
        if kind is NumpyValue:
            known.sources.update((id(tracer), tracer) for tracer in item._sources)
            known.values[id(item._value)] = item
            return item._value, item._text
        if id(item) in self._scalars:
            text, value, tracer = self._scalars[id(item)]
            known.sources[id(tracer)] = tracer
            return value, text
        if kind in (int, bool, type(None), str):
            return item, repr(item)
        if kind in (list, tuple):
            parts = [self._operand(part, known) for part in item]
            text = "".join(f"{text}, " for _, text in parts)
            return kind(value for value, _ in parts), f"[{text}]" if kind is list else f"({text})"
        if kind is slice:
            parts = [self._operand(part, known) for part in (item.start, item.stop, item.step)]
            return slice(*(value for value, _ in parts)), f"slice({', '.join(text for _, text in parts)})"
        if _jax.is_tracer(item):
            if self._is_own(item) and (number_class(item) is not None or self._kind_of(item) is None):
                self._need(item, "NumPy computes with it")
            raise _Foreign(item)
        if kind is np.ndarray and item.dtype.kind in "biufcSUMmV":
            item = _unwritable(item.copy())
        elif not (kind in ATOMS or isinstance(item, _CONSTANTS) or item is _NO_VALUE):
            raise _Foreign(item)
        return item, self._constant(item)

    def _is_own(self, tracer: Any) -> bool:
        return _jax.trace_of(tracer) is self._trace

    def _made(self, result: Any, text: str, known: _Operands, said: str) -> Any:
        """What stands for a result while tracing. It must be of the same kind when it is computed again."""
        kind = type(result)
        if kind in (np.ndarray, np.memmap) and id(result) in known.values:
            return known.values[id(result)]
        if kind in (np.ndarray, np.memmap) and supported(result.dtype):
            dtype = self._constant(result.dtype)
            alike = (f"type({text}) is {self._constant(kind)}", f"{text}.dtype == {dtype}")
            self._check(f"{said} has another shape or dtype", *alike, f"{text}.shape == {result.shape}")
            return self._stand_in(result, text, known.sources.values(), said)
        if isinstance(result, np.generic) and supported(result.dtype):
            self._check(f"{said} has another dtype", f"type({text}) is {self._constant(kind)}")
            return self._stand_in(result, text, known.sources.values(), said)
        if isinstance(result, tuple | list) and (kind in (tuple, list) or hasattr(kind, "_make")):
            same = f"type({text}) is {self._constant(kind)}"
            self._check(f"{said} has another length", same, f"len({text}) == {len(result)}")
            parts: list[Any] = []
            for index, item in enumerate(result):
                name = self._name()
                self._lines.append(f"{name} = {text}[{index}]")
                parts.append(self._made(item, name, known, f"{said}[{index}]"))
            make: Any = getattr(kind, "_make", kind)
            return make(parts)
        exact = kind in (bool, int, type(None), str) or isinstance(result, np.dtype | type)
        if exact or (kind in (float, complex, bytes) and _asked_by_jax()):
            same = f"type({text}) is {self._constant(kind)}"
            self._check(f"{said} is no longer {result!r}", same, f"{text} == {self._constant(result)}")
            return result
        self._need(known.first(), f"a {kind.__name__} is made from it")

    def _check(self, message: str, *conditions: str) -> None:
        self._lines.append(f"if not ({' and '.join(conditions)}): raise Unlike({message!r})")

    def _stand_in(self, value: Any, text: str, sources: Iterable[Any], said: str, tracer: Any = None) -> NumpyValue:
        made = NumpyValue(self, _unwritable(value), text, tuple(sources), tracer)
        self.values[id(made)] = value
        self._keep.append(made)
        self.texts[text] = said
        return made


class _Operands:
    """What the operands of a computation stand for: the tracers behind them; the stand-ins by the id of their value."""

    def __init__(self) -> None:
        self.sources: dict[int, Any] = {}
        self.values: dict[int, NumpyValue] = {}

    def first(self) -> Any:
        """A tracer that stands for one of them."""
        for value in self.values.values():
            return tracer_of(value)
        return next(iter(self.sources.values()))


_NO_VALUE = np._NoValue  # pyright: ignore[reportPrivateUsage,reportAttributeAccessIssue]
_CONSTANTS = (np.generic, np.dtype, np.ufunc, type, types.BuiltinFunctionType)
"""What can stand in the code as it is."""


def _is_taken_apart(item: Any) -> bool:
    """Whether NumPy makes an array of an operand, and the operand does not compare itself with arrays."""
    kind = type(item)
    return kind in (list, tuple, dict, set, frozenset) or (kind is not NumpyValue and kind.__eq__ is object.__eq__)


def _over(tracer: Any, what: str) -> NoReturn:
    raise RuntimeError(f"the trace is over, and {what}")


def _unwritable(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    view = value.view()
    view.flags.writeable = False
    return view


def _with_errors(settings: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    with np.errstate(**settings):
        return function(*args, **kwargs)


def _same(value: Any, content: bytes) -> bool:
    return content_of(value) == content


def _asked_by_jax() -> bool:
    """Whether JAX, or a library built on it, asks for a value."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and is_own(frame.f_code.co_filename):
        frame = frame.f_back
    return user_caller(frame) is None


_SIGNS = {
    **{"add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@"},
    **{"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="},
}


def _said(function: Any, args: Sequence[Any]) -> str:
    """A computation as a user would write it, in short."""
    name = function if isinstance(function, str) else getattr(function, "__name__", "?")
    operands = [_operand_said(item) for item in args]
    parts = [f"({text})" if " " in text else text for text in operands]
    if isinstance(function, str):
        text = f"{parts[0]}.{name}({', '.join(operands[1:])})"
    elif name == "getitem":
        text = f"{parts[0]}[{operands[1]}]"
    elif name == "getattr":
        text = f"{parts[0]}.{args[1]}"
    elif name in _SIGNS and len(operands) == 2:
        text = f"{parts[0]} {_SIGNS[name]} {parts[1]}"
    else:
        text = f"{name}({', '.join(operands)})"
    return text if len(text) <= 40 else f"{text[:39]}…"


def _operand_said(item: Any) -> str:
    if type(item) is NumpyValue:
        return item._host.texts.get(item._text, "…")
    return repr(item) if type(item) in (int, float, str, bool, type(None)) else "…"
