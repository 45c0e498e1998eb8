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
    "within",
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
    found = {name: (sum(spent) / len(spent), len(spent)) for name, spent in tests.items()}
    found |= {n: (s, 1) for n, s in _spent.items() if s > LONG and n not in tests and not _SEED.search(n)}
    # What this run did not take, and is still there, is as it was.
    found = {name: known for name, known in _known().items() if name not in found and _is_there(name)} | found
    lines = sorted((name, count, seconds) for name, (seconds, count) in found.items())
    FILE.write_text("".join(f"{seconds:.2f} {count} {name}\n" for name, count, seconds in lines))


def _is_there(name: str) -> bool:
    file, _, test = name.partition("[")[0].rpartition("::")
    path = FILE.parent.parent / file.partition("::")[0]
    return path.is_file() and f"def {test}(" in path.read_text("utf-8")


def within(items: Sequence[pytest.Item], budget: float, seed: int | None = None) -> list[pytest.Item]:
    """As many of the items as should take this many seconds of the processor: one case of each test, then more.

    Args:
      items: to choose from.
      budget: in seconds.
      seed: of a draw among all of them. Without one it is what a person runs before each commit: always the same while
        the tests are, the cheap ones first, and of several cases of a test only those that take less than a second.
    """
    seconds = {item.nodeid: _expected(item.nodeid) for item in items}
    order = {item.nodeid: hashlib.sha1(f"{seed}{_SEED.sub('', item.nodeid)}".encode()).digest() for item in items}
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in sorted(items, key=lambda item: order[item.nodeid]):
        tests[item.nodeid.partition("[")[0]].append(item)
    turns: list[tuple[int, float, bytes, pytest.Item]] = []
    for cases in tests.values():
        if seed is None:
            cases.sort(key=lambda item: seconds[item.nodeid] > LONG)
        for turn, item in enumerate(cases):
            cost = seconds[item.nodeid]
            if seed is not None:
                turns.append((min(turn, 1), 0.0, order[item.nodeid], item))
            elif cost <= (LONG if turn else LONGEST):
                turns.append((turn, cost, order[item.nodeid], item))
    kept: set[int] = set()
    for *_, item in sorted(turns, key=lambda one: one[:3]):
        if (budget := budget - seconds[item.nodeid]) < 0:
            break
        kept.add(id(item))
    return [item for item in items if id(item) in kept]


@cache
def _known() -> dict[str, tuple[float, int]]:
    lines = (line.split(" ", 2) for line in FILE.read_text("utf-8").splitlines()) if FILE.exists() else ()
    return {name: (float(seconds), int(count)) for seconds, count, name in lines}


def _expected(name: str) -> float:
    """How many seconds a case is expected to take; what was never written down is taken for short."""
    known = _known()
    return known.get(name, known.get(name.partition("[")[0], (0.2, 1)))[0]
