"""What is odd about how values are spread over devices is found on its line; fixes are compiled before shown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, strategies as st

from findings.quiet_runs import names, traced_pieces
from findings.spreading import CELLS, CLEAN, MORE, SETUP, Odd
from jaxnb.api import stage
from jaxnb.findings.lints.lint import lints
from jaxnb.findings.sharding import trials
from jaxnb.findings.sharding.lints import sharding_findings
from jaxnb.findings.sharding.trials import tried_findings
from jaxnb.findings.values.fixes import apply_edit
from jaxnb.program import Finding
from jaxnb.reading.jaxpr.partition import read_partition
from jaxnb.reading.placement.read import read_mesh, read_placement


def found(cell: str, setup: str = "") -> list[Finding]:
    return [one for traced in traced_pieces(cell, f"{SETUP}\n{setup}") for one in sharding_findings(traced)]


@pytest.mark.parametrize("name", CELLS)
def test_what_is_odd_is_named(name: str) -> None:
    case: Odd = CELLS[name]
    finding = found(case.cell, case.setup)[0]
    assert (finding.kind, finding.line, finding.holder) == ("sharding", case.line, case.holder), finding
    for text in case.said:
        assert text in finding.message
    assert finding.fix is not None and finding.fix.text and not finding.fix.verified


@pytest.mark.parametrize("name", CELLS)
def test_the_clean_twin_has_none(name: str) -> None:
    case: Odd = CELLS[name]
    assert found(case.clean, case.setup) == []


@pytest.mark.parametrize("name", CLEAN)
def test_good_plans_have_none(name: str) -> None:
    assert found(CLEAN[name], MORE) == []


@pytest.mark.parametrize("name", [name for name, case in CELLS.items() if case.fix])
def test_a_fix_was_tried(name: str) -> None:
    case: Odd = CELLS[name]
    (traced,) = traced_pieces(case.cell, f"{SETUP}\n{case.setup}")
    finding = tried_findings(traced, 60.0)[0]
    fix = finding.fix
    assert fix is not None and fix.verified and case.fix in fix.text
    better, setup = case.cell, case.setup
    if fix.edit is not None:
        better = apply_edit(case.cell, fix.edit)
    else:  # a line for a cell above
        put = re.search(r"in a cell above: (.*\)):", fix.text)
        assert put is not None
        setup = f"{setup}\n{put[1]}"
    assert sum(map(_sent, traced_pieces(better, f"{SETUP}\n{setup}"))) <= _sent(traced)
    said = finding.message.partition(" XLA warns of it")[0]
    assert said not in [one.message for one in found(better, setup)]


def _sent(traced: Any) -> int:
    from jaxnb.reading.flow.figures import read_figures

    return read_figures(traced.piece.jaxpr, traced.piece.compiled).sent or 0


def test_every_flag_has_a_fix_that_was_tried_but_one() -> None:
    """What a function of Python is given cannot be made less by anybody but the user."""
    assert [name for name, case in CELLS.items() if not case.fix] == ["a function of Python"]


def test_a_print_of_pieces_is_tried() -> None:
    cell = "@jax.jit\ndef f(v):\n    jax.debug.print('{}', v)\n    return v * 2\ny = f(both)"
    (traced,) = traced_pieces(cell, SETUP)
    (finding,) = tried_findings(traced)
    assert finding.fix is not None and finding.fix.edit is not None and finding.fix.verified
    assert finding.fix.edit[2].strip() == "jax.debug.print('{}', v, partitioned=True)"


def test_two_axes_that_do_nothing_are_two_findings() -> None:
    setup = "cube = Mesh(devices.reshape(2, 2, 2), ('x', 'y', 'z'))\nr = put((512, 1024), 'x', mesh=cube)"
    axes = [one.message for one in found("y = jnp.tanh(r * 2)", setup)]
    assert [text for text in axes if "axis y" in text] and [text for text in axes if "axis z" in text]


def test_what_may_have_effects_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[Any] = []
    monkeypatch.setattr(trials, "_measure", compiled.append)
    (traced,) = traced_pieces("kept.append(1)\ny = jnp.cumsum(both, 0)", f"{SETUP}\nkept = []", whole=True)
    (finding,) = tried_findings(traced)
    assert finding.fix is not None and not finding.fix.verified and compiled == []


def test_no_trial_is_begun_when_time_is_over() -> None:
    (traced,) = traced_pieces(CELLS["an input that a function needs whole"].cell, SETUP)
    (finding,) = tried_findings(traced, 0.0)
    assert finding.fix is not None and not finding.fix.verified


def test_without_a_name_for_the_mesh_nothing_is_written() -> None:
    (traced,) = traced_pieces("y = jnp.cumsum(both, 0)", SETUP)
    nameless = {name: value for name, value in traced.namespace.items() if name != "mesh"}
    (finding,) = tried_findings(replace(traced, namespace=nameless))
    assert finding.fix is not None and not finding.fix.verified


def test_they_are_looked_for_after_each_run() -> None:
    assert lints()["sharding"].in_piece is sharding_findings
    run = stage("y = jnp.cumsum(both, 0)", names(SETUP))
    assert [(finding.kind, finding.folded) for finding in run.findings] == [("sharding", True)]
    assert " · ! 1 finding: " in run.line and run.line.endswith(", line 1")


def test_a_run_says_what_was_asked_and_got() -> None:
    space = names(SETUP)
    run = stage("h = jnp.cumsum(both, 0)\ny = wsc(h, NamedSharding(mesh, P('y', 'x')))\nz = rows.sum(1)", space)
    shardings = run.shardings()
    told = {(row.role, row.name): row for row in shardings.rows}
    assert (told["input", "both"].asked, told["input", "both"].got) == ("P('x', 'y')", "P('x', 'y')")
    assert told["input", "rows"].copies == 2 and told["input", "rows"].most == 524_288
    result = told["result", "y"]
    assert result.asked == "P('y', 'x')" and result.got == result.asked and not result.differs
    assert told["result", "z"].asked == "" and told["result", "z"].got == "P('x')" and not told["result", "z"].differs
    text = " ".join(str(shardings).split())
    assert "2 result y float32[512,1024] P('y', 'x') P('y', 'x')" in text
    assert shardings.html == shardings._repr_mimebundle_()["text/html"] and "512" in shardings.html


def test_explicit_axes_stand_in_the_type() -> None:
    space = names(f"{SETUP}\ne = put((512, 1024), 'x', mesh=typed)")
    rows = {row.name: row for row in stage("y = jnp.sin(e)", space).shardings().rows}
    assert (rows["e"].asked, rows["e"].typed, rows["e"].got) == ("P('x')", "P('x', None)", "P('x')")
    assert rows["y"].typed == "P('x', None)" and not rows["y"].differs


def test_values_in_between_are_read_from_the_instructions() -> None:
    space = names(SETUP)
    run = stage("h = jnp.tanh(both @ columns.T)\nz = wsc(h, NamedSharding(mesh, P('x')))\ns = z.sum(0)", space)
    rows = [row for row in run.shardings().rows if row.role == "constraint"]
    assert [(row.line, row.asked, row.got) for row in rows] == [(2, "P('x')", "P('x')")]


@pytest.mark.parametrize(
    ("cell", "got", "most"),
    [
        ("h = wsc(both[:508] * 2, NamedSharding(mesh, P('x', 'y')))", "P('x', 'y')", 127 * 512),
        ("h = wsc(rows[:4] * 2, NamedSharding(mesh, P('x')))", "P('x')", 1024),
        ("h = wsc(batch[:, :511] * 2, NamedSharding(line, P('d', None)))", "P('d', None)", 64 * 511),
    ],
)
def test_pieces_in_between(cell: str, got: str, most: int) -> None:
    run = stage(f"{cell}\ns = jnp.sin(h).sum()", names(SETUP))
    (row,) = [row for row in run.shardings().rows if row.role == "constraint"]
    assert (row.got, row.most) == (got, 4 * most) and row.notes == () and not row.differs


def test_pieces_that_do_not_divide_are_no_pieces() -> None:
    """A compiled program would pad them; the plain cell raises, and so does the staged one."""
    with pytest.raises(ValueError, match="510"):
        stage("h = wsc(both[:510] * 2, NamedSharding(mesh, P('x', 'y')))\ns = jnp.sin(h).sum()", names(SETUP))


@given(data=st.data())
def test_a_piece_tells_how_an_array_was_cut(data: st.DataObject) -> None:
    """For any spec: of what the piece shows, the spec is one possibility, and a spec that is named cuts such pieces."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    axes = {f"a{n}": size for n, size in enumerate(sizes)}
    abstract = jax.sharding.AbstractMesh(tuple(axes.values()), tuple(axes))
    shape = tuple(data.draw(st.lists(st.integers(1, 20), min_size=1, max_size=3)))
    left = data.draw(st.permutations(list(axes)))
    entries: list[Any] = []
    for _ in shape:
        count = data.draw(st.integers(0, len(left)))
        entries.append(tuple(sorted(left[:count])) or None)
        left = left[count:]
    spec = jax.sharding.PartitionSpec(*entries)
    lies = read_placement(jax.sharding.NamedSharding(abstract, spec), shape, "float32")
    piece = lies.boxes[0]
    found = read_partition(shape, tuple(stop - start for start, stop in piece), read_mesh(abstract))
    assert found is not None
    if found.text.startswith("P("):
        told = eval(found.text, {"P": jax.sharding.PartitionSpec})
        again = read_placement(jax.sharding.NamedSharding(abstract, told), shape, "float32")
        assert again.boxes == lies.boxes and found.parts == np.prod([axes[a] for e in entries for a in e or ()])
        assert bool(found.uneven) == lies.uneven


def test_on_one_device_there_is_nothing_to_say() -> None:
    shardings = stage("y = here * 2", names(SETUP)).shardings()
    assert shardings.rows == () and str(shardings) == "nothing is spread: the program runs on one device"
    assert "<table" not in shardings.html


@pytest.mark.parametrize(
    ("setup", "cell", "got"),
    [
        ("z = put((0, 8), 'x')", "y = z * 2", {"z": "P('x')", "y": "P()"}),
        ("z = put((8, 16), 'x', 'y', mesh=Mesh(devices.reshape(1, 8), ('x', 'y')))", "y = z * 2", {"y": "P('x', 'y')"}),
        (
            "z = jax.device_put(jax.random.split(jax.random.key(0), 8), NamedSharding(mesh, P('x')))",
            "y = jax.vmap(jax.random.normal)(z)",
            {"z": "P('x')"},
        ),
        (
            "z = jax.device_put(np.ones((16, 16)), NamedSharding(mesh, P('x'), memory_kind='pinned_host'))",
            "y = jax.device_put(z, NamedSharding(mesh, P('x'))) * 2",
            {"z": "P('x')", "y": "P('x')"},
        ),
        ("z = put((), )", "y = z * rows.sum()", {"y": "P()"}),
    ],
    ids=["no elements", "an axis of size one", "random keys", "memory of the host", "a scalar"],
)
def test_odd_arrays(setup: str, cell: str, got: dict[str, str]) -> None:
    run = stage(cell, names(f"{SETUP}\n{setup}"))
    told = {row.name: row for row in run.shardings().rows}
    assert {name: told[name].got for name in got} == got and not any(row.differs for row in told.values())
    assert str(run.collectives()) and run.shardings().html
