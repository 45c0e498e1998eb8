"""What one shell has staged: the programs of its cells, and what each run came to."""

from __future__ import annotations

import gc
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import jax

import jaxnb.staging as room
from jaxnb import _jax
from jaxnb.errors import Asking, JaxnbError, Refused
from jaxnb.options import StageOptions
from jaxnb.program import Finding, Program, Span
from jaxnb.reading import SimulatedMesh, total
from jaxnb.runtime import memory_maps, most_memory_maps, undo_after, undo_depth
from jaxnb.staging import levels, mapped
from jaxnb.staging.cells.cell import CellSource, Statement, parse_cell
from jaxnb.staging.cells.effects import first_effect
from jaxnb.staging.objects.paths import Choices
from jaxnb.staging.reuse.advice import retrace_findings
from jaxnb.staging.reuse.cache import CodeRecord
from jaxnb.staging.reuse.changes import each_once
from jaxnb.staging.reuse.history import Change, History
from jaxnb.staging.session.all_sizes import trace_sized
from jaxnb.staging.session.backend import want_devices
from jaxnb.staging.session.choices import apply_options
from jaxnb.staging.session.dispatch import is_out_of_memory
from jaxnb.staging.session.execution import Execution, Progress
from jaxnb.staging.session.fates import read_needed, read_on_host
from jaxnb.staging.session.machine import planning_for
from jaxnb.staging.session.observer import Elsewhere, Observer, Planner
from jaxnb.staging.session.outcome import (
    bind_function,
    bound_names,
    check_name,
    exporter_of,
    findings_of,
    findings_of_traced,
    forget_others,
    host_note,
    measure_pieces,
    note_of,
    outputs_of,
    program_of,
    sizes_of,
    timings_of,
    value_of,
    what_ran,
)
from jaxnb.staging.session.plan import DEFINITIONS, make_plan
from jaxnb.staging.session.run import LastRun, Later, Retrace, Run, Shown, Timings
from jaxnb.staging.session.runner import Runner
from jaxnb.staging.session.strategy import HERE
from jaxnb.staging.session.tracebacks import point_at_line
from jaxnb.staging.trace.assigned import NameLog
from jaxnb.staging.trace.devices import find_device, on_device
from jaxnb.staging.trace.donation import DonationLog
from jaxnb.staging.trace.ended import MissingName
from jaxnb.staging.trace.piece import Piece, Plan
from jaxnb.staging.trace.stage import trace_piece

if TYPE_CHECKING:
    from jaxnb.program import Diff, Gradients, RematPolicies, TargetPlans

__all__ = ["Session"]

_MOST_BEFORE = 32
"""Cells whose last program is kept, so that the next one can be compared with it."""
_FULL = 0.75  # of the memory maps that a process may have; what JAX itself compiles needs some, too


class Session:
    """The programs of the cells that one shell has staged.

    Args:
      cache_size: how many programs are kept for each piece of a cell; in a loop, all of the last run.
      observer: who finds out what there is to say about its runs; by default nobody does.
      planner: who plans cells for machines that are not there.

    Attributes:
      observer: the same.
      file_label: what the user knows a file by, such as "Cell In[3]" for the source of another cell.
      lost: what was donated, and where.
      history: what was traced, and why.
      home: the names of the shell that the session belongs to, which outlive it.
      looks: whether runs are looked through for quiet findings.
      shown: the kinds of these that are written out under the line; the others are counted there.
      simulated: the mesh that is not there for which cells are planned, instead of being run.
      strategy: how programs are run.
      elsewhere: who runs the cells that are for other processes, which is nobody until there are some.
      was_cleared: whether there was a last run, and all was let go of since.
    """

    def __init__(self, cache_size: int = 4, observer: Observer | None = None, planner: Planner | None = None) -> None:
        self.cache_size = cache_size
        self.observer = observer if observer is not None else Observer()
        self._planner = planner
        self._last: LastRun | None = None
        self.was_cleared = False
        self.file_label: Callable[[str], str] = str
        self._records: OrderedDict[tuple[Any, ...], CodeRecord] = OrderedDict()
        self._sources: OrderedDict[tuple[str, str, int, str | None], CellSource] = OrderedDict()
        self._maps: OrderedDict[tuple[Any, ...], CellSource] = OrderedDict()
        self._cells: dict[str, tuple[Any, ...]] = {}
        self.filenames: OrderedDict[str, str] = OrderedDict()
        self.lost = DonationLog(self._label)
        self.history = History()
        self._before: OrderedDict[Any, Callable[[], Program]] = OrderedDict()
        self.home: dict[str, Any] | None = None
        self.looks = True
        self.shown: frozenset[str] = frozenset()
        self.simulated: SimulatedMesh | None = None
        self.strategy = HERE
        self.elsewhere: Elsewhere | None = None

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
        _jax.forget_lost_place()
        cell = self.parse(source, filename, shown, offset)
        with planning_for(self, options) as planned:
            if (elsewhere := self._elsewhere(planned)) is not None:
                run = elsewhere.run_cell(self, cell, offset, namespace, planned, cell_id, progress, before_host)
                return self._finish(run)
            if options.devices is not None:
                want_devices(options.devices)
            return self._stage(cell, namespace, planned, cell_id, progress, before_host)

    def _stage(
        self,
        cell: CellSource,
        namespace: dict[str, Any],
        options: StageOptions,
        cell_id: str | None,
        progress: Progress,
        before_host: Callable[[], None],
    ) -> Run:
        __tracebackhide__ = True
        search = None
        if options.xmap is not None and options.xmap.auto:
            check_name(cell, options.name)
            best = self.planner.search_run(self, cell, namespace, options, progress)
            if isinstance(best, Run):
                return self._finish(best)
            search, mesh = best
            spread = tuple(search.best.resources.items())
            options = replace(options, xmap=replace(options.xmap, auto=False, resources=spread, mesh=mesh))
        if options.export is not None and (self.simulated is not None or not cell.statements):
            why = "the mesh is not there, and cells are planned" if cell.statements else "the cell holds no statement"
            raise Refused("the cell cannot be exported: nothing would run.", why=f"{why}.")
        if self.simulated is not None:
            run = self.planner.simulate_run(self, cell, namespace, options, progress)
        elif not cell.statements:
            note, later = (
                "nothing compiled: the cell holds no statement",
                Later(lambda: levels.read_program(cell, (), (), ())),
            )
            run = Run(note=note, note_kind="defined", reused=True, later=later)
        else:
            run = self._run(cell, namespace, options, cell_id, progress, before_host)
        return self._finish(run if search is None else replace(run, search=search))

    def _elsewhere(self, options: StageOptions) -> Elsewhere | None:
        """Who runs a cell that is not for this process; None for one that is."""
        if self.elsewhere is None and options.cluster:
            raise Refused(
                "--cluster: there is no cluster.",
                why="none was started, and none attached.",
                fix="%jaxnb cluster start -n 2 starts one here; %jaxnb cluster attach takes one that runs.",
            )
        if self.elsewhere is None or options.here or not (options.cluster or self.elsewhere.by_default):
            return None
        if options.cluster and self.simulated is not None:
            raise Refused("--cluster: a mesh is simulated, and nothing runs.", fix="%jaxnb mesh off ends that.")
        return self.elsewhere if self.simulated is None else None

    def _run(
        self,
        cell: CellSource,
        namespace: dict[str, Any],
        options: StageOptions,
        cell_id: str | None,
        progress: Progress,
        before_host: Callable[[], None],
    ) -> Run:
        __tracebackhide__ = True
        namespace.setdefault("__name__", "__main__")
        namespace.setdefault("__builtins__", __builtins__)
        check_name(cell, options.name)
        around: Any = None
        written = cell
        if options.xmap is not None:
            cell, options, around = self._mapped(cell, options, namespace)
        key = (cell.digest, *options.programs, around)
        record = self._record(key)
        changed_code = self._changed_code(key, cell_id)
        if jax.config.jax_disable_jit:  # type: ignore[attr-defined]
            if options.export is not None:
                raise Refused("the cell cannot be exported: nothing is compiled.", why="JAX_DISABLE_JIT is set.")
            return self._plainly(cell, namespace)
        device = find_device(options.device) if options.device is not None else None
        entry = dict(namespace)
        structures = room.Entry.of(cell, namespace) if options.export is not None else None
        self.lost.bound_again(namespace)
        with on_device(device):
            execution = Execution(
                cell,
                namespace,
                options,
                record,
                device=device,
                lost=self.lost,
                label=self._label,
                explain=self._needed,
                cache_size=self.cache_size,
                progress=progress,
                before_host=before_host,
                names=partial(NameLog, cell.filename, self.file_label) if options.names else None,
                look=self._traced,
                strategy=self.strategy,
            )
        named, depth = "", undo_depth()
        try:
            with on_device(device):
                Runner(execution).run()
                self._check_options(execution)
                if options.name is not None:
                    named = bind_function(execution, written, options.name, entry)
                seconds = self._wait(execution)
                if structures is not None:
                    self._export(execution, structures, entry)
                execution.strategy.end()
        except BaseException as error:
            undo_after(depth)  # an interrupt may have come where nothing else would
            self._fail(error, execution, entry)
            raise
        try:
            return self._tell(execution, written, entry, key, cell_id, changed_code, named, seconds)
        except KeyboardInterrupt:  # the cell has done all that it does: what is left is to say so
            undo_after(depth)
            return Run(
                value=None if cell.silent else execution.value,
                outputs=bound_names(entry, namespace, cell.binds),
                reused=not execution.traced,
                note="interrupted after everything was bound",
            )

    def _export(self, execution: Execution, structures: Any, entry: dict[str, Any]) -> None:
        """Writes the cell as a file. Nothing of it stays where that cannot be done."""
        path = execution.options.export
        assert path is not None
        execution.progress(f"exporting to {path}")
        source = room.Source.of(execution)
        program = program_of(execution, (), None, self.file_label)
        room.export_run(source, tuple(execution.ran.values()), structures, entry, execution.namespace, program, path)

    def _fail(self, error: BaseException, execution: Execution, entry: dict[str, Any]) -> None:
        """Puts back what a cell has done until it raised, and attaches what there is to say to the error."""
        namespace = execution.namespace
        explanation = self.observer.on_error(error, execution.cell, self.file_label)
        if not execution.undo(entry):
            error.add_note("The cell had donated arrays by then: names and objects stay as it left them.")
        explanation.tell(namespace)
        execution.unbind_lost(error)
        if is_out_of_memory(error) and not self.explain_later(error, namespace) and execution.at is not None:
            self.observer.on_oom(error, execution.cell, execution.at, namespace, self.file_label)
        execution.explain_deleted(error)
        point_at_line(error, execution.cell.filename, namespace)

    def _tell(
        self,
        execution: Execution,
        written: CellSource,
        entry: dict[str, Any],
        key: tuple[Any, ...],
        cell_id: str | None,
        changed_code: str,
        named: str,
        seconds: float | None,
    ) -> Run:
        """What there is to say of a cell that has run."""
        options, record = execution.options, execution.record
        if options.keep is not None:
            forget_others(execution, entry, options.keep)
            execution.unbind_lost()
        if cell_id is not None:
            self._evict(key, cell_id)
        if execution.traced:
            self._make_room()
        record.runs += 1
        if changed_code and execution.traced and not execution.changes:
            execution.changes.append(Change("edited", "", changed_code))
        return self._describe(execution, written, entry, seconds, cell_id, named)

    @property
    def planner(self) -> Planner:
        """Who plans cells.

        Raises:
          JaxnbError: if nobody does.
        """
        if self._planner is None:
            raise JaxnbError("nobody plans the cells of this session.")
        return self._planner

    @property
    def last(self) -> Run | None:
        """The last run, with those of its values that are still held by anybody."""
        return self._last.run() if self._last is not None else None

    def programs(self) -> Iterator[Piece]:
        """The programs that are kept for cells, each once."""
        seen: set[int] = set()
        records = list(self._records.values())
        while records:
            record = records.pop(0)
            records += record.blocks.values()
            for piece in record.pieces:
                if id(piece) not in seen:
                    seen.add(id(piece))
                    yield piece

    def keep_programs(self, count: int) -> None:
        """From now on keeps this many programs for each piece of a cell; of more, the oldest are let go of."""
        self.cache_size = count
        records = [(record, record.runs) for record in self._records.values()]
        while records:
            record, runs = records.pop()
            records += [(inner, runs) for inner in record.blocks.values()]
            record.trim(count, runs)

    def clear(self) -> None:
        """Lets go of all programs: cells are traced and compiled anew. The last run and the comparisons go, too."""
        self._records.clear()
        self._before.clear()
        self.was_cleared, self._last = self._last is not None or self.was_cleared, None

    def _label(self, filename: str) -> str:
        return self.file_label(filename)

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
        cell = self.parse(source, filename, shown, offset)
        if not cell.statements:
            return Run(note="nothing to trace: the cell holds no statement", note_kind="defined")
        with planning_for(self, options) as options:
            mesh = self.simulated
            with mesh.ambient() if mesh is not None else nullcontext():
                whole = self.trace_whole(cell, namespace, options, mesh)
        if whole is None:
            note, kind = host_note(cell)
            return Run(note=note, note_kind=kind)
        cell, traced, record, states = whole
        run = Run(
            note="traced only: nothing was compiled, run or bound",
            note_kind="traced",
            equations=_jax.count_eqns(traced.jaxpr),
            inputs=len(traced.paths),
            pieces=1,
            timings=Timings(trace=traced.seconds),
            shown=Shown(as_text=True),
            findings=tuple(findings := findings_of_traced(traced)),
            later=Later(
                lambda: levels.read_program(
                    cell,
                    states,
                    (traced,),
                    tuple(findings),
                    self.file_label,
                    partial(levels.read_names, cell, (traced,), record, namespace, self.file_label),
                )
            ),
        )
        return self._finish(run)

    def trace_whole(
        self,
        cell: CellSource,
        namespace: dict[str, Any],
        options: StageOptions,
        mesh: SimulatedMesh | None = None,
        runs: bool = False,
    ) -> tuple[CellSource, Piece, CodeRecord, list[tuple[Span, str]]] | None:
        """Traces a cell as one piece, and puts everything back; None if nothing in it computes with JAX.

        Args:
          cell: which one.
          namespace: the globals it would run in.
          options: of it.
          mesh: one that is not there, for which it is traced.
          runs: whether it is traced as if it were to run: with its derivative and what it donates, and what it reaches
            is kept.

        Returns:
          The cell, as it was traced; the piece; the record of its code; and what became of each statement.
        """
        __tracebackhide__ = True
        namespace.setdefault("__name__", "__main__")
        if options.xmap is not None:
            cell, options, _ = self._mapped(cell, options, namespace)
        execution = Execution(cell, namespace, options, CodeRecord())
        runner = Runner(execution)
        execution.record.choices.abstract = mesh is not None
        entry, explanation = dict(namespace), None
        try:
            index = 0
            while index < len(cell.statements) and runner.is_for_host(cell.statements[index], makes=mesh is None):
                if runs:
                    _refuse_again(cell.statements[index], namespace)
                runner.run_on_host(cell.statements[index])
                index += 1
            if index == len(cell.statements):
                return None
            apply_options(cell, namespace, options, execution.record.choices)
            whole = runs or mesh is not None
            asked, donate = (execution.asked, options.donate) if whole else (None, ())
            piece: Piece | None = None
            while piece is None:
                taken = asked.inputs if asked is not None else frozenset[str]()
                plan = make_plan(cell, index, len(cell.statements), frozenset(execution.record.forced), taken)
                try:
                    how: dict[str, Any] = {"context": execution.context, "device": mesh, "whole": True}
                    how |= {"donate": donate, "asked": asked}
                    trace = partial(_trace_like, cell, plan, frozenset(execution.record.forced), namespace, how)
                    piece = trace_sized(cell, execution.record.choices, trace, namespace)
                except MissingName as missing:
                    execution.record.forced.add(missing.name)
        except Exception as error:
            explanation = self.observer.on_error(error, cell, self.file_label)
            raise
        finally:
            execution.undo(entry)
            if explanation is not None:
                explanation.tell(namespace)
        if not runs:
            piece.take_walk()
        execution.record.pieces.append(piece)
        states = [(item.span, "host" if n < index else "staged") for n, item in enumerate(cell.statements)]
        return cell, piece, execution.record, states

    def _try_policies(
        self,
        cell: CellSource,
        namespace: dict[str, Any],
        options: StageOptions,
        progress: Progress,
        more: Mapping[str, Any],
        time: bool,
    ) -> RematPolicies:
        _check_bound(more, namespace)
        return self.planner.try_policies(self, cell, namespace, _as_it_is(options, more), progress, time=time)

    def _plan_targets(
        self,
        cell: CellSource,
        namespace: dict[str, Any],
        options: StageOptions,
        names: Sequence[str],
        progress: Progress,
    ) -> TargetPlans:
        return self.planner.plan_targets(self, cell, namespace, _as_it_is(options, {}), names, progress)

    def _read_gradients(
        self, cell: CellSource, namespace: dict[str, Any], options: StageOptions, more: Mapping[str, Any]
    ) -> Gradients:
        _check_bound(more, namespace)
        plain = replace(_as_it_is(options, more), remat=())
        return levels.read_gradients(lambda: self.trace_whole(cell, namespace, plain, runs=True), cell, self.file_label)

    def _needed(self, asking: Asking, cell: CellSource) -> Finding | None:
        return self.observer.on_needed(asking, cell, self.file_label)

    def explain_later(self, error: BaseException, namespace: Mapping[str, Any]) -> bool:
        """Attaches to an error of a device, which came up when somebody waited, what it says of the earlier cell whose
        program did not get its memory; False if there is no such cell.

        Args:
          error: any.
          namespace: the names, one of which is bound to what that cell should have made.
        """
        if not is_out_of_memory(error):
            return False
        return self.observer.on_oom_earlier(error, self.programs(), namespace, self.file_label)

    # --- before and after ---

    def parse(self, source: str, filename: str | None = None, shown: str | None = None, offset: int = 0) -> CellSource:
        """The text of a cell as statements; see `stage` for the arguments.

        Raises:
          SyntaxError: if it is no Python.
        """
        digest = hashlib.blake2b(source.encode(), digest_size=6).hexdigest()
        name = filename or f"<cell {digest}>"
        key = (source, name, offset, shown)  # whose first line says how it is run, and may be another each time
        cell = self._sources.get(key)
        if cell is None:
            cell = self._sources[key] = parse_cell(source, filename=name, shown=shown, offset=offset)
            if len(self._sources) > 512:
                self._sources.popitem(last=False)
        return cell

    def _mapped(
        self, cell: CellSource, options: StageOptions, namespace: dict[str, Any]
    ) -> tuple[CellSource, StageOptions, Any]:
        """A cell whose body is mapped over names: as one statement, and what besides it its program depends on."""
        spec = options.xmap
        assert spec is not None
        outside = mapped.outside_of(cell, options, namespace)
        around = mapped.surroundings_of(cell, spec, namespace)
        key = (cell.text, cell.filename, cell.shown, spec, spec.header, around)
        whole = self._maps.get(key)
        if whole is None:
            whole = self._maps[key] = mapped.map_cell(cell, spec, around)
            if len(self._maps) > 256:
                self._maps.popitem(last=False)
        return whole, replace(options, whole=True), outside

    def _record(self, key: tuple[Any, ...]) -> CodeRecord:
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = CodeRecord()
            if len(self._records) > 256:
                self._records.popitem(last=False)
        self._records.move_to_end(key)
        return record

    def _changed_code(self, key: tuple[Any, ...], cell_id: str | None) -> str:
        """What is new about a cell that had other code, or ran among other resources; "" if nothing is."""
        old = self._cells.get(cell_id) if cell_id is not None else None
        if old is None or old == key:
            return ""
        return "the mesh or a loop changed" if old[:-1] == key[:-1] else "the code of the cell changed"

    def _evict(self, key: tuple[Any, ...], cell_id: str) -> None:
        """After a cell was edited and has run: its old code's programs go, unless another cell has the same code."""
        old = self._cells.get(cell_id)
        self._cells[cell_id] = key
        if old is not None and old != key and old not in self._cells.values():
            self._records.pop(old, None)

    def _make_room(self) -> None:
        """Lets go of the programs of cells that ran longest ago where the process is about to have no room for more."""
        most = most_memory_maps()
        while most is not None and len(self._records) > 1 and memory_maps() > _FULL * most:
            for _ in range((len(self._records) + 1) // 2):
                self._records.popitem(last=False)
            gc.collect()

    def _plainly(self, cell: CellSource, namespace: dict[str, Any]) -> Run:
        before, value = dict(namespace), None
        for statement in cell.statements:
            if statement.trailing:
                value = eval(statement.code, namespace)
            else:
                exec(statement.code, namespace)
        outputs = bound_names(before, namespace, cell.binds)
        return Run(None if cell.silent else value, outputs, note="ran plainly: JAX_DISABLE_JIT is set")

    def _check_options(self, execution: Execution) -> None:
        if execution.options.strict:
            for piece in execution.traced:
                for kind, line, text in piece.notes:
                    if kind == "x64":
                        fix = "make it an array of 32 bits yourself, or set jax_enable_x64."
                        raise Refused(f"{text}.", why="it loses bits, and --strict refuses that.", fix=fix, line=line)
        if execution.options.keep is not None:
            for name in execution.options.keep:
                if name not in execution.cell.binds:
                    bound = ", ".join(sorted(execution.cell.binds)) or "none"
                    raise Refused(f"--keep {name}: the cell does not bind `{name}`.", why=f"it binds {bound}.")

    def _wait(self, execution: Execution) -> float | None:
        if not (execution.options.block or execution.options.time or execution.options.nans):
            return None
        start = perf_counter()
        execution.progress("running")
        jax.block_until_ready([ran.outputs for ran in execution.ran.values()])
        return execution.dispatch_seconds + perf_counter() - start

    def _describe(
        self,
        execution: Execution,
        written: CellSource,
        entry: dict[str, Any],
        seconds: float | None,
        cell_id: str | None,
        named: str,
    ) -> Run:
        cell, options, namespace = execution.cell, execution.options, execution.namespace
        pieces, traced = execution.pieces, execution.traced
        findings = findings_of(execution)
        if options.nans:
            findings += self.observer.on_nans(execution, entry)
        figures = total(piece.read_figures() for piece in pieces)
        if self.looks:
            findings += self.observer.on_ran(execution, cell_id or cell.digest, self.shown)
        timings = timings_of(execution, seconds)
        retrace = self._remember_trace(execution, cell_id, timings) if traced else None
        told = retrace.findings if retrace is not None else ()
        everything = (*findings, *told, *read_needed(cell, execution.record))
        if len(told) > 1 or any(finding.fix is not None for finding in told):
            findings.extend(told)  # a single reason stands on the line
        timing, with_times = measure_pieces(execution, pieces) if options.time else (None, None)
        derivative, equations, make_source = what_ran(execution, written, entry)
        note, note_kind = note_of(execution)
        all_sizes, sizes = sizes_of(execution)
        record = execution.record  # what is made later holds no array of the run
        make = program_of(execution, everything, with_times, self.file_label)
        label, same = self.file_label, cell_id or (id(namespace), cell.binds or cell.digest)
        later = Later(
            lambda: make(partial(levels.read_names, cell, pieces, record, namespace, label)),
            make,
            make_source,
            partial(self.observer.shardings, cell, pieces, namespace, label) if pieces else None,
            self._compare(make if pieces else None, same, options.diff),
            partial(self._try_policies, cell, namespace, options) if pieces else None,
            partial(self._read_gradients, cell, namespace, options) if pieces else None,
            exporter_of(execution, make) if pieces else None,
            partial(self._plan_targets, written, namespace, options) if pieces else None,
        )
        return Run(
            value=value_of(execution),
            outputs=outputs_of(execution, entry),
            reused=not traced,
            retrace=retrace,
            findings=tuple(findings),
            timings=timings,
            host_lines=tuple(sorted(execution.host_lines)),
            on_host=tuple(read_on_host(cell, execution.record)),
            loops=execution.turns.of_outer,
            transferred=execution.transferred,
            donated=execution.donated,
            inputs=sum(len(ran.reached.leaves) for ran in execution.ran.values()),
            equations=equations,
            pieces=len(pieces),
            figures=figures,
            all_sizes=all_sizes,
            sizes=sizes,
            named=named,
            derivative=derivative,
            timing=timing,
            exported=options.export or "",
            note=note,
            note_kind=note_kind,
            dispatch_seconds=execution.dispatch_seconds,
            # What was measured is another each time.
            served=pieces[0].serves_with(pieces[1:], everything, cell.shown) if pieces and timing is None else None,
            later=later,
        )

    def _traced(self, cell: CellSource, piece: Piece, namespace: dict[str, Any]) -> None:
        if self.looks:
            self.observer.on_traced(cell, piece, namespace, self.file_label)

    def _remember_trace(self, execution: Execution, cell_id: str | None, timings: Timings) -> Retrace | None:
        """Takes down in the history that a cell was traced; why, if it was not the first time."""
        cell, changes = execution.cell, each_once(execution.changes)
        title = cell.text.strip().partition("\n")[0]
        group = self.history.group(cell_id or cell.digest.hex(), title, cell.filename)
        seconds = timings.trace + timings.lower + timings.compile
        told = self.history.add(group, changes, seconds)
        if not changes:
            return None
        findings = retrace_findings(told, seconds)
        if any(finding.fix is not None and finding.fix.options for finding in findings):
            findings = self.observer.on_retraced(findings, cell.shown, execution.namespace)
        return Retrace(tuple(change.text for change in changes), findings)

    def _compare(self, make: Callable[[], Program] | None, cell: Any, asked: bool) -> Callable[[Program], Diff] | None:
        """What says what changed since the run of the same cell before, if that was asked; and keeps what makes the
        program of this one."""
        before = self._before.pop(cell, None)
        if make is not None:
            self._before[cell] = make
            if len(self._before) > _MOST_BEFORE:
                self._before.popitem(last=False)
        return (lambda program: program.diff(before())) if asked and before is not None else None

    def _finish(self, run: Run) -> Run:
        try:
            self.remember(run)
        except KeyboardInterrupt:  # the cell has done all that it does
            self._last = None
        return run

    def remember(self, run: Run) -> None:
        """Makes a run the last one, as it is now."""
        self._last, self.was_cleared = LastRun(run, self.home is not None), False


def _as_it_is(options: StageOptions, more: Mapping[str, Any]) -> StageOptions:
    """The options of a run with others, for the sizes that its inputs have."""
    return replace(options, shapes=(), where=(), **more)


def _check_bound(more: Mapping[str, Any], namespace: Mapping[str, Any]) -> None:
    for name in more.get("wrt", ()):
        if name not in namespace:
            raise JaxnbError(f"`{name}` is not bound any more.", fix="run the cell again that binds it.")


def _trace_like(
    cell: CellSource,
    plan: Plan,
    forced: frozenset[str],
    namespace: dict[str, Any],
    how: Mapping[str, Any],
    other: CellSource,
    choices: Choices,
) -> Piece:
    """Traces a cell by a plan, or one with the same statements but for a few words."""
    __tracebackhide__ = True
    if other is not cell:
        also = how["asked"].inputs if how["asked"] is not None else frozenset[str]()
        plan = make_plan(other, plan.start, plan.stop, forced, also)
    return trace_piece(other, plan, namespace, choices, **how)


def _refuse_again(statement: Statement, namespace: dict[str, Any]) -> None:
    """Refuses to run a statement of a cell once more that may do more than to make values.

    Raises:
      Refused: naming its line.
    """
    if statement.defines or statement.kind in DEFINITIONS:
        return
    effect = first_effect(statement.names, namespace)
    if effect is not None and not effect[1].startswith("print"):
        line = statement.span.line
        raise Refused(
            f"line {line} would be run once more, and it may do more than make values: {effect[1]}.",
            why="the cell is traced anew to be looked at, and what stands before its program is run for that.",
            fix="put it into a cell above.",
            line=line,
        )
