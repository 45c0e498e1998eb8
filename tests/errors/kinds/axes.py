"""Axes to map over: their sizes, their structure, their names."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nfrom functools import partial\n"

CASES = written(
    "axes",
    r"""
### vmap-sizes-by-other-axis raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/705
X, U = jnp.ones((10, 4)), jnp.ones((10, 2))
---
def cost(x, u):
    return jnp.sum(x**2) + jnp.sum(u**2)

costs = jax.vmap(cost, in_axes=(0, 1))(X, U)
---
def cost(x, u):
    return jnp.sum(x**2) + jnp.sum(u**2)

costs = jax.vmap(cost, in_axes=(0, 0))(X, U)
---
cause: 10; 2
names: cost; u|U
fix: (0, 0)|in_axes|axis 0

### vmap-inputs-and-labels-of-other-length raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/3877
images, labels = jnp.ones((64, 28)), jnp.ones(60)
---
@jax.jit
def losses(images, labels):
    per_example = lambda image, label: (image.mean() - label) ** 2
    return jax.vmap(per_example)(images, labels).mean()

loss = losses(images, labels)
---
@jax.jit
def losses(images, labels):
    per_example = lambda image, label: (image.mean() - label) ** 2
    return jax.vmap(per_example)(images[:60], labels).mean()

loss = losses(images, labels)
---
cause: 64; 60
names: image; label
fix: 60|64|same|equal|length

### vmap-params-not-mapped raises=ValueError line=5
# https://github.com/jax-ml/jax/pull/2530
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
x = jnp.ones((16, 3))
---
def predict(params, x):
    return x @ params["w"] + params["b"]

def apply(params, x):
    return jax.vmap(predict)(params, x)

y = apply(params, x)
---
def predict(params, x):
    return x @ params["w"] + params["b"]

def apply(params, x):
    return jax.vmap(predict, in_axes=(None, 0))(params, x)

y = apply(params, x)
---
cause: 3; 16
names: params; predict
fix: in_axes=(None, 0)|None

### vmap-too-few-in-axes raises=ValueError line=4
# https://openillumi.com/?p=107659
params, x, y = jnp.ones(3), jnp.ones((8, 3)), jnp.ones(8)
---
def loss(params, x, y):
    return (x @ params - y) ** 2

losses = jax.vmap(loss, in_axes=(None, 0))(params, x, y)
---
def loss(params, x, y):
    return (x @ params - y) ** 2

losses = jax.vmap(loss, in_axes=(None, 0, 0))(params, x, y)
---
cause: 2|two; 3|three
names: loss
fix: (None, 0, 0)|one entry|each argument|three

### vmap-in-axes-nested-pairs raises=ValueError line=4
# https://boohere.com/kr/detail/123872.html
X, Y = jnp.ones((3, 3)), jnp.ones((3, 3))
---
def add(x, y):
    return x + y

Z = jax.vmap(add, in_axes=((0, 1), (0, 1)))(X, Y)
---
def add(x, y):
    return x + y

Z = jax.vmap(jax.vmap(add))(X, Y)
---
cause: in_axes; (0, 1)|tuple|structure|prefix
names: add
fix: vmap(jax.vmap|twice|nest|integer|int

### vmap-in-axes-as-a-list raises=TypeError line=3
# https://github.com/patrick-kidger/diffrax/issues/538
rates, y0 = jnp.ones(7), jnp.ones((2, 7))
---
def solve(rate, y0):
    return y0 * jnp.exp(-rate)
solutions = jax.vmap(solve, in_axes=["0", 1])(rates, y0)
---
def solve(rate, y0):
    return y0 * jnp.exp(-rate)
solutions = jax.vmap(solve, in_axes=[0, 1])(rates, y0)
---
cause: int; str|'0'
names: solve
fix: [0, 1]|(0, 1)|0|integer

### vmap-nothing-mapped raises=ValueError line=1
# https://github.com/jax-ml/jax/issues/5021
w = jnp.ones(4)
---
out = jax.vmap(lambda w: w * 2, in_axes=None)(w)
---
out = jax.vmap(lambda w: w * 2, in_axes=0)(w)
---
cause: None; in_axes
names:
fix: in_axes=0|axis_size|at least one|0

### vmap-over-a-scalar raises=ValueError line=4
# https://github.com/jax-ml/jax/pull/2530
x, sigma = jnp.ones((5, 2)), jnp.array(0.1)
---
def noisy(x, sigma):
    return x + sigma

y = jax.vmap(noisy)(x, sigma)
---
def noisy(x, sigma):
    return x + sigma

y = jax.vmap(noisy, in_axes=(0, None))(x, sigma)
---
cause: rank 0|scalar|no axis|()|at least 1|0-d
names: sigma; noisy
fix: None

### vmap-axis-beyond-the-rank raises=ValueError line=3
# https://theneuralbase.com/jax/learn/beginner/in-axes-specifying-batch-dimensions/
signals = jnp.ones((32, 100))
---
class Encoder:
    def batch(self, signals):
        return jax.vmap(jnp.fft.rfft, in_axes=2)(signals)

spectra = Encoder().batch(signals)
---
class Encoder:
    def batch(self, signals):
        return jax.vmap(jnp.fft.rfft, in_axes=0)(signals)

spectra = Encoder().batch(signals)
---
cause: 2; (32, 100)|32,100|rank 2|2 dimensions|two
names: signals|rfft
fix: in_axes=0|0|1

### vmap-keyword-of-other-size raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/24406
x, shift = jnp.ones(6), jnp.ones(1)
---
def moved(x, shift):
    return x + shift

y = jax.vmap(moved)(x, shift=shift)
---
def moved(x, shift):
    return x + shift

y = jax.vmap(moved)(x, shift=jnp.ones(6))
---
cause: 6; 1
names: shift; moved
fix: in_axes|partial|positional|lambda|6

### vmap-in-axes-dict-with-other-keys raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/26053
stack = {"kernel": jnp.ones((4, 3, 3)), "bias": jnp.ones(3)}
---
def layer(params):
    return params["kernel"].sum() + params["bias"].sum()

outs = jax.vmap(layer, in_axes=({"kernel": 0},))(stack)
---
def layer(params):
    return params["kernel"].sum() + params["bias"].sum()

outs = jax.vmap(layer, in_axes=({"kernel": 0, "bias": None},))(stack)
---
cause: in_axes; bias|keys|structure|prefix
names: layer
fix: "bias": None|bias|None

### vmap-out-axes-of-other-structure raises=ValueError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.vmap.html
x = jnp.ones((5, 3))
---
def moments(x):
    return x.mean(), x.var()

means, variances = jax.jit(jax.vmap(moments, out_axes=(0, 0, 0)))(x)
---
def moments(x):
    return x.mean(), x.var()

means, variances = jax.jit(jax.vmap(moments, out_axes=(0, 0)))(x)
---
cause: out_axes; 3|three|structure|prefix|(0, 0, 0)
names: moments
fix: (0, 0)|out_axes=0|two

### vmap-out-axes-none-of-mapped raises=ValueError line=4
# https://github.com/jax-ml/jax/pull/3179
x = jnp.ones((5, 3))
---
def normalize(x):
    return x / x.sum(), x.sum()

normed, total = jax.vmap(normalize, out_axes=(0, None))(x)
---
def normalize(x):
    return x / x.sum(), x.sum()

normed, total = jax.vmap(normalize, out_axes=(0, 0))(x)
---
cause: out_axes; None
names: normalize
fix: (0, 0)|out_axes=0|psum|0

### pmean-without-axis-name raises=NameError line=3
# https://github.com/jax-ml/jax/issues/1347
grads = jnp.ones((4, 3))
---
@jax.jit
def average(grads):
    return lax.pmean(grads, "batch")

mean = average(grads)
---
@partial(jax.vmap, axis_name="batch")
def average(grads):
    return lax.pmean(grads, "batch")

mean = average(grads)
---
cause: batch; bound|axis name|no axis
names: average
fix: axis_name|vmap|pmap|shard_map|mean(

### psum-name-not-given-to-vmap raises=NameError line=4
# https://github.com/jax-ml/jax/issues/3120
x = jnp.ones((4, 3))
---
class Norm:
    def __call__(self, x):
        total = x.sum()
        return x / lax.psum(total, axis_name="batch")

y = jax.vmap(Norm())(x)
---
class Norm:
    def __call__(self, x):
        total = x.sum()
        return x / lax.psum(total, axis_name="batch")

y = jax.vmap(Norm(), axis_name="batch")(x)
---
cause: batch; bound|axis name|no axis
names: total|Norm
fix: axis_name="batch"|axis_name

### axis-name-misspelt raises=NameError line=6
# https://github.com/google/jaxopt/issues/436
params = jnp.ones(3)
data = jnp.ones((8, 2, 3))
---
def loss(params, x):
    return jnp.mean((x @ params) ** 2)

def step(params, x):
    grads = jax.grad(loss)(params, x)
    grads = lax.pmean(grads, axis_name="device")
    return params - 0.1 * grads

new = jax.vmap(step, in_axes=(None, 0), axis_name="devices")(params, data)
---
def loss(params, x):
    return jnp.mean((x @ params) ** 2)

def step(params, x):
    grads = jax.grad(loss)(params, x)
    grads = lax.pmean(grads, axis_name="devices")
    return params - 0.1 * grads

new = jax.vmap(step, in_axes=(None, 0), axis_name="devices")(params, data)
---
cause: device; devices
names: step
fix: devices

### pmap-params-not-replicated raises=IndivisibleError line=5 devices=8
# https://github.com/jax-ml/jax/issues/9933
params = {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}
batch = jnp.ones((8, 4, 3))
---
@jax.pmap
def forward(params, batch):
    return batch @ params["w"] + params["b"]

out = forward(params, batch)
---
@partial(jax.pmap, in_axes=(None, 0))
def forward(params, batch):
    return batch @ params["w"] + params["b"]

out = forward(params, batch)
---
cause: 3|2; 8
names: params; forward
fix: in_axes=(None, 0)|None|replicate|broadcast|stack

### pmap-over-more-than-the-devices raises=ValueError line=2 devices=8
# https://github.com/jax-ml/jax/issues/13137
images = jnp.ones((128, 4, 4))
---
augment = jax.pmap(lambda image: image[::-1])
out = augment(images)
---
augment = jax.vmap(lambda image: image[::-1])
out = augment(images)
---
cause: 128; 8; device
names: images
fix: reshape|vmap|(8, 16|divide|split

### shard-batch-not-divisible raises=TypeError line=2
# https://github.com/google/objax/pull/52
batch = jnp.ones((30, 3))
devices = 4
---
per_device = batch.shape[0] // devices
shards = batch.reshape(devices, per_device, 3)
---
per_device = batch.shape[0] // devices
shards = batch[: devices * per_device].reshape(devices, per_device, 3)
---
cause: 90|30; 84|(4, 7, 3)|4
names: batch
fix: divi|multiple|drop|pad|[:|28

### sharding-does-not-divide raises=ValueError line=3 devices=8
# https://github.com/Physical-Intelligence/openpi/issues/437
from jax.sharding import NamedSharding, PartitionSpec
batch = jnp.ones((30, 3))
---
mesh = jax.make_mesh((8,), ("data",))
sharding = NamedSharding(mesh, PartitionSpec("data"))
batch = jax.device_put(batch, sharding)
---
mesh = jax.make_mesh((8,), ("data",))
sharding = NamedSharding(mesh, PartitionSpec("data"))
batch = jax.device_put(batch[:24], sharding)
---
cause: 30; 8; divi
names: batch
fix: divi|multiple|24|32|pad

### reduction-axis-beyond-the-rank raises=IndexError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.mean.html
tokens = jnp.ones((12, 64))
---
def pool(tokens):
    hidden = jnp.tanh(tokens)
    return hidden.mean(axis=2)

pooled = jax.jit(pool)(tokens)
---
def pool(tokens):
    hidden = jnp.tanh(tokens)
    return hidden.mean(axis=1)

pooled = jax.jit(pool)(tokens)
---
cause: axis 2|axis=2|2; (12, 64)|12,64|two|2 dimensions|dimension 2
names: hidden; pool
fix: axis=1|1|-1

### axis-of-the-batch-inside-vmap raises=ValueError line=2
# https://theneuralbase.com/jax/learn/beginner/shape-mismatch-in-vmap/
sequences = jnp.ones((16, 50))
---
def smooth(sequence):
    return jnp.cumsum(sequence, axis=1) / 50

out = jax.vmap(smooth)(sequences)
---
def smooth(sequence):
    return jnp.cumsum(sequence, axis=0) / 50

out = jax.vmap(smooth)(sequences)
---
cause: 1; (50,)|[50]|one dimension|1 dimension|dimension 1
names: sequence; smooth
fix: axis=0|vmap|0|-1

### transpose-with-too-few-axes raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/3289
images = jnp.ones((2, 28, 28, 3))
---
def to_channels_first(images):
    return jnp.transpose(images, (2, 0, 1))

first = to_channels_first(images)
---
def to_channels_first(images):
    return jnp.transpose(images, (0, 3, 1, 2))

first = to_channels_first(images)
---
cause: 3|three; 4|four|(2, 28, 28, 3)
names: images; to_channels_first
fix: (0, 3, 1, 2)|all|four|4|vmap
""",
    prelude=PRELUDE,
)
