"""What became of each statement of a cell: which piece it is part of, or why Python ran it."""

from __future__ import annotations

from collections.abc import Mapping

from jaxnb.program import Finding, Span
from jaxnb.staging.cells.blocks import ROLLED
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.cells.parts import is_part
from jaxnb.staging.reuse.cache import CodeRecord
from jaxnb.staging.trace.operands import OPERAND

__all__ = ["Fate", "read_fates", "read_needed", "read_on_host"]

Fate = tuple[Span, str, tuple[tuple[str, str], ...]]
"""Where a statement stands, "staged" or "host", and with it ("piece", number) or ("reason", text)."""


def read_on_host(cell: CellSource, record: CodeRecord) -> list[tuple[int, str]]:
    """The lines that Python runs because they need values, each with the reason."""
    found: list[tuple[int, str]] = []
    for index, why in record.on_host.items():
        if _is_part(cell.statements[index]):
            continue
        opened = record.opened.get(index)
        inner: list[tuple[int, str]] = []
        for block in opened.blocks if opened is not None else ():
            inner += read_on_host(block, record.within(index, block))
        if opened is not None and opened.functions:  # what is inside stands on lines of the function
            inner = [(why[0], reason) for _, reason in inner[:1]] if why[1] == ROLLED else []
        found += inner or ([why] if why[1] != ROLLED else [])  # what is inside says more
    return sorted(found)


def read_needed(cell: CellSource, record: CodeRecord) -> list[Finding]:
    """What there is to say about the values that these lines need, in the order of the lines."""
    found: list[Finding] = []
    for index in record.on_host:
        opened = record.opened.get(index)
        inner: list[Finding] = []
        if opened is not None and not opened.functions:  # what is in a function is of its lines
            for block in opened.blocks:
                inner += read_needed(block, record.within(index, block))
        own = record.needed.get(index)
        found += inner or ([own] if own is not None else [])
    return sorted(found, key=lambda finding: finding.line or 0)


def read_fates(cell: CellSource, record: CodeRecord, staged: Mapping[Span, int]) -> list[Fate]:
    """Every statement in the order of the text; of those that were taken apart the header, and what is inside.

    Args:
      cell: that ran.
      record: what is kept of its code.
      staged: the piece that each staged statement belongs to. If there is but one piece, it is not named.
    """
    several = len(set(staged.values())) > 1
    lines = cell.shown.splitlines()
    found = sorted(_read(cell, record, staged, several, lines), key=lambda fate: (fate[0].line, fate[0].column))
    return found


def _read(
    cell: CellSource, record: CodeRecord, staged: Mapping[Span, int], several: bool, lines: list[str]
) -> list[Fate]:
    found: list[Fate] = []
    for index, statement in enumerate(cell.statements):
        if _is_part(statement):
            continue  # what it is part of stands for it
        opened = record.opened.get(index)
        line, why = record.on_host.get(index, (0, ""))
        reason = (("reason", why),) if why else ()
        if opened is None:
            number = staged.get(statement.span)
            piece = (("piece", str(number)),) if several else ()
            found.append((statement.span, "staged", piece) if number else (statement.span, "host", reason))
            continue
        if opened.functions:
            found.append((statement.span, "host", reason))
            continue
        inner: list[Fate] = []
        for block in opened.blocks:
            inner += _read(block, record.within(index, block), staged, several, lines)
        head = statement.span.line
        found.append((_whole_line(head, lines), "host", reason if line == head else ()))
        if line > head and not any(span.line <= line <= span.end_line for span, _, _ in inner):
            found.append((_whole_line(line, lines), "host", reason))  # what needed the value, and is in no block
        found += inner
    return found


def _is_part(statement: Statement) -> bool:
    return any(
        is_part(name) and not name.startswith(OPERAND) for name in statement.names.binds | statement.names.deletes
    )


def _whole_line(number: int, lines: list[str]) -> Span:
    text = lines[number - 1]
    return Span(number, len(text) - len(text.lstrip()), number, len(text))
