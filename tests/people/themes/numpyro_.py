"""Models of numpyro: distributions, densities, handlers, SVI, short MCMC."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, Predictive, log_likelihood
from numpyro.infer.util import log_density
from numpyro.infer.autoguide import AutoNormal, AutoDelta
from numpyro import handlers
x = jnp.linspace(-1, 1, 6)
y = 1.5 * x + 0.3
def model(x, y=None):
    a = numpyro.sample("a", dist.Normal(0.0, 2.0))
    b = numpyro.sample("b", dist.Normal(0.0, 2.0))
    s = numpyro.sample("s", dist.HalfNormal(1.0))
    numpyro.sample("obs", dist.Normal(a * x + b, s), obs=y)
"""

CELLS = written(
    PRELUDE,
    r"""
### npr-log-prob
d = dist.Normal(0.0, 2.0)
---
lp = d.log_prob(x).sum()
z = d.sample(jax.random.key(0), (3,))
lp, z
---
d = dist.Normal(1.0, 0.5)
---
x = x * 2

### npr-distribution-made
loc = 0.5
---
d = dist.Gamma(2.0, loc + 1.0)
m = d.mean
lp = d.log_prob(jnp.abs(x) + 0.1)
m, lp.sum()
---
loc = 2.5

### npr-seed-trace
---
tr = handlers.trace(handlers.seed(model, jax.random.key(0))).get_trace(x)
vals = {k: v["value"] for k, v in tr.items()}
sorted(vals), vals["a"]
---
x = x + 1

### npr-log-density
params = {"a": jnp.float32(1), "b": jnp.float32(0), "s": jnp.float32(0.5)}
---
ld, tr = log_density(model, (x,), {"y": y}, params)
g = jax.grad(lambda p: log_density(model, (x,), {"y": y}, p)[0])(params)
ld, g["a"]
---
params["a"] = jnp.float32(2)

### npr-condition
---
cond = handlers.condition(model, {"a": jnp.float32(1.0)})
tr = handlers.trace(handlers.seed(cond, 0)).get_trace(x)
tr["a"]["is_observed"], tr["obs"]["value"].shape
---
x = x[:3]

### npr-prior-predictive
---
prior = Predictive(model, num_samples=4)(jax.random.key(1), x)
prior["obs"].shape, prior["obs"].mean()
---
x = x * 3

### npr-mcmc-run cold tolerance=1e-3
mcmc = MCMC(NUTS(model), num_warmup=5, num_samples=5, progress_bar=False)
---
mcmc.run(jax.random.key(0), x, y)
samples = mcmc.get_samples()
samples["a"].shape
---
y = -y

### npr-mcmc-made-in-cell
---
mcmc = MCMC(NUTS(model), num_warmup=4, num_samples=4, progress_bar=False)
mcmc.run(jax.random.key(2), x, y)
mean_a = mcmc.get_samples()["a"].mean()
mean_a.shape
---
x = x * 2

### npr-posterior-predictive
samples = {"a": jnp.array([1.0, 1.2]), "b": jnp.zeros(2), "s": jnp.ones(2)}
---
pred = Predictive(model, samples)(jax.random.key(3), x)["obs"]
lo, hi = jnp.quantile(pred, jnp.array([0.1, 0.9]), axis=0)
lo.shape
---
samples["a"] = jnp.array([5.0, 6.0])

### npr-svi-loop
guide = AutoNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.05), Trace_ELBO())
state = svi.init(jax.random.key(0), x, y)
---
losses = []
for _ in range(3):
    state, loss = svi.update(state, x, y)
    losses.append(loss)
params = svi.get_params(state)
len(losses), sorted(params)[0]
---
y = y + 1

### npr-svi-run
---
svi = SVI(model, AutoDelta(model), numpyro.optim.Adam(0.1), Trace_ELBO())
res = svi.run(jax.random.key(0), 5, x, y, progress_bar=False)
res.losses.shape, res.params["a_auto_loc"]
---
y = y * 2

### npr-constraints
---
c = dist.constraints.positive
t = dist.biject_to(c)
z = t(x)
ok = c(z).all()
c is dist.constraints.positive, bool(ok)
---
x = x - 3

### npr-transformed
---
base = dist.Normal(0.0, 1.0)
d = dist.TransformedDistribution(base, dist.transforms.ExpTransform())
lp = d.log_prob(jnp.exp(x))
same = d.base_dist is base
same, lp.sum()
---
x = x + 1

### npr-plate-model
def grouped(g, y=None):
    mu = numpyro.sample("mu", dist.Normal(0.0, 1.0))
    with numpyro.plate("groups", 2):
        th = numpyro.sample("th", dist.Normal(mu, 1.0))
    with numpyro.plate("data", len(g)):
        numpyro.sample("obs", dist.Normal(th[g], 0.5), obs=y)
g = np.array([0, 1, 0, 1, 1, 0])
---
ld, _ = log_density(grouped, (g,), {"y": y}, {"mu": jnp.float32(0), "th": jnp.zeros(2)})
ld
---
g = np.zeros(6, int)

### npr-loglik
samples = {"a": jnp.array([1.0, 1.2]), "b": jnp.zeros(2), "s": jnp.ones(2)}
---
ll = log_likelihood(model, samples, x, y)["obs"]
waic = jax.scipy.special.logsumexp(ll, axis=0).sum()
ll.shape, waic
---
samples["s"] = jnp.full(2, 0.3)

### npr-mixture
---
m = dist.MixtureSameFamily(dist.Categorical(jnp.array([0.3, 0.7])), dist.Normal(jnp.array([-1.0, 1.0]), 0.5))
lp = m.log_prob(x)
r = jnp.exp(m.component_log_probs(x))
lp.sum(), r.shape
---
x = x * 2

### npr-kl-and-entropy
p = dist.Normal(0.0, 1.0)
---
q = dist.Normal(x.mean(), 2.0)
kl = dist.kl_divergence(p, q)
e = q.entropy()
kl, e
---
x = x + 2

### npr-reparam
from numpyro.infer.reparam import LocScaleReparam
---
m = handlers.reparam(model, config={"a": LocScaleReparam(0)})
tr = handlers.trace(handlers.seed(m, 1)).get_trace(x)
sorted(tr)
---
x = x * 1.5
""",
    needs=("numpyro",),
)
