"""How long compiling for machines that are not there takes, and how much of what comes back is linked to lines.

Wants the compilers, `pip install "jaxnb[tpu,cuda]"`. A program is a training step of some layers, whose parameters are
cut over the axis "model" and its batch over "data".

    python benchmarks/targets.py                    16, 256 and 1,024 chips, beside JAX alone
    python benchmarks/targets.py v5e:4x4 h100:1x8   these machines, with their plans

JAX alone is a process that never imports jaxnb, and calls `lower().compile()` for the same chips. Either process has
compiled something small for them before. Compared are the seconds from the call to the executable or to the plan, those
of processors, which other jobs of the machine lengthen less, and the most memory that the process which compiles ever
had; of several rounds, which alternate, the least of each. Reading is all that a plan tells: the program with its
links, the ledger, and the timeline.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from time import perf_counter, process_time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

WIDTH, LAYERS, BATCH = 2048, 8, 4096
COMPARED, ROUNDS = ("v5e:4x4", "v5e:16x16", "v5p:8x8x16"), 3
MOST, MOST_READ = 1.05, 0.05
SPECS = P(None, None, "model"), P(None, "model"), P("data")
SHAPES = (LAYERS, WIDTH, 4 * WIDTH), (LAYERS, 4 * WIDTH, WIDTH), (BATCH, WIDTH)


def small(x: Any) -> Any:
    return x + 1


def step(up: Any, down: Any, x: Any) -> Any:
    def loss(weights: Any) -> Any:
        def layer(h: Any, w: Any) -> tuple[Any, None]:
            up, down = w
            return h + jnp.tanh(h @ up) @ down, None

        h, _ = lax.scan(jax.checkpoint(layer), x, weights)
        return jnp.mean(h.astype(jnp.float32) ** 2)

    value, gradients = jax.value_and_grad(loss)((up, down))
    return value, jax.tree.map(lambda w, g: w - 0.01 * g, (up, down), gradients)


def machine(name: str) -> tuple[Any, list[Any]]:
    """The mesh of a target, and what the step is given on it."""
    import jaxnb
    from jaxnb.program import read_target
    from jaxnb.reading import mesh_of_target

    target = read_target(name)
    mesh = mesh_of_target(target, {} if target.alone else {"data": target.devices // 4, "model": 4})
    given = [
        jaxnb.abstract(jax.ShapeDtypeStruct(shape, jnp.bfloat16), None if target.alone else spec, mesh.mesh)
        for shape, spec in zip(SHAPES, SPECS, strict=True)
    ]
    return mesh, given


def measure(name: str) -> None:
    """Prints the plan for a machine, and how long it took."""
    import jaxnb

    mesh, given = machine(name)
    start = perf_counter()
    plan = jaxnb.simulate(step, mesh)(*given)
    planned = perf_counter()
    coverage = plan.program.coverage()
    read = perf_counter()
    print(f"{name}: {planned - start:.1f} s in all, the compiler {plan.seconds:.1f} s; read in {read - planned:.1f} s")
    print(f"  {coverage}")
    print("  " + str(plan).replace("\n", "\n  "))


# --- beside JAX alone ---


def alone(topology: str, axes: str) -> dict[str, float]:
    """JAX alone, in this process."""
    from jax.experimental import mesh_utils, topologies

    devices = topologies.get_topology_desc(**json.loads(topology)).devices
    sizes = json.loads(axes)
    laid = mesh_utils.create_device_mesh(tuple(sizes.values()), devices, allow_split_physical_axes=True)
    mesh = Mesh(np.array(laid), tuple(sizes))
    inputs = [
        jax.ShapeDtypeStruct(shape, jnp.bfloat16, sharding=NamedSharding(mesh, spec))
        for shape, spec in zip(SHAPES, SPECS, strict=True)
    ]
    jax.jit(small).trace(inputs[-1]).lower(lowering_platforms=("tpu",)).compile()
    start, used = perf_counter(), process_time()
    jax.jit(step).trace(*inputs).lower(lowering_platforms=("tpu",)).compile()
    return {
        "seconds": perf_counter() - start,
        "used": process_time() - used,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def planned(name: str) -> dict[str, float]:
    """The same as a plan; what compiles is the worker of this process."""
    import jaxnb
    from jaxnb.reading import end_worker, worker_for

    mesh, inputs = machine(name)
    jaxnb.simulate(small, mesh)(inputs[-1])
    pid = worker_for(mesh).pid
    start, used = perf_counter(), process_time() + used_by(pid)
    plan = jaxnb.simulate(step, mesh)(*inputs)
    seconds, used = perf_counter() - start, process_time() + used_by(pid) - used
    memory = most_memory(pid)
    start, reading = perf_counter(), process_time()
    shares = plan.program.coverage()
    _ = plan.ledger.total, str(plan.timeline)
    found = {"read": perf_counter() - start, "reading": process_time() - reading, "linked": shares.hlo_eqn or 0.0}
    end_worker()
    return {"seconds": seconds, "used": used, "memory": memory, **found}


def used_by(pid: int) -> float:
    """Seconds of processors that a process has used."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def most_memory(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return next(float(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def asked(*how: str) -> dict[str, float]:
    """What a process of its own measures, in the environment that the compiler needs."""
    from jaxnb.reading.worker.compilers import environment_of

    environment = {**os.environ, "JAX_PLATFORMS": "cpu", **environment_of("tpu")}
    done = subprocess.run(
        [sys.executable, __file__, *how], capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout.splitlines()[-1])


def compare() -> None:
    """Prints the table."""
    from jaxnb.reading import check_compiler

    check_compiler("tpu")
    print(f"Least of {ROUNDS} rounds. Goals: compiling at most {MOST:.2f} of JAX alone, reading {MOST_READ:.0%} of it.")
    print(f"{'':>12} {'chips':>6} {'JAX alone':>10} {'jaxnb':>8} {'ratio':>6} {'goal':>5}")
    for name in COMPARED:
        mesh, _ = machine(name)
        topology = {key: value for key, value in mesh.target.topology.items() if key != "devices"}
        hows = ("--alone", json.dumps(topology), json.dumps(dict(mesh.axes))), ("--planned", name)
        rounds: list[list[dict[str, float]]] = [[], []]
        for number in range(ROUNDS):
            for at in (0, 1) if number % 2 == 0 else (1, 0):
                rounds[at].append(asked(*hows[at]))
        one, other = ({key: min(row[key] for row in rows) for key in rows[0]} for rows in rounds)
        chips = f"{mesh.size:,}"
        for what, key, unit, scale in (
            ("seconds", "seconds", "s", 1.0),
            ("processors", "used", "s", 1.0),
            ("memory", "memory", "GB", 1e9),
        ):
            ratio = other[key] / one[key]
            told = f"{one[key] / scale:>7.2f} {unit:<2} {other[key] / scale:>5.2f} {unit:<2} {ratio:>6.3f} {MOST:>5.2f}"
            print(f"{what:>12} {chips:>6} {told}", flush=True)
        share = other["reading"] / other["used"]
        told = f"{other['used']:>7.2f} s  {other['reading']:>5.2f} s  {share:>6.3f} {MOST_READ:>5.2f}"
        print(f"{'read/compile':>12} {chips:>6} {told}   {other['linked']:.1%} of the instructions linked", flush=True)


def main() -> None:
    names = sys.argv[1:]
    if names[:1] == ["--alone"]:
        print(json.dumps(alone(*names[1:])))
    elif names[:1] == ["--planned"]:
        print(json.dumps(planned(names[1])))
    else:
        show(names)


def show(names: list[str]) -> None:
    """Prints the table, or the plans for machines."""
    from jaxnb.errors import JaxnbError
    from jaxnb.reading import end_worker

    for one in names or [""]:
        try:
            measure(one) if one else compare()
        except JaxnbError as error:
            print(f"{one}: {error}" if one else error)
    end_worker()


if __name__ == "__main__":
    main()
