"""What splitting costs: a warm cell of several pieces against the same compiled pieces called by hand.

By hand means functions under `jax.jit` with the same host statements between them, run as one plain cell. Goal: at most
100 us a piece more. Run with `make bench`, or `python benchmarks/split.py`.
"""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from dispatch import compare
from IPython.core.interactiveshell import InteractiveShell

SETUP = """
import jax, jax.numpy as jnp
x, w = jnp.ones((8, 8)) * 0.1, jnp.ones((8, 8)) * 0.1
seen = []
@jax.jit
def layer(h, w):
    return jnp.tanh(h @ w)
"""
HOST = "seen[:] = [float(h[0, 0])]"
CASES = {
    "5 pieces in a row": (
        "h = x\n" + "\n".join(f"h = layer(h, w)\n{HOST}" for _ in range(5)),
        "%%jit\nh = x\n" + "\n".join(f"h = jnp.tanh(h @ w)\n{HOST}" for _ in range(5)),
        5,
    ),
    "a loop of 20 turns": (
        f"h = x\nfor _ in range(20):\n    h = layer(h, w)\n    {HOST}\n    if seen[0] > 9:\n        break",
        f"%%jit\nh = x\nfor _ in range(20):\n    h = jnp.tanh(h @ w)\n    {HOST}\n    if seen[0] > 9:\n        break",
        20,
    ),
}


def main() -> None:
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext jaxnb")
    shell.run_cell(SETUP)
    whole = compare(shell, "y = layer(x, w)", "%%jit\ny = jnp.tanh(x @ w)", 300)
    print(f"one piece: plain {whole[0] * 1e6:.0f} us, staged {whole[1] * 1e6:.0f} us")
    for name, (plain, staged, count) in CASES.items():
        p, s = compare(shell, plain, staged, 300)
        each = (s - p - (whole[1] - whole[0])) / count
        print(
            f"{name}: plain {p * 1e6:.0f} us, staged {s * 1e6:.0f} us, "
            f"{each * 1e6:.0f} us a piece beside what one cell costs"
        )


if __name__ == "__main__":
    main()
