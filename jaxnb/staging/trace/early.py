"""Names that a cell binds, and that a function which it calls may read before that.

What such a name held is no part of a program, as long as nothing reads it, and while it is traced the name is not
there. What reads it all the same gets a NameError, which ends the trace; but code may catch that, or get the built-in
of that name instead. So what functions may read before the cell binds it stays, and is part of the program's key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jaxnb.staging.cells.append_only import NO_USES
from jaxnb.staging.cells.cell import Statement
from jaxnb.staging.objects.graph import Scan
from jaxnb.staging.objects.paths import Choices
from jaxnb.staging.objects.slots import Slots
from jaxnb.staging.trace.piece import Plan

__all__ = ["read_before_bound"]


def read_before_bound(
    plan: Plan, statements: Sequence[Statement], scan: Scan, namespace: dict[str, Any], choices: Choices
) -> frozenset[str]:
    """The hidden names of a plan that functions may read before they are bound, as far as code tells.

    Args:
      plan: what is to be traced.
      statements: those of the plan.
      scan: the walk of all that they reach.
      namespace: where they run.
      choices: as of the trace.
    """
    in_cell = frozenset[str]().union(*(item.names.reads for item in statements)) & plan.hidden
    asked = plan.hidden & (scan.read_by_functions | in_cell)
    return frozenset(name for name in sorted(asked) if _is_early(name, plan, statements, namespace, choices))


def _is_early(
    name: str, plan: Plan, statements: Sequence[Statement], namespace: dict[str, Any], choices: Choices
) -> bool:
    until = next((n for n, item in enumerate(statements) if name in item.names.binds), None)
    if until is None:
        return False
    made: dict[str, frozenset[str]] = {}  # by the name of a function of the cell what it reads
    used: set[str] = set()
    for n, item in enumerate(statements[: until + 1]):
        if item.defines:
            made.update(dict.fromkeys(item.names.binds, item.names.reads))
            continue
        if name in item.names.reads and n < until:  # inside of a function that is made here, or it would be read first
            return True
        used |= item.names.reads - ({name} if n == until else set())
    waiting = [*used & made.keys()]
    while waiting:
        reads = made.pop(waiting.pop(), frozenset())
        if name in reads:
            return True
        used |= reads
        waiting += reads & made.keys()
    roots = tuple(root for root in plan.roots if root in used)
    names = tuple(item.names for item in statements[: until + 1])
    alone = replace(plan, roots=roots, names=names, sees=0, list_uses=NO_USES, ran=None)
    return name in alone.scan(namespace, choices, Slots()).read_by_functions
