"""A program and its findings as plain text, for a terminal or wherever nothing better can be shown."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace

from jaxnb.program import Finding, Program
from jaxnb.views.columns import chunks, column_widths, padded, row_pieces, text_width
from jaxnb.views.painting import PaintedLine, edit_lines, fed_by, paint
from jaxnb.views.rows import MOST_ROWS, Group, Row, read_groups

__all__ = ["detail_lines", "printable", "render_findings", "render_program"]

_SIDE_BY_SIDE = 100  # columns from which on the source stands beside the ops


def render_program(
    program: Program, *, width: int | None = None, level: str | None = None, limit: int | None = MOST_ROWS
) -> str:
    """Each line of the cell with what it became, side by side from 100 columns on, otherwise one below the
    other.

    Args:
      program: what to show.
      width: how many columns there are; by default those of the terminal.
      level: which level to show; by default the one below the source.
      limit: how many equations at most, or None for all.

    Raises:
      KeyError: if the program does not have that level.

    >>> from jaxnb.program import Aval, Computation, Level, Op, Span, Value
    >>> values = (Value("a", Aval("float32")), Value("b", Aval("float32")))
    >>> main = Computation("main", (0,), (1,), (Op("neg", (0,), (1,), span=Span(1)),), (), ("x",), ("y",))
    >>> print(render_program(Program("y = -x", (Level("jaxpr", values, (main,)),)), width=80))
       (inputs)
         a ← x      f32[]
    1  y = -x
         b = neg a  f32[]  → y
    """
    columns = max(40, shutil.get_terminal_size().columns if width is None else width)
    groups = [replace(group, text=printable(group.text)) for group in read_groups(program, level, limit)]
    gutter = len(str(len(groups)))
    if columns >= _SIDE_BY_SIDE:
        lines = _beside(groups, columns, gutter)
    else:
        lines = _below(groups, columns, gutter)
    return "\n".join(line.rstrip() for line in lines)


def render_findings(findings: Iterable[Finding], *, width: int = 80, source: str = "") -> str:
    """The findings, each with its line, holder, origin and fix; "" where there is none.

    Args:
      findings: in the order in which they are told.
      width: how many columns there are.
      source: the cell as displayed; its lines are shown that a finding points at.

    >>> print(render_findings([Finding("x64", "`a` was rounded to float32.", line=3)]))
    line 3 · x64: `a` was rounded to float32.
    """
    return "\n".join(line for finding in findings for line in _finding_lines(finding, width, source))


def printable(text: str) -> str:
    """Text without control characters, which a terminal would obey: they are shown as escapes, `\\x1b`.

    >>> printable("a\\x1b[2Jb")
    'a\\\\x1b[2Jb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _below(groups: Sequence[Group], columns: int, gutter: int) -> Iterable[str]:
    margin = " " * (gutter + 4)
    room = columns - len(margin)
    widths = column_widths((row for group in groups for row in group.rows), room)
    for group in groups:
        if group.border:
            yield f"── {group.border} "
        yield _noted(f"{group.line or '':>{gutter}}  {group.text}", group.note, columns)
        for row in group.rows:
            yield margin + _row_line(row, widths, room)


def _beside(groups: Sequence[Group], columns: int, gutter: int) -> Iterable[str]:
    left = min(max(text_width(group.text) for group in groups), columns * 45 // 100 - gutter - 2)
    room = columns - gutter - 2 - left - 3
    widths = column_widths((row for group in groups for row in group.rows), room)
    for group in groups:
        if group.border:
            yield f"{'':>{gutter}}  {f'── {group.border} '.ljust(left, '─')}─┤"
        texts = chunks(group.text, left)
        rows = [_row_line(row, widths, room) for row in group.rows] or [group.note]
        number = "" if group.line is None else str(group.line)
        for index in range(max(len(texts), len(rows))):
            text = texts[index] if index < len(texts) else ""
            row = rows[index] if index < len(rows) else ""
            yield f"{'' if index else number:>{gutter}}  {padded(text, left)} │ {row}"


def _row_line(row: Row, widths: tuple[int, int], room: int) -> str:
    return _clipped(printable("".join(piece.text for piece in row_pieces(row, widths))), room)


def _finding_lines(finding: Finding, width: int, source: str) -> Iterable[str]:
    where = f"line {finding.line} · " if finding.line is not None else ""
    yield from _wrapped(f"{where}{finding.kind}: {finding.message}", width)
    yield from detail_lines(finding, width, source)


def detail_lines(finding: Finding, width: int, source: str) -> Iterable[str]:
    """What there is to say below the message of a finding."""
    yield from render_painted(paint(source, finding))
    facts: list[str] = []
    held, made = fed_by(finding)
    known = [f"{held}{finding.holder}"] if finding.holder and f"`{finding.holder}`" not in finding.message else []
    known += [f"{made}{finding.origin}"] if finding.origin else []
    facts += [f"  {fact}" for fact in known] if made else [f"  {', '.join(known)}"] if known else []
    if finding.fix is not None:
        tried = " (tried: it works)" if finding.fix.verified else ""
        options = f" {finding.fix.options}" if finding.fix.options else ""
        facts.append(f"  try: {finding.fix.text}{options}{tried}")
    for fact in facts:
        yield from _wrapped(fact, width)
    if finding.fix is not None and finding.fix.edit is not None:
        yield f"    line {finding.fix.edit[0]}"
        yield from (f"    {printable(line)}" for line in edit_lines(finding.fix))


def _wrapped(fact: str, width: int) -> Iterable[str]:
    text = printable(fact)
    indent = " " * (len(text) - len(text.lstrip()) + 4)
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False) or [""]


def render_painted(lines: Iterable[PaintedLine]) -> Iterable[str]:
    """Lines of a cell with their numbers; an arrow points at the one where it happened, carets at the expression."""
    for line in lines:
        number = "" if line.number is None else str(line.number)
        yield f"  {'▸' if line.hit else ' '} {number:>3}  {printable(line.text)}".rstrip()
        if line.marked is not None:
            first, last = line.marked
            yield f"       {' ' * (first + 2)}{'^' * max(1, last - first)}"


def _noted(text: str, note: str, columns: int) -> str:
    if not note:
        return text
    room = columns - text_width(text) - len(note) - 4
    return f"{text}{' ' * max(2, room)}  {note}"


def _clipped(text: str, width: int) -> str:
    return text if text_width(text) <= width else chunks(text, width - 1)[0] + "…"
