"""PRNG keys that are used twice (`"key"`): two draws from one key are not independent.

Within a piece, `key_flow` says which key is used where. Across cells, what a piece used of the arrays that it was
given, and of those that it made, is kept in a `KeyLog`, by the identity of the arrays and for as long as they live. A
cell that is run again does not use a key twice.
"""

from __future__ import annotations

import ast
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jax

from jaxnb._jax_eqns import eqn_places, eqn_traceback
from jaxnb.findings.key_flow import Token, Use
from jaxnb.findings.traced import Traced
from jaxnb.program import Finding, Fix, Span
from jaxnb.readers.spans import Spans

__all__ = ["KeyLog", "reused_keys"]

_FIX = "split it first, `{key}, subkey = jax.random.split({key})`, and use each key once."
_FIX_ACROSS = "split it where it was made, `key, subkey = jax.random.split(key)`, and give each cell a key of its own."
_FIX_LOOP = "give each turn a key: scan over `jax.random.split(key, n)`, or draw from `jax.random.fold_in(key, i)`."


def reused_keys(traced: Traced) -> Iterator[Finding]:
    """The keys that one piece uses twice, or in every turn of a loop.

    Two branches of a conditional may use one key; so may a function and its derivative, which are to draw the same.

    Args:
      traced: the piece.
    """
    flow = traced.keys.flow
    for use in flow.turns:
        key = _argument(traced, use.span)
        message = f"{_called(key)} is used in every turn of a loop: all turns draw the same."
        yield _finding(message, use.line, use.span, key, _FIX_LOOP)
    for uses in _together(flow.uses):
        for number, later in enumerate(uses):
            first = next((use for use in uses[:number] if _clash(use, later)), None)
            if first is not None:
                yield _twice(traced, first, later)
                break


def _twice(traced: Traced, first: Use, later: Use) -> Finding:
    one, other = _parting(traced, first, later)
    key = _argument(traced, other)
    if one is None or other is None or one.line == other.line:
        message = f"{_called(key)} is used more than once on this line: what is drawn is not independent."
    else:
        message = f"{_called(key)} was used on line {one.line} already: what is drawn is not independent."
    lines = tuple(dict.fromkeys(span.line for span in (one, other) if span is not None))
    origin = f"line {one.line}" if one is not None else ""
    line = other.line if other is not None else None
    return _finding(message, line, other, key, _FIX.format(key=key if key.isidentifier() else "key"), origin, lines)


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


def _argument(traced: Traced, span: Span | None) -> str:
    """The key as it is written where it is used: the first argument of the call."""
    if span is None or span.file or not span.end_column:
        return ""
    lines = traced.cell.shown.split("\n")[span.line - 1 : span.end_line]
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


class _Known(NamedTuple):
    """A use of an array, or of what was made of it: in which run of which cell, and what tells where."""

    relative: Relative
    cell: Hashable
    run: object
    file: str
    spans: Spans
    tracebacks: tuple[Hashable, ...]

    def place(self, label: Callable[[str], str]) -> str:
        """Where that was, as a user would say."""
        spans = (self.spans.at(traceback) for traceback in self.tracebacks)
        line = next((span.line for span in spans if span is not None and not span.file), None)
        return ", ".join(filter(None, (label(self.file), f"line {line}" if line is not None else "")))


class KeyLog:
    """What the cells of a session used of which arrays; neither these nor programs are kept alive by it."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], list[_Known]]] = {}

    def check(self, traced: Traced, cell: Hashable, run: object) -> list[Finding]:
        """What a piece uses that was used before in another cell, or in another piece of this run; and notes its own.

        Args:
          traced: the piece, with the arrays that it was given and those that it made.
          cell: its identity, which stays when it is edited.
          run: the identity of this run.
        """
        keys = traced.keys
        if not keys.flow.uses:
            return []
        arrays = {token: array for token, array in _arrays(traced) if isinstance(array, jax.Array)}
        found: list[Finding] = []
        mine: dict[int, tuple[Any, list[_Known]]] = {}
        file = traced.cell.filename
        for token, uses in keys.flow.uses.items():
            use = next((use for use in uses if use.counts), None)
            if use is None:
                continue
            tracebacks = tuple(eqn_traceback(eqn) for eqn in reversed(use.stack))
            for array, relative in _ways(token, arrays):
                before = next((item for item in self._of(array) if _meets(item, relative, cell, run)), None)
                if before is not None:
                    key, place = _argument(traced, use.span), before.place(traced.label)
                    message = f"{_called(key)} was used in {place} already: what is drawn is not independent."
                    found.append(_finding(message, use.line, use.span, key, _FIX_ACROSS, place))
                known = _Known(relative, cell, run, file, traced.spans, tracebacks)
                mine.setdefault(id(array), (array, []))[1].append(known)
        for array, known in mine.values():
            self._add(array, known, cell, run)
        return found

    def __len__(self) -> int:
        """How many arrays are known to have been used."""
        return len(self._known)

    def _of(self, array: Any) -> list[_Known]:
        known = self._known.get(id(array))
        return known[1] if known is not None and known[0]() is array else []

    def _add(self, array: Any, known: list[_Known], cell: Hashable, run: object) -> None:
        others = [item for item in self._of(array) if item.cell != cell or item.run is run]
        key = id(array)
        self._known[key] = (weakref.ref(array, lambda gone: self._drop(key, gone)), [*others, *known])

    def _drop(self, key: int, gone: weakref.ref[Any]) -> None:
        if key in self._known and self._known[key][0] is gone:
            del self._known[key]


def _meets(known: _Known, relative: Relative, cell: Hashable, run: object) -> bool:
    if known.cell == cell and known.run is not run:
        return False
    short, long = sorted((known.relative, relative), key=len)
    return long[: len(short)] == short and all(step[0] == "part" for step in long[len(short) :])  # type: ignore[index]


def _arrays(traced: Traced) -> Iterator[tuple[Token, Any]]:
    """The tokens of what a piece was given and of what it made, each with the array."""
    keys = traced.keys
    yield from zip(keys.inputs[len(keys.inputs) - len(traced.arguments) :], traced.arguments, strict=True)
    if len(traced.results) == len(keys.results):
        yield from zip(keys.results, traced.results, strict=True)


def _ways(token: Token, arrays: Mapping[Token, Any]) -> Iterable[tuple[Any, Relative]]:
    """The arrays that a key is made of, and how."""
    steps: list[Hashable] = []
    at: Token | None = token
    while at is not None:
        if at in arrays:
            yield arrays[at], tuple(reversed(steps))
        if not _is_lasting(at.detail):
            return
        steps.append((at.kind, at.detail))
        at = at.parent


def _is_lasting(detail: Hashable) -> bool:
    """Whether how a key was made means the same in another cell: it does not if it depends on another value."""
    if not isinstance(detail, tuple):
        return True
    items: tuple[Hashable, ...] = detail
    return items[:1] != ("value",) and all(map(_is_lasting, items))
