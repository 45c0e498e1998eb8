"""Arrays and meshes of any rank as grids: two dimensions are drawn, a small grid for each position along the others.

Of an array those two are drawn that are cut last, so that an array of rank 6 of which one dimension is cut is one grid.
Long rows of devices are shortened in their middle, where a gap stands for what is left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jaxnb.program import Box, Mesh, Placement

__all__ = [
    "GAP",
    "MOST_LINES",
    "MOST_PANELS",
    "NOTHING",
    "Grid",
    "Grids",
    "ids_text",
    "in_rows",
    "read_array",
    "read_mesh_grids",
]

Piece = tuple[int, int]
"""Where a piece of a dimension starts and where it stops."""

MOST_LINES = 16
"""Rows or columns of one grid; with more the middle is left out."""
MOST_PANELS = 16

NOTHING = -1
"""In a cell: nobody holds this piece."""
GAP = -2
"""In a cell: here something is left out."""


@dataclass(frozen=True, slots=True)
class Grid:
    """One grid.

    Attributes:
      caption: where it is along what is not drawn; "" if it is the only one.
      cells: by row, then column: the index of a group of an array, or a place of a mesh; `NOTHING` or `GAP`.
    """

    caption: str
    cells: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Grids:
    """What is drawn.

    Attributes:
      down: what the rows are; "" if there is one row that means nothing.
      across: likewise for the columns.
      rows: the labels of the rows, "" for a gap.
      columns: likewise.
      heights: how long each row is against the longest, from 0 to 1.
      widths: likewise for the columns.
      panels: the grids.
      left_out: how many further grids there are.
    """

    down: str
    across: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    heights: tuple[float, ...]
    widths: tuple[float, ...]
    panels: tuple[Grid, ...]
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class _Line:
    """One direction of a grid: what it is, and its pieces with None for a gap."""

    told: str
    pieces: tuple[Piece | None, ...]
    labels: tuple[str, ...]

    @property
    def lengths(self) -> tuple[float, ...]:
        longest = max((piece[1] - piece[0] for piece in self.pieces if piece is not None), default=0)
        if longest == 0:
            return (1.0,) * len(self.pieces)
        return tuple(1.0 if piece is None else (piece[1] - piece[0]) / longest for piece in self.pieces)


def read_array(placement: Placement, *, most: int = MOST_LINES, panels: int = MOST_PANELS) -> Grids:
    """The pieces of an array. Cells are indices into `placement.groups`."""
    rank = len(placement.shape)
    down, across = _drawn(placement)
    rows, columns = _array_line(placement, down, most), _array_line(placement, across, most)
    outer = [index for index in range(rank) if index not in (down, across)]
    places = {group.box: number for number, group in enumerate(placement.groups) if group.box is not None}
    combinations = list(itertools.product(*(placement.edges[index] for index in outer)))
    made: list[Grid] = []
    for pieces in combinations[:panels]:
        fixed: dict[int | None, Piece] = dict(zip(outer, pieces, strict=True))
        cells = tuple(
            tuple(
                GAP
                if row is None or column is None
                else places.get(_whole_box(rank, {**fixed, down: row, across: column}), NOTHING)
                for column in columns.pieces
            )
            for row in rows.pieces
        )
        made.append(Grid(_array_caption(placement, fixed) if len(combinations) > 1 else "", cells))
    return _grids(rows, columns, made, len(combinations) - len(made))


def read_mesh_grids(mesh: Mesh, *, most: int = MOST_LINES, panels: int = MOST_PANELS) -> Grids:
    """The devices of a mesh; the last axis is across, the one before it down. Cells are places."""
    shape = mesh.shape
    across = _mesh_line(mesh, len(shape) - 1, most) if shape else _Line("", ((0, 1),), ("",))
    down = _mesh_line(mesh, len(shape) - 2, most) if len(shape) > 1 else _Line("", ((0, 1),), ("",))
    outer = mesh.axes[:-2]
    combinations = list(itertools.product(*(range(axis.size) for axis in outer)))
    made: list[Grid] = []
    for number, position in enumerate(combinations[:panels]):
        first = number * (shape[-1] * shape[-2] if len(shape) > 1 else 1)
        width = shape[-1] if shape else 1
        cells = tuple(
            tuple(
                GAP if row is None or column is None else first + row[0] * width + column[0] for column in across.pieces
            )
            for row in down.pieces
        )
        caption = ", ".join(f"{axis.name} = {at}" for axis, at in zip(outer, position, strict=True))
        made.append(Grid(caption, cells))
    return _grids(down, across, made, len(combinations) - len(made))


def in_rows(count: int, width: int = 8) -> Grids:
    """Devices without a mesh, in rows of eight. Cells are places; what a last row lacks is `NOTHING`."""
    width = max(1, min(count, width))
    shown = min(count, width * MOST_LINES)
    cells = [
        tuple(place if place < count else NOTHING for place in range(start, start + width))
        for start in range(0, max(shown, 1), width)
    ]
    rows, columns = ("",) * len(cells), ("",) * width
    return Grids("", "", rows, columns, (1.0,) * len(rows), (1.0,) * width, (Grid("", tuple(cells)),))


def ids_text(ids: Sequence[int], most: int = 4) -> str:
    """Numbers in one short text; three and more in a row are a range: `0 1`, `0-3`, `0 2 4 6 …`.

    >>> ids_text([0, 1]), ids_text([4, 5, 6, 7]), ids_text(range(0, 20, 2))
    ('0 1', '4-7', '0 2 4 6 …')
    """
    runs: list[list[int]] = []
    for number in ids:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [
        text for run in runs for text in ([f"{run[0]}-{run[-1]}"] if len(run) > 2 else [str(number) for number in run])
    ]
    return " ".join(parts[:most]) + (" …" if len(parts) > most else "")


def _drawn(placement: Placement) -> tuple[int | None, int | None]:
    """The dimensions that are drawn down and across."""
    rank = len(placement.shape)
    if rank == 0:
        return None, None
    if rank == 1:
        return None, 0
    cut = [index for index in range(rank) if len(placement.edges[index]) > 1]
    whole = [index for index in range(rank) if index not in cut]
    down, across = sorted(cut[-2:] if len(cut) > 1 else [*whole, *cut][-2:])
    return down, across


def _array_line(placement: Placement, dimension: int | None, most: int) -> _Line:
    if dimension is None:
        return _Line("", ((0, 1),), ("",))
    edges = placement.edges[dimension]
    names = placement.cuts[dimension] if placement.cuts else ()
    by = f" by {', '.join(names)}" if names else " whole" if len(edges) == 1 else ""
    pieces = _shortened(edges, most)
    labels = tuple("" if piece is None else f"{piece[0]}:{piece[1]}" for piece in pieces)
    return _Line(f"dim {dimension}{by}", pieces, labels)


def _mesh_line(mesh: Mesh, axis: int, most: int) -> _Line:
    pieces = _shortened([(index, index + 1) for index in range(mesh.axes[axis].size)], most)
    labels = tuple("" if piece is None else str(piece[0]) for piece in pieces)
    return _Line(mesh.axes[axis].name, pieces, labels)


def _whole_box(rank: int, pieces: Mapping[int | None, Piece]) -> Box:
    return tuple(pieces[index] for index in range(rank))


def _array_caption(placement: Placement, fixed: Mapping[int | None, Piece]) -> str:
    told = [
        "·" if index not in fixed else ":" if fixed[index] == (0, size) else f"{fixed[index][0]}:{fixed[index][1]}"
        for index, size in enumerate(placement.shape)
    ]
    return f"[{', '.join(told)}]"


def _shortened(pieces: Sequence[Piece], most: int) -> tuple[Piece | None, ...]:
    if len(pieces) <= most:
        return tuple(pieces)
    return (*pieces[: most - 2], None, pieces[-1])


def _grids(rows: _Line, columns: _Line, panels: list[Grid], left_out: int) -> Grids:
    return Grids(
        rows.told, columns.told, rows.labels, columns.labels, rows.lengths, columns.lengths, tuple(panels), left_out
    )
