"""What a walk says of lists, dicts, sets and tuples, of classes that derive from them, and of arrays of objects."""

from __future__ import annotations

import builtins
from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxnb.staging.cells.code import Sees
from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.referents import has_state, items_of, objects_of, state_of
from jaxnb.staging.objects import functions
from jaxnb.staging.objects.mutables import GROWN_LIST, OBJECTS, mutable_of
from jaxnb.staging.objects.paths import GROWN, OBJECT, Path
from jaxnb.staging.objects.slots import Slot

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = ["dict_", "list_", "objects", "set_", "tuple_"]


def list_(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    kind = type(value)
    if kind is list and scan.only_grows is not None and is_grown(scan, path):
        if not scan.node(value, slot):
            scan.parts.append(GROWN)
            scan.grown.add(id(value))
            scan.hold(value, GROWN_LIST)
        return
    if scan.node(value, slot):
        scan.reads_grown |= id(value) in scan.grown
        return
    items = items_of(value)
    scan.parts.append((kind if kind is list else functions.kind_of(scan, kind, path), len(items)))
    if isinstance(value, deque):
        scan.parts.append(value.maxlen)
    holder = mutable_of(value)
    assert holder is not None
    scan.hold(value, holder)
    for index, child in enumerate(items):
        scan.visit(child, (path, "item", index), Slot(holder, value, index))
    if kind is not list and kind is not deque and has_state(value):
        scan.state(value, path)


def is_grown(scan: Scan, path: Path) -> bool:
    """Whether the code only appends to the list at this path."""
    assert scan.only_grows is not None
    subscripts: tuple[Any, ...] = ()
    while path[1] == "item":
        subscripts = (path[2], *subscripts)
        path = path[0]
    holder, kind, name = path
    if kind == "attributes" and subscripts:  # of a function
        kind, name, subscripts = "attr", subscripts[0], subscripts[1:]
    if kind == "attr" and holder in scan.trees:
        return False
    bases = [("name", name), ("attr", name)] if kind == "global" else [(kind, name)]
    grown = scan.only_grows.only_grows(bases, subscripts)
    if grown:
        scan.grown_bases.update(bases)
    return grown


def dict_(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if scan.node(value, slot):
        return
    kind = type(value)
    keys = tuple(OrderedDict.keys(value) if isinstance(value, OrderedDict) else dict.keys(value))
    walked = tuple(sorted(keys)) if kind is dict and all(type(key) is str for key in keys) else keys
    told = keys if scan.tells_apart & Sees.ORDER else walked
    scan.parts.append((kind, told) if kind is dict else (functions.kind_of(scan, kind, path), told))
    if not all(type(key) is str for key in keys):
        for key in keys:
            scan.parts.append((type(key), key.hex()) if type(key) is float else type(key))  # -0.0 equals 0.0
            if type(key) not in ATOMS:
                scan.visit(key, (path, "member", key), None)
    if isinstance(value, defaultdict):
        scan.visit(value.default_factory, (path, "attr", "default_factory"), None)
    holder = mutable_of(value)
    assert holder is not None
    scan.hold(value, holder)
    for key in walked:  # the same program whatever their order, as JAX has it
        child = dict.__getitem__(value, key)
        if child is builtins.__dict__ and key == "__builtins__":
            continue  # which `exec` puts into the namespaces that it is given
        scan.visit(child, (path, "item", key), Slot(holder, value, key))
    if kind is not dict and has_state(value):
        scan.state(value, path)


def set_(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if scan.node(value, slot):
        return
    kind, items = type(value), items_of(value)
    plain = kind in (set, frozenset)
    scan.parts.append((kind if plain else functions.kind_of(scan, kind, path), len(items)))
    if (holder := mutable_of(value)) is not None:
        scan.hold(value, holder)
    for child in items:
        if type(child) in (float, complex):
            scan.parts.append((type(child), repr(child)))
        else:
            scan.visit(child, (path, "member", None), None)
    if not plain and has_state(value):
        scan.state(value, path)


def objects(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """A NumPy array of objects; a view is one of what its base holds."""
    if scan.node(value, slot):
        return
    writeable, base = value.flags.writeable, value.base
    start = value.ctypes.data - base.ctypes.data if isinstance(base, np.ndarray) else None
    layout = None if base is None else (value.strides, start)
    scan.parts.append((OBJECT, f"NumPy object{list(value.shape)}", writeable, layout))
    if base is not None:
        scan.visit(base, (path, "attr", "base"), None)
    if writeable:
        scan.hold(value, OBJECTS)
    for at, child in objects_of(value):
        scan.visit(child, (path, "item", at), Slot(OBJECTS, value, at) if writeable else None)


def tuple_(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if not scan.alias(value, slot):
        kind, items = type(value), items_of(value)
        scan.parts.append((kind if kind is tuple else functions.kind_of(scan, kind, path), len(items)))
        if kind is not tuple and state_of(value) is not None:
            scan.state(value, path)
        scan.immutable(value, items, path, slot, None)
