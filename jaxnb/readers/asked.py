"""Reads how each value of a program is spread: as asked for, as its type says, and as the compiler has it.

Of inputs and results the compiled program says it itself. Of a value in between its instructions show the piece that a
device computes: how often that goes into the whole along each dimension says how it is cut, and the axes of the mesh
that can have done so are named where only some can.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxnb._jax_eqns import open_jaxpr
from jaxnb.placement.asked import Asked
from jaxnb.placement.data import Mesh, Placement
from jaxnb.placement.read import spec_text
from jaxnb.program import Aval, Op
from jaxnb.readers.spread import Place, Spread

__all__ = ["CONSTRAINTS", "Cuts", "choose_axes", "cuts_of", "cuts_text", "read_asked", "ways_to_cut"]

Cuts = tuple[int, ...]
"""Into how many pieces each dimension is cut."""

CONSTRAINTS = {"sharding_constraint": "sharding", "reshard": "dst_sharding"}
# Instructions of other shapes than what the equation makes, under its name.
_ON_THE_WAY = frozenset({"all-gather", "all-to-all", "collective-permute", "dynamic-slice", "slice", "pad", "copy"})


def read_asked(spread: Spread, given: Sequence[Any], names: tuple[Sequence[str], Sequence[str]]) -> tuple[Asked, ...]:
    """The values of a program: its inputs, what is constrained, what each line ends in, its results.

    Args:
      spread: the program.
      given: the shardings of what was passed, one for each input; shorter where constants stand before them.
      names: what the user calls the inputs, and the results.
    """
    jaxpr, computation = open_jaxpr(spread.closed_jaxpr), spread.jaxpr.computations[0]
    rows: list[Asked] = []
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


def cuts_of(spread: Spread, place: Place) -> Cuts | None:
    """Into how many pieces each dimension of what an equation makes is cut; None where nothing shows it.

    Args:
      spread: the program.
      place: of an equation with one result, at the top of the program.
    """
    op = spread.op(place)
    aval = spread.jaxpr.values[op.outputs[0]].aval if op.outputs else None
    if aval is None or any(isinstance(size, str) for size in aval.shape):
        return None
    found: list[Cuts] = []
    for made in spread.instructions.get(place, ()):
        local = spread.hlo.values[made.outputs[0]].aval
        cuts = _ratio(aval, local) if local is not None and made.name not in _ON_THE_WAY else None
        if cuts is not None and math.prod(cuts) <= spread.devices:
            found.append(cuts)
    return found[-1] if found and len(set(found)) == 1 else None


def told_cuts(cuts: Cuts, mesh: Mesh | None) -> str:
    """A spec where only one set of axes can have cut it; else how many pieces there are along each dimension.

    >>> from jaxnb.placement.data import Axis
    >>> told_cuts((4, 1), Mesh((Axis("x", 4), Axis("y", 2)))), told_cuts((2, 1), Mesh((Axis("x", 2), Axis("y", 2))))
    ("P('x', None)", '2×1 pieces')
    """
    axes = choose_axes(cuts, mesh)
    return f"{'×'.join(map(str, cuts))} pieces" if axes is None else cuts_text(axes)


def choose_axes(cuts: Cuts, mesh: Mesh | None) -> tuple[tuple[str, ...], ...] | None:
    """For each dimension the axes that have cut it; None where several sets of axes can have done so, or none."""
    choices = list(itertools.islice(ways_to_cut(cuts, mesh), 2))
    return choices[0] if len(choices) == 1 else None


def cuts_text(cuts: Sequence[tuple[str, ...]]) -> str:
    """The axes that cut each dimension as a spec.

    >>> cuts_text([("x",), (), ("y", "z")])
    "P('x', None, ('y', 'z'))"
    """
    entries = [repr(names[0]) if len(names) == 1 else repr(names) if names else "None" for names in cuts]
    return f"P({', '.join(entries)})" if any(cuts) else "P()"


def ways_to_cut(cuts: Cuts, mesh: Mesh | None) -> Iterator[tuple[tuple[str, ...], ...]]:
    """The sets of axes whose sizes multiply to the number of pieces, for each dimension."""
    axes = [axis for axis in mesh.axes if axis.size > 1] if mesh is not None else []

    def choose(rest: Sequence[int], left: Sequence[Any]) -> Iterator[tuple[tuple[str, ...], ...]]:
        if not rest:
            yield ()
            return
        for count in range(len(left) + 1):
            for some in itertools.combinations(left, count):
                if math.prod(axis.size for axis in some) == rest[0]:
                    for more in choose(rest[1:], [axis for axis in left if axis not in some]):
                        yield (tuple(axis.name for axis in some), *more)

    return choose(cuts, axes)


def _ratio(aval: Aval, local: Aval) -> Cuts | None:
    if len(local.shape) != len(aval.shape) or local.dtype != aval.dtype:
        return None
    pairs = [(int(whole), int(piece)) for whole, piece in zip(aval.shape, local.shape, strict=True)]
    if any(piece == 0 or whole % piece for whole, piece in pairs):
        return None
    return tuple(whole // piece for whole, piece in pairs)


def _inside(spread: Spread, jaxpr: Any) -> Iterator[Asked]:
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


def _shown(spread: Spread, place: Place, eqn: Any, op: Op, role: str) -> Asked:
    """What an equation makes, with what its instructions show."""
    row = replace(_row(role, "", eqn.outvars[0].aval, None), asked=_asked_by(eqn, 0), line=op.line)
    cuts = cuts_of(spread, place)
    if cuts is None:
        return row
    most = row.nbytes // math.prod(cuts)
    return replace(row, got=told_cuts(cuts, spread.mesh), most=most, copies=spread.devices // math.prod(cuts))


def _mapped(eqn: Any, op: Op, spread: Spread) -> Iterator[Asked]:
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


def _row(role: str, name: str, aval: Any, got: Placement | None) -> Asked:
    shape, dtype = tuple(getattr(aval, "shape", ())), getattr(aval, "dtype", None)
    size = int(getattr(dtype, "itemsize", 0)) * math.prod(_known(n) for n in shape)
    row = Asked(role, name, f"{dtype}[{','.join(map(str, shape))}]", typed=_typed(aval), nbytes=size)
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
