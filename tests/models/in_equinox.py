"""Models of equinox: an MLP-mixer for images, and a recurrent network over sequences."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax


class MixerBlock(eqx.Module):
    patch_mixer: eqx.nn.MLP
    hidden_mixer: eqx.nn.MLP
    norm1: eqx.nn.LayerNorm
    norm2: eqx.nn.LayerNorm

    def __init__(self, patches: int, hidden: int, *, key: Any) -> None:
        patch_key, hidden_key = jax.random.split(key)
        self.patch_mixer = eqx.nn.MLP(patches, patches, 2 * patches, depth=1, key=patch_key)
        self.hidden_mixer = eqx.nn.MLP(hidden, hidden, 2 * hidden, depth=1, key=hidden_key)
        self.norm1 = eqx.nn.LayerNorm((hidden, patches))
        self.norm2 = eqx.nn.LayerNorm((patches, hidden))

    def __call__(self, y: Any) -> Any:
        y = y + jax.vmap(self.patch_mixer)(self.norm1(y))
        y = y.T
        y = y + jax.vmap(self.hidden_mixer)(self.norm2(y))
        return y.T


class ImageMixer(eqx.Module):
    conv_in: eqx.nn.Conv2d
    conv_out: eqx.nn.ConvTranspose2d
    blocks: list[MixerBlock]
    norm: eqx.nn.LayerNorm

    def __init__(self, hidden: int, depth: int, *, key: Any) -> None:
        in_key, out_key, *keys = jax.random.split(key, 2 + depth)
        self.conv_in = eqx.nn.Conv2d(1, hidden, 2, stride=2, key=in_key)
        self.conv_out = eqx.nn.ConvTranspose2d(hidden, 1, 2, stride=2, key=out_key)
        self.blocks = [MixerBlock(16, hidden, key=block_key) for block_key in keys]
        self.norm = eqx.nn.LayerNorm((hidden, 16))

    def __call__(self, image: Any) -> Any:
        y = self.conv_in(image)
        hidden, height, width = y.shape
        y = y.reshape(hidden, height * width)
        for block in self.blocks:
            y = block(y)
        return self.conv_out(self.norm(y).reshape(hidden, height, width))


@eqx.filter_value_and_grad
def mixer_loss(model: Any, images: Any) -> Any:
    return jnp.mean((jax.vmap(model)(images) - images) ** 2)


@eqx.filter_jit
def mixer_step(model: Any, opt_state: Any, optim: Any, images: Any) -> Any:
    loss, grads = mixer_loss(model, images)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
    return eqx.apply_updates(model, updates), opt_state, loss


class Recurrent(eqx.Module):
    cells: list[eqx.nn.GRUCell]
    readout: eqx.nn.Linear
    bias: Any

    def __init__(self, size: int, hidden: int, depth: int, *, key: Any) -> None:
        *keys, out_key = jax.random.split(key, depth + 1)
        self.cells = [eqx.nn.GRUCell(size if n == 0 else hidden, hidden, key=k) for n, k in enumerate(keys)]
        self.readout = eqx.nn.Linear(hidden, 1, use_bias=False, key=out_key)
        self.bias = jnp.zeros(1)

    def __call__(self, sequence: Any) -> Any:
        for cell in self.cells:

            def step(state: Any, item: Any, cell: Any = cell) -> Any:
                state = cell(item, state)
                return state, state

            _, sequence = jax.lax.scan(step, jnp.zeros(cell.hidden_size), sequence)
        return jax.nn.sigmoid(self.readout(sequence[-1]) + self.bias)


def recurrent_loss(model: Any, sequences: Any, labels: Any) -> Any:
    found = jax.vmap(model)(sequences)
    return -jnp.mean(labels * jnp.log(found) + (1 - labels) * jnp.log(1 - found))


def make_step(optim: optax.GradientTransformation) -> Any:
    @eqx.filter_jit
    def step(model: Any, opt_state: Any, sequences: Any, labels: Any) -> Any:
        loss, grads = eqx.filter_value_and_grad(recurrent_loss)(model, sequences, labels)
        updates, opt_state = optim.update(grads, opt_state)
        return eqx.apply_updates(model, updates), opt_state, loss

    return step
