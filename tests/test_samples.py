"""Which tests a run takes that is to be over soon."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import durations
import pytest


@pytest.fixture
def items(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Ten tests of ten cases of a tenth of a second, and one of two cases that take twenty."""
    known = {f"tests/a.py::test_{n}": (0.1, 10) for n in range(10)} | {"tests/a.py::test_long": (20.0, 2)}
    monkeypatch.setattr(durations, "_known", lambda: known)
    names = [f"tests/a.py::test_{n}[{case}]" for n in range(10) for case in range(10)]
    return [SimpleNamespace(nodeid=name) for name in (*names, "tests/a.py::test_long[0]", "tests/a.py::test_long[1]")]


def counted(taken: list[Any]) -> Counter[str]:
    return Counter(item.nodeid.partition("[")[0] for item in taken)


def test_what_is_always_the_same_is_cheap(items: list[Any]) -> None:
    taken = durations.within(items, 3.05)
    assert taken == durations.within(items, 3.05)
    assert set(counted(taken).values()) == {3} and len(taken) == 30


def test_a_draw_has_a_case_of_each_test_and_then_more(items: list[Any]) -> None:
    taken = durations.within(items, 25.0, 7)
    assert len(counted(taken)) == 11 and 11 < len(taken) <= 51
    assert taken == durations.within(items, 25.0, 7) != durations.within(items, 25.0, 8)
    assert [item for item in items if item in taken] == taken


def test_a_draw_of_little_time_is_of_some_tests(items: list[Any]) -> None:
    drawn = [durations.within(items, 0.5, seed) for seed in range(50)]
    assert all(len(taken) <= 5 for taken in drawn) and len({item.nodeid for taken in drawn for item in taken}) > 30
