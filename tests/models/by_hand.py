"""Models without a library: a GPT whose layers are scanned over, and the evidence of a Gaussian process."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, solve_triangular


@dataclass(frozen=True)
class Config:
    vocabulary: int = 32
    width: int = 16
    heads: int = 2
    depth: int = 6


def init_gpt(key: Any, config: Config) -> Any:
    e, *keys = jax.random.split(key, 6)
    d, n = config.width, config.depth

    def dense(key: Any, *shape: int) -> Any:
        return jax.random.normal(key, (n, *shape)) * 0.02

    block = {
        "ln1": {"scale": jnp.ones((n, d)), "bias": jnp.zeros((n, d))},
        "attn": {"qkv": dense(keys[0], d, 3 * d), "out": dense(keys[1], d, d)},
        "ln2": {"scale": jnp.ones((n, d)), "bias": jnp.zeros((n, d))},
        "mlp": {"up": dense(keys[2], d, 4 * d), "down": dense(keys[3], 4 * d, d)},
    }
    return {"embedding": jax.random.normal(e, (config.vocabulary, d)) * 0.02, "blocks": block}


def layer_norm(x: Any, p: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def rotate(x: Any) -> Any:
    """Rotary position embedding."""
    length, half = x.shape[-3], x.shape[-1] // 2
    angles = jnp.arange(length)[:, None] / 10_000 ** (jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[:, None, :], jnp.sin(angles)[:, None, :]
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)


def attention(x: Any, p: Any, config: Config) -> Any:
    batch, length, width = x.shape
    q, k, v = jnp.split((x @ p["qkv"]).reshape(batch, length, config.heads, -1), 3, axis=-1)
    with jax.named_scope("rotary"):
        q, k = rotate(q), rotate(k)
    with jax.named_scope("scores"):
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(batch, length, width) @ p["out"]


def mlp(x: Any, p: Any) -> Any:
    return jax.nn.gelu(x @ p["up"]) @ p["down"]


def block(x: Any, p: Any, config: Config) -> Any:
    with jax.named_scope("attention"):
        x = x + attention(layer_norm(x, p["ln1"]), p["attn"], config)
    with jax.named_scope("mlp"):
        x = x + mlp(layer_norm(x, p["ln2"]), p["mlp"])
    return x


def logits_of(params: Any, tokens: Any, config: Config) -> Any:
    @functools.partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable)
    def layer(x: Any, p: Any) -> Any:
        return block(x, p, config), None

    with jax.named_scope("embed"):
        x = params["embedding"][tokens]
    x, _ = jax.lax.scan(layer, x, params["blocks"])
    with jax.named_scope("head"):
        return x @ params["embedding"].T


def next_token_loss(params: Any, tokens: Any, config: Config) -> Any:
    logits = jax.nn.log_softmax(logits_of(params, tokens[:, :-1], config))
    return -jnp.take_along_axis(logits, tokens[:, 1:, None], axis=-1).mean()


@functools.partial(jax.jit, static_argnames="config")
def gpt_step(params: Any, moments: Any, tokens: Any, config: Config) -> Any:
    loss, grads = jax.value_and_grad(next_token_loss)(params, tokens, config)
    with jax.named_scope("momentum"):
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, grads)
        params = jax.tree.map(lambda p, m: p - 1e-2 * m, params, moments)
    return params, moments, loss


def squared_distance(a: Any, b: Any) -> Any:
    return jnp.sum((a[:, None] - b[None]) ** 2, axis=-1)


def rbf(a: Any, b: Any, p: Any) -> Any:
    return jnp.exp(p["variance"] - 0.5 * squared_distance(a, b) * jnp.exp(-2 * p["length"]))


def matern(a: Any, b: Any, p: Any) -> Any:
    distance = jnp.sqrt(5 * squared_distance(a, b) + 1e-12) * jnp.exp(-p["length"])
    return jnp.exp(p["variance"]) * (1 + distance + distance**2 / 3) * jnp.exp(-distance)


def periodic(a: Any, b: Any, p: Any) -> Any:
    phase = jnp.pi * jnp.abs(a[:, None, 0] - b[None, :, 0]) / jnp.exp(p["period"])
    return jnp.exp(p["variance"] - 2 * (jnp.sin(phase) / jnp.exp(p["length"])) ** 2)


KERNELS = {"rbf": rbf, "matern": matern, "periodic": periodic}


def init_process() -> Any:
    names = ("variance", "length", "period")
    return {"noise": jnp.zeros(()), **{kernel: dict.fromkeys(names, jnp.zeros(())) for kernel in KERNELS}}


def covariance(params: Any, x: Any) -> Any:
    total = jnp.exp(params["noise"]) * jnp.eye(len(x))
    for name, kernel in KERNELS.items():
        with jax.named_scope(name):
            total = total + kernel(x, x, params[name])
    return total


def negative_evidence(params: Any, x: Any, y: Any) -> Any:
    factor = jnp.linalg.cholesky(covariance(params, x))
    alpha = cho_solve((factor, True), y)
    half = jnp.sum(jnp.log(jnp.diagonal(factor)))
    return 0.5 * y @ alpha + half + 0.5 * len(y) * jnp.log(2 * jnp.pi)


def leave_one_out(params: Any, x: Any, y: Any) -> Any:
    factor = jnp.linalg.cholesky(covariance(params, x))
    inverse = solve_triangular(factor, jnp.eye(len(x)), lower=True)
    precision = jnp.sum(inverse**2, axis=0)
    error = cho_solve((factor, True), y) / precision
    return 0.5 * jnp.mean(error**2 * precision - jnp.log(precision))


def evidence_step(params: Any, x: Any, y: Any) -> Any:
    value, grads = jax.value_and_grad(lambda p: negative_evidence(p, x, y) + leave_one_out(p, x, y))(params)
    return value, jax.tree.map(lambda p, g: p - 1e-2 * g, params, grads)
