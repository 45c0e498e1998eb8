"""Cells while another thread of the user's runs: copies of what they reach are traced, and all is as plainly."""

from __future__ import annotations

import dataclasses
import random
import threading
import types
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


def test_steps_of_libraries_are_staged() -> None:
    """What a library's functions close over is copied where it could hold traced values, and only there."""
    pytest.importorskip("flax")
    setup = (
        "import jax, jax.numpy as jnp, optax\nimport flax.linen as nn\n"
        "from flax.training.train_state import TrainState\n"
        "class Net(nn.Module):\n    width: int = 4\n    @nn.compact\n    def __call__(self, x):\n"
        "        return nn.Dense(1)(nn.relu(nn.Dense(self.width)(x)))\n"
        "x = jnp.linspace(0.0, 1.0, 12).reshape(4, 3)\nnet = Net()\n"
        "tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))\n"
        "state = TrainState.create(apply_fn=net.apply, params=net.init(jax.random.key(0), x), tx=tx)"
    )
    cell = (
        "def loss_fn(params):\n    return jnp.mean((state.apply_fn(params, x) - 1.0) ** 2)\n"
        "loss, grads = jax.value_and_grad(loss_fn)(state.params)\nstate = state.apply_gradients(grads=grads)"
    )
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(setup, namespace)
    for _ in range(3):
        exec(cell, plain)
        run = jaxnb.stage(cell, staged)
        assert not run.on_host
        np.testing.assert_allclose(staged["loss"], plain["loss"], rtol=1e-5)


def test_a_variable_that_functions_share_is_one() -> None:
    """Of a library's functions: one keeps `None` in what another binds, a third has it and a float."""
    module = types.ModuleType("json.shared")  # of a library
    exec(
        "def make(rate):\n    last = None\n    def get():\n        return last\n"
        "    def put(v):\n        nonlocal last\n        last = v * rate\n        return v + rate\n    return get, put",
        vars(module),
    )
    staged: dict[str, Any] = {"__name__": "__main__", "pair": module.make(0.5)}
    exec("import jax.numpy as jnp\nget, put = pair\nx = jnp.arange(3.0)", staged)
    for _ in range(3):
        jaxnb.stage("y = put(x)\nz = get()", staged)
        np.testing.assert_array_equal(staged["z"], staged["x"] * 0.5)
        np.testing.assert_array_equal(staged["get"](), staged["x"] * 0.5)
