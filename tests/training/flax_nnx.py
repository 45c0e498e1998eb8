"""flax nnx: modules and optimisers that are changed in place, with dropout and batch statistics."""

from .recipe import Recipe

# What comes before a BatchNorm has no bias: its gradient would be zero up to rounding, and Adam, which divides by
# the size of the gradient, would turn that rounding into full steps.
MODEL = """\
import optax
from flax import nnx


class Classifier(nnx.Module):
    def __init__(self, hidden, rngs):
        self.first = nnx.Linear(64, hidden, use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(hidden, momentum=0.9, rngs=rngs)
        self.dropout = nnx.Dropout(0.2, rngs=rngs)
        self.last = nnx.Linear(hidden, 10, rngs=rngs)

    def __call__(self, x):
        return self.last(self.dropout(nnx.relu(self.norm(self.first(x)))))


model = Classifier(32, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
history = []"""

LOSS = """\
def loss_fn(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()"""

LOSS_AND_LOGITS = """\
def loss_fn(model, x, y):
    logits = model(x)
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean(), logits"""

EVALUATE = """\
model.eval()
accuracy = jnp.mean(jnp.argmax(model(x_test), axis=1) == y_test)"""

STATE = "nnx.state((model, optimizer), nnx.Not(nnx.RngState))"
COUNTS = "(len(history), int(optimizer.step[...]), int(model.dropout.rngs.count[...]))"

RECIPES = [
    Recipe(
        "nnx",
        setup=(MODEL, LOSS),
        step="""\
loss, grads = nnx.value_and_grad(loss_fn)(model, x_train, y_train)
optimizer.update(model, grads)
history.append(loss)""",
        evaluate=EVALUATE,
        parameters=STATE,
        exact=COUNTS,
    ),
    Recipe(
        "nnx-metrics",
        setup=(
            MODEL,
            LOSS_AND_LOGITS,
            "metrics = nnx.MultiMetric(accuracy=nnx.metrics.Accuracy(), loss=nnx.metrics.Average('loss'))",
        ),
        step="""\
(loss, logits), grads = nnx.value_and_grad(loss_fn, has_aux=True)(model, x_train, y_train)
optimizer.update(model, grads)
metrics.update(loss=loss, logits=logits, labels=y_train)
history.append(loss)""",
        evaluate=EVALUATE,
        parameters=f"({STATE}, metrics.compute())",
        exact=f"(*{COUNTS}, int(metrics.loss.count[...]))",
    ),
    Recipe(
        "nnx-jit",
        setup=(
            MODEL,
            LOSS,
            """\
@nnx.jit
def train_step(model, optimizer, x, y):
    loss, grads = nnx.value_and_grad(loss_fn)(model, x, y)
    optimizer.update(model, grads)
    return loss""",
        ),
        step="""\
loss = train_step(model, optimizer, x_train, y_train)
history.append(loss)""",
        evaluate=EVALUATE,
        parameters=STATE,
        exact=COUNTS,
    ),
]
