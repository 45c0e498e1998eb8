"""A kernel drawn as an SVG, see `kernel_grids`. There is no script in it: what a cell is, is said by its tooltip."""

from __future__ import annotations

import math

from jaxnb.program import Kernel
from jaxnb.views.escape import Html, element
from jaxnb.views.kernel_grids import FAULT, GREY, KernelCell, KernelGrid, read_kernel_grids
from jaxnb.views.style import style_element
from jaxnb.views.tints import hue_colour

__all__ = ["draw_kernel"]

_WIDE, _HIGH = 132.0, 104.0  # of one grid
_GAP, _TOP, _BELOW = 26.0, 34.0, 20.0
_PER_ROW = 4
_RED = "#d1242f"
_LEAST_LABEL = 15.0  # the side of a cell that has room for a number


def draw_kernel(kernel: Kernel) -> Html:
    """A kernel as an `svg` element: its grid, then its inputs, then its results.

    >>> draw_kernel(Kernel("f", (0, 0), None, (), ()))[:30]
    '<svg xmlns="http://www.w3.org/'
    """
    panels = read_kernel_grids(kernel)
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


def _panel(panel: KernelGrid, x: float, y: float) -> Html:
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


def _tile(cell: KernelCell | None, panel: KernelGrid, x: float, y: float, wide: float, high: float) -> Html:
    gap = 1.0 if min(wide, high) > 5 else 0.25
    shape = {"x": _n(x + gap / 2), "y": _n(y + gap / 2), "width": _n(wide - gap), "height": _n(high - gap)}
    if cell is None:
        drawn = {"class": "n"} if not panel.warned else {"fill": "none", "stroke": _RED, "stroke-dasharray": "3 3"}
        return element("g", None, element("title", None, panel.empty), element("rect", {**shape, **drawn}))
    hue, strength, label, told = cell
    colour = _RED if hue == FAULT else "#808080" if hue == GREY else hue_colour(hue)
    rect = element("rect", {**shape, "rx": "2", "fill": colour, "fill-opacity": _n(strength)})
    text: list[Html] = []
    if high >= _LEAST_LABEL - 3 and wide >= max(_LEAST_LABEL, 6.4 * len(label) + 2):
        middle = {"class": "t", "x": _n(x + wide / 2), "y": _n(y + high / 2), "font-size": "9"}
        text.append(element("text", middle, label))
    return element("g", None, element("title", None, told), rect, *text)


def _n(number: float) -> str:
    return f"{number:.2f}".rstrip("0").rstrip(".")
