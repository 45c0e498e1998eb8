"""`jaxnb.abstract`: shapes where arrays would be, spread over a mesh that need not be there."""

from __future__ import annotations

from typing import Any

import jax

from jaxnb.errors import JaxnbError
from jaxnb.program import read_axes
from jaxnb.reading import SimulatedMesh, spread_over
from jaxnb.staging import simulated_mesh

__all__ = ["abstract"]


def abstract(value: Any, spec: Any = None, mesh: Any = None) -> Any:
    """The same pytree with shapes where the arrays are: what a cell that is simulated takes in. Nothing is allocated.

    Args:
      value: a pytree of arrays or `jax.ShapeDtypeStruct`s, such as `jax.eval_shape` gives. Anything else in it stays.
      spec: a `PartitionSpec` for all of them, or a pytree of them whose leaves stand for whole parts of `value`; None
        leaves the spreading to the compiler.
      mesh: `"x=16, y=16"`, or a mesh of JAX; by default that of `%jaxnb mesh`.

    Raises:
      JaxnbError: if there is no mesh or it has no such axis, or the two pytrees do not go together.

    >>> from jax.sharding import PartitionSpec as P
    >>> import jaxnb
    >>> placed = jaxnb.abstract(jax.ShapeDtypeStruct((8, 4), "float32"), P("x"), "x=4")
    >>> print(jaxnb.show_sharding(placed).what.most)
    32
    """

    simulated = simulated_mesh()
    if isinstance(mesh, str):
        mesh = SimulatedMesh(tuple(read_axes(mesh).items())).mesh
    elif mesh is None:
        mesh = simulated.mesh if simulated is not None else jax.sharding.get_mesh()
    if spec is not None and mesh.empty:
        raise JaxnbError(
            "there is no mesh to spread the arrays over.",
            fix='%jaxnb mesh x=16, y=16 --simulate, or mesh="x=16, y=16".',
        )
    return spread_over(value, spec, mesh)
