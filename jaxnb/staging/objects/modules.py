"""What a walk says of the modules of libraries: of each, the attributes that the code names.

Functions and classes count by identity, so that one that the user has replaced is seen. Values count like those of
names: numbers and text by value, containers and objects by content, arrays as inputs; what a function of the module
counts up is the user's like a counter of theirs. Of JAX, NumPy and the standard
library only plain values count; the rest of their state is in JAX's own context, or is behind functions, of which a few
that read a state are asked. Of other libraries it counts, too, what the functions that the user calls read there.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import jax

from jaxnb.errors import RunByPython
from jaxnb.runtime import is_library, is_library_class, name_of
from jaxnb.staging.cells.code import CodeNames, Sees
from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.referents import contents_of, state_of
from jaxnb.staging.objects.data import is_data
from jaxnb.staging.objects.inside import (
    follow_classes,
    follow_inside,
    function_behind,
    has_mutable_default,
    is_closed,
    is_plain,
    is_short,
    rebound_names,
)
from jaxnb.staging.objects.mutables import CLASS, DICT, FUNCTION, ModuleAttributes, Mutable, mutable_of
from jaxnb.staging.objects.paths import ROOT, Path, Same
from jaxnb.staging.objects.slots import Slot
from jaxnb.staging.objects.states import follow_state, follow_texts

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = [
    "class_path",
    "follow_imported",
    "follow_library",
    "hold_modules",
    "is_followed",
    "library_attribute",
    "library_function",
    "library_value",
    "module_at",
    "refuse_computed",
    "used_of",
]


def refuse_computed(name: str, module: types.ModuleType, all_names: Collection[CodeNames]) -> None:
    """Gives code to Python that reads what the class of a module computes, which may be another value each time.

    Raises:
      RunByPython: in that case.
    """
    kinds = [kind for kind in type(module).__mro__ if not is_library_class(kind)]
    if kinds and any(
        attribute in vars(kind) for kind in kinds for names in all_names for attribute in names.attributes
    ):
        raise RunByPython(
            f"the class of the module `{name}` computes what is read of it.",
            why="staging follows the names that a module holds.",
            fix="leave --whole out: then Python runs it.",
            short="the class of a module computes what is read of it",
        )


def used_of(name: str, module: types.ModuleType, all_names: Collection[CodeNames]) -> tuple[str, ...]:
    """What code may read of a module of the user's own, in a fixed order: all, where it asks by other names."""
    held = vars(module)
    used = frozenset[str]().union(*(names.attributes for names in all_names)) & held.keys()
    if any((name,) in names.chains and names.sees & Sees.ATTRIBUTES for names in all_names):
        used |= {each for each in held if not each.startswith("__") and not isinstance(held[each], types.ModuleType)}
    asked = {chain[1] for names in all_names for chain in names.chains if chain[0] == name and len(chain) > 1}
    if "__getattr__" in held and not asked <= held.keys():
        used |= {"__getattr__"}
    return tuple(sorted(used))


def follow_library(scan: Scan, name: str, module: types.ModuleType, all_names: Collection[CodeNames]) -> None:
    """Visits what code reads of a module that a name stands for, and of the modules that it holds.

    Of one that is handed on as a value all that has the name of an attribute in the code is visited, and everything
    where the code may read attributes by other names.
    """
    for names in all_names:
        for chain in names.chains:
            if chain[0] == name and len(chain) > 1:
                _follow(scan, module, chain[1:])
        if (name,) in names.chains and not is_closed(module):
            _follow_any(scan, module, all_names)
        for chain in names.sets:
            owner = module_at(module, chain[1:-1]) if chain[0] == name else None
            if owner is not None and scan.first_seen(vars(owner), f"{chain[-1]} ="):
                scan.parts.append((ROOT, owner.__name__, chain[-1], chain[-1] in vars(owner)))
                scan.assigned_name(owner, chain[-1])


def _follow_any(scan: Scan, module: types.ModuleType, all_names: Collection[CodeNames]) -> None:
    read = vars(module).keys()
    if not any(names.sees & Sees.ATTRIBUTES for names in all_names):
        read = read & scan.attributes.union(*(names.attributes for names in all_names))
    for attribute in sorted(read):
        if not attribute.startswith("__"):
            _follow(scan, module, (attribute,))


def follow_imported(scan: Scan, names: CodeNames) -> None:
    """Visits what a function reads of the modules that it imports itself, or finds by their names."""
    for name in sorted(names.reads & sys.modules.keys() - {"__main__"}) if names.finds_modules else ():
        scan.own_module(name, names)
    for chain in names.chains:
        if chain[0].startswith("import "):
            first, *more = chain[0].removeprefix("import ").split(".")
            module = sys.modules.get(first)
            if isinstance(module, types.ModuleType) and is_library(name_of(module)):
                _follow(scan, module, (*more, *chain[1:]))
                continue
            for position in range(len(more) + 1):
                scan.own_module(".".join([first, *more[:position]]), names)


def module_at(value: Any, names: tuple[str, ...]) -> types.ModuleType | None:
    """The module to which a dotted name leads from a value, or None."""
    for name in names:
        value = vars(value).get(name) if issubclass(type(value), types.ModuleType) else None
    return value if issubclass(type(value), types.ModuleType) else None


def _follow(scan: Scan, module: types.ModuleType, names: tuple[str, ...]) -> None:
    for position, name in enumerate(names):
        held = vars(module)
        if name not in held:
            _follow_served(scan, module, name)
            return
        value = held[name]
        if value is jax.config and len(names) > position + 1:
            scan.library_state(f"jax.config.{names[position + 1]}", _setting(names[position + 1]))
            return
        if scan.first_seen(held, name):
            scan.library_value(module, name, value)
        if (function := function_behind(value)) is not None:
            follow_inside(scan, function)
        if not issubclass(type(value), types.ModuleType) or not is_library(name_of(value)):
            return
        module = value


def _follow_served(scan: Scan, module: types.ModuleType, name: str) -> None:
    """A name that the `__getattr__` of a module may give: that it is not there, and what that function reads."""
    serves = vars(module).get("__getattr__")
    if type(serves) is types.FunctionType and not is_closed(module):
        if scan.first_seen(vars(module), name):
            scan.missing_name(module, name)
        if scan.first_seen(vars(module), "__getattr__"):
            scan.library_value(module, "__getattr__", serves)
        if (function := function_behind(serves)) is not None:
            follow_inside(scan, function)


def _setting(name: str) -> Callable[[], Any]:
    return lambda: getattr(jax.config, name, None)


def library_value(scan: Scan, module: types.ModuleType, name: str, value: Any) -> None:
    """What a module of a library holds under one name."""
    path: Path = (name_of(module), "global", name)
    if type(value) is types.FunctionType:  # what this package puts there while it looks counts as what was there
        value = vars(value).get("stands_for", value)
    if callable(value):
        scan.calls_library(module.__name__)
    follow_state(scan, value)
    if is_followed(module, value):
        scan.parts.append((ROOT, module.__name__, name))
        counts = type(value) in ATOMS and not is_closed(module) and name in rebound_names(module)
        if type(value) not in ATOMS or counts:
            scan.assigned_name(module, name)
        with _inside(scan, counts):
            scan.visit(value, path, Slot(DICT, vars(module), name))
    elif is_short(value) and (holder := mutable_of(value)) is not None:  # `sys.meta_path`: which objects it holds
        if not scan.node(value, Slot(DICT, vars(module), name)):
            scan.library_state(f"{module.__name__}.{name}", functools.partial(_members, value, holder))
            scan.hold(value, holder)
    elif callable(value) or isinstance(value, types.ModuleType):
        if not is_closed(module) and function_behind(value) is None:
            kind = value if isinstance(value, type) else type(value)
            scan.kinds[id(kind)] = kind
        scan.library_object(path, value)
        owner = state_of(value.__self__) if isinstance(value, types.MethodType) else None
        if type(owner) is dict and is_plain(owner):
            scan.library_state(f"{module.__name__}.{name}", functools.partial(dict, owner))


def _members(value: Any, holder: Mutable) -> tuple[Any, ...]:
    """What a container holds, by identity but for plain values and tuples."""
    members = (member for item in holder.save(value) for member in item)
    return tuple(member if type(member) in ATOMS or type(member) is tuple else Same(member) for member in members)


def library_function(scan: Scan, function: types.FunctionType, path: Path) -> None:
    """What a function of a library remembers: data in its closure and in defaults, and attributes."""
    if scan.node(function, None):
        return
    with _inside(scan, True):
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if all(is_data(held) and function_behind(held) is None for held in contents_of(cell)):
                scan.cell(cell, (path, "closure", name))
        if has_mutable_default(function) and is_data(function.__defaults__):
            scan.hold(function, FUNCTION)
            scan.visit(function.__defaults__, (path, "defaults", None), Slot(FUNCTION, function, "__defaults__"))
        attributes = vars(function)
        if "__wrapped__" not in attributes and is_data(attributes):
            scan.visit(attributes, (path, "attributes", None), None)


def class_path(kind: type) -> Path:
    """Where a library's class is."""
    return None, "name", f"{kind.__module__}.{kind.__qualname__}"


def library_attribute(scan: Scan, kind: type, name: str) -> None:
    """A plain attribute of a library's class that the library assigns."""
    path = class_path(kind)
    if scan.slots is not None:
        scan.where.append((len(scan.parts), path))
    scan.parts.append((ROOT, path[2], name))
    if not scan.node(kind, None):
        scan.hold(kind, CLASS)
    with _inside(scan, True):
        scan.visit(vars(kind)[name], (path, "attr", name), Slot(CLASS, kind, name))


@contextmanager
def _inside(scan: Scan, counts: bool) -> Generator[None]:
    """While something of a library is visited, of which numbers may be inputs if it `counts`."""
    around = scan.in_library, scan.fixed
    scan.in_library, scan.fixed = (0, ()) if counts else (scan.in_library + 1, ("library",))
    scan.depth += 1
    yield
    scan.depth -= 1
    scan.in_library, scan.fixed = around


def is_followed(module: types.ModuleType, value: Any) -> bool:
    """Whether a value counts by content; otherwise it is itself."""
    kind = type(value)
    if kind is types.FunctionType:
        return not is_library(value.__globals__.get("__name__", "__main__"))  # the user has put it there
    if issubclass(kind, type):
        return not is_library_class(value)
    if issubclass(kind, types.ModuleType):
        return False
    if kind is types.MethodType:
        return not is_library(getattr(value.__func__, "__module__", None))
    if kind is types.BuiltinFunctionType:
        return mutable_of(value.__self__) is not None and type(value.__self__).__module__ == "builtins"
    if is_plain(value):
        return True
    return not is_closed(module) and not callable(value)


def hold_modules(scan: Scan) -> None:
    """At the end of a walk: what the code may assign of these modules is saved and compared.

    Raises:
      RunByPython: if an `attrgetter` may read a module, which names no attribute of it.
    """
    follow_classes(scan)
    follow_texts(scan)
    if scan.getters and scan.handed_on is not None:
        raise RunByPython(
            f"the cell hands on the module `{scan.handed_on}`, and an `attrgetter` may read it.",
            why="staging follows the names that code has of a module.",
            fix="write the attribute out, or leave --whole out: then Python runs it.",
            short="an attrgetter may read a module",
        )
    for module, names in scan.modules.values():
        held = vars(module)
        scan.memo[id(held)] = ("node", len(scan.nodes))
        scan.nodes.append(held)
        scan.hold(held, ModuleAttributes(frozenset(names)))
