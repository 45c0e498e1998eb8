"""Maps made anew share what was traced; positions beside names in `pgather`; constraints inside of maps."""

from __future__ import annotations

import doctest
import gc
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import jaxnb
import jaxnb.named.lax
from jaxnb import SerialLoop, xmap

x = jnp.arange(24.0).reshape(4, 6)


def counted():
    traced = []

    def fun(a, scale=2.0):
        traced.append(1)
        return jax.lax.psum(jnp.sin(a) * scale, "i")

    return fun, traced


@pytest.mark.parametrize("lowering", ["manual", "spmd"])
def test_a_map_made_anew_is_not_traced_again(lowering):
    fun, traced = counted()

    def anew(**more):
        return xmap(fun, in_axes=["i", ...], out_axes=[...], lowering=lowering, **more)

    first = anew()(x)
    np.testing.assert_array_equal(anew()(x), first)
    assert len(traced) == 1
    anew()(x[:2])
    assert len(traced) == 2
    anew()(x)
    assert len(traced) == 2


@pytest.mark.parametrize(
    "way",
    [
        lambda m: jax.grad(lambda a: m()(a).sum()),
        lambda m: jax.jit(lambda a: m()(a)),
        lambda m: jax.vmap(lambda a: m()(a)),
    ],
)
def test_nor_inside_of_what_jax_makes_of_it(way):
    fun, traced = counted()
    given = jnp.stack([x, x])
    for _ in range(3):
        way(lambda: xmap(fun, ["i", ...], [...]))(given)
    assert len(traced) == 1


def test_other_specs_are_another_map():
    fun, traced = counted()
    for in_axes, out_axes, more in (
        (["i", ...], [...], {}),
        ({0: "i"}, {}, {}),
        ({1: "i"}, [...], {}),
        (["i", "j"], ["j"], {}),
        (["i", ...], [...], {"axis_sizes": {"k": 2}}),
    ):
        xmap(fun, in_axes, out_axes, **more)(x)
        xmap(fun, in_axes, out_axes, **more)(x)
    assert len(traced) == 5
    spec = ["i", ...]
    kept = xmap(fun, spec, [...])
    spec[:] = [None, "i"]
    assert kept(x).shape == (6,) and xmap(fun, spec, [...])(x).shape == (4,)


def test_a_callable_object_is_asked_again():
    class Scaled:
        scale = 2.0

        def __call__(self, a):
            return a * self.scale

    scaled = Scaled()
    assert float(xmap(scaled, ["i"], ["i"])(jnp.ones(2))[0]) == 2.0
    scaled.scale = 3.0
    assert float(xmap(scaled, ["i"], ["i"])(jnp.ones(2))[0]) == 3.0


def test_the_programs_go_with_the_function():
    fun, _ = counted()
    xmap(fun, ["i", ...], [...])(x)
    gone = weakref.ref(fun)
    del fun
    gc.collect()
    assert gone() is None


def test_arguments_are_called_by_their_names():
    fun, _ = counted()
    mapped = xmap(fun, ["i", ...], [...])
    assert mapped.lower(x).args_info[0][0].shape == (4, 6) and mapped.__wrapped__ is fun
    with pytest.raises(ValueError, match="argument 'a'"):
        mapped(x[0, 0])


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        (("i", 0), lambda a, k: a.transpose(0, 1, 2).reshape(12, 2)[k]),
        ((0, "i"), lambda a, k: a.transpose(1, 0, 2).reshape(12, 2)[k]),
        ((1, "i", 0), lambda a, k: a.transpose(2, 0, 1).reshape(24)[k]),
        ((-1, "i"), lambda a, k: a.transpose(2, 0, 1).reshape(8, 3)[k]),
        (("i",), lambda a, k: a[k % 4]),
    ],
)
def test_pgather_takes_positions_beside_names(axes, expected):
    values, chosen = jnp.arange(24.0).reshape(4, 3, 2), jnp.array([3, 0, 6])
    chosen = chosen % 4 if axes == ("i",) else chosen
    for resources in ({}, {"i": SerialLoop(1)}):
        run = xmap(
            lambda a, k: jaxnb.lax.pgather(a, k, axes), (["i", ...], ["n"]), ["n", ...], axis_resources=resources
        )
        np.testing.assert_array_equal(run(values, chosen), expected(values, chosen))


def test_pgather_of_positions_alone_needs_no_map():
    np.testing.assert_array_equal(jaxnb.lax.pgather(x, jnp.array([5, 0]), 1), x[:, [5, 0]].T)
    np.testing.assert_array_equal(jaxnb.lax.pgather(x, jnp.array([7]), (0, 1)), x.reshape(24)[jnp.array([7])])
    with pytest.raises(ValueError, match="2 dimensions"):
        jaxnb.lax.pgather(x, 0, (2,))
    with pytest.raises(ValueError, match="twice"):
        jaxnb.lax.pgather(x, 0, (0, -2))


@pytest.mark.parametrize("spec", [P(), P(None), P("y"), "sharding"])
@pytest.mark.parametrize("resources", [{}, {"b": "x"}, {"b": ("x", "y")}])
@pytest.mark.parametrize("lowering", ["manual", "spmd"])
def test_a_constraint_inside_of_a_map_changes_no_value(spec, resources, lowering):
    mesh = jax.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Auto,) * 2)
    where = NamedSharding(mesh, P("y")) if spec == "sharding" else spec
    given = jnp.arange(64.0).reshape(8, 8)

    def body(a):
        inner = jax.lax.scan(lambda c, v: (c + jax.lax.with_sharding_constraint(v * a, where), None), a, jnp.ones(2))[0]
        return jax.lax.with_sharding_constraint(inner, where).sum() + jax.lax.psum(a, "b").sum()

    mapped = xmap(body, ["b", ...], ["b"], axis_resources=resources, lowering=lowering)
    with jax.set_mesh(mesh):
        np.testing.assert_allclose(mapped(given), 3 * given.sum(1) + given.sum(), rtol=1e-6)
        np.testing.assert_allclose(jax.grad(lambda a: mapped(a).sum())(given), jnp.full((8, 8), 11.0), rtol=1e-6)
        assert jax.typeof(given).shape == (8, 8) and jax.sharding.get_mesh() == mesh
