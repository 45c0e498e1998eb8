"""What a shell says of a cell, plain and staged."""

from __future__ import annotations

from collections.abc import Iterable

from shells import Shell

import jaxnb
from jaxnb.views import render_findings

__all__ = ["check_plain", "check_staged"]


def check_plain(shell: Shell, setup: str, cell: str, line: int, said: Iterable[str]) -> None:
    """A plain cell is told of its line all of that."""
    shell.run(setup)
    text = " ".join(shell.run(cell).split())
    for part in (f"line {line}", *said):
        assert part in text, text


def check_staged(shell: Shell, setup: str, cell: str, kind: str, line: int, said: Iterable[str]) -> None:
    """So is the same cell, staged, by findings of one kind, of which one has the line."""
    shell.run(setup)
    shell.run(f"%%jit\n{cell}")
    found = [finding for finding in jaxnb.last().findings if finding.kind == kind]
    assert line + 1 in [finding.line for finding in found], found
    text = " ".join(render_findings(found, width=300).split())
    for part in said:
        assert part in text, text
