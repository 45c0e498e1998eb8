"""Cells that nobody wrote: plain against staged, twice, and once more after something changed.

`JAXNB_SEED` repeats a run, `JAXNB_DEEP=1` makes it fifty times as long.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from cells import Case
from differential import check_case
from drawing import DEEP, drawn_seed
from generator import cases
from hypothesis import HealthCheck, given, seed, settings

SEED = drawn_seed()


@pytest.fixture(autouse=True)
def shown_seed() -> Iterator[None]:
    print(f"repeat with JAXNB_SEED={SEED}")
    yield


@seed(SEED)
@settings(
    max_examples=2000 if DEEP else 40,
    deadline=None,
    database=None,
    derandomize=False,
    suppress_health_check=list(HealthCheck),
)
@given(case=cases())
def test_generated_cell_gives_what_plain_gives(case: Case) -> None:
    check_case(case)
