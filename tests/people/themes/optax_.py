"""Optimisers of optax: update steps, schedules, masks, chains, losses kept in lists."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, optax
X = jnp.linspace(-1, 1, 12).reshape(6, 2)
Y = X @ jnp.array([1.0, -2.0]) + 0.5
def loss_fn(params, x, y):
    return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)
params = {"w": jnp.zeros(2), "b": jnp.float32(0)}
"""

CELLS = written(
    PRELUDE,
    r"""
### optax-adam-step
opt = optax.adam(1e-2)
opt_state = opt.init(params)
---
loss, grads = jax.value_and_grad(loss_fn)(params, X, Y)
updates, opt_state = opt.update(grads, opt_state)
params = optax.apply_updates(params, updates)
loss
---
X = X * 2
---
opt_state = opt.init(params)

### optax-jitted-step
opt = optax.sgd(0.1, momentum=0.9)
opt_state = opt.init(params)
@jax.jit
def step(params, opt_state, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt_state = opt.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss
losses = []
---
for _ in range(4):
    params, opt_state, loss = step(params, opt_state, X, Y)
    losses.append(float(loss))
print(len(losses))
---
Y = Y + 1

### optax-history-of-arrays
opt = optax.rmsprop(1e-2)
opt_state = opt.init(params)
history = []
---
loss, grads = jax.value_and_grad(loss_fn)(params, X, Y)
updates, opt_state = opt.update(grads, opt_state)
params = optax.apply_updates(params, updates)
history.append(loss)
history[-1], len(history)

### optax-schedule-count
sched = optax.exponential_decay(0.1, 2, 0.5)
opt = optax.sgd(sched)
opt_state = opt.init(params)
---
g = jax.grad(loss_fn)(params, X, Y)
u, opt_state = opt.update(g, opt_state)
params = optax.apply_updates(params, u)
sched(opt_state[1].count)

### optax-cosine-lr-printed
sched = optax.cosine_decay_schedule(0.3, 10)
step = 0
---
lr = sched(step)
print(f"lr {lr:.4f}")
params = jax.tree.map(lambda p, g: p - lr * g, params, jax.grad(loss_fn)(params, X, Y))
step += 1

### optax-inject-hyperparams
opt = optax.inject_hyperparams(optax.adam)(learning_rate=0.1)
opt_state = opt.init(params)
---
g = jax.grad(loss_fn)(params, X, Y)
u, opt_state = opt.update(g, opt_state)
params = optax.apply_updates(params, u)
opt_state.hyperparams["learning_rate"]
---
opt_state.hyperparams["learning_rate"] = jnp.float32(0.01)

### optax-chain-clip
opt = optax.chain(optax.clip_by_global_norm(0.5), optax.adamw(1e-2, weight_decay=1e-3))
opt_state = opt.init(params)
---
g = jax.grad(loss_fn)(params, X * 10, Y)
norm = optax.global_norm(g)
u, opt_state = opt.update(g, opt_state, params)
params = optax.apply_updates(params, u)
norm

### optax-masked
opt = optax.masked(optax.sgd(0.1), {"w": True, "b": False})
opt_state = opt.init(params)
---
g = jax.grad(loss_fn)(params, X, Y)
u, opt_state = opt.update(g, opt_state)
params = optax.apply_updates(params, u)
params["b"]

### optax-multi-transform
opt = optax.multi_transform({"a": optax.adam(0.1), "z": optax.set_to_zero()}, {"w": "a", "b": "z"})
opt_state = opt.init(params)
---
g = jax.grad(loss_fn)(params, X, Y)
u, opt_state = opt.update(g, opt_state, params)
params = optax.apply_updates(params, u)
---
params = {"w": jnp.ones(2), "b": jnp.float32(3)}

### optax-multisteps
opt = optax.MultiSteps(optax.sgd(0.1), every_k_schedule=2)
opt_state = opt.init(params)
---
g = jax.grad(loss_fn)(params, X, Y)
u, opt_state = opt.update(g, opt_state, params)
params = optax.apply_updates(params, u)
bool(opt.has_updated(opt_state))

### optax-ema
ema = optax.ema(0.9)
state = ema.init(params)
---
params = jax.tree.map(lambda p: p + 1.0, params)
avg, state = ema.update(params, state)
avg["w"]

### optax-incremental-target
target = jax.tree.map(jnp.copy, params)
---
params = jax.tree.map(lambda p: p + 0.5, params)
target = optax.incremental_update(params, target, 0.1)
target["b"]
---
target = jax.tree.map(jnp.zeros_like, params)

### optax-lbfgs
opt = optax.lbfgs()
opt_state = opt.init(params)
f = lambda p: loss_fn(p, X, Y)
value_and_grad = optax.value_and_grad_from_state(f)
---
value, grad = value_and_grad(params, state=opt_state)
updates, opt_state = opt.update(grad, opt_state, params, value=value, grad=grad, value_fn=f)
params = optax.apply_updates(params, updates)
value

### optax-softmax-loss
logits = jnp.array([[1.0, 2.0, 0.5], [0.1, 0.0, 3.0]])
labels = jnp.array([1, 2])
---
losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
mean = losses.mean()
print(f"{mean:.3f}")
---
labels = jnp.array([0, 0])

### optax-params-list-mlp
key = jax.random.key(0)
sizes = [2, 4, 1]
keys = jax.random.split(key, 2)
layers = [(jax.random.normal(k, (a, b)) * 0.3, jnp.zeros(b)) for k, a, b in zip(keys, sizes, sizes[1:])]
def forward(layers, x):
    for w, b in layers[:-1]:
        x = jax.nn.relu(x @ w + b)
    w, b = layers[-1]
    return (x @ w + b)[:, 0]
opt = optax.adam(0.05)
state = opt.init(layers)
---
def mse(layers):
    return jnp.mean((forward(layers, X) - Y) ** 2)
for epoch in range(3):
    l, g = jax.value_and_grad(mse)(layers)
    u, state = opt.update(g, state)
    layers = optax.apply_updates(layers, u)
    print(epoch, f"{l:.4f}")
---
Y = -Y

### optax-scan-train
opt = optax.adam(0.05)
---
def body(carry, _):
    p, s = carry
    l, g = jax.value_and_grad(loss_fn)(p, X, Y)
    u, s = opt.update(g, s)
    return (optax.apply_updates(p, u), s), l
(params, opt_state), ls = jax.lax.scan(body, (params, opt.init(params)), length=5)
ls.shape, ls[-1]
---
X = X + 0.1

### optax-lr-float-changed
lr = 0.1
---
opt = optax.sgd(lr)
g = jax.grad(loss_fn)(params, X, Y)
u, _ = opt.update(g, opt.init(params))
new = optax.apply_updates(params, u)
new["w"]
---
lr = 0.01
---
lr = 0.3

### optax-trainer-class
class Trainer:
    def __init__(self, params, opt):
        self.params, self.opt = params, opt
        self.state = opt.init(params)
        self.steps = 0
        self.log = {}
    def fit(self, x, y, n):
        for _ in range(n):
            loss, g = jax.value_and_grad(loss_fn)(self.params, x, y)
            u, self.state = self.opt.update(g, self.state)
            self.params = optax.apply_updates(self.params, u)
            self.log[self.steps] = loss
            self.steps += 1
        return loss
trainer = Trainer(params, optax.adam(0.1))
---
last = trainer.fit(X, Y, 3)
print(trainer.steps)
last
---
trainer.opt = optax.sgd(0.1); trainer.state = trainer.opt.init(trainer.params)
---
trainer.steps = 100

### optax-flat-params
from jax.flatten_util import ravel_pytree
flat, unravel = ravel_pytree(params)
---
g = jax.grad(lambda v: loss_fn(unravel(v), X, Y))(flat)
flat = flat - 0.1 * g
tree = unravel(flat)
tree["w"]

### optax-early-stop
opt = optax.sgd(0.3)
state = opt.init(params)
best, bad = jnp.inf, 0
---
for epoch in range(5):
    loss, g = jax.value_and_grad(loss_fn)(params, X, Y)
    u, state = opt.update(g, state)
    params = optax.apply_updates(params, u)
    if loss < best - 1e-1:
        best, bad = loss, 0
    else:
        bad += 1
    if bad >= 2:
        print("stopped at", epoch)
        break
---
best, bad = jnp.inf, 0
""",
    needs=("optax",),
)
