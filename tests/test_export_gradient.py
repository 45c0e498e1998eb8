"""Cells with derivatives as files, run in a process of their own; steps on objects, which say what is missing."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxnb
from jaxnb import Refused

CASES: dict[str, tuple[str, str, list[str], dict[str, Any]]] = {
    "an array": ("pred = x @ w + b\nloss = ((pred - y) ** 2).mean()", "loss", ["w"], {}),
    "a float, too": ("x = x * 2\npred = x @ w * n + b\nloss = ((pred - y) ** 2).mean()\nloss", "loss", ["w", "b"], {}),
    "a pytree": (
        "pred = x @ params['w'] + params['b']\nloss = ((pred - y) ** 2).mean()\nloss",
        "loss",
        ["params"],
        {"value_and": True},
    ),
    "with more than the loss": ("z = jnp.sin(x @ w).sum(), x @ w", "z", ["w"], {"has_aux": True}),
    "a helper": ("def f(v):\n    return jnp.tanh(v @ w)\nforward = f(x)\nz = forward.sum()", "z", ["w"], {}),
    "along a direction": ("z = jnp.sin(x @ w)", "z", ["w"], {"jvp": "v"}),
    "under a policy": ("z = jnp.sin(x @ w).sum()", "z", ["w"], {"remat": "dots"}),
    "second derivatives": ("z = jnp.sin(x @ w).sum()", "z", ["w"], {"hessian": True}),
    "second derivatives by two": ("z = jnp.sin(x @ w).sum() * b", "z", ["w", "b"], {"hessian": True}),
}

RUN = """
import inspect, pickle, runpy, sys
import jax, numpy as np
cell = runpy.run_path(sys.argv[1])["cell"]
given = pickle.load(open(sys.argv[2], "rb"))
made = cell(*[given[name] for name in inspect.signature(cell).parameters])
assert "jaxnb" not in sys.modules
pickle.dump(jax.tree.map(np.asarray, made), open(sys.argv[3], "wb"))
"""


def names() -> dict[str, Any]:
    return {
        "jax": jax,
        "jnp": jnp,
        "x": jnp.arange(12.0).reshape(4, 3) / 7,
        "y": jnp.ones(4),
        "w": jnp.array([1.0, -0.5, 2.0]),
        "v": jnp.arange(3.0),
        "b": 0.5,
        "n": 3,
        "params": {"w": jnp.ones(3), "b": jnp.zeros(())},
    }


@pytest.mark.parametrize("case", CASES)
def test_the_file_gives_the_derivatives_of_the_cell(case: str, tmp_path: Path) -> None:
    cell, loss, wrt, more = CASES[case]
    namespace = names()
    given = {name: value for name, value in namespace.items() if name not in ("jax", "jnp")}
    run = jaxnb.grad_cell(cell, namespace, loss, wrt, **more)
    file, inputs, outputs, script = (tmp_path / name for name in ("cell.py", "in", "out", "run.py"))
    file.write_text(run.to_source(), encoding="utf-8")
    script.write_text(RUN, encoding="utf-8")
    inputs.write_bytes(pickle.dumps(jax.tree.map(lambda v: np.asarray(v) if isinstance(v, jax.Array) else v, given)))
    bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, script, file, inputs, outputs], check=True, env=bare, cwd=tmp_path)
    made = pickle.loads(outputs.read_bytes())
    derivatives = [name for name in namespace if name.startswith(("d_", "dd_"))]
    assert derivatives and set(derivatives) <= made.keys()
    for name in set(made) - {"value"}:
        assert jax.tree.structure(made[name]) == jax.tree.structure(namespace[name])
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), made[name], namespace[name])


def test_what_python_runs_has_no_derivative_in_a_file() -> None:
    run = jaxnb.grad_cell("print('a')\nz = jnp.sin(x @ w).sum()", names(), "z", ["w"])
    with pytest.raises(Refused, match="Python runs a part of the cell.*the gradient of z wrt w"):
        run.to_source()


NNX = """
import jax, jax.numpy as jnp, optax
from flax import nnx
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
opt = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
x, y = jnp.ones((4, 3)), jnp.ones((4, 1))
"""

NNX_STEP = """
def loss_fn(model):
    return ((model(x) - y) ** 2).mean()
loss, grads = nnx.value_and_grad(loss_fn)(model)
opt.update(model, grads)
"""

EQUINOX = """
import jax, jax.numpy as jnp, optax, equinox as eqx
model = eqx.nn.MLP(3, 1, 8, 1, key=jax.random.key(0))
opt = optax.sgd(0.1)
state = opt.init(eqx.filter(model, eqx.is_array))
x, y = jnp.ones((4, 3)), jnp.ones((4, 1))
"""

EQUINOX_STEP = """
def loss_fn(model):
    return ((jax.vmap(model)(x) - y) ** 2).mean()
loss, grads = eqx.filter_value_and_grad(loss_fn)(model)
updates, state = opt.update(grads, state)
model = eqx.apply_updates(model, updates)
"""


@pytest.mark.parametrize(
    ("library", "setup", "step", "missing"),
    [
        (
            "flax",
            NNX,
            NNX_STEP,
            "changes `model` and `opt` in place: what is missing .*nnx.split\\(\\(model, opt\\)\\)",
        ),
        (
            "equinox",
            EQUINOX,
            EQUINOX_STEP,
            "`model` is a pytree, a MLP, with leaves that are no arrays.*equinox.partition",
        ),
    ],
)
def test_a_step_on_objects_says_what_is_missing(library: str, setup: str, step: str, missing: str) -> None:
    pytest.importorskip(library)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(setup, namespace)
    run = jaxnb.stage(step, namespace)
    with pytest.raises(Refused, match=f"(?s){missing}"):
        run.to_source()
