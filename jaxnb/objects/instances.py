"""What a walk says of objects: their state is followed, through `__dict__`, slots, or as JAX takes them apart."""

from __future__ import annotations

import types
import weakref
from typing import TYPE_CHECKING, Any

from jaxnb import _jax
from jaxnb.cells.code import Sees
from jaxnb.cells.effects import is_stateful, is_unchanging
from jaxnb.cells.libraries import is_library
from jaxnb.cells.reach import state_of
from jaxnb.objects import functions
from jaxnb.objects.holders import DICT, SLOTS, slot_descriptors
from jaxnb.objects.paths import ATTRIBUTES, OBJECT, Path, Same
from jaxnb.objects.slots import IN_IMMUTABLE, Slot

if TYPE_CHECKING:
    from jaxnb.objects.graph import Scan

__all__ = ["module_value", "object_", "state", "trace_state"]


def object_(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    state = state_of(value)
    slotted = slot_descriptors(type(value))
    if is_stateful(value):
        scan.effect(path, f"a {type(value).__name__} keeps a state that a replay would not move on")
    if isinstance(state, dict) and callable(value) and is_library(str(state.get("__module__", "_"))):
        scan.parts.append(value)  # a library function wrapped by an object, such as jax.nn.relu
        return
    if not isinstance(state, dict) and not slotted:
        _registered(scan, value, path, slot)
        return
    if scan.node(value, slot):
        return
    scan.parts.append((OBJECT, functions.kind_of(scan, type(value))))
    if scan.slots is not None or scan.only_grows is not None:
        _as_tree(scan, value, path)
    scan.state(value, path)


def _as_tree(scan: Scan, value: Any, path: Path) -> None:
    """An object that JAX takes apart: floats among its static data are compared by JAX, so they stay themselves."""
    flat = _jax.flatten_one_level(value)
    if flat is None:
        return
    scan.trees.add(path)
    if scan.slots is None:
        return
    children = {id(child) for child in flat[0]}
    for name, child in {**getattr(value, "__dict__", {}), **dict(SLOTS.save(value))}.items():
        if type(child) in (float, complex) and id(child) not in children:
            scan.choices.static.add((path, "attr", name))
            scan.choices.unsaid.add((path, "attr", name))


def state(scan: Scan, value: Any, path: Path) -> None:
    state: dict[str, Any] | None = state_of(value)
    if scan.slots is not None and not is_library(type(value).__module__):
        scan.slots.shells.append((value, type(value), state))
    if isinstance(state, dict):
        names = tuple(state)
        if not scan.tells_apart & Sees.ATTRIBUTES and all(type(name) is str for name in names):
            names = tuple(sorted(names))
        if scan.slots is not None:
            scan.where.append((len(scan.parts), path))
        scan.parts.append((ATTRIBUTES, names))
        scan.memo.setdefault(id(state), ("node", len(scan.nodes)))
        scan.nodes.append(state)
        scan.hold(state, DICT)
        for name in names:
            scan.visit(state[name], (path, "attr", name), Slot(DICT, state, name))
    slots = slot_descriptors(type(value))
    if slots:
        scan.hold(value, SLOTS)
        for name, child in SLOTS.save(value):
            scan.parts.append(name)
            scan.visit(child, (path, "attr", name), Slot(SLOTS, value, name))


def _registered(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """A pytree node whose state is out of reach, or something that holds nothing we can see."""
    flat = _jax.flatten_one_level(value)
    if flat is None:
        _opaque(scan, value, path, slot)
        return
    if not scan.alias(value, slot):
        children, treedef = flat
        scan.parts.append((type(value), treedef))
        scan.immutable(value, children, path, slot, treedef)


def _opaque(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if scan.node(value, slot):
        return
    if isinstance(value, weakref.ref):
        scan.parts.append(weakref.ref)
        scan.visit(value(), (path, "attr", "()"), None)
        return
    if isinstance(value, types.MappingProxyType):
        scan.parts.append(types.MappingProxyType)
        scan.visit(dict(value), (path, "item", "…"), None)
        scan.effect(path, "what a mappingproxy shows may change")
        return
    scan.parts.append(Same(value))
    if not is_unchanging(value):
        scan.effect(path, f"a {type(value).__name__} keeps a state that staging cannot follow")


def module_value(scan: Scan, value: types.ModuleType, path: Path, slot: Slot | None) -> None:
    """A module held as a value: itself, and of the user's own modules what the code may read of it."""
    scan.parts.append(value)
    if not is_library(value.__name__):
        scan.follow(tuple(sorted(scan.attributes & vars(value).keys())), (), vars(value))


def trace_state(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """What an object remembers of the trace that it was made under: while tracing it must be the present one."""
    scan.parts.append(_jax.TraceState)
    if scan.slots is not None and slot is not None and slot is not IN_IMMUTABLE:
        scan.slots.trace_states.append(slot)
