"""How values are spread, as HTML: the table of `sharding_report`, with what is not as it was asked for set apart."""

from __future__ import annotations

from jaxnb.program import Shardings
from jaxnb.views.escape import Html, element
from jaxnb.views.sharding_report import shardings_table, shardings_title
from jaxnb.views.style import style_element
from jaxnb.views.table import table_element
from jaxnb.views.text import render_findings

__all__ = ["render_shardings_html"]


def render_shardings_html(shardings: Shardings) -> Html:
    """The values of a program as HTML without scripts.

    >>> render_shardings_html(Shardings(())).startswith('<div class="jnb">')
    True
    """
    head = element("p", {"class": "jnb-h"}, element("b", None, shardings_title(shardings)))
    parts = [style_element("placement.css"), style_element("ledger.css"), head]
    if shardings.rows:
        parts.append(table_element(shardings_table(shardings)))
    if shardings.findings:
        parts.append(element("pre", {"class": "jnb-h"}, render_findings(shardings.findings, width=110)))
    return element("div", {"class": "jnb"}, *parts)
