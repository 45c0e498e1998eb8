"""What the text and the HTML view both show: the lines of a cell, each with the ops that it caused.

The views only draw. Which op stands at which line, what it is called and what is left out is decided here, so
that they cannot disagree. An op in a body stands below the op that owns the body if both come from one line
(`jnp.where` and what is inside it), and otherwise at its own line (the body of a scan, written as a function
above), under a heading that says whose it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from jaxnb.program import Aval, Computation, Level, Op, Program
from jaxnb.views.folding import count_equations, fold_depth, share_out

__all__ = ["MOST_ROWS", "Group", "Row", "read_groups", "short_type"]

MOST_ROWS = 200
_MOST_NAMES = 6  # operands or results of one op that are written out
_MOST_INPUTS = 16
_LONGEST_LINE = 400

_DTYPE = re.compile(r"\b(bfloat|float|uint|int|complex)(?=\d)")
_DTYPE_LETTERS = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the right column.

    Attributes:
      depth: how far it is indented.
      names: what it defines, "" if nothing.
      op: the name of the op, or of the body whose heading this is.
      operands: what it takes.
      type: the types of what it defines.
      bound: the user's names for its results.
      attributes: pairs of name and text.
      note: a remark, such as "… 31 more equations".
      heading: whether it introduces a body.
    """

    depth: int = 0
    names: str = ""
    op: str = ""
    operands: str = ""
    type: str = ""
    bound: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    note: str = ""
    heading: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """A line of the cell and the rows that belong to it; for what belongs to none, `line` is None and `text`
    says why. Where a piece begins, and there are several, `border` names it."""

    line: int | None
    text: str = ""
    rows: tuple[Row, ...] = ()
    note: str = ""
    border: str = ""


def read_groups(program: Program, level: str | None = None, limit: int | None = MOST_ROWS) -> tuple[Group, ...]:
    """The lines of the cell in their order, each with the rows of a level.

    Args:
      program: what to show.
      level: the name of the level; by default the one below the source, if it was made.
      limit: about how many equations at most: bodies are folded first, from the inside out, then every line
        is given its share, with a count of what is left out. None shows all.

    Raises:
      KeyError: if the program does not have that level.
    """
    below = [made.name for made in program.levels if made.name != "source"]
    name = level or (below[0] if below else "source")
    shown = Level("source", entries=0) if name == "source" else program.level(name)
    listing = _Listing(shown, limit)
    lines = {line: listing.block_rows(blocks) for line, blocks in listing.lines.items()}
    shares = share_out({line: len(rows) for line, rows in lines.items()}, limit)
    rows = {line: _cut(found, shares[line], "equations") for line, found in lines.items()}
    notes, borders = _line_notes(program), _borders(program)
    groups = [
        Group(number, text.expandtabs(4).rstrip(), rows.pop(number, ()), notes.get(number, ""), borders.get(number, ""))
        for number, text in enumerate(program.source.split("\n"), 1)
    ]
    if borders:
        groups = [_with_inputs(group, listing) for group in groups]
    inputs = () if borders else listing.input_rows()
    if inputs and not groups[0].rows:
        groups[0] = replace(groups[0], rows=inputs)
    elif inputs:
        groups.insert(0, Group(None, "(inputs)", inputs))
    for found in rows.values():
        groups.append(Group(None, "(from outside the cell)", found))
    if handed_on := listing.output_rows():
        groups.append(Group(None, "(bound as they came in)", handed_on))
    return tuple(groups) if limit is None else _shortened(groups, limit)


def short_type(aval: Aval | None) -> str:
    """`f32[64,128]` as JAX abbreviates it, "" where nothing is known.

    >>> short_type(Aval("bfloat16", (2, "n"), weak_type=True))
    '~bf16[2,n]'
    """
    return "" if aval is None else _DTYPE.sub(lambda found: _DTYPE_LETTERS[found[1]], str(aval))


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
    """The ops of a level, by the lines that they come from."""

    def __init__(self, level: Level, limit: int | None) -> None:
        self.level = level
        self.entries = level.computations[: level.entries]
        self.depth = fold_depth(level, limit)
        self.lines: dict[int | None, dict[int, _Block]] = {}
        self.bound: dict[int, str] = {}
        for entry in self.entries:
            for value, name in zip(entry.outputs, entry.output_names, strict=False):
                self.bound[value] = f"{self.bound[value]}, {name}" if value in self.bound else name
        for index, entry in enumerate(self.entries):
            for op in entry.ops:
                self._add(op, self._block(op.line, index, _Block(None)), op.line, 0, 0)

    def block_rows(self, blocks: dict[int, _Block]) -> list[Row]:
        """The rows of a line. A body that is entered from several lines is shown once, with all of them."""
        merged: dict[tuple[Row, ...], _Block] = {}
        for block in blocks.values():
            first = merged.setdefault((*block.rows, Row(op=block.owner)), block)
            if first is not block:
                first.entered += [place for place in block.entered if place not in first.entered]
        rows: list[Row] = []
        for block in merged.values():
            if block.body is None:
                rows += block.rows
            else:
                where = f"of {block.owner}" + (f", {_lines(block.entered)}" if block.entered else "")
                rows.append(Row(op=block.body.name, note=where, heading=True))
                rows += [replace(row, depth=row.depth + 1) for row in block.rows]
        return rows

    def input_rows(self, only: int | None = None) -> tuple[Row, ...]:
        """The inputs by their names, and the constants; of one entry point, or of all."""
        rows: list[Row] = []
        for entry in self.entries if only is None else self.entries[only : only + 1]:
            names = entry.input_names or ("input",) * len(entry.inputs)
            rows += [self._renamed(value, name) for value, name in zip(entry.inputs, names, strict=True)]
            rows += [self._renamed(value, "constant") for value in entry.constants]
        return _cut(rows, _MOST_INPUTS, "inputs")

    def output_rows(self) -> tuple[Row, ...]:
        """The user's names for values that no op made: an input handed on, a literal."""
        made = {value for entry in self.entries for op in entry.ops for value in op.outputs}
        values = self.level.values
        rows = [
            Row(names=name, operands=values[value].name, type=short_type(values[value].aval))
            for value, name in self.bound.items()
            if value not in made
        ]
        return _cut(rows, _MOST_INPUTS, "names")

    def _renamed(self, value: int, name: str) -> Row:
        return Row(names=self.level.values[value].name, operands=name, type=self._types((value,)))

    def _block(self, line: int | None, key: int, new: _Block) -> _Block:
        return self.lines.setdefault(line, {}).setdefault(key, new)

    def _add(self, op: Op, block: _Block, line: int | None, indent: int, depth: int) -> None:
        """Adds an op to a block at a line; its bodies below it, or at lines of their own."""
        bodies = [self.level.computations[body] for body in op.bodies]
        folded = depth >= self.depth and count_equations(self.level, op)
        elsewhere = "" if op.span is None or not op.span.file else _file_place(op)
        notes = (f"{{ {folded} equation{'s' if folded > 1 else ''} }}" if folded else "", elsewhere)
        told = {body.name for body in bodies}
        block.rows.append(
            Row(
                indent,
                self._names(op.outputs, ", "),
                op.name,
                self._names(op.inputs, " "),
                self._types(op.outputs),
                ", ".join(self.bound[v] for v in op.outputs if v in self.bound) if depth == 0 else "",
                tuple((name, text) for name, text in op.attributes if text not in told),
                " ".join(filter(None, notes)),
            )
        )
        if folded:
            return
        for index, body in zip(op.bodies, bodies, strict=True):
            away = {inner.line for inner in body.ops if inner.line not in (None, line)}
            results = f"→ {self._names(body.outputs, ', ')}" if body.outputs else ""
            lines = f"({_lines([str(n) for n in sorted(n for n in away if n)])})" if away else ""
            inputs = self._names(body.inputs, " ")
            note = " ".join(filter(None, (results, lines)))
            block.rows.append(Row(indent + 1, op=body.name, operands=inputs, note=note, heading=True))
            for inner in body.ops:
                if inner.line in away:
                    entered = [str(line)] if line is not None else []
                    target = self._block(inner.line, index, _Block(body, op.name, entered=entered))
                    self._add(inner, target, inner.line, 0, depth + 1)
                else:
                    self._add(inner, block, line, indent + 2, depth + 1)

    def _names(self, values: tuple[int, ...], separator: str) -> str:
        return _listed([self.level.values[value].name for value in values], separator)

    def _types(self, values: tuple[int, ...]) -> str:
        return _listed([short_type(self.level.values[value].aval) for value in values], ", ")


def _listed(texts: list[str], separator: str) -> str:
    if len(texts) > _MOST_NAMES:
        texts = [*texts[: _MOST_NAMES - 1], f"…+{len(texts) - _MOST_NAMES + 1}"]
    return separator.join(texts)


def _lines(numbers: list[str]) -> str:
    """ "line 3", "lines 3, 5", with at most five of them."""
    shown = ", ".join(numbers[:5]) + (", …" if len(numbers) > 5 else "")
    return f"line {shown}" if len(numbers) == 1 else f"lines {shown}"


def _file_place(op: Op) -> str:
    """The place of an op that does not come from the cell."""
    return "" if op.span is None else f"({os.path.basename(op.span.file)}:{op.span.line})"


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


def _with_inputs(group: Group, listing: _Listing) -> Group:
    """A line where a piece begins, with what the piece takes above what the line became."""
    number = group.border.rpartition(" ")[2]
    rows = listing.input_rows(int(number) - 1) if number.isdigit() else ()
    return replace(group, rows=(*rows, *group.rows))


def _statements(program: Program) -> list[Op]:
    return [op for level in program.levels if level.name == "source" for op in level.ops()]


def _cut(rows: Iterable[Row], most: int, noun: str) -> tuple[Row, ...]:
    rows = tuple(rows)
    if len(rows) <= most + 1:  # the line that would say "1 more" can as well be the row itself
        return rows
    return (*rows[:most], Row(note=f"… {len(rows) - most} more {noun}"))
