"""What a detector of quiet findings is given: one traced piece, and what is made of it when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from jax.extend import core as jax_core

from jaxnb._jax_eqns import open_jaxpr
from jaxnb._jax_hlo import is_opaque
from jaxnb.cells.cell import CellSource, Statement
from jaxnb.findings.key_flow import DRAWS, Flow, Token, follow_keys
from jaxnb.program import Level, Span
from jaxnb.readers.spans import Spans
from jaxnb.staging.piece import Piece

if TYPE_CHECKING:
    from jaxnb.running.runner import Runner

__all__ = ["Keys", "Part", "Traced"]

_PLAIN = frozenset({bool, int, float, str, type(None)})  # what most parameters are: they are passed over at once


class Part(NamedTuple):
    """A jaxpr of a piece, with the constants that it is closed over and the equations that it stands in."""

    jaxpr: Any
    constants: Sequence[Any]
    owners: tuple[Any, ...]


class Keys(NamedTuple):
    """The flow of PRNG keys through a piece, with the tokens of its inputs and results."""

    flow: Flow
    inputs: Sequence[Token]
    results: Sequence[Token]


@dataclass
class Traced:
    """A piece that was traced just now.

    Attributes:
      cell: that it belongs to.
      piece: the piece.
      arguments: what its program was given, one for each input.
      results: what its program made, one for each result; () where that cannot be told.
      namespace: the names that the cell ran in.
      label: what the user knows a file by.
    """

    cell: CellSource
    piece: Piece
    arguments: Sequence[Any] = ()
    results: Sequence[Any] = ()
    namespace: Mapping[str, Any] = field(default_factory=dict[str, Any])
    label: Callable[[str], str] = str

    @classmethod
    def of(cls, runner: Runner, piece: Piece) -> Traced:
        """A piece of a run, with what it was given and what it made in its last turn."""
        ran = runner.ran[id(piece)]
        arguments: Sequence[Any] = ran.reached.leaves
        results: Sequence[Any] = ran.outputs
        if piece.prelude is not None:
            arguments = piece.prelude.arguments(ran.reached.leaves, ran.reached.scalars)
            places = piece.prelude.outputs
            made = {at: ran.outputs[place] for place, (kind, at) in enumerate(places) if kind == "device"}
            results = [made.get(at) for at in range(piece.n_outputs)]
        return cls(ran.cell, piece, arguments, results, runner.namespace, runner.label)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The statements of the piece."""
        return self.cell.statements[self.piece.plan.start : self.piece.plan.stop]

    @cached_property
    def spans(self) -> Spans:
        """Finds where in the cell an equation comes from."""
        return Spans(self.cell.filename, self.cell.shown, self.label)

    @cached_property
    def level(self) -> Level:
        """The jaxpr as a level; reading it costs more than following the jaxpr itself."""
        from jaxnb.readers.jaxpr import read_jaxpr  # most pieces do without

        return read_jaxpr(self.piece.jaxpr, cell_file=self.cell.filename, source=self.cell.shown, file_label=self.label)

    @cached_property
    def parts(self) -> list[Part]:
        """Each jaxpr of the piece once, the outermost first, without kernels, which have a compiler of their own."""
        found: list[Part] = []
        seen: set[int] = set()
        leaves: set[str] = set()  # primitives that have no jaxpr, as most do
        waiting = [Part(open_jaxpr(self.piece.jaxpr), self.piece.jaxpr.consts, ())]
        while waiting:
            part = waiting.pop()
            found.append(part)
            for eqn in part.jaxpr.eqns:
                name = eqn.primitive.name
                if name in leaves or is_opaque(eqn):
                    continue
                bodies = [body for value in eqn.params.values() for body in _bodies(value)]
                if not bodies:
                    leaves.add(name)
                for body in bodies:
                    inner = open_jaxpr(body)
                    if id(inner) not in seen:
                        seen.add(id(inner))
                        waiting.append(Part(inner, getattr(body, "consts", ()), (*part.owners, eqn)))
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

    @cached_property
    def keys(self) -> Keys:
        """Which PRNG keys are used where."""
        if not any(eqn.primitive.name in DRAWS for part in self.parts for eqn in part.jaxpr.eqns):
            return Keys(Flow(self.spans), (), ())
        return Keys(*follow_keys(self.piece.jaxpr, self.spans))


def _bodies(value: Any) -> Iterable[Any]:
    """The jaxprs in a parameter of an equation, closed where they are."""
    if isinstance(value, jax_core.ClosedJaxpr | jax_core.Jaxpr):
        return (value,)
    if isinstance(value, tuple | list):
        items: Sequence[Any] = value
        return [body for item in items if type(item) not in _PLAIN for body in _bodies(item)]
    return ()
