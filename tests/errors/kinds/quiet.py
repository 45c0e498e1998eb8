"""Cells that run through and compute something else than was meant."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = (
    "import functools\nimport random\nimport time\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n"
    "from jax import lax\n"
)

CASES = written(
    "quiet",
    r"""
### token-beyond-the-vocabulary line=5
# https://github.com/google/flax/issues/136
vocab_size = 6
table = jnp.arange(12.0).reshape(vocab_size, 2)
tokens = jnp.array([[0, 3, 6], [1, 2, 5]])
---
positions = jnp.array([[0.0, 0.1], [0.2, 0.3], [0.4, 0.5]])

@jax.jit
def embed(tokens):
    vectors = table[tokens]
    return vectors + positions

hidden = embed(tokens)
---
positions = jnp.array([[0.0, 0.1], [0.2, 0.3], [0.4, 0.5]])

@jax.jit
def embed(tokens):
    vectors = table[jnp.where(tokens < vocab_size, tokens, 0)]
    return vectors + positions

hidden = embed(tokens)
---
cause: out of bounds|out of range|outside|beyond|past the end; clamp|clip|last; 6
names: table; tokens
fix: vocab|clip|jnp.where|mode=|7|rows|larger|+ 1

### replay-buffer-written-past-its-end line=5
# https://github.com/jax-ml/jax/pull/7595
capacity = 4
observations = jnp.arange(12.0).reshape(6, 2)
---
buffer = jnp.zeros((capacity, 2))
position = 0

def push(buffer, position, obs):
    return buffer.at[position].set(obs), position + 1

for obs in observations:
    buffer, position = push(buffer, position, obs)

newest = buffer[:2].mean(axis=0)
---
buffer = jnp.zeros((capacity, 2))
position = 0

def push(buffer, position, obs):
    return buffer.at[position].set(obs), (position + 1) % capacity

for obs in observations:
    buffer, position = push(buffer, position, obs)

newest = buffer[:2].mean(axis=0)
---
cause: out of bounds|out of range|outside|beyond|past the end; drop|ignored|lost|skipped|not written|nothing; 4
names: buffer; position; push
fix: %|modulo|mode=|clip|capacity|larger

### last-batch-by-dynamic-slice line=4
# https://github.com/jax-ml/jax/pull/34257
data = jnp.arange(10.0)
batch_size = 4
---
@jax.jit
def epoch_sum(data):
    def body(total, i):
        batch = lax.dynamic_slice_in_dim(data, i * batch_size, batch_size)
        return total + batch.sum(), None

    total, _ = lax.scan(body, 0.0, jnp.arange(3))
    return total

total = epoch_sum(data)
---
@jax.jit
def epoch_sum(data):
    def body(total, i):
        batch = lax.dynamic_slice_in_dim(data, i * batch_size, batch_size)
        return total + batch.sum(), None

    total, _ = lax.scan(body, 0.0, jnp.arange(len(data) // batch_size))
    return total

total = epoch_sum(data)
---
cause: out of bounds|out of range|outside|beyond|past the end|does not fit; clamp|clip|moved|shifted; 10|8
names: data; i; epoch_sum
fix: // batch_size|len(data)|pad|2|fewer|mask

### cache-slot-beyond-the-context line=5
# https://github.com/jax-ml/jax/issues/40849
max_len = 4
cache = {"k": jnp.zeros((max_len, 2)), "index": 3}
new_keys = jnp.array([[1.0, 1.0], [2.0, 2.0]])
---
def append_to_cache(cache, new_keys):
    start = cache["index"]
    k = cache["k"]
    # the chunk of the prompt goes behind what is there
    k = lax.dynamic_update_slice(k, new_keys, (start, 0))
    return {"k": k, "index": start + len(new_keys)}

cache = {"k": cache["k"].at[:3].set(7.0), "index": 3}
cache = append_to_cache(cache, new_keys)
---
def append_to_cache(cache, new_keys):
    start = cache["index"]
    k = jnp.pad(cache["k"], ((0, 1), (0, 0)))
    # the chunk of the prompt goes behind what is there
    k = lax.dynamic_update_slice(k, new_keys, (start, 0))
    return {"k": k, "index": start + len(new_keys)}

cache = {"k": cache["k"].at[:3].set(7.0), "index": 3}
cache = append_to_cache(cache, new_keys)
---
cause: out of bounds|out of range|outside|beyond|past the end|does not fit; clamp|clip|moved|shifted|overwr; 3; 4
names: k; start|new_keys; append_to_cache
fix: larger|pad|max_len|5|shorter|roll|start

### labels-counted-from-one line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.nn.one_hot.html
logits = jnp.array([[2.0, 0.1, 0.3], [0.2, 1.5, 0.1], [0.0, 0.3, 0.9]])
labels = jnp.array([1, 2, 3])
---
def cross_entropy(logits, labels):
    targets = jax.nn.one_hot(labels, logits.shape[-1])
    return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(logits), axis=-1))

loss, grads = jax.value_and_grad(cross_entropy)(logits, labels)
---
def cross_entropy(logits, labels):
    targets = jax.nn.one_hot(labels - 1, logits.shape[-1])
    return -jnp.mean(jnp.sum(targets * jax.nn.log_softmax(logits), axis=-1))

loss, grads = jax.value_and_grad(cross_entropy)(logits, labels)
---
cause: out of bounds|out of range|outside|beyond|past the end; zero|0|empty; 3
names: labels; cross_entropy
fix: - 1|labels - 1|4|num_classes|classes

### largest-value-falls-out-of-the-histogram line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
heights = jnp.array([1.5, 1.6, 1.75, 1.8, 2.0, 2.0])
---
def histogram(values, low, high, n_bins):
    which = jnp.floor((values - low) / (high - low) * n_bins).astype(int)
    return jnp.zeros(n_bins).at[which].add(1.0)

density = histogram(heights, 1.5, 2.0, 5)
density = density / density.sum()
---
def histogram(values, low, high, n_bins):
    which = jnp.floor((values - low) / (high - low) * n_bins).astype(int)
    return jnp.zeros(n_bins).at[jnp.minimum(which, n_bins - 1)].add(1.0)

density = histogram(heights, 1.5, 2.0, 5)
density = density / density.sum()
---
cause: out of bounds|out of range|outside|beyond|past the end; drop|ignored|lost|skipped|not written|not counted; 5
names: which; histogram
fix: minimum|clip|n_bins - 1|mode=|- 1|+ 1

### neighbour-beyond-the-boundary line=3
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
u = jnp.array([0.0, 1.0, 4.0, 9.0])
dx = 1.0
---
@jax.jit
def forward_difference(u, i):
    return (u[i + 1] - u[i]) / dx

slopes = jax.vmap(forward_difference, in_axes=(None, 0))(u, jnp.arange(len(u)))
steepest = jnp.argmax(slopes)
---
@jax.jit
def forward_difference(u, i):
    return (u[i + 1] - u[i]) / dx

slopes = jax.vmap(forward_difference, in_axes=(None, 0))(u, jnp.arange(len(u) - 1))
steepest = jnp.argmax(slopes)
---
cause: out of bounds|out of range|outside|beyond|past the end; clamp|clip|last; 4
names: u; i; forward_difference
fix: len(u) - 1|- 1|roll|pad|diff|mode=|%

### group-ids-beyond-the-number-of-groups line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.ops.segment_sum.html
sales = jnp.array([3.0, 5.0, 2.0, 8.0])
store = jnp.array([1, 2, 3, 3])
---
n_stores = 3

def revenue(sales, store):
    return jax.ops.segment_sum(sales, store, num_segments=n_stores)

by_store = revenue(sales, store)
grand_total = by_store.sum()
---
n_stores = 4

def revenue(sales, store):
    return jax.ops.segment_sum(sales, store, num_segments=n_stores)

by_store = revenue(sales, store)
grand_total = by_store.sum()
---
cause: out of bounds|out of range|outside|beyond|not below|past the end; drop|ignored|lost|skipped; 3
names: store; n_stores|revenue
fix: 4|+ 1|store - 1|num_segments|max

### update-in-a-statement-of-its-own line=3
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
padded = jnp.array([5, 7, 9, 0, 0])
---
def causal_targets(tokens, eos=2):
    targets = jnp.roll(tokens, -1)
    targets.at[-1].set(eos)
    return targets

targets = causal_targets(padded[:3])
---
def causal_targets(tokens, eos=2):
    targets = jnp.roll(tokens, -1)
    targets = targets.at[-1].set(eos)
    return targets

targets = causal_targets(padded[:3])
---
cause: result|new array|copy; dropped|not assigned|unused|discard|not kept|unchanged|not changed|nothing
names: targets
fix: targets = targets.at|targets =

### updates-in-a-loop-are-lost line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.ndarray.at.html
distances = jnp.array([[0.0, 4.0, 9.0], [4.0, 0.0, 2.0], [9.0, 2.0, 0.0]])
---
shortest = distances
for k in range(3):
    through = distances[:, k, None] + distances[None, k, :]
    shortest.at[:].min(through)

farthest = shortest.max()
---
shortest = distances
for k in range(3):
    through = distances[:, k, None] + distances[None, k, :]
    shortest = shortest.at[:].min(through)

farthest = shortest.max()
---
cause: result|new array|copy; dropped|not assigned|unused|discard|not kept|unchanged|not changed|nothing
names: shortest
fix: shortest = shortest.at|shortest =

### ring-attribute-never-written line=9
# https://github.com/jax-ml/jax/issues/5233
samples = jnp.array([0.5, 0.25, 0.125])
---
class MovingWindow:
    def __init__(self, size):
        self.values = jnp.zeros(size)
        self.next = 0

    def push(self, value):
        slot = self.next % len(self.values)
        self.next += 1
        self.values.at[slot].set(value)

window = MovingWindow(2)
for sample in samples:
    window.push(sample)
average = window.values.mean()
---
class MovingWindow:
    def __init__(self, size):
        self.values = jnp.zeros(size)
        self.next = 0

    def push(self, value):
        slot = self.next % len(self.values)
        self.next += 1
        self.values = self.values.at[slot].set(value)

window = MovingWindow(2)
for sample in samples:
    window.push(sample)
average = window.values.mean()
---
cause: result|new array|copy; dropped|not assigned|unused|discard|not kept|unchanged|not changed|nothing
names: values; push
fix: self.values = self.values.at|self.values =

### frozen-layer-set-under-jit line=6
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
params = {"embed": jnp.ones((3, 2)), "out": jnp.ones(2)}
x = jnp.array([0, 2])
---
@jax.jit
def train_step(params, x):
    loss = lambda p: jnp.sum((p["embed"][x] @ p["out"] - 1.0) ** 2)
    grads = jax.grad(loss)(params)
    # the row of the padding stays as it is
    grads["embed"].at[0].multiply(0.0)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

params = train_step(params, x)
---
@jax.jit
def train_step(params, x):
    loss = lambda p: jnp.sum((p["embed"][x] @ p["out"] - 1.0) ** 2)
    grads = jax.grad(loss)(params)
    # the row of the padding stays as it is
    grads["embed"] = grads["embed"].at[0].multiply(0.0)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

params = train_step(params, x)
---
cause: result|new array|copy; dropped|not assigned|unused|discard|not kept|unchanged|not changed|nothing
names: grads; train_step
fix: grads["embed"] = grads["embed"].at|grads["embed"] =

### optax-updates-applied-to-nothing line=9 needs=optax
# https://github.com/google-deepmind/optax/issues/1101
import optax
params = {"w": jnp.array([1.0, -1.0])}
optimizer = optax.sgd(0.1)
---
def loss_fn(params):
    return jnp.sum((params["w"] - 3.0) ** 2)

@jax.jit
def fit(params):
    opt_state = optimizer.init(params)
    grads = jax.grad(loss_fn)(params)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    optax.apply_updates(params, updates)
    return params

params = fit(params)
---
def loss_fn(params):
    return jnp.sum((params["w"] - 3.0) ** 2)

@jax.jit
def fit(params):
    opt_state = optimizer.init(params)
    grads = jax.grad(loss_fn)(params)
    updates, opt_state = optimizer.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    return params

params = fit(params)
---
cause: result|new|copy|returns; dropped|not assigned|unused|discard|not kept|unchanged|not changed|nothing
names: params; fit
fix: params = optax.apply_updates|params =

### column-against-vector-in-mse line=3
# https://github.com/jax-ml/jax/issues/2697
params = {"w": jnp.array([[0.5], [1.0]]), "b": jnp.zeros(1)}
x = jnp.array([[1.0, 2.0], [0.0, 1.0], [3.0, 1.0]])
y = jnp.array([2.0, 1.0, 3.0])
---
def mse(params, x, y):
    pred = x @ params["w"] + params["b"]
    return jnp.mean((pred - y) ** 2)

loss, grads = jax.value_and_grad(mse)(params, x, y)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
def mse(params, x, y):
    pred = x @ params["w"] + params["b"]
    return jnp.mean((pred[:, 0] - y) ** 2)

loss, grads = jax.value_and_grad(mse)(params, x, y)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
cause: (3, 1)|[3,1]|3,1; (3,)|[3]; broadcast|(3, 3)|[3,3]|3,3
names: pred; y; mse
fix: [:, 0]|squeeze|ravel|reshape|[:, None]

### returns-minus-a-column-of-values line=6
# https://github.com/google/flax/issues/23
observations = jnp.arange(8.0).reshape(4, 2) / 8.0
rewards = jnp.array([0.0, 0.0, 1.0, 0.5])
critic = {"kernel": jnp.array([[0.3], [0.1]])}
---
def advantage_loss(critic, observations, rewards, discount=0.9):
    def backwards(future, r):
        future = r + discount * future
        return future, future
    returns = lax.scan(backwards, 0.0, rewards, reverse=True)[1]
    advantages = returns - observations @ critic["kernel"]
    return 0.5 * jnp.square(advantages).mean()

loss = jax.jit(advantage_loss)(critic, observations, rewards)
---
def advantage_loss(critic, observations, rewards, discount=0.9):
    def backwards(future, r):
        future = r + discount * future
        return future, future
    returns = lax.scan(backwards, 0.0, rewards, reverse=True)[1]
    advantages = returns - (observations @ critic["kernel"])[:, 0]
    return 0.5 * jnp.square(advantages).mean()

loss = jax.jit(advantage_loss)(critic, observations, rewards)
---
cause: (4, 1)|[4,1]|4,1; (4,)|[4]; broadcast|(4, 4)|[4,4]|4,4
names: returns; critic|advantages; advantage_loss
fix: [:, 0]|squeeze|ravel|reshape|[:, None]

### accuracy-over-all-pairs line=5
# https://github.com/elixir-nx/axon/pull/662
images = jnp.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
labels = jnp.array([[1], [0], [1], [0]])
---
@jax.jit
def evaluate(images, labels):
    logits = images * 4.0 - 1.0
    predicted = jnp.argmax(logits, axis=-1)
    return jnp.mean(predicted == labels)

accuracy = evaluate(images, labels)
print(f"accuracy {accuracy:.2%}")
---
@jax.jit
def evaluate(images, labels):
    logits = images * 4.0 - 1.0
    predicted = jnp.argmax(logits, axis=-1)
    return jnp.mean(predicted == labels[:, 0])

accuracy = evaluate(images, labels)
print(f"accuracy {accuracy:.2%}")
---
cause: (4, 1)|[4,1]|4,1; (4,)|[4]; broadcast|(4, 4)|[4,4]|4,4
names: predicted; labels; evaluate
fix: [:, 0]|squeeze|ravel|reshape|[:, None]|keepdims

### weights-of-samples-beside-a-column-of-losses line=5
# https://github.com/FluxML/MLJFlux.jl/issues/152
model = {"w": jnp.array([[1.0], [0.5]])}
features = jnp.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
target = jnp.array([[1.0], [1.0], [0.0]])
sample_weight = jnp.array([1.0, 1.0, 3.0])
---
def weighted_loss(model):
    prediction = jnp.tanh(features @ model["w"])
    errors = jnp.abs(prediction - target)
    # larger customers count more
    weighted = errors * sample_weight
    return weighted.sum() / sample_weight.sum()

value, gradient = jax.value_and_grad(weighted_loss)(model)
---
def weighted_loss(model):
    prediction = jnp.tanh(features @ model["w"])
    errors = jnp.abs(prediction - target)
    # larger customers count more
    weighted = errors * sample_weight[:, None]
    return weighted.sum() / sample_weight.sum()

value, gradient = jax.value_and_grad(weighted_loss)(model)
---
cause: (3, 1)|[3,1]|3,1; (3,)|[3]; broadcast|(3, 3)|[3,3]|3,3
names: errors; sample_weight; weighted_loss
fix: [:, None]|squeeze|ravel|reshape|[:, 0]

### same-key-for-weights-and-bias line=4
# https://github.com/jax-ml/jax/issues/2009
---
def init_layer(key, n_in, n_out):
    scale = n_in**-0.5
    kernel = scale * jax.random.normal(key, (n_in, n_out))
    gate = scale * jax.random.normal(key, (n_in, n_out))
    return {"kernel": kernel, "gate": gate}

layer = init_layer(jax.random.key(0), 4, 3)
---
def init_layer(key, n_in, n_out):
    scale = n_in**-0.5
    key, gate_key = jax.random.split(key)
    kernel = scale * jax.random.normal(key, (n_in, n_out))
    gate = scale * jax.random.normal(gate_key, (n_in, n_out))
    return {"kernel": kernel, "gate": gate}

layer = init_layer(jax.random.key(0), 4, 3)
---
cause: same key|reuse|twice|again|used before|already used|two times
names: key; init_layer
fix: split|fold_in

### noise-and-dropout-of-one-key line=4
# https://docs.jax.dev/en/latest/random-numbers.html
x = jnp.linspace(-1.0, 1.0, 8)
---
@jax.jit
def corrupt(key, x, rate=0.5):
    noisy = x + 0.1 * jax.random.normal(key, x.shape)
    keep = jax.random.bernoulli(key, 1 - rate, x.shape)
    return jnp.where(keep, noisy / (1 - rate), 0.0)

corrupted = corrupt(jax.random.key(1), x)
---
@jax.jit
def corrupt(key, x, rate=0.5):
    noise_key, drop_key = jax.random.split(key)
    noisy = x + 0.1 * jax.random.normal(noise_key, x.shape)
    keep = jax.random.bernoulli(drop_key, 1 - rate, x.shape)
    return jnp.where(keep, noisy / (1 - rate), 0.0)

corrupted = corrupt(jax.random.key(1), x)
---
cause: same key|reuse|twice|again|used before|already used|two times
names: key; corrupt
fix: split|fold_in

### one-key-for-every-turn line=5
# https://github.com/AakashKumarNain/TF_JAX_tutorials/issues/4
key = jax.random.key(3)
target = jnp.array([1.0, -2.0])
---
best, best_score = jnp.zeros(2), -jnp.inf

# random search around the best point so far
for trial in range(5):
    candidate = best + 0.5 * jax.random.normal(key, (2,))
    score = -jnp.sum((candidate - target) ** 2)
    best = jnp.where(score > best_score, candidate, best)
    best_score = jnp.maximum(score, best_score)
---
best, best_score = jnp.zeros(2), -jnp.inf

# random search around the best point so far
for trial in range(5):
    candidate = best + 0.5 * jax.random.normal(jax.random.fold_in(key, trial), (2,))
    score = -jnp.sum((candidate - target) ** 2)
    best = jnp.where(score > best_score, candidate, best)
    best_score = jnp.maximum(score, best_score)
---
cause: same key|reuse|twice|again|every turn|each turn|every iteration|each iteration|already used|loop
names: key
fix: split|fold_in

### batch-shares-a-closed-over-key line=5
# https://github.com/jax-ml/jax/issues/7708
key = jax.random.key(0)
images = jnp.ones((3, 4))
---
def augment(image):
    # brightness and one cut-out pixel
    image = image * 0.9
    size = image.shape[0]
    hole = jax.random.randint(key, (), 0, size)
    return image.at[hole].set(0.0)

augmented = jax.vmap(augment)(images)
---
def augment(image, key):
    # brightness and one cut-out pixel
    image = image * 0.9
    size = image.shape[0]
    hole = jax.random.randint(key, (), 0, size)
    return image.at[hole].set(0.0)

augmented = jax.vmap(augment)(images, jax.random.split(key, len(images)))
---
cause: same key|one key|closed over|closes over|shared|every row|each row|same random|same numbers; vmap
names: key; augment
fix: split

### key-used-after-it-was-split line=4
# https://github.com/blackjax-devs/blackjax/issues/53
key = jax.random.key(11)
log_prob = lambda z: -0.5 * jnp.sum(z**2)
---
def metropolis_step(key, z):
    key_a, key_b = jax.random.split(key)
    proposal = z + jax.random.normal(key_a, z.shape)
    log_u = jnp.log(jax.random.uniform(key))
    accept = log_u < log_prob(proposal) - log_prob(z)
    return jnp.where(accept, proposal, z)

z = metropolis_step(key, jnp.zeros(3))
---
def metropolis_step(key, z):
    key_a, key_b = jax.random.split(key)
    proposal = z + jax.random.normal(key_a, z.shape)
    log_u = jnp.log(jax.random.uniform(key_b))
    accept = log_u < log_prob(proposal) - log_prob(z)
    return jnp.where(accept, proposal, z)

z = metropolis_step(key, jnp.zeros(3))
---
cause: same key|reuse|twice|again|split|already used|used before
names: key; metropolis_step
fix: key_b|split|fold_in

### key-carried-through-a-scan-unsplit line=3
# https://github.com/blackjax-devs/blackjax/pull/656
sigma = 0.3
---
def walk(carry, _):
    position, key = carry
    step = sigma * jax.random.normal(key)
    position = position + step
    return (position, key), position

@jax.jit
def simulate(key):
    _, path = lax.scan(walk, (0.0, key), length=20)
    return path

path = simulate(jax.random.key(5))
---
def walk(carry, _):
    position, key = carry
    key, subkey = jax.random.split(key)
    step = sigma * jax.random.normal(subkey)
    position = position + step
    return (position, key), position

@jax.jit
def simulate(key):
    _, path = lax.scan(walk, (0.0, key), length=20)
    return path

path = simulate(jax.random.key(5))
---
cause: same key|reuse|every turn|each turn|every step|each step|every iteration|each iteration|unchanged|again
names: key; walk
fix: split|fold_in

### every-block-starts-alike line=6
# https://github.com/jax-ml/jax/issues/192
widths = [4, 4, 4, 1]
---
def init_mlp(seed, widths):
    root = jax.random.key(seed)
    layers = []
    for n_in, n_out in zip(widths[:-1], widths[1:]):
        bound = (6 / (n_in + n_out)) ** 0.5
        w = jax.random.uniform(root, (n_in, n_out), minval=-bound, maxval=bound)
        layers.append({"w": w, "b": jnp.zeros(n_out)})
    return layers

mlp = init_mlp(42, widths)
---
def init_mlp(seed, widths):
    root = jax.random.key(seed)
    layers = []
    for n_in, n_out in zip(widths[:-1], widths[1:]):
        bound = (6 / (n_in + n_out)) ** 0.5
        root, key = jax.random.split(root)
        w = jax.random.uniform(key, (n_in, n_out), minval=-bound, maxval=bound)
        layers.append({"w": w, "b": jnp.zeros(n_out)})
    return layers

mlp = init_mlp(42, widths)
---
cause: same key|reuse|twice|again|every turn|each turn|every layer|each layer|already used
names: root; init_mlp
fix: split|fold_in

### dropout-seeded-in-the-step line=3
# https://github.com/jax-ml/jax/issues/1141
params = {"w": jnp.ones((4, 2))}
x, y = jnp.ones((3, 4)), jnp.ones((3, 2))
---
@jax.jit
def train_step(params, x, y):
    key = jax.random.key(0)

    def loss_fn(p):
        keep = jax.random.bernoulli(key, 0.8, x.shape)
        return jnp.mean(((x * keep / 0.8) @ p["w"] - y) ** 2)

    grads = jax.grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

for _ in range(3):
    params = train_step(params, x, y)
---
@jax.jit
def train_step(params, x, y, key):
    def loss_fn(p):
        keep = jax.random.bernoulli(key, 0.8, x.shape)
        return jnp.mean(((x * keep / 0.8) @ p["w"] - y) ** 2)

    grads = jax.grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

for key in jax.random.split(jax.random.key(0), 3):
    params = train_step(params, x, y, key)
---
cause: constant|same seed|same key|fixed|seed 0|key(0); every call|each call|every step|each step|same
names: key; train_step
fix: argument|split|fold_in|pass

### key-made-in-a-scan-body line=2
# https://docs.jax.dev/en/latest/random-numbers.html
prices = jnp.array(100.0)
---
def next_day(price, day):
    shock = jax.random.normal(jax.random.key(2024))
    price = price * jnp.exp(0.01 * shock)
    return price, price

last, series = lax.scan(next_day, prices, jnp.arange(30))
volatility = jnp.diff(jnp.log(series)).std()
---
def next_day(price, day):
    shock = jax.random.normal(jax.random.fold_in(jax.random.key(2024), day))
    price = price * jnp.exp(0.01 * shock)
    return price, price

last, series = lax.scan(next_day, prices, jnp.arange(30))
volatility = jnp.diff(jnp.log(series)).std()
---
cause: constant|same seed|same key|fixed|2024; every turn|each turn|every iteration|each iteration|same
names: next_day
fix: fold_in|split|argument|carry

### default-key-of-a-helper line=2
# https://github.com/jcmgray/autoray/issues/27
latents = jnp.zeros((2, 3))
---
def reparameterise(mean, log_std, key=jax.random.key(0)):
    return mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)

@jax.jit
def elbo_sample(mean):
    first = reparameterise(mean, -1.0)
    second = reparameterise(mean, -1.0)
    return 0.5 * (first + second)

sample = elbo_sample(latents)
---
def reparameterise(mean, log_std, key):
    return mean + jnp.exp(log_std) * jax.random.normal(key, mean.shape)

@jax.jit
def elbo_sample(mean):
    first = reparameterise(mean, -1.0, jax.random.key(0))
    second = reparameterise(mean, -1.0, jax.random.key(1))
    return 0.5 * (first + second)

sample = elbo_sample(latents)
---
cause: same key|reuse|twice|default|constant|same seed|fixed
names: key; reparameterise
fix: argument|split|fold_in|pass

### offset-that-no-byte-holds line=3
# https://docs.jax.dev/en/latest/type_promotion.html
pixels = jnp.array([10, 120, 250], dtype=jnp.uint8)
---
@jax.jit
def brighten(pixels):
    return pixels + 300

brightest = brighten(pixels).max()
---
@jax.jit
def brighten(pixels):
    return pixels.astype(jnp.int32) + 300

brightest = brighten(pixels).max()
---
cause: 300; fit|overflow|wrap; uint8
names: brighten
fix: astype(jnp.int32)|int32|wider

### learning-rate-rebound-after-jit line=2
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
learning_rate = 0.5
w = jnp.array([1.0, -1.0])

@jax.jit
def update(w, grad):
    return w - learning_rate * grad

w = update(w, jnp.ones(2))
---
learning_rate = 0.01
w = update(w, jnp.ones(2))
print(w)
---
learning_rate = 0.01
w = w - learning_rate * jnp.ones(2)
print(w)
---
cause: learning_rate; 0.5|old value|earlier value|before|stale|compiled|traced; jit|compiled|traced
names: learning_rate; update
fix: argument|pass|clear_cache|%%jit|again|parameter

### flag-of-training-flipped-too-late line=2
# https://github.com/jax-ml/jax/issues/28225
training = True
x = jnp.arange(4.0)

@jax.jit
def normalise(x):
    if training:
        return (x - x.mean()) / (x.std() + 1e-5)
    return x / 10.0

train_features = normalise(x)
---
training = False
test_features = normalise(x)
score = test_features.sum()
---
training = False
test_features = x / 10.0
score = test_features.sum()
---
cause: training; True|old value|earlier value|stale|compiled|traced|before; jit|compiled|traced
names: training; normalise
fix: argument|static|pass|clear_cache|%%jit|again|parameter

### helper-redefined-in-another-cell line=5
# https://github.com/jax-ml/jax/issues/28225
def activation(z):
    return jnp.maximum(z, 0.0)

@jax.jit
def forward(w, x):
    return activation(x @ w)

w, x = jnp.array([[1.0], [-2.0]]), jnp.array([[1.0, 1.0]])
before = forward(w, x)
---
def activation(z):
    return jnp.tanh(z)

# does tanh help?
after = forward(w, x)
improvement = after - before
---
def activation(z):
    return jnp.tanh(z)

# does tanh help?
after = activation(x @ w)
improvement = after - before
---
cause: activation; redefined|changed|old|earlier|stale|new definition|before; jit|compiled|traced
names: activation; forward
fix: argument|clear_cache|%%jit|again|redefine|pass|run the cell

### dictionary-of-settings-changed-in-place line=3
# https://github.com/jax-ml/jax/issues/12773
config = {"temperature": 1.0, "top": 2}
logits = jnp.array([2.0, 1.0, 0.0])

@jax.jit
def sample_probs(logits):
    return jax.nn.softmax(logits / config["temperature"])

warm = sample_probs(logits)
---
config["temperature"] = 0.1
# sharper now
cold = sample_probs(logits)
entropy = -jnp.sum(cold * jnp.log(cold))
---
config["temperature"] = 0.1
# sharper now
cold = jax.nn.softmax(logits / config["temperature"])
entropy = -jnp.sum(cold * jnp.log(cold))
---
cause: config; temperature|old|earlier|stale|changed|before; jit|compiled|traced
names: config; sample_probs
fix: argument|pass|clear_cache|%%jit|again|parameter

### attribute-of-a-model-under-jit line=2
# https://docs.jax.dev/en/latest/faq.html
class Kalman:
    def __init__(self, gain):
        self.gain = gain
        self.smooth = jax.jit(self._smooth)

    def _smooth(self, estimate, reading):
        return estimate + self.gain * (reading - estimate)

tracker = Kalman(0.9)
first = tracker.smooth(jnp.array(0.0), jnp.array(1.0))
---
tracker.gain = 0.1
second = tracker.smooth(jnp.array(0.0), jnp.array(1.0))
drift = second - first
---
tracker.gain = 0.1
second = tracker._smooth(jnp.array(0.0), jnp.array(1.0))
drift = second - first
---
cause: gain; 0.9|old value|earlier|stale|changed|before|constant; jit|compiled|traced
names: gain; smooth
fix: argument|pass|clear_cache|pytree|again|%%jit|static

### closed-over-data-replaced line=2
# https://docs.jax.dev/en/latest/jit-compilation.html
train_x = jnp.array([[1.0], [2.0]])
train_y = jnp.array([2.0, 4.0])

@jax.jit
def objective(slope):
    return jnp.mean((train_x[:, 0] * slope - train_y) ** 2)

loss_before = objective(1.0)
---
train_x, train_y = jnp.array([[1.0], [3.0]]), jnp.array([1.0, 3.0])
loss_after = objective(1.0)
overfit = loss_after > loss_before
---
train_x, train_y = jnp.array([[1.0], [3.0]]), jnp.array([1.0, 3.0])
loss_after = jnp.mean((train_x[:, 0] * 1.0 - train_y) ** 2)
overfit = loss_after > loss_before
---
cause: train_x; old|earlier|stale|changed|before|constant; jit|compiled|traced
names: train_x; objective
fix: argument|pass|clear_cache|%%jit|again|parameter

### rounded-inside-the-loss line=3
# https://github.com/jax-ml/jax/issues/8684
levels = 8.0
signal = jnp.array([0.11, 0.52, 0.87])
---
def quantisation_loss(scale):
    scaled = signal * scale * levels
    codes = jnp.round(scaled)
    return jnp.mean((codes / levels - signal) ** 2)

scale = jnp.array(0.7)
for _ in range(3):
    scale = scale - 0.5 * jax.grad(quantisation_loss)(scale)
---
def quantisation_loss(scale):
    scaled = signal * scale * levels
    codes = scaled + lax.stop_gradient(jnp.round(scaled) - scaled)
    return jnp.mean((codes / levels - signal) ** 2)

scale = jnp.array(0.7)
for _ in range(3):
    scale = scale - 0.5 * jax.grad(quantisation_loss)(scale)
---
cause: round; gradient|derivative; zero|0
names: scaled|codes; quantisation_loss
fix: stop_gradient|straight-through|straight through|soft|sigmoid|without

### argmax-on-the-way-to-the-loss line=3
# https://github.com/google-deepmind/dm-haiku/issues/442
params = {"w": jnp.array([[0.2, -0.1], [0.4, 0.3]])}
x, labels = jnp.array([[1.0, 2.0], [0.5, -1.0]]), jnp.array([1, 0])
---
def error_rate(params, x, labels):
    logits = x @ params["w"]
    predicted = jnp.argmax(logits, axis=-1)
    return jnp.mean((predicted - labels) ** 2.0)

loss, grads = jax.value_and_grad(error_rate)(params, x, labels)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
def error_rate(params, x, labels):
    logits = x @ params["w"]
    predicted = jax.nn.softmax(logits, axis=-1)[:, 1]
    return jnp.mean((predicted - labels) ** 2.0)

loss, grads = jax.value_and_grad(error_rate)(params, x, labels)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
cause: argmax; gradient|derivative; zero|0
names: predicted|logits; error_rate
fix: softmax|cross_entropy|soft|logits

### pixel-position-cast-to-int line=2
# https://github.com/jax-ml/jax/issues/8684
image = jnp.arange(25.0).reshape(5, 5)
---
def brightness_at(centre):
    row, col = jnp.floor(centre).astype(jnp.int32)
    patch = image[row, col]
    return -patch

centre = jnp.array([1.3, 2.6])
direction = jax.jit(jax.grad(brightness_at))(centre)
centre = centre - 0.1 * direction
---
def brightness_at(centre):
    row, col = centre
    patch = jax.scipy.ndimage.map_coordinates(image, [row, col], order=1)
    return -patch

centre = jnp.array([1.3, 2.6])
direction = jax.jit(jax.grad(brightness_at))(centre)
centre = centre - 0.1 * direction
---
cause: int|floor; gradient|derivative; zero|0
names: centre; brightness_at
fix: map_coordinates|interpol|without|soft|float

### threshold-learned-by-counting line=3
# https://github.com/chromatix-team/chromatix/pull/86
scores = jnp.array([0.1, 0.35, 0.6, 0.9])
is_fraud = jnp.array([0.0, 0.0, 1.0, 1.0])
---
@jax.jit
def cost(threshold):
    flagged = (scores > threshold).astype(jnp.float32)
    missed = jnp.sum((1 - flagged) * is_fraud)
    return missed + 0.2 * jnp.sum(flagged)

threshold = jnp.array(0.75)
threshold = threshold - 0.1 * jax.grad(cost)(threshold)
---
@jax.jit
def cost(threshold):
    flagged = jax.nn.sigmoid((scores - threshold) / 0.1)
    missed = jnp.sum((1 - flagged) * is_fraud)
    return missed + 0.2 * jnp.sum(flagged)

threshold = jnp.array(0.75)
threshold = threshold - 0.1 * jax.grad(cost)(threshold)
---
cause: comparison|>|compar|bool; gradient|derivative; zero|0
names: flagged|threshold; cost
fix: sigmoid|soft|smooth|straight|stop_gradient

### sampled-action-without-a-gradient line=4
# https://github.com/jax-ml/jax/issues/17555
policy = jnp.array([0.1, 0.4, -0.2])
rewards = jnp.array([1.0, 0.0, 2.0])
key = jax.random.key(0)
---
def expected_reward(policy, key):
    # one action for each of a hundred episodes
    episodes = (100,)
    actions = jax.random.categorical(key, policy, shape=episodes)
    return rewards[actions].mean()

value, gradient = jax.value_and_grad(expected_reward)(policy, key)
policy = policy + 0.5 * gradient
---
def expected_reward(policy, key):
    # one action for each of a hundred episodes
    episodes = (100,)
    actions = jax.nn.softmax(policy)
    return rewards @ actions

value, gradient = jax.value_and_grad(expected_reward)(policy, key)
policy = policy + 0.5 * gradient
---
cause: categorical|sampl|argmax; gradient|derivative; zero|0
names: policy; expected_reward
fix: softmax|log_prob|REINFORCE|score function|gumbel|reparam

### sign-of-the-margin-as-a-loss line=3
# https://github.com/jinxixiang/FISTA-Net/issues/9
x = jnp.array([[1.0, 0.5], [-1.0, 0.2], [0.3, -0.8]])
y = jnp.array([1.0, -1.0, -1.0])
---
def perceptron_loss(w):
    margins = y * (x @ w)
    return jnp.mean(1.0 - jnp.sign(margins)) / 2

w = jnp.array([-0.1, 0.1])
for epoch in range(3):
    w = w - 0.5 * jax.grad(perceptron_loss)(w)
---
def perceptron_loss(w):
    margins = y * (x @ w)
    return jnp.mean(jnp.maximum(0.0, 1.0 - margins)) / 2

w = jnp.array([-0.1, 0.1])
for epoch in range(3):
    w = w - 0.5 * jax.grad(perceptron_loss)(w)
---
cause: sign; gradient|derivative; zero|0
names: margins|w; perceptron_loss
fix: maximum|hinge|tanh|sigmoid|softplus|soft|smooth|relu

### stopped-the-wrong-side-of-td line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.stop_gradient.html
theta = jnp.array([0.1, -0.1, 0.0])
s_t, r_t, s_next = jnp.array([1.0, 2.0, -1.0]), jnp.array(1.0), jnp.array([0.0, 0.0, 0.0])
---
value_fn = lambda theta, state: jnp.dot(theta, state)

def td_loss(theta, s, r, s_next):
    prediction = lax.stop_gradient(value_fn(theta, s))
    target = r + value_fn(theta, s_next)
    return (prediction - target) ** 2

td_update = jax.grad(td_loss)(theta, s_t, r_t, s_next)
theta = theta - 0.1 * td_update
---
value_fn = lambda theta, state: jnp.dot(theta, state)

def td_loss(theta, s, r, s_next):
    prediction = value_fn(theta, s)
    target = lax.stop_gradient(r + value_fn(theta, s_next))
    return (prediction - target) ** 2

td_update = jax.grad(td_loss)(theta, s_t, r_t, s_next)
theta = theta - 0.1 * td_update
---
cause: stop_gradient; gradient|derivative; zero|0
names: td_loss; theta|prediction
fix: target|without|remove|stop_gradient(

### frozen-backbone-freezes-the-head line=4
# https://github.com/google-deepmind/optax/issues/290
params = {"backbone": jnp.eye(2), "head": jnp.array([0.5, -0.5])}
x, y = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([0.0, 1.0])
---
@jax.jit
def fine_tune_loss(params, x, y):
    features = jnp.tanh(x @ params["backbone"])
    out = lax.stop_gradient(features @ params["head"])
    return jnp.mean((out - y) ** 2)

grads = jax.grad(fine_tune_loss)(params, x, y)
params["head"] = params["head"] - 0.1 * grads["head"]
---
@jax.jit
def fine_tune_loss(params, x, y):
    features = jnp.tanh(x @ params["backbone"])
    out = lax.stop_gradient(features) @ params["head"]
    return jnp.mean((out - y) ** 2)

grads = jax.grad(fine_tune_loss)(params, x, y)
params["head"] = params["head"] - 0.1 * grads["head"]
---
cause: stop_gradient; gradient|derivative; zero|0
names: fine_tune_loss; head|params
fix: lax.stop_gradient(features)|stop_gradient(|without|remove|only

### loss-of-the-outer-parameters line=3
# https://docs.jax.dev/en/latest/automatic-differentiation.html
params = {"a": jnp.array(1.0), "b": jnp.array(0.0)}
t, observed = jnp.array([0.0, 1.0, 2.0]), jnp.array([1.0, 3.0, 5.0])
---
def objective(p):
    # the line through the points
    fitted = params["a"] * t + params["b"]
    return jnp.mean((fitted - observed) ** 2)

for _ in range(5):
    grads = jax.grad(objective)(params)
    params = jax.tree.map(lambda v, g: v - 0.1 * g, params, grads)
---
def objective(p):
    # the line through the points
    fitted = p["a"] * t + p["b"]
    return jnp.mean((fitted - observed) ** 2)

for _ in range(5):
    grads = jax.grad(objective)(params)
    params = jax.tree.map(lambda v, g: v - 0.1 * g, params, grads)
---
cause: gradient|derivative; zero|0; p is not used|not used|does not depend|unused|never used|independent|params
names: p; objective
fix: p["a"]|p[|argument|use p

### losses-appended-under-jit line=6
# https://github.com/jax-ml/jax/pull/5905
w = jnp.array(3.0)
batches = jnp.array([[1.0, 2.0], [0.5, 1.5], [2.0, 0.0]])
---
losses = []

@jax.jit
def train_step(w, batch):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((w - batch) ** 2))(w)
    losses.append(loss)
    return w - 0.1 * grad

for batch in batches:
    w = train_step(w, batch)
print(len(losses), "losses")
---
losses = []

@jax.jit
def train_step(w, batch):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((w - batch) ** 2))(w)
    return w - 0.1 * grad, loss

for batch in batches:
    w, loss = train_step(w, batch)
    losses.append(loss)
print(len(losses), "losses")
---
cause: once|only when|first call|trac|compiled; append|side effect|side-effect|tracer|leak
names: losses; train_step
fix: return|outside

### steps-counted-under-jit line=6
# https://github.com/jax-ml/jax/pull/20732
velocity = jnp.zeros(2)
---
step_count = 0

@jax.jit
def momentum_step(velocity, grad):
    global step_count
    step_count += 1
    return 0.9 * velocity + grad / step_count

for _ in range(4):
    velocity = momentum_step(velocity, jnp.ones(2))
print("steps:", step_count)
---
step_count = 0

@jax.jit
def momentum_step(velocity, grad, step_count):
    step_count += 1
    return 0.9 * velocity + grad / step_count, step_count

for _ in range(4):
    velocity, step_count = momentum_step(velocity, jnp.ones(2), step_count)
print("steps:", step_count)
---
cause: once|only when|first call|trac|compiled|constant; global|side effect|side-effect|step_count
names: step_count; momentum_step
fix: argument|return|carry|pass

### print-in-a-jitted-step line=4
# https://docs.jax.dev/en/latest/debugging/print_breakpoint.html
x = jnp.array([4.0, -3.0])
---
@jax.jit
def descend(x):
    value, grad = jax.value_and_grad(lambda v: jnp.sum(v**2))(x)
    print("value:", value)
    return x - 0.25 * grad

for _ in range(3):
    x = descend(x)
---
@jax.jit
def descend(x):
    value, grad = jax.value_and_grad(lambda v: jnp.sum(v**2))(x)
    jax.debug.print("value: {}", value)
    return x - 0.25 * grad

for _ in range(3):
    x = descend(x)
---
cause: print; once|only when|first call|trac|compiled
names: value; descend
fix: jax.debug.print|debug.print|return

### cache-in-a-mutable-default line=5
# https://github.com/jax-ml/jax/issues/1141
volumes = jnp.array([1.0, 5.0, 3.0])
---
@jax.jit
def smooth(volume, seen=[]):
    # exponential average over the calls
    previous = seen[-1] if seen else 0.0
    seen.append(len(seen) + 1.0)
    return 0.5 * previous + 0.5 * volume

averages = [smooth(v) for v in volumes]
---
@jax.jit
def smooth(volume, previous):
    # exponential average over the calls
    return 0.5 * previous + 0.5 * volume

averages = [jnp.array(0.0)]
for v in volumes:
    averages.append(smooth(v, averages[-1]))
---
cause: once|only when|first call|trac|compiled|default; seen|list|append|side effect|side-effect
names: seen; smooth
fix: argument|return|carry|scan

### attribute-counted-under-jit line=8
# https://github.com/jax-ml/jax/pull/1133
theta = jnp.array([1.0, 2.0])
---
class Schedule:
    def __init__(self):
        self.t = 0
        self.apply = jax.jit(self._apply)

    # the rate falls with every call
    def _apply(self, theta):
        self.t += 1
        return theta - (0.1 / self.t) * theta

schedule = Schedule()
for _ in range(3):
    theta = schedule.apply(theta)
---
class Schedule:
    def __init__(self):
        self.t = 0
        self.apply = jax.jit(self._apply)

    # the rate falls with every call
    def _apply(self, theta, t):
        return theta - (0.1 / t) * theta

schedule = Schedule()
for t in jnp.arange(1.0, 4.0):
    theta = schedule.apply(theta, t)
---
cause: once|only when|first call|trac|compiled|constant; self|t|attribute|side effect|side-effect
names: t; _apply
fix: argument|return|pass|static

### numpy-noise-under-jit line=3
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
batch = jnp.zeros((2, 3))
---
@jax.jit
def add_noise(batch, scale=0.1):
    noise = np.random.normal(size=batch.shape).astype(np.float32)
    return batch + scale * noise

views = [add_noise(batch) for _ in range(4)]
spread = jnp.std(jnp.stack(views), axis=0)
---
@jax.jit
def add_noise(batch, key, scale=0.1):
    noise = jax.random.normal(key, batch.shape)
    return batch + scale * noise

views = [add_noise(batch, key) for key in jax.random.split(jax.random.key(0), 4)]
spread = jnp.std(jnp.stack(views), axis=0)
---
cause: np.random|numpy.random|NumPy; once|constant|trac|compiled|same
names: noise; add_noise
fix: jax.random

### shuffled-once-and-for-all line=5
# https://github.com/google/objax/issues/208
rng = np.random.default_rng(0)
data = jnp.arange(6.0)
weights = jnp.zeros(())
---
@jax.jit
def epoch(weights, data):
    def body(weights, sample):
        return weights + 0.1 * (sample - weights), None
    order = rng.permutation(6)
    return lax.scan(body, weights, data[order])[0]

for _ in range(3):
    weights = epoch(weights, data)
---
@jax.jit
def epoch(weights, data, key):
    def body(weights, sample):
        return weights + 0.1 * (sample - weights), None
    order = jax.random.permutation(key, 6)
    return lax.scan(body, weights, data[order])[0]

for key in jax.random.split(jax.random.key(0), 3):
    weights = epoch(weights, data, key)
---
cause: rng|permutation|NumPy|np.random; once|constant|trac|compiled|same
names: order|rng; epoch
fix: jax.random|argument

### python-coin-in-a-jitted-flip line=4
# https://theorashid.github.io/notes/jax.jit
images = jnp.arange(8.0).reshape(2, 2, 2)
---
@jax.jit
def random_flip(images):
    # half of the calls are mirrored
    if random.random() < 0.5:
        return images[..., ::-1]
    return images

flipped = jnp.stack([random_flip(images) for _ in range(8)])
flips = (flipped != images).any(axis=(1, 2, 3)).sum()
---
@jax.jit
def random_flip(images, key):
    # half of the calls are mirrored
    flip = jax.random.bernoulli(key)
    return jnp.where(flip, images[..., ::-1], images)

flipped = jax.vmap(random_flip, in_axes=(None, 0))(images, jax.random.split(jax.random.key(0), 8))
flips = (flipped != images).any(axis=(1, 2, 3)).sum()
---
cause: random; once|constant|trac|compiled|same
names: random_flip
fix: jax.random|bernoulli

### clock-read-under-jit line=3
# https://github.com/jax-ml/jax/issues/1141
a = jnp.ones((64, 64))
---
@jax.jit
def timed_matmul(a):
    start = time.perf_counter()
    b = a
    for _ in range(3):
        b = b @ a / 64.0
    elapsed = time.perf_counter() - start
    return b, elapsed

b, seconds = timed_matmul(a)
b, seconds = timed_matmul(b)
---
@jax.jit
def timed_matmul(a):
    b = a
    for _ in range(3):
        b = b @ a / 64.0
    return b

b = jax.block_until_ready(timed_matmul(a))
start = time.perf_counter()
b = jax.block_until_ready(timed_matmul(b))
seconds = time.perf_counter() - start
---
cause: perf_counter|time|clock; once|constant|trac|compiled
names: timed_matmul; elapsed|start
fix: outside|block_until_ready|around

### seed-from-the-clock-under-jit line=3
# https://github.com/jax-ml/jax/issues/1141
weights = jnp.array([0.2, 0.3, 0.5])
---
@jax.jit
def bootstrap(weights):
    key = jax.random.key(int(time.time()))
    picks = jax.random.choice(key, len(weights), (5,), p=weights)
    return weights[picks].mean()

means = jnp.stack([bootstrap(weights) for _ in range(4)])
confidence = means.std()
---
@jax.jit
def bootstrap(weights, key):
    picks = jax.random.choice(key, len(weights), (5,), p=weights)
    return weights[picks].mean()

means = jnp.stack([bootstrap(weights, key) for key in jax.random.split(jax.random.key(0), 4)])
confidence = means.std()
---
cause: time|clock; once|constant|trac|compiled|same
names: key; bootstrap
fix: argument|outside|split|pass

### and-binds-tighter-than-less line=3
# https://github.com/jax-ml/jax/issues/21186
keep_going = True
---
def running(state):
    t, x = state
    return t < 10 & keep_going

def advance(state):
    t, x = state
    return t + 1, 0.5 * x

steps, x = lax.while_loop(running, advance, (1, 8.0))
---
def running(state):
    t, x = state
    return (t < 10) & keep_going

def advance(state):
    t, x = state
    return t + 1, 0.5 * x

steps, x = lax.while_loop(running, advance, (1, 8.0))
---
cause: &; <|parenthes|precedence|before|binds
names: t; keep_going
fix: (t < 10) & keep_going
""",
    prelude=PRELUDE,
)
