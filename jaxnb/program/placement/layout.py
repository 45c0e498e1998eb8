"""Where everything of a program lives: its meshes, how its values lie on them, and what is sent between devices."""

from __future__ import annotations

from dataclasses import dataclass

from jaxnb.program.placement.data import Mesh, Placement
from jaxnb.program.placement.ledger import Collective

__all__ = ["ROLES", "Layout", "Placed"]

ROLES = ("input", "result", "value")


@dataclass(frozen=True, slots=True)
class Placed:
    """A value and where it lives.

    Attributes:
      value: its index in the level "jaxpr".
      role: one of `ROLES`.
      placement: how it lies on devices.
    """

    value: int
    role: str
    placement: Placement


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything of a program lives; it is empty for a program of one device.

    Attributes:
      meshes: that it speaks of, the one of its inputs first.
      placed: its inputs, its results, and those values in between of which it is known.
      collectives: what its devices send one another; None if it was not compiled.
    """

    meshes: tuple[Mesh, ...] = ()
    placed: tuple[Placed, ...] = ()
    collectives: tuple[Collective, ...] | None = None

    def __bool__(self) -> bool:
        return bool(self.meshes or self.placed or self.collectives)
