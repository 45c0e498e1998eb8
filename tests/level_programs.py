"""Programs on which links between the levels are measured and tested: a setup, and a cell that is staged."""

from __future__ import annotations

__all__ = ["PROGRAMS"]

_MLP = (
    """
import jax, jax.numpy as jnp
k1, k2, k3, k4 = jax.random.split(jax.random.key(0), 4)
params = {"w1": jax.random.normal(k1, (64, 128)) * 0.1, "b1": jnp.zeros(128), "w2": jax.random.normal(k2, (128, 10))}
images, labels = jax.random.normal(k3, (32, 64)), jax.random.randint(k4, (32,), 0, 10)
""",
    """
def loss_of(params):
    hidden = jnp.tanh(images @ params["w1"] + params["b1"])
    logits = hidden @ params["w2"]
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])
loss, grads = jax.value_and_grad(loss_of)(params)
params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
""",
)

_TRANSFORMER = (
    """
import jax, jax.numpy as jnp
width, heads, layers, vocabulary, length = 32, 4, 4, 50, 12
keys = iter(jax.random.split(jax.random.key(0), 64))
def dense(a, b):
    return jax.random.normal(next(keys), (a, b)) / a ** 0.5
blocks = [
    {
        "qkv": dense(width, 3 * width), "out": dense(width, width), "up": dense(width, 4 * width),
        "down": dense(4 * width, width), "s1": jnp.ones(width), "b1": jnp.zeros(width),
        "s2": jnp.ones(width), "b2": jnp.zeros(width),
    }
    for _ in range(layers)
]
params = {"blocks": blocks, "embed": dense(vocabulary, width), "place": dense(length, width)}
tokens = jax.random.randint(jax.random.key(1), (2, length), 0, vocabulary)
""",
    """
def norm(x, s, b):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * s + b

def attention(p, x):
    q, k, v = jnp.split(x @ p["qkv"], 3, -1)
    q, k, v = (t.reshape(*t.shape[:-1], heads, -1).swapaxes(-2, -3) for t in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    return (jax.nn.softmax(scores) @ v).swapaxes(-2, -3).reshape(x.shape) @ p["out"]

def loss_of(params):
    x = params["embed"][tokens] + params["place"]
    for p in params["blocks"]:
        x = x + attention(p, norm(x, p["s1"], p["b1"]))
        x = x + jax.nn.gelu(norm(x, p["s2"], p["b2"]) @ p["up"]) @ p["down"]
    logits = jax.nn.log_softmax(x @ params["embed"].T)[:, :-1]
    return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()

loss, grads = jax.value_and_grad(loss_of)(params)
""",
)

_SCAN = (
    """
import jax, jax.numpy as jnp
w, xs = jax.random.normal(jax.random.key(0), (16, 16)), jax.random.normal(jax.random.key(1), (10, 16))
""",
    """
def loss_of(w):
    @jax.checkpoint
    def step(carry, x):
        carry = jnp.tanh(w @ carry + x)
        return carry, jnp.sin(carry).sum()
    carry, sums = jax.lax.scan(step, jnp.zeros(16), xs)
    return sums.mean() + carry @ carry
loss, grad = jax.value_and_grad(loss_of)(w)
""",
)

_CONVOLUTIONS = (
    """
import jax, jax.numpy as jnp
k1, k2, k3, k4 = jax.random.split(jax.random.key(0), 4)
params = [jax.random.normal(k1, (3, 3, 1, 8)) * 0.1, jax.random.normal(k2, (3, 3, 8, 16)) * 0.1]
head = jax.random.normal(k3, (7 * 7 * 16, 10)) * 0.1
images, labels = jax.random.normal(k4, (4, 28, 28, 1)), jnp.array([3, 1, 4, 1])
""",
    """
def loss_of(params, head):
    x = images
    for kernel in params:
        x = jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    logits = x.reshape(len(x), -1) @ head
    return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(len(labels)), labels])
loss, (d_params, d_head) = jax.value_and_grad(loss_of, argnums=(0, 1))(params, head)
""",
)

_ADAM = (
    """
import jax, jax.numpy as jnp, optax
from flax import nnx

class Model(nnx.Module):
    def __init__(self, rngs):
        self.first, self.norm = nnx.Linear(8, 32, rngs=rngs), nnx.LayerNorm(32, rngs=rngs)
        self.last = nnx.Linear(32, 4, rngs=rngs)
    def __call__(self, x):
        return self.last(nnx.relu(self.norm(self.first(x))))

model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)
x, y = jax.random.normal(jax.random.key(0), (16, 8)), jnp.arange(16) % 4
""",
    """
def loss_of(model):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()
loss, grads = nnx.value_and_grad(loss_of)(model)
optimizer.update(model, grads)
""",
)

_ODE = (
    """
import jax, jax.numpy as jnp
from jax.experimental.ode import odeint
starts, times = jax.random.normal(jax.random.key(0), (8, 2)), jnp.linspace(0.0, 1.0, 5)
""",
    """
def pendulum(state, t):
    angle, speed = state
    return jnp.array([speed, -jnp.sin(angle) - 0.1 * speed])
paths = jax.vmap(lambda start: odeint(pendulum, start, times))(starts)
energy = jnp.sum(paths[..., 1] ** 2, axis=1)
""",
)

PROGRAMS = {
    "mlp": _MLP,
    "transformer": _TRANSFORMER,
    "scan": _SCAN,
    "convolutions": _CONVOLUTIONS,
    "adam": _ADAM,
    "ode": _ODE,
}
"""A gradient step of an MLP, the gradient of a transformer of four layers, that of a scan that is rematerialised, that
of a convolutional network, a step of optax's Adam on a flax model, a vmapped ODE solver."""
