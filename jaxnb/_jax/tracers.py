"""What JAX knows of one tracer and does not tell: its trace, the line and function that made it, whether it is over.

A door to private JAX, as `_jax.py`. All was checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import weakref
from collections.abc import Collection, Iterable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import CodeType
from typing import Any

from jax._src import (
    core as _core,  # the trace of a tracer, and those that are going on, are not public
    source_info_util as _source_info,  # `current` is what JAX itself calls for each equation
)
from jax._src.interpreters.partial_eval import DynamicJaxprTrace as _JaxprTrace
from jax._src.shard_map import ShardMapTracer as _ShardMapTracer  # the others have public names
from jax.core import Trace
from jax.interpreters.ad import JVPTracer as _JVPTracer
from jax.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer

from jaxnb._jax.base import in_jax, trace_of, tracers_below
from jaxnb.runtime import is_own


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
        self._saved = [(kind, kind.__init__) for kind in (Trace, _JVPTracer, _ShardMapTracer)]
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
    stack = [value for value in values if issubclass(type(value), Trace)]
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
    for item in tracers_below(tracer):
        for name in ("_line_info", "source_info"):
            info = getattr(item, name, None)
            if getattr(info, "traceback", None) is not None:
                return _MadeAt(info)
    return None


_TRANSFORMATIONS = {
    "JVPTrace": "jax.jvp",
    "LinearizeTrace": "jax.grad",
    "BatchTrace": "jax.vmap",
    "ShardMapTrace": "jax.shard_map",
    "RematTrace": "jax.checkpoint",
}


_RULES = {"_flatten_fwd": "custom_vjp fwd", "_flatten_jvp": "custom_jvp jvp"}
"""What a rule of the user was called for, by the function of `jax._src.custom_derivatives` that called it.

Operations of a `bwd` have the place in the code of the call that it is the derivative of.
"""


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
    for base in tracers_below(tracer):
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
    return _TRANSFORMATIONS.get(type(trace_of(tracer)).__name__, "jax.jit, scan or another that traces its function")


def arguments_of(tracer: Any) -> tuple[tuple[str, ...], bool]:
    """The arguments of the traced function that a tracer was computed from, and whether it is one of them itself.

    They are named as the function names them: ("params['w']", "x"). Nothing is given where that is not known.
    """
    for base in tracers_below(tracer):
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
