"""jaxnb.numpy, lax, nn and random against the same functions on whole arrays: values and gradients."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from drawing import DEEP
from jax import lax

import jaxnb.lax
import jaxnb.nn
import jaxnb.numpy as nnp
import jaxnb.random
from jaxnb import NamedShape, SerialLoop, fake_mesh, named_shape, xmap

SCHEDULES = {
    "vectorised": {},
    "both": {"axis_resources": {"i": ("y", "x")}},
    "spmd": {"axis_resources": {"i": "x", "j": "y"}, "lowering": "spmd"},
}


def holes(x):
    return jnp.where(x > 1.1, jnp.nan, x)


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
# The words for which the positions of a name are listed; a result that is not as long as the name is has its entries
# first.
LISTED = {
    "average": (lambda x: nnp.average(x, ("i", 0)), "j", lambda x: jnp.average(x, (0, 2))),
    "average weighted": (
        lambda x: nnp.average(x, "i", weights=jnp.cos(x) + 2),
        "j",
        lambda x: jnp.average(x, 0, weights=jnp.cos(x) + 2),
    ),
    "percentile": (lambda x: nnp.percentile(x, 30.0, "i"), "j", lambda x: jnp.percentile(x, 30.0, 0)),
    "percentiles": (
        lambda x: nnp.percentile(x, jnp.array([10.0, 70.0]), ("i", 0), keepdims=True),
        "j",
        lambda x: jnp.moveaxis(jnp.percentile(x, jnp.array([10.0, 70.0]), (0, 2)), 1, 0)[..., None],
    ),
    "nanmedian": (lambda x: nnp.nanmedian(holes(x), "i"), "j", lambda x: jnp.nanmedian(holes(x), 0)),
    "nanquantile": (lambda x: nnp.nanquantile(holes(x), 0.4, "i"), "j", lambda x: jnp.nanquantile(holes(x), 0.4, 0)),
    "nanpercentile": (
        lambda x: nnp.nanpercentile(holes(x), 40.0, "i"),
        "j",
        lambda x: jnp.nanpercentile(holes(x), 40.0, 0),
    ),
    "nanprod": (lambda x: nnp.nanprod(holes(x), ("i", 0)), "j", lambda x: jnp.nanprod(holes(x), (0, 2))),
    "nanstd": (lambda x: nnp.nanstd(holes(x), "i"), "j", lambda x: jnp.nanstd(holes(x), 0)),
    "nanvar": (lambda x: nnp.nanvar(holes(x), "i", ddof=1), "j", lambda x: jnp.nanvar(holes(x), 0, ddof=1)),
    "nanmean where": (
        lambda x: nnp.nanmean(x, "i", where=x > -1.2),
        "j",
        lambda x: jnp.nanmean(x, 0, where=x > -1.2),
    ),
    "nanargmax": (lambda x: nnp.nanargmax(holes(x), "i"), "j", lambda x: jnp.nanargmax(holes(x), 0)),
    "nanargmin": (lambda x: nnp.nanargmin(holes(x), "i"), "j", lambda x: jnp.nanargmin(holes(x), 0)),
    "trapezoid": (
        lambda x: nnp.trapezoid(x, jnp.sin(x), axis="i"),
        "j",
        lambda x: jnp.trapezoid(x, jnp.sin(x), axis=0),
    ),
    "vecdot": (lambda x: nnp.vecdot(x, jnp.sin(x), axis="i"), "j", lambda x: jnp.vecdot(x, jnp.sin(x), axis=0)),
    "vector_norm": (
        lambda x: nnp.linalg.vector_norm(x, axis=("i", 0)),
        "j",
        lambda x: jnp.linalg.vector_norm(x, axis=(0, 2)),
    ),
    "logmeanexp": (lambda x: jaxnb.nn.logmeanexp(x, "i"), "j", lambda x: jax.nn.logmeanexp(x, 0)),
    "cumulative_sum": (
        lambda x: nnp.cumulative_sum(x, axis="i"),
        "ij",
        lambda x: jnp.cumulative_sum(x, axis=0),
    ),
    "cumulative_sum from 0": (
        lambda x: nnp.cumulative_sum(x, axis="i", include_initial=True),
        "j",
        lambda x: jnp.moveaxis(jnp.cumulative_sum(x, axis=0, include_initial=True), 1, 0),
    ),
    "cumulative_prod": (
        lambda x: nnp.cumulative_prod(x, axis="i"),
        "ij",
        lambda x: jnp.cumulative_prod(x, axis=0),
    ),
    "nancumsum": (lambda x: nnp.nancumsum(holes(x), "i"), "ij", lambda x: jnp.nancumsum(holes(x), 0)),
    "nancumprod": (lambda x: nnp.nancumprod(holes(x), "i"), "ij", lambda x: jnp.nancumprod(holes(x), 0)),
    "lax.cumsum": (
        lambda x: jaxnb.lax.cumsum(x, "i", reverse=True),
        "ij",
        lambda x: lax.cumsum(x, 0, reverse=True),
    ),
    "lax.cumprod": (lambda x: jaxnb.lax.cumprod(x, "i"), "ij", lambda x: lax.cumprod(x, 0)),
    "cummax": (lambda x: jaxnb.lax.cummax(x, "i"), "ij", lambda x: lax.cummax(x, 0)),
    "cummin": (lambda x: jaxnb.lax.cummin(x, axis="i"), "ij", lambda x: lax.cummin(x, 0)),
    "cumlogsumexp": (lambda x: jaxnb.lax.cumlogsumexp(x, "i"), "ij", lambda x: lax.cumlogsumexp(x, 0)),
    "sort down": (lambda x: nnp.sort(x, "i", descending=True), "ij", lambda x: jnp.sort(x, 0, descending=True)),
    "partition": (lambda x: jnp.tanh(nnp.partition(x, 3, "i")), "ij", lambda x: jnp.tanh(jnp.partition(x, 3, 0))),
    "argpartition": (lambda x: nnp.argpartition(x, 3, "i"), "ij", lambda x: jnp.argpartition(x, 3, 0)),
    "lexsort": (
        lambda x: nnp.lexsort((x, jnp.round(x)), "i"),
        "ij",
        lambda x: jnp.lexsort((x, jnp.round(x)), 0),
    ),
    "gradient": (lambda x: nnp.gradient(x, 0.5, axis="i"), "ij", lambda x: jnp.gradient(x, 0.5, axis=0)),
    "unwrap": (lambda x: nnp.unwrap(3 * x, axis="i"), "ij", lambda x: jnp.unwrap(3 * x, axis=0)),
    "repeat": (lambda x: nnp.repeat(x, 2, "i"), "j", lambda x: jnp.moveaxis(jnp.repeat(x, 2, 0), 1, 0)),
    "delete": (
        lambda x: nnp.delete(x, np.array([1, 4]), "i"),
        "j",
        lambda x: jnp.moveaxis(jnp.delete(x, np.array([1, 4]), 0), 1, 0),
    ),
    "compress": (
        lambda x: nnp.compress(np.arange(8) > 4, x, "i", size=3),
        "j",
        lambda x: jnp.moveaxis(x[5:], 1, 0),
    ),
    "split": (lambda x: nnp.split(x, 2, "i")[1], "j", lambda x: jnp.moveaxis(x[4:], 1, 0)),
    "array_split": (lambda x: nnp.array_split(x, 3, "i")[0], "j", lambda x: jnp.moveaxis(x[:3], 1, 0)),
    "unstack": (lambda x: nnp.unstack(x, axis="i")[5], "j", lambda x: x[5]),
    "top_k": (
        lambda x: jaxnb.lax.top_k(x, 3, axis="i")[0],
        "j",
        lambda x: jnp.moveaxis(lax.top_k(x, 3, axis=0)[0], 1, 0),
    ),
    "glu": (lambda x: jaxnb.nn.glu(x, "i"), "j", lambda x: jnp.moveaxis(jax.nn.glu(x, 0), 1, 0)),
    "cross": (
        lambda x: nnp.cross(x[:3], nnp.roll(x, 1, "i")[:3], axis=0),
        "ij",
        lambda x: jnp.cross(x[..., :3], jnp.roll(x, 1, 0)[..., :3]),
    ),
    "linspace": (
        lambda x: x * nnp.linspace(0.0, lax.pmax(x[0], ("i", "j")), 8, axis="i"),
        "ij",
        lambda x: x * jnp.linspace(0.0, x[..., 0].max(), 8)[:, None, None],
    ),
    "logspace": (
        lambda x: x * nnp.logspace(0.0, 1.0, 4, axis="j"),
        "ij",
        lambda x: x * jnp.logspace(0.0, 1.0, 4)[:, None],
    ),
    "geomspace": (
        lambda x: x * nnp.geomspace(1.0, 3.0, 4, axis="j"),
        "ij",
        lambda x: x * jnp.geomspace(1.0, 3.0, 4)[:, None],
    ),
    "concat": (
        lambda x: x * nnp.concat([jnp.ones(1), jnp.arange(3.0)], axis="j"),
        "ij",
        lambda x: x * jnp.array([1, 0, 1, 2.0])[:, None],
    ),
    "size": (lambda x: x / nnp.size(x, ("i", 0)), "ij", lambda x: x / 40),
    "fft": (lambda x: jnp.abs(nnp.fft.fft(x, axis="i")), "ij", lambda x: jnp.abs(jnp.fft.fft(x, axis=0))),
    "fft of 5": (
        lambda x: jnp.abs(nnp.fft.fft(x, 5, "i")),
        "j",
        lambda x: jnp.moveaxis(jnp.abs(jnp.fft.fft(x, 5, 0)), 1, 0),
    ),
    "rfft": (
        lambda x: jnp.real(nnp.fft.rfft(x, axis="i")),
        "j",
        lambda x: jnp.moveaxis(jnp.real(jnp.fft.rfft(x, axis=0)), 1, 0),
    ),
    "fftshift": (lambda x: nnp.fft.fftshift(x, ("i", 0)), "ij", lambda x: jnp.fft.fftshift(x, (0, 2))),
    "ifftshift": (lambda x: nnp.fft.ifftshift(x, "i"), "ij", lambda x: jnp.fft.ifftshift(x, 0)),
}
# one_hot, einsum alone: sums of a name that an operand lacks count it as often as it has positions, as
# lax.psum does
INTEGER = "argmax argmin all any count_nonzero argsort nanargmax nanargmin argpartition lexsort".split()
VOCABULARY = {**WORDS, **LISTED}
X = np.random.default_rng(5).normal(size=(8, 4, 5))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("words", [WORDS, LISTED], ids=["words", "listed"])
def test_the_vocabulary(words, schedule, mesh):
    names = list(words)
    out_axes = [[*words[name][1], ...] for name in names]
    mapped = xmap(
        lambda x: [words[n][0](x) for n in names],
        ["i", "j", None],
        out_axes,
        mesh=mesh,
        **SCHEDULES[schedule],
    )

    def oracle(x):
        return [words[n][2](x) for n in names]

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
@pytest.mark.parametrize("name", [n for n in VOCABULARY if n not in INTEGER])
def test_each_gradient(name):
    body, left, oracle = VOCABULARY[name]
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
    np.testing.assert_array_equal(nnp.tensordot(X, X, ((0, 1), (0, 1))), jnp.tensordot(X, X, ((0, 1), (0, 1))))


def test_functions_of_jax_numpy_with_an_axis_are_all_here():
    def has_axis(name):
        function = getattr(jnp, name)
        if isinstance(function, type) or not callable(function):
            return False
        try:
            parameters = inspect.signature(function).parameters
        except (TypeError, ValueError):
            return False
        return not {"axis", "axes", "axis1", "source"}.isdisjoint(parameters)

    words = [name for name in dir(jnp) if name[0] != "_" and has_axis(name)]
    assert len(words) > 80 and not [name for name in words if getattr(nnp, name) is getattr(jnp, name)]
    transforms = [name for name in dir(jnp.fft) if name[0] != "_" and "freq" not in name]
    assert not [name for name in transforms if getattr(nnp.fft, name) is getattr(jnp.fft, name)]


def test_one_position_can_be_left_out():
    f = xmap(lambda x: nnp.squeeze(x, ("one", 0)), ["one", "i", None], ["i"])
    np.testing.assert_array_equal(f(jnp.arange(3.0).reshape(1, 3, 1)), jnp.arange(3.0))
    cross = xmap(lambda x, y: nnp.linalg.cross(x, y, axis="xyz"), (["xyz", None],) * 2, ["xyz", None])
    x, y = jnp.asarray(X[:3, 0]), jnp.asarray(X[3:6, 0])
    np.testing.assert_allclose(cross(x, y), jnp.cross(x, y, axis=0))


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
