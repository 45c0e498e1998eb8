"""`%%xmap ... --resources auto`: the search over ways to lay the names of a cell on a mesh."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxnb.errors import Refused
from jaxnb.named import MapSpec
from jaxnb.options import StageOptions
from jaxnb.planning.assignments import Argument
from jaxnb.planning.search import run_search
from jaxnb.planning.simulation import check_options
from jaxnb.program import Plan, Resources, Search, find_hardware, read_axes
from jaxnb.reading import SimulatedMesh, check_compiler, mesh_of_target
from jaxnb.staging import leaf_spec, mapped_leaves, mesh_of, sizes_of, value_of

__all__ = ["search_cell"]

_HARDWARE = "h100"


def search_cell(
    spec: MapSpec,
    namespace: Mapping[str, Any],
    simulated: SimulatedMesh | None,
    options: StageOptions,
    evaluate: Callable[[Resources, SimulatedMesh], Plan],
    progress: Callable[[str], None],
) -> tuple[Search, SimulatedMesh, Any]:
    """Tries all ways to lay the names of a mapped cell on its mesh; for a target its compiler compiles the best few.

    Args:
      spec: of the cell.
      namespace: the names that it reads.
      simulated: the mesh that is simulated, if one is.
      options: of the cell.
      evaluate: partitions the cell for some resources.
      progress: called with what is going on.

    Returns:
      What was found, for which mesh, and the mesh of JAX if the cell can run on it: its devices are there, and all
      inputs are arrays.

    Raises:
      Refused: if there is no mesh, an input does not fit its term, or an option wants a cell to run that cannot.
      JaxnbError: if no way is possible.
    """
    mesh, concrete = _mesh_of(spec, namespace, simulated)
    every, _ = mapped_leaves(spec, [value_of(spec, root, namespace) for root in spec.roots], shapes=True)
    if any(isinstance(leaf.value, jax.ShapeDtypeStruct) for leaf in every):
        concrete = None
    if concrete is None:
        check_options(options, mesh)
    leaves = [leaf for leaf in every if leaf.term is not None]
    specs = [leaf_spec(spec, leaf, np.ndim(leaf.value)) for leaf in leaves]
    arguments = [
        Argument(tuple(name for _, name in one.names), _nbytes(leaf.value))
        for one, leaf in zip(specs, leaves, strict=True)
    ]
    results = [Argument(tuple(name for name in term.names if name is not None)) for term in spec.outputs]
    hardware = find_hardware(spec.hardware or mesh.device or _HARDWARE)
    plainly = mesh.without_target()
    if mesh.target is not None:
        check_compiler(mesh.target.platform)
    found = run_search(
        sizes_of(spec, leaves),
        dict(mesh.axes),
        [*arguments, *results],
        lambda resources: evaluate(resources, plainly).on(hardware),
        hardware,
        progress=progress,
        compile_for=None if mesh.target is None else lambda resources: evaluate(resources, mesh).on(hardware),
    )
    if not found.candidates:
        _ = found.best  # which says why
    return found, mesh, concrete


def _mesh_of(spec: MapSpec, namespace: Mapping[str, Any], simulated: SimulatedMesh | None) -> tuple[SimulatedMesh, Any]:
    """The mesh to be searched, and the same of JAX if its devices are there."""
    if isinstance(spec.mesh, str) and "=" in spec.mesh:
        sizes = read_axes(spec.mesh)
        if simulated is not None and simulated.target is not None:
            return mesh_of_target(simulated.target, sizes, simulated.explicit), None
        there = simulated is None and math.prod(sizes.values()) <= len(jax.devices())
        return SimulatedMesh(tuple(sizes.items())), mesh_of(spec, namespace) if there else None
    if spec.mesh is None and simulated is not None:
        return simulated, None
    mesh = mesh_of(spec, namespace)
    if not isinstance(mesh, Mesh | jax.sharding.AbstractMesh):
        raise Refused(
            "--resources auto wants a mesh.",
            why="it searches the axes of one.",
            fix="--mesh x=4, y=2, or %jaxnb mesh x=4, y=2 above; the devices need not be there.",
        )
    axes = tuple((str(name), size) for name, size in mesh.shape.items())
    return SimulatedMesh(axes), mesh if isinstance(mesh, Mesh) else None


def _nbytes(value: Any) -> int:
    if isinstance(value, jax.Array | jax.ShapeDtypeStruct):  # those of random keys have no dtype of NumPy
        return math.prod(value.shape) * value.dtype.itemsize
    return math.prod(np.shape(value)) * np.dtype(jax.dtypes.canonicalize_dtype(jax.numpy.result_type(value))).itemsize
