"""The random states of Python and NumPy, which the notebook and the processes hand to one another."""

from __future__ import annotations

import pickle
import random

import numpy as np

__all__ = ["drawn_states", "set_drawn"]


def drawn_states() -> bytes:
    """The random states of this process, pickled."""
    return pickle.dumps((random.getstate(), np.random.get_state()))


def set_drawn(states: bytes) -> None:
    """Goes on drawing where another process has come to."""
    python, of_numpy = pickle.loads(states)
    random.setstate(python)
    np.random.set_state(of_numpy)
