"""A kernel drawn: its grid with the steps in their order, and each array in its blocks, as they are visited.

Steps and blocks of the first array whose windows move have one colour, so that it shows which step reads what. There is
no script in it: what a cell is, is said by its tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxnb.program import Kernel, KernelWindow
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.tints import hue_colour

__all__ = ["draw_kernel"]

_WIDE, _HIGH = 132.0, 104.0  # of one grid
_GAP, _TOP, _BELOW = 26.0, 34.0, 20.0
_PER_ROW = 4
_MOST = 40  # cells along one side; of more the first are drawn
_LETTERS = 20  # of a caption
_RED = "#d1242f"
_LEAST_LABEL = 15.0  # the side of a cell that has room for a number


@dataclass(frozen=True, slots=True)
class _Cells:
    """A grid of cells to be drawn.

    Attributes:
      title: above it.
      below: said under it.
      rows, columns: how many cells there are, those that are left out not counted.
      cells: by (row, column) the colour, how strong it is, what is written in the cell, and its tooltip.
      empty: what the tooltip of all others says; "" for no cell at all.
      warned: whether the others are faults.
      left: whether some are left out.
    """

    title: str
    below: str
    rows: int
    columns: int
    cells: Mapping[tuple[int, int], tuple[str, float, str, str]]
    empty: str = ""
    warned: bool = False
    left: bool = False


def draw_kernel(kernel: Kernel) -> Html:
    """A kernel as an `svg` element: its grid, then its inputs, then its results.

    >>> draw_kernel(Kernel("f", (0, 0), None, (), ()))[:30]
    '<svg xmlns="http://www.w3.org/'
    """
    shown = min((len(window.starts) for window in kernel.windows if window.starts), default=0)
    panels = [_grid(kernel, shown)] if shown else []
    panels += [_array(window) for window in kernel.windows if window.starts and window.shape]
    columns = min(_PER_ROW, max(1, len(panels)))
    rows = -(-len(panels) // columns)
    width = columns * (_WIDE + _GAP)
    height = max(1, rows) * (_TOP + _HIGH + _BELOW)
    parts = [
        _panel(panel, (at % columns) * (_WIDE + _GAP), (at // columns) * (_TOP + _HIGH + _BELOW))
        for at, panel in enumerate(panels)
    ]
    if not panels:
        parts = [element("text", {"class": "q", "x": "0", "y": "14"}, "where its windows lie is not known ahead")]
        height = 24.0
    wide, high = math.ceil(width), math.ceil(height)
    size = {"width": str(wide), "height": str(high), "viewBox": f"0 0 {wide} {high}"}
    title = element("title", None, f"the grid of {kernel.name or 'a kernel'} and its windows")
    attributes = {"xmlns": "http://www.w3.org/2000/svg", **size, "class": "jnb-p", "role": "img"}
    return element("svg", attributes, title, style_element("placement.css"), *parts)


def _grid(kernel: Kernel, shown: int) -> _Cells:
    """The steps: the last dimension of the grid across, all others down."""
    sizes = [size or 0 for size in kernel.grid]
    across = sizes[-1] if sizes else 1
    moving = next((window for window in kernel.windows if len(set(window.starts)) > 1), None)
    colours = _colours(moving.starts if moving is not None else ())
    cells: dict[tuple[int, int], tuple[str, float, str, str]] = {}
    for step in range(shown):
        row, column = divmod(step, across)
        if row < _MOST and column < _MOST:
            start = moving.starts[step] if moving is not None else ()
            reads = [f"{window.name}{list(window.starts[step])}" for window in kernel.windows if window.starts]
            told = f"step {step}, ({', '.join(map(str, _index(step, sizes)))}): {', '.join(reads)}"
            cells[row, column] = (colours.get(start, "#808080"), 0.42, str(step), told)
    rows = -(-shown // across) if across else 0
    text = "×".join(map(str, kernel.grid)) or "1"
    below = f"by its window of {moving.name}" if moving is not None else ""
    left = rows > _MOST or across > _MOST or shown < (kernel.steps or 0)
    return _Cells(f"grid {text}", below, min(rows, _MOST), min(across, _MOST), cells, left=left)


def _index(step: int, sizes: Sequence[int]) -> tuple[int, ...]:
    index: list[int] = []
    for size in reversed(sizes):
        step, at = divmod(step, size)
        index.append(at)
    return tuple(reversed(index))


def _colours(starts: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], str]:
    """A colour for each place of a window, in the order in which they come."""
    places = dict.fromkeys(starts)
    return {place: hue_colour(255.0 + 360.0 * at / len(places)) for at, place in enumerate(places)}


def _array(window: KernelWindow) -> _Cells:
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
    colours = _colours(window.starts)
    cells: dict[tuple[int, int], tuple[str, float, str, str]] = {}
    for start, step in first.items():
        row, column = _cell(start, window, counts)
        times = visits[start]
        again = f", {times} times" if times > 1 else ""
        verb = "fetched" if window.role == "in" else "written"
        told = f"{window.name}{_span(start, window)}: {verb} at step {step} first{again}"
        label = f"{step}" if times == 1 else f"×{times}"
        bad = window.role == "out" and times > 1
        cells.setdefault((row, column), (_RED if bad else colours[start], min(0.3 + 0.12 * times, 0.8), label, told))
    rows, columns = math.prod(counts[:-1]), counts[-1]
    missing = window.role == "out" and bool(window.unwritten)
    return _Cells(
        f"{window.role} {window.name}"[:_LETTERS],
        f"{window.dtype}[{','.join(map(str, window.shape))}]"[: _LETTERS + 4],
        min(rows, _MOST),
        min(columns, _MOST),
        {place: cell for place, cell in cells.items() if place[0] < _MOST and place[1] < _MOST},
        "never written" if missing else "no step comes here",
        missing and window.alias is None,
        rows > _MOST or columns > _MOST,
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


def _panel(panel: _Cells, x: float, y: float) -> Html:
    wide, high = _WIDE / max(panel.columns, 1), _HIGH / max(panel.rows, 1)
    side = min(wide, high, 34.0) if panel.rows > 1 or panel.columns > 1 else 34.0
    across, down = min(wide, max(side, 26.0)), min(high, max(side, 18.0))
    parts = [
        element("text", {"class": "m", "x": "0", "y": "11"}, panel.title + (" …" if panel.left else "")),
        element("text", {"class": "q", "x": "0", "y": "25", "font-size": "10"}, panel.below),
    ]
    for row in range(panel.rows):
        for column in range(panel.columns):
            cell = panel.cells.get((row, column))
            if cell is None and not panel.empty:
                continue
            parts.append(_tile(cell, panel, column * across, _TOP + row * down, across, down))
    return element("g", {"transform": f"translate({_n(x)} {_n(y)})"}, *parts)


def _tile(
    cell: tuple[str, float, str, str] | None, panel: _Cells, x: float, y: float, wide: float, high: float
) -> Html:
    gap = 1.0 if min(wide, high) > 5 else 0.25
    shape = {"x": _n(x + gap / 2), "y": _n(y + gap / 2), "width": _n(wide - gap), "height": _n(high - gap)}
    if cell is None:
        drawn = {"class": "n"} if not panel.warned else {"fill": "none", "stroke": _RED, "stroke-dasharray": "3 3"}
        return element("g", None, element("title", None, panel.empty), element("rect", {**shape, **drawn}))
    colour, strength, label, told = cell
    rect = element("rect", {**shape, "rx": "2", "fill": colour, "fill-opacity": _n(strength)})
    text: list[Html] = []
    if high >= _LEAST_LABEL - 3 and wide >= max(_LEAST_LABEL, 6.4 * len(label) + 2):
        middle = {"class": "t", "x": _n(x + wide / 2), "y": _n(y + high / 2), "font-size": "9"}
        text.append(element("text", middle, label))
    return element("g", None, element("title", None, told), rect, *text)


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
