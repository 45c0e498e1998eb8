"""Results that were still computed when their cell had ended, and hold nan or inf: told after the next one.

A GPU works on while Python does, and so does a CPU on large arrays. What a name stands for is looked at when it is
there; until then it is only known of, and not kept alive.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from weakref import ref

import jax

from jaxnb import _jax
from jaxnb.findings.lints.plain_results import line_of, meant_kinds
from jaxnb.findings.lints.results import MOST_AT_FIRST, bad_kind
from jaxnb.findings.place import parse_shown
from jaxnb.program import Finding, Fix

__all__ = ["LateResults"]

_MOST_WAITING, _MOST_LEAVES, _DEEPEST = 64, 8, 2


class _Waiting(NamedTuple):
    """An array that is still computed.

    Attributes:
      array: it.
      name: of what holds it.
      path: what is written to get at it.
      text: of the cell that it is of.
      cell: what the user knows that by.
    """

    array: ref[jax.Array]
    name: str
    path: str
    text: str
    cell: str


class LateResults:
    """The names whose arrays are still computed."""

    def __init__(self) -> None:
        self._waiting: dict[int, _Waiting] = {}  # by the ids of the arrays

    def look(self, text: str, namespace: Mapping[str, Any], cell: str) -> list[Finding]:
        """What there is to say of results of earlier cells that are there now; those of this one are remembered.

        Args:
          text: the cell that has run, as displayed.
          namespace: the names now.
          cell: what the user knows it by.
        """
        found = list(self._found()) if self._waiting else []
        for name, value in list(namespace.items()):
            if name.startswith("_") or type(value) not in _HOLDING:
                continue
            for path, array in _arrays(name, value, _DEEPEST):
                if not _is_done(array):
                    self._wait_for(_Waiting(ref(array), name, path, text, cell), array)
        return found

    def _wait_for(self, one: _Waiting, array: jax.Array) -> None:
        if array.size <= MOST_AT_FIRST and len(self._waiting) < _MOST_WAITING:
            self._waiting.setdefault(id(array), one)

    def _found(self) -> Iterator[Finding]:
        told: dict[str, Finding] = {}
        left = MOST_AT_FIRST  # each is looked at once, and of all that are there now so many numbers
        for key, one in list(self._waiting.items()):
            array = one.array()
            if array is not None and not _is_done(array):
                continue
            del self._waiting[key]
            if array is None or one.cell in told or array.size > left:
                continue
            left -= array.size
            if not (kind := bad_kind(array, MOST_AT_FIRST)):
                continue
            tree = parse_shown(one.text)
            if tree is None or kind not in meant_kinds(tree):
                told[one.cell] = _finding(one, kind, line_of(tree, one.name) if tree is not None else None)
        yield from told.values()


_HOLDING = frozenset({_jax.Array, dict, list, tuple})


def _arrays(path: str, value: Any, depth: int) -> Iterator[tuple[str, jax.Array]]:
    """An array, or the first of those in a container of Python, each with what is written to get at it."""
    if type(value) is _jax.Array:
        yield path, value
    elif depth and type(value) in (dict, list, tuple):
        items = value.items() if type(value) is dict else enumerate(value)
        for key, item in itertools.islice(items, _MOST_LEAVES):
            if type(key) in (str, int) and type(item) in _HOLDING:
                yield from _arrays(f"{path}[{key!r}]", item, depth - 1)


def _is_done(array: Any) -> bool:
    return array.is_deleted() or array.is_ready()


def _finding(one: _Waiting, kind: str, line: int | None) -> Finding:
    origin = f"line {line} of {one.cell}" if line else one.cell
    message = f"`{one.path}` holds {kind}: it was still computed when its cell had ended."
    fix = Fix("%%jit --nans on top of that cell says which equation made it, of what.")
    return Finding("nans", message, holder=one.path, origin=origin, fix=fix)
