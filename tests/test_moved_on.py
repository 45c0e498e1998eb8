"""What moves on when it is used moves once: random states, iterators, queues that methods and helpers use.

Behind each cell stands a line that needs a value. A trace that is given up because of it must not have drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxnb

PRELUDE = """
import collections, hashlib, io, itertools, queue, random
import jax, jax.numpy as jnp, numpy as np
t = jnp.linspace(0.0, 1.0, 16)
"""
HOLDS = """
class Holds:
    def __init__(self): self.it, self.scale = {made}, 2.0
    def draw(self): return {drawn}
    def __iter__(self):
        for _ in range(3):
            yield self.draw()
held = Holds()
"""
STATES = {
    "generator of NumPy": ("np.random.default_rng(0)", "self.it.normal()"),
    "random state": ("np.random.RandomState(0)", "self.it.normal()"),
    "bits": ("np.random.PCG64(0)", "float(self.it.random_raw() % 7)"),
    "random of Python": ("random.Random(0)", "self.it.random()"),
    "count": ("itertools.count()", "next(self.it)"),
    "cycle": ("itertools.cycle([1, 2, 3])", "next(self.it)"),
    "iterator": ("iter([1, 2, 3] * 9)", "next(self.it)"),
    "generator": ("(i for i in range(99))", "next(self.it)"),
    "zip": ("zip(range(99), range(99))", "next(self.it)[0]"),
    "map": ("map(abs, range(99))", "next(self.it)"),
    "text": ("io.StringIO('1\\n2\\n3\\n' * 9)", "float(self.it.readline())"),
    "hash": ("hashlib.md5()", "self.it.update(b'a') or self.it.digest()[0]"),
}
SETUPS = {
    "list": "places = [random.Random(0)]\ndef draw(): return places[0].random()",
    "dict": "places = {'r': random.Random(0)}\ndef draw(): return places['r'].random()",
    "named tuple": "P = collections.namedtuple('P', 'a b')\np = P(itertools.count(), 2)\ndef draw(): return next(p.a)",
    "closure": "def make():\n    rng = np.random.default_rng(0)\n    return lambda: rng.normal()\ndraw = make()",
    "default": "def draw(rng=np.random.default_rng(0)): return rng.normal()",
    "method": HOLDS.format(made="np.random.default_rng(0)", drawn="self.it.normal()") + "draw = held.draw",
    "queue": "waiting = queue.Queue()\nfor i in range(99): waiting.put(i)\n"
    "class Q:\n    def __init__(self): self.q = waiting\n    def get(self): return self.q.get()\nq = Q()\ndraw = q.get",
    "called": "class M:\n    def __init__(self): self.rng = np.random.default_rng(0)\n"
    "    def __call__(self): return self.rng.normal()\ndraw = M()",
}
CELLS = {
    "value": "w = t * draw()\nv = float(w.sum())",
    "condition": "w = t * draw()\nif w.sum() > 0:\n    v = w + 1\nelse:\n    v = w",
    "not traced": "w = t * draw()\nv = w * len(np.nonzero(w > 0.5)[0])",
    "loop": "v = []\nfor _ in range(3):\n    w = t * draw()\n    v.append(float(w.sum()))",
}
ITERATED = {
    "for": "out = np.zeros(3)\nfor i, k in enumerate(held):\n    w = t.sum() * k\n    out[i] = w\nv = out",
    "comprehension": "v = [float((t * k).sum()) for k in held]",
    "other attribute": "k = t * held.scale\nw = t * held.draw()\nv = float(w.sum())\nz = k * held.scale",
}


def _agrees(setup: str, cell: str) -> jaxnb.Run:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    exec(PRELUDE + setup, plain)
    exec(PRELUDE + setup, staged)
    runs: list[jaxnb.Run] = []
    for _ in range(3):
        exec(cell, plain)
        runs.append(jaxnb.stage(cell, staged))
        assert np.allclose(plain["v"], staged["v"])
    return runs[-1]


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_of_an_object(state: tuple[str, str]) -> None:
    _agrees(HOLDS.format(made=state[0], drawn=state[1]) + "draw = held.draw", CELLS["value"])


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
@pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
def test_wherever_it_is_held(setup: str, cell: str) -> None:
    _agrees(setup, cell)


@pytest.mark.parametrize("cell", ITERATED.values(), ids=ITERATED)
def test_in_an_object_that_is_iterated(cell: str) -> None:
    _agrees(HOLDS.format(made="np.random.default_rng(0)", drawn="self.it.normal()"), cell)


def test_only_what_uses_it_is_run_by_python() -> None:
    setup = "class Holds:\n    def __init__(self): self.rng, self.scale = np.random.default_rng(0), 2.0\n"
    setup += "    def draw(self): return self.rng.normal()\nheld = Holds()"
    run = _agrees(setup, "v = jnp.sin(t * held.scale).sum()")
    assert run.reused and run.pieces == 1 and not run.on_host
