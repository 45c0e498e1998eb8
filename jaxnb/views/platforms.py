"""A cell as it is lowered for several platforms, side by side: which equations become something else on each."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

from jaxnb.program import LoweredEquation, Platforms
from jaxnb.views.escape import Html, element
from jaxnb.views.rows import file_place, short_type
from jaxnb.views.style import style_element
from jaxnb.views.table import Head, Table, table_element, table_lines
from jaxnb.views.width import wrapped

__all__ = ["render_platforms", "render_platforms_html"]

_MOST = 60
_MOST_OPS = 6
_GUTTER = 4


def render_platforms(
    platforms: Platforms, *, width: int | None = None, limit: int | None = _MOST, whole: bool = False
) -> str:
    """The equations that become something else on each platform, or are refused by one, below the lines of the cell.

    Args:
      platforms: what was lowered.
      width: how many columns there are; by default those of the terminal.
      limit: how many equations at most, or None for all.
      whole: whether those are shown, too, that are the same everywhere.
    """
    room = max(40, shutil.get_terminal_size().columns if width is None else width)
    equations = list(platforms.equations())
    lines = [line for text in _said(platforms, equations) for line in wrapped(text, room)]
    shown = [one for one in equations if whole or one.differs]
    if shown:
        columns = len(platforms.names) + 1
        each = max(10, (room - _GUTTER - 2 * columns) // columns)
        heads = (
            Head("", "number", least=_GUTTER - 1),
            Head("", most=each),
            *(Head(name, most=each) for name in platforms.names),
        )
        rows = tuple(_rows(platforms, shown[:limit], whole))
        lines += ["", *table_lines(Table(heads, rows), room)]
    if limit is not None and len(shown) > limit:
        lines.append(f"and {len(shown) - limit} more equations")
    return "\n".join(lines)


def render_platforms_html(platforms: Platforms, *, limit: int | None = _MOST) -> Html:
    """The same as HTML. Arguments: as of `render_platforms`."""
    equations = list(platforms.equations())
    shown = [one for one in equations if one.differs]
    parts = [element("p", {"class": "jnb-h"}, text) for text in _said(platforms, equations)]
    if shown:
        heads = (Head("", "number"), Head("", "code"), *(Head(name, "code") for name in platforms.names))
        parts.append(table_element(Table(heads, tuple(_rows(platforms, shown[:limit], False)))))
    if limit is not None and len(shown) > limit:
        parts.append(element("p", {"class": "jnb-h"}, f"and {len(shown) - limit} more equations"))
    return element("div", {"class": "jnb"}, style_element("placement.css"), style_element("ledger.css"), *parts)


def _said(platforms: Platforms, equations: Sequence[LoweredEquation]) -> Iterator[str]:
    """What there is to say before the table."""
    *others, last = platforms.names
    differing = sum(one.differs for one in equations)
    where = f"lowered for {', '.join(others)} and {last}" if others else f"lowered for {last}"
    many = f"{len(equations)} equation{'' if len(equations) == 1 else 's'}"
    if others:
        many = f"all {many} become the same" if not differing else f"{differing} of {many} differ"
    yield f"{where} · {many} · nothing was compiled or run"
    for one in platforms.lowered:
        if one.why:
            yield f"{one.platform}: not lowered: {one.why}"
    for one in platforms.refused:
        where = f"line {one.line}: " if one.line is not None else ""
        if one.absent:
            why = "its rule asks for a device"
            yield f"{where}{one.primitive} is lowered for {one.platform} only where there is one: {why}"
            continue
        none = f"there is no rule for it on {one.platform}"
        why = f"its rule for {one.platform} refuses: {one.why}" if one.why else none
        yield f"{where}{one.primitive} cannot be lowered for {one.platform}: {why}"


def _rows(platforms: Platforms, shown: Sequence[LoweredEquation], whole: bool) -> Iterator[tuple[str, ...]]:
    program = platforms.lowered[0].program
    source = program.source.split("\n")
    values = program.level("jaxpr").values
    last: tuple[int | None, str] | None = None
    places = [(one.op.cell_line, file_place(one.op)) for one in shown]
    order = sorted(range(len(shown)), key=lambda at: (places[at][0] is None, places[at][0] or 0, places[at][1]))
    for one, (line, file) in ((shown[at], places[at]) for at in order):
        if (line, file) != last:
            text = source[line - 1].strip() if line is not None and 0 < line <= len(source) else ""
            yield (str(line or ""), " · ".join(filter(None, (text, file))) or "(from outside the cell)")
            last = line, file
        types = ", ".join(filter(None, (short_type(values[index].aval) for index in one.op.outputs)))
        cells = _cells(one)
        if whole and not one.differs:
            cells = [cells[0], *([] for _ in cells[1:])]
        for number in range(max(1, *map(len, cells))):
            first = f"{one.op.name} {types}".rstrip() if not number else ""
            yield (
                "▸" if one.differs and not number else "",
                first,
                *(some[number] if number < len(some) else "" for some in cells),
            )


def _cells(one: LoweredEquation) -> list[list[str]]:
    """The operations on each platform: all where they are the same, and otherwise those by which they differ."""
    counted = [None if ops is None else Counter(ops) for ops in one.lowered]
    told = [some for some in counted if some is not None]
    shared = reduce(and_, told) if one.differs and len(told) > 1 else Counter[str]()
    own = [list((some - shared).elements()) for some in told]
    brief = [[_brief(text) for text in some] for some in own]
    if one.differs and len(told) > 1 and all(some == brief[0] for some in brief):
        brief = [[" ".join(words) for words in some] for some in _apart([[t.split(" ") for t in some] for some in own])]
    texts = iter(brief)
    return [
        [why] if some is None else _listed(next(texts), shared.total())
        for some, why in zip(counted, one.refused, strict=True)
    ]


def _listed(texts: Sequence[str], shared: int) -> list[str]:
    counts = Counter(texts)
    found = [f"{text} ×{count}" if count > 1 else text for text, count in counts.items()]
    rest = sum([*counts.values()][_MOST_OPS:])
    return [
        *found[:_MOST_OPS],
        *([f"and {rest} more"] if rest else []),
        *([f"and {shared} as everywhere"] if shared else []),
    ]


def _brief(text: str) -> str:
    """What an operation is called, or what it calls that is none of StableHLO's."""
    name, _, rest = text.partition(" ")
    return f"@{rest.partition(' ')[0]}" if name == "custom_call" else name


def _apart(platforms: list[list[list[str]]]) -> Iterator[list[list[str]]]:
    """The words of operations that are called the same, without those that all platforms share."""
    common = [set(words[0]).intersection(*words) for words in zip(*platforms, strict=True)]
    for some in platforms:
        yield [
            [_brief(" ".join(words)), *(word for word in words if word not in shared)]
            for words, shared in zip(some, common, strict=True)
        ]
