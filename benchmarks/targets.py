"""How long compiling for machines that are not there takes, and how much of what comes back is linked to lines.

Wants the compilers, `pip install "jaxnb[tpu,cuda]"`, and prints for each machine what is missing without. A program is
a training step of some layers, whose parameters are cut over the axis "model" and its batch over "data". Run with
`python benchmarks/targets.py v5e:4x4 h100:1x8`.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

import jaxnb
from jaxnb.errors import JaxnbError
from jaxnb.program import read_target
from jaxnb.reading import end_worker, mesh_of_target

WIDTH, LAYERS, BATCH = 2048, 8, 4096


def step(weights: Any, x: Any) -> Any:
    def loss(weights: Any) -> Any:
        def layer(h: Any, w: Any) -> tuple[Any, None]:
            up, down = w
            return h + jnp.tanh(h @ up) @ down, None

        h, _ = lax.scan(jax.checkpoint(layer), x, weights)
        return jnp.mean(h.astype(jnp.float32) ** 2)

    value, gradients = jax.value_and_grad(loss)(weights)
    return value, jax.tree.map(lambda w, g: w - 0.01 * g, weights, gradients)


def measure(name: str) -> None:
    target = read_target(name)
    sizes = {} if target.alone else {"data": 2, "model": target.devices // 2}
    mesh = mesh_of_target(target, sizes)

    def shape(*shape: int, spec: Any) -> Any:
        return jaxnb.abstract(jax.ShapeDtypeStruct(shape, jnp.bfloat16), spec if sizes else None, mesh.mesh)

    up = shape(LAYERS, WIDTH, 4 * WIDTH, spec=P(None, None, "model"))
    down = shape(LAYERS, 4 * WIDTH, WIDTH, spec=P(None, "model"))
    start = perf_counter()
    plan = jaxnb.simulate(step, mesh)((up, down), shape(BATCH, WIDTH, spec=P("data")))
    planned = perf_counter()
    coverage = plan.program.coverage()
    read = perf_counter()
    print(f"{name}: {planned - start:.1f} s in all, the compiler {plan.seconds:.1f} s; read in {read - planned:.1f} s")
    print(f"  {coverage}")
    print("  " + str(plan).replace("\n", "\n  "))


def main() -> None:
    for name in sys.argv[1:] or ("v5e", "v5e:4x4", "v6e:4x4", "h100", "h100:1x8"):
        try:
            measure(name)
        except JaxnbError as error:
            print(f"{name}: {error}")
    end_worker()


if __name__ == "__main__":
    main()
