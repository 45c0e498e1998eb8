"""Where the leaves of a walk are held, so that tracers can stand there while a piece is traced."""

from __future__ import annotations

import types
from typing import Any, NamedTuple

from jaxnb.staging.cells.append_only import ListUses
from jaxnb.staging.objects.mutables import DICT, Mutable
from jaxnb.staging.objects.paths import Path

__all__ = ["IN_IMMUTABLE", "Immutable", "Method", "Slot", "Slots"]


class Immutable(NamedTuple):
    """A tuple or other immutable node that holds leaves: it must be built anew to hold tracers."""

    value: Any
    children: list[tuple[int, str, int]]  # position, "leaf" or "built", index
    slots: list[Slot]
    treedef: Any  # of a registered node; None for a tuple


class Method(NamedTuple):
    """A function in a class of the user, and what it does to lists if it is called."""

    owner: type
    name: str
    function: types.FunctionType
    list_uses: ListUses


class Slots:
    """Where leaves are held, recorded while scanning for a trace.

    Attributes:
      leaves: for each leaf, the places that hold it.
      built: the immutable nodes, inner ones first.
      holders: every holder on the way, to be saved before and compared after.
      held_at: the path of each of them, by id.
      attributes: of each `__dict__` of an object, by id, the path and the class of the object.
      trace_states: the places that say under which trace their object was made.
      shells: objects, each with its class and its `__dict__`.
      fixed: leaves that some place holds that cannot hold another value, such as a weak reference.
    """

    def __init__(self) -> None:
        self.leaves: list[list[Slot]] = []
        self.built: list[Immutable] = []
        self.holders: list[tuple[Any, Mutable]] = []
        self.held_at: dict[int, Path] = {}
        self.attributes: dict[int, tuple[Path, type]] = {}
        self.trace_states: list[Slot] = []
        self.shells: list[tuple[Any, type, Any]] = []
        self.fixed: set[int] = set()


class Slot(NamedTuple):
    """A place that holds a value and can hold another."""

    holder: Mutable
    owner: Any
    key: Any

    def holds(self, value: Any) -> bool:
        """Whether this value is held here."""
        return any(child is value and key == self.key for key, child in self.holder.save(self.owner))


IN_IMMUTABLE = Slot(DICT, None, None)
"""Stands for a place inside an immutable node, which is built anew."""
