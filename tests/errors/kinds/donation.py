"""Buffers that were given away and are used again."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "donation",
    r"""
### donation-called-twice raises=RuntimeError line=3
# https://github.com/jax-ml/jax/issues/9675
bump = jax.jit(lambda buf, by: buf + by, donate_argnums=(0,))
counts = jnp.zeros(8)
---
once = bump(counts, 1)
doubled = once * 2
again = bump(counts, 0.5)
---
once = bump(counts, 1)
doubled = once * 2
again = bump(once, 0.5)
---
cause: counts; donated|given away|deleted; bump; line 1|once|first call|earlier
names: counts; bump
fix: once|copy|donate

### donation-printed-later raises=RuntimeError line=6
# https://github.com/jax-ml/jax/issues/16906
state = jnp.arange(4.0)
---
@functools.partial(jax.jit, donate_argnums=0)
def decay(state):
    return state * 0.9

new_state = decay(state)
change = jnp.abs(new_state - state).max()
---
@jax.jit
def decay(state):
    return state * 0.9

new_state = decay(state)
change = jnp.abs(new_state - state).max()
---
cause: state; donate; decay; deleted|given away|no longer
names: state; decay
fix: donate_argnums|copy|before

### donation-old-parameters-compared raises=RuntimeError line=9
# https://docs.jax.dev/en/latest/buffer_donation.html
params = {"w": jnp.ones((4, 2)), "b": jnp.zeros(2)}
batch = jnp.ones((8, 4))
---
@functools.partial(jax.jit, donate_argnames="params")
def train_step(params, batch):
    def loss(p):
        return jnp.mean((batch @ p["w"] + p["b"] - 1.0) ** 2)
    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

updated = train_step(params=params, batch=batch)
moved = jax.tree.map(lambda new, old: jnp.linalg.norm(new - old), updated, params)
---
@jax.jit
def train_step(params, batch):
    def loss(p):
        return jnp.mean((batch @ p["w"] + p["b"] - 1.0) ** 2)
    grads = jax.grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

updated = train_step(params=params, batch=batch)
moved = jax.tree.map(lambda new, old: jnp.linalg.norm(new - old), updated, params)
---
cause: params; donate; train_step; deleted|given away|no longer
names: params; train_step
fix: donate_argnames|copy|before

### donation-deleted-by-hand raises=RuntimeError line=4
# https://github.com/jax-ml/jax/issues/1705
a, b = jnp.ones(2), jnp.arange(2.0)
---
partial_sum = a + b
partial_sum.delete()
scale = a.max()
total = (partial_sum + b) * scale
---
partial_sum = a + b
scale = a.max()
total = (partial_sum + b) * scale
---
cause: partial_sum; delete; line 2|earlier|before|delete()
names: partial_sum
fix: delete

### donation-same-buffer-twice raises=JaxRuntimeError line=5 staged_runs=yes
# https://github.com/jax-ml/jax/issues/9635
---
@functools.partial(jax.jit, donate_argnums=(0, 1))
def fuse(mean, var):
    return mean + 1.0, var + 2.0
zeros = jnp.zeros((16,))
mean, var = fuse(zeros, zeros)
---
@functools.partial(jax.jit, donate_argnums=(0, 1))
def fuse(mean, var):
    return mean + 1.0, var + 2.0
zeros = jnp.zeros((16,))
mean, var = fuse(zeros, zeros.copy())
---
cause: zeros; twice|same buffer|two arguments|both; donate
names: zeros; fuse
fix: copy|zeros_like|donate_argnums=0|donate_argnums=(0,)

### donation-in-a-loop raises=RuntimeError line=6 staged_runs=yes
# https://github.com/jax-ml/jax/issues/9237
---
def smooth(grid, kernel):
    return jnp.convolve(grid, kernel / kernel.sum(), mode="same")
step = jax.jit(smooth, donate_argnums=0)
grid = jnp.arange(32.0)
for width in (3, 5, 7):
    smoothed = step(grid, jnp.ones(width))
---
def smooth(grid, kernel):
    return jnp.convolve(grid, kernel / kernel.sum(), mode="same")
step = jax.jit(smooth, donate_argnums=0)
grid = jnp.arange(32.0)
for width in (3, 5, 7):
    grid = step(grid, jnp.ones(width))
---
cause: grid; donate; deleted|given away|no longer|second
names: grid; step
fix: grid =|copy|donate

### donation-through-an-alias raises=RuntimeError line=7 staged_runs
# https://github.com/jax-ml/jax/issues/3412
---
@functools.partial(jax.jit, donate_argnums=(0,))
def mark(board, cell):
    return board.at[cell].set(77)
board = jnp.array([0, 1, 2])
start = jnp.asarray(board)
after = mark(board, 0)
changed = (after != start).sum()
---
@functools.partial(jax.jit, donate_argnums=(0,))
def mark(board, cell):
    return board.at[cell].set(77)
board = jnp.array([0, 1, 2])
start = jnp.array(board, copy=True)
after = mark(board, 0)
changed = (after != start).sum()
---
cause: start; board; donate; mark; same buffer|same array|alias|shares
names: start; board; mark
fix: copy

### donation-kept-in-an-object raises=RuntimeError line=10 staged_runs
# https://docs.jax.dev/en/latest/faq.html
---
class Trainer:
    def __init__(self, weights):
        self.weights = weights
        self.best = weights
        self.step = jax.jit(lambda w, x: w - 0.1 * x, donate_argnums=0)

    def fit(self, data):
        for x in data:
            self.weights = self.step(self.weights, x)
        return jnp.sum((self.weights - self.best) ** 2)

drift = Trainer(jnp.ones(3)).fit(jnp.arange(6.0).reshape(2, 3))
---
class Trainer:
    def __init__(self, weights):
        self.weights = weights
        self.best = weights.copy()
        self.step = jax.jit(lambda w, x: w - 0.1 * x, donate_argnums=0)

    def fit(self, data):
        for x in data:
            self.weights = self.step(self.weights, x)
        return jnp.sum((self.weights - self.best) ** 2)

drift = Trainer(jnp.ones(3)).fit(jnp.arange(6.0).reshape(2, 3))
---
cause: best; donate; step; same buffer|same array|alias|given away|deleted
names: best
fix: copy|donate
""",
    prelude="""\
import functools
import jax
import jax.numpy as jnp
""",
)
