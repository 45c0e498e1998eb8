"""Which object an operation gives where no trace stands in between: a new one, or one that was there before.

Eagerly each operation makes an Array of its own, apart from a few that hand on what they were given. While JAX traces
it is the other way round in places: `jnp.ravel` of a vector gives the very tracer, and `lax.stop_gradient` a new one.
What the cell's code asks by `is`, and what its names are bound to afterwards, must be as without a trace. A function
under `jax.jit` gives the static parts of its results, which its cache holds, again with each call.

A door to private JAX, as `_jax.py`. All was checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax import lax
from jax._src import (
    core as _core,  # only there a trace can be made the current one
    pjit as _pjit,  # no public hook tells which jitted functions are called with what
)
from jax._src.interpreters import partial_eval as _partial_eval
from jax._src.interpreters.partial_eval import DynamicJaxprTrace as _JaxprTrace  # its tracers are public, it is not
from jax.interpreters.partial_eval import DynamicJaxprTracer as _JaxprTracer

from jaxnb._jax.base import Array as _Array, inner_jaxprs
from jaxnb.runtime import Undo

__all__ = [
    "JitCall",
    "answer_as_eager",
    "array_of",
    "handed_on",
    "iterates_array",
    "keys_of",
    "note_jit_calls",
    "note_on_host",
    "twin",
]


class _EagerIdentity(_JaxprTrace):
    """The trace of a piece: what an operation gives is another tracer than its operands, if perhaps of one value."""

    __slots__ = ()

    def process_primitive(self, primitive: Any, tracers: Any, params: Any, /) -> Any:
        if primitive.name in _HAND_ON and not any(isinstance(item, (_core.Tracer, _Array)) for item in tracers):
            return primitive.impl(*tracers, **params)  # eagerly a number of Python stays one
        made: Any = super().process_primitive(primitive, tracers, params)
        if primitive.name == "pure_callback" or (primitive.name == "jit" and _calls_purely(params["jaxpr"])):
            _called(_on_callback, self, made if isinstance(made, list) else [made])
        if primitive.multiple_results:
            return [self._apart(item, tracers) for item in made]
        return self._apart(made, tracers)

    def stage_value(self, val: Any) -> Any:
        if not isinstance(val, jax.Array):  # eagerly each call of `jnp.asarray` makes an Array of what is none
            self.frame.constid_to_tracer.pop(id(val), None)
        return super().stage_value(val)

    def _apart(self, item: Any, operands: Any) -> Any:
        if not any(item is operand for operand in operands):
            return item
        if id(item) in _on_host.get(self, ()):
            return array_of(item)  # NumPy's value is NumPy's; what an operation makes of it is an Array
        made = _JaxprTracer(self, item.aval, item.val, item._line_info, item.parent)
        if not hasattr(item.val, "val") and item.val in self.frame.constvar_to_val:
            weakref.finalize(made, _let_go, item)  # JAX forgets a constant with its first tracer
        return made


def _let_go(item: Any) -> None:
    """Nothing is to be done but to have held it."""


class _WithHandedOn(_EagerIdentity):
    """The same where the code may ask by `is`: an operation that hands on its operand gives the very tracer."""

    __slots__ = ()

    def process_primitive(self, primitive: Any, tracers: Any, params: Any, /) -> Any:
        return self.hand_on(super().process_primitive(primitive, tracers, params))

    def process_custom_jvp_call(self, *args: Any, **kwargs: Any) -> Any:
        return self.hand_on(super().process_custom_jvp_call(*args, **kwargs))

    def process_custom_vjp_call(self, *args: Any, **kwargs: Any) -> Any:
        return self.hand_on(super().process_custom_vjp_call(*args, **kwargs))

    def hand_on(self, made: Any) -> Any:
        if isinstance(made, list | tuple):
            return [self.hand_on(item) for item in made]
        source = handed_on(made)
        if id(source) in _no_arrays.get(self, ()):
            return made
        while (put := _put_of(source)) is not None and _called(_is_there, self, *put):
            source = handed_on(put[0])
        return source


_on_host: weakref.WeakKeyDictionary[Any, Collection[int]] = weakref.WeakKeyDictionary()
"""For a trace, the ids of tracers that stand for what NumPy computes; nothing that holds tracers may stand here."""

_no_arrays: weakref.WeakKeyDictionary[Any, frozenset[int]] = weakref.WeakKeyDictionary()
"""For a trace that hands on, the inputs that stand for no Array: of these an operation makes one."""


_Methods = weakref.WeakKeyDictionary[Any, "weakref.WeakMethod[Callable[..., Any]]"]

_on_callback: _Methods = weakref.WeakKeyDictionary()
"""For a trace, what is told of the results of each `pure_callback`."""


_pure: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()
"""What `_calls_purely` has said of jaxprs, which JAX keeps for the next call of the same function."""


def _calls_purely(jaxpr: Any) -> bool:
    """Whether a jitted function calls back in a way that XLA leaves out where nobody takes its results."""
    known = _pure.get(jaxpr)
    if known is None:
        known = _pure[jaxpr] = any(
            eqn.primitive.name == "pure_callback" or any(map(_calls_purely, inner_jaxprs(eqn))) for eqn in jaxpr.eqns
        )
    return known


_is_there: _Methods = weakref.WeakKeyDictionary()
"""For a trace that hands on, whether the Array of a tracer is committed to a sharding."""


def _called(methods: _Methods, trace: Any, *arguments: Any) -> Any:
    """What a method gives that is kept for a trace; it is kept weakly, because its object holds tracers."""
    method = methods[trace]()
    return method(*arguments) if method is not None else None


def _put_of(tracer: Any) -> tuple[Any, Any] | None:
    """What a `device_put` with this result was given, and a sharding: what is committed to that is handed on."""
    eqn = tracer.parent if isinstance(tracer, _JaxprTracer) else None
    if eqn is None or eqn.primitive.name != "device_put":
        return None
    place = next((n for n, var in enumerate(eqn.outvars) if var is tracer.val), None)
    if place is None or eqn.params["copy_semantics"][place].name != "REUSE_INPUT":
        return None
    target = eqn.params["devices"][place]
    return (eqn.in_tracers[place], target) if isinstance(target, jax.sharding.Sharding) else None


def _hide(function: Any, file: str, name: str) -> None:
    """Frames of JAX are passed over in tracebacks and in the lines of equations; so is one in the middle of them."""
    function.__code__ = function.__code__.replace(co_filename=file, co_name=f"{name} (watched by jaxnb)")


for _hook in (
    _EagerIdentity.process_primitive,
    _EagerIdentity.stage_value,
    _WithHandedOn.process_primitive,
    _WithHandedOn.process_custom_jvp_call,
    _WithHandedOn.process_custom_vjp_call,
    _WithHandedOn.hand_on,
):
    _hide(_hook, _partial_eval.__file__, _hook.__name__)


def answer_as_eager(
    trace: Any,
    hands_on: bool,
    no_arrays: Iterable[Any],
    is_there: Callable[[Any, Any], bool],
    on_callback: Callable[[Sequence[Any]], None],
) -> None:
    """From now on operations under this trace give new tracers where they would give new Arrays.

    Args:
      trace: that of a piece.
      hands_on: whether they give their operand, too, where they would eagerly. Then a derivative of the jaxpr does not
        know of them; one that is taken inside of it does.
      no_arrays: inputs that stand for something else than an Array.
      is_there: whether the Array of a tracer is committed to a sharding; a method, which is held weakly.
      on_callback: likewise; told of the results of each `pure_callback`, which eagerly is called whether they are used
        or not.
    """
    if type(trace) is not _JaxprTrace:
        return
    trace.__class__ = _WithHandedOn if hands_on else _EagerIdentity
    _on_callback[trace] = weakref.WeakMethod(on_callback)
    if hands_on:
        _no_arrays[trace] = frozenset(map(id, no_arrays))
        _is_there[trace] = weakref.WeakMethod(is_there)


def note_on_host(trace: Any, lifts: Collection[int]) -> None:
    """From now on operations under this trace that give their operand make an Array of what NumPy computes.

    Args:
      trace: that of a piece.
      lifts: the ids of the tracers that stand for such values; more of them may come.
    """
    _on_host[trace] = lifts


JitCall = tuple[Any, Any, Any]
"""A function under `jax.jit`, its arguments as (args, kwargs), and the structure of its results."""


@contextmanager
def note_jit_calls() -> Generator[list[JitCall]]:
    """Notes the calls by this thread of functions under `jax.jit` whose results have static parts.

    Calls that JAX answers in C++ are not among them: none with a tracer is.
    """
    calls: list[JitCall] = []
    home: Any = _pjit
    original = home._run_python_pjit
    note: Callable[..., None] | None = None

    def _run_python_pjit(params: Any, flat: Any, function: Any, args: Any, kwargs: Any) -> Any:
        if note is not None:
            note(params, function, args, kwargs)
        return original(params, flat, function, args, kwargs)

    thread = threading.get_ident()

    def take_down(params: Any, function: Any, args: Any, kwargs: Any) -> None:
        if threading.get_ident() == thread and _has_metadata(params.out_tree):
            calls.append((function, (args, kwargs), params.out_tree))

    note = take_down
    _hide(_run_python_pjit, _pjit.__file__, "_run_python_pjit")

    def put_back() -> None:
        nonlocal note
        note = None  # somebody may have put theirs around it meanwhile
        if home._run_python_pjit is _run_python_pjit:
            home._run_python_pjit = original

    with Undo() as undo:
        undo.add(put_back)
        home._run_python_pjit = _run_python_pjit
        yield calls


def _has_metadata(tree: Any) -> bool:
    """Whether the nodes of a pytree hold objects besides their children."""
    held = (item for item in gc.get_referents(tree) if not isinstance(item, _REGISTRY | type))
    return any(map(gc.is_tracked, held))


_REGISTRY = type(jax.tree_util.default_registry)  # of which JAX has several
_HAND_ON = frozenset({"stop_gradient", "name"})
"""Operations whose result is their operand; what they mean is for derivatives."""

_RUN_THEIR_BODY = ("jaxpr", "call_jaxpr")
_BODIES = frozenset({"remat2", "custom_jvp_call", "custom_vjp_call", "closed_call", "call"})
"""Operations that are their body, run by Python, where nothing is traced."""


def array_of(tracer: Any) -> Any:
    """Another tracer of the same value, computed by an equation."""
    with _core.set_current_trace(tracer._trace):  # none is the current one while an operation is processed
        return lax.copy_p.bind(tracer)


def twin(tracer: Any) -> Any:
    """Another tracer of the same variable, which no equation computes."""
    made: Any = object.__new__(_JaxprTracer)
    for slot in _TRACER_SLOTS:
        slot.__set__(made, slot.__get__(tracer))
    return made


_TRACER_SLOTS = [
    vars(kind)[name]
    for kind in _JaxprTracer.__mro__
    for name in vars(kind).get("__slots__", ())
    if name != "__weakref__"
]


def iterates_array(iterator: Any) -> bool:
    """Whether an iterator of a tuple is what `iter` gives of a tracer since jax 0.12: of an Array it is a generator."""
    items = iterator.__reduce__()[1][0]
    eqns = [item.parent for item in items if isinstance(item, _JaxprTracer)]
    first = eqns[0] if eqns and len(eqns) == len(items) else None
    return first is not None and first.primitive.name == "unstack" and all(eqn is first for eqn in eqns)


def keys_of(tracer: Any) -> Any:
    """The tracer of keys whose data another one is; None for anything else."""
    eqn = tracer.parent if isinstance(tracer, _JaxprTracer) else None
    return eqn.in_tracers[0] if eqn is not None and eqn.primitive.name == "random_unwrap" else None


def handed_on(tracer: Any) -> Any:
    """The tracer that stands for the Array which eager execution hands on to here: another one, or this one itself."""
    while isinstance(tracer, _JaxprTracer) and tracer.parent is not None:
        eqn = tracer.parent
        place = next((n for n, var in enumerate(eqn.outvars) if var is tracer.val), None)
        name = eqn.primitive.name
        source = _source(name, eqn.params, place) if place is not None else None
        if name == "random_unwrap" and (key := eqn.in_tracers[0].parent) is not None:
            eqn, source = key, 0 if key.primitive.name == "random_wrap" else None
        if source is None:
            return tracer
        tracer = eqn.in_tracers[source]
    return tracer


def _source(primitive_name: str, params: Any, place: int) -> int | None:
    """The operand that eager execution gives as a result of an operation; None if it makes a new one."""
    if primitive_name in _HAND_ON:
        return place
    if primitive_name == "device_put":
        reused = getattr(params["copy_semantics"][place], "name", "") == "REUSE_INPUT"
        return place if params["devices"][place] is None and reused else None
    if primitive_name in _BODIES:
        body = next((params[part] for part in _RUN_THEIR_BODY if part in params), None)
        return _through(getattr(body, "jaxpr", body), place) if body is not None else None
    return None


def _through(body: Any, place: int) -> int | None:
    """The argument of a jaxpr that eager execution gives as its result."""
    arguments = {var: index for index, var in enumerate(body.invars)}
    makers = {var: (eqn, index) for eqn in body.eqns for index, var in enumerate(eqn.outvars)}
    value = body.outvars[place]
    while not hasattr(value, "val") and value not in arguments:
        if value not in makers:
            return None
        eqn, index = makers[value]
        source = _source(eqn.primitive.name, eqn.params, index)
        if source is None:
            return None
        value = eqn.invars[source]
    return arguments.get(value) if not hasattr(value, "val") else None
