"""What a session's runs and errors are looked through for: the findings, each loaded when it is needed first."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jaxnb import findings
from jaxnb.errors import Asking
from jaxnb.program import Finding
from jaxnb.staging import CellSource, Execution, Explained, Label, Observer, Piece, Progress

if TYPE_CHECKING:
    from jaxnb.program import Shardings

__all__ = ["Findings"]


class Findings(Observer):
    """Finds what there is to find; see `jaxnb.staging.Observer`. It remembers what the cells of one session did."""

    def __init__(self) -> None:
        self._known: findings.LintMemory | None = None

    @property
    def _quiet(self) -> findings.LintMemory:
        if self._known is None:
            self._known = findings.LintMemory()
        return self._known

    def on_traced(self, cell: CellSource, piece: Piece, namespace: Mapping[str, Any], label: Label) -> None:
        """Looks at a piece for what quiet findings there may be."""
        findings.glance(self._quiet, cell, piece, namespace, label)

    def on_ran(self, execution: Execution, cell: str | bytes, shown: Container[str]) -> Sequence[Finding]:
        """The quiet findings of a run, and what there is to say of results that are nan or inf."""
        bad = self._quiet.results.find(execution)
        quiet = self._quietly(execution, cell, shown)
        return (*bad, *quiet) if bad else quiet

    def _quietly(self, execution: Execution, cell: str | bytes, shown: Container[str]) -> Sequence[Finding]:
        """The quiet findings; of a program that was looked at before, those that were found then."""
        if not execution.traced and len(execution.ran) == 1:
            (ran,) = execution.ran.values()
            said = findings.said_before(self._quiet, ran.piece, execution.host_lines, shown)
            if said is not None:
                return said
        return findings.run_lints(execution, self._quiet, cell, shown)

    def on_nans(self, execution: Execution, entry: dict[str, Any]) -> Sequence[Finding]:
        """Where values that are no numbers came up first."""
        return findings.read_nans(execution, entry)

    def on_retraced(self, found: Sequence[Finding], shown: str, namespace: dict[str, Any]) -> tuple[Finding, ...]:
        """The findings on a needless retrace, with options that were tried."""
        return tuple(findings.try_options(finding, shown, namespace) for finding in found)

    def on_planned(
        self, cell: CellSource, piece: Piece, namespace: Mapping[str, Any], label: Label, shown: Container[str]
    ) -> tuple[Finding, ...]:
        """How a piece is spread over a mesh that is not there."""
        return findings.find_in_plan(cell, piece, namespace, label, shown)

    def on_needed(self, asking: Asking, cell: CellSource, label: Label) -> Finding | None:
        """What there is to say about a value that a statement needs."""
        try:
            return findings.find_needed(asking, cell.filename, label)
        except Exception:  # the cell runs all the same
            return None

    def on_error(self, error: BaseException, cell: CellSource, label: Label) -> Explained:
        """What is known of an error that a cell raised."""
        return findings.Explanation(error, cell.filename, cell.shown, label)

    def on_oom(
        self, error: BaseException, cell: CellSource, at: Any, namespace: Mapping[str, Any], label: Label
    ) -> None:
        """What took the memory that a program did not get."""
        findings.explain_oom(error, cell, at, namespace, label)

    def on_oom_earlier(
        self, error: BaseException, programs: Iterator[Piece], namespace: Mapping[str, Any], label: Label
    ) -> bool:
        """The same of a program of an earlier cell."""
        return findings.explain_later(error, programs, namespace, label)

    def shardings(
        self,
        cell: CellSource,
        pieces: Sequence[Piece],
        namespace: Mapping[str, Any],
        label: Label,
        progress: Progress,
    ) -> Shardings:
        """How the values of a run are spread."""
        return findings.read_shardings(cell, pieces, namespace, label, progress)
