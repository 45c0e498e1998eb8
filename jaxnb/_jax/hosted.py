"""What stands for a NumPy value while a piece is traced: NumPy computes with it, and JAX takes it for an array.

A door to private JAX, as `_jax.py`: which types JAX accepts as arrays, and how an equation is added to a trace that is
not the innermost one, is not public. Checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core as _core, dtypes as _dtypes, source_info_util as _source_info

from jaxnb._jax.identity import twin

__all__ = ["Host", "NumpyValue", "hosted_name", "tracer_of"]

_hosted_p = _core.Primitive("hosted")


@_hosted_p.def_abstract_eval
def _abstract(*operands: Any, name: str, aval: Any) -> Any:
    return aval


def hosted_name(eqn: Any) -> str | None:
    """The name of the value that an equation stands for, if Python computes it."""
    return eqn.params["name"] if eqn.primitive is _hosted_p else None


def _lift(operands: Sequence[Any], name: str, value: Any) -> Any:
    """A tracer for a value that Python computes, made in the trace of the tracers that it was computed from."""
    aval = jax.typeof(value)
    trace: Any = operands[0]._trace
    parameters = {"name": name, "aval": aval}
    found = trace.emit_eqn(list(operands), [aval], _hosted_p, parameters, _core.no_effects, _source_info.current())
    return found[0]


class Host(Protocol):
    """Who computes with the real values, and remembers how."""

    def operate(self, function: Callable[..., Any], *operands: Any) -> Any:
        """What an operator gives; NotImplemented where an operand is none of NumPy's or Python's."""
        ...

    def call(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any], method: str = "") -> Any:
        """What a function of NumPy gives, or the method of that name of the first argument."""
        ...

    def attribute(self, value: NumpyValue, name: str) -> Any:
        """An attribute that may differ between values of one dtype and shape."""
        ...

    def number(self, value: NumpyValue, kind: Callable[[Any], Any]) -> Any:
        """The value itself as a number of Python's."""
        ...

    def content(self, value: NumpyValue, what: str) -> Any:
        """The value itself, where JAX asks for it."""
        ...

    def need(self, value: NumpyValue, what: str) -> Any:
        """Raises: the value itself is needed."""
        ...

    def lifted(self, tracer: Any) -> None:
        """A tracer was made that stands for the value among those of JAX."""
        ...


_SLOTS = ("_host", "_value", "_text", "_sources", "_tracer")


class NumpyValue:
    """Stands for a NumPy array or scalar: its operators, methods and functions are NumPy's, on the real value.

    JAX computes with a tracer in its place, as it does with `jnp.asarray` of the value itself.

    Args:
      host: computes.
      value: the real value; an array is not to be written to.
      text: an expression of it in the code of the host.
      sources: the tracers of the inputs that it was computed from.
      tracer: that stands for it among those of JAX, if there is one.
    """

    __slots__ = (*_SLOTS, "__weakref__")

    def __init__(self, host: Host, value: Any, text: str, sources: Sequence[Any], tracer: Any = None) -> None:
        for name, item in zip(_SLOTS, (host, value, text, sources, tracer), strict=True):
            object.__setattr__(self, name, item)

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        kind = type(self._value)  # so that `isinstance` is answered as for the value
        other = _FOR_JNP_ARRAY.get(kind)
        told = other is not None and _dtype_made(sys._getframe(1)) is not None  # pyright: ignore[reportPrivateUsage]
        return other if told else kind

    def _lifted(self) -> Any:
        if self._tracer is None:
            object.__setattr__(self, "_tracer", _lift(self._sources, self._text, self._value))
            self._host.lifted(self._tracer)
        return self._tracer

    dimension_as_value = _lifted

    def __jax_array__(self) -> Any:
        dtype = _dtype_made(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if dtype is None or not (np.issubdtype(self._value.dtype, np.inexact) and jnp.issubdtype(dtype, jnp.integer)):
            return _given(self)
        return tracer_of(self._host.call(np.asarray, (self, dtype), {}))  # in single precision it may be the next one

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(
                f"{type(self._value).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        found = getattr(self._value, name)
        if name in _OF_THE_TYPE:
            return found
        if name == "base":  # what is held is a view that nobody can write to
            return self._host.need(self, "its base is wanted")
        if callable(found):
            return lambda *args, **kwargs: self._host.call(None, (self, *args), kwargs, method=name)
        return self._host.attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._host.need(self, f"its {name} is set")

    def __setitem__(self, key: Any, value: Any) -> None:
        self._host.need(self, "it is changed in place")

    def __getitem__(self, key: Any) -> Any:
        found = self._host.operate(operator.getitem, self, key)
        return self._lifted()[key] if found is NotImplemented else found

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        iter(self._value)  # an array without dimensions has none
        return iter([self[index] for index in range(len(self._value))])

    def __contains__(self, item: Any) -> bool:
        return self._host.call(operator.contains, (self, item), {})

    def __bool__(self) -> bool:
        return self._host.number(self, bool)

    def __int__(self) -> int:
        return self._host.number(self, int)

    def __index__(self) -> int:
        return self._host.number(self, operator.index)

    def __float__(self) -> float:
        return float(self._host.content(self, "a Python number is made from it"))

    def __complex__(self) -> complex:
        return complex(self._host.content(self, "a Python number is made from it"))

    def __hash__(self) -> int:
        if isinstance(self._value, np.ndarray):
            return hash(self._value)  # which raises
        return hash(self._host.content(self, "its hash is wanted"))

    def __repr__(self) -> str:
        return repr(self._host.content(self, "its text is wanted"))

    def __str__(self) -> str:
        return str(self._host.content(self, "its text is wanted"))

    def __format__(self, form: str) -> str:
        return format(self._host.content(self, "its text is wanted"), form)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self._host.content(self, "it is pickled").__reduce_ex__(protocol)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __round__(self, *digits: int) -> Any:
        return self._host.call(round, (self, *digits), {})

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.array(self._host.content(self, "a function wants it as an array"), *args[:1])

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "at" or any(item is not None for item in kwargs.get("out") or ()):  # `at` minds no flag
            return self._host.need(self, "a result is written in place")
        return self._host.call(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._host.call(function, args, kwargs)


_FOR_JNP_ARRAY: dict[type, type] = {
    np.ndarray: NumpyValue,
    np.float64: np.floating,
    np.complex128: np.complexfloating,
}
"""What `jnp.array` is told where it is given a dtype: it would take the content of an array that has it already for a
constant, and look at a number that is Python's, too, only to see whether it is too large, which no NumPy value is."""

_ARRAY = inspect.unwrap(jnp.array).__code__


def _dtype_made(frame: FrameType) -> Any:
    """The dtype that `jnp.array` is asked for, if that is whose frame it is; None otherwise."""
    dtype = frame.f_locals.get("dtype") if frame.f_code is _ARRAY else None
    return dtype if isinstance(dtype, np.dtype) else None


def tracer_of(value: NumpyValue) -> Any:
    """The tracer with which JAX computes in place of a NumPy value."""
    return value._lifted()  # pyright: ignore[reportPrivateUsage]


def _given(value: NumpyValue) -> Any:
    """The same as another tracer each time that JAX is given the value: a function that hands its operand on has made
    an Array of it then, and of the same value another one the next time."""
    made = twin(tracer_of(value))
    value._host.lifted(made)  # pyright: ignore[reportPrivateUsage]
    return made


_OF_THE_TYPE = frozenset({"dtype", "itemsize", "nbytes", "ndim", "shape", "size"})
"""Attributes that dtype and shape decide."""

_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


def _define() -> None:
    def binary(function: Any) -> Any:
        return lambda self, other, *_: self._host.operate(function, self, other)

    def reflected(function: Any) -> Any:
        return lambda self, other, *_: self._host.operate(function, other, self)

    def in_place(self: Any, other: Any) -> Any:
        if isinstance(self._value, np.ndarray):
            self._host.need(self, "it is changed in place")
        return NotImplemented

    def unary(function: Any) -> Any:
        return lambda self: self._host.call(function, (self,), {})

    named = {name: getattr(operator, f"__{name}__") for name in (*_BINARY, *_COMPARISONS)}
    for name, function in {**named, "divmod": divmod}.items():
        setattr(NumpyValue, f"__{name}__", binary(function))
        if name not in _COMPARISONS:
            setattr(NumpyValue, f"__r{name}__", reflected(function))
            setattr(NumpyValue, f"__i{name}__", in_place)
    for name in ("neg", "pos", "abs", "invert"):
        setattr(NumpyValue, f"__{name}__", unary(getattr(operator, f"__{name}__")))


_define()
_core.pytype_aval_mappings[NumpyValue] = lambda value: tracer_of(value).aval
_dtypes.register_canonicalize_value_handler(NumpyValue, _given)
