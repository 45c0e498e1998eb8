"""Cells that are planned instead of run: for a simulated mesh, and for every way to lay named axes on one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from jaxnb import _jax
from jaxnb.errors import JaxnbError, unexplained
from jaxnb.findings import find_kernel_refusal
from jaxnb.options import StageOptions
from jaxnb.planning.cells import search_cell
from jaxnb.planning.fitting import find_too_much
from jaxnb.planning.measures import Case
from jaxnb.planning.simulation import check_options, plan_piece
from jaxnb.program import Finding, Plan, Program, Resources, Search, TargetPlan, TargetPlans, attach
from jaxnb.reading import Figures, OutOfMemory, SimulatedMesh
from jaxnb.staging import (
    CellSource,
    Later,
    Piece,
    Progress,
    Run,
    Session,
    Timings,
    count_equations,
    describe_map,
    planning_for,
    read_names,
    read_program,
)

__all__ = ["plan_targets", "search_run", "simulate_run"]


def simulate_run(
    session: Session,
    cell: CellSource,
    namespace: dict[str, Any],
    options: StageOptions,
    progress: Progress,
    tries: bool = True,
) -> Run:
    """Plans a cell for the mesh that a session simulates: it is traced and partitioned; nothing runs or is bound.

    Args:
      session: whose mesh it is.
      cell: which one.
      namespace: the globals that it would run in.
      options: of it.
      progress: called with what is going on.
      tries: whether what would make it fit is tried, where it needs more memory than there is.

    Raises:
      Refused: if an option wants it to run, or it cannot be traced as a whole.
      JaxnbError: if it cannot be partitioned.
    """
    __tracebackhide__ = True
    mesh = session.simulated
    assert mesh is not None
    if not cell.statements:
        return Run(note="nothing to plan: the cell holds no statement", note_kind="defined")
    check_options(options, mesh)
    progress("tracing")
    written = cell
    with mesh.ambient():
        whole = session.trace_whole(cell, namespace, options, mesh)
        if whole is None:
            return Run(note="nothing to plan: nothing in the cell computes with JAX")
        cell, piece, record, states = whole
        findings = tuple(Finding(kind, text, line) for kind, line, text in piece.notes)
        assigned = partial(read_names, cell, (piece,), record, namespace, session.file_label)

        def make_program() -> Program:
            return read_program(cell, states, (piece,), findings, session.file_label, assigned)

        def too_much(needed: int, available: int, make_program: Callable[[], Program]) -> Finding:
            case = Case(written, cell, piece, namespace, options, mesh, needed)
            return find_too_much(session, case, available, make_program, progress)

        try:
            plan = plan_piece(piece, mesh, make_program, cell.shown, progress)
        except OutOfMemory as error:
            if tries and session.looks and error.refusal.memory == "HBM":
                try:
                    finding = too_much(error.refusal.needed, error.refusal.available, make_program)
                    attach(error, finding, cell.shown)
                except Exception as fault:  # the error itself is what counts
                    error.add_note(unexplained(fault))
            if (told := find_kernel_refusal(error, piece.jaxpr, cell, session.file_label, mesh)) is not None:
                raise told from None
            raise
        except Exception as error:
            if (told := find_kernel_refusal(error, piece.jaxpr, cell, session.file_label, mesh)) is not None:
                raise told from None
            raise
        if tries and session.looks and mesh.target is not None and plan.fits is False and plan.hardware is not None:
            findings += (too_much(plan.footprint.total, plan.hardware.memory, lambda: plan.program),)
        if session.looks:
            progress("looking at how it is spread")
            findings += session.observer.on_planned(cell, piece, namespace, session.file_label, session.shown)
    derivative = str(piece.derivative) if piece.derivative is not None else ""
    equations = _jax.count_eqns(piece.jaxpr)
    if options.xmap is not None:
        derivative, equations = describe_map(piece.jaxpr), count_equations(piece.jaxpr)
    return Run(
        note=f"planned for {mesh}",
        note_kind="planned",
        plan=plan,
        findings=findings,
        equations=equations,
        inputs=len(piece.paths),
        pieces=1,
        figures=Figures(peak=plan.footprint.total),
        derivative=derivative,
        timings=Timings(trace=piece.seconds, lower=piece.lower_seconds, compile=piece.compile_seconds),
        later=Later(
            lambda: plan.program,
            make_shardings=partial(session.observer.shardings, cell, (piece,), namespace, session.file_label),
            make_targets=partial(plan_targets, session, written, namespace, options),
        ),
    )


def search_run(
    session: Session, cell: CellSource, namespace: dict[str, Any], options: StageOptions, progress: Progress
) -> Run | tuple[Search, Any]:
    """Tries all ways to lay the names of a mapped cell on its mesh.

    Args:
      session: that it belongs to.
      cell: which one.
      namespace: the globals that it reads.
      options: of it, with the map.
      progress: called with what is going on.

    Returns:
      What was found, with the mesh, if its devices are there; otherwise a run that has the best plan.

    Raises:
      Refused: if there is no mesh, or an input does not fit its term.
      JaxnbError: if no way is possible.
    """
    __tracebackhide__ = True
    spec = options.xmap
    assert spec is not None

    made: dict[Any, tuple[CellSource, Piece]] = {}

    def evaluate(resources: Resources, mesh: SimulatedMesh) -> Plan:
        tried = replace(spec, auto=False, hardware="", resources=tuple(resources.items()), mesh=mesh.mesh)
        with mesh.ambient():
            whole = session.trace_whole(cell, namespace, replace(options, xmap=tried), mesh)
            assert whole is not None  # a map is a program always
            mapped, piece, _, states = whole
            made[tuple(resources.items())] = mapped, piece
            return plan_piece(
                piece,
                mesh,
                lambda: read_program(mapped, states, (piece,), (), session.file_label),
                mapped.shown,
            )

    found, mesh, concrete = search_cell(spec, namespace, session.simulated, options, evaluate, progress)
    if concrete is not None:
        return found, concrete
    best = found.best
    mapped, piece = made[tuple(best.resources.items())]
    return Run(
        note=f"planned for {mesh}: {best}",
        note_kind="planned",
        plan=best.plan,
        search=found,
        pieces=1,
        figures=Figures(peak=best.memory),
        later=Later(
            lambda: best.plan.program,
            make_shardings=partial(session.observer.shardings, mapped, (piece,), namespace, session.file_label),
        ),
    )


def plan_targets(
    session: Session,
    cell: CellSource,
    namespace: dict[str, Any],
    options: StageOptions,
    names: Sequence[str],
    progress: Progress,
) -> TargetPlans:
    """Plans a cell for several targets, one after the other; what one refuses stands in its row.

    Args:
      session: that it belongs to.
      cell: which one.
      namespace: the globals that it would run in.
      options: of it; those that want it to run are left out.
      names: of the targets.
      progress: called with what is going on.
    """
    plain = replace(options, **dict.fromkeys(_RUNNING, False), **dict.fromkeys(_NAMING))
    rows: list[TargetPlan] = []
    for name in names:
        try:
            with planning_for(session, replace(plain, target=name)) as planned:
                run = simulate_run(
                    session,
                    cell,
                    namespace,
                    planned,
                    lambda what, name=name: progress(f"{name}: {what}"),
                    tries=False,
                )
            rows.append(TargetPlan(name, run.plan, "" if run.plan is not None else run.note))
        except JaxnbError as error:
            rows.append(TargetPlan(name, refused=error.what))
    return TargetPlans(tuple(rows))


_RUNNING, _NAMING = ("time", "nans", "diff", "value_and", "block"), ("device", "name", "export")
