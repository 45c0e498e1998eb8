"""Quiet findings: what silently costs time, memory or correctness, found once for each program that is traced.

A detector is a function of one traced piece; those that there are stand in `DETECTORS`. What they find is kept with the
piece, so that a run that reuses it looks for nothing. They are never the reason why a cell fails.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any

from jaxnb.collecting import collection_put_off
from jaxnb.findings.constants import baked_constants
from jaxnb.findings.donations import find_donations
from jaxnb.findings.dtypes import dtype_findings
from jaxnb.findings.effects import side_effects
from jaxnb.findings.gradients import find_gradients
from jaxnb.findings.keys import KeyLog, reused_keys
from jaxnb.findings.traced import Traced
from jaxnb.program import Finding

if TYPE_CHECKING:
    from jaxnb.running.runner import Runner

__all__ = ["DETECTORS", "KINDS", "Quiet", "Traced", "find_quiet", "read_quiet"]

Detector = Callable[[Traced], Iterable[Finding]]

DETECTORS: tuple[Detector, ...] = (reused_keys, baked_constants, dtype_findings, find_donations, find_gradients)
"""What is looked for in each piece; each by itself, in this order."""

KINDS = frozenset(("key", "constant", "dtype", "side_effect", "donation", "gradient"))
"""What quiet findings are called."""


_MOST_CELLS = 256


class Quiet:
    """What a session remembers for their sake.

    Attributes:
      keys: which keys its cells have used.
      found: what was found in each program, for as long as that lives.
      effects: what was found in the text of each cell, and of which functions that it calls.
    """

    def __init__(self) -> None:
        self.keys = KeyLog()
        self.found: weakref.WeakKeyDictionary[Any, tuple[Finding, ...]] = weakref.WeakKeyDictionary()
        self.effects: OrderedDict[bytes, tuple[tuple[int, ...], list[Finding]]] = OrderedDict()


def find_quiet(traced: Traced) -> tuple[Finding, ...]:
    """What the detectors find in a piece, at most one finding for each line and kind.

    Args:
      traced: the piece. A detector that fails finds nothing.
    """
    found: list[Finding] = []
    for detector in DETECTORS:
        try:
            found.extend(detector(traced))
        except Exception:  # the cell has run
            continue
    return _one_each(found)


def read_quiet(runner: Runner, memory: Quiet, cell: Hashable, shown=frozenset()) -> list[Finding]:
    """What there is to say about a run; only what was not seen before is looked at.

    Args:
      runner: of the run, which has ended well.
      memory: of the session.
      cell: the identity of the cell, which stays when it is edited.
    """
    found: list[Finding] = []
    run = object()
    with collection_put_off():
        for piece in runner.pieces:
            known = memory.found.get(piece.jaxpr)
            if known is None:
                known = memory.found[piece.jaxpr] = ()
                try:
                    traced = Traced.of(runner, piece)
                    known = memory.found[piece.jaxpr] = find_quiet(traced)
                    found += memory.keys.check(traced, cell, run)
                except Exception:  # the cell has run
                    continue
            found += known
        found += _effects(runner, memory)
    return list(_one_each(found))


def _effects(runner: Runner, memory: Quiet) -> list[Finding]:
    """What the functions that a cell has traced do besides computing; Python may run them, so they are in no piece."""
    cell, namespace = runner.cell, runner.namespace
    known = memory.effects.get(cell.digest)
    if runner.options.xmap is not None or (known is not None and runner.pieces and not runner.traced):
        return known[1] if known is not None else []
    values = (namespace.get(name) for name in sorted(cell.reads))
    functions = tuple(id(value) for value in values if callable(value))
    if known is None or known[0] != functions:
        try:
            found = side_effects(cell, namespace, runner.label)
        except Exception:  # the cell has run
            found = []
        known = memory.effects[cell.digest] = functions, found
        if len(memory.effects) > _MOST_CELLS:
            memory.effects.popitem(last=False)
    return known[1]


def _one_each(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """The first finding of each line and kind; those without a line are told apart by their text."""
    first: dict[Hashable, Finding] = {}
    for finding in found:
        place = finding.line if finding.line is not None else finding.message
        first.setdefault((finding.kind, place), finding)
    return tuple(first.values())
