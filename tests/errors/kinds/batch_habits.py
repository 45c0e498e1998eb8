"""Habits from NumPy, torch and older versions of JAX, and functions of JAX called as others are."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "batch_habits",
    r"""
### assigned-through-at raises=TypeError line=6
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
grid = jnp.zeros((5, 5))
---
def heat_step(grid):
    inner = grid[1:-1, 1:-1]
    around = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
    new = inner + 0.1 * (around - 4 * inner)
    # the border stays as it is
    grid.at[1:-1, 1:-1] = new
    return grid

grid = jax.jit(heat_step)(grid)
---
def heat_step(grid):
    inner = grid[1:-1, 1:-1]
    around = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]
    new = inner + 0.1 * (around - 4 * inner)
    # the border stays as it is
    grid = grid.at[1:-1, 1:-1].set(new)
    return grid

grid = jax.jit(heat_step)(grid)
---
cause: .at; set; assign
names: grid; heat_step
fix: grid = grid.at[1:-1, 1:-1].set(new)

### numpy-array-has-no-at raises=AttributeError line=6
# https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html
rng = np.random.default_rng(0)
images = rng.normal(size=(4, 6, 6)).astype(np.float32)
---
def cut_out(images, rng):
    '''A square of each image is blanked.'''
    rows = rng.integers(0, 4, size=len(images))
    for i, row in enumerate(rows):
        # two by two pixels
        images = images.at[i, row : row + 2, :2].set(0.0)
    return images

batch = jnp.mean(cut_out(images, rng), axis=0)
---
def cut_out(images, rng):
    '''A square of each image is blanked.'''
    rows = rng.integers(0, 4, size=len(images))
    for i, row in enumerate(rows):
        # two by two pixels
        images[i, row : row + 2, :2] = 0.0
    return images

batch = jnp.mean(cut_out(images, rng), axis=0)
---
cause: NumPy; .at|at; images
names: images; cut_out
fix: jnp.asarray|= 0.0|jnp.array

### size-is-called raises=TypeError line=2
# https://github.com/samuela/torch2jax/pull/10
x = jnp.ones((4, 3, 8))
---
def pool_and_flatten(x):
    batch = x.size(0)
    pooled = jnp.max(x, axis=1)
    return pooled.reshape(batch, -1)

features = jax.jit(pool_and_flatten)(x)
---
def pool_and_flatten(x):
    batch = x.shape[0]
    pooled = jnp.max(x, axis=1)
    return pooled.reshape(batch, -1)

features = jax.jit(pool_and_flatten)(x)
---
cause: size; number of elements|int|no method|not a function|not callable; shape
names: x
fix: x.shape[0]

### axis-called-dim raises=TypeError line=5
# https://github.com/jax-ml/jax/issues/7823
queries = jnp.ones((2, 5, 8))
keys = jnp.ones((2, 5, 8))
values = jnp.ones((2, 5, 8))
---
def attention(q, k, v):
    scale = q.shape[-1] ** -0.5
    scores = jnp.einsum("btd,bsd->bts", q, k) * scale
    # over the keys
    weights = jax.nn.softmax(scores, dim=-1)
    return jnp.einsum("bts,bsd->btd", weights, v)

out = attention(queries, keys, values)
---
def attention(q, k, v):
    scale = q.shape[-1] ** -0.5
    scores = jnp.einsum("btd,bsd->bts", q, k) * scale
    # over the keys
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("bts,bsd->btd", weights, v)

out = attention(queries, keys, values)
---
cause: dim; axis; softmax
names: attention
fix: axis=-1

### larger-of-two-by-max raises=TypeError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.max.html
margins = jnp.array([0.3, -1.2, 2.0])
---
def hinge(weights, margins):
    slack = 1.0 - weights * margins
    # nothing for what is far on the right side
    return jnp.mean(jnp.max(0.0, slack))

loss, grad = jax.value_and_grad(hinge)(jnp.ones(3), margins)
---
def hinge(weights, margins):
    slack = 1.0 - weights * margins
    # nothing for what is far on the right side
    return jnp.mean(jnp.maximum(0.0, slack))

loss, grad = jax.value_and_grad(hinge)(jnp.ones(3), margins)
---
cause: axis; slack; max
names: slack; hinge
fix: jnp.maximum(0.0, slack)

### diagonal-filled-in-place raises=NotImplementedError line=5
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.fill_diagonal.html
embeddings = jnp.arange(12.0).reshape(4, 3)
---
def nearest(embeddings):
    gram = embeddings @ embeddings.T
    norms = jnp.diag(gram)
    distances = norms[:, None] + norms[None, :] - 2 * gram
    jnp.fill_diagonal(distances, jnp.inf)
    return distances.argmin(axis=1)

neighbours = nearest(embeddings)
---
def nearest(embeddings):
    gram = embeddings @ embeddings.T
    norms = jnp.diag(gram)
    distances = norms[:, None] + norms[None, :] - 2 * gram
    distances = jnp.fill_diagonal(distances, jnp.inf, inplace=False)
    return distances.argmin(axis=1)

neighbours = nearest(embeddings)
---
cause: place|immutable|changed; fill_diagonal; inplace
names: distances
fix: distances = jnp.fill_diagonal(distances, jnp.inf, inplace=False)|inplace=False

### result-into-an-array raises=NotImplementedError line=5
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.cumsum.html
returns = jnp.array([0.01, -0.02, 0.03])
---
def equity_curve(returns, start=100.0):
    curve = jnp.zeros_like(returns)
    growth = jnp.log1p(returns)
    # into the memory that is there
    jnp.cumsum(growth, out=curve)
    return start * jnp.exp(curve)

curve = equity_curve(returns)
---
def equity_curve(returns, start=100.0):
    curve = jnp.zeros_like(returns)
    growth = jnp.log1p(returns)
    # into the memory that is there
    curve = jnp.cumsum(growth)
    return start * jnp.exp(curve)

curve = equity_curve(returns)
---
cause: out; cumsum; immutable|in place|new array|not supported
names: curve|growth
fix: curve = jnp.cumsum(growth)

### metrics-as-json raises=TypeError line=6
# https://github.com/jax-ml/jax/issues/12862
predictions = jnp.array([0.2, 0.9, 0.4])
labels = jnp.array([0.0, 1.0, 1.0])
---
def report(step, predictions, labels):
    error = jnp.mean((predictions - labels) ** 2)
    accuracy = jnp.mean((predictions > 0.5) == (labels > 0.5))
    metrics = {"step": step, "mse": error, "accuracy": accuracy}
    # one line for each step
    return json.dumps(metrics)

line = report(3, predictions, labels)
---
def report(step, predictions, labels):
    error = jnp.mean((predictions - labels) ** 2)
    accuracy = jnp.mean((predictions > 0.5) == (labels > 0.5))
    metrics = {"step": step, "mse": float(error), "accuracy": float(accuracy)}
    # one line for each step
    return json.dumps(metrics)

line = report(3, predictions, labels)
---
cause: array|Array; mse|error; json|JSON
names: metrics
fix: float(|.item()|tolist

### counted-by-array-keys raises=TypeError line=5
# https://github.com/jax-ml/jax/pull/884
logits = jnp.array([[0.1, 2.0, 0.3], [1.5, 0.2, 0.1], [0.0, 3.0, 1.0]])
---
def class_counts(logits):
    predicted = jnp.argmax(logits, axis=-1)
    counts = {}
    for label in predicted:
        counts[label] = counts.get(label, 0) + 1
    return counts

counts = class_counts(logits)
---
def class_counts(logits):
    predicted = jnp.argmax(logits, axis=-1)
    counts = {}
    for label in predicted.tolist():
        counts[label] = counts.get(label, 0) + 1
    return counts

counts = class_counts(logits)
---
cause: hash; label; array|Array
names: label
fix: int(label)|.item()|tolist|bincount

### drawn-between-two-numbers raises=TypeError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.random.uniform.html
key = jax.random.key(4)
---
def init_layer(key, inputs, outputs):
    bound = (6.0 / (inputs + outputs)) ** 0.5
    kernel = jax.random.uniform(key, -bound, bound, (inputs, outputs))
    return {"kernel": kernel, "bias": jnp.zeros(outputs)}

layer = init_layer(key, 4, 3)
---
def init_layer(key, inputs, outputs):
    bound = (6.0 / (inputs + outputs)) ** 0.5
    kernel = jax.random.uniform(key, (inputs, outputs), minval=-bound, maxval=bound)
    return {"kernel": kernel, "bias": jnp.zeros(outputs)}

layer = init_layer(key, 4, 3)
---
cause: shape; uniform; bound|minval|second
names: bound
fix: minval=-bound|minval

### split-into-parts-that-differ raises=ValueError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.split.html
hidden = jnp.ones((2, 6, 32))
---
def qkv(hidden, kernel):
    mixed = hidden @ kernel
    q, k, v = jnp.split(mixed, 3, axis=-1)
    return q, k, v

kernel = jnp.ones((32, 64))
q, k, v = qkv(hidden, kernel)
---
def qkv(hidden, kernel):
    mixed = hidden @ kernel
    q, k, v = jnp.split(mixed, 3, axis=-1)
    return q, k, v

kernel = jnp.ones((32, 96))
q, k, v = qkv(hidden, kernel)
---
cause: 64; 3; divi|equal
names: mixed
fix: array_split|63|66|96|multiple|indices|2

### shuffled-by-numpy raises=TypeError line=5
# https://docs.jax.dev/en/latest/_autosummary/jax.random.permutation.html
x = jnp.arange(12.0).reshape(6, 2)
rng = np.random.default_rng(0)
---
def epochs(x, count, size=2):
    '''Batches in another order for each epoch.'''
    rows = jnp.arange(len(x))
    for _ in range(count):
        rng.shuffle(rows)
        for start in range(0, len(x), size):
            yield x[rows[start : start + size]]

total = sum(batch.sum() for batch in epochs(x, 2))
---
def epochs(x, count, size=2):
    '''Batches in another order for each epoch.'''
    rows = np.arange(len(x))
    for _ in range(count):
        rng.shuffle(rows)
        for start in range(0, len(x), size):
            yield x[rows[start : start + size]]

total = sum(batch.sum() for batch in epochs(x, 2))
---
cause: shuffle; immutable|in place|cannot be changed; rows
names: rows
fix: np.arange|permutation|np.array

### tree-map-of-an-older-jax raises=AttributeError line=4
# https://github.com/pyrddlgym-project/pyRDDLGym-jax/issues/16
params = {"w": jnp.ones(3), "b": jnp.zeros(())}
target = {"w": jnp.zeros(3), "b": jnp.ones(())}
---
def soft_update(target, online, tau):
    '''The target network follows slowly.'''
    mix = lambda t, o: (1 - tau) * t + tau * o
    return jax.tree_map(mix, target, online)

target = jax.jit(soft_update)(target, params, 0.01)
---
def soft_update(target, online, tau):
    '''The target network follows slowly.'''
    mix = lambda t, o: (1 - tau) * t + tau * o
    return jax.tree.map(mix, target, online)

target = jax.jit(soft_update)(target, params, 0.01)
---
cause: jax.tree_map; removed|no longer
names: soft_update
fix: jax.tree.map(mix, target, online)

### clip-with-the-names-of-numpy raises=TypeError line=5
# https://github.com/jaxleyverse/jaxley/issues/806
voltage = jnp.linspace(-120.0, 60.0, 7)
---
def gate(voltage, threshold=-40.0, slope=7.0):
    '''How many of the channels are open.'''
    x = (voltage - threshold) / slope
    # exp of more than 20 is of no use
    safe = jnp.clip(x, a_min=-20.0, a_max=20.0)
    return 1 / (1 + jnp.exp(-safe))

opened = jax.vmap(gate)(voltage)
---
def gate(voltage, threshold=-40.0, slope=7.0):
    '''How many of the channels are open.'''
    x = (voltage - threshold) / slope
    # exp of more than 20 is of no use
    safe = jnp.clip(x, min=-20.0, max=20.0)
    return 1 / (1 + jnp.exp(-safe))

opened = jax.vmap(gate)(voltage)
---
cause: a_min; min; clip
names: gate
fix: min=-20.0, max=20.0

### index-update-of-old raises=AttributeError line=4
# https://docs.jax.dev/en/latest/changelog.html
memory = {"obs": jnp.zeros((4, 2)), "cursor": 1}
---
def remember(memory, obs):
    slot = memory["cursor"] % len(memory["obs"])
    # overwrite the oldest
    stored = jax.ops.index_update(memory["obs"], jax.ops.index[slot], obs)
    return {"obs": stored, "cursor": memory["cursor"] + 1}

memory = remember(memory, jnp.ones(2))
---
def remember(memory, obs):
    slot = memory["cursor"] % len(memory["obs"])
    # overwrite the oldest
    stored = memory["obs"].at[slot].set(obs)
    return {"obs": stored, "cursor": memory["cursor"] + 1}

memory = remember(memory, jnp.ones(2))
---
cause: index_update; removed|no longer|older; .at
names: remember
fix: .at[

### two-arrays-for-lax-map raises=TypeError line=5
# https://github.com/jax-ml/jax/issues/29538
starts = jnp.array([0.0, 1.0, 2.0])
speeds = jnp.array([0.5, 0.1, 0.2])
---
def fly(start, speed):
    step = lambda i, x: x + speed * jnp.cos(x)
    return lax.fori_loop(0, 10, step, start)

ends = lax.map(fly, starts, speeds)
---
def fly(start, speed):
    step = lambda i, x: x + speed * jnp.cos(x)
    return lax.fori_loop(0, 10, step, start)

ends = lax.map(lambda pair: fly(*pair), (starts, speeds))
---
cause: lax.map|map; one|tuple|too many|2|two
names: fly|starts|speeds
fix: (starts, speeds)|vmap

### compiled-for-another-batch raises=TypeError line=8
# https://docs.jax.dev/en/latest/aot.html
weights = jnp.ones((3, 2))
data = jnp.ones((10, 3))
---
def predict(weights, x):
    return jnp.tanh(x @ weights)

size = 4
compiled = jax.jit(predict).lower(weights, data[:size]).compile()
outputs = []
for start in range(0, len(data), size):
    outputs.append(compiled(weights, data[start : start + size]))
outputs = jnp.concatenate(outputs)
---
def predict(weights, x):
    return jnp.tanh(x @ weights)

size = 5
compiled = jax.jit(predict).lower(weights, data[:size]).compile()
outputs = []
for start in range(0, len(data), size):
    outputs.append(compiled(weights, data[start : start + size]))
outputs = jnp.concatenate(outputs)
---
cause: [4,3]|(4, 3); [2,3]|(2, 3); compiled
names: compiled; data
fix: jax.jit(predict)|pad|size

### unravelled-from-another-model raises=ValueError line=8
# https://docs.jax.dev/en/latest/_autosummary/jax.flatten_util.ravel_pytree.html
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
x = jnp.ones((5, 3))
---
flat, unravel = ravel_pytree(params)

def negative_log_posterior(theta):
    # the last entry is the logarithm of the noise
    noise = jnp.exp(theta[-1])
    weights = theta
    # back to layers
    layer = unravel(weights)
    residual = x @ layer["w"] + layer["b"]
    return jnp.sum(residual**2) / noise + jnp.sum(theta**2)

theta = jnp.append(flat, 0.0)
gradient = jax.grad(negative_log_posterior)(theta)
---
flat, unravel = ravel_pytree(params)

def negative_log_posterior(theta):
    # the last entry is the logarithm of the noise
    noise = jnp.exp(theta[-1])
    weights = theta[:-1]
    # back to layers
    layer = unravel(weights)
    residual = x @ layer["w"] + layer["b"]
    return jnp.sum(residual**2) / noise + jnp.sum(theta**2)

theta = jnp.append(flat, 0.0)
gradient = jax.grad(negative_log_posterior)(theta)
---
cause: 9; 8; unravel
names: weights; unravel
fix: [:8]|[:-1]|weights[:

### eigenvalues-of-a-tree raises=TypeError line=7
# https://docs.jax.dev/en/latest/_autosummary/jax.hessian.html
params = {"a": jnp.array([1.0, 2.0]), "c": jnp.array(0.5)}
---
def energy(params):
    stretch = jnp.sum((params["a"] - params["c"]) ** 2)
    return stretch + 0.1 * params["c"] ** 4

hessian = jax.hessian(energy)(params)
# is it a minimum?
curvatures = jnp.linalg.eigvalsh(hessian)
---
def energy(params):
    stretch = jnp.sum((params["a"] - params["c"]) ** 2)
    return stretch + 0.1 * params["c"] ** 4

flat, unravel = ravel_pytree(params)
hessian = jax.hessian(lambda flat: energy(unravel(flat)))(flat)
# is it a minimum?
curvatures = jnp.linalg.eigvalsh(hessian)
---
cause: dict; hessian; array|matrix
names: hessian
fix: ravel_pytree

### arguments-of-minimize-not-in-a-tuple raises=TypeError line=6
# https://github.com/jax-ml/jax/pull/5741
observed = jnp.array([1.0, 2.0, 4.0])
---
def cost(position, observed):
    return jnp.sum((position - observed) ** 2)

start = jnp.zeros(3)
# two rounds of BFGS
result = minimize(cost, start, args=observed, method="BFGS", options={"maxiter": 2})
best = result.x
---
def cost(position, observed):
    return jnp.sum((position - observed) ** 2)

start = jnp.zeros(3)
# two rounds of BFGS
result = minimize(cost, start, args=(observed,), method="BFGS", options={"maxiter": 2})
best = result.x
---
cause: args; tuple; observed
names: observed
fix: (observed,)

### policy-by-its-name raises=TypeError line=6
# https://docs.jax.dev/en/latest/gradient-checkpointing.html
w = jnp.ones((4, 4))
x = jnp.ones((2, 4))
---
def block(w, x):
    h = jnp.sin(x @ w)
    return jnp.sin(h @ w)

# matmuls are kept
saving = jax.checkpoint(block, policy="dots_saveable")

def loss(w):
    return jnp.sum(saving(w, saving(w, x)))

grads = jax.grad(loss)(w)
---
def block(w, x):
    h = jnp.sin(x @ w)
    return jnp.sin(h @ w)

# matmuls are kept
saving = jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable)

def loss(w):
    return jnp.sum(saving(w, saving(w, x)))

grads = jax.grad(loss)(w)
---
cause: policy; dots_saveable; function|checkpoint_policies
names: saving
fix: jax.checkpoint_policies.dots_saveable
""",
    prelude="""\
import json
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.scipy.optimize import minimize
""",
)
