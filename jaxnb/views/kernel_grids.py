"""What is drawn of a kernel: its grid with the steps in their order, and each array in its blocks, as they are visited.

Steps and blocks of the first array whose windows move have one hue, so that it shows which step reads what. It becomes
an SVG in `kernels_svg`, and plain data for the inspector in `kernel_drawings`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from jaxnb.program import Kernel, KernelWindow

__all__ = ["FAULT", "GREY", "KernelCell", "KernelGrid", "read_kernel_grids"]

MOST_CELLS = 40
"""Cells along one side of a grid; of more the first are drawn."""

GREY, FAULT = -1, -2
"""In the place of a hue: of no block, and what is wrong."""

_LETTERS = 20  # of a caption


class KernelCell(NamedTuple):
    """A step, or a block of an array.

    Attributes:
      hue: in degrees; `GREY` or `FAULT`.
      strength: of the colour, from 0 to 1.
      label: what is written in it.
      told: what it is, in words.
    """

    hue: int
    strength: float
    label: str
    told: str


@dataclass(frozen=True, slots=True)
class KernelGrid:
    """A grid of cells to be drawn.

    Attributes:
      title: above it.
      below: said under it.
      rows, columns: how many cells there are, those that are left out not counted.
      cells: by (row, column).
      empty: what is said of all others; "" for no cell at all.
      warned: whether the others are faults.
      left: whether some are left out.
    """

    title: str
    below: str
    rows: int
    columns: int
    cells: Mapping[tuple[int, int], KernelCell]
    empty: str = ""
    warned: bool = False
    left: bool = False


def read_kernel_grids(kernel: Kernel, most: int = MOST_CELLS) -> tuple[KernelGrid, ...]:
    """The steps of a kernel, its inputs, then its results; () where it is not known where any window lies.

    Args:
      kernel: which one.
      most: cells along one side of a grid.

    >>> read_kernel_grids(Kernel("f", (0, 0), None, (), ()))
    ()
    """
    shown = min((len(window.starts) for window in kernel.windows if window.starts), default=0)
    if not shown:
        return ()
    arrays = [_array(window, most) for window in kernel.windows if window.starts and window.shape]
    return (_grid(kernel, shown, most), *arrays)


def _grid(kernel: Kernel, shown: int, most: int) -> KernelGrid:
    """The steps: the last dimension of the grid across, all others down."""
    sizes = [size or 0 for size in kernel.grid]
    across = sizes[-1] if sizes else 1
    moving = next((window for window in kernel.windows if len(set(window.starts)) > 1), None)
    hues = _hues(moving.starts if moving is not None else ())
    cells: dict[tuple[int, int], KernelCell] = {}
    for step in range(shown):
        row, column = divmod(step, across)
        if row < most and column < most:
            start = moving.starts[step] if moving is not None else ()
            reads = [f"{window.name}{list(window.starts[step])}" for window in kernel.windows if window.starts]
            told = f"step {step}, ({', '.join(map(str, _index(step, sizes)))}): {', '.join(reads)}"
            cells[row, column] = KernelCell(hues.get(start, GREY), 0.42, str(step), told)
    rows = -(-shown // across) if across else 0
    text = "×".join(map(str, kernel.grid)) or "1"
    below = f"by its window of {moving.name}" if moving is not None else ""
    left = rows > most or across > most or shown < (kernel.steps or 0)
    return KernelGrid(f"grid {text}", below, min(rows, most), min(across, most), cells, left=left)


def _index(step: int, sizes: Sequence[int]) -> tuple[int, ...]:
    index: list[int] = []
    for size in reversed(sizes):
        step, at = divmod(step, size)
        index.append(at)
    return tuple(reversed(index))


def _hues(starts: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """A hue for each place of a window, in the order in which they come."""
    places = dict.fromkeys(starts)
    return {place: round(255 + 360 * at / len(places)) % 360 for at, place in enumerate(places)}


def _array(window: KernelWindow, most: int) -> KernelGrid:
    """An array in its blocks: the last dimension across, all others down; each with the step that first comes to it.

    Where windows do not lie on a lattice of blocks, each is drawn where most of it lies.
    """
    counts = [max(1, -(-length // size)) for length, size in zip(window.shape, window.sizes, strict=True)]
    first: dict[tuple[int, ...], int] = {}
    visits: dict[tuple[int, ...], int] = {}
    before: tuple[int, ...] | None = None
    for step, start in enumerate(window.starts):
        if start != before:
            visits[start] = visits.get(start, 0) + 1
            first.setdefault(start, step)
        before = start
    hues = _hues(window.starts)
    cells: dict[tuple[int, int], KernelCell] = {}
    for start, step in first.items():
        row, column = _cell(start, window, counts)
        times = visits[start]
        again = f", {times} times" if times > 1 else ""
        verb = "fetched" if window.role == "in" else "written"
        told = f"{window.name}{_span(start, window)}: {verb} at step {step} first{again}"
        label = f"{step}" if times == 1 else f"×{times}"
        bad = window.role == "out" and times > 1
        cells.setdefault(
            (row, column), KernelCell(FAULT if bad else hues[start], min(0.3 + 0.12 * times, 0.8), label, told)
        )
    rows, columns = math.prod(counts[:-1]), counts[-1]
    missing = window.role == "out" and bool(window.unwritten)
    return KernelGrid(
        f"{window.role} {window.name}"[:_LETTERS],
        f"{window.dtype}[{','.join(map(str, window.shape))}]"[: _LETTERS + 4],
        min(rows, most),
        min(columns, most),
        {place: cell for place, cell in cells.items() if place[0] < most and place[1] < most},
        "never written" if missing else "no step comes here",
        missing and window.alias is None,
        rows > most or columns > most,
    )


def _cell(start: tuple[int, ...], window: KernelWindow, counts: Sequence[int]) -> tuple[int, int]:
    places = [
        min(max((at + size // 2) // size, 0), count - 1)
        for at, size, count in zip(start, window.sizes, counts, strict=True)
    ]
    row = 0
    for place, count in zip(places[:-1], counts[:-1], strict=True):
        row = row * count + place
    return row, places[-1]


def _span(start: tuple[int, ...], window: KernelWindow) -> str:
    spans = zip(start, window.sizes, window.block, strict=True)
    return f"[{', '.join(str(at) if kept is None else f'{at}:{at + size}' for at, size, kept in spans)}]"
