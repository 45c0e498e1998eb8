"""equinox modules, which are pytrees, with optax."""

from .recipe import Recipe

RECIPES = [
    Recipe(
        "equinox",
        setup=(
            """\
import equinox as eqx
import optax


class MLP(eqx.Module):
    layers: list
    activation: callable = eqx.field(static=True)

    def __init__(self, sizes, activation, key):
        keys = jax.random.split(key, len(sizes) - 1)
        self.layers = [eqx.nn.Linear(a, b, key=k) for a, b, k in zip(sizes[:-1], sizes[1:], keys)]
        self.activation = activation

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


model = MLP([64, 32, 10], jax.nn.relu, jax.random.key(0))
optim = optax.adam(1e-2)
opt_state = optim.init(eqx.filter(model, eqx.is_array))
history = []""",
            """\
@eqx.filter_value_and_grad
def loss_fn(model, x, y):
    logits = jax.vmap(model)(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()""",
        ),
        step="""\
loss, grads = loss_fn(model, x_train, y_train)
updates, opt_state = optim.update(grads, opt_state, model)
model = eqx.apply_updates(model, updates)
history.append(loss)""",
        evaluate="accuracy = jnp.mean(jnp.argmax(jax.vmap(model)(x_test), axis=1) == y_test)",
        parameters="eqx.filter((model, opt_state), eqx.is_inexact_array)",
        exact="(len(history), int(opt_state[0].count))",
    ),
]
