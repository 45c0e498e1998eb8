"""The lines of a cell that a finding speaks of: where it happened, and the lines on which the value came about."""

from __future__ import annotations

from dataclasses import dataclass

from jaxnb.program import Finding, Fix

__all__ = ["PaintedLine", "edit_lines", "fed_by", "paint"]

_MOST = 12


@dataclass(frozen=True, slots=True)
class PaintedLine:
    """A line of the cell.

    Attributes:
      number: the magic line being 1; None where lines were left out.
      text: of the line.
      hit: whether it happened here; otherwise a value came about here that it depends on.
      marked: the columns of the expression, if they are known.
    """

    number: int | None
    text: str
    hit: bool = False
    marked: tuple[int, int] | None = None


def paint(source: str, finding: Finding) -> list[PaintedLine]:
    """The lines to show for a finding, in their order; none where its place is not known.

    >>> from jaxnb.program import Span
    >>> found = Finding("concretization", "", 3, Span(3, 3, 3, 8), trail=(1,))
    >>> [(line.number, line.text, line.hit) for line in paint("a = x\\nb = 1\\nif a > 1:\\n    c = 2", found)]
    [(1, 'a = x', False), (3, 'if a > 1:', True)]
    """
    lines = source.splitlines()
    if finding.line is None or finding.line > len(lines) or (finding.span is None and not finding.trail):
        return []
    before = [number for number in finding.trail if 0 < number <= len(lines) and number != finding.line]
    kept = before[-_MOST:]
    painted = [PaintedLine(None, "…")] if len(kept) < len(before) else []
    marked = None
    if (span := finding.span) is not None and span.line == finding.line and not span.file:
        last = len(lines[finding.line - 1])
        marked = (span.column, span.end_column if span.end_line == span.line else last)
    for number in sorted({*kept, finding.line}):
        hit = number == finding.line
        painted.append(PaintedLine(number, lines[number - 1], hit, marked if hit else None))
    return painted


def edit_lines(fix: Fix) -> list[str]:
    """What a fix takes away and adds, line by line, with `-` and `+` in front; empty where it edits nothing."""
    if fix.edit is None:
        return []
    _, old, new = fix.edit
    return [*(f"- {line}" for line in old.splitlines()), *(f"+ {line}" for line in new.splitlines())]


def fed_by(finding: Finding) -> tuple[str, str]:
    """How to speak of the holder and of the origin of a finding: of a leak, somebody holds what was made."""
    return ("held by ", "made at ") if finding.kind == "leak" else ("fed by ", "")
