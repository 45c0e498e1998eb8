"""One piece of a cell, traced: its statements become a jaxpr, and what they left behind becomes a template.

A trace may show that a scalar must be static, or that a statement cannot be part of a program: then it is made again,
or the statement is left to Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxnb import _jax
from jaxnb.cells.cell import CellSource
from jaxnb.errors import Refused, RunByPython
from jaxnb.objects.paths import Choices, render_path
from jaxnb.staging.devices import move
from jaxnb.staging.diagnosis import culprit_of, explain_needed_value, only_tracing_raises
from jaxnb.staging.donation import NO_DONATION
from jaxnb.staging.elsewhere import SimulatedMesh
from jaxnb.staging.gradient import Asked, Derivative, differentiate
from jaxnb.staging.lifted import narrowed_to, numpy_results
from jaxnb.staging.piece import Piece, Plan
from jaxnb.staging.prelude import Cut, OutOfReach, find_prelude
from jaxnb.staging.reasons import find_reasons, using_effect
from jaxnb.staging.scalars import scalars_that_show
from jaxnb.staging.stand_ins import ValueNeeded
from jaxnb.staging.trace import MOST_TURNS, MissingName, StopAt, TooLong, Trace, by_python, restore_names

if TYPE_CHECKING:
    from jaxnb.names.assigned import NameLog

__all__ = ["Failed", "MissingName", "StopAt", "restore_names", "trace_piece"]

MANY = 10_000
"""Inputs from which on a cell is told that they cost time."""


class Failed(Exception):
    """A statement raised while it was traced. Whether it does so on real values, too, only Python can tell.

    Attributes:
      error: what it raised.
      index: which statement; None if it was none of them alone.
      short: what could not be done, in a few words.
    """

    def __init__(self, error: Exception, index: int | None, short: str = "it cannot be traced") -> None:
        self.error, self.index, self.short = error, index, short


def trace_piece(
    cell: CellSource,
    plan: Plan,
    namespace: dict[str, Any],
    choices: Choices,
    context: tuple[Any, ...],
    device: Any = None,
    whole: bool = False,
    donate: tuple[str, ...] = (),
    asked: Asked | None = None,
    splits: bool = False,
    names: Callable[[], NameLog] | None = None,
) -> Piece:
    """Traces the statements of `plan`.

    Args:
      cell: that they belong to.
      plan: which ones.
      namespace: where they run; it is afterwards as it was.
      choices: which scalars are static; what turns out to be needed is added.
      context: JAX's ambient context.
      device: where the program will run, or a mesh that is not there, or None.
      whole: trace every statement, also those that Python would run.
      donate: names and paths whose buffers the program may write over.
      asked: the derivative that the program is to compute, too.
      names: makes what takes down the names that are assigned, see `assigned`; None takes down none.
      splits: Python may run single statements: one that prints or turns many times is not traced to the end.

    Raises:
      StopAt: if a statement inside turned out to be one that Python runs.
      MissingName: if a hidden name was read first.
      NeedsConcrete: if a statement needs the value of something traced.
      Failed: if a statement raises something else, and may be left to Python.
      Exception: whatever the cell itself raises.
    """
    __tracebackhide__ = True
    scalars_freed = False
    while True:
        trace = Trace(cell, plan, namespace, choices, donate, asked)
        trace.whole, trace.splits = whole, splits
        loose = trace.loose()
        if loose:
            choices.make_static(trace.scan.paths[index] for index in loose)
            continue
        if splits and (used := using_effect(trace.statements, trace.scan)) is not None:
            error = by_python(used[0], used[1])  # a trace that is given up would have moved it on
            error.index = plan.start + trace.statements.index(used[0])
            raise error
        start = time.perf_counter()
        log = names() if names is not None else None
        try:
            traced = _run_trace(trace, device, log)
        except RunByPython as error:
            error.index = trace.index
            raise
        except (StopAt, Refused):
            raise
        except TooLong:
            assert trace.current is not None and trace.index is not None
            error = by_python(trace.current, f"a loop of more than {MOST_TURNS} turns")
            error.index = trace.index
            raise error from None
        except SystemExit:
            if trace.watch is None or not trace.watch.errors:
                raise
            _explain(trace, ValueNeeded(None, "the cell caught an error that only tracing raises"))
            raise
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
                raise Failed(error, trace.index) from error
            raise
        except (ValueNeeded, *_jax.TRACING_ERRORS) as error:
            free = _scalars_behind(trace, error)
            if not free and not scalars_freed:
                scalars_freed, free = True, _scalars(trace)  # it may stand in a trace of its own, which hides them
            if free:
                choices.make_static(free, trace.index)
                continue
            _explain(trace, error)
            if splits and isinstance(error, Exception):
                raise Failed(error, trace.index) from error  # plainly the inner function may not be traced
            raise
        except Exception as error:
            if not scalars_freed and (free := _scalars(trace)):
                scalars_freed = True
                choices.make_static(free, trace.index)
                continue
            if only_tracing_raises(error) or (trace.watch is not None and trace.watch.errors):
                _explain(trace, error)
            if splits:
                raise Failed(error, trace.index) from error
            raise
        assert trace.capture is not None
        if trace.reads_grown:
            choices.no_growth = True
            trace.outside.take_back()
            continue
        derivative = _differentiate(trace, traced, device) if asked is not None else None
        if derivative is not None:
            traced = derivative.traced
        try:
            cut = _cut(trace, traced) if choices.on_host else None
        except OutOfReach:
            choices.make_static(_scalars(trace))
            trace.outside.take_back()
            continue
        free = _scalars_that_show(trace, traced, cut.hosted if cut is not None else frozenset())
        if cut is None:
            passed_on = {trace.scan.paths[index] for index in trace.capture.passed_on if _is_python(trace, index)}
            free |= passed_on & _scalars(trace)
        if not free:
            trace.outside.release()
            piece = _finish(trace, traced, context, device, time.perf_counter() - start)
            if derivative is not None:
                piece.derivative = trace.asked
                trace.template.names.extend(derivative.names)
                piece.notes.extend(("independent", None, note) for note in derivative.notes)
            piece.assigned = log.assigned() if log is not None else None
            donation = trace.donation() if donate else NO_DONATION
            piece.notes.extend(("donate", None, note) for note in donation.notes)
            piece.rebuild(cut, donation, _inputs(trace, device, moved=False))
            return piece
        choices.make_static(free)
        trace.outside.take_back()


def _explain(trace: Trace, error: BaseException) -> None:
    try:
        explain_needed_value(trace.attempt(), error)
    except RunByPython as needed:
        needed.index = trace.index
        raise


def _logging(log: NameLog) -> AbstractContextManager[Any]:
    from jaxnb.names.assigned import log_names  # only who asks for names needs it

    return log_names(log)


def _run_trace(trace: Trace, device: Any, log: NameLog | None) -> Any:
    __tracebackhide__ = True

    def cell(*leaves: Any) -> list[Any]:
        __tracebackhide__ = True
        return trace.run(leaves)

    # A name that only this trace uses keeps JAX's caches from handing out what they saw of other tracers.
    own = object() if trace.scan.held_by_functions or log is not None else None
    watched = _logging(log) if log is not None else nullcontext()
    leaves = _inputs(trace, device)
    outside = trace.outside
    try:
        with outside, _jax.unfiltered_tracebacks(), _jax.user_context(own), watched:
            traced = jax.jit(cell).trace(*leaves)
    except (StopAt, MissingName, RunByPython, ValueNeeded, TooLong, *_jax.TRACING_ERRORS):
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


def _cut(trace: Trace, traced: Any) -> Cut | None:
    """What Python computes before the program, if there are Python scalars among the leaves.

    Raises:
      OutOfReach: if these scalars give what the trace cannot stand for.
    """
    paths, fixed = trace.scan.paths, trace.choices.fixed
    scalars = [index for index in range(len(paths)) if _is_python(trace, index) and paths[index] not in fixed]
    if not scalars:
        return None
    cut = find_prelude(traced.jaxpr, scalars, [render_path(path) for path in trace.scan.paths])
    cut.prelude.values(trace.scan.leaves)
    return cut


def _scalars_that_show(trace: Trace, traced: Any, hosted: frozenset[Any]) -> set[Any]:
    leaves = trace.scan.leaves
    floats = {i for i, leaf in enumerate(leaves) if type(leaf) in (float, complex)}
    ints = {i for i, leaf in enumerate(leaves) if type(leaf) is int}
    if not floats and not ints:
        return set()
    jaxpr = traced.jaxpr.jaxpr
    shown = scalars_that_show(_Tail(jaxpr, len(leaves)), floats, ints, range(len(jaxpr.outvars)), hosted)
    return {trace.scan.paths[index] for index in shown} & _scalars(trace)


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
        key=(device, *scan.parts),
        context=context,
        paths=scan.paths,
        where=scan.where,
        traced=traced,
        template=trace.template,
        jaxpr=traced.jaxpr,
        n_outputs=len(traced.jaxpr.out_avals),
        seconds=seconds,
        results=tuple(trace.named_outputs),
        simulated=device if isinstance(device, SimulatedMesh) else None,
    )
    piece.reasons.extend(trace.template.reasons)
    piece.reasons.extend(find_reasons(trace.cell, trace.statements, trace.namespace, scan, traced.jaxpr))
    piece.reasons.sort(key=lambda reason: reason[0] or len(trace.cell.shown))
    _note_numpy(trace, piece)
    if len(scan.leaves) > MANY:
        text = f"{len(scan.leaves):,} inputs are looked at and handed over on every run: stack them into fewer arrays"
        piece.notes.append(("cost", None, text))
    static = sorted((render_path(path) for path in _made_static(trace)), key=lambda text: (len(text), text))
    if static:
        more = f" and {len(static) - 3} more" if len(static) > 3 else ""
        piece.notes.append(("static", None, f"static: {', '.join(sorted(static[:3]))}{more}"))
    return piece


def _made_static(trace: Trace) -> set[Any]:
    """Paths of the scalars in reach that were made static because the cell could tell their value."""
    reached = {path for _, path in trace.scan.where}
    return (trace.choices.static - trace.choices.fixed - trace.choices.unsaid) & reached


def _note_numpy(trace: Trace, piece: Piece) -> None:
    """Notes what NumPy values lose in staged statements: their kind, and bits."""
    leaves = trace.scan.leaves
    jaxpr = _Tail(piece.jaxpr.jaxpr, len(leaves))
    foreign = {i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray | np.generic)}
    results = numpy_results(jaxpr.invars, jaxpr.eqns, jaxpr.outvars, foreign)
    for name, place in trace.named_outputs:
        if place in results:
            lines = [item.span.line for item in trace.statements if name in item.names.binds]
            text = f"`{name}` is a jax.Array, where the plain cell binds a NumPy value"
            piece.notes.append(("numpy", lines[-1] if lines else None, text))
    for index in sorted(foreign):
        narrowed = narrowed_to(leaves[index])
        if narrowed is not None:
            name, dtype = render_path(trace.scan.paths[index]), leaves[index].dtype
            piece.notes.append(("x64", None, f"`{name}` is {dtype} and becomes {narrowed} in staged statements"))
