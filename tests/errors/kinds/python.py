"""Python's own mistakes, inside what is traced."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"

CASES = written(
    "python",
    r"""
### bias-is-none raises=TypeError line=4
# https://github.com/pyro-ppl/numpyro/issues/1078
kernel = jnp.ones((6, 3))
x = jnp.ones((2, 6))
---
@jax.jit
def dense(x, kernel, bias=None):
    h = x @ kernel
    return h * 2 + bias

y = dense(x, kernel)
---
@jax.jit
def dense(x, kernel, bias=None):
    h = x @ kernel
    return h * 2 + bias

y = dense(x, kernel, jnp.zeros(3))
---
cause: None
names: bias; dense
fix: pass|give|is None|is not None|zeros|bias=|default

### attribute-none-in-method raises=TypeError line=7
# https://github.com/google-deepmind/weathernext/pull/211
grid = jnp.ones((4, 4))
---
class Scaler:
    def __init__(self, mean, std=None):
        self.mean = mean
        self.std = std

    def __call__(self, x):
        return (x - self.mean) / self.std

scaled = jax.jit(Scaler(1.0))(grid)
---
class Scaler:
    def __init__(self, mean, std=None):
        self.mean = mean
        self.std = std

    def __call__(self, x):
        return (x - self.mean) / self.std

scaled = jax.jit(Scaler(1.0, 2.0))(grid)
---
cause: None
names: std
fix: is None|is not None|pass|std=|give|default

### call-an-array raises=TypeError line=3
# https://github.com/patrick-kidger/diffrax/issues/116
y0 = jnp.ones(3)
rate = jnp.array(0.5)
---
def step(y, t):
    decay = jnp.exp(-t)
    return y - rate(y) * decay

y1 = jax.jit(step)(y0, 0.1)
---
def step(y, t):
    decay = jnp.exp(-t)
    return y - rate * y * decay

y1 = jax.jit(step)(y0, 0.1)
---
cause: array; call
names: rate
fix: rate * y|rate[|rate *|without the parentheses|multiply|index|operator

### function-times-array raises=TypeError line=5
# https://github.com/patrick-kidger/diffrax/issues/116
h0 = jnp.ones(4)
---
def gate(h):
    return jax.nn.sigmoid(h)

def cell(h):
    return jnp.tanh(h) * gate

h1 = jax.jit(cell)(h0)
---
def gate(h):
    return jax.nn.sigmoid(h)

def cell(h):
    return jnp.tanh(h) * gate(h)

h1 = jax.jit(cell)(h0)
---
cause: function
names: gate; cell
fix: gate(h)|gate(|call

### text-plus-array raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/3045
losses = jnp.arange(5.0)
---
def report(losses):
    mean = losses.mean()
    return "loss: " + mean

line = report(losses)
---
def report(losses):
    mean = losses.mean()
    return "loss: " + str(mean)

line = report(losses)
---
cause: str|text|string; array
names: mean; report
fix: str(mean)|f"|f-string|format|jax.debug.print

### torch-method-on-array raises=AttributeError line=3
# https://github.com/samuela/torch2jax/pull/10
tokens = jnp.ones((8, 4, 2))
---
def merge(tokens):
    batch = tokens.shape[0]
    return tokens.reshape(batch, -1).unsqueeze(0)

flat = jax.jit(merge)(tokens)
---
def merge(tokens):
    batch = tokens.shape[0]
    return tokens.reshape(batch, -1)[None]

flat = jax.jit(merge)(tokens)
---
cause: unsqueeze
names: merge
fix: expand_dims|[None]|newaxis

### shape-of-a-python-int raises=AttributeError line=2
# https://github.com/jax-ml/jax/issues/3877
depth = 3
x = jnp.ones((5, 3))
---
def encode(x, depth):
    codes = jnp.zeros(depth.shape)
    return x + codes

encoded = encode(x, depth)
---
def encode(x, depth):
    codes = jnp.zeros(depth)
    return x + codes

encoded = encode(x, depth)
---
cause: int; shape
names: depth; encode
fix: jnp.shape|jnp.zeros(depth)|asarray|jnp.array|without .shape

### missing-argument-of-the-loss raises=TypeError line=4
# https://github.com/google-deepmind/optax/issues/291
params = jnp.ones(3)
x, y = jnp.ones((5, 3)), jnp.zeros(5)
---
def loss_fn(params, x, y):
    return ((x @ params - y) ** 2).mean()

grads = jax.grad(loss_fn)(params, x)
---
def loss_fn(params, x, y):
    return ((x @ params - y) ** 2).mean()

grads = jax.grad(loss_fn)(params, x, y)
---
cause: argument|missing
names: y; loss_fn
fix: params, x, y|pass y|y

### too-many-arguments-in-scan-body raises=TypeError line=1
# https://code-examples.net/en/q/4c0cfd3/common-issues-and-solutions-for-jax-scan-with-extra-arguments
state = jnp.zeros(2)
inputs = jnp.ones((10, 2))
---
def dynamics(state, u, dt):
    state = state + dt * u
    return state, state

final, path = lax.scan(dynamics, state, inputs)
---
def dynamics(state, u, dt=0.1):
    state = state + dt * u
    return state, state

final, path = lax.scan(dynamics, state, inputs)
---
cause: two|2|three|3; argument
names: dynamics; dt
fix: partial|lambda|closure|carry|default|dt=

### iterate-over-a-scalar raises=TypeError line=3
# https://github.com/google/flax/issues/23
scores = jnp.ones(4)
---
@jax.jit
def total(scores):
    return sum(abs(s) for s in scores.max())

t = total(scores)
---
@jax.jit
def total(scores):
    return sum(abs(s) for s in scores)

t = total(scores)
---
cause: 0-d|scalar|iterat|no axis|zero-dimensional
names: scores; total
fix: in scores|without|max|axis|keepdims

### unpack-a-scalar-loss raises=TypeError line=6
# https://github.com/google/flax/issues/23
params = jnp.ones(3)
batch = jnp.ones((6, 3))
---
def loss_fn(params, batch):
    preds = batch @ params
    return jnp.mean(preds**2)

def train_step(params, batch):
    loss, preds = loss_fn(params, batch)
    return loss

loss = jax.jit(train_step)(params, batch)
---
def loss_fn(params, batch):
    preds = batch @ params
    return jnp.mean(preds**2), preds

def train_step(params, batch):
    loss, preds = loss_fn(params, batch)
    return loss

loss = jax.jit(train_step)(params, batch)
---
cause: scalar|0-d|one value|iterat|single|unpack
names: loss_fn
fix: , preds|loss =|return|only loss

### unpack-three-of-two raises=ValueError line=3
# https://github.com/jax-ml/jax/issues/5776
arrays = (jnp.ones(3), jnp.zeros(3))
---
@jax.jit
def combine(arrays):
    mean, scale, shift = arrays
    return mean * scale + shift

out = combine(arrays)
---
@jax.jit
def combine(arrays):
    mean, scale = arrays
    return mean * scale

out = combine(arrays)
---
cause: 3|three; 2|two
names: arrays; combine
fix: mean, scale = arrays|two|2|third

### unpack-rows-of-an-array raises=ValueError line=2
# https://github.com/jax-ml/jax/issues/7437
points = jnp.ones((100, 2))
---
def radius(points):
    x, y = points
    return jnp.sqrt(x**2 + y**2)

r = jax.jit(radius)(points)
---
def radius(points):
    x, y = points.T
    return jnp.sqrt(x**2 + y**2)

r = jax.jit(radius)(points)
---
cause: 100; 2|two
names: points; radius
fix: points.T|.T|transpose|[:, 0]

### assign-to-an-element raises=TypeError line=3
# https://github.com/jax-ml/jax/pull/24315
x = jnp.zeros(8)
---
def clamp_ends(x):
    x = x * 2
    x[0] = 1.0
    return x

y = clamp_ends(x)
---
def clamp_ends(x):
    x = x * 2
    x = x.at[0].set(1.0)
    return x

y = clamp_ends(x)
---
cause: immutable|item assignment|in place|in-place|cannot be changed|assign
names: x
fix: .at[

### add-in-place-to-columns raises=TypeError line=4
# https://github.com/google/objax/issues/59
boxes = jnp.ones((5, 4))
---
@jax.jit
def shift(boxes, by):
    boxes = boxes * 1.0
    boxes[:, 2:] += by
    return boxes

moved = shift(boxes, 3.0)
---
@jax.jit
def shift(boxes, by):
    boxes = boxes * 1.0
    boxes = boxes.at[:, 2:].add(by)
    return boxes

moved = shift(boxes, 3.0)
---
cause: immutable|item assignment|in place|in-place|cannot be changed|assign
names: boxes
fix: .at[|.add(

### assign-with-mask-in-method raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/7032
frame = jnp.ones((16, 16))
---
class Threshold:
    def __call__(self, frame):
        frame[frame > 0.5] = 0.0
        return frame

out = Threshold()(frame)
---
class Threshold:
    def __call__(self, frame):
        frame = jnp.where(frame > 0.5, 0.0, frame)
        return frame

out = Threshold()(frame)
---
cause: immutable|item assignment|in place|in-place|cannot be changed|assign
names: frame
fix: .at[|jnp.where

### name-error-in-jitted-helper raises=NameError line=2
# https://openillumi.com/en/en-jax-lax-scan-nameerror-carry-value
total = jnp.array(0.0)
xs = jnp.arange(5.0)
---
def weighted(total, x):
    total = total + coefs * x
    return total, total

final, trace = lax.scan(weighted, total, xs)
---
coefs = 0.5
def weighted(total, x):
    total = total + coefs * x
    return total, total

final, trace = lax.scan(weighted, total, xs)
---
cause: not defined|undefined|no name|unknown
names: coefs; weighted
fix: define|argument|carry|coefs =|assign

### key-error-in-params raises=KeyError line=4
# https://github.com/patil-suraj/stable-diffusion-jax/issues/12
params = {"dense_0": {"kernel": jnp.ones((4, 2)), "bias": jnp.zeros(2)}}
x = jnp.ones(4)
---
@jax.jit
def apply(params, x):
    layer = params["dense_0"]
    return x @ layer["weight"] + layer["bias"]

out = apply(params, x)
---
@jax.jit
def apply(params, x):
    layer = params["dense_0"]
    return x @ layer["kernel"] + layer["bias"]

out = apply(params, x)
---
cause: key; weight
names: layer; weight
fix: kernel

### lru-cache-on-a-traced-int raises=TypeError line=7
# https://github.com/jax-ml/jax/issues/648
from functools import lru_cache
x = jnp.ones(3)
---
@lru_cache
def log_weight(n):
    return jnp.log(1.0 + n)

@jax.jit
def weigh(x, n):
    return x * log_weight(n)

w = weigh(x, 4)
---
def log_weight(n):
    return jnp.log(1.0 + n)

@jax.jit
def weigh(x, n):
    return x * log_weight(n)

w = weigh(x, 4)
---
cause: hash
names: n; log_weight
fix: static|lru_cache|without the cache|cache

### return-a-string-from-jit raises=TypeError line=5
# https://github.com/jax-ml/jax/pull/29047
logits = jnp.ones((2, 3))
---
@jax.jit
def classify(logits):
    scores = jax.nn.softmax(logits)
    label = "cat"
    return scores, label

out = classify(logits)
---
@jax.jit
def classify(logits):
    scores = jax.nn.softmax(logits)
    label = "cat"
    return scores

out = classify(logits)
---
cause: str|text|string; return
names: classify
fix: return scores|outside|only arrays|without

### return-a-function-from-jit raises=TypeError line=5
# https://github.com/jax-ml/jax/issues/2152
scale = jnp.array(2.0)
---
@jax.jit
def make_kernel(scale):
    def kernel(x, y):
        return jnp.exp(-((x - y) ** 2) / scale)
    return kernel

k = make_kernel(scale)
---
def make_kernel(scale):
    def kernel(x, y):
        return jnp.exp(-((x - y) ** 2) / scale)
    return kernel

k = make_kernel(scale)
---
cause: function; return
names: make_kernel; kernel
fix: without|outside|Partial|@jax.jit|jit

### return-an-object-from-jit raises=TypeError line=9
# https://github.com/jax-ml/jax/pull/29047
positions = jnp.ones((4, 2))
---
class State:
    def __init__(self, position, velocity):
        self.position = position
        self.velocity = velocity

@jax.jit
def init(positions):
    velocity = jnp.zeros_like(positions)
    return State(positions, velocity)

state = init(positions)
---
from typing import NamedTuple

class State(NamedTuple):
    position: jax.Array
    velocity: jax.Array

@jax.jit
def init(positions):
    velocity = jnp.zeros_like(positions)
    return State(positions, velocity)

state = init(positions)
---
cause: State; return
names: State; init
fix: register|NamedTuple|pytree|tuple

### params-dict-minus-number raises=TypeError line=3
# https://github.com/google/brax/issues/155
params = {"w": jnp.ones(3), "b": jnp.zeros(())}
---
def sgd(params, grads, lr):
    scale = lr * 0.5
    return params - scale * 1.0

params = sgd(params, None, 0.1)
---
def sgd(params, grads, lr):
    scale = lr * 0.5
    return jax.tree.map(lambda p: p - scale * 1.0, params)

params = sgd(params, None, 0.1)
---
cause: dict
names: params; sgd
fix: tree.map|tree_map

### float-times-frozen-dict raises=TypeError line=7
# https://github.com/google-deepmind/optax/issues/808
params = {"w": jnp.ones((3, 2))}
x, y = jnp.ones((4, 3)), jnp.zeros((4, 2))
---
def loss(params, x, y):
    return jnp.mean((x @ params["w"] - y) ** 2)

@jax.jit
def update(params, x, y):
    grads = jax.grad(loss)(params, x, y)
    step = 0.1 * grads
    return jax.tree.map(lambda p, s: p - s, params, step)

params = update(params, x, y)
---
def loss(params, x, y):
    return jnp.mean((x @ params["w"] - y) ** 2)

@jax.jit
def update(params, x, y):
    grads = jax.grad(loss)(params, x, y)
    step = jax.tree.map(lambda g: 0.1 * g, grads)
    return jax.tree.map(lambda p, s: p - s, params, step)

params = update(params, x, y)
---
cause: dict; float
names: grads; update
fix: tree.map|tree_map

### list-passed-to-sum raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/3038
---
def combined(scales):
    penalties = [s**2 for s in scales]
    return jnp.sum(penalties)

loss = combined([jnp.array(1.0), jnp.array(2.0)])
---
def combined(scales):
    penalties = [s**2 for s in scales]
    return jnp.sum(jnp.stack(penalties))

loss = combined([jnp.array(1.0), jnp.array(2.0)])
---
cause: list
names: penalties; combined
fix: jnp.array|jnp.stack|jnp.asarray|stack

### append-to-array raises=AttributeError line=4
# https://github.com/jax-ml/jax/issues/101
x = jnp.ones(3)
---
def collect(x):
    history = jnp.zeros((0, 3))
    for _ in range(4):
        history.append(x)
    return history

h = jax.jit(collect)(x)
---
def collect(x):
    history = []
    for _ in range(4):
        history.append(x)
    return jnp.stack(history)

h = jax.jit(collect)(x)
---
cause: append
names: history
fix: list|jnp.append|concatenate|[]|stack

### concatenate-of-python-lists raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/1013
losses = [0.5, 0.25]
---
def with_history(history, latest):
    scaled = [2.0 * loss for loss in latest]
    return jnp.concatenate([history, scaled])

curve = with_history([], losses)
---
def with_history(history, latest):
    scaled = [2.0 * loss for loss in latest]
    return jnp.concatenate([jnp.array(history), jnp.array(scaled)])

curve = with_history([], losses)
---
cause: list; array
names: history|scaled; with_history
fix: jnp.array|asarray

### haiku-module-made-outside-transform raises=ValueError line=1 needs=haiku
# https://github.com/google-deepmind/deepmind-research/issues/171
import haiku as hk
images = jnp.ones((2, 8))
key = jax.random.PRNGKey(0)
---
model = hk.nets.MLP([16, 5])
net = hk.transform(lambda x: model(x))
params = net.init(key, images)
---
net = hk.transform(lambda x: hk.nets.MLP([16, 5])(x))
params = net.init(key, images)
---
cause: transform
names: model|MLP
fix: hk.transform|transform

### haiku-state-left-in-the-params raises=TypeError line=2 needs=haiku
# https://github.com/alexOarga/haiku-geometric/issues/2
import haiku as hk
net = hk.without_apply_rng(hk.transform_with_state(lambda x: hk.BatchNorm(True, True, 0.9)(hk.Linear(3)(x), True)))
graph = jnp.ones((4, 2))
---
params = net.init(jax.random.PRNGKey(0), graph)
logits, state = net.apply(params, {}, graph)
---
params, state = net.init(jax.random.PRNGKey(0), graph)
logits, state = net.apply(params, state, graph)
---
cause: params; tuple|pair; state
names: params; net
fix: params, state
""",
    prelude=PRELUDE,
)
