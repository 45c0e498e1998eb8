"""What a plain cell begins with, kept as far as it is small, so that its statements can be looked at after it."""

from __future__ import annotations

import ast
import functools
import re
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.staging import ATOMS

__all__ = ["LONGEST", "Snapshot", "take_snapshot"]

_NAME = re.compile(r"[A-Za-z_]\w*")
_SMALL = 1 << 20
"""Bytes up to which an array that a cell begins with is kept until it has run."""
_MOST_BYTES = 1 << 24
"""Bytes of all of them together."""
_MOST_LEAVES = 64
_WATCHING = re.compile(r"\bdel\b|weakref|refcount|\bgc\b|live_arrays|memory_stats")
"""What a cell asks that would notice if something was kept."""
LONGEST = 2.0
"""Seconds that a cell may have taken for its statements to be worth another look."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The names in the text of a cell as they were before it ran.

    Attributes:
      text: the cell as displayed.
      names: all names in its text.
      values: what those stand for that were bound, as far as it could be kept.
      lost: the bound names whose values are too large, or can be changed unseen.
      leaves: the arrays among the values, by their ids.
      start: when the cell began.
    """

    text: str
    names: tuple[str, ...]
    values: dict[str, Any]
    lost: frozenset[str]
    leaves: frozenset[int]
    start: float = field(default_factory=perf_counter)

    @property
    def seconds(self) -> float:
        """How long the cell has been running."""
        return perf_counter() - self.start

    def text_of(self, nodes: Sequence[ast.stmt]) -> str:
        """The text with the lines of some statements only, where they stand."""
        own = self.text.split("\n")
        lines = [""] * len(own)
        for node in nodes:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            lines[first - 1 : node.end_lineno] = own[first - 1 : node.end_lineno]
        return "\n".join(lines)


def take_snapshot(text: str, namespace: Mapping[str, Any]) -> Snapshot:
    """What the names in a text stand for now."""
    names = tuple(dict.fromkeys(_NAME.findall(text)))
    values: dict[str, Any] = {}
    lost: set[str] = set()
    leaves: dict[int, int] = {}
    watching = _WATCHING.search(text) is not None
    for name in names:
        if name in namespace:
            kept = _LOST if watching else _kept(namespace[name], leaves)
            if kept is _LOST or sum(leaves.values()) > _MOST_BYTES:
                lost.add(name)
            else:
                values[name] = kept
    return Snapshot(text, names, values, frozenset(lost), frozenset(leaves))


_LOST = object()


def _kept(value: Any, leaves: dict[int, int]) -> Any:
    """What a name stands for, so that it stays: containers are copied; neither large arrays nor objects are kept.

    Args:
      value: that may be kept.
      leaves: the bytes of the arrays that are kept, by their ids; those of this value are added.
    """
    kind = type(value)
    if kind is list or kind is tuple:
        if len(value) > _MOST_LEAVES:
            return _LOST
        items = [_kept(item, leaves) for item in value]
        return _LOST if any(item is _LOST for item in items) else kind(items)
    if kind is dict:
        if len(value) > _MOST_LEAVES:
            return _LOST
        pairs = {key: _kept(item, leaves) for key, item in value.items()}
        return _LOST if any(item is _LOST for item in pairs.values()) else pairs
    if isinstance(value, jax.Array):
        if _jax.is_tracer(value) or value.is_deleted() or value.nbytes > _SMALL:
            return _LOST
        leaves[id(value)] = value.nbytes
        return value
    return value if kind in ATOMS or kind in _STAYING or _jax.jit_options(value) is not None else _LOST


_STAYING = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, functools.partial, type, np.ufunc)
