"""How an array is cut, as far as the piece that a device has shows it.

A size that does not divide is cut into pieces as long as the first, the last of which are padded, so that the size of
the piece is rounded up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from jaxnb.program import Axis, Mesh

__all__ = ["Axes", "Partition", "Shape", "cuts_text", "read_partition", "uneven_text", "ways_to_cut"]

Shape = tuple[int, ...]
_MOST_WAYS = 64
Axes = tuple[tuple[str, ...], ...]
"""For each dimension the axes of the mesh that cut it."""


class Partition(NamedTuple):
    """How a value in between is cut, as its instructions show.

    Attributes:
      text: a spec where only one set of axes can have cut it; else how many pieces there are along each dimension.
      piece: the shape of the largest piece.
      parts: how many pieces there are; None where different numbers make pieces of that shape.
      uneven: whether some pieces are smaller; "" if none is, else which sizes there are.
      axes: of the mesh, for each dimension; None where several sets of axes can have cut it so.
    """

    text: str
    piece: Shape
    parts: int | None
    uneven: str = ""
    axes: Axes | None = None


def read_partition(shape: Shape, piece: Shape, mesh: Mesh | None) -> Partition | None:
    """How an array is cut of which a device has a piece; None if no cutting gives it.

    >>> from jaxnb.program.placement.data import Axis
    >>> mesh = Mesh((Axis("x", 4), Axis("y", 2)))
    >>> read_partition((8, 6), (2, 6), mesh).text, read_partition((510, 6), (128, 3), mesh).uneven
    ("P('x', None)", '126 to 128 of 510')
    >>> read_partition((4, 6), (2, 6), Mesh((Axis("x", 2), Axis("y", 2)))).text
    '2×1 pieces'
    """

    def gives_it(at: int, parts: int) -> bool:
        return -(-shape[at] // parts) == piece[at] and (parts == 1 or shape[at] > 0)

    choices = list(itertools.islice(_ways(len(shape), mesh, gives_it), _MOST_WAYS))
    if not choices:
        if any(size == 0 or whole % size for whole, size in zip(shape, piece, strict=True)):
            return None
        cuts = {tuple(whole // size for whole, size in zip(shape, piece, strict=True))}
    else:
        cuts = {parts for parts, _ in choices}
    uneven = "; ".join(dict.fromkeys(filter(None, (uneven_text(shape, piece, parts) for parts in sorted(cuts)))))
    if len(choices) == 1:
        ((parts, axes),) = choices
        return Partition(cuts_text(axes), piece, math.prod(parts), uneven, axes)
    if len(cuts) == 1:
        (parts,) = cuts
        return Partition(f"{'×'.join(map(str, parts))} pieces", piece, math.prod(parts), uneven)
    return Partition(f"pieces of {list(piece)}", piece, None, uneven)


def ways_to_cut(cuts: Shape, mesh: Mesh | None) -> Iterator[Axes]:
    """The sets of axes whose sizes multiply to the number of pieces, for each dimension.

    >>> from jaxnb.program.placement.data import Axis
    >>> list(ways_to_cut((2, 1), Mesh((Axis("x", 2), Axis("y", 2)))))
    [(('x',), ()), (('y',), ())]
    """
    return (axes for _, axes in _ways(len(cuts), mesh, lambda at, parts: parts == cuts[at]))


def _ways(rank: int, mesh: Mesh | None, fits: Callable[[int, int], bool]) -> Iterator[tuple[Shape, Axes]]:
    """The sets of axes, none of them twice, whose number of pieces fits each dimension; with those numbers."""
    known = [axis for axis in mesh.axes if axis.size > 1] if mesh is not None else []

    def choose(at: int, left: Sequence[Axis]) -> Iterator[tuple[Shape, Axes]]:
        if at == rank:
            yield (), ()
            return
        for count in range(len(left) + 1):
            for some in itertools.combinations(left, count):
                parts = math.prod(axis.size for axis in some)
                if fits(at, parts):
                    for cuts, names in choose(at + 1, [axis for axis in left if axis not in some]):
                        yield (parts, *cuts), (tuple(axis.name for axis in some), *names)

    return choose(0, known)


def uneven_text(shape: Shape, piece: Shape, parts: Shape) -> str:
    """The sizes of pieces along the dimensions that do not divide: `126 to 128 of 510`."""
    told: list[str] = []
    for whole, size, count in zip(shape, piece, parts, strict=True):
        if whole % count:
            told.append(f"{max(whole - size * (count - 1), 0)} to {size} of {whole}")
    return ", ".join(told)


def cuts_text(cuts: Sequence[tuple[str, ...]]) -> str:
    """The axes that cut each dimension as a spec.

    >>> cuts_text([("x",), (), ("y", "z")])
    "P('x', None, ('y', 'z'))"
    """
    entries = [repr(names[0]) if len(names) == 1 else repr(names) if names else "None" for names in cuts]
    return f"P({', '.join(entries)})" if any(cuts) else "P()"
