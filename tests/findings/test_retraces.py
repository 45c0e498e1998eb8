"""Each retrace is told by what differs from the nearest earlier one; what comes again gets a fix that works."""

from __future__ import annotations

import gc
import sys
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from shells import Shell, shell

from findings.retraced_calls import FUNCTIONS, QUIET
from findings.retracing import CELLS, SETUP, Fixed, Retraced
from jaxnb.api import new_session
from jaxnb.findings.retracing import calls as calls_module
from jaxnb.findings.retracing.calls import Calls
from jaxnb.findings.retracing.retraces import note_of, report_of, retraces
from jaxnb.findings.values import dry_run
from jaxnb.options import StageOptions
from jaxnb.shell.show import bundle
from jaxnb.staging.reuse.history import Change, History
from jaxnb.staging.session.session import Session

__all__ = ["shell"]


def run_text(text: str, namespace: dict[str, Any], number: int) -> None:
    """Runs a plain cell under the name that a notebook would give it."""
    exec(compile(text, f"<cell {number}>", "exec"), namespace)


def label(file: str) -> str:
    return f"Cell In[{file[6:-1]}]" if file.startswith("<cell ") else file


@pytest.fixture(autouse=True)
def settings() -> Any:
    before = dict(jax.config.values)
    yield
    for name, value in before.items():
        if jax.config.values[name] != value:
            jax.config.update(name, value)


def namespace_of(setup: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    run_text(SETUP, namespace, 0)
    run_text(setup, namespace, 1)
    return namespace


def staged(program: Retraced, fixed: Fixed | None = None) -> tuple[list[Any], Session, dict[str, Any]]:
    """The runs of a staged program, with the steps in between."""
    options = program.options | (fixed.options if fixed is not None else {})
    session = new_session(cache_size=options.pop("cache_size", 4))
    session.file_label = label
    setup, cell, steps = program.setup, program.cell, program.steps
    if fixed is not None:
        setup = setup if fixed.setup is None else f"{setup}\n{fixed.setup}"
        cell, steps = fixed.cell or cell, steps if fixed.steps is None else fixed.steps
    namespace = namespace_of(setup)
    runs = [session.stage(cell, namespace, StageOptions.of(options))]
    for number, step in enumerate(steps, 1):
        run_text(step, namespace, number)
        runs.append(session.stage(cell, namespace, StageOptions.of(options)))
    return runs, session, namespace


@pytest.mark.parametrize("name", CELLS)
def test_a_staged_cell_says_why(name: str) -> None:
    program = CELLS[name]
    runs, session, _ = staged(program)
    last = runs[-1]
    assert not last.reused and last.retrace is not None
    reasons = {reason.holder: reason for reason in retraces(session).rows[0].reasons if reason.kind == program.kind}
    assert program.path in reasons, retraces(session)
    found = [finding for finding in last.retrace.findings if program.text in finding.message]
    assert len(found) == 1, last.retrace
    (finding,) = found
    assert (finding.kind, finding.line, finding.holder) == ("retrace", program.line, program.path)
    assert "(cost " in finding.message
    fix = f"{finding.fix.text} {finding.fix.options}" if finding.fix is not None else ""
    assert program.fix in fix and bool(program.fix) == bool(fix), fix
    if program.kind != "dropped":
        assert last.line.startswith(f"↻ retraced: {last.retrace.reasons[0]}") and len(last.retrace.reasons) == 1
    for run in runs[:2]:  # once is no habit
        assert run.retrace is None or all(finding.fix is None for finding in run.retrace.findings)


@pytest.mark.parametrize("name", [name for name, program in CELLS.items() if program.fixed is not None])
def test_the_fix_of_a_staged_cell_works(name: str) -> None:
    program = CELLS[name]
    runs, _, namespace = staged(program, program.fixed)
    again = [run.retrace for run in runs[1:] if not run.reused]
    assert not [retrace for retrace in again if program.kind == "dropped" and "only" in str(retrace)]
    assert program.kind == "dropped" or not again, again
    plain = namespace_of(program.setup)
    run_text(program.cell, plain, 9)
    for number, step in enumerate(program.steps, 1):
        run_text(step, plain, number)
        run_text(program.cell, plain, 9)
    np.testing.assert_allclose(eval(program.value, namespace), eval(program.value, plain), rtol=1e-5)


def test_a_mesh_is_told_by_its_axes() -> None:
    session, namespace = new_session(), namespace_of("")
    session.stage("y = x * 2", namespace, StageOptions())
    with jax.set_mesh(namespace["mesh"]):
        run = session.stage("y = x * 2", namespace, StageOptions())
    assert run.retrace is not None and run.retrace.reasons == ("mesh none → i=8",)
    assert [finding.holder for finding in run.retrace.findings] == ["mesh"]


# --- jitted functions ----------------------------------------------------------------------------------------------


def called(program: Retraced, fixed: Fixed | None = None) -> tuple[History, list[list[Any]], dict[str, Any]]:
    """What is known after the cells of a program, and what was said after each."""
    setup, steps = program.setup, program.steps
    if fixed is not None:
        setup = setup if fixed.setup is None else f"{setup}\n{fixed.setup}"
        steps = steps if fixed.steps is None else fixed.steps
    history = History()
    calls = Calls(history, label)
    calls.start()
    said: list[list[Any]] = []
    try:
        namespace = namespace_of(setup)
        said.append(calls.check(here="Cell In[1]"))
        if fixed is not None:
            history.groups.clear()  # what the fix replaces counts no more
        for number, step in enumerate(steps, 2):
            run_text(step, namespace, number)
            said.append(calls.check(here=f"Cell In[{number}]"))
    finally:
        calls.stop()
    return history, said, namespace


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_jitted_function_says_why(name: str) -> None:
    program = FUNCTIONS[name]
    history, said, _ = called(program)
    assert not history.notes
    (row,) = (row for row in report_of(history, label).rows if row.traces > 1)
    reason = row.reasons[0]
    assert (reason.kind, program.path or reason.holder) == (program.kind, reason.holder)
    assert program.text in reason.text and reason.text in str(report_of(history, label))
    assert history.entries[-1].changes[0].line == program.line
    fix = reason.fix.text if reason.fix is not None else ""
    assert program.fix in fix and bool(program.fix) == bool(fix), fix
    assert not any(said[:-1])  # once is no habit, and then one finding is enough
    if not program.fix:
        assert not said[-1]
        return
    (finding,) = said[-1]
    assert (finding.kind, finding.line, finding.fix) == ("retrace", program.line, reason.fix)
    assert program.text in finding.message and "cost " in finding.message
    assert finding.holder == (program.path or row.title)


@pytest.mark.parametrize("name", [name for name, program in FUNCTIONS.items() if program.fixed is not None])
def test_the_fix_of_a_jitted_function_works(name: str) -> None:
    program = FUNCTIONS[name]
    history, said, namespace = called(program, program.fixed)
    assert not any(said) and sum(group.retraces for group in history.groups.values()) == 0
    plain = namespace_of(program.setup)
    for number, step in enumerate(program.steps, 2):
        run_text(step, plain, number)
    np.testing.assert_allclose(eval(program.value, namespace), eval(program.value, plain), rtol=1e-5)


@pytest.mark.parametrize("name", QUIET)
def test_what_is_not_traced_again_is_not_told(name: str) -> None:
    setup, steps = QUIET[name]
    history, said, _ = called(Retraced(setup, steps))
    assert not any(said) and all(group.traces <= 1 for group in history.groups.values())


@pytest.mark.parametrize("name", [name for name, program in FUNCTIONS.items() if program.silent])
def test_where_jax_says_nothing(name: str, caplog: pytest.LogCaptureFixture) -> None:
    program = FUNCTIONS[name]
    namespace: dict[str, Any] = {"__name__": "__main__"}
    run_text(SETUP, namespace, 0)
    own = 1_000 + list(FUNCTIONS).index(name)  # JAX compares all of one name at one place
    run_text(program.setup, namespace, own)
    jax.config.update("jax_explain_cache_misses", True)
    for number, step in enumerate(program.steps, 2):
        run_text(step, namespace, number)
    assert not [record for record in caplog.messages if "CACHE MISS" in record and f"<cell {own}>" in record]


# --- in a shell ----------------------------------------------------------------------------------------------------


def test_a_function_of_plain_cells_is_told_of_quietly(shell: Shell) -> None:
    shell.run("@jax.jit\ndef step(a, n):\n    return a * n")
    assert [shell.run(f"y = step(jnp.ones({size}), 2)") for size in (3, 4)] == ["", ""]
    text = shell.run("z = 0\ny = step(jnp.ones(5), 2)")
    assert text.startswith("! line 2: `step` was traced 2 times more than need be: a float32[4] → float32[5] (cost ")
    assert "try: pad axis 0 to one size, such as 8" in text and text.count("\n") == 1
    assert shell.run("y = step(jnp.ones(6), 2)") == ""  # again when there are twice as many
    assert "4 times more" in shell.run("y = step(jnp.ones(7), 2)")


def test_the_history_of_a_shell(shell: Shell) -> None:
    assert shell.run("%jaxnb retraces") == "nothing has been traced yet\n"
    shell.run("def helper(a): return a * 2")
    shell.run("%%jit\ny = helper(x)")
    shell.run("def helper(a): return a * 3")
    assert "retraced: the code of helper changed (Cell In[6])" in shell.run("%%jit\ny = helper(x)")
    shell.run("for _ in range(3):\n    jax.jit(lambda a: a - 1)(x)")
    text = shell.run("%jaxnb retraces")
    head, newest, reason, fix, cell, why, _, total = text.rstrip("\n").split("\n")
    assert head.split()[:3] == ["traced", "needless", "cost"]
    assert newest.split()[:2] == ["3", "2"] and "<lambda> (line 2 of Cell In[8])" in newest
    assert reason.strip() == "2× the function was made anew, with the same code" and fix.strip().startswith("try: move")
    assert cell.split()[0] == "2" and cell.endswith("Cell In[7]  y = helper(x)")
    assert why.strip() == "the code of helper changed (Cell In[6])"
    assert total.startswith("5 traces of 1 cell and 1 function, ") and "; 2 were needless, " in total


def slow_path() -> tuple[Any, Any, int]:
    """What JAX calls for a call that it does not know, and how many listen to its durations."""
    from jax._src import monitoring, pjit

    return pjit._infer_params, pjit._run_python_pjit, len(monitoring.get_event_duration_listeners())


def test_findings_off_and_unload_end_the_watch() -> None:
    before = slow_path()
    shell, loop = Shell(), "for n in (1, 2, 3, 4):\n    jax.jit(lambda a: a + 1)(1.0)"
    shell.run("%load_ext jaxnb\nimport jax")
    assert slow_path()[0] is not before[0] and slow_path()[2] == before[2] + 1
    shell.run("%config JaxNB.findings = 'off'")
    assert slow_path() == before
    assert shell.run(loop) == "" and shell.run("%jaxnb retraces") == "nothing has been traced yet\n"
    shell.run("%config JaxNB.findings = 'warn'")
    assert "made anew" in shell.run(loop)
    shell.run("%unload_ext jaxnb")
    assert slow_path() == before


def test_errors_show_no_frame_of_the_watch(shell: Shell) -> None:
    for cell in ("jax.jit(lambda a: a + undefined)(x)", "jax.jit(lambda a: a)('text')", "jax.jit(jnp.dot)(x, x[:2])"):
        text = shell.run(cell, ok=False)
        assert "Error" in text and "calls.py" not in text


# --- what is kept --------------------------------------------------------------------------------------------------


def test_one_reason_stands_on_the_line_only() -> None:
    runs, _, _ = staged(CELLS["one dtype after the other"])
    single = runs[1]
    assert single.retrace is not None and not [item for item in single.findings if item.kind == "retrace"]
    assert [item.kind for item in single.program.findings] == ["retrace"]
    shown = bundle(single, rich=True)
    line = shown["text/html"].partition("<summary>")[2].partition("</summary>")[0]  # which has it in its title, too
    assert line.count("params[&#39;w1&#39;] float32[3] → bfloat16[3]") == 2
    assert shown["text/html"].count("params[&#39;w1&#39;] float32[3] → bfloat16[3]") == 2
    assert [item.kind for item in runs[2].findings] == ["retrace"]  # with a fix


def test_each_reason_is_told_once_and_that_code_changed_before_what_it_uses_of_modules() -> None:
    setup = "def energy(v):\n    return jnp.sum(v**2)\ndef kernel(f):\n    return lambda v: v - 0.1 * jax.grad(f)(v)"
    session, namespace = new_session(), namespace_of(f"{setup}\nx = jnp.ones(3)")
    cell = "first = kernel(energy)(x)\nprint(first)\nsecond = kernel(energy)(first)"
    session.stage(cell, namespace, StageOptions())
    run_text("def energy(v):\n    return jnp.sum(jnp.cos(v))", namespace, 2)
    run = session.stage(cell, namespace, StageOptions())
    assert run.pieces == 2 and run.retrace is not None
    assert run.retrace.reasons == ("the code of energy changed", "what jax.numpy gives changed")
    assert "the code of energy changed (and 1 more)" in run.line


def test_nothing_of_the_user_is_kept_alive() -> None:
    class Config:
        pass

    history = History()
    calls = Calls(history)
    calls.start()
    try:
        array, config = jnp.ones(7), Config()
        function = jax.jit(lambda c, a, k=3: a * k, static_argnums=0)
        function(config, array)
        function(config, array[:2])
        alive = [weakref.ref(item) for item in (array, config, function.__wrapped__)]
        del array, config, function
        jax.clear_caches()  # which hold static arguments
        gc.collect()
        assert [item() for item in alive] == [None, None, None]
    finally:
        calls.stop()
    assert history.traces == 2

    session, array = new_session(), jnp.ones(5)
    names = {"__name__": "__main__", "x": array}
    for size in (5, 4, 3):
        names["x"] = array[:size]
        session.stage("y = x.sum()", names, StageOptions())
    kept = weakref.ref(array)
    del array
    names.clear()
    gc.collect()
    assert kept() is None and session.history.traces == 3


def test_the_history_is_bounded() -> None:
    history = History()
    for number in range(1000):
        group = history.group(f"cell {number % 200}", "y = x")
        history.add(group, [Change("static", f"name{number}", "t" * 5000)], 0.5)
    assert len(history.entries) <= 400 and len(history.groups) <= 128
    assert max(len(group.causes) for group in history.groups.values()) <= 32
    assert max(len(entry.changes[0].text) for entry in history.entries) <= 300
    assert (history.traces, history.seconds) == (1000, 500.0) and history.entries[-1].order == 1000
    assert "1000 traces" in str(report_of(history))


def test_what_goes_wrong_in_the_watch_never_reaches_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise LookupError("this JAX is another one")

    for name in ("describe", "user_function"):
        history = History()
        with monkeypatch.context() as patch:
            patch.setattr(calls_module, name, broken)
            calls = Calls(history)
            calls.start()
            assert jax.jit(lambda a: a * 2)(3.0) == 6.0
            assert not calls.on and calls.check() == []
        assert history.notes == ["LookupError: this JAX is another one"]
        assert "jitted functions are not watched any more: LookupError" in str(report_of(history))
        calls.stop()


def test_another_jax_is_told_of_and_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from jax._src.interpreters import partial_eval

    before, history = slow_path(), History()
    with monkeypatch.context() as patch:
        patch.setattr(partial_eval, "trace_to_jaxpr", lambda: None)
        calls = Calls(history)
        calls.start()
    assert slow_path() == before and not calls.on
    assert calls.check() == [] and "this JAX has another slow path" in str(report_of(history))
    calls.stop()


def test_what_is_traced_is_the_same_under_the_watch() -> None:
    def equations() -> list[int]:
        session, names = new_session(), {"__name__": "__main__", "jnp": jnp, "x": jnp.ones(3), "s": {"t": 0}}
        cell = "s['t'] += 1\ny = x * 0.9 ** s['t'] + jnp.where(x > 1, x, 0)"
        return [session.stage(cell, names, StageOptions()).equations for _ in range(3)]

    def places(function: Any) -> list[str]:
        eqns = jax.make_jaxpr(function)(jnp.ones(3)).eqns
        return [str(frame.file_name) for eqn in eqns for frame in eqn.source_info.traceback.frames]

    before = equations(), places(lambda a: jnp.where(a > 1, a**2, jnp.clip(a, 0, 1)))
    calls = Calls(History())
    calls.start()
    try:
        after = equations(), places(lambda a: jnp.where(a > 1, a**2, jnp.clip(a, 0, 1)))
    finally:
        calls.stop()
    assert after[0] == before[0] and not any("calls.py" in place for place in after[1])


def test_two_watches_do_not_disturb_each_other() -> None:
    before, histories = slow_path(), (History(), History())
    one, other = (Calls(history) for history in histories)
    one.start()
    other.start()
    one.stop()  # the outer one is still there
    jax.jit(lambda a: a * 2)(3.0)
    assert [history.traces for history in histories] == [0, 1]
    other.stop()
    jax.jit(lambda a: a * 2)(3.0)
    assert [history.traces for history in histories] == [0, 1]
    for name, function in zip(("_infer_params", "_run_python_pjit"), before, strict=False):
        setattr(sys.modules["jax._src.pjit"], name, function)


def test_calls_that_raise_and_calls_of_other_threads() -> None:
    import threading

    history = History()
    calls = Calls(history)
    calls.start()
    try:
        function = jax.jit(lambda a: a / 0 if a.shape == (2,) else a.undefined)
        with pytest.raises(AttributeError):
            function(jnp.ones(3))
        assert history.traces == 0
        thread = threading.Thread(target=lambda: function(jnp.ones(2)))
        thread.start()
        thread.join()
        assert history.traces == 1 and history.seconds > 0
    finally:
        calls.stop()


def test_a_note_can_be_published() -> None:
    _, said, _ = called(FUNCTIONS["a lambda under jit in a loop"])
    shown = bundle(note_of(said[-1][0]), rich=True)
    assert "made anew" in shown["text/plain"] and "made anew" in shown["text/html"]
    (program,) = (value for key, value in shown.items() if "jaxnb" in key)
    assert program["findings"]


def test_an_option_is_tried_before_it_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_run, "PATIENCE", 60.0)

    def last_fix(cell: str) -> Any:
        namespace = {"__name__": "__main__", "jnp": jnp, "x": jnp.ones(3)}
        session = new_session()
        for n in range(1, 5):
            namespace["n"] = n
            run = session.stage(cell, namespace, StageOptions(static=("n",)))
        assert run.retrace is not None
        return run.retrace.findings[0].fix

    works, splits = last_fix("y = x * n"), last_fix("y = x[:n] * 2")
    assert works.options == splits.options == "--dynamic n"
    assert works.verified
    assert not splits.verified
