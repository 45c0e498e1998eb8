"""The one door to private JAX: every name below has no public equivalent in the versions that are supported.

Each entry says what is missing in public. All were checked on jax 0.10.2 and 0.12.0. When a name is gone, importing
this module raises `ImportError` or `AttributeError` with that name, rather than degrading silently.
"""

from __future__ import annotations

import os
import re
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeGuard

import jax
from jax import errors as jax_errors
from jax._src import (
    config as _config,  # the ambient context that keys JAX's own caches is not public
    core as _core,  # jax.core.Tracer is another while code is watched; the trace of a tracer is not public
    source_info_util as _source_info,  # `jax.extend` has the same function, and loads much more
)
from jax._src.api_util import InternalFloatingPointError as _BadValue  # what a compiled program raises for nans
from jax._src.array import ArrayImpl as _ArrayImpl  # the concrete class behind jax.Array
from jax._src.interpreters.partial_eval import DynamicJaxprTrace as _JaxprTrace
from jax._src.named_sharding import UnspecifiedValue as _Unspecified  # what jit notes where nothing was told
from jax._src.random.prng import PRNGKeyArray as _PRNGKeyArray  # the concrete class of arrays of keys
from jax._src.tree_util import _registry  # pyright: ignore[reportPrivateUsage]
from jax.core import eval_jaxpr
from jax.experimental.layout import Format
from jax.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer
from jax.ref import AbstractRef

from jaxnb.runtime import OWN_FOLDER

_source_info.register_exclusion(OWN_FOLDER)  # what stands in for parts of JAX is no code of the user's

Tracer: type = _core.Tracer
PYTREES: Container[type] = _registry
"""The classes of which JAX takes the objects apart. There is no public way to ask this of a class."""
Array: type = _ArrayImpl
KeyArray: type = _PRNGKeyArray

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
    """What JAX adds to the key of its own tracing cache, and settings beside that change what is traced or runs.

    Holds x64, matmul precision, default device, mesh, user contexts. Hashable and comparable.
    """
    config = jax.config
    return (_config.trace_context(), *(getattr(config, name, None) for name in _BESIDE))


_BESIDE = (
    *("jax_debug_nans", "jax_debug_infs", "jax_default_device"),
    *("jax_default_prng_impl", "jax_enable_custom_prng", "jax_legacy_prng_key"),
    *("jax_disable_most_optimizations", "jax_compiler_enable_remat_pass", "jax_bcoo_cusparse_lowering"),
)


def default_device_of(context: tuple[Any, ...]) -> Any:
    """The default device in a result of `trace_context`; None if none was set."""
    return context[1 + _BESIDE.index("jax_default_device")]


def value_checks() -> str:
    """The setting by which JAX looks into each operation or transfer, such as "jax_debug_nans"; "" if none is set."""
    config = jax.config
    found = next((name for name in _FLAGS if getattr(config, name)), "")
    return found or next((name for name in _GUARDS if getattr(config, name) in REFUSING), "")


_FLAGS = ("jax_debug_nans", "jax_debug_infs", "jax_debug_key_reuse")
_GUARDS = tuple(f"jax_transfer_guard_{way}" for way in ("host_to_device", "device_to_device", "device_to_host"))
REFUSING = ("disallow", "disallow_explicit", "log", "log_explicit")
"""Values of a transfer guard by which JAX says something of single transfers."""


def raise_bad_value(error: BaseException, closed_jaxpr: Any, arguments: Sequence[Any]) -> None:
    """Raises what JAX raises of a program in which `value_checks` found something: which operation gave it.

    Args:
      error: what the program raised; anything else is left alone.
      closed_jaxpr: of the program, which is computed once more, operation by operation.
      arguments: of the program.

    Raises:
      FloatingPointError: if that is what the error is about.
    """
    if not isinstance(error, _BadValue):
        return
    eval_jaxpr(closed_jaxpr.jaxpr, closed_jaxpr.consts, *arguments)  # its function would not look for nans
    where = "the compiled program of this cell; its operations one by one give none"
    raise FloatingPointError(f"invalid value ({error.ty}) encountered in {where}") from None


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
    found = [f"{n} {a!r} → {b!r}" for n, a, b in zip(_BESIDE, old[1:], new[1:], strict=True) if a != b]
    for name, a, b in zip(_config.trace_context_names(), old[0], new[0], strict=False):
        if a is not b and a != b:
            found.append(f"{name} {a!r} → {b!r}")
    if len(old[0]) != len(new[0]):
        found.append("a module that was imported since added settings to JAX's context")
    return found


def thread_state() -> Callable[[], None]:
    """What puts back the trace, the place in the code and the settings that JAX keeps for this thread.

    JAX does so itself at the end of its contexts, and not where an interrupt comes between two of its instructions.
    """
    local = [setting.get_local() for setting in _SETTINGS]
    trace, axes = _core.trace_ctx.trace, _core.trace_ctx.axis_env
    place = _PLACE.context

    def put_back() -> None:
        for setting, value in zip(_SETTINGS, local, strict=True):
            setting.set_local(value)
        _core.trace_ctx.set_trace(trace)
        _core.trace_ctx.set_axis_env(axes)
        _PLACE.context = place

    return put_back


def forget_lost_place() -> None:
    """Lets go of a place in the code that an interrupt has left in JAX, which would be that of whatever is traced next.

    In code that is not traced JAX has none.
    """
    if _PLACE.context.traceback is not None and _core.trace_state_clean():
        _PLACE.context = _source_info.new_source_info()


_PLACE: Any = _source_info._source_info_context  # pyright: ignore[reportPrivateUsage]
_SETTINGS: list[Any] = [
    setting for setting in vars(_config).values() if hasattr(setting, "set_local") and not isinstance(setting, type)
]
user_context = jax.make_user_context()
"""A public context whose value is part of JAX's tracing caches; a value of its own keeps a trace out of them."""
_SETTINGS.append(user_context._obj)  # pyright: ignore[reportPrivateUsage]


@contextmanager
def unfiltered_tracebacks() -> Generator[None]:
    """Keeps JAX from cutting the frames out of exceptions, so that they can be read and cut here."""
    state = _config.traceback_filtering
    with state("off"):
        yield


def is_reference(value: object) -> bool:
    """Whether this is a mutable array reference, as `jax.new_ref` makes it."""
    return str(type(value).__module__).startswith("jax.") and isinstance(getattr(value, "aval", None), AbstractRef)


def is_tracer(value: object) -> bool:
    """Whether `value` is a tracer of any kind."""
    return isinstance(value, _core.Tracer)


def is_concrete(value: object) -> TypeGuard[jax.Array]:
    """Whether `value` is an array, of numbers or of keys, and no tracer; it may be deleted."""
    return issubclass(type(value), jax.Array) and not is_tracer(value)


def array_class(value: Any) -> type:
    """The class of the array that a tracer or a shape stands for."""
    return KeyArray if jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key) else Array


def is_tracer_type(kind: type) -> bool:
    """Whether objects of this type are tracers; nothing of an object is run, which may be a dead weak proxy."""
    return issubclass(kind, _core.Tracer)


def trace_of(tracer: Any) -> object:
    """The trace that made a tracer; tracers of one trace share it."""
    return tracer._trace


def current_trace() -> object:
    """The trace under which code runs now."""
    return _core.trace_ctx.trace


def is_tracing() -> bool:
    """Whether code that runs now is traced, or transformed, by somebody."""
    return not _core.trace_state_clean()


class EquationSizes:
    """Counts equations with those inside of them."""

    def __init__(self) -> None:
        self._inside: dict[int, tuple[Any, int]] = {}  # by id, with what has it

    def of(self, eqn: Any) -> int:
        """One, and what is inside."""
        return 1 + sum(map(self._in, inner_jaxprs(eqn)))

    def _in(self, jaxpr: Any) -> int:
        known = self._inside.get(id(jaxpr))
        if known is None:
            known = self._inside[id(jaxpr)] = (jaxpr, sum(map(self.of, jaxpr.eqns)))
        return known[1]


def count_eqns(closed_jaxpr: Any) -> int:
    """How many equations a jaxpr has, with those inside of them, which count wherever they are called."""
    return sum(map(EquationSizes().of, closed_jaxpr.eqns))


def inner_jaxprs(eqn: Any) -> Iterable[Any]:
    """The jaxprs in the parameters of an equation; `jaxprs_in_params` is not public."""
    return _core.jaxprs_in_params(eqn.params)


class EquationCount:
    """Counts the equations of the trace that is current when it is made, and those inside of them.

    Nothing public tells how far a trace has come: `DynamicJaxprTrace.frame.tracing_eqns` is the list that grows.
    """

    def __init__(self) -> None:
        self._eqns: list[Any] = _core.trace_ctx.trace.frame.tracing_eqns  # type: ignore[attr-defined]
        self._seen = self._total = 0
        self._sizes = EquationSizes()

    def now(self) -> int:
        """How many there are by now; one that nothing uses may have been dropped, and counts if it was seen."""
        new, self._seen = self._eqns[self._seen :], len(self._eqns)
        self._total += sum(map(self._sizes.of, _alive(new)))
        return self._total


class _Noticed(list[Any]):
    """A list of equations that tells when it has grown by a part."""

    def __init__(self, every: int, look: Callable[[Iterable[Any]], None]) -> None:
        super().__init__()
        self._every = self._next = every
        self._look = look

    def append(self, eqn: Any) -> None:
        super().append(eqn)
        if len(self) >= self._next:
            self._next = max(len(self) + self._every, 2 * len(self))
            self._look(_alive(self))


def _alive(eqns: Iterable[Any]) -> Iterator[Any]:
    found = (item() if isinstance(item, weakref.ref) else item for item in eqns)
    return (eqn for eqn in found if eqn is not None)


def notice_equations(every: int, look: Callable[[Iterable[Any]], None]) -> None:
    """Has the trace that has just begun show its equations to `look` when there are many, and then ever more."""
    frame: Any = _core.trace_ctx.trace.frame  # type: ignore[attr-defined]
    assert not frame.tracing_eqns
    frame.tracing_eqns = _Noticed(every, look)


def surrounding_trace() -> object:
    """The trace in which the equations of code that runs now end up: below those of `grad`, `vmap` and the like."""
    trace = _core.trace_ctx.trace
    while not isinstance(trace, _JaxprTrace) and (parent := getattr(trace, "parent_trace", None)) is not None:
        trace = parent
    return trace


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


def is_of_custom_rule(tracer: Any) -> bool:
    """Whether a tracer is of a function under `jax.custom_jvp` or `jax.custom_vjp`, which without a trace around it is
    called with arrays."""
    frame = getattr(trace_of(tracer), "frame", None)
    return frame is not None and str(frame.debug_info.traced_for).startswith("custom_")


def is_batched(tracer: Any) -> bool:
    """Whether a tracer stands for one position of a `jax.vmap`, perhaps below other transformations."""
    return any(type(trace_of(item)).__name__ == "BatchTrace" for item in tracers_below(tracer))


def sources_of(tracer: Any, inputs: Sequence[Any]) -> tuple[set[int], bool]:
    """Which of `inputs` a tracer was computed from, by position, and whether every path led to one of them.

    The second part is False where a path ends in something else: another trace's argument, or an operation without
    operands (then the value is the same in every run).
    """
    places = {id(value.val): index for index, value in enumerate(inputs)}  # two tracers may be of one value
    found: set[int] = set()
    known = True
    seen: set[int] = set()
    stack = base_tracers(tracer)
    while stack:
        item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if id(item.val) in places:
            found.add(places[id(item.val)])
            continue
        parent = getattr(item, "parent", None)
        if parent is None:
            known = False
            continue
        stack.extend(value for value in parent.in_tracers if isinstance(value, _core.Tracer))
    return found, known


_JITTED = type(jax.jit(lambda: None))
JIT_ARGUMENTS = (
    "static_argnums",
    "static_argnames",
    "donate_argnums",
    "donate_argnames",
    "keep_unused",
    "inline",
)
"""The options of `jax.jit` that a jitted function keeps as they were given."""
INLINE_EARLY: Any = getattr(getattr(jax, "Inline", None), "JAX_EARLY", True)
"""The value of the option `inline` by which JAX writes a function out where it is called; `True` before jax 0.12."""


def jit_options(function: Any) -> tuple[tuple[str, Any], ...] | None:
    """The options with which `jax.jit` made a function, or None where `function` is not such a function."""
    if type(function) is not _JITTED:
        return None
    info: Any = getattr(function, "_jit_info", None)  # a copy has none
    if info is None:
        return None
    skipped = ("fun_sourceinfo", "fun_signature")
    return tuple((name, value) for name, value in zip(info._fields, info, strict=True) if name not in skipped)


def jit_arguments(function: Any) -> dict[str, Any] | None:
    """What `jax.jit` was given to make a function, besides what it wraps; None if it cannot be made again from that.

    That is so for what `pjit` and the deprecated `device` and `backend` made.
    """
    told = dict(jit_options(function) or ())
    if not told or told["device"] is not None or told["backend"] is not None or told["use_resource_env"]:
        return None
    arguments = {name: told[name] for name in JIT_ARGUMENTS}
    for side in ("in", "out"):
        shardings, layouts = told[f"{side}_shardings_leaves"], told[f"{side}_layouts_leaves"]
        if len(shardings) != len(layouts):
            return None
        leaves = [
            sharding if layout is None else Format(layout, sharding)
            for sharding, layout in zip(shardings, layouts, strict=True)
        ]
        if any(not isinstance(leaf, _Unspecified) for leaf in leaves):
            arguments[f"{side}_shardings"] = jax.tree_util.tree_unflatten(told[f"{side}_shardings_treedef"], leaves)
    if told["compiler_options_kvs"]:
        arguments["compiler_options"] = dict(told["compiler_options_kvs"])
    return arguments


def with_parts(closed_jaxpr: Any, invars: Sequence[Any], eqns: Sequence[Any], outvars: Sequence[Any]) -> Any:
    """A closed jaxpr with the same constants and other arguments, equations and results."""
    jaxpr = closed_jaxpr.jaxpr
    info = jaxpr.debug_info._replace(arg_names=None, result_paths=None)
    jaxpr = jaxpr.replace(invars=list(invars), eqns=list(eqns), outvars=list(outvars), debug_info=info)
    return jaxpr if hasattr(jaxpr, "consts") else _core.ClosedJaxpr(jaxpr, closed_jaxpr.consts)


def as_function(closed_jaxpr: Any) -> Callable[..., list[Any]]:
    """The function that a closed jaxpr computes."""
    return _core.jaxpr_as_fun(closed_jaxpr)


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


def called_back(eqns: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """What equations, and those inside of them, call of Python while a program runs, as `jax.debug.callback` does.

    Each function comes with the outermost equation.
    """
    within: dict[int, tuple[Any, list[Any]]] = {}

    def called(eqn: Any) -> list[Any]:
        found = _given_to(eqn.params["callback"]) if "callback" in eqn.primitive.name else []
        return [*found, *(function for part in inner_jaxprs(eqn) for function in inside(part))]

    def inside(jaxpr: Any) -> list[Any]:
        if id(jaxpr) not in within:
            within[id(jaxpr)] = jaxpr, [function for eqn in jaxpr.eqns for function in called(eqn)]
        return within[id(jaxpr)][1]

    for eqn in eqns:
        yield from ((eqn, function) for function in called(eqn))


def _given_to(callback: Any) -> list[Any]:
    """What a user gave to be called, out of what JAX has made of it."""
    if (function := getattr(callback, "callback_func", None)) is not None:
        return [function]
    cells = dict(zip(callback.__code__.co_freevars, callback.__closure__ or (), strict=True))
    static = cells["static_args"].cell_contents if "static_args" in cells else {}
    return [cells["callback"].cell_contents, *static.values()] if "callback" in cells else [callback]


def calls_back(closed_jaxpr: Any) -> bool:
    """Whether a program calls Python while it runs, as `jax.debug.callback` and `jax.pure_callback` do."""
    return next(called_back(closed_jaxpr.eqns), None) is not None


def equations_so_far() -> Iterator[Any]:
    """The equations of the trace that is current; those that nothing uses may be gone."""
    return _alive(_core.trace_ctx.trace.frame.tracing_eqns)  # type: ignore[attr-defined]


def is_computed_from(tracer: Any, variables: Iterable[Any]) -> bool:
    """Whether a tracer of the trace that is current was computed from any of these variables, or was put somewhere."""
    of = set(variables)
    for eqn in equations_so_far():
        atoms = [item.val for item in eqn.in_tracers]
        if eqn.primitive.name == "device_put" or any(not hasattr(atom, "val") and atom in of for atom in atoms):
            of.update(eqn.outvars)
    return tracer.val in of


def flatten_one_level(value: Any) -> tuple[list[Any], Any] | None:
    """The children of a registered pytree node and the treedef that holds its static data; None if it is a leaf."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # an iterator is a leaf, and JAX says so
        try:
            children, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda item: item is not value)
        except Exception:  # the flattening of the user's own class may raise anything
            return None
    if len(children) == 1 and children[0] is value:
        return None
    return children, treedef


def in_jax(path: str) -> bool:
    """Whether a file belongs to JAX."""
    return path.startswith(_JAX_FOLDERS)


def as_equation(eqn: Any) -> Any:
    """An equation of a trace that is not over, as far as it is that of the jaxpr to be."""
    parts = {name: getattr(eqn, name) for name in ("primitive", "params", "source_info", "outvars")}
    return types.SimpleNamespace(**parts, invars=[item.val for item in eqn.in_tracers])


def made_by_operator(eqn: Any) -> bool:
    """Whether user code made an equation by an operator or a method of a value, not by calling a function of JAX.

    `JaxprEqn.source_info` is not public. The outermost frame of JAX below the user's is the one that was called. What
    `x.at[i].set` does with its index is none of the user's arithmetic.
    """
    traceback = eqn.source_info.traceback
    file = function = ""
    for frame in traceback.frames if traceback is not None else ():
        if not in_jax(frame.file_name):
            break
        file, function = frame.file_name, frame.function_name
    return file.endswith("array_methods.py") and not function.startswith("_IndexUpdateRef")
