"""What a kernel of Pallas costs: its body once a step, and the bytes that move its windows."""

from __future__ import annotations

import math
from typing import Any

from jaxnb._jax import kernel_call
from jaxnb.reading.cost.context import Context
from jaxnb.reading.cost.needed import NeededEqn
from jaxnb.reading.cost.runs import Runs
from jaxnb.reading.cost.sizes import Unsized
from jaxnb.reading.cost.value import Cost
from jaxnb.reading.pallas.steps import grid_indices
from jaxnb.reading.pallas.windows import place_window

__all__ = ["kernel_runs"]

_MOST_STEPS = 1 << 17
"""Steps that are counted one by one; of more, the first tell how much one moves on average."""


def kernel_runs(eqn: Any, context: Context, needs: NeededEqn) -> Runs:
    """The body at every step of the grid, which works on memory beside the cores, and what is moved there and back.

    Raises:
      Unsized: where only the run knows how many steps there are, or what is moved.
    """
    call = kernel_call(eqn)
    sizes = [size for size in call.grid if size is not None]
    if len(sizes) < len(call.grid):
        raise Unsized("a kernel with a grid that only the run knows")
    steps = math.prod(sizes)
    indices = grid_indices(sizes, _MOST_STEPS)
    moved = 0
    for role, windows in (("in", call.inputs), ("out", call.outputs)):
        for window in windows:
            placed = place_window(call, window, indices, role, None).window
            if placed.moved is None:
                raise Unsized(f"a kernel whose window {placed.name} is not known ahead: {placed.why}")
            moved += placed.moved
    counted = min(steps, _MOST_STEPS)
    total = moved if counted == steps else moved * steps // counted
    return Runs(Cost(0, total), {("jaxpr",): 1 if context.once else steps}, scalar=True)
