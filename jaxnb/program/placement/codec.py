"""A layout as part of a saved program, and back. What `program.schema.json` says of it is under "layout"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jaxnb.program.placement.data import AXIS_TYPES, Axis, Box, Device, Mesh, Placement, cut_boxes
from jaxnb.program.placement.layout import ROLES, Layout, Placed
from jaxnb.program.placement.ledger import Collective
from jaxnb.program.tables import Interned, at, indices_of, pair_of, rows_of, texts_of, typed

__all__ = ["decode_layout", "encode_layout"]

_MOST_PLACES = 1 << 20
_COUNTS = ("line", "group", "payload", "sent", "times")
_ITEM = ("kind", "values", "op", "eqns", "axes", "backward", "written", "why", "lines", "places", *_COUNTS)


def encode_layout(layout: Layout, strings: Interned[str]) -> dict[str, Any]:
    """The layout as JSON; texts are indices into `strings`.

    A named placement says which axes cut it, any other one what each of its devices holds. What is alike is said once.
    """
    meshes: Interned[Mesh] = Interned()
    for mesh in layout.meshes:
        meshes.index(mesh)
    known: dict[Placement, int] = {}
    how = [known.setdefault(_key(one.placement), len(known)) for one in layout.placed]
    placements = [_encode_placement(one, meshes, strings) for one in known]
    data: dict[str, Any] = {
        "meshes": [_encode_mesh(mesh, strings) for mesh in meshes.items()],
        "placements": placements,
        "placed": {
            "value": [one.value for one in layout.placed],
            "role": [strings.index(one.role) for one in layout.placed],
            "how": how,
        },
    }
    if layout.collectives is not None:
        data["collectives"] = _encode_items(layout.collectives, strings)
    return data


def decode_layout(data: Mapping[str, Any], strings: Sequence[str]) -> Layout:
    """The layout that `encode_layout` made the data from.

    Raises:
      TypeError, ValueError, KeyError, IndexError: if it is damaged.
    """
    meshes = [_decode_mesh(mesh, strings) for mesh in data["meshes"]]
    placements = [_decode_placement(one, meshes, strings) for one in data["placements"]]
    placed: list[Placed] = []
    for value, role, how in rows_of(data["placed"], ("value", "role", "how")):
        said = at(strings, role)
        if said not in ROLES:
            raise ValueError(f"{said!r} is none of {', '.join(ROLES)}")
        placed.append(Placed(typed(value, int), said, at(placements, how)))
    items = tuple(_decode_items(data["collectives"], strings)) if "collectives" in data else None
    return Layout(tuple(meshes), tuple(placed), items)


def _key(placement: Placement) -> Placement:
    """A placement to be compared by, without what follows from the rest and may be long."""
    return replace(placement, boxes=(), devices=()) if placement.mesh is not None else placement


def _encode_mesh(mesh: Mesh, strings: Interned[str]) -> dict[str, Any]:
    return {
        "axes": {
            "name": [strings.index(axis.name) for axis in mesh.axes],
            "size": [axis.size for axis in mesh.axes],
            "type": [strings.index(axis.type) for axis in mesh.axes],
        },
        "devices": _encode_devices(mesh.devices, strings),
    }


def _decode_mesh(data: Mapping[str, Any], strings: Sequence[str]) -> Mesh:
    axes: list[Axis] = []
    for name, size, kind in rows_of(data["axes"], ("name", "size", "type")):
        if typed(size, int) < 0 or at(strings, kind) not in AXIS_TYPES:
            raise ValueError(f"an axis of size {size} and type {at(strings, kind)!r}")
        axes.append(Axis(at(strings, name), size, at(strings, kind)))
    mesh = Mesh(tuple(axes), _decode_devices(data["devices"], strings))
    if mesh.size > _MOST_PLACES or (mesh.devices and len(mesh.devices) != mesh.size):
        raise ValueError(f"{len(mesh.devices)} devices in a mesh of {mesh.size}")
    return mesh


def _encode_devices(devices: Sequence[Device], strings: Interned[str]) -> dict[str, Any]:
    return {
        "id": [device.id for device in devices],
        "process": [device.process for device in devices],
        "platform": [strings.index(device.platform) for device in devices],
        "kind": [strings.index(device.kind) for device in devices],
        "far": [number for number, device in enumerate(devices) if not device.local],
    }


def _decode_devices(data: Mapping[str, Any], strings: Sequence[str]) -> tuple[Device, ...]:
    far = set(data["far"])
    rows = rows_of(data, ("id", "process", "platform", "kind"))
    return tuple(
        Device(typed(id_, int), typed(process, int), at(strings, platform), at(strings, kind), number not in far)
        for number, (id_, process, platform, kind) in enumerate(rows)
    )


def _encode_placement(placement: Placement, meshes: Interned[Mesh], strings: Interned[str]) -> dict[str, Any]:
    data: dict[str, Any] = {
        "kind": strings.index(placement.kind),
        "spec": strings.index(placement.spec),
        "shape": list(placement.shape),
        "dtype": strings.index(placement.dtype),
        "itemsize": placement.itemsize,
        "memory": strings.index(placement.memory),
    }
    if placement.mesh is not None:
        cuts = [strings.indices(names) for names in placement.cuts]
        data |= {"mesh": meshes.index(placement.mesh), "cuts": cuts}
    else:
        boxes = [[number for piece in box for number in piece] for box in placement.boxes]
        data |= {"devices": _encode_devices(placement.devices, strings), "boxes": boxes}
    if placement.pending:
        data["pending"] = strings.indices(placement.pending)
    if placement.free:
        data["free"] = list(placement.free)
    return data


def _decode_placement(data: Mapping[str, Any], meshes: Sequence[Mesh], strings: Sequence[str]) -> Placement:
    shape = indices_of(data["shape"])
    if any(size < 0 for size in shape):
        raise ValueError(f"an array of shape {shape}")
    cuts: tuple[tuple[str, ...], ...] = ()
    if "mesh" in data:
        mesh = at(meshes, data["mesh"])
        cuts = tuple(texts_of(names, strings) for names in data["cuts"])
        boxes, devices = cut_boxes(mesh, cuts, shape), mesh.devices
    else:
        mesh, devices = None, _decode_devices(data["devices"], strings)
        boxes = tuple(_decode_box(row, shape) for row in data["boxes"])
        if len(boxes) != len(devices):
            raise ValueError(f"{len(boxes)} pieces on {len(devices)} devices")
    return Placement(
        kind=at(strings, data["kind"]),
        shape=shape,
        boxes=boxes,
        spec=at(strings, data["spec"]),
        dtype=at(strings, data["dtype"]),
        itemsize=typed(data["itemsize"], int),
        cuts=cuts,
        devices=devices,
        mesh=mesh,
        memory=at(strings, data["memory"]),
        pending=texts_of(data.get("pending", ()), strings),
        free=indices_of(data.get("free", ())),
    )


def _decode_box(row: Sequence[int], shape: Sequence[int]) -> Box:
    numbers = indices_of(row)
    box = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    if len(box) != len(shape) or any(not 0 <= a <= b <= size for (a, b), size in zip(box, shape, strict=True)):
        raise ValueError(f"a piece {box} of an array of shape {list(shape)}")
    return box


def _encode_items(items: Sequence[Collective], strings: Interned[str]) -> dict[str, Any]:
    counts = {name: [-1 if getattr(item, name) is None else getattr(item, name) for item in items] for name in _COUNTS}
    return {
        "kind": [strings.index(item.kind) for item in items],
        "values": [item.values for item in items],
        "op": [list(item.op) for item in items],
        "eqns": [strings.indices(item.eqns) for item in items],
        "axes": [None if item.axes is None else strings.indices(item.axes) for item in items],
        "backward": [number for number, item in enumerate(items) if item.backward],
        "written": [number for number, item in enumerate(items) if item.written],
        "why": [strings.index(item.why) for item in items],
        "lines": [list(item.lines) for item in items],
        "places": [[number for place in item.places for number in place] for item in items],
        **counts,
    }


def _decode_items(data: Mapping[str, Any], strings: Sequence[str]) -> list[Collective]:
    backward, written = set(data["backward"]), set(data["written"])
    names = [name for name in _ITEM if name not in ("backward", "written")]
    found: list[Collective] = []
    for number, row in enumerate(rows_of(data, names)):
        said = dict(zip(names, row, strict=True))
        counts = {name: None if said[name] == -1 else typed(said[name], int) for name in _COUNTS}
        numbers = indices_of(said["places"])
        found.append(
            Collective(
                kind=at(strings, said["kind"]),
                values=typed(said["values"], int),
                op=pair_of(said["op"]),
                eqns=texts_of(said["eqns"], strings),
                axes=None if said["axes"] is None else texts_of(said["axes"], strings),
                backward=number in backward,
                written=number in written,
                why=at(strings, said["why"]),
                lines=indices_of(said["lines"]),
                places=tuple(zip(numbers[::2], numbers[1::2], strict=True)),
                **counts,
            )
        )
    return found
