"""The colours of the pieces of an array, the same on the array and on the devices that hold them; those of axes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from jaxnb.program import Device, Placement

__all__ = [
    "Tint",
    "axis_colours",
    "axis_hues",
    "hue_colour",
    "oklch",
    "piece_hues",
    "process_hues",
    "process_tints",
    "tints",
]

Tint = tuple[str, float]
"""A colour as `#rrggbb`, and how much of it, from 0 to 1. Both read on light and on dark ground."""

_LIGHTNESS, _CHROMA, _FIRST_HUE = 0.68, 0.135, 255.0
_WEAK, _STRONG, _ALONE = 0.16, 0.52, 0.30


def tints(placement: Placement) -> tuple[Tint, ...]:
    """A tint for each group: along the last dimension that is cut it gets stronger, along the others the hue changes.

    Where one dimension is cut, each piece has a hue of its own. Devices that hold nothing have no colour.
    """
    return tuple(
        ("#808080", 0.0) if hue is None else (hue_colour(hue), strength) for hue, strength in piece_hues(placement)
    )


def process_tints(devices: Sequence[Device]) -> dict[int, Tint]:
    """A tint for each process that has some of the devices; none where one has all."""
    return {one: (hue_colour(hue), _ALONE) for one, hue in process_hues(device.process for device in devices).items()}


def process_hues(processes: Iterable[int]) -> dict[int, float]:
    """A hue for each process, in degrees; none where there is one."""
    found = sorted(set(processes))
    return {one: _hue(number, len(found)) for number, one in enumerate(found)} if len(found) > 1 else {}


def piece_hues(placement: Placement) -> tuple[tuple[float | None, float], ...]:
    """The tints of `tints` as hues in degrees, None where there is no colour."""
    cut = [index for index, pieces in enumerate(placement.edges) if len(pieces) > 1]
    numbers = [{piece: number for number, piece in enumerate(pieces)} for pieces in placement.edges]
    by_hue, by_strength = (cut[:-1], cut[-1:]) if len(cut) > 1 else (cut, [])
    hues = math.prod(len(placement.edges[index]) for index in by_hue)
    found: list[tuple[float | None, float]] = []
    for group in placement.groups:
        if group.box is None:
            found.append((None, 0.0))
            continue
        hue = 0
        for index in by_hue:
            hue = hue * len(placement.edges[index]) + numbers[index][group.box[index]]
        strength = _ALONE
        for index in by_strength:
            last = len(placement.edges[index]) - 1
            strength = _WEAK + (_STRONG - _WEAK) * numbers[index][group.box[index]] / last
        found.append((_hue(hue, hues), round(strength, 3)))
    return tuple(found)


def axis_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each axis, as `#rrggbb`, in their order: the same name is to be given the same place everywhere.

    >>> axis_colours(["x", "y"])
    {'x': '#5b9aea', 'y': '#9c9f29'}
    """
    return {name: hue_colour(hue) for name, hue in axis_hues(names).items()}


def axis_hues(names: Iterable[str]) -> dict[str, float]:
    """The hues of `axis_colours`, in degrees."""
    different = list(dict.fromkeys(names))
    return {name: _hue(number * 2 % max(len(different), 5), len(different)) for number, name in enumerate(different)}


def hue_colour(hue: float) -> str:
    """The colour of a hue as `#rrggbb`; it reads on light and on dark ground."""
    return oklch(_LIGHTNESS, _CHROMA, hue)


def _hue(number: int, count: int) -> float:
    """Few hues stand far apart; many go once around the circle."""
    return _FIRST_HUE - number * 360 / max(count, 5)


def oklch(lightness: float, chroma: float, hue: float) -> str:
    """A colour of Björn Ottosson's OKLCH, where equal steps look equal, as `#rrggbb`; clipped to what screens show.

    >>> oklch(1, 0, 0), oklch(0, 0, 0)
    ('#ffffff', '#000000')
    """
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1.0, max(0.0, part)))):02x}" for part in linear)


def _gamma(linear: float) -> float:
    return 12.92 * linear if linear <= 0.0031308 else 1.055 * linear ** (1 / 2.4) - 0.055
