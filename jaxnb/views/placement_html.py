"""Meshes, placements and pytrees of them as HTML for a notebook. There is no script in it, and nothing is loaded."""

from __future__ import annotations

from jaxnb.program import Mesh, Placement, Tree
from jaxnb.views.escape import Html, element
from jaxnb.views.placement_svg import draw_mesh, draw_placement
from jaxnb.views.placement_text import tree_table
from jaxnb.views.placement_words import tree_facts, tree_title
from jaxnb.views.style import style_element
from jaxnb.views.table import table_element

__all__ = ["render_placed"]

_MOST_LEAVES = 24


def render_placed(what: Mesh | Placement | Tree, *, name: str = "") -> Html:
    """A mesh or a placement as its picture, a pytree as a table with a small picture in each row.

    >>> render_placed(Tree(())).startswith('<div class="jnb">')
    True
    """
    if isinstance(what, Mesh):
        return element("div", {"class": "jnb"}, draw_mesh(what))
    if isinstance(what, Placement):
        return element("div", {"class": "jnb"}, draw_placement(what, name=name))
    head = element("p", {"class": "jnb-h"}, element("b", None, tree_title(what)), " · ", " · ".join(tree_facts(what)))
    table = [table_element(tree_table(what, _MOST_LEAVES))] if what.leaves else []
    return element("div", {"class": "jnb"}, style_element("placement.css"), head, *table)
