"""What `run.shardings()` gives: how values are spread, and what is odd about it, with fixes that were tried."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxnb._jax import given_shardings
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.sharding.lints import sharding_findings, spread_of
from jaxnb.findings.sharding.trials import tried_findings
from jaxnb.program import Finding, Mesh, ShardingRow, Shardings
from jaxnb.reading import read_spread_rows
from jaxnb.staging import CellSource, Piece

__all__ = ["find_in_plan", "read_shardings"]


def read_shardings(
    cell: CellSource,
    pieces: Sequence[Piece],
    namespace: Mapping[str, Any],
    label: Callable[[str], str] = str,
    progress: Callable[[str], None] = lambda _: None,
) -> Shardings:
    """The values of a cell that ran: how each was asked to be spread, and how it is.

    Fixes are tried, which compiles variants of the cell and runs nothing.

    Args:
      cell: that was staged.
      pieces: that ran; those on a single device have nothing to say.
      namespace: the names as they are now.
      label: what the user knows a file by.
      progress: called with what is going on.
    """
    rows: list[ShardingRow] = []
    findings: list[Finding] = []
    meshes: list[Mesh] = []
    for piece in pieces:
        traced = LintContext(piece.cell or cell, piece, namespace=namespace, label=label)
        spread = spread_of(traced)
        if spread is None:
            continue
        rows += read_spread_rows(spread, given_shardings(piece.traced), (piece.input_names(), piece.output_names()))
        meshes += spread.meshes
        findings += tried_findings(traced, progress=progress)
    return Shardings(tuple(rows), meshes[0] if meshes else None, cell.shown, tuple(findings))


def find_in_plan(
    cell: CellSource,
    piece: Piece,
    namespace: Mapping[str, Any],
    label: Callable[[str], str] = str,
    shown: Container[str] = frozenset(),
) -> tuple[Finding, ...]:
    """What is odd about how a cell would be spread that was planned for a mesh that is not there.

    Args:
      cell: that was planned.
      piece: that was compiled for the mesh.
      namespace: the names that it reads.
      label: what the user knows a file by.
      shown: the kinds that are written out; findings of others are marked as folded.
    """
    found = sharding_findings(LintContext(cell, piece, namespace=namespace, label=label))
    return tuple(finding if finding.kind in shown else replace(finding, folded=True) for finding in found)
