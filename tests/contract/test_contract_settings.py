"""Settings and caches: what keys JAX's caches, what changes a setting, and what JAX remembers of functions."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from covering import covers, inside, private, spy

from jaxnb._jax import backend, base, caches, calls, placement

config = private("config")


@covers("config.trace_context", "config.trace_context_names")
def test_the_key_of_the_caches_changes_with_a_setting_and_tells_which() -> None:
    before = base.trace_context()
    assert before == base.trace_context() and hash(before) == hash(base.trace_context())
    with jax.enable_x64(True):
        within = base.trace_context()
    assert within != before == base.trace_context()
    assert base.context_names(before, within) == ["jax_enable_x64 False → True"]
    names = config.trace_context_names()
    assert len(names) == len(config.trace_context()) and "axis_env_state" in names
    assert calls.context_values()["jax_enable_x64"] == "False" and "axis_env_state" not in calls.context_values()


@covers("config.trace_context")
def test_the_key_of_the_caches_changes_with_matmul_precision_mesh_and_user_contexts() -> None:
    before = config.trace_context()
    mesh = jax.make_mesh((1,), ("x",))
    for context in (jax.default_matmul_precision("highest"), jax.set_mesh(mesh), base.user_context("a cell")):
        with context:
            assert config.trace_context() != before
    assert config.trace_context() == before


@covers("Config.values")
def test_all_settings_can_be_read_and_put_back() -> None:
    before = base.config_values()
    assert before["jax_enable_x64"] is False and len(before) > 50
    jax.config.update("jax_debug_infs", True)
    base.restore_config(before)
    assert base.config_values() == before and jax.config.values["jax_debug_infs"] is False


@covers("State.get_local", "State.set_local", "UserConfig._obj", "State.value")
def test_the_settings_of_a_thread_are_put_back() -> None:
    put_back, seen = base.thread_state(), list[Any]()
    before = base.trace_context()
    config.enable_x64.set_local(True)
    assert config.enable_x64.get_local() is True and config.enable_x64.value is True
    context: Any = base.user_context("lost")
    context.__enter__()
    seen.append(base.trace_context())
    put_back()
    assert base.trace_context() == before != seen[0] and config.enable_x64.value is False


@covers("config.traceback_filtering")
def test_all_frames_of_an_error_can_be_read() -> None:
    def frames() -> int:
        with pytest.raises(TypeError) as caught:
            jnp.sin("text")  # type: ignore
        return len(caught.traceback)

    filtered = frames()
    with base.unfiltered_tracebacks():
        assert frames() > filtered
    assert frames() == filtered


@covers(
    *("StateContextManager", "StateContextManager.__enter__", "StateContextManager.state"),
    *("StateContextManager.new_val", "State.value", "dispatch.runtime_tokens", "RuntimeTokenSet.block_until_ready"),
)
def test_what_is_about_to_change_a_setting_is_told() -> None:
    told: list[str] = []
    cpu = jax.devices()[1]
    with placement.note_placements(lambda: None, told.append):
        for context in (
            *(jax.debug_nans(True), jax.debug_infs(True), jax.debug_key_reuse(True)),
            *(jax.default_device(cpu), jax.enable_x64(True)),
            *(jax.transfer_guard_host_to_device("log"), jax.transfer_guard_device_to_device("log")),
            jax.transfer_guard_device_to_host("log"),
        ):
            with context:
                pass
        jax.effects_barrier()
        with jax.debug_nans(False), jax.default_matmul_precision("highest"):
            pass
    assert [text.split()[-1] for text in told] == ["nans", "nans", "keys", "device", "are", *["transfers"] * 3, "do"]
    with jax.debug_nans(True):
        pass
    assert len(told) == 9


@covers("backends_are_initialized")
def test_it_is_known_that_a_backend_has_started() -> None:
    jax.devices()
    assert backend.backend_started()


@covers("InternalFloatingPointError", "InternalFloatingPointError.ty")
def test_the_operation_is_found_that_gave_a_nan() -> None:
    bad = private("api_util").InternalFloatingPointError
    closed = jax.make_jaxpr(lambda x: jnp.log(x) * 2)(1.0)
    with jax.debug_nans(True), pytest.raises(FloatingPointError, match="log"):
        base.raise_bad_value(bad("log", "nan"), closed, [-1.0])
    with pytest.raises(FloatingPointError, match=r"\(nan\)"):
        base.raise_bad_value(bad("log", "nan"), closed, [1.0])
    with jax.debug_nans(True), pytest.raises(bad) as caught:
        closed_over = jax.jit(lambda x: jnp.log(x)).lower(1.0).compile()
        closed_over(jnp.float32(-1.0))
    assert caught.value.ty == "nan"


# --- what is remembered ---


@covers("util._caches", "WeakrefLRUCache.cache_info", "WeakrefLRUCacheInfo.misses", "partial_eval.trace_to_jaxpr")
def test_a_new_trace_is_a_miss_of_the_cache_of_traces() -> None:
    cache = private("interpreters.partial_eval").trace_to_jaxpr
    assert any(cache is item for item in private("util")._caches)
    f = jax.jit(lambda x: x * 2)
    before = cache.cache_info().misses
    f(1.0)
    once = cache.cache_info().misses
    f(2.0)
    assert once > before and cache.cache_info().misses == once
    f(1)
    assert cache.cache_info().misses > once


@covers("WeakrefLRUCache.cache_keys", "WeakrefLRUCache.evict_weakref")
def test_a_key_of_the_cache_of_traces_has_the_function_and_then_the_context() -> None:
    def f(x: Any) -> Any:
        return x * 2

    cache = private("interpreters.partial_eval").trace_to_jaxpr
    with caches.apart():
        jax.jit(f)(1.0)
        keys = [key for key in cache.cache_keys() if key[0]() is f]
        assert len(keys) == 1 and config.trace_context() == keys[0][1]
    assert not [key for key in cache.cache_keys() if key[0]() is f]
    jax.jit(f)(1.0)
    assert [key for key in cache.cache_keys() if key[0]() is f]


@covers("WeakrefLRUCache.cache_clear")
def test_a_cache_that_is_cleared_holds_nothing() -> None:
    cache = private("util").weakref_lru_cache(lambda key, value: value)
    key, value = jnp.sin, type("Value", (), {})()
    cache(key, value)
    alive = weakref.ref(value)
    del value
    gc.collect()
    assert alive() is not None
    cache.cache_clear()
    gc.collect()
    assert alive() is None


@covers("custom_derivatives._closure_convert_for_avals", "_closure_convert_for_avals.__wrapped__")
def test_a_function_that_is_closure_converted_is_held_by_a_cache_unless_that_is_passed_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = private("custom_derivatives")
    original = module._closure_convert_for_avals
    seen = list[Any]()
    monkeypatch.setattr(module, "_closure_convert_for_avals", lambda *args: seen.append(args) or original(*args))
    jax.closure_convert(lambda x: x * 2, 1.0)
    assert seen
    monkeypatch.setattr(module, "_closure_convert_for_avals", original.__wrapped__)

    def f(x: Any) -> Any:
        return x * 2

    alive = weakref.ref(f)
    jax.closure_convert(f, 1.0)
    del f
    gc.collect()
    assert alive() is None


@covers("tree_util._registry")
def test_the_registry_says_of_a_class_whether_it_is_taken_apart() -> None:
    @jax.tree_util.register_pytree_node_class
    class Node:
        def tree_flatten(self) -> tuple[Any, Any]:
            return (), None

        @classmethod
        def tree_unflatten(cls, *_: Any) -> Node:
            return cls()

    assert Node in base.PYTREES and dict in base.PYTREES and tuple in base.PYTREES and int not in base.PYTREES


@covers("source_info_util.register_exclusion")
def test_frames_of_this_package_are_passed_over() -> None:
    util = private("source_info_util")
    frames = inside(lambda x: [frame.file_name for frame in util.user_frames(util.current().traceback)], 1.0)
    assert __file__ in frames and not util.is_user_filename(base.__file__) and util.is_user_filename(__file__)


@covers("pytype_aval_mappings", "register_canonicalize_value_handler")
def test_jax_takes_a_class_that_is_made_known_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine:
        pass

    core, dtypes = private("core"), private("dtypes")
    monkeypatch.setitem(core.pytype_aval_mappings, Mine, lambda _: jax.typeof(jnp.float32(3)))
    dtypes.register_canonicalize_value_handler(Mine, lambda _: jnp.float32(3))
    value: Any = Mine()
    assert float(jax.jit(jnp.sin)(value)) == float(jnp.sin(3.0))
    assert inside(lambda x: (x + jax.lax.sin(value)).shape, 1.0) == ()


@covers("xla_bridge.backends_are_initialized")
def test_spies_see_what_comes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = spy(monkeypatch, private("xla_bridge"), "backends_are_initialized")
    assert backend.backend_started() and seen == [()]
