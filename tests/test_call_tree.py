"""The call tree: every op of a model's step has one place in it, and what the places cost adds up."""

from __future__ import annotations

import functools
import json
import re
import threading
import weakref
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import pytest
from jax._src import source_info_util
from models.steps import STEPS

import jaxnb
from jaxnb import _jax
from jaxnb.program import COUNTED, Call, Computation, Level, Node, Op, Program, Span, decode, encode, folded, read_tree
from jaxnb.runtime import is_own
from jaxnb.shell.show import below
from jaxnb.staging.trace.instances import InstanceLog

_NAMES_ONLY = ("get-tuple-element", "tuple", "parameter", "constant")

ROOT = Path(__file__).parents[1]


@functools.cache
def program(name: str) -> Program:
    step = STEPS[name]
    return jaxnb.stage(step.cell, step.names()).program


def named(tree: Node) -> Counter[str]:
    return Counter(f"{node.name} {node.path}".strip() for node in tree.walk() if node.name)


@pytest.mark.parametrize("name", STEPS)
def test_the_line_counts_the_equations_of_the_level(name: str) -> None:
    step = STEPS[name]
    run = jaxnb.stage(step.cell, step.names())
    assert run.equations == sum(1 for _ in run.program.level("jaxpr").ops())


@pytest.mark.parametrize("level", ["jaxpr", "stablehlo", "hlo"])
@pytest.mark.parametrize("name", STEPS)
def test_sums_are_those_of_the_level(name: str, level: str) -> None:
    known = program(name).level(level)
    tree = read_tree(known)
    ops = {(at, n): op for at, made in enumerate(known.computations) for n, op in enumerate(made.ops)}
    placed = [place for node in tree.walk() for place in node.ops]
    assert sorted(placed) == sorted(ops)
    for found in (tree, folded(tree)):
        assert found.count == len(ops)
        assert found.backward == sum(op.phase in ("transposed", "rematerialised") for op in ops.values())
        for column in COUNTED:
            numbers = [number for op in ops.values() if (number := getattr(op, column)) is not None]
            amount = found.total.get(column)
            assert (amount.number if amount is not None else None) == (sum(numbers) if numbers else None)
        for node in found.walk():
            assert node.count == len(node.ops) + sum(child.count for child in node.children)


@pytest.mark.parametrize("name", STEPS)
def test_every_equation_is_below_a_line_of_the_cell(name: str) -> None:
    for line in program(name).tree().children:
        assert line.span is not None
        assert not line.span.file


@pytest.mark.parametrize("name", STEPS)
def test_nearly_every_instruction_is_below_a_line_of_the_cell(name: str) -> None:
    level = program(name).level("hlo")
    computing = [op for entry in level.computations[: level.entries] for op in entry.ops if op.name not in _NAMES_ONLY]
    assert sum(op.span is not None for op in computing) >= 0.98 * len(computing)
    assert sum(op.call is not None for op in computing) > 0.5 * len(computing)


@pytest.mark.parametrize("name", STEPS)
def test_a_saved_program_has_the_same_tree(name: str) -> None:
    known = program(name)
    again = decode(json.loads(json.dumps(encode(known))))
    assert again == known
    assert again.tree() == known.tree()
    assert again.costs(depth=5, width=120) == known.costs(depth=5, width=120)


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        (
            "transformer",
            [
                "token_loss",
                "Transformer.__call__",
                "nnx.Embed.__call__ embed",
                "Block.__call__ blocks[0]",
                "Block.__call__ blocks[1]",
                "nnx.MultiHeadAttention.__call__ blocks[1].attn",
                "nnx.LinearGeneral.__call__ blocks[0].attn.query",
                "jax.nn.gelu",
                "optax.softmax_cross_entropy_with_integer_labels",
                "nnx.Optimizer.update",
                "optax.clip_by_global_norm.update",
                "optax.scale_by_adam.update",
            ],
        ),
        (
            "linen",
            [
                "LinenModel.__call__",
                "LinenBlock.__call__ LinenBlock_0",
                "LinenBlock.__call__ LinenBlock_1",
                "linen.Dense.__call__ head",
                "optax.scale_by_adam.update",
            ],
        ),
        (
            "mixer",
            [
                "Mixer.__call__",
                "equinox.nn.MLP.__call__ layers[2]",
                "equinox.nn.Linear.__call__ layers[0].layers[1]",
                "equinox.nn.LayerNorm.__call__ norm",
            ],
        ),
        ("haiku", ["haiku_forward", "haiku.nets.MLP.__call__ mlp", "haiku.Linear.__call__ mlp/~/linear_1"]),
        ("by hand", ["Attention.attend", "jax.nn.softmax"]),
        ("scan and checkpoint", ["step", "gpt_loss", "gpt", "scan", "layer"]),
    ],
)
def test_the_calls_have_the_names_that_people_know(name: str, calls: list[str]) -> None:
    assert set(calls) <= set(named(program(name).tree()))


def test_nothing_of_ours_stands_in_the_frames_of_an_equation() -> None:
    """Who reads them goes from JAX's frames to those of its caller, such as what tells operators from functions."""
    with InstanceLog().noting():
        closed = jax.jit(lambda x: x * x + 1).trace(1.0).jaxpr
    for eqn in closed.eqns:
        assert not any(is_own(code.co_filename) for code, _ in _jax.eqn_frames(eqn))


def again(x: Any, times: int) -> Any:
    return again(jax.numpy.sin(x), times - 1) if times else x


def test_a_recursion_is_as_deep_as_it_may_be() -> None:
    known = jaxnb.stage("y = again(x, 200)", {"again": again, "x": jax.numpy.ones(3)}).program
    tree = known.tree()
    assert tree.count == 200
    assert named(tree)["again"] == 50
    assert decode(json.loads(json.dumps(encode(known)))) == known


class Thing:
    pass


class Counts(dict[str, Any]):
    """Notices whoever looks at it."""

    looked = 0

    def items(self) -> Any:
        Counts.looked += 1
        return super().items()


class Layer:
    def __init__(self) -> None:
        self.alive, self.seen = True, {}
        self.counts = Counts(a=[1])
        self.inner: Any = None

    def __call__(self, x: Any) -> Any:
        thing = Thing()
        reference = weakref.ref(thing)
        x = x * 2
        del thing
        self.alive = reference() is not None
        return self.inner(x) if self.inner is not None else x

    def looks(self, x: Any) -> Any:
        names = locals()
        y = x + 1
        self.seen = dict(names)
        return y


def test_looking_at_methods_changes_nothing() -> None:
    """No variable lives longer for it, no code of an object is run, and who keeps `locals()` has them."""
    outer, x = Layer(), jax.numpy.ones(3)
    outer.inner = Layer()
    with InstanceLog().noting() as log:
        closed = jax.jit(outer).trace(x).jaxpr
        jax.jit(outer.looks).trace(x)
    assert not outer.alive
    assert not outer.inner.alive
    assert Counts.looked == 0
    assert set(outer.seen) == {"self", "x"}
    paths = [[ran.path for ran in log.of(_jax.eqn_traceback(eqn))] for eqn in closed.eqns]
    assert paths == [[""], ["", "inner"]]


def test_threads_note_what_is_theirs_and_nothing_stays() -> None:
    """Two traces that overlap end in the order in which they began; each knows its own, and JAX is as it was."""
    original = source_info_util.current
    logs, begun, ended = (InstanceLog(), InstanceLog()), threading.Event(), threading.Event()
    layer, x = Layer(), jax.numpy.ones(3)

    def beside() -> None:
        with logs[1].noting():
            begun.set()
            ended.wait(60)
            jaxprs.append(jax.jit(layer).trace(x).jaxpr)

    jaxprs: list[Any] = []
    thread = threading.Thread(target=beside)
    with logs[0].noting():
        thread.start()
        begun.wait(60)
        jaxprs.append(jax.jit(lambda x: layer(x)).trace(x).jaxpr)
    ended.set()
    thread.join()
    for log, closed in zip(logs, jaxprs, strict=True):
        assert [log.of(_jax.eqn_traceback(eqn))[-1].path for eqn in closed.eqns] == [""]
    assert logs[0].of(_jax.eqn_traceback(jaxprs[1].eqns[0])) == ()
    assert source_info_util.current is original


def test_a_loop_says_its_turns_and_runs_both_ways() -> None:
    loops = [node for node in program("scan and checkpoint").tree().walk() if node.kind == "loop"]
    assert [loop.turns for loop in loops] == [6]
    assert 0 < loops[0].backward < loops[0].count


def test_modules_beside_one_another_are_one_row() -> None:
    text = program("transformer").costs(depth=4, width=140)
    assert "x = block(x)  → Block.__call__ ×2  blocks[0…1]" in text
    assert "x = x + self.attn(self.ln1(x))" in text  # the text of the function


def test_without_a_limit_every_row_is_shown() -> None:
    known = program("transformer")
    assert " more" in known.costs(depth=9, width=140)
    whole = known.costs(depth=9, width=250, limit=None)
    assert " more" not in whole
    assert {name.partition(" ")[0] for name in named(known.tree())} <= set(whole.replace("…", " ").split())


def test_the_readme_shows_what_is_shown() -> None:
    """But for the number of ops and the share of the backward pass, which hang on the version of JAX."""

    def said(text: str) -> set[str]:
        return {re.sub(r"\d+ %(?= +\d+ %)", "", line[5:].rstrip()) for line in text.split("\n")}

    text = program("transformer").costs(depth=4, width=112, limit=12)
    assert said(text.partition("\n")[2]) <= said((ROOT / "README.md").read_text("utf-8"))


@pytest.mark.parametrize("name", ["transformer", "scan and checkpoint"])
def test_what_was_measured_is_opened_too(name: str) -> None:
    step = STEPS[name]
    run = jaxnb.stage(step.cell, step.names(), time=True)
    (text, *_) = below(run)
    assert "time" in text.split("\n")[1]
    assert "→ token_loss" in text or "→ step" in text
    tree = run.tree()
    total = sum(op.seconds for op in run.program.level("jaxpr").ops() if op.seconds is not None)
    assert tree.total["seconds"].number == pytest.approx(total)


TRAIN = """
def train(params, x, y):
    losses = []
    for i in range(3):
        value, grads = jax.value_and_grad(gpt_loss)(params, x, y)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        losses.append(float(value))
    return params, losses
"""


def test_a_function_that_was_taken_apart_is_called_once() -> None:
    namespace = STEPS["scan and checkpoint"].names()
    jaxnb.stage(TRAIN, namespace)
    tree = jaxnb.stage("params, losses = train(params, x, y)", namespace).tree()
    (line,) = tree.children
    (call,) = line.children
    assert (line.line, call.name) == (1, "train")
    assert [child.line for child in call.children] == [5, 6]
    assert named(tree)["train"] == 1
    assert "<module>" not in named(tree)


@pytest.mark.parametrize("width", [60, 80, 100, 140])
def test_what_a_line_calls_is_there_at_any_width(width: int) -> None:
    text = program("transformer").costs(depth=3, width=width)
    assert all(len(line) <= width for line in text.split("\n"))
    assert "→ token_loss" in text
    assert "→ Transf" in text


def test_memory_names_the_calls_that_hold_it() -> None:
    """Values by the hundred have no names that anybody knows: `ug`, `uj`, `un`."""
    (memory,) = program("transformer").memory()
    text = str(memory)
    assert "× jax.nn.gelu, line 26 of Block.__call__" in text
    assert "× optax.apply_updates" in text
    assert "blocks[0…1].up" in text
    assert sum(saved.within != "" for saved in memory.saved if not saved.argument) >= 60
    again = decode(json.loads(json.dumps(encode(program("transformer")))))
    assert again.made_memory == (memory,)


def test_one_that_differs_stays_by_itself() -> None:
    block = [Node("f", "function", path=f"blocks[{n}]", count=3 + (n == 1)) for n in range(3)]
    line = folded(Node("", "line", children=tuple(block)))
    assert [(node.path, node.alike) for node in line.children] == [("blocks[0…2]", 2), ("blocks[1]", 1)]


def test_lines_of_the_cell_alone_need_no_tree() -> None:
    known = jaxnb.stage("y = x * 2\nz = y.sum()", {"x": STEPS["mixer"].names()["x"]}).program
    assert all(op.call is None for op in known.level("jaxpr").ops())
    assert known.costs(depth=3) == known.costs()
    assert "calls" not in encode(known)


def test_a_function_is_the_top_of_its_own_tree() -> None:
    names = STEPS["scan and checkpoint"].names()
    known = jaxnb.inspect(names["gpt_loss"])(names["params"], names["x"], names["y"])
    assert named(known.tree())["gpt"] == 1
    assert "gpt_loss" not in named(known.tree())
    assert all(line.span is not None and not line.span.file for line in known.tree().children)


def test_places_of_calls_move_with_the_cell() -> None:
    """A program serves a cell with the same code on other lines."""
    step = STEPS["transformer"]
    namespace = step.names()
    jaxnb.stage(step.cell, namespace)
    moved = jaxnb.stage(f"# further down\n\n{step.cell}", namespace).program
    assert [line.line for line in moved.tree().children] == [3, 4]


def test_a_run_tells_its_tree_and_costs() -> None:
    step = STEPS["haiku"]
    run = jaxnb.stage(step.cell, step.names())
    assert run.tree() == run.program.tree()
    assert run.costs(depth=2) == run.program.costs(depth=2)
    assert run.tree("hlo").count == sum(1 for _ in run.program.level("hlo").ops())


def test_what_a_damaged_call_is_told() -> None:
    op = Op("mul", span=Span(1), call=Call("f", "no kind", Span(9)))
    damaged: Any = Program("x * 2", (Level("jaxpr", (), (Computation("main", ops=(op,)),)),))
    with pytest.raises(jaxnb.JaxnbError, match="no kind"):
        decode(encode(damaged))
