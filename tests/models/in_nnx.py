"""Models of flax.nnx: a vision transformer, and a convolutional network with batch statistics."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx


class Mlp(nnx.Module):
    def __init__(self, width: int, hidden: int, dropout: float, rngs: nnx.Rngs) -> None:
        self.fc1 = nnx.Linear(width, hidden, rngs=rngs)
        self.fc2 = nnx.Linear(hidden, width, rngs=rngs)
        self.dropout = nnx.Dropout(dropout, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        x = self.dropout(nnx.gelu(self.fc1(x)))
        return self.dropout(self.fc2(x))


class EncoderBlock(nnx.Module):
    def __init__(self, width: int, heads: int, dropout: float, rngs: nnx.Rngs) -> None:
        self.norm1 = nnx.LayerNorm(width, rngs=rngs)
        self.attn = nnx.MultiHeadAttention(heads, width, dropout_rate=dropout, decode=False, rngs=rngs)
        self.norm2 = nnx.LayerNorm(width, rngs=rngs)
        self.mlp = Mlp(width, 2 * width, dropout, rngs)

    def __call__(self, x: Any) -> Any:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class VisionTransformer(nnx.Module):
    def __init__(self, depth: int, width: int, heads: int, classes: int, rngs: nnx.Rngs) -> None:
        self.patches = nnx.Conv(3, width, (4, 4), strides=(4, 4), padding="VALID", rngs=rngs)
        self.cls = nnx.Param(jnp.zeros((1, 1, width)))
        self.positions = nnx.Param(jax.random.normal(rngs.params(), (1, 5, width)) * 0.02)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.blocks = nnx.Sequential(*(EncoderBlock(width, heads, 0.1, rngs) for _ in range(depth)))
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.head = nnx.Linear(width, classes, rngs=rngs)

    def __call__(self, images: Any) -> Any:
        x = self.patches(images)
        batch, *_, width = x.shape
        x = x.reshape(batch, -1, width)
        cls = jnp.tile(self.cls[...], (batch, 1, 1))
        x = self.dropout(jnp.concatenate([cls, x], axis=1) + self.positions[...])
        x = self.blocks(x)
        return self.head(self.norm(x)[:, 0])


def classify(model: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    logits = model(images)
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean(), logits


@nnx.jit
def vit_step(model: Any, optimizer: Any, metrics: Any, images: Any, labels: Any) -> Any:
    (loss, logits), grads = nnx.value_and_grad(classify, has_aux=True)(model, images, labels)
    metrics.update(loss=loss, logits=logits, labels=labels)
    optimizer.update(model, grads)
    return loss


class Residual(nnx.Module):
    def __init__(self, channels: int, rngs: nnx.Rngs) -> None:
        self.conv1 = nnx.Conv(channels, channels, (3, 3), rngs=rngs)
        self.bn1 = nnx.BatchNorm(channels, rngs=rngs)
        self.conv2 = nnx.Conv(channels, channels, (3, 3), rngs=rngs)
        self.bn2 = nnx.BatchNorm(channels, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        y = nnx.relu(self.bn1(self.conv1(x)))
        return nnx.relu(x + self.bn2(self.conv2(y)))


class ConvNet(nnx.Module):
    def __init__(self, channels: int, depth: int, classes: int, rngs: nnx.Rngs) -> None:
        self.stem = nnx.Conv(3, channels, (3, 3), rngs=rngs)
        self.stages = nnx.List([Residual(channels, rngs) for _ in range(depth)])
        self.dropout = nnx.Dropout(0.25, rngs=rngs)
        self.linear = nnx.Linear(4 * channels, classes, rngs=rngs)
        self.pool = partial(nnx.avg_pool, window_shape=(4, 4), strides=(4, 4))

    def __call__(self, x: Any) -> Any:
        x = nnx.relu(self.stem(x))
        for stage in self.stages:
            x = stage(x)
        x = self.pool(x)
        x = self.dropout(x.reshape(x.shape[0], -1))
        return self.linear(x)
