"""What JAX, its libraries and other caches remember of a staged cell: no tracer, and nothing that plain cells use.

Each call is staged and plain in turn, its object changed in between: the plain one gives what it gives where nothing
was ever staged, and the staged one the value of now.
"""

from __future__ import annotations

import gc
from typing import Any

import jax
import numpy as np
import pytest
from tracers import traces_left

import jaxnb
from jaxnb._jax.tracers import TraceLog
from jaxnb.api import new_session
from jaxnb.options import StageOptions
from jaxnb.staging.levels.naming import read_names
from jaxnb.staging.session.session import Session

BEGIN = """
import functools
from functools import partial
import jax, jax.numpy as jnp
x = jnp.ones(3)
"""

OBJECT = """
class Scale:
    def __init__(self, w): self.w = w
    @partial(jax.jit, static_argnums=0)
    def times(self, y): return self.w * y
    def step(self, carry, y): return carry + self.w * y, carry
    def __call__(self, y): return self.w * y
scale = Scale({w})
"""
ARRAY, FLOAT = OBJECT.format(w="jnp.arange(3.)"), OBJECT.format(w="2.5")
CHANGE = "scale.w = scale.w + 1"

SETUPS = {
    "a static self that holds an array": (ARRAY, "z = scale.times(x)", CHANGE),
    "a static self that holds a float": (FLOAT, "z = scale.times(x)", CHANGE),
    "a float argument": (ARRAY, "z = scale.times(3.0) + x", CHANGE),
    "no traced argument at all": (ARRAY, "z = scale.times(3)", CHANGE),
    "a jitted method that the object holds": (
        ARRAY + "scale.f = jax.jit(scale.__call__)\n",
        "z = scale.f(x)",
        CHANGE,
    ),
    "custom_jvp": (
        ARRAY
        + """
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def app(f, y): return f(y)
@app.defjvp
def _(f, primals, tangents): return f(primals[0]), tangents[0] * 3
""",
        "z = app(scale, x) + jax.grad(lambda x: app(scale, x).sum())(x)",
        CHANGE,
    ),
    "custom_vjp": (
        ARRAY
        + """
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def app(f, y): return f(y)
app.defvjp(lambda f, y: (f(y), y), lambda f, saved, g: (g * f(saved),))
""",
        "z = app(scale, x) + jax.grad(lambda x: app(scale, x).sum())(x)",
        CHANGE,
    ),
    "scan over a method": (ARRAY, "z, ys = jax.lax.scan(scale.step, x, jnp.ones((4, 3)))", CHANGE),
    "remat of a method": (ARRAY, "z = jax.grad(lambda x: jax.checkpoint(scale)(x).sum())(x)", CHANGE),
    "vectorize": (ARRAY + "f = jnp.vectorize(scale)\n", "z = f(x)", CHANGE),
    "a library function with a static function": (
        ARRAY + "from jax.experimental.ode import odeint\ndef rhs(y, t): return -scale.w * y\n",
        "z = odeint(rhs, x, jnp.linspace(0., 1., 3))[-1]",
        CHANGE,
    ),
    "a static partial": (
        ARRAY + "f = jax.jit(lambda f, y: f(y), static_argnums=0)\ng = partial(scale.__call__)\n",
        "z = f(g, x)",
        CHANGE,
    ),
    "a cache of the user's": (
        ARRAY + "@functools.lru_cache\ndef weight(object): return object.w * 2\n",
        "z = weight(scale) * x",
        CHANGE + "; weight.cache_clear()",
    ),
}
EQUINOX = {
    "filter_jit of a bound call": (ARRAY + "import equinox as eqx\n", "z = eqx.filter_jit(scale.__call__)(x)", CHANGE),
    "filter_jit with a float": (FLOAT + "import equinox as eqx\n", "z = eqx.filter_jit(scale.__call__)(x)", CHANGE),
    "filter_grad of a module": (
        """
import equinox as eqx
class Scale(eqx.Module):
    w: jax.Array
    s: float = 2.0
    def __call__(self, y): return self.w * y * self.s
scale = Scale(jnp.arange(3.))
""",
        "z = eqx.filter_jit(scale.__call__)(x) + eqx.filter_grad(lambda m: m(x).sum())(scale).w",
        "scale = Scale(scale.w + 1)",
    ),
}
FLAX = {
    "nnx.jit of a method": (
        """
from flax import nnx
class Scale(nnx.Module):
    def __init__(self, w): self.w, self.s = nnx.Param(w), 2.0
    def __call__(self, y): return self.w[...] * y * self.s
scale = Scale(jnp.arange(3.))
f = nnx.jit(lambda m, y: m(y))
""",
        "z = f(scale, x) + nnx.grad(lambda m: m(x).sum())(scale).w[...]",
        "scale.w[...] = scale.w[...] + 1",
    ),
}


def check(traces: TraceLog, setup: str, cell: str, change: str, order: str) -> None:
    """Runs the cell staged (`s`) and plain (`p`); `c` changes the object.

    The staged runs have the value of now, which is that of a new object that was changed as often. So may the plain
    ones, or what they give where nothing is staged: JAX may remember there what the object held.
    """
    mixed, plain = made(setup), made(setup)
    changes = 0
    for number, how in enumerate(order):
        when = f"{how}, {number} of {order}"
        if how == "c":
            changes += 1
            exec(change, mixed)
            exec(change, plain)
            continue
        now = made(setup)
        for _ in range(changes):
            exec(change, now)
        exec(cell, now)
        allowed = [now["z"]]
        if how == "p":
            exec(cell, mixed)
            exec(cell, plain)
            allowed.append(plain["z"])
        else:
            jaxnb.stage(cell, mixed)
        assert any(np.allclose(mixed["z"], each, rtol=1e-6) for each in allowed), (when, mixed["z"], allowed)
        assert not traces_left(traces), when


def made(setup: str) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(BEGIN + setup, namespace)
    return namespace


def test_what_a_trace_that_is_given_up_leaves_behind(traces: TraceLog) -> None:
    names = made(ARRAY + "def f():\n    y = scale.times(x)\n    return float(y.sum()) + y\n")
    for _ in range(2):
        jaxnb.stage("z = f()", names)
        np.testing.assert_allclose(names["z"], 3.0 + np.arange(3.0))
        jaxnb.stage("y = scale.times(x)", names)
        np.testing.assert_allclose(names["y"], np.arange(3.0))
    assert not traces_left(traces)


def test_a_cache_that_the_collector_does_not_tell_of(traces: TraceLog) -> None:
    """After `gc.freeze`: one of JAX keeps the structures of arguments, and so the functions among them."""
    names = made(
        """
from jax.tree_util import Partial
f = jax.jit(lambda f, y: f(y), donate_argnums=1, keep_unused=True)
def closed(w): return lambda y: y * w
"""
    )
    gc.collect()
    gc.freeze()
    try:
        run = jaxnb.stage("z = f(Partial(closed(x * 2)), x + 0)", names)
        np.testing.assert_allclose(names["z"], 2.0)
        assert not run.host_lines and run.pieces == 1
        assert not traces_left(traces)
    finally:
        gc.unfreeze()


def test_what_is_traced_again_for_its_names_leaves_nothing_behind(traces: TraceLog) -> None:
    names = made(ARRAY)
    session = new_session()
    session.stage("z = scale.times(x)", names, StageOptions())
    (record,), (cell,) = session._records.values(), session._sources.values()
    assert read_names(cell, record.pieces, record, names)
    exec("z = scale.times(x)", names)
    np.testing.assert_allclose(names["z"], np.arange(3.0))
    assert not traces_left(traces)


ORDERS = ["sspcspcs", "psscpcscs"]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", SETUPS)
def test_of_jax(traces: TraceLog, name: str, order: str) -> None:
    check(traces, *SETUPS[name], order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", EQUINOX)
def test_of_equinox(traces: TraceLog, name: str, order: str) -> None:
    pytest.importorskip("equinox")
    check(traces, *EQUINOX[name], order)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", FLAX)
def test_of_flax(traces: TraceLog, name: str, order: str) -> None:
    pytest.importorskip("flax")
    check(traces, *FLAX[name], order)
