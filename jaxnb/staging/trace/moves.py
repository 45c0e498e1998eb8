"""What a piece moves on itself that is part of its own key: then the next run must find it in no program.

A list that grows and is read, a number that is counted up and needed, a dict with a new key in each run: such a piece
would be traced in every run. The statements that read these are left to Python, and the others are reused. The same
goes for what the statements that Python runs move on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from jaxnb.staging.cells.reach import ATOMS
from jaxnb.staging.cells.referents import state_of
from jaxnb.staging.objects.mutables import BUFFER, CELL, Mutable
from jaxnb.staging.objects.paths import ALIAS, ARRAY, CONTENT, NUMPY, Path, Same, root_name

__all__ = ["evolving", "is_list", "moved", "moved_by_python", "rebound"]

_MOST_COMPARED = 1000  # places of a value that is bound anew
_SIZED = (list, tuple, dict, set)


def moved(path: Path, holder: Mutable, before: list[tuple[Any, Any]], after: list[tuple[Any, Any]]) -> set[Path]:
    """The paths at which a holder that changed has something else in the key.

    Args:
      path: of the holder.
      holder: its kind.
      before: its state.
      after: its state when the statements had run.
    """
    if holder is BUFFER:
        return {path}
    old, new = dict(before), dict(after)
    found = {path} if [key for key, _ in before] != [key for key, _ in after] else set[Path]()
    for key in old.keys() & new.keys():
        if _differs_in_key(old[key], new[key]):
            found |= {(path, "attr", key), (path, "item", key)} if holder is not CELL else {path}
    return found


def rebound(path: Path, before: Any, after: Any) -> set[Path]:
    """The paths at which what is bound anew has something else in the key: `state.t` of `state = state._replace(...)`.

    Args:
      path: of the place.
      before: what stood there, or None.
      after: what stands there now.
    """
    pending, found = [(path, before, after)], set[Path]()
    for _ in range(_MOST_COMPARED):
        if not pending:
            break
        path, before, after = pending.pop()
        if _differs_in_key(before, after):
            found.add(path)
        elif type(before) is type(after) and before is not after:
            pending += [
                ((path, kind, key), old, new) for kind, key, old, new in _pairs(before, after) if old is not new
            ]
    return found


def _pairs(before: Any, after: Any) -> Iterator[tuple[str, Any, Any, Any]]:
    """What two values of one type hold at the same places, each with the ways in which a path may say where."""
    if isinstance(before, tuple):
        names = getattr(type(before), "_fields", ())
        for at, (old, new) in enumerate(zip(tuple.__iter__(before), tuple.__iter__(after), strict=False)):
            yield "item", at, old, new
            if at < len(names):
                yield "attr", names[at], old, new
    elif type(before) is list:
        yield from (("item", at, *both) for at, both in enumerate(zip(before, after, strict=False)))
    elif type(before) is dict:
        yield from (("item", key, before[key], after[key]) for key in before.keys() & after.keys())
    elif isinstance(old := state_of(before), dict) and isinstance(new := state_of(after), dict):
        yield from (("attr", key, old[key], new[key]) for key in old.keys() & new.keys())


def _differs_in_key(before: Any, after: Any) -> bool:
    """Whether two values, the first of which is there, differ in what a key has of them whatever they hold."""
    kind = type(before)
    if before is None or kind is not type(after) or kind is float:
        return False
    return (kind in ATOMS and before != after) or (kind in _SIZED and len(before) != len(after))


def evolving(
    moves: frozenset[Path],
    before: Mapping[Path, tuple[Any, ...]],
    now: Mapping[Path, tuple[Any, ...]],
    remade: frozenset[str] = frozenset(),
) -> set[Path]:
    """What has come to differ since the last run, and will again: it does not come to rest.

    A list that the last run has made, and that grows in this one, does not either. A flag does: it has two values.

    Args:
      moves: what the piece of this run moves on.
      before: the parts of the key of the last run by their paths.
      now: those of this run.
      remade: names that Python binds or changes in each run; what is behind them counts if no input can stand for it.
    """
    differs = {path for path, parts in now.items() if before.get(path, parts) != parts and not _is_flag(parts)}
    lists = {path for path in moves & now.keys() if path not in before and is_list(now[path])}
    return lists | {path for path in differs if path in moves or (root_name(path) in remade and _stays(now[path]))}


def moved_by_python(
    before: Mapping[Path, tuple[Any, ...]],
    now: Mapping[Path, tuple[Any, ...]],
    begun: Mapping[Path, tuple[Any, ...]],
    differed: Collection[Path],
) -> tuple[set[Path], set[Path]]:
    """What differs since the last run though nobody but the cell has changed anything: its other statements did.

    A container that has grown in this run, too, will again, and bytes or a buffer will hold other data; of anything
    else that is so when it differs for the second time in a row, because a text or a flag may as well have come to
    rest. An array differs in its shape or dtype alone,
    for which there are programs.

    Args:
      before: the parts of the key of the last run by their paths.
      now: those of this run.
      begun: those of what the cell reads, when this run began.
      differed: what differed in the last run.

    Returns:
      What will differ again, and all that differs.
    """
    differs = {path for path, parts in now.items() if path in before and before[path] != parts}
    differs = {
        path for path in differs if not (_is_input(now[path]) or _is_alias(before[path]) or _is_alias(now[path]))
    }
    grown = {path for path in differs if _is_sized(now[path]) and _held(begun.get(path, now[path])) != _held(now[path])}
    return grown | {path for path in differs if path in differed or _is_data(now[path])}, differs


def _is_alias(parts: tuple[Any, ...]) -> bool:
    """Whether a value is one that was met before, which is told by a number that others make another."""
    return any(type(part) is tuple and part[:1] == (ALIAS,) for part in parts)


def _is_input(parts: tuple[Any, ...]) -> bool:
    return any(type(part) is tuple and part and part[0] in (ARRAY, NUMPY) for part in parts)


def _is_data(parts: tuple[Any, ...]) -> bool:
    """Whether a value is many numbers at once that are in the key as they are."""
    return any(type(part) is tuple and (part[:1] == (bytes,) or _is_buffer(part)) for part in parts)


def _is_buffer(part: tuple[Any, ...]) -> bool:
    return part[:1] == (CONTENT,) and isinstance(part[1], type) and not issubclass(part[1], np.generic)


def _is_flag(parts: tuple[Any, ...]) -> bool:
    """Whether a value is one of so few that there soon is a program for each: the mode of a module, say."""
    return all(type(part) is tuple and part[:1] in ((bool,), (type(None),)) for part in parts)


def _held(parts: tuple[Any, ...]) -> list[Any]:
    """What parts of a key say but for the order of the keys of dicts, which only some walks look at."""
    return [(dict, frozenset(part[1])) if type(part) is tuple and part[:1] == (dict,) else part for part in parts]


def is_list(parts: tuple[Any, ...]) -> bool:
    """Whether these parts of a key are those of a list."""
    return _is_sized(parts, (list,))


def _is_sized(parts: tuple[Any, ...], kinds: tuple[type, ...] = _SIZED) -> bool:
    return any(type(part) is tuple and any(part[:1] == (kind,) for kind in kinds) for part in parts)


def _stays(parts: tuple[Any, ...]) -> bool:
    """Whether a value is in the key as one object, or with all that it holds."""
    return any(isinstance(part, Same) or (type(part) is tuple and part and part[0] is CONTENT) for part in parts)
