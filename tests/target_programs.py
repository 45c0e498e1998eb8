"""Programs that are spread in the ways that people spread them, compiled for a TPU and a GPU that are not there.

`data/targets` has the optimised modules that libtpu 0.0.42 and jax-cuda12-plugin 0.10.2 made of them, so that what
reads them is tested without a compiler. Where both are installed, `python tests/target_programs.py` writes them anew.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec as P

import jaxnb
from jaxnb.program import read_target
from jaxnb.reading import SimulatedMesh, mesh_of_target

__all__ = ["DEVICES", "FOLDER", "PROGRAMS", "SENT", "TARGETS", "Spread", "file_of", "mesh_for"]

FOLDER = Path(__file__).with_name("data") / "targets"
TARGETS = ("v5e:2x4", "h100:1x8")
DEVICES, D, F, BATCH, LAYERS = 8, 1024, 4096, 1024, 6


class Spread(NamedTuple):
    """A program, and the shapes and specs of what it takes in."""

    function: Callable[..., Any]
    inputs: tuple[tuple[tuple[int, ...], Any], ...]

    def given(self, mesh: SimulatedMesh) -> list[Any]:
        return [
            jaxnb.abstract(jax.ShapeDtypeStruct(shape, jnp.bfloat16), spec, mesh.mesh) for shape, spec in self.inputs
        ]


def mlp(w1: Any, w2: Any, x: Any) -> Any:
    def loss(w: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ w[0]) @ w[1]) ** 2)

    value, grads = jax.value_and_grad(loss)((w1, w2))
    return value, [w - 0.1 * g for w, g in zip((w1, w2), grads, strict=True)]


def sharded(w1: Any, w2: Any, w3: Any, x: Any) -> Any:
    def loss(ws: Any) -> Any:
        h = x
        for w in ws:
            h = jnp.tanh(h @ w)
        return jnp.mean(h**2)

    value, grads = jax.value_and_grad(loss)((w1, w2, w3))
    kept = [w - 0.1 * g for w, g in zip((w1, w2, w3), grads, strict=True)]
    return value, [lax.with_sharding_constraint(w, P("x")) for w in kept]


def scanned(ws: Any, x: Any) -> Any:
    def loss(ws: Any) -> Any:
        h, _ = lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, ws)
        return jnp.mean(h**2)

    value, grads = jax.value_and_grad(loss)(ws)
    return value, ws - 0.1 * grads


ROWS = (BATCH, D), P("x")
PROGRAMS = {
    "data": Spread(mlp, (((D, F), P()), ((F, D), P()), ROWS)),
    "tensor": Spread(mlp, (((D, F), P(None, "x")), ((F, D), P("x")), ((BATCH, D), P()))),
    "sharded": Spread(sharded, (*([((D, D), P("x"))] * 3), ROWS)),
    "scanned": Spread(scanned, (((LAYERS, D, D), P(None, "x")), ROWS)),
}
# By hand, of b bytes in a group of n: an all-reduce sends 2 b (n - 1) / n, an all-gather of pieces b (n - 1), a
# reduce-scatter b (n - 1) / n. The loss is a number of 4 bytes: 7 are sent.
_PIECE, _WHOLE, _LOSS = 2 * D * D // DEVICES, 2 * D * D, ("all-reduce", 7, 1)
SENT: dict[str, list[tuple[str, int, int]]] = {
    "data": [_LOSS, ("all-reduce", 2 * (2 * 2 * D * F) * 7 // 8, 1)],
    "tensor": [("all-reduce", 2 * (2 * BATCH * D) * 7 // 8, 1)],
    "sharded": [_LOSS, ("all-gather", 3 * _PIECE * 7, 1), ("reduce-scatter", 3 * _WHOLE * 7 // 8, 1)],
    "scanned": [_LOSS, ("all-gather", 2 * _PIECE * 7, LAYERS), ("reduce-scatter", _WHOLE * 7 // 8, LAYERS)],
}
"""The kinds of collectives with what a device sends by all of a kind in one turn, and how often that is."""


def mesh_for(target: str) -> SimulatedMesh:
    return mesh_of_target(read_target(target), {"x": DEVICES})


def file_of(target: str, name: str) -> Path:
    return FOLDER / f"{target.replace(':', '_')}_{name}.hlo.pb.gz"


def write() -> None:
    from jaxnb.reading import end_worker, worker_for
    from jaxnb.staging import lower_traced

    for target in TARGETS:
        mesh = mesh_for(target)
        for name, program in PROGRAMS.items():
            with mesh.ambient():
                lowered = lower_traced(jax.jit(program.function).trace(*program.given(mesh)), mesh)
            module = worker_for(mesh).compile(lowered, mesh).modules[0]
            file_of(target, name).write_bytes(gzip.compress(module, 9, mtime=0))
    end_worker()


if __name__ == "__main__":
    write()
