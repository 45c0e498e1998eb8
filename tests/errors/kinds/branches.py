"""Branches of cond and switch that do not go together, and what they are called with."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"

CASES = written(
    "branches",
    r"""
### cond-int-against-float raises=TypeError line=3
# https://github.com/aesara-devs/aesara/pull/187
x = jnp.arange(3.0)
---
def clip_sum(x):
    total = x.sum()
    return lax.cond(total > 1, lambda t: t, lambda t: jnp.int32(0), total)

y = clip_sum(x)
---
def clip_sum(x):
    total = x.sum()
    return lax.cond(total > 1, lambda t: t, lambda t: jnp.float32(0), total)

y = clip_sum(x)
---
cause: int32; float32
names: clip_sum
fix: float32|0.0|astype|zeros_like

### cond-slice-against-whole raises=TypeError line=6
# https://github.com/keras-team/keras/issues/19379
frames = jnp.ones((2, 4, 70, 96))
---
@jax.jit
def crop(frames, pad):
    def cut(frames):
        return frames[:, :3, :64]

    return lax.cond(pad, cut, lambda frames: frames, frames)

out = crop(frames, True)
---
@jax.jit
def crop(frames, pad):
    def cut(frames):
        return frames.at[:, 3:].set(0).at[:, :, 64:].set(0)

    return lax.cond(pad, cut, lambda frames: frames, frames)

out = crop(frames, True)
---
cause: (2, 3, 64, 96)|2,3,64,96; (2, 4, 70, 96)|2,4,70,96
names: cut
fix: same shape|pad|static|jnp.where|both branches

### cond-forgets-part-of-the-state raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/514
state = (jnp.zeros(2), jnp.ones(2))
---
def keep(state):
    return state
def reset(state):
    return jnp.zeros(2)

state = lax.cond(True, keep, reset, state)
---
def keep(state):
    return state
def reset(state):
    return jnp.zeros(2), state[1]

state = lax.cond(True, keep, reset, state)
---
cause: tuple|structure; array|leaf|one
names: keep; reset
fix: state[1]|tuple|same structure|pair

### cond-aux-dict-is-empty raises=TypeError line=6
# https://github.com/jax-ml/jax/issues/2660
x = jnp.ones(3)
---
@jax.jit
def loss(x, counter):
    def full(x):
        return (x**2).sum(), {"norm": jnp.linalg.norm(x), "mean": x.mean()}
    def skip(x):
        return 0.0, {}
    return lax.cond(counter >= 10, full, skip, x)

value, aux = loss(x, 3)
---
@jax.jit
def loss(x, counter):
    def full(x):
        return (x**2).sum(), {"norm": jnp.linalg.norm(x), "mean": x.mean()}
    def skip(x):
        return 0.0, {"norm": 0.0, "mean": 0.0}
    return lax.cond(counter >= 10, full, skip, x)

value, aux = loss(x, 3)
---
cause: norm|keys|structure|dict
names: full; skip
fix: norm|same keys|same structure

### cond-branch-returns-nothing raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/1534
grads = jnp.ones(4)
---
def rescale(grads):
    norm = jnp.linalg.norm(grads)
    grads = grads / norm

grads = lax.cond(jnp.linalg.norm(grads) > 1, rescale, lambda g: g, grads)
---
def rescale(grads):
    norm = jnp.linalg.norm(grads)
    return grads / norm

grads = lax.cond(jnp.linalg.norm(grads) > 1, rescale, lambda g: g, grads)
---
cause: None
names: rescale
fix: return

### cond-list-against-tuple raises=TypeError line=5
# https://github.com/google/trax/issues/1061
slots = (jnp.zeros(3), jnp.ones(3))
---
class Optimizer:
    def update(self, slots):
        return [0.9 * s for s in slots]
    def maybe(self, ready, slots):
        return lax.cond(ready, self.update, lambda s: s, slots)

slots = Optimizer().maybe(True, slots)
---
class Optimizer:
    def update(self, slots):
        return tuple(0.9 * s for s in slots)
    def maybe(self, ready, slots):
        return lax.cond(ready, self.update, lambda s: s, slots)

slots = Optimizer().maybe(True, slots)
---
cause: list; tuple
names: update
fix: tuple|list

### cond-operands-not-passed raises=TypeError line=3
# https://github.com/jax-ml/jax/pull/3569
x = jnp.ones(3)
---
double = lambda x: 2 * x
halve = lambda x: x / 2
y = lax.cond(x.sum() > 2, double, halve)
---
double = lambda x: 2 * x
halve = lambda x: x / 2
y = lax.cond(x.sum() > 2, double, halve, x)
---
cause: argument|operand
names: double|x
fix: , x)|operand|pass

### cond-branches-without-arguments raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/8467
x, y = jnp.ones(3), jnp.zeros(3)
---
def pick(flag, x, y):
    return lax.cond(flag, lambda: x, lambda: y, x)

z = jax.jit(pick)(True, x, y)
---
def pick(flag, x, y):
    return lax.cond(flag, lambda: x, lambda: y)

z = jax.jit(pick)(True, x, y)
---
cause: 0|no argument|takes|argument; 1|one
names: pick
fix: without|lambda _|lambda x|remove|drop|operand

### cond-predicate-is-a-function raises=TypeError line=5
# https://github.com/eclipse-qrisp/Qrisp/issues/203
state = jnp.array([3.0, 1.0])
---
def positive(state):
    return state[0] > 0
def divide(state):
    return state / state[0]
state = lax.cond(positive, divide, lambda s: s, state)
---
def positive(state):
    return state[0] > 0
def divide(state):
    return state / state[0]
state = lax.cond(positive(state), divide, lambda s: s, state)
---
cause: function; bool|number|predicate|scalar
names: positive
fix: positive(state)|positive(|call

### cond-predicate-is-a-vector raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/1263
x = jnp.array([-1.0, 0.5, 2.0])
---
@jax.jit
def relu(x):
    return lax.cond(x > 0, lambda x: x, jnp.zeros_like, x)

y = relu(x)
---
@jax.jit
def relu(x):
    return jnp.where(x > 0, x, jnp.zeros_like(x))

y = relu(x)
---
cause: scalar; (3,)|[3]
names: x; relu
fix: jnp.where|lax.select|vmap|any|all

### cond-in-the-old-order raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/5925
x = jnp.ones(2)
---
def energy(x):
    inner = lambda x: (x**2).sum()
    outer = lambda x: jnp.abs(x).sum()
    return lax.cond(x[0] < 1, inner, x, outer, x)

e = energy(x)
---
def energy(x):
    inner = lambda x: (x**2).sum()
    outer = lambda x: jnp.abs(x).sum()
    return lax.cond(x[0] < 1, inner, outer, x)

e = energy(x)
---
cause: callable|function|order; array
names: x|energy
fix: inner, outer, x|order|true_fun

### switch-branches-of-other-shapes raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/25140
image = jnp.ones((8, 8))
---
augment = [lambda im: im, lambda im: im[::2, ::2], jnp.flipud]
out = lax.switch(1, augment, image)
---
augment = [lambda im: im, lambda im: im[::-1, ::-1], jnp.flipud]
out = lax.switch(1, augment, image)
---
cause: (8, 8)|8,8; (4, 4)|4,4
names: augment
fix: same shape|resize|pad|shape

### switch-activations-with-half-precision raises=TypeError line=6
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.switch.html
h = jnp.ones((4, 4))
---
def fast(h):
    return jnp.tanh(h.astype(jnp.bfloat16))

@jax.jit
def activate(h, kind):
    return lax.switch(kind, [jax.nn.relu, fast], h)

out = activate(h, 1)
---
def fast(h):
    return jnp.tanh(h.astype(jnp.bfloat16)).astype(h.dtype)

@jax.jit
def activate(h, kind):
    return lax.switch(kind, [jax.nn.relu, fast], h)

out = activate(h, 1)
---
cause: float32; bfloat16
names: fast
fix: astype|float32

### switch-index-is-a-float raises=TypeError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.switch.html
x = jnp.ones(3)
---
@jax.jit
def schedule(x, step):
    stages = [jnp.sin, jnp.cos, jnp.tanh]
    return lax.switch(step / 100, stages, x)

y = schedule(x, 250)
---
@jax.jit
def schedule(x, step):
    stages = [jnp.sin, jnp.cos, jnp.tanh]
    return lax.switch(step // 100, stages, x)

y = schedule(x, 250)
---
cause: float32|float; int
names: step|schedule
fix: //|astype|int

### switch-index-is-one-hot raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/3318
x, choice = jnp.ones(3), jnp.array([0, 1, 0])
---
def apply(choice, x):
    return lax.switch(choice, [jnp.sin, jnp.cos, jnp.tanh], x)

y = apply(choice, x)
---
def apply(choice, x):
    return lax.switch(choice.argmax(), [jnp.sin, jnp.cos, jnp.tanh], x)

y = apply(choice, x)
---
cause: scalar; (3,)|[3]
names: choice
fix: argmax|choice[|vmap|index

### switch-without-branches raises=ValueError line=3
# https://github.com/jax-ml/jax/pull/8474
x = jnp.ones(3)
---
def run(x, layers):
    blocks = [lambda x, w=w: x * w for w in layers]
    return lax.switch(0, blocks, x)

y = run(x, [])
---
def run(x, layers):
    blocks = [lambda x, w=w: x * w for w in layers]
    return lax.switch(0, blocks, x)

y = run(x, [2.0])
---
cause: empty|no branch|at least one|branches
names: blocks
fix: at least one|one branch|layers|if

### select-n-cases-of-other-types raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/9868
mask, image = jnp.array([True, False]), jnp.ones(2)
---
fill = jnp.zeros(2, jnp.int32)
out = lax.select(mask, image, fill)
---
fill = jnp.zeros(2, jnp.float32)
out = lax.select(mask, image, fill)
---
cause: float32; int32
names: image; fill
fix: astype|float32|jnp.where
""",
    prelude=PRELUDE,
)
