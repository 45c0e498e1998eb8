"""A table, and what it is as text and as HTML: whoever has rows says what they are, and nobody lays them out by hand.

A column in which nothing is written is left out of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from jaxnb.views.escape import Html, element
from jaxnb.views.width import clipped, printable, text_width

__all__ = ["Cell", "Cells", "Head", "Table", "first_rows", "table_element", "table_lines"]

_GAP = 2
_CLASSES = {"code": {"class": "c"}, "number": {"class": "r"}}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Head:
    """A column.

    Attributes:
      text: what stands above it.
      kind: a "number" is set to the right, a "mark" to the middle, and "code" in letters of one width.
      least: how wide it is at least in a text.
      most: how wide it is at most; a longer cell is cut. None for any width.
      gap: the spaces in front of it.
    """

    text: str = ""
    kind: Literal["text", "code", "number", "mark"] = "text"
    least: int = 0
    most: int | None = None
    gap: int = _GAP


@dataclass(frozen=True, slots=True)
class Cell:
    """What is more than a text.

    Attributes:
      text: what a terminal shows of it.
      colours: HTML has a patch of these in front of it, from the first to the last.
      picture: what HTML shows in its place.
    """

    text: str
    colours: tuple[str, ...] = ()
    picture: Callable[[], Html] | None = None


Cells = Sequence[str | Cell]
"""A row. The last cell of one that is shorter than the heads takes the rest of the line, whatever the columns are."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells below their heads.

    Attributes:
      heads: the columns; where none of them says anything there is no line of heads.
      rows: from the top down.
      marked: the rows that HTML sets apart, by their positions.
    """

    heads: tuple[Head, ...]
    rows: tuple[Cells, ...]
    marked: frozenset[int] = frozenset()

    def is_short(self, row: Cells) -> bool:
        """Whether the last cell of a row takes the rest of the line."""
        return len(row) < len(self.heads)

    def column(self, number: int) -> Iterable[str | Cell]:
        """The cells of one column, without those that are of no column."""
        return (row[number] for row in self.rows if number < len(row) - self.is_short(row))


def first_rows(items: Sequence[T], row: Callable[[T], Cells], limit: int | None) -> tuple[Cells, ...]:
    """The rows of the first items, and one that says how many more there are.

    >>> first_rows("abc", lambda letter: (letter, letter.upper()), 2)
    (('a', 'A'), ('b', 'B'), ('and 1 more',))
    """
    shown = items if limit is None else items[:limit]
    rest = len(items) - len(shown)
    return (*map(row, shown), *([(f"and {rest} more",)] if rest else []))


def table_lines(table: Table, width: int | None = None) -> list[str]:
    """A table as text, without control characters and without spaces at the ends of the lines.

    Args:
      table: to be shown.
      width: how long a line may be; what is longer is cut. None for any length.

    >>> heads = (Head("array"), Head(), Head("bytes", "number"))
    >>> table_lines(Table(heads, (("x", "", "64 KB"), ("table", "", "8 B"), ("and 2 more",))))
    ['array  bytes', 'x      64 KB', 'table    8 B', 'and 2 more']
    """
    widths = [
        max([head.least, text_width(head.text), *(text_width(_text(cell, head.most)) for cell in table.column(number))])
        for number, head in enumerate(table.heads)
    ]
    titles = [[head.text for head in table.heads]] if any(head.text for head in table.heads) else []
    lines = [_line(row, table, widths).rstrip() for row in (*titles, *table.rows)]
    return lines if width is None else [clipped(line, width) for line in lines]


def table_element(table: Table) -> Html:
    """A table as HTML, for the sheets placement.css and ledger.css.

    >>> table_element(Table((Head("size", "number"),), (("<1 B",),)))
    '<table class="jnb-t"><tr><th>size</th></tr><tr><td class="r">&lt;1 B</td></tr></table>'
    """
    used = [number for number, head in enumerate(table.heads) if head.text or any(map(_written, table.column(number)))]
    titles = [element("th", None, table.heads[number].text) for number in used]
    rows = [element("tr", None, *titles)] if any(table.heads[number].text for number in used) else []
    for place, row in enumerate(table.rows):
        spanning = len(row) - 1 if table.is_short(row) else len(row)
        cells = [
            element("td", _CLASSES.get(table.heads[number].kind), _content(row[number]))
            for number in used
            if number < spanning
        ]
        if spanning < len(row):
            cells.append(element("td", {"colspan": str(len(used) - len(cells))}, _content(row[-1])))
        rows.append(element("tr", {"class": "d"} if place in table.marked else None, *cells))
    return element("table", {"class": "jnb-t"}, *rows)


def _line(row: Cells, table: Table, widths: Sequence[int]) -> str:
    parts: list[str] = []
    for number, (cell, head) in enumerate(zip(row, table.heads, strict=False)):
        spans = table.is_short(row) and number == len(row) - 1
        if widths[number] or spans:
            gap = _GAP if spans else head.gap
            text = _text(cell, None) if spans else _set(_text(cell, head.most), widths[number], head.kind)
            parts += [" " * gap if parts else "", text]
    return "".join(parts)


def _text(cell: str | Cell, most: int | None) -> str:
    text = printable(cell.text if isinstance(cell, Cell) else cell)
    return text if most is None else clipped(text, most)


def _set(text: str, width: int, kind: str) -> str:
    spare = width - text_width(text)
    before = {"number": spare, "mark": spare // 2}.get(kind, 0)
    return f"{' ' * before}{text}{' ' * (spare - before)}"


def _written(cell: str | Cell) -> bool:
    return bool(cell) if isinstance(cell, str) else bool(cell.text) or cell.picture is not None


def _content(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return cell
    if cell.picture is not None:
        return cell.picture()
    if not cell.colours:
        return cell.text
    return element("span", {"class": "a", "style": f"--a:{cell.colours[0]};--z:{cell.colours[-1]}"}, cell.text)
