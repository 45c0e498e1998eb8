"""The collectives of a program as text: a row for each, and what is sent over each axis of the mesh."""

from __future__ import annotations

from collections.abc import Sequence

from jaxnb.placement.ledger import Collective, Ledger
from jaxnb.units import format_bytes
from jaxnb.views.aligned import align
from jaxnb.views.compact import short_seconds

__all__ = [
    "HEADS",
    "axes_text",
    "ledger_facts",
    "ledger_row",
    "ledger_times",
    "ledger_title",
    "render_ledger",
    "roofline_text",
]

HEADS = ("line", "collective", "over", "sends", "times", "total", "pass", "by", "why")
_RIGHT = (0, 3, 4, 5)


def render_ledger(ledger: Ledger, *, source: str | None = None, width: int = 120) -> str:
    """A ledger as text, in the order of the program.

    Args:
      ledger: to be shown.
      source: the cell, to show the line of each collective behind it; by default that of the ledger.
      width: of the text, in characters; lines of the cell are cut to fit.

    >>> print(render_ledger(Ledger(())))
    no collectives: no device sends anything to another
    """
    if not ledger.items:
        return ledger_title(ledger)
    lines = (ledger.source if source is None else source).splitlines()
    times = ledger_times(ledger)
    cells = [(*HEADS, *times[:1], ""), *_rows(ledger, times, lines)]
    head = " · ".join([ledger_title(ledger), *ledger_facts(ledger)])
    return "\n".join([head, *roofline_text(ledger), "", *(_cut(line, width) for line in align(cells, _RIGHT))])


def ledger_times(ledger: Ledger) -> list[str]:
    """A head and what each collective would take; nothing where no hardware was asked for."""
    if ledger.estimate is None:
        return []
    seconds = [sending.seconds for sending in ledger.estimate.sendings]
    return ["time", *("?" if second is None else short_seconds(second) for second in seconds)]


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


def _rows(ledger: Ledger, times: Sequence[str], lines: Sequence[str]) -> list[tuple[str, ...]]:
    return [
        (*ledger_row(item), *times[number + 1 : number + 2], _line(item, lines))
        for number, item in enumerate(ledger.items)
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
