"""Where the windows of a kernel lie at each step, and what that moves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jaxnb._jax import KernelCall, KernelDim, KernelWindow as WrittenWindow
from jaxnb.program import KernelWindow, Reordered
from jaxnb.reading.pallas.steps import step_values

__all__ = ["Placed", "place_window", "reorder"]

_SHOWN = 4_096  # steps whose windows are kept one by one
_MOST_CELLS = 4_000_000  # of a result that windows cover which overlap
_MOST_AXES = 4  # of a grid whose other orders are tried


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A window, and where it starts at every counted step.

    Attributes:
      window: as it is told.
      starts: one row a step, in elements, by dimension of the array; None where they are not known.
      written: the window as the kernel has it.
    """

    window: KernelWindow
    starts: NDArray[np.int64] | None
    written: WrittenWindow


def place_window(
    call: KernelCall,
    written: WrittenWindow,
    indices: Sequence[NDArray[Any]],
    role: str,
    alias: int | None,
) -> Placed:
    """A window at each of the steps.

    Args:
      call: the kernel.
      written: one of its windows.
      indices: of the steps that are counted, see `grid_indices`.
      role: "in" or "out".
      alias: see `KernelWindow.alias`.
    """
    array, dims = written.array, written.dims
    block = tuple(None if dim.squeezed else dim.size for dim in dims)
    plain = KernelWindow(array.name, role, array.dtype, array.itemsize, array.shape, block, array.memory, 1, alias)
    if not all(isinstance(size, int) for size in array.shape):
        return Placed(replace(plain, why="the shape of its array has sizes with names"), None, written)
    if not plain.is_windowed:
        return Placed(replace(plain, why="the kernel copies what it wants itself"), None, written)
    if None in call.grid:
        return Placed(replace(plain, why="only the run knows how many steps there are"), None, written)
    steps = math.prod(size for size in call.grid if size is not None)
    counted = min(steps, len(indices[0])) if indices else 1
    starts = _starts(call, written, indices, counted)
    buffers = written.buffers or (1 if steps == 1 or _is_whole(plain) else 2)
    plain = replace(plain, buffers=buffers)
    if starts is None:
        names = ", ".join(one.name for one in call.prefetched if one.name)
        why = f"its index map reads {names}" if call.prefetched and names else "its index map is not known ahead"
        return Placed(replace(plain, why=why), None, written)
    facts = _facts(starts, plain, parallel=call.backend == "gpu")
    whole = counted == steps
    unwritten = _unwritten(starts, plain, dims) if role == "out" and whole else None
    shown = tuple(map(tuple, starts[:_SHOWN].tolist()))
    return Placed(replace(plain, starts=shown, unwritten=unwritten, **facts), starts, written)


def _is_whole(window: KernelWindow) -> bool:
    return window.sizes == window.shape


def _starts(
    call: KernelCall, written: WrittenWindow, indices: Sequence[NDArray[Any]], counted: int
) -> NDArray[np.int64] | None:
    """Where a window starts at each step, in elements; None if that does not follow from the step."""
    if any(dim.leaf is None for dim in written.dims):
        return None
    sizes = [size for size in call.grid if size is not None]
    given = [*indices, *(None for _ in call.prefetched)]
    found = step_values(written.index_map, given, sizes, indices)
    columns: list[NDArray[np.int64]] = []
    for dim in written.dims:
        index = np.asarray(dim.leaf) if dim.fixed else found[dim.leaf or 0]
        if index is None:
            return None
        columns.append(np.broadcast_to(index.astype(np.int64) * dim.unit - dim.before, (counted,)))
    return np.stack(columns, 1) if columns else np.zeros((counted, 0), np.int64)


def _keys(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each step that is the same where the window is."""
    keys = np.zeros(len(starts), np.int64)
    for column in starts.T:
        low, high = int(column.min()), int(column.max())
        keys = keys * (high - low + 1) + (column - low)
        if high > low:
            keys = np.unique(keys, return_inverse=True)[1].reshape(-1)  # so that the next product does not overflow
    return keys


def _facts(starts: NDArray[np.int64], window: KernelWindow, parallel: bool) -> dict[str, int]:
    """What moves; where steps run side by side, each of them moves its own window."""
    keys = _keys(starts)
    moves = np.ones(len(keys), bool)
    if not parallel:
        moves[1:] = keys[1:] != keys[:-1]
    elements = _inside(starts, window)
    first = np.unique(keys, return_index=True)[1]
    visits = np.bincount(keys[moves])
    outside = elements[first] < math.prod(window.sizes)
    return {
        "blocks": len(first),
        "fetches": int(moves.sum()),
        "moved": int(elements[moves].sum()) * window.itemsize,
        "again": int((visits > 1).sum()),
        "outside": int(outside.sum()),
    }


def _inside(starts: NDArray[np.int64], window: KernelWindow) -> NDArray[np.int64]:
    """How many elements of the window lie in the array, at each step."""
    found = np.ones(len(starts), np.int64)
    for column, size, length in zip(starts.T, window.sizes, window.shape, strict=True):
        found *= np.maximum(np.minimum(column + size, length) - np.maximum(column, 0), 0)
    return found


def _unwritten(starts: NDArray[np.int64], window: KernelWindow, dims: Sequence[KernelDim]) -> int | None:
    """Elements of an array that no window covers; None where it would take too long to say."""
    total = math.prod(window.shape)
    first = np.unique(_keys(starts), return_index=True)[1]
    different = starts[first]
    if all(dim.unit == dim.size for dim in dims):  # they do not overlap
        return total - int(_inside(different, window).sum())
    edges: list[NDArray[np.int64]] = []
    for column, size, length in zip(different.T, window.sizes, window.shape, strict=True):
        edges.append(np.unique(np.clip(np.concatenate([column, column + size, [0, length]]), 0, length)))
    if math.prod(len(edge) for edge in edges) > _MOST_CELLS or len(different) > _SHOWN:
        return None
    covered = np.zeros([len(edge) - 1 for edge in edges], bool)
    for start in different.tolist():
        box = tuple(
            slice(*np.searchsorted(edge, np.clip((at, at + size), 0, length)).tolist())
            for at, size, length, edge in zip(start, window.sizes, window.shape, edges, strict=True)
        )
        covered[box] = True
    volumes = np.ones((), np.int64)
    for edge in edges:
        volumes = np.multiply.outer(volumes, np.diff(edge))
    return int(volumes[~covered].sum())


def reorder(call: KernelCall, placed: Sequence[Placed]) -> Reordered | None:
    """The order of a grid's dimensions that moves the fewest bytes, if that is less than its own does.

    An order is tried only where the kernel gives the same: no result may be left more often than now, and dimensions
    along which a result stays, or that are "arbitrary", keep their places.

    Args:
      call: the kernel, all of whose steps were counted.
      placed: its windows, of which each is known.
    """
    grid = tuple(size for size in call.grid if size is not None)
    moving = [axis for axis, size in enumerate(grid) if size > 1]
    windows = [one for one in placed if one.starts is not None]
    if call.backend == "gpu" or not 2 <= len(moving) <= _MOST_AXES or not windows or len(windows) < len(placed):
        return None
    fixed = _fixed_axes(call, windows, grid)
    now = sum(one.window.moved or 0 for one in windows)
    best: Reordered | None = None
    for order in permutations(range(len(grid))):
        if order == tuple(range(len(grid))) or any(order[axis] != axis for axis in fixed):
            continue
        facts = [_facts(_turned(one, grid, order), one.window, False) for one in windows]
        left = any(
            one.window.role == "out" and fact["fetches"] > (one.window.fetches or 0)
            for one, fact in zip(windows, facts, strict=True)
        )
        moved = sum(fact["moved"] for fact in facts)
        if not left and moved < (best.moved if best is not None else now):
            best = Reordered(order, moved, tuple(fact["fetches"] for fact in facts))
    return best


def _fixed_axes(call: KernelCall, windows: Sequence[Placed], grid: Sequence[int]) -> set[int]:
    """The dimensions that must stay where they are: along them steps may build on one another."""
    if call.semantics:
        return {axis for axis, kind in enumerate(call.semantics[: len(grid)]) if "arbitrary" in kind}
    if call.scratch:  # it may carry what one step leaves to whatever comes next
        return set(range(len(grid)))
    results = [one for one in windows if one.window.role == "out"]
    return {axis for axis in range(len(grid)) if any(_stays(one, grid, axis) for one in results)}


def _by_axis(placed: Placed, grid: Sequence[int]) -> NDArray[np.int64]:
    assert placed.starts is not None
    return placed.starts.reshape(*grid, placed.starts.shape[1])


def _stays(placed: Placed, grid: Sequence[int], axis: int) -> bool:
    """Whether a window is the same somewhere along a dimension of the grid."""
    if grid[axis] < 2:
        return False
    rows = np.moveaxis(_by_axis(placed, grid), axis, 0)
    return bool((rows[1:] == rows[:-1]).all(-1).any())


def _turned(placed: Placed, grid: Sequence[int], order: Sequence[int]) -> NDArray[np.int64]:
    """Where a window starts at each step of the grid in another order."""
    rows = _by_axis(placed, grid)
    return rows.transpose(*order, len(grid)).reshape(-1, rows.shape[-1])
