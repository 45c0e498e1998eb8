"""Modules of haiku that are made, initialised or applied in the wrong way."""

from tests.errors.case import written

__all__ = ["CASES"]

CASES = written(
    "haiku",
    r"""
### haiku-layer-made-at-the-top raises=ValueError line=2
# https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html
x = jnp.ones((4, 3))
---
key = jax.random.key(0)
layer = hk.Linear(2)
y = layer(x)
---
key = jax.random.key(0)
layer = hk.transform(lambda x: hk.Linear(2)(x))
y = layer.apply(layer.init(key, x), None, x)
---
cause: Linear; transform
names: layer|Linear
fix: hk.transform

### haiku-function-called-untransformed raises=ValueError line=2
# https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html
x = jnp.ones((4, 3))
---
def forward(x):
    return hk.nets.MLP([8, 2])(x)

key = jax.random.key(0)
y = forward(x)
---
def forward(x):
    return hk.nets.MLP([8, 2])(x)

key = jax.random.key(0)
net = hk.transform(forward)
y = net.apply(net.init(key, x), None, x)
---
cause: MLP; transform
names: forward
fix: hk.transform

### haiku-apply-without-the-key raises=ValueError line=6
# https://github.com/google-deepmind/dm-haiku/pull/60
x = jnp.ones((4, 3))
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.transform(forward)
params = net.init(jax.random.key(0), x)
y = net.apply(params, x)
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.transform(forward)
params = net.init(jax.random.key(0), x)
y = net.apply(params, None, x)
---
cause: apply; rng|key; second
names: x
fix: net.apply(params, None, x)

### haiku-dropout-with-no-key raises=MissingRNGError line=2
# https://github.com/kingoflolz/mesh-transformer-jax/issues/173
x = jnp.ones((4, 3))
---
def forward(x):
    return hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(2)(x))

net = hk.transform(forward)
params = net.init(jax.random.key(0), x)
y = net.apply(params, None, x)
---
def forward(x):
    return hk.dropout(hk.next_rng_key(), 0.5, hk.Linear(2)(x))

net = hk.transform(forward)
params = net.init(jax.random.key(0), x)
y = net.apply(params, jax.random.key(0), x)
---
cause: next_rng_key; None; apply; key
names: forward|net
fix: net.apply(params, jax.random.key(0), x)

### haiku-init-without-the-key raises=ValueError line=5
# https://github.com/google-deepmind/dm-haiku/issues/585
x = jnp.ones((4, 3))
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.without_apply_rng(hk.transform(forward))
params = net.init(x)
y = net.apply(params, x)
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.without_apply_rng(hk.transform(forward))
params = net.init(jax.random.key(0), x)
y = net.apply(params, x)
---
cause: init; key|rng; first
names: x
fix: net.init(jax.random.key(0), x)

### haiku-init-given-the-input-first raises=ValueError line=5
# https://github.com/google-deepmind/dm-haiku/issues/585
x, key = jnp.ones((4, 3)), jax.random.key(0)
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.without_apply_rng(hk.transform(forward))
params = net.init(x, key)
y = net.apply(params, x)
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.without_apply_rng(hk.transform(forward))
params = net.init(key, x)
y = net.apply(params, x)
---
cause: init; key; first
names: x; key
fix: net.init(key, x)

### haiku-key-to-a-net-without-it raises=TypeError line=7
# https://github.com/google-deepmind/dm-haiku/issues/109
x, key = jnp.ones((4, 3)), jax.random.key(0)
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.without_apply_rng(hk.transform(forward))
params = net.init(key, x)
scale = 2.0
y = net.apply(params, key, x) * scale
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.without_apply_rng(hk.transform(forward))
params = net.init(key, x)
scale = 2.0
y = net.apply(params, x) * scale
---
cause: apply; key|rng; without_apply_rng
names: key
fix: net.apply(params, x)

### haiku-state-in-a-plain-transform raises=NonEmptyStateError line=5
# https://dm-haiku.readthedocs.io/en/latest/api.html
x = jnp.ones((4, 3))
---
def forward(x):
    return hk.BatchNorm(True, True, 0.9)(x, is_training=True)

net = hk.transform(forward)
params = net.init(jax.random.key(0), x)
---
def forward(x):
    return hk.BatchNorm(True, True, 0.9)(x, is_training=True)

net = hk.transform_with_state(forward)
params, state = net.init(jax.random.key(0), x)
---
cause: state; transform
names: forward
fix: hk.transform_with_state

### haiku-state-not-given-to-apply raises=TypeError line=6
# https://github.com/alexOarga/haiku-geometric/issues/2
x, key = jnp.ones((4, 3)), jax.random.key(0)
---
def forward(x):
    return hk.BatchNorm(True, True, 0.9)(x, is_training=True)

net = hk.transform_with_state(forward)
params, state = net.init(key, x)
y, state = net.apply(params, key, x)
---
def forward(x):
    return hk.BatchNorm(True, True, 0.9)(x, is_training=True)

net = hk.transform_with_state(forward)
params, state = net.init(key, x)
y, state = net.apply(params, state, key, x)
---
cause: apply; state
names: key|state
fix: net.apply(params, state, key, x)

### haiku-params-are-the-pair raises=TypeError line=6
# https://github.com/alexOarga/haiku-geometric/issues/2
x, key = jnp.ones((4, 3)), jax.random.key(0)
---
def forward(x):
    return hk.BatchNorm(True, True, 0.9)(x, is_training=True)

net = hk.transform_with_state(forward)
params = net.init(key, x)
y, state = net.apply(params, {}, key, x)
---
def forward(x):
    return hk.BatchNorm(True, True, 0.9)(x, is_training=True)

net = hk.transform_with_state(forward)
params, state = net.init(key, x)
y, state = net.apply(params, state, key, x)
---
cause: params; tuple|pair; state
names: params
fix: params, state = net.init(key, x)

### haiku-net-called-directly raises=TypeError line=6
# https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html
x = jnp.ones((4, 3))
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.transform(forward)
params = net.init(jax.random.key(0), x)
y = net(x)
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.transform(forward)
params = net.init(jax.random.key(0), x)
y = net.apply(params, None, x)
---
cause: net; init; apply
names: net; params|x
fix: net.apply(params, None, x)

### haiku-params-of-another-width raises=ValueError line=2
# https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html
x, wide = jnp.ones((4, 3)), jnp.ones((4, 5))
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.without_apply_rng(hk.transform(forward))
params = net.init(jax.random.key(0), x)
y = net.apply(params, wide)
---
def forward(x):
    return hk.Linear(2)(x)

net = hk.without_apply_rng(hk.transform(forward))
params = net.init(jax.random.key(0), wide)
y = net.apply(params, wide)
---
cause: 3; 5; w
names: linear|Linear; wide|x
fix: init|width 3

### haiku-params-of-another-name raises=ValueError line=2
# https://dm-haiku.readthedocs.io/en/latest/notebooks/basics.html
x = jnp.ones((4, 3))
---
def forward(x):
    return hk.Linear(2, name="head")(x)

net = hk.without_apply_rng(hk.transform(forward))
params = {"linear": {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}}
y = net.apply(params, x)
---
def forward(x):
    return hk.Linear(2, name="head")(x)

net = hk.without_apply_rng(hk.transform(forward))
params = {"head": {"w": jnp.ones((3, 2)), "b": jnp.zeros(2)}}
y = net.apply(params, x)
---
cause: head; linear
names: params|head
fix: head
""",
    prelude="import haiku as hk\nimport jax\nimport jax.numpy as jnp\n",
    needs=("haiku",),
)
