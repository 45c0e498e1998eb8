"""Functions under `jax.jit`: their options, the slow path of a call, and what is inlined."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from covering import covers, inside, only, private, spy
from jax.sharding import PartitionSpec as P

from jaxnb._jax import base, calls, identity, placement

pjit = private("pjit")


@covers("sin._jit_info", "PjitInfo.fun_sourceinfo", "PjitInfo.fun_signature", "named_sharding.UnspecifiedValue")
@covers("PjitInfo.static_argnums", "PjitInfo.static_argnames", "PjitInfo.donate_argnums", "PjitInfo.donate_argnames")
@covers("PjitInfo.keep_unused", "PjitInfo.inline", "PjitInfo.device", "PjitInfo.backend", "PjitInfo.use_resource_env")
@covers("PjitInfo.compiler_options_kvs", "PjitInfo.in_layouts_leaves", "PjitInfo.out_layouts_leaves")
@covers("PjitInfo.in_shardings_leaves", "PjitInfo.in_shardings_treedef")
@covers("PjitInfo.out_shardings_leaves", "PjitInfo.out_shardings_treedef")
def test_the_options_of_a_jitted_function_make_it_again() -> None:
    def f(x: Any, n: int, *, flag: bool = False) -> Any:
        return x * n, x

    sharding = jax.sharding.NamedSharding(jax.make_mesh((2,), ("x",)), P("x"))
    given: dict[str, Any] = {
        "static_argnums": (1,),
        "static_argnames": ("flag",),
        "donate_argnums": (0,),
        "keep_unused": True,
        "inline": True,
        "out_shardings": (sharding, None),
        "compiler_options": {"xla_embed_ir_in_executable": True},
    }
    first = jax.jit(f, **given)
    found = base.jit_arguments(first)
    assert found is not None and found["static_argnums"] == (1,) and "flag" in found["static_argnames"]
    assert found["donate_argnums"] == (0,) and found["keep_unused"] is True and found["inline"]
    assert found["compiler_options"] == given["compiler_options"]
    assert found["out_shardings"][0] == sharding and "in_shardings" not in found
    again = jax.jit(f, **found)
    assert base.jit_arguments(again) == found and base.jit_options(again) == base.jit_options(first)
    assert base.jit_options(jax.jit(f)) != base.jit_options(first) and base.jit_options(f) is None
    fields = pjit.PjitInfo._fields
    assert {"fun_sourceinfo", "fun_signature"} <= set(fields) and len(base.jit_options(first) or ()) == len(fields) - 2
    one = base.jit_arguments(jax.jit(lambda x: x, in_shardings=sharding))
    assert one is not None and jax.tree.leaves(one["in_shardings"]) == [sharding]


@covers("_infer_params", "_run_python_pjit", "PjitParams.out_tree")
def test_a_call_that_jax_does_not_know_comes_by_two_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    inferred, run = spy(monkeypatch, pjit, "_infer_params"), spy(monkeypatch, pjit, "_run_python_pjit")

    def f(x: Any) -> Any:
        return x * 2

    jitted: Any = jax.jit(f)
    one = jnp.float32(1)
    del inferred[:], run[:]
    jitted(one)
    inferred, run = [call for call in inferred if call[0] is f], [call for call in run if call[2] is f]
    assert len(inferred) == len(run) == 1
    function, info, args, kwargs = inferred[0]
    params, _, again, same_args, _ = run[0]
    assert function is f is again and args == (one,) and kwargs == {} and same_args is args
    assert info is jitted._jit_info and params.out_tree == jax.tree.structure(0)


@covers("_infer_params", "_run_python_pjit", "partial_eval.trace_to_jaxpr", "WeakrefLRUCache.cache_info")
def test_calls_are_logged_with_what_they_cost() -> None:
    def f(x: Any, n: int) -> Any:
        return x * n

    seen: list[calls.Call] = []
    log = calls.CallLog(lambda function: function is f, seen.append)
    jitted = jax.jit(f, static_argnums=1)
    log.start()
    try:
        jitted(jnp.ones(3), 2)
        jitted(jnp.ones(3), 2)
        jitted(jnp.ones(4), 2)
    finally:
        log.stop()
    assert not log.failure and [(call.traced, call.args[0].shape) for call in seen] == [(True, (3,)), (True, (4,))]
    assert all(call.seconds > 0 and call.options["static_argnums"] == (1,) for call in seen)
    assert not any("inline" in call.options for call in seen)


@covers("PjitParams.out_tree")
def test_a_jitted_call_whose_results_have_static_parts_is_noted() -> None:
    def look(x: Any) -> Any:
        with identity.note_jit_calls() as noted:
            jax.jit(lambda y: jax.tree_util.Partial(jnp.sin, y))(x)
            jax.jit(lambda y: (y, [y]))(x)
        return len(noted)

    assert inside(look, 1.0) == 1


@covers("jit", "pjit.jit_p", "custom_staging_rules")
def test_what_is_inlined_comes_by_the_rule_of_staging(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = private("interpreters.partial_eval").custom_staging_rules
    rule, seen = rules[pjit.jit_p], list[Any]()
    monkeypatch.setitem(rules, pjit.jit_p, lambda *a, **k: seen.append((a, k)) or rule(*a, **k))
    early, late = jax.jit(lambda x: jax.lax.sin(x), inline=base.INLINE_EARLY), jax.jit(lambda x: x, keep_unused=True)
    closed = jax.make_jaxpr(lambda x: jax.lax.add(early(x), late(x)))(1.0)
    assert [keywords["inline"] is base.INLINE_EARLY for _, keywords in seen] == [True, False]
    (trace, place, operand), _ = seen[0]
    assert operand._trace is trace and place.traceback is not None
    assert [eqn.primitive.name for eqn in closed.eqns] == ["sin", "jit", "add"]
    eqn = only(closed, "jit")
    assert eqn.primitive is pjit.jit_p and eqn.params["keep_unused"] is True
    assert [inner.primitive.name for inner in eqn.params["jaxpr"].eqns] == []


@covers("jit")
def test_the_equation_of_a_jitted_function_has_its_shardings() -> None:
    sharding = jax.sharding.NamedSharding(jax.make_mesh((2,), ("x",)), P("x"))
    told = jax.jit(lambda x: (x * 2, x), in_shardings=sharding, out_shardings=(sharding, None))
    eqn = only(jax.make_jaxpr(told)(jnp.ones(4)), "jit")
    assert placement.out_shardings_of(eqn) == [sharding, None] and eqn.params["out_layouts"] == (None, None)
    assert list(placement.named_shardings(eqn)) and eqn.params["in_shardings"] == (sharding,)


@covers("jaxprs_in_params", "jaxpr_as_fun")
def test_jaxprs_inside_of_an_equation_are_found_and_computed() -> None:
    closed = jax.make_jaxpr(lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x))(1.0)
    inner = [[*base.inner_jaxprs(eqn)] for eqn in closed.eqns]
    assert [len(found) for found in inner][-1] == 2 and base.EquationSizes().of(closed.eqns[-1]) == 3
    assert base.as_function(closed)(1.0) == [jnp.sin(1.0)]


@covers("callback._FlatCallback.callback_func", "debug_callback", "pure_callback", "io_callback")
def test_what_a_program_calls_of_python_is_found() -> None:
    from jax.experimental import io_callback

    def note(x: Any) -> None:
        return None

    def value(x: Any) -> Any:
        return x

    shape = jax.ShapeDtypeStruct((), jnp.float32)

    def f(x: Any) -> Any:
        jax.debug.callback(note, x)
        jax.debug.callback(note, x, fmt=value)
        return jax.pure_callback(value, shape, x) + io_callback(value, shape, x)

    closed = jax.make_jaxpr(f)(1.0)
    found = [(eqn.primitive.name, function) for eqn, function in base.called_back(closed.eqns)]
    assert ("debug_callback", note) in found and ("debug_callback", value) in found
    assert ("pure_callback", value) in found and ("io_callback", value) in found and base.calls_back(closed)
