"""Cells that are run for the quiet findings that they give: what the tests of each kind share."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jaxnb.findings import LINT_KINDS, Findings
from jaxnb.options import StageOptions
from jaxnb.program import Finding
from jaxnb.staging.session.execution import Execution
from jaxnb.staging.session.run import Run
from jaxnb.staging.session.session import Session

__all__ = ["Case", "QuietSession", "quiet_findings"]


@dataclass(frozen=True)
class Case:
    """A cell of which there is something quiet to say.

    Attributes:
      cell: the last cell that is staged.
      line: that is told.
      text: a fragment of the message.
      fix: a fragment of the fix.
      fixed: the same cell with the fix applied, of which nothing is to be said.
      setup: a plain cell that runs first.
      before: cells that are staged before it.
    """

    cell: str
    line: int
    text: str
    fix: str
    fixed: str
    setup: str = ""
    before: Sequence[str] = ()


class QuietSession(Session):
    """A session that looks for quiet findings after each run.

    Attributes:
      found: of the last run.
      looked: how many pieces were looked at, in all runs.
    """

    def __init__(self) -> None:
        super().__init__(observer=Findings())
        self.found: list[Finding] = []
        self.file_label = lambda file: f"Cell In[{file[6:-1]}]" if file.startswith("<cell ") else file

    def _describe(self, execution: Execution, *more: Any) -> Run:
        run = super()._describe(execution, *more)
        self.found = [finding for finding in run.findings if finding.kind in LINT_KINDS]
        return run


def quiet_findings(
    setup: str, cells: Sequence[str], kind: str, options: dict[str, Any] | None = None
) -> tuple[list[Finding], dict[str, Any]]:
    """Runs cells one after the other.

    Args:
      setup: a plain cell that runs first.
      cells: to be staged; the lines of the first one are those of `Cell In[1]`.
      kind: of the findings that are wanted.
      options: of the staged cells.

    Returns:
      What is said of the last one, and the names afterwards.
    """
    session, namespace = QuietSession(), dict[str, Any](__name__="__main__")
    linecache.cache["<cell 0>"] = (len(setup), None, setup.splitlines(keepends=True), "<cell 0>")
    exec(compile(setup, "<cell 0>", "exec"), namespace)
    for number, cell in enumerate(cells, 1):
        filename = f"<cell {number}>"
        session.stage(cell.strip("\n"), namespace, StageOptions.of(options or {}), filename=filename, cell_id=filename)
    return [finding for finding in session.found if finding.kind == kind], namespace
