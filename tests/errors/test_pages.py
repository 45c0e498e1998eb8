"""What the pages of docs/errors show is so: the wrong program is explained as the page says, the right one is not."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from drawing import DEEP, drawn_seed
from IPython.core.interactiveshell import InteractiveShell

from jaxnb.findings.lints import plain_cells, plain_results, results
from tests.errors.__main__ import all_cases
from tests.errors.case import ErrorCase
from tests.errors.check import able, check, check_twin
from tests.errors.test_errors import shell

__all__ = ["shell"]

FOLDER = Path(__file__).parents[2] / "docs" / "errors"
PAGES = sorted(FOLDER.glob("JNB-*.md"), key=lambda page: page.stem)
DRAWN = PAGES if DEEP else random.Random(drawn_seed()).sample(PAGES, min(12, len(PAGES)))
_PART = re.compile(r"^```python (given|wrong|right)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def case_of(page: Path) -> ErrorCase:
    """The case that a page shows."""
    parts = dict(_PART.findall(page.read_text(encoding="utf-8")))
    text = parts["wrong"].removesuffix("\n")
    return next(case for case in all_cases() if case.cell == text and case.setup.strip() == parts["given"].strip())


def test_every_page_is_in_the_table_and_shows_a_case() -> None:
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert [page.stem for page in PAGES] == re.findall(r"^\| \[(JNB-[\w-]+)\]", table, re.MULTILINE)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert case_of(page).twin in text and text.startswith(f"# {page.stem}\n")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much else the machine does: how long a plain cell is looked at is tested by itself."""
    for module, name in ((plain_cells, "_PATIENCE"), (plain_results, "PATIENCE"), (results, "WAIT")):
        monkeypatch.setattr(module, name, 60.0)


@pytest.mark.parametrize("page", DRAWN, ids=lambda page: page.stem)
def test_what_a_page_shows_is_so(shell: InteractiveShell, page: Path) -> None:
    case = case_of(page)
    if not able(case):
        pytest.skip("needs a library or devices that are not there")
    outcome = check(shell, case, staged=False)
    assert outcome.finding is not None and outcome.finding.id == page.stem, outcome.text
    assert page.stem not in [one.id for one in check_twin(shell, case, staged=False)]
