"""What is alive (locks, threads, files, event loops, queues, executors, loggers) is left alone by a trace."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import io
import logging
import queue
import random
import socket
import sys
import threading
import warnings
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb.staging.objects.alive import is_alive


class Own:
    """A class of the user: what it holds may be computed with, a lock beside it or not."""

    def __init__(self) -> None:
        self.lock, self.scale, self.weights = threading.Lock(), 0.5, jnp.ones(3)


def test_what_is_alive() -> None:
    loop, pair = asyncio.new_event_loop(), socket.socketpair()
    pool = concurrent.futures.ThreadPoolExecutor(1)
    alive = [
        threading.Lock(),
        threading.Condition(),
        threading.Event(),
        threading.Thread(),
        queue.Queue(),
        io.StringIO(),
        logging.getLogger("jaxnb.some"),
        logging.StreamHandler(),
        concurrent.futures.Future(),
        loop,
        pool,
        *pair,
    ]
    try:
        assert [type(item) for item in alive if not is_alive(item)] == []
    finally:
        loop.close()
        pool.shutdown()
        for end in pair:
            end.close()


def test_what_is_not() -> None:
    jitted = jax.jit(lambda x: x)
    plain = [1.5, "text", [1.0], {"a": 1}, jnp.ones(3), np.ones(3), Own(), random.Random(0), jitted, Path("."), len]
    assert [type(item) for item in plain if is_alive(item)] == []


def staged_and_plain(setup: str, cell: str, again: int = 3) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
    """A cell that is run some times, staged and plainly: the names of each, and the runs."""
    staged: dict[str, Any] = {"__name__": "__main__", "jnp": jnp, "x": jnp.arange(3.0)}
    plain = dict(staged)
    for names in (staged, plain):
        exec(setup, names)
    runs: list[Any] = []
    for _ in range(again):
        exec(cell, plain)
        runs.append(jaxnb.stage(cell, staged))
    return staged, plain, runs


def test_floats_of_an_event_loop_are_never_inputs() -> None:
    setup = """
import asyncio
class Trainer:
    def __init__(self, loop): self.waiting, self.w, self.rate = loop, jnp.ones(3), 0.5
    def step(self, x): return self.w * x * self.rate
loop = asyncio.new_event_loop()
trainer = Trainer(loop)
"""
    staged, plain, runs = staged_and_plain(setup, "y = trainer.step(x)")
    np.testing.assert_allclose(staged["y"], plain["y"])
    assert runs[0].inputs == 3  # w, rate and x
    for names in (staged, plain):
        names["loop"].close()


@pytest.mark.parametrize(
    ("setup", "cell"),
    [
        ("import queue\nq = queue.Queue()", "y = x * 2\nq.put(y)\nz = q.get() + 1"),
        (
            "import concurrent.futures as cf\npool = cf.ThreadPoolExecutor(2)\ndef f(v): return v * 2",
            "y = x + 1\nz = sum(pool.map(f, [y, y]))",
        ),
        ("import threading\nready = threading.Event()", "y = x + 1\nready.set()\nz = y * ready.is_set()"),
        ("import io\nout = io.StringIO()", "y = x + 1\nout.write('a')\nz = y * len(out.getvalue())"),
    ],
)
def test_calls_on_them_are_pythons_each_time(setup: str, cell: str) -> None:
    staged, plain, runs = staged_and_plain(setup, cell)
    np.testing.assert_allclose(staged["z"], plain["z"])
    assert runs[-1].host_lines


def test_an_object_with_a_lock_is_computed_with() -> None:
    setup = """
import threading
import warnings
class Sums:
    def __init__(self): self.lock, self.total, self.rate = threading.Lock(), jnp.zeros(3), 0.1
    def add(self, x):
        with self.lock:
            self.total = self.total + self.rate * x
sums = Sums()
"""
    staged, plain, _ = staged_and_plain(setup, "sums.add(x)\ny = sums.total * 2")
    np.testing.assert_allclose(staged["y"], plain["y"])
    np.testing.assert_allclose(staged["sums"].total, plain["sums"].total)
    assert not staged["sums"].lock.locked()


SAVES = {
    "made in the cell": (
        "",
        "saver = ocp.StandardCheckpointer()\nsaver.save(folder / f'c{n}', state)\nsaver.wait_until_finished()",
    ),
    "made before": (
        "saver = ocp.StandardCheckpointer()\n",
        "saver.save(folder / f'c{n}', state)\nsaver.wait_until_finished()",
    ),
    "a manager": (
        "saver = ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(max_to_keep=2))\n",
        "saver.save(n, args=ocp.args.StandardSave(state))\nsaver.wait_until_finished()",
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SAVES)
def test_checkpoints_are_finished(name: str, tmp_path: Path) -> None:
    pytest.importorskip("orbax.checkpoint")
    setup, save = SAVES[name]
    found: list[list[str]] = []
    for staged in (False, True):
        folder = tmp_path / str(staged)
        folder.mkdir()
        names: dict[str, Any] = {"__name__": "__main__", "jnp": jnp, "folder": folder, "n": 0}
        names["state"] = {"w": jnp.arange(4.0), "rate": 0.5}
        exec("import orbax.checkpoint as ocp\n" + setup, names)
        cell = "n = n + 1\nstate = {**state, 'w': state['w'] * 2}\n" + save
        for _ in range(3):
            if staged:
                jaxnb.stage(cell, names)
            else:
                exec(cell, names)
        names["saver"].close()
        found.append(sorted(str(path.relative_to(folder)) for path in folder.glob("*")))
        last = names["folder"] / found[-1][-1]
        restored = names["ocp"].StandardCheckpointer().restore(last / "default" if name == "a manager" else last)
        np.testing.assert_allclose(restored["w"], 8 * np.arange(4.0))
        names.clear()
    assert found[0] == found[1] and len(found[0]) in (2, 3)


def test_what_a_trace_has_begun_ends_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """A coroutine that was never awaited, and a loop that was stopped in its constructor."""
    said: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: said.append(str(unraisable.exc_value)))
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec("import asyncio, jax.numpy as jnp\nx = jnp.ones(2)\nasync def f(v):\n    return v * 2", namespace)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            jaxnb.stage("y = asyncio.run(f(x))\nloop = asyncio.new_event_loop()\nloop.close()", namespace)
            gc.collect()
    assert not said and namespace["y"].tolist() == [2.0, 2.0]
