"""Object graphs that nobody wrote: plain against staged, twice, and again after something changed.

`JAXNB_SEED` repeats a run, `JAXNB_DEEP=1` makes it fifty times as long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from cells import Case
from differential import check_case, check_failure, new_namespace, run_plain, snapshot, walk
from drawing import DEEP, drawn_seed
from hypothesis import HealthCheck, Phase, given, seed, settings
from objects_generator import object_cases

SEED = drawn_seed()
DRAWN = settings(deadline=None, database=None, derandomize=False, suppress_health_check=list(HealthCheck))


@pytest.fixture(autouse=True)
def shown_seed() -> Iterator[None]:
    print(f"repeat with JAXNB_SEED={SEED}")
    yield


@seed(SEED)
@settings(DRAWN, max_examples=1500 if DEEP else 30)
@given(case=object_cases())
def test_generated_objects_are_what_plain_makes_them(case: Case) -> None:
    check_case(case)


@seed(SEED)
@settings(DRAWN, max_examples=300 if DEEP else 10)
@given(case=object_cases())
def test_generated_objects_are_as_before_where_the_cell_fails(case: Case) -> None:
    check_failure(case)


def test_generated_cells_run_change_objects_and_hold_aliases() -> None:
    seen: list[tuple[bool, ...]] = []

    @seed(1)  # what it draws is measured, not tested
    @settings(DRAWN, max_examples=100, phases=[Phase.generate])
    @given(case=object_cases())
    def draw(case: Case) -> None:
        seen.append(run_of(case))

    draw()
    fine, changed, aliased, lists = (sum(answers) / len(seen) for answers in zip(*seen, strict=True))
    assert fine == 1 and changed > 0.5 and aliased > 0.5 and lists > 0, (fine, changed, aliased, lists)


def run_of(case: Case) -> tuple[bool, bool, bool, bool]:
    """Whether the plain cell runs, changes an object that was there, leaves two that hold a third, or hold a list."""
    namespace = new_namespace(case)
    before = snapshot(namespace)
    outcome = run_plain(case.cell, namespace)
    after = snapshot(namespace)
    kept = [(old, after[path]) for path, old in before.items() if path in after]
    changed = any(old[0] is new[0] is not None and old[1:] != new[1:] for old, new in kept)
    edges = [(obj, child) for _, obj, record in walk(namespace) for _, child in record.edges if obj is not child]
    holders = Counter(id(child) for obj, child in edges if type(child).__module__ == "__main__")
    lists = Counter(id(child) for _, child in edges if isinstance(child, list | dict))
    return outcome.error is None, changed, max(holders.values()) > 1, max(lists.values()) > 1
