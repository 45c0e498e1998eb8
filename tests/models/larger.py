"""The larger steps, and what their authors would look for in the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpyro
import optax
from flax import nnx
from flax.training import train_state
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

from models import by_hand, in_diffrax, in_equinox, in_haiku, in_linen, in_nnx, in_numpyro, in_optax

__all__ = ["LARGER", "LargerStep"]


class LargerStep(NamedTuple):
    """A cell, what makes the names that it reads, and what stands in its tree: names, each with its path."""

    cell: str
    names: Callable[[], dict[str, Any]]
    calls: tuple[str, ...] = ()


def _images(size: int) -> Any:
    return jax.random.normal(jax.random.key(1), (4, size, size, 3))


_LABELS = jnp.arange(4)


def _vit() -> dict[str, Any]:
    model = in_nnx.VisionTransformer(4, 16, 2, 10, nnx.Rngs(0))
    model.train()
    metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average("loss"))
    optimizer = nnx.Optimizer(model, optax.adamw(1e-3, 0.9), wrt=nnx.Param)
    step = in_nnx.vit_step
    return {"model": model, "optimizer": optimizer, "metrics": metrics, "train_step": step, "images": _images(8)}


def _convnet() -> dict[str, Any]:
    model = in_nnx.ConvNet(4, 6, 10, nnx.Rngs(0))
    model.train()
    optimizer = nnx.Optimizer(model, optax.sgd(optax.cosine_decay_schedule(0.1, 100), 0.9), wrt=nnx.Param)
    return {"model": model, "optimizer": optimizer, "classify": in_nnx.classify, "nnx": nnx, "images": _images(8)}


def _linen() -> dict[str, Any]:
    model, tokens = in_linen.Encoder(32, 3, 16, 2), jnp.ones((2, 8), jnp.int32)
    params = model.init(jax.random.key(0), tokens, True)["params"]
    tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)
    return {"state": state, "tokens": tokens, "rng": jax.random.key(1), "encoder_step": in_linen.encoder_step}


def _mixer() -> dict[str, Any]:
    model = in_equinox.ImageMixer(8, 5, key=jax.random.key(0))
    optim = optax.adabelief(1e-3)
    state = optim.init(eqx.filter(model, eqx.is_inexact_array))
    images = jnp.ones((4, 1, 8, 8))
    return {"model": model, "optim": optim, "state": state, "images": images, "mixer_step": in_equinox.mixer_step}


def _recurrent() -> dict[str, Any]:
    model = in_equinox.Recurrent(2, 8, 3, key=jax.random.key(0))
    optim = optax.adam(1e-3)
    state = optim.init(eqx.filter(model, eqx.is_inexact_array))
    data = {"sequences": jnp.ones((4, 16, 2)), "labels": jnp.ones((4, 1))}
    return {"model": model, "state": state, "step": in_equinox.make_step(optim), **data}


def _resnet() -> dict[str, Any]:
    images, rng = _images(8), jax.random.key(0)
    params, state = in_haiku.network.init(rng, images)
    trainer = in_haiku.Trainer(optax.rmsprop(1e-3, momentum=0.9))
    opt_state = trainer.optimizer.init(params)
    return {"params": params, "state": state, "opt_state": opt_state, "rng": rng, "trainer": trainer, "images": images}


def _chains() -> dict[str, Any]:
    params, tx = in_optax.init(jax.random.key(0), 8, 8), in_optax.make_optimizer(100)
    data = {"x": jnp.ones((4, 8)), "y": jnp.ones(4)}
    return {"params": params, "tx": tx, "opt_state": tx.init(params), "huber": in_optax.huber, **data}


def _svi() -> dict[str, Any]:
    svi = SVI(in_numpyro.hierarchical, AutoNormal(in_numpyro.hierarchical), numpyro.optim.Adam(1e-2), Trace_ELBO(4))
    x, groups = jnp.linspace(-1, 1, 12), jnp.arange(12) % 4
    data = {"x": x, "groups": groups, "y": 2 * x}
    return {"svi": svi, "svi_state": svi.init(jax.random.key(0), **data), **data}


def _ode() -> dict[str, Any]:
    model = in_diffrax.NeuralODE(in_diffrax.Field(8, key=jax.random.key(0)))
    optim = optax.adabelief(3e-3)
    state = optim.init(eqx.filter(model, eqx.is_inexact_array))
    data = {"times": jnp.linspace(0.0, 1.0, 5), "observed": jnp.ones((3, 5, 2))}
    return {"model": model, "optim": optim, "state": state, "ode_step": in_diffrax.ode_step, **data}


def _gpt() -> dict[str, Any]:
    config = by_hand.Config()
    params = by_hand.init_gpt(jax.random.key(0), config)
    moments, tokens = jax.tree.map(jnp.zeros_like, params), jnp.ones((2, 9), jnp.int32)
    return {"params": params, "moments": moments, "tokens": tokens, "config": config, "gpt_step": by_hand.gpt_step}


def _process() -> dict[str, Any]:
    x = jnp.linspace(0, 3, 16)[:, None]
    data = {"x": x, "y": jnp.sin(x[:, 0])}
    return {"params": by_hand.init_process(), "evidence_step": by_hand.evidence_step, **data}


_COMMON: dict[str, Any] = {"jax": jax, "jnp": jnp, "optax": optax, "eqx": eqx, "diffrax": diffrax, "labels": _LABELS}


def _named(names: Callable[[], dict[str, Any]]) -> Callable[[], dict[str, Any]]:
    return lambda: {**_COMMON, **names()}


LARGER: dict[str, LargerStep] = {
    "nnx vision transformer": LargerStep(
        "loss = train_step(model, optimizer, metrics, images, labels)",
        _named(_vit),
        (
            "vit_step",
            "VisionTransformer.__call__",
            "nnx.Conv.__call__ patches",
            "EncoderBlock.__call__ blocks.layers[0]",
            "nnx.MultiHeadAttention.__call__ blocks.layers[3].attn",
            "nnx.LinearGeneral.__call__ blocks.layers[3].attn.query",
            "nnx.dot_product_attention",
            "Mlp.__call__ blocks.layers[2].mlp",
            "nnx.Dropout.__call__ dropout",
            "optax.scale_by_adam.update",
            "nnx.MultiMetric.update",
        ),
    ),
    "nnx convolutions": LargerStep(
        "(loss, logits), grads = nnx.value_and_grad(classify, has_aux=True)(model, images, labels)\n"
        "optimizer.update(model, grads)",
        _named(_convnet),
        (
            "ConvNet.__call__",
            "Residual.__call__ stages[5]",
            "nnx.Conv.__call__ stages[0].conv1",
            "nnx.BatchNorm.__call__ stages[4].bn2",
            "nnx.Dropout.__call__ dropout",
            "optax.softmax_cross_entropy_with_integer_labels",
            "nnx.Optimizer.update",
        ),
    ),
    "linen encoder": LargerStep(
        "state, loss = encoder_step(state, tokens, tokens, rng)",
        _named(_linen),
        (
            "encoder_step",
            "Encoder.__call__",
            "EncoderLayer.__call__ layers_0",
            "EncoderLayer.__call__ layers_2",
            "linen.MultiHeadDotProductAttention.__call__ layers_2/attn",
            "linen.DenseGeneral.__call__ layers_1/attn/query",
            "linen.Dense.__call__ layers_0/MlpBlock_0/Dense_1",
            "linen.Embed.attend embed",
            "optax.scale_by_adam.update",
        ),
    ),
    "equinox mixer": LargerStep(
        "model, state, loss = mixer_step(model, state, optim, images)",
        _named(_mixer),
        (
            "mixer_step",
            "mixer_loss",
            "ImageMixer.__call__",
            "MixerBlock.__call__ blocks[4]",
            "equinox.nn.Conv2d.__call__ conv_in",
            "equinox.nn.ConvTranspose2d.__call__ conv_out",
            "equinox.nn.MLP.__call__ blocks[0].patch_mixer",
            "equinox.nn.Linear.__call__ blocks[3].hidden_mixer.layers[1]",
            "optax.scale_by_belief.update",
        ),
    ),
    "equinox recurrent": LargerStep(
        "model, state, loss = step(model, state, sequences, labels)",
        _named(_recurrent),
        (
            "step",
            "recurrent_loss",
            "Recurrent.__call__",
            "scan",
            "equinox.nn.GRUCell.__call__ cells[0]",
            "equinox.nn.GRUCell.__call__ cells[2]",
            "equinox.nn.Linear.__call__ readout",
        ),
    ),
    "haiku residual": LargerStep(
        "params, state, opt_state = trainer.update(params, state, opt_state, rng, images, labels)",
        _named(_resnet),
        (
            "Trainer.update",
            "resnet_loss",
            "ResNet.__call__ res_net",
            "ResBlock.__call__ res_net/~/res_block_3",
            "haiku.Conv2D.__call__ res_net/~/res_block_3/conv_1",
            "haiku.BatchNorm.__call__ res_net/~/res_block/norm_0",
            "haiku.nets.MLP.__call__ res_net/~/head",
            "haiku.dropout",
        ),
    ),
    "optax chains": LargerStep(
        "grads = jax.grad(huber)(params, x, y)\n"
        "updates, opt_state = tx.update(grads, opt_state, params)\n"
        "params = optax.apply_updates(params, updates)",
        _named(_chains),
        (
            "huber",
            "predict",
            "jax.nn.silu",
            "optax.huber_loss",
            "optax.clip_by_global_norm.update",
            "optax.scale_by_adam.update",
            "optax.scale_by_schedule.update",
            "optax.trace.update",
        ),
    ),
    "numpyro inference": LargerStep(
        "svi_state, loss = svi.update(svi_state, x, groups, y=y)",
        _named(_svi),
        (
            "numpyro.infer.SVI.update",
            "numpyro.infer.autoguide.AutoNormal.__call__ fn",
            "hierarchical",
            "linear_predictor",
            "numpyro.distributions.Normal.log_prob",
            "numpyro.distributions.Beta.log_prob",
        ),
    ),
    "diffrax equation": LargerStep(
        "model, state, loss = ode_step(model, state, optim, times, observed)",
        _named(_ode),
        (
            "ode_step",
            "ode_loss",
            "NeuralODE.__call__",
            "diffrax.diffeqsolve",
            "while",
            "diffrax.Tsit5.step",
            "diffrax.PIDController.adapt_step_size",
            "Field.__call__ vector_field",
        ),
    ),
    "gpt by hand": LargerStep(
        "params, moments, loss = gpt_step(params, moments, tokens, config)",
        _named(_gpt),
        (
            "gpt_step",
            "next_token_loss",
            "scan",
            "layer",
            "block",
            "attention",
            "rotate",
            "layer_norm",
            "mlp",
            "rotary",
            "scores",
            "head",
            "momentum",
        ),
    ),
    "gaussian process": LargerStep(
        "value, params = evidence_step(params, x, y)",
        _named(_process),
        (
            "evidence_step",
            "negative_evidence",
            "leave_one_out",
            "covariance",
            "rbf",
            "squared_distance",
            "jax.numpy.linalg.cholesky",
            "jax.scipy.linalg.cho_solve",
        ),
    ),
}
