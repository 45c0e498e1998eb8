"""Operands that do not fit."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"

CASES = written(
    "shapes",
    r"""
### dot-rows-by-rows raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.matmul.html
import jax.numpy as jnp
x, w = jnp.ones((2, 3)), jnp.ones((4, 3))
---
h = x + 0
y = h @ w
---
h = x + 0
y = h @ w.T
---
cause: contract|meet; 3; 4
names: h; w
fix: w.T

### dense-trained-on-other-width raises=TypeError line=2
# https://github.com/danijar/dreamerv3/issues/32
features = jnp.ones((16, 1041))
kernel = jnp.ones((1029, 512))
bias = jnp.zeros(512)
---
def dense(features, kernel, bias):
    return jax.nn.silu(features @ kernel + bias)

h = dense(features, kernel, bias)
---
def dense(features, kernel, bias):
    return jax.nn.silu(features[:, :1029] @ kernel + bias)

h = dense(features, kernel, bias)
---
cause: 1041; 1029
names: features; kernel; dense
fix: (1041, 512)|1041 rows|1029 columns|1041|1029

### matmul-kernel-not-transposed-under-jit raises=TypeError line=3
# https://github.com/patrick-kidger/equinox/issues/56
params = {"weight": jnp.ones((128, 784)), "bias": jnp.zeros(128)}
images = jnp.ones((32, 784))
---
@jax.jit
def forward(params, images):
    hidden = images @ params["weight"]
    return jax.nn.relu(hidden + params["bias"])

out = forward(params, images)
---
@jax.jit
def forward(params, images):
    hidden = images @ params["weight"].T
    return jax.nn.relu(hidden + params["bias"])

out = forward(params, images)
---
cause: 784; 128
names: images; weight; forward
fix: .T|transpose

### recurrent-dot-with-batch raises=TypeError line=2
# https://github.com/google-research/computation-thru-dynamics/issues/4
params = {"wR": jnp.ones((100, 100)), "wI": jnp.ones((100, 3)), "bR": jnp.zeros(100)}
h0, inputs = jnp.zeros((8, 100)), jnp.ones((8, 3))
---
def step(params, h, u):
    return jnp.tanh(jnp.dot(params["wR"], h) + jnp.dot(params["wI"], u) + params["bR"])

h1 = step(params, h0, inputs)
---
def step(params, h, u):
    return jnp.tanh(jnp.dot(params["wR"], h) + jnp.dot(params["wI"], u) + params["bR"])

h1 = jax.vmap(step, in_axes=(None, 0, 0))(params, h0, inputs)
---
cause: 100; 8
names: wR; h; step
fix: vmap|h.T|.T|transpose|jnp.dot(h

### emissions-batch-before-time raises=TypeError line=2
# https://github.com/probml/dynamax/issues/400
C = jnp.ones((5, 2))
emissions = jnp.ones((7, 50, 5))
---
centred = emissions - emissions.mean(axis=1, keepdims=True)
states = centred @ C.T
---
centred = emissions - emissions.mean(axis=1, keepdims=True)
states = centred @ C
---
cause: 5; 2
names: centred; C
fix: @ C|C.T|transpose

### loss-of-time-major-actions raises=TypeError line=2
# https://github.com/google/brax/issues/39
rewards = jnp.ones((1, 50, 32))
log_probs = jnp.ones((50, 32, 4))
---
def policy_loss(log_probs, rewards):
    weighted = log_probs * rewards
    return -weighted.mean()

loss = jax.jit(policy_loss)(log_probs, rewards)
---
def policy_loss(log_probs, rewards):
    weighted = log_probs * rewards[0][..., None]
    return -weighted.mean()

loss = jax.jit(policy_loss)(log_probs, rewards)
---
cause: (50, 32, 4)|50,32,4|50, 32, 4; (1, 50, 32)|1,50,32|1, 50, 32
names: log_probs; rewards; policy_loss
fix: None|newaxis|expand_dims|reshape|[0]|squeeze

### bias-of-rows-by-columns raises=ValueError line=1
# https://github.com/jax-ml/jax/issues/12305
logits = jnp.ones((20, 4))
row_max = jnp.ones((20,))
---
shifted = logits - row_max
probs = jnp.exp(shifted)
---
shifted = logits - row_max[:, None]
probs = jnp.exp(shifted)
---
cause: (20, 4)|20,4|20 and 4; (20,)|[20]|20 elements|20 entries
names: logits; row_max
fix: [:, None]|newaxis|keepdims|reshape|expand_dims|(20, 1)

### softmax-without-keepdims raises=ValueError line=3
# https://github.com/jax-ml/jax/pull/12308
scores = jnp.ones((8, 128))
---
def softmax(scores):
    e = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1)

weights = softmax(scores)
---
def softmax(scores):
    e = jnp.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

weights = softmax(scores)
---
cause: (8, 128)|8,128; (8,)|[8]
names: e; softmax
fix: keepdims

### layer-norm-in-class-without-keepdims raises=ValueError line=9
# https://github.com/jax-ml/jax/issues/12305
tokens = jnp.ones((12, 64))
---
class LayerNorm:
    def __init__(self, features):
        self.scale = jnp.ones(features)
        self.shift = jnp.zeros(features)

    def __call__(self, x):
        mean = x.mean(axis=1)
        var = x.var(axis=1, keepdims=True)
        normed = (x - mean) / jnp.sqrt(var + 1e-6)
        return normed * self.scale + self.shift

out = LayerNorm(64)(tokens)
---
class LayerNorm:
    def __init__(self, features):
        self.scale = jnp.ones(features)
        self.shift = jnp.zeros(features)

    def __call__(self, x):
        mean = x.mean(axis=1, keepdims=True)
        var = x.var(axis=1, keepdims=True)
        normed = (x - mean) / jnp.sqrt(var + 1e-6)
        return normed * self.scale + self.shift

out = LayerNorm(64)(tokens)
---
cause: (12, 64)|12,64; (12,)|[12]
names: x; mean
fix: keepdims|[:, None]|newaxis

### sample-positions-sub raises=ValueError line=3
# https://github.com/google-research/jax3d/issues/106
origins = jnp.zeros((4096, 3))
points = jnp.ones((4096, 64, 3))
---
@jax.jit
def distances(points, origins):
    offset = points - origins
    return jnp.sqrt((offset**2).sum(-1))

depth = distances(points, origins)
---
@jax.jit
def distances(points, origins):
    offset = points - origins[:, None]
    return jnp.sqrt((offset**2).sum(-1))

depth = distances(points, origins)
---
cause: (4096, 64, 3)|4096,64,3; (4096, 3)|4096,3
names: points; origins; distances
fix: None|newaxis|expand_dims|reshape

### lax-add-does-not-broadcast raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/7650
x = jnp.ones((16, 32))
bias = jnp.zeros(32)
---
h = jnp.tanh(x)
y = lax.add(h, bias)
---
h = jnp.tanh(x)
y = jnp.add(h, bias)
---
cause: number of dimensions|ranks|rank|2 dimensions|dimensions; (16, 32)|16,32; (32,)|[32]
names: h; bias
fix: jnp.add|+|[None|broadcast

### attention-mask-of-the-packed-batch raises=ValueError line=4
# https://github.com/LargeWorldModel/LWM/issues/62
query = jnp.ones((2, 8, 48, 64))
key = jnp.ones((2, 8, 48, 64))
mask = jnp.ones((2, 1, 1, 96), dtype=bool)
---
def attend(query, key, mask):
    scale = query.shape[-1] ** -0.5
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) * scale
    scores = jnp.where(mask, scores, -1e9)
    return jax.nn.softmax(scores, axis=-1)

attn = attend(query, key, mask)
---
def attend(query, key, mask):
    scale = query.shape[-1] ** -0.5
    scores = jnp.einsum("bhqd,bhkd->bhqk", query, key) * scale
    scores = jnp.where(mask[..., :48], scores, -1e9)
    return jax.nn.softmax(scores, axis=-1)

attn = attend(query, key, mask)
---
cause: 96; 48
names: mask; scores; attend
fix: 48

### likelihood-mask-of-fewer-dimensions raises=ValueError line=3
# https://github.com/pyro-ppl/numpyro/issues/1578
y = jnp.ones((100, 10, 5))
log_sigma = jnp.zeros((100, 10, 5))
observed = jnp.ones((100, 10), dtype=bool)
---
def log_likelihood(y, log_sigma, observed):
    logp = -0.5 * (y / jnp.exp(log_sigma)) ** 2 - log_sigma
    logp = jnp.where(observed, logp, 0.0)
    return logp.sum()

total = jax.jit(log_likelihood)(y, log_sigma, observed)
---
def log_likelihood(y, log_sigma, observed):
    logp = -0.5 * (y / jnp.exp(log_sigma)) ** 2 - log_sigma
    logp = jnp.where(observed[..., None], logp, 0.0)
    return logp.sum()

total = jax.jit(log_likelihood)(y, log_sigma, observed)
---
cause: (100, 10)|100,10; (100, 10, 5)|100,10,5
names: observed; logp
fix: None|newaxis|expand_dims|reshape

### plate-effects-of-wrong-axis raises=TypeError line=1
# https://github.com/pyro-ppl/numpyro/issues/2010
group = jnp.ones((4, 1, 1))
site = jnp.ones((2, 1, 3))
fraction = jnp.ones((2, 4, 3))
---
rate = group * site
mean = rate * fraction
---
rate = group[:, :, 0] * site
mean = rate * fraction
---
cause: (4, 1, 1)|4,1,1; (2, 1, 3)|2,1,3
names: group; site
fix: (1, 4, 1)|reshape|transpose|swapaxes|moveaxis|[None|size 1|axis|squeeze

### conv-image-channels-last raises=ValueError line=1
# https://github.com/jax-ml/jax/issues/3289
images = jnp.ones((16, 28, 28, 3))
kernel = jnp.ones((32, 3, 5, 5))
---
out = lax.conv(images, kernel, (1, 1), "SAME")
---
out = lax.conv(images.transpose(0, 3, 1, 2), kernel, (1, 1), "SAME")
---
cause: 28; 3; feature|channel
names: images; kernel
fix: transpose|NHWC|dimension_numbers|moveaxis

### conv-kernel-without-channel raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/380
digits = jnp.ones((10, 1, 40, 40))
filters = jnp.ones((8, 40, 3, 3))
---
@jax.jit
def conv_block(digits, filters):
    strides = (2, 2)
    h = lax.conv_general_dilated(digits, filters, strides, "SAME")
    return jax.nn.relu(h)

features = conv_block(digits, filters)
---
@jax.jit
def conv_block(digits, filters):
    strides = (2, 2)
    h = lax.conv_general_dilated(digits, filters[:, :1], strides, "SAME")
    return jax.nn.relu(h)

features = conv_block(digits, filters)
---
cause: 40; 1; feature|channel
names: digits; filters; conv_block
fix: 1|(8, 1, 3, 3)

### conv-single-image-without-batch raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/1920
image = jnp.ones((3, 32, 32))
kernel = jnp.ones((16, 3, 3, 3))
---
image = image / 255.0
edges = lax.conv(image, kernel, (1, 1), "VALID")
---
image = image / 255.0
edges = lax.conv(image[None], kernel, (1, 1), "VALID")
---
cause: 3 dimensions|3-dimensional|rank 3|(3, 32, 32)|[3,32,32]|ndim 3|ndim=3; 4|(16, 3, 3, 3)
names: image; kernel
fix: [None|newaxis|expand_dims|batch

### concatenate-of-padding-with-fewer-columns raises=TypeError line=4
# https://github.com/b-vanstraaten/QArray/pull/1
voltages = jnp.ones((100, 3))
---
def pad_to(voltages, size):
    missing = size - voltages.shape[0]
    padding = jnp.zeros((missing, 2))
    return jnp.concatenate([voltages, padding], axis=0)

batch = pad_to(voltages, 128)
---
def pad_to(voltages, size):
    missing = size - voltages.shape[0]
    padding = jnp.zeros((missing, 3))
    return jnp.concatenate([voltages, padding], axis=0)

batch = pad_to(voltages, 128)
---
cause: (100, 3)|100,3; (28, 2)|28,2
names: voltages; padding; pad_to
fix: axis|3|voltages.shape[1]

### concatenate-along-the-wrong-axis raises=TypeError line=1
# https://github.com/jax-ml/jax/issues/9934
left = jnp.ones((2, 6, 2))
right = jnp.ones((2, 9, 2))
---
both = jnp.concatenate([left, right])
---
both = jnp.concatenate([left, right], axis=1)
---
cause: (2, 6, 2)|2,6,2|6; (2, 9, 2)|2,9,2|9
names: left; right
fix: axis=1|axis 1

### concatenate-of-different-ranks raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/9934
state = jnp.ones((5, 12))
goal = jnp.zeros(5)
---
class Policy:
    kernel = jnp.ones((13, 2))
    def __call__(self, state, goal):
        obs = jnp.concatenate([state, goal], axis=-1)
        return obs @ self.kernel

action = Policy()(state, goal)
---
class Policy:
    kernel = jnp.ones((13, 2))
    def __call__(self, state, goal):
        obs = jnp.concatenate([state, goal[:, None]], axis=-1)
        return obs @ self.kernel

action = Policy()(state, goal)
---
cause: (5, 12)|5,12; (5,)|[5]; dimensions|rank
names: state; goal
fix: [:, None]|newaxis|expand_dims|reshape|(5, 1)

### stack-of-layers-of-other-widths raises=ValueError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.stack.html
layers = [jnp.ones((4, 16)), jnp.ones((4, 16)), jnp.ones((4, 8))]
---
scaled = [layer * 0.5 for layer in layers]
stacked = jnp.stack(scaled)
---
scaled = [layer * 0.5 for layer in layers]
stacked = jnp.concatenate(scaled, axis=1)
---
cause: (4, 16)|4,16|16; (4, 8)|4,8|8
names: scaled
fix: same shape|concatenate|pad|equal shape

### flatten-the-batch-too raises=TypeError line=3
# https://github.com/pyro-ppl/numpyro/issues/1091
maps = jnp.ones((16, 8, 8, 16))
kernel = jnp.ones((1024, 64))
---
@jax.jit
def head(maps, kernel):
    flat = maps.reshape(-1) @ kernel
    return jax.nn.relu(flat)

out = head(maps, kernel)
---
@jax.jit
def head(maps, kernel):
    flat = maps.reshape(maps.shape[0], -1) @ kernel
    return jax.nn.relu(flat)

out = head(maps, kernel)
---
cause: 16384; 1024
names: maps; kernel; head
fix: reshape(maps.shape[0], -1)|(16, -1)|(16, 1024)|batch|(-1, 1024)|reshape

### reshape-guidance-scale raises=TypeError line=2
# https://github.com/huggingface/diffusers/issues/1746
prompt_ids = jnp.ones((1, 77), dtype=jnp.int32)
guidance_scale = jnp.ones((1,))
---
batch_shape = prompt_ids.shape[:2]
guidance = guidance_scale.reshape(batch_shape)
---
batch_shape = prompt_ids.shape[:1]
guidance = guidance_scale.reshape(batch_shape)
---
cause: (1, 77)|1,77|77; (1,)|[1]|1 element|size 1
names: guidance_scale
fix: broadcast_to|shape[:1]|77|(1, 1)|(1,)

### reshape-heads-that-do-not-divide raises=TypeError line=4
# https://github.com/huggingface/diffusers/issues/2016
hidden = jnp.ones((4, 10, 100))
---
@jax.jit
def split_heads(hidden):
    batch, length, width = hidden.shape
    return hidden.reshape(batch, length, 8, -1)

heads = split_heads(hidden)
---
@jax.jit
def split_heads(hidden):
    batch, length, width = hidden.shape
    return hidden.reshape(batch, length, 10, -1)

heads = split_heads(hidden)
---
cause: 100|4000|(4, 10, 100); 8|320
names: hidden; split_heads
fix: divi|multiple|evenly|product

### reshape-digits-to-images raises=TypeError line=2
# https://github.com/google/flax/issues/2532
pixels = jnp.ones((32, 28, 28, 3))
---
pixels = pixels / 255.0
rows = pixels.reshape(32, 784)
---
pixels = pixels / 255.0
rows = pixels.reshape(32, -1)
---
cause: 75264|2352|(32, 28, 28, 3); 25088|784|(32, 784)
names: pixels
fix: 2352|-1

### einsum-operands-swapped raises=ValueError line=1
# https://github.com/google-deepmind/dm-haiku/issues/116
queries = jnp.ones((2, 7, 13))
keys = jnp.ones((2, 9, 11))
---
scores = jnp.einsum("bqd,bkd->bqk", queries, keys)
---
scores = jnp.einsum("bqd,bke->bqk", queries, keys)
---
cause: 'd'|"d"|`d`|label d|index d|letter d|axis d; 13; 11
names: queries; keys
fix: same size|equal|11|13|label

### einsum-in-the-order-of-another-call raises=ValueError line=3
# https://github.com/google-deepmind/dm-haiku/issues/116
params = {"w_out": jnp.ones((8, 64, 512))}
attn = jnp.ones((4, 20, 8, 64))
---
def project(params, attn):
    kernel = params["w_out"]
    return jnp.einsum("bthd,hdm->btm", kernel, attn)

out = jax.jit(project)(params, attn)
---
def project(params, attn):
    kernel = params["w_out"]
    return jnp.einsum("bthd,hdm->btm", attn, kernel)

out = jax.jit(project)(params, attn)
---
cause: (8, 64, 512)|8,64,512|3 dimensions|3; bthd|4 labels|4 letters|4 subscripts|four
names: kernel; attn; project
fix: attn, kernel|order|swap|exchange

### einsum-label-missing-for-batch raises=ValueError line=2
# https://github.com/dgasmith/opt_einsum/issues/130
heads = jnp.ones((6, 5, 32))
weights = jnp.ones((32, 16))
---
heads = jax.nn.gelu(heads)
mixed = jnp.einsum("td,dm->tm", heads, weights)
---
heads = jax.nn.gelu(heads)
mixed = jnp.einsum("btd,dm->btm", heads, weights)
---
cause: td; 3|(6, 5, 32)|6,5,32
names: heads
fix: btd|...td|...|third label|one label|another label

### einsum-batch-sizes-differ raises=ValueError line=3
# https://github.com/jax-ml/jax/issues/2189
cov = jnp.ones((12, 3, 3))
delta = jnp.ones((4, 3))
---
@jax.jit
def mahalanobis(cov, delta):
    white = jnp.einsum("nij,nj->ni", jnp.linalg.inv(cov + jnp.eye(3)), delta)
    return (white * delta).sum(-1)

dist = mahalanobis(cov, delta)
---
@jax.jit
def mahalanobis(cov, delta):
    white = jnp.einsum("nij,nj->ni", jnp.linalg.inv(cov[:4] + jnp.eye(3)), delta)
    return (white * delta).sum(-1)

dist = mahalanobis(cov, delta)
---
cause: 'n'|"n"|`n`|label n|index n|letter n|axis n; 12; 4
names: delta; mahalanobis
fix: 12|4|same size|equal|label

### where-branches-of-other-lengths raises=ValueError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.where.html
returns = jnp.ones(128)
values = jnp.ones(129)
---
def advantage(returns, values):
    done = returns > 0.5
    return jnp.where(done, returns, values)

adv = advantage(returns, values)
---
def advantage(returns, values):
    done = returns > 0.5
    return jnp.where(done, returns, values[:-1])

adv = advantage(returns, values)
---
cause: 128; 129
names: returns; values; advantage
fix: [:-1]|[1:]|[:128]|128|slice

### lax-select-of-scalar raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/9868
grads = jnp.ones((10, 3))
---
finite = jnp.isfinite(grads)
safe = lax.select(finite, grads, 0.0)
---
finite = jnp.isfinite(grads)
safe = jnp.where(finite, grads, 0.0)
---
cause: (10, 3)|10,3; ()|scalar|[]
names: grads
fix: jnp.where|zeros_like|full_like|broadcast

### vmap-over-batch-that-layer-does-not-see raises=ValueError line=2
# https://github.com/patrick-kidger/equinox/issues/205
weight, bias = jnp.ones((8, 10)), jnp.zeros(8)
batch = jnp.ones((10, 100))
---
def linear(x):
    return weight @ x + bias

out = linear(batch)
---
def linear(x):
    return weight @ x + bias

out = jax.vmap(linear, in_axes=1)(batch)
---
cause: (8, 100)|8,100; (8,)|[8]
names: bias; linear
fix: vmap|bias[:, None]|None|newaxis|reshape

### equinox-linear-of-a-batch raises=TypeError line=2 needs=equinox
# https://github.com/patrick-kidger/equinox/issues/454
import equinox as eqx
tokens = jnp.ones((20, 48))
---
layer = eqx.nn.Linear(48, 96, key=jax.random.key(0))
hidden = layer(tokens)
---
layer = eqx.nn.Linear(48, 96, key=jax.random.key(0))
hidden = jax.vmap(layer)(tokens)
---
cause: 48; 20
names: tokens; layer
fix: vmap

### equinox-vmap-once-for-two-axes raises=TypeError line=4 needs=equinox
# https://github.com/patrick-kidger/equinox/issues/662
import equinox as eqx
patches = jnp.ones((3, 16, 64))
---
class Mixer:
    proj = eqx.nn.Linear(64, 32, key=jax.random.key(1))
    def __call__(self, patches):
        return jax.vmap(self.proj)(patches)

mixed = Mixer()(patches)
---
class Mixer:
    proj = eqx.nn.Linear(64, 32, key=jax.random.key(1))
    def __call__(self, patches):
        return jax.vmap(jax.vmap(self.proj))(patches)

mixed = Mixer()(patches)
---
cause: 64; 16
names: patches; proj
fix: vmap(jax.vmap|twice|nested|another vmap|vmap

### flax-dense-applied-to-other-width raises=ScopeParamShapeError line=2 needs=flax
# https://github.com/google/flax/issues/2941
import flax.linen as nn
model = nn.Dense(4)
params = model.init(jax.random.key(0), jnp.ones(5))
---
test = jnp.ones(3)
out = model.apply(params, test)
---
test = jnp.ones(5)
out = model.apply(params, test)
---
cause: (5, 4)|5,4; (3, 4)|3,4
names: kernel; test
fix: 5

### mask-of-the-other-split raises=IndexError line=2
# https://github.com/jax-ml/jax/issues/7329
losses = jnp.arange(64.0)
valid = jnp.ones(32, dtype=bool)
---
scaled = losses * 2
kept = scaled[valid]
---
scaled = losses * 2
kept = scaled[:32][valid]
---
cause: 64; 32; bool|mask
names: scaled; valid
fix: 64|32|length|same size|same shape

### mask-of-columns-for-rows raises=IndexError line=3
# https://github.com/jax-ml/jax/issues/18542
table = jnp.ones((6, 4))
---
def select(table):
    nonzero = table.any(axis=0)
    return table[nonzero]

columns = select(table)
---
def select(table):
    nonzero = table.any(axis=0)
    return table[:, nonzero]

columns = select(table)
---
cause: (6, 4)|6,4|6; (4,)|[4]|4
names: table; nonzero; select
fix: [:, nonzero]|axis=1|second axis

### cache-update-without-batch-axis raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/2427
cache = jnp.zeros((2, 128, 64))
new_key = jnp.ones((1, 64))
---
def write(cache, new_key, index):
    return lax.dynamic_update_slice(cache, new_key, (0, index, 0))

cache = jax.jit(write)(cache, new_key, 5)
---
def write(cache, new_key, index):
    return lax.dynamic_update_slice(cache, new_key[None], (0, index, 0))

cache = jax.jit(write)(cache, new_key, 5)
---
cause: (2, 128, 64)|2,128,64|3; (1, 64)|1,64|2; dimensions|rank
names: cache; new_key
fix: None|newaxis|expand_dims|reshape|(1, 1, 64)

### cache-update-longer-than-the-cache raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/16592
cache = jnp.zeros((64, 16))
chunk = jnp.ones((80, 16))
---
@jax.jit
def append(cache, chunk, start):
    return lax.dynamic_update_slice_in_dim(cache, chunk, start, axis=0)

cache = append(cache, chunk, 0)
---
@jax.jit
def append(cache, chunk, start):
    return lax.dynamic_update_slice_in_dim(cache, chunk[:64], start, axis=0)

cache = append(cache, chunk, 0)
---
cause: 80; 64
names: cache; chunk; append
fix: 64|80|larger|smaller|fit

### set-row-with-longer-row raises=ValueError line=3
# https://github.com/jax-ml/jax/issues/1380
trajectory = jnp.zeros((50, 4))
x = jnp.ones(6)
---
def record(trajectory, x):
    moved = x + 0.1
    return trajectory.at[0].set(moved)

trajectory = record(trajectory, x)
---
def record(trajectory, x):
    moved = x + 0.1
    return trajectory.at[0].set(moved[:4])

trajectory = record(trajectory, x)
---
cause: (6,)|[6]|6; (4,)|[4]|4
names: moved; trajectory
fix: 4|6|slice|same

### set-element-to-vector raises=ValueError line=2
# https://github.com/jax-ml/jax/issues/1403
counts = jnp.zeros(10)
---
updates = jnp.ones(2)
counts = counts.at[3].set(updates)
---
updates = jnp.ones(2)
counts = counts.at[3:5].set(updates)
---
cause: (2,)|[2]; ()|scalar|one element|single
names: counts; updates
fix: 3:5|slice|scalar|updates[

### solve-with-batched-vectors raises=ValueError line=1
# https://github.com/probml/dynamax/issues/389
weights = jnp.ones((5, 2, 2)) * 0.3
biases = jnp.ones((5, 2))
---
stationary = jnp.linalg.solve(jnp.eye(2) - weights, biases)
---
stationary = jnp.linalg.solve(jnp.eye(2) - weights, biases[..., None])[..., 0]
---
cause: (5, 2, 2)|5,2,2; (5, 2)|5,2
names: biases
fix: [..., None]|None|newaxis|expand_dims

### solve-with-other-length raises=ValueError line=3
# https://github.com/jax-ml/jax/issues/826
design = jnp.ones((30, 4))
target = jnp.ones(30)
---
def least_squares(design, target):
    gram = design.T @ design + jnp.eye(4)
    return jnp.linalg.solve(gram, target)

coefficients = least_squares(design, target)
---
def least_squares(design, target):
    gram = design.T @ design + jnp.eye(4)
    return jnp.linalg.solve(gram, design.T @ target)

coefficients = least_squares(design, target)
---
cause: (4, 4)|4,4|4; (30,)|[30]|30
names: gram; target
fix: 4|design.T @ target|rows|length

### inverse-of-non-square raises=ValueError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.linalg.inv.html
jacobian = jnp.ones((6, 3))
---
scaled = jacobian * 2.0
inverse = jnp.linalg.inv(scaled)
---
scaled = jacobian * 2.0
inverse = jnp.linalg.pinv(scaled)
---
cause: square; (6, 3)|6,3
names: scaled
fix: pinv|lstsq|square

### one-hot-labels-of-other-count raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/2697
logits = jnp.ones((64, 10))
labels = jnp.zeros(64, dtype=jnp.int32)
---
@jax.jit
def cross_entropy(logits, labels):
    onehot = jax.nn.one_hot(labels, 12)
    return -(onehot * jax.nn.log_softmax(logits)).sum(-1).mean()

loss = cross_entropy(logits, labels)
---
@jax.jit
def cross_entropy(logits, labels):
    onehot = jax.nn.one_hot(labels, 10)
    return -(onehot * jax.nn.log_softmax(logits)).sum(-1).mean()

loss = cross_entropy(logits, labels)
---
cause: (64, 12)|64,12|12; (64, 10)|64,10|10
names: onehot; cross_entropy
fix: 10|logits.shape[-1]

### residual-in-scan-of-other-width raises=TypeError line=3
# https://github.com/google-research/computation-thru-dynamics/issues/4
kernels = jnp.ones((4, 32, 24))
x = jnp.ones((5, 32))
---
def run(x, kernels):
    def block(h, kernel):
        return h + jax.nn.relu(h @ kernel.T @ kernel), None
    return lax.scan(block, x, kernels)[0]

out = run(x, kernels)
---
def run(x, kernels):
    def block(h, kernel):
        return h + jax.nn.relu(h @ kernel @ kernel.T), None
    return lax.scan(block, x, kernels)[0]

out = run(x, kernels)
---
cause: 32; 24
names: h; kernel; block
fix: h @ kernel|transpose|.T|order

### grad-of-mse-with-last-axis raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/2697
params = jnp.ones((3, 2))
inputs, targets = jnp.ones((8, 3)), jnp.ones((8, 3))
---
def mse(params, inputs, targets):
    preds = inputs @ params
    return jnp.mean((preds - targets) ** 2)

grads = jax.grad(mse)(params, inputs, targets)
---
def mse(params, inputs, targets):
    preds = inputs @ params
    return jnp.mean((preds - targets[:, :2]) ** 2)

grads = jax.grad(mse)(params, inputs, targets)
---
cause: (8, 2)|8,2; (8, 3)|8,3
names: preds; targets; mse
fix: 2|3|columns|width

### broadcast-to-axes-in-wrong-place raises=ValueError line=1
# https://github.com/jax-ml/jax/pull/20536
gains = jnp.ones(6)
---
plane = jnp.broadcast_to(gains, (6, 20))
---
plane = jnp.broadcast_to(gains[:, None], (6, 20))
---
cause: (6,)|[6]; (6, 20)|6,20
names: gains
fix: [:, None]|newaxis|(20, 6)|reshape|(6, 1)

### nested-helper-dot-of-vector raises=TypeError line=5
# https://theneuralbase.com/jax/learn/beginner/shape-mismatch-in-vmap/
embed = jnp.ones((50, 24))
proj = jnp.ones((32, 7))
ids = jnp.arange(12)
---
def encode(token):
    return embed[token]

def score(token):
    return encode(token) @ proj

logits = jax.vmap(score)(ids)
---
def encode(token):
    return embed[token]

def score(token):
    return encode(token) @ proj[:24]

logits = jax.vmap(score)(ids)
---
cause: 24; 32
names: proj; score
fix: 24|32

### concatenate-without-a-tuple raises=ValueError line=3
# https://github.com/numpy/numpy/issues/9549
wave = jnp.sin(jnp.arange(12.0))
---
half = wave.size // 2
silence = jnp.zeros(half)
padded = jnp.concatenate(wave, silence)
---
half = wave.size // 2
silence = jnp.zeros(half)
padded = jnp.concatenate((wave, silence))
---
cause: concatenate; axis|tuple|list|sequence
names: wave; silence
fix: (wave, silence)|[wave, silence]

### row-written-with-one-start-index raises=ValueError line=5
# https://github.com/jax-ml/jax/issues/204
first_row = jnp.array([1.0, 2.0, 3.0])
---
def pad_rows(row, length):
    width = row.shape[0]
    table = jnp.zeros((length, width))
    as_rows = row.reshape(1, width)
    return lax.dynamic_update_slice(table, as_rows, (0,))

padded = pad_rows(first_row, 4)
---
def pad_rows(row, length):
    width = row.shape[0]
    table = jnp.zeros((length, width))
    as_rows = row.reshape(1, width)
    return lax.dynamic_update_slice(table, as_rows, (0, 0))

padded = pad_rows(first_row, 4)
---
cause: start; 1|one; 2|two
names: table; pad_rows
fix: (0, 0)

### draws-of-a-shape-that-drops-the-batch raises=ValueError line=3
# https://github.com/jax-ml/jax/issues/13124
key = jax.random.key(0)
logits = jnp.ones((4, 10))
---
def draw(key, logits, n):
    centred = logits - logits.max(axis=-1, keepdims=True)
    return jax.random.categorical(key, centred, shape=(4, n))

tokens = draw(key, logits, 8)
---
def draw(key, logits, n):
    centred = logits - logits.max(axis=-1, keepdims=True)
    return jax.random.categorical(key, centred, shape=(n, 4))

tokens = draw(key, logits, 8)
---
cause: (4, 8)|4, 8|4,8; (4,)|batch
names: centred|logits; draw
fix: (n, 4)|(8, 4)
""",
    prelude=PRELUDE,
)
