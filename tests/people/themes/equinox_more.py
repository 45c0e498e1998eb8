"""More of equinox: ensembles, frozen parts, loops, recurrent cells, custom derivatives."""

from ..cell import written

PRELUDE = """
import jax, jax.numpy as jnp, numpy as np, equinox as eqx, optax
x = jnp.linspace(-1, 1, 6).reshape(2, 3)
y = jnp.array([1.0, -1.0])
key = jax.random.key(0)
class Net(eqx.Module):
    layers: list
    scale: float = eqx.field(static=True, default=1.0)
    def __init__(self, key, scale=1.0):
        a, b = jax.random.split(key)
        self.layers = [eqx.nn.Linear(3, 4, key=a), eqx.nn.Linear(4, 1, key=b)]
        self.scale = scale
    def __call__(self, v):
        h = jax.nn.tanh(self.layers[0](v))
        return self.layers[1](h)[0] * self.scale
def loss_fn(model, x, y):
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)
"""

CELLS = written(
    PRELUDE,
    r"""
### eqx-mlp
mlp = eqx.nn.MLP(3, 1, 4, 2, key=key)
---
out = jax.vmap(mlp)(x)
n = sum(a.size for a in jax.tree.leaves(eqx.filter(mlp, eqx.is_array)))
n, out.shape
---
x = x * 3

### eqx-mlp-activation-identity
mlp = eqx.nn.MLP(3, 2, 4, 1, activation=jax.nn.gelu, key=key)
---
act = mlp.activation
other = eqx.tree_at(lambda m: m.layers[0].weight, mlp, mlp.layers[0].weight * 2)
out = other(x[0])
other.activation is mlp.activation
---
x = x + 1

### eqx-filter-vmap-ensemble
make = lambda k: eqx.nn.Linear(3, 2, key=k)
keys = jax.random.split(key, 4)
---
ens = eqx.filter_vmap(make)(keys)
outs = eqx.filter_vmap(lambda m, v: m(v), in_axes=(eqx.if_array(0), None))(ens, x[0])
outs.shape
---
keys = jax.random.split(jax.random.key(8), 4)

### eqx-module-with-none
class Opt(eqx.Module):
    w: jax.Array
    bias: jax.Array | None = None
    def __call__(self, v):
        z = v @ self.w
        return z if self.bias is None else z + self.bias
m = Opt(jnp.ones(3))
---
out = m(x)
out
---
m = Opt(jnp.ones(3), jnp.float32(2))

### eqx-filter-grad-frozen
net = Net(key)
spec = jax.tree.map(lambda _: False, net)
spec = eqx.tree_at(lambda t: (t.layers[1].weight, t.layers[1].bias), spec, (True, True))
---
diff, frozen = eqx.partition(net, spec)
@eqx.filter_grad
def g(d, f):
    return loss_fn(eqx.combine(d, f), x, y)
grads = g(diff, frozen)
grads.layers[0].weight is None, grads.layers[1].bias

### eqx-static-field-changed
net = Net(key, scale=2.0)
---
out = net(x[0])
out
---
net = Net(key, scale=3.0)

### eqx-error-if
---
v = eqx.error_if(x, jnp.any(x > 10), "too large")
out = v.sum()
out
---
x = x + 1

### eqx-while-loop
---
out = eqx.internal.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] * 2), (0, x), kind="lax")
out[1]
---
x = x * 2

### eqx-lstm-scan
cell = eqx.nn.GRUCell(3, 4, key=key)
---
h, hs = jax.lax.scan(lambda h, v: (cell(v, h), h.sum()), jnp.zeros(4), x)
h, hs.shape
---
x = jnp.concatenate([x, x])

### eqx-tree-pprint
net = Net(key)
---
text = eqx.tree_pformat(net, short_arrays=True)
print(text.count("Linear"))
out = net(x[0])
---
net = Net(jax.random.key(2))

### eqx-tree-equal
net = Net(key)
---
other = jax.tree.map(lambda v: v, net)
eq = eqx.tree_equal(net, other)
out = net(x[0]) + 1
bool(eq)

### eqx-history-in-list
net = Net(key)
snapshots = []
---
l, g = eqx.filter_value_and_grad(loss_fn)(net, x, y)
net = eqx.apply_updates(net, jax.tree.map(lambda v: -0.1 * v, g))
snapshots.append(net)
len(snapshots), snapshots[-1] is net

### eqx-custom-vjp
@eqx.filter_custom_vjp
def clip(v, lim):
    return v
@clip.def_fwd
def _f(perturbed, v, lim):
    return v, None
@clip.def_bwd
def _b(res, g, perturbed, v, lim):
    return jnp.clip(g, -lim, lim)
---
g = jax.grad(lambda v: jnp.sum(clip(v, 0.5) ** 2))(x)
g
---
x = x * 4

### eqx-abstract-var
class Base(eqx.Module):
    k: eqx.AbstractVar[float]
    def apply(self, v):
        return v * self.k
class Impl(Base):
    k: float
m = Impl(2.0)
---
out = m.apply(x)
out
---
m = Impl(5.0)
""",
    needs=("equinox", "optax"),
)
