"""Axes, specs and shardings for other arguments than a function is given, and carries that lack a reduction."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = """\
import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P
"""

CASES = (
    *written(
        "specs",
        r"""
### filter-vmap-axes-for-one-of-two raises=ValueError line=4
# https://github.com/patrick-kidger/equinox/issues/952
xs, bias = jnp.ones((5, 3)), jnp.ones(3)
---
def shifted(x, bias):
    return x + bias

rows = eqx.filter_vmap(shifted, in_axes=(0,))(xs, bias)
---
def shifted(x, bias):
    return x + bias

rows = eqx.filter_vmap(shifted, in_axes=(0, None))(xs, bias)
---
cause: in_axes; 1|one; 2|two|bias; shifted
names: shifted; bias
fix: in_axes=(0, None)

### filter-vmap-axes-of-a-dict raises=ValueError line=4
# https://github.com/patrick-kidger/equinox/issues/952
params, xs = {"w": jnp.ones(3), "b": jnp.ones(3)}, jnp.ones((5, 3))
---
def predict(params, x):
    return x * params["w"] + params["b"]

rows = eqx.filter_vmap(predict, in_axes=({"w": None}, 0))(params, xs)
---
def predict(params, x):
    return x * params["w"] + params["b"]

rows = eqx.filter_vmap(predict, in_axes=({"w": None, "b": None}, 0))(params, xs)
---
cause: in_axes; params; b
names: params
fix: in_axes=(None, 0)|'b'|"b"

### vmap-results-for-two-axes raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/9928
x = jnp.ones((4, 3))
---
def scaled(row):
    return 2 * row

out = jax.vmap(scaled, out_axes=(0, 1))(x)
---
def scaled(row):
    return 2 * row

out = jax.vmap(scaled, out_axes=0)(x)
---
cause: out_axes; 2|two; scaled
names: scaled
fix: out_axes=0

### vmap-axes-as-a-list-for-three raises=ValueError line=4
# https://github.com/jax-ml/jax/issues/9928
w, b, x = jnp.ones(3), jnp.ones(()), jnp.ones((4, 3))
---
def predict(w, b, x):
    return x @ w + b

y = jax.vmap(predict, in_axes=(None, 0))(w, b, x)
---
def predict(w, b, x):
    return x @ w + b

y = jax.vmap(predict, in_axes=(None, None, 0))(w, b, x)
---
cause: in_axes; 2|two; 3|three
names: predict; w; b; x
fix: in_axes=(None, None, 0)

### shard-map-specs-for-one-of-two raises=ValueError line=5 devices=8
# https://github.com/jax-ml/jax/issues/15728
mesh = jax.sharding.Mesh(jax.devices()[:8], ("i",))
w, x = jnp.ones(3), jnp.ones((8, 3))
---
def local(w, x):
    return x @ w

spec = P("i")
y = jax.shard_map(local, mesh=mesh, in_specs=(spec,), out_specs=P("i"))(w, x)
---
def local(w, x):
    return x @ w

spec = P("i")
y = jax.shard_map(local, mesh=mesh, in_specs=(P(), spec), out_specs=P("i"))(w, x)
---
cause: in_specs; 1|one; 2|two; local
names: local; w; x
fix: in_specs=(P(), spec)|(P(), P("i"))

### shard-map-specs-for-a-result-too-many raises=ValueError line=4 devices=8
# https://github.com/jax-ml/jax/pull/20124
mesh = jax.sharding.Mesh(jax.devices()[:8], ("i",))
x = jnp.ones((8, 3))
---
def local(x):
    return 2 * x

y = jax.shard_map(local, mesh=mesh, in_specs=(P("i"),), out_specs=(P("i"), P()))(x)
---
def local(x):
    return 2 * x

y = jax.shard_map(local, mesh=mesh, in_specs=(P("i"),), out_specs=P("i"))(x)
---
cause: out_specs; 2|two; local
names: local
fix: out_specs=P("i")

### jit-shardings-for-one-of-two raises=ValueError line=5 devices=8
# https://github.com/jax-ml/jax/pull/9372
mesh = jax.sharding.Mesh(jax.devices()[:8], ("i",))
w, x = jnp.ones(3), jnp.ones((8, 3))
rows = NamedSharding(mesh, P("i"))
---
def predict(w, x):
    return x @ w

fast = jax.jit(predict, in_shardings=(rows,))
y = fast(w, x)
---
def predict(w, x):
    return x @ w

fast = jax.jit(predict, in_shardings=(None, rows))
y = fast(w, x)
---
cause: in_shardings; 1|one; 2|two
names: predict|fast; w|x
fix: in_shardings=(None, rows)

### scan-loss-without-a-sum raises=TypeError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
xs, target = jnp.ones((5, 3)), jnp.zeros(3)
---
def step(total, x):
    error = (x - target) ** 2
    total = total + error
    return total, None

loss, _ = lax.scan(step, 0.0, xs)
---
def step(total, x):
    error = (x - target) ** 2
    total = total + error.sum()
    return total, None

loss, _ = lax.scan(step, 0.0, xs)
---
cause: total; float32[]; float32[3]
names: step; total
fix: sum|mean

### fori-score-without-a-mean raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html
scores = jnp.ones((6, 4))
---
def add(i, best):
    return jnp.maximum(best, scores[i])

best = lax.fori_loop(0, 6, add, 0.0)
---
def add(i, best):
    return jnp.maximum(best, scores[i].max())

best = lax.fori_loop(0, 6, add, 0.0)
---
cause: float32[]; float32[4]; add
names: add
fix: max|sum|mean
""",
        prelude=PRELUDE + "try:\n    import equinox as eqx\nexcept ImportError:\n    eqx = None\n",
    ),
)
