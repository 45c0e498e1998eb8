"""The cost of a warm training step on a flax nnx model and its optax optimiser, written three ways, paired in one run.

(i) a `%%jit` cell that calls the step; (ii) the step under `nnx.jit`; (iii) a flat `jax.jit` over the list of leaves,
with nnx.split outside and nnx.merge inside. Goals for the realistic model: (i) takes at most 1.5 times (iii), and less
than (ii). Each is timed as a cell of a shell, and then without a shell. Run with `python benchmarks/objects.py`, on
one core with `taskset -c 0`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from IPython.core.interactiveshell import InteractiveShell

import jaxnb
from jaxnb.api import new_session
from jaxnb.options import StageOptions

# 16 layers of a matrix and a bias, Adam's two moments of each, two step counters, x and y: 100 arrays.
SETUP = """
import jax, jax.numpy as jnp, optax
from flax import nnx

class Deep(nnx.Module):
    def __init__(self, width, rngs):
        self.layers = nnx.List([nnx.Linear(width, width, rngs=rngs) for _ in range(16)])
    def __call__(self, x):
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return x

def loss_fn(model, x, y):
    return jnp.mean((model(x) - y) ** 2)

def make(width):
    model = Deep(width, nnx.Rngs(0))
    return model, nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)

def step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x, y)
    optimizer.update(model, grads)
    return loss

nnx_step = nnx.jit(step)
model, optimizer = make(WIDTH)
model2, optimizer2 = make(WIDTH)
graphdef, state = nnx.split(make(WIDTH))
leaves, structure = jax.tree.flatten(state)
x, y = jax.random.normal(jax.random.key(1), (2, BATCH, WIDTH))

@jax.jit
def flat_step(leaves, x, y):
    model, optimizer = nnx.merge(graphdef, jax.tree.unflatten(structure, leaves))
    loss = step(model, optimizer, x, y)
    return loss, jax.tree.leaves(nnx.state((model, optimizer)))
"""

STEP = "loss = step(model, optimizer, x, y)"
CELLS = {
    "staged": f"%%jit --block\n{STEP}",
    "nnx.jit": "loss2 = nnx_step(model2, optimizer2, x, y)\njax.block_until_ready(loss2);",
    "flat": "loss3, leaves = flat_step(leaves, x, y)\njax.block_until_ready(loss3);",
}
MODELS = {"realistic": (128, 128), "tiny": (4, 4)}  # width and batch


def run_cell(shell: InteractiveShell, cell: str) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        result = shell.run_cell(cell)
    result.raise_error()


def in_shell(shell: InteractiveShell) -> dict[str, Callable[[], None]]:
    return {name: lambda cell=cell: run_cell(shell, cell) for name, cell in CELLS.items()}


def without_shell(shell: InteractiveShell) -> dict[str, Callable[[], None]]:
    namespace = shell.user_ns
    codes = {name: compile(CELLS[name], f"<{name}>", "exec") for name in ("nnx.jit", "flat")}
    steps: dict[str, Callable[[], None]] = {"staged": lambda: jaxnb.stage(STEP, namespace, block=True)}
    steps |= {name: lambda code=code: exec(code, namespace) for name, code in codes.items()}
    return steps


def compare(steps: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median seconds of each, run in turns so that whatever else the machine does falls on all."""
    spent: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 20):
        for name, run in steps.items():
            start = time.perf_counter()
            run()
            if turn >= 20:
                spent[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds) for name, seconds in spent.items()}


def walks(namespace: dict[str, Any], rounds: int) -> dict[str, float]:
    """Median seconds of looking whether the program serves: by a walk, and by straight code."""
    session = new_session()
    for _ in range(4):
        session.stage(STEP, namespace, StageOptions())
    (record,) = session._records.values()
    (piece,) = record.pieces
    assert piece.guard is not None
    guard, plan = piece.guard, piece.plan
    return compare({"walk": lambda: plan.scan(namespace, record.choices), "code": lambda: guard(namespace)}, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=300)
    rounds = parser.parse_args().rounds
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext jaxnb")
    for model, (width, batch) in MODELS.items():
        shell.user_ns.update(WIDTH=width, BATCH=batch)
        run_cell(shell, SETUP)
        leaves = len(shell.user_ns["leaves"])
        print(f"{model} model, {leaves} leaves and 2 arrays, width {width}, batch {batch}")
        for how, steps in {"cells of a shell": in_shell(shell), "no shell": without_shell(shell)}.items():
            medians = compare(steps, rounds)
            times = ", ".join(f"{name} {seconds * 1e6:.0f} us" for name, seconds in medians.items())
            over_flat, over_nnx = (medians["staged"] / medians[name] for name in ("flat", "nnx.jit"))
            reused = "" if jaxnb.last().reused else f"; not reused: {jaxnb.last().line}"
            print(f"  {how}: {times}; staged/flat {over_flat:.2f}, staged/nnx.jit {over_nnx:.2f}{reused}")
        losses = [float(shell.user_ns[name]) for name in ("loss", "loss2", "loss3")]
        assert max(losses) - min(losses) <= 1e-4 * max(losses), losses
        walk, code = (seconds * 1e6 for seconds in walks(shell.user_ns, rounds).values())
        print(f"  whether the program serves: by a walk {walk:.0f} us, by straight code {code:.0f} us")


if __name__ == "__main__":
    main()
