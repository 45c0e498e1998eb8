"""A row as pieces of text in aligned columns: what the text view prints and the HTML view marks up."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from jaxnb.views.rows import Row
from jaxnb.views.width import padded, text_width

__all__ = ["Piece", "column_widths", "row_pieces"]

_INDENT = "  "
_WIDEST_TYPE = 16  # types beyond it are rare, and one of them should not push all others away


class Piece(NamedTuple):
    """A run of text and what it is."""

    kind: Literal["plain", "op", "heading", "mark", "type", "bound", "note", "attributes"]
    text: str


def column_widths(rows: Iterable[Row], room: int) -> tuple[int, int]:
    """How wide the columns of statements and of types are to be in so much room, so that most rows align."""
    rows = [row for row in rows if row.type]
    statement = max((text_width(_joined(_statement(row))) for row in rows), default=0)
    type_ = max((text_width(row.type) for row in rows), default=0)
    return min(statement, max(24, room // 2)), min(type_, _WIDEST_TYPE)


def row_pieces(row: Row, widths: tuple[int, int]) -> list[Piece]:
    """The pieces of a row, spaces included; joined, they are its text.

    >>> "".join(piece.text for piece in row_pieces(Row(0, "b", "neg", "a", "f32[]"), (10, 5)))
    'b = neg a   f32[]'
    """
    pieces = _statement(row)
    last: list[Piece] = []
    if row.bound:
        last.append(Piece("bound", f"→ {row.bound}"))
    if row.note:
        last.append(Piece("note", row.note))
    if row.attributes:
        last.append(Piece("attributes", " ".join(f"{name}={text}" for name, text in row.attributes)))
    if row.type:
        statement, type_ = widths
        spare = statement - text_width(_joined(pieces))
        pieces.append(Piece("plain", " " * (spare + 2 if spare > 0 else 2)))
        # A statement that is too long for its column takes what it can from the next one.
        pieces.append(Piece("type", padded(row.type, type_ + min(spare, 0)) if last else row.type))
    for piece in last:
        if pieces:
            pieces.append(Piece("plain", "  " if row.type else " "))
        pieces.append(piece)
    return pieces


def _statement(row: Row) -> list[Piece]:
    """The indent, `names = `, the op and its operands; nothing for a row that is only a remark."""
    pieces: list[Piece] = []
    if row.depth:
        pieces.append(Piece("plain", _INDENT * row.depth))
    if row.names:
        pieces.append(Piece("plain", f"{row.names} = " if row.op else f"{row.names} ← "))
    if row.op:
        pieces.append(Piece("heading" if row.heading else "op", row.op))
    if row.mark:
        pieces.append(Piece("mark", row.mark))
    if row.operands:
        pieces.append(Piece("plain", f" {row.operands}" if row.op else row.operands))
    return pieces


def _joined(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces)
