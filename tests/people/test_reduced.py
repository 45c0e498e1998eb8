"""Cells of strangers that came down to a few lines: all of them, always."""

from __future__ import annotations

import jax
import pytest

from . import PEOPLE, PersonCell
from .check import check_person

pytestmark = pytest.mark.filterwarnings("ignore")

REDUCED = [cell for cell in PEOPLE if cell.theme == "tn_reduced"]


@pytest.mark.parametrize("cell", REDUCED, ids=lambda cell: cell.name)
def test_what_was_mended_is_as_plain(cell: PersonCell) -> None:
    if jax.device_count() < cell.devices:
        pytest.skip(f"needs {cell.devices} devices")
    report = check_person(cell)
    assert not report.problems
    assert not (report.traced_third and cell.warm)
