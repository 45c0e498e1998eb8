"""What other cells left behind, and what helpers of other cells make of the arguments."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "hidden_state",
    r"""
### hidden-weights-rebound raises=TypeError line=3
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
W = jnp.ones((8, 4))

def project(x):
    return x @ W
---
x = jnp.ones((5, 8))
W = jnp.ones((16, 4))
features = project(x)
---
x = jnp.ones((5, 8))
W2 = jnp.ones((16, 4))
features = project(x)
---
cause: 8; 16; W; project; global|defined outside|not an argument|closes over|another cell|line 2
names: W; project; x
fix: argument|W2|rename|another name|16

### hidden-batches-used-up raises=StopIteration line=2
# https://docs.jax.dev/en/latest/notebooks/Common_Gotchas_in_JAX.html
batches = iter([jnp.ones((4, 2)), jnp.zeros((4, 2))])
warm_up = [b.mean() for b in batches]
---
w = jnp.ones(2)
first = next(batches)
pred = first @ w
---
w = jnp.ones(2)
first = next(iter([jnp.ones((4, 2)), jnp.zeros((4, 2))]))
pred = first @ w
---
cause: batches; iterator|exhausted|used up|consumed|nothing left|no more
names: batches
fix: iter(|again|list|anew

### hidden-shadowed-function raises=TypeError line=2
# https://docs.jax.dev/en/latest/faq.html
scores = jnp.array([0.2, 0.5, 0.1])
max = scores.max()
---
gaps = scores - scores.mean()
best = max(float(gaps[0]), float(gaps[1]))
---
gaps = scores - scores.mean()
best = builtins.max(float(gaps[0]), float(gaps[1]))
---
cause: max; not callable|array|shadow|overwritten|rebound|hides
names: max
fix: del max|builtins|rename|another name

### hidden-loss-of-a-helper raises=ValueError line=5
# https://github.com/jax-ml/jax/issues/21331
def standardise(batch, mean, std):
    return (batch - mean) / std

def mse(params, batch, target, stats):
    batch = standardise(batch, *stats)
    return jnp.mean((batch @ params["w"] - target) ** 2)
---
params = {"w": jnp.ones(3)}
batch, target = jnp.arange(12.0).reshape(4, 3), jnp.ones(4)
stats = batch.mean(axis=1), batch.std(axis=1)

grads = jax.grad(mse)(params, batch, target, stats)
---
params = {"w": jnp.ones(3)}
batch, target = jnp.arange(12.0).reshape(4, 3), jnp.ones(4)
stats = batch.mean(axis=0), batch.std(axis=0)

grads = jax.grad(mse)(params, batch, target, stats)
---
cause: (4, 3); (4,); mean|stats; standardise|batch - mean
names: stats; batch
fix: axis=0|keepdims

### hidden-size-of-another-cell raises=ValueError line=3
# https://openillumi.com/en/en-jax-jit-class-method-stale-cache-fix
HIDDEN = 32

class Config:
    hidden = HIDDEN

def init(key, d_in):
    return {"up": jax.random.normal(key, (d_in, Config.hidden)), "bias": jnp.zeros(HIDDEN)}

HIDDEN = 64
---
params = init(jax.random.key(0), 8)
x = jnp.ones((2, 8))
h = x @ params["up"] + params["bias"]
---
params = init(jax.random.key(0), 8)
x = jnp.ones((2, 8))
h = x @ params["up"] + jnp.zeros(Config.hidden)
---
cause: 32; 64; up; bias; (2, 32)
names: params
fix: Config.hidden|HIDDEN|32|same size

### hidden-frozen-old-method raises=AttributeError line=2
# https://docs.jax.dev/en/latest/faq.html
class Encoder:
    def __init__(self, width):
        self.w = jnp.ones((width, 2))

model = Encoder(4)

class Encoder:
    def __init__(self, width):
        self.w = jnp.ones((width, 2))
        self.b = jnp.zeros(2)
---
x = jnp.ones((3, 4))
z = x @ model.w + model.b
---
x = jnp.ones((3, 4))
model = Encoder(4)
z = x @ model.w + model.b
---
cause: model; b; attribute; Encoder; made before|old|earlier|redefined|no attribute
names: model
fix: model = Encoder|anew|again|re-create|create it

### hidden-key-became-a-name raises=TypeError line=2
# https://docs.jax.dev/en/latest/jax.random.html
key = jax.random.key(0)
params = {"w": jnp.ones((2, 2)), "b": jnp.zeros(2)}
for key in params:
    print(key, params[key].shape)
---
shape = params["w"].shape
noise = jax.random.normal(key, shape)
---
shape = params["w"].shape
noise = jax.random.normal(jax.random.key(0), shape)
---
cause: key; str|'b'|string; random|PRNG
names: key
fix: jax.random.key|another name|rename
""",
    prelude="""\
import builtins
import jax
import jax.numpy as jnp
""",
)
