"""The devices of a target in the process that has its compiler: they can be compiled for, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

__all__ = ["find_devices"]

_known: dict[str, Sequence[Any]] = {}


def find_devices(told: Mapping[str, Any], shape: Sequence[int]) -> list[Any]:
    """The devices of a topology in the order of a mesh.

    Args:
      told: the platform, what its plugin is asked by, and how many devices are wanted.
      shape: of the mesh; () for one device.

    Raises:
      Exception: the plugin's own, if it knows no such topology.
    """
    from jax.experimental import mesh_utils, topologies

    given = dict(told)
    platform, count = given.pop("platform"), given.pop("devices")
    key = repr(sorted(told.items()))
    if key not in _known:
        _known[key] = topologies.get_topology_desc(platform=platform, **given).devices
    devices = list(_known[key])[:count]
    if math.prod(shape) != len(devices):
        raise ValueError(f"a mesh of {math.prod(shape)} on {len(devices)} devices")
    if platform != "tpu" or len(devices) == 1:
        return devices
    try:  # axes along the sides of the torus, where they can be
        laid: Any = mesh_utils.create_device_mesh(tuple(shape), devices, allow_split_physical_axes=True)
    except (NotImplementedError, ValueError, AssertionError):
        laid = np.array(devices, dtype=object)
    return list(laid.reshape(-1))
