"""Sets of objects: whatever order they are met in, what is computed for an object is bound to that very object.

The hashes are chosen, so that objects collide, and that it depends on the history of a set in which order it is walked.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest

import jaxnb

SETUP = """\
import jax.numpy as jnp
x = jnp.array([0.5, 1.0, 2.0])
class Sub:
    def __init__(self, tag, place):
        self.tag, self.place, self.total = tag, place, jnp.zeros(())
    def __hash__(self):
        return self.place
def fire(subs, v):
    for s in sorted(subs, key=lambda s: s.tag):
        s.total = s.total + v.sum() * s.tag
"""

CELLS = {
    "changes nothing": "fire(subs, x)",
    "adds one": "fire(subs, x)\nsubs.add(Sub(len(subs) + 1, place))\nfire(subs, x * 2)",
    "adds many": "subs.update([Sub(100 + n, place + n) for n in range(9)])\nfire(subs, x * 2)",
    "takes one": "fire(subs, x)\nsubs.discard(max(subs, key=lambda s: s.tag, default=None))\nfire(subs, x * 2)",
    "puts one back": "one = max(subs, key=lambda s: s.tag)\nsubs.remove(one)\nfire(subs, x)\nsubs.add(one)",
    "empties and fills": "old = sorted(subs, key=lambda s: -s.tag)\nsubs.clear()\nsubs.update(old)\nfire(subs, x)",
    "grows and shrinks": """\
more = [Sub(100 + n, place + n) for n in range(20)]
subs.update(more)
fire(subs, x)
subs.difference_update(more)
fire(subs, x * 2)""",
}


def _subs(makes: Any, rng: random.Random) -> Any:
    """A set that has come about in some way: with collisions, at any size, and after some were taken out."""
    made = [makes(n + 1, rng.choice([7, 15, 23, 8, rng.randrange(64)])) for n in range(rng.randrange(1, 12))]
    dropped = [makes(0, rng.randrange(32)) for _ in range(rng.randrange(8))]
    found: set[Any] = set()
    for item in rng.sample(mixed := [*made, *dropped], len(mixed)):
        found.add(item)
    found.difference_update(dropped)
    return found if rng.random() < 0.5 else set(found)


def _namespace(seed: int, act: str = "pass") -> dict[str, Any]:
    lines = "".join(f"    {line}\n" for line in act.splitlines())
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(f"{SETUP}def act(subs, place):\n{lines}", namespace)
    rng = random.Random(seed)
    groups = [(_subs(namespace["Sub"], rng), rng.choice([7, 15, 8, 31])) for _ in range(10)]
    known = [sorted(subs, key=lambda s: s.tag) for subs, _ in groups]
    return {**namespace, "groups": groups, "known": known}


CELL = "for subs, place in groups:\n    act(subs, place)"


def _totals(namespace: dict[str, Any]) -> list[Any]:
    groups = [*namespace["known"], *(subs for subs, _ in namespace["groups"])]
    return [sorted((s.tag, round(float(s.total), 3)) for s in group) for group in groups]


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("seed", range(2))
def test_values_land_in_their_objects(name: str, seed: int) -> None:
    plain, staged = (_namespace(seed, CELLS[name]) for _ in range(2))
    for _ in range(3):
        exec(CELL, plain)
        jaxnb.stage(CELL, staged)
        assert _totals(staged) == _totals(plain)


@pytest.mark.parametrize("seed", range(2))
def test_values_land_in_their_objects_while_another_thread_looks(seed: int) -> None:
    plain, staged = (_namespace(seed, CELLS["adds one"]) for _ in range(2))
    stop = threading.Event()
    thread = threading.Thread(target=lambda known=staged["known"]: stop.wait() and known)
    thread.start()
    try:
        exec(CELL, plain)
        jaxnb.stage(CELL, staged)
    finally:
        stop.set()
        thread.join()
    assert _totals(staged) == _totals(plain)


def _numbers() -> dict[str, Any]:
    rng = random.Random(0)
    sets = [set(rng.sample(range(40), rng.randrange(1, 9))) for _ in range(40)]
    sets = [done for done in sets if [*done] in ([*{*[*done]}], [*{*[*done][::-1]}])]  # others collide more than once
    return {**_namespace(0), "sets": sets, "more": [rng.randrange(40) for _ in sets]}


def test_numbers_stay_in_the_order_of_the_plain_cell() -> None:
    cell = "for done, n in zip(sets, more):\n    done.add(n)\n    y = x + len(done)\n    done.discard(n + 8)"
    plain, staged = _numbers(), _numbers()
    exec(cell, plain)
    jaxnb.stage(cell, staged)
    assert [[*done] for done in staged["sets"]] == [[*done] for done in plain["sets"]]


def test_a_failed_cell_leaves_the_order() -> None:
    before, staged = _numbers(), _numbers()
    with pytest.raises(ValueError):
        jaxnb.stage("for done in sets:\n    done.update(range(50, 70))\ny = x + 1\nraise ValueError", staged)
    assert [[*done] for done in staged["sets"]] == [[*done] for done in before["sets"]]
