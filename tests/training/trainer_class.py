"""A class written by hand that holds everything: parameters, Adam's moments, a step counter, a history."""

from .recipe import Recipe

TRAINER = '''\
class Trainer:
    """A two-layer network with Adam."""

    def __init__(self, key, hidden, rate=0.02, b1=0.9, b2=0.999):
        k1, k2 = jax.random.split(key)
        self.params = {
            "w1": jax.random.normal(k1, (64, hidden)) / 8,
            "b1": jnp.zeros(hidden),
            "w2": jax.random.normal(k2, (hidden, 10)) / hidden**0.5,
            "b2": jnp.zeros(10),
        }
        self.rate, self.b1, self.b2 = rate, b1, b2
        self.m = {name: jnp.zeros_like(p) for name, p in self.params.items()}
        self.v = {name: jnp.zeros_like(p) for name, p in self.params.items()}
        self.t = 0
        self.history = []

    def logits(self, params, x):
        return jnp.tanh(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]

    def loss(self, params, x, y):
        return -jnp.mean(jax.nn.log_softmax(self.logits(params, x))[jnp.arange(len(y)), y])

    def step(self, x, y):
        loss, grads = jax.value_and_grad(self.loss)(self.params, x, y)
        self.t += 1
        for name, g in grads.items():
            self.m[name] = self.b1 * self.m[name] + (1 - self.b1) * g
            self.v[name] = self.b2 * self.v[name] + (1 - self.b2) * g**2
            m_hat = self.m[name] / (1 - self.b1**self.t)
            v_hat = self.v[name] / (1 - self.b2**self.t)
            self.params[name] = self.params[name] - self.rate * m_hat / (jnp.sqrt(v_hat) + 1e-8)
        self.history.append(loss)
        return loss'''

SHOWN = f'''\
{TRAINER}

    def smoothed(self, last=5):
        return jnp.mean(jnp.stack(self.history[-last:]))

    def __repr__(self):
        return f"<Trainer after {{self.t}} steps, {{len(self.history)}} losses>"'''

EVALUATE = "accuracy = jnp.mean(jnp.argmax(trainer.logits(trainer.params, x_test), axis=1) == y_test)"
PARAMETERS = "(trainer.params, trainer.m, trainer.v)"
EXACT = "(trainer.t, list(trainer.params), len(trainer.history))"

RECIPES = [
    Recipe(
        "trainer-class",
        setup=(TRAINER, "trainer = Trainer(jax.random.key(0), 32)"),
        step="trainer.step(x_train, y_train)",
        evaluate=EVALUATE,
        parameters=PARAMETERS,
        losses="trainer.history",
        exact=EXACT,
    ),
    Recipe(
        "trainer-class-mini-batches",
        setup=(
            TRAINER,
            """\
trainer = Trainer(jax.random.key(0), 32)


def shuffled(count, batch, seed):
    order = np.random.default_rng(seed)
    while True:
        rows = order.permutation(count)
        for start in range(0, count - batch + 1, batch):
            yield rows[start : start + batch]


batches = shuffled(len(x_train), 256, seed=0)""",
        ),
        step="""\
rows = next(batches)
loss = trainer.step(x_train[rows], y_train[rows])
loss""",
        evaluate=EVALUATE,
        parameters=PARAMETERS,
        losses="trainer.history",
        exact=EXACT,
    ),
    Recipe(
        "trainer-class-that-shows-its-history",
        setup=(SHOWN, "trainer = Trainer(jax.random.key(0), 32)"),
        step="loss = trainer.step(x_train, y_train)",
        evaluate=EVALUATE,
        parameters=PARAMETERS,
        losses="trainer.history",
        exact=f"(*{EXACT}, repr(trainer))",
    ),
]
