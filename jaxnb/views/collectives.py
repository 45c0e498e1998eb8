"""The collectives of a program as text: a row for each, and what is sent over each axis of the mesh."""

from __future__ import annotations

from jaxnb.placement.ledger import Collective, Ledger
from jaxnb.units import format_bytes

__all__ = ["render_ledger"]

_HEADS = ("line", "collective", "over", "sends", "times", "total", "pass", "by", "")
_RIGHT = (0, 3, 4, 5)


def render_ledger(ledger: Ledger, *, source: str = "", width: int = 120) -> str:
    """A ledger as text, in the order of the program.

    Args:
      ledger: to be shown.
      source: the cell, to show the line of each collective behind it.
      width: of the text, in characters; lines of the cell are cut to fit.

    >>> print(render_ledger(Ledger(())))
    no collectives: no device sends anything to another
    """
    if not ledger.items:
        return "no collectives: no device sends anything to another"
    count = len(ledger.items)
    least = "" if ledger.complete else "at least "
    head = f"{count} collective{'s' * (count > 1)} · a device sends {least}{format_bytes(ledger.total)}"
    over = [f"{format_bytes(total)} over {_axes(axes)}" for axes, total in ledger.by_axes().items()]
    lines = source.splitlines()
    cells = [_HEADS, *(_row(item, lines) for item in ledger.items)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADS))]
    rows = [
        "  ".join(
            f"{text:>{width}}" if column in _RIGHT else f"{text:<{width}}"
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    rows = [row if len(row) <= width else f"{row[: width - 1]}…" for row in rows]
    return "\n".join([" · ".join([head, *over]), "", *rows])


def _row(item: Collective, lines: list[str]) -> tuple[str, ...]:
    shown = lines[item.line - 1].strip() if item.line is not None and item.line <= len(lines) else ""
    return (
        "" if item.line is None else str(item.line),
        item.kind + (f" of {item.values}" if item.values > 1 else ""),
        _axes(item.axes) if item.axes is not None else f"{item.group} devices" if item.group else "?",
        "?" if item.sent is None else format_bytes(item.sent),
        "?" if item.times is None else f"×{item.times}",
        "?" if item.total is None else format_bytes(item.total),
        "backward" if item.backward else "forward",
        f"you: {item.why}" if item.written else f"XLA: {item.why}",
        shown,
    )


def _axes(axes: tuple[str, ...] | None) -> str:
    if axes is None:
        return "other groups"
    return ", ".join(axes) or "no axis"
