"""One piece of a cell, traced: its statements become a jaxpr, and what they left behind becomes a recipe.

A trace may show that a scalar must be static, or that a statement cannot be part of a program: then it is made again,
or the statement is left to Python.
"""

from __future__ import annotations

import importlib
import weakref
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from time import perf_counter
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb._jax import Left, apart, forget_staged, hosted_name, note_placements
from jaxnb.errors import KeepsTraced, Leaves, Refused, RunByPython
from jaxnb.program import Span
from jaxnb.reading import SimulatedMesh
from jaxnb.runtime import undo_after, undo_depth
from jaxnb.staging.cells.blocks import ROLLED
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.cells.effects import first_unseen
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.paths import Choices, render_path, without_places
from jaxnb.staging.objects.slots import Slots
from jaxnb.staging.trace.assigned import NameLog, log_names
from jaxnb.staging.trace.copies import cannot_copy
from jaxnb.staging.trace.devices import move
from jaxnb.staging.trace.diagnosis import culprit_of, explain_needed_value, only_tracing_raises
from jaxnb.staging.trace.donation import NO_DONATION, Donation
from jaxnb.staging.trace.early import read_before_bound
from jaxnb.staging.trace.exceptions import is_raised_by_code
from jaxnb.staging.trace.functions import Called
from jaxnb.staging.trace.giving import UsedAgain, read_given
from jaxnb.staging.trace.gradient import Derivative, DerivativeSpec, differentiate
from jaxnb.staging.trace.lifted import narrowed_to
from jaxnb.staging.trace.noticing import Importing, Touched
from jaxnb.staging.trace.piece import Piece, Plan, donated_places, taken
from jaxnb.staging.trace.placement import Conflict, read_placements
from jaxnb.staging.trace.placing import Apart, Arranged, arrange
from jaxnb.staging.trace.prelude import OutOfReach, SplitJaxpr, find_prelude
from jaxnb.staging.trace.ran import LARGE, Ran
from jaxnb.staging.trace.reasons import find_reasons, reached_effects, using_effect
from jaxnb.staging.trace.refused import refuse_seen, sees_stand_ins
from jaxnb.staging.trace.scalars import scalars_that_show
from jaxnb.staging.trace.size_questions import SizeQuestions
from jaxnb.staging.trace.trace import MissingName, ReadsGrown, StopAt, Trace, by_python
from jaxnb.staging.trace.tracer_patches import ValueNeeded
from jaxnb.staging.trace.turns import BUDGET, TooLong
from jaxnb.staging.trace.written_out import WrittenOut

__all__ = ["Failed", "MissingName", "StopAt", "trace_piece"]

_GIVEN_UP = (StopAt, MissingName, RunByPython, ValueNeeded, TooLong, WrittenOut, Touched, ReadsGrown)

_FEW = 4
"""Scalars of one list that are needed before others are taken to be needed, too."""
MANY = 10_000
"""Inputs from which on a cell is told that they cost time."""


class Failed(Exception):
    """A statement raised while it was traced. Whether it does so on real values, too, only Python can tell.

    Attributes:
      error: what it raised.
      index: which statement; None if it was none of them alone.
      short: what could not be done, in a few words.
      stack: the user's functions that were being called then, if any were.
    """

    stack: tuple[Called, ...] = ()

    def __init__(self, error: BaseException, index: int | None, short: str = "it cannot be traced") -> None:
        self.error, self.index, self.short = error, index, short


def trace_piece(
    cell: CellSource,
    plan: Plan,
    namespace: dict[str, Any],
    choices: Choices,
    context: tuple[Any, ...],
    device: Any = None,
    around: CellSource | None = None,
    whole: bool = False,
    donate: tuple[str, ...] = (),
    asked: DerivativeSpec | None = None,
    splits: bool = False,
    names: Callable[[], NameLog] | None = None,
    budget: int | None = BUDGET,
    called: Span | None = None,
) -> Piece:
    """Traces the statements of `plan`.

    Args:
      cell: that they belong to.
      plan: which ones.
      namespace: where they run; it is afterwards as it was.
      choices: which scalars are static; what turns out to be needed is added.
      context: JAX's ambient context.
      device: where the program will run, or a mesh that is not there, or None.
      around: the cell as a whole, of which `cell` is a block or has the same code; None if that is itself.
      whole: trace every statement, also those that Python would run.
      donate: names and paths whose buffers the program may write over.
      asked: the derivative that the program is to compute, too.
      names: makes what takes down the names that are assigned, see `assigned`; None takes down none.
      splits: Python may run single statements: one that prints or turns many times is not traced to the end.
      budget: how many equations a loop may become then, see `turns`; None if it may be as many as they are.
      called: where `around` calls the function that the statements are of, if they are of one.

    Raises:
      StopAt: if a statement inside turned out to be one that Python runs.
      MissingName: if a hidden name was read first.
      NeedsConcrete: if a statement needs the value of something traced.
      Failed: if a statement raises something else, and may be left to Python.
      Exception: whatever the cell itself raises.
    """
    __tracebackhide__ = True
    traces: list[Trace] = []
    depth, put_back = undo_depth(), _jax.thread_state()

    def trace(choices: Choices) -> Piece:
        __tracebackhide__ = True
        how = (context, device, whole, donate, asked, splits, names, budget, traces)
        return _trace(cell, plan, namespace, choices, *how)

    try:
        piece = trace(choices)
        if piece.asks:
            place = len(traces) - 1
            like = _is_like_without_numbers(piece, traces, trace, choices)
            traces.append(traces.pop(place))  # that of the piece comes last
            if not like:
                choices.branches = False
                traces[-1].outside.take_back()
                piece = trace(choices)
    except BaseException as error:
        undo_after(depth)  # an interrupt may have come where nothing else would
        put_back()
        if isinstance(error, RunByPython | Failed) and traces and not error.stack:
            error.stack = traces[-1].stack
        forget_staged(_end(traces), failed=True)
        raise
    of_piece = [traces.pop()]
    forget_staged(_end(traces), failed=True)
    left = forget_staged(_end(of_piece))
    if left is Left.INSIDE:
        piece.let_rules_go()
    if left is Left.ITS_OWN:
        raise RunByPython(
            "something keeps a traced value where staging does not look.",
            why="it would stay there, in the place of the array that the plain cell leaves.",
            fix="keep it in a list, a dict or an attribute, or do it in a cell of its own without %%jit.",
            line=cell.statements[plan.start].span.line if plan.stop == plan.start + 1 else None,
            short="something keeps its values where staging does not look",
        )
    piece.cell, piece.called = around or cell, called
    return piece


def _trace(
    cell: CellSource,
    plan: Plan,
    namespace: dict[str, Any],
    choices: Choices,
    context: tuple[Any, ...],
    device: Any,
    whole: bool,
    donate: tuple[str, ...],
    asked: DerivativeSpec | None,
    splits: bool,
    names: Callable[[], NameLog] | None,
    budget: int | None,
    traces: list[Trace],
) -> Piece:
    """`trace_piece`; `traces` is filled with all that were made."""
    __tracebackhide__ = True
    scalars_freed = False
    needing: Counter[Any] = Counter()
    imported: set[str] = set()
    plan = replace(plan, ran=None)  # other values may lead to other code
    narrows = asked is None and device is None and not (whole or donate)  # donation asks who else holds an array
    may_narrow: bool | None = None
    known = plan  # with what a walk has found that the code could tell apart: otherwise each trace walks twice
    while True:
        trace = Trace(cell, known, namespace, choices, donate, asked)
        traces.append(trace)
        if len(traces) == 1:
            early = read_before_bound(trace.plan, trace.statements, trace.scan, trace.namespace, choices)
            if early:
                raise MissingName(min(early))
        known = trace.plan
        trace.whole, trace.splits, trace.budget = whole, splits, budget
        trace.noticing.imported = imported
        trace.here = device is None and not whole and asked is None
        if choices.shapes is not None:
            sizes = choices.shapes.solve(trace.scan)
            trace.questions = SizeQuestions(choices.shapes, sizes, cell.filename, trace.outside)
            choices.shapes.asked = trace.questions
        loose = trace.loose()
        if loose:
            choices.hold(trace.scan.paths[index] for index in loose)
            continue
        if splits and (used := using_effect(trace.statements, trace.scan, trace.reached_by)) is not None:
            error = by_python(used[0], used[1])  # a trace that is given up would have moved it on
            error.index = plan.start + trace.statements.index(used[0])
            raise error
        if splits and (comparing := trace.compares_cached()) is not None:
            error = by_python(cell.statements[comparing[0]], comparing[1])
            error.index = comparing[0]
            raise error
        start = perf_counter()
        log = names() if names is not None else None
        if narrows and may_narrow is None:
            may_narrow = _may_narrow(trace)
        ran = Ran() if plan.ran is not None or (narrows and may_narrow) else None
        if ran is None or plan.ran is not None:
            refuse_seen(trace.scan)
        try:
            traced = _run_trace(trace, device, log, ran)
        except ReadsGrown:
            choices.no_growth, known = True, plan
            continue
        except WrittenOut as found:
            index = trace.calling(found.loop)
            error = by_python(cell.statements[index], str(found.loop))
            error.index, error.stack, error.rolls = index, found.loop.stack, True
            raise error from None
        except RunByPython as error:
            error.index = trace.index
            raise
        except KeepsTraced as error:
            if scalars_freed or not (free := _scalars(trace)):
                if not splits or asked is not None:
                    raise
                leaves = Leaves(error)
                leaves.index = _if_alone(trace)
                raise leaves from None
            scalars_freed = True
            choices.make_static(free, trace.index)
            continue
        except (StopAt, Refused):
            raise
        except TooLong:
            assert trace.current is not None and trace.index is not None
            error = by_python(trace.current, ROLLED)
            error.index = trace.index
            raise error from None
        except Importing as importing:
            imported.add(importing.name)
            with suppress(Exception):  # the code will see the error itself
                importlib.import_module(importing.name)
            continue
        except Touched as touched:
            assert trace.current is not None and trace.index is not None
            error = by_python(trace.current, touched.short)
            error.index = trace.index
            raise error from None
        except NameError as error:
            if error.name in plan.hidden and error.name in namespace:
                raise MissingName(error.name) from None
            if not scalars_freed and (free := _scalars(trace)):
                scalars_freed = True
                choices.make_static(free, trace.index)
                continue
            if trace.watch is not None and trace.watch.errors:
                _explain(trace, error)
            if splits:
                raise _failed(trace, error) from error
            raise
        except (ValueNeeded, *_jax.TRACING_ERRORS) as error:
            free = _scalars_behind(trace, error)
            if not free and not scalars_freed:
                scalars_freed, free = True, _scalars(trace)  # it may stand in a trace of its own, which hides them
            if free:
                choices.make_static(_scalars_shown_so_far(trace))  # or the next trace would show that at its end
                choices.make_static(free | _alike(trace, free, needing), trace.index)
                continue
            _explain(trace, error)
            if splits and isinstance(error, Exception):
                raise _failed(trace, error) from error  # plainly the inner function may not be traced
            raise
        except BaseException as error:  # of the cell, which may exit, or raise what is no Exception
            if not isinstance(error, Exception) and not is_raised_by_code(error, cell.filename, _codes_of(trace)):
                raise
            if not scalars_freed and (free := _scalars(trace)):
                scalars_freed = True
                choices.make_static(free, trace.index)
                continue
            if only_tracing_raises(error) or (trace.watch is not None and trace.watch.errors):
                _explain(trace, error)
            if splits:
                raise _failed(trace, error) from error
            raise
        assert trace.capture is not None
        if trace.copies is not None and _jax.calls_back(traced.jaxpr):
            trace.outside.take_back()
            raise cannot_copy("what a callback reads and writes")
        if trace.reads_grown:
            choices.no_growth, known = True, plan
            trace.outside.take_back()
            continue
        again = trace.asked_where is not None and not choices.lays
        choices.lays |= again
        if ran is not None and (narrower := _narrowed(trace, traced, plan, ran)) != plan:
            again, narrows, plan = True, narrower.ran is not None, narrower
            known = plan
        if again:
            trace.outside.take_back()
            continue
        if sees_stand_ins(trace.scan):
            trace.outside.take_back()
            refuse_seen(trace.scan)
        derivative = _differentiate(trace, traced, device) if asked is not None else None
        if derivative is not None:
            traced = derivative.traced
        try:
            split = _split(trace, traced)
        except OutOfReach as error:
            trace.outside.take_back()
            if not (free := _scalars(trace)):
                raise _unlike(trace) from error
            choices.make_static(free)
            continue
        free = _scalars_that_show(trace, traced, split.hosted if split is not None and choices.on_host else frozenset())
        if trace.watch is not None and trace.watch.shown:
            free |= _scalars(trace)  # a jaxpr shows an input where the plain cell has a number
        if not choices.on_host:
            passed_on = {trace.scan.paths[index] for index in trace.capture.passed_on if _is_python(trace, index)}
            free |= passed_on & _scalars(trace)
        if not free:
            donation = trace.donation() if donate else NO_DONATION
            gives: tuple[int, ...] = ()
            try:
                if asked is None and device is None and not whole:
                    gives = _given(trace, traced.jaxpr)
                arranged = _arranged(trace, traced, split, donation) if device is None and not whole else None
            except (StopAt, RunByPython):
                trace.outside.take_back()
                raise
            if whole:  # only looked at: no program will run and say it
                trace.outside.release()
            piece = _finish(trace, traced, context, device, perf_counter() - start)
            if derivative is not None:
                piece.derivative = trace.asked
                trace.recipe.names.extend(derivative.names)
                piece.outputs += tuple(derivative.paths(trace.scan.paths))
                piece.notes.extend(("independent", None, note) for note in derivative.notes)
            piece.assigned = log.assigned() if log is not None else None
            piece.notes.extend(("donate", None, note) for note in donation.notes)
            piece.gives = tuple(index for index in gives if index not in donation.leaves)
            try:
                values = _computed(split, device)
                piece.rebuild(split, donation, _inputs(trace, device, moved=False), values, arranged)
            except Exception as error:
                trace.outside.take_back()
                if splits and arranged is not None:
                    raise Failed(error, None, "it cannot be compiled") from error
                raise
            return piece
        choices.make_static(free)
        trace.outside.take_back()


def _is_like_without_numbers(
    piece: Piece, traces: list[Trace], trace: Callable[[Choices], Piece], choices: Choices
) -> bool:
    """Whether a piece that answers for numbers, which are its inputs, gives the types that one gives which has them in
    its key: no other program tells what the plain cell would bind with this answer."""
    fixed = choices.copy()
    fixed.branches = False
    fixed.make_static(choices.dynamic - choices.fixed)
    try:
        other = trace(fixed)
    except Exception:  # whatever it is, the numbers are no inputs then
        return False
    traces[-1].outside.take_back()
    return other.result_types == piece.result_types


def _end(traces: list[Trace]) -> list[weakref.ref[Any]]:
    """Gives up traces; nothing of ours holds their tracers any more. Returns what says whether others do."""
    over = [reference for trace in traces for reference in trace.over]
    while traces:
        trace = traces.pop()
        trace.outside.end()
        if trace.watch is not None:
            trace.watch.end_traces()
        vars(trace).clear()  # it stands in cycles with what it has handed out, which would wait for the collector
    return over


def _codes_of(trace: Trace) -> list[CodeType]:
    """Those of the functions of the user that a trace reaches."""
    return [node.__code__ for node in trace.scan.nodes if isinstance(node, FunctionType)]


def _explain(trace: Trace, error: BaseException) -> None:
    try:
        explain_needed_value(trace.attempt(), error)
    except RunByPython as needed:
        needed.index = trace.index
        raise


def _may_narrow(trace: Trace) -> bool:
    """Whether it is worth knowing which functions run, which takes Python 3.11 as long again as the trace, and more."""
    if _reaches_too_much(trace):
        return True
    if len(trace.scan.parts) <= LARGE:
        return False
    if_none_ran = replace(trace.plan, ran=frozenset[bytes]()).scan(trace.namespace, trace.choices, Slots())
    return _is_smaller(if_none_ran, trace)


def _is_smaller(scan: Scan, trace: Trace) -> bool:
    """Whether another trace would gain from a walk; not for a large model, of which most is used."""
    return 2 * len(scan.parts) <= len(trace.scan.parts)


def _reaches_too_much(trace: Trace) -> bool:
    """Whether a function that the code may come to would do what a replay leaves out."""
    if sees_stand_ins(trace.scan) or reached_effects(trace.scan):
        return True
    return any(first_unseen(item.names, trace.namespace) is not None for item in trace.statements)


def _narrowed(trace: Trace, traced: Any, plan: Plan, ran: Ran) -> Plan:
    """The plan with what ran in its trace; the same where that is not known, or would not serve.

    One that already says what runs is given back without that if something else did run.
    """
    if plan.ran is not None:
        return plan if ran.complete and ran.digests() <= plan.ran else replace(plan, ran=None)
    if not ran.complete or trace.recipe.reasons or trace.saw or _jax.calls_back(traced.jaxpr):
        return plan
    narrower = replace(trace.plan, ran=ran.digests())
    scan = narrower.scan(trace.namespace, trace.choices, Slots())
    if not _is_smaller(scan, trace) and not _reaches_too_much(trace):
        return plan
    # what moves on with each trace must not be traced again
    reasons = find_reasons(trace.cell, trace.statements, trace.namespace, scan, traced.jaxpr)
    return plan if reasons else replace(plan, ran=narrower.ran)


def _failed(trace: Trace, error: BaseException) -> Failed:
    """What a statement has raised while it was traced; of `with` that is mostly how its context is entered."""
    kind = trace.current.kind if trace.current is not None else ""
    short = "Python enters its context" if kind == "With" else "it cannot be traced"
    return Failed(error, trace.index, short)


def _run_trace(trace: Trace, device: Any, log: NameLog | None, ran: Ran | None = None) -> Any:
    __tracebackhide__ = True

    def cell(*leaves: Any) -> list[Any]:
        __tracebackhide__ = True
        return trace.run(leaves)

    watched = log_names(log) if log is not None else nullcontext()
    running = ran if ran is not None else nullcontext()
    leaves = _inputs(trace, device)
    outside = trace.outside
    try:
        noting = note_placements(
            lambda: trace.over[-1]() if trace.over else None,
            trace.on_setting,
            trace.spread,
            commits=any(isinstance(leaf, jax.Array) and leaf.committed for leaf in leaves),
        )
        with (
            outside,
            trace.noticing,
            _jax.unfiltered_tracebacks(),
            apart(),
            watched,
            noting as trace.notes,
            running,
            trace.instances.noting(),
            trace.questions.watching() if trace.questions is not None else nullcontext(),
        ):
            traced = jax.jit(cell).trace(*leaves)
        if trace.questions is not None:
            trace.questions.check()
        if trace.splits and trace.budget is not None:
            trace.check_loops(traced.jaxpr.eqns)
    except (*_GIVEN_UP, *_jax.TRACING_ERRORS):
        outside.take_back()
        raise
    except Exception:
        if trace.splits:
            outside.take_back()  # Python runs the statement
        else:
            outside.release()
        raise
    return traced


def _differentiate(trace: Trace, traced: Any, device: Any) -> Derivative:
    assert trace.asked is not None
    leaves = _inputs(trace, device)
    wrt, along = ([trace.trees[name] for name in names] for names in (trace.asked.wrt, trace.asked.along))
    return differentiate(trace.asked, traced.jaxpr, trace.loss_place, wrt, along, leaves)


def _inputs(trace: Trace, device: Any, moved: bool = True) -> list[Any]:
    """The leaves as they are traced: where the program will run, or the shapes of what would be there."""
    if trace.questions is not None:
        return trace.questions.abstract(trace.scan.leaves)
    if isinstance(device, SimulatedMesh):
        return device.place(trace.scan.leaves, [render_path(path) for path in trace.scan.paths])
    return trace.scan.leaves if device is None or not moved else move(trace.scan.leaves, device)[0]


def _scalars(trace: Trace) -> set[Any]:
    """Paths of the Python scalars that are traced and not fixed by an option."""
    pairs = zip(trace.scan.paths, trace.scan.leaves, strict=True)
    return {path for path, leaf in pairs if _is_scalar(leaf) and path not in trace.choices.fixed}


def _is_scalar(leaf: Any) -> bool:
    return type(leaf) in (float, int, complex) or isinstance(leaf, np.generic)


def _is_python(trace: Trace, index: int) -> bool:
    return type(trace.scan.leaves[index]) in (float, int, complex)


def _scalars_behind(trace: Trace, error: BaseException) -> set[Any]:
    """Paths of the Python scalars whose value the error asked for; all of them if that cannot be told."""
    tracer = culprit_of(error)
    free = _scalars(trace)
    if tracer is None or not trace.tracers:
        return free
    sources, _ = _jax.sources_of(tracer, trace.tracers)
    if not sources or not all(_is_scalar(trace.scan.leaves[index]) for index in sources):
        return set()
    return {trace.scan.paths[index] for index in sources} & free


def _alike(trace: Trace, needed: set[Any], needing: Counter[Any]) -> set[Any]:
    """Further scalars of a list whose items are needed one after the other: as many again as were needed so far.

    Each needs a trace of its own, and who has asked for the first ones, as `max` and `np.array` do, asks for the rest.

    Args:
      trace: that has ended with the question.
      needed: paths of the scalars that it needs.
      needing: how many items were needed, for each statement and list; those of this trace are added.
    """
    found: set[Any] = set()
    for like in {without_places(path) for path in needed}:
        key = trace.index, like
        needing[key] += sum(without_places(path) == like for path in needed)
        if needing[key] >= _FEW:
            free = _scalars(trace) - needed
            more = [path for path in trace.scan.paths if path in free and without_places(path) == like][: needing[key]]
            found.update(more)
            needing[key] += len(more)
    return found


def _split(trace: Trace, traced: Any) -> SplitJaxpr | None:
    """What NumPy and Python compute before the program, if they do.

    Raises:
      OutOfReach: if that gives what the trace cannot stand for.
    """
    paths, fixed, recorder = trace.scan.paths, trace.choices.fixed, trace.recorder
    assert recorder is not None
    every = range(len(paths)) if trace.choices.on_host else ()
    scalars = [index for index in every if _is_python(trace, index) and paths[index] not in fixed]
    if not scalars and not recorder.computes:
        if trace.checks or trace.said_numbers:
            raise OutOfReach
        return None
    numpy = [index for index, leaf in enumerate(trace.scan.leaves) if isinstance(leaf, np.ndarray | np.generic)]
    split = find_prelude(traced.jaxpr, scalars, [render_path(path) for path in paths], recorder, numpy, _arrays(trace))
    outputs = split.prelude.outputs
    if any(outputs[place][0] != "value" for place in (*trace.said_numbers, *(place for place, _ in trace.checks))):
        raise OutOfReach
    split.prelude.checks = [(outputs[place][1], answer) for place, answer in trace.checks]
    return split._replace(values=split.prelude.values(trace.scan.leaves))


def _arranged(trace: Trace, traced: Any, split: SplitJaxpr | None, donation: Donation) -> Arranged | None:
    """What stands around the program, so that its results lie where the plain cell has them.

    Raises:
      StopAt: if a statement must be in another program than those before it.
      RunByPython: if one cannot be part of a program.
      Failed: if JAX refuses one as long as its values lie as they do.
    """
    closed = split.closed if split is not None else traced.jaxpr
    arguments, places = taken(split, trace.scan.leaves, split.values if split is not None else ())
    donated = donated_places(places, donation)
    try:
        found = read_placements(closed, arguments, trace.notes)
        if found is None:
            return None
        if trace.questions is not None:
            raise Refused("arrays of the cell lie on several devices.", why=_ALONE, fix="leave --shapes out.")
        if trace.asked_where is not None:
            refused = by_python(trace.cell.statements[trace.asked_where], "it asks how a value lies")
            refused.index = trace.asked_where
            raise refused
        try:
            return arrange(closed, arguments, donated, found)
        except Apart as apart:
            index = trace.statement_of(closed.eqns, apart.eqn)
            if index > trace.plan.start and trace.splits:
                raise StopAt(index) from None
            if apart.short:
                raise
            return arrange(closed, arguments, donated, found, split=False)
    except (Conflict, Apart) as error:
        index = trace.statement_of(closed.eqns, error.eqn)
        if trace.splits and isinstance(error, Conflict) and error.refused:
            raise Failed(error, index, error.short) from None
        refused = by_python(trace.cell.statements[index], error.short)
        refused.index = index
        raise refused from None


_ALONE = "a cell that is traced for all sizes runs on one: how an array is split depends on its size."


def _given(trace: Trace, closed: Any) -> tuple[int, ...]:
    """The leaves that functions of the cell donate.

    Raises:
      StopAt: if a statement reads one after that.
    """
    try:
        return read_given(closed, trace.scan.leaves)
    except UsedAgain as error:
        index = trace.statement_of(closed.eqns, error.eqn)
        if index > trace.plan.start and trace.splits:
            raise StopAt(index) from None
        refused = by_python(trace.cell.statements[index], "it uses what a function has donated")
        refused.index = index
        raise refused from None


def _computed(split: SplitJaxpr | None, device: Any) -> Sequence[Any]:
    """What Python computes in the run that was traced; the shapes of it for a mesh that is not there."""
    if split is None:
        return ()
    return device.place(split.values, split.prelude.texts) if isinstance(device, SimulatedMesh) else split.values


def _unlike(trace: Trace) -> RunByPython:
    short = "NumPy computes something else each time"
    error = RunByPython(
        f"{short} from the same values.",
        why="a program is reused only where its inputs can be computed again.",
        fix="compute it in a cell of its own without %%jit.",
        short=short,
    )
    error.index = _if_alone(trace)
    return error


def _if_alone(trace: Trace) -> int | None:
    """The index of the statement of a piece that has but one."""
    return trace.plan.start if trace.plan.stop - trace.plan.start == 1 else None


def _scalars_that_show(trace: Trace, traced: Any, hosted: frozenset[Any]) -> set[Any]:
    jaxpr = traced.jaxpr.jaxpr
    return _shown(trace, _Tail(jaxpr, len(trace.scan.leaves)), range(len(jaxpr.outvars)), hosted)


def _scalars_shown_so_far(trace: Trace) -> set[Any]:
    """Those that the next trace would find to show, as far as this one has come."""
    if trace.choices.on_host:
        return set()  # Python may compute what they show in
    eqns = list(map(_jax.as_equation, trace.eqns_then))
    return _shown(trace, SimpleNamespace(invars=[tracer.val for tracer in trace.tracers], eqns=eqns, outvars=()))


def _shown(trace: Trace, jaxpr: Any, outputs: Sequence[int] = (), hosted: frozenset[Any] = frozenset()) -> set[Any]:
    leaves = trace.scan.leaves
    floats = {i for i, leaf in enumerate(leaves) if type(leaf) in (float, complex)}
    ints = {i for i, leaf in enumerate(leaves) if type(leaf) is int}
    shown = scalars_that_show(jaxpr, floats, ints, outputs, hosted, _arrays(trace))
    return {trace.scan.paths[index] for index in shown} & _scalars(trace)


def _arrays(trace: Trace) -> Collection[Any]:
    """The variables of scalars that are known to be arrays."""
    return trace.watch.arrays if trace.watch is not None else ()


class _Tail:
    """A jaxpr seen without the constants that JAX puts before its arguments."""

    def __init__(self, jaxpr: Any, count: int) -> None:
        self.invars, self.outvars, self.eqns = (
            jaxpr.invars[len(jaxpr.invars) - count :],
            jaxpr.outvars,
            jaxpr.eqns,
        )


def _finish(trace: Trace, traced: Any, context: tuple[Any, ...], device: Any, seconds: float) -> Piece:
    assert trace.capture is not None
    scan = trace.scan
    piece = Piece(
        plan=trace.plan,
        key=(device, *trace.walked.parts),
        context=context,
        paths=scan.paths,
        where=scan.where,
        traced=traced,
        recipe=trace.recipe,
        jaxpr=traced.jaxpr,
        n_outputs=len(traced.jaxpr.out_avals),
        seconds=seconds,
        outputs=tuple(trace.output_paths),
        moves=frozenset(trace.moves),
        simulated=device if isinstance(device, SimulatedMesh) else None,
        called_back=trace.called_back,
        walked=trace.walked.reached(),
        instances=trace.instances,
        questions=trace.questions,
    )
    piece.reasons.extend(trace.recipe.reasons)
    piece.reasons.extend(find_reasons(trace.cell, trace.statements, trace.namespace, scan, traced.jaxpr))
    known = {line for line, _ in piece.reasons}
    piece.reasons.extend(reason for reason in trace.saw if reason[0] not in known)
    piece.reasons.sort(key=lambda reason: reason[0] or len(trace.cell.shown))
    _note_numpy(trace, piece)
    if len(scan.leaves) > MANY:
        text = f"{len(scan.leaves):,} inputs are looked at and handed over on every run: stack them into fewer arrays"
        piece.notes.append(("cost", None, text))
    static = sorted((render_path(path) for path in _made_static(trace)), key=lambda text: (len(text), text))
    if static:
        more = f" and {len(static) - 3} more" if len(static) > 3 else ""
        piece.notes.append(("static", None, f"{', '.join(sorted(static[:3]))}{more}"))
    return piece


def _made_static(trace: Trace) -> set[Any]:
    """Paths of the scalars in reach that were made static because the cell could tell their value."""
    reached = {path for _, path in trace.scan.where}.difference(trace.scan.paths)  # but no inputs
    static = trace.choices.static | trace.choices.needed
    return (static - trace.choices.fixed - trace.choices.unsaid) & reached


def _note_numpy(trace: Trace, piece: Piece) -> None:
    """Notes which NumPy values lose bits as inputs of the program."""
    leaves = trace.scan.leaves
    jaxpr = _Tail(piece.jaxpr.jaxpr, len(leaves))
    foreign = {i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray | np.generic)}
    used = {var for eqn in jaxpr.eqns if hosted_name(eqn) is None for var in eqn.invars if not hasattr(var, "val")}
    used.update(var for var in jaxpr.outvars if not hasattr(var, "val"))
    for index in sorted(index for index in foreign if jaxpr.invars[index] in used):
        narrowed = narrowed_to(leaves[index])
        if narrowed is not None:
            name, dtype = render_path(trace.scan.paths[index]), leaves[index].dtype
            piece.notes.append(("x64", None, f"`{name}` is {dtype} and becomes {narrowed} in staged statements"))
