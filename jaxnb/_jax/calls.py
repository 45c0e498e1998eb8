"""A door to private JAX: what happens when a function under `jax.jit` is called in a way that it does not know yet.

JAX calls two functions of its module `pjit` on such a call, `_infer_params` and `_run_python_pjit`; calls that it knows
are answered in C++ and never come here. No public hook tells which function is called with what: `jax.monitoring` gives
durations with the function's name alone, and the log of `jax_explain_cache_misses` is text. Checked on jax 0.10.2 and
0.12.0.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax
from jax import monitoring
from jax._src import (
    config as _config,  # the names of what keys JAX's caches are not public
    core as _core,  # no public function says whether something is being traced
    pjit as _pjit,  # the slow path of jax.jit
)
from jax._src.interpreters import partial_eval as _partial_eval  # the cache of traces, whose misses are the traces

from jaxnb._jax.base import JIT_ARGUMENTS

__all__ = ["Call", "CallLog", "context_values"]

_SLOW_PATH = ("_infer_params", "_run_python_pjit")
_COMPILED = "/jax/core/compile/backend_compile_duration"
_COMPILING = ("/jax/core/compile/jaxpr_to_mlir_module_duration", _COMPILED)
_OPTIONS = (*JIT_ARGUMENTS, "device", "backend", "compiler_options_kvs")
_SHARDINGS = ("in_shardings_leaves", "out_shardings_leaves", "in_layouts_leaves", "out_layouts_leaves")


@dataclass(slots=True)
class Call:
    """A call of a jitted function that had to be traced or compiled. Valid only while the listener looks at it.

    Attributes:
      function: what `jax.jit` was given.
      options: of `jax.jit`, as texts; `static_argnums` and `static_argnames` as they are.
      args: positional arguments.
      kwargs: keyword arguments.
      traced: whether it was traced, not only compiled.
      seconds: to trace, lower and compile.
    """

    function: Any
    options: Mapping[str, Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    traced: bool
    seconds: float


class _State(threading.local):
    """What is known of the call that a thread is in: `pending` is (id of its arguments, options, seconds or None)."""

    pending: tuple[int, Mapping[str, Any], float | None] | None = None
    compiling: float | None = None


class CallLog:
    """Tells a listener of each call of a jitted function, at top level, that had to be traced or compiled.

    Whatever goes wrong in here or in the listener, the user's call goes on; the log stops then, and `failure` says why.

    Args:
      wanted: whether a function counts; asked often, so it must be quick.
      listener: called when such a call is done, or has failed after it was traced.
      compiled: called for whatever is compiled, by a call or by an operation outside of `jax.jit`, such as a scan:
        with its name and the seconds, while the frames of who asked for it are there.
    """

    def __init__(
        self,
        wanted: Callable[[Any], bool],
        listener: Callable[[Call], None],
        compiled: Callable[[str, float], None] = lambda name, seconds: None,
    ) -> None:
        self._wanted, self._listener, self._compiled = wanted, listener, compiled
        self._state = _State()
        self._originals: tuple[Any, Any] | None = None
        self._ours: tuple[Any, Any] | None = None
        self._on = False
        self.failure = ""

    @property
    def on(self) -> bool:
        """Whether calls are watched."""
        return self._on

    def start(self) -> None:
        """From now on calls are watched, unless JAX has changed where they come along: `failure` says so then."""
        if self._on:
            return
        try:
            infer, run = (getattr(_pjit, name) for name in _SLOW_PATH)
            self._ours = self._hooks(infer, run)
        except AttributeError as error:
            self.failure = f"this JAX has another slow path ({error})"
            return
        self._on, self._originals = True, (infer, run)
        for name, ours in zip(_SLOW_PATH, self._ours, strict=True):
            setattr(_pjit, name, ours)
        monitoring.register_event_duration_secs_listener(self._duration)

    def stop(self) -> None:
        """No longer; everything is as before."""
        if not self._on:
            return
        self._on = False
        assert self._originals is not None and self._ours is not None
        for name, ours, original in zip(_SLOW_PATH, self._ours, self._originals, strict=True):
            if getattr(_pjit, name) is ours:  # otherwise somebody has put theirs around it, and it only hands on
                setattr(_pjit, name, original)
        with contextlib.suppress(AssertionError, ValueError):  # somebody may have cleared all listeners
            monitoring.unregister_event_duration_listener(self._duration)
        self._state = _State()

    def _hooks(self, infer: Any, run: Any) -> tuple[Any, Any]:
        trace_state_clean = _core.trace_state_clean
        misses = _partial_eval.trace_to_jaxpr.cache_info

        def _infer_params(function: Any, info: Any, args: Any, kwargs: Any) -> Any:
            __tracebackhide__ = True
            self._state.pending = None
            if not self._on or not trace_state_clean() or not self._is_wanted(function):
                return infer(function, info, args, kwargs)
            before, start = misses().misses, perf_counter()
            found = infer(function, info, args, kwargs)
            seconds = perf_counter() - start
            self._inferred(info, args, seconds if misses().misses != before else None)
            return found

        def _run_python_pjit(params: Any, flat: Any, function: Any, args: Any, kwargs: Any) -> Any:
            __tracebackhide__ = True
            state = self._state
            pending, state.pending = state.pending, None
            if pending is None or pending[0] != id(args):
                return run(params, flat, function, args, kwargs)
            outer, state.compiling = state.compiling, 0.0
            try:
                return run(params, flat, function, args, kwargs)
            finally:
                compiled, state.compiling = state.compiling, outer
                _, options, traced = pending
                if traced is not None or compiled:
                    seconds = (traced or 0.0) + (compiled or 0.0)
                    self._tell(Call(function, options, args, kwargs, traced is not None, seconds))

        for hook in (_infer_params, _run_python_pjit):
            # Frames of JAX are passed over in tracebacks, in the lines of equations, and wherever it is asked which
            # function of JAX the user called; these stand in the middle of them.
            name = f"{hook.__name__} (watched by jaxnb)"
            hook.__code__ = hook.__code__.replace(co_filename=_pjit.__file__, co_name=name)
        return _infer_params, _run_python_pjit

    def _is_wanted(self, function: Any) -> bool:
        try:
            return self._wanted(function)
        except Exception as error:  # see the class
            self._fail(error)
            return False

    def _inferred(self, info: Any, args: Any, seconds: float | None) -> None:
        """Between the two functions only the id of the arguments is held; they live until the second is done."""
        try:
            self._state.pending = (id(args), _options(info), seconds)
        except Exception as error:  # see the class
            self._fail(error)

    def _tell(self, call: Call) -> None:
        try:
            self._listener(call)
        except Exception as error:  # see the class
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.failure = f"{type(error).__name__}: {error}"
        self.stop()

    def _duration(self, event: str, duration_secs: float, fun_name: str | int = "", **_: Any) -> None:
        state = self._state
        if state.compiling is not None and event in _COMPILING:
            state.compiling += duration_secs
        if event == _COMPILED:
            try:
                self._compiled(str(fun_name).removeprefix("jit(").removesuffix(")"), duration_secs)
            except Exception as error:  # see the class
                self._fail(error)


def _options(info: Any) -> dict[str, Any]:
    """The options of `jax.jit` that were given, by name."""
    found: dict[str, Any] = {}
    for name in _OPTIONS:
        value = getattr(info, name)
        if value not in ((), None, False) and getattr(value, "name", "") != "AUTO":  # of `inline`, since jax 0.12
            found[name] = value if name.startswith("static") else str(value)
    for name in _SHARDINGS:
        leaves = getattr(info, name)
        if any(leaf is not None and type(leaf).__name__ != "UnspecifiedValue" for leaf in leaves):
            found[name.removesuffix("_leaves")] = ", ".join(map(str, leaves))
    return found


def context_values() -> dict[str, str]:
    """The settings and contexts that JAX's own caches depend on, as texts by name."""
    names, values = _config.trace_context_names(), _config.trace_context()
    found = {name: repr(value) for name, value in zip(names, values, strict=False) if name != "axis_env_state"}
    found["jax_default_device"] = repr(jax.config.jax_default_device)  # type: ignore[attr-defined]
    return found
