"""Sums of costs: by the line of the cell, by function, by `jax.named_scope`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from jaxnb.program import Level
from jaxnb.reading.cost.value import Cost, sum_costs
from jaxnb.reading.cost.walk import Costed, scope_of

__all__ = ["sum_by_function", "sum_by_line", "sum_by_scope"]

Key = TypeVar("Key", bound=Hashable)


def sum_by_line(costs: Iterable[Costed], level: Level) -> dict[int | None, Cost]:
    """What each line of the cell costs; None has what is of no line.

    What a function does that stands elsewhere counts on the line that calls it.

    Args:
      costs: of `costs_of`.
      level: what `read_jaxpr` made of the same jaxpr, which knows the lines.
    """

    def line_of(entry: Costed) -> int | None:
        at: Costed | None = entry
        while at is not None:
            computation, op = at.place
            line = level.computations[computation].ops[op].line
            if line is not None:
                return line
            at = at.owner
        return None

    return _sums(costs, line_of)


def sum_by_function(costs: Iterable[Costed]) -> dict[str, Cost]:
    """What each function costs that was staged as one (by `jit`, `checkpoint`, `custom_jvp`, ...), "" for the rest.

    The functions that a function calls count on their own.
    """
    return _sums(costs, lambda entry: entry.function)


def sum_by_scope(costs: Iterable[Costed]) -> dict[str, Cost]:
    """What each `jax.named_scope` costs, "" for what is in none; a derivative reads `jvp(scope)`."""
    return _sums(costs, scope_of)


def _sums(costs: Iterable[Costed], key: Callable[[Costed], Key]) -> dict[Key, Cost]:
    groups: dict[Key, list[Cost]] = {}
    for entry in costs:
        groups.setdefault(key(entry), []).append(entry.own)
    return {name: sum_costs(group) for name, group in groups.items()}
