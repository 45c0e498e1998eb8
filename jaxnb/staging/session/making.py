"""How the pieces of a run come to be: traced, with what its loops and runs change as inputs, and compiled.

A statement that turns out to need a value is given to Python; if it is a loop or a branch, or calls a function in which
the value is needed, it is taken apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from time import perf_counter
from typing import Any

from jaxnb.errors import Asking, LeakedTracer, Leaves, NeedsConcrete, RunByPython
from jaxnb.program import Finding
from jaxnb.staging.cells.blocks import COMPOUND, ROLLED, open_statement
from jaxnb.staging.cells.cell import CellSource, names_changed
from jaxnb.staging.cells.marks import code_marks
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.instances import MOVES_ON
from jaxnb.staging.objects.paths import FLOAT, INT, Choices, render_path, root_name, without_places
from jaxnb.staging.objects.slots import Slots
from jaxnb.staging.reuse.cache import CodeRecord, static_ints, static_numbers, with_other_numbers
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
from jaxnb.staging.reuse.left import Left
from jaxnb.staging.session.all_sizes import (
    alone,
    find_general,
    for_all,
    in_two_pieces,
    specialized,
    trace_for_all,
    unnamed,
)
from jaxnb.staging.session.alone import large_call
from jaxnb.staging.session.choices import apply_options
from jaxnb.staging.session.dispatch import compile_piece, is_out_of_memory
from jaxnb.staging.session.execution import Execution
from jaxnb.staging.session.plan import find_stop, make_plan, why_python
from jaxnb.staging.session.tracebacks import let_go
from jaxnb.staging.trace.functions import open_called, sees_called
from jaxnb.staging.trace.gradient import DerivativeSpec, refuse_detour
from jaxnb.staging.trace.moves import evolving
from jaxnb.staging.trace.operands import open_operands
from jaxnb.staging.trace.piece import Piece, Plan
from jaxnb.staging.trace.reasons import reason_text, statement_of
from jaxnb.staging.trace.stage import Failed, MissingName, StopAt, trace_piece

__all__ = ["Maker"]


_FEW = 4
"""Numbers of one list that have changed before all of them are taken to change."""


class Maker:
    """Makes the pieces of one run."""

    def __init__(self, execution: Execution) -> None:
        self._state = execution

    def make(self, cell: CellSource, record: CodeRecord, start: int) -> tuple[Piece, Reached] | None:
        """Traces a piece; None if its first statement is given to Python instead.

        Args:
          cell: that it stands in, or the block.
          record: what is kept of that.
          start: its first statement.

        Raises:
          Exception: what a statement raises that Python cannot be given.
        """
        __tracebackhide__ = True
        state = self._state
        talks = why_python(cell.statements[start], state.namespace) if not state.options.whole else None
        if talks is not None:
            self._give_to_python(cell, record, start, talks[1], talks[0])
            return None
        previous = record.last.get(start)
        if (
            previous is not None
            and previous.reasons
            and state.since.alone
            and state.asked is None
            and not state.options.whole
        ):
            self._not_again(cell, record, previous, previous.reasons)
            if start in record.on_host:
                return None
        if (asking := record.answered_enough(start, state.namespace, state.device)) is not None:
            self._answer_no_more(cell, record, asking)
            if start in record.on_host:
                return None
        state.progress("tracing")
        stop = self._stop(cell, record, start)
        if state.record.runs == 0 and record is state.record:
            apply_options(state.cell, state.namespace, state.options, state.record.choices)
        piece = None
        if record.choices.shapes is None:
            piece = self._with_changing_scalars(cell, record, start, stop, previous)
        while piece is None:
            if start in record.on_host:
                return None
            stop = min(stop, self._stop(cell, record, start))
            try:
                piece = self._attempt(cell, record, start, stop)
            except StopAt as stopping:
                record.breaks.add(stopping.index)
                stop = stopping.index
            except MissingName as missing:
                record.forced.add(missing.name)
            except LeakedTracer as error:
                reading = [i for i in range(start, stop) if error.root in cell.statements[i].names.reads]
                if state.options.whole or state.asked is not None or not reading:
                    raise
                self._give_to_python(cell, record, reading[0], "it reads a tracer that leaked", None)
                state.in_doubt.append((record, reading[0]))
                stop = reading[0]
            except (RunByPython, Failed) as error:
                ends = isinstance(error, NeedsConcrete) and error.final and not state.depth  # nobody around catches it
                if state.options.whole or ends:
                    raise
                stop = self._blame(cell, record, start, stop, error)
                let_go(error)
        if any(piece is other for other in state.sized):
            return piece, self._first_reached(piece)
        dropped = record.made_before(piece)
        if previous is not None and state.record.runs:
            try:
                self._explain(cell, record, previous, piece, dropped)
            except Exception as error:  # the program stands: a reason that cannot be told loses no cell
                state.changes.append(Change("other", "", f"telling why failed: {type(error).__name__}: {error}"))
        state.traced.append(piece)
        if piece.reasons and not state.options.whole:
            draws = [reason for reason in piece.reasons if reason[1].endswith(MOVES_ON)]
            if state.depth or draws:
                self._not_again(cell, record, piece, piece.reasons if state.depth else draws)
        if state.in_doubt and state.options.donate:
            state.for_once.append((record, piece))
        return piece, self._first_reached(piece)

    def _stop(self, cell: CellSource, record: CodeRecord, start: int) -> int:
        state = self._state
        joins = bool(state.options.shapes)  # the choices are made only now
        return find_stop(cell, start, state.namespace, record.breaks, not state.options.whole, joins)

    def _first_reached(self, piece: Piece) -> Reached:
        """What a piece that was just made reaches in this run."""
        walked = piece.take_walk()
        assert walked is not None
        reached = piece.ready(walked, self._state.namespace)
        assert reached is not None  # these scalars are those of the trace
        return reached

    def compile(self, record: CodeRecord, piece: Piece) -> None:
        """Compiles a piece that has not run, if none of the same code was lowered to the same program.

        Raises:
          Exception: whatever XLA raises.
        """
        state = self._state
        state.progress("compiling")
        state.at = piece
        state.findings.extend(Finding("donate", text) for text in compile_piece(piece, record.pieces))

    def left(self) -> Left | None:
        """What is there of what the cell reads; None where that cannot be told."""
        state = self._state
        plan = make_plan(state.cell, 0, len(state.cell.statements), frozenset())
        try:
            scan = plan.scan(state.namespace, Choices(), Slots())
        except Exception:  # nothing is known of the next run then
            return None
        return Left(by_path(scan.parts, scan.where), scan.leaves)

    def refuse_detour(self, asked: DerivativeSpec, start: int) -> None:
        """Refuses a derivative of what Python computes in between; `start` is where the piece begins.

        Raises:
          Refused: saying so.
        """
        state = self._state
        refuse_detour(asked, state.cell, start, state.last_loss + 1, state.namespace, state.host_lines)

    def _explain(self, cell: CellSource, record: CodeRecord, previous: Piece, piece: Piece, dropped: bool) -> None:
        """Takes down why a piece was traced again: what differs from the nearest of those that there are."""
        state = self._state
        if previous.reasons:
            texts = [(line, reason_text(line, text)) for line, text in previous.reasons]
            state.changes.extend(Change("effect", "", text, line=line) for line, text in texts)
            return
        start, statements = piece.plan.start, piece.plan.statements_of(cell)
        there = [other for other in record.starting_at(start) if not other.reasons]
        state.changes += find_changes(
            nearest(there, piece) or previous,
            piece,
            place=lambda path: place_of(path, state.namespace, state.label),
            line=lambda path: state.called.line if state.called else line_of(path, statements, state.namespace),
            decided=lambda path: path in record.choices.fixed,
        )
        if dropped and len(there) >= state.cache_size:
            kept = f"only {len(there)} are kept" if len(there) > 1 else "only one is kept"
            text = f"there was a program for this before, and {kept}"
            state.changes.append(Change("dropped", "", text, size=2 * len(there)))

    def _attempt(self, cell: CellSource, record: CodeRecord, start: int, stop: int) -> Piece | None:
        """Traces and compiles what stands from `start` to `stop`; None if a statement was given to Python instead.

        Raises:
          Failed: if a statement raises, or if what was traced cannot be compiled, and Python may try.
          Exception: whatever `trace_piece` raises.
        """
        __tracebackhide__ = True
        state = self._state
        splits = not state.options.whole
        asked = self._asked_of(record, start, stop)
        if asked is not None:
            self.refuse_detour(asked, start)
        counted = record.choices.dynamic - record.choices.fixed if state.turning and splits else set[Any]()
        plan = make_plan(
            cell, start, stop, frozenset(record.forced), asked.inputs if asked is not None else frozenset()
        )
        donate = state.options.donate if not state.in_doubt else ()  # nothing is lost if Python raises, too
        if record.choices.shapes is not None:
            return self._of_sizes(cell, record, plan, donate, asked)
        piece = self._trace(cell, plan, record.choices, donate, asked)
        needed = counted & record.choices.needed
        where = {record.choices.needed_at.get(path) for path in needed} - {None}
        if where:
            self._number_needed(cell, record, piece, needed, where)
            return None
        if state.turning and splits:
            call = large_call(piece, plan.statements_of(cell)) if asked is None else None
            if call is not None:
                record.breaks.update({start + call, start + call + 1} - {start})
                return None
            freed = self._free_turning(cell, record, piece)
            if freed is None:
                return None
            piece = freed
        if splits and asked is None:
            settled = self._settle(cell, record, piece)
            if settled is None:
                return None
            piece = settled
        state.look(cell, piece, state.namespace)
        if splits:
            try:
                self.compile(record, piece)
            except RunByPython:
                raise
            except Exception as error:
                if is_out_of_memory(error):
                    raise  # Python would compute the same, and need more memory for it
                raise Failed(error, None, "it cannot be compiled") from error
        return piece

    def _of_sizes(
        self, cell: CellSource, record: CodeRecord, plan: Plan, donate: tuple[str, ...], asked: DerivativeSpec | None
    ) -> Piece:
        """The piece for the sizes of this run, of the program for all sizes, which is traced if there is none."""
        __tracebackhide__ = True
        state, choices = self._state, record.choices
        line = max(state.host_lines, default=cell.statements[plan.start].span.line)
        if any(ran.piece.named is not None for ran in state.ran.values()):
            raise in_two_pieces(line)
        if plan.stop < len(cell.statements):
            read = choices.shapes.read_of(plan.scan(state.namespace, choices))
            if not read:  # what comes before the arrays whose sizes have names
                return self._trace(cell, plan, choices.without_shapes(), donate, asked)
            if read < choices.shapes.read_by(cell.reads):
                raise in_two_pieces(cell.statements[plan.stop].span.line)
        found = find_general(record, plan, choices, state.namespace, state.context, state.device)
        known = found is not None
        if found is None:

            def trace(other: CellSource, choices: Choices) -> Piece:
                __tracebackhide__ = True
                planned = plan if other is cell else self._plan_like(record, other, plan, asked)
                return self._trace(other, planned, choices, donate, asked)

            general = trace_for_all(cell, choices, trace, state.namespace)
            before, found = record.general[-1:], for_all(general)
            for other in before:
                if text := unnamed(other, found.sizes):
                    general.notes.append(("cost", None, text))
            record.keep_general(general, state.cache_size)
        piece = specialized(found)
        if piece is None:
            piece = self._trace(cell, plan, choices.without_shapes(), donate, asked)
            piece.notes.append(("cost", *alone(found)))
        elif known:
            state.sized.append(piece)
        state.look(cell, piece, state.namespace)
        return piece

    def _plan_like(self, record: CodeRecord, cell: CellSource, plan: Plan, asked: DerivativeSpec | None) -> Plan:
        """The plan of the same statements with other words in one of them."""
        taken = asked.inputs if asked is not None else frozenset[str]()
        start = 0 if all(one.defines for one in cell.statements[: plan.start]) else plan.start  # with its functions
        return make_plan(cell, start, plan.stop, frozenset(record.forced), taken)

    def _trace(
        self, cell: CellSource, plan: Plan, choices: Choices, donate: tuple[str, ...], asked: DerivativeSpec | None
    ) -> Piece:
        __tracebackhide__ = True
        state = self._state
        begun = perf_counter()
        try:
            return trace_piece(
                cell,
                plan,
                state.namespace,
                choices,
                state.context,
                state.device,
                around=state.cell,
                donate=donate,
                asked=asked,
                splits=not state.options.whole,
                names=state.names,
                budget=state.budget if asked is None else None,  # a derivative goes through one program
                called=state.called,
            )
        finally:
            state.trace_seconds += perf_counter() - begun

    def _blame(self, cell: CellSource, record: CodeRecord, start: int, stop: int, error: RunByPython | Failed) -> int:
        """Gives the statement that cannot be part of a program to Python; where a piece from `start` ends then."""
        index = error.index if error.index is not None else (start if stop == start + 1 else None)
        if index is None:  # no statement is to blame alone: one at a time
            record.breaks.add(start + 1)
            return start + 1
        line = error.line if isinstance(error, RunByPython) else None
        self._give_to_python(cell, record, index, error.short, line, error)
        asking = Asking(error.error, {}, {}) if isinstance(error, Failed) else getattr(error, "asked", None)
        if isinstance(error, Leaves):
            record.leaving[index] = error.kept
        needed = self._state.explain(asking, cell) if asking is not None else None
        if needed is not None:
            record.needed[index] = needed
        if isinstance(error, Failed):
            self._state.in_doubt.append((record, index))
        return index

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
        state = self._state
        statement, line = cell.statements[index], line or cell.statements[index].span.line
        record.give_to_python(index, line, reason, code_marks(statement.names, state.namespace))
        record.choices.no_growth = False  # it may be what reads a list that the others only append to
        if statement.kind in COMPOUND:
            record.open(index, open_statement(cell, statement, state.turning))
        elif (opened := open_operands(cell, statement, state.namespace)) is not None:
            record.open(index, opened)
        elif (
            error is not None
            and not sees_called(state.cell, state.namespace)
            and (opened := open_called(cell, statement, state.namespace, error.stack)) is not None
        ):
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

    def _asked_of(self, record: CodeRecord, start: int, stop: int) -> DerivativeSpec | None:
        """The derivative, if the piece from `start` to `stop` binds what is differentiated."""
        state = self._state
        return state.asked if record is state.record and start <= state.last_loss < stop else None

    def _with_changing_scalars(
        self, cell: CellSource, record: CodeRecord, start: int, stop: int, previous: Piece | None
    ) -> Piece | None:
        """When Python scalars alone changed: the piece with them as inputs, if no value of theirs was needed (rule 3).

        Arithmetic among them is done by Python at each run.
        """
        state = self._state
        last = [previous] if previous is not None else []
        like = [one for one in (*last, *record.starting_at(start)) if one.context == state.context] if last else []
        found = with_other_numbers(
            record, [one for one in like if one.plan.stop == stop], state.namespace, state.device
        )
        if found is None or found[1] & (record.never_dynamic | record.choices.fixed):
            return None
        previous, paths = found
        of_loop = not state.depth or previous.used == state.record.runs  # else it may have changed but this once
        piece = self._with_inputs(cell, record, previous, paths, tries=not of_loop)
        if piece is not None:
            state.look(cell, piece, state.namespace)
            names = sorted(render_path(path) for path in paths)
            become = "is an input" if len(names) == 1 else "are inputs"
            piece.notes.append(("dynamic", None, f"{', '.join(names)} {become} from now on"))
        return piece

    def _free_turning(self, cell: CellSource, record: CodeRecord, piece: Piece) -> Piece | None:
        """In a loop: the piece with the ints that the loop counts as inputs, so that the next turn need not trace it.

        It stays as it is where such a number cannot be an input; None if a statement was given to Python for that.
        """
        paths = {
            path for path in static_ints(piece) if path[1] in ("name", "closure") and path[2] in self._state.turning
        }
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
        state = self._state
        previous = record.last_around(piece.plan, state.record.runs - 1)
        again, within = state.since.alone and state.record.runs > 0, record is not state.record
        if piece.reasons or (previous is None and not again):
            return piece
        given = len(record.on_host)
        if again and within and previous is None and not piece.jaxpr.eqns:
            for index in range(piece.plan.start, piece.plan.stop):
                self._give_to_python(cell, record, index, "it computes nothing", None)
            return None
        remade = state.cell.binds.union(*(names_changed(item.node) for item in state.cell.statements))
        before, now = parts_by_path(previous) if previous is not None else {}, parts_by_path(piece)
        found = evolving(piece.moves, before, now, remade)
        if not within:
            found = set(filter(state.since.is_as_left, found))
        begun = {**state.bound_then, **state.since.parts}
        were = {**begun, **before} if again else before
        if state.since.alone and not within:
            found |= record.moved_again(piece.plan.start, record.runs, were, now, begun)
        elif state.since.alone:  # by statements of the loop or of the cell; of few values there are programs by now
            found |= record.moved_again(piece.plan.start, state.record.runs, before, now)
        if again and not piece.jaxpr.eqns:  # of no value there will be a program that is worth it
            found |= {path for path, parts in now.items() if were.get(path, parts) != parts}
        by_others = {path for path, parts in were.items() if parts in ((INT,), (FLOAT,))}  # inputs, which others need
        found -= by_others
        numbers = (found & static_ints(piece)) - record.never_dynamic - record.choices.fixed
        fresh = (piece.moves & static_ints(piece)) - before.keys()
        if again:  # beside what the piece was traced for, and at once: they would be the next reason
            static = static_ints(piece) | {path for path in static_numbers(piece) if root_name(path) in remade}
            changed = {path for path in (static & were.keys()) - by_others if were[path] != now[path]}
            fresh |= changed | _alike(changed, static)
        fresh -= record.never_dynamic | record.choices.fixed | record.in_vain
        if fresh and (freed := self._with_inputs(cell, record, piece, numbers | fresh, tries=True)) is not None:
            piece = freed  # the last run has made these, and this one counts them up
            found -= numbers
        elif numbers and (freed := self._with_inputs(cell, record, piece, numbers)) is not None:
            piece = freed
            found -= numbers
        else:
            record.in_vain |= fresh
        if len(record.on_host) == given:
            for index, name in who_reads(cell, piece, found - record.choices.fixed, state.namespace).items():
                self._give_to_python(cell, record, index, f"it reads what each run changes, `{name}`", None)
        return None if len(record.on_host) > given else piece

    def _with_inputs(
        self, cell: CellSource, record: CodeRecord, previous: Piece, paths: set[Any], tries: bool = False
    ) -> Piece | None:
        """A piece as it is with the Python scalars at these paths as inputs; None if a value of theirs is needed.

        Nothing follows from that if it `tries` only.
        """
        choices = record.choices.changing(paths)
        needing: Collection[int | None] = ()
        try:
            piece = self._trace(cell, previous.plan, choices, self._state.options.donate, previous.derivative)
        except Exception as error:  # whatever it is, the trace with static ints says it properly
            piece, needing = None, {statement_of(cell, error)}
        if piece is not None:
            if beyond := paths & (static_ints(piece) | choices.static):  # needed, of no array's dtype, or of a pytree's
                unsaid = beyond - choices.needed
                needing = {choices.needed_at.get(path) for path in beyond - unsaid}
                needing |= who_reads(cell, previous, unsaid, self._state.namespace).keys() if unsaid else set()
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
        state = self._state
        bound = {(None, "name", name) for name in state.cell.binds}
        itself = state.since.alone or all(path in piece.moves or path in bound for path in paths)
        if itself and not (state.since.alone or state.depth) and not record.changed_before(paths - piece.moves):
            return  # the user may have changed what it is computed from, and traces once more for that
        found = {index for index in indices if index is not None}
        if not found and state.since.alone and not state.depth:
            found |= who_reads(cell, piece, paths, state.namespace).keys()
        if not (state.depth or itself) or state.options.whole or not found:
            record.never_dynamic |= paths
            return
        for index in sorted(found):
            what = "a number of the loop is needed" if state.depth else "a number that each run changes is needed"
            self._give_to_python(cell, record, index, what, None)
        record.choices = record.choices.changing(paths & record.choices.needed)  # the others can do without


def _alike(changed: set[Any], static: set[Any]) -> set[Any]:
    """The numbers of lists of which a few have changed."""
    often = Counter(map(without_places, changed))
    return {path for path in static if often[without_places(path)] >= _FEW}
