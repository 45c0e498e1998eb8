"""The timeline of a plan as SVG: loops, what a device computes, and a lane for each link, above one another.

What the device waits for is in the colour of warnings, what something hides is faint. Nothing has a width in pixels:
the drawing takes what there is. Tooltips say what a piece is; there is no script in it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jaxnb.program import Block, Loop, Timeline, Transfer
from jaxnb.views.compact import short_seconds
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element
from jaxnb.views.timeline import block_text, lines_text, seen_links, transfer_text, turns_text

__all__ = ["draw_timeline"]

_BAR, _GAP, _LABEL, _LOOP = 20.0, 10.0, 16.0, 15.0
_READ = 0.07  # of the width, from which on a piece has room for a word
_MOST_TICKS = 5


@dataclass(frozen=True, slots=True)
class _Lane:
    """One lane: its name, and what is drawn in it, row by row."""

    label: str
    rows: Sequence[Sequence[Block | Loop | Transfer]]
    height: float

    @property
    def total(self) -> float:
        return _LABEL + self.height * len(self.rows) + _GAP


def draw_timeline(timeline: Timeline) -> Html:
    """A timeline as an `svg` element; nothing for a program that takes no time.

    >>> draw_timeline(Timeline(0.0, (), ()))
    ''
    """
    if not timeline.seconds:
        return Html("")
    lanes = list(_lanes(timeline))
    tops = list(itertools.accumulate((lane.total for lane in lanes), initial=2.0))
    bottom = tops[-1]
    parts = [style_element("placement.css"), style_element("timeline.css"), *_ticks(timeline.seconds, bottom)]
    for lane, top in zip(lanes, tops, strict=False):
        parts.append(element("text", {"class": "q", "x": "0", "y": _n(top + 11)}, lane.label))
        for number, row in enumerate(lane.rows):
            parts += _row(row, timeline.seconds, top + _LABEL + number * lane.height, lane.height)
        if lane.label == _COMPUTING:
            parts += _waits(timeline, top + _LABEL + lane.height / 2)
    name = f"what a device does in {short_seconds(timeline.seconds)}"
    size = {"width": "100%", "height": _n(bottom + 20)}
    named = {"xmlns": "http://www.w3.org/2000/svg", **size, "class": "jnb-p jnb-tl", "role": "img", "aria-label": name}
    return element("svg", named, *parts)


_COMPUTING = "computing"


def _lanes(timeline: Timeline) -> Iterator[_Lane]:
    if timeline.loops:
        deepest = max(loop.depth for loop in timeline.loops)
        rows = [[loop for loop in timeline.loops if loop.depth == depth] for depth in range(deepest + 1)]
        yield _Lane("loops, all turns together", rows, _LOOP)
    yield _Lane(_COMPUTING, [timeline.blocks], _BAR)
    for link in seen_links(timeline):
        rows = _rows([one for one in timeline.transfers if one.link == link])
        yield _Lane(f"sending over {link}", rows, _BAR)


def _rows(transfers: Sequence[Transfer]) -> list[list[Transfer]]:
    """In as many rows as it takes: what goes on around a loop is beside what the loop sends."""
    rows: list[list[Transfer]] = []
    for one in transfers:
        free = next((row for row in rows if row[-1].stop <= one.start * (1 + 1e-9)), None)
        if free is None:
            rows.append([one])
        else:
            free.append(one)
    return rows


def _row(pieces: Sequence[Block | Loop | Transfer], seconds: float, top: float, height: float) -> Iterator[Html]:
    for one in pieces:
        if isinstance(one, Transfer):
            yield _transfer(one, seconds, top, height - 2)
        elif isinstance(one, Loop):
            told = f"{lines_text(one.line)}{turns_text(one)} in {short_seconds(one.stop - one.start)}"
            yield _piece(one.start, one.stop, seconds, top, height - 2, "l", told, turns_text(one), "c q")
        else:
            kind = "k" if one.backward else "f"
            word = f"line {one.line}" if one.line is not None else one.what.partition(" ")[0].rstrip(",")
            yield _piece(one.start, one.stop, seconds, top, height - 2, kind, block_text(one), word, "o")


def _piece(
    start: float, stop: float, seconds: float, top: float, height: float, kind: str, told: str, word: str, style: str
) -> Html:
    """A bar with a tooltip, and a word where there is room; the bar cuts it where there is little."""
    share = (stop - start) / seconds
    place = {"x": _share(start / seconds), "y": _n(top), "width": _share(share), "height": _n(height)}
    title = element("title", None, told)
    if share < _READ or not word:
        return element("rect", {"class": kind, **place}, title)
    bar = element("rect", {"class": kind, "width": "100%", "height": "100%"}, title)
    text = element("text", {"class": style, "x": "4", "y": _n(height / 2)}, word)
    return element("svg", place, bar, text)


def _transfer(one: Transfer, seconds: float, top: float, height: float) -> Html:
    """What is hidden first, then what is waited for: a device waits at the end of what it has begun."""
    told = transfer_text(one)
    from_here = max(one.start, one.stop - one.open)
    word = one.collective.kind
    hidden = (from_here - one.start) / seconds
    parts: list[Html] = []
    if hidden > 1e-4:
        longer = hidden * seconds >= one.stop - from_here
        parts.append(_piece(one.start, from_here, seconds, top, height, "s", told, word if longer else "", "c"))
        word = "" if longer else word
    if one.open > 0:
        parts.append(_piece(from_here, one.stop, seconds, top, height, "w", told, word, "o"))
    return parts[0] if len(parts) == 1 else element("g", None, *parts)


def _waits(timeline: Timeline, middle: float) -> Iterator[Html]:
    """Where the device does nothing: a line from where it ends to compute to where it goes on."""
    ends = [0.0, *(one.stop for one in timeline.blocks)]
    starts = [*(one.start for one in timeline.blocks), timeline.seconds]
    for start, stop in zip(ends, starts, strict=True):
        if stop - start > 0.003 * timeline.seconds:
            sides = {"x1": _share(start / timeline.seconds), "x2": _share(stop / timeline.seconds)}
            title = element("title", None, f"the device waits for {short_seconds(stop - start)}")
            yield element("line", {"class": "i", **sides, "y1": _n(middle), "y2": _n(middle)}, title)


def _ticks(seconds: float, bottom: float) -> Iterator[Html]:
    unit = 10.0 ** math.floor(math.log10(seconds / _MOST_TICKS))
    step = next(unit * times for times in (1, 2, 5, 10) if unit * times * _MOST_TICKS >= seconds * 0.999)
    yield element("line", {"class": "x", "x1": "0", "x2": "100%", "y1": _n(bottom), "y2": _n(bottom)})
    for number in range(math.floor(seconds / step) + 1):
        at = _share(number * step / seconds)
        yield element("line", {"class": "y", "x1": at, "x2": at, "y1": "0", "y2": _n(bottom + 4)})
        end = number * step > 0.94 * seconds
        place = {"x": at, "y": _n(bottom + 14), "class": "q"}
        anchor = "start" if number == 0 else "end" if end else "middle"
        yield element("text", {**place, "text-anchor": anchor}, short_seconds(number * step))


def _share(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + "%"


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
