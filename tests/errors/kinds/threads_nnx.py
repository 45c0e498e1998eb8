"""Modules of nnx, as people ask about them in threads."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "threads_nnx",
    r"""
### nnx-heads-in-a-plain-dict raises=ValueError line=4
# https://github.com/jax-ml/bonsai/issues/47
x = jnp.ones((2, 6))
---
class TwoHeads(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(6, 8, rngs=rngs)
        self.heads = {"mean": nnx.Linear(8, 1, rngs=rngs), "scale": nnx.Linear(8, 1, rngs=rngs)}

    def __call__(self, x):
        h = nnx.relu(self.body(x))
        return {name: head(h) for name, head in self.heads.items()}

net = TwoHeads(nnx.Rngs(0))
out = net(x)
---
class TwoHeads(nnx.Module):
    def __init__(self, rngs):
        self.body = nnx.Linear(6, 8, rngs=rngs)
        self.heads = nnx.Dict(mean=nnx.Linear(8, 1, rngs=rngs), scale=nnx.Linear(8, 1, rngs=rngs))

    def __call__(self, x):
        h = nnx.relu(self.body(x))
        return {name: head(h) for name, head in self.heads.items()}

net = TwoHeads(nnx.Rngs(0))
out = net(x)
---
cause: heads; dict; TwoHeads
names: heads; TwoHeads
fix: nnx.Dict(|nnx.data(

### nnx-vmap-of-jax-over-a-jitted-method raises=TraceContextError line=12
# https://github.com/maxencefaldor/cax/issues/17
states = jnp.ones((5, 4))
---
class Automaton(nnx.Module):
    def __init__(self, rngs):
        self.rule = nnx.Linear(4, 4, rngs=rngs)
        self.seen = nnx.Variable(jnp.array(0))

    @nnx.jit
    def render(self, state):
        self.seen[...] += 1
        return nnx.sigmoid(self.rule(state))

automaton = Automaton(nnx.Rngs(0))
frames = jax.vmap(automaton.render)(states)
---
class Automaton(nnx.Module):
    def __init__(self, rngs):
        self.rule = nnx.Linear(4, 4, rngs=rngs)
        self.seen = nnx.Variable(jnp.array(0))

    @nnx.jit
    def render(self, state):
        self.seen[...] += 1
        return nnx.sigmoid(self.rule(state))

automaton = Automaton(nnx.Rngs(0))
frames = automaton.render(states)
---
cause: vmap; trace; automaton|Variable|seen
names: automaton
fix: nnx.vmap

### nnx-dropout-inside-lax-scan raises=TraceContextError line=13
# https://github.com/google/flax/issues/4151
xs = jnp.ones((7, 2, 4))
---
class Net(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(4, 4, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.inner(x))

net = Net(nnx.Rngs(0))

def body(total, x):
    # one window after the other
    out = net(x)
    return total + out.sum(), out

total, outs = jax.lax.scan(body, 0.0, xs)
---
class Net(nnx.Module):
    def __init__(self, rngs):
        self.inner = nnx.Linear(4, 4, rngs=rngs)
        self.dropout = nnx.Dropout(0.5, rngs=rngs)

    def __call__(self, x):
        return self.dropout(self.inner(x))

net = Net(nnx.Rngs(0))
net.eval()

def body(total, x):
    # one window after the other
    out = net(x)
    return total + out.sum(), out

total, outs = jax.lax.scan(body, 0.0, xs)
---
cause: scan; trace; net|dropout
names: net; body
fix: nnx.scan

### nnx-update-with-swapped-arguments line=7
# https://github.com/google-deepmind/optax/issues/1386
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
x, y = jnp.ones((4, 3)), jnp.zeros((4, 1))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
---
@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(grads, model)
    return loss

loss = train_step(model, optimizer, x, y)
---
@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss

loss = train_step(model, optimizer, x, y)
---
cause: model; grads; order|swapped|first|places
names: grads; model
fix: optimizer.update(model, grads)

### nnx-batch-norm-without-features raises=TypeError line=4
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/normalization.html
x = jnp.ones((4, 6))
---
class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(6, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.norm(self.dense(x)))

block = Block(nnx.Rngs(0))
out = block(x)
---
class Block(nnx.Module):
    def __init__(self, rngs):
        self.dense = nnx.Linear(6, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)

    def __call__(self, x):
        return nnx.relu(self.norm(self.dense(x)))

block = Block(nnx.Rngs(0))
out = block(x)
---
cause: BatchNorm; num_features; missing|needs|required
names: norm|Block
fix: num_features|BatchNorm(8

### nnx-decode-without-a-cache raises=ValueError line=10
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/attention.html
token = jnp.ones((2, 1, 8))
---
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.attend = nnx.MultiHeadAttention(num_heads=2, in_features=8, qkv_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 11, rngs=rngs)

    def __call__(self, token):
        return self.out(self.attend(token))

decoder = Decoder(nnx.Rngs(0))
logits = decoder(token)
---
class Decoder(nnx.Module):
    def __init__(self, rngs):
        self.attend = nnx.MultiHeadAttention(num_heads=2, in_features=8, qkv_features=8, decode=True, rngs=rngs)
        self.out = nnx.Linear(8, 11, rngs=rngs)

    def __call__(self, token):
        return self.out(self.attend(token))

decoder = Decoder(nnx.Rngs(0))
decoder.attend.init_cache((2, 16, 8))
logits = decoder(token)
---
cause: cache; init_cache; attend
names: attend|decoder
fix: init_cache(

### nnx-merge-with-swapped-arguments raises=TypeError line=7
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/graph.html
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
x = jnp.ones((4, 3))
---
graphdef, state = nnx.split(model)

@jax.jit
def forward(state, x):
    '''The model is put together again inside.'''
    # as the guide does it
    model = nnx.merge(state, graphdef)
    return model(x)

y = forward(state, x)
---
graphdef, state = nnx.split(model)

@jax.jit
def forward(state, x):
    '''The model is put together again inside.'''
    # as the guide does it
    model = nnx.merge(graphdef, state)
    return model(x)

y = forward(state, x)
---
cause: merge; graphdef; order|swapped|first
names: graphdef; state
fix: nnx.merge(graphdef, state)

### nnx-gru-takes-the-carry-first raises=TypeError line=11
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/recurrent.html
xs = jnp.ones((5, 2, 3))
---
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 4, rngs=rngs)

    def __call__(self, xs):
        carry = jnp.zeros((xs.shape[1], 4))
        outs = []
        # time goes first
        for x in xs:
            # one step
            carry, out = self.cell(x, carry)
            outs.append(out)
        return jnp.stack(outs)

encoder = Encoder(nnx.Rngs(0))
codes = encoder(xs)
---
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.cell = nnx.GRUCell(3, 4, rngs=rngs)

    def __call__(self, xs):
        carry = jnp.zeros((xs.shape[1], 4))
        outs = []
        # time goes first
        for x in xs:
            # one step
            carry, out = self.cell(carry, x)
            outs.append(out)
        return jnp.stack(outs)

encoder = Encoder(nnx.Rngs(0))
codes = encoder(xs)
---
cause: 3; 4; carry; GRUCell|cell
names: carry; x
fix: self.cell(carry, x)

### nnx-embedding-of-floats raises=ValueError line=8
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/linear.html
table = np.array([[1.0, 4.0], [2.0, 0.0]])
---
class Ranker(nnx.Module):
    def __init__(self, rngs):
        self.items = nnx.Embed(8, 5, rngs=rngs)
        self.score = nnx.Linear(5, 1, rngs=rngs)

    def __call__(self, ids):
        # one vector for each item
        vectors = self.items(ids)
        return self.score(vectors.mean(axis=1))

ranker = Ranker(nnx.Rngs(0))
ids = jnp.asarray(table)
scores = ranker(ids)
---
class Ranker(nnx.Module):
    def __init__(self, rngs):
        self.items = nnx.Embed(8, 5, rngs=rngs)
        self.score = nnx.Linear(5, 1, rngs=rngs)

    def __call__(self, ids):
        # one vector for each item
        vectors = self.items(ids.astype(jnp.int32))
        return self.score(vectors.mean(axis=1))

ranker = Ranker(nnx.Rngs(0))
ids = jnp.asarray(table)
scores = ranker(ids)
---
cause: float32; int; Embed
names: ids
fix: astype(

### nnx-mode-by-its-name-to-jit raises=TypeError line=9
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/transforms.html
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
x = jnp.ones((4, 3))
---
@nnx.jit
def predict(model, x, reduction):
    y = model(x)
    if reduction == "mean":
        return y.mean()
    return y.sum()

# one number for the whole batch
score = predict(model, x, "mean")
---
@nnx.jit(static_argnames="reduction")
def predict(model, x, reduction):
    y = model(x)
    if reduction == "mean":
        return y.mean()
    return y.sum()

# one number for the whole batch
score = predict(model, x, "mean")
---
cause: reduction; str; mean
names: reduction; predict
fix: static_argn

### nnx-counter-replaced-in-a-jit raises=TracerBoolConversionError line=10
# https://flax.readthedocs.io/en/latest/nnx_basics.html
x = jnp.ones((2, 3))
---
class Warm(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(3, 3, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))

    def __call__(self, x):
        self.calls[...] += 1
        y = self.layer(x)
        # the first calls are scaled down
        if self.calls[...] < 10:
            y = 0.1 * y
        return y

warm = Warm(nnx.Rngs(0))
y = nnx.jit(lambda model, x: model(x))(warm, x)
---
class Warm(nnx.Module):
    def __init__(self, rngs):
        self.layer = nnx.Linear(3, 3, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))

    def __call__(self, x):
        self.calls[...] += 1
        y = self.layer(x)
        # the first calls are scaled down
        return jnp.where(self.calls[...] < 10, 0.1 * y, y)

warm = Warm(nnx.Rngs(0))
y = nnx.jit(lambda model, x: model(x))(warm, x)
---
cause: calls; if; traced|tracer|value
names: calls
fix: jnp.where|lax.cond

### nnx-ensemble-with-the-batch-mapped raises=ValueError line=10
# https://github.com/google/flax/issues/4355
x = jnp.ones((16, 3))
---
@nnx.split_rngs(splits=5)
@nnx.vmap
def make(rngs):
    return nnx.Linear(3, 2, rngs=rngs)

ensemble = make(nnx.Rngs(0))
# every member sees the whole batch
forward = nnx.vmap(lambda model, x: model(x))
# five by sixteen by two
out = forward(ensemble, x)
---
@nnx.split_rngs(splits=5)
@nnx.vmap
def make(rngs):
    return nnx.Linear(3, 2, rngs=rngs)

ensemble = make(nnx.Rngs(0))
# every member sees the whole batch
forward = nnx.vmap(lambda model, x: model(x), in_axes=(0, None))
# five by sixteen by two
out = forward(ensemble, x)
---
cause: 5; 16; vmap|mapped
names: ensemble; x
fix: in_axes=(0, None)

### nnx-linear-takes-flat-images raises=TypeError line=8
# https://flax.readthedocs.io/en/latest/mnist_tutorial.html
images = jnp.ones((2, 8, 8, 1))
---
class CNN(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 4, kernel_size=(3, 3), rngs=rngs)
        self.out = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x):
        h = nnx.max_pool(nnx.relu(self.conv(x)), (2, 2), (2, 2))
        return self.out(h)

cnn = CNN(nnx.Rngs(0))
logits = cnn(images)
---
class CNN(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(1, 4, kernel_size=(3, 3), rngs=rngs)
        self.out = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x):
        h = nnx.max_pool(nnx.relu(self.conv(x)), (2, 2), (2, 2))
        return self.out(h.reshape(h.shape[0], -1))

cnn = CNN(nnx.Rngs(0))
logits = cnn(images)
---
cause: 64; 4; out|Linear
names: h; out
fix: reshape(

### nnx-loss-returns-its-logits raises=TypeError line=8
# https://flax.readthedocs.io/en/latest/mnist_tutorial.html
model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
x, y = jnp.ones((4, 3)), jnp.zeros((4, 2))
---
@nnx.jit
def train_step(model, x, y):
    def loss_fn(model):
        logits = model(x)
        loss = jnp.mean((logits - y) ** 2)
        return loss, logits

    grad_fn = nnx.value_and_grad(loss_fn)
    loss, grads = grad_fn(model)
    return loss, grads

loss, grads = train_step(model, x, y)
---
@nnx.jit
def train_step(model, x, y):
    def loss_fn(model):
        logits = model(x)
        loss = jnp.mean((logits - y) ** 2)
        return loss, logits

    grad_fn = nnx.value_and_grad(loss_fn, has_aux=True)
    (loss, logits), grads = grad_fn(model)
    return loss, grads

loss, grads = train_step(model, x, y)
---
cause: loss_fn; tuple|pair; scalar|has_aux
names: loss_fn
fix: has_aux=True

### nnx-pool-window-is-a-number raises=TypeError line=7
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/linear.html
images = jnp.ones((2, 8, 8, 3))
---
class Stem(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 4, kernel_size=(3, 3), rngs=rngs)

    def __call__(self, x):
        h = nnx.relu(self.conv(x))
        return nnx.avg_pool(h, 2, strides=(2, 2))

stem = Stem(nnx.Rngs(0))
out = stem(images)
---
class Stem(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 4, kernel_size=(3, 3), rngs=rngs)

    def __call__(self, x):
        h = nnx.relu(self.conv(x))
        return nnx.avg_pool(h, (2, 2), strides=(2, 2))

stem = Stem(nnx.Rngs(0))
out = stem(images)
---
cause: avg_pool|window; tuple|one number for each|sequence|iterable; 2
names: h
fix: (2, 2)

### nnx-conv-of-channels-first raises=ValueError line=7
# https://flax.readthedocs.io/en/latest/api_reference/flax.nnx/nn/linear.html
images = jnp.ones((2, 3, 8, 8))
---
class Net(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 4, kernel_size=(3, 3), rngs=rngs)

    def __call__(self, images):
        # from a data loader of torch
        h = self.conv(images)
        return nnx.relu(h).mean(axis=(1, 2))

net = Net(nnx.Rngs(0))
out = net(images)
---
class Net(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 4, kernel_size=(3, 3), rngs=rngs)

    def __call__(self, images):
        # from a data loader of torch
        h = self.conv(images.transpose(0, 2, 3, 1))
        return nnx.relu(h).mean(axis=(1, 2))

net = Net(nnx.Rngs(0))
out = net(images)
---
cause: 3; 8; channel|feature
names: images; conv
fix: transpose(0, 2, 3, 1)|moveaxis
""",
    prelude="""\
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
""",
    needs=("flax", "optax"),
)
