"""What runs through and is wrong: numbers that wrap, results that are dropped, values that nobody looked at."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = (
    *written(
        "threads_quiet",
        r"""
### flags-shifted-beyond-31-bits line=2
# https://github.com/LinuxCNC/linuxcnc/pull/3318
slots = jnp.arange(0, 40, 8)
---
one = jnp.ones_like(slots)
bits = one << slots
mask = jnp.sum(bits)
---
one = jnp.ones_like(slots)
bits = one << (slots % 8)
mask = jnp.sum(bits)
---
cause: 31|32 bits|int32|width; shift
names: slots
fix: uint32|int64|x64|wider

### single-flag-at-bit-forty line=3
# https://github.com/intel/confidential-computing.tee.dcap/issues/59
state = jnp.array(1)
---
@jax.jit
def mark(state):
    return state | (state << 40)

marked = mark(state)
---
@jax.jit
def mark(state):
    return state | (state << 20)

marked = mark(state)
---
cause: 40; int32; shift
names: state
fix: int64|x64|wider|uint64

### sign-reached-by-a-shift line=2
# https://github.com/fragglet/lhasa/pull/22
high, low = jnp.array([200, 3]), jnp.array([7, 1])
---
pixels = low + 1
packed = (high << 24) | pixels
total = packed[0]
---
pixels = low + 1
packed = (high.astype(jnp.uint32) << 24) | pixels.astype(jnp.uint32)
total = packed[0]
---
cause: int32; shift|<<; negative|sign|overflow|wrap
names: high
fix: uint32

### tracks-mixed-in-int16 line=4
# https://github.com/jax-ml/jax/issues/10692
drums = jnp.array([20000, -15000, 30000], jnp.int16)
voice = jnp.array([18000, 100, -2000], jnp.int16)
---
def mix(drums, voice):
    '''Both at full volume.'''
    gain = 1.0
    both = drums + voice
    return gain * both

song = mix(drums, voice)
---
def mix(drums, voice):
    '''Both at full volume.'''
    gain = 1.0
    both = drums.astype(jnp.int32) + voice
    return gain * both

song = mix(drums, voice)
---
cause: int16; overflow|wrap; 32,767|32767|range|38000
names: drums; voice
fix: int32|float32|astype

### weights-doubled-in-int8 line=3
# https://github.com/jax-ml/jax/issues/31396
codes = jnp.array([100, -90, 5], jnp.int8)
---
@jax.jit
def dequantise(codes, scale):
    centred = codes * 2
    return centred.astype(jnp.float32) * scale

weights = dequantise(codes, 0.01)
---
@jax.jit
def dequantise(codes, scale):
    centred = codes.astype(jnp.int32) * 2
    return centred.astype(jnp.float32) * scale

weights = dequantise(codes, 0.01)
---
cause: int8; overflow|wrap
names: codes
fix: int32|int16|float32|astype

### quantised-matmul-accumulates-in-bytes line=3
# https://github.com/jax-ml/jax/issues/4465
a = jnp.full((2, 64), 50, jnp.int8)
w = jnp.full((64, 3), 3, jnp.int8)
---
@jax.jit
def project(a, w):
    acc = jnp.dot(a, w)
    return acc.astype(jnp.float32) / 127

out = project(a, w)
---
@jax.jit
def project(a, w):
    acc = jnp.dot(a, w, preferred_element_type=jnp.int32)
    return acc.astype(jnp.float32) / 127

out = project(a, w)
---
cause: int8; overflow|wrap
names: a; w
fix: preferred_element_type

### ranks-by-minus-an-unsigned-count line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.argsort.html
counts = jnp.array([3, 0, 9, 1], jnp.uint32)
---
k = 2
order = jnp.argsort(-counts)
most = order[:k]
---
k = 2
order = jnp.argsort(counts, descending=True)
most = order[:k]
---
cause: uint32; minus|negat; wrap|overflow|0 stays|large
names: counts
fix: descending=True|astype|int32

### codes-cut-to-bytes line=3
# https://github.com/jax-ml/jax/issues/16461
activations = jnp.array([0.4, 1.7, -2.2])
---
def quantise(x, scale):
    levels = jnp.round(x / scale).astype(jnp.int32)
    return levels.astype(jnp.int8)

codes = quantise(activations, 0.01)
---
def quantise(x, scale):
    levels = jnp.round(x / scale).astype(jnp.int32)
    return jnp.clip(levels, -128, 127).astype(jnp.int8)

codes = quantise(activations, 0.01)
---
cause: int8; 127|range|wrap|overflow
names: levels
fix: clip

### powers-of-ten-in-int32 line=2
# https://github.com/jax-ml/jax/issues/8604
digits = jnp.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2])
---
places = jnp.arange(len(digits))
weights = 10**places
number = jnp.sum(digits * weights)
---
places = jnp.arange(len(digits))
weights = 10.0**places
number = jnp.sum(digits * weights)
---
cause: int32; overflow|wrap; 10
names: places
fix: float|10.0|x64|int64

### fibonacci-in-a-scan line=4
# https://github.com/jax-ml/jax/issues/1218
first = (jnp.array(0), jnp.array(1))
---
@jax.jit
def fibonacci(first):
    def step(pair, _):
        following = pair[0] + pair[1]
        return (pair[1], following), following

    return lax.scan(step, first, None, length=60)[1]

numbers = fibonacci(first)
---
@jax.jit
def fibonacci(first):
    def step(pair, _):
        following = pair[0] + pair[1]
        return (pair[1], following), following

    return lax.scan(step, first, None, length=40)[1]

numbers = fibonacci(first)
---
cause: int32; overflow|wrap
names: following|pair
fix: float|x64|int64

### votes-counted-in-bytes line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.sum.html
votes = jnp.ones((300, 2), bool)
---
def tally(votes):
    # one byte is enough for a flag
    count = jnp.sum(votes, axis=0, dtype=jnp.int8)
    return count / votes.shape[0]

share = tally(votes)
---
def tally(votes):
    # one byte is enough for a flag
    count = jnp.sum(votes, axis=0)
    return count / votes.shape[0]

share = tally(votes)
---
cause: int8; overflow|wrap; 300|127
names: votes
fix: int32|without dtype|dtype

### share-of-nothing-by-whole-division line=3
# https://github.com/jax-ml/jax/issues/37819
hits, tries = jnp.array([6, 0, 9]), jnp.array([3, 0, 3])
---
def rates(hits, tries):
    # whole tries for each hit
    return hits // tries

per = rates(hits, tries)
---
def rates(hits, tries):
    # whole tries for each hit
    return hits // jnp.maximum(tries, 1)

per = rates(hits, tries)
---
cause: zero|0; division|divided|//; -1|int
names: hits; tries
fix: jnp.maximum(tries, 1)|jnp.where|maximum

### masked-scores-of-integers line=2
# https://github.com/jax-ml/jax/issues/6432
scores, allowed = jnp.array([4, 9, 2]), jnp.array([True, False, True])
---
unit = 3
masked = jnp.where(allowed, scores, jnp.nan).astype(int)
best = jnp.max(masked) // unit
---
unit = 3
masked = jnp.where(allowed, scores, -1)
best = jnp.max(masked) // unit
---
cause: nan; int
names: masked|scores
fix: -1|where|float

### gram-matrix-that-is-not-positive line=3
# https://github.com/jax-ml/jax/issues/775
x = jnp.array([0.0, 0.0, 1.0])
---
def factor(x):
    gram = jnp.exp(-((x[:, None] - x[None, :]) ** 2)) - 0.1 * jnp.eye(3)
    return jnp.linalg.cholesky(gram)

lower = factor(x)
---
def factor(x):
    gram = jnp.exp(-((x[:, None] - x[None, :]) ** 2)) + 1e-3 * jnp.eye(3)
    return jnp.linalg.cholesky(gram)

lower = factor(x)
---
cause: positive definite|positive-definite; cholesky; nan
names: gram
fix: jnp.eye|diagonal|jitter

### compared-with-nan line=2
# https://docs.jax.dev/en/latest/debugging/flags.html
losses = jnp.array([0.5, jnp.inf, 0.25]) - jnp.array([0.0, jnp.inf, 0.0])
---
count = len(losses)
bad = losses == jnp.nan
share = bad.sum() / count
---
count = len(losses)
bad = jnp.isnan(losses)
share = bad.sum() / count
---
cause: nan; never|always False|equal
names: losses
fix: jnp.isnan(losses)

### nonzero-with-too-small-a-size line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.nonzero.html
spikes = jnp.array([0, 1, 1, 0, 1, 1, 0, 1])
---
@jax.jit
def times(spikes):
    # at most three are expected
    (where,) = jnp.nonzero(spikes, size=3)
    return where * 0.1

t = times(spikes)
---
@jax.jit
def times(spikes):
    # at most eight are possible
    (where,) = jnp.nonzero(spikes, size=8)
    return where * 0.1

t = times(spikes)
---
cause: size; 3; 5|more|cut|left out|lost
names: spikes
fix: size=|len|shape

### update-of-the-optimizer-state-thrown-away line=8
# https://optax.readthedocs.io/en/latest/getting_started.html
params = {"w": jnp.ones(3)}
tx = optax.adam(1e-2)
opt_state = tx.init(params)
---
@jax.jit
def step(params, opt_state):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

for _ in range(3):
    params, _ = step(params, opt_state)
---
@jax.jit
def step(params, opt_state):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

for _ in range(3):
    params, opt_state = step(params, opt_state)
---
cause: opt_state; not kept|thrown away|dropped|lost|same|never
names: opt_state; step
fix: params, opt_state = step

### state-of-the-optimizer-dropped-inside line=4
# https://optax.readthedocs.io/en/latest/getting_started.html
params = {"w": jnp.ones(3)}
tx = optax.adam(1e-2)
opt_state = tx.init(params)
---
@jax.jit
def step(params, opt_state):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    updates, _ = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

for _ in range(3):
    params, opt_state = step(params, opt_state)
---
@jax.jit
def step(params, opt_state):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

for _ in range(3):
    params, opt_state = step(params, opt_state)
---
cause: opt_state; not kept|thrown away|dropped|lost|same|never|unchanged
names: opt_state; step
fix: updates, opt_state = tx.update
""",
        prelude="""\
import jax
import jax.numpy as jnp
import optax
from jax import lax
""",
        needs=("optax",),
    ),
    *written(
        "threads_quiet",
        r"""
### state-changed-and-not-put-back line=3
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/graph.html
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
x = jnp.ones((4, 3))
---
state = nnx.state(model, nnx.Param)
# half the weights
jax.tree.map(lambda p: 0.5 * p, state)
nnx.update(model, state)
y = model(x)
---
state = nnx.state(model, nnx.Param)
# half the weights
state = jax.tree.map(lambda p: 0.5 * p, state)
nnx.update(model, state)
y = model(x)
---
cause: tree.map; new|returns; not used|thrown away|dropped|lost|nothing|ignored
names: state
fix: state = jax.tree.map

### training-step-of-nnx-under-jax-jit line=6
# https://flax.readthedocs.io/en/latest/guides/performance.html
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
x, y = jnp.ones((4, 3)), jnp.zeros((4, 1))
---
@jax.jit
def train_step(model, optimizer, x, y):
    loss_fn = lambda model: jnp.mean((model(x) - y) ** 2)
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    # in place
    optimizer.update(model, grads)
    return loss

for _ in range(3):
    loss = train_step(model, optimizer, x, y)
---
@nnx.jit
def train_step(model, optimizer, x, y):
    loss_fn = lambda model: jnp.mean((model(x) - y) ** 2)
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    # in place
    optimizer.update(model, grads)
    return loss

for _ in range(3):
    loss = train_step(model, optimizer, x, y)
---
cause: jax.jit; model|optimizer; lost|not kept|dropped|copy|stays|unchanged
names: model|optimizer; train_step
fix: nnx.jit

### state-of-the-norm-thrown-away line=7
# https://docs.kidger.site/equinox/examples/stateful/
norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, axis_name="batch", mode="batch")
batches = jax.random.normal(jax.random.key(0), (3, 8, 3))
---
@eqx.filter_jit
def forward(norm, state, x):
    return jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)

total = 0.0
for x in batches:
    out, _ = forward(norm, state, x)
    total = total + out.mean()
---
@eqx.filter_jit
def forward(norm, state, x):
    return jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(x, state)

total = 0.0
for x in batches:
    out, state = forward(norm, state, x)
    total = total + out.mean()
---
cause: state; not kept|thrown away|dropped|lost|never|same
names: state; forward
fix: out, state = forward

### gradient-of-the-input-instead-of-the-model line=4
# https://docs.kidger.site/equinox/api/transformations/
model = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
x, y = jnp.ones((4, 2)), jnp.zeros((4, 1))
---
def loss_fn(x, model, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)

grads = eqx.filter_grad(loss_fn)(x, model, y)
steps = jax.tree.map(lambda g: -0.1 * g, grads)
x = eqx.apply_updates(x, steps)
---
def loss_fn(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)

grads = eqx.filter_grad(loss_fn)(model, x, y)
steps = jax.tree.map(lambda g: -0.1 * g, grads)
model = eqx.apply_updates(model, steps)
---
cause: x; model; first argument|by x|with respect to x
names: x; loss_fn
fix: loss_fn(model|argnums|first

### dropout-of-one-key-for-all-examples line=8
# https://docs.kidger.site/equinox/api/nn/dropout/
x = jnp.ones((6, 32))
key = jax.random.key(1)
---
dropout = eqx.nn.Dropout(0.5)

def noisy(row, key):
    kept = dropout(row, key=key)
    return kept.mean()

# the noise of each example
means = jax.vmap(noisy, in_axes=(0, None))(x, key)
---
dropout = eqx.nn.Dropout(0.5)

def noisy(row, key):
    kept = dropout(row, key=key)
    return kept.mean()

# the noise of each example
means = jax.vmap(noisy)(x, jax.random.split(key, len(x)))
---
cause: key; same|every|each; vmap|batch|example
names: key
fix: jax.random.split(key

### observations-against-a-column-of-means line=5
# https://num.pyro.ai/en/stable/tutorials/bad_posterior_geometry.html
x = jnp.linspace(0.0, 1.0, 8)[:, None]
y = 2.0 * jnp.linspace(0.0, 1.0, 8)
---
def model(x, y):
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([1]))
    mean = x * w
    # one observation for each row
    numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)

energy = jax.jit(lambda w: -log_density(model, (x, y), {}, {"w": w})[0])
value = energy(jnp.ones(1))
---
def model(x, y):
    w = numpyro.sample("w", dist.Normal(0.0, 1.0).expand([1]))
    mean = (x * w)[:, 0]
    # one observation for each row
    numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)

energy = jax.jit(lambda w: -log_density(model, (x, y), {}, {"w": w})[0])
value = energy(jnp.ones(1))
---
cause: 8; pairs|8, 8|8,8|all; mean|y
names: mean; y
fix: [:, 0]|squeeze|y[:, None]

### solver-that-gave-up-quietly line=4
# https://docs.kidger.site/diffrax/api/diffeqsolve/
fast = diffrax.ODETerm(lambda t, y, args: -500.0 * y)
---
control = diffrax.PIDController(rtol=1e-6, atol=1e-8)
y0 = jnp.array(1.0)
solve = lambda t1: diffrax.diffeqsolve(
    fast, diffrax.Tsit5(), 0.0, t1, 0.001, y0, max_steps=16, stepsize_controller=control, throw=False
)
end = solve(5.0).ys[-1]
---
control = diffrax.PIDController(rtol=1e-6, atol=1e-8)
y0 = jnp.array(1.0)
solve = lambda t1: diffrax.diffeqsolve(
    fast, diffrax.Tsit5(), 0.0, t1, 0.001, y0, max_steps=4096, stepsize_controller=control, throw=False
)
end = solve(5.0).ys[-1]
---
cause: max_steps|16; inf
names: end|solve
fix: max_steps|throw
""",
        prelude="""\
import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import optax
from flax import nnx
from numpyro.infer.util import log_density
""",
        needs=("equinox", "flax", "numpyro", "optax", "diffrax"),
    ),
)
