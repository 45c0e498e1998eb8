"""Named axes as SVG: each value a bundle of coloured strands that runs down to what takes it.

A strand that a collective ends runs into a dot; where a product contracts an axis, the strands of both values meet in
one. Axes that are spread over a mesh have the colour of the mesh axis, and are thicker; dimensions without a name are
thin and grey. There is no script in it: tooltips say what a strand is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxnb.views.escape import Html, element
from jaxnb.views.strands import Bundle, Knot, Strands
from jaxnb.views.strands_text import knot_text, strands_title
from jaxnb.views.style import style_element
from jaxnb.views.tints import axis_colours

__all__ = ["draw_strands"]

_ROW = 34.0
_TOP = 58.0
_STEP = 8.0  # between strands
_PAD = 9.0
_NODE = 9.0  # the height of a node
_GREY = "#8a8a8a"
_MOST = 60
_MOST_GREY = 3
_LETTER = 6.9


@dataclass(slots=True)
class _Lane:
    """A column that values take one after the other. `width` is that of the widest."""

    holder: int | None = None
    width: float = 0.0
    left: float = 0.0


def draw_strands(strands: Strands) -> Html:
    """The flow of a mapped function as an `svg` element.

    >>> draw_strands(Strands("xmap", (), (), ()))[:30]
    '<svg xmlns="http://www.w3.org/'
    """
    return _Drawing(strands).draw()


class _Drawing:
    """What is known of the picture while it is drawn."""

    def __init__(self, strands: Strands) -> None:
        self._strands = strands
        self._knots = strands.knots[:_MOST]
        mesh = [axis for strand in strands.names for axis in strand.mesh]
        colours = axis_colours([*mesh, *(strand.name for strand in strands.names if not strand.mesh)])
        self._colours = {strand.name: colours[(strand.mesh or (strand.name,))[0]] for strand in strands.names}
        self._on_mesh = {strand.name for strand in strands.names if strand.mesh}
        self._lane: dict[int, int] = {}
        self._from: dict[int, int] = {}
        self._lanes: list[_Lane] = []

    def draw(self) -> Html:
        self._place()
        texts = [knot_text(self._strands, knot) for knot in self._knots]
        right = max((lane.left + lane.width for lane in self._lanes), default=0.0) + 20
        across = max((len(what) for what, _ in texts), default=0) * _LETTER + 16
        told = max((len(said) for _, said in texts), default=0) * 6.2
        title = strands_title(self._strands)
        width = max(right + across + told, len(title) * 7.4, self._legend_width())
        rest = len(self._strands.knots) - len(self._knots)
        height = _TOP + len(self._knots) * _ROW + (16 if rest else 0)
        below = [self._flow(row, knot) for row, knot in enumerate(self._knots)]
        above = [self._node(row, knot) for row, knot in enumerate(self._knots)]
        words = [
            self._words(row, knot, text, right, right + across)
            for row, (knot, text) in enumerate(zip(self._knots, texts, strict=True))
        ]
        more = (
            [element("text", {"class": "q", "x": _n(right), "y": _n(height - 4)}, f"and {rest} more")] if rest else []
        )
        size = {"width": str(math.ceil(width) + 2), "height": str(math.ceil(height) + 2)}
        box = f"-1 -1 {size['width']} {size['height']}"
        head = element("text", {"class": "h", "x": "0", "y": "13"}, title)
        attributes = {"xmlns": "http://www.w3.org/2000/svg", **size, "viewBox": box, "class": "jnb-p", "role": "img"}
        styles = (style_element("placement.css"), style_element("strands.css"))
        parts = (element("title", None, title), *styles, head, *self._legend())
        return element("svg", attributes, *parts, *below, *above, *words, *more)

    # --- where everything is ---

    def _place(self) -> None:
        """Gives each value a lane, from where it is made to where it is taken last."""
        last = {number: row for row, knot in enumerate(self._knots) for number in knot.takes}
        for row, knot in enumerate(self._knots):
            dying = [number for number in knot.takes if last[number] == row]
            free = [self._lane[number] for number in dying]
            for lane in free:
                self._lanes[lane].holder = None
            for number in knot.makes:
                at = next((lane for lane in free if self._lanes[lane].holder is None), None)
                if at is None:
                    at = next((n for n, lane in enumerate(self._lanes) if lane.holder is None), len(self._lanes))
                if at == len(self._lanes):
                    self._lanes.append(_Lane())
                lane = self._lanes[at]
                lane.holder = number if number in last else None
                lane.width = max(lane.width, self._width(self._strands.bundles[number]))
                self._lane[number], self._from[number] = at, row
        x = 4.0
        for lane in self._lanes:
            lane.left = x
            x += lane.width

    def _width(self, bundle: Bundle) -> float:
        return 2 * _PAD + _STEP * max(len(_strands_of(bundle)) - 1, 0) + 6

    def _x(self, number: int, strand: int) -> float:
        """Where a strand of a value runs."""
        return self._lanes[self._lane[number]].left + _PAD + _STEP * strand

    def _y(self, row: int) -> float:
        return _TOP + row * _ROW + _ROW / 2

    # --- what is drawn ---

    def _flow(self, row: int, knot: Knot) -> Html:
        """The strands that run into a knot."""
        parts: list[Html] = []
        for number in knot.takes:
            bundle = self._strands.bundles[number]
            if not _strands_of(bundle):
                x, end = self._x(number, 0), self._x(knot.makes[0] if knot.makes else number, 0)
                path = f"M{_n(x)} {_n(self._y(self._from[number]))}L{_n(end)} {_n(self._y(row))}"
                parts.append(element("path", {"d": path, "class": "s v", "stroke": _GREY}))
            for at, name in enumerate(_strands_of(bundle)):
                x, top = self._x(number, at), self._y(self._from[number])
                end = self._entry(knot, number, at, name)
                bottom = self._y(row)
                bend = max(bottom - _ROW * 0.8, top)
                middle = (bend + bottom) / 2
                path = (
                    f"M{_n(x)} {_n(top)}V{_n(bend)}C{_n(x)} {_n(middle)} {_n(end)} {_n(middle)} {_n(end)} {_n(bottom)}"
                )
                told = element("title", None, f"{bundle.name}: {name or 'a dimension without a name'}")
                parts.append(element("path", {"d": path, **self._stroke(name)}, told))
        return element("g", None, *parts)

    def _entry(self, knot: Knot, number: int, at: int, name: str) -> float:
        """Where a strand of a value comes to a knot: where it goes on, or where all that end with it end."""
        for made in knot.makes:
            names = _strands_of(self._strands.bundles[made])
            if name and name in names:
                return self._x(made, names.index(name))
        if knot.kind == "result":
            return self._x(number, at)
        left, right = self._span(knot)
        if name:
            order = [*knot.ends].index(name) if name in knot.ends else 0
            return left + (right - left) * (order + 1) / (len(knot.ends) + 1)
        greys = [n for made in knot.makes for n, one in enumerate(_strands_of(self._strands.bundles[made])) if not one]
        mine = at - len(self._strands.bundles[number].named)
        if mine < len(greys):
            return self._x(knot.makes[0], greys[mine])
        return (left + right) / 2 if knot.makes else self._x(number, at)

    def _span(self, knot: Knot) -> tuple[float, float]:
        """From where to where a node reaches."""
        numbers = knot.makes or knot.takes
        lanes = [self._lanes[self._lane[number]] for number in numbers]
        if not lanes:
            return 0.0, 2 * _PAD
        widths = [self._width(self._strands.bundles[number]) for number in numbers]
        left = min(lane.left for lane in lanes)
        right = max(lane.left + width for lane, width in zip(lanes, widths, strict=True)) - 6
        return left, max(right, left + 13 * (len(knot.ends) + 1))

    def _node(self, row: int, knot: Knot) -> Html:
        """A bar that the strands go through, with a dot for each that ends."""
        left, right = self._span(knot)
        y = self._y(row)
        shape = {"x": _n(left), "y": _n(y - _NODE / 2), "width": _n(right - left), "height": _n(_NODE), "rx": "4"}
        what, said = knot_text(self._strands, knot)
        parts = [
            element("title", None, f"{what} · {said}" if said else what),
            element("rect", {**shape, "class": "b"}),
            element("rect", {**shape, "class": "k" if knot.kind == "op" else "k w"}),
        ]
        for order, name in enumerate(knot.ends):
            x = left + (right - left) * (order + 1) / (len(knot.ends) + 1)
            dot = {"cx": _n(x), "cy": _n(y), "r": "5.5", "fill": self._colours.get(name, _GREY), "class": "o"}
            parts.append(element("circle", dot, element("title", None, f"{name} ends")))
        return element("g", None, *parts)

    def _words(self, row: int, knot: Knot, text: tuple[str, str], x: float, further: float) -> Html:
        y = _n(self._y(row) + 4)
        strong = {"class": "m"} if knot.ends or knot.kind != "op" else {}
        return element(
            "g",
            None,
            element("text", {**strong, "x": _n(x), "y": y}, text[0]),
            element("text", {"class": "q", "x": _n(further), "y": y}, text[1]),
        )

    def _stroke(self, name: str) -> dict[str, str]:
        if not name:
            return {"class": "s", "stroke": _GREY, "stroke-width": "1.2"}
        thick = "3.2" if name in self._on_mesh else "2"
        return {"class": "s", "stroke": self._colours.get(name, _GREY), "stroke-width": thick}

    def _legend(self) -> list[Html]:
        parts: list[Html] = []
        x = 0.0
        for text, name in self._legend_texts():
            line = {"x1": _n(x), "y1": "31", "x2": _n(x + 16), "y2": "31", **self._stroke(name)}
            parts.append(element("line", line))
            parts.append(element("text", {"class": "q", "x": _n(x + 21), "y": "35"}, text))
            x += 21 + len(text) * 6.2 + 16
        return parts

    def _legend_texts(self) -> list[tuple[str, str]]:
        greys = any(bundle.rank for bundle in self._strands.bundles)
        named = [(str(strand), strand.name) for strand in self._strands.names]
        return [*named, *([("a dimension without a name", "")] if greys else [])]

    def _legend_width(self) -> float:
        return sum(37 + len(text) * 6.2 for text, _ in self._legend_texts())


def _strands_of(bundle: Bundle) -> Sequence[str]:
    """The strands of a value: its named axes, and "" for each dimension without a name."""
    return [*bundle.named, *("" for _ in range(min(bundle.rank, _MOST_GREY)))]


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
