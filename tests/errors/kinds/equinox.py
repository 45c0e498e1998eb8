"""Modules of equinox under transformations that do not take what they hold."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "equinox",
    r"""
### eqx-jit-of-mlp raises=TypeError line=5
# https://github.com/patrick-kidger/equinox/issues/1127
model = eqx.nn.MLP(4, 2, 16, 2, activation=jax.nn.gelu, key=jax.random.key(0))
---
@jax.jit
def forward(model, x):
    return model(x)

y = forward(model, jnp.arange(4.0))
---
@eqx.filter_jit
def forward(model, x):
    return model(x)

y = forward(model, jnp.arange(4.0))
---
cause: activation; function; model; forward
names: model; forward
fix: filter_jit|eqx.filter_jit

### eqx-grad-of-mlp raises=TypeError line=5
# https://github.com/patrick-kidger/equinox/pull/239
model = eqx.nn.MLP(2, 1, 8, 1, key=jax.random.key(0))
---
def loss_fn(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)

x, y = jnp.ones((5, 2)), jnp.zeros((5, 1))
grads = jax.grad(loss_fn)(model, x, y)
---
def loss_fn(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)

x, y = jnp.ones((5, 2)), jnp.zeros((5, 1))
grads = eqx.filter_grad(loss_fn)(model, x, y)
---
cause: function; model; grad; activation
names: model; loss_fn
fix: filter_grad|filter_value_and_grad

### eqx-optimiser-of-everything raises=TypeError line=2
# https://github.com/patrick-kidger/equinox/issues/257
model = eqx.nn.MLP(2, 2, 2, 2, key=jax.random.key(0))
---
optim = optax.adam(0.1)
opt_state = optim.init(model)
---
optim = optax.adam(0.1)
opt_state = optim.init(eqx.filter(model, eqx.is_inexact_array))
---
cause: model; function; activation; init
names: model
fix: eqx.filter|is_inexact_array|is_array

### eqx-relu-among-the-layers raises=TypeError line=11
# https://github.com/patrick-kidger/equinox/issues/105
---
class Net(eqx.Module):
    layers: list

    def __init__(self, key):
        k1, k2 = jax.random.split(key)
        self.layers = [eqx.nn.Linear(4, 8, key=k1), jax.nn.relu, eqx.nn.Linear(8, 2, key=k2)]

net = Net(jax.random.key(0))
optim = optax.adabelief(1e-3)

opt_state = optim.init(net)
---
class Net(eqx.Module):
    layers: list

    def __init__(self, key):
        k1, k2 = jax.random.split(key)
        self.layers = [eqx.nn.Linear(4, 8, key=k1), jax.nn.relu, eqx.nn.Linear(8, 2, key=k2)]

net = Net(jax.random.key(0))
optim = optax.adabelief(1e-3)

opt_state = optim.init(eqx.filter(net, eqx.is_array))
---
cause: net; relu|function; layers
names: net
fix: eqx.filter|is_inexact_array|is_array

### eqx-attribute-set raises=FrozenInstanceError line=6
# https://docs.kidger.site/equinox/faq
---
class Counter(eqx.Module):
    count: jax.Array
    weight: jax.Array

    def __call__(self, x):
        self.count = self.count + 1
        return self.weight * x

counter = Counter(jnp.array(0), jnp.ones(3))
y = counter(jnp.arange(3.0))
---
class Counter(eqx.Module):
    count: jax.Array
    weight: jax.Array

    def __call__(self, x):
        counter = eqx.tree_at(lambda c: c.count, self, self.count + 1)
        return self.weight * x

counter = Counter(jnp.array(0), jnp.ones(3))
y = counter(jnp.arange(3.0))
---
cause: count; frozen|immutable|cannot be set|cannot assign|cannot set; Counter|module
names: count
fix: tree_at|return|nn.State|StateIndex

### eqx-weights-replaced-in-place raises=FrozenInstanceError line=3
# https://docs.kidger.site/equinox/tricks/
linear = eqx.nn.Linear(3, 2, key=jax.random.key(0))
---
init = jax.nn.initializers.glorot_normal()
fresh = init(jax.random.key(1), (2, 3))
linear.weight = fresh
y = linear(jnp.ones(3))
---
init = jax.nn.initializers.glorot_normal()
fresh = init(jax.random.key(1), (2, 3))
linear = eqx.tree_at(lambda m: m.weight, linear, fresh)
y = linear(jnp.ones(3))
---
cause: weight; frozen|immutable|cannot be set|cannot assign|cannot set; linear|Linear
names: linear
fix: tree_at

### eqx-static-array-compared raises=ValueError line=11
# https://github.com/patrick-kidger/equinox/issues/746
---
class Data(eqx.Module):
    table: jax.Array = eqx.field(static=True)

@eqx.filter_jit
def fit_error(theta, data):
    return jnp.sum((theta - data.table) ** 2)

theta = jnp.float32(1.0)
one, other = Data(jnp.arange(5.0)), Data(jnp.ones(5))
error = fit_error(theta, one)
error = fit_error(theta, other)
---
class Data(eqx.Module):
    table: jax.Array

@eqx.filter_jit
def fit_error(theta, data):
    return jnp.sum((theta - data.table) ** 2)

theta = jnp.float32(1.0)
one, other = Data(jnp.arange(5.0)), Data(jnp.ones(5))
error = fit_error(theta, one)
error = fit_error(theta, other)
---
cause: table; static; array; hash|compare|equal|equality
names: table
fix: static=True|not static|remove static|without static|drop static|ordinary field

### eqx-field-not-set raises=TypeError line=10
# https://docs.kidger.site/equinox/all-of-equinox/
---
class Affine(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __init__(self, width, key):
        self.weight = jax.random.normal(key, (width, width))

    def __call__(self, x):
        return self.weight @ x + self.bias
layer = Affine(3, jax.random.key(0))
---
class Affine(eqx.Module):
    weight: jax.Array
    bias: jax.Array

    def __init__(self, width, key):
        self.weight = jax.random.normal(key, (width, width))
        self.bias = jnp.zeros(width)
    def __call__(self, x):
        return self.weight @ x + self.bias
layer = Affine(3, jax.random.key(0))
---
cause: bias; __init__; Affine|not set|never set|not initialised|uninitialised|without|missing
names: Affine; bias
fix: self.bias

### eqx-field-not-declared raises=FrozenInstanceError line=6
# https://docs.kidger.site/equinox/all-of-equinox/
---
class Scaled(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, key):
        self.linear = eqx.nn.Linear(3, 3, key=key)
        self.scale = jnp.array(0.1)

    def __call__(self, x):
        return self.scale * self.linear(x)

layer = Scaled(jax.random.key(0))
---
class Scaled(eqx.Module):
    linear: eqx.nn.Linear
    scale: jax.Array
    def __init__(self, key):
        self.linear = eqx.nn.Linear(3, 3, key=key)
        self.scale = jnp.array(0.1)

    def __call__(self, x):
        return self.scale * self.linear(x)

layer = Scaled(jax.random.key(0))
---
cause: scale; field|declared|annotation|annotated
names: scale
fix: scale: |annotat|declare

### eqx-key-forgotten raises=TypeError line=6
# https://docs.kidger.site/equinox/api/nn/linear/
---
class Block(eqx.Module):
    lin: eqx.nn.Linear
    norm: eqx.nn.LayerNorm

    def __init__(self, width):
        self.lin = eqx.nn.Linear(width, width)
        self.norm = eqx.nn.LayerNorm(width)

block = Block(16)
---
class Block(eqx.Module):
    lin: eqx.nn.Linear
    norm: eqx.nn.LayerNorm

    def __init__(self, width):
        self.lin = eqx.nn.Linear(width, width, key=jax.random.key(0))
        self.norm = eqx.nn.LayerNorm(width)

block = Block(16)
---
cause: key; Linear
names:
fix: key=

### eqx-dropout-without-key raises=RuntimeError line=8
# https://docs.kidger.site/equinox/api/nn/dropout/
---
class Head(eqx.Module):
    lin: eqx.nn.Linear
    drop: eqx.nn.Dropout
    def __init__(self, key):
        self.lin = eqx.nn.Linear(8, 2, key=key)
        self.drop = eqx.nn.Dropout(0.5)
    def __call__(self, h):
        h = self.drop(h)
        return self.lin(h)

logits = Head(jax.random.key(0))(jnp.ones(8))
---
class Head(eqx.Module):
    lin: eqx.nn.Linear
    drop: eqx.nn.Dropout
    def __init__(self, key):
        self.lin = eqx.nn.Linear(8, 2, key=key)
        self.drop = eqx.nn.Dropout(0.5)
    def __call__(self, h):
        h = self.drop(h, key=jax.random.key(1))
        return self.lin(h)

logits = Head(jax.random.key(0))(jnp.ones(8))
---
cause: key; drop
names: drop
fix: key=|inference

### eqx-batch-into-linear raises=TypeError line=3
# https://docs.kidger.site/equinox/faq
linear = eqx.nn.Linear(10, 3, key=jax.random.key(0))
---
batch = jnp.ones((32, 10))
batch = batch - batch.mean()
pred = linear(batch)
---
batch = jnp.ones((32, 10))
batch = batch - batch.mean()
pred = jax.vmap(linear)(batch)
---
cause: (32, 10)|32; 10; one example|single|batch|vector|(3, 10)
names: linear; batch
fix: vmap

### eqx-image-channels-last raises=ValueError line=8
# https://docs.kidger.site/equinox/api/nn/conv/
---
class Cnn(eqx.Module):
    conv: eqx.nn.Conv2d

    def __init__(self, key):
        self.conv = eqx.nn.Conv2d(3, 8, kernel_size=3, key=key)

    def __call__(self, image):
        maps = self.conv(image)
        return maps.mean((1, 2))

images = jnp.ones((4, 32, 32, 3))
features = jax.vmap(Cnn(jax.random.key(0)))(images)
---
class Cnn(eqx.Module):
    conv: eqx.nn.Conv2d

    def __init__(self, key):
        self.conv = eqx.nn.Conv2d(3, 8, kernel_size=3, key=key)

    def __call__(self, image):
        maps = self.conv(jnp.moveaxis(image, -1, 0))
        return maps.mean((1, 2))

images = jnp.ones((4, 32, 32, 3))
features = jax.vmap(Cnn(jax.random.key(0)))(images)
---
cause: 32; 3; channel
names: image; conv
fix: moveaxis|transpose|channels first|channel first|(3, 32, 32)

### eqx-mlp-trained-by-plain-scan raises=TypeError line=11
# https://github.com/patrick-kidger/equinox/issues/607
model = eqx.nn.MLP(1, 1, 8, 1, key=jax.random.key(0))
xs, ys = jnp.ones((4, 16, 1)), jnp.zeros((4, 16, 1))
---
def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)

def step(model, batch):
    x, y = batch
    value, grads = eqx.filter_value_and_grad(loss)(model, x, y)
    model = eqx.apply_updates(model, jax.tree.map(lambda g: -0.1 * g, grads))

    return model, value

trained, losses = jax.lax.scan(step, model, (xs, ys))
---
def loss(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)

def step(dynamic, batch):
    x, y = batch
    value, grads = eqx.filter_value_and_grad(loss)(eqx.combine(dynamic, static), x, y)
    return eqx.apply_updates(dynamic, jax.tree.map(lambda g: -0.1 * g, grads)), value

dynamic, static = eqx.partition(model, eqx.is_array)
dynamic, losses = jax.lax.scan(step, dynamic, (xs, ys))
trained = eqx.combine(dynamic, static)
---
cause: scan; model; function; activation|carry
names: model
fix: partition|filter

### eqx-weights-updated-without-parameters raises=ValueError line=4
# https://github.com/patrick-kidger/equinox/issues/607
model = eqx.nn.Linear(3, 1, key=jax.random.key(0))
optim = optax.adamw(1e-3)
opt_state = optim.init(eqx.filter(model, eqx.is_array))
---
@eqx.filter_jit
def make_step(model, opt_state, x, y):
    grads = eqx.filter_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
    updates, opt_state = optim.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state

model, opt_state = make_step(model, opt_state, jnp.ones((4, 3)), jnp.zeros((4, 1)))
---
@eqx.filter_jit
def make_step(model, opt_state, x, y):
    grads = eqx.filter_grad(lambda m: jnp.mean((jax.vmap(m)(x) - y) ** 2))(model)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), opt_state

model, opt_state = make_step(model, opt_state, jnp.ones((4, 3)), jnp.zeros((4, 1)))
---
cause: params|parameters; update; optim|adamw|weight decay
names: optim
fix: eqx.filter(model|model|params

### eqx-jit-of-method raises=TypeError line=10
# https://github.com/patrick-kidger/equinox/issues/1131
---
class Solver(eqx.Module):
    field: Callable
    dt: float

    @jax.jit
    def step(self, y):
        return y + self.dt * self.field(y)

solver = Solver(lambda y: -y, 0.1)
y = solver.step(jnp.ones(3))
---
class Solver(eqx.Module):
    field: Callable
    dt: float

    @eqx.filter_jit
    def step(self, y):
        return y + self.dt * self.field(y)

solver = Solver(lambda y: -y, 0.1)
y = solver.step(jnp.ones(3))
---
cause: field; function; self|solver; step
names: step
fix: filter_jit|eqx.filter_jit

### eqx-modules-beside-arrays-in-a-tree-map raises=ValueError line=5
# https://github.com/patrick-kidger/equinox/issues/889
class Identity(eqx.Module):
    def __call__(self, x):
        return x

states = [jnp.zeros(2), jnp.ones(2)]
---
layers = [Identity(), Identity()]
def apply(layer, x):
    return layer(x)

out = jax.tree.map(apply, layers, states)
---
layers = [Identity(), Identity()]
def apply(layer, x):
    return layer(x)

out = jax.tree.map(apply, layers, states, is_leaf=lambda n: isinstance(n, Identity))
---
cause: Identity; leaf|node|pytree|tree
names: layers; states
fix: is_leaf|zip

### eqx-axes-of-the-only-argument raises=ValueError line=4
# https://github.com/patrick-kidger/equinox/issues/952
class Series(eqx.Module):
    value: jax.Array
    time: jax.Array

series = Series(jnp.ones((10, 20)), jnp.arange(20.0))
---
axes = Series(value=0, time=None)
def average(s):
    return jnp.mean(s.value * s.time)
means = eqx.filter_vmap(average, in_axes=axes)(series)
---
axes = Series(value=0, time=None)
def average(s):
    return jnp.mean(s.value * s.time)
means = eqx.filter_vmap(average, in_axes=(axes,))(series)
---
cause: in_axes; tuple
names: axes; average
fix: (axes,)

### eqx-multisteps-of-the-whole-model raises=TypeError line=4
# https://github.com/patrick-kidger/equinox/issues/590
model = eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(0))
optim = optax.MultiSteps(optax.adamw(1e-2), 2)
opt_state = optim.init(eqx.filter(model, eqx.is_array))
x = jnp.zeros((4, 2))
---
@eqx.filter_jit
def train_step(model, opt_state, x):
    grads = eqx.filter_grad(lambda m: jax.vmap(m)(x).mean())(model)
    updates, opt_state = optim.update(grads, opt_state, model)
    return eqx.apply_updates(model, updates), opt_state

model, opt_state = train_step(model, opt_state, x)
---
@eqx.filter_jit
def train_step(model, opt_state, x):
    grads = eqx.filter_grad(lambda m: jax.vmap(m)(x).mean())(model)
    updates, opt_state = optim.update(grads, opt_state, eqx.filter(model, eqx.is_array))
    return eqx.apply_updates(model, updates), opt_state

model, opt_state = train_step(model, opt_state, x)
---
cause: function|custom_jvp|relu; array
names: model; train_step
fix: eqx.filter(model

### eqx-linesearch-of-a-filtered-model raises=TypeError line=3
# https://github.com/google-deepmind/optax/issues/1399
model = eqx.nn.MLP(1, 1, 4, 1, key=jax.random.key(0))
optim = optax.lbfgs()
params = eqx.filter(model, eqx.is_inexact_array)
opt_state = optim.init(params)
xs, ys = jnp.ones((4, 1)), jnp.zeros((4, 1))
static = eqx.filter(model, eqx.is_inexact_array, inverse=True)
---
def fit_step(params, opt_state):
    def value_fn(p):
        return jnp.mean((jax.vmap(p)(xs) - ys) ** 2)
    loss, grads = eqx.filter_value_and_grad(value_fn)(eqx.combine(params, static))
    updates, opt_state = optim.update(grads, opt_state, params, value=loss, grad=grads, value_fn=value_fn)
    return eqx.apply_updates(params, updates), opt_state

params, opt_state = fit_step(params, opt_state)
---
def fit_step(params, opt_state):
    def value_fn(p):
        return jnp.mean((jax.vmap(eqx.combine(p, static))(xs) - ys) ** 2)
    loss, grads = eqx.filter_value_and_grad(value_fn)(eqx.combine(params, static))
    updates, opt_state = optim.update(grads, opt_state, params, value=loss, grad=grads, value_fn=value_fn)
    return eqx.apply_updates(params, updates), opt_state

params, opt_state = fit_step(params, opt_state)
---
cause: None; activation|callable|not callable
names: value_fn; p|params; fit_step
fix: eqx.combine|combine

### eqx-static-half-holds-a-list raises=ValueError line=8
# https://github.com/patrick-kidger/equinox/issues/1097
import functools
class Stack(eqx.Module):
    layers: list
    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

model = [Stack([eqx.nn.Linear(2, 2, key=jax.random.key(0)), jax.nn.relu])]
x = jnp.ones((3, 2))
---
@functools.partial(jax.jit, static_argnums=1)
@jax.grad
def loss(params, static, x):
    (model,) = eqx.combine(params, static)
    return jnp.mean(jax.vmap(model)(x) ** 2)

params, static = eqx.partition(model, eqx.is_array)
grads = loss(params, static, x)
---
@eqx.filter_jit
@jax.grad
def loss(params, static, x):
    (model,) = eqx.combine(params, static)
    return jnp.mean(jax.vmap(model)(x) ** 2)

params, static = eqx.partition(model, eqx.is_array)
grads = loss(params, static, x)
---
cause: list; hash
names: static; loss
fix: tuple|filter_jit
""",
    prelude="""\
from collections.abc import Callable
import equinox as eqx
import jax
import jax.numpy as jnp
import optax
""",
    needs=("equinox", "optax"),
)
