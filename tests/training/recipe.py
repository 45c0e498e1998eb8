"""What one training loop of `test_training.py` consists of.

>>> Recipe("sgd", setup=("import jax",), step="w = w - jax.grad(f)(w)", evaluate="accuracy = f(w)", parameters="w")
Recipe(name='sgd', ...)
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DIGITS", "Recipe"]

DIGITS = """\
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

digits = load_digits()
split = train_test_split(digits.data / 16, digits.target, test_size=0.25, stratify=digits.target, random_state=0)
x_train, x_test = (jnp.asarray(part, jnp.float32) for part in split[:2])
y_train, y_test = (jnp.asarray(part, jnp.int32) for part in split[2:])"""


@dataclass(frozen=True, repr=False)
class Recipe:
    """The cells of a notebook that trains a classifier of the digits.

    Args:
      name: the test's id.
      setup: plain cells, run once; the digits are there already.
      step: the cell that a user would put `%%jit` over and run again and again.
      evaluate: the last cell; binds `accuracy`.
      parameters: an expression for a pytree of all floats that training changes.
      losses: an expression for the list with the loss of each step.
      exact: an expression for what must be equal with its types: counters, keys, lengths.
      runs: how often `step` is run.
    """

    name: str
    setup: tuple[str, ...]
    step: str
    evaluate: str
    parameters: str
    losses: str = "history"
    exact: str = "len(history)"
    runs: int = 30

    def __repr__(self) -> str:
        return f"Recipe(name={self.name!r}, ...)"

    @property
    def setups(self) -> tuple[str, ...]:
        return (DIGITS, *self.setup)
