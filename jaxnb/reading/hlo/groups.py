"""Which devices take part in a collective: the messages in which an HLO instruction says it, as XLA's own short text.

A list is `{{0,1},{2,3}}`. Of many devices, regular groups are written by how all numbers are laid out and cut:
`[4,2]<=[8]` are four groups of two that follow one another, `[2,4]<=[4,2]T(1,0)` two groups of four, every second.
The numbers are places in the order of devices that the program was compiled for, which is that of its mesh.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxnb.program import laid_out, parse_groups
from jaxnb.reading.hlo.protobuf import Message, fields, read_varints

__all__ = ["GROUP_FIELDS", "read_groups", "read_pairs"]

GROUP_FIELDS = (49, 87, 92, 93)
"""The fields of xla::HloInstructionProto that hold groups: plain, as a list, as a regular layout, by axes of a mesh."""

_FEW = 32  # devices whose groups are written out


def read_groups(number: int, message: Message) -> str:
    """The groups of one field; a plain field 49 holds one group, without the outer braces.

    Args:
      number: which of `GROUP_FIELDS` it is.
      message: its bytes.

    Raises:
      ValueError: if the bytes are no such message.
    """
    if number == 49:
        return _braces(_ids(message))
    if number == 87:
        return _listed([_ids(_view(value)) for field, value in fields(message) if field == 1])
    if number == 92:
        return _read_layout(message)
    return _read_mesh_axes(message)


def read_pairs(message: Message) -> str:
    """xla::SourceTarget, one pair of `source_target_pairs`: `{0,1}`."""
    ends = {1: 0, 2: 0}
    for field, value in fields(message):
        if field in ends and isinstance(value, int):
            ends[field] = value
    return _braces([ends[1], ends[2]])


def _read_layout(message: Message) -> str:
    """xla::IotaReplicaGroupListProto."""
    groups, members, sizes, order = 0, 0, list[int](), list[int]()
    for field, value in fields(message):
        if field == 1 and isinstance(value, int):
            groups = value
        elif field == 2 and isinstance(value, int):
            members = value
        elif field == 3:
            sizes.extend(read_varints(value))
        elif field == 4:
            order.extend(read_varints(value))
    return _layout(groups, members, sizes, order)


def _read_mesh_axes(message: Message) -> str:
    """xla::MeshAxesReplicaGroupListProto: a mesh of its own making, and the axes of it that a group runs along."""
    sizes, devices, chosen = list[int](), list[int](), list[tuple[int, int, int]]()
    for field, value in fields(message):
        if field == 1:
            for part, inner in fields(_view(value)):
                if part == 1:
                    sizes.append(_numbers(_view(inner)).get(2, 1))
                elif part == 2:
                    devices.extend(read_varints(inner))
                elif part == 3:
                    devices.extend(_read_order(_view(inner)))
        elif field == 2:
            chosen.append(_read_axis(_view(value)))
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
    return _listed([[devices[place] for place in group] for group in parse_groups(text)])


def _read_order(message: Message) -> list[int]:
    """The devices of a mesh of XLA's, written as the sizes of an array of all numbers, and how it is transposed."""
    sizes, order = list[int](), list[int]()
    for field, value in fields(message):
        if field == 1:
            sizes.extend(read_varints(value))
        elif field == 2:
            order.extend(read_varints(value))
    return laid_out(sizes, order)


def _read_axis(message: Message) -> tuple[int, int, int]:
    """xla::AxisRefProto: (axis, what stands before the part of it that is meant, its size); 0, 0 for all of it."""
    axis, before, size = 0, 0, 0
    for field, value in fields(message):
        if field == 1 and isinstance(value, int):
            axis = value
        elif field == 2:
            inner = _numbers(_view(value))
            before, size = inner.get(1, 1), inner.get(2, 1)
    return axis, before, size


def _layout(groups: int, members: int, sizes: Sequence[int], order: Sequence[int]) -> str:
    turned = "" if list(order) in ([], sorted(order)) else f"T({','.join(map(str, order))})"
    shape = sizes if turned else [math.prod(sizes)]
    text = f"[{groups},{members}]<=[{','.join(map(str, shape))}]{turned}"
    # Versions of XLA choose differently among the forms, which for few devices is no reason to differ.
    return _listed(parse_groups(text)) if math.prod(sizes) <= _FEW else text


def _ids(message: Message) -> list[int]:
    """xla::ReplicaGroup."""
    return [number for field, value in fields(message) if field == 1 for number in read_varints(value)]


def _numbers(message: Message) -> dict[int, int]:
    return {field: value for field, value in fields(message) if isinstance(value, int)}


def _listed(groups: Sequence[Sequence[int]]) -> str:
    return "{" + ",".join(map(_braces, groups)) + "}"


def _braces(ids: Sequence[int]) -> str:
    return "{" + ",".join(map(str, ids)) + "}"


def _view(value: int | Message) -> Message:
    if isinstance(value, int):
        raise ValueError(f"the number {value} where a message should be")
    return value
