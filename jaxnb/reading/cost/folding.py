"""What nothing is left of in the lowered program: constants that are renamed, zeros that are added, ones that multiply.

The gradient of a sum begins with an array of ones, and JAX's own code adds arrays of zeros; the program that is
compiled has neither the operations nor the arrays. What other functions make of constants (`exp` of zeros) is counted,
though XLA folds it, too.
"""

from __future__ import annotations

from typing import Any

from jax.extend import core as jax_core

from jaxnb.reading.cost.context import Constant, Context
from jaxnb.reading.cost.value import Cost

__all__ = ["constant_of", "folded", "spread_operands"]

_RENAMES = frozenset(("broadcast_in_dim", "convert_element_type", "copy", "reshape", "squeeze", "transpose"))
_IDENTITIES = {"add": 0, "add_any": 0, "mul": 1, "sub": 0}


def folded(eqn: Any, context: Context) -> Cost | None:
    """The cost of an equation that is folded away: nothing, or the array of a constant that the jaxpr gives back.

    Returns None where the equation is not folded.
    """
    name = eqn.primitive.name
    if name in _RENAMES:
        value = constant_of(eqn.invars[0], context)
        return None if value is None else _gives(eqn, value, context)
    identity = _IDENTITIES.get(name)
    if identity is None:
        return None
    values = [constant_of(v, context) for v in eqn.invars]
    for at in (1,) if name == "sub" else (1, 0):
        if values[at] is None or values[at] != identity:
            continue
        other = values[1 - at]
        if other is not None:
            return _gives(eqn, other, context)
        if eqn.invars[1 - at].aval.shape == eqn.outvars[0].aval.shape:
            return Cost()
    if name == "mul" and 0 in values and eqn.outvars[0].aval.dtype.kind in "iu":
        return _gives(eqn, 0, context)
    return None


def spread_operands(eqn: Any, context: Context) -> int:
    """The bytes of the constants that an equation is the first to want as arrays."""
    total = 0
    for v in eqn.invars:
        if type(v) is not jax_core.Literal and v in context.constants:
            total += context.spreading(context.constants[v], v.aval, v.aval.shape)
    return total


def constant_of(atom: Any, context: Context) -> Constant | None:
    """The number that all elements of an operand are, if it is known; None also for what is no number."""
    if type(atom) is not jax_core.Literal:
        return context.constants.get(atom)
    value = atom.val.item() if hasattr(atom.val, "item") else atom.val
    return value if isinstance(value, (bool, int, float)) else None


def _gives(eqn: Any, value: Constant, context: Context) -> Cost:
    """Remembers that all elements of the result are one number."""
    (result,) = eqn.outvars
    kind = getattr(result.aval.dtype, "kind", "")
    if kind in "iu" and value == value and abs(value) != float("inf"):
        value = int(value)
    elif kind == "b":
        value = bool(value)
    elif kind not in "iu":
        value = float(value)
    context.constants[result] = value
    if result in context.results:
        return Cost(0, context.spreading(value, result.aval, result.aval.shape))
    return Cost()
