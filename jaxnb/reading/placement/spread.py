"""A compiled program of several devices: its instructions beside its equations, and how its values lie.

The levels of a `Program` are linked by way of StableHLO, for which it is lowered anew. Here the names of the
instructions are enough, since they hold the numbers of the equations: this is quick enough for every run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax

from jaxnb._jax import open_jaxpr
from jaxnb.errors import JaxnbError
from jaxnb.program import Ledger, Level, Mesh, Op, Place, PlacedOp, Placement, Program, read_ledger
from jaxnb.reading.cost.hlo import with_hlo_costs
from jaxnb.reading.hlo.decode import read_modules
from jaxnb.reading.hlo.read import read_hlo
from jaxnb.reading.jaxpr.links import carry_down, link_straight
from jaxnb.reading.placement.meshes import count_devices, read_meshes
from jaxnb.reading.placement.read import read_placement

__all__ = ["Spread", "placed", "read_spread", "sides"]


@dataclass
class Spread:
    """A compiled program of several devices.

    Attributes:
      closed_jaxpr: what was compiled.
      program: its levels "jaxpr" and "hlo", linked.
      meshes: of which it speaks.
      inputs: how each input lies; None for one that the program does not take, or of which it is not known.
      results: likewise.
      devices: how many there are.
    """

    closed_jaxpr: Any
    program: Program
    meshes: tuple[Mesh, ...]
    inputs: Sequence[Placement | None]
    results: Sequence[Placement | None]
    devices: int

    @property
    def mesh(self) -> Mesh | None:
        """The mesh that matters most."""
        return self.meshes[0] if self.meshes else None

    @cached_property
    def ledger(self) -> Ledger:
        """What its devices send one another."""
        return read_ledger(self.program, self.meshes)

    @property
    def jaxpr(self) -> Level:
        """The equations."""
        return self.program.level("jaxpr")

    @property
    def hlo(self) -> Level:
        """The instructions."""
        return self.program.level("hlo")

    @cached_property
    def instructions(self) -> Mapping[Place, Sequence[PlacedOp]]:
        """What became of each equation, as far as the links are exact."""
        found: dict[Place, list[PlacedOp]] = {}
        for op in self.program.ops("hlo"):
            for link in op.links:
                if link.upper == "jaxpr" and link.exact:
                    found.setdefault(link.upper_op, []).append(op)
        return found

    def op(self, place: Place) -> Op:
        """An equation, as it stands in the level "jaxpr"."""
        return self.jaxpr.computations[place[0]].ops[place[1]]


def read_spread(closed_jaxpr: Any, level: Level, compiled: Any, source: str = "") -> Spread | None:
    """Reads a program; None if it is one of a single device, or cannot be read.

    Args:
      closed_jaxpr: what was compiled, with its equations numbered.
      level: "jaxpr", read of it.
      compiled: a `jax.stages.Compiled`; None if nothing was.
      source: of the cell.
    """
    if compiled is None or (devices := count_devices(compiled)) == 1:
        return None
    modules = read_modules(compiled)
    if not modules:
        return None
    named = read_hlo(modules[0])
    links = link_straight(closed_jaxpr, level, named)
    hlo = with_hlo_costs(carry_down(level, named.level, links), modules[0])
    jaxpr = open_jaxpr(closed_jaxpr)
    inputs = sides(compiled, "input_shardings", [var.aval for var in jaxpr.invars])
    results = sides(compiled, "output_shardings", [var.aval for var in jaxpr.outvars])
    program = Program(source, (level, hlo), links)
    return Spread(closed_jaxpr, program, read_meshes(closed_jaxpr, compiled), inputs, results, devices)


def placed(sharding: Any, aval: Any) -> Placement | None:
    """How a value lies under a sharding; None where that cannot be told."""
    shape, dtype = getattr(aval, "shape", None), getattr(aval, "dtype", None)
    if sharding is None or shape is None or not all(isinstance(size, int) for size in shape):
        return None
    try:
        return read_placement(sharding, shape, dtype)
    except JaxnbError:
        return None


def sides(compiled: Any, name: str, avals: Sequence[Any]) -> list[Placement | None]:
    """How the inputs or the results of a compiled program lie; None for those of which it is not known.

    Args:
      compiled: a `jax.stages.Compiled`.
      name: "input_shardings" or "output_shardings".
      avals: of the inputs or results, with constants in front.
    """
    try:
        tree = getattr(compiled, name)
    except (ValueError, NotImplementedError):  # not every backend tells
        return [None] * len(avals)
    leaves = jax.tree.leaves(tree, is_leaf=lambda leaf: leaf is None)
    first = len(avals) - len(leaves)  # constants stand before the arguments
    if first < 0:
        return [None] * len(avals)
    return [None] * first + [placed(leaf, aval) for leaf, aval in zip(leaves, avals[first:], strict=True)]
