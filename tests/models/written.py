"""The models, in a module of the user's own."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Block(nnx.Module):
    def __init__(self, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.ln1 = nnx.LayerNorm(width, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(heads, width, decode=False, rngs=rngs)
        self.ln2 = nnx.LayerNorm(width, rngs=rngs)
        self.up = nnx.Linear(width, 4 * width, rngs=rngs)
        self.down = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = x + self.attn(self.ln1(x))
        return x + self.down(jax.nn.gelu(self.up(self.ln2(x))))


class Transformer(nnx.Module):
    def __init__(self, depth: int, width: int, heads: int, rngs: nnx.Rngs) -> None:
        self.embed = nnx.Embed(64, width, rngs=rngs)
        self.blocks = nnx.List([Block(width, heads, rngs) for _ in range(depth)])
        self.head = nnx.Linear(width, 64, rngs=rngs)

    def __call__(self, tokens: Any) -> Any:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def token_loss(model: Any, x: Any, y: Any) -> Any:
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


class LinenBlock(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x: Any) -> Any:
        x = x + nn.MultiHeadDotProductAttention(num_heads=2)(nn.LayerNorm()(x))
        return x + nn.Dense(self.width)(nn.gelu(nn.Dense(2 * self.width)(nn.LayerNorm()(x))))


class LinenModel(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x: Any) -> Any:
        for _ in range(2):
            x = LinenBlock(self.width)(x)
        return nn.Dense(1, name="head")(x)


class Mixer(eqx.Module):
    layers: list[eqx.nn.MLP]
    norm: eqx.nn.LayerNorm

    def __init__(self, key: Any) -> None:
        self.layers = [eqx.nn.MLP(8, 8, 16, 1, key=key) for key in jax.random.split(key, 3)]
        self.norm = eqx.nn.LayerNorm(8)

    def __call__(self, x: Any) -> Any:
        for layer in self.layers:
            x = x + layer(self.norm(x))
        return x


def haiku_forward(x: Any) -> Any:
    return hk.nets.MLP([16, 8])(x)


class Attention:
    """By hand, as in a lecture."""

    def __init__(self, key: Any, width: int) -> None:
        self.qkv = jax.random.normal(key, (width, 3 * width)) * 0.1

    def attend(self, x: Any) -> Any:
        q, k, v = jnp.split(x @ self.qkv, 3, axis=-1)
        scores = q @ k.T / jnp.sqrt(q.shape[-1])
        scores = jnp.where(jnp.tri(len(x)) > 0, scores, -1e9)
        return jax.nn.softmax(scores) @ v


def layer(h: Any, p: Any) -> tuple[Any, None]:
    h = h + jnp.tanh(h @ p["up"]) @ p["down"]
    return h, None


def gpt(params: Any, x: Any) -> Any:
    h = x @ params["embed"]
    h, _ = jax.lax.scan(jax.checkpoint(layer), h, params["layers"])
    return h @ params["head"]


def gpt_loss(params: Any, x: Any, y: Any) -> Any:
    return jnp.mean((gpt(params, x) - y) ** 2)
