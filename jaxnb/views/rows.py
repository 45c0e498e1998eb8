"""One op as one row: what it defines, does and takes, the same in every view.

The views only draw. What a row says is decided here, so that they cannot disagree.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jaxnb.program import Aval, Computation, Cost, Level, Op, Value

__all__ = [
    "MARKS",
    "Group",
    "Row",
    "RowMaker",
    "cut_rows",
    "file_place",
    "input_labels",
    "legend",
    "listed",
    "short_type",
]

MARKS = {"tangent": "∂", "transposed": "ᵀ", "rematerialised": "↻"}
"""What stands behind the name of an op that belongs to a derivative."""

_MOST_NAMES = 6  # operands or results of one op that are written out
_MOST_INPUTS = 16

_DTYPE = re.compile(r"\b(bfloat|float|uint|int|complex)(?=\d)")
_DTYPE_LETTERS = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of what the cell became.

    Attributes:
      depth: how far it is indented.
      names: what it defines, "" if nothing.
      op: the name of the op, or of the body whose heading this is.
      operands: what it takes.
      type: the types of what it defines.
      bound: the user's names for its results.
      attributes: pairs of name and text.
      note: a remark, such as "… 31 more ops".
      heading: whether it introduces a body.
      mark: one of `MARKS`, or "".
      hidden: how many ops are not shown here.
      line: the line of the cell that it comes from, if known.
      cost: of the op; with its bodies, if they are folded into it.
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
    mark: str = ""
    hidden: int = 0
    # Not compared: a body that is entered from several places is shown once, whatever it cost from each.
    line: int | None = field(default=None, compare=False)
    cost: Cost | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Group:
    """A line of the cell and the rows that belong to it; for what belongs to none, `line` is None and `text`
    says why. Where a piece begins, and there are several, `border` names it."""

    line: int | None
    text: str = ""
    rows: tuple[Row, ...] = ()
    note: str = ""
    border: str = ""
    cost: Cost | None = None


class RowMaker:
    """Makes the rows of a level."""

    def __init__(self, level: Level) -> None:
        self.level = level
        self.entries = level.computations[: level.entries]
        self.bound: dict[int, str] = {}
        for entry in self.entries:
            for value, name in zip(entry.outputs, entry.output_names, strict=False):
                self.bound[value] = f"{self.bound[value]}, {name}" if value in self.bound else name

    def op_row(
        self, op: Op, indent: int, *, entry: bool, hidden: int, owner: Op | None, cost: Cost | None = None
    ) -> Row:
        """An op.

        Args:
          op: to be shown.
          indent: how far it is indented.
          entry: whether it stands in an entry computation, whose results the user may have named.
          hidden: how many ops are folded into it.
          owner: the op in whose body it stands; what that one says of its scopes is not said again.
          cost: what it costs.
        """
        told = {self.level.computations[body].name for body in op.bodies}
        folded = f"{{ … {hidden} op{'s' if hidden > 1 else ''} }}" if hidden else ""
        scopes = _own_scopes(op, owner)
        notes = (folded, f"in {'/'.join(scopes)}" if scopes else "", file_place(op))
        return Row(
            indent,
            self.names(op.outputs, ", "),
            op.name,
            self.names(op.inputs, " "),
            self.types(op.outputs),
            listed([self.bound[v] for v in op.outputs if v in self.bound], ", ") if entry else "",
            tuple((name, text) for name, text in op.attributes if text not in told),
            " ".join(filter(None, notes)),
            mark=MARKS.get(op.phase, ""),
            hidden=hidden,
            line=op.line,
            cost=cost,
        )

    def body_row(self, body: Computation, indent: int, note: str = "") -> Row:
        """The heading of a body: its name, what it takes and what it gives back."""
        results = f"→ {self.names(body.outputs, ', ')}" if body.outputs else ""
        note = " ".join(filter(None, (results, note)))
        return Row(indent, op=body.name, operands=self.names(body.inputs, " "), note=note, heading=True)

    def input_rows(self, only: int | None = None, indent: int = 0) -> tuple[Row, ...]:
        """The inputs by their names, and the constants; of one entry point, or of all."""
        rows: list[Row] = []
        for entry in self.entries if only is None else self.entries[only : only + 1]:
            labels = zip((*entry.inputs, *entry.constants), input_labels(entry), strict=True)
            rows += [self._renamed(value, name, indent) for value, name in labels]
        return cut_rows(rows, _MOST_INPUTS, "inputs")

    def output_rows(self) -> tuple[Row, ...]:
        """The user's names for values that no op made: an input handed on, a literal."""
        made = {value for entry in self.entries for op in entry.ops for value in op.outputs if value in self.bound}
        values = self.level.values
        rows = [
            Row(names=name, operands=values[value].name, type=short_type(values[value]))
            for value, name in self.bound.items()
            if value not in made
        ]
        return cut_rows(rows, _MOST_INPUTS, "names")

    def names(self, values: Sequence[int], separator: str) -> str:
        """What the level calls these values, the first few of them."""
        return listed([self.level.values[value].name for value in values], separator)

    def types(self, values: Sequence[int]) -> str:
        """The types of these values, the first few of them."""
        return listed([short_type(self.level.values[value]) for value in values], ", ")

    def _renamed(self, value: int, name: str, indent: int) -> Row:
        return Row(indent, names=self.level.values[value].name, operands=name, type=self.types((value,)))


def short_type(of: Value | Aval | None) -> str:
    """`f32[64,128]` as JAX abbreviates it, with the named axes of a value behind a bar; "" where nothing is known.

    >>> short_type(Aval("bfloat16", (2, "n"), weak_type=True))
    '~bf16[2,n]'
    >>> short_type(Value("x", Aval("float32", (5,)), axes=(("batch", 20), ("i", None))))
    'f32[5 | batch:20, i]'
    """
    aval, axes = (of.aval, of.axes) if isinstance(of, Value) else (of, ())
    if aval is None:
        return ""
    text = _DTYPE.sub(lambda found: _DTYPE_LETTERS[found[1]], str(aval))
    if not axes:
        return text
    named = ", ".join(name if size is None else f"{name}:{size}" for name, size in axes)
    return f"{text[:-1]}{' ' if aval.shape else ''}| {named}]"


def input_labels(computation: Computation) -> tuple[str, ...]:
    """What the user calls each input, and then each constant."""
    names = computation.input_names or ("input",) * len(computation.inputs)
    return (*names, *("constant",) * len(computation.constants))


def listed(texts: Sequence[str], separator: str) -> str:
    """The first few of these, and how many more there are."""
    if len(texts) > _MOST_NAMES:
        texts = [*texts[: _MOST_NAMES - 1], f"…+{len(texts) - _MOST_NAMES + 1}"]
    return separator.join(texts)


def file_place(op: Op) -> str:
    """`(helpers.py:3)` of an op that does not come from the cell, "" of one that does."""
    return "" if op.span is None or not op.span.file else f"({os.path.basename(op.span.file)}:{op.span.line})"


def cut_rows(rows: Iterable[Row], most: int, noun: str, left_out: int = 0) -> tuple[Row, ...]:
    """At most so many rows, and one that says how many more there are, those included that were `left_out` before."""
    rows = tuple(rows)
    if not left_out and len(rows) <= most + 1:  # the line that would say "1 more" can as well be the row itself
        return rows
    more = len(rows[most:]) + left_out
    hidden = sum(row.hidden for row in rows[most:])
    return (*rows[:most], Row(note=f"… {more} more {noun}", hidden=more + hidden if noun == "ops" else 0))


def legend(rows: Iterable[Row]) -> list[str]:
    """What the marks mean that were used, and how to see what is not shown; empty where there is nothing to explain."""
    rows = list(rows)
    used = {row.mark for row in rows}
    marks = "  ".join(f"{mark} {phase}" for phase, mark in MARKS.items() if mark in used)
    hidden = sum(row.hidden for row in rows)
    count = "1 op is" if hidden == 1 else f"{hidden} ops are"
    told = [marks] if marks else []
    return [*told, f"{count} not shown; `limit=None` shows all."] if hidden else told


def _own_scopes(op: Op, owner: Op | None) -> tuple[str, ...]:
    """The scopes that where the op stands does not tell already; in a body, that it runs in a loop is told."""
    if owner is None:
        return op.scopes
    at = 0
    while at < min(len(owner.scopes), len(op.scopes)) and owner.scopes[at] == op.scopes[at]:
        at += 1
    return tuple(scope for scope in op.scopes[at:] if scope not in ("scan", "while"))
