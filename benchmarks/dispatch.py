"""The cost of a warm `%%jit` cell over a plain cell that calls the same function under `jax.jit`, paired in one run.

Goals: a ratio of at most 1.05 for a body of 1 ms; at most 80 us added with 10 inputs; loading the extension adds at
most 0.1 s to `import jax`. Run with `make bench`, or `python benchmarks/dispatch.py`.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from IPython.core.interactiveshell import InteractiveShell

SETUP = """
import jax, jax.numpy as jnp
inputs = [jnp.full((8, 8), float(i)) for i in range(10)]
a0, a1, a2, a3, a4, a5, a6, a7, a8, a9 = inputs
big = jnp.ones((400, 400)) * 1e-3
@jax.jit
def ten(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9):
    return a0 + a1, a2 + a3, a4 + a5, a6 + a7, a8 + a9
@jax.jit
def chain(m):
    for _ in range(CHAIN):
        m = m @ m
    return m
"""

PAIRS = {
    "10 inputs, tiny body": (
        "s0, s1, s2, s3, s4 = ten(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9)\njax.block_until_ready(s4);",
        "%%jit --block\ns0 = a0 + a1\ns1 = a2 + a3\ns2 = a4 + a5\ns3 = a6 + a7\ns4 = a8 + a9",
    ),
    "1 input, body of about 1 ms": (
        "r = chain(big)\njax.block_until_ready(r);",
        "%%jit --block\nr = big\nfor _ in range(CHAIN):\n    r = r @ r",
    ),
}


def timed(shell: InteractiveShell, cell: str) -> float:
    with contextlib.redirect_stdout(io.StringIO()):
        start = time.perf_counter()
        result = shell.run_cell(cell)
        seconds = time.perf_counter() - start
    result.raise_error()
    return seconds


def compare(shell: InteractiveShell, plain: str, staged: str, rounds: int) -> tuple[float, float]:
    """Median seconds of each, run in turns so that whatever else the machine does falls on both."""
    for _ in range(20):
        timed(shell, plain)
        timed(shell, staged)
    pairs = [(timed(shell, plain), timed(shell, staged)) for _ in range(rounds)]
    return statistics.median(p for p, _ in pairs), statistics.median(s for _, s in pairs)


def matmuls_for(shell: InteractiveShell, seconds: float) -> int:
    """How many products of 400 x 400 take that long on this machine."""
    shell.run_cell("import jax, jax.numpy as jnp\n_m = jnp.ones((400, 400)) * 1e-3\n_f = jax.jit(lambda m: m @ m);")
    single = min(timed(shell, "jax.block_until_ready(_f(_m));") for _ in range(20))
    return max(1, round(seconds / max(single - 1e-4, 1e-4)))


def import_seconds(code: str, bytecode: str) -> float:
    """The least of several starts of a fresh interpreter, in seconds inside it.

    Args:
      code: what is timed.
      bytecode: a directory for the bytecode of all modules, which an installed package has; the first start fills it.
    """
    program = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = bytecode
    runs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
        for _ in range(8)
    ]
    return min(float(run.stdout.split()[-1]) for run in runs[1:])


def main() -> None:
    shell = InteractiveShell.instance()
    shell.run_cell("%load_ext jaxnb")
    count = matmuls_for(shell, 1e-3)
    shell.user_ns["CHAIN"] = count
    shell.run_cell(SETUP)
    for name, (plain, staged) in PAIRS.items():
        p, s = compare(shell, plain, staged, 400)
        print(
            f"{name}: plain {p * 1e6:.0f} us, staged {s * 1e6:.0f} us, added {(s - p) * 1e6:.0f} us, ratio {s / p:.3f}"
        )
    with_shell = (
        "from IPython.core.interactiveshell import InteractiveShell; s = InteractiveShell.instance(); import jax"
    )
    with tempfile.TemporaryDirectory() as bytecode:
        base = import_seconds(with_shell, bytecode)
        loaded = import_seconds(with_shell + "; s.run_cell('%load_ext jaxnb')", bytecode)
    print(f"import jax in a shell: {base:.3f} s; with %load_ext jaxnb: {loaded:.3f} s, added {loaded - base:.3f} s")


if __name__ == "__main__":
    main()
