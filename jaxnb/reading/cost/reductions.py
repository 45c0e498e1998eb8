"""Reductions, cumulative and windowed ones, and sorting."""

from __future__ import annotations

import math
from typing import Any

from jaxnb.reading.cost.context import Context, Rule
from jaxnb.reading.cost.measured import STEPS
from jaxnb.reading.cost.sizes import elements, is_complex, itemsize, moved
from jaxnb.reading.cost.value import Cost

__all__ = ["CUMULATIVE", "RULES", "combinations"]


def _reduce(eqn: Any, context: Context) -> Cost:
    """One flop for each element but the first of every result; of complex maxima what comparing them takes.

    A reduction over no dimension is not lowered at all.
    """
    if not eqn.params["axes"]:
        return Cost()
    operand, result = eqn.invars[0].aval, eqn.outvars[0].aval
    each = _each(operand, eqn.primitive.name in ("reduce_max", "reduce_min"))
    return Cost(each * _steps(operand, result), moved(eqn) + itemsize(operand))


def _each(operand: Any, extreme: bool) -> int:
    """The flops of combining two elements."""
    return STEPS["max_of_complex"].flops if extreme and is_complex(operand) else 1


def _steps(operand: Any, result: Any) -> int:
    """How often a reduction combines two elements; never, where there are none."""
    return max(elements(operand) - elements(result), 0)


def _arg_reduce(eqn: Any, context: Context) -> Cost:
    """A reduction of pairs of a number and its index; of floating point NaN is the largest, which takes more.

    The indices are an array of their own, as large as the operand.
    """
    operand, result = eqn.invars[0].aval, eqn.outvars[0].aval
    count, kept = elements(operand), elements(result)
    size, index = itemsize(operand), itemsize(result)
    integral = getattr(operand.dtype, "kind", "") in "iub"
    step = STEPS["argmax_of_integers" if integral else "argmax"]
    indices = count * index
    if len(operand.shape) > 1:
        indices += 2 * operand.shape[eqn.params["axes"][0]] * index
    return Cost(step.flops * (count - kept), (count + kept + 1) * (size + index) + indices)


def combinations(eqn: Any, context: Context) -> int:
    """How often a reduction over an axis, a window or a running one combines two elements.

    XLA counts a running reduction (`cumsum`) as the window that JAX makes of it for the CPU, n - 1 combinations for
    each of n results, and so does this with `once`. Otherwise it is n - 1 for each line of n elements: the compiler
    never runs the window.
    """
    operand, result = eqn.invars[0].aval, eqn.outvars[0].aval
    name, params = eqn.primitive.name, eqn.params
    if name in CUMULATIVE:
        length = operand.shape[params["axis"]]
        count = elements(operand)
        return count * max(length - 1, 0) if context.once else count - (count // length if length else 0)
    if "window_dimensions" in params:
        return (math.prod(params["window_dimensions"]) - 1) * elements(result)
    return _steps(operand, result)


def _cumulative(eqn: Any, context: Context) -> Cost:
    """One flop for each combination of two elements; of complex extremes what comparing them takes."""
    each = _each(eqn.invars[0].aval, eqn.primitive.name in ("cummax", "cummin"))
    return Cost(each * combinations(eqn, context), moved(eqn) + itemsize(eqn.invars[0].aval))


def _cumlogsumexp(eqn: Any, context: Context) -> Cost:
    """Several flops, an exp and a log1p for each combination of two elements."""
    if is_complex(eqn.invars[0].aval):
        return Cost(unknown=frozenset({"cumlogsumexp"}))
    return Cost(0, moved(eqn) + itemsize(eqn.invars[0].aval)) + STEPS["cumlogsumexp"].of(combinations(eqn, context))


def _select_and_scatter_add(eqn: Any, context: Context) -> Cost:
    """A comparison for each element but one of every window, and an addition for each source.

    The bytes are those of operands and results, and of the copy with its border that the lowering makes.
    """
    source, operand = (v.aval for v in eqn.invars)
    window = math.prod(eqn.params["window_dimensions"])
    return Cost(elements(source) * window, moved(eqn) + itemsize(operand))


def _sort(eqn: Any, context: Context) -> Cost:
    """N log2 N flops, the logarithm rounded up, N being all elements of the first operand and not those of a row."""
    count = elements(eqn.invars[0].aval)
    return Cost(count * (count - 1).bit_length() if count else 0, moved(eqn))


def _top_k(eqn: Any, context: Context) -> Cost:
    """No flops, as XLA counts it; operands and results are moved."""
    return Cost(0, moved(eqn))


CUMULATIVE = frozenset({"cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum"})

RULES: dict[str, Rule] = {
    **dict.fromkeys(
        ("reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_prod", "reduce_sum", "reduce_xor"),
        _reduce,
    ),
    **dict.fromkeys(("argmax", "argmin"), _arg_reduce),
    **dict.fromkeys(CUMULATIVE - {"cumlogsumexp"}, _cumulative),
    **dict.fromkeys(("reduce_window_max", "reduce_window_min", "reduce_window_sum"), _cumulative),
    "cumlogsumexp": _cumlogsumexp,
    "select_and_scatter_add": _select_and_scatter_add,
    "sort": _sort,
    "top_k": _top_k,
}
