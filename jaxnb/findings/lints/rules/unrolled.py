"""Loops of Python in functions that are traced (`"unrolled"`): each turn is written out, and compiled on its own.

Source: https://docs.jax.dev/en/latest/faq.html (jit changes how long a function takes to compile).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from jaxnb._jax import eqn_frames, open_jaxpr
from jaxnb.findings.lints.census import jaxprs_of
from jaxnb.findings.lints.context import LintContext
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.written import LIBRARIES, Written, is_outside, own_place
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
    written = traced.written
    for jaxpr, _, _ in jaxprs_of(open_jaxpr(traced.piece.jaxpr)):
        if len(jaxpr.eqns) < FEW:
            continue
        made: dict[_Loop, list[int]] = {}
        for eqn, count in _repeated(jaxpr.eqns):
            place = own_place(eqn)
            loop = _loop_at(written, place.file, place.line) if place is not None else None
            if loop is not None:
                made.setdefault(loop, []).append(count)
        for loop, counts in made.items():
            if sum(counts) >= FEW and 2 * sum(counts) > len(jaxpr.eqns):
                yield _finding(traced, loop, sum(counts), min(counts), len(jaxpr.eqns))


def _repeated(eqns: Sequence[Any]) -> Iterator[tuple[Any, int]]:
    """One of the equations of each kind that one instruction of the user's has made in many turns, and how many."""
    found: dict[tuple[int, int, str], list[Any]] = {}
    for eqn in eqns:
        for code, offset in eqn_frames(eqn):
            if is_outside(code.co_filename):
                found.setdefault((id(code), offset, eqn.primitive.name), []).append(eqn)
                break
    return ((made[0], len(made)) for made in found.values() if len(made) >= TURNS)


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
