"""The coordination service of a job, in a process of its own: `python -m jaxnb.clusters.coordinator HOST COUNT`.

`jax.distributed.initialize` has process 0 run the service, and whatever happens to that process happens to all others:
XLA ends each of them as soon as it cannot reach the service any more. Here the service outlives any of them, so that
those which are left keep their arrays.

It writes its address as one line on its standard output, and ends by itself when nobody has been connected for a
minute.
"""

from __future__ import annotations

import argparse
import socket
import sys
import time

import psutil

from jaxnb import _jax

__all__ = ["main"]

_LOOKS, _ALONE = 5.0, 60.0
"""Seconds between two looks at who is connected, and after which it ends when nobody is."""


def main(arguments: list[str] | None = None) -> None:
    """Serves until nobody is connected any more."""
    parser = argparse.ArgumentParser(prog="python -m jaxnb.clusters.coordinator")
    parser.add_argument("host", help="the address to listen at")
    parser.add_argument("count", type=int, help="how many processes the job has")
    parser.add_argument("--heartbeat", type=int, default=10, help="seconds after which a silent process is dead")
    given = parser.parse_args(arguments)
    port = _free_port(given.host)
    service = _jax.start_service(f"{given.host}:{port}", given.count, given.heartbeat)
    sys.stdout.write(f"{given.host}:{port}\n")
    sys.stdout.flush()
    own, seen = psutil.Process(), time.monotonic()
    while time.monotonic() - seen < _ALONE:
        time.sleep(_LOOKS)
        if any(one.status == psutil.CONN_ESTABLISHED and one.laddr.port == port for one in own.net_connections("inet")):
            seen = time.monotonic()
    del service


def _free_port(host: str) -> int:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    main()
