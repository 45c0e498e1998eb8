"""Training and data code that runs through, and does not do what its author believes or does it slowly."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = (
    *written(
        "batch_quiet",
        r"""
### softmax-before-the-cross-entropy line=7
# https://github.com/tflearn/tflearn/pull/562
x = jax.random.normal(jax.random.key(0), (16, 4))
labels = jnp.arange(16) % 3
---
class Classifier(nn.Module):
    classes: int = 3

    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(16)(x))
        return nn.softmax(nn.Dense(self.classes)(h))

model = Classifier()
params = model.init(jax.random.key(1), x)

def loss_fn(params):
    outputs = model.apply(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(outputs, labels).mean()

grads = jax.jit(jax.grad(loss_fn))(params)
---
class Classifier(nn.Module):
    classes: int = 3

    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(16)(x))
        return nn.Dense(self.classes)(h)

model = Classifier()
params = model.init(jax.random.key(1), x)

def loss_fn(params):
    outputs = model.apply(params, x)
    return optax.softmax_cross_entropy_with_integer_labels(outputs, labels).mean()

grads = jax.jit(jax.grad(loss_fn))(params)
---
cause: softmax; twice|again|already|second; logits
names: Classifier|outputs
fix: nn.Dense(self.classes)(h)|logits|without

### sigmoid-before-the-binary-loss line=4
# https://optax.readthedocs.io/en/latest/api/losses.html
x = jax.random.normal(jax.random.key(0), (16, 4))
clicked = (x[:, 0] > 0).astype(jnp.float32)
weights = {"w": jnp.zeros(4), "b": jnp.zeros(())}
---
def click_probability(weights, x):
    scores = x @ weights["w"]
    scores = scores + weights["b"]
    return jax.nn.sigmoid(scores)

@jax.jit
def step(weights):
    def loss_fn(weights):
        predicted = click_probability(weights, x)
        return optax.sigmoid_binary_cross_entropy(predicted, clicked).mean()

    grads = jax.grad(loss_fn)(weights)
    return jax.tree.map(lambda w, g: w - 0.5 * g, weights, grads)

for _ in range(3):
    weights = step(weights)
---
def click_probability(weights, x):
    scores = x @ weights["w"]
    scores = scores + weights["b"]
    return scores

@jax.jit
def step(weights):
    def loss_fn(weights):
        predicted = click_probability(weights, x)
        return optax.sigmoid_binary_cross_entropy(predicted, clicked).mean()

    grads = jax.grad(loss_fn)(weights)
    return jax.tree.map(lambda w, g: w - 0.5 * g, weights, grads)

for _ in range(3):
    weights = step(weights)
---
cause: sigmoid; twice|again|already|second; logits
names: scores|predicted
fix: return scores|logits|without

### channels-first-by-reshape line=3
# https://github.com/pytorch/vision/issues/676
photos = jax.random.uniform(jax.random.key(0), (2, 8, 10, 3))
kernels = jax.random.normal(jax.random.key(1), (6, 3, 3, 3))
---
def features(photos, kernels):
    batch, height, width, channels = photos.shape
    images = photos.reshape(batch, channels, height, width)
    maps = lax.conv(images, kernels, (1, 1), "SAME")
    return jax.nn.relu(maps).mean(axis=(2, 3))

pooled = jax.jit(features)(photos, kernels)
---
def features(photos, kernels):
    batch, height, width, channels = photos.shape
    images = photos.transpose(0, 3, 1, 2)
    maps = lax.conv(images, kernels, (1, 1), "SAME")
    return jax.nn.relu(maps).mean(axis=(2, 3))

pooled = jax.jit(features)(photos, kernels)
---
cause: reshape; order|mix|scrambl|does not move|not transpose; (2, 8, 10, 3)|2, 8, 10, 3|2,8,10,3|[2,8,10,3]
names: photos; images
fix: transpose|moveaxis

### branches-of-the-last-temperature line=4
# https://docs.python.org/3/faq/programming.html
logits = jnp.array([0.5, 1.0, 3.0])
---
temperatures = (0.1, 1.0, 10.0)
branches = []
for t in temperatures:
    branches.append(lambda logits: jax.nn.softmax(logits / t))

@jax.jit
def soften(level, logits):
    return lax.switch(level, branches, logits)

sharp = soften(0, logits)
flat = soften(2, logits)
---
temperatures = (0.1, 1.0, 10.0)
branches = []
for t in temperatures:
    branches.append(lambda logits, t=t: jax.nn.softmax(logits / t))

@jax.jit
def soften(level, logits):
    return lax.switch(level, branches, logits)

sharp = soften(0, logits)
flat = soften(2, logits)
---
cause: t; last; lambda|function|branch
names: t; branches
fix: t=t|partial

### new-state-is-not-kept line=12
# https://flax.readthedocs.io/en/latest/api_reference/flax.training.html
x = jnp.linspace(-1.0, 1.0, 8)[:, None]
y = 3 * x + 1
model = nn.Dense(1)
params = model.init(jax.random.key(0), x)["params"]
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.1))
---
@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        pred = state.apply_fn({"params": params}, x)
        return jnp.mean((pred - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss

losses = []
for epoch in range(3):
    _, loss = train_step(state, x, y)
    losses.append(loss)
---
@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        pred = state.apply_fn({"params": params}, x)
        return jnp.mean((pred - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss

losses = []
for epoch in range(3):
    state, loss = train_step(state, x, y)
    losses.append(loss)
---
cause: state; not kept|thrown away|dropped|lost|not used|never used|discarded; loop|turn|every|each
names: state; train_step
fix: state, loss = train_step

### gradients-applied-to-nothing line=7
# https://flax.readthedocs.io/en/latest/api_reference/flax.training.html
x = jnp.linspace(-1.0, 1.0, 8)[:, None]
y = 3 * x + 1
model = nn.Dense(1)
params = model.init(jax.random.key(0), x)["params"]
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.1))
---
def train_step(state, x, y):
    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, x) - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    # moves the parameters
    state.apply_gradients(grads=grads)
    return state, loss

for epoch in range(3):
    state, loss = train_step(state, x, y)
---
def train_step(state, x, y):
    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, x) - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    # moves the parameters
    state = state.apply_gradients(grads=grads)
    return state, loss

for epoch in range(3):
    state, loss = train_step(state, x, y)
---
cause: apply_gradients; new|returns; not used|thrown away|dropped|lost|nothing|ignored
names: state
fix: state = state.apply_gradients(grads=grads)

### module-edited-and-forgotten line=4
# https://docs.kidger.site/equinox/api/manipulation/
key = jax.random.key(0)
policy = eqx.nn.MLP(4, 2, 16, 2, key=key)
---
def small_head(policy, scale):
    last = policy.layers[-1]
    # begin near zero, as is usual for policies
    eqx.tree_at(lambda p: p.layers[-1].weight, policy, scale * last.weight)
    return policy

policy = small_head(policy, 0.01)
action = policy(jnp.ones(4))
---
def small_head(policy, scale):
    last = policy.layers[-1]
    # begin near zero, as is usual for policies
    policy = eqx.tree_at(lambda p: p.layers[-1].weight, policy, scale * last.weight)
    return policy

policy = small_head(policy, 0.01)
action = policy(jnp.ones(4))
---
cause: tree_at; new|returns|copy; not used|thrown away|dropped|lost|nothing|ignored
names: policy
fix: policy = eqx.tree_at

### ascent-for-want-of-a-minus line=2
# https://optax.readthedocs.io/en/latest/api/transformations.html
x, y = jnp.linspace(0.0, 1.0, 9), jnp.linspace(1.0, 3.0, 9)
params = {"w": jnp.zeros(()), "b": jnp.zeros(())}
---
learning_rate = 0.1
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.scale(learning_rate))
opt_state = tx.init(params)
loss_fn = lambda params: jnp.mean((params["w"] * x + params["b"] - y) ** 2)

@jax.jit
def step(params, opt_state):
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss

for _ in range(4):
    params, opt_state, loss = step(params, opt_state)
---
learning_rate = 0.1
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.scale_by_adam(), optax.scale(-learning_rate))
opt_state = tx.init(params)
loss_fn = lambda params: jnp.mean((params["w"] * x + params["b"] - y) ** 2)

@jax.jit
def step(params, opt_state):
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss

for _ in range(4):
    params, opt_state, loss = step(params, opt_state)
---
cause: minus|sign|negative|ascent|uphill|along the gradient; scale; grow|ascent|uphill|increase|climb|along the gradient
names: tx|learning_rate
fix: -learning_rate|scale_by_learning_rate

### optimizer-begun-anew-in-every-step line=4
# https://optax.readthedocs.io/en/latest/getting_started.html
x, y = jnp.linspace(0.0, 1.0, 9), jnp.linspace(1.0, 3.0, 9)
params = {"w": jnp.zeros(()), "b": jnp.zeros(())}
tx = optax.adam(0.05)
---
@jax.jit
def step(params, x, y):
    loss_fn = lambda params: jnp.mean((params["w"] * x + params["b"] - y) ** 2)
    opt_state = tx.init(params)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), loss

for _ in range(4):
    params, loss = step(params, x, y)
---
opt_state = tx.init(params)

@jax.jit
def step(params, opt_state, x, y):
    loss_fn = lambda params: jnp.mean((params["w"] * x + params["b"] - y) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss

for _ in range(4):
    params, opt_state, loss = step(params, opt_state, x, y)
---
cause: opt_state; every|each; anew|again|reset|forgets|momentum|from zero|lost
names: opt_state; step
fix: outside|before the loop|argument|return

### running-statistics-thrown-away line=14
# https://flax.readthedocs.io/en/latest/guides/training_techniques/batch_norm.html
x = 5.0 + 3.0 * jax.random.normal(jax.random.key(0), (32, 4))
y = x.sum(axis=1)
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train)(x)
        return nn.Dense(1)(x)[:, 0]

net = Net()
variables = net.init(jax.random.key(1), x, False)
params, stats = variables["params"], variables["batch_stats"]

@jax.jit
def step(params, stats):
    def loss_fn(params):
        pred, _ = net.apply({"params": params, "batch_stats": stats}, x, True, mutable=["batch_stats"])
        return jnp.mean((pred - y) ** 2)

    grads = jax.grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

for _ in range(3):
    params = step(params, stats)
pred = net.apply({"params": params, "batch_stats": stats}, x, False)
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.BatchNorm(use_running_average=not train)(x)
        return nn.Dense(1)(x)[:, 0]

net = Net()
variables = net.init(jax.random.key(1), x, False)
params, stats = variables["params"], variables["batch_stats"]

@jax.jit
def step(params, stats):
    def loss_fn(params):
        pred, new = net.apply({"params": params, "batch_stats": stats}, x, True, mutable=["batch_stats"])
        return jnp.mean((pred - y) ** 2), new["batch_stats"]

    grads, stats_now = jax.grad(loss_fn, has_aux=True)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), stats_now

for _ in range(3):
    params, stats = step(params, stats)
pred = net.apply({"params": params, "batch_stats": stats}, x, False)
---
cause: batch_stats|statistics; not kept|thrown away|dropped|lost|not used|never used|discarded|ignored
names: net|stats
fix: has_aux|return|keep|stats

### weights-added-to-counts line=6
# https://github.com/jax-ml/jax/issues/8409
labels = jnp.array([0, 2, 1, 2])
---
def class_weights(labels, classes):
    # rare classes count more
    totals = jnp.zeros(classes, dtype=int)
    for label, weight in zip(labels, (0.5, 0.9, 0.7, 0.4)):
        # weighted counts
        totals = totals.at[label].add(weight)
    return totals / totals.sum()

balance = class_weights(labels, 3)
---
def class_weights(labels, classes):
    # rare classes count more
    totals = jnp.zeros(classes)
    for label, weight in zip(labels, (0.5, 0.9, 0.7, 0.4)):
        # weighted counts
        totals = totals.at[label].add(weight)
    return totals / totals.sum()

balance = class_weights(labels, 3)
---
cause: int; float|fraction|0.5; truncat|cut|rounded|zero|lost
names: totals; weight
fix: float|jnp.zeros(classes)|dtype

### logits-taken-for-probabilities line=4
# https://num.pyro.ai/en/stable/distributions.html
species = jnp.array([0, 1, 2, 1])
x = jnp.array([0.1, 0.5, 0.9, 0.4])
---
def model(x, species=None):
    slopes = numpyro.sample("slopes", dist.Normal(0.0, 1.0).expand([3]))
    logits = x[:, None] * slopes
    likelihood = dist.Categorical(logits)
    with numpyro.plate("flowers", len(x)):
        return numpyro.sample("species", likelihood, obs=species)

potential = jax.jit(lambda slopes: -log_density(model, (x, species), {}, {"slopes": slopes})[0])
energy = potential(jnp.array([0.2, -0.4, 1.0]))
---
def model(x, species=None):
    slopes = numpyro.sample("slopes", dist.Normal(0.0, 1.0).expand([3]))
    logits = x[:, None] * slopes
    likelihood = dist.Categorical(logits=logits)
    with numpyro.plate("flowers", len(x)):
        return numpyro.sample("species", likelihood, obs=species)

potential = jax.jit(lambda slopes: -log_density(model, (x, species), {}, {"slopes": slopes})[0])
energy = potential(jnp.array([0.2, -0.4, 1.0]))
---
cause: probabilit|probs; negative|sum|logits; first
names: logits
fix: logits=logits

### scores-sorted-in-place line=3
# https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html
scores = jnp.array([0.3, 0.9, 0.1, 0.7])
---
def upper_half_mean(scores):
    middle = scores.shape[0] // 2
    scores.sort()
    return scores[middle:].mean()

best = jax.jit(upper_half_mean)(scores)
---
def upper_half_mean(scores):
    middle = scores.shape[0] // 2
    scores = scores.sort()
    return scores[middle:].mean()

best = jax.jit(upper_half_mean)(scores)
---
cause: sort; new|copy|returns; not used|thrown away|dropped|lost|nothing|ignored
names: scores
fix: scores = scores.sort()

### python-flag-inverted-by-tilde line=4
# https://github.com/python/cpython/issues/103487
values = jnp.array([1.0, 2.0, 3.0])
---
def advance(values, finished):
    # finished environments keep their values
    stepped = values + 1.0
    running = ~finished
    return jnp.where(running, stepped, values)

done = advance(values, True)
---
def advance(values, finished):
    # finished environments keep their values
    stepped = values + 1.0
    running = not finished
    return jnp.where(running, stepped, values)

done = advance(values, True)
---
cause: -2; bool; true|truth
names: finished
fix: not finished

### only-numpy-arrays-are-scaled line=5
# https://github.com/jax-ml/jax/issues/8701
batch = {"image": jnp.full((2, 4, 4), 255.0), "label": np.array([3.0, 7.0]), "name": "train"}
---
def scale(batch):
    '''Arrays are brought to the range from 0 to 1.'''
    out = {}
    for name, value in batch.items():
        if isinstance(value, np.ndarray):
            value = value / value.max()
        out[name] = value
    return out

brightness = scale(batch)["image"].mean()
---
def scale(batch):
    '''Arrays are brought to the range from 0 to 1.'''
    out = {}
    for name, value in batch.items():
        if isinstance(value, (np.ndarray, jax.Array)):
            value = value / value.max()
        out[name] = value
    return out

brightness = scale(batch)["image"].mean()
---
cause: np.ndarray|numpy.ndarray; jax; not|never|False
names: value
fix: jax.Array|jnp.ndarray

### rate-of-python-numbers-in-filter-jit line=10
# https://github.com/patrick-kidger/equinox/issues/645
model = eqx.nn.MLP(2, 1, 8, 1, key=jax.random.key(0))
x, y = jnp.ones((4, 2)), jnp.zeros((4, 1))
---
@eqx.filter_jit
def step(model, rate, x, y):
    loss_fn = lambda model: jnp.mean((jax.vmap(model)(x) - y) ** 2)
    grads = eqx.filter_grad(loss_fn)(model)
    updates = jax.tree.map(lambda g: -rate * g, grads)
    return eqx.apply_updates(model, updates)

for epoch in range(6):
    rate = 0.1 * 0.9**epoch
    model = step(model, rate, x, y)
---
@eqx.filter_jit
def step(model, rate, x, y):
    loss_fn = lambda model: jnp.mean((jax.vmap(model)(x) - y) ** 2)
    grads = eqx.filter_grad(loss_fn)(model)
    updates = jax.tree.map(lambda g: -rate * g, grads)
    return eqx.apply_updates(model, updates)

for epoch in range(6):
    rate = jnp.asarray(0.1 * 0.9**epoch)
    model = step(model, rate, x, y)
---
cause: rate; compil|trac; Python number|static|each value|every value|float
names: rate; step
fix: jnp.asarray|jnp.array|jnp.float32
""",
        prelude="""\
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import optax
from flax.training import train_state
from jax import lax
from numpyro.infer.util import log_density
""",
        needs=("equinox", "flax", "optax", "numpyro"),
    ),
    *written(
        "batch_quiet",
        r"""
### summed-by-the-sum-of-python line=4
# https://docs.jax.dev/en/latest/faq.html
returns = jnp.linspace(-0.01, 0.02, 400)
---
def sharpe(returns):
    count = len(returns)
    # mean over deviation
    mean = sum(returns) / count
    return mean / returns.std()

ratio = sharpe(returns)
---
def sharpe(returns):
    count = len(returns)
    # mean over deviation
    mean = returns.sum() / count
    return mean / returns.std()

ratio = sharpe(returns)
---
cause: sum; 400; one by one|element|each
names: returns
fix: jnp.sum(returns)|returns.sum()

### features-gathered-in-a-list line=8
# https://github.com/jax-ml/jax/issues/2515
signal = jnp.sin(jnp.linspace(0.0, 30.0, 300))
---
@jax.jit
def envelope(signal, width=4):
    peaks = []
    for start in range(0, len(signal) - width):
        window = signal[start : start + width]
        # one number for each place
        peaks.append(jnp.max(window) - jnp.min(window))
    return jnp.array(peaks)

curve = envelope(signal)
---
@jax.jit
def envelope(signal, width=4):
    starts = jnp.arange(len(signal) - width)
    # one number for each place
    windows = signal[starts[:, None] + jnp.arange(width)]
    return windows.max(axis=1) - windows.min(axis=1)

curve = envelope(signal)
---
cause: list|one by one|unroll|loop; 296; compil|equations|operations|trac
names: peaks|envelope
fix: vmap|lax.map|scan|stack

### update-timed-inside-of-a-dictionary line=13
# https://docs.jax.dev/en/latest/async_dispatch.html
learner = {"w": jnp.ones((300, 300)), "step": jnp.array(0)}
x = jnp.ones((300, 300))
---
@jax.jit
def learn(learner, x):
    w = learner["w"]
    for _ in range(3):
        w = jnp.tanh(w @ x) / 300
    return {"w": w, "step": learner["step"] + 1}, {"norm": jnp.linalg.norm(w)}

learner, metrics = learn(learner, x)
jax.block_until_ready(learner)
start = time.perf_counter()
for _ in range(10):
    learner, metrics = learn(learner, x)
seconds = (time.perf_counter() - start) / 10
---
@jax.jit
def learn(learner, x):
    w = learner["w"]
    for _ in range(3):
        w = jnp.tanh(w @ x) / 300
    return {"w": w, "step": learner["step"] + 1}, {"norm": jnp.linalg.norm(w)}

learner, metrics = learn(learner, x)
jax.block_until_ready(learner)
start = time.perf_counter()
for _ in range(10):
    learner, metrics = learn(learner, x)
jax.block_until_ready((learner, metrics))
seconds = (time.perf_counter() - start) / 10
---
cause: asynchron|dispatch|not finished|still running|before it is done; block_until_ready|wait
names: learner|learn
fix: block_until_ready
""",
        prelude="""\
import time
import jax
import jax.numpy as jnp
""",
    ),
)
