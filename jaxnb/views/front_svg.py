"""Plans side by side as SVG: time to the right, memory upwards, and the front of those that no other one beats.

A plan of the front has its name beside it, and all others are faint; what each is, is said by its tooltip. There is no
script in it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from jaxnb.units import format_bytes
from jaxnb.views.compact import short_seconds
from jaxnb.views.escape import Html, element
from jaxnb.views.style import style_element

__all__ = ["Point", "draw_front"]

_WIDE, _HIGH = 640.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 74.0, 16.0, 30.0, 44.0
_LETTER = 6.2  # the width of a letter, about
_LINE = 14.0  # the height of a label
_FAR = 3.0  # how many times as large the largest is as the smallest, from which on a scale is logarithmic


@dataclass(frozen=True, slots=True)
class Point:
    """A plan.

    Attributes:
      name: what to call it.
      seconds: that it takes.
      memory: bytes that a device needs.
      front: whether no other one needs both less time and less memory.
      fits: whether a device has memory enough.
    """

    name: str
    seconds: float
    memory: int
    front: bool = False
    fits: bool = True


@dataclass(frozen=True, slots=True)
class _Scale:
    """From values to places along one side of the frame."""

    low: float
    high: float
    start: float
    stop: float
    log: bool

    @classmethod
    def of(cls, values: Sequence[float], start: float, stop: float) -> _Scale:
        least, most = min(values), max(values)
        if least > 0 and most > _FAR * least:
            return cls(least / 1.25, most * 1.25, start, stop, True)
        room = (most - least or most or 1.0) * 0.12
        return cls(max(least - room, 0.0), most + room, start, stop, False)

    def at(self, value: float) -> float:
        if self.log:
            share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values between the ends."""
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for steps in ((1, 2, 5), (1, 3), (1,)):
                found = [step * 10.0**power for power in powers for step in steps]
                inside = [value for value in found if self.low <= value <= self.high]
                if len(inside) <= most:
                    return inside
            return inside[:: -(-len(inside) // most)]
        rough = (self.high - self.low) / most
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * times for times in (1, 2, 5, 10) if unit * times >= rough)
        first = math.ceil(self.low / step)
        return [number * step for number in range(first, math.floor(self.high / step) + 1)]


def draw_front(points: Sequence[Point], *, limit: int | None = None, limit_name: str = "") -> Html:
    """Plans by time and memory; nothing for none.

    Args:
      points: the plans.
      limit: bytes that a device has.
      limit_name: what that device is.

    >>> draw_front([])
    ''
    >>> draw_front([Point("batch=x", 0.001, 4096, front=True)]).count("<circle")
    1
    """
    if not points:
        return Html("")
    x = _Scale.of([point.seconds for point in points], _LEFT, _WIDE - _RIGHT)
    small = [] if limit is None or all(point.fits for point in points) else [limit]
    y = _Scale.of([*(point.memory for point in points), *small], _HIGH - _BOTTOM, _TOP)
    front = sorted((point for point in points if point.front), key=lambda point: (point.seconds, point.memory))
    rest = [point for point in points if not point.front]
    parts = [style_element("placement.css"), style_element("front.css"), *_frame(x, y)]
    if limit is not None and y.low < limit < y.high:
        parts += _limit(y.at(limit), f"{limit_name} has {format_bytes(limit)}")
    parts += [_circle(point, x, y) for point in rest]
    if len(front) > 1:
        parts.append(element("path", {"class": "s", "d": _stairs(front, x, y)}))
    parts += [_circle(point, x, y) for point in front]
    parts += _labels(front, rest, x, y)
    size = {"width": f"{_WIDE:g}", "height": f"{_HIGH:g}", "viewBox": f"0 0 {_WIDE:g} {_HIGH:g}"}
    name = f"{len(points)} plans by time and memory"
    named = {"xmlns": "http://www.w3.org/2000/svg", **size, "class": "jnb-p jnb-f", "role": "img", "aria-label": name}
    return element("svg", named, *parts)


def _frame(x: _Scale, y: _Scale) -> list[Html]:
    bottom, left = _HIGH - _BOTTOM, _LEFT
    lines = [f"M{left:g} {_TOP:g}V{bottom:g}H{_WIDE - _RIGHT:g}"]
    texts: list[Html] = []
    for told, value in {short_seconds(value): value for value in x.ticks()}.items():
        at = x.at(value)
        lines.append(f"M{at:.1f} {bottom:g}v5")
        texts.append(_text(at, bottom + 15, told, "t q"))
    for told, value in {format_bytes(round(value)): value for value in y.ticks()}.items():
        at = y.at(value)
        lines.append(f"M{left:g} {at:.1f}h-5")
        texts.append(_text(left - 9, at, told, "e q"))
    texts.append(_text(_WIDE - _RIGHT, _HIGH - 9, "time, if nothing overlaps →", "e q"))
    texts.append(_text(6, 14, "↑ memory of a device", "q"))
    return [element("path", {"class": "x", "d": "".join(lines)}), *texts]


def _limit(at: float, text: str) -> list[Html]:
    line = element("path", {"class": "l", "d": f"M{_LEFT:g} {at:.1f}H{_WIDE - _RIGHT:g}"})
    return [line, _text(_WIDE - _RIGHT, at - 8, text, "e w")]


def _stairs(front: Sequence[Point], x: _Scale, y: _Scale) -> str:
    """The line on whose upper side all others are."""
    first = front[0]
    path = f"M{x.at(first.seconds):.1f} {y.at(first.memory):.1f}"
    return path + "".join(f"H{x.at(point.seconds):.1f}V{y.at(point.memory):.1f}" for point in front[1:])


def _circle(point: Point, x: _Scale, y: _Scale) -> Html:
    told = f"{point.name}: {short_seconds(point.seconds)}, {format_bytes(point.memory)} a device"
    kind = ("f" if point.front else "o") + ("" if point.fits else " w")
    place = {"cx": f"{x.at(point.seconds):.1f}", "cy": f"{y.at(point.memory):.1f}", "r": "5" if point.front else "3.5"}
    title = element("title", None, told if point.fits else f"{told}: does not fit")
    return element("circle", {"class": kind, **place}, title)


_Box = tuple[float, float, float, float]


def _labels(front: Sequence[Point], rest: Sequence[Point], x: _Scale, y: _Scale) -> list[Html]:
    """The names beside their points, where least is in the way, each with a line to it if it is far off."""
    dots = [(x.at(point.seconds), y.at(point.memory)) for point in front]
    faint = [_around(x.at(point.seconds), y.at(point.memory), 4) for point in rest]
    stairs = [
        box
        for (x0, y0), (x1, y1) in itertools.pairwise(dots)
        for box in ((x0, y0 - 1, x1, y0 + 1), (x1 - 1, y0, x1 + 1, y1))
    ]
    taken = [_around(cx, cy, 6) for cx, cy in dots]
    found: list[Html] = []
    for point, (cx, cy) in zip(front, dots, strict=True):
        places = _places(cx, cy, len(point.name) * _LETTER)
        costs = [
            100 * sum(_meet(box, other) for other in taken)
            + 4 * sum(_meet(box, other) for other in faint)
            + 2 * sum(_meet(box, other) for other in stairs)
            + far
            for box, far in places
        ]
        box = places[min(range(len(places)), key=costs.__getitem__)][0]
        taken.append(box)
        left, middle = box[0], (box[1] + box[3]) / 2
        near = left - 2 if left >= cx else box[2] + 2
        if abs(middle - cy) > 1.5 * _LINE:
            found.append(element("path", {"class": "n", "d": f"M{cx:.1f} {cy:.1f}L{near:.1f} {middle:.1f}"}))
        found.append(_text(left, middle, point.name, "c m"))
    return found


def _places(cx: float, cy: float, wide: float) -> list[tuple[_Box, float]]:
    """Where the label of a point may stand, each with how far that is; those outside of the frame only if all are."""
    found: list[tuple[_Box, float]] = []
    for count in range(12):
        for sign in (1, -1) if count else (1,):
            middle, out = cy + sign * count * _LINE, 10 + 4 * count
            for left in (cx + out, cx - out - wide):
                found.append(((left, middle - _LINE / 2, left + wide, middle + _LINE / 2), count))
    return [place for place in found if _inside(place[0])] or found


def _around(cx: float, cy: float, by: float) -> _Box:
    return (cx - by, cy - by, cx + by, cy + by)


def _inside(box: _Box) -> bool:
    return box[0] >= _LEFT + 2 and box[2] <= _WIDE - 2 and box[1] >= _TOP - 8 and box[3] <= _HIGH - _BOTTOM


def _meet(one: _Box, other: _Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _text(at: float, height: float, text: str, kind: str) -> Html:
    return element("text", {"class": kind, "x": f"{at:.1f}", "y": f"{height:.1f}"}, text)
