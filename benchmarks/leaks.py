"""What watching for leaked tracers costs while JAX traces, beside `jax.checking_leaks()`; all in one run.

The gradient of a transformer of twelve layers is traced again and again, each time with the look that follows a cell.
Goal: at most 1 % of tracing time, and nothing on a warm run, for which that look is timed alone. Run with `make bench`,
or `python benchmarks/leaks.py`.
"""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp

from jaxnb.findings.leaking.leaks import Leaks

WIDTH, LENGTH, HEADS = 32, 16, 4


def layer(h: Any, p: Any) -> Any:
    q, k, v = (jnp.reshape(h @ p[name], (LENGTH, HEADS, -1)) for name in ("q", "k", "v"))
    scores = jnp.where(jnp.tri(LENGTH, dtype=bool), jnp.einsum("ihd,jhd->hij", q, k), -1e9)
    mixed = jnp.einsum("hij,jhd->ihd", jax.nn.softmax(scores), v).reshape(LENGTH, WIDTH)
    h = h + mixed @ p["o"]
    normed = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-6)
    return h + jax.nn.gelu(normed @ p["up"]) @ p["down"]


def parameters() -> list[dict[str, Any]]:
    shapes = {**dict.fromkeys("qkvo", (WIDTH, WIDTH)), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
    return [{name: jnp.ones(shape) * 0.01 for name, shape in shapes.items()} for _ in range(12)]


def seconds_to_trace(params: Any, tokens: Any) -> float:
    def loss(params: Any, tokens: Any) -> Any:
        h = tokens
        for p in params:
            h = layer(h, p)
        return jnp.mean(h**2)

    start = time.perf_counter()
    jax.jit(jax.grad(loss)).trace(params, tokens)
    return time.perf_counter() - start


def main() -> None:
    params, tokens = parameters(), jnp.ones((LENGTH, WIDTH))
    log = Leaks()

    @contextlib.contextmanager
    def watched() -> Any:
        log.start()
        yield
        log.stop()

    ways: dict[str, Callable[[], Any]] = {
        "plain": contextlib.nullcontext,
        "watched": watched,
        "jax.checking_leaks": jax.checking_leaks,
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(60):
        for name, way in sorted(ways.items(), reverse=bool(turn % 2)):
            with way():
                seconds = seconds_to_trace(params, tokens)
                if name == "watched":
                    start = time.perf_counter()
                    assert log.check({}) == []
                    seconds += time.perf_counter() - start
            if turn > 1:
                times[name].append(seconds)
    pairs = zip(times["watched"], times["plain"], strict=True)
    ratio = statistics.median(watched / plain for watched, plain in pairs)
    for name, found in times.items():
        print(f"{name}: {statistics.median(found) * 1e3:.1f} ms to trace")
    print(f"watched over plain, median of pairs: {ratio:.3f}")
    print(f"the look after a warm run: {seconds_of_a_look(log, params, tokens) * 1e6:.2f} us")


def seconds_of_a_look(log: Leaks, params: Any, tokens: Any) -> float:
    """The median of what a check takes after a cell that traces nothing."""
    run = jax.jit(lambda params, tokens: layer(tokens, params[0]))
    run(params, tokens)
    log.start()
    times: list[float] = []
    for _ in range(200):
        run(params, tokens)
        start = time.perf_counter()
        log.check({})
        times.append(time.perf_counter() - start)
    log.stop()
    return statistics.median(times)


if __name__ == "__main__":
    main()
