"""What is said of what people get wrong: by kind, for JAX alone, the plain cell and the staged cell.

    python benchmarks/errors.py [--kind KINDS] [--only NAMES] [--missing] [--twins]

`cause`, `line`, `fix`: of how many cases all of it is said; `names`: the share of the user's names; `tried`: how many
fixes were tried; `works`: of the edits that are shown as tried, how many let the cell run; `accused`: of how many right
cells something is said; `ms` and `longest`: what an explanation takes without its trials, in the middle and at most
(goal 50), and `trials` these, in the middle (goal 200).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest import mock

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "32")
os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from jaxnb.findings.values import explain
from tests.errors.__main__ import all_cases
from tests.errors.check import able, check, check_twin, new_shell, what_is_missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", nargs="*", default=[])
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--missing", action="store_true", help="say of each case what is missing")
    parser.add_argument("--show", action="store_true", help="show what is said")
    parser.add_argument("--twins", action="store_true", help="run the right cells, too")
    parser.add_argument("--plain", action="store_true", help="only plain cells")
    parser.add_argument("--staged", action="store_true", help="only staged cells")
    options = parser.parse_args()
    shell = new_shell()
    cases = [case for case in all_cases() if not options.kind or case.kind in options.kind]
    cases = [case for case in cases if (not options.only or case.name in options.only) and able(case)]
    times: dict[tuple[str, str], _Times] = defaultdict(_Times)
    table: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * 9)
    forms = [form for form in ("plain", "staged") if not (options.plain or options.staged) or getattr(options, form)]
    for case in cases:
        for form in forms:
            if form == "staged" and case.staged_runs:
                continue
            begin = perf_counter()
            try:
                with times[case.kind, form].taken():
                    outcome = check(shell, case, form == "staged")
                accused = bool(check_twin(shell, case, form == "staged")) if options.twins else False
            except RuntimeError as error:
                print(error)
                continue
            row = table[case.kind, form]
            row[0] += 1
            for place, value in enumerate((outcome.cause, outcome.line, outcome.names, outcome.fix, outcome.tried), 1):
                row[place] += value
            row[6] += outcome.works is True
            row[7] += outcome.works is not None
            row[8] += accused
            missing = what_is_missing(case, outcome) + (", twin accused" if accused else "")
            if options.missing and missing:
                kind = outcome.finding.kind if outcome.finding is not None else "-"
                print(
                    f"{case.kind}/{case.name} {form} ({kind}): {missing} · {perf_counter() - begin:.1f} s", flush=True
                )
                found, fix = outcome.finding, outcome.finding.fix if outcome.finding is not None else None
                print(f"      wants {case.cause} {case.fix}")
                print(f"      {case.line}: {case.cell.splitlines()[case.line - 1]}")
                print(f"      {found and found.line}: {found and found.message} · {fix and fix.text}")
            if options.show and (missing or not options.missing):
                print("\n".join(f"    {line}" for line in outcome.text.strip().splitlines()[-26:]), flush=True)
    head = ("kind", "form", "cases", "cause", "line", "names", "fix", "tried", "works", "accused")
    head += ("ms", "longest", "trials")
    print("  ".join(f"{name:>8}" for name in head))
    whole: dict[str, list[float]] = defaultdict(lambda: [0.0] * 9)
    for (kind, form), row in table.items():
        _print(kind, form, row, times[kind, form])
        whole[form] = [a + b for a, b in zip(whole[form], row, strict=True)]
        times["all", form].add(times[kind, form])
    for form, row in whole.items():
        _print("all", form, row, times["all", form])


class _Times:
    """What explanations took, and their trials, in milliseconds."""

    def __init__(self) -> None:
        self.read: list[float] = []
        self.tried: list[float] = []

    @contextmanager
    def taken(self) -> Generator[None]:
        with (
            mock.patch.object(explain, "_read", self._timed(vars(explain)["_read"], self.read)),
            mock.patch.object(explain, "_tried", self._timed(vars(explain)["_tried"], self.tried)),
        ):
            yield

    def _timed(self, call: Any, into: list[float]) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                into.append(1e3 * (perf_counter() - start))

        return timed

    def add(self, other: _Times) -> None:
        self.read += other.read
        self.tried += other.tried

    def texts(self) -> list[str]:
        known = (median(self.read), max(self.read)) if self.read else (0.0, 0.0)
        return [f"{one:.1f}" for one in (*known, median(self.tried) if self.tried else 0.0)]


def _print(kind: str, form: str, row: list[float], times: _Times) -> None:
    count, *rest = row
    shares = [f"{100 * value / count:.0f} %" for value in rest[:5]]
    works, accused = f"{rest[5]:.0f}/{rest[6]:.0f}", f"{rest[7]:.0f}"
    print(
        "  ".join(f"{text:>8}" for text in (kind[:14], form, f"{count:.0f}", *shares, works, accused, *times.texts()))
    )


if __name__ == "__main__":
    main()
