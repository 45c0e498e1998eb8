"""Keys of random numbers that are none, or of another kind or shape."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import lax\n"

CASES = written(
    "keys",
    r"""
### int-seed-as-key raises=TypeError line=1
# https://github.com/keras-team/keras-core/pull/651
---
noise = jax.random.normal(42, (3,))
---
noise = jax.random.normal(jax.random.key(42), (3,))
---
cause: int|42; key
names:
fix: jax.random.key(|random.key(42)|PRNGKey

### int-seed-in-the-init-of-a-class raises=TypeError line=4
# https://github.com/keras-team/keras-core/pull/651
---
class Dense:
    def __init__(self, n_in, n_out, seed):
        init = jax.nn.initializers.glorot_normal()
        self.kernel = init(seed, (n_in, n_out))

layer = Dense(3, 2, seed=0)
---
class Dense:
    def __init__(self, n_in, n_out, seed):
        init = jax.nn.initializers.glorot_normal()
        self.kernel = init(jax.random.key(seed), (n_in, n_out))

layer = Dense(3, 2, seed=0)
---
cause: int; key
names: seed
fix: jax.random.key(|random.key(seed)|PRNGKey

### shape-before-the-key raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.random.normal.html
key = jax.random.key(0)
---
shape = (4, 3)
weights = jax.random.normal(shape, key)
---
shape = (4, 3)
weights = jax.random.normal(key, shape)
---
cause: tuple|shape|order; key
names: shape; key
fix: key, shape|(key|order|swap

### numpy-generator-as-key raises=TypeError line=3
# https://docs.jax.dev/en/latest/jep/9263-typed-keys.html
x = jnp.ones((6, 2))
---
def shuffled(x):
    rng = np.random.default_rng(0)
    return jax.random.permutation(rng, x)

y = shuffled(x)
---
def shuffled(x):
    rng = jax.random.key(0)
    return jax.random.permutation(rng, x)

y = shuffled(x)
---
cause: Generator|numpy; key
names: rng; shuffled
fix: jax.random.key(|random.key|PRNGKey

### key-as-float raises=TypeError line=3
# https://github.com/jax-ml/jax/pull/15743
keys = jax.random.split(jax.random.PRNGKey(0), 3)
---
def sample(keys, scale):
    scaled = keys[0] * 1.0
    return scale * jax.random.normal(scaled, (2,))

x = sample(keys, 0.1)
---
def sample(keys, scale):
    scaled = keys[0]
    return scale * jax.random.normal(scaled, (2,))

x = sample(keys, 0.1)
---
cause: float32; uint32
names: scaled; sample
fix: uint32|* 1.0|without|keys[0]|split

### typed-key-in-arithmetic raises=TypeError line=4
# https://github.com/jax-ml/jax/pull/18382
key = jax.random.key(0)
---
@jax.jit
def draw(key, step):
    base = jax.random.normal(key, (2,))
    key = key + step
    return base + jax.random.normal(key, (2,))

x = draw(key, 3)
---
@jax.jit
def draw(key, step):
    base = jax.random.normal(key, (2,))
    key = jax.random.fold_in(key, step)
    return base + jax.random.normal(key, (2,))

x = draw(key, 3)
---
cause: key<fry>|key; add|+|arithmetic
names: key; draw
fix: fold_in

### typed-key-to-numpy raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/24481
state = {"step": 3, "key": jax.random.key(1)}
---
def to_checkpoint(state):
    return jax.tree.map(np.asarray, state)

saved = to_checkpoint(state)
---
def to_checkpoint(state):
    return jax.tree.map(np.asarray, dict(state, key=jax.random.key_data(state["key"])))

saved = to_checkpoint(state)
---
cause: key; numpy|NumPy
names: key
fix: key_data

### typed-key-indexed-like-an-old-one raises=IndexError line=1
# https://github.com/jax-ml/jax/issues/5549
key = jax.random.key(7)
---
seed = key[1]
other = jax.random.key(3)
---
seed = jax.random.key_data(key)[1]
other = jax.random.key(3)
---
cause: scalar|0-d|indices|()|zero dim|too many
names: key
fix: key_data|PRNGKey|split|fold_in

### reshape-of-typed-keys-with-two raises=TypeError line=1
# https://github.com/jax-ml/jax/pull/16398
root = jax.random.key(0)
---
grid = jax.random.split(root, 6).reshape(2, 3, 2)
---
grid = jax.random.split(root, 6).reshape(2, 3)
---
cause: 6; 12|(2, 3, 2)|2,3,2
names:
fix: (2, 3)|split(root, (2, 3))|PRNGKey

### batch-of-keys-to-normal raises=ValueError line=3
# https://github.com/jax-ml/jax/issues/19376
root = jax.random.key(0)
---
def noises(root, batch):
    keys = jax.random.split(root, batch)
    return jax.random.normal(keys, (batch,))

noise = noises(root, 8)
---
def noises(root, batch):
    keys = jax.random.split(root, batch)
    return jax.vmap(jax.random.normal)(keys)

noise = noises(root, 8)
---
cause: (8,)|[8]|8; single|one key
names: keys; noises
fix: vmap

### keys-not-unpacked raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/5554
root = jax.random.key(0)
---
@jax.jit
def init(root):
    subkeys = jax.random.split(root)
    kernel = jax.random.normal(subkeys, (3, 2))
    return kernel

kernel = init(root)
---
@jax.jit
def init(root):
    subkeys = jax.random.split(root)
    kernel = jax.random.normal(subkeys[0], (3, 2))
    return kernel

kernel = init(root)
---
cause: (2,)|[2]|2; single|one key
names: subkeys; init
fix: subkeys[0]|unpack|vmap|[0]

### split-of-a-batch-of-keys raises=ValueError line=4
# https://github.com/pyro-ppl/numpyro/issues/1916
chain_keys = jax.random.split(jax.random.PRNGKey(0), 100)
---
class Sampler:
    def warmup(self, keys):
        keys = jnp.asarray(keys)
        return jax.random.split(keys)

out = Sampler().warmup(chain_keys)
---
class Sampler:
    def warmup(self, keys):
        keys = jnp.asarray(keys)
        return jax.vmap(jax.random.split)(keys)

out = Sampler().warmup(chain_keys)
---
cause: (100, 2)|100,2|100; single|one key
names: keys
fix: vmap

### fold-in-of-many-steps raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/12200
root, steps = jax.random.key(0), jnp.arange(10)
---
def step_keys(root, steps):
    return jax.random.fold_in(root, steps)

keys = step_keys(root, steps)
---
def step_keys(root, steps):
    return jax.vmap(jax.random.fold_in, (None, 0))(root, steps)

keys = step_keys(root, steps)
---
cause: scalar; (10,)|[10]
names: steps; step_keys
fix: vmap

### key-of-a-key raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/16028
rng = jax.random.key(0)
---
rng, sub = jax.random.split(rng)
init_key = jax.random.key(sub)
---
rng, sub = jax.random.split(rng)
init_key = sub
---
cause: seed; key
names: sub
fix: sub|fold_in|split|already

### seed-of-several-numbers raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/25076
---
seeds = jnp.array([1, 2, 3])
keys = jax.random.PRNGKey(seeds)
---
seeds = jnp.array([1, 2, 3])
keys = jax.vmap(jax.random.PRNGKey)(seeds)
---
cause: scalar; (3,)|[3]
names: seeds
fix: vmap

### old-key-of-other-generator raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/17743
---
fast = jax.random.PRNGKey(0, impl="rbg")

def augment(key):
    flip, shift = jax.random.split(key)
    return jax.random.bernoulli(flip), jax.random.normal(shift)

out = augment(fast)
---
fast = jax.random.key(0, impl="rbg")

def augment(key):
    flip, shift = jax.random.split(key)
    return jax.random.bernoulli(flip), jax.random.normal(shift)

out = augment(fast)
---
cause: (4,)|[4]|4; (2,)|[2]|2
names: key; augment
fix: jax.random.key(|random.key|wrap_key_data|impl

### typed-key-into-old-carry raises=TypeError line=6
# https://docs.jax.dev/en/latest/jep/9263-typed-keys.html
root = jax.random.PRNGKey(0)
---
def walk(state, _):
    position, key = state
    key, sub = jax.random.split(key)
    position = position + jax.random.normal(sub)
    fresh = jax.random.wrap_key_data(key)
    return (position, fresh), position

final, path = lax.scan(walk, (0.0, root), None, length=5)
---
def walk(state, _):
    position, key = state
    key, sub = jax.random.split(key)
    position = position + jax.random.normal(sub)
    fresh = key
    return (position, fresh), position

final, path = lax.scan(walk, (0.0, root), None, length=5)
---
cause: key<fry>; uint32
names: walk; state
fix: PRNGKey|random.key|wrap_key_data|key_data

### pad-a-batch-of-keys raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/37484
keys = jax.random.split(jax.random.key(42), 20)
---
def padded(keys, size):
    missing = size - keys.shape[0]
    return lax.pad(keys, 0, ((0, missing, 0),))

full = padded(keys, 23)
---
def padded(keys, size):
    missing = size - keys.shape[0]
    return jnp.concatenate([keys, jax.random.split(keys[0], missing)])

full = padded(keys, 23)
---
cause: key; int
names: keys; padded
fix: concatenate|key_data|key|split

### haiku-dropout-without-a-key raises=MissingRNGError line=3 needs=haiku
# https://github.com/adobe-research/MetaAF/issues/11
import haiku as hk
def forward(x):
    x = hk.Linear(4)(x)
    return hk.dropout(hk.next_rng_key(), 0.1, x)
net = hk.transform(forward)
x = jnp.ones((2, 3))
params = net.init(jax.random.PRNGKey(0), x)
---
@jax.jit
def predict(params, x):
    return net.apply(params, None, x)

y = predict(params, x)
---
@jax.jit
def predict(params, x):
    return net.apply(params, jax.random.PRNGKey(1), x)

y = predict(params, x)
---
cause: key; None|non-None; random|dropout
names: net; predict
fix: random.key|PRNGKey|key
""",
    prelude=PRELUDE,
)
