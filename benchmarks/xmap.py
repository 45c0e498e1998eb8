"""xmap beside hand-written shard_map and vmap, in pairs in one run.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 python benchmarks/xmap.py [--repeat 30] [--only ring]

Each row is one program written twice. Columns: median time of a call, shortest time of tracing and lowering, median
time of compiling, as xmap / by hand = ratio; dots and collectives in the optimised HLO; memory for temporaries. The two
are staged and called in turns, so that both see the same machine. Tracing is Python's and disturbed by whatever else
runs; its shortest time of many is what it takes.
"""

from __future__ import annotations

import argparse
import functools
import gc
import os
import re
import statistics
import time

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("NPROC", "32")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

import jaxnb.lax
from jaxnb import SerialLoop, xmap

OPS = ("dot", "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")


def on(mesh, array, *spec):
    return jax.device_put(array, NamedSharding(mesh, P(*spec)))


def manual(mesh, fun, in_specs, out_specs):
    return jax.shard_map(fun, mesh=mesh, in_specs=in_specs, out_specs=out_specs)


def contraction(mesh, n, rows):
    """Rows of products a device, each contracted over a spread dimension: a matmul and a psum."""
    k = 8 * rows
    x = on(mesh, jnp.ones((k, n, n // 8), jnp.float32), "d")
    y = on(mesh, jnp.ones((k, n // 8, n), jnp.float32), "d")

    def named(a, b):
        return jaxnb.lax.pdot(a, b, "k", ((1,), (0,)))

    mapped = xmap(named, (["k", None, None],) * 2, [None, None], axis_resources={"k": "d"}, mesh=mesh)

    def by_hand(a, b):
        return lax.psum(lax.dot_general(a, b, (((0, 2), (0, 1)), ((), ()))), "d")

    return mapped, manual(mesh, by_hand, P("d"), P()), (x, y)


def one_device_matmul(mesh, n):
    """A named contraction without a mesh, beside vmap and matmul."""
    del mesh
    mapped = xmap(lambda x, y: jaxnb.lax.pdot(x, y, "k"), (["i", "k"], ["k", "j"]), ["i", "j"])
    x = jnp.ones((n, n), jnp.float32)

    def by_hand(x, y):
        return jax.vmap(lambda row: jax.vmap(lambda col: row @ col, 1)(y))(x)

    return mapped, by_hand, (x, x)


def ring(mesh, n):
    """Moving on by one around all devices."""
    turn = [(k, (k + 1) % 8) for k in range(8)]
    mapped = xmap(
        lambda x: x + lax.ppermute(x, "i", turn),
        ["i", None],
        ["i", None],
        axis_resources={"i": "d"},
        mesh=mesh,
    )
    by_hand = manual(mesh, lambda x: x + lax.ppermute(x, "d", turn), P("d"), P("d"))
    return mapped, by_hand, (on(mesh, jnp.ones((8, n), jnp.float32), "d"),)


def tiny(mesh):
    """Nothing but the cost of a call."""
    mapped = xmap(lambda x: x + 1, ["i"], ["i"], axis_resources={"i": "d"}, mesh=mesh)
    return mapped, manual(mesh, lambda x: x + 1, P("d"), P("d")), (on(mesh, jnp.ones(8), "d"),)


def data_parallel(mesh, batch, width):
    """A training step of two layers; the batch is spread."""
    params = {"a": on(mesh, jnp.ones((width, width), jnp.float32) * 0.01)}
    params["b"] = params["a"]
    x = on(mesh, jnp.ones((batch, width), jnp.float32), "d")

    def layers(p, row):
        return jnp.tanh(row @ p["a"]) @ p["b"]

    loss_at = xmap(
        lambda p, row: lax.psum(jnp.sum(layers(p, row) ** 2), "b"),
        ({}, ["b", None]),
        [],
        axis_resources={"b": "d"},
        mesh=mesh,
    )

    def step(loss):
        def run(p, x):
            return jax.tree.map(lambda w, g: w - 1e-4 * g, p, jax.grad(loss)(p, x))

        return run

    by_hand = manual(mesh, lambda p, rows: lax.psum(jnp.sum(layers(p, rows) ** 2), "d"), (P(), P("d")), P())
    return step(loss_at), step(by_hand), (params, x)


def tensor_parallel(mesh, batch, width):
    """A training step of two layers; the hidden dimension is spread."""
    params = {
        "a": on(mesh, jnp.ones((width, width), jnp.float32) * 0.01, None, "d"),
        "b": on(mesh, jnp.ones((width, width), jnp.float32) * 0.01, "d"),
    }
    x = on(mesh, jnp.ones((batch, width), jnp.float32))

    def named(a, b, x):
        return jnp.sum(jaxnb.lax.pdot(jnp.tanh(x @ a), b, "h") ** 2)

    mapped = xmap(named, ([None, "h"], ["h", None], {}), [], axis_resources={"h": "d"}, mesh=mesh)

    def rows(a, b, x):
        return jnp.sum(lax.psum(jnp.tanh(x @ a) @ b, "d") ** 2)

    by_hand = manual(mesh, rows, (P(None, "d"), P("d"), P()), P())

    def step(loss):
        def run(p, x):
            grads = jax.grad(lambda p: loss(p["a"], p["b"], x))(p)
            return jax.tree.map(lambda w, g: w - 1e-4 * g, p, grads)

        return run

    return step(mapped), step(by_hand), (params, x)


def serial_loop(mesh, batch, width, turns):
    """The gradient of a loss over a batch, turn by turn, beside a scan over a rematerialised body."""
    del mesh
    x, w = jnp.ones((batch, width), jnp.float32), jnp.ones((width, width), jnp.float32) * 0.01

    def at(row, w):
        return jnp.sum(jnp.tanh(jnp.tanh(row @ w) @ w))

    mapped = xmap(at, (["b", None], {}), ["b"], axis_resources={"b": SerialLoop(turns)})

    def by_hand(x, w):
        body = jax.checkpoint(lambda w, rows: jax.vmap(at, (0, None))(rows, w), prevent_cse=False)
        return lax.scan(lambda _, rows: (None, body(w, rows)), None, x.reshape(turns, -1, width))[1].reshape(-1)

    return (
        jax.grad(lambda w, x: jnp.sum(mapped(x, w))),
        jax.grad(lambda w, x: jnp.sum(by_hand(x, w))),
        (w, x),
    )


def programs(mesh):
    yield "call of x + 1", tiny(mesh)
    yield "matmul and psum, 1 a device", contraction(mesh, 512, 1)
    yield "matmul and psum, 4 a device", contraction(mesh, 512, 4)
    yield "named contraction, 512", one_device_matmul(mesh, 512)
    yield "ring, 1 MiB a device", ring(mesh, 1 << 18)
    yield "data-parallel step", data_parallel(mesh, 1024, 512)
    yield "tensor-parallel step", tensor_parallel(mesh, 512, 1024)
    yield "serial loop of 16, gradient", serial_loop(mesh, 4096, 256, 16)


def staged(funs, args, times):
    """For each function (shortest ms to trace and lower, median ms to compile, the executable), staged in turns."""
    lowering, compiling, compiled = [[] for _ in funs], [[] for _ in funs], [None for _ in funs]
    for turn in range(times):
        for k, fun in enumerate(funs):
            jax.clear_caches()
            gc.collect()
            start = time.perf_counter()
            lowered = jax.jit(functools.partial(fun)).lower(*args)
            middle = time.perf_counter()
            lowering[k].append(middle - start)
            if turn < 3:
                compiled[k] = lowered.compile()
                compiling[k].append(time.perf_counter() - middle)
    return [
        (1e3 * min(a), 1e3 * statistics.median(b), c) for a, b, c in zip(lowering, compiling, compiled, strict=True)
    ]


def ops(text):
    found = {}
    for op in OPS:
        count = len(re.findall(rf" {op}(?:-start)?\(", text))
        if count:
            found[op] = count
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=30)
    parser.add_argument("--stagings", type=int, default=20)
    parser.add_argument("--only", default="", help="programs whose title has this text")
    options = parser.parse_args()
    repeat = options.repeat
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:8]), ("d",))
    print(f"jax {jax.__version__}, {jax.devices()[0].platform}")
    for title, (mapped, by_hand, args) in programs(mesh):
        if options.only not in title:
            continue
        pair = staged((mapped, by_hand), args, options.stagings)
        calls = [jax.jit(mapped), jax.jit(by_hand)]
        results = [jax.block_until_ready(call(*args)) for call in calls]
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-4), *results)
        times = [[], []]
        for _ in range(repeat):
            for call, spent in zip(calls, times, strict=True):
                start = time.perf_counter()
                jax.block_until_ready(call(*args))
                spent.append(1e3 * (time.perf_counter() - start))
        run = [statistics.median(spent) for spent in times]
        print(title)
        for label, (a, b) in {
            "run ms": run,
            "trace and lower ms": (pair[0][0], pair[1][0]),
            "compile ms": (pair[0][1], pair[1][1]),
        }.items():
            print(f"  {label:20} {a:9.3f} / {b:9.3f} = {a / b:.2f}")
        memory = [c.memory_analysis().temp_size_in_bytes for _, _, c in pair]
        print(f"  temporaries, KiB     {memory[0] / 1024:9.0f} / {memory[1] / 1024:9.0f}")
        print(f"  operations           {ops(pair[0][2].as_text())} / {ops(pair[1][2].as_text())}")


if __name__ == "__main__":
    main()
