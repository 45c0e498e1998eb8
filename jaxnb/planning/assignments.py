"""Which named axes may lie on which mesh axes: all ways there are, without those that cannot be. Nothing here uses jax.

A name takes any set of mesh axes, in the order of the mesh. A way cannot be if a size is not divisible by the devices
that it is cut over, or if one array has two names on the same mesh axis.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jaxnb.program import Resources

__all__ = ["Argument", "find_assignments", "held"]


@dataclass(frozen=True, slots=True)
class Argument:
    """An array that goes in or comes out: the names of its dimensions, and its size.

    Attributes:
      names: of those dimensions that have one.
      nbytes: of the whole array.
    """

    names: tuple[str, ...]
    nbytes: int = 0


def find_assignments(
    sizes: Mapping[str, int],
    axes: Mapping[str, int],
    arguments: Sequence[Argument] = (),
    fixed: Mapping[str, tuple[str, ...]] | None = None,
) -> Iterator[dict[str, tuple[str, ...]]]:
    """All ways to lay names on mesh axes that could be.

    Args:
      sizes: of the names.
      axes: of the mesh, with their sizes; those of size one are left out, because they cut nothing.
      arguments: what goes in and comes out.
      fixed: what is settled already, by name.

    >>> list(find_assignments({"batch": 8, "i": 3}, {"x": 4}))
    [{}, {'batch': ('x',)}]
    """
    useful = [axis for axis, size in axes.items() if size > 1]
    subsets = [some for count in range(len(useful) + 1) for some in itertools.combinations(useful, count)]
    settled = dict(fixed or {})
    choices = [
        [settled[name]]
        if name in settled
        else [some for some in subsets if size % math.prod(axes[axis] for axis in some) == 0]
        for name, size in sizes.items()
    ]
    pairs = {frozenset(pair) for item in arguments for pair in itertools.combinations(set(item.names), 2)}
    for chosen in _together(list(sizes), choices, pairs):
        yield {name: some for name, some in chosen.items() if some}


def _together(
    names: Sequence[str], choices: Sequence[Sequence[tuple[str, ...]]], pairs: Iterable[frozenset[str]]
) -> Iterator[dict[str, tuple[str, ...]]]:
    """One choice for each name, so that two names of one array share no axis."""
    apart = {name: {other for pair in pairs if name in pair for other in pair - {name}} for name in names}
    chosen: dict[str, tuple[str, ...]] = {}

    def go_on(index: int) -> Iterator[dict[str, tuple[str, ...]]]:
        if index == len(names):
            yield dict(chosen)
            return
        name = names[index]
        taken = {axis for other in apart[name] if other in chosen for axis in chosen[other]}
        for some in choices[index]:
            if taken.isdisjoint(some):
                chosen[name] = some
                yield from go_on(index + 1)
                del chosen[name]

    return go_on(0)


def held(resources: Resources, axes: Mapping[str, int], arguments: Iterable[Argument]) -> int:
    """Bytes of these arrays that one device holds.

    >>> held({"batch": ("x",)}, {"x": 4}, [Argument(("batch", "i"), 64), Argument(("i",), 8)])
    24
    """
    total = 0
    for item in arguments:
        parts = math.prod(axes[axis] for name in set(item.names) for axis in resources.get(name, ()))
        total += -(-item.nbytes // parts)
    return total
