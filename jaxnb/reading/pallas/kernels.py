"""From the equations of `pallas_call` to kernels: their windows at every step, and what the steps compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxnb._jax import CALLS, KernelArray, KernelCall, body_jaxprs, called_jaxprs, kernel_call
from jaxnb.program import Kernel, Level, Scratch
from jaxnb.reading.cost.walk import Costed, costs_of
from jaxnb.reading.pallas.steps import Scalars, grid_indices, scalars_of, value_of
from jaxnb.reading.pallas.windows import Placed, place_window, reorder

__all__ = ["MOST_STEPS", "read_kernel", "read_kernels"]

MOST_STEPS = 1 << 20
"""How many steps of a grid are counted."""

_FREE = frozenset({"program_id", "num_programs"})  # a number that is there already


def read_kernels(closed_jaxpr: Any, level: Level, *, most: int = MOST_STEPS) -> tuple[Kernel, ...]:
    """The kernels of a program.

    Args:
      closed_jaxpr: of it.
      level: what `read_jaxpr` made of that.
      most: how many steps of each grid are counted.

    >>> import jax
    >>> from jaxnb.reading import read_jaxpr
    >>> jaxpr = jax.make_jaxpr(lambda x: x + 1)(1.0)
    >>> read_kernels(jaxpr, read_jaxpr(jaxpr, cell_file=""))
    ()
    """
    places = {
        (number, at): op
        for number, computation in enumerate(level.computations)
        for at, op in enumerate(computation.ops)
        if op.name == "pallas_call"
    }
    if not places:
        return ()
    found = [entry for entry in costs_of(closed_jaxpr) if entry.place in places]
    return tuple(read_kernel(entry.eqn, entry.place, places[entry.place].cell_line, most=most) for entry in found)


def read_kernel(
    eqn: Any, place: tuple[int, int] = (0, 0), line: int | None = None, *, most: int = MOST_STEPS
) -> Kernel:
    """One kernel.

    Args:
      eqn: of `pallas_call`.
      place: of the equation in the level "jaxpr".
      line: of the cell.
      most: how many steps of the grid are counted.
    """
    call = kernel_call(eqn)
    sizes = [size for size in call.grid if size is not None]
    known = len(sizes) == len(call.grid)
    indices = grid_indices(sizes, most) if known else ()
    counted = len(indices[0]) if indices else int(known)
    into = dict(call.aliases)
    out_of = {made: given for given, made in call.aliases}
    placed = [place_window(call, one, indices, "in", into.get(at)) for at, one in enumerate(call.inputs)]
    placed += [place_window(call, one, indices, "out", out_of.get(at)) for at, one in enumerate(call.outputs)]
    flops, transcendentals, unknown = _body_cost(call, sizes, indices, counted)
    kernel = Kernel(
        call.name,
        place,
        line,
        call.grid,
        tuple(one.window for one in placed),
        tuple(map(_scratch, call.scratch)),
        tuple(map(_scratch, call.prefetched)),
        call.semantics,
        call.backend,
        call.interpret,
        counted,
        flops,
        transcendentals,
        unknown,
        call.estimate,
        _better_order(call, placed, counted),
        call.limit,
    )
    return kernel


def _better_order(call: KernelCall, placed: Sequence[Placed], counted: int) -> Any:
    steps = np.prod([size or 0 for size in call.grid], dtype=object)
    return reorder(call, placed) if counted == steps and counted <= _MOST_TRIED else None


_MOST_TRIED = 1 << 16  # steps of a grid whose other orders are tried


def _scratch(array: KernelArray) -> Scratch:
    shape = tuple(size for size in array.shape if isinstance(size, int))
    return Scratch(array.name, shape, array.dtype, array.itemsize, array.memory)


def _body_cost(
    call: KernelCall, grid: Sequence[int], indices: Sequence[NDArray[Any]], counted: int
) -> tuple[int, int, tuple[str, ...]]:
    """Flops and transcendentals of the counted steps, and the primitives of which nothing is known.

    A branch that follows from the step counts in those steps alone in which it is taken; of others the dearest counts
    in all of them.
    """
    flops = transcendentals = 0
    unknown: set[str] = set()
    for entry, times in _weighed(call, grid, indices, counted):
        own = entry.own
        flops += own.flops * times
        transcendentals += own.transcendentals * times
        unknown |= own.unknown - _FREE
        if entry.cost.trips is None and entry.eqn.primitive.name == "while":
            unknown.add("while")
    return flops, transcendentals, tuple(sorted(unknown))


class _Running:
    """A jaxpr inside of a kernel: the steps in which it runs, and the scalars that are known in it."""

    __slots__ = ("known", "steps")

    def __init__(self, steps: NDArray[np.bool_], known: Scalars) -> None:
        self.steps = steps
        self.known = known


def _weighed(
    call: KernelCall, grid: Sequence[int], indices: Sequence[NDArray[Any]], counted: int
) -> Iterator[tuple[Costed, int]]:
    """Every equation of a body with its cost, and in how many of the steps it runs."""
    every = np.ones(counted, bool)
    known: Scalars = {}
    scalars_of(call.body, known, grid, indices)
    running = {0: _Running(every, known)}
    for entry in costs_of(call.body):
        number = entry.place[0]
        if number not in running and entry.owner is not None:
            outer = running[entry.owner.place[0]]
            running[number] = _inside(entry, outer, grid, indices)
        yield entry, int(running[number].steps.sum())


def _inside(entry: Costed, outer: _Running, grid: Sequence[int], indices: Sequence[NDArray[Any]]) -> _Running:
    """What is known in the jaxpr that an equation stands in, which another equation holds."""
    owner = entry.owner
    assert owner is not None
    eqn = owner.eqn
    held = [(path, body) for path, body in body_jaxprs(eqn.params) if any(one is entry.eqn for one in body.eqns)]
    path, body = held[0]
    known: Scalars = {}
    steps = outer.steps
    operands = [value_of(atom, outer.known) for atom in eqn.invars]
    if eqn.primitive.name == "cond":
        which = operands[0]
        known.update(zip(body.invars, operands[1:], strict=True))
        if which is not None:
            last = len(eqn.params["branches"]) - 1
            steps = steps & (np.clip(which.astype(np.int64), 0, last) == int(path[-1]))
    elif eqn.primitive.name in CALLS and called_jaxprs(eqn)[0].path == path:
        known.update(zip(body.invars, operands, strict=True))
    scalars_of(body, known, grid, indices)
    return _Running(steps, known)
