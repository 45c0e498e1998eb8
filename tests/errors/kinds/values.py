"""Values that are needed while only shapes are known."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = (
    "import jax\nimport jax.numpy as jnp\nimport numpy as np\nfrom jax import lax\nfrom functools import partial\n"
)

CASES = written(
    "values",
    r"""
### if-on-a-traced-sum raises=TracerBoolConversionError line=4
# https://docs.jax.dev/en/latest/errors.html
grads = jnp.ones(4)
---
@jax.jit
def clip(grads, limit):
    norm = jnp.linalg.norm(grads)
    if norm > limit:
        grads = grads * limit / norm
    return grads

clipped = clip(grads, 1.0)
---
@jax.jit
def clip(grads, limit):
    norm = jnp.linalg.norm(grads)
    grads = jnp.where(norm > limit, grads * limit / norm, grads)
    return grads

clipped = clip(grads, 1.0)
---
cause: if|bool; traced|tracer|value
names: norm; clip
fix: jnp.where|lax.cond

### if-on-a-traced-flag raises=TracerBoolConversionError line=4
# https://github.com/jax-ml/jax/pull/22098
x = jnp.ones((3, 4))
---
class Dropout:
    rate = 0.5
    def __call__(self, x, training):
        if training:
            x = x * self.rate
        return x

y = jax.jit(Dropout())(x, True)
---
class Dropout:
    rate = 0.5
    def __call__(self, x, training):
        if training:
            x = x * self.rate
        return x

y = jax.jit(Dropout(), static_argnums=1)(x, True)
---
cause: if|bool; traced|tracer|value
names: training
fix: static|lax.cond|jnp.where

### default-with-or raises=ValueError line=3
# https://github.com/jax-ml/jax/pull/16430
x = jnp.ones(3)
---
@jax.jit
def shifted(x, offset=None):
    offset = offset or jnp.zeros(3)
    return x + offset

y = shifted(x, jnp.ones(3))
---
@jax.jit
def shifted(x, offset=None):
    offset = jnp.zeros(3) if offset is None else offset
    return x + offset

y = shifted(x, jnp.ones(3))
---
cause: `or`|'or'| or |bool|truth
names: offset; shifted
fix: is None

### remat-if-on-a-traced-value raises=TracerBoolConversionError line=3
# https://github.com/jax-ml/jax/pull/24511
---
@jax.checkpoint
def activation(x):
    if x > 0:
        return x
    return jnp.sin(x)

y = activation(3.0)
---
@jax.checkpoint
def activation(x):
    return jnp.where(x > 0, x, jnp.sin(x))

y = activation(3.0)
---
cause: if|bool; traced|tracer|value
names: x; activation
fix: jnp.where|lax.cond|static

### python-min-of-traced raises=TracerBoolConversionError line=4
# https://github.com/jax-ml/jax/pull/16430
---
@jax.jit
def schedule(step, total):
    fraction = step / total
    return 0.1 * min(fraction, 1.0)

rate = schedule(30.0, 100.0)
---
@jax.jit
def schedule(step, total):
    fraction = step / total
    return 0.1 * jnp.minimum(fraction, 1.0)

rate = schedule(30.0, 100.0)
---
cause: min|bool|compar
names: fraction; schedule
fix: jnp.minimum|jnp.clip

### while-on-a-traced-error raises=TracerBoolConversionError line=3
# https://github.com/patrick-kidger/diffrax/issues/379
x0 = jnp.array(2.0)
---
def newton(x, tolerance):
    error = jnp.abs(x**2 - 2)
    while error > tolerance:
        x = 0.5 * (x + 2 / x)
        error = jnp.abs(x**2 - 2)
    return x

root = jax.jit(newton)(x0, 1e-5)
---
def newton(x, tolerance):
    unfinished = lambda x: jnp.abs(x**2 - 2) > tolerance
    x = lax.while_loop(unfinished, lambda x: 0.5 * (x + 2 / x), x)
    return x

root = jax.jit(newton)(x0, 1e-5)
---
cause: while|bool; traced|tracer|value
names: error; newton
fix: while_loop|fori_loop

### float-of-a-traced-loss raises=ConcretizationTypeError line=6
# https://github.com/jax-ml/jax/pull/2602
params = jnp.ones(3)
---
history = []

@jax.jit
def step(params):
    loss = (params**2).sum()
    history.append(float(loss))
    return params * 0.9

params = step(params)
---
history = []

@jax.jit
def step(params):
    loss = (params**2).sum()
    return params * 0.9, loss

params, loss = step(params)
history.append(float(loss))
---
cause: float; traced|tracer|value
names: loss; step
fix: return|outside|jax.debug

### int-of-a-traced-size raises=ConcretizationTypeError line=3
# https://github.com/jax-ml/jax/pull/17650
x = jnp.arange(10.0)
---
@jax.jit
def head(x, fraction):
    k = int(fraction * x.shape[0])
    return x[:k]

h = head(x, 0.5)
---
@partial(jax.jit, static_argnums=1)
def head(x, fraction):
    k = int(fraction * x.shape[0])
    return x[:k]

h = head(x, 0.5)
---
cause: int; traced|tracer|value
names: fraction; head
fix: static

### item-of-a-traced-value raises=ConcretizationTypeError line=4
# https://docs.jax.dev/en/latest/errors.html
logits = jnp.ones((2, 5))
---
def report(logits):
    confidence = jax.nn.softmax(logits).max()
    return {
        "confidence": confidence.item(),
    }

out = jax.jit(report)(logits)
---
def report(logits):
    confidence = jax.nn.softmax(logits).max()
    return {
        "confidence": confidence,
    }

out = jax.jit(report)(logits)
---
cause: item; traced|tracer|value
names: confidence; report
fix: without|.item|outside|return

### asarray-of-a-traced-value raises=TracerArrayConversionError line=2
# https://github.com/jax-ml/jax/pull/3160
images = jnp.ones((2, 8, 8))
---
def blur(images):
    padded = np.asarray(images)
    return jnp.convolve(padded.ravel(), jnp.ones(3) / 3)

out = jax.jit(blur)(images)
---
def blur(images):
    padded = jnp.asarray(images)
    return jnp.convolve(padded.ravel(), jnp.ones(3) / 3)

out = jax.jit(blur)(images)
---
cause: numpy|NumPy
names: images; blur
fix: jnp

### numpy-table-indexed-by-a-traced-value raises=TracerArrayConversionError line=4
# https://github.com/jax-ml/jax/issues/553
---
table = np.arange(12.0)
@jax.jit
def lookup(ids):
    return table[ids] * 2
rows = lookup(jnp.array([0, 2]))
---
table = jnp.arange(12.0)
@jax.jit
def lookup(ids):
    return table[ids] * 2
rows = lookup(jnp.array([0, 2]))
---
cause: numpy|NumPy
names: table; ids
fix: jnp.asarray|jnp.array|jnp.arange|jnp

### list-indexed-by-a-traced-value raises=TracerIntegerConversionError line=4
# https://docs.jax.dev/en/latest/errors.html
weights = [jnp.ones(3), jnp.zeros(3)]
---
def run(x, steps):
    def body(x, i):
        layer = i % 2
        return x * weights[layer], None
    return lax.scan(body, x, jnp.arange(steps))[0]

y = run(jnp.ones(3), 4)
---
def run(x, steps):
    def body(x, i):
        layer = i % 2
        return x * jnp.stack(weights)[layer], None
    return lax.scan(body, x, jnp.arange(steps))[0]

y = run(jnp.ones(3), 4)
---
cause: list; index|integer
names: weights; layer
fix: jnp.stack|jnp.array|lax.switch|stack

### boolean-mask-under-jit raises=NonConcreteBooleanIndexError line=4
# https://github.com/probml/probml-notebooks/pull/70
x = jnp.array([1.0, -2.0, 3.0])
---
@jax.jit
def positive_mean(x):
    keep = x > 0
    return x[keep].mean()

m = positive_mean(x)
---
@jax.jit
def positive_mean(x):
    keep = x > 0
    return x.mean(where=keep)

m = positive_mean(x)
---
cause: bool|mask; size|shape|length|how many
names: keep; positive_mean
fix: where

### range-of-a-traced-count raises=TracerIntegerConversionError line=4
# https://github.com/jax-ml/jax/issues/1406
x = jnp.ones(3)
---
@jax.jit
def repeat(x, n):
    total = jnp.zeros(3)
    for _ in range(n):
        total = total + x
    return total

y = repeat(x, 4)
---
@partial(jax.jit, static_argnums=1)
def repeat(x, n):
    total = jnp.zeros(3)
    for _ in range(n):
        total = total + x
    return total

y = repeat(x, 4)
---
cause: range|integer; traced|tracer|value
names: n; repeat
fix: static|fori_loop

### arange-of-a-traced-stop raises=ConcretizationTypeError line=2
# https://github.com/jax-ml/jax/issues/5186
---
def grid(n):
    points = jnp.arange(0, n, 1)
    return points / n

g = jax.jit(grid)(5)
---
def grid(n):
    points = jnp.arange(0, n, 1)
    return points / n

g = jax.jit(grid, static_argnums=0)(5)
---
cause: arange|shape|size|length; traced|tracer|value|concrete
names: n; grid
fix: static

### shape-from-a-traced-value raises=TypeError line=4
# https://github.com/brentyi/egoallo/issues/17
x = jnp.ones((4, 2))
---
@jax.jit
def pad(x, to):
    missing = to - x.shape[0]
    return jnp.concatenate([x, jnp.zeros((missing, 2))])

y = pad(x, 8)
---
@partial(jax.jit, static_argnames="to")
def pad(x, to):
    missing = to - x.shape[0]
    return jnp.concatenate([x, jnp.zeros((missing, 2))])

y = pad(x, 8)
---
cause: shape; traced|tracer|value|concrete
names: missing; to|pad
fix: static

### shape-by-jnp-minimum raises=ConcretizationTypeError line=4
# https://github.com/jax-ml/jax/issues/4798
x = jnp.arange(10)
---
@partial(jax.jit, static_argnums=0)
def first(n, x):
    count = jnp.minimum(x.shape[0], n)
    return jnp.arange(count) + x[0]

y = first(5, x)
---
@partial(jax.jit, static_argnums=0)
def first(n, x):
    count = min(x.shape[0], n)
    return jnp.arange(count) + x[0]

y = first(5, x)
---
cause: arange|shape|size|length; traced|tracer|value|concrete
names: count; first
fix: min(|np.minimum|Python

### slice-of-traced-bounds raises=IndexError line=3
# https://github.com/jax-ml/jax/issues/19433
signal = jnp.arange(100.0)
---
@jax.jit
def window(signal, start):
    return signal[start : start + 10].mean()

w = window(signal, 20)
---
@jax.jit
def window(signal, start):
    return lax.dynamic_slice(signal, (start,), (10,)).mean()

w = window(signal, 20)
---
cause: slice; static|traced|concrete|value
names: start; window
fix: dynamic_slice|static

### reshape-by-traced-sizes raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/1629
X = jnp.ones((3, 12))
---
class Functional:
    @partial(jax.jit, static_argnums=0)
    def __call__(self, X, m, n):
        images = jnp.reshape(X, (X.shape[0], m, n))
        return images.sum()

value = Functional()(X, 3, 4)
---
class Functional:
    @partial(jax.jit, static_argnums=(0, 2, 3))
    def __call__(self, X, m, n):
        images = jnp.reshape(X, (X.shape[0], m, n))
        return images.sum()

value = Functional()(X, 3, 4)
---
cause: shape; traced|tracer|value|concrete
names: m; n
fix: static

### tile-by-traced-counts raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/16994
a = jnp.ones((1, 20))
---
@jax.jit
def expand(a, reps):
    tiled = jnp.tile(a, reps)
    return tiled / tiled.sum()

out = expand(a, (64, 1))
---
@partial(jax.jit, static_argnums=1)
def expand(a, reps):
    tiled = jnp.tile(a, reps)
    return tiled / tiled.sum()

out = expand(a, (64, 1))
---
cause: tile|reps; traced|tracer|value|concrete|static
names: reps; expand
fix: static|broadcast

### nonzero-without-size raises=ConcretizationTypeError line=3
# https://github.com/jax-ml/jax/issues/5280
a = jnp.array([0.0, 1.0, 2.0])
---
@jax.jit
def product(a):
    (index,) = jnp.nonzero(a)
    return a[index].prod()

p = product(a)
---
@jax.jit
def product(a):
    (index,) = jnp.nonzero(a, size=2)
    return a[index].prod()

p = product(a)
---
cause: nonzero; size|shape|how many
names: a; product
fix: size=|where

### unique-without-size raises=ConcretizationTypeError line=3
# https://github.com/jax-ml/jax/issues/10231
ages = jnp.array([24, 25, 24, 10])
---
def count_groups(ages):
    def helper(ages):
        return jnp.unique(ages)
    return helper(ages).shape[0]

n = jax.jit(count_groups)(ages)
---
def count_groups(ages):
    def helper(ages):
        return jnp.unique(ages, size=4)
    return helper(ages).shape[0]

n = jax.jit(count_groups)(ages)
---
cause: unique; size|shape|how many
names: ages; helper
fix: size=

### where-of-one-argument-under-vmap raises=ConcretizationTypeError line=2
# https://github.com/jax-ml/jax/issues/7542
rows = jnp.array([[0, 0, 1, 1], [1, 1, 0, 0]])
---
def ones_at(row):
    return jnp.where(row > 0)[0]

index = jax.vmap(ones_at)(rows)
---
def ones_at(row):
    return jnp.where(row > 0, size=2)[0]

index = jax.vmap(ones_at)(rows)
---
cause: where|nonzero; size|shape|how many
names: row; ones_at
fix: size=

### repeat-without-total-length raises=ConcretizationTypeError line=3
# https://github.com/jax-ml/jax/issues/3614
segments = jnp.array([2, 1, 3])
---
@jax.jit
def segment_ids(segments):
    return jnp.repeat(jnp.arange(3), segments)

ids = segment_ids(segments)
---
@jax.jit
def segment_ids(segments):
    return jnp.repeat(jnp.arange(3), segments, total_repeat_length=6)

ids = segment_ids(segments)
---
cause: repeat; size|shape|length|how many
names: segments; segment_ids
fix: total_repeat_length

### assert-on-traced-values raises=TracerBoolConversionError line=4
# https://docs.jax.dev/en/latest/errors.html
probs = jnp.array([0.2, 0.8])
---
@jax.jit
def entropy(probs):
    total = probs.sum()
    assert total < 1.001, "not normalised"
    return -(probs * jnp.log(probs)).sum()

h = entropy(probs)
---
@jax.jit
def entropy(probs):
    total = probs.sum()
    return -(probs * jnp.log(probs)).sum()

h = entropy(probs)
---
cause: assert|bool; traced|tracer|value
names: total; entropy
fix: checkify|outside|eqx.error_if|debug|remove

### traced-value-in-a-list raises=TracerBoolConversionError line=3
# https://docs.jax.dev/en/latest/errors.html
---
@jax.jit
def weight(day):
    weekend = day in (5, 6)
    return 0.5 if weekend else 1.0

w = weight(3)
---
@jax.jit
def weight(day):
    weekend = (day == 5) | (day == 6)
    return jnp.where(weekend, 0.5, 1.0)

w = weight(3)
---
cause: ` in |'in'|`in`|in (|membership|bool|==|compar; traced|tracer|value
names: day; weight
fix: jnp.isin|==|jnp.where|static

### formatted-traced-value raises=TypeError line=4
# https://docs.jax.dev/en/latest/errors.html
params = jnp.ones(3)
---
@jax.jit
def step(params):
    loss = (params**2).sum()
    print(f"loss {loss:.3f}")
    return params * 0.9

params = step(params)
---
@jax.jit
def step(params):
    loss = (params**2).sum()
    jax.debug.print("loss {:.3f}", loss)
    return params * 0.9

params = step(params)
---
cause: format|f-string|f"; traced|tracer|value
names: loss; step
fix: jax.debug.print

### sorted-of-traced-values raises=TracerBoolConversionError line=2
# https://theneuralbase.com/jax/learn/beginner/tracer-errors-dynamic-control-flow/
scores = jnp.array([0.3, 0.1, 0.9])
---
def median(scores):
    ordered = sorted(scores)
    return ordered[1]

m = jax.jit(median)(scores)
---
def median(scores):
    ordered = jnp.sort(scores)
    return ordered[1]

m = jax.jit(median)(scores)
---
cause: sorted|sort|compar|bool
names: scores; median
fix: jnp.sort

### multigamma-of-a-traced-dimension raises=ConcretizationTypeError line=3
# https://github.com/google/jax/issues/5073
---
@jax.jit
def log_norm(a, d):
    return jax.scipy.special.multigammaln(a, d) - a

z = log_norm(5.0, 2)
---
@partial(jax.jit, static_argnums=1)
def log_norm(a, d):
    return jax.scipy.special.multigammaln(a, d) - a

z = log_norm(5.0, 2)
---
cause: traced|tracer|value|concrete|static
names: d; log_norm
fix: static

### early-stop-in-a-scan raises=TracerBoolConversionError line=4
# https://github.com/jax-ml/jax/issues/6713
losses = jnp.array([3.0, 2.0, 2.5])
---
def watch(losses):
    def body(best, loss):
        improved = loss < best
        if not improved:
            return best, False
        return loss, True
    return lax.scan(body, jnp.inf, losses)

best, flags = watch(losses)
---
def watch(losses):
    def body(best, loss):
        improved = loss < best
        return jnp.where(improved, loss, best), improved
    return lax.scan(body, jnp.inf, losses)

best, flags = watch(losses)
---
cause: if|not|bool; traced|tracer|value
names: improved; body
fix: jnp.where|lax.cond

### segments-not-counted-under-jit raises=ConcretizationTypeError line=4
# https://github.com/jax-ml/jax/issues/6350
messages = jnp.ones((3, 4))
receivers = jnp.array([0, 0, 1])
---
@jax.jit
def gather_messages(messages, receivers):
    scaled = 0.5 * messages
    return jax.ops.segment_sum(scaled, receivers)

nodes = gather_messages(messages, receivers)
---
@jax.jit
def gather_messages(messages, receivers):
    scaled = 0.5 * messages
    return jax.ops.segment_sum(scaled, receivers, num_segments=2)

nodes = gather_messages(messages, receivers)
---
cause: num_segments; value|concrete|traced
names: receivers; gather_messages
fix: num_segments

### packed-batches-of-many-sizes-in-a-loop raises=TracerIntegerConversionError line=3
# https://github.com/jax-ml/jax/issues/2323
batch_sizes = jnp.array([4, 3, 1])
packed = jnp.arange(16.0).reshape(8, 2)
---
def body(i, carry):
    total, offset = carry
    batch = lax.dynamic_slice_in_dim(packed, offset, batch_sizes[i])
    return total + batch.sum(), offset + batch_sizes[i]

total, _ = lax.fori_loop(0, 3, body, (0.0, 0))
---
def body(i, carry):
    total, offset = carry
    batch = lax.dynamic_slice_in_dim(jnp.pad(packed, ((0, 4), (0, 0))), offset, 4)
    kept = jnp.arange(4)[:, None] < batch_sizes[i]
    return total + jnp.where(kept, batch, 0.0).sum(), offset + batch_sizes[i]

total, _ = lax.fori_loop(0, 3, body, (0.0, 0))
---
cause: size|shape; traced|static|concrete
names: batch_sizes; body
fix: mask|jnp.where|largest|4|fixed

### sum-of-the-first-k raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/1007
a = jnp.arange(5.0)
---
@jax.jit
def sum_first_k(a, k):
    head = lax.dynamic_slice(a, (0,), (k,))
    return head.sum()

total = sum_first_k(a, 2)
---
@partial(jax.jit, static_argnums=1)
def sum_first_k(a, k):
    head = lax.dynamic_slice(a, (0,), (k,))
    return head.sum()

total = sum_first_k(a, 2)
---
cause: size|shape; traced|static|concrete
names: k; sum_first_k
fix: static_argnums|static_argnames|jnp.where|mask

### guidance-steps-in-a-traced-config raises=TypeError line=4
# https://github.com/brentyi/egoallo/issues/17
guidance = {"steps": 6, "weight": 0.5}
x0 = jnp.ones(3)
---
@jax.jit
def optimise(x, guidance):
    pull = guidance["weight"] * x
    schedule = jnp.zeros((guidance["steps"],)) + guidance["weight"]
    return x - schedule.sum() * pull

x1 = optimise(x0, guidance)
---
@jax.jit
def optimise(x, weight):
    pull = weight * x
    schedule = jnp.zeros((guidance["steps"],)) + weight
    return x - schedule.sum() * pull

x1 = optimise(x0, guidance["weight"])
---
cause: shape|size; traced|static|concrete; steps
names: guidance; optimise
fix: static|steps
""",
    prelude=PRELUDE,
)
