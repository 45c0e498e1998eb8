"""Optimizers, solvers and samplers that were set up or called in the wrong way."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "batch_training",
    r"""
### clipping-is-not-called raises=AttributeError line=4
# https://optax.readthedocs.io/en/latest/api/transformations.html
params = {"w": jnp.ones(3), "b": jnp.zeros(())}
x, y = jnp.ones((8, 3)), jnp.ones(8)
---
def loss_fn(params):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

tx = optax.chain(optax.zero_nans, optax.adam(1e-2))
opt_state = tx.init(params)
grads = jax.grad(loss_fn)(params)
updates, opt_state = tx.update(grads, opt_state)
---
def loss_fn(params):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

tx = optax.chain(optax.zero_nans(), optax.adam(1e-2))
opt_state = tx.init(params)
grads = jax.grad(loss_fn)(params)
updates, opt_state = tx.update(grads, opt_state)
---
cause: zero_nans; function|not called|without its parentheses|call
names: tx
fix: zero_nans()

### updates-and-state-swapped raises=ValueError line=8
# https://optax.readthedocs.io/en/latest/getting_started.html
params = {"kernel": jnp.ones((3, 2)), "bias": jnp.zeros(2)}
tx = optax.adam(1e-2)
x, y = jnp.ones((8, 3)), jnp.ones((8, 2))
---
opt_state = tx.init(params)

def train_step(params, opt_state, x, y):
    loss_fn = lambda p: jnp.mean((x @ p["kernel"] + p["bias"] - y) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    opt_state, updates = tx.update(grads, opt_state, params)
    # the step itself
    params = optax.apply_updates(params, updates)
    return params, opt_state, loss

params, opt_state, loss = jax.jit(train_step)(params, opt_state, x, y)
---
opt_state = tx.init(params)

def train_step(params, opt_state, x, y):
    loss_fn = lambda p: jnp.mean((x @ p["kernel"] + p["bias"] - y) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    # the step itself
    params = optax.apply_updates(params, updates)
    return params, opt_state, loss

params, opt_state, loss = jax.jit(train_step)(params, opt_state, x, y)
---
cause: updates; state; update
names: updates; opt_state
fix: updates, opt_state = tx.update

### learning-rate-set-in-a-chain raises=AttributeError line=10
# https://github.com/google-deepmind/optax/issues/206
params = {"w": jnp.ones(3)}
grads = {"w": jnp.array([0.1, 0.2, 0.3])}
---
schedule = [1e-2, 1e-3]
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.inject_hyperparams(optax.sgd)(learning_rate=schedule[0]),
)
opt_state = tx.init(params)

for lr in schedule:
    # the plateau was reached
    opt_state.hyperparams["learning_rate"] = lr
    updates, opt_state = tx.update(grads, opt_state)
    params = optax.apply_updates(params, updates)
---
schedule = [1e-2, 1e-3]
tx = optax.chain(
    optax.clip_by_global_norm(1.0),
    optax.inject_hyperparams(optax.sgd)(learning_rate=schedule[0]),
)
opt_state = tx.init(params)

for lr in schedule:
    # the plateau was reached
    opt_state[1].hyperparams["learning_rate"] = lr
    updates, opt_state = tx.update(grads, opt_state)
    params = optax.apply_updates(params, updates)
---
cause: tuple; chain; hyperparams
names: opt_state
fix: opt_state[1]|opt_state[-1]|tree_set

### warm-up-longer-than-the-training raises=ValueError line=4
# https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html
params = {"w": jnp.ones(3)}
---
epochs, batches_per_epoch = 3, 40
total_steps = epochs * batches_per_epoch
warmup_steps = 500
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup_steps, total_steps)
tx = optax.adamw(schedule)
opt_state = tx.init(params)
---
epochs, batches_per_epoch = 3, 40
total_steps = epochs * batches_per_epoch
warmup_steps = 50
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, warmup_steps, total_steps)
tx = optax.adamw(schedule)
opt_state = tx.init(params)
---
cause: 500; 120; warm
names: warmup_steps; total_steps
fix: total_steps|smaller|fewer|less|decay_steps

### decay-mask-one-level-too-high raises=ValueError line=7
# https://github.com/google-deepmind/optax/issues/1148
params = {
    "encoder": {"kernel": jnp.ones((3, 4)), "bias": jnp.zeros(4)},
    "head": {"kernel": jnp.ones((4, 1)), "bias": jnp.zeros(1)},
}
---
def decay_mask(params):
    # no decay for what is added
    return {name: {"kernel": True} for name in params}

mask = decay_mask(params)
tx = optax.chain(optax.masked(optax.add_decayed_weights(1e-2), mask), optax.sgd(0.1))
opt_state = tx.init(params)
grads = jax.tree.map(jnp.ones_like, params)
updates, opt_state = tx.update(grads, opt_state, params)
---
def decay_mask(params):
    # no decay for what is added
    return {name: {"kernel": True, "bias": False} for name in params}

mask = decay_mask(params)
tx = optax.chain(optax.masked(optax.add_decayed_weights(1e-2), mask), optax.sgd(0.1))
opt_state = tx.init(params)
grads = jax.tree.map(jnp.ones_like, params)
updates, opt_state = tx.update(grads, opt_state, params)
---
cause: bias; mask; params
names: mask; params
fix: bias|same structure|tree.map

### plateau-without-a-value raises=TypeError line=7
# https://optax.readthedocs.io/en/latest/api/contrib.html
params = {"w": jnp.ones(3)}
x, y = jnp.ones((8, 3)), jnp.ones(8)
---
tx = optax.chain(optax.adam(1e-2), optax.contrib.reduce_on_plateau(patience=3))
opt_state = tx.init(params)
loss_fn = lambda params: jnp.mean((x @ params["w"] - y) ** 2)

for epoch in range(2):
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
---
tx = optax.chain(optax.adam(1e-2), optax.contrib.reduce_on_plateau(patience=3))
opt_state = tx.init(params)
loss_fn = lambda params: jnp.mean((x @ params["w"] - y) ** 2)

for epoch in range(2):
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params, value=loss)
    params = optax.apply_updates(params, updates)
---
cause: value; reduce_on_plateau|plateau; update
names: tx|opt_state
fix: value=loss|value=

### loss-and-gradient-swapped raises=ValueError line=7
# https://docs.jax.dev/en/latest/_autosummary/jax.value_and_grad.html
params = {"w": jnp.ones(3), "b": jnp.zeros(())}
x, y = jnp.ones((8, 3)), jnp.ones(8)
---
def loss_fn(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

@jax.jit
def step(params, x, y):
    grads, loss = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, loss

params, loss = step(params, x, y)
---
def loss_fn(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

@jax.jit
def step(params, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, loss

params, loss = step(params, x, y)
---
cause: grads; value_and_grad|loss; scalar|array|no dict|float32[]
names: params; grads
fix: loss, grads

### parameters-by-keyword raises=TypeError line=8
# https://docs.jax.dev/en/latest/_autosummary/jax.grad.html
params = {"w": jnp.ones(3), "b": jnp.zeros(())}
batch = {"x": jnp.ones((8, 3)), "y": jnp.ones(8)}
---
def loss_fn(params, batch):
    residual = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(residual**2)

gradient = jax.jit(jax.grad(loss_fn))
for _ in range(2):
    # plain descent
    grads = gradient(params=params, batch=batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
def loss_fn(params, batch):
    residual = batch["x"] @ params["w"] + params["b"] - batch["y"]
    return jnp.mean(residual**2)

gradient = jax.jit(jax.grad(loss_fn))
for _ in range(2):
    # plain descent
    grads = gradient(params, batch=batch)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
cause: position; keyword|by name; params|argnums
names: params
fix: gradient(params, batch|by position|positional

### residual-takes-no-args raises=TypeError line=6
# https://github.com/patrick-kidger/optimistix/issues/204
times = jnp.linspace(0.0, 2.0, 9)
observed = 2.0 * jnp.exp(-0.7 * times)
---
def residuals(theta):
    amplitude, rate = theta
    return amplitude * jnp.exp(-rate * times) - observed

solver = optx.LevenbergMarquardt(rtol=1e-4, atol=1e-4)
solution = optx.least_squares(residuals, solver, (1.0, 1.0))
theta = solution.value
---
def residuals(theta, args):
    amplitude, rate = theta
    return amplitude * jnp.exp(-rate * times) - observed

solver = optx.LevenbergMarquardt(rtol=1e-4, atol=1e-4)
solution = optx.least_squares(residuals, solver, (1.0, 1.0))
theta = solution.value
---
cause: args; residuals; 2|two
names: residuals
fix: theta, args|theta, _|def residuals(theta,

### vector-is-minimised raises=ValueError line=6
# https://github.com/patrick-kidger/optimistix/issues/10
design = jnp.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
target = jnp.array([1.0, 2.0, 3.0])
---
def misfit(weights, args):
    design, target = args
    return (design @ weights - target) ** 2

solver = optx.BFGS(rtol=1e-5, atol=1e-5)
solution = optx.minimise(misfit, solver, jnp.zeros(2), args=(design, target))
---
def misfit(weights, args):
    design, target = args
    return jnp.sum((design @ weights - target) ** 2)

solver = optx.BFGS(rtol=1e-5, atol=1e-5)
solution = optx.minimise(misfit, solver, jnp.zeros(2), args=(design, target))
---
cause: scalar; misfit; 3
names: misfit
fix: jnp.sum|.sum()|mean|least_squares

### solve-without-its-first-step raises=TypeError line=6
# https://docs.kidger.site/diffrax/api/diffeqsolve/
y0 = jnp.array([1.0, 0.0])
---
def pendulum(t, y, args):
    angle, speed = y
    return jnp.stack([speed, -args * jnp.sin(angle)])

term, solver = dfx.ODETerm(pendulum), dfx.Tsit5()
solution = dfx.diffeqsolve(term, solver, 0.0, 10.0, y0, args=9.81)
---
def pendulum(t, y, args):
    angle, speed = y
    return jnp.stack([speed, -args * jnp.sin(angle)])

term, solver = dfx.ODETerm(pendulum), dfx.Tsit5()
solution = dfx.diffeqsolve(term, solver, 0.0, 10.0, 0.01, y0, args=9.81)
---
cause: dt0; y0; missing|position
names: y0
fix: dt0|0.01

### saved-after-the-end raises=EquinoxRuntimeError line=5
# https://github.com/patrick-kidger/diffrax/issues/382
population = jnp.array([10.0, 5.0])
---
def predator_prey(t, y, args):
    prey, predator = y
    return jnp.stack([1.1 * prey - 0.4 * prey * predator, 0.1 * prey * predator - 0.4 * predator])

days = jnp.linspace(0.0, 30.0, 31)
saveat = dfx.SaveAt(ts=days)
term = dfx.ODETerm(predator_prey)
solution = dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 20.0, 0.1, population, saveat=saveat)
---
def predator_prey(t, y, args):
    prey, predator = y
    return jnp.stack([1.1 * prey - 0.4 * prey * predator, 0.1 * prey * predator - 0.4 * predator])

days = jnp.linspace(0.0, 30.0, 31)
saveat = dfx.SaveAt(ts=days)
term = dfx.ODETerm(predator_prey)
solution = dfx.diffeqsolve(term, dfx.Tsit5(), 0.0, 30.0, 0.1, population, saveat=saveat)
---
cause: ts|days; t1|20; beyond|outside|between|within|lie in
names: days|saveat
fix: 30|t1|days[-1]|20

### backwards-with-a-step-forwards raises=EquinoxTracetimeError line=5
# https://github.com/patrick-kidger/diffrax/issues/425
final = jnp.array([0.2, -0.1])
---
def flow(t, y, args):
    return -y + jnp.sin(t)

t_start, t_end, step = 1.0, 0.0, 0.05
solution = dfx.diffeqsolve(dfx.ODETerm(flow), dfx.Heun(), t_start, t_end, step, final)
initial = solution.ys[-1]
---
def flow(t, y, args):
    return -y + jnp.sin(t)

t_start, t_end, step = 1.0, 0.0, -0.05
solution = dfx.diffeqsolve(dfx.ODETerm(flow), dfx.Heun(), t_start, t_end, step, final)
initial = solution.ys[-1]
---
cause: sign|negative|backward|direction; dt0|step; t0|t1|t_end
names: step
fix: -step|-0.05|negative

### observations-in-the-place-of-the-key raises=TypeError line=10
# https://github.com/pyro-ppl/numpyro/issues/1121
x = jnp.linspace(0.0, 1.0, 12)
y = 2 * x + 0.1
---
def model(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 5.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", len(x)):
        numpyro.sample("obs", dist.Normal(slope * x + offset, 0.1), obs=y)

kernel = NUTS(model)
mcmc = MCMC(kernel, num_warmup=5, num_samples=5, progress_bar=False)
# everything the model takes
mcmc.run(x, y)
slopes = mcmc.get_samples()["slope"]
---
def model(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 5.0))
    offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", len(x)):
        numpyro.sample("obs", dist.Normal(slope * x + offset, 0.1), obs=y)

kernel = NUTS(model)
mcmc = MCMC(kernel, num_warmup=5, num_samples=5, progress_bar=False)
# everything the model takes
mcmc.run(jax.random.key(0), x, y)
slopes = mcmc.get_samples()["slope"]
---
cause: key; first; run
names: x; mcmc
fix: jax.random.key|key

### dirichlet-of-one-number raises=ValueError line=3
# https://num.pyro.ai/en/stable/distributions.html
words = jnp.array([0, 2, 1, 2, 2])
---
def topics(words):
    # how often each of the three words comes
    frequencies = numpyro.sample("frequencies", dist.Dirichlet(0.5))
    with numpyro.plate("words", len(words)):
        numpyro.sample("word", dist.Categorical(frequencies), obs=words)

log_joint, _ = log_density(seed(topics, 0), (words,), {}, {})
---
def topics(words):
    # how often each of the three words comes
    frequencies = numpyro.sample("frequencies", dist.Dirichlet(jnp.full(3, 0.5)))
    with numpyro.plate("words", len(words)):
        numpyro.sample("word", dist.Categorical(frequencies), obs=words)

log_joint, _ = log_density(seed(topics, 0), (words,), {}, {})
---
cause: Dirichlet; one-dimensional|vector|dimension; 0.5|concentration|scalar
names: topics
fix: jnp.full|jnp.ones|[0.5|vector

### checkpoint-in-a-relative-folder raises=ValueError line=5
# https://github.com/apax-hub/apax/issues/465
params = {"w": jnp.ones(3)}
---
checkpointer = ocp.StandardCheckpointer()
folder = Path("run-17") / "best"
doubled = jax.tree.map(lambda leaf: 2 * leaf, params)
# kept for the report
checkpointer.save(folder, doubled)
checkpointer.wait_until_finished()
---
checkpointer = ocp.StandardCheckpointer()
folder = Path(tempfile.mkdtemp()) / "best"
doubled = jax.tree.map(lambda leaf: 2 * leaf, params)
# kept for the report
checkpointer.save(folder, doubled)
checkpointer.wait_until_finished()
---
cause: absolute; folder|run-17
names: folder
fix: resolve()|absolute()|abspath
""",
    prelude="""\
import tempfile
from pathlib import Path
import diffrax as dfx
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import optax
import optimistix as optx
import orbax.checkpoint as ocp
from numpyro.handlers import seed
from numpyro.infer import MCMC, NUTS
from numpyro.infer.util import log_density
""",
    needs=("optax", "optimistix", "diffrax", "numpyro", "orbax"),
)
