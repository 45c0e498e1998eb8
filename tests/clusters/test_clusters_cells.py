"""Cells on a cluster of two processes bind, print and raise what they do in one process."""

from __future__ import annotations

from typing import Any

import pytest
from people import PersonCell

from .cells_numbers import CELLS as NUMBERS
from .cells_spread import CELLS as SPREAD
from .cells_state import CELLS as STATE
from .cells_training import CELLS as TRAINING
from .comparing import check_cell

pytestmark = pytest.mark.filterwarnings("ignore")  # those of libraries, and of what cells do on purpose

CELLS = [*NUMBERS, *STATE, *TRAINING, *SPREAD]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_cell_is_as_in_one_process(cell: PersonCell, cluster: Any) -> None:
    for library in cell.needs:
        pytest.importorskip(library)
    report = check_cell(cell)
    assert not report.problems, "\n".join(report.problems)
