"""Meshes and placements as SVG: the array in its pieces, and beside it the devices in the colours of what they hold.

There is no script in it: what a piece or a device is, is said by its tooltip, and the style sheet lets all others fade
while the pointer is on one. Copies lie behind a piece like the cards of a pile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jaxnb.program import Device, Group, Mesh, Placement, box_text
from jaxnb.units import format_bytes
from jaxnb.views.escape import Html, element
from jaxnb.views.grids import GAP, NOTHING, Grid, Grids, ids_text, in_rows, read_array, read_mesh_grids
from jaxnb.views.placement_words import mesh_facts, mesh_title, placement_facts, placement_title
from jaxnb.views.style import style_element
from jaxnb.views.tints import Tint, process_tints, tints

__all__ = ["draw_glyph", "draw_mesh", "draw_placement"]

_PLAIN: Tint = ("#808080", 0.14)
_TOP = 46  # below the heading and what is said under it
_GAP = 3  # between cells
_LETTER = 6.8  # the width of a letter, about
_HEADING, _FACTS = 8.6, 6.5  # the same in a heading, and below it; where fonts are wide
_CAPTION = 7.6
_LABEL = 15  # the height of a line of labels
_BETWEEN = 44  # the array and its devices
_AREA = 15_000  # of one grid of an array, in square pixels
_PILE = 2.6  # how far the next card of a pile looks out
_WIDEST = 560  # of grids side by side
_COLOURED = 8  # groups that the style sheet lets stand out
_MANY = 64  # cells of a grid; with more they are small and bare, and fewer are drawn
_MOST_SMALL = 12
_SMALL = (24.0, 16.0)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Some elements, and the room that they take."""

    parts: tuple[Html, ...]
    width: float
    height: float


def draw_mesh(mesh: Mesh) -> Html:
    """A mesh as an `svg` element: its devices with their ids, the last axis across.

    >>> from jaxnb.program.placement.data import Axis, Device
    >>> draw_mesh(Mesh((Axis("x", 2),), (Device(0), Device(1))))[:30]
    '<svg xmlns="http://www.w3.org/'
    """
    grids = read_mesh_grids(mesh)
    if _is_large(grids):
        grids = read_mesh_grids(mesh, most=_MOST_SMALL, panels=4)
    colours = process_tints(mesh.devices)

    def hold(place: int) -> tuple[Tint, str, int | None]:
        return colours.get(mesh.devices[place].process, _PLAIN) if colours else _PLAIN, "", None

    drawn = _devices(mesh.devices, grids, hold)
    return _picture(mesh_title(mesh), mesh_facts(mesh), [drawn])


def draw_placement(placement: Placement, *, name: str = "") -> Html:
    """A placement as an `svg` element: on the left the array in its pieces, on the right the devices.

    Args:
      placement: to be drawn.
      name: what the user calls the array.
    """
    colours = tints(placement)
    parts: list[_Drawn] = []
    if placement.groups and placement.groups[0].box is not None:
        parts.append(_array(placement, colours))
    count = len(placement.boxes)
    if count > 1:
        mesh = placement.mesh

        def hold(place: int) -> tuple[Tint, str, int | None]:
            group = placement.held[place]
            return colours[group], _held_text(placement, placement.groups[group]), group

        drawn = in_rows(count) if mesh is None else read_mesh_grids(mesh)
        if mesh is not None and _is_large(drawn):
            drawn = read_mesh_grids(mesh, most=_MOST_SMALL, panels=4)
        parts.append(_devices(placement.devices, drawn, hold))
    return _picture(placement_title(placement, name), placement_facts(placement), parts)


def draw_glyph(placement: Placement, *, width: int = 44, height: int = 22) -> Html:
    """The first grid of a placement without a word, for a row of a table."""
    grids, colours = read_array(placement, most=8, panels=1), tints(placement)
    rows = grids.panels[0].cells
    across, down = (width - 2) / len(rows[0]), (height - 2) / len(rows)
    tiles = [
        _tile(1 + column * across + 0.5, 1 + row * down + 0.5, across - 1, down - 1, _tint_at(colours, at), 1.5)
        for row, cells in enumerate(rows)
        for column, at in enumerate(cells)
    ]
    return element("svg", {**_size(width, height), "class": "jnb-p"}, *tiles)


def _picture(title: str, facts: Sequence[str], parts: Sequence[_Drawn]) -> Html:
    """The heading, and below it the parts side by side."""
    told = " · ".join(facts)
    width = max(
        len(title) * _HEADING, len(told) * _FACTS, sum(part.width for part in parts) + _BETWEEN * (len(parts) - 1)
    )
    height = _TOP + max((part.height for part in parts), default=0)
    children = [
        element("title", None, title),
        style_element("placement.css"),
        element("text", {"class": "h", "x": "0", "y": "13"}, title),
        element("text", {"class": "q", "x": "0", "y": "30"}, told),
    ]
    x = 0.0
    for part in parts:
        children.append(element("g", {"transform": f"translate({_n(x)} {_TOP})"}, *part.parts))
        x += part.width + _BETWEEN
    attributes = {"xmlns": "http://www.w3.org/2000/svg", **_size(width, height), "class": "jnb-p", "role": "img"}
    return element("svg", attributes, *children)


def _array(placement: Placement, colours: Sequence[Tint]) -> _Drawn:
    grids = read_array(placement)
    if _is_large(grids):
        grids = read_array(placement, most=_MOST_SMALL, panels=4)
        return _grids(grids, _SMALL, lambda at, *box: _bare(_tint_at(colours, at), at, *box))
    copies = min(placement.copies - 1, 2) * _PILE
    sizes = [placement.shape[int(told.split()[1])] if told else 1 for told in (grids.down, grids.across)]
    aspect = min(2.2, max(0.45, sizes[1] / max(sizes[0], 1))) if placement.shape else 1.0
    if len(placement.shape) == 1:
        aspect = 5.0
    area = _AREA / min(4, len(grids.panels)) ** 0.5 if len(placement.shape) else 4_000
    wide, high = math.sqrt(area * aspect), math.sqrt(area / aspect)
    texts = {index: _ids(placement, group) for index, group in enumerate(placement.groups)}
    letters = max((len(texts[at]) for panel in grids.panels for row in panel.cells for at in row if at >= 0), default=1)
    letters = max(letters, *(len(label) for label in grids.columns))
    cell = (max(wide / len(grids.columns), letters * _LETTER + 8), max(high / len(grids.rows), 22.0))

    def draw(at: int, x: float, y: float, width: float, height: float) -> Html:
        if at < 0:
            return _no_tile(at, x, y, width, height)
        group = placement.groups[at]
        piled = min(len(group.places) - 1, 2)
        behind = [
            _tile(x + step * _PILE, y + step * _PILE, width - copies, height - copies, colours[at], 4, paper=True)
            for step in range(piled, -1, -1)
        ]
        middle = {"class": "t", "x": _n(x + (width - copies) / 2), "y": _n(y + (height - copies) / 2)}
        told = element("title", None, f"{_held_text(placement, group)} on {_ids(placement, group, 12)}")
        return element("g", _marked(at), told, *behind, element("text", middle, texts[at]))

    return _grids(grids, cell, draw)


def _devices(devices: Sequence[Device], grids: Grids, hold: Callable[[int], tuple[Tint, str, int | None]]) -> _Drawn:
    """The devices in their grid; `hold` says the colour of a place, what it holds, and which group that is."""
    if _is_large(grids):
        return _grids(grids, _SMALL, lambda at, *box: _bare(hold(at)[0] if at >= 0 else _PLAIN, at, *box))
    several = len({device.process for device in devices}) > 1
    digits = max((len(str(device.id)) for device in devices), default=len(str(len(devices) or 1)))
    cell = (max(30.0, digits * 8 + 14), 34.0 if several else 28.0)

    def draw(at: int, x: float, y: float, width: float, height: float) -> Html:
        if at < 0:
            return _no_tile(at, x, y, width, height) if at == GAP else Html()
        tint, held, group = hold(at)
        device = devices[at] if devices else None
        name = f"{device.platform}:{device.id} ({device.kind}, process {device.process})" if device else f"place {at}"
        children = [element("title", None, f"{name} holds {held}" if held else name)]
        children.append(_tile(x, y, width, height, tint, 8))
        lift = 5 if several else 0
        middle = {"class": "t", "x": _n(x + width / 2), "y": _n(y + height / 2 - lift)}
        children.append(element("text", middle, str(device.id if device else at)))
        if several and device:
            below = {"class": "t q", "x": _n(x + width / 2), "y": _n(y + height / 2 + 8), "font-size": "9"}
            children.append(element("text", below, f"p{device.process}"))
        return element("g", _marked(group), *children)

    return _grids(grids, cell, draw)


def _grids(grids: Grids, cell: tuple[float, float], draw: Callable[[int, float, float, float, float], Html]) -> _Drawn:
    """The grids, as many side by side as there is room for, each with its labels."""
    widths = [max(part * cell[0], 12) for part in grids.widths]
    heights = [max(part * cell[1], 10) for part in grids.heights]
    left = (16 if grids.down else 0) + (max(map(len, grids.rows)) * _LETTER + 6 if any(grids.rows) else 0)
    top = (_LABEL if grids.across else 0) + (_LABEL if any(grids.columns) else 0)
    captioned = any(panel.caption for panel in grids.panels)
    wide = left + max(
        sum(widths) + _GAP * (len(widths) - 1), max(len(panel.caption) for panel in grids.panels) * _CAPTION
    )
    high = top + (_LABEL + 2 if captioned else 0) + sum(heights) + _GAP * (len(heights) - 1)
    per_row = max(1, min(len(grids.panels), int(_WIDEST // (wide + 20))))
    parts: list[Html] = []
    for number, panel in enumerate(grids.panels):
        x, y = (number % per_row) * (wide + 20), (number // per_row) * (high + 16)
        parts.append(_panel(grids, panel, (x, y), (left, top), widths, heights, draw))
    rows = -(-len(grids.panels) // per_row)
    height = rows * high + (rows - 1) * 16
    if grids.left_out:
        height += _LABEL + 4
        parts.append(element("text", {"class": "q", "x": "0", "y": _n(height - 3)}, f"and {grids.left_out} more"))
    return _Drawn(tuple(parts), per_row * wide + (per_row - 1) * 20, height)


def _panel(
    grids: Grids,
    panel: Grid,
    corner: tuple[float, float],
    inset: tuple[float, float],
    widths: Sequence[float],
    heights: Sequence[float],
    draw: Callable[[int, float, float, float, float], Html],
) -> Html:
    parts: list[Html] = []
    left, top = inset
    caption = 0.0
    if panel.caption:
        caption = _LABEL + 2
        parts.append(element("text", {"class": "m", "x": _n(left), "y": "10"}, panel.caption))
    xs, ys = _starts(left, widths), _starts(top + caption, heights)
    middle_x, middle_y = (xs[0] + xs[-1] + widths[-1]) / 2, (ys[0] + ys[-1] + heights[-1]) / 2
    if grids.across:
        parts.append(element("text", {"class": "t m", "x": _n(middle_x), "y": _n(caption + 6)}, grids.across))
    if grids.down:
        turned = {"class": "t m", "transform": f"translate(6 {_n(middle_y)}) rotate(-90)"}
        parts.append(element("text", turned, grids.down))
    used = -_LETTER
    for text, x, width in zip(grids.columns, xs, widths, strict=True):
        half = len(text) * _LETTER / 2
        if text and x + width / 2 - half >= used:  # a label that would lie on the one before is left out
            used = x + width / 2 + half
            parts.append(element("text", {"class": "t q", "x": _n(x + width / 2), "y": _n(caption + top - 8)}, text))
    for text, y, height in zip(grids.rows, ys, heights, strict=True):
        if text:
            parts.append(element("text", {"class": "e q", "x": _n(left - 6), "y": _n(y + height / 2)}, text))
    for row, y, height in zip(panel.cells, ys, heights, strict=True):
        parts += [draw(at, x, y, width, height) for at, x, width in zip(row, xs, widths, strict=True)]
    return element("g", {"transform": f"translate({_n(corner[0])} {_n(corner[1])})"}, *parts)


def _tile(x: float, y: float, width: float, height: float, tint: Tint, radius: float, *, paper: bool = False) -> Html:
    """A rounded rectangle. On `paper` what lies behind it does not shine through."""
    colour, strength = tint
    round_by = min(radius, width / 3, height / 3)
    shape = {"x": _n(x), "y": _n(y), "width": _n(width), "height": _n(height), "rx": _n(round_by)}
    if strength == 0:
        return element("rect", {**shape, "class": "n"})
    body = element(
        "rect", {**shape, "fill": colour, "fill-opacity": _n(strength), "stroke": colour, "stroke-opacity": "0.75"}
    )
    return body if not paper else Html(element("rect", {**shape, "class": "b"}) + body)


def _is_large(grids: Grids) -> bool:
    return len(grids.rows) * len(grids.columns) > _MANY


def _bare(tint: Tint, at: int, x: float, y: float, width: float, height: float) -> Html:
    """A cell among many: no more than its colour."""
    if at < 0:
        return _no_tile(at, x, y, width, height)
    shape = {"x": _n(x), "y": _n(y), "width": _n(width), "height": _n(height), "rx": "2"}
    return element("rect", {**shape, "fill": tint[0], "fill-opacity": _n(tint[1] + 0.1)})


def _no_tile(at: int, x: float, y: float, width: float, height: float) -> Html:
    if at == NOTHING:
        return _tile(x, y, width, height, ("", 0), 4)
    return element("text", {"class": "t q", "x": _n(x + width / 2), "y": _n(y + height / 2)}, "⋯")


def _tint_at(colours: Sequence[Tint], at: int) -> Tint:
    return colours[at] if at >= 0 else ("#808080", 0.06)


def _starts(start: float, sizes: Sequence[float]) -> list[float]:
    found = [start]
    for size in sizes[:-1]:
        found.append(found[-1] + size + _GAP)
    return found


def _marked(group: int | None) -> dict[str, str]:
    return {} if group is None else {"class": f"g g{group}" if group < _COLOURED else "g"}


def _held_text(placement: Placement, group: Group) -> str:
    if group.box is None:
        return "nothing"
    count = math.prod(stop - start for start, stop in group.box) * placement.itemsize
    return " · ".join([box_text(group.box, placement.shape), *([format_bytes(count)] if placement.itemsize else [])])


def _ids(placement: Placement, group: Group, most: int = 4) -> str:
    if not placement.devices:
        return ids_text(group.places, most)
    return ids_text(sorted(placement.devices[place].id for place in group.places), most)


def _size(width: float, height: float) -> dict[str, str]:
    wide, high = math.ceil(width) + 2, math.ceil(height) + 2
    return {"width": str(wide), "height": str(high), "viewBox": f"-1 -1 {wide} {high}"}


def _n(number: float) -> str:
    """A number without needless digits."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
