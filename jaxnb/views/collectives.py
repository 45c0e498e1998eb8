"""The collectives of a program as text: a row for each, and what is sent over each axis of the mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxnb.program import Collective, Ledger
from jaxnb.units import format_bytes
from jaxnb.views.aligned import align
from jaxnb.views.compact import short_seconds

__all__ = [
    "HEADS",
    "MOST_ROWS",
    "LedgerRow",
    "axes_text",
    "ledger_facts",
    "ledger_row",
    "ledger_rows",
    "ledger_title",
    "render_ledger",
    "roofline_text",
]

HEADS = ("line", "collective", "over", "sends", "times", "total", "pass", "by", "why")
MOST_ROWS = 60
"""Rows of a table, of which each may stand for many collectives."""

_RIGHT = (0, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """Collectives that read alike, as the unrolled layers of a model do.

    Attributes:
      item: the first of them.
      cells: in the columns of `HEADS`, and the time behind them if hardware was asked for.
    """

    item: Collective
    cells: tuple[str, ...]


def ledger_rows(ledger: Ledger) -> list[LedgerRow]:
    """The rows of a ledger in the order of the program; those that read alike are one, which says how many they are."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, item in enumerate(ledger.items):
        alike.setdefault(ledger_row(item), []).append(number)
    return [
        LedgerRow(ledger.items[numbers[0]], (*_many(cells, ledger, numbers), *_time(ledger, numbers)))
        for cells, numbers in alike.items()
    ]


def _many(cells: tuple[str, ...], ledger: Ledger, numbers: Sequence[int]) -> tuple[str, ...]:
    if len(numbers) == 1:
        return cells
    totals = [ledger.items[number].total for number in numbers]
    together = "?" if None in totals else format_bytes(sum(total or 0 for total in totals))
    return (cells[0], f"{len(numbers)} × {cells[1]}", *cells[2:5], together, *cells[6:])


def _time(ledger: Ledger, numbers: Sequence[int]) -> tuple[str, ...]:
    """What these collectives would take together; nothing where no hardware was asked for."""
    if ledger.estimate is None:
        return ()
    seconds = [ledger.estimate.sendings[number].seconds for number in numbers]
    return ("?" if None in seconds else short_seconds(sum(second or 0.0 for second in seconds)),)


def render_ledger(ledger: Ledger, *, source: str | None = None, width: int = 120, limit: int | None = MOST_ROWS) -> str:
    """A ledger as text, in the order of the program.

    Args:
      ledger: to be shown.
      source: the cell, to show the line of each collective behind it; by default that of the ledger.
      width: of the text, in characters; lines of the cell are cut to fit.
      limit: how many rows at most; None for all.

    >>> print(render_ledger(Ledger(())))
    no collectives: no device sends anything to another
    """
    if not ledger.items:
        return ledger_title(ledger)
    lines = (ledger.source if source is None else source).splitlines()
    rows = ledger_rows(ledger)
    shown = rows if limit is None else rows[:limit]
    heads = (*HEADS, *(["time"] if ledger.estimate is not None else []), "")
    cells = [heads, *((*row.cells, _line(row.item, lines)) for row in shown)]
    head = " · ".join([ledger_title(ledger), *ledger_facts(ledger)])
    rest = [f"and {len(rows) - len(shown)} more"] if len(shown) < len(rows) else []
    table = [_cut(line, width) for line in align(cells, _RIGHT)]
    return "\n".join([head, *roofline_text(ledger), "", *table, *rest])


def roofline_text(ledger: Ledger) -> list[str]:
    """What sending takes on the hardware beside what computing takes, in a sentence; none where nobody asked."""
    estimate = ledger.estimate
    if estimate is None:
        return []
    sending, computing = estimate.communication, estimate.computation
    bound = "sending" if sending > computing else "computing"
    least = "" if estimate.complete else "at least "
    return [
        f"on {estimate.hardware.name}, at its peaks: {least}{short_seconds(estimate.total)} · sending "
        f"{short_seconds(sending)}, computing {short_seconds(computing)} · bound by {bound}"
    ]


def ledger_title(ledger: Ledger) -> str:
    """`3 collectives · a device sends 448 B`."""
    count = len(ledger.items)
    if not count:
        return "no collectives: no device sends anything to another"
    least = "" if ledger.complete else "at least "
    return f"{count} collective{'s' * (count > 1)} · a device sends {least}{format_bytes(ledger.total)}"


def ledger_facts(ledger: Ledger) -> list[str]:
    """What is sent over each axis, the most first, and how many collectives the user wrote."""
    over = [f"{format_bytes(total)} over {axes_text(axes)}" for axes, total in ledger.by_axes().items()]
    written = len(ledger.written)
    inserted = len(ledger.items) - written
    return [*over, *([f"{written} written by you"] if written else []), *([f"{inserted} by XLA"] if inserted else [])]


def ledger_row(item: Collective) -> tuple[str, ...]:
    """A collective in the columns of `HEADS`."""
    return (
        ", ".join(map(str, item.lines or (() if item.line is None else (item.line,)))),
        item.kind + (f" of {item.values}" if item.values > 1 else ""),
        axes_text(item.axes) if item.axes is not None else f"{item.group} devices" if item.group else "?",
        "?" if item.sent is None else format_bytes(item.sent),
        "?" if item.times is None else f"×{item.times}",
        "?" if item.total is None else format_bytes(item.total),
        "backward" if item.backward else "forward",
        "you" if item.written else "XLA",
        item.why,
    )


def axes_text(axes: tuple[str, ...] | None) -> str:
    """`x, y`; what stands for no axis at all, and for groups that are none."""
    if axes is None:
        return "other groups"
    return ", ".join(axes) or "no axis"


def _line(item: Collective, lines: Sequence[str]) -> str:
    return lines[item.line - 1].strip() if item.line is not None and item.line <= len(lines) else ""


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"
