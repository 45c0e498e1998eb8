"""What a program costs, as text: the hottest lines first, the totals, and what nobody knows."""

from __future__ import annotations

import shutil
from collections.abc import Iterable

from jaxnb.program import (
    COLUMNS,
    COUNTED,
    Amount,
    Cost,
    Level,
    Node,
    Op,
    Place,
    Program,
    Roof,
    Roofline,
    Timing,
    add_costs,
    read_derived,
    read_roofline,
    read_tree,
    roof_of,
)
from jaxnb.views.call_tree import branches
from jaxnb.views.compact import SHORT, bar, short_amount, short_bytes, short_seconds, short_share
from jaxnb.views.cost_table import LEAVING, OF_OPS, RANKED, CostTable
from jaxnb.views.grouping import level_below
from jaxnb.views.rows import listed
from jaxnb.views.table import Head, Table, table_lines
from jaxnb.views.width import printable, wrapped

__all__ = ["render_costs"]

_BAR = 6
_MOST_LINES = 20
_NARROW = 28  # columns of source that are to be left beside the numbers
_DEEP = 8  # and so many more where lines are opened, and two for each call that leads to a row


def render_costs(
    program: Program,
    *,
    width: int | None = None,
    level: str | None = None,
    limit: int | None = _MOST_LINES,
    depth: int = 0,
) -> str:
    """The lines of a cell by what they cost, the hottest first: by time if it was measured, else by flops, else by
    bytes. Where the peaks of the device were measured before, "roof" is what they achieve of what it could.

    Args:
      program: whose costs to show.
      width: how many columns there are; by default those of the terminal.
      level: whose ops are counted; by default the one below the source.
      limit: how many lines at most, or None for all.
      depth: how many calls deep the lines are opened; 0 tells of the lines of the cell alone.

    Raises:
      KeyError: if the program does not have that level.

    >>> from jaxnb.program import Computation, Level, Op, Span
    >>> ops = (Op("mul", span=Span(1), flops=30, bytes=60), Op("sort", span=Span(2), bytes=20))
    >>> print(render_costs(Program("a * b\\nsort(c)", (Level("jaxpr", (), (Computation("", ops=ops),)),)), width=70))
    2 ops · ≥30 F · 80 B
    line   flops   bytes  F/B share         source
       1    30 F    60 B  0.5 100 % ██████  a * b
       2       ?    20 B        0 %         sort(c)
    flops not known of: sort (line 2)
    """
    room = max(40, shutil.get_terminal_size().columns if width is None else width)
    shown = level_below(program, level)
    tally = CostTable(shown)
    roofs = read_roofline(program, shown)
    lines = [*wrapped(_headline(shown, tally, program.timing), room)]
    if tally.told:
        opens = depth > 0 and any(op.call is not None for op in shown.ops())
        if opens:
            table = _tree_table(program, shown, tally, room, limit, depth, roofs)
        else:
            table = _table(program, shown, tally, room, limit, roofs)
        lines += table_lines(table, room)
    if roofs is not None:
        lines += wrapped(_under(shown, roofs, program.timing), room)
    for text in _unknown(shown):
        lines += wrapped(text, room)
    return "\n".join(line.rstrip() for line in lines)


def _headline(level: Level, tally: CostTable, timing: Timing | None) -> str:
    count = sum(len(computation.ops) for computation in level.computations)
    parts = [f"{count} op{'' if count == 1 else 's'}"]
    for name in COUNTED:
        if text := _number(tally.total, name):
            parts.append(f"{text} {COLUMNS[name].title}" if COLUMNS[name].unit == "count" else text)
    if timing is not None and timing.total is not None:
        runs = f"{timing.runs} run{'' if timing.runs == 1 else 's'}"
        parts.append(f"{short_seconds(timing.total)} ± {short_seconds(timing.spread)} ({runs})")
        if timing.unattributed and timing.total:
            parts.append(f"{short_share(timing.unattributed / timing.total)} of it in no op")
    elif text := _number(tally.total, "seconds"):
        parts.append(text)
    if timing is not None and timing.why:
        parts.append(timing.why)
    return " · ".join(parts)


def _under(level: Level, roofs: Roofline, timing: Timing | None) -> str:
    """What stands under the roof, and whose roof it is."""
    peaks = timing.peaks if timing is not None else None
    if peaks is None:
        return ""
    products = ", ".join(f"{short_amount(rate, 'F')}/s {dtype}" for dtype, rate in peaks.products)
    whole = roofs.of(_places(level))
    does = "not known of all ops" if whole is None else str(whole)
    return f"roof: {does} ({peaks.device}: {products}, {short_bytes(peaks.bandwidth)}/s)"


def _places(level: Level) -> Iterable[Place]:
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            if op.seconds is not None:
                yield index, at


def _by_line(level: Level) -> dict[int | None, list[Place]]:
    found: dict[int | None, list[Place]] = {}
    for index, computation in enumerate(level.computations):
        for at, op in enumerate(computation.ops):
            found.setdefault(op.line, []).append((index, at))
    return found


def _sent_by_line(program: Program, level: Level) -> dict[int | None, Amount]:
    """The bytes that a device sends to others for a line; nothing where none does."""
    found: dict[int | None, list[Cost]] = {}
    derived = read_derived(program, level, make=True)
    sending = [(level.computations[index].ops[at], cost) for (index, at), cost in derived.of.items()]
    for op, cost in (*sending, *derived.elsewhere):
        if "sent" in cost:
            found.setdefault(op.line, []).append({"sent": cost["sent"]})
    return {line: add_costs(costs)["sent"] for line, costs in found.items()}


def _roof(roof: Roof | None) -> str:
    return "" if roof is None else f"{short_share(roof.share)} {'mem' if roof.bound == 'memory' else 'flop'}"


def _table(
    program: Program, level: Level, tally: CostTable, room: int, limit: int | None, roofs: Roofline | None
) -> Table:
    by = next(name for name in RANKED if name in tally.told)
    whole = tally.total[by].number or 1
    ranked = sorted(tally.lines.items(), key=lambda item: -_size(item[1], by))
    sent = _sent_by_line(program, level)
    kept = _kept(tally.told | {name for name, is_there in (("roof", roofs), ("sent", sent)) if is_there}, by, room)
    places = _by_line(level) if roofs is not None else {}
    source = program.source.split("\n")
    shown = ranked if limit is None else ranked[:limit]
    rows: list[tuple[str, ...]] = []
    for line, cost in shown:
        text = "(elsewhere)" if line is None or not 0 < line <= len(source) else source[line - 1].strip()
        share = _size(cost, by) / whole
        roof = _roof(roofs.of(places.get(line, ()))) if roofs is not None else ""
        own = {"roof": roof, "sent": _number({"sent": sent[line]} if line in sent else {}, "sent")}
        cells = (own[name] if name in own else _cell(name, cost, share) for name in kept)
        rows.append(("" if line is None else str(line), *cells, text))
    if len(shown) < len(ranked):
        rest = sum(_size(cost, by) for _, cost in ranked[len(shown) :]) / whole
        rows.append((f"   … {len(ranked) - len(shown)} more lines, {short_share(rest)}",))
    return Table((Head("line", "number", 4), *(_HEADS[name] for name in kept), Head("source")), tuple(rows))


def _tree_table(
    program: Program,
    level: Level,
    tally: CostTable,
    room: int,
    limit: int | None,
    depth: int,
    roofs: Roofline | None,
) -> Table:
    tree = read_tree(level, *read_derived(program, level, make=True))
    by = next(name for name in RANKED if name in tally.told)
    told = tally.told | {
        name
        for name, is_there in (("backward", tree.backward), ("roof", roofs), ("sent", "sent" in tree.total))
        if is_there
    }
    found = branches(program, level, tree, depth, by, limit)
    shown = found if limit is None else found[:limit]
    kept = _kept(told, by, room - _DEEP - 2 * max((row.depth for row in shown), default=0))
    left = room - _width(kept)
    whole = _size(tree.total, by) or 1
    rows: list[tuple[str, ...]] = []
    for row in shown:
        share = _size(row.node.total, by) / whole
        own = {"backward": _behind(row.node, by), "roof": _roof(roof_of(row.node.total))}
        cells = (own[name] if name in own else _cell(name, row.node.total, share) for name in kept)
        rows.append((str(row.node.count), *cells, row.text(left)))
    if limit is not None and len(found) > limit:
        more = len(found) - limit
        rows.append((f"   … {more} more row{'' if more == 1 else 's'}; limit=None shows all",))
    return Table((Head("ops", "number", 4), *(_HEADS[name] for name in kept), Head("source")), tuple(rows))


def _behind(node: Node, by: str) -> str:
    """The share of what a node costs that runs backwards."""
    share = _size(node.behind, by) / (_size(node.total, by) or 1)
    return short_share(share) if share else ""


def _kept(told: frozenset[str], by: str, room: int) -> list[str]:
    """The columns that there is room for."""
    told = told | {"share", "bar", *(["intensity"] if {"flops", "bytes"} <= told else [])}
    kept = [name for name in _HEADS if name in told]
    for name in ("bar", "intensity", *LEAVING, "roof", "sent"):
        if _width(kept) + _NARROW > room and name in kept and name != by:
            kept.remove(name)
    return kept


def _width(kept: Iterable[str]) -> int:
    """How wide a table is in front of the source."""
    return 4 + sum(_HEADS[name].least + 1 for name in kept) + 2


def _heads() -> Iterable[tuple[str, Head]]:
    for name in OF_OPS:
        column = COLUMNS[name]
        yield name, Head(column.title, "number", 6 if column.unit == "seconds" else 7, gap=1)
        if name == "bytes":
            yield "intensity", Head("F/B", "number", 4, gap=1)
    yield "roof", Head("roof", "number", 9, gap=1)
    yield "sent", Head("sent", "number", 7, gap=1)
    yield "backward", Head("back", "number", 5, gap=1)
    yield "share", Head("share", "number", 5, gap=1)
    yield "bar", Head(least=_BAR, gap=1)


_HEADS = dict(_heads())


def _cell(name: str, cost: Cost, share: float) -> str:
    if name == "bar":
        return bar(share, _BAR)
    if name == "share":
        return short_share(share)
    if name == "intensity":
        flops, moved = _size(cost, "flops"), _size(cost, "bytes")
        ratio = flops / moved if flops and moved else None
        return "" if ratio is None else f"{ratio:.1f}" if ratio < 99.95 else f"{ratio:.0f}"
    return _number(cost, name)


def _number(cost: Cost, name: str) -> str:
    """An amount as text; "" where there is none."""
    amount = cost.get(name)
    if amount is None:
        return ""
    if amount.number is None:
        return "?"
    return ("≥" if amount.least else "") + SHORT[COLUMNS[name].unit](amount.number)


def _size(cost: Cost, by: str) -> float:
    amount = cost.get(by)
    return (amount.number or 0) if amount is not None else 0


def _unknown(level: Level) -> Iterable[str]:
    """The ops whose costs nobody knows, by name, and the loops that are counted once."""
    known = list(level.ops())
    for name in COUNTED:
        if ops := [op for op in known if getattr(op, name) is None]:
            yield f"{name} not known of: {_named(ops)}"
        known = [op for op in known if getattr(op, name) is not None]
    once = sorted({op.line for op in level.ops() if op.times is None and op.line is not None})
    if once:
        where = f"line{'' if len(once) == 1 else 's'} {listed([str(line) for line in once], ', ')}"
        yield f"counted once, because nobody knows how often the loop runs: {where}"


def _named(ops: Iterable[Op]) -> str:
    """`sort (line 2), custom_call (lines 3, 4)`."""
    found: dict[str, set[int]] = {}
    for op in ops:
        found.setdefault(op.name, set()).update([op.line] if op.line is not None else [])
    texts: list[str] = []
    for name, lines in found.items():
        numbers = listed([str(line) for line in sorted(lines)], ", ")
        texts.append(printable(name) + (f" (line{'' if len(lines) == 1 else 's'} {numbers})" if lines else ""))
    return listed(texts, ", ")
