"""Python scalars as inputs: where a trace could give another answer than the scalar itself (SEMANTICS, rule 3).

A float is traced, weakly typed, so that changing it does not compile again. That is right only while the cell cannot
tell. Two things give it away after a trace: a result that is made of Python scalars alone would be a Python scalar in
the plain cell, and arithmetic among Python scalars runs in double precision there. Where rounding could show, or an
int could overflow, the scalar is made static instead.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from jaxnb import _jax
from jaxnb._jax import hosted_name
from jaxnb.staging.trace.prelude import is_python_like

__all__ = ["scalars_that_show"]

_EXACT_ENOUGH = frozenset({"neg", "convert_element_type", "abs", "sign", "copy", "copy_p"})
"""Operations whose result in single precision is the rounded result in double. Differences and powers lose digits,
products leave the range, and a division by zero raises an error among Python scalars."""


def scalars_that_show(
    jaxpr: Any,
    floats: set[int],
    ints: set[int],
    outputs: Sequence[int],
    hosted: frozenset[Any] = frozenset(),
    arrays: Collection[Any] = (),
) -> set[int]:
    """Which scalar inputs must be static for the results to be those of the plain cell.

    Args:
      jaxpr: of the piece; its input variables are the leaves in order.
      floats: positions of inputs that are Python floats or complex numbers.
      ints: positions of inputs that are Python ints.
      outputs: positions of the results that will be bound.
      hosted: the variables that Python computes, if it computes any; what a function of JAX makes of them is its own.
      arrays: variables that the plain cell has as arrays, though they could be Python scalars.
    """
    scalars = floats | ints
    if not scalars:
        return set()
    # what a variable was computed from, for those computed from Python scalars (and literals) alone
    origin: dict[Any, set[int]] = {var: {i} for i, var in enumerate(jaxpr.invars) if i in scalars}
    found: set[int] = set()
    for eqn in jaxpr.eqns:
        if hosted_name(eqn) is not None or any(var in arrays for var in eqn.outvars):
            continue  # NumPy computes it with the scalar itself
        sources = [origin.get(var) if not hasattr(var, "val") else set[int]() for var in eqn.invars]
        if any(source is None for source in sources):
            continue
        if hosted and not _jax.made_by_operator(eqn):
            continue
        merged = set[int]().union(*(source for source in sources if source is not None))
        if not merged or not all(is_python_like(var.aval) for var in eqn.outvars):
            continue
        for var in eqn.outvars:
            origin[var] = merged
        if all(var in hosted for var in eqn.outvars):
            continue
        name = eqn.primitive.name
        if name not in _EXACT_ENOUGH or (merged & ints and name != "convert_element_type"):
            found |= merged
    for place in outputs:
        var = jaxpr.outvars[place]
        if not hasattr(var, "val") and var not in hosted:
            found |= origin.get(var, set())
    return found
