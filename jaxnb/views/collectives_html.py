"""The collectives of a program as HTML: what each axis of the mesh carries as a bar, and a row for each collective."""

from __future__ import annotations

from jaxnb.program import Ledger
from jaxnb.units import format_bytes
from jaxnb.views.collectives import (
    GREY,
    axes_text,
    ledger_colours,
    ledger_facts,
    ledger_table,
    ledger_title,
    roofline_text,
)
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.table import table_element

__all__ = ["render_ledger_html"]

_MOST_ROWS = 40
_BAR = 360.0
_HIGH = 18


def render_ledger_html(ledger: Ledger) -> Html:
    """A ledger as HTML without scripts.

    >>> render_ledger_html(Ledger(())).startswith('<div class="jnb">')
    True
    """
    told = " · ".join(ledger_facts(ledger))
    head = element("p", {"class": "jnb-h"}, element("b", None, ledger_title(ledger)), f" · {told}" if told else "")
    parts = [style_element("placement.css"), style_element("ledger.css"), head]
    parts += [element("p", {"class": "jnb-h"}, text) for text in roofline_text(ledger)]
    if ledger.total:
        parts.append(_bar(ledger))
    if ledger.items:
        parts.append(table_element(ledger_table(ledger, _MOST_ROWS, ledger.source)))
    return element("div", {"class": "jnb"}, *parts)


def _bar(ledger: Ledger) -> Html:
    """What goes over each combination of axes, as lengths."""
    colours = ledger_colours(ledger)
    parts: list[Html] = []
    x = 0.0
    for axes, total in ledger.by_axes().items():
        wide = _BAR * total / ledger.total
        if not total:
            continue
        told = f"{axes_text(axes)}: {format_bytes(total)}"
        own = [colours[name] for name in axes or ()] or [GREY]
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
