"""The lattice of type promotion: as text the ways through it, as SVG the whole of it with these ways drawn in."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from itertools import pairwise

from jaxnb.program import LATTICE, WEAK, Promoted, Promotion, Promotions
from jaxnb.units import format_bytes, format_flops
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.table import Head, Table, first_rows, table_element, table_lines
from jaxnb.views.width import wrapped

__all__ = [
    "draw_promotion",
    "render_promotion",
    "render_promotion_html",
    "render_promotions",
    "render_promotions_html",
]

_MOST = 40
# Where each stands: how far to the right, how far down. What JAX never promotes is drawn where it is asked about.
_PLACES: Mapping[str, tuple[float, float]] = {
    **{"bool": (0, 1), "int*": (1, 1), "float*": (6, 1), "complex*": (7, 2)},
    **{f"uint{bits}": (2 + at, 0) for at, bits in enumerate((8, 16, 32, 64))},
    **{f"int{bits}": (2 + at, 2) for at, bits in enumerate((8, 16, 32, 64))},
    **{"bfloat16": (7, 0), "float16": (7, 1), "float32": (8, 0.5), "float64": (9, 0.5)},
    **{"complex64": (9, 2), "complex128": (10, 1.25)},
}
_ACROSS, _DOWN, _WIDE, _HIGH, _EDGE = 98.0, 46.0, 78.0, 24.0, 8.0


def render_promotion(promotion: Promotion) -> str:
    """What comes of the dtypes, the rules, and the way of each through the lattice."""
    ways = dict.fromkeys(" → ".join(path) for path in promotion.paths if len(path) > 1)
    lines = [*promotion.rules, *(["the ways up: " + "; ".join(ways) + "."] if ways else [])]
    return "\n".join([_title(promotion), *(f"  {line}" for line in lines)])


def render_promotion_html(promotion: Promotion) -> Html:
    """The same, with the lattice."""
    head = element("p", {"class": "jnb-h"}, element("b", None, _title(promotion)))
    rules = [element("p", {"class": "jnb-h"}, rule) for rule in promotion.rules]
    parts = [style_element("placement.css"), head, draw_promotion(promotion), *rules]
    return element("div", {"class": "jnb"}, *parts)


def _title(promotion: Promotion) -> str:
    weak = "weak-" if promotion.weak else ""
    return f"{', '.join(promotion.given)} → {weak}{promotion.dtype}"


def render_promotions(promotions: Promotions, *, width: int | None = None, limit: int | None = _MOST) -> str:
    """The implicit promotions of a program as a table.

    Args:
      promotions: of it.
      width: how many columns there are; by default those of the terminal.
      limit: how many at most, or None for all.
    """
    room = max(40, shutil.get_terminal_size().columns if width is None else width)
    table = table_lines(_table(promotions, limit), room) if promotions.items else []
    return "\n".join([*wrapped(_said(promotions), room), *table])


def render_promotions_html(promotions: Promotions, *, limit: int | None = _MOST) -> Html:
    """The same as HTML."""
    parts = [style_element("placement.css"), element("p", {"class": "jnb-h"}, _said(promotions))]
    parts += [table_element(_table(promotions, limit))] if promotions.items else []
    return element("div", {"class": "jnb"}, *parts)


def _said(promotions: Promotions) -> str:
    count = len(promotions)
    if not count:
        return "no implicit promotions: every conversion is written in the code"
    known = [one.bytes for one in promotions if one.bytes is not None]
    return f"{count} implicit promotion{'' if count == 1 else 's'} · {format_bytes(sum(known))} moved by them"


def _table(promotions: Promotions, limit: int | None) -> Table:
    lines = promotions.source.split("\n")

    def row(one: Promoted) -> tuple[str, ...]:
        text = lines[one.line - 1].strip() if one.line is not None and 0 < one.line <= len(lines) else ""
        sizes = f"[{','.join(map(str, one.shape))}]"
        nbytes = "?" if one.bytes is None else format_bytes(one.bytes) if one.bytes else "unused"
        flops = "?" if one.flops is None else format_flops(one.flops) if one.flops else ""
        where = f"{one.within}: {text}" if one.within else text
        return (str(one.line or ""), f"{one.meets} {sizes}", nbytes, flops, where)

    heads = (Head("line", "number"), Head("converts", "code"), Head("bytes", "number"), Head("then flops", "number"))
    return Table((*heads, Head("", "code")), first_rows(promotions.items, row, limit))


def draw_promotion(promotion: Promotion) -> Html:
    """The lattice as an `svg` element: what goes up, from the left to the right, and the ways of the operands."""
    places = {**_PLACES}
    for node in promotion.nodes:
        if node not in places:
            places[node] = (2.0, 3.0) if "int" in node else (8.0, 3.0)
    ways = {pair for path in promotion.paths for pair in pairwise(path)}
    edges = [(below, above) for below in LATTICE for above in LATTICE[below] if below in places and above in places]
    edges.sort(key=lambda pair: pair in ways)
    lines = [_edge(places[below], places[above], (below, above) in ways) for below, above in edges]
    nodes = [_node(name, at, promotion) for name, at in places.items()]
    width = _ACROSS * max(x for x, _ in places.values()) + _WIDE + 2 * _EDGE
    height = _DOWN * max(y for _, y in places.values()) + _HIGH + 2 * _EDGE
    size = {"width": f"{width:g}", "height": f"{height:g}", "viewBox": f"0 0 {width:g} {height:g}"}
    title = element("title", None, f"{', '.join(promotion.given)} meet at {promotion.meets}")
    attributes = {"xmlns": "http://www.w3.org/2000/svg", **size, "class": "jnb-p", "role": "img"}
    return element("svg", attributes, title, *lines, *nodes)


def _edge(below: tuple[float, float], above: tuple[float, float], taken: bool) -> Html:
    (x0, y0), (x1, y1) = _centre(below), _centre(above)
    start, end = (x0 + _WIDE / 2, x1 - _WIDE / 2) if x1 > x0 else (x0, x1)
    strong = (
        {"stroke-width": "2.5", "stroke": "#0969da"} if taken else {"stroke": "currentColor", "stroke-opacity": "0.3"}
    )
    middle = (start + end) / 2
    way = f"M{start:g} {y0:g}C{middle:g} {y0:g} {middle:g} {y1:g} {end:g} {y1:g}"
    return element("path", {"d": way, "fill": "none", **strong})


def _centre(place: tuple[float, float]) -> tuple[float, float]:
    return _EDGE + place[0] * _ACROSS + _WIDE / 2, _EDGE + place[1] * _DOWN + _HIGH / 2


def _node(name: str, place: tuple[float, float], promotion: Promotion) -> Html:
    x, y = _centre(place)
    given, met = name in promotion.nodes, name == promotion.meets
    on_the_way = any(name in path for path in promotion.paths)
    fill = {"fill": "#1a7f37" if met else "#0969da", "fill-opacity": "0.32" if met else "0.2" if given else "0"}
    line = {"stroke": "#1a7f37" if met else "#0969da" if on_the_way else "currentColor"}
    faint = {} if on_the_way or met else {"stroke-opacity": "0.35"}
    dashes = {"stroke-dasharray": "4 3"} if name in WEAK else {}
    box = {
        "x": f"{x - _WIDE / 2:g}",
        "y": f"{y - _HIGH / 2:g}",
        "width": f"{_WIDE:g}",
        "height": f"{_HIGH:g}",
        "rx": "5",
    }
    text = {"class": "t", "x": f"{x:g}", "y": f"{y:g}", **({"font-weight": "600"} if met or given else {})}
    what = "what Python's numbers are: it gives way to arrays" if name in WEAK else ""
    told = [element("title", None, what)] if what else []
    return element(
        "g", None, *told, element("rect", {**box, **fill, **line, **faint, **dashes}), element("text", text, name)
    )
