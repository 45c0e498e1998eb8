"""What nodes of a call tree send: every collective has one home, and the sums are those of the ledger."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jax
import jax.numpy as jnp
import jsonschema
import numpy as np
import pytest
from hypothesis import given, strategies as st
from jax.sharding import NamedSharding, PartitionSpec as P
from sample_shardings import mesh_of
from test_placement_ledger import PROGRAMS, names as given_names

import jaxnb
from jaxnb.program import Aval, Collective, Computation, Ledger, Level, Op, Program, Span, Value, read_tree
from jaxnb.program.placement.traffic import read_traffic
from jaxnb.views import encode_drawn, encode_trees, render_costs, standing_in

FLAT = mesh_of(x=4, y=2)
VALIDATOR = jsonschema.Draft202012Validator(
    json.loads(files("jaxnb.program").joinpath("program.schema.json").read_text("utf-8"))
)


def on(spec: Any, shape: tuple[int, ...]) -> jax.Array:
    return jax.device_put(np.ones(shape, np.float32), NamedSharding(FLAT, spec))


STEP = """def layer(h, w):
    return jnp.tanh(h @ w)

def loss(p, x):
    for w in p:
        h = layer(x, w)
    return jnp.mean(h ** 2)

value, grads = jax.value_and_grad(loss)(params, x)
params = [w - 0.1 * g for w, g in zip(params, grads)]"""


def names() -> dict[str, Any]:
    params = [on(P(None, "y"), (16, 16)) for _ in range(2)]
    return {"jax": jax, "jnp": jnp, "P": P, "mesh": FLAT, "params": params, "x": on(P("x", None), (8, 16))}


def sums_are_the_ledgers(program: Program) -> None:
    total = program.collectives().total
    for name in ("jaxpr", "hlo"):
        tree = program.tree(name)
        for node in tree.walk():
            parts = [node.own.get("sent"), *(child.total.get("sent") for child in node.children)]
            assert (node.total["sent"].number if "sent" in node.total else 0) == sum(
                part.number or 0 for part in parts if part is not None
            )
        assert (tree.total["sent"].number if "sent" in tree.total else 0) == total
    hlo = program.level("hlo")
    sent = read_traffic(program.collectives(), hlo, hlo).of
    assert {place for place in sent} == {item.op for item in program.collectives().items}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sums_are_those_of_the_ledger(name: str) -> None:
    cell, _ = PROGRAMS[name]
    program = jaxnb.stage(cell, given_names()).program
    sums_are_the_ledgers(program)


def test_a_training_step_says_by_call_what_it_sends() -> None:
    program = jaxnb.stage(STEP, names()).program
    sums_are_the_ledgers(program)
    tree = program.tree()
    called = {node.name: node for node in tree.walk() if node.kind == "function"}
    assert called["loss"].total["sent"].number
    assert called["loss"].behind["sent"].number, "sums of gradients run backwards"
    text = render_costs(program, width=120, depth=3)
    head = text.split("\n")[1]
    assert "sent" in head.split()
    by_line = render_costs(program, width=120).split("\n")
    assert "sent" in by_line[1].split()
    assert any(line.split()[:1] == ["7"] and " B " in line for line in by_line)
    data = encode_drawn(program)
    VALIDATOR.validate(data)
    for one in data["derived"]:
        assert one["column"] == "sent"
    ledger = program.collectives()
    assert sum(next(one["of"] for one in data["derived"] if one["level"] == "hlo")) == ledger.total
    for shown in (*encode_trees(program), *standing_in(program, (6,))):
        assert shown["total"][shown["measures"].index("sent")][0] == ledger.total


def test_a_program_on_one_device_sends_nothing() -> None:
    program = jaxnb.stage("y = x * 2", {"x": jnp.ones(3)}).program
    program.level("hlo")
    assert "sent" not in program.tree().total
    assert "derived" not in encode_drawn(program)


F32 = tuple(Value(f"v{n}", Aval("float32", (n,), itemsize=4)) for n in range(6))


@given(
    st.lists(
        st.tuples(st.integers(0, 10_000) | st.none(), st.lists(st.integers(0, 5), max_size=4, unique=True)), max_size=5
    ),
    st.sets(st.integers(0, 5)),
)
def test_every_byte_has_one_home(items: list[tuple[int | None, list[int]]], written: set[int]) -> None:
    """Whatever XLA merged, and whatever comes from no equation."""
    ops = tuple(
        Op(
            "psum" if n in written else "add",
            outputs=(n,),
            span=Span(1 + n % 2),
            phase="transposed" if n % 3 else "primal",
        )
        for n in range(6)
    )
    jaxpr = Level("jaxpr", F32, (Computation("main", ops=ops),))
    hlo = Level("hlo", F32, (Computation("main", ops=tuple(Op("all-reduce", span=Span(2)) for _ in items)),))
    ledger = Ledger(
        tuple(
            Collective(
                "all-reduce",
                1,
                (0, n),
                1,
                (),
                None,
                2,
                sent,
                sent,
                1,
                False,
                False,
                "",
                (),
                tuple((0, at) for at in eqns),
            )
            for n, (sent, eqns) in enumerate(items)
        )
    )
    for level in (jaxpr, hlo):
        traffic = read_traffic(ledger, level, hlo)
        total = read_tree(level, traffic.of, traffic.elsewhere).total.get("sent")
        assert (total.number if total is not None else 0) == ledger.total
        assert (total is not None and total.least) == (not ledger.complete)
    for place in read_traffic(ledger, jaxpr, hlo).of:
        mates = [eqns for _, eqns in items if place[1] in eqns]
        assert place[1] in written or any(not written & set(eqns) for eqns in mates)
