"""How long a cell of many lines takes to be staged: seconds for 300, 900 and 2,700 lines, which should grow as they do.

The statements are one line each, and of all kinds: arithmetic on arrays, NumPy on the host, definitions, prints.

    python benchmarks/long_cells.py [--profile]
"""

from __future__ import annotations

import contextlib
import cProfile
import io
import pstats
import sys
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxnb

KINDS: dict[str, tuple[str, ...]] = {
    "arrays": ("a{n} = x * {n}.5 + a{m}", "b{n} = jnp.sin(a{n}) @ w", "a{n} = a{n} - b{n}.mean()"),
    "mixed": (
        "a{n} = x * {n}.5 + a{m}",
        "h{n} = np.arange({n} % 7 + 1) * 2",
        "def f{n}(v): return v * {n}",
        "print(h{n}.sum())",
        "k{n} = {n} + 1",
        "b{n} = f{n}(a{n}).sum()",
    ),
    "host": ("h{n} = np.arange({n} % 7 + 1) * 2", "k{n} = len(h{n}) + {n}", "t{n} = [k{n}, str(k{n})]"),
    "values": ("a{n} = jnp.sin(x) * {n}", "print(float(a{n}.sum()))", "b{n} = a{n} + x"),
}


def cell(kind: str, lines: int) -> str:
    """So many one-line statements."""
    forms, made = KINDS[kind], ["a0 = x"]
    for number in range(1, lines):
        turn = (number - 1) // len(forms) + 1
        made.append(forms[(number - 1) % len(forms)].format(n=turn, m=turn - 1))
    return "\n".join(made)


def stage(kind: str, lines: int) -> tuple[float, float]:
    """Seconds for the first run and for the one after it."""
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "np": np, "x": jnp.ones((4, 4)), "w": jnp.eye(4)}
    text, seconds = cell(kind, lines), list[float]()
    for _ in range(2):
        start = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            jaxnb.stage(text, names)
        seconds.append(time.perf_counter() - start)
    return seconds[0], seconds[1]


def main() -> None:
    if "--profile" in sys.argv:
        profile = cProfile.Profile()
        profile.enable()
        stage(sys.argv[-2], int(sys.argv[-1]))
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(45)
        return
    stage("mixed", 12)
    print(f"{'':>8} {'lines':>6} {'first':>9} {'again':>9} {'a line':>9}")
    for kind in KINDS:
        for lines in (300, 900, 2700):
            first, again = stage(kind, lines)
            print(f"{kind:>8} {lines:6} {first:7.2f} s {again:7.2f} s {1e3 * first / lines:6.2f} ms", flush=True)


if __name__ == "__main__":
    main()
