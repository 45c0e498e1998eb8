"""Arrays, shardings and meshes: the class of arrays, the order of devices, and what tracing forgets of both."""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from covering import covers, inside, private, spy
from jax.sharding import AxisType, PartitionSpec as P

from jaxnb._jax import base, named, placement


def split(kind: AxisType = AxisType.Auto) -> jax.sharding.NamedSharding:
    return jax.sharding.NamedSharding(jax.make_mesh((2,), ("x",), axis_types=(kind,)), P("x"))


@covers("array.ArrayImpl", "prng.PRNGKeyArray", "ShapedArray.update")
def test_arrays_and_keys_have_one_class_each_and_need_not_be_bound_to_a_device() -> None:
    array, key = jnp.ones(4), jax.random.key(0)
    assert type(array) is base.Array is private("array").ArrayImpl and type(key) is base.KeyArray
    assert base.array_class(array) is base.Array and base.array_class(key) is base.KeyArray
    there = jax.devices()[1]
    for value in (jax.device_put(np.ones(4), placement.replicated(jax.devices()[:2])), jax.device_put(key, there)):
        assert value.committed
        moved = placement.uncommitted(value, there)
        assert not moved.committed and moved.devices() == {there} and type(moved) is type(value)
        same = jax.random.key_data(moved) == jax.random.key_data(key) if type(moved) is base.KeyArray else moved == 1
        assert bool(jnp.all(same))


@covers("Sharding._device_assignment", "Sharding._is_concrete")
def test_a_sharding_has_its_devices_in_order() -> None:
    devices = jax.devices()[:4][::-1]
    mesh = jax.sharding.Mesh(np.array(devices), ("x",))
    assert placement.devices_of(jax.sharding.NamedSharding(mesh, P("x"))) == tuple(devices)
    assert placement.devices_of(jax.sharding.SingleDeviceSharding(devices[1])) == (devices[1],)
    abstract: Any = jax.sharding.NamedSharding(mesh.abstract_mesh, P("x"))
    concrete: Any = jax.sharding.NamedSharding(mesh, P("x"))
    assert concrete._is_concrete and not abstract._is_concrete


@covers("batching.broadcast_batcher", "batching.vectorized_batcher")
def test_elementwise_operations_are_told_by_their_batching_rule() -> None:
    def f(x: Any) -> Any:
        return jnp.sin(x), x + x, jnp.where(x > 0, x, -x), x @ x, jnp.sum(x), jax.lax.rev(x, (0,))

    closed: Any = jax.make_jaxpr(f)(jnp.ones(4))
    kinds = {eqn.primitive.name: placement.is_elementwise(eqn) for eqn in closed.eqns}
    assert kinds["sin"] and kinds["add"] and kinds["neg"] and kinds["gt"]
    assert not kinds["dot_general"] and not kinds["reduce_sum"] and not kinds["rev"]


@covers("lax.full", "lax.full_like", "lax._convert_element_type")
def test_functions_that_make_arrays_come_by_two_of_lax(monkeypatch: pytest.MonkeyPatch) -> None:
    lax = private("lax.lax")
    full, full_like = spy(monkeypatch, lax, "full"), spy(monkeypatch, lax, "full_like")
    monkeypatch.setattr(jax.lax, "full", lax.full)
    jnp.zeros(3, device=jax.devices()[1])
    jnp.ones(3)
    jnp.full(3, 2.0)
    jnp.zeros_like(jnp.ones(3))
    assert len(full) >= 3 and len(full_like) == 1
    weak = inside(lambda x: lax._convert_element_type(x, x.dtype, weak_type=False).weak_type, 1.0)
    assert weak is False


@covers("lax.full", "lax.full_like", "NDIndexer", "NDIndexer.is_sharded", "jit_p", "custom_staging_rules")
def test_what_tracing_forgets_is_noted() -> None:
    there = jax.sharding.SingleDeviceSharding(jax.devices()[1])
    traces: list[object] = []

    def look(x: Any) -> Any:
        traces.append(base.current_trace())
        made: Any = jnp.zeros(3, device=there)
        like: Any = jnp.zeros_like(x)
        _ = x[1:3]
        both = jax.jit(lambda a, b: (a + b, a * 2), inline=base.INLINE_EARLY)(x, made)
        _ = jax.jit(lambda a, b: (a + b, a * 3))(x, made)
        return [made.val, like.val, x.val, both[1].val]

    with placement.note_placements(lambda: traces[0], lambda _: None, lambda _: True, commits=True) as notes:
        made, like, x, part = inside(look, jnp.ones(3))
    assert notes.placed == {made: there} and notes.like == {like: x} and notes.spread == {x: True}
    assert set(notes.beside) == {part} and set(notes.beside[part]) == {x, made}


@covers("NDIndexer.is_sharded")
def test_indexing_asks_whether_an_array_lies_on_several_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = private("numpy.indexing").NDIndexer
    original, seen = kind.is_sharded, list[Any]()
    monkeypatch.setattr(kind, "is_sharded", staticmethod(lambda arr: seen.append(arr) or original(arr)))
    array = jax.device_put(np.ones(4), split())
    _ = array[1:3], inside(lambda x: x[1:2], jnp.ones(4))
    assert seen[0] is array and original(array) is True and original(jnp.ones(4)) is False


@covers("_cached_shard_map", "CachedShardMap.jitted_f_with_shardings")
def test_pmap_says_how_its_arguments_lie_where_nothing_is_traced() -> None:
    count = jax.device_count()
    mapped: Any = jax.pmap(lambda v: v * 2)
    closed = jax.make_jaxpr(mapped)(np.ones((count, 2)))
    (eqn,) = closed.jaxpr.eqns
    assert placement.in_shardings_of(eqn) == [None]
    traces: list[object] = []

    def look(x: Any) -> Any:
        traces.append(base.current_trace())
        return mapped(x)

    with placement.note_placements(lambda: traces[0], lambda _: None):
        (eqn,) = jax.make_jaxpr(look)(np.ones((count, 2))).jaxpr.eqns
    (told,) = placement.in_shardings_of(eqn)
    lies: Any = mapped(np.ones((count, 2))).sharding
    assert told is not None and told.is_equivalent_to(lies, 2)
    with pytest.raises(ValueError, match="does not match"):
        mapped(jax.device_put(np.ones((count, 2)), jax.sharding.NamedSharding(lies.mesh, P())))


# --- meshes and named axes ---


@covers("mesh.thread_resources", "thread_resources.env", "ResourceEnv.physical_mesh", "mesh.get_concrete_mesh")
def test_the_mesh_of_the_context_is_found_also_inside_of_jit() -> None:
    mesh: Any = split().mesh
    seen = list[Any]()

    def look(x: Any) -> Any:
        seen.append(named.concrete_mesh())
        return x

    assert named.concrete_mesh() is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with mesh:
            jax.jit(lambda x: look(x)).trace(1.0)
    with jax.set_mesh(mesh):
        jax.jit(lambda x: look(x) + 1).trace(1.0)
    assert seen == [mesh, mesh] and named.concrete_mesh() is None


@covers("config.device_context", "device_context.swap_local", "device_context.set_local", "mesh.empty_concrete_mesh")
@covers("ResourceEnv.with_mesh", "thread_resources.stack")
def test_specs_can_mean_a_mesh_that_is_hidden_from_types() -> None:
    mesh: Any = split().mesh

    def f(x: Any) -> Any:
        with named.mesh_of_specs(mesh):
            assert named.concrete_mesh() == mesh
            return jax.lax.with_sharding_constraint(x, P("x"))

    assert jax.jit(f)(jnp.ones(4)).sharding.spec == P("x")
    with jax.set_mesh(mesh):
        jax.jit(lambda x: f(x) + 1).lower(jnp.ones(4))
        assert jax.sharding.get_mesh() == mesh
    assert named.concrete_mesh() is None


@covers("get_axis_env", "AxisEnv.axis_sizes", "extend_axis_env_nd")
def test_the_names_that_are_bound_are_known() -> None:
    seen: list[dict[Any, int]] = []
    jax.vmap(lambda x: seen.append(dict(named.bound_axes())) or x, axis_name="i")(jnp.ones(3))
    with private("core").extend_axis_env_nd([("j", 4)]):
        seen.append(dict(named.bound_axes()))
        jax.make_jaxpr(lambda x: jax.lax.psum(x, "j"))(1.0)
    assert seen == [{"i": 3}, {"j": 4}] and dict(named.bound_axes()) == {}


@covers("core.no_axis_name")
def test_a_vmap_that_names_no_axis_is_told() -> None:
    from jax.interpreters import batching

    primitive, seen = private("core").Primitive("told"), list[bool]()
    primitive.def_impl(lambda x: x)
    primitive.def_abstract_eval(lambda aval: aval)

    def rule(data: Any, args: Any, dims: Any) -> Any:
        seen.append(named.is_anonymous(data.name))
        return args[0], dims[0]

    batching.fancy_primitive_batchers[primitive] = rule
    jax.vmap(primitive.bind)(jnp.ones(3))
    jax.vmap(primitive.bind, axis_name="i")(jnp.ones(3))
    assert seen == [True, False]


@covers("config._check_vma")
def test_collectives_are_plain_where_nothing_is_checked() -> None:
    def names(context: Any) -> set[str]:
        def f(x: Any) -> Any:
            with context:
                return jax.lax.psum(x, "x")

        mesh = split().mesh
        closed: Any = jax.make_jaxpr(jax.shard_map(f, mesh=mesh, in_specs=P("x"), out_specs=P(), check_vma=True))(
            jnp.ones(4)
        )
        return {eqn.primitive.name for eqn in closed.eqns[0].params["jaxpr"].eqns}

    assert "psum" not in names(contextlib.nullcontext()) and "psum" in names(named.unchecked_collectives())
    with named.unchecked_collectives():
        assert private("config")._check_vma.value is False


@covers("convert_constvars_jaxpr", "partial_eval_jaxpr_nounits", "extend_axis_env_nd")
def test_a_jaxpr_with_named_axes_is_split_into_what_is_known_and_what_is_not() -> None:
    constant = jnp.arange(3.0)
    with private("core").extend_axis_env_nd([("i", 2)]):
        closed = jax.make_jaxpr(lambda x, y: (jnp.sin(x) + constant, jax.lax.psum(y * jnp.sin(x), "i")))(1.0, 2.0)
    hoisted, constants = named.hoist_constants(closed, {"i": 2})
    assert [*map(id, constants)] == [id(constant)] and not hoisted.consts
    assert len(hoisted.jaxpr.invars) == 3
    known, unknown, out_unknown, residuals = named.split_known(hoisted, [False, False, True], [False, False], {"i": 2})
    assert out_unknown == [False, True] and residuals >= 1
    assert len(known.jaxpr.outvars) == 1 + residuals and len(unknown.jaxpr.invars) == residuals + 1
    smaller, needed = named.without_dead(hoisted.jaxpr, [True, False], {"i": 2})
    assert needed == [True, True, False] and len(smaller.outvars) == 1
