"""What was traced in this session, how often and why, what it cost, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxnb import views
from jaxnb.program import Finding, Fix, Program
from jaxnb.staging import Group, History, Later, Run, Tally, advise, current_session
from jaxnb.units import format_seconds

__all__ = ["Reason", "RetraceReport", "RetracedRow", "note_of", "report_of", "retraces"]

_MOST_ROWS, _MOST_REASONS, _LONGEST_TITLE = 20, 4, 60


@dataclass(frozen=True, slots=True)
class Reason:
    """One cause for tracing again.

    Attributes:
      text: the last change of this cause, such as `x float32[3] → float32[4]`.
      holder: the path of what changed, as a user would write it.
      kind: what sort of change, in one word.
      count: how often it led to a retrace.
      seconds: what these cost.
      needless: whether it came more than once and can be avoided.
      fix: what to do, if something is known.
    """

    text: str
    holder: str
    kind: str
    count: int
    seconds: float
    needless: bool
    fix: Fix | None


@dataclass(frozen=True, slots=True)
class RetracedRow:
    """A cell or a jitted function.

    Attributes:
      where: what the user knows it by: `Cell In[7]`, or `step (line 3 of Cell In[4])`.
      title: the first line of a cell, the name of a function.
      function: whether it is a function.
      traces: how often it was traced, or compiled again.
      needless: how often that was needless.
      seconds: what all of it cost.
      wasted: what the needless ones cost.
      reasons: why it was not the first time, the newest first.
    """

    where: str
    title: str
    function: bool
    traces: int
    needless: int
    seconds: float
    wasted: float
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class RetraceReport:
    """What was traced, the newest first; its text is what `%jaxnb retraces` prints.

    Attributes:
      rows: the cells and functions.
      traces: how many traces there were in all.
      seconds: what they cost.
      notes: what could not be watched, and why.
    """

    rows: tuple[RetracedRow, ...]
    traces: int
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def needless(self) -> int:
        """How many of the traces were needless."""
        return sum(row.needless for row in self.rows)

    def __str__(self) -> str:
        if not self.rows:
            lines = ["nothing has been traced yet"]
        else:
            lines = [*self._table(), "", self._total()]
        lines += [f"jitted functions are not watched any more: {views.printable(note)}" for note in self.notes]
        return "\n".join(lines)

    __repr__ = __str__

    def _table(self) -> list[str]:
        rows: list[tuple[str, ...]] = []
        for row in self.rows[:_MOST_ROWS]:
            what = row.where if row.function else f"{row.where}  {_shortened(row.title)}".strip()
            rows.append((str(row.traces), str(row.needless or ""), format_seconds(row.seconds), what))
            rows += [("", "", "", f"  {text}") for text in _reason_lines(row.reasons)]
        if len(self.rows) > _MOST_ROWS:
            rows.append((f"and {len(self.rows) - _MOST_ROWS} more",))
        heads = (
            *(views.Head(name, "number") for name in ("traced", "needless", "cost")),
            views.Head("what, and why again"),
        )
        return views.table_lines(views.Table(heads, tuple(rows)))

    def _total(self) -> str:
        functions = sum(row.function for row in self.rows)
        cells = len(self.rows) - functions
        counts = [_count(number, noun) for number, noun in ((cells, "cell"), (functions, "function")) if number]
        text = f"{_count(self.traces, 'trace')} of {' and '.join(counts)}, {format_seconds(self.seconds)}"
        if self.needless:
            were = "was" if self.needless == 1 else "were"
            text += f"; {self.needless} {were} needless, {format_seconds(sum(row.wasted for row in self.rows))}"
        return text


def retraces(session: Any = None) -> RetraceReport:
    """What was traced in a session: staged cells, and while the extension is loaded jitted functions of plain cells.

    Args:
      session: None stands for that of the shell that loaded the extension, or else the one that `jaxnb.stage` uses.

    Example:
      >>> import jax.numpy as jnp
      >>> from jaxnb.options import StageOptions
      >>> from jaxnb.staging.session.session import Session
      >>> session, names = Session(), {"x": jnp.ones(3)}
      >>> for n in (3, 4, 5):
      ...     names["x"] = jnp.ones(n)
      ...     _ = session.stage("y = x * 2", names, StageOptions())
      >>> (row,) = retraces(session).rows
      >>> row.traces, row.needless, row.reasons[0].text
      (3, 2, 'x float32[4] → float32[5]')
    """
    session = current_session() if session is None else session
    if session is None:
        return report_of(History())
    return report_of(session.history, session.file_label)


def report_of(history: History, label: Callable[[str], str] = str) -> RetraceReport:
    """The report of a history."""
    groups = sorted(history.groups.values(), key=lambda group: -group.order)
    rows = tuple(_row(group, label) for group in groups if group.traces)
    return RetraceReport(rows, history.traces, history.seconds, tuple(history.notes))


def note_of(finding: Finding) -> Run:
    """A finding about a function of a plain cell, as the one line that is shown under the cell."""
    where = f"line {finding.line}: " if finding.line is not None else ""
    fix = f" · try: {finding.fix.text}" if finding.fix is not None else ""
    later = Later(lambda: Program("", findings=(finding,)))
    return Run(note=f"{where}{finding.message}{fix}", note_kind="finding", later=later)


def _row(group: Group, label: Callable[[str], str]) -> RetracedRow:
    known = label(group.file)
    where = "" if known.startswith("<") else known
    if group.function:
        where = f"{group.title} (line {group.line} of {known})"
    tallies = sorted(group.causes.values(), key=lambda tally: -tally.order)
    reasons = tuple(_reason(tally, group.function) for tally in tallies)
    counts = (group.traces, group.needless, group.seconds, group.wasted)
    return RetracedRow(where, group.title, group.function, *counts, reasons)


def _reason(tally: Tally, function: bool) -> Reason:
    change = tally.newest
    fix = advise(change, tally, function)
    return Reason(change.text, change.path, change.kind, tally.count, tally.seconds, tally.needless, fix)


def _reason_lines(reasons: tuple[Reason, ...]) -> list[str]:
    lines: list[str] = []
    for reason in reasons[:_MOST_REASONS]:
        times = f"{reason.count}× " if reason.count > 1 else ""
        lines.append(f"{times}{reason.text}")
        if reason.fix is not None:
            options = f" {reason.fix.options}" if reason.fix.options else ""
            lines.append(f"  try: {reason.fix.text}{options}")
    if len(reasons) > _MOST_REASONS:
        lines.append(f"and {len(reasons) - _MOST_REASONS} more reasons")
    return lines


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TITLE else text[: _LONGEST_TITLE - 1] + "…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
