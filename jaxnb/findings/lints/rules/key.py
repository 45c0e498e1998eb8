"""PRNG keys that one piece uses twice (`"key"`): two draws from one key are not independent.

`key_flow` says which key is used where; what several cells use of one key is `key_log`'s.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from jaxnb._jax import eqn_places
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.key_flow import Flow, Token, Use
from jaxnb.findings.lints.key_text import same_keys
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.program import Finding, Fix, Span
from jaxnb.staging import CellSource

__all__ = ["LINT", "argument_text", "called", "key_finding", "reused_keys"]

_FIX = "split it first, `{key}, subkey = jax.random.split({key})`, and use each key once."
_FIX_LOOP = "give each turn a key: scan over `jax.random.split(key, n)`, or draw from `jax.random.fold_in(key, i)`."

_SAME = "the same key gives the same bits again, and what is drawn is not independent"
_PYTHON_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FIX_PYTHON_LOOP = (
    "give each turn a key: loop over `jax.random.split({key}, n)`, or use `jax.random.fold_in({key}, i)`."
)


def reused_keys(traced: LintContext) -> Iterator[Finding]:
    """The keys that one piece uses twice, or in every turn of a loop.

    Two branches of a conditional may use one key; so may a function and its derivative, which are to draw the same.

    Args:
      traced: the piece.
    """
    flow = traced.keys.flow
    for use in flow.turns:
        key = argument_text(traced.cell, use.span)
        message = f"{called(key)} is used in every turn of a loop: all turns draw the same."
        yield key_finding(message, use.line, use.span, key, _FIX_LOOP)
    for uses in _together(flow.uses):
        for number, later in enumerate(uses):
            first = next((use for use in uses[:number] if _clash(use, later)), None)
            if first is not None:
                yield _twice(traced, first, later)
                break


def _may_clash(flow: Flow) -> bool:
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


def _twice(traced: LintContext, first: Use, later: Use) -> Finding:
    one, other = _parting(traced, first, later)
    turned = _turned(traced, later) if one == other else None
    if turned is not None:
        key = argument_text(traced.cell, turned)
        message = f"{called(key)} is used in every turn of a loop: all turns draw the same."
        return key_finding(message, turned.line, turned, key, _FIX_PYTHON_LOOP.format(key=key or "key"))
    key = argument_text(traced.cell, other)
    if one is None or other is None or one.line == other.line:
        message = f"{called(key)} is used more than once on this line: {_SAME}."
    else:
        message = f"{called(key)} was used on line {one.line} already: {_SAME}."
    lines = tuple(dict.fromkeys(span.line for span in (one, other) if span is not None))
    origin = f"line {one.line}" if one is not None else ""
    line = other.line if other is not None else None
    return key_finding(message, line, other, key, _FIX.format(key=key if key.isidentifier() else "key"), origin, lines)


def _turned(traced: LintContext, use: Use) -> Span | None:
    """The innermost place on the way to a use that Python comes by again and again; None if there is no such place."""
    loops = [node for item in traced.cell.statements for node in ast.walk(item.node) if isinstance(node, _PYTHON_LOOPS)]
    for span in reversed(_way(traced, use)):
        for loop in loops:
            first, last = (loop.lineno, loop.col_offset), (loop.end_lineno or 0, loop.end_col_offset or 0)
            if first <= (span.line, span.column) and (span.end_line, span.end_column) <= last:
                return span
    return None


def _parting(traced: LintContext, first: Use, later: Use) -> tuple[Span | None, Span | None]:
    """Where in the cell the ways to two uses part: of a helper that is called twice, the calls."""
    ways = [_way(traced, first), _way(traced, later)]
    for one, other in zip(*ways, strict=False):
        if one != other:
            return one, other
    one, other = (way[-1] if way else None for way in ways)
    return one, other


def _way(traced: LintContext, use: Use) -> list[Span]:
    """The places in the cell that lead to a use, the outermost first."""
    found: list[Span] = []
    for eqn in use.stack:
        places = [place for place in eqn_places(eqn) if place.file == traced.cell.filename]
        for place in reversed(places):
            columns = place.column or 0, place.end_column or 0
            found.append(Span(place.line, columns[0], place.end_line, columns[1]))
    called = traced.piece.called  # there the way began for a function that was taken apart
    return [called, *found] if called is not None else found


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


def key_finding(
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


def called(key: str) -> str:
    return f"`{key}`" if key else "a key"


def argument_text(cell: CellSource, span: Span | None) -> str:
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
    args = call.args
    if len(args) > 1 and "random" not in ast.unparse(call.func):  # of a helper: which of them is the key
        args = [item for item in args if _LIKE_KEYS.search(ast.unparse(item))]
    key = next(iter([*named, *args]), None)
    return ast.unparse(key) if isinstance(key, (ast.Name, ast.Attribute, ast.Subscript)) else ""


_LIKE_KEYS = re.compile(r"key|rng|seed|^k\d*$", re.IGNORECASE)


LINT = Lint(
    reused_keys,
    lambda traced: When.TRACED if traced.census.draws and _may_clash(traced.keys.flow) else When.NEVER,
    in_words=same_keys,
)
