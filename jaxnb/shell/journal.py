"""All staged cells of a notebook at a glance: what `%jaxnb session` shows."""

from __future__ import annotations

import shutil
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from jaxnb.program import Finding, Part, Severity, Status
from jaxnb.staging import Run
from jaxnb.units import format_bytes, format_seconds
from jaxnb.views import Cell, Head, Table, clipped, element, style_element, table_element, table_lines, text_width

__all__ = ["CellRow", "Journal", "SessionReport"]

_MOST_CELLS = 500
_LONGEST = 46  # letters of what a cell begins with
_SHORTEST = 12  # where there is no room for all of them


@dataclass(frozen=True, slots=True)
class CellRow:
    """One cell.

    Attributes:
      label: what IPython calls it, such as "Cell In[5]"; of its last run.
      begins: its first line that is no magic and no comment.
      cell_id: as the front end told it; None where it did not.
      runs: how often it ran.
      traced: how many of these runs traced something.
      compiling: seconds that tracing and compiling took, of all runs.
      running: seconds of the last run that was waited for, else of its dispatch.
      peak: bytes that its last run needed; None where that is not told.
      findings: how many things of the last run want to be looked at.
      happened: what the line of the last run begins with.
    """

    label: str
    begins: str
    cell_id: str | None = None
    runs: int = 0
    traced: int = 0
    compiling: float = 0.0
    running: float = 0.0
    peak: int | None = None
    findings: int = 0
    happened: tuple[Part, ...] = ()


class Journal:
    """Writes down what staged cells do; of each cell one row, and nothing that it bound.

    Attributes:
      noticed: what there was to say of the cell that ran last, staged or not.
    """

    def __init__(self) -> None:
        self._rows: OrderedDict[str, CellRow] = OrderedDict()
        self.noticed: tuple[Finding, ...] = ()

    def begin(self) -> None:
        """A cell is about to run, of which nothing was noticed yet."""
        self.noticed = ()

    def notice(self, *findings: Finding) -> None:
        """Writes down what there is to say of the cell that runs, each once."""
        self.noticed += tuple(one for one in dict.fromkeys(findings) if one not in self.noticed)

    def add(self, run: Run, shown: str, label: str, cell_id: str | None) -> None:
        """Enters a run.

        Args:
          run: that ended.
          shown: the cell as displayed.
          label: what IPython calls it.
          cell_id: by which the same cell is known again; without one by its text.
        """
        self.notice(*run.findings)
        key = cell_id or shown
        row = self._rows.get(key) or CellRow(label, "", cell_id)
        times = run.timings
        self._rows[key] = replace(
            row,
            label=label,
            begins=_beginning(shown),
            runs=row.runs + 1,
            traced=row.traced + (not run.reused),
            compiling=row.compiling + (times.trace or 0.0) + (times.compile or 0.0),
            running=times.run if times.run is not None else run.dispatch_seconds,
            peak=run.memory,
            findings=sum(finding.severity is not Severity.FACT for finding in run.findings),
            happened=run.status.happened,
        )
        while len(self._rows) > _MOST_CELLS:
            self._rows.popitem(last=False)

    def report(self) -> SessionReport:
        """The cells so far, in the order in which they first ran."""
        return SessionReport(tuple(self._rows.values()))


@dataclass(frozen=True, slots=True)
class SessionReport:
    """The cells of a session; in a notebook a press on one goes there."""

    rows: tuple[CellRow, ...]

    def __str__(self) -> str:
        if not self.rows:
            return "no cell was staged yet"
        return "\n".join([*self._lines(), "", self._sum()])

    __repr__ = __str__

    def _lines(self) -> list[str]:
        """The table, with what happened to a cell on a line of its own where there is no room for it beside."""
        room = shutil.get_terminal_size().columns
        table = self._table(lambda row: row.label)
        lines = table_lines(table)
        over = max(map(text_width, lines)) - room
        if over <= 0:
            return lines
        narrow = Table(table.heads[:-1], tuple(row[:-1] for row in table.rows))
        over = max(map(text_width, table_lines(narrow))) - room
        if over > 0:
            begins = Head("begins", most=max(_SHORTEST, _LONGEST - over))
            narrow = replace(narrow, heads=(narrow.heads[0], begins, *narrow.heads[2:]))
        head, *lines = table_lines(narrow, room)
        happened = [clipped(f"  {Status(row.happened)}", room) for row in self.rows]
        return [head, *chain(*zip(lines, happened, strict=True))]

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        if not self.rows:
            return {"text/plain": str(self)}
        table = table_element(self._table(_linked))
        sheets = [style_element(name) for name in ("placement.css", "ledger.css")]
        told = element("div", {"class": "jnb"}, *sheets, element("p", None, self._sum()), table)
        return {"text/plain": str(self), "text/html": str(told)}

    def _table(self, label: Callable[[CellRow], str | Cell]) -> Table:
        heads = (
            Head("cell"),
            Head("begins", most=_LONGEST),
            Head("runs", "number"),
            Head("traced", "number"),
            Head("compiling", "number"),
            Head("last run", "number"),
            Head("peak", "number"),
            Head("findings", "number"),
            Head("last"),
        )
        dearest = max(row.compiling for row in self.rows)
        marked = frozenset(at for at, row in enumerate(self.rows) if row.findings or row.compiling == dearest > 1)
        return Table(heads, tuple((label(row), *_cells(row)) for row in self.rows), marked)

    def _sum(self) -> str:
        runs = sum(row.runs for row in self.rows)
        again = sum(max(0, row.traced - 1) for row in self.rows)
        host = sum(any(part.kind == "host" for part in row.happened) for row in self.rows)
        parts = [
            f"{len(self.rows)} cell{'' if len(self.rows) == 1 else 's'}, {runs} run{'' if runs == 1 else 's'}",
            f"compiling {format_seconds(sum(row.compiling for row in self.rows))}",
            f"traced again {again} time{'' if again == 1 else 's'}" if again else "",
            f"{host} partly on the host" if host else "",
        ]
        return " · ".join(filter(None, parts))


def _cells(row: CellRow) -> Sequence[str]:
    return (
        row.begins,
        str(row.runs),
        str(row.traced),
        format_seconds(row.compiling) if row.compiling else "",
        format_seconds(row.running) if row.running else "",
        "" if row.peak is None else format_bytes(row.peak),
        str(row.findings) if row.findings else "",
        str(Status(row.happened)),
    )


def _linked(row: CellRow) -> str | Cell:
    """The label as a link to the cell, which our extension of Jupyter follows."""
    if row.cell_id is None:
        return row.label
    link = {"href": f"#cell-id={row.cell_id}"}
    return Cell(row.label, picture=lambda: element("a", link, row.label))


def _beginning(shown: str) -> str:
    lines = [line.strip() for line in shown.splitlines()]
    return next((line for line in lines if line and not line.startswith(("%", "#"))), lines[0] if lines else "")
