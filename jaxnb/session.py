"""What one shell has staged, and the run of a cell from its text to its bindings.

A run goes through the statements in order. A stretch of statements that compute with JAX is a *piece*: its program is
looked up or traced, dispatched at once without waiting, and its results are bound. Every other statement is run by
Python in between, on the real values. If anything fails, the names and the objects that were touched are put back.
"""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax

from jaxnb import _jax
from jaxnb.cache import CodeRecord, explain_change, find_piece, scalars_that_changed
from jaxnb.cell import CellSource, Statement, parse_cell
from jaxnb.devices import find_device, move, on_device
from jaxnb.dispatch import compile_piece, dispatch
from jaxnb.donation import Lost, check_donation
from jaxnb.errors import Refused
from jaxnb.graph import Reached, Scan
from jaxnb.journal import Journal
from jaxnb.options import StageOptions
from jaxnb.paths import Choices, is_below, render_path, root_name
from jaxnb.piece import Piece
from jaxnb.plan import find_stop, make_plan, runs_on_host
from jaxnb.program import Finding
from jaxnb.reach import may_mutate
from jaxnb.run import LastRun, Retrace, Run, Timings
from jaxnb.slots import Slots
from jaxnb.staging import MissingName, StopAt, restore_names, trace_piece

__all__ = ["Session"]

Progress = Callable[[str], None]


@dataclass(slots=True)
class _Running:
    """The state of one run."""

    cell: CellSource
    namespace: dict[str, Any]
    options: StageOptions
    record: CodeRecord
    device: Any
    progress: Progress
    before_host: Callable[[], None]
    dispatch_seconds: float = 0.0
    context: tuple[Any, ...] = ()
    journal: Journal = field(default_factory=Journal)
    pieces: list[Piece] = field(default_factory=list[Piece])
    outputs: list[Any] = field(default_factory=list[Any])
    reached: list[Reached] = field(default_factory=list[Reached])
    traced: list[Piece] = field(default_factory=list[Piece])
    reasons: list[str] = field(default_factory=list[str])
    host_lines: list[int] = field(default_factory=list[int])
    host_seconds: float = 0.0
    transferred: int = 0
    donated: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])
    value: Any = None


class Session:
    """The programs of the cells that one shell has staged.

    Args:
      cache_size: how many programs are kept for each piece of a cell.

    Attributes:
      file_label: what the user knows a file by, such as "Cell In[3]" for the source of another cell.
      lost: what was donated, and where.
    """

    def __init__(self, cache_size: int = 4) -> None:
        self.cache_size = cache_size
        self._last: LastRun | None = None
        self.file_label: Callable[[str], str] = str
        self._records: OrderedDict[tuple[Any, ...], CodeRecord] = OrderedDict()
        self._sources: OrderedDict[tuple[str, str, int], CellSource] = OrderedDict()
        self._cells: dict[str, tuple[Any, ...]] = {}
        self.filenames: OrderedDict[str, str] = OrderedDict()
        self.lost = Lost(self._label)

    def remember_filename(self, shown: str, filename: str) -> None:
        """Keeps the name under which a text was compiled, so that it need not be compiled again."""
        self.filenames[shown] = filename
        if len(self.filenames) > 512:
            self.filenames.popitem(last=False)

    def stage(
        self,
        source: str,
        namespace: dict[str, Any],
        options: StageOptions,
        *,
        filename: str | None = None,
        shown: str | None = None,
        offset: int = 0,
        cell_id: str | None = None,
        progress: Progress = lambda _: None,
        before_host: Callable[[], None] = lambda: None,
    ) -> Run:
        """Stages a cell: traces it or finds its program, runs it, binds what the plain cell would bind.

        Args:
          source: the text of the cell, without the magic line.
          namespace: the globals it runs in.
          options: see `StageOptions`.
          filename: the name for tracebacks; made up if None.
          shown: the cell as displayed, with the magic line.
          offset: how many displayed lines come before `source`.
          cell_id: the identity of the cell, where the front end has one.
          progress: called with what is going on.
          before_host: called before Python runs a statement, which may print.

        Raises:
          Refused: if the cell cannot be staged; nothing has changed then.
          Exception: what the cell raises; names and objects are as before.
        """
        __tracebackhide__ = True
        cell = self._parse(source, filename, shown, offset)
        namespace.setdefault("__name__", "__main__")
        namespace.setdefault("__builtins__", __builtins__)
        if not cell.statements:
            run = Run(note="nothing to stage: the cell holds no statement", reused=True)
            run.make_program = lambda: _levels().read_program(cell, (), ())
            return self._finish(run)
        key = (cell.digest, options.static, options.dynamic, options.donate, options.keep)
        record = self._record(key)
        changed_code = self._changed_code(key, cell_id)
        if jax.config.jax_disable_jit:  # type: ignore[attr-defined]
            return self._finish(self._plainly(cell, namespace))
        device = find_device(options.device) if options.device is not None else None
        running = _Running(cell, namespace, options, record, device, progress, before_host)
        entry = dict(namespace)
        try:
            with on_device(device):
                running.context = _jax.trace_context()
                self._statements(running)
                self._check_options(running)
                seconds = self._wait(running)
        except BaseException as error:
            running.journal.undo()
            restore_names(namespace, entry)
            self._unbind_lost(running, error)
            if (reason := self.lost.explain(error)) is not None:
                error.add_note(reason)
            raise
        if options.keep is not None:
            _forget(running, entry, options.keep)
            self._unbind_lost(running)
        if cell_id is not None:
            self._evict(key, cell_id)
        record.runs += 1
        return self._finish(self._describe(running, entry, seconds, changed_code))

    @property
    def last(self) -> Run | None:
        """The last run, with those of its values that are still held by anybody."""
        return self._last.run() if self._last is not None else None

    def _label(self, filename: str) -> str:
        return self.file_label(filename)

    # --- the statements ---

    def _statements(self, running: _Running) -> None:
        __tracebackhide__ = True
        index, statements = 0, running.cell.statements
        while index < len(statements):
            found = find_piece(running.record, index, running.namespace, running.context, running.device)
            if found is None:
                if runs_on_host(statements[index], running.namespace):
                    self._run_on_host(running, statements[index])
                    index += 1
                    continue
                found = self._trace(running, index)
            piece, reached = found
            if running.options.whole and running.pieces:
                raise Refused(
                    f"the cell would be compiled in two pieces: Python runs line {running.host_lines[-1]} in between.",
                    why="--whole asks for a single program.",
                    fix="move that line above or below the statements that compute, or leave --whole out.",
                    line=running.host_lines[-1],
                )
            self._run_piece(running, piece, reached)
            index = piece.plan.stop

    def _run_on_host(self, running: _Running, statement: Statement) -> None:
        __tracebackhide__ = True
        namespace = running.namespace
        if not statement.defines and may_mutate(statement.names, namespace):
            for name in sorted(statement.names.reads):
                if name in namespace and name != "__builtins__":
                    running.journal.protect(namespace[name])
        running.host_lines.append(statement.span.line)
        running.before_host()
        start = time.perf_counter()
        if statement.trailing:
            running.value = eval(statement.code, namespace)
        else:
            exec(statement.code, namespace)
        running.host_seconds += time.perf_counter() - start

    def _run_piece(self, running: _Running, piece: Piece, reached: Reached) -> None:
        __tracebackhide__ = True
        arguments, scalars = reached.leaves, []
        if piece.prelude is not None:
            scalars = piece.prelude.values(reached.leaves)
            arguments = piece.prelude.arguments(reached.leaves, scalars)
        if running.device is not None:
            arguments, moved = move(arguments, running.device)
            running.transferred += moved
        if piece.compiled is None:
            running.progress("compiling")
            running.findings.extend(Finding("donate", text) for text in compile_piece(piece))
        if piece.donation.leaves:
            self._give_up(running, piece, reached)
        start = time.perf_counter()
        outputs = dispatch(piece, reached, arguments, self.lost.where)
        if piece.prelude is not None:
            outputs = piece.prelude.results(outputs, scalars)
        running.dispatch_seconds += time.perf_counter() - start
        value = piece.template.apply(reached, outputs, running.namespace, before_change=running.journal.record)
        for name in piece.donation.unbound:
            running.namespace.pop(name, None)
            self.lost.name(name, running.cell.filename, _line_reading(running.cell, piece, name))
        if piece.template.value is not None:
            running.value = value
        running.pieces.append(piece)
        running.reached.append(reached)
        running.outputs.extend(outputs)
        running.record.use(piece, self.cache_size)

    def _give_up(self, running: _Running, piece: Piece, reached: Reached) -> None:
        """Before a donating dispatch: nobody else may lose anything, and where the arrays went is remembered."""
        remembered = check_donation(piece.donation, reached, running.namespace)
        if remembered:
            text = f"{', '.join(sorted(remembered))} held what was donated, and is gone with it"
            running.findings.append(Finding("donate", text))
        for index in piece.donation.leaves:
            name = root_name(reached.paths[index]) or ""
            self.lost.array(reached.leaves[index], running.cell.filename, _line_reading(running.cell, piece, name))
            running.donated += reached.leaves[index].nbytes

    def _unbind_lost(self, running: _Running, error: BaseException | None = None) -> None:
        """Unbinds the names whose arrays were given up to a run that then failed, or that did not keep the results."""
        for piece, reached in zip(running.pieces, running.reached, strict=True):
            names: set[str] = set()
            for index in piece.donation.leaves:
                name = root_name(reached.paths[index])
                if name is not None and name in running.namespace and reached.leaves[index].is_deleted():
                    names.add(name)
            for name in sorted(names):
                del running.namespace[name]
                self.lost.name(name, running.cell.filename, _line_reading(running.cell, piece, name))
            if names and error is not None:
                error.add_note(f"{', '.join(sorted(names))} was donated to this run before it failed: make it again.")

    def _trace(self, running: _Running, start: int) -> tuple[Piece, Reached]:
        __tracebackhide__ = True
        record, namespace, cell = running.record, running.namespace, running.cell
        running.progress("tracing")
        stop = find_stop(cell, start, namespace, record.breaks)
        previous = record.last.get(start)
        if record.runs == 0:
            _apply_options(running)
        attempt = self._with_changing_scalars(running, start, stop, previous)
        piece = attempt
        while piece is None:
            plan = make_plan(cell, start, stop, frozenset(record.forced))
            try:
                piece = trace_piece(
                    cell,
                    plan,
                    namespace,
                    record.choices,
                    running.context,
                    running.device,
                    donate=running.options.donate,
                )
            except StopAt as stopping:
                record.breaks.add(stopping.index)
                stop = stopping.index
            except MissingName as missing:
                record.forced.add(missing.name)
        if previous is not None:
            if previous.reasons:
                running.reasons.extend(_reason_text(line, text) for line, text in previous.reasons)
            else:
                running.reasons.extend(explain_change(previous, piece))
        running.traced.append(piece)
        # The walk of a trace is one of the state before it, which is the state now.
        return piece, piece.plan.scan(namespace, record.choices).reached()

    def _with_changing_scalars(self, running: _Running, start: int, stop: int, previous: Piece | None) -> Piece | None:
        """When Python scalars alone changed: the piece with them as inputs, if no value of theirs was needed (rule 3).

        Arithmetic among them is done by Python at each run.
        """
        if previous is None or previous.reasons or previous.context != running.context:
            return None
        record, plan = running.record, previous.plan
        if plan.stop != stop:
            return None
        scan = plan.scan(running.namespace, record.choices)
        paths = scalars_that_changed(previous, (running.device, *scan.parts))
        if not paths or paths & (record.never_dynamic | record.choices.fixed):
            return None
        choices = record.choices.changing(paths)
        try:
            piece = trace_piece(
                running.cell,
                plan,
                running.namespace,
                choices,
                running.context,
                running.device,
                donate=running.options.donate,
            )
        except Exception:  # whatever it is, the trace with static ints below says it properly
            record.never_dynamic |= paths
            return None
        if paths & choices.static or _types(piece) != _types(previous):
            record.never_dynamic |= paths
            return None
        record.choices = choices
        names = sorted(render_path(path) for path in paths)
        become = "is an input" if len(names) == 1 else "are inputs"
        piece.notes.append(("dynamic", None, f"{', '.join(names)} {become} from now on"))
        return piece

    def trace_only(
        self,
        source: str,
        namespace: dict[str, Any],
        options: StageOptions,
        *,
        filename: str | None = None,
        shown: str | None = None,
        offset: int = 0,
    ) -> Run:
        """Traces a cell as a whole and puts everything back: nothing is compiled, dispatched or bound.

        Statements before the first one that computes with JAX are run by Python, since their values are needed.

        Raises:
          Refused: if it cannot be staged.
        """
        __tracebackhide__ = True
        cell = self._parse(source, filename, shown, offset)
        namespace.setdefault("__name__", "__main__")
        if not cell.statements:
            return Run(note="nothing to trace: the cell holds no statement")
        running = _Running(cell, namespace, options, CodeRecord(), None, lambda _: None, lambda: None)
        entry = dict(namespace)
        try:
            running.context = _jax.trace_context()
            index = 0
            while index < len(cell.statements) and runs_on_host(cell.statements[index], namespace):
                self._run_on_host(running, cell.statements[index])
                index += 1
            if index == len(cell.statements):
                return Run(note=_host_note(cell))
            _apply_options(running)
            piece: Piece | None = None
            while piece is None:
                plan = make_plan(cell, index, len(cell.statements), frozenset(running.record.forced))
                try:
                    piece = trace_piece(cell, plan, namespace, running.record.choices, running.context, whole=True)
                except MissingName as missing:
                    running.record.forced.add(missing.name)
        finally:
            running.journal.undo()
            restore_names(namespace, entry)
        traced = piece
        count = f"{len(traced.jaxpr.eqns)} eqn{'' if len(traced.jaxpr.eqns) == 1 else 's'}"
        run = Run(
            note=f"traced only · {count} · nothing was compiled, run or bound",
            equations=len(traced.jaxpr.eqns),
            inputs=len(traced.paths),
            pieces=1,
            timings=Timings(trace=traced.seconds),
            traced_only=True,
            make_program=lambda: _levels().read_program(cell, (traced,), (), self.file_label),
        )
        return self._finish(run)

    # --- before and after ---

    def _parse(self, source: str, filename: str | None, shown: str | None, offset: int) -> CellSource:
        digest = hashlib.blake2b(source.encode(), digest_size=6).hexdigest()
        name = filename or f"<jaxnb cell {digest}>"
        key = (source, name, offset)
        cell = self._sources.get(key)
        if cell is None:
            cell = self._sources[key] = parse_cell(source, filename=name, shown=shown, offset=offset)
            if len(self._sources) > 512:
                self._sources.popitem(last=False)
        return cell

    def _record(self, key: tuple[Any, ...]) -> CodeRecord:
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = CodeRecord()
            if len(self._records) > 256:
                self._records.popitem(last=False)
        self._records.move_to_end(key)
        return record

    def _changed_code(self, key: tuple[Any, ...], cell_id: str | None) -> bool:
        return cell_id is not None and cell_id in self._cells and self._cells[cell_id] != key

    def _evict(self, key: tuple[Any, ...], cell_id: str) -> None:
        """After a cell was edited and has run: its old code's programs go, unless another cell has the same code."""
        old = self._cells.get(cell_id)
        self._cells[cell_id] = key
        if old is not None and old != key and old not in self._cells.values():
            self._records.pop(old, None)

    def _plainly(self, cell: CellSource, namespace: dict[str, Any]) -> Run:
        run = Run(note="ran plainly: JAX_DISABLE_JIT is set")
        before = dict(namespace)
        for statement in cell.statements:
            if statement.trailing:
                run.value = eval(statement.code, namespace)
            else:
                exec(statement.code, namespace)
        run.outputs = _bound(before, namespace, cell.binds)
        run.value = None if cell.silent else run.value
        return run

    def _check_options(self, running: _Running) -> None:
        if running.options.strict:
            for piece in running.traced:
                for kind, line, text in piece.notes:
                    if kind == "numpy":
                        raise Refused(f"{text}.", why="--strict refuses it.", fix="use jax.numpy there.", line=line)
        if running.options.keep is not None:
            for name in running.options.keep:
                if name not in running.cell.binds:
                    bound = ", ".join(sorted(running.cell.binds)) or "none"
                    raise Refused(f"--keep {name}: the cell does not bind `{name}`.", why=f"it binds {bound}.")

    def _wait(self, running: _Running) -> float | None:
        if not running.options.block and not running.options.time:
            return None
        start = time.perf_counter()
        running.progress("running")
        jax.block_until_ready(running.outputs)
        return running.dispatch_seconds + time.perf_counter() - start

    def _describe(self, running: _Running, entry: dict[str, Any], seconds: float | None, changed_code: bool) -> Run:
        cell, traced = running.cell, running.traced
        if changed_code and traced and not running.reasons:
            running.reasons.append("the code of the cell changed")
        findings = running.findings + [
            Finding(kind, text, line) for piece in running.pieces for kind, line, text in piece.notes
        ]
        for piece in running.pieces:
            findings.extend(
                Finding("not-reusable", f"not reusable: {_reason_text(line, text)}", line)
                for line, text in piece.reasons
            )
        if len(running.reasons) > 1:
            findings.extend(Finding("retrace", f"retraced: {reason}") for reason in running.reasons)
        note = "" if running.pieces else _host_note(cell)
        timings = Timings(
            trace=sum(piece.seconds for piece in traced),
            lower=sum(piece.lower_seconds for piece in traced),
            compile=sum(piece.compile_seconds for piece in traced),
            run=seconds,
            host=running.host_seconds,
        )
        pieces = tuple(running.pieces)
        return Run(
            value=None if cell.silent else running.value,
            outputs=_bound(entry, running.namespace, cell.binds),
            reused=not traced,
            retrace=Retrace(tuple(running.reasons)) if traced and running.reasons else None,
            findings=tuple(findings),
            timings=timings,
            host_lines=tuple(sorted(running.host_lines)),
            transferred=running.transferred,
            donated=running.donated,
            inputs=sum(len(reached.leaves) for reached in running.reached),
            equations=sum(len(piece.jaxpr.eqns) for piece in pieces),
            pieces=len(pieces),
            note=note,
            dispatch_seconds=running.dispatch_seconds,
            kept=_kept(pieces, tuple(findings)),
            make_program=lambda: _levels().read_program(cell, pieces, tuple(findings), self.file_label),
        )

    def _finish(self, run: Run) -> Run:
        self._last = LastRun(run)
        return run


def _apply_options(running: _Running) -> None:
    """Turns `--static` and `--dynamic` into paths. Every name must be one that the cell reads."""
    options, choices = running.options, running.record.choices
    if not options.static and not options.dynamic and not options.donate:
        return
    cell = running.cell
    plan = make_plan(cell, 0, len(cell.statements), frozenset(cell.reads))
    scan = Scan(running.namespace, plan.roots, plan.names, Choices(), frozenset(), Slots())
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
    if not any(isinstance(scan.leaves[index], jax.Array) for index in scan.leaves_below(text)):
        raise Refused(
            f"--donate {text}: `{text}` holds no JAX array.",
            why="only arrays on a device have a buffer that results can be written to.",
            fix="leave it out.",
        )


def _line_reading(cell: CellSource, piece: Piece, name: str) -> int:
    """The line of the first statement of a piece that reads a name."""
    statements = cell.statements[piece.plan.start : piece.plan.stop]
    lines = [statement.span.line for statement in statements if name in statement.names.reads]
    return lines[0] if lines else statements[0].span.line


def _types(piece: Piece) -> list[tuple[Any, ...]]:
    return [(aval.dtype, aval.shape, getattr(aval, "weak_type", False)) for aval in piece.jaxpr.out_avals]


def _reason_text(line: int | None, text: str) -> str:
    return f"line {line}, {text}" if line is not None else text


def _kept(pieces: tuple[Piece, ...], findings: tuple[Finding, ...]) -> dict[str, Any] | None:
    """Where views may keep what they made of these programs and findings."""
    if not pieces:
        return None
    shown = (tuple(id(piece) for piece in pieces[1:]), findings)
    kept = pieces[0].kept
    if kept.get("shown") != shown:
        kept.clear()
        kept.update(shown=shown, others=pieces[1:])
    return kept


def _host_note(cell: CellSource) -> str:
    kinds = {statement.kind for statement in cell.statements}
    if kinds <= {"FunctionDef", "AsyncFunctionDef", "ClassDef", "Import", "ImportFrom"}:
        return "nothing to compile: the cell only defines"
    return "nothing to compile: Python ran every statement"


def _bound(before: dict[str, Any], after: dict[str, Any], binds: frozenset[str]) -> dict[str, Any]:
    """The names that the cell bound, with their values: those that it says it binds, and those that it changed."""
    skipped = ("__builtins__", "__name__")
    return {
        name: value
        for name, value in after.items()
        if name not in skipped and (name in binds or name not in before or before[name] is not value)
    }


def _forget(running: _Running, entry: dict[str, Any], keep: tuple[str, ...]) -> None:
    """Puts back every name that is not to be kept."""
    namespace = running.namespace
    for name in running.cell.binds - set(keep):
        if name in entry:
            namespace[name] = entry[name]
        else:
            namespace.pop(name, None)


def _levels() -> Any:
    """Reading the levels, which is asked for only when somebody looks."""
    from jaxnb import levels

    return levels
