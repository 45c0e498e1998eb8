"""Which named axes a value varies over: against what JAX says, against what the positions really hold, and by table."""

from __future__ import annotations

import doctest

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from jax import lax
from jax.experimental import pallas as pl
from jax.extend import core as jax_core
from jax.sharding import PartitionSpec as P

import jaxnb.reading.flow.varying
from jaxnb import xmap
from jaxnb._jax.eqns import body_jaxprs, open_jaxpr
from jaxnb.reading.flow.varying import varying_axes
from jaxnb.reading.jaxpr.jaxpr import read_jaxpr


@pytest.fixture(scope="module")
def mesh():
    return jax.sharding.Mesh(np.array(jax.devices()[:6]).reshape(2, 3), ("a", "b"))


A, B = ("a", 2), ("b", 3)
SPECS = (P("a"), P("b"), P(), P(("a", "b")))  # of the inputs of the programs below, 12 numbers each at one position


def traced(mesh, function, specs=SPECS, out=P(), check=False):
    """The jaxpr of a function at one position, mapped."""
    sizes = {"a": 2, "b": 3}
    avals = []
    for spec in specs:
        names = [name for entry in spec for name in (entry if isinstance(entry, tuple) else (entry,))]
        avals.append(jax.ShapeDtypeStruct((12 * int(np.prod([sizes[n] for n in names])),), jnp.float32))
    mapped = jax.shard_map(function, mesh=mesh, in_specs=specs, out_specs=out, check_vma=check)
    return jax.make_jaxpr(mapped)(*avals)


def body_of(closed, primitive="shard_map"):
    """The first equation of a kind, wherever it stands, with what its values vary over: (equation, varying inside)."""

    def search(jaxpr, varying):
        for eqn in jaxpr.eqns:
            if eqn.primitive.name == primitive == "xmap":
                return eqn, open_jaxpr(eqn.params["body"].closed), varying.inside(eqn, ("body",))
            for path, body in body_jaxprs(eqn.params):
                inside = varying.inside(eqn, path)
                if eqn.primitive.name == primitive:
                    return eqn, body, inside
                if (found := search(body, inside)) is not None:
                    return found
        return None

    found = search(open_jaxpr(closed), varying_axes(closed))
    assert found is not None
    return found


def outputs(mesh, function, specs=SPECS):
    """What the results of a function vary over at one position."""
    _, body, inside = body_of(traced(mesh, function, specs))
    return [inside.axes(atom) for atom in body.outvars]


def branch(flag, x, y):
    return lax.cond(flag.sum() > 0, lambda: x, lambda: y)


def turns(count, x):
    return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, c[1] * 2), (count.sum(), x))[1]


def carried(start, x):
    return lax.scan(lambda c, row: (c + row, c), start, jnp.stack([x, x]))


@jax.custom_jvp
def with_rule(x):
    return lax.psum(x, "a")


with_rule.defjvp(lambda p, t: (with_rule(*p), t[0]))


@jax.custom_vjp
def with_backward(x):
    return lax.psum(x, "a")


with_backward.defvjp(lambda x: (with_backward(x), None), lambda _, g: (g,))


def counted(x):
    ref = jax.new_ref(jnp.zeros(12))
    early = ref[...]

    def step(i, _):
        ref[...] += x
        return _

    lax.fori_loop(0, 3, step, 0)
    return early, ref[...]


def kernel(x, name=None):
    def double(x_ref, out_ref):
        out_ref[...] = x_ref[...] * 2 + pl.program_id(0)
        if name is not None:
            out_ref[...] += lax.axis_index(name)

    grid = (2,) if name is None else ((name, 2),)
    return pl.pallas_call(double, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), grid=grid, interpret=True)(x)


# A function of inputs that vary over a, b, nothing, and both; and what each of its results varies over.
CASES = {
    "nothing happens": (lambda a, b, n, m: (a, b, n, m), [[A], [B], [], [A, B]]),
    "union": (lambda a, b, n, m: (a + b, a * n, n + n), [[A, B], [A], []]),
    "constant": (lambda a, b, n, m: (jnp.zeros(3), a * 0), [[], [A]]),
    "axis_index": (lambda a, b, n, m: (lax.axis_index("a"), lax.axis_index(("a", "b"))), [[A], [A, B]]),
    "psum": (lambda a, b, n, m: (lax.psum(m, "a"), lax.psum(m, ("a", "b")), lax.psum(n, "a")), [[B], [], []]),
    "psum of several": (lambda a, b, n, m: lax.psum((a, m, n), "b"), [[A], [A], []]),
    "psum in groups": (lambda a, b, n, m: lax.psum(n, "a", axis_index_groups=[[0], [1]]), [[A]]),
    "pmax": (lambda a, b, n, m: (lax.pmax(m, "b"), lax.pmin(a, "a"), lax.pmean(m, "a")), [[A], [], [B]]),
    "all_gather": (lambda a, b, n, m: (lax.all_gather(m, "a"), lax.all_gather(m, "a", tiled=True)), [[B], [B]]),
    "ppermute": (lambda a, b, n, m: (lax.ppermute(a, "a", [(0, 1)]), lax.ppermute(n, "b", [(0, 1)])), [[A], [B]]),
    "psum_scatter": (lambda a, b, n, m: lax.psum_scatter(n, "b", tiled=True), [[B]]),
    "all_to_all": (lambda a, b, n, m: lax.all_to_all(n, "b", 0, 0, tiled=True), [[B]]),
    "cond": (lambda a, b, n, m: (branch(a, b, n), branch(n, a, n), branch(n, n, n)), [[A, B], [A], []]),
    "while": (lambda a, b, n, m: (turns(n, b), turns(a, b), turns(n, n)), [[B], [A, B], []]),
    "scan": (lambda a, b, n, m: (*carried(n, b), carried(n, n)[0]), [[B], [B], []]),
    "a carry that settles late": (
        lambda a, b, n, m: lax.fori_loop(0, 4, lambda i, c: (c[1], c[2], c[0]), (a, n, n)),
        [[A], [A], [A]],
    ),
    "jit": (lambda a, b, n, m: (jax.jit(jnp.sin)(a), jax.jit(lax.psum, static_argnums=1)(m, "b")), [[A], [A]]),
    "one jaxpr, two callers": (lambda a, b, n, m: [jax.jit(jnp.where)(x > 0, x, 0) for x in (a, b, n)], [[A], [B], []]),
    "remat": (lambda a, b, n, m: jax.checkpoint(lambda x: lax.psum(x, "a"))(m), [[B]]),
    "custom rules": (lambda a, b, n, m: (with_rule(m), with_backward(m)), [[B], [B]]),
    "gradient": (lambda a, b, n, m: jax.grad(lambda x: jnp.sum(x * b))(a), [[B]]),
    "vmap inside": (lambda a, b, n, m: jax.vmap(lambda x, y: x * y, (0, None))(a, lax.psum(b, "b")), [[A]]),
    "a vmapped name": (lambda a, b, n, m: jax.vmap(lambda x: lax.psum(x, "i"), axis_name="i")(a), [[A]]),
    "callback": (
        lambda a, b, n, m: jax.pure_callback(np.sin, jax.ShapeDtypeStruct((12,), np.float32), a),
        [[A]],
    ),
    "a kernel": (lambda a, b, n, m: (kernel(a), kernel(n)), [[A], []]),
    "references": (lambda a, b, n, m: (*counted(a), counted(n)[1]), [[A], [A], []]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_results_vary_over(mesh, name):
    function, expected = CASES[name]
    assert outputs(mesh, function) == [tuple(axes) for axes in expected]


def test_an_axis_is_gone_outside(mesh):
    closed = traced(mesh, lambda a: jnp.sin(a), (P("a"),), out=P("a"))
    level = read_jaxpr(closed, cell_file="")
    entry = level.computations[0]
    assert [level.values[index].axes for index in (*entry.inputs, *entry.outputs)] == [(), ()]
    inner = level.computations[entry.ops[-1].bodies[0]]
    assert [level.values[index].axes for index in (*inner.inputs, *inner.outputs)] == [(A,), (A,)]


def test_of_a_mesh_only_what_is_manual_is_an_axis(mesh):
    def function(x):
        inner = jax.shard_map(
            lambda y: (y, lax.psum(y, "b")), in_specs=P("b"), out_specs=(P("b"), P()), axis_names={"b"}
        )
        return inner(x)[0]

    auto = jax.sharding.Mesh(mesh.devices, mesh.axis_names, axis_types=(jax.sharding.AxisType.Auto,) * 2)
    outer = jax.shard_map(function, mesh=auto, in_specs=P("a"), out_specs=P("a"), axis_names={"a"})
    closed = jax.make_jaxpr(jax.jit(outer))(jnp.ones(12))
    _, body, outside = body_of(closed)
    (nested,) = [eqn for eqn in body.eqns if eqn.primitive.name == "shard_map"]
    inside = outside.inside(nested, ("jaxpr",))
    assert [outside.axes(var) for var in (*body.invars, *nested.outvars)] == [(A,)] * 3
    assert [inside.axes(var) for var in nested.params["jaxpr"].invars] == [(A, B)]
    assert [inside.axes(var) for var in nested.params["jaxpr"].outvars] == [(A, B), (A,)]


def test_axes_that_are_bound_outside():
    closed = jax.make_jaxpr(
        lambda x: (x, lax.axis_index("i"), lax.all_gather(x, "j"), lax.psum(1.0, "i")), axis_env=[("i", 4), ("j", 5)]
    )(jnp.ones(3))
    varying = varying_axes(closed)
    found = [{name: size for name, size in varying.axes(var)} for var in closed.jaxpr.outvars]
    assert found == [{"i": None, "j": 5}, {"i": None}, {"i": None}, {}]


def test_a_name_bound_outside_is_found_in_a_body():
    def function(x):
        return lax.scan(lambda c, row: (c + lax.psum(row, "i"), row), 0.0, x)

    closed = jax.make_jaxpr(function, axis_env=[("i", 4)])(jnp.ones(3))
    varying = varying_axes(closed)
    assert [varying.axes(var) for var in closed.jaxpr.outvars] == [(), (("i", None),)]


def test_names_of_a_kernels_grid_are_its_own():
    closed = jax.make_jaxpr(lambda x: kernel(jnp.sin(x), "g"))(jnp.ones(12))
    level = read_jaxpr(closed, cell_file="")
    outside, inside = (
        {level.values[index].axes for c in part for op in c.ops for index in op.outputs}
        for part in (level.computations[:1], level.computations[1:])
    )
    assert outside == {()} and (("g", None),) in inside


def test_a_kernel_varies_over_what_its_inputs_do(mesh):
    _, body, inside = body_of(traced(mesh, lambda a: kernel(a), (P("a"),), out=P("a")), "pallas_call")
    assert {inside.axes(var) for eqn in body.eqns for var in eqn.outvars} <= {(), (A,)}


def test_a_vmapped_axis_is_never_named():
    def function(x):
        return jnp.sin(x) + lax.psum(x, "i") + lax.axis_index("i")

    closed = jax.make_jaxpr(jax.vmap(function, axis_name="i"))(jnp.ones(3))
    level = read_jaxpr(closed, cell_file="")
    assert all(value.axes == () for value in level.values)
    assert {scope for op in level.ops() for scope in op.scopes} == {"vmap"}


def test_names_of_xmap():
    mapped = xmap(lambda x, w: lax.psum(x * w, "i"), in_axes=(["i", "j"], ["i"]), out_axes=["j"])
    closed = jax.make_jaxpr(mapped)(jnp.ones((3, 4)), jnp.ones(3))
    _, body, inside = body_of(closed, "xmap")
    assert [set(inside.axes(var)) for var in body.invars] == [{("i", 3), ("j", 4)}, {("i", 3)}]
    assert [inside.axes(var) for var in body.outvars] == [(("j", 4),)]
    level = read_jaxpr(closed, cell_file="")
    (mapped_op,) = (op for op in level.ops() if op.name == "xmap")
    (inner,) = (level.computations[body] for body in mapped_op.bodies if level.computations[body].name == "body")
    assert [set(level.values[index].axes) for index in inner.inputs] == [{("i", 3), ("j", 4)}, {("i", 3)}]
    assert [level.values[index].axes for index in inner.outputs] == [(("j", 4),)]


def test_a_vmap_of_a_map_is_an_axis():
    mapped = jax.vmap(xmap(lambda x: x * 2, in_axes=["i"], out_axes=["i"]))
    closed = jax.make_jaxpr(mapped)(jnp.ones((3, 4)))
    _, body, inside = body_of(closed, "xmap")
    assert [set(inside.axes(var)) for var in body.outvars] == [{("i", 4), ("vmap", 3)}]


# --- against what JAX says ---


def collectives(a, m):
    k = lax.axis_index("b")
    total = lax.psum(a, "a")
    shifted = lax.ppermute(m, "b", [(0, 1), (1, 2), (2, 0)])
    scattered = lax.psum_scatter(m, "b", tiled=True)
    return total, shifted * k, lax.pmax(m, "a"), scattered, lax.all_gather(m, "a", tiled=True)


def loops(a, m):
    zero = lax.pcast(jnp.zeros(12), ("a", "b"), to="varying")
    carry, rows = lax.scan(lambda c, row: (c + row, c * 2), zero, jnp.stack([m, m]))
    picked = lax.cond(lax.psum(a.sum(), "a") > 0, lambda: m, lambda: m * 2)
    return carry, rows, picked, jax.checkpoint(jnp.sin)(a)


def derivative(a, m):
    def loss(w):
        return jnp.sum(jnp.tanh(a * w)) + jnp.sum(m)

    w = jnp.ones(12)
    return jax.grad(lambda w: lax.psum(loss(w), ("a", "b")))(w)


CHECKED = {
    "collectives": (collectives, (P(), P(("a", "b")), P("b"), P(("a", "b")), P(("b", "a")))),
    "loops": (loops, (P(("a", "b")), P(None, ("a", "b")), P(("a", "b")), P("a"))),
    "derivative": (derivative, P()),
}


def compared(jaxpr, varying, found):
    """For each value in a jaxpr and below: the axes here, and those in JAX's type."""
    for var in (*jaxpr.invars, *(var for eqn in jaxpr.eqns for var in eqn.outvars)):
        type_ = var.aval.mat
        found.append(({name for name, _ in varying.axes(var)}, {*type_.varying, *type_.unreduced}))
    for eqn in jaxpr.eqns:
        for path, body in body_jaxprs(eqn.params):
            compared(body, varying.inside(eqn, path), found)
    return found


@pytest.mark.parametrize("name", CHECKED)
def test_never_more_than_jax_says(mesh, name):
    function, out = CHECKED[name]
    closed = traced(mesh, function, (P("a"), P(("a", "b"))), out, check=True)
    _, body, inside = body_of(closed)
    found = compared(body, inside, [])
    assert all(ours <= theirs for ours, theirs in found)
    assert sum(ours == theirs for ours, theirs in found) > len(found) // 2


def test_where_it_is_less_than_jax_says(mesh):
    def function(a):
        return lax.pcast(jnp.ones(12), "a", to="varying"), lax.all_gather(a, "a")

    _, body, inside = body_of(traced(mesh, function, (P("a"),), (P("a"), P("a")), check=True))
    assert [inside.axes(var) for var in body.outvars] == [(), ()]
    assert [set(var.aval.mat.varying) for var in body.outvars] == [{"a"}, {"a"}]


# --- against what the positions hold ---

NAMES = st.sampled_from([("a",), ("b",), ("a", "b")])
STEPS = st.one_of(
    st.tuples(st.just("add"), st.integers(0, 30), st.integers(0, 30)),
    st.tuples(st.sampled_from(["cond", "while", "scan", "jit", "ref"]), st.integers(0, 30), st.integers(0, 30)),
    st.tuples(st.sampled_from(["psum", "pmax", "gather", "scatter"]), st.integers(0, 30), NAMES),
    st.tuples(st.sampled_from(["permute", "index", "remat", "nested"]), st.integers(0, 30), st.sampled_from("ab")),
)


def summed(x, names):
    return lax.psum(x, names) / 8


def apply(step, values):
    """One value more. All have 12 elements, of moderate size."""
    kind, first, second = step
    x = values[first % len(values)]
    y = values[second % len(values)] if isinstance(second, int) else x
    if kind == "add":
        return jnp.sin(x) + y
    if kind == "cond":
        return lax.cond(x.sum() > 0, lambda: y, lambda: jnp.cos(y) + 1)
    if kind == "while":
        n = jnp.int32(jnp.abs(x.sum())) % 3
        return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - 1, jnp.sin(c[1]) + 1), (n, y))[1]
    if kind == "scan":
        return lax.scan(lambda c, row: ((c[1], jnp.sin(row)), None), (x, y), jnp.stack([y, x]))[0][0]
    if kind == "jit":
        return jax.jit(lambda p, q: (q, jnp.sin(p)))(x, y)[second % 2]
    if kind == "ref":
        ref = jax.new_ref(y)
        ref[...] = ref[...] + x
        return jnp.cos(ref[...])
    if kind == "psum":
        return summed(x, second)
    if kind == "pmax":
        return lax.pmax(x, second)
    if kind == "gather":
        return lax.all_gather(x, second[0]).mean(0)
    if kind == "scatter":
        size = {"a": 2, "b": 3}[second[0]]
        return jnp.tile(lax.psum_scatter(x, second[0], tiled=True), size)
    if kind == "permute":
        return lax.ppermute(x, second, [(0, 1), (1, 0)] if second == "a" else [(0, 1), (1, 2), (2, 0)])
    if kind == "index":
        return jnp.full(12, lax.axis_index(second), jnp.float32)
    if kind == "remat":
        return jax.checkpoint(lambda p: jnp.sin(lax.pmax(p, second)))(x)
    return lax.scan(lambda c, _: (lax.cond(c.sum() > 0, lambda: summed(c, second), lambda: c + x), None), y, length=2)[
        0
    ]


def everywhere(body, stacked):
    """Each value that a body makes, at every position: [a, b, ...]."""
    made = [var for eqn in body.eqns for var in eqn.outvars if type(var).__name__ != "DropVar"]
    made = [var for var in made if not hasattr(var.aval, "inner_aval")]
    wide = body.replace(outvars=made, debug_info=body.debug_info._replace(result_paths=None))
    run = jax_core.jaxpr_as_fun(jax_core.ClosedJaxpr(wide, ()))
    return made, jax.vmap(jax.vmap(run, axis_name="b"), axis_name="a")(*stacked)


@settings(max_examples=25)
@given(st.lists(STEPS, min_size=1, max_size=7), st.integers(0, 2**31))
def test_what_is_not_named_is_the_same_everywhere(steps, seed):
    def function(*values):
        values = list(values)
        for step in steps:
            values.append(apply(step, values))
        return values[-1]

    auto = (jax.sharding.AxisType.Auto,) * 2
    mesh = jax.sharding.AbstractMesh((2, 3), ("a", "b"), axis_types=auto)
    _, body, inside = body_of(traced(mesh, function))
    rng = np.random.default_rng(seed)
    shapes = [(2, 1, 12), (1, 3, 12), (1, 1, 12), (2, 3, 12)]
    stacked = [np.broadcast_to(rng.normal(size=shape).astype("float32"), (2, 3, 12)) for shape in shapes]
    try:
        made, values = everywhere(body, stacked)
    except ValueError as error:  # JAX's own batching of references: it moves the axis of one and not of the other
        assume("Invalid shape for `swap`" not in str(error))
        raise
    for var, value in zip(made, values, strict=True):
        named = {name for name, _ in inside.axes(var)}
        for position, name in enumerate("ab"):
            if name not in named:
                first = np.take(value, [0], axis=position)
                assert np.array_equal(*np.broadcast_arrays(first, value), equal_nan=True), (name, var)
