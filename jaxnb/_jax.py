"""The one door to private JAX: every name below has no public equivalent in the versions that are supported.

Each entry says what is missing in public. All were checked on jax 0.10.2 and 0.12.0. When a name is gone, importing
this module raises `ImportError` or `AttributeError` with that name, rather than degrading silently.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType, FrameType
from typing import Any

import jax
import jax.numpy as jnp
from jax import errors as jax_errors
from jax._src import config as _config  # the ambient context that keys JAX's own caches is not public
from jax._src import core as _core  # jax.core.Tracer is deprecated; the trace of a tracer is not public
from jax._src import custom_derivatives as _custom_derivatives
from jax._src import source_info_util as _source_info  # `current` is what JAX itself calls for each equation
from jax._src.array import ArrayImpl as _ArrayImpl  # the concrete class behind jax.Array
from jax._src.interpreters.ad import JVPTracer as _JVPTracer  # the kinds of tracers are not public
from jax._src.interpreters.partial_eval import DynamicJaxprTrace as _JaxprTrace
from jax._src.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer
from jax._src.shard_map import ShardMapTracer as _ShardMapTracer

from jaxnb.reach import is_jax_module, is_library, is_own

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
    return dict(jax.config.values)  # type: ignore[attr-defined]


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


class TraceLog:
    """Weak references to the traces that began while it was on. A tracer that leaks keeps its trace alive."""

    def __init__(self) -> None:
        self._references: list[Any] = []
        self._places: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        self._saved: list[tuple[Any, Any]] = []
        self._most = 1000

    def start(self) -> None:
        """Takes a reference as each trace begins. There is no public hook for this; it costs about a microsecond."""
        if self._saved:
            return
        self._saved = [(kind, kind.__init__) for kind in (_core.Trace, _JVPTracer, _ShardMapTracer)]
        begin, differentiate, shard = (original for _, original in self._saved)
        places, current = self._places, _source_info.current

        def begun(trace: Any) -> None:
            begin(trace)
            self._references.append(trace._weakref)
            if isinstance(trace, _JaxprTrace):  # tracers of the others remember the call that they came from
                places[trace] = current()
            if len(self._references) > self._most:
                self._forget_the_dead()

        def differentiated(tracer: Any, trace: Any, *args: Any) -> None:
            differentiate(tracer, trace, *args)
            if type(trace.parent_trace) is _core.EvalTrace:  # else a tracer below remembers the line
                tracer._line_info = current()

        def sharded(tracer: Any, *args: Any) -> None:
            shard(tracer, *args)
            tracer._line_info = current()

        for (kind, _), hook in zip(self._saved, (begun, differentiated, sharded), strict=True):
            kind.__init__ = hook

    def stop(self) -> None:
        """Takes no more."""
        while self._saved:
            kind, original = self._saved.pop()
            kind.__init__ = original
        self._references.clear()
        self._places.clear()

    def _forget_the_dead(self) -> None:
        """Keeps the list short where traces begin by the thousand, as they do in a loop of eager transformations."""
        self._references[:] = [reference for reference in self._references if reference() is not None]
        self._most = 1000 + 2 * len(self._references)

    def began_at(self, trace: Any) -> Any:
        """Where a function was called that is traced to a jaxpr, as something with the `source_info` of an equation."""
        info = self._places.get(trace)
        return _MadeAt(info) if info is not None and info.traceback is not None else None

    def alive(self) -> list[Any]:
        """The traces that something still holds, those excepted under which code of this thread runs now."""
        now = trace_ctx_stack()
        return [trace for reference in self._references if (trace := reference()) is not None and id(trace) not in now]

    def forget(self, running: Collection[int] = ()) -> None:
        """What is alive now is known, except for the traces with these ids."""
        alive = [trace for reference in self._references if (trace := reference()) is not None]
        self._references[:] = [trace._weakref for trace in alive if id(trace) in running]


def trace_ctx_stack() -> set[int]:
    """Ids of the traces under which code of this thread runs."""
    return traces_behind([_core.trace_ctx.trace])


def traces_behind(values: Iterable[Any]) -> set[int]:
    """Ids of the traces among some values, and of those that they hand their operations on to."""
    found: set[int] = set()
    stack = [value for value in values if issubclass(type(value), _core.Trace)]
    while stack:
        trace = stack.pop()
        if trace is not None and id(trace) not in found:
            found.add(id(trace))
            stack.extend(getattr(trace, name, None) for name in ("parent_trace", "tangent_trace", "jaxpr_trace"))
    return found


def is_invalid(tracer: Any) -> bool:
    """Whether JAX itself has marked the trace of a tracer as ended, which it does for some kinds of traces only."""
    return not trace_of(tracer).is_valid()  # type: ignore[attr-defined]


class _MadeAt:
    """An equation's face for what a tracer remembers of the place where it was made."""

    def __init__(self, info: Any) -> None:
        self.source_info = info


def made_at(tracer: Any) -> Any:
    """Where a tracer, or one below it, was made, as something with the `source_info` of an equation, or None."""
    for item in _tracers_below(tracer):
        for name in ("_line_info", "source_info"):
            info = getattr(item, name, None)
            if getattr(info, "traceback", None) is not None:
                return _MadeAt(info)
    return None


def _tracers_below(tracer: Any) -> list[Any]:
    """A tracer, and those that it wraps, the outer ones first."""
    found: dict[int, Any] = {}
    queue = [tracer]
    while queue:
        item = queue.pop(0)
        if isinstance(item, _core.Tracer) and id(item) not in found:
            found[id(item)] = item
            if not isinstance(item, _JaxprTracer):
                queue.extend(getattr(item, name, None) for name in ("primal", "tangent", "val"))
    return list(found.values())


_TRANSFORMATIONS = {
    "JVP": "jax.jvp",
    "Linearize": "jax.grad",
    "Batch": "jax.vmap",
    "ShardMap": "jax.shard_map",
    "Remat": "jax.checkpoint",
}


_RULES = {"_flatten_fwd": "custom_vjp fwd", "_flatten_bwd": "custom_vjp bwd", "_flatten_jvp": "custom_jvp jvp"}
"""What a rule of the user was called for, by the function of `jax._src.custom_derivatives` that called it."""


def traced_function(tracer: Any) -> tuple[str, str]:
    """The name of the function whose trace made a tracer, and what JAX traced it for: ("step", "scan").

    Either may be "": JAX names the functions that it traces to a jaxpr; of others the frames tell it in which an
    operation was made, not those of an argument.
    """
    kind = type(trace_of(tracer)).__name__
    base = getattr(tracer, "tangent", None) if kind == "LinearizeTrace" else tracer
    info = getattr(base, "_debug_info", None) if isinstance(base, _JaxprTracer) else None
    name, _, file = getattr(info, "func_src_info", "").partition(" at ")
    code, caller = _called_by_jax(made_at(tracer), isinstance(base, _JaxprTracer) and not _is_argument(base))
    called = code.co_qualname.rpartition("<locals>.")[2] if code is not None else ""
    if caller in _RULES:
        return called, _RULES[caller]
    purpose = info.traced_for if info is not None else ""
    if name and not in_jax(file):
        return (called if name in ("<unknown>", "__call__") else name), purpose
    return called, "" if purpose == "linearize" or not purpose else f"a {purpose} of JAX's own"


def _called_by_jax(made: Any, cut: bool = False) -> tuple[CodeType | None, str]:
    """The function of the user that JAX called and that led to where something was made, and who called it.

    Args:
      made: the place.
      cut: whether its frames end where JAX called.
    """
    found: CodeType | None = None
    for code in made.source_info.traceback.raw_frames()[0] if made is not None else ():
        if not in_jax(code.co_filename) and not is_own(code.co_filename):
            found = code
        elif found is not None:
            return found, code.co_name
    return (found, "") if cut else (None, "")


def _is_argument(tracer: Any) -> bool:
    return any(tracer.val is var for var in trace_of(tracer).frame.invars)  # type: ignore[attr-defined]


def defined_at(tracer: Any) -> tuple[str, int] | None:
    """The file and the line in which the function begins that was traced to a jaxpr; None if that is not known."""
    for base in _tracers_below(tracer):
        info = getattr(base, "_debug_info", None) if isinstance(base, _JaxprTracer) else None
        file, _, line = getattr(info, "func_src_info", "").partition(" at ")[2].rpartition(":")
        if line.isdigit() and not in_jax(file):
            return file, int(line)
    return None


def enclosing_traces(tracer: Any) -> list[Any]:
    """The trace of a tracer and those inside which it began, from the inside out."""
    found: list[Any] = []
    trace: Any = trace_of(tracer)
    while trace is not None and all(trace is not other for other in found):
        found.append(trace)
        trace = getattr(trace, "parent_trace", None)
    return found


def transformation_of(tracer: Any) -> str:
    """Which transformation a tracer belongs to, in words."""
    name = type(trace_of(tracer)).__name__.removesuffix("Trace")
    return _TRANSFORMATIONS.get(name, "jax.jit, scan or another that traces its function")


def arguments_of(tracer: Any) -> tuple[tuple[str, ...], bool]:
    """The arguments of the traced function that a tracer was computed from, and whether it is one of them itself.

    They are named as the function names them: ("params['w']", "x"). Nothing is given where that is not known.
    """
    for base in _tracers_below(tracer):
        if not isinstance(base, _JaxprTracer):
            continue
        names: Any = getattr(getattr(base, "_debug_info", None), "arg_names", None) or ()
        places = {id(var): index for index, var in enumerate(trace_of(base).frame.invars)}  # type: ignore[attr-defined]
        if len(names) < len(places):
            continue
        found = [places[id(item.val)] for item in _operands(base) if id(item.val) in places]
        texts = [names[index] for index in sorted(set(found))]
        if found and all(texts) and not any(text.startswith("dyn_args") for text in texts):  # JAX's own names
            return tuple(texts), _is_argument(base)
    code = _called_by_jax(made_at(tracer))[0] if not isinstance(tracer, _JaxprTracer) else None
    if code is None or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS):
        return (), False
    named = [name for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if name != "self"]
    return (tuple(named), False) if len(named) == 1 else ((), False)


def depends_on_nothing(tracer: Any) -> bool:
    """Whether a tracer was computed from constants alone, so that its value is the same in every run."""
    if not isinstance(tracer, _JaxprTracer):
        return False
    arguments = {id(var) for var in trace_of(tracer).frame.invars}  # type: ignore[attr-defined]
    inside = any(type(trace) is not _core.EvalTrace for trace in enclosing_traces(tracer)[1:])
    operands = _operands(tracer)
    return not any(id(item.val) in arguments or (item.parent is None and inside) for item in operands)


def _operands(tracer: Any) -> list[Any]:
    """The jaxpr tracers of one trace that a tracer was computed from, itself included."""
    found: dict[int, Any] = {}
    stack = [tracer]
    while stack:
        item = stack.pop()
        if id(item) not in found and isinstance(item, _JaxprTracer) and trace_of(item) is trace_of(tracer):
            found[id(item)] = item
            stack.extend(item.parent.in_tracers if item.parent is not None else ())
    return list(found.values())


def current_trace_state() -> Any:
    """The trace that is current, as objects that must not be used inside another one remember it (flax nnx does)."""
    return _core.get_opaque_trace_state(convention="nnx")


TraceState: type = type(current_trace_state())


def base_tracers(tracer: Any) -> list[Any]:
    """The jaxpr tracers below a tracer of a transformation (a JVP, batch or linearize tracer wraps others)."""
    found: list[Any] = []
    seen: set[int] = set()
    stack = [tracer]
    while stack:
        item = stack.pop()
        if not isinstance(item, _core.Tracer) or id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, _JaxprTracer):
            found.append(item)
        else:
            stack.extend(getattr(item, name, None) for name in ("primal", "tangent", "val"))
    return found


def is_batched(tracer: Any) -> bool:
    """Whether a tracer stands for one position of a `jax.vmap`, perhaps below other transformations."""
    stack, seen = [tracer], set[int]()
    while stack:
        item = stack.pop()
        if not isinstance(item, _core.Tracer) or id(item) in seen:
            continue
        seen.add(id(item))
        if type(trace_of(item)).__name__ == "BatchTrace":
            return True
        stack.extend(getattr(item, name, None) for name in ("primal", "tangent", "val"))
    return False


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


Question = Callable[[Any, str, FrameType], None]
"""Told of a tracer, of what code of the user asks it for, and of the frame that asks. May raise."""


class TraceWatch:
    """What happened to tracers during a trace that JAX itself lets pass.

    Attributes:
      filename: of the cell.
      foreign: ids of the tracers that stand for something other than a JAX array.
      errors: for each tracing error that was made, whether or not somebody caught it, the line of the cell.
      on_text: called when the text or the hash of a tracer is asked for.
      on_missing: called when an attribute is read that a tracer lacks.
    """

    def __init__(self, filename: str, on_text: Question, on_missing: Question, foreign: Collection[int]) -> None:
        self.filename = filename
        self.foreign = foreign
        self.errors: list[int | None] = []
        self.on_text, self.on_missing = on_text, on_missing


_watch: list[TraceWatch] = []


@contextmanager
def watch_trace(
    filename: str, on_text: Question, on_missing: Question, foreign: Collection[int] = ()
) -> Generator[TraceWatch]:
    """Reports what a plain cell would answer with a value and a trace with something else.

    `on_text(tracer, method, frame)` is called when user code asks for `str`, `repr`, `format` or `hash` of a tracer,
    `on_missing(tracer, name, frame)` when it reads an attribute that tracers lack. Tracing errors are recorded when
    they are made. There is no public hook for any of these.
    """
    watch = TraceWatch(filename, on_text, on_missing, foreign)
    if not _watch:
        _install_hooks()
    _watch.append(watch)
    try:
        yield watch
    finally:
        _watch.pop()
        if not _watch:
            _remove_hooks()


_CONVERT = "_closure_convert_for_avals"  # its cache keeps every function for ever, and with it what that holds
_saved: list[tuple[Any, str, Any]] = []
_MISSING = object()


def _patch(owner: Any, name: str, value: Any) -> None:
    _saved.append((owner, name, owner.__dict__.get(name, _MISSING)))
    setattr(owner, name, value)


def _install_hooks() -> None:
    for name in ("__repr__", "__str__", "__format__", "__hash__"):
        _patch(_core.Tracer, name, _text_hook(name))
    _patch(_core.Tracer, "__getattr__", _attribute_hook(_core.Tracer.__getattr__))
    for kind in TRACING_ERRORS:
        if "__init__" in kind.__dict__:
            _patch(kind, "__init__", _error_hook(kind.__init__))

    _patch(type(jax.Array), "__subclasscheck__", _subclass_hook(type(jax.Array).__subclasscheck__))
    _patch(_custom_derivatives, _CONVERT, getattr(_custom_derivatives, _CONVERT).__wrapped__)
    for name in ("asarray", "array"):
        _patch(jnp, name, _array_hook(getattr(jnp, name)))


def _subclass_hook(original: Any) -> Any:
    """`isinstance(x, Union[jax.Array, ...])` asks for the class of a value only: a tracer's counts as an array's."""

    def hook(cls: Any, kind: Any) -> bool:
        tracer = cls is jax.Array and isinstance(kind, type) and issubclass(kind, _core.Tracer)
        return tracer or original(cls, kind)

    return hook


def _array_hook(original: Any) -> Any:
    """`jnp.asarray` hands a tracer back as it is. Where that stands for a NumPy value or a Python scalar, the plain
    cell would have got a new array, so that a new tracer of the same variable must come out."""

    @functools.wraps(original)
    def hook(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if _watch and id(result) in _watch[-1].foreign:
            result = original(result, copy=True)
        return result

    return hook


def _remove_hooks() -> None:
    while _saved:
        owner, name, value = _saved.pop()
        if value is _MISSING:
            delattr(owner, name)
        else:
            setattr(owner, name, value)


def _text_hook(name: str) -> Callable[..., Any]:
    original = getattr(_core.Tracer, name)

    def hook(self: Any, *args: Any) -> Any:
        frame = user_caller(_caller())
        if frame is not None and _watch:
            _watch[-1].on_text(self, name, frame)
        return original(self, *args)

    return hook


def _attribute_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    def hook(self: Any, name: str) -> Any:
        try:
            return original(self, name)
        except AttributeError:
            frame = user_caller(_caller()) if _watch and not name.startswith("_") else None
            if frame is not None:
                _watch[-1].on_missing(self, name, frame)
            raise

    return hook


def _error_hook(original: Callable[..., Any]) -> Callable[..., Any]:
    def hook(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _watch and not _expected_by_jax(_caller()):
            _watch[-1].errors.append(_line_in(_caller(), _watch[-1].filename))
        return original(self, *args, **kwargs)

    return hook


def _caller() -> FrameType:
    """The frame that called the function which calls this one. It holds no frame in a name of its own: that would be a
    cycle, and keep all frames above alive, and what they hold."""
    return sys._getframe(2)  # pyright: ignore[reportPrivateUsage]


_CATCHERS = ("control_flow/loops.py", "ad_checkpoint.py", "sparse/bcoo.py")
"""Where JAX itself asks for a value and goes on without it."""


def _expected_by_jax(frame: FrameType | None) -> bool:
    while frame is not None and in_jax(frame.f_code.co_filename):
        if frame.f_code.co_filename.endswith(_CATCHERS):
            return True
        frame = frame.f_back
    return False


def _line_in(frame: FrameType | None, filename: str) -> int | None:
    while frame is not None and frame.f_code.co_filename != filename:
        frame = frame.f_back
    return frame.f_lineno if frame is not None else None


def user_caller(frame: FrameType | None) -> FrameType | None:
    """The frame of the user that asked, perhaps through a library; None if JAX, or a library built on it, asked."""
    while frame is not None:
        path, module = frame.f_code.co_filename, frame.f_globals.get("__name__", "__main__")
        if is_own(path) or is_jax_module(module):
            return None
        if not is_library(module):
            return frame
        frame = frame.f_back
    return None


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
