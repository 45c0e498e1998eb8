"""Cells on a cluster of two processes bind, print and raise what they do in one process.

A sample, or with `JAXNB_DEEP=1` all; `JAXNB_SEED` repeats a draw. What is not as plainly, and why:

- What the notebook holds and a cell changes in place is a handle afterwards, under every name that stands for the very
  object; a container of the notebook that holds it, a view into an array and an attribute of a class stay as they were.
- A handle is no object: the notebook cannot call it, set an attribute or an item of it.
- An array that is spread is no number: `print(y)` or `y.tolist()` of one raises in JAX, unless each process has all.
- What cannot be pickled (locks, queues, connections, generators, open files) cannot be sent.
- Names that are only asked for by `globals()` or `eval` are not sent.
- What a cache of a function holds is not sent, and classes that are registered with keys and a function without arrive
  with keys only where these are attributes.
- Which process draws what is the same, and the random states of Python and NumPy go on in the notebook; others do not.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from drawing import DEEP, drawn_seed
from people import PersonCell

from .cells_numbers import CELLS as NUMBERS
from .cells_spread import CELLS as SPREAD
from .cells_state import CELLS as STATE
from .cells_training import CELLS as TRAINING
from .comparing import check_cell

pytestmark = pytest.mark.filterwarnings("ignore")  # those of libraries, and of what cells do on purpose

SAMPLE = 70
ALL = [*NUMBERS, *STATE, *TRAINING, *SPREAD]


CELLS = ALL if DEEP else random.Random(drawn_seed()).sample(ALL, SAMPLE)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_a_cell_is_as_in_one_process(cell: PersonCell, cluster: Any) -> None:
    for library in cell.needs:
        pytest.importorskip(library)
    report = check_cell(cell)
    assert not report.problems, "\n".join(report.problems)
