"""The steps: what the cell says, and what it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import haiku as hk
import jax
import jax.numpy as jnp
import optax
from flax import nnx

from models import written

__all__ = ["STEPS", "Step"]


class Step(NamedTuple):
    """A cell, and what makes the names that it reads."""

    cell: str
    names: Callable[[], dict[str, Any]]


def _transformer() -> dict[str, Any]:
    model = written.Transformer(2, 16, 2, nnx.Rngs(0))
    tokens = jnp.ones((2, 8), jnp.int32)
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    return {"model": model, "opt": nnx.Optimizer(model, tx, wrt=nnx.Param), "x": tokens, "y": tokens}


def _linen() -> dict[str, Any]:
    model, x = written.LinenModel(8), jnp.ones((2, 6, 8))
    params = model.init(jax.random.key(0), x)
    tx = optax.adam(1e-3)
    return {"model": model, "params": params, "x": x, "tx": tx, "state": tx.init(params)}


def _haiku() -> dict[str, Any]:
    net, x = hk.without_apply_rng(hk.transform(written.haiku_forward)), jnp.ones((5, 8))
    return {"net": net, "x": x, "params": net.init(jax.random.key(0), x)}


def _gpt() -> dict[str, Any]:
    keys = jax.random.split(jax.random.key(0), 4)
    layers = {"up": jax.random.normal(keys[0], (6, 8, 16)), "down": jax.random.normal(keys[1], (6, 16, 8))}
    params = {"embed": jax.random.normal(keys[2], (4, 8)), "layers": layers, "head": jnp.ones((8, 1))}
    return {"params": params, "x": jnp.ones((5, 4)), "y": jnp.ones((5, 1))}


_COMMON: dict[str, Any] = {"jax": jax, "jnp": jnp, "nnx": nnx, "optax": optax, "eqx": eqx, **vars(written)}


def _named(names: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    return lambda: {**_COMMON, **names()}


STEPS: dict[str, Step] = {
    "transformer": Step(
        "loss, grads = nnx.value_and_grad(token_loss)(model, x, y)\nopt.update(model, grads)", _named(_transformer)
    ),
    "linen": Step(
        "def loss(params):\n"
        "    return jnp.mean(model.apply(params, x) ** 2)\n"
        "value, grads = jax.value_and_grad(loss)(params)\n"
        "updates, state = tx.update(grads, state)\n"
        "params = optax.apply_updates(params, updates)",
        _named(_linen),
    ),
    "mixer": Step(
        "loss, grads = eqx.filter_value_and_grad(lambda model, x: jax.vmap(model)(x).mean())(model, x)",
        _named(lambda: {"model": written.Mixer(jax.random.key(0)), "x": jnp.ones((5, 8))}),
    ),
    "haiku": Step("loss, grads = jax.value_and_grad(lambda p: net.apply(p, x).mean())(params)", _named(_haiku)),
    "by hand": Step(
        "for layer in layers:\n    x = x + layer.attend(x)\nloss = jnp.sum(x)",
        _named(
            lambda: {
                "layers": [written.Attention(key, 8) for key in jax.random.split(jax.random.key(0), 3)],
                "x": jnp.ones((4, 8)),
            }
        ),
    ),
    "scan and checkpoint": Step(
        "@jax.jit\n"
        "def step(params, x, y):\n"
        "    value, grads = jax.value_and_grad(gpt_loss)(params, x, y)\n"
        "    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)\n"
        "value, params = step(params, x, y)",
        _named(_gpt),
    ),
}
