"""Reads how each value of a program is spread: as asked for, as its type says, and as the compiler has it.

Of inputs and results the compiled program says it itself. Of a value in between its instructions show the piece that a
device computes: how often that goes into the whole along each dimension says how it is cut, and the axes of the mesh
that can have done so are named where only some can.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxnb._jax import open_jaxpr
from jaxnb.program import Aval, Mesh, Op, Place, Placement, ShardingRow
from jaxnb.reading.jaxpr.partition import Partition, Shape, read_partition, uneven_text
from jaxnb.reading.placement.read import spec_text
from jaxnb.reading.placement.spread import Spread, placed

__all__ = ["CONSTRAINTS", "partition_of", "read_spread_rows"]

CONSTRAINTS = {"sharding_constraint": "sharding", "reshard": "dst_sharding"}
# Instructions of other shapes than what the equation makes, under its name.
_ON_THE_WAY = frozenset({"all-gather", "all-to-all", "collective-permute", "dynamic-slice", "slice", "pad", "copy"})


def read_spread_rows(
    spread: Spread, given: Sequence[Any], names: tuple[Sequence[str], Sequence[str]]
) -> tuple[ShardingRow, ...]:
    """The values of a program: its inputs, what is constrained, what each line ends in, its results.

    Args:
      spread: the program.
      given: the shardings of what was passed, one for each input; shorter where constants stand before them.
      names: what the user calls the inputs, and the results.
    """
    jaxpr, computation = open_jaxpr(spread.closed_jaxpr), spread.jaxpr.computations[0]
    rows: list[ShardingRow] = []
    first_read = _first_lines(computation.ops)
    first = len(jaxpr.invars) - len(given)
    for number, var in enumerate(jaxpr.invars):
        if number < first:
            continue
        row = _row("input", names[0][number], var.aval, spread.inputs[number])
        asked = _sharding_text(given[number - first])
        rows.append(replace(row, asked=asked, line=first_read.get(computation.inputs[number])))
    rows += _inside(spread, jaxpr)
    made: dict[Any, Any] = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
    makers = {value: op for op in computation.ops for value in op.outputs}
    for number, var in enumerate(jaxpr.outvars):
        row = _row("result", names[1][number], var.aval, spread.results[number])
        eqn, op = made.get(var), makers.get(computation.outputs[number])
        asked = "" if eqn is None else _asked_by(eqn, list(eqn.outvars).index(var))
        rows.append(replace(row, asked=asked, line=op.line if op is not None else None))
    return tuple(rows)


def partition_of(spread: Spread, place: Place, asked: Placement | None = None) -> Partition | None:
    """How what an equation makes is cut; None where nothing shows it.

    Args:
      spread: the program.
      place: of an equation with one result, at the top of the program.
      asked: how it was asked to lie; an instruction with pieces of that shape shows that it does.
    """
    op = spread.op(place)
    aval = spread.jaxpr.values[op.outputs[0]].aval if op.outputs else None
    if aval is None or any(isinstance(size, str) for size in aval.shape):
        return None
    shape = tuple(map(int, aval.shape))
    wanted = _largest(asked) if asked is not None else None
    found: list[Partition] = []
    for made in spread.instructions.get(place, ()):
        piece = _piece(aval, spread.hlo.values[made.outputs[0]].aval)
        if piece is not None and piece == wanted:
            return _as(asked, piece)
        cut = read_partition(shape, piece, spread.mesh) if piece is not None and made.name not in _ON_THE_WAY else None
        if cut is not None and (cut.parts or 1) <= spread.devices:
            found.append(cut)
    if wanted is not None and _is_around(spread, place, aval, wanted):
        return _as(asked, wanted)
    return found[-1] if found and len(set(found)) == 1 else None


def _as(asked: Any, piece: Shape) -> Partition:
    sizes = {axis.name: axis.size for axis in asked.mesh.axes} if asked.mesh is not None else {}
    parts = tuple(math.prod(sizes[name] for name in names) for names in asked.cuts) or (1,) * len(piece)
    return Partition(asked.spec, piece, math.prod(parts), uneven_text(asked.shape, piece, parts), asked.cuts)


def _is_around(spread: Spread, place: Place, aval: Aval, wanted: Shape) -> bool:
    """Whether what makes the operand of an equation, or reads its result, has pieces of a shape.

    A constraint has no instruction of its own: XLA computes its operand in pieces, or its result.
    """
    op, ops = spread.op(place), spread.jaxpr.computations[place[0]].ops
    values = spread.hlo.values
    for number, other in enumerate(ops):
        made = spread.instructions.get((place[0], number), ())
        if set(other.outputs) & set(op.inputs):
            told = [value for one in made if one.name not in _ON_THE_WAY for value in one.outputs]
        elif set(other.inputs) & set(op.outputs):
            told = [value for one in made for value in one.inputs]
        else:
            continue
        if any(_piece(aval, values[value].aval) == wanted for value in told):
            return True
    return False


def _largest(placement: Placement) -> Shape:
    box = max(placement.boxes, key=lambda box: math.prod(stop - start for start, stop in box))
    return tuple(stop - start for start, stop in box)


def _piece(aval: Aval, local: Aval | None) -> Shape | None:
    if local is None or len(local.shape) != len(aval.shape) or local.dtype != aval.dtype:
        return None
    if any(isinstance(size, str) for size in local.shape):
        return None
    return tuple(map(int, local.shape))


def _inside(spread: Spread, jaxpr: Any) -> Iterator[ShardingRow]:
    """The constraints, what a `shard_map` takes and gives, and what each line ends in."""
    computation = spread.jaxpr.computations[0]
    results = set(computation.outputs)
    last = {op.line: number for number, op in enumerate(computation.ops) if op.line is not None and op.outputs}
    for number, (eqn, op) in enumerate(zip(jaxpr.eqns, computation.ops, strict=True)):
        if eqn.primitive.name in CONSTRAINTS:
            if eqn.outvars[0].aval.shape:  # JAX itself constrains scalars, for derivatives
                yield _shown(spread, (0, number), eqn, op, "constraint")
        elif eqn.primitive.name == "shard_map":
            yield from _mapped(eqn, op, spread)
        elif (
            op.line is not None
            and last.get(op.line) == number
            and not results & set(op.outputs)
            and len(op.outputs) == 1
        ):
            row = _shown(spread, (0, number), eqn, op, "line")
            if row.got and eqn.outvars[0].aval.shape:
                yield row


def _shown(spread: Spread, place: Place, eqn: Any, op: Op, role: str) -> ShardingRow:
    """What an equation makes, with what its instructions show; of a result, with what the program says."""
    row = replace(_row(role, "", eqn.outvars[0].aval, None), asked=_asked_by(eqn, 0), line=op.line)
    name = CONSTRAINTS.get(eqn.primitive.name)
    cut = partition_of(spread, place, placed(eqn.params[name], eqn.outvars[0].aval) if name is not None else None)
    if cut is None:
        outputs = spread.jaxpr.computations[0].outputs
        lies = spread.results[outputs.index(op.outputs[0])] if op.outputs[0] in outputs else None
        told = _row(role, "", eqn.outvars[0].aval, lies)
        return replace(told, asked=row.asked, line=op.line)
    itemsize = row.nbytes // max(math.prod(eqn.outvars[0].aval.shape), 1)
    copies = spread.devices // cut.parts if cut.parts is not None else None
    notes = (f"uneven: {cut.uneven}",) if cut.uneven else ()
    return replace(row, got=cut.text, most=math.prod(cut.piece) * itemsize, copies=copies, notes=notes)


def _mapped(eqn: Any, op: Op, spread: Spread) -> Iterator[ShardingRow]:
    """What a `shard_map` takes and gives: it gets what its specs ask for."""
    for specs, atoms in ((eqn.params["in_specs"], eqn.invars), (eqn.params["out_specs"], eqn.outvars)):
        for spec, atom in zip(specs, atoms, strict=True):
            if not getattr(atom.aval, "shape", ()):
                continue
            asked = spec_text(spec)
            cut = math.prod(_size(spread.mesh, name) for entry in spec for name in _names(entry))
            row = _row("argument", "", atom.aval, None)
            copies = max(spread.devices // max(cut, 1), 1)
            yield replace(row, asked=asked, got=asked, line=op.line, most=-(-row.nbytes // max(cut, 1)), copies=copies)


def _names(entry: Any) -> tuple[Any, ...]:
    return () if entry is None else entry if isinstance(entry, tuple) else (entry,)


def _size(mesh: Mesh | None, name: Any) -> int:
    sizes: Mapping[str, int] = {axis.name: axis.size for axis in mesh.axes} if mesh is not None else {}
    return sizes.get(str(name), 1)


def _row(role: str, name: str, aval: Any, got: Placement | None) -> ShardingRow:
    shape, dtype = tuple(getattr(aval, "shape", ())), getattr(aval, "dtype", None)
    size = int(getattr(dtype, "itemsize", 0)) * math.prod(_known(n) for n in shape)
    row = ShardingRow(role, name, f"{dtype}[{','.join(map(str, shape))}]", typed=_typed(aval), nbytes=size)
    if got is None:
        return row
    notes = [*(["uneven"] if got.uneven else []), *([got.memory] if got.memory not in ("", "device") else [])]
    return replace(row, got=_placed_text(got), most=got.most, copies=got.copies, notes=tuple(notes))


def _known(size: Any) -> int:
    """A size; none where it is a symbol."""
    return size if isinstance(size, int) else 0


def _typed(aval: Any) -> str:
    """The sharding in the type of a value, where the mesh has explicit axes."""
    sharding = getattr(aval, "sharding", None)
    mesh = getattr(sharding, "mesh", None)
    if mesh is None or not any(kind == jax.sharding.AxisType.Explicit for kind in mesh.axis_types):
        return ""
    return spec_text(getattr(sharding, "spec", ()))


def _asked_by(eqn: Any, number: int) -> str:
    """What an equation asks of its result: a constraint, or the `out_shardings` of a function."""
    name = CONSTRAINTS.get(eqn.primitive.name)
    if name is not None:
        return _sharding_text(eqn.params[name])
    wanted: Sequence[Any] = eqn.params.get("out_shardings", ())
    return _sharding_text(wanted[number]) if number < len(wanted) else ""


def _sharding_text(sharding: Any) -> str:
    """`P('x')`, `cpu:0`; "" for what says nothing, as JAX's object for a sharding that nobody gave does."""
    if getattr(sharding, "spec", None) is not None:
        return spec_text(sharding.spec)
    if sharding is None or not hasattr(sharding, "device_set"):
        return ""
    (device, *others) = sorted(sharding.device_set, key=lambda one: one.id)
    return type(sharding).__name__ if others else f"{device.platform}:{device.id}"


def _placed_text(placement: Placement) -> str:
    if placement.kind == "named":
        return placement.spec
    if len(placement.devices) > 1 and placement.copies == len(placement.boxes):
        return "P()"
    if len(placement.devices) == 1:
        return f"{placement.devices[0].platform}:{placement.devices[0].id}"
    return placement.kind


def _first_lines(ops: Sequence[Op]) -> dict[int, int]:
    """The line on which each value is read first."""
    found: dict[int, int] = {}
    for op in ops:
        for value in op.inputs:
            if op.line is not None:
                found.setdefault(value, op.line)
    return found
