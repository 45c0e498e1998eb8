"""Losses and updates of optax with arguments that do not go together."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "optax",
    r"""
### optax-decay-without-parameters raises=ValueError line=4
# https://github.com/RobertTLange/evosax/pull/108
params = {"w": jnp.ones(3)}
opt = optax.adamw(1e-2)
state = opt.init(params)
---
@jax.jit
def update(params, state, x):
    grads = jax.grad(lambda p: jnp.sum((x @ p["w"]) ** 2))(params)
    steps, state = opt.update(grads, state)
    return optax.apply_updates(params, steps), state

params, state = update(params, state, jnp.ones((4, 3)))
---
@jax.jit
def update(params, state, x):
    grads = jax.grad(lambda p: jnp.sum((x @ p["w"]) ** 2))(params)
    steps, state = opt.update(grads, state, params)
    return optax.apply_updates(params, steps), state

params, state = update(params, state, jnp.ones((4, 3)))
---
cause: params; update; opt|adamw|weight decay
names: opt; params
fix: update(grads, state, params)|, params)|params

### optax-integer-labels-one-hot raises=ValueError line=3
# https://optax.readthedocs.io/en/latest/api/losses.html
logits = jnp.ones((32, 10))
labels = jnp.zeros((32,), int)
---
def cross_entropy(logits, labels):
    logits = logits / 2.0
    return optax.softmax_cross_entropy(logits, labels).mean()

loss = cross_entropy(logits, labels)
---
def cross_entropy(logits, labels):
    logits = logits / 2.0
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

loss = cross_entropy(logits, labels)
---
cause: (32, 10)|10; (32,)|32; labels; one-hot|one hot|shape|distribution|broadcast
names: logits; labels
fix: with_integer_labels|one_hot

### optax-float-labels raises=TypeError line=5
# https://optax.readthedocs.io/en/latest/api/losses.html
w = jnp.ones((4, 3))
---
def loss_fn(w, x, labels):
    logits = x @ w

    each = (
        optax.softmax_cross_entropy_with_integer_labels(logits, labels))
    return each.mean()

x, labels = jnp.ones((6, 4)), jnp.array([0, 1, 2, 2, 1, 0]) * 1.0
grads = jax.grad(loss_fn)(w, x, labels)
---
def loss_fn(w, x, labels):
    logits = x @ w

    each = (
        optax.softmax_cross_entropy_with_integer_labels(logits, labels))
    return each.mean()

x, labels = jnp.ones((6, 4)), jnp.array([0, 1, 2, 2, 1, 0])
grads = jax.grad(loss_fn)(w, x, labels)
---
cause: labels; float32|float; integer|int
names: labels
fix: astype|int

### optax-labels-with-another-axis raises=ValueError line=2
# https://github.com/google-deepmind/optax/issues/1185
logits = jnp.ones((8, 5))
---
labels = jnp.zeros((8, 1), int)
losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
---
labels = jnp.zeros((8, 1), int)
losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels[:, 0])
---
cause: (8, 1); (8, 5)|(8,); labels
names: labels; logits
fix: [:, 0]|squeeze|reshape|ravel

### optax-state-of-another-tree raises=ValueError line=3
# https://optax.readthedocs.io/en/latest/getting_started.html
opt = optax.adam(1e-3)
encoder = {"w": jnp.ones((4, 2))}
state = opt.init(encoder)
---
params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
grads = jax.grad(lambda p: jnp.sum(jnp.ones((3, 4)) @ p["w"] + p["b"]))(params)
updates, state = opt.update(grads, state, params)
---
params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
grads = jax.grad(lambda p: jnp.sum(jnp.ones((3, 4)) @ p["w"] + p["b"]))(params)
updates, state = opt.update(grads, opt.init(params), params)
---
cause: state; grads; b; init|structure|tree|keys
names: state; grads
fix: init(params)|opt.init

### optax-state-without-a-step raises=AttributeError line=6
# https://github.com/patrick-kidger/equinox/issues/441
params = jnp.ones(3)
---
opt = optax.adam(0.1)

def fit(params):
    def step(params, x):
        grads = jax.grad(lambda p: jnp.sum((p - x) ** 2))(params)
        updates, state = opt.update(grads, opt, params)
        return optax.apply_updates(params, updates), None
    return jax.lax.scan(step, params, jnp.arange(3.0))[0]

fitted = fit(params)
---
opt = optax.adam(0.1)

def fit(params):
    def step(carry, x):
        params, state = carry
        grads = jax.grad(lambda p: jnp.sum((p - x) ** 2))(params)
        updates, state = opt.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), None
    return jax.lax.scan(step, (params, opt.init(params)), jnp.arange(3.0))[0][0]
fitted = fit(params)
---
cause: opt; state; init|GradientTransformation|optimiser|optimizer
names: opt
fix: opt.init|state

### optax-lbfgs-like-adam raises=TypeError line=7
# https://github.com/google-deepmind/optax/issues/1386
def energy(p):
    return jnp.sum((p - 2.0) ** 4)
---
params = jnp.zeros(3)
solver = optax.lbfgs()

state = solver.init(params)
value, grads = jax.value_and_grad(energy)(params)

updates, state = solver.update(grads, state, params)
params = optax.apply_updates(params, updates)
---
params = jnp.zeros(3)
solver = optax.lbfgs()

state = solver.init(params)
value, grads = jax.value_and_grad(energy)(params)

updates, state = solver.update(grads, state, params, value=value, grad=grads, value_fn=energy)
params = optax.apply_updates(params, updates)
---
cause: value; grad; value_fn; update
names: solver
fix: value_fn=|value=

### optax-labels-of-no-transform raises=ValueError line=3
# https://optax.readthedocs.io/en/latest/api/combining_optimizers.html
params = {"encoder": jnp.ones(3), "head": jnp.ones(2)}
---
labels = {"encoder": "frozen", "head": "train"}
opt = optax.multi_transform({"train": optax.adam(1e-3), "freeze": optax.set_to_zero()}, labels)
state = opt.init(params)
---
labels = {"encoder": "freeze", "head": "train"}
opt = optax.multi_transform({"train": optax.adam(1e-3), "freeze": optax.set_to_zero()}, labels)
state = opt.init(params)
---
cause: frozen; freeze; train
names: labels
fix: freeze

### optax-updates-of-another-structure raises=ValueError line=6
# https://github.com/google/flax/issues/3257
opt = optax.sgd(0.1)
---
params = [jnp.ones((2, 2)), jnp.zeros(2)]
state = opt.init(params)

grads = jax.grad(lambda p: jnp.sum(p[0]) + jnp.sum(p[1]))(params)
updates, state = opt.update(grads, state)
params = optax.apply_updates(tuple(params), updates)
---
params = [jnp.ones((2, 2)), jnp.zeros(2)]
state = opt.init(params)

grads = jax.grad(lambda p: jnp.sum(p[0]) + jnp.sum(p[1]))(params)
updates, state = opt.update(grads, state)
params = optax.apply_updates(params, updates)
---
cause: tuple; list; apply_updates|structure|tree
names: params; updates
fix: list|apply_updates(params|without tuple|same

### optax-schedule-not-called raises=TypeError line=3
# https://optax.readthedocs.io/en/latest/api/optimizer_schedules.html
params, grads = jnp.ones(4), jnp.full(4, 0.5)
---
lr = optax.cosine_decay_schedule(0.1, decay_steps=100)
step = 7
params = params - lr * grads
---
lr = optax.cosine_decay_schedule(0.1, decay_steps=100)
step = 7
params = params - lr(step) * grads
---
cause: lr; function; schedule|step|call
names: lr
fix: lr(

### optax-gradient-of-integers raises=TypeError line=6
# https://github.com/patrick-kidger/equinox/issues/364
opt = optax.sgd(0.1)
---
params = {"weight": jnp.ones(3), "steps": jnp.array(10)}

def loss(p):
    return jnp.sum((p["weight"] * p["steps"] - 1.0) ** 2)

grads = jax.grad(loss)(params)
updates, state = opt.update(grads, opt.init(params))
---
params = {"weight": jnp.ones(3), "steps": jnp.array(10.0)}

def loss(p):
    return jnp.sum((p["weight"] * p["steps"] - 1.0) ** 2)

grads = jax.grad(loss)(params)
updates, state = opt.update(grads, opt.init(params))
---
cause: steps; int32; float; loss|grad
names: params
fix: 10.0|float|astype|allow_int|partition|separate

### optax-linesearch-chained-after-adam raises=TypeError line=6
# https://github.com/patrick-kidger/optimistix/issues/121
def f(x):
    return jnp.sum(jnp.abs(x) ** 2)

x = jnp.ones(10)
solver = optax.chain(optax.adam(1.0), optax.scale_by_backtracking_linesearch(25))
state = solver.init(x)
---
def fit(x, state, steps):
    for _ in range(steps):
        grads = jax.grad(f)(x)
        lr = 1.0
        scaled = lr * grads
        updates, state = solver.update(scaled, state, x)
        x = optax.apply_updates(x, updates)
    return x

best = fit(x, state, 3)
---
def fit(x, state, steps):
    for _ in range(steps):
        grads = jax.grad(f)(x)
        lr = 1.0
        scaled = lr * grads
        updates, state = solver.update(scaled, state, x, value=f(x), grad=grads, value_fn=f)
        x = optax.apply_updates(x, updates)
    return x

best = fit(x, state, 3)
---
cause: value; grad; value_fn
names: solver; fit
fix: value_fn|value=
""",
    prelude="""\
import jax
import jax.numpy as jnp
import optax
""",
    needs=("optax",),
)
