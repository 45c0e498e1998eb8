"""Indices out of bounds (`"bounds"`): JAX clamps what is read there, drops what is written, and raises nothing.

The indices of a piece are computed once more, of its inputs, where that takes only a few simple equations; those in the
body of a scan for all of its turns. A `mode` that the cell asks for is meant, and what `jnp.where` chooses from may be.
Source: https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html, on indexing out of bounds.
"""

from __future__ import annotations

import ast
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

from jaxnb import _jax
from jaxnb._jax import open_jaxpr, scan_counts
from jaxnb.findings.errors.calls import name_called
from jaxnb.findings.lints.census import Census, Inner
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
_MOST_EQUATIONS, _MOST_INSIDE, _LARGEST, _MOST_TURNS = 40, 8, 1 << 20, 1 << 12
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
    least: int = 0


class _Value(NamedTuple):
    """What is known of an atom.

    Attributes:
      array: its value, or its values.
      by_turn: whether it has one for each turn of the loop around, along the first axis.
    """

    array: Any
    by_turn: bool = False


def out_of_bounds(traced: LintContext) -> Iterator[Finding]:
    """The indices of a piece that are beyond their axis, one finding for each expression.

    Args:
      traced: the piece, with what it was given.
    """
    if len(traced.arguments) == len(open_jaxpr(traced.piece.jaxpr).invars):
        given = [_Value(value) if _is_there(value) else None for value in traced.arguments]
        yield from _in(traced, traced.written, traced.piece.jaxpr, given, traced.census)


def _in(
    traced: LintContext,
    written: Written,
    closed: Any,
    given: Sequence[_Value | None],
    census: Census,
    owners: tuple[Any, ...] = (),
) -> Iterator[Finding]:
    jaxpr, part = open_jaxpr(closed), Part(open_jaxpr(closed), (), owners, census)
    asked: list[tuple[Any, ast.AST, _Index]] = []
    for eqn in census.indexed:
        node = written.at(eqn, part)
        if node is not None and _is_asked(node, eqn) and not _is_chosen_from(eqn, jaxpr):
            asked += [(eqn, node, index) for index in _indices(eqn)]
    within = [item for item in census.inner if item.census.indexes]
    calls = [item for item in within if item.eqn.primitive.name in _jax.CALLS]
    loops = [item for item in within if item.eqn.primitive.name == "scan" and _asks(item, written, owners)]
    inside = [atom for item in calls for atom in item.eqn.invars]
    inside += [atom for item in loops for atom in item.eqn.invars if _is_whole(atom)]
    values = _values(closed, given, [*(index.atom for _, _, index in asked), *inside])
    seen: set[int] = set()
    for eqn, node, index in asked:
        if id(index.atom) not in values or id(eqn) in seen:
            continue
        own = np.asarray(values[id(index.atom)].array)
        own = own if index.column is None else own[..., index.column]
        if own.size and (own.min() < index.least or own.max() > index.limit):
            seen.add(id(eqn))
            yield _finding(traced, eqn, part, node, index, own)
    for item in [*calls, *loops]:
        body, operands = closed_bodies(item.eqn)[0], [values.get(id(atom)) for atom in item.eqn.invars]
        if len(open_jaxpr(body).invars) == len(operands):
            inner = _in_turns(item.eqn, body, operands) if item in loops else operands
            yield from _in(traced, written, body, inner, item.census, (*owners, item.eqn))


def _asks(item: Inner, written: Written, owners: tuple[Any, ...]) -> bool:
    """Whether an expression of the user's indexes in a body: what the turns of a loop are given is found out then."""
    if not item.census.indexes:
        return False
    owners = (*owners, item.eqn)
    part = Part(open_jaxpr(item.body), (), owners, item.census)
    nodes = ((eqn, written.at(eqn, part)) for eqn in item.census.indexed)
    return any(node is not None and _is_asked(node, eqn) for eqn, node in nodes) or any(
        _asks(one, written, owners) for one in item.census.inner
    )


def _finding(traced: LintContext, eqn: Any, part: Part, node: ast.AST, index: _Index, values: np.ndarray) -> Finding:
    name = eqn.primitive.name
    text = ast.unparse(node)
    text = text if len(text) <= 60 else text[:59] + "…"
    if name == "eq":
        what = f"{int(values.max())} is out of bounds, the last of {index.limit + 1} classes is {index.limit}, and its"
        fix = "count classes from 0 (labels - 1), or give one_hot more classes, the largest label + 1."
        return traced.finding("bounds", f"`{text}`: {what} row is all 0; nothing is raised.", eqn, part, fix)
    size = eqn.invars[0].aval.shape[index.axis]
    wrong = int(values.max()) if values.max() > index.limit else int(values.min()) - size
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
        if name_called(node).startswith("segment_"):
            fix = "give num_segments= the largest id + 1, or say what is meant by mode=."
    elif name == "dynamic_update_slice":
        what = f"{where}, and the last one is overwritten"
    elif "FILL" in str(eqn.params.get("mode", "")):
        what = f"{where}, and reads a fill value such as nan"
    else:
        what = f"{where}, and is clamped to the last"
    message = f"`{text}`: {what}; nothing is raised."
    return traced.finding("bounds", message, eqn, part, fix)


def _is_asked(node: ast.AST, eqn: Any) -> bool:
    """Whether an expression of the user's indexes, and does not say what is to happen beyond the bounds."""
    if eqn.primitive.name == "eq":
        return isinstance(node, ast.Call) and name_called(node) == "one_hot"
    if isinstance(node, ast.Subscript):
        return True
    asked = isinstance(node, ast.Call) and name_called(node) in _CALLED
    return asked and not any(word.arg in ("mode", "fill_value") for word in getattr(node, "keywords", ()))


def _is_chosen_from(eqn: Any, jaxpr: Any) -> bool:
    """Whether what is read is only one side of a `jnp.where`, which may leave out what is beyond the bounds."""
    if eqn.primitive.name not in ("gather", "dynamic_slice"):
        return False
    (read,) = eqn.outvars
    chosen, going_on = False, True
    while going_on:
        going_on = False
        readers = [one for one in jaxpr.eqns if any(atom is read for atom in one.invars)]
        if len(readers) == 1 and read not in jaxpr.outvars:
            (reader,) = readers
            name = reader.primitive.name if reader.primitive.name != "jit" else reader.params["name"]
            chosen = name in ("select_n", "_where") and reader.invars[0] is not read
            going_on = name in _MOVING
            read = reader.outvars[0]
    return chosen


_MOVING = frozenset({"squeeze", "reshape", "convert_element_type", "broadcast_in_dim"})


def _indices(eqn: Any) -> Iterator[_Index]:
    name, operand = eqn.primitive.name, eqn.invars[0].aval
    if name == "eq":  # a label below 0 is often meant: it is of no class
        least = np.iinfo(operand.dtype).min
        yield _Index(0, eqn.invars[1].aval.size - 1, eqn.invars[0], None, least)
        return
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


def _values(closed: Any, given: Sequence[_Value | None], wanted: Sequence[Any]) -> dict[int, _Value]:
    """The values of atoms, by their ids, computed all at once, as far as simple equations make them."""
    found = {id(atom): _Value(atom.val) for atom in wanted if type(atom) is Literal}
    jaxpr = open_jaxpr(closed)
    known = {var: value for var, value in zip(jaxpr.invars, given, strict=True) if value is not None}
    computed = list(dict.fromkeys(one for one in wanted if type(one) is not Literal))
    run = _run(closed, [*known], computed)
    if not run.outvars:
        return found
    inputs = [known[var] for var in run.inputs]
    axes = tuple(0 if value.by_turn else None for value in inputs)
    values = jax.device_get(_compiled(run, axes)(*(value.array for value in inputs)))
    by_turn = 0 in axes
    return found | {id(var): _Value(value, by_turn) for var, value in zip(run.outvars, values, strict=True)}


_known: OrderedDict[tuple[str, tuple[int | None, ...]], Callable[..., Any]] = OrderedDict()
_MOST_KNOWN = 64


def _compiled(run: _Run, axes: tuple[int | None, ...]) -> Callable[..., Any]:
    """The function of a run, compiled; a cell that is edited makes its indices as before, and compiling takes longer
    than tracing a small cell.

    Args:
      run: what is computed.
      axes: of the inputs that have a value for each turn of a loop.
    """
    call = jax.vmap(run.call, list(axes)) if 0 in axes else run.call
    if run.closed.consts:
        return jax.jit(call)
    key = str(run.closed), axes
    known = _known.pop(key, None)
    _known[key] = known if known is not None else jax.jit(call)
    if len(_known) > _MOST_KNOWN:
        _known.popitem(last=False)
    return _known[key]


class _Run(NamedTuple):
    """The part of a jaxpr that makes some of its values: what it reads, what it makes, and itself."""

    inputs: Sequence[Any]
    outvars: Sequence[Any]
    closed: Any

    @property
    def call(self) -> Callable[..., Any]:
        return _jax.as_function(self.closed)


def _run(closed: Any, known: Sequence[Any], wanted: Sequence[Any]) -> _Run:
    """Whatever simple equations make of what is known, among what is wanted."""
    jaxpr = open_jaxpr(closed)
    start = {*known, *jaxpr.constvars}
    makers = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars} if wanted else {}
    made = {atom: eqns for atom in wanted if (eqns := _made_by(atom, start, makers)) is not None}
    needed = {id(eqn) for eqns in made.values() for eqn in eqns}
    eqns = [eqn for eqn in jaxpr.eqns if id(eqn) in needed]
    reads = {*made, *(atom for eqn in eqns for atom in eqn.invars if type(atom) is not Literal)}
    inputs = [var for var in known if var in reads]
    return _Run(inputs, [*made], _jax.with_parts(closed, inputs, eqns, [*made]))


def _in_turns(eqn: Any, body: Any, operands: Sequence[_Value | None]) -> list[_Value | None]:
    """What the body of a scan is given in all of its turns: constants, counters and whole numbers that are carried and
    are made of nothing else, and what it goes through."""
    constants, carried = scan_counts(eqn.params)
    length, first = eqn.params["length"], constants + carried
    if length > _MOST_TURNS or any(value is not None and value.by_turn for value in operands):
        return [None] * len(operands)
    jaxpr = open_jaxpr(body)
    given: list[_Value | None] = [*operands[:constants], *[None] * carried]
    given += [value and _Value(value.array, True) for value in operands[first:]]
    turning = [at for at in range(constants, first) if operands[at] is not None]
    while turning:
        known = [at for at, value in enumerate(given) if value is not None]
        run = _run(
            body, [jaxpr.invars[at] for at in (*known, *turning)], [jaxpr.outvars[at - constants] for at in turning]
        )
        left = [at for at in turning if jaxpr.outvars[at - constants] in run.outvars]
        if left == turning:
            for at, values in zip(turning, _turned(eqn, run, jaxpr, operands, turning), strict=True):
                given[at] = _Value(values, True)
            break
        turning = left
    return given


def _turned(eqn: Any, run: _Run, jaxpr: Any, operands: Sequence[Any], turning: Sequence[int]) -> Any:
    """What is carried into each turn of a scan, of those values of which each turn makes the next ones.

    Args:
      eqn: of the scan.
      run: what makes them.
      jaxpr: the body.
      operands: what is known of the operands.
      turning: the places of these values among them.
    """
    constants, carried = scan_counts(eqn.params)
    places = {var: at for at, var in enumerate(jaxpr.invars)}
    inputs = [places[var] for var in run.inputs]
    order = [run.outvars.index(jaxpr.outvars[at - constants]) for at in turning]

    def turn(state: Any, rows: Any) -> Any:
        now = {**dict(zip(turning, state, strict=True)), **rows}
        made = run.call(*(now[at] if at in now else operands[at].array for at in inputs))
        return [made[at] for at in order], state

    rows = {at: operands[at].array for at in inputs if at >= constants + carried}
    start = [jnp.asarray(operands[at].array, jaxpr.invars[at].aval.dtype) for at in turning]
    params = {"length": eqn.params["length"], "reverse": eqn.params["reverse"]}
    return jax.device_get(jax.jit(lambda start, rows: jax.lax.scan(turn, start, rows, **params)[1])(start, rows))


def _is_whole(atom: Any) -> bool:
    """Whether it may be an index, or what one is made of."""
    return bool(jnp.issubdtype(atom.aval.dtype, jnp.integer))


def _is_there(value: Any) -> bool:
    return value is not None and not (isinstance(value, jax.Array) and value.is_deleted())


def _is_simple(eqn: Any) -> bool:
    if eqn.primitive.name == "jit":  # such as `_where`
        inside = eqn.params["jaxpr"].eqns
        return len(inside) <= _MOST_INSIDE and all(map(_is_simple, inside))
    return eqn.primitive.name in _SIMPLE


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
        if eqn is None or not _is_simple(eqn) or eqn.outvars[0].aval.size > _LARGEST:
            return None
        found[id(eqn)] = eqn
        if len(found) > _MOST_EQUATIONS:
            return None
        pending += [one for one in eqn.invars if type(one) is not Literal]
    return list(found.values())


LINT = Lint(out_of_bounds, lambda traced: When.TRACED if traced.census.indexes else When.NEVER)
