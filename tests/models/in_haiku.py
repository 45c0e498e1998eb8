"""A residual network of haiku, with batch norm: it has a state beside its parameters."""

from __future__ import annotations

from typing import Any

import haiku as hk
import jax
import jax.numpy as jnp
import optax


class ResBlock(hk.Module):
    def __init__(self, channels: int, name: str | None = None) -> None:
        super().__init__(name=name)
        self.channels = channels

    def __call__(self, x: Any, is_training: bool) -> Any:
        shortcut = x
        for n in range(2):
            x = hk.BatchNorm(True, True, 0.9, name=f"norm_{n}")(x, is_training)
            x = hk.Conv2D(self.channels, 3, name=f"conv_{n}")(jax.nn.relu(x))
        return x + shortcut


class ResNet(hk.Module):
    def __init__(self, channels: int, depth: int, classes: int) -> None:
        super().__init__()
        self.stem = hk.Conv2D(channels, 3, name="stem")
        self.blocks = [ResBlock(channels) for _ in range(depth)]
        self.head = hk.nets.MLP([16, classes], name="head")

    def __call__(self, images: Any, is_training: bool) -> Any:
        x = self.stem(images)
        for block in self.blocks:
            x = block(x, is_training)
        x = jnp.mean(x, axis=(1, 2))
        x = hk.dropout(hk.next_rng_key(), 0.2, x) if is_training else x
        return self.head(x)


def forward(images: Any, is_training: bool = True) -> Any:
    return ResNet(4, 6, 10)(images, is_training)


network = hk.transform_with_state(forward)


def resnet_loss(params: Any, state: Any, rng: Any, images: Any, labels: Any) -> Any:
    logits, state = network.apply(params, state, rng, images)
    one_hot = jax.nn.one_hot(labels, logits.shape[-1])
    loss = -jnp.sum(jax.nn.log_softmax(logits) * one_hot) / labels.shape[0]
    decay = sum(jnp.sum(p**2) for p in jax.tree.leaves(params))
    return loss + 1e-4 * decay, state


class Trainer:
    def __init__(self, optimizer: optax.GradientTransformation) -> None:
        self.optimizer = optimizer

    def update(self, params: Any, state: Any, opt_state: Any, rng: Any, images: Any, labels: Any) -> Any:
        grads, state = jax.grad(resnet_loss, has_aux=True)(params, state, rng, images, labels)
        updates, opt_state = self.optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), state, opt_state
