"""What ops cost, added up by line, and laid out in columns that fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from jaxnb.program import COLUMNS, COUNTED, MEASURED, Amount, Cost, Level, Op, Program, add_costs, cost_of
from jaxnb.views.compact import SHORT, bar

__all__ = [
    "LEAVING",
    "NO_COLUMNS",
    "OF_OPS",
    "RANKED",
    "SHOWN",
    "Columns",
    "CostTable",
    "choose_columns",
    "read_cost_table",
]

SHOWN = tuple(name for name, column in COLUMNS.items() if column.in_text)
"""What can be shown of an op or a line."""

OF_OPS = tuple(name for name in SHOWN if COLUMNS[name].of == "op")
"""The same of an op."""

LEAVING = tuple(sorted(SHOWN, key=lambda name: COLUMNS[name].leaves or 0))
"""What goes first where there is no room for all."""

RANKED = tuple(sorted(OF_OPS, key=lambda name: COLUMNS[name].rank))
"""What ops are ranked by, and what the mark stands for: the first of these that is known."""


class CostTable:
    """What the ops of a level cost: each with its bodies, each line of the cell, and all together.

    Attributes:
      lines: by line of the cell, None being what comes from elsewhere.
      total: of everything.
      told: the columns that have anything to say.
    """

    def __init__(self, level: Level, memory: Mapping[int, int] | None = None, peak: int = 0) -> None:
        sums: dict[int | None, dict[str, list[float]]] = {}
        for computation in level.computations:
            for op in computation.ops:
                _count(sums.setdefault(op.line, {}), op)
        self.lines = {line: _amounts(columns) for line, columns in sums.items()}
        self.total = add_costs(self.lines.values())
        for line, number in (memory or {}).items():
            self.lines.setdefault(line, {})["memory"] = Amount(number)
        if peak:
            self.total["memory"] = Amount(peak)
        self.told = frozenset(column for column, (number, _) in self.total.items() if number)
        self._level = level
        self._bodies: dict[int, dict[str, Amount]] | None = None

    def whole(self, op: Op) -> dict[str, Amount]:
        """What an op costs with everything in its bodies."""
        if not op.bodies:
            return cost_of(op)
        if self._bodies is None:
            self._bodies = {}
            computations = self._level.computations
            for index in reversed(range(self._level.entries, len(computations))):  # a body comes after its owner
                self._bodies[index] = add_costs(self.whole(inner) for inner in computations[index].ops)
        return add_costs([cost_of(op), *(self._bodies[body] for body in op.bodies)])


def _count(columns: dict[str, list[float]], op: Op) -> None:
    """Adds an op to [sum, how many were known, how many were not, or not whole]; written for 100,000 of them."""
    loops = op.times is None
    for column in COUNTED:
        number = getattr(op, column)
        found = columns.setdefault(column, [0, 0, 0])
        if number is None:
            found[2] += 1
        else:
            found[0] += number
            found[1] += 1
            found[2] += loops and number > 0
    for column in MEASURED:
        if (number := getattr(op, column)) is not None:
            found = columns.setdefault(column, [0, 0, 0])
            found[0] += number
            found[1] += 1


def _amounts(columns: dict[str, list[float]]) -> dict[str, Amount]:
    return {
        column: Amount(number if known else None, bool(least)) for column, (number, known, least) in columns.items()
    }


def read_cost_table(program: Program, level: Level, asked: Sequence[str]) -> CostTable:
    """What the ops of a level cost; memory where it was made already, or is asked for by name."""
    memory = program.memory() if "memory" in asked else program.made_memory or ()
    lines: dict[int, int] = {}
    for piece in memory:
        for line, number in piece.lines().items():
            lines[line] = max(lines.get(line, 0), number)
    return CostTable(level, lines, max((piece.peak for piece in memory), default=0))


class Columns:
    """Costs as text of one width: numbers flush right, and a mark of eighths that says how hot it is.

    >>> columns = Columns(("flops",), {"flops": Amount(2000)}, 2000)
    >>> columns.head, columns.cells({"flops": Amount(1000, True)})
    ('  flops   ', '≥1.0 KF ▄ ')
    """

    def __init__(self, names: Sequence[str], total: Cost, hottest: float) -> None:
        self.names = tuple(names)
        self.width = _width(len(names))
        self._total = total
        self._hottest = hottest
        self._mark = next((name for name in RANKED if name in names), "")

    @property
    def head(self) -> str:
        """The names of the columns."""
        return self._line([COLUMNS[name].title for name in self.names], " ")

    @property
    def total(self) -> str:
        """The sums; of memory, the peak."""
        return self._line([_text(name, self._total.get(name)) for name in self.names], " ")

    def cells(self, cost: Cost | None) -> str:
        """The numbers of an op or a line; spaces where there is nothing to say. `?` is what nobody knows."""
        if not cost:
            return " " * self.width
        found = cost.get(self._mark)
        share = found.number / self._hottest if found and found.number and self._hottest else 0
        return self._line([_text(name, cost.get(name)) for name in self.names], bar(share))

    def _line(self, texts: Sequence[str], mark: str) -> str:
        return "".join(f"{text:>{_CELL}} " for text in texts) + f"{mark} " if self.names else ""


_CELL = 7


def _width(count: int) -> int:
    return (_CELL + 1) * count + 2 if count else 0


NO_COLUMNS = Columns((), {}, 0)


def choose_columns(
    asked: Sequence[str] | Literal["auto"], tally: CostTable, room: int, *, ops_alone: bool = False
) -> Columns:
    """The columns that fit.

    Args:
      asked: their names, in the order in which they are shown; "auto" for those that have anything to say.
      tally: what is to be shown.
      room: how wide they may be together. What does not fit is left out: bytes, memory, flops, and time last.
      ops_alone: leaves out what is only known of lines.

    Raises:
      ValueError: for a column that there is not.
    """
    names = [name for name in SHOWN if name in tally.told] if asked == "auto" else list(dict.fromkeys(asked))
    for name in names:
        if name not in SHOWN:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(SHOWN)}")
    if ops_alone:
        names = [name for name in names if name in OF_OPS]
    for name in LEAVING:
        if _width(len(names)) > room and name in names:
            names.remove(name)
    heat = next((name for name in RANKED if name in names), "")
    lines = [cost[heat].number or 0 for cost in tally.lines.values() if heat in cost]
    return Columns(names, tally.total, max(lines, default=0))


def _text(column: str, amount: Amount | None) -> str:
    if amount is None:
        return ""
    if amount.number is None:
        return "?"
    if not amount.number and not amount.least:
        return ""
    return ("≥" if amount.least else "") + SHORT[COLUMNS[column].unit](amount.number)
