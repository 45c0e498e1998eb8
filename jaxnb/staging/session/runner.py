"""One run of a cell, from its first statement to its last binding.

A stretch of statements that compute with JAX is a *piece*: its program is looked up or made, dispatched at once without
waiting, and its results are bound. Every other statement is run by Python in between, on the real values. A statement
that is taken apart is run by Python, too, and the pieces inside it are staged once and reused in each turn.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import Any

import jax

from jaxnb import _jax
from jaxnb._jax import forget_failed
from jaxnb.errors import Refused
from jaxnb.program import Finding
from jaxnb.runtime import Undo
from jaxnb.staging import levels
from jaxnb.staging.cells.blocks import CAUGHT, RUNNER, TURNED
from jaxnb.staging.cells.cell import CellSource, Statement
from jaxnb.staging.cells.marks import code_marks
from jaxnb.staging.cells.mutation import may_mutate
from jaxnb.staging.cells.reach import functions_reached
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import root_name
from jaxnb.staging.reuse.cache import CodeRecord, find_piece
from jaxnb.staging.reuse.left import SinceLast
from jaxnb.staging.session.dispatch import Deleted, check_deleted
from jaxnb.staging.session.execution import Execution, Ran, line_of_name
from jaxnb.staging.session.making import Maker
from jaxnb.staging.session.plan import runs_on_host
from jaxnb.staging.session.tracebacks import tidy_caught
from jaxnb.staging.trace.devices import move
from jaxnb.staging.trace.donation import check_donation
from jaxnb.staging.trace.functions import call_blocks, opened_again
from jaxnb.staging.trace.piece import Piece

__all__ = ["Runner"]


class _Escape(BaseException):
    """Carries a refusal out of the `except` clauses of a statement that Python runs."""

    def __init__(self, refused: Refused) -> None:
        self.refused = refused


class Runner:
    """Runs a cell."""

    def __init__(self, execution: Execution) -> None:
        self._state = execution
        self._maker = Maker(execution)

    def run(self) -> None:
        """Runs the statements of the cell.

        Raises:
          Refused: if one can be neither staged nor given to Python.
          Exception: what the cell raises.
        """
        __tracebackhide__ = True
        state = self._state
        ended, state.record.left = state.record.left, None
        state.since = SinceLast(ended, self._maker.left() if ended is not None else None)
        self._block(state.cell, state.record)
        state.left.check(state.namespace)
        forget_failed()
        state.record.left = self._maker.left() if state.traced and not state.options.whole else None
        for record, piece in state.for_once:
            record.pieces[:] = [other for other in record.pieces if other is not piece]
        if state.asked is not None and not any(piece.derivative for piece in state.pieces):
            line, why = state.record.on_host.get(state.last_loss, (None, ""))
            first = state.asked.wrt[0]
            raise Refused(
                f"`{state.asked.loss}` is not computed by a compiled program, and so has no derivative.",
                why=f"line {line} on the host: {why}." if line else "Python runs the statement that binds it.",
                fix="" if line else f"compute it from arrays: {first} = jnp.asarray({first}).",
                line=line,
            )

    def is_for_host(self, statement: Statement, makes: bool = True) -> bool:
        """Whether Python runs a statement before anything is traced; a map over names always is a program.

        Args:
          statement: which one.
          makes: whether it runs those that only make arrays, too.
        """
        state = self._state
        if state.options.xmap is not None:
            return False
        return state.runs_plainly or runs_on_host(statement, state.namespace, makes=makes)

    def run_on_host(self, statement: Statement) -> None:
        """Python runs a statement itself, with the real values."""
        __tracebackhide__ = True
        if not statement.defines:
            self._protect(statement)
        if "config" in statement.names.attributes | statement.names.reads:
            self._state.journal.on_undo(partial(_jax.restore_config, _jax.config_values()))
        self._python(statement, statement.code)
        self._state.context = _jax.trace_context()  # it may have changed jax.config

    def _block(self, cell: CellSource, record: CodeRecord) -> None:
        __tracebackhide__ = True
        state = self._state
        state.context = _jax.trace_context()
        index, statements = 0, cell.statements
        if jax.config.jax_disable_jit:  # type: ignore[attr-defined]  # JAX then calls nothing that is compiled
            for statement in statements:
                self.run_on_host(statement)
            return
        while index < len(statements):
            if state.is_watched:
                self.run_on_host(statements[index])
                index += 1
                continue
            if self._is_for_python(record, index, statements[index]):
                self._by_python(cell, record, index)
                index += 1
                continue
            found = find_piece(record, index, state.namespace, state.context, state.device)
            if found is None:
                if self.is_for_host(statements[index]) or record.end():
                    self.run_on_host(statements[index])
                    index += 1
                    continue
                found = self._maker.make(cell, record, index)
                if found is None:
                    continue
            piece, reached = found
            if state.options.whole and not state.options.shapes and state.ran and id(piece) not in state.ran:
                line = max(state.host_lines)
                raise Refused(
                    f"the cell would be compiled in two pieces: Python runs line {line} in between.",
                    why="--whole asks for a single program.",
                    fix="move that line above or below the statements that compute, or leave --whole out.",
                    line=line,
                )
            try:
                self._run_piece(cell, record, piece, reached)
            except Deleted as deleted:
                record.use(piece, state.cache_size, state.record.runs)  # it need not be traced again to find that out
                self._with_deleted(cell, piece, deleted)
            except Exception:
                if piece.compiled is not None:  # a callback that raises, say: the cell may catch it, on each run
                    record.use(piece, state.cache_size, state.record.runs)
                raise
            index = piece.plan.stop

    def _is_for_python(self, record: CodeRecord, index: int, statement: Statement) -> bool:
        return record.may_be_for_python(index) and record.is_for_python(
            index, code_marks(statement.names, self._state.namespace)
        )

    def _with_deleted(self, cell: CellSource, piece: Piece, deleted: Deleted) -> None:
        """Python runs the statements of a piece: they may catch what JAX raises, or read nothing but a shape.

        Raises:
          Deleted: if the cell may only be a program, or gives up buffers.
          Exception: what JAX raises where they need what is gone: the cell around them may catch it by its class.
        """
        __tracebackhide__ = True
        state = self._state
        if state.options.whole or state.asked is not None or state.options.xmap is not None or piece.donation.leaves:
            raise deleted
        state.deleted = deleted.with_traceback(None)
        for statement in piece.plan.statements_of(cell):
            self.run_on_host(statement)

    def _protect(self, statement: Statement) -> None:
        """Saves what a statement may change, unless it stands in one for which that was done."""
        state = self._state
        if not state.depth and may_mutate(statement.names, state.namespace):
            state.journal.protect_read(statement.names, state.namespace)

    def _python(self, statement: Statement, code: Any, before: Any = None) -> None:
        __tracebackhide__ = True
        state = self._state
        state.host_lines.add((state.called or statement.span).line)
        state.before_host()
        state.at = None
        start = perf_counter()
        if before is not None:
            exec(before, state.namespace)
        if statement.trailing:
            state.value = eval(code, state.namespace)
        else:
            exec(code, state.namespace)
        state.host_seconds += perf_counter() - start

    def _by_python(self, cell: CellSource, record: CodeRecord, index: int) -> None:
        """A statement that needs values: as it is, or taken apart."""
        __tracebackhide__ = True
        state = self._state
        statement, opened = cell.statements[index], record.opened.get(index)
        if opened is None:
            leaving = record.leaving.get(index)
            with state.left.around(leaving) if leaving is not None else nullcontext():
                self.run_on_host(statement)
            return
        reached = functions_reached(statement.names, state.namespace) if opened.functions else []
        if reached and (moved := opened_again(cell, statement, state.namespace, opened, reached)) is not None:
            record.open(index, opened := moved)
        self._protect(statement)
        own = (RUNNER, TURNED, CAUGHT)
        outer = [(name, state.namespace[name]) for name in own if name in state.namespace]
        turning, state.turning = state.turning, state.turning | opened.turning
        traced = len(state.traced)
        state.depth += 1

        def block(number: int) -> None:
            __tracebackhide__ = True
            try:
                self._block(opened.blocks[number], record.enter(index, opened.blocks[number]))
            except Refused as refused:
                raise _Escape(refused) from None

        state.namespace |= zip(own, (block, state.turns.add, tidy_caught), strict=True)
        called, state.called = state.called, state.called or (statement.span if opened.functions else None)
        try:
            with Undo() as undo:
                if opened.functions:
                    record.spare(index, state.record.runs, state.since.alone)
                    call_blocks(opened, reached, state.namespace, block, state.turns.add, undo)
                self._python(statement, opened.code, opened.before)
        except _Escape as escape:
            if state.depth > 1:
                raise
            raise escape.refused from None
        finally:
            state.depth -= 1
            state.called = called
            state.context = _jax.trace_context()  # a block may have been in another one
            state.turning = turning
            for name in (*own, *opened.left):
                state.namespace.pop(name, None)
            state.namespace.update(outer)
        if opened.functions:
            record.note_run(index, state.record.runs, state.since.alone, len(state.traced) > traced)
        if opened.before is not None:
            record.rest(index, len(state.traced) > traced and bool(state.since.alone or state.depth))

    def _run_piece(self, cell: CellSource, record: CodeRecord, piece: Piece, reached: Reached) -> None:
        __tracebackhide__ = True
        state = self._state
        if piece.derivative is not None:
            self._maker.refuse_detour(piece.derivative, piece.plan.start)
        if piece.compiled is None or any(item.names.handles_errors for item in piece.plan.statements_of(cell)):
            check_deleted(reached, state.lost.where)  # a program leaves out what needs an array for nothing
        arguments = reached.leaves
        if piece.prelude is not None:
            arguments = piece.prelude.arguments(reached.leaves, reached.scalars)
        if state.device is not None:
            arguments, moved = move(arguments, state.device)
            state.transferred += moved
        if piece.compiled is None:
            self._maker.compile(record, piece)
        given = arguments if piece.placing is None else piece.placing.arguments(arguments)
        if state.options.time or state.options.nans:
            state.held[id(piece)] = levels.hold_inputs(piece, given)
        if piece.donation.leaves:
            self._give_up(cell, piece, reached)
        for function in piece.called_back.functions if piece.called_back is not None else ():
            state.journal.protect(function)
        state.at = piece
        start = perf_counter()
        outputs = state.strategy.dispatch(piece, reached, given, state.lost.where)
        if piece.called_back is not None:
            jax.effects_barrier()  # eagerly a callback has returned before the next statement begins
        if piece.placing is not None:
            outputs = piece.placing.outputs(outputs, arguments, given)
        if piece.prelude is not None:
            outputs = piece.prelude.results(outputs, reached.scalars)
        state.dispatch_seconds += perf_counter() - start
        if piece.gives and id(piece) not in state.held:
            self._delete_given(cell, piece, reached)
        value = piece.recipe.apply(reached, outputs, state.namespace, state.journal, state.before_host)
        for name in piece.donation.unbound:
            state.namespace.pop(name, None)
            state.lost.name(name, cell.filename, line_of_name(cell, piece, name))
        if piece.recipe.value is not None:
            state.value = value
        state.ran[id(piece)] = Ran(cell, piece, reached, outputs)
        record.use(piece, state.cache_size, state.record.runs)

    def _give_up(self, cell: CellSource, piece: Piece, reached: Reached) -> None:
        """Before a donating dispatch: nobody else may lose anything, and where the arrays went is remembered."""
        state = self._state
        remembered = check_donation(piece.donation, reached, state.namespace)
        if remembered:
            text = f"{', '.join(sorted(remembered))} held what was donated, and is gone with it"
            state.findings.append(Finding("donate", text))
        for index in piece.donation.leaves:
            name = root_name(reached.paths[index]) or ""
            state.lost.array(reached.leaves[index], cell.filename, line_of_name(cell, piece, name))
            state.donated += reached.leaves[index].nbytes

    def _delete_given(self, cell: CellSource, piece: Piece, reached: Reached) -> None:
        """Deletes what functions of the cell have donated, as they do in the plain cell."""
        for index in piece.gives:
            leaf = reached.leaves[index]
            if not leaf.is_deleted():
                name = root_name(reached.paths[index]) or ""
                self._state.lost.array(leaf, cell.filename, line_of_name(cell, piece, name))
                leaf.delete()
