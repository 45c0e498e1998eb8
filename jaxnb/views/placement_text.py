"""Meshes, placements and pytrees of them as text, for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from jaxnb.program import Leaf, Mesh, Placement, Tree
from jaxnb.views.grids import GAP, NOTHING, Grid, Grids, ids_text, read_array, read_mesh_grids
from jaxnb.views.placement_svg import draw_glyph
from jaxnb.views.placement_words import (
    leaf_cells,
    mesh_facts,
    mesh_title,
    placement_facts,
    placement_title,
    tree_facts,
    tree_title,
)
from jaxnb.views.table import Cell, Head, Table, first_rows, table_lines

__all__ = ["render_mesh", "render_placement", "render_tree", "tree_table"]

_WIDTH = 100
_MOST_LINES = (16, 12, 8, 6, 4)  # of a grid, from what is best to what fits anywhere
_MOST_PANELS = 8
_MOST_RULED = 8  # rows with a rule between them; more stand close
_MOST_LEAVES = 60
_HEADS = (
    Head(),
    Head("", "code"),
    Head("array", "code"),
    Head("sharding", "code"),
    Head("a device", "number"),
    Head("copies", "number"),
)


def render_mesh(mesh: Mesh, *, width: int = _WIDTH) -> str:
    """A mesh as text: the ids of its devices in a grid, the last axis across.

    >>> from jaxnb.program.placement.data import Axis, Device
    >>> print(render_mesh(Mesh((Axis("x", 2),), (Device(0), Device(1)))))
    mesh x=2 · 2 devices, cpu · auto axis
    <BLANKLINE>
     x →
       0   1
     ┌───┬───┐
     │ 0 │ 1 │
     └───┴───┘
    """
    several = len({device.process for device in mesh.devices}) > 1

    def cell(place: int) -> str:
        if mesh.abstract:
            return str(place)
        device = mesh.devices[place]
        return f"{device.id} p{device.process}" if several else str(device.id)

    head = " · ".join([mesh_title(mesh), *mesh_facts(mesh)])
    drawn = _fitting(lambda most: read_mesh_grids(mesh, most=most, panels=_MOST_PANELS), cell, width)
    return "\n".join([head, "", *drawn])


def render_placement(placement: Placement, *, name: str = "", width: int = _WIDTH) -> str:
    """A placement as text: the array in its pieces, in each the ids of the devices that hold it.

    Args:
      placement: to be shown.
      name: what the user calls the array.
      width: of the text, in characters; grids stand side by side as far as they fit.
    """

    def cell(index: int) -> str:
        return ids_text(_ids(placement, index))

    head = [placement_title(placement, name), " · ".join(placement_facts(placement))]
    lines = [*filter(None, head)]
    if placement.groups and placement.groups[0].box is not None:
        lines += ["", *_fitting(lambda most: read_array(placement, most=most, panels=_MOST_PANELS), cell, width)]
        if placement.groups[-1].box is None:
            lines.append(f" nothing on {ids_text(_ids(placement, len(placement.groups) - 1), 8)}")
    return "\n".join(lines)


def render_tree(tree: Tree, *, limit: int | None = _MOST_LEAVES) -> str:
    """A pytree as a table, one row a leaf.

    Args:
      tree: to be shown.
      limit: how many rows at most; None for all.
    """
    head = " · ".join([tree_title(tree), *tree_facts(tree)])
    if not tree.leaves:
        return head
    return "\n".join([head, "", *table_lines(tree_table(tree, limit))])


def tree_table(tree: Tree, limit: int | None) -> Table:
    """The leaves, each with a small picture of how it lies where there is room for one."""
    return Table(_HEADS, first_rows(tree.leaves, _leaf_row, limit))


def _leaf_row(leaf: Leaf) -> tuple[str | Cell, ...]:
    picture = partial(draw_glyph, leaf.placement) if leaf.placement is not None else None
    return (Cell("", picture=picture), *leaf_cells(leaf))


def _ids(placement: Placement, index: int) -> list[int]:
    """The ids of the devices of a group; their places where no devices are known."""
    places = placement.groups[index].places
    return sorted(placement.devices[place].id for place in places) if placement.devices else list(places)


def _fitting(read: Callable[[int], Grids], cell: Callable[[int], str], width: int) -> list[str]:
    """The grids with as many rows and columns as fit."""
    lines: list[str] = []
    for most in _MOST_LINES:
        lines = _draw(read(most), cell, width)
        if max(map(len, lines)) <= width:
            break
    return lines


def _draw(grids: Grids, cell: Callable[[int], str], width: int) -> list[str]:
    """The grids side by side, as many as fit into a row."""
    told = {NOTHING: "", GAP: "⋯"}
    texts = [[[told[at] if at in told else cell(at) for at in row] for row in panel.cells] for panel in grids.panels]
    across = [
        max([len(grids.columns[column]), 1, *(len(row[column]) for panel in texts for row in panel)])
        for column in range(len(grids.columns))
    ]
    blocks = [_block(grids, panel, text, across) for panel, text in zip(grids.panels, texts, strict=True)]
    lines = [
        " ".join(filter(None, [f"{grids.down} ↓" if grids.down else "", f"{grids.across} →" if grids.across else ""]))
    ]
    if lines[0]:
        lines = [_margin(grids) + " " + lines[0]]
    else:
        lines = []
    wide = max((len(line) for block in blocks for line in block), default=1) + 2
    side = max(1, width // wide)
    for start in range(0, len(blocks), side):
        row = blocks[start : start + side]
        lines += ["  ".join(part.ljust(wide - 2) for part in parts).rstrip() for parts in zip(*row, strict=True)]
    if grids.left_out:
        lines.append(f"{_margin(grids)} and {grids.left_out} more like these")
    return lines


def _block(grids: Grids, panel: Grid, texts: Sequence[Sequence[str]], across: Sequence[int]) -> list[str]:
    """One grid with its caption and its labels."""
    margin = _margin(grids)

    def rule(left: str, between: str, right: str) -> str:
        return f"{margin} {left}{between.join('─' * (size + 2) for size in across)}{right}"

    lines = [f"{margin} {panel.caption}"] if panel.caption else []
    if any(grids.columns):
        lines.append(
            f"{margin}   " + "   ".join(f"{text:^{size}}" for text, size in zip(grids.columns, across, strict=True))
        )
    lines.append(rule("┌", "┬", "┐"))
    for index, (label, row) in enumerate(zip(grids.rows, texts, strict=True)):
        if index and len(texts) <= _MOST_RULED:
            lines.append(rule("├", "┼", "┤"))
        inner = " │ ".join(f"{text:^{size}}" for text, size in zip(row, across, strict=True))
        lines.append(f"{label:>{len(margin)}} │ {inner} │")
    lines.append(rule("└", "┴", "┘"))
    return lines


def _margin(grids: Grids) -> str:
    return " " * max(len(label) for label in grids.rows)
