"""The one door to private JAX: every name below has no public equivalent in the versions that are supported.

Each entry says what is missing in public. All were checked on jax 0.10.2 and 0.12.0. When a name is gone, importing
this module raises `ImportError` or `AttributeError` with that name, rather than degrading silently.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax import errors as jax_errors
from jax._src import config as _config  # the ambient context that keys JAX's own caches is not public
from jax._src import core as _core  # jax.core.Tracer is deprecated; the trace of a tracer is not public
from jax._src.array import ArrayImpl as _ArrayImpl  # the concrete class behind jax.Array
from jax._src.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer

Tracer: type = _core.Tracer
Array: type = _ArrayImpl

TRACING_ERRORS: tuple[type[Exception], ...] = (
    jax_errors.ConcretizationTypeError,
    jax_errors.NonConcreteBooleanIndexError,
    jax_errors.TracerArrayConversionError,
    jax_errors.TracerBoolConversionError,
    jax_errors.TracerIntegerConversionError,
)


def page_of(error: BaseException) -> str:
    """The page on which JAX explains a kind of error of its own; "" for any other."""
    name = type(error).__name__
    known = getattr(jax_errors, name, None) is type(error)
    return f"https://docs.jax.dev/en/latest/errors.html#jax.errors.{name}" if known else ""


SHOWN_ERRORS: tuple[type[Exception], ...] = (*TRACING_ERRORS, jax_errors.UnexpectedTracerError)
"""Errors about tracers that have a class of their own."""

_SPEAKS_OF_TRACERS = re.compile(
    r"JitTracer|DynamicJaxprTracer|JVPTracer|BatchTracer|LinearizeTracer|[Tt]raced array|concrete values?\b|trace level"
    r"|Slice entries must be static|indices must have static|Error interpreting argument to .* as an abstract array"
    r"|must have __hash__"
)


def speaks_of_tracers(error: BaseException) -> bool:
    """Whether an error is about a tracer. Many of JAX, and of libraries on it, have no class of their own."""
    return isinstance(error, SHOWN_ERRORS) or _SPEAKS_OF_TRACERS.search(str(error)) is not None


JAX_PACKAGES = ("jax", "jaxlib")
_JAX_FOLDERS = tuple(os.path.dirname(str(sys.modules[name].__file__)) for name in JAX_PACKAGES)


def settle() -> None:
    """Loads what would change JAX's context when a library loads it later, between the runs of a cell (on 0.12)."""
    import jax.extend.core  # noqa: F401  # pyright: ignore[reportUnusedImport]


def trace_context() -> tuple[Any, ...]:
    """What JAX adds to the key of its own tracing cache, and the debug flags that change what runs.

    Holds x64, matmul precision, default device, mesh, user contexts. Hashable and comparable.
    """
    config = jax.config
    return (_config.trace_context(), config.jax_debug_nans, config.jax_debug_infs, config.jax_default_device)  # type: ignore[attr-defined]


def config_values() -> dict[str, Any]:
    """Every configuration value by name, as set for the process."""
    return dict(jax.config.values)


def restore_config(values: Mapping[str, Any]) -> None:
    """Sets the configuration back to what `config_values` gave."""
    now = config_values()
    for name, old in values.items():
        if now[name] != old:
            jax.config.update(name, old)


def context_names(old: tuple[Any, ...], new: tuple[Any, ...]) -> list[str]:
    """Describes what differs between two results of `trace_context`."""
    names = ["jax_debug_nans", "jax_debug_infs", "jax_default_device"]
    found = [f"{n} {a!r} → {b!r}" for n, a, b in zip(names, old[1:], new[1:], strict=True) if a != b]
    for name, a, b in zip(_config.trace_context_names(), old[0], new[0], strict=False):
        if a is not b and a != b:
            found.append(f"{name} {a!r} → {b!r}")
    if len(old[0]) != len(new[0]):
        found.append("a module that was imported since added settings to JAX's context")
    return found


user_context = jax.make_user_context()
"""A public context whose value is part of JAX's tracing caches; a value of its own keeps a trace out of them."""


@contextmanager
def unfiltered_tracebacks() -> Generator[None]:
    """Keeps JAX from cutting the frames out of exceptions, so that they can be read and cut here."""
    state = _config.traceback_filtering
    with state("off"):
        yield


def is_reference(value: object) -> bool:
    """Whether this is a mutable array reference, as `jax.new_ref` makes it."""
    return type(value).__module__.startswith("jax.") and type(getattr(value, "aval", None)).__name__ == "AbstractRef"


def is_tracer(value: object) -> bool:
    """Whether `value` is a tracer of any kind."""
    return isinstance(value, _core.Tracer)


def is_tracer_type(kind: type) -> bool:
    """Whether objects of this type are tracers; nothing of an object is run, which may be a dead weak proxy."""
    return issubclass(kind, _core.Tracer)


def trace_of(tracer: Any) -> object:
    """The trace that made a tracer; tracers of one trace share it."""
    return tracer._trace


def current_trace() -> object:
    """The trace under which code runs now."""
    return _core.trace_ctx.trace


def current_trace_state() -> Any:
    """The trace that is current, as objects that must not be used inside another one remember it (flax nnx does)."""
    return _core.get_opaque_trace_state(convention="nnx")


TraceState: type = type(current_trace_state())


def tracers_below(tracer: Any) -> list[Any]:
    """A tracer, and those that it wraps, as one of a JVP, a batch or a linearization does; the outer ones first."""
    found: dict[int, Any] = {}
    queue = [tracer]
    while queue:
        item = queue.pop(0)
        if isinstance(item, _core.Tracer) and id(item) not in found:
            found[id(item)] = item
            if not isinstance(item, _JaxprTracer):
                queue.extend(getattr(item, name, None) for name in ("primal", "tangent", "val"))
    return list(found.values())


def base_tracers(tracer: Any) -> list[Any]:
    """The jaxpr tracers below a tracer of a transformation; of one of a jaxpr trace, itself."""
    return [item for item in tracers_below(tracer) if isinstance(item, _JaxprTracer)]


def is_batched(tracer: Any) -> bool:
    """Whether a tracer stands for one position of a `jax.vmap`, perhaps below other transformations."""
    return any(type(trace_of(item)).__name__ == "BatchTrace" for item in tracers_below(tracer))


def sources_of(tracer: Any, inputs: Sequence[Any]) -> tuple[set[int], bool]:
    """Which of `inputs` a tracer was computed from, by position, and whether every path led to one of them.

    The second part is False where a path ends in something else: another trace's argument, or an operation without
    operands (then the value is the same in every run).
    """
    places = {id(value): index for index, value in enumerate(inputs)}
    found: set[int] = set()
    known = True
    seen: set[int] = set()
    stack = base_tracers(tracer)
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if id(item) in places:
            found.add(places[id(item)])
            continue
        parent = getattr(item, "parent", None)
        if parent is None:
            known = False
            continue
        stack.extend(value for value in parent.in_tracers if isinstance(value, _core.Tracer))
    return found, known


_JITTED = type(jax.jit(lambda: None))


def jit_options(function: Any) -> tuple[tuple[str, Any], ...] | None:
    """The options with which `jax.jit` made a function, or None where `function` is not such a function."""
    if type(function) is not _JITTED:
        return None
    info: Any = getattr(function, "_jit_info", None)  # a copy has none
    if info is None:
        return None
    skipped = ("fun_sourceinfo", "fun_signature")
    return tuple((name, value) for name, value in zip(info._fields, info, strict=True) if name not in skipped)


def with_parts(closed_jaxpr: Any, invars: Sequence[Any], eqns: Sequence[Any], outvars: Sequence[Any]) -> Any:
    """A closed jaxpr with the same constants and other arguments, equations and results."""
    jaxpr = closed_jaxpr.jaxpr
    info = jaxpr.debug_info._replace(arg_names=None, result_paths=None)
    jaxpr = jaxpr.replace(invars=list(invars), eqns=list(eqns), outvars=list(outvars), debug_info=info)
    return jaxpr if hasattr(jaxpr, "consts") else _core.ClosedJaxpr(jaxpr, closed_jaxpr.consts)


def as_function(closed_jaxpr: Any) -> Callable[..., list[Any]]:
    """The function that a closed jaxpr computes."""
    return _core.jaxpr_as_fun(closed_jaxpr)


def mixes_devices(closed_jaxpr: Any, leaves: Sequence[Any]) -> bool:
    """Whether some results of a jaxpr are spread over devices, and others have nothing to do with these.

    As one program all of them would be spread, where each operation by itself leaves the others on one device.

    Args:
      closed_jaxpr: whose last arguments are the leaves.
      leaves: the inputs.
    """
    jaxpr = closed_jaxpr.jaxpr
    inputs = jaxpr.invars[len(jaxpr.invars) - len(leaves) :]
    spread = {var for var, leaf in zip(inputs, leaves, strict=True) if _is_spread(getattr(leaf, "sharding", None))}
    for eqn in jaxpr.eqns:
        if _spreads(eqn) or any(var in spread for var in eqn.invars if not hasattr(var, "val")):
            spread.update(eqn.outvars)
    results = [var for var in jaxpr.outvars if not hasattr(var, "val")]
    return bool(spread) and any(var not in spread for var in results)


def _is_spread(sharding: Any) -> bool:
    return isinstance(sharding, jax.sharding.Sharding) and sharding.num_devices > 1


def _spreads(eqn: Any) -> bool:
    """Whether an equation names devices, more than one, on which its results are."""
    mesh = eqn.params.get("mesh")
    if eqn.primitive.name == "shard_map" and mesh is not None and mesh.size > 1:
        return True
    named = [eqn.params.get("sharding"), *eqn.params.get("devices", ())]
    named += [*eqn.params.get("in_shardings", ()), *eqn.params.get("out_shardings", ())]
    return any(_is_spread(sharding) for sharding in named)


def captured_arrays(closed_jaxpr: Any) -> list[Any]:
    """The concrete JAX arrays that a closed jaxpr and the jaxprs inside it hold as constants."""
    found: dict[int, Any] = {}
    stack = [closed_jaxpr]
    while stack:
        closed = stack.pop()
        found.update((id(value), value) for value in getattr(closed, "consts", ()) if isinstance(value, jax.Array))
        for eqn in closed.eqns:
            stack.extend(part for part in jax.tree.leaves(eqn.params) if hasattr(part, "eqns"))
    return list(found.values())


def flatten_one_level(value: Any) -> tuple[list[Any], Any] | None:
    """The children of a registered pytree node and the treedef that holds its static data; None if it is a leaf."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # an iterator is a leaf, and JAX says so
        children, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda item: item is not value)
    if len(children) == 1 and children[0] is value:
        return None
    return children, treedef


def in_jax(path: str) -> bool:
    """Whether a file belongs to JAX."""
    return path.startswith(_JAX_FOLDERS)


def made_by_operator(eqn: Any) -> bool:
    """Whether user code made an equation by an operator or a method of a value, not by calling a function of JAX.

    `JaxprEqn.source_info` is not public. The outermost frame of JAX below the user's is the one that was called.
    """
    traceback = eqn.source_info.traceback
    called = ""
    for frame in traceback.frames if traceback is not None else ():
        if not in_jax(frame.file_name):
            break
        called = frame.file_name
    return called.endswith("array_methods.py")
