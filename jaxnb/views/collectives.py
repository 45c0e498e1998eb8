"""The collectives of a program as text: a row for each, and what is sent over each axis of the mesh."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from jaxnb.program import Collective, Ledger
from jaxnb.units import format_bytes
from jaxnb.views.compact import short_seconds
from jaxnb.views.table import Cell, Head, Table, first_rows, table_lines
from jaxnb.views.tints import axis_colours

__all__ = [
    "GREY",
    "axes_text",
    "ledger_colours",
    "ledger_facts",
    "ledger_row",
    "ledger_table",
    "ledger_title",
    "render_ledger",
    "roofline_text",
]

GREY = "#808080"

_HEADS = (
    Head("line", "number"),
    Head("collective"),
    Head("over"),
    Head("sends", "number"),
    Head("times", "number"),
    Head("total", "number"),
    Head("pass"),
    Head("by"),
    Head("why"),
)
_MOST = 60  # of which each may stand for many collectives


def ledger_table(ledger: Ledger, limit: int | None, source: str) -> Table:
    """The collectives in the order of the program, with their lines; those that read alike are one row, as the unrolled
    layers of a model do, which says how many they are."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, item in enumerate(ledger.items):
        alike.setdefault(ledger_row(item), []).append(number)
    row = partial(_row, ledger, ledger_colours(ledger), source.splitlines())
    time = [Head("time", "number")] if ledger.estimate is not None else []
    return Table((*_HEADS, *time, Head("", "code")), first_rows([*alike.values()], row, limit))


def ledger_colours(ledger: Ledger) -> dict[str, str]:
    """The colours of the axes, in the order of the mesh."""
    names = [axis.name for axis in ledger.mesh.axes] if ledger.mesh is not None else []
    return axis_colours([*names, *(name for item in ledger.items for name in item.axes or ())])


def _row(
    ledger: Ledger, colours: dict[str, str], lines: Sequence[str], numbers: Sequence[int]
) -> tuple[str | Cell, ...]:
    """Collectives that read alike."""
    item = ledger.items[numbers[0]]
    line, kind, over, *rest = _many(ledger_row(item), ledger, numbers)
    own = tuple(colours[name] for name in item.axes or ()) or (GREY,)
    text = lines[item.line - 1].strip() if item.line is not None and item.line <= len(lines) else ""
    return (line, kind, Cell(over, own), *rest, *_time(ledger, numbers), text)


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


def render_ledger(ledger: Ledger, *, source: str | None = None, width: int = 120, limit: int | None = _MOST) -> str:
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
    head = " · ".join([ledger_title(ledger), *ledger_facts(ledger)])
    table = ledger_table(ledger, limit, ledger.source if source is None else source)
    return "\n".join([head, *roofline_text(ledger), "", *table_lines(table, width)])


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
    """What is sent over each axis, the most first, what of it between processes, and how many collectives the user
    wrote."""
    over = [f"{format_bytes(total)} over {axes_text(axes)}" for axes, total in ledger.by_axes().items()]
    if (reach := ledger.by_reach()) is not None:
        over += [
            f"{format_bytes(reach[1])} between processes",
            *([f"{format_bytes(reach[0])} within"] if reach[0] else []),
        ]
    written = len(ledger.written)
    inserted = len(ledger.items) - written
    return [*over, *([f"{written} written by you"] if written else []), *([f"{inserted} by XLA"] if inserted else [])]


def ledger_row(item: Collective) -> tuple[str, ...]:
    """A collective in its columns, but for the time and the line."""
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
