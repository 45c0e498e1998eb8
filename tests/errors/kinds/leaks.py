"""Traced values that were kept after their trace had ended."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "leaks",
    r"""
### leak-global-key raises=UnexpectedTracerError line=9
# https://github.com/jax-ml/jax/pull/4312
rng = jax.random.key(0)
---
@jax.jit
def init_layer():
    global rng
    rng, sub = jax.random.split(rng)
    return jax.random.normal(sub, (4, 2))

w1 = init_layer()
print(w1.mean())
w2 = jax.random.normal(rng, (2, 2))
---
@jax.jit
def init_layer(rng):
    rng, sub = jax.random.split(rng)
    return jax.random.normal(sub, (4, 2)), rng

w1, rng = init_layer(rng)
print(w1.mean())
w2 = jax.random.normal(rng, (2, 2))
---
cause: rng; init_layer; global; traced|tracer
names: rng; init_layer
fix: return|argument

### leak-attribute-of-object raises=TracerArrayConversionError line=9
# https://pytroubles.com/en/posts/id912-jax-jit-and-object-state-fixing-tracerarrayconversionerror-from-in-method-attribute-mutation
---
class Filter:
    @functools.partial(jax.jit, static_argnums=0)
    def smooth(self, signal):
        self.last = 0.5 * (signal + jnp.roll(signal, 1))
        return self.last

kalman = Filter()
out = kalman.smooth(jnp.arange(4.0))
kept = np.asarray(kalman.last)
---
class Filter:
    @functools.partial(jax.jit, static_argnums=0)
    def smooth(self, signal):
        return 0.5 * (signal + jnp.roll(signal, 1))

kalman = Filter()
kalman.last = kalman.smooth(jnp.arange(4.0))
kept = np.asarray(kalman.last)
---
cause: last; smooth; traced|tracer; float32[4]|(4,)
names: last; smooth
fix: return

### leak-key-in-self-during-scan raises=UnexpectedTracerError line=12
# https://github.com/jax-ml/jax/issues/6335
---
class Walk:
    def __init__(self, seed):
        self.key = jax.random.key(seed)

    def step(self, pos, _):
        self.key, sub = jax.random.split(self.key)
        pos = pos + jax.random.normal(sub)
        return pos, pos

walk = Walk(3)
end, path = jax.lax.scan(walk.step, 0.0, None, length=5)
again = jax.random.uniform(walk.key)
---
class Walk:
    def __init__(self, seed):
        self.key = jax.random.key(seed)

    def step(self, pos, sub):
        pos = pos + jax.random.normal(sub)
        return pos, pos

walk = Walk(3)
end, path = jax.lax.scan(walk.step, 0.0, jax.random.split(walk.key, 5))
again = jax.random.uniform(walk.key)
---
cause: key; scan; step; traced|tracer
names: key; step
fix: carry|xs|split|return

### leak-list-of-losses raises=UnexpectedTracerError line=7
# https://github.com/jax-ml/jax/pull/5492
history = []
---
@jax.jit
def loss(w, x):
    value = jnp.mean((x @ w) ** 2)
    history.append(value)
    return value
loss(jnp.ones(3), jnp.eye(3))
average = sum(history) / len(history)
---
@jax.jit
def loss(w, x):
    value = jnp.mean((x @ w) ** 2)
    return value
history.append(loss(jnp.ones(3), jnp.eye(3)))
average = sum(history) / len(history)
---
cause: history; loss; traced|tracer; append|list
names: history; loss
fix: return

### leak-activations-in-a-dict raises=UnexpectedTracerError line=9
# https://github.com/jax-ml/jax/pull/13022
cache = {}
params = [jnp.ones((3, 4)), jnp.ones((4, 2))]
---
def forward(params, x):
    for i, w in enumerate(params):
        x = jnp.tanh(x @ w)
        cache[f"layer{i}"] = x
    return x.sum()

x = jnp.ones((5, 3))
grads = jax.grad(forward)(params, x)
dead = {name: (act == 0).mean() for name, act in cache.items()}
---
def forward(params, x):
    cache = {}
    for i, w in enumerate(params):
        x = jnp.tanh(x @ w)
        cache[f"layer{i}"] = x
    return x.sum(), cache

x = jnp.ones((5, 3))
grads, cache = jax.grad(forward, has_aux=True)(params, x)
dead = {name: (act == 0).mean() for name, act in cache.items()}
---
cause: cache; forward; traced|tracer; grad
names: cache; forward
fix: has_aux|return

### leak-nonlocal-residual raises=UnexpectedTracerError line=12
# https://docs.jax.dev/en/latest/errors.html
---
def solve(a, b):
    residual = None

    def body(i, x):
        nonlocal residual
        residual = b - a @ x
        return x + 0.1 * residual

    x = jax.lax.fori_loop(0, 20, body, jnp.zeros_like(b))
    return x, jnp.linalg.norm(residual)

x, r = solve(jnp.eye(3), jnp.ones(3))
---
def solve(a, b):
    def body(i, x):
        return x + 0.1 * (b - a @ x)

    x = jax.lax.fori_loop(0, 20, body, jnp.zeros_like(b))
    return x, jnp.linalg.norm(b - a @ x)

x, r = solve(jnp.eye(3), jnp.ones(3))
---
cause: residual; body; traced|tracer; fori_loop|loop
names: residual; body
fix: return|carry|recompute|outside

### leak-closure-of-inner-function raises=UnexpectedTracerError line=9
# https://docs.jax.dev/en/latest/errors.html
---
callbacks = []

@jax.jit
def fit(scale, x):
    callbacks.append(lambda t: t * scale)
    return x * scale

y = fit(jnp.float32(3.0), jnp.ones(2))
z = callbacks[0](jnp.ones(2))
---
callbacks = []

@jax.jit
def fit(scale, x):
    return x * scale

callbacks.append(lambda t: t * jnp.float32(3.0))
y = fit(jnp.float32(3.0), jnp.ones(2))
z = callbacks[0](jnp.ones(2))
---
cause: scale; fit; traced|tracer
names: scale; fit
fix: return|argument

### leak-vmapped-debug-value raises=UnexpectedTracerError line=8
# https://github.com/jax-ml/jax/pull/9246
seen = {}
---
def distance(a, b):
    seen["delta"] = a - b
    return jnp.sqrt(jnp.sum((a - b) ** 2))

points = jnp.arange(6.0).reshape(3, 2)
centre = points.mean(0)
dist = jax.vmap(distance, (0, None))(points, centre)
largest = jnp.abs(seen["delta"]).max()
---
def distance(a, b):
    delta = a - b
    return jnp.sqrt(jnp.sum((a - b) ** 2)), delta

points = jnp.arange(6.0).reshape(3, 2)
centre = points.mean(0)
dist, delta = jax.vmap(distance, (0, None))(points, centre)
largest = jnp.abs(delta).max()
---
cause: seen; distance; vmap; traced|tracer
names: seen; distance
fix: return

### leak-generator-over-steps raises=UnexpectedTracerError line=12
# https://github.com/jax-ml/jax/issues/3086
---
def noise(scale):
    while True:
        yield scale * 0.5

@jax.jit
def start(scale):
    global stream
    stream = noise(scale)
    return next(stream)

first = start(jnp.float32(2.0))
second = next(stream)
---
def noise(scale):
    while True:
        yield scale * 0.5

@jax.jit
def start(scale):
    return scale * 0.5

first = start(jnp.float32(2.0))
second = next(noise(jnp.float32(2.0)))
---
cause: scale; start; stream|generator|noise; traced|tracer
names: stream; start
fix: return|outside|without jit

### leak-best-so-far raises=UnexpectedTracerError line=7
# https://github.com/google-deepmind/dm-haiku/issues/214
best = {"loss": jnp.inf}
---
@jax.jit
def evaluate(w):
    loss = jnp.sum((w - 1.0) ** 2)
    best["loss"] = jnp.minimum(best["loss"], loss)
    return loss
value = evaluate(jnp.zeros(3))
if best["loss"] < 10.0:
    print("good")
---
@jax.jit
def evaluate(w):
    loss = jnp.sum((w - 1.0) ** 2)
    return loss
value = evaluate(jnp.zeros(3))
best["loss"] = jnp.minimum(best["loss"], value)
if best["loss"] < 10.0:
    print("good")
---
cause: best; evaluate; traced|tracer
names: best; evaluate
fix: return

### leak-lazy-property raises=UnexpectedTracerError line=14
# https://github.com/pyro-ppl/numpyro/issues/1651
---
class Gaussian:
    def __init__(self, cov):
        self.cov = cov

    @functools.cached_property
    def chol(self):
        return jnp.linalg.cholesky(self.cov)

prior = Gaussian(jnp.eye(2) * 4.0)
@jax.jit
def log_density(x):
    return -0.5 * jnp.sum(jnp.linalg.solve(prior.chol, x) ** 2)
value = log_density(jnp.ones(2))
draw = prior.chol @ jnp.ones(2)
---
class Gaussian:
    def __init__(self, cov):
        self.cov = cov
        self.chol = jnp.linalg.cholesky(self.cov)

prior = Gaussian(jnp.eye(2) * 4.0)
@jax.jit
def log_density(x):
    return -0.5 * jnp.sum(jnp.linalg.solve(prior.chol, x) ** 2)
value = log_density(jnp.ones(2))
draw = prior.chol @ jnp.ones(2)
---
cause: chol; log_density; traced|tracer
names: chol; log_density
fix: __init__|before|cached_property|outside
""",
    prelude="""\
import functools
import numpy as np
import jax
import jax.numpy as jnp
""",
)
