"""Collectives, on one device: what it reads and writes. How long the wire takes is not a cost of this kind."""

from __future__ import annotations

from typing import Any

from jaxnb.reading.cost.context import Context, Rule
from jaxnb.reading.cost.sizes import elements, itemsize, moved
from jaxnb.reading.cost.value import Cost

__all__ = ["RULES"]


def _all_reduce(eqn: Any, context: Context) -> Cost:
    """One flop for each element of the result, as if there were two devices: so does XLA, whatever their number."""
    return Cost(sum(elements(v.aval) for v in eqn.outvars), moved(eqn))


def _reduction(eqn: Any, context: Context) -> Cost:
    """An all-reduce; over dimensions, as `vmap` makes it of a name, a reduction, and over nothing at all no work."""
    axes = eqn.params["axes"]
    if not axes:
        return Cost()
    if not all(isinstance(axis, int) for axis in axes):
        return _all_reduce(eqn, context)
    pairs = [(v.aval, out.aval) for v, out in zip(eqn.invars, eqn.outvars, strict=True)]
    flops = sum(max(elements(operand) - elements(result), 0) for operand, result in pairs)
    return Cost(flops, moved(eqn) + sum(itemsize(operand) for operand, _ in pairs))


def _exchange(eqn: Any, context: Context) -> Cost:
    """Operands and results; no flops, not even those of the sum in `psum_scatter`: so does XLA."""
    return Cost(0, moved(eqn))


RULES: dict[str, Rule] = {
    **dict.fromkeys(("pmax", "pmin", "psum"), _reduction),
    **dict.fromkeys(("psum2", "psum_invariant", "unreduced_psum"), _all_reduce),
    **dict.fromkeys(
        (
            "all_gather",
            "all_gather_invariant",
            "all_gather_reduced",
            "all_to_all",
            "pbroadcast",
            "ppermute",
            "ragged_all_to_all",
            "reduce_scatter",
            "unreduced_reduce_scatter",
        ),
        _exchange,
    ),
}
