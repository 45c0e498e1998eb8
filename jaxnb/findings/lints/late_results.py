"""Results that were still computed when their cell had ended, and hold nan or inf: told after the next one.

A GPU works on while Python does, and so does a CPU on large arrays. What a name stands for is looked at when it is
there; until then it is only known of, and not kept alive.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from weakref import ref

import jax

from jaxnb import _jax
from jaxnb.findings.lints.plain_results import line_of, meant_kinds
from jaxnb.findings.lints.results import MOST_NUMBERS, bad_kind
from jaxnb.findings.place import parse_shown
from jaxnb.program import Finding, Fix

__all__ = ["LateResults"]

_MOST_WAITING = 64


class _Waiting(NamedTuple):
    array: ref[jax.Array]
    name: str
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
        kind = _jax.Array
        for name, value in [(name, value) for name, value in namespace.items() if type(value) is kind]:
            if not name.startswith("_") and not _is_done(value):
                self._wait_for(_Waiting(ref(value), name, text, cell), value)
        return found

    def _wait_for(self, one: _Waiting, array: jax.Array) -> None:
        if array.size <= MOST_NUMBERS and len(self._waiting) < _MOST_WAITING:
            self._waiting.setdefault(id(array), one)

    def _found(self) -> Iterator[Finding]:
        told: dict[str, Finding] = {}
        for key, one in list(self._waiting.items()):
            array = one.array()
            if array is not None and not _is_done(array):
                continue
            del self._waiting[key]
            if array is None or one.cell in told or not (kind := bad_kind(array, MOST_NUMBERS)):
                continue
            tree = parse_shown(one.text)
            if tree is None or kind not in meant_kinds(tree):
                told[one.cell] = _finding(one, kind, line_of(tree, one.name) if tree is not None else None)
        yield from told.values()


def _is_done(array: Any) -> bool:
    return array.is_deleted() or array.is_ready()


def _finding(one: _Waiting, kind: str, line: int | None) -> Finding:
    origin = f"line {line} of {one.cell}" if line else one.cell
    message = f"`{one.name}` holds {kind}: it was still computed when its cell had ended."
    fix = Fix("%%jit --nans on top of that cell says which equation made it, of what.")
    return Finding("nans", message, holder=one.name, origin=origin, fix=fix)
