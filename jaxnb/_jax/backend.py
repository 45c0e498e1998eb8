"""Which JAX this is, as far as only its version tells, and whether it has started a backend.

Nothing private is imported here: this must be known before JAX starts, and of a JAX that has changed.
"""

from __future__ import annotations

import sys
from typing import Any

import jax

__all__ = ["COLLECTIVES_SHARE_THREADS", "backend_started"]

COLLECTIVES_SHARE_THREADS = jax.__version_info__ < (0, 11)
"""Whether the collectives of CPU devices wait for one another on a pool of as many threads as the machine has cores."""


def backend_started() -> bool:
    """Whether JAX has started a backend already."""
    # `xla_bridge.backends_are_initialized`: the public functions that could tell start one.
    bridge: Any = sys.modules.get("jax._src.xla_bridge")
    return bridge is not None and bool(bridge.backends_are_initialized())
