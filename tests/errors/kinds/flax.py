"""Modules of flax, linen and nnx, that were set up or called in the wrong way."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "flax",
    r"""
### linen-appended-layers raises=AttributeError line=5
# https://github.com/google/flax/issues/524
---
class Stack(nn.Module):
    def setup(self):
        self.layers = []
        for width in (8, 8, 2):
            self.layers.append(nn.Dense(width))

    def __call__(self, x):
        for layer in self.layers:
            x = nn.relu(layer(x))
        return x

params = Stack().init(jax.random.key(0), jnp.ones((1, 4)))
---
class Stack(nn.Module):
    def setup(self):
        self.layers = [nn.Dense(width) for width in (8, 8, 2)]

    def __call__(self, x):
        for layer in self.layers:
            x = nn.relu(layer(x))
        return x

params = Stack().init(jax.random.key(0), jnp.ones((1, 4)))
---
cause: tuple; append; setup; layers
names: layers
fix: [nn.Dense|list comprehension|local list|build the list|in one assignment|assign the list

### linen-decoder-outside-apply raises=AttributeError line=3
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
class AutoEncoder(nn.Module):
    def setup(self):
        self.encoder = nn.Dense(2)
        self.decoder = nn.Dense(8)

    def __call__(self, x):
        return self.decoder(self.encoder(x))

    def decode(self, z):
        return self.decoder(z)

model = AutoEncoder()
variables = model.init(jax.random.key(0), jnp.ones((1, 8)))
---
z = jax.random.normal(jax.random.key(1), (5, 2))
scaled = 2.0 * z
samples = model.decoder(scaled)
---
z = jax.random.normal(jax.random.key(1), (5, 2))
scaled = 2.0 * z
samples = model.apply(variables, scaled, method="decode")
---
cause: decoder; setup; apply|init; model
names: model
fix: method=|apply|bind

### linen-compact-forgotten raises=AssignSubModuleError line=3
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
---
class MLP(nn.Module):
    def __call__(self, x):
        x = nn.relu(nn.Dense(16)(x))
        return nn.Dense(1)(x)

model = MLP()
variables = model.init(jax.random.key(0), jnp.ones((1, 3)))
---
class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(nn.Dense(16)(x))
        return nn.Dense(1)(x)

model = MLP()
variables = model.init(jax.random.key(0), jnp.ones((1, 3)))
---
cause: Dense; __call__; compact
names: MLP
fix: @nn.compact|nn.compact|setup

### linen-batch-norm-immutable raises=ModifyScopeVariableError line=2
# https://github.com/google/evojax/issues/60
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(8)(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        return nn.Dense(1)(x)

net = Net()
x = jnp.ones((16, 4))
variables = net.init(jax.random.key(0), x, train=False)
---
def loss_fn(params, stats):
    pred = net.apply({"params": params, "batch_stats": stats}, x, train=True)
    return jnp.mean(pred ** 2)

loss, grads = jax.value_and_grad(loss_fn)(variables["params"], variables["batch_stats"])
---
def loss_fn(params, stats):
    pred, updated = net.apply({"params": params, "batch_stats": stats}, x, train=True, mutable=["batch_stats"])
    return jnp.mean(pred ** 2), updated

(loss, updated), grads = jax.value_and_grad(loss_fn, has_aux=True)(variables["params"], variables["batch_stats"])
---
cause: batch_stats; mean; immutable|mutable|read-only|cannot be changed
names: net
fix: mutable=["batch_stats"]|mutable=['batch_stats']|mutable

### linen-dropout-without-key raises=InvalidRngError line=1
# https://github.com/google/flax/issues/1004
class Tagger(nn.Module):
    @nn.compact
    def __call__(self, x, train):
        x = nn.Dense(8)(x)
        x = nn.Dropout(0.5, deterministic=not train)(x)
        return nn.Dense(2)(x)

tagger = Tagger()
variables = tagger.init(jax.random.key(0), jnp.ones((1, 4)), train=False)
---
logits = tagger.apply(variables, jnp.ones((3, 4)), train=True)
best = logits.argmax(-1)
---
logits = tagger.apply(variables, jnp.ones((3, 4)), train=True, rngs={"dropout": jax.random.key(1)})
best = logits.argmax(-1)
---
cause: dropout; key|rng; apply
names: tagger
fix: rngs={"dropout"|rngs={'dropout'|rngs

### linen-init-key-is-data raises=InvalidRngError line=3
# https://github.com/google/flax/issues/3257
x = jnp.ones((2, 5))
---
dense = nn.Dense(features=3)
key = jax.random.key(0)
variables = dense.init(x, key)
---
dense = nn.Dense(features=3)
key = jax.random.key(0)
variables = dense.init(key, x)
---
cause: init; first argument|first; key
names: x; key
fix: init(key, x)|key first|swap

### linen-params-without-collection raises=ApplyScopeInvalidVariablesTypeError line=4
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
model = nn.Dense(2)
params = model.init(jax.random.key(0), jnp.ones((1, 4)))["params"]
---
@jax.jit
def mse(params, x, y):
    pred = x * 1.0
    pred = model.apply(params, pred)
    return jnp.mean((pred - y) ** 2)

grads = jax.grad(mse)(params, jnp.ones((8, 4)), jnp.zeros((8, 2)))
---
@jax.jit
def mse(params, x, y):
    pred = x * 1.0
    pred = model.apply({"params": params}, pred)
    return jnp.mean((pred - y) ** 2)

grads = jax.grad(mse)(params, jnp.ones((8, 4)), jnp.zeros((8, 2)))
---
cause: "params"|'params'|`params`|params collection|collection; kernel; apply
names: model; params
fix: {"params": params}|{'params': params}

### linen-params-nested-twice raises=ApplyScopeInvalidVariablesStructureError line=2
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
model = nn.Dense(2)
---
variables = model.init(jax.random.key(0), jnp.ones((1, 4)))
pred = model.apply({"params": variables}, jnp.ones((3, 4)))
---
variables = model.init(jax.random.key(0), jnp.ones((1, 4)))
pred = model.apply(variables, jnp.ones((3, 4)))
---
cause: params; twice|nested|inside|again|extra; variables
names: variables
fix: apply(variables|variables["params"]|variables['params']|without

### linen-called-unbound raises=CallCompactUnboundModuleError line=7
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
---
class Head(nn.Module):
    @nn.compact
    def __call__(self, h):
        return nn.Dense(10)(h)

head = Head()
logits = head(jnp.ones((2, 16)))
---
class Head(nn.Module):
    @nn.compact
    def __call__(self, h):
        return nn.Dense(10)(h)

head = Head()
logits, variables = head.init_with_output(jax.random.key(0), jnp.ones((2, 16)))
---
cause: head|Head; no parameters|without parameters|unbound|parameters; init|apply
names: head
fix: apply|init

### linen-another-input-width raises=ScopeParamShapeError line=4
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
class Regressor(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(1, name="out")(nn.relu(nn.Dense(32, name="hidden")(x)))

model = Regressor()
variables = model.init(jax.random.key(0), jnp.ones((1, 12)))
---
table = jnp.ones((100, 13))
target = table[:, -1]
predict = jax.jit(model.apply)
error = predict(variables, table)[:, 0] - target
---
table = jnp.ones((100, 13))
target = table[:, -1]
predict = jax.jit(model.apply)
error = predict(variables, table[:, :-1])[:, 0] - target
---
cause: 12; 13; hidden; kernel
names: table
fix: table[:, :-1]|init|12

### linen-name-used-twice raises=NameInUseError line=5
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
---
class Siamese(nn.Module):
    @nn.compact
    def __call__(self, left, right):
        a = nn.Dense(4, name="embed")(left)
        b = nn.Dense(4, name="embed")(right)
        return jnp.sum(a * b, axis=-1)

x = jnp.ones((2, 6))
variables = Siamese().init(jax.random.key(0), x, x)
---
class Siamese(nn.Module):
    @nn.compact
    def __call__(self, left, right):
        embed = nn.Dense(4, name="embed")
        a, b = embed(left), embed(right)
        return jnp.sum(a * b, axis=-1)

x = jnp.ones((2, 6))
variables = Siamese().init(jax.random.key(0), x, x)
---
cause: embed; twice|two|already|in use|same name; Siamese
names: embed
fix: once|share|another name|different name|embed =

### linen-attribute-set-in-call raises=SetAttributeFrozenModuleError line=6
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
---
class Attention(nn.Module):
    @nn.compact
    def __call__(self, x):
        scores = nn.Dense(4)(x) @ nn.Dense(4)(x).T
        weights = nn.softmax(scores)
        self.weights = weights
        return weights @ x

variables = Attention().init(jax.random.key(0), jnp.ones((3, 4)))
---
class Attention(nn.Module):
    @nn.compact
    def __call__(self, x):
        scores = nn.Dense(4)(x) @ nn.Dense(4)(x).T
        weights = nn.softmax(scores)
        self.sow("intermediates", "weights", weights)
        return weights @ x

variables = Attention().init(jax.random.key(0), jnp.ones((3, 4)))
---
cause: weights; frozen|cannot be set|may not be set|cannot set|immutable|setup; __call__|Attention
names: weights
fix: sow|return|self.variable

### linen-scan-of-jax-in-a-module raises=UnexpectedTracerError line=7
# https://flax.readthedocs.io/en/latest/api_reference/flax.errors.html
---
class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, xs):
        def step(h, x):
            h = jnp.tanh(nn.Dense(4)(jnp.concatenate([h, x])))
            return h, h
        last, hs = jax.lax.scan(step, jnp.zeros(4), xs)
        return hs

xs = jnp.ones((7, 2))
variables = Recurrent().init(jax.random.key(0), xs)
hs = Recurrent().apply(variables, xs)
---
class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, xs):
        dense, h, hs = nn.Dense(4), jnp.zeros(4), []
        for x in xs:
            h = jnp.tanh(dense(jnp.concatenate([h, x])))
            hs.append(h)
        return jnp.stack(hs)

xs = jnp.ones((7, 2))
variables = Recurrent().init(jax.random.key(0), xs)
hs = Recurrent().apply(variables, xs)
---
cause: scan; Dense; step|module
names: step
fix: nn.scan|nn.RNN

### linen-output-and-updates raises=AttributeError line=3
# https://github.com/google/flax/issues/1489
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=False)(nn.Dense(3)(x))

net = Net()
images = jnp.ones((4, 6))
variables = net.init(jax.random.key(0), images)
---
def accuracy(variables, images, labels):
    logits = net.apply(variables, images, mutable=["batch_stats"])
    return jnp.mean(logits.argmax(-1) == labels)

acc = accuracy(variables, images, jnp.zeros(4, int))
---
def accuracy(variables, images, labels):
    logits, updates = net.apply(variables, images, mutable=["batch_stats"])
    return jnp.mean(logits.argmax(-1) == labels)

acc = accuracy(variables, images, jnp.zeros(4, int))
---
cause: tuple; mutable; logits
names: logits
fix: logits, |[0]|unpack

### linen-running-average-unsaid raises=ValueError line=5
# https://github.com/google/flax/issues/1382
---
class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm()(x)
        return nn.relu(x)

variables = Block().init(jax.random.key(0), jnp.ones((1, 8, 8, 3)))
---
class Block(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=False)(x)
        return nn.relu(x)

variables = Block().init(jax.random.key(0), jnp.ones((1, 8, 8, 3)))
---
cause: use_running_average; BatchNorm
names:
fix: use_running_average=

### linen-batch-axis-unbound raises=NameError line=3
# https://github.com/google/flax/issues/2606
class Norm(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.BatchNorm(use_running_average=False, axis_name="batch")(x)

norm = Norm()
---
variables = norm.init(jax.random.key(0), jnp.ones((3,)))
forward = functools.partial(norm.apply, mutable=["batch_stats"])
y, stats = jax.vmap(forward, (None, 0))(variables, jnp.ones((8, 3)))
---
variables = norm.init(jax.random.key(0), jnp.ones((3,)))
forward = functools.partial(norm.apply, mutable=["batch_stats"])
y, stats = jax.vmap(forward, (None, 0), axis_name="batch")(variables, jnp.ones((8, 3)))
---
cause: batch; axis; vmap; name
names: forward
fix: axis_name="batch"|axis_name='batch'|axis_name

### nnx-plain-list-of-layers raises=ValueError line=3
# https://github.com/google/flax/issues/4845
---
class Tower(nnx.Module):
    def __init__(self, width, depth, *, rngs):
        self.blocks = [nnx.Linear(width, width, rngs=rngs) for _ in range(depth)]

    def __call__(self, x):
        for block in self.blocks:
            x = nnx.relu(block(x))
        return x

y = Tower(4, 2, rngs=nnx.Rngs(0))(jnp.ones((1, 4)))
---
class Tower(nnx.Module):
    def __init__(self, width, depth, *, rngs):
        self.blocks = nnx.List([nnx.Linear(width, width, rngs=rngs) for _ in range(depth)])

    def __call__(self, x):
        for block in self.blocks:
            x = nnx.relu(block(x))
        return x

y = Tower(4, 2, rngs=nnx.Rngs(0))(jnp.ones((1, 4)))
---
cause: list; blocks; Linear|module|array|data
names: blocks
fix: nnx.List

### nnx-optimizer-wrt raises=TypeError line=2
# https://github.com/google/flax/issues/5060
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
---
schedule = optax.constant_schedule(1e-3)
optimizer = nnx.Optimizer(model, optax.adam(schedule))
---
schedule = optax.constant_schedule(1e-3)
optimizer = nnx.Optimizer(model, optax.adam(schedule), wrt=nnx.Param)
---
cause: wrt; Optimizer
names:
fix: wrt=nnx.Param

### nnx-optimizer-update-grads-only raises=TypeError line=7
# https://github.com/google/flax/pull/4842
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
---
@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(grads)
    return loss

loss = train_step(model, optimizer, jnp.ones((4, 3)), jnp.zeros((4, 1)))
---
@nnx.jit
def train_step(model, optimizer, x, y):
    def loss_fn(model):
        return jnp.mean((model(x) - y) ** 2)

    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss

loss = train_step(model, optimizer, jnp.ones((4, 3)), jnp.zeros((4, 1)))
---
cause: update; model; grads
names: optimizer; grads
fix: update(model, grads)

### nnx-counter-outside-the-trace raises=TraceContextError line=5
# https://flax.readthedocs.io/en/latest/guides/transforms.html
calls = nnx.Variable(jnp.array(0))
model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
---
@jax.jit
def forward(x):
    h = x * 2.0

    calls.value += 1
    return h.sum()

total = forward(jnp.ones((3, 2)))
---
@nnx.jit
def forward(x, calls):
    h = x * 2.0

    calls.value += 1
    return h.sum()

total = forward(jnp.ones((3, 2)), calls)
---
cause: calls; trace; jit|forward
names: calls; forward
fix: argument|nnx.jit|pass

### nnx-merge-lacks-state raises=ValueError line=5
# https://flax.readthedocs.io/en/latest/nnx_basics.html
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, use_running_average=True, rngs=rngs)

    def __call__(self, x):
        return self.norm(self.linear(x))

model = Encoder(nnx.Rngs(0))
---
graphdef, params, rest = nnx.split(model, nnx.Param, ...)

@jax.jit
def loss(params, x):
    encoder = nnx.merge(graphdef, params)
    return jnp.mean(encoder(x) ** 2)

grads = jax.grad(loss)(params, jnp.ones((8, 4)))
---
graphdef, params, rest = nnx.split(model, nnx.Param, ...)

@jax.jit
def loss(params, x):
    encoder = nnx.merge(graphdef, params, rest)
    return jnp.mean(encoder(x) ** 2)

grads = jax.grad(loss)(params, jnp.ones((8, 4)))
---
cause: merge; params; mean|var|BatchStat|norm|state; missing|lacks|not given|without
names: graphdef
fix: rest

### nnx-split-leaves-some raises=ValueError line=1
# https://github.com/pyro-ppl/numpyro/pull/1990
class Encoder(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(4, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)

model = Encoder(nnx.Rngs(0))
---
graphdef, params = nnx.split(model, nnx.Param)
sizes = jax.tree.map(jnp.shape, params)
---
graphdef, params, rest = nnx.split(model, nnx.Param, ...)
sizes = jax.tree.map(jnp.shape, params)
---
cause: split; Param; norm|BatchStat|mean; exhaustive|not matched|no filter|left over|remaining|rest
names: model
fix: ...

### nnx-rngs-forgotten raises=TypeError line=3
# https://github.com/google/flax/issues/4642
---
class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(784, 64)
        self.out = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.hidden(x)))

model = Classifier(nnx.Rngs(0))
---
class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.hidden = nnx.Linear(784, 64, rngs=rngs)
        self.out = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x):
        return self.out(nnx.relu(self.hidden(x)))

model = Classifier(nnx.Rngs(0))
---
cause: rngs; Linear
names:
fix: rngs=rngs|rngs=

### nnx-dropout-without-rngs raises=ValueError line=8
# https://github.com/google/flax/pull/3815
---
class Head(nnx.Module):
    def __init__(self, rngs):
        self.dropout = nnx.Dropout(0.3)
        self.out = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, h):
        h = nnx.relu(h)
        h = self.dropout(h)
        return self.out(h)

logits = Head(nnx.Rngs(0))(jnp.ones((2, 8)))
---
class Head(nnx.Module):
    def __init__(self, rngs):
        self.dropout = nnx.Dropout(0.3, rngs=rngs)
        self.out = nnx.Linear(8, 2, rngs=rngs)

    def __call__(self, h):
        h = nnx.relu(h)
        h = self.dropout(h)
        return self.out(h)

logits = Head(nnx.Rngs(0))(jnp.ones((2, 8)))
---
cause: rngs; dropout
names: dropout
fix: rngs=rngs|rngs=|deterministic

### nnx-list-given-to-sequential raises=TypeError line=2
# https://github.com/google/flax/issues/4642
rngs = nnx.Rngs(0)
---
net = nnx.Sequential(nnx.List([nnx.Linear(i, i + 1, rngs=rngs) for i in range(1, 4)]))
y = net(jnp.ones((1, 1)))
---
net = nnx.Sequential(*[nnx.Linear(i, i + 1, rngs=rngs) for i in range(1, 4)])
y = net(jnp.ones((1, 1)))
---
cause: Sequential; list; callable|not a function|one argument|each layer
names: net
fix: *|unpack

### nnx-gradient-of-many-losses raises=TypeError line=5
# https://flax.readthedocs.io/en/latest/nnx_basics.html
model = nnx.Linear(4, 1, rngs=nnx.Rngs(0))
---
def loss_fn(model, x, y):
    return (model(x)[:, 0] - y) ** 2

x, y = jnp.ones((16, 4)), jnp.zeros(16)
grads = nnx.grad(loss_fn)(model, x, y)
---
def loss_fn(model, x, y):
    return ((model(x)[:, 0] - y) ** 2).mean()

x, y = jnp.ones((16, 4)), jnp.zeros(16)
grads = nnx.grad(loss_fn)(model, x, y)
---
cause: scalar; (16,)|16; loss_fn
names: loss_fn
fix: mean|sum

### nnx-width-of-next-layer raises=TypeError line=9
# https://flax.readthedocs.io/en/latest/guides/linen_to_nnx.html
---
class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(8, 32, rngs=rngs)
        self.down = nnx.Linear(16, 8, rngs=rngs)

    def __call__(self, x):
        h = nnx.gelu(self.up(x))

        return x + self.down(h)

@nnx.jit
def run(model, x):
    return model(x)
y = run(Mlp(nnx.Rngs(0)), jnp.ones((2, 8)))
---
class Mlp(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(8, 32, rngs=rngs)
        self.down = nnx.Linear(32, 8, rngs=rngs)

    def __call__(self, x):
        h = nnx.gelu(self.up(x))

        return x + self.down(h)

@nnx.jit
def run(model, x):
    return model(x)
y = run(Mlp(nnx.Rngs(0)), jnp.ones((2, 8)))
---
cause: 32; 16; down
names: down; h
fix: nnx.Linear(32, 8|Linear(32|32

### nnx-stream-of-another-name raises=AttributeError line=3
# https://github.com/google/flax/issues/5100
rngs = nnx.Rngs(params=0)
---
def add_noise(x, rngs):
    scale = 0.1
    return x + scale * jax.random.normal(rngs.noise(), x.shape)

noisy = add_noise(jnp.zeros(4), rngs)
---
def add_noise(x, rngs):
    scale = 0.1
    return x + scale * jax.random.normal(rngs.params(), x.shape)

noisy = add_noise(jnp.zeros(4), rngs)
---
cause: noise; params; stream|no key|Rngs
names: rngs
fix: noise=|params()|nnx.Rngs(0|default

### nnx-updated-under-plain-jit line=8
# https://flax.readthedocs.io/en/latest/guides/transforms.html
model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
x, y = jnp.ones((4, 3)), jnp.zeros((4, 1))
---
@jax.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss

for _ in range(3):
    loss = train_step(model, optimizer, x, y)
---
@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss

for _ in range(3):
    loss = train_step(model, optimizer, x, y)
---
cause: model; jax.jit|jit; lost|dropped|discarded|not changed|unchanged|not kept|not updated
names: model; train_step
fix: nnx.jit|return

### linen-params-of-another-conv raises=ScopeParamShapeError line=2
# https://github.com/google/flax/issues/477
x = jnp.ones((1, 6, 6, 1))
five = nn.Conv(features=5, kernel_size=(3, 3))
variables = five.init(jax.random.key(0), x)
---
three = nn.Conv(features=3, kernel_size=(3, 3))
y = three.apply(variables, x)
---
three = nn.Conv(features=5, kernel_size=(3, 3))
y = three.apply(variables, x)
---
cause: kernel; output; 3; 5
names: three; variables
fix: features=5|five|5 outputs

### linen-head-for-fewer-actions raises=ScopeParamShapeError line=3
# https://github.com/google-research/reincarnating_rl/issues/5
class QNetwork(nn.Module):
    actions: int

    @nn.compact
    def __call__(self, obs):
        h = nn.relu(nn.Dense(16)(obs))
        return nn.Dense(self.actions)(h)

obs = jnp.ones((2, 7))
teacher = QNetwork(6).init(jax.random.key(0), obs)
---
def distill(student, teacher, obs):
    q_teacher = QNetwork(6).apply(teacher, obs)
    q_student = student.apply(teacher, obs)
    return jnp.mean((q_student - q_teacher) ** 2)

num_actions = 4
student = QNetwork(num_actions)

loss = distill(student, teacher, obs)
---
def distill(student, teacher, obs):
    q_teacher = QNetwork(6).apply(teacher, obs)
    q_student = student.apply(teacher, obs)
    return jnp.mean((q_student - q_teacher) ** 2)

num_actions = 6
student = QNetwork(num_actions)

loss = distill(student, teacher, obs)
---
cause: kernel; Dense_1; output; 6; 4
names: student; distill|teacher
fix: QNetwork(6)|num_actions = 6|actions=6|6 actions|6 outputs

### linen-batch-stats-not-passed raises=ScopeCollectionNotFound line=3
# https://github.com/google/flax/issues/2279
class CNN(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(4, (3, 3))(x)
        x = nn.BatchNorm(use_running_average=True)(x)
        return nn.Dense(10)(x.reshape(x.shape[0], -1))

images = jnp.ones((2, 6, 6, 1))
model = CNN()
variables = model.init(jax.random.key(0), images)
---
@jax.jit
def logits_of(params, images):
    return model.apply({"params": params}, images)

logits = logits_of(variables["params"], images)
---
@jax.jit
def logits_of(variables, images):
    return model.apply(variables, images)

logits = logits_of(variables, images)
---
cause: batch_stats; mean|BatchNorm
names: model; logits_of
fix: batch_stats|variables

### linen-keys-for-every-replica raises=InvalidRngError line=2
# https://github.com/google/flax/issues/3532
model = nn.Dense(4)
x = jnp.ones((8, 3))
key = jax.random.PRNGKey(0)
---
keys = jax.random.split(key, 8)
params = model.init(keys, x)
---
keys = jax.random.split(key, 8)
params = model.init(keys[0], x)
---
cause: (8, 2)|8; key
names: model; keys
fix: keys[0]|vmap|one key

### nnx-average-without-its-name raises=TypeError line=4
# https://crackedaicode.com/problems/nnx-multimetric
predictions, targets = jnp.ones(4), jnp.zeros(4)
---
metrics = nnx.MultiMetric(mse=nnx.metrics.Average(), mae=nnx.metrics.Average("mae"))
error = predictions - targets
mse, mae = (error**2).mean(), jnp.abs(error).mean()
metrics.update(mse=mse, mae=mae)
report = metrics.compute()
---
metrics = nnx.MultiMetric(mse=nnx.metrics.Average("mse"), mae=nnx.metrics.Average("mae"))
error = predictions - targets
mse, mae = (error**2).mean(), jnp.abs(error).mean()
metrics.update(mse=mse, mae=mae)
report = metrics.compute()
---
cause: values; Average|argname|keyword
names: metrics
fix: Average("mse")|argname|values=

### nnx-lbfgs-updated-like-adam raises=TypeError line=6
# https://github.com/google/flax/issues/4812
model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.lbfgs(), wrt=nnx.Param)
x, y = jnp.ones((8, 2)), jnp.ones((8, 1))
---
def loss_fn(model):
    return jnp.mean((model(x) - y) ** 2)

def train_step(model, optimizer):
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    optimizer.update(model, grads)
    return loss

loss = train_step(model, optimizer)
---
def loss_fn(model):
    return jnp.mean((model(x) - y) ** 2)

def train_step(model, optimizer):
    loss, grads = nnx.value_and_grad(loss_fn)(model)
    graph, rest = nnx.split(model)
    optimizer.update(model, grads, grad=grads, value=loss, value_fn=lambda s: loss_fn(nnx.merge(graph, s)))
    return loss

loss = train_step(model, optimizer)
---
cause: value; grad; value_fn
names: optimizer; train_step
fix: value_fn|value=

### linen-train-state-without-optimizer raises=TypeError line=5
# https://github.com/borisdayma/dalle-mini/pull/11
from flax.training.train_state import TrainState
model = nn.Dense(2)
x = jnp.ones((4, 3))
---
params = model.init(jax.random.key(0), x)["params"]
adamw = optax.adamw(1e-3)
optimizer = optax.MultiSteps(adamw, 4)

state = TrainState.create(apply_fn=model.apply, params=params)
y = state.apply_fn({"params": state.params}, x)
---
params = model.init(jax.random.key(0), x)["params"]
adamw = optax.adamw(1e-3)
optimizer = optax.MultiSteps(adamw, 4)

state = TrainState.create(apply_fn=model.apply, params=params, tx=optimizer)
y = state.apply_fn({"params": state.params}, x)
---
cause: tx
names: TrainState|state
fix: tx=
""",
    prelude="""\
import functools
import jax
import jax.numpy as jnp
import optax
import flax.linen as nn
from flax import nnx
""",
    needs=("flax", "optax"),
)
