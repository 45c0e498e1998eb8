"""What is dropped is freed: neither programs nor constants nor results are kept alive by what was staged."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jaxnb
from jaxnb.api import new_session
from jaxnb.staging import use_session
from jaxnb.staging.session.session import Session
from jaxnb.staging.trace.piece import Piece

SETUP = """\
import jax, jax.numpy as jnp, functools
x = jnp.ones(1000)
class Model:
    def __init__(self): self.w = jnp.ones(1000) * 2
    def __call__(self, a): return a * self.w
    def step(self, a):
        self.w = self.w * 0.5
        return a + self.w
def make(constant):
    def helper(a): return a + constant.sum()
    return helper
"""


@pytest.fixture(autouse=True)
def own_session() -> Any:
    use_session(new_session())
    yield
    use_session(None)


def space(more: str = "") -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(SETUP + more, namespace)
    return namespace


def is_freed(reference: weakref.ref[Any]) -> bool:
    gc.collect()
    return reference() is None


@pytest.mark.parametrize("turns", [1, 4])
def test_inputs_and_results_are_freed_with_their_names(turns: int) -> None:
    ns = space()
    for _ in range(turns):
        jaxnb.stage("y = x * 2\nz = [y, {'a': y + 1}]\ny.sum()", ns)
    watched = [weakref.ref(ns["x"]), weakref.ref(ns["y"]), weakref.ref(ns["z"][1]["a"])]
    del ns["x"], ns["y"], ns["z"]
    assert [is_freed(reference) for reference in watched] == [True] * 3


@pytest.mark.parametrize("turns", [1, 4])
def test_a_model_is_freed_with_its_class(turns: int) -> None:
    ns = space("model = Model()")
    for _ in range(turns):
        jaxnb.stage("y = model.step(x) + model(x)", ns)
    watched = [weakref.ref(ns[name]) for name in ("model", "Model")] + [weakref.ref(ns["model"].w)]
    del ns["model"], ns["Model"]
    assert [is_freed(reference) for reference in watched] == [True] * 3


@pytest.mark.parametrize("turns", [1, 4])
@pytest.mark.parametrize(
    ("setup", "cell"),
    [
        ("f = make(jnp.ones(5000))", "y = f(x)"),
        ("f = jax.jit(make(jnp.ones(5000)))", "y = f(x)"),
        ("f = functools.partial(lambda c, a: a * c.sum(), jnp.ones(5000))", "y = f(x)"),
        ("f = Model().__call__", "y = f(x)"),
        ("f = lambda a, c=jnp.ones(5000): a * c.sum()", "y = jax.vmap(f)(x)"),
        ("f = make(jnp.ones(5000))", "y = jax.lax.scan(lambda c, a: (c, f(a)), 0, x)[1]"),
        ("f = make(jnp.ones(5000))", "y = jax.grad(lambda a: f(a).sum())(x)"),
        ("f = make(jnp.ones(5000))", "g, consts = jax.closure_convert(f, x)\ny = g(x, *consts)\ndel g, consts"),
        ("f = make(jnp.ones(5000))", "y = jax.checkpoint(f)(x)"),
    ],
)
def test_a_function_is_freed_with_what_it_holds(setup: str, cell: str, turns: int) -> None:
    ns = space(setup)
    for _ in range(turns):
        jaxnb.stage(cell, ns)
    watched = [weakref.ref(ns["f"]) if not hasattr(ns["f"], "__self__") else weakref.ref(ns["f"].__self__)]
    del ns["f"]
    assert [is_freed(reference) for reference in watched] == [True]


def live_bytes() -> int:
    gc.collect()
    return sum(array.nbytes for array in jax.live_arrays())


@pytest.mark.parametrize(
    "cell",
    [
        "f = jax.jit(make(jnp.full(4000, turn)))\ny = f(x)",
        "f = make(jnp.full(4000, turn))\ny = jax.jit(f)(x)",
        "f = make(jnp.full(4000, turn))\ng, consts = jax.closure_convert(f, x)\ny = g(x, *consts)",
        "model = Model()\nmodel.w = jnp.full(1000, turn)\ny = jax.jit(Model.__call__, static_argnums=0)(model, x)",
    ],
)
def test_rebinding_a_constant_stays_flat(cell: str) -> None:
    ns = space("turn = 0")
    sizes = []
    for turn in range(12):
        ns["turn"] = turn
        jaxnb.stage(cell, ns)
        sizes.append(live_bytes())
    assert max(sizes[6:]) <= sizes[5], sizes


def test_dropping_the_cells_of_a_session_frees_their_programs() -> None:
    session = new_session()
    use_session(session)
    ns = space("f = make(jnp.ones(50))")
    jaxnb.stage("y = f(x)", ns)
    (record,) = session._records.values()
    assert all(isinstance(piece, Piece) for piece in record.pieces)
    executable = weakref.ref(record.pieces[0].compiled)
    del record, session
    use_session(None)
    assert is_freed(executable)


def test_the_last_run_gives_what_is_still_there() -> None:
    ns = space()
    jaxnb.stage("y = x * 2\nz = [y, 3]\nn = x + 1\ny.sum()", ns)
    last = jaxnb.last()
    assert list(last.outputs) == ["y", "z", "n"] and last.outputs["y"] is ns["y"] and last.value is None
    del last, ns["n"]
    assert list(jaxnb.last().outputs) == ["y", "z"] and jaxnb.last().outputs["z"][1] == 3
    run = jaxnb.stage("y = x * 2\ny.sum()", ns)
    assert jaxnb.last() is run and float(run.value) == 2000.0
    assert jnp.allclose(run.outputs["y"], 2.0)


@pytest.mark.parametrize(
    "cell",
    [
        "y = x * 2",
        "z = x * 2\nv = float(z.sum())\ny = z + v",
        "y = x\nfor i in range(50):\n    y = y + 1",
        "b = np.zeros(3)\nb[1] = x.sum()",
        "y = x * 3\nif y.sum() > 0:\n    u = y\nelse:\n    u = -y",
    ],
)
def test_a_trace_that_is_given_up_is_freed_at_once(cell):
    namespace = {"__name__": "__main__"}
    exec("import jax.numpy as jnp, numpy as np\nx = jnp.ones(3)", namespace)
    jaxnb.stage(cell, namespace)  # what JAX itself sets up
    gc.collect()
    before = len(jax.live_arrays())
    gc.disable()
    try:
        fresh = {"__name__": "__main__"}
        exec("import jax.numpy as jnp, numpy as np\nx = jnp.ones(3)", fresh)
        jaxnb.stage(cell + "\n0", fresh)
        jaxnb.stage(cell + "\n0", fresh)
        del fresh
        assert len(jax.live_arrays()) == before
    finally:
        gc.enable()
