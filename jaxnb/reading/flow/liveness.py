"""What memory a jaxpr needs as it runs: which values live when.

The order is the jaxpr's, every value has memory of its own, from the equation that makes it to the last one that reads
it, and equations that no result needs do not run. The compiler fuses and reorders, so that its figure is another one,
mostly lower; what stands here is what the program as written asks for.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, compress
from typing import Any

from jax.extend import core as jax_core

from jaxnb import named
from jaxnb._jax import CALLS, LOOPS, body_jaxprs, carried, open_jaxpr
from jaxnb.reading.cost.control import shards
from jaxnb.reading.cost.needed import Mask, Needed, NeededEqn
from jaxnb.reading.cost.sizes import elements, nbytes

__all__ = ["Lived", "Liveness", "live_bytes"]

# Their result is their operand by another name or of another shape.
_RENAMES = frozenset(
    ("copy", "expand_dims", "name", "pvary", "reshape", "sharding_constraint", "squeeze", "stop_gradient")
)
_RUN_BODIES = CALLS | LOOPS | {"cond", "custom_linear_solve"}


@dataclass(frozen=True, slots=True, eq=False)
class Lived:
    """A value, and when it lives.

    Attributes:
      var: the variable; others that are only another shape of it share its memory and have no entry.
      nbytes: its size.
      made: the index of the equation that makes it; None for arguments and constants.
      first: the first position at which it lives.
      last: the last one.
      results: which results of the jaxpr it is, by their numbers.
    """

    var: jax_core.Var
    nbytes: int
    made: int | None
    first: int
    last: int
    results: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Liveness:
    """What lives while each equation of a jaxpr runs.

    Attributes:
      jaxpr: whose equations are counted.
      values: everything that lives at some time, in the order in which it is made.
      live: bytes at each position, one for an equation; its operands and its results live together, and what its
        bodies need besides.
      bodies: of the positions whose equation has bodies, what lives inside the one that needs the most. Arguments and
        results of a call are its caller's; a loop's body has slices and results of its own.
    """

    jaxpr: jax_core.Jaxpr
    values: tuple[Lived, ...]
    live: tuple[int, ...]
    bodies: Mapping[int, Liveness] = field(default_factory=dict[int, "Liveness"])

    @property
    def peak(self) -> int:
        """The most bytes that live at one time."""
        return max(self.live, default=0)

    @property
    def peak_at(self) -> int:
        """The first position at which the most bytes live."""
        return self.live.index(self.peak) if self.live else 0

    def at(self, position: int) -> tuple[Lived, ...]:
        """Who lives at a position, the largest first."""
        found = [value for value in self.values if value.first <= position <= value.last]
        return tuple(sorted(found, key=lambda value: -value.nbytes))


def live_bytes(closed_jaxpr: Any, donated: Collection[int] = ()) -> Liveness:
    """What lives while each equation runs.

    Args:
      closed_jaxpr: what `jax.make_jaxpr(f)(...)` or `jax.jit(f).trace(...).jaxpr` gives.
      donated: the arguments, by number, whose memory the program may have; the others live to the end, as do constants.

    Raises:
      ValueError: if a shape holds a symbol.

    >>> import jax, jax.numpy as jnp
    >>> found = live_bytes(jax.make_jaxpr(lambda x: jnp.sin(jnp.cos(x)) * x)(jnp.ones(1000)))
    >>> found.live, found.peak_at, [value.made for value in found.at(1)]
    ((8000, 12000, 12000), 1, [None, 0, 1])
    """
    jaxpr = open_jaxpr(closed_jaxpr)
    held = [v for i, v in enumerate(jaxpr.invars) if i not in donated]
    return _Measuring(Needed()).run(jaxpr, None, [*jaxpr.constvars, *jaxpr.invars], {*jaxpr.constvars, *held}, set())


class _Measuring:
    """Measures jaxprs, and remembers those that equations share."""

    def __init__(self, needed: Needed, positions: Mapping[Any, int] | None = None) -> None:
        self._needed = needed
        self._positions = positions or {}
        self._inside: dict[tuple[int, Mask | None, str], Liveness] = {}

    def run(
        self,
        jaxpr: jax_core.Jaxpr,
        outputs: Mask | None,
        given: Collection[jax_core.Var],
        held: Collection[jax_core.Var],
        elsewhere: Collection[jax_core.Var],
    ) -> Liveness:
        """What lives in a jaxpr.

        Args:
          jaxpr: the equations.
          outputs: which results are needed, by default all.
          given: arguments and constants that have memory here.
          held: those of them that live to the end.
          elsewhere: variables that have their memory with the caller.
        """
        needs = self._needed.of(jaxpr, outputs)
        end = max(len(jaxpr.eqns) - 1, 0)
        roots: dict[Any, Any] = {}
        made: dict[Any, int | None] = dict.fromkeys(given)
        last: dict[Any, int] = {v: end if v in held else 0 for v in given}
        bodies: dict[int, Liveness] = {}
        extra = [0] * (end + 1)
        for at, (eqn, need) in enumerate(zip(jaxpr.eqns, needs.equations, strict=True)):
            if need is None:
                continue
            read = [roots.get(v, v) for v in compress(eqn.invars, need.inputs) if type(v) is not jax_core.Literal]
            last.update((v, at) for v in read if v not in last or last[v] < at)
            if read and _renames(eqn):
                roots[eqn.outvars[0]] = read[0]
                continue
            for v, wanted in zip(eqn.outvars, need.outputs, strict=True):
                if wanted or not need.bodies:
                    made[v] = last[v] = at
            inside = self._most(eqn, need)
            if inside is not None:
                bodies[at] = inside
                extra[at] = inside.peak * (shards(eqn) if eqn.primitive.name == "shard_map" else 1)
        results: dict[Any, tuple[int, ...]] = {}
        for number, v in enumerate(jaxpr.outvars):
            if type(v) is not jax_core.Literal and (outputs is None or outputs[number]):
                root = roots.get(v, v)
                last[root] = end
                results[root] = (*results.get(root, ()), number)
        values = tuple(
            Lived(v, nbytes(v.aval) * self._positions.get(v, 1), at, at or 0, last[v], results.get(v, ()))
            for v, at in made.items()
            if v not in elsewhere
        )
        change = [0] * (end + 2)
        for value in values:
            change[value.first] += value.nbytes
            change[value.last + 1] -= value.nbytes
        live = tuple(a + b for a, b in zip(accumulate(change), extra, strict=False))
        return Liveness(jaxpr, values, live, bodies)

    def _most(self, eqn: Any, need: NeededEqn) -> Liveness | None:
        """What lives in that body of an equation that needs the most besides what the equation has itself."""
        name = eqn.primitive.name
        if name == "xmap":
            return self._mapped(eqn)
        if name not in _RUN_BODIES:
            return None
        found = [self._body(eqn, body, need.bodies.get(path)) for path, body in body_jaxprs(eqn.params)]
        return max(found, key=lambda inside: inside.peak, default=None)

    def _mapped(self, eqn: Any) -> Liveness:
        """What lives in the body of an `xmap`, of all positions that are computed at one time."""
        key = (id(eqn), None, "xmap")
        if key not in self._inside:
            body = dict(body_jaxprs(eqn.params))["body",]
            measuring = _Measuring(self._needed, _positions(eqn, body))  # others may share the jaxprs in the body
            mine = {*body.invars, *(v for v in body.outvars if type(v) is not jax_core.Literal)}
            self._inside[key] = measuring.run(body, None, (), (), mine)
        return self._inside[key]

    def _body(self, eqn: Any, body: jax_core.Jaxpr, outputs: Mask | None) -> Liveness:
        name = eqn.primitive.name
        key = (id(body), outputs, name)
        if key not in self._inside:
            sliced = body.invars[carried(eqn).stop :] if name == "scan" else []
            mine = {*body.constvars, *body.invars}.difference(sliced)
            if name not in LOOPS:
                mine.update(v for v in body.outvars if type(v) is not jax_core.Literal)
            self._inside[key] = self.run(body, outputs, sliced, (), mine)
        return self._inside[key]


def _positions(eqn: Any, body: jax_core.Jaxpr) -> Mapping[Any, int]:
    """Of how many positions each value in the body of an `xmap` lives at one time; a loop has one turn at a time."""
    params = eqn.params
    turns = dict(params["plan"].loops)
    together = {name: size // turns.get(name, 1) for name, size in params["sizes"]}
    found: dict[Any, int] = {}

    def visit(inner: Any, ins: Any, outs: Any) -> None:
        for v, names in zip((*inner.invars, *inner.outvars), (*ins, *outs), strict=True):
            if type(v) is not jax_core.Literal:
                found[v] = max(found.get(v, 1), math.prod(together.get(name, 1) for name in names))

    named.axis_flow(body, [frozenset(name for _, name in axes) for axes in params["in_axes"]], visit)
    return found


def _renames(eqn: Any) -> bool:
    if eqn.primitive.name == "broadcast_in_dim":  # as `x[None]` makes one
        return elements(eqn.invars[0].aval) == elements(eqn.outvars[0].aval)
    return eqn.primitive.name in _RENAMES
