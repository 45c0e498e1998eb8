"""A staged cell gives what the plain cell gives, and a cell that fails leaves everything as it was.

Every case runs both ways. The failures are injected into a sample of sixty cases, freshly drawn each time;
`JAXNB_SEED` repeats a draw (the seed is in the test's id) and `JAXNB_DEEP=1` takes all cases.
"""

from __future__ import annotations

import random

import pytest
from cells import CASES, Case
from differential import check_case, check_failure
from drawing import DEEP, drawn_seed

SAMPLE = 60


SEED = drawn_seed()
_SYNTAX = ("SyntaxError", "IndentationError")
FAILING = [case for case in CASES if not case.raises.endswith(_SYNTAX) and not case.gives_up]
SAMPLED = FAILING if DEEP else random.Random(SEED).sample(FAILING, SAMPLE)


def shown(case: Case) -> str:
    return f"{case.theme}-{case.name}"


@pytest.mark.parametrize("case", CASES, ids=shown)
def test_staged_gives_what_plain_gives(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", SAMPLED, ids=lambda case: f"{shown(case)}-seed={SEED}")
def test_failed_cell_changes_nothing(case: Case) -> None:
    check_failure(case)


def test_corpus_is_large_and_each_cell_is_its_own() -> None:
    assert len(CASES) >= 230
    texts: dict[tuple[str, ...], str] = {}
    for case in CASES:
        key = (case.cell, *case.setups, *case.changes, str(dict(case.options)))
        assert key not in texts, f"{case.name} repeats {texts[key]}"
        texts[key] = case.name
    assert {case.rule for case in CASES} >= {1, 2, 3, 4, 5, 6, 7, 8, 9, 14}
