"""Which objects were there before a piece was traced. The plain cell would bind these themselves, and so must a replay:
sentinels, tags and registries of libraries are compared by `is`, and hold what others have put there."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from jaxnb.runtime import identities_of, identity, is_library, known, objects_of
from jaxnb.staging.cells.referents import state_of
from jaxnb.staging.objects.watchers import other_threads

__all__ = ["Before"]

_MOST_ITEMS = 1000
"""Containers of modules that hold more are not looked into."""
_OF_PYTHON = 1000
"""Objects that Python itself may have set aside: 3.12 does so with some 400 when it starts. A bare one holds 5,000."""


class Before:
    """Tells objects that were there from those made inside of it, as a context manager around a trace.

    The garbage collector sets aside all objects that there are (`gc.freeze`), which takes no time however many they
    are; what it knows besides was made since. Where somebody else has set objects aside, those that it knows besides
    are held until the end: what is made could otherwise stand where one of them stood, and have its id.

    Args:
      kept: objects that hold no others and were there, by their ids.
    """

    def __init__(self, kept: Mapping[int, Any] | None = None) -> None:
        self._kept = {identity(item): item for item in (kept or {}).values()}
        self._frozen = False
        self._there: list[Any] = []
        self._known: frozenset[int] = frozenset()
        self._modules: frozenset[str] = frozenset()
        self._made: frozenset[int] | None = None
        self._held: set[int] | None = None
        self._imported: set[int] = set()

    def __enter__(self) -> Before:
        self._modules = frozenset(sys.modules)
        self._frozen = gc.get_freeze_count() < _OF_PYTHON  # otherwise somebody else has set objects aside
        if self._frozen:
            gc.freeze()
        else:
            let_alone = tuple if other_threads() else None  # see `heap`
            self._there = objects_of(lambda kind: kind is not let_alone)
            self._known = frozenset(map(identity, self._there)).union(identities_of(lambda kind: kind is let_alone))
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if self._frozen:
            gc.unfreeze()
            self._frozen = False
        self._there, self._known, self._kept = [], frozenset(), {}

    def end_generators(self) -> None:
        """Ends the generators of the user that were begun since: their `finally` would run when the last of it goes."""
        for item in objects_of(lambda kind: kind is types.GeneratorType):
            if identity(item) not in self._known and not item.gi_running:
                frame = item.gi_frame
                if frame is not None and not is_library(str(frame.f_globals.get("__name__"))):
                    with suppress(Exception):  # the code is the user's, and computes with what the trace has left
                        item.close()

    def keep(self, found: Mapping[int, Any]) -> None:
        """Counts these as having been there: whoever made them finds them again on each run."""
        self._kept.update((identity(item), item) for item in found.values())

    def look_again(self) -> None:
        """Something was made since the first question."""
        self._made = None

    def holds(self, value: Any) -> bool:
        """Whether an object was there. Objects that hold no others are looked for in modules only.

        What is made after the first question counts as made only after `look_again`.
        """
        if self._made is None:
            self._made = known() - self._known
            new = [module for name, module in list(sys.modules.items()) if name not in self._modules]
            self._imported = _held_by(new)
        here = identity(value)
        if here in self._imported or here in self._kept:
            return True
        if gc.is_tracked(value):
            return here not in self._made
        if issubclass(type(value), np.dtype) and value is np.dtype(value.type):
            return True  # NumPy keeps one of each
        if self._held is None:
            self._held = _held_by(module for name, module in list(sys.modules.items()) if name != "__main__")
        return here in self._held


def _held_by(modules: Iterable[Any]) -> set[int]:
    """The identities of what modules hold, and of what containers and objects that they hold do."""
    found = set[int]()
    for module in modules:
        if not issubclass(type(module), types.ModuleType):
            continue
        values = list(vars(module).values())
        found.update(map(identity, values))
        for value in values:
            kind = type(value)
            if identity(kind) in _HOLD_NOTHING:
                continue
            if kind is dict and len(value) <= _MOST_ITEMS and "__builtins__" not in value:
                found.update(map(identity, list(value.values())))
            elif kind in (list, tuple, set, frozenset) and len(value) <= _MOST_ITEMS:
                found.update(map(identity, list(value)))
            elif issubclass(kind, type):
                found.add(identity(vars(value).get("__annotations__")))
            elif isinstance(state := state_of(value), dict):  # of a function under `jax.jit`
                found.add(identity(state.get("__annotations__")))
    return found


_HOLD_NOTHING = frozenset(
    map(identity, [types.FunctionType, types.BuiltinFunctionType, types.ModuleType, str, int, float, bool])
)
