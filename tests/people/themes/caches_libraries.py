"""What memos, transformations and compiled functions remember, called plainly afterwards."""

from ..cell import written

PRELUDE = """
import functools
import jax, jax.numpy as jnp, numpy as np
from functools import partial
x = jnp.arange(4.0)
"""

CELLS = written(
    PRELUDE,
    r"""
### cache-lru
@functools.lru_cache(maxsize=None)
def table(n):
    return np.arange(n) * 2.0
---
y = x + jnp.asarray(table(4))
y
---
plain = table(4).sum()

### cache-lru-jnp
@functools.cache
def basis(n):
    return jnp.eye(n)
---
y = basis(4) @ x
y
---
plain = basis(4).sum()

### cache-own-memo
memo = {}
def kernel(n):
    if n not in memo:
        memo[n] = jnp.ones(n) / n
    return memo[n]
---
y = jnp.convolve(x, kernel(2), mode="same")
len(memo), y
---
plain = kernel(2) + 1
---
memo.clear()

### cache-singledispatch
@functools.singledispatch
def describe(v):
    return v
@describe.register(dict)
def _(v):
    return {k: describe(u) * 2 for k, u in v.items()}
---
out = describe({"a": x})
out["a"]
---
plain = describe({"a": x})

### cache-aot
f = jax.jit(lambda v: v * 2).lower(x).compile()
---
y = f(x)
z = y + 1
z
---
plain = f(x)

### cache-jit-in-cell-called-later
w = jnp.ones(4)
---
@jax.jit
def g(v):
    return jnp.dot(v, w)
y = g(x)
y
---
plain = g(x * 2)
---
plain2 = jax.vmap(g)(jnp.ones((2, 4)))

### cache-grad-fn-made-in-cell
w = jnp.ones(4)
---
df = jax.grad(lambda v: (v * w).sum() ** 2)
g = df(x)
g
---
plain = df(x + 1)

### cache-jit-options
f = jax.jit(lambda v, n, mode="a": v * n if mode == "a" else v + n, static_argnames=("n", "mode"))
---
y = f(x, 3)
z = f(x, n=2, mode="b")
y, z
---
plain = f(x, 3), f(x, n=2, mode="b")

### cache-eval-shape
---
s = jax.eval_shape(lambda v: v @ v[:, None], x)
y = jnp.zeros(s.shape, s.dtype)
s.shape, y
---
x = jnp.arange(3.0)

### cache-make-jaxpr
w = jnp.ones(4)
def f(v):
    return jnp.sin(v) * w
---
jaxpr = jax.make_jaxpr(f)(x)
n = len(jaxpr.eqns)
y = f(x)
n, y
---
plain = str(jax.make_jaxpr(f)(x))

### cache-associative-scan
---
c = jax.lax.associative_scan(jnp.add, x)
m = jax.lax.map(lambda v: v ** 2, x)
c, m
---
plain = jax.lax.associative_scan(jnp.add, x)

### cache-named-call
f = jax.named_call(lambda v: v + 1, name="inc")
---
with jax.named_scope("block"):
    y = f(x) * 2
y
---
plain = f(x)

### cache-pytree-static-object
class Cfg:
    def __init__(self, n, w):
        self.n, self.w = n, w
    def __hash__(self):
        return hash(self.n)
    def __eq__(self, o):
        return self.n == o.n
cfg = Cfg(2, jnp.ones(4))
f = jax.jit(lambda c, v: v * c.n, static_argnums=0)
---
y = f(cfg, x)
y
---
plain = f(cfg, x)
---
cfg = Cfg(5, jnp.ones(4))

### cache-instance-vmap-grad
class Net:
    def __init__(self):
        self.w = jnp.ones(4) * 0.5
    def __call__(self, v):
        return (self.w * v).sum() ** 2
net = Net()
---
gs = jax.vmap(jax.grad(net))(jnp.stack([x, x + 1]))
gs.sum()
---
plain = jax.grad(net)(x)
---
net.w = net.w * 2

### cache-ensure-compile-time
---
with jax.ensure_compile_time_eval():
    c = jnp.arange(3).sum()
y = x * c
y
---
x = x + 1

### cache-disable-jit
f = jax.jit(lambda v: v * 2)
---
with jax.disable_jit():
    y = f(x) + 1
y
---
x = x * 2
""",
)
