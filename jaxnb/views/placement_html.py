"""Meshes, placements and pytrees of them as HTML for a notebook. There is no script in it, and nothing is loaded."""

from __future__ import annotations

from jaxnb.program import Mesh, Placement, Tree
from jaxnb.views.escape import Html, element
from jaxnb.views.placement_svg import draw_glyph, draw_mesh, draw_placement
from jaxnb.views.placement_words import leaf_cells, tree_facts, tree_title
from jaxnb.views.style import style_element

__all__ = ["render_placed"]

_MOST_LEAVES = 24
_HEADS = ("", "", "array", "sharding", "a device", "copies")


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
    return element(
        "div", {"class": "jnb"}, style_element("placement.css"), head, *([_table(what)] if what.leaves else [])
    )


def _table(tree: Tree) -> Html:
    rows = [element("tr", None, *(element("th", None, text) for text in _HEADS))]
    for leaf in tree.leaves[:_MOST_LEAVES]:
        path, *texts, size, copies = leaf_cells(leaf)
        glyph = draw_glyph(leaf.placement) if leaf.placement is not None else ""
        cells = [element("td", None, glyph), *(element("td", {"class": "c"}, text) for text in (path, *texts))]
        rows.append(element("tr", None, *cells, *(element("td", {"class": "r"}, text) for text in (size, copies))))
    rest = len(tree.leaves) - _MOST_LEAVES
    if rest > 0:
        rows.append(element("tr", None, element("td", {"colspan": str(len(_HEADS))}, f"and {rest} more")))
    return element("table", {"class": "jnb-t"}, *rows)
