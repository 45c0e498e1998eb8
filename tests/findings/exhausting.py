"""Cells that take much memory, each with the line that takes most of it, what would lower that, and the cell so
changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

__all__ = ["CELLS", "SETUP", "Large"]

SETUP = """
import jax, jax.numpy as jnp, numpy as np
from jax import lax
w, m, x = jnp.ones((500, 1000)), jnp.ones((500, 1000)), jnp.ones((400, 100))
square, v = jnp.ones((100, 100)), jnp.ones(700)
ids = jnp.arange(2000) % 50
params = {"a": jnp.ones((300, 300)), "b": jnp.ones((300, 300))}
q, k = jnp.ones((600, 16)), jnp.ones((600, 16))
signal = jnp.ones((64, 4096))
"""


@dataclass(frozen=True)
class Large:
    """A cell, and what is said when it does not get its memory.

    Attributes:
      cell: the staged cell.
      line: that makes most of what lives at the peak, or of those inputs that are no line's.
      said: fragments of the message.
      fix: a fragment of the fix and its options.
      fixed: the cell as the fix has it.
      donate: what the fixed cell gives up.
      options: of both.
      setup: what runs first, besides `SETUP`.
      kept: whether what is kept for the backward pass is compared, and not the peak: XLA for CPUs computes all of it
        again at once where a loop of Python has written one layer after the other.
    """

    cell: str
    line: int | None
    said: tuple[str, ...]
    fix: str
    fixed: str = ""
    donate: Sequence[str] = ()
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    setup: str = ""
    kept: bool = False


_LAYER = (
    "def layer(h, square):\n    a = jnp.tanh(h @ square)\n    b = jnp.sin(a @ square)\n"
    "    return jnp.tanh((a * b) @ square)\n"
)
_LAYERS = "def loss(square):\n    h = x\n    for _ in range(8):\n        h = layer(h, square)\n    return jnp.sum(h)\n"
_SCAN = "def loss(h):\n    return jnp.sum(lax.scan(lambda h, _: (layer(h, square), None), h, length=12)[0])\n"

CELLS: dict[str, Large] = {
    "an input that is replaced": Large(
        "w = w * 2 + 1", 1, ("2.0 MB  made by line 1", "2.0 MB  inputs: w"), "--donate w", donate=("w",)
    ),
    "an input that is replaced later": Large(
        "y = jnp.sum(w)\nw = w * 2 + y", 2, ("made by line 2",), "up to 2.0 MB less. --donate w", donate=("w",)
    ),
    "two inputs that are replaced": Large(
        "m = 0.9 * m + w\nw = w - 0.1 * m",
        2,
        ("made by line 1", "made by line 2", "inputs: "),
        "--donate m, w",
        donate=("m", "w"),
    ),
    "parameters in a dict": Large(
        "params = jax.tree.map(lambda p: 0.9 * p, params)",
        1,
        ("720 KB  made by line 1",),
        "memory of `params`, which the cell replaces: up to 720 KB less. --donate params",
        donate=("params",),
    ),
    "an input that dies": Large("y = w * 2", 1, (), "if nothing needs them any more: up to 2.0 MB less.", "", ("w",)),
    "an input that dies, of two": Large("y = jnp.sin(w) + v[0]", 1, ("2.0 MB  inputs: w",), "--donate w", "", ("w",)),
    "a step of gradient descent": Large(
        "l = jnp.sum((x @ square) ** 2)",
        1,
        ("200 KB  inputs: x, square", "also: put jax.checkpoint around what line 1 computes"),
        "if nothing needs them any more",
        donate=("square",),
        options={"loss": "l", "wrt": ("square",)},
    ),
    "layers that keep what they compute": Large(
        f"{_LAYER}{_LAYERS}g = jax.grad(loss)(square)",
        4,
        ("made by line 4", "made by line 3", "made by line 2"),
        "put jax.checkpoint around what lines 2, 3, 4 compute",
        f"@jax.checkpoint\n{_LAYER}{_LAYERS}g = jax.grad(loss)(square)",
        kept=True,
    ),
    "a scan that keeps what its turns compute": Large(
        f"{_LAYER}{_SCAN}g = jax.grad(loss)(x)",
        6,
        ("made by line 6",),
        "jax.checkpoint around what lines 2, 3, 4 compute",
        f"@jax.checkpoint\n{_LAYER}{_SCAN}g = jax.grad(loss)(x)",
    ),
    "one number for each of many classes": Large(
        "hot = jax.nn.one_hot(ids, 500)\ny = hot.T @ jnp.ones((2000, 4))\ndel hot",
        1,
        ("made by line 1",),
        "smaller batches",
        "hot = jax.nn.one_hot(ids[:200], 500)\ny = hot.T @ jnp.ones((200, 4))\ndel hot",
    ),
    "each row with each": Large(
        "scores = jax.nn.softmax(q @ k.T)\ny = scores @ k\ndel scores",
        1,
        ("made by line 1",),
        "smaller batches",
        "scores = jax.nn.softmax(q[:100] @ k.T)\ny = scores @ k\ndel scores",
    ),
    "all differences": Large(
        "d = jnp.sort(v[:, None] - v[None, :], axis=0)\ny = d[0]\ndel d",
        1,
        ("made by line 1",),
        "smaller batches",
        "d = jnp.sort(v[:50, None] - v[None, :], axis=0)\ny = d[0]\ndel d",
    ),
    "a spectrum": Large(
        "f = jnp.fft.fft(signal)\np = jnp.abs(f).sum()\ndel f",
        1,
        ("made by line 1", "inputs: signal"),
        "smaller batches",
        "f = jnp.fft.fft(signal[:8])\np = jnp.abs(f).sum()\ndel f",
    ),
    "what is held elsewhere": Large(
        "y = jnp.sum(x * 2)",
        None,
        ("160 KB  inputs: x", "2.0 MB are held by spare", "also: compute with smaller batches"),
        "let go of what is not needed any more: %jaxnb memory",
        "y = jnp.sum(part * 2)",
        setup="spare, part = jnp.ones((500, 1000)), jnp.ones((40, 100))",
    ),
    "many rows in order": Large(
        "y = jnp.sort(signal, axis=0)[0]",
        1,
        ("made by line 1",),
        "smaller batches",
        "y = jnp.sort(signal[:, :64], axis=0)[0]",
    ),
    "layers and a small input that is replaced": Large(
        f"{_LAYER}{_LAYERS}square = square - jax.grad(loss)(square)",
        4,
        ("made by line 4", "made by line 3"),
        "put jax.checkpoint around what lines 2, 3, 4 compute",
        f"@jax.checkpoint\n{_LAYER}{_LAYERS}square = square - jax.grad(loss)(square)",
        kept=True,
    ),
}
