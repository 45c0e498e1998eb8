"""A second collection of what people ask about: libraries, JAX itself, and what runs through and is wrong."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = (
    *written(
        "threads_later",
        r"""
### nnx-layers-of-sizes-that-do-not-meet raises=TypeError line=5
# https://crackedaicode.com/problems/nnx-jit
x = jnp.ones((4, 6))
---
class Net(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(6, 12, rngs=rngs)
        self.down = nnx.Linear(16, 2, rngs=rngs)
        self.forward = lambda x: self.down(nnx.relu(self.up(x)))

    def __call__(self, x):
        return self.forward(x)

net = Net(nnx.Rngs(0))
out = net(x)
---
class Net(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(6, 12, rngs=rngs)
        self.down = nnx.Linear(12, 2, rngs=rngs)
        self.forward = lambda x: self.down(nnx.relu(self.up(x)))

    def __call__(self, x):
        return self.forward(x)

net = Net(nnx.Rngs(0))
out = net(x)
---
cause: 12; 16; down|Linear
names: down|self.down
fix: 12

### nnx-optimizer-given-a-rate raises=AttributeError line=2
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/training/optimizer.html
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
---
rate = 1e-3
optimizer = nnx.Optimizer(model, rate, wrt=nnx.Param)
---
rate = 1e-3
optimizer = nnx.Optimizer(model, optax.adam(rate), wrt=nnx.Param)
---
cause: rate; float; tx|optimizer|transformation|optax
names: rate
fix: optax.adam(rate)|optax.

### nnx-weights-by-their-name-in-torch raises=AttributeError line=3
# https://flax.readthedocs.io/en/latest/migrating/linen_to_nnx.html
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
---
def norm(model):
    '''Of the weights alone.'''
    return jnp.sqrt(jnp.sum(model.weight**2))

value = norm(model)
---
def norm(model):
    '''Of the weights alone.'''
    return jnp.sqrt(jnp.sum(model.kernel[...] ** 2))

value = norm(model)
---
cause: weight; Linear; no attribute|has no|kernel
names: model
fix: kernel

### nnx-norm-without-a-key raises=TypeError line=4
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/normalization.html
x = jnp.ones((4, 6))
---
class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(6, 6, rngs=rngs)
        self.norm = nnx.LayerNorm(6)

    def __call__(self, x):
        return x + self.norm(self.dense(x))

block = Block(nnx.Rngs(0))
out = block(x)
---
class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(6, 6, rngs=rngs)
        self.norm = nnx.LayerNorm(6, rngs=rngs)

    def __call__(self, x):
        return x + self.norm(self.dense(x))

block = Block(nnx.Rngs(0))
out = block(x)
---
cause: LayerNorm; rngs
names: rngs|Block
fix: rngs=rngs

### nnx-layers-scanned-without-the-carry raises=AssertionError line=13
# https://github.com/google/flax/issues/4780
x = jnp.ones((2, 4))
---
@nnx.split_rngs(splits=3)
@nnx.vmap
def make(rngs):
    return nnx.Linear(4, 4, rngs=rngs)

layers = make(nnx.Rngs(0))

@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=(nnx.Carry, 0))
def forward(x, layer):
    # one layer after the other
    return nnx.relu(layer(x))

y = forward(x, layers)
---
@nnx.split_rngs(splits=3)
@nnx.vmap
def make(rngs):
    return nnx.Linear(4, 4, rngs=rngs)

layers = make(nnx.Rngs(0))

@nnx.scan(in_axes=(nnx.Carry, 0), out_axes=nnx.Carry)
def forward(x, layer):
    # one layer after the other
    return nnx.relu(layer(x))

y = forward(x, layers)
---
cause: out_axes; forward; pair|tuple|two|2
names: forward
fix: out_axes=nnx.Carry|return

### nnx-gradient-by-the-input-of-integers raises=TypeError line=4
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/transforms.html
model = nnx.Embed(5, 3, rngs=nnx.Rngs(0))
ids = jnp.array([0, 3])
---
def loss_fn(ids, model):
    return jnp.sum(model(ids) ** 2)

grads = nnx.grad(loss_fn)(ids, model)
---
def loss_fn(ids, model):
    return jnp.sum(model(ids) ** 2)

grads = nnx.grad(loss_fn, argnums=1)(ids, model)
---
cause: ids; int32; grad|derive
names: ids; loss_fn
fix: argnums=1

### linen-layer-under-another-name raises=AttributeError line=7
# https://flax.readthedocs.io/en/latest/guides/flax_fundamentals/setup_or_nncompact.html
x = jnp.ones((4, 6))
---
class Net(nn.Module):
    def setup(self):
        self.hidden = nn.Dense(8)
        self.out = nn.Dense(1)

    def __call__(self, x):
        return self.out(nn.relu(self.dense(x)))

net = Net()
params = net.init(jax.random.key(0), x)
---
class Net(nn.Module):
    def setup(self):
        self.hidden = nn.Dense(8)
        self.out = nn.Dense(1)

    def __call__(self, x):
        return self.out(nn.relu(self.hidden(x)))

net = Net()
params = net.init(jax.random.key(0), x)
---
cause: dense; Net; no attribute|has no
names: Net
fix: hidden

### linen-train-state-by-position raises=TypeError line=4
# https://flax.readthedocs.io/en/latest/api_reference/flax.training.html
x = jnp.ones((4, 6))
---
model = nn.Dense(1)
params = model.init(jax.random.key(0), x)["params"]
tx = optax.sgd(0.1)
state = train_state.TrainState.create(model.apply, params, tx)
---
model = nn.Dense(1)
params = model.init(jax.random.key(0), x)["params"]
tx = optax.sgd(0.1)
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=tx)
---
cause: create; keyword|by name; apply_fn
names: params; tx
fix: apply_fn=model.apply

### linen-parameters-of-a-layer-that-is-not-there raises=KeyError line=3
# https://flax.readthedocs.io/en/latest/guides/flax_fundamentals/flax_basics.html
params = nn.Sequential([nn.Dense(4), nn.Dense(1)]).init(jax.random.key(0), jnp.ones((1, 2)))["params"]
---
def weights(params):
    # of the last layer
    return params["Dense_1"]["kernel"]

w = weights(params)
---
def weights(params):
    # of the last layer
    return params["layers_1"]["kernel"]

w = weights(params)
---
cause: Dense_1; layers_1; key
names: params
fix: layers_1

### linen-embedding-without-its-width raises=TypeError line=4
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/layers.html
ids = jnp.array([[1, 2, 3]])
---
class Encoder(nn.Module):
    @nn.compact
    def __call__(self, ids):
        h = nn.Embed(num_embeddings=10)(ids)
        return nn.Dense(4)(h)

encoder = Encoder()
params = encoder.init(jax.random.key(0), ids)
---
class Encoder(nn.Module):
    @nn.compact
    def __call__(self, ids):
        h = nn.Embed(num_embeddings=10, features=8)(ids)
        return nn.Dense(4)(h)

encoder = Encoder()
params = encoder.init(jax.random.key(0), ids)
---
cause: Embed; features; missing|needs|required|not given
names: h|ids|Encoder
fix: features

### eqx-mlp-without-its-sizes raises=TypeError line=2
# https://docs.kidger.site/equinox/api/nn/mlp/
x = jnp.ones(2)
---
key = jax.random.key(0)
mlp = eqx.nn.MLP(2, 1, key=key)
y = mlp(x)
---
key = jax.random.key(0)
mlp = eqx.nn.MLP(2, 1, 8, 2, key=key)
y = mlp(x)
---
cause: MLP; width_size; depth
names: mlp|key
fix: width_size

### eqx-partition-without-a-filter raises=TypeError line=2
# https://github.com/patrick-kidger/equinox/issues/1097
model = eqx.nn.Linear(2, 1, key=jax.random.key(0))
---
def count(model):
    params, static = eqx.partition(model)
    return sum(p.size for p in jax.tree.leaves(params))

n = count(model)
---
def count(model):
    params, static = eqx.partition(model, eqx.is_array)
    return sum(p.size for p in jax.tree.leaves(params))

n = count(model)
---
cause: partition; filter_spec; missing|needs|required|not given
names: model
fix: eqx.is_array|is_inexact_array|filter_spec

### eqx-two-leaves-and-one-value raises=ValueError line=3
# https://docs.kidger.site/equinox/api/manipulation/
mlp = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
---
def reset(mlp):
    where = lambda m: [layer.bias for layer in m.layers]
    return eqx.tree_at(where, mlp, jnp.zeros(4))

mlp = reset(mlp)
---
def reset(mlp):
    where = lambda m: [layer.bias for layer in m.layers]
    return eqx.tree_at(where, mlp, [jnp.zeros(4), jnp.zeros(1)])

mlp = reset(mlp)
---
cause: where; 2|two|list; replace|one|array
names: where; mlp
fix: list|one for each|[

### eqx-members-and-batch-of-other-sizes raises=ValueError line=8
# https://github.com/patrick-kidger/equinox/issues/278
keys = jax.random.split(jax.random.key(0), 8)
x = jnp.ones((3, 2))
---
@eqx.filter_vmap
def make(key):
    return eqx.nn.MLP(2, 1, 4, 1, key=key)

ensemble = make(keys)
# each member on the same data
predict = eqx.filter_vmap(lambda model, row: model(row))
out = predict(ensemble, x)
---
@eqx.filter_vmap
def make(key):
    return eqx.nn.MLP(2, 1, 4, 1, key=key)

ensemble = make(keys)
# each member on the same data
predict = eqx.filter_vmap(lambda model, row: jax.vmap(model)(row), in_axes=(eqx.if_array(0), None))
out = predict(ensemble, x)
---
cause: 8; 3; vmap
names: ensemble; x
fix: in_axes

### optax-updates-with-a-rate raises=TypeError line=4
# https://optax.readthedocs.io/en/latest/api/apply_updates.html
params = {"w": jnp.ones(3)}
---
rate = 0.1
loss = lambda p: jnp.sum(p["w"] ** 2)
grads = jax.grad(loss)(params)
params = optax.apply_updates(params, grads, rate)
---
rate = 0.1
loss = lambda p: jnp.sum(p["w"] ** 2)
grads = jax.grad(loss)(params)
params = optax.apply_updates(params, jax.tree.map(lambda g: -rate * g, grads))
---
cause: apply_updates; 2|two; 3|three
names: rate|params
fix: leave|scale|-rate

### optax-warm-up-without-its-length raises=TypeError line=1
# https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html
params = {"w": jnp.ones(3)}
---
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 100)
tx = optax.adam(schedule)
state = tx.init(params)
---
schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 100, 1000)
tx = optax.adam(schedule)
state = tx.init(params)
---
cause: warmup_cosine_decay_schedule; decay_steps
names: schedule|warmup_cosine_decay_schedule
fix: decay_steps

### optax-schedule-is-indexed raises=TypeError line=3
# https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html
schedule = optax.linear_schedule(1e-3, 0.0, 100)
---
rates = []
for step in range(3):
    rates.append(schedule[step])
---
rates = []
for step in range(3):
    rates.append(schedule(step))
---
cause: schedule; function; index|subscript|called|[]
names: schedule
fix: schedule(step)

### numpyro-sampler-by-position raises=TypeError line=5
# https://num.pyro.ai/en/stable/mcmc.html
y = jnp.ones(3)
---
def model(y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)

sampler = MCMC(NUTS(model), 100, 200)
---
def model(y):
    mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)

sampler = MCMC(NUTS(model), num_warmup=100, num_samples=200)
---
cause: MCMC; num_warmup; keyword|by name
names: model|sampler
fix: num_warmup=100

### diffrax-function-for-a-term raises=TermAndSolverIncompatible line=4
# https://github.com/patrick-kidger/diffrax/issues/446
y0 = jnp.array([1.0, 0.5])
---
def decay(t, y, args):
    return -y

solution = diffrax.diffeqsolve(decay, diffrax.Tsit5(), 0.0, 1.0, 0.1, y0)
---
def decay(t, y, args):
    return -y

solution = diffrax.diffeqsolve(diffrax.ODETerm(decay), diffrax.Tsit5(), 0.0, 1.0, 0.1, y0)
---
cause: decay; term; function|ODETerm
names: decay
fix: diffrax.ODETerm(decay)

### rows-shuffled-with-swapped-arguments raises=TypeError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.random.permutation.html
x = jnp.arange(12.0).reshape(4, 3)
---
def shuffle(x, key):
    '''Rows in another order.'''
    return jax.random.permutation(x, key)

y = shuffle(x, jax.random.key(0))
---
def shuffle(x, key):
    '''Rows in another order.'''
    return jax.random.permutation(key, x)

y = shuffle(x, jax.random.key(0))
---
cause: key; x; first|order|place|belongs|no key
names: x; key
fix: jax.random.permutation(key, x)

### loop-up-to-a-float raises=TypeError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html
x = jnp.ones(3)
---
def smooth(x, seconds):
    steps = seconds / 0.1
    return lax.fori_loop(0, steps, lambda i, x: 0.5 * (x + jnp.roll(x, 1)), x)

y = smooth(x, 1.0)
---
def smooth(x, seconds):
    steps = seconds / 0.1
    return lax.fori_loop(0, int(steps), lambda i, x: 0.5 * (x + jnp.roll(x, 1)), x)

y = smooth(x, 1.0)
---
cause: steps; float; int
names: steps
fix: int(steps)

### three-operands-for-two raises=ValueError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.einsum.html
a, b, c = jnp.ones((2, 3)), jnp.ones((3, 4)), jnp.ones((4, 5))
---
def chain(a, b, c):
    return jnp.einsum("ij,jk->ik", a, b, c)

out = chain(a, b, c)
---
def chain(a, b, c):
    return jnp.einsum("ij,jk,kl->il", a, b, c)

out = chain(a, b, c)
---
cause: 3|three; 2|two; einsum|subscripts
names: a; b; c
fix: kl|operand|leave

### checkpoint-policy-by-its-name raises=TypeError line=4
# https://docs.jax.dev/en/latest/gradient-checkpointing.html
w, x = jnp.ones((3, 3)), jnp.ones(3)
---
def layer(w, x):
    return jnp.tanh(w @ x)

saved = jax.checkpoint(layer, policy="dots_saveable")
grads = jax.grad(lambda w: saved(w, x).sum())(w)
---
def layer(w, x):
    return jnp.tanh(w @ x)

saved = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable)
grads = jax.grad(lambda w: saved(w, x).sum())(w)
---
cause: policy; str; dots_saveable
names: layer|saved
fix: jax.checkpoint_policies.dots_saveable

### inverse-of-a-vector raises=ValueError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.linalg.inv.html
scales = jnp.array([1.0, 2.0, 4.0])
---
def whiten(x, scales):
    # one scale for each column
    return x @ jnp.linalg.inv(scales)

y = whiten(jnp.ones((5, 3)), scales)
---
def whiten(x, scales):
    # one scale for each column
    return x @ jnp.linalg.inv(jnp.diag(scales))

y = whiten(jnp.ones((5, 3)), scales)
---
cause: scales; 3; matri|2|square
names: scales
fix: jnp.diag(scales)|1 /

### labels-gathered-with-one-axis-less raises=ValueError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.take_along_axis.html
log_probs, labels = jnp.zeros((4, 3)), jnp.array([0, 2, 1, 1])
---
def nll(log_probs, labels):
    # that of the right class
    chosen = jnp.take_along_axis(log_probs, labels, axis=1)
    return -chosen.mean()

loss = nll(log_probs, labels)
---
def nll(log_probs, labels):
    # that of the right class
    chosen = jnp.take_along_axis(log_probs, labels[:, None], axis=1)
    return -chosen.mean()

loss = nll(log_probs, labels)
---
cause: labels; 1|one axis; 2|dimension|axes|rank
names: log_probs; labels
fix: labels[:, None]

### tree-map-without-a-tree raises=TypeError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.tree.map.html
params = {"w": jnp.ones(3), "b": jnp.zeros(1)}
---
def decay(params):
    '''A little smaller.'''
    shrink = lambda p: 0.99 * p
    return jax.tree.map(shrink)(params)

params = decay(params)
---
def decay(params):
    '''A little smaller.'''
    shrink = lambda p: 0.99 * p
    return jax.tree.map(shrink, params)

params = decay(params)
---
cause: map; tree; missing|needs|required|not given
names: shrink
fix: jax.tree.map(shrink, params)
""",
        prelude="""\
import diffrax
import equinox as eqx
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import optax
from flax import nnx
from flax.training import train_state
from jax import lax
from numpyro.infer import MCMC, NUTS
""",
        needs=("flax", "equinox", "optax", "numpyro", "diffrax"),
    ),
    *written(
        "threads_later",
        r"""
### photos-added-as-bytes line=3
# https://docs.jax.dev/en/latest/type_promotion.html
first, second = jnp.array([[200, 30]], jnp.uint8), jnp.array([[100, 40]], jnp.uint8)
---
def overlay(a, b):
    # halfway between the two
    total = a + b
    return total // 2

photo = overlay(first, second)
---
def overlay(a, b):
    # halfway between the two
    total = a.astype(jnp.int32) + b
    return total // 2

photo = overlay(first, second)
---
cause: uint8; overflow|wrap; 300
names: a; b
fix: int32|float32|astype

### energy-of-a-recording-in-int16 line=3
# https://github.com/jax-ml/jax/issues/10692
samples = jnp.array([300, -12000, 7000], jnp.int16)
---
@jax.jit
def energy(samples):
    squares = samples**2
    return squares.sum()

power = energy(samples)
---
@jax.jit
def energy(samples):
    squares = samples.astype(jnp.float32) ** 2
    return squares.sum()

power = energy(samples)
---
cause: int16; overflow|wrap
names: samples
fix: float32|int32|astype

### microseconds-since-midnight line=2
# https://github.com/jax-ml/jax/issues/1218
seconds = jnp.array([3600, 43200])
---
unit = 1_000_000
stamps = seconds * unit
gap = stamps[1] - stamps[0]
---
unit = 1_000_0
stamps = seconds * unit
gap = stamps[1] - stamps[0]
---
cause: int32; overflow|wrap
names: seconds
fix: float|x64|int64

### middle-of-large-indices line=4
# https://github.com/jax-ml/jax/issues/10540
low, high = jnp.array(1_500_000_000), jnp.array(2_000_000_000)
---
@jax.jit
def middle(low, high):
    # as in a binary search
    return (low + high) // 2

at = middle(low, high)
---
@jax.jit
def middle(low, high):
    # as in a binary search
    return low + (high - low) // 2

at = middle(low, high)
---
cause: int32; overflow|wrap
names: low; high
fix: float|x64|int64|low + (high - low)

### bucket-by-the-remainder-of-nothing line=3
# https://github.com/jax-ml/jax/issues/11990
keys, sizes = jnp.array([7, 9]), jnp.array([4, 0])
---
@jax.jit
def bucket(keys, sizes):
    return keys % sizes

slots = bucket(keys, sizes)
---
@jax.jit
def bucket(keys, sizes):
    return keys % jnp.maximum(sizes, 1)

slots = bucket(keys, sizes)
---
cause: zero|0; remainder|%|division|divide
names: keys; sizes
fix: maximum

### hash-by-a-prime-and-a-mask line=3
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
ids = jnp.array([5, 70000, 123456])
---
def slot(ids):
    prime = 2654435
    return (ids * prime) / 1024

at = slot(ids)
---
def slot(ids):
    prime = 2654435
    return (ids * prime) & 1023

at = slot(ids)
---
cause: int32; overflow|wrap
names: ids
fix: float|x64|int64

### kept-where-not-nan line=2
# https://docs.jax.dev/en/latest/debugging/flags.html
values = jnp.array([1.0, 0.0, 3.0]) / jnp.array([1.0, 0.0, 1.0])
---
total = len(values)
known = values != jnp.nan
mean = jnp.sum(jnp.where(known, values, 0.0)) / total
---
total = len(values)
known = ~jnp.isnan(values)
mean = jnp.sum(jnp.where(known, values, 0.0)) / total
---
cause: nan; always|every|equal
names: values
fix: isnan(values)

### parameters-updated-for-nothing line=8
# https://optax.readthedocs.io/en/latest/getting_started.html
params = {"w": jnp.ones(3)}
tx = optax.sgd(0.1, momentum=0.9)
opt_state = tx.init(params)
---
@jax.jit
def step(params, opt_state):
    loss, grads = jax.value_and_grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss

for _ in range(3):
    _, opt_state, loss = step(params, opt_state)
---
@jax.jit
def step(params, opt_state):
    loss, grads = jax.value_and_grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss

for _ in range(3):
    params, opt_state, loss = step(params, opt_state)
---
cause: params; not kept|thrown away|dropped|lost|never
names: params; step
fix: params, opt_state, loss = step

### model-updated-under-plain-jit line=6
# https://www.tt.run/en/p/2452754
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
batches = jnp.ones((3, 4, 3))
---
@jax.jit
def train_step(model, optimizer, x):
    def loss_fn(model):
        return jnp.mean(model(x) ** 2)
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss

for x in batches:
    loss = train_step(model, optimizer, x)
---
@nnx.jit
def train_step(model, optimizer, x):
    def loss_fn(model):
        return jnp.mean(model(x) ** 2)
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss

for x in batches:
    loss = train_step(model, optimizer, x)
---
cause: jit; optimizer|model; lost|not kept|dropped|copy|stays|unchanged
names: optimizer|model; train_step
fix: nnx.jit

### smallest-byte-made-positive line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.abs.html
codes = jnp.array([-128, 5], jnp.int8)
---
scale = 0.5
sizes = jnp.abs(codes)
levels = sizes * scale
---
scale = 0.5
sizes = jnp.abs(codes.astype(jnp.int32))
levels = sizes * scale
---
cause: int8; 128; overflow|wrap
names: codes
fix: int32|astype

### mean-of-a-batch-without-rows line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.mean.html
losses, mask = jnp.array([0.2, 0.4]), jnp.array([False, False])
---
def masked_mean(losses, mask):
    kept = jnp.where(mask, losses, 0.0)
    return kept.sum() / mask.sum()

mean = masked_mean(losses, mask)
---
def masked_mean(losses, mask):
    kept = jnp.where(mask, losses, 0.0)
    return kept.sum() / jnp.maximum(mask.sum(), 1)

mean = masked_mean(losses, mask)
---
cause: nan; 0|zero
names: mask|kept
fix: maximum|where
""",
        prelude="""\
import jax
import jax.numpy as jnp
import optax
from flax import nnx
""",
        needs=("flax", "optax"),
    ),
)
