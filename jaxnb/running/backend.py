"""What must hold before JAX starts a backend (SEMANTICS, rule 12). Nothing here starts one."""

from __future__ import annotations

import os
import re

import jax

__all__ = ["prepare_backend"]


def prepare_backend() -> None:
    """Sets `NPROC` where a CPU backend with several devices would otherwise deadlock.

    jax 0.10 runs the collectives of its CPU devices on a thread pool as large as the machine has cores; with fewer
    threads than devices they wait for one another, and the process is killed after 40 seconds.
    """
    if not jax.__version__.startswith("0.10.") or "NPROC" in os.environ:
        return
    devices = cpu_devices_wanted()
    if devices > 1:
        os.environ["NPROC"] = str(max(32, 4 * devices))


def cpu_devices_wanted() -> int:
    """How many CPU devices the flags and the configuration ask for."""
    flags = re.search(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    by_flag = int(flags.group(1)) if flags else 1
    by_config: int = jax.config.jax_num_cpu_devices  # type: ignore[attr-defined]
    return max(by_flag, by_config or 1)
