"""What ops cost, and sums of it in which what nobody knows stays visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from jaxnb.program.structure import COLUMNS, Op

__all__ = ["COUNTED", "MEASURED", "Amount", "Cost", "add_costs", "cost_of"]

_OF_OPS = tuple(name for name, column in COLUMNS.items() if column.in_text and column.of == "op")

COUNTED = tuple(name for name in _OF_OPS if not COLUMNS[name].measured)
"""What may be unknown of an op; what is measured is there or not."""

MEASURED = tuple(name for name in _OF_OPS if COLUMNS[name].measured)


class Amount(NamedTuple):
    """A number, None where nobody knows it; `least` says that something unknown is left out of it."""

    number: float | None
    least: bool = False


Cost = Mapping[str, Amount]
"""What something costs, by column; what is not measured is not in it."""


def cost_of(op: Op) -> dict[str, Amount]:
    """What an op costs without its bodies.

    >>> cost_of(Op("tanh", flops=None, bytes=8))["flops"], cost_of(Op("tanh", flops=3, bytes=8))["flops"].number
    (Amount(number=None, least=True), 3)
    """
    loops = op.times is None  # in the body of a `while`, which is counted once
    found: dict[str, Amount] = {}
    for column in COUNTED:
        number = getattr(op, column)
        found[column] = Amount(number, number is None or (loops and number > 0))
    for column in MEASURED:
        if (number := getattr(op, column)) is not None:
            found[column] = Amount(number)
    return found


def add_costs(costs: Iterable[Cost]) -> dict[str, Amount]:
    """The sum of costs, column by column."""
    total: dict[str, Amount] = {}
    for cost in costs:
        for column, (number, least) in cost.items():
            before = total.get(column)
            if before is None:
                total[column] = Amount(number, least)
            elif number is None:
                total[column] = Amount(before.number, True)
            else:
                total[column] = Amount((before.number or 0) + number, before.least or least)
    return total
