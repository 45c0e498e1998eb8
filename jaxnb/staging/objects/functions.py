"""What a walk says of functions, methods, partials and classes: those of the user count by content."""

from __future__ import annotations

import copyreg
import types
from typing import TYPE_CHECKING, Any

from jaxnb import _jax
from jaxnb.runtime import function_of, home_of, is_library, is_library_class
from jaxnb.staging.cells.append_only import NO_USES, ListUses
from jaxnb.staging.cells.code import CodeNames, Sees, code_digest, names_of
from jaxnb.staging.cells.effects import effect_of_builtin, own_unseen
from jaxnb.staging.cells.referents import CACHED_FUNCTION, contents_of
from jaxnb.staging.objects import modules
from jaxnb.staging.objects.dispatchers import dispatch_cache, is_of_cache
from jaxnb.staging.objects.inside import follow_inside
from jaxnb.staging.objects.mutables import CELL, CLASS, DICT, FUNCTION, PARTIAL
from jaxnb.staging.objects.paths import CLASS_MARK, FUN, JIT, OPEN, Path, class_part
from jaxnb.staging.objects.slots import Method, Slot
from jaxnb.staging.objects.states import follow_state
from jaxnb.staging.objects.static import (
    ASKS_ANNOTATIONS,
    DESCRIPTORS,
    NOT_CONTENT,
    OF_WRAPPERS,
    is_library_jit,
    is_member,
    loaded_module,
    texts_of,
)

if TYPE_CHECKING:
    from jaxnb.staging.objects.graph import Scan

__all__ = [
    "builtin_method",
    "cached",
    "class_",
    "function",
    "jitted",
    "kind_of",
    "method",
    "partial",
    "sets_attributes",
]


def cell(scan: Scan, value: types.CellType, path: Path) -> None:
    if scan.slots is not None:
        scan.where.append((len(scan.parts), path))
    if scan.node(value, None):
        return
    scan.hold(value, CELL)
    held = contents_of(value)
    if not held:
        scan.parts.append(OPEN)
    for content in held:
        scan.visit(content, path, Slot(CELL, value, None))


def function(scan: Scan, value: types.FunctionType, path: Path, slot: Slot | None) -> None:
    if id(value) in scan.instead:
        scan.strays |= _reads_values(value)  # it will run itself: only what classes hold directly is replaced there
        value = scan.instead[id(value)]
    code, module = value.__code__, value.__globals__.get("__name__", "__main__")
    library = is_library(module)
    if library:
        scan.calls_library(str(module))  # what a person has made may name anything
    if library and is_member(loaded_module(module), value):
        scan.parts.append(value)
        follow_state(scan, value)
        follow_inside(scan, value)
        return
    digest = code_digest(code)
    runs = library or scan.ran is None or digest in scan.ran
    if scan.node(value, slot) and not (runs and id(value) in scan.closed):
        scan.list_uses |= scan.list_uses_of.get(id(value), NO_USES)
        scan.uses |= scan.uses_of.get(id(value), set())
        return
    (scan.closed.discard if runs else scan.closed.add)(id(value))
    uses, scan.uses = scan.uses, set()
    outer, scan.list_uses = scan.list_uses, NO_USES
    nesting, scan.nesting = scan.nesting, 0
    scan.parts.append((FUN, digest, *texts_of(value)))
    scan.hold(value.__dict__, DICT)
    if scan.slots is not None:
        scan.slots.attributes[id(value.__dict__)] = path, type(value)
    asks = scan.attributes if library else scan.attributes | names_of(code).attributes
    if not asks.isdisjoint(ASKS_ANNOTATIONS):
        scan.visit(value.__annotations__, (path, "attr", "__annotations__"), None)
    if dispatch_cache(value) is not None:
        scan.dispatchers.append(value)
    scan.depth += 1
    for name, cell in zip(code.co_freevars, value.__closure__ or (), strict=True) if runs else ():
        if not is_of_cache(module, name):
            scan.cell(cell, (path, "closure", name))
    scan.hold(value, FUNCTION)
    if value.__defaults__:
        scan.visit(value.__defaults__, (path, "defaults", None), Slot(FUNCTION, value, "__defaults__"))
    if value.__kwdefaults__:
        scan.visit(value.__kwdefaults__, (path, "defaults", None), None)
    if module == "functools":
        for name, item in list(value.__dict__.items()):
            if not is_of_cache(module, name):
                scan.visit(item, (path, "attr", name), None)
    elif value.__dict__:
        scan.visit(value.__dict__, (path, "attributes", None), None)
    elif not library:
        scan.bare.append((value, path))
    if runs and not library:
        names = names_of(code)
        scan.sees |= names.sees
        if scan.slots is not None:
            scan.list_uses |= names.list_uses
            scan.uses.add((None, names.attributes))
            scan.constructs |= "type" in names.reads or "__class__" in names.attributes
        scan.attributes |= names.attributes
        scan.stores |= names.later_binds | names.deletes
        scan.sets_attributes |= sets_attributes(names)
        if scan.slots is not None and (effect := own_unseen(names, value.__globals__)) is not None:
            scan.effect(path, effect[1])
        scan.follow(names.order, (names,), value.__globals__)
        modules.follow_imported(scan, names)
    scan.list_uses_of[id(value)], scan.uses_of[id(value)] = scan.list_uses, scan.uses
    scan.list_uses |= outer
    scan.nesting = nesting
    scan.uses |= uses
    scan.depth -= 1


def sets_attributes(names: CodeNames) -> bool:
    """Whether code assigns attributes of other objects than `self`, as of a function."""
    return bool(names.assigns) or "setattr" in names.reads


def _reads_values(value: types.FunctionType) -> bool:
    """Whether a function reads anything but modules, classes and built-in functions from outside."""
    plain = types.ModuleType | types.BuiltinFunctionType | type
    names = [name for name in names_of(value.__code__).order if name in value.__globals__]
    return bool(value.__closure__) or any(not isinstance(value.__globals__[name], plain) for name in names)


def method(scan: Scan, value: types.MethodType, path: Path, slot: Slot | None) -> None:
    """A bound method is an object of its own: what hands it on hands on the one that is there in that run."""
    function = id(scan.instead.get(id(value.__func__), value.__func__))
    if scan.node(value, slot) and not (scan.ran is None and function in scan.closed):
        scan.list_uses |= scan.list_uses_of.get(function, NO_USES)
        scan.uses |= scan.uses_of.get(function, set())
        return
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
    scan.depth += 1
    scan.visit(value.func, (path, "attr", "func"), None)
    scan.visit(value.args, (path, "attr", "args"), Slot(PARTIAL, value, "args"))
    scan.visit(value.keywords, (path, "attr", "keywords"), None)
    scan.depth -= 1
    scan.partial_state(value, path)


def builtin_method(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    owner = getattr(value, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType | type):
        scan.parts.append(value)
        follow_state(scan, value)
        scan.sees |= Sees.TYPES * (value in (isinstance, hasattr, getattr))
        if value is id:  # a partial calls it without naming it
            scan.living(path[0] if path[1:] == ("attr", "func") else path, "it asks for the id of an object")
        if scan.slots is not None and (effect := effect_of_builtin(value)) is not None:
            scan.effect(path, effect)
        return
    if scan.node(value, slot):
        return
    scan.parts.append((types.BuiltinMethodType, value.__name__))
    scan.visit(owner, (path, "attr", "__self__"), None)


def kind_of(scan: Scan, kind: type, path: Path) -> Any:
    """A class as a part of the key: itself, or for a class of the user its name, its content being visited.

    What follows in the key belongs to the value at `path` again.
    """
    if is_library_class(kind):
        scan.kinds[id(kind)] = kind
        if not issubclass(kind, dict):
            scan.calls_library(home_of(kind))
        follow_state(scan, kind)
        return class_part(kind)
    scan.class_(kind, (None, "name", kind.__qualname__), None)
    if scan.slots is not None:
        scan.where.append((len(scan.parts), path))
    return kind.__qualname__


_PLAIN_BASES = ("builtins", "abc", "typing", "collections.abc")


def class_(scan: Scan, value: type, path: Path, slot: Slot | None) -> None:
    """A class of the user counts by content, so that running its definition again changes nothing."""
    if is_library_class(value):
        scan.kinds[id(value)] = value
        scan.parts.append(class_part(value))
        scan.sees |= Sees.ORDER * (value is dict)  # of which a class of the user is derived
        scan.calls_library(home_of(value))
        follow_state(scan, value)
        return
    if scan.node(value, slot):
        return
    if scan.slots is not None:
        scan.slots.held_at[id(value)] = path  # which may have been met behind an object of it
    is_pytree = value in _jax.PYTREES
    scan.parts.append((CLASS_MARK, *texts_of(value), is_pytree))
    scan.sees |= Sees.ORDER * is_pytree  # what takes it apart is called by JAX
    scan.class_(type(value), (path, "attr", "__class__"), None)
    scan.hold(value, CLASS)
    scan.registered(value, path)
    scan.depth += 1
    if value in copyreg.dispatch_table:  # `copy` and `pickle` look there first
        scan.visit(copyreg.dispatch_table[value], (path, "attr", "copyreg"), None)
    if not scan.attributes.isdisjoint(ASKS_ANNOTATIONS) and "__annotations__" in vars(value):
        scan.visit(value.__annotations__, (path, "attr", "__annotations__"), None)
    plain = all(base.__module__ in _PLAIN_BASES or not is_library_class(base) for base in value.__mro__)
    scan.constructs |= not plain  # a library may make its objects, and call any method of them
    for base in value.__bases__:
        scan.class_(base, (path, "attr", base.__name__), None)
    for name, item in list(vars(value).items()):
        if name in NOT_CONTENT or type(item).__name__ in DESCRIPTORS:
            continue
        scan.parts.append(name)
        inner = function_of(item)
        outer, scan.list_uses = scan.list_uses, NO_USES
        uses, scan.uses = scan.uses, set()
        if isinstance(item, property):
            for part in (item.fset, item.fdel):
                scan.visit(scan.instead.get(id(part), part), (path, "attr", name), None)
        inner = scan.instead.get(id(inner), inner)
        scan.visit(inner, (path, "attr", name), Slot(CLASS, value, name) if inner is item else None)
        if isinstance(item, types.FunctionType):
            scan.methods.append(Method(value, name, scan.instead.get(id(item), item), scan.list_uses))
            scan.list_uses = ListUses(scan.list_uses.grown)
        scan.list_uses |= outer
        scan.uses = uses | {(name if by is None and plain else by, names) for by, names in scan.uses}
    scan.depth -= 1


def cached(scan: Scan, value: Any, path: Path, slot: Slot | None) -> None:
    """A function under `functools.lru_cache`: what it has cached is out of reach."""
    if not scan.node(value, slot):
        scan.parts.append(CACHED_FUNCTION)
        ran, scan.ran = scan.ran, None  # it did not run where it knew the answer
        scan.depth += 1
        scan.visit(value.__wrapped__, (path, "attr", "__wrapped__"), None)
        scan.depth -= 1
        scan.ran = ran
        scan.state(value, path, OF_WRAPPERS)


def jitted(scan: Scan, value: Any, options: Any, path: Path, slot: Slot | None) -> None:
    wrapped = value.__wrapped__
    if is_library_jit(value):
        scan.parts.append(value)
    elif not scan.node(value, slot):
        scan.parts.append((JIT, options))
        scan.depth += 1
        scan.visit(wrapped, (path, "attr", "__wrapped__"), None)
        scan.depth -= 1
        scan.state(value, path, OF_WRAPPERS)
