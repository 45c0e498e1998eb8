"""Parameters in nested dicts, as haiku has them, and an optimiser made of closures: nothing but JAX."""

from .recipe import Recipe

RECIPES = [
    Recipe(
        "nested-dicts",
        setup=(
            """\
def linear(params, x):
    return x @ params["w"] + params["b"]


def network(params, x):
    hidden = jax.nn.relu(linear(params["mlp/~/linear_0"], x))
    return linear(params["mlp/~/linear_1"], hidden)


def loss_fn(params, x, y):
    return -jnp.mean(jax.nn.log_softmax(network(params, x))[jnp.arange(len(y)), y])""",
            """\
def sgd(rate, momentum):
    def init(params):
        return jax.tree.map(jnp.zeros_like, params)

    def update(grads, velocity, params):
        velocity = jax.tree.map(lambda v, g: momentum * v - rate * g, velocity, grads)
        return velocity, jax.tree.map(jnp.add, params, velocity)

    return init, update


def init_linear(key, rows, columns):
    return {"w": jax.random.normal(key, (rows, columns)) / rows**0.5, "b": jnp.zeros(columns)}


keys = jax.random.split(jax.random.key(0))
params = {"mlp/~/linear_0": init_linear(keys[0], 64, 32), "mlp/~/linear_1": init_linear(keys[1], 32, 10)}
init, update = sgd(rate=0.3, momentum=0.9)
velocity = init(params)
history = []""",
        ),
        step="""\
loss, grads = jax.value_and_grad(loss_fn)(params, x_train, y_train)
velocity, params = update(grads, velocity, params)
history.append(loss)""",
        evaluate="accuracy = jnp.mean(jnp.argmax(network(params, x_test), axis=1) == y_test)",
        parameters="(params, velocity)",
    ),
]
