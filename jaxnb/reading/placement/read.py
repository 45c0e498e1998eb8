"""Reads jax's meshes, shardings, arrays and pytrees of them into the plain data of `data`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxnb._jax import is_concrete, unreduced_kind
from jaxnb.errors import JaxnbError
from jaxnb.program import Axis, Box, Device, Leaf, Mesh, Placement, Tree, cut_boxes

__all__ = ["is_placed", "read_mesh", "read_placement", "read_spec", "read_tree", "spec_text"]


def read_mesh(mesh: Any) -> Mesh:
    """A mesh of jax, with devices or abstract, as data.

    Raises:
      JaxnbError: if it is no mesh, or has devices of two platforms.
    """
    if not isinstance(mesh, jax.sharding.Mesh | jax.sharding.AbstractMesh):
        raise JaxnbError(
            f"a {type(mesh).__name__} is no mesh.", fix="jaxnb.make_mesh('x=4, y=2') and jax.make_mesh make one."
        )
    axes = tuple(
        Axis(str(name), size, _type_text(kind))
        for (name, size), kind in zip(mesh.shape.items(), mesh.axis_types, strict=True)
    )
    if isinstance(mesh, jax.sharding.AbstractMesh):
        return Mesh(axes)
    found = tuple(_device(device) for device in mesh.devices.flat)
    _check_platforms(found)
    return Mesh(axes, found)


def read_placement(value: Any, shape: Sequence[int] | None = None, dtype: Any = None) -> Placement:
    """How an array, an abstract array, or an array of a given shape under a sharding lies on devices.

    Nothing is moved, made or computed. A dimension that a named sharding does not divide is cut as XLA cuts it; jax
    itself refuses such arrays at the edges of a program.

    Args:
      value: an array, a `jax.ShapeDtypeStruct`, a tracer with a sharding, or a sharding.
      shape: that of the array, where `value` is a sharding.
      dtype: likewise; without one no bytes are known.

    Raises:
      JaxnbError: if it was deleted, its devices are gone, it has no sharding, or the sharding does not fit the shape.

    >>> from jax.sharding import AbstractMesh, NamedSharding, PartitionSpec as P
    >>> placement = read_placement(NamedSharding(AbstractMesh((4, 2), ("x", "y")), P("x")), (8, 4), "float32")
    >>> placement.boxes[3], placement.copies, placement.most
    (((2, 4), (0, 4)), 2, 32)
    """
    sharding: Any = value
    if not isinstance(value, jax.sharding.Sharding):
        sharding, shape, dtype = _sharding_of(value), tuple(value.shape), value.dtype
    elif shape is None:
        raise JaxnbError(
            f"{_spec_text(sharding) or type(sharding).__name__} alone says nothing of an array.", fix="pass its shape."
        )
    shape = tuple(int(size) for size in shape)
    name, itemsize = _dtype(dtype)
    memory = sharding.memory_kind or ""
    if isinstance(sharding, jax.sharding.NamedSharding):
        mesh, (cuts, free) = read_mesh(sharding.mesh), read_spec(sharding.spec, len(shape))
        boxes = cut_boxes(mesh, cuts, shape)
        pending = tuple(str(axis) for axis in mesh_order(mesh, sharding.spec.unreduced))
        return Placement(
            kind="named",
            shape=shape,
            boxes=boxes,
            spec=_spec_text(sharding),
            dtype=name,
            itemsize=itemsize,
            cuts=cuts,
            devices=mesh.devices,
            mesh=mesh,
            memory=memory,
            pending=pending,
            free=free,
        )
    try:
        held = sharding.devices_indices_map(shape)
    except (ValueError, IndexError, NotImplementedError) as error:
        what = f"{sharding} does not fit an array of shape {list(shape)}."
        raise JaxnbError(what, why=str(error).split("\n")[0], fix="look at the shape that the array has.") from error
    ordered = sorted(held, key=lambda device: device.id)
    devices = tuple(_device(device) for device in ordered)
    _check_platforms(devices)
    boxes = tuple(_box(held[device], shape) for device in ordered)
    single = isinstance(sharding, jax.sharding.SingleDeviceSharding)
    kind = "single device" if single else type(sharding).__name__
    return Placement(kind, shape, boxes, _spec_text(sharding), name, itemsize, devices=devices, memory=memory)


def read_tree(value: Any, name: str = "") -> Tree:
    """A pytree leaf by leaf. What is no array, was deleted, or does not fit has a note instead of a placement."""
    leaves: list[Leaf] = []
    for path, leaf in jax.tree_util.tree_flatten_with_path(value, is_leaf=is_placed)[0]:
        where = jax.tree_util.keystr(path)
        if not is_placed(leaf):
            note = "on the host" if isinstance(leaf, np.ndarray | np.generic) else "no array"
            leaves.append(Leaf(where, _plain_text(leaf), None, note))
            continue
        text = f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
        try:
            leaves.append(Leaf(where, text, read_placement(leaf)))
        except JaxnbError as error:
            note = "deleted" if _is_deleted(leaf) else error.what.removesuffix(".")
            leaves.append(Leaf(where, text, None, note))
    return Tree(tuple(leaves), name)


def is_placed(value: Any) -> bool:
    """Whether a value is an array, or abstract like one, that may lie on devices."""
    return isinstance(value, jax.Array | jax.ShapeDtypeStruct)


def read_spec(spec: Any, rank: int) -> tuple[tuple[tuple[str, ...], ...], tuple[int, ...]]:
    """(for each dimension the mesh axes that cut it, the dimensions that are left to the compiler).

    Raises:
      JaxnbError: if the spec is longer than the array has dimensions.
    """
    entries = tuple(spec.partitions)
    if len(entries) > rank:
        what = f"{spec_text(spec)} speaks of {_dimensions(len(entries))}, and the array has {rank}."
        raise JaxnbError(
            what, why="every entry is for one dimension.", fix=f"at most {rank} entries; None splits nothing."
        )
    cuts: list[tuple[str, ...]] = []
    free: list[int] = []
    for index, entry in enumerate((*entries, *(None,) * (rank - len(entries)))):
        if entry is jax.sharding.PartitionSpec.UNCONSTRAINED:
            free.append(index)
            entry = None
        names: tuple[Any, ...] = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
        cuts.append(tuple(str(axis) for axis in names))
    return tuple(cuts), tuple(free)


def mesh_order(mesh: Mesh, names: Any) -> list[str]:
    """Axes in the order of the mesh: jax keeps some of them in sets."""
    wanted = {str(name) for name in names}
    return [axis.name for axis in mesh.axes if axis.name in wanted]


def _sharding_of(value: Any) -> Any:
    if _is_deleted(value):
        raise JaxnbError(
            f"the array {value.dtype}[{','.join(map(str, value.shape))}] was deleted: it lives nowhere.",
            why="its memory was given back, by donation or by delete().",
            fix="make it again; `%jaxnb memory` lists the arrays that live.",
        )
    concrete = is_concrete(value)
    sharding = getattr(jax.typeof(value) if isinstance(value, jax.Array) and not concrete else value, "sharding", None)
    if not isinstance(sharding, jax.sharding.Sharding):
        what = f"a {type(value).__name__} without a sharding lives nowhere."
        raise JaxnbError(what, fix="pass an array, or jax.ShapeDtypeStruct(shape, dtype, sharding=...).")
    if concrete:
        _check_alive(sharding)
    elif isinstance(value, jax.Array) and not _has_explicit_axes(sharding):
        raise JaxnbError(
            "a traced value lives nowhere yet.",
            why="the compiler decides where, except along explicit axes of a mesh, and there are none here.",
            fix="look at the result, after the program ran.",
        )
    return sharding


def _has_explicit_axes(sharding: Any) -> bool:
    return any(axis.type == "explicit" for axis in read_mesh(sharding.mesh).axes)


def _check_alive(sharding: Any) -> None:
    """Raises an error if the devices are those of a backend that was closed."""
    some = next(iter(sharding.device_set), None)
    if some is None:
        return
    try:
        alive = some in jax.devices(some.platform)
    except RuntimeError:
        alive = False
    if not alive:
        raise JaxnbError(
            f"the device {some} of the array is gone.",
            why="JAX's backend was started anew since the array was made.",
            fix="make the array again.",
        )


def _is_deleted(value: Any) -> bool:
    return is_concrete(value) and value.is_deleted()


def _check_platforms(devices: Sequence[Device]) -> None:
    platforms = list(dict.fromkeys(device.platform for device in devices))
    if len(platforms) > 1:
        raise JaxnbError(
            f"the devices are of {len(platforms)} platforms: {' and '.join(platforms)}.",
            why="one program runs on devices of one platform.",
            fix=f"take the devices of one: jax.devices({platforms[0]!r}).",
        )


def _device(device: Any) -> Device:
    process = int(device.process_index)
    return Device(int(device.id), process, str(device.platform), str(device.device_kind), process == _this_process())


def _this_process() -> int:
    return jax.process_index()


def _box(index: Sequence[slice], shape: Sequence[int]) -> Box:
    return tuple(part.indices(size)[:2] for part, size in zip(index, shape, strict=True))


def _dtype(dtype: Any) -> tuple[str, int]:
    if dtype is None:
        return "", 0
    if not isinstance(getattr(dtype, "itemsize", None), int):  # a name or a type; jax's key types have a size
        dtype = jax.numpy.dtype(dtype)
    return str(dtype), int(dtype.itemsize)


def _type_text(kind: Any) -> str:
    return str(getattr(kind, "name", kind)).lower()


def _spec_text(sharding: Any) -> str:
    return spec_text(sharding.spec) if isinstance(sharding, jax.sharding.NamedSharding) else ""


def spec_text(spec: Any) -> str:
    """A spec as it is written: jax's own text has a comma behind a single entry."""
    free = jax.sharding.PartitionSpec.UNCONSTRAINED
    entries = ["P.UNCONSTRAINED" if entry is free else repr(entry) for entry in spec.partitions]
    for word, axes in (("unreduced", spec.unreduced), ("reduced", spec.reduced)):
        if axes:
            entries.append(f"{word}={{{', '.join(map(repr, sorted(map(str, axes))))}}}")
    kind = unreduced_kind(spec)
    if kind != "sum":
        entries.append(f"unreduced_kind={kind}")
    return f"P({', '.join(entries)})"


def _dimensions(count: int) -> str:
    return f"{count} dimension{'' if count == 1 else 's'}"


def _plain_text(value: Any) -> str:
    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}[{','.join(map(str, value.shape))}]"
    return type(value).__name__
