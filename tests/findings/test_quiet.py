"""Quiet findings are found once for each program, never break a cell, and good code has none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shells import Shell, shell

from findings.quietly import QuietSession
from jaxnb.findings import quiet
from jaxnb.findings.quiet import KINDS, Quiet, Traced, read_quiet
from jaxnb.options import StageOptions
from jaxnb.program import Finding
from jaxnb.running.run import Run
from jaxnb.running.runner import Runner
from jaxnb.running.session import Session

__all__ = ["shell"]

NOTEBOOKS = sorted(Path(__file__).parent.parent.parent.joinpath("notebooks").glob("*.ipynb"))

MEANT = {"05_retraces": {"dtype"}}
"""It casts an input to bfloat16, so that a cell is traced again, and multiplies it with float32."""

SETUP = "import jax, jax.numpy as jnp\nfrom jax import random\nkey = random.key(0)\nx = jnp.arange(8.0)"
CELL = "a = random.normal(key) + x\nb = random.normal(key)"


@pytest.fixture(name="session")
def new_session() -> tuple[QuietSession, dict[str, Any]]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP, namespace)
    return QuietSession(), namespace


def code_of(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_tutorials_are_good_code(path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, found = Quiet(), list[Finding]()
    describe = Session._describe  # pyright: ignore[reportPrivateUsage]

    def looking(self: Session, runner: Runner, *rest: Any) -> Run:
        found.extend(read_quiet(runner, memory, rest[-1] or runner.cell.digest))
        return describe(self, runner, *rest)

    monkeypatch.setattr(Session, "_describe", looking)
    for text in code_of(path):
        shell.run(text, ok=None)
    told = {finding.kind for finding in found if finding.kind in KINDS}
    assert told == MEANT.get(path.stem, set())


def test_a_reused_run_looks_for_nothing(
    session: tuple[QuietSession, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[Traced] = []

    def detector(traced: Traced) -> Iterator[Finding]:
        looked.append(traced)
        return iter(())

    monkeypatch.setattr(quiet, "DETECTORS", (detector,))
    (staging, namespace) = session
    for _ in range(3):
        staging.stage(CELL, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert len(looked) == 1
    namespace["x"] = namespace["x"][:4]
    staging.stage(CELL, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert len(looked) == 2


def test_a_detector_that_fails_breaks_nothing(
    session: tuple[QuietSession, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(traced: Traced) -> Iterator[Finding]:
        raise ValueError("broken")

    monkeypatch.setattr(quiet, "DETECTORS", (broken, *quiet.DETECTORS))
    staging, namespace = session
    staging.stage(CELL, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert [finding.kind for finding in staging.found] == ["key"]
    assert namespace["b"].shape == ()


def test_a_line_is_told_once_a_kind(session: tuple[QuietSession, dict[str, Any]]) -> None:
    staging, namespace = session
    text = "y = random.normal(key) + random.normal(key) + random.uniform(key)"
    staging.stage(text, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert [(finding.kind, finding.line) for finding in staging.found] == [("key", 1)]


def test_pieces_of_one_cell_share_their_keys(session: tuple[QuietSession, dict[str, Any]]) -> None:
    staging, namespace = session
    text = "a = random.normal(key)\nprint(float(a) > 100)\nb = random.normal(key)"
    staging.stage(text, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert [(finding.kind, finding.line) for finding in staging.found] == [("key", 3)]
