"""What the cells of a session use of which PRNG keys (`"key"`): a key that two cells use is used twice.

What a piece used of the arrays that it was given, and of those that it made, is kept in a `KeyLog`, by the identity of
the arrays and for as long as they live. A cell that is run again does not use a key twice.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxnb._jax import eqn_traceback
from jaxnb.findings.lints.context import Keys
from jaxnb.findings.lints.key_flow import Token
from jaxnb.findings.lints.rules.key import argument_text, called, key_finding
from jaxnb.program import Finding, Span
from jaxnb.reading import Spans
from jaxnb.staging import CellSource

__all__ = ["KeyLog", "KeyUses", "uses_of_arrays"]

_FIX_ACROSS = "split it where it was made, `key, subkey = jax.random.split(key)`, and give each cell a key of its own."

Relative = tuple[tuple[str, Hashable], ...]
"""How a key comes about from an array, step by step, each by its kind and detail: () is the array itself."""


class Used(NamedTuple):
    """A use of an array, or of what was made of it: how that comes about from it, and what tells where it stands."""

    relative: Relative
    tracebacks: tuple[Hashable, ...]


class KeyUses(NamedTuple):
    """What a piece uses of one array. It holds nothing of the program.

    Attributes:
      made: whether the array is a result of the piece, and no input.
      place: the number of the input, not counting constants, or of the result.
      spans: finds the places of the uses.
      uses: each that may draw anew.
    """

    made: bool
    place: int
    spans: Spans
    uses: tuple[Used, ...]


def uses_of_arrays(keys: Keys, inputs: int) -> tuple[KeyUses, ...]:
    """What a piece uses of each array that it is given, and of each that it makes.

    Args:
      keys: its keys.
      inputs: how many inputs the piece has, constants not counted.
    """
    if not keys.flow.uses:
        return ()
    first = len(keys.inputs) - inputs
    places = {token: (False, at - first) for at, token in enumerate(keys.inputs) if at >= first}
    places.update((token, (True, at)) for at, token in enumerate(keys.results))
    ways: dict[Token, list[tuple[list[Used], Relative]]] = {}
    found: dict[tuple[bool, int], list[Used]] = {}
    for token, uses in keys.flow.uses.items():
        for use in uses:
            if use.counts:
                tracebacks = tuple([eqn_traceback(eqn) for eqn in reversed(use.stack)])
                for own, relative in _ways(token, places, ways, found):
                    own.append(Used(relative, tracebacks))
                break
    return tuple([KeyUses(*place, keys.flow.spans, tuple(own)) for place, own in found.items() if own])


def _ways(
    token: Token,
    places: Mapping[Token, tuple[bool, int]],
    ways: dict[Token, list[tuple[list[Used], Relative]]],
    found: dict[tuple[bool, int], list[Used]],
) -> list[tuple[list[Used], Relative]]:
    """The arrays that a key is made of, as their uses, and how; what was asked before is in `ways`."""
    known = ways.get(token)
    if known is None:
        known = ways[token] = []
        place = places.get(token)
        if place is not None:
            known.append((found.setdefault(place, []), ()))
        # To split an array is to use it: whoever makes the same of it again has used it, too.
        if token.parent is not None and token.lasting and token.kind != "split":
            step = (token.kind, token.detail)
            known += [(own, (*way, step)) for own, way in _ways(token.parent, places, ways, found)]
    return known


class _Known(NamedTuple):
    """Uses of an array: in which run of which cell."""

    cell: Hashable
    run: object
    file: str
    spans: Spans
    uses: tuple[Used, ...]


class KeyLog:
    """What the cells of a session used of which arrays; neither these nor programs are kept alive by it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], list[_Known]]] = {}

    def check(
        self,
        uses: Sequence[KeyUses],
        arguments: Sequence[Any],
        results: Sequence[Any],
        cell: Hashable,
        run: object,
        source: CellSource,
        label: Callable[[str], str] = str,
    ) -> list[Finding]:
        """What a piece uses that was used before in another cell, or in another piece of this run; and notes its own.

        Args:
          uses: of the piece.
          arguments: the arrays that it was given.
          results: those that it made.
          cell: the identity of its cell, which stays when it is edited.
          run: the identity of this run.
          source: the cell.
          label: what the user knows a file by.
        """
        found: list[Finding] = []
        mine: list[tuple[Any, _Known]] = []
        for own in uses:
            arrays = results if own.made else arguments
            array = arrays[own.place] if own.place < len(arrays) else None
            if not isinstance(array, jax.Array):
                continue
            others = self._of(array)
            if others:
                for known in others:
                    if known.cell != cell or known.run is run:
                        found += _met(known, own, source, label)
            mine.append((array, _Known(cell, run, source.filename, own.spans, own.uses)))
        for array, known in mine:
            self._add(array, known)
        return found

    def __len__(self) -> int:
        """How many arrays are known to have been used."""
        return len(self._known)

    def _of(self, array: Any) -> list[_Known]:
        known = self._known.get(id(array))
        return known[1] if known is not None and known[0]() is array else []

    def _add(self, array: Any, known: _Known) -> None:
        key, before = id(array), self._of(array)
        if before:  # of what this cell used in an earlier run, nothing is to be kept
            before[:] = [item for item in before if item.cell != known.cell or item.run is known.run] + [known]
        else:
            self._known[key] = (weakref.ref(array, lambda gone: self._drop(key, gone)), [known])

    def _drop(self, key: int, gone: weakref.ref[Any]) -> None:
        if key in self._known and self._known[key][0] is gone:
            del self._known[key]


def _met(known: _Known, own: KeyUses, source: CellSource, label: Callable[[str], str]) -> Iterator[Finding]:
    """What a piece uses of an array that was used so before."""
    for use in own.uses:
        before = next((item for item in known.uses if _meet(item.relative, use.relative)), None)
        if before is not None:
            span, line = _written(own.spans, use.tracebacks)
            _, there = _written(known.spans, before.tracebacks)
            key = argument_text(source, span)
            place = ", ".join(filter(None, (label(known.file), f"line {there}" if there is not None else "")))
            message = f"{called(key)} was used in {place} already: what is drawn is not independent."
            yield key_finding(message, line, span, key, _FIX_ACROSS, place)


def _meet(one: Relative, other: Relative) -> bool:
    short, long = sorted((one, other), key=len)
    return long[: len(short)] == short and all(step[0] == "part" for step in long[len(short) :])


def _written(spans: Spans, tracebacks: Iterable[Hashable]) -> tuple[Span | None, int | None]:
    """Where a use stands in the user's text, and on which line of the cell; from the innermost equation outwards."""
    innermost: Span | None = None
    for traceback in tracebacks:
        span = spans.at(traceback)
        if span is not None:
            innermost = innermost or span
            if not span.file:
                return innermost, span.line
    return innermost, None
