"""Modules of linen and their training, written by people who came from elsewhere."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "batch_linen",
    r"""
### scale-made-by-jnp-ones raises=TypeError line=8
# https://github.com/google/flax/issues/851
---
class RMSNorm(nn.Module):
    epsilon: float = 1e-6

    @nn.compact
    def __call__(self, x):
        # one scale for each feature
        width = x.shape[-1]
        scale = self.param("scale", jnp.ones, (width,))
        mean_square = jnp.mean(x**2, axis=-1, keepdims=True)
        return scale * x / jnp.sqrt(mean_square + self.epsilon)

norm = RMSNorm()
hidden = jax.random.normal(jax.random.key(0), (4, 16))
variables = norm.init(jax.random.key(1), hidden)
---
class RMSNorm(nn.Module):
    epsilon: float = 1e-6

    @nn.compact
    def __call__(self, x):
        # one scale for each feature
        width = x.shape[-1]
        scale = self.param("scale", nn.initializers.ones, (width,))
        mean_square = jnp.mean(x**2, axis=-1, keepdims=True)
        return scale * x / jnp.sqrt(mean_square + self.epsilon)

norm = RMSNorm()
hidden = jax.random.normal(jax.random.key(0), (4, 16))
variables = norm.init(jax.random.key(1), hidden)
---
cause: key|rng; ones; first argument|initializer|initialiser|called with
names: scale
fix: initializers.ones|ones_init|lambda key|lambda _

### running-mean-from-an-initializer raises=TypeError line=4
# https://github.com/google/flax/issues/3140
---
class RunningMean(nn.Module):
    @nn.compact
    def __call__(self, x, update: bool = True):
        mean = self.variable("stats", "mean", nn.initializers.zeros, (x.shape[-1],))
        if update and not self.is_initializing():
            mean.value = 0.99 * mean.value + 0.01 * x.mean(axis=0)
        return x - mean.value

centre = RunningMean()
batch = jax.random.normal(jax.random.key(3), (32, 5))
variables = centre.init(jax.random.key(0), batch)
---
class RunningMean(nn.Module):
    @nn.compact
    def __call__(self, x, update: bool = True):
        mean = self.variable("stats", "mean", jnp.zeros, (x.shape[-1],))
        if update and not self.is_initializing():
            mean.value = 0.99 * mean.value + 0.01 * x.mean(axis=0)
        return x - mean.value

centre = RunningMean()
batch = jax.random.normal(jax.random.key(3), (32, 5))
variables = centre.init(jax.random.key(0), batch)
---
cause: shape; key|rng; variable
names: mean
fix: jnp.zeros|lambda|make_rng

### field-without-a-type raises=TypeError line=11
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/module.html
tokens = jnp.ones((2, 7, 24))
---
class FeedForward(nn.Module):
    expansion = 4
    dropout: float = 0.0

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        h = nn.gelu(nn.Dense(self.expansion * width)(x))
        return nn.Dense(width)(h)

block = FeedForward(expansion=2, dropout=0.1)
variables = block.init(jax.random.key(0), tokens)
out = block.apply(variables, tokens)
---
class FeedForward(nn.Module):
    expansion: int = 4
    dropout: float = 0.0

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        h = nn.gelu(nn.Dense(self.expansion * width)(x))
        return nn.Dense(width)(h)

block = FeedForward(expansion=2, dropout=0.1)
variables = block.init(jax.random.key(0), tokens)
out = block.apply(variables, tokens)
---
cause: annotation|annotated|type; field; expansion
names: FeedForward; expansion
fix: expansion: int|: int

### pooling-window-is-a-number raises=TypeError line=8
# https://github.com/google/flax/issues/547
digits = jnp.ones((8, 28, 28, 1))
---
class Encoder(nn.Module):
    latent: int = 10

    @nn.compact
    def __call__(self, x):
        for features in (16, 32):
            x = nn.relu(nn.Conv(features, kernel_size=3)(x))
            x = nn.max_pool(x, 2, strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        return nn.Dense(self.latent)(x)

encoder = Encoder()
params = encoder.init(jax.random.key(0), digits)["params"]
codes = encoder.apply({"params": params}, digits)
---
class Encoder(nn.Module):
    latent: int = 10

    @nn.compact
    def __call__(self, x):
        for features in (16, 32):
            x = nn.relu(nn.Conv(features, kernel_size=3)(x))
            x = nn.max_pool(x, (2, 2), strides=(2, 2))
        x = x.reshape(x.shape[0], -1)
        return nn.Dense(self.latent)(x)

encoder = Encoder()
params = encoder.init(jax.random.key(0), digits)["params"]
codes = encoder.apply({"params": params}, digits)
---
cause: max_pool|window; tuple|one number for each|sequence; 2
names: x; Encoder
fix: (2, 2)

### embedding-of-float-ids raises=ValueError line=7
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/layers.html
user_table = np.array([[3.0, 0.5], [7.0, 0.25], [1.0, 0.75]])
---
class Recommender(nn.Module):
    users: int

    @nn.compact
    def __call__(self, rows):
        ids, activity = rows[:, 0], rows[:, 1:]
        vectors = nn.Embed(self.users, features=4)(ids)
        joined = jnp.concatenate([vectors, activity], axis=-1)
        return nn.Dense(1)(joined)

model = Recommender(users=10)
rows = jnp.asarray(user_table)
params = model.init(jax.random.key(0), rows)
---
class Recommender(nn.Module):
    users: int

    @nn.compact
    def __call__(self, rows):
        ids, activity = rows[:, 0], rows[:, 1:]
        vectors = nn.Embed(self.users, features=4)(ids.astype(jnp.int32))
        joined = jnp.concatenate([vectors, activity], axis=-1)
        return nn.Dense(1)(joined)

model = Recommender(users=10)
rows = jnp.asarray(user_table)
params = model.init(jax.random.key(0), rows)
---
cause: float32; int; Embed
names: ids
fix: astype(int|astype(jnp.int32|.astype

### heads-that-do-not-divide-the-features raises=AssertionError line=9
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/layers.html
patches = jnp.ones((2, 9, 30))
---
class Block(nn.Module):
    heads: int = 4

    @nn.compact
    def __call__(self, x):
        h = nn.LayerNorm()(x)
        attend = nn.MultiHeadDotProductAttention(num_heads=self.heads)
        # self attention
        x = x + attend(h, h)
        return x + nn.Dense(x.shape[-1])(nn.LayerNorm()(x))

vit = Block()
variables = vit.init(jax.random.key(0), patches)
---
class Block(nn.Module):
    heads: int = 5

    @nn.compact
    def __call__(self, x):
        h = nn.LayerNorm()(x)
        attend = nn.MultiHeadDotProductAttention(num_heads=self.heads)
        # self attention
        x = x + attend(h, h)
        return x + nn.Dense(x.shape[-1])(nn.LayerNorm()(x))

vit = Block()
variables = vit.init(jax.random.key(0), patches)
---
cause: 30; 4; divi|multiple
names: attend; h
fix: 5|3|2|6|32|28|qkv_features|num_heads

### gradients-given-by-position raises=TypeError line=9
# https://flax.readthedocs.io/en/latest/api_reference/flax.training.html
model = nn.Dense(1)
x = jnp.linspace(-1.0, 1.0, 8)[:, None]
y = 3 * x + 1
params = model.init(jax.random.key(0), x)["params"]
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.sgd(0.1))
---
@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        pred = state.apply_fn({"params": params}, x)
        return jnp.mean((pred - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    # new parameters, new state of the optimizer
    state = state.apply_gradients(grads)
    return state, loss

for epoch in range(3):
    state, loss = train_step(state, x, y)
---
@jax.jit
def train_step(state, x, y):
    def loss_fn(params):
        pred = state.apply_fn({"params": params}, x)
        return jnp.mean((pred - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    # new parameters, new state of the optimizer
    state = state.apply_gradients(grads=grads)
    return state, loss

for epoch in range(3):
    state, loss = train_step(state, x, y)
---
cause: keyword|by name; grads; apply_gradients
names: grads; train_step
fix: grads=grads

### cell-without-its-features raises=TypeError line=7
# https://github.com/google/flax/issues/3717
frames = jnp.ones((3, 20, 6))
---
class Tagger(nn.Module):
    hidden: int = 12
    tags: int = 4

    @nn.compact
    def __call__(self, frames):
        cell = nn.LSTMCell()
        carry = cell.initialize_carry(jax.random.key(0), (frames.shape[0], self.hidden))
        outputs = []
        for t in range(frames.shape[1]):
            carry, out = cell(carry, frames[:, t])
            outputs.append(out)
        return nn.Dense(self.tags)(jnp.stack(outputs, axis=1))

tagger = Tagger()
variables = tagger.init(jax.random.key(1), frames)
---
class Tagger(nn.Module):
    hidden: int = 12
    tags: int = 4

    @nn.compact
    def __call__(self, frames):
        rnn = nn.RNN(nn.LSTMCell(self.hidden))
        return nn.Dense(self.tags)(rnn(frames))

tagger = Tagger()
variables = tagger.init(jax.random.key(1), frames)
---
cause: LSTMCell; features; missing|needs|required
names: cell
fix: features|self.hidden|LSTMCell(

### flag-traced-by-remat raises=TracerBoolConversionError line=8
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html
x = jnp.ones((4, 8))
---
class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, train):
        h = nn.Dense(self.width)(x)
        h = nn.relu(h)
        if train:
            h = nn.Dropout(0.5, deterministic=False)(h)
        return x + nn.Dense(x.shape[-1])(h)

class Tower(nn.Module):
    depth: int = 3

    @nn.compact
    def __call__(self, x, train):
        for _ in range(self.depth):
            x = nn.remat(Block)(32)(x, train)
        return x

tower = Tower()
variables = tower.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x, True)
---
class Block(nn.Module):
    width: int

    @nn.compact
    def __call__(self, x, train):
        h = nn.Dense(self.width)(x)
        h = nn.relu(h)
        if train:
            h = nn.Dropout(0.5, deterministic=False)(h)
        return x + nn.Dense(x.shape[-1])(h)

class Tower(nn.Module):
    depth: int = 3

    @nn.compact
    def __call__(self, x, train):
        for _ in range(self.depth):
            x = nn.remat(Block, static_argnums=(2,))(32)(x, train)
        return x

tower = Tower()
variables = tower.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x, True)
---
cause: train; traced|tracer; remat|checkpoint
names: train
fix: static_argnums

### state-given-to-linen-like-a-function raises=TypeError line=8
# https://github.com/google/flax/issues/986
x = jnp.ones((16, 3))
y = jnp.zeros((16, 2))
model = nn.Sequential([nn.Dense(8), nn.relu, nn.Dense(2)])
variables = model.init(jax.random.key(0), x)
tx = optax.adam(1e-3)
state = train_state.TrainState.create(apply_fn=model.apply, params=variables["params"], tx=tx)
---
def evaluate(state, batches):
    total, count = 0.0, 0
    # in blocks of eight rows
    for start in range(0, len(x), 8):
        images, labels = batches
        images = images[start : start + 8]
        labels = labels[start : start + 8]
        logits = state(images)
        total = total + jnp.sum((logits - labels) ** 2)
        count += len(labels)
    return total / count

error = evaluate(state, (x, y))
---
def evaluate(state, batches):
    total, count = 0.0, 0
    # in blocks of eight rows
    for start in range(0, len(x), 8):
        images, labels = batches
        images = images[start : start + 8]
        labels = labels[start : start + 8]
        logits = state.apply_fn({"params": state.params}, images)
        total = total + jnp.sum((logits - labels) ** 2)
        count += len(labels)
    return total / count

error = evaluate(state, (x, y))
---
cause: TrainState; callable|cannot be called|no function; apply_fn
names: state; evaluate
fix: state.apply_fn(
""",
    prelude="""\
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax.training import train_state
""",
    needs=("flax", "optax"),
)
