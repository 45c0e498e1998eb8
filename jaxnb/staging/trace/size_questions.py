"""What a cell asks of sizes that are names while it is traced, and what JAX decides about them.

Where the plain cell has a number, the trace has an expression of names. A text, a hash, or a place where Python wants
the number itself is refused; what is bound is computed anew in each run from the sizes that are there. What the cell
compares is remembered: the program is only for sizes for which the answer is the same.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from jaxnb import _jax
from jaxnb._jax import Decision
from jaxnb.errors import Refused
from jaxnb.staging.cells.spoken import is_only_said
from jaxnb.staging.objects.paths import Path, render_path
from jaxnb.staging.trace.builds import Build, Building, memoized, tuple_of
from jaxnb.staging.trace.side_effects import SideEffects
from jaxnb.staging.trace.sizes import NamedSizes, Shapes

__all__ = ["SizeQuestions", "Used"]


class Used(NamedTuple):
    """A constraint that something on a line of the cell could not have been decided without."""

    constraint: str
    line: int
    what: str


class _Compared(NamedTuple):
    dim: Any
    other: Any
    answer: bool
    line: int | None


class SizeQuestions:
    """What is asked in one trace.

    Args:
      shapes: of the cell.
      sizes: of the run that is traced.
      filename: of the cell.
      outside: takes down what is to be said.

    Attributes:
      refused: what could not be answered, should the cell have caught it.
      undecided: the comparison that could not be decided last: what JAX compared to 0, and the line.
    """

    def __init__(self, shapes: Shapes, sizes: NamedSizes, filename: str, outside: SideEffects) -> None:
        self.shapes, self.sizes = shapes, sizes
        self.refused: list[Refused] = []
        self.undecided: tuple[Any, int | None] | None = None
        self._filename, self._outside = filename, outside
        self._compared: dict[tuple[str, str], _Compared] = {}
        self._decided: dict[tuple[str, Any, int], Decision] = {}
        self._rewritten: dict[tuple[str, int], None] = {}
        self._numbers: dict[int, tuple[Any, Callable[[Mapping[str, int]], Any]]] = {}

    def watching(self) -> AbstractContextManager[None]:
        """While this is entered, the questions come here."""
        return _jax.watch_dims(self.shapes.scope, self)

    def abstract(self, leaves: Sequence[Any]) -> list[Any]:
        """The inputs as they are traced."""
        return self.shapes.abstract(leaves, self.sizes)

    def check(self, closed_jaxpr: Any, paths: Sequence[tuple[Path, int]]) -> None:
        """After the trace: was a question swallowed, or is a number bound that the plain cell has from Python?

        Args:
          closed_jaxpr: that was traced.
          paths: to what is bound, each with the number of the result.

        Raises:
          Refused: if so.
        """
        self._numbers = {key: (None, number) for key, (_, number) in self._numbers.items()}  # it holds no tracer
        self.shapes.asked = None
        if self.refused:
            raise self.refused[0]
        for place in _jax.numbers_of_sizes(closed_jaxpr):
            path = next((render_path(path) for path, at in paths if at == place), "")
            raise Refused(
                f"`{path}` is computed from sizes alone." if path else "a result is computed from sizes alone.",
                why="the plain cell may have a number of Python's there, and the program gives an array.",
                fix="compute it in one expression of sizes, as in 1 / x.shape[0], or make it an array: jnp.float32(...).",
            )

    # --- what is asked ---

    def on_dim_text(self, dim: Any, method: str, frame: FrameType, *spec: str) -> str:
        """See `DimAnswers`."""
        if method == "__format__" and is_only_said(frame):
            return self._outside.promise(dim, *spec)
        self._refuse(f"the text of a size is wanted, `{_jax.dim_text(dim)}`", frame)

    def on_dim_hash(self, dim: Any, frame: FrameType) -> None:
        """See `DimAnswers`."""
        self._refuse(f"the hash of a size is wanted, `{_jax.dim_text(dim)}`", frame)

    def on_dim_number(self, result: Any, function: str, dim: Any, other: Any, frame: FrameType) -> None:
        """See `DimAnswers`."""
        name = function.strip("_")
        reflected = not hasattr(operator, name)
        compute = getattr(operator, name[1:] if reflected else name)

        def number(sizes: Mapping[str, int]) -> Any:
            pair = [_jax.dim_value(item, sizes) if _jax.is_dim(item) else item for item in (dim, other)]
            return compute(*(reversed(pair) if reflected else pair))

        if _jax.is_tracer(result):
            self._numbers[id(result)] = result, number

    def on_dim_equal(self, dim: Any, other: Any, answer: bool, frame: FrameType) -> None:
        """See `DimAnswers`."""
        if type(other) is int or _jax.is_dim(other):
            key = _jax.dim_text(dim), _jax.dim_text(other)
            self._compared.setdefault(key, _Compared(dim, other, answer, self._line(frame)))

    def on_decided(self, decision: Decision, frame: FrameType) -> None:
        """See `DimAnswers`."""
        if (line := self._line(frame)) is not None:
            self._decided.setdefault((_jax.dim_text(decision[0]), decision[1], line), decision)

    def on_undecided(self, dim: Any, frame: FrameType) -> None:
        """See `DimAnswers`."""
        self.undecided = dim, self._line(frame)

    def on_rewritten(self, term: str, frame: FrameType) -> None:
        """See `DimAnswers`."""
        if (line := self._line(frame)) is not None:
            self._rewritten[term, line] = None

    def _line(self, frame: FrameType | None) -> int | None:
        while frame is not None and frame.f_code.co_filename != self._filename:
            frame = frame.f_back
        return frame.f_lineno if frame is not None else None

    def _refuse(self, what: str, frame: FrameType) -> NoReturn:
        line = self._line(frame)
        refused = Refused(
            f"line {line}: {what}." if line is not None else f"{what}.",
            why="the cell is traced once for all sizes, and there is no number yet.",
            fix="do it in a cell of its own, or leave --shapes out.",
            line=line,
        )
        self.refused.append(refused)
        raise refused

    # --- what comes of it ---

    def unlike(self, sizes: Mapping[str, int]) -> tuple[str, int | None] | None:
        """The first comparison of the cell that comes out otherwise for these sizes, with its line; None if none does."""
        for dim, other, answer, line in self._compared.values():
            equal = _jax.dim_value(dim, sizes) == _jax.dim_value(other, sizes)
            if equal != answer:
                return f"{_jax.dim_text(dim)} == {_jax.dim_text(other)}", line
        return None

    def build(self, value: Any, child: Callable[[Any], Build]) -> Build | None:
        """How a size, a number computed with one, or a tuple that holds one is made in a run; None for anything else.

        Args:
          value: that is bound.
          child: gives the same of what it holds.
        """
        if _jax.is_dim(value):
            return lambda b: _jax.dim_value(value, self._values(b))
        if id(value) in self._numbers:
            number = self._numbers[id(value)][1]
            return memoized(id(value), lambda b: number(self._values(b)))
        if isinstance(value, tuple) and any(map(_holds_dim, value)):
            kind = type(value)
            return memoized(id(value), tuple_of(lambda b: kind, [child(item) for item in value], []))
        return None

    def _values(self, building: Building) -> Mapping[str, int]:
        return self.shapes.values(self.sizes.leaves, building.reached.leaves)

    def used(self) -> list[Used]:
        """Which constraints were needed on which lines: without each of them what was decided is decided anew."""
        found: list[Used] = []
        constraints = self.shapes.texts[1]
        for number, constraint in enumerate(constraints):
            others = self.shapes.scope_of([text for n, text in enumerate(constraints) if n != number])
            alone = self.shapes.scope_of([constraint])
            for (text, _, line), decision in self._decided.items():
                if not _jax.is_decided(decision, others):
                    found.append(Used(constraint, line, _question(text, decision[0])))
            for term, line in self._rewritten:
                if _jax.is_rewritten(term, alone):
                    found.append(Used(constraint, line, f"what {term} is"))
        return sorted({(one.constraint, one.line): one for one in reversed(found)}.values(), key=lambda one: one.line)


def _question(text: str, dim: Any) -> str:
    """What was compared, of a size that JAX compared to 0: `b >= 8` of `b - 8`."""
    found = _TWO_SIDES.fullmatch(text)
    if found is None:
        return f"how {text} compares to 0"
    left, sign, right = found.groups()
    if left.startswith("- "):
        return f"how {left[2:]} compares to {right}"
    return f"how {left} compares to {'-' if sign == '+' else ''}{right}"


_TWO_SIDES = re.compile(r"(.+) ([+-]) (\d+)")


def _holds_dim(item: Any) -> bool:
    return _jax.is_dim(item) or (isinstance(item, tuple) and any(map(_holds_dim, item)))
