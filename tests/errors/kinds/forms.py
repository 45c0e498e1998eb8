"""Arguments in another form than a function takes: apart, swapped, called, or under the name that others give them."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"

CASES = written(
    "forms",
    r"""
### scan-body-is-called-in-place raises=TypeError line=5
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
xs = jnp.arange(5.0)
---
def body(total, x):
    total = total + x
    return total, total

last, sums = lax.scan(body(0.0, xs), 0.0, xs)
---
def body(total, x):
    total = total + x
    return total, total

last, sums = lax.scan(body, 0.0, xs)
---
cause: body; scan; called|calls|result; function
names: body
fix: lax.scan(body, 0.0, xs)

### fori-body-is-called-in-place raises=TypeError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html
x0 = jnp.ones(3)
---
def halve(i, x):
    return x / 2

out = lax.fori_loop(0, 4, halve(0, x0), x0)
---
def halve(i, x):
    return x / 2

out = lax.fori_loop(0, 4, halve, x0)
---
cause: halve; fori_loop; called|calls|result; function
names: halve
fix: lax.fori_loop(0, 4, halve, x0)

### cond-branches-are-called-in-place raises=TypeError line=7
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.cond.html
x = jnp.ones(3)
---
def double(x):
    return 2 * x

def halve(x):
    return x / 2

out = lax.cond(x.sum() > 2, double(x), halve(x), x)
---
def double(x):
    return 2 * x

def halve(x):
    return x / 2

out = lax.cond(x.sum() > 2, double, halve, x)
---
cause: double; cond; called|calls|result; function
names: double; halve
fix: double, halve, x

### while-condition-is-called-in-place raises=TypeError line=7
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html
v0 = jnp.float32(1.0)
---
def small(v):
    return v < 100

def grow(v):
    return 2 * v

v = lax.while_loop(small(v0), grow, v0)
---
def small(v):
    return v < 100

def grow(v):
    return 2 * v

v = lax.while_loop(small, grow, v0)
---
cause: small; while_loop; called|calls|result; function
names: small
fix: lax.while_loop(small, grow, v0)

### gradient-of-a-called-loss raises=TypeError line=4
# https://docs.jax.dev/en/latest/automatic-differentiation.html
w = jnp.ones(3)
---
def loss(w):
    return jnp.sum(w ** 2)

g = jax.grad(loss(w))(w)
---
def loss(w):
    return jnp.sum(w ** 2)

g = jax.grad(loss)(w)
---
cause: loss; grad; called|calls|result; function
names: loss
fix: jax.grad(loss)

### stack-of-two-arrays-apart raises=TypeError line=2
# https://github.com/numpy/numpy/issues/9549
left, right = jnp.ones((4, 3)), jnp.zeros((4, 3))
---
scale = 2.0
pair = jnp.stack(left, right * scale)
---
scale = 2.0
pair = jnp.stack((left, right * scale))
---
cause: stack; tuple|list|sequence; axis
names: left; right
fix: (left, right * scale)|[left, right * scale]

### concatenate-of-three-arrays-apart raises=ValueError line=2
# https://github.com/numpy/numpy/issues/9549
a, b, c = jnp.ones(2), jnp.zeros(3), jnp.ones(4)
---
def joined(a, b, c):
    return jnp.concatenate(a, b, c)

flat = joined(a, b, c)
---
def joined(a, b, c):
    return jnp.concatenate((a, b, c))

flat = joined(a, b, c)
---
cause: concatenate; tuple|list|sequence
names: a; b; c
fix: (a, b, c)|[a, b, c]

### hstack-of-arrays-apart raises=ValueError line=1
# https://github.com/numpy/numpy/issues/9549
rows, bias = jnp.ones((4, 3)), jnp.ones((4, 1))
---
table = jnp.hstack(rows, bias)
---
table = jnp.hstack((rows, bias))
---
cause: hstack; tuple|list|sequence
names: rows; bias
fix: (rows, bias)|[rows, bias]

### zeros-with-sizes-apart raises=TypeError line=2
# https://github.com/numpy/numpy/pull/13034
n, m = 4, 3
---
def blank(n, m):
    return jnp.zeros(n, m)

table = blank(n, m) + 1
---
def blank(n, m):
    return jnp.zeros((n, m))

table = blank(n, m) + 1
---
cause: zeros; shape; tuple; dtype
names: n; m
fix: jnp.zeros((n, m))

### ones-with-three-sizes-apart raises=TypeError line=1
# https://github.com/numpy/numpy/pull/13034
batch, height, width = 2, 4, 4
---
images = jnp.ones(batch, height, width, 3)
---
images = jnp.ones((batch, height, width, 3))
---
cause: ones; shape; tuple
names: batch; height; width
fix: jnp.ones((batch, height, width, 3))

### normal-with-sizes-apart raises=TypeError line=1
# https://github.com/jax-ml/jax/issues/21343
key, n, d = jax.random.key(0), 8, 3
---
x = jax.random.normal(key, n, d)
---
x = jax.random.normal(key, (n, d))
---
cause: normal; shape; tuple
names: n; d
fix: (n, d)

### uniform-with-limits-for-the-shape raises=TypeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.random.uniform.html
key, low, high = jax.random.key(0), -1.0, 1.0
---
x = jax.random.uniform(key, low, high, (3,))
---
x = jax.random.uniform(key, (3,), minval=low, maxval=high)
---
cause: uniform; shape
names: low
fix: shape|minval

### sum-along-a-torch-dim raises=TypeError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.sum.html
logits = jnp.ones((4, 3))
---
def normalised(logits):
    p = jnp.exp(logits)
    return p / jnp.sum(p, dim=-1, keepdim=True)

probs = normalised(logits)
---
def normalised(logits):
    p = jnp.exp(logits)
    return p / jnp.sum(p, axis=-1, keepdims=True)

probs = normalised(logits)
---
cause: sum; dim; axis
names: p
fix: axis=-1, keepdims=True

### softmax-along-a-torch-dim raises=TypeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.nn.softmax.html
scores = jnp.ones((4, 3))
---
weights = jax.nn.softmax(scores, dim=1)
---
weights = jax.nn.softmax(scores, axis=1)
---
cause: softmax; dim; axis
names: scores
fix: axis=1

### mean-method-with-a-torch-keepdim raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.Array.mean.html
x = jnp.ones((4, 3))
---
y = 2 * x
centred = y - y.mean(dim=1, keepdim=True)
---
y = 2 * x
centred = y - y.mean(axis=1, keepdims=True)
---
cause: mean; dim; axis
names: y
fix: axis=1, keepdims=True

### concatenate-along-a-torch-dim raises=TypeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.concatenate.html
head, tail = jnp.ones((2, 3)), jnp.ones((2, 4))
---
whole = jnp.concatenate([head, tail], dim=1)
---
whole = jnp.concatenate([head, tail], axis=1)
---
cause: concatenate; dim; axis
names: head|tail
fix: axis=1

### torch-cat raises=AttributeError line=1
# https://docs.jax.dev/en/latest/jax.numpy.html
head, tail = jnp.ones((2, 3)), jnp.ones((2, 4))
---
whole = jnp.cat([head, tail], 1)
---
whole = jnp.concatenate([head, tail], 1)
---
cause: cat; concatenate
names: head|jnp
fix: jnp.concatenate

### torch-size-is-called raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.Array.size.html
x = jnp.ones((4, 3))
---
def per_row(x):
    return x.sum() / x.size(0)

y = per_row(x)
---
def per_row(x):
    return x.sum() / x.shape[0]

y = per_row(x)
---
cause: size; number|int; shape
names: x
fix: x.shape[0]

### torch-cuda raises=AttributeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.device_put.html
x = jnp.ones((4, 3))
---
y = (x * 2).cuda()
---
y = x * 2
---
cause: cuda; no attribute
names: x
fix: y = (x * 2)|device

### item-is-not-called raises=TypeError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.Array.item.html
losses = jnp.ones(4)
---
weight = 0.5
first = losses[0]
total = weight * first.item
---
weight = 0.5
first = losses[0]
total = weight * first.item()
---
cause: item; method|function; called|call
names: first
fix: first.item()|weight * first

### mean-is-not-called raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.Array.mean.html
x = jnp.ones((4, 3))
---
def centred(x):
    return x - x.mean

y = centred(x)
---
def centred(x):
    return x - x.mean()

y = centred(x)
---
cause: mean; method|function
names: x
fix: x.mean()

### axis-is-a-float raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.sum.html
x = jnp.ones((4, 6))
---
middle = x.ndim / 2
y = jnp.sum(x, axis=middle)
---
middle = x.ndim // 2
y = jnp.sum(x, axis=middle)
---
cause: axis; middle; 1.0|float; integer
names: middle
fix: int(middle)|//

### reshape-to-a-float raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/1822
x = jnp.ones(12)
---
half = x.size / 2
pairs = x.reshape(half, 2)
---
half = x.size // 2
pairs = x.reshape(half, 2)
---
cause: half; 6.0|float; integer
names: half
fix: int(half)|//

### linspace-of-a-float-count raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/1822
span, step = 2.0, 0.5
---
count = span / step
grid = jnp.linspace(0.0, span, count)
---
count = int(span / step)
grid = jnp.linspace(0.0, span, count)
---
cause: linspace; count; 4.0|float; integer
names: count
fix: int(count)|//

### matmul-of-a-nested-list raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/6457
x = jnp.ones(2)
---
rotation = [[0.0, -1.0], [1.0, 0.0]]
y = jnp.dot(rotation, x)
---
rotation = jnp.array([[0.0, -1.0], [1.0, 0.0]])
y = jnp.dot(rotation, x)
---
cause: rotation; list; dot
names: rotation
fix: asarray(rotation)|array(

### argmax-of-a-list raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/6457
---
scores = [0.1, 0.7, 0.2]
best = jnp.argmax(scores)
---
scores = jnp.array([0.1, 0.7, 0.2])
best = jnp.argmax(scores)
---
cause: scores; list; argmax
names: scores
fix: asarray(scores)|array(

### full-with-its-dtype-second raises=TypeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.full.html
n = 4
---
weights = jnp.full(n, jnp.float32, 0.5)
---
weights = jnp.full(n, 0.5, jnp.float32)
---
cause: full; dtype
names: n
fix: jnp.full(n, 0.5, jnp.float32)

### zeros-of-a-numpy-size raises=TypeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.numpy.zeros.html
n = 4
---
total = jnp.zeros(size=(n, n), dtype=jnp.float32)
---
total = jnp.zeros(shape=(n, n), dtype=jnp.float32)
---
cause: zeros; size; shape
names: n
fix: shape=(n, n)

### random-choice-with-a-numpy-size raises=TypeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.random.choice.html
key, pool = jax.random.key(0), jnp.arange(10)
---
picked = jax.random.choice(key, pool, size=(3,))
---
picked = jax.random.choice(key, pool, shape=(3,))
---
cause: choice; size; shape
names: pool|key
fix: shape=(3,)

### random-uniform-low-and-high raises=TypeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.random.uniform.html
key = jax.random.key(0)
---
w = jax.random.uniform(key, (4, 3), low=-0.1, high=0.1)
---
w = jax.random.uniform(key, (4, 3), minval=-0.1, maxval=0.1)
---
cause: uniform; low; minval
names: key
fix: minval=-0.1, maxval=0.1
""",
    prelude=PRELUDE,
)
