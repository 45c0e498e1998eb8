"""What tests take: written down by a run with `--record`, and read by runs that are to be over soon.

`durations.txt` has a line for each test (seconds of one case, number of cases, name) and for each case that takes over
a second. They are seconds of the processor, which do not hang on what else the machine does, waits left out.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

__all__ = [
    "pytest_runtest_logreport",
    "pytest_runtest_logstart",
    "pytest_runtest_makereport",
    "pytest_sessionfinish",
    "quick",
]

FILE = Path(__file__).with_suffix(".txt")
LONG = 1.0
"""Seconds from which on a case is slow, and written down by its own name."""
LONGEST = 8.0
"""Seconds of a case that is never quick."""

_SEED = re.compile(r"seed=\d+")

_spent: dict[str, float] = {}
_began: dict[str, float] = {}


def _processor() -> float:
    """Seconds of the processor that this process and those that it has waited for took."""
    return sum(os.times()[:4])


def pytest_runtest_logstart(nodeid: str) -> None:
    _began[nodeid] = _processor()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    if call.when == "teardown":
        item.user_properties.append(("seconds", _processor() - _began.pop(item.nodeid)))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "teardown":
        _spent[report.nodeid] = float(dict(report.user_properties)["seconds"])


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not session.config.getoption("--record") or hasattr(session.config, "workerinput"):
        return
    tests: dict[str, list[float]] = defaultdict(list)
    for name, seconds in _spent.items():
        tests[name.partition("[")[0]].append(seconds)
    lines = [(name, len(spent), sum(spent) / len(spent)) for name, spent in tests.items()]
    lines += [(n, 1, s) for n, s in _spent.items() if s > LONG and n not in tests and not _SEED.search(n)]
    FILE.write_text("".join(f"{seconds:.2f} {count} {name}\n" for name, count, seconds in sorted(lines)))


def quick(items: Sequence[pytest.Item], budget: float) -> list[pytest.Item]:
    """Those of the items that a person runs before each commit, always the same while the tests are.

    One case of each test, the slow ones included, and then more cases of those that take less than a second, by turns,
    until they are expected to take this many seconds of the processor.
    """
    seconds = {item.nodeid: _expected(item.nodeid) for item in items}
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: hashlib.sha1(_SEED.sub("", item.nodeid).encode()).digest()):
        tests[item.nodeid.partition("[")[0]].append(item)
    turns: list[tuple[int, float, pytest.Item]] = []
    for cases in tests.values():
        cases.sort(key=lambda item: seconds[item.nodeid] > LONG)
        turns += [(turn, seconds[item.nodeid], item) for turn, item in enumerate(cases)]
    turns = [one for one in turns if one[1] <= (LONGEST if one[0] == 0 else LONG)]
    kept: set[int] = set()
    for _, cost, item in sorted(turns, key=lambda one: one[:2]):
        if (budget := budget - cost) < 0:
            break
        kept.add(id(item))
    return [item for item in items if id(item) in kept]


@cache
def _known() -> dict[str, float]:
    lines = (line.split(" ", 2) for line in FILE.read_text("utf-8").splitlines()) if FILE.exists() else ()
    return {name: float(seconds) for seconds, _, name in lines}


def _expected(name: str) -> float:
    """How many seconds a case is expected to take; what was never written down is taken for short."""
    known = _known()
    return known.get(name, known.get(name.partition("[")[0], 0.2))
