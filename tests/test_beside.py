"""Cells while another thread of the user's runs: copies of what they reach are traced, and all is as plainly."""

from __future__ import annotations

import dataclasses
import random
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cells import CASES, Case
from differential import check_case
from drawing import DEEP, drawn_seed

import jaxnb

SAMPLE = 60
SEED = drawn_seed()
POOL = [case for case in CASES if not case.raises and not case.options.get("whole")]
SAMPLED = POOL if DEEP else random.Random(SEED).sample(POOL, SAMPLE)


@pytest.fixture(autouse=True)
def _beside() -> Iterator[None]:
    done = threading.Event()
    thread = threading.Thread(target=lambda: done.wait())  # code of the user's, as this module is no library
    thread.start()
    yield
    done.set()
    thread.join()


@pytest.mark.parametrize("case", SAMPLED, ids=lambda case: f"{case.theme}-{case.name}-seed={SEED}")
def test_cells_give_what_the_plain_cells_give(case: Case) -> None:
    """What cannot be copied makes its statement Python's, and what a class holds is static: more is run anew."""
    check_case(dataclasses.replace(case, may_refuse=True, reused2=None, reused=(None,) * len(case.changes)))


@pytest.mark.parametrize(
    ("setup", "cell"),
    [
        (
            "import weakref\nclass Key: pass\nk = Key()\nd = weakref.WeakKeyDictionary({k: x * 2})",
            "d[k] = d[k] + 1\ny = d[k] * 2",
        ),
        (
            'own = {"jnp": jnp, "gain": 2.0}\nexec("def act(v):\\n    return jnp.tanh(v) * gain", own)',
            "y = own['act'](x)\nown['gain'] = own['gain'] + 1.0\nz = own['act'](x)",
        ),
        ("key = jax.random.key(0)", "key, sub = jax.random.split(key)\ny = jax.random.normal(sub, (3,))"),
        ("seen = []", "jax.debug.callback(lambda v: seen.append(float(v)), x.sum())\ny = x + len(seen)"),
        ("jitted = jax.jit(lambda v, n: v * n, static_argnames='n', keep_unused=True)", "y = jitted(x, n=3)"),
    ],
)
def test_what_is_copied_is_as_it_was(setup: str, cell: str) -> None:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(f"import jax, jax.numpy as jnp\nx = jnp.arange(3.0)\n{setup}", namespace)
    for _ in range(3):
        exec(cell, plain)
        jaxnb.stage(cell, staged)
        for namespace in (plain, staged):
            exec("jax.effects_barrier()", namespace)
        for name in {"y", "z"} & plain.keys():
            np.testing.assert_allclose(staged[name], plain[name], rtol=1e-6)
        assert staged.get("seen") == plain.get("seen")
