"""Placements, ranks 0 to 6, on eight virtual devices and on meshes that are not there; used by several tests."""

from __future__ import annotations

import random
from typing import Any

import jax
import numpy as np
from jax._src.lib import xla_client  # pyright: ignore[reportPrivateImportUsage]
from jax._src.sharding_impls import GSPMDSharding  # what the compiler gives; not public
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding

from jaxnb.program.placement.data import Device, Mesh as MeshData, Placement
from jaxnb.reading.placement.read import read_mesh, read_placement

__all__ = ["MESHES", "NAMED", "mesh_of", "sample_placements"]


def mesh_of(**axes: int) -> Mesh:
    """A mesh of the first devices, in their order, with auto axes."""
    count = int(np.prod(list(axes.values())))
    return Mesh(np.array(jax.devices("cpu")[:count]).reshape(tuple(axes.values())), tuple(axes))


def abstract(**axes: int) -> AbstractMesh:
    return AbstractMesh(tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def _mixed(*types: AxisType) -> Mesh:
    return Mesh(np.array(jax.devices("cpu")[:8]).reshape(4, 2), ("x", "y"), axis_types=types)


def _named() -> dict[str, tuple[NamedSharding, tuple[int, ...], str]]:
    line, flat, cube = mesh_of(d=8), mesh_of(x=4, y=2), mesh_of(x=2, y=2, z=2)
    explicit = _mixed(AxisType.Explicit, AxisType.Explicit)
    shuffled = list(jax.devices("cpu")[:8])
    random.Random(1).shuffle(shuffled)
    return {
        "0-replicated": (NamedSharding(flat, P()), (), "float32"),
        "1-rows": (NamedSharding(line, P("d")), (64,), "float32"),
        "1-copies": (NamedSharding(flat, P("x")), (8,), "int8"),
        "1-replicated": (NamedSharding(line, P()), (10,), "float64"),
        "1-both-axes": (NamedSharding(flat, P(("y", "x"))), (16,), "bfloat16"),
        "1-uneven": (NamedSharding(flat, P("x")), (6,), "float32"),
        "1-uneven-last": (NamedSharding(line, P("d")), (30,), "float32"),
        "2-rows": (NamedSharding(flat, P("x", None)), (8, 4), "float32"),
        "2-columns": (NamedSharding(flat, P(None, "y")), (64, 128), "float32"),
        "2-both": (NamedSharding(flat, P("x", "y")), (8, 16), "float32"),
        "2-turned": (NamedSharding(flat, P("y", "x")), (1024, 4096), "bfloat16"),
        "2-one-dimension": (NamedSharding(flat, P(None, ("x", "y"))), (8, 64), "float32"),
        "2-replicated": (NamedSharding(flat, P(None, None)), (512, 512), "float32"),
        "2-shuffled": (NamedSharding(Mesh(np.array(shuffled).reshape(4, 2), ("x", "y")), P("x", "y")), (8, 8), "int32"),
        "2-explicit": (NamedSharding(explicit, P("x", "y")), (16, 16), "float32"),
        "2-pending": (NamedSharding(explicit, P("x", None, unreduced=frozenset({"y"}))), (16, 16), "float32"),
        "2-reduced": (NamedSharding(explicit, P("x", None, reduced=frozenset({"y"}))), (16, 16), "float32"),
        "2-manual": (NamedSharding(_mixed(AxisType.Auto, AxisType.Manual), P("x")), (16, 16), "float32"),
        "2-free": (NamedSharding(flat, P("x", P.UNCONSTRAINED)), (16, 16), "float32"),
        "2-host": (NamedSharding(flat, P("x"), memory_kind="pinned_host"), (16, 16), "float32"),
        "2-unpinned": (NamedSharding(flat, P(None, "y"), memory_kind="unpinned_host"), (16, 16), "float32"),
        "2-uneven": (NamedSharding(flat, P("x", "y")), (10, 5), "float32"),
        "2-empty": (NamedSharding(flat, P("x")), (0, 3), "float32"),
        "2-size-one": (NamedSharding(mesh_of(x=1, y=8), P("x", "y")), (4, 16), "float32"),
        "2-abstract": (NamedSharding(abstract(data=16, model=16), P("data", "model")), (8192, 8192), "bfloat16"),
        "3-all": (NamedSharding(cube, P("x", "y", "z")), (8, 16, 4), "float32"),
        "3-first": (NamedSharding(flat, P("x")), (8, 3, 5), "float32"),
        "4-images": (NamedSharding(line, P("d")), (32, 28, 28, 3), "float32"),
        "4-attention": (NamedSharding(cube, P("x", "y", None, "z")), (8, 16, 128, 64), "bfloat16"),
        "5-middle": (NamedSharding(cube, P(None, "x", None, "z")), (2, 4, 3, 8, 5), "float32"),
        "6-three": (NamedSharding(cube, P("x", None, "y", None, None, "z")), (2, 3, 4, 3, 2, 6), "float32"),
    }


NAMED: dict[str, Any] = _named()
"""Shardings with the shape and dtype that they are for."""


def sample_placements() -> dict[str, Placement]:
    """Every sample as data, by the name of its golden files."""
    found = {name: read_placement(sharding, shape, dtype) for name, (sharding, shape, dtype) in NAMED.items()}
    # What XLA itself says: tiles of devices in an order of its own, without a mesh.
    tiles = xla_client.HloSharding.iota_tile((2, 4), reshape_dims=(4, 2), transpose_perm=(1, 0), subgroup_types=[])
    found["2-tiles"] = read_placement(GSPMDSharding(jax.devices("cpu")[:8], tiles), (8, 8), "float32")
    found["2-single"] = read_placement(SingleDeviceSharding(jax.devices("cpu")[3]), (3, 4), "float32")
    return found


def _two_processes() -> MeshData:
    devices = tuple(Device(number, number // 4, "tpu", "TPU v4", number < 4) for number in range(8))
    return MeshData(read_mesh(mesh_of(x=4, y=2)).axes, devices)


MESHES: dict[str, MeshData] = {
    "mesh-0": MeshData((), (Device(0),)),
    "mesh-1": read_mesh(mesh_of(d=8)),
    "mesh-2": read_mesh(_mixed(AxisType.Explicit, AxisType.Auto)),
    "mesh-3": read_mesh(mesh_of(x=2, y=2, z=2)),
    "mesh-4": read_mesh(mesh_of(a=2, b=1, c=2, d=2)),
    "mesh-processes": _two_processes(),
    "mesh-abstract": read_mesh(abstract(x=32, y=16)),
}
