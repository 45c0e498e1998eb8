"""Small programs whose levels are kept as golden files: a setup, and a cell that is staged."""

from __future__ import annotations

__all__ = ["GOLDEN_PROGRAMS"]

_MLP = (
    """
params = {"w1": jnp.ones((3, 4)), "b1": jnp.zeros(4), "w2": jnp.ones((4, 2))}
images, labels = jnp.ones((5, 3)), jnp.array([0, 1, 1, 0, 1])
""",
    """
def loss_of(params):
    hidden = jnp.tanh(images @ params["w1"] + params["b1"])
    logits = hidden @ params["w2"]
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(5), labels])
loss, grads = jax.value_and_grad(loss_of)(params)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
)

_TRANSFORMER = (
    """
width, length = 4, 3
params = {"qkv": jnp.ones((width, 3 * width)), "up": jnp.ones((width, 8)), "down": jnp.ones((8, width))}
embed, tokens = jnp.ones((7, width)), jnp.array([1, 5, 2])
""",
    """
def attention(x):
    q, k, v = jnp.split(x @ params["qkv"], 3, -1)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), q @ k.T, -1e9)
    return jax.nn.softmax(scores / 2) @ v

def loss_of(embed):
    x = embed[tokens]
    x = x + attention(x)
    x = x + jnp.tanh(x @ params["up"]) @ params["down"]
    return (x @ embed.T).mean()

loss, grad = jax.value_and_grad(loss_of)(embed)
""",
)

_SCAN = (
    "w, xs = jnp.ones((3, 3)), jnp.ones((5, 3))",
    """
def loss_of(w):
    @jax.checkpoint
    def step(carry, x):
        carry = jnp.tanh(w @ carry + x)
        return carry, jnp.sin(carry).sum()
    carry, sums = jax.lax.scan(step, jnp.zeros(3), xs)
    return sums.mean() + carry @ carry
loss, grad = jax.value_and_grad(loss_of)(w)
""",
)

_CONVOLUTIONS = (
    "kernel, images = jnp.ones((3, 3, 1, 2)), jnp.ones((2, 6, 6, 1))",
    """
def loss_of(kernel):
    x = jax.lax.conv_general_dilated(images, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    x = jax.lax.reduce_window(jax.nn.relu(x), -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return jnp.mean(x ** 2)
loss, grad = jax.value_and_grad(loss_of)(kernel)
""",
)

_ADAM = (
    """
import optax
from flax import nnx

class Model(nnx.Module):
    def __init__(self, rngs):
        self.last = nnx.Linear(2, 3, rngs=rngs)
    def __call__(self, x):
        return nnx.relu(self.last(x))

model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x = jnp.ones((4, 2))
""",
    """
loss, grads = nnx.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
optimizer.update(model, grads)
""",
)

_ODE = (
    "starts = jnp.ones((4, 2))",
    """
def pendulum(state):
    angle, speed = state
    return jnp.array([speed, -jnp.sin(angle) - 0.1 * speed])

def solve(start):
    def step(state, _):
        k1 = pendulum(state)
        k2 = pendulum(state + 0.05 * k1)
        return state + 0.1 * k2, state
    return jax.lax.scan(step, start, length=8)[1]

paths = jax.vmap(solve)(starts)
energy = jnp.sum(paths[..., 1] ** 2, axis=1)
""",
)

_LOOPS = (
    "x = jnp.arange(4.0)",
    """
y = jax.lax.while_loop(lambda v: v.sum() < 100, lambda v: v * 2 + 1, x)
z = jax.lax.cond(y[0] > 3, jnp.sin, lambda v: v - jnp.cos(v), y)
u = jax.lax.fori_loop(0, 6, lambda i, v: v + i, z)
s = jax.lax.switch(jnp.int32(u[0]), [jnp.tanh, jnp.exp, lambda v: v], u)
""",
)

_DERIVATIVES = (
    """
@jax.custom_jvp
def clipped(x):
    return jnp.clip(x, -1.0, 1.0)
@clipped.defjvp
def _(primals, tangents):
    return clipped(primals[0]), tangents[0]

@jax.custom_vjp
def scaled(x):
    return 2.0 * x
scaled.defvjp(lambda x: (2.0 * x, x), lambda x, g: (g * jnp.abs(x),))
x = jnp.arange(4.0)
""",
    """
y = clipped(x)
g = jax.grad(lambda x: (clipped(x) * scaled(x)).sum())(x)
t = jax.jvp(lambda x: clipped(jnp.sin(x)), (x,), (y,))
""",
)

_SHARD_MAP = (
    """
from jax.sharding import Mesh, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("i", "j"))
x = jnp.ones((8, 4))
jax.jit(jax.shard_map(lambda a: a, mesh=mesh, in_specs=P("i"), out_specs=P("i"))).lower(x)
""",
    """
def part(a):
    with jax.named_scope("part"):
        total = jax.lax.psum(jnp.sin(a), "i")
    return total + jax.lax.axis_index("j")
y = jax.shard_map(part, mesh=mesh, in_specs=P("i", "j"), out_specs=P(None, "j"))(x)
z = y.sum()
""",
)

_RANDOM = (
    "keys = jax.random.key(0, impl='rbg'), jax.random.key(1, impl='rbg')",
    """
noise = jax.random.uniform(keys[0], (3,), minval=-1.0)
coins = jax.random.bernoulli(keys[1], 0.25, (2, 2))
number = jax.random.key_data(keys[1])[0] + 1
""",
)

_FFT = (
    "signal = jnp.arange(8.0)",
    """
spectrum = jnp.fft.fft(signal + 1j * signal)
power = jnp.abs(spectrum) ** 2
back = jnp.fft.irfft(jnp.fft.rfft(signal) * jnp.exp(-1j * jnp.pi), n=8)
phase = jnp.angle(spectrum.conj())
""",
)

_INDEXING = (
    "x, at = jnp.arange(12.0).reshape(3, 4), jnp.array([2, 0])",
    """
rows = x[at]
best, where = jax.lax.top_k(x, 2)
order = jnp.sort(x, axis=0)
added = x.at[at, 1].add(5.0)
cut = jax.lax.dynamic_slice(x, (at[0], 0), (1, 2))
last = jnp.argmax(x, axis=1)
""",
)

_DTYPES = (
    "x, q = jnp.arange(6.0).reshape(2, 3).astype(jnp.bfloat16), jnp.arange(6, dtype=jnp.int8).reshape(3, 2)",
    """
y = x @ q.astype(jnp.bfloat16)
z = jax.lax.dot(q, q.T, preferred_element_type=jnp.int32)
bits = jax.lax.bitcast_convert_type(x, jnp.uint16) >> 3
kept = jnp.where(bits > 9, x.astype(jnp.float32) * 0.5, 2)
flags = (kept > 1).astype(jnp.uint8) | 1
""",
)

_SHAPES = (
    "x, nothing = jnp.arange(7.0), jnp.zeros((0, 3))",
    """
y = jnp.concatenate([x, x[:0], x[2:5]])
z = jnp.pad(y, (1, 2)).reshape(13, 1)
empty = nothing @ jnp.ones((3, 2))
total = nothing.sum() + z[::3].sum()
scalar = jnp.float32(2) * total
""",
)

_NUMPY = "import jax, jax.numpy as jnp, numpy as np\n"

GOLDEN_PROGRAMS = {
    name: (_NUMPY + setup, cell.strip())
    for name, (setup, cell) in {
        "mlp": _MLP,
        "transformer": _TRANSFORMER,
        "scan": _SCAN,
        "convolutions": _CONVOLUTIONS,
        "adam": _ADAM,
        "ode": _ODE,
        "loops": _LOOPS,
        "derivatives": _DERIVATIVES,
        "shard_map": _SHARD_MAP,
        "random": _RANDOM,
        "fft": _FFT,
        "indexing": _INDEXING,
        "dtypes": _DTYPES,
        "shapes": _SHAPES,
    }.items()
}
"""A gradient step of an MLP, the gradient of an attention block, of a rematerialised scan, of a convolution; Adam on a
flax model; a vmapped ODE solver; loops and branches; custom derivatives; collectives on a mesh; random keys; complex
numbers; sorting and indexing; small and mixed dtypes; ragged and empty shapes."""
