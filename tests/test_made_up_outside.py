"""Made-up cells with files, threads, devices, prints, logs, random states and objects: plain against staged.

Each is run three times, then after each change, and everything is compared: values, types, shardings, identities,
printed text, logs, and the files that are left. `JAXNB_SEED` repeats a run, `JAXNB_DEEP=1` takes 10,000 cells. What
differs is shown with its seed and number and made small; to repeat it:

    python tests/test_made_up_outside.py SEED NUMBER  (with `JAXNB_DEEP=1` if it was)
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter

import jax
import pytest
from drawing import DEEP, drawn_seed
from outside_forms import FORMS
from outside_generator import Made, made, smaller
from people.check import check_person

pytestmark = pytest.mark.filterwarnings("ignore")  # of files that cells leave open

SEED = drawn_seed()
ATTEMPTS = 40
LEFT_OUT = frozenset[str]() if DEEP else frozenset({"known"})
GROUPS = (
    [range(first, first + 100) for first in range(0, 10_000, 100)] if DEEP else [range(n, n + 4) for n in (0, 4, 8)]
)


def problems_of(cell: Made) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = check_person(cell.cell)
    return report.problems


def told(cell: Made, problems: list[str]) -> str:
    """What differs, in the smallest cell that was found."""
    attempts = iter(range(ATTEMPTS))
    first = smaller(cell, lambda attempt: next(attempts, None) is not None and bool(problems_of(attempt)))
    listed = "\n".join(f"  - {problem}" for problem in problems_of(first) or problems)
    statements = "\n".join(first.statements)
    return (
        f"{cell.name} ({jax.device_count()} devices):\n{listed}\n--- cell\n{statements}\n--- changes\n{first.changes}"
        + (f"\n--- watched: {first.watched}, setup: {first.setup!r}")
    )


@pytest.mark.parametrize("numbers", GROUPS, ids=lambda numbers: f"{numbers.start}-seed={SEED}")
def test_made_up_cells_are_as_plain(numbers: range) -> None:
    differing = [
        (cell, problems)
        for cell in (made(SEED, number, LEFT_OUT) for number in numbers)
        if (problems := problems_of(cell))
    ]
    assert not differing, "\n\n".join(told(cell, problems) for cell, problems in differing[:5])


def test_all_themes_come_up() -> None:
    """The generator does what it is for: every theme is drawn often."""
    seen = Counter(theme for number in range(300) for theme in made(SEED, number, LEFT_OUT).themes)
    assert {*seen} == {form.theme for form in FORMS} - LEFT_OUT
    assert min(seen.values()) > 30


if __name__ == "__main__":
    single = made(int(sys.argv[1]), int(sys.argv[2]), LEFT_OUT)
    print("\n".join(single.statements), single.changes, single.watched, single.setup, sep="\n--- ")
    found = problems_of(single)
    print(told(single, found) if found else "as plain")
