"""What tests take: written down by a run with `--record`, and read by runs that are to be over soon.

`durations.txt` has a line for each test (seconds of one case, number of cases, name) and for each case that takes over
a second. They are seconds of the processor, which do not hang on what else the machine does, waits left out.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

__all__ = ["pytest_runtest_logreport", "pytest_runtest_logstart", "pytest_runtest_makereport", "pytest_sessionfinish"]

FILE = Path(__file__).with_suffix(".txt")
LONG = 1.0
"""Seconds from which on a case is written down by its own name."""

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
    lines += [(n, 1, s) for n, s in _spent.items() if s > LONG and n not in tests and not re.search(r"seed=\d", n)]
    FILE.write_text("".join(f"{seconds:.2f} {count} {name}\n" for name, count, seconds in sorted(lines)))


def expected() -> Any:
    """How many seconds an item is expected to take, by its name; 0 for what has not been written down."""
    known: dict[str, float] = {}
    for line in FILE.read_text().splitlines() if FILE.exists() else ():
        seconds, _, name = line.split(" ", 2)
        known[name] = float(seconds)
    return lambda name: known.get(name, known.get(name.partition("[")[0], 0.0))
