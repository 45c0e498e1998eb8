"""Quiet findings: what silently costs time, memory or correctness, found once for each program that is traced.

A lint looks at one traced piece, or at the text of a cell; there is one for each module of `lints/rules`. What they
find is kept for as long as the piece is, so that a run that reuses it looks for nothing. They are never the reason why
a cell fails.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from jaxnb.findings.lints.cell_text import CellText
from jaxnb.findings.lints.context import Keys, LintContext, as_called, given_and_made
from jaxnb.findings.lints.key_log import KeyLog, KeyUses, uses_of_arrays
from jaxnb.findings.lints.lint import Text, Warned, When, lints, only_defines
from jaxnb.findings.lints.results import BadResults
from jaxnb.findings.place import functions_around, parse_shown
from jaxnb.program import Finding
from jaxnb.runtime import collection_put_off
from jaxnb.staging import CellSource, Piece, Statement

if TYPE_CHECKING:
    from jaxnb.staging import Execution

__all__ = [
    "LintContext",
    "LintMemory",
    "asked_lints",
    "glance",
    "in_words",
    "lint_piece",
    "run_lints",
    "said_before",
    "with_function",
]

_MOST_CELLS = 256


class LintMemory:
    """What a session remembers for their sake.

    Attributes:
      keys: which keys its cells have used.
      looks: what was seen in each piece when it was traced, and then what was found in it.
      results: what looks at results that are nan or inf.
      effects: what was found in the text of each cell, side effects and transfers, and the functions it was found with.
    """

    def __init__(self) -> None:
        self.keys = KeyLog()
        self.looks: WeakKeyDictionary[Piece, Seen | Looked] = WeakKeyDictionary()
        self.results = BadResults()
        self.effects: OrderedDict[bytes, tuple[tuple[int, ...], tuple[Finding, ...]]] = OrderedDict()


@dataclass(slots=True)
class Seen:
    """What was seen of a piece when it was traced: enough to know what to look for when it has run.

    Attributes:
      keys: which PRNG keys are used where; None if none is used.
      uses: what is used of each array that it is given or makes.
      kinds: of the lints that may find something in it.
      later: of those that are asked once more when it has run.
    """

    keys: Keys | None = None
    uses: tuple[KeyUses, ...] = ()
    kinds: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()


@dataclass(slots=True)
class Looked:
    """What was found in a piece.

    Attributes:
      found: the findings.
      uses: what it uses of keys, which is compared at each run with what other cells have used.
      said: all that there is to say of a run of this piece alone.
      shown: the kinds that were written out when `said` was made; None where each run has to be looked at anew.
      lines: what Python ran of the cell then, which only defined something; `said` holds for no other lines.
    """

    found: tuple[Finding, ...]
    uses: tuple[KeyUses, ...]
    shown: Container[str] | None = None
    lines: frozenset[int] = frozenset()
    said: tuple[Finding, ...] = ()


def glance(
    memory: LintMemory, cell: CellSource, piece: Piece, namespace: Mapping[str, Any], label: Callable[[str], str] = str
) -> Seen:
    """Takes a look at a piece that was just traced, and keeps what was seen.

    This is all that most pieces cost. It is done before they are compiled: afterwards the jaxpr is no longer in the
    processor's caches, and the same look takes five times as long.

    Args:
      memory: of the session.
      cell: that the piece belongs to.
      piece: not looked at before.
      namespace: the names that it reads.
      label: what the user knows a file by.
    """
    memory.looks[piece] = seen = Seen()
    traced = LintContext(as_called(cell, piece), piece, namespace=namespace, label=label)
    with Warned("key"):
        if traced.census.draws:
            seen.keys = keys = traced.keys
            seen.uses = uses_of_arrays(keys, len(piece.paths))
    asked = asked_lints(traced)
    seen.kinds, seen.later = asked[When.TRACED], asked[When.RAN]
    return seen


def asked_lints(traced: LintContext) -> Mapping[When, frozenset[str]]:
    """The kinds of the lints by when they look at a piece.

    Args:
      traced: the piece. A lint that fails warns, and does not look.
    """
    asked: dict[When, set[str]] = {when: set() for when in When}
    for kind, lint in lints().items():
        with Warned(kind):
            asked[lint.when(traced)].add(kind)
    return {when: frozenset(kinds) for when, kinds in asked.items()}


def said_before(
    memory: LintMemory, piece: Piece, lines: Container[int], shown: Container[str]
) -> tuple[Finding, ...] | None:
    """All that there was to say of a run of this piece alone, of which Python ran the same lines; None if it was not
    looked at so.

    Args:
      memory: of the session.
      piece: that served the run.
      lines: what Python ran of the cell.
      shown: the kinds that are written out.
    """
    looked = memory.looks.get(piece)
    if type(looked) is Looked and looked.shown is shown and looked.lines == lines:
        return looked.said
    return None


def lint_piece(traced: LintContext, kinds: Container[str]) -> tuple[Finding, ...]:
    """What lints find in a piece, at most one finding for each line and kind.

    Args:
      traced: the piece. A lint that fails warns, and finds nothing.
      kinds: of the lints that are asked.
    """
    found: list[Finding] = []
    with collection_put_off():
        for kind, lint in lints().items():
            if kind in kinds and lint.in_piece is not None:
                with Warned(kind):
                    found.extend(lint.in_piece(traced))
    return _one_each(found)


def run_lints(
    execution: Execution, memory: LintMemory, cell: Hashable, shown: Container[str] = frozenset()
) -> tuple[Finding, ...]:
    """What there is to say about a run; only what was not seen before is looked at.

    Args:
      execution: the run, which has ended well.
      memory: of the session.
      cell: the identity of the cell, which stays when it is edited.
      shown: the kinds that are written out; findings of others are marked as folded.
    """
    pieces = execution.pieces
    found: list[Finding] = []
    run, hinted = object(), set[str]()
    for piece in pieces:
        looked = memory.looks.get(piece)
        if not isinstance(looked, Looked):
            seen = looked or glance(memory, execution.ran[id(piece)].cell, piece, execution.namespace, execution.label)
            hinted |= seen.kinds
            looked = memory.looks[piece] = Looked(_look(execution, piece, seen), seen.uses)
        found += looked.found
        if looked.uses:
            with Warned("key"):
                given = given_and_made(execution, piece)
                found += memory.keys.check(looked.uses, *given, cell, run, execution.cell, execution.label)
    host_lines = execution.host_lines
    by_python = [item for item in execution.cell.statements if item.span.line in host_lines] if host_lines else []
    found += _of_the_text(execution, memory, hinted, by_python)
    found = [with_function(finding, execution.cell.shown) for finding in found]
    said = _one_each(_folded(found, shown)) if found else ()
    if len(pieces) == 1 and all(map(only_defines, by_python)):
        looked = memory.looks[pieces[0]]
        if isinstance(looked, Looked) and not looked.uses:
            looked.shown, looked.lines, looked.said = shown, frozenset(host_lines), said
    return said


def _look(execution: Execution, piece: Piece, seen: Seen) -> tuple[Finding, ...]:
    """What is found in a piece that has run for the first time."""
    traced = LintContext.of(execution, piece, seen.keys)
    kinds = set(seen.kinds)
    for kind in seen.later:
        with Warned(kind):
            if lints()[kind].later(traced):
                kinds.add(kind)
    return lint_piece(traced, kinds) if kinds else ()


def _of_the_text(
    execution: Execution, memory: LintMemory, hinted: set[str], by_python: Sequence[Statement]
) -> tuple[Finding, ...]:
    """What is found in the text of a cell, which is looked at when it was traced, or calls other functions."""
    digest = execution.cell.digest
    functions = _functions(by_python, execution.namespace)
    known = memory.effects.get(digest)
    if known is None or execution.traced or known[0] != functions:
        known = memory.effects[digest] = functions, tuple(_in_the_text(execution, by_python, hinted))
        if len(memory.effects) > _MOST_CELLS:
            memory.effects.popitem(last=False)
    return known[1]


def _functions(statements: Sequence[Statement], namespace: Mapping[str, Any]) -> tuple[int, ...]:
    """The functions that statements read: what Python runs is looked at again if one of them is another now."""
    if not statements:
        return ()
    values = (namespace.get(name) for item in statements if not only_defines(item) for name in item.names.order)
    return tuple([id(value) for value in values if callable(value)])


def _in_the_text(execution: Execution, by_python: Sequence[Statement], hinted: set[str]) -> Iterator[Finding]:
    """What the text of a cell shows, such as what its functions do besides computing, or what its loops copy."""
    calls = not all(map(only_defines, by_python))
    yield from in_words(CellText(execution.cell.shown, execution.namespace))
    for kind, lint in lints().items():
        if lint.in_text is not None:
            with Warned(kind):
                yield from lint.in_text(Text(execution, by_python, calls, kind in hinted))


def in_words(cell: CellText) -> Iterator[Finding]:
    """What the words of a cell show.

    Args:
      cell: plain or staged. A lint that fails warns, and finds nothing.
    """
    for kind, lint in lints().items():
        if lint.in_words is not None:
            with Warned(kind):
                yield from lint.in_words(cell)


def with_function(finding: Finding, shown: str) -> Finding:
    """The finding, with the functions of the cell in which its line stands, if it says no other place."""
    if finding.line is None or "`" in finding.origin or " of " in finding.origin:
        return finding
    tree = parse_shown(shown)
    around = reversed([*functions_around(tree, finding.line)]) if tree is not None else ()
    names = [f"`{one.name}`" for one in around if isinstance(one, ast.FunctionDef)]
    return replace(finding, origin=f"{finding.origin} in {' of '.join(names)}".strip()) if names else finding


def _folded(found: Iterable[Finding], shown: Container[str]) -> Iterator[Finding]:
    return (finding if finding.kind in shown else replace(finding, folded=True) for finding in found)


def _one_each(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first finding of each line and kind, in the order of the lines; those without a line come last, and are told
    apart by their text."""
    first: dict[Hashable, Finding] = {}
    for finding in found:
        place = finding.line if finding.line is not None else finding.message
        first.setdefault((finding.kind, place), finding)
    return tuple(sorted(first.values(), key=lambda finding: (finding.line is None, finding.line or 0)))
