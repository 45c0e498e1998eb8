"""What a program need not compute when it runs: what no result needs, and what depends on no input."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, cast

from jax.extend import core as jax_core

from jaxnb._jax import CALLS, body_jaxprs, open_jaxpr
from jaxnb.program import Place
from jaxnb.reading.cost.needed import Mask, Needed, NeededJaxpr

__all__ = ["Found", "Visited", "computations", "dead_equations", "known_equations"]

MOST_EQNS = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """An equation of a program.

    Attributes:
      place: computation and op, as `jaxnb.reading.jaxpr.jaxpr.read_jaxpr` numbers them.
      eqn: the equation.
    """

    place: Place
    eqn: jax_core.JaxprEqn


@dataclass(frozen=True, slots=True, eq=False)
class Visited:
    """A jaxpr of a program on the way through all of them.

    Attributes:
      index: its number as a computation.
      jaxpr: its equations.
      needs: which of them are needed; None if it stands in an equation that is not.
      bodies: for each equation the numbers of its bodies, which come later; () where they stand above.
    """

    index: int
    jaxpr: jax_core.Jaxpr
    needs: NeededJaxpr | None
    bodies: list[tuple[int, ...]]


def computations(program: Any) -> list[Visited]:
    """The jaxprs of a program in the order and with the numbers of `read_jaxpr`.

    Args:
      program: a closed jaxpr, or what this function gave for it.
    """
    if isinstance(program, list):
        return cast(list[Visited], program)
    needed = Needed()
    seen: set[int] = set()
    found: list[Visited] = []
    ops = 0

    def visit(jaxpr: jax_core.Jaxpr, outputs: Mask | None, dead: bool) -> int:
        nonlocal ops
        seen.add(id(jaxpr))
        needs = needed.of(jaxpr, outputs)
        mine = Visited(len(found), jaxpr, None if dead else needs, [])
        found.append(mine)
        for eqn, need in zip(jaxpr.eqns, needs.equations, strict=True):
            ops += 1
            inside = list(body_jaxprs(eqn.params))
            if ops > MOST_EQNS and all(id(body) in seen for _, body in inside):
                inside = []
            mine.bodies.append(
                tuple(
                    visit(body, need.bodies.get(path) if need else None, dead or need is None) for path, body in inside
                )
            )
        return mine.index

    visit(open_jaxpr(program), None, False)
    return found


def dead_equations(program: Any) -> list[Found]:
    """The equations that are left out because no result needs them and they have no effect.

    Those inside of calls and loops are among them, also where the call computes them for a result that its caller does
    not use; what is inside of a dead equation is not listed.

    Args:
      program: a closed jaxpr, or its `computations`.

    >>> import jax, jax.numpy as jnp
    >>> def f(x):
    ...     jnp.exp(x)
    ...     return x + 1
    >>> [dead.eqn.primitive.name for dead in dead_equations(jax.make_jaxpr(f)(1.0))]
    ['exp']
    """
    return [
        Found((visited.index, number), eqn)
        for visited in computations(program)
        if visited.needs is not None
        for number, (eqn, need) in enumerate(zip(visited.jaxpr.eqns, visited.needs.equations, strict=True))
        if need is None
    ]


def known_equations(program: Any) -> list[Found]:
    """The equations that could be computed ahead: they depend on literals and constants alone, and have no effect.

    Inside of a call, what depends on arguments that are known at the call is known as well; inside of a loop and of a
    branch, what depends on no argument. What is inside of such an equation, and what is dead, is not listed.

    Args:
      program: a closed jaxpr, or its `computations`.

    >>> import jax, jax.numpy as jnp
    >>> jaxpr = jax.make_jaxpr(lambda x: x + jnp.sin(jnp.arange(3.0)))(jnp.ones(3))
    >>> [known.eqn.primitive.name for known in known_equations(jaxpr)]
    ['iota', 'sin']
    """
    visited = computations(program)
    found: list[Found] = []

    def visit(here: Visited, given: Sequence[bool]) -> list[bool]:
        """Lists what is known, and says which results are."""
        known: set[Any] = {*here.jaxpr.constvars, *compress(here.jaxpr.invars, given)}
        needs = here.needs.equations if here.needs is not None else [None] * len(here.jaxpr.eqns)
        for number, (eqn, need) in enumerate(zip(here.jaxpr.eqns, needs, strict=True)):
            if need is None:
                continue
            told = [_is_known(v, known) for v in eqn.invars]
            if all(told) and not eqn.effects:
                known.update(eqn.outvars)
                found.append(Found((here.index, number), eqn))
                continue
            for index in here.bodies[number]:
                body = visited[index]
                passed = eqn.primitive.name in CALLS and len(body.jaxpr.invars) == len(told)
                results = visit(body, told if passed else [False] * len(body.jaxpr.invars))
                if passed and len(results) == len(eqn.outvars):
                    known.update(compress(eqn.outvars, results))
        return [_is_known(v, known) for v in here.jaxpr.outvars]

    visit(visited[0], [False] * len(visited[0].jaxpr.invars))
    return sorted(found, key=lambda one: one.place)


def _is_known(atom: Any, known: Collection[Any]) -> bool:
    return type(atom) is jax_core.Literal or atom in known
