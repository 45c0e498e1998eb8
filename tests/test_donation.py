"""`--donate`: results take the buffers, and whatever is lost by that is said, before where that is possible."""

from __future__ import annotations

from typing import Any

import jax
import pytest
from IPython.core.interactiveshell import InteractiveShell

import jaxnb
from jaxnb.errors import Refused

SETUP = """\
import jax, jax.numpy as jnp
x = jnp.arange(1000.0)
w = x * 1
params = {'w': x * 1, 'b': x * 2}
class Model: pass
model = Model()
model.w = x * 1
"""


def space(more: str = "") -> dict[str, Any]:
    ns: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP + more, ns)
    return ns


def said(run: jaxnb.Run) -> list[str]:
    return [finding.message for finding in run.findings if finding.kind == "donate"]


@pytest.mark.parametrize(
    ("cell", "donate", "before", "after"),
    [
        ("w = w * 0.9", "w", "w", "w"),
        ("params = jax.tree.map(lambda a: a * 0.9, params)", "params", "params", "params"),
        ("params = jax.tree.map(lambda a: a * 0.9, params)", "params['w']", "params['w']", "params"),
        ("params['w'] = params['w'] * 0.9", "params['w']", "params['w']", "params['w']"),
        ("model.w = model.w * 0.9", "model", "model.w", "model.w"),
        ("def f(m): m.w = m.w + 1\nf(model)", "model.w", "model.w", "model.w"),
    ],
)
def test_results_take_the_buffers(cell: str, donate: str, before: str, after: str) -> None:
    plain, staged = space(), space()
    for turn in range(3):
        exec(cell, plain)
        old = jax.tree.leaves(eval(before, staged))
        pointers = {leaf.unsafe_buffer_pointer() for leaf in old}
        run = jaxnb.stage(cell, staged, donate=donate)
        new = jax.tree.leaves(eval(after, staged))
        assert {leaf.unsafe_buffer_pointer() for leaf in new} >= pointers
        assert run.donated == sum(leaf.nbytes for leaf in old) and run.reused == (turn > 0)
        assert all(leaf.is_deleted() for leaf in old) and "donated" in run.line
        expected = jax.tree.leaves(eval(after, plain))
        assert all(bool((a == b).all()) for a, b in zip(new, expected, strict=True))


def test_what_stays_is_not_donated_and_that_is_said() -> None:
    ns = space()
    run = jaxnb.stage("params['w'] = params['w'] * 2", ns, donate="params")
    assert said(run) == ["params['b'] is not donated: the cell leaves it as it is"]
    assert not ns["params"]["b"].is_deleted()
    run = jaxnb.stage("old = w\nw = w * 2", ns, donate="w")
    assert said(run) == ["w is not donated: another name of the cell holds it"]
    assert not ns["old"].is_deleted() and run.donated == 0


def test_a_name_that_is_only_read_is_unbound_and_says_why() -> None:
    ns = space()
    jaxnb.stage("a = 1\ny = w * 2", ns, donate="w")
    assert "w" not in ns
    with pytest.raises(NameError) as caught:
        jaxnb.stage("z = x + w", ns)
    (note,) = caught.value.__notes__
    assert note.startswith("`w` was donated by ") and note.endswith(", line 2: its buffer is gone.")


def test_a_plain_cell_that_uses_it_is_told_too(capsys: pytest.CaptureFixture[str]) -> None:
    shell = InteractiveShell.instance()
    try:
        shell.run_cell("%load_ext jaxnb\n" + SETUP)
        shell.run_cell("keep = [w]\ndel keep[:]")
        shell.run_cell("%%jit --donate w\ny = w * 2")
        number = shell.execution_count - 1
        capsys.readouterr()
        shell.run_cell("w + 1")
        assert f"`w` was donated by Cell In[{number}], line 2: its buffer is gone." in capsys.readouterr().err
        shell.run_cell("w = 3")
        shell.run_cell("del w")
        shell.run_cell("w + 1")
        assert "donated" not in capsys.readouterr().err
    finally:
        shell.run_cell("%unload_ext jaxnb")
        InteractiveShell.clear_instance()


@pytest.mark.parametrize("more", ["backup = w", "backup = [1, {'a': w}]", "backup = lambda: w\nbackup.kept = w"])
def test_a_buffer_that_another_name_holds_is_not_given_up(more: str) -> None:
    ns = space(more)
    for _ in range(2):
        with pytest.raises(Refused, match="is also held by `backup"):
            jaxnb.stage("w = w * 2", ns, donate="w")
    assert not ns["w"].is_deleted()
    exec("del backup", ns)
    jaxnb.stage("w = w * 2", ns, donate="w")


def test_a_name_that_the_cell_rebinds_may_hold_it() -> None:
    ns = space("other = w")
    jaxnb.stage("w = w * 2\nother = x", ns, donate="w")
    assert ns["other"] is ns["x"]


def test_what_only_remembers_it_is_named() -> None:
    ns = space("Out = {3: w}\n_3 = w\n_ = w")
    run = jaxnb.stage("w = w * 2", ns, donate="w")
    assert said(run) == ["Out[3] held what was donated, and is gone with it"]


def test_two_names_for_one_array_are_donated_once() -> None:
    ns = space("v = w")
    jaxnb.stage("w = w + v", ns, donate=("w", "v"))
    assert "v" not in ns and float(ns["w"][2]) == 4.0


def test_a_donated_input_that_has_no_result_is_said() -> None:
    run = jaxnb.stage("y = (w * 2).sum()", space(), donate="w")
    assert said(run) == ["donated in vain, because no result has its shape and dtype: float32[1000]"]


@pytest.mark.parametrize(
    ("cell", "donate", "message"),
    [
        ("y = x * 2", "w", "the cell does not read `w`"),
        ("y = x * n", "n", "`n` holds no JAX array"),
        ("y = x * a", "a", "`a` holds no JAX array"),
        ("y = model.w * 2", "model.w", "the cell does not replace `model.w`"),
    ],
)
def test_bad_input(cell: str, donate: str, message: str) -> None:
    ns = space("import numpy as np\nn, a = 3, np.ones(1000)")
    with pytest.raises(Refused, match=message):
        jaxnb.stage(cell, ns, donate=donate)
    assert not ns["model"].w.is_deleted() and not ns["x"].is_deleted()


def test_a_failed_run_cannot_bring_it_back_and_says_so() -> None:
    ns = space()
    with pytest.raises(ZeroDivisionError) as caught:
        jaxnb.stage("w = w * 2\nimport math\n1 / 0", ns, donate="w")
    assert caught.value.__notes__ == ["w was donated to this run before it failed: make it again."]
    assert "w" not in ns


def test_a_run_that_fails_before_donating_loses_nothing() -> None:
    ns = space()
    with pytest.raises(TypeError):
        jaxnb.stage("w = w * 2\ny = jnp.ones(3) + 'a'", ns, donate="w")
    assert float(ns["w"][1]) == 1.0


def test_a_later_piece_that_reads_it_still_can() -> None:
    ns = space()
    run = jaxnb.stage("y = w * 2\nprint('between')\nz = w * 3", ns, donate="w")
    assert run.pieces == 2 and float(ns["y"][1]) == 2.0 and float(ns["z"][1]) == 3.0
    assert "w" not in ns and run.donated == ns["z"].nbytes


def test_a_result_that_is_not_kept_is_gone() -> None:
    ns = space()
    jaxnb.stage("w = w * 2\ny = w + 1", ns, donate="w", keep="y")
    assert "w" not in ns and float(ns["y"][1]) == 3.0


def test_a_deleted_array_that_turns_up_again_names_the_cell() -> None:
    """JAX raises a `ValueError` where it has compiled the operation already."""
    ns = space("box = iter((w,))")
    jaxnb.stage("w = w * 2", ns, donate="w")
    exec("old = next(box)", ns)
    with pytest.raises((RuntimeError, ValueError), match="has been deleted") as raised:
        jaxnb.stage("y = old + 1", ns)
    assert "line 1 donated it" in "".join(raised.value.__notes__)


def test_nothing_is_given_up_while_it_is_in_doubt_whether_the_cell_fails() -> None:
    ns = space()
    exec("total = jax.jit(jnp.sum).lower(w).compile()", ns)
    cell = "w = w * 2\nlog = total(w)"
    for turn in range(3):
        before = ns["w"]
        run = jaxnb.stage(cell, ns, donate="w")
        assert before.is_deleted() == (turn > 0) == (run.donated > 0)
        assert float(ns["log"]) == float(ns["w"].sum())
    assert run.reused and "partly on the host: line 2" in run.line


def test_what_a_function_of_the_cell_donates_is_gone_after_it() -> None:
    """As in the plain cell; a later statement that reads it is in a piece of its own, which says what happened."""
    names: dict[str, Any] = {"jax": jax, "v": jax.numpy.ones((4, 3))}
    exec(
        "step = jax.jit(lambda a: a * 2, donate_argnums=0)\ntotal = jax.jit(lambda a: a.sum(), donate_argnums=0)", names
    )
    old = names["v"]
    assert jaxnb.stage("t = total(v)\ny = v + t", names).pieces == 1 and not old.is_deleted()
    jaxnb.stage("w = v\nv = step(v)", names)
    assert old.is_deleted() and names["w"] is old and not names["v"].is_deleted()
    with pytest.raises((RuntimeError, ValueError), match="has been deleted") as raised:
        jaxnb.stage("z = step(v)\nu = v + 1", names)
    assert "`v` was donated to `step` on line 1" in "".join(raised.value.__notes__)


@pytest.mark.parametrize(
    "cell",
    [
        "y = t + 1",
        "y = jnp.sin(t).sum()",
        "z = x * 2\ny = (z + t).sum()",
        "try:\n    y = t + 1\nexcept RuntimeError:\n    print('gone')",
        "try:\n    y = t + 1\nexcept RuntimeError as error:\n    said = type(error).__name__, str(error)",
        "for i in range(3):\n    try:\n        y = t + i\n    except RuntimeError as error:\n        print(i, error)",
        "try:\n    y = t + 1\nexcept ValueError:\n    print('another class')",
        "r = safe(t)",
        "y = x * 2\nr = [safe(v) for v in (x, t)]",
        "r = t.shape, t.dtype\ny = x * 2",
    ],
)
def test_what_a_deleted_array_raises_is_of_the_class_of_jax(cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What catches it plainly catches it in a staged cell, on every run; uncaught, it says whose buffer is gone."""
    setup = """
import jax, jax.numpy as jnp
x = jnp.ones(3)
t = x * 2
t.delete()
def safe(v):
    try:
        return float(v.sum())
    except RuntimeError:
        return -1.0
"""
    seen: list[Any] = []
    for run in (exec, jaxnb.stage, jaxnb.stage):
        names: dict[str, Any] = {"__name__": "__main__"} if len(seen) < 2 else names
        if len(seen) < 2:
            exec(setup, names)
        error: BaseException | None = None
        try:
            run(cell, names)
        except Exception as caught:
            error = caught
            if run is not exec:
                assert "`t` was deleted: its buffer is gone" in "".join(caught.__notes__)
        bound = {name: names.get(name) for name in ("r", "said", "i")}
        seen.append((type(error), str(error), bound, capsys.readouterr().out))
    assert seen[0] == seen[1] == seen[2]
