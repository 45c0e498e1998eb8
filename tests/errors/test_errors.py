"""What is said of wrong cells, plain and staged: a sample of the corpus, or with `JAXNB_DEEP=1` all of it.

How much of it is said in all is a figure, which `benchmarks/errors.py` prints. Here stands what holds for every case.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import jax
import pytest
from drawing import DEEP, drawn_seed
from IPython.core.interactiveshell import InteractiveShell

from tests.errors.__main__ import all_cases
from tests.errors.case import ErrorCase
from tests.errors.check import able, check, check_twin, new_shell

SAMPLE = 24
_FAULT = "jaxnb could not explain this: "  # up here: tracebacks show the lines of the test itself
CASES = [case for case in all_cases() if case.raises]
DRAWN = CASES if DEEP else random.Random(drawn_seed()).sample(CASES, SAMPLE)


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    """A shell with the extension, which is gone afterwards."""
    shell = new_shell()
    yield shell
    shell.run_line_magic("unload_ext", "jaxnb")
    InteractiveShell.clear_instance()
    jax.config.update("jax_enable_x64", False)


@pytest.mark.parametrize("form", ["plain", "staged"])
@pytest.mark.parametrize("case", DRAWN, ids=lambda case: case.name)
def test_an_explanation_never_fails_and_what_is_shown_as_tried_works(
    shell: InteractiveShell, case: ErrorCase, form: str
) -> None:
    if not able(case):
        pytest.skip("needs a library or devices that are not there")
    if form == "staged" and case.staged_runs:
        pytest.skip("is right when it is staged")
    outcome = check(shell, case, form == "staged")
    assert _FAULT not in outcome.text
    assert outcome.works is not False, outcome.finding


@pytest.mark.parametrize(
    "case", random.Random(drawn_seed()).sample(DRAWN, min(8, len(DRAWN))), ids=lambda case: case.name
)
def test_nothing_is_said_of_the_right_cell(shell: InteractiveShell, case: ErrorCase) -> None:
    if not able(case):
        pytest.skip("needs a library or devices that are not there")
    assert check_twin(shell, case, staged=False) == []
