"""The groups of devices that take part in a collective: read from XLA's text, and told as axes of a mesh."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence

from jaxnb.program.placement.data import Mesh

__all__ = ["axes_of_groups", "axes_of_pairs", "laid_out", "parse_groups"]

_LAYOUT = re.compile(r"\[(\d+),(\d+)\]<=\[([\d,]*)\](?:T\(([\d,]*)\))?")


def parse_groups(text: str) -> tuple[tuple[int, ...], ...]:
    """Groups as places, from XLA's text; none for "" and for `{}`, which stand for one group of all devices.

    Raises:
      ValueError: if it is no such text.

    >>> parse_groups("{{0,1},{2,3}}"), parse_groups("[2,2]<=[2,2]T(1,0)")
    (((0, 1), (2, 3)), ((0, 2), (1, 3)))
    """
    found = _LAYOUT.fullmatch(text)
    if found is not None:
        groups, members = int(found[1]), int(found[2])
        places = laid_out(_numbers(found[3]), _numbers(found[4] or ""))
        if groups * members != len(places):
            raise ValueError(f"{text!r}: {groups} groups of {members} out of {len(places)} devices")
        return tuple(tuple(places[start : start + members]) for start in range(0, len(places), members))
    if not re.fullmatch(r"(\{[{}\d,\s]*\})?", text):
        raise ValueError(f"{text!r} are no groups of devices")
    return tuple(_numbers(group) for group in re.findall(r"\{([\d,\s]+)\}", text))


def laid_out(sizes: Sequence[int], order: Sequence[int] = ()) -> list[int]:
    """The numbers of an array of these sizes, counted with the last dimension fastest, after a transposition.

    >>> laid_out([2, 3], [1, 0])
    [0, 3, 1, 4, 2, 5]
    """
    steps = [math.prod(sizes[number + 1 :]) for number in range(len(sizes))]
    spans = (range(0, sizes[number] * steps[number], steps[number]) for number in order or range(len(sizes)))
    return [sum(parts) for parts in itertools.product(*spans)]


def axes_of_groups(groups: Sequence[Sequence[int]], mesh: Mesh) -> tuple[str, ...] | None:
    """The axes that every group runs along: those whose devices are together in a group. None if no axes do that.

    No groups stand for one of all devices. Axes of size one say nothing, and are not among them.

    >>> from jaxnb.program.placement.data import Axis
    >>> axes_of_groups([(0, 2), (1, 3)], Mesh((Axis("x", 2), Axis("y", 2))))
    ('x',)
    """
    given = {frozenset(group) for group in groups} or {frozenset(range(mesh.size))}
    numbers = [number for number, axis in enumerate(mesh.axes) if axis.size > 1]
    for count in range(len(numbers) + 1):
        for chosen in itertools.combinations(numbers, count):
            if math.prod(mesh.axes[number].size for number in chosen) == len(next(iter(given))) and given == _along(
                mesh, chosen
            ):
                return tuple(mesh.axes[number].name for number in chosen)
    return None


def axes_of_pairs(pairs: Sequence[Sequence[int]], mesh: Mesh) -> tuple[str, ...] | None:
    """The axes along which something is sent from one device to another: those that change on the way."""
    changed: set[int] = set()
    for source, target in pairs:
        if max(source, target) >= mesh.size:
            return None
        ends = zip(mesh.coordinates(source), mesh.coordinates(target), strict=True)
        changed.update(number for number, (one, other) in enumerate(ends) if one != other)
    return tuple(mesh.axes[number].name for number in sorted(changed))


def _along(mesh: Mesh, chosen: Sequence[int]) -> set[frozenset[int]]:
    groups: dict[tuple[int, ...], set[int]] = {}
    for place in range(mesh.size):
        at = mesh.coordinates(place)
        groups.setdefault(tuple(at[n] for n in range(len(at)) if n not in chosen), set()).add(place)
    return {frozenset(group) for group in groups.values()}


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))
