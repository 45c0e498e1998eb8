"""Rules of one's own for derivatives that do not go with the function."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nfrom functools import partial\n"

CASES = written(
    "custom_rules",
    r"""
### vjp-one-cotangent-for-two-arguments raises=TypeError line=7
# https://github.com/jax-ml/jax/issues/8356
x, w = jnp.ones(3), jnp.ones(3)
---
@jax.custom_vjp
def scaled(x, w):
    return (x * w).sum()
def forward(x, w):
    return scaled(x, w), (x, w)
def backward(saved, g):
    return (g * saved[1],)
scaled.defvjp(forward, backward)

grads = jax.grad(scaled)(x, w)
---
@jax.custom_vjp
def scaled(x, w):
    return (x * w).sum()
def forward(x, w):
    return scaled(x, w), (x, w)
def backward(saved, g):
    return g * saved[1], g * saved[0]
scaled.defvjp(forward, backward)

grads = jax.grad(scaled)(x, w)
---
cause: 1|one; 2|two
names: backward; scaled
fix: g * saved[0]|w|two|each argument|None

### vjp-cotangent-not-in-a-tuple raises=TypeError line=7
# https://github.com/jax-ml/jax/issues/4673
x = jnp.ones(4)
---
@jax.custom_vjp
def clip_grad(x):
    return x
def fwd(x):
    return x, None
def bwd(_, g):
    return jnp.clip(g, -1.0, 1.0)
clip_grad.defvjp(fwd, bwd)

grads = jax.grad(lambda x: (clip_grad(x) ** 2).sum())(x)
---
@jax.custom_vjp
def clip_grad(x):
    return x
def fwd(x):
    return x, None
def bwd(_, g):
    return (jnp.clip(g, -1.0, 1.0),)
clip_grad.defvjp(fwd, bwd)

grads = jax.grad(lambda x: (clip_grad(x) ** 2).sum())(x)
---
cause: tuple
names: bwd; clip_grad
fix: ,)|tuple

### vjp-cotangent-of-other-shape raises=ValueError line=7
# https://github.com/jax-ml/jax/pull/28757
---
@jax.custom_vjp
def identity(x):
    return x
def identity_fwd(x):
    return x, ()
def identity_bwd(_, g):
    return (jnp.full((10,), g),)
identity.defvjp(identity_fwd, identity_bwd)

slope = jax.grad(identity)(3.14)
---
@jax.custom_vjp
def identity(x):
    return x
def identity_fwd(x):
    return x, ()
def identity_bwd(_, g):
    return (g,)
identity.defvjp(identity_fwd, identity_bwd)

slope = jax.grad(identity)(3.14)
---
cause: (10,)|[10]; ()|scalar|[]
names: identity_bwd; identity
fix: same shape|sum|g|()

### vjp-forward-without-residuals raises=TypeError line=5
# https://github.com/lucidrains/flash-attention-jax/pull/8
x = jnp.linspace(0.0, 1.0, 5)
---
@jax.custom_vjp
def log1pexp(x):
    return jnp.log1p(jnp.exp(x)).sum()
def log1pexp_fwd(x):
    return log1pexp(x)
def log1pexp_bwd(x, g):
    return (g * jax.nn.sigmoid(x),)
log1pexp.defvjp(log1pexp_fwd, log1pexp_bwd)

grads = jax.grad(log1pexp)(x)
---
@jax.custom_vjp
def log1pexp(x):
    return jnp.log1p(jnp.exp(x)).sum()
def log1pexp_fwd(x):
    return log1pexp(x), x
def log1pexp_bwd(x, g):
    return (g * jax.nn.sigmoid(x),)
log1pexp.defvjp(log1pexp_fwd, log1pexp_bwd)

grads = jax.grad(log1pexp)(x)
---
cause: pair|tuple|two
names: log1pexp_fwd; log1pexp
fix: , x|residual|pair

### vjp-forward-returns-more-than-the-function raises=TypeError line=7
# https://github.com/lucidrains/flash-attention-jax/pull/8
q, k = jnp.ones((4, 8)), jnp.ones((4, 8))
---
@jax.custom_vjp
def attention(q, k):
    return jax.nn.softmax(q @ k.T).sum()
def attention_fwd(q, k):
    scores = q @ k.T
    row_max = scores.max(-1)
    return (jax.nn.softmax(scores).sum(), row_max), (q, k)
def attention_bwd(saved, g):
    q, k = saved
    return jnp.zeros_like(q), jnp.zeros_like(k)
attention.defvjp(attention_fwd, attention_bwd)

grads = jax.grad(attention)(q, k)
---
@jax.custom_vjp
def attention(q, k):
    return jax.nn.softmax(q @ k.T).sum()
def attention_fwd(q, k):
    scores = q @ k.T
    row_max = scores.max(-1)
    return jax.nn.softmax(scores).sum(), (q, k)
def attention_bwd(saved, g):
    q, k = saved
    return jnp.zeros_like(q), jnp.zeros_like(k)
attention.defvjp(attention_fwd, attention_bwd)

grads = jax.grad(attention)(q, k)
---
cause: tuple|pair|structure|two; output|first|primal
names: attention_fwd; attention
fix: row_max|residual|same|only

### vjp-never-defined raises=AttributeError line=5
# https://docs.jax.dev/en/latest/_autosummary/jax.custom_vjp.html
---
@jax.custom_vjp
def reversed_gradient(x):
    return x * 1.0

slope = jax.grad(reversed_gradient)(2.0)
---
@jax.custom_vjp
def reversed_gradient(x):
    return x * 1.0
reversed_gradient.defvjp(lambda x: (x * 1.0, None), lambda _, g: (-g,))

slope = jax.grad(reversed_gradient)(2.0)
---
cause: defvjp|rule|no VJP|not defined
names: reversed_gradient
fix: defvjp

### jvp-never-defined raises=AttributeError line=6
# https://docs.jax.dev/en/latest/_autosummary/jax.custom_jvp.html
---
@jax.jit
@jax.custom_jvp
def safe_sqrt(x):
    return jnp.sqrt(x)

slope = jax.grad(safe_sqrt)(2.0)
---
@jax.jit
def safe_sqrt(x):
    return jnp.sqrt(x)

slope = jax.grad(safe_sqrt)(2.0)
---
cause: defjvp|rule|no JVP|not defined
names: safe_sqrt
fix: defjvp

### vjp-nondiff-arguments-in-the-old-order raises=TypeError line=6
# https://github.com/jax-ml/jax/issues/4617
x = jnp.ones(3)
---
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def power(x, n):
    return (x**n).sum()
def power_fwd(x, n):
    return power(x, n), x
def power_bwd(x, g):
    return (g * x,)
power.defvjp(power_fwd, power_bwd)

grads = jax.grad(power)(x, 3)
---
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def power(x, n):
    return (x**n).sum()
def power_fwd(x, n):
    return power(x, n), x
def power_bwd(n, x, g):
    return (g * n * x ** (n - 1),)
power.defvjp(power_fwd, power_bwd)

grads = jax.grad(power)(x, 3)
---
cause: 3|three; 2|two; argument
names: power_bwd; power
fix: (n, x, g)|n first|before|first

### nondiff-argument-is-traced raises=UnexpectedTracerError line=1
# https://github.com/jax-ml/jax/issues/20889
x, mask = jnp.ones(4), jnp.array([1.0, 0.0, 1.0, 1.0])
---
@partial(jax.custom_vjp, nondiff_argnums=(1,))
def masked(x, mask):
    return (x * mask).sum()
def masked_fwd(x, mask):
    return masked(x, mask), None
def masked_bwd(mask, _, g):
    return (g * mask,)
masked.defvjp(masked_fwd, masked_bwd)

grads = jax.jit(jax.grad(masked))(x, mask)
---
@jax.custom_vjp
def masked(x, mask):
    return (x * mask).sum()
def masked_fwd(x, mask):
    return masked(x, mask), mask
def masked_bwd(mask, g):
    return g * mask, None
masked.defvjp(masked_fwd, masked_bwd)

grads = jax.jit(jax.grad(masked))(x, mask)
---
cause: nondiff_argnums|traced|tracer
names: mask; masked
fix: nondiff_argnums|residual|without|None

### function-argument-of-custom-vjp raises=TypeError line=10
# https://github.com/jax-ml/jax/issues/17753
z0 = jnp.ones(2)
---
@jax.custom_vjp
def fixed_point(func, z):
    return lax.fori_loop(0, 10, lambda i, z: func(z), z).sum()
def fixed_point_fwd(func, z):
    return fixed_point(func, z), z
def fixed_point_bwd(z, g):
    return None, g * jnp.ones_like(z)
fixed_point.defvjp(fixed_point_fwd, fixed_point_bwd)

grads = jax.grad(fixed_point, argnums=1)(jnp.cos, z0)
---
@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fixed_point(func, z):
    return lax.fori_loop(0, 10, lambda i, z: func(z), z).sum()
def fixed_point_fwd(func, z):
    return fixed_point(func, z), z
def fixed_point_bwd(func, z, g):
    return (g * jnp.ones_like(z),)
fixed_point.defvjp(fixed_point_fwd, fixed_point_bwd)

grads = jax.grad(fixed_point, argnums=1)(jnp.cos, z0)
---
cause: function
names: func; fixed_point
fix: nondiff_argnums

### closed-over-parameter-in-custom-vjp raises=UnexpectedTracerError line=5
# https://github.com/jax-ml/jax/issues/18311
x = jnp.array(2.0)
---
def loss(scale, x):
    @jax.custom_vjp
    def stretch(x):
        return scale * x
    stretch.defvjp(lambda x: (scale * x, None), lambda _, g: (scale * g,))
    return stretch(x)

grads = jax.grad(loss)(3.0, x)
---
def loss(scale, x):
    @jax.custom_vjp
    def stretch(x, scale):
        return scale * x
    stretch.defvjp(lambda x, scale: (scale * x, (x, scale)), lambda r, g: (r[1] * g, r[0] * g))
    return stretch(x, scale)

grads = jax.grad(loss)(3.0, x)
---
cause: close|closed|closure|escape|outside
names: scale; stretch
fix: argument

### jvp-tangent-of-other-type raises=TypeError line=8
# https://github.com/jax-ml/jax/issues/18311
---
@jax.custom_jvp
def rounded(x):
    return jnp.round(x)

@rounded.defjvp
def rounded_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return rounded(x), jnp.int32(1) * jnp.sign(dx).astype(int)

slope = jax.grad(rounded)(1.3)
---
@jax.custom_jvp
def rounded(x):
    return jnp.round(x)

@rounded.defjvp
def rounded_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return rounded(x), dx

slope = jax.grad(rounded)(1.3)
---
cause: int32; float32
names: rounded_jvp; rounded
fix: dx|float|astype

### jvp-returns-only-the-tangent raises=TypeError line=9
# https://docs.jax.dev/en/latest/_autosummary/jax.custom_jvp.html
x = jnp.ones(3)
---
class Smooth:
    @staticmethod
    @jax.custom_jvp
    def relu(x):
        return jnp.maximum(x, 0.0)

def relu_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return dx * jax.nn.sigmoid(x)
Smooth.relu.defjvp(relu_jvp)

grads = jax.grad(lambda x: Smooth.relu(x).sum())(x)
---
class Smooth:
    @staticmethod
    @jax.custom_jvp
    def relu(x):
        return jnp.maximum(x, 0.0)

def relu_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return Smooth.relu(x), dx * jax.nn.sigmoid(x)
Smooth.relu.defjvp(relu_jvp)

grads = jax.grad(lambda x: Smooth.relu(x).sum())(x)
---
cause: pair|tuple|two
names: relu_jvp; relu
fix: Smooth.relu(x)|pair|primal

### jvp-tangent-of-other-shape raises=TypeError line=7
# https://github.com/jax-ml/jax/issues/18311
x = jnp.arange(1.0, 4.0)
---
@jax.custom_jvp
def log_norm(x):
    return jnp.log(jnp.sum(x))
def log_norm_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    total = jnp.sum(x)
    return log_norm(x), dx / total
log_norm.defjvp(log_norm_jvp)

grads = jax.grad(log_norm)(x)
---
@jax.custom_jvp
def log_norm(x):
    return jnp.log(jnp.sum(x))
def log_norm_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    total = jnp.sum(x)
    return log_norm(x), dx.sum() / total
log_norm.defjvp(log_norm_jvp)

grads = jax.grad(log_norm)(x)
---
cause: (3,)|[3]; ()|scalar|[]
names: log_norm_jvp; log_norm
fix: sum|same shape

### forward-mode-of-custom-vjp raises=TypeError line=10
# https://docs.jax.dev/en/latest/_autosummary/jax.custom_vjp.html
x = jnp.ones(3)
---
@jax.custom_vjp
def stable(x):
    return jnp.log1p(x)
def stable_fwd(x):
    return stable(x), x
def stable_bwd(x, g):
    return (g / (1 + x),)
stable.defvjp(stable_fwd, stable_bwd)

jac = jax.jacfwd(stable)(x)
---
@jax.custom_vjp
def stable(x):
    return jnp.log1p(x)
def stable_fwd(x):
    return stable(x), x
def stable_bwd(x, g):
    return (g / (1 + x),)
stable.defvjp(stable_fwd, stable_bwd)

jac = jax.jacrev(stable)(x)
---
cause: forward; custom_vjp|vjp
names: stable
fix: jacrev|custom_jvp|reverse

### keyword-argument-without-default-position raises=TypeError line=6
# https://github.com/jax-ml/jax/issues/10366
x, y = jnp.ones(3), jnp.ones(3)
---
@jax.custom_vjp
def combine(x, y, *, op="mul"):
    return (x * y if op == "mul" else x + y).sum()
combine.defvjp(lambda x, y: (combine(x, y), (x, y)), lambda r, g: (g * r[1], g * r[0]))

grads = jax.grad(combine)(x, y, op="mul")
---
@jax.custom_vjp
def combine(x, y):
    return (x * y).sum()
combine.defvjp(lambda x, y: (combine(x, y), (x, y)), lambda r, g: (g * r[1], g * r[0]))

grads = jax.grad(combine)(x, y)
---
cause: keyword|argument|op
names: combine; op
fix: nondiff_argnums|position|default|without|partial|closure

### op-string-argument-of-custom-vjp raises=TypeError line=10
# https://github.com/jax-ml/jax/issues/10366
x, y = jnp.ones(()), jnp.ones(())
---
@jax.custom_vjp
def apply(x, y, op):
    return x + y if op == "add" else x * y
def apply_fwd(x, y, op):
    return apply(x, y, op), (x, y)
def apply_bwd(saved, g):
    return g, g, None
apply.defvjp(apply_fwd, apply_bwd)

grads = jax.grad(apply)(x, y, "add")
---
@partial(jax.custom_vjp, nondiff_argnums=(2,))
def apply(x, y, op):
    return x + y if op == "add" else x * y
def apply_fwd(x, y, op):
    return apply(x, y, op), (x, y)
def apply_bwd(op, saved, g):
    return g, g
apply.defvjp(apply_fwd, apply_bwd)

grads = jax.grad(apply)(x, y, "add")
---
cause: str|text|string
names: op; apply
fix: nondiff_argnums

### vjp-cotangents-of-a-tuple-laid-flat raises=TypeError line=7
# https://github.com/jax-ml/jax/issues/13099
pair = (jnp.ones(3), jnp.arange(3.0))
---
@jax.custom_vjp
def combine(pair):
    return (pair[0] * pair[1]).sum()
def combine_fwd(pair):
    return combine(pair), pair
def combine_bwd(pair, g):
    return g * pair[1], g * pair[0]
combine.defvjp(combine_fwd, combine_bwd)

grads = jax.grad(combine)(pair)
---
@jax.custom_vjp
def combine(pair):
    return (pair[0] * pair[1]).sum()
def combine_fwd(pair):
    return combine(pair), pair
def combine_bwd(pair, g):
    return ((g * pair[1], g * pair[0]),)
combine.defvjp(combine_fwd, combine_bwd)

grads = jax.grad(combine)(pair)
---
cause: 2|two; 1|one; argument; tuple
names: combine; combine_bwd
fix: ((g * pair[1], g * pair[0]),)|),)|inside a tuple|in a tuple|tuple of one
""",
    prelude=PRELUDE,
)
