"""What a detector of quiet findings is given: one traced piece, and what is made of it when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxnb import reading
from jaxnb._jax import open_jaxpr
from jaxnb.findings.lints.census import Census, Part, census_of
from jaxnb.findings.lints.key_flow import Flow, Token, follow_keys
from jaxnb.findings.lints.written import Written
from jaxnb.program import Finding, Fix, Level, Span
from jaxnb.reading import Spans
from jaxnb.staging import CellSource, Piece, Statement

if TYPE_CHECKING:
    from jaxnb.staging import Execution

__all__ = ["Keys", "LintContext", "Part", "as_called", "given_and_made"]


class Keys(NamedTuple):
    """The flow of PRNG keys through a piece, with the tokens of its inputs and results."""

    flow: Flow
    inputs: Sequence[Token]
    results: Sequence[Token]


def given_and_made(execution: Execution, piece: Piece) -> tuple[Sequence[Any], Sequence[Any]]:
    """What the program of a piece was given in its last turn, one for each input, and what it made; None for a result
    that Python made."""
    ran = execution.ran[id(piece)]
    if piece.prelude is None:
        return ran.reached.leaves, ran.outputs
    arguments = piece.prelude.arguments(ran.reached.leaves, ran.reached.scalars)
    places = piece.prelude.outputs
    made = {at: ran.outputs[place] for place, (kind, at) in enumerate(places) if kind == "device"}
    return arguments, [made.get(at) for at in range(piece.n_outputs)]


@dataclass
class LintContext:
    """A piece that was traced just now.

    Attributes:
      cell: that it belongs to.
      piece: the piece.
      arguments: what its program was given, one for each input.
      results: what its program made, one for each result; () where that cannot be told.
      namespace: the names that the cell ran in.
      label: what the user knows a file by.
      followed: its keys, if they were followed before.
    """

    cell: CellSource
    piece: Piece
    arguments: Sequence[Any] = ()
    results: Sequence[Any] = ()
    namespace: Mapping[str, Any] = field(default_factory=dict[str, Any])
    label: Callable[[str], str] = str
    followed: Keys | None = None

    @classmethod
    def of(cls, execution: Execution, piece: Piece, followed: Keys | None = None) -> LintContext:
        """A piece of a run, with what it was given and what it made in its last turn.

        Args:
          execution: the run.
          piece: of it.
          followed: its keys, if they were followed before.
        """
        arguments, results = given_and_made(execution, piece)
        cell = as_called(execution.ran[id(piece)].cell, piece)
        return cls(cell, piece, arguments, results, execution.namespace, execution.label, followed)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of the piece."""
        return self.piece.plan.statements_of(self.cell)

    @cached_property
    def spans(self) -> Spans:
        """Finds where in the cell an equation comes from."""
        return Spans(self.cell.filename, self.cell.shown, self.label, self.piece.called)

    @cached_property
    def level(self) -> Level:
        """The jaxpr as a level; reading it costs more than following the jaxpr itself."""
        return reading.read_jaxpr(
            self.piece.jaxpr,
            cell_file=self.cell.filename,
            source=self.cell.shown,
            file_label=self.label,
            called=self.piece.called,
        )

    @cached_property
    def census(self) -> Census:
        """What there is in the piece to look at."""
        return census_of(open_jaxpr(self.piece.jaxpr))

    @cached_property
    def written(self) -> Written:
        """Finds what the user wrote where an equation comes from."""
        return Written()

    @cached_property
    def parts(self) -> list[Part]:
        """The jaxprs of the piece that have constants or dtypes to look at, each once, the outermost first."""
        found: list[Part] = []
        seen: set[int] = set()
        waiting = [Part(open_jaxpr(self.piece.jaxpr), self.piece.jaxpr.consts, (), self.census)]
        while waiting:
            part = waiting.pop()
            if not part.census.telling:
                continue
            found.append(part)
            for inner in part.census.inner:
                jaxpr = open_jaxpr(inner.body)
                if id(jaxpr) not in seen:
                    seen.add(id(jaxpr))
                    owners = (*part.owners, inner.eqn)
                    waiting.append(Part(jaxpr, getattr(inner.body, "consts", ()), owners, inner.census))
        return found

    def span(self, eqn: Any, part: Part) -> Span | None:
        """Where in the cell an equation comes from; elsewhere in the user's text if it is not known to come from there.

        Args:
          eqn: the equation.
          part: that it stands in.
        """
        found: Span | None = None
        for item in (eqn, *reversed(part.owners)):
            span = self.spans.of(item, None)
            if span is not None and not span.file:
                return span
            found = found or span
        return found

    def finding(self, kind: str, message: str, eqn: Any, part: Part, fix: str, holder: str = "") -> Finding:
        """A finding on an equation, with its line, or with the place elsewhere in the user's text.

        Args:
          kind: of the finding.
          message: a sentence.
          eqn: the equation.
          part: that it stands in.
          fix: advice.
          holder: what it is about.
        """
        span = self.span(eqn, part)
        own = span if span is not None and not span.file else None
        origin = f"line {span.line} of {span.file}" if span is not None and span.file else ""
        return Finding(kind, message, own.line if own else None, own, holder=holder, origin=origin, fix=Fix(fix))

    @cached_property
    def keys(self) -> Keys:
        """Which PRNG keys are used where."""
        if self.followed is not None:
            return self.followed
        if not self.census.draws:
            return Keys(Flow(self.spans), (), ())
        return Keys(*follow_keys(self.piece.jaxpr, self.spans))


def as_called(block: CellSource, piece: Piece) -> CellSource:
    """What a piece belongs to; the statements of a function that was taken apart as if they stood where the cell calls
    it."""
    if piece.called is None or piece.cell is None:
        return block
    statements = tuple(replace(statement, span=piece.called) for statement in block.statements)
    return replace(piece.cell, statements=statements)
