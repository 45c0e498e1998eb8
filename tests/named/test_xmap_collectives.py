"""Every collective of JAX, on every kind of resource, against plain NumPy: values and gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxnb import SerialLoop, fake_mesh, xmap

SCHEDULES = {
    "vectorised": {},
    "mesh": {"axis_resources": {"i": "x"}},
    "two axes, reversed": {"axis_resources": {"i": ("y", "x")}},
    "both names": {"axis_resources": {"i": "y", "j": "x"}},
    "mesh and loop": {"axis_resources": {"j": SerialLoop(2), "i": "x"}},
    "spmd": {"axis_resources": {"i": "x", "j": "y"}, "lowering": "spmd"},
    "fake": {"axis_resources": {"i": ("y", "x")}, "fake": True},
}


def given(name, mesh):
    options = dict(SCHEDULES[name])
    options["mesh"] = fake_mesh(x=4, y=2) if options.pop("fake", False) else mesh
    return options


def ring(x):
    return lax.ppermute(x, "i", [(k, (k + 3) % 8) for k in range(8)])


# name -> (body for x[5] at one position of i:8, j:4; the same on an array [8, 4, 5]; what is left of (i, j))
ONE_NAME = {
    "psum": (lambda x: lax.psum(x, "i"), lambda x: x.sum(0), "j"),
    "pmean": (lambda x: lax.pmean(x, "i"), lambda x: x.mean(0), "j"),
    "pmax": (lambda x: lax.pmax(x, "i"), lambda x: x.max(0), "j"),
    "pmin": (lambda x: lax.pmin(x, "i"), lambda x: x.min(0), "j"),
    "all_gather": (lambda x: lax.all_gather(x, "i", axis=1), lambda x: jnp.moveaxis(x, 0, 2), "j"),
    "all_gather tiled": (
        lambda x: lax.all_gather(x, "i", axis=0, tiled=True),
        lambda x: jnp.moveaxis(x, 0, 1).reshape(4, 40),
        "j",
    ),
    "psum_scatter": (
        lambda x: lax.psum_scatter(jnp.outer(jnp.arange(8.0), x), "i"),
        lambda x: jnp.arange(8.0)[:, None, None] * x.sum(0),
        "ij",
    ),
    "all_to_all": (
        lambda x: lax.all_to_all(jnp.outer(jnp.arange(1, 9.0), x), "i", 0, 1),
        lambda x: jnp.einsum("ijk,n->njki", x, jnp.arange(1, 9.0)),
        "ij",
    ),
    "all_to_all tiled": (
        lambda x: lax.all_to_all(jnp.outer(jnp.arange(1, 17.0), x), "i", 0, 1, tiled=True),
        lambda x: jnp.einsum("ijk,nt->njtik", x, jnp.arange(1, 17.0).reshape(8, 2)).reshape(8, 4, 2, 40),
        "ij",
    ),
    "ppermute ring": (ring, lambda x: jnp.roll(x, 3, 0), "ij"),
    "ppermute part": (
        lambda x: lax.ppermute(x, "i", [(0, 5), (7, 1)]),
        lambda x: jnp.zeros_like(x).at[5].set(x[0]).at[1].set(x[7]),
        "ij",
    ),
    "pshuffle": (
        lambda x: lax.pshuffle(x, "i", [7, 5, 1, 2, 3, 0, 6, 4]),
        lambda x: x[jnp.array([7, 5, 1, 2, 3, 0, 6, 4])],
        "ij",
    ),
    "pswapaxes": (
        lambda x: lax.pswapaxes(jnp.outer(jnp.arange(1, 9.0), x), "i", 0),
        lambda x: jnp.einsum("ijk,n->njik", x, jnp.arange(1, 9.0)),
        "ij",
    ),
    "axis_index": (lambda x: x * lax.axis_index("i"), lambda x: x * jnp.arange(8.0)[:, None, None], "ij"),
    "axis_size": (lambda x: x * lax.axis_size("i"), lambda x: x * 8, "ij"),
}
TWO_NAMES = {
    "psum": (lambda x, n: lax.psum(x, n), lambda x: x.sum((0, 1)), ""),
    "pmax": (lambda x, n: lax.pmax(x, n), lambda x: x.max((0, 1)), ""),
    "all_gather": (lambda x, n: lax.all_gather(x, n), lambda x: x.reshape(32, 5), ""),
    "psum_scatter": (
        lambda x, n: lax.psum_scatter(jnp.outer(jnp.arange(64.0), x), n, tiled=True),
        lambda x: jnp.einsum("n,k->nk", jnp.arange(64.0), x.sum((0, 1))).reshape(*x.shape[:2], 2, 5),
        "ij",
    ),
    "all_to_all": (
        lambda x, n: lax.all_to_all(jnp.outer(jnp.arange(1, 33.0), x), n, 0, 0),
        lambda x: jnp.einsum("mk,n->nmk", x.reshape(32, 5), jnp.arange(1, 33.0)).reshape(*x.shape[:2], 32, 5),
        "ij",
    ),
    "ppermute": (
        lambda x, n: lax.ppermute(x, n, [(k, (k + 7) % 32) for k in range(32)]),
        lambda x: jnp.roll(x.reshape(32, 5), 7, 0).reshape(x.shape),
        "ij",
    ),
    "axis_index": (
        lambda x, n: x * lax.axis_index(n),
        lambda x: x * jnp.arange(32.0).reshape(*x.shape[:2], 1),
        "ij",
    ),
}


def compare(body, oracle, left, x, options):
    out_axes = [*left, ...]
    mapped = xmap(body, in_axes=["i", "j", None], out_axes=out_axes, **options)
    weights = np.cos(np.arange(np.prod(jax.eval_shape(oracle, x).shape))).reshape(jax.eval_shape(oracle, x).shape)

    def both(fun):
        value, pull = jax.vjp(fun, x)
        return value, pull(jnp.asarray(weights))[0], jax.jvp(fun, (x,), (jnp.sin(x * 7),))[1]

    for got, want in zip(*jax.jit(lambda: (both(mapped), both(oracle)))(), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("schedule", ["vectorised", "mesh", "two axes, reversed", "mesh and loop"])
@pytest.mark.parametrize("name", ONE_NAME)
def test_over_one_name(name, schedule, mesh):
    body, oracle, left = ONE_NAME[name]
    options = given(schedule, mesh)
    x = jnp.asarray(np.random.default_rng(1).normal(size=(8, 4, 5)))
    compare(body, oracle, left, x, options)


@pytest.mark.parametrize(
    ("order", "schedule"), [("ij", "vectorised"), ("ji", "both names"), ("ji", "two axes, reversed")]
)
@pytest.mark.parametrize("name", TWO_NAMES)
def test_over_two_names(name, schedule, order, mesh):
    body, oracle, left = TWO_NAMES[name]
    x = jnp.asarray(np.random.default_rng(2).normal(size=(8, 4, 5)))

    def in_order(x):
        out = oracle(x if order == "ij" else jnp.swapaxes(x, 0, 1))
        return out if order == "ij" or not left else jnp.swapaxes(out, 0, 1)

    compare(lambda x: body(x, tuple(order)), in_order, left, x, given(schedule, mesh))


@pytest.mark.parametrize("schedule", ["both names", "spmd", "fake"])
def test_all_at_once(schedule, mesh):
    def body(x):
        return tuple(body(x) for body, _, _ in ONE_NAME.values())

    x = jnp.asarray(np.random.default_rng(1).normal(size=(8, 4, 5)))
    mapped = xmap(
        body,
        ["i", "j", None],
        tuple([*left, ...] for _, _, left in ONE_NAME.values()),
        **given(schedule, mesh),
    )
    wanted = tuple(oracle(x) for _, oracle, _ in ONE_NAME.values())
    for got, want in zip(mapped(x), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_a_ring_over_devices_costs_one_permute(mesh):
    options = {"mesh": mesh, "axis_resources": {"i": ("x", "y")}}
    turn = xmap(lambda x: lax.ppermute(x, "i", [(k, (k + 1) % 16) for k in range(16)]), ["i"], ["i"], **options)
    text = turn.lower(jnp.arange(16.0)).compile().as_text()
    assert text.count(" collective-permute(") + text.count(" collective-permute-start(") == 1


@pytest.mark.parametrize("schedule", ["vectorised", "mesh", "spmd"])
def test_in_control_flow(schedule, mesh):
    def body(x):
        total, steps = lax.scan(
            lambda c, t: (lax.pmean(c, "i") + t * x.sum(), lax.psum(c, "i")), x.sum(), jnp.arange(3.0)
        )
        picked = lax.cond(lax.psum(x[0], "i") > 0, lambda v: lax.pmax(v, "i"), lambda v: lax.pmin(v, "i"), x)
        chosen = lax.cond(x[0] > 0, lambda v: lax.psum(v, "i"), lambda v: -lax.psum(v, "i"), x)
        last = lax.fori_loop(0, 3, lambda k, c: c + lax.psum(c, "i") * 0.1, x)
        again = jax.checkpoint(lambda v: jnp.sin(lax.psum(jnp.cos(v), "i")))(x)
        return total, steps, picked, chosen, last, again

    def oracle(x):
        c, s, steps = x.sum(2), x.sum(2), []
        for t in range(3):
            steps.append(c.sum(0))
            c = c.mean(0) + t * s
        signs = jnp.where(x[..., :1] > 0, 1, -1)
        picked = jnp.where(x[..., :1].sum(0) > 0, x.max(0), x.min(0))
        last = x
        for _ in range(3):
            last = last + last.sum(0) * 0.1
        return c, jnp.stack(steps, 1), picked, signs * x.sum(0), last, jnp.sin(jnp.cos(x).sum(0))

    x = jnp.asarray(np.random.default_rng(3).normal(size=(8, 4, 5)))
    out_axes = (["i", "j"], ["j", None], ["j", None], ["i", "j", None], ["i", "j", None], ["j", None])
    mapped = xmap(body, ["i", "j", None], out_axes, **given(schedule, mesh))

    def loss(fun):
        return lambda x: sum(jnp.sum(jnp.sin(leaf * 1.3)) for leaf in fun(x))

    def both(fun):
        return *fun(x), jax.grad(loss(fun))(x)

    for got, want in zip(*jax.jit(lambda: (both(mapped), both(oracle)))(), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def test_groups_of_positions_are_refused(mesh):
    with pytest.raises(ValueError, match="axis_index_groups"):
        xmap(lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [2, 3]]), ["i"], ["i"])(jnp.arange(4.0))
