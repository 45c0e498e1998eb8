"""Who holds a value: the paths by which a user reaches it, found by walking from the names of a namespace."""

from __future__ import annotations

import functools
import gc
import inspect
import sys
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxnb.runtime import is_library_class
from jaxnb.staging.cells.reach import ATOMS, items_of, state_of
from jaxnb.staging.objects.mutables import CELL, objects_of, slot_descriptors
from jaxnb.staging.objects.paths import Path

__all__ = ["Edges", "edges", "locals_of", "paths_to", "referents", "running_frames"]

CACHED_FUNCTION = type(functools.lru_cache(lambda: None))
_MOST = 200_000
"""Objects that are looked at from each kind of root; beyond that it is left with what was found."""

Edges = Iterable[tuple[str, Any, Any]]
"""What an object holds, as kind of edge, key and child."""

_SHELL = frozenset({"_oh", "_dh", "_ih", "In", "__builtins__", "get_ipython", "exit", "quit"})
"""Names that a shell brings along, and that lead to all others."""


def paths_to(
    namespace: Mapping[str, Any],
    wanted: Collection[int],
    elsewhere: Iterable[tuple[Path, Any]] = (),
    hidden: Callable[[type], Callable[[Any], Edges] | None] = lambda kind: None,
) -> dict[int, list[Path]]:
    """The paths that lead from names to objects, by the id of the object; the shortest ones first.

    An object that is held at several places has several paths. The results that IPython remembers are given as
    `Out[3]` alone, not also by the names `_` and `_3`.

    Args:
      namespace: where to begin.
      wanted: ids of live objects.
      elsewhere: objects to begin with that have no name there, each with its path.
      hidden: by type, what gives what its objects hold besides that which `edges` gives, or by better paths; or None.
    """
    found: dict[int, list[Path]] = {}
    # What was seen is kept: some of it is made on the way, and the id of what is gone would be given away again.
    # The frames that run are not: this one is among them, and would hold everything until the next collection.
    seen: dict[int, Any] = {id(namespace): namespace, **dict.fromkeys(map(id, running_frames()))}
    queue: deque[tuple[Any, Path]] = deque()
    # by type, which is kept for the same reason
    readers: dict[int, tuple[type, Reader | None, Callable[[Any], Edges] | None]] = {}

    for roots in (*_named_roots(namespace), elsewhere, [((None, "name", "Out"), namespace.get("Out"))]):
        for path, value in roots:
            if id(value) in wanted:
                found.setdefault(id(value), []).append(path)
            elif type(value) not in ATOMS:
                queue.append((value, path))
        most = len(seen) + _MOST  # each kind of root has its share, however much the others lead to
        while queue and len(seen) < most:
            value, path = queue.popleft()
            if id(value) in seen:
                continue
            kind = type(value)
            if (known := readers.get(id(kind))) is None:
                known = readers[id(kind)] = (
                    (kind, None, None) if _is_passed_over(kind) else (kind, reader_of(kind), hidden(kind))
                )
            _, reader, others = known
            if reader is None:
                continue
            seen[id(value)] = value
            for more in (others(value) if others is not None else (), _edges_by(reader, value)):
                for edge, key, child in more:
                    if id(child) in wanted:
                        found.setdefault(id(child), []).append((path, edge, key))
                    elif type(child) not in ATOMS and id(child) not in seen:
                        queue.append((child, (path, edge, key)))
        queue.clear()
    return found


def _named_roots(namespace: Mapping[str, Any]) -> tuple[list[tuple[Path, Any]], list[tuple[Path, Any]]]:
    """The names to begin with, and those that begin with `_`, which are rather some machine's than the user's."""
    history = namespace.get("Out")
    remembered = {id(value) for value in history.values()} if isinstance(history, dict) else set[int]()
    roots = [((None, "name", name), value) for name, value in namespace.items() if name not in _SHELL]
    hidden = [(path, value) for path, value in roots if path[2].startswith("_") and id(value) not in remembered]
    return [(path, value) for path, value in roots if not path[2].startswith("_") and path[2] != "Out"], hidden


def _is_passed_over(kind: type) -> bool:
    """Whether it is of modules, or of what holds the names of the notebook, or what was staged: nobody keeps a value
    there."""
    if issubclass(kind, types.ModuleType):
        return True
    module: Any = kind.__module__  # which may be a property
    package = module.partition(".")[0] if isinstance(module, str) else ""
    return package in ("IPython", "ipykernel") or (package == "jaxnb" and module != "jaxnb.staging.session.run")


def running_frames() -> list[types.FrameType]:
    """The frames of all threads in which code runs now, but for its own, which would hold all of them in a cycle."""
    found: list[types.FrameType] = []
    own: types.FrameType | None = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    walk: types.FrameType | None
    for walk in list(sys._current_frames().values()):  # pyright: ignore[reportPrivateUsage]
        while walk is not None:
            if walk is not own:
                found.append(walk)
            walk = walk.f_back
    own = None
    return found


def locals_of(frame: types.FrameType) -> dict[str, Any]:
    """The local variables of a frame. Before Python 3.13 reading them leaves a copy behind, which would keep values
    alive that the frame itself has long given up: it is emptied, unless somebody else holds it."""
    held: Any = frame.f_locals
    found = dict(held)
    if sys.version_info < (3, 13) and frame.f_code.co_flags & inspect.CO_OPTIMIZED and sys.gettrace() is None:
        if sys.getrefcount(held) == _OUR_REFERENCES:
            held.clear()
    return found


_OUR_REFERENCES = 3
"""To the copy of its locals: the frame's own, the local variable, and the argument of the one who counts."""


def _read(frame: types.FrameType) -> Edges:
    return (("local", name, child) for name, child in locals_of(frame).items())


def _defaults(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The default values of a function's arguments, by name."""
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[max(0, code.co_argcount - len(values)) : code.co_argcount]
    unused = len(values) - len(names)  # Python lets anybody assign more defaults than there are arguments
    yield from zip(("defaults",) * unused + names, values, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def edges(value: Any) -> Edges:
    """What an object holds, as kind of edge, key and child.

    It is the type that is asked, not the object: `isinstance` runs code of objects that stand in for others.
    """
    return _edges_by(reader_of(type(value)), value)


class Reader(NamedTuple):
    """How objects of one type are read for what they hold: a walk asks this once for each type.

    Attributes:
      contents: gives what the type is there to hold.
      has_state: whether the objects may have a `__dict__` besides, or slots.
      slots: by name, base classes first.
    """

    contents: Callable[[Any], Edges] | None
    has_state: bool
    slots: tuple[tuple[str, Any], ...]


def reader_of(kind: type) -> Reader:
    """How objects of a type are read."""
    if issubclass(kind, type):
        return Reader(_of_class, False, ())
    contents = next((contents for kinds, contents in _CONTENTS if issubclass(kind, kinds)), None)
    if contents is None and not is_library_class(kind):
        contents = _class_edge
    if contents is _of_sequence and hasattr(kind, "_fields"):
        contents = _of_named_tuple
    has_state = kind.__dictoffset__ != 0 or "__dict__" in {name for base in kind.__mro__ for name in vars(base)}
    return Reader(contents, has_state, slot_descriptors(kind))


def _edges_by(reader: Reader, value: Any) -> Iterator[tuple[str, Any, Any]]:
    if reader.contents is not None:
        yield from reader.contents(value)
    if reader.has_state:
        state = state_of(value)
        if isinstance(state, dict):
            for name, child in list(state.items()):
                yield "attr", name, child
    for name, descriptor in reader.slots:
        try:
            yield "attr", name, descriptor.__get__(value)
        except AttributeError:
            continue


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


def _of_attributes(*names: str) -> Callable[[Any], Edges]:
    return lambda value: [("attr", name, getattr(value, name)) for name in names]


def _of_function(value: types.FunctionType) -> Edges:
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    held = [("closure", name, child) for name, cell in cells for _, child in CELL.save(cell)]
    return [*held, *(("defaults", name, child) for name, child in _defaults(value))]


def _of_builtin(value: Any) -> Edges:
    return () if isinstance(value.__self__, types.ModuleType | None) else [("attr", "__self__", value.__self__)]


def _of_generator(value: types.GeneratorType[Any, Any, Any]) -> Edges:
    return _read(value.gi_frame) if value.gi_frame is not None else ()


def _of_coroutine(value: types.CoroutineType[Any, Any, Any]) -> Edges:
    return _read(value.cr_frame) if value.cr_frame is not None else ()


def _of_cache(value: Any) -> Edges:
    held = (child for child in gc.get_referents(value) if child is not value.__wrapped__)
    return (("cached", None, child) for child in held if not isinstance(child, type))


def _of_error(value: BaseException) -> Edges:
    yield "attr", "args", value.args
    traceback = value.__traceback__
    while traceback is not None:
        yield from _read(traceback.tb_frame)
        traceback = traceback.tb_next


def _class_edge(value: Any) -> Edges:
    return [("attr", "__class__", type(value))]


def _of_class(value: type) -> Edges:
    if not is_library_class(value):
        yield from (("attr", name, child) for name, child in list(vars(value).items()))
        yield from (("attr", "__bases__", base) for base in value.__bases__)
    if not is_library_class(type(value)):
        yield from _class_edge(value)


_CONTENTS: tuple[tuple[type | tuple[type, ...], Callable[[Any], Edges]], ...] = (
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
    (types.FrameType, _read),
    (BaseException, _of_error),
)


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
        held = [child for cell in value.__closure__ or () for _, child in CELL.save(cell)]
        return [*held, value.__defaults__, value.__kwdefaults__, value.__dict__]
    if isinstance(value, np.ndarray) and value.dtype.hasobject:  # the collector does not know of them
        return value.flat if value.dtype == object else value.ravel().tolist()
    return gc.get_referents(value) if not isinstance(value, dict) or "__builtins__" not in value else ()
