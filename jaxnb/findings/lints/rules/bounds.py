"""Indices out of bounds (`"bounds"`): JAX clamps what is read there, drops what is written, and raises nothing.

The indices of a piece are computed once more, of its inputs, where that takes only a few simple equations. A `mode`
that the cell asks for is meant.
Source: https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html, on indexing out of bounds.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import Literal

from jaxnb import _jax
from jaxnb._jax import open_jaxpr
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.census import Census
from jaxnb.findings.lints.context import LintContext, Part
from jaxnb.findings.lints.eqns import closed_bodies
from jaxnb.findings.lints.lint import Lint, When
from jaxnb.findings.lints.written import Written
from jaxnb.program import Finding

__all__ = ["LINT", "out_of_bounds"]

_SIMPLE = frozenset(
    "lt le gt ge eq ne add sub mul neg select_n broadcast_in_dim reshape squeeze convert_element_type concatenate iota"
    " clamp max min slice and or not rem div sign floor round transpose copy stop_gradient".split()
)
_MOST_EQUATIONS, _LARGEST = 40, 1 << 20
_CALLED = frozenset(
    "take take_along_axis dynamic_slice dynamic_slice_in_dim dynamic_index_in_dim dynamic_update_slice"
    " dynamic_update_slice_in_dim dynamic_update_index_in_dim segment_sum segment_max segment_min segment_prod set add"
    " subtract multiply divide power min max get bincount".split()
)


class _Index(NamedTuple):
    """One index of an equation: the axis of the operand, how far it may go, and where its values are."""

    axis: int
    limit: int
    atom: Any
    column: int | None


def out_of_bounds(traced: LintContext) -> Iterator[Finding]:
    """The indices of a piece that are beyond their axis, one finding for each expression.

    Args:
      traced: the piece, with what it was given.
    """
    if len(traced.arguments) == len(open_jaxpr(traced.piece.jaxpr).invars):
        yield from _in(traced, Written(), traced.piece.jaxpr, list(traced.arguments), traced.census)


def _in(traced: LintContext, written: Written, closed: Any, given: Sequence[Any], census: Census) -> Iterator[Finding]:
    jaxpr, part = open_jaxpr(closed), Part(open_jaxpr(closed), (), (), census)
    asked: list[tuple[Any, ast.AST, _Index]] = []
    for eqn in census.indexed:
        node = written.at(eqn, part)
        if node is not None and _is_asked(node):
            asked += [(eqn, node, index) for index in _indices(eqn)]
    calls = [item for item in census.inner if item.census.indexes and item.eqn.primitive.name in _jax.CALLS]
    inside = [atom for item in calls for atom in item.eqn.invars]
    values = _values(closed, jaxpr, given, [*(index.atom for _, _, index in asked), *inside])
    seen: set[int] = set()
    for eqn, node, index in asked:
        if id(index.atom) not in values or id(eqn) in seen:
            continue
        own = np.asarray(values[id(index.atom)])
        own = own if index.column is None else own[..., index.column]
        if own.size and (own.min() < 0 or own.max() > index.limit):
            seen.add(id(eqn))
            yield _finding(traced, eqn, part, node, index, own)
    for item in calls:
        body = closed_bodies(item.eqn)[0]
        if len(open_jaxpr(body).invars) == len(item.eqn.invars):
            yield from _in(traced, written, body, [values.get(id(atom)) for atom in item.eqn.invars], item.census)


def _finding(traced: LintContext, eqn: Any, part: Part, node: ast.AST, index: _Index, values: np.ndarray) -> Finding:
    size, name = eqn.invars[0].aval.shape[index.axis], eqn.primitive.name
    wrong = int(values.max()) if values.max() > index.limit else int(values.min()) - size
    text = ast.unparse(node)
    text = text if len(text) <= 60 else text[:59] + "…"
    where = f"index {wrong} is out of bounds for axis {index.axis} of size {size}"
    fix = "keep it in bounds by jnp.clip or `%`, make the array larger, or say what is meant by mode=."
    if name.startswith("dynamic") and index.limit < size - 1:
        taken = size - index.limit
        what = (
            f"a slice of {taken} from {wrong} on is beyond axis {index.axis} of size {size}, and is moved to begin at"
            f" {index.limit}"
        )
        fix = "pad or enlarge the array, take a smaller slice, or leave the last one out."
    elif name.startswith("scatter"):
        what = f"{where}, and what is written there is dropped"
    elif name == "dynamic_update_slice":
        what = f"{where}, and the last one is overwritten"
    elif "FILL" in str(eqn.params.get("mode", "")):
        what = f"{where}, and reads a fill value such as nan"
    else:
        what = f"{where}, and is clamped to the last"
    message = f"`{text}`: {what}; nothing is raised."
    return traced.finding("bounds", message, eqn, part, fix)


def _is_asked(node: ast.AST) -> bool:
    """Whether an expression of the user's indexes, and does not say what is to happen beyond the bounds."""
    if isinstance(node, ast.Subscript):
        return True
    asked = isinstance(node, ast.Call) and name_called(node) in _CALLED
    return asked and not any(word.arg in ("mode", "fill_value") for word in getattr(node, "keywords", ()))


def _indices(eqn: Any) -> Iterator[_Index]:
    name, operand = eqn.primitive.name, eqn.invars[0].aval
    if name in ("dynamic_slice", "dynamic_update_slice"):
        at = 1 if name == "dynamic_slice" else 2
        sizes = eqn.params["slice_sizes"] if name == "dynamic_slice" else eqn.invars[1].aval.shape
        for axis, (size, taken) in enumerate(zip(operand.shape, sizes, strict=True)):
            yield _Index(axis, size - taken, eqn.invars[at + axis], None)
        return
    numbers = eqn.params["dimension_numbers"]
    if name == "gather":
        axes, sizes = numbers.start_index_map, eqn.params["slice_sizes"]
    else:
        axes = numbers.scatter_dims_to_operand_dims
        left = [
            n for n in range(operand.ndim) if n not in (*numbers.inserted_window_dims, *numbers.operand_batching_dims)
        ]
        windows = dict(zip(left, (eqn.invars[2].aval.shape[n] for n in numbers.update_window_dims), strict=True))
        sizes = [windows.get(n, 1) for n in range(operand.ndim)]
    for column, axis in enumerate(axes):
        yield _Index(axis, operand.shape[axis] - sizes[axis], eqn.invars[1], column)


def _values(closed: Any, jaxpr: Any, given: Sequence[Any], wanted: Sequence[Any]) -> dict[int, Any]:
    """The values of atoms, by their ids, computed all at once, as far as simple equations make them."""
    found: dict[int, Any] = {id(atom): atom.val for atom in wanted if type(atom) is Literal}
    known = {var: value for var, value in zip(jaxpr.invars, given, strict=True) if _is_there(value)}
    start = {*known, *jaxpr.constvars}
    makers = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars} if len(found) < len(wanted) else {}
    needed: dict[int, Any] = {}
    computed: dict[Any, None] = {}
    for atom in wanted:
        if type(atom) is not Literal and (eqns := _made_by(atom, start, makers)) is not None:
            computed[atom] = None
            needed |= {id(eqn): eqn for eqn in eqns}
    if not computed:
        return found
    eqns = [eqn for eqn in jaxpr.eqns if id(eqn) in needed]
    reads = {*computed, *(atom for eqn in eqns for atom in eqn.invars if type(atom) is not Literal)}
    inputs = [var for var in known if var in reads]
    run = _jax.as_function(_jax.with_parts(closed, inputs, eqns, list(computed)))
    values = jax.device_get(jax.jit(run)(*(known[var] for var in inputs)))
    return found | dict(zip(map(id, computed), values, strict=True))


def _is_there(value: Any) -> bool:
    return value is not None and not (isinstance(value, jax.Array) and value.is_deleted())


def _made_by(atom: Any, start: Container[Any], makers: Mapping[Any, Any]) -> list[Any] | None:
    """The equations that make a value of what there is to start with; None if they are many, or not simple."""
    found: dict[int, Any] = {}
    pending = [atom]
    while pending:
        atom = pending.pop()
        if atom in start:
            if atom.aval.size > _LARGEST:
                return None
            continue
        eqn = makers.get(atom)
        if eqn is None or eqn.primitive.name not in _SIMPLE or eqn.outvars[0].aval.size > _LARGEST:
            return None
        found[id(eqn)] = eqn
        if len(found) > _MOST_EQUATIONS:
            return None
        pending += [one for one in eqn.invars if type(one) is not Literal]
    return list(found.values())


LINT = Lint(out_of_bounds, lambda traced: When.TRACED if traced.census.indexes else When.NEVER)
