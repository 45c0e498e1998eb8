"""The equations of a piece together with the ops that they are at the level "jaxpr": their lines and their phases."""

from __future__ import annotations

from typing import Any

from jax.extend import core as jax_core

from jaxnb._jax import body_jaxprs
from jaxnb.program import Level, Op, Place
from jaxnb.reading import Visited, computations
from jaxnb.staging import Piece

__all__ = ["Eqns", "closed_bodies"]


class Eqns:
    """A piece's jaxpr and its level, which number computations and equations alike.

    Args:
      piece: that was traced.
      level: "jaxpr", of this piece alone.

    Attributes:
      visited: every jaxpr in the piece, by the number of its computation.
      inputs: the names that the user gave to the inputs, in their order; "" for a constant.
    """

    def __init__(self, piece: Piece, level: Level) -> None:
        self.piece, self.level = piece, level
        self.visited: list[Visited] = computations(piece.jaxpr)
        self.inputs = piece.input_names()
        self.owners: dict[int, Place] = {
            body: (here.index, number)
            for here in self.visited
            for number, bodies in enumerate(here.bodies)
            for body in bodies
        }

    def op(self, place: Place) -> Op:
        """What an equation is at the level."""
        return self.level.computations[place[0]].ops[place[1]]

    def line(self, place: Place) -> int | None:
        """The line of the cell that an equation comes from, or that called what it stands in."""
        at: Place | None = place
        while at is not None:
            line = self.op(at).line
            if line is not None:
                return line
            at = self.owners.get(at[0])
        return None

    def phase(self, place: Place) -> str:
        """What an equation is to a derivative: one of `program.PHASES`."""
        at: Place | None = place
        while at is not None:
            phase = self.op(at).phase
            if phase != "primal":
                return phase
            at = self.owners.get(at[0])
        return "primal"

    def is_backward(self, place: Place) -> bool:
        """Whether what an equation makes is of use to a derivative alone: backwards, or kept for that."""
        if self.phase(place) == "transposed":
            return True
        at: Place | None = place
        made: list[int] | None = None  # which results of the equation are meant; None for all
        while at is not None:
            here = self.visited[at[0]]
            outvars = here.jaxpr.eqns[at[1]].outvars
            reached: set[Any] = set(outvars if made is None else [outvars[n] for n in made if n < len(outvars)])
            for number in range(at[1] + 1, len(here.jaxpr.eqns)):
                eqn = here.jaxpr.eqns[number]
                if self.op((at[0], number)).phase != "transposed" and not reached.isdisjoint(_variables(eqn.invars)):
                    reached.update(eqn.outvars)
            results = here.jaxpr.outvars
            made = [n for n, atom in enumerate(results) if type(atom) is not jax_core.Literal and atom in reached]
            if not made:
                return True
            at = self.owners.get(at[0])
        return False

    def results(self) -> list[str]:
        """What the user calls the results, in their order; "" for what is bound to nothing."""
        return self.piece.output_names()


def _variables(atoms: Any) -> list[Any]:
    return [atom for atom in atoms if type(atom) is not jax_core.Literal]


def closed_bodies(eqn: Any) -> list[Any]:
    """The bodies of an equation with their constants, in the order of `body_jaxprs`."""
    found: list[Any] = []
    for path, body in body_jaxprs(eqn.params):
        value: Any = eqn.params
        for part in path:
            if isinstance(value, dict):
                value = value[part]
            else:
                value = value[int(part)] if part.isdigit() else getattr(value, part)
        known = isinstance(value, jax_core.ClosedJaxpr)
        found.append(value if known else jax_core.ClosedJaxpr(body, ()))
    return found
