"""Modules of flax.linen whose variables, keys or shapes are given in the wrong way."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "linen_more",
    r"""
### linen-statistics-left-out raises=ScopeCollectionNotFound line=2
# https://flax-linen.readthedocs.io/en/latest/guides/training_techniques/batch_norm.html
class Net(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        return nn.BatchNorm(use_running_average=not train)(nn.Dense(2)(x))

net, x = Net(), jnp.ones((4, 3))
variables = net.init(jax.random.key(0), x)
---
params = variables["params"]
y = net.apply({"params": params}, x)
---
params = variables["params"]
y = net.apply({"params": params, "batch_stats": variables["batch_stats"]}, x)
---
cause: batch_stats; BatchNorm; mean
names: net
fix: "batch_stats": variables["batch_stats"]|net.apply(variables, x)

### linen-weight-made-by-zeros raises=TypeError line=4
# https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/flax_basics.html
x = jnp.ones((4, 3))
---
class Shift(nn.Module):
    @nn.compact
    def __call__(self, x):
        shift = self.param("shift", jnp.zeros, (x.shape[-1],))
        return x + shift

params = Shift().init(jax.random.key(0), x)
---
class Shift(nn.Module):
    @nn.compact
    def __call__(self, x):
        shift = self.param("shift", nn.initializers.zeros, (x.shape[-1],))
        return x + shift

params = Shift().init(jax.random.key(0), x)
---
cause: shift; jnp.zeros; key
names: shift
fix: nn.initializers.zeros

### linen-kernel-size-is-a-number raises=TypeError line=5
# https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/layers.html
image = jnp.ones((1, 8, 8, 3))
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(x)
        return nn.avg_pool(x, 2, strides=(2, 2))

out = Net().apply({}, image)
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.relu(x)
        return nn.avg_pool(x, (2, 2), strides=(2, 2))

out = Net().apply({}, image)
---
cause: avg_pool; tuple; window_shape
names: x
fix: (2, 2)

### linen-embedding-of-floats raises=ValueError line=2
# https://flax-linen.readthedocs.io/en/latest/api_reference/flax.linen/layers.html
embed, ids = nn.Embed(10, 4), jnp.array([1.0, 2.0])
variables = embed.init(jax.random.key(0), jnp.array([1]))
---
scale = 2.0
vectors = embed.apply(variables, ids) * scale
---
scale = 2.0
vectors = embed.apply(variables, ids.astype(int)) * scale
---
cause: ids; float32; integer
names: ids
fix: ids.astype(int)

### linen-dense-with-torch-arguments raises=TypeError line=4
# https://flax-linen.readthedocs.io/en/latest/guides/converting_and_upgrading/convert_pytorch_to_flax.html
x = jnp.ones((4, 3))
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(out_features=2, bias=False)(x)

params = Net().init(jax.random.key(0), x)
---
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(features=2, use_bias=False)(x)

params = Net().init(jax.random.key(0), x)
---
cause: Dense; out_features; features
names: out_features
fix: nn.Dense(features=2, use_bias=False)

### linen-init-without-an-input raises=TypeError line=2
# https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/flax_basics.html
class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Dense(2)(x)

net, x = Net(), jnp.ones((4, 3))
---
key = jax.random.key(0)
variables = net.init(key)
---
key = jax.random.key(0)
variables = net.init(key, x)
---
cause: init; x
names: net|Net; x
fix: net.init(key, x)

### linen-apply-without-the-variables raises=TypeError line=3
# https://flax-linen.readthedocs.io/en/latest/guides/flax_fundamentals/flax_basics.html
net, x = nn.Dense(2), jnp.ones((4, 3))
---
variables = net.init(jax.random.key(0), x)
scale = 2.0
y = scale * net.apply(x)
---
variables = net.init(jax.random.key(0), x)
scale = 2.0
y = scale * net.apply(variables, x)
---
cause: apply; variables
names: net; x
fix: net.apply(variables, x)
""",
    prelude="import flax.linen as nn\nimport jax\nimport jax.numpy as jnp\n",
    needs=("flax",),
)
