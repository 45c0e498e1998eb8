"""Tracers and traces: whose a tracer is, what it was made of and where, and which traces are going on."""

from __future__ import annotations

import gc
from collections import UserList
from typing import Any

import jax
import jax.core
import jax.numpy as jnp
import numpy as np
import pytest
from covering import covers, inside, private, spy
from jax.sharding import AxisType, PartitionSpec as P

from jaxnb._jax import base, history, hosted, identity, tracebacks, tracers, watch

core, partial_eval, ad = private("core"), private("interpreters.partial_eval"), private("interpreters.ad")
HERE = __file__


def kinds_of(tracer: Any) -> list[str]:
    return [type(trace).__name__ for trace in tracers.enclosing_traces(tracer)]


@covers("jax._src.core.Tracer", "Tracer._trace", "core.trace_ctx", "trace_ctx.trace", "partial_eval.DynamicJaxprTrace")
def test_tracers_of_one_function_share_the_trace_that_is_current() -> None:
    def look(x: Any, y: Any) -> Any:
        assert isinstance(x, core.Tracer) and not isinstance(x.aval, core.Tracer)
        assert x._trace is y._trace is (x + y)._trace is core.trace_ctx.trace is base.current_trace()
        assert type(x._trace) is partial_eval.DynamicJaxprTrace
        return x._trace

    assert inside(look, 1.0, 2.0) is not inside(look, 1.0, 2.0)


@covers("core.EvalTrace", "core.trace_state_clean")
def test_outside_of_traces_operations_are_evaluated() -> None:
    assert type(core.trace_ctx.trace) is core.EvalTrace and core.trace_state_clean()
    assert not inside(lambda x: core.trace_state_clean(), 1.0)
    assert not inside(lambda x: tracers.depends_on_nothing(x), 1.0)
    assert inside(lambda x: tracers.depends_on_nothing(jnp.zeros(3) + 1), 1.0)


@covers(
    "JVPTracer.primal", "JVPTracer.tangent", "JVPTrace.parent_trace", "LinearizeTrace", "LinearizeTrace.tangent_trace"
)
def test_a_derivative_wraps_the_tracers_below() -> None:
    def look(x: Any) -> Any:
        def f(y: Any) -> Any:
            assert base.base_tracers(y)[0] is x and base.surrounding_trace() is x._trace
            assert kinds_of(y)[1:] == ["DynamicJaxprTrace", "EvalTrace"]
            seen.append(tracers.transformation_of(y))
            return y * 2

        jax.jvp(f, (x,), (x,))
        jax.grad(f)(x)

    seen: list[str] = []
    inside(look, 1.0)
    assert seen == ["jax.jvp", "jax.grad"]
    behind: list[set[int]] = []

    def g(y: Any) -> Any:
        trace = y._trace
        assert type(trace) is ad.LinearizeTrace and isinstance(trace.tangent_trace, partial_eval.DynamicJaxprTrace)
        behind.append(tracers.traces_behind([trace]) - {id(trace), id(trace.tangent_trace)})
        return y * 2

    jax.grad(g)(1.0)
    assert behind == [{id(core.trace_ctx.trace)}]


@covers("batching.BatchTrace", "BatchTracer.val", "BatchTracer.source_info", "DynamicJaxprTrace.parent_trace")
def test_a_batch_wraps_the_tracers_below() -> None:
    def look(x: Any) -> Any:
        def f(y: Any) -> Any:
            assert base.is_batched(y) and not base.is_batched(x) and base.base_tracers(y) == [x]
            assert tracers.transformation_of(y) == "jax.vmap" and y._trace.parent_trace is x._trace
            made = tracers.made_at(y * 2)
            assert any(frame.file_name == HERE for frame in made.source_info.traceback.frames)
            jax.jit(lambda z: depths.append(kinds_of(z)) or z)(y)
            return y

        depths: list[list[str]] = []
        jax.vmap(f)(x)
        assert depths == [["DynamicJaxprTrace", "BatchTrace", "DynamicJaxprTrace", "EvalTrace"]]

    inside(look, jnp.ones(3))


@covers("shard_map.ShardMapTrace", "shard_map.ShardMapTracer", "ShardMapTracer.__init__", "JVPTracer.__init__")
def test_tracers_of_eager_transformations_get_a_line_while_traces_are_logged(traces: tracers.TraceLog) -> None:
    def look(x: Any) -> Any:
        seen.append((tracers.transformation_of(x), tracers.made_at(x)))
        return x

    seen: list[tuple[str, Any]] = []
    mesh = jax.make_mesh((1,), ("x",), axis_types=(AxisType.Auto,))
    jax.shard_map(look, mesh=mesh, in_specs=P("x"), out_specs=P("x"))(jnp.ones(2))
    jax.jvp(look, (1.0,), (1.0,))
    assert [kind for kind, _ in seen] == ["jax.shard_map", "jax.jvp"]
    for _, made in seen:
        assert any(frame.file_name == HERE for frame in made.source_info.traceback.frames)


@covers("remat.RematTrace", "RematTrace.jaxpr_trace")
def test_a_rematerialized_function_has_a_trace_beside_a_jaxpr_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spy(monkeypatch, private("interpreters.remat").RematTrace, "process_primitive")
    jax.config.update("jax_remat3", True)
    jax.grad(jax.checkpoint(jnp.sin))(1.0)
    trace, _, operands, *_ = calls[0]
    assert tracers.transformation_of(operands[0]) == "jax.checkpoint"
    assert isinstance(trace.jaxpr_trace, partial_eval.DynamicJaxprTrace)
    assert id(trace.jaxpr_trace) in tracers.traces_behind([trace])


@covers("ExtendNameStackContextManager.__enter__")
def test_a_scope_is_entered_by_a_method_of_its_own_and_names_what_is_made_within() -> None:
    entered: list[Any] = []
    around: list[Any] = []
    with tracebacks.note_tracebacks(lambda _, scopes: around.append(scopes), entered.append):
        jax.make_jaxpr(jax.named_scope("whole")(jnp.sin))(1.0)
        with jax.named_scope("part"):
            jax.make_jaxpr(jnp.cos)(1.0)
    assert [scope.name for scope in entered] == ["whole", "part"]
    assert {scope.name for scopes in around for scope in scopes} >= {"whole"}
    assert any(scope is entered[0] for scopes in around for scope in scopes)


@covers("Trace.__init__", "Trace._weakref", "source_info_util.current")
def test_each_trace_is_logged_as_it_begins(traces: tracers.TraceLog) -> None:
    def f(x: Any) -> Any:
        began.append(x._trace._weakref())
        assert began[-1] is x._trace
        return x

    began: list[Any] = []
    jax.make_jaxpr(f)(1.0)
    jax.vmap(f)(jnp.ones(2))
    jax.jvp(f, (1.0,), (1.0,))
    alive = {id(trace) for trace in traces.alive()}
    assert {id(trace) for trace in began} <= alive and len(began) == 3
    place = traces.began_at(began[0])
    assert any(frame.file_name == HERE for frame in place.source_info.traceback.frames)
    began.clear()
    gc.collect()
    assert not traces.alive()


@covers("Trace.invalidate", "Trace.is_valid", "JaxprStackFrame.constvar_to_val")
def test_a_trace_that_has_failed_holds_its_constants_until_it_is_ended() -> None:
    kept, constant = list[Any](), jnp.arange(3.0)

    def fails(x: Any) -> Any:
        kept.append(x + constant)
        raise ValueError

    with pytest.raises(ValueError):
        jax.make_jaxpr(fails)(1.0)
    trace = base.trace_of(kept[0])
    assert trace.frame.constvar_to_val and not tracers.is_invalid(kept[0])  # type: ignore[attr-defined]
    trace.invalidate()  # type: ignore[attr-defined]
    assert not trace.frame.constvar_to_val  # type: ignore[attr-defined]
    leaked: list[Any] = []
    jax.make_jaxpr(lambda x: leaked.append(x) or x)(1.0)
    assert not leaked[0]._trace.frame.constvar_to_val
    jax.vmap(lambda x: leaked.append(x) or x)(jnp.ones(2))
    assert tracers.is_invalid(leaked[1])


@covers("DynamicJaxprTracer.parent", "DynamicJaxprTracer.val", "TracingEqn.in_tracers", "JaxprStackFrame.invars")
def test_a_tracer_knows_the_operations_behind_it() -> None:
    def look(x: Any, y: Any) -> Any:
        s: Any = jnp.sin(x)
        z: Any = s * x
        assert base.sources_of(z, [x, y]) == ({0}, True) and base.sources_of(z + y, [x, y]) == ({0, 1}, True)
        assert base.sources_of(z + y, [x]) == ({0}, False) == base.sources_of(z + 2, [x])
        assert x.parent is None and x._trace.frame.invars == [x.val, y.val]
        assert [item.val for item in z.parent.in_tracers] == [s.val, x.val] and z.parent.outvars == [z.val]

    inside(look, 1.0, 2.0)


@covers("TracingEqn.outvars", "JaxprStackFrame.tracing_eqns", "DynamicJaxprTrace.frame")
def test_the_equations_of_a_trace_are_there_as_they_are_made() -> None:
    def look(x: Any) -> Any:
        count, looks = base.EquationCount(), list[int]()
        y: Any = jnp.sin(x)
        assert count.now() == 1 and [eqn.primitive.name for eqn in base.equations_so_far()] == ["sin"]
        (eqn,) = base.equations_so_far()
        assert [var is y.val for var in eqn.outvars] == [True] and base.is_computed_from(y, [x.val])
        z = jax.lax.scan(lambda c, _: (c + 1, None), y, None, 3)[0]
        assert count.now() >= 3 and base.is_computed_from(z, [y.val])
        jax.make_jaxpr(lambda v: base.notice_equations(2, lambda eqns: looks.append(len([*eqns]))) or v * v * v * v)(x)
        assert looks and looks[0] >= 2
        return z

    inside(look, 1.0)


@covers("DebugInfo.arg_names", "DebugInfo.func_src_info", "DebugInfo.traced_for", "DynamicJaxprTracer.get_const")
def test_a_trace_knows_its_function_and_its_arguments() -> None:
    def outer(params: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            found = history.history_of(carry * params["w"])
            names.extend((one.name, one.function, one.traced_for) for one in found.arguments)
            return carry, x

        return jax.lax.scan(body, params["w"], jnp.ones(3))

    names: list[tuple[str, str, str]] = []
    jax.jit(outer).trace({"w": 1.0})
    assert ("carry", "body", "scan") in names and ("params['w']", "outer", "jit") in names


@covers("DynamicJaxprTracer._debug_info", "JaxprStackFrame.debug_info")
def test_a_tracer_names_the_function_that_is_traced() -> None:
    def step(x: Any) -> Any:
        found.append((*tracers.traced_function(x), tracers.arguments_of(x + 1), tracers.defined_at(x)))
        return x

    found: list[Any] = []
    jax.jit(step).trace(1.0)
    assert found == [("step", "jit", (("x",), False), (HERE, step.__code__.co_firstlineno))]


@covers("_flatten_jvp", "_flatten_fwd")
def test_rules_of_derivatives_are_told_by_who_calls_them() -> None:
    found: list[tuple[str, str]] = []

    def note(x: Any) -> Any:
        found.append(tracers.traced_function(x * 2))
        return x

    def jvp(primals: Any, tangents: Any) -> Any:
        return note(primals[0]), tangents[0]

    def fwd(x: Any) -> Any:
        return note(x), None

    one, other = jax.custom_jvp(lambda x: x), jax.custom_vjp(lambda x: x)
    one.defjvp(jvp)
    other.defvjp(fwd, lambda _, cotangent: (cotangent,))
    jax.make_jaxpr(jax.grad(one))(1.0)
    jax.make_jaxpr(jax.grad(other))(1.0)
    assert found == [("jvp", "custom_jvp jvp"), ("fwd", "custom_vjp fwd")]


@covers("JaxprStackFrame.debug_info", "custom_jvp_call")
def test_the_body_of_a_function_with_a_derivative_of_its_own_is_told() -> None:
    seen: list[bool] = []
    f = jax.custom_jvp(lambda x: seen.append(base.is_of_custom_rule(x)) or x)
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    inside(lambda x: (f(x), seen.append(base.is_of_custom_rule(x))), 1.0)
    assert seen == [True, False]


@covers("Tracer._line_info")
def test_a_tracer_remembers_the_line_that_made_it() -> None:
    def look(x: Any) -> Any:
        frames = tracers.made_at(x + 1).source_info.traceback.frames
        return any(frame.file_name == HERE and frame.function_name.endswith("look") for frame in frames)

    assert inside(look, 1.0)


@covers("core.get_opaque_trace_state")
def test_the_state_of_a_trace_compares() -> None:
    now = base.current_trace_state()
    assert type(now) is base.TraceState and now == base.current_trace_state()
    assert inside(
        lambda x: base.current_trace_state() != now and base.current_trace_state() == base.current_trace_state(), 1
    )


@covers(
    *("trace_ctx.set_trace", "trace_ctx.set_axis_env", "trace_ctx.axis_env", "core.set_current_trace"),
    *("_source_info_context", "_source_info_context.context", "new_source_info"),
)
def test_what_an_interrupt_leaves_in_a_thread_is_put_back() -> None:
    put_back = base.thread_state()
    place = private("source_info_util")._source_info_context
    before = core.trace_ctx.trace, core.trace_ctx.axis_env, place.context
    lost: list[Any] = []
    jax.make_jaxpr(lambda x: lost.append(x) or x * 2)(1.0)
    core.trace_ctx.set_trace(lost[0]._trace)
    with core.extend_axis_env_nd([("i", 3)]):
        environment = core.trace_ctx.axis_env
    core.trace_ctx.set_axis_env(environment)
    place.context = private("source_info_util").current()
    put_back()
    assert (core.trace_ctx.trace, core.trace_ctx.axis_env, place.context) == before
    with core.set_current_trace(lost[0]._trace):
        assert core.trace_ctx.trace is lost[0]._trace
    assert core.trace_ctx.trace is before[0]
    place.context = private("source_info_util").current()
    base.forget_lost_place()
    assert place.context.traceback is None and private("source_info_util").new_source_info().traceback is None


@covers(
    "Trace.process_primitive", "DynamicJaxprTrace.process_custom_jvp_call", "DynamicJaxprTrace.process_custom_vjp_call"
)
def test_operations_come_by_the_methods_of_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("process_primitive", "process_custom_jvp_call", "process_custom_vjp_call")
    calls = [spy(monkeypatch, partial_eval.DynamicJaxprTrace, name) for name in names]
    one, other = jax.custom_jvp(lambda x: x), jax.custom_vjp(lambda x: x)
    one.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    other.defvjp(lambda x: (x, None), lambda _, cotangent: (cotangent,))
    jax.make_jaxpr(lambda x: (jnp.sin(x), one(x), other(x)))(1.0)
    assert [name for name, seen in zip(names, calls, strict=True) if not seen] == []


@covers("DynamicJaxprTrace.stage_value", "JaxprStackFrame.constid_to_tracer")
def test_a_trace_of_a_cell_gives_new_tracers_where_arrays_would_be_new() -> None:
    def look(x: Any) -> Any:
        array = jax.lax.stop_gradient(x)
        identity.answer_as_eager(core.trace_ctx.trace, True, [], asked.append, asked.append)
        assert jax.lax.stop_gradient(x) is x and (x + 0) is not x and identity.handed_on(array) is x
        value = constant.copy()
        one, same = jnp.asarray(value), jnp.asarray(value)
        assert one is not same and identity.array_of(x) is not x and identity.twin(x).val is x.val
        return array

    constant = np.arange(3.0)
    asked = UserList[Any]()
    inside(look, jnp.ones(3))


@covers("DynamicJaxprTrace.emit_eqn", "core.Primitive", "Primitive.def_abstract_eval", "core.no_effects")
def test_an_equation_can_be_added_to_an_outer_trace() -> None:
    def look(x: Any) -> Any:
        jax.vmap(lambda y: lifted.append(hosted._lift([x], "n", 2.0)) or y)(jnp.ones(3))  # type: ignore
        assert lifted[0]._trace is x._trace
        assert "n" in [hosted.hosted_name(eqn) for eqn in base.equations_so_far()]

    lifted: list[Any] = []
    inside(look, 1.0)


@covers("Primitive.multiple_results")
def test_a_primitive_says_whether_it_gives_several_results() -> None:
    closed = jax.make_jaxpr(lambda x: (jnp.sin(x), jax.lax.scan(lambda c, _: (c, None), x, None, 2)))(1.0)
    assert {eqn.primitive.name: eqn.primitive.multiple_results for eqn in closed.eqns} == {"sin": False, "scan": True}


@covers("core.Literal", "Literal.val")
def test_a_literal_has_a_value_and_a_variable_has_none() -> None:
    (eqn,) = jax.make_jaxpr(lambda x: x + 1.0)(1.0).eqns
    assert [hasattr(atom, "val") for atom in eqn.invars] == [False, True] and eqn.invars[1].val == 1.0
    made = core.Literal(3, jax.typeof(3))
    assert made.val == 3 and made.aval == jax.typeof(3)


@covers("Tracer.__getattr__", "Tracer.__hash__", "Tracer.__iter__", "Tracer.__repr__", "core.ShapedArray.update")
def test_questions_to_a_tracer_come_by_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = {name: spy(monkeypatch, core.Tracer, name) for name in ("__getattr__", "__iter__", "__repr__")}

    def look(x: Any) -> Any:
        assert not hasattr(x, "colour") and len([*x]) == 2 and repr(x)
        with pytest.raises(TypeError, match="hash"):
            hash(x)
        return x.aval.update(shape=(4,)).shape

    assert inside(look, jnp.ones(2)) == (4,)
    assert [name for name, seen in calls.items() if not seen] == []


@covers("core.is_concrete", "DynamicJaxprTrace._new_const", "jax.core.Tracer", "api._device_get")
def test_what_stands_in_while_a_cell_is_traced_is_asked() -> None:
    class Asked:
        def __init__(self) -> None:
            self.names: set[str] = set()

        def __getattr__(self, name: str) -> Any:
            def answer(*arguments: Any) -> Any:
                self.names.add(name)
                return NotImplemented if name == "on_numpy" else None

            return answer

    asked: Any = Asked()

    def look(x: Any, n: Any) -> Any:
        with watch.watch_trace(HERE, asked) as seen:
            large = np.ones((64, 64))
            assert isinstance(x, jax.core.Tracer) and jax.core.Tracer is not core.Tracer
            jax.device_get(x)
            jnp.power(2, n)
            assert len([*x]) == 64 and repr(x)
            constants: list[Any] = [x + large, x + large]
            jax.lax.scan(lambda c, y: (c, y), np.ones(3), x)
            with pytest.raises(jax.errors.ConcretizationTypeError):
                float(x[0])
        assert constants[0]._trace in seen.with_constants and seen.constants and seen.errors
        assert jax.core.Tracer is core.Tracer

    inside(look, jnp.ones(64), 2)
    assert {"on_device_get", "on_exponent", "on_walk", "on_library_text", "on_library_test"} <= asked.names


@covers("loops._maybe_put")
def test_what_the_body_of_a_scan_hands_on_is_put_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, value = spy(monkeypatch, private("lax.control_flow.loops"), "_maybe_put"), np.ones(4, np.float32)
    inside(lambda x: jax.lax.scan(lambda carry, y: (carry + 1, y), x, value), 1.0)
    assert [call[0] is value for call in calls] == [True]
