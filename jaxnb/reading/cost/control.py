"""How often an equation runs the jaxprs that it holds, and what it does besides."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import compress
from typing import Any

import jax

from jaxnb._jax import CALLS, called_jaxprs, is_kept_apart, scan_counts
from jaxnb.reading.cost.context import Constant, Context
from jaxnb.reading.cost.kernels import kernel_runs
from jaxnb.reading.cost.mapped import lowered_map
from jaxnb.reading.cost.needed import NeededEqn
from jaxnb.reading.cost.reductions import combinations
from jaxnb.reading.cost.runs import Runs
from jaxnb.reading.cost.sizes import elements, itemsize, moved, nbytes
from jaxnb.reading.cost.value import Cost

__all__ = ["CONTROL", "shards"]

Rule = Callable[[Any, Context, NeededEqn], Runs]


def _call(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """A call: the body runs once, and passing arguments costs nothing."""
    (called,) = called_jaxprs(eqn)
    return Runs(Cost(), {called.path: 1}, called=True, inlined=eqn.primitive.name in _INLINED)


_INLINED = frozenset({"custom_jvp_call", "custom_vjp_call"})


def _call_of(name: str) -> Rule:
    """A call of one of several functions that stand in the parameters."""

    def runs(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
        return Runs(Cost(), {(name,): 1}, called=True)

    return runs


def _remat(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """A call; where it computes something again for a gradient, a barrier holds its operands, which XLA counts once."""
    held = compress(eqn.invars, needs.inputs) if is_kept_apart(eqn) else ()
    own = Cost(0, sum(nbytes(v.aval) for v in held))
    return Runs(own, {("jaxpr",): 1}, called=True)


def _linear_solve(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The solver; the functions beside it serve derivatives."""
    return Runs(Cost(), {("jaxprs", "solve"): 1}, called=True)


def _cond(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The dearest branch, by flops and transcendentals together, then bytes.

    XLA takes the most of each figure over the branches, and so does this with `once`: what the dearest branch lacks of
    it is the equation's own. What is unknown in any branch is unknown.
    """
    return Runs(Cost(), {("branches", str(i)): 1 for i in range(len(eqn.params["branches"]))}, one_of=True)


def _scan(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The body `length` times, a counter, slices of what is scanned and updates of what is stacked.

    With `once` the body of the lowered loop counts once, which holds `unroll` copies of the scan's.
    """
    params = eqn.params
    length, copies = params["length"], params["unroll"]
    if copies == 0 or (copies == length != 1):
        loops, rest = 0, length  # there is no loop at all
    else:
        loops, rest = divmod(length, copies)
    counted = min(loops, 1) if context.once else loops
    constants, carried = scan_counts(params)
    first = constants + carried
    total = 0
    for v in compress(eqn.invars[first:], needs.inputs[first:]):
        size = nbytes(v.aval) // max(length, 1)
        if copies == 1:
            total += counted * (4 * size + 4)
            continue
        # Blocks are split off before the loop, a block is taken in each run of it, and each copy takes its part.
        looped = loops * copies * size
        total += counted * (8 * copies * size + 4) + 4 * rest * size + 2 * looped
        total += 2 * (looped + rest * size) if loops and rest else 0
    for v in compress(eqn.outvars[carried:], needs.outputs[carried:]):
        size = nbytes(v.aval) // max(length, 1)
        shape = v.aval.shape[1:]
        if copies == 1:
            total += counted * (4 * size + 4) + context.spreading(_zero(v.aval), v.aval, (loops, *shape))
            continue
        total += counted * (8 * copies * size + 4) + 2 * rest * size + (2 * length * size if rest else 0)
        if loops:
            total += context.spreading(_zero(v.aval), v.aval, (loops, copies, *shape)) + 2 * loops * copies * size
    # A step adds to the counter and compares it with the length; a reversed one counts down by two operations more.
    each = 4 if params["reverse"] else 2
    return Runs(Cost(each * counted, total + (12 * each - 3) * counted), {("jaxpr",): counted * copies + rest})


def _zero(aval: Any) -> Constant:
    """Zero as a number of an aval's dtype."""
    kind = getattr(aval.dtype, "kind", "")
    return False if kind == "b" else 0 if kind in "iu" else 0.0


def _while(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The condition and the body, once each: nobody knows how often they run.

    Where `vmap` made one condition of many, the loop goes on until all have ended; the condition is evaluated again in
    the body, to choose between the old and the new value of everything that is carried.
    """
    asked = eqn.params["cond_jaxpr"].out_avals[0]
    batch = elements(asked)
    if asked.shape == ():
        return Runs(Cost(), {("cond_jaxpr",): 1, ("body_jaxpr",): 1}, open_ended=True)
    flops, total = batch - 1, batch + 2
    for v in eqn.outvars:
        count, size = elements(v.aval), itemsize(v.aval)
        flops += count
        total += count + 3 * count * size + (batch + count if v.aval.shape != asked.shape else 0)
    return Runs(Cost(flops, total), {("cond_jaxpr",): 2, ("body_jaxpr",): 1}, open_ended=True)


def _shard_map(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The body on every device of the axes that become manual; with `once` on one of them, as XLA counts."""
    return Runs(Cost(), {("jaxpr",): 1 if context.once else shards(eqn)}, called=True)


def shards(eqn: Any) -> int:
    """On how many devices a `shard_map` runs its body."""
    mesh = eqn.params["mesh"]
    return math.prod(mesh.shape[axis] for axis in eqn.params["newly_manual_axes"])


def _reduce_by(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The function, for each combination of two elements; operands and results are moved once."""
    return Runs(Cost(0, moved(eqn)), {("jaxpr",): combinations(eqn, context)}, scalar=True)


def _select_and_scatter(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The choosing function for each element but one of every window, the other one for each source."""
    sources = elements(eqn.invars[1].aval)
    others = math.prod(eqn.params["window_dimensions"]) - 1
    return Runs(Cost(0, moved(eqn)), {("select_jaxpr",): sources * others, ("scatter_jaxpr",): sources}, scalar=True)


def _object(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """What the object says that it becomes: jax 0.12 has such for `searchsorted` and others."""
    made, avals = eqn.params["_prim"], [v.aval for v in eqn.invars]
    unknown = Runs(Cost(unknown=frozenset({eqn.primitive.name})), {})
    if not all(isinstance(getattr(aval, "shape", None), tuple) and hasattr(aval, "dtype") for aval in avals):
        return unknown
    structs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
    try:
        hidden = jax.make_jaxpr(made.expand)(*jax.tree.unflatten(made.in_tree, structs))
    except (NameError, NotImplementedError):
        return unknown  # it needs the named axis of a `shard_map`, or has nothing to say
    return Runs(Cost(), {}, hidden=hidden)


CONTROL: dict[str, Rule] = {
    **dict.fromkeys(CALLS, _call),
    **dict.fromkeys(("reduce", "reduce_window"), _reduce_by),
    "call_hi_primitive": _object,
    "cond": _cond,
    "custom_linear_solve": _linear_solve,
    "custom_partitioning": _call_of("call"),
    "linear_call": _call_of("callee"),
    "pallas_call": kernel_runs,
    "remat2": _remat,
    "scan": _scan,
    "select_and_scatter": _select_and_scatter,
    "shard_map": _shard_map,
    "while": _while,
    "xmap": lowered_map,
}
