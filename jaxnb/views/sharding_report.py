"""How values are spread, as text: a row for each, what was asked for beside what the compiler made of it."""

from __future__ import annotations

from jaxnb.program import ShardingRow, Shardings
from jaxnb.units import format_bytes
from jaxnb.views.table import Head, Table, first_rows, table_lines
from jaxnb.views.text import render_findings

__all__ = ["render_shardings", "shardings_table", "shardings_title"]

_HEADS = (
    Head("line", "number"),
    Head(),
    Head("value", "code"),
    Head("asked", "code"),
    Head("type", "code"),
    Head("got", "code"),
    Head("a device", "number"),
    Head("copies", "number"),
    Head(),
)
_MOST = 60


def render_shardings(shardings: Shardings, *, width: int = 120, limit: int | None = _MOST) -> str:
    """The values of a program as a table, with what there is to say about them below.

    Args:
      shardings: to be shown.
      width: of the text, in characters.
      limit: how many rows at most; None for all.

    >>> print(render_shardings(Shardings(())))
    nothing is spread: the program runs on one device
    """
    if not shardings.rows:
        return shardings_title(shardings)
    below = ["", render_findings(shardings.findings, width=width)] if shardings.findings else []
    return "\n".join([shardings_title(shardings), "", *table_lines(shardings_table(shardings, limit)), *below])


def shardings_title(shardings: Shardings) -> str:
    """`7 values on x=4, y=2 · 1 is not as asked`."""
    count = len(shardings.rows)
    if not count:
        return "nothing is spread: the program runs on one device"
    differing = sum(row.differs for row in shardings.rows)
    on = f" on {shardings.mesh}" if shardings.mesh is not None else ""
    otherwise = f" · {differing} {'is' if differing == 1 else 'are'} not as asked" if differing else ""
    return f"{count} value{'s' * (count > 1)}{on}{otherwise}"


def shardings_table(shardings: Shardings, limit: int | None = _MOST) -> Table:
    """The values, those set apart that are not as they were asked for."""
    differing = frozenset(number for number, row in enumerate(shardings.rows[:limit]) if row.differs)
    return Table(_HEADS, first_rows(shardings.rows, _row, limit), differing)


def _row(row: ShardingRow) -> tuple[str, ...]:
    return (
        "" if row.line is None else str(row.line),
        {"line": "", "argument": "shard_map"}.get(row.role, row.role),
        f"{row.name} {row.aval}".strip(),
        row.asked,
        row.typed,
        row.got or "?",
        "" if row.most is None else format_bytes(row.most),
        f"×{row.copies}" if row.copies is not None and row.copies > 1 else "",
        ", ".join([*(["not as asked"] if row.differs else []), *row.notes]),
    )
