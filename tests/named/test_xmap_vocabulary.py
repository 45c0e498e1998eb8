"""jaxnb.numpy, lax, nn and random against the same functions on whole arrays: values and gradients."""

from __future__ import annotations

import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jaxnb.lax
import jaxnb.nn
import jaxnb.numpy as nnp
import jaxnb.random
from jaxnb import NamedShape, SerialLoop, fake_mesh, named_shape, xmap

DEEP = os.environ.get("JAXNB_DEEP") == "1"
SCHEDULES = {
    "vectorised": {},
    "both": {"axis_resources": {"i": ("y", "x")}},
    "spmd": {"axis_resources": {"i": "x", "j": "y"}, "lowering": "spmd"},
}

# name -> (body for x[5] at a position of i:8, j:4, what it leaves of i, j; the same on [8, 4, 5])
WORDS = {
    "sum": (lambda x: nnp.sum(x, "i"), "j", lambda x: x.sum(0)),
    "sum mixed": (lambda x: nnp.sum(x, ("i", 0)), "j", lambda x: x.sum((0, 2))),
    "sum both": (lambda x: nnp.sum(x, axis=("j", "i")), "", lambda x: x.sum((0, 1))),
    "sum keepdims": (lambda x: nnp.sum(x, ("i", -1), keepdims=True), "j", lambda x: x.sum((0, 2))[:, None]),
    "prod": (lambda x: nnp.prod(x, ("i", 0)), "j", lambda x: x.prod((0, 2))),
    "mean": (lambda x: nnp.mean(x, ("i", 0)), "j", lambda x: x.mean((0, 2))),
    "var": (lambda x: nnp.var(x, ("i", 0), ddof=1), "j", lambda x: x.var((0, 2), ddof=1)),
    "std": (lambda x: nnp.std(x, "i"), "j", lambda x: x.std(0)),
    "max": (lambda x: nnp.max(x, ("i", 0)), "j", lambda x: x.max((0, 2))),
    "max ties": (lambda x: nnp.max(jnp.round(x), "i"), "j", lambda x: jnp.round(x).max(0)),
    "min": (lambda x: nnp.min(x, "i"), "j", lambda x: x.min(0)),
    "argmax": (lambda x: nnp.argmax(x, "i"), "j", lambda x: x.argmax(0)),
    "argmin": (lambda x: nnp.argmin(jnp.round(x), "i"), "j", lambda x: jnp.round(x).argmin(0)),
    "all": (lambda x: nnp.all(x > -1, ("i", 0)), "j", lambda x: (x > -1).all((0, 2))),
    "any": (lambda x: nnp.any(x > 1.5, "i"), "j", lambda x: (x > 1.5).any(0)),
    "count_nonzero": (lambda x: nnp.count_nonzero(x > 0, ("i",)), "j", lambda x: (x > 0).sum(0)),
    "median": (lambda x: nnp.median(x, ("i", 0)), "j", lambda x: jnp.median(x, (0, 2))),
    "quantile": (lambda x: nnp.quantile(x, 0.3, "i"), "j", lambda x: jnp.quantile(x, 0.3, 0)),
    "ptp": (lambda x: nnp.ptp(x, "i"), "j", lambda x: jnp.ptp(x, 0)),
    "logsumexp": (lambda x: nnp.logsumexp(x, ("i", 0)), "j", lambda x: jax.nn.logsumexp(x, (0, 2))),
    "softmax": (lambda x: nnp.softmax(x, "i"), "ij", lambda x: jax.nn.softmax(x, 0)),
    "softmax mixed": (lambda x: nnp.softmax(x, ("i", 0)), "ij", lambda x: jax.nn.softmax(x, (0, 2))),
    "log_softmax": (lambda x: nnp.log_softmax(x, "i"), "ij", lambda x: jax.nn.log_softmax(x, 0)),
    "standardize": (lambda x: jaxnb.nn.standardize(x, "i"), "ij", lambda x: jax.nn.standardize(x, 0)),
    "cumsum": (lambda x: nnp.cumsum(x, "i"), "ij", lambda x: jnp.cumsum(x, 0)),
    "cumprod": (lambda x: nnp.cumprod(x, "i"), "ij", lambda x: jnp.cumprod(x, 0)),
    "sort": (lambda x: nnp.sort(x, "i"), "ij", lambda x: jnp.sort(x, 0)),
    "argsort": (lambda x: nnp.argsort(x, "i"), "ij", lambda x: jnp.argsort(x, 0)),
    "flip": (lambda x: nnp.flip(x, "i"), "ij", lambda x: jnp.flip(x, 0)),
    "roll": (lambda x: nnp.roll(x, -3, "i"), "ij", lambda x: jnp.roll(x, -3, 0)),
    "diff": (lambda x: nnp.diff(x, axis="i"), "j", lambda x: jnp.moveaxis(jnp.diff(x, axis=0), 0, 1)),
    "norm": (lambda x: nnp.linalg.norm(x, axis=("i", 0)), "j", lambda x: jnp.sqrt((x**2).sum((0, 2)))),
    "norm inf": (lambda x: nnp.linalg.norm(x, np.inf, "i"), "j", lambda x: jnp.abs(x).max(0)),
    "norm 3": (lambda x: nnp.linalg.norm(x, 3, "i"), "j", lambda x: (jnp.abs(x) ** 3).sum(0) ** (1 / 3)),
    "take": (
        lambda x: nnp.take(x, jnp.array([3, 0]), "i"),
        "j",
        lambda x: jnp.moveaxis(x[jnp.array([3, 0])], 0, 1),
    ),
    "take_along_axis": (
        lambda x: nnp.take_along_axis(x, nnp.argsort(x, "i"), "i"),
        "ij",
        lambda x: jnp.take_along_axis(x, jnp.argsort(x, 0), 0),
    ),
    "stack": (
        lambda x: x * nnp.stack([1.0, 2.0, 3.0, 5.0], "j"),
        "ij",
        lambda x: x * jnp.array([1, 2, 3, 5.0])[:, None],
    ),
    "concatenate": (
        lambda x: x * nnp.concatenate([jnp.ones(1), jnp.arange(3.0)], "j"),
        "ij",
        lambda x: x * jnp.array([1, 0, 1, 2.0])[:, None],
    ),
    "expand_dims": (lambda x: nnp.expand_dims(x, ("i", 0)), "ij", lambda x: x[:, :, None]),
    "einsum": (
        lambda x: nnp.einsum("a{i,j},b{i,j}->ab{j}", x, jnp.sin(x)),
        "j",
        lambda x: jnp.einsum("ija,ijb->jab", x, jnp.sin(x)),
    ),
    "einsum alone": (
        lambda x: nnp.einsum("a{i},b{j}->b{i}", x, lax.pmean(x, "i")),
        "ij",
        lambda x: x.sum(2)[..., None] * x.mean(0).sum(0) * 0 + jnp.einsum("ija,b->ijb", x, x.mean(0).sum(0)),
    ),
    "einsum three": (
        lambda x: nnp.einsum("a{i},a{i,j},a{j}->{j}", x, jnp.cos(x), lax.pmax(x, "i")),
        "j",
        lambda x: jnp.einsum("ija,ija,ja->j", x, jnp.cos(x), x.max(0)),
    ),
    "pdot": (
        lambda x: jaxnb.lax.pdot(x, jnp.cos(x), "i", ((0,), (0,))),
        "j",
        lambda x: jnp.einsum("ija,ija->j", x, jnp.cos(x)),
    ),
    "dot": (
        lambda x: nnp.dot(x, jnp.cos(x), ("i", "j")),
        "",
        lambda x: jnp.einsum("ija,ijb->ab", x, jnp.cos(x)),
    ),
    "pgather": (
        lambda x: jaxnb.lax.pgather(x, lax.axis_index("j") + 2, ("i", "j")),
        "j",
        lambda x: x.reshape(32, 5)[jnp.arange(4) + 2],
    ),
    "one_hot": (
        lambda x: x * jaxnb.nn.one_hot(nnp.argmax(x, "i"), 8, axis="i"),
        "ij",
        lambda x: x * jax.nn.one_hot(x.argmax(0), 8, axis=0),
    ),
}
# one_hot, einsum alone: sums of a name that an operand lacks count it as often as it has positions, as
# lax.psum does
X = np.random.default_rng(5).normal(size=(8, 4, 5))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_vocabulary(schedule, mesh):
    names = list(WORDS)
    out_axes = [[*WORDS[name][1], ...] for name in names]
    mapped = xmap(
        lambda x: [WORDS[n][0](x) for n in names],
        ["i", "j", None],
        out_axes,
        mesh=mesh,
        **SCHEDULES[schedule],
    )

    def oracle(x):
        return [WORDS[n][2](x) for n in names]

    def loss(fun):
        def run(x, weights):
            outs = [leaf for leaf in fun(x) if jnp.issubdtype(leaf.dtype, jnp.floating)]
            return sum(jnp.sum(jnp.sin(leaf)) * w for leaf, w in zip(outs, weights))

        return run

    # one gradient for each word: the derivative with respect to its weight is taken last
    def both(fun):
        weights = jnp.cos(jnp.arange(float(len(names))))
        return fun(jnp.asarray(X)), jax.grad(loss(fun))(jnp.asarray(X), weights)

    (got, got_grad), (want, want_grad) = jax.jit(lambda: (both(mapped), both(oracle)))()
    for name, a, b in zip(names, got, want, strict=True):
        assert a.dtype == b.dtype, name
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(got_grad, want_grad, rtol=1e-8, atol=1e-8)


@pytest.mark.deep
@pytest.mark.skipif(not DEEP, reason="JAXNB_DEEP=1 runs it")
@pytest.mark.parametrize(
    "name", [n for n in WORDS if n not in ("argmax", "argmin", "all", "any", "count_nonzero", "argsort")]
)
def test_each_gradient(name):
    body, left, oracle = WORDS[name]
    mapped = xmap(body, ["i", "j", None], [*left, ...])
    x = jnp.asarray(X)

    def pull(fun):
        return jax.grad(lambda x: jnp.sum(jnp.sin(fun(x))))(x)

    got, want = jax.jit(lambda: (pull(mapped), pull(oracle)))()
    np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-9)


def test_what_is_not_here_is_jax_s_own():
    assert nnp.arange is jnp.arange and jaxnb.lax.psum is lax.psum and jaxnb.nn.relu is jax.nn.relu
    assert jaxnb.random.split is jax.random.split
    np.testing.assert_array_equal(nnp.sum(X, 0), jnp.sum(X, 0))
    np.testing.assert_array_equal(nnp.einsum("ijk->j", X), jnp.einsum("ijk->j", X))


def test_a_named_contraction_is_one_dot():
    matmul = xmap(lambda x, y: jaxnb.lax.pdot(x, y, "k"), (["i", "k"], ["k", "j"]), ["i", "j"])
    text = matmul.lower(jnp.ones((8, 16)), jnp.ones((16, 4))).as_text()
    assert text.count("stablehlo.dot_general") == 1 and "stablehlo.multiply" not in text


@pytest.mark.parametrize(
    "options",
    [{}, {"axis_resources": {"batch": "x", "k": "y"}}, {"axis_resources": {"batch": ("y", SerialLoop(2))}}],
)
@pytest.mark.parametrize("impl", ["threefry2x32", "rbg"])
def test_random_numbers_do_not_know_resources(options, impl, mesh):
    def draw(key):
        a = jaxnb.random.normal(key, NamedShape(3, batch=8))
        b = jaxnb.random.randint(key, minval=0, maxval=9, shape=NamedShape(2, k=4, batch=8))
        assert named_shape(a) == NamedShape(3, batch=8)
        return a, b

    sizes = {"batch": 8, "k": 4}
    key = jax.random.key(3, impl=impl)
    out_axes = (["batch", None], ["batch", "k", None])
    plain = xmap(draw, {}, out_axes, axis_sizes=sizes)(key)
    spread = xmap(draw, {}, out_axes, axis_sizes=sizes, mesh=mesh, **options)(key)
    for a, b in zip(plain, spread, strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(np.unique(plain[0])) == 24


def test_initializers_scale_by_named_fans():
    init = jaxnb.nn.initializers.lecun_normal(in_axis="inputs", out_axis=0)
    shape = NamedShape(64, inputs=256)
    drawn = xmap(lambda key: init(key, shape, jnp.float64), {}, ["inputs", None], axis_sizes={"inputs": 256})(
        jax.random.key(0)
    )
    assert drawn.shape == (256, 64) and abs(drawn.std() * 16 - 1) < 0.05
    plain = jaxnb.nn.initializers.he_uniform()(jax.random.key(1), (4, 6))
    np.testing.assert_array_equal(plain, jax.nn.initializers.he_uniform()(jax.random.key(1), (4, 6)))


def test_a_fake_mesh_gives_the_same_numbers():
    body, left, oracle = WORDS["softmax mixed"]
    mapped = xmap(body, ["i", "j", None], [*left, ...], axis_resources={"i": ("x", "y")}, mesh=fake_mesh(x=4, y=2))
    np.testing.assert_allclose(mapped(X), oracle(jnp.asarray(X)), rtol=1e-12)
