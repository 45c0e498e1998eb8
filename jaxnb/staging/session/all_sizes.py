"""A cell whose sizes have names: the program for all of them, and what to do where there is none."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from time import perf_counter
from traceback import walk_tb
from typing import Any, NamedTuple

import jax

from jaxnb import _jax
from jaxnb.errors import JaxnbError, NeedsConcrete, Refused
from jaxnb.program import Finding, Fix, attach
from jaxnb.staging.cells.cell import CellSource
from jaxnb.staging.objects.graph import Reached
from jaxnb.staging.objects.paths import Choices, render_path
from jaxnb.staging.reuse.cache import CodeRecord
from jaxnb.staging.session.size_edits import difference, size_edits, with_edit
from jaxnb.staging.trace.piece import Piece, Plan
from jaxnb.staging.trace.sized import differs_in_sizes_alone, sized
from jaxnb.staging.trace.sizes import NamedSizes

__all__ = [
    "ForAll",
    "alone",
    "find_general",
    "for_all",
    "in_two_pieces",
    "specialized",
    "trace_for_all",
    "trace_sized",
    "unnamed",
]

Trace = Callable[[CellSource, Choices], Piece]
"""Traces a cell, or one with the same statements but for a few words, with some choices."""

_LONGEST = 5.0
"""Seconds for which constraints are tried."""
_MOST = 8
_MOST_LINES = 4


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
        reached = scan.reached()
        if differs_in_sizes_alone(general, key) and general.ready(reached, namespace) is not None:
            return ForAll(general, key, reached, sizes)
    return None


def specialized(found: ForAll) -> Piece | None:
    """The piece for the sizes of a run; None where the cell has compared sizes, and they compare otherwise here, or
    where it computes with one that is larger than the numbers of a program are."""
    questions = found.general.questions
    assert questions is not None
    if questions.unlike(found.sizes.values) is not None:
        return None
    try:
        return sized(found.general, found.key, found.reached, found.sizes)
    except OverflowError:
        return None


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
    if unlike is None:
        try:
            _jax.with_sizes(found.general.jaxpr, found.sizes.values)
        except OverflowError as error:
            return None, f"traced for {found.sizes} alone: {error}"
    asked, line = unlike or ("", None)
    where = f"line {line} asks" if line is not None else "it asks"
    return line, f"traced for {found.sizes} alone: {where} whether {asked}"


def unnamed(before: Piece, now: NamedSizes) -> str:
    """What is said where a program was made anew because other arrays have changed with the sizes that have names; ""
    where none has.

    Args:
      before: the program for all sizes that was made before.
      now: the sizes of this run.
    """
    if before.questions is None:
        return ""
    then, shapes = before.questions.sizes, dict(before.questions.sizes.others)
    names = {(then.values[name], size): name for name, size in now.values.items() if then.values[name] != size}
    found: list[str] = []
    for text, shape in now.others:
        pairs = [*zip(shapes.get(text, ()), shape, strict=False)]
        if len(shape) == len(shapes.get(text, ())) and any(pair in names for pair in pairs):
            found.append(f"{text}: {', '.join(names.get(pair, str(pair[1])) for pair in pairs)}")
    return f'a size that changes has no name yet: --shapes "{"; ".join(found)}"' if found else ""


def in_two_pieces(line: int) -> Refused:
    """The cell goes on behind a statement that Python runs."""
    return Refused(
        f"the cell would be compiled in two pieces: Python runs line {line} in between.",
        why=_ONE,
        fix="move that line above or below the statements that compute, or leave --shapes out.",
        line=line,
    )


_ONE = "a cell that is traced for all sizes is one program: what comes behind Python has other sizes each time."


def trace_sized(cell: CellSource, choices: Choices, trace: Trace, namespace: Mapping[str, Any]) -> Piece:
    """Traces a cell that will not run: for all sizes where they have names, and then for those that are there; see
    `trace_for_all`."""
    __tracebackhide__ = True
    if choices.shapes is None:
        return trace(cell, choices)
    found = for_all(trace_for_all(cell, choices, trace, namespace))
    piece = specialized(found)
    if piece is None:
        piece = trace(cell, choices.without_shapes())
        piece.notes.append(("cost", *alone(found)))
    return piece


def trace_for_all(cell: CellSource, choices: Choices, trace: Trace, namespace: Mapping[str, Any]) -> Piece:
    """Traces a cell for all sizes.

    Args:
      cell: as it is.
      choices: with the shapes; what follows from the constraints, and JAX asks for, is added to them.
      trace: traces it, or the same with other words in one of its statements, with some choices.
      namespace: the names that it reads.

    Raises:
      Refused: if it cannot be traced so, and sizes have a part in that; with what was tried, and works.
      Exception: what the cell raises.
    """
    __tracebackhide__ = True
    try:
        return _traced(choices, partial(trace, cell))
    except Exception as error:
        questions, choices.shapes.asked = choices.shapes.asked, None
        trial = Trial(cell, choices, trace, namespace)
        refused = _why_not(error, cell, choices, questions, trial)
        if refused is None:
            raise
        raise refused from refused.__cause__


class Trial:
    """Tries other ways to trace a cell.

    Args:
      cell: as it is.
      choices: for all sizes.
      trace: see `trace_for_all`.
      namespace: likewise.
    """

    def __init__(self, cell: CellSource, choices: Choices, trace: Trace, namespace: Mapping[str, Any]) -> None:
        self._cell, self._choices, self._trace, self._namespace = cell, choices, trace, namespace
        self._until = perf_counter() + _LONGEST
        self._plain: Piece | None = None
        self._asked = False

    @property
    def is_over(self) -> bool:
        """Whether trying has taken long enough."""
        return perf_counter() > self._until

    def fails_with(self, shapes: Any) -> Exception | None:
        """The error with which a trace ends that has these shapes; None if it comes to its end."""
        again = self._choices.copy()
        again.shapes = shapes
        try:
            _traced(again, partial(self._trace, self._cell))
        except Exception as error:
            return error
        return None

    def words(self, line: int | None) -> str:
        """A line of the cell; "" for none."""
        return self._cell.shown.split("\n")[line - 1] if line is not None else ""

    def works_with_numbers(self) -> bool:
        """Whether the cell is traced with the numbers in the place of the names: then these are what it fails by."""
        if not self._asked:
            self._asked = True
            with suppress(Exception):
                self._plain = self._trace(self._cell, self._choices.without_shapes())
        return self._plain is not None

    def edit(self, line: int | None) -> tuple[str, tuple[int, str, str]] | None:
        """Other words for a line with which the cell is traced for all sizes, and makes what it makes with numbers:
        what they are, and an edit; None if none was found."""
        if line is None or not self.works_with_numbers() or self._plain is None:
            return None
        wanted = _types_of(self._plain, {})
        self._until = perf_counter() + _LONGEST
        found = self._other_words(self._cell, line, wanted, _MOST_LINES)
        if found is None:
            return None
        text, other = found
        return text, difference(self._cell.shown, other.shown)

    def _other_words(self, cell: CellSource, line: int, wanted: Any, lines: int) -> tuple[str, CellSource] | None:
        """Why a cell is traced with other words for a line, and maybe for some below it, and that cell."""
        for text, edit in size_edits(cell, line, self._namespace):
            other = with_edit(cell, edit)
            if other is None:
                continue
            if self.is_over:
                break
            try:
                piece = _traced(self._choices.copy(), partial(self._trace, other))
            except Exception as error:
                further = _line_of(error, other.filename) or getattr(error, "line", None)
                if further is None or further <= line or lines == 1:
                    continue
                found = self._other_words(other, further, wanted, lines - 1)
                if found is not None:
                    return text, found[1]
                continue
            if piece.questions is not None and _types_of(piece, piece.questions.sizes.values) == wanted:
                return text, other
        return None


def _types_of(piece: Piece, sizes: Mapping[str, int]) -> dict[str, Any]:
    """What the arrays are that a piece binds, by their paths, at some sizes."""
    avals = piece.jaxpr.out_avals
    return {
        render_path(path): (avals[place].dtype, tuple(_jax.dim_value(dim, sizes) for dim in avals[place].shape))
        for path, place in piece.outputs
    }


def _traced(choices: Choices, trace: Callable[[Choices], Piece]) -> Piece:
    while True:
        try:
            return trace(choices)
        except jax.errors.InconclusiveDimensionOperation as error:
            shapes, remainder = choices.shapes, _REMAINDER.search(str(error))
            if remainder is None or not shapes.implies(f"{remainder[1]} == 0"):
                raise
            choices.shapes = shapes.also(implied=f"{remainder[1]} == 0")
            if choices.shapes.scope_size == shapes.scope_size:  # it was said before
                raise


def _why_not(error: Exception, cell: CellSource, choices: Choices, questions: Any, trial: Trial) -> Exception | None:
    """What is said where a cell cannot be traced for all sizes; None where sizes have no part in that."""
    if isinstance(error, Refused) and not isinstance(error, NeedsConcrete):
        return _of_all_sizes(error, cell, questions, trial)
    if questions is None or (isinstance(error, JaxnbError) and not isinstance(error, NeedsConcrete)):
        return None
    text, line = str(error), _line_of(error, cell.filename)
    if isinstance(error, NeedsConcrete):
        return _of_value(error, cell, trial)
    about_sizes = isinstance(error, _jax.INCONCLUSIVE) or _SIZE.search(text) is not None
    speaks = about_sizes or any(re.search(rf"\b{name}\b", text) for name in choices.shapes.names)
    tried = _tried(error, choices, questions, trial, line) if speaks or trial.works_with_numbers() else None
    if tried is None and not about_sizes and not trial.works_with_numbers():
        return None
    where = f"line {line}: " if line is not None else ""
    first = _OF_JAX.sub("a size", text.strip().partition("\n")[0].rstrip("."))
    compared = _COMPARISON.search(first)
    if isinstance(error, OverflowError):
        what = f"{where}an expression of sizes holds a number that is too large."
        why = f"JAX has 32 bits for one: {first}."
    elif isinstance(error, _jax.INCONCLUSIVE) and compared is not None:
        what = f"{where}whether {compared[1].replace(chr(39), '')} cannot be told for all sizes."
        said = ", ".join(choices.shapes.texts[1])
        why = f"from {said} it does not follow." if said else "nothing is said of the sizes."
    elif isinstance(error, _jax.INCONCLUSIVE) or tried is not None or _NUMBER.search(first) is None:
        what, why = f"{where}it cannot be traced for all sizes.", f"{first}."
    else:
        what = f"{where}the number that a size stands for is needed."
        why = f"{_NO_NUMBER}: {first}."
    if tried is None:
        return _raised(_edited(what, why, _OTHERWISE, line, cell, trial), error)
    option, advice = tried
    refused = Refused(what, why=why, line=line)
    fixed = Fix(advice, options=option, edit=_edit(cell.shown, option), verified=True)
    attach(refused, Finding("inconclusive", what, line, fix=fixed), cell.shown)
    return _raised(refused, error)


_OTHERWISE = "use what JAX has for a loop or a choice, such as jax.lax.fori_loop, or leave --shapes out."
_ALONE = "do it in a cell of its own, or leave --shapes out."


def _edited(what: str, why: str, fix: str, line: int | None, cell: CellSource, trial: Trial) -> Refused:
    """What is raised where a size is needed as a number: with other words for the line, which were tried, or else with
    advice."""
    found = trial.edit(line)
    if found is None:
        return Refused(what, why=why, fix=fix, line=line)
    refused = Refused(what, why=why, line=line)
    text, edit = found
    finding = Finding("inconclusive", what, line, fix=Fix(text, edit=edit, verified=True))
    attach(refused, finding, cell.shown)
    return refused


def _of_value(error: NeedsConcrete, cell: CellSource, trial: Trial) -> Refused | None:
    """What is said where a value is asked for that Python computes from a size; None if sizes have no part in that."""
    if not trial.works_with_numbers():
        return None
    line = error.line
    where = f"line {line}: " if line is not None else ""
    what = f"{where}a number that is computed from a size is needed."
    return _raised(_edited(what, f"{_NO_NUMBER}.", _ALONE, line, cell, trial), error)


_NO_NUMBER = "the cell is traced once for all sizes, and there is no number yet"


def _line_of(error: BaseException, filename: str) -> int | None:
    """The line of the cell on which an error came up."""
    lines = [number for frame, number in walk_tb(error.__traceback__) if frame.f_code.co_filename == filename]
    return lines[-1] if lines else None


_OF_JAX = re.compile(r"'_DimExpr' object|_DimExpr|'DynamicJaxprTracer'")
_COMPARISON = re.compile(r"comparison (.+) is inconclusive")
_REMAINDER = re.compile(r"remainder (.+) should be 0")
_PRODUCT = re.compile(r"mod\((?:(\d+)\*)?(\w+),-?(\d+)\)")
_SIZE = re.compile(r"_DimExpr|[Ss]ymbolic dimension|abstract|[Ss]hape polymorphism|non-constant size")
_NUMBER = re.compile(r"a size|[Ss]ymbolic dimension")


def _raised(refused: Refused, error: Exception) -> Refused:
    refused.__cause__ = error.with_traceback(None)
    refused.__suppress_context__ = True
    return refused


def _of_all_sizes(error: Refused, cell: CellSource, questions: Any, trial: Trial) -> Refused:
    """What --whole would say is said of --shapes, which asks for the same; of what needs a number other words for the
    line are told, if there are some that work."""
    if "--whole" in error.fix:
        error.__init__(error.what, why=error.why or _ONE, fix=_ALONE, line=error.line)
    elif questions is not None and error in questions.refused:
        return _raised(_edited(error.what, error.why, error.fix, error.line, cell, trial), error)
    return error


def _edit(shown: str, option: str) -> tuple[int, str, str] | None:
    header = shown.partition("\n")[0]
    if "--shapes" not in header:
        return None
    name = option.partition(" ")[0]
    without = re.sub(rf"""\s{name}[ =]("[^"]*"|'[^']*'|(?:(?!\s--?\w).)*)""", "", header)
    return 1, header, f"{without.rstrip()} {option}"


def _tried(
    error: Exception, choices: Choices, questions: Any, trial: Trial, line: int | None
) -> tuple[str, str] | None:
    """An option with which the cell is traced, and what it says, which is true of the sizes that are there; None if
    none was found."""
    shapes = choices.shapes
    for more in _other_arrays(error, questions.sizes):
        if not trial.is_over and trial.fails_with(shapes.also(shapes=more)) is None:
            every = "; ".join(f"{name}: {sizes}" for name, sizes in (*shapes.texts[0], *more))
            return f'--shapes "{every}"', "name the sizes of all arrays that have them:"
    for _ in range(3):  # one question may stand behind another
        further: tuple[Any, Exception] | None = None
        for constraint in _candidates(error, questions, shapes.names, trial.words(line)):
            if constraint in shapes.texts[1] or trial.is_over:
                continue
            try:
                again = shapes.also(constraint)
            except JaxnbError:  # a bound below 0 is none of a size
                continue
            other = trial.fails_with(again)
            if other is None:
                return f'--where "{", ".join(again.texts[1])}"', "say what is true of the sizes:"
            if further is None and isinstance(other, _jax.INCONCLUSIVE) and str(other) != str(error):
                further = again, other
        if further is None:
            return None
        shapes, error = further
    return None


def _other_arrays(error: Exception, sizes: NamedSizes) -> Iterator[tuple[tuple[str, str], ...]]:
    """Shapes of arrays that have one of the sizes, too, as a number: of those that the error speaks of, and of all."""
    if isinstance(error, _jax.INCONCLUSIVE):
        return
    names = {size: name for name, size in reversed([*sizes.values.items()]) if size > 1}
    found = [(text, shape) for text, shape in sizes.others if any(size in names for size in shape)]
    spoken_of = [item for item in found if str(item[1]) in str(error)]
    for some in (spoken_of, found) if spoken_of != found else (found,):
        if some:
            yield tuple((text, ", ".join(str(names.get(size, size)) for size in shape)) for text, shape in some)


def _candidates(error: Exception, questions: Any, names: tuple[str, ...], words: str) -> Iterator[str]:
    """What might be said of the sizes, the likeliest first; only what is true of those that are there."""
    values = questions.sizes.values
    if (remainder := _REMAINDER.search(str(error))) is not None:
        if (product := _PRODUCT.fullmatch(remainder[1].replace(" ", ""))) is not None:
            factor, number = int(product[1] or 1), int(product[3])
            yield f"mod({product[2]}, {number // math.gcd(factor, number)}) == 0"
        yield f"{remainder[1]} == 0"
    if questions.undecided is not None:
        if "== '0'" in str(error) and (text := _jax.dim_text(questions.undecided[0])):
            value = _jax.dim_value(questions.undecided[0], values)
            yield f"{text} == 0" if not value else f"{text} >= 1" if value > 0 else f"{text} <= -1"
        with suppress(OverflowError):  # of sizes that are tried, in what JAX counts in 32 bits
            yield from _bounds(questions.undecided[0], values)
    said = f"{error} {words}"
    numbers = sorted({int(number) for number in re.findall(r"(?<![\w.])\d{1,5}(?![\w.])", said)}, reverse=True)
    if questions.undecided is not None:
        for name in _jax.dim_variables(questions.undecided[0]):
            yield from (
                f"{name} >= {number}" for number in (2, *(n + 1 for n in numbers[:2])) if values[name] >= number
            )
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
