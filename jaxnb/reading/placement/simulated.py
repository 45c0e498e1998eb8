"""A mesh that is not there: cells are staged for it with shapes where the arrays would be, and nothing is allocated.

An input is spread as its own sharding says: a shape that `abstract` made, or an array that lies on a mesh whose
axes have the same names. What has no such sharding is left to the compiler, as JAX leaves it to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

import jaxnb.reading as room
from jaxnb import program
from jaxnb.errors import JaxnbError, Refused

__all__ = ["PLATFORM", "SimulatedMesh", "mesh_of_target", "simulated", "simulated_mesh_of", "spread_over"]

PLATFORM = "cpu"
"""What programs for a mesh without a target are lowered for: virtual devices are those of a CPU."""


@dataclass(frozen=True)
class SimulatedMesh:
    """A mesh that is not there.

    Attributes:
      axes: names and sizes, the axis whose devices lie closest together last; none for one device of a target.
      explicit: whether the types of values say how they lie along the axes.
      hardware: what its devices are, by the name in `placement.hardware`; "" for any.
      target: whose compiler programs are for; None for virtual devices of the CPU.
    """

    axes: tuple[tuple[str, int], ...]
    explicit: bool = False
    hardware: str = ""
    target: program.Target | None = None

    @cached_property
    def mesh(self) -> AbstractMesh:
        """The mesh as JAX knows it."""
        kind = AxisType.Explicit if self.explicit else AxisType.Auto
        sizes = tuple(size for _, size in self.axes)
        return AbstractMesh(sizes, tuple(name for name, _ in self.axes), axis_types=(kind,) * len(sizes))

    @property
    def device(self) -> program.Hardware | None:
        """What one of its devices can do; None for any."""
        if self.hardware:
            return program.find_hardware(self.hardware)
        return None if self.target is None else self.target.hardware

    @property
    def platform(self) -> str:
        """What programs for it are lowered for."""
        return PLATFORM if self.target is None else self.target.platform

    @property
    def size(self) -> int:
        """How many devices it would have."""
        return math.prod(size for _, size in self.axes)

    def __str__(self) -> str:
        """`x=16, y=16 (256 devices)`, `x=4, y=4 (16 devices of v5e:4x4)`."""
        told = ", ".join(f"{name}={size}" for name, size in self.axes)
        count = f"{self.size:,} device{'' if self.size == 1 else 's'}"
        count += "" if self.target is None else f" of {self.target}"
        return f"{told} ({count})" if told else count

    def without_target(self) -> SimulatedMesh:
        """The same axes of virtual devices of the CPU, which are compiled for faster than a target."""
        return SimulatedMesh(self.axes, self.explicit, self.hardware)

    def ambient(self) -> AbstractContextManager[Any]:
        """Makes it the mesh of what is traced within."""
        return jax.sharding.use_abstract_mesh(self.mesh)

    def place(self, leaves: Sequence[Any], names: Sequence[str]) -> list[Any]:
        """What stands for inputs: shapes for arrays, Python's numbers as they are.

        Args:
          leaves: the inputs.
          names: what the user calls each.

        Raises:
          Refused: if a sharding does not fit the array or the mesh; the message names the input.
        """
        return [self._one(leaf, name) for leaf, name in zip(leaves, names, strict=True)]

    def _one(self, leaf: Any, name: str) -> Any:
        if isinstance(leaf, np.ndarray | np.generic):
            return jax.ShapeDtypeStruct(leaf.shape, jax.dtypes.canonicalize_dtype(leaf.dtype))
        if not isinstance(leaf, jax.Array | jax.ShapeDtypeStruct):
            return leaf
        spec = _spec_of(leaf, name)
        weak = bool(getattr(getattr(leaf, "aval", leaf), "weak_type", False))
        if spec is not None and isinstance(leaf, jax.Array) and not self._has(spec):
            spec = None  # it lies on a mesh of its own, which says nothing of this one
        if spec is None:
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=weak)
        self._check(spec, leaf, name)
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=NamedSharding(self.mesh, spec), weak_type=weak)

    def _has(self, spec: PartitionSpec) -> bool:
        known = dict(self.axes)
        return all(axis in known for entry in spec for axis in _axes_of(entry))

    def _check(self, spec: PartitionSpec, leaf: Any, name: str) -> None:
        sizes: Mapping[Any, int] = dict(self.axes)
        if len(spec) > len(leaf.shape):
            raise Refused(
                f"`{name}` has {_dimensions(len(leaf.shape))}, and {room.spec_text(spec)} speaks of {len(spec)}.",
                why="every entry is for one dimension.",
                fix="leave entries out; None splits nothing.",
            )
        used: set[Any] = set()
        for dimension, entry in enumerate(spec):
            axes = _axes_of(entry)
            for axis in axes:
                if axis not in sizes:
                    raise Refused(
                        f"`{name}` is to be split over {axis!r}, and the mesh has no such axis.",
                        why=f"it is {self}.",
                        fix=f"one of {', '.join(sizes)}, or another mesh." if sizes else "leave the spec out.",
                    )
                if axis in used:
                    raise Refused(
                        f"`{name}` is to be split over {axis!r} twice: {room.spec_text(spec)}.",
                        why="a device is at one place along an axis.",
                        fix="split one dimension over it.",
                    )
                used.add(axis)
            parts = math.prod(sizes[axis] for axis in axes)
            if leaf.shape[dimension] % parts:
                raise Refused(
                    f"dimension {dimension} of `{name}`, of size {leaf.shape[dimension]}, is cut into {parts} parts.",
                    why=f"{leaf.shape[dimension]} is not divisible by {parts} ({', '.join(map(str, axes))}).",
                    fix="change the size, or split it over fewer devices.",
                )


def mesh_of_target(
    target: program.Target, axes: Mapping[str, int] | None = None, explicit: bool = False, hardware: str = ""
) -> SimulatedMesh:
    """A mesh of all devices of a target.

    Args:
      target: which one.
      axes: names and sizes; by default its sides, and none for one device.
      explicit: whether the types of values say how they lie along the axes.
      hardware: what its devices are, instead of what the table says of the target.

    Raises:
      JaxnbError: if there are more or fewer places in the mesh than the target has devices.

    >>> from jaxnb.program import read_target
    >>> str(mesh_of_target(read_target("v5e:4x4"), {"data": 2, "model": 8}))
    'data=2, model=8 (16 devices of v5e:4x4)'
    """
    sizes = target.axes if axes is None else axes
    places = math.prod(sizes.values())
    if places != target.devices:
        told = ", ".join(f"{name}={size}" for name, size in sizes.items())
        raise JaxnbError(
            f"{told} are {places:,} devices, and {target} has {target.devices:,}.",
            why="a program is compiled for all devices of a machine, each at one place of the mesh.",
            fix=f"axes whose sizes multiply to {target.devices:,}, or a target of another size.",
        )
    return SimulatedMesh(tuple(sizes.items()), explicit, hardware, target)


def spread_over(value: Any, spec: Any, mesh: Any) -> Any:
    """The same pytree with shapes where the arrays are, spread over a mesh as `spec` says.

    Args:
      value: a pytree of arrays or `jax.ShapeDtypeStruct`s, such as `jax.eval_shape` gives. Anything else in it stays.
      spec: a `PartitionSpec` for all of them, or a pytree of them whose leaves stand for whole parts of `value`; None
        leaves the spreading to the compiler.
      mesh: of JAX, with devices or abstract.

    Raises:
      JaxnbError: if the two pytrees do not go together, or the mesh has no such axis.

    >>> import jax.numpy as jnp
    >>> from jax.sharding import AbstractMesh, PartitionSpec as P
    >>> spread_over({"w": jnp.ones((8, 4)), "lr": 0.1}, P("x"), AbstractMesh((4,), ("x",)))["w"].sharding.spec
    P('x',)
    """
    if _is_spec(spec):
        return jax.tree.map(lambda leaf: _struct(leaf, spec, mesh), value)
    try:
        return jax.tree.map(lambda one, part: spread_over(part, one, mesh), spec, value, is_leaf=_is_spec)
    except ValueError as error:
        raise JaxnbError(
            "the specs do not go with the value.",
            why=str(error).split("\n")[0],
            fix="pass one PartitionSpec, or a pytree whose leaves stand where the value has leaves or parts.",
        ) from error


def simulated_mesh_of(values: Sequence[Any]) -> SimulatedMesh | None:
    """The mesh without devices on which shapes lie; None if none does.

    >>> mesh = AbstractMesh((4,), ("x",))
    >>> str(simulated_mesh_of([1.0, spread_over(jax.ShapeDtypeStruct((8,), "float32"), PartitionSpec("x"), mesh)]))
    'x=4 (4 devices)'
    """
    for value in values:
        try:
            sharding = value.sharding if isinstance(value, jax.ShapeDtypeStruct) else None
        except (TypeError, ValueError):  # a spec alone, of which JAX tells no sharding
            continue
        mesh = sharding.mesh if isinstance(sharding, NamedSharding) else None
        if isinstance(mesh, AbstractMesh) and not mesh.empty:
            return simulated(mesh)
    return None


def simulated(mesh: Any) -> SimulatedMesh:
    """A mesh of JAX as one that is not there."""
    explicit = any(kind == AxisType.Explicit for kind in mesh.axis_types)
    return SimulatedMesh(tuple((str(name), size) for name, size in mesh.shape.items()), explicit)


def _is_spec(value: Any) -> bool:
    return value is None or isinstance(value, PartitionSpec)


def _struct(leaf: Any, spec: PartitionSpec | None, mesh: Any) -> Any:
    if not isinstance(leaf, np.ndarray | np.generic | jax.Array | jax.ShapeDtypeStruct):
        return leaf
    dtype = jax.dtypes.canonicalize_dtype(leaf.dtype) if isinstance(leaf, np.ndarray | np.generic) else leaf.dtype
    axes = [axis for entry in spec or () for axis in _axes_of(entry)]
    for axis in axes:
        if axes.count(axis) > 1:
            what = f"{room.spec_text(spec)} speaks of {axis!r} twice."
            raise JaxnbError(what, why="a device is at one place along an axis.", fix="split one dimension over it.")
        if axis not in mesh.shape:
            there = ", ".join(f"{name}={size}" for name, size in mesh.shape.items())
            what = f"{room.spec_text(spec)} speaks of {axis!r}, and the mesh has no such axis."
            raise JaxnbError(what, why=f"it is {there}.", fix=f"one of {', '.join(map(str, mesh.shape))}.")
    if spec is not None and len(spec) > len(leaf.shape):
        raise JaxnbError(
            f"{room.spec_text(spec)} does not fit an array of shape {list(leaf.shape)}.",
            why=f"it speaks of {_dimensions(len(spec))}, and the array has {len(leaf.shape)}.",
            fix="leave entries out; None splits nothing.",
        )
    try:
        sharding = None if spec is None else NamedSharding(mesh, spec)
        return jax.ShapeDtypeStruct(leaf.shape, dtype, sharding=sharding)
    except ValueError as error:
        what = f"{room.spec_text(spec)} does not fit an array of shape {list(leaf.shape)}."
        raise JaxnbError(what, why=str(error).split("\n")[0], fix="every entry is for one dimension.") from error


def _spec_of(leaf: Any, name: str) -> PartitionSpec | None:
    """The spec of an array or a shape, if it has one."""
    try:
        sharding = leaf.sharding
    except (TypeError, ValueError) as error:  # a shape with a spec alone: JAX wants a mesh with devices for that
        raise Refused(
            f"`{name}` is a shape with a PartitionSpec and no mesh.",
            why="JAX tells its sharding only where jax.set_mesh has set a mesh with devices.",
            fix=f"jaxnb.abstract({name}, spec) spreads it over the simulated mesh.",
        ) from error
    return sharding.spec if isinstance(sharding, NamedSharding) else None


def _axes_of(entry: Any) -> tuple[Any, ...]:
    if entry is None or entry is PartitionSpec.UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def _dimensions(count: int) -> str:
    return f"{count} dimension{'' if count == 1 else 's'}"
