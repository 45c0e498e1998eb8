"""In the turns of a loop the call of a large compiled function is a program of its own, which XLA compiles once."""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb

LOOP = """for n, x in enumerate(data):
    loss, w = step(w, x)
    total += loss
    count += 1
    if n % 2 == 0:
        print(f"{n} {total / count:.3f}")
        total, count = 0.0, 0"""


def names(layers: int) -> dict[str, Any]:
    def loss_of(w: list[jax.Array], x: jax.Array) -> jax.Array:
        for one in w:
            x = jnp.tanh(x @ one) + jax.nn.gelu(x)
        return jnp.mean(x**2)

    @jax.jit
    def step(w: list[jax.Array], x: jax.Array) -> tuple[jax.Array, list[jax.Array]]:
        loss, grads = jax.value_and_grad(loss_of)(w, x)
        return loss, jax.tree.map(lambda a, b: a - 0.1 * b, w, grads)

    data = [np.full((2, 4), n, np.float32) for n in range(5)]
    return {"step": step, "data": data, "w": [jnp.eye(4)] * layers, "total": 0.0, "count": 0}


def equations(run: Any) -> int:
    found = re.search(r"([\d,]+) eqns", str(run.status))
    assert found is not None
    return int(found[1].replace(",", ""))


def test_a_step_is_compiled_once_whatever_stands_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    plain, staged = names(12), names(12)
    for _ in range(3):
        exec(LOOP, plain)
        printed = capsys.readouterr().out
        run = jaxnb.stage(LOOP, staged)
        assert capsys.readouterr().out == printed
        np.testing.assert_array_equal(staged["w"][3], plain["w"][3])
        assert float(staged["total"]) == float(plain["total"])
    assert run.reused
    one = jax.make_jaxpr(staged["step"])(staged["w"], staged["data"][0])
    inside = one.eqns[0].params["jaxpr"].eqns
    assert equations(run) < 2 * len(inside)
    pieces = re.search(r"(\d+) pieces", str(run.status))
    assert pieces is not None
    assert int(pieces[1]) >= 3


def test_a_small_one_stays_with_what_stands_beside_it() -> None:
    given = names(1)
    run = jaxnb.stage(LOOP.replace('print(f"{n} {total / count:.3f}")', "pass"), given)
    assert "pieces" not in str(run.status)
