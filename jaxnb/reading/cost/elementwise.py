"""Elementwise primitives: one operation for each element of the result, or a fixed formula of them.

XLA counts an arithmetic, logical or comparing operation as one flop an element, of complex numbers too, and exp, log,
tanh and their like as one transcendental and no flop. Where an operand is a scalar beside an array, the lowered program
spreads it over the array first: that is traffic of its own.
"""

from __future__ import annotations

from typing import Any

from jaxnb.reading.cost.context import Context, Rule
from jaxnb.reading.cost.measured import COMPLEX, DOUBLE, REAL, Formula
from jaxnb.reading.cost.sizes import elements, is_complex, itemsize
from jaxnb.reading.cost.value import Cost

__all__ = ["RULES"]

# One flop for each element of the result.
_PLAIN = """
abs add add_any and ceil clz complex div eq eq_to floor ge gt imag is_finite le le_to lt lt_to max min mul mulhi ne neg
not or population_count real reduce_precision rem round shift_left shift_right_arithmetic shift_right_logical sign sub
xor clamp
"""

# One transcendental for each element of the result.
_TRANSCENDENTAL = "atan2 cbrt cos erf exp expm1 log log1p rsqrt sin sqrt tan tanh"


def _traffic(eqn: Any, context: Context) -> tuple[int, int]:
    """The elements of the result, and the bytes moved when operands of other shapes are spread to it first."""
    result = eqn.outvars[0].aval
    shape = result.shape
    count = elements(result)
    total = count * itemsize(result)
    for operand in eqn.invars:
        aval = operand.aval
        total += count * itemsize(aval)
        if aval.shape != shape:
            total += context.spreading_of(operand, shape)
    return count, total


def _plain(eqn: Any, context: Context) -> Cost:
    """One flop for each element of the result; of complex numbers what the formula has."""
    if is_complex(eqn.invars[0].aval) and eqn.primitive.name in COMPLEX:
        return _formula(eqn, context)
    count, moved = _traffic(eqn, context)
    return Cost(count, moved)


def _transcendental(eqn: Any, context: Context) -> Cost:
    """One transcendental for each element of the result; of complex numbers what the formula has."""
    if is_complex(eqn.invars[0].aval) and eqn.primitive.name in COMPLEX:
        return _formula(eqn, context)
    count, moved = _traffic(eqn, context)
    return Cost(0, moved, count)


def _formula(eqn: Any, context: Context) -> Cost:
    """What the formula has, for each element."""
    operand, name = eqn.invars[0].aval, eqn.primitive.name
    size = itemsize(operand)
    if not is_complex(operand):
        return _evaluated(eqn, context, DOUBLE.get(name, REAL[name]) if size == 8 else REAL[name], size)
    if name not in COMPLEX:
        return Cost(unknown=frozenset({name}))
    return _evaluated(eqn, context, COMPLEX[name], size // 2)


def _evaluated(eqn: Any, context: Context, formula: Formula, size: int) -> Cost:
    """The cost of evaluating a formula of numbers of `size` bytes."""
    result, name = eqn.outvars[0].aval, eqn.primitive.name
    count, widened = elements(result), 0
    if formula.wide and size == 2:
        widened, size = len(eqn.invars) + 1, 4
    flops = (formula.flops + widened) * count
    moved = (formula.words * size + formula.flags + widened * 6) * count
    key = (name, size, result.shape)
    if formula.one:
        moved += context.spreading(1.0, result, result.shape)
    elif key not in context.spread:
        context.spread.add(key)
        moved += formula.constants * (count + 1) * size
    return Cost(flops, moved, formula.transcendentals * count)


def _polynomial(eqn: Any, context: Context) -> Cost:
    """A multiplication and an addition for each coefficient but the first, by Horner's rule.

    With many coefficients it is lowered as a loop over all of them, of `unroll` steps in each run, 8 by default.
    """
    _, *coefficients = eqn.invars
    result = eqn.outvars[0].aval
    steps, count = len(coefficients) - 1, elements(result)
    at_once = eqn.params.get("unroll") or 8
    if len(coefficients) > at_once:
        steps = at_once + len(coefficients) % at_once if context.once else len(coefficients)
    moved = 6 * steps * count * itemsize(result)
    moved += sum(context.spreading_of(c, result.shape) for c in coefficients if c.aval.shape != result.shape)
    return Cost(2 * steps * count, moved)


def _sign(eqn: Any, context: Context) -> Cost:
    """One flop an element; of unsigned integers a comparison with 0 and a choice."""
    result = eqn.outvars[0].aval
    if getattr(result.dtype, "kind", "") != "u":
        return _plain(eqn, context)
    count = elements(result)
    return Cost(2 * count, count * (7 * itemsize(result) + 2))


def _integer_pow(eqn: Any, context: Context) -> Cost:
    """The multiplications of repeated squaring, and a division where the exponent is negative."""
    result, exponent = eqn.outvars[0].aval, eqn.params["y"]
    count, size = elements(result), itemsize(result)
    if exponent == 0:
        return Cost(0, (count + 1) * size)
    steps = abs(exponent).bit_length() - 1 + abs(exponent).bit_count() - 1
    inverse = int(exponent < 0)
    return Cost((steps + inverse) * count, (3 * steps + 4 * inverse) * count * size + inverse * size)


def _pow(eqn: Any, context: Context) -> Cost:
    """One transcendental an element; an integer exponent is converted first."""
    base, exponent = (v.aval for v in eqn.invars)
    result = eqn.outvars[0].aval
    if base.dtype == exponent.dtype:
        return _transcendental(eqn, context)
    count, size = elements(result), itemsize(result)
    converted = elements(exponent)
    moved = converted * (itemsize(exponent) + size) + 3 * count * size
    if exponent.shape != result.shape:
        moved += (converted + count) * size
    return Cost(converted, moved, count)


def _select(eqn: Any, context: Context) -> Cost:
    """One flop an element; among n cases, or by an integer, n - 1 comparisons and n - 1 choices."""
    which, *cases = (v.aval for v in eqn.invars)
    if which.dtype.name == "bool":
        count, moved = _traffic(eqn, context)
        return Cost(count, moved)
    result, choices = eqn.outvars[0].aval, len(cases) - 1
    count, size, index = elements(result), itemsize(result), itemsize(which)
    moved = choices * (index + 3 * count * index + 2 * count + 3 * count * size)
    if which.shape != result.shape:
        moved += (elements(which) + count) * index
    return Cost(2 * choices * count, moved)


def _convert(eqn: Any, context: Context) -> Cost:
    """One flop an element, none where only the weak type changes; to a boolean it is a comparison with zero."""
    operand, result = eqn.invars[0].aval, eqn.outvars[0].aval
    if operand.dtype == result.dtype:
        return Cost()
    count, old, new = elements(result), itemsize(operand), itemsize(result)
    if result.dtype.name == "bool":
        return Cost(count, count * (3 * old + new) + old)
    if is_complex(operand) and not is_complex(result):
        # The real part is taken first.
        part = old // 2
        again = part != new or result.dtype.kind != "f"
        return Cost(count * (1 + again), count * (old + part + again * (part + new)))
    return Cost(count, count * (old + new))


def _bitcast(eqn: Any, context: Context) -> Cost:
    """One flop for each element of the result, as XLA counts it, though nothing is computed."""
    operand, result = eqn.invars[0].aval, eqn.outvars[0].aval
    return Cost(elements(result), elements(operand) * itemsize(operand) + elements(result) * itemsize(result))


RULES: dict[str, Rule] = {
    **dict.fromkeys(_PLAIN.split(), _plain),
    **dict.fromkeys(_TRANSCENDENTAL.split(), _transcendental),
    **dict.fromkeys(REAL, _formula),
    "bitcast_convert_type": _bitcast,
    "convert_element_type": _convert,
    "integer_pow": _integer_pow,
    "polynomial": _polynomial,
    "pow": _pow,
    "select_n": _select,
    "sign": _sign,
}
