"""A cell whose sizes have names: the program for all of them, and what to do where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from time import perf_counter
from traceback import walk_tb
from typing import Any, NamedTuple

from jaxnb import _jax
from jaxnb.errors import JaxnbError, Refused
from jaxnb.program import Finding, Fix, attach
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import Choices
from jaxnb.staging.reuse.cache import CodeRecord
from jaxnb.staging.trace.ended import MissingName, StopAt
from jaxnb.staging.trace.piece import Piece, Plan
from jaxnb.staging.trace.sized import differs_in_sizes_alone, sized
from jaxnb.staging.trace.sizes import NamedSizes

__all__ = ["ForAll", "alone", "find_general", "for_all", "in_two_pieces", "say_why_not", "specialized"]

_LONGEST = 5.0
"""Seconds for which constraints are tried."""
_MOST = 8


class ForAll(NamedTuple):
    """A program for all sizes that serves a run, and what it is for there."""

    general: Piece
    key: tuple[Any, ...]
    reached: Reached
    sizes: NamedSizes


def find_general(
    record: CodeRecord, plan: Plan, choices: Choices, namespace: dict[str, Any], context: tuple[Any, ...], device: Any
) -> ForAll | None:
    """The program for all sizes that serves a run.

    Raises:
      Refused: if the sizes of the run contradict each other, or what is said of them.
    """
    for general in reversed(record.general):
        if (general.plan.start, general.plan.stop) != (plan.start, plan.stop) or general.context != context:
            continue
        if general.reasons:
            continue  # what it has done may be otherwise each time
        scan = general.plan.scan(namespace, choices)
        key = (device, *scan.parts)
        sizes = choices.shapes.solve(scan)
        if differs_in_sizes_alone(general, key):
            return ForAll(general, key, scan.reached(), sizes)
    return None


def specialized(found: ForAll) -> Piece | None:
    """The piece for the sizes of a run; None where the cell has compared sizes, and they compare otherwise here."""
    questions = found.general.questions
    assert questions is not None
    if questions.unlike(found.sizes.values) is not None:
        return None
    return sized(found.general, found.key, found.reached, found.sizes)


def for_all(general: Piece) -> ForAll:
    """The program for all sizes, in the run in which it was traced; which constraints it needed is noted."""
    reached = general.take_walk()
    assert reached is not None and general.questions is not None
    for used in general.questions.used():
        general.notes.append(("sizes", used.line, f"`{used.constraint}` was needed to tell {used.what}"))
    return ForAll(general, general.key, reached, general.questions.sizes)


def alone(found: ForAll) -> tuple[int | None, str]:
    """The line and the words for a program that is for the sizes of one run alone."""
    questions = found.general.questions
    unlike = questions.unlike(found.sizes.values) if questions is not None else None
    asked, line = unlike or ("", None)
    where = f"line {line} asks" if line is not None else "it asks"
    return line, f"traced for {found.sizes} alone: {where} whether {asked}"


def in_two_pieces(line: int) -> Refused:
    """The cell goes on behind a statement that Python runs."""
    return Refused(
        f"the cell would be compiled in two pieces: Python runs line {line} in between.",
        why=_ONE,
        fix="move that line above or below the statements that compute, or leave --shapes out.",
        line=line,
    )


_ONE = "a cell that is traced for all sizes is one program: what comes behind Python has other sizes each time."


def say_why_not(
    error: Exception, cell: CellSource, choices: Choices, trace: Callable[[Choices], object]
) -> Exception:
    """What is said where a cell cannot be traced for all sizes.

    Args:
      error: that ended the trace.
      cell: as it is.
      choices: with the shapes.
      trace: traces it again, with other choices; raises if it cannot be traced.

    Returns:
      The error to raise: the same one where sizes have no part in it.
    """
    questions, choices.shapes.asked = choices.shapes.asked, None
    if isinstance(error, Refused):
        return _of_all_sizes(error)
    if isinstance(error, JaxnbError) or questions is None:
        return error
    text, line = str(error), _line_of(error, cell.filename)
    asked = questions.undecided if isinstance(error, _jax.INCONCLUSIVE) else None
    about_sizes = isinstance(error, _jax.INCONCLUSIVE) or _SIZE.search(text) is not None
    tried = _tried(error, choices, questions, trace)
    if tried is None and not about_sizes:
        return error
    where = f"line {line}: " if line is not None else ""
    first = text.strip().partition("\n")[0].rstrip(".")
    compared = _COMPARISON.search(first)
    if asked is not None and compared is not None:
        what = f"{where}whether {compared[1].replace(chr(39), '')} cannot be told for all sizes."
        said = ", ".join(choices.shapes.texts[1])
        why = f"from {said} it does not follow." if said else "nothing is said of the sizes."
    elif isinstance(error, _jax.INCONCLUSIVE) or tried is not None:
        what, why = f"{where}it cannot be traced for all sizes.", f"{first}."
    else:
        what = f"{where}the number that a size stands for is needed."
        why = f"the cell is traced once for all sizes, and there is no number yet: {first}."
    if tried is None:
        fix = "use what JAX has for a loop or a choice, such as jax.lax.fori_loop, or leave --shapes out."
        return _raised(Refused(what, why=why, fix=fix, line=line), error)
    option = f'--where "{", ".join((*choices.shapes.texts[1], *tried))}"'
    refused = Refused(what, why=why, line=line)
    fix = Fix("say what is true of the sizes:", options=option, edit=_edit(cell.shown, option), verified=True)
    attach(refused, Finding("inconclusive", what, line, fix=fix), cell.shown)
    return _raised(refused, error)


def _line_of(error: BaseException, filename: str) -> int | None:
    """The line of the cell on which an error came up."""
    lines = [number for frame, number in walk_tb(error.__traceback__) if frame.f_code.co_filename == filename]
    return lines[-1] if lines else None


_COMPARISON = re.compile(r"comparison (.+) is inconclusive")
_REMAINDER = re.compile(r"remainder (.+) should be 0")
_SIZE = re.compile(r"_DimExpr|[Ss]ymbolic dimension|abstract")


def _raised(refused: Refused, error: Exception) -> Refused:
    refused.__cause__ = error.with_traceback(None)
    refused.__suppress_context__ = True
    return refused


def _of_all_sizes(error: Refused) -> Refused:
    """What --whole would say is said of --shapes, which asks for the same."""
    if "--whole" in error.fix:
        why = error.why or _ONE
        fix = "do it in a cell of its own, or leave --shapes out."
        error.__init__(error.what, why=why, fix=fix, line=error.line)
    return error


def _edit(shown: str, option: str) -> tuple[int, str, str] | None:
    header = shown.partition("\n")[0]
    if "--shapes" not in header:
        return None
    without = re.sub(r"""\s--where[ =]("[^"]*"|'[^']*'|(?:(?!\s--?\w).)*)""", "", header)
    return 1, header, f"{without.rstrip()} {option}"


def _tried(
    error: Exception, choices: Choices, questions: Any, trace: Callable[[Choices], object]
) -> tuple[str, ...] | None:
    """Constraints that are true of the sizes that are there, with which the cell is traced; None if none were found."""
    until = perf_counter() + _LONGEST
    added: tuple[str, ...] = ()
    shapes = choices.shapes
    for _ in range(3):  # one question may stand behind another
        further: tuple[Any, str, Exception] | None = None
        for constraint in _candidates(error, questions, shapes.names):
            if constraint in shapes.texts[1] or perf_counter() > until:
                continue
            again = choices.copy()
            try:
                again.shapes = shapes.also(constraint)
                trace(again)
            except (MissingName, StopAt):
                return None
            except Exception as other:
                if further is None and isinstance(other, _jax.INCONCLUSIVE) and str(other) != str(error):
                    further = again.shapes, constraint, other
                continue
            return (*added, constraint)
        if further is None:
            return None
        shapes, constraint, error = further
        added = (*added, constraint)
    return None


def _candidates(error: Exception, questions: Any, names: tuple[str, ...]) -> Iterator[str]:
    """What might be said of the sizes, the likeliest first; only what is true of those that are there."""
    values = questions.sizes.values
    if isinstance(error, _jax.INCONCLUSIVE) and questions.undecided is not None:
        yield from _bounds(questions.undecided[0], values)
    if (remainder := _REMAINDER.search(str(error))) is not None:
        yield f"{remainder[1]} == 0"
    numbers = sorted({int(number) for number in re.findall(r"(?<![\w.])\d{1,5}(?![\w.])", str(error))}, reverse=True)
    count = 0
    for name in names:
        for number in numbers:
            if number > 1 and values[name] % number == 0 and count < _MOST:
                count += 1
                yield f"mod({name}, {number}) == 0"
    for one in names:
        for other in names:
            if one < other and values[one] == values[other]:
                yield f"{one} == {other}"


def _bounds(dim: Any, values: Any) -> Iterator[str]:
    """That a size is at least 0, or that it is less: which of them is true now."""
    names = sorted(_jax.dim_variables(dim))
    enough = _jax.dim_value(dim, values) >= 0
    if len(names) == 1:
        (name,) = names
        at = [_jax.dim_value(dim, {name: size}) for size in (1, 2, 1001)]
        slope = at[1] - at[0]
        if slope and at[2] == at[0] + 1000 * slope:
            # slope * (size - 1) + at[0] >= 0, or < 0
            if (slope > 0) == enough:
                least = 1 - (at[0] // slope) if enough else 1 + (at[0] // -slope) + 1
                yield f"{name} >= {least}"
            else:
                most = 1 + at[0] // -slope if enough else 1 + (-at[0] - 1) // slope
                yield f"{name} <= {most}"
    yield f"{_jax.dim_text(dim)} >= 0" if enough else f"{_jax.dim_text(dim)} <= -1"
