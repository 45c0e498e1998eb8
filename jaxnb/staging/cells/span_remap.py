"""The same code laid out anew: where a place of one cell stands in another that differs in comments and layout only.

A program serves every cell with the same code. Its equations know their places in the cell that was traced.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from jaxnb.program import Level, Span, relocated
from jaxnb.staging.cells.cell import CellSource

__all__ = ["relaid", "relay"]

Place = tuple[int, int, int, int]


def relaid(level: Level, old: CellSource, new: CellSource) -> Level:
    """The same level with the places of another cell.

    Args:
      level: whose spans are those of `old`.
      old: the cell that was traced.
      new: a cell with the same code.
    """
    if old is new or (old.shown, old.text) == (new.shown, new.text):
        return level
    return relocated(level, relay(old, new))


def relay(old: CellSource, new: CellSource) -> Callable[[Span], Span]:
    """What turns a span in one cell into that of the same code in another.

    >>> from jaxnb.staging.cells.cell import parse_cell
    >>> old, new = (parse_cell(text, filename="<cell>") for text in ("y = f(x)", "# twice\\ny = f(\\n  x)"))
    >>> relay(old, new)(Span(1, 4, 1, 8))
    Span(line=2, column=4, end_line=3, end_column=4, file='')
    """
    before, after = old.shown.split("\n"), new.shown.split("\n")
    places: dict[Place, Place] = {}
    lines: dict[int, int] = {}
    for a, b in zip(old.statements, new.statements, strict=True):
        for m, n in zip(ast.walk(a.node), ast.walk(b.node), strict=True):
            if isinstance(m, ast.expr | ast.stmt) and isinstance(n, ast.expr | ast.stmt):
                places[_place(m, before)] = _place(n, after)
                lines.setdefault(m.lineno, n.lineno)

    def moved(span: Span) -> Span:
        if span.file:
            return span
        found = places.get((span.line, span.column, span.end_line, span.end_column))
        if found is not None:
            return Span(*found)
        line = lines.get(span.line, 1)  # a part of a line that is no node, such as an `if` without its body
        return Span(line, 0, line, len(after[line - 1]))

    return moved


def _place(node: ast.expr | ast.stmt, lines: list[str]) -> Place:
    end = node.end_lineno or node.lineno
    return (
        node.lineno,
        _characters(lines[node.lineno - 1], node.col_offset),
        end,
        _characters(lines[end - 1], node.end_col_offset or 0),
    )


def _characters(line: str, column: int) -> int:
    """A column in characters, of one in bytes of UTF-8."""
    return column if line.isascii() else len(line.encode()[:column].decode(errors="replace"))
