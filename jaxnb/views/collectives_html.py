"""The collectives of a program as HTML: what each axis of the mesh carries as a bar, and a row for each collective."""

from __future__ import annotations

from jaxnb.program import Collective, Ledger
from jaxnb.units import format_bytes
from jaxnb.views.collectives import HEADS, axes_text, ledger_facts, ledger_rows, ledger_title, roofline_text
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.tints import axis_colours

__all__ = ["render_ledger_html"]

_MOST_ROWS = 40
_BAR = 360.0
_HIGH = 18
_GREY = "#808080"
_NUMBERS = (0, 3, 4, 5)


def render_ledger_html(ledger: Ledger) -> Html:
    """A ledger as HTML without scripts.

    >>> render_ledger_html(Ledger(())).startswith('<div class="jnb">')
    True
    """
    told = " · ".join(ledger_facts(ledger))
    head = element("p", {"class": "jnb-h"}, element("b", None, ledger_title(ledger)), f" · {told}" if told else "")
    colours = _colours(ledger)
    parts = [style_element("placement.css"), style_element("ledger.css"), head]
    parts += [element("p", {"class": "jnb-h"}, text) for text in roofline_text(ledger)]
    if ledger.total:
        parts.append(_bar(ledger, colours))
    if ledger.items:
        parts.append(_table(ledger, colours))
    return element("div", {"class": "jnb"}, *parts)


def _colours(ledger: Ledger) -> dict[str, str]:
    """The colours of the axes, in the order of the mesh."""
    names = [axis.name for axis in ledger.mesh.axes] if ledger.mesh is not None else []
    return axis_colours([*names, *(name for item in ledger.items for name in item.axes or ())])


def _bar(ledger: Ledger, colours: dict[str, str]) -> Html:
    """What goes over each combination of axes, as lengths."""
    parts: list[Html] = []
    x = 0.0
    for axes, total in ledger.by_axes().items():
        wide = _BAR * total / ledger.total
        if not total:
            continue
        told = f"{axes_text(axes)}: {format_bytes(total)}"
        own = [colours[name] for name in axes or ()] or [_GREY]
        high = _HIGH / len(own)
        rects = [
            element(
                "rect",
                {
                    **{"x": f"{x:.1f}", "y": f"{number * high:g}", "width": f"{max(wide - 2, 1):.1f}"},
                    **{"height": f"{high:g}", "fill": colour, "fill-opacity": "0.45"},
                },
            )
            for number, colour in enumerate(own)
        ]
        label = {"class": "t", "x": f"{x + wide / 2 - 1:.1f}", "y": str(_HIGH // 2 + 1)}
        fits = len(told) * 6.2 < wide
        parts.append(
            element("g", None, element("title", None, told), *rects, element("text", label, told) if fits else "")
        )
        x += wide
    size = {"width": str(int(_BAR) + 2), "height": str(_HIGH + 2), "viewBox": f"-1 -1 {int(_BAR) + 2} {_HIGH + 2}"}
    return element("svg", {"xmlns": "http://www.w3.org/2000/svg", **size, "class": "jnb-p", "role": "img"}, *parts)


def _table(ledger: Ledger, colours: dict[str, str]) -> Html:
    lines, rows = ledger.source.splitlines(), ledger_rows(ledger)
    heads = (*HEADS, *(["time"] if ledger.estimate is not None else []), "")
    drawn = [element("tr", None, *(element("th", None, text) for text in heads))]
    for row in rows[:_MOST_ROWS]:
        item = row.item
        cells = [
            element("td", {"class": "r"}, text)
            if column in _NUMBERS or column >= len(HEADS)
            else element("td", None, _chip(item, text, colours) if column == 2 else text)
            for column, text in enumerate(row.cells)
        ]
        shown = lines[item.line - 1].strip() if item.line is not None and item.line <= len(lines) else ""
        drawn.append(element("tr", None, *cells, element("td", {"class": "c"}, shown)))
    rest = len(rows) - _MOST_ROWS
    if rest > 0:
        drawn.append(element("tr", None, element("td", {"colspan": str(len(heads))}, f"and {rest} more")))
    return element("table", {"class": "jnb-t"}, *drawn)


def _chip(item: Collective, text: str, colours: dict[str, str]) -> Html:
    """The axes with the colours that they have in the bar."""
    own = [colours[name] for name in item.axes or ()] or [_GREY]
    return element("span", {"class": "a", "style": f"--a:{own[0]};--z:{own[-1]}"}, text)
