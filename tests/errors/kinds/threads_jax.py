"""JAX itself, as people ask about it in threads."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "threads_jax",
    r"""
### rows-chosen-by-a-list raises=TypeError line=2
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
table = jnp.arange(12.0).reshape(4, 3)
---
def pick(table):
    chosen = table[[0, 2]]
    return chosen.mean(axis=0)

mean = pick(table)
---
def pick(table):
    chosen = table[jnp.array([0, 2])]
    return chosen.mean(axis=0)

mean = pick(table)
---
cause: list; index|indices; table
names: table
fix: jnp.array([0, 2])

### too-many-indices-for-a-flat-batch raises=IndexError line=4
# https://github.com/jax-ml/jax/issues/11277
batch = jnp.ones((8, 64))
---
@jax.jit
def top_left(batch):
    # the first pixel of the first channel
    corner = batch[:, 0, 0]
    return corner.mean()

value = top_left(batch)
---
@jax.jit
def top_left(batch):
    # the first pixel of the first channel
    corner = batch.reshape(8, 8, 8)[:, 0, 0]
    return corner.mean()

value = top_left(batch)
---
cause: 3; 2; batch; 8, 64|8,64
names: batch
fix: [:, 0]|reshape

### root-by-the-math-module raises=ConcretizationTypeError line=5
# https://docs.jax.dev/en/latest/faq.html
a, b = jnp.array([0.0, 1.0]), jnp.array([3.0, 5.0])
---
@jax.jit
def distance(a, b):
    squared = jnp.sum((a - b) ** 2)
    # euclidean
    return math.sqrt(squared)

d = distance(a, b)
---
@jax.jit
def distance(a, b):
    squared = jnp.sum((a - b) ** 2)
    # euclidean
    return jnp.sqrt(squared)

d = distance(a, b)
---
cause: math.sqrt|math; traced|tracer|value
names: squared; distance
fix: jnp.sqrt(squared)

### likelihood-by-scipy raises=TracerArrayConversionError line=4
# https://github.com/jax-ml/jax/pull/3160
counts = jnp.array([2.0, 0.0, 3.0])
---
def log_likelihood(rate, counts):
    terms = counts * jnp.log(rate) - rate
    # the normaliser
    return jnp.sum(terms - scipy.special.gammaln(counts * rate / rate + 1.0))

slope = jax.grad(log_likelihood)(1.5, counts)
---
def log_likelihood(rate, counts):
    terms = counts * jnp.log(rate) - rate
    # the normaliser
    return jnp.sum(terms - jax.scipy.special.gammaln(counts * rate / rate + 1.0))

slope = jax.grad(log_likelihood)(1.5, counts)
---
cause: scipy; traced|tracer|NumPy; gammaln
names: rate; log_likelihood
fix: jax.scipy.special.gammaln

### vmap-over-a-list-of-floats raises=ValueError line=3
# https://github.com/mlcommons/algorithmic-efficiency/issues/813
decay = lambda rate: jnp.exp(-rate * jnp.arange(4.0))
---
rates = [0.1, 0.5, 2.0]
# a curve for each rate
curves = jax.vmap(decay)(rates)
---
rates = jnp.array([0.1, 0.5, 2.0])
# a curve for each rate
curves = jax.vmap(decay)(rates)
---
cause: rates; list; array|axis|scalar|rank
names: rates
fix: jnp.array(

### constant-joined-to-a-vector raises=ValueError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.concatenate.html
x = jnp.ones(4)
---
def with_intercept(x):
    one = jnp.float32(1.0)
    return jnp.concatenate([one, x])

features = with_intercept(x)
---
def with_intercept(x):
    one = jnp.float32(1.0)
    return jnp.concatenate([one[None], x])

features = with_intercept(x)
---
cause: one; scalar|zero-dimensional|0-d|no axis|no dimension|float32[]
names: one; x
fix: one[None]|jnp.append|jnp.atleast_1d|hstack

### length-of-a-scalar raises=TypeError line=3
# https://docs.jax.dev/en/latest/jax-101/01-jax-basics.html
scores = jnp.array([0.2, 0.9, 0.4])
---
def report(scores):
    best = scores.max()
    return {"best": best, "count": len(best)}

summary = report(scores)
---
def report(scores):
    best = scores.max()
    return {"best": best, "count": len(scores)}

summary = report(scores)
---
cause: len; best; scalar|no length|0-d|zero dimensions|unsized|float32[]
names: best
fix: scores|.size|jnp.size

### number-from-a-vector raises=TypeError line=4
# https://docs.jax.dev/en/latest/notebooks/thinking_in_jax.html
history = jnp.array([[0.5], [0.25]])
---
def last_loss(history):
    row = jnp.concatenate([history[-1], history[0]])
    # for the progress bar
    return float(row)

loss = last_loss(history)
---
def last_loss(history):
    row = jnp.concatenate([history[-1], history[0]])
    # for the progress bar
    return float(row[0])

loss = last_loss(history)
---
cause: row; float; 2|one element|scalar
names: row
fix: row[0]|.mean()|[0]

### classes-of-one-hot-forgotten raises=TypeError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.nn.one_hot.html
labels = jnp.array([0, 2, 1])
---
@jax.jit
def nll(log_probs, labels):
    targets = jax.nn.one_hot(labels)
    return -jnp.mean(jnp.sum(targets * log_probs, axis=-1))

loss = nll(jnp.zeros((3, 3)), labels)
---
@jax.jit
def nll(log_probs, labels):
    targets = jax.nn.one_hot(labels, 3)
    return -jnp.mean(jnp.sum(targets * log_probs, axis=-1))

loss = nll(jnp.zeros((3, 3)), labels)
---
cause: one_hot; num_classes; missing|needs|required
names: labels|nll
fix: num_classes|one_hot(labels, 3)|log_probs.shape[-1]

### image-resized-without-its-channels raises=ValueError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.image.resize.html
photo = jnp.ones((16, 16, 3))
---
def thumbnail(photo):
    return jax.image.resize(photo, (8, 8), method="bilinear")

small = jax.jit(thumbnail)(photo)
---
def thumbnail(photo):
    return jax.image.resize(photo, (8, 8, 3), method="bilinear")

small = jax.jit(thumbnail)(photo)
---
cause: photo; 16, 16, 3|16,16,3|3; 2; shape
names: photo
fix: (8, 8, 3)|(8, 8, photo.shape[2])|(8, 8, photo.shape[-1])

### axis-squeezed-that-is-not-one raises=ValueError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.squeeze.html
values = jnp.ones((6, 4))
---
def advantages(rewards, values):
    # the head has one output
    baseline = jnp.squeeze(values, axis=-1)
    return rewards - baseline

adv = advantages(jnp.ones(6), values)
---
def advantages(rewards, values):
    # the head has one output
    baseline = jnp.squeeze(values[:, :1], axis=-1)
    return rewards - baseline

adv = advantages(jnp.ones(6), values)
---
cause: values; 4; one|1; squeeze
names: values
fix: [:, 0]|mean|[..., 0]|index

### lowered-is-called raises=TypeError line=3
# https://docs.jax.dev/en/latest/aot.html
x = jnp.ones(4)
---
f = jax.jit(lambda x: jnp.sin(x).sum())
fast = f.lower(x)
y = fast(x)
---
f = jax.jit(lambda x: jnp.sin(x).sum())
fast = f.lower(x).compile()
y = fast(x)
---
cause: Lowered; compile; callable|called
names: fast
fix: .compile()

### shape-used-like-an-array raises=TypeError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.eval_shape.html
w = jnp.ones((3, 2))
---
def head(x):
    return x @ w

hidden = jax.eval_shape(head, jnp.ones((4, 3))) * 2.0
---
def head(x):
    return x @ w

hidden = head(jnp.ones((4, 3))) * 2.0
---
cause: ShapeDtypeStruct; shape|no values|no array
names: hidden|head
fix: head(jnp.ones((4, 3)))|jnp.zeros|without eval_shape|call head

### state-of-a-loop-not-packed raises=TypeError line=9
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html
target = 2.0
---
def not_done(state):
    x, step = state
    return (jnp.abs(x**2 - target) > 1e-5) & (step < 50)

def newton(state):
    x, step = state
    return x - (x**2 - target) / (2 * x), step + 1

root, steps = lax.while_loop(not_done, newton, 1.5, 0)
---
def not_done(state):
    x, step = state
    return (jnp.abs(x**2 - target) > 1e-5) & (step < 50)

def newton(state):
    x, step = state
    return x - (x**2 - target) / (2 * x), step + 1

root, steps = lax.while_loop(not_done, newton, (1.5, 0))
---
cause: while_loop; 3; 4; state|init|tuple|arguments
names: newton|not_done
fix: (1.5, 0)

### maximum-of-an-empty-selection raises=ValueError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.max.html
losses = jnp.array([0.2, 0.4])
---
def worst(losses, threshold):
    bad = losses[losses > threshold]
    return jnp.max(bad)

value = worst(losses, 1.0)
---
def worst(losses, threshold):
    bad = losses[losses > threshold]
    return jnp.max(bad, initial=0.0)

value = worst(losses, 1.0)
---
cause: bad; 0|empty; max
names: bad
fix: initial=

### device-by-its-name raises=ValueError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html
params = {"w": jnp.ones(3)}
---
scale = 2.0
params = jax.device_put(params, "cpu")
total = scale * params["w"].sum()
---
scale = 2.0
params = jax.device_put(params, jax.devices("cpu")[0])
total = scale * params["w"].sum()
---
cause: "cpu"|'cpu'|str; device
names: params
fix: jax.devices("cpu")[0]

### same-argument-twice raises=TypeError line=6
# https://docs.jax.dev/en/latest/_autosummary/jax.jit.html
x = jnp.arange(4.0)
---
@jax.jit
def scale(x, factor, shift=0.0):
    return factor * x + shift

# factor by name, shift by place
y = scale(x, 2.0, factor=1.0)
---
@jax.jit
def scale(x, factor, shift=0.0):
    return factor * x + shift

# factor by name, shift by place
y = scale(x, 2.0, shift=1.0)
---
cause: factor; twice|multiple values|both|already; scale
names: factor; scale
fix: shift|factor
""",
    prelude="""\
import math
import jax
import jax.numpy as jnp
import scipy.special
from jax import lax
""",
)
