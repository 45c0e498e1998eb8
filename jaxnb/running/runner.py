"""One run of a cell, from its first statement to its last binding.

A stretch of statements that compute with JAX is a *piece*: its program is looked up or traced, dispatched at once
without waiting, and its results are bound. Every other statement is run by Python in between, on the real values. A
statement that turns out to need a value is given to Python, too; if it is a loop or a branch, it is taken apart, and
the pieces inside it are staged once and reused in each turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax

from jaxnb import _jax
from jaxnb.cells.blocks import COMPOUND, RUNNER, Opened, open_statement
from jaxnb.cells.cell import CellSource, Statement
from jaxnb.cells.effects import code_marks, may_mutate
from jaxnb.errors import Asking, NeedsConcrete, Refused, RunByPython
from jaxnb.objects.graph import Reached, Scan
from jaxnb.objects.journal import Journal
from jaxnb.objects.paths import Choices, is_below, render_path, root_name
from jaxnb.objects.slots import Slots
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Span
from jaxnb.reuse.cache import CodeRecord, find_piece, scalars_that_changed
from jaxnb.reuse.changes import find_changes, line_of, nearest, place_of
from jaxnb.reuse.history import Change
from jaxnb.running.dispatch import compile_piece, dispatch, is_out_of_memory
from jaxnb.running.plan import find_stop, make_plan, runs_on_host, why_python
from jaxnb.staging.devices import move
from jaxnb.staging.donation import Lost, check_donation
from jaxnb.staging.gradient import Asked, asked_for, refuse_detour
from jaxnb.staging.piece import Piece
from jaxnb.staging.reasons import line_reading
from jaxnb.staging.stage import Failed, MissingName, StopAt, trace_piece

if TYPE_CHECKING:
    from jaxnb.levels.timing import Held
    from jaxnb.names.assigned import NameLog

__all__ = ["Progress", "Runner", "apply_options", "reason_text"]

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
      cache_size: how many programs are kept for each piece.
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
        self.held: dict[int, Held] = {}  # what `--time` and `--nans` run again
        self.traced: list[Piece] = []
        self.changes: list[Change] = []
        self.host_lines: set[int] = set()
        self.findings: list[Finding] = []
        self.dispatch_seconds = self.host_seconds = 0.0
        self.transferred = self.donated = 0
        self.value: Any = None
        self._depth = 0
        self._in_doubt: list[tuple[CodeRecord, int]] = []
        self._for_once: list[tuple[CodeRecord, Piece]] = []

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
        self._block(self.cell, self.record)
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
            for statement in ran.cell.statements[ran.piece.plan.start : ran.piece.plan.stop]
        }

    def undo(self) -> None:
        """Puts objects back as they were before the run.

        Statements that raised while they were traced, and were given to Python for that, are traced again next time:
        the plain cell raises, too, and when it no longer does they may well be traced.
        """
        self.journal.undo()
        for record, index in self._in_doubt:
            record.take_back(index)

    # --- statements ---

    def _block(self, cell: CellSource, record: CodeRecord) -> None:
        __tracebackhide__ = True
        self.context = _jax.trace_context()
        index, statements = 0, cell.statements
        while index < len(statements):
            if index in record.on_host and record.is_still_for_python(index, self._marks(statements[index])):
                self._by_python(cell, record, index)
                index += 1
                continue
            found = find_piece(record, index, self.namespace, self.context, self.device)
            if found is None:
                if self.is_for_host(statements[index]):
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
            self._run_piece(cell, record, piece, reached)
            index = piece.plan.stop

    def is_for_host(self, statement: Statement, makes: bool = True) -> bool:
        """Whether Python runs a statement before anything is traced; a map over names always is a program.

        Args:
          statement: which one.
          makes: whether it runs those that only make arrays, too.
        """
        return self.options.xmap is None and runs_on_host(statement, self.namespace, makes=makes)

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
            for name in sorted(statement.names.reads):
                if name in self.namespace and name != "__builtins__":
                    self.journal.protect(self.namespace[name])

    def _python(self, statement: Statement, code: Any) -> None:
        __tracebackhide__ = True
        self.host_lines.add(statement.span.line)
        self.before_host()
        self.at = None
        start = time.perf_counter()
        if statement.trailing:
            self.value = eval(code, self.namespace)
        else:
            exec(code, self.namespace)
        self.host_seconds += time.perf_counter() - start

    def _by_python(self, cell: CellSource, record: CodeRecord, index: int) -> None:
        """A statement that needs values: as it is, or taken apart."""
        __tracebackhide__ = True
        statement, opened = cell.statements[index], record.opened.get(index)
        if opened is None:
            self.run_on_host(statement)
            return
        self._protect(statement)
        outer = self.namespace.get(RUNNER)
        self._depth += 1

        def block(number: int) -> None:
            __tracebackhide__ = True
            try:
                self._block(opened.blocks[number], self._record_of(record, index, number, opened))
            except Refused as refused:
                raise _Escape(refused) from None

        self.namespace[RUNNER] = block
        try:
            self._python(statement, opened.code)
        except _Escape as escape:
            if self._depth > 1:
                raise
            raise escape.refused from None
        finally:
            self._depth -= 1
            if outer is None:
                self.namespace.pop(RUNNER, None)
            else:
                self.namespace[RUNNER] = outer

    def _record_of(self, record: CodeRecord, index: int, number: int, opened: Opened) -> CodeRecord:
        inner = record.blocks.get((index, number))
        if inner is None:
            inner = record.blocks[index, number] = CodeRecord(choices=record.choices.copy())
        return inner

    def _give_to_python(self, cell: CellSource, record: CodeRecord, index: int, reason: str, line: int | None) -> None:
        """From now on Python runs this statement; a compound one is taken apart."""
        statement = cell.statements[index]
        record.give_to_python(index, line or statement.span.line, reason, self._marks(statement))
        if statement.kind in COMPOUND:
            record.opened[index] = open_statement(cell, statement)

    def _not_again(self, cell: CellSource, record: CodeRecord, piece: Piece) -> None:
        """In a loop, what must not be reused would be traced in each turn: from the next one on Python runs it."""
        lines = {line: text for line, text in piece.reasons if line is not None}
        every = range(piece.plan.start, piece.plan.stop)
        spans = {index: cell.statements[index].span for index in every}
        blamed = {i: n for i, span in spans.items() for n in lines if span.line <= n <= span.end_line}
        for index in blamed or every:
            line = blamed.get(index, spans[index].line)
            self._give_to_python(cell, record, index, lines.get(line, piece.reasons[0][1]), line)

    # --- pieces ---

    def _run_piece(self, cell: CellSource, record: CodeRecord, piece: Piece, reached: Reached) -> None:
        __tracebackhide__ = True
        if piece.derivative is not None:
            self._refuse_detour(piece.derivative, piece.plan.start)
        arguments = reached.leaves
        if piece.prelude is not None:
            arguments = piece.prelude.arguments(reached.leaves, reached.scalars)
        if self.device is not None:
            arguments, moved = move(arguments, self.device)
            self.transferred += moved
        if piece.compiled is None:
            self._compile(piece)
        if self.options.time or self.options.nans:
            from jaxnb.levels.timing import hold_inputs  # only who asks for it needs it

            self.held[id(piece)] = hold_inputs(piece, arguments)
        if piece.donation.leaves:
            self._give_up(cell, piece, reached)
        self.at = piece
        start = time.perf_counter()
        outputs = dispatch(piece, reached, arguments, self.lost.where)
        if piece.prelude is not None:
            outputs = piece.prelude.results(outputs, reached.scalars)
        self.dispatch_seconds += time.perf_counter() - start
        value = piece.template.apply(reached, outputs, self.namespace, before_change=self.journal.record)
        for name in piece.donation.unbound:
            self.namespace.pop(name, None)
            self.lost.name(name, cell.filename, _line_reading(cell, piece, name))
        if piece.template.value is not None:
            self.value = value
        self.ran[id(piece)] = Ran(cell, piece, reached, outputs)
        record.use(piece, self.cache_size)

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
        self.progress("tracing")
        stop = find_stop(cell, start, self.namespace, record.breaks, not self.options.whole)
        previous = record.last.get(start)
        if self.record.runs == 0 and record is self.record:
            apply_options(self)
        piece = self._with_changing_scalars(cell, record, start, stop, previous)
        if start in record.on_host:
            return None
        if piece is None:
            stop = find_stop(cell, start, self.namespace, record.breaks, not self.options.whole)
        while piece is None:
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
                _let_go(error)
                if stop == start:
                    return None
        dropped = record.made_before(piece)
        if previous is not None and self.record.runs:
            self._explain(cell, record, previous, piece, dropped)
        self.traced.append(piece)
        if self._depth and piece.reasons and not self.options.whole:
            self._not_again(cell, record, piece)
        if self._in_doubt and self.options.donate:
            self._for_once.append((record, piece))
        # The walk of a trace is one of the state before it, which is the state now.
        reached = piece.ready(piece.plan.scan(self.namespace, record.choices).reached())
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
            line=lambda path: line_of(path, statements, self.namespace),
            decided=lambda path: path in record.choices.fixed,
        )
        if dropped and len(there) >= self.cache_size:
            kept = f"only {len(there)} are kept" if len(there) > 1 else "only one is kept"
            text = f"there was a program for this before, and {kept}"
            self.changes.append(Change("dropped", "", text, size=2 * len(there)))

    def _attempt(self, cell: CellSource, record: CodeRecord, start: int, stop: int) -> Piece:
        """Traces and compiles what stands from `start` to `stop`.

        Raises:
          Failed: if a statement raises, or if what was traced cannot be compiled, and Python may try.
          Exception: whatever `trace_piece` raises.
        """
        __tracebackhide__ = True
        splits = not self.options.whole
        asked = self._asked_of(record, start, stop)
        if asked is not None:
            self._refuse_detour(asked, start)
        piece = trace_piece(
            cell,
            make_plan(cell, start, stop, frozenset(record.forced), asked.inputs if asked is not None else frozenset()),
            self.namespace,
            record.choices,
            self.context,
            self.device,
            donate=self.options.donate if not self._in_doubt else (),  # nothing is lost if Python raises, too
            asked=asked,
            splits=splits,
            names=self.names,
        )
        piece.cell = self.cell
        self.look(cell, piece, self.namespace)
        if splits and stop > start + 1 and _jax.mixes_devices(piece.jaxpr, self._leaves(piece, record)):
            record.breaks.update(range(start + 1, stop))  # together they would all be on many devices
            raise StopAt(start + 1)
        if splits:
            try:
                self._compile(piece)
            except Exception as error:
                if is_out_of_memory(error):
                    raise  # Python would compute the same, and need more memory for it
                raise Failed(error, None, "it cannot be compiled") from error
        return piece

    def _leaves(self, piece: Piece, record: CodeRecord) -> list[Any]:
        """What the program of a piece takes, as `piece.paths` names it."""
        reached = piece.ready(piece.plan.scan(self.namespace, record.choices).reached())
        if reached is None or piece.prelude is None:
            return reached.leaves if reached is not None else []
        return piece.prelude.arguments(reached.leaves, reached.scalars)

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
        self._give_to_python(cell, record, index, error.short, line)
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
        if previous is None or previous.reasons or previous.context != self.context:
            return None
        plan = previous.plan
        if plan.stop != stop:
            return None
        scan = plan.scan(self.namespace, record.choices)
        paths = scalars_that_changed(previous, (self.device, *scan.parts))
        if not paths or paths & (record.never_dynamic | record.choices.fixed):
            return None
        choices = record.choices.changing(paths)
        try:
            piece = trace_piece(
                cell,
                plan,
                self.namespace,
                choices,
                self.context,
                self.device,
                donate=self.options.donate,
                asked=previous.derivative,
                splits=not self.options.whole,
                names=self.names,
            )
            piece.cell = self.cell
            self.look(cell, piece, self.namespace)
        except Exception as error:  # whatever it is, the trace with static ints says it properly
            record.never_dynamic |= paths
            self._number_needed(cell, record, {_statement_of(cell, error)})
            return None
        if paths & choices.static or _types(piece) != _types(previous):
            record.never_dynamic |= paths
            self._number_needed(cell, record, {choices.needed_at.get(path) for path in paths})
            return None
        record.choices = choices
        names = sorted(render_path(path) for path in paths)
        become = "is an input" if len(names) == 1 else "are inputs"
        piece.notes.append(("dynamic", None, f"{', '.join(names)} {become} from now on"))
        return piece

    def _number_needed(self, cell: CellSource, record: CodeRecord, indices: set[int | None]) -> None:
        """In a loop, statements that need a number that changes would be traced in each turn: Python runs them."""
        for index in indices if self._depth and not self.options.whole else ():
            if index is not None:
                self._give_to_python(cell, record, index, "a number of the loop is needed", None)


def apply_options(runner: Runner) -> None:
    """Turns `--static`, `--dynamic` and `--donate` into paths. Every name must be one that the cell reads."""
    options, choices, cell = runner.options, runner.record.choices, runner.cell
    if not (options.static or options.dynamic or options.donate or options.wrt):
        return
    plan = make_plan(cell, 0, len(cell.statements), frozenset(cell.reads))
    every = Choices()
    every.abstract = choices.abstract
    scan = Scan(runner.namespace, plan.roots, plan.names, every, frozenset(), Slots())
    for name in options.wrt:  # what is differentiated by must not become static
        numbers = {path for index, path in enumerate(scan.paths) if type(scan.leaves[index]) is float}
        paths = {path for path in numbers if is_below(render_path(path), name)}
        choices.dynamic |= paths
        choices.fixed |= paths
    for option, wanted, target in (
        ("static", options.static, choices.static),
        ("dynamic", options.dynamic, choices.dynamic),
        ("donate", options.donate, set[Any]()),
    ):
        for text in wanted:
            paths = {path for _, path in scan.where if is_below(render_path(path), text)}
            if not paths:
                read = ", ".join(sorted({render_path(path) for _, path in scan.where if path[1] == "name"}))
                raise Refused(
                    f"--{option} {text}: the cell does not read `{text}`.",
                    why=f"it reads {read or 'no name at all'}.",
                    fix="check the spelling, or leave the option out.",
                )
            if option == "donate":
                _check_arrays(text, scan)
                continue
            target |= paths
            choices.fixed |= paths


def _check_arrays(text: str, scan: Scan) -> None:
    if not any(isinstance(scan.leaves[index], jax.Array | jax.ShapeDtypeStruct) for index in scan.leaves_below(text)):
        raise Refused(
            f"--donate {text}: `{text}` holds no JAX array.",
            why="only arrays on a device have a buffer that results can be written to.",
            fix="leave it out.",
        )


def _statement_of(cell: CellSource, error: Exception) -> int | None:
    """Which statement of a cell an error comes from."""
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == cell.filename:
            for index, statement in enumerate(cell.statements):
                if statement.span.line <= traceback.tb_lineno <= statement.span.end_line:
                    return index
        traceback = traceback.tb_next
    return None


def _line_reading(cell: CellSource, piece: Piece, name: str) -> int:
    """The line of the first statement of a piece that reads a name."""
    statements = cell.statements[piece.plan.start : piece.plan.stop] or cell.statements
    return line_reading(statements, name) or statements[0].span.line


def _let_go(error: BaseException | None) -> None:
    """Frees what the frames of an error that was dealt with hold."""
    while error is not None:
        error.__traceback__ = None
        if isinstance(error, NeedsConcrete) and error.asked is not None:
            asked, error.asked = error.asked, None
            asked.names.clear()
            _let_go(asked.error)
        error = error.__cause__ or error.__context__


def _types(piece: Piece) -> list[tuple[Any, ...]]:
    return [(aval.dtype, aval.shape, getattr(aval, "weak_type", False)) for aval in piece.jaxpr.out_avals]


def reason_text(line: int | None, text: str) -> str:
    """A reason with its line, if it has one."""
    return f"line {line}, {text}" if line is not None else text
