"""Who holds a value: the paths by which a user reaches it, found by walking from the names of a namespace."""

from __future__ import annotations

import functools
import gc
import types
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from jaxnb.holders import slot_descriptors
from jaxnb.paths import Path
from jaxnb.reach import ATOMS, is_library, state_of

__all__ = ["edges", "paths_to"]

CACHED_FUNCTION = type(functools.lru_cache(lambda: None))
_MOST = 200_000
"""Objects that are looked at; beyond that the search ends with what it has found."""

_SHELL = frozenset({"_oh", "_dh", "_ih", "In", "__builtins__", "get_ipython", "exit", "quit"})
"""Names that a shell brings along, and that lead to all others."""


def paths_to(namespace: Mapping[str, Any], wanted: Collection[int]) -> dict[int, list[Path]]:
    """The paths that lead from names to objects, by the id of the object; the shortest ones first.

    An object that is held at several places has several paths. The results that IPython remembers are given as
    `Out[3]` alone, not also by the names `_` and `_3`.

    Args:
      namespace: where to begin.
      wanted: ids of live objects.
    """
    found: dict[int, list[Path]] = {}
    seen = {id(namespace)}
    names = [name for name in namespace if name not in _SHELL]
    history = namespace.get("Out")
    remembered = {id(value) for value in history.values()} if isinstance(history, dict) else set[int]()
    queue: deque[tuple[Any, Path]] = deque()
    for name in names:
        value = namespace[name]
        if not (name.startswith("_") and id(value) in remembered):
            queue.append((value, (None, "name", name)))
    while queue and len(seen) < _MOST:
        value, path = queue.popleft()
        if id(value) in wanted:
            found.setdefault(id(value), []).append(path)
            continue
        if type(value) in ATOMS or issubclass(type(value), types.ModuleType) or id(value) in seen:
            continue
        seen.add(id(value))
        queue.extend((child, (path, kind, key)) for kind, key, child in edges(value))
    return found


def edges(value: Any) -> Iterator[tuple[str, Any, Any]]:
    """What an object holds, as kind of edge, key and child.

    It is the type that is asked, not the object: `isinstance` runs code of objects that stand in for others.
    """
    kind = type(value)
    if issubclass(kind, dict):
        yield from (("item", key, child) for key, child in list(dict.items(value)))
    elif issubclass(kind, list | tuple | deque):
        yield from (("item", index, child) for index, child in enumerate(list(value)))
    elif issubclass(kind, set | frozenset):
        yield from (("member", None, child) for child in list(value))
    elif issubclass(kind, np.ndarray) and value.dtype == object:
        yield from (("item", index, child) for index, child in enumerate(value.ravel()))
    elif issubclass(kind, functools.partial):
        yield from (("item", index, child) for index, child in enumerate((value.func, *value.args)))
        yield from (("item", key, child) for key, child in value.keywords.items())
    elif issubclass(kind, types.FunctionType):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                yield "closure", name, cell.cell_contents
            except ValueError:
                continue
        for child in (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()):
            yield "defaults", None, child
    elif issubclass(kind, types.MethodType):
        yield "attr", "__self__", value.__self__
        yield "attr", "__func__", value.__func__
    elif issubclass(kind, types.BuiltinMethodType) and not isinstance(value.__self__, types.ModuleType | None):
        yield "attr", "__self__", value.__self__
    elif issubclass(kind, staticmethod | classmethod):
        yield "attr", "__func__", value.__func__
    elif issubclass(kind, property):
        yield "attr", "fget", value.fget
    elif issubclass(kind, types.GeneratorType) and value.gi_frame is not None:
        yield from (("local", name, child) for name, child in value.gi_frame.f_locals.items())
    elif issubclass(kind, types.CoroutineType) and value.cr_frame is not None:
        yield from (("local", name, child) for name, child in value.cr_frame.f_locals.items())
    elif issubclass(kind, CACHED_FUNCTION):
        held = (child for child in gc.get_referents(value) if child is not value.__wrapped__)
        yield from (("cached", None, child) for child in held if not isinstance(child, type))
    elif issubclass(kind, types.FrameType):
        yield from (("local", name, child) for name, child in value.f_locals.items())
    elif issubclass(kind, BaseException):
        yield from (("item", index, child) for index, child in enumerate(value.args))
        traceback = value.__traceback__
        while traceback is not None:
            yield from (("local", name, child) for name, child in traceback.tb_frame.f_locals.items())
            traceback = traceback.tb_next
    elif not issubclass(kind, type) and not is_library(type(value).__module__):
        yield "attr", "__class__", type(value)
    if issubclass(kind, type):
        if not is_library(value.__module__):
            yield from (("attr", name, child) for name, child in list(vars(value).items()))
            yield from (("attr", "__bases__", base) for base in value.__bases__)
        return
    wrapped = getattr(value, "__wrapped__", None) if callable(value) else None
    if wrapped is not None:
        yield "attr", "__wrapped__", wrapped
    state = state_of(value)
    if isinstance(state, dict):
        yield from (("attr", name, child) for name, child in list(state.items()))
    for name, descriptor in slot_descriptors(type(value)):
        try:
            yield "attr", name, descriptor.__get__(value)
        except AttributeError:
            continue
