"""Names that a cell binds, and that a function which it calls may read before that.

What such a name held is no part of a program, as long as nothing reads it, and while it is traced the name is not
there. What reads it all the same gets a NameError, which ends the trace; but code may catch that, or get the built-in
of that name instead. So what functions may read before the cell binds it stays, and is part of the program's key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
    early: set[str] = set()
    waiting = set(plan.hidden)
    made: dict[str, frozenset[str]] = {}  # of the functions that the cell has made so far, what they read
    opened: set[str] = set()  # the names that are used, of which it was looked at what they read
    used: set[str] = set()  # those before a function was made anew
    for n, item in enumerate(statements):
        if not waiting:
            break
        bound = waiting & item.names.binds
        if item.defines:
            made.update(dict.fromkeys(item.names.binds, item.names.reads))
            used |= opened
            opened.clear()
        else:
            # What no statement reads first is read inside of a function that is made here, or by one that is called.
            early |= (item.names.reads & waiting) - bound
            early |= _read_by_made(item.names.reads, made, opened) & waiting
        if asked := (bound & scan.read_by_functions) - early:
            roots = tuple(root for root in plan.roots if root in used or root in opened)
            names = tuple(one.names for one in statements[: n + 1])
            alone = replace(plan, roots=roots, names=names, sees=0, list_uses=NO_USES, ran=None)
            early |= asked & alone.scan(namespace, choices, Slots()).read_by_functions
        waiting -= bound | early
    return frozenset(early)


def _read_by_made(reads: frozenset[str], made: Mapping[str, frozenset[str]], opened: set[str]) -> set[str]:
    """What functions of the cell read that a statement may come to. All that was looked at is added to `opened`."""
    found: set[str] = set()
    fresh = reads - opened
    while fresh:
        opened |= fresh
        inner = frozenset[str]().union(*(made[name] for name in fresh & made.keys()))
        found |= inner
        fresh = inner - opened
    return found
