"""Quiet findings are found once for each program, never break a cell, and good code has none."""

from __future__ import annotations

import gc
import json
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shells import Shell, shell

import jaxnb
from findings.quietly import QuietSession
from jaxnb.findings import Findings
from jaxnb.findings.lints import linter
from jaxnb.findings.lints.lint import Lint, lints
from jaxnb.findings.lints.linter import LintContext
from jaxnb.options import StageOptions
from jaxnb.program import Finding
from jaxnb.program.codec import decode, encode
from jaxnb.shell.show import bundle

__all__ = ["shell"]

NOTEBOOKS = sorted(Path(__file__).parent.parent.parent.joinpath("notebooks").glob("*.ipynb"))

MEANT = {
    "05_retraces": {"dtype"},
    "08_what_your_cell_did_not_tell_you": {"constant", "dtype", "gradient", "key", "side_effect", "transfer"},
    "09_sharding_and_collectives": {"sharding"},
    "10_planning_for_machines_one_does_not_have": {"sharding"},
    "11_what_a_gradient_keeps": {"gradient"},
    "14_a_70b_step_for_1024_chips": {"sharding"},
}
"""One casts an input to bfloat16, to be traced again, and multiplies it with float32; the others are about findings."""

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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_tutorials_are_good_code(path: Path, shell: Shell) -> None:
    told: set[str] = set()
    warnings.filterwarnings("ignore", category=UserWarning)
    for text in code_of(path):
        shell.run(text, ok=None)
        run = vars(shell.ip)["_jaxnb_magics"].session.last
        told |= {finding.kind for finding in run.findings if finding.folded} if run is not None else set()
    told -= {"static", "dynamic", "sizes"}  # facts, which ask for nothing
    assert told == MEANT.get(path.stem, set())


def test_a_reused_run_looks_for_nothing(
    session: tuple[QuietSession, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[LintContext] = []

    def detector(traced: LintContext) -> Iterator[Finding]:
        looked.append(traced)
        return iter(())

    monkeypatch.setattr(linter, "lints", lambda: {"key": Lint(detector)})
    (staging, namespace) = session
    for _ in range(3):
        staging.stage(CELL, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert len(looked) == 1
    namespace["x"] = namespace["x"][:4]
    staging.stage(CELL, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert len(looked) == 2


def test_what_was_found_goes_with_the_program(session: tuple[QuietSession, dict[str, Any]]) -> None:
    staging, namespace = session
    memory = linter.LintMemory()
    assert isinstance(staging.observer, Findings)
    staging.observer._known = memory
    staging.stage(CELL, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert [type(looked) for looked in memory.looks.values()] == [linter.Looked]
    staging.stage("b = x + 1", namespace, StageOptions(), filename="<cell 2>", cell_id="1")
    gc.collect()
    assert len(memory.looks) == 1


def test_a_detector_that_fails_warns_and_breaks_nothing(
    session: tuple[QuietSession, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(traced: LintContext) -> Iterator[Finding]:
        raise ValueError("broken")

    mine = {"dtype": replace(lints()["dtype"], in_piece=broken), "key": lints()["key"]}
    monkeypatch.setattr(linter, "lints", lambda: mine)
    staging, namespace = session
    with pytest.warns(RuntimeWarning, match="could not look for `dtype` findings: ValueError: broken"):
        staging.stage(
            f"{CELL}  # a detector is asked where the text speaks of int64",
            namespace,
            StageOptions(),
            filename="<cell 1>",
            cell_id="1",
        )
    assert [finding.kind for finding in staging.found] == ["key"]
    assert namespace["b"].shape == ()


def test_nothing_is_looked_for_where_that_is_off(session: tuple[QuietSession, dict[str, Any]]) -> None:
    staging, namespace = session
    staging.looks = False
    staging.stage(CELL, namespace, StageOptions(), filename="<cell 1>", cell_id="1")
    assert staging.found == []


# --- what is shown ---


SAID = " · ! `key` was used on line 2 already, line 3"


def shown_after(shell: Shell, *cells: str) -> str:
    shell.run(f"{SETUP}\n")
    return [shell.run(cell) for cell in cells][-1]


def test_what_may_be_wrong_stands_on_the_line(shell: Shell) -> None:
    text = shown_after(shell, f"%%jit\n{CELL}")
    assert text.strip().endswith(SAID) and "independent" not in text
    assert shown_after(shell, f"%%jit\n{CELL}").strip().endswith(SAID)  # reused, with what was found then


def test_config_writes_them_out(shell: Shell) -> None:
    shell.run("%config JaxNB.shown_findings = ['dtype', 'key']")
    text = shown_after(shell, f"%%jit\n{CELL}")
    assert "line 3 · key: `key` was used on line 2 already" in text and "try: split it first" in text
    shell.run("%config JaxNB.shown_findings = ['dtype']")
    assert shown_after(shell, f"%%jit\n{CELL}").strip().endswith(SAID)
    shell.run("%config JaxNB.shown_findings = ['all']")
    assert "key: `key` was used" in shown_after(shell, f"%%jit\n{CELL}")


def test_config_turns_them_off(shell: Shell) -> None:
    shell.run("%config JaxNB.findings = 'off'")
    assert "finding" not in shown_after(shell, f"%%jit\n{CELL}")


def test_the_html_unfolds_them_with_the_line(shell: Shell) -> None:
    shown_after(shell, f"%%jit\n{CELL}")
    run = jaxnb.last()
    html = bundle(run, rich=True)["text/html"]
    inside, _, outside = html.partition("</details>")
    assert "was used on line 2 already" in inside and "was used" not in outside
    told = replace(run, findings=tuple(replace(finding, folded=False) for finding in run.findings), served=None)
    assert "was used on line 2 already" in bundle(told, rich=True)["text/html"].partition("</details>")[2]


def test_what_is_saved_says_that_it_is_folded(shell: Shell) -> None:
    shown_after(shell, f"%%jit\n{CELL}")
    run = jaxnb.last()
    (finding,) = decode(encode(run.program)).findings
    assert finding.folded and finding.kind == "key"


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
