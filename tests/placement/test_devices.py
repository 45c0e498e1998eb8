"""`--devices N`: virtual devices for a session in which JAX has not started, and a clear word where it has."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import jax
import pytest

from jaxnb.api import stage
from jaxnb.errors import JaxnbError
from jaxnb.staging.session.backend import want_devices

SESSION = """
from IPython.core.interactiveshell import InteractiveShell
ip = InteractiveShell.instance()
def run(cell):
    result = ip.run_cell(cell)
    assert result.success, cell
run("%load_ext jaxnb")
"""


def session(*cells: str, flags: str = "") -> str:
    """What a fresh session prints that runs these cells, with these flags of XLA."""
    code = SESSION + "\n".join(f"run({cell!r})" for cell in cells)
    env = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "NPROC")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**env, "XLA_FLAGS": flags}, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)


@pytest.mark.parametrize("flags", ["", "--xla_force_host_platform_device_count=2"])
def test_a_mesh_of_devices_that_are_made_now(flags: str) -> None:
    out = session(
        "%jaxnb mesh x=4, y=2 --devices 8",
        "import jax, jax.numpy as jnp\nfrom jax.sharding import PartitionSpec as P",
        "x = jax.device_put(jnp.ones((8, 8)), P('x', 'y'))",
        "%%jit\ny = jax.lax.with_sharding_constraint(x @ x, P())\ntotal = float(y.sum())",
        "print(len(jax.devices()), total)",
        flags=flags,
    )
    assert "mesh x=4, y=2" in out and "8 512.0" in out


def test_the_option_of_a_cell() -> None:
    out = session("import jax, jax.numpy as jnp", "%%jit --devices 4\ny = jnp.arange(3)", "print(len(jax.devices()))")
    assert out.strip().endswith("4")


def test_what_is_left_over_is_said() -> None:
    assert "2 of 6 devices are not in it" in session("%jaxnb mesh x=4 --devices 6")


def test_it_comes_too_late() -> None:
    """The message says how many there are, why, and that a worker is the way out."""
    there = len(jax.devices("cpu"))
    with pytest.raises(JaxnbError) as raised:
        want_devices(there + 1)
    text = str(raised.value)
    assert f"--devices {there + 1} comes too late" in text and f"with {there} CPU device" in text
    assert "restart the kernel" in text and "--simulate" in text
    namespace: dict[str, Any] = {}
    with pytest.raises(JaxnbError, match="comes too late"):
        stage("y = 1", namespace, devices=there + 1)
    assert namespace == {}


def test_as_many_as_there_are_need_nothing() -> None:
    want_devices(len(jax.devices("cpu")))
    want_devices(1)


@pytest.mark.parametrize("count", [0, -1, True, 2.0])
def test_what_is_no_number_of_devices(count: Any) -> None:
    with pytest.raises(JaxnbError, match="no number of devices"):
        want_devices(count)
