"""Jaxprs and equations: their fields, what they were traced from, and where in the code they were made."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from covering import covers, only, private
from jax.ad_checkpoint import checkpoint_name
from jax.experimental import pallas as pl
from jax.sharding import AxisType, PartitionSpec as P

from jaxnb._jax import base, bodies, eqns, hlo, identity, named, placement, promotions
from jaxnb._jax.contract import EQUATIONS

core = private("core")


def sine(x: Any) -> Any:
    return jnp.sin(x)


@covers("core.ClosedJaxpr", "core.Jaxpr", "core.JaxprEqn")
def test_a_jaxpr_is_closed_or_open_and_on_the_newest_jax_both() -> None:
    closed: Any = jax.make_jaxpr(sine)(1.0)
    opened = eqns.open_jaxpr(closed)
    assert eqns.is_jaxpr(closed) and eqns.is_jaxpr(opened) and isinstance(opened, core.Jaxpr)
    assert eqns.open_jaxpr(opened).eqns == closed.eqns and isinstance(closed.eqns[0], core.JaxprEqn)
    branches = jax.make_jaxpr(lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x))(1.0)
    assert [path for path, _ in eqns.body_jaxprs(only(branches, "cond").params)] == [
        ("branches", "0"),
        ("branches", "1"),
    ]


@covers("Jaxpr.debug_info", "DebugInfo.func_name", "DebugInfo.arg_names")
def test_a_jaxpr_knows_the_function_that_it_was_traced_from() -> None:
    closed: Any = jax.make_jaxpr(jax.jit(sine))(1.0)
    inner = eqns.open_jaxpr(only(closed, "jit").params["jaxpr"])
    assert eqns.function_name(inner) == "sine" and inner.debug_info.arg_names == ("x",)


@covers("Jaxpr.replace", "JaxprEqn.replace", "SourceInfo.replace", "source_info_util.NameStack", "NameStack.stack")
@covers("source_info_util.Scope", "Scope.name", "source_info_util.Transform", "Transform.name", "SourceInfo.name_stack")
def test_an_equation_can_be_given_a_name() -> None:
    def f(x: Any) -> Any:
        with jax.named_scope("outer"):
            return jnp.sin(x)

    closed: Any = jax.make_jaxpr(lambda x: jax.jvp(f, (x,), (x,)))(1.0)
    parts = [[*hlo.name_parts(eqn)] for eqn in closed.eqns]
    assert [(True, "jvp")] == [part for part in parts[0] if part[0]] and (False, "outer") in parts[0]
    mine = hlo.named_eqn(closed.eqns[0], "mine", closed.eqns[0].params)
    assert [*hlo.name_parts(mine)][-1] == (False, "mine") and mine.primitive.name == "sin"
    assert str(mine.source_info.name_stack).endswith("/mine") and eqns.eqn_scope(mine) is not None
    changed = hlo.with_eqns(closed, [mine, *closed.eqns[1:]])
    assert changed.eqns[0] is mine and base.as_function(changed)(1.0) == base.as_function(closed)(1.0)
    fewer = base.with_parts(closed, closed.jaxpr.invars, closed.eqns[:1], closed.eqns[0].outvars)
    assert base.as_function(fewer)(1.0) == [jnp.sin(1.0)]


@covers("JaxprEqn.source_info", "SourceInfo.traceback", "Traceback.raw_frames")
def test_an_equation_knows_the_instruction_that_made_it() -> None:
    (eqn,) = jax.make_jaxpr(sine)(1.0).eqns
    place = next(place for place in eqns.eqn_places(eqn) if place.file == __file__)
    assert place.line == sine.__code__.co_firstlineno + 1 and place.column is not None
    assert inspect.getsource(sine).splitlines()[1][place.column : place.end_column] == "jnp.sin(x)"
    code = test_an_equation_knows_the_instruction_that_made_it.__code__
    for index, (line, *_) in reversed([*enumerate(code.co_positions())]):  # in any order
        found = eqns.place_of(code, 2 * index)
        assert found is None or found.line == (line or found.line)
    assert eqns._positions_of(code) is eqns._positions_of(code)  # gone through once
    first, other = jax.make_jaxpr(lambda x: [jnp.sin(y) for y in (x, x)])(1.0).eqns
    assert eqns.eqn_traceback(first) == eqns.eqn_traceback(other) != eqns.eqn_traceback(eqn)


@covers("Traceback.frames", "Frame.file_name", "Frame.function_name", "array_methods._IndexUpdateRef")
@covers("jax/_src/numpy/array_methods.py")
def test_an_operator_is_told_from_a_function_of_jax() -> None:
    def f(x: Any) -> Any:
        return x + x, jnp.add(x, x), x.sum(), x.at[0].set(x[0])

    closed: Any = jax.make_jaxpr(f)(jnp.ones(3))
    kinds = [(eqn.primitive.name, base.made_by_operator(eqn)) for eqn in closed.eqns]
    assert kinds[:3] == [("add", True), ("add", False), ("reduce_sum", True)] and kinds[-1] == ("scatter", False)


@covers("jax/_src/ad_checkpoint.py", "jax/_src/lax/control_flow/loops.py", "jax/experimental/sparse/bcoo.py")
def test_files_that_are_looked_for_in_tracebacks_are_where_jax_is_loaded_from() -> None:
    loops, checkpoint = private("lax.control_flow.loops"), private("ad_checkpoint")
    assert loops.__file__.endswith("jax/_src/lax/control_flow/loops.py") and base.in_jax(loops.__file__)
    assert checkpoint.__file__.endswith("jax/_src/ad_checkpoint.py") and base.in_jax(checkpoint.__file__)
    assert isinstance(jax.numpy.__file__, str) and base.in_jax(jax.numpy.__file__) and not base.in_jax(__file__)


@covers(
    "linear_util.WrappedFun", "WrappedFun.debug_info", "linear_util.wrap_init", "custom_jvp_call", "custom_vjp_call"
)
def test_a_program_whose_rules_are_let_go_can_still_run() -> None:
    one, other = jax.custom_jvp(sine), jax.custom_vjp(sine)
    one.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    other.defvjp(lambda x: (x, None), lambda _, cotangent: (cotangent,))
    closed: Any = jax.make_jaxpr(lambda x: (one(x), other(x)))(1.0)
    jvp, vjp = only(closed, "custom_jvp_call"), only(closed, "custom_vjp_call")
    wrapped = private("linear_util").WrappedFun
    assert isinstance(jvp.params["jvp_jaxpr_fun"], wrapped)
    assert all(
        callable(rule) or isinstance(rule, wrapped) for rule in (vjp.params["fwd_jaxpr_thunk"], vjp.params["bwd"])
    )
    bare = hlo.without_rules(closed)
    assert base.as_function(bare)(1.0) == base.as_function(closed)(1.0)
    with pytest.raises(TypeError, match="let go"):
        jax.jvp(base.as_function(bare), (1.0,), (1.0,))


@covers("JaxprEqn.effects", "core.NamedAxisEffect")
def test_that_an_equation_uses_a_named_axis_is_no_effect() -> None:
    def f(x: Any) -> Any:
        jax.debug.callback(print, x)
        return jax.lax.axis_index("i"), jnp.sin(x)

    closed: Any = jax.make_jaxpr(f, axis_env=[("i", 2)])(1.0)
    assert only(closed, "axis_index").effects and not eqns.has_effects(only(closed, "axis_index"))
    assert eqns.has_effects(only(closed, "debug_callback")) and not eqns.has_effects(only(closed, "sin"))


@covers("remat2")
def test_what_is_computed_again_is_kept_apart() -> None:
    def again(**options: Any) -> Any:
        function = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)), **options)
        return only(jax.make_jaxpr(jax.grad(function))(1.0), "remat2")

    assert eqns.is_kept_apart(again()) and not eqns.is_kept_apart(again(prevent_cse=False))
    assert not eqns.is_kept_apart(only(jax.make_jaxpr(jax.checkpoint(sine))(1.0), "remat2"))


@covers("Primitive.get_bind_params", "JaxprEqn.ctx", "JaxprEqnContext.compute_type")
@covers("config.compute_on_context_manager")
def test_an_equation_is_bound_again_as_it_was_made() -> None:
    def first(x: Any) -> Any:
        with private("compute_on").extend_compute_type("device_host"), jax.named_scope("mine"):
            return custom("jvp")(jnp.sin(x))

    made: list[Any] = jax.make_jaxpr(first)(1.0).eqns

    def again(x: Any) -> Any:
        for eqn in made:
            with named.made_like(eqn):
                (x,) = named.bind_again(eqn, [x])
        return x

    found: list[Any] = jax.make_jaxpr(again)(1.0).eqns
    assert [eqn.primitive for eqn in found] == [eqn.primitive for eqn in made] and len(made) == 2
    for eqn, old in zip(found, made, strict=True):
        assert eqn.ctx.compute_type == old.ctx.compute_type == "device_host"
        assert eqns.eqn_traceback(eqn) == eqns.eqn_traceback(old)
        assert str(eqns.eqn_scope(eqn)) == str(eqns.eqn_scope(old)) == "mine"


@covers("ShapedArray.mat", "ManualAxisType.varying", "core.ShapedArray.update", "ShapedArray.to_tangent_aval")
def test_a_type_says_what_it_varies_over_and_what_its_tangents_are() -> None:
    def look(x: Any) -> Any:
        assert named.varying_names(jax.typeof(x)) == {"x"}
        assert named.varying_names(jax.typeof(jax.lax.psum(x, "x"))) == frozenset()
        other = named.retyped(jax.typeof(x), (3,), frozenset[Any]())
        assert other.shape == (3,) and named.varying_names(other) == frozenset()
        return x

    jax.make_jaxpr(jax.shard_map(look, mesh=mesh(AxisType.Auto), in_specs=P("x"), out_specs=P("x")))(jnp.ones(2))
    assert named.varying_names(jax.typeof(jnp.ones(2))) == frozenset()
    assert named.tangent_type(jax.typeof(1)).dtype == jax.dtypes.float0


@covers("AbstractRef.inner_aval")
def test_the_type_of_a_mutable_array_has_that_of_its_value() -> None:
    assert eqns.shape_and_dtype(jax.typeof(jax.new_ref(jnp.ones(3)))) == ((3,), "Ref{float32}", 4)
    assert base.is_reference(jax.new_ref(1.0)) and not base.is_reference(jnp.ones(3))
    closed: Any = jax.make_jaxpr(lambda r: r[...] + 1)(jax.new_ref(1.0))
    assert placement.reads_reference(closed.eqns[0]) and not placement.reads_reference(closed.eqns[-1])


# --- the equations that are looked into ---


def mesh(kind: AxisType) -> jax.sharding.Mesh:
    return jax.make_mesh((2,), ("x",), axis_types=(kind,))


def reshard(x: Any) -> Any:
    return jax.sharding.reshard(x, jax.sharding.NamedSharding(mesh(AxisType.Explicit), P("x")))


def constrain(x: Any) -> Any:
    return jax.lax.with_sharding_constraint(x, jax.sharding.NamedSharding(mesh(AxisType.Auto), P("x")))


def keys(x: Any) -> Any:
    return jax.random.key_data(jax.random.wrap_key_data(x.astype(jnp.uint32)))


def custom(kind: str) -> Any:
    function: Any = jax.custom_jvp(sine) if kind == "jvp" else jax.custom_vjp(sine)
    if kind == "jvp":
        function.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    else:
        function.defvjp(lambda x: (x, None), lambda _, cotangent: (cotangent,))
    return function


def call_io(x: Any) -> Any:
    from jax.experimental import io_callback

    return io_callback(lambda y: y, jax.typeof(x), x)


def composite(x: Any) -> Any:
    return jax.lax.composite(sine, "test.sine")(x)


def mapped_its_own_way() -> Any:
    function = jax.custom_batching.custom_vmap(sine)
    function.def_vmap(lambda size, batched, x: (sine(x), batched[0]))
    return function


MADE: dict[str, Any] = {
    "composite": composite,
    "cond": lambda x: jax.lax.cond(x[0] > 0, jnp.sin, jnp.cos, x),
    "convert_element_type": lambda x: x * jnp.arange(2),
    "dot_general": lambda x: x @ x,
    "copy": lambda x: jax.lax.copy_p.bind(x),
    "custom_jvp_call": custom("jvp"),
    "custom_vjp_call": custom("vjp"),
    "custom_vmap_call": mapped_its_own_way(),
    "debug_callback": lambda x: jax.debug.callback(print, x),
    "dim_as_value": lambda x: private("export.shape_poly").dim_as_value_p.bind(dim=2),
    "device_put": lambda x: jax.device_put(x, jax.devices()[0]),
    "eval_jaxpr": lambda x: core.call_p.bind(x, call_jaxpr=jax.make_jaxpr(sine)(x)),
    "io_callback": call_io,
    "jit": jax.jit(sine),
    "name": lambda x: checkpoint_name(x, "y"),
    "pallas_call": lambda x: pl.pallas_call(lambda x, o: None, jax.typeof(x))(x),
    "pure_callback": lambda x: jax.pure_callback(lambda y: y, jax.typeof(x), x),
    "random_unwrap": keys,
    "random_wrap": keys,
    "remat2": jax.checkpoint(sine),
    "reshard": reshard,
    "scan": lambda x: jax.lax.scan(lambda c, y: (c + y, c), x[0], x),
    "shard_map": jax.shard_map(sine, mesh=mesh(AxisType.Auto), in_specs=P("x"), out_specs=P("x")),
    "sharding_constraint": constrain,
    "slice": lambda x: jax.lax.slice(x, (0,), (1,)),
    "stop_gradient": jax.lax.stop_gradient,
    "unstack": lambda x: [*x],
    "while": lambda x: jax.lax.while_loop(lambda y: y[0] < x[1], lambda y: y + x, x),
}


@pytest.mark.parametrize("row", EQUATIONS, ids=lambda row: row.primitive)
@covers("copy", "custom_jvp_call", "custom_vjp_call", "debug_callback", "device_put", "io_callback", "jit", "name")
@covers("pure_callback", "random_unwrap", "random_wrap", "remat2", "reshard", "scan", "shard_map")
@covers(
    "sharding_constraint", "slice", "stop_gradient", "unstack", "composite", "cond", "custom_vmap_call", "eval_jaxpr"
)
@covers("while", "convert_element_type", "dot_general")
def test_equations_have_the_parameters_that_are_read(row: Any) -> None:
    if jax.__version_info__[:2] < row.since:
        pytest.skip(f"since jax {row.since}")
    closed: Any = jax.make_jaxpr(MADE[row.primitive])(jnp.ones(2))
    eqn = next(eqn for eqn in closed.eqns if eqn.primitive.name == row.primitive)
    assert set(row.parameters) <= set(eqn.params) or (row.instead and set(row.instead) <= set(eqn.params))


@covers("scan", "FTTuple.unpack")
def test_a_scan_says_how_many_operands_are_constants_and_how_many_are_carried() -> None:
    closed: Any = jax.make_jaxpr(lambda x: jax.lax.scan(lambda c, y: ((c[0] + x[1], c[0]), y), (x[0], x[0]), x))(
        jnp.ones(2)
    )
    assert bodies.scan_counts(only(closed, "scan").params)[1] == 2


@pytest.mark.parametrize("name", sorted(bodies.CALLS & MADE.keys()))
@covers(
    "jit", "remat2", "shard_map", "composite", "custom_jvp_call", "custom_vjp_call", "custom_vmap_call", "eval_jaxpr"
)
def test_a_call_has_the_inputs_and_results_of_the_jaxpr_that_it_runs(name: str) -> None:
    if name == "eval_jaxpr" and jax.__version_info__ < (0, 12):
        pytest.skip("since jax 0.12")
    eqn = only(jax.make_jaxpr(MADE[name])(jnp.ones(2)), name)
    (called,) = bodies.called_jaxprs(eqn)
    assert dict(eqns.body_jaxprs(eqn.params))[called.path] is eqns.open_jaxpr(called.jaxpr)
    inner = eqns.open_jaxpr(called.jaxpr)
    assert called.given(eqn.invars) == [*eqn.invars] and len(inner.invars) == len(eqn.invars)
    assert len(inner.outvars) == len(eqn.outvars)


@covers("cond", "while")
def test_branches_and_loops_have_some_of_the_operands() -> None:
    eqn = only(jax.make_jaxpr(MADE["cond"])(jnp.ones(2)), "cond")
    assert [one.given("abc") for one in bodies.called_jaxprs(eqn)] == [["b", "c"], ["b", "c"]]
    eqn = only(jax.make_jaxpr(MADE["while"])(jnp.ones(2)), "while")
    condition, body = bodies.called_jaxprs(eqn)
    assert condition.given(["limit", "step", "x"]) == ["limit", "x"] and body.given("abc") == ["b", "c"]
    assert bodies.carried(eqn) == slice(2, 3)
    inner = [len(eqns.open_jaxpr(one.jaxpr).invars) for one in (condition, body)]
    assert inner == [2, 2] and bodies.called_jaxprs(eqns.open_jaxpr(body.jaxpr).eqns[0]) == ()


@covers("stop_gradient", "name", "remat2", "custom_jvp_call", "custom_vjp_call", "random_wrap", "random_unwrap")
@covers("device_put")
def test_what_an_operation_hands_on_is_its_operand() -> None:
    hand_on: list[Any] = [
        jax.lax.stop_gradient,
        lambda x: checkpoint_name(x, "y"),
        jax.checkpoint(lambda x: x),
        lambda x: jax.device_put(x),
        lambda x: jax.random.key_data(jax.random.wrap_key_data(x)),
    ]

    def look(x: Any) -> Any:
        for function in hand_on:
            made = function(x)
            assert identity.handed_on(made) is x, function
        key = jax.random.wrap_key_data(x)
        assert identity.keys_of(jax.random.key_data(key)) is key and identity.keys_of(x) is None
        return x

    jax.make_jaxpr(look)(jnp.zeros(2, jnp.uint32))


@covers("unstack")
def test_what_walks_over_a_tracer_is_told_from_what_walks_over_a_tuple() -> None:
    def look(x: Any) -> Any:
        items = iter(x)
        if type(items) is type(iter(())):
            assert jax.__version_info__ >= (0, 12) and identity.iterates_array(items)
        assert not identity.iterates_array(iter((x, x)))
        return x

    jax.make_jaxpr(look)(jnp.ones(2))


@covers("device_put")
def test_a_put_says_where_from_and_where_to_and_whether_it_copies() -> None:
    there = jax.devices()[1]

    def f(x: Any) -> Any:
        return (
            jax.device_put(x, there),
            jax.device_put(x, may_alias=False),
            jax.grad(lambda y: jax.device_put(y, there))(x),
        )

    closed: Any = jax.make_jaxpr(f)(1.0)
    puts = [put for eqn in closed.eqns for put in placement.puts_of(eqn) or ()]
    sharding = jax.sharding.SingleDeviceSharding(there)
    assert puts[0].target == sharding and puts[0].known and puts[0].source is None
    assert puts[1].target is None and puts[1].known and not puts[1].reuses
    assert placement.PUT == "device_put" and not placement.has_inner_put(closed.eqns[0])


@covers("sharding_constraint", "reshard", "shard_map")
def test_shardings_that_equations_name_are_found() -> None:
    x = jnp.ones(2)
    sharding = jax.sharding.NamedSharding(mesh(AxisType.Auto), P("x"))
    eqn = only(jax.make_jaxpr(MADE["sharding_constraint"])(x), "sharding_constraint")
    assert placement.constraint_of(eqn, None) == sharding and [*placement.named_shardings(eqn)] == [sharding]
    eqn = only(jax.make_jaxpr(MADE["shard_map"])(x), "shard_map")
    assert placement.mapped_shardings(eqn) == [sharding]
    eqn = only(jax.make_jaxpr(reshard)(x), "reshard")
    assert eqn.params["dst_sharding"].spec == P("x")


@covers("copy", "slice")
def test_a_copy_is_another_value_and_a_slice_is_asked_for_by_its_start() -> None:
    def look(x: Any) -> Any:
        made = identity.array_of(x)
        assert made is not x and made.parent.primitive.name == "copy" and made._trace is x._trace
        return jax.lax.slice(x, (1,), (3,))

    closed: Any = jax.make_jaxpr(look)(jnp.ones(4))
    eqn = only(closed, "slice")
    sharding = jax.sharding.NamedSharding(mesh(AxisType.Auto), P("x"))
    (found,) = placement.ask_shardings(closed, eqn, placement.counting(closed, eqn), eqn.outvars, [sharding])
    assert isinstance(found, jax.sharding.Sharding) and len(found.device_set) == 2
    assert eqn.primitive is jax.lax.slice_p


def test_what_was_promoted_is_told_from_what_was_asked_for() -> None:
    """By the names of the functions of JAX on the way, which are those of its modules of dtypes."""

    def function(x: Any, i: Any) -> Any:
        return x * i, jnp.where(i > 0, x, i), jnp.sin(i), x @ i.astype(x.dtype), jnp.sum(x), x.astype(int)

    closed: Any = jax.make_jaxpr(function)(jnp.ones(2, jnp.bfloat16), jnp.arange(2))
    found = [promotions.promotion_of(eqn) for eqn in eqns.all_eqns(closed)]
    assert [one for one in found if one] == [("int32", "bfloat16"), ("int32", "bfloat16"), ("int32", "float32")]
