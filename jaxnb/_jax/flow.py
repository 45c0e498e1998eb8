"""What the values of a jaxpr are, told from what its inputs are, equation by equation: the engine of forward analyses.

An analysis is a domain with a join, and rules by primitive. What calls, branches and loops do is the same for all of
them and stands here: a branch is joined with the others and with what chooses among them, a loop is gone through until
what it carries has settled (so that there must be no endless chain of joins), and what decides whether it goes on is
joined with all that it carries.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, ClassVar, Generic, TypeVar

from jax._src import core as jax_core  # see `eqns`

from jaxnb._jax.bodies import LOOPS, Called, called_jaxprs, carried
from jaxnb._jax.eqns import open_jaxpr

__all__ = ["Forward", "Sets"]

V = TypeVar("V")
Rule = Callable[[Any, Any, list[V]], list[V]]
"""What the results of an equation are: it is given the analysis, the equation and what its operands are."""


class Forward(ABC, Generic[V]):
    """A forward analysis, whose answers are of type V.

    Attributes:
      nothing: what literals and constants are.
      rules: by the name of the primitive; they go before what is done with calls, branches and loops.
    """

    nothing: V
    rules: ClassVar[Mapping[str, Rule[Any]]] = {}

    @abstractmethod
    def join(self, one: V, other: V) -> V:
        """What a value is that may be either."""

    @abstractmethod
    def other(self, eqn: Any, ins: list[V]) -> list[V]:
        """What the results are of an equation that has no rule, and runs no jaxpr in a way that is known."""

    def run(self, jaxpr: Any, ins: Sequence[V]) -> list[V]:
        """What the results of a jaxpr are, open or closed, whose inputs are `ins`."""
        jaxpr = open_jaxpr(jaxpr)
        known = dict(zip(jaxpr.invars, ins, strict=True))
        self.through(jaxpr.eqns, known)
        return self.read(jaxpr.outvars, known)

    def through(self, eqns: Iterable[Any], known: dict[Any, V]) -> None:
        """Adds what equations make to what is `known`."""
        for eqn in eqns:
            known.update(zip(eqn.outvars, self.equation(eqn, self.read(eqn.invars, known)), strict=True))

    def read(self, atoms: Iterable[Any], known: Mapping[Any, V]) -> list[V]:
        """What variables and literals are."""
        nothing, literal = self.nothing, jax_core.Literal
        return [nothing if type(atom) is literal else known.get(atom, nothing) for atom in atoms]

    def equation(self, eqn: Any, ins: list[V]) -> list[V]:
        """What the results of an equation are, whose operands are `ins`."""
        rule = self.rules.get(eqn.primitive.name)
        if rule is not None:
            return rule(self, eqn, ins)
        called = called_jaxprs(eqn)
        return self._inside(eqn, called, ins)[1] if called else self.other(eqn, ins)

    def enter(self, eqn: Any, called: Called, ins: list[V]) -> list[V]:
        """What the results are of a jaxpr that an equation runs, whose inputs are `ins`."""
        return self.run(called.jaxpr, ins)

    def settled(self, eqn: Any, ins: list[V]) -> list[V]:
        """What the operands of a call, a branch or a loop are, those that are carried in whatever turn."""
        return self._inside(eqn, called_jaxprs(eqn), ins)[0]

    def _inside(self, eqn: Any, called: Sequence[Called], ins: list[V]) -> tuple[list[V], list[V]]:
        """(see `settled`, what the results are)"""
        name = eqn.primitive.name
        if name == "cond":
            branches = [self.enter(eqn, one, one.given(ins)) for one in called]
            return ins, [reduce(self.join, answers, ins[0]) for answers in zip(*branches, strict=True)]
        if name not in LOOPS:
            return ins, self.enter(eqn, called[0], ins)
        part, ins = carried(eqn), list(ins)
        while True:
            *turns, outs = (self.enter(eqn, one, one.given(ins)) for one in called)
            carry = list(map(self.join, ins[part], outs))
            for (goes_on,) in turns:
                carry = [self.join(one, goes_on) for one in carry]
            if carry == ins[part]:
                return ins, carry if turns else outs  # a `while` may take no turn
            ins[part] = carry


class Sets(Forward[frozenset[Any]]):
    """One whose answers are sets: by itself, of which inputs a value is computed."""

    nothing = frozenset[Any]()

    def join(self, one: frozenset[Any], other: frozenset[Any]) -> frozenset[Any]:
        return one | other

    def other(self, eqn: Any, ins: list[frozenset[Any]]) -> list[frozenset[Any]]:
        return [self.nothing.union(*ins)] * len(eqn.outvars)
