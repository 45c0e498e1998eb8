"""The machine that a cell is planned for, where it is not there: that of the session, or one that the cell names."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import jax

from jaxnb import program, reading
from jaxnb.errors import Refused
from jaxnb.options import StageOptions
from jaxnb.reading import SimulatedMesh

if TYPE_CHECKING:
    from jaxnb.staging.session.session import Session

__all__ = ["planning_for", "target_mesh"]


def target_mesh(text: str, known: SimulatedMesh | None = None, axes: Mapping[str, int] | None = None) -> SimulatedMesh:
    """All devices of a target as a mesh: of the axes given, of those that cells have already if they fit, or its sides.

    Args:
      text: the target, as a user writes it.
      known: the mesh for which cells are planned, if there is one.
      axes: names and sizes.

    Raises:
      JaxnbError: if there is no such target, or the axes do not fit it.
    """
    target = program.read_target(text)
    if axes is not None:
        return reading.mesh_of_target(target, axes, known is not None and known.explicit)
    if target.alone:
        return reading.mesh_of_target(target)
    around, there = known, jax.sharding.get_mesh()
    if around is None and not there.empty:
        around = reading.simulated(there)
    if around is not None and around.size == target.devices and around.axes:
        return reading.mesh_of_target(target, dict(around.axes), around.explicit)
    return reading.mesh_of_target(target)


@contextmanager
def planning_for(session: Session, options: StageOptions) -> Generator[StageOptions]:
    """Makes the target that a cell names the machine of its session while the cell is planned.

    Yields:
      The options of the cell; a mesh that `--mesh` names by axes is then that of the target.

    Raises:
      Refused: if `--mesh` names a mesh of devices that are there.
      JaxnbError: as `target_mesh`.
    """
    target = options.target
    if target is None:
        yield options
        return
    axes, spec = None, options.xmap
    if spec is not None and spec.mesh is not None:
        if not isinstance(spec.mesh, str) or "=" not in spec.mesh:
            what = "--mesh names a mesh of devices that are there, and --target a machine that is not."
            raise Refused(what, fix="--mesh x=4, y=4 lays axes on the target.")
        axes = program.read_axes(spec.mesh)
        options = replace(options, xmap=replace(spec, mesh=None))
    before = session.simulated
    session.simulated = target_mesh(target, before, axes)
    try:
        with _no_mesh():
            yield options
    finally:
        session.simulated = before


@contextmanager
def _no_mesh() -> Generator[None]:
    """Takes the mesh of devices that are there away for a while: nothing is laid on it."""
    mesh = jax.sharding.get_mesh()
    if mesh.empty:
        yield
        return
    reading.use_mesh(None)
    try:
        yield
    finally:
        reading.use_mesh(mesh)
