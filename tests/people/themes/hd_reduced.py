"""What cells of others came down to, once they differed: each cause in a few lines."""

from ..cell import written

PRELUDE = """
import functools, collections, typing
import jax, jax.numpy as jnp, numpy as np
from jax import lax
x = jnp.linspace(0.0, 1.0, 8)
"""

CELLS = written(
    PRELUDE,
    r"""
### hd-undo-item
attempts, registry, n = [], {}, 2
def f(n):
    attempts.append(n)
    if n > 1: raise RuntimeError("x")
registry["f"] = f
---
registry["f"](n)

### hd-undo-tuple
attempts, n = [], 2
def f(n):
    attempts.append(n)
    if n > 1: raise RuntimeError("x")
fs = (f,)
---
fs[0](n)

### hd-undo-loop
attempts, n = [], 2
def f(n):
    attempts.append(n)
    if n > 1: raise RuntimeError("x")
---
for g in [f]: g(n)

### hd-undo-bound
class Acc:
    def __init__(s): s.s = 0
    def add(s, n):
        s.s += n
        if n > 1: raise RuntimeError("x")
acc = Acc(); hooks = {"add": acc.add}; n = 2
---
hooks["add"](n)

### hd-undo-array
attempts, registry = [], {}
def f(v):
    attempts.append(1)
    raise RuntimeError("x")
registry["f"] = f; v = jnp.ones(3)
---
registry["f"](v)

### hd-undo-lambda-dict
log = []
table = {"a": lambda v: (log.append(v), 1 / 0)}
---
table.get("a")(x)

### hd-undo-attr-of-items
class H:
    def __init__(s): s.seen = []
    def run(s, v):
        s.seen.append(v)
        raise ValueError
hs = [H(), H()]
---
[h.run(x) for h in hs]

### hd-undo-map
seen = []
def f(v):
    seen.append(v)
    if len(seen) > 1: raise ValueError
---
list(map(f, [x, x, x]))

### hd-undo-partial-item
seen = []
def f(a, v):
    seen.append(v)
    raise ValueError
tools = [functools.partial(f, 1)]
---
tools[-1](x)

### hd-key-data
k = jax.random.key(7)
---
d = jax.random.key_data(k)
print(jax.random.key_data(k) is d)
---
k = jax.random.key(8)

### hd-key-data-made
k = jax.random.key(7)
---
k2 = jax.random.fold_in(k, 1)
d = jax.random.key_data(k2)
e = jax.random.key_data(k2)
x2 = x * d[0]
ks = jax.random.split(k, 4)
bits = jax.random.key_data(ks)
w = jax.random.wrap_key_data(bits)
f = jax.vmap(jax.random.key_data)(ks)
print(e is d)
---
k = jax.random.key(8)

### hd-wsc devices=8
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
y = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("data", "model")))
---
with jax.set_mesh(mesh):
    z = lax.with_sharding_constraint(y, P("data", None))
---
y

### hd-wsc-off devices=8
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
y = jnp.ones((8, 4))
---
with jax.set_mesh(mesh):
    z = lax.with_sharding_constraint(y, P("data", None))

### hd-wsc-then devices=8
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
y = jax.device_put(jnp.ones((8, 4)), NamedSharding(mesh, P("data", "model")))
---
with jax.set_mesh(mesh):
    z = lax.with_sharding_constraint(y * 2, P("data", None))
    w = lax.with_sharding_constraint(jnp.sin(y), P(None, None)) + 1
    v = lax.with_sharding_constraint(y, P("data", None)).sum(1)

### hd-wsc-named devices=8
from jax.sharding import NamedSharding, PartitionSpec as P
mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
y = jnp.ones((8, 4))
---
z = lax.with_sharding_constraint(y, NamedSharding(mesh, P("data", None)))
z2 = lax.with_sharding_constraint(y * 2, NamedSharding(mesh, P(None, None)))

### hd-jaxtyped needs=equinox,jaxtyping
import equinox as eqx
from jaxtyping import Array, Float
w = jnp.ones(3)
---
def loss(w: Float[Array, "3"], v: Float[Array, "8"]): return (w.sum() * v).sum()
loss = eqx.filter_jit(loss)
y = loss(w, x)
@eqx.filter_jit
def step(w: Float[Array, "3"], n: int): return w * n
w = step(w, 2)
---
x

### hd-svi-loop needs=numpyro
import numpyro, numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoDiagonalNormal
def model(d):
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    numpyro.sample("obs", dist.Normal(mu, 1), obs=d)
data = jnp.linspace(0., 1., 8)
---
guide = AutoDiagonalNormal(model)
svi = SVI(model, guide, numpyro.optim.Adam(0.1), loss=Trace_ELBO())
svi_state = svi.init(jax.random.PRNGKey(1), data)
for step in range(2):
    svi_state, loss = svi.update(svi_state, data)
    print(f"{loss:.3f}")
---
data = data * 2

### hd-random-tags cold
import random
random.seed(7); hps = [0.1, 0.2]
---
results = []
for lr in hps:
    tag = str(random.getrandbits(30))
    w = jnp.ones(3) * lr
    results.append((w.sum(), tag))
---
x

### hd-random-tag-flat cold
import random
random.seed(7)
---
tag = str(random.getrandbits(30))
w = jnp.ones(3) * 2
res = (w.sum(), tag)

### hd-path-tags
import random, pathlib
random.seed(7)
---
for lr in (0.1, 0.2):
    folder = pathlib.Path("runs") / str(random.getrandbits(30))
    w = jnp.ones(3) * lr
    print(w.sum())
    name = folder.name + "x"
    z = w * len(name)

### hd-modes
def f(v, m): return {"a": jnp.sin, "b": jnp.cos, "c": jnp.tanh}[m](v)
names = ["a", "b", "c", "a"]
---
out = []
for i in range(4):
    m = names[i]
    label = m + "!"
    y = f(x, m)
    out.append((label, y.sum()))
    print(float(y.sum()))
---
names = ["c", "a", "a", "b"]

### hd-dataclass-default
from dataclasses import dataclass
@dataclass
class Cfg:
    lr: float = 0.1
    def f(self, v): return v * self.lr
---
c = Cfg()
y = c.f(x) + Cfg.lr
---
@dataclass
class Cfg:
    lr: float = 0.2
    def f(self, v): return v * self.lr

### hd-iter-of-array
k = jax.random.key(0)
---
it = iter(x * 2)
a = next(it)
keys = iter(jax.random.split(k, 3))
b = jax.random.normal(next(keys))
t = iter((x * 2, x + 1))
---
x

### hd-with-mesh devices=8
mesh = jax.make_mesh((8,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
---
with jax.set_mesh(mesh):
    z = jnp.sin(x) * 2

### hd-with-precision
w = jnp.ones((8, 8))
---
with jax.default_matmul_precision("float32"):
    z = x @ w
""",
)
