"""What is said when a staged cell runs out of memory: the peak by line, what would lower it; and nothing is lost."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from shells import Shell, shell

import jaxnb
from findings.exhausting import CELLS, SETUP, Large
from jaxnb.api import new_session
from jaxnb.findings.lints.rules import too_large
from jaxnb.options import StageOptions
from jaxnb.program import finding_of
from jaxnb.staging.session.session import Session

__all__ = ["shell"]

XLA = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."
TRAINING = """def loss(w):
    h = x
    for _ in range(6):
        h = jnp.sin(h * 2.0) @ w
    return jnp.sum(h**2)
g = jax.grad(loss)(w)"""


class Exhausted:
    """The executable of a device without memory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def call(*_: Any, **__: Any) -> Any:
            raise jax.errors.JaxRuntimeError(XLA)

        monkeypatch.setattr(jax.stages.Compiled, "__call__", call)


def fail(source: str, namespace: dict[str, Any], **options: Any) -> tuple[Any, Any]:
    """Runs a cell that does not get its memory; the finding and the error."""
    before = dict(namespace)
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        new_session().stage(source, namespace, StageOptions.of(options))
    for name in ("__builtins__", "__name__"):
        namespace.pop(name)
    assert namespace.keys() == before.keys() and all(namespace[name] is before[name] for name in before)
    told = finding_of(caught.value)
    assert told is not None, getattr(caught.value, "__notes__", "")
    return told[0], caught.value


def names_of(case: Large) -> dict[str, Any]:
    """What a cell begins with: of the setup, only what it speaks of, as the rest would be held elsewhere."""
    found: dict[str, Any] = {}
    exec(SETUP, found)
    words = set(re.findall(r"\w+", f"{case.cell} {case.fixed}"))
    found = {name: value for name, value in found.items() if name in words}
    exec(case.setup, {"jnp": jnp}, found)
    return found


@pytest.mark.parametrize("name", CELLS)
def test_what_takes_most_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case, namespace = CELLS[name], names_of(CELLS[name])
    Exhausted(monkeypatch)
    finding, _ = fail(case.cell, namespace, **case.options)
    assert (finding.kind, finding.line) == ("memory", case.line), finding.message
    for text in case.said:
        assert text in finding.message
    assert case.fix in f"{finding.fix.text} {finding.fix.options}"


@pytest.mark.parametrize("name", CELLS)
def test_what_is_proposed_lowers_it(name: str) -> None:
    case = CELLS[name]
    needed: list[Any] = []
    for cell, donate in ((case.cell, ()), (case.fixed or case.cell, case.donate)):
        options = StageOptions.of({**case.options, "donate": donate})
        needed += new_session().stage(cell, names_of(case), options).program.memory()
    before, after = needed
    if case.kept:
        assert after.saved_bytes() < before.saved_bytes()
    else:
        assert after.peak < before.peak


def test_the_holders_of_the_peak_and_a_donation(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = {"jnp": jnp, "w": jnp.ones((500, 1000)), "x": jnp.ones(3)}
    Exhausted(monkeypatch)
    finding, error = fail("y = x * 2\nw = w * 2 + x[0]", namespace)
    assert finding.kind == "memory" and finding.line == 2
    assert finding.message.startswith(XLA) and str(error) == XLA
    assert re.search(r"needs 4\.0 MB a device", finding.message)
    assert "2.0 MB  made by line 2" in finding.message and "2.0 MB  inputs: w" in finding.message
    assert finding.fix.options == "--donate w" and "up to 2.0 MB less" in finding.fix.text
    assert "smaller batches" not in f"{finding.message} {finding.fix}"


def test_the_donation_that_is_proposed_lowers_the_peak() -> None:
    peaks: list[int] = []
    for options in ({}, {"donate": ("w",)}):
        namespace = {"jnp": jnp, "w": jnp.ones((500, 1000))}
        run = new_session().stage("w = w * 2 + 1", namespace, StageOptions.of(options))
        peaks.append(run.program.memory()[0].peak)
    assert peaks[0] - peaks[1] == 2_000_000


def test_what_is_donated_already_is_not_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = {"jnp": jnp, "w": jnp.ones((500, 1000))}
    Exhausted(monkeypatch)
    finding, _ = fail("w = w * 2 + 1", namespace, donate=("w",))
    assert not finding.fix.options and "smaller batches" in finding.fix.text and not namespace["w"].is_deleted()


def test_an_input_that_dies_without_being_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    Exhausted(monkeypatch)
    finding, _ = fail("y = x * 2", {"jnp": jnp, "x": jnp.ones((500, 1000))})
    assert finding.fix.options == "--donate x" and "if nothing needs" in finding.fix.text


def test_large_residuals_ask_for_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = {"jax": jax, "jnp": jnp, "w": jnp.ones((50, 50)), "x": jnp.ones((2000, 50))}
    plain = new_session().stage(TRAINING, dict(namespace), StageOptions()).program.memory()[0]
    lean = (
        new_session()
        .stage(TRAINING.replace("def loss", "@jax.checkpoint\ndef loss"), dict(namespace), StageOptions())
        .program.memory()[0]
    )
    assert lean.saved_bytes() < plain.saved_bytes()
    Exhausted(monkeypatch)
    finding, _ = fail(TRAINING, namespace)
    assert "jax.checkpoint around what line" in finding.fix.text and "4" in finding.fix.text
    again, _ = fail(TRAINING.replace("def loss", "@jax.checkpoint\ndef loss"), namespace)
    assert "jax.checkpoint" not in f"{again.message} {again.fix}"


def test_what_else_is_held_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = {"jnp": jnp, "x": jnp.ones(1000), "spare": jnp.ones(900), "s": jnp.ones(())}
    Exhausted(monkeypatch)
    finding, _ = fail("y = jnp.sum(x * 2)", namespace)
    assert "3.6 KB are held by spare" in finding.message and "%jaxnb memory" in finding.fix.text


def test_other_errors_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def call(*_: Any, **__: Any) -> Any:
        raise jax.errors.JaxRuntimeError("INTERNAL: a cable came loose")

    monkeypatch.setattr(jax.stages.Compiled, "__call__", call)
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jaxnb.stage("y = x * 2", {"jnp": jnp, "x": jnp.ones(3)})
    assert finding_of(caught.value) is None


def test_a_loop_that_python_turns_names_the_line_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = {"jnp": jnp, "w": jnp.ones((500, 1000)), "lines": ["a", "b"]}
    Exhausted(monkeypatch)
    source = "for line in lines:\n    print(line)\n    w = jnp.sin(w) * 2"
    finding, _ = fail(source, namespace)
    assert finding.line == 3 and "2.0 MB  made by line 3" in finding.message


@pytest.mark.parametrize("kind", ["grad", "xmap"])
def test_derivatives_and_named_axes(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    namespace: dict[str, Any] = {"jnp": jnp, "w": jnp.ones((500, 1000)), "s": jnp.ones(())}

    def run(**options: Any) -> Any:
        if kind == "grad":
            return jaxnb.grad_cell("loss = jnp.sum(jnp.sin(w) ** 2)", namespace, "loss", "w", **options)
        return jaxnb.xmap_cell("y = jnp.sin(w) * 2", namespace, "w[row, column] -> y[row, column]", **options)

    with monkeypatch.context() as patched, pytest.raises(jax.errors.JaxRuntimeError) as caught:
        Exhausted(patched)
        run()
    told = finding_of(caught.value)
    assert told is not None and told[0].line == 1
    (note,) = [note for note in caught.value.__notes__ if "at its peak the program needs" in note]
    assert "inputs: w" in note and "try: " in note and not {"y", "loss", "d_w"} & namespace.keys()
    assert told[0].fix is not None and told[0].fix.options == "--donate w"
    assert run(donate=("w",)).donated == 2_000_000


def test_a_device_that_really_has_no_memory() -> None:
    source = "big = jnp.sin(jnp.broadcast_to(x[0], (10**7, 10**7)))"
    with pytest.raises(jax.errors.JaxRuntimeError, match="RESOURCE_EXHAUSTED") as caught:
        new_session().stage(source, {"jnp": jnp, "x": jnp.ones(3)}, StageOptions(block=True))
    told = finding_of(caught.value)
    assert told is not None and "400 TB  made by line 1" in told[0].message


def test_in_a_shell(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("w = jnp.ones((500, 1000))")
    with monkeypatch.context() as patched:
        Exhausted(patched)
        said = shell.run("%%jit\nh = jnp.sin(w)\nw = h * 2", ok=False)
    assert XLA in said and "made by line" in said and "try: " in said and "--donate w" in said
    assert "h" not in shell.ns and "findings/exhausted" not in said
    assert "staged" in shell.run("%%jit --donate w\nh = jnp.sin(w)\nw = h * 2")


# --- while it is compiled, and after the cell has returned ---


@pytest.mark.parametrize("whole", [False, True])
def test_a_compiler_without_memory_is_not_a_reason_for_python_to_try(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    asked: list[int] = []

    def compile_nothing(*_: Any, **__: Any) -> Any:
        asked.append(1)
        raise jax.errors.JaxRuntimeError(XLA)

    monkeypatch.setattr(jax.stages.Lowered, "compile", compile_nothing)
    namespace = {"jnp": jnp, "w": jnp.ones((500, 1000)), "x": jnp.ones(3)}
    finding, _ = fail("y = x * 2\nw = jnp.sin(w) * 2 + y[0]", namespace, whole=whole)
    assert finding.line == 2 and finding.fix.options == "--donate w"
    assert re.search(r"needs [46]\.0 MB a device", finding.message) and "inputs: w" in finding.message
    assert len(asked) == 1


class Failing:
    """Arrays whose program did not get its memory: whoever waits for them is told.

    Attributes:
      arrays: those.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.arrays: list[Any] = []
        jax.block_until_ready(jax.live_arrays())  # what has failed is ready, and the others are not waited for
        kind: Any = type(jnp.ones(1))
        wait = kind.block_until_ready

        def waited(array: Any) -> Any:
            if any(array is one for one in self.arrays):
                raise jax.errors.JaxRuntimeError(XLA)
            return wait(array)

        monkeypatch.setattr(kind, "block_until_ready", waited)


def test_what_fails_later_names_the_cell_that_it_comes_of(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("w = jnp.ones((500, 1000))")
    shell.run("%%jit\nn = jnp.zeros(3)\nh = {'a': jnp.sin(w) * 2}")
    shell.run("%%jit\nlast = h['a'].sum()")
    failing = Failing(monkeypatch)
    failing.arrays = [shell.ns["h"]["a"], shell.ns["last"]]  # what is computed from it fails as well
    said = shell.run("last.block_until_ready()", ok=False)
    assert XLA in said
    assert re.search(r"at its peak the program of Cell In\[\d+\] needs 4\.0 MB", said), said
    assert "2.0 MB  made by line 3" in said and re.search(r"Cell In\[\d+\], line 3", said) and "--donate w" in said
    assert "held by h" not in said  # it has no memory, which is what the error says


def test_what_fails_later_in_a_staged_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    session, namespace = new_session(), {"jnp": jnp, "w": jnp.ones((500, 1000))}
    session.file_label = lambda file: f"Cell {file}"
    session.stage("h = jnp.sin(w) * 2", namespace, StageOptions(), filename="<one>")
    failing = Failing(monkeypatch)
    failing.arrays = [namespace["h"]]

    def call(*_: Any, **__: Any) -> Any:
        raise jax.errors.JaxRuntimeError(XLA)

    monkeypatch.setattr(jax.stages.Compiled, "__call__", call)
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        session.stage("y = h.sum()", namespace, StageOptions(), filename="<two>")
    told = finding_of(caught.value)
    assert told is not None and told[1] == "h = jnp.sin(w) * 2" and told[0].origin == "Cell <one>, line 1"
    failing.arrays.clear()
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        session.stage("y = h.sum()", namespace, StageOptions(), filename="<two>")
    told = finding_of(caught.value)
    assert told is not None and told[1] == "y = h.sum()" and not told[0].origin


def test_what_failed_for_another_reason_is_left_alone(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.run("w = jnp.ones((500, 1000))")
    shell.run("%%jit\nh = jnp.sin(w) * 2")
    Failing(monkeypatch)  # nothing has failed
    said = shell.run(f"import jax\nraise jax.errors.JaxRuntimeError({XLA!r})", ok=False)
    assert XLA in said and "at its peak" not in said


def test_the_error_stands_at_its_line_without_our_frames(shell: Shell) -> None:
    """More is asked for than there are addresses."""
    text = shell.run("%%jit\na = x + 1\nbig = jnp.ones((1 << 23, 1 << 23)) * a[0]\nc = jnp.sort(big).sum()", ok=False)
    assert "----> 3 big = jnp.ones((1 << 23, 1 << 23)) * a[0]" in text and "made by line 3" in text
    assert "run_cell_magic" not in text and "jaxnb/" not in text


def test_what_does_not_fit_is_told_before_somebody_waits(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where a device runs programs after the cell has ended; a CPU does not tell what it has."""
    cell = "%%jit\nbig = jnp.ones((512, 512)) * x[0]\nc = big.sum()"
    assert "fit" not in shell.run(cell)
    monkeypatch.setattr(too_large, "limit_of", lambda device: 1_000_000)
    assert "! the program does not fit into cpu:0, which has 1.0 MB, line 2" in shell.run(cell + " + 1")
    (finding,) = jaxnb.last().findings
    assert "1.0 MB  made by line 2" in finding.message and finding.severity.name == "WRONG"
    monkeypatch.setattr(too_large, "limit_of", lambda device: 2_000_000)
    assert "fit" not in shell.run(cell + " + 2")
