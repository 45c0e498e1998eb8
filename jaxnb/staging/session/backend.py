"""What must hold before JAX starts a backend (SEMANTICS, rule 12). Nothing here starts one."""

from __future__ import annotations

import os
import re

import jax

from jaxnb._jax import COLLECTIVES_SHARE_THREADS, backend_started
from jaxnb.errors import JaxnbError

_COUNT = re.compile(r"--xla_force_host_platform_device_count=(\d+)")

__all__ = ["backend_started", "forget_virtual_devices", "prepare_backend", "want_devices"]


def prepare_backend() -> None:
    """Sets `NPROC` where a CPU backend with several devices would otherwise deadlock.

    jax 0.10 runs the collectives of its CPU devices on a thread pool as large as the machine has cores; with fewer
    threads than devices they wait for one another, and the process is killed after 40 seconds.
    """
    if not COLLECTIVES_SHARE_THREADS or "NPROC" in os.environ:
        return
    devices = cpu_devices_wanted()
    if devices > 1:
        os.environ["NPROC"] = str(max(32, 4 * devices))


def cpu_devices_wanted() -> int:
    """How many CPU devices the flags and the configuration ask for."""
    flags = _COUNT.search(os.environ.get("XLA_FLAGS", ""))
    by_flag = int(flags.group(1)) if flags else 1
    by_config: int = jax.config.jax_num_cpu_devices  # type: ignore[attr-defined]
    return max(by_flag, by_config or 1)


def forget_virtual_devices() -> None:
    """Takes the number of virtual CPU devices out of XLA's flags, which a process has from the one that started it."""
    flags = os.environ.get("XLA_FLAGS", "")
    if _COUNT.search(flags):
        os.environ["XLA_FLAGS"] = _COUNT.sub("", flags).strip()


def want_devices(count: int) -> None:
    """Makes JAX start with so many virtual CPU devices; nothing is to be done where it has as many already.

    Raises:
      JaxnbError: if JAX has started with fewer, or the count is none.
    """
    if type(count) is not int or count < 1:
        raise JaxnbError(f"{count!r} is no number of devices.", fix="a count from 1: --devices 8")
    if backend_started():
        there = len(jax.local_devices(backend="cpu"))
        if there < count:
            raise JaxnbError(
                f"--devices {count} comes too late: JAX has started, with {there} CPU device{'s' * (there > 1)}.",
                why="the number of devices is fixed when JAX starts, which the first array or jax.devices() does.",
                fix="restart the kernel and begin with this line, or plan in a process of its own: "
                "%jaxnb mesh x=4, y=2 --simulate.",
            )
        return
    forget_virtual_devices()  # JAX takes one of the two, and refuses both
    jax.config.update("jax_num_cpu_devices", count)
    prepare_backend()
