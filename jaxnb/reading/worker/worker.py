"""The process that compiles for machines that are not there: `python -m jaxnb.reading.worker.worker PLATFORM`.

It is started with as many virtual devices as it is to have, or in the environment that the compiler of a target needs;
for a target it makes no client of the CPU, which would be a sixth of its memory.
It reads requests from its standard input, and answers on its standard output until that is closed. What XLA prints goes
to the standard error.

    {"do": "compile", "axes": {"x": 16, "y": 16}, "inputs": [...], "results": [...]} and the module
    -> {"seconds": ..., "stats": {...}, "inputs": [...], "results": [...], "modules": 1}
       with the optimised modules and the assignment of buffers
    -> {"error": "XlaRuntimeError", "message": ...}

With a topology it is compiled for its devices by their own compiler; where there is none, the error has
`"stage": "topology"`.

    {..., "topology": {"platform": "tpu", "topology_name": "v5e:4x4", "devices": 16}}

With `"do": "dump"` it is compiled for what its compiler writes down on the way: the answer names the files that end as
those asked for, and has their texts.

    {..., "do": "dump", "topology": {...}, "ends": [".ptx"]} -> {"files": ["module_0001.jit_f.1.ptx"]}
"""

from __future__ import annotations

import math
import os
import queue
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from jaxnb import _jax
from jaxnb.reading.worker.topologies import find_devices
from jaxnb.reading.worker.wire import Closed, receive, send

__all__ = ["main"]

_Request = tuple[dict[str, Any], list[bytes]]


def main() -> None:
    """Answers requests until nobody asks any more."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else prints, the answers stay whole
    requests: queue.Queue[_Request] = queue.Queue()
    # A thread of its own reads, so that the process ends with its parent, also while it compiles.
    threading.Thread(target=_read, args=(sys.stdin.buffer, requests), daemon=True).start()
    import jax

    count = len(jax.devices()) if sys.argv[1:] == ["cpu"] else 1
    send(out, {"devices": count, "jax": jax.__version__})
    while True:
        told, blocks = requests.get()
        devices = None
        try:
            if "topology" in told:
                devices = find_devices(told["topology"], tuple(told["axes"].values()))
            answer, found = (_dump if told["do"] == "dump" else _compile)(told, blocks[0], devices)
        except Exception as error:  # it is the other end that knows whom to tell
            stage = "topology" if "topology" in told and devices is None else "compile"
            answer, found = {"error": type(error).__name__, "message": str(error), "stage": stage}, []
        try:
            send(out, answer, *found)
        except Closed:
            return


def _read(pipe: BinaryIO, requests: queue.Queue[_Request]) -> None:
    while True:
        try:
            requests.put(receive(pipe))
        except Closed:
            os._exit(0)


def _compile(told: dict[str, Any], module: bytes, devices: Sequence[Any] | None) -> tuple[dict[str, Any], list[bytes]]:
    start = time.perf_counter()
    if devices is None:
        executable = _jax.compile_module(module, math.prod(told["axes"].values()), told["inputs"], told["results"])
    else:
        executable = _jax.compile_for_target(module, devices, told["inputs"], told["results"])
    seconds = time.perf_counter() - start
    modules = [item.as_serialized_hlo_module_proto() for item in executable.hlo_modules()]
    memory = executable.get_compiled_memory_stats()
    stats = {name: getattr(memory, name) for name in dir(memory) if name.endswith("_in_bytes")}
    buffers = getattr(memory, "serialized_buffer_assignment_proto", b"") or b""
    inputs, results = _jax.told_specs(executable, told["axes"])
    answer = {"seconds": seconds, "stats": stats, "inputs": inputs, "results": results, "modules": len(modules)}
    return answer, [*modules, buffers]


def _dump(told: dict[str, Any], module: bytes, devices: Sequence[Any] | None) -> tuple[dict[str, Any], list[bytes]]:
    assert devices is not None
    with tempfile.TemporaryDirectory() as folder:
        _jax.compile_for_target(module, devices, told["inputs"], told["results"], folder)
        files = sorted(file for file in Path(folder).iterdir() if file.name.endswith(tuple(told["ends"])))
        return {"files": [file.name for file in files]}, [file.read_bytes() for file in files]


if __name__ == "__main__":
    main()
