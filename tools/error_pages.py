"""Writes docs/errors: for each kind of finding a wrong program, what is said of it, and the right one.

The programs are cases of `tests/errors/kinds`: of those that a kind explains, the shortest of which everything is said.
`tests/errors/test_pages.py` runs what the pages show.

    python tools/error_pages.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
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
_CELLS = re.compile(r"Cell In\[\d+\]")
_CHANGING = re.compile(r"0x[0-9a-f]{6,}|\d ms|\d us|File \"")


def main() -> None:
    """Runs all cases, kind by kind in a process of its own, and writes the pages of the kinds that were found anew."""
    if len(sys.argv) > 2:
        print(_MARK, json.dumps(_pages(sys.argv[2])))
        return
    best: dict[str, tuple[int, str, str]] = {}
    for group in dict.fromkeys(case.kind for case in all_cases()):
        command = [sys.executable, __file__, "--kind", group]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        found = json.loads(done.stdout.partition(_MARK)[2])
        best |= {name: one for name, one in found.items() if name not in best or one[0] < best[name][0]}
        print(f"{group}: {len(found)} kinds", flush=True)
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, (_, page, _) in best.items():
        (FOLDER / f"{name}.md").write_text(page, encoding="utf-8")
    head = "# What is said, by kind\n\nEach page has a wrong program, what is said of it, and the right one.\n"
    rows = ["| id | severity | such as |", "| --- | --- | --- |", *(best[name][2] for name in sorted(best))]
    (FOLDER / "README.md").write_text("\n".join([head, *rows, ""]), encoding="utf-8")
    print(f"{len(best)} pages")


_MARK = "pages:"


def _pages(group: str) -> dict[str, tuple[int, str, str]]:
    """Of the kinds of findings on some cases, by their ids: the length of the program, the page, and a row."""
    shell = new_shell()
    found: dict[str, tuple[int, str, str]] = {}
    cases = [case for case in all_cases() if case.kind == group and able(case)]
    for case in sorted(cases, key=_length):
        try:
            outcome = check(shell, case, staged=False)
            told = outcome.finding
            if told is None or told.id in found or not _is_complete(outcome):
                continue
            if any(one.kind == told.kind for one in check_twin(shell, case, staged=False)):
                continue
        except RuntimeError:  # its setup fails here
            continue
        row = f"| [{told.id}]({told.id}.md) | {told.severity.name.lower()} | {_cell(told)} |"
        found[told.id] = _length(case), _page(case, told), row
    return found


def _length(case: ErrorCase) -> int:
    return len(case.setup) + len(case.cell)


def _is_complete(outcome: Outcome) -> bool:
    told = render_findings([outcome.finding]) if outcome.finding is not None else ""
    return outcome.cause and outcome.line and outcome.fix and not _CHANGING.search(told)


def _cell(finding: Finding) -> str:
    return _CELLS.sub("Cell In[5]", " ".join(finding.message.split()).replace("|", "\\|"))


def _page(case: ErrorCase, finding: Finding) -> str:
    said = _CELLS.sub("Cell In[5]", render_findings([finding], width=100, source=case.cell))
    needs = [f"Needs {', '.join(case.needs)}."] if case.needs else []
    needs += [f"Needs {case.devices} devices."] if case.devices > 1 else []
    raised = [f"JAX raises {case.raises}."] if case.raises else ["Nothing is raised."]
    return "\n\n".join(
        [
            f"# {finding.id}",
            " ".join([_CELLS.sub("Cell In[5]", finding.message), *raised, *needs]),
            f"Given\n\n```python given\n{case.setup.strip()}\n```",
            f"this is wrong:\n\n```python wrong\n{case.cell}\n```",
            f"What is said of it:\n\n```\n{said}\n```",
            f"This is right:\n\n```python right\n{case.twin}\n```",
            f"Seen in {case.source}.\n",
        ]
    )


if __name__ == "__main__":
    main()
