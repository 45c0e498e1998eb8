"""Planning for meshes that are not there: time and memory against devices; the search beside everything tried by hand.

    python benchmarks/mesh.py [--devices 8 64 256 512] [--layers 4]

The program is the gradient of a transformer with causal attention, its weights split over both axes of the mesh and its
tokens over the first. For each number of devices: seconds to trace and lower, to partition and compile in the worker,
to read the levels and the ledger, and of all together; the largest memory that the worker had; the collectives and what
a device sends. The first row starts the worker, a larger mesh a new one.

The search: seconds and ways partitioned, beside trying every set of axes for every name without pruning; whether both
find the same best.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import time
from pathlib import Path

os.environ.setdefault("NPROC", "32")

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

import jaxnb
import jaxnb.numpy as named
from jaxnb.errors import JaxnbError
from jaxnb.named.errors import NamedAxisError
from jaxnb.program.placement.hardware import find_hardware
from jaxnb.reading.worker.workers import end_worker, the_worker
from jaxnb.units import format_bytes

WIDTH, HEADS, TOKENS = 1024, 16, 512
COLUMNS = (8, 12, 7, 8, 7, 9, 12, 9)


def layer(weights, h):
    batch, tokens, width = h.shape
    q, k, v = (jnp.reshape(h @ weights[name], (batch, tokens, HEADS, -1)) for name in ("q", "k", "v"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // HEADS) ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((tokens, tokens), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(h.shape)
    h = h + mixed @ weights["o"]
    return h + jax.nn.gelu(h @ weights["up"]) @ weights["down"]


def loss(layers, tokens):
    h = tokens
    for weights in layers:
        h = layer(weights, h)
    return jnp.mean(h**2)


def inputs(layers, rows, mesh):
    def array(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    shapes = {name: array(WIDTH, WIDTH) for name in "qkvo"}
    shapes |= {"up": array(WIDTH, 4 * WIDTH), "down": array(4 * WIDTH, WIDTH)}
    specs = {name: P("x", "y") for name in ("q", "k", "v", "up")} | {"o": P("y", "x"), "down": P("y", "x")}
    weights = jaxnb.abstract([shapes] * layers, [specs] * layers, mesh)
    return weights, jaxnb.abstract(array(rows, TOKENS, WIDTH), P("x"), mesh)


def largest(pid):
    """The most memory that a process ever had, in bytes; 0 where the system does not tell."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def simulation(counts, layers):
    print(f"simulation of the gradient of {layers} layers")
    heads = ("devices", "mesh", "all", "compile", "read", "worker", "collectives", "sends")
    print(" ".join(f"{head:>{width}}" for head, width in zip(heads, COLUMNS, strict=True)))
    for count in counts:
        first = 1 << ((count.bit_length() - 1) // 2)
        mesh = f"x={first}, y={count // first}"
        args = inputs(layers, max(8, 2 * first), mesh)
        start = time.perf_counter()
        plan = jaxnb.simulate(jax.grad(loss), mesh, hardware="h100")(*args)
        middle = time.perf_counter()
        sent = plan.estimate().sent
        end = time.perf_counter()
        memory = format_bytes(largest(the_worker(count).pid))
        times = [f"{seconds:.1f}s" for seconds in (end - start, plan.seconds, end - middle)]
        row = (count, mesh, *times, memory, len(plan.ledger.items), format_bytes(sent))
        print(" ".join(f"{item:>{width}}" for item, width in zip(row, COLUMNS, strict=True)), flush=True)


def two_layers(x, w1, w2):
    return named.dot(named.tanh(named.dot(x, w1, "i")), w2, "h")


def searching():
    """A two-layer network on a mesh of two axes: pruned, and every set of axes for every name."""
    in_axes, out_axes = (["batch", "i"], ["i", "h"], ["h", "o"]), ["batch", "o"]
    args = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((8, 4096), (4096, 16384), (16384, 4096))]
    hardware = dataclasses.replace(find_hardware("h100"))
    start = time.perf_counter()
    found = jaxnb.search_resources(two_layers, in_axes, out_axes, *args, mesh="x=4, y=2", hardware=hardware)
    middle = time.perf_counter()
    seconds = {}
    subsets = [some for count in range(3) for some in itertools.combinations("xy", count)]
    for chosen in itertools.product(subsets, repeat=4):
        way = dict(zip(("batch", "i", "h", "o"), chosen, strict=True))
        try:
            one = jaxnb.search_resources(
                two_layers, in_axes, out_axes, *args, mesh="x=4, y=2", hardware=hardware, axis_resources=way
            )
        except (NamedAxisError, JaxnbError):
            continue
        for item in one.candidates:
            seconds[str(item)] = item.seconds
    end = time.perf_counter()
    best = min(seconds.values())
    print("\nsearch, two layers on x=4, y=2")
    print(
        f"pruned      {middle - start:6.1f}s  {len(found.candidates) + len(found.refused):>4} ways  best {found.best}"
    )
    print(f"exhaustive  {end - middle:6.1f}s  {len(subsets) ** 4:>4} ways  best of {len(seconds)} possible")
    print(f"the same best: {abs(found.best.seconds - best) <= 0.01 * best}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--devices", type=int, nargs="+", default=[8, 16, 64, 256, 512])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--no-search", action="store_true")
    asked = parser.parse_args()
    simulation(asked.devices, asked.layers)
    if not asked.no_search:
        searching()
    end_worker()
