"""Fifty cells in turns in one kernel, interrupted and killed at random: nothing half done, and memory flat.

Run with `python benchmarks/soak.py [ROUNDS] [--kernel] [--seed=SEED]`. A round is one run of one cell; 10,000 is the
long form. What interrupts is a signal at a random moment. After it every cell has left its names as they were before
or as they are after it, never between: each cell moves a count in a name and the same count in an array, an object and
a list, which must agree. Printed per tenth: the resident memory, live arrays and tracers, and programs held.

With `--kernel` the cells run in a real kernel, which is interrupted, and killed and started again, at random.
"""

from __future__ import annotations

import gc
import io
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

SETUP = """\
import jax, jax.numpy as jnp, numpy as np
class Keeper:
    def __init__(self):
        self.count, self.array, self.items = 0, jnp.zeros(3), [jnp.zeros(())]
    def step(self, a):
        return jnp.tanh(a + self.array * 0.5)
def make():
    return dict(count=0, array=jnp.zeros(3), keeper=Keeper(), table={'n': 0, 'v': jnp.zeros(3)}, y=jnp.ones(3))
def agrees(count, array, keeper, table):
    held = [count, int(array[0]), keeper.count, int(keeper.array[0]), int(keeper.items[-1]), table['n']]
    return len({*held, int(table['v'][0])}) == 1
w = jnp.eye(3) * 0.5
"""
MOVES = (
    "count = count + 1",
    "array = array + 1",
    "keeper.count += 1",
    "keeper.array = keeper.array + 1",
    "keeper.items.append(keeper.items[-1] + 1)\nkeeper.items = keeper.items[-3:]",
    "table['n'] += 1",
    "table['v'] = table['v'] + 1",
)
BETWEEN = (
    "y = jnp.tanh(w @ y) + 0.5",
    "print(f'{y.sum():.3f}')",
    "y = keeper.step(y)",
    "for i in range(3):\n    y = jnp.sin(y) + 0.1 * i",
    "if y.sum() > 1.5:\n    y = y * 0.5",
    "h = np.linspace(0, 1, 3)\ny = y * jnp.asarray(h) + 0.25",
    "g = jax.grad(lambda a: (a ** 2).sum())(y)\ny = y - 0.01 * g",
    "y = jax.lax.scan(lambda c, _: (c * 0.5, c), y, None, length=3)[0] + 0.5",
    "z = {'a': y, 'b': [y * 2]}\nz['c'] = jax.tree.map(jnp.sum, z)",
    "def f(a):\n    return a * 0.5 + array.mean() * 0\ny = f(y) + 0.5",
)


def cells(seed: int) -> list[str]:
    """Fifty cells, each with every move once, in an order of its own, and other statements between."""
    draw = random.Random(seed)
    made: list[str] = []
    for number in range(50):
        parts = [*draw.sample(MOVES, len(MOVES)), *draw.sample(BETWEEN, 3)]
        middle = parts[:-1]
        draw.shuffle(middle)
        made.append("\n".join([*middle, parts[-1], f"y{number} = y + {number}"]))
    return made


def resident() -> float:
    """MiB of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def report(done: int, told: Counter[str], tracers: int, arrays: int, memory: float, programs: int | None) -> None:
    what = ", ".join(f"{name} {number}" for name, number in sorted(told.items()))
    held = "" if programs is None else f", {programs} programs"
    print(f"{done} runs: {memory:.0f} MiB, {arrays} live arrays, {tracers} tracers{held}; {what}", flush=True)


def in_process(rounds: int, seed: int) -> None:
    """The cells in this process, a third of the runs interrupted by a timer."""
    import jax
    from jax.core import Tracer

    import jaxnb
    from jaxnb.staging import current_session

    draw, names, told = random.Random(seed), dict[str, Any](), Counter[str]()
    exec(SETUP, names)
    names.update(names["make"]())
    texts = cells(seed)
    typical = 0.02
    every = max(rounds // 10, 1)
    for turn in range(rounds):
        before = names["count"]
        error: BaseException | None = None
        out, printed = sys.stdout, io.StringIO()
        sys.stdout = printed  # no context manager, whose end could be interrupted as well
        start = time.perf_counter()
        try:
            if draw.random() < 0.33:
                signal.setitimer(signal.ITIMER_REAL, draw.uniform(1e-4, 2 * typical))
            jaxnb.stage(texts[turn % 50], names)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt as raised:
            error = raised
        signal.setitimer(signal.ITIMER_REAL, 0)
        told["OTHER STREAM"] += sys.stdout is not printed
        sys.stdout = out
        if error is None:
            typical = 0.9 * typical + 0.1 * (time.perf_counter() - start)
        moved = names["count"] - before
        state = "after" if moved == 1 else "before" if moved == 0 else f"moved {moved}"
        told[("interrupted, as " if error else "ran, as ") + state] += 1
        held = [names[name] for name in ("count", "array", "keeper", "table")]
        if not names["agrees"](*held):
            told["BETWEEN"] += 1
            print(f"between, at run {turn}, cell {turn % 50}: {held[0]}, {held[1]}, {vars(held[2])}, {held[3]}")
            names.update(names["make"]())
        if (turn + 1) % every == 0:
            del error, held
            gc.collect()
            tracers = sum(isinstance(each, Tracer) for each in gc.get_objects())
            report(turn + 1, told, tracers, len(jax.live_arrays()), resident(), len(list(current_session().programs())))


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


class _Kernel:
    """A real kernel, in which the cells run under the magic."""

    def __init__(self) -> None:
        from jupyter_client.manager import KernelManager

        self.manager = KernelManager(kernel_name="python3")
        self.manager.start_kernel(extra_arguments=["--quiet"])
        self._begin()

    def _begin(self) -> None:
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)
        self.run("%load_ext jaxnb\n" + SETUP + "globals().update(make())\n")

    def run(self, text: str, seconds: float = 120) -> tuple[str, str]:
        """The status and what was printed: "ok", "error", or "lost" where no answer came.

        An interrupt that comes while the kernel unpacks a request, or is about to answer it, makes it forget that.
        """
        printed: list[str] = []

        def take(message: Any) -> None:
            if message["msg_type"] == "stream":
                printed.append(message["content"]["text"])

        try:
            answer = self.client.execute_interactive(text, output_hook=take, timeout=seconds)
        except TimeoutError:
            return "lost", ""
        return answer["content"]["status"], "".join(printed)

    def start(self, text: str) -> None:
        self.client.execute(text)

    def again(self) -> None:
        """Killed, and started anew."""
        self.client.stop_channels()
        self.manager.restart_kernel(now=True)
        self._begin()

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


STATE = """\
import gc, os
print(count, agrees(count, array, keeper, table), len(jax.live_arrays()),
      sum(isinstance(each, jax.core.Tracer) for each in gc.get_objects()),
      int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE') / 2**20)
"""


def in_kernel(rounds: int, seed: int) -> None:
    """The cells in a kernel that is interrupted in a third of the runs, and killed in one of a hundred."""
    draw, told, kernel = random.Random(seed), Counter[str](), _Kernel()
    texts = cells(seed)
    count, every = 0, max(rounds // 10, 1)
    try:
        for turn in range(rounds):
            text = "%%jit\n" + texts[turn % 50]
            if draw.random() < 0.01:
                kernel.start(text)
                time.sleep(draw.uniform(0, 0.3))
                kernel.again()
                told["killed"] += 1
                count = 0
                continue
            interrupted = draw.random() < 0.33
            if interrupted:
                threading.Timer(draw.uniform(0, 0.1), kernel.manager.interrupt_kernel).start()
            status, _ = kernel.run(text, 30 if interrupted else 120)
            if status == "lost" and not interrupted:
                raise TimeoutError(f"no answer at run {turn}")
            if interrupted:
                time.sleep(0.12)  # so that the signal does not meet what asks for the state
            _, printed = kernel.run(STATE)
            now, agree, arrays, tracers, memory = printed.split()
            told[f"{'with' if interrupted else 'without'} interrupt, {status}, moved {int(now) - count}"] += 1
            count = int(now)
            if agree != "True":
                told["BETWEEN"] += 1
                print(f"between, at run {turn}, cell {turn % 50}")
                kernel.run("globals().update(make())")
                count = 0
            if (turn + 1) % every == 0:
                report(turn + 1, told, int(tracers), int(arrays), float(memory), None)
    finally:
        kernel.close()


def main() -> None:
    given = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    seeds = [argument.partition("=")[2] for argument in sys.argv if argument.startswith("--seed=")]
    seed = int(seeds[0]) if seeds else random.SystemRandom().randrange(2**32)
    rounds = int(given[0]) if given else 300
    print(f"{rounds} runs of 50 cells, repeat with --seed={seed}", flush=True)
    if "--kernel" in sys.argv:
        in_kernel(rounds, seed)
    else:
        signal.signal(signal.SIGALRM, interrupt)
        in_process(rounds, seed)


if __name__ == "__main__":
    main()
