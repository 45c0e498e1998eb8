"""Comparing the programs of model steps: sizes are one sentence, and what else changed is told by the call tree."""

from __future__ import annotations

import functools
import linecache
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import optax
import pytest
from flax import nnx
from models import written
from models.steps import STEPS

import jaxnb
from jaxnb.program import Call, Computation, Diff, Level, Op, Program, Span, differences_by_call
from jaxnb.program.diff import compare

TEXT = Path(written.__file__).read_text()
EXP = TEXT.replace("jax.nn.gelu(", "jnp.exp(")
TANH = TEXT.replace("jax.nn.gelu(", "jnp.tanh(")


@functools.cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="jaxnb-diff-"))


@functools.cache
def program(text: str = TEXT, batch: int = 4, depth: int = 2) -> Program:
    """A step of the transformer, whose module has this text and always stands in the same file."""
    file = folder() / "written_here.py"
    file.write_text(text)
    linecache.checkcache()
    module = sys.modules["written_here"] = ModuleType("written_here")
    exec(compile(text, str(file), "exec"), module.__dict__)
    model = module.Transformer(depth, 16, 2, nnx.Rngs(0))
    tokens = jnp.ones((batch, 8), jnp.int32)
    opt = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
    names = {**vars(module), "model": model, "opt": opt, "x": tokens, "y": tokens}
    found = jaxnb.stage(STEPS["transformer"].cell, names).program
    found.level("jaxpr")  # read now, while the file has this text
    return found


@pytest.fixture(scope="module", autouse=True)
def clean() -> Iterator[None]:
    yield
    sys.modules.pop("written_here", None)
    program.cache_clear()


def rows(diff: Diff) -> list[str]:
    """The rows below the sums and counts."""
    lines = str(diff).splitlines()
    counts = next((n for n, line in enumerate(lines) if line.endswith("the same")), len(lines))
    return [line.split(maxsplit=1)[1] if line[0].isdigit() else line.strip() for line in lines[counts + 1 :]]


@pytest.mark.parametrize("name", ["transformer", "linen", "mixer", "scan and checkpoint"])
def test_another_batch_size_of_a_model_is_one_sentence(name: str) -> None:
    step, programs = STEPS[name], []
    for batch in (16, 8):
        names = step.names()
        for text in {"x", "y"} & names.keys():
            names[text] = jnp.ones((batch, *names[text].shape[1:]), names[text].dtype)
        programs.append(jaxnb.stage(step.cell, names).program)
    diff = compare(*programs)
    assert {change.kind for change in diff.changes} == {"same", "resized"}
    last = str(diff).splitlines()[-1]
    assert last.startswith("16 → 8 (x") and last.endswith(f"in {diff.count('resized')} ops, nothing else")


def test_a_changed_activation_is_one_row() -> None:
    found = rows(program(TEXT.replace("jax.nn.gelu(", "jax.nn.relu(")).diff(program()))
    assert len(found) == 2
    assert found[0].startswith("~ Block.__call__ blocks[0…1], line 26: jax.nn.gelu → jax.nn.relu (")
    assert found[1].endswith("ops take what changed above")


def test_a_changed_function_and_another_batch_size() -> None:
    diff = program(TANH, batch=6).diff(program(EXP))
    assert f"4 → 6 (x, y): in {diff.count('resized')} ops" in str(diff)
    assert len(rows(diff)) == 1
    assert rows(diff)[0].startswith("~ Block.__call__ blocks[0…1], line 26: exp → tanh")


def test_lines_above_that_moved_are_no_difference() -> None:
    moved = TANH.replace("class Block", "\n\n# a line more\nclass Block")
    diff = program(moved).diff(program(TANH))
    assert diff.same
    found = rows(program(moved).diff(program(EXP)))
    assert found[0].startswith("~ Block.__call__ blocks[0…1], line 29: exp → tanh")


def test_a_block_that_is_gone() -> None:
    found = rows(program(depth=1).diff(program()))
    assert found[0].startswith("- Transformer.__call__, line 38: Block.__call__ blocks[1] (")
    assert len(found) < 15
    back = rows(program().diff(program(depth=1)))
    assert back[0].startswith("+ Transformer.__call__, line 38: Block.__call__ blocks[1] (")


def made(*ops: Op) -> Program:
    return Program("", (Level("jaxpr", (), (Computation("main", ops=ops),)),))


def test_differences_by_call() -> None:
    blocks = [Call("Block", span=Span(3), path=f"blocks[{n}]") for n in range(2)]
    inner = [Call("", "line", Span(26), block) for block in blocks]
    old = made(*(Op("exp", span=Span(3), call=call) for call in inner), Op("neg", span=Span(4)))
    new = made(*(Op("tanh", span=Span(3), call=call) for call in inner))
    diff = compare(old, new)
    found = differences_by_call(diff, [change for change in diff.changes if change.kind != "same"])
    assert [(one.line, one.within, one.removed, one.added, one.old, one.new, one.alike) for one in found] == [
        (3, "Block blocks[0…1], line 26", ("exp",), ("tanh",), 2, 2, 2),
        (4, "", ("neg",), (), 1, 0, 1),
    ]


def test_what_follows_from_others_is_marked() -> None:
    names: dict[str, Any] = {"jnp": jnp, "x": jnp.ones(3)}
    before = jaxnb.stage("y = jnp.cos(jnp.sin(x))", dict(names)).program
    after = jaxnb.stage("y = jnp.cos(jnp.sin(x) + 1)", dict(names)).program
    kinds = {(change.kind, change.follows) for change in after.diff(before).changes}
    assert kinds == {("same", False), ("added", False), ("changed", True)}
    one = jaxnb.stage("a = jnp.sin(x)\nb = jnp.cos(x)\ny = a - b", dict(names)).program
    other = jaxnb.stage("a = jnp.sin(x)\nb = jnp.cos(x)\ny = b - a", dict(names)).program
    assert [change.follows for change in other.diff(one).changes if change.kind == "changed"] == [False]
