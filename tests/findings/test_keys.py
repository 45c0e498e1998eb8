"""A PRNG key that is used twice is told with both lines, across cells too; what is in order is not."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from findings.key_reusing import CLEAN, SETUP, TWICE
from findings.quietly import QuietSession, quiet_findings
from jaxnb.options import StageOptions


@pytest.mark.parametrize("name", TWICE)
def test_a_key_that_is_used_twice(name: str) -> None:
    case = TWICE[name]
    found, _ = quiet_findings(SETUP, (*case.before, case.cell), "key")
    assert [finding.line for finding in found] == [case.line]
    assert case.text in found[0].message
    assert found[0].fix is not None and case.fix in found[0].fix.text


@pytest.mark.parametrize("name", TWICE)
def test_the_fix_ends_it(name: str) -> None:
    case = TWICE[name]
    assert quiet_findings(SETUP, (*case.before, case.fixed), "key")[0] == []


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_in_order(name: str) -> None:
    assert quiet_findings(SETUP, CLEAN[name], "key")[0] == []


def test_both_lines_are_told() -> None:
    (finding,), _ = quiet_findings(SETUP, ["a = random.normal(key)\nc = x * 2\nb = random.normal(key)"], "key")
    assert finding.trail == (1, 3) and finding.origin == "line 1" and finding.holder == "key"
    assert finding.span is not None and (finding.span.line, finding.span.column) == (3, 4)


def session_with(setup: str) -> tuple[QuietSession, dict[str, Any]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, namespace)
    return QuietSession(), namespace


def stage(session: QuietSession, namespace: dict[str, Any], text: str, cell: str) -> list[str]:
    session.stage(text, namespace, StageOptions(), filename=f"<cell {cell}>", cell_id=cell)
    return [finding.kind for finding in session.found if finding.kind == "key"]


def test_a_cell_that_runs_again_uses_no_key_twice() -> None:
    session, namespace = session_with(SETUP)
    text = "a = random.normal(key, x.shape)"
    assert stage(session, namespace, text, "1") == []
    assert stage(session, namespace, text, "1") == []
    namespace["x"] = namespace["x"][:4]  # it is traced again
    assert stage(session, namespace, text, "1") == []
    assert stage(session, namespace, "a = random.normal(key, x.shape) * 2", "1") == []  # it was edited
    assert stage(session, namespace, "b = random.normal(key)", "2") == ["key"]


def test_a_reused_run_says_what_its_program_does() -> None:
    session, namespace = session_with(SETUP)
    text = "a = random.normal(key)\nb = random.uniform(key)"
    assert stage(session, namespace, text, "1") == ["key"]
    assert stage(session, namespace, text, "1") == ["key"]


def test_keys_are_held_weakly() -> None:
    session, namespace = session_with(SETUP)
    stage(session, namespace, "k1, k2 = random.split(key)\na = random.normal(k1)", "1")
    memory = session.observer._quiet  # pyright: ignore
    assert memory is not None
    log = memory.keys
    held = len(log)
    del namespace["k1"], namespace["key"]
    session.remember(type(session.last)())  # type: ignore[misc]
    gc.collect()
    assert len(log) < held


def test_a_reused_run_uses_what_another_cell_has_used() -> None:
    session, namespace = session_with(SETUP)
    one, other = "a = random.normal(key)", "b = random.uniform(key)"
    namespace["other"] = namespace["jax"].random.key(7)
    assert stage(session, namespace, one, "1") == []
    kept, namespace["key"] = namespace["key"], namespace["other"]
    assert stage(session, namespace, other, "2") == []
    namespace["key"] = kept
    assert stage(session, namespace, other, "2") == ["key"]  # reused, and the key is that of cell 1
    run = session.last
    assert run is not None and run.reused
    (finding,) = session.found
    assert finding.line == 1 and finding.origin == "Cell In[1], line 1"
    namespace["key"] = namespace["jax"].random.key(8)
    assert stage(session, namespace, other, "2") == []


def test_a_key_that_is_split_alike_in_two_cells_is_told_where_it_is_split() -> None:
    session, namespace = session_with(SETUP)
    assert stage(session, namespace, "k1, k2 = random.split(key)\na = random.normal(k1)", "1") == []
    assert stage(session, namespace, "\nk1, k2 = random.split(key)\nb = random.normal(k2)", "2") == ["key"]
    assert [finding.line for finding in session.found] == [2]
