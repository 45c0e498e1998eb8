"""Second derivatives under every transformation, every sampler and initialiser, code of the time of the original."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh
from quickly import quick

import jaxnb.lax
import jaxnb.nn
import jaxnb.numpy as nnp
import jaxnb.random
from jaxnb import JaxnbError, NamedShape, SerialLoop, fake_mesh, serial_loop, xmap
from jaxnb.named import random as named_random

X = jnp.asarray(np.random.default_rng(0).normal(size=(8, 3)))
Y = jnp.asarray(np.random.default_rng(1).normal(size=(4, 8, 3)))


def close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


# --- second derivatives ---

UNDER = {
    "jit": lambda f, x: jax.jit(f)(x),
    "vmap": lambda f, x: jax.vmap(f, 0, 1)(jnp.stack([x, x * x])),
    "grad": lambda f, x: jax.grad(lambda v: jnp.sum(f(v) ** 3))(x),
    "jvp": lambda f, x: jax.jvp(f, (x,), (jnp.cos(x),))[1],
    "vjp": lambda f, x: jax.vjp(f, x)[1](jnp.sin(x))[0],
    "linearize": lambda f, x: jax.linearize(f, x)[1](x * x),
    "remat": lambda f, x: jax.checkpoint(lambda v: jnp.sin(f(v)))(x),
    "scan": lambda f, x: lax.scan(lambda c, t: (f(c * t), c), x, jnp.arange(1.0, 3.0))[0],
    "cond": lambda f, x: lax.cond(jnp.sum(x) > 0, f, lambda v: f(v * 2), x),
    "nested": lambda f, x: xmap(lambda s: s * f(x), ["k"], ["k", ...])(jnp.arange(1.0, 4.0)),
}


@pytest.mark.parametrize("resources", [{}, {"i": ("y", "x")}])
@pytest.mark.parametrize("name", UNDER)
def test_second_derivatives_under(name, resources, mesh):
    mapped = xmap(
        lambda x: jnp.sin(x - nnp.mean(x, "i")) * nnp.softmax(x, "i"),
        ["i", ...],
        ["i", ...],
        axis_resources=resources,
        mesh=mesh,
    )

    def plain(x):
        return jnp.sin(x - x.mean(0)) * jax.nn.softmax(x, 0)

    def derivatives(f):
        def loss(x):
            return jnp.sum(jnp.cos(UNDER[name](f, x)))

        forward = jax.jvp(jax.grad(loss), (X,), (jnp.cos(X),))
        return forward, jax.grad(lambda x: jnp.sum(jax.grad(loss)(x) ** 2))(X)

    jax.tree.map(close, *jax.jit(lambda: (derivatives(mapped), derivatives(plain)), compiler_options=quick())())


def test_second_derivatives_inside_shard_map(mesh):
    inner = xmap(lambda x: jnp.tanh(x - lax.pmean(x, ("i", "x"))), ["i", ...], ["i", ...])
    spec = jax.sharding.PartitionSpec("x")
    around = jax.shard_map(inner, mesh=mesh, in_specs=spec, out_specs=spec)

    def twice(f):
        return jax.jvp(jax.grad(lambda x: jnp.sum(f(x) ** 3)), (X,), (jnp.sin(X),))

    jax.tree.map(close, *jax.jit(lambda: (twice(around), twice(lambda x: jnp.tanh(x - x.mean(0)))))())


# --- arguments of xmap ---


@pytest.mark.filterwarnings("ignore:backend and device argument on jit is deprecated:DeprecationWarning")
def test_backend_and_donation():
    f = xmap(lambda x, y: (x + y, y * 2), (["i"], ["i"]), (["i"], ["i"]), backend="cpu", donate_argnums=(0,))
    x, y = jnp.arange(4.0), jnp.ones(4)
    close(f(x, y)[0], jnp.arange(4.0) + 1)
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(RuntimeError, match="nowhere"):
        xmap(lambda x: x, ["i"], ["i"], backend="nowhere")(y)


def test_specs_by_position_and_by_prefix():
    tree = {"a": jnp.ones((2, 8)), "b": [jnp.ones((3, 8)), jnp.ones((4, 8))]}
    f = xmap(lambda t, s: jax.tree.map(lambda v: v * s, t), ({1: "i"}, {0: "i"}), {"a": {0: "i"}, "b": {1: "i"}})
    out = f(tree, jnp.arange(8.0))
    assert out["a"].shape == (8, 2) and [v.shape for v in out["b"]] == [(3, 8), (4, 8)]
    close(out["b"][0], jnp.broadcast_to(jnp.arange(8.0), (3, 8)))


# --- random numbers and initial values ---

ARGUMENTS = {
    "bernoulli": (0.3,),
    "beta": (2.0, 3.0),
    "choice": (5,),
    "gamma": (2.0,),
    "pareto": (3.0,),
    "poisson": (3.0,),
    "t": (3.0,),
    "truncated_normal": (-1.0, 1.0),
}


def drawn(name, key, shape):
    fun = getattr(jaxnb.random, name)
    if name == "randint":
        return fun(key, shape, 0, 10)
    return fun(key, *ARGUMENTS.get(name, ()), shape=shape)


@pytest.mark.parametrize(
    "name",
    ["normal", "uniform", "bits", "exponential", "gumbel", "laplace", "logistic", "cauchy", "rademacher", "maxwell"]
    + sorted({"bernoulli", "gamma", "poisson", "randint", "truncated_normal", "beta", "t", "pareto", "choice"}),
)
def test_every_sampler_takes_a_named_shape(name, mesh):
    shape = NamedShape(3, batch=8)
    key = jax.random.key(7)
    runs = [
        xmap(lambda key: drawn(name, key, shape), {}, ["batch", None], axis_sizes={"batch": 8}, **options)(key)
        for options in (
            {},
            {"axis_resources": {"batch": ("x", "y")}, "mesh": mesh},
            {"axis_resources": {"batch": SerialLoop(4)}},
            {"axis_resources": {"batch": "x"}, "mesh": fake_mesh(x=2)},
        )
    ]
    assert runs[0].shape == (8, 3) and runs[0].dtype == drawn(name, key, (3,)).dtype
    for other in runs[
        1:
    ]:  # the bits are the same; the last digit of what is computed from them may be rounded otherwise
        np.testing.assert_allclose(runs[0], other, rtol=1e-13 if jnp.issubdtype(other.dtype, jnp.floating) else 0)
    if name not in ("bernoulli", "rademacher", "choice", "poisson", "randint"):
        assert len(np.unique(runs[0])) == 24


def test_samplers_are_those_of_jax():
    assert {"normal", "uniform", "randint", "gamma"} <= set(named_random._NAMED)
    np.testing.assert_array_equal(
        jaxnb.random.normal(jax.random.key(0), (3,)), jax.random.normal(jax.random.key(0), (3,))
    )


FAMILIES = ["glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "lecun_normal", "lecun_uniform"]
FAMILIES += ["kaiming_normal", "kaiming_uniform", "xavier_normal", "xavier_uniform"]


@pytest.mark.parametrize("name", FAMILIES)
def test_named_fans_scale_as_dimensions_do(name):
    key = jax.random.key(1)
    plain = getattr(jax.nn.initializers, name)(in_axis=0, out_axis=1)(key, (256, 64), jnp.float64)
    shape = NamedShape(64, inputs=256)
    init = getattr(jaxnb.nn.initializers, name)(in_axis="inputs", out_axis=0)
    named = xmap(lambda key: init(key, shape, jnp.float64), {}, ["inputs", None], axis_sizes={"inputs": 256})(key)
    assert named.shape == plain.shape and abs(named.std() / plain.std() - 1) < 0.03
    assert abs(jnp.abs(named).max() / jnp.abs(plain).max() - 1) < (0.01 if "uniform" in name else 0.3)
    out = NamedShape(256, outputs=64)
    init = getattr(jaxnb.nn.initializers, name)(in_axis=0, out_axis="outputs")
    named = xmap(lambda key: init(key, out, jnp.float64), {}, [None, "outputs"], axis_sizes={"outputs": 64})(key)
    assert named.shape == plain.shape and abs(named.std() / plain.std() - 1) < 0.03


def test_variance_scaling_over_names_and_positions():
    init = jaxnb.nn.initializers.variance_scaling(2.0, "fan_avg", "normal", in_axis=("i", 0), out_axis="o")
    shape = NamedShape(4, i=32, o=64)
    got = xmap(lambda key: init(key, shape, jnp.float64), {}, ["i", None, "o"], axis_sizes={"i": 32, "o": 64})(
        jax.random.key(0)
    )
    assert got.shape == (32, 4, 64) and abs(got.var() / (2.0 / ((4 * 32 + 64) / 2)) - 1) < 0.05
    with pytest.raises(JaxnbError, match="no name"):
        jaxnb.nn.initializers.he_normal("j", 0)(jax.random.key(0), NamedShape(3, i=4))


# --- code of the time of `jax.experimental.maps`, but for its imports ---


def test_the_tutorial_of_the_original(mesh):
    lax, jnp, nn = jaxnb.lax, nnp, jaxnb.nn

    def named_predict(w1, w2, image):
        hidden = nn.relu(lax.pdot(image, w1, "inputs"))
        logits = lax.pdot(hidden, w2, "hidden")
        return logits - nn.logsumexp(logits, "classes")

    def named_loss(w1, w2, images, labels):
        predictions = named_predict(w1, w2, images)
        num_classes = lax.psum(1, "classes")
        targets = nn.one_hot(labels, num_classes, axis="classes")
        losses = lax.psum(targets * predictions, "classes")
        return -lax.pmean(losses, "batch")

    rng = np.random.default_rng(0)
    w1, w2 = jnp.asarray(rng.normal(size=(6, 4))), jnp.asarray(rng.normal(size=(4, 10)))
    images, labels = jnp.asarray(rng.normal(size=(8, 6))), jnp.asarray(rng.integers(0, 10, 8))

    def plain(w1, w2):
        logits = jax.nn.relu(images @ w1) @ w2
        return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(8), labels])

    in_axes = [["inputs", "hidden"], ["hidden", "classes"], ["batch", "inputs"], ["batch", ...]]
    for resources in ({}, {"batch": "x"}, {"batch": "x", "hidden": "y"}):
        loss = xmap(named_loss, in_axes=in_axes, out_axes=[], axis_resources=resources, mesh=mesh)
        close(loss(w1, w2, images, labels), plain(w1, w2))
        jax.tree.map(close, jax.grad(loss, (0, 1))(w1, w2, images, labels), jax.grad(plain, (0, 1))(w1, w2))


@pytest.mark.filterwarnings("ignore:.*context manager has been deprecated:DeprecationWarning")
def test_idioms_of_the_original():
    jnp, lax = nnp, jaxnb.lax
    x = jnp.arange(8.0)
    devices = np.array(jax.devices()[:4])
    with Mesh(devices, ("x",)):
        f = xmap(lambda a: jnp.sum(a, axis="i"), in_axes={0: "i"}, out_axes={}, axis_resources={"i": "x"})
        close(f(x), 28.0)
        lowered = f.lower(x)
        assert "HloModule" in lowered.compile().as_text()
    with serial_loop("l", 4):
        close(xmap(lambda a: a * 2, in_axes=["i"], out_axes=["i"], axis_resources={"i": "l"})(x), x * 2)
    matmul = xmap(lambda a, b: jnp.einsum("{i,k},{k,j}->{i,j}", a, b), (["i", "k"], ["k", "j"]), ["i", "j"])
    a, b = jnp.ones((2, 3)), jnp.arange(12.0).reshape(3, 4)
    close(matmul(a, b), a @ b)
    vv = xmap(lambda a, b: jnp.vdot(a, b), in_axes=({0: "left"}, {1: "right"}), out_axes=["left", "right", ...])
    close(vv(a, b), a @ b)
    close(xmap(lambda a: lax.pmean(a, "i"), in_axes=["i", ...], out_axes=[...])(b), b.mean(0))
    close(xmap(lambda: lax.axis_index("i"), (), ["i"], axis_sizes={"i": 3})(), jnp.arange(3))
    rows = jnp.array([2, 0])
    picked = xmap(lambda a, i: lax.pgather(a, i, "rows"), (["rows", ...], ["n"]), ["n", ...])
    close(picked(b, rows), b[rows])
    close(xmap(lambda a: a, in_axes=["i", "j"], out_axes=["j", "i"])(b), b.T)
