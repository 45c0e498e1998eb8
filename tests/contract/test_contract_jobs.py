"""Jobs of several processes: a service outside of them, joining, leaving, and keys."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from covering import covers


@covers("distributed.global_state", "State.client", "State.process_id", "State.num_processes")
@covers("State.coordinator_address", "_jax.get_distributed_runtime_client", "_jax.get_distributed_runtime_service")
@covers(
    "DistributedRuntimeClient.connect", "DistributedRuntimeClient.shutdown", "DistributedRuntimeClient.key_value_set"
)
@covers("DistributedRuntimeClient.blocking_key_value_get", "DistributedRuntimeClient.key_value_delete")
def test_a_process_joins_a_job_whose_service_is_elsewhere_leaves_it_and_joins_another() -> None:
    script = """
        import socket
        from jaxnb import _jax

        def free():
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                return f"127.0.0.1:{probe.getsockname()[1]}"

        def main():
            services = []
            for turn in range(2):
                address = free()
                services.append(_jax.start_service(address, 1, 10))
                _jax.prepare_for_job()
                _jax.join_job(address, 1, 0)
                import jax
                x = jax.numpy.arange(3.0)
                assert (x.sum() == 3) and jax.process_count() == 1 and jax.process_index() == 0
                keys = _jax.job_keys()
                keys.put("a/b", "one")
                assert keys.get("a/b", 1.0) == "one" and keys.get("a/c", 0.05) is None
                keys.drop("a")
                assert keys.get("a/b", 0.05) is None
                _jax.leave_job()
                assert _jax.job_keys() is None and not _jax.backend_started()
            print("joined twice")

        main()
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and "joined twice" in done.stdout, done.stderr[-2000:]
