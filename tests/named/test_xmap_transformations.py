"""xmap under JAX's transformations, and JAX's transformations in xmap."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

import jaxnb.lax
import jaxnb.numpy as nnp
from jaxnb import NamedShape, SerialLoop, fake_mesh, named_shape, serial_loop, xmap

RESOURCES = [{}, {"i": "x"}, {"i": ("y", "x")}]
X = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)))
Y = jnp.asarray(np.random.default_rng(1).normal(size=(6, 8, 3)))


def close(a, b):
    return np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def centred(mesh, resources, **options):
    return xmap(
        lambda x: jnp.sin(x - nnp.mean(x, "i")),
        ["i", ...],
        ["i", ...],
        axis_resources=resources,
        mesh=mesh,
        **options,
    )


def plain(x):
    return jnp.sin(x - x.mean(0))


@pytest.mark.parametrize("resources", RESOURCES)
def test_under_every_transformation(resources, mesh):
    f = centred(mesh, resources)
    v = jnp.cos(X)

    def run(f):
        def loss(x):
            return jnp.sum(f(x) ** 3)

        value, pull = jax.vjp(f, X)
        _, lin = jax.linearize(f, X)
        return {
            "value": value,
            "vmap": jax.vmap(f)(Y),
            "vmap of grad": jax.vmap(jax.grad(loss))(Y),
            "grad of vmap": jax.grad(lambda y: jnp.sum(jax.vmap(f, 0, 1)(y) ** 2))(Y),
            "jvp": jax.jvp(f, (X,), (v,)),
            "vjp": pull(v),
            "linearize": lin(v),
            "hessian-vector": jax.jvp(jax.grad(loss), (X,), (v,)),
            "grad of grad": jax.grad(lambda x: jnp.sum(jax.grad(loss)(x) ** 2))(X),
            "remat": jax.grad(lambda x: jnp.sum(jax.checkpoint(f)(x) ** 2))(X),
            "scan": lax.scan(lambda c, y: (f(c + y), jnp.sum(c)), X, Y),
            "grad of scan": jax.grad(lambda x: jnp.sum(lax.scan(lambda c, y: (f(c * y), None), x, Y)[0]))(X),
            "jacobian": jax.jacrev(f)(X[:, :1]),
        }

    got, want = jax.jit(lambda: (run(f), run(plain)))()
    jax.tree.map(close, got, want)
    close(f(X), plain(X))


@pytest.mark.parametrize("resources", RESOURCES)
def test_transformations_in_the_body(resources, mesh):
    def body(x, w):
        def loss(w):
            return jnp.sum(jnp.sin(x * w))

        inner = jax.vmap(lambda a: a * lax.axis_index("i") + lax.psum(a, "i"))(x)
        mixed = jax.vmap(lambda a: lax.psum(a, ("i", "k")), axis_name="k")(x)
        looped, _ = lax.scan(lambda c, a: (jnp.tanh(c + a), None), x[0], x)
        return (
            lax.psum(jax.grad(loss)(w), "i"),
            inner,
            mixed,
            looped,
            jax.jit(lambda a: a * 2)(x),
            jax.hessian(loss)(w),
        )

    def oracle(x, w):
        grad = (x * jnp.cos(x * w)).sum(0)
        inner = x * jnp.arange(8.0)[:, None] + x.sum(0)
        looped = x[:, 0]
        for k in range(3):
            looped = jnp.tanh(looped + x[:, k])
        hess = jax.vmap(lambda x: jax.hessian(lambda w: jnp.sum(jnp.sin(x * w)))(w))(x)
        return grad, inner, jnp.full(3, x.sum()), looped, x * 2, hess

    w = jnp.asarray([0.3, -0.2, 1.0])
    outs = ([None], ["i", ...], [None], ["i"], ["i", ...], ["i", ...])
    f = xmap(body, (["i", None], [None]), outs, axis_resources=resources, mesh=mesh)

    def total(f):
        return lambda x, w: sum(jnp.sum(jnp.cos(a)) for a in f(x, w))

    got, want = jax.jit(lambda: [(g(X, w), jax.grad(total(g), (0, 1))(X, w)) for g in (f, oracle)])()
    jax.tree.map(close, got, want)


@pytest.mark.parametrize(
    "resources", [({}, {}), ({"i": "x"}, {"j": "y"}), ({}, {"j": "x"}), ({"i": "y"}, {"j": SerialLoop(2)})]
)
def test_nesting_equals_flattening(resources, mesh):
    outer_resources, inner_resources = resources
    a, b = jnp.asarray(np.random.default_rng(3).normal(size=(2, 8, 4)))

    def work(x, y):
        return jnp.tanh(x * y) + lax.psum(x, "i") * lax.axis_index("j"), x * 2

    def outer(x, row):
        inner = xmap(lambda y: work(x, y), ["j"], (["j"], {}), axis_resources=inner_resources, mesh=mesh)
        return inner(row)

    nested = xmap(outer, (["i"], ["i", None]), (["i", None], ["i"]), axis_resources=outer_resources, mesh=mesh)
    flat = xmap(work, (["i"], ["i", "j"]), (["i", "j"], ["i"]))

    def run(f):
        return f(a[:, 0], b), jax.grad(lambda x, y: sum(jnp.sum(jnp.sin(o)) for o in f(x, y)), (0, 1))(a[:, 0], b)

    jax.tree.map(close, *jax.jit(lambda: (run(nested), run(flat)))())


@pytest.mark.parametrize("resources", [{}, {"i": "x"}, {"i": ("y", "x")}, {"i": SerialLoop(2)}])
def test_custom_rules_see_whole_cotangents(resources, mesh):
    @jax.custom_vjp
    def clip(w):
        return w * 1.0

    clip.defvjp(lambda w: (w * 1.0, None), lambda _, ct: (jnp.clip(ct, -0.5, 0.5),))

    @jax.custom_vjp
    def scale(x, w):
        return x * w

    scale.defvjp(lambda x, w: (x * w, (x, w)), lambda res, ct: (jnp.tanh(ct * res[1]), jnp.tanh(ct * res[0])))

    def body(x, w):
        return scale(x, clip(w)) + lax.stop_gradient(x)

    f = xmap(body, (["i", None], [None]), ["i", None], axis_resources=resources, mesh=mesh)
    oracle = jax.vmap(body, (0, None))
    w = jnp.asarray([0.3, -0.2, 1.0])

    def run(f):
        return jax.grad(lambda x, w: jnp.sum(jnp.sin(f(x, w) * 3)), (0, 1))(X, w)

    jax.tree.map(close, run(f), run(oracle))


def test_a_custom_jvp_rule_with_a_collective(mesh):
    @jax.custom_jvp
    def total(x):
        return lax.psum(x, "i")

    total.defjvp(lambda p, t: (total(p[0]), 2 * lax.psum(t[0], "i")))
    f = xmap(lambda x: total(x) * x, ["i", None], ["i", None], axis_resources={"i": "x"}, mesh=mesh)
    got = jax.grad(lambda x: jnp.sum(jax.jit(f)(x)))(X)
    close(got, X.sum(0) + 2 * X.sum(0) * jnp.ones_like(X))


def test_meshes_of_the_context(mesh):
    f = xmap(lambda x: lax.psum(x, "i"), ["i", ...], [...], axis_resources={"i": "x"})
    with jax.set_mesh(mesh):
        close(f(X), X.sum(0))
        assert "all-reduce" in f.lower(X).compile().as_text()
        close(jax.jit(jax.grad(lambda x: jnp.sum(f(x) ** 2)))(X), 2 * jnp.broadcast_to(X.sum(0), X.shape))
    with fake_mesh(x=4):
        close(f(X), X.sum(0))


@pytest.mark.filterwarnings("ignore:.*context manager has been deprecated:DeprecationWarning")
def test_the_older_way_to_set_a_mesh(mesh):
    f = xmap(lambda x: lax.psum(x, "i"), ["i", ...], [...], axis_resources={"i": "x"})
    with mesh:
        close(f(X), X.sum(0))


def test_an_explicit_mesh():
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
    f = xmap(lambda x: x - nnp.mean(x, "i"), ["i", ...], ["i", ...], axis_resources={"i": "x"}, mesh=mesh)
    x = jax.device_put(X, NamedSharding(mesh, P("x", None)))
    with jax.set_mesh(mesh):
        close(f(x), X - X.mean(0))
        close(jax.jit(jax.grad(lambda x: jnp.sum(f(x) ** 2)))(x), 2 * (X - X.mean(0)))


def test_inside_and_around_shard_map(mesh):
    inner = xmap(lambda x: x - lax.pmean(x, ("i", "x")), ["i", ...], ["i", ...])
    around = jax.shard_map(inner, mesh=mesh, in_specs=P("x"), out_specs=P("x"))
    close(jax.jit(around)(X), X - X.mean(0))
    inside = xmap(
        lambda x: jax.shard_map(lambda a: a + lax.psum(a, "x"), mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x),
        {1: "k"},
        {1: "k"},
    )
    close(inside(X), X + X.reshape(4, 2, 3).sum(0)[jnp.arange(8) % 2])


def test_serial_loops(mesh):
    def body(x, w):
        return jnp.tanh(x @ w)

    x, w = jnp.ones((16, 3)) * jnp.arange(16.0)[:, None], jnp.eye(3) * 0.1
    want = jax.grad(lambda w: jnp.sum(jnp.tanh(x @ w) ** 2))(w)
    with serial_loop("turns", 4):
        f = xmap(body, (["b", None], [...]), ["b", None], axis_resources={"b": ("x", "turns")}, mesh=mesh)
        close(jax.grad(lambda w: jnp.sum(f(x, w) ** 2))(w), want)
    two = xmap(
        lambda x, y: x * y,
        (["a"], ["b"]),
        ["a", "b"],
        axis_resources={"a": SerialLoop(2), "b": ("x", SerialLoop(2))},
        mesh=mesh,
    )
    close(two(jnp.arange(4.0), jnp.arange(8.0)), jnp.outer(jnp.arange(4.0), jnp.arange(8.0)))


def test_a_loop_saves_memory():
    def memory(resources):
        def body(x):
            return jnp.sum(jnp.tanh(jnp.sin(jnp.outer(x, x)) @ jnp.cos(jnp.outer(x, x))))

        f = xmap(body, ["b", None], ["b"], axis_resources=resources)
        grad = jax.jit(jax.grad(lambda x: jnp.sum(f(x))))
        return grad.lower(jnp.ones((64, 64))).compile().memory_analysis().temp_size_in_bytes

    assert memory({"b": SerialLoop(16)}) < memory({}) / 8


def test_a_weight_that_is_used_often(mesh):
    def body(x, w):
        for _ in range(150):
            x = x + 0.001 * jnp.tanh(x @ w)
        return x

    x, w = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3))), jnp.eye(3)
    f = xmap(body, (["b", None], {}), ["b", None], axis_resources={"b": "x"}, mesh=mesh)
    run = lambda f: jax.jit(jax.grad(lambda w: jnp.sum(f(x, w) ** 2)))(w)  # noqa: E731
    close(run(f), run(body))


@pytest.mark.parametrize("fake", [False, True])
def test_one_mesh_axis_for_two_names_that_meet_in_the_gradient_only(fake, mesh):
    def body(a, b):
        return lax.psum(a, "i") * lax.psum(b, "j"), a * 2 + lax.psum(b, "j"), b + lax.psum(a, "i")

    def oracle(a, b):
        return a.sum() * b.sum(), a * 2 + b.sum(), b + a.sum()

    mesh = fake_mesh(x=4, y=2) if fake else mesh
    f = xmap(body, (["i"], ["j"]), ([], ["i"], ["j"]), axis_resources={"i": "x", "j": "x"}, mesh=mesh)
    a, b = X[:, 0], X[:4, 1]

    def run(f):
        grad = jax.grad(lambda a, b: sum(jnp.sum(jnp.sin(t)) for t in f(a, b)), (0, 1))
        return f(a, b), grad(a, b), jax.jvp(lambda a: grad(a, b)[0], (a,), (a,))

    jax.tree.map(close, run(f), run(oracle))


@pytest.mark.parametrize("resources", [{}, {"i": SerialLoop(2)}, {"i": ("x", SerialLoop(2))}])
def test_keys_pass_through(resources, mesh):
    keys, key = jax.random.split(jax.random.key(0), 8), jax.random.key(1)

    def body(k, own):
        return jax.random.split(k)[0], jax.random.normal(own, (2,))

    f = xmap(body, ({}, ["i"]), ({}, ["i", None]), axis_resources=resources, mesh=mesh)
    one, drawn = f(key, keys)
    np.testing.assert_array_equal(jax.random.key_data(one), jax.random.key_data(jax.random.split(key)[0]))
    np.testing.assert_array_equal(drawn, jax.vmap(lambda k: jax.random.normal(k, (2,)))(keys))


def test_under_jax_s_own_checks(mesh):
    f = xmap(lambda a: nnp.softmax(a, "i"), ["i", None], ["i", None], axis_resources={"i": "x"}, mesh=mesh)
    with jax.enable_checks(True):
        got = jax.jit(jax.grad(lambda a: jnp.sum(f(a) ** 2)))(X)
    close(got, jax.grad(lambda a: jnp.sum(jax.nn.softmax(a, 0) ** 2))(X))


def test_named_shape():
    seen = {}

    def body(x, w):
        seen["x"] = named_shape(x)
        seen["sum"] = named_shape(lax.psum(x, "i"))
        seen["const"] = named_shape(jnp.ones((2,)))
        assert "i" in named_shape(x * w).named
        seen["index"] = named_shape(lax.axis_index("j"))

        def with_scan(c, a):
            return seen.update(carry=named_shape(c)) or (c + a, None)

        lax.scan(with_scan, jnp.zeros(()), x)
        nested = xmap(lambda y: (seen.update(inner=named_shape(y * w)), y)[1], ["k"], ["k"])
        return x * w + nested(jnp.ones(3)) * 0

    xmap(body, (["i", None], [None, "j"]), ["i", "j", None])(X, jnp.ones((3, 5)))
    assert seen["x"] == NamedShape(3, i=8) and seen["sum"] == NamedShape(3) and seen["const"] == NamedShape(2)
    assert seen["index"] == NamedShape(j=5) and seen["carry"] == NamedShape(i=8)
    assert seen["inner"] == NamedShape(3, j=5, k=3)
    assert named_shape(jnp.ones(3)) == NamedShape(3)


def test_the_text_of_a_body():
    text = xmap(lambda x: lax.psum(x, "batch"), ["batch", None], [None]).jaxpr_text(jnp.ones((20, 5), jnp.float32))
    assert "f32[5 | batch:20]" in text and "= psum[axes=('batch',)]" in text and ":f32[5] =" in text


def test_trees_donation_and_stages():
    f = xmap(
        lambda params, x: {"y": x * params["w"], "z": [params["b"]]},
        ({"w": [None], "b": []}, {0: "i"}),
        {"y": ["i", ...], "z": [{}]},
        donate_argnums=1,
    )
    params = {"w": jnp.ones(3), "b": jnp.float64(2)}
    x = X + 0
    out = f(params, x)
    close(out["y"], X)
    assert x.is_deleted() and out["z"][0] == 2
    compiled = f.lower(params, X + 0).compile()
    assert compiled.cost_analysis() and compiled.memory_analysis() is not None and "HloModule" in compiled.as_text()


@pytest.mark.parametrize("resources", [{}, {"i": ("x", "y")}])
def test_printing_from_the_body(resources, mesh, capfd):
    def body(x):
        jax.debug.print("seen {}", jnp.sum(x))
        return x * 2

    f = xmap(body, ["i", None], ["i", None], axis_resources=resources, mesh=mesh)
    close(f(X), X * 2)
    jax.effects_barrier()
    assert capfd.readouterr().out.count("seen") == 8


def test_closed_over_values():
    def run(scale):
        return xmap(lambda x: x * scale, ["i", None], ["i", None])(X)

    close(jax.grad(lambda s: jnp.sum(run(s)))(2.0), X.sum())


def test_contractions_under_every_rule(mesh):
    x, w = Y, jnp.asarray(np.random.default_rng(2).normal(size=(8, 5, 3)))

    def body(a, b):
        return jaxnb.lax.pdot(a, b, "i", ((0,), (1,)))

    for resources in ({}, {"i": "x", "n": "y"}, {"n": SerialLoop(3)}):
        f = xmap(body, (["n", "i", None], ["i", None, None]), ["n", None], axis_resources=resources, mesh=mesh)

        def oracle(a, b):
            return jnp.einsum("nik,ijk->nj", a, b)

        def run(f):
            def loss(a, b):
                return jnp.sum(jnp.sin(f(a, b)))

            grads = jax.grad(loss, (0, 1))
            second = jax.grad(lambda a, b: sum(jnp.sum(jnp.cos(g)) for g in grads(a, b)), (0, 1))
            return f(x, w), grads(x, w), second(x, w)

        jax.tree.map(close, *jax.jit(lambda: (run(f), run(oracle)))())


@pytest.mark.parametrize("resources", RESOURCES)
@pytest.mark.parametrize("fill", [-jnp.inf, jnp.inf, 0.0])
def test_the_gradient_of_an_extremum_beside_infinities(mesh, resources, fill):
    x = jnp.arange(8.0).at[jnp.asarray([2, 5])].set(fill)

    def largest(x):
        return xmap(lambda v: nnp.max(v, "i"), ["i"], [], axis_resources=resources, mesh=mesh)(x)

    close(largest(x), jnp.max(x))
    close(jax.grad(largest)(x), jax.grad(jnp.max)(x))
    close(jax.jvp(jax.grad(largest), (x,), (jnp.ones(8),))[1], jnp.zeros(8))
