"""Elementwise primitives: one operation for each element of the result, or a fixed formula of them.

XLA counts an arithmetic, logical or comparing operation as one flop an element, of complex numbers too, and exp, log,
tanh and their like as one transcendental and no flop. Where an operand is a scalar beside an array, the lowered program
spreads it over the array first: that is traffic of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxnb._jax import FORMULAS_OF_0_10
from jaxnb.reading.cost.context import Context, Rule
from jaxnb.reading.cost.sizes import elements, is_complex, itemsize
from jaxnb.reading.cost.value import Cost

__all__ = ["RULES"]

# One flop for each element of the result.
_PLAIN = """
add add_any and ceil clz complex div eq eq_to floor ge gt imag is_finite le le_to lt lt_to max min mul mulhi ne neg
not or population_count real reduce_precision rem round shift_left shift_right_arithmetic shift_right_logical sign sub
xor clamp
"""

# One transcendental for each element of the result.
_TRANSCENDENTAL = "atan2 cbrt cos erf exp expm1 log log1p rsqrt sin sqrt tan tanh"


class Formula(NamedTuple):
    """What a function becomes that XLA has no operation for, for each element.

    Attributes:
      flops: of the formula.
      transcendentals: likewise.
      words: numbers read and written on the way, in parts of a complex number where it is one.
      flags: booleans read and written on the way.
      constants: numbers that are spread over an array first, where no earlier equation has done so.
      wide: whether numbers of two bytes are turned into float32 and back.
    """

    flops: int
    transcendentals: int
    words: int
    flags: int = 0
    constants: int = 0
    wide: bool = False


# For float32; `_DOUBLE` has those that have another formula for float64.
_REAL = {
    "acos": Formula(3, 2, 14, constants=1),
    "acosh": Formula(7, 4, 28, 2, 3),
    "asin": Formula(3, 2, 14, constants=1),
    "asinh": Formula(11, 3, 36, 2, 3),
    "atan": Formula(0, 1, 3, constants=1),
    "atanh": Formula(6, 2, 19, 2, 3),
    "bessel_i0e": Formula(83, 1, 249, 2, 30, wide=True),
    "bessel_i1e": Formula(83, 1, 248, 2, 29, wide=True),
    "conj": Formula(1, 0, 4, constants=1),
    "cosh": Formula(3, 2, 13, 0, 1, wide=True),
    "digamma": Formula(75, 3, 216, 11, 23, wide=True),
    "erf_inv": Formula(37, 2, 110, 13, 23, wide=True),
    "erfc": Formula(62, 1, 181, 8, 28, wide=True),
    "exp2": Formula(1, 1, 5, constants=1),
    "lgamma": Formula(53, 4, 157, 9, 23, wide=True),
    "log2": Formula(1, 1, 5, constants=1),
    "logistic": Formula(3, 1, 10, constants=1),
    "nextafter": Formula(24, 0, 55, 18, 6),
    "one_minus_square": Formula(3, 0, 9, constants=1),
    "polygamma": Formula(260, 19, 781, 41, 52, wide=True),
    "sinh": Formula(10, 3, 34, 2, 3, wide=True),
    "square": Formula(1, 0, 3),
    "zeta": Formula(121, 11, 412, 23, wide=True),
}
# Those whose constant is 1, which others may have spread.
_WITH_ONE = frozenset(("acos", "asin", "atan", "logistic", "one_minus_square"))
_DOUBLE = {
    "bessel_i0e": Formula(173, 1, 519, 2, 60),
    "bessel_i1e": Formula(173, 1, 518, 2, 59),
    "erf_inv": Formula(100, 2, 298, 48, 66),
    "erfc": Formula(90, 1, 265, 8, 44),
    "lgamma": Formula(53, 4, 157, 9, 24),
}
_COMPLEX = {
    "acos": Formula(105, 9, 297, 47, 13),
    "acosh": Formula(105, 9, 297, 47, 13),
    "asin": Formula(105, 9, 297, 47, 13),
    "asinh": Formula(104, 9, 293, 47, 13),
    "atan": Formula(47, 2, 122, 27, 11),
    "atanh": Formula(45, 2, 118, 27, 11),
    "conj": Formula(4, 0, 12),
    "cos": Formula(15, 4, 55, 2, 2),
    "cosh": Formula(95, 12, 311, 17, 7),
    "exp": Formula(15, 4, 52, 5, 3),
    "exp2": Formula(16, 4, 59, 5, 4),
    "log": Formula(62, 4, 188, 7, 4),
    "log1p": Formula(79, 5, 241, 6, 5),
    "log2": Formula(64, 4, 195, 7, 5),
    "logistic": Formula(18, 4, 69, 5, 4),
    "max": Formula(9, 0, 24, 8),
    "min": Formula(9, 0, 24, 8),
    "sin": Formula(14, 4, 53, 2, 2),
    "sinh": Formula(95, 12, 311, 17, 7),
    "sqrt": Formula(86, 7, 245, 41, 7),
    "square": Formula(14, 0, 35, 6, 2),
}
# The absolute value of a complex number is an operation of its own before.
_modulus = Formula(25, 1, 68, 14, 6)
if FORMULAS_OF_0_10:
    _REAL["asin"] = Formula(5, 2, 20, constants=1)
    _REAL["digamma"] = Formula(73, 3, 215, 9, 22, wide=True)
    _modulus = None
else:
    # By a table of coefficients that are gathered, instead of a series.
    _REAL["lgamma"] = Formula(292, 0, 969, 1, wide=True)


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
    """One flop for each element of the result."""
    aval = eqn.outvars[0].aval
    if is_complex(aval) and eqn.primitive.name in _COMPLEX:
        return _formula(eqn, context)
    count, moved = _traffic(eqn, context)
    return Cost(count, moved)


def _transcendental(eqn: Any, context: Context) -> Cost:
    """One transcendental for each element of the result; of complex numbers what the formula has."""
    if is_complex(eqn.outvars[0].aval) and eqn.primitive.name in _COMPLEX:
        return _formula(eqn, context)
    count, moved = _traffic(eqn, context)
    return Cost(0, moved, count)


def _formula(eqn: Any, context: Context) -> Cost:
    """What the formula has, for each element."""
    result, name = eqn.outvars[0].aval, eqn.primitive.name
    size = itemsize(result)
    if is_complex(eqn.invars[0].aval):
        if name not in _COMPLEX:
            return Cost(unknown=frozenset({name}))
        return _evaluated(eqn, context, _COMPLEX[name], size // 2)
    if is_complex(result):
        size //= 2  # of a real number the conjugate is complex
    formula = _DOUBLE.get(name, _REAL[name]) if size == 8 else _REAL[name]
    return _evaluated(eqn, context, formula, size)


def _evaluated(eqn: Any, context: Context, formula: Formula, size: int) -> Cost:
    """The cost of evaluating a formula of numbers of `size` bytes."""
    result, name = eqn.outvars[0].aval, eqn.primitive.name
    count, widened = elements(result), 0
    if formula.wide and size == 2:
        widened, size = len(eqn.invars) + 1, 4
    flops = (formula.flops + widened) * count
    moved = (formula.words * size + formula.flags + widened * 6) * count
    key = (name, size, result.shape)
    if name in _WITH_ONE and formula.constants == 1:
        moved += context.spreading(1.0, result, result.shape)
    elif key not in context.spread:
        context.spread.add(key)
        moved += formula.constants * (count + 1) * size
    return Cost(flops, moved, formula.transcendentals * count)


def _abs(eqn: Any, context: Context) -> Cost:
    """One flop an element; of complex numbers a formula with a square root, an operation of its own before jax 0.11."""
    operand = eqn.invars[0].aval
    if _modulus is None or not is_complex(operand):
        return _plain(eqn, context)
    return _evaluated(eqn, context, _modulus, itemsize(operand) // 2)


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
    **dict.fromkeys(_REAL, _formula),
    "abs": _abs,
    "bitcast_convert_type": _bitcast,
    "convert_element_type": _convert,
    "integer_pow": _integer_pow,
    "polynomial": _polynomial,
    "pow": _pow,
    "select_n": _select,
    "sign": _sign,
}
