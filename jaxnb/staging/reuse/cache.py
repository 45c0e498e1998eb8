"""The programs of a cell, which of them serves a run, and in words why none did (SEMANTICS, rule 10)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jaxnb.errors import KeepsTraced, RunByPython
from jaxnb.program import Finding
from jaxnb.staging.cells.blocks import Opened
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.objects.graph import Reached, Scan
from jaxnb.staging.objects.paths import CONTENT, FLOAT, INT, NUMPY, Choices, Path
from jaxnb.staging.reuse.changes import explain_change, path_at
from jaxnb.staging.reuse.guards import Guard, make_guard
from jaxnb.staging.reuse.left import Left
from jaxnb.staging.trace.moves import moved_by_python
from jaxnb.staging.trace.piece import Piece, Plan

__all__ = ["CodeRecord", "explain_change", "find_piece", "static_ints", "static_numbers", "with_other_numbers"]

_MADE_AT_MOST = 256

_IN_LOOP_AT_MOST = 64
"""So many programs are kept of a piece in a block of a loop, unless more are asked for: one that never comes to rest
would keep all that it ever made."""


_SET_ASIDE_AT_MOST = 8

_SIZES_AT_MOST = 64
"""So many sizes stay compiled of a program for all sizes, unless more are asked for."""


@dataclass(frozen=True, slots=True)
class _Given:
    """How a statement was given to Python."""

    on_host: tuple[int, str]
    reached: dict[str, Any]
    needed: Finding | None
    opened: Opened | None


@dataclass(slots=True)
class CodeRecord:
    """What is kept of one cell's code under one set of options.

    Attributes:
      pieces: the programs, the most recently used last.
      choices: which leaves are static or dynamic by decision.
      general: those for all sizes, where sizes have names; they are never run themselves.
      breaks: statements at which a piece must end.
      forced: names whose value at entry is read, though the cell binds them too.
      never_dynamic: scalars that turned out to be needed as values.
      in_vain: those that changed beside something else, and of which a trace has shown that they cannot be inputs.
      last: for each start of a piece, the one that ran last.
      on_host: statements that need values and that Python therefore runs, each with a line and the reason.
      leaving: those of them that leave tracers behind, each with the error of a cell at whose end they are there.
      needed: for each of them, what there is to say about the value that it needs.
      reached: for each of them, the user's code that it reached when it was given to Python.
      set_aside: for each statement that was for Python with what it reached then, and is to be traced with what it
        reaches now, how it was.
      opened: those of them that are taken apart.
      restless: of those whose calls are blocks, whether these had to be traced again last time.
      traced_alone: of those of which a function was taken apart, the last run in which it was traced again though
        only the cell had changed anything.
      tired: those of them of which nothing is traced any more.
      idle: those of them that computed nothing in the last run.
      blocks: what is kept of the code inside these, by statement and fingerprint of the block.
      made: hashes of the keys of the last programs, dropped ones among them, and how many were made of each.
      runs: how often the cell ran.
      in_loop: whether the code is a block inside a statement, of which one run may need many programs by turns.
      left: what the last run left of what the cell reads, if it traced anything; None otherwise.
      differed: for each start of a piece, what Python had changed since the run before, and in which run.
      changed: in which run a number that the cell computes was found to be another than before.
      is_ending: whether Python is to run what no program is there for.
      is_done: whether it has.
    """

    choices: Choices = field(default_factory=Choices)
    pieces: list[Piece] = field(default_factory=list[Piece])
    general: list[Piece] = field(default_factory=list[Piece])
    breaks: set[int] = field(default_factory=set[int])
    forced: set[str] = field(default_factory=set[str])
    never_dynamic: set[Any] = field(default_factory=set[Any])
    in_vain: set[Any] = field(default_factory=set[Any])
    last: dict[int, Piece] = field(default_factory=dict[int, Piece])
    on_host: dict[int, tuple[int, str]] = field(default_factory=dict[int, tuple[int, str]])
    leaving: dict[int, KeepsTraced] = field(default_factory=dict[int, KeepsTraced])
    needed: dict[int, Finding] = field(default_factory=dict[int, Finding])
    reached: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    set_aside: dict[int, list[_Given]] = field(default_factory=lambda: {})
    opened: dict[int, Opened] = field(default_factory=dict[int, Opened])
    restless: dict[int, bool] = field(default_factory=dict[int, bool])
    traced_alone: dict[int, int] = field(default_factory=dict[int, int])
    tired: set[int] = field(default_factory=set[int])
    idle: set[int] = field(default_factory=set[int])
    blocks: dict[tuple[int, bytes], CodeRecord] = field(default_factory=lambda: {})
    made: dict[int | None, int] = field(default_factory=lambda: {})
    runs: int = 0
    in_loop: bool = False
    left: Left | None = None
    differed: dict[int, tuple[int, set[Path]]] = field(default_factory=lambda: {})
    changed: dict[Path, int] = field(default_factory=dict[Path, int])
    is_ending: bool = False
    is_done: bool = False

    def give_to_python(self, index: int, line: int, reason: str, reached: dict[str, Any]) -> None:
        """From now on Python runs this statement."""
        self.on_host[index], self.reached[index] = (line, reason), reached
        self.breaks.update((index, index + 1))

    def open(self, index: int, opened: Opened) -> None:
        """Python runs this statement taken apart; of other blocks nothing is kept, but those of what was set aside."""
        self.opened[index] = opened
        apart = [opened, *(given.opened for given in self.set_aside.get(index, []) if given.opened is not None)]
        known = {block.digest for each in apart for block in each.blocks}
        for key in [key for key in self.blocks if key[0] == index and key[1] not in known]:
            del self.blocks[key]

    def enter(self, index: int, block: CellSource) -> CodeRecord:
        """What is kept of a block that is about to run."""
        if (index, block.digest) not in self.blocks:
            choices = self.choices.copy()
            choices.needed_at.clear()  # statements of the code around, which are others in the block
            self.blocks[index, block.digest] = CodeRecord(choices=choices, in_loop=True)
        return self.blocks[index, block.digest]

    def within(self, index: int, block: CellSource) -> CodeRecord:
        """What is kept of a block of a statement; nothing of one that has not run."""
        return self.blocks.get((index, block.digest)) or CodeRecord()

    def take_back(self, index: int) -> None:
        """The statement is to be traced again."""
        self._forget(index)
        for key in [key for key in self.blocks if key[0] == index]:
            del self.blocks[key]

    def _forget(self, index: int) -> None:
        for kept in (self.on_host, self.leaving, self.needed, self.reached, self.opened):
            kept.pop(index, None)
        self.breaks -= {index, index + 1}

    def may_be_for_python(self, index: int) -> bool:
        """Whether a statement is for Python, or was with other functions or classes that it reached."""
        return index in self.on_host or index in self.set_aside

    def is_for_python(self, index: int, reached: dict[str, Any]) -> bool:
        """Whether a statement is for Python, and no function or class that it reaches has changed since.

        What is called may be another function by turns: that one of them needs Python is remembered.
        """
        if index in self.on_host:
            before = self.reached[index]
            if not any(before.get(name, mark) != mark for name, mark in reached.items()):
                return True
            given = _Given(self.on_host[index], before, self.needed.get(index), self.opened.get(index))
            self.set_aside[index] = [given, *self.set_aside.get(index, [])][:_SET_ASIDE_AT_MOST]
            self._forget(index)
        known = next((given for given in self.set_aside.get(index, []) if given.reached == reached), None)
        if known is None:
            return False
        self.set_aside[index].remove(known)
        self.give_to_python(index, *known.on_host, known.reached)
        if known.needed is not None:
            self.needed[index] = known.needed
        if known.opened is not None:
            self.opened[index] = known.opened
        return True

    def rest(self, index: int, traced: bool) -> None:
        """Takes down whether calls of a statement, which are blocks, were traced, though only the cell had changed what
        they read; twice in a row means each time: then they are Python's from now on, as the statement is. So are calls
        that compute nothing."""
        self.restless[index] = traced and index in self.restless
        programs = [piece for inner in self._calls_of(index) for piece in inner.pieces]
        idle = bool(programs) and not any(piece.jaxpr.eqns for piece in programs)
        if idle or any(inner.is_done for inner in self._calls_of(index)):
            del self.opened[index], self.restless[index]
        for inner in self._calls_of(index):
            inner.is_ending = self.restless.get(index, False)

    def spare(self, index: int, run: int, alone: bool) -> None:
        """Before Python runs a statement of which a function was taken apart: what was traced in the last run, though
        only the cell had changed what it reads, would be in each. Python runs what no program is there for then, until
        somebody else changes something.

        Args:
          index: of the statement.
          run: the number of the cell's run.
          alone: whether only the cell has changed anything since the last one.
        """
        if not alone:
            self.tired.discard(index)
        elif self.traced_alone.get(index) == run - 1:
            self.tired.add(index)
        for inner in self._within(index):
            inner.is_ending = index in self.tired

    def note_run(self, index: int, run: int, alone: bool, traced: bool) -> None:
        """Takes down whether blocks of such a function were traced in a run. One that computes nothing in two runs is
        Python's: in the first it may have begun with nothing, such as an average that is None."""
        if traced and alone:
            self.traced_alone[index] = run
        if not traced and index not in self.idle:
            return
        if any(piece.jaxpr.eqns for inner in self._within(index) for piece in inner.pieces):
            self.idle.discard(index)
        elif index in self.idle:
            self.idle.discard(index)
            self.opened.pop(index, None)
        else:
            self.idle.add(index)

    def _within(self, index: int) -> Iterator[CodeRecord]:
        for inner in self._calls_of(index):
            yield inner
            for outer in {outer for outer, _ in inner.blocks}:
                yield from inner._within(outer)

    def _calls_of(self, index: int) -> list[CodeRecord]:
        return [inner for (outer, _), inner in self.blocks.items() if outer == index]

    def end(self) -> bool:
        """Whether Python runs what no program is there for; it will run it from now on."""
        self.is_done = self.is_ending
        return self.is_ending

    def changed_before(self, numbers: set[Path]) -> bool:
        """Whether these numbers, which the cell computes, had changed in the last run, too; that is noted."""
        before = all(self.changed.get(path) == self.runs - 1 for path in numbers)
        self.changed.update(dict.fromkeys(numbers, self.runs))
        return before

    def answered_enough(self, start: int, namespace: dict[str, Any], device: Any) -> Piece | None:
        """A program that the next run would be served by but for its answers to what functions ask of numbers, if more
        than enough were made that differ in these alone.

        Args:
          start: of the piece.
          namespace: where it would run.
          device: likewise.
        """
        asking = [piece for piece in self.starting_at(start) if piece.asks]
        often = [piece for piece in asking if self.made.get(_mark(piece), 0) >= _ANSWERS_AT_MOST]
        if not often:
            return None
        try:
            key = (device, *often[0].plan.scan(namespace, self.choices).parts)
        except RunByPython:  # a trace will say which statement that is for
            return None
        return next((piece for piece in often if piece.key == key), None)

    def starting_at(self, start: int) -> list[Piece]:
        """The pieces that begin there, the most recently used first."""
        return [piece for piece in reversed(self.pieces) if piece.plan.start == start]

    def moved_again(
        self,
        start: int,
        run: int,
        before: Mapping[Path, tuple[Any, ...]],
        now: Mapping[Path, tuple[Any, ...]],
        begun: Mapping[Path, tuple[Any, ...]] | None = None,
    ) -> set[Path]:
        """What other statements have changed of what the piece there reads, and will again, see `moved_by_python`.

        Args:
          start: of the piece.
          run: the number of the cell's run.
          before: the parts of the key of the piece that was used before.
          now: those of this one.
          begun: those of what the cell reads, when this run began; None in a loop.
        """
        last, differed = self.differed.get(start, (-2, set[Path]()))
        differed = differed if last == run - 1 else ()
        again, differs = moved_by_python(before, now, now if begun is None else begun, differed)
        self.differed[start] = run, differs
        return again

    def last_around(self, plan: Plan, run: int) -> Piece | None:
        """The piece of these statements that was used last, or else one of the last run (`run`) that had more of them,
        or the first part of them."""
        same = self.last.get(plan.start)
        if same is not None and same.plan.stop == plan.stop:
            return same
        more = [item for item in self.last.values() if item.plan.start <= plan.start and plan.stop <= item.plan.stop]
        around = min((item for item in more if item.used == run), key=lambda item: len(item.plan.names), default=None)
        return same if around is None and same is not None and same.used == run else around

    def use(self, piece: Piece, limit: int, run: int = 0) -> None:
        """Marks a piece as the one used last, and drops the oldest beyond the limit.

        Args:
          piece: what ran.
          limit: how many are kept.
          run: the number of the cell's run.
        """
        start = piece.plan.start
        self.last[start] = piece
        piece.note_use(run)
        self.pieces[:] = [other for other in self.pieces if other is not piece]
        self.pieces.append(piece)
        self._drop(self.starting_at(start), limit, run)

    def trim(self, limit: int, run: int = 0) -> None:
        """Drops the oldest programs of each piece beyond the limit; `run` is the number of the cell's next run."""
        for start in {piece.plan.start for piece in self.pieces}:
            self._drop(self.starting_at(start), limit, run)

    def _drop(self, same: list[Piece], limit: int, run: int) -> None:
        """Drops the oldest of a piece's programs (`same`, the last used first) beyond the limit.

        The turns of a loop would push out one another, and every run of it would be traced: there, what this run and
        the last have used stays, up to a bound.
        """
        if self.general:
            limit = max(limit, _SIZES_AT_MOST)
        if self.in_loop and len(same) > limit:
            limit = max(limit, min(_IN_LOOP_AT_MOST, sum(piece.used >= run - 1 for piece in same)))
        if old := same[limit:]:
            self.pieces[:] = [piece for piece in self.pieces if not any(piece is other for other in old)]

    def keep_general(self, piece: Piece, limit: int) -> None:
        """Keeps a program for all sizes, and drops the oldest beyond the limit."""
        self.general = [*self.general, piece][-limit:]

    def made_before(self, piece: Piece) -> bool:
        """Whether there was a program of this key, which has been dropped since; from now on there was."""
        mark = _mark(piece)
        if mark is None:
            return False
        before = self.made.get(mark, 0)
        self.made[mark] = before + 1
        if len(self.made) > _MADE_AT_MOST:
            del self.made[next(iter(self.made))]
        return before > 0


def _mark(piece: Piece) -> int | None:
    """A number for the key of a piece; None where it has no hash."""
    try:
        return hash((piece.plan.start, piece.key, piece.context))
    except Exception:  # a static value of the user's need not have a hash, and its own may raise anything
        return None


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
            try:
                scan = plan.scan(namespace, record.choices)
            except RunByPython:  # what is there now cannot be part of a program: a trace will say which statement it is
                return None
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
_ANSWERS_AT_MOST = 6
"""While a training warms up its steps decide otherwise one after the other, and then by turns between few ways."""

_PARTS_AT_MOST = 20_000
"""Beyond this, writing the walk down takes longer than it will ever save."""


def _write_guard(record: CodeRecord, piece: Piece, namespace: dict[str, Any]) -> None:
    """After some reuse, writes the walk down; again where the guard no longer fits, but not for ever."""
    piece.note_scan()
    if len(piece.key) > _PARTS_AT_MOST:
        return
    if VERIFY or _SCANS_BEFORE_GUARD < piece.scanned <= _SCANS_BEFORE_GUARD + _GUARDS_AT_MOST:
        guard = make_guard(piece.plan, namespace, record.choices)
        if VERIFY and guard is not None:
            guard = _verified(guard, piece, record.choices.copy())
        piece.guard_by(guard)


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


def with_other_numbers(
    record: CodeRecord, pieces: Iterable[Piece], namespace: dict[str, Any], device: Any
) -> tuple[Piece, set[Any]] | None:
    """The first of these pieces from whose key only static numbers differ now, and their paths; None if none is so."""
    plan: Plan | None = None
    key: tuple[Any, ...] = ()
    for piece in pieces:
        if piece.reasons:
            continue
        if piece.plan is not plan:
            plan = piece.plan
            try:
                key = (device, *plan.scan(namespace, record.choices).parts)
            except RunByPython:  # a trace will say which statement that is for
                return None
        if paths := _scalars_that_changed(piece, key):
            return piece, paths
    return None


def _scalars_that_changed(old: Piece, key: tuple[Any, ...]) -> set[Any] | None:
    """Paths of the static numbers, of Python or NumPy, that differ between two keys, if nothing else does.

    Others may have become inputs, for another piece of the cell.
    """
    if len(old.key) != len(key):
        return None
    found: set[int] = set()
    for index, (a, b) in enumerate(zip(old.key, key, strict=True)):
        kind = _number_kind(a)
        if a == b or (kind is not None and (b is _INPUTS.get(kind) or b == (NUMPY, kind, *a[2:4]))):
            continue
        if kind is None or _number_kind(b) is not kind:
            return None
        found.add(index)
    return {path_at(old, index) for index in found} or None


def static_ints(piece: Piece) -> set[Any]:
    """Paths of the ints whose value is part of the key of a piece."""
    parts = [(path, piece.key[first + 1]) for first, path in piece.where if first + 1 < len(piece.key)]
    return {path for path, part in parts if isinstance(part, tuple) and len(part) == 2 and part[0] is int}


def static_numbers(piece: Piece) -> set[Any]:
    """The same of ints and floats of Python."""
    parts = [(path, piece.key[first + 1]) for first, path in piece.where if first + 1 < len(piece.key)]
    return {path for path, part in parts if _number_kind(part) in _INPUTS}


def _number_kind(part: Any) -> type | None:
    """Of which class the number is that a part of a key holds with its value; None if it is none."""
    if not isinstance(part, tuple) or len(part) < 2:
        return None
    if part[0] is CONTENT:
        return part[1] if isinstance(part[1], type) and issubclass(part[1], np.generic) else None
    return part[0] if len(part) == 2 and part[0] in _INPUTS else None


_INPUTS: dict[type, Any] = {int: INT, float: FLOAT}
