"""What a name may be spread over: mesh axes, turns of a loop, or the axes of a simulated mesh."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
from jax.sharding import PartitionSpec

from jaxnb._jax import concrete_mesh
from jaxnb.named.errors import ResourceError, listed, nearest

__all__ = [
    "FakeMesh",
    "Plan",
    "SerialLoop",
    "current_mesh",
    "fake_mesh",
    "loops_in_scope",
    "make_plan",
    "serial_loop",
]


@dataclass(frozen=True)
class SerialLoop:
    """A resource that goes through a name in `length` turns, one after the other, instead of all at once.

    The forward pass holds one turn in memory at a time, and so does the backward pass, which computes each
    turn again.

    >>> SerialLoop(4)
    SerialLoop(length=4)
    """

    length: int

    def __post_init__(self) -> None:
        if isinstance(self.length, bool) or not hasattr(self.length, "__index__") or self.length < 1:
            raise ResourceError(
                f"SerialLoop got the length {self.length!r}.",
                why="a loop makes a whole number of turns, at least one.",
                fix="pass a positive integer.",
            )


@dataclass(frozen=True)
class FakeMesh:
    """A mesh of no devices: axis names and sizes, run by vectorising on one device. See `fake_mesh`."""

    axes: tuple[tuple[Any, int], ...]

    @property
    def shape(self) -> dict[Any, int]:
        """The size of each axis."""
        return dict(self.axes)

    @property
    def axis_names(self) -> tuple[Any, ...]:
        """The axis names in order."""
        return tuple(name for name, _ in self.axes)

    def __enter__(self) -> FakeMesh:
        _fakes.set((*_fakes.get(), self))
        return self

    def __exit__(self, *exc: object) -> None:
        _fakes.set(_fakes.get()[:-1])


_fakes: ContextVar[tuple[FakeMesh, ...]] = ContextVar("fake_meshes", default=())
_loops: ContextVar[tuple[tuple[Any, int], ...]] = ContextVar("serial_loops", default=())


def fake_mesh(**axes: int) -> FakeMesh:
    """A mesh that is simulated on one device: every device of it becomes one entry of a vectorised axis.

    Use it as `mesh=` of `xmap` or in a `with`. Programs see the tiles, the collectives and the errors that a
    real mesh of this shape would give, and the same numbers.

    Args:
      **axes: the size of each mesh axis.

    >>> fake_mesh(x=4, y=2).shape
    {'x': 4, 'y': 2}
    """
    for name, size in axes.items():
        if isinstance(size, bool) or not hasattr(size, "__index__") or size < 1:
            raise ResourceError(
                f"fake_mesh got the size {size!r} for {name!r}.",
                why="an axis has at least one device.",
                fix="pass a positive integer.",
            )
    return FakeMesh(tuple((name, int(size)) for name, size in axes.items()))


@contextmanager
def serial_loop(name: Any, length: int) -> Generator[None]:
    """Makes `name` a resource that stands for `SerialLoop(length)` inside the `with`.

    Args:
      name: the name of the resource, as used in `axis_resources`.
      length: the number of turns.

    >>> with serial_loop("turns", 4):
    ...     dict(loops_in_scope())
    {'turns': 4}
    """
    SerialLoop(length)
    token = _loops.set((*_loops.get(), (name, length)))
    try:
        yield
    finally:
        _loops.reset(token)


def loops_in_scope() -> tuple[tuple[Any, int], ...]:
    """The (name, length) of every enclosing `serial_loop`."""
    return _loops.get()


def current_mesh() -> Any:
    """The mesh of the context: `fake_mesh`, `jax.set_mesh`, or `with mesh:`; None if there is none.

    Inside `jax.shard_map` it is the abstract mesh, whose axis types say which axes are taken already.
    """
    if _fakes.get():
        return _fakes.get()[-1]
    abstract = jax.sharding.get_abstract_mesh()
    if abstract.manual_axes:
        return abstract
    return concrete_mesh() or (None if abstract.empty else abstract)


def free_axes(mesh: Any) -> dict[Any, int]:
    """The axes of a mesh that no enclosing `jax.shard_map` has taken, with their sizes."""
    taken = getattr(mesh, "manual_axes", ())
    return {name: size for name, size in mesh.shape.items() if name not in taken}


@dataclass(frozen=True)
class Plan:
    """What becomes of each name: the mesh axes it is spread over, and the turns of its loop.

    Args:
      mesh: the mesh, real, abstract or fake; None without mesh axes.
      spread: (name, mesh axes from the most significant) for the names that have any.
      loops: (name, number of turns) for the names that have a loop.
      lowering: `manual` writes collectives out, `spmd` leaves them to XLA's partitioner.
    """

    mesh: Any = None
    spread: tuple[tuple[Any, tuple[Any, ...]], ...] = ()
    loops: tuple[tuple[Any, int], ...] = ()
    lowering: str = "manual"

    def __str__(self) -> str:
        """The resources as the header of a cell writes them: `b=x, o=(x, y), rows=loop(4)`."""
        spread = [(name, ", ".join(map(str, axes)), len(axes)) for name, axes in self.spread]
        told = [f"{name}=({axes})" if count > 1 else f"{name}={axes}" for name, axes, count in spread]
        return ", ".join([*told, *(f"{name}=loop({turns})" for name, turns in self.loops)]) or "no resources"

    def mesh_axes(self, name: Any) -> tuple[Any, ...]:
        """The mesh axes of a name."""
        return dict(self.spread).get(name, ())

    def partition(self, axes: Sequence[tuple[int, Any]], ndim: int) -> PartitionSpec:
        """How a value with these named dimensions lies on the mesh."""
        entries: list[Any] = [None] * ndim
        for position, name in axes:
            entries[position] = self.mesh_axes(name) or None
        return PartitionSpec(*entries)

    def turns(self, name: Any) -> int:
        """The turns of a name's loop, 1 without one."""
        return dict(self.loops).get(name, 1)


def make_plan(
    resources: Mapping[Any, Any], sizes: Mapping[Any, int], mesh: Any, lowering: str, loops: Mapping[Any, int]
) -> Plan:
    """Reads `axis_resources`.

    Args:
      resources: for each name one resource or several: mesh axis names, `SerialLoop`s, names of
        `serial_loop`s.
      sizes: the size of every name of the map.
      mesh: the mesh that mesh axes belong to, or None.
      lowering: `manual` or `spmd`.
      loops: the lengths of the `serial_loop`s in scope.

    Raises:
      ResourceError: a name or a resource that does not exist, a resource twice, or a size that it does not
        divide.
    """
    known_axes: dict[Any, int] = free_axes(mesh) if mesh is not None else {}
    spread: list[tuple[Any, tuple[Any, ...]]] = []
    turns: list[tuple[Any, int]] = []
    for name, given in resources.items():
        if name not in sizes:
            raise ResourceError(
                f"axis_resources gives a resource to {name!r}, which is no name of this map.",
                why="only names in in_axes or axis_sizes can be spread.",
                fix=nearest(name, sizes),
            )
        entries: tuple[Any, ...] = tuple(given) if isinstance(given, (tuple, list)) else (given,)
        axes: list[Any] = []
        length = 1
        for entry in entries:
            if isinstance(entry, SerialLoop):
                length *= entry.length
            elif entry in loops:
                length *= loops[entry]
            elif entry in known_axes:
                axes.append(entry)
            else:
                have = [*known_axes, *loops]
                raise ResourceError(
                    f"axis_resources[{name!r}] uses {entry!r}, which is no resource here.",
                    why="the mesh has the axes " + listed(known_axes) + "."
                    if mesh is not None
                    else "there is no mesh: none was passed, and none is set.",
                    fix=nearest(entry, have)
                    if have
                    else "pass mesh=..., or run inside jax.set_mesh(...) or jaxnb.fake_mesh(...).",
                )
        twice = [entry for i, entry in enumerate(entries) if entry in entries[:i] and not isinstance(entry, SerialLoop)]
        if twice:
            raise ResourceError(
                f"axis_resources[{name!r}] uses {twice[0]!r} twice.",
                why="a name is cut once along each resource.",
                fix=f"leave out the second {twice[0]!r}.",
            )
        parts = prod(known_axes[axis] for axis in axes) * length
        if sizes[name] % parts:
            raise ResourceError(
                f"The name {name!r} has size {sizes[name]}, and axis_resources[{name!r}] cuts it into {parts} parts.",
                why=f"{sizes[name]} is not divisible by {parts}.",
                fix="change the size, or spread the name over fewer resources.",
            )
        if axes:
            spread.append((name, tuple(axes)))
        if length > 1:
            turns.append((name, length))
    return Plan(mesh if spread else None, tuple(spread), tuple(turns), lowering if spread else "manual")
