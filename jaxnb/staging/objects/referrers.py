"""Who holds a value: the paths by which a user reaches it, found by walking from the names of a namespace."""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.referents import Reader, TypeCache, reader_of
from jaxnb.staging.objects.paths import Path

__all__ = ["paths_to", "running_frames"]

_MOST = 200_000
"""Objects that are looked at from each kind of root; beyond that it is left with what was found."""

_SHELL = frozenset({"_oh", "_dh", "_ih", "In", "__builtins__", "get_ipython", "exit", "quit"})
"""Names that a shell brings along, and that lead to all others."""


def paths_to(
    namespace: Mapping[str, Any],
    wanted: Collection[int],
    elsewhere: Iterable[tuple[Path, Any]] = (),
    hidden: Callable[[type], Reader | None] = lambda kind: None,
    closed: tuple[type, ...] = (),
) -> dict[int, list[Path]]:
    """The paths that lead from names to objects, by the id of the object; the shortest ones first.

    An object that is held at several places has several paths. The results that IPython remembers are given as
    `Out[3]` alone, not also by the names `_` and `_3`.

    Args:
      namespace: where to begin.
      wanted: ids of live objects.
      elsewhere: objects to begin with that have no name there, each with its path.
      hidden: by type, what gives what its objects hold besides that which `edges` gives, or by better paths; or None.
      closed: classes into whose objects no path leads.
    """
    found: dict[int, list[Path]] = {}
    # What was seen is kept: some of it is made on the way, and the id of what is gone would be given away again.
    # The frames that run are not: this one is among them, and would hold everything until the next collection.
    seen: dict[int, Any] = {id(namespace): namespace, **dict.fromkeys(map(id, running_frames()))}
    queue: deque[tuple[Any, Path]] = deque()
    readers = TypeCache(lambda kind: () if issubclass(kind, closed) else _readers_of(kind, hidden))

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
            if not (known := readers.of(value)):
                continue
            seen[id(value)] = value
            for read in known:
                for edge, key, child in read(value):
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


def _readers_of(kind: type, hidden: Callable[[type], Reader | None]) -> tuple[Reader, ...]:
    if _is_passed_over(kind):
        return ()
    others = hidden(kind)
    return (reader_of(kind),) if others is None else (others, reader_of(kind))


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
