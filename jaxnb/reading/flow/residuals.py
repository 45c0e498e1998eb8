"""What the forward pass of a derivative keeps for the backward pass, and what the backward pass computes again.

JAX marks the backward pass by `transpose(...)` in the names of its equations, and what `jax.checkpoint` computes again
by `rematted_computation`. A value that an equation without the mark makes and one with it reads is a residual.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any

from jax.extend import core as jax_core

from jaxnb._jax import CALLS, body_jaxprs, name_parts, scan_counts
from jaxnb.program import Place
from jaxnb.reading.cost.sizes import nbytes
from jaxnb.reading.flow.unneeded import Found, Visited, computations

__all__ = ["Residual", "recomputed_equations", "residuals"]

# What hands its operands on: JAX puts `reduce_precision` behind what a policy keeps, `device_put` behind what it moves
# to the host, and `checkpoint_name` a `name`.
_HANDS_ON = frozenset({"device_put", "name", "reduce_precision"})


@dataclass(frozen=True, slots=True, eq=False)
class Residual:
    """A value that the forward pass of a derivative keeps for the backward pass.

    Attributes:
      var: the variable.
      nbytes: its size.
      made: computation and op that makes it, as `read_jaxpr` numbers them; None for an argument or a constant, which
        is kept anyway.
      read: the first op of the backward pass that reads it.
      origin: the op that computes it, where `made` is a loop or a call, or only gives it a name.
      times: over how many iterations of loops it is stacked; 1 where it is not.
      label: what `checkpoint_name` calls it, or "".
      policy: of the `jax.checkpoint` that kept it instead of computing it again, such as "dots_saveable"; "" for what
        no policy chose, such as the arguments of a checkpointed function.
    """

    var: jax_core.Var
    nbytes: int
    made: Place | None
    read: Place
    origin: Place | None
    times: int = 1
    label: str = ""
    policy: str = ""


def residuals(program: Any) -> list[Residual]:
    """What the forward pass keeps for the backward pass, in the order in which it is read.

    Forward derivatives (`jax.jvp`, `jax.linearize`) have no backward pass, and keep nothing.

    Args:
      program: the closed jaxpr of a function that calls `jax.grad`, or `jax.vjp` and what that gives, somewhere in
        it; or its `computations`.

    >>> import jax, jax.numpy as jnp
    >>> jaxpr = jax.make_jaxpr(jax.grad(lambda x: jnp.sin(x).sum()))(jnp.ones(1000))
    >>> [(jaxpr.eqns[kept.made[1]].primitive.name, kept.nbytes) for kept in residuals(jaxpr)]
    [('cos', 4000)]
    """
    reading = _Reading(computations(program))
    return [kept for here in reading.visited if not reading.recomputes(here) for kept in reading.kept(here)]


def recomputed_equations(program: Any) -> list[Found]:
    """What the backward pass computes again because `jax.checkpoint` did not keep it.

    What is inside of such an equation, and what no result needs, is not listed.

    Args:
      program: a closed jaxpr, or its `computations`.

    >>> import jax, jax.numpy as jnp
    >>> fun = jax.checkpoint(lambda x: jnp.sin(jnp.sin(x)))
    >>> [again.eqn.primitive.name for again in recomputed_equations(jax.make_jaxpr(jax.grad(fun))(1.0))]
    ['sin', 'cos', 'cos']
    """
    visited = computations(program)
    inside: set[int] = set()
    found: list[Found] = []
    for here in visited:
        for number, eqn in enumerate(here.jaxpr.eqns):
            again = here.index in inside or is_recomputed(eqn)
            if again:
                inside.update(here.bodies[number])
            if again and here.index not in inside and here.needs is not None and here.needs.equations[number]:
                found.append(Found((here.index, number), eqn))
    return found


def is_recomputed(eqn: Any) -> bool:
    """Whether JAX says of an equation that it computes something again."""
    return (False, "rematted_computation") in name_parts(eqn)


class _Reading:
    """A program, and who makes what in it."""

    def __init__(self, visited: list[Visited]) -> None:
        self.visited = visited
        self._makers: dict[int, dict[Any, int]] = {}
        self._recompute: set[int] = set()
        for here in visited:
            for eqn, bodies in zip(here.jaxpr.eqns, here.bodies, strict=True):
                if here.index in self._recompute or _is_differentiated(eqn):
                    self._recompute.update(bodies)

    def recomputes(self, here: Visited) -> bool:
        """Whether a jaxpr is what a checkpoint does in the backward pass: what it hands on there is never kept."""
        return here.index in self._recompute

    def kept(self, here: Visited) -> Iterator[Residual]:
        """The residuals of one jaxpr."""
        if here.needs is None:
            return
        made: dict[Any, int | None] = dict.fromkeys((*here.jaxpr.constvars, *here.jaxpr.invars))
        readers: dict[Any, list[tuple[int, int]]] = {}
        for number, (eqn, need) in enumerate(zip(here.jaxpr.eqns, here.needs.equations, strict=True)):
            if need is None:
                continue
            if not _is_backward(eqn):
                made.update(dict.fromkeys(eqn.outvars, number))
                continue
            for position, v in compress(enumerate(eqn.invars), need.inputs):
                if type(v) is not jax_core.Literal and v in made:
                    readers.setdefault(v, []).append((number, position))
        for v, found in readers.items():
            yield self._residual(here, v, made[v], found)

    def _residual(self, here: Visited, var: Any, maker: int | None, readers: list[tuple[int, int]]) -> Residual:
        read = (here.index, readers[0][0])
        size = nbytes(var.aval)
        if maker is None:
            return Residual(var, size, None, read, None)
        origin = self._origin(here, var)
        policies = [
            policy
            for number, position in readers
            for policy in self._policies(here, number, position)
            if any(eqn.primitive.name == "reduce_precision" or _keeps(policy, eqn) for eqn in origin.passed)
        ]
        policy = _policy_name(policies[0]) if policies else ""
        return Residual(var, size, (here.index, maker), read, origin.place, origin.times, origin.label, policy)

    def _origin(self, here: Visited, var: Any) -> _Origin:
        """Follows a value to the equation that computes it, through what hands it on and into loops and calls."""
        found = _Origin((here.index, 0), 1, "", [])
        number: int | None = self._maker(here, var)
        while number is not None:
            eqn: Any = here.jaxpr.eqns[number]
            found.place = (here.index, number)
            found.passed.append(eqn)
            if eqn.primitive.name in _HANDS_ON:
                found.label = found.label or (eqn.params["name"] if eqn.primitive.name == "name" else "")
                var = eqn.invars[list(eqn.outvars).index(var)]
            else:
                body, results = self._body(here, number), list(eqn.outvars)
                if body is None or len(body.jaxpr.outvars) != len(results):
                    break
                position = results.index(var)
                if eqn.primitive.name == "scan" and position >= scan_counts(eqn.params)[1]:
                    found.times *= eqn.params["length"]
                here, var = body, body.jaxpr.outvars[position]
            number = self._maker(here, var)
        return found

    def _policies(self, here: Visited, number: int, position: int) -> Iterator[Callable[..., Any]]:
        """The policies of the checkpoints that an operand of an equation goes into."""
        eqn: Any = here.jaxpr.eqns[number]
        if eqn.primitive.name == "remat2":
            if eqn.params["policy"] is not None:
                yield eqn.params["policy"]
            return
        body = self._body(here, number)
        inner = position - len(eqn.invars) + len(body.jaxpr.invars) if body is not None else -1
        if body is not None and inner >= 0:
            for below, eqn in enumerate(body.jaxpr.eqns):
                for at, v in enumerate(eqn.invars):
                    if v is body.jaxpr.invars[inner]:
                        yield from self._policies(body, below, at)

    def _body(self, here: Visited, number: int) -> Visited | None:
        """The body of a call or of a scan, whose arguments and results are those of the equation."""
        eqn, bodies = here.jaxpr.eqns[number], here.bodies[number]
        name = eqn.primitive.name
        if name == "xmap":
            paths = [path for path, _ in body_jaxprs(eqn.params)]
            return self.visited[bodies[paths.index(("body",))]] if bodies else None
        if len(bodies) != 1 or (name != "scan" and name not in CALLS):
            return None
        return self.visited[bodies[0]] if sum(1 for _ in body_jaxprs(eqn.params)) == 1 else None

    def _maker(self, here: Visited, var: Any) -> int | None:
        if here.index not in self._makers:
            self._makers[here.index] = {v: number for number, eqn in enumerate(here.jaxpr.eqns) for v in eqn.outvars}
        return None if type(var) is jax_core.Literal else self._makers[here.index].get(var)


@dataclass(slots=True)
class _Origin:
    """Where a value comes from, and the equations on the way there."""

    place: Place
    times: int
    label: str
    passed: list[Any]


def _is_backward(eqn: Any) -> bool:
    """Whether an equation is of a backward pass; that of an inner derivative which is derived again is not."""
    for is_transform, name in name_parts(eqn):
        if is_transform and name != "vmap":
            return name == "transpose"
    return False


def _is_differentiated(eqn: Any) -> bool:
    return eqn.primitive.name == "remat2" and bool(eqn.params["differentiated"])


def _keeps(policy: Callable[..., Any], eqn: Any) -> bool:
    """Whether a policy would keep what an equation makes: it answers with a boolean, or with an object that says so."""
    answer = policy(eqn.primitive, *[v.aval for v in eqn.invars], **eqn.params)
    return answer is True or type(answer).__name__ in ("SaveableType", "Offloadable")


def _policy_name(policy: Any) -> str:
    """`jax.checkpoint_policies.dots_saveable` as "dots_saveable", whether it is a function, one that another function
    made, or an object."""
    made = getattr(policy, "__qualname__", "")
    if not made:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(policy).__name__).lower()
    *outer, name = [part for part in made.split(".") if part != "<locals>"]
    return outer[-1] if outer and name in ("policy", "<lambda>") else name
