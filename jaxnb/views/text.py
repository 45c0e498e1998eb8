"""A program and its findings as plain text, for a terminal or wherever nothing better can be shown."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from jaxnb.program import Finding, Program
from jaxnb.views.columns import column_widths, row_pieces
from jaxnb.views.cost_table import NO_COLUMNS, Columns, CostTable, choose_columns, read_cost_table
from jaxnb.views.folding import Fold
from jaxnb.views.grouping import MOST_ROWS, level_below, read_groups
from jaxnb.views.painting import PaintedLine, edit_lines, fed_by, paint
from jaxnb.views.rows import Group, Row, legend
from jaxnb.views.sequence import read_sequence
from jaxnb.views.width import chunks, clipped, padded, printable, text_width, wrapped

__all__ = ["detail_lines", "render_findings", "render_program"]

_SIDE_BY_SIDE = 100  # columns from which on the source stands beside the ops


def render_program(
    program: Program,
    *,
    width: int | None = None,
    level: str | None = None,
    limit: int | None = MOST_ROWS,
    order: Literal["source", "level"] = "source",
    fold: Fold = None,
    columns: Sequence[str] | Literal["auto"] = (),
    names: bool = False,
) -> str:
    """A level as text, either below the lines of the cell that caused it or in its own order.

    Args:
      program: what to show.
      width: how many columns there are; by default those of the terminal.
      level: which level to show; by default the one below the source.
      limit: how many ops at most, or None for all.
      order: "source" for each line of the cell with what it became, side by side where there is room (from 100
        columns on) and otherwise one below the other; "level" for the ops in the order of the level, each with the
        number of its line in front.
      fold: how many levels of bodies are shown, 0 folding all; or the names of computations to fold; or None for as
        many as fit the limit.
      columns: which costs to show, names of `program.COLUMNS`, or "auto" for those that have anything to say. A number
        is of an op without its bodies if they are shown, and with them if they are folded; `?` is what nobody knows,
        and behind `≥` something unknown is left out. Memory is the most that the values of a line take at one time.
        Where there is no room for all, bytes goes first, then memory, flops and time.
      names: whether lines say what the names were that they assign, as comments.

    Raises:
      KeyError: if the program does not have that level.
      ValueError: for a column that there is not.

    >>> from jaxnb.program import Aval, Computation, Level, Op, Span, Value
    >>> values = (Value("a", Aval("float32")), Value("b", Aval("float32")))
    >>> main = Computation("main", (0,), (1,), (Op("neg", (0,), (1,), span=Span(1), flops=1),), (), ("x",), ("y",))
    >>> small = Program("y = -x", (Level("jaxpr", values, (main,)),))
    >>> print(render_program(small, width=80))
       (inputs)
         a ← x      f32[]
    1  y = -x
         b = neg a  f32[]  → y
    >>> print(render_program(small, width=80, order="level", columns=["flops"]))
         flops
                 main
                   a ← x      f32[]
    1      1 F █   b = neg a  f32[]  → y
                   return b   f32[]  → y
           1 F   (all)
    """
    room = max(40, shutil.get_terminal_size().columns if width is None else width)
    shown = level_below(program, level)
    tally = read_cost_table(program, shown, columns) if columns else None
    if order == "level":
        rows = read_sequence(shown, limit, fold=fold, tally=tally)
        lines = list(_in_order(rows, room, columns, tally))
    else:
        groups = read_groups(program, level, limit, fold=fold, tally=tally, names=names)
        groups = [replace(group, text=printable(group.text)) for group in groups]
        rows = [row for group in groups for row in group.rows]
        gutter = len(str(len(groups)))
        beside = choose_columns(columns, tally, room // 6) if tally else NO_COLUMNS
        costs = choose_columns(columns, tally, room // 6, ops_alone=True) if tally else NO_COLUMNS
        if room - beside.width - costs.width >= (_SIDE_BY_SIDE if not tally else _SIDE_BY_SIDE - 8):
            lines = list(_beside(groups, room, gutter, beside, costs))
        else:
            below = choose_columns(columns, tally, room // 3) if tally else NO_COLUMNS
            lines = list(_below(groups, room, gutter, below))
    sizes = [f"line {one.line} · {one.message}" for one in program.findings if one.kind == "sizes"]
    lines += [line for text in (*legend(rows), *map(printable, sizes)) for line in textwrap.wrap(text, room)]
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


def _below(groups: Sequence[Group], width: int, gutter: int, costs: Columns) -> Iterable[str]:
    margin = " " * (gutter + 2)
    room = width - len(margin) - costs.width - 2
    widths = column_widths((row for group in groups for row in group.rows), room)
    if costs.names:
        yield margin + costs.head
    for group in groups:
        if group.border:
            yield f"── {group.border} "
        number = f"{group.line or '':>{gutter}}  {costs.cells(group.cost)}"
        texts = chunks(group.text, room + 2)
        rest = [f"{margin}{costs.cells(None)}{text}" for text in texts[1:]]
        yield from _noted([number + texts[0], *rest], group.note, width, margin)
        for row in group.rows:
            yield f"{margin}{costs.cells(row.cost)}  {_row_line(row, widths, room)}"
    if costs.names:
        yield f"{margin}{costs.total}(all)"


def _beside(groups: Sequence[Group], width: int, gutter: int, costs: Columns, own: Columns) -> Iterable[str]:
    """The lines with their costs at the left, the ops with theirs at the right."""
    whole = width - costs.width - own.width
    left = min(max(text_width(group.text) for group in groups), whole * 45 // 100 - gutter - 2)
    room = whole - gutter - 2 - left - 3
    widths = column_widths((row for group in groups for row in group.rows), room)
    margin = " " * (gutter + 2)
    if costs.names:
        yield f"{margin}{costs.head}{' ' * left} │ {own.head}"
    for group in groups:
        if group.border:
            yield f"{margin}{costs.cells(None)}{f'── {group.border} '.ljust(left, '─')}─┤"
        texts = chunks(group.text, left)
        rows = [own.cells(row.cost) + _row_line(row, widths, room) for row in group.rows] or [group.note]
        number = "" if group.line is None else str(group.line)
        for index in range(max(len(texts), len(rows))):
            text = texts[index] if index < len(texts) else ""
            row = rows[index] if index < len(rows) else ""
            cells = costs.cells(None if index else group.cost)
            yield f"{'' if index else number:>{gutter}}  {cells}{padded(text, left)} │ {row}"
    if costs.names:
        yield f"{margin}{costs.total}{padded('(all)', left)} │"


def _in_order(
    rows: Sequence[Row], width: int, columns: Sequence[str] | Literal["auto"], tally: CostTable | None
) -> Iterable[str]:
    """The rows with the numbers of their lines in front."""
    costs = choose_columns(columns, tally, width // 3, ops_alone=True) if tally else NO_COLUMNS
    gutter = max((len(str(row.line)) for row in rows if row.line is not None), default=1)
    room = width - gutter - 2 - costs.width
    widths = column_widths(rows, room)
    if costs.names:
        yield f"{'':>{gutter}}  {costs.head}"
    for row in rows:
        number = "" if row.line is None else str(row.line)
        yield f"{number:>{gutter}}  {costs.cells(row.cost)}{_row_line(row, widths, room)}"
    if costs.names:
        yield f"{'':>{gutter}}  {costs.total}(all)"


def _row_line(row: Row, widths: tuple[int, int], room: int) -> str:
    return clipped(printable("".join(piece.text for piece in row_pieces(row, widths))), room)


def _finding_lines(finding: Finding, width: int, source: str) -> Iterable[str]:
    where = f"line {finding.line} · " if finding.line is not None else ""
    yield from wrapped(f"{where}{finding.kind}: {finding.message}", width)
    yield from detail_lines(finding, width, source)


def detail_lines(finding: Finding, width: int, source: str) -> Iterable[str]:
    """What there is to say below the message of a finding."""
    yield from render_painted(paint(source, finding))
    facts: list[str] = []
    held, made = fed_by(finding)
    known = [f"{held}{finding.holder}"] if finding.holder and f"`{finding.holder}`" not in finding.message else []
    known += [f"{made}{finding.origin}"] if finding.origin else []
    facts += [f"  {fact}" for fact in finding.operands]
    facts += [f"  {fact}" for fact in known] if made else [f"  {', '.join(known)}"] if known else []
    if finding.fix is not None:
        tried = " (tried: it works)" if finding.fix.verified else ""
        options = f" {finding.fix.options}" if finding.fix.options else ""
        facts.append(f"  try: {finding.fix.text}{options}{tried}")
    for fact in facts:
        yield from wrapped(fact, width)
    if finding.fix is not None and finding.fix.edit is not None and finding.fix.verified:
        yield f"    line {finding.fix.edit[0]}"
        yield from (f"    {printable(line)}" for line in edit_lines(finding.fix))
    if finding.said:
        yield from wrapped(f"  JAX: {finding.said}", width)


def render_painted(lines: Iterable[PaintedLine]) -> Iterable[str]:
    """Lines of a cell with their numbers; an arrow points at the one where it happened, carets at the expression."""
    for line in lines:
        number = "" if line.number is None else str(line.number)
        yield f"  {'▸' if line.hit else ' '} {number:>3}  {printable(line.text)}".rstrip()
        if line.marked is not None:
            first, last = line.marked
            yield f"       {' ' * (first + 2)}{'^' * max(1, last - first)}"


def _noted(lines: list[str], note: str, width: int, margin: str) -> Iterable[str]:
    """The lines with a note at the right of the last one, or below it where there is no room."""
    yield from lines[:-1]
    room = width - text_width(lines[-1]) - text_width(note)
    yield lines[-1] + (" " * room + note if note and room >= 2 else "")
    if note and room < 2:
        yield margin + clipped(note, width - len(margin)).rjust(width - len(margin))
