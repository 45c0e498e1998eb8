"""Where strands run: a lane for each value, from where it is made to where it is taken last, and the knots between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jaxnb.views.axis_flow import AxisFlow, Bundle, Knot
from jaxnb.views.tints import axis_hues

__all__ = ["MOST_KNOTS", "Plan", "strands_in"]

MOST_KNOTS = 60
_STEP = 8.0  # between strands
_PAD = 9.0
_MOST_GREY = 3


@dataclass(slots=True)
class _Lane:
    """A column that values take one after the other. `width` is that of the widest."""

    holder: int | None = None
    width: float = 0.0
    left: float = 0.0


class Plan:
    """Where the strands of a mapped function run across, row by row.

    Attributes:
      knots: those that are drawn.
      hues: of each strand, by its name: the same as of the mesh axis that it is spread over.
      on_mesh: the strands that are spread over a mesh.
      width: up to which anything is drawn.
    """

    def __init__(self, strands: AxisFlow) -> None:
        self._strands = strands
        self.knots = strands.knots[:MOST_KNOTS]
        mesh = [axis for strand in strands.names for axis in strand.mesh]
        hues = axis_hues([*mesh, *(strand.name for strand in strands.names if not strand.mesh)])
        self.hues = {strand.name: hues[(strand.mesh or (strand.name,))[0]] for strand in strands.names}
        self.on_mesh = {strand.name for strand in strands.names if strand.mesh}
        self._lane: dict[int, int] = {}
        self._from: dict[int, int] = {}
        self._lanes: list[_Lane] = []
        self._place()
        self.width = max((lane.left + lane.width for lane in self._lanes), default=0.0)

    def made_at(self, number: int) -> int:
        """The row in which a value is made."""
        return self._from[number]

    def _place(self) -> None:
        """Gives each value a lane, from where it is made to where it is taken last."""
        last = {number: row for row, knot in enumerate(self.knots) for number in knot.takes}
        for row, knot in enumerate(self.knots):
            dying = [number for number in knot.takes if last[number] == row]
            free = [self._lane[number] for number in dying]
            for lane in free:
                self._lanes[lane].holder = None
            for number in knot.makes:
                at = next((lane for lane in free if self._lanes[lane].holder is None), None)
                if at is None:
                    at = next((n for n, lane in enumerate(self._lanes) if lane.holder is None), len(self._lanes))
                if at == len(self._lanes):
                    self._lanes.append(_Lane())
                lane = self._lanes[at]
                lane.holder = number if number in last else None
                lane.width = max(lane.width, self._width(self._strands.bundles[number]))
                self._lane[number], self._from[number] = at, row
        x = 4.0
        for lane in self._lanes:
            lane.left = x
            x += lane.width

    def _width(self, bundle: Bundle) -> float:
        return 2 * _PAD + _STEP * max(len(strands_in(bundle)) - 1, 0) + 6

    def x(self, number: int, strand: int) -> float:
        """Where a strand of a value runs."""
        return self._lanes[self._lane[number]].left + _PAD + _STEP * strand

    def entry(self, knot: Knot, number: int, at: int, name: str) -> float:
        """Where a strand of a value comes to a knot: where it goes on, or where all that end with it end."""
        for made in knot.makes:
            names = strands_in(self._strands.bundles[made])
            if name and name in names:
                return self.x(made, names.index(name))
        if knot.kind == "result":
            return self.x(number, at)
        left, right = self.span(knot)
        if name:
            order = [*knot.ends].index(name) if name in knot.ends else 0
            return left + (right - left) * (order + 1) / (len(knot.ends) + 1)
        greys = [n for made in knot.makes for n, one in enumerate(strands_in(self._strands.bundles[made])) if not one]
        mine = at - len(self._strands.bundles[number].named)
        if mine < len(greys):
            return self.x(knot.makes[0], greys[mine])
        return (left + right) / 2 if knot.makes else self.x(number, at)

    def span(self, knot: Knot) -> tuple[float, float]:
        """From where to where a node reaches."""
        numbers = knot.makes or knot.takes
        lanes = [self._lanes[self._lane[number]] for number in numbers]
        if not lanes:
            return 0.0, 2 * _PAD
        widths = [self._width(self._strands.bundles[number]) for number in numbers]
        left = min(lane.left for lane in lanes)
        right = max(lane.left + width for lane, width in zip(lanes, widths, strict=True)) - 6
        return left, max(right, left + 13 * (len(knot.ends) + 1))


def strands_in(bundle: Bundle) -> Sequence[str]:
    """The strands of a value: its named axes, and "" for each dimension without a name."""
    return [*bundle.named, *("" for _ in range(min(bundle.rank, _MOST_GREY)))]
