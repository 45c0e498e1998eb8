"""Chains of optax over the parameters of a network written by hand."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax


def init(key: Any, depth: int, width: int) -> Any:
    keys = jax.random.split(key, depth)
    hidden = [{"w": jax.random.normal(k, (width, width)) / width, "b": jnp.zeros(width)} for k in keys]
    return {"embedding": jnp.ones((width, width)), "hidden": hidden, "scale": jnp.ones(width)}


def labels_of(params: Any) -> Any:
    return {
        name: jax.tree.map(lambda _: "slow" if name == "embedding" else "fast", part) for name, part in params.items()
    }


def is_matrix(params: Any) -> Any:
    return jax.tree.map(lambda p: p.ndim > 1, params)


def make_optimizer(steps: int) -> optax.GradientTransformation:
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, steps // 10, steps)
    fast = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, weight_decay=1e-2, mask=is_matrix))
    slow = optax.chain(optax.clip(0.1), optax.add_decayed_weights(1e-4), optax.sgd(1e-2, momentum=0.9, nesterov=True))
    return optax.multi_transform({"fast": fast, "slow": slow}, labels_of)


def predict(params: Any, x: Any) -> Any:
    x = x @ params["embedding"]
    for layer in params["hidden"]:
        x = x + jax.nn.silu(x @ layer["w"] + layer["b"])
    return jnp.sum(x * params["scale"], axis=-1)


def huber(params: Any, x: Any, y: Any) -> Any:
    return optax.huber_loss(predict(params, x), y).mean()
