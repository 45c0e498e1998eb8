"""Which objects were there before a piece was traced. The plain cell would bind these themselves, and so must a replay:
sentinels, tags and registries of libraries are compared by `is`, and hold what others have put there."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from jaxnb.cells.libraries import is_library

__all__ = ["Before"]

_MOST_ITEMS = 1000
"""Containers of modules that hold more are not looked into."""


class Before:
    """Tells objects that were there from those made inside of it, as a context manager around a trace.

    The garbage collector sets aside all objects that there are (`gc.freeze`), which takes no time however many they
    are; what it knows besides was made since. Where somebody else has set objects aside, those that it knows besides
    are held until the end: what is made could otherwise stand where one of them stood, and have its id.

    Args:
      kept: objects that hold no others and were there, by their ids.
    """

    def __init__(self, kept: Mapping[int, Any] | None = None) -> None:
        self._kept = dict(kept or {})
        self._frozen = False
        self._there: list[Any] = []
        self._modules: frozenset[str] = frozenset()
        self._made: frozenset[int] | None = None
        self._held: frozenset[int] | None = None
        self._imported: frozenset[int] = frozenset()

    def __enter__(self) -> Before:
        self._modules = frozenset(sys.modules)
        self._frozen = gc.get_freeze_count() == 0  # otherwise somebody else has set objects aside
        if self._frozen:
            gc.freeze()
        else:
            self._there = gc.get_objects()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self._frozen:
            gc.unfreeze()
            self._frozen = False
        self._there, self._kept = [], {}

    def end_generators(self) -> None:
        """Ends the generators of the user that were begun since: their `finally` would run when the last of it goes."""
        known = frozenset(map(id, self._there))
        for item in gc.get_objects():
            if type(item) is types.GeneratorType and id(item) not in known and not item.gi_running:
                frame = item.gi_frame
                if frame is not None and not is_library(str(frame.f_globals.get("__name__"))):
                    with suppress(Exception):  # the code is the user's, and computes with what the trace has left
                        item.close()

    def keep(self, found: Mapping[int, Any]) -> None:
        """Counts these as having been there: whoever made them finds them again on each run."""
        self._kept.update(found)

    def look_again(self) -> None:
        """Something was made since the first question."""
        self._made = None

    def holds(self, value: Any) -> bool:
        """Whether an object was there. Objects that hold no others are looked for in modules only.

        What is made after the first question counts as made only after `look_again`.
        """
        if self._made is None:
            self._made = frozenset(map(id, gc.get_objects())).difference(map(id, self._there))
            new = [module for name, module in list(sys.modules.items()) if name not in self._modules]
            self._imported = frozenset(_held_by(new))
        if id(value) in self._imported or id(value) in self._kept:
            return True
        if gc.is_tracked(value):
            return id(value) not in self._made
        if self._held is None:
            self._held = frozenset(_held_by(module for name, module in list(sys.modules.items()) if name != "__main__"))
        return id(value) in self._held


def _held_by(modules: Iterable[Any]) -> Iterator[int]:
    """Ids of what modules hold, and of what containers and objects that they hold do."""
    for module in modules:
        if not issubclass(type(module), types.ModuleType):
            continue
        for value in list(vars(module).values()):
            yield id(value)
            kind = type(value)
            if kind is dict and len(value) <= _MOST_ITEMS and "__builtins__" not in value:
                yield from map(id, list(value.values()))
            elif kind in (list, tuple, set, frozenset) and len(value) <= _MOST_ITEMS:
                yield from map(id, list(value))
            elif issubclass(kind, type):
                yield id(vars(value).get("__annotations__"))
