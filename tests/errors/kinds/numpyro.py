"""Models of numpyro whose sites or plates do not fit."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "numpyro",
    r"""
### numpyro-sample-without-seed raises=AssertionError line=2
# https://github.com/pyro-ppl/numpyro/issues/337
---
def prior():
    return numpyro.sample("mu", dist.Normal(0.0, 1.0))

draw = prior()
---
def prior():
    return numpyro.sample("mu", dist.Normal(0.0, 1.0), rng_key=jax.random.key(0))

draw = prior()
---
cause: mu; rng_key|key|seed
names: prior
fix: seed|rng_key

### numpyro-plate-of-another-length raises=ValueError line=7
# https://num.pyro.ai/en/stable/primitives.html
y = jnp.ones(12)
---
def model(y):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", 10):
        numpyro.sample("obs", dist.Normal(mu, 1.0), obs=y)

kernel = MCMC(NUTS(model), num_warmup=2, num_samples=2, progress_bar=False)
kernel.run(jax.random.key(0), y)
---
def model(y):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", 12):
        numpyro.sample("obs", dist.Normal(mu, 1.0), obs=y)

kernel = MCMC(NUTS(model), num_warmup=2, num_samples=2, progress_bar=False)
kernel.run(jax.random.key(0), y)
---
cause: 10; 12; data; obs
names: y
fix: y.shape[0]|len(y)|12

### numpyro-same-site-twice raises=AssertionError line=4
# https://num.pyro.ai/en/stable/handlers.html
x, y = jnp.arange(5.0), jnp.ones(5)
---
def model(x, y):
    slope = numpyro.sample("w", dist.Normal(0.0, 1.0))

    offset = numpyro.sample("w", dist.Normal(0.0, 5.0))
    numpyro.sample("obs", dist.Normal(slope * x + offset, 1.0), obs=y)

log_joint, trace = log_density(seed(model, 0), (x, y), {}, {})
---
def model(x, y):
    slope = numpyro.sample("w", dist.Normal(0.0, 1.0))

    offset = numpyro.sample("b", dist.Normal(0.0, 5.0))
    numpyro.sample("obs", dist.Normal(slope * x + offset, 1.0), obs=y)

log_joint, trace = log_density(seed(model, 0), (x, y), {}, {})
---
cause: w; twice|two|unique|same name|already; offset|slope|site
names:
fix: another name|different name|unique|rename|b

### numpyro-negative-scale raises=ValueError line=3
# https://github.com/pyro-ppl/numpyro/issues/1367
y = jnp.array([0.1, 0.4, -0.2])
---
sigma = -1.0

likelihood = dist.Normal(0.0, sigma, validate_args=True)
total = likelihood.log_prob(y).sum()
---
sigma = 1.0

likelihood = dist.Normal(0.0, sigma, validate_args=True)
total = likelihood.log_prob(y).sum()
---
cause: scale; positive; -1
names: sigma
fix: positive|abs|exp|softplus|1.0

### numpyro-python-if-on-a-site raises=TracerBoolConversionError line=3
# https://num.pyro.ai/en/stable/tutorials/lotka_volterra_multiple.html
y = jnp.ones(6)
---
def model(y):
    rate = numpyro.sample("rate", dist.Normal(0.0, 1.0))
    if rate > 0:
        scale = rate
    else:
        scale = 1.0
    numpyro.sample("obs", dist.Normal(0.0, scale), obs=y)

MCMC(NUTS(model), num_warmup=2, num_samples=2, progress_bar=False).run(jax.random.key(0), y)
---
def model(y):
    rate = numpyro.sample("rate", dist.Normal(0.0, 1.0))
    scale = jnp.where(rate > 0, rate, 1.0)
    numpyro.sample("obs", dist.Normal(0.0, scale), obs=y)

MCMC(NUTS(model), num_warmup=2, num_samples=2, progress_bar=False).run(jax.random.key(0), y)
---
cause: rate; if; traced|tracer|not known|unknown
names: rate
fix: jnp.where|where|lax.cond

### numpyro-discrete-latent-with-nuts raises=RuntimeError line=8
# https://num.pyro.ai/en/stable/examples/gmm.html
y = jnp.array([0.1, 3.9, 4.2])
---
def mixture(y):
    means = jnp.array([0.0, 4.0])
    with numpyro.plate("points", len(y)):
        z = numpyro.sample("z", dist.Poisson(1.0))
        numpyro.sample("obs", dist.Normal(z, 1.0), obs=y)

mcmc = MCMC(NUTS(mixture), num_warmup=2, num_samples=2, progress_bar=False)
mcmc.run(jax.random.key(1), y)
---
def mixture(y):
    means = jnp.array([0.0, 4.0])
    with numpyro.plate("points", len(y)):
        z = numpyro.sample("z", dist.Exponential(1.0))
        numpyro.sample("obs", dist.Normal(z, 1.0), obs=y)

mcmc = MCMC(NUTS(mixture), num_warmup=2, num_samples=2, progress_bar=False)
mcmc.run(jax.random.key(1), y)
---
cause: z; discrete|integer|Poisson; NUTS|gradient|HMC
names: mixture
fix: marginal|continuous|DiscreteHMCGibbs|enumerate|Mixture

### numpyro-arguments-of-run-forgotten raises=TypeError line=6
# https://num.pyro.ai/en/stable/getting_started.html
x, y = jnp.ones((7, 2)), jnp.ones(7)
---
def regression(x, y=None):
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    numpyro.sample("obs", dist.Normal(x @ w, 1.0), obs=y)

mcmc = MCMC(NUTS(regression), num_warmup=2, num_samples=2, progress_bar=False)
mcmc.run(jax.random.key(0), y=y)
---
def regression(x, y=None):
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    numpyro.sample("obs", dist.Normal(x @ w, 1.0), obs=y)

mcmc = MCMC(NUTS(regression), num_warmup=2, num_samples=2, progress_bar=False)
mcmc.run(jax.random.key(0), x, y=y)
---
cause: x; regression; argument|missing
names: regression
fix: x, |x=

### numpyro-coefficients-of-another-design raises=TypeError line=4
# https://num.pyro.ai/en/stable/tutorials/bayesian_regression.html
X, y = jnp.ones((20, 3)), jnp.ones(20)
---
def regression(X, y=None):
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([4]).to_event(1))

    mean = X @ beta
    numpyro.sample("obs", dist.Normal(mean, 1.0), obs=y)

svi = SVI(regression, AutoNormal(regression), numpyro.optim.Adam(0.01), Trace_ELBO())
fitted = svi.run(jax.random.key(0), 2, X, y, progress_bar=False)
---
def regression(X, y=None):
    beta = numpyro.sample("beta", dist.Normal(0.0, 1.0).expand([3]).to_event(1))

    mean = X @ beta
    numpyro.sample("obs", dist.Normal(mean, 1.0), obs=y)

svi = SVI(regression, AutoNormal(regression), numpyro.optim.Adam(0.01), Trace_ELBO())
fitted = svi.run(jax.random.key(0), 2, X, y, progress_bar=False)
---
cause: 3; 4; X; beta
names: X; beta
fix: expand([3])|X.shape[1]|3

### numpyro-rate-clipped-at-zero raises=RuntimeError line=5
# https://github.com/pyro-ppl/numpyro/pull/733
from numpyro.infer import MCMC, NUTS
counts = jnp.array([1146, 488, 753, 583, 553])
time = jnp.arange(5.0)
---
def model(time, counts=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    level = numpyro.sample("level", dist.Normal(-50.0, 0.1))
    rate = jnp.clip(level + slope * time - 100.0, 0.0)
    numpyro.sample("obs", dist.Poisson(rate), obs=counts)

mcmc = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False)
mcmc.run(jax.random.key(0), time, counts)
---
def model(time, counts=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    level = numpyro.sample("level", dist.Normal(-50.0, 0.1))
    rate = jnp.clip(level + slope * time - 100.0, 1e-30)
    numpyro.sample("obs", dist.Poisson(rate), obs=counts)

mcmc = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False)
mcmc.run(jax.random.key(0), time, counts)
---
cause: obs; initial|log|infinite|-inf; zero|0
names: rate; model
fix: 1e-|clip|positive|exp|softplus
""",
    prelude="""\
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from numpyro.handlers import seed
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal
from numpyro.infer.util import log_density
""",
    needs=("numpyro",),
)
