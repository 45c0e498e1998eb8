"""What programs with named axes cost: against XLA's analysis, by equation, by line, and on the line under a cell."""

from __future__ import annotations

import os

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxnb
import jaxnb.lax
import jaxnb.numpy as nnp
from jaxnb import SerialLoop, fake_mesh, xmap
from jaxnb.reading.cost import cost_of, costs_of
from jaxnb.reading.cost.value import sum_costs
from jaxnb.reading.flow.liveness import live_bytes
from jaxnb.reading.flow.residuals import residuals
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr

WITHIN = 0.05


def a(*shape, dtype="float32"):
    return jax.ShapeDtypeStruct(shape, dtype)


@pytest.fixture(scope="module")
def mesh():
    return jax.sharding.Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("x", "y"))


def layer(x, w):
    return jnp.tanh(nnp.dot(x, w, "i"))


def looped(x):
    return lax.scan(lambda c, t: (jnp.sin(c) + t * lax.psum(c, "i"), None), x, jnp.arange(5.0))[0]


BODIES = {
    "elementwise": (lambda x: jnp.sin(x) * 2, (["i", "j"],), ["i", "j"], (a(40, 48),)),
    "rows": (lambda x, w: jnp.tanh(x @ w), (["b", None], {}), ["b", None], (a(40, 24), a(24, 16))),
    "contraction": (layer, (["b", "i"], ["i", "h"]), ["b", "h"], (a(40, 24), a(24, 16))),
    "sum": (lambda x: nnp.sum(x, "i"), (["i", "j"],), ["j"], (a(40, 48),)),
    "psum of two": (lambda x: lax.psum(x, ("i", "j")), (["i", "j", None],), [None], (a(8, 6, 50),)),
    "softmax": (lambda x: nnp.softmax(x, "i"), (["i", None],), ["i", None], (a(40, 48),)),
    "largest": (lambda x: lax.pmax(x, "i"), (["i", None],), [None], (a(40, 48),)),
    "gathered": (lambda x: lax.all_gather(x, "i").sum(0), (["i", None],), [None], (a(40, 48),)),
    "ring": (
        lambda x: lax.ppermute(x, "i", [(k, (k + 1) % 40) for k in range(40)]) + x,
        (["i", None],),
        ["i", None],
        (a(40, 48),),
    ),
    "loop": (looped, (["i", None],), ["i", None], (a(40, 48),)),
    "branch": (
        lambda x: lax.cond(lax.psum(x[0], "i") > 0, lambda v: v * 2, lambda v: jnp.exp(v) @ jnp.ones((48, 48)), x),
        (["i", None],),
        ["i", None],
        (a(40, 48),),
    ),
}


def gradient(fun):
    return jax.grad(lambda *args: sum(jnp.sum(jnp.sin(leaf)) for leaf in jax.tree.leaves(fun(*args))))


def check_against_xla(fun, *args, moved=WITHIN):
    """`moved` is how exactly bytes agree: XLA makes one broadcast of two, and counts the cutting up for a mesh."""
    cost = cost_of(jax.make_jaxpr(fun)(*args), once=True)
    found = jax.jit(fun).lower(*args).cost_analysis() or {}
    expected = [found.get(name, 0.0) for name in ("flops", "bytes accessed", "transcendentals")]
    assert not cost.unknown
    pairs = zip((cost.flops, cost.bytes, cost.transcendentals), expected, (WITHIN, moved, WITHIN), strict=True)
    for one, other, within in pairs:
        assert abs(one - other) <= within * max(one, other), (cost, expected)


@pytest.mark.parametrize("derive", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_a_map_costs_what_xla_counts(name, derive):
    body, in_axes, out_axes, args = BODIES[name]
    mapped = xmap(body, in_axes, out_axes)
    check_against_xla(gradient(mapped) if derive else mapped, *args, moved=0.1 if derive else WITHIN)


@pytest.mark.parametrize(
    ("name", "resources"),
    [
        *(
            (name, {"i": axes})
            for name in ("elementwise", "contraction", "sum", "softmax")
            for axes in ("x", ("x", "y"))
        ),
        ("elementwise", {"i": SerialLoop(2)}),
        ("elementwise", {"i": ("x", SerialLoop(2)), "j": "y"}),
        ("rows", {"b": SerialLoop(8)}),
    ],
)
def test_resources_cost_what_xla_counts(name, resources, mesh):
    body, in_axes, out_axes, args = BODIES[name]
    mapped = xmap(body, in_axes, out_axes, axis_resources=resources, mesh=mesh)
    check_against_xla(mapped, *args, moved=0.15)


def test_devices_and_turns_are_all_counted(mesh):
    body, in_axes, out_axes, args = BODIES["rows"]
    flops = 2 * 40 * 24 * 16
    for resources, trips in (({}, 1), ({"b": ("x", "y")}, 8), ({"b": ("y", "x")}, 8), ({"b": SerialLoop(4)}, 4)):
        mapped = xmap(body, in_axes, out_axes, axis_resources=resources, mesh=mesh)
        cost = cost_of(jax.make_jaxpr(mapped)(*args))
        assert abs(cost.flops - flops) <= 0.01 * flops and cost.transcendentals == 640 and cost.trips == trips
    assert cost_of(jax.make_jaxpr(xmap(body, in_axes, out_axes))(*args)).bytes == 4 * (960 + 384 + 640 + 640 + 640)


@pytest.mark.parametrize("name", BODIES)
def test_the_equations_of_the_body_share_it_out(name, mesh):
    body, in_axes, out_axes, args = BODIES[name]
    mapped = xmap(body, in_axes, out_axes, axis_resources={in_axes[0][0]: "x"}, mesh=mesh)
    jaxpr = jax.make_jaxpr(lambda *args: gradient(mapped)(*args))(*args)
    entries, level = costs_of(jaxpr), read_jaxpr(jaxpr, cell_file="")
    assert sum_costs(entry.own for entry in entries) == cost_of(jaxpr)
    places = [(c, k) for c, computation in enumerate(level.computations) for k, _ in enumerate(computation.ops)]
    assert sorted(entry.place for entry in entries) == places
    for entry in entries:
        inside = [other for other in entries if other.owner is entry]
        total = sum_costs([entry.own, *(other.cost for other in inside)])
        assert (total.flops, total.bytes) == (entry.cost.flops, entry.cost.bytes)


def test_what_does_not_vary_is_computed_once():
    mapped = xmap(lambda x, w: x * jnp.sin(w), (["i"], []), ["i"])
    cost = cost_of(jax.make_jaxpr(mapped)(a(100), a()))
    assert cost.transcendentals == 1 and cost.flops == 100


def test_communication_stands_on_its_equation(mesh):
    mapped = xmap(lambda x: lax.psum(jnp.sin(x), "i"), ["i", None], [None], axis_resources={"i": "x"}, mesh=mesh)
    jaxpr = jax.make_jaxpr(mapped)(a(8, 50))
    own = {entry.eqn.primitive.name: entry.own for entry in costs_of(jaxpr)}
    # each of 8 devices (both along y do the same) adds up 2 positions of 50 numbers, and takes part in an all-reduce
    assert own["psum"].flops == 8 * (50 + 50) and own["sin"].transcendentals == 2 * 400


def test_nested_and_simulated_maps():
    def outer(row):
        return xmap(lambda v: jnp.exp(v) + lax.psum(v, "i"), ["j"], ["j"])(row)

    for options in ({}, {"axis_resources": {"i": "x"}, "mesh": fake_mesh(x=4)}):
        mapped = xmap(outer, ["i", None], ["i", None], **options)
        jaxpr = jax.make_jaxpr(mapped)(a(8, 5))
        assert cost_of(jaxpr).transcendentals == 40
        exp = [entry for entry in costs_of(jaxpr) if entry.eqn.primitive.name == "exp"]
        assert [entry.own.transcendentals for entry in exp] == [40]


def test_names_of_a_shard_map_around_it_are_not_guessed(mesh):
    inner = xmap(lambda x: x - lax.pmean(x, ("i", "x")), ["i"], ["i"])
    spec = jax.sharding.PartitionSpec("x")
    around = jax.shard_map(inner, mesh=mesh, in_specs=spec, out_specs=spec)
    assert cost_of(jax.make_jaxpr(around)(a(8))).unknown == {"xmap"}


CELL = "hidden = jnp.tanh(jnp.dot(images, w, 'i'))\nloss = jnp.mean(hidden**2, ('batch', 'h'))"


def test_a_cell_shows_what_it_costs():
    namespace = {"jnp": jnp, "images": jnp.ones((64, 32)), "w": jnp.ones((32, 16))}
    run = jaxnb.xmap_cell(CELL, namespace, "images[batch, i], w[i, h] -> loss[]")
    flops = 2 * 64 * 32 * 16
    assert "68 kflop" in run.line or "flop" in run.line, run.line
    level = run.program.level("jaxpr")
    lines = {}
    for op in level.ops():
        lines[op.line] = lines.get(op.line, 0) + (op.flops or 0)
    assert flops <= lines[1] <= 1.05 * flops and 2 * 1024 <= lines[2] <= 4 * 1024


@pytest.mark.parametrize(
    ("resources", "together"), [({}, 16), ({"b": "x"}, 16), ({"b": SerialLoop(8)}, 2), ({"b": ("x", SerialLoop(2))}, 8)]
)
def test_values_of_the_body_live_for_the_positions_that_are_computed_together(resources, together, mesh):
    def body(x, w):
        return jnp.sum(jnp.sin(jnp.outer(x, x)) @ w)

    mapped = xmap(body, (["b", None], {}), ["b"], axis_resources=resources, mesh=mesh)
    found = live_bytes(jax.make_jaxpr(mapped)(a(16, 32), a(32, 8)))
    arguments, result = 4 * (16 * 32 + 32 * 8), 4 * 16
    assert found.peak == arguments + result + 2 * together * 4 * 32 * 32


def test_what_a_gradient_keeps_comes_from_the_body(mesh):
    mapped = xmap(lambda x: jnp.sin(x) ** 2, ["b", None], ["b", None], axis_resources={"b": "x"}, mesh=mesh)
    jaxpr = jax.make_jaxpr(jax.grad(lambda x: jnp.sum(mapped(x))))(a(16, 32))
    level = read_jaxpr(jaxpr, cell_file="")
    kept = [one for one in residuals(jaxpr) if one.origin is not None]
    assert kept and all(one.nbytes == 4 * 16 * 32 for one in kept)
    made = [level.computations[one.origin[0]].ops[one.origin[1]].name for one in kept]
    assert "cos" in made and "xmap" not in made
