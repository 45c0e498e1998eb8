"""Tracers that stand for numbers of Python's: what asks of what class they are is answered as for the number.

`isinstance` in a library, a class pattern of `match` and an abstract base class ask an object for its `__class__`; a
library may ask whether it has a `shape`. JAX itself is told the truth. What operators make of such tracers and of
numbers are numbers, too.

The class of such tracers has a public name, and what is done here to its objects has none. Checked on jax 0.10.2 and
0.12.0.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Any

import jax
from jax.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer

from jaxnb._jax.base import Array, in_jax
from jaxnb.runtime import is_own

__all__ = [
    "answer_truth",
    "asks",
    "class_of_numbers",
    "keep_number",
    "number_class",
    "refuse_attribute",
    "stand_for_number",
]

_truths: weakref.WeakKeyDictionary[Any, weakref.WeakMethod[Callable[[Any, FrameType], bool | None]]]
_truths = weakref.WeakKeyDictionary()
"""For a trace, what is asked whether a number is true; held weakly, because its object holds tracers."""

_EXAMPLES: dict[type, Any] = {float: 1.0, int: 1, complex: 1j, bool: True}
_FOR_NUMPY = frozenset({"shape", "ndim", "size"})
"""Attributes that functions of NumPy ask for, to make an array of what has none, which gives them the same answer."""

_FOR_JAX = frozenset({"aval", "sharding", "weak_type", "committed", "is_fully_addressable", "device"})
"""Attributes that the compiled part of JAX may read where code of the user calls it."""


_HIDDEN = {
    kind: frozenset(
        name
        for name in dir(Array)
        if (not name.startswith("_") or name in ("__iter__", "__len__"))
        and not (hasattr(kind, name) or name in _FOR_JAX)
    )
    for kind in _EXAMPLES
}


def asks(frame: FrameType) -> bool:
    """Whether the code of a frame is neither of JAX nor of this package."""
    path = frame.f_code.co_filename
    return not in_jax(path) and not is_own(path)


def _class_for(kind: type) -> type[Any]:
    hidden = _HIDDEN[kind]

    class Number(_JaxprTracer):
        __slots__ = ()

        def __getattribute__(self, name: str) -> Any:
            if name == "__class__" and asks(_caller()):
                return kind
            if name in hidden:
                refuse_attribute(self, name, _caller())
            return _JaxprTracer.__getattribute__(self, name)

        def __bool__(self) -> bool:
            kept = _truths.get(self._trace)
            truth = kept() if kept is not None else None
            answer = truth(self, _caller()) if truth is not None else None
            return _JaxprTracer.__bool__(self) if answer is None else answer

        def __copy__(self) -> Any:
            return self

        def __deepcopy__(self, memo: Any) -> Any:
            return self

    # it is passed over in tracebacks as the one that it stands before
    code = Number.__bool__.__code__
    Number.__bool__.__code__ = code.replace(co_filename=jax.__file__)
    Number.__name__, Number.__qualname__ = _JaxprTracer.__name__, _JaxprTracer.__qualname__
    Number.__module__ = _JaxprTracer.__module__
    return Number


def refuse_attribute(tracer: Any, name: str, frame: FrameType) -> None:
    """Raises an `AttributeError` if the code of a frame reads an attribute that arrays have and such a number lacks.

    Where that code goes on to ask for the `type`, which is not answered as for the number, the value itself is needed.
    """
    kind = _KINDS.get(type(tracer))
    if kind is not None and name in _HIDDEN[kind] and asks(frame) and not (name in _FOR_NUMPY and _is_numpy(frame)):
        if "type" in frame.f_code.co_names and frame.f_globals.get("type", type) is type:
            raise jax.errors.ConcretizationTypeError(tracer, f"the {name} or the type of a number is asked for")
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}", name=name, obj=tracer)


def _caller() -> FrameType:
    return sys._getframe(2)  # pyright: ignore[reportPrivateUsage]


def _is_numpy(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] == "numpy"


_SET_CLASS = vars(object)["__class__"].__set__  # while code is watched, what tracers say is another property
_CLASSES = {kind: _class_for(kind) for kind in _EXAMPLES}
_KINDS = {made: kind for kind, made in _CLASSES.items()}


def stand_for_number(tracer: Any, kind: type) -> None:
    """Makes a tracer stand for a number of this class."""
    if type(tracer) is _JaxprTracer and kind in _CLASSES:
        _SET_CLASS(tracer, _CLASSES[kind])


def answer_truth(trace: Any, truth: Callable[[Any, FrameType], bool | None]) -> None:
    """From now on asks this method whether a number under a trace is true, with the frame that asks; None needs its
    value. It is held weakly."""
    _truths[trace] = weakref.WeakMethod(truth)


def number_class(value: Any) -> type | None:
    """The class of the number that a tracer stands for; None for anything else."""
    return class_of_numbers(type(value))


def class_of_numbers(kind: type) -> type | None:
    """The class of the numbers that tracers of a class stand for; None if they stand for none."""
    return _KINDS.get(kind)


def keep_number(result: Any, function: Callable[..., Any], *operands: Any) -> None:
    """Makes what an operator gave stand for a number, if all that it was given are such.

    Args:
      result: what it gave.
      function: the operator.
      operands: in order; the tracers among them stand for what they stand for.
    """
    examples = [_EXAMPLES.get(_KINDS.get(type(item), type(item))) for item in operands]
    if None in examples:
        return
    try:
        example = function(*examples)
    except (ArithmeticError, TypeError):
        return
    several = isinstance(result, tuple)
    for made, like in zip(result, example, strict=True) if several else ((result, example),):
        stand_for_number(made, type(like))
