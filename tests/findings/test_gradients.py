"""A zero gradient names the line that stopped it; what is wasted on a backward pass is told, and nothing else."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from findings.quiet_runs import names, run_pieces, traced_pieces
from findings.quietly import QuietSession
from findings.stopping import CELLS, QUIET, SETUP, Stopped
from jaxnb.findings.lints.rules import gradient
from jaxnb.findings.lints.rules.gradient import find_gradients
from jaxnb.options import StageOptions
from jaxnb.program import Finding


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the tests need no large arrays."""
    monkeypatch.setattr(gradient, "LARGE", 10_000)


def found(cell: str, **options: Any) -> list[Finding]:
    return [finding for traced in traced_pieces(cell, SETUP, **options) for finding in find_gradients(traced)]


@pytest.mark.parametrize("name", CELLS)
def test_what_stops_or_wastes_is_named(name: str) -> None:
    case: Stopped = CELLS[name]
    (finding,) = found(case.cell, **case.options)
    assert (finding.kind, finding.line, finding.holder) == ("gradient", case.line, case.holder), finding
    assert case.said in finding.message
    assert finding.fix is not None and case.fix in finding.fix.text


@pytest.mark.parametrize("name", CELLS)
def test_a_run_tells_the_same(name: str) -> None:
    """A run asks the detector only where a first look says that there may be something."""
    case, session = CELLS[name], QuietSession()
    session.stage(case.cell, names(SETUP), StageOptions.of(case.options), filename="<cell 1>")
    told = [finding for finding in session.found if finding.kind == "gradient"]
    assert [finding.line for finding in told] == [case.line] and case.said in told[0].message


@pytest.mark.parametrize("name", CELLS)
def test_the_clean_twin_has_none(name: str) -> None:
    case: Stopped = CELLS[name]
    assert found(case.clean, **case.options) == []


@pytest.mark.parametrize("name", QUIET)
def test_ordinary_code_has_none(name: str) -> None:
    cell, options = QUIET[name]
    assert found(cell, **options) == []


@pytest.mark.parametrize("name", [name for name, case in CELLS.items() if "is zero" in case.said])
def test_it_is_zero_indeed(name: str) -> None:
    case, namespace = CELLS[name], names(SETUP)
    with run_pieces(case.cell, namespace, **case.options):
        value = namespace[case.holder or "g"] if not case.options else eval(f"d_{case.holder}", namespace)
        assert not jnp.any(value)


def test_lines_count_from_the_magic_line() -> None:
    namespace = names(SETUP)
    with run_pieces("y = jnp.round(x)\nl = y.sum()", namespace, "%%grad l wrt x", loss="l", wrt=("x",)) as execution:
        (piece,) = execution.pieces
        (finding,) = find_gradients(gradient.LintContext.of(execution, piece))
    assert finding.line == 2 and finding.span is not None and finding.span.line == 2


def test_small_residuals_are_none_of_our_business(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    case = CELLS["large residuals"]
    assert found(case.cell) == []


def test_the_checkpoint_that_is_proposed_keeps_less() -> None:
    def kept(function: Any) -> int:
        jaxpr = jax.make_jaxpr(jax.grad(function))(jnp.ones((64, 64)))
        return sum(item.nbytes for item in gradient.residuals(jaxpr) if item.made is not None)

    def function(a: Any) -> Any:
        return jnp.exp(a).sum()

    assert kept(function) >= 16384 and kept(jax.checkpoint(function)) < 1000
