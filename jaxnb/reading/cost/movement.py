"""Primitives that move data, or only rename it: no flops but those of indices."""

from __future__ import annotations

from typing import Any

from jaxnb.reading.cost.context import Context, Rule
from jaxnb.reading.cost.sizes import elements, itemsize, moved, nbytes
from jaxnb.reading.cost.value import Cost

__all__ = ["RULES"]

# Nothing of these is left in the lowered program, or only a note.
_FREE = """
after_all axis_index copy create_token device_put dce_sink empty_ref free_ref freeze from_edtype layout_constraint name
new_ref pvary platform_index random_clone random_unwrap random_wrap reduced_vary_cast reduced_vary_cast_p relayout
reshard sharding_constraint stop_gradient to_edtype vary_unreduced_cast vary_unreduced_cast_p
preduced tie dimension_size
named_shape settle shared_operand total_cotangent
"""


def _free(eqn: Any, context: Context) -> Cost:
    """Nothing."""
    return Cost()


def _moved(eqn: Any, context: Context) -> Cost:
    """Operands and results; a reshape too, which XLA takes for a copy before it assigns layouts."""
    return Cost(0, moved(eqn))


def _reshape(eqn: Any, context: Context) -> Cost:
    """Operand and result; nothing where the shape stays."""
    same = eqn.invars[0].aval.shape == eqn.outvars[0].aval.shape
    return Cost() if same else Cost(0, moved(eqn))


def _transpose(eqn: Any, context: Context) -> Cost:
    """Nothing: XLA takes it for another layout of the same bytes, though on the machine it may be a copy.

    Where only dimensions of size 1 change their places it is lowered as a reshape, and counted as one.
    """
    shape = eqn.invars[0].aval.shape
    order = [axis for axis in eqn.params["permutation"] if shape[axis] != 1]
    return Cost(0, moved(eqn)) if order == sorted(order) and shape != eqn.outvars[0].aval.shape else Cost()


def _barrier(eqn: Any, context: Context) -> Cost:
    """The operands, once, as XLA counts it, though none is touched; a single one is counted as read and written."""
    return Cost(0, sum(nbytes(v.aval) for v in eqn.invars) * (2 if len(eqn.invars) == 1 else 1))


def _results_twice(eqn: Any, context: Context) -> Cost:
    """The part that is taken, read and written."""
    return Cost(0, 2 * sum(nbytes(v.aval) for v in eqn.outvars))


def _slice(eqn: Any, context: Context) -> Cost:
    """The part that is taken, read and written; nothing where that is everything."""
    same = eqn.invars[0].aval.shape == eqn.outvars[0].aval.shape
    return Cost() if same else _results_twice(eqn, context)


def _stack(eqn: Any, context: Context) -> Cost:
    """Each operand is reshaped and then joined to the others: all of it is read and written twice."""
    return Cost(0, 4 * sum(nbytes(v.aval) for v in eqn.invars))


def _unstack(eqn: Any, context: Context) -> Cost:
    """Each result is sliced out and then reshaped."""
    return Cost(0, 4 * sum(nbytes(v.aval) for v in eqn.outvars))


def _tile(eqn: Any, context: Context) -> Cost:
    """Two reshapes and two broadcasts of the operand, and a reshape of the result."""
    if eqn.invars[0].aval.shape == eqn.outvars[0].aval.shape:
        return Cost()
    return Cost(0, 7 * nbytes(eqn.invars[0].aval) + 3 * nbytes(eqn.outvars[0].aval))


def _empty(eqn: Any, context: Context) -> Cost:
    """Zeros, as they are lowered."""
    result = eqn.outvars[0].aval
    return Cost(0, context.spreading(0.0, result, result.shape))


def _iota(eqn: Any, context: Context) -> Cost:
    """The result; one of several dimensions is a line that is then spread."""
    result = eqn.outvars[0].aval
    line = result.shape[eqn.params["dimension"]] * itemsize(result) if len(result.shape) > 1 else 0
    return Cost(0, nbytes(result) + 2 * line)


def _broadcast_in_dim(eqn: Any, context: Context) -> Cost:
    """Operand and result; dimensions of size 1 that grow are reshaped away before, which moves the operand twice more.

    Where only dimensions of size 1 are added it is a reshape, and where nothing changes it is nothing.
    """
    operand, result = eqn.invars[0].aval, eqn.outvars[0].aval
    if operand.shape == result.shape:
        return Cost()
    if not operand.shape:
        return Cost(0, context.spreading_of(eqn.invars[0], result.shape))
    grown = any(
        size != result.shape[axis] for size, axis in zip(operand.shape, eqn.params["broadcast_dimensions"], strict=True)
    )
    return Cost(0, nbytes(operand) * (5 if grown else 1) + nbytes(result))


def _dynamic_slice(eqn: Any, context: Context) -> Cost:
    """The part that is taken, read and written, and its first index."""
    index = nbytes(eqn.invars[1].aval) if len(eqn.invars) > 1 else 0
    return Cost(0, 2 * nbytes(eqn.outvars[0].aval) + index)


def _dynamic_update_slice(eqn: Any, context: Context) -> Cost:
    """The part that is put in, read and written, and its first index; the rest is taken over in place."""
    index = nbytes(eqn.invars[2].aval) if len(eqn.invars) > 2 else 0
    return Cost(0, 2 * nbytes(eqn.invars[1].aval) + index)


def _gather(eqn: Any, context: Context) -> Cost:
    """The part that is taken, read and written, and the indices.

    Where indices out of range give a fill value, they are compared with both ends, and the result is chosen.
    """
    indices, result = eqn.invars[1].aval, eqn.outvars[0].aval
    taken = 2 * nbytes(result) + nbytes(indices)
    if getattr(eqn.params["mode"], "name", "") != "FILL_OR_DROP":
        return Cost(0, taken)
    count, kept = elements(indices), elements(result)
    index, size = itemsize(indices), itemsize(result)
    rows = count // indices.shape[-1] if indices.shape[-1] else 0
    checks = 6 * count * index + 2 * index + 6 * count + rows + 1
    chosen = rows + 2 * kept + kept * 4 * size + size
    return Cost(3 * count + (count - rows) + kept, taken + checks + chosen)


def _scatter(eqn: Any, context: Context) -> Cost:
    """The updates three times (read, combined with what stands there, written), and the indices.

    A flop for each update that is combined. Where indices out of range are moved to the edge, that is a flop for each.
    """
    indices, updates = eqn.invars[1].aval, eqn.invars[2].aval
    flops = 0 if eqn.primitive.name == "scatter" else elements(updates)
    total = 3 * nbytes(updates) + nbytes(indices)
    if getattr(eqn.params["mode"], "name", "") == "CLIP":
        flops += elements(indices)
        total += 6 * nbytes(indices) + 2 * itemsize(indices)
    return Cost(flops, total)


def _get(eqn: Any, context: Context) -> Cost:
    """What is read of a reference, read and written."""
    return Cost(0, 2 * nbytes(eqn.outvars[0].aval))


def _swap(eqn: Any, context: Context) -> Cost:
    """What is put into a reference, read and written; the old value too where it is used."""
    return Cost(0, 2 * nbytes(eqn.invars[1].aval) * (2 if _is_used(eqn.outvars[0]) else 1))


def _addupdate(eqn: Any, context: Context) -> Cost:
    """A flop for each element that is added to a reference; it and the old value are read, the new one written."""
    aval = eqn.invars[1].aval
    return Cost(elements(aval), 3 * nbytes(aval))


def _is_used(var: Any) -> bool:
    return type(var).__name__ != "DropVar"


RULES: dict[str, Rule] = {
    **dict.fromkeys(_FREE.split(), _free),
    "slice": _slice,
    "split": _slice,
    **dict.fromkeys(("concatenate", "expand_dims", "pad", "rev", "squeeze"), _moved),
    **dict.fromkeys(("scatter", "scatter-add", "scatter-max", "scatter-min", "scatter-mul", "scatter-sub"), _scatter),
    "addupdate": _addupdate,
    "broadcast_in_dim": _broadcast_in_dim,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "empty": _empty,
    "empty2": _empty,
    "gather": _gather,
    "get": _get,
    "iota": _iota,
    "optimization_barrier": _barrier,
    "reshape": _reshape,
    "stack": _stack,
    "swap": _swap,
    "tile": _tile,
    "transpose": _transpose,
    "unstack": _unstack,
}
