"""One run of a cell, from its first statement to its last binding.

A stretch of statements that compute with JAX is a *piece*: its program is looked up or traced, dispatched at once
without waiting, and its results are bound. Every other statement is run by Python in between, on the real values. A
statement that turns out to need a value is given to Python, too; if it is a loop or a branch, it is taken apart, and
the pieces inside it are staged once and reused in each turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import jax

from jaxnb import _jax
from jaxnb._jax import forget_failed
from jaxnb.errors import Asking, NeedsConcrete, Refused, RunByPython
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Span
from jaxnb.runtime import Undo
from jaxnb.staging import levels
from jaxnb.staging.cells.blocks import COMPOUND, ROLLED, RUNNER, TURNED, open_statement
from jaxnb.staging.cells.cell import CellSource, Statement, names_changed
from jaxnb.staging.cells.effects import code_marks, may_mutate
from jaxnb.staging.cells.reach import functions_reached
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.instances import MOVES_ON
from jaxnb.staging.objects.journal import Journal, restore_names
from jaxnb.staging.objects.paths import Choices, render_path, root_name
from jaxnb.staging.objects.slots import Slots
from jaxnb.staging.reuse.cache import CodeRecord, find_piece, static_ints, with_other_numbers
from jaxnb.staging.reuse.changes import (
    by_path,
    find_changes,
    line_of,
    nearest,
    parts_by_path,
    place_of,
    who_reads,
)
from jaxnb.staging.reuse.history import Change
from jaxnb.staging.reuse.left import Left, SinceLast
from jaxnb.staging.session.choices import apply_options
from jaxnb.staging.session.dispatch import Deleted, check_deleted, compile_piece, dispatch, is_out_of_memory
from jaxnb.staging.session.plan import find_stop, make_plan, runs_on_host, why_python
from jaxnb.staging.session.tracebacks import let_go
from jaxnb.staging.session.turn_count import TurnCount
from jaxnb.staging.trace.assigned import NameLog
from jaxnb.staging.trace.devices import move
from jaxnb.staging.trace.donation import Lost, check_donation
from jaxnb.staging.trace.functions import call_blocks, open_called, opened_again
from jaxnb.staging.trace.gradient import Asked, asked_for, refuse_detour
from jaxnb.staging.trace.moves import evolving
from jaxnb.staging.trace.operands import open_operands
from jaxnb.staging.trace.piece import Piece, Plan
from jaxnb.staging.trace.reasons import line_reading, reason_text, statement_of
from jaxnb.staging.trace.stage import Failed, MissingName, StopAt, trace_piece
from jaxnb.staging.trace.turns import BUDGET

__all__ = ["Progress", "Runner"]

Progress = Callable[[str], None]


class _Escape(BaseException):
    """Carries a refusal out of the `except` clauses of a statement that Python runs."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused


class Ran(NamedTuple):
    """A piece that ran: of which cell or block, with the inputs and results of its last turn."""

    cell: CellSource
    piece: Piece
    reached: Reached
    outputs: list[Any]


class Runner:
    """The state of one run, and how it goes on.

    Args:
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
      names: makes what takes down the names that traced statements assign; None takes down none.
      before_host: called before Python runs a statement, which may print.
      look: called with each piece when it was traced and is not compiled yet: the cell or block, the piece, the names.
    """

    def __init__(
        self,
        cell: CellSource,
        namespace: dict[str, Any],
        options: StageOptions,
        record: CodeRecord,
        *,
        device: Any = None,
        lost: Lost | None = None,
        label: Callable[[str], str] = lambda _: "",
        explain: Callable[[Asking, CellSource], Finding | None] = lambda asking, cell: None,
        cache_size: int = 4,
        progress: Progress = lambda _: None,
        before_host: Callable[[], None] = lambda: None,
        names: Callable[[], NameLog] | None = None,
        look: Callable[[CellSource, Piece, dict[str, Any]], None] = lambda cell, piece, namespace: None,
    ) -> None:
        self.cell, self.namespace, self.options, self.record = cell, namespace, options, record
        self.device, self.cache_size = device, cache_size
        self.lost = lost if lost is not None else Lost(str)
        self.label, self.explain, self.look = label, explain, look
        self.progress, self.before_host, self.names = progress, before_host, names
        _jax.settle()
        self.asked = asked_for(options, cell)
        self._last_loss = max(
            (n for n, item in enumerate(cell.statements) if options.loss in item.names.binds), default=0
        )
        self.context: tuple[Any, ...] = _jax.trace_context()
        self.journal = Journal()
        self.ran: dict[int, Ran] = {}
        self.at: Piece | None = None  # compiled or dispatched last, unless Python has run something since
        self.held: dict[int, levels.Held] = {}  # what `--time` and `--nans` run again
        self.traced: list[Piece] = []
        self.changes: list[Change] = []
        self.host_lines: set[int] = set()
        self.findings: list[Finding] = []
        self.trace_seconds = self.dispatch_seconds = self.host_seconds = 0.0
        self.transferred = self.donated = 0
        self.value: Any = None
        self.turns = TurnCount()
        self._depth = 0
        self._called: Span | None = None  # the statement of which a function runs that was taken apart
        self._turning: frozenset[str] = frozenset()
        self._budget = None if options.unroll else 0 if options.roll else BUDGET
        self._in_doubt: list[tuple[CodeRecord, int]] = []
        self._for_once: list[tuple[CodeRecord, Piece]] = []
        self._since = SinceLast(None, None)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The pieces that ran, each once."""
        return tuple(ran.piece for ran in self.ran.values())

    def run(self) -> None:
        """Runs the statements of the cell.

        Raises:
          Refused: if one can be neither staged nor given to Python.
          Exception: what the cell raises.
        """
        __tracebackhide__ = True
        ended, self.record.left = self.record.left, None
        self._since = SinceLast(ended, self._left() if ended is not None else None)
        self._block(self.cell, self.record)
        forget_failed()
        self.record.left = self._left() if self.traced and not self.options.whole else None
        for record, piece in self._for_once:
            record.pieces[:] = [other for other in record.pieces if other is not piece]
        if self.asked is not None and not any(piece.derivative for piece in self.pieces):
            line, why = self.record.on_host.get(self._last_loss, (None, ""))
            raise Refused(
                f"`{self.asked.loss}` is not computed by a compiled program, and so has no derivative.",
                why=f"line {line} on the host: {why}." if line else "Python runs the statement that binds it.",
                fix="" if line else f"compute it from arrays: {self.asked.wrt[0]} = jnp.asarray({self.asked.wrt[0]}).",
                line=line,
            )

    def staged(self) -> dict[Span, int]:
        """The number of the piece that each staged statement belongs to."""
        return {
            statement.span: number
            for number, ran in enumerate(self.ran.values(), start=1)
            if ran.cell.filename == self.cell.filename
            for statement in ran.cell.statements[ran.piece.plan.start : ran.piece.plan.stop]
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
        for record, index in self._in_doubt:
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

    # --- statements ---

    def _block(self, cell: CellSource, record: CodeRecord) -> None:
        __tracebackhide__ = True
        self.context = _jax.trace_context()
        index, statements = 0, cell.statements
        while index < len(statements):
            if record.may_be_for_python(index) and record.is_for_python(index, self._marks(statements[index])):
                self._by_python(cell, record, index)
                index += 1
                continue
            found = find_piece(record, index, self.namespace, self.context, self.device)
            if found is None:
                if self.is_for_host(statements[index]) or record.end():
                    self.run_on_host(statements[index])
                    index += 1
                    continue
                found = self._new_piece(cell, record, index)
                if found is None:
                    continue
            piece, reached = found
            if self.options.whole and self.ran and id(piece) not in self.ran:
                line = max(self.host_lines)
                raise Refused(
                    f"the cell would be compiled in two pieces: Python runs line {line} in between.",
                    why="--whole asks for a single program.",
                    fix="move that line above or below the statements that compute, or leave --whole out.",
                    line=line,
                )
            try:
                self._run_piece(cell, record, piece, reached)
            except Deleted as deleted:
                self._with_deleted(cell, piece, deleted)
                record.use(piece, self.cache_size, self.record.runs)  # it need not be traced again to find that out
            index = piece.plan.stop

    def _with_deleted(self, cell: CellSource, piece: Piece, deleted: Deleted) -> None:
        """Python runs the statements of a piece: they may catch what JAX raises, or read nothing but a shape.

        Raises:
          Deleted: if they need what is gone.
        """
        __tracebackhide__ = True
        if self.options.whole or self.asked is not None or self.options.xmap is not None or piece.donation.leaves:
            raise deleted
        try:
            for statement in _statements(cell, piece):
                self.run_on_host(statement)
        except (RuntimeError, ValueError) as error:  # which of them depends on what JAX has compiled by then
            if "deleted" in str(error):
                raise deleted from None
            raise

    def is_for_host(self, statement: Statement, makes: bool = True) -> bool:
        """Whether Python runs a statement before anything is traced; a map over names always is a program.

        Args:
          statement: which one.
          makes: whether it runs those that only make arrays, too.
        """
        if self.options.xmap is not None:
            return False
        return self.runs_plainly or runs_on_host(statement, self.namespace, makes=makes)

    @property
    def runs_plainly(self) -> bool:
        """Whether JAX is to look into the results of each operation: a program of many has none in between."""
        return bool(_jax.value_checks()) and self.asked is None and not self.options.whole

    def run_on_host(self, statement: Statement) -> None:
        """Python runs a statement itself, with the real values."""
        __tracebackhide__ = True
        if not statement.defines:
            self._protect(statement)
        if "config" in statement.names.attributes | statement.names.reads:
            self.journal.on_undo(partial(_jax.restore_config, _jax.config_values()))
        self._python(statement, statement.code)
        self.context = _jax.trace_context()  # it may have changed jax.config

    def _marks(self, statement: Statement) -> dict[str, Any]:
        return code_marks(statement.names, self.namespace)

    def _protect(self, statement: Statement) -> None:
        """Saves what a statement may change, unless it stands in one for which that was done."""
        if not self._depth and may_mutate(statement.names, self.namespace):
            self.journal.protect_read(statement.names, self.namespace)

    def _python(self, statement: Statement, code: Any, before: Any = None) -> None:
        __tracebackhide__ = True
        self.host_lines.add((self._called or statement.span).line)
        self.before_host()
        self.at = None
        start = perf_counter()
        if before is not None:
            exec(before, self.namespace)
        if statement.trailing:
            self.value = eval(code, self.namespace)
        else:
            exec(code, self.namespace)
        self.host_seconds += perf_counter() - start

    def _by_python(self, cell: CellSource, record: CodeRecord, index: int) -> None:
        """A statement that needs values: as it is, or taken apart."""
        __tracebackhide__ = True
        statement, opened = cell.statements[index], record.opened.get(index)
        if opened is None:
            self.run_on_host(statement)
            return
        reached = functions_reached(statement.names, self.namespace) if opened.functions else []
        if reached and (moved := opened_again(cell, statement, self.namespace, opened, reached)) is not None:
            record.open(index, opened := moved)
        self._protect(statement)
        own = (RUNNER, TURNED)
        outer = [(name, self.namespace[name]) for name in own if name in self.namespace]
        turning, self._turning = self._turning, self._turning | opened.turning
        traced = len(self.traced)
        self._depth += 1

        def block(number: int) -> None:
            __tracebackhide__ = True
            try:
                self._block(opened.blocks[number], record.enter(index, opened.blocks[number]))
            except Refused as refused:
                raise _Escape(refused) from None

        self.namespace[RUNNER], self.namespace[TURNED] = block, self.turns.add
        at, self._called = self._called, self._called or (statement.span if opened.functions else None)
        try:
            with Undo() as undo:
                if opened.functions:
                    record.spare(index, self.record.runs, self._since.alone)
                    call_blocks(opened, reached, self.namespace, block, self.turns.add, undo)
                self._python(statement, opened.code, opened.before)
        except _Escape as escape:
            if self._depth > 1:
                raise
            raise escape.refused from None
        finally:
            self._depth -= 1
            self._called = at
            self.context = _jax.trace_context()  # a block may have been in another one
            self._turning = turning
            for name in (*own, *opened.left):
                self.namespace.pop(name, None)
            self.namespace.update(outer)
        if opened.functions and len(self.traced) > traced:
            record.note_traced(index, self.record.runs, self._since.alone)
        if opened.before is not None:
            record.rest(index, len(self.traced) > traced and bool(self._since.alone or self._depth))

    def _give_to_python(
        self,
        cell: CellSource,
        record: CodeRecord,
        index: int,
        reason: str,
        line: int | None,
        error: RunByPython | Failed | None = None,
    ) -> None:
        """From now on Python runs this statement; a compound one is taken apart, and so is what it calls."""
        statement, line = cell.statements[index], line or cell.statements[index].span.line
        record.give_to_python(index, line, reason, self._marks(statement))
        if statement.kind in COMPOUND:
            record.open(index, open_statement(cell, statement, self._turning))
        elif (opened := open_operands(cell, statement, self.namespace)) is not None:
            record.open(index, opened)
        elif error is not None and (opened := open_called(cell, statement, self.namespace, error.stack)) is not None:
            record.open(index, opened)
            if isinstance(error, RunByPython) and error.rolls:
                record.on_host[index] = line, ROLLED
            elif reason.startswith("it "):
                record.on_host[index] = line, f"{error.stack[0].code.co_name}{reason[2:]}"

    def _not_again(
        self, cell: CellSource, record: CodeRecord, piece: Piece, reasons: Sequence[tuple[int | None, str]]
    ) -> None:
        """What must not be reused would be traced in each turn of a loop, and in each run: from the next one on Python
        runs it."""
        lines = {line: text for line, text in reasons if line is not None}
        every = range(piece.plan.start, piece.plan.stop)
        spans = {index: cell.statements[index].span for index in every}
        blamed = {i: n for i, span in spans.items() for n in lines if span.line <= n <= span.end_line}
        for index in blamed or every:
            line = blamed.get(index, spans[index].line)
            self._give_to_python(cell, record, index, lines.get(line, reasons[0][1]), line)

    # --- pieces ---

    def _run_piece(self, cell: CellSource, record: CodeRecord, piece: Piece, reached: Reached) -> None:
        __tracebackhide__ = True
        if piece.derivative is not None:
            self._refuse_detour(piece.derivative, piece.plan.start)
        if piece.compiled is None or any(item.names.handles_errors for item in _statements(cell, piece)):
            check_deleted(reached, self.lost.where)  # a program leaves out what needs an array for nothing
        arguments = reached.leaves
        if piece.prelude is not None:
            arguments = piece.prelude.arguments(reached.leaves, reached.scalars)
        if self.device is not None:
            arguments, moved = move(arguments, self.device)
            self.transferred += moved
        if piece.compiled is None:
            self._compile(piece)
        given = arguments if piece.placing is None else piece.placing.arguments(arguments)
        if self.options.time or self.options.nans:
            self.held[id(piece)] = levels.hold_inputs(piece, given)
        if piece.donation.leaves:
            self._give_up(cell, piece, reached)
        for function in piece.called_back.functions if piece.called_back is not None else ():
            self.journal.protect(function)
        self.at = piece
        start = perf_counter()
        outputs = dispatch(piece, reached, given, self.lost.where)
        if piece.called_back is not None:
            jax.effects_barrier()  # eagerly a callback has returned before the next statement begins
        if piece.placing is not None:
            outputs = piece.placing.outputs(outputs, arguments, given)
        if piece.prelude is not None:
            outputs = piece.prelude.results(outputs, reached.scalars)
        self.dispatch_seconds += perf_counter() - start
        if piece.gives and id(piece) not in self.held:
            self._delete_given(cell, piece, reached)
        value = piece.template.apply(reached, outputs, self.namespace, self.journal, self.before_host)
        for name in piece.donation.unbound:
            self.namespace.pop(name, None)
            self.lost.name(name, cell.filename, _line_reading(cell, piece, name))
        if piece.template.value is not None:
            self.value = value
        self.ran[id(piece)] = Ran(cell, piece, reached, outputs)
        record.use(piece, self.cache_size, self.record.runs)

    def _give_up(self, cell: CellSource, piece: Piece, reached: Reached) -> None:
        """Before a donating dispatch: nobody else may lose anything, and where the arrays went is remembered."""
        remembered = check_donation(piece.donation, reached, self.namespace)
        if remembered:
            text = f"{', '.join(sorted(remembered))} held what was donated, and is gone with it"
            self.findings.append(Finding("donate", text))
        for index in piece.donation.leaves:
            name = root_name(reached.paths[index]) or ""
            self.lost.array(reached.leaves[index], cell.filename, _line_reading(cell, piece, name))
            self.donated += reached.leaves[index].nbytes

    def _delete_given(self, cell: CellSource, piece: Piece, reached: Reached) -> None:
        """Deletes what functions of the cell have donated, as they do in the plain cell."""
        for index in piece.gives:
            leaf = reached.leaves[index]
            if not leaf.is_deleted():
                name = root_name(reached.paths[index]) or ""
                self.lost.array(leaf, cell.filename, _line_reading(cell, piece, name))
                leaf.delete()

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
                self.lost.name(name, cell.filename, _line_reading(cell, piece, name))
            if names and error is not None:
                error.add_note(f"{', '.join(sorted(names))} was donated to this run before it failed: make it again.")

    def _new_piece(self, cell: CellSource, record: CodeRecord, start: int) -> tuple[Piece, Reached] | None:
        """Traces a piece; None if its first statement is given to Python instead."""
        __tracebackhide__ = True
        talks = why_python(cell.statements[start], self.namespace) if not self.options.whole else None
        if talks is not None:
            self._give_to_python(cell, record, start, talks[1], talks[0])
            return None
        previous = record.last.get(start)
        if (
            previous is not None
            and previous.reasons
            and self._since.alone
            and self.asked is None
            and not self.options.whole
        ):
            self._not_again(cell, record, previous, previous.reasons)
            if start in record.on_host:
                return None
        if (asking := record.answered_enough(start, self.namespace, self.device)) is not None:
            self._answer_no_more(cell, record, asking)
            if start in record.on_host:
                return None
        self.progress("tracing")
        stop = find_stop(cell, start, self.namespace, record.breaks, not self.options.whole)
        if self.record.runs == 0 and record is self.record:
            apply_options(self.cell, self.namespace, self.options, self.record.choices)
        piece = self._with_changing_scalars(cell, record, start, stop, previous)
        while piece is None:
            if start in record.on_host:
                return None
            stop = min(stop, find_stop(cell, start, self.namespace, record.breaks, not self.options.whole))
            try:
                piece = self._attempt(cell, record, start, stop)
            except StopAt as stopping:
                record.breaks.add(stopping.index)
                stop = stopping.index
            except MissingName as missing:
                record.forced.add(missing.name)
            except (RunByPython, Failed) as error:
                if self.options.whole or (isinstance(error, NeedsConcrete) and error.final):
                    raise
                stop = self._blame(cell, record, start, stop, error)
                let_go(error)
        dropped = record.made_before(piece)
        if previous is not None and self.record.runs:
            try:
                self._explain(cell, record, previous, piece, dropped)
            except Exception as error:  # the program stands: a reason that cannot be told loses no cell
                self.changes.append(Change("other", "", f"telling why failed: {type(error).__name__}: {error}"))
        self.traced.append(piece)
        if piece.reasons and not self.options.whole:
            draws = [reason for reason in piece.reasons if reason[1].endswith(MOVES_ON)]
            if self._depth or draws:
                self._not_again(cell, record, piece, piece.reasons if self._depth else draws)
        if self._in_doubt and self.options.donate:
            self._for_once.append((record, piece))
        walked = piece.take_walk()
        assert walked is not None
        reached = piece.ready(walked, self.namespace)
        assert reached is not None  # these scalars are those of the trace
        return piece, reached

    def _explain(self, cell: CellSource, record: CodeRecord, previous: Piece, piece: Piece, dropped: bool) -> None:
        """Takes down why a piece was traced again: what differs from the nearest of those that there are."""
        if previous.reasons:
            texts = [(line, reason_text(line, text)) for line, text in previous.reasons]
            self.changes.extend(Change("effect", "", text, line=line) for line, text in texts)
            return
        start, statements = piece.plan.start, cell.statements[piece.plan.start : piece.plan.stop]
        there = [other for other in record.starting_at(start) if not other.reasons]
        self.changes += find_changes(
            nearest(there, piece) or previous,
            piece,
            place=lambda path: place_of(path, self.namespace, self.label),
            line=lambda path: self._called.line if self._called else line_of(path, statements, self.namespace),
            decided=lambda path: path in record.choices.fixed,
        )
        if dropped and len(there) >= self.cache_size:
            kept = f"only {len(there)} are kept" if len(there) > 1 else "only one is kept"
            text = f"there was a program for this before, and {kept}"
            self.changes.append(Change("dropped", "", text, size=2 * len(there)))

    def _attempt(self, cell: CellSource, record: CodeRecord, start: int, stop: int) -> Piece | None:
        """Traces and compiles what stands from `start` to `stop`; None if a statement was given to Python instead.

        Raises:
          Failed: if a statement raises, or if what was traced cannot be compiled, and Python may try.
          Exception: whatever `trace_piece` raises.
        """
        __tracebackhide__ = True
        splits = not self.options.whole
        asked = self._asked_of(record, start, stop)
        if asked is not None:
            self._refuse_detour(asked, start)
        counted = record.choices.dynamic - record.choices.fixed if self._turning and splits else set[Any]()
        plan = make_plan(
            cell, start, stop, frozenset(record.forced), asked.inputs if asked is not None else frozenset()
        )
        donate = self.options.donate if not self._in_doubt else ()  # nothing is lost if Python raises, too
        piece = self._trace(cell, plan, record.choices, donate, asked)
        needed = counted & record.choices.needed
        where = {record.choices.needed_at.get(path) for path in needed} - {None}
        if where:
            self._number_needed(cell, record, piece, needed, where)
            return None
        if self._turning and splits:
            freed = self._free_turning(cell, record, piece)
            if freed is None:
                return None
            piece = freed
        if splits and asked is None:
            settled = self._settle(cell, record, piece)
            if settled is None:
                return None
            piece = settled
        self.look(cell, piece, self.namespace)
        if splits:
            try:
                self._compile(piece)
            except Exception as error:
                if is_out_of_memory(error):
                    raise  # Python would compute the same, and need more memory for it
                raise Failed(error, None, "it cannot be compiled") from error
        return piece

    def _trace(
        self, cell: CellSource, plan: Plan, choices: Choices, donate: tuple[str, ...], asked: Asked | None
    ) -> Piece:
        __tracebackhide__ = True
        begun = perf_counter()
        try:
            return trace_piece(
                cell,
                plan,
                self.namespace,
                choices,
                self.context,
                self.device,
                around=self.cell,
                donate=donate,
                asked=asked,
                splits=not self.options.whole,
                names=self.names,
                budget=self._budget if asked is None else None,  # a derivative goes through one program
                called=self._called,
            )
        finally:
            self.trace_seconds += perf_counter() - begun

    def _compile(self, piece: Piece) -> None:
        self.progress("compiling")
        self.at = piece
        self.findings.extend(Finding("donate", text) for text in compile_piece(piece))

    def _blame(self, cell: CellSource, record: CodeRecord, start: int, stop: int, error: RunByPython | Failed) -> int:
        """Gives the statement that cannot be part of a program to Python; where a piece from `start` ends then."""
        index = error.index if error.index is not None else (start if stop == start + 1 else None)
        if index is None:  # no statement is to blame alone: one at a time
            record.breaks.add(start + 1)
            return start + 1
        line = error.line if isinstance(error, RunByPython) else None
        self._give_to_python(cell, record, index, error.short, line, error)
        asking = Asking(error.error, {}, {}) if isinstance(error, Failed) else getattr(error, "asked", None)
        needed = self.explain(asking, cell) if asking is not None else None
        if needed is not None:
            record.needed[index] = needed
        if isinstance(error, Failed):
            self._in_doubt.append((record, index))
        return index

    def _asked_of(self, record: CodeRecord, start: int, stop: int) -> Asked | None:
        """The derivative, if the piece from `start` to `stop` binds what is differentiated."""
        return self.asked if record is self.record and start <= self._last_loss < stop else None

    def _refuse_detour(self, asked: Asked, start: int) -> None:
        refuse_detour(asked, self.cell, start, self._last_loss + 1, self.namespace, self.host_lines)

    def _with_changing_scalars(
        self, cell: CellSource, record: CodeRecord, start: int, stop: int, previous: Piece | None
    ) -> Piece | None:
        """When Python scalars alone changed: the piece with them as inputs, if no value of theirs was needed (rule 3).

        Arithmetic among them is done by Python at each run.
        """
        last = [previous] if previous is not None else []
        like = [one for one in (*last, *record.starting_at(start)) if one.context == self.context] if last else []
        found = with_other_numbers(record, [one for one in like if one.plan.stop == stop], self.namespace, self.device)
        if found is None or found[1] & (record.never_dynamic | record.choices.fixed):
            return None
        previous, paths = found
        of_loop = not self._depth or previous.used == self.record.runs  # else it may have changed but this once
        piece = self._with_inputs(cell, record, previous, paths, tries=not of_loop)
        if piece is not None:
            self.look(cell, piece, self.namespace)
            names = sorted(render_path(path) for path in paths)
            become = "is an input" if len(names) == 1 else "are inputs"
            piece.notes.append(("dynamic", None, f"{', '.join(names)} {become} from now on"))
        return piece

    def _free_turning(self, cell: CellSource, record: CodeRecord, piece: Piece) -> Piece | None:
        """In a loop: the piece with the ints that the loop counts as inputs, so that the next turn need not trace it.

        It stays as it is where such a number cannot be an input; None if a statement was given to Python for that.
        """
        paths = {path for path in static_ints(piece) if path[1] in ("name", "closure") and path[2] in self._turning}
        paths -= record.never_dynamic | record.choices.fixed
        if not paths or piece.reasons:
            return piece
        before = len(record.on_host)
        freed = self._with_inputs(cell, record, piece, paths)
        return None if len(record.on_host) > before else freed or piece

    def _settle(self, cell: CellSource, record: CodeRecord, piece: Piece) -> Piece | None:
        """A piece that the next run can use, too, though it moves on what its key holds: numbers become inputs.

        It stays as it is where nothing is moved on, or not for the second time; None if statements were given to
        Python because they read what each run changes.
        """
        previous = record.last_around(piece.plan, self.record.runs - 1)
        if previous is None or piece.reasons:
            return piece
        remade = self.cell.binds.union(*(names_changed(item.node) for item in self.cell.statements))
        before, now = parts_by_path(previous), parts_by_path(piece)
        found = evolving(piece.moves, before, now, remade)
        if record is self.record:
            found = set(filter(self._since.is_as_left, found))
        if self._since.alone and record is self.record:
            found |= record.moved_again(piece.plan.start, record.runs, before, now, self._since.parts)
        elif self._since.alone:  # by statements of the loop or of the cell; of few values there are programs by now
            found |= record.moved_again(piece.plan.start, self.record.runs, before, now)
        numbers = (found & static_ints(piece)) - record.never_dynamic - record.choices.fixed
        given = len(record.on_host)
        fresh = (piece.moves & static_ints(piece)) - before.keys() - record.never_dynamic - record.choices.fixed
        if fresh and (freed := self._with_inputs(cell, record, piece, numbers | fresh, tries=True)) is not None:
            piece = freed  # the last run has made these, and this one counts them up
            found -= numbers
        elif numbers and (freed := self._with_inputs(cell, record, piece, numbers)) is not None:
            piece = freed
            found -= numbers
        if len(record.on_host) == given:
            for index, name in who_reads(cell, piece, found - record.choices.fixed, self.namespace).items():
                self._give_to_python(cell, record, index, f"it reads what each run changes, `{name}`", None)
                record.choices.no_growth = False  # the others may only append
        return None if len(record.on_host) > given else piece

    def _left(self) -> Left | None:
        """What is there of what the cell reads; None where that cannot be told."""
        plan = make_plan(self.cell, 0, len(self.cell.statements), frozenset())
        try:
            scan = plan.scan(self.namespace, Choices(), Slots())
        except Exception:  # nothing is known of the next run then
            return None
        return Left(by_path(scan.parts, scan.where), scan.leaves)

    def _with_inputs(
        self, cell: CellSource, record: CodeRecord, previous: Piece, paths: set[Any], tries: bool = False
    ) -> Piece | None:
        """A piece as it is with the Python scalars at these paths as inputs; None if a value of theirs is needed.

        Nothing follows from that if it `tries` only.
        """
        choices = record.choices.changing(paths)
        needing: Collection[int | None] = ()
        try:
            piece = self._trace(cell, previous.plan, choices, self.options.donate, previous.derivative)
        except Exception as error:  # whatever it is, the trace with static ints says it properly
            piece, needing = None, {statement_of(cell, error)}
        if piece is not None:
            if beyond := paths & (static_ints(piece) | choices.static):  # needed, of no array's dtype, or of a pytree's
                unsaid = beyond - choices.needed
                needing = {choices.needed_at.get(path) for path in beyond - unsaid}
                needing |= who_reads(cell, previous, unsaid, self.namespace).keys() if unsaid else set()
                piece, paths = None, beyond
            elif paths & choices.needed or not (piece.asks or piece.result_types == previous.result_types):
                piece, needing = None, {choices.needed_at.get(path) for path in paths}
        if piece is not None:
            record.choices = choices
        elif not tries:
            self._number_needed(cell, record, previous, paths, needing)
        return piece

    def _answer_no_more(self, cell: CellSource, record: CodeRecord, asking: Piece) -> None:
        """Finds out which statement needs a number where functions are not told whether it is true."""
        record.choices.branches = False
        self._with_inputs(cell, record, asking, record.choices.dynamic - record.choices.fixed)
        record.choices.branches = True

    def _number_needed(
        self, cell: CellSource, record: CodeRecord, piece: Piece, paths: set[Any], indices: Collection[int | None]
    ) -> None:
        """Numbers cannot be inputs. Where they change in each turn of a loop, or are moved on by the cell itself, the
        statements that need them would be traced each time: Python runs them, and the others need not care."""
        bound = {(None, "name", name) for name in self.cell.binds}
        itself = self._since.alone or all(path in piece.moves or path in bound for path in paths)
        if itself and not (self._since.alone or self._depth) and not record.changed_before(paths - piece.moves):
            return  # the user may have changed what it is computed from, and traces once more for that
        found = {index for index in indices if index is not None}
        if not found and self._since.alone and not self._depth:
            found |= who_reads(cell, piece, paths, self.namespace).keys()
        if not (self._depth or itself) or self.options.whole or not found:
            record.never_dynamic |= paths
            return
        for index in sorted(found):
            what = "a number of the loop is needed" if self._depth else "a number that each run changes is needed"
            self._give_to_python(cell, record, index, what, None)
        record.choices = record.choices.changing(paths & record.choices.needed)  # the others can do without


def _statements(cell: CellSource, piece: Piece) -> tuple[Statement, ...]:
    return cell.statements[piece.plan.start : piece.plan.stop]


def _line_reading(cell: CellSource, piece: Piece, name: str) -> int:
    """The line of the first statement of a piece that reads a name."""
    statements = cell.statements[piece.plan.start : piece.plan.stop] or cell.statements
    return line_reading(statements, name) or statements[0].span.line
