"""A cell that does not fit into the devices of a target: what takes the memory, and what would make it fit.

Whatever is offered was compiled before by the same compiler. A few things are tried, and an interrupt ends that: what
is known by then is told.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import partial
from io import StringIO
from typing import Any

from jaxnb import _jax
from jaxnb.errors import JaxnbError
from jaxnb.planning.measures import Case, Measure, find_measures
from jaxnb.planning.rematerialisation import Seen, below_magics
from jaxnb.planning.simulation import compile_elsewhere
from jaxnb.program import TARGET_KINDS, Finding, Fix, Footprint, LiveArray, Program, Target
from jaxnb.reading import OutOfMemory, Planned, SimulatedMesh, mesh_of_target, read_live
from jaxnb.staging import Piece, Progress, Session
from jaxnb.units import format_bytes
from jaxnb.views import Head, Table, table_lines

__all__ = ["MOST_TRIED", "find_too_much"]

MOST_TRIED = 4
"""How often the cell is compiled again."""
_LONGEST = 180.0  # seconds after which nothing more is tried
_SHARE = 0.05
_MOST_ROWS = 6


@dataclass(frozen=True, slots=True)
class _Tried:
    """A measure, and what the program needs with it: bytes of a device; None where it cannot be compiled, and why."""

    measure: Measure
    needed: int | None
    edit: tuple[int, str, str] | None = None
    why: str = ""


def find_too_much(
    session: Session, case: Case, available: int, make_program: Callable[[], Program], progress: Progress
) -> Finding:
    """The finding on a cell that does not fit, of kind "too_large", with a fix that was tried if there is one.

    Args:
      session: that traces it.
      case: the cell.
      available: bytes that a device has for a program.
      make_program: reads what the piece became, which is compiled.
      progress: called with what is going on.
    """
    what = (
        f"the program does not fit: it needs {format_bytes(case.needed)} a device, and one of {case.mesh.target} has "
        f"{format_bytes(available)} for it."
    )
    lines, line = [what], None
    tried: list[_Tried] = []
    stopped = ""
    try:
        told, line = _peak(case, make_program, progress)
        lines += told
        for one in _trials(session, case, available, progress):
            tried.append(one)
    except KeyboardInterrupt:
        stopped = "  it was interrupted: nothing more was tried"
    lines += _tried_lines(tried, available)
    lines += [stopped] if stopped else []
    fitting = [one for one in tried if one.needed is not None and one.needed <= available]
    best = next((one for one in fitting if one.measure.exact), fitting[0] if fitting else None)
    return Finding("too_large", "\n".join(lines), line, fix=_fix(best, case))


def _fix(best: _Tried | None, case: Case) -> Fix:
    """What makes it fit, as it was tried; where nothing does, only words."""
    if best is not None:
        return Fix(best.measure.text, best.measure.shown, best.edit, verified=True)
    assert case.mesh.target is not None
    machine = str(case.mesh.target)
    return Fix(f"smaller batches, or more devices than {machine} has: %jaxnb targets compares machines.")


def _tried_lines(tried: Sequence[_Tried], available: int) -> list[str]:
    if not tried:
        return []
    rows = tuple(
        (
            format_bytes(one.needed) if one.needed is not None else "",
            one.measure.name,
            _verdict(one, available),
        )
        for one in tried
    )
    return ["  tried, each by compiling it:", *table_lines(Table((Head("", "number", 12), Head(), Head()), rows))]


def _verdict(one: _Tried, available: int) -> str:
    if one.needed is None:
        return one.why
    verdict = "fits" if one.needed <= available else f"{format_bytes(one.needed - available)} too much"
    return verdict if one.measure.exact else f"{verdict}; it computes other numbers"


# --- what takes the memory ---


def _peak(case: Case, make_program: Callable[[], Program], progress: Progress) -> tuple[list[str], int | None]:
    """The lines that hold most where the program needs most, and the first of them."""
    compiled, where = case.piece.compiled, ""
    if compiled is None:
        compiled, where = _with_room(case, progress)
        if compiled is None:
            return [], None
        case.piece.has_compiled(compiled, 0.0, 0.0)
    try:
        live, program = read_live(compiled), make_program()
        rows, line = _living(live, program)
    finally:
        if where:
            case.piece.has_compiled(None, 0.0, 0.0)
    table = table_lines(Table((Head("", "number", 12), Head()), tuple(rows)))
    return ([f"  where it needs most{where}:", *table], line) if rows else ([], None)


def _with_room(case: Case, progress: Progress) -> tuple[Planned | None, str]:
    """The program compiled where there is room for it, and where that is: for a larger chip, or for CPUs.

    Compilers of TPUs have no way to take a program that does not fit, and say nothing of its arrays. Where no kind of
    chip has room, it is partitioned for CPUs: their arrays are those of the program, though others are fused.
    """
    larger = _roomier(case.mesh, case.needed)
    if larger is not None:
        progress(f"compiling for {larger.target}, which has room, to see what takes it")
        with suppress(JaxnbError):
            compiled, _ = compile_elsewhere(case.piece.lower, larger, progress)
            return compiled, f", as compiled for {larger.target}, which has room"
    plain = case.mesh.without_target()
    progress("compiling for CPUs, which have room, to see what takes it")
    with suppress(JaxnbError, NotImplementedError, ValueError):  # what is written for the target alone
        lowered = partial(_jax.lower_elsewhere, case.piece.numbered(), (plain.platform,))
        compiled, _ = compile_elsewhere(lowered, plain, progress)
        return compiled, ", as compiled for CPUs, since no kind of chip has room"
    return None, ""


def _roomier(mesh: SimulatedMesh, needed: int) -> SimulatedMesh | None:
    """As many devices of the kind that has the most memory of those with the same compiler."""
    target = mesh.target
    assert target is not None
    kinds = [
        kind
        for kind in TARGET_KINDS.values()
        if (kind.platform, kind.cores) == (target.platform, target.kind.cores) and kind.available > needed
    ]
    kind = max(kinds, key=lambda kind: kind.available, default=None)
    if kind is None:
        return None
    sides = (*target.sides, *(1,) * kind.dimensions)[: kind.dimensions]
    if math.prod(sides) != target.chips:
        return None
    return mesh_of_target(Target(kind, sides, target.alone), dict(mesh.axes), mesh.explicit)


def _living(live: Sequence[LiveArray], program: Program) -> tuple[list[tuple[str, str]], int | None]:
    """Of each line, of the inputs, and of all else, what lives at the peak, and how much of it is padding."""
    level = program.level("hlo")
    lines = {level.values[value].name: op.cell_line for op in level.ops() for value in op.outputs}
    main = level.computations[0]
    names = dict(zip((level.values[one].name for one in main.inputs), main.input_names, strict=False))
    sums: dict[str, list[int]] = {}
    first: dict[str, int | None] = {}
    for one in live:
        line = None if one.is_input else lines.get(one.op)
        what = f"input {names.get(one.op) or one.name}" if one.is_input else "of no line"
        key = what if line is None else f"made by line {line}"
        found = sums.setdefault(key, [0, 0])
        found[0] += one.padded
        found[1] += one.padded - one.nbytes
        first[key] = line
    whole = sum(size for size, _ in sums.values())
    ranked = sorted((item for item in sums.items() if item[1][0] >= _SHARE * whole), key=lambda item: -item[1][0])
    rows = [
        (format_bytes(size), f"{key}, {format_bytes(padding)} of them what tiles add" if padding > size / 10 else key)
        for key, (size, padding) in ranked[:_MOST_ROWS]
    ]
    return rows, next((line for key, _ in ranked if (line := first[key]) is not None), None)


# --- what is tried ---


def _trials(session: Session, case: Case, available: int, progress: Progress) -> Iterator[_Tried]:
    """Tries measures one by one until one fits that computes the same numbers; at last those together that helped."""
    begun = time.perf_counter()
    seen = Seen(case.namespace)
    with seen.watched():
        _traced(session, case, ())
    measures = list(find_measures(case, seen))
    found: list[_Tried] = []
    count = min(len(measures), MOST_TRIED)

    def goes_on() -> bool:
        fits = any(one.measure.exact and one.needed is not None and one.needed <= available for one in found)
        return len(found) < MOST_TRIED and not fits and time.perf_counter() - begun < _LONGEST

    for number, measure in enumerate(measures, start=1):
        if not goes_on() or (number == MOST_TRIED and len(_helped(found, case)) > 1):
            break
        progress(f"trying {number} of {count}: {measure.name}")
        found.append(_try(session, case, (measure,), progress))
        yield found[-1]
    helped = _helped(found, case)
    together = [one for one in helped if one.exact] if sum(one.exact for one in helped) > 1 else helped
    if goes_on() and len(together) > 1 and not any(one.needed is not None and one.needed <= available for one in found):
        progress("trying what helped together")
        yield _try(session, case, together, progress)


def _helped(found: Sequence[_Tried], case: Case) -> list[Measure]:
    return [one.measure for one in found if one.needed is not None and one.needed < (1 - _SHARE) * case.needed]


def _try(session: Session, case: Case, measures: Sequence[Measure], progress: Progress) -> _Tried:
    """Traces and compiles a cell with some measures."""
    whole = measures[0] if len(measures) == 1 else _joined(measures)
    edit: tuple[int, str, str] | None = None
    try:
        piece, edit = _traced(session, case, measures)
        if piece is None or (whole.exact and piece.result_types != case.piece.result_types):
            return _Tried(whole, None, why="its results would have other types")
        with case.mesh.ambient():
            planned, _ = compile_elsewhere(piece.lower, case.mesh, progress)
        return _Tried(whole, Footprint.of(planned).total, edit)
    except OutOfMemory as error:
        return _Tried(whole, error.refusal.needed, edit)
    except Exception as error:  # of code that a measure does not fit
        return _Tried(whole, None, why=(str(error).strip() or type(error).__name__).split("\n")[0])


def _joined(measures: Sequence[Measure]) -> Measure:
    """Several measures as one; only one of them edits the cell."""
    return Measure(
        ", and ".join(one.name for one in measures),
        " And ".join(one.text for one in measures),
        " ".join(one.shown for one in measures if one.shown),
        exact=all(one.exact for one in measures),
    )


def _traced(
    session: Session, case: Case, measures: Sequence[Measure]
) -> tuple[Piece | None, tuple[int, str, str] | None]:
    """The cell with some measures as a piece, and the edit that it took."""
    text, edit, options = case.cell.shown or case.cell.text, None, case.options
    for measure in measures:
        options = measure.options(options)
        if measure.change is not None:
            edited = measure.change(text)
            if edited is None:
                return None, None
            text, edit = edited
    cell = case.cell if edit is None else session.parse(below_magics(text, case.cell))
    given = {name: value for measure in measures for name, value in (measure.names or {}).items()}
    quiet = redirect_stdout(StringIO()), redirect_stderr(StringIO())  # the cell has said it
    with case.mesh.ambient(), _standing_in(case.namespace, given), _jax.apart(), quiet[0], quiet[1]:
        whole = session.trace_whole(cell, case.namespace, options, case.mesh)
    return (None if whole is None else whole[1]), edit


@contextmanager
def _standing_in(namespace: dict[str, Any], given: dict[str, Any]) -> Generator[None]:
    """Names stand for something else for a while."""
    before = {name: namespace[name] for name in given}
    namespace.update(given)
    try:
        yield
    finally:
        namespace.update(before)
