"""Loops inside of functions: layers of a model are compiled, turns of a training are not written out by the hundred."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import jaxnb
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.staging.session.session import Session
from jaxnb.staging.trace import written_out

SETUP = """
import jax, jax.numpy as jnp
w, x, layers = jnp.eye(4) * 0.5, jnp.ones((3, 4)), [jnp.eye(4) * 0.9] * {layers}
def loss_of(w, x):
    h = jnp.tanh(x @ w)
    h = jnp.where(h > 0, h, jnp.exp(h) - 1) + jnp.sin(h) * jnp.cos(h)
    return ((h - x) ** 2).mean()
def train(w, turns):
    for _ in range(turns):
        loss, slope = jax.value_and_grad(loss_of)(w, x)
        w = w - 0.1 * slope
    return w, loss
def train_in_one_line(w, turns):
    for _ in range(turns): w = w - 0.1 * jax.grad(loss_of)(w, x)
    return w
@jax.jit
def step(w):
    for _ in range(3): w = w - 0.1 * jax.grad(loss_of)(w, x)
    return w
def train_compiled(w, turns):
    for _ in range(turns): w = step(w)
    return w
def block(w, h):
    a = jax.nn.softmax(h @ w, axis=-1) @ w.T + jnp.tanh(h)
    a = (a - a.mean(-1, keepdims=True)) / jnp.sqrt(a.var(-1, keepdims=True) + 1e-3)
    return h + jax.nn.gelu(a @ w) @ w.T
def forward(layers, h):
    for w in layers:
        h = block(w, h)
    return h
def forward_in_one_line(layers, h):
    for w in layers: h = block(w, h)
    return (h ** 2).mean()
"""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the equations and the turns, so that nothing takes long."""
    for name in ("LARGE", "_HUGE"):
        monkeypatch.setattr(written_out, name, getattr(written_out, name) // 10)
    monkeypatch.setattr(written_out, "_MANY", 24)


def names_with(layers: int = 2) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP.replace("{layers}", str(layers)), names)
    return names


TRAINING = ["y, l = train(w, 12)", "y = train_in_one_line(w, 12)", "y = train_compiled(w, 6)"]


@pytest.mark.parametrize("cell", TRAINING)
def test_python_turns_what_trains(cell: str) -> None:
    names = names_with()
    runs = [jaxnb.stage(cell, names) for _ in range(2)]
    for run in runs:
        assert run.pieces == 0 and "the loop in train" in run.line, run.line
    expected = names_with()
    exec(cell, expected)
    np.testing.assert_allclose(names["y"], expected["y"], rtol=1e-6)


def test_what_stands_beside_it_is_staged() -> None:
    names = names_with()
    run = jaxnb.stage("a = jnp.sin(x)\nb = a * 2\ny, l = train(w, 12)\nc = b + jnp.cos(x)", names)
    assert run.pieces == 2 and list(run.host_lines) == [3], run.line
    np.testing.assert_allclose(names["c"], 2 * np.sin(1.0) + np.cos(1.0), rtol=1e-6)


def test_few_turns_are_written_out() -> None:
    run = jaxnb.stage("y, l = train(w, 2)", names_with())
    assert run.pieces == 1 and not run.host_lines, run.line


@pytest.mark.parametrize("cell", ["y = forward(layers, x)", "y = jax.grad(forward_in_one_line)(layers, x)"])
def test_layers_are_compiled(cell: str) -> None:
    """As many layers as large models have: they are more equations than a loop may become that trains."""
    names = names_with(layers=20)
    jaxpr = jax.make_jaxpr(lambda h: names["forward"](names["layers"], h))(names["x"])
    assert len(jaxpr.eqns) > written_out.LARGE
    run = jaxnb.stage(cell, names)
    assert run.pieces == 1 and not run.host_lines, run.line


def test_unroll_writes_out_every_loop() -> None:
    names = names_with()
    cell = "y = train_in_one_line(w, 12)"
    run = new_session().stage(cell, names, StageOptions(unroll=True))
    assert run.pieces == 1 and not run.host_lines, run.line
