"""Tables as text: columns that stand one below the other."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["align"]


def align(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """The lines of a table, with two spaces between its columns; one in which nothing is written is left out.

    Args:
      rows: of cells, equally many in each, the heads among them.
      right: the columns that are set to the right.

    >>> align([("array", "", "bytes"), ("x", "", "64 KB"), ("table", "", "8 B")], right={2})
    ['array  bytes', 'x      64 KB', 'table    8 B']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
            if width
        ).rstrip()
        for row in rows
    ]
