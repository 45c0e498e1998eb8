"""A neural ordinary differential equation: a solve of diffrax, and its gradient."""

from __future__ import annotations

from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp


class Field(eqx.Module):
    mlp: eqx.nn.MLP
    scale: Any

    def __init__(self, width: int, *, key: Any) -> None:
        self.mlp = eqx.nn.MLP(2, 2, width, depth=2, activation=jax.nn.softplus, key=key)
        self.scale = jnp.ones(())

    def __call__(self, t: Any, y: Any, args: Any) -> Any:
        return self.scale * self.mlp(y)


class NeuralODE(eqx.Module):
    field: Field

    def __call__(self, times: Any, y0: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(self.field),
            diffrax.Tsit5(),
            t0=times[0],
            t1=times[-1],
            dt0=times[1] - times[0],
            y0=y0,
            stepsize_controller=diffrax.PIDController(rtol=1e-3, atol=1e-6),
            saveat=diffrax.SaveAt(ts=times),
            max_steps=16,
        )
        return solution.ys


@eqx.filter_value_and_grad
def ode_loss(model: Any, times: Any, observed: Any) -> Any:
    found = jax.vmap(model, in_axes=(None, 0))(times, observed[:, 0])
    return jnp.mean((observed - found) ** 2)


@eqx.filter_jit
def ode_step(model: Any, opt_state: Any, optim: Any, times: Any, observed: Any) -> Any:
    loss, grads = ode_loss(model, times, observed)
    updates, opt_state = optim.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, loss
