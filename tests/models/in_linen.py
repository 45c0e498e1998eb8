"""A transformer encoder of flax.linen, with dropout and a training state."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax


class MlpBlock(nn.Module):
    hidden: int
    dropout: float = 0.1

    @nn.compact
    def __call__(self, x: Any, deterministic: bool) -> Any:
        width = x.shape[-1]
        x = nn.gelu(nn.Dense(self.hidden)(x))
        x = nn.Dropout(self.dropout)(x, deterministic=deterministic)
        return nn.Dense(width)(x)


class EncoderLayer(nn.Module):
    heads: int
    hidden: int
    dropout: float = 0.1

    @nn.compact
    def __call__(self, x: Any, mask: Any, deterministic: bool) -> Any:
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(self.heads, dropout_rate=self.dropout, name="attn")(
            y, y, mask=mask, deterministic=deterministic
        )
        x = x + nn.Dropout(self.dropout)(y, deterministic=deterministic)
        y = nn.LayerNorm()(x)
        return x + MlpBlock(self.hidden, self.dropout)(y, deterministic)


class Encoder(nn.Module):
    vocabulary: int
    depth: int
    width: int
    heads: int

    def setup(self) -> None:
        self.embed = nn.Embed(self.vocabulary, self.width)
        self.layers = [EncoderLayer(self.heads, 2 * self.width) for _ in range(self.depth)]
        self.norm = nn.LayerNorm()

    def __call__(self, tokens: Any, deterministic: bool = False) -> Any:
        mask = nn.make_attention_mask(tokens > 0, tokens > 0)
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, mask, deterministic)
        return self.embed.attend(self.norm(x))


@jax.jit
def encoder_step(state: Any, tokens: Any, targets: Any, rng: Any) -> Any:
    rng = jax.random.fold_in(rng, state.step)

    def loss_fn(params: Any) -> Any:
        logits = state.apply_fn({"params": params}, tokens, rngs={"dropout": rng})
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
        weights = jnp.where(targets > 0, 1.0, 0.0)
        return jnp.sum(losses * weights) / jnp.sum(weights)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss
