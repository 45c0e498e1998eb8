"""Meshes, and how arrays lie on them, as plain data. Nothing here imports jax.

A device is known by its place: its number in the mesh, counted with the last axis fastest. What a device holds is a
box: for each dimension of the array where it starts and where it stops. Devices that hold the same box hold copies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

__all__ = [
    "AXIS_TYPES",
    "Axis",
    "Box",
    "Device",
    "Group",
    "Leaf",
    "Mesh",
    "Placement",
    "Tree",
    "box_text",
    "cut",
    "cut_boxes",
]

AXIS_TYPES = ("auto", "explicit", "manual")
"""Who says how a value lies along an axis: the compiler, the type of the value, or the function itself."""

Box = tuple[tuple[int, int], ...]
"""For each dimension where a piece starts and where it stops."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a mesh. `type` is one of `AXIS_TYPES`."""

    name: str
    size: int
    type: str = "auto"


@dataclass(frozen=True, slots=True)
class Device:
    """A device. `local` says whether it belongs to the process that read this."""

    id: int
    process: int = 0
    platform: str = "cpu"
    kind: str = "cpu"
    local: bool = True


@dataclass(frozen=True, slots=True)
class Mesh:
    """Devices in an array with named axes.

    Attributes:
      axes: from the slowest to the fastest.
      devices: by place; none if the mesh is abstract, which has sizes only.
    """

    axes: tuple[Axis, ...] = ()
    devices: tuple[Device, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many devices it has, or would have."""
        return math.prod(self.shape)

    @property
    def processes(self) -> int:
        """How many processes have its devices; 0 of one that is abstract."""
        return len({device.process for device in self.devices})

    def crosses(self, axes: tuple[str, ...]) -> bool:
        """Whether devices that differ in their places along some axes alone belong to several processes."""
        along = [axis.name in axes for axis in self.axes]
        groups = dict[tuple[int, ...], set[int]]()
        for device, place in zip(self.devices, itertools.product(*map(range, self.shape)), strict=True):
            rest = tuple(at for at, varies in zip(place, along, strict=True) if not varies)
            groups.setdefault(rest, set()).add(device.process)
        return any(len(group) > 1 for group in groups.values())

    @property
    def abstract(self) -> bool:
        """Whether no devices are known."""
        return not self.devices and self.size > 0

    def coordinates(self, place: int) -> tuple[int, ...]:
        """Where a place is along each axis.

        >>> Mesh((Axis("x", 4), Axis("y", 2))).coordinates(5)
        (2, 1)
        """
        found: list[int] = []
        for size in reversed(self.shape):
            place, here = divmod(place, size)
            found.append(here)
        return tuple(reversed(found))

    def __str__(self) -> str:
        """`x=4, y=2`, with the type of an axis behind its size where it is not auto."""
        told = [f"{axis.name}={axis.size}" + (f" {axis.type}" * (axis.type != "auto")) for axis in self.axes]
        return ", ".join(told) or "no axes"


@dataclass(frozen=True, slots=True)
class Group:
    """Devices that hold the same piece, by place. `box` is None for devices that hold nothing of the array."""

    box: Box | None
    places: tuple[int, ...]


@dataclass(frozen=True)
class Placement:
    """How an array lies on devices.

    Attributes:
      kind: "named", "single device", or the name of jax's class.
      spec: what cuts it, as a user writes it: `P('x', None)`; "" if nothing was written.
      shape: of the whole array.
      dtype: its name.
      itemsize: bytes of one element, 0 where unknown.
      cuts: for each dimension the mesh axes that cut it, from the slowest; none known where `kind` is not "named".
      boxes: for each place what it holds.
      devices: by place; none if the mesh is abstract.
      mesh: None where there is none.
      memory: the kind of memory, such as "device" or "pinned_host"; "" where it is not known.
      pending: mesh axes over which the pieces are still to be summed.
      free: dimensions that are left to the compiler.
    """

    kind: str
    shape: tuple[int, ...]
    boxes: tuple[Box, ...]
    spec: str = ""
    dtype: str = ""
    itemsize: int = 0
    cuts: tuple[tuple[str, ...], ...] = ()
    devices: tuple[Device, ...] = ()
    mesh: Mesh | None = None
    memory: str = ""
    pending: tuple[str, ...] = ()
    free: tuple[int, ...] = ()

    @property
    def aval(self) -> str:
        """`float32[8,4]`; without a dtype `[8,4]`."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The pieces in the order of the array, each with who holds it; those that hold nothing come last."""
        places: dict[Box | None, list[int]] = {}
        for place, box in enumerate(self.boxes):
            places.setdefault(None if _count(box) == 0 else box, []).append(place)
        ordered = sorted(places, key=lambda box: (box is None, box or ()))
        return tuple(Group(box, tuple(places[box])) for box in ordered)

    @cached_property
    def held(self) -> tuple[int, ...]:
        """For each place the index of its group."""
        found = [0] * len(self.boxes)
        for index, group in enumerate(self.groups):
            for place in group.places:
                found[place] = index
        return tuple(found)

    @cached_property
    def edges(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each dimension the different pieces it is cut into, in order. Empty pieces do not count."""
        boxes = [group.box for group in self.groups if group.box is not None]
        return tuple(
            tuple(sorted({box[index] for box in boxes})) or ((0, size),) for index, size in enumerate(self.shape)
        )

    @property
    def nbytes(self) -> int:
        """Of the whole array, once."""
        return math.prod(self.shape) * self.itemsize

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Elements that each place holds."""
        return tuple(_count(box) for box in self.boxes)

    @property
    def per_device(self) -> tuple[int, ...]:
        """Bytes that each place holds."""
        return tuple(count * self.itemsize for count in self.counts)

    @property
    def most(self) -> int:
        """Bytes on the device that holds most."""
        return max(self.per_device, default=0)

    @property
    def copies(self) -> int:
        """How often the piece is held that is held most often."""
        return max((len(group.places) for group in self.groups if group.box is not None), default=0)

    @property
    def uneven(self) -> bool:
        """Whether some device holds less than another."""
        return len(set(self.counts)) > 1

    @property
    def idle_axes(self) -> tuple[str, ...]:
        """The axes of the mesh, of size 2 and more, along which everything is copied."""
        used = {name for names in self.cuts for name in names} | set(self.pending)
        if self.kind != "named" or self.mesh is None:
            return ()
        return tuple(axis.name for axis in self.mesh.axes if axis.size > 1 and axis.name not in used)

    @property
    def elsewhere(self) -> int:
        """How many of its devices belong to other processes."""
        return sum(not device.local for device in self.devices)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of a pytree. `placement` is None for what is no array or lives nowhere, and `note` says why."""

    path: str
    text: str
    placement: Placement | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Tree:
    """A pytree: its leaves in jax's order. `name` is what the user calls it."""

    leaves: tuple[Leaf, ...]
    name: str = ""

    @property
    def nbytes(self) -> int:
        """Of every array once, without copies."""
        return sum(leaf.placement.nbytes for leaf in self.leaves if leaf.placement is not None)

    def by_device(self) -> tuple[tuple[Device, int], ...]:
        """What each device holds of all leaves together, by id; leaves on abstract meshes are not among them."""
        sums: dict[Device, int] = {}
        for leaf in self.leaves:
            if leaf.placement is not None:
                for device, count in zip(leaf.placement.devices, leaf.placement.per_device, strict=False):
                    sums[device] = sums.get(device, 0) + count
        return tuple(sorted(sums.items(), key=lambda item: (item[0].platform, item[0].id)))


def cut(size: int, parts: int) -> tuple[tuple[int, int], ...]:
    """Where the pieces of a dimension start and stop; as XLA cuts: all as long as the first, the last ones shorter.

    >>> cut(6, 4)
    ((0, 2), (2, 4), (4, 6), (6, 6))
    """
    step = -(-size // parts)
    return tuple((min(index * step, size), min((index + 1) * step, size)) for index in range(parts))


def cut_boxes(mesh: Mesh, cuts: Sequence[Sequence[str]], shape: Sequence[int]) -> tuple[Box, ...]:
    """What each place of a mesh holds of an array.

    Args:
      mesh: that the array is spread over.
      cuts: for each dimension the axes of the mesh that cut it, from the slowest.
      shape: of the whole array.

    Raises:
      KeyError: if the mesh has no such axis.

    >>> cut_boxes(Mesh((Axis("x", 2), Axis("y", 2))), [("x",), ()], (4, 3))[2]
    ((2, 4), (0, 3))
    """
    sizes = {axis.name: axis.size for axis in mesh.axes}
    order = {axis.name: number for number, axis in enumerate(mesh.axes)}
    pieces = [cut(size, math.prod(sizes[name] for name in names)) for size, names in zip(shape, cuts, strict=True)]
    boxes: list[Box] = []
    for coordinates in itertools.product(*map(range, mesh.shape)):
        box: list[tuple[int, int]] = []
        for names, parts in zip(cuts, pieces, strict=True):
            index = 0
            for name in names:
                index = index * sizes[name] + coordinates[order[name]]
            box.append(parts[index])
        boxes.append(tuple(box))
    return tuple(boxes)


def box_text(box: Sequence[tuple[int, int]], shape: Sequence[int]) -> str:
    """A box as an index: `[0:2, :]`; `[]` for a scalar.

    >>> box_text(((0, 2), (0, 4)), (8, 4))
    '[0:2, :]'
    """
    told = [":" if piece == (0, size) else f"{piece[0]}:{piece[1]}" for piece, size in zip(box, shape, strict=True)]
    return f"[{', '.join(told)}]"


def _count(box: Box) -> int:
    return math.prod(stop - start for start, stop in box)
