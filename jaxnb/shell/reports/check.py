"""A notebook, executed from top to bottom, and all that there is to say of its cells: for people, for CI, for programs.

The extension is loaded before the first cell, so that plain cells are looked at as well. Of a cell that is tagged
`raises-exception`, and does raise, nothing is said. The notebook on disk is only read.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxnb import __version__, program
from jaxnb.program import Finding, Severity
from jaxnb.shell.reports.execute import Ask, CellFailed, Progress, execute_notebook
from jaxnb.shell.reports.notebook import (
    check_kernel,
    code_cells,
    error_line,
    has_run,
    read_cells,
    read_notebook,
    source_lines,
)
from jaxnb.views import render_findings

__all__ = ["Checked", "CheckedCell", "as_json", "as_sarif", "as_text", "check"]

_SARIF_LEVELS = {Severity.FACT: "note", Severity.SLOW: "note", Severity.WRONG: "warning", Severity.ERROR: "error"}
_RAISED = "raised"
"""The kind of an error of which there is nothing more to say."""


@dataclass(frozen=True, slots=True)
class CheckedCell:
    """A code cell of which there is something to say.

    Attributes:
      number: among the code cells, from 1.
      source: its text.
      findings: in the order in which they came up.
      error: what it raised, in one line, if it was not meant to.
      lines: the line of the file on which each line of the cell stands; empty where that is not known.
    """

    number: int
    source: str
    findings: tuple[Finding, ...]
    error: str
    lines: tuple[int, ...] = ()

    @property
    def severity(self) -> Severity:
        """That of the worst finding."""
        return Severity.ERROR if self.error else max((one.severity for one in self.findings), default=Severity.FACT)


@dataclass(frozen=True, slots=True)
class Checked:
    """What a notebook came to.

    Attributes:
      path: the notebook.
      cells: those of which there is something to say.
      count: how many code cells it has.
      ran: how many of them were run.
      stopped: why the others were not; "" if all were.
    """

    path: Path
    cells: tuple[CheckedCell, ...]
    count: int
    ran: int
    stopped: str = ""

    @property
    def severity(self) -> Severity:
        """That of the worst finding."""
        if self.stopped:
            return Severity.ERROR
        return max((cell.severity for cell in self.cells), default=Severity.FACT)

    def counts(self) -> Counter[Severity]:
        """How many findings there are of each severity; an error that is not explained counts as one, too."""
        found = Counter(one.severity for cell in self.cells for one in cell.findings)
        found[Severity.ERROR] += sum(not _explains(cell) for cell in self.cells if cell.error)
        return found


def check(notebook: str | os.PathLike[str], *, progress: Progress, timeout: int | None = None) -> Checked:
    """Runs a notebook in its own folder, on behind cells that fail, and collects the findings.

    Args:
      notebook: the file, in nbformat 4 or what nbformat can turn into it.
      progress: is told what goes on.
      timeout: seconds that one cell may take, None for any time.

    Raises:
      CellFailed: if the kernel does not start.
      JaxnbError: if the notebook cannot be read or run.
      KeyboardInterrupt: if Ctrl-C comes.
    """
    path = Path(notebook)
    nb = read_notebook(path)
    check_kernel(nb, path)
    found: dict[int, tuple[Finding, ...]] = {}

    async def before(ask: Ask) -> None:
        if not await ask("load()", __name__):
            raise CellFailed("the extension cannot be loaded in the kernel.", fix="run: jaxnb doctor.")

    async def after_cell(ask: Ask, node: Any) -> None:
        if answer := await ask("noticed()", __name__):
            found[id(node)] = program.decode(json.loads(answer)).findings

    stopped = ""
    try:
        run = execute_notebook(
            nb, path, progress=progress, keep_going=True, timeout=timeout, before=before, after_cell=after_cell
        )
        asyncio.run(run)
    except CellFailed as error:
        if not any(has_run(nb.cells[index]) for _, index in code_cells(nb)):
            raise
        stopped = str(error)
    lines = source_lines(path.read_text(encoding="utf-8"), [cell.source for cell in nb.cells])
    cells: list[CheckedCell] = []
    for cell, (_, index) in zip(read_cells(nb), code_cells(nb), strict=True):
        findings = found.get(id(nb.cells[index]), ())
        meant = error_line(nb.cells[index]) and not cell.error  # it fails, as it should
        if (findings or cell.error) and not meant:
            cells.append(CheckedCell(cell.number, cell.source, findings, cell.error, lines[index]))
    indices = [index for _, index in code_cells(nb)]
    return Checked(path, tuple(cells), len(indices), sum(has_run(nb.cells[index]) for index in indices), stopped)


# --- what the kernel is asked ---


def load() -> str:
    """Loads the extension, if it is not loaded; its name, or "" without IPython."""
    from IPython.core.getipython import get_ipython

    shell: Any = get_ipython()
    if shell is None:
        return ""
    if "jaxnb" not in shell.extension_manager.loaded:
        shell.extension_manager.load_extension("jaxnb")
    return "jaxnb"


def noticed() -> str:
    """The findings on the cell that ran last, as those of a program, in JSON; "" if there is none."""
    from IPython.core.getipython import get_ipython

    magics = getattr(get_ipython(), "_jaxnb_magics", None)
    findings = magics.journal.noticed if magics is not None else ()
    return json.dumps(program.encode(program.Program("", findings=findings))) if findings else ""


# --- forms ---


def as_text(checked: Checked) -> str:
    """What was found, cell by cell, and a last line that counts it."""
    blocks: list[str] = []
    for cell in checked.cells:
        error = [f"raised {cell.error}"] if cell.error else []
        told = render_findings(_unfolded(cell), width=100, source=cell.source)
        blocks.append("\n".join([f"cell [{cell.number}]{_place(cell)}", *error, *filter(None, [told])]))
    return "\n\n".join([*blocks, _sum(checked)])


def as_json(checked: Checked) -> str:
    """What was found as one JSON object: the notebook, the counts, and the findings, each with its cell."""
    data = {
        "notebook": str(checked.path),
        "cells": checked.count,
        "ran": checked.ran,
        "stopped": checked.stopped,
        "counts": {severity.name.lower(): checked.counts()[severity] for severity in reversed(Severity)},
        "errors": [{"cell": cell.number, "error": cell.error} for cell in checked.cells if cell.error],
        "findings": [
            {"cell": cell.number, **_in_file(cell, one.line), **one.to_json()}
            for cell in checked.cells
            for one in cell.findings
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False)


def as_sarif(checked: Checked) -> str:
    """What was found as a log of SARIF 2.1.0, whose lines are those of the notebook's file.

    The form: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
    """
    results = [_result(checked, cell, one) for cell in checked.cells for one in _told(cell)]
    ids = sorted({str(result["ruleId"]) for result in results})
    driver = {"name": "jaxnb", "version": __version__, "rules": [{"id": name} for name in ids]}
    runs = [{"tool": {"driver": driver}, "results": results, "columnKind": "unicodeCodePoints"}]
    log = {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": runs}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _result(checked: Checked, cell: CheckedCell, finding: Finding) -> dict[str, Any]:
    where: dict[str, Any] = {"artifactLocation": {"uri": _uri(checked.path)}}
    line = _in_file(cell, finding.line or 1).get("file_line")
    if line is not None:
        where["region"] = {"startLine": line}
    texts = [finding.message, f"Fix: {finding.fix.text}" if finding.fix is not None else ""]
    text = cell.source.split("\n")[(finding.line or 1) - 1 :][:1]
    same = hashlib.sha256("\n".join([finding.id, *text]).encode()).hexdigest()[:16]
    return {
        "ruleId": finding.id,
        "level": _SARIF_LEVELS[finding.severity],
        "message": {"text": " ".join(filter(None, texts))},
        "locations": [{"physicalLocation": where, "logicalLocations": [{"name": f"cell {cell.number}"}]}],
        "partialFingerprints": {"jaxnb/v1": same},
        "properties": {"cell": cell.number, **finding.to_json()},
    }


def _uri(path: Path) -> str:
    """Relative to the working folder where it lies below, as a repository's paths are."""
    full = path.resolve()
    here = Path.cwd()
    return full.relative_to(here).as_posix() if full.is_relative_to(here) else full.as_uri()


def _told(cell: CheckedCell) -> Sequence[Finding]:
    """The findings, and the error where none of them explains it."""
    if not cell.error or _explains(cell):
        return cell.findings
    return (*cell.findings, Finding(_RAISED, f"the cell raised {cell.error}"))


def _explains(cell: CheckedCell) -> bool:
    """Whether one of the findings is about the error."""
    return any(one.severity is Severity.ERROR or one.said for one in cell.findings)


def _unfolded(cell: CheckedCell) -> list[Finding]:
    """What is written out: not how it is, such as which names were static."""
    return [one for one in cell.findings if one.severity is not Severity.FACT]


def _in_file(cell: CheckedCell, line: int | None) -> dict[str, int]:
    known = line is not None and 0 < line <= len(cell.lines)
    return {"file_line": cell.lines[line - 1]} if known and line is not None else {}


def _place(cell: CheckedCell) -> str:
    return f", line {cell.lines[0]} of the file" if cell.lines else ""


def _sum(checked: Checked) -> str:
    counts = checked.counts()
    words = {Severity.ERROR: "error", Severity.WRONG: "wrong result", Severity.SLOW: "slow place"}
    told = ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for one, word in words.items() if (n := counts[one]))
    ran = f"{checked.ran} of {checked.count}" if checked.ran != checked.count else str(checked.count)
    more = f"\n{checked.stopped}" if checked.stopped else ""
    return f"{checked.path}: {ran} cell{'' if ran == '1' else 's'} ran; {told or 'nothing to say'}{more}"
