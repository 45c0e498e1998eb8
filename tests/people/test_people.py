"""Cells as people write them, plain against staged: a sample of those that are not open, or with `JAXNB_DEEP=1` all.

`JAXNB_SEED` repeats a draw; the seed is in the test's id. A cell of `OPEN` must differ, so that the list shrinks.
"""

from __future__ import annotations

import importlib
import random
import warnings
from pathlib import Path

import jax
import pytest
from drawing import DEEP, drawn_seed

from . import PEOPLE, PersonCell
from .check import check_person
from .exceptions import EXCEPTIONS, KINDS, OPEN

pytestmark = pytest.mark.filterwarnings("ignore")  # those of libraries, and files that cells leave open

SAMPLE = 20
SEED = drawn_seed()
NAMED = {cell.name: cell for cell in PEOPLE}
_SLOW = ("diffrax_", "numpyro_", "orbax_")
QUICK = [cell for cell in PEOPLE if cell.theme not in _SLOW and cell.name not in OPEN]
SAMPLED = list(PEOPLE) if DEEP else random.Random(SEED).sample(QUICK, min(SAMPLE, len(QUICK)))


def shown(cell: PersonCell) -> str:
    return f"{cell.theme}-{cell.name}-seed={SEED}"


@pytest.mark.parametrize("cell", SAMPLED, ids=shown)
def test_what_people_write_is_as_plain(cell: PersonCell) -> None:
    for library in cell.needs:
        skip_without(library)
    if jax.device_count() < cell.devices:
        pytest.skip(f"needs {cell.devices} devices")
    with warnings.catch_warnings():
        report = check_person(cell)
    listed = "\n".join(f"  - {problem}" for problem in report.problems)
    text = f"{cell.name}:\n{listed}\n--- setup\n{cell.setup}--- cell\n{cell.cell}--- changes\n{cell.changes}"
    if cell.name in OPEN:
        assert report.problems, f"{cell.name} is as plain: take it out of OPEN"
        pytest.xfail(OPEN[cell.name])
    if cell.name not in EXCEPTIONS:
        assert not report.problems, text


def skip_without(library: str) -> None:
    """Skips the test where the library itself is not there; if something that it needs is broken, that is an error."""
    try:
        importlib.import_module(library)
    except ModuleNotFoundError as error:
        if error.name not in (library, library.split(".")[0]):
            raise
        pytest.skip(f"no {library}")


def test_the_tables_name_cells_and_kinds() -> None:
    assert len(KINDS) <= 5
    assert not {*EXCEPTIONS, *OPEN} - {*NAMED}
    assert not {*EXCEPTIONS} & {*OPEN}
    assert {*EXCEPTIONS.values()} <= {*KINDS}


def test_the_kinds_of_exceptions_are_told() -> None:
    told = " ".join((Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8").split())
    for kind, words in KINDS.items():
        assert words in told, kind


def test_the_corpus_is_its_own_measure() -> None:
    """Plain against plain nothing differs, in a few cells drawn anew."""
    for cell in random.Random(SEED + 1).sample([cell for cell in QUICK if not cell.needs], 3):
        assert not check_person(cell, both_plain=True).problems, cell.name
