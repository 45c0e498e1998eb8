"""What `jax.checkpoint` would save: the estimate against the program with it, and against curves counted by hand."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import pytest
from flax import nnx
from hypothesis import given, strategies as st

import jaxnb
from jaxnb.program import (
    Call,
    Checkpoints,
    Computation,
    Held,
    Level,
    Memory,
    Op,
    Program,
    Span,
    Value,
    decode,
    encode,
    unnumbered,
)
from jaxnb.views import encode_curves, encode_drawn
from jaxnb.views.compact import short_bytes
from jaxnb.views.memory_text import render_memory

CELL = """def layer(x, w):
    h = jnp.tanh(x @ w)
    h = jnp.sin(h) * jnp.cos(h)
    return jnp.exp(-h) + x

def loss(ws, x):
    for w in ws:
        x = {}(x, w)
    return jnp.mean(x ** 2)

value, grads = jax.value_and_grad(loss)(ws, x)"""


def names() -> dict[str, Any]:
    ws = [jnp.full((64, 64), 0.01) for _ in range(8)]
    return {"jax": jax, "jnp": jnp, "ws": ws, "x": jnp.ones((512, 64))}


def told(program: Program) -> dict[str, int]:
    (curve,) = encode_curves(program)
    rows = curve["rows"]
    found: dict[str, int] = {}
    for within, saves in zip(rows["within"], rows.get("saves", [0] * len(rows["within"])), strict=True):
        if saves:
            found[unnumbered(within)] = saves
    return found


def memory_of(cell: str, given: dict[str, Any], *, buffers: bool) -> tuple[Program, Memory]:
    program = jaxnb.stage(cell, given).program
    program.level("jaxpr")
    (memory,) = program.memory() if buffers else program.occupancy()
    return program, memory


BODIES = {
    "elementwise": "jnp.sin(h) * jnp.cos(h)",
    "two dots": "jnp.sin(h @ w) * jnp.cos(h @ w)",
    "a dot": "jnp.sin(h @ w.T)",
}


@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("buffers", [False, True], ids=["liveness", "buffers"])
def test_the_estimate_is_near_what_checkpointing_saves(buffers: bool, body: str) -> None:
    if buffers and jax.__version_info__ < (0, 11):
        pytest.skip("XLA for CPUs took equal ops together, those that jax.checkpoint computes anew, too")
    cell = CELL.replace(BODIES["elementwise"], BODIES[body])
    program, plain = memory_of(cell.format("layer"), names(), buffers=buffers)
    _, kept = memory_of(cell.format("jax.checkpoint(layer)"), names(), buffers=buffers)
    estimate = told(program)["layer, line 8 of loss"]
    assert estimate == pytest.approx(plain.peak - kept.peak, rel=0.02)
    VALIDATOR.validate(encode_drawn(program))


VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
)


class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs, *, kept: bool) -> None:
        self.up, self.down = nnx.Linear(32, 128, rngs=rngs), nnx.Linear(128, 32, rngs=rngs)
        self.gelu = jax.nn.gelu if kept else jax.checkpoint(jax.nn.gelu)

    def __call__(self, x: jax.Array) -> jax.Array:
        return x + self.down(self.gelu(self.up(x)))


class Model(nnx.Module):
    def __init__(self, *, kept: bool) -> None:
        self.blocks = nnx.List([Block(nnx.Rngs(n), kept=kept) for n in range(6)])

    def __call__(self, x: jax.Array) -> jax.Array:
        for block in self.blocks:
            x = block(x)
        return x


def test_calls_on_modules_are_told_apart() -> None:
    cell = "value, grads = nnx.value_and_grad(lambda m, x: jnp.mean(m(x) ** 2))(m, x)"
    given = {"nnx": nnx, "jnp": jnp, "x": jnp.ones((512, 32))}
    program, plain = memory_of(cell, {**given, "m": Model(kept=True)}, buffers=False)
    _, kept = memory_of(cell + "  # again", {**given, "m": Model(kept=False)}, buffers=False)
    estimate = next(saves for within, saves in told(program).items() if within.startswith("jax.nn.gelu"))
    assert estimate == pytest.approx(plain.peak - kept.peak, rel=0.1)


def test_nothing_is_said_of_what_would_not_help() -> None:
    program, _ = memory_of(CELL.format("jax.checkpoint(layer)"), names(), buffers=False)
    assert not told(program)
    program, _ = memory_of("y = jnp.tanh(x) @ x.T", names(), buffers=False)
    assert not told(program)


def test_the_text_says_it_and_a_saved_program_too() -> None:
    program, memory = memory_of(CELL.format("layer"), names(), buffers=False)
    saving = memory.savings[0]
    assert {one.function for one in memory.savings} == {"layer"}
    said = f"jax.checkpoint around layer would save {short_bytes(saving.nbytes)} of {short_bytes(memory.peak)}"
    assert render_memory(memory, width=100).splitlines().count(said) == 1
    program.memory()
    (again,) = decode(json.loads(json.dumps(encode(program)))).memory()
    assert again.savings == program.memory()[0].savings
    assert again.peak == program.memory()[0].peak


def test_values_of_one_origin_are_called_by_what_makes_them() -> None:
    program, memory = memory_of(CELL.format("layer"), names(), buffers=False)
    (curve,) = encode_curves(program)
    rows = curve["rows"]
    kept = [name for name, kind in zip(rows["name"], rows["kind"], strict=True) if kind == "residual"]
    assert any("sin" in name or "cos" in name for name in kept), rows
    assert "reserved" not in curve
    program.level("hlo")
    (curve,) = encode_curves(program)
    (read,) = program.memory()
    assert curve["reserved"] == read.reserved >= curve["peak"] > 0
    assert memory.reserved is None


@given(st.integers(1, 4), st.lists(st.integers(1, 50), min_size=1, max_size=4), st.integers(0, 30))
def test_what_is_saved_is_counted_as_by_hand(turns: int, sizes: list[int], beside: int) -> None:
    """A function whose values only its backward pass reads, called in turns; its operand is one byte."""
    call, many = Call("f", span=Span(1)), len(sizes)
    ahead = [
        Op("first" if not n else "next", (), (turn * many + n,), call=call)
        for turn in range(turns)
        for n in range(many)
    ]
    back = [
        Op("first" if not n else "next", (turn * many + n,), (), call=call, phase="transposed")
        for turn in reversed(range(turns))
        for n in range(many)
    ]
    ops = (*ahead, Op("between"), *back)
    held = tuple(
        Held(
            f"v{turn}{n}",
            "temporary",
            size,
            turn * many + n,
            1 + (2 * turns - turn) * many - many + n,
            (0, turn * many + n),
        )
        for turn in range(turns)
        for n, size in enumerate(sizes)
    )
    live = tuple(beside + sum(one.nbytes for one in held if one.first <= at <= one.last) for at in range(len(ops)))
    level = Level("jaxpr", tuple(Value(f"v{n}") for n in range(turns * many)), (Computation("main", ops=ops),))
    memory = Memory("liveness", "jaxpr", 0, live, held)
    saved = Checkpoints(level, memory).saved(held)
    assert 0 <= saved <= sum(sizes) * turns
    # Each turn lives by itself: as it is made, and as it runs backwards.
    assert saved == memory.peak - beside - sum(sizes) if turns > 1 else saved == 0
