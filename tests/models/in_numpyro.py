"""A step of stochastic variational inference, and of a hierarchical regression of numpyro."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def hierarchical(x: Any, groups: Any, y: Any = None) -> None:
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    noise = numpyro.sample("noise", dist.Exponential(1.0))
    with numpyro.plate("groups", 4):
        slope = numpyro.sample("slope", dist.Normal(mean, spread))
        offset = numpyro.sample("offset", dist.StudentT(4.0, 0.0, 1.0))
    shrinkage = numpyro.sample("shrinkage", dist.Beta(2.0, 2.0))
    rate = numpyro.sample("rate", dist.Gamma(2.0, 1.0))
    location = linear_predictor(x, slope[groups], offset[groups]) * shrinkage
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", dist.Normal(location, noise + 1.0 / rate), obs=y)


def linear_predictor(x: Any, slope: Any, offset: Any) -> Any:
    return slope * jnp.tanh(x) + offset
