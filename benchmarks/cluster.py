"""A cell on a cluster over `%%px` of the same function, in one run; starting; pushing and fetching over plain ZeroMQ.

Goal: at most 10 ms more than `%%px` for a warm cell. Run with `python benchmarks/cluster.py [-n 2] [--devices 2]`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "32")

import numpy as np
import zmq

import jaxnb
from jaxnb.clusters import Cluster

CELL = "s = step(g)"
SETUP = """
mesh = jax.make_mesh((COUNT,), ("x",))
g = jax.device_put(jnp.arange(1024.0), jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x")))
"""
PX = """
import jax, jax.numpy as jnp
_px_mesh = jax.make_mesh((COUNT,), ("x",))
_px_g = jax.device_put(jnp.arange(1024.0), jax.sharding.NamedSharding(_px_mesh, jax.sharding.PartitionSpec("x")))
_px_step = jax.jit(lambda x: jnp.sum(jnp.sin(x) * 2))
"""


def median(call: Callable[[], Any], rounds: int) -> float:
    """Median seconds of a call."""
    seconds = list[float]()
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def cells(cluster: Cluster, names: dict[str, Any], count: int, rounds: int) -> None:
    """A warm cell and the same function by `%%px`, in turns."""
    view: Any = cluster.view()
    exec(f"import jax, jax.numpy as jnp\nCOUNT = {count}\nstep = jax.jit(lambda x: jnp.sum(jnp.sin(x) * 2))", names)
    jaxnb.stage(SETUP, names, cluster=True)
    view.execute(PX.replace("COUNT", str(count)), block=True)
    ours = lambda: jaxnb.stage(CELL, names, cluster=True)  # noqa: E731
    theirs = lambda: view.execute("_px_s = jax.block_until_ready(_px_step(_px_g))", block=True)  # noqa: E731
    for _ in range(10):
        ours()
        theirs()
    pairs = [(median(ours, 1), median(theirs, 1)) for _ in range(rounds)]
    staged, plain = (statistics.median(item) for item in zip(*pairs, strict=True))
    print(f"warm cell: {staged * 1e3:.1f} ms, %%px {plain * 1e3:.1f} ms: {(staged - plain) * 1e3:+.1f} ms (goal +10)")


def values(cluster: Cluster, names: dict[str, Any], count: int) -> None:
    """64 MiB pushed to all processes and as slabs, and fetched, over the same bytes sent once through a ZeroMQ pair."""
    size = 64 << 20
    plain = over_zmq(np.ones(size, np.uint8))
    names["big"] = np.zeros(1)
    pushed = list[float]()
    for turn in range(3):
        names["big"] = np.full(size // 4, turn, np.float32)
        start = time.perf_counter()
        jaxnb.stage("n = big.shape[0]", names, cluster=True)
        pushed.append(time.perf_counter() - start)
    spread = "h = jax.device_put(big, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec('x')))"
    jaxnb.stage(spread, names, cluster=True)
    fetched = median(lambda: jaxnb.fetch(names["h"]), 3)
    times = statistics.median(pushed)
    processes = len(cluster.members)
    print(f"64 MiB through a ZeroMQ pair: {plain:.3f} s")
    print(f"pushed to {processes} processes: {times:.3f} s, {times / plain / processes:.1f} times that for each")
    print(f"fetched from {processes} processes: {fetched:.3f} s, {fetched / plain:.1f} times that")


def over_zmq(data: np.ndarray) -> float:
    """Seconds to send bytes over loopback."""
    context = zmq.Context()
    sender, receiver = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    port = sender.bind_to_random_port("tcp://127.0.0.1")
    receiver.connect(f"tcp://127.0.0.1:{port}")

    def call() -> None:
        thread = threading.Thread(target=lambda: sender.send(data, copy=False))
        thread.start()
        receiver.recv(copy=False)
        thread.join()

    call()
    found = median(call, 5)
    sender.close()
    receiver.close()
    context.term()
    return found


def main() -> None:
    """Prints all figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-n", type=int, default=2, help="processes")
    parser.add_argument("--devices", type=int, default=2, help="virtual CPU devices of each")
    parser.add_argument("--rounds", type=int, default=50)
    given = parser.parse_args()
    start = time.perf_counter()
    cluster = jaxnb.cluster(given.n, given.devices)
    print(f"started: {time.perf_counter() - start:.2f} s, {given.n} processes, {given.devices} devices each")
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        cells(cluster, names, given.n * given.devices, given.rounds)
        values(cluster, names, given.n * given.devices)
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
