"""The diagrams of a program as plain data, which the inspector draws and links with its other panes.

Everything is numbers and short texts: positions, hues in degrees, indices of values and equations. No markup and no
style goes with it, so that a page which shows a saved program takes nothing from it but what it can check. It is
compressed: an output in a notebook has little room.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

from jaxnb.program import (
    ROLES,
    Collective,
    Device,
    Layout,
    Ledger,
    Mesh,
    Placement,
    ProcessTime,
    Program,
    box_text,
    encode,
)
from jaxnb.units import format_bytes
from jaxnb.views.axis_flow import AxisFlow, Knot, axis_flow_of, read_axis_flow
from jaxnb.views.axis_flow_plan import Plan, strands_in
from jaxnb.views.axis_flow_text import knot_text, strands_title
from jaxnb.views.collectives import axes_text, ledger_facts, ledger_row, ledger_title
from jaxnb.views.derived import encode_derived
from jaxnb.views.grids import Grids, ids_text, in_rows, read_array, read_mesh_grids
from jaxnb.views.kernel_drawings import encode_kernel_drawings, has_kernels
from jaxnb.views.memory_curve import encode_curves
from jaxnb.views.packing import pack
from jaxnb.views.placement_words import mesh_facts, mesh_title, placement_facts, where_text
from jaxnb.views.rows import short_type
from jaxnb.views.tints import axis_hues, piece_hues, process_hues
from jaxnb.views.trees import encode_trees

__all__ = ["encode_drawn", "read_drawings"]

_MANY = 64  # cells of a grid; with more fewer are drawn
_MOST_SMALL = 12
_MOST_PANELS = 8
_MOST_VALUES = 200
_MOST_ROWS = 400
_KINDS = ("input", "op", "result")
_GREY = -1


def encode_drawn(program: Program, levels: Collection[str] | None = None) -> dict[str, Any]:
    """A program for a viewer: as `codec.encode` writes it, its call trees with the curve of its memory, its diagrams.

    Where its values live is read for this, which takes no compiler; no level is made.

    >>> sorted(set(encode_drawn(Program("x = 1"))) - set(encode(Program("x = 1"))))
    []
    """
    names = [level.name for level in program.levels if levels is None or level.name in levels]
    drawings = read_drawings(program) if "jaxpr" in names else {}
    data = encode(program, levels)
    if trees := encode_trees(program, levels):
        data["trees"] = trees
        data["curves"] = encode_curves(program)
    if derived := encode_derived(program, levels):
        data["derived"] = derived
    if drawings:
        data["drawings"] = pack(drawings)
    return data


def read_drawings(program: Program) -> dict[str, Any]:
    """The diagrams: "flows", "meshes" with "values" and "placements", "ledger", "processes", "kernels".

    Those that would show nothing are left out.

    Args:
      program: with the level "jaxpr"; the level "hlo" is read if it was made.
    """
    found: dict[str, Any] = {}
    layout = program.layout()
    # Of functions under `vmap` those that somebody asked for already: they take a trace.
    mapped = [axis_flow_of(level, kind="vmap") for _, level in program.made_vmapped or ()]
    if flows := [_flow(strands) for strands in (*read_axis_flow(program.level("jaxpr")), *mapped) if strands.names]:
        found["flows"] = flows
    if layout.meshes or layout.placed:
        found |= _placed(program, layout)
    made = any(level.name == "hlo" for level in program.levels)
    if made or layout.collectives is not None:
        ledger = (
            program.collectives()
            if made
            else Ledger(layout.collectives or (), layout.meshes[0] if layout.meshes else None, program.source)
        )
        if ledger.items or layout.meshes:
            found["ledger"] = _ledger(ledger, own_level=made)
    if program.processes:
        found["processes"] = _processes(program.processes)
    if has_kernels(program) and (kernels := encode_kernel_drawings(program)):
        found["kernels"] = kernels
    return found


# --- named axes ---


def _flow(strands: AxisFlow) -> dict[str, Any]:
    """The strands of a map: knots row by row, and between them what runs from where a value is made to a knot."""
    plan = Plan(strands)
    number = {strand.name: at for at, strand in enumerate(strands.names)}
    runs: dict[str, list[int]] = {name: [] for name in ("x", "row", "end", "to", "strand", "value")}

    def run(x: float, value: int, end: float, to: int, strand: int) -> None:
        bundle = strands.bundles[value]
        row = (round(x), plan.made_at(value), round(end), to, strand, bundle.value)
        for column, item in zip(runs.values(), row, strict=True):
            column.append(item)

    for row, knot in enumerate(plan.knots):
        for value in knot.takes:
            names = strands_in(strands.bundles[value])
            for at, name in enumerate(names):
                run(plan.x(value, at), value, plan.entry(knot, value, at, name), row, number.get(name, _GREY))
            if not names:  # a scalar, which is a thin line
                end = plan.x(knot.makes[0] if knot.makes else value, 0)
                run(plan.x(value, 0), value, end, row, _GREY)
    spans = [plan.span(knot) for knot in plan.knots]
    texts = [knot_text(strands, knot) for knot in plan.knots]
    return {
        "title": strands_title(strands),
        "width": round(plan.width),
        "strands": {
            "text": [str(strand) for strand in strands.names],
            "hue": [round(plan.hues[strand.name]) for strand in strands.names],
            "thick": [at for at, strand in enumerate(strands.names) if strand.name in plan.on_mesh],
        },
        "knots": {
            "left": [round(left) for left, _ in spans],
            "right": [round(right) for _, right in spans],
            "what": [what for what, _ in texts],
            "said": [said for _, said in texts],
            "kind": [_KINDS.index(knot.kind) for knot in plan.knots],
            "line": [_GREY if knot.line is None else knot.line for knot in plan.knots],
            "ops": [[part for place in knot.places for part in place] for knot in plan.knots],
            "value": [_own_value(strands, knot) for knot in plan.knots],
            "ends": [[number[name] for name in knot.ends if name in number] for knot in plan.knots],
        },
        "runs": runs,
        "left_out": len(strands.knots) - len(plan.knots),
    }


def _own_value(strands: AxisFlow, knot: Knot) -> int:
    """The value that a knot of the edge is."""
    values = knot.makes if knot.kind == "input" else knot.takes if knot.kind == "result" else ()
    return strands.bundles[values[0]].value if values else -1


# --- meshes and what lies on them ---


def _placed(program: Program, layout: Layout) -> dict[str, Any]:
    level = program.level("jaxpr")
    names: dict[int, str] = {}
    for computation in level.computations[: level.entries]:
        names |= dict(zip(computation.outputs, computation.output_names, strict=False))
        names |= dict(zip(computation.inputs, computation.input_names, strict=False))
    drawn = _Placements()
    for mesh in layout.meshes:
        drawn.mesh(mesh, mesh.devices)
    rows: list[tuple[int, str, str, str, int]] = []
    for role in ROLES:
        some = [one for one in layout.placed if one.role == role]
        placements = [one.placement for one in some]
        if role != "value" and len(some) > 1 and (how := drawn.add_sum(placements)) is not None:
            rows.append((-1, role, f"all {role}s", f"{len(some)} arrays", how))
        for one in some[: _MOST_VALUES - len(rows)]:
            value = level.values[one.value]
            type_ = one.placement.aval if value.aval is None else short_type(value.aval)
            rows.append((one.value, one.role, names.get(one.value) or value.name, type_, drawn.add(one.placement)))
    columns = zip(*rows, strict=True) if rows else ([], [], [], [], [])
    values: dict[str, Any] = dict(zip(("value", "role", "name", "type", "how"), map(list, columns), strict=True))
    cut = (
        row for row, (value, *_, how) in enumerate(rows) if value >= 0 and len(set(drawn.placements[how]["held"])) > 1
    )
    return {"meshes": drawn.meshes, "placements": drawn.placements, "values": {**values, "first": next(cut, 0)}}


class _Placements:
    """Meshes and placements as they are drawn, each once."""

    def __init__(self) -> None:
        self.meshes: list[dict[str, Any]] = []
        self.placements: list[dict[str, Any]] = []
        self._meshes: dict[Any, tuple[int, list[int]]] = {}
        self._known: dict[Placement, int] = {}

    def mesh(self, mesh: Mesh | None, devices: Sequence[Device], count: int = 0) -> tuple[int, list[int]]:
        """The number of a mesh, and the places of it that are drawn."""
        key = (mesh, tuple(devices), count if mesh is None else 0)
        if key not in self._meshes:
            grids, places = _few(in_rows(count) if mesh is None else _mesh_grids(mesh))
            hues = process_hues(device.process for device in devices)
            shown = [devices[place] if devices else None for place in places]
            self._meshes[key] = len(self.meshes), places
            self.meshes.append(
                {
                    "title": mesh_title(mesh) if mesh is not None else "devices" if count > 1 else "device",
                    "facts": " · ".join(mesh_facts(mesh)) if mesh is not None else "",
                    "grids": grids,
                    "labels": [_label(one, place, bool(hues)) for one, place in zip(shown, places, strict=True)],
                    "devices": [_told(one, place) for one, place in zip(shown, places, strict=True)],
                    **({"hues": [round(hues[one.process]) for one in shown if one is not None]} if hues else {}),
                }
            )
        return self._meshes[key]

    def add(self, placement: Placement) -> int:
        """The number of a placement."""
        if placement not in self._known:
            mesh, places = self.mesh(placement.mesh, placement.devices, len(placement.boxes))
            self._known[placement] = len(self.placements)
            tints = piece_hues(placement)
            array = read_array(placement)
            if len(array.rows) * len(array.columns) > _MANY:
                array = read_array(placement, most=_MOST_SMALL, panels=_MOST_PANELS)
            self.placements.append(
                {
                    "spec": where_text(placement, short=True),
                    "facts": " · ".join(placement_facts(placement)),
                    "bytes": placement.most if placement.itemsize else -1,
                    "mesh": mesh,
                    "array": _grids(array),
                    "held": [placement.held[place] for place in places],
                    "groups": {
                        "text": [_held_text(placement, group.box) for group in placement.groups],
                        "on": [_ids(placement, group.places) for group in placement.groups],
                        "hue": [_GREY if hue is None else round(hue) for hue, _ in tints],
                        "strength": [strength for _, strength in tints],
                    },
                }
            )
        return self._known[placement]

    def add_sum(self, placements: Sequence[Placement]) -> int | None:
        """What several arrays take together on the devices of one mesh, as a placement; None if they have several."""
        first = placements[0]
        if any(one.devices != first.devices or one.mesh != first.mesh for one in placements) or len(first.boxes) < 2:
            return None
        mesh, places = self.mesh(first.mesh, first.devices, len(first.boxes))
        held = [sum(one.per_device[place] for one in placements) for place in range(len(first.boxes))]
        sizes = sorted(set(held))
        most = max(sizes)
        told = [f"{format_bytes(size)} of {len(placements)} arrays" for size in sizes]
        least = f"{format_bytes(sizes[0])} to " if len(sizes) > 1 else ""
        whole = sum(one.nbytes for one in placements)
        self.placements.append(
            {
                "spec": "",
                "facts": f"{least}{format_bytes(most)} a device, {format_bytes(whole)} in all without copies",
                "bytes": most,
                "mesh": mesh,
                "held": [sizes.index(held[place]) for place in places],
                "groups": {
                    "text": told,
                    "on": [_ids(first, [at for at, count in enumerate(held) if count == size]) for size in sizes],
                    "hue": [255] * len(sizes),
                    "strength": [round(0.1 + 0.4 * size / most, 2) if most else 0.1 for size in sizes],
                },
            }
        )
        return len(self.placements) - 1


def _mesh_grids(mesh: Mesh) -> Grids:
    grids = read_mesh_grids(mesh)
    large = len(grids.rows) * len(grids.columns) > _MANY or len(grids.panels) > _MOST_PANELS
    return read_mesh_grids(mesh, most=_MOST_SMALL, panels=_MOST_PANELS) if large else grids


def _few(grids: Grids) -> tuple[dict[str, Any], list[int]]:
    """Grids whose cells count the places that are drawn, and these places."""
    places = [at for panel in grids.panels for row in panel.cells for at in row if at >= 0]
    number = {place: at for at, place in enumerate(places)}
    return _grids(grids, number), places


def _grids(grids: Grids, number: dict[int, int] | None = None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "down": grids.down,
        "across": grids.across,
        "rows": list(grids.rows),
        "columns": list(grids.columns),
        "captions": [panel.caption for panel in grids.panels],
        "cells": [
            [[at if number is None else number.get(at, at) for at in row] for row in panel.cells]
            for panel in grids.panels
        ],
        "left_out": grids.left_out,
    }
    if len({*grids.heights, *grids.widths}) > 1:
        data |= {"heights": [round(part, 2) for part in grids.heights]}
        data |= {"widths": [round(part, 2) for part in grids.widths]}
    return data


def _held_text(placement: Placement, box: Sequence[tuple[int, int]] | None) -> str:
    if box is None:
        return "nothing"
    count = math.prod(stop - start for start, stop in box) * placement.itemsize
    return " · ".join([box_text(box, placement.shape), *([format_bytes(count)] if placement.itemsize else [])])


def _ids(placement: Placement, places: Sequence[int]) -> str:
    return ids_text(sorted(placement.devices[place].id for place in places) if placement.devices else list(places), 8)


def _label(device: Device | None, place: int, several: bool) -> str:
    if device is None:
        return str(place)
    return f"{device.id} p{device.process}" if several else str(device.id)


def _told(device: Device | None, place: int) -> str:
    if device is None:
        return f"place {place}"
    far = "" if device.local else ", of another process"
    return f"{device.platform}:{device.id} · place {place}, process {device.process}, {device.kind}{far}"


# --- the processes of a cluster ---


def _processes(times: Sequence[ProcessTime]) -> dict[str, Any]:
    hues = process_hues(one.process for one in times)
    return {
        "who": [f"process {one.process} · {one.host}" for one in times],
        "hue": [round(hues.get(one.process, _GREY)) for one in times],
        "seconds": [one.seconds for one in times],
        "waited": [one.waited for one in times],
    }


# --- what is sent ---


def _ledger(ledger: Ledger, *, own_level: bool) -> dict[str, Any]:
    items = ledger.items[:_MOST_ROWS]
    names = [axis.name for axis in ledger.mesh.axes] if ledger.mesh is not None else []
    hues = {
        name: round(hue)
        for name, hue in axis_hues([*names, *(name for item in items for name in item.axes or ())]).items()
    }
    totals = ledger.by_axes()
    known = {item.axes for item in ledger.items if item.total is not None}
    return {
        "title": ledger_title(ledger),
        "facts": " · ".join(ledger_facts(ledger)),
        "totals": {
            "axes": [axes_text(axes) for axes in totals],
            "bytes": [count if axes in known else -1 for axes, count in totals.items()],
            "hues": [[hues.get(name, _GREY) for name in axes or ()] for axes in totals],
        },
        "rows": {
            "line": [item.line or 0 for item in items],
            "op": [list(item.op) if own_level else [] for item in items],
            "ops": [[part for place in item.places for part in place] for item in items],
            "hues": [[hues.get(name, _GREY) for name in item.axes or ()] for item in items],
            **_cells(items),
        },
        "left_out": len(ledger.items) - len(items),
    }


def _cells(items: Sequence[Collective]) -> dict[str, list[Any]]:
    rows = [ledger_row(item) for item in items]
    return {
        "lines": [row[0] for row in rows],
        "kind": [row[1] for row in rows],
        "over": [row[2] for row in rows],
        "sent": [-1 if item.sent is None else item.sent for item in items],
        "times": [-1 if item.times is None else item.times for item in items],
        "total": [-1 if item.total is None else item.total for item in items],
        "why": [f"{row[6]}, {row[7]}: {row[8]}" for row in rows],
    }
