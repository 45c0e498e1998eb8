"""What a loop hands on from step to step, and what its body gives back."""

from tests.errors.case import written

__all__ = ["CASES"]

PRELUDE = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\n"

CASES = written(
    "carry",
    r"""
### scan-int-counter-becomes-float raises=TypeError line=3
# https://github.com/jax-md/jax-md/issues/99
state = {"position": jnp.ones(3), "n_pos": jnp.zeros((), jnp.int32)}
---
def fire_step(state, _):
    moved = state["position"] * 0.9
    count = jnp.where(moved.sum() > 0, state["n_pos"] + 1.0, 0.0)
    return {"position": moved, "n_pos": count}, None

final, _ = lax.scan(fire_step, state, None, length=20)
---
def fire_step(state, _):
    moved = state["position"] * 0.9
    count = jnp.where(moved.sum() > 0, state["n_pos"] + 1, 0)
    return {"position": moved, "n_pos": count}, None

final, _ = lax.scan(fire_step, state, None, length=20)
---
cause: int32; float32
names: n_pos; fire_step
fix: + 1|astype|jnp.zeros(|float|dtype

### scan-carry-of-zeros-int raises=TypeError line=7
# https://github.com/jax-ml/jax/issues/22045
xs = jnp.linspace(0.0, 1.0, 8)
---
def running(total, x):
    total = total + x
    return total, total

@jax.jit
def cumulative(xs):
    return lax.scan(running, jnp.int32(0), xs)[1]

sums = cumulative(xs)
---
def running(total, x):
    total = total + x
    return total, total

@jax.jit
def cumulative(xs):
    return lax.scan(running, jnp.float32(0), xs)[1]

sums = cumulative(xs)
---
cause: int32; float32
names: running; total
fix: float32|0.0|jnp.zeros(|astype|dtype

### scan-forgets-the-pair raises=TypeError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
h0 = jnp.zeros(4)
inputs = jnp.ones((10, 4))
---
def cell(h, x):
    return jnp.tanh(h + x)

final, hs = lax.scan(cell, h0, inputs)
---
def cell(h, x):
    return jnp.tanh(h + x), None

final, hs = lax.scan(cell, h0, inputs)
---
cause: pair|tuple|two|(carry, y)|carry
names: cell
fix: , None|(carry, y)|carry, y|pair

### scan-pair-swapped raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/1534
state = jnp.zeros((3,))
actions = jnp.ones((12, 3))
---
@jax.jit
def rollout(state, actions):
    def step(state, action):
        return -(action**2).sum(), state + action
    final, rewards = lax.scan(step, state, actions)
    return rewards.sum()

value = rollout(state, actions)
---
@jax.jit
def rollout(state, actions):
    def step(state, action):
        return state + action, -(action**2).sum()
    final, rewards = lax.scan(step, state, actions)
    return rewards.sum()

value = rollout(state, actions)
---
cause: (3,)|[3]; ()|scalar|[]
names: step; state
fix: first|swap|order|carry, y|(carry, y)|state + action,

### scan-carry-none-becomes-number raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/1534
---
def double(carry, x):
    return 0, 2 * x

_, doubled = lax.scan(double, None, jnp.arange(5))
---
def double(carry, x):
    return None, 2 * x

_, doubled = lax.scan(double, None, jnp.arange(5))
---
cause: None; structure|tree|leaf|array|number
names: double
fix: None

### scan-adds-a-key-to-the-carry raises=TypeError line=4
# https://github.com/jax-ml/jax/pull/15178
state = {"mean": jnp.zeros(4)}
batches = jnp.ones((6, 32, 4))
---
def update(state, batch):
    mean = 0.9 * state["mean"] + 0.1 * batch.mean(0)
    var = batch.var(0)
    return {"mean": mean, "var": var}, None

state, _ = lax.scan(update, state, batches)
---
def update(state, batch):
    mean = 0.9 * state["mean"] + 0.1 * batch.mean(0)
    var = batch.var(0)
    return {"mean": mean}, var

state, _ = lax.scan(update, state, batches)
---
cause: key|structure|children; var
names: update; state
fix: var|initial|same keys|add

### scan-carry-keeps-an-axis raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/15178
w = jnp.ones((5, 5))
x0 = jnp.ones(5)
---
def power(x, _):
    y = (w @ x).reshape(5, 1)
    return y / jnp.linalg.norm(y), None

x, _ = lax.scan(power, x0, length=30)
---
def power(x, _):
    y = w @ x
    return y / jnp.linalg.norm(y), None

x, _ = lax.scan(power, x0, length=30)
---
cause: (5,)|[5]; (5, 1)|5,1
names: power; x
fix: reshape|squeeze|ravel|same shape|w @ x

### scan-hidden-state-of-one-example raises=TypeError line=8
# https://github.com/google-research/computation-thru-dynamics/issues/4
params = {"wh": jnp.ones((16, 16)), "wx": jnp.ones((3, 16))}
sequence = jnp.ones((20, 8, 3))
---
class RNN:
    def __init__(self, params):
        self.params = params

    def __call__(self, sequence):
        def cell(h, x):
            return jnp.tanh(h @ self.params["wh"] + x @ self.params["wx"]), h
        h0 = jnp.zeros(16)
        return lax.scan(cell, h0, sequence)[1]

hs = RNN(params)(sequence)
---
class RNN:
    def __init__(self, params):
        self.params = params

    def __call__(self, sequence):
        def cell(h, x):
            return jnp.tanh(h @ self.params["wh"] + x @ self.params["wx"]), h
        h0 = jnp.zeros((8, 16))
        return lax.scan(cell, h0, sequence)[1]

hs = RNN(params)(sequence)
---
cause: (16,)|[16]; (8, 16)|8,16
names: cell; h0|h
fix: (8, 16)|initial|batch

### scan-half-precision-carry raises=TypeError line=3
# https://github.com/jax-ml/jax/pull/9046
momentum = jnp.zeros(4, jnp.bfloat16)
grads = jnp.ones((5, 4), jnp.float32)
---
@jax.jit
def accumulate(momentum, grads):
    body = lambda m, g: (0.9 * m + g, None)
    return lax.scan(body, momentum, grads)[0]

momentum = accumulate(momentum, grads)
---
@jax.jit
def accumulate(momentum, grads):
    body = lambda m, g: ((0.9 * m + g).astype(m.dtype), None)
    return lax.scan(body, momentum, grads)[0]

momentum = accumulate(momentum, grads)
---
cause: bfloat16; float32
names: m
fix: astype|bfloat16|float32

### scan-list-becomes-tuple raises=TypeError line=4
# https://github.com/google/trax/issues/1061
slots = [jnp.zeros(3), jnp.zeros(3)]
grads = jnp.ones((7, 3))
---
def adam_like(slots, grad):
    m, v = slots
    m, v = 0.9 * m + grad, 0.99 * v + grad**2
    return (m, v), None

slots, _ = lax.scan(adam_like, slots, grads)
---
def adam_like(slots, grad):
    m, v = slots
    m, v = 0.9 * m + grad, 0.99 * v + grad**2
    return [m, v], None

slots, _ = lax.scan(adam_like, slots, grads)
---
cause: list; tuple
names: slots; adam_like
fix: [m, v]|list|tuple

### scan-forgets-part-of-the-carry raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/1361
init = (jnp.zeros(()), jnp.ones(3), jnp.zeros(3))
---
def iterate(carry, _):
    i, x, x_old = carry
    x_new = x - 0.1 * (x - x_old)
    return (i + 1, x_new), None

final, _ = lax.scan(iterate, init, None, length=4)
---
def iterate(carry, _):
    i, x, x_old = carry
    x_new = x - 0.1 * (x - x_old)
    return (i + 1, x_new, x), None

final, _ = lax.scan(iterate, init, None, length=4)
---
cause: 3|three; 2|two
names: iterate; carry
fix: x_old|, x|three|same

### scan-sequences-of-other-lengths raises=ValueError line=5
# https://github.com/marin-community/haliax/pull/202
rewards, values = jnp.ones(50), jnp.ones(51)
---
def gae(advantage, step):
    reward, value = step
    advantage = reward - value + 0.95 * advantage
    return advantage, advantage
_, advantages = lax.scan(gae, 0.0, (rewards, values), reverse=True)
---
def gae(advantage, step):
    reward, value = step
    advantage = reward - value + 0.95 * advantage
    return advantage, advantage
_, advantages = lax.scan(gae, 0.0, (rewards, values[:-1]), reverse=True)
---
cause: 50; 51
names: rewards; values
fix: [:-1]|[1:]|50|same length|equal

### scan-without-length raises=ValueError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
x0 = jnp.ones(2)
---
def newton(x, _):
    return x - (x**2 - 2) / (2 * x), None

root, _ = lax.scan(newton, x0, None)
---
def newton(x, _):
    return x - (x**2 - 2) / (2 * x), None

root, _ = lax.scan(newton, x0, None, length=10)
---
cause: length|how many; xs|None
names: newton
fix: length=

### scan-function-in-the-carry raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/17753
z0 = jnp.ones(3)
---
def fixed_point(carry, _):
    rhs, z = carry
    return (rhs, rhs(z)), None
(_, z), _ = lax.scan(fixed_point, (jnp.cos, z0), None, length=20)
---
def fixed_point(z, _):
    rhs = jnp.cos
    return rhs(z), None
z, _ = lax.scan(fixed_point, z0, None, length=20)
---
cause: function
names: fixed_point
fix: carry|close|closure|outside|partial

### fori-scalar-becomes-vector raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/1686
spins = jnp.ones((10, 10))
---
def bond(i, energy):
    return energy - spins[:, i] * spins[:, i + 1]
total = lax.fori_loop(0, 9, bond, 0.0)
---
def bond(i, energy):
    return energy - spins[:, i] * spins[:, i + 1]
total = lax.fori_loop(0, 9, bond, jnp.zeros(10))
---
cause: ()|scalar|[]; (10,)|[10]
names: bond; energy
fix: jnp.zeros(10)|zeros|sum

### fori-arguments-swapped raises=TypeError line=1
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.fori_loop.html
table = jnp.arange(12.0)
---
def add_entry(acc, i):
    return acc + table[i]

total = jax.jit(lambda: lax.fori_loop(0, 12, add_entry, 0.0))()
---
def add_entry(i, acc):
    return acc + table[i]

total = jax.jit(lambda: lax.fori_loop(0, 12, add_entry, 0.0))()
---
cause: index|integer; float
names: add_entry; acc; i
fix: add_entry(i, acc)|order|swap|first

### fori-returns-a-pair raises=TypeError line=4
# https://github.com/jax-ml/jax/issues/1954
A = jnp.eye(2) * 0.9
controls = jnp.ones((10, 2))
---
@jax.jit
def simulate(x):
    def step(t, x):
        return A @ x + controls[t], x
    return lax.fori_loop(0, 10, step, x)

x = simulate(jnp.zeros(2))
---
@jax.jit
def simulate(x):
    def step(t, x):
        return A @ x + controls[t]
    return lax.fori_loop(0, 10, step, x)

x = simulate(jnp.zeros(2))
---
cause: tuple|pair|two
names: step; x
fix: only|without|scan|single|return A @ x

### fori-int-image-brightened raises=TypeError line=2
# https://github.com/jax-ml/jax/issues/1681
image = jnp.zeros((4, 4), jnp.uint8)
---
def brighten(i, image):
    return image * 1.1

image = lax.fori_loop(0, 3, brighten, image)
---
def brighten(i, image):
    return (image * 1.1).astype(image.dtype)

image = lax.fori_loop(0, 3, brighten, image)
---
cause: uint8; float32
names: brighten; image
fix: astype|float

### fori-forgets-to-return raises=TypeError line=1
# https://github.com/jax-ml/jax/pull/291
positions = jnp.ones((8, 2))
---
def relax(i, positions):
    positions = positions * 0.99
    positions = positions.at[0].set(0.0)

positions = lax.fori_loop(0, 100, relax, positions)
---
def relax(i, positions):
    positions = positions * 0.99
    return positions.at[0].set(0.0)

positions = lax.fori_loop(0, 100, relax, positions)
---
cause: None
names: relax; positions
fix: return

### while-body-casts raises=TypeError line=3
# https://github.com/jax-ml/jax/issues/1681
---
start = jnp.float32(100.0)
keep_going = lambda u: u > 5
halve = lambda u: (u / 2).astype(jnp.float16)
end = lax.while_loop(keep_going, halve, start)
---
start = jnp.float32(100.0)
keep_going = lambda u: u > 5
halve = lambda u: (u / 2).astype(jnp.float32)
end = lax.while_loop(keep_going, halve, start)
---
cause: float32; float16
names: halve|u
fix: astype|float32|float16

### while-bracket-of-ints raises=TypeError line=12
# https://github.com/jax-ml/jax/pull/1706
f = lambda x: x**2 - 2.0
---
def bisect(f, low, high):
    def wide(state):
        low, high = state
        return high - low > 1e-6

    def narrow(state):
        low, high = state
        middle = 0.5 * (low + high)
        right = f(middle) > 0
        return jnp.where(right, low, middle), jnp.where(right, middle, high)

    return lax.while_loop(wide, narrow, (low, jnp.int32(high)))

root = bisect(f, 0.0, 100)
---
def bisect(f, low, high):
    def wide(state):
        low, high = state
        return high - low > 1e-6

    def narrow(state):
        low, high = state
        middle = 0.5 * (low + high)
        right = f(middle) > 0
        return jnp.where(right, low, middle), jnp.where(right, middle, high)

    return lax.while_loop(wide, narrow, (low, jnp.float32(high)))

root = bisect(f, 0.0, 100)
---
cause: int32; float32
names: high; narrow
fix: float|100.0|astype

### while-float32-with-x64 raises=TypeError line=2 x64
# https://github.com/jax-ml/jax/issues/2004
state = (jnp.int32(0), jnp.float32(0.5))
factor = jnp.ones(()) * 1.5
---
def grow(state):
    return state[0] + 1, state[1] * factor

final = lax.while_loop(lambda s: s[0] < 4, grow, state)
---
def grow(state):
    return state[0] + 1, state[1] * factor.astype(jnp.float32)

final = lax.while_loop(lambda s: s[0] < 4, grow, state)
---
cause: float32; float64
names: grow; state
fix: astype|float32|float64

### while-complex-residual raises=TypeError line=7
# https://github.com/jax-ml/jax/issues/3112
matrix = jnp.eye(6) * (1 + 0.5j)
vector = jnp.ones(6)
---
@jax.jit
def dominant(matrix, vector):
    def iterate(state):
        i, v = state
        v = matrix @ v
        return i + 1, v / jnp.linalg.norm(v)
    return lax.while_loop(lambda s: s[0] < 50, iterate, (0, vector))[1]

v = dominant(matrix, vector)
---
@jax.jit
def dominant(matrix, vector):
    def iterate(state):
        i, v = state
        v = matrix @ v
        return i + 1, v / jnp.linalg.norm(v)
    return lax.while_loop(lambda s: s[0] < 50, iterate, (0, vector + 0j))[1]

v = dominant(matrix, vector)
---
cause: float32; complex64
names: iterate; v|vector
fix: complex|0j|astype

### while-condition-of-a-vector raises=TypeError line=2
# https://github.com/jax-ml/jax/pull/8997
x = jnp.array([4.0, 9.0, 100.0])
---
def unfinished(x):
    return x > 1.0

x = lax.while_loop(unfinished, lambda x: x / 2, x)
---
def unfinished(x):
    return jnp.any(x > 1.0)

x = lax.while_loop(unfinished, lambda x: x / 2, x)
---
cause: (3,)|[3]; scalar|single|one
names: unfinished
fix: any|all

### while-condition-unpacks-other-state raises=ValueError line=2
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.while_loop.html
x0 = jnp.array(2.0)
---
def unfinished(state):
    step, x, error = state
    return (step < 100) & (error > 1e-5)

def body(state):
    step, x = state
    return step + 1, 0.5 * (x + 2 / x)

root = lax.while_loop(unfinished, body, (0, x0))
---
def unfinished(state):
    step, x = state
    return (step < 100) & (abs(x**2 - 2) > 1e-5)

def body(state):
    step, x = state
    return step + 1, 0.5 * (x + 2 / x)

root = lax.while_loop(unfinished, body, (0, x0))
---
cause: 3|three; 2|two
names: state; unfinished
fix: step, x|error|two|2|add

### while-body-returns-list-of-state raises=TypeError line=6
# https://github.com/google/neural-tangents/issues/112
params = {"w": jnp.ones(3)}
---
@jax.jit
def descend(params):
    def body(state):
        i, params = state
        params = jax.tree.map(lambda p: 0.9 * p, params)
        return i + 1, params["w"]
    return lax.while_loop(lambda s: s[0] < 10, body, (0, params))

_, params = descend(params)
---
@jax.jit
def descend(params):
    def body(state):
        i, params = state
        params = jax.tree.map(lambda p: 0.9 * p, params)
        return i + 1, params
    return lax.while_loop(lambda s: s[0] < 10, body, (0, params))

_, params = descend(params)
---
cause: dict; structure|leaf|array
names: body; params
fix: params|dict|{"w"

### scan-over-python-range raises=TypeError line=4
# https://docs.jax.dev/en/latest/_autosummary/jax.lax.scan.html
params = jnp.ones(3)
---
def epoch(params, i):
    return params * 0.5, params.sum()

params, losses = lax.scan(epoch, params, range(10))
---
def epoch(params, i):
    return params * 0.5, params.sum()

params, losses = lax.scan(epoch, params, jnp.arange(10))
---
cause: range
names: epoch
fix: jnp.arange|length=

### scan-drift-without-the-axis raises=TypeError line=4
# https://github.com/patrick-kidger/diffrax/issues/621
y0 = jnp.ones(1)
noise = jnp.ones((16, 2))
---
def euler(y, dw):
    drift = -y * 0.1
    diffusion = jnp.array([1.0, 0.5])
    return y + drift + diffusion * dw, y

y1, path = jax.jit(lambda y: lax.scan(euler, y, noise))(y0)
---
def euler(y, dw):
    drift = -y * 0.1
    diffusion = jnp.array([1.0, 0.5])
    return y + drift + (diffusion * dw).sum(), y

y1, path = jax.jit(lambda y: lax.scan(euler, y, noise))(y0)
---
cause: (1,)|[1]; (2,)|[2]
names: euler; y
fix: sum|jnp.ones(2)|dot|same shape|(2,)

### scan-reward-gains-an-axis raises=TypeError line=7
# https://github.com/google/brax/issues/228
actions = jnp.ones((5, 1))
---
def env_step(state, action):
    q = state["q"] + 0.1 * action.sum()
    reward = 1.0 - 0.1 * action**2
    return {"q": q, "reward": reward}, q

start = {"q": jnp.zeros(()), "reward": jnp.zeros(())}
last, path = lax.scan(env_step, start, actions)
---
def env_step(state, action):
    q = state["q"] + 0.1 * action.sum()
    reward = 1.0 - 0.1 * (action**2).sum()
    return {"q": q, "reward": reward}, q

start = {"q": jnp.zeros(()), "reward": jnp.zeros(())}
last, path = lax.scan(env_step, start, actions)
---
cause: carry; reward; float32[1]|(1,)|1 element
names: reward; env_step
fix: sum|[0]|squeeze|reshape|zeros(1|shape ()

### scan-of-a-called-body raises=TypeError line=5
# https://github.com/jax-ml/jax/pull/10262
xs = jnp.arange(6.0)
---
def body(total, x):
    total = total + x
    return total, total

final, partial_sums = lax.scan(body(0.0, xs[0]), 0.0, xs)
---
def body(total, x):
    total = total + x
    return total, total

final, partial_sums = lax.scan(body, 0.0, xs)
---
cause: callable|call; scan|function; tuple|called|result
names: body
fix: scan(body,|body, without|body itself|without calling|pass body
""",
    prelude=PRELUDE,
)
