"""Arrays of which this process holds a part only: a job of two processes, each with four devices."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import jax
process, port = int(sys.argv[1]), sys.argv[2]
jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_enable_preemption_service", False)
address = f"127.0.0.1:{port}"
jax.distributed.initialize(address, 2, process, coordinator_bind_address=address, initialization_timeout=60)
import jax.numpy as jnp, numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P
import jaxnb
from jaxnb.findings.sharding import trials
trials.PATIENCE = 200.0  # other tests run beside this one
mesh = jaxnb.make_mesh("x=4, y=2")
mine = np.full((256, 1024), process, np.float32)
x = jax.make_array_from_process_local_data(NamedSharding(mesh, P("x", "y")), mine, (512, 1024))
assert not x.is_fully_addressable
names = {"jnp": jnp, "x": x, "jax": jax, "mesh": mesh}
shown = jaxnb.show_sharding(x, name="x")
run = jaxnb.stage("y = jnp.cumsum(x, 0)\\ns = y[-1, 0]", names)
shardings = run.shardings()
if process == 0:
    print(shown, run.line, run.collectives(), shardings, float(names["s"]), sep="\\n")
    assert shown.svg and shardings.html and run.collectives().html
jax.distributed.shutdown()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a job of several processes needs gloo")
def test_a_job_of_two_processes(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    env = {**os.environ, "JAX_PLATFORMS": "cpu", "NPROC": "32", "XLA_FLAGS": ""}
    both = [
        subprocess.Popen(
            [sys.executable, str(script), str(number), port],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        for number in (0, 1)
    ]
    try:
        told = [process.communicate(timeout=300) for process in both]
    finally:
        for process in both:
            process.kill()
    assert [process.returncode for process in both] == [0, 0], told
    out = told[0][0]
    assert "x float32[512,1024] · P('x', 'y') on x=4, y=2" in out and "4 of 8 devices belong to other processes" in out
    assert "for cumsum, `x` is gathered over x" in out and "(tried: it works)" in " ".join(out.split())
    assert "1 finding" in out and "all-gather" in out and out.rstrip().endswith("256.0")
