"""The programs of a cell, which of them serves a run, and in words why none did (SEMANTICS, rule 10)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from jaxnb.cells.blocks import Opened
from jaxnb.objects.graph import Reached, Scan
from jaxnb.objects.paths import FLOAT, INT, Choices, Path
from jaxnb.program import Finding
from jaxnb.reuse.changes import explain_change, path_at
from jaxnb.reuse.guards import Guard, make_guard
from jaxnb.reuse.left import Left
from jaxnb.staging.piece import Piece, Plan

__all__ = ["CodeRecord", "explain_change", "find_piece", "scalars_that_changed", "static_ints"]

_MADE_AT_MOST = 64


@dataclass(slots=True)
class CodeRecord:
    """What is kept of one cell's code under one set of options.

    Attributes:
      pieces: the programs, the most recently used last.
      choices: which leaves are static or dynamic by decision.
      breaks: statements at which a piece must end.
      forced: names whose value at entry is read, though the cell binds them too.
      never_dynamic: scalars that turned out to be needed as values.
      last: for each start of a piece, the one that ran last.
      on_host: statements that need values and that Python therefore runs, each with a line and the reason.
      needed: for each of them, what there is to say about the value that it needs.
      reached: for each of them, the user's code that it reached when it was given to Python.
      opened: those of them that are taken apart.
      blocks: what is kept of the code inside these, by statement and number of the block.
      made: hashes of the keys of the last programs, those that were dropped among them.
      runs: how often the cell ran.
      left: what the last run left of what the cell reads, if it traced anything; None otherwise.
      differed: for each start of a piece, what Python had changed since the run before, and in which run.
    """

    choices: Choices = field(default_factory=Choices)
    pieces: list[Piece] = field(default_factory=list[Piece])
    breaks: set[int] = field(default_factory=set[int])
    forced: set[str] = field(default_factory=set[str])
    never_dynamic: set[Any] = field(default_factory=set[Any])
    last: dict[int, Piece] = field(default_factory=dict[int, Piece])
    on_host: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
    needed: dict[int, Finding] = field(default_factory=dict[int, Finding])
    reached: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    opened: dict[int, Opened] = field(default_factory=dict[int, Opened])
    blocks: dict[tuple[int, int], CodeRecord] = field(default_factory=lambda: {})
    made: dict[int, None] = field(default_factory=dict[int, None])
    runs: int = 0
    left: Left | None = None
    differed: dict[int, tuple[int, set[Path]]] = field(default_factory=lambda: {})

    def give_to_python(self, index: int, line: int, reason: str, reached: dict[str, Any]) -> None:
        """From now on Python runs this statement."""
        self.on_host[index], self.reached[index] = (line, reason), reached
        self.breaks.update((index, index + 1))

    def take_back(self, index: int) -> None:
        """The statement is to be traced again."""
        for kept in (self.on_host, self.needed, self.reached, self.opened):
            kept.pop(index, None)
        self.breaks -= {index, index + 1}
        for key in [key for key in self.blocks if key[0] == index]:
            del self.blocks[key]

    def is_still_for_python(self, index: int, reached: dict[str, Any]) -> bool:
        """Whether a statement is for Python, and no function or class that it reaches has changed since."""
        if index not in self.on_host:
            return False
        before = self.reached[index]
        if any(before.get(name, mark) != mark for name, mark in reached.items()):
            self.take_back(index)
            return False
        return True

    def starting_at(self, start: int) -> list[Piece]:
        """The pieces that begin there, the most recently used first."""
        return [piece for piece in reversed(self.pieces) if piece.plan.start == start]

    def use(self, piece: Piece, limit: int) -> None:
        """Marks a piece as the one used last, and drops the oldest beyond the limit."""
        start = piece.plan.start
        self.last[start] = piece
        self.pieces[:] = [other for other in self.pieces if other is not piece]
        self.pieces.append(piece)
        same = [other for other in self.pieces if other.plan.start == start]
        for old in same[: max(0, len(same) - limit)]:
            self.pieces.remove(old)

    def trim(self, limit: int) -> None:
        """Drops all but the last programs of each piece."""
        for start in {piece.plan.start for piece in self.pieces}:
            for old in self.starting_at(start)[limit:]:
                self.pieces.remove(old)

    def made_before(self, piece: Piece) -> bool:
        """Whether there was a program of this key, which has been dropped since; from now on there was."""
        try:
            mark = hash((piece.plan.start, piece.key, piece.context))
        except Exception:  # a static value of the user's need not have a hash, and its own may raise anything
            return False
        before = mark in self.made
        self.made[mark] = None
        if len(self.made) > _MADE_AT_MOST:
            del self.made[next(iter(self.made))]
        return before


def find_piece(
    record: CodeRecord, start: int, namespace: dict[str, Any], context: tuple[Any, ...], device: Any
) -> tuple[Piece, Reached] | None:
    """The program that serves a run in this namespace, with the walk that showed it."""
    pieces = record.starting_at(start)
    for piece in pieces:
        if piece.guard is not None and piece.key[0] == device and piece.context == context:
            reached = piece.guard(namespace)
            if reached is not None and (ready := piece.ready(reached, namespace)) is not None:
                return piece, ready
    plan: Plan | None = None
    scan: Scan | None = None
    key: tuple[Any, ...] = ()
    for piece in pieces:
        if scan is None or piece.plan is not plan:
            plan = piece.plan
            scan = plan.scan(namespace, record.choices)
            key = (device, *scan.parts)
        if piece.key == key and piece.context == context and not piece.reasons:
            ready = piece.ready(scan.reached(), namespace)
            if ready is not None:
                _write_guard(record, piece, namespace)
                return piece, ready
    return None


VERIFY = os.environ.get("JAXNB_VERIFY") == "1"
"""Whether what a guard accepts is compared with a scan: for tests."""

_SCANS_BEFORE_GUARD = 1
_GUARDS_AT_MOST = 4
_PARTS_AT_MOST = 20_000
"""Beyond this, writing the walk down takes longer than it will ever save."""


def _write_guard(record: CodeRecord, piece: Piece, namespace: dict[str, Any]) -> None:
    """After some reuse, writes the walk down; again where the guard no longer fits, but not for ever."""
    piece.scanned += 1
    if len(piece.key) > _PARTS_AT_MOST:
        return
    if VERIFY or _SCANS_BEFORE_GUARD < piece.scanned <= _SCANS_BEFORE_GUARD + _GUARDS_AT_MOST:
        piece.guard = make_guard(piece.plan, namespace, record.choices)
        if VERIFY and piece.guard is not None:
            piece.guard = _verified(piece.guard, piece, record.choices.copy())


def _verified(guard: Guard, piece: Piece, choices: Choices) -> Guard:
    """A guard that raises where the scan would not accept what it accepts, or finds something else."""
    plan, key = piece.plan, piece.key

    def verified(namespace: dict[str, Any]) -> Reached | None:
        reached = guard(namespace)
        if reached is not None:
            scan = plan.scan(namespace, choices)
            same = (key[0], *scan.parts) == key
            for one, other in zip(scan.reached()[:3], reached[:3], strict=True):
                same &= len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
            if not same:
                raise AssertionError("a guard accepted what a scan does not")
        return reached

    return verified


def scalars_that_changed(old: Piece, key: tuple[Any, ...]) -> set[Any] | None:
    """Paths of the static Python numbers that differ between two keys, if nothing else does.

    Others may have become inputs, for another piece of the cell.
    """
    if len(old.key) != len(key):
        return None
    found: set[int] = set()
    for index, (a, b) in enumerate(zip(old.key, key, strict=True)):
        if a == b or (_is_number(a) and b is {int: INT, float: FLOAT}[a[0]]):
            continue
        if not (_is_number(a) and _is_number(b) and a[0] is b[0]):
            return None
        found.add(index)
    return {path_at(old, index) for index in found} or None


def static_ints(piece: Piece) -> set[Any]:
    """Paths of the ints whose value is part of the key of a piece."""
    parts = [(path, piece.key[first + 1]) for first, path in piece.where if first + 1 < len(piece.key)]
    return {path for path, part in parts if isinstance(part, tuple) and len(part) == 2 and part[0] is int}


def _is_number(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) == 2 and part[0] in (int, float)
