"""The timeline of a plan as text: what a device computes and its links send, side by side."""

from __future__ import annotations

from collections.abc import Iterator

from jaxnb.program import Block, Loop, Timeline, Transfer
from jaxnb.views.compact import profile_of, short_seconds
from jaxnb.views.table import Head, Table, table_lines

__all__ = [
    "block_text",
    "lines_text",
    "render_timeline",
    "seen_links",
    "strip_lines",
    "timeline_title",
    "transfer_text",
    "turns_text",
]

_COLUMNS = 72
_MOST_ROWS = 8
_WAITS, _HIDDEN = "█", "░"
_LEGEND = f"{_WAITS} the device waits for it, {_HIDDEN} something hides it; a loop stands for all of its turns"


def render_timeline(timeline: Timeline, *, width: int = 100) -> str:
    """A timeline as text: what takes how long, a strip for each lane, and what is worth looking at.

    Args:
      timeline: to be shown.
      width: of the text, in characters.
    """
    if not timeline.seconds:
        return "nothing takes time"
    lines = [timeline_title(timeline), "", *strip_lines(timeline, width=width), ""]
    return "\n".join([*lines, *table_lines(_table(timeline))])


def timeline_title(timeline: Timeline) -> str:
    """`153 us on a device of v5e:2x4: computing 50 us (the compiler's own cycles), waiting 103 us; 7 us of ...`."""
    least = "" if timeline.complete else "at least "
    whose = "the compiler's own cycles" if timeline.by_cycles else "a roofline of published peaks"
    where = f" on {timeline.machine}" if timeline.machine else ""
    text = f"{least}{short_seconds(timeline.seconds)}{where}: computing {short_seconds(timeline.computing)} ({whose})"
    if not timeline.transfers:
        return f"{text}, nothing is sent"
    seen = timeline.hidden > 0.005 * timeline.sending
    hidden = (
        f"{short_seconds(timeline.hidden) if seen else 'none'} of {short_seconds(timeline.sending)} of sending hidden"
    )
    return f"{text}, waiting {short_seconds(timeline.waiting)}; {hidden}"


def strip_lines(timeline: Timeline, *, width: int = 100) -> list[str]:
    """A line of characters for the loops, for what is computed, and for each link, and what they mean."""
    links = seen_links(timeline)
    names = ["loops", "computing", *links] if timeline.loops else ["computing", *links]
    room_left = max(len(name) for name in names) + 2
    columns = max(16, min(_COLUMNS, width - room_left))
    lines: list[str] = []
    if timeline.loops:
        lines += [f"{'loops':{room_left}}{_loops(timeline, columns)}"]
    lines.append(f"{'computing':{room_left}}{_computing(timeline, columns)}")
    lines += [f"{link:{room_left}}{_sending(timeline, link, columns)}" for link in links]
    return [*(line.rstrip() for line in lines), *([_LEGEND] if links else [])]


def seen_links(timeline: Timeline) -> list[str]:
    """The links over which anything goes that can be seen."""
    sums = {link: sum(one.seconds for one in timeline.transfers if one.link == link) for link in timeline.links}
    return [link for link, seconds in sums.items() if seconds > 0.002 * timeline.seconds]


def _loops(timeline: Timeline, columns: int) -> str:
    """The outermost loops as brackets with their turns."""
    cells = [" "] * columns
    for loop in timeline.loops:
        if loop.depth:
            continue
        first, last = (round(columns * at / timeline.seconds) for at in (loop.start, loop.stop))
        inside = max(last - first - 2, 0)
        text = turns_text(loop)
        bar = f"├{(text if len(text) <= inside else '').center(inside, '─')}┤" if last - first >= 2 else "│"
        cells[first : first + len(bar)] = bar
    return "".join(cells[:columns])


def _computing(timeline: Timeline, columns: int) -> str:
    """How much of each column is computed in, as heights."""
    found = [0.0] * columns
    for one in timeline.blocks:
        for at, share in _shares(one, timeline.seconds, columns):
            found[at] += share * one.seconds / (one.stop - one.start)
    return profile_of(found)


def _sending(timeline: Timeline, link: str, columns: int) -> str:
    found = [[0.0, 0.0] for _ in range(columns)]
    for one in timeline.transfers:
        if one.link == link and one.stop > one.start:
            for at, share in _shares(one, timeline.seconds, columns):
                found[at][0] += share * one.open / (one.stop - one.start)
                found[at][1] += share * one.hidden / (one.stop - one.start)
    return "".join(" " if waits + hidden < 0.1 else _WAITS if waits > hidden else _HIDDEN for waits, hidden in found)


def _shares(one: Block | Transfer, seconds: float, columns: int) -> Iterator[tuple[int, float]]:
    """The columns that a piece lies in, and how much of each it takes."""
    first, last = one.start / seconds * columns, one.stop / seconds * columns
    for at in range(int(first), min(int(last) + 1, columns)):
        share = min(last, at + 1) - max(first, at)
        if share > 0:
            yield at, share


def _table(timeline: Timeline) -> Table:
    """What is waited for, the longest first, and what takes the most to compute."""
    heads = (Head("line", "number"), Head("what", "code"), *(Head(name, "number") for name in _NUMBERS))
    sent = sorted(timeline.transfers, key=lambda one: (-one.open, -one.seconds))[:_MOST_ROWS]
    made = sorted(timeline.blocks, key=lambda one: -one.seconds)[:_MOST_ROWS]
    rows = [
        (_line(one.collective.line), _called(one), short_seconds(one.seconds), short_seconds(one.open)) for one in sent
    ]
    rows += [(_line(one.line), f"{one.what}{_more(one.count)}", short_seconds(one.seconds), "") for one in made]
    left = len(timeline.transfers) + len(timeline.blocks) - len(rows)
    return Table(heads, (*rows, *([("", f"and {left} more", "", "")] if left else [])))


_NUMBERS = ("takes", "waited for")


def _line(line: int | None) -> str:
    return "" if line is None else str(line)


def _called(one: Transfer) -> str:
    item = one.collective
    over = f" over {', '.join(item.axes)}" if item.axes else ""
    return f"{item.kind}{over}{_more(one.count)}"


def _more(count: int) -> str:
    return f" and {count - 1} more" if count > 1 else ""


def lines_text(line: int | None) -> str:
    """`line 5 · `, or nothing."""
    return "" if line is None else f"line {line} · "


def turns_text(loop: Loop) -> str:
    """`6 turns`."""
    return "turns nobody knows" if loop.turns is None else f"{loop.turns:,} turn{'s' * (loop.turns != 1)}"


def block_text(one: Block) -> str:
    """What a tooltip says of what is computed."""
    more = f" and {one.count - 1} shorter" if one.count > 1 else ""
    return f"{lines_text(one.line)}{one.what}{more} · {short_seconds(one.seconds)}"


def transfer_text(one: Transfer) -> str:
    """What a tooltip says of what is sent."""
    waits = "something hides it" if one.open <= 0.005 * one.seconds else f"the device waits {short_seconds(one.open)}"
    why = f" · {one.collective.why}" if one.collective.why and one.count == 1 else ""
    return f"{lines_text(one.collective.line)}{_called(one)} · {short_seconds(one.seconds)}, {waits}{why}"
