"""A job of several processes: joining one whose service is a process of its own, leaving it, and its keys.

`jax.distributed.initialize` cannot be used for that: in it process 0 runs the service, and its client ends the process
when another one dies while it is destroyed. What stands here is what it does besides.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import jax
from jax._src import distributed
from jax.extend import backend
from jaxlib._jax import get_distributed_runtime_client

from jaxnb._jax.backend import backend_started

__all__ = ["Keys", "job_keys", "join_job", "leave_job", "prepare_for_job"]

_LEAVES = 3.0  # seconds that leaving may take, when the service is gone


def prepare_for_job() -> None:
    """Sets what must be set before the first join of a process."""
    # It takes SIGTERM for a notice of preemption, and the process lives on.
    jax.config.update("jax_enable_preemption_service", False)


def join_job(address: str, count: int, rank: int, heartbeat: int = 10, timeout: int = 60) -> None:
    """Joins a job: from here on `jax.devices()` are those of all its processes, once all have joined.

    Args:
      address: of the service.
      count: how many processes the job has.
      rank: which of them this one is.
      heartbeat: seconds after which a silent process is dead for the service.
      timeout: seconds to wait for the service.

    Raises:
      RuntimeError: if the backend has started already.
      jax.errors.JaxRuntimeError: if the service cannot be reached.
    """
    if backend_started():
        raise RuntimeError("JAX has started in this process: it cannot join others any more.")
    state = distributed.global_state
    client = get_distributed_runtime_client(
        address,
        rank,
        init_timeout=timeout,
        use_compression=True,
        heartbeat_timeout=heartbeat,
        shutdown_timeout=2,
        shutdown_on_destruction=False,  # which would end the process where the service is gone
    )
    client.connect()
    state.process_id, state.num_processes, state.coordinator_address = rank, count, address
    state.client = client


def leave_job() -> None:
    """Leaves the job, and forgets the backend: programs and arrays of before can be used no more. What was read of
    arrays by then stays; the process may join another job."""
    state = distributed.global_state
    client, state.client = state.client, None
    if client is not None:
        leaving = threading.Thread(target=_shut, args=(client,), daemon=True)
        leaving.start()
        leaving.join(_LEAVES)
    state.process_id, state.num_processes, state.coordinator_address = 0, 1, None
    backend.clear_backends()


def _shut(client: Any) -> None:
    with contextlib.suppress(Exception):  # whom it tells may be gone
        client.shutdown()


class Keys:
    """What the processes of a job tell one another through its service."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def put(self, key: str, value: str) -> None:
        """Sets a key, which nobody has set before."""
        self._client.key_value_set(key, value)

    def get(self, key: str, seconds: float) -> str | None:
        """What a key was set to; None if it is not within so many seconds.

        Raises:
          jax.errors.JaxRuntimeError: if the service is gone.
        """
        try:
            return self._client.blocking_key_value_get(key, max(1, int(seconds * 1000)))
        except jax.errors.JaxRuntimeError as error:
            if str(error).startswith(("DEADLINE_EXCEEDED", "NOT_FOUND")):
                return None
            raise

    def drop(self, key: str) -> None:
        """Forgets a key and all below it."""
        self._client.key_value_delete(key)


def job_keys() -> Keys | None:
    """The keys of the job that this process has joined; None if it has joined none."""
    client = distributed.global_state.client
    return Keys(client) if client is not None else None
