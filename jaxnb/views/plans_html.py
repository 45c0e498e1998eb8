"""Plans as HTML: one with its timeline, or several side by side, with the picture of the front above the table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jaxnb.views.collectives_html import render_ledger_html
from jaxnb.views.escape import Html, element
from jaxnb.views.front_svg import Point, draw_front
from jaxnb.views.plans import MOST_SHOWN, plan_lines, search_table, search_title
from jaxnb.views.style import style_element
from jaxnb.views.table import table_element
from jaxnb.views.timeline import timeline_title
from jaxnb.views.timeline_svg import draw_timeline

if TYPE_CHECKING:
    from jaxnb.program import Plan, Search, Timeline

__all__ = ["draw_search", "render_plan_html", "render_search_html", "render_timeline_html"]

_HINT = (
    "blue: computing, lighter where it runs backwards; red: the device waits for it; grey: something hides it. "
    "A loop stands for all of its turns."
)


def render_plan_html(plan: Plan) -> Html:
    """A plan as HTML without scripts: its timeline if it was made for a target, what it needs, and its collectives."""
    drawn = [_timeline(plan.timeline)] if plan.target is not None and plan.timeline.seconds else []
    text = element("pre", {"class": "jnb-h"}, "\n".join(plan_lines(plan)))
    sends = render_ledger_html(replace(plan.ledger, source=plan.source))
    return element("div", {"class": "jnb"}, style_element("ledger.css"), *drawn, text, sends)


def render_timeline_html(timeline: Timeline) -> Html:
    """A timeline as HTML without scripts."""
    return element("div", {"class": "jnb"}, _timeline(timeline))


def _timeline(timeline: Timeline) -> Html:
    head = element("p", {"class": "jnb-h"}, timeline_title(timeline))
    if not timeline.seconds:
        return head
    return element("div", None, head, draw_timeline(timeline), element("p", {"class": "jnb-h"}, _HINT))


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
