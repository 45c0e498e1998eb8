"""What a walk says of objects: their state is followed, through `__dict__`, slots, or as JAX takes them apart."""

from __future__ import annotations

import contextvars
import enum
import functools
import gc
import logging
import sys
import threading
import types
import weakref
from typing import TYPE_CHECKING, Any

from jaxnb import _jax
from jaxnb._jax import is_jaxpr
from jaxnb.errors import RunByPython
from jaxnb.runtime import is_jax_module, is_library, is_library_class, name_of
from jaxnb.staging.cells.code import Sees
from jaxnb.staging.cells.reach import ATOMS, hides
from jaxnb.staging.cells.referents import attribute_key, has_hidden_room, slot_descriptors, slots_of, state_of
from jaxnb.staging.objects import functions
from jaxnb.staging.objects.alive import LOCKS, is_alive, is_stateful, is_unchanging
from jaxnb.staging.objects.mutables import CONTEXT, DICT, SLOTS
from jaxnb.staging.objects.paths import ATTRIBUTES, OBJECT, Path, Same, render_path
from jaxnb.staging.objects.slots import IN_IMMUTABLE, Slot
from jaxnb.staging.objects.static import ASKS_ANNOTATIONS, OF_MEMBERS, is_library_callable, log_level
from jaxnb.staging.objects.watchers import other_threads, others_look

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = [
    "MOVES_ON",
    "annotation",
    "member",
    "module_value",
    "object_",
    "opaque",
    "state",
    "tells_attributes",
    "trace_state",
]


MOVES_ON = "keeps a state that a replay would not move on"
_UNKNOWN = "keeps a state that staging cannot follow"


def object_(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if issubclass(type(value), logging.Logger):
        if not scan.node(value, slot):
            scan.parts.append((Same(value), log_level(value)))
        return
    state = state_of(value)
    slotted = slot_descriptors(type(value))
    if type(value) is contextvars.ContextVar and CONTEXT.save(value):
        _context_variable(scan, value, path, slot)
        return
    if type(value) is contextvars.Context:
        raise RunByPython(
            f"`{render_path(path)}` is a context.",
            why="what runs in it reads and sets other values of context variables than those that staging follows.",
            fix="leave --whole out: then Python runs it.",
            short="it reaches a context",
        )
    if issubclass(type(value), LOCKS):
        _lock(scan, value, path, slot)
        return
    if is_stateful(value):
        scan.effect(path, f"a {type(value).__name__} {MOVES_ON}", moves=_moves(value))
    if is_library_callable(value, state):
        scan.parts.append(value)  # a library function wrapped by an object, such as jax.nn.relu
        return
    if not isinstance(state, dict) and not slotted:
        _registered(scan, value, path, slot)
        return
    if is_alive(value):
        if not scan.node(value, slot):
            scan.parts.append(Same(value))
            scan.living(path, f"a {type(value).__name__} is alive")
        return
    if scan.node(value, slot):
        return
    scan.parts.append((OBJECT, functions.kind_of(scan, type(value), path)))
    if scan.slots is not None or scan.only_grows is not None:
        _as_tree(scan, value, path)
    known = len(scan.effects)
    scan.state(value, path, _passed_over(scan, value))
    text = f"a {type(value).__name__} {_UNKNOWN}"
    if len(scan.effects) > known and _is_closed(type(value)):
        scan.living(path, text)
    elif has_hidden_room(type(value)) and not (is_unchanging(value) or isinstance(value, threading.local)):
        scan.effect(path, text, moves=_moves(value))


_WRITTEN = frozenset({"__annotations__", "_annotation", "_return_annotation"})
"""Where a wrapper, or a signature, has the types that a function is written with, which may be made anew each time."""


_CONSTS = frozenset({"_consts"})
_METHODS = frozenset({"_method_cache"})
"""Where `functools.singledispatchmethod` keeps the methods that it made of objects, from Python 3.13 on."""


def _passed_over(scan: Scan, value: Any) -> frozenset[str]:
    """Attributes of an object that are no part of the key."""
    written = _WRITTEN if scan.attributes.isdisjoint(ASKS_ANNOTATIONS) else frozenset[str]()
    if is_jaxpr(value) and any(map(_jax.is_tracer, getattr(value, "consts", ()))):
        return written | _CONSTS  # they are lost: whoever made the jaxpr has its constants elsewhere
    return written | _METHODS if type(value) is functools.singledispatchmethod else written


def _moves(value: Any) -> bool:
    """Whether a trace may move a state on; context variables are set in a context that is given up with it."""
    return type(value) is not contextvars.ContextVar


def _context_variable(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """A context variable that has a value: that is what it holds."""
    if not scan.node(value, slot):
        scan.parts.append(contextvars.ContextVar)
        scan.hold(value, CONTEXT)
        scan.visit(CONTEXT.save(value)[0][1], (path, "attr", "get()"), Slot(CONTEXT, value, None))


def _lock(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """A lock, which keeps nobody out while no other thread of the user runs."""
    if scan.node(value, slot):
        return
    scan.parts.append(Same(value))
    text = f"a {type(value).__name__} is alive"
    scan.library_state("another thread is running", _others_run)
    if scan.slots is None:
        return
    if _others_run():
        scan.living(path, text)
        return
    scan.alive.append((path, text))
    for name in sorted({"acquire", "release", "locked"} & scan.attributes):
        scan.effect((path, "attr", name), text)


def _others_run() -> bool:
    return other_threads() and others_look(())


def _is_closed(kind: type) -> bool:
    """Whether a class is of a library that is not built on JAX: what its methods do with what it holds is not seen."""
    module = kind.__module__
    package = str(module).partition(".")[0]
    return is_library(module) and package not in sys.stdlib_module_names and not is_jax_module(module)


def _as_tree(scan: Scan, value: Any, path: Path) -> None:
    """An object that JAX takes apart: floats among its static data are compared by JAX, so they stay themselves."""
    flat = _jax.flatten_one_level(value)
    if flat is None:
        return
    scan.trees.add(path)
    if scan.slots is None:
        return
    children = {id(child) for child in flat[0]}
    for name, child in {**getattr(value, "__dict__", {}), **dict(slots_of(value))}.items():
        if type(child) in (float, complex) and id(child) not in children:
            scan.choices.static.add((path, "attr", name))
            scan.choices.unsaid.add((path, "attr", name))


def member(scan: Scan, value: enum.Enum, path: Path, slot: Slot | None) -> None:
    """A member of an enumeration of the user: its name, and what is set on it."""
    content = value.__dict__.get("_value_")
    plain = type(content) in ATOMS
    same = (type(content), content) if plain else None
    scan.parts.append((functions.kind_of(scan, type(value), path), value.name, same))
    if not scan.node(value, slot):
        scan.state(value, path, OF_MEMBERS | {"_value_"} if plain else OF_MEMBERS)


def tells_attributes(scan: Scan, value: Any) -> bool:
    """Whether the order of the attributes of an object may be told: by looking at them, or by its text."""
    of_text = Sees.ORDER if issubclass(type(value), types.SimpleNamespace) else 0
    return bool(scan.tells_apart & (Sees.ATTRIBUTES | of_text))


def state(scan: Scan, value: Any, path: Path, known: frozenset[str] = frozenset()) -> None:
    state: dict[str, Any] | None = state_of(value)
    if scan.slots is not None and not is_library_class(type(value)):
        scan.slots.shells.append((value, type(value), state))
    if isinstance(state, dict):
        names = tuple(name for name in state if name not in known) if known else tuple(state)
        if not tells_attributes(scan, value) and all(type(name) is str for name in names):
            names = tuple(sorted(names))
        if scan.slots is not None:
            scan.where.append((len(scan.parts), path))
        scan.parts.append((ATTRIBUTES, names))
        scan.memo.setdefault(id(state), ("node", len(scan.nodes)))
        scan.nodes.append(state)
        scan.hold(state, DICT)
        if scan.slots is not None:
            scan.slots.attributes[id(state)] = path, type(value)
        for name in names:
            scan.visit(state[name], (path, "attr", attribute_key(type(value), name)), Slot(DICT, state, name))
    slots = slot_descriptors(type(value))
    if slots:
        scan.hold(value, SLOTS)
        for name, child in SLOTS.save(value):
            if name not in known:
                scan.parts.append(name)
                scan.visit(child, (path, "attr", attribute_key(type(value), name)), Slot(SLOTS, value, name))


def _registered(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """A pytree node whose state is out of reach, or something that holds nothing we can see."""
    flat = _jax.flatten_one_level(value)
    if flat is None:
        opaque(scan, value, path, slot)
        return
    if not scan.alias(value, slot):
        children, treedef = flat
        scan.parts.append((type(value), treedef))
        scan.immutable(value, children, path, slot, treedef)


def opaque(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """Something that cannot be looked into: itself, whatever happens inside of it."""
    if scan.node(value, slot):
        return
    if hides(value):
        scan.parts.append(Same(value))
        scan.effect(path, f"a {type(value).__name__} does not say what it is")
        return
    if isinstance(value, weakref.ref):
        scan.parts.append(weakref.ref)
        scan.visit(value(), (path, "attr", "()"), None)
        return
    if isinstance(value, types.MappingProxyType):
        scan.parts.append(types.MappingProxyType)
        (shown,) = gc.get_referents(value)  # by no other way: a copy would not be what the code reads
        scan.visit(shown, (path, "item", "…"), None)
        return
    scan.parts.append(Same(value))
    if not is_unchanging(value):
        scan.effect(path, f"a {type(value).__name__} {_UNKNOWN}", moves=_moves(value))


def annotation(scan: Scan, value: types.GenericAlias | types.UnionType, path: Path) -> None:
    """A type with parameters, or one of several: it is made anew wherever it is written, and compares by its parts."""
    kind = type(value)
    scan.parts.append((kind, len(value.__args__)))
    if isinstance(value, types.GenericAlias):
        scan.visit(value.__origin__, (path, "attr", "__origin__"), None)
    for index, part in enumerate(value.__args__):
        scan.visit(part, (path, "argument", index), None)


def module_value(scan: Scan, value: types.ModuleType, path: Path, slot: Slot | None) -> None:
    """A module held as a value: itself, and of the user's own modules what the code may read of it."""
    scan.parts.append(value)
    if not is_library(name_of(value)):
        scan.follow(tuple(sorted(scan.attributes & vars(value).keys())), (), vars(value))


def trace_state(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """What an object remembers of the trace that it was made under: while tracing it must be the present one."""
    scan.parts.append(_jax.TraceState)
    if scan.slots is not None and slot is not None and slot is not IN_IMMUTABLE:
        scan.slots.trace_states.append(slot)
