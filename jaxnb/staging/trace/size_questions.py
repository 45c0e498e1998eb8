"""What a cell asks of sizes that are names while it is traced, and what JAX decides about them.

Where the plain cell has a number, the trace has an expression of names. A text, a hash, or a place where Python wants
the number itself is refused; what is bound is computed anew in each run from the sizes that are there. What the cell
compares is remembered: the program is only for sizes for which the answer is the same.
"""

from __future__ import annotations

import functools
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import FrameType
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb import _jax
from jaxnb._jax import Decision
from jaxnb.errors import Refused
from jaxnb.named import scope_of
from jaxnb.staging.cells.spoken import is_only_said
from jaxnb.staging.trace.builds import Build, Building, memoized, tuple_of
from jaxnb.staging.trace.side_effects import SideEffects
from jaxnb.staging.trace.sizes import NamedSizes, Shapes

__all__ = ["SizeQuestions", "Used"]


Number = Callable[[Mapping[str, int] | None, Any], Any]
"""A number of Python's in a run, of its sizes and inputs; without sizes that in a program, of arrays."""


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
        self._numbers: dict[int, tuple[Any, Number]] = {}
        self._leaves: Sequence[Any] = ()
        self._of_numpy: dict[int, Any] = {}

    def watching(self) -> AbstractContextManager[None]:
        """While this is entered, the questions come here."""
        return _jax.watch_dims(self.shapes.scope, self)

    def abstract(self, leaves: Sequence[Any]) -> list[Any]:
        """The inputs as they are traced."""
        return self.shapes.abstract(leaves, self.sizes)

    def take_scalars(self, tracers: Sequence[Any], leaves: Sequence[Any]) -> None:
        """Before the statements: which inputs are numbers of Python's. What is computed of them and of sizes is one."""
        self._leaves = leaves
        for at, (tracer, leaf) in enumerate(zip(tracers, leaves, strict=True)):
            if type(leaf) in (int, float, complex):
                self._numbers[id(tracer)] = tracer, partial(_leaf, at)

    def check(self) -> None:
        """After the trace: was a question swallowed?

        Raises:
          Refused: if so.
        """
        self._numbers, self._leaves, self.shapes.asked = {}, (), None  # it holds no tracer
        if self.refused:
            raise self.refused[0]

    # --- what is asked ---

    def on_dim_text(self, dim: Any, method: str, frame: FrameType, *spec: str) -> str:
        """See `DimAnswers`."""
        if method == "__format__" and is_only_said(frame):
            return self._outside.promise(dim, *spec)
        self._refuse(f"the text of a size is wanted, `{_jax.dim_text(dim)}`", frame)

    def on_dim_hash(self, dim: Any, frame: FrameType) -> None:
        """See `DimAnswers`."""
        self._refuse(f"the hash of a size is wanted, `{_jax.dim_text(dim)}`", frame)

    def is_number(self, other: Any) -> bool:
        """Whether something is, or stands for, a number of Python's that is known from the sizes."""
        return type(other) in (int, float, complex, bool) or _jax.is_dim(other) or id(other) in self._numbers

    def is_of_sizes(self, item: Any) -> bool:
        """Whether something is a size, or stands for a number that is known from sizes."""
        return _jax.is_dim(item) or (id(item) in self._numbers and self._numbers[id(item)][0] is item)

    def on_dim_called(self, function: Callable[..., Any], name: str, args: Sequence[Any], frame: FrameType) -> Any:
        """See `DimAnswers`."""
        first: Any = args[0] if len(args) == 1 else None
        if name in _WHOLE and _jax.is_dim(first):
            return first
        if name in ("numpy.prod", "numpy.sum") and type(first) in (tuple, list) and all(map(_is_whole, first)):
            return self._as_numpy(functools.reduce(operator.mul if name == "numpy.prod" else operator.add, first))
        if name.startswith("math.") and name not in _WHOLE and self.is_of_sizes(first):
            staged = getattr(jnp, name.removeprefix("math."))
            result = staged(jnp.asarray(first) * 1.0)
            self.on_number(result, function, (first,), staged)
            return result
        self._refuse(f"`{name.replace('numpy', 'np')}` needs the number that a size stands for", frame)

    def _as_numpy(self, dim: Any) -> Any:
        """A size as NumPy computes it, whose class is another."""
        if not _jax.is_dim(dim):
            return np.int64(dim)
        made = _jax.as_numpy_dim(dim)
        self._of_numpy[id(made)] = made
        return made

    def class_of(self, size: Any) -> type:
        """The class of the number that a size stands for."""
        return np.int64 if self._of_numpy.get(id(size)) is size else int

    def on_dim_computed(self, result: Any, dim: Any, other: Any, frame: FrameType) -> Any:
        """See `DimAnswers`."""
        if np.int64 not in (self.class_of(dim), self.class_of(other)):
            return result
        if not _jax.is_dim(result) or type(other) is float:
            self.on_dim_numpy(dim, frame)
        return self._as_numpy(result)

    def on_dim_number(self, result: Any, function: str, dim: Any, other: Any) -> None:
        """See `DimAnswers`."""
        name = function.strip("_")
        reflected = not hasattr(operator, name)
        compute = getattr(operator, name[1:] if reflected else name)
        self.on_number(result, compute, (other, dim) if reflected else (dim, other))

    def on_number(
        self,
        result: Any,
        function: Callable[..., Any],
        operands: tuple[Any, ...],
        staged: Callable[..., Any] | None = None,
    ) -> None:
        """Takes down what a number of Python's is computed from, for which a tracer stands, if the sizes tell it.

        Args:
          result: the tracer, or several.
          function: computes it.
          operands: of that.
          staged: the same of arrays, where it takes none.
        """
        if not all(map(self.is_number, operands)):
            return
        given = [self._number_of(item) for item in operands]

        def number(sizes: Mapping[str, int] | None, leaves: Any) -> Any:
            compute = staged if staged is not None and sizes is None else function
            return compute(*(each(sizes, leaves) for each in given))

        several = isinstance(result, tuple)
        for at, made in enumerate(result if several else (result,)):
            if _jax.is_tracer(made):
                compute = partial(_item, number, at) if several else number
                self._numbers[id(made)] = made, compute
                _jax.stand_for_number(made, type(compute(self.sizes.values, self._leaves)))

    def on_dim_numpy(self, dim: Any, frame: FrameType) -> None:
        """See `DimAnswers`."""
        self._refuse(f"NumPy computes with a size, `{_jax.dim_text(dim)}`", frame)

    def _number_of(self, item: Any) -> Number:
        if _jax.is_dim(item):
            return lambda sizes, leaves: jnp.asarray(item) if sizes is None else _jax.dim_value(item, sizes)
        return self._numbers[id(item)][1] if id(item) in self._numbers else lambda sizes, leaves: item

    def on_rows(self, shape: Sequence[Any]) -> None:
        """Called when somebody walks over the rows of a tracer."""
        if shape and _jax.is_dim(shape[0]):
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            self._refuse(f"Python walks over `{_jax.dim_text(shape[0])}` rows", frame)

    def on_dim_equal(self, dim: Any, other: Any, answer: bool, frame: FrameType) -> None:
        """See `DimAnswers`."""
        if type(other) is int or _jax.is_dim(other):
            key = _jax.dim_text(dim), _jax.dim_text(other)
            self._compared.setdefault(key, _Compared(dim, other, answer, self._line(frame)))

    def on_dim_truth(self, dim: Any, frame: FrameType) -> bool:
        """See `DimAnswers`."""
        least, most = _jax.dim_bounds(dim)
        if least > 0 or most < 0:
            return True
        self.undecided = dim, self._line(frame)
        raise jax.errors.InconclusiveDimensionOperation(f"comparison '{_jax.dim_text(dim)}' == '0' is inconclusive")

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

    @property
    def answers(self) -> list[tuple[str, bool]]:
        """What the cell has asked of sizes, each with the answer that the program is for."""
        texts = [(f"{_jax.dim_text(one.dim)} == {_jax.dim_text(one.other)}", one) for one in self._compared.values()]
        return [(text, one.answer) for text, one in texts if _jax.is_dim(one.dim) or _jax.is_dim(one.other)]

    def unlike(self, sizes: Mapping[str, int]) -> tuple[str, int | None] | None:
        """The first comparison of the cell that comes out otherwise for these sizes, with its line."""
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
            kind = self.class_of(value)

            def size(b: Building) -> Any:
                return b.of_sizes(value, None) if b.of_sizes else kind(_jax.dim_value(value, self._values(b)))

            return size
        if id(value) in self._numbers:
            number = self._numbers[id(value)][1]
            kind = type(number(self.sizes.values, self._leaves))

            def build(b: Building) -> Any:
                return b.of_sizes(number, kind) if b.of_sizes else number(self._values(b), b.reached.leaves)

            return memoized(id(value), build)
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
            others = scope_of([text for n, text in enumerate(constraints) if n != number])
            alone = scope_of([constraint])
            for (text, _, line), decision in self._decided.items():
                if not _jax.is_decided(decision, others):
                    found.append(Used(constraint, line, _question(text, decision[0])))
            for term, line in self._rewritten:
                if _jax.is_rewritten(term, alone):
                    found.append(Used(constraint, line, f"what {term} is"))
        return sorted({(one.constraint, one.line): one for one in reversed(found)}.values(), key=lambda one: one.line)


def _item(number: Number, at: int, sizes: Mapping[str, int] | None, leaves: Any) -> Any:
    return number(sizes, leaves)[at]


def _leaf(at: int, sizes: Mapping[str, int] | None, leaves: Any) -> Any:
    return leaves[at]


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


_WHOLE = frozenset({"math.floor", "math.ceil", "math.trunc"})


def _is_whole(item: Any) -> bool:
    return type(item) is int or _jax.is_dim(item)


def _holds_dim(item: Any) -> bool:
    return _jax.is_dim(item) or (isinstance(item, tuple) and any(map(_holds_dim, item)))
