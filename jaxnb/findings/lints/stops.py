"""What a value flows into as far as a derivative does, and the equations at which the derivative ends."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
from jax.extend import core as jax_core

from jaxnb._jax import body_jaxprs
from jaxnb.reading import CALLS, scan_parts

__all__ = ["Flow", "follow", "stop_text"]

_COMPARISONS = frozenset({"gt", "lt", "ge", "le", "eq", "ne", "is_finite"})
_STEPS = frozenset({"floor", "ceil", "round", "sign", "argmax", "argmin", "stop_gradient"})
_MOST_ROUNDS = 8


@dataclass(slots=True)
class Flow:
    """Where a value goes.

    Attributes:
      reached: the variables that vary with it smoothly.
      stops: the equations that read one of these and have no derivative, each below those that it stands in.
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
    flow = Flow({start})
    for eqn in eqns:
        told = [type(v) is not jax_core.Literal and v in flow.reached for v in eqn.invars]
        if any(told) and takes(eqn):
            results = _through(eqn, told, flow, (eqn,))
            flow.reached.update(v for v, reached in zip(eqn.outvars, results, strict=True) if reached)
    return flow


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


def _through(eqn: Any, told: Sequence[bool], flow: Flow, path: tuple[Any, ...]) -> list[bool]:
    """Which results of an equation a derivative reaches."""
    if _is_stop(eqn):
        flow.stops.append(path)
        return [False] * len(eqn.outvars)
    name, bodies = eqn.primitive.name, [body for _, body in body_jaxprs(eqn.params)]
    given = list(told[len(told) - len(bodies[0].invars) :]) if bodies else []
    fits = bool(bodies) and all(
        len(body.invars) == len(given) and len(body.outvars) == len(eqn.outvars) for body in bodies
    )
    if fits and name == "scan" and len(bodies) == 1:
        consts, carry = scan_parts(eqn.params)
        for _ in range(_MOST_ROUNDS):
            results = _body(bodies[0], given, flow, path)
            more = [a or b for a, b in zip(given[consts : consts + carry], results[:carry], strict=True)]
            if more == given[consts : consts + carry]:
                return results
            given[consts : consts + carry] = more
        return [True] * len(eqn.outvars)
    if fits and name in CALLS:
        every = [_body(body, given, flow, path) for body in bodies]
        return [any(results) for results in zip(*every, strict=True)]
    # A bool or an integer carries no derivative, whatever made it.
    return [_is_smooth(v.aval) for v in eqn.outvars]


def _body(body: Any, given: Sequence[bool], flow: Flow, path: tuple[Any, ...]) -> list[bool]:
    reached = {v for v, told in zip(body.invars, given, strict=True) if told}
    for eqn in body.eqns:
        told = [type(v) is not jax_core.Literal and v in reached for v in eqn.invars]
        if any(told):
            results = _through(eqn, told, flow, (*path, eqn))
            reached.update(v for v, one in zip(eqn.outvars, results, strict=True) if one)
    return [type(v) is not jax_core.Literal and v in reached for v in body.outvars]


def _is_smooth(aval: Any) -> bool:
    dtype = getattr(aval, "dtype", None)
    return dtype is None or bool(jnp.issubdtype(dtype, jnp.inexact))
