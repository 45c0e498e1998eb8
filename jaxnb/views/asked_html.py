"""How values are spread, as HTML: the table of `views.asked`, with what is not as it was asked for set apart."""

from __future__ import annotations

from jaxnb.program import Shardings
from jaxnb.views.asked import ASKED_HEADS, asked_row, asked_title
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.text import render_findings

__all__ = ["render_asked_html"]

_MOST = 60
_NUMBERS = (0, 6, 7)
_CODE = (2, 3, 4, 5)


def render_asked_html(shardings: Shardings) -> Html:
    """The values of a program as HTML without scripts.

    >>> render_asked_html(Shardings(())).startswith('<div class="jnb">')
    True
    """
    head = element("p", {"class": "jnb-h"}, element("b", None, asked_title(shardings)))
    parts = [style_element("placement.css"), style_element("ledger.css"), head]
    if shardings.rows:
        parts.append(_table(shardings))
    if shardings.findings:
        parts.append(element("pre", {"class": "jnb-h"}, render_findings(shardings.findings, width=110)))
    return element("div", {"class": "jnb"}, *parts)


def _table(shardings: Shardings) -> Html:
    used = [
        column
        for column in range(len(ASKED_HEADS))
        if ASKED_HEADS[column] or any(asked_row(row)[column] for row in shardings.rows)
    ]
    rows = [element("tr", None, *(element("th", None, ASKED_HEADS[column]) for column in used))]
    for row in shardings.rows[:_MOST]:
        texts = asked_row(row)
        cells = [
            element("td", {"class": "r"} if n in _NUMBERS else {"class": "c"} if n in _CODE else None, texts[n])
            for n in used
        ]
        rows.append(element("tr", {"class": "d"} if row.differs else None, *cells))
    rest = len(shardings.rows) - _MOST
    if rest > 0:
        rows.append(element("tr", None, element("td", {"colspan": str(len(used))}, f"and {rest} more")))
    return element("table", {"class": "jnb-t"}, *rows)
