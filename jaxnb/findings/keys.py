"""PRNG keys that are used twice (`"key"`): two draws from one key are not independent.

Within a piece, `key_flow` says which key is used where. Across cells, what a piece used of the arrays that it was
given, and of those that it made, is kept in a `KeyLog`, by the identity of the arrays and for as long as they live. A
cell that is run again does not use a key twice.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxnb._jax_eqns import eqn_places, eqn_traceback
from jaxnb.cells.cell import CellSource
from jaxnb.findings.key_flow import Flow, Token, Use
from jaxnb.findings.traced import Keys, Traced
from jaxnb.program import Finding, Fix, Span
from jaxnb.readers.spans import Spans

__all__ = ["KeyLog", "KeyUses", "may_clash", "reused_keys", "uses_of_arrays"]

_FIX = "split it first, `{key}, subkey = jax.random.split({key})`, and use each key once."
_FIX_ACROSS = "split it where it was made, `key, subkey = jax.random.split(key)`, and give each cell a key of its own."
_FIX_LOOP = "give each turn a key: scan over `jax.random.split(key, n)`, or draw from `jax.random.fold_in(key, i)`."

_FIX_PYTHON_LOOP = (
    "give each turn a key: loop over `jax.random.split({key}, n)`, or use `jax.random.fold_in({key}, i)`."
)


def reused_keys(traced: Traced) -> Iterator[Finding]:
    """The keys that one piece uses twice, or in every turn of a loop.

    Two branches of a conditional may use one key; so may a function and its derivative, which are to draw the same.

    Args:
      traced: the piece.
    """
    flow = traced.keys.flow
    for use in flow.turns:
        key = _argument(traced.cell, use.span)
        message = f"{_called(key)} is used in every turn of a loop: all turns draw the same."
        yield _finding(message, use.line, use.span, key, _FIX_LOOP)
    for uses in _together(flow.uses):
        for number, later in enumerate(uses):
            first = next((use for use in uses[:number] if _clash(use, later)), None)
            if first is not None:
                yield _twice(traced, first, later)
                break


def may_clash(flow: Flow) -> bool:
    """Whether `reused_keys` could find anything; quick, and never wrong when it says no."""
    if flow.turns:
        return True
    for token, uses in flow.uses.items():
        if len(uses) > 1:
            return True
        while token.kind == "part" and token.parent is not None:
            token = token.parent
            if token in flow.uses:
                return True
    return False


def _twice(traced: Traced, first: Use, later: Use) -> Finding:
    one, other = _parting(traced, first, later)
    turned = _turned(traced, later) if one == other else None
    if turned is not None:
        key = _argument(traced.cell, turned)
        message = f"{_called(key)} is used in every turn of a loop: all turns draw the same."
        return _finding(message, turned.line, turned, key, _FIX_PYTHON_LOOP.format(key=key or "key"))
    key = _argument(traced.cell, other)
    if one is None or other is None or one.line == other.line:
        message = f"{_called(key)} is used more than once on this line: what is drawn is not independent."
    else:
        message = f"{_called(key)} was used on line {one.line} already: what is drawn is not independent."
    lines = tuple(dict.fromkeys(span.line for span in (one, other) if span is not None))
    origin = f"line {one.line}" if one is not None else ""
    line = other.line if other is not None else None
    return _finding(message, line, other, key, _FIX.format(key=key if key.isidentifier() else "key"), origin, lines)


def _turned(traced: Traced, use: Use) -> Span | None:
    """The innermost place on the way to a use that Python comes by again and again; None if there is no such place."""
    loops = [node for item in traced.cell.statements for node in ast.walk(item.node) if isinstance(node, _PYTHON_LOOPS)]
    for span in reversed(_way(traced, use)):
        for loop in loops:
            first, last = (loop.lineno, loop.col_offset), (loop.end_lineno or 0, loop.end_col_offset or 0)
            if first <= (span.line, span.column) and (span.end_line, span.end_column) <= last:
                return span
    return None


_PYTHON_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _parting(traced: Traced, first: Use, later: Use) -> tuple[Span | None, Span | None]:
    """Where in the cell the ways to two uses part: of a helper that is called twice, the calls."""
    ways = [_way(traced, first), _way(traced, later)]
    for one, other in zip(*ways, strict=False):
        if one != other:
            return one, other
    one, other = (way[-1] if way else None for way in ways)
    return one, other


def _way(traced: Traced, use: Use) -> list[Span]:
    """The places in the cell that lead to a use, the outermost first."""
    found: list[Span] = []
    for eqn in use.stack:
        places = [place for place in eqn_places(eqn, {}) if place.file == traced.cell.filename]
        for place in reversed(places):
            columns = place.column or 0, place.end_column or 0
            found.append(Span(place.line, columns[0], place.end_line, columns[1]))
    return found


def _together(uses: Mapping[Token, list[Use]]) -> Iterator[list[Use]]:
    """The uses of each key, with those of the array of keys that it is a part of, in their order."""
    for token, own in uses.items():
        found = list(own)
        while token.kind == "part" and token.parent is not None:
            token = token.parent
            found += uses.get(token, [])
        if len(found) > 1:
            found = [use for use in found if use.counts]
        if len(found) > 1:
            yield sorted(found, key=lambda use: use.order)


def _clash(one: Use, other: Use) -> bool:
    if one.site == other.site:
        return False  # what one call of a library does with a key is its own affair
    chosen = dict(one.branches)
    if any(chosen.get(where, number) != number for where, number in other.branches):
        return False
    if one.transforms != other.transforms and one.span == other.span:
        return False
    # A conditional under vmap computes both branches: its equations are those of two functions.
    return not ("vmap" in one.transforms & other.transforms and one.code != other.code)


def _finding(
    message: str,
    line: int | None,
    span: Span | None,
    key: str,
    fix: str,
    origin: str = "",
    trail: tuple[int, ...] = (),
) -> Finding:
    span = span if span is not None and not span.file else None
    return Finding("key", message, line, span, holder=key, origin=origin, fix=Fix(fix), trail=trail)


def _called(key: str) -> str:
    return f"`{key}`" if key else "a key"


def _argument(cell: CellSource, span: Span | None) -> str:
    """The key as it is written where it is used: the first argument of the call."""
    if span is None or span.file or not span.end_column:
        return ""
    lines = cell.shown.split("\n")[span.line - 1 : span.end_line]
    lines[-1] = lines[-1][: span.end_column]
    lines[0] = lines[0][span.column :]
    try:
        call = ast.parse("\n".join(lines).strip(), mode="eval").body
    except SyntaxError:
        return ""
    if not isinstance(call, ast.Call):
        return ""
    named = [item.value for item in call.keywords if item.arg in ("key", "rng", "seed")]
    key = next(iter([*named, *call.args]), None)
    return ast.unparse(key) if isinstance(key, (ast.Name, ast.Attribute, ast.Subscript)) else ""


# --- across cells ---

Relative = tuple[Hashable, ...]
"""How a key comes about from an array: () is the array itself."""


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
            key = _argument(source, span)
            place = ", ".join(filter(None, (label(known.file), f"line {there}" if there is not None else "")))
            message = f"{_called(key)} was used in {place} already: what is drawn is not independent."
            yield _finding(message, line, span, key, _FIX_ACROSS, place)


def _meet(one: Relative, other: Relative) -> bool:
    short, long = sorted((one, other), key=len)
    return long[: len(short)] == short and all(step[0] == "part" for step in long[len(short) :])  # type: ignore[index]


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
