"""Operators on what JAX's transformations trace are staged: none of it needs Python, on the first run and on others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jaxnb

SETUP = """
import jax, jax.numpy as jnp
from jax import lax
x, w, b, n, rate = jnp.linspace(-1.0, 1.0, 12).reshape(4, 3), jnp.ones((3, 2)), jnp.zeros(2), 3, 0.5
def layer(v): return jnp.tanh(v @ w + b) * rate - n
def loss(p): return ((jax.vmap(lambda v: v @ p + b)(x) - 1.0) ** 2).mean() / n
"""
CELLS = {
    "vmap": "y = jax.vmap(layer)(x)",
    "vmap of operators": "y = jax.vmap(lambda v: -v + 2 * v ** 2 / (1 + v) - rate % 2)(x)",
    "vmap in vmap": "y = jax.vmap(lambda r: jax.vmap(lambda v: v * rate + r.sum())(r))(x)",
    "grad": "y = jax.grad(loss)(w)",
    "grad in vmap": "y = jax.vmap(jax.grad(lambda v: (v * n + layer(v).sum()).sum()))(x)",
    "jvp": "y, t = jax.jvp(layer, (x,), (x * 2,))",
    "linearize": "y, f = jax.linearize(lambda p: loss(p) * rate, w)\nt = f(w)",
    "hessian": "y = jax.hessian(lambda v: (v ** 3).sum() * rate)(b + 1.0)",
    "jit": "y = jax.jit(layer)(x) + jax.jit(lambda v: v * n)(x)[0, 0]",
    "scan": "y, z = lax.scan(lambda c, v: (c * rate + v, c - v), jnp.zeros(3), x)",
    "fori": "y = lax.fori_loop(0, n, lambda i, v: v * rate + i, x)",
    "cond": "y = lax.cond(x.sum() > 0, lambda v: v * n, lambda v: v - rate, x)",
    "checkpoint": "y = jax.grad(lambda p: jax.checkpoint(loss)(p) * n)(w)",
    "map": "y = lax.map(lambda v: v * rate - n, x)",
    "indexing": "y = jax.vmap(lambda v, i: v[i] * rate)(x, jnp.arange(4) % n)\nz = x[1:, ::2] + x[0, 0]",
    "walking": "y = [r * n for r in x]\na, *z = jax.vmap(lambda v: v + 1)(x)",
    "powers": "y = jax.vmap(lambda v: v ** n + 2 ** jnp.arange(3))(x)\nz = jnp.arange(3) ** n",
    "with": "with jax.named_scope('here'):\n    y = jax.vmap(layer)(x)",
    "try": "try:\n    y = jax.vmap(layer)(x)\nfinally:\n    z = x + n",
}


@pytest.mark.parametrize("name", CELLS)
def test_it_is_staged(name: str) -> None:
    plain: dict[str, Any] = {"__name__": "__main__"}
    staged: dict[str, Any] = {"__name__": "__main__"}
    for namespace in (plain, staged):
        exec(SETUP, namespace)
    for turn in range(2):
        exec(CELLS[name], plain)
        run = jaxnb.stage(CELLS[name], staged)
        assert not run.on_host and run.reused == (turn > 0)
        for each in {"y", "z", "t"} & plain.keys():
            np.testing.assert_allclose(staged[each], plain[each], rtol=1e-5, atol=1e-6)
