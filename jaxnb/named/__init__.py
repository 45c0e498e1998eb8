"""Named axes: functions written for one position, mapped over names, spread over any resources.

This package is the library; `jaxnb.xmap` and its companions, `jaxnb.numpy`, `jaxnb.lax`, `jaxnb.nn` and
`jaxnb.random` hand it on.
"""

from __future__ import annotations

import os

from jax.extend import source_info_util

from jaxnb.named.api import Mapped, xmap
from jaxnb.named.errors import AxisSizeError, AxisSpecError, NamedAxisError, ResourceError
from jaxnb.named.probe import named_shape
from jaxnb.named.resources import FakeMesh, SerialLoop, fake_mesh, serial_loop
from jaxnb.named.shape import NamedShape

__all__ = [
    "AxisSizeError",
    "AxisSpecError",
    "FakeMesh",
    "Mapped",
    "NamedAxisError",
    "NamedShape",
    "ResourceError",
    "SerialLoop",
    "fake_mesh",
    "named_shape",
    "serial_loop",
    "xmap",
]

# The line that made an equation is the user's, not one of this package: in messages, in jaxprs and in HLO.
source_info_util.register_exclusion(os.path.dirname(__file__))
