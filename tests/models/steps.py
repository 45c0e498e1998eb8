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

__all__ = ["STEPS", "Step", "transformer_step"]


class Step(NamedTuple):
    """A cell, and what makes the names that it reads; and the same as one would write it under `jax.jit`.

    `jitted` is what stands before the first step, and `call` the step.
    """

    cell: str
    names: Callable[[], dict[str, Any]]
    jitted: str
    call: str


def _transformer(depth: int) -> dict[str, Any]:
    model = written.Transformer(depth, 16, 2, nnx.Rngs(0))
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


def transformer_step(depth: int) -> Step:
    """A step of a transformer of flax.nnx with this many blocks."""
    return Step(
        "loss, grads = nnx.value_and_grad(token_loss)(model, x, y)\nopt.update(model, grads)",
        _named(lambda: _transformer(depth)),
        "graph, state = nnx.split((model, opt))\n"
        "@jax.jit\n"
        "def step(state, x, y):\n"
        "    model, opt = nnx.merge(graph, state)\n"
        "    loss, grads = nnx.value_and_grad(token_loss)(model, x, y)\n"
        "    opt.update(model, grads)\n"
        "    return loss, grads, nnx.state((model, opt))",
        "loss, grads, state = step(state, x, y)",
    )


STEPS: dict[str, Step] = {
    "transformer": transformer_step(2),
    "linen": Step(
        "def loss(params):\n"
        "    return jnp.mean(model.apply(params, x) ** 2)\n"
        "value, grads = jax.value_and_grad(loss)(params)\n"
        "updates, state = tx.update(grads, state)\n"
        "params = optax.apply_updates(params, updates)",
        _named(_linen),
        "@jax.jit\n"
        "def step(params, state, x):\n"
        "    value, grads = jax.value_and_grad(lambda p: jnp.mean(model.apply(p, x) ** 2))(params)\n"
        "    updates, state = tx.update(grads, state)\n"
        "    return value, grads, updates, state, optax.apply_updates(params, updates)",
        "value, grads, updates, state, params = step(params, state, x)",
    ),
    "mixer": Step(
        "loss, grads = eqx.filter_value_and_grad(lambda model, x: jax.vmap(model)(x).mean())(model, x)",
        _named(lambda: {"model": written.Mixer(jax.random.key(0)), "x": jnp.ones((5, 8))}),
        "@eqx.filter_jit\n"
        "def step(model, x):\n"
        "    return eqx.filter_value_and_grad(lambda model, x: jax.vmap(model)(x).mean())(model, x)",
        "loss, grads = step(model, x)",
    ),
    "haiku": Step(
        "loss, grads = jax.value_and_grad(lambda p: net.apply(p, x).mean())(params)",
        _named(_haiku),
        "step = jax.jit(jax.value_and_grad(lambda p, x: net.apply(p, x).mean()))",
        "loss, grads = step(params, x)",
    ),
    "by hand": Step(
        "for layer in layers:\n    x = x + layer.attend(x)\nloss = jnp.sum(x)",
        _named(
            lambda: {
                "layers": [written.Attention(key, 8) for key in jax.random.split(jax.random.key(0), 3)],
                "x": jnp.ones((4, 8)),
            }
        ),
        "import copy\n"
        "weights = [layer.qkv for layer in layers]\n"
        "@jax.jit\n"
        "def step(weights, x):\n"
        "    for layer, qkv in zip(layers, weights):\n"
        "        layer = copy.copy(layer)\n"
        "        layer.qkv = qkv\n"
        "        x = x + layer.attend(x)\n"
        "    return x, jnp.sum(x)",
        "x, loss = step(weights, x)",
    ),
    "scan and checkpoint": Step(
        "@jax.jit\n"
        "def step(params, x, y):\n"
        "    value, grads = jax.value_and_grad(gpt_loss)(params, x, y)\n"
        "    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)\n"
        "value, params = step(params, x, y)",
        _named(_gpt),
        "@jax.jit\n"
        "def step(params, x, y):\n"
        "    value, grads = jax.value_and_grad(gpt_loss)(params, x, y)\n"
        "    return value, jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)",
        "value, params = step(params, x, y)",
    ),
}
