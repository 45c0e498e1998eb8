"""The coordination service of a job of several processes, for a process of its own: of JAX it loads jaxlib alone."""

from __future__ import annotations

from typing import Any

from jaxlib._jax import get_distributed_runtime_service

__all__ = ["start_service"]


def start_service(address: str, count: int, heartbeat: int) -> Any:
    """Starts the service in this process; it ends with what is returned.

    Args:
      address: at which it listens, with the port.
      count: how many processes the job has.
      heartbeat: seconds after which a silent process is dead. The others are not ended for that.
    """
    return get_distributed_runtime_service(
        address, count, heartbeat_timeout=heartbeat, shutdown_timeout=2, recoverable=True
    )
