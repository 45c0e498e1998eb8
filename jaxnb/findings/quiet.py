"""Quiet findings: what silently costs time, memory or correctness, found once for each program that is traced.

A detector is a function of one traced piece; those that there are stand in `DETECTORS`. What they find is kept with the
piece, so that a run that reuses it looks for nothing. They are never the reason why a cell fails.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Container, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxnb.cells.cell import CellSource, Statement
from jaxnb.collecting import collection_put_off
from jaxnb.findings.constants import baked_constants
from jaxnb.findings.donations import find_donations
from jaxnb.findings.dtypes import asks_for_wide, dtype_findings
from jaxnb.findings.effects import may_act, side_effects
from jaxnb.findings.gradients import find_gradients
from jaxnb.findings.key_flow import Flow
from jaxnb.findings.keys import KeyLog, reused_keys
from jaxnb.findings.puts import find_puts
from jaxnb.findings.spreading import is_spread, sharding_findings
from jaxnb.findings.traced import Keys, Traced
from jaxnb.findings.transfers import find_transfers
from jaxnb.program import Finding
from jaxnb.staging.piece import Piece

if TYPE_CHECKING:
    from jaxnb.running.runner import Runner

__all__ = ["DETECTORS", "Quiet", "Traced", "find_quiet", "glance", "read_quiet"]

Detector = Callable[[Traced], Iterable[Finding]]

DETECTORS: Mapping[str, Detector] = {
    "key": reused_keys,
    "constant": baked_constants,
    "dtype": dtype_findings,
    "donation": find_donations,
    "gradient": find_gradients,
    "sharding": sharding_findings,
}
"""What is looked for in each piece, in this order, by the kind of the findings."""

_MOST_CELLS = 256


class Quiet:
    """What a session remembers for their sake.

    Attributes:
      keys: which keys its cells have used.
      effects: what was found in the text of each cell, side effects and transfers, and the functions it was found with.
    """

    def __init__(self) -> None:
        self.keys = KeyLog()
        self.effects: OrderedDict[bytes, tuple[tuple[int, ...], tuple[Finding, ...]]] = OrderedDict()


class Glance(NamedTuple):
    """What was seen of a piece when it was traced: enough to know whether there is anything to look for.

    Attributes:
      keys: which PRNG keys are used where.
      acts: whether functions that it has traced may do something besides computing.
    """

    keys: Keys
    acts: bool


def glance(cell: CellSource, piece: Piece, namespace: Mapping[str, Any], label: Callable[[str], str] = str) -> None:
    """Takes a look at a piece that was just traced, and keeps what was seen with it.

    This is all that most pieces cost. It is done before they are compiled: afterwards the jaxpr is no longer in the
    processor's caches, and the same look takes five times as long.

    Args:
      cell: that the piece belongs to.
      piece: not looked at before.
      namespace: the names that it reads.
      label: what the user knows a file by.
    """
    traced = Traced(cell, piece, namespace=namespace, label=label)
    keys, acts = Keys(Flow(traced.spans), (), ()), False
    with _warning("key"):
        keys = traced.keys
    with _warning("side_effect"):
        acts = may_act(traced.statements, namespace)
    piece.quiet = Glance(keys, acts)


def find_quiet(traced: Traced) -> tuple[Finding, ...]:
    """What the detectors find in a piece, at most one finding for each line and kind.

    Args:
      traced: the piece. A detector that fails warns, and finds nothing.
    """
    census = traced.census
    telling = census.telling or census.marks or census.giving or traced.keys.flow.uses or traced.piece.donation.leaves
    if not telling and not is_spread(traced.piece) and not asks_for_wide(traced.cell.text):
        return ()  # most pieces
    found: list[Finding] = []
    with collection_put_off():
        for kind, detector in DETECTORS.items():
            with _warning(kind):
                found.extend(detector(traced))
    return _one_each(found)


def read_quiet(
    runner: Runner, memory: Quiet, cell: Hashable, shown: Container[str] = frozenset()
) -> tuple[Finding, ...]:
    """What there is to say about a run; only what was not seen before is looked at.

    Args:
      runner: of the run, which has ended well.
      memory: of the session.
      cell: the identity of the cell, which stays when it is edited.
      shown: the kinds that are written out; findings of others are marked as folded.
    """
    pieces = runner.pieces
    if len(pieces) == 1 and not runner.traced and type(pieces[0].quiet) is tuple:
        found = pieces[0].quiet
    else:
        found = _read(runner, memory, cell, pieces)
    if (known := memory.effects.get(runner.cell.digest)) is not None:
        found += known[1]
    return _one_each(_folded(found, shown)) if found else ()


def _read(runner: Runner, memory: Quiet, cell: Hashable, pieces: Iterable[Piece]) -> tuple[Finding, ...]:
    found: list[Finding] = []
    run, digest = object(), runner.cell.digest
    acts = False
    for piece in pieces:
        if type(piece.quiet) is tuple:
            found += piece.quiet
            continue
        if piece.quiet is None:
            glance(runner.ran[id(piece)].cell, piece, runner.namespace, runner.label)
        seen: Any = piece.quiet
        acts = acts or seen.acts
        traced = Traced.of(runner, piece, seen.keys)
        piece.quiet = find_quiet(traced)
        found += piece.quiet
        with _warning("key"):
            found += memory.keys.check(traced, cell, run)
    by_python = [item for item in runner.cell.statements if item.span.line in runner.host_lines]
    functions = _functions(by_python, runner.namespace)
    known = memory.effects.get(digest)
    if known is None or runner.traced or known[0] != functions:
        memory.effects[digest] = functions, tuple(_in_the_text(runner, by_python, acts))
        if len(memory.effects) > _MOST_CELLS:
            memory.effects.popitem(last=False)
    return tuple(found)


def _functions(statements: Iterable[Statement], namespace: Mapping[str, Any]) -> tuple[int, ...]:
    """The functions that statements read: what Python runs is looked at again if one of them is another now."""
    values = (namespace.get(name) for statement in statements for name in statement.names.order)
    return tuple(id(value) for value in values if callable(value))


def _in_the_text(runner: Runner, by_python: Sequence[Statement], acts: bool) -> Iterator[Finding]:
    """What the text of a cell shows: what its functions do besides computing, what its loops copy, and what
    `jax.device_put` was asked for in vain."""
    if runner.options.xmap is None:
        with _warning("side_effect"):
            if acts or may_act(by_python, runner.namespace):
                yield from side_effects(runner.cell, runner.namespace, runner.label)
    if by_python:
        with _warning("transfer"):
            yield from find_transfers(runner)
        with _warning("donation"):
            yield from find_puts(runner)


@contextmanager
def _warning(kind: str) -> Generator[None]:
    """A detector that fails says so, and nothing else fails for it: the cell has run."""
    try:
        yield
    except Exception as error:
        what = f"jaxnb could not look for `{kind}` findings: {type(error).__name__}: {error}"
        warnings.warn(what, RuntimeWarning, stacklevel=2)


def _folded(found: Iterable[Finding], shown: Container[str]) -> Iterator[Finding]:
    return (finding if finding.kind in shown else replace(finding, folded=True) for finding in found)


def _one_each(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first finding of each line and kind; those without a line are told apart by their text."""
    first: dict[Hashable, Finding] = {}
    for finding in found:
        place = finding.line if finding.line is not None else finding.message
        first.setdefault((finding.kind, place), finding)
    return tuple(first.values())
