"""Which devices take part in a collective: the messages in which an HLO instruction says it, as XLA's own short text.

A list is `{{0,1},{2,3}}`. Of many devices, regular groups are written by how all numbers are laid out and cut:
`[4,2]<=[8]` are four groups of two that follow one another, `[2,4]<=[4,2]T(1,0)` two groups of four, every second.
The numbers are places in the order of devices that the program was compiled for, which is that of its mesh.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxnb.program import laid_out, parse_groups
from jaxnb.reading.hlo.protobuf import Field, fields, integer_of, read_varints

__all__ = ["GROUP_FIELDS", "group_text", "read_group", "read_pair"]

_FEW = 32  # devices whose groups are written out


def read_group(message: Field) -> tuple[int, ...]:
    """xla::ReplicaGroup."""
    return tuple(id for field, ids in fields(message) if field == 1 for id in read_varints(ids))


def read_pair(message: Field) -> tuple[int, int]:
    """xla::SourceTarget, one pair of `source_target_pairs`."""
    ends = _numbers(message)
    return ends.get(1, 0), ends.get(2, 0)


def group_text(groups: Sequence[Sequence[int]]) -> str:
    """Groups, or pairs, that are written out: `{{0,1},{2,3}}`."""
    return "{" + ",".join("{" + ",".join(map(str, ids)) + "}" for ids in groups) + "}"


def _read_list(message: Field) -> str:
    """xla::CollectiveDeviceListProto."""
    return group_text([read_group(part) for field, part in fields(message) if field == 1])


def _read_layout(message: Field) -> str:
    """xla::IotaReplicaGroupListProto."""
    groups, members, sizes, order = 0, 0, list[int](), list[int]()
    for field, value in fields(message):
        if field == 1:
            groups = integer_of(value)
        elif field == 2:
            members = integer_of(value)
        elif field == 3:
            sizes.extend(read_varints(value))
        elif field == 4:
            order.extend(read_varints(value))
    return _layout(groups, members, sizes, order)


def _read_mesh_axes(message: Field) -> str:
    """xla::MeshAxesReplicaGroupListProto: a mesh of its own making, and the axes of it that a group runs along."""
    sizes, devices, chosen = list[int](), list[int](), list[tuple[int, int, int]]()
    for field, value in fields(message):
        if field == 1:
            for part, inner in fields(value):
                if part == 1:
                    sizes.append(_numbers(inner).get(2, 1))
                elif part == 2:
                    devices.extend(read_varints(inner))
                elif part == 3:
                    devices.extend(_read_order(inner))
        elif field == 2:
            chosen.append(_read_axis(value))
    bounds = [{1, size} for size in sizes]
    for axis, before, size in chosen:
        bounds[axis] |= {before, before * size} if before else set[int]()
    # Every axis is cut wherever a part of it that is meant begins or ends: (axis, what stands before, size).
    flat = [
        (axis, start, stop // start)
        for axis, ends in enumerate(map(sorted, bounds))
        for start, stop in zip(ends or [1], ends[1:] or [1], strict=False)
    ]
    meant: list[int] = []
    for axis, before, size in chosen:
        first, last = (before, before * size) if before else (1, sizes[axis])
        meant += [at for at, (other, start, _) in enumerate(flat) if other == axis and first <= start < last]
    others = [at for at in range(len(flat)) if at not in meant]
    members = math.prod(flat[at][2] for at in meant)
    groups = math.prod(sizes) // max(members, 1)
    text = _layout(groups, members, [size for _, _, size in flat], [*others, *meant])
    if not devices or devices == list(range(math.prod(sizes))):
        return text
    return group_text([[devices[place] for place in group] for group in parse_groups(text)])


def _read_order(message: Field) -> list[int]:
    """The devices of a mesh of XLA's, written as the sizes of an array of all numbers, and how it is transposed."""
    sizes, order = list[int](), list[int]()
    for field, value in fields(message):
        if field == 1:
            sizes.extend(read_varints(value))
        elif field == 2:
            order.extend(read_varints(value))
    return laid_out(sizes, order)


def _read_axis(message: Field) -> tuple[int, int, int]:
    """xla::AxisRefProto: (axis, what stands before the part of it that is meant, its size); 0, 0 for all of it."""
    axis, before, size = 0, 0, 0
    for field, value in fields(message):
        if field == 1:
            axis = integer_of(value)
        elif field == 2:
            inner = _numbers(value)
            before, size = inner.get(1, 1), inner.get(2, 1)
    return axis, before, size


def _layout(groups: int, members: int, sizes: Sequence[int], order: Sequence[int]) -> str:
    turned = "" if list(order) in ([], sorted(order)) else f"T({','.join(map(str, order))})"
    shape = sizes if turned else [math.prod(sizes)]
    text = f"[{groups},{members}]<=[{','.join(map(str, shape))}]{turned}"
    # Versions of XLA choose differently among the forms, which for few devices is no reason to differ.
    return group_text(parse_groups(text)) if math.prod(sizes) <= _FEW else text


def _numbers(message: Field) -> dict[int, int]:
    return {field: value for field, value in fields(message) if isinstance(value, int)}


GROUP_FIELDS = {87: _read_list, 92: _read_layout, 93: _read_mesh_axes}
"""The fields of xla::HloInstructionProto that hold groups, as a list, as a regular layout, by axes of a mesh, with what
reads each as text."""
