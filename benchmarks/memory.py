"""Memory over 1,000 re-runs of a cell: live buffers and resident memory should stay flat.

A cell that is reused as it stands; one whose helper is rebound each time as a closure over a fresh constant of 16 MB;
and the two loops in which plain JAX grows, `jax.closure_convert` and a method with a static `self`. Beside each, in the
same process, the same loop plainly. Run with `make bench`.
"""

from __future__ import annotations

import gc
import os
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp

import jaxnb

RERUNS = 1_000
REBINDINGS = 100
MEGABYTE = 1 << 20


def resident() -> float:
    """Resident memory of this process, in MB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MEGABYTE


def live() -> float:
    """Bytes in live device buffers, in MB."""
    gc.collect()
    return sum(array.nbytes for array in jax.live_arrays()) / MEGABYTE


def report(name: str, before: tuple[float, float], count: int) -> None:
    print(f"{name}, {count} runs: live buffers {live() - before[0]:+.2f} MB, resident {resident() - before[1]:+.1f} MB")


def make(constant: Any) -> Any:
    def helper(a: Any) -> Any:
        return a + constant.sum()

    return helper


def main() -> None:
    namespace: dict[str, Any] = {"jnp": jnp, "x": jnp.ones(1000)}
    cell = "y = jnp.sin(x) * 2\nhistory = [y, x]\nz = {'a': y.sum()}"
    for _ in range(20):
        jaxnb.stage(cell, namespace)
    before = live(), resident()
    for _ in range(RERUNS):
        assert jaxnb.stage(cell, namespace).reused
    report("the same cell", before, RERUNS)

    def rebind(turn: int) -> Any:
        return make(jnp.full(4 * MEGABYTE, turn, jnp.float32))

    for turn in range(5):
        namespace["f"] = rebind(turn)
        jaxnb.stage("y = f(x)", namespace)
    before = live(), resident()
    reused = 0
    for turn in range(REBINDINGS):
        namespace["f"] = rebind(turn)
        reused += jaxnb.stage("y = f(x)", namespace, block=True).reused
    report("a closure over 16 MB rebound each time, staged", before, REBINDINGS)
    print(f"  of which reused: {reused}")
    del namespace["f"]
    print(f"  after dropping the closure: live buffers {live() - before[0]:+.2f} MB")

    before = live(), resident()
    for turn in range(REBINDINGS):
        jax.block_until_ready(jax.jit(rebind(turn))(namespace["x"]))
    report("the same under jax.jit", before, REBINDINGS)
    for name, (setup, cell) in GROWING.items():
        for staged in (True, False):
            grow(name, setup, cell, staged)


GROWING = {
    "jax.closure_convert": ("f = make(jnp.full(SIZE, turn))", "g, held = jax.closure_convert(f, x)\ny = g(x, *held)"),
    "a method with a static self": ("model = Model(turn)", "y = model.step(x)"),
}
CLASSES = """
import functools
import jax, jax.numpy as jnp
class Model:
    def __init__(self, value):
        self.w = jnp.full(SIZE, value)
    @functools.partial(jax.jit, static_argnums=0)
    def step(self, a):
        return a * self.w.sum()
"""


def grow(name: str, setup: str, cell: str, staged: bool) -> None:
    """Rebinds 40 times what a cell uses, staged or plainly, and says what is left."""
    namespace: dict[str, Any] = {"__name__": "__main__", "make": make, "SIZE": MEGABYTE, "x": jnp.ones(1000)}
    exec(CLASSES, namespace)
    before = (0.0, 0.0)
    for turn in range(45):
        if turn == 5:
            before = live(), resident()
        namespace["turn"] = turn
        exec(setup, namespace)
        if staged:
            jaxnb.stage(cell, namespace)
        else:
            exec(cell, namespace)
    report(f"{name} over 4 MB rebound each time, {'staged' if staged else 'plainly'}", before, 40)


if __name__ == "__main__":
    main()
