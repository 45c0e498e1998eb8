"""The one door to private JAX: every name below has no public equivalent in the versions that are supported.

Each entry says what is missing in public. All were checked on jax 0.10.2 and 0.12.0. When a name is gone, importing
this module raises `ImportError` or `AttributeError` with that name, rather than degrading silently.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
import weakref
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

import jax
import jax.numpy as jnp
from jax import errors as jax_errors
from jax._src import config as _config  # the ambient context that keys JAX's own caches is not public
from jax._src import core as _core  # jax.core.Tracer is deprecated; the trace of a tracer is not public
from jax._src import custom_derivatives as _custom_derivatives
from jax._src import source_info_util as _source_info  # `current` is what JAX itself calls for each equation
from jax._src.array import ArrayImpl as _ArrayImpl  # the concrete class behind jax.Array
from jax._src.interpreters.partial_eval import DynamicJaxprTrace as _JaxprTrace
from jax._src.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer

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
        self._original: Any = None

    def start(self) -> None:
        """Takes a reference as each trace begins. There is no public hook for this; it costs a fraction of a us."""
        if self._original is not None:
            return
        original = self._original = _core.Trace.__init__
        references, places = self._references, self._places

        def remembering(self: Any) -> None:
            original(self)
            references.append(self._weakref)
            if not isinstance(self, _JaxprTrace):  # its tracers remember no line
                places[self] = _source_info.current()

        _core.Trace.__init__ = remembering

    def stop(self) -> None:
        """Takes no more."""
        if self._original is not None:
            _core.Trace.__init__ = self._original
            self._original = None
        self._references.clear()
        self._places.clear()

    def began_at(self, trace: Any) -> Any:
        """Where the function was called that a trace is of, as something with the `source_info` of an equation."""
        info = self._places.get(trace)
        return _MadeAt(info) if info is not None and info.traceback is not None else None

    def alive(self) -> list[Any]:
        """The traces that something still holds, those excepted under which code runs now."""
        now = trace_ctx_stack()
        found = [trace for reference in self._references if (trace := reference()) is not None and id(trace) not in now]
        self._references[:] = [trace._weakref for trace in found]
        return found

    def forget(self) -> None:
        """What is alive now is known."""
        self._references.clear()


def trace_ctx_stack() -> set[int]:
    """Ids of the traces under which code runs."""
    found: set[int] = set()
    trace: Any = _core.trace_ctx.trace
    while trace is not None and id(trace) not in found:
        found.add(id(trace))
        trace = getattr(trace, "parent_trace", None)
    return found


class _MadeAt:
    """An equation's face for what a tracer remembers of the place where it was made."""

    def __init__(self, info: Any) -> None:
        self.source_info = info


def made_at(tracer: Any) -> Any:
    """Where a tracer was made, as something with the `source_info` of an equation; None if it is not known."""
    info = getattr(tracer, "_line_info", None)
    return _MadeAt(info) if info is not None and getattr(info, "traceback", None) is not None else None


_TRANSFORMATIONS = {"JVP": "jax.grad or jax.jvp", "Linearize": "jax.grad", "Batch": "jax.vmap"}


def traced_function(tracer: Any) -> str:
    """The function whose trace made a tracer, and for what, as "`step` under scan"; "" if that is not known."""
    for base in base_tracers(tracer):
        info = getattr(base, "_debug_info", None)
        if info is not None and getattr(info, "func_src_info", None):
            return f"`{info.func_src_info.partition(' at ')[0]}` under {info.traced_for}"
    return ""


def transformation_of(tracer: Any) -> str:
    """Which transformation a tracer belongs to, in words."""
    name = type(trace_of(tracer)).__name__.removesuffix("Trace")
    return _TRANSFORMATIONS.get(name, "jax.jit, scan or another that traces its function")


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
