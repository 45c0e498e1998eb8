"""The lines of a cell, each with the ops that it caused.

An op in a body stands below the op that owns the body if both come from one line (`jnp.where` and what is inside it),
and otherwise at its own line (the body of a scan, written as a function above), under a heading that says whose it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from jaxnb.program import Computation, Cost, Level, Op, Program, add_costs, cost_of
from jaxnb.views.cost_table import CostTable
from jaxnb.views.folding import Fold, Folding, share_out
from jaxnb.views.rows import Group, Row, RowMaker, cut_rows

__all__ = ["MOST_ROWS", "level_below", "line_names", "read_groups"]

MOST_ROWS = 200
_LONGEST_LINE = 400
_LONGEST_NAMES = 60


def read_groups(
    program: Program,
    level: str | None = None,
    limit: int | None = MOST_ROWS,
    *,
    fold: Fold = None,
    tally: CostTable | None = None,
    names: bool = False,
) -> tuple[Group, ...]:
    """The lines of the cell in their order, each with the rows of a level.

    Args:
      program: what to show.
      level: the name of the level; by default the one below the source, if it was made.
      limit: about how many ops at most: bodies are folded first, from the inside out, then every line
        is given its share, with a count of what is left out. None shows all.
      fold: which bodies are folded, see `Fold`.
      tally: what the ops of that level cost, if rows and lines are to say it.
      names: whether lines say what the names were that they assign.

    Raises:
      KeyError: if the program does not have that level.
    """
    listing = _Listing(level_below(program, level), limit, fold, tally)
    lines = {line: listing.block_rows(blocks) for line, blocks in listing.lines.items()}
    wanted = {line: len(found) + listing.left_out.get(line, 0) for line, found in lines.items()}
    shares = share_out(wanted, limit)
    rows = {line: cut_rows(found, shares[line], "ops", listing.left_out.get(line, 0)) for line, found in lines.items()}
    notes, borders = _line_notes(program), _borders(program)
    assigned = line_names(program) if names else {}
    costs = tally.lines if tally is not None else {}
    groups = [
        Group(
            number,
            text.expandtabs(4).rstrip() + (f"  # {assigned[number]}" if number in assigned else ""),
            rows.pop(number, ()),
            notes.get(number, ""),
            borders.get(number, ""),
            costs.get(number),
        )
        for number, text in enumerate(program.source.split("\n"), 1)
    ]
    if borders:
        groups = [_with_inputs(group, listing.maker) for group in groups]
    inputs = () if borders else listing.maker.input_rows()
    if inputs and not groups[0].rows:
        groups[0] = replace(groups[0], rows=inputs)
    elif inputs:
        groups.insert(0, Group(None, "(inputs)", inputs))
    for line, found in rows.items():
        groups.append(Group(None, "(from outside the cell)", found, cost=costs.get(line)))
    if handed_on := listing.maker.output_rows():
        groups.append(Group(None, "(bound as they came in)", handed_on))
    return tuple(groups) if limit is None else _shortened(groups, limit)


def level_below(program: Program, level: str | None) -> Level:
    """The level of that name, by default the one below the source, if it was made; "source" has no ops to show."""
    below = [made.name for made in program.levels if made.name != "source"]
    name = level or (below[0] if below else "source")
    return Level("source", entries=0) if name == "source" else program.level(name)


def line_names(program: Program) -> dict[int, str]:
    """What the names were that each line assigns: `w1: float32[64,128], b1: float32[128]`."""
    found: dict[int, list[str]] = {}
    for assigned in program.names():
        if not assigned.span.file:
            told = found.setdefault(assigned.span.end_line or assigned.span.line, [])
            text = f"{assigned.name}: {assigned.text}"
            told += [text] if text not in told else []
    texts = {line: ", ".join(told) for line, told in found.items()}
    cut = _LONGEST_NAMES
    return {line: text if len(text) <= cut else text[: cut - 1] + "…" for line, text in texts.items()}


def _shortened(groups: list[Group], limit: int) -> tuple[Group, ...]:
    """Leaves out of a long cell the lines that made nothing, and of a long line its end."""
    shown: list[Group] = []
    run: list[Group] = []
    for group in (*groups, None):
        if group is not None and not group.rows and not group.border and len(groups) > limit // 2:
            run.append(group)
            continue
        shown += run if len(run) < 4 else [Group(None, f"… {len(run)} lines")]
        shown += [] if group is None else [group]
        run = []
    if len(shown) > limit:
        shown[limit:] = [Group(None, f"… {len(shown) - limit} more lines")]
    cut = _LONGEST_LINE
    return tuple(replace(g, text=g.text[:cut] + "…") if len(g.text) > cut else g for g in shown)


@dataclass(slots=True)
class _Block:
    """Rows of one body at one line, and from which lines that body is entered."""

    body: Computation | None
    owner: str = ""
    rows: list[Row] = field(default_factory=list[Row])
    entered: list[str] = field(default_factory=list[str])


class _Listing:
    """The ops of a level, by the lines that they come from. Of no line more rows are made than are shown at all."""

    def __init__(self, level: Level, limit: int | None, fold: Fold, tally: CostTable | None) -> None:
        self.level = level
        self.maker = RowMaker(level)
        self.folding = Folding(level, fold, limit)
        self.limit = limit
        self.tally = tally
        self.lines: dict[int | None, dict[int, _Block]] = {}
        self.left_out: dict[int | None, int] = {}
        self._made: dict[int | None, int] = {}
        for index, entry in enumerate(self.maker.entries):
            for op in entry.ops:
                self._add(op, self._block(op.line, index, _Block(None)), op.line, 0, 0, None)

    def block_rows(self, blocks: dict[int, _Block]) -> list[Row]:
        """The rows of a line. A body that is entered from several lines is shown once, with all of them."""
        merged: dict[tuple[Row, ...], _Block] = {}
        for block in blocks.values():
            first = merged.setdefault((*block.rows, Row(op=block.owner)), block)
            if first is not block:
                first.entered += [place for place in block.entered if place not in first.entered]
                pairs = zip(first.rows, block.rows, strict=True)
                first.rows = [replace(row, cost=_both(row.cost, other.cost)) for row, other in pairs]
        rows: list[Row] = []
        for block in merged.values():
            if block.body is None:
                rows += block.rows
            else:
                where = f"of {block.owner}" + (f", {_lines(block.entered)}" if block.entered else "")
                rows.append(Row(op=block.body.name, note=where, heading=True))
                rows += [replace(row, depth=row.depth + 1) for row in block.rows]
        return rows

    def _block(self, line: int | None, key: int, new: _Block) -> _Block:
        return self.lines.setdefault(line, {}).setdefault(key, new)

    def _add(self, op: Op, block: _Block, line: int | None, indent: int, depth: int, owner: Op | None) -> None:
        """Adds an op to a block at a line; its bodies below it, or at lines of their own."""
        made = self._made.get(line, 0)
        if self.limit is not None and made > self.limit:
            self.left_out[line] = self.left_out.get(line, 0) + 1
            return
        self._made[line] = made + 1
        hidden = self.folding.hidden(op, depth)
        cost = None if self.tally is None else self.tally.whole(op) if hidden else cost_of(op)
        block.rows.append(self.maker.op_row(op, indent, entry=depth == 0, hidden=hidden, owner=owner, cost=cost))
        if hidden:
            return
        for index in op.bodies:
            body = self.level.computations[index]
            away = {inner.line for inner in body.ops if inner.line not in (None, line)}
            lines = f"({_lines([str(n) for n in sorted(n for n in away if n)])})" if away else ""
            block.rows.append(self.maker.body_row(body, indent + 1, lines))
            for inner in body.ops:
                if inner.line in away:
                    entered = [str(line)] if line is not None else []
                    target = self._block(inner.line, index, _Block(body, op.name, entered=entered))
                    self._add(inner, target, inner.line, 0, depth + 1, op)
                else:
                    self._add(inner, block, line, indent + 2, depth + 1, op)


def _both(cost: Cost | None, other: Cost | None) -> Cost | None:
    return cost if cost is None or other is None else add_costs((cost, other))


def _lines(numbers: list[str]) -> str:
    """ "line 3", "lines 3, 5", with at most five of them."""
    shown = ", ".join(numbers[:5]) + (", …" if len(numbers) > 5 else "")
    return f"line {shown}" if len(numbers) == 1 else f"lines {shown}"


def _line_notes(program: Program) -> dict[int, str]:
    """What to remark at a line about the kind of its statement."""
    found: dict[int, str] = {}
    for op in _statements(program):
        if op.line is not None and op.name == "host":
            why = dict(op.attributes).get("reason")
            found[op.line] = f"run by Python: {why}" if why else "run by Python"
    return found


def _borders(program: Program) -> dict[int, str]:
    """Where in the text each piece begins, and goes on behind a line that Python runs."""
    found: dict[int, str] = {}
    before = None
    for op in _statements(program):
        piece = dict(op.attributes).get("piece")
        if piece is not None and piece != before and op.line is not None:
            found[op.line] = f"piece {piece}"
        before = piece
    return found


def _with_inputs(group: Group, maker: RowMaker) -> Group:
    """A line where a piece begins, with what the piece takes above what the line became."""
    number = group.border.rpartition(" ")[2]
    rows = maker.input_rows(int(number) - 1) if number.isdigit() else ()
    return replace(group, rows=(*rows, *group.rows))


def _statements(program: Program) -> list[Op]:
    return [op for level in program.levels if level.name == "source" for op in level.ops()]
