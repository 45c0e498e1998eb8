"""Modules of nnx, equinox and haiku: what is part of them, what is called how, and what is handed on."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = (
    *written(
        "batch_modules",
        r"""
### nnx-rngs-by-position raises=TypeError line=3
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/linear.html
---
class MLP(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs):
        self.first = nnx.Linear(4, width, rngs)
        self.second = nnx.Linear(width, 1, rngs)

    def __call__(self, x):
        return self.second(nnx.relu(self.first(x)))

model = MLP(16, nnx.Rngs(0))
out = model(jnp.ones((2, 4)))
---
class MLP(nnx.Module):
    def __init__(self, width: int, rngs: nnx.Rngs):
        self.first = nnx.Linear(4, width, rngs=rngs)
        self.second = nnx.Linear(width, 1, rngs=rngs)

    def __call__(self, x):
        return self.second(nnx.relu(self.first(x)))

model = MLP(16, nnx.Rngs(0))
out = model(jnp.ones((2, 4)))
---
cause: Linear; keyword|by name; rngs
names: rngs
fix: rngs=rngs

### nnx-state-is-called raises=TypeError line=4
# https://flax.readthedocs.io/en/latest/guides/transforms.html
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
x = jnp.arange(12.0).reshape(4, 3)
y = jnp.ones((4, 1))
---
graphdef, params = nnx.split(model)

def loss_fn(params, x, y):
    pred = params(x)
    return jnp.mean((pred - y) ** 2)

grads = jax.jit(jax.grad(loss_fn))(params, x, y)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
graphdef, params = nnx.split(model)

def loss_fn(params, x, y):
    pred = nnx.merge(graphdef, params)(x)
    return jnp.mean((pred - y) ** 2)

grads = jax.jit(jax.grad(loss_fn))(params, x, y)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
---
cause: State; callable|cannot be called|no function; merge
names: params; loss_fn
fix: nnx.merge(graphdef, params)|nnx.merge

### nnx-gradient-by-the-key-counter raises=TypeError line=13
# https://github.com/google/flax/issues/4720
x = jnp.ones((4, 6))
y = jnp.zeros((4, 1))
---
class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(6, 8, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(self.dropout(nnx.relu(self.hidden(x))))

model = Regressor(nnx.Rngs(0))
graphdef, state = nnx.split(model)
loss = lambda state: jnp.mean((nnx.merge(graphdef, state)(x) - y) ** 2)
grads = jax.grad(loss)(state)
---
class Regressor(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(6, 8, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.out = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.out(self.dropout(nnx.relu(self.hidden(x))))

model = Regressor(nnx.Rngs(0))
loss = lambda model: jnp.mean((model(x) - y) ** 2)
grads = nnx.grad(loss)(model)
---
cause: uint32; dropout; Param|key|count
names: state; dropout
fix: nnx.Param|nnx.grad

### nnx-value-of-a-plain-array raises=AttributeError line=8
# https://flax.readthedocs.io/en/latest/guides/filters_guide.html
x = jnp.ones((5, 3))
---
class Affine(nnx.Module):
    def __init__(self, inputs, outputs, *, rngs):
        key = rngs.params()
        self.kernel = nnx.Param(jax.random.normal(key, (inputs, outputs)))
        self.bias = jnp.zeros(outputs)

    def __call__(self, x):
        return x @ self.kernel.value + self.bias.value

layer = Affine(3, 2, rngs=nnx.Rngs(0))
y = layer(x)
---
class Affine(nnx.Module):
    def __init__(self, inputs, outputs, *, rngs):
        key = rngs.params()
        self.kernel = nnx.Param(jax.random.normal(key, (inputs, outputs)))
        self.bias = nnx.Param(jnp.zeros(outputs))

    def __call__(self, x):
        return x @ self.kernel[...] + self.bias[...]

layer = Affine(3, 2, rngs=nnx.Rngs(0))
y = layer(x)
---
cause: bias; array; Param|variable
names: bias
fix: nnx.Param(

### nnx-state-of-another-model raises=ValueError line=11
# https://flax.readthedocs.io/en/latest/guides/checkpointing.html
trained = nnx.Sequential(nnx.Linear(4, 8, rngs=nnx.Rngs(0)), nnx.relu, nnx.Linear(8, 2, rngs=nnx.Rngs(1)))
x = jnp.ones((3, 4))
---
class Net(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(4, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(nnx.relu(self.encoder(x)))

saved = nnx.state(trained)
net = Net(nnx.Rngs(5))
nnx.update(net, saved)
logits = net(x)
---
class Net(nnx.Module):
    def __init__(self, rngs):
        self.encoder = nnx.Linear(4, 8, rngs=rngs)
        self.head = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(nnx.relu(self.encoder(x)))

saved = nnx.state(Net(nnx.Rngs(0)))
net = Net(nnx.Rngs(5))
nnx.update(net, saved)
logits = net(x)
---
cause: encoder|head; layers; saved
names: saved; net
fix: same|encoder|names

### eqx-norm-without-its-state raises=TypeError line=10
# https://github.com/patrick-kidger/equinox/issues/707
images = jnp.ones((6, 4))
---
class Net(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.BatchNorm

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 3, key=key)
        self.norm = eqx.nn.BatchNorm(3, axis_name="batch", mode="batch")

    def __call__(self, x):
        return jax.nn.relu(self.norm(self.linear(x)))

net, state = eqx.nn.make_with_state(Net)(jax.random.key(0))
out = jax.vmap(net, axis_name="batch")(images)
---
class Net(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.BatchNorm

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 3, key=key)
        self.norm = eqx.nn.BatchNorm(3, axis_name="batch", mode="batch")

    def __call__(self, x, state):
        x, state = self.norm(self.linear(x), state)
        return jax.nn.relu(x), state

net, state = eqx.nn.make_with_state(Net)(jax.random.key(0))
out, state = jax.vmap(net, axis_name="batch", in_axes=(0, None), out_axes=(0, None))(images, state)
---
cause: BatchNorm|norm; state; missing|needs|required
names: norm
fix: , state)

### eqx-norm-outside-of-its-axis raises=NameError line=13
# https://github.com/patrick-kidger/equinox/issues/186
images = jnp.ones((6, 4))
---
class Net(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.BatchNorm

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 3, key=key)
        self.norm = eqx.nn.BatchNorm(3, axis_name="batch", mode="batch")

    def __call__(self, x, state):
        return self.norm(self.linear(x), state)

net, state = eqx.nn.make_with_state(Net)(jax.random.key(0))
forward = jax.vmap(net, in_axes=(0, None), out_axes=(0, None))
out, state = forward(images, state)
---
class Net(eqx.Module):
    linear: eqx.nn.Linear
    norm: eqx.nn.BatchNorm

    def __init__(self, key):
        self.linear = eqx.nn.Linear(4, 3, key=key)
        self.norm = eqx.nn.BatchNorm(3, axis_name="batch", mode="batch")

    def __call__(self, x, state):
        return self.norm(self.linear(x), state)

net, state = eqx.nn.make_with_state(Net)(jax.random.key(0))
forward = jax.vmap(net, in_axes=(0, None), out_axes=(0, None), axis_name="batch")
out, state = forward(images, state)
---
cause: batch; axis name|axis_name|named axis; vmap
names: batch
fix: axis_name="batch"

### eqx-bias-that-is-none raises=ValueError line=3
# https://docs.kidger.site/equinox/api/manipulation/
model = eqx.nn.MLP(3, 2, 8, 1, use_bias=False, use_final_bias=False, key=jax.random.key(0))
---
def with_bias(model, value):
    where = lambda mlp: mlp.layers[-1].bias
    return eqx.tree_at(where, model, value)

model = with_bias(model, jnp.array([0.5, -0.5]))
out = jax.vmap(model)(jnp.ones((4, 3)))
---
def with_bias(model, value):
    where = lambda mlp: mlp.layers[-1].bias
    return eqx.tree_at(where, model, value, is_leaf=lambda leaf: leaf is None)

model = with_bias(model, jnp.array([0.5, -0.5]))
out = jax.vmap(model)(jnp.ones((4, 3)))
---
cause: None; bias; leaf|is_leaf
names: where; model
fix: is_leaf=

### eqx-cell-takes-the-input-first raises=TypeError line=11
# https://docs.kidger.site/equinox/api/nn/rnn/
series = jnp.ones((12, 2))
---
class Forecaster(eqx.Module):
    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear

    def __init__(self, hidden, key):
        first, second = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(2, hidden, key=first)
        self.head = eqx.nn.Linear(hidden, 1, key=second)

    def __call__(self, xs):
        step = lambda h, x: (self.cell(h, x), None)
        h, _ = jax.lax.scan(step, jnp.zeros(self.cell.hidden_size), xs)
        return self.head(h)

forecaster = Forecaster(8, jax.random.key(0))
prediction = eqx.filter_jit(forecaster)(series)
---
class Forecaster(eqx.Module):
    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear

    def __init__(self, hidden, key):
        first, second = jax.random.split(key)
        self.cell = eqx.nn.GRUCell(2, hidden, key=first)
        self.head = eqx.nn.Linear(hidden, 1, key=second)

    def __call__(self, xs):
        step = lambda h, x: (self.cell(x, h), None)
        h, _ = jax.lax.scan(step, jnp.zeros(self.cell.hidden_size), xs)
        return self.head(h)

forecaster = Forecaster(8, jax.random.key(0))
prediction = eqx.filter_jit(forecaster)(series)
---
cause: 8; 2; cell|GRUCell
names: h; x
fix: self.cell(x, h)

### eqx-embedding-of-a-sentence raises=ValueError line=10
# https://docs.kidger.site/equinox/api/nn/embedding/
tokens = jnp.array([4, 1, 7, 0])
---
class Classifier(eqx.Module):
    embed: eqx.nn.Embedding
    out: eqx.nn.Linear

    def __init__(self, vocab, width, *, key):
        self.embed = eqx.nn.Embedding(vocab, width, key=key)
        self.out = eqx.nn.Linear(width, 2, key=key)

    def __call__(self, tokens):
        vectors = self.embed(tokens)
        return self.out(vectors.mean(axis=0))

classifier = Classifier(10, 6, key=jax.random.key(0))
logits = classifier(tokens)
---
class Classifier(eqx.Module):
    embed: eqx.nn.Embedding
    out: eqx.nn.Linear

    def __init__(self, vocab, width, *, key):
        first, second = jax.random.split(key)
        self.embed = eqx.nn.Embedding(vocab, width, key=first)
        self.out = eqx.nn.Linear(width, 2, key=second)

    def __call__(self, tokens):
        vectors = jax.vmap(self.embed)(tokens)
        return self.out(vectors.mean(axis=0))

classifier = Classifier(10, 6, key=jax.random.key(0))
logits = classifier(tokens)
---
cause: Embedding|embed; scalar|one token|one index|single; (4,)|[4]|4
names: tokens
fix: jax.vmap(self.embed)(tokens)|jax.vmap

### eqx-cond-between-two-models raises=TypeError line=4
# https://docs.kidger.site/equinox/faq/
student = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
teacher = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(1))
x = jnp.ones((3, 2))
---
@eqx.filter_jit
def predict(step, x):
    # the teacher speaks for the first hundred steps
    model = jax.lax.cond(step < 100, lambda: teacher, lambda: student)
    return jax.vmap(model)(x)

y = predict(jnp.array(7), x)
---
@eqx.filter_jit
def predict(step, x):
    # the teacher speaks for the first hundred steps
    return jax.lax.cond(step < 100, lambda: jax.vmap(teacher)(x), lambda: jax.vmap(student)(x))

y = predict(jnp.array(7), x)
---
cause: teacher|student|MLP; function|activation; cond|branch
names: teacher|student
fix: eqx.partition|filter|teacher)(x)|inside|call

### eqx-ensemble-by-plain-vmap raises=TypeError line=5
# https://docs.kidger.site/equinox/tricks/
keys = jax.random.split(jax.random.key(0), 5)
---
def make(key):
    return eqx.nn.MLP(in_size=2, out_size=1, width_size=8, depth=2, key=key)

# five networks, their weights stacked
ensemble = jax.vmap(make)(keys)
predict = eqx.filter_vmap(lambda model, x: model(x), in_axes=(eqx.if_array(0), None))
means = predict(ensemble, jnp.ones(2))
---
def make(key):
    return eqx.nn.MLP(in_size=2, out_size=1, width_size=8, depth=2, key=key)

# five networks, their weights stacked
ensemble = eqx.filter_vmap(make)(keys)
predict = eqx.filter_vmap(lambda model, x: model(x), in_axes=(eqx.if_array(0), None))
means = predict(ensemble, jnp.ones(2))
---
cause: make; function|activation; vmap
names: make
fix: eqx.filter_vmap(make)

### eqx-old-state-used-again raises=ValueError line=5
# https://docs.kidger.site/equinox/api/nn/stateful/
index = eqx.nn.StateIndex(jnp.array(0))
state = eqx.nn.State(index)
x = jnp.ones(3)
---
def count(x, state):
    seen = state.get(index)
    new_state = state.set(index, seen + len(x))
    # how many were seen before
    return x * state.get(index), new_state

scaled, state = count(x, state)
---
def count(x, state):
    seen = state.get(index)
    new_state = state.set(index, seen + len(x))
    # how many were seen before
    return x * seen, new_state

scaled, state = count(x, state)
---
cause: state; old|replaced|set; new
names: state; new_state
fix: new_state|seen|before
""",
        prelude="""\
import equinox as eqx
import jax
import jax.numpy as jnp
from flax import nnx
""",
        needs=("flax", "equinox"),
    ),
    *written(
        "batch_modules",
        r"""
### hk-input-in-the-place-of-the-key raises=ValueError line=8
# https://dm-haiku.readthedocs.io/en/latest/api.html
x = jnp.ones((4, 6))
---
def forward(x):
    mlp = hk.nets.MLP([16, 2])
    return mlp(x)

network = hk.transform(forward)
params = network.init(jax.random.key(0), x)
scores = lambda params, x: network.apply(params, x)
logits = scores(params, x)
---
def forward(x):
    mlp = hk.nets.MLP([16, 2])
    return mlp(x)

network = hk.without_apply_rng(hk.transform(forward))
params = network.init(jax.random.key(0), x)
scores = lambda params, x: network.apply(params, x)
logits = scores(params, x)
---
cause: rng|key; apply; x
names: x; network
fix: None|without_apply_rng|rng

### hk-batch-norm-without-state raises=NonEmptyStateError line=8
# https://github.com/google-deepmind/dm-haiku/issues/397
x = jnp.ones((4, 6))
---
def forward(x, is_training):
    h = hk.Linear(8)(x)
    h = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.99)(h, is_training)
    return hk.Linear(1)(jax.nn.relu(h))

network = hk.transform(forward)
key = jax.random.key(0)
params = network.init(key, x, True)
out = network.apply(params, None, x, True)
---
def forward(x, is_training):
    h = hk.Linear(8)(x)
    h = hk.BatchNorm(create_scale=True, create_offset=True, decay_rate=0.99)(h, is_training)
    return hk.Linear(1)(jax.nn.relu(h))

network = hk.transform_with_state(forward)
key = jax.random.key(0)
params, state = network.init(key, x, True)
out, state = network.apply(params, state, None, x, True)
---
cause: state; BatchNorm|forward; transform_with_state
names: forward
fix: transform_with_state(forward)

### hk-key-where-none-is-taken raises=TypeError line=10
# https://github.com/alexOarga/haiku-geometric/issues/2
x = jnp.ones((4, 6))
y = jnp.array([0, 1, 1, 0])
---
@hk.without_apply_rng
@hk.transform
def network(x):
    return hk.nets.MLP([16, 2])(x)

key = jax.random.key(0)
params = network.init(key, x)

def loss_fn(params, key, x, y):
    logits = network.apply(params, key, x)
    log_probs = jax.nn.log_softmax(logits)
    return -log_probs[jnp.arange(len(y)), y].mean()

grads = jax.grad(loss_fn)(params, key, x, y)
---
@hk.without_apply_rng
@hk.transform
def network(x):
    return hk.nets.MLP([16, 2])(x)

key = jax.random.key(0)
params = network.init(key, x)

def loss_fn(params, key, x, y):
    logits = network.apply(params, x)
    log_probs = jax.nn.log_softmax(logits)
    return -log_probs[jnp.arange(len(y)), y].mean()

grads = jax.grad(loss_fn)(params, key, x, y)
---
cause: key; without_apply_rng|takes no key|no rng; network
names: key; network
fix: network.apply(params, x)|without

### hk-parameters-of-a-narrower-net raises=ValueError line=9
# https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html
small = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([16, 2])(x)))
stored = small.init(jax.random.key(0), jnp.ones((1, 6)))
x = jnp.ones((4, 6))
---
def forward(x):
    body = hk.nets.MLP([32, 2])
    return jax.nn.softmax(body(x))

wide = hk.without_apply_rng(hk.transform(forward))
predict = jax.jit(wide.apply)

# the weights of the run of yesterday
probs = predict(stored, x)
---
def forward(x):
    body = hk.nets.MLP([16, 2])
    return jax.nn.softmax(body(x))

wide = hk.without_apply_rng(hk.transform(forward))
predict = jax.jit(wide.apply)

# the weights of the run of yesterday
probs = predict(stored, x)
---
cause: 16; 32; linear_0|shape
names: stored
fix: [16, 2]|init|16
""",
        prelude="""\
import haiku as hk
import jax
import jax.numpy as jnp
""",
        needs=("haiku",),
    ),
)
