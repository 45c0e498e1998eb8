"""A column against a vector (`"all_pairs"`): (n, 1) with (n,) broadcasts to (n, n), of which then a mean is taken.

Where the axis was written in, by `x[:, None]`, all pairs are meant, and under `vmap` one of the axes is the batch.
Source: NumPy's rules of broadcasting, https://numpy.org/doc/stable/user/basics.broadcasting.html.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from jax.extend.core import Literal

from jaxnb._jax import name_parts, open_jaxpr
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.census import jaxprs_of
from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.written import Written
from jaxnb.program import Finding

__all__ = ["LINT", "columns_against_vectors"]

_REDUCING = frozenset(
    {"reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "dot_general"}
)
_MEANT = frozenset({"reshape", "expand_dims", "atleast_2d", "outer"})


def columns_against_vectors(traced: LintContext) -> Iterator[Finding]:
    """Where a vector meets a column of its own length in a piece, and the square is reduced, one finding for each line.

    Args:
      traced: the piece.
    """
    written = traced.written
    for jaxpr, census, owners in jaxprs_of(open_jaxpr(traced.piece.jaxpr)):
        if any(map(_is_mapped, owners)):
            continue
        rows = {eqn.outvars[0]: eqn for eqn in census.rows if not _is_mapped(eqn)}
        for use in jaxpr.eqns if rows else ():
            row = next((rows[atom] for atom in use.invars if type(atom) is not Literal and atom in rows), None)
            if row is not None:
                yield from _met(traced, written, Part(jaxpr, (), (), census), row, use)


def _is_mapped(eqn: Any) -> bool:
    """Whether an equation is of a function under `vmap`, which has an axis there that the code does not see."""
    return (True, "vmap") in name_parts(eqn)


def _met(traced: LintContext, written: Written, part: Part, row: Any, use: Any) -> Iterator[Finding]:
    n = row.outvars[0].aval.shape[1]
    column = next((atom for atom in use.invars if getattr(atom.aval, "shape", ()) == (n, 1)), None)
    square = use.outvars[0].aval.shape == (n, n)
    node = written.at(use, part)
    if column is None or not square or node is None or node is not written.at(row, part):
        return
    sides = _sides(node)
    if len(sides) != 2 or any(_is_meant(side) for side in sides) or not _is_reduced(part.jaxpr, use.outvars[0]):
        return
    names = [ast.unparse(side) for side in sides]
    of_column = 0 if use.invars[0] is column else 1
    tall, flat = names[of_column], names[1 - of_column]
    message = (
        f"`{ast.unparse(node)}`: `{tall}` ({n}, 1) and `{flat}` ({n},) broadcast to ({n}, {n}), each with each,"
        " and that is reduced."
    )
    fix = f"give both one shape: `{tall}[:, 0]` or `{tall}.squeeze(-1)`, or `{flat}[:, None]`."
    yield traced.finding("all_pairs", message, use, part, fix, tall)


def _sides(node: ast.AST) -> list[ast.expr]:
    """The two operands as they are written."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    return [*node.args] if isinstance(node, ast.Call) else []


def _is_meant(node: ast.AST) -> bool:
    """Whether an operand was given its axis where it is used."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            kept = any(keyword.arg == "keepdims" for keyword in part.keywords)
            if kept or name_called(part) in _MEANT:
                return True
        if isinstance(part, ast.Subscript):
            indices = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
            if any(isinstance(index, ast.Constant) and index.value is None for index in indices):
                return True
    return False


def _is_reduced(jaxpr: Any, square: Any) -> bool:
    """Whether what is computed of a square is reduced over both of its axes."""
    reached = {square}
    for eqn in jaxpr.eqns:
        if not any(type(atom) is not Literal and atom in reached for atom in eqn.invars):
            continue
        if eqn.primitive.name in _REDUCING and not eqn.outvars[0].aval.shape:
            return True
        reached.update(eqn.outvars)
    return False


LINT = Lint(columns_against_vectors, lambda traced: When.TRACED if traced.census.meets else When.NEVER)
