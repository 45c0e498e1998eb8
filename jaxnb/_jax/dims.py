"""Sizes that are names: what JAX decides about them while it traces, and a jaxpr with numbers in their place.

`jax.export` documents how such sizes are written, and `Exported.call` how a program of them is run. What is not public
is to look at a dimension: which names are in it, its value for some sizes, and that a comparison was decided.
"""

from __future__ import annotations

import copy
import functools
import math
import operator
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Protocol, cast

import jax
import numpy as np
from jax import export
from jax._src import core as jax_core  # as in `eqns`
from jax._src.export import shape_poly as _poly

from jaxnb._jax.base import in_jax
from jaxnb._jax.eqns import is_jaxpr, open_jaxpr
from jaxnb._jax.watch import REPLACED
from jaxnb.runtime import Undo, is_own

__all__ = [
    "INCONCLUSIVE",
    "Decision",
    "DimAnswers",
    "as_numpy_dim",
    "dim_bounds",
    "dim_text",
    "dim_value",
    "dim_variables",
    "extreme_dim",
    "is_decided",
    "is_dim",
    "is_rewritten",
    "watch_dims",
    "with_sizes",
]

_Dim: Any = _poly._DimExpr  # pyright: ignore[reportPrivateUsage]
_VALUE = "dim_as_value"
_RULES = "_normalization_rules"
_DECIDE = "_bounds_decision"

INCONCLUSIVE = jax.errors.InconclusiveDimensionOperation
"""What JAX raises where a comparison of sizes cannot be decided."""

Decision = tuple[Any, Any]
"""A dimension whose bounds were asked for, and how good they had to be."""


def is_dim(value: Any) -> bool:
    """Whether a size is an expression of names."""
    return type(value) is _Dim


def dim_variables(dim: Any) -> frozenset[str]:
    """The names in a size; none in a number."""
    return frozenset(dim._get_vars()) if is_dim(dim) else frozenset()


def dim_value(dim: Any, sizes: Mapping[str, int]) -> int:
    """A size as a number, where its names have these sizes."""
    if not is_dim(dim):
        return int(dim)
    total = 0
    for term, times in dim._sorted_terms:  # JAX itself counts in 32 bits
        total += int(times) * math.prod(_factor_value(factor, sizes) ** power for factor, power in term._factors)
    return total


def _factor_value(factor: Any, sizes: Mapping[str, int]) -> int:
    if factor.var is not None:
        return sizes[factor.var]
    return _OPERATIONS[factor.operation](*(dim_value(operand, sizes) for operand in factor.operands))


_OPERATIONS: Mapping[str, Callable[..., int]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
}


def dim_text(dim: Any) -> str:
    """A size as JAX writes it, also while texts of sizes are watched."""
    return _TEXT(dim) if is_dim(dim) else str(dim)


_TEXT = _Dim.__str__


def as_numpy_dim(dim: Any) -> Any:
    """A size as an object of its own, to be told from others that are equal: what NumPy has computed."""
    return copy.copy(dim)


def dim_bounds(dim: Any) -> tuple[float, float]:
    """The least and the greatest value that a size can have, as far as JAX can tell."""
    return getattr(_poly, _DECIDE)(dim, _poly.BoundsPrecision.BEST) if is_dim(dim) else (dim, dim)


def extreme_dim(name: str, one: Any, other: Any) -> Any:
    """The greater ("max") or lesser ("min") of two sizes, of which one at least is an expression, as one."""
    size, than = (one, other) if is_dim(one) else (other, one)
    return size.max(than) if name == "max" else size.min(than)


def is_decided(decision: Decision, scope: export.SymbolicScope) -> bool:
    """Whether a decision would be the same one among other constraints: those of another scope."""
    try:
        (dim,) = export.symbolic_shape(dim_text(decision[0]), scope=scope)
        return not is_dim(dim) or decision[1]._bounds_are_sufficient(*getattr(_poly, _DECIDE)(dim, decision[1]))
    except INCONCLUSIVE:
        return False


def is_rewritten(term: str, scope: export.SymbolicScope) -> bool:
    """Whether the constraints of a scope say what a term is."""
    return term in map(str, getattr(scope, _RULES))


class DimAnswers(Protocol):
    """Who is told of the questions for sizes. Each may raise."""

    def on_dim_text(self, dim: Any, method: str, frame: FrameType, *spec: str) -> str:
        """Called when code of the user asks for the text of a size."""
        ...

    def on_dim_hash(self, dim: Any, frame: FrameType) -> None:
        """Called when code of the user asks for the hash of a size."""
        ...

    def is_number(self, other: Any) -> bool:
        """Whether something is, or stands for, a number of Python's that is known from the sizes."""
        ...

    def on_dim_number(self, result: Any, function: str, dim: Any, other: Any) -> None:
        """Called when code of the user computes a number of Python's with a size, for which `result` stands."""
        ...

    def is_of_sizes(self, item: Any) -> bool:
        """Whether something is a size, or stands for a number that is known from sizes."""
        ...

    def on_dim_called(self, function: Callable[..., Any], name: str, args: Sequence[Any], frame: FrameType) -> Any:
        """Called when code of the user gives a size to a function of NumPy or of `math`; returns its result, or
        NotImplemented where the function itself can tell."""
        ...

    def on_dim_computed(self, result: Any, dim: Any, other: Any, frame: FrameType) -> Any:
        """Called when code of the user has computed with a size and a number; returns the result."""
        ...

    def class_of(self, size: Any) -> type:
        """The class of the number that a size stands for."""
        ...

    def on_dim_numpy(self, dim: Any, frame: FrameType) -> None:
        """Called when code of the user computes with a size and a value of NumPy's."""
        ...

    def on_dim_equal(self, dim: Any, other: Any, answer: bool, frame: FrameType) -> None:
        """Called when code of the user asks whether a size equals something."""
        ...

    def on_dim_truth(self, dim: Any, frame: FrameType) -> bool:
        """Called when code of the user asks whether a size is another than 0."""
        ...

    def on_decided(self, decision: Decision, frame: FrameType) -> None:
        """Called when JAX has decided how a size compares to 0."""
        ...

    def on_undecided(self, dim: Any, frame: FrameType) -> None:
        """Called when JAX could not decide how a size compares to 0."""
        ...

    def on_rewritten(self, term: str, frame: FrameType) -> None:
        """Called when a constraint has said what a term is."""
        ...


@contextmanager
def watch_dims(scope: export.SymbolicScope, answers: DimAnswers) -> Generator[None]:
    """Reports what is asked of sizes by this thread, and decided, while a cell is traced.

    Args:
      scope: of the sizes.
      answers: who is told.
    """
    thread = threading.get_ident()

    def asks() -> FrameType | None:
        """The frame of the user's code that asks; None if JAX does, or another thread."""
        frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        while frame.f_code.co_filename == "<string>" and frame.f_back is not None:
            frame = frame.f_back  # a method that a dataclass was given
        file = frame.f_code.co_filename
        return None if in_jax(file) or is_own(file) or threading.get_ident() != thread else frame

    def text(name: str, original: Callable[..., str]) -> Callable[..., str]:
        def hook(self: Any, *spec: str) -> str:
            frame = asks()
            return original(self, *spec) if frame is None else answers.on_dim_text(self, name, frame, *spec)

        return hook

    def hashed(self: Any) -> int:
        if (frame := asks()) is not None:
            answers.on_dim_hash(self, frame)
        return hash_of(self)

    def equal(self: Any, other: Any) -> bool:
        answer = equals(self, other)
        if (frame := asks()) is not None:
            answers.on_dim_equal(self, other, answer, frame)
        return answer

    def true(self: Any) -> bool:
        return True if (frame := asks()) is None else answers.on_dim_truth(self, frame)

    def unequal(self: Any, other: Any) -> bool:
        answer = equals(self, other)
        if (frame := asks()) is not None:
            answers.on_dim_equal(self, other, answer, frame)
        return not answer

    def number(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def hook(self: Any, other: Any, *more: Any) -> Any:
            frame = asks() if answers.is_number(other) else None
            if frame is None and isinstance(other, np.ndarray | np.generic) and (asking := asks()) is not None:
                answers.on_dim_numpy(self, asking)
            if frame is not None and name == "__pow__" and type(other) is float:
                result = self.__jax_array__() ** other
            else:
                result = original(self, other, *more)
            if frame is not None:
                result = answers.on_dim_computed(result, self, other, frame)
                if not is_dim(result):
                    answers.on_dim_number(result, name, self, other)
            return result

        return hook

    def array(self: Any) -> Any:
        made = to_array(self)
        return made if answers.class_of(self) is int else jax.lax.convert_element_type(made, made.dtype)

    deciding: list[None] = []  # what is rewritten for that is part of the decision

    def decide(dim: Any, precision: Any) -> Any:
        deciding.append(None)
        try:
            bounds = decision(dim, precision)
        finally:
            deciding.pop()
        if is_dim(dim) and threading.get_ident() == thread:
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            if precision._bounds_are_sufficient(*bounds):
                answers.on_decided((dim, precision), frame)
            else:
                answers.on_undecided(dim, frame)
        return bounds

    class Rules(dict[Any, Any]):
        """The rules by which the constraints say what a term is, which tell that one is used."""

        def get(self, key: Any, default: Any = None) -> Any:
            found = super().get(key, default)
            if found is not default and threading.get_ident() == thread and not deciding:
                answers.on_rewritten(str(key), sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            return found

    def called(function: Callable[..., Any], name: str, args: Sequence[Any]) -> Any:
        """What a function of NumPy or of `math` gives for sizes; NotImplemented where it is given none."""
        parts = [one for item in args for one in (cast(Any, item) if isinstance(item, tuple | list) else (item,))]
        if threading.get_ident() != thread or not any(map(answers.is_of_sizes, parts)):
            return NotImplemented
        frame = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
        file = frame.f_code.co_filename
        return NotImplemented if in_jax(file) or is_own(file) else answers.on_dim_called(function, name, args, frame)

    to_array = _Dim.__jax_array__
    equals, hash_of, decision = _Dim.__eq__, _Dim.__hash__, getattr(_poly, _DECIDE)
    with Undo() as undo:
        for name in ("__str__", "__repr__"):
            undo.patch(_Dim, name, text(name, getattr(_Dim, name)))
        undo.add(delattr, _Dim, "__format__")
        _Dim.__format__ = text("__format__", _formatted)
        undo.add(delattr, _Dim, "__bool__")
        _Dim.__bool__ = true  # without one every size is true
        undo.patch(_Dim, "__eq__", equal)
        undo.patch(_Dim, "__ne__", unequal)
        undo.patch(_Dim, "__hash__", hashed)
        undo.patch(_Dim, "__jax_array__", array)
        for name in _NUMBERS:
            undo.patch(_Dim, name, number(name, getattr(_Dim, name)))
        for module, name, hook in _given_sizes:
            undo.patch(module, name, hook)
        undo.add(_asked.__setitem__, slice(None), [*_asked])
        _asked.append(called)
        undo.patch(_poly, _DECIDE, decide)
        undo.patch(scope, _RULES, Rules(getattr(scope, _RULES)))
        yield


_asked: list[Callable[..., Any]] = []


def _given_hook(original: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function of NumPy or of `math` that tells that it is given sizes."""

    @functools.wraps(original)
    def hook(*args: Any, **kwargs: Any) -> Any:
        if _asked and (found := _asked[-1](original, name, [*args, *kwargs.values()])) is not NotImplemented:
            return found
        return original(*args, **kwargs)

    REPLACED[id(hook)] = original
    return hook


_OF_MATH = "sqrt cbrt exp exp2 log log2 log10 log1p sin cos tan tanh floor ceil trunc"
_OF_NUMPY = "zeros ones full empty arange linspace logspace eye identity tri array asarray prod sum"
_given_sizes = [
    (module, name, _given_hook(getattr(module, name), f"{module.__name__}.{name}"))
    for module, names in ((math, _OF_MATH), (np, _OF_NUMPY))
    for name in names.split()
    if hasattr(module, name)
]
"""Functions to which sizes are given often, each with its module and its name; all others find out themselves."""

_NUMBERS = (
    *("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__"),
    *("__floordiv__", "__rfloordiv__", "__mod__", "__rmod__", "__pow__", "__rpow__"),
)


def _formatted(dim: Any, spec: str = "") -> str:
    return format(_TEXT(dim), spec)


def with_sizes(closed_jaxpr: Any, sizes: Mapping[str, int]) -> Any:
    """A copy of a jaxpr, of the same equations in the same order, with numbers for the names in its sizes.

    Args:
      closed_jaxpr: which is left as it is.
      sizes: of all names.

    Raises:
      OverflowError: if it computes with a size that its dtype does not hold.
    """
    made: dict[int, tuple[Any, Any]] = {}  # each with what it was made of, whose id would be given to another
    variables: dict[Any, Any] = {}

    def sized(value: Any) -> Any:
        """A parameter; what holds no size is the very same object."""
        if is_dim(value):
            return dim_value(value, sizes)
        if is_jaxpr(value):
            return changed(value)
        if isinstance(value, (tuple, list)):
            items = [sized(item) for item in cast(Any, value)]
            if all(new is old for new, old in zip(items, cast(Any, value), strict=True)):
                return cast(Any, value)
            return getattr(cast(Any, value), "_make", type(cast(Any, value)))(items)
        if isinstance(value, dict):
            new = {key: sized(item) for key, item in cast(Any, value).items()}
            return cast(Any, value) if all(new[key] is old for key, old in cast(Any, value).items()) else new
        if hasattr(value, "shape") and hasattr(value, "update") and not isinstance(value, jax.Array):
            return aval(value)
        return value

    def aval(value: Any) -> Any:
        shape = getattr(value, "shape", ())
        if not any(map(is_dim, shape)):
            return value
        inner = getattr(value, "inner_aval", None)  # of a reference
        if inner is not None:
            return value.update(inner_aval=aval(inner))
        return value.update(shape=tuple(dim_value(size, sizes) for size in shape))

    def atom(value: Any) -> Any:
        if isinstance(value, jax_core.Literal):
            return value
        if value not in variables:
            there = aval(value.aval)
            variables[value] = value if there is value.aval else type(value)(there)
        return variables[value]

    def equation(eqn: Any) -> Any:
        invars, outvars, params = map(atom, eqn.invars), map(atom, eqn.outvars), sized(eqn.params)
        if eqn.primitive.name != _VALUE:
            return eqn.replace(invars=[*invars], outvars=[*outvars], params=params)
        size, there = int(params["dim"]), eqn.outvars[0].aval
        if not np.iinfo(there.dtype).min <= size <= np.iinfo(there.dtype).max:
            raise OverflowError(f"{dim_text(eqn.params['dim'])} is {size}, more than {there.dtype} holds")
        from jax.extend.core.primitives import copy_p  # which imports Pallas

        number = jax_core.Literal(size, there)  # weakly typed, as it was
        return eqn.replace(primitive=copy_p, invars=[number], outvars=[*outvars], params={})

    def changed(jaxpr: Any) -> Any:
        if id(jaxpr) not in made:
            inner = open_jaxpr(jaxpr)
            if inner is not jaxpr:
                new = jaxpr.replace(jaxpr=changed(inner))
            else:
                eqns = [equation(eqn) for eqn in inner.eqns]
                parts = {name: [atom(item) for item in getattr(inner, name)] for name in ("constvars", "invars")}
                new = cast(Any, inner).replace(**parts, outvars=[atom(item) for item in inner.outvars], eqns=eqns)
            made[id(jaxpr)] = new, jaxpr
        return made[id(jaxpr)][0]

    return changed(closed_jaxpr)
