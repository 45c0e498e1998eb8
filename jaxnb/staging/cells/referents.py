"""What an object holds: its attributes, its items, the closure of a function, the variables of a frame.

It is only read here, and no code of the object or of its class is run. How what is held is put back is said in
`objects.mutables`.
"""

from __future__ import annotations

import functools
import gc
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from jaxnb.runtime import identity, is_library_class, locals_of

__all__ = [
    "CACHED_FUNCTION",
    "Edges",
    "Reader",
    "TypeCache",
    "attributes_of",
    "closure_of",
    "contents_of",
    "edges",
    "function_parts",
    "has_hidden_room",
    "has_state",
    "items_of",
    "objects_of",
    "parts_of",
    "reader_of",
    "referents",
    "slot_descriptors",
    "slots_by_name",
    "slots_of",
    "state_of",
]

CACHED_FUNCTION = type(functools.lru_cache(lambda: None))


# --- attributes ----------------------------------------------------------------------------------------------------


def state_of(value: Any) -> Any:
    """The `__dict__` of an object, or None. No `__getattr__` of its class is run.

    A partial has one only once somebody has asked for it, and a partial of it is then made otherwise. A
    `threading.local` has one for each thread: it is that of this one.
    """
    if issubclass(type(value), functools.partial):
        return functools.partial.__reduce__(value)[2][3]  # type: ignore[index]
    try:
        if issubclass(type(value), threading.local):
            return threading.local.__getattribute__(value, "__dict__")
        return object.__getattribute__(value, "__dict__")
    except Exception:  # a class may have a `__dict__` of its own that raises anything
        return None


def attributes_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds under names: in its `__dict__`, if that is one, and in its slots."""
    state = state_of(value)
    if isinstance(state, dict):
        yield from list(state.items())
    yield from slots_of(value)


def has_state(value: Any) -> bool:
    """Whether an object has attributes of its own, in a `__dict__` or in slots."""
    return isinstance(state_of(value), dict) or bool(slot_descriptors(type(value)))


class _Layout(NamedTuple):
    """Where objects of a class keep what they hold, besides their `__dict__`."""

    kind: weakref.ref[type]
    slots: tuple[tuple[str, Any], ...]
    by_name: dict[str, Any]
    hidden: bool


_layouts: dict[int, _Layout] = {}


def _layout(kind: type) -> _Layout:
    """Remembered as long as the class lives."""
    key = identity(kind)
    known = _layouts.get(key)
    if known is not None and known[0]() is kind:
        return known
    slots = _read_slots(kind)
    forget = functools.partial(_layouts.pop, key)
    known = _layouts[key] = _Layout(weakref.ref(kind, forget), slots, dict(slots), _has_hidden_room(kind))
    return known


def slot_descriptors(kind: type) -> tuple[tuple[str, Any], ...]:
    """The slots of a class by name, base classes first."""
    return _layout(kind).slots


def slots_by_name(kind: type) -> dict[str, Any]:
    """What reads and writes the slots of a class."""
    return _layout(kind).by_name


def has_hidden_room(kind: type) -> bool:
    """Whether objects of a class have room besides their `__dict__` and slots: for fields of compiled code."""
    return _layout(kind).hidden


def slots_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What stands in the slots of an object, by name, base classes first."""
    return _filled(value, slot_descriptors(type(value)))


def _filled(value: Any, slots: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, descriptor in slots:
        try:
            child = descriptor.__get__(value)
        except AttributeError:
            continue  # nothing was assigned yet
        yield name, child


def _has_hidden_room(kind: type) -> bool:
    pointers = sum(1 for _ in _members(kind)) + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    return kind.__basicsize__ > object.__basicsize__ + 8 * pointers


def _read_slots(kind: type) -> tuple[tuple[str, Any], ...]:
    found: dict[str, Any] = {}
    for base in reversed(kind.__mro__):
        if "__slots__" in vars(base):
            found.update(_members_of(base))
    return tuple(found.items())


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """The slots of a class and the fields that compiled code shows, derived classes first; a name may come twice."""
    return (member for base in kind.__mro__ for member in _members_of(base))


def _members_of(base: type) -> list[tuple[str, Any]]:
    return [(name, item) for name, item in vars(base).items() if isinstance(item, types.MemberDescriptorType)]


# --- items, closures, frames ---------------------------------------------------------------------------------------


def items_of(value: Any) -> list[Any]:
    """The items of a list, tuple, set or deque. No `__iter__` of a class that derives from these is run."""
    kind: Any = next(base for base in (list, tuple, set, frozenset, deque) if isinstance(value, base))
    return list(kind.__iter__(value))


def objects_of(array: Any) -> Iterator[tuple[Any, Any]]:
    """What a NumPy array of objects holds, each with the index that a user would write."""
    return ((at[0] if len(at) == 1 else at, array[at]) for at in np.ndindex(array.shape))


def contents_of(cell: types.CellType) -> list[Any]:
    """What a cell of a closure holds, as the one item; none as long as it is open."""
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def closure_of(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables around a function that it reads, those that are bound by now."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        for child in contents_of(cell):
            yield name, child


def function_parts(function: types.FunctionType) -> Iterator[Any]:
    """What a function holds: closure, defaults, keyword defaults."""
    yield from (child for _, child in closure_of(function))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


# --- by path -------------------------------------------------------------------------------------------------------

Edges = Iterable[tuple[str, Any, Any]]
"""What an object holds, as kind of edge, key and child."""
Reader = Callable[[Any], Edges]
"""Gives what an object of a certain type holds."""


def edges(value: Any) -> Edges:
    """What an object holds, as kind of edge, key and child.

    It is the type that is asked, not the object: `isinstance` runs code of objects that stand in for others. A walk
    over many objects asks each type once, by a `TypeCache`.
    """
    return reader_of(type(value))(value)


Answer = TypeVar("Answer")


class TypeCache(Generic[Answer]):
    """What a walk asks of the types of its objects, such as `reader_of`: of each type once.

    Not longer than a walk: to which module a class belongs, and so whether it leads on, may change between two.
    """

    def __init__(self, ask: Callable[[type], Answer]) -> None:
        self._ask = ask
        # with the type itself: the id of one that is gone would be given away again
        self._known: dict[int, tuple[type, Answer]] = {}

    def of(self, value: Any) -> Answer:
        """The answer of the type of an object."""
        kind = type(value)
        known = self._known.get(id(kind))
        if known is None:
            known = self._known[id(kind)] = kind, self._ask(kind)
        return known[1]


def reader_of(kind: type) -> Reader:
    """What gives the `edges` of the objects of a type."""
    if issubclass(kind, type):
        return _of_class
    contents = next((contents for kinds, contents in _CONTENTS if issubclass(kind, kinds)), None)
    if contents is None and not is_library_class(kind):
        contents = _class_edge
    if contents is _of_sequence and hasattr(kind, "_fields"):
        contents = _of_named_tuple
    slots = slot_descriptors(kind)
    if kind.__dictoffset__ != 0 or "__dict__" in {name for base in kind.__mro__ for name in vars(base)}:
        return functools.partial(_of_object, contents, slots)
    if slots:
        return functools.partial(_of_slots, contents, slots)
    return contents or _of_nothing


def _of_object(contents: Reader | None, slots: tuple[tuple[str, Any], ...], value: Any) -> Edges:
    if contents is not None:
        yield from contents(value)
    kind, state = type(value), state_of(value)
    if isinstance(state, dict):
        for name, child in list(state.items()):
            yield "attr", attribute_key(kind, name), child
    for name, child in _filled(value, slots):
        yield "attr", attribute_key(kind, name), child


def _of_slots(contents: Reader | None, slots: tuple[tuple[str, Any], ...], value: Any) -> Edges:
    if contents is not None:
        yield from contents(value)
    for name, child in _filled(value, slots):
        yield "attr", attribute_key(type(value), name), child


class Inner(str):
    """A private attribute of a library's object, which for users is one with what it holds: `kernel._raw_value`."""

    __slots__ = ()


def attribute_key(kind: type, name: Any) -> Any:
    """The key of an edge to an attribute of an object of this class."""
    private = type(name) is str and name[:1] == "_" and name[:2] != "__"
    return Inner(name) if private and is_library_class(kind) else name


def _of_nothing(value: Any) -> Edges:
    return ()


def _of_dict(value: Any) -> Edges:
    return [("item", key, child) for key, child in list(dict.items(value))]


def _of_sequence(value: Any) -> Edges:
    return [("item", index, child) for index, child in enumerate(items_of(value))]


def _of_named_tuple(value: Any) -> Edges:
    return (("attr", name, child) for name, child in zip(type(value)._fields, tuple(value), strict=False))


def _of_set(value: Any) -> Edges:
    return [("member", index, child) for index, child in enumerate(items_of(value))]


def _of_array(value: Any) -> Edges:
    if value.dtype == object:
        return (("item", at, child) for at, child in objects_of(value))
    return _class_edge(value) if not is_library_class(type(value)) else ()


def _of_attributes(*names: str) -> Reader:
    return lambda value: [("attr", name, getattr(value, name)) for name in names]


def _of_function(value: types.FunctionType) -> Edges:
    held = [("closure", name, child) for name, child in closure_of(value)]
    return [*held, *(("defaults", name, child) for name, child in _defaults(value))]


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The default values of a function's arguments, by name."""
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[max(0, code.co_argcount - len(values)) : code.co_argcount]
    unused = len(values) - len(names)  # Python lets anybody assign more defaults than there are arguments
    yield from zip(("defaults",) * unused + names, values, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _of_builtin(value: Any) -> Edges:
    return () if isinstance(value.__self__, types.ModuleType | None) else [("attr", "__self__", value.__self__)]


def _of_generator(value: types.GeneratorType[Any, Any, Any]) -> Edges:
    return _of_frame(value.gi_frame) if value.gi_frame is not None else ()


def _of_coroutine(value: types.CoroutineType[Any, Any, Any]) -> Edges:
    return _of_frame(value.cr_frame) if value.cr_frame is not None else ()


def _of_frame(frame: types.FrameType) -> Edges:
    return (("local", name, child) for name, child in locals_of(frame).items())


def _of_cache(value: Any) -> Edges:
    held = (child for child in gc.get_referents(value) if child is not value.__wrapped__)
    return (("cached", None, child) for child in held if not isinstance(child, type))


def _of_error(value: BaseException) -> Edges:
    yield "attr", "args", value.args
    traceback = value.__traceback__
    while traceback is not None:
        yield from _of_frame(traceback.tb_frame)
        traceback = traceback.tb_next


def _class_edge(value: Any) -> Edges:
    return [("attr", "__class__", type(value))]


def _of_class(value: type) -> Edges:
    if not is_library_class(value):
        yield from (("attr", name, child) for name, child in list(vars(value).items()))
        yield from (("attr", "__bases__", base) for base in value.__bases__)
    if not is_library_class(type(value)):
        yield from _class_edge(value)


_CONTENTS: tuple[tuple[type | tuple[type, ...], Reader], ...] = (
    (dict, _of_dict),
    ((list, tuple, deque), _of_sequence),
    ((set, frozenset), _of_set),
    (np.ndarray, _of_array),
    (functools.partial, _of_attributes("func", "args", "keywords")),
    (types.FunctionType, _of_function),
    (types.MethodType, _of_attributes("__self__", "__func__")),
    (types.BuiltinMethodType, _of_builtin),
    ((staticmethod, classmethod), _of_attributes("__func__")),
    (property, _of_attributes("fget", "fset", "fdel")),
    (types.GeneratorType, _of_generator),
    (types.CoroutineType, _of_coroutine),
    (CACHED_FUNCTION, _of_cache),
    (types.FrameType, _of_frame),
    (BaseException, _of_error),
)


# --- by no path ----------------------------------------------------------------------------------------------------


def parts_of(value: Any) -> Iterator[Any]:
    """What code gets at that uses a container or an object: the keys of a dict as well, and its class is no part of it.

    Of a library's objects the slots are left out; of others the fields that compiled code shows are among them.
    """
    if isinstance(value, dict):
        yield from list(dict.values(value))
        yield from list(dict.keys(value))
    elif isinstance(value, list | tuple | set | frozenset | deque):
        yield from items_of(value)
    elif isinstance(value, functools.partial):
        yield from (value.func, *value.args, *value.keywords.values())
    state = state_of(value)
    if isinstance(state, dict):
        yield from list(state.values())
    if not is_library_class(type(value)):
        yield from (child for _, child in _filled(value, _members(type(value))))


def referents(value: Any) -> Iterable[Any]:
    """What an object of unknown make holds, as far as the collector can tell: more than `edges`, and by no path.

    Of the names that a function looks up, and of what a library's class holds, nothing is given.
    """
    if isinstance(value, type):
        return vars(value).values() if not is_library_class(value) else ()
    if isinstance(value, types.GeneratorType | types.CoroutineType):
        frame = value.gi_frame if isinstance(value, types.GeneratorType) else value.cr_frame
        return locals_of(frame).values() if frame is not None else ()
    if isinstance(value, types.FunctionType):
        held = [child for _, child in closure_of(value)]
        return [*held, value.__defaults__, value.__kwdefaults__, value.__dict__]
    if isinstance(value, np.ndarray) and value.dtype.hasobject:  # the collector does not know of them
        return value.flat if value.dtype == object else value.ravel().tolist()
    return gc.get_referents(value) if not isinstance(value, dict) or "__builtins__" not in value else ()
