"""What JAX remembers of functions while a cell is traced: kept apart from what it remembers of other calls.

JAX remembers the jaxpr of each function that it has traced, by the function, its static arguments and its context.
While a cell is traced, an object among these may hold tracers, which its jaxpr then refers to; and what an earlier call
saw of it would hide what it holds now. So a trace of a cell has a context of its own, and afterwards what was
remembered under it is forgotten, but for functions of JAX itself, which all traces of cells share.

A door to private JAX, as `_jax.py`: of caches `jax.clear_caches` alone is public. Checked on jax 0.10.2 and 0.12.0.
"""

from __future__ import annotations

import enum
import functools
import gc
import sys
import types
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import repeat
from operator import is_
from typing import Any

from jax._src.interpreters.partial_eval import DynamicJaxprTrace as _JaxprTrace  # ends as JAX ends those that succeed
from jax._src.util import _caches  # where JAX registers its caches  # pyright: ignore[reportPrivateUsage]
from jax.core import Trace

from jaxnb._jax.base import JAX_PACKAGES, is_tracer_type, trace_of, user_context
from jaxnb.runtime import is_library, objects_of

__all__ = ["Left", "apart", "forget_failed", "forget_staged", "let_go"]


class _Staging:
    """The context in which cells are traced."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "a cell"


_STAGING = _Staging()
_LRU = type(functools.lru_cache(lambda: None))
_MOST = 400_000
"""Objects that are looked at in one cache."""
_STEPS = 4
"""From a tracer to the registry that holds an object that holds it."""
_failed: list[weakref.ref[Any]] = []


@contextmanager
def apart(anew: bool = False) -> Generator[None]:
    """While functions are traced inside, JAX remembers them for itself alone, and forgets those of the user.

    Args:
      anew: whether functions of the user that were compiled inside before are traced again as well.
    """
    context = _Staging() if anew else _STAGING
    caches = _evicting()
    misses = [_misses(cache) for cache in caches]
    known = {id(cache) for cache in caches}
    try:
        with user_context(context):
            yield
    finally:
        used = [cache for cache, count in zip(caches, misses, strict=True) if _misses(cache) != count]
        used += [cache for cache in _evicting() if id(cache) not in known]
        _evict(used, lambda function: not _is_jax(function), context)


class Left(enum.Enum):
    """What still holds tracers of a trace when all is forgotten: of the trace itself, or of functions traced inside."""

    NOTHING = enum.auto()
    INSIDE = enum.auto()
    ITS_OWN = enum.auto()


def forget_staged(traces: Iterable[weakref.ref[Any]], failed: bool = False) -> Left:
    """Forgets whatever still holds a tracer of a cell: what JAX remembers of it, and caches of other libraries.

    Args:
      traces: those of the cell that are over.
      failed: whether an error is on its way, which holds the frames of the trace: what it holds is looked at next time.

    Returns:
      what something else holds, which no earlier trace of a function has left behind.
    """
    now = list(traces)
    before = list(_failed)
    over = [*before, *now]
    _end(_failed)
    _failed.clear()
    if all(trace() is None for trace in over):
        return Left.NOTHING
    _evict(_evicting(), lambda function: True)
    if failed:
        _failed.extend(over)
        return Left.NOTHING
    for generation in (0, 1, 2):  # most traces that only a cycle holds are young, and a full collection takes long
        if any(trace() is not None for trace in over):
            gc.collect(generation)
        if generation and not _let_go_inside(over) and not _with_tracers(over):
            return Left.NOTHING
    alive = _alive(over)
    for cache in {id(cache): cache for cache in (*list(_caches), *_unregistered())}.values():
        if _holds_tracer(cache, alive):
            cache.cache_clear()
    if alive := _alive(before):
        _unregister([item for item in objects_of(is_tracer_type) if id(trace_of(item)) in alive])
    alive = _alive(now)
    traces_held = [trace_of(item) for item in objects_of(is_tracer_type)] if alive else []
    held = [trace for trace in traces_held if _is_within(trace, alive)]  # others may have been left by anybody
    if not held:
        return Left.NOTHING
    return Left.ITS_OWN if all(id(trace) in alive for trace in held) else Left.INSIDE


def forget_failed() -> None:
    """Forgets what holds tracers of traces that failed, once their errors have been dealt with."""
    if _failed:
        forget_staged(())


def _alive(traces: Iterable[weakref.ref[Any]]) -> set[int]:
    return {id(trace) for reference in traces if (trace := reference()) is not None}


def _is_within(trace: Any, traces: set[int]) -> bool:
    """Whether a trace is one of these, by id, or was begun under one."""
    while trace is not None and id(trace) not in traces:
        trace = getattr(trace, "parent_trace", None)
    return trace is not None


def let_go(traces: Iterable[weakref.ref[Any]]) -> None:
    """Ends traces that have failed, and those that were begun under them."""
    failed = [*traces]
    _end(failed)
    _let_go_inside(failed)


def _end(traces: Iterable[weakref.ref[Any]]) -> None:
    """As JAX does with a trace that comes to its end: its constants would hold it for ever."""
    for reference in traces:
        if (trace := reference()) is not None:
            trace.invalidate()


def _let_go_inside(traces: Iterable[weakref.ref[Any]]) -> bool:
    """Ends the traces that were begun under these and have failed; whether there was one that held something.

    A function that JAX traces and that raises leaves its trace as it is, and what it has taken for constants, such as
    tracers of the traces around it, then holds all of them for ever.
    """
    found, last = False, [trace for reference in traces if (trace := reference()) is not None]
    while last:
        around = set(map(id, last))
        held_by = [item for item in _holders(last) if issubclass(type(item), Trace)]
        last = [item for item in held_by if id(getattr(item, "parent_trace", None)) in around]
        for trace in last:
            if isinstance(trace, _JaxprTrace) and trace.frame.constvar_to_val:
                trace.invalidate()
                found = True
    return found


def _unregister(tracers: list[Any]) -> None:
    """Takes out of the registries of libraries what holds these tracers.

    A library that notes what is under way, and takes it out again at the end, still has what a failed trace has left.
    """
    held, own, last = set(map(id, tracers)), {id(tracers)}, tracers
    for _ in range(_STEPS):
        found = gc.get_referrers(*last)
        own |= {id(found), id(last)}
        last = [item for item in found if id(item) not in own | held and not _is_of_module(item)]
        own.add(id(last))
        for registry in last:
            if type(registry) is dict and _is_of_library(registry, own):
                for key in [key for key, item in registry.items() if id(item) in held or id(key) in held]:
                    del registry[key]
            elif type(registry) in (list, set) and _is_of_library(registry, own):
                kept = [item for item in registry if id(item) not in held]
                registry.clear()
                (registry.extend if type(registry) is list else registry.update)(kept)
        held |= set(map(id, last))
        if not last:
            return


def _is_of_module(item: Any) -> bool:
    """A module, its names, or the frame of a function; no code of the user's is asked what it is."""
    return issubclass(type(item), types.ModuleType | types.FrameType) or (type(item) is dict and "__name__" in item)


def _is_of_library(container: Any, own: set[int]) -> bool:
    """Whether a global of a library's module is this container, or an object that holds it.

    What nothing holds is held by what `gc.freeze` has set aside: it was there before the trace.
    """
    holders = [item for item in gc.get_referrers(container) if id(item) not in own]
    if not holders:
        return True
    states = [item for item in gc.get_referrers(container, *holders) if type(item) is dict and "__name__" in item]
    return any(is_library(str(item["__name__"])) and "__spec__" in item for item in states)


def _with_tracers(traces: Iterable[weakref.ref[Any]]) -> bool:
    """Whether tracers of these traces are left, or of those begun under them.

    The rules of derivatives in a jaxpr hold its trace, and most hold no tracer.
    """
    last = [trace for reference in traces if (trace := reference()) is not None]
    seen = set(map(id, last))
    while last:
        held_by = _holders(last)
        if any(is_tracer_type(type(item)) for item in held_by):
            return True
        last = [item for item in held_by if issubclass(type(item), Trace) and id(item) not in seen]
        seen.update(map(id, last))
    return False


def _holders(traces: Iterable[Any]) -> list[Any]:
    """What holds these traces, and for a dict of a trace's attributes the trace, too.

    On Python 3.13 attributes lie in such a dict where a class above has slots: those of every transformation's trace.
    """
    held_by = gc.get_referrers(*traces)
    attributes = [item for item in held_by if type(item) is dict and "parent_trace" in item]
    return held_by + gc.get_referrers(*attributes) if attributes else held_by


def _evicting() -> list[Any]:
    """The caches that can forget single functions; the others do not hold what was traced, or are looked into."""
    return [cache for cache in list(_caches) if hasattr(cache, "evict_weakref")]


def _misses(cache: Any) -> int:
    return cache.cache_info().misses


def _evict(caches: Iterable[Any], chosen: Callable[[Any], bool], context: _Staging = _STAGING) -> None:
    for cache in caches:
        for function in {id(item): item for item in _staged(cache, context) if chosen(item)}.values():
            cache.evict_weakref(function)


def _staged(cache: Any, context: _Staging) -> Iterator[Any]:
    """The functions and other objects for which something is remembered that was seen in a context."""
    always = repeat(context)  # a look at all keys, of which there are many, runs no code of Python's for each
    for key in cache.cache_keys():
        settings = key[1]
        if isinstance(settings, tuple) and any(map(is_, settings, always)):
            function = key[0]()
            if function is not None:
                yield function


def _is_jax(item: Any) -> bool:
    module = getattr(item if isinstance(item, types.FunctionType) else type(item), "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] in JAX_PACKAGES


def _unregistered() -> Iterator[Any]:
    """Functions under `functools.lru_cache`: those that the garbage collector knows, and those that modules hold.

    After `gc.freeze` it does not tell of what was there before, such as the caches of JAX that JAX itself never clears.
    """
    yield from objects_of(lambda kind: kind is _LRU)
    for module in list(sys.modules.values()):
        for item in list(module.__dict__.values()) if _is_module(module) else ():
            held = list(vars(item).values()) if issubclass(type(item), type) else [item]
            yield from (each for each in held if type(each) is _LRU)


def _is_module(item: Any) -> bool:
    """Of `sys.modules`, in which anything may stand."""
    return issubclass(type(item), types.ModuleType)


def _holds_tracer(cache: Any, traces: set[int]) -> bool:
    """Whether a cache holds a tracer within one of these traces, as far as the garbage collector can follow it."""
    seen: set[int] = set()
    stack = [*gc.get_referents(cache)]
    while stack and len(seen) < _MOST:
        item = stack.pop()
        if id(item) in seen or isinstance(item, types.ModuleType | type):
            continue
        seen.add(id(item))
        if is_tracer_type(type(item)):
            if _is_within(trace_of(item), traces):
                return True
        elif isinstance(item, types.FunctionType):
            stack.extend(item.__closure__ or ())
        elif not isinstance(item, dict) or "__builtins__" not in item:
            stack.extend(gc.get_referents(item))
    return False
