"""Comparing programs: what is aligned, what is said of it, and `--diff` against the run before."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given, settings, strategies as st
from sample_programs import PROGRAMS

import jaxnb
from jaxnb.program import Aval, Computation, Level, Op, Program, Value
from jaxnb.program.diff import compare
from jaxnb.views.differences import render_diff, render_sums


def names():
    return {"jax": jax, "jnp": jnp, "x": jnp.ones((64, 64)), "w": jnp.ones((64, 10)), "n": 3}


def staged(*cells, **options):
    """The runs of these cells, one after the other, in one namespace."""
    namespace = names()
    return [jaxnb.stage(cell, namespace, **options) for cell in cells]


def told(diff):
    """What is not the same: marks, ops and reasons."""
    found = []
    for change in diff.changes:
        if change.kind != "same":
            program, place = (diff.old, change.old) if change.new is None else (diff.new, change.new)
            op = program.level(diff.level).computations[place[0]].ops[place[1]]
            found.append((change.kind, op.name, *change.why))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_the_same_as_itself(name):
    program = PROGRAMS[name]()
    for level in program.level_names:
        diff = program.diff(program, level)
        assert diff.same and not any(amount.changed for amount in diff.amounts.values())


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("y = jnp.sin(x)", "y = jnp.sin(x) + 1", [("added", "add")]),
        ("y = jnp.sin(x) + 1", "y = jnp.sin(x)", [("removed", "add")]),
        ("y = jnp.sin(x) * 2", "y = jnp.sin(x) * 3", [("changed", "mul", "operand 2: 2.0 → 3.0")]),
        ("y = jnp.sin(x)", "y = jnp.cos(x)", [("removed", "sin"), ("added", "cos")]),
        (
            "y = x.sum()",
            "y = x.sum(0)",
            [("changed", "reduce_sum", "float32[] → float32[64]", "axes: (0, 1) → (0,)")],
        ),
        (
            "a = jnp.sin(x)\nb = jnp.cos(x)\ny = a - b",
            "a = jnp.sin(x)\nb = jnp.cos(x)\ny = b - a",
            [("changed", "sub", "operand 1 is another value", "operand 2 is another value")],
        ),
        (
            "y = x @ w",
            "y = x.astype(jnp.bfloat16) @ w",
            [("added", "convert_element_type"), ("added", "convert_element_type")],
        ),
    ],
)
def test_what_changed(before, after, expected):
    old, new = staged(before, after)
    found = told(new.program.diff(old.program))
    if expected[0][0] == "added" and expected[0][1] == "convert_element_type":
        assert found[0] == expected[0] and found[-1][:2] == ("changed", "dot_general")
    else:
        assert found == expected


def test_bodies_are_compared_below_their_op():
    scan = "def f(c, _):\n    return {}, None\ny, _ = jax.lax.scan(f, x, length=5)"
    old, new = staged(scan.format("jnp.tanh(c)"), scan.format("jnp.tanh(c) * 2"))
    diff = new.program.diff(old.program)
    assert [(change.kind, change.depth) for change in diff.changes] == [("same", 0), ("same", 1), ("added", 1)]
    assert diff.amounts["flops"].new - diff.amounts["flops"].old == 5 * 64 * 64


def test_the_same_loop_run_longer_is_another_parameter_and_more_flops():
    scan = "y, _ = jax.lax.scan(lambda c, _: (jnp.tanh(c) + 1, None), x, length={})"
    old, new = staged(scan.format(5), scan.format(10))
    diff = new.program.diff(old.program)
    assert ("changed", "scan", "length: 5 → 10") in told(diff)
    assert diff.amounts["flops"].new > 1.9 * diff.amounts["flops"].old


def test_inputs_are_the_same_by_their_names():
    """An input that comes in at another position is no change of what uses it."""
    old, new = staged("y = x @ w", "z = jnp.ones(3)\ny = x @ w")
    assert [kind for kind, *_ in told(new.program.diff(old.program))] == ["added"]


LAYER = """
def layer(v):
    h = jax.nn.gelu(v @ w)
    return jnp.concatenate([h, h.reshape(-1, 10)], 0)
y, pull = jax.vjp(lambda w: layer(batch @ w[:, :64]).mean(), jnp.ones((64, 64)))
g = pull(jnp.ones(()))[0]"""


def resized(old, new, before=LAYER, after=LAYER):
    namespace = names()
    runs = []
    for cell, size in ((before, old), (after, new)):
        namespace["batch"] = jnp.ones((size, 64))
        runs.append(jaxnb.stage(cell, namespace))
    return runs[1].program.diff(runs[0].program)


@pytest.mark.parametrize(("old", "new"), [(16, 8), (6, 12), (7, 5)])
def test_another_batch_size_is_one_sentence(old, new):
    diff = resized(old, new)
    assert diff.sizes == {(old, new): ("batch",)}
    assert {change.kind for change in diff.changes} <= {"same", "resized"} and not diff.same
    assert str(diff).splitlines()[-1] == f"{old} → {new} (batch): in {diff.count('resized')} ops, nothing else"


def test_what_changed_besides_is_told_below():
    diff = resized(16, 8, after=LAYER.replace("gelu", "relu"))
    assert "16 → 8 (batch): in" in str(diff) and "nothing else" not in str(diff)
    changed = [entry for entry in told(diff) if entry[0] != "resized"]
    assert changed and all(entry[0] in ("added", "removed", "changed") for entry in changed)


@pytest.mark.parametrize(
    "after",
    [
        "y = batch.sum(1) * 3",
        "y = batch.sum(1) * 1",
        "y = batch.sum(0) * 2",
        "y = batch[:, :32].sum(1) * 2",
        "y = batch.astype(int).sum(1) * 2",
    ],
)
def test_a_change_of_its_own_is_no_change_of_size(after):
    diff = resized(16, 8, before="y = batch.sum(1) * 2", after=after)
    assert any(change.kind not in ("same", "resized") for change in diff.changes)


def test_every_level_can_be_compared():
    old, new = staged("y = jnp.sin(x)", "y = jnp.sin(x) @ w")
    for level in ("stablehlo", "hlo"):
        diff = new.program.diff(old.program, level)
        assert diff.level == level and not diff.same and diff.amounts["memory"].changed
    with pytest.raises(KeyError, match="there is no level 'ptx'"):
        new.program.diff(old.program, "ptx")


# --- laws ---


@st.composite
def straight(draw):
    ops = draw(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.integers(0, 2)), max_size=12))
    values = tuple(Value(f"v{n}", Aval("float32", (n,))) for n in range(3))
    made = tuple(Op(name, (operand,), (result,)) for name, operand, result in ops)
    return Program("", (Level("jaxpr", values, (Computation("main", (0, 1, 2), (), made),)),))


@settings(deadline=None)
@given(straight(), straight())
def test_every_op_is_told_once_and_in_order(old, new):
    diff = compare(old, new)
    for program, places in ((old, [c.old for c in diff.changes]), (new, [c.new for c in diff.changes])):
        ops = program.level("jaxpr").computations[0].ops
        assert [place for place in places if place is not None] == [(0, n) for n in range(len(ops))]
    back = compare(new, old)
    assert diff.amounts["equations"].old == back.amounts["equations"].new
    assert diff.count("added") - diff.count("removed") == len(list(new.level("jaxpr").ops())) - len(
        list(old.level("jaxpr").ops())
    )
    assert compare(old, old).same


def test_a_long_program_with_one_more_op():
    lines = "\n".join(f"x = jnp.sin(x) * {n}.5" for n in range(400))
    old, new = staged(lines, lines.replace("x = jnp.sin(x) * 200.5", "x = jnp.sin(x) * 200.5 - 1"))
    assert told(new.program.diff(old.program))[0] == ("added", "sub")
    assert new.program.diff(old.program).count("same") >= 798


# --- --diff ---


def test_a_run_says_what_changed_since_the_run_before():
    cells = ("first = jnp.sin(x)", "first = jnp.sin(x) * 2", "first = jnp.sin(x) * 2")
    first, second, third = staged(*cells, diff=True)
    assert first.diff is None
    assert told(second.diff) == [("added", "mul")]
    assert third.reused and third.diff.same


def test_the_run_before_need_not_have_asked():
    namespace = names()
    jaxnb.stage("y = jnp.sin(x)", namespace)
    run = jaxnb.stage("y = jnp.cos(x)", namespace, diff=True)
    assert told(run.diff) == [("removed", "sin"), ("added", "cos")]


def test_other_cells_are_not_compared():
    namespace = names()
    jaxnb.stage("one = jnp.sin(x)", namespace)
    assert jaxnb.stage("other = jnp.cos(x)", namespace, diff=True).diff is None


def test_a_retrace_is_compared_with_what_ran_before():
    namespace = names()
    jaxnb.stage("y = jnp.sin(x)", namespace)
    namespace["x"] = jnp.ones((8, 8), jnp.bfloat16)
    diff = jaxnb.stage("y = jnp.sin(x)", namespace, diff=True).diff
    assert told(diff) == [("changed", "sin", "float32[64,64] → bfloat16[8,8]")]
    assert diff.amounts["memory"].new < diff.amounts["memory"].old


# --- what is shown ---


def test_text():
    old, new = staged("a = jnp.sin(x)\ny = a.sum()", "a = jnp.sin(x)\ny = (a * 2).sum(0)")
    text = render_diff(new.program.diff(old.program), width=200)
    assert text.splitlines()[1:] == [
        "1 added, 1 changed, 1 the same",
        "2  + c = mul b 2.0  f32[64,64]",
        "2  ~ d = reduce_sum c  f32[64]",
        "       float32[] → float32[64]",
        "       axes: (0, 1) → (0,)",
    ]
    assert text.startswith("2 ops → 3 ops (+50 %) · ")
    short = render_diff(new.program.diff(old.program), limit=1, width=20)
    assert short.splitlines()[-1] == "   … 1 more" and all(len(line) <= 20 for line in short.splitlines())


def test_text_of_nothing():
    (run,) = staged("y = jnp.sin(x)")
    assert str(run.program.diff(run.program)) == "no figure changed\nthe same jaxpr, op by op"
    assert render_sums(run.program.diff(run.program)) == ""
