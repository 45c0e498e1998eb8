"""The meshes that a program speaks of: those of its inputs and results, and those that its equations name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax

from jaxnb._jax import body_jaxprs, open_jaxpr
from jaxnb.errors import JaxnbError
from jaxnb.program import Mesh
from jaxnb.reading.placement.read import read_mesh

__all__ = ["count_devices", "read_meshes"]


def read_meshes(closed_jaxpr: Any, compiled: Any = None) -> tuple[Mesh, ...]:
    """The different meshes of a program, the one of its inputs first; one with devices rather than without.

    Args:
      closed_jaxpr: what was traced.
      compiled: what it became; None if nothing did.

    >>> read_meshes(jax.make_jaxpr(lambda x: x)(1.0))
    ()
    """
    found: dict[tuple[tuple[str, int], ...], Mesh] = {}
    for mesh in _meshes(closed_jaxpr, compiled):
        try:
            read = read_mesh(mesh)
        except JaxnbError:  # of two platforms, or simulated on one device
            continue
        key = tuple((axis.name, axis.size) for axis in read.axes)
        if read.axes and (key not in found or (found[key].abstract and not read.abstract)):
            found[key] = read
    return tuple(found.values())


def count_devices(compiled: Any) -> int:
    """For how many devices a program was compiled, as its inputs and results tell.

    Args:
      compiled: a `jax.stages.Compiled`, or what stands for one.
    """
    return max((sharding.num_devices for sharding in _shardings(compiled)), default=1)


def _meshes(closed_jaxpr: Any, compiled: Any) -> Iterator[Any]:
    for sharding in _shardings(compiled) if compiled is not None else ():
        if isinstance(sharding, jax.sharding.NamedSharding):
            yield sharding.mesh
    jaxpr = open_jaxpr(closed_jaxpr)
    for var in (*jaxpr.invars, *jaxpr.outvars):
        mesh = getattr(getattr(var.aval, "sharding", None), "mesh", None)
        if mesh is not None:
            yield mesh
    waiting, seen = [jaxpr], {id(jaxpr)}
    while waiting:
        for eqn in waiting.pop().eqns:
            yield from _of_params(eqn.params)
            bodies = [body for _, body in body_jaxprs(eqn.params)]
            if hasattr(eqn.params.get("body"), "opaque_jaxpr"):  # of an `xmap`
                bodies.append(open_jaxpr(eqn.params["body"].opaque_jaxpr))
            waiting += [body for body in bodies if id(body) not in seen]
            seen.update(map(id, bodies))


def _of_params(params: Mapping[str, Any]) -> Iterator[Any]:
    for name in ("mesh", "sharding", "dst_sharding", "plan"):
        value = params.get(name)
        mesh = value if isinstance(value, jax.sharding.Mesh | jax.sharding.AbstractMesh) else None
        mesh = getattr(value, "mesh", None) if mesh is None else mesh
        if mesh is not None:
            yield mesh


def _shardings(compiled: Any) -> Iterator[Any]:
    for name in ("input_shardings", "output_shardings"):
        try:
            leaves = jax.tree.leaves(getattr(compiled, name))
        except (ValueError, NotImplementedError):  # not every backend tells
            continue
        yield from (leaf for leaf in leaves if isinstance(leaf, jax.sharding.Sharding))
