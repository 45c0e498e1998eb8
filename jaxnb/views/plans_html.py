"""Plans side by side as HTML: the picture of the front, and below it the table of `views.plans`, the best first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jaxnb.views.escape import Html, element
from jaxnb.views.front_svg import Point, draw_front
from jaxnb.views.plans import MOST_SHOWN, search_table, search_title
from jaxnb.views.style import style_element
from jaxnb.views.table import table_element

if TYPE_CHECKING:
    from jaxnb.program import Search

__all__ = ["draw_search", "render_search_html"]


def draw_search(search: Search) -> Html:
    """The plans of a search by time and memory as SVG; those that nothing beats have their names beside them."""
    front = set(map(id, search.pareto))
    points = [
        Point(str(item), item.seconds, item.memory, id(item) in front, bool(item.plan.fits))
        for item in search.candidates
    ]
    return draw_front(points, limit=search.hardware.memory, limit_name=str(search.hardware))


def render_search_html(search: Search, *, limit: int = MOST_SHOWN) -> Html:
    """A search as HTML without scripts.

    Args:
      search: to be shown.
      limit: how many rows at most; of those behind them only those of the front are shown.
    """
    first, *more = search_title(search)
    head = element("p", {"class": "jnb-h"}, element("b", None, first), "".join(f" · {text}" for text in more))
    parts = [style_element("placement.css"), style_element("ledger.css"), head]
    for _, why in search.refused[:3] if not search.candidates else ():
        parts.append(element("p", {"class": "jnb-h"}, why))
    if search.candidates:
        table, left = search_table(search, limit)
        more = [(f"and {left} more",)] if left else []
        parts += [draw_search(search), table_element(replace(table, rows=(*table.rows, *more)))]
    return element("div", {"class": "jnb"}, *parts)
