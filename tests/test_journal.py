"""`%jaxnb session`: all staged cells at a glance."""

from __future__ import annotations

import jax.numpy as jnp
import pytest
from hypothesis import given, strategies as st
from shells import Shell, shell

import jaxnb
from jaxnb.shell.journal import Journal

__all__ = ["shell"]


def test_a_cell_is_one_row_however_often_it_ran(shell: Shell) -> None:
    shell.run("import jax.numpy as jnp\nx = jnp.ones(3)")
    for _ in range(2):
        shell.run("%%jit\ny = jnp.sin(x) * 2")
    shell.run("x = jnp.ones(4)")
    shell.run("%%jit\ny = jnp.sin(x) * 2")
    shell.run("%%jit\n# of what was made\nz = jnp.sum(y)")
    report = shell.ip._jaxnb_magics.journal.report()
    first, second = report.rows
    assert (first.begins, first.runs, first.traced) == ("y = jnp.sin(x) * 2", 3, 2)
    assert (second.begins, second.runs, second.traced) == ("z = jnp.sum(y)", 1, 1)
    text = str(report)
    assert "↻ retraced: x float32[3] → float32[4]" in text
    assert text.endswith("traced again 1 time")
    assert first.compiling > second.compiling * 0.1 > 0


def test_a_session_without_cells_says_so() -> None:
    assert str(Journal().report()) == "no cell was staged yet"


@pytest.mark.parametrize("columns", [72, 80, 120, 200])
def test_the_lines_of_a_session_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    journal = Journal()
    cell = "total = (x * 2 + 1).sum()  # a line that is longer than most\nprint(f'{total:.2f}')"
    run = jaxnb.stage(cell, {"x": jnp.ones(3)})
    journal.add(run, cell, "Cell In[7]", None)
    text = str(journal.report())
    assert max(map(len, text.splitlines())) <= columns
    assert "Cell In[7]" in text and "● staged" in text


def test_in_a_notebook_a_cell_is_a_link_and_its_text_no_markup() -> None:
    journal = Journal()
    run = jaxnb.stage("y = x + 1  # <b>", {"x": jnp.ones(3)})
    journal.add(run, "%%jit\ny = x + 1  # <b>", "Cell In[7]", "a1b2")
    html = journal.report()._repr_mimebundle_()["text/html"]
    assert '<a href="#cell-id=a1b2">Cell In[7]</a>' in html
    assert "<b>" not in html


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12))
def test_runs_are_counted_by_cell(ran: list[tuple[str, bool]]) -> None:
    journal = Journal()
    run = jaxnb.stage("y = 1", {})
    for cell, known in ran:
        journal.add(run, cell, f"Cell {cell}", cell if known else None)
    report = journal.report()
    assert sum(row.runs for row in report.rows) == len(ran)
    assert len(report.rows) == len({cell for cell, _ in ran})
