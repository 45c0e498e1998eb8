"""Reads where everything of a program lives: inputs and results as the compiler says, values in between as far as their
type, a constraint, a `shard_map` or the instructions show it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import jax

from jaxnb._jax import open_jaxpr
from jaxnb.program import Layout, Level, Mesh, Placed, Placement, cut_boxes
from jaxnb.reading.jaxpr.partition import cuts_text, ways_to_cut
from jaxnb.reading.placement.meshes import read_meshes
from jaxnb.reading.placement.report import CONSTRAINTS, partition_of
from jaxnb.reading.placement.spread import Spread, placed, read_spread, sides

__all__ = ["read_layout"]

_MOST_VALUES = 60
_MOST_WAYS = 64


def read_layout(closed_jaxpr: Any, level: Level, compiled: Any = None) -> Layout:
    """Where everything of one program lives; nothing on a single device without a mesh.

    Args:
      closed_jaxpr: what was traced, with its equations numbered.
      level: "jaxpr", read of it.
      compiled: what it became; None if nothing did.

    >>> bool(read_layout(jax.make_jaxpr(lambda x: x)(1.0), Level("jaxpr")))
    False
    """
    spread = read_spread(closed_jaxpr, level, compiled)
    meshes = read_meshes(closed_jaxpr, compiled)
    if not meshes and spread is None:
        return Layout()
    jaxpr, main = open_jaxpr(closed_jaxpr), level.computations[0]
    inputs = _ends(compiled, "input_shardings", jaxpr.invars)
    results = _ends(compiled, "output_shardings", jaxpr.outvars)
    found: dict[int, Placed] = {}

    def add(role: str, value: int, placement: Placement) -> None:
        found.setdefault(value, Placed(value, role, _on_mesh(placement, meshes)))

    for role, values, ends in (("input", main.inputs, inputs), ("result", main.outputs, results)):
        for value, placement in zip(values, ends, strict=True):
            if placement is not None and placement.boxes and not level.values[value].literal:
                add(role, value, placement)
    for value, placement in _inside(jaxpr, level, spread, found):
        add("value", value, placement)
    return Layout(meshes, tuple(found.values()), spread.ledger.items if spread is not None else None)


def _ends(compiled: Any, name: str, variables: Sequence[Any]) -> list[Placement | None]:
    """How the inputs or the results lie: as compiled, or as their types say along explicit axes."""
    if compiled is not None:
        return sides(compiled, name, [var.aval for var in variables])
    return [_typed(var.aval) for var in variables]


def _inside(jaxpr: Any, level: Level, spread: Spread | None, known: Collection[int]) -> Iterator[tuple[int, Placement]]:
    """The values in between of which it is known, the first ones of many."""
    left = _MOST_VALUES
    ops = level.computations[0].ops
    last = {op.line: number for number, op in enumerate(ops) if op.line is not None}
    for number, (eqn, op) in enumerate(zip(jaxpr.eqns, ops, strict=True)):
        for place, (var, value) in enumerate(zip(eqn.outvars, op.outputs, strict=True)):
            if left == 0 or value in known or not getattr(var.aval, "shape", ()):
                continue
            placement = _made_by(eqn, place) or _typed(var.aval)
            if (
                placement is None
                and spread is not None
                and op.line is not None
                and last[op.line] == number
                and len(op.outputs) == 1
            ):
                placement = _shown(spread, (0, number), var.aval)
            if placement is not None:
                left -= 1
                yield value, placement


def _made_by(eqn: Any, number: int) -> Placement | None:
    """How a result lies by what the equation says: a constraint, or the specs of a `shard_map`."""
    name, aval = eqn.primitive.name, eqn.outvars[number].aval
    if name in CONSTRAINTS:
        return placed(eqn.params[CONSTRAINTS[name]], aval)
    if name == "shard_map":
        return placed(jax.sharding.NamedSharding(eqn.params["mesh"], eqn.params["out_specs"][number]), aval)
    return None


def _typed(aval: Any) -> Placement | None:
    """How a value lies by its type, where the mesh has explicit axes."""
    sharding = getattr(aval, "sharding", None)
    mesh = getattr(sharding, "mesh", None)
    if mesh is None or not any(kind == jax.sharding.AxisType.Explicit for kind in mesh.axis_types):
        return None
    return placed(sharding, aval)


def _shown(spread: Spread, place: tuple[int, int], aval: Any) -> Placement | None:
    """How a value lies by the pieces that its instructions compute, where only one set of axes can have cut it."""
    mesh, cut = spread.mesh, partition_of(spread, place)
    return None if cut is None or cut.axes is None or mesh is None else _cut(mesh, cut.axes, aval)


def _on_mesh(placement: Placement, meshes: Sequence[Mesh]) -> Placement:
    """The same in the words of the program's own meshes.

    Types speak of meshes without devices, and XLA of devices without a mesh; what it chose is told by the axes of the
    first mesh that can have it so.
    """
    if placement.mesh is not None:
        if not placement.mesh.abstract:
            return placement
        sizes = _sizes(placement.mesh)
        mesh = next((mesh for mesh in meshes if mesh.devices and _sizes(mesh) == sizes), None)
        return placement if mesh is None else replace(placement, mesh=mesh, devices=mesh.devices)
    held = {device.id: box for device, box in zip(placement.devices, placement.boxes, strict=True)}
    pieces = tuple(len(edges) for edges in placement.edges)
    for mesh in meshes:
        if len(held) < 2 or {device.id for device in mesh.devices} != set(held):
            continue
        for cuts in itertools.islice(ways_to_cut(pieces, mesh), _MOST_WAYS):
            boxes = cut_boxes(mesh, cuts, placement.shape)
            if all(held[device.id] == box for device, box in zip(mesh.devices, boxes, strict=True)):
                named = {"kind": "named", "spec": cuts_text(cuts), "cuts": cuts, "boxes": boxes}
                return replace(placement, mesh=mesh, devices=mesh.devices, **named)
    return placement


def _sizes(mesh: Mesh) -> list[tuple[str, int]]:
    return [(axis.name, axis.size) for axis in mesh.axes]


def _cut(mesh: Mesh, axes: Sequence[tuple[str, ...]], aval: Any) -> Placement:
    shape = tuple(aval.shape)
    return Placement(
        kind="named",
        shape=shape,
        boxes=cut_boxes(mesh, axes, shape),
        spec=cuts_text(axes),
        dtype=str(aval.dtype),
        itemsize=int(aval.dtype.itemsize),
        cuts=tuple(axes),
        devices=mesh.devices,
        mesh=mesh,
    )
