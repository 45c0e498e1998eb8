"""Named axes as text: a column for each, in which a strand runs beside every value that has the axis."""

from __future__ import annotations

from collections.abc import Sequence

from jaxnb.views.axis_flow import AxisFlow, Bundle, Knot
from jaxnb.views.table import Cells, Head, Table, first_rows, table_lines

__all__ = ["knot_text", "render_strands", "strands_title"]

_MOST = 80
_RUNS, _ENDS, _BEGINS = "│", "●", "╷"


def render_strands(strands: AxisFlow, *, limit: int | None = _MOST) -> str:
    """The flow of a mapped function, from its inputs down: `│` where a value has an axis, `●` where the axis ends.

    Args:
      strands: to be shown.
      limit: how many rows at most; None for all.

    >>> print(render_strands(AxisFlow("xmap", (), (), ())))
    xmap over no names
    """
    title = strands_title(strands)
    if not strands.knots:
        return title

    def row(knot: Knot) -> Cells:
        what, told = knot_text(strands, knot)
        return ("" if knot.line is None else str(knot.line), what, *_marks(strands, knot), told)

    heads = (Head("", "number"), Head(), *(Head(strand.name, "mark") for strand in strands.names), Head())
    return "\n".join([title, "", *table_lines(Table(heads, first_rows(strands.knots, row, limit)))])


def strands_title(strands: AxisFlow) -> str:
    """`xmap over b:8 on x, i:4, o:6`."""
    names = ", ".join(map(str, strands.names)) or "no names"
    return f"{strands.kind} over {names}" + (f" · line {strands.line}" if strands.line is not None else "")


def knot_text(strands: AxisFlow, knot: Knot) -> tuple[str, str]:
    """What is done, `h = dot x, w`, and what that makes of which axes: `f32[4] · x and w meet in i`."""
    bundles = strands.bundles
    if knot.kind == "input":
        return knot.text, bundles[knot.makes[0]].type
    if knot.kind == "result":
        return f"→ {knot.text}", bundles[knot.takes[0]].type
    made = " ".join(bundles[number].name for number in knot.makes)
    taken = ", ".join(bundles[number].name for number in knot.takes)
    types = " ".join(bundles[number].type for number in knot.makes)
    said = [types, *_met(bundles, knot), *(f"{name} begins" for name in knot.begins)]
    return f"{made} = {knot.text} {taken}".strip(), " · ".join(filter(None, said))


def _met(bundles: Sequence[Bundle], knot: Knot) -> list[str]:
    """How axes end: two values meet in them, or one loses them."""
    told: dict[str, list[str]] = {}
    for name in knot.ends:
        holders = [bundles[number].name for number in knot.takes if name in bundles[number].named]
        meeting = f"{' and '.join(holders)} meet in" if len(holders) > 1 else f"{knot.text} over"
        told.setdefault(meeting, []).append(name)
    return [f"{how} {', '.join(names)}" for how, names in told.items()]


def _marks(strands: AxisFlow, knot: Knot) -> list[str]:
    held = {name for number in (knot.makes or knot.takes) for name in strands.bundles[number].named}
    return [
        _ENDS
        if strand.name in knot.ends
        else _BEGINS
        if strand.name in knot.begins
        else _RUNS
        if strand.name in held
        else ""
        for strand in strands.names
    ]
