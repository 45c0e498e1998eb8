"""Writes docs/errors: for each kind of finding a wrong program, what is said of it, and the right one.

The programs are cases of `tests/errors/kinds`: of those that a kind explains, the shortest of which everything is said.
`tests/errors/test_pages.py` runs what the pages show.

    python tools/error_pages.py
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "32")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from jaxnb.program import Finding
from jaxnb.views import render_findings
from tests.errors.__main__ import all_cases
from tests.errors.case import ErrorCase
from tests.errors.check import Outcome, able, check, check_twin, new_shell

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "errors"
_CHANGING = re.compile(r"0x[0-9a-f]{6,}|\d ms|\d us|In\[\d+\]|/(tmp|root|home|usr)/")


def main() -> None:
    """Runs all cases, and writes the pages of the kinds that were found anew."""
    shell = new_shell()
    best: dict[str, tuple[ErrorCase, Finding]] = {}
    for case in sorted(filter(able, all_cases()), key=lambda case: len(case.setup) + len(case.cell)):
        try:
            outcome = check(shell, case, staged=False)
            found = outcome.finding
            if found is None or found.kind in best or not _is_complete(outcome):
                continue
            if any(one.kind == found.kind for one in check_twin(shell, case, staged=False)):
                continue
        except RuntimeError as error:
            print(error)
            continue
        best[found.kind] = case, found
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for kind, (case, found) in sorted(best.items()):
        (FOLDER / f"JNB-{kind}.md").write_text(_page(case, found), encoding="utf-8")
    rows = [
        f"| [{found.id}]({found.id}.md) | {found.severity.name.lower()} | {_cell(found)} |"
        for _, found in _sorted(best)
    ]
    head = "# What is said, by kind\n\nEach page has a wrong program, what is said of it, and the right one.\n\n"
    table = "\n".join(["| id | severity | such as |", "| --- | --- | --- |", *rows])
    (FOLDER / "README.md").write_text(f"{head}{table}\n", encoding="utf-8")
    print(f"{len(best)} pages")


def _sorted(best: dict[str, tuple[ErrorCase, Finding]]) -> list[tuple[ErrorCase, Finding]]:
    return [best[kind] for kind in sorted(best)]


def _is_complete(outcome: Outcome) -> bool:
    told = render_findings([outcome.finding]) if outcome.finding is not None else ""
    return outcome.cause and outcome.line and outcome.fix and not _CHANGING.search(told)


def _cell(finding: Finding) -> str:
    return " ".join(finding.message.split()).replace("|", "\\|")


def _page(case: ErrorCase, finding: Finding) -> str:
    said = render_findings([finding], width=100, source=case.cell)
    needs = [f"Needs {', '.join(case.needs)}."] if case.needs else []
    needs += [f"Needs {case.devices} devices."] if case.devices > 1 else []
    raised = [f"JAX raises {case.raises}."] if case.raises else ["Nothing is raised."]
    return "\n\n".join(
        [
            f"# {finding.id}",
            " ".join([finding.message, *raised, *needs]),
            f"Given\n\n```python given\n{case.setup.strip()}\n```",
            f"this is wrong:\n\n```python wrong\n{case.cell}\n```",
            f"What is said of it:\n\n```\n{said}\n```",
            f"This is right:\n\n```python right\n{case.twin}\n```",
            f"Seen in {case.source}.\n",
        ]
    )


if __name__ == "__main__":
    main()
