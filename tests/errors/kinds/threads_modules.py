"""Linen, equinox, optax, numpyro, diffrax and orbax, as people ask about them in threads."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = (
    *written(
        "threads_modules",
        r"""
### linen-key-without-its-name raises=InvalidRngError line=9
# https://flax.readthedocs.io/en/latest/guides/flax_fundamentals/rng_guide.html
x = jnp.ones((4, 3))
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(8)(x))
        return nn.Dense(1)(nn.Dropout(0.1, deterministic=False)(h))

net = Net()
variables = net.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x)
out = net.apply(variables, x, rngs={"noise": jax.random.key(2)})
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(8)(x))
        return nn.Dense(1)(nn.Dropout(0.1, deterministic=False)(h))

net = Net()
variables = net.init({"params": jax.random.key(0), "dropout": jax.random.key(1)}, x)
out = net.apply(variables, x, rngs={"dropout": jax.random.key(2)})
---
cause: dropout; rngs; key|PRNG
names: net
fix: "dropout"

### linen-widths-in-a-mutable-default raises=ValueError line=1
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/module.html
x = jnp.ones((4, 3))
---
class MLP(nn.Module):
    widths: list = [16, 16]
    out: int = 1

    @nn.compact
    def __call__(self, x):
        for width in self.widths:
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(self.out)(x)

mlp = MLP()
params = mlp.init(jax.random.key(0), x)
---
class MLP(nn.Module):
    widths: tuple = (16, 16)
    out: int = 1

    @nn.compact
    def __call__(self, x):
        for width in self.widths:
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(self.out)(x)

mlp = MLP()
params = mlp.init(jax.random.key(0), x)
---
cause: mutable; list; widths
names: widths; MLP
fix: (16, 16)|tuple|default_factory

### linen-required-field-after-a-default raises=TypeError line=1
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/module.html
x = jnp.ones((4, 3))
---
class Head(nn.Module):
    dropout: float = 0.1
    classes: int

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.classes)(x)

head = Head(classes=3)
params = head.init(jax.random.key(0), x)
---
class Head(nn.Module):
    classes: int
    dropout: float = 0.1

    @nn.compact
    def __call__(self, x):
        return nn.Dense(self.classes)(x)

head = Head(classes=3)
params = head.init(jax.random.key(0), x)
---
cause: classes; default; after|follows|before|order
names: classes; Head
fix: before|classes: int|first

### linen-dropout-mode-not-said raises=ValueError line=5
# https://flax.readthedocs.io/en/latest/guides/training_techniques/dropout.html
x = jnp.ones((4, 3))
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(8)(x))
        h = nn.Dropout(rate=0.5)(h)
        return nn.Dense(1)(h)

net = Net()
params = net.init(jax.random.key(0), x)
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.relu(nn.Dense(8)(x))
        h = nn.Dropout(rate=0.5, deterministic=True)(h)
        return nn.Dense(1)(h)

net = Net()
params = net.init(jax.random.key(0), x)
---
cause: deterministic; Dropout; neither|not given|unsaid|missing|must be
names: Net|h
fix: deterministic=

### linen-attention-mask-without-heads raises=ValueError line=7
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/layers.html
tokens = jnp.ones((3, 5, 8))
lengths = jnp.array([5, 3, 2])
---
class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x, lengths):
        # positions that are not padding
        mask = jnp.arange(x.shape[1]) < lengths[:, None]
        attend = nn.MultiHeadDotProductAttention(num_heads=2)
        return attend(x, x, mask=mask)

encoder = Encoder()
params = encoder.init(jax.random.key(0), tokens, lengths)
---
class Encoder(nn.Module):
    @nn.compact
    def __call__(self, x, lengths):
        # positions that are not padding
        mask = jnp.arange(x.shape[1]) < lengths[:, None]
        attend = nn.MultiHeadDotProductAttention(num_heads=2)
        return attend(x, x, mask=mask[:, None, None, :])

encoder = Encoder()
params = encoder.init(jax.random.key(0), tokens, lengths)
---
cause: mask; 3, 5|3,5; 3, 2, 5, 5|3,2,5,5
names: mask; attend
fix: mask[:, None, None, :]|[:, None, None]

### linen-method-by-apply-without-its-name raises=TypeError line=14
# https://flax.readthedocs.io/en/latest/guides/flax_fundamentals/setup_or_nncompact.html
x = jnp.ones((4, 6))
---
class AutoEncoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(6)

    def __call__(self, x):
        return self.decoder(self.encoder(x))

    def encode(self, x):
        return self.encoder(x)

model = AutoEncoder()
variables = model.init(jax.random.key(0), x)
codes = model.encode(variables, x)
---
class AutoEncoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(6)

    def __call__(self, x):
        return self.decoder(self.encoder(x))

    def encode(self, x):
        return self.encoder(x)

model = AutoEncoder()
variables = model.init(jax.random.key(0), x)
codes = model.apply(variables, x, method=model.encode)
---
cause: encode; apply; bound|variables
names: model; encode
fix: method=

### linen-restored-into-a-deeper-net raises=ValueError line=12
# https://github.com/google/flax/issues/3977
shallow = nn.Sequential([nn.Dense(8), nn.Dense(1)]).init(jax.random.key(0), jnp.ones((1, 3)))
saved = flax.serialization.to_state_dict(shallow)
---
class Net(nn.Module):
    depth: int

    @nn.compact
    def __call__(self, x):
        for _ in range(self.depth):
            x = nn.Dense(8)(x)
        return nn.Dense(1)(x)

net = Net(2)
target = net.init(jax.random.key(0), jnp.ones((1, 3)))
variables = flax.serialization.from_state_dict(target, saved)
---
class Net(nn.Module):
    depth: int

    @nn.compact
    def __call__(self, x):
        for _ in range(self.depth):
            x = nn.Dense(8)(x)
        return nn.Dense(1)(x)

net = Net(2)
target = net.init(jax.random.key(0), jnp.ones((1, 3)))
saved = flax.serialization.to_state_dict(target)
variables = flax.serialization.from_state_dict(target, saved)
---
cause: Dense_0|Dense_2; layers_0|layers_1; target|saved
names: target; saved
fix: same|names|keys

### linen-conv-without-its-kernel raises=TypeError line=5
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/layers.html
images = jnp.ones((2, 8, 8, 1))
---
class CNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        # eight filters
        x = nn.relu(nn.Conv(8)(x))
        x = x.mean(axis=(1, 2))
        return nn.Dense(10)(x)

cnn = CNN()
params = cnn.init(jax.random.key(0), images)
---
class CNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        # eight filters
        x = nn.relu(nn.Conv(8, (3, 3))(x))
        x = x.mean(axis=(1, 2))
        return nn.Dense(10)(x)

cnn = CNN()
params = cnn.init(jax.random.key(0), images)
---
cause: Conv; kernel_size; missing|needs|required
names: x|CNN
fix: kernel_size|nn.Conv(8, (

### linen-scanned-cell-shares-nothing raises=ScopeCollectionNotFound line=8
# https://flax.readthedocs.io/en/latest/api_reference/flax.linen/transformations.html
xs = jnp.ones((2, 7, 3))
---
class Memory(nn.Module):
    @nn.compact
    def __call__(self, xs):
        scan = nn.scan(nn.SimpleCell, in_axes=1, out_axes=1)
        cell = scan(features=4)
        carry = jnp.zeros((xs.shape[0], 4))
        # along the time
        carry, ys = cell(carry, xs)
        return ys

memory = Memory()
variables = memory.init(jax.random.key(0), xs)
ys = memory.apply(variables, xs)
---
class Memory(nn.Module):
    @nn.compact
    def __call__(self, xs):
        scan = nn.scan(
            nn.SimpleCell, variable_broadcast="params", split_rngs={"params": False}, in_axes=1, out_axes=1
        )
        cell = scan(features=4)
        carry = jnp.zeros((xs.shape[0], 4))
        # along the time
        carry, ys = cell(carry, xs)
        return ys

memory = Memory()
variables = memory.init(jax.random.key(0), xs)
ys = memory.apply(variables, xs)
---
cause: params; scan; variable_broadcast|variable_axes|not lifted|split_rngs
names: cell|scan
fix: variable_broadcast|split_rngs

### eqx-batch-of-images-into-conv raises=ValueError line=11
# https://github.com/patrick-kidger/equinox/issues/149
images = jnp.ones((6, 3, 8, 8))
---
class Net(eqx.Module):
    conv: eqx.nn.Conv2d

    def __init__(self, key):
        self.conv = eqx.nn.Conv2d(3, 4, kernel_size=3, key=key)

    def __call__(self, x):
        return jax.nn.relu(self.conv(x)).mean(axis=(-1, -2))

net = Net(jax.random.key(0))
out = net(images)
---
class Net(eqx.Module):
    conv: eqx.nn.Conv2d

    def __init__(self, key):
        self.conv = eqx.nn.Conv2d(3, 4, kernel_size=3, key=key)

    def __call__(self, x):
        return jax.nn.relu(self.conv(x)).mean(axis=(-1, -2))

net = Net(jax.random.key(0))
out = jax.vmap(net)(images)
---
cause: 6; batch|one image|single|vmap; Conv2d|conv
names: images; net
fix: jax.vmap(net)(images)

### eqx-lstm-given-one-state raises=ValueError line=13
# https://docs.kidger.site/equinox/api/nn/rnn/
xs = jnp.ones((12, 2))
---
class Reader(eqx.Module):
    cell: eqx.nn.LSTMCell
    out: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.cell = eqx.nn.LSTMCell(2, 4, key=first)
        self.out = eqx.nn.Linear(4, 1, key=second)

    def __call__(self, xs):
        def step(state, x):
            # hidden state only
            return self.cell(x, state), None

        state, _ = jax.lax.scan(step, jnp.zeros(4), xs)
        return self.out(state[0])

reader = Reader(jax.random.key(0))
y = reader(xs)
---
class Reader(eqx.Module):
    cell: eqx.nn.LSTMCell
    out: eqx.nn.Linear

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.cell = eqx.nn.LSTMCell(2, 4, key=first)
        self.out = eqx.nn.Linear(4, 1, key=second)

    def __call__(self, xs):
        def step(state, x):
            # hidden state and cell state
            return self.cell(x, state), None

        state, _ = jax.lax.scan(step, (jnp.zeros(4), jnp.zeros(4)), xs)
        return self.out(state[0])

reader = Reader(jax.random.key(0))
y = reader(xs)
---
cause: state; two|pair|tuple|(h, c); LSTMCell|cell
names: state
fix: (jnp.zeros(4), jnp.zeros(4))|pair|two

### eqx-array-as-a-default raises=ValueError line=1
# https://docs.kidger.site/equinox/api/module/module/
x = jnp.ones(3)
---
class Affine(eqx.Module):
    scale: jax.Array = jnp.ones(3)
    shift: jax.Array = jnp.zeros(3)

    def __call__(self, x):
        return self.scale * x + self.shift

affine = Affine()
y = affine(x)
---
class Affine(eqx.Module):
    scale: jax.Array = eqx.field(default_factory=lambda: jnp.ones(3))
    shift: jax.Array = eqx.field(default_factory=lambda: jnp.zeros(3))

    def __call__(self, x):
        return self.scale * x + self.shift

affine = Affine()
y = affine(x)
---
cause: default; scale; mutable|array
names: scale; Affine
fix: default_factory

### eqx-loss-with-its-parts raises=TypeError line=8
# https://docs.kidger.site/equinox/api/transformations/
model = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
x, y = jnp.ones((5, 2)), jnp.zeros((5, 1))
---
def loss_fn(model, x, y):
    pred = jax.vmap(model)(x)
    data = jnp.mean((pred - y) ** 2)
    decay = sum(jnp.sum(w**2) for w in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
    return data + 1e-4 * decay, {"data": data, "decay": decay}

# the parts are for the log
loss, grads = eqx.filter_value_and_grad(loss_fn)(model, x, y)
---
def loss_fn(model, x, y):
    pred = jax.vmap(model)(x)
    data = jnp.mean((pred - y) ** 2)
    decay = sum(jnp.sum(w**2) for w in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
    return data + 1e-4 * decay, {"data": data, "decay": decay}

# the parts are for the log
(loss, parts), grads = eqx.filter_value_and_grad(loss_fn, has_aux=True)(model, x, y)
---
cause: loss_fn; tuple|pair; scalar|has_aux
names: loss_fn
fix: has_aux=True

### eqx-attention-of-another-width raises=TypeError line=12
# https://docs.kidger.site/equinox/api/nn/attention/
tokens = jnp.ones((5, 6))
---
class Block(eqx.Module):
    embed: eqx.nn.Linear
    attend: eqx.nn.MultiheadAttention

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.embed = eqx.nn.Linear(6, 12, key=first)
        self.attend = eqx.nn.MultiheadAttention(num_heads=2, query_size=8, key=second)

    def __call__(self, x):
        h = jax.vmap(self.embed)(x)
        return self.attend(h, h, h)

block = Block(jax.random.key(0))
out = block(tokens)
---
class Block(eqx.Module):
    embed: eqx.nn.Linear
    attend: eqx.nn.MultiheadAttention

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.embed = eqx.nn.Linear(6, 12, key=first)
        self.attend = eqx.nn.MultiheadAttention(num_heads=2, query_size=12, key=second)

    def __call__(self, x):
        h = jax.vmap(self.embed)(x)
        return self.attend(h, h, h)

block = Block(jax.random.key(0))
out = block(tokens)
---
cause: 12; 8; query_size|attend|width
names: h; attend
fix: query_size=12|12

### eqx-dropout-of-a-batch-with-one-vmap-axis raises=ValueError line=11
# https://docs.kidger.site/equinox/api/nn/dropout/
x = jnp.ones((6, 4))
---
class Net(eqx.Module):
    linear: eqx.nn.Linear
    dropout: eqx.nn.Dropout = eqx.nn.Dropout(0.5)

    def __call__(self, x, key):
        return self.dropout(self.linear(x), key=key)

net = Net(eqx.nn.Linear(4, 4, key=jax.random.key(0)))
key = jax.random.key(1)
# one example after the other
out = jax.vmap(net)(x, key)
---
class Net(eqx.Module):
    linear: eqx.nn.Linear
    dropout: eqx.nn.Dropout = eqx.nn.Dropout(0.5)

    def __call__(self, x, key):
        return self.dropout(self.linear(x), key=key)

net = Net(eqx.nn.Linear(4, 4, key=jax.random.key(0)))
key = jax.random.key(1)
# one example after the other
out = jax.vmap(net)(x, jax.random.split(key, len(x)))
---
cause: key; scalar|rank 0|one key|no axis|()|rank at least 1; vmap|mapped
names: key; net
fix: jax.random.split(key|in_axes=(0, None)

### eqx-saved-leaves-of-a-wider-model raises=RuntimeError line=5
# https://docs.kidger.site/equinox/examples/serialisation/
small = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
file = io.BytesIO()
eqx.tree_serialise_leaves(file, small)
---
file.seek(0)
# the model of today
wide = eqx.nn.MLP(2, 1, 8, 1, key=jax.random.key(0))
# weights of yesterday
model = eqx.tree_deserialise_leaves(file, wide)
y = model(jnp.ones(2))
---
file.seek(0)
# the model of today
wide = eqx.nn.MLP(2, 1, 4, 1, key=jax.random.key(0))
# weights of yesterday
model = eqx.tree_deserialise_leaves(file, wide)
y = model(jnp.ones(2))
---
cause: wide; 8, 2|8,2|(8; 4, 2|4,2|(4
names: wide; file
fix: 4|same

### eqx-positivity-checked-at-runtime raises=EquinoxRuntimeError line=3
# https://github.com/patrick-kidger/equinox/issues/1156
scales = jnp.array([0.5, -1.0, 2.0])
---
@eqx.filter_jit
def log_density(scales, x):
    scales = eqx.error_if(scales, scales <= 0, "scales must be positive")
    return -0.5 * jnp.sum((x / scales) ** 2) - jnp.sum(jnp.log(scales))

value = log_density(scales, jnp.ones(3))
---
@eqx.filter_jit
def log_density(scales, x):
    scales = eqx.error_if(scales, scales <= 0, "scales must be positive")
    return -0.5 * jnp.sum((x / scales) ** 2) - jnp.sum(jnp.log(scales))

value = log_density(jnp.abs(scales), jnp.ones(3))
---
cause: scales must be positive; error_if|check
names: scales; log_density
fix:

### optax-transforms-in-a-list raises=AttributeError line=2
# https://optax.readthedocs.io/en/latest/api/combining_optimizers.html
params = {"w": jnp.ones(3)}
grads = {"w": jnp.ones(3)}
---
rate = 1e-3
tx = optax.chain([optax.clip(1.0), optax.adam(rate)])
state = tx.init(params)
updates, state = tx.update(grads, state, params)
params = optax.apply_updates(params, updates)
---
rate = 1e-3
tx = optax.chain(optax.clip(1.0), optax.adam(rate))
state = tx.init(params)
updates, state = tx.update(grads, state, params)
params = optax.apply_updates(params, updates)
---
cause: chain; list; init|one by one|arguments
names: tx
fix: optax.chain(optax.clip(1.0), optax.adam(rate))|optax.chain(*

### optax-optimizer-injected-when-made raises=TypeError line=2
# https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html
params = {"w": jnp.ones(3)}
---
rate = 1e-3
tx = optax.inject_hyperparams(optax.adam(learning_rate=rate))
state = tx.init(params)
---
rate = 1e-3
tx = optax.inject_hyperparams(optax.adam)(learning_rate=rate)
state = tx.init(params)
---
cause: inject_hyperparams; function|callable|called; adam|GradientTransformation
names: tx
fix: optax.inject_hyperparams(optax.adam)(learning_rate=rate)

### optax-rate-of-a-plain-optimizer raises=AttributeError line=5
# https://optax.readthedocs.io/en/latest/getting_started.html
params = {"w": jnp.ones(3)}
tx = optax.adam(1e-3)
state = tx.init(params)
---
for epoch in range(2):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)
    state.hyperparams["learning_rate"] = 1e-3 * 0.9**epoch
---
tx = optax.inject_hyperparams(optax.adam)(learning_rate=1e-3)
state = tx.init(params)
for epoch in range(2):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    updates, state = tx.update(grads, state, params)
    params = optax.apply_updates(params, updates)
    state.hyperparams["learning_rate"] = jnp.asarray(1e-3 * 0.9**epoch)
---
cause: hyperparams; state; inject_hyperparams|tuple
names: state; tx
fix: inject_hyperparams(optax.adam)|inject_hyperparams

### optax-decay-schedule-without-its-rate raises=TypeError line=1
# https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html
params = {"w": jnp.ones(3)}
---
schedule = optax.exponential_decay(1e-3, 1000)
tx = optax.adam(schedule)
state = tx.init(params)
---
schedule = optax.exponential_decay(1e-3, 1000, 0.96)
tx = optax.adam(schedule)
state = tx.init(params)
---
cause: exponential_decay; decay_rate; missing|needs|required
names: schedule|exponential_decay
fix: decay_rate

### optax-boundaries-of-one-number raises=TypeError line=3
# https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html
params = {"w": jnp.ones(3)}
---
warm = optax.linear_schedule(0.0, 1e-3, 100)
cool = optax.cosine_decay_schedule(1e-3, 900)
schedule = optax.join_schedules([warm, cool], 100)
tx = optax.adam(schedule)
state = tx.init(params)
updates, state = tx.update(params, state, params)
---
warm = optax.linear_schedule(0.0, 1e-3, 100)
cool = optax.cosine_decay_schedule(1e-3, 900)
schedule = optax.join_schedules([warm, cool], [100])
tx = optax.adam(schedule)
state = tx.init(params)
updates, state = tx.update(params, state, params)
---
cause: boundaries; int; list|sequence|iterable
names: schedule
fix: [100]

### optax-mask-lacks-a-key raises=ValueError line=3
# https://github.com/google-deepmind/optax/issues/271
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
---
mask = {"w": True}
tx = optax.chain(optax.masked(optax.add_decayed_weights(1e-2), mask), optax.sgd(0.1))
state = tx.init(params)
updates, state = tx.update(params, state, params)
---
mask = {"w": True, "b": False}
tx = optax.chain(optax.masked(optax.add_decayed_weights(1e-2), mask), optax.sgd(0.1))
state = tx.init(params)
updates, state = tx.update(params, state, params)
---
cause: mask; b; key|lacks|missing
names: mask; params
fix: "b"|b

### optax-loss-of-every-example raises=TypeError line=6
# https://optax.readthedocs.io/en/latest/api/losses.html
w = jnp.ones((4, 3))
x, labels = jnp.ones((5, 4)), jnp.array([0, 1, 2, 0, 1])
---
def loss_fn(w):
    logits = x @ w
    # one number for each example
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels)

loss, grads = jax.value_and_grad(loss_fn)(w)
---
def loss_fn(w):
    logits = x @ w
    # one number for each example
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

loss, grads = jax.value_and_grad(loss_fn)(w)
---
cause: loss_fn; scalar; 5
names: loss_fn
fix: .mean()

### optax-gradients-and-state-swapped raises=ValueError line=5
# https://optax.readthedocs.io/en/latest/getting_started.html
params = {"w": jnp.ones(3)}
tx = optax.adam(1e-2)
opt_state = tx.init(params)
---
@jax.jit
def step(params, opt_state):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    # adam
    updates, opt_state = tx.update(opt_state, grads, params)
    return optax.apply_updates(params, updates), opt_state

params, opt_state = step(params, opt_state)
---
@jax.jit
def step(params, opt_state):
    grads = jax.grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    # adam
    updates, opt_state = tx.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state

params, opt_state = step(params, opt_state)
---
cause: grads; opt_state; order|swapped|first|places
names: grads; opt_state
fix: tx.update(grads, opt_state, params)

### numpyro-sample-shape-is-a-number raises=AssertionError line=3
# https://github.com/pyro-ppl/numpyro/issues/1155
sticks = jnp.array([0.2, 0.5, 0.9])
---
def model(n):
    probs = numpyro.deterministic("probs", sticks)
    seen = numpyro.sample("seen", dist.Bernoulli(probs), sample_shape=n)
    return seen.mean(axis=0)

with numpyro.handlers.seed(rng_seed=0):
    share = model(20)
---
def model(n):
    probs = numpyro.deterministic("probs", sticks)
    seen = numpyro.sample("seen", dist.Bernoulli(probs), sample_shape=(n,))
    return seen.mean(axis=0)

with numpyro.handlers.seed(rng_seed=0):
    share = model(20)
---
cause: sample_shape; tuple; int|20|number
names: n|seen
fix: (n,)

### numpyro-likelihood-outside-of-its-plate raises=ValueError line=7
# https://github.com/pyro-ppl/numpyro/issues/2010
y = jnp.linspace(-1.0, 1.0, 6)
groups = jnp.array([0, 0, 1, 1, 2, 2])
---
def model(y):
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    with numpyro.plate("groups", 3):
        means = numpyro.sample("means", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", len(y)):
        # each group has its mean
        numpyro.sample("y", dist.Normal(means, scale), obs=y)

log_joint = jax.jit(lambda means, scale: log_density(model, (y,), {}, {"means": means, "scale": scale})[0])
value = log_joint(jnp.zeros(3), jnp.array(1.0))
---
def model(y):
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    with numpyro.plate("groups", 3):
        means = numpyro.sample("means", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", len(y)):
        # each group has its mean
        numpyro.sample("y", dist.Normal(means[groups], scale), obs=y)

log_joint = jax.jit(lambda means, scale: log_density(model, (y,), {}, {"means": means, "scale": scale})[0])
value = log_joint(jnp.zeros(3), jnp.array(1.0))
---
cause: 6; 3; plate|data
names: means; y
fix: means[groups]|[groups]|index

### diffrax-start-is-a-vector raises=TypeError line=3
# https://github.com/patrick-kidger/diffrax/issues/316
decay = diffrax.ODETerm(lambda t, y, args: -y)
---
times = jnp.array([0.0, 3.0])
save = diffrax.SaveAt(ts=jnp.linspace(0.0, 3.0, 7))
solution = diffrax.diffeqsolve(decay, diffrax.Tsit5(), t0=times, t1=3.0, dt0=0.1, y0=jnp.array(1.0), saveat=save)
---
times = jnp.array([0.0, 3.0])
save = diffrax.SaveAt(ts=jnp.linspace(0.0, 3.0, 7))
solution = diffrax.diffeqsolve(decay, diffrax.Tsit5(), t0=times[0], t1=3.0, dt0=0.1, y0=jnp.array(1.0), saveat=save)
---
cause: t0; scalar|one number|shape; 2
names: times
fix: times[0]|[0]

### diffrax-field-with-a-missing-name raises=NameError line=3
# https://github.com/patrick-kidger/diffrax/issues/681
y0 = jnp.array([1.0, 0.0])
---
def field(t, y, args):
    position, speed = y
    return jnp.stack([speed, -stiffness * position])

term = diffrax.ODETerm(field)
solution = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, y0)
---
def field(t, y, args):
    position, speed = y
    return jnp.stack([speed, -args * position])

term = diffrax.ODETerm(field)
solution = diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, y0, args=2.0)
---
cause: stiffness; not defined|no name
names: stiffness; field
fix: stiffness

### orbax-restored-into-another-tree raises=ValueError line=5
# https://github.com/google/orbax/issues/1305
folder = pathlib.Path(tempfile.mkdtemp()) / "run"
saver = ocp.Checkpointer(ocp.StandardCheckpointHandler())
saver.save(folder, {"params": {"w": jnp.ones(3), "b": jnp.zeros(1)}, "step": 4})
---
w = jnp.zeros(3)
b = jnp.zeros(1)
# what was saved lies under other names
target = {"weights": {"w": w, "b": b}, "step": 0}
state = saver.restore(folder, target)
---
w = jnp.zeros(3)
b = jnp.zeros(1)
# what was saved lies under other names
target = {"params": {"w": w, "b": b}, "step": 0}
state = saver.restore(folder, target)
---
cause: weights; params; saved|checkpoint|disk
names: target; folder
fix: params

### orbax-folder-written-twice raises=ValueError line=3
# https://orbax.readthedocs.io/en/latest/guides/checkpoint/orbax_checkpoint_101.html
folder = pathlib.Path(tempfile.mkdtemp()) / "run"
saver = ocp.Checkpointer(ocp.StandardCheckpointHandler())
params = {"w": jnp.ones(3)}
---
for epoch in range(2):
    params = jax.tree.map(lambda w: 0.9 * w, params)
    saver.save(folder, params)
---
for epoch in range(2):
    params = jax.tree.map(lambda w: 0.9 * w, params)
    saver.save(folder, params, force=True)
---
cause: exists; folder; force
names: folder
fix: force=True
""",
        prelude="""\
import io
import pathlib
import tempfile
import diffrax
import equinox as eqx
import flax
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
import optax
import orbax.checkpoint as ocp
from numpyro.infer.util import log_density
""",
        needs=("flax", "equinox", "optax", "numpyro", "diffrax", "orbax"),
    ),
)
