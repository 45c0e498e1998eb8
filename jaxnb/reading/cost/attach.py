"""Costs on the ops of a level."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jaxnb.program import Level, Op
from jaxnb.reading.cost.walk import Costed

__all__ = ["with_costs"]


def with_costs(level: Level, costs: Iterable[Costed]) -> Level:
    """The same level, whose ops say what they cost in all their runs, without what is in their bodies.

    Args:
      level: what `read_jaxpr` made of a jaxpr.
      costs: what `costs_of` says of it. An op without an entry, and one whose own cost nobody knows, say None.

    >>> import jax
    >>> from jaxnb.reading.cost import costs_of
    >>> from jaxnb.reading.jaxpr.jaxpr import read_jaxpr
    >>> jaxpr = jax.make_jaxpr(lambda x: jax.numpy.tanh(x) * 2)(jax.numpy.ones(8))
    >>> level = with_costs(read_jaxpr(jaxpr, cell_file=""), costs_of(jaxpr))
    >>> [(op.name, op.flops, op.bytes, op.transcendentals, op.times) for op in level.ops()]
    [('tanh', 0, 64, 8, 1), ('mul', 8, 132, 0, 1)]
    """
    found: dict[int, dict[int, Costed]] = {}
    for entry in costs:
        found.setdefault(entry.place[0], {})[entry.place[1]] = entry
    computations = tuple(
        replace(computation, ops=tuple(_costing(op, found[index].get(at)) for at, op in enumerate(computation.ops)))
        if index in found
        else computation
        for index, computation in enumerate(level.computations)
    )
    return replace(level, computations=computations)


def _costing(op: Op, entry: Costed | None) -> Op:
    if entry is None:
        return op
    own, trips = entry.own, entry.cost.trips
    if own.unknown:
        return replace(op, times=trips)
    return replace(op, flops=own.flops, bytes=own.bytes, transcendentals=own.transcendentals, times=trips)
