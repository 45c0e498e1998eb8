"""Where the results of a traced piece end up: their paths from the names that it binds and the objects it changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from jaxnb.staging.cells.referents import TypeCache, attribute_key, reader_of
from jaxnb.staging.objects.mutables import CELL, CLASS, GROWN_LIST, SLOTS, Change, Mutable
from jaxnb.staging.objects.paths import Path
from jaxnb.staging.objects.slots import Slots
from jaxnb.staging.trace.output_recipe import Capture

__all__ = ["changed_at", "output_paths"]

_EDGES = frozenset({"attr", "item", "closure", "defaults"})


def output_paths(capture: Capture, roots: Iterable[tuple[Path, Any]], value: Any) -> Iterator[tuple[Path, int]]:
    """The paths that lead to results, each with the number of the result: all of `roots`, else the shortest to each.

    Only what was made by the piece is looked into: what it changes of the rest is among the roots.

    Args:
      capture: that has read what the piece leaves behind.
      roots: what is bound and what is put into objects, with their paths.
      value: the trailing one, whose parts have the name that IPython gives it, if no other leads to them.
    """
    readers = TypeCache(reader_of)
    waiting = deque(roots)
    known, seen = set[int](), set[int]()
    for path, item in waiting:
        if (place := capture.place_of(item)) is not None:
            known.add(place)
            yield path, place
    last = deque([((None, "name", "_"), value)])
    while waiting or last:
        path, item = waiting.popleft() if waiting else last.popleft()
        if id(item) in seen or not capture.makes(item):
            continue
        seen.add(id(item))
        for edge, key, child in readers.of(item)(item):
            if edge not in _EDGES or (edge == "attr" and key == "__class__"):
                continue
            inner = (path, edge, key)
            place = capture.place_of(child)
            if place is None:
                waiting.append((inner, child))
            elif place not in known:
                known.add(place)
                yield inner, place


def changed_at(slots: Slots, owner: Any, holder: Mutable, change: Change) -> Iterator[tuple[Path, Any]]:
    """What a change puts where.

    Args:
      slots: that know the paths of holders.
      owner: that was changed.
      holder: its kind.
      change: what is put into it.
    """
    path, kind = slots.attributes.get(id(owner), (None, None))
    if path is None:
        path = slots.held_at.get(id(owner))
    if path is None:
        return
    for at, (key, child) in enumerate(change.children):
        if kind is not None or holder in (SLOTS, CLASS):
            yield (path, "attr", attribute_key(kind or type(owner), key)), child
        elif holder is CELL:
            yield path, child
        else:
            yield (path, "item", at - len(change.children) if holder is GROWN_LIST else key), child
