"""One run of a cell while it goes on: what it was begun with, and what has come of it so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from jaxnb import _jax
from jaxnb.errors import Asking
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Fix, Span, attach, finding_of
from jaxnb.runtime import call_watchers
from jaxnb.staging import levels
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.journal import Journal, restore_names
from jaxnb.staging.objects.paths import Path, root_name
from jaxnb.staging.reuse.cache import CodeRecord
from jaxnb.staging.reuse.history import Change
from jaxnb.staging.reuse.left import SinceLast
from jaxnb.staging.session.dispatch import Deleted
from jaxnb.staging.session.left_tracers import LeftTracers
from jaxnb.staging.session.strategy import HERE, Strategy
from jaxnb.staging.session.turn_count import TurnCount
from jaxnb.staging.trace.assigned import NameLog
from jaxnb.staging.trace.donation import DonationLog
from jaxnb.staging.trace.gradient import DerivativeSpec, asked_for
from jaxnb.staging.trace.piece import Piece
from jaxnb.staging.trace.reasons import line_reading
from jaxnb.staging.trace.turns import BUDGET

__all__ = ["Execution", "Progress", "Ran", "line_of_name"]

Progress = Callable[[str], None]


class Ran(NamedTuple):
    """A piece that ran: of which cell or block, with the inputs and results of its last turn."""

    cell: CellSource
    piece: Piece
    reached: Reached
    outputs: list[Any]

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of the piece."""
        return self.piece.plan.statements_of(self.cell)


@dataclass(eq=False)
class Execution:
    """One run of a cell, as far as it has come.

    Attributes:
      cell: what is run.
      namespace: the globals that it runs in.
      options: of this run.
      record: what is kept of the cell's code.
      device: where the programs run, or None.
      lost: what was donated, and where.
      label: what the user knows a file by; "" leaves it unsaid.
      explain: says of a value that was asked for what there is to say.
      cache_size: how many programs are kept for each piece; in a loop, all of the last run.
      progress: called with what is going on.
      before_host: called before Python runs a statement, which may print.
      names: makes what takes down the names that traced statements assign; None takes down none.
      strategy: how the programs are run.
      look: called with each piece when it was traced and is not compiled yet: the cell or block, the piece, the names.
      asked: the derivative that is asked for.
      last_loss: the last statement that binds what is differentiated.
      context: JAX's settings that a trace depends on, as they are now.
      journal: how what Python does is undone.
      ran: the pieces that ran, by id.
      at: the piece that was compiled or dispatched last, unless Python has run something since.
      held: what `--time` and `--nans` run again, by the id of the piece.
      traced: the pieces that were traced in this run.
      sized: those of a program for all sizes that were only compiled in this run.
      changes: why, where there were programs before.
      host_lines: the lines that Python ran.
      findings: what the run itself has to say.
      trace_seconds, dispatch_seconds, host_seconds: how long tracing took, dispatching, and what Python ran.
      transferred: bytes that were moved to the device.
      donated: bytes that were given up to results.
      value: what the last line is.
      turns: of loops whose body is staged once.
      depth: in how many statements that are taken apart the run stands.
      called: the statement of which a function runs that was taken apart.
      turning: the names that the loops around count.
      in_doubt: statements that raised while they were traced, and were given to Python for that.
      for_once: programs that only this run may use.
      left: tracers that statements leave behind.
      since: what has changed since the last run.
      deleted: which input of a piece had no buffer any more, so that Python ran it.
      watchers: who was told of calls when the run began.
      bound_then: what a key would have of the names that the cell binds: ints, and how long containers were.
    """

    cell: CellSource
    namespace: dict[str, Any]
    options: StageOptions
    record: CodeRecord
    device: Any = None
    lost: DonationLog = field(default_factory=lambda: DonationLog(str))
    label: Callable[[str], str] = lambda _: ""
    explain: Callable[[Asking, CellSource], Finding | None] = lambda asking, cell: None
    cache_size: int = 4
    progress: Progress = lambda _: None
    before_host: Callable[[], None] = lambda: None
    names: Callable[[], NameLog] | None = None
    strategy: Strategy = HERE
    look: Callable[[CellSource, Piece, dict[str, Any]], None] = lambda cell, piece, namespace: None

    asked: DerivativeSpec | None = field(init=False)
    last_loss: int = field(init=False)
    context: tuple[Any, ...] = field(init=False)
    journal: Journal = field(init=False, default_factory=Journal)
    ran: dict[int, Ran] = field(init=False, default_factory=dict[int, Ran])
    at: Piece | None = field(init=False, default=None)
    held: dict[int, levels.Held] = field(init=False, default_factory=lambda: {})
    traced: list[Piece] = field(init=False, default_factory=list[Piece])
    sized: list[Piece] = field(init=False, default_factory=list[Piece])
    changes: list[Change] = field(init=False, default_factory=list[Change])
    host_lines: set[int] = field(init=False, default_factory=set[int])
    findings: list[Finding] = field(init=False, default_factory=list[Finding])
    trace_seconds: float = field(init=False, default=0.0)
    dispatch_seconds: float = field(init=False, default=0.0)
    host_seconds: float = field(init=False, default=0.0)
    transferred: int = field(init=False, default=0)
    donated: int = field(init=False, default=0)
    value: Any = field(init=False, default=None)
    turns: TurnCount = field(init=False, default_factory=TurnCount)
    depth: int = field(init=False, default=0)
    called: Span | None = field(init=False, default=None)
    turning: frozenset[str] = field(init=False, default=frozenset())
    in_doubt: list[tuple[CodeRecord, int]] = field(init=False, default_factory=lambda: [])
    for_once: list[tuple[CodeRecord, Piece]] = field(init=False, default_factory=lambda: [])
    left: LeftTracers = field(init=False, default_factory=LeftTracers)
    since: SinceLast = field(init=False, default_factory=lambda: SinceLast(None, None))
    deleted: Deleted | None = field(init=False, default=None)
    watchers: tuple[Any, ...] = field(init=False, default_factory=call_watchers)

    bound_then: dict[Path, tuple[Any, ...]] = field(init=False)

    def __post_init__(self) -> None:
        _jax.settle()
        held = ((name, self.namespace.get(name)) for name in self.cell.binds)
        parts = ((name, _part_of(value)) for name, value in held)
        self.bound_then = {(None, "name", name): (part,) for name, part in parts if part is not None}
        self.asked = asked_for(self.options, self.cell)
        binding = (n for n, item in enumerate(self.cell.statements) if self.options.loss in item.names.binds)
        self.last_loss = max(binding, default=0)
        self.context = _jax.trace_context()

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces that ran, each once."""
        return tuple(ran.piece for ran in self.ran.values())

    @property
    def budget(self) -> int | None:
        """How many equations a loop may be written out to; None for any number."""
        return None if self.options.unroll else 0 if self.options.roll else BUDGET

    @property
    def runs_plainly(self) -> bool:
        """Whether JAX is to look into the results of each operation: a program of many has none in between."""
        return bool(_jax.value_checks()) and self.asked is None and not self.options.whole

    @property
    def is_watched(self) -> bool:
        """Whether the cell has set a profiler or a tracer, which is told of calls: a reused program has none."""
        staged_only = self.asked is not None or self.options.whole or self.options.xmap is not None
        return call_watchers() != self.watchers and not staged_only

    def staged(self) -> dict[Span, int]:
        """The number of the piece that each staged statement belongs to."""
        return {
            statement.span: number
            for number, ran in enumerate(self.ran.values(), start=1)
            if ran.cell.filename == self.cell.filename
            for statement in ran.statements
        }

    def undo(self, entry: dict[str, Any]) -> bool:
        """Puts names and objects back as they were before the run, unless arrays among them are gone.

        What code of the cell has donated cannot be put back. Then nothing is: what the cell has done until it failed
        stays, as without staging, and the new values are not lost with the old ones.

        Statements that raised while they were traced, and were given to Python for that, are traced again next time:
        the plain cell raises, too, and when it no longer does they may well be traced.

        Args:
          entry: the names before the run.

        Returns:
          whether everything was put back.
        """
        for record, index in self.in_doubt:
            record.take_back(index)
        if self._is_given_away(entry):
            return False
        self.journal.undo()
        restore_names(self.namespace, entry)
        return True

    def _is_given_away(self, entry: dict[str, Any]) -> bool:
        """Whether an array that would be put back was deleted by code of the cell, and not for `--donate`."""
        rebound = [item for name, item in entry.items() if self.namespace.get(name) is not item]
        gone = set(map(id, self.journal.deleted(rebound)))
        donated = {id(ran.reached.leaves[index]) for ran in self.ran.values() for index in ran.piece.donation.leaves}
        return bool(gone - donated)

    def unbind_lost(self, error: BaseException | None = None) -> None:
        """Unbinds the names whose arrays were given up to a run that then failed, or that did not keep the results."""
        for cell, piece, reached, _ in self.ran.values():
            names: set[str] = set()
            for index in piece.donation.leaves:
                name = root_name(reached.paths[index])
                if name is not None and name in self.namespace and reached.leaves[index].is_deleted():
                    names.add(name)
            for name in sorted(names):
                del self.namespace[name]
                self.lost.name(name, cell.filename, line_of_name(cell, piece, name))
            if names and error is not None:
                error.add_note(f"{', '.join(sorted(names))} was donated to this run before it failed: make it again.")

    def explain_deleted(self, error: BaseException) -> None:
        """Says at an error that JAX raises of a buffer that is gone whose it was, and what to do.

        The class is JAX's, and so are the words that `str` gives: a notebook may tell errors by them.
        """
        if self.deleted is not None and isinstance(error, RuntimeError | ValueError) and "deleted" in str(error):
            known, deleted = finding_of(error), self.deleted
            if known is None or known[0].kind == "error":
                line = known[0].line if known is not None else None
                message = f"{deleted.what} {deleted.why[:1].upper()}{deleted.why[1:]}"
                attach(error, Finding("deleted", message, line, fix=Fix(deleted.fix)), self.cell.shown)
        elif (reason := self.lost.explain(error)) is not None:
            error.add_note(reason)


def _part_of(value: Any) -> tuple[Any, ...] | None:
    """What a key has of a value itself, for a few kinds of them."""
    if type(value) is int:
        return int, value
    return (type(value), len(value)) if type(value) in (list, tuple, set) else None


def line_of_name(cell: CellSource, piece: Piece, name: str) -> int:
    """The line of the first statement of a piece that reads a name."""
    statements = piece.plan.statements_of(cell) or cell.statements
    return line_reading(statements, name) or statements[0].span.line
