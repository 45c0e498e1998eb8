"""What a value flows into as far as a derivative does, and the equations at which the derivative ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax.numpy as jnp
from jax.extend.core import Literal

from jaxnb._jax import Called, Forward

__all__ = ["Flow", "follow", "stop_text"]

_COMPARISONS = frozenset({"gt", "lt", "ge", "le", "eq", "ne", "is_finite"})
_STEPS = frozenset({"floor", "ceil", "round", "sign", "argmax", "argmin", "stop_gradient"})


@dataclass(slots=True)
class Flow:
    """Where a value goes.

    Attributes:
      reached: the variables that vary with it smoothly.
      stops: the equations that read one of these and have no derivative, each below those that it stands in; first
        the one that reads what was made last: there a derivative ends that goes no further, not at a mask on its way.
    """

    reached: set[Any] = field(default_factory=set[Any])
    stops: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])


def follow(eqns: Sequence[Any], start: Any, takes: Callable[[Any], bool] = lambda eqn: True) -> Flow:
    """Follows a variable through equations of one jaxpr.

    Args:
      eqns: in their order.
      start: the variable.
      takes: which equations count.
    """
    flow = Flow()
    known = {start: True}
    _Derivative(flow.stops, ()).through((eqn for eqn in eqns if takes(eqn)), known)
    flow.reached = {v for v, reached in known.items() if reached}
    made = {v: place for place, v in enumerate(known)}
    flow.stops.sort(key=lambda path: max((made.get(v, -1) for v in _variables(path[0])), default=-1), reverse=True)
    return flow


def _variables(eqn: Any) -> list[Any]:
    return [atom for atom in eqn.invars if type(atom) is not Literal]


def stop_text(eqn: Any) -> str:
    """What an equation does that ends a derivative.

    >>> import jax
    >>> stop_text(jax.make_jaxpr(jax.numpy.floor)(1.0).eqns[0])
    '`floor`, whose derivative is zero'
    """
    name = eqn.primitive.name
    if name == "stop_gradient":
        return "`stop_gradient`"
    if name == "convert_element_type":
        return f"a cast to {eqn.params['new_dtype'].name}"
    if name in _COMPARISONS:
        return f"the comparison `{name}`, which has no derivative"
    return f"`{name}`, whose derivative is zero"


def _is_stop(eqn: Any) -> bool:
    name = eqn.primitive.name
    if name == "convert_element_type":
        return not jnp.issubdtype(eqn.params["new_dtype"], jnp.inexact)
    return name in _STEPS or name in _COMPARISONS


class _Derivative(Forward[bool]):
    """What a derivative reaches.

    Args:
      stops: to which the equations are added at which it ends.
      path: the equations that lead here.
    """

    nothing = False

    def __init__(self, stops: list[tuple[Any, ...]], path: tuple[Any, ...]) -> None:
        self._stops, self._path = stops, path

    def join(self, one: bool, other: bool) -> bool:
        return one or other

    def other(self, eqn: Any, ins: list[bool]) -> list[bool]:
        # A bool or an integer carries no derivative, whatever made it.
        return [_is_smooth(v.aval) for v in eqn.outvars]

    def equation(self, eqn: Any, ins: list[bool]) -> list[bool]:
        if not any(ins):
            return [False] * len(eqn.outvars)
        if _is_stop(eqn):
            self._stops.append((*self._path, eqn))
            return [False] * len(eqn.outvars)
        if eqn.primitive.name == "cond":
            ins = [False, *ins[1:]]  # none goes by what chooses among branches
        return super().equation(eqn, ins)

    def enter(self, eqn: Any, called: Called, ins: list[bool]) -> list[bool]:
        return _Derivative(self._stops, (*self._path, eqn)).run(called.jaxpr, ins)

    rules: ClassVar[Mapping[str, Any]] = {"while": other}


def _is_smooth(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is None or bool(jnp.issubdtype(dtype, jnp.inexact))
