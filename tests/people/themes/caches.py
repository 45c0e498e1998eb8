"""What JAX and libraries remember: jitted methods, static arguments, custom derivatives, called plainly afterwards."""

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
### cache-static-self
class M:
    def __init__(self):
        self.w = jnp.ones(4) * 2
    @partial(jax.jit, static_argnums=0)
    def times(self, y):
        return self.w * y
m = M()
---
y = m.times(x)
y
---
plain = m.times(x)
---
x = x + 1

### cache-static-self-float
class M:
    def __init__(self):
        self.rate = 0.5
    @partial(jax.jit, static_argnums=0)
    def times(self, y, k=2.0):
        return self.rate * y * k
m = M()
---
y = m.times(x, 3.0)
y
---
plain = m.times(x, 3.0); other = m.times(x)

### cache-jitted-lambda-closure
w = jnp.ones(4)
f = jax.jit(lambda v: v * 2 + 1)
---
y = f(x) + w
y
---
plain = f(x); again = f(w)

### cache-scan-body-kept
w = jnp.full(4, 0.5)
def body(c, t):
    return c * w + t, c.sum()
---
c, ys = jax.lax.scan(body, jnp.zeros(4), x)
c
---
plain, _ = jax.lax.scan(body, jnp.zeros(4), x)
---
x = x * 2

### cache-cond-branches
a = jnp.float32(2)
def up(v):
    return v * a
def down(v):
    return v / a
---
y = jax.lax.cond(x.sum() > 3, up, down, x)
y
---
plain = jax.lax.cond(True, up, down, x)
---
x = -x

### cache-while-body
k = jnp.float32(1.5)
def cond(v):
    return v.sum() < 50
def body(v):
    return v * k + 1
---
y = jax.lax.while_loop(cond, body, x)
y
---
plain = jax.lax.while_loop(cond, body, x)

### cache-fori-body
k = jnp.float32(0.9)
def body(i, v):
    return v * k + i
---
y = jax.lax.fori_loop(0, 3, body, x)
y
---
plain = jax.lax.fori_loop(0, 3, body, x)

### cache-custom-vjp
@jax.custom_vjp
def f(v):
    return jnp.sin(v)
def fwd(v):
    return f(v), v
def bwd(r, g):
    return (g * jnp.cos(r) * 2,)
f.defvjp(fwd, bwd)
---
g = jax.grad(lambda v: f(v).sum())(x)
g
---
plain = jax.grad(lambda v: f(v).sum())(x)

### cache-custom-vjp-nondiff
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def clip(v, lim):
    return v
clip.defvjp(lambda v, lim: (v, None), lambda lim, r, g: (jnp.clip(g, -lim, lim),))
lim = 0.5
---
g = jax.grad(lambda v: (clip(v, lim) ** 2).sum())(x)
g
---
plain = jax.grad(lambda v: (clip(v, lim) ** 2).sum())(x)
---
lim = 2.0

### cache-custom-jvp-nondiff
@partial(jax.custom_jvp, nondiff_argnums=(0,))
def app(f, v):
    return f(v)
@app.defjvp
def app_jvp(f, p, t):
    return f(p[0]), 3.0 * t[0]
fn = lambda v: v ** 2
---
y, dy = jax.jvp(lambda v: app(fn, v), (x,), (jnp.ones(4),))
dy
---
plain = jax.jvp(lambda v: app(fn, v), (x,), (jnp.ones(4),))

### cache-checkpoint
w = jnp.ones((4, 4)) * 0.1
@jax.checkpoint
def block(w, v):
    return jnp.tanh(w @ v)
---
g = jax.grad(lambda w: block(w, x).sum())(w)
g.sum()
---
plain = jax.grad(lambda w: block(w, x).sum())(w)

### cache-checkpoint-closure
w = jnp.ones((4, 4)) * 0.1
@jax.checkpoint
def block(v):
    return jnp.tanh(w @ v)
---
g = jax.grad(lambda v: block(v).sum())(x)
g
---
plain = jax.grad(lambda v: block(v).sum())(x)

### cache-vmap-closure
w = jnp.ones(4)
f = jax.vmap(lambda v: v * w.sum())
---
y = f(x)
y
---
plain = f(x)
---
w = w * 3; jax.clear_caches()

### cache-jit-global-array
w = jnp.ones(4)
@jax.jit
def f(v):
    return v * w
---
y = f(x)
y
---
x = x + 1

### cache-linearize
w = jnp.full(4, 2.0)
---
y, lin = jax.linearize(lambda v: jnp.sin(v) * w, x)
t = lin(jnp.ones(4))
t
---
plain = lin(x)
---
x = x + 1

### cache-vjp-kept
---
y, pull = jax.vjp(lambda v: v ** 3, x)
g, = pull(jnp.ones(4))
g
---
plain = pull(x)
""",
)
