"""The peak that `%jaxnb remat` predicts of a gradient under a policy, against the peak of the device's allocator.

Five gradients, each as it is and under the policies of the table that can be had by an edit. What is predicted is what
XLA says of the compiled program. What is measured is the most that the allocator had out while the cell ran, in a
process of its own, without what lay there besides its inputs. Goal: within 5 %. Where the runtime has no such figure,
as on CPUs, only what is predicted is printed. Run with `python benchmarks/remat.py [--small]`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
# The default allocator hands out up to 128 MB more than it is asked for, and counts that.
os.environ.setdefault("XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async")
# A compiler that tries kernels out takes memory for that, and the allocator's peak is never put back.
os.environ.setdefault("XLA_FLAGS", "--xla_gpu_autotune_level=0")

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb.api import new_session
from jaxnb.findings.values.fixes import apply_edit
from jaxnb.options import StageOptions

MLP = """def layer(x, w):
    h = jnp.tanh(x @ w)
    h = jnp.sin(h) * jnp.cos(h)
    return jnp.exp(-h) + x

def loss_of(ws, x):
    for w in ws:
        x = layer(x, w)
    return jnp.mean(x ** 2)

value, grads = jax.value_and_grad(loss_of)(ws, x)"""
SCAN = """def body(x, w):
    h = jax.nn.gelu(x @ w["up"])
    return x + h @ w["down"], None

def loss_of(ws, x):
    x, _ = jax.lax.scan(body, x, ws)
    return jnp.mean(x ** 2)

value, grads = jax.value_and_grad(loss_of)(ws, x)"""
ATTENTION = """def block(x, w):
    q, k, v = jnp.split((x @ w["qkv"]).reshape(*x.shape[:2], 8, -1), 3, axis=-1)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ w["out"]
    return x + jax.nn.gelu(x @ w["up"]) @ w["down"]

def loss_of(ws, x):
    for w in ws:
        x = block(x, w)
    return jnp.mean(x ** 2)

value, grads = jax.value_and_grad(loss_of)(ws, x)"""
CONVOLUTIONS = """def unit(x, w):
    h = jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    h = (h - h.mean((0, 1, 2))) / jnp.sqrt(h.var((0, 1, 2)) + 1e-5)
    return x + jax.nn.silu(h)

def loss_of(ws, x):
    for w in ws:
        x = unit(x, w)
    return jnp.mean(x ** 2)

value, grads = jax.value_and_grad(loss_of)(ws, x)"""
RECURRENT = """def loss_of(ws, x):
    def turn(h, x):
        z, c = jnp.split(x @ ws["x"] + h @ ws["h"], 2, axis=-1)
        h = jax.nn.sigmoid(z) * h + jax.nn.sigmoid(-z) * jnp.tanh(c)
        return h, h
    _, hs = jax.lax.scan(turn, jnp.zeros((x.shape[1], ws["h"].shape[0])), x)
    return jnp.mean(hs ** 2)

value, grads = jax.value_and_grad(loss_of)(ws, x)"""
GRADIENTS = {"mlp": MLP, "scan": SCAN, "attention": ATTENTION, "convolutions": CONVOLUTIONS, "recurrent": RECURRENT}


def inputs(name: str, small: bool) -> tuple[Any, Any]:
    """The weights and the batch of a gradient, put on the device as they are: making them there would take memory."""
    draw = np.random.default_rng(0)

    def array(*shape: int) -> Any:
        return jax.device_put(draw.standard_normal(shape, np.float32) * 0.02)

    wide, many = (32, 16) if small else (1024, 4096)
    if name == "mlp":
        return [array(wide, wide) for _ in range(8)], array(2 * many, wide)
    if name == "scan":
        return {"up": array(8, wide, 4 * wide), "down": array(8, 4 * wide, wide)}, array(2 * many, wide)
    if name == "attention":
        parts = {"qkv": (wide, 3 * wide), "out": (wide, wide), "up": (wide, 4 * wide), "down": (4 * wide, wide)}
        return [{key: array(*shape) for key, shape in parts.items()} for _ in range(4)], array(8, many // 8, wide)
    if name == "convolutions":
        return [array(3, 3, wide // 16, wide // 16) for _ in range(6)], array(16, many // 64 or 8, 64, wide // 16)
    return {"x": array(wide, 2 * wide), "h": array(wide, 2 * wide)}, array(many // 32 or 4, 64, wide)


def names(name: str, small: bool) -> dict[str, Any]:
    """What the cell of a gradient begins with."""
    ws, x = inputs(name, small)
    return {"jax": jax, "jnp": jnp, "ws": ws, "x": x, "__name__": "__main__"}


def measured(name: str, cell: str, small: bool) -> dict[str, int]:
    """Runs a cell once, and says what the allocator had out at the most; to be called in a process of its own."""
    ns = names(name, small)
    arrays = jax.block_until_ready(jax.tree.leaves((ns["ws"], ns["x"])))
    given = sum(array.nbytes for array in arrays)
    del arrays
    stats: Any = jax.devices()[0].memory_stats
    before = stats() or {}
    run = new_session().stage(cell, ns, StageOptions())
    jax.block_until_ready((ns["value"], ns["grads"]))
    after = stats() or {}
    if "peak_bytes_in_use" not in after:
        return {}
    besides = before["bytes_in_use"] - given
    if after["peak_bytes_in_use"] <= before["peak_bytes_in_use"]:
        return {}  # what came before took more
    return {"measured": after["peak_bytes_in_use"] - besides, "predicted": run.memory or 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="small arrays, to see that it works")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        given = json.loads(options.child)
        print(json.dumps(measured(given["name"], given["cell"], options.small)))
        return
    device = jax.devices()[0]
    print(f"jax {jax.__version__}, {device.device_kind}; MB; computed again in Gflops")
    print(
        f"{'gradient':<13}| {'policy':<19}| {'predicted':>9} | {'measured':>9} | {'off':>7} | "
        f"{'kept':>8} | {'again':>8}"
    )
    worst = 0.0
    for name, cell in GRADIENTS.items():
        ns = names(name, options.small)
        policies = new_session().stage(cell, ns, StageOptions()).remat()
        del ns
        for one in policies.possible:
            edit = one.fix.edit if one.fix is not None else None
            text = cell if edit is None else apply_edit(cell, edit)
            asked = json.dumps({"name": name, "cell": text})
            command = [sys.executable, __file__, "--child", asked, *(["--small"] if options.small else [])]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            told = json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {}
            peak, off = told.get("measured"), ""
            if peak:
                worst = max(worst, abs((one.peak or 0) / peak - 1))
                off = f"{100 * ((one.peak or 0) / peak - 1):+.1f} %"
            row = (
                f"{name:<13}| {one.name:<19}| {(one.peak or 0) / 1e6:>9.1f} | {peak / 1e6 if peak else 0:>9.1f} | "
                f"{off:>7} | {one.kept / 1e6:>8.1f} | {(one.again or 0) / 1e9:>8.1f}"
            )
            print(row, flush=True)
            if done.returncode:
                print(done.stderr[-600:], file=sys.stderr)
    print(f"the worst is {100 * worst:.1f} % off" if worst else "the runtime does not say what its allocator had out")


if __name__ == "__main__":
    main()
