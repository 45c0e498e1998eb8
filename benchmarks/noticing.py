"""What it costs to notice acts on the outside: the idle audit hook in plain cells, and `Noticing` while JAX traces.

An audit hook cannot be taken away, so that plain cells are timed in processes that have it and processes that do not,
in turns; tracing with and without `Noticing` is paired in one process. Goal: nothing measurable in a plain cell. Run
with `make bench`, or `python benchmarks/noticing.py`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

from jaxnb.staging.trace.noticing import Noticing

PROCESSES, ROUNDS, TRACES = 5, 60, 40
CELLS = {
    "arithmetic of Python": "t = 0\nfor i in range(20_000):\n    t += i * i % 7",
    "arithmetic of arrays": "for _ in range(50):\n    y = jnp.tanh(x) * 2 + x",
    "a jitted step": "for _ in range(100):\n    w = step(w, x)",
    "200 files opened": "for _ in range(200):\n    open(os.devnull).close()",
    "arrays saved and loaded": (
        "for _ in range(9):\n    f = io.BytesIO()\n    np.save(f, a)\n    b = np.load(io.BytesIO(f.getvalue()))"
    ),
    "50 imports and compiles": "for _ in range(50):\n    import json, math\n    exec(compile('q = 1', '<s>', 'exec'))",
}


def seconds_of_cells() -> dict[str, float]:
    """The median seconds of each plain cell in this process."""
    step: Callable[..., Any] = jax.jit(lambda w, x: w + 0.5 * x)
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "np": np, "step": step}
    exec("import io, os\nx = jnp.ones(8)\nw = jnp.ones(8)\na = np.ones(100)", names)
    codes = {name: compile(text, f"<{name}>", "exec") for name, text in CELLS.items()}
    times: dict[str, list[float]] = {name: [] for name in CELLS}
    for turn in range(ROUNDS + 5):
        for name, code in codes.items():
            start = time.perf_counter()
            exec(code, names)
            if turn >= 5:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def measured(hooked: bool) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--cells", "hooked" if hooked else "bare"]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def plain_cells() -> None:
    """Prints the ratio of each plain cell with the idle hook over without, pair by pair."""
    pairs = list[tuple[dict[str, float], dict[str, float]]]()
    for turn in range(PROCESSES):
        found = {hooked: measured(hooked) for hooked in sorted((False, True), reverse=bool(turn % 2))}
        pairs.append((found[False], found[True]))
    for name in CELLS:
        ratios = sorted(hooked[name] / bare[name] for bare, hooked in pairs)
        bare = statistics.median(bare[name] for bare, _ in pairs)
        print(
            f"plain cell, {name}: {bare * 1e6:.0f} us, with the idle hook over without {statistics.median(ratios):.3f} "
            f"({ratios[0]:.3f} to {ratios[-1]:.3f} in {PROCESSES} pairs of processes)"
        )


def network(params: Any, x: Any) -> Any:
    for w in params:
        x = jnp.tanh(x @ w) / jnp.sqrt(jnp.mean(x**2) + 1e-6)
    return jnp.mean(x**2)


def trace(params: Any, x: Any) -> None:
    jax.jit(jax.grad(network)).trace(params, x)


def speak(params: Any, x: Any) -> None:
    """A trace that prints."""

    def spoken(params: Any, x: Any) -> Any:
        with contextlib.redirect_stdout(io.StringIO()):
            print("tracing", x.shape)
        return network(params, x)

    jax.jit(spoken).trace(params, x)


def tracing() -> None:
    """Prints the ratio of tracing within `Noticing` over tracing without, pair by pair."""
    params, x = [jnp.eye(16) for _ in range(12)], jnp.ones((4, 16))
    ways: dict[str, Callable[[], Any]] = {"without": contextlib.nullcontext, "within": Noticing}
    for what, act in (("the gradient of 12 layers", trace), ("12 layers and a print", speak)):
        times: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(TRACES + 2):
            for name in sorted(ways, reverse=bool(turn % 2)):
                start = time.perf_counter()
                with ways[name]():
                    act(params, x)
                if turn > 1:
                    times[name].append(time.perf_counter() - start)
        ratio = statistics.median(b / a for a, b in zip(times["without"], times["within"], strict=True))
        bare = statistics.median(times["without"])
        print(f"tracing {what}: {bare * 1e3:.1f} ms, within Noticing over without {ratio:.3f}")
    times_of_entry = list[float]()
    for _ in range(500):
        start = time.perf_counter()
        with Noticing():
            pass
        times_of_entry.append(time.perf_counter() - start)
    print(f"entering and leaving Noticing: {statistics.median(times_of_entry) * 1e6:.1f} us")


def main() -> None:
    if "--cells" in sys.argv:
        if sys.argv[-1] == "hooked":
            with Noticing():
                pass
        print(json.dumps(seconds_of_cells()))
        return
    plain_cells()
    tracing()


if __name__ == "__main__":
    main()
