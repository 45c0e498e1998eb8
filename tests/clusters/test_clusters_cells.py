"""Cells on a cluster of two processes bind, print and raise what they do in one process."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from people import PersonCell

from .cells_numbers import CELLS as NUMBERS
from .cells_state import CELLS as STATE
from .comparing import check_cell

pytestmark = pytest.mark.filterwarnings("ignore")  # those of libraries, and of what cells do on purpose

CELLS = [*NUMBERS, *STATE]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_cell_is_as_in_one_process(cell: PersonCell, cluster: Any) -> None:
    for library in cell.needs:
        pytest.importorskip(library)
    report = check_cell(cell)
    assert not report.problems, "\n".join(report.problems)
