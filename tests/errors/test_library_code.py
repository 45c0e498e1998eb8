"""An edit that is told is of what the user wrote: no edit of a library's code, wherever in it an error was raised."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from drawing import DEEP, drawn_seed
from IPython.core.interactiveshell import InteractiveShell

from jaxnb.program import Finding, Fix, finding_of
from tests.errors.__main__ import all_cases
from tests.errors.case import ErrorCase
from tests.errors.check import able, check
from tests.errors.test_errors import shell

__all__ = ["shell"]

LIBRARY = """
import jax
import jax.numpy as jnp


def project(x, w):
    h = jnp.tanh(x)
    return h @ w


def put(x, value):
    x[0] = value
    return x


def halve(x):
    if x.sum() > 0:
        return x / 2
    return x


def joined(x, y):
    return jnp.concatenate(x, y)


def total(values):
    return float(jnp.sum(values))
"""
CALLS = {
    "shapes": "y = faraway.project(x, w)",
    "assignment": "y = faraway.put(x, 2.0)",
    "truth": "y = jax.jit(faraway.halve)(x)",
    "argument": "y = faraway.joined(x, x)",
    "number": "y = jax.jit(lambda x: faraway.total(x) * x)(x)",
}
BEFORE = "import faraway, jax, jax.numpy as jnp\nx, w = jnp.ones((2, 3)), jnp.ones((4, 3))"
OF_LIBRARIES = [case for case in all_cases() if case.raises and case.needs]
DRAWN = OF_LIBRARIES if DEEP else random.Random(drawn_seed()).sample(OF_LIBRARIES, min(12, len(OF_LIBRARIES)))


def stands_in(finding: Finding | None, *texts: str) -> bool:
    """Whether there is no edit, or the lines that it changes stand in one of some texts."""
    edit = finding.fix.edit if finding is not None and finding.fix is not None else None
    if edit is None:
        return True
    line, old, _ = edit
    count = len(old.split("\n"))
    return any("\n".join(text.split("\n")[line - 1 : line - 1 + count]) == old for text in texts)


@pytest.fixture
def faraway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that fails in its own code."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "faraway.py").write_text(LIBRARY, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("faraway", None)


@pytest.mark.usefixtures("faraway")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("staged", [False, True], ids=["plain", "staged"])
def test_no_edit_is_of_the_code_of_a_library(shell: InteractiveShell, name: str, staged: bool) -> None:
    shell.reset(new_session=False)
    assert shell.run_cell(BEFORE, store_history=True).success
    cell = f"%%jit\n{CALLS[name]}" if staged else CALLS[name]
    result = shell.run_cell(cell, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    assert error is not None or staged
    found = finding_of(error) if error is not None else None
    assert found is None or stands_in(found[0], cell, BEFORE), found


@pytest.mark.parametrize("case", DRAWN, ids=lambda case: case.name)
def test_an_edit_is_of_the_cell_or_of_what_stands_before_it(shell: InteractiveShell, case: ErrorCase) -> None:
    if not able(case):
        pytest.skip("needs a library or devices that are not there")
    assert stands_in(check(shell, case, staged=False).finding, case.cell, case.setup)


def test_an_edit_elsewhere_is_noticed() -> None:
    finding = Finding("truth", "it is traced", 1, fix=Fix("use where", edit=(1, "return x", "return y")))
    assert stands_in(finding, "return x") and not stands_in(finding, "y = f(x)", "x = 1\nreturn x")
