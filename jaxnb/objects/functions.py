"""What a walk says of functions, methods, partials and classes: those of the user count by content."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

from jaxnb.cells.code import Sees, code_digest, names_of
from jaxnb.cells.effects import effect_of_builtin, first_effect
from jaxnb.cells.growth import NO_GROWTH, Growth
from jaxnb.cells.libraries import is_library
from jaxnb.objects.holders import CELL, CLASS, DICT, FUNCTION, PARTIAL
from jaxnb.objects.paths import CLASS_MARK, FUN, JIT, OPEN, Path
from jaxnb.objects.slots import Method, Slot
from jaxnb.objects.static import CACHED_FUNCTION, DESCRIPTORS, NOT_CONTENT, function_of, is_member, loaded_module

if TYPE_CHECKING:
    from jaxnb.objects.graph import Scan

__all__ = ["builtin_method", "cached", "class_", "function", "jitted", "kind_of", "method", "partial"]


def cell(scan: Scan, value: types.CellType, path: Path) -> None:
    if scan.node(value, None):
        return
    scan.hold(value, CELL)
    try:
        content = value.cell_contents
    except ValueError:
        scan.parts.append(OPEN)
        return
    scan.visit(content, path, Slot(CELL, value, None))


def function(scan: Scan, value: types.FunctionType, path: Path, slot: Slot | None) -> None:
    code, module = value.__code__, value.__globals__.get("__name__", "__main__")
    library = is_library(module)
    if library and is_member(loaded_module(module), value):
        scan.parts.append(value)
        return
    if scan.node(value, slot):
        scan.growth |= scan.growths.get(id(value), NO_GROWTH)
        return
    outer, scan.growth = scan.growth, NO_GROWTH
    scan.parts.append((FUN, code_digest(code), value.__name__))
    scan.hold(value.__dict__, DICT)
    if {"registry", "dispatch"} <= value.__dict__.keys():
        scan.effect(path, "functools.singledispatch looks at the class of traced values")
        scan.dispatches_on_types = True
    scan.depth += 1
    for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True):
        scan.cell(cell, (path, "closure", name))
    if value.__defaults__:
        scan.hold(value, FUNCTION)
        scan.visit(value.__defaults__, (path, "defaults", None), Slot(FUNCTION, value, "__defaults__"))
    if value.__kwdefaults__:
        scan.visit(value.__kwdefaults__, (path, "defaults", None), None)
    if value.__dict__:
        scan.visit(value.__dict__, (path, "attributes", None), None)
    if not library:
        names = names_of(code)
        scan.sees |= names.sees
        if scan.slots is not None:
            scan.growth |= names.growth
        scan.attributes |= names.attributes
        scan.stores |= names.later_binds | names.deletes
        if scan.slots is not None and (effect := first_effect(names, value.__globals__)) is not None:
            scan.effect(path, effect[1])
        scan.follow(names.order, (names,), value.__globals__)
    scan.growths[id(value)] = scan.growth
    scan.growth |= outer
    scan.depth -= 1


def method(scan: Scan, value: types.MethodType, path: Path, slot: Slot | None) -> None:
    scan.parts.append(types.MethodType)
    scan.depth += 1
    scan.visit(value.__func__, (path, "attr", "__func__"), None)
    scan.visit(value.__self__, (path, "attr", "__self__"), None)
    scan.depth -= 1


def partial(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    if scan.node(value, slot):
        return
    scan.parts.append((type(value), tuple(value.keywords)))
    scan.hold(value, PARTIAL)
    scan.hold(value.__dict__, DICT)
    scan.depth += 1
    scan.visit(value.func, (path, "attr", "func"), None)
    scan.visit(value.args, (path, "attr", "args"), Slot(PARTIAL, value, "args"))
    scan.visit(value.keywords, (path, "attr", "keywords"), None)
    scan.depth -= 1


def builtin_method(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    owner = getattr(value, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType | type):
        scan.parts.append(value)
        scan.sees |= Sees.TYPES * (value in (isinstance, hasattr, getattr))
        if scan.slots is not None and (effect := effect_of_builtin(value)) is not None:
            scan.effect(path, effect)
        return
    scan.parts.append((types.BuiltinMethodType, value.__name__))
    scan.visit(owner, (path, "attr", "__self__"), None)


def kind_of(scan: Scan, kind: type) -> Any:
    """A class as a part of the key: itself, or for a class of the user its name, its content being visited."""
    if is_library(kind.__module__):
        return kind
    scan.class_(kind, (None, "name", kind.__qualname__), None)
    return kind.__qualname__


def class_(scan: Scan, value: type, path: Path, slot: Slot | None) -> None:
    """A class of the user counts by content, so that running its definition again changes nothing."""
    if is_library(value.__module__):
        scan.parts.append(value)
        return
    if scan.node(value, slot):
        return
    scan.parts.append((CLASS_MARK, value.__qualname__))
    scan.class_(type(value), (path, "attr", "__class__"), None)
    scan.hold(value, CLASS)
    scan.depth += 1
    for base in value.__bases__:
        scan.class_(base, (path, "attr", base.__name__), None)
    for name, item in list(vars(value).items()):
        if name in NOT_CONTENT or type(item).__name__ in DESCRIPTORS:
            continue
        scan.parts.append(name)
        inner = function_of(item)
        outer, scan.growth = scan.growth, NO_GROWTH
        if isinstance(item, property):
            for part in (item.fset, item.fdel):
                scan.visit(part, (path, "attr", name), None)
        scan.visit(inner, (path, "attr", name), Slot(CLASS, value, name) if inner is item else None)
        if isinstance(item, types.FunctionType):
            scan.methods.append(Method(value, name, item, scan.growth))
            scan.growth = Growth(scan.growth.grown)
        scan.growth |= outer
    scan.depth -= 1


def cached(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """A function under `functools.lru_cache`: what it has cached is out of reach."""
    if not scan.node(value, slot):
        scan.parts.append(CACHED_FUNCTION)
        scan.depth += 1
        scan.visit(value.__wrapped__, (path, "attr", "__wrapped__"), None)
        scan.depth -= 1


def jitted(scan: Scan, value: Any, options: Any, path: Path, slot: Slot | None) -> None:
    wrapped = value.__wrapped__
    if isinstance(wrapped, types.FunctionType) and is_library(wrapped.__globals__.get("__name__", "__main__")):
        scan.parts.append(value)
    elif not scan.node(value, slot):
        scan.parts.append((JIT, options))
        scan.hold(value.__dict__, DICT)
        scan.depth += 1
        scan.visit(wrapped, (path, "attr", "__wrapped__"), None)
        scan.depth -= 1
