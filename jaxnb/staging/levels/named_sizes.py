"""A StableHLO level of a program for certain sizes, with the names that the sizes have in the jaxpr above it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from jaxnb.program import Aval, Level, Link

__all__ = ["with_named_sizes"]

Shape = tuple[int | str, ...]


def with_named_sizes(level: Level, jaxpr: Level, general: Level, links: Sequence[Link]) -> Level:
    """The same level, whose values have names for sizes where the equations that they come from have them.

    A size that could be one of several, or one that is a number in the cell, too, stays a number.

    Args:
      level: that was lowered from the jaxpr.
      jaxpr: of certain sizes.
      general: the same with names for them.
      links: of the level to the jaxpr.
    """
    values, pairs = list(level.values), _paired(jaxpr, general)
    above, below = jaxpr.computations[0], level.computations[0]
    ends = [*zip(above.outputs, below.outputs, strict=False)]
    if len(above.inputs) == len(below.inputs):  # otherwise lowering has left some out
        ends += zip(above.inputs, below.inputs, strict=True)
    named: set[int] = set()
    for upper, lower in ends:
        shapes, aval = pairs.get(upper), values[lower].aval
        if shapes is not None and aval is not None and aval.shape == shapes[0]:
            values[lower] = replace(values[lower], aval=replace(aval, shape=shapes[1]))
            named.add(lower)
    near: dict[tuple[int, int], set[int]] = defaultdict(set)
    for link in links:
        computation, at = link.upper_op
        op = jaxpr.computations[computation].ops[at]
        near[link.lower_op] |= {*op.inputs, *op.outputs}
    for (computation, at), uppers in near.items():
        op = level.computations[computation].ops[at]
        shapes = [pairs[upper] for upper in sorted(uppers) if upper in pairs]
        for lower in {*op.inputs, *op.outputs} - named:
            if (aval := values[lower].aval) is not None and (found := _named(aval, shapes)) is not None:
                values[lower] = replace(values[lower], aval=replace(aval, shape=found))
                named.add(lower)
    return replace(level, values=tuple(values))


def _paired(jaxpr: Level, general: Level) -> dict[int, tuple[Shape, Shape]]:
    """The shape of each value without and with names, by its number in the level without."""
    pairs: dict[int, int] = {}
    for one, other in zip(jaxpr.computations, general.computations, strict=True):
        for kind in ("inputs", "constants", "outputs"):
            pairs.update(zip(getattr(one, kind), getattr(other, kind), strict=True))
        for op, same in zip(one.ops, other.ops, strict=True):
            pairs.update(zip(op.inputs, same.inputs, strict=False))  # a size as a value has an operand in one of them
            pairs.update(zip(op.outputs, same.outputs, strict=True))
    avals = [(at, jaxpr.values[at].aval, general.values[to].aval) for at, to in pairs.items()]
    return {at: (one.shape, other.shape) for at, one, other in avals if one is not None and other is not None}


def _named(aval: Aval, shapes: Sequence[tuple[Shape, Shape]]) -> Shape | None:
    """The shape of a value with names for sizes, given the shapes without and with names around it."""
    whole = {other for one, other in shapes if one == aval.shape}
    if len(whole) == 1:
        return whole.pop()
    texts: dict[int | str, set[int | str]] = defaultdict(set)
    for one, other in shapes:
        for size, text in zip(one, other, strict=True):
            texts[size].add(text)
    found = tuple(next(iter(texts[size])) if len(texts[size]) == 1 else size for size in aval.shape)
    return found if found != aval.shape else None
