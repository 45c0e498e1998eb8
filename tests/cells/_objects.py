"""Classes that several cells of the corpus use."""

__all__ = ["BOX", "LAYER", "TRAINER"]

LAYER = """\
class Layer:
    def __init__(self, w, b):
        self.w = w
        self.b = b
    def __call__(self, a):
        return jnp.tanh(a @ self.w + self.b)
"""
TRAINER = """\
class Trainer:
    def __init__(self, w, lr):
        self.w = w
        self.lr = lr
    def loss(self, w, a):
        return jnp.mean((a @ w - a) ** 2)
    def step(self, a):
        loss, g = jax.value_and_grad(self.loss)(self.w, a)
        self.w = self.w - self.lr * g
        return loss
trainer = Trainer(w, 0.1)
"""
BOX = """\
class Box:
    def __init__(self, v):
        self.v = v
"""
