"""What looking for quiet findings costs, over tracing; paired within each run, in CPU seconds of the thread.

Realistic cells are traced again and again. In each run the tracing is timed, and then what the detectors take together.
Goals: all detectors together at most 3 % of tracing, and nothing on a warm run, for which the look is timed alone. Two
shares are told: "edited", where JAX has kept what it traced of its own functions in the run before, as when a cell is
edited and run again; and "first", where it has kept nothing, as when a notebook is run from its top. Run with `make
bench`, or `python benchmarks/findings.py`.
"""

from __future__ import annotations

import gc
import linecache
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax

from jaxnb import findings
from jaxnb.findings import Findings
from jaxnb.options import StageOptions
from jaxnb.staging.session import making
from jaxnb.staging.session.session import Session

SETUP = """
import jax, jax.numpy as jnp, numpy as np, functools
from jax import random
key = random.key(0)
x, y = jnp.ones((32, 64)), jnp.zeros(32, jnp.int32)
k1, k2, k3 = random.split(random.key(1), 3)
mlp = [(random.normal(k, (n, m)) * 0.1, jnp.zeros(m)) for k, n, m in ((k1, 64, 128), (k2, 128, 128), (k3, 128, 10))]
table = np.random.default_rng(0).normal(size=(2000, 16)).astype(np.float32)
WIDTH, LENGTH, HEADS = 32, 16, 4
def layer(h, p):
    q, k, v = (jnp.reshape(h @ p[name], (LENGTH, HEADS, -1)) for name in ("q", "k", "v"))
    scores = jnp.where(jnp.tri(LENGTH, dtype=bool), jnp.einsum("ihd,jhd->hij", q, k), -1e9)
    mixed = jnp.einsum("hij,jhd->ihd", jax.nn.softmax(scores), v).reshape(LENGTH, WIDTH)
    h = h + mixed @ p["o"]
    normed = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-6)
    return h + jax.nn.gelu(normed @ p["up"]) @ p["down"]
shapes = {**dict.fromkeys("qkvo", (WIDTH, WIDTH)), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
layers = [{name: jnp.ones(shape) * 0.01 for name, shape in shapes.items()} for _ in range(4)]
tokens = jnp.ones((LENGTH, WIDTH))
"""

CELLS = {
    "a tiny cell": "z = jnp.tanh(x @ mlp[0][0] + mlp[0][1])",
    "gradient step of an MLP": """
def loss(params, x, y):
    for w, b in params[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return -jnp.mean(jax.nn.log_softmax(x @ w + b)[jnp.arange(len(y)), y])
value, grads = jax.value_and_grad(loss)(mlp, x, y)
mlp2 = jax.tree.map(lambda p, g: p - 0.1 * g, mlp, grads)
""",
    "gradient of 4 transformer layers": """
def loss(params, tokens):
    h = tokens
    for p in params:
        h = layer(h, p)
    return jnp.mean(h**2)
grads = jax.grad(loss)(layers, tokens)
""",
    "loading data": """
rows = jnp.asarray(table, jnp.float32)
mean, std = rows.mean(0), rows.std(0)
inputs = (rows - mean) / (std + 1e-6)
train, valid = inputs[:1600], inputs[1600:]
labels = (train.sum(1) > 0).astype(jnp.int32)
""",
    "many draws from keys": """
keys = random.split(key, 12)
weights = {f"w{i}": random.normal(keys[i], (8, 8)) for i in range(10)}
noise = random.uniform(keys[10], (4, 8))
mask = random.bernoulli(keys[11], 0.5, (4, 8))
out = jnp.where(mask, noise @ weights["w0"], 0.0)
""",
    "a scan that draws": """
def walk(carry, key):
    step = random.normal(key, carry.shape)
    return carry + 0.1 * step, carry.sum()
last, path = jax.lax.scan(walk, x, random.split(key, 20))
""",
}

TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 40


class Clock:
    """CPU seconds that calls of functions took."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def on(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*args: Any, **keywords: Any) -> Any:
            settle()
            start = time.thread_time()
            try:
                return function(*args, **keywords)
            finally:
                self.seconds += time.thread_time() - start

        return timed

    def take(self) -> float:
        """What there is, and begins anew."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def settle() -> None:
    """Has malloc sort what was freed before: XLA frees much, and whoever asks for memory next takes milliseconds."""
    for size in (600, 5_000, 200_000):
        bytearray(size)


def measure(
    cell: str, namespace: dict[str, Any], tracing: Clock, looking: Clock, turns: int, first: bool
) -> tuple[list[tuple[float, float]], list[float]]:
    """For each run, what tracing and looking took; and what looking took when the program was reused.

    Args:
      cell: its text.
      namespace: what it begins with.
      tracing: is on what traces.
      looking: is on what looks for findings.
      turns: how many runs.
      first: whether JAX is to forget before each run what it has traced of its own functions.
    """
    pairs: list[tuple[float, float]] = []
    warm: list[float] = []
    for turn in range(turns + 3):
        file = f"<cell {id(cell)} {turn}>"  # a text of its own is a cell that was never read
        text = f"{cell.strip()}\n# {turn}"
        linecache.cache[file] = (len(text), None, list(text.splitlines(keepends=True)), file)
        own, names = Looking(), dict(namespace)
        if first:
            jax.clear_caches()
        gc.collect()
        own.stage(text, names, StageOptions(block=True), filename=file)
        pairs.append((tracing.take(), looking.take()))
        names = dict(namespace)
        own.stage(text, names, StageOptions(block=True), filename=file)
        warm.append(own.again())
        for clock in (tracing, looking):
            clock.take()
    return pairs[3:], warm[3:]


class Observing(Findings):
    """Remembers its last look."""

    last_look: Callable[[], Any]

    def on_ran(self, *run: Any) -> Any:
        look = super().on_ran
        self.last_look = lambda: look(*run)
        return self.last_look()


class Looking(Session):
    """A session that can look for findings once more, as it did after its last run."""

    def __init__(self) -> None:
        self.observing = Observing()
        super().__init__(observer=self.observing)

    def again(self, times: int = 100) -> float:
        """The seconds that one more look takes."""
        start = time.thread_time()
        for _ in range(times):
            self.observing.last_look()
        return (time.thread_time() - start) / times


def share(pairs: list[tuple[float, float]]) -> str:
    """What detectors take, and of which part of tracing that is; the medians."""
    trace, look = (statistics.median(pair[at] for pair in pairs) for at in range(2))
    part = statistics.median(look / trace for trace, look in pairs)
    return f"{part:.1%} ({look * 1e6:.0f} us of {trace * 1e3:.2f} ms)"


def main() -> None:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(SETUP, "<setup>", "exec"), namespace)
    linecache.cache["<setup>"] = (len(SETUP), None, [f"{line}\n" for line in SETUP.split("\n")], "<setup>")
    tracing, looking = Clock(), Clock()
    making.trace_piece = tracing.on(making.trace_piece)
    findings.glance, findings.run_lints = looking.on(findings.glance), looking.on(findings.run_lints)
    for name, cell in CELLS.items():
        edited, warm = measure(cell, namespace, tracing, looking, TURNS, first=False)
        first, _ = measure(cell, namespace, tracing, looking, max(5, TURNS // 4), first=True)
        print(
            f"{name}: edited {share(edited)}, first {share(first)}; a warm run {statistics.median(warm) * 1e6:.1f} us"
        )


if __name__ == "__main__":
    main()
