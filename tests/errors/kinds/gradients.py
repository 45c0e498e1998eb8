"""What cannot be differentiated, or not so."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"

CASES = written(
    "gradients",
    r"""
### grad-of-python-int raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/424
---
def square(x):
    return x**2

slope = jax.grad(square)(3)
---
def square(x):
    return x**2

slope = jax.grad(square)(3.0)
---
cause: int
names: square; x
fix: 3.0|float

### grad-of-int-array raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/2663
---
angles = jnp.arange(4)
loss = lambda angles: jnp.tanh(angles).sum()
grads = jax.grad(loss)(angles)
---
angles = jnp.arange(4.0)
loss = lambda angles: jnp.tanh(angles).sum()
grads = jax.grad(loss)(angles)
---
cause: int32
names: angles
fix: float|arange(4.0)|astype

### grad-of-params-with-counter raises=TypeError line=5
# https://github.com/google-deepmind/dm-haiku/issues/513
params = {"w": jnp.ones(3), "counter": jnp.zeros((), jnp.int32)}
x = jnp.ones((5, 3))
---
@jax.jit
def train_step(params, x):
    def loss_fn(params):
        return jnp.mean((x @ params["w"]) ** 2)
    return jax.grad(loss_fn)(params)

grads = train_step(params, x)
---
@jax.jit
def train_step(params, x):
    def loss_fn(w):
        return jnp.mean((x @ w) ** 2)
    return jax.grad(loss_fn)(params["w"])

grads = train_step(params, x)
---
cause: int32; counter
names: params; counter; loss_fn
fix: counter|float|allow_int|separate|partition|without

### grad-by-argnums-of-labels raises=TypeError line=4
# https://github.com/deepmodeling/DMFF/issues/82
params = jnp.ones((3, 4))
labels = jnp.array([0, 3, 1])
---
def loss(params, labels):
    return -jax.nn.log_softmax(params)[jnp.arange(3), labels].mean()

grads = jax.grad(loss, argnums=-1)(params, labels)
---
def loss(params, labels):
    return -jax.nn.log_softmax(params)[jnp.arange(3), labels].mean()

grads = jax.grad(loss, argnums=0)(params, labels)
---
cause: int32
names: labels; loss
fix: argnums=0|argnums

### grad-of-bool-mask raises=TypeError line=6
# https://github.com/jax-ml/jax/issues/20889
x = jnp.ones(4)
mask = jnp.array([True, False, True, True])
---
class Masked:
    def loss(self, mask, x):
        return (mask * x**2).sum()

    def grads(self, mask, x):
        return jax.grad(self.loss)(mask, x)

g = Masked().grads(mask, x)
---
class Masked:
    def loss(self, mask, x):
        return (mask * x**2).sum()

    def grads(self, mask, x):
        return jax.grad(self.loss, argnums=1)(mask, x)

g = Masked().grads(mask, x)
---
cause: bool
names: mask; loss
fix: argnums=1|argnums

### argnums-beyond-the-arguments raises=TypeError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.grad.html
w, x = jnp.ones(3), jnp.ones(3)
---
def energy(w, x):
    return (w * x).sum()

grads = jax.grad(energy, argnums=2)(w, x)
---
def energy(w, x):
    return (w * x).sum()

grads = jax.grad(energy, argnums=1)(w, x)
---
cause: 2; argument|argnums
names: energy
fix: argnums=1|0 or 1|argnums=0|argnums

### per-example-losses raises=TypeError line=5
# https://github.com/MilesCranmer/lagrangian_nns/issues/6
params = jnp.ones(3)
x, y = jnp.ones((4, 3)), jnp.zeros(4)
---
def loss(params, x, y):
    residual = x @ params - y
    return residual**2

grads = jax.grad(loss)(params, x, y)
---
def loss(params, x, y):
    residual = x @ params - y
    return (residual**2).mean()

grads = jax.grad(loss)(params, x, y)
---
cause: scalar; (4,)|[4]
names: loss
fix: mean|sum|jacobian|jacrev

### loss-of-shape-one raises=TypeError line=8
# https://github.com/patrick-kidger/equinox/issues/213
point = jnp.ones(2)
---
class MLP:
    def __init__(self, key):
        self.w = jax.random.normal(key, (2, 1))

    def __call__(self, x):
        return jnp.tanh(x @ self.w)
mlp = MLP(jax.random.key(0))
slope = jax.grad(mlp)(point)
---
class MLP:
    def __init__(self, key):
        self.w = jax.random.normal(key, (2, 1))

    def __call__(self, x):
        return jnp.tanh(x @ self.w)[0]
mlp = MLP(jax.random.key(0))
slope = jax.grad(mlp)(point)
---
cause: scalar; (1,)|[1]
names: mlp
fix: [0]|squeeze|reshape|sum|.item

### second-derivative-of-a-gradient raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/28110
x = jnp.linspace(0.0, 1.0, 5)
---
def potential(x):
    return jnp.sum(x**3)
slope = jax.grad(potential)
curvature = jax.grad(slope)(x)
---
def potential(x):
    return jnp.sum(x**3)
slope = jax.grad(potential)
curvature = jax.jacobian(slope)(x)
---
cause: scalar; (5,)|[5]
names: slope|potential
fix: jacobian|hessian|jacfwd|jacrev|sum|vmap

### warped-image-as-loss raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/5848
image = jnp.ones((2, 5, 5))
---
@jax.jit
def shift_grad(image, by):
    warp = lambda by: image * by
    return jax.value_and_grad(warp)(by)

value, grads = shift_grad(image, 0.5)
---
@jax.jit
def shift_grad(image, by):
    warp = lambda by: jnp.mean(image * by)
    return jax.value_and_grad(warp)(by)

value, grads = shift_grad(image, 0.5)
---
cause: scalar; (2, 5, 5)|2,5,5
names: warp
fix: mean|sum|jacobian|jacfwd|jacrev

### aux-without-has-aux raises=TypeError line=5
# https://github.com/jax-ml/jax/issues/6213
x, y = jnp.ones(4), jnp.zeros(4)
---
def squared_error(x, y):
    residual = x - y
    return (residual**2).sum(), residual

grads = jax.grad(squared_error)(x, y)
---
def squared_error(x, y):
    residual = x - y
    return (residual**2).sum(), residual

grads = jax.grad(squared_error, has_aux=True)(x, y)
---
cause: tuple|pair|two
names: squared_error
fix: has_aux

### has-aux-without-aux raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/1105
x = jnp.ones(())
---
def double(x):
    return 2 * x

grads = jax.grad(double, has_aux=True)(x)
---
def double(x):
    return 2 * x

grads = jax.grad(double)(x)
---
cause: has_aux; pair|tuple|two
names: double
fix: has_aux|without has_aux|return

### has-aux-with-three-results raises=TypeError line=6
# https://github.com/jax-ml/jax/issues/5776
params = jnp.ones(3)
---
@jax.jit
def update(params):
    def loss_fn(params):
        loss = (params**2).sum()
        return loss, params.mean(), params.max()
    grads, aux = jax.grad(loss_fn, has_aux=True)(params)
    return params - 0.1 * grads

params = update(params)
---
@jax.jit
def update(params):
    def loss_fn(params):
        loss = (params**2).sum()
        return loss, (params.mean(), params.max())
    grads, aux = jax.grad(loss_fn, has_aux=True)(params)
    return params - 0.1 * grads

params = update(params)
---
cause: 3|three; 2|two|pair
names: loss_fn
fix: (params.mean()|tuple|pair|has_aux

### loss-in-a-dict raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/6213
params = jnp.ones(3)
---
def losses(params):
    return {"mse": (params**2).mean(), "l1": jnp.abs(params).sum()}

grads = jax.value_and_grad(losses)(params)
---
def losses(params):
    return (params**2).mean() + jnp.abs(params).sum()

grads = jax.value_and_grad(losses)(params)
---
cause: dict
names: losses
fix: sum|+|scalar|has_aux|add

### unpack-of-value-and-grad-with-aux raises=ValueError line=5
# https://github.com/patrick-kidger/equinox/issues/512
params = jnp.ones(3)
---
def loss_fn(params):
    logits = params * 2
    return (logits**2).sum(), logits

loss, logits, grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
---
def loss_fn(params):
    logits = params * 2
    return (logits**2).sum(), logits

(loss, logits), grads = jax.value_and_grad(loss_fn, has_aux=True)(params)
---
cause: 3|three; 2|two
names: logits
fix: (loss, logits), grads|(loss, logits)

### grad-through-while-loop raises=ValueError line=7
# https://github.com/google-deepmind/mujoco/issues/1207
x = jnp.array(3.0)
---
def settle(x):
    unfinished = lambda s: s[1] > 1e-3
    def step(s):
        return s[0] * 0.5, abs(s[0] * 0.5)
    return lax.while_loop(unfinished, step, (x, x))[0]

slope = jax.grad(settle)(x)
---
def settle(x):
    unfinished = lambda s: s[1] > 1e-3
    def step(s):
        return s[0] * 0.5, abs(s[0] * 0.5)
    return lax.while_loop(unfinished, step, (x, x))[0]

slope = jax.jacfwd(settle)(x)
---
cause: reverse|backward; while
names: settle
fix: scan|fori_loop|jacfwd|jvp|forward

### grad-through-fori-of-traced-bounds raises=ValueError line=3
# https://github.com/jax-ml/jax/issues/2956
x = jnp.ones(3)
---
@jax.jit
def unrolled(x, steps):
    total = lax.fori_loop(0, steps, lambda i, h: jnp.sin(h) * 0.9, x)
    return total.sum()

grads = jax.grad(unrolled)(x, 5)
---
from functools import partial
@partial(jax.jit, static_argnums=1)
def unrolled(x, steps):
    total = lax.fori_loop(0, steps, lambda i, h: jnp.sin(h) * 0.9, x)
    return total.sum()

grads = jax.grad(unrolled)(x, 5)
---
cause: reverse|backward; steps|bound|length|stop
names: steps; unrolled
fix: static|scan|jacfwd|forward

### grad-through-orthogonalisation-loop raises=ValueError line=5
# https://github.com/tensorflow/tensorflow/issues/62828
matrix = jnp.eye(4) + 0.1
---
def newton_schulz(matrix, n):
    def body(i, y):
        return 1.5 * y - 0.5 * y @ y.T @ y
    scaled = matrix / jnp.linalg.norm(matrix)
    return lax.fori_loop(0, n, body, scaled)

def loss(matrix, n):
    return jnp.trace(newton_schulz(matrix, n))

grads = jax.jit(jax.grad(loss))(matrix, 5)
---
def newton_schulz(matrix, n):
    def body(i, y):
        return 1.5 * y - 0.5 * y @ y.T @ y
    scaled = matrix / jnp.linalg.norm(matrix)
    return lax.fori_loop(0, n, body, scaled)

def loss(matrix, n):
    return jnp.trace(newton_schulz(matrix, n))

grads = jax.jit(jax.grad(loss), static_argnums=1)(matrix, 5)
---
cause: reverse|backward; `n`|bound|length|stop|trip|unknown|number of steps
names: newton_schulz
fix: static|scan|jacfwd|forward|int(|Python int

### grad-through-wigner-loop-under-vmap raises=ValueError line=3
# https://github.com/dynamiqs/dynamiqs/pull/917
levels = jnp.array([2, 3, 4])
x = jnp.array([0.1, 0.2, 0.3])
---
def series(x, level):
    term = lambda k, acc: acc + x**2 / (k + 1.0)
    return lax.fori_loop(0, level, term, x)

grads = jax.vmap(jax.grad(series))(x, levels)
---
def series(x, level):
    term = lambda k, acc: acc + jnp.where(k < level, x**2 / (k + 1.0), 0.0)
    return lax.fori_loop(0, 4, term, x)

grads = jax.vmap(jax.grad(series))(x, levels)
---
cause: reverse|backward; level|bound|length|stop
names: level; series
fix: static|scan|jacfwd|forward|where

### grad-of-complex-output raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/22948
---
def amplitude(phase):
    return phase**2 + 1j * jnp.sin(phase)

slope = jax.grad(amplitude)(1.0)
---
def amplitude(phase):
    return jnp.abs(phase**2 + 1j * jnp.sin(phase))

slope = jax.grad(amplitude)(1.0)
---
cause: complex
names: amplitude
fix: jnp.abs|real|holomorphic|vjp|jvp|jacfwd

### holomorphic-with-real-input raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/3121
v = jnp.ones(3)
---
def field(v):
    return jnp.sum(v * (1.0 + 2.0j))

slope = jax.grad(field, holomorphic=True)(v)
---
def field(v):
    return jnp.sum(v * (1.0 + 2.0j))

slope = jax.grad(field, holomorphic=True)(v + 0j)
---
cause: complex; float32
names: field; v
fix: 0j|complex|astype

### jacfwd-of-complex-input raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/7157
z = jnp.array([1.0 + 1.0j, 2.0])
---
def normalizer(z):
    return jnp.real(z * jnp.conj(z))
jac = jax.jacfwd(normalizer)(z)
---
def normalizer(z):
    return jnp.real(z * jnp.conj(z))
jac = jax.jacfwd(normalizer)(z.real)
---
cause: complex64|complex
names: normalizer; z
fix: real|holomorphic|jvp

### grad-of-integer-output raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/15500
logits, labels = jnp.ones((6, 3)), jnp.zeros(6, jnp.int32)
---
def errors(logits, labels):
    return jnp.sum(logits.argmax(-1) != labels)

grads = jax.grad(errors)(logits, labels)
---
def errors(logits, labels):
    return -jax.nn.log_softmax(logits)[jnp.arange(6), labels].sum()

grads = jax.grad(errors)(logits, labels)
---
cause: int32
names: errors
fix: float|smooth|softmax|differentiable|loss

### value-of-float-in-the-loss raises=ConcretizationTypeError line=3
# https://docs.jax.dev/en/latest/errors.html
params = jnp.ones(3)
---
def loss(params):
    penalty = (params**2).sum()
    weight = float(penalty)
    return weight * params.sum()

grads = jax.grad(loss)(params)
---
def loss(params):
    penalty = (params**2).sum()
    weight = penalty
    return weight * params.sum()

grads = jax.grad(loss)(params)
---
cause: float; traced|tracer|abstract|value
names: penalty; loss
fix: without float|float(|stop_gradient|astype|penalty

### numpy-in-the-loss raises=TracerArrayConversionError line=3
# https://github.com/PythonOT/POT/issues/625
import numpy as np
x, y = jnp.ones((5, 2)), jnp.zeros((5, 2))
---
def loss(x, y):
    costs = x - y
    return np.linalg.norm(np.asarray(costs))

grads = jax.grad(loss)(x, y)
---
def loss(x, y):
    costs = x - y + 1e-3
    return jnp.linalg.norm(costs)

grads = jax.grad(loss)(x, y)
---
cause: numpy|NumPy
names: costs; loss
fix: jnp

### grad-of-a-call-instead-of-a-function raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/277
price = jnp.array(99.0)
---
def option(price):
    return jnp.maximum(price - 100.0, 0.0)

delta = jax.grad(option(price))
---
def option(price):
    return jnp.maximum(price - 100.0, 0.0)

delta = jax.grad(option)(price)
---
cause: callable|function|array
names: option
fix: jax.grad(option)|(option)(price)

### tangents-of-other-type raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/4996
x = jnp.ones(3)
---
f = lambda x: jnp.sin(x)
v = jnp.ones(3, jnp.int32)
y, dy = jax.jvp(f, (x,), (v,))
---
f = lambda x: jnp.sin(x)
v = jnp.ones(3, jnp.float32)
y, dy = jax.jvp(f, (x,), (v,))
---
cause: int32; float32
names: v
fix: float32|astype|float

### cotangent-of-other-shape raises=ValueError line=3
# https://docs.jax.dev/en/latest/_autosummary/jax.vjp.html
W, x = jnp.ones((3, 5)), jnp.ones(5)
---
y, pull = jax.vjp(lambda x: W @ x, x)
scale = 2.0
(dx,) = pull(scale * jnp.ones(5))
---
y, pull = jax.vjp(lambda x: W @ x, x)
scale = 2.0
(dx,) = pull(scale * jnp.ones(3))
---
cause: (5,)|[5]|5; (3,)|[3]|3
names: pull
fix: 3|jnp.ones_like(y)|ones_like|shape of y

### lagrangian-keeps-an-axis raises=TypeError line=6
# https://github.com/MilesCranmer/lagrangian_nns/issues/6
weights = jnp.ones((4, 1))
q, q_t = jnp.array([0.1, 0.2]), jnp.array([0.0, 0.3])
---
def lagrangian(q, q_t):
    state = jnp.concatenate([q, q_t])
    return jnp.tanh(state @ weights)

def eom(q, q_t):
    force = jax.grad(lagrangian, 0)(q, q_t)
    return force - q_t

acc = eom(q, q_t)
---
def lagrangian(q, q_t):
    state = jnp.concatenate([q, q_t])
    return jnp.tanh(state @ weights)[0]

def eom(q, q_t):
    force = jax.grad(lagrangian, 0)(q, q_t)
    return force - q_t

acc = eom(q, q_t)
---
cause: (1,)|1 element|float32[1]; scalar
names: lagrangian; eom|weights|state
fix: [0]|squeeze|sum|reshape

### grad-of-grad-itself raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/28110
x = jnp.array(2.0)
---
def potential(x):
    return x**4 - 3.0 * x

curvature = jax.grad(jax.grad)(potential)
stiffness = curvature(x)
---
def potential(x):
    return x**4 - 3.0 * x

curvature = jax.grad(jax.grad(potential))
stiffness = curvature(x)
---
cause: function; grad
names: potential
fix: jax.grad(jax.grad(potential))
""",
    prelude=PRELUDE,
)
