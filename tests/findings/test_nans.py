"""`--nans` names the equation that gave the first nan or inf, with line, operands, iteration and a tried fix."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from findings.nanning import CELLS, QUIET, Nan
from findings.quiet_runs import names, run_pieces
from jaxnb.findings import Findings
from jaxnb.findings.lints import recomputed, results
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.nans import find_nans, read_nans
from jaxnb.findings.lints.replay import Replay
from jaxnb.findings.values.fixes import apply_edit
from jaxnb.options import StageOptions
from jaxnb.program import Finding
from jaxnb.staging import Session


def found(setup: str, cell: str, magic: str = "", **options: Any) -> list[Finding]:
    namespace = names(setup)
    entry = dict(namespace)
    with run_pieces(cell, namespace, magic, **options) as execution:
        return read_nans(execution, entry)


@pytest.mark.parametrize("name", CELLS)
def test_the_first_one_is_named(name: str) -> None:
    case: Nan = CELLS[name]
    (finding, *_) = findings = found(case.setup, case.cell, **case.options)
    assert (finding.kind, finding.line) == ("nans", case.line), findings
    for text in case.said:
        assert text in finding.message
    if not case.fix:
        return
    assert finding.fix is not None
    proposed = finding.fix.edit[2] if finding.fix.edit is not None else ""
    assert case.fix in f"{finding.fix.text}\n{proposed}"
    assert finding.fix.verified == case.tried == bool(proposed)
    if case.tried:
        assert finding.fix.edit is not None
        assert found(case.setup, apply_edit(case.cell, finding.fix.edit), **case.options) == []


@pytest.mark.parametrize("name", CELLS)
def test_the_first_one_is_named_where_values_are_too_large_to_be_kept(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recomputed, "_MOST_BYTES", 0)
    case: Nan = CELLS[name]
    (finding, *_) = found(case.setup, case.cell, **case.options)
    assert finding.line == case.line and all(text in finding.message for text in case.said)


@pytest.mark.parametrize("name", CELLS)
def test_the_clean_twin_has_none(name: str) -> None:
    case: Nan = CELLS[name]
    assert found(case.setup, case.clean, **case.options) == []


@pytest.mark.parametrize("name", QUIET)
def test_what_is_meant_is_not_told(name: str) -> None:
    setup, cell = QUIET[name]
    assert found(setup, cell) == []


def test_lines_count_from_the_magic_line() -> None:
    (finding,) = found("x = jnp.array([0.0, 1.0])", "y = x + 1\nz = jnp.log(x)", "%%jit --nans")
    assert finding.line == 3 and finding.span is not None and finding.span.line == 3
    assert finding.fix is not None and finding.fix.verified
    assert finding.fix.edit == (3, "z = jnp.log(x)", "z = jnp.log(jnp.maximum(x, 1e-30))")


def test_it_can_be_told_of_donated_inputs() -> None:
    (finding,) = found("x = jnp.array([0.0, 1.0])", "x = jnp.log(x)", donate=("x",))
    assert finding.line == 1 and "`log` gave inf of 0" in finding.message
    assert finding.fix is not None and not finding.fix.verified  # what it would be tried on is gone


def test_a_program_with_effects_is_not_run_again() -> None:
    (finding,) = found("x = jnp.array([0.0, 1.0])", "y = jnp.log(x)\njax.debug.print('{}', y)")
    assert "not looked for" in finding.message and "debug" in finding.message


def test_a_fix_is_not_tried_where_the_cell_has_effects() -> None:
    setup = "log = []\nx = jnp.array([0.0, 1.0])"
    (finding,) = found(setup, "log.append(1)\ny = jnp.log(x)")
    assert finding.fix is not None and not finding.fix.verified and finding.fix.edit is None


def test_derivatives_in_the_cell_are_told_apart_from_the_function() -> None:
    cell = "f = lambda a: jnp.sqrt(a).sum()\nl, g = jax.value_and_grad(f)(x)"
    (finding,) = found("x = jnp.array([0.0, 1.0])", cell)
    assert finding.holder == "g" and "in the backward pass" in finding.message and finding.line == 1


def test_what_the_function_does_wrong_comes_before_its_derivative() -> None:
    (finding,) = found("x = jnp.array([-1.0, 1.0])", "l = jnp.log(x).sum()", loss="l", wrt=("x",))
    assert "in the forward pass `log`" in finding.message


def test_shared_inputs_on_several_devices() -> None:
    setup = "d = jax.devices()\nmesh = jax.make_mesh((len(d),), ('i',))\nspec = jax.sharding.PartitionSpec('i')\n"
    setup += "x = jax.device_put(jnp.arange(4.0 * len(d)), jax.sharding.NamedSharding(mesh, spec))"
    (finding,) = found(setup, "y = jnp.log(x)")
    assert "`log` gave inf of 0 at [0]" in finding.message


def test_several_pieces_are_looked_at_one_by_one() -> None:
    cell = "y = jnp.log(x)\nprint(float(x[1]))\nz = x[1] / x\nw = z * 2"
    first, second = found("x = jnp.array([0.0, 1.0])", cell)
    assert (first.line, second.line) == (1, 3) and "`log`" in first.message and "`div`" in second.message


def test_a_search_that_fails_does_not_fail_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any) -> Any:
        raise MemoryError("too large")

    monkeypatch.setattr(Replay, "origin", fail)
    (finding,) = found("x = jnp.array([0.0, 1.0])", "y = jnp.log(x)")
    assert finding.message == "nans were not looked for: MemoryError: too large."


def test_a_loop_that_python_runs_is_looked_at_as_it_was_in_the_last_turn() -> None:
    cell = "for i in range(40):\n    x = x * 100.0\n    if float(x[0]) < 0:\n        break"
    (finding, *_) = found("x = jnp.ones(3)", cell)
    assert finding.kind == "nans" and "`x`" in finding.message and "inf" in finding.message


def test_debug_nans_of_jax_does_not_stop_it() -> None:
    namespace = names("x = jnp.array([0.0, 1.0])")
    with run_pieces("y = x / x", namespace) as execution, jax.debug_nans(True):
        (piece,) = execution.pieces
        (finding,) = find_nans(LintContext.of(execution, piece), execution.held[id(piece)]) or []
    assert finding.line == 1 and bool(jnp.isnan(namespace["y"]).any())


_LONG = (
    "def f(v):\n    for i in range(12):\n"
    "        v = jnp.where(v > i, v * 2, jnp.clip(v, -9.0, 9.0) + i)\n    return v\n"
)


def test_the_way_back_takes_one_program_however_long_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[None] = []
    monkeypatch.setattr(recomputed.Timer, "check", lambda self: made.append(None))
    cell = "y = jnp.log(x)\na = f(y)\nb = f(a) + 1\nc = (a * b).sum()"
    (finding, *_) = found(_LONG + "x = jnp.array([-1.0, 1.0])", cell)
    assert finding.line == 1 and "`log` gave nan of -1" in finding.message
    assert len(made) == 1, "of four results, through calls in calls"


def test_a_search_that_nobody_asked_for_is_given_up_and_not_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    setup, cell = "x = jnp.array([-1.0, 1.0])", "y = jnp.log(x)\nz = y * 2"
    session, namespace = Session(observer=Findings()), names(setup)
    (finding,) = session.stage(cell, namespace, StageOptions()).findings
    assert "`log` gave nan of -1" in finding.message
    init = Replay.__init__
    monkeypatch.setattr(results, "PATIENCE", -1.0)
    searched: list[None] = []
    monkeypatch.setattr(Replay, "__init__", lambda *args: (searched.append(None), init(*args))[1])
    for _ in range(2):
        (finding,) = session.stage(cell, namespace, StageOptions()).findings
        assert finding.message == "`y` holds nan, and so does another result." and finding.fix is not None
    assert len(searched) == 1
