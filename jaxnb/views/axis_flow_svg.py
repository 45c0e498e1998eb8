"""Named axes as SVG: each value a bundle of coloured strands that runs down to what takes it.

A strand that a collective ends runs into a dot; where a product contracts an axis, the strands of both values meet in
one. Axes that are spread over a mesh have the colour of the mesh axis, and are thicker; dimensions without a name are
thin and grey. There is no script in it: tooltips say what a strand is.
"""

from __future__ import annotations

import math

from jaxnb.views.axis_flow import AxisFlow, Knot
from jaxnb.views.axis_flow_plan import Plan, strands_in
from jaxnb.views.axis_flow_text import knot_text, strands_title
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.tints import hue_colour

__all__ = ["draw_strands"]

_ROW = 34.0
_TOP = 58.0
_NODE = 9.0  # the height of a node
_GREY = "#8a8a8a"
_LETTER = 6.9


def draw_strands(strands: AxisFlow) -> Html:
    """The flow of a mapped function as an `svg` element.

    >>> draw_strands(AxisFlow("xmap", (), (), ()))[:30]
    '<svg xmlns="http://www.w3.org/'
    """
    return _Drawing(strands).draw()


class _Drawing:
    """What is known of the picture while it is drawn."""

    def __init__(self, strands: AxisFlow) -> None:
        self._strands = strands
        self._plan = Plan(strands)
        self._knots = self._plan.knots

    def draw(self) -> Html:
        texts = [knot_text(self._strands, knot) for knot in self._knots]
        right = self._plan.width + 20
        across = max((len(what) for what, _ in texts), default=0) * _LETTER + 16
        told = max((len(said) for _, said in texts), default=0) * 6.2
        title = strands_title(self._strands)
        width = max(right + across + told, len(title) * 8.6, self._legend_width())
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

    def _flow(self, row: int, knot: Knot) -> Html:
        """The strands that run into a knot."""
        parts: list[Html] = []
        for number in knot.takes:
            bundle = self._strands.bundles[number]
            if not strands_in(bundle):
                x, end = self._plan.x(number, 0), self._plan.x(knot.makes[0] if knot.makes else number, 0)
                path = f"M{_n(x)} {_n(self._y(self._plan.made_at(number)))}L{_n(end)} {_n(self._y(row))}"
                parts.append(element("path", {"d": path, "class": "s v", "stroke": _GREY}))
            for at, name in enumerate(strands_in(bundle)):
                x, top = self._plan.x(number, at), self._y(self._plan.made_at(number))
                end = self._plan.entry(knot, number, at, name)
                bottom = self._y(row)
                bend = max(bottom - _ROW * 0.8, top)
                middle = (bend + bottom) / 2
                path = (
                    f"M{_n(x)} {_n(top)}V{_n(bend)}C{_n(x)} {_n(middle)} {_n(end)} {_n(middle)} {_n(end)} {_n(bottom)}"
                )
                told = element("title", None, f"{bundle.name}: {name or 'a dimension without a name'}")
                parts.append(element("path", {"d": path, **self._stroke(name)}, told))
        return element("g", None, *parts)

    def _node(self, row: int, knot: Knot) -> Html:
        """A bar that the strands go through, with a dot for each that ends."""
        left, right = self._plan.span(knot)
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
            dot = {"cx": _n(x), "cy": _n(y), "r": "5.5", "fill": self._colour(name), "class": "o"}
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

    def _y(self, row: int) -> float:
        return _TOP + row * _ROW + _ROW / 2

    def _colour(self, name: str) -> str:
        return hue_colour(self._plan.hues[name]) if name in self._plan.hues else _GREY

    def _stroke(self, name: str) -> dict[str, str]:
        if not name:
            return {"class": "s", "stroke": _GREY, "stroke-width": "1.2"}
        thick = "3.2" if name in self._plan.on_mesh else "2"
        return {"class": "s", "stroke": self._colour(name), "stroke-width": thick}

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


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
