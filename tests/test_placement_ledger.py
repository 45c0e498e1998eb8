"""The ledger of collectives against counts by hand, and against a plain reading of what was compiled."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.sharding import NamedSharding, PartitionSpec as P
from sample_shardings import mesh_of
from shells import Shell, shell

from jaxnb.api import inspect, stage, xmap_cell
from jaxnb.errors import BadHeader
from jaxnb.program import Aval, Computation, Level, Op, Program, Value
from jaxnb.program.placement.data import Axis, Mesh
from jaxnb.program.placement.groups import axes_of_groups, axes_of_pairs, laid_out, parse_groups
from jaxnb.program.placement.ledger import Ledger, read_ledger
from jaxnb.reading.hlo.groups import GROUP_FIELDS
from jaxnb.reading.placement.read import read_mesh
from jaxnb.shell.placements import collectives_command
from jaxnb.views.collectives import render_ledger
from jaxnb.views.compact import short_seconds

__all__ = ["shell"]

FLAT = mesh_of(x=4, y=2)


def on(spec: Any, shape: tuple[int, ...]) -> jax.Array:
    return jax.device_put(np.ones(shape, np.float32), NamedSharding(FLAT, spec))


def mapped(body: str, out: str) -> str:
    return f"y = jax.shard_map(lambda v: {body}, mesh=mesh, in_specs=P('x', 'y'), out_specs={out}, check_vma=False)(a)"


# On each device `a` is float32[4,4], 64 bytes. (kind, axes, bytes a device sends in a run, times, backward, written)
PROGRAMS: dict[str, tuple[str, list[tuple[str, tuple[str, ...], int, int, bool, bool]]]] = {
    "sum over one axis": (  # two rings of 4: 2 * 64 * 3 / 4
        mapped("jax.lax.psum(v, 'x')", "P(None, 'y')"),
        [("all-reduce", ("x",), 96, 1, False, True)],
    ),
    "sum over both axes": (  # one ring of 8: 2 * 64 * 7 / 8
        mapped("jax.lax.psum(v, ('x', 'y'))", "P()"),
        [("all-reduce", ("x", "y"), 112, 1, False, True)],
    ),
    "gather": (  # the 64 bytes of each go to 3 others, one after the other
        mapped("jax.lax.all_gather(v, 'x')", "P(None, None, 'y')"),
        [("all-gather", ("x",), 192, 1, False, True)],
    ),
    "sum and scatter": (  # 64 * 3 / 4
        mapped("jax.lax.psum_scatter(v, 'x', scatter_dimension=0, tiled=True)", "P('x', 'y')"),
        [("reduce-scatter", ("x",), 48, 1, False, True)],
    ),
    "all to all": (  # half of 64 stays
        mapped("jax.lax.all_to_all(v, 'y', 0, 0, tiled=True)", "P('x', 'y')"),
        [("all-to-all", ("y",), 32, 1, False, True)],
    ),
    "to the neighbour": (
        mapped("jax.lax.ppermute(v, 'x', [(i, (i + 1) % 4) for i in range(4)])", "P('x', 'y')"),
        [("collective-permute", ("x",), 64, 1, False, True)],
    ),
    "in a loop": (
        mapped("jax.lax.fori_loop(0, 5, lambda i, c: jax.lax.psum(c, 'y') / 2, v)", "P('x', 'y')"),
        [("all-reduce", ("y",), 64, 5, False, True)],
    ),
    "a contraction over what is split": (  # [4,4] @ [4,4] on each, then 64 bytes over y: 2 * 64 / 2
        "y = a @ w",
        [("all-reduce", ("y",), 64, 1, False, False)],
    ),
    "copies that were asked for": (  # rows is [4,8] on each, 128 bytes, to 3 others
        "y = jax.lax.with_sharding_constraint(rows * 1, jax.NamedSharding(mesh, P()))",
        [("all-gather", ("x",), 384, 1, False, False)],
    ),
    "gradients of data parallel training": (  # v is [8,4], 128 bytes: 2 * 128 * 3 / 4
        "y = jax.grad(lambda v: jnp.sum(jnp.tanh(rows @ v)))(v)",
        [("all-reduce", ("x",), 192, 1, True, False)],
    ),
    "nothing to send": ("y = jnp.tanh(a) * 2", []),
}


def names() -> dict[str, Any]:
    arrays = {"a": on(P("x", "y"), (16, 8)), "w": on(P("y", None), (8, 4)), "rows": on(P("x", None), (16, 8))}
    return {"jax": jax, "jnp": jnp, "P": P, "mesh": FLAT, "v": on(P(), (8, 4)), **arrays}


def ledger_of(cell: str) -> tuple[Ledger, Program]:
    program = stage(cell, names()).program
    return read_ledger(program, read_mesh(FLAT)), program


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_by_hand(name: str) -> None:
    cell, expected = PROGRAMS[name]
    ledger, _ = ledger_of(cell)
    found = [(i.kind, i.axes, i.sent, i.times, i.backward, i.written) for i in ledger.items]
    assert found == expected
    assert ledger.total == sum(sent * times for _, _, sent, times, _, _ in expected) and ledger.complete
    assert all(item.line == 1 for item in ledger.items)


SIZES = {"f32": 4, "bf16": 2, "s32": 4, "pred": 1}
CALL = re.compile(
    r"= (?P<out>.*?) (?P<kind>all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?"
    r"\((?P<given>.*?)\), .*?(?:replica_groups=(?P<groups>mesh\[[^]]*\] \{[^}]*\}|[^ ]*\}|\[\S*)|source_target_pairs)"
)


def plain_reading(text: str) -> Counter[tuple[str, int]]:
    """The collectives in the text of a module with the bytes that go in, read line by line."""
    shapes = dict(re.findall(r"%(\S+) = (\w+\[[\d,]*\])", text))
    shapes |= dict(re.findall(r"%?(\S+): (\w+\[[\d,]*\])", text))
    found: Counter[tuple[str, int]] = Counter()
    for match in CALL.finditer(text):
        given = [shapes[name] for name in re.findall(r"%([^\s,()]+)", match["given"])]
        sizes = [
            (kind, [int(size) for size in re.findall(r"\d+", dims)])
            for kind, _, dims in (s.partition("[") for s in given)
        ]
        found[match["kind"], sum(SIZES[kind] * int(np.prod(dims, dtype=int)) for kind, dims in sizes)] += 1
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_compiled_has_the_same_collectives(name: str) -> None:
    cell, _ = PROGRAMS[name]
    given = names()
    arrays = {key: value for key, value in given.items() if isinstance(value, jax.Array)}

    def run(inputs: dict[str, Any]) -> Any:
        space = {**given, **inputs}
        exec(cell, space)
        return space["y"]

    text = jax.jit(run).lower(arrays).compile().as_text() or ""
    kinds = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"
    plain = plain_reading(text)
    assert sum(plain.values()) == len(re.findall(rf"= .* (?:{kinds})(?:-start)?\(", text))
    assert Counter((item.kind, item.payload) for item in ledger_of(cell)[0].items) == plain


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_line_of_a_run_counts_them(name: str) -> None:
    cell, expected = PROGRAMS[name]
    run = stage(cell, names())
    sent = sum(sent * times for _, _, sent, times, _, _ in expected)
    assert (run.exchanges, run.sent) == (len(expected), sent)
    said = f" · {len(expected)} collective{'s' * (len(expected) > 1)}: {sent} B sent · "
    assert (said in run.line) == bool(expected) and ("collective" in run.line) == bool(expected)


def test_a_run_shows_its_ledger() -> None:
    run = stage(PROGRAMS["sum over one axis"][0], names())
    ledger = run.collectives()
    assert ledger.mesh is not None and str(ledger.mesh) == "x=4, y=2"
    assert ledger == run.program.collectives() and [item.axes for item in ledger.items] == [("x",)]
    assert repr(ledger) == str(ledger) and ledger.html == ledger._repr_mimebundle_()["text/html"]
    assert "1 written by you" in str(ledger) and "by XLA" not in str(ledger)
    assert "sum over" not in ledger.html and "psum" in ledger.html and "96 B" in ledger.html


def test_how_long_it_would_take_stands_beside_it() -> None:
    run = stage(PROGRAMS["a contraction over what is split"][0], names())
    ledger = run.collectives(on="h100")
    estimate = ledger.estimate
    assert estimate is not None and ledger == run.collectives() and run.collectives().estimate is None
    (sending,) = estimate.sendings
    assert sending.seconds is not None and sending.seconds > 0
    text = str(ledger)
    assert "on h100, at its peaks: " in text and "bound by sending" in text and "  time" in text
    assert short_seconds(sending.seconds) in text.splitlines()[-1] and "bound by sending" in ledger.html


@pytest.mark.parametrize("text", ["h100", "--on", "--on h100 now", "--off"])
def test_words_behind_collectives_that_mean_nothing(text: str) -> None:
    with pytest.raises(BadHeader, match="behind it stands hardware") as caught:
        collectives_command(text, None)
    error = caught.value
    assert error.header[error.column : error.column + error.width] == text


def test_collectives_of_no_run(shell: Shell) -> None:
    assert "no cell has been staged yet" in shell.run("%jaxnb collectives", ok=False)
    shell.run("%%jit\ny = x * 2")
    assert "no collectives: no device sends anything" in shell.run("%jaxnb collectives")
    assert "no collectives" in shell.run("%jaxnb collectives --on h100")
    assert "UsageError" in shell.run("%jaxnb collectives --on nothing_like_it", ok=False)


def test_a_function_that_only_was_traced_is_compiled_for_it() -> None:
    given = names()
    program = inspect(lambda a, w: a @ w)(given["a"], given["w"])
    (item,) = program.collectives().items
    assert (item.kind, item.axes, item.sent, item.why) == ("all-reduce", ("y",), 64, "contraction over a sharded axis")


def test_axes_are_those_of_the_mesh_that_has_them() -> None:
    cell = PROGRAMS["sum over one axis"][0]
    program = stage(cell, names()).program
    line, flat = read_mesh(mesh_of(d=8)), read_mesh(FLAT)
    assert [item.axes for item in read_ledger(program, [line, flat]).items] == [("x",)]
    assert [item.axes for item in read_ledger(program, line).items] == [None]


def test_on_one_device_nothing_is_sent() -> None:
    run = stage("y = x @ x", {"x": jnp.ones((4, 4))})
    assert run.exchanges == 0 and "collective" not in run.line
    assert str(run.collectives()) == "no collectives: no device sends anything to another"
    assert run.collectives().html.count("<table") == 0


def test_collectives_that_read_alike_are_one_row() -> None:
    cell = "f = jax.shard_map(lambda v: jax.lax.psum(jnp.sin(v), 'x') * v, mesh=mesh, in_specs=P('x', 'y'), "
    cell += "out_specs=P('x', 'y'), check_vma=False)\ny = f(f(f(a)))\n"
    run = stage(cell, names())
    ledger = run.collectives(on="h100")
    assert len(ledger.items) == 3 and ledger.total == 3 * 96
    text = str(ledger)
    (row,) = [line for line in text.splitlines() if "all-reduce" in line]
    assert "3 × all-reduce" in row and "96 B" in row and "288 B" in row and "3 × all-reduce" in ledger.html
    assert "3 collectives · a device sends 288 B" in text


def test_names_of_axes_are_text() -> None:
    mesh = Mesh((Axis("<b>", 4),))
    op = Op("all-reduce", (0,), (), (("replica_groups", "{{0,1,2,3}}"),))
    ledger = read_ledger(program_of(op, Aval("float32", (4,), itemsize=4)), mesh)
    assert ledger.items[0].axes == ("<b>",) and "<b>&" not in ledger.html and "&lt;b&gt;" in ledger.html


def test_the_mapped_cell_says_what_it_sends() -> None:
    given = {"jax": jax, "x": np.ones((8, 4), np.float32), "w": np.ones((4, 6), np.float32), "m": FLAT}
    cell = "y = jnp.dot(x, w, 'i')\ns = jnp.sum(y, axis='b')"
    given["jnp"] = jnp
    run = xmap_cell(cell, given, "x[b, i], w[i, o] -> s[o]", resources={"b": "x"}, mesh=given["m"])
    (item,) = run.collectives().items
    assert run.exchanges == 1 and (item.axes, item.sent, item.written) == (("x",), 36, True)  # 2 * 24 * 3 / 4


def test_forward_and_backward_of_a_scan() -> None:
    cell = (
        "def loss(w):\n    def step(c, _):\n        return jnp.tanh(c @ w), None\n"
        "    return jax.lax.scan(step, rows, None, length=5)[0].sum()\n"
        "l, g = jax.value_and_grad(loss)(jax.lax.with_sharding_constraint(jnp.ones((8, 8)), "
        "jax.NamedSharding(mesh, P(None, 'y'))))"
    )
    ledger, program = ledger_of(cell)
    inner = [item for item in ledger.items if item.times == 5]
    assert {item.backward for item in inner} == {True, False} and not any(item.written for item in ledger.items)
    text = render_ledger(ledger, source=program.source)
    assert "×5" in text and "backward" in text and "over x" in text and "return jnp.tanh(c @ w)" in text
    assert sum(ledger.by_axes().values()) == ledger.total


def test_merged_sums_are_those_of_the_user_too() -> None:
    cell = "s = a.sum(0)\n" + mapped("jax.lax.psum(v, 'x')", "P(None, 'y')")
    ledger, _ = ledger_of(cell)
    assert sum(item.values for item in ledger.items) == 2 and ledger.total == 96 + 24
    assert any(item.written and item.why == "psum" for item in ledger.items)


def test_sums_that_xla_sends_together_have_all_their_lines() -> None:
    cell = (
        "def loss(v):\n    h = jnp.tanh(rows @ v)\n    return jnp.mean((h @ v.T) ** 2)\n"
        "l, g = jax.value_and_grad(loss)(v)"
    )
    ledger, program = ledger_of(cell)
    (item,) = [item for item in ledger.items if item.values > 1]
    assert item.lines == (2, 3) and item.backward and set(item.eqns) == {"reduce_sum", "dot_general"}
    assert all(exact for exact in program.linked("hlo", item.op, "jaxpr").values())
    assert "2, 3" in str(ledger)


def test_without_a_mesh_the_sizes_of_groups_are_known() -> None:
    cell, _ = PROGRAMS["sum over one axis"]
    (item,) = read_ledger(stage(cell, names()).program).items
    assert item.axes is None and item.group == 4 and item.sent == 96
    assert "4 devices" in render_ledger(Ledger((item,)))


def program_of(op: Op, *avals: Aval | None) -> Program:
    values = tuple(Value(f"v{index}", aval) for index, aval in enumerate(avals))
    return Program("y = f(x)", (Level("hlo", values, (Computation("main", (), (), (op,)),)),))


def test_starts_are_counted_and_dones_are_not() -> None:
    small = Aval("float32", (4,), itemsize=4)
    groups = (("replica_groups", "{{0,1},{2,3}}"),)
    start, done = Op("all-gather-start", (0,), (1,), groups), Op("all-gather-done", (1,), (2,))
    values = tuple(Value(f"v{index}", small) for index in range(3))
    program = Program("", (Level("hlo", values, (Computation("main", (), (), (start, done)),)),))
    ledger = read_ledger(program, Mesh((Axis("x", 2), Axis("y", 2))))
    assert [(item.kind, item.sent, item.axes) for item in ledger.items] == [("all-gather", 16, ("y",))]


def test_what_is_not_known_is_said() -> None:
    small, groups = Aval("float32", (4,), itemsize=4), (("replica_groups", "{{0,1}}"),)
    endless = read_ledger(program_of(Op("all-reduce", (0,), (), groups, times=None), small))
    assert endless.total == 16 and not endless.complete and "at least 16 B" in render_ledger(endless)
    unknown = read_ledger(program_of(Op("all-reduce", (0,), (), groups), None))
    assert unknown.items[0].sent is None and not unknown.complete and "?" in render_ledger(unknown)
    everywhere = program_of(Op("all-reduce", (0,), ()), small)
    assert read_ledger(everywhere).items[0].group is None
    assert read_ledger(everywhere, Mesh((Axis("x", 4),))).items[0].axes == ("x",)
    own = program_of(Op("collective-permute", (0,), (), (("source_target_pairs", "{{0,0},{1,1}}"),)), small)
    assert read_ledger(own, Mesh((Axis("x", 2),))).items[0].sent == 0


# --- groups --------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_groups_along_axes_are_found_again(sizes: list[int], data: st.DataObject) -> None:
    mesh = Mesh(tuple(Axis(f"a{number}", size) for number, size in enumerate(sizes)))
    large = [number for number, size in enumerate(sizes) if size > 1]
    chosen = [number for number in large if data.draw(st.booleans())]
    others = [number for number in range(len(sizes)) if number not in chosen]
    members = int(np.prod([sizes[number] for number in chosen], dtype=int))
    text = f"[{mesh.size // members},{members}]<=[{','.join(map(str, sizes))}]T({','.join(map(str, others + chosen))})"
    groups = parse_groups(text)
    expected = np.arange(mesh.size).reshape(sizes).transpose(others + chosen).reshape(-1, members)
    assert [list(group) for group in groups] == expected.tolist()
    assert axes_of_groups(groups, mesh) == tuple(f"a{number}" for number in chosen)


def test_groups_that_are_no_axes() -> None:
    mesh = Mesh((Axis("x", 4), Axis("y", 2)))
    assert axes_of_groups([(0, 3), (1, 2), (4, 7), (5, 6)], mesh) is None
    assert axes_of_groups([(0, 1)], mesh) is None
    assert axes_of_pairs([(0, 2), (1, 3)], mesh) == ("x",) and axes_of_pairs([(0, 3)], mesh) == ("x", "y")
    assert axes_of_pairs([(0, 9)], mesh) is None


@pytest.mark.parametrize("text", ["[2,4]<=[4]", "{{a}}", "nonsense", "[2,2]<=[4"])
def test_texts_that_are_no_groups(text: str) -> None:
    with pytest.raises(ValueError, match="devices"):
        parse_groups(text)


# Messages as XLA 0.10 and 0.12 serialised them, with what its printed text says of them; the last two are made up.
MESSAGES = {
    "list": (87, "0a040a0200010a040a0202030a040a0204050a040a020607", "{{0,1},{2,3},{4,5},{6,7}}"),
    "layout": (92, "080410021a010822 0100", "{{0,1},{2,3},{4,5},{6,7}}"),
    "axes": (93, "0a180a0a0a06617869735f3010040a0a0a06617869735f3110021200", "{{0,2,4,6},{1,3,5,7}}"),
    "axes of a turned mesh": (
        93,
        "0a220a0a0a06617869735f3010020a0a0a06617869735f3110041a080a020402120201001200",
        "{{0,1},{2,3},{4,5},{6,7}}",
    ),
    "a part of an axis": (93, "0a070a050a0178100812061204080210 02", "{{0,2},{1,3},{4,6},{5,7}}"),
    "many devices": (92, "08101010 1a021010 22020100", "[16,16]<=[16,16]T(1,0)"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_every_form_in_which_xla_writes_groups(name: str) -> None:
    number, message, text = MESSAGES[name]
    assert GROUP_FIELDS[number](memoryview(bytes.fromhex(message))) == text
    parse_groups(text)


def test_numbers_laid_out() -> None:
    assert laid_out([2, 3]) == list(range(6)) and laid_out([2, 3], [1, 0]) == [0, 3, 1, 4, 2, 5]
