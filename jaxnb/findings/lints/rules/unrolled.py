"""Loops of Python in functions that are traced (`"unrolled"`): each turn is written out, and compiled on its own.

Source: https://docs.jax.dev/en/latest/faq.html (jit changes how long a function takes to compile).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxnb._jax import open_jaxpr
from jaxnb.findings.lints.census import jaxprs_of
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.written import LIBRARIES, Written, own_place
from jaxnb.program import Finding, Fix

__all__ = ["FEW", "LINT", "TURNS", "unrolled_loops"]

FEW, TURNS = 60, 12
"""So many equations, or turns, are not told."""


class _Loop(NamedTuple):
    file: str
    line: int
    function: str


def unrolled_loops(traced: LintContext) -> Iterator[Finding]:
    """The loops of functions whose turns make up most of a piece.

    Args:
      traced: the piece.
    """
    written, loops = Written(), dict[tuple[str, int], _Loop | None]()
    for jaxpr, _, _ in jaxprs_of(open_jaxpr(traced.piece.jaxpr)):
        if len(jaxpr.eqns) < FEW:
            continue
        made: dict[_Loop, Counter[Any]] = {}
        for eqn in jaxpr.eqns:
            place = own_place(eqn)
            if place is None:
                continue
            at = place.file, place.line
            if at not in loops:
                loops[at] = _loop_at(written, *at)
            if (loop := loops[at]) is not None:
                made.setdefault(loop, Counter())[place.line, place.column, eqn.primitive.name] += 1
        for loop, counts in made.items():
            total, turns = sum(counts.values()), min(counts.values())
            if turns >= TURNS and total >= FEW and 2 * total > len(jaxpr.eqns):
                yield _finding(traced, loop, total, turns, len(jaxpr.eqns))


def _finding(traced: LintContext, loop: _Loop, total: int, turns: int, whole: int) -> Finding:
    own = loop.file == traced.cell.filename
    where = "" if own else f"line {loop.line} of {traced.label(loop.file)}"
    message = (
        f"the loop of Python in `{loop.function}` is unrolled {turns} times: {total:,} of {whole:,} equations, each of"
        f" which is traced and compiled; as a lax.scan it would be about {max(1, total // turns)}."
    )
    fix = "write it as lax.fori_loop, or as lax.scan where each turn has data of its own."
    return Finding("unrolled", message, loop.line if own else None, holder=loop.function, origin=where, fix=Fix(fix))


def _loop_at(written: Written, file: str, line: int) -> _Loop | None:
    """The outermost loop of a function of the user's that a line stands in."""
    tree = written.tree(file) if not file.startswith(LIBRARIES) else None
    function: ast.FunctionDef | None = None
    for node in ast.walk(tree) if tree is not None else ():
        inside = isinstance(node, ast.FunctionDef | ast.For | ast.While) and node.lineno <= line <= (
            node.end_lineno or 0
        )
        if inside and isinstance(node, ast.FunctionDef):
            function = node
        elif inside and function is not None and isinstance(node, ast.For | ast.While) and line > node.lineno:
            return _Loop(file, node.lineno, function.name)
    return None


LINT = Lint(unrolled_loops, lambda traced: When.TRACED if traced.census.long else When.NEVER)
