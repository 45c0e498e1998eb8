"""Kernels of Pallas as plain data for the inspector: what is said of each, and the grids that are drawn of it."""

from __future__ import annotations

from typing import Any

from jaxnb.program import Kernel, Program
from jaxnb.views.kernel_grids import KernelGrid, read_kernel_grids
from jaxnb.views.kernels import kernel_facts, kernel_notes, kernel_table, kernel_title

__all__ = ["encode_kernel_drawings", "has_kernels"]

_MOST = 16  # cells along one side: an output in a notebook has little room
_MOST_KERNELS = 12


def has_kernels(program: Program) -> bool:
    """Whether a program calls Pallas."""
    return any(op.name == "pallas_call" for op in program.level("jaxpr").ops())


def encode_kernel_drawings(program: Program) -> list[dict[str, Any]]:
    """The first kernels of a program as they are drawn; what they are is read for it, if nobody asked before."""
    kernels = program.kernels()
    return [_drawing(kernel, kernels.source) for kernel in kernels.items[:_MOST_KERNELS]]


def _drawing(kernel: Kernel, source: str) -> dict[str, Any]:
    table = kernel_table(kernel)
    rows = [[str(cell) for cell in row] for row in table.rows]
    written = [at for at in range(len(table.heads)) if any(row[at] for row in rows)]
    return {
        "op": list(kernel.place),
        "title": kernel_title(kernel, source),
        "facts": list(kernel_facts(kernel)),
        "heads": [table.heads[at].text for at in written],
        "right": [to for to, at in enumerate(written) if table.heads[at].kind == "number"],
        "rows": [[row[at] for at in written] for row in rows],
        "notes": list(kernel_notes(kernel)),
        "grids": [_grid(grid) for grid in read_kernel_grids(kernel, _MOST)],
    }


def _grid(grid: KernelGrid) -> dict[str, Any]:
    cells = sorted(grid.cells.items())
    return {
        "title": grid.title,
        "below": grid.below,
        "rows": grid.rows,
        "columns": grid.columns,
        "empty": grid.empty,
        "warned": grid.warned,
        "left": grid.left,
        "at": [row * grid.columns + column for (row, column), _ in cells],
        "hue": [cell.hue for _, cell in cells],
        "strength": [round(cell.strength, 2) for _, cell in cells],
        "label": [cell.label for _, cell in cells],
        "told": [cell.told for _, cell in cells],
    }
